"""PyMC distributions: labels with the truth summed out, and Dirichlet rows led by one entry."""

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
from pytensor.raise_op import Assert
from pytensor.tensor.random.basic import uniform
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.utils import normalize_size_param
from scipy import integrate, special

from dissensus.data import layout
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Floats
from dissensus.kernels.votes import votes
from dissensus.sampling import places

_INSIDE: Final = Assert(
    "respondents and labels must be codes below the numbers of respondents and of labels; "
    "annotators that the model does not distinguish are all respondent 0"
)


class LatentTruthRV(SymbolicRandomVariable):
    """Draws a state for each item, and labels given the states."""

    name = "latent_truth"
    extended_signature = "[rng],[size],(s),(r,k,s),(m)->[rng],(m)"
    _print_name = ("LatentTruth", "\\operatorname{LatentTruth}")

    @classmethod
    def rv_op(
        cls, log_weight: Any, log_response: Any, respondent: Any, *, size: Any = None,
        rng: Any = None,
    ) -> Any:  # fmt: skip
        """Build the graph of a draw."""
        log_weight, log_response = (
            pt.as_tensor(table, dtype="float64") for table in (log_weight, log_response)
        )
        respondent = pt.as_tensor(respondent, dtype="int64")
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        label_respondent = respondent
        if not rv_size_is_none(size) and size.type.shape != (0,):  # a number of items
            if size.type.shape != (1,):
                raise NotImplementedError("size can only be the number of items of one study")
            label_respondent = pt.broadcast_to(respondent, (size[0], respondent.shape[1]))
        middle_rng, first = uniform(size=label_respondent.shape[:1], rng=rng, return_next_rng=True)
        next_rng, second = uniform(
            size=label_respondent.shape, rng=middle_rng, return_next_rng=True
        )
        edges = pt.cumsum(pt.exp(log_weight))
        state = pt.clip(pt.searchsorted(edges, first, side="right"), 0, edges.shape[0] - 1)
        chances = _rows(pt.exp(log_response).transpose(0, 2, 1), label_respondent, state[:, None])
        label = (pt.cumsum(chances, axis=-1)[..., :-1] <= second[..., None]).sum(axis=-1)
        label = pt.switch(label_respondent < 0, layout.EMPTY, label).astype("int64")
        return cls(
            inputs=[rng, size, log_weight, log_response, respondent], outputs=[next_rng, label]
        )(rng, size, log_weight, log_response, respondent)


class LatentTruth(Discrete):
    r"""Labels that respondents give to items, with the states of items summed out.

    .. math:: P(y_i) = \sum_s w_s \prod_n R_{r_{in}\, y_{in}\, s}

    A *state* s is, for example, the true label of an item together with its difficulty; it has the
    probability w. Given the state, all labels of an item are independent, with probabilities R.
    The log-probability has one value for each item. If respondents and labels are constants, the
    value is computed once for all items with the same labels from the same respondents.

    Parameters
    ----------
    log_weight : tensor_like of float (state)
        Log-probabilities of states; normalised.
    log_response : tensor_like of float (respondent, response, state)
        Log-probabilities of labels; normalised over responses.
    respondent : tensor_like of int (item, place)
        Respondent who gave each label of an item; -1 at places without a label. At these places,
        labels are -1 too.

    Raises
    ------
    ArgumentError
        If the shapes do not fit.

    Examples
    --------
    Two labels of equal prevalence, and a respondent with accuracy .75 who labels one item twice,
    and another item once:

    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.families.distributions import LatentTruth
    >>> table = np.log([[[0.75, 0.25], [0.25, 0.75]]])
    >>> y = LatentTruth.dist(np.log([0.5, 0.5]), table, [[0, 0], [0, -1]])
    >>> np.exp(pm.logp(y, [[1, 1], [0, -1]]).eval()).round(4)
    array([0.3125, 0.5   ])
    """

    rv_type = LatentTruthRV
    rv_op = LatentTruthRV.rv_op

    @classmethod
    def dist(cls, log_weight: Any, log_response: Any, respondent: Any, **kwargs: Any) -> Any:
        """Return an unnamed variable."""
        log_weight, log_response = (
            pt.as_tensor(table, dtype="float64") for table in (log_weight, log_response)
        )
        respondent = pt.as_tensor(respondent, dtype="int64")
        for name, value, ndim in (
            ("log_weight", log_weight, 1), ("log_response", log_response, 3),
            ("respondent", respondent, 2),
        ):  # fmt: skip
            if value.type.ndim != ndim:
                raise ArgumentError(name, expected=f"{ndim} dimensions", found=str(value.type.ndim))
        return super().dist([log_weight, log_response, respondent], **kwargs)

    def support_point(rv: Any, *args: Any) -> Any:  # noqa: N805
        """Return the first label at all places."""
        return pt.switch(args[-1] < 0, layout.EMPTY, 0)

    def logp(value: Any, log_weight: Any, log_response: Any, respondent: Any) -> Any:  # noqa: N805
        """Return the log-probability of the labels of each item."""
        if not (isinstance(respondent, Constant) and isinstance(value, Constant)):
            return pt.logsumexp(joint(value, log_weight, log_response, respondent), axis=-1)
        people, labels = (np.asarray(x.data, dtype=np.int64) for x in (respondent, value))
        item, place = layout.filled(people, labels)
        patterns, pattern = votes(item, people[item, place], labels[item, place], len(people))
        rows = patterns.times[:, None] * log_response[patterns.respondent, patterns.label]
        group = np.repeat(np.arange(len(patterns.n_items)), np.diff(patterns.start))
        start = pt.zeros((len(patterns.n_items), log_weight.shape[0]))
        total = pt.inc_subtensor(start[group], rows)
        return pt.logsumexp(total + log_weight, axis=-1)[pattern]


def joint(label: Any, log_weight: Any, log_response: Any, respondent: Any) -> Any:
    """Return the joint log-probabilities of each state and the item's labels (item, state)."""
    respondent = places.paired(respondent, label)
    rows = _rows(log_response, respondent, label)
    return pt.switch(respondent[..., None] < 0, 0.0, rows).sum(axis=1) + log_weight


def _rows(table: Any, respondent: Any, other: Any) -> Any:
    """Return the rows of a table (respondent, other, column) as an array (item, place, column).

    ``respondent`` and ``other`` (item, place) are the indices; negative ones are replaced by 0.
    """
    first_code, second_code = pt.broadcast_arrays(pt.maximum(respondent, 0), pt.maximum(other, 0))
    inside = pt.all(first_code < table.shape[0]) & pt.all(second_code < table.shape[1])
    # Without this check, compiled code would read past the end of the table.
    first_code = _INSIDE(first_code, inside)
    # The index is a vector, because not all backends accept a matrix of indices.
    rows = table.reshape((-1, table.shape[-1]))[(first_code * table.shape[1] + second_code).ravel()]
    return rows.reshape((*first_code.shape, table.shape[-1]))


# Rows of confusion matrices in which the true label is the most probable response.

_TRIES: Final = 100_000
_LEAST: Final = 1e-3
"""Smallest accepted probability that entry ``own`` is the largest, as draws are rejected until it
is."""
_HARDLY: Final = "shape `a` makes the entry `own` the largest of a row too rarely to draw one"


class LeadingDirichletRV(RandomVariable):
    """Draws from a Dirichlet distribution until the entry at one place is the largest."""

    name = "leading_dirichlet"
    signature = "(n),()->(n)"
    dtype = "floatX"
    _print_name = ("LeadingDirichlet", "\\operatorname{LeadingDirichlet}")

    @classmethod
    def rng_fn(cls, rng: Any, a: Any, own: Any, size: Any) -> Any:
        """Draw rows (..., n)."""
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
    """Return the function by which compiled code draws one row."""

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
    r"""Dirichlet distribution, given that the entry at one place is the largest.

    .. math:: p(x \mid a) \propto \prod_k x_k^{a_k - 1} \; [x_m = \max_k x_k]

    Parameters
    ----------
    a : array_like of float (..., n)
        Shape; > 0. Must be constant, as the normalising constant is integrated numerically.
    own : array_like of int (...)
        The place m of the largest entry, from 0. Must be constant. At least .1 % of the Dirichlet
        distribution's draws must have their largest entry there.

    Raises
    ------
    ArgumentError
        If ``a`` or ``own`` is a variable, their shapes do not fit, or the entry at the place is
        hardly ever the largest.

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
            least = shares_by_row(shape, place).min(initial=1.0)
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
        """Return a row with .9 at the place of the largest entry."""
        _size, a, own = args
        n = a.shape[-1]
        same = pt.eq(pt.arange(n), pt.shape_padright(own))
        return pt.broadcast_to(pt.switch(same, 0.9, 0.1 / (n - 1.0)), rv.shape)

    def logp(value: Any, a: Any, own: Any) -> Any:  # noqa: N805
        """Return the log density; minus infinity if another entry is as large or larger."""
        same = pt.eq(pt.arange(a.shape[-1]), pt.shape_padright(own))
        lead = pt.sum(pt.switch(same, value, 0.0), axis=-1, keepdims=True)
        fits = pt.all(same | (value < lead), axis=-1)
        density = logp_of(Dirichlet.dist(a), value) - pt.log(shares_by_row(a.eval(), own.eval()))
        return pt.switch(fits, density, -np.inf)


def _shape(a: Any) -> Floats:
    """Return the shapes; raise if they are not finite numbers > 0."""
    shape = _given("a", a)
    good = shape.dtype.kind in "iuf" and shape.ndim and shape.shape[-1]
    if not good or not (np.isfinite(shape) & (shape > 0)).all():
        raise ArgumentError("a", expected="rows of finite numbers > 0", found=brief(shape.tolist()))
    return shape.astype(np.float64)


def _given(name: str, value: Any) -> npt.NDArray[Any]:
    """Return a constant as an array; raise if it is a variable."""
    if isinstance(value, Constant):
        value = value.data
    if hasattr(value, "owner"):
        raise ArgumentError(name, expected="numbers", found="a variable")
    return np.asarray(value)


def shares_by_row(a: Floats, own: npt.NDArray[np.integer]) -> Floats:
    """Return the probability (...) that entry ``own`` (...) leads, given shapes ``a`` (..., n)."""
    lead = np.broadcast_shapes(a.shape[:-1], own.shape)
    a, own = np.broadcast_to(a, (*lead, a.shape[-1])), np.broadcast_to(own, lead)
    values = [leading_share(a[row], int(own[row])) for row in np.ndindex(*lead)]
    return np.array(values).reshape(lead)


def leading_share(a: npt.ArrayLike, own: int) -> float:
    """Return the probability that number ``own`` of independent Gamma variates is the largest.

    Examples
    --------
    >>> round(leading_share([1.0, 1.0, 1.0, 1.0], 2), 6)
    0.25
    """
    a = np.asarray(a, dtype=np.float64)
    return _leads(float(a[own]), tuple(sorted(np.delete(a, own).tolist())))


@lru_cache(maxsize=1024)  # rows of a matrix mostly have the same numbers in another order
def _leads(own: float, others: tuple[float, ...]) -> float:
    each = np.array(others)

    def density(u: float) -> float:
        return float(np.prod(special.gammainc(each, special.gammaincinv(own, u))))

    # full_output suppresses a warning of rounding errors: they occur only at probabilities so small
    # that `LeadingDirichlet` refuses them.
    return float(integrate.quad(density, 0.0, 1.0, full_output=1)[0])
