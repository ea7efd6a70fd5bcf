r"""Effects of readers and cases on scores, of which only the order is used.

A score of reading j (a reader with a modality, or a system) for case i with true label d, 0 or 1,
is an unknown increasing function, different for each reading, of the latent number

.. math:: y_{ij} = d\,a_j + \tau_d (u_i + v_{i m(j)} + w_{i r(j)} + e_{ij}), \qquad
    e_{ij} \sim N(0, 1), \quad \tau_0 = 1

with the separation :math:`a_j` of the reading, and normal effects of a case: u alone, v with the
modality m(j), and w with the reader r(j). Equal scores of a reading form a grade. The likelihood is
the probability that all latent numbers of a grade are below all those of the next grade. The
sampler has one more parameter for each grade except the highest: the largest latent number of the
grade. Given effects, these parameters are drawn with all other latent numbers integrated out.

Separations are normal around :math:`T` times the probit of an average area, where :math:`T^2` is
the sum of the latent variances of a positive and a negative case. All Gaussian parts are drawn
jointly: separations with the effects of cases integrated out, then the effects. Then two moves are
made that do not change the likelihood (Liu & Sabatti 2000). One shifts the effects of all cases.
The other multiplies separations, latent numbers, effects and their standard deviations by a common
factor; the standard deviation of residuals stays 1.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import backwards, factorised, forwards, inverted
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.kernels.variates import normal, normal_between

AREA: Final = (1.0, 1.0)
"""Mean and standard deviation of the prior of an average area's probit: areas from .5 to .98 are
within one standard deviation of the mean."""
READER_SCALE: Final = 0.2
"""Scale of half-normal priors of standard deviations of probits of areas: between readers, and
between modalities within a reader."""
EFFECT_SCALE: Final = 1.0
"""Scale of half-normal priors of standard deviations of effects of cases. In the simulations of Roe
& Metz (1997) these are .4 to 1.2. The standard deviation of residuals is 1."""
RATIO_SCALE: Final = 0.5
"""Prior standard deviation of the logarithm of the ratio of positive to negative cases' spread."""
_JITTER: Final = 1e-9
"""Added to the prior variance of each separation: the covariance is singular if readers do not
differ."""


class Scores(NamedTuple):
    """Scores, in the order of readings, and of grades within a reading."""

    reading: Ints  # (score,)
    case: Ints  # (score,)
    positive: Ints  # (score,): 0 or 1
    start: Ints  # (reading, grade + 1): where grades begin; then, repeated, where the last ends
    n_grades: Ints  # (reading,)
    of_case: Ints  # (score,): indices of scores, sorted by case
    case_start: Ints  # (case + 1,): where a case begins in `of_case`
    group: Ints  # (case,): cases with the same readings are a group


class Readings(NamedTuple):
    """Modality and reader of each reading. Each system is a separate modality and reader."""

    modality: Ints  # (reading,)
    reader: Ints  # (reading,)
    is_system: Flags  # (reading,)


class Values(NamedTuple):
    """Current values of all parameters and latent numbers."""

    cut: Floats  # (reading, grade): the largest latent number of each grade except the highest
    separation: Floats  # (reading,)
    area: Floats  # (modality,): probit of the area of an average reader
    between: Floats  # (2,): standard deviations of readers, and of modalities within a reader
    sd: Floats  # (3,): of effects of a case: alone, with a modality, with a reader
    ratio: Floats  # (truth,): 1, and the spread of positive cases over that of negative ones
    effect: Floats  # (case, 1 + modality + reader)
    centre: Floats  # (score,): latent numbers without residuals
    latent: Floats  # (score,)


@inner
def total(sd: Floats, ratio: Floats) -> float:
    """Return T squared, the sum of the variances of a positive and a negative case."""
    return (sd[0] ** 2 + sd[1] ** 2 + sd[2] ** 2 + 1.0) * (1.0 + ratio[1] ** 2)


# Separations of readings.


@inner
def _prior_factor(
    modality: Ints, reader: Ints, is_system: Flags, between: Floats, out: Floats
) -> bool:
    """Write the Cholesky factor of the prior covariance of separations divided by T."""
    n = len(modality)
    for i in range(n):
        for j in range(n):
            out[i, j] = AREA[1] ** 2 if modality[i] == modality[j] else 0.0
            if not is_system[i] and reader[i] == reader[j]:
                out[i, j] += between[0] ** 2
                if i == j:
                    out[i, j] += between[1] ** 2
        out[i, i] += _JITTER
    return factorised(out, n)


@inner
def _prior_precision(modality: Ints, reader: Ints, is_system: Flags, between: Floats) -> Floats:
    """Return the inverse of the prior covariance of separations divided by T."""
    n = len(modality)
    root, out = np.empty((n, n)), np.empty((n, n))
    _prior_factor(modality, reader, is_system, between, root)
    inverted(root, n, out)
    return out


@inner
def given_total(variance: float, sums: Floats) -> float:
    """Return the log prior density of separations as a function of T squared, up to a constant."""
    out = -0.5 * sums[0] * math.log(variance) - 0.5 * sums[2] / variance
    return out + AREA[0] * sums[1] / math.sqrt(variance)


@kernel
def sum_separations(
    separation: Floats, between: Floats, modality: Ints, reader: Ints, is_system: Flags,
    sums: Floats,
) -> None:  # fmt: skip
    """Write ``sums`` for `given_total`: the number of separations s, 1' P s, and s' P s.

    P is the inverse prior covariance of separations divided by T.
    """
    n = len(separation)
    root, whitened_ones, whitened = np.empty((n, n)), np.ones(n), separation.copy()
    _prior_factor(modality, reader, is_system, between, root)
    forwards(root, n, whitened_ones)
    forwards(root, n, whitened)
    sums[0], sums[1], sums[2] = n, 0.0, 0.0
    for j in range(n):
        sums[1] += whitened_ones[j] * whitened[j]
        sums[2] += whitened[j] ** 2


@inner
def _between_density(
    x: float, place: int, scale: float, modality: Ints, reader: Ints, is_system: Flags,
    separation: Floats, unit: float, between: Floats, root: Floats, rest: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logarithm of a standard deviation between readers."""
    between[place] = math.exp(x)
    if not _prior_factor(modality, reader, is_system, between, root):
        return -math.inf
    out, n = x - 0.5 * (between[place] / scale) ** 2, len(separation)
    for i in range(n):
        rest[i] = separation[i] / unit - AREA[0]
    forwards(root, n, rest)
    for i in range(n):
        out -= math.log(root[i, i]) + 0.5 * rest[i] * rest[i]
    return out


_slice_between = slicer(_between_density)


@kernel
def move_separations(
    state: State, separation: Floats, between: Floats, sd: Floats, ratio: Floats, effect: Floats,
    latent: Floats, reading: Ints, positive: Ints, of_case: Ints, case_start: Ints, group: Ints,
    modality: Ints, reader: Ints, is_system: Flags, n_areas: int, parts: int,
) -> None:  # fmt: skip
    """Draw separations with the effects of cases integrated out, then these effects.

    The standard deviations between readers are drawn first, given separations. ``parts`` is the
    number of these standard deviations, 2 or 1. A single one has the prior of both combined.
    """
    n_readings, n_cases = len(separation), len(group)
    root = np.empty((n_readings, n_readings))
    rest, right = np.empty(n_readings), np.zeros(n_readings)
    unit = math.sqrt(total(sd, ratio))
    scale = READER_SCALE if parts == 2 else math.sqrt(2.0) * READER_SCALE
    for place in range(parts):
        between[place] = math.exp(
            _slice_between(
                state, math.log(between[place]), 1.0, place, scale, modality, reader, is_system,
                separation, unit, between, root, rest,
            )
        )  # fmt: skip
    prior = _prior_precision(modality, reader, is_system, between)
    precision = prior / (unit * unit)
    for i in range(n_readings):
        for j in range(n_readings):
            right[i] += prior[i, j] * AREA[0] / unit
    factor, inverse = _of_groups(sd, reading, of_case, case_start, group, modality, reader)
    for c in range(n_cases):
        first = case_start[c]
        n = case_start[c + 1] - first
        if n == 0 or not positive[of_case[first]]:
            continue
        for a in range(n):
            i = reading[of_case[first + a]]
            for b in range(n):
                place = of_case[first + b]
                weight = inverse[group[c], a, b] / ratio[1] ** 2
                precision[i, reading[place]] += weight
                right[i] += weight * latent[place]
    factorised(precision, n_readings)
    forwards(precision, n_readings, right)
    for j in range(n_readings):
        right[j] += normal(state)
    backwards(precision, n_readings, right)
    for j in range(n_readings):
        separation[j] = right[j]
    # Effects of cases: a draw from the prior, corrected by the differences of the latent numbers
    # from this draw.
    wide = np.empty(factor.shape[1])
    for c in range(n_cases):
        first = case_start[c]
        n = case_start[c + 1] - first
        for k in range(effect.shape[1]):
            effect[c, k] = sd[_kind(k, n_areas)] * normal(state)
        for a in range(n):
            place = of_case[first + a]
            j, d = reading[place], positive[place]
            wide[a] = (latent[place] - d * separation[j]) / ratio[d] - normal(state)
            for kind in range(3):
                wide[a] -= effect[c, _column(kind, j, modality, reader, n_areas)]
        forwards(factor[group[c]], n, wide)
        backwards(factor[group[c]], n, wide)
        for a in range(n):
            j = reading[of_case[first + a]]
            for kind in range(3):
                effect[c, _column(kind, j, modality, reader, n_areas)] += sd[kind] ** 2 * wide[a]


@inner
def _column(kind: int, j: int, modality: Ints, reader: Ints, n_areas: int) -> int:
    """Return the column, in ``effect``, of a case's effect of this kind in reading j."""
    if kind == 0:
        return 0
    return 1 + modality[j] if kind == 1 else 1 + n_areas + reader[j]


@inner
def _kind(column: int, n_areas: int) -> int:
    """Return the kind of the effects in a column."""
    if column == 0:
        return 0
    return 1 if column <= n_areas else 2


@inner
def _of_groups(
    sd: Floats, reading: Ints, of_case: Ints, case_start: Ints, group: Ints, modality: Ints,
    reader: Ints,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return Cholesky factors and inverses of the covariance of each group of cases.

    Both are (group, score of a case, score of a case). The covariance is of latent numbers divided
    by their ratio, given separations.
    """
    widest, n_groups = 0, 0
    for c in range(len(group)):
        widest = max(widest, case_start[c + 1] - case_start[c])
        n_groups = max(n_groups, group[c] + 1)
    factor, inverse = np.empty((n_groups, widest, widest)), np.empty((n_groups, widest, widest))
    made = np.zeros(n_groups, dtype=np.bool_)
    for c in range(len(group)):
        first, g = case_start[c], group[c]
        n = case_start[c + 1] - first
        if made[g]:
            continue
        made[g] = True
        for a in range(n):
            i = reading[of_case[first + a]]
            for b in range(n):
                j = reading[of_case[first + b]]
                factor[g, a, b] = sd[0] ** 2
                if modality[i] == modality[j]:
                    factor[g, a, b] += sd[1] ** 2
                if reader[i] == reader[j]:
                    factor[g, a, b] += sd[2] ** 2
            factor[g, a, a] += 1.0
        factorised(factor[g], n)
        inverted(factor[g], n, inverse[g])
    return factor, inverse


# Standard deviations of effects of cases.


@inner
def _sd_density(
    x: float, n: float, squares: float, others: float, both: float, sums: Floats
) -> float:
    """Return the log density of the logarithm of a standard deviation, given its effects."""
    sd = math.exp(x)
    out = x - n * x - 0.5 * squares / (sd * sd) - 0.5 * (sd / EFFECT_SCALE) ** 2
    return out + given_total((others + sd * sd) * both, sums)


_slice_sd = slicer(_sd_density)


@inner
def _slope_density(
    x: float, at: float, over: float, others: float, both: float, sums: Floats
) -> float:
    """Return the log density of a standard deviation, given the effects divided by it."""
    if x <= 0.0:
        return -math.inf
    return -0.5 * over * (x - at) ** 2 + given_total((others + x * x) * both, sums)


_slice_slope = slicer(_slope_density)


@kernel
def move_spreads(
    state: State, sd: Floats, ratio: Floats, effect: Floats, separation: Floats, latent: Floats,
    centre: Floats, reading: Ints, case: Ints, positive: Ints, modality: Ints, reader: Ints,
    n_areas: int, is_seen: Flags, sums: Floats,
) -> None:  # fmt: skip
    """Draw standard deviations of effects of cases: given effects, then given standardised effects.

    The second draw is from a regression of latent numbers on standardised effects (Yu & Meng 2011).
    ``is_seen`` (case, effect) is whether any score depends on the effect.
    """
    both = 1.0 + ratio[1] ** 2
    for kind in range(3):
        if sd[kind] == 0.0:
            continue
        others = total(sd, ratio) / both - sd[kind] ** 2
        count, squares = 0.0, 0.0
        for k in range(effect.shape[1]):
            if _kind(k, n_areas) == kind:
                for c in range(len(effect)):
                    if is_seen[c, k]:
                        count += 1.0
                        squares += effect[c, k] ** 2
        before = math.exp(
            _slice_sd(
                state, math.log(sd[kind]), 2.0 / math.sqrt(count), count, squares, others, both,
                sums,
            )
        )  # fmt: skip
        over, slopes = 1.0 / EFFECT_SCALE**2, 0.0
        for n in range(len(latent)):
            c, j, d = case[n], reading[n], positive[n]
            own = effect[c, _column(kind, j, modality, reader, n_areas)]
            rest = (latent[n] - d * separation[j]) / ratio[d] + own
            for each_kind in range(3):
                rest -= effect[c, _column(each_kind, j, modality, reader, n_areas)]
            over += (own / before) ** 2
            slopes += own / before * rest
        sd[kind] = _slice_slope(
            state, before, 2.0 / math.sqrt(over), slopes / over, over, others, both, sums
        )
        for k in range(effect.shape[1]):
            if _kind(k, n_areas) == kind:
                for c in range(len(effect)):
                    effect[c, k] *= sd[kind] / before
    for n in range(len(latent)):
        c, j, d = case[n], reading[n], positive[n]
        centre[n] = 0.0
        for kind in range(3):
            centre[n] += effect[c, _column(kind, j, modality, reader, n_areas)]
        centre[n] = d * separation[j] + ratio[d] * centre[n]


# Moves that do not change the likelihood.


@inner
def _stretch_density(
    x: float, n: float, squares: float, sd: Floats, ratio: Floats, sums: Floats
) -> float:
    """Return the log density of the logarithm of the factor by which all numbers are stretched.

    The density of effects does not change, because their standard deviations are stretched too. The
    density of residuals changes, because their standard deviation stays 1.
    """
    f = math.exp(x)
    out, stretched, scaled = (n + sums[0]) * x - 0.5 * f * f * squares, np.empty(3), np.empty(3)
    for k in range(3):
        stretched[k], scaled[k] = f * sd[k], f**k * sums[k]
        if sd[k] > 0.0:
            out += x - 0.5 * (stretched[k] / EFFECT_SCALE) ** 2
    return out + given_total(total(stretched, ratio), scaled)


_slice_stretch = slicer(_stretch_density)


@kernel
def move_together(
    state: State, cut: Floats, separation: Floats, sd: Floats, ratio: Floats, effect: Floats,
    centre: Floats, latent: Floats, reading: Ints, case: Ints, positive: Ints, modality: Ints,
    reader: Ints, n_areas: int, is_seen: Flags, sums: Floats,
) -> None:  # fmt: skip
    """Shift the effects of all cases of each kind, and stretch all numbers."""
    scale = np.ones(len(effect))
    for n in range(len(latent)):
        scale[case[n]] = ratio[positive[n]]
    shift = np.zeros(effect.shape[1])
    for k in range(len(shift)):
        own = sd[_kind(k, n_areas)]
        if own == 0.0:
            continue
        over, slopes = 0.0, 0.0
        for c in range(len(effect)):
            if is_seen[c, k]:
                over += 1.0 / (own * scale[c]) ** 2
                slopes -= effect[c, k] / (own**2 * scale[c])
        shift[k] = slopes / over + normal(state) / math.sqrt(over)
        for c in range(len(effect)):
            if is_seen[c, k]:
                effect[c, k] += shift[k] / scale[c]
    squares = 0.0
    for n in range(len(latent)):
        squares += ((latent[n] - centre[n]) / ratio[positive[n]]) ** 2
    many = float(len(latent))
    f = math.exp(_slice_stretch(state, 0.0, 3.0 / math.sqrt(many), many, squares, sd, ratio, sums))
    for k in range(3):
        sd[k] *= f
    for c in range(effect.shape[0]):
        for k in range(effect.shape[1]):
            effect[c, k] *= f
    for j in range(len(separation)):
        separation[j] *= f
        away = 0.0
        for kind in range(3):
            away += shift[_column(kind, j, modality, reader, n_areas)]
        for k in range(cut.shape[1]):
            cut[j, k] = f * (cut[j, k] + away)
    for n in range(len(latent)):
        away = 0.0
        for kind in range(3):
            away += shift[_column(kind, reading[n], modality, reader, n_areas)]
        centre[n] = f * (centre[n] + away)
        latent[n] = f * (latent[n] + away)


@inner
def _room(
    j: int, start: Ints, n_grades: Ints, positive: Ints, latent: Floats
) -> tuple[float, float]:
    """Return the lowest and highest shift of a reading's positive cases that keep its order."""
    low, high = -math.inf, math.inf
    highest_negative = highest_positive = -math.inf  # of lower grades
    for k in range(n_grades[j]):
        new_negative, new_positive = highest_negative, highest_positive
        for n in range(start[j, k], start[j, k + 1]):
            if positive[n]:
                low = max(low, highest_negative - latent[n])
                new_positive = max(new_positive, latent[n])
            else:
                high = min(high, latent[n] - highest_positive)
                new_negative = max(new_negative, latent[n])
        highest_negative, highest_positive = new_negative, new_positive
    return low, high


@kernel
def move_apart(
    state: State, cut: Floats, separation: Floats, between: Floats, sd: Floats, ratio: Floats,
    centre: Floats, latent: Floats, start: Ints, n_grades: Ints, positive: Ints, modality: Ints,
    reader: Ints, is_system: Flags,
) -> None:  # fmt: skip
    """Shift the latent numbers of each reading's positive cases, and the reading's separation.

    The order of grades limits the shift. The move improves mixing if a reader makes hardly any
    errors. Residuals do not change, so that the new separation has its normal prior given the other
    separations.
    """
    n, unit = len(separation), math.sqrt(total(sd, ratio))
    prior = _prior_precision(modality, reader, is_system, between)
    for j in range(n):
        slope = 0.0
        for i in range(n):
            slope -= prior[j, i] * (separation[i] / unit - AREA[0])
        spread = 1.0 / math.sqrt(prior[j, j])
        centre_of = slope * spread * spread
        low, high = _room(j, start, n_grades, positive, latent)
        away = centre_of + spread * normal_between(
            state, (low / unit - centre_of) / spread, (high / unit - centre_of) / spread
        )
        separation[j] += unit * away
        for k in range(n_grades[j]):
            top = -math.inf
            for m in range(start[j, k], start[j, k + 1]):
                if positive[m]:
                    latent[m] += unit * away
                    centre[m] += unit * away
                top = max(top, latent[m])
            if k < n_grades[j] - 1:
                cut[j, k] = top


@kernel
def draw_areas(
    state: State, separation: Floats, area: Floats, between: Floats, sd: Floats, ratio: Floats,
    modality: Ints, reader: Ints, is_system: Flags,
) -> None:  # fmt: skip
    """Draw probits of average areas: a draw from the prior, corrected like effects of cases.

    These probits are drawn last, because they are integrated out in all other moves.
    """
    n, n_readers = len(separation), 0
    rest, unit = np.empty(n), math.sqrt(total(sd, ratio))
    prior = _prior_precision(modality, reader, is_system, between)
    for m in range(len(area)):
        area[m] = AREA[0] + AREA[1] * normal(state)
    for j in range(n):
        n_readers = max(n_readers, reader[j] + 1)
    of_reader = np.empty(n_readers)
    for r in range(n_readers):
        of_reader[r] = between[0] * normal(state)
    for j in range(n):
        rest[j] = separation[j] / unit - area[modality[j]] - math.sqrt(_JITTER) * normal(state)
        if not is_system[j]:
            rest[j] -= of_reader[reader[j]] + between[1] * normal(state)
    for j in range(n):
        for k in range(n):
            area[modality[j]] += AREA[1] ** 2 * prior[j, k] * rest[k]
