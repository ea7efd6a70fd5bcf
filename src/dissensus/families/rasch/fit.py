"""Fits of Rasch models: how draws are made and named; `families.base.run` does the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.special import expit

from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, LEVEL, SAMPLE, TERM
from dissensus.errors import warn_caller
from dissensus.families import base
from dissensus.families.crossed.covariates import constants
from dissensus.families.crossed.kernels import sweep as crossed_sweep
from dissensus.families.crossed.kernels.data import Crossed
from dissensus.families.rasch.kernels import data as rasch_data
from dissensus.families.rasch.kernels import sweep, unknown
from dissensus.families.rasch.process import Process
from dissensus.kernels.random import started
from dissensus.kernels.types import Array, Floats
from dissensus.sampling import convergence
from dissensus.sampling.design import near_guessing


class Draws(NamedTuple):
    """The draws of a sampler; all except ``truth_mean`` have the first axes chain and draw."""

    mean: Floats
    ability_spread: Floats
    difficulty_spread: Floats
    ability: Floats  # (..., annotator)
    coefficient: Floats  # (..., term)
    difficulty: Floats  # (..., item); of size 0 if not kept
    prevalence: Floats
    level: Floats  # (..., right, level): shares of levels among wrong and right labels
    truth: Floats  # (..., item, label); of size 0 if not kept
    truth_mean: Floats  # (item, label)
    each: Floats  # (..., item): log-likelihood; of size 0 if not requested
    log_likelihood: Floats


class RaschFit(base.Fit[Process, Draws]):
    """A fit of a Rasch model."""

    title: ClassVar[str] = "Sampling abilities"
    nuts: ClassVar[str] = "NUTS on the PyMC model, the truth summed out"
    target_accept: ClassVar[float] = 0.9
    inference = "exact Gibbs sampling by slices along learned paths, the truth drawn with them"

    def __init__(self, process: Process, options: base.FitOptions) -> None:
        super().__init__("rasch", process, options)
        self.items = self.options.keep or self.options.posterior_predictive

    def require_room(self) -> None:
        """Raise if the draws of items would take more than 4 GB."""
        n_items, n_people = len(self.process.items), len(self.process.annotators)
        n_numbers = n_items * (1 + len(self.process.labels) + n_people)
        if self.items:
            base.require_room(
                self,
                8.0 * self.options.draws * self.options.chains * n_numbers,
                f"the difficulty and truth of {n_items:,} items, and of the accuracy of "
                f"{n_people:,} annotators on each",
                "Abilities do not need them",
            )

    def chain(self, rng: np.random.Generator, draws: int) -> _Chain:
        """Return a chain at its starting values."""
        return _Chain(self.process, rng, draws, self.items, self.options.log_likelihood)

    def gathered(self, chains: Sequence[Any], rng: np.random.Generator) -> Draws:  # noqa: ARG002
        """Return the draws in natural units and in the order of items."""
        order = np.argsort(chains[0].data.cell_item)  # each item has a label, and so one cell
        trace, each = base.stacked(chains), self.options.log_likelihood
        return Draws(
            mean=trace.mu + self.process.lead,
            ability_spread=trace.sd_annotator,
            difficulty_spread=trace.sd_item,
            ability=trace.mu[..., None] + self.process.lead + trace.annotator,
            coefficient=trace.coefficient,
            difficulty=-trace.item[..., order] if self.items else trace.item,
            prevalence=np.exp(trace.log_prevalence),
            level=np.exp(trace.log_level),
            truth=trace.truth[:, :, order] if self.items else trace.truth,
            truth_mean=trace.truth_mean.mean(axis=0)[order],
            each=trace.each[..., order] if each else trace.each,
            log_likelihood=trace.log_likelihood,
        )

    def groups(self, draws: Draws, stats: Mapping[str, Array]) -> base.Groups:
        """Return the groups of the fit: named draws, data and convergence diagnostics."""
        process, named = self.process, partial(_named, self.process)
        posterior = _parameters(process, draws)
        diagnostics = convergence.diagnosed_parameters(posterior)
        if not process.all_known:
            knows = expit(posterior["mean_ability"].to_numpy() - process.lead)
            typical = named(process.floor + (1.0 - process.floor) * knows)
            diagnostics |= near_guessing(typical, len(process.labels))
            if len(process.levels):
                level = draws.level.mean(axis=(0, 1))
                warn_of_shared_confidence(process, draws.truth_mean, level)
        if self.options.keep:
            posterior |= _of_items(process, draws)
        sampled = {**stats, "log_likelihood": draws.log_likelihood}
        return base.Groups(
            posterior,
            {name: named(values) for name, values in sampled.items()},
            _observed(process),
            base.truth_constants(process, draws.truth_mean)
            | constants(process.terms, process.covariates, process.covariate_mean),
            diagnostics,
        )

    def log_likelihood(self, draws: Draws) -> xr.Dataset:
        """Return the log-likelihood of each item."""
        return xr.Dataset({"labels": _named(self.process, draws.each, ITEM)})

    def posterior_predictive(self, draws: Draws, rng: np.random.Generator) -> xr.Dataset:
        """Draw new labels by the same annotators for the same items."""
        drawn = _replicates(self.process, draws, rng)
        return xr.Dataset({"label_code": ((*SAMPLE, ANNOTATION), drawn)})


class _Chain:
    """The state of a chain, and the trace of its draws."""

    scratch = frozenset({"known", "now", "summing"})

    def __init__(
        self, process: Process, rng: np.random.Generator, draws: int, items: bool, each: bool
    ) -> None:
        self.data: Crossed = process.data()
        self.lead = process.lead
        self.labels = process.coded_labels(self.data)
        self.priors = process.numbers()
        self.par = crossed_sweep.start(self.data, crossed_sweep.BERNOULLI, n_gaps=0)
        for part in (self.par.sd_item, self.par.sd_annotator):
            part *= np.exp(rng.normal(0.0, 0.5, part.shape))
        # Starts above chance, so that labels are not switched.
        self.par.mu[:] = -np.log(len(process.labels) - 1) + rng.uniform(0.5, 3.0)
        self.known = crossed_sweep.learned(self.data, crossed_sweep.BERNOULLI, self.par)
        self.now = rasch_data.beginning(self.labels, len(self.data.cell_pool))
        self.summing = unknown.room(self.labels, len(self.data.cell_pool))
        self.state = started(rng.integers(2**64, dtype=np.uint64))
        self.trace = sweep.trace_room(self.labels, self.data, draws, items=items, each=each)

    def advance(self, first: int, n: int) -> None:
        """Advance by n sweeps."""
        tuning = self.known.tuning if first < 0 else self.known.tuning._replace(rate=0.0)
        sweep.advance(
            self.state, self.data, self.labels, self.par, self.priors, tuning, self.known.paths,
            self.now, self.summing, n, self.trace, max(first, -1), self.known.centre,
        )  # fmt: skip

    def replay(self, values: dict[str, Floats]) -> None:
        """Draw truths, and compute log-likelihoods, given draws of the PyMC model's variables."""
        n, item = len(values["mean_ability"]), self.data.cell_item
        level = np.empty((n, 2, 0))
        if "confidence_if_right" in values:
            both = values["confidence_if_wrong"], values["confidence_if_right"]
            level = np.log(np.stack(both, axis=1))
        nothing = np.empty((n, 0))
        parameters = sweep.Trace(
            mu=values["mean_ability"] - self.lead, sd_item=values["difficulty_spread"],
            sd_annotator=values["ability_spread"],
            annotator=values["ability"] - values["mean_ability"][:, None],
            coefficient=values.get("coefficient", nothing),
            item=np.ascontiguousarray(-values["difficulty"][:, item]),
            log_prevalence=np.log(values["prevalence"]), log_level=level,
            truth=np.empty((n, 0, 0)), truth_mean=nothing, each=nothing,
            log_likelihood=np.empty(n),
        )  # fmt: skip
        sweep.replay(
            self.state,
            self.data,
            self.labels,
            parameters,
            self.par,
            self.now,
            self.summing,
            self.trace,
        )


def _named(process: Process, values: Any, *dims: str) -> xr.DataArray:
    """Return draws with named dims; ``dims`` are those after chain and draw."""
    names = {
        ITEM: process.items, ANNOTATOR: process.annotators, LABEL: process.labels,
        LEVEL: process.levels, TERM: process.terms,
    }  # fmt: skip
    coords = {dim: names[dim] for dim in dims}
    return xr.DataArray(values, dims=(*SAMPLE, *dims), coords=coords)


def _parameters(process: Process, draws: Draws) -> dict[str, xr.DataArray]:
    """Return the draws of parameters that do not grow with items, with named dims."""
    named = partial(_named, process)
    out = {
        "mean_ability": named(draws.mean), "ability_spread": named(draws.ability_spread),
        "difficulty_spread": named(draws.difficulty_spread),
        "ability": named(draws.ability, ANNOTATOR), "prevalence": named(draws.prevalence, LABEL),
    }  # fmt: skip
    if len(process.terms):
        out["coefficient"] = named(draws.coefficient, TERM)
    if draws.level.shape[-1]:
        out["confidence_if_wrong"] = named(draws.level[:, :, 0], LEVEL)
        out["confidence_if_right"] = named(draws.level[:, :, 1], LEVEL)
    return out


def _of_items(process: Process, draws: Draws) -> dict[str, xr.DataArray]:
    """Return draws of difficulty, truth, and the accuracy of each annotator on each item."""
    named = partial(_named, process)
    difficulty = named(draws.difficulty, ITEM)
    accuracy = named(draws.ability, ANNOTATOR) - difficulty
    values = accuracy.to_numpy()
    _add_covariates(process, draws, values)
    values -= process.lead  # in place: the array may be large
    expit(values, out=values)
    values *= 1.0 - process.floor
    values += process.floor
    truth = named(draws.truth, ITEM, LABEL)
    return {"difficulty": difficulty, "accuracy": accuracy, "truth": truth}


_PAIRS: Final = 100_000
"""Maximum number of pairs of an annotator and an item whose covariates are evaluated at once."""


def _add_covariates(process: Process, draws: Draws, logit: Floats) -> None:
    """Add the covariates' part to all logits (chain, draw, annotator, item)."""
    if process.of_pairs is None:
        return
    n_items = len(process.items)
    each = max(_PAIRS // n_items, 1)
    for first in range(0, len(process.annotators), each):
        annotators = np.arange(first, min(first + each, len(process.annotators)))
        value = process.of_pairs(
            np.tile(np.arange(n_items), len(annotators)), np.repeat(annotators, n_items)
        )
        for place, j in enumerate(annotators):  # one at a time: the array may be large
            logit[:, :, j] += draws.coefficient @ value[place * n_items :][:n_items].T


def _observed(process: Process) -> dict[str, xr.DataArray]:
    """Return the codes of labels and of known truths, and the confidences if they are used."""
    out = base.observed_labels(process, process.truth)
    if len(process.levels):
        out["confidence"] = xr.DataArray(process.levels[process.level], dims=ANNOTATION)
    return out


def _replicates(process: Process, draws: Draws, rng: np.random.Generator) -> Any:
    """Draw new truths, and new labels by the same annotators for the same items."""
    n = len(process.labels)
    eta = draws.ability[..., process.annotator] - draws.difficulty[..., process.item]
    if len(process.terms):
        eta += draws.coefficient @ process.covariates.T
    edges = draws.truth.cumsum(axis=-1)
    truth = (rng.random(edges.shape[:-1])[..., None] > edges[..., :-1]).sum(axis=-1)
    knows = rng.logistic(size=eta.shape) < eta - process.lead
    away = rng.integers(0 if process.guessing else 1, n, size=eta.shape)
    of_label = truth[..., process.item]
    return np.where(knows, of_label, (of_label + away) % n)


_MUCH: Final = 0.1
"""Minimum correlation for a warning. Below it, six confidences are worth more than four
independent confidences."""
_ERRORS: Final = 4.0


def warn_of_shared_confidence(process: Process, truth_mean: Floats, level: Floats) -> None:
    """Warn if confidences of one item are correlated given whether labels are right.

    ``truth_mean`` (item, label) and ``level`` (right, level) are posterior means.
    """
    wrong, right = level @ process.levels
    expected = wrong + (right - wrong) * truth_mean[process.item, process.label]
    rest = process.levels[process.level] - expected
    correlation, n_pairs = _correlation(rest, process.item)
    if n_pairs and correlation > max(_MUCH, _ERRORS / np.sqrt(n_pairs)):
        warn_caller(
            "Annotators of one item are confident or unsure together, whether they are right or "
            f"wrong (correlation {correlation:.2f}). confidence=True counts each confidence as "
            "independent evidence: accuracies are underestimated and intervals too short. Fit "
            "without it, and use dissensus.confidence_check to analyse confidence."
        )


def _correlation(rest: Floats, item: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the correlation of two residuals of the same item, and the number of such pairs."""
    n = np.bincount(item)
    squares = np.bincount(item, rest**2)
    together = np.bincount(item, rest) ** 2 - squares
    n_pairs = float((n * (n - 1)).sum()) / 2.0
    spread = squares.sum() / len(rest)
    if not n_pairs or not spread:
        return 0.0, 0.0
    return float(together.sum()) / (2.0 * n_pairs * spread), n_pairs
