"""Predicted labels that no annotator could have given."""

from __future__ import annotations

from collections.abc import Sequence

from dissensus.errors import misspelt, shown, warn_caller


def warn_of_outside(
    what: str, names: Sequence[object], labels: Sequence[object], count: int | None = None
) -> None:
    """Warn of predicted labels outside the label space of the annotations.

    Parameters
    ----------
    what : str
        What that means for them, as the sentence goes on.
    names : sequence
        These labels.
    labels : sequence
        The label space.
    count : int, optional
        How many predictions have them, where that is known.
    """
    by = "" if count is None else f" (predictions with them: {count})"
    warn_caller(
        f"Labels outside the label space of the annotations{what}: {shown(names)}{by}. "
        f"{misspelt(names, labels)}If annotators could have said so, read the annotations with "
        "labels=."
    )
