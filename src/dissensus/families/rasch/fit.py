"""From draws of a Rasch model to the DataTree that a fit returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.special import expit

from dissensus import arguments
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, LEVEL, SAMPLE
from dissensus.errors import ArgumentError, warn_caller
from dissensus.families.crossed.kernels import sweep as crossed_sweep
from dissensus.families.crossed.kernels.data import Crossed
from dissensus.families.rasch.kernels import data as rasch_data
from dissensus.families.rasch.kernels import sweep, unknown
from dissensus.families.rasch.process import Process
from dissensus.kernels.random import started
from dissensus.kernels.types import UNKNOWN, Floats
from dissensus.sampling import convergence, fitting
from dissensus.sampling.design import near_guessing

# Draw from the posterior of a Rasch model: by the Gibbs kernel, or by PyMC's NUTS.


_ROOM: Final = 4 * 2**30
"""Bytes of what is said of items to keep without being asked twice."""


class Draws(NamedTuple):
    """What a sampler brings back, chain and draw in front."""

    mean: Floats
    ability_spread: Floats
    difficulty_spread: Floats
    ability: Floats
    """(..., annotator)"""
    difficulty: Floats
    """(..., item); of size 0 if not kept."""
    prevalence: Floats
    level: Floats
    """(..., right, level): how often levels of confidence go with wrong, and with right labels."""
    truth: Floats
    """(..., item, label); of size 0 if not kept."""
    truth_mean: Floats
    """(item, label)"""
    each: Floats
    """(..., item): log-likelihood; of size 0 if not asked for."""
    log_likelihood: Floats
    stats: dict[str, Floats]
    inference: str


def require_room(what: Process, draws: int, chains: int) -> None:
    """Raise if keeping what is said of items would fill the memory."""
    n_items, n_people = len(what.items), len(what.annotators)
    size = 8.0 * draws * chains * n_items * (1 + len(what.labels) + n_people)
    if size > _ROOM:
        raise ArgumentError(
            "keep_items",
            expected=f"False, for {draws:,} draws in {chains} chains of the difficulty and truth "
            f"of {n_items:,} items, and of the accuracy of {n_people:,} annotators on each",
            found="True",
            hint=f"They would take {size / 2**30:.0f} GB. Abilities do not need them",
        )


def by_gibbs(
    what: Process, *, draws: int, tune: int, chains: int, rng: np.random.Generator,
    progressbar: bool, items: bool, each: bool,
    checkpoint: fitting.Checkpoint | None = None,
) -> Draws:  # fmt: skip
    """Draw all chains by the Gibbs kernel, each in a thread."""
    runs = [_Chain(what, one, draws, items, each) for one in rng.spawn(chains)]
    fitting.swept(runs, draws, tune, "Sampling abilities", progressbar, checkpoint)
    return _gathered(
        what,
        runs,
        {},
        "exact Gibbs sampling by slices along learned paths, the truth drawn with them",
    )


def by_nuts(
    what: Process, build: Callable[[], Any], *, draws: int, tune: int, chains: int,
    rng: np.random.Generator, progressbar: bool, items: bool, each: bool,
) -> Draws:  # fmt: skip
    """Let PyMC's NUTS sample the same model, and draw truths given its parameters."""
    tree = fitting.by_nuts(
        build(), draws=draws, tune=tune, chains=chains, random_seed=int(rng.integers(2**31)),
        progressbar=progressbar, target_accept=0.9,
    )  # fmt: skip
    found = tree["posterior"].to_dataset()
    chains, draws = (found.sizes[dim] for dim in SAMPLE)  # fewer, if interrupted
    runs = [_Chain(what, one, draws, items, each) for one in rng.spawn(chains)]
    for chain, run in enumerate(runs):
        run.replay({str(n): x.isel(chain=chain).to_numpy() for n, x in found.data_vars.items()})
    stats = tree["sample_stats"].to_dataset()
    return _gathered(
        what, runs, {n: stats[n].to_numpy() for n in ("diverging", "step_size") if n in stats},
        "NUTS on the PyMC model, the truth summed out",
    )  # fmt: skip


def _gathered(what: Process, runs: list[_Chain], stats: dict[str, Floats], inference: str) -> Draws:
    """Put the chains together, in the order of items."""
    data, wanted = runs[0].data, runs[0].trace
    traces = [run.trace for run in runs]
    items, each = wanted.item.shape[1] > 0, wanted.each.shape[1] > 0
    whole = sweep.Trace(*(np.stack(part) for part in zip(*traces, strict=True)))
    order = np.argsort(data.cell_item)  # one cell an item, as each has a label
    return Draws(
        mean=whole.mu + what.lead,
        ability_spread=whole.sd_annotator,
        difficulty_spread=whole.sd_item,
        ability=whole.mu[..., None] + what.lead + whole.annotator,
        difficulty=-whole.item[..., order] if items else whole.item,
        prevalence=np.exp(whole.log_prevalence),
        level=np.exp(whole.log_level),
        truth=whole.truth[:, :, order] if items else whole.truth,
        truth_mean=whole.truth_mean.mean(axis=0)[order],
        each=whole.each[..., order] if each else whole.each,
        log_likelihood=whole.log_likelihood,
        stats=stats,
        inference=inference,
    )


class _Chain:
    """One chain, with all it writes to."""

    scratch = frozenset({"known", "now", "summing"})

    def __init__(
        self, what: Process, rng: np.random.Generator, draws: int, items: bool, each: bool
    ) -> None:
        self.data: Crossed = what.data()
        self.lead = what.lead
        self.said = what.said(self.data)
        self.priors = what.numbers()
        self.par = crossed_sweep.start(self.data, crossed_sweep.BERNOULLI, n_gaps=0)
        for part in (self.par.sd_item, self.par.sd_annotator):
            part *= np.exp(rng.normal(0.0, 0.5, part.shape))
        guessing = -np.log(len(what.labels) - 1)
        self.par.mu[:] = guessing + rng.uniform(0.5, 3.0)  # labels then mean themselves
        self.known = crossed_sweep.learned(self.data, crossed_sweep.BERNOULLI, self.par)
        self.now = rasch_data.beginning(self.said, len(self.data.cell_pool))
        self.summing = unknown.room(self.said, len(self.data.cell_pool))
        self.state = started(rng.integers(2**64, dtype=np.uint64))
        self.trace = sweep.trace_room(self.said, self.data, draws, items=items, each=each)

    def advance(self, first: int, n: int) -> None:
        """Go through a lot of sweeps."""
        tuning = self.known.tuning if first < 0 else self.known.tuning._replace(rate=0.0)
        sweep.advance(
            self.state, self.data, self.said, self.par, self.priors, tuning, self.known.paths,
            self.now, self.summing, n, self.trace, max(first, -1),
        )  # fmt: skip

    def replay(self, values: dict[str, Floats]) -> None:
        """Keep what follows from draws of the parameters, by the names of the PyMC model."""
        n, item = len(values["mean_ability"]), self.data.cell_item
        level = np.empty((n, 2, 0))
        if "confidence_if_right" in values:
            both = values["confidence_if_wrong"], values["confidence_if_right"]
            level = np.log(np.stack(both, axis=1))
        nothing = np.empty((n, 0))
        many = sweep.Trace(
            mu=values["mean_ability"] - self.lead, sd_item=values["difficulty_spread"],
            sd_annotator=values["ability_spread"],
            annotator=values["ability"] - values["mean_ability"][:, None],
            item=np.ascontiguousarray(-values["difficulty"][:, item]),
            log_prevalence=np.log(values["prevalence"]), log_level=level,
            truth=np.empty((n, 0, 0)), truth_mean=nothing, each=nothing,
            log_likelihood=np.empty(n),
        )  # fmt: skip
        sweep.replay(
            self.state, self.data, self.said, many, self.par, self.now, self.summing, self.trace
        )


# Whether confidences are evidence of their own, as a Rasch model takes them for.


_MUCH: Final = 0.1
"""A correlation that is told of: below it six labels of an item count as four or more."""
_ERRORS: Final = 4.0


def warn_of_shared_confidence(what: Process, truth_mean: Floats, level: Floats) -> None:
    """Warn if those who label one item are sure or unsure of it together, right or wrong.

    Parameters
    ----------
    truth_mean : array (item, label)
        How probable each label is to be true.
    level : array (right, level)
        Posterior means of how often each level goes with wrong, and with right labels.
    """
    wrong, right = level @ what.levels
    expected = wrong + (right - wrong) * truth_mean[what.item, what.label]
    rest = what.levels[what.level] - expected
    found, n_pairs = _correlation(rest, what.item)
    if n_pairs and found > max(_MUCH, _ERRORS / np.sqrt(n_pairs)):
        warn_caller(
            f"Annotators of one item are sure or unsure of it together, whether they are right or "
            f"wrong (correlation {found:.2f}). confidence=True takes each confidence for evidence "
            "of its own, and counts the same hesitation several times: accuracies come out too "
            "low and intervals too short. Fit without it, and look at what confidence tells with "
            "dissensus.confidence_check."
        )


def _correlation(rest: Floats, item: npt.NDArray[Any]) -> tuple[float, float]:
    """Return how alike residuals of one item are, and in how many pairs."""
    n = np.bincount(item)
    squares = np.bincount(item, rest**2)
    together = np.bincount(item, rest) ** 2 - squares
    n_pairs = float((n * (n - 1)).sum()) / 2.0
    spread = squares.sum() / len(rest)
    if not n_pairs or not spread:
        return 0.0, 0.0
    return float(together.sum()) / (2.0 * n_pairs * spread), n_pairs


def fitted(
    what: Process, build: Callable[[], Any], *, draws: int, tune: int, chains: int,
    random_seed: Any, progressbar: bool, sampler: str, keep_items: bool, log_likelihood: bool,
    posterior_predictive: bool, checkpoint: Any, hyper: Mapping[str, Any],
) -> xr.DataTree:  # fmt: skip
    """Sample, and put the draws under their names."""
    chains, draws = arguments.sample_shape(draws, chains)
    tune = arguments.whole("tune", tune, least=0)
    arguments.flags(
        keep_items=keep_items, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive,
    )  # fmt: skip
    items = keep_items or posterior_predictive
    if items:
        require_room(what, draws, chains)
    kept, rng = fitting.begun(
        checkpoint, model="rasch", annotations=what.annotations, random_seed=random_seed,
        sampler=sampler, draws=draws, tune=tune, chains=chains,
    )  # fmt: skip
    run: dict[str, Any] = {
        "draws": draws, "tune": tune, "chains": chains, "rng": rng, "progressbar": progressbar,
        "items": items, "each": log_likelihood,
    }  # fmt: skip
    if sampler == "nuts":
        found = by_nuts(what, build, **run)
    else:
        found = by_gibbs(what, **run, checkpoint=kept)
    named = _Named(what)
    posterior = _parameters(named, found)
    stats = {name: named(values) for name, values in found.stats.items()}
    diagnostics = convergence.diagnosed_parameters(posterior) | convergence.divergences(stats)
    if not what.all_known:
        knows = expit(posterior["mean_ability"].to_numpy() - what.lead)
        typical = named(what.floor + (1.0 - what.floor) * knows)
        diagnostics |= near_guessing(typical, len(what.labels))
    if keep_items:
        posterior |= _of_items(named, found)
    tree = fitting.fitted(
        "rasch",
        posterior=posterior,
        sample_stats=stats | {"log_likelihood": named(found.log_likelihood)},
        observed_data=_observed(what),
        constant_data=_constants(what, found),
        hyper=hyper,
        inference=found.inference,
        diagnostics=diagnostics,
        asked=(chains, draws),
    )
    if len(what.levels) and not what.all_known:
        warn_of_shared_confidence(what, found.truth_mean, found.level.mean(axis=(0, 1)))
    if log_likelihood:
        fitting.attach(tree, "log_likelihood", xr.Dataset({"labels": named(found.each, ITEM)}))
    if posterior_predictive:
        drawn = _replicates(what, found, rng)
        group = xr.Dataset({"label_code": ((*SAMPLE, ANNOTATION), drawn)})
        fitting.attach(tree, "posterior_predictive", group)
    return tree


class _Named:
    """Gives draws the names of their dims."""

    def __init__(self, what: Process) -> None:
        self.what = what
        self.coords = {
            ITEM: what.items, ANNOTATOR: what.annotators, LABEL: what.labels, LEVEL: what.levels,
        }  # fmt: skip

    def __call__(self, values: Any, *dims: str) -> xr.DataArray:
        coords = {dim: self.coords[dim] for dim in dims}
        return xr.DataArray(values, dims=(*SAMPLE, *dims), coords=coords)


def _parameters(named: _Named, found: Draws) -> dict[str, xr.DataArray]:
    """Name what does not grow with items."""
    out = {
        "mean_ability": named(found.mean), "ability_spread": named(found.ability_spread),
        "difficulty_spread": named(found.difficulty_spread),
        "ability": named(found.ability, ANNOTATOR), "prevalence": named(found.prevalence, LABEL),
    }  # fmt: skip
    if found.level.shape[-1]:
        out["confidence_if_wrong"] = named(found.level[:, :, 0], LEVEL)
        out["confidence_if_right"] = named(found.level[:, :, 1], LEVEL)
    return out


def _of_items(named: _Named, found: Draws) -> dict[str, xr.DataArray]:
    """Name difficulties and truths, and how often each annotator is right about each item."""
    difficulty = named(found.difficulty, ITEM)
    accuracy = named(found.ability, ANNOTATOR) - difficulty
    values = accuracy.to_numpy()
    values -= named.what.lead  # all in place: it may be large
    expit(values, out=values)
    values *= 1.0 - named.what.floor
    values += named.what.floor
    truth = named(found.truth, ITEM, LABEL)
    return {"difficulty": difficulty, "accuracy": accuracy, "truth": truth}


def _observed(what: Process) -> dict[str, xr.DataArray]:
    """Return what was said, and what is known to be true, in codes of labels."""
    kind = {"kind": what.annotations.attrs["kind"]}
    out = {"label_code": xr.DataArray(what.label, dims=ANNOTATION, attrs=kind)}
    if (what.truth != UNKNOWN).any():
        out["truth_code"] = xr.DataArray(what.truth, dims=ITEM, coords={ITEM: what.items})
    if len(what.levels):
        out["confidence"] = xr.DataArray(what.levels[what.level], dims=ANNOTATION)
    return out


def _constants(what: Process, found: Draws) -> dict[str, xr.DataArray]:
    """Return who said it of what, and how probable each label is to be true."""
    return {
        "item_code": xr.DataArray(what.item, dims=ANNOTATION),
        "annotator_code": xr.DataArray(what.annotator, dims=ANNOTATION),
        "truth_mean": xr.DataArray(
            found.truth_mean, dims=(ITEM, LABEL), coords={ITEM: what.items, LABEL: what.labels}
        ),
    }


def _replicates(what: Process, found: Draws, rng: np.random.Generator) -> Any:
    """Draw labels anew: by the same annotators, of the same items, whose truth is drawn too."""
    n = len(what.labels)
    eta = found.ability[..., what.annotator] - found.difficulty[..., what.item]
    edges = found.truth.cumsum(axis=-1)
    truth = (rng.random(edges.shape[:-1])[..., None] > edges[..., :-1]).sum(axis=-1)
    knows = rng.logistic(size=eta.shape) < eta - what.lead
    away = rng.integers(0 if what.guessing else 1, n, size=eta.shape)
    of_label = truth[..., what.item]
    return np.where(knows, of_label, (of_label + away) % n)
