"""Areas under ROC curves by a model of latent scores, for studies with few cases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import ndtr, ndtri

from dissensus.dims import SAMPLE
from dissensus.errors import ArgumentError, held_back, shown
from dissensus.kernels import reader_effects as kernels
from dissensus.kernels import reader_scores
from dissensus.kernels.random import started
from dissensus.kernels.reader_effects import Readings, Scores, Values
from dissensus.kernels.special import both_below
from dissensus.kernels.types import Array, Flags, Floats, Ints
from dissensus.sampling import convergence
from dissensus.sampling.chains import swept
from dissensus.sampling.interruption import all_or_nothing
from dissensus.statistics._reader_areas import PLACES
from dissensus.statistics._reader_scores import Reading, Study, Truth
from dissensus.wording import listed

CHAINS: Final = 4
WARM_UP: Final = 200
SWEEPS: Final = 2
"""Sweeps per draw."""
GRADES: Final = 10
"""Maximum number of grades into which the scores of a reading are divided."""
MOST: Final = 20_000.0
"""Maximum duration of a sweep in microseconds; sampling then takes two minutes on two
processors."""


class Posterior(NamedTuple):
    """Draws of all chains, one chain after the other."""

    separation: Floats
    """(draw, reading): the probit of the area, which is the separation divided by the standard
    deviation of the difference between a positive and a negative case."""
    area: Floats
    """(draw, modality): mean over all readers of the probit of the area."""
    between: Floats
    """(draw, 2): standard deviations of probits between readers, and between modalities."""
    variance: Floats
    """(draw, truth): variances of latent scores, of negative and of positive cases."""
    diagnostics: dict[str, Any]


def refuse(
    readings: Sequence[Reading], systems: Mapping[Any, Reading], study: Study, true: Truth,
    *, new_cases: bool,
) -> None:  # fmt: skip
    """Raise if the model is not suitable for a study; the message lists all reasons."""
    all_readings = [*readings, *systems.values()]
    names = [*_names(readings, study), *(f"system {name}" for name in systems)]
    constant = [
        name
        for name, reading in zip(names, all_readings, strict=True)
        if np.ptp(reading.score) == 0
    ]
    reasons = [
        reason
        for reason, applies in (
            ("cluster=", study.cluster is not None),
            ("a fit as truth=", not true.known),
            ("new_cases=False", not new_cases),
            (f"one score for all cases from {shown(constant)}", constant),
            (f"too large a study ({len(study.case):,} scores)", _effort(all_readings) > MOST),
        )
        if applies
    ]
    if reasons:
        raise ArgumentError(
            "areas",
            expected="'empirical', as the model of latent scores is for new cases without "
            "clusters, whose true labels are known, and for small studies",
            found=f"'latent' with {listed(reasons)}",
        )


def _effort(readings: Sequence[Reading]) -> float:
    """Return the approximate duration of a sweep, in microseconds."""
    case = np.concatenate([reading.case for reading in readings])
    source = np.repeat(np.arange(len(readings)), [len(reading.case) for reading in readings])
    order = np.lexsort((source, case))
    cuts = np.flatnonzero(np.diff(case[order])) + 1
    groups = {source[rows].tobytes(): len(rows) for rows in np.split(order, cuts)}
    return float(len(case) + 5e-3 * len(readings) ** 3 + 1e-3 * sum(n**3 for n in groups.values()))


def _names(readings: Sequence[Reading], study: Study) -> list[str]:
    """Return names of readings for messages."""
    several = len(study.modalities) > 1
    return [
        f"reader {study.readers[reading.reader]}"
        + (f" with {study.modalities[reading.modality]}" if several else "")
        for reading in readings
    ]


def sample(
    readings: Sequence[Reading], systems: Mapping[Any, Reading], study: Study, true: Truth,
    draws: int, rng: np.random.Generator, *, show: bool,
) -> Posterior:  # fmt: skip
    """Draw from the posterior; readings of systems are last.

    ``draws`` is the number of draws of all chains together, a multiple of `CHAINS`.
    """
    all_readings = [*readings, *systems.values()]
    scores, layout = _laid_out(all_readings, len(systems), study, true)
    seeds = rng.integers(2**64, size=CHAINS, dtype=np.uint64)
    each = draws // CHAINS
    chains = [_Chain(scores, layout, len(study.cases), each, seed) for seed in seeds]
    with all_or_nothing():
        swept(chains, each, WARM_UP, "latent scores of readers", show)
    trace = [np.stack([getattr(chain.trace, name) for chain in chains]) for name in Trace._fields]
    separation, area, between, variance = trace
    separation = separation / np.sqrt(variance.sum(axis=-1, keepdims=True))
    area = area[..., : len(study.modalities)]
    with held_back():  # warnings with advice for fits; `concerns` warns with advice for studies
        diagnostics = convergence.diagnosed_parameters({
            "area": xr.DataArray(ndtr(separation), dims=(*SAMPLE, "reading")),
            "average area": xr.DataArray(ndtr(area), dims=(*SAMPLE, "modality")),
        })  # fmt: skip
    diagnostics["grades_min"] = int(scores.n_grades.min())
    separation, area, between, variance = (
        array.reshape(-1, array.shape[-1]) for array in (separation, area, between, variance)
    )
    named = {f"areas_{name}": value for name, value in diagnostics.items()}
    return Posterior(separation, area, between, variance, named)


def _laid_out(
    readings: Sequence[Reading], n_systems: int, study: Study, true: Truth
) -> tuple[Scores, Readings]:
    """Return grades, sorted by reading and grade, and the modality and reader of each reading."""
    positive = true.positive[0].astype(np.int64)
    columns, n_grades = [], []
    for j, reading in enumerate(readings):
        grade = graded(reading.score)
        order = np.argsort(grade, kind="stable")
        case = reading.case[order]
        columns.append((np.full(len(case), j), case, positive[case], grade[order]))
        n_grades.append(int(grade.max()) + 1)
    reading_code, case, kind, grade = (np.concatenate(part) for part in zip(*columns, strict=True))
    widest = max(n_grades)
    key = reading_code * (widest + 1) + grade
    places = np.arange(len(readings))[:, None] * (widest + 1) + np.arange(widest + 1)
    of_case = np.lexsort((reading_code, case))
    case_start = np.searchsorted(case[of_case], np.arange(len(study.cases) + 1))
    own = [
        tuple(reading_code[of_case[first:stop]].tolist()) for first, stop in pairwise(case_start)
    ]
    number = {names: k for k, names in enumerate(dict.fromkeys(own))}
    people = readings[: len(readings) - n_systems]
    # Readers without a reading are not numbered.
    reader_codes, reader = np.unique([reading.reader for reading in people], return_inverse=True)
    n_modalities, n_readers, system_codes = (
        len(study.modalities),
        len(reader_codes),
        np.arange(n_systems),
    )
    layout = Readings(
        modality=np.array(
            [*(reading.modality for reading in people), *(n_modalities + system_codes)]
        ),
        reader=np.array([*reader, *(n_readers + system_codes)]),
        is_system=np.arange(len(readings)) >= len(people),
    )
    scores = Scores(
        reading=reading_code, case=case, positive=kind, start=np.searchsorted(key, places),
        n_grades=np.array(n_grades), of_case=of_case, case_start=case_start,
        group=np.array([number[names] for names in own]),
    )  # fmt: skip
    return scores, layout


def graded(score: Floats) -> Ints:
    """Return the grade of each score, from 0. Grades are the distinct scores if these are few.

    If there are more than `GRADES` distinct scores, they are divided into grades of similar size.

    >>> graded(np.array([3.0, 1.0, 3.0]))
    array([1, 0, 1])
    """
    values, place, count = np.unique(score, return_inverse=True, return_counts=True)
    if len(values) <= GRADES:
        return np.asarray(place)
    grade_of, grade, held, left = np.empty(len(values), dtype=np.int64), 0, 0, len(score)
    for k, many in enumerate(count.tolist()):
        # Start a grade if more than half of the scores with this value would exceed an equal share.
        if held and grade < GRADES - 1 and held + many / 2 > left / (GRADES - grade):
            grade, held, left = grade + 1, 0, left - held
        grade_of[k] = grade
        held += many
    return np.asarray(grade_of[place])


class Trace(NamedTuple):
    """Arrays in which draws are stored."""

    separation: Floats
    area: Floats
    between: Floats
    variance: Floats


class _Chain:
    """A chain with its state and trace."""

    scratch = frozenset({"sums"})

    def __init__(
        self, scores: Scores, layout: Readings, n_cases: int, draws: int, seed: int
    ) -> None:
        self.scores, self.layout = scores, layout
        n_readings, n_areas = len(layout.reader), int(layout.modality.max()) + 1
        n_effects = 1 + n_areas + int(layout.reader.max()) + 1
        self.is_seen = _seen(scores, layout, n_cases, n_areas, n_effects)
        people = ~layout.is_system
        repeated = len(np.unique(layout.reader)) < n_readings  # a reader with several modalities
        several = len(np.unique(layout.modality[people])) > 1
        self.parts = 2 if repeated and several else 1
        rng = np.random.default_rng(seed)
        sd = rng.uniform(0.3, 1.2, 3) * [1, n_areas > 1, repeated]
        n_scores = len(scores.case)
        self.now = Values(
            cut=_first_cuts(scores), separation=np.full(n_readings, 2.0),
            area=np.ones(n_areas), between=np.array([0.1, 0.1 * (self.parts - 1)]), sd=sd,
            ratio=np.ones(2), effect=np.zeros((n_cases, n_effects)),
            centre=2.0 * scores.positive.astype(np.float64), latent=np.empty(n_scores),
        )  # fmt: skip
        self.state, self.sums = started(seed), np.empty(3)
        self.trace = Trace(*(np.empty((draws, n)) for n in (n_readings, n_areas, 2, 2)))

    def advance(self, first: int, n: int) -> None:
        """Advance by n draws; draws with negative numbers are warm-up and not stored."""
        for draw in range(first, first + n):
            for _ in range(SWEEPS):
                self._sweep()
            if draw >= 0:
                now, trace = self.now, self.trace
                kernels.draw_areas(
                    self.state,
                    now.separation,
                    now.area,
                    now.between,
                    now.sd,
                    now.ratio,
                    *self.layout,
                )
                trace.separation[draw], trace.area[draw] = now.separation, now.area
                trace.between[draw] = now.between
                trace.variance[draw] = (1.0 + (now.sd**2).sum()) * now.ratio**2

    def _sweep(self) -> None:
        state, scores, layout, now, sums = self.state, self.scores, self.layout, self.now, self.sums
        n_areas = len(now.area)
        reader_scores.move_cuts(
            state, now.cut, scores.start, scores.n_grades, now.centre, scores.positive, now.ratio
        )
        kernels.sum_separations(now.separation, now.between, *layout, sums)
        reader_scores.move_latent(
            state, now.cut, scores.start, scores.n_grades, scores.reading, scores.positive,
            now.separation, now.sd, now.ratio, now.centre, sums, now.latent,
        )  # fmt: skip
        kernels.move_separations(
            state, now.separation, now.between, now.sd, now.ratio, now.effect, now.latent,
            scores.reading, scores.positive, scores.of_case, scores.case_start, scores.group,
            *layout, n_areas, self.parts,
        )  # fmt: skip
        kernels.sum_separations(now.separation, now.between, *layout, sums)
        kernels.move_spreads(
            state, now.sd, now.ratio, now.effect, now.separation, now.latent, now.centre,
            scores.reading, scores.case, scores.positive, layout.modality, layout.reader, n_areas,
            self.is_seen, sums,
        )  # fmt: skip
        kernels.move_together(
            state, now.cut, now.separation, now.sd, now.ratio, now.effect, now.centre, now.latent,
            scores.reading, scores.case, scores.positive, layout.modality, layout.reader, n_areas,
            self.is_seen, sums,
        )  # fmt: skip
        kernels.move_apart(
            state, now.cut, now.separation, now.between, now.sd, now.ratio, now.centre, now.latent,
            scores.start, scores.n_grades, scores.positive, *layout,
        )  # fmt: skip


def _seen(scores: Scores, layout: Readings, n_cases: int, n_areas: int, n_effects: int) -> Flags:
    """Return whether any score of a case depends on an effect: (case, effect)."""
    seen = np.zeros((n_cases, n_effects), dtype=bool)
    seen[scores.case, 0] = True
    seen[scores.case, 1 + layout.modality[scores.reading]] = True
    seen[scores.case, 1 + n_areas + layout.reader[scores.reading]] = True
    return seen


def _first_cuts(scores: Scores) -> Floats:
    """Return starting values of cuts: (reading, grade).

    They are quantiles of N(1, 1.6^2) for the shares of scores up to each grade.
    """
    out = np.zeros((len(scores.n_grades), scores.start.shape[1] - 1))
    for j, last in enumerate(scores.n_grades - 1):
        first, stop = scores.start[j, [0, last + 1]]
        below = (scores.start[j, 1 : last + 1] - first) / (stop - first)
        out[j, :last] = 1.0 + 1.6 * ndtri(below)
    return out


# Areas from draws of the posterior.


def areas(posterior: Posterior, max_rate: float) -> dict[str, Floats]:
    """Return areas (draw, reading) by name, with partial areas if ``max_rate`` is below 1."""
    out = {"auc": ndtr(posterior.separation)}
    if max_rate < 1:
        out["partial_auc"] = _partial(posterior, posterior.separation, 1.0, max_rate)
    return out


def averages(posterior: Posterior, name: str, max_rate: float) -> tuple[Floats, Floats]:
    """Return areas averaged over all possible readers, and standard deviations of areas.

    Averages are (draw, modality). Standard deviations, between readers and between modalities, are
    (draw, 2), or (draw, 1) if no reader uses several modalities.
    """
    wider = np.sqrt(1.0 + (posterior.between**2).sum(axis=1, keepdims=True))
    probit = posterior.area / wider
    at = posterior.area.mean(axis=1, keepdims=True)
    slope = np.exp(-0.5 * at**2) / math.sqrt(2.0 * math.pi)
    average = ndtr(probit) if name == "auc" else _partial(posterior, probit, wider, max_rate)
    known = posterior.between[:, : 1 + int(posterior.between[:, 1].any())]
    return average, known * slope


def _partial(posterior: Posterior, probit: Floats, wider: Any, max_rate: float) -> Floats:
    r"""Return mean sensitivities over false positive rates from 0 to ``max_rate``.

    A mean is the probability that a positive case has a higher score than a negative case, given
    that the negative case is among the share ``max_rate`` of negative cases with the highest
    scores. ``wider`` is the standard deviation of the difference between the two scores, divided by
    T of `reader_study`.
    """
    negative = np.sqrt(posterior.variance[:, :1] / posterior.variance.sum(axis=1, keepdims=True))
    shared = np.broadcast_to(-negative / wider, probit.shape)
    return np.asarray(both_below(probit, float(ndtri(max_rate)), shared) / max_rate).clip(0.0, 1.0)


def curves(posterior: Posterior, modality: Ints, n_modalities: int) -> Floats:
    """Return mean sensitivities of these readers at the rates `PLACES`: (draw, modality, place).

    ``modality`` (reading) is the modality of each reading, without systems.
    """
    out = np.zeros((len(posterior.variance), n_modalities, len(PLACES)))
    ratio = np.sqrt(posterior.variance / posterior.variance[:, 1:])[:, :1]
    over = np.sqrt(posterior.variance.sum(axis=1, keepdims=True) / posterior.variance[:, 1:])
    reach = ratio * ndtri(PLACES)
    for j, m in enumerate(modality):
        out[:, m] += ndtr(posterior.separation[:, j : j + 1] * over + reach)
    return out / np.bincount(modality, minlength=n_modalities)[:, None]


def coordinates(draws: int) -> dict[str, Array]:
    """Return coordinates of chains and draws."""
    return dict(zip(SAMPLE, (np.arange(CHAINS), np.arange(draws // CHAINS)), strict=True))
