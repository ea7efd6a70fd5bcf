"""How to draw studies with a latent truth, and what to ask of their fits.

Each variant of the two models has a simulator, and some toss coins over the rest of the settings,
so that settings are tried together too. Studies are tiny: there priors count most, and every state
of an item is possible.

Where only annotators tell the truth ("evidence of annotators"), what they are like and the truth
of items follow from their labels alone, and are asked about as ever. What is then said of systems
is no posterior under one joint distribution, so that no places are uniform, but where annotators
are known to a hair the two are the same: "known annotators" label 1,000 items, systems 20 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from calibration.harness import Case, Floats
from calibration.truth_worlds import (
    Codes,
    Generator,
    Setting,
    Study,
    World,
    accuracy,
    confusion,
    log_likelihood,
    said,
    world,
)
from scipy import special

import dissensus as dx

ITEMS: Final = {"dawid_skene": 12, "symmetric_confusion": 25}
"""With more of them, labels that changed places in the truth would seldom do so in a chain; even
so it takes thousands of sweeps, see `test_truth_invariance`."""
MANY: Final = 1000
KNOWN: Final = 20
"""Items that systems answered, of those many."""
ANNOTATORS: Final = 4
THIN: Final = {"dawid_skene": 150, "symmetric_confusion": 20}
THIN_KNOWN: Final = 5
"""Systems are drawn anew for each draw of what annotators are like."""
MODELS: Final = tuple(sorted(ITEMS))


# -- Settings ---------------------------------------------------------------------------------


def _setting(model: str, rng: Generator, **options: Any) -> Setting:
    """Draw what the variant leaves open."""
    ordered = options.get("errors") == "graded" or rng.random() < 0.5
    least = 3 if options.get("errors", "equal") != "equal" else 2
    free: dict[str, Any] = {
        "n_labels": int(rng.integers(least, 5)),
        "n_annotators": ANNOTATORS,
        "n_systems": int(rng.integers(0, 4)),
        "ordered": ordered,
        "prior_count": float(rng.choice([0.5, 1.0, 3.0])),
    }
    return Setting(model, **{**free, **options})


def _coin(rng: Generator, chance: float = 0.5) -> bool:
    return bool(rng.random() < chance)


def _symmetric(variant: str, rng: Generator) -> Setting:
    """Return the setting of a variant of symmetric confusion."""
    options: dict[str, Any] = {
        "as it stands": {"n_labels": int(rng.choice([2, 2, 2, 3, 4]))},
        "own accuracy": {"own_accuracy": True},
        "graded errors": {"errors": "graded"},
        "unequal errors": {"errors": "unequal"},
        "difficulty": {"difficulty": True, "n_systems": 2},
        "related systems": {"related": True, "n_systems": int(rng.integers(2, 4))},
        "all at once": {
            "own_accuracy": True, "errors": str(rng.choice(["equal", "graded", "unequal"])),
            "difficulty": True, "related": True, "n_systems": 3, "n_labels": 3,
        },
        "evidence of annotators": {
            "evidence": "annotators", "n_systems": 2, "own_accuracy": _coin(rng),
            "errors": str(rng.choice(["equal", "graded", "unequal"])), "difficulty": _coin(rng),
            "n_labels": 3,
        },
        "known annotators": {
            "evidence": "annotators", "n_systems": 2, "related": _coin(rng, 0.3), "n_labels": 3,
            "n_annotators": 3, "prior_count": 3.0,
        },
    }[variant]  # fmt: skip
    return _setting("symmetric_confusion", rng, **options)


def _matrices(variant: str, rng: Generator) -> Setting:
    """Return the setting of a variant of confusion matrices."""
    options: dict[str, Any] = {
        "pooled": {"pooling": "hierarchical"},
        "unpooled": {"pooling": "none"},
        "one for all": {"pooling": "complete"},
        "difficulty": {"pooling": "hierarchical", "difficulty": True, "n_systems": 2},
        "all at once": {
            "pooling": str(rng.choice(["none", "complete", "hierarchical"])), "difficulty": True,
            "related": True, "n_systems": 2, "n_labels": 2,
        },
        "evidence of annotators": {
            "pooling": str(rng.choice(["none", "complete", "hierarchical"])), "n_systems": 2,
            "evidence": "annotators", "difficulty": _coin(rng),
        },
        "known annotators": {
            "pooling": "complete", "evidence": "annotators", "n_systems": 2, "n_labels": 2,
            "n_annotators": 3, "prior_count": 3.0,
        },
    }[variant]  # fmt: skip
    # Few labels in all: with more of them matrices are the prior's, and chains learn slowly.
    free = {"n_labels": int(rng.integers(2, 4))}
    return _setting("dawid_skene", rng, **{**free, **options})


# -- Who labelled what ------------------------------------------------------------------------


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
    item, voice = np.nonzero(times)
    times = times[item, voice]
    trial = np.concatenate([np.arange(k) for k in times])
    return np.repeat(item, times), np.repeat(voice, times), trial


def _annotations(setting: Setting, study: Study) -> xr.Dataset:
    mine = study.voice < setting.n_annotators
    table = {"item": study.item[mine], "annotator": study.voice[mine], "label": study.label[mine],
             "trial": study.trial[mine]}  # fmt: skip
    return dx.annotations(table, trial="trial", kind="ordinal" if setting.ordered else "nominal",
                          labels=range(setting.n_labels))  # fmt: skip


def _predictions(setting: Setting, study: Study) -> xr.Dataset | None:
    theirs = study.voice >= setting.n_annotators
    if not theirs.any():
        return None
    who = study.voice[theirs] - setting.n_annotators
    return dx.predictions({"item": study.item[theirs], "system": who,
                           "label": study.label[theirs]}, kind="nominal")  # fmt: skip


def _hyper(setting: Setting, study: Study, keep_items: bool) -> dict[str, Any]:
    """Return the options to fit with."""
    own = {"pooling": setting.pooling} if setting.pooling else {
        "accuracy": "annotator" if setting.own_accuracy else "common", "errors": setting.errors,
    }  # fmt: skip
    return {
        "predictions": _predictions(setting, study), "difficulty": setting.difficulty,
        "systems": "related" if setting.related else "independent", "evidence": setting.evidence,
        "prior_count": setting.prior_count, "on_missing": "drop", "tune": 300,
        "keep_items": keep_items, **own,
    }  # fmt: skip


# -- Questions --------------------------------------------------------------------------------


def _of_annotators(setting: Setting, what: World) -> dict[str, Any]:
    """Return what annotators are like: the names of parameters, where in them, and the truth."""
    right = accuracy(setting, what)
    everyone = not setting.own_accuracy and not setting.pooling
    out: dict[str, Any] = {
        "prevalence of the first": ("prevalence", 0, what.prevalence[0]),
        "prevalence of the last": ("prevalence", -1, what.prevalence[-1]),
        "annotator accuracy": ("annotator_accuracy", () if everyone else 0, right[0]),
    }
    if setting.own_accuracy:
        out["mean accuracy"] = ("mean_accuracy", (), special.expit(what.mean))
        out["accuracy spread"] = ("accuracy_spread", (), what.spread)
    if setting.ordered and setting.errors != "equal":
        out["distance decay"] = ("distance_decay", (), what.decay)
    if setting.errors == "unequal":
        out["error concentration"] = ("error_concentration", (), what.concentration)
    if setting.difficulty:
        out["difficulty spread"] = ("difficulty_spread", (), what.difficulty)
    if setting.pooling:
        matrix = confusion(what)
        out["confusion, right"] = ("confusion", (0, 0, 0), matrix[0, 0, 0])
        out["confusion, wrong"] = ("confusion", (1, -1, 0), matrix[1, -1, 0])
    if setting.pooling == "hierarchical":
        out["population"] = ("population_confusion", (0, 0), what.population[0, 0])
        out["concentration"] = ("confusion_concentration", 0, what.alike[0])
    return out


def _of_systems(setting: Setting, what: World, study: Study) -> dict[str, Any]:
    """Return the same of systems."""
    if not setting.n_systems:
        return {}
    first = setting.n_annotators
    mine = study.voice == first
    correct = (study.label == study.truth[study.item])[mine].sum() / mine.sum()
    out: dict[str, Any] = {
        "system accuracy": ("system_accuracy", 0, accuracy(setting, what)[first]),
        "system correct": ("system_correct", 0, correct),
    }
    if setting.pooling:
        out["system confusion"] = ("system_confusion", (0, 0, 1), confusion(what)[first, 0, 1])
    if setting.difficulty:
        out["difficulty slope"] = ("difficulty_slope", 0, what.slope[first])
    if setting.related:
        out["shared answers"] = ("shared_answers", (), what.shared)
        out["accuracy of the source"] = (
            "source_typical_accuracy", (), special.expit(what.source)
        )  # fmt: skip
    return out


def _drawn(tree: xr.DataTree, name: str, place: Any) -> Floats:
    values = tree["posterior"][name].to_numpy()
    index = place if isinstance(place, tuple) else (place,)
    return values.reshape(-1, *values.shape[2:])[(slice(None), *index)][:, None]


def _truths(tree: xr.DataTree, rng: Generator) -> Codes:
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


# -- Cases ------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """A study, what it came from, and how to fit it."""

    setting: Setting
    what: World
    study: Study
    annotations: xr.Dataset
    hyper: dict[str, Any]


def draw(setting: Setting, rng: Generator) -> Drawn:
    """Draw a study."""
    many = setting.n_annotators < ANNOTATORS
    n_items = MANY if many else ITEMS[setting.model]
    what = world(setting, rng)
    study = said(setting, what, _rows(setting, n_items, rng), n_items, rng)
    hyper = _hyper(setting, study, keep_items=not many)
    return Drawn(setting, what, study, _annotations(setting, study), hyper)


def questions_of(drawn: Drawn, rng: Generator) -> Callable[[xr.DataTree], Mapping[str, Any]]:
    """Return what to ask of a fit to the study."""
    setting, what, study = drawn[:3]
    many = setting.n_annotators < ANNOTATORS
    asked = {} if many else _of_annotators(setting, what)
    if many or setting.evidence == "all":
        asked |= _of_systems(setting, what, study)
    whole = np.empty(0) if many else np.array([log_likelihood(setting, what, study)])

    def questions(fit: xr.DataTree) -> Mapping[str, tuple[Floats, Floats]]:
        out = {q: (_drawn(fit, name, at), np.array([x])) for q, (name, at, x) in asked.items()}
        if not many:
            sampled = fit["sample_stats"]["log_likelihood"].to_numpy().reshape(-1, 1)
            out["log-likelihood"] = (sampled, whole)
            counts = _of_truth(study, study.truth[None])
            found = _of_truth(study, _truths(fit, rng))
            out |= {q: (found[q][:, None], count) for q, count in counts.items()}
        return out

    return questions


def case(setting_of: Callable[[Generator], Setting], rng: Generator) -> Case:
    """Draw a study, and say what to ask of it."""
    drawn = draw(setting_of(rng), rng)
    many = drawn.setting.n_annotators < ANNOTATORS
    thin = THIN_KNOWN if many else THIN[drawn.setting.model]
    return Case(drawn.annotations, drawn.hyper, questions_of(drawn, rng.spawn(1)[0]), thin=thin)


_VARIANTS: Final = {
    "symmetric_confusion": (
        _symmetric, ("as it stands", "own accuracy", "graded errors", "unequal errors",
                     "difficulty", "related systems", "all at once", "evidence of annotators",
                     "known annotators"),
    ),
    "dawid_skene": (
        _matrices, ("pooled", "unpooled", "one for all", "difficulty", "all at once",
                    "evidence of annotators", "known annotators"),
    ),
}  # fmt: skip

SETTINGS: Final[Mapping[str, Callable[[Generator], Setting]]] = {
    f"{model}: {variant}": partial(setting_of, variant)
    for model, (setting_of, variants) in _VARIANTS.items()
    for variant in variants
}
"""By the model's name and, after the colon, what is given up of its assumptions."""

SIMULATORS: Final[Mapping[str, Callable[[Generator], Case]]] = {
    name: partial(case, setting_of) for name, setting_of in SETTINGS.items()
}

LONG: Final = frozenset(
    name for name in SIMULATORS
    if name.endswith((": all at once", ": evidence of annotators", ": known annotators"))
)  # fmt: skip
"""A second or more for each study; the others are tried with every change."""
