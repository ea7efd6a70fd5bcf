"""The distribution of ordered labels: a latent normal number, cut into labels at cutpoints."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import implicit_size_from_params, rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor.random.basic import normal
from pytensor.tensor.random.utils import normalize_size_param

from dissensus.errors import ArgumentError

_SLIM: Final = 1e-3
"""Largest width at which `_log_stretch` uses a series, which is then exact to the last digits. For
larger widths, differences of functions lose at most 3 of 16 digits."""


class CumulativeProbitRV(SymbolicRandomVariable):
    """The number of cutpoints below a draw from Normal(eta, 1)."""

    name = "cumulative_probit"
    extended_signature = "[rng],[size],(),(k)->[rng],()"
    _print_name = ("CumulativeProbit", "\\operatorname{CumulativeProbit}")

    @classmethod
    def rv_op(cls, eta: Any, cutpoint: Any, *, size: Any = None, rng: Any = None) -> Any:
        """Build the graph of a draw."""
        eta, cutpoint = (pt.as_tensor(parameter, dtype="float64") for parameter in (eta, cutpoint))
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        if rv_size_is_none(size):
            size = implicit_size_from_params(eta, cutpoint, ndims_params=cls.ndims_params)
        next_rng, latent = normal(eta, 1.0, size=size, rng=rng, return_next_rng=True)
        return cls(inputs=[rng, size, eta, cutpoint], outputs=[next_rng, _place(latent, cutpoint)])(
            rng, size, eta, cutpoint
        )


class CumulativeProbit(Discrete):
    r"""Ordered labels 0, 1, ..., K - 1 by cutpoints of a normal scale.

    .. math:: P(y \le k \mid \eta, c) = \Phi(c_k - \eta), \qquad c_0 < c_1 < \dots < c_{K-2}

    A label is the number of cutpoints below a draw from Normal(:math:`\eta`, 1). Log-probabilities
    and gradients are exact to about ten digits, also far in a tail and for cutpoints that are close
    together. `pymc.OrderedProbit` computes probabilities first: it gives minus infinity far in a
    tail, and loses digits if cutpoints are close together.

    Parameters
    ----------
    eta : tensor_like of float (...)
        Mean of the latent number.
    cutpoint : tensor_like of float (..., K - 1)
        One or more increasing cutpoints: one vector for all values, or a row for each value.

    Raises
    ------
    ArgumentError
        If there is no cutpoint.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.families.distributions import CumulativeProbit
    >>> y = CumulativeProbit.dist(eta=0.5, cutpoint=[-1.0, 0.5])
    >>> np.exp(pm.logp(y, [0, 1, 2]).eval()).round(4)
    array([0.0668, 0.4332, 0.5   ])
    >>> float(pm.logp(CumulativeProbit.dist(eta=40.0, cutpoint=[-1.0, 0.5]), 1).eval().round(3))
    -784.721
    >>> pm.draw(y, 5, random_seed=1)
    array([1, 2, 1, 2, 0])
    """

    rv_type = CumulativeProbitRV
    rv_op = CumulativeProbitRV.rv_op

    @classmethod
    def dist(cls, eta: Any, cutpoint: Any, **kwargs: Any) -> Any:
        """Return an unnamed variable."""
        cutpoint = pt.as_tensor(cutpoint, dtype="float64")
        if cutpoint.type.ndim < 1 or cutpoint.type.shape[-1] == 0:
            description = "a number" if cutpoint.type.ndim < 1 else "none"
            raise ArgumentError(
                "cutpoint", expected="a vector of one or more cutpoints, increasing",
                found=description,
            )  # fmt: skip
        return super().dist([eta, cutpoint], **kwargs)

    def support_point(rv: Any, size: Any, eta: Any, cutpoint: Any) -> Any:  # noqa: N805
        """Return the label of a latent number equal to eta."""
        if rv_size_is_none(size):
            size = implicit_size_from_params(eta, cutpoint, ndims_params=rv.owner.op.ndims_params)
        return _place(pt.broadcast_to(eta, size), cutpoint)

    def logp(value: Any, eta: Any, cutpoint: Any) -> Any:  # noqa: N805
        """Return the log-probability of labels; minus infinity for other values."""
        last = cutpoint.shape[-1]
        code = pt.clip(value, 0, last).astype("int64")
        # The first and the last label have only one cutpoint, which is used for both sides: an
        # infinite cutpoint would make gradients NaN (zero times infinity).
        below = _chosen(cutpoint, pt.maximum(code - 1, 0))
        above = _chosen(cutpoint, pt.minimum(code, last - 1))
        log_p = _log_stretch(below - eta, above - below, pt.eq(code, 0), pt.eq(code, last))
        return check_parameters(
            pt.switch(pt.eq(code, value), log_p, -np.inf),
            cutpoint[..., 1:] > cutpoint[..., :-1], pt.abs(cutpoint) < np.inf,
            msg="cutpoints finite and increasing",
        )  # fmt: skip


def _place(latent: Any, cutpoint: Any) -> Any:
    """Count the cutpoints below each number."""
    if cutpoint.type.ndim == 1:
        return pt.searchsorted(cutpoint, latent).astype("int64")
    return (cutpoint < pt.shape_padright(latent)).sum(axis=-1).astype("int64")


def _chosen(cutpoint: Any, place: Any) -> Any:
    """Return the cutpoint at each place, from a common vector or from each value's row."""
    if cutpoint.type.ndim == 1:
        return cutpoint[place]
    place, _ = pt.broadcast_arrays(place, cutpoint[..., 0])
    rows = pt.broadcast_to(cutpoint, (*place.shape, cutpoint.shape[-1]))
    return pt.take_along_axis(rows, pt.shape_padright(place), axis=-1)[..., 0]


def _log_stretch(lower: Any, width: Any, first: Any, last: Any) -> Any:
    r"""Return :math:`\log[\Phi(l + w) - \Phi(l)]`; for the first and last label, one tail.

    The interval is mirrored so that its middle is at or below 0; it then goes from -s to e. A
    common factor is taken out, in which d (``depth``) is the distance of e below 0:

    .. math:: \Phi(e) - \Phi(-s) = \tfrac12 e^{-d^2/2} R, \qquad d = \max(-e, 0),

    R does not underflow. It has one of three forms: a sum of two error functions around 0, a
    difference of scaled error functions in the tail, or a series in w for narrow intervals, where
    the other two would cancel. All three are finite everywhere, so that gradients are finite.
    """
    middle = lower + width / 2
    far = pt.abs(middle)
    edge = first | last
    end = pt.switch(first, middle, pt.switch(last, -middle, width / 2 - far))
    start = (width / 2 + far) / np.sqrt(2)
    depth = pt.maximum(-end, 0.0)
    around = pt.erf(end / np.sqrt(2)) + pt.switch(edge, 1.0, pt.erf(start))
    beyond = pt.switch(edge, 0.0, pt.exp(-width * far) * pt.erfcx(start))
    tail = pt.erfcx(depth / np.sqrt(2)) - beyond
    height = pt.exp((depth - far) * (depth + far) / 2) * np.sqrt(2 / np.pi)
    slim = height * width * (1 + width**2 * (middle**2 - 1) / 24)
    is_slim = ~edge & (width * (1 + far) < _SLIM)
    rest = pt.switch(is_slim, slim, pt.switch(end < 0, tail, around))
    return pt.log(rest) - depth**2 / 2 - np.log(2)
