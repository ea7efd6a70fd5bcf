"""The Gibbs step for partial rankings, as a PyMC step method.

The step reads the model's graph, so that it uses the current data of a model that was changed by
`pymc.set_data` or `pymc.observe`. A model may use strengths in any way, as long as the step can
prove that only rankings depend on them. It must use the hyperparameters of their prior as
`dissensus.models.plackett_luce` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from pymc.model import Model
from pymc.step_methods.compound import StepMethodState
from pymc.step_methods.state import dataclass_state
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Identity
from pytensor.tensor.basic import Alloc, Join
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.shape import Reshape, SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dissensus.data.predictions import Features
from dissensus.dims import LABEL
from dissensus.errors import ArgumentError
from dissensus.families import base
from dissensus.families.rankings.chain import PriorChain
from dissensus.families.rankings.distributions import (
    LogGamma,
    LogGammaRV,
    PartialRankingRV,
    places_of,
)
from dissensus.families.rankings.kernels.learned_prior import Leaning
from dissensus.families.rankings.kernels.sweep import sweep
from dissensus.families.rankings.learned_prior import PriorCells
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling.interpreter import Point, of_point, uncompiled
from dissensus.sampling.learned_prior import EVIDENCE
from dissensus.sampling.proof import codes, constants, prove_free, shapes
from dissensus.sampling.step import WholeModelStep, first_point, is_as_written, unfit

_STRENGTH: Final = "log_strength"
_ITEM: Final = "cell_item"
"""Name of data that only a model with a shared prior has."""


class Parameters(NamedTuple):
    """Parameters of rankings that may change between sweeps: they may depend on other variables."""

    shape: Floats
    """(cell)"""
    power: float
    sharpness: Floats
    """(ranking)"""


class Strengths(NamedTuple):
    """A variable of log strengths, its rankings, and the index of each cell in the variable."""

    name: str
    rankings: Rankings
    cells: Ints
    """(cell): index in the flattened variable."""
    parameters: Callable[[Point], Parameters]
    leaning: Leaning | None = None
    """Features of each cell's prior, if the step moves its hyperparameters too."""


class Reading(NamedTuple):
    """The parts of a model that the step needs."""

    names: tuple[str, ...]
    """The variables that the step moves."""
    hyperparameters: tuple[str, ...]
    strengths: list[Strengths]
    aside: str
    """Why the step does not move the hyperparameters; empty if it does, or if there are none."""


def has_form(model: Any) -> bool:
    """Return whether a model has strengths and rankings."""
    ranked = any(isinstance(rv.owner.op, PartialRankingRV) for rv in model.observed_RVs)
    return ranked and any(isinstance(rv.owner.op, LogGammaRV) for rv in model.free_RVs)


def read(model: Any) -> Reading:
    """Read how rankings depend on log strengths, and log strengths on the shared prior."""
    rankings = [rv for rv in model.basic_RVs if isinstance(rv.owner.op, PartialRankingRV)]
    behind = set(ancestors(rankings))
    gammas = [rv for rv in model.free_RVs if isinstance(rv.owner.op, LogGammaRV)]
    if not gammas:
        raise unfit("log strengths with a LogGamma prior", "none")
    ranked = [rv for rv in gammas if rv in behind]
    if not ranked:
        raise unfit(f"a PartialRanking that depends on {gammas[0].name}", "none")
    prior, aside = None, ""
    with uncompiled():
        if _ITEM in model.named_vars and any(rv.name == _STRENGTH for rv in ranked):
            try:
                prior = _shared_prior(model, rankings)
            except ArgumentError as problem:
                aside = f"expected {problem.expected}; found {problem.found}"
        strengths = [
            _read_strengths(model, rv, prior if rv.name == _STRENGTH else None) for rv in ranked
        ]
    hyperparameters = () if prior is None else prior.names
    names = (*hyperparameters, *(rv.name for rv in ranked))
    return Reading(names, hyperparameters, strengths, aside)


def _read_strengths(model: Any, strength: Any, prior: _Prior | None) -> Strengths:
    """Read the rankings of one variable of log strengths.

    A shared prior defines the cells of each item. Without it, cells in the same ranking belong to
    one item.
    """
    if model.rvs_to_transforms[strength] is not None:
        raise unfit(f"{strength.name} without a transform", "one with a transform")
    rankings = _dependants(model, strength)
    graphs = [rv.owner.op.dist_params(rv.owner) for rv in rankings]
    for graph in graphs:
        _require_selection(graph[0], strength, model)
    start, name = first_point(model), model.rvs_to_values[strength].name
    chosen = _chosen(of_point(model, [graph[0] for graph in graphs]), start, name)
    observed = [model.rvs_to_values[rv].eval() for rv in rankings]
    for ranks in observed:
        places_of(ranks)
    pairs = [np.broadcast_arrays(*pair) for pair in zip(chosen, observed, strict=True)]
    chosen, ranks = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    shape, owner = np.shape(start[name]), None if prior is None else prior.cells.item
    laid_out, cells, order = _laid_out(chosen, ranks, int(np.prod(shape, dtype=int)), owner)
    rows = [index.shape[:-1] for index in chosen]
    expressions = [strength.owner.op.dist_params(strength.owner)[0]]
    expressions += [part for graph in graphs for part in (graph[2], graph[3])]
    evaluate = of_point(model, expressions)

    def parameters(point: Point) -> Parameters:
        alpha, *rest = evaluate(point)
        powers = np.unique(np.concatenate([np.ravel(power) for power in rest[::2]]))
        if len(powers) > 1:
            raise unfit("one power of the likelihood for all rankings", str(powers))
        each = [np.broadcast_to(s, n).ravel() for s, n in zip(rest[1::2], rows, strict=True)]
        return Parameters(
            np.broadcast_to(alpha, shape).ravel()[cells], float(powers[0]),
            np.concatenate(each)[order].astype(np.float64),
        )  # fmt: skip

    now = parameters(start)
    same = not set(ancestors(expressions)) & set(model.free_RVs)
    leaning = None if prior is None else _leaning(prior, laid_out, cells)
    read = (lambda _: now) if same else parameters
    return Strengths(strength.name, laid_out, cells, read, leaning)


class _Prior(NamedTuple):
    """The prior that items share."""

    names: tuple[str, ...]
    """Names of the hyperparameters, in the kernel's order."""
    cells: PriorCells
    n_labels: int


def _shared_prior(model: Any, rankings: list[Any]) -> _Prior:
    """Read the prior that items share.

    Raises if the prior is not as the library writes it, or a power or sharpness is not 1.
    """
    graphs = [rv.owner.op.dist_params(rv.owner) for rv in rankings]
    powers = constants(model, [part for graph in graphs for part in (graph[2], graph[3])])
    if any((np.asarray(power) != 1.0).any() for power in powers):
        raise unfit("power 1 and sharpness 1 of rankings, to learn the prior", "other values")
    item, label, size, features = constants(model, [model[f"cell_{n}"] for n in PriorCells._fields])
    n_labels = len(constants(model, [model["label_number"]])[0])
    shape_of = shapes(model)
    systems, listing, scored = (list(range(*shape_of.get(name, (0,)))) for name in EVIDENCE)
    item_features = Features([], systems, listing, scored)
    n_weights = sum(item_features.kinds)
    if features.shape[1:] != (n_weights,):
        raise unfit(f"a feature for each of {n_weights} weights", "others")
    if (label >= n_labels).any() or not (size > 0).all():
        raise unfit(f"cells of one or more of {n_labels} labels each", "others")
    cells = PriorCells(codes(item, len(item), "items of cells"), label, size, features)
    sizes = {LABEL: n_labels, "cell": len(item), "feature": features.shape[1]}
    coords = {n: np.arange(k) for n, k in sizes.items()} | item_features.coords()
    with Model(coords=coords, model=None) as reference:
        LogGamma(
            _STRENGTH, dims="cell",
            alpha=base.model_of("plackett_luce", "_learned_shapes")(n_labels, cells, item_features),
        )  # fmt: skip
    names = tuple(rv.name for rv in reference.free_RVs if rv.name != _STRENGTH)
    moved = {rv for rv in model.free_RVs if rv.name in names}
    strength = model[_STRENGTH]
    by_strengths = [rv for rv in rankings if not moved & set(ancestors([rv], blockers=[strength]))]
    if not is_as_written(model):
        prove_free(model, by_strengths, reference)
    return _Prior(names, cells, n_labels)


def _leaning(prior: _Prior, rankings: Rankings, order: Ints) -> Leaning:
    """Return the features of cells, in the kernel's order of cells and with its item numbers."""
    cells, n_cells = prior.cells, rankings.n_cells
    item = np.repeat(np.arange(len(n_cells)), n_cells)
    if len(np.unique(np.stack([item, cells.item[order]]), axis=1).T) > len(n_cells):
        raise unfit("labels of one item in each ranking", "labels of several items")
    ordered = PriorCells(item, cells.label[order], cells.size[order], cells.features[order])
    return ordered.leaning(prior.n_labels)


def _dependants(model: Any, strength: Any) -> list[Any]:
    """Return the observed rankings that depend on the strengths; raise if anything else does."""
    rankings, own = [], {strength, model.rvs_to_values[strength]}
    for rv in [*model.basic_RVs, *model.potentials]:
        if rv is strength or not own & set(ancestors([rv])):
            continue
        if not isinstance(rv.owner.op, PartialRankingRV) or rv not in model.observed_RVs:
            raise unfit(
                f"only observed PartialRanking variables to depend on {strength.name}", rv.name
            )
        _, places, power, sharpness = rv.owner.op.dist_params(rv.owner)
        if own & set(ancestors([places, power, sharpness])):
            raise unfit(f"power and sharpness that do not depend on {strength.name}", rv.name)
        if set(ancestors([power])) & {*model.free_RVs, *model.value_vars}:
            raise unfit("a power without a prior: the likelihood is not normalised", rv.name)
        rankings.append(rv)
    if not rankings:
        raise unfit(f"a PartialRanking that depends on {strength.name}", "none")
    return rankings


_SELECTIONS: Final = (
    Subtensor, AdvancedSubtensor, Join, Reshape, DimShuffle, SpecifyShape, Alloc,
)  # fmt: skip
"""Operations whose results are entries of their inputs, unchanged."""


def _require_selection(expression: Any, strength: Any, model: Any) -> None:
    """Raise unless each entry of an expression is an unchanged strength or a constant."""
    if set(model.value_vars) & set(ancestors([expression])):
        raise unfit("rankings of the strengths themselves", "PyMC's own values among them")
    others = set(model.free_RVs) & set(ancestors([expression], blockers=[strength])) - {strength}
    if others:
        names = ", ".join(sorted(str(rv.name) for rv in others))
        raise unfit("rankings of the strengths themselves", f"a function of them and {names}")
    for node in ancestors([expression], blockers=[strength]):
        if node is strength or strength not in set(ancestors([node], blockers=[strength])):
            continue
        op = node.owner.op
        same = isinstance(op, Elemwise) and isinstance(op.scalar_op, Identity)
        if not same and not isinstance(op, _SELECTIONS):
            raise unfit("rankings of the strengths themselves", f"a function of them, by {op}")


def _chosen(evaluate: Any, start: Point, name: str) -> list[Ints]:
    """Return the index of each entry's strength; -1 for an absent label.

    Entries are unchanged strengths (see `_require_selection`). If each strength is set to its own
    index, the values of the entries are these indices.
    """
    shape = np.shape(start[name])
    place = np.arange(np.prod(shape, dtype=int), dtype=np.float64)
    entries = evaluate({**start, name: place.reshape(shape)})
    # A constant can equal an index by chance, but does not change when all strengths do.
    shifted_entries = evaluate({**start, name: place.reshape(shape) + 0.5})
    for values, shifted in zip(entries, shifted_entries, strict=True):
        present = np.isfinite(values)
        if not (
            np.isin(values[present], place).all()
            and (shifted[present] == values[present] + 0.5).all()
        ):
            raise unfit("rankings of the strengths themselves", "other numbers among them")
    return [np.where(np.isfinite(values), values, -1).astype(np.int64) for values in entries]


def _laid_out(
    chosen: list[Ints], ranks: list[Ints], n_cells: int, owner: Ints | None
) -> tuple[Rankings, Ints, Ints]:
    """Lay out rankings; cells in the same ranking, or with the same ``owner``, belong to one item.

    Returns the rankings, and the kernel's order of the cells and of the rankings.
    """
    ranking, cell, rank = _entries(chosen, ranks)
    n_rankings = sum(int(np.prod(index.shape[:-1], dtype=int)) for index in chosen)
    if len(np.unique(ranking * n_cells + cell)) < len(cell):
        raise unfit("each strength once in a ranking", "a strength that occurs twice")
    if len(np.unique(ranking)) < n_rankings:
        raise unfit("labels to choose from in each ranking", "a ranking without any")
    source, target, n_nodes = ranking, n_rankings + cell, n_rankings + n_cells
    if owner is not None:
        source = np.concatenate([source, n_nodes + owner])
        target = np.concatenate([target, n_rankings + np.arange(n_cells)])
        n_nodes += int(owner.max()) + 1
    edges = csr_array((np.ones(len(source)), (source, target)), shape=(n_nodes, n_nodes))
    _, part = connected_components(edges, directed=False)
    n_items = int(part[: n_rankings + n_cells].max()) + 1
    by_ranking, by_cell = part[:n_rankings], part[n_rankings : n_rankings + n_cells]
    cells, order = np.argsort(by_cell, kind="stable"), np.argsort(by_ranking, kind="stable")
    counts = np.bincount(by_cell, minlength=n_items)
    cell_start = np.concatenate([[0], np.cumsum(counts)])
    within = np.empty(n_cells, dtype=np.int64)
    within[cells] = np.arange(n_cells) - cell_start[by_cell[cells]]
    n_available = np.bincount(ranking, minlength=n_rankings)
    n_listed = np.bincount(ranking[rank > 0], minlength=n_rankings)
    closed = n_available < counts[by_ranking]
    if (closed & (n_listed < n_available)).any():
        raise unfit(
            "rankings over all labels of an item, or only over those they list",
            f"ranking {np.flatnonzero(closed & (n_listed < n_available))[0]} over some",
        )
    position = np.empty(n_rankings, dtype=np.int64)
    position[order] = np.arange(n_rankings)
    row = np.lexsort((rank, position[ranking]))
    row = row[rank[row] > 0]
    rankings = Rankings(
        item_start=np.searchsorted(by_ranking[order], np.arange(n_items + 1)),
        ranking_start=np.searchsorted(position[ranking][row], np.arange(n_rankings + 1)),
        place=within[cell[row]],
        rank=rank[row],
        cell_start=cell_start,
        closed=closed[order],
    )
    return rankings, cells, order


def _entries(chosen: list[Ints], ranks: list[Ints]) -> tuple[Ints, Ints, Ints]:
    """Return (ranking, cell, rank) of every label that is not absent, over all variables."""
    parts, offset = [], 0
    for cells, rank in zip(chosen, ranks, strict=True):
        flat = cells.reshape(-1, cells.shape[-1])
        row, column = np.nonzero(flat >= 0)
        parts.append((row + offset, flat[row, column], rank.reshape(flat.shape)[row, column]))
        offset += len(flat)
    ranking, cell, rank = (
        np.concatenate(part).astype(np.int64) for part in zip(*parts, strict=True)
    )
    return ranking, cell, rank


@dataclass_state
class PlackettLuceGibbsState(StepMethodState):
    """The state of the step, apart from the random stream and PyMC's point."""

    tune: bool
    prior: Any
    """The state of the prior's chain; None without a learned prior."""


class PlackettLuceGibbs(WholeModelStep):
    r"""Draw all strengths behind partial rankings in one exact Gibbs sweep, and their prior.

    For a model with ``u = LogGamma(...)`` and one or more observed
    ``PartialRanking(log_strength=u[...])``: given exponential arrival times the strengths are
    independent. The prior that items share in `dissensus.models.plackett_luce.build` is drawn in
    the same sweep. `pymc.sample` uses this step for such variables automatically, and NUTS for
    other variables, such as a sharpness that is learned.

    Parameters
    ----------
    vars, model, rng, initial_point, compile_kwargs, blocked
        As for all step methods of PyMC. ``vars`` must be all variables that the step can move. A
        first step from ``initial_point`` compiles the kernels. ``compile_kwargs`` and ``blocked``
        are not used.

    Raises
    ------
    ArgumentError
        If the step would not be exact for the model, or some of the variables are left out.

    Notes
    -----
    Derivation: `docs/derivations/plackett-luce-gibbs.md`.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.families.steps import PlackettLuceGibbs
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> with dx.models.plackett_luce.build(ann) as model:
    ...     step = PlackettLuceGibbs()
    >>> point, stats = step.step(model.initial_point())
    >>> sorted(point)
    ['concentration_log__', 'label_weight', 'log_strength']
    """

    name = "plackett_luce_gibbs"
    has_form = staticmethod(has_form)
    read = staticmethod(read)
    _reading: Reading
    _state_class = PlackettLuceGibbsState

    def prepare(self, model: Any) -> None:  # noqa: ARG002
        """Make a chain of the prior, if the model has a learned prior."""
        self._hyper = [self._values[name] for name in self._reading.hyperparameters]
        chains = [
            PriorChain(variable.rankings, variable.leaning)
            for variable in self._reading.strengths if variable.leaning is not None
        ]  # fmt: skip
        self.prior = chains[0] if chains else None  # at most one variable has a learned prior
        self.tune = True

    def move(self, point: Any) -> Any:
        """Update all variables; the given point is not changed."""
        new = dict(point)
        for variable in self._reading.strengths:
            value = self._values[variable.name]
            whole = np.array(point[value])
            now = whole.ravel()[variable.cells]
            if self.prior is None or variable.leaning is None:
                shape, power, sharpness = variable.parameters(point)
                key = self.rng.integers(2**64, dtype=np.uint64)
                now = sweep(variable.rankings, shape, now, key, power=power, sharpness=sharpness)
            else:
                x = np.concatenate([np.ravel(point[hyper]) for hyper in self._hyper])
                x, now = self.prior.move(x, now, self.rng, tune=self.tune)
                new |= self._named(x, point)
            whole.flat[variable.cells] = now
            new[value] = whole
        return new, [{}]

    def _named(self, x: Floats, point: Any) -> dict[str, Floats]:
        """Return hyperparameters by the names of PyMC's value variables."""
        shapes = [np.shape(point[value]) for value in self._hyper]
        parts = np.split(x, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
        named = zip(self._hyper, parts, shapes, strict=True)
        return {value: part.reshape(shape) for value, part, shape in named}
