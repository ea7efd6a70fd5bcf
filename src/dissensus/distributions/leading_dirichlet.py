"""Rows of a confusion matrix that have their own label most often."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.multivariate import SimplexContinuous
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from scipy import integrate, stats

_TRIES = 10_000


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
        raise ValueError("a place that is to be the largest hardly ever is, by its shape")


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
        raise ValueError("a place that is to be the largest hardly ever is, by its shape")

    return draw


class LeadingDirichlet(SimplexContinuous):
    r"""Dirichlet, given that one place is the largest.

    .. math:: p(x \mid a) \propto \prod_k x_k^{a_k - 1} \; [x_m = \max_k x_k]

    Parameters
    ----------
    a : array_like of float (..., n)
        Shape; given, so that the share of the Dirichlet that is left can be worked out.
    own : array_like of int (...)
        The place m.

    Examples
    --------
    >>> import pymc as pm
    >>> x = LeadingDirichlet.dist([1.0, 1.0, 1.0], 0)
    >>> np.exp(pm.logp(x, [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]]).eval()).round(6)
    array([6., 0.])
    """

    rv_type = LeadingDirichletRV
    rv_op = LeadingDirichletRV()

    @classmethod
    def dist(cls, a: Any, own: Any, **kwargs: Any) -> Any:
        """Return an unnamed variable."""
        return super().dist(
            [pt.as_tensor(np.asarray(a, dtype=float)), pt.as_tensor(np.asarray(own))], **kwargs
        )

    def support_point(rv: Any, *args: Any) -> Any:  # noqa: N805
        """Return a point with most of it at its own place."""
        _size, a, own = args
        n = a.shape[-1]
        same = pt.eq(pt.arange(n), pt.shape_padright(own))
        return pt.broadcast_to(pt.switch(same, 2.0, 1.0) / (n + 1.0), rv.shape)

    def logp(value: Any, a: Any, own: Any) -> Any:  # noqa: N805
        """Return the log density; minus infinity where another place is as large."""
        same = pt.eq(pt.arange(a.shape[-1]), pt.shape_padright(own))
        lead = pt.sum(pt.switch(same, value, 0.0), axis=-1, keepdims=True)
        fits = pt.all(same | (value < lead), axis=-1)
        whole = pt.gammaln(a.sum(axis=-1)) - pt.gammaln(a).sum(axis=-1)
        density = whole + ((a - 1) * pt.log(value)).sum(axis=-1) - _log_share(a, own)
        return check_parameters(
            pt.switch(fits, density, -np.inf), pt.all(a > 0, axis=-1), msg="a > 0"
        )


def _log_share(a: Any, own: Any) -> Any:
    """Return how probable it is that the place leads, of shapes that are given."""
    shape, place = np.asarray(a.eval()), np.asarray(own.eval())
    lead = np.broadcast_shapes(shape.shape[:-1], place.shape)
    shape, place = np.broadcast_to(shape, (*lead, shape.shape[-1])), np.broadcast_to(place, lead)
    out = np.empty(lead)
    for at in np.ndindex(*lead):
        out[at] = np.log(share(shape[at], int(place[at])))
    return pt.as_tensor(out)


def share(a: Any, own: int) -> float:
    """Return the probability that one of independent gammas is the largest.

    Examples
    --------
    >>> round(share(np.array([1.0, 1.0, 1.0, 1.0]), 2), 6)
    0.25
    """
    others = np.delete(np.asarray(a, dtype=float), own)

    def density(u: float) -> float:
        x = stats.gamma.ppf(u, a[own])
        return float(np.prod(stats.gamma.cdf(x, others)))

    return float(integrate.quad(density, 0.0, 1.0)[0])
