"""Traces of `pymc.sample` on a model of a latent truth, laid out as its ``fit`` lays out draws.

A trace has no attributes: its variables tell the model and its settings, and its data tell which
labels are annotators' and which are systems'.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.checks._replicates import OBSERVED, PREDICTIVE
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, SYSTEM
from dissensus.kernels.types import Ints
from dissensus.statistics._accuracies import NAME, accuracy_of_abilities

CONSTANT: Final = "constant_data"
NAMELESS: Final = "annotators_unknown"
"""Attribute of a trace whose annotators have one accuracy: it does not say who gave which label."""
_PLACES: Final = (ITEM, "place")


def as_fit(given: Any) -> Any:
    """Return a trace of a latent truth model in the layout of a fit, and all else as it is."""
    if not isinstance(given, xr.DataTree) or "model" in given.attrs:
        return given
    groups = {name: given[name].to_dataset() for name in given.children}
    posterior, constant = groups.get("posterior"), groups.get(CONSTANT)
    if posterior is None or constant is None or "truth" not in posterior:
        return given
    settings = _settings(posterior)
    if not settings or not {"respondent_code", "label_code"} <= set(constant):
        return given
    if settings["model"] == "rasch":
        posterior = posterior.assign({NAME: accuracy_of_abilities(posterior, constant)})
    who = constant["respondent_code"].transpose(*_PLACES).to_numpy()
    is_one = {"common", "complete"} & set(settings.values())  # all annotators are one respondent
    n_people = 1 if is_one else posterior.sizes[ANNOTATOR]
    item, place = np.nonzero((who >= 0) & (who < n_people))
    annotator, people = who[item, place], posterior.coords.get(ANNOTATOR)
    if is_one:
        annotator = people = np.arange(len(item))
        settings[NAMELESS] = 1
    names = {dim: posterior[dim].to_numpy() for dim in (ITEM, LABEL)}
    laid = {
        "posterior": posterior,
        CONSTANT: xr.Dataset(
            {"item_code": (ANNOTATION, item), "annotator_code": (ANNOTATION, annotator)},
            coords={**names, ANNOTATOR: np.asarray(people)},
        ),
    }  # fmt: skip
    n_levels = posterior.sizes.get("level", 1)  # confidences are counted together with labels
    labels = {OBSERVED: constant["label_code"]}
    if PREDICTIVE in groups and "labels" in groups[PREDICTIVE]:
        labels[PREDICTIVE] = groups[PREDICTIVE]["labels"]
    for group, values in labels.items():
        laid[group] = _by_respondent(values // n_levels, who, n_people, posterior.get(SYSTEM))
    fit = xr.DataTree.from_dict(laid)
    fit.attrs = settings
    return fit


def _by_respondent(
    labels: xr.DataArray, who: Ints, n_people: int, systems: xr.DataArray | None
) -> xr.Dataset:
    """Return labels (item, place) as annotators' (annotation) and systems' (item, system)."""
    sample = [dim for dim in labels.dims if dim not in _PLACES]
    values = labels.transpose(*sample, *_PLACES).to_numpy()
    out = {"label_code": ((*sample, ANNOTATION), values[..., (who >= 0) & (who < n_people)])}
    coords = {dim: labels[dim].to_numpy() for dim in sample}
    if systems is not None:
        said = np.full((*values.shape[:-1], systems.size), -1)
        item, place = np.nonzero(who >= n_people)
        said[..., item, who[item, place] - n_people] = values[..., item, place]
        out["system_label_code"] = ((*sample, ITEM, SYSTEM), said)
        coords[SYSTEM] = systems.to_numpy()
    return xr.Dataset(out, coords=coords)


def _settings(posterior: xr.Dataset) -> dict[str, Any]:
    """Return the attributes that a fit would have; none if no model has these variables."""
    if {"ability", "difficulty"} <= set(posterior):
        return {"model": "rasch"}
    if "annotator_accuracy" not in posterior:
        return {}
    out = {
        "hyper_difficulty": int("difficulty_spread" in posterior),
        "hyper_systems": "related" if "shared_answers" in posterior else "independent",
    }
    if "population_confusion" in posterior or "confusion" in posterior:
        pooling = (
            "hierarchical"
            if "accuracy_spread" in posterior
            else ("none" if "population_confusion" not in posterior else "complete")
        )
        return {"model": "dawid_skene", "hyper_pooling": pooling, **out}
    errors = (
        "unequal"
        if "error_concentration" in posterior
        else ("graded" if "distance_decay" in posterior else "equal")
    )
    accuracy = ANNOTATOR if ANNOTATOR in posterior["annotator_accuracy"].dims else "common"
    return {
        "model": "symmetric_confusion", "hyper_accuracy": accuracy, "hyper_errors": errors, **out,
    }  # fmt: skip
