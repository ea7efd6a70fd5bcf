"""The section ``accuracy``: accuracies if every item has one true label, which is unknown.

`models.dawid_skene` and `models.symmetric_confusion` are fitted, with correlated errors of
an item's annotators. The model that predicts labels better is used.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from dissensus import arguments, models
from dissensus.data.known_labels import known_codes
from dissensus.data.rows import voices_per
from dissensus.dims import (
    ANNOTATION,
    ANNOTATOR,
    DRAW,
    ITEM,
    LABEL,
    POSITION,
    SAMPLE,
    SCOPE,
    SCOPES,
    SYSTEM,
)
from dissensus.errors import (
    AnnotationError,
    ArgumentError,
    ConvergenceWarning,
    DissensusWarning,
    brief,
)
from dissensus.evaluation.observed import are_classes, first_labels, of_majority
from dissensus.evaluation.scoring import clusters_of
from dissensus.evaluation.section import (
    AUTO,
    FEWEST,
    NO_PAIR,
    NOT_WANTED,
    Groups,
    Notes,
    Plan,
    Reason,
    Settings,
    no_one_label,
    too_few,
    warn_of_chains,
)
from dissensus.families.latent_truth.design import ENOUGH
from dissensus.families.latent_truth.errors import LEARNED, checked_errors
from dissensus.kernels.random import generator
from dissensus.sampling import convergence, fitting
from dissensus.wording import capital, counted, listed

# The models to compare.


GROUP: Final = "accuracy"
SOURCE: Final = "model"
NOTE: Final = "Accuracies are not estimated"
MODELS: Final = ("dawid_skene", "symmetric_confusion")
MOST_LABELS: Final = 30
"""Maximum number of labels. With more labels, few items get the same label from two annotators."""


class Candidate(NamedTuple):
    """A model that may be used, with its settings."""

    model: str
    settings: Mapping[str, Any]
    in_words: str


@dataclass(frozen=True)
class AccuracyPlan(Plan):
    """The models to compare, and their data."""

    candidates: tuple[Candidate, ...]
    """The first one is used, unless another one predicts labels better."""
    error_correlation: Any = LEARNED
    truth: Any = None
    """Known true labels of some items."""
    predictions: xr.Dataset | None = None
    """The one label that each system gives an item; None if there are no such predictions."""
    positive: Any = None
    """The positive one of two labels."""


def plan(
    annotations: xr.Dataset, predictions: xr.Dataset | None, truth_model: str | None,
    threshold: float | None, truth: Any = None, error_correlation: Any = LEARNED,
    positive: Any = None,
) -> AccuracyPlan | Reason:  # fmt: skip
    """Choose the models.

    Raises
    ------
    ArgumentError
        If the model is unknown or cannot be fitted to these annotations, or if ``truth`` has
        unknown items or labels.
    """
    arguments.one_of("truth_model", truth_model, (AUTO, *MODELS, None))
    if truth is not None and truth_model is None:
        raise ArgumentError(
            "truth", expected="None with truth_model=None, which leaves accuracies out",
            found=brief(truth),
        )  # fmt: skip
    checked_errors(error_correlation, above=0.0)
    if truth_model is None:
        return Reason(NOT_WANTED)
    by_name = truth_model != AUTO
    reason = _reason(annotations, threshold, by_name)
    if truth is not None and not no_one_label(annotations, threshold, alone=True):
        known_codes(annotations, truth)  # raises if an item or a label is unknown
    if truth is not None and reason is not None:
        _require_enough(annotations, threshold, truth, reason)
        reason = None
    if reason is not None:
        if by_name:
            raise ArgumentError(
                "truth_model", expected=f"None or {AUTO!r}: {reason.text}", found=repr(truth_model)
            )
        return reason
    systems, why = one_label_each(annotations, predictions)
    remarks = [f"Systems have no estimated accuracy: {why}."] if why else []
    anonymous = int(voices_per(annotations, ANNOTATOR).max()) < 2
    if anonymous:
        remarks.append(
            "No annotator labelled two items: one accuracy is estimated for all annotators."
        )
    bare = int((voices_per(annotations, ITEM) == 0).sum())
    if bare and systems is not None:
        several = systems.sizes[SYSTEM] > 1
        agree = " and a similar number of agreeing systems" if several else ""
        people = " with a similar number of agreeing systems" if several else ""
        remarks.append(
            f"Annotators did not label {counted(bare, 'item')}. Accuracies are for all items. On "
            "items without a label and without a known truth, a system is assumed to be right as "
            f"often as on labelled items with the same prediction{agree}. Annotators are assumed "
            f"to be right as often as on labelled items{people}."
        )
    if "cluster_code" in annotations:
        remarks.append(
            "Intervals of systems' accuracy on new items account for clusters, but treat the "
            "uncertainty about true labels as independent. Intervals for these items, and for "
            "annotators, treat the items of a cluster as independent, and may be too narrow."
        )
    candidates = _candidates(annotations, systems, anonymous)
    if by_name:
        candidates = tuple(candidate for candidate in candidates if candidate.model == truth_model)
    elif annotations.sizes[ANNOTATION] < ENOUGH * annotations.sizes[LABEL]:
        candidates = candidates[1:]  # too few labels for confusion matrices
    return AccuracyPlan(
        candidates, by_name=by_name, predictions=systems, truth=truth,
        error_correlation=error_correlation, positive=positive, remarks=tuple(remarks),
    )  # fmt: skip


def n_known(annotations: xr.Dataset, truth: Any) -> int:
    """Return the number of items whose true label is known."""
    return 0 if truth is None else int((known_codes(annotations, truth) >= 0).sum())


def _reason(annotations: xr.Dataset, threshold: float | None, by_name: bool) -> Reason | None:
    """Return the reason not to fit a model, or None."""
    text = no_one_label(annotations, threshold)
    if text or by_name:
        return Reason(text) if text else None
    n_labels = annotations.sizes[LABEL]
    if n_labels > MOST_LABELS:
        return Reason(f"there are {n_labels:,} labels, more than {MOST_LABELS}", noted=True)
    text = too_few(annotations)
    return Reason(text, noted=True) if text else None


def _require_enough(
    annotations: xr.Dataset, threshold: float | None, truth: Any, reason: Reason
) -> None:
    """Raise the reason not to fit a model, unless enough true labels make up for few annotators."""
    impossible = bool(no_one_label(annotations, threshold, alone=True))
    known = 0 if impossible else n_known(annotations, truth)
    if known >= FEWEST and reason.text in (NO_PAIR, too_few(annotations)):
        return
    alternative = f", or the truth of {FEWEST} items or more" if 0 < known < FEWEST else ""
    raise ArgumentError(
        "truth", expected=f"None: {reason.text}{alternative}", found=brief(truth),
        hint="" if impossible else f"truth_model={MODELS[1]!r} estimates accuracies nevertheless",
    )  # fmt: skip


def _candidates(
    annotations: xr.Dataset, predictions: xr.Dataset | None, anonymous: bool
) -> tuple[Candidate, ...]:
    """Return the two models; if annotators are ``anonymous``, they share all parameters."""
    ordered = annotations.attrs["kind"] == "ordinal" and not are_classes(annotations, predictions)
    annotators = "all annotators" if anonymous else "each annotator"
    return (
        Candidate(
            "dawid_skene", {"pooling": "complete" if anonymous else "none"},
            f"a confusion matrix for {annotators}",
        ),
        Candidate(
            "symmetric_confusion",
            {"accuracy": "common" if anonymous else "annotator",
             "errors": "graded" if ordered else "equal"},
            f"an accuracy for {annotators}",
        ),
    )  # fmt: skip


def one_label_each(
    annotations: xr.Dataset, predictions: xr.Dataset | None
) -> tuple[xr.Dataset | None, str]:
    """Return the one label that each system gives each item; or None, and the reason."""
    if predictions is None:
        return None, ""
    firsts = first_labels(annotations, predictions)
    if "label_code" not in firsts:
        return None, "they gave numbers, not labels"
    if firsts.sizes[POSITION] != 1:
        tied = int((firsts["block"] == 1).sum(POSITION).max())
        return None, f"they gave lists with up to {counted(tied, 'label')} tied in first place"
    return firsts, ""


# Fits, and the choice among them.


LEAST_EFFECTIVE: Final = 50.0
"""Minimum effective sample size of an accuracy that is shown."""
MOST_R_HAT: Final = 1.1
WIDTH, PROB = 0.1, 0.89
"""Width and probability of an interval of a system's accuracy, for ``known_items``."""
_WARM_UP: Final = 300
_COMPARED: Final = 1000
"""Maximum number of items by which models are compared, to save time."""


class Run(NamedTuple):
    """A plan, the number of draws kept per chain, and ``thin``: the draws made for each of them."""

    plan: AccuracyPlan
    draws: int
    thin: int
    settings: Settings


class Fitted(NamedTuple):
    """The fit that was chosen."""

    draws: xr.Dataset
    fit: xr.DataTree
    taken: Candidate
    remarks: list[str]


def fits(annotations: xr.Dataset, run: Run) -> Fitted:
    """Fit all candidates, and choose the one that predicts labels best.

    Each fit evaluates all systems. Predictions are not evidence of the truth: otherwise systems
    with the same errors would outvote the annotators.
    """
    rng = generator(run.settings.random_seed, "accuracy")
    done: list[tuple[Candidate, xr.DataTree, xr.Dataset]] = []
    problems: list[tuple[Candidate, AnnotationError]] = []
    candidates = list(run.plan.candidates)
    for candidate in fitting.tracked(candidates, "Estimating accuracies", run.settings.progressbar):
        fit = _fit(annotations, candidate, run, rng)
        accuracies = _draws_of(fit, annotations, run)
        try:
            _require_settled(accuracies, run.plan, candidate)
        except AnnotationError as problem:
            problems.append((candidate, problem))
        else:
            done.append((candidate, fit, accuracies))
    if not done:
        raise problems[0][1]
    best, remarks = _best(done)
    remarks += [
        f"{capital(candidate.in_words)} is left out because of {problem.found}. {problem.hint}."
        for candidate, problem in problems
    ]
    taken, fit, accuracies = done[best]
    return Fitted(accuracies, fit, taken, remarks)


def _best(done: list[tuple[Candidate, xr.DataTree, xr.Dataset]]) -> tuple[int, list[str]]:
    """Return the position of the chosen fit, and remarks.

    The first fit is chosen, unless another one predicts left-out items better by more than 2
    standard errors.
    """
    if len(done) < 2:
        return 0, []
    elpd = [_pointwise(fit) for _, fit, _ in done]
    gaps = [density - elpd[0] for density in elpd]
    total = [float(gap.sum()) for gap in gaps]
    error = [float(gap.std(ddof=1) * np.sqrt(len(gap))) for gap in gaps]
    best = max(range(len(done)), key=lambda k: total[k] if total[k] > 2 * error[k] else -(k > 0))
    rest = listed([done[k][0].in_words for k in range(len(done)) if k != best])
    worst = max((k for k in range(len(done)) if k != best), key=total.__getitem__)
    lead, about = total[best] - total[worst], max(error[best], error[worst])
    better = "better than" if lead > 2 * about else "as well as"
    return best, [
        f"Of the models compared, {done[best][0].in_words} predicts labels {better} {rest} "
        f"(difference in the expected log density of left-out items {lead:+.0f}, standard error "
        f"{about:.0f}), and is used."
    ]


def _pointwise(fit: xr.DataTree) -> Any:
    """Return the contribution of each item to the expected log density of left-out items."""
    import arviz as az

    density = fit["log_likelihood"].to_dataset()
    n = density.sizes[ITEM]
    if n > _COMPARED:
        places = np.linspace(0, n - 1, _COMPARED).round().astype(int)
        density = density.isel({ITEM: places})
    tree = xr.DataTree.from_dict({"log_likelihood": density, "posterior": fit["posterior"]})
    with warnings.catch_warnings():
        # Warnings about Pareto k: a few items seldom change which model is best.
        warnings.simplefilter("ignore")
        return az.loo(tree, var_name="labels", pointwise=True).elpd_i.to_numpy()


def _require_settled(draws: xr.Dataset, plan: AccuracyPlan, candidate: Candidate) -> None:
    """Raise if chains disagree about accuracies, unless the caller named the model.

    If labels are few, or hardly agree, chains may differ in how they explain the labels: by hard
    items and accurate annotators, or by inaccurate annotators.
    """
    diagnostics = diagnosed(draws)
    if diagnostics["n_items_poor"] and not plan.by_name:
        r_hat = (
            f", r-hat up to {diagnostics['r_hat_max']:.2f}" if "r_hat_max" in diagnostics else ""
        )
        raise AnnotationError(
            "annotations", expected="chains that agree on the accuracies",
            found=f"chains that differ (minimum {diagnostics['ess_bulk_min']:.0f} effective "
            f"draws{r_hat}): there may be too few labels, or too much disagreement",
            hint=f'More draws may suffice; truth_model="{candidate.model}" shows them nevertheless',
        )  # fmt: skip


def on_average(people: xr.DataArray) -> xr.DataArray:
    """Return draws (chain, draw) of the annotators' mean accuracy."""
    return people.mean(ANNOTATOR) if ANNOTATOR in people.dims else people


def diagnosed(draws: xr.Dataset) -> dict[str, Any]:
    """Return the worse diagnostics: of the systems' accuracies, or of the annotators' mean."""
    each = [settled(on_average(draws["annotator_accuracy"]))]
    if "estimated_accuracy" in draws:
        each.append(settled(draws["estimated_accuracy"]))
    worst = dict(min(each, key=lambda diagnostics: float(diagnostics["ess_bulk_min"])))
    if "r_hat_max" in worst:
        worst["r_hat_max"] = max(diagnostics["r_hat_max"] for diagnostics in each)
    for name in ("r_hat_max_item", "ess_bulk_median"):
        worst.pop(name, None)
    worst["n_items_poor"] = max(diagnostics["n_items_poor"] for diagnostics in each)
    return worst


def settled(draws: xr.DataArray) -> dict[str, Any]:
    """Return diagnostics of accuracies; ``n_items_poor`` is 1 if they are too poor to be shown."""
    flat = draws.to_numpy().reshape(*(draws.sizes[dim] for dim in SAMPLE), -1)
    names = _names(draws)
    whole = xr.DataArray(flat, dims=(*SAMPLE, "accuracy"), coords={"accuracy": names})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `draws` warns instead
        diagnostics = convergence.diagnosed(whole, "accuracy")
    few = diagnostics["ess_bulk_min"] < LEAST_EFFECTIVE
    broken = diagnostics["n_items_undefined"] or diagnostics["n_items_stuck"]
    diagnostics["n_items_poor"] = int(
        few or diagnostics.get("r_hat_max", 1.0) > MOST_R_HAT or bool(broken)
    )
    return diagnostics


def _names(draws: xr.DataArray) -> list[str]:
    if ANNOTATOR in draws.dims:
        return [f"annotator {name}" for name in draws[ANNOTATOR].to_numpy()]
    if SYSTEM not in draws.dims:
        return ["annotators"]
    return [f"{name}, {scope}" for scope in SCOPES for name in draws[SYSTEM].to_numpy()]


def _fit(
    annotations: xr.Dataset, candidate: Candidate, run: Run, rng: np.random.Generator
) -> xr.DataTree:
    """Fit one candidate."""
    with fitting.all_or_nothing():
        fit: xr.DataTree = models.get(candidate.model).module.fit(
            annotations, predictions=run.plan.predictions, draws=run.thin * run.draws,
            tune=_WARM_UP, chains=run.settings.chains, random_seed=rng, progressbar=False,
            keep_items=False, log_likelihood=len(run.plan.candidates) > 1,
            on_missing=run.settings.on_missing, truth=run.plan.truth,
            error_correlation=run.plan.error_correlation, **candidate.settings,
        )  # fmt: skip
    return fit


def _draws_of(fit: xr.DataTree, annotations: xr.Dataset, run: Run) -> xr.Dataset:
    """Return draws of accuracies of annotators and systems, and posterior means of true labels.

    - ``annotator_accuracy`` (chain, draw[, annotator]), ``majority_correct`` and
      ``error_correlation`` (chain, draw); ``truth_mean`` (item, label).
    - ``estimated_accuracy`` (chain, draw, scope, system): for these items, and for new items;
      with a positive label also ``estimated_sensitivity`` and ``estimated_specificity``.
    - ``above_annotators`` (system): P(accuracy on new items exceeds the annotators' mean accuracy).
    - ``known_items`` (system): number of items whose truth must be known for an interval of width
      .1; ``n_known`` (system): number of items whose truth is known.
    """
    posterior = _thinned(fit, run.thin)
    people = posterior["annotator_accuracy"].copy(deep=True)
    if ANNOTATOR in people.dims and bool((people == people.isel({ANNOTATOR: 0})).all()):
        people = people.isel({ANNOTATOR: 0}, drop=True)  # all annotators share one accuracy
    higher = {"better": "higher"}
    out = xr.Dataset({
        "annotator_accuracy": people.drop_attrs(deep=False).assign_attrs(higher),
        "majority_correct": xr.DataArray(posterior["majority_correct"], attrs=higher),
        "error_correlation": posterior["error_correlation"].drop_attrs(deep=False),
        "truth_mean": fit["constant_data"]["truth_mean"].drop_attrs(deep=False),
    })  # fmt: skip
    if run.plan.predictions is None:
        return out
    observed = fit["observed_data"].to_dataset()
    answered = observed["system_label_code"] >= 0
    rates = {"accuracy": (posterior["system_correct"], posterior["system_accuracy"])}
    if run.plan.positive is not None:
        # A stream of its own, so that a positive label does not change accuracies.
        rng = generator(run.settings.random_seed, "rates against the truth")
        rates |= true_rates(posterior, observed["system_label_code"], run.plan.positive, rng)
    clustered = "cluster_code" in annotations
    stretch = np.sqrt(design_effect(fit, annotations)) if clustered else None
    index = xr.IndexVariable(SCOPE, list(SCOPES))
    for name, (these_items, new_items) in rates.items():
        if stretch is not None:
            new_items = (these_items + stretch * (new_items - these_items)).clip(0.0, 1.0)
        both = xr.concat([these_items, new_items], dim=index, combine_attrs="drop")
        both = both.transpose(*SAMPLE, SCOPE, SYSTEM)
        out[f"estimated_{name}"] = both.drop_attrs(deep=False).assign_attrs(higher)
    above = out["estimated_accuracy"].sel({SCOPE: SCOPES[1]}, drop=True) > on_average(people)
    out["above_annotators"] = above.mean(list(SAMPLE)).drop_attrs(deep=False)
    variance = posterior["system_doubt"].mean(list(SAMPLE))
    out["known_items"] = _to_know(variance, answered.sum(ITEM))
    known = observed.get("truth_code", xr.DataArray(-1)) >= 0
    out["n_known"] = (answered & known).sum(ITEM).drop_attrs(deep=False)
    return out


def true_rates(
    posterior: xr.Dataset, answers: xr.DataArray, positive: Any, rng: np.random.Generator
) -> dict[str, tuple[xr.DataArray, xr.DataArray]]:
    """Return draws (chain, draw, system) of sensitivity and specificity against the true labels.

    There are two of each: for these items, and for new items, from Beta(1/2, 1/2) and the counts of
    right and wrong answers on these. A rate for these items is NaN if no item counts in some draw.
    Answers that annotators cannot give are wrong.
    """
    code = posterior[LABEL].to_numpy().tolist().index(positive)
    n = (answers >= 0).sum(ITEM)
    out = {}
    for name, label in (("sensitivity", code), ("specificity", 1 - code)):
        of_label = posterior.isel({LABEL: label}, drop=True)
        right = of_label["system_hits"].transpose(*SAMPLE, SYSTEM)
        wrong = of_label["system_prevalence"].transpose(*SAMPLE, SYSTEM) - right
        all_items = right + wrong
        these_items = (right / all_items).where((all_items > 0.0).all(SAMPLE))
        new_items = right.copy(data=rng.beta(*(0.5 + (x * n).clip(0.0) for x in (right, wrong))))
        out[name] = these_items, new_items
    return out


def design_effect(fit: xr.DataTree, annotations: xr.Dataset) -> xr.DataArray:
    r"""Return the factor (system) by which clusters increase the variance of systems' accuracy.

    .. math:: \max\Bigl(1, 1 + \frac{\frac{C}{C - 1} \sum_c (\sum_{i \in c} r_i)^2
        - \sum_i r_i^2}{\sum_i v_i}\Bigr)

    where :math:`p_i` is the probability that the answer to item i is right, :math:`r_i = p_i -
    \bar p`, :math:`v_i = r_i^2 + p_i (1 - p_i)`, and C is the number of clusters. The formula
    estimates the design effect of cluster samples (Kish 1965, *Survey Sampling*, section 5.4). It
    treats uncertainty about true labels as independent between items.
    """
    observed = fit["observed_data"].to_dataset()
    truth = fit["constant_data"].to_dataset()["truth_mean"]
    cluster = clusters_of(annotations, truth)
    assert cluster is not None
    answers = observed["system_label_code"].transpose(ITEM, SYSTEM)
    right = truth.transpose(ITEM, ...).to_numpy()
    out = np.ones(answers.sizes[SYSTEM])
    for system, code in enumerate(answers.to_numpy().T):
        known, own = code >= 0, code < right.shape[1]
        p = np.zeros(len(code))
        p[known & own] = right[known & own, code[known & own]]
        r = np.where(known, p - p[known].mean(), 0.0)
        n = len(np.unique(cluster[known]))
        variance = (r**2 + np.where(known, p * (1.0 - p), 0.0)).sum()
        if n > 1 and variance > 0.0:
            of_cluster = np.bincount(cluster, r)
            excess = n / (n - 1) * (of_cluster**2).sum() - (r**2).sum()
            out[system] = max(1.0, 1.0 + excess / variance)
    return xr.DataArray(out, dims=SYSTEM, coords={SYSTEM: answers[SYSTEM].to_numpy()})


def _to_know(variance: xr.DataArray, n_items: xr.DataArray) -> xr.DataArray:
    """Return how many items' truth (system) must be known for an interval of width `WIDTH`.

    The mean over m of n items estimates the mean over all with variance v (1/m - 1/n), if v is the
    variance of a single answer.
    """
    z = float(stats.norm.ppf(0.5 + PROB / 2))
    needed = 1 / (WIDTH**2 / (4 * z**2 * variance) + 1 / n_items)
    needed = needed.copy(data=np.ceil(needed.to_numpy()))
    return needed.drop_attrs(deep=False).assign_attrs(width=WIDTH, probability=PROB)


def _thinned(fit: xr.DataTree, thin: int) -> xr.Dataset:
    """Keep the last of every ``thin`` draws."""
    posterior = fit["posterior"].to_dataset().isel({DRAW: slice(thin - 1, None, thin)})
    return posterior.assign_coords({DRAW: np.arange(posterior.sizes[DRAW])})


LEAST_DRAWS: Final = 250
"""Minimum number of draws of a chain that are kept."""
FEW_LABELS: Final = 5000
"""Up to this number of annotations, sweeps are quick: twice as many draws are kept, and two are
made for each kept draw."""
_OUTSIDE: Final = "Labels outside the label space"


def draws(groups: Groups, plan: AccuracyPlan, settings: Settings) -> Groups:
    """Fit the models, and return the group ``accuracy``."""
    annotations = groups["annotations"]
    per_chain = settings.draws // settings.chains
    few = annotations.sizes[ANNOTATION] <= FEW_LABELS
    n = max(per_chain // 2, 2 * LEAST_DRAWS) if few else max(per_chain // 4, LEAST_DRAWS)
    section_notes = Notes()
    with section_notes.of(GROUP), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # see warn_of_chains below
        warnings.filterwarnings("ignore", _OUTSIDE, DissensusWarning)  # the metrics warn of them
        fitted = fits(annotations, Run(plan, n, 2 if few else 1, settings))
    attrs: dict[str, Any] = {
        "model": fitted.taken.model, "inference": str(fitted.fit.attrs["inference"]),
        "settings": json.dumps(dict(fitted.taken.settings)),
        "n_known": n_known(annotations, plan.truth),
        "correlation_given": int(plan.error_correlation != LEARNED),
        "near_guessing": float(fitted.fit.attrs["near_guessing"]),
    }  # fmt: skip
    if "estimated_sensitivity" in fitted.draws:
        attrs["positive"] = str(plan.positive)
    out = fitted.draws.merge(of_majority(annotations, plan.predictions, settings.on_missing))
    diagnostics, rough = _diagnosed(out)
    attrs |= diagnostics
    attrs["notes"] = "\n".join([*plan.remarks, *fitted.remarks, *rough, *section_notes.texts()])
    with settings.notes.of(fitted.taken.model):
        warn_of_chains(
            attrs,
            f"The chains of {fitted.taken.model} have not run long enough for some accuracies",
            f"Do not trust their intervals; ask for more draws (draws={16 * n}), or leave them out "
            "(truth_model=None).",
        )
    return {GROUP: out.assign_attrs(attrs)}


def _diagnosed(out: xr.Dataset) -> tuple[dict[str, Any], list[str]]:
    """Return the diagnostics, and a note if only those of single annotators are poor."""
    worst, single = diagnosed(out), settled(out["annotator_accuracy"])
    if not single["n_items_poor"] or worst["n_items_poor"]:
        return worst, []
    return worst, [
        "Intervals of single annotators have few effective draws (minimum "
        f"{single['ess_bulk_min']:.0f}). Increase draws=."
    ]
