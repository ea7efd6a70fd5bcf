"""Sides on which answers were shown: whether an advantage of the left biases strengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import xarray as xr
from scipy.sparse import coo_array
from scipy.sparse.linalg import lsqr

from dissensus.dims import SYSTEM
from dissensus.kernels.types import Ints
from dissensus.wording import share, short

TOO_MANY: Final = 10
"""Minimum number of votes to conclude that one side won all of them, which has probability 1 in 500
by chance; and of a system's votes, to compare its share on the left with that of others."""
_SURE: Final = 2.5
"""Minimum number of standard errors to conclude that the left has an advantage."""
_CLEAR: Final = 4.0
"""Minimum number of standard errors to conclude that a system was on the left too often for chance.
It is larger than `_SURE`, as the most uneven of many systems is taken."""
_UNEVEN: Final = 0.2
"""Minimum difference between systems' shares of votes on the left. With less, an advantage of the
left hardly biases strengths."""
_BIAS: Final = 0.1
"""Minimum bias that matters, of the difference between the win rates of the two systems that were
most often on the left and on the right."""
REMEDY: Final = "Type side=True, which estimates the advantage of the side."


@dataclass(frozen=True)
class Sides:
    """How often systems were on the left, and how often the left won."""

    first: str
    """The system most often on the left, among those with `TOO_MANY` votes or more."""
    last: str
    of_first: float
    """The share of its votes in which `first` was on the left."""
    of_last: float
    clear: bool
    """Whether a system was on the left (or right) more often than chance explains."""
    won: float
    """Share of votes that the left won on pairs that were shown both ways. Both orders of a pair
    have equal weight, and a tie counts half."""
    error: float
    """Standard error of this share if the side does not matter; infinite without such pairs."""
    always: str
    """The side that won all votes but ties, else ""."""
    wins: int
    """Number of votes that are not ties."""

    @property
    def state(self) -> str:
        """Whether strengths without ``side=`` are biased.

        ``biased``, ``possible`` (the votes cannot exclude a bias), ``unknown`` (each pair was shown
        in one order only), ``even`` (systems were on the left about equally often), ``harmless``
        (the advantage of the left is small), or "" if there are too few votes, or the table names
        winners and not sides.
        """
        uneven = self.of_first - self.of_last
        if self.always or not self.first:
            return ""
        if uneven > _UNEVEN and abs(self._z) > _SURE:
            return "biased"
        if uneven <= _UNEVEN or not self.clear:
            return "even"
        if np.isinf(self.error):
            return "unknown"
        # An advantage a of the left changes the win rate of a system with share f by (2 f - 1) a.
        largest = abs(self.won - 0.5) + 2.0 * self.error
        return "possible" if 2.0 * uneven * largest > _BIAS else "harmless"

    @property
    def _z(self) -> float:
        return (self.won - 0.5) / self.error

    @property
    def reason(self) -> str:
        """The reason for the state in words."""
        first, last, low, high = *self._names, share(self.of_last), share(self.of_first)
        of_both = (
            f"on pairs that were shown both ways, the answer on the left won {share(self.won)} of "
            f"the votes ({self._z:+.1f} standard errors from .50; both orders have equal weight)"
        )
        unequal = f"{first} was on the left in {high} of its votes, {last} in {low}"
        match self.state:
            case "biased":
                return (
                    f"{of_both}, and {first} was on the left more often than {last} ({high} and "
                    f"{low} of its votes)."
                )
            case "possible":
                return (
                    f"{unequal}, so the order of systems is biased if the answer on the left has "
                    "an advantage. Too few votes are on pairs that were shown both ways to "
                    f"exclude this: there the left won {share(self.won)} (standard error "
                    f"{share(self.error)}; both orders have equal weight)."
                )
            case "unknown":
                return f"each pair of systems is in the same order in all votes ({unequal})."
            case "harmless":
                return f"{unequal}, but {of_both}."
            case "even":
                few = self.of_first - self.of_last > _UNEVEN
                how = "with differences that chance explains" if few else "about equally often"
                known = f"; {of_both}" if np.isfinite(self.error) else ""
                return f"systems were on the left {how} ({low} to {high} of their votes){known}."
            case _:
                return ""

    @property
    def _names(self) -> tuple[str, str]:
        return short(self.first), short(self.last)


def sides(pairs: xr.Dataset) -> Sides:
    """Describe the sides in votes, which need not be checked for systems without votes."""
    left, right, outcome = (
        pairs[name].to_numpy().astype(np.int64) for name in ("left_code", "right_code", "outcome")
    )
    n = pairs.sizes[SYSTEM]
    of_left = np.bincount(left, minlength=n)
    votes = of_left + np.bincount(right, minlength=n)
    often = np.flatnonzero(votes >= TOO_MANY)
    wins = outcome[outcome != 1]
    always = ("left", "right")[int(wins[0] > 0)] if len(np.unique(wins)) == 1 else ""
    won, error = _left_wins(left, right, 1 - outcome, n)
    if not len(often):
        return Sides("", "", 0.5, 0.5, False, won, error, always, len(wins))
    shares = of_left[often] / votes[often]
    clear = (np.abs(2 * of_left - votes) / np.sqrt(votes.clip(1))).max() >= _CLEAR
    first, last = (
        str(pairs[SYSTEM].to_numpy()[often[place]]) for place in (shares.argmax(), shares.argmin())
    )
    return Sides(
        first, last, float(shares.max()), float(shares.min()), bool(clear), won, error, always,
        len(wins),
    )  # fmt: skip


def side_warnings(pairs: xr.Dataset, *, modelled: bool) -> Iterator[tuple[str, str]]:
    """Yield a warning about sides and its remedy; ``modelled`` is the argument ``side`` of fits."""
    known = sides(pairs)
    if not modelled:
        heads = {"biased": "The side matters", "possible": "The side may matter"}
        if known.state in heads:
            yield f"{heads[known.state]}: {known.reason}", REMEDY
        return
    if not is_separable(pairs):
        yield (
            "The votes cannot separate the left side's advantage from strengths, because no sides "
            "were exchanged: only their sum is estimated, and the priors divide it.",
            "Leave out side=True, or get votes with the sides exchanged.",
        )
    if known.always and known.wins >= TOO_MANY:
        yield (
            f"In each of {known.wins:,} votes, the answer on the {known.always} won: the "
            f"{known.always} column probably names the winners, and not the answers that were "
            f"shown on the {known.always}. With side=True, all systems are then estimated as "
            "equal.",
            "Leave out side=True.",
        )


def _left_wins(left: Ints, right: Ints, ahead: Ints, n: int) -> tuple[float, float]:
    """Return the share of votes that the left wins on pairs shown both ways, and its error.

    ``ahead`` is 1 if the left won, 0 for a tie, else -1. If the side does not matter, the means of
    ``ahead`` in the two orders of a pair add up to 0. The variance of a vote is at most 1.
    """
    way, place = np.unique(left * n + right, return_inverse=True)
    count = np.bincount(place)
    mean = np.bincount(place, ahead) / count
    back = np.searchsorted(way, way % n * n + way // n).clip(max=len(way) - 1)
    both = np.flatnonzero((way[back] == way % n * n + way // n) & (way // n < way % n))
    n_way, n_back = count[both], count[back[both]]
    weight, total = n_way * n_back / (n_way + n_back), mean[both] + mean[back[both]]
    if not len(both):
        return 0.5, np.inf
    won = 0.5 + float((weight * total).sum() / (4 * weight.sum()))
    return won, float(0.25 / np.sqrt(weight.sum()))


def is_separable(pairs: xr.Dataset) -> bool:
    """Return whether votes can separate an advantage of the left from strengths.

    They cannot if systems can have numbers whose difference, left - right, is 1 in each vote.
    """
    codes = [pairs[f"{side}_code"].to_numpy().astype(np.int64) for side in ("left", "right")]
    distinct = np.unique(np.stack(codes, axis=1), axis=0)
    rows = np.repeat(np.arange(len(distinct)), 2)
    signs = np.tile([1.0, -1.0], len(distinct))
    apart = coo_array((signs, (rows, distinct.ravel())), shape=(len(distinct), pairs.sizes[SYSTEM]))
    numbers = lsqr(apart.tocsr(), np.ones(len(distinct)), atol=1e-12, btol=1e-12)[0]
    return bool(np.abs(apart @ numbers - 1.0).max() >= 1e-6)
