"""What an evaluation says of accuracy if every item has one true label, which nobody knows.

Labels go through `models.dawid_skene` and `models.symmetric_confusion`, with errors of an item's
annotators correlated; the one that predicts labels better is taken.
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

from dissensus import arguments, models, statistics
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
from dissensus.evaluation.notes import Notes
from dissensus.evaluation.observed import Settings, are_classes, first_labels
from dissensus.evaluation.section import Planned, with_added
from dissensus.families.latent_truth.design import ENOUGH
from dissensus.families.latent_truth.errors import LEARNED, checked_errors
from dissensus.kernels.random import generator
from dissensus.sampling import convergence, fitting
from dissensus.statistics._leave_one_out_agreement import by_annotator
from dissensus.wording import counted, listed

# Which model of one true label an evaluation fits, if any, settled before anything is fitted.


AUTO: Final = "auto"
MODELS: Final = ("dawid_skene", "symmetric_confusion")
FEWEST: Final = 5
"""Items with two annotators: of fewer the prior would speak, not the items."""
MOST_LABELS: Final = 30
"""Of more labels few are ever given twice, and hardly anybody is seen to agree."""
NOBODY_TWICE: Final = "no item has two annotators"
_NO_ONE_LABEL: Final = {"ranking": "rankings do not name one label",
                        "continuous": "numbers are not right or wrong"}  # fmt: skip


class Candidate(NamedTuple):
    """A model that could be, with its settings."""

    model: str
    settings: Mapping[str, Any]
    in_words: str


@dataclass(frozen=True)
class Plan(Planned):
    """What is to be fitted, or why nothing is."""

    candidates: tuple[Candidate, ...] = ()
    """The first is taken, unless another one predicts labels better."""
    error_correlation: Any = LEARNED
    truth: Any = None
    """Labels known to be true, of some items."""
    n_known: int = 0
    predictions: xr.Dataset | None = None
    """One label from each system and item; None where systems gave none."""


def planned(
    annotations: xr.Dataset,
    predictions: xr.Dataset | None,
    truth_model: str | None,
    threshold: float | None,
    truth: Any = None,
    error_correlation: Any = LEARNED,
) -> Plan:
    """Settle what is fitted, before anything is.

    Raises
    ------
    ArgumentError
        If there is no such model, or it was named and cannot be fitted to such annotations, or
        labels are known that these items cannot have.
    """
    arguments.one_of("truth_model", truth_model, (AUTO, *MODELS, None))
    if truth is not None and truth_model is None:
        raise ArgumentError(
            "truth", expected="None with truth_model=None, which leaves accuracies out",
            found=brief(truth),
        )  # fmt: skip
    checked_errors(error_correlation, above=0.0)
    if truth_model is None:
        return Plan(why_not="not asked for")
    asked = truth_model != AUTO
    why_not, told = _reason(annotations, threshold, asked)
    known = 0
    if truth is not None and not no_one_label(annotations, threshold, alone=True):
        known = int((known_codes(annotations, truth) >= 0).sum())
        if known >= FEWEST and why_not in (NOBODY_TWICE, too_few(annotations)):
            why_not, told = "", False
    if why_not and truth is not None:
        few = f", or the truth of {FEWEST} items or more" if 0 < known < FEWEST else ""
        raise ArgumentError(
            "truth", expected=f"None: {why_not}{few}", found=brief(truth),
            hint="" if no_one_label(annotations, threshold, alone=True)
            else f"truth_model={MODELS[1]!r} takes them all the same",
        )  # fmt: skip
    if why_not and asked:
        raise ArgumentError(
            "truth_model", expected=f"None or {AUTO!r}: {why_not}", found=repr(truth_model)
        )
    if why_not:
        return Plan(why_not=why_not, told=told)
    systems, why = one_label_each(annotations, predictions)
    remarks = [f"Systems have no estimated accuracy: {why}."] if why else []
    anonymous = int(voices_per(annotations, ANNOTATOR).max()) < 2
    if anonymous:
        remarks.append(
            "No annotator labelled two items, so that one accuracy stands for all of them."
        )
    if "cluster_code" in annotations:
        remarks.append(
            "Estimated accuracies take the items of a cluster to be independent: their intervals "
            "may be too narrow."
        )
    able = annotations.sizes[ANNOTATION] >= ENOUGH * annotations.sizes[LABEL]
    could_be = _candidates(annotations, systems, anonymous)
    taken = [one for one in could_be if (one.model == truth_model if asked else True)]
    return Plan(
        tuple(taken if able or asked else taken[1:]), asked=asked, predictions=systems,
        truth=truth, n_known=known,
        error_correlation=error_correlation, remarks=tuple(remarks),
    )  # fmt: skip


def _reason(annotations: xr.Dataset, threshold: float | None, asked: bool) -> tuple[str, bool]:
    """Say why there is nothing to fit, and whether a reader would want to know."""
    why_not = no_one_label(annotations, threshold)
    if why_not or asked:
        return why_not, False
    n_labels = annotations.sizes[LABEL]
    if n_labels > MOST_LABELS:
        return f"there are {n_labels:,} labels, more than {MOST_LABELS}", True
    why_not = too_few(annotations)
    return why_not, bool(why_not)


def no_one_label(annotations: xr.Dataset, threshold: float | None, *, alone: bool = False) -> str:
    """Say why no label can be right or wrong, or nobody can be seen to agree; else nothing.

    With ``alone`` an annotator may be the only one of each item.
    """
    kind = annotations.attrs["kind"]
    if kind in _NO_ONE_LABEL:
        return _NO_ONE_LABEL[kind]
    if threshold is not None:
        return "labels that are cut at a threshold are numbers"
    if annotations.sizes[LABEL] < 2:
        return "there is one label only"
    return "" if alone or int(voices_per(annotations, ITEM).max()) > 1 else NOBODY_TWICE


def too_few(annotations: xr.Dataset) -> str:
    """Say if there are too few items with two annotators; else nothing."""
    several = int((voices_per(annotations, ITEM) > 1).sum())
    if several >= FEWEST:
        return ""
    who = "item has" if several == 1 else "items have"
    return f"only {several} {who} two annotators, and that needs {FEWEST}"


def _candidates(
    annotations: xr.Dataset, predictions: xr.Dataset | None, anonymous: bool
) -> tuple[Candidate, Candidate]:
    """Return models whose parameters labels can tell: of annotators one by one, if they can."""
    ordered = annotations.attrs["kind"] == "ordinal" and not are_classes(annotations, predictions)
    who = "all annotators" if anonymous else "each annotator"
    return (
        Candidate(
            "dawid_skene", {"pooling": "complete" if anonymous else "none"},
            f"a confusion matrix for {who}",
        ),
        Candidate(
            "symmetric_confusion",
            {"accuracy": "common" if anonymous else "annotator",
             "errors": "graded" if ordered else "equal"},
            f"an accuracy for {who}",
        ),
    )  # fmt: skip


def one_label_each(
    annotations: xr.Dataset, predictions: xr.Dataset | None
) -> tuple[xr.Dataset | None, str]:
    """Return the one label that each system gave, or say why it has none."""
    if predictions is None:
        return None, ""
    firsts = first_labels(annotations, predictions)
    if "label_code" not in firsts:
        return None, "they gave numbers, not labels"
    if firsts.sizes[POSITION] != 1:
        tied = int((firsts["block"] == 1).sum(POSITION).max())
        return None, f"they gave lists with up to {counted(tied, 'label')} tied in first place"
    return firsts, ""


# Fits of one true label: of models that could be, and the one that predicts the labels best.


LEAST_EFFECTIVE: Final = 50.0
"""Effective draws that an accuracy has at least, to be shown."""
MOST_R_HAT: Final = 1.1
WIDTH, PROB = 0.1, 0.89
"""Of an interval that a reader may want of a system's accuracy."""
_WARM_UP: Final = 300
_COMPARED: Final = 1000
"""Items that models are compared by: of more the same comes out, and takes longer."""


class Run(NamedTuple):
    """What is fitted, and how long."""

    plan: Plan
    draws: int
    """Of a chain, that are kept."""
    thin: int
    """Draws taken for each that is kept."""
    chains: int
    on_missing: str


class Fitted(NamedTuple):
    """What came of it."""

    draws: xr.Dataset
    """Accuracies and, as means over draws, ``truth_mean``."""
    fit: xr.DataTree
    taken: Candidate
    remarks: list[str]


def fits(
    annotations: xr.Dataset, run: Run, rng: np.random.Generator, *, progressbar: bool
) -> Fitted:
    """Fit what could be the model, and take the one that predicts labels best.

    All systems are judged in one fit, and none is evidence of the truth: else those that err alike
    would outvote the annotators.

    Returns
    -------
    Fitted
        With ``estimated_accuracy`` (chain, draw, scope, system), where there are systems: the share
        of these items that a system got right, and how often it is right on items like these;
        ``above_annotators`` (system): the probability that this is more often than annotators are
        on average; ``known_items`` (system): of how many items the truth would have to be known
        for an interval of .1, ``n_known`` (system): of how many it is; ``annotator_accuracy``
        (chain, draw) or (chain, draw, annotator), how often they are right; ``majority_correct``
        (chain, draw), the share of items on which the label that most annotators gave is;
        ``error_correlation`` (chain, draw); ``truth_mean`` (item, label).
    """
    done: list[tuple[Candidate, xr.DataTree, xr.Dataset]] = []
    problems: list[tuple[Candidate, AnnotationError]] = []
    for one in fitting.tracked(list(run.plan.candidates), "Estimating accuracies", progressbar):
        fit = _fit(annotations, one, run, rng)
        draws = _draws_of(fit, run.plan.predictions, run.thin)
        try:
            _require_settled(draws, run, one)
        except AnnotationError as problem:
            problems.append((one, problem))
        else:
            done.append((one, fit, draws))
    if not done:
        raise problems[0][1]
    best, remarks = _best(done)
    remarks += [f"Left out: {one.in_words}. {problem}" for one, problem in problems]
    taken, fit, draws = done[best]
    return Fitted(draws, fit, taken, remarks)


def _best(done: list[tuple[Candidate, xr.DataTree, xr.Dataset]]) -> tuple[int, list[str]]:
    """Choose by leave-one-out prediction; the first, unless another one is clearly better."""
    if len(done) < 2:
        return 0, []
    elpd = [_pointwise(fit) for _, fit, _ in done]
    gaps = [one - elpd[0] for one in elpd]
    total = [float(gap.sum()) for gap in gaps]
    error = [float(gap.std(ddof=1) * np.sqrt(len(gap))) for gap in gaps]
    best = max(range(len(done)), key=lambda k: total[k] if total[k] > 2 * error[k] else -(k > 0))
    rest = listed([done[k][0].in_words for k in range(len(done)) if k != best])
    worst = max((k for k in range(len(done)) if k != best), key=total.__getitem__)
    lead, about = total[best] - total[worst], max(error[best], error[worst])
    better = "better than" if lead > 2 * about else "as well as"
    return best, [
        f"Of two models that could be, {done[best][0].in_words} predicts labels {better} "
        f"{rest} (expected log density of items left out {lead:+.0f}, standard error {about:.0f}), "
        "and was taken."
    ]


def _pointwise(fit: xr.DataTree) -> Any:
    """Return what each item contributes to the expected log density of items left out."""
    import arviz as az

    found = fit["log_likelihood"].to_dataset()
    n = found.sizes[ITEM]
    if n > _COMPARED:
        places = np.linspace(0, n - 1, _COMPARED).round().astype(int)
        found = found.isel({ITEM: places})
    tree = xr.DataTree.from_dict({"log_likelihood": found, "posterior": fit["posterior"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Pareto k: a few items seldom change the order
        return az.loo(tree, var_name="labels", pointwise=True).elpd_i.to_numpy()


def _require_settled(draws: xr.Dataset, run: Run, one: Candidate) -> None:
    """Raise if chains have found different answers, unless the model was asked for by name.

    Labels of few items, or of annotators who hardly agree, can be explained in several ways: by
    good annotators of hard items, and by bad ones.
    """
    found = diagnosed(draws)
    if found["n_items_poor"] and not run.plan.asked:
        r_hat = f", r-hat up to {found['r_hat_max']:.2f}" if "r_hat_max" in found else ""
        raise AnnotationError(
            "annotations", expected="chains that agree on how accurate anybody is",
            found=f"different answers, so that there may be too few labels to tell, or too much "
            f"disagreement: as few as {found['ess_bulk_min']:.0f} effective draws{r_hat}",
            hint=f'More draws may do; truth_model="{one.model}" shows them all the same',
        )  # fmt: skip


def on_average(people: xr.DataArray) -> xr.DataArray:
    """Return the draws of annotators' mean accuracy."""
    return people.mean(ANNOTATOR) if ANNOTATOR in people.dims else people


def diagnosed(draws: xr.Dataset) -> dict[str, Any]:
    """Judge the chains by systems, and by annotators on average: the worst that is to be said."""
    each = [settled(on_average(draws["annotator_accuracy"]))]
    if "estimated_accuracy" in draws:
        each.append(settled(draws["estimated_accuracy"]))
    worst = dict(min(each, key=lambda one: float(one["ess_bulk_min"])))
    if "r_hat_max" in worst:
        worst["r_hat_max"] = max(one["r_hat_max"] for one in each)
    for name in ("r_hat_max_item", "ess_bulk_median"):
        worst.pop(name, None)
    worst["n_items_poor"] = max(one["n_items_poor"] for one in each)
    return worst


def settled(draws: xr.DataArray) -> dict[str, Any]:
    """Say how well chains agree on accuracies; those below what is shown at all are poor."""
    flat = draws.to_numpy().reshape(*(draws.sizes[dim] for dim in SAMPLE), -1)
    names = _names(draws)
    whole = xr.DataArray(flat, dims=(*SAMPLE, "accuracy"), coords={"accuracy": names})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said of all together
        found = convergence.diagnosed(whole, "accuracy")
    few = found["ess_bulk_min"] < LEAST_EFFECTIVE
    broken = found["n_items_undefined"] or found["n_items_stuck"]
    found["n_items_poor"] = int(few or found.get("r_hat_max", 1.0) > MOST_R_HAT or bool(broken))
    return found


def _names(draws: xr.DataArray) -> list[str]:
    if ANNOTATOR in draws.dims:
        return [f"annotator {name}" for name in draws[ANNOTATOR].to_numpy()]
    if SYSTEM not in draws.dims:
        return ["annotators"]
    return [f"{name}, {scope}" for scope in SCOPES for name in draws[SYSTEM].to_numpy()]


def _fit(
    annotations: xr.Dataset, one: Candidate, run: Run, rng: np.random.Generator
) -> xr.DataTree:
    """Fit a model, with so many draws for each that is kept."""
    with fitting.all_or_nothing():
        fit: xr.DataTree = models.get(one.model).module.fit(
            annotations, predictions=run.plan.predictions, draws=run.thin * run.draws,
            tune=_WARM_UP, chains=run.chains, random_seed=rng, progressbar=False, keep_items=False,
            log_likelihood=len(run.plan.candidates) > 1, on_missing=run.on_missing,
            truth=run.plan.truth, error_correlation=run.plan.error_correlation, **one.settings,
        )  # fmt: skip
    return fit


def _draws_of(fit: xr.DataTree, predictions: xr.Dataset | None, thin: int) -> xr.Dataset:
    """Return the draws of annotators and systems, and the mean truth of items."""
    posterior = _thinned(fit, thin)
    people = posterior["annotator_accuracy"].copy(deep=True)
    if ANNOTATOR in people.dims and bool((people == people.isel({ANNOTATOR: 0})).all()):
        people = people.isel({ANNOTATOR: 0}, drop=True)  # one for all, under many names
    higher = {"better": "higher"}
    out = xr.Dataset({
        "annotator_accuracy": people.drop_attrs().assign_attrs(higher),
        "majority_correct": posterior["majority_correct"].drop_attrs().assign_attrs(higher),
        "error_correlation": posterior["error_correlation"].drop_attrs(),
        "truth_mean": fit["constant_data"]["truth_mean"].drop_attrs(),
    })  # fmt: skip
    if predictions is None:
        return out
    both = [posterior[name] for name in ("system_correct", "system_accuracy")]
    index = xr.IndexVariable(SCOPE, list(SCOPES))
    found = xr.concat(both, dim=index, combine_attrs="drop").transpose(*SAMPLE, SCOPE, SYSTEM)
    above = (posterior["system_accuracy"] > on_average(people)).mean(list(SAMPLE))
    out["estimated_accuracy"] = found.drop_attrs().assign_attrs(higher)
    out["above_annotators"] = above.drop_attrs()
    observed = fit["observed_data"].to_dataset()
    said = observed["system_label_code"] >= 0
    out["known_items"] = _to_know(posterior["system_doubt"].mean(list(SAMPLE)), said.sum(ITEM))
    known = observed.get("truth_code", xr.DataArray(-1)) >= 0
    out["n_known"] = (said & known).sum(ITEM).drop_attrs()
    return out


def _to_know(doubt: xr.DataArray, n_items: xr.DataArray) -> xr.DataArray:
    """Say of how many items the truth has to be known for an interval of the width wanted.

    The difference of m such items from what was expected of them has the variance v / m, of a
    sample of all n items v (1/m - 1/n), with the doubt v of single answers.
    """
    z = float(stats.norm.ppf(0.5 + PROB / 2))
    needed = 1 / (WIDTH**2 / (4 * z**2 * doubt) + 1 / n_items)
    needed = needed.copy(data=np.ceil(needed.to_numpy()))
    return needed.drop_attrs().assign_attrs(width=WIDTH, probability=PROB)


def _thinned(fit: xr.DataTree, thin: int) -> xr.Dataset:
    """Keep every so manieth draw, the last one of each lot."""
    posterior = fit["posterior"].to_dataset().isel({DRAW: slice(thin - 1, None, thin)})
    return posterior.assign_coords({DRAW: np.arange(posterior.sizes[DRAW])})


LEAST_DRAWS: Final = 250
"""A chain, of which draws of accuracies hardly hang on each other."""
FEW_LABELS: Final = 5000
"""Up to so many a sweep takes no time, and twice as many draws are taken."""
_OUTSIDE: Final = "Labels outside the label space"


def with_accuracy(
    found: dict[str, xr.Dataset], plan: Plan, settings: Settings, chains: int, progressbar: bool,
    notes: Notes,
) -> tuple[dict[str, xr.Dataset], str]:  # fmt: skip
    """Add to the groups of an evaluation what it says of accuracy, or why nothing.

    Returned with the groups: the model, or the reason, in words.
    """

    def made() -> dict[str, xr.Dataset]:
        ann = found["annotations"]
        return {"accuracy": accuracy(ann, plan, settings, chains, progressbar, notes)}

    name = ", ".join(one.model for one in plan.candidates)
    found, words = with_added(found, plan, name, made, missing="Accuracies are not estimated")
    return found, str(found["accuracy"].attrs["model"]) if "accuracy" in found else words


def accuracy(
    annotations: xr.Dataset, plan: Plan, settings: Settings, chains: int, progressbar: bool,
    notes: Notes,
) -> xr.Dataset:  # fmt: skip
    """Fit, and return the group ``accuracy``."""
    asked = settings.draws // chains
    few = annotations.sizes[ANNOTATION] <= FEW_LABELS
    draws = max(asked // 2, 2 * LEAST_DRAWS) if few else max(asked // 4, LEAST_DRAWS)
    run = Run(plan, draws, 2 if few else 1, chains, settings.on_missing)
    own = Notes()
    with own.of("accuracy"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below, of what is shown
        warnings.filterwarnings("ignore", _OUTSIDE, DissensusWarning)  # said of all metrics
        rng = generator(settings.random_seed, "accuracy")
        found = fits(annotations, run, rng, progressbar=progressbar)
    attrs: dict[str, Any] = {
        "model": found.taken.model, "inference": str(found.fit.attrs["inference"]),
        "settings": json.dumps(dict(found.taken.settings)), "n_known": plan.n_known,
        "correlation_given": int(plan.error_correlation != LEARNED),
        "near_guessing": float(found.fit.attrs["near_guessing"]),
    }  # fmt: skip
    out = found.draws.merge(majority(annotations, plan.predictions, settings.on_missing))
    diagnosed, rough = _diagnosed(out)
    attrs |= diagnosed
    attrs["notes"] = "\n".join([*plan.remarks, *found.remarks, *rough, *own.texts()])
    with notes.of(found.taken.model):
        _warn_of_chains(found.taken.model, attrs, 16 * draws)
    return out.assign_attrs(attrs)


def majority(
    annotations: xr.Dataset, predictions: xr.Dataset | None, on_missing: str = "raise"
) -> xr.Dataset:
    """Return how often systems, and annotators, give the label that most (other) annotators give.

    Ties count 1/n: ``majority_accuracy`` (system) and ``annotator_majority`` (annotator), NaN for
    annotators who share no item with anybody.
    """
    out = xr.Dataset({"annotator_majority": by_annotator(annotations)})
    if predictions is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DissensusWarning)  # of items left out, said before
            out["majority_accuracy"] = (
                statistics.get("majority_vote_accuracy")
                .function(annotations, predictions, on_missing=on_missing)
                .drop_attrs()
            )
    return out


def _diagnosed(out: xr.Dataset) -> tuple[dict[str, Any], list[str]]:
    """Judge the chains by systems and by annotators on average; note where single ones are poor."""
    worst, single = diagnosed(out), settled(out["annotator_accuracy"])
    if not single["n_items_poor"] or worst["n_items_poor"]:
        return worst, []
    return worst, [
        "Intervals of single annotators are rough: as few as "
        f"{single['ess_bulk_min']:.0f} effective draws. More draws (draws=) make them finer."
    ]


def _warn_of_chains(model: str, attrs: dict[str, Any], better: int) -> None:
    if not attrs.get("n_items_poor", 0):
        return
    r_hat = f", r-hat up to {attrs['r_hat_max']:.2f}" if "r_hat_max" in attrs else ""
    warnings.warn(
        f"The chains of {model} have not run long enough for some accuracies: as few as "
        f"{attrs['ess_bulk_min']:.0f} effective draws ({attrs['ess_bulk_min_item']}){r_hat}. Do "
        f"not trust their intervals; ask for more draws (draws={better}), or leave them out "
        "(truth_model=None).",
        ConvergenceWarning,
        stacklevel=3,
    )
