"""Draws of the areas and rates of each reading; all readings share the weights of cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, gammaln

from dissensus.errors import warn_caller
from dissensus.kernels.types import UNKNOWN, Flags, Floats
from dissensus.statistics._reader_scores import (
    FEWEST,
    Reading,
    Study,
    Truth,
    clusters_of,
    units_of_kinds,
)
from dissensus.wording import percent


def shares(weights: Floats, positive: Flags | Floats) -> tuple[Floats, Floats]:
    r"""Return weights (draw, case) for a mean over positive cases, and for one over negative cases.

    ``positive`` (draw or 1, case) says which cases are positive, or contains the probabilities p of
    being positive. If the kinds of cases are known, the weights of cases of the other kind are 0,
    and the rest are divided by their sum. Otherwise

    .. math:: u_i = \frac{w_i}{W} \left(1 + (t - \bar p) \frac{p_i - \bar p}{V}\right)

    with t = 1 for positive and 0 for negative cases, the sum W of the weights w, and the weighted
    mean :math:`\bar p` and variance V of p. A mean with the weights u is the prediction at p = t of
    a regression on p. It is unbiased if, given the kind of a case, the averaged value does not
    depend on p. Some weights u are negative.

    >>> u, v = shares(np.array([[1.0, 1.0, 2.0]]), np.array([[True, False, False]]))
    >>> u, v.round(2)
    (array([[1., 0., 0.]]), array([[0.  , 0.33, 0.67]]))
    >>> shares(np.array([[1.0, 1.0, 2.0]]), np.array([[1.0, 0.0, 0.0]]))[1].round(2)
    array([[0.  , 0.33, 0.67]])
    """
    if positive.dtype == bool:
        both = weights * positive, weights * np.logical_not(positive)
        of_positive, of_negative = (each / each.sum(axis=1, keepdims=True) for each in both)
        return of_positive, of_negative
    part = weights / weights.sum(axis=1, keepdims=True)
    mean = (part * positive).sum(axis=1, keepdims=True)
    deviation = positive - mean
    slope = part * deviation
    slope /= (slope * deviation).sum(axis=1, keepdims=True)
    return part + (1.0 - mean) * slope, part - mean * slope


def rates(scores: Floats, positive: Floats, negative: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores from the highest to the lowest, and the rates at each score.

    Parameters
    ----------
    scores : array (case,)
        From the highest to the lowest.
    positive, negative : array (draw, case)
        Weights from `shares`.

    Returns
    -------
    distinct : array (level,)
    sensitivity, false_positive_rate : array (draw, 1 + level)
        The shares of positive and of negative cases with at least the score of a level; the first
        column is 0.

    Examples
    --------
    >>> positive, negative = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.5, 0.5]])
    >>> rates(np.array([2.0, 2.0, 1.0]), positive, negative)
    (array([2., 1.]), array([[0., 1., 1.]]), array([[0. , 0.5, 1. ]]))
    """
    starts = np.flatnonzero(np.r_[True, scores[1:] != scores[:-1]])
    out = []
    for share in (positive, negative):
        total = np.zeros((len(share), 1 + len(starts)))
        by_level = share
        if len(starts) < len(scores):
            by_level = np.add.reduceat(share, starts, axis=1)
        np.cumsum(by_level, axis=1, out=total[:, 1:])
        total[:, -1] = 1.0  # without rounding
        out.append(total)
    return scores[starts], out[0], out[1]


def area(sensitivity: Floats, false_positive_rate: Floats, max_rate: float = 1.0) -> Floats:
    """Return the mean sensitivity over false positive rates from 0 to ``max_rate``, for each draw.

    The curve is linear between its points: equal scores of a positive and a negative case count
    half. For ``max_rate=1`` this is the area under the curve.

    >>> x, y = np.array([[0.0, 0.5, 1.0]]), np.array([[0.0, 1.0, 1.0]])
    >>> area(y, x), area(y, x, 0.5)
    (array([0.75]), array([0.5]))
    """
    x, y = false_positive_rate, sensitivity
    width, rise = np.diff(x, axis=1), np.diff(y, axis=1)
    start = y[:, :-1]
    if max_rate == 1.0:
        return np.einsum("dl,dl->d", width, start + 0.5 * rise)
    used = np.clip(max_rate - x[:, :-1], 0.0, width)
    slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)
    return np.einsum("dl,dl->d", used, start + 0.5 * slope * used) / max_rate


def curve(sensitivity: Floats, false_positive_rate: Floats, steps: int) -> Floats:
    """Return the sensitivity (draw, 1 + steps) at false positive rates 0, 1 / steps, ..., 1.

    Where a curve is vertical, this is the sensitivity at its upper end.

    >>> x, y = np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.5, 1.0]])
    >>> curve(y, x, 2)
    array([[0.5 , 0.75, 1.  ]])
    """
    draws, points = false_positive_rate.shape
    # Counting the points up to each rate is much faster than a binary search. The tolerance 1e-9
    # allows for rounding errors in the rates.
    bin_of = np.ceil(false_positive_rate * steps - 1e-9).astype(np.int64)
    bin_of += (steps + 1) * np.arange(draws)[:, None]
    counts = np.bincount(bin_of.ravel(), minlength=draws * (steps + 1)).reshape(draws, -1)
    low = np.cumsum(counts, axis=1) - 1
    high = np.minimum(low + 1, points - 1)
    start = points * np.arange(draws)[:, None]
    x, y = false_positive_rate.ravel(), sensitivity.ravel()
    left, right = x[low + start], x[high + start]
    lower, upper = y[low + start], y[high + start]
    offset = np.linspace(0.0, 1.0, steps + 1) - left
    width = right - left
    part = np.divide(offset, width, out=np.zeros_like(width), where=width > 1e-9)
    return np.asarray(lower + part * (upper - lower))


PLACES: Final = np.linspace(0.0, 1.0, 101)
"""False positive rates at which curves are stored."""
_BLOCK: Final = 120_000
"""Number of weights in a block, which stays in the processor's cache."""
_NEAR: Final = 1e-3
_MANY: Final = 0.05
"""There is a warning if more than this share of draws is outside 0 to 1 by more than `_NEAR`."""


def weights_of(
    true: Truth, study: Study, n: int, drawn: bool, rng: np.random.Generator
) -> Iterator[tuple[Flags | Floats, Floats]]:
    """Yield blocks of draws: which cases are positive, and the weights of cases (draw, case).

    If not ``drawn``, all weights are 1.
    """
    n_cases = len(study.cases)
    shape = _shapes(true, study)
    size = max(1, _BLOCK // n_cases)
    for start in range(0, n, size):
        stop = min(n, start + size)
        p = true.positive
        if not true.known:
            p = p[np.arange(start, stop) % len(p)]
        if drawn:
            weights = rng.gamma(shape, size=(stop - start, len(shape)))
            yield p, weights if study.cluster is None else weights[:, study.cluster]
        else:
            yield p, np.ones((stop - start, n_cases))


def _shapes(true: Truth, study: Study) -> Floats:
    """Return the shape of the gamma weight of each case, or of each cluster.

    If the weights of n cases are gamma variables of shape (n - 2) / n, divided by their sum, the
    variance of a weighted mean is s^2 / n, with n - 1 in the denominator of s^2. A cluster with
    cases of both kinds has the smaller of the two shapes, which gives the larger variance.
    """
    if not true.known:
        n = len(study.cases) if study.cluster is None else clusters_of(true, study, True)
        return np.full(len(study.cases) if study.cluster is None else n, (n - 2) / n)
    positive = true.positive[0]
    if study.cluster is None:
        n_kind = np.where(positive, positive.sum(), (~positive).sum())
        return np.asarray((n_kind - 2) / n_kind)
    out = np.ones(int(study.cluster.max()) + 1)
    for kind in (True, False):
        n = clusters_of(true, study, kind)
        clusters = np.unique(study.cluster[positive == kind])
        out[clusters] = np.minimum(out[clusters], (n - 2) / n)
    return out


class Measured(NamedTuple):
    """The values to compute for each reading."""

    readings: Sequence[Reading]
    thresholds: Floats
    """(reading, threshold), ascending."""
    max_rate: float
    n_modalities: int

    def over(
        self,
        blocks: Iterable[tuple[Flags | Floats, Floats]],
        study: Study,
        true: Truth,
        observed: dict[str, Floats],
    ) -> dict[str, Floats]:
        """Return values (draw, reading, ...) by name, and mean curves (draw, modality, place).

        ``observed`` is the result of the method `observed`.
        """
        power = [_powers(reading, study, true) for reading in self.readings]
        modality = np.array([reading.modality for reading in self.readings])
        parts = []
        for positive, weights in blocks:
            part = self._block(positive, weights, power)
            curves = [part["curve"][:, modality == k].mean(1) for k in range(self.n_modalities)]
            parts.append(part | {"curve": np.stack(curves, axis=1)})
        out = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        if self.max_rate < 1:
            # With few cases the observed area is biased, and weights add this bias a second time.
            # The mean of draws minus the observed area estimates the bias: subtract it twice.
            out["partial_auc"] -= 2 * (out["partial_auc"].mean(axis=0) - observed["partial_auc"])
        return out

    def observed(self, true: Truth) -> dict[str, Floats]:
        """Return values (reading, ...) by name, with equal weights of cases."""
        positive = true.positive[:: max(1, len(true.positive) // 200)]
        part = self._block(positive, np.ones(positive.shape), [None] * len(self.readings))
        return {name: array.mean(axis=0) for name, array in part.items()}

    def _block(
        self, positive: Flags | Floats, weights: Floats, power: Sequence[Floats | None]
    ) -> dict[str, Floats]:
        shape = (len(weights), len(self.readings))
        out = {"auc": np.empty(shape), "curve": np.empty((*shape, len(PLACES)))}
        if self.max_rate < 1:
            out["partial_auc"] = np.empty(shape)
        if self.thresholds.shape[1]:
            at = (*shape, self.thresholds.shape[1])
            out |= {"sensitivity": np.empty(at), "specificity": np.empty(at)}
        for k, reading in enumerate(self.readings):
            order = np.argsort(-reading.score, kind="stable")
            case = reading.case[order]
            own = weights[:, case]
            exponent = power[k]
            if exponent is not None:
                own = own ** exponent[order]
            pair = shares(own, positive[:, case])
            distinct, sensitivity, false_positive_rate = rates(reading.score[order], *pair)
            out["auc"][:, k] = area(sensitivity, false_positive_rate)
            x, y = false_positive_rate, sensitivity
            if positive.dtype != bool:  # cumulative rates from a regression may decrease
                x, y = (np.maximum.accumulate(np.clip(z, 0.0, 1.0), axis=1) for z in (x, y))
            out["curve"][:, k] = curve(y, x, len(PLACES) - 1)
            if self.max_rate < 1:
                out["partial_auc"][:, k] = area(sensitivity, false_positive_rate, self.max_rate)
            if self.thresholds.shape[1]:
                place = np.searchsorted(-distinct, -self.thresholds[k], side="right")
                out["sensitivity"][:, k] = sensitivity[:, place]
                out["specificity"][:, k] = 1.0 - false_positive_rate[:, place]
        return out


def _powers(reading: Reading, study: Study, true: Truth) -> Floats | None:
    """Return the exponent of each case's weight in a reading; None if all cases were read.

    The gamma weights, divided by their mean, have the right variance n / (n - 2) for all n cases of
    the study. A reading of m < n cases needs the variance m / (m - 2), which is larger. A power of
    the weight has this variance, is positive, and depends on the same random number.
    """
    if len(reading.case) == len(study.cases):
        return None
    unit = np.arange(len(study.cases)) if study.cluster is None else study.cluster
    if not true.known:
        power = _power(len(np.unique(unit)), len(np.unique(unit[reading.case])))
        return np.full(len(reading.case), power)
    positive = true.positive[0]
    read_positive = positive[reading.case]
    kinds = [
        _power(
            len(np.unique(unit[positive == k])),
            len(np.unique(unit[reading.case][read_positive == k])),
        )
        for k in (False, True)
    ]
    return np.asarray(np.where(read_positive, kinds[1], kinds[0]))


def _power(n: int, m: int) -> float:
    """Return p for which G**p over its mean has the variance m / (m - 2).

    G is a gamma variable of shape (n - 2) / n.
    """
    m = max(m, FEWEST)
    if m >= n:
        return 1.0
    shape = (n - 2) / n

    def excess(power: float) -> float:
        second, first = gammaln(shape + 2 * power), gammaln(shape + power)  # log moments
        return float(second + gammaln(shape) - 2 * first - np.log1p(m / (m - 2)))

    return float(brentq(excess, 1.0, 4.0))


def correct_extremes(
    drawn: dict[str, Floats],
    observed: dict[str, Floats],
    readings: Sequence[Reading],
    study: Study,
    true: Truth,
    max_rate: float,
    rng: np.random.Generator,
) -> None:
    r"""Correct draws of values near 0 or 1 in the data: where few cases err, draws vary too little.

    Rates of 0 and 1 are drawn with Jeffreys' prior. If some area is 1 or 0, areas are drawn with
    half a case of each kind added, which lies beyond a share :math:`u^2` of the cases of the other
    kind, with u uniform. If this lowers an area of 1 by E on average, areas of 1 - d are lowered by
    :math:`\max(0, 1 - d / 2E)` times as much: a reader without errors has the larger area. All
    readers and thresholds of a modality use the same random numbers. Modalities and systems use
    different ones: two that make no errors may still differ.
    """
    if not true.known:
        return
    extreme = {
        name: bool((np.minimum(values, 1.0 - values) < _ROUNDING).any())
        for name, values in observed.items()
        if name != "curve"
    }
    chance: dict[tuple[int, int], Floats] = {}
    for place, reading in enumerate(readings):
        key = (reading.modality, place if reading.modality == UNKNOWN else UNKNOWN)
        if key not in chance:
            chance[key] = rng.random((4, len(drawn["auc"])))
        counts = units_of_kinds(study, true, reading.case)
        for name in [name for name in extreme if extreme[name] and min(counts) > 0]:
            for rest in np.ndindex(observed[name].shape[1:]):
                value, at = float(observed[name][(place, *rest)]), (slice(None), place, *rest)
                low = value < 0.5
                distance = value if low else 1.0 - value
                if name in _OF_AREAS:
                    most = 1.0 if name == "auc" else max_rate
                    excess = _of_added_cases(counts, chance[key], most, low=low)
                    part = max(0.0, 1.0 - distance / (2.0 * float(excess.mean())))
                    drawn[name][at] += part * (excess if low else -excess)
                elif distance < _ROUNDING:
                    kind = 0 if name == "sensitivity" else 1
                    excess = betaincinv(0.5, counts[kind] + 0.5, chance[key][kind])
                    drawn[name][at] = excess if low else 1.0 - excess


_OF_AREAS: Final = ("auc", "partial_auc")
_ROUNDING: Final = 1e-9


def _of_added_cases(
    counts: tuple[float, float], chance: Floats, most: float, *, low: bool
) -> Floats:
    """Return by how much added cases move an area up to the rate ``most`` of 1, or of 0 if ``low``.

    ``chance`` (4, draw) are random numbers: of the weights of the positive and the negative case,
    and the square roots of the shares of cases of the other kind beyond which they lie.
    """
    positive, negative = (
        betaincinv(0.5, n, quantile) for n, quantile in zip(counts, chance[:2], strict=True)
    )
    of_positive, of_negative = chance[2:] ** 2
    reached = (np.maximum(most - 1.0 + rate, 0.0) if low else np.minimum(rate, most)
               for rate in (of_positive, negative))  # fmt: skip
    by_positive, by_negative = (
        size * rate / most for size, rate in zip((positive, of_negative), reached, strict=True)
    )
    return np.asarray(by_positive + by_negative - by_positive * by_negative)


def warn_of_bounds(drawn: dict[str, Floats]) -> None:
    """Warn if many draws are outside 0 to 1, as is possible with a regression on probabilities."""
    for name, array in drawn.items():
        outside = float(((array < -_NEAR) | (array > 1 + _NEAR)).mean())
        if outside > _MANY and name != "curve":
            warn_caller(
                f"{percent(outside)} of the draws of {name} were outside 0 to 1, and are set to 0 "
                "or 1: the truth is too uncertain for so few cases."
            )
