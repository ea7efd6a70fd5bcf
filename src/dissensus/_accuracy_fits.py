"""Fits of one true label: of the annotators, and of each system beside them."""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import convergence, fitting, models, statistics
from dissensus._accuracy_model import Plan
from dissensus._wording import listed, short
from dissensus.dims import ANNOTATOR, DRAW, LABEL, SAMPLE, SCOPE, SCOPES, SYSTEM
from dissensus.errors import (
    AnnotationError,
    ConvergenceWarning,
    DissensusWarning,
)

MOST_SYSTEMS: Final = 20
"""Systems that are judged, each in a fit of its own, unless the model is asked for by name."""
LEAST_EFFECTIVE: Final = 50.0
"""Effective draws that an accuracy has at least, to be shown."""
MOST_R_HAT: Final = 1.1
_WARM_UP: Final = 300


class Run(NamedTuple):
    """What is fitted, and how long."""

    plan: Plan
    draws: int
    """Of a chain, that are kept."""
    thin: int
    """Draws of annotators taken for each that is kept."""
    chains: int
    on_missing: str


class Fitted(NamedTuple):
    """What came of it."""

    draws: xr.Dataset
    """Accuracies and, as means over draws, ``truth_mean``."""
    people: xr.DataTree
    """The fit of the annotators."""
    judged: xr.Dataset | None
    """Predictions of the systems that were judged."""
    remarks: list[str]
    near_guessing: float = 0.0
    """The largest share of draws of a fit in which annotators may as well guess."""


def fits(
    annotations: xr.Dataset, run: Run, rng: np.random.Generator, *, checked: bool,
    progressbar: bool,
) -> Fitted:  # fmt: skip
    """Fit the annotators alone, then each system beside them.

    Were all systems in one fit, those that err alike would outvote the annotators: of six language
    models and two annotators an item, the truth would be what the language models say.

    Returns
    -------
    Fitted
        With ``estimated_accuracy`` (chain, draw, scope, system), where there are systems: the share
        of these items that a system got right, and how often it is right on items like these;
        ``above_annotators`` (system): the probability that this is more often than annotators are
        on average; ``annotator_accuracy`` (chain, draw) or (chain, draw, annotator);
        ``difficulty_spread`` (chain, draw), where items differ; ``truth_mean`` (item, label), by
        the annotators alone.
    """
    systems, remarks = _systems(annotations, run)
    found, judged, refused = [], [], dict[str, list[str]]()
    people = _fit(annotations, None, run, rng, thin=run.thin, posterior_predictive=checked)
    out = _of_annotators(people, run.thin)
    near = float(people.attrs["near_guessing"])
    _require_settled(on_average(out["annotator_accuracy"]), run)
    # Judging by annotators alone takes ten times as long, and draws then hardly hang together.
    options = {"evidence": run.plan.evidence}
    thin = max(run.thin // 2, 1) if run.plan.evidence == "all" else 1
    for one in fitting.tracked(systems, "Estimating accuracies", progressbar):
        name = one[SYSTEM].to_numpy()[0]
        try:
            fit = _fit(annotations, one, run, rng, thin=thin, **options)
            draws = _of_system(fit, thin)
            _require_settled(draws["estimated_accuracy"], run)
        except AnnotationError as problem:
            if run.plan.asked:
                raise
            refused.setdefault(str(problem).removesuffix("."), []).append(short(name))
        else:
            found.append(draws)
            judged.append(name)
            near = max(near, float(fit.attrs["near_guessing"]))
    for why, names in refused.items():
        have = "has" if len(names) == 1 else "have"
        remarks.append(f"{listed(names)} {have} no estimated accuracy: {why}.")
    if not found:
        return Fitted(out, people, None, remarks, near)
    out = out.merge(xr.concat(found, dim=SYSTEM, combine_attrs="drop"), join="exact")
    kept = run.plan.predictions.sel({SYSTEM: judged}) if run.plan.predictions is not None else None
    return Fitted(out, people, kept, remarks, near)


def _systems(annotations: xr.Dataset, run: Run) -> tuple[list[xr.Dataset], list[str]]:
    """Return systems apart: all of them, or those that agree best with the majority vote."""
    predictions = run.plan.predictions
    if predictions is None:
        return [], []
    n = predictions.sizes[SYSTEM]
    if n <= MOST_SYSTEMS or run.plan.asked:
        return _one_by_one(predictions), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)  # of labels out of place, said elsewhere
        vote = statistics.get("majority_vote_accuracy").function(
            annotations, predictions, on_missing=run.on_missing
        )
    best = np.sort(np.argsort(-vote.to_numpy(), kind="stable")[:MOST_SYSTEMS])
    remark = (
        f"Accuracy is estimated of the {MOST_SYSTEMS} of {n:,} systems that agree best with the "
        "majority vote; of all where the model is named (truth=)."
    )
    return _one_by_one(predictions.isel({SYSTEM: best})), [remark]


def _require_settled(draws: xr.DataArray, run: Run) -> None:
    """Raise if chains have found different answers, unless the model was asked for by name.

    Labels of few items, or of annotators who hardly agree, can be explained in several ways: by
    good annotators of hard items, and by bad ones.
    """
    found = settled(draws)
    if found["n_items_poor"] and not run.plan.asked:
        r_hat = f", r-hat up to {found['r_hat_max']:.2f}" if "r_hat_max" in found else ""
        raise AnnotationError(
            "annotations", expected="chains that agree on how accurate anybody is",
            found=f"different answers, so that there may be too few labels to tell, or too much "
            f"disagreement: as few as {found['ess_bulk_min']:.0f} effective draws{r_hat}",
            hint=f'More draws may do; truth="{run.plan.model}" shows them all the same',
        )  # fmt: skip


def on_average(people: xr.DataArray) -> xr.DataArray:
    """Return the draws of annotators' mean accuracy."""
    return people.mean(ANNOTATOR) if ANNOTATOR in people.dims else people


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


def _one_by_one(predictions: xr.Dataset) -> list[xr.Dataset]:
    """Part the systems, each with the labels that it gave: those of others are not its affair."""
    out = []
    names = predictions[LABEL].to_numpy()
    for place in range(predictions.sizes[SYSTEM]):
        one = predictions.isel({SYSTEM: [place]})
        code = one["label_code"].to_numpy()
        used = np.unique(code[code >= 0])
        again = np.searchsorted(used, code)
        label = one["label_code"].copy(data=np.where(code >= 0, again, -1))
        one = one.drop_dims(LABEL).assign(label_code=label)
        out.append(one.assign_coords({LABEL: names[used]}))
    return out


def _fit(
    annotations: xr.Dataset, predictions: xr.Dataset | None, run: Run, rng: np.random.Generator,
    *, thin: int, **options: Any,
) -> xr.DataTree:  # fmt: skip
    """Fit the model, with so many draws for each that is kept."""
    with fitting.all_or_nothing():
        fit: xr.DataTree = models.get(run.plan.model).module.fit(
            annotations, predictions=predictions, draws=thin * run.draws, tune=_WARM_UP,
            chains=run.chains, random_seed=rng, progressbar=False, keep_items=False,
            on_missing=run.on_missing, **run.plan.settings, **options,
        )  # fmt: skip
    return fit


def _of_system(fit: xr.DataTree, thin: int) -> xr.Dataset:
    """Return the draws of one system, of both scopes."""
    posterior = _thinned(fit, thin)
    both = [posterior[name] for name in ("system_correct", "system_accuracy")]
    index = xr.IndexVariable(SCOPE, list(SCOPES))
    found = xr.concat(both, dim=index, combine_attrs="drop").transpose(*SAMPLE, SCOPE, SYSTEM)
    people = on_average(posterior["annotator_accuracy"])
    above = (posterior["system_accuracy"] > people).mean(list(SAMPLE))
    estimated = found.drop_attrs().assign_attrs(better="higher")
    return xr.Dataset({"estimated_accuracy": estimated, "above_annotators": above.drop_attrs()})


def _of_annotators(fit: xr.DataTree, thin: int) -> xr.Dataset:
    """Return the draws of annotators and, if they are drawn, of how much items differ.

    With them the mean truth of items.
    """
    posterior = _thinned(fit, thin)
    people = posterior["annotator_accuracy"].copy(deep=True)
    if ANNOTATOR in people.dims and bool((people == people.isel({ANNOTATOR: 0})).all()):
        people = people.isel({ANNOTATOR: 0}, drop=True)  # one for all, under many names
    truth = fit["constant_data"]["truth_mean"].drop_attrs()
    people = people.drop_attrs().assign_attrs(better="higher")
    out = xr.Dataset({"annotator_accuracy": people, "truth_mean": truth})
    if "difficulty_spread" in posterior:
        out["difficulty_spread"] = posterior["difficulty_spread"].copy(deep=True).drop_attrs()
    return out


def _thinned(fit: xr.DataTree, thin: int) -> xr.Dataset:
    """Keep every so manieth draw, the last one of each lot."""
    posterior = fit["posterior"].to_dataset().isel({DRAW: slice(thin - 1, None, thin)})
    return posterior.assign_coords({DRAW: np.arange(posterior.sizes[DRAW])})
