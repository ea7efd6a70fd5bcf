"""What an evaluation says of accuracy if every item has one true label, which nobody knows.

Labels go through `models.symmetric_confusion`, or `models.dawid_skene`. What the model assumes of
annotators is checked by replicates, and what speaks against it is said beside the numbers.
"""

from __future__ import annotations

import json
import re
import warnings
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import statistics
from dissensus._accuracy_fits import Run, fits, on_average, settled
from dissensus._accuracy_model import Plan
from dissensus._added_groups import with_added
from dissensus._notes import Notes
from dissensus._observed import Settings
from dissensus._replication.check_assumptions import CHECK, CLEAR, check_assumptions
from dissensus.arrays.seeds import generator
from dissensus.dims import ANNOTATION
from dissensus.errors import ConvergenceWarning, DissensusWarning
from dissensus.statistics.leave_one_out_agreement import by_annotator

LEAST_DRAWS: Final = 250
"""A chain, of which draws of accuracies hardly hang on each other."""
FEW_LABELS: Final = 5000
"""Up to so many a sweep takes no time, and twice as many draws are taken."""
_CELLS: Final = 100_000_000
"""Labels times draws up to which assumptions are checked: replicates of them are held for that."""
_WORK: Final = 10_000_000
"""Labels times draws of a chain to be taken, since draws of difficulty hang together; a few s."""
_REPLICATES: Final = 500
_SHARE: Final = re.compile(r"[\d.]+%")
UNCHECKED: Final = {
    "checked": 0, "checks": "", "n_against": 0, "n_checks": 0,
    "recommendation": "So many labels are not checked against the model's assumptions here: fit "
    "it, and ask dissensus.check_assumptions.",
}  # fmt: skip


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

    return with_added(found, plan, plan.model, made, missing="Accuracies are not estimated")


def accuracy(
    annotations: xr.Dataset, plan: Plan, settings: Settings, chains: int, progressbar: bool,
    notes: Notes,
) -> xr.Dataset:  # fmt: skip
    """Fit, and return the group ``accuracy``."""
    asked = settings.draws // chains
    few = annotations.sizes[ANNOTATION] <= FEW_LABELS
    draws = max(asked // 2, 2 * LEAST_DRAWS) if few else max(asked // 4, LEAST_DRAWS)
    n = annotations.sizes[ANNOTATION]
    thin = min(max(_WORK // (n * draws), 2), 4)
    checked = n * thin * draws * chains <= _CELLS
    run = Run(plan, draws, thin, chains, settings.on_missing)
    own = Notes()
    with own.of(plan.model), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below, of what is shown
        rng = generator(settings.random_seed, "accuracy")
        found = fits(annotations, run, rng, checked=checked, progressbar=progressbar)
    attrs: dict[str, Any] = {
        "model": plan.model, "inference": str(found.people.attrs["inference"]),
        "settings": json.dumps(dict(plan.settings)), "evidence": plan.evidence,
    }  # fmt: skip
    out = found.draws.merge(majority(annotations, found.judged, settings.on_missing))
    attrs |= _checks(found.people) if checked else UNCHECKED
    diagnosed, rough = _diagnosed(out)
    attrs |= diagnosed
    attrs["near_guessing"] = found.near_guessing
    attrs["notes"] = "\n".join([*plan.remarks, *found.remarks, *rough, *_once(own.texts())])
    with notes.of(plan.model):
        _warn_of_chains(plan.model, attrs, 16 * draws)
    return out.assign_attrs(attrs)


def _once(texts: list[str]) -> list[str]:
    """Keep one of those that differ in their shares of draws only, as of each system's fit."""
    return list({_SHARE.sub("", text): text for text in texts}.values())


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


def _checks(fit: xr.DataTree) -> dict[str, Any]:
    """Check the assumptions, and say what speaks against them."""
    found = check_assumptions(fit, draws=_REPLICATES)
    against = found["p_value"].to_numpy() < CLEAR
    lines = found["sentence"].to_numpy()[against].tolist()
    return {
        "checked": 1,
        "checks": "\n".join(str(line) for line in lines),
        "n_against": int(against.sum()),
        "n_checks": int(np.isfinite(found["p_value"]).sum()),
        "against": ", ".join(found[CHECK].to_numpy()[against].tolist()),
        "recommendation": str(found.attrs["recommendation"]),
    }


def _diagnosed(out: xr.Dataset) -> tuple[dict[str, Any], list[str]]:
    """Judge the chains by systems and by annotators on average; note where single ones are poor."""
    people = out["annotator_accuracy"]
    each = [settled(on_average(people))]
    if "estimated_accuracy" in out:
        each.append(settled(out["estimated_accuracy"]))
    worst = dict(min(each, key=lambda one: float(one["ess_bulk_min"])))
    if "r_hat_max" in worst:
        worst["r_hat_max"] = max(one["r_hat_max"] for one in each)
    for name in ("r_hat_max_item", "ess_bulk_median"):
        worst.pop(name, None)
    worst["n_items_poor"] = max(one["n_items_poor"] for one in each)
    single = settled(people)
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
        "(truth=None).",
        ConvergenceWarning,
        stacklevel=3,
    )
