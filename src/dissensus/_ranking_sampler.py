"""Draw from the posterior of a ranking process: by the Gibbs kernel itself, or through PyMC."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import convergence
from dissensus._ranking_process import LEARNED, Process
from dissensus.arrays.plackett_luce_draws import log_strengths
from dissensus.arrays.plackett_luce_gibbs import sample
from dissensus.arrays.remainder import row_keys
from dissensus.arrays.seeds import name_hashes
from dissensus.dims import ANNOTATOR, CANDIDATE, CHAIN, DRAW, ITEM

Floats = npt.NDArray[np.float64]

_LOTS = 50
"""Items go in so many lots: enough for a smooth progress bar and for even work."""


class Draws(NamedTuple):
    """What a sampler brings back."""

    posterior: dict[str, xr.DataArray]
    log_strength: Floats | None
    """(draw, cell), all chains in one row: on any scale, and only if asked for."""
    sharpness: Floats | None
    """(draw, ranking) or (ranking); None for 1."""
    sample_stats: dict[str, xr.DataArray]
    inference: str


def drawn(
    what: Process,
    build: Callable[[], Any],
    *,
    draws: int,
    tune: int,
    chains: int,
    rng: np.random.Generator,
    progressbar: bool,
    nuts: bool,
    every_cell: bool,
) -> Draws:
    """Draw by the Gibbs kernel where it does all, else through PyMC.

    `every_cell` asks for the log strength of each cell, not only for plausibilities.
    """
    seeds = rng.integers(2**31, size=2).tolist()
    run = {"draws": draws, "tune": tune, "chains": chains, "seed": seeds[0]}
    if nuts or what.reliability in LEARNED:
        return _by_pymc(what, build(), seeds[1], nuts, every_cell, progressbar, **run)
    cells = every_cell and not what.lumped
    values = gibbs(what, every_cell=cells, progressbar=progressbar, **run)
    logs = None
    if every_cell:
        flat = values.reshape(-1, *values.shape[2:])
        place = np.arange(len(what.shape)) - what.laid.rankings.cell_start[what.owner()]
        logs = log_strengths(what.laid.rankings, flat, place if cells else what.laid.candidate)
    if cells:
        values = _candidates(what, values)
    return Draws({"plausibility": what.named(values, seeds[1])}, logs, what.sharpness, {}, _GIBBS)


def diagnosed(found: Draws) -> dict[str, Any]:
    """Judge the chains by each item's leading candidate and its remainder, and warn if poor.

    Between them lies what metrics look at; to judge every candidate would take longer than
    to draw them.
    """
    theta = found.posterior["plausibility"]
    mean = theta.mean((CHAIN, DRAW))
    leading = mean.argmax(CANDIDATE)
    both = xr.concat(
        [theta.isel({CANDIDATE: leading}), theta.isel({CANDIDATE: -1})],
        dim=CANDIDATE, coords="minimal", compat="override",
    )  # fmt: skip
    out = convergence.diagnosed(both)
    out |= convergence.divergences(found.sample_stats)
    for name in _LEARNED:
        if name in found.posterior:
            learned = found.posterior[name].rename(name)
            out |= convergence.diagnosed(learned, ANNOTATOR, f"{name}_")
    return out


_GIBBS = "exact Gibbs sampling, rankings augmented by arrival times"
_NUTS = "NUTS on the PyMC model"


def gibbs(
    what: Process,
    *,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    progressbar: bool,
    every_cell: bool = False,
) -> Floats:
    """Draw all chains of all items, item by item, in as many threads as there are processors.

    Parameters
    ----------
    what : Process
    draws, tune, chains : int
    seed : int
        Each item in each chain has a stream of its own, found by their names and this seed.
    progressbar : bool
    every_cell : bool
        Give each cell its own column, also those that nobody named.

    Returns
    -------
    array (chain, draw, item, candidate)
    """
    rankings = what.laid.rankings
    n_items = len(rankings.n_cells)
    named = rankings.n_cells if every_cell else what.n_named()
    columns = int(rankings.n_cells.max()) + 1 if every_cell else what.where.codes.shape[1]
    names = name_hashes(what.annotations[ITEM].to_numpy())
    keys = row_keys(np.arange(chains, dtype=np.uint64)[:, None], names, seed=seed)
    out = np.empty((chains, draws, n_items, columns))
    edges = np.unique(np.linspace(0, n_items, _LOTS + 1).astype(int)).tolist()

    def one_lot(job: tuple[int, tuple[int, int]]) -> None:
        chain, (low, high) = job
        first, last = rankings.item_start[[low, high]]
        out[chain, :, low:high] = sample(
            rankings.part(low, high),
            what.shape[rankings.cell_start[low] : rankings.cell_start[high]],
            keys[chain, low:high],
            named=named[low:high], n_columns=columns, power=what.power,
            sharpness=None if what.sharpness is None else what.sharpness[first:last],
            tune=tune, draws=draws,
        )  # fmt: skip

    jobs = list(product(range(chains), pairwise(edges)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in _progress(pool.map(one_lot, jobs), len(jobs), progressbar):
            pass
    return out


def _progress(done: Any, total: int, show: bool) -> Any:
    from rich.progress import track

    return track(done, "Sampling rankings", total=total) if show else done


def _candidates(what: Process, cells: Floats) -> Floats:
    """Sum cells (..., item, place) into candidates (..., item, candidate)."""
    columns = what.where.codes.shape[1]
    out = np.zeros((*cells.shape[:-1], columns))
    for place in range(cells.shape[-1]):  # as many as an item has labels: no loop over draws
        column = np.where(place < what.n_named(), place, columns - 1)
        inside = np.flatnonzero(place < what.laid.rankings.n_cells)
        out[..., inside, column[inside]] += cells[..., inside, place]
    return out


def _by_pymc(
    what: Process,
    model: Any,
    remainder_seed: int,
    nuts: bool,
    every_cell: bool,
    progressbar: bool,
    *,
    seed: int,
    **run: int,
) -> Draws:
    """Let PyMC sample: by NUTS throughout, or by NUTS beside the Gibbs step."""
    import pymc as pm

    learned = [name for name in _LEARNED if name in model.named_vars]
    keep = ["plausibility", *learned, *(["log_strength"] if every_cell else [])]
    with model:
        tree = pm.sample(
            **run, random_seed=seed, progressbar=progressbar, var_names=keep,
            step=pm.NUTS() if nuts else None, nuts_sampler="pymc",
            compute_convergence_checks=False,  # ours look at items, and say what to do
        )  # fmt: skip
    found = tree["posterior"].to_dataset()
    posterior = {
        "plausibility": what.named(found["plausibility"].to_numpy(), remainder_seed),
        **{name: found[name] for name in learned},
    }
    stats = tree["sample_stats"].to_dataset()
    return Draws(
        posterior,
        found["log_strength"].stack(sample=(CHAIN, DRAW)).T.to_numpy() if every_cell else None,
        _learned_sharpness(what, found) if what.reliability in LEARNED else what.sharpness,
        {name: stats[name] for name in ("lp", "diverging", "step_size") if name in stats},
        _NUTS if nuts else f"{_GIBBS}, beside NUTS for what is learned",
    )


_LEARNED = ("reliability", "reliability_spread", "annotator_reliability")


def _learned_sharpness(what: Process, found: xr.Dataset) -> Floats:
    """Return the sharpness of each ranking in each draw (draw, ranking)."""
    if what.reliability == "common":
        common = found["reliability"].to_numpy().reshape(-1, 1)
        return np.broadcast_to(common, (len(common), what.n_rankings))
    each = found["annotator_reliability"].to_numpy()
    return each.reshape(-1, each.shape[-1])[:, what.of_ranking(ANNOTATOR)]
