"""What an evaluation says of accuracy if every item has one true label, which nobody knows.

Labels go through `models.dawid_skene` and `models.symmetric_confusion`, with errors of an item's
annotators correlated; the one that predicts labels better is taken.
"""

from __future__ import annotations

import json
import warnings
from typing import Any, Final

import xarray as xr

from dissensus import statistics
from dissensus._accuracy_fits import Run, diagnosed, fits, settled
from dissensus._accuracy_model import Plan
from dissensus._added_groups import with_added
from dissensus._notes import Notes
from dissensus._observed import Settings
from dissensus.dims import ANNOTATION
from dissensus.errors import ConvergenceWarning, DissensusWarning
from dissensus.families.latent_truth.errors import LEARNED
from dissensus.kernels.random import generator
from dissensus.statistics.leave_one_out_agreement import by_annotator

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
