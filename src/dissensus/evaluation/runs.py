"""Fits of one model at several reliabilities; only draws at the reference reliability are kept."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import metrics
from dissensus.checks._agreement import agreement_check
from dissensus.data import tables
from dissensus.data.alignment import common_items
from dissensus.data.chunks import computed
from dissensus.data.plausibility import cached_draws
from dissensus.data.prediction_schema import rows_of_probabilities
from dissensus.dims import (
    CANDIDATE,
    ITEM,
    LABEL,
    POSITION,
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
from dissensus.evaluation.categories import Categories, accuracy
from dissensus.evaluation.recipes import Recipe
from dissensus.evaluation.same_annotators import are_same, can_be_widened, jackknifed
from dissensus.evaluation.section import Groups, Notes
from dissensus.metrics._blocks import is_lazy, lazy_bootstrap_weights
from dissensus.metrics._insight import draw_insights
from dissensus.metrics._items import bootstrap_weights
from dissensus.metrics._probabilities import BIN
from dissensus.sampling import convergence, fitting
from dissensus.wording import counted, metric_title

Clusters = npt.NDArray[np.int64] | None
"""(item): the code of each item's cluster; None if there are no clusters."""


def _metric_calls(
    draws: xr.DataArray, predictions: xr.Dataset, positive: Any = None,
    insight: xr.DataArray | None = None, random_seed: Any = None,
) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:  # fmt: skip
    """Yield the function and the arguments of each metric that these draws and lists allow."""
    if not {LABEL, CANDIDATE} & set(draws.dims):
        yield metrics.get("score_error").function, {}
        return
    longest = min(int((predictions["block"] > 0).sum(POSITION).max()), most_labels(draws))
    of_insight = {} if insight is None else {"insight": insight, "random_seed": random_seed}
    for k in range(1, max(longest, 1) + 1):
        yield metrics.get("top_k_accuracy").function, {"k": k, **of_insight}
    for k in range(2, longest + 1):
        yield metrics.get("set_accuracy").function, {"k": k}
    if longest > 1:
        yield metrics.get("average_overlap").function, {"depth": longest}
    if draws.sizes.get(LABEL) == 2 and positive is not None:
        yield metrics.get("sensitivity_specificity").function, {"positive": positive, **of_insight}
    if LABEL in draws.dims and have_probabilities(predictions):
        yield metrics.get("probability_score").function, {}


def have_probabilities(predictions: xr.Dataset) -> bool:
    """Return whether every system gives probabilities of labels."""
    return "score" in predictions and bool(rows_of_probabilities(predictions).all())


def score(
    draws: xr.DataArray, predictions: xr.Dataset, weights: xr.DataArray, random_seed: Any,
    on_missing: str, insight: xr.DataArray | None = None, positive: Any = None,
) -> xr.Dataset:  # fmt: skip
    """Return all metrics (chain, draw, scope, system), and calibration curves, which have bins too.

    ``weights`` are from `item_scopes`.
    """
    by_name: dict[str, xr.DataArray] = {}
    for function, arguments in _metric_calls(draws, predictions, positive, insight, random_seed):
        value = function(draws, predictions, **arguments, weights=weights, on_missing=on_missing)
        by_name |= _parts(value)
    return xr.Dataset(by_name)


def _parts(value: xr.DataArray | xr.Dataset) -> dict[str, xr.DataArray]:
    """Return metrics and curves by name."""
    if isinstance(value, xr.DataArray):
        return {str(value.name): value}
    return {str(name): metric for name, metric in value.data_vars.items()}


def _curves(scored: xr.Dataset) -> list[Any]:
    return [name for name, metric in scored.data_vars.items() if BIN in metric.dims]


def clusters_of(annotations: xr.Dataset, plausibility: xr.DataArray) -> Clusters:
    """Return the code of the cluster of each item of a plausibility; None without clusters."""
    if "cluster_code" not in annotations:
        return None
    place = tables.match(plausibility[ITEM].to_numpy(), annotations[ITEM].to_numpy())
    return annotations["cluster_code"].to_numpy().astype(np.int64)[place]


def item_scopes(plausibility: xr.DataArray, random_seed: Any, cluster: Clusters) -> xr.DataArray:
    """Return weights of items: 1 for these items, bootstrap weights for new items.

    One array has the weights of both scopes, so that draws are scored only once.
    """
    make = lazy_bootstrap_weights if is_lazy(plausibility) else bootstrap_weights
    drawn = make(plausibility, random_seed, cluster)
    drawn = drawn.assign_coords({ITEM: plausibility[ITEM].to_numpy()})
    return xr.concat([xr.ones_like(drawn), drawn], dim=xr.IndexVariable(SCOPE, list(SCOPES)))


class Scopes:
    """The weights of `item_scopes`, drawn once for several fits of the same items."""

    def __init__(self, annotations: xr.Dataset, random_seed: Any) -> None:
        self._annotations, self._random_seed = annotations, random_seed
        self._drawn: xr.DataArray | None = None

    def of(self, plausibility: xr.DataArray) -> xr.DataArray:
        """Return the weights for the draws of a fit."""
        known, items = self._drawn, plausibility[ITEM].to_numpy()
        if (
            known is not None and np.array_equal(known[ITEM].to_numpy(), items)
            and all(known.sizes[dim] == plausibility.sizes[dim] for dim in SAMPLE)
        ):  # fmt: skip
            return known
        cluster = clusters_of(self._annotations, plausibility)
        drawn = item_scopes(plausibility, self._random_seed, cluster)
        if not is_lazy(drawn):
            self._drawn = drawn
        return drawn


def score_point(
    point: xr.DataArray, predictions: xr.Dataset, on_missing: str, positive: Any = None
) -> xr.Dataset:
    """Return the metrics of `score` against the point estimate, as numbers without intervals.

    An item without any annotation has no point estimate, and is left out.
    """
    point, on_missing = _annotated(point, on_missing)
    by_name: dict[str, xr.DataArray] = {}
    broken = _tie_breaks(point)
    for function, arguments in _metric_calls(point, predictions, positive):
        by_name |= _parts(function(broken, predictions, **arguments, on_missing=on_missing))
    out = xr.Dataset({f"naive_{name}": value for name, value in by_name.items()})
    return out.drop_vars(_curves(out)).mean(SAMPLE, skipna=False, keep_attrs=True)


_BREAKS, _FEWER, _MANY = 60, 12, 10**6
"""Number of ways in which ties are broken. With 60 ways, each of up to six tied labels leads
equally often. A point estimate of more than `_MANY` shares has 12 ways, for up to four labels."""
_STEP = 1e-9
"""Amount that is added to a share to break a tie; unequal shares differ by more."""


def _tie_breaks(point: xr.DataArray) -> xr.DataArray:
    """Return a draw for each way in which ties of leading labels are broken, in one chain.

    In the mean of a metric over these draws, each of n tied leading labels counts 1/n.
    """
    expanded = point.expand_dims(dict.fromkeys(SAMPLE, 1))
    if LABEL not in point.dims:
        return expanded
    axis = point.get_axis_num(LABEL)
    values = point.to_numpy()
    leads = values == values.max(axis=axis, keepdims=True, initial=0.0)
    n_lead = leads.sum(axis=axis, keepdims=True)
    if (n_lead < 2).all():
        return expanded
    place = np.cumsum(leads, axis=axis) - 1
    ways = np.empty((1, _BREAKS if values.size <= _MANY else _FEWER, *values.shape))
    for way in range(ways.shape[1]):  # one way at a time, to save memory
        ways[0, way] = values + _STEP * np.where(leads, (place + way) % n_lead, 0)
    return xr.DataArray(ways, expanded.coords, expanded.dims, point.name, point.attrs)


def _annotated(point: xr.DataArray, on_missing: str) -> tuple[xr.DataArray, str]:
    if set(point.dims) == {ITEM}:
        bare = point.isnull()
    else:
        bare = ~(point.sum(set(point.dims) - {ITEM}) > 0)  # also if the sum is NaN
    if not bool(bare.any()):
        return point, on_missing
    return point.isel({ITEM: ~bare.to_numpy()}), "drop"


def score_categories(
    grouped: xr.DataArray, firsts: list[xr.Dataset], scopes: Scopes, random_seed: Any,
    on_missing: str, insight: xr.DataArray | None = None,
) -> xr.Dataset:  # fmt: skip
    """Return the certainty of each item's leading category, and systems' accuracy in categories.

    ``grouped`` and ``firsts`` are the plausibilities and the predictions of categories.
    """
    certainty = metrics.get("annotation_certainty").function(grouped)
    out = {"annotation_certainty": certainty.drop_vars(["mcse", "selection_bias"])}
    if firsts:
        accuracies = accuracy(grouped, firsts, scopes.of(grouped), on_missing, insight, random_seed)
        out["top_1_accuracy"] = accuracies.transpose(*SAMPLE, SCOPE, SYSTEM)
    return xr.Dataset(out)


def most_labels(draws: xr.DataArray) -> int:
    """Return the largest k for metrics: 3, but less than the number of labels."""
    candidates = np.atleast_1d(draws.attrs.get("labels", np.arange(4)))
    return min(3, max(draws.sizes.get(LABEL, len(candidates)) - 1, 1))


def deepest(predictions: xr.Dataset | None) -> int:
    """Return how many leading labels of a draw the metrics use: as many as lists have, up to 3."""
    return 1 if predictions is None else int(min(3, predictions.sizes.get(POSITION, 1)))


def certainties(plausibility: xr.DataArray, predictions: xr.Dataset | None) -> xr.Dataset:
    """Return annotation certainty for the top 1 and, if lists are longer, for the top 2 and 3."""
    errors = ["mcse", "selection_bias"]
    out = {}
    for top in range(1, min(deepest(predictions), most_labels(plausibility)) + 1):
        certainty = metrics.get("annotation_certainty").function(plausibility, top=top)
        out[str(certainty.name)] = certainty.drop_vars(errors)
        out[f"{certainty.name}_mcse"] = certainty["mcse"].drop_vars(errors)
        out[f"{certainty.name}_bias"] = certainty["selection_bias"].drop_vars(errors)
    return xr.Dataset(out)


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
    scopes = Scopes(task.annotations, task.random_seed)
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
            naive = score_point(point, task.predictions, task.on_missing, task.positive)
            names = [f"naive_{name}" for name in groups["metrics"]]
            groups["statistics"] = groups["statistics"].merge(naive[names])
            if task.categories is not None:
                grouped = task.categories.plausibility(point)
                grouped, on_missing = _annotated(grouped, task.on_missing)
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


_DRAWS, _CHAINS = 100, 2
"""Draws of the fits without some annotators, of which only means are used."""


def _allow_for_other_annotators(groups: Groups, run: Run, task: Task) -> None:
    """Widen metrics, if the same few annotators labelled most of the items.

    ``run`` is without what was learned, as each group of annotators learns a prior of its own.
    """
    draws, predictions = groups.get("metrics", xr.Dataset()), task.predictions
    if (
        predictions is None or not can_be_widened(draws, run.recipe.model) or not run.keeps_draws
        or task.cut is not None or not are_same(task.annotations)
    ):  # fmt: skip
        return

    def estimate(annotations: xr.Dataset) -> xr.Dataset:
        some = replace(
            task, annotations=annotations, draws=_DRAWS, chains=_CHAINS, progressbar=False
        )
        learned = _with_learned(run, some)
        theta = run.recipe.plausibility(_fitted(learned, some, run.reference))
        calls = _metric_calls(theta, predictions, None, learned.insight, task.random_seed)
        function, arguments = next(calls)  # the agreement on first labels, or the errors
        value = function(theta, predictions, **arguments, on_missing=task.on_missing)
        return xr.Dataset(_parts(value)).mean(SAMPLE)

    with warnings.catch_warnings(), suppress(AnnotationError):  # if too few labels are left
        warnings.simplefilter("ignore", DissensusWarning)  # about fewer labels, and short chains
        groups["metrics"] = jackknifed(
            draws, task.annotations, estimate, {RELIABILITY: run.reference, SCOPE: SCOPES[0]},
            task.random_seed, task.progressbar,
        )  # fmt: skip


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
            f"{shown(undefined_for(draws[name]))}, because all predicted numbers are the same, "
            "or no item has the label.",
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
    groups["comparison"] = comparison(groups["metrics"])
    groups["diagnostics"] = diagnostics(groups["metrics"])


def undefined_for(draws: xr.DataArray) -> list[Any]:
    """Return the systems with an undefined draw."""
    missing = draws.isnull().any([dim for dim in draws.dims if dim != SYSTEM])
    return list(draws[SYSTEM].to_numpy()[missing.to_numpy()].tolist())


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


def _step(run: Run, task: Task, gamma: float, scopes: Scopes) -> tuple[Groups, Groups, int]:
    """Fit and score the model at one reliability.

    Return its groups, the groups that only the reference has, and the bytes of unused draws.
    """
    with warnings.catch_warnings(), fitting.all_or_nothing():
        warnings.simplefilter("ignore", ConvergenceWarning)  # see _warn_of_chains
        fit = _fitted(run, task, gamma)
        with cached_draws(deepest(task.predictions)):
            out, kept, size = _scored(run, task, gamma, fit, scopes)
        if task.cut is not None:
            out, kept = computed((out, kept), task.progressbar)
            size = 0
    return out, kept, size


def _scored(
    run: Run, task: Task, gamma: float, fit: xr.DataTree, scopes: Scopes
) -> tuple[Groups, Groups, int]:
    """Score a fit, and return the values of `_step`; they are lazy if the draws are lazy."""
    theta = run.recipe.plausibility(fit)
    out = {}
    if not run.recipe.of_numbers:
        out["certainty"] = certainties(theta, task.predictions)
    reported = {**fit["posterior"].attrs, **fit["sample_stats"].data_vars}
    names = (
        start + name for start in ("", convergence.OF_PRIOR) for name in convergence.ATTRIBUTES
    )
    known = {name: reported[name] for name in names if name in reported}
    if known:
        out["convergence"] = xr.Dataset(known)
    curves, grouped = xr.Dataset(), None
    if task.predictions is not None:
        scores = score(
            theta, task.predictions, scopes.of(theta), task.random_seed, task.on_missing,
            run.insight, task.positive,
        )  # fmt: skip
        curves = scores[_curves(scores)]
        out["metrics"] = scores.drop_dims(BIN, errors="ignore")
        if not task.same_unit:
            out["metrics"] = out["metrics"][[CORRELATION]]
    if task.categories is not None:
        grouped = task.categories.plausibility(theta)
        out[CATEGORIES] = score_categories(
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


def comparison(draws: xr.Dataset) -> xr.Dataset:
    """Return the comparison of the systems on every metric, without draws of differences."""
    if draws.sizes[SYSTEM] < 2:
        return xr.Dataset()
    compare = metrics.get("compare").function
    drop = ["difference", *SAMPLE]
    each = [compare(draws[name]).drop_vars(drop) for name in draws.data_vars]
    index = xr.IndexVariable("metric", [str(name) for name in draws.data_vars])
    return xr.concat(each, dim=index, combine_attrs="drop")


def diagnostics(draws: xr.Dataset) -> xr.Dataset:
    """Return effective sample size and r-hat of every metric.

    They are undefined (NaN) for a metric that is the same in all draws.
    """
    from arviz_stats import ess, rhat

    with np.errstate(invalid="ignore", divide="ignore"):
        kinds = {
            "ess_bulk": ess(draws, method="bulk"),
            "ess_tail": ess(draws, method="tail"),
            "r_hat": rhat(draws),
        }
    index = xr.IndexVariable("diagnostic", list(kinds))
    return xr.concat(list(kinds.values()), dim=index, combine_attrs="drop")
