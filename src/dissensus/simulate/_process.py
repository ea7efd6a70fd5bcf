"""The draws of a simulated study, as plain arrays: who says what, which system answers what."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dissensus.kernels.types import Flags, Floats, Ints

_AT_LEAST: Final = 2
"""Annotators of each item that are never missing: one alone cannot be disagreed with."""
_LOG_SHARPNESS: Final = (-12.0, 14.0)
_HALVINGS: Final = 32


class Said(NamedTuple):
    """Partial rankings, row by row: one row per annotator, item and ranked label."""

    item: Ints
    annotator: Ints
    label: Ints
    rank: Ints


def present(n_items: int, n_annotators: int, missing: float, rng: np.random.Generator) -> Flags:
    """Draw who annotates what: each annotation is missing at random, but for two of each item."""
    chance = rng.random((n_items, n_annotators))
    kept = chance >= missing
    certain = np.argsort(-chance, axis=1)[:, :_AT_LEAST]
    np.put_along_axis(kept, certain, True, axis=1)
    return kept


def rankings(
    plausibility: Floats, kept: Flags, longest: int, ties: float, rng: np.random.Generator
) -> Said:
    """Draw partial rankings: labels without replacement, in proportion to their plausibility.

    How many labels are ranked, and which neighbours are left tied, does not depend on the
    labels: the annotators hide something, and what they hide tells nothing.
    """
    item, annotator = np.nonzero(kept)
    order = _without_replacement(_log(plausibility)[item], rng)[:, :longest]
    weight = np.arange(longest, 0, -1)  # short lists are the commoner ones
    length = 1 + rng.choice(longest, size=len(item), p=weight / weight.sum())
    tied = rng.random(order.shape) < ties
    tied[:, 0] = False
    rank = np.cumsum(~tied, axis=1)
    row, place = np.nonzero(np.arange(longest) < length[:, None])
    return Said(item[row], annotator[row], order[row, place], rank[row, place])


def answers(plausibility: Floats, sharpness: Floats, listed: int, rng: np.random.Generator) -> Ints:
    """Draw each system's list for each item: (item, system, position), codes of labels.

    A system draws labels without replacement, in proportion to plausibility^sharpness: at 1 it
    is one more annotator, above it sees more clearly than they do, at 0 it guesses. So its
    errors are plausible ones, and the commoner the more ambiguous the item is.
    """
    power = sharpness[:, None] * _log(plausibility)[:, None]
    return _without_replacement(power, rng)[..., :listed]


def sharpness_of(quality: Floats, plausibility: Floats) -> Floats:
    """Return the sharpness at which the first label is the top one with this probability.

    The probability is a mean over the given items and exact for each of them; it rises with
    sharpness from 1/K to 1, so that halving intervals finds it.
    """
    relative = _log(plausibility)
    relative = relative - relative.max(axis=1, keepdims=True)
    low, high = (np.full(len(quality), bound) for bound in _LOG_SHARPNESS)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        power = np.exp(middle)[:, None] * relative[:, None]
        below = (1 / np.exp(power).sum(axis=-1)).mean(axis=0) < quality
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.exp((low + high) / 2))


def _log(plausibility: Floats) -> Floats:
    """Return logs; what underflowed to 0 counts as the smallest positive number."""
    return np.log(np.maximum(plausibility, np.finfo(np.float64).tiny))


def _without_replacement(log_weight: Floats, rng: np.random.Generator) -> Ints:
    """Order labels as if drawn one by one in proportion to their weight: the Gumbel trick."""
    return np.argsort(-(log_weight + rng.gumbel(size=log_weight.shape)), axis=-1)


def true_metrics(plausibility: Floats, lists: Ints) -> dict[str, Floats]:
    """Score lists without ties against the true order of labels: one number per system.

    The names are those of the metrics in `dissensus.metrics` that an evaluation shows.
    """
    depth = min(lists.shape[-1], 3)
    true = np.argsort(-plausibility, axis=1)[:, :depth]
    same = lists[:, :, :depth, None] == true[:, None, None, :]
    shared = [same[:, :, :k, :k].sum(axis=(2, 3)) for k in range(1, depth + 1)]
    out = {
        f"top_{k}_accuracy": same[:, :, :k, 0].any(axis=2).mean(axis=0) for k in range(1, depth + 1)
    }
    if depth == 1:
        return out
    for k in range(2, depth + 1):
        out[f"top_{k}_set_accuracy"] = (shared[k - 1] == k).mean(axis=0)
    overlap = sum(count / k for k, count in enumerate(shared, start=1))
    out[f"average_overlap_at_{depth}"] = np.mean(overlap / depth, axis=0)
    return out
