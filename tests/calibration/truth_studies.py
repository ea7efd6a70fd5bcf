"""Tiny studies with a latent truth: priors count most there, and items are in every state."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from calibration.truth_settings import annotators_are_known
from calibration.truth_worlds import Codes, Generator, Setting, Study, World, labelled, world

import dissensus as dx

ITEMS: Final = {"dawid_skene": 12, "symmetric_confusion": 25}
"""With more of them, labels that changed places in the truth would seldom do so in a chain; even
so it takes thousands of sweeps, see `test_truth_invariance`."""
MANY: Final = 1000
KNOWN: Final = 20
"""Items that systems answered, of those many."""


class Drawn(NamedTuple):
    """A study, what it came from, and how to fit it."""

    setting: Setting
    world: World
    study: Study
    annotations: xr.Dataset
    hyper: dict[str, Any]


def draw(setting: Setting, rng: Generator) -> Drawn:
    """Draw a study."""
    many = annotators_are_known(setting)
    n_items = MANY if many else ITEMS[setting.model]
    drawn_world = world(setting, rng)
    study = labelled(setting, drawn_world, _rows(setting, n_items, rng), n_items, rng)
    hyper = _hyper(setting, study, keep_items=not many)
    return Drawn(setting, drawn_world, study, _annotations(setting, study), hyper)


def _rows(setting: Setting, n_items: int, rng: Generator) -> tuple[Codes, Codes, Codes]:
    """Draw a design with gaps and repeats; everybody labels the first item, somebody each."""
    shape, many = (n_items, setting.n_annotators), n_items == MANY
    times = rng.choice([0, 1, 2], shape, p=[0.1, 0.9, 0.0] if many else [0.35, 0.55, 0.1])
    times[0] = np.maximum(times[0], 1)
    times[~times.any(axis=1), 0] = 1
    answered = rng.random(n_items) < (KNOWN / MANY if many else 0.8)
    answered[0] = True
    systems = np.broadcast_to(answered[:, None], (n_items, setting.n_systems)).astype(int)
    times = np.concatenate([times, systems], axis=1)
    item, respondent = np.nonzero(times)
    times = times[item, respondent]
    trial = np.concatenate([np.arange(k) for k in times])
    return np.repeat(item, times), np.repeat(respondent, times), trial


def _annotations(setting: Setting, study: Study) -> xr.Dataset:
    mine = study.respondent < setting.n_annotators
    table = {"item": study.item[mine], "annotator": study.respondent[mine],
             "label": study.label[mine], "trial": study.trial[mine]}  # fmt: skip
    return dx.annotations(table, trial="trial", kind="ordinal" if setting.ordered else "nominal",
                          labels=range(setting.n_labels))  # fmt: skip


def _predictions(setting: Setting, study: Study) -> xr.Dataset | None:
    theirs = study.respondent >= setting.n_annotators
    if not theirs.any():
        return None
    who = study.respondent[theirs] - setting.n_annotators
    return dx.predictions({"item": study.item[theirs], "system": who,
                           "label": study.label[theirs]}, kind="nominal")  # fmt: skip


def _hyper(setting: Setting, study: Study, keep_items: bool) -> dict[str, Any]:
    """Return the options to fit with."""
    own = {"pooling": setting.pooling} if setting.pooling else {
        "accuracy": "annotator" if setting.own_accuracy else "common", "errors": setting.errors,
    }  # fmt: skip
    known = {int(i): int(study.known[i]) for i in np.flatnonzero(study.known >= 0)}
    return {
        "truth": known or None, "predictions": _predictions(setting, study),
        "difficulty": setting.difficulty,
        "systems": "related" if setting.related else "independent", "evidence": setting.evidence,
        "prior_count": setting.prior_count, "on_missing": "drop", "tune": 300,
        "keep_items": keep_items, **own,
    }  # fmt: skip
