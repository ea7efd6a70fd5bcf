"""Rows of a confusion matrix that have their own label most often."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytensor.tensor as pt
from pymc.distributions.multivariate import Dirichlet, SimplexContinuous
from pymc.logprob.basic import logp as logp_of
from pytensor.graph.basic import Constant
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from scipy import integrate, special

from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Floats

_TRIES: Final = 100_000
_LEAST: Final = 1e-3
"""Share of a Dirichlet's draws that may be left: draws are thrown away until one fits."""
_HARDLY: Final = "a place that is to be the largest hardly ever is, by its shape"


class LeadingDirichletRV(RandomVariable):
    """A Dirichlet variate of which one place is the largest, by drawing until it is."""

    name = "leading_dirichlet"
    signature = "(n),()->(n)"
    dtype = "floatX"
    _print_name = ("LeadingDirichlet", "\\operatorname{LeadingDirichlet}")

    @classmethod
    def rng_fn(cls, rng: Any, a: Any, own: Any, size: Any) -> Any:
        """Draw."""
        lead = np.broadcast_shapes(a.shape[:-1], np.shape(own)) if size is None else tuple(size)
        a, own = np.broadcast_to(a, (*lead, a.shape[-1])), np.broadcast_to(own, lead)
        out = np.empty(a.shape)
        left = np.ones(lead, dtype=bool)
        for _ in range(_TRIES):
            gamma = rng.standard_gamma(a[left])
            out[left] = gamma / gamma.sum(axis=-1, keepdims=True)
            left = out.argmax(axis=-1) != own
            if not left.any():
                return out
        raise ValueError(_HARDLY)


@numba_core_rv_funcify.register(LeadingDirichletRV)
def _compiled(op: Any, node: Any) -> Any:  # noqa: ARG001 (as PyTensor calls it)
    """Draw inside compiled code, one row at a time."""

    @numba_basic.numba_njit
    def draw(rng: Any, a: Any, own: Any) -> Any:
        out = np.empty(len(a))
        for _ in range(_TRIES):
            for k in range(len(a)):
                out[k] = rng.gamma(a[k], 1.0)
            out /= out.sum()
            if out.argmax() == own:
                return out
        raise ValueError(_HARDLY)

    return draw


class LeadingDirichlet(SimplexContinuous):
    r"""Dirichlet, given that one place is the largest.

    .. math:: p(x \mid a) \propto \prod_k x_k^{a_k - 1} \; [x_m = \max_k x_k]

    Parameters
    ----------
    a : array_like of float (..., n)
        Shape; > 0. Given, so that the share of the Dirichlet that is left can be worked out.
    own : array_like of int (...)
        The place m, from 0; given. It leads in one of 1,000 draws of the Dirichlet at least.

    Raises
    ------
    ArgumentError
        If they hang on variables, do not fit each other, or the place hardly ever leads.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.distributions import LeadingDirichlet
    >>> x = LeadingDirichlet.dist([1.0, 1.0, 1.0], 0)
    >>> np.exp(pm.logp(x, [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]]).eval()).round(6)
    array([6., 0.])
    """

    rv_type = LeadingDirichletRV
    rv_op = LeadingDirichletRV()

    @classmethod
    def dist(cls, a: Any, own: Any, **kwargs: Any) -> Any:
        """Return an unnamed variable."""
        shape, place = _shape(a), _given("own", own)
        n = shape.shape[-1]
        if place.dtype.kind not in "iu" or not ((place >= 0) & (place < n)).all():
            raise ArgumentError(
                "own", expected=f"places from 0 to {n - 1}", found=brief(place.tolist())
            )
        try:
            least = shares(shape, place).min(initial=1.0)
        except ValueError:
            raise ArgumentError(
                "own", expected=f"one place for each row of a, of shape {shape.shape[:-1]}",
                found=f"shape {place.shape}",
            ) from None  # fmt: skip
        if least < _LEAST:
            raise ArgumentError(
                "own", expected=f"places that lead in {_LEAST:.1%} of draws or more",
                found="one that leads in fewer",
            )  # fmt: skip
        return super().dist([pt.as_tensor(shape), pt.as_tensor(place)], **kwargs)

    def support_point(rv: Any, *args: Any) -> Any:  # noqa: N805
        """Return a point with .9 at its own place, which leads in points that are near, too."""
        _size, a, own = args
        n = a.shape[-1]
        same = pt.eq(pt.arange(n), pt.shape_padright(own))
        return pt.broadcast_to(pt.switch(same, 0.9, 0.1 / (n - 1.0)), rv.shape)

    def logp(value: Any, a: Any, own: Any) -> Any:  # noqa: N805
        """Return the log density; minus infinity where another place is as large."""
        same = pt.eq(pt.arange(a.shape[-1]), pt.shape_padright(own))
        lead = pt.sum(pt.switch(same, value, 0.0), axis=-1, keepdims=True)
        fits = pt.all(same | (value < lead), axis=-1)
        density = logp_of(Dirichlet.dist(a), value) - pt.log(shares(a.eval(), own.eval()))
        return pt.switch(fits, density, -np.inf)


def _shape(a: Any) -> Floats:
    """Return shapes, checked."""
    shape = _given("a", a)
    good = shape.dtype.kind in "iuf" and shape.ndim and shape.shape[-1]
    if not good or not (np.isfinite(shape) & (shape > 0)).all():
        raise ArgumentError("a", expected="rows of finite numbers > 0", found=brief(shape.tolist()))
    return shape.astype(np.float64)


def _given(name: str, value: Any) -> npt.NDArray[Any]:
    """Return an array that hangs on no variable."""
    if isinstance(value, Constant):
        value = value.data
    if hasattr(value, "owner"):
        raise ArgumentError(name, expected="numbers", found="a variable")
    return np.asarray(value)


def shares(a: Floats, own: npt.NDArray[np.integer]) -> Floats:
    """Return how probable it is that these places lead (...), of shapes (..., n)."""
    lead = np.broadcast_shapes(a.shape[:-1], own.shape)
    a, own = np.broadcast_to(a, (*lead, a.shape[-1])), np.broadcast_to(own, lead)
    return np.array([share(a[at], int(own[at])) for at in np.ndindex(*lead)]).reshape(lead)


def share(a: npt.ArrayLike, own: int) -> float:
    """Return the probability that one of independent gammas is the largest.

    Examples
    --------
    >>> round(share([1.0, 1.0, 1.0, 1.0], 2), 6)
    0.25
    """
    a = np.asarray(a, dtype=np.float64)
    return _leads(float(a[own]), tuple(sorted(np.delete(a, own).tolist())))


@lru_cache(maxsize=1024)  # rows of a matrix mostly have the same numbers, at other places
def _leads(own: float, others: tuple[float, ...]) -> float:
    each = np.array(others)

    def density(u: float) -> float:
        return float(np.prod(special.gammainc(each, special.gammaincinv(own, u))))

    # With full_output it does not warn of roundoff: what is that small is refused.
    return float(integrate.quad(density, 0.0, 1.0, full_output=1)[0])
