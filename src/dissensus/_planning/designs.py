"""What new studies look like: so many items, annotators for each, and annotators in all."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from dissensus._planning.pilots import Pilot
from dissensus.errors import ArgumentError
from dissensus.sampling import fitting


class Design(NamedTuple):
    """One new study; the numbers are those of each pool."""

    n_annotators: int
    """For each item."""
    n_items: int
    panel: list[int]
    """Annotators in all."""


def designs(pilot: Pilot, annotators: list[int], items: list[int], panel: Any) -> list[Design]:
    """List every number of annotators with every number of items.

    Raises
    ------
    ArgumentError
        If the panel is no number, too small for the annotators of an item, or not known.
    """
    people = _panel(pilot, panel, annotators)
    return [Design(k, n, [max(k, size) for size in people]) for k, n in product(annotators, items)]


def _panel(pilot: Pilot, panel: Any, annotators: list[int]) -> list[int]:
    """Return how many annotators each pool has: those asked for, or as many as in the pilot."""
    if pilot.anonymous:
        if panel is not None:
            raise ArgumentError(
                "panel", expected="none, as the pilot's annotators are nobody in particular",
                found=repr(panel),
            )  # fmt: skip
        return [1] * pilot.n_pools
    if panel is None and pilot.n_annotators is None:
        raise ArgumentError(
            "panel", expected="how many annotators new studies have in all",
            found="none, and the pilot's fit does not say how many it had",
        )  # fmt: skip
    if panel is None:
        assert pilot.n_annotators is not None
        return pilot.n_annotators
    size = fitting.whole("panel", panel)
    if size < max(annotators):
        raise ArgumentError(
            "panel", expected=f"{max(annotators)} or more, for so many to label each item",
            found=repr(panel),
        )  # fmt: skip
    return [size] * pilot.n_pools
