"""What to try when a model of the truth does not reproduce what annotators and systems said."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from dissensus.families.latent_truth.design import ENOUGH

_ERRORS: Final = {"error_pairs", "error_distance"}
_HARD: Final = {"item_agreement", "system_unanimity"}


class Advice(NamedTuple):
    """A model and the settings that differ from those fitted."""

    model: str
    settings: dict[str, Any]

    def words(self) -> str:
        """Write it as it is called."""
        given = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"dissensus.models.{self.model}.fit(...{given})"


def advice(
    model: str, settings: Mapping[str, Any], against: Collection[str], *, ordered: bool,
    labels_each: float,
) -> Advice | None:  # fmt: skip
    """Return what to fit next; None if no setting answers to what was found.

    Parameters
    ----------
    model : str
        That was fitted.
    settings : mapping
        It was fitted with.
    against : collection of str
        Names of the checks that speak against it.
    ordered : bool
        Whether labels have an order.
    labels_each : float
        Labels given by annotators for each label there is.

    Examples
    --------
    >>> plain = {"accuracy": "common", "errors": "equal", "difficulty": False}
    >>> more = {"ordered": True, "labels_each": 300}
    >>> advice("symmetric_confusion", plain, {"error_pairs", "item_agreement"}, **more).words()
    "dissensus.models.symmetric_confusion.fit(..., errors='graded', difficulty=True)"
    """
    change: dict[str, Any] = {}
    after = model
    if model == "dawid_skene":
        rows = _ERRORS | {"label_use", "annotator_agreement"}
        if rows & set(against) and settings.get("pooling") == "complete":
            change["pooling"] = "hierarchical"
    else:
        change = _of_voices(settings, set(against), ordered=ordered)
        if change.pop("model", None) and labels_each >= ENOUGH:
            after, change = "dawid_skene", {}
    if _HARD & set(against) and not settings.get("difficulty"):
        change["difficulty"] = True
    # Errors that fall near the truth, and hard items, make systems err alike by themselves.
    first = _ERRORS & set(against) and (change or after != model)
    if "system_pairs" in against and settings.get("systems") == "independent" and not first:
        change["systems"] = "related"
    return Advice(after, change) if change or after != model else None


def _richer(errors: str, *, ordered: bool) -> str | None:
    """Return the next richer way for errors to fall; None if there is none but matrices."""
    if errors == "equal" and ordered:
        return "graded"
    return None if errors == "unequal" else "unequal"


def _of_voices(settings: Mapping[str, Any], against: set[str], *, ordered: bool) -> dict[str, Any]:
    """Return what to change about accuracies and errors; ``model`` if that is not enough."""
    change: dict[str, Any] = {}
    if "annotator_agreement" in against and settings.get("accuracy") == "common":
        change["accuracy"] = "annotator"
    if _ERRORS & against:
        richer = _richer(str(settings.get("errors")), ordered=ordered)
        change |= {"errors": richer} if richer else {"model": True}
    # Who is less accurate than others errs more, and by that alone uses labels otherwise.
    if "label_use" in against and "accuracy" not in change:
        if settings.get("errors") == "unequal":
            change["model"] = True
        else:
            change["errors"] = "unequal"
    return change
