"""Sweeps of the Gibbs sampler of a latent truth, and what is kept of each.

A sweep draws the state of every item given the parameters, and then all parameters given what was
counted: of the items it needs no more than counts. What is kept belongs together: parameters, the
truth's probabilities given them, and a draw of the truth.

Sweeps are put together in Python of a few kernels each, those that the form of the process needs:
only these are compiled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.families.latent_truth.kernels import true_labels
from dissensus.families.latent_truth.kernels.accuracies import (
    draw_related,
    draw_skills,
    draw_source,
    draw_system_skills,
)
from dissensus.families.latent_truth.kernels.data import (
    DIFFICULTY,
    SHARED,
    SOURCE,
    UNEQUAL,
    Form,
    Parameters,
    Priors,
)
from dissensus.families.latent_truth.kernels.difficulty import (
    draw_difficulty,
    draw_error_rows,
    draw_errors,
    draw_log_shares,
    draw_slopes,
)
from dissensus.families.latent_truth.kernels.matrices import draw_rows, draw_system_rows
from dissensus.families.latent_truth.kernels.states import (
    Counts,
    draw_states,
    fill_tables,
    log_sigmoid,
    n_states,
    pattern_log_likelihood,
    replicate,
    room,
    sort_counts,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.votes import Votes

_SETTLING = 10
"""Rounds of drawing what is the systems' own where they are no evidence: what annotators are like
moves on from sweep to sweep, and each time systems must be drawn anew, not only nudged."""


class Work(NamedTuple):
    """Tables and counts of one sweep, written over by the next."""

    log_weight: Floats
    log_response: Floats
    counts: Counts
    truth: Floats
    """(pattern, label)"""
    ease: Floats
    """The mean ease of the items of each pattern; empty if they are all as hard."""


class Trace(NamedTuple):
    """What is kept, draw in front; empty where nothing is asked for."""

    prevalence: Floats
    accuracy: Floats
    """Over items as hard as they come (draw, voice)."""
    confusion: Floats
    """(draw, voice, label, response)"""
    number: Floats
    slope: Floats
    """(draw, system)"""
    population: Floats
    alike: Floats
    correct: Floats
    """The share of items that each system got right (draw, system)."""
    log_likelihood: Floats
    """Of all items together (draw)."""
    truth: Floats
    """(draw, pattern, label)"""
    truth_mean: Floats
    """(pattern, label)"""
    ease: Floats
    """(draw, pattern)"""
    each: Floats
    """The log-likelihood of an item of each pattern (draw, pattern)."""
    replicate: npt.NDArray[np.int32]
    """Labels drawn anew, of items drawn anew (draw, row)."""
    correlation: Floats
    """Of the errors of an item's labels (draw); empty if they are independent."""
    majority: Floats
    """How often the label of most is true (draw)."""
    judged: Floats
    """How often systems are right that are judged by true labels (draw, system)."""
    weight: Floats
    """By how much the answers of these count (draw, system)."""
    doubt: Floats
    """How doubtful single answers of these are (draw, system)."""


class Judging(NamedTuple):
    """How true labels follow from what labels point to, and what systems said of them."""

    votes: Votes
    """With the true labels that are known."""
    prior: true_labels.Prior
    answers: true_labels.Answers
    n_given: Floats
    """(pattern): labels given."""
    now: true_labels.Beyond


def judging(
    votes: Votes, form: Form, prior: true_labels.Prior, answers: true_labels.Answers
) -> Judging:
    """Start where nothing is known yet."""
    n_patterns = len(votes.n_items)
    pattern = np.repeat(np.arange(n_patterns), np.diff(votes.start))
    said = votes.voice < form.evidence
    n_given = np.bincount(pattern[said], votes.times[said], minlength=n_patterns)
    now = true_labels.room(n_patterns, form.n_labels, len(answers.start) - 1)
    return Judging(votes, prior, answers, n_given.astype(np.float64), now)


def trace_room(
    votes: Votes, form: Form, draws: int, *, items: bool, each: bool, n_rows: int,
    n_judged: int | None = None,
) -> Trace:  # fmt: skip
    """Make room for draws; ``n_judged`` are systems that true labels judge, None without these."""
    n, v, p = form.n_labels, form.n_voices, len(votes.n_items)
    beyond = 0 if n_judged is None else draws
    judged = n_judged or 0
    rows = draws if form.rows else 0
    kept = draws if items else 0
    return Trace(
        prevalence=np.empty((draws, n)),
        accuracy=np.empty((draws, v)),
        confusion=np.empty((rows, v, n, n)),
        number=np.empty((draws, 7)),
        slope=np.empty((draws, v - form.first_system)),
        population=np.empty((rows, n, n)),
        alike=np.empty((rows, n)),
        correct=np.empty((draws, judged or v - form.first_system)),
        log_likelihood=np.empty(draws),
        truth=np.empty((kept, p, n)),
        truth_mean=np.zeros((p, n)),
        ease=np.empty((kept if form.difficulty else 0, p)),
        each=np.empty((draws if each else 0, p)),
        replicate=np.empty((draws if n_rows else 0, n_rows), dtype=np.int32),
        correlation=np.empty(beyond),
        majority=np.empty(beyond),
        judged=np.empty((beyond, judged)),
        weight=np.empty((beyond, judged)),
        doubt=np.empty((beyond, judged)),
    )


def work_room(votes: Votes, form: Form, ease: Floats) -> Work:
    """Make room for a sweep."""
    states = n_states(form, ease)
    p = len(votes.n_items)
    return Work(
        log_weight=np.empty(states),
        log_response=np.empty((form.n_voices, form.n_labels, states)),
        counts=room(form, len(ease), states),
        truth=np.empty((p, form.n_labels)),
        ease=np.empty(p if form.difficulty else 0),
    )


def advance(
    state: State, votes: Votes, form: Form, ease: Floats, par: Parameters, prior: Priors,
    work: Work, after: Work, trace: Trace, item: Ints, voice: Ints, n: int, first: int,
    judging: Judging | None = None,
) -> None:  # fmt: skip
    """Go through n sweeps, keeping what they find from the place ``first`` on, or nothing below 0.

    ``after`` is room for judging systems that are no evidence, or ``work`` again. ``item`` and
    ``voice`` say whose labels are to be drawn anew (row), if the trace has room.
    """
    alone = form.evidence < form.n_voices
    for sweep in range(n):
        if form.related and not alone:
            draw_related(
                state, votes, form.first_system, ease, par, work.log_weight, work.log_response
            )
        whole = visit(state, votes, form, form.evidence, ease, par, work)
        if alone and (first >= 0 or sweep == n - 1):  # before draws are kept now and then is enough
            settle(state, votes, form, ease, par, prior, after)
        if first >= 0:
            trace.log_likelihood[first + sweep] = whole
            keep(
                state, votes, form, ease, par, work, after, trace, item, voice, first + sweep,
                judging,
            )  # fmt: skip
        draw_common(state, form, ease, par, prior, work.counts)
        if not alone:
            draw_systems(state, form, ease, par, prior, work.counts)


def visit(
    state: State, votes: Votes, form: Form, evidence: int, ease: Floats, par: Parameters,
    work: Work,
) -> float:  # fmt: skip
    """Draw the state of all items given the parameters, and count; return the log-likelihood."""
    fill_tables(form, ease, par, work.log_weight, work.log_response)
    whole: float = draw_states(
        state, votes, evidence, ease, work.log_weight, work.log_response, work.counts.raw,
        work.counts.size, work.truth, work.ease,
    )  # fmt: skip
    sort_counts(state, form, par, work.log_response, work.counts)
    return whole


def settle(
    state: State, votes: Votes, form: Form, ease: Floats, par: Parameters, prior: Priors,
    after: Work,
) -> None:  # fmt: skip
    """Estimate what is the systems' own conditional on the annotators' parameters.

    The truth is drawn with the systems' answers as evidence too: without, its uncertainty would
    be taken for the systems' errors.
    """
    for _ in range(_SETTLING):
        if form.related:
            draw_related(
                state, votes, form.first_system, ease, par, after.log_weight, after.log_response
            )
        visit(state, votes, form, form.n_voices, ease, par, after)
        draw_systems(state, form, ease, par, prior, after.counts)
    visit(state, votes, form, form.n_voices, ease, par, after)


def draw_common(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw all parameters given the counts, but those of systems."""
    draw_log_shares(state, prior.prevalence, counts.truth, par.log_prevalence)
    if form.rows:
        draw_rows(state, form, ease, par, prior, counts)
    else:
        draw_skills(state, form, ease, par, prior, counts)
        draw_errors(state, form, par, prior, counts)
    if form.difficulty:
        draw_difficulty(state, form, ease, par, prior, counts)


def draw_systems(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw what is the systems' own, given the counts."""
    if form.first_system == form.n_voices:
        return
    if form.rows:
        draw_system_rows(state, form, ease, par, prior, counts)
    else:
        draw_system_skills(
            state, form.first_system, ease, par.skill, par.slope, par.number, counts.right,
            counts.wrong,
        )  # fmt: skip
        if form.errors == UNEQUAL:
            draw_error_rows(state, par, counts, form.first_system, form.n_voices)
    if form.related:
        draw_source(
            state, ease, par.number, counts.source_right, counts.source_wrong, counts.shared
        )
    if form.difficulty:
        draw_slopes(state, form, ease, par, prior, counts)


def keep(
    state: State, votes: Votes, form: Form, ease: Floats, par: Parameters, work: Work,
    after: Work, trace: Trace, item: Ints, voice: Ints, place: int,
    judging: Judging | None = None,
) -> None:  # fmt: skip
    """Write one draw down."""
    np.exp(par.log_prevalence, out=trace.prevalence[place])
    trace.number[place] = par.number
    trace.slope[place] = par.slope[form.first_system :]
    if judging is None:  # else accuracies are of true labels
        _write_accuracy(
            par.log_prevalence, par.skill, par.slope, par.number, ease,
            form.first_system if form.related else form.n_voices, trace.accuracy[place],
        )  # fmt: skip
    if form.rows:
        _write_confusion(
            par.skill, par.slope, par.number, ease, par.log_error, trace.confusion[place]
        )
        np.exp(par.log_population, out=trace.population[place])
        trace.alike[place] = par.alike
    if form.first_system < form.n_voices:
        _write_correct(after.counts.raw, form.first_system, trace.correct[place])
    truth, known = work.truth, votes.known
    if judging is not None:
        truth, known = judging.now.truth, judging.votes.known
        _judge(state, form, judging, work.truth, trace, place)
    if len(known):
        truth = _with_known(truth, known)
    trace.truth_mean[:] += truth / len(trace.prevalence)
    if len(trace.truth):
        trace.truth[place] = truth
    if len(trace.ease):
        trace.ease[place] = work.ease
    if len(trace.each):
        pattern_log_likelihood(votes, after.log_weight, after.log_response, trace.each[place])
    if len(trace.replicate):
        replicate(state, after.log_weight, after.log_response, item, voice, trace.replicate[place])


def _judge(
    state: State, form: Form, judging: Judging, truth: Floats, trace: Trace, place: int
) -> None:
    """Draw true labels, and what annotators and systems make of them."""
    votes, prior, answers, n_given, now = judging
    trace.correlation[place] = true_labels.draw_correlation(
        state, votes, truth, n_given, prior.correlation, now.correlation, now.truth
    )
    trace.majority[place] = true_labels.draw_right(
        state, votes, now.truth, form.n_voices, trace.accuracy[place]
    )
    true_labels.judge(
        state, votes, answers, now.truth, prior.weight, now.independent, now.weight,
        trace.judged[place], trace.correct[place], trace.weight[place],
        trace.doubt[place],
    )  # fmt: skip


def _with_known(truth: Floats, known: Ints) -> Floats:
    """Return the truth of all items, where some of it is known (pattern, label)."""
    sure = known >= 0
    return np.where(sure[:, None], known[:, None] == np.arange(truth.shape[1]), truth)


@inner
def _mean_right(eta: float, spread: float, ease: Floats) -> float:
    """Return an accuracy over items as hard as they come."""
    out = 0.0
    for q in range(len(ease)):
        out += math.exp(log_sigmoid(eta + spread * ease[q]))
    return out / len(ease)


@kernel
def _write_accuracy(
    log_prevalence: Floats, skill: Floats, slope: Floats, number: Floats, ease: Floats,
    first_related: int, out: Floats,
) -> None:  # fmt: skip
    """Write how often each voice is right, whatever the truth and however hard the item."""
    for v in range(len(out)):
        own = 0.0
        for z in range(len(log_prevalence)):
            right = _mean_right(skill[v, z], number[DIFFICULTY] * slope[v], ease)
            own += math.exp(log_prevalence[z]) * right
        if v >= first_related:
            taken = math.exp(log_sigmoid(number[SHARED]))
            source = _mean_right(number[SOURCE], number[DIFFICULTY], ease)
            own = (1.0 - taken) * own + taken * source
        out[v] = own


@kernel
def _write_confusion(
    skill: Floats, slope: Floats, number: Floats, ease: Floats, log_error: Floats, out: Floats
) -> None:
    """Write confusion matrices over items as hard as they come (voice, label, response)."""
    n_voices, n_labels = skill.shape
    for v in range(n_voices):
        for z in range(n_labels):
            right = _mean_right(skill[v, z], number[DIFFICULTY] * slope[v], ease)
            for y in range(n_labels):
                wrong = (1.0 - right) * math.exp(log_error[v, z, y])
                out[v, z, y] = right if y == z else wrong


@kernel
def _write_correct(raw: Floats, first_system: int, out: Floats) -> None:
    """Write the share of its items that each system got right, NaN of none."""
    n_voices, n_labels, n_states = raw.shape
    for v in range(first_system, n_voices):
        right, total = 0.0, 0.0
        for s in range(n_states):
            right += raw[v, s % n_labels, s]
            for y in range(n_labels):
                total += raw[v, y, s]
        out[v - first_system] = right / total if total > 0.0 else np.nan


def replay(
    state: State, votes: Votes, form: Form, ease: Floats, many: Parameters, par: Parameters,
    prior: Priors, work: Work, after: Work, trace: Trace, item: Ints, voice: Ints,
    judging: Judging | None = None,
) -> None:  # fmt: skip
    """Keep what follows from parameters drawn elsewhere, draw in front.

    Systems that are no evidence are not among them, and are drawn here.
    """
    n = form.n_voices if form.evidence == form.n_voices else form.first_system
    for place in range(len(many.log_prevalence)):
        par.log_prevalence[:] = many.log_prevalence[place]
        par.skill[:n] = many.skill[place, :n]
        par.log_error[:n] = many.log_error[place, :n]
        par.log_base[:] = many.log_base[place]
        par.slope[:n] = many.slope[place, :n]
        par.log_population[:] = many.log_population[place]
        par.alike[:] = many.alike[place]
        own = par.number[[SHARED, SOURCE]]
        par.number[:] = many.number[place]
        if n < form.n_voices:
            par.number[[SHARED, SOURCE]] = own
        trace.log_likelihood[place] = visit(state, votes, form, form.evidence, ease, par, work)
        if n < form.n_voices:
            settle(state, votes, form, ease, par, prior, after)
        keep(state, votes, form, ease, par, work, after, trace, item, voice, place, judging)
