"""Draw from the posterior of a ranking process: by the Gibbs kernel alone, or through PyMC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data.hashing import contents_hash
from dissensus.dims import ANNOTATOR, CANDIDATE, CHAIN, DRAW, ITEM, LABEL
from dissensus.families.rankings.kernels.layout import share_out, together
from dissensus.families.rankings.kernels.predict import log_strengths, pointwise
from dissensus.families.rankings.kernels.sweep import sample
from dissensus.families.rankings.process import LEARNED, Process
from dissensus.kernels.random import item_keys, mixed
from dissensus.kernels.rankings import Rankings
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling import convergence, fitting
from dissensus.sampling.interruption import before_any_draw
from dissensus.sampling.learned_prior import HYPERPARAMETERS, prior_from


class Draws(NamedTuple):
    """The results of a sampler."""

    posterior: dict[str, xr.DataArray]
    log_likelihood: Floats | None
    """(draw, ranking), one chain after another; None if it was not requested."""
    sharpness: Floats | None
    """(draw, ranking) or (ranking); None for 1."""
    sample_stats: dict[str, xr.DataArray]
    inference: str


def drawn_by(process: Process, sampler: str) -> str:
    """Return the sampler's name; with a learned reliability, NUTS complements the Gibbs step."""
    return "nuts beside it" if sampler == "gibbs" and process.reliability in LEARNED else sampler


def drawn(
    process: Process,
    build: Callable[[], Any],
    *,
    draws: int,
    tune: int,
    chains: int,
    rng: np.random.Generator,
    progressbar: bool,
    nuts: bool,
    log_likelihood: bool,
    checkpoint: fitting.Checkpoint | None = None,
) -> Draws:
    """Draw by the Gibbs kernel if it can draw all parameters, else through PyMC."""
    seeds = rng.integers(2**31, size=2).tolist()
    run = {"draws": draws, "tune": tune, "chains": chains, "seed": seeds[0]}
    if nuts or process.reliability in LEARNED:
        return _by_pymc(process, build(), seeds[1], nuts, log_likelihood, progressbar, **run)
    values, logp = gibbs(
        process,
        log_likelihood=log_likelihood,
        progressbar=progressbar,
        checkpoint=checkpoint,
        **run,
    )
    plausibility = process.named(values, seeds[1])
    return Draws({"plausibility": plausibility}, logp, process.sharpness, {}, _GIBBS)


def diagnosed(draws: Draws) -> dict[str, Any]:
    """Diagnose each item's leading candidate and remainder; warn if diagnostics are poor.

    Diagnosing every candidate would take longer than drawing them.
    """
    theta = draws.posterior["plausibility"]
    mean = theta.mean((CHAIN, DRAW), skipna=False)  # skipping NaNs takes four times as long
    leading = mean.fillna(np.inf).argmax(CANDIDATE)  # selects NaNs, which the diagnostics then show
    both = xr.concat(
        [theta.isel({CANDIDATE: leading}), theta.isel({CANDIDATE: -1})],
        dim=CANDIDATE, coords="minimal", compat="override",
    )  # fmt: skip
    out = convergence.diagnosed(both)
    out |= convergence.divergences(draws.sample_stats)
    for name in _LEARNED:
        if name in draws.posterior:
            learned = draws.posterior[name].rename(name)
            out |= convergence.diagnosed(learned, ANNOTATOR, f"{name}_")
    prior = {name: draws.posterior[name] for name in HYPERPARAMETERS if name in draws.posterior}
    return out | (convergence.diagnosed_parameters(prior, convergence.OF_PRIOR) if prior else {})


_FEW_ITEMS, _MOST_SWEEPS = 300, 30
"""Under a learned prior, each draw of strengths has its own draw of the prior. With few items, the
prior changes more from draw to draw than one sweep can follow. A draw therefore takes 300 / (number
of items) sweeps, at most 30."""
_GIBBS = "exact Gibbs sampling of the strengths behind the rankings"
_NUTS = "NUTS on the PyMC model"


def gibbs(
    process: Process,
    *,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    progressbar: bool,
    log_likelihood: bool = False,
    checkpoint: fitting.Checkpoint | None = None,
) -> tuple[Floats, Floats | None]:
    """Draw all chains of all items, in lots of items, with one thread for each processor.

    Each item in each chain has its own random stream, determined by the item's name, the chain and
    the seed. Each lot's log-likelihood is computed together with its draws. Lots in the checkpoint
    are not drawn again; all other lots are added to it.

    Returns plausibilities (chain, draw, item, candidate), and the log-likelihood (draw, ranking)
    of one chain after another, or None.
    """
    n_items = process.annotations.sizes[ITEM]
    keys = item_keys(process.annotations[ITEM].to_numpy(), chains, seed=seed)
    theta = np.empty((chains, draws, *process.where.codes.shape))
    logp = np.empty((chains, draws, process.n_rankings if log_likelihood else 0))
    done: set[str] = set()
    if checkpoint is not None:
        checkpoint.begin(contents_hash([process, keys, theta.shape, logp.shape, tune]))
        done.update(checkpoint.parts())

    def draw_lot(chain: int, low: int, high: int) -> None:
        of = slice(*process.laid.rankings.item_start[[low, high]])
        name = f"{chain:06d}-{low:012d}"
        part = {"plausibility": theta[chain, :, low:high], "log_likelihood": logp[chain, :, of]}
        if checkpoint is not None and name in done:
            for group, values in checkpoint.load(name, part).items():
                part[group][...] = values
            return
        shape = process.shape_of(chain, draws, low, high)
        part["plausibility"][...], each = _lot(
            process, low, high, shape, keys[chain, low:high], tune, draws, log_likelihood
        )
        if each is not None:
            part["log_likelihood"][...] = each
        if checkpoint is not None:
            checkpoint.save(name, part)

    try:
        fitting.by_lots(draw_lot, chains, n_items, "Sampling rankings", progressbar)
    except KeyboardInterrupt:  # an item gets all draws before the next item: no draw is complete
        message = "" if checkpoint is None else checkpoint.in_words
        raise before_any_draw("before all items were through", message) from None
    return theta, logp.reshape(-1, logp.shape[-1]) if log_likelihood else None


def _lot(
    process: Process,
    low: int,
    high: int,
    shape: Floats,
    keys: Any,
    tune: int,
    draws: int,
    log_likelihood: bool,
) -> tuple[Floats, Floats | None]:
    """Draw one chain of items `low` to `high` - 1 and, if requested, their log-likelihood.

    The log-likelihood needs each strength separately, also those that are stored as a sum.
    """
    whole, columns = process.laid.rankings, process.where.codes.shape[1]
    part, named = whole.part(low, high), process.laid.named[low:high]
    cells, of = slice(*whole.cell_start[[low, high]]), slice(*whole.item_start[[low, high]])
    sharpness = None if process.sharpness is None else process.sharpness[of]
    if shape.ndim > 1 and sharpness is None:
        theta = _apart(process, part, shape, cells, keys, tune)
        logp = None
        if log_likelihood:
            logs = log_strengths(part, theta, process.laid.candidate[cells])
            logp = pointwise(part, logs, power=process.power)
        return theta, logp
    split = log_likelihood and not process.lumped
    thin = _sweeps(process) if shape.ndim > 1 else 1
    theta = sample(
        part, shape, keys, named=part.n_cells if split else named,
        n_columns=int(part.n_cells.max()) + 1 if split else columns, power=process.power,
        sharpness=sharpness, tune=tune, draws=draws, thin=thin,
    )  # fmt: skip
    if not log_likelihood:
        return theta, None
    place = np.concatenate([np.arange(n) for n in part.n_cells])
    logs = log_strengths(part, theta, place if split else process.laid.candidate[cells])
    logp = pointwise(part, logs, power=process.power, sharpness=sharpness)
    return _candidates(theta, named, part.n_cells, columns) if split else theta, logp


def _apart(
    process: Process, part: Rankings, shape: Floats, cells: slice, keys: Any, tune: int
) -> Floats:
    """Draw under a learned prior: first with unlisted labels in one cell, then split this cell."""
    merged, merged_shape, listed = together(part, shape)
    of_cell = np.repeat(np.arange(len(keys)), part.n_cells)
    named = np.bincount(of_cell, listed, len(keys)).astype(np.int64)
    theta = sample(
        merged, merged_shape, keys, named=named, power=process.power, tune=tune, draws=len(shape),
        thin=_sweeps(process),
    )  # fmt: skip
    out = np.zeros((len(shape), len(keys), process.where.codes.shape[1]))
    share_out(
        mixed(keys), theta, shape, part.cell_start, listed, process.laid.candidate[cells], out
    )
    return out


def _sweeps(process: Process) -> int:
    """Return the number of sweeps for each draw of strengths under a learned prior."""
    n_items = 0 if process.prior_draws is None else process.prior_draws.n_items
    return int(np.clip(_FEW_ITEMS // max(n_items, 1), 1, _MOST_SWEEPS))


def _candidates(cells: Floats, named: Ints, n_cells: Ints, columns: int) -> Floats:
    """Sum the masses of cells (draw, item, place) into candidates (draw, item, candidate)."""
    out = np.zeros((*cells.shape[:-1], columns))
    for place in range(cells.shape[-1]):  # a short loop; draws are vectorised
        column = np.where(place < named, place, columns - 1)
        inside = np.flatnonzero(place < n_cells)
        out[..., inside, column[inside]] += cells[..., inside, place]
    return out


def _by_pymc(
    process: Process,
    model: Any,
    remainder_seed: int,
    nuts: bool,
    log_likelihood: bool,
    progressbar: bool,
    *,
    seed: int,
    **run: int,
) -> Draws:
    """Let PyMC sample: by NUTS alone, or by the Gibbs step with NUTS for other variables."""
    learned = [name for name in (*_LEARNED, *HYPERPARAMETERS) if name in model.named_vars]
    keep = ["plausibility", *learned, *(["log_strength"] if log_likelihood else [])]
    sampled = fitting.by_nuts if nuts else fitting.sampled
    tree = sampled(model, **run, random_seed=seed, progressbar=progressbar, var_names=keep)
    pymc_draws = tree["posterior"].to_dataset()
    if process.leaning is not None and process.prior_draws is None:
        process = process.with_prior(prior_from(pymc_draws, process.annotations.sizes[LABEL]))
    posterior = {
        "plausibility": process.named(pymc_draws["plausibility"].to_numpy(), remainder_seed),
        **{name: pymc_draws[name] for name in learned},
    }
    stats = tree["sample_stats"].to_dataset()
    sharpness = process.sharpness
    if process.reliability in LEARNED:
        sharpness = _learned_sharpness(process, pymc_draws)
    logp = None
    if log_likelihood:
        logs = pymc_draws["log_strength"].to_numpy().reshape(-1, len(process.shape))
        logp = pointwise(process.laid.rankings, logs, power=process.power, sharpness=sharpness)
    return Draws(
        posterior,
        logp,
        sharpness,
        {name: stats[name] for name in ("lp", "diverging", "step_size") if name in stats},
        _NUTS if nuts else f"{_GIBBS}, beside NUTS for learned parameters",
    )


_LEARNED = ("reliability", "reliability_spread", "annotator_reliability")


def _learned_sharpness(process: Process, pymc_draws: xr.Dataset) -> Floats:
    """Return the sharpness of each ranking in each draw (draw, ranking)."""
    if process.reliability == "common":
        common = pymc_draws["reliability"].to_numpy().reshape(-1, 1)
        return np.broadcast_to(common, (len(common), process.n_rankings))
    each = pymc_draws["annotator_reliability"].to_numpy()
    return each.reshape(-1, each.shape[-1])[:, process.of_ranking(ANNOTATOR)]
