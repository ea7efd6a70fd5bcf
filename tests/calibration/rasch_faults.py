"""Faults planted into fits of a Rasch model, which calibration has to catch."""

from __future__ import annotations

from typing import Any, Final


def other_labels_known(fit: Any) -> Any:
    """Take the next label for the true one wherever one is known."""

    def faulty(ann: Any, *, truth: Any, **options: Any) -> Any:
        n = ann.sizes["label"]
        return fit(ann, truth={item: (z + 1) % n for item, z in truth.items()}, **options)

    return faulty


def confidence_reversed(fit: Any) -> Any:
    """Take the surest for the least sure."""

    def faulty(ann: Any, **options: Any) -> Any:
        sure = ann["confidence"]
        return fit(ann.assign(confidence=sure.max() + sure.min() - sure), **options)

    return faulty


def guessing_mistaken(fit: Any) -> Any:
    """Let guess who only errs, and err who guesses."""

    def faulty(ann: Any, *, guessing: bool, **options: Any) -> Any:
        return fit(ann, guessing=not guessing, **options)

    return faulty


FAULTS: Final = [
    ("rasch: truth known, guesses", "no guesses", guessing_mistaken),
    ("rasch: truth unknown, no guesses", "guesses", guessing_mistaken),
    ("rasch: truth of some known", "other labels known", other_labels_known),
    ("rasch: confidence", "confidence reversed", confidence_reversed),
]
