"""What is asked of a fit to a study with a latent truth, with the answers that gave rise to it.

Where only annotators tell the truth ("evidence of annotators"), what they are like and the truth
of items follow from their labels alone, and are asked about as ever. What is then said of systems
is not a posterior under one joint distribution, so that no places are uniform, but where annotators
are known to a hair the two are the same: "known annotators" label 1,000 items, systems 20 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from calibration.harness import Floats
from calibration.truth_settings import annotators_are_known
from calibration.truth_studies import Drawn
from calibration.truth_worlds import (
    Codes,
    Generator,
    Setting,
    Study,
    World,
    accuracy,
    confusion,
    log_likelihood,
)
from scipy import special


def questions_of(drawn: Drawn, rng: Generator) -> Callable[[xr.DataTree], Mapping[str, Any]]:
    """Return what to ask of a fit to the study."""
    setting, world, study = drawn[:3]
    many = annotators_are_known(setting)
    requested = {} if many else _of_annotators(setting, world)
    if many or setting.evidence == "all":
        requested |= _of_systems(setting, world, study)
    whole = np.empty(0) if many else np.array([log_likelihood(setting, world, study)])

    def questions(fit: xr.DataTree) -> Mapping[str, tuple[Floats, Floats]]:
        out = {q: (_drawn(fit, name, at), np.array([x])) for q, (name, at, x) in requested.items()}
        if not many:
            sampled = fit["sample_stats"]["log_likelihood"].to_numpy().reshape(-1, 1)
            out["log-likelihood"] = (sampled, whole)
            counts = _of_truth(study, study.truth[None])
            actual = _of_truth(study, drawn_truths(fit, rng))
            out |= {q: (actual[q][:, None], count) for q, count in counts.items()}
        return out

    return questions


def _of_annotators(setting: Setting, world: World) -> dict[str, Any]:
    """Return what annotators are like: the names of parameters, where in them, and the truth."""
    right = accuracy(setting, world)
    everyone = not setting.own_accuracy and not setting.pooling
    out: dict[str, Any] = {
        "prevalence of the first": ("prevalence", 0, world.prevalence[0]),
        "prevalence of the last": ("prevalence", -1, world.prevalence[-1]),
        "annotator accuracy": ("annotator_accuracy", () if everyone else 0, right[0]),
    }
    if setting.own_accuracy:
        out["mean accuracy"] = ("mean_accuracy", (), special.expit(world.mean))
        out["accuracy spread"] = ("accuracy_spread", (), world.spread)
    if setting.ordered and setting.errors != "equal":
        out["distance decay"] = ("distance_decay", (), world.decay)
    if setting.errors == "unequal":
        out["error concentration"] = ("error_concentration", (), world.concentration)
    if setting.difficulty:
        out["difficulty spread"] = ("difficulty_spread", (), world.difficulty)
    if setting.pooling:
        matrix = confusion(world)
        out["confusion, right"] = ("confusion", (0, 0, 0), matrix[0, 0, 0])
        out["confusion, wrong"] = ("confusion", (1, -1, 0), matrix[1, -1, 0])
    if setting.pooling == "hierarchical":
        out["population"] = ("population_confusion", (0, 0), world.population[0, 0])
        out["concentration"] = ("confusion_concentration", 0, world.alike[0])
        out["spread of annotators"] = ("accuracy_spread", (), world.spread)
    return out


def _of_systems(setting: Setting, world: World, study: Study) -> dict[str, Any]:
    """Return the same of systems."""
    if not setting.n_systems:
        return {}
    first = setting.n_annotators
    mine = study.respondent == first
    correct = (study.label == study.truth[study.item])[mine].sum() / mine.sum()
    out: dict[str, Any] = {
        "system accuracy": ("system_accuracy", 0, accuracy(setting, world)[first]),
        "system correct": ("system_correct", 0, correct),
    }
    if setting.pooling:
        out["system confusion"] = ("system_confusion", (0, 0, 1), confusion(world)[first, 0, 1])
    if setting.difficulty:
        out["difficulty slope"] = ("difficulty_slope", 0, world.slope[first])
    if setting.related:
        out["shared answers"] = ("shared_answers", (), world.shared)
        out["accuracy of the source"] = (
            "source_typical_accuracy", (), special.expit(world.source)
        )  # fmt: skip
    return out


def _drawn(tree: xr.DataTree, name: str, place: Any) -> Floats:
    values = tree["posterior"][name].to_numpy()
    index = place if isinstance(place, tuple) else (place,)
    return values.reshape(-1, *values.shape[2:])[(slice(None), *index)][:, None]


def drawn_truths(tree: xr.DataTree, rng: Generator) -> Codes:
    """Draw the truth of each item (sample, item) from what the fit says of it."""
    edge = tree["posterior"]["truth"].to_numpy().cumsum(axis=-1)
    edge = edge.reshape(-1, *edge.shape[2:])
    return (rng.random((*edge.shape[:2], 1)) > edge[..., :-1]).sum(axis=-1)


def _of_truth(study: Study, truth: Codes) -> dict[str, Floats]:
    """Count items that the first label is true of, and those whose first answer was right."""
    first = study.label[np.unique(study.item, return_index=True)[1]]
    return {
        "items of the first label": (truth == 0).sum(axis=-1, dtype=float),
        "first answers that are right": (truth == first).sum(axis=-1, dtype=float),
    }
