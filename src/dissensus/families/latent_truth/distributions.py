"""PyMC distributions: labels with the truth summed out, and rows that lead with their own label."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.multivariate import Dirichlet, SimplexContinuous
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.logprob.basic import logp as logp_of
from pymc.pytensorf import normalize_rng_param
from pytensor.graph.basic import Constant
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.basic import uniform
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.utils import normalize_size_param
from scipy import integrate, special

from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Floats
from dissensus.kernels.votes import votes


class LatentTruthRV(SymbolicRandomVariable):
    """Draws a state for each item, and labels given the states."""

    name = "latent_truth"
    extended_signature = "[rng],[size],(s),(r,k,s),(n),(n)->[rng],(n)"
    _print_name = ("LatentTruth", "\\operatorname{LatentTruth}")

    @classmethod
    def rv_op(
        cls, log_weight: Any, log_response: Any, item: Any, respondent: Any, *, size: Any = None,
        rng: Any = None,
    ) -> Any:  # fmt: skip
        """Build the graph of a draw."""
        log_weight, log_response = (
            pt.as_tensor(table, dtype="float64") for table in (log_weight, log_response)
        )
        item, respondent = (pt.as_tensor(codes, dtype="int64") for codes in (item, respondent))
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        if not rv_size_is_none(size) and size.type.shape != (0,):
            raise NotImplementedError("labels of one study at a time: size is not supported")
        n_items = pt.max(item) + 1
        middle_rng, first = uniform(size=(n_items,), rng=rng, return_next_rng=True)
        next_rng, second = uniform(size=item.shape, rng=middle_rng, return_next_rng=True)
        edges = pt.cumsum(pt.exp(log_weight))
        state = pt.clip(pt.searchsorted(edges, first, side="right"), 0, edges.shape[0] - 1)
        chances = pt.exp(log_response)[respondent, :, state[item]]
        label = (pt.cumsum(chances, axis=-1)[:, :-1] <= second[:, None]).sum(axis=-1)
        return cls(
            inputs=[rng, size, log_weight, log_response, item, respondent],
            outputs=[next_rng, label.astype("int64")],
        )(rng, size, log_weight, log_response, item, respondent)


class LatentTruth(Discrete):
    r"""Labels that respondents give to items, with the states of items summed out.

    .. math:: P(y) = \prod_i \sum_s w_s \prod_{n: \, i_n = i} R_{r_n y_n s}

    A *state* is the true label, and whatever else items differ in. Given the state all labels of an
    item are independent. Items with the same labels from the same respondents are computed once.

    Parameters
    ----------
    log_weight : tensor_like of float (state)
        Log-probabilities of states; normalised.
    log_response : tensor_like of float (respondent, response, state)
        Log-probabilities of labels; normalised over responses.
    item, respondent : array of int (label)
        The item of each label, and who gave it; constants.

    Raises
    ------
    ArgumentError
        If the shapes do not fit.

    Examples
    --------
    Two items, two labels of equal prevalence, and a respondent with accuracy .75:

    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.families.distributions import LatentTruth
    >>> table = np.log([[[0.75, 0.25], [0.25, 0.75]]])
    >>> y = LatentTruth.dist(np.log([0.5, 0.5]), table, [0, 0, 1], [0, 0, 0])
    >>> bool(np.isclose(np.exp(pm.logp(y, [1, 1, 0]).eval()), (0.75**2 + 0.25**2) / 2 * 0.5))
    True
    """

    rv_type = LatentTruthRV
    rv_op = LatentTruthRV.rv_op

    @classmethod
    def dist(
        cls, log_weight: Any, log_response: Any, item: Any, respondent: Any, **kwargs: Any
    ) -> Any:
        """Return an unnamed variable."""
        log_weight = pt.as_tensor(log_weight, dtype="float64")
        log_response = pt.as_tensor(log_response, dtype="float64")
        item, respondent = (np.asarray(codes, dtype=np.int64) for codes in (item, respondent))
        for name, value, ndim in (("log_weight", log_weight, 1), ("log_response", log_response, 3)):
            if value.type.ndim != ndim:
                raise ArgumentError(name, expected=f"{ndim} dimensions", found=str(value.type.ndim))
        if item.ndim != 1 or item.shape != respondent.shape:
            raise ArgumentError(
                "respondent", expected=f"one for each of the {item.shape} items' labels",
                found=f"shape {respondent.shape}",
            )  # fmt: skip
        return super().dist([log_weight, log_response, item, respondent], **kwargs)

    def support_point(rv: Any, *args: Any) -> Any:  # noqa: N805
        """Return the first label for all."""
        *_, item, _respondent = args
        return pt.zeros_like(item)

    def logp(value: Any, log_weight: Any, log_response: Any, item: Any, respondent: Any) -> Any:  # noqa: N805
        """Return the log-probability of all labels together."""
        if all(isinstance(codes, Constant) for codes in (item, respondent, value)):
            items, respondents, labels = (
                np.asarray(codes.data, dtype=np.int64) for codes in (item, respondent, value)
            )
            patterns, _ = votes(items, respondents, labels, int(items.max(initial=-1)) + 1)
            n_patterns = len(patterns.n_items)
            pattern = np.repeat(np.arange(n_patterns), np.diff(patterns.start))
            rows = patterns.times[:, None] * log_response[patterns.respondent, patterns.label]
            return _summed(rows, pattern, n_patterns, log_weight, patterns.n_items)
        return _summed(log_response[respondent, value], item, pt.max(item) + 1, log_weight, 1)


def _summed(rows: Any, group: Any, n_groups: Any, log_weight: Any, times: Any) -> Any:
    """Sum the rows of each group, sum over states, and sum groups, each with its multiplicity."""
    start = pt.zeros((n_groups, log_weight.shape[0]))
    total = pt.inc_subtensor(start[group], rows)
    return pt.sum(times * pt.logsumexp(total + log_weight, axis=-1))


# Rows of a confusion matrix that have their own label most often.

_TRIES: Final = 100_000
_LEAST: Final = 1e-3
"""Smallest probability that the place leads: draws are rejected until it does."""
_HARDLY: Final = "under its shape, the entry that must be the largest of a row rarely is"


class LeadingDirichletRV(RandomVariable):
    """Draws from a Dirichlet distribution until one place is the largest."""

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
        Shape; > 0. Constants, so that the normalising constant can be integrated.
    own : array_like of int (...)
        The place m, from 0; constants. It must lead in at least .1 % of the Dirichlet's draws.

    Raises
    ------
    ArgumentError
        If they depend on variables, do not fit each other, or the place hardly ever leads.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.families.distributions import LeadingDirichlet
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
    """Return a constant array."""
    if isinstance(value, Constant):
        value = value.data
    if hasattr(value, "owner"):
        raise ArgumentError(name, expected="numbers", found="a variable")
    return np.asarray(value)


def shares(a: Floats, own: npt.NDArray[np.integer]) -> Floats:
    """Return the probability that these places lead (...), given shapes (..., n)."""
    lead = np.broadcast_shapes(a.shape[:-1], own.shape)
    a, own = np.broadcast_to(a, (*lead, a.shape[-1])), np.broadcast_to(own, lead)
    return np.array([share(a[row], int(own[row])) for row in np.ndindex(*lead)]).reshape(lead)


def share(a: npt.ArrayLike, own: int) -> float:
    """Return the probability that one of independent gammas is the largest.

    Examples
    --------
    >>> round(share([1.0, 1.0, 1.0, 1.0], 2), 6)
    0.25
    """
    a = np.asarray(a, dtype=np.float64)
    return _leads(float(a[own]), tuple(sorted(np.delete(a, own).tolist())))


@lru_cache(maxsize=1024)  # rows of a matrix mostly have the same numbers in another order
def _leads(own: float, others: tuple[float, ...]) -> float:
    each = np.array(others)

    def density(u: float) -> float:
        return float(np.prod(special.gammainc(each, special.gammaincinv(own, u))))

    # full_output suppresses a warning of roundoff: probabilities that small are refused.
    return float(integrate.quad(density, 0.0, 1.0, full_output=1)[0])
