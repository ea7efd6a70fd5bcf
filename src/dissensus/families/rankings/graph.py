"""The parts of a model's graph of rankings that a Gibbs step needs.

Nothing is handed to the step beside the model, so that a model whose data were changed, by
`pymc.set_data` or `pymc.observe`, is sampled as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Identity
from pytensor.tensor.basic import Alloc, Join
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.shape import Reshape, SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dissensus.errors import ArgumentError, warn_caller
from dissensus.families.rankings.distributions import LogGammaRV, PartialRankingRV, places_of
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling.step import first_point, uncompiled, unfit

Point = Mapping[str, Any]


class Parameters(NamedTuple):
    """Parameters that may change from sweep to sweep, with other variables."""

    shape: Floats
    """(cell)"""
    power: float
    sharpness: Floats
    """(ranking)"""


class Reading(NamedTuple):
    """Rankings, and the places of their cells in the variable of log strengths."""

    rankings: Rankings
    cells: Ints
    """(cell): its place in the variable, flattened."""
    parameters: Callable[[Point], Parameters]


def read(model: Any, value: Any, **compile_kwargs: Any) -> Reading:
    """Read how the rankings of a model depend on one value variable of log strengths.

    Raises ArgumentError if the step would not be exact for the model, saying why.
    """
    strength = model.values_to_rvs[value]
    if not isinstance(strength.owner.op, LogGammaRV):
        raise unfit("log strengths with a LogGamma prior", f"{strength.name}: {strength.owner.op}")
    if model.rvs_to_transforms[strength] is not None:
        raise unfit(f"{strength.name} without a transform", "one with a transform")
    rankings = _dependants(model, strength)
    graphs = [one.owner.op.dist_params(one.owner) for one in rankings]
    wanted = [strength.owner.op.dist_params(strength.owner)[0]]
    wanted += [part for graph in graphs for part in (graph[0], graph[2], graph[3])]
    for graph in graphs:
        _require_selection(graph[0], strength, model)
    evaluate = model.compile_fn(
        model.replace_rvs_by_values(wanted), inputs=model.value_vars,
        on_unused_input="ignore", **compile_kwargs,
    )  # fmt: skip
    start = first_point(model)
    chosen = _chosen(evaluate, start, value.name)
    with uncompiled():
        observed = [model.rvs_to_values[one].eval() for one in rankings]
    for ranks in observed:
        places_of(ranks)
    pairs = [np.broadcast_arrays(*pair) for pair in zip(chosen, observed, strict=True)]
    chosen, ranks = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    laid_out, cells, order = _laid_out(chosen, ranks, np.size(start[value.name]))
    rows = [one.shape[:-1] for one in chosen]

    def parameters(point: Point) -> Parameters:
        shape, *rest = evaluate(point)
        flat = np.broadcast_to(shape, np.shape(start[value.name])).ravel()[cells]
        powers = np.unique(np.concatenate([np.ravel(power) for power in rest[1::3]]))
        if len(powers) > 1:
            raise unfit("one power of the likelihood for all rankings", str(powers))
        each = [np.broadcast_to(s, n).ravel() for s, n in zip(rest[2::3], rows, strict=True)]
        return Parameters(flat, float(powers[0]), np.concatenate(each)[order].astype(np.float64))

    return Reading(laid_out, cells, parameters)


def fits(model: Any, strength: Any) -> bool:
    """Return whether the step is exact for strengths; warn where rankings depend on others."""
    try:
        with uncompiled():
            read(model, model.rvs_to_values[strength]).parameters(first_point(model))
    except ArgumentError as problem:
        reason = f"expected {problem.expected}; found {problem.found}"
    except Exception as problem:  # a model that cannot be read is no model of the step
        reason = f"it cannot be read: {type(problem).__name__}: {problem}"
    else:
        return True
    if any(isinstance(rv.owner.op, PartialRankingRV) for rv in model.observed_RVs):
        warn_caller(
            f"PyMC's own steps sample {strength.name}, not PlackettLuceGibbs, which would not be "
            f"exact: {reason}."
        )
    return False


def _dependants(model: Any, strength: Any) -> list[Any]:
    """Return the observed rankings that depend on the strengths, if nothing else does."""
    found = []
    for one in [*model.basic_RVs, *model.potentials]:
        if one is strength or strength not in set(ancestors([one])):
            continue
        if not isinstance(one.owner.op, PartialRankingRV) or one not in model.observed_RVs:
            raise unfit(
                f"only observed PartialRanking variables to depend on {strength.name}", one.name
            )
        _, places, power, sharpness = one.owner.op.dist_params(one.owner)
        if strength in set(ancestors([places, power, sharpness])):
            raise unfit(f"power and sharpness that do not depend on {strength.name}", one.name)
        if set(ancestors([power])) & set(model.free_RVs):
            raise unfit("a power that is given: the likelihood is not normalised", one.name)
        found.append(one)
    if not found:
        raise unfit(f"a PartialRanking that depends on {strength.name}", "none")
    return found


_SELECTIONS: Final = (
    Subtensor, AdvancedSubtensor, Join, Reshape, DimShuffle, SpecifyShape, Alloc,
)  # fmt: skip
"""Operations whose results are entries of their inputs, unchanged."""


def _require_selection(expression: Any, strength: Any, model: Any) -> None:
    """Raise unless the entries of an expression are strengths as they are, or given numbers."""
    others = set(model.free_RVs) & set(ancestors([expression], blockers=[strength])) - {strength}
    if others:
        names = ", ".join(sorted(str(rv.name) for rv in others))
        raise unfit("rankings of the strengths themselves", f"a function of them and {names}")
    for one in ancestors([expression], blockers=[strength]):
        if one is strength or strength not in set(ancestors([one], blockers=[strength])):
            continue
        op = one.owner.op
        same = isinstance(op, Elemwise) and isinstance(op.scalar_op, Identity)
        if not same and not isinstance(op, _SELECTIONS):
            raise unfit("rankings of the strengths themselves", f"a function of them, by {op}")


def _chosen(evaluate: Any, start: Point, name: str) -> list[Ints]:
    """Return the strength of each entry of the rankings; -1 for an absent label.

    The entries are strengths as they are (see `_require_selection`): their places as values tell.
    """
    shape = np.shape(start[name])
    place = np.arange(np.prod(shape, dtype=int), dtype=np.float64)
    entries = evaluate({**start, name: place.reshape(shape)})[1::3]
    for one in entries:
        given = one[np.isfinite(one)]
        if not np.isin(given, place).all():
            raise unfit("rankings of the strengths themselves", "other numbers among them")
    return [np.where(np.isfinite(one), one, -1).astype(np.int64) for one in entries]


def _laid_out(chosen: list[Ints], ranks: list[Ints], n_cells: int) -> tuple[Rankings, Ints, Ints]:
    """Lay out rankings; cells that meet in a ranking belong to one item.

    Returns the rankings, the cells in the order they want, and the order of the rankings.
    """
    ranking, cell, rank = _entries(chosen, ranks)
    n_rankings = sum(int(np.prod(one.shape[:-1], dtype=int)) for one in chosen)
    if len(np.unique(ranking * n_cells + cell)) < len(cell):
        raise unfit("each strength once in a ranking", "one that is there twice")
    edges = (np.ones(len(cell)), (ranking, n_rankings + cell))
    n_nodes = n_rankings + n_cells
    _, owner = connected_components(csr_array(edges, shape=(n_nodes, n_nodes)), directed=False)
    n_items = int(owner.max()) + 1
    by_ranking, by_cell = owner[:n_rankings], owner[n_rankings:]
    cells, order = np.argsort(by_cell, kind="stable"), np.argsort(by_ranking, kind="stable")
    counts = np.bincount(by_cell, minlength=n_items)
    cell_start = np.concatenate([[0], np.cumsum(counts)])
    within = np.empty(n_cells, dtype=np.int64)
    within[cells] = np.arange(n_cells) - cell_start[by_cell[cells]]
    there = np.bincount(ranking, minlength=n_rankings)
    listed = np.bincount(ranking[rank > 0], minlength=n_rankings)
    closed = there < counts[by_ranking]
    if (closed & (listed < there)).any():
        raise unfit(
            "rankings over all labels of an item, or only over those they list",
            f"ranking {np.flatnonzero(closed & (listed < there))[0]} over some",
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
    """Return (ranking, cell, rank) of every label that is there, over all variables."""
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
