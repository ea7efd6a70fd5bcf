"""Fits of one true label: of models that could be, and the one that predicts the labels best."""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from dissensus import models
from dissensus._accuracy_model import Candidate, Plan
from dissensus._wording import listed
from dissensus.dims import ANNOTATOR, DRAW, ITEM, SAMPLE, SCOPE, SCOPES, SYSTEM
from dissensus.errors import AnnotationError, ConvergenceWarning
from dissensus.sampling import convergence, fitting

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
