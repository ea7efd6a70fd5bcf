"""Fits of one model at several reliabilities; only draws at the reference reliability are kept."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import xarray as xr

from dissensus import metrics
from dissensus.checks._agreement import agreement_check
from dissensus.data.alignment import common_items
from dissensus.data.chunks import computed
from dissensus.data.plausibility import cached_draws
from dissensus.dims import (
    ITEM,
    RELIABILITY,
    SAMPLE,
    SCOPE,
    SCOPES,
    SYSTEM,
)
from dissensus.errors import (
    AnnotationError,
    ConvergenceWarning,
    DissensusWarning,
    PredictionError,
    shown,
)
from dissensus.evaluation import scoring
from dissensus.evaluation.categories import Categories, accuracy
from dissensus.evaluation.recipes import Recipe
from dissensus.evaluation.same_annotators import can_be_widened, jackknifed
from dissensus.evaluation.section import Groups, Notes
from dissensus.metrics._insight import draw_insights
from dissensus.sampling import convergence, fitting
from dissensus.statistics._resampling import are_same
from dissensus.wording import counted, metric_title

CATEGORIES: Final = "categories"
CALIBRATION: Final = "calibration"
CHECK: Final = "agreement_check"
_METRIC: Final = (*SAMPLE, RELIABILITY, SCOPE, SYSTEM)
_LARGE: Final = 100_000_000
"""Maximum bytes of unused draws before the garbage collector, which is slow, is called."""


@dataclass(frozen=True)
class Task:
    """Data and settings that all models and reliabilities share."""

    annotations: xr.Dataset
    predictions: xr.Dataset | None
    categories: Categories | None
    firsts: list[xr.Dataset]
    """The systems' first labels, as predictions of categories."""
    risk: Any
    draws: int
    chains: int
    random_seed: int | None
    on_missing: str
    progressbar: bool
    predictions_given: xr.Dataset | None = None
    """The predictions before a cut at a threshold."""
    positive: Any = None
    """Of two labels, the positive one."""
    positive_named: bool = False
    """Whether the caller named the positive label."""
    same_unit: bool = True
    """Whether predicted numbers are in the unit of the scores; else only correlations are kept."""
    cut: xr.Dataset | None = None
    """The annotations in Dask chunks, if draws are made and scored chunk by chunk."""


@dataclass(frozen=True)
class Run:
    """One model and its reliabilities."""

    recipe: Recipe
    reliabilities: tuple[float, ...]
    reference: float
    hyper: Mapping[str, Any]
    keeps_draws: bool = True
    """Whether draws of the posterior are kept at the reference, or only their means."""
    insight: xr.DataArray | None = None
    """Draws (chain, draw, system), the same at all reliabilities."""


def results(run: Run, task: Task, notes: Notes) -> Groups:
    """Return the groups of an evaluation that come from one model."""
    point = run.recipe.point(task.annotations)  # before the fits, to raise errors early
    with notes.of(run.recipe.model):
        own, run = run, _with_learned(run, task)
    scopes = scoring.Scopes(task.annotations, task.random_seed)
    scored: dict[float, Groups] = {}
    groups: Groups = {}
    text, waiting = f"Fitting {run.recipe.model}, reliability", 0
    # The reference comes last, because its draws stay in memory.
    order = sorted(run.reliabilities, key=lambda gamma: gamma == run.reference)
    for gamma in fitting.tracked(order, text, task.progressbar):
        with notes.of(f"{run.recipe.model} at reliability {gamma:g}"):
            scored[gamma], kept, size = _step(run, task, gamma, scopes)
        waiting += size
        if waiting > _LARGE:  # a DataTree refers to itself, so only the collector frees it
            gc.collect()
            waiting = 0
        groups |= kept
    along = _along(run.reliabilities, [scored[gamma] for gamma in run.reliabilities])
    if CATEGORIES in along:  # add the plausibilities at the reference
        along[CATEGORIES] = along[CATEGORIES].merge(groups.pop(CATEGORIES))
        along[CATEGORIES] = along[CATEGORIES].transpose(*_METRIC, ..., missing_dims="ignore")
    groups |= along
    _allow_for_other_annotators(groups, own, task)
    with notes.of(run.recipe.model):
        if task.positive_named and "metrics" in groups and not set(RATES) <= set(groups["metrics"]):
            warnings.warn(
                "Sensitivity and specificity need plausibilities of both labels, which "
                f'{run.recipe.model} does not give: use model="dirichlet".',
                DissensusWarning, stacklevel=2,
            )  # fmt: skip
        _leave_out_undefined(groups, () if task.positive_named else RATES)
    if "convergence" in groups and groups["convergence"]["n_items_poor"].isnull().any():
        del groups["convergence"]  # with chunks and too few draws, all diagnostics are NaN
    if "convergence" in groups:
        with notes.of(f"{run.recipe.model}"):
            _warn_of_chains(groups["convergence"], task, of_items=run.recipe.markov_chains)
    groups["statistics"] = run.recipe.statistics(task.annotations, point)
    if task.predictions is not None:  # the metrics against the point estimate
        with notes.of("point estimate"):
            naive = scoring.score_point(point, task.predictions, task.on_missing, task.positive)
            names = [f"naive_{name}" for name in groups["metrics"]]
            groups["statistics"] = groups["statistics"].merge(naive[names])
            if task.categories is not None:
                grouped = task.categories.plausibility(point)
                grouped, on_missing = scoring.annotated(grouped, task.on_missing)
                leading = accuracy(grouped, task.firsts, None, on_missing)
                naive = leading.to_dataset(name="naive_top_1_accuracy")
                groups[CATEGORIES] = groups[CATEGORIES].merge(naive)
    return groups


def _with_learned(run: Run, task: Task) -> Run:
    """Return a run with the learned prior, if one is learned, and with draws of insight.

    Insight is what systems know beyond the labels; metrics allow for it if a prior is learned.
    """
    shared = run.recipe.learned(
        task.annotations if task.cut is None else task.cut, run.hyper,
        predictions=task.predictions_given, draws=task.draws, chains=task.chains,
        random_seed=task.random_seed, progressbar=task.progressbar,
    )  # fmt: skip
    insight = None
    if shared and run.recipe.insight and task.predictions is not None:
        _, scored_there = common_items(task.annotations[ITEM], task.predictions, task.on_missing)
        insight = draw_insights(scored_there, (task.chains, task.draws), task.random_seed)
    return replace(run, hyper={**run.hyper, **shared}, insight=insight)


def _fitted(run: Run, task: Task, gamma: float) -> xr.DataTree:
    return run.recipe.fit(
        task.annotations if task.cut is None else task.cut, gamma, draws=task.draws,
        chains=task.chains, random_seed=task.random_seed, **run.hyper,
    )  # fmt: skip


_DRAWS, _CHAINS = (100, 500), 2
"""Least and most draws of the fits without some annotators, of which only means are used. With 100,
lengths of intervals depend on the seed by up to a fifth."""
_TUNE: Final = 100
"""Warm-up of these fits to numbers, whose chains begin near the mode."""
_IN_CATEGORIES: Final = "accuracy in categories"


def _allow_for_other_annotators(groups: Groups, run: Run, task: Task) -> None:
    """Widen metrics, if the same few annotators labelled most of the items, or scored some.

    ``run`` is without what was learned, as each group of annotators learns a prior of its own.
    """
    predictions = task.predictions
    if (
        predictions is None or not can_be_widened(run.recipe.model) or not run.keeps_draws
        or task.cut is not None
        or not are_same(task.annotations, most=not run.recipe.of_numbers)
    ):  # fmt: skip
        return

    shorter = replace(run, hyper={**run.hyper, "tune": _TUNE}) if run.recipe.of_numbers else run

    def estimate(annotations: xr.Dataset) -> xr.Dataset:
        draws = min(max(task.draws, _DRAWS[0]), _DRAWS[1])
        some = replace(
            task, annotations=annotations, draws=draws, chains=_CHAINS, progressbar=False
        )
        learned = _with_learned(shorter, some)
        theta = run.recipe.plausibility(_fitted(learned, some, run.reference))
        options = task.random_seed, task.on_missing, learned.insight
        scored, _ = scoring.score(theta, predictions, None, *options, task.positive)
        if task.categories is not None:
            grouped = task.categories.plausibility(theta)
            scored[_IN_CATEGORIES] = accuracy(
                grouped, task.firsts, None, task.on_missing, learned.insight, task.random_seed
            )
        return scored.mean(SAMPLE)

    draws = groups["metrics"]
    if task.categories is not None:
        draws = draws.assign({_IN_CATEGORIES: groups[CATEGORIES]["top_1_accuracy"]})
    with warnings.catch_warnings(), suppress(AnnotationError):  # if too few labels are left
        warnings.simplefilter("ignore", DissensusWarning)  # about fewer labels, and short chains
        wide = jackknifed(
            draws, task.annotations, estimate, {RELIABILITY: run.reference, SCOPE: SCOPES[0]},
            task.random_seed, task.progressbar,
        )  # fmt: skip
        groups["metrics"] = wide.drop_vars(_IN_CATEGORIES, errors="ignore")
        if task.categories is not None:
            in_categories = wide[_IN_CATEGORIES]
            groups[CATEGORIES] = groups[CATEGORIES].assign(top_1_accuracy=in_categories)


RATES: Final = ("sensitivity", "specificity", "f1")
CORRELATION: Final = "correlation"
"""This metric and `RATES` can be undefined."""


def _leave_out_undefined(groups: Groups, silent: tuple[str, ...]) -> None:
    """Leave out metrics that are undefined in some draws; compare systems on the other metrics.

    Warn of metrics that are left out, except those in ``silent``.
    """
    if "metrics" not in groups:
        return
    draws = groups["metrics"]
    can_be = [name for name in (*RATES, CORRELATION) if name in draws]
    undefined = [name for name in can_be if bool(draws[name].isnull().any())]
    for name in undefined:
        if name in silent:
            continue
        warnings.warn(
            f"{metric_title(str(name))} is left out: it is undefined in some draws for "
            f"{shown(scoring.undefined_for(draws[name]))}, because "
            + (
                "all its numbers are the same."
                if name == CORRELATION
                else "no item has the label that it is about."
            ),
            DissensusWarning,
            stacklevel=2,
        )
    if len(undefined) == len(draws.data_vars):
        raise PredictionError(
            "predictions", expected="systems that the metrics can judge",
            found=f"{shown(draws[SYSTEM].to_numpy().tolist())}, for which no metric is defined",
            hint="Leave out systems whose numbers are all the same, or in another unit than the "
            "scores",
        )  # fmt: skip
    groups["metrics"] = draws.drop_vars(undefined)
    groups["comparison"] = scoring.comparison(groups["metrics"])
    groups["diagnostics"] = scoring.diagnostics(groups["metrics"])


def _warn_of_chains(diagnosed: xr.Dataset, task: Task, *, of_items: bool) -> None:
    """Warn once, for all reliabilities, if chains of items or of the learned prior are short."""
    poor = diagnosed.isel({RELIABILITY: diagnosed["n_items_poor"].to_numpy() > 0})
    if not poor.sizes[RELIABILITY]:
        return
    counts = poor["n_items_poor"].to_numpy()
    if of_items:
        at = zip(counts, poor[RELIABILITY].to_numpy(), strict=True)
        where = ", ".join(f"{count:g} at reliability {gamma:g}" for count, gamma in at)
        subject = f"some of {task.annotations.sizes[ITEM]} items ({where})"
        intervals = "these items' intervals"
    else:  # the learned prior is the same at each reliability
        subject = f"{counted(int(counts.max()), 'parameter')} of the learned prior"
        intervals = "this model's intervals"
    least = min(float(poor[name].min()) for name in ("ess_bulk_min", "ess_tail_min"))
    several = of_items and diagnosed.sizes[RELIABILITY] > 1
    smaller = ", or for smaller reliabilities" if several else ""
    r_hat = f", r-hat up to {float(poor['r_hat_max'].max()):.2f}" if "r_hat_max" in poor else ""
    warnings.warn(
        f"the chains have not run long enough for {subject}: as few as {least:.0f} effective "
        f"draws{r_hat}. Do not trust {intervals}; ask for more draws (draws={4 * task.draws})"
        f"{smaller}.",
        ConvergenceWarning,
        stacklevel=2,
    )


def _step(run: Run, task: Task, gamma: float, scopes: scoring.Scopes) -> tuple[Groups, Groups, int]:
    """Fit and score the model at one reliability.

    Return its groups, the groups that only the reference has, and the bytes of unused draws.
    """
    with warnings.catch_warnings(), fitting.all_or_nothing():
        warnings.simplefilter("ignore", ConvergenceWarning)  # see _warn_of_chains
        fit = _fitted(run, task, gamma)
        with cached_draws(scoring.deepest(task.predictions)):
            out, kept, size = _scored(run, task, gamma, fit, scopes)
        if task.cut is not None:
            out, kept = computed((out, kept), task.progressbar)
            size = 0
    return out, kept, size


def _scored(
    run: Run, task: Task, gamma: float, fit: xr.DataTree, scopes: scoring.Scopes
) -> tuple[Groups, Groups, int]:
    """Score a fit, and return the values of `_step`; they are lazy if the draws are lazy."""
    theta = run.recipe.plausibility(fit)
    out = {}
    if not run.recipe.of_numbers:
        out["certainty"] = scoring.certainties(theta, task.predictions)
    reported = {**fit["posterior"].attrs, **fit["sample_stats"].data_vars}
    names = (
        start + name for start in ("", convergence.OF_PRIOR) for name in convergence.ATTRIBUTES
    )
    known = {name: reported[name] for name in names if name in reported}
    if known:
        out["convergence"] = xr.Dataset(known)
    curves, grouped = xr.Dataset(), None
    if task.predictions is not None:
        out["metrics"], curves = scoring.score(
            theta, task.predictions, scopes.of(theta), task.random_seed, task.on_missing,
            run.insight, task.positive,
        )  # fmt: skip
        if not task.same_unit:
            out["metrics"] = out["metrics"][[CORRELATION]]
    if task.categories is not None:
        grouped = task.categories.plausibility(theta)
        out[CATEGORIES] = scoring.score_categories(
            grouped, task.firsts, scopes, task.random_seed, task.on_missing, run.insight
        )
    kept = _kept(run, task, fit, theta, grouped) if gamma == run.reference else {}
    if kept and curves:
        kept[CALIBRATION] = curves.sel({SCOPE: SCOPES[0]}, drop=True)
    return out, kept, theta.nbytes


def _kept(
    run: Run, task: Task, fit: xr.DataTree, theta: xr.DataArray, grouped: xr.DataArray | None
) -> Groups:
    """Return the results that are stored for the reference reliability only."""
    attrs = fit["posterior"].attrs
    if run.keeps_draws:
        posterior = fit["posterior"].to_dataset()
        if theta.name not in posterior:
            posterior = posterior.assign({str(theta.name): theta})
    else:
        posterior = _mean(theta).assign_attrs(attrs)
        if run.recipe.of_numbers:  # reports show the intervals of items
            posterior["mean_sd"] = theta.std(list(SAMPLE), ddof=1, skipna=False)
    out = {"posterior": posterior}
    if run.keeps_draws:
        replicated = run.recipe.replicated(
            fit, task.annotations, run.reference, run.hyper, task.random_seed
        )
        if replicated is not None:
            with warnings.catch_warnings():  # about statistics that some replicates do not define
                warnings.simplefilter("ignore", DissensusWarning)
                out[CHECK] = agreement_check(replicated)
    if grouped is not None:
        out[CATEGORIES] = grouped.to_dataset() if run.keeps_draws else _mean(grouped)
    if task.risk is not None and run.keeps_draws:
        expected = metrics.get("expected_risk").function(theta, task.risk)
        out["expected_risk"] = expected.to_dataset()
    return out


def _mean(theta: xr.DataArray) -> xr.Dataset:
    # skipna=False, because a search for NaN needs twice the memory.
    mean = theta.mean(list(SAMPLE), keep_attrs=True, skipna=False)
    return mean.to_dataset(name=f"{theta.name}_mean")


def _along(reliabilities: tuple[float, ...], runs: list[Groups]) -> Groups:
    """Join the groups of all reliabilities; ``comparison`` and ``diagnostics`` are empty."""
    index = xr.IndexVariable(RELIABILITY, list(reliabilities))
    out = {
        name: xr.concat([run[name] for run in runs], dim=index, combine_attrs="override")
        for name in runs[0]
    }
    out |= {"comparison": xr.Dataset(), "diagnostics": xr.Dataset()}
    if "metrics" in out:
        out["metrics"] = out["metrics"].transpose(*_METRIC)
    return out
