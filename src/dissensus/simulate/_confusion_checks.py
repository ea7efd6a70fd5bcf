"""The arguments of a confusion study, checked and laid out voice by voice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dissensus._wording import counted
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Floats
from dissensus.simulate import _checks

_GROUPS: Final = ("hard", "middle", "easy")
_ONE_GROUP: Final = ("all",)
_ROUNDING: Final = 1e-6


@dataclass(frozen=True)
class Design:
    """A confusion study to draw."""

    n_items: int
    n_labels: int
    accuracy: Floats
    """Of each voice before difficulty: annotators, then systems."""
    n_annotators: int
    labels_per_item: int
    difficulty: float
    asymmetry: float
    error_range: float
    prevalence: Floats | None
    related: float
    shared_mistakes: float
    repeated: Floats
    """The chance of each system to repeat them."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups of items that are equally hard."""
        return _GROUPS if self.difficulty > 0 else _ONE_GROUP

    @property
    def shift(self) -> Floats:
        """What is added to accuracies in each group."""
        d = self.difficulty
        return np.array([-d, 0.0, d]) if d > 0 else np.zeros(1)

    @property
    def n_systems(self) -> int:
        """How many voices are systems."""
        return len(self.accuracy) - self.n_annotators


def checked(
    *, n_items: Any, n_annotators: Any, n_labels: Any, ipc: Any, difficulty: Any, asymmetry: Any,
    error_range: Any, system_accuracy: Any, prevalence: Any, labels_per_item: Any, related: Any,
    shared_mistakes: Any, repeated: Any,
) -> Design:  # fmt: skip
    """Check what `confusion_study` was given."""
    n_annotators = _checks.count("n_annotators", n_annotators)
    n_labels = _checks.count("n_labels", n_labels, 2)
    systems = _systems(system_accuracy)
    return Design(
        n_items=_checks.count("n_items", n_items),
        n_labels=n_labels,
        accuracy=np.array(_one_or_each("ipc", ipc, n_annotators, "annotator") + systems),
        n_annotators=n_annotators,
        labels_per_item=_labels_per_item(labels_per_item, n_annotators),
        difficulty=_checks.probability("difficulty", difficulty),
        asymmetry=_checks.positive("asymmetry", asymmetry),
        error_range=_checks.probability("error_range", error_range),
        prevalence=None if prevalence is None else _prevalence(prevalence, n_labels),
        related=_related(related, len(systems)),
        shared_mistakes=_checks.probability("shared_mistakes", shared_mistakes),
        repeated=np.array(_one_or_each("repeated", repeated, len(systems), "system")),
    )


def _one_or_each(name: str, value: Any, n: int, of: str) -> list[float]:
    """Return a probability for each, from one for all or one for each."""
    if not _checks.is_listed(value):
        return [_checks.probability(name, value)] * n
    if len(value) != n:
        raise ArgumentError(
            name,
            expected=f"one probability, or one for each of {counted(n, of)}",
            found=brief(value),
        )
    return [_checks.probability(f"{name}[{place}]", each) for place, each in enumerate(value)]


def _systems(value: Any) -> list[float]:
    listed = value if _checks.is_listed(value) else [value]
    if not len(listed):
        raise ArgumentError(
            "system_accuracy", expected="a probability for each system, one or more",
            found=brief(value),
        )  # fmt: skip
    return [
        _checks.probability(f"system_accuracy[{place}]", each) for place, each in enumerate(listed)
    ]


def _labels_per_item(value: Any, n_annotators: int) -> int:
    if value is None:
        return n_annotators
    each = _checks.count("labels_per_item", value)
    if each > n_annotators:
        raise ArgumentError(
            "labels_per_item", found=str(each),
            expected=f"at most the {n_annotators} annotators there are, or None for all of them",
        )  # fmt: skip
    return each


def _prevalence(value: Any, n_labels: int) -> Floats:
    share = _checks.numbers("prevalence", value)
    if len(share) != n_labels or (share < 0).any() or abs(share.sum() - 1) > _ROUNDING:
        raise ArgumentError(
            "prevalence", found=brief(value),
            expected=f"a probability for each of {n_labels} labels, 1 in sum, or None",
        )  # fmt: skip
    return np.asarray(share / share.sum())


def _related(value: Any, n_systems: int) -> float:
    related = _checks.probability("related", value)
    if related > 0 and n_systems < 2:
        raise ArgumentError(
            "related",
            expected="0 with one system, which is related to no other",
            found=brief(value),
        )
    return related
