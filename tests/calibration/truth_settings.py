"""Which variants of the two models of a latent truth are tried, and what they leave to chance.

Each variant has a setting, and some toss coins over the rest, so that settings are tried together
too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from calibration.truth_worlds import Generator, Setting

ANNOTATORS: Final = 4


def annotators_are_known(setting: Setting) -> bool:
    """Say whether it is the variant in which they label so much that nothing is left to learn."""
    return setting.n_annotators < ANNOTATORS


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
        "truth of some known": {
            "known": 0.4, "own_accuracy": _coin(rng), "difficulty": _coin(rng),
            "errors": str(rng.choice(["equal", "graded", "unequal"])), "n_labels": 3,
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
        "truth of some known": {
            "known": 0.4, "pooling": str(rng.choice(["none", "complete", "hierarchical"])),
            "difficulty": _coin(rng),
        },
        "known annotators": {
            "pooling": "complete", "evidence": "annotators", "n_systems": 2, "n_labels": 2,
            "n_annotators": 3, "prior_count": 3.0,
        },
    }[variant]  # fmt: skip
    # Few labels in all: with more of them matrices are the prior's, and chains learn slowly.
    free = {"n_labels": int(rng.integers(2, 4))}
    return _setting("dawid_skene", rng, **{**free, **options})


_VARIANTS: Final = {
    "symmetric_confusion": (
        _symmetric, ("as it stands", "own accuracy", "graded errors", "unequal errors",
                     "difficulty", "related systems", "all at once", "evidence of annotators",
                     "truth of some known", "known annotators"),
    ),
    "dawid_skene": (
        _matrices, ("pooled", "unpooled", "one for all", "difficulty", "all at once",
                    "evidence of annotators", "truth of some known", "known annotators"),
    ),
}  # fmt: skip

SETTINGS: Final[Mapping[str, Callable[[Generator], Setting]]] = {
    f"{model}: {variant}": partial(setting_of, variant)
    for model, (setting_of, variants) in _VARIANTS.items()
    for variant in variants
}
"""By the model's name and, after the colon, what is given up of its assumptions."""

LONG: Final = frozenset(
    name for name in SETTINGS
    if name.endswith((": all at once", ": evidence of annotators", ": truth of some known",
                      ": known annotators"))
)  # fmt: skip
"""A second or more for each study; the others are tried with every change."""
