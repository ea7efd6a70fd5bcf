"""Gibbs sampling of plausibilities from partial rankings under Plackett-Luce, exact.

Strengths are independent Gamma(a, 1), and a label's plausibility is its share of their sum.
Every annotator sees labels arrive at exponential times whose rates are the strengths, and
reports the order of those that arrived first; tied labels are reported without order. Given
the arrival times a strength is Gamma(a + n, 1 + exposure), where n counts the annotators who
ranked the label, and its exposure to an annotator is the time it arrived, or, if that annotator
did not rank it, the time at which the last ranked label arrived (it had not come by then). The
labels nobody ranked share one exposure, so that the sum of U of them is
Gamma(a U, 1 + exposure): the cost lies in the labels that are named.

The likelihood does not see the sum of the strengths, which is Gamma(K a, 1) whatever the
rankings say: it is drawn anew after each sweep. All strengths are held in logarithms, since a
sparse prior makes them smaller than any floating-point number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.stream import State, log_gamma_variate, started, uniform
from dissensus.arrays.tied_arrivals import draw_block
from dissensus.errors import ArgumentError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


class Rankings(NamedTuple):
    """Partial rankings of many items, laid out for one pass."""

    item_start: Codes
    """(item + 1): where each item's rankings start."""
    ranking_start: Codes
    """(ranking + 1): where each ranking's rows start; rows in order of rank."""
    place: Codes
    """(row): which of the item's named labels."""
    rank: Codes
    """(row): its block."""
    named: Codes
    """(item): how many labels somebody named."""
    unnamed: Codes
    """(item): how many labels nobody named."""


@njit(cache=True)
def _tails(
    theta: Floats, remainder: float, place: Codes, ranked: npt.NDArray[np.bool_], rest: Floats
) -> None:
    """Mark who is ranked, and write the strength from each row on.

    Summed from the end: what is left after the strong labels is not a difference of large sums.
    """
    ranked[:] = False
    for label in place:
        ranked[label] = True
    total = remainder
    for label in range(len(theta)):
        if not ranked[label]:
            total += theta[label]
    rest[len(place)] = total
    for row in range(len(place) - 1, -1, -1):
        total += theta[place[row]]
        rest[row] = total


@njit(cache=True)
def _arrivals(
    state: State, theta: Floats, place: Codes, rank: Codes, rest: Floats, times: Floats,
    rates: Floats, exposure: Floats,
) -> float:  # fmt: skip
    """Draw one annotator's arrival times, add them to the exposures, and return the last."""
    n_rows = len(place)
    now, low = 0.0, 0
    while low < n_rows:
        high = low
        while high < n_rows and rank[high] == rank[low]:
            rates[high] = theta[place[high]]
            high += 1
        last = draw_block(state, rates[low:high], rest[high], times[low:high])
        for row in range(low, high):
            exposure[place[row]] += now + times[row]
        now += last
        low = high
    return now


@njit(cache=True)
def _untied_arrivals(
    state: State, place: Codes, rest: Floats, repeats: float, exposure: Floats
) -> float:
    """Draw the sum of several such arrivals at once, without ties: sums of exponentials are Gamma.

    Without ties a ranking is a product of choices, and 1 / S^g is a Gamma(g, S) integral, so
    that the number of repeats need not be whole.
    """
    now = 0.0
    for row in range(len(place)):
        if repeats == 1.0:
            step = -np.log(uniform(state))
        else:
            step = np.exp(log_gamma_variate(state, repeats))
        now += step / rest[row]
        exposure[place[row]] += now
    return now


@njit(cache=True)
def _sample_item(
    state: State, place: Codes, rank: Codes, starts: Codes, n_named: int, n_unnamed: int,
    a: float, repeats: float, tune: int, out: Floats,
) -> None:  # fmt: skip
    """Sample one item; write (draw, candidate) with the remainder last."""
    longest = 0
    for ranking in range(len(starts) - 1):
        longest = max(longest, starts[ranking + 1] - starts[ranking])
    ranked, rest = np.empty(n_named, dtype=np.bool_), np.empty(longest + 1)
    rates, times = np.empty(longest), np.empty(longest)
    count = np.zeros(n_named)
    for row in range(starts[0], starts[-1]):
        count[place[row]] += repeats
    shape = a * (n_named + n_unnamed)
    theta = (a + count) / (shape + count.sum())
    remainder = a * n_unnamed / (shape + count.sum())
    log_total = 0.0
    log_theta, exposure = np.empty(n_named + 1), np.empty(n_named)
    for sweep in range(tune + len(out)):
        exposure[:] = 0.0
        shared = 0.0
        for ranking in range(len(starts) - 1):
            low, high = starts[ranking], starts[ranking + 1]
            if low == high:  # an empty ranking says nothing
                continue
            mine, blocks = place[low:high], rank[low:high]
            _tails(theta, remainder, mine, ranked, rest)
            last = 0.0
            if blocks[-1] == high - low:
                last = _untied_arrivals(state, mine, rest, repeats, exposure)
            else:
                for _ in range(int(repeats)):
                    last += _arrivals(state, theta, mine, blocks, rest, times, rates, exposure)
            shared += last
            for label in range(n_named):
                if not ranked[label]:
                    exposure[label] += last
        for label in range(n_named):
            log_theta[label] = log_gamma_variate(state, a + count[label])
            log_theta[label] -= _log_rate(exposure[label], log_total)
        log_theta[n_named] = -np.inf
        if n_unnamed > 0:
            log_theta[n_named] = log_gamma_variate(state, a * n_unnamed)
            log_theta[n_named] -= _log_rate(shared, log_total)
        share = np.exp(log_theta - log_theta.max())
        share /= share.sum()
        theta[:] = share[:n_named]
        remainder = share[n_named]
        log_total = log_gamma_variate(state, shape)
        if sweep >= tune:
            out[sweep - tune, :n_named] = theta
            out[sweep - tune, -1] = remainder


@njit(cache=True)
def _log_rate(exposure: float, log_total: float) -> float:
    """Return log(1 + exposure / total): exposures are in units in which strengths sum to 1."""
    if exposure <= 0.0:
        return 0.0
    x = np.log(exposure) - log_total
    return x + np.log1p(np.exp(-x)) if x > 0.0 else np.log1p(np.exp(x))


@njit(cache=True)
def _sample(
    item_start: Codes, ranking_start: Codes, place: Codes, rank: Codes, named: Codes,
    unnamed: Codes, a: Floats, repeats: float, tune: int, keys: npt.NDArray[np.uint64], out: Floats,
) -> None:  # fmt: skip
    for item in range(len(named)):
        low, high = item_start[item], item_start[item + 1]
        _sample_item(
            started(keys[item]), place, rank, ranking_start[low : high + 1], named[item],
            unnamed[item], a[item], repeats, tune, out[:, item],
        )  # fmt: skip


def sample(
    rankings: Rankings, a: Floats, keys: npt.NDArray[np.uint64], *,
    repeats: float = 1.0, tune: int = 500, draws: int = 1000,
) -> Floats:  # fmt: skip
    """Draw plausibilities of all items, one chain.

    Parameters
    ----------
    rankings : Rankings
        What the annotators said.
    a : array (item)
        Prior shape of each label's strength.
    keys : array (item)
        Starts each item's own random stream, so that items may be split in any way.
    repeats : float
        How many times each ranking counts: the likelihood to this power. A whole number, unless
        no ranking has ties.
    tune, draws : int
        Sweeps before the first draw, and draws.

    Returns
    -------
    array (draw, item, candidate)
        Candidates are the item's named labels, padding, and last the remainder.

    Examples
    --------
    >>> one = Rankings(*map(np.array, ([0, 1], [0, 1], [0], [1], [1], [2])))  # x before y and z
    >>> theta = sample(one, np.array([1.0]), np.array([1], dtype=np.uint64), draws=4000)
    >>> theta.mean(axis=0).round(1)  # Dirichlet(2, 1, 1): .5 and .25 + .25
    array([[0.5, 0.5]])
    """
    if repeats != int(repeats) and _any_tied(rankings):
        raise ArgumentError(
            "repeats", expected="a whole number where labels are tied", found=repr(repeats)
        )
    out = np.zeros((draws, len(rankings.named), int(rankings.named.max(initial=0)) + 1))
    _sample(*rankings, a, float(repeats), tune, keys, out)
    return out


def _any_tied(rankings: Rankings) -> bool:
    """Return whether a block holds two labels: then a ranking has fewer blocks than rows."""
    length = np.diff(rankings.ranking_start)
    last = rankings.ranking_start[1:][length > 0] - 1
    return bool((rankings.rank[last] < length[length > 0]).any())
