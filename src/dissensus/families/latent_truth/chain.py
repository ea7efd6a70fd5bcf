"""A Gibbs chain of a latent truth.

A sweep draws the state of every item given the parameters, and then the parameters given counts of
items and labels by state. A draw is stored between these two steps, so that its states belong to
its parameters. Sweeps are composed of small kernels in Python, so that only the kernels that a
process needs are compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.families.latent_truth.design import distinct
from dissensus.families.latent_truth.kernels import accuracies, errors, matrices, states
from dissensus.families.latent_truth.kernels import true_labels as true
from dissensus.families.latent_truth.kernels.data import (
    COMPLETE,
    DIFFICULTY,
    GRADED,
    HIERARCHICAL,
    MEAN,
    NO_ANSWER,
    SHARED,
    SOURCE,
    SPREAD,
    UNEQUAL,
    Parameters,
    blank,
)
from dissensus.families.latent_truth.parameters import to_kernel
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.random import State, started
from dissensus.kernels.types import Array, Floats, Ints
from dissensus.kernels.votes import Votes

_SETTLING: Final = 10
"""If systems' answers are not evidence: number of draws of the systems' parameters for each draw of
the annotators' parameters."""


class Trace(NamedTuple):
    """The stored draws; arrays that the process does not need are empty."""

    prevalence: Floats  # (draw, label)
    accuracy: Floats  # Mean over true labels and difficulty (draw, respondent)
    confusion: Floats  # (draw, respondent, label, response)
    number: Floats  # Single numbers, see `Parameters.number` (draw, number)
    slope: Floats  # (draw, system)
    population: Floats  # The population's confusion matrix (draw, label, response)
    alike: Floats  # Concentration of each row of that matrix (draw, label)
    correct: Floats  # Share of its items on which each system is right (draw, system)
    log_likelihood: Floats  # Of all items together (draw)
    truth: Floats  # Probability that each label is true (draw, pattern, label)
    truth_mean: Floats  # Mean of ``truth`` over draws (pattern, label)
    ease: Floats  # Mean ease of the items of each pattern (draw, pattern)
    coefficient: Floats  # (draw, term)
    item_log_likelihood: Floats  # Of one item of each pattern (draw, pattern)
    replicate: npt.NDArray[np.int32]  # Labels of new items, rows sorted by item (draw, row)
    # The arrays below are empty if errors are independent.
    correlation: Floats  # Correlation of the errors of an item's labels (draw)
    majority: Floats  # Share of items whose true label is the majority label (draw)
    system_accuracy: Floats  # Accuracy of each system against drawn true labels (draw, system)
    system_weight: Floats  # Weight w of a system's answer (draw, system, side)
    system_variance: Floats  # Mean over items of p (1 - p), p of being right (draw, system)
    by_truth: Floats  # Shares of two labels: right and true, and true (draw, 2, system, label)


class Work(NamedTuple):
    """Tables and counts of a sweep; the next sweep overwrites them."""

    log_weight: Floats
    log_response: Floats
    counts: states.Counts
    truth: Floats  # Probability that each label is true (pattern, label)
    ease: Floats  # Mean ease of the items of each pattern; empty without difficulty


class Judging(NamedTuple):
    """Data and state with which `true_labels` draws true labels, if errors are correlated."""

    votes: Votes  # Including known true labels
    prior: true.Prior
    answers: true.Answers  # Systems with the same answers are one system
    items: true.Difficulty
    same: Ints  # Index of each system in ``answers`` (system)
    n_given: Floats  # Number of labels that annotators gave each item (pattern)
    now: true.ChainState
    drawn: true.Judged


class Chain:
    """One chain: its state, its working arrays, and the stored draws.

    ``items`` says whether to store the truth of items, ``log_likelihood`` whether to store their
    log-likelihood, and ``predictive`` whether to store labels of new items.
    """

    scratch = frozenset({"work", "after"})
    par: Parameters
    state: State

    def __init__(
        self, process: Process, votes: Votes, pattern: Ints, draws: int = 0, *,
        items: bool = False, log_likelihood: bool = False, predictive: bool = False,
    ) -> None:  # fmt: skip
        self.process = process
        self.regression = process.regression()
        self.judging = _judging(process, votes, pattern)
        if not process.has_informative_known:
            votes = votes._replace(known=votes.known[:0])
        self.votes = votes
        self.seen = _seen(process, votes)
        self.cut = process.form.evidence < process.form.n_respondents
        self.work = _work(process, votes)
        self.after = _work(process, votes) if self.cut else self.work
        self.trace: Any = _trace(
            process, votes, draws, items=items, log_likelihood=log_likelihood, predictive=predictive
        )
        order = process.item_order
        self.rows = process.item[order], process.respondent[order]

    def start(self, rng: np.random.Generator) -> None:
        """Set the parameters to a random point."""
        self.par = start(self.process, rng)
        self.state = started(rng.integers(2**64, dtype=np.uint64))

    def advance(self, first: int, n: int) -> None:
        """Run n sweeps, numbered from ``first``; sweeps of the warm-up have negative numbers."""
        form = self.process.form
        for sweep in range(n):
            if form.related and not self.cut:
                self._draw_related(self.work, self.seen)
            log_likelihood = self._visit(form.evidence, self.work, self.seen)
            if self.cut and (first >= 0 or sweep == n - 1):  # during warm-up, once per call
                self._settle()
            if first >= 0:
                self._keep(first + sweep, log_likelihood)
            self._draw_common(self.work.counts)
            if not self.cut:
                self._draw_systems(self.work.counts)

    def replay(self, values: Mapping[str, Array]) -> None:
        """Store the quantities of a fit, given draws of the PyMC model's variables.

        If systems' answers are not evidence, the PyMC model has no parameters of systems. They are
        drawn by this method.
        """
        par, form = self.par, self.process.form
        many = to_kernel(form, values)
        n = form.first_system if self.cut else form.n_respondents
        own = [place for place in range(7) if not (self.cut and place in (SHARED, SOURCE))]
        for place in range(len(many.log_prevalence)):
            for name in (
                "log_prevalence", "log_base", "log_population", "alike", "coefficient",
            ):  # fmt: skip
                getattr(par, name)[:] = getattr(many, name)[place]
            for name in ("skill", "log_error", "slope"):
                getattr(par, name)[:n] = getattr(many, name)[place, :n]
            par.number[own] = many.number[place, own]
            log_likelihood = self._visit(form.evidence, self.work, self.seen)
            if self.cut:
                self._settle()
            self._keep(place, log_likelihood)

    def _visit(self, evidence: int, work: Work, votes: Votes) -> float:
        """Draw the states of items, count labels by state, and return the log-likelihood."""
        form, par, ease, counts = self.process.form, self.par, self.process.ease, work.counts
        fill_tables(self.process, par, work.log_weight, work.log_response)
        log_likelihood: float = states.draw_states(
            self.state, votes, evidence, ease, work.log_weight, work.log_response, counts.raw,
            counts.size, work.truth, work.ease,
        )  # fmt: skip
        if form.related:
            states.sort_source(
                self.state, work.log_response, par.number, form.first_system, counts.raw,
                counts.size, counts.source_right, counts.source_wrong, counts.source_error,
                counts.shared, counts.taken,
            )  # fmt: skip
        states.sort_own(
            counts.raw, counts.size, counts.taken, counts.truth, counts.right, counts.wrong,
            counts.error,
        )  # fmt: skip
        return log_likelihood

    def _settle(self) -> None:
        """Draw the systems' parameters given the annotators' parameters (a cut posterior).

        For these draws, the systems' answers are evidence of the truth too. Without them,
        uncertainty about the truth would count as errors of the systems.
        """
        for _ in range(_SETTLING):
            if self.process.form.related:
                self._draw_related(self.after, self.votes)
            self._visit(self.process.form.n_respondents, self.after, self.votes)
            self._draw_systems(self.after.counts)
        self._visit(self.process.form.n_respondents, self.after, self.votes)

    def _draw_related(self, work: Work, votes: Votes) -> None:
        accuracies.draw_related(
            self.state, votes, self.process.form.first_system, self.process.ease, self.par,
            work.log_weight, work.log_response,
        )  # fmt: skip

    def _draw_common(self, counts: states.Counts) -> None:
        """Draw all parameters except the systems' parameters, given the counts."""
        process, state, par = self.process, self.state, self.par
        form, prior, ease, n = process.form, process.priors, process.ease, process.form.first_system
        own, level = (counts.right, counts.wrong), par.level
        errors.draw_log_shares(state, prior.prevalence, counts.truth, par.log_prevalence)
        if form.pooling == HIERARCHICAL:
            if form.terms:
                self._draw_coefficients(counts)
            mean = self.regression.value @ par.coefficient
            matrices.draw_population(
                state, n, not form.difficulty, prior.rows, prior.alike, prior.spread, par.skill,
                mean, par.level, par.log_population, par.alike, par.number, *own, counts.error,
            )  # fmt: skip
            level = mean + par.level[:n]
        if form.rows:
            matrices.draw_annotators(
                state, n, form.pooling == HIERARCHICAL, form.pooling == COMPLETE, prior.rows, ease,
                par.skill, par.log_error, par.slope, par.number, par.log_population, par.alike,
                level, *own, counts.error,
            )  # fmt: skip
        elif form.own_accuracy:
            accuracies.draw_own_skills(state, n, prior.spread, ease, par.skill, par.number, *own)
        elif n > 0:
            accuracies.draw_common_skill(state, n, ease, par.skill, par.number, *own)
        self._draw_errors(counts)
        if form.difficulty:
            accuracies.draw_difficulty(
                state, form.evidence, form.rows > 0, prior.difficulty, ease, par.skill, par.slope,
                par.number, *own, counts.source_right, counts.source_wrong,
            )  # fmt: skip

    def _draw_coefficients(self, counts: states.Counts) -> None:
        """Draw the coefficients of covariates, and annotators' deviations from the regression."""
        form, par, regression = self.process.form, self.par, self.regression
        level = par.level[: form.first_system] + regression.value @ par.coefficient
        rest, at = level - regression.value @ regression.centre, np.empty(form.terms)
        matrices.draw_coefficients(
            self.state, regression.along, not form.difficulty, par.skill, par.log_population,
            par.alike, par.number, level, rest, at, counts.right, counts.wrong, counts.error,
        )  # fmt: skip
        par.level[: form.first_system] = rest
        par.coefficient[:] = regression.centre + regression.basis @ at

    def _draw_errors(self, counts: states.Counts) -> None:
        """Draw the distributions of annotators' wrong labels, if the model has no matrices."""
        form, prior, par = self.process.form, self.process.priors, self.par
        error, number, base = counts.error[: form.evidence], par.number, par.log_base
        source = np.zeros_like(base) if self.cut else counts.source_error
        if form.errors == GRADED:
            errors.draw_decay(self.state, prior.decay, error, source, number, base, par.log_error)
        if form.errors == UNEQUAL:
            if form.ordered:
                errors.draw_unequal_decay(self.state, prior.decay, error, source, number, base)
            errors.draw_concentration(self.state, prior.concentration, error, number, base)
            self._draw_error_rows(counts, 0, form.first_system)

    def _draw_error_rows(self, counts: states.Counts, first: int, last: int) -> None:
        par = self.par
        errors.draw_error_rows(
            self.state, first, last, par.number, par.log_base, counts.error, par.log_error
        )

    def _draw_systems(self, counts: states.Counts) -> None:
        """Draw the systems' parameters given the counts."""
        form, prior, ease = self.process.form, self.process.priors, self.process.ease
        state, par, first = self.state, self.par, form.first_system
        if first == form.n_respondents:
            return
        if form.rows:
            matrices.draw_systems(
                state, first, not form.difficulty, prior.system, ease, par.skill, par.log_error,
                par.slope, par.number, par.level, counts.right, counts.wrong, counts.error,
            )  # fmt: skip
        else:
            accuracies.draw_system_skills(
                state, first, ease, par.skill, par.slope, par.number, counts.right, counts.wrong
            )
            if form.errors == UNEQUAL:
                self._draw_error_rows(counts, first, form.n_respondents)
        if form.related:
            accuracies.draw_source(
                state, form.n_labels, ease, par.number, counts.source_right, counts.source_wrong,
                counts.shared,
            )  # fmt: skip
        if form.difficulty:
            accuracies.draw_slopes(
                state, first, form.rows > 0, prior.slope, ease, par.skill, par.slope, par.number,
                counts.right, counts.wrong,
            )  # fmt: skip

    def _keep(self, place: int, log_likelihood: float) -> None:
        """Write one draw into the trace, as draw number ``place``."""
        form, par, ease, trace = self.process.form, self.par, self.process.ease, self.trace
        after, truth, known = self.after, self.work.truth, self.votes.known
        trace.log_likelihood[place] = log_likelihood
        np.exp(par.log_prevalence, out=trace.prevalence[place])
        trace.number[place] = par.number
        trace.slope[place] = par.slope[form.first_system :]
        trace.coefficient[place] = par.coefficient
        if form.rows:
            accuracies.write_confusion(
                par.skill, par.slope, par.number, ease, par.log_error, trace.confusion[place]
            )
            np.exp(par.log_population, out=trace.population[place])
            trace.alike[place] = par.alike
        if form.first_system < form.n_respondents:
            accuracies.write_correct(after.counts.raw, form.first_system, trace.correct[place])
        if self.judging is None:
            accuracies.write_accuracy(
                par.log_prevalence, par.skill, par.slope, par.number, ease,
                form.first_system if form.related else form.n_respondents, trace.accuracy[place],
            )  # fmt: skip
        else:
            self._judge(self.judging, place)
            truth, known = self.judging.now.truth, self.judging.votes.known
        if len(known):
            right = known[:, None] == np.arange(form.n_labels)
            truth = np.where((known >= 0)[:, None], right, truth)
        trace.truth_mean[:] += truth / len(trace.prevalence)
        if len(trace.truth):
            trace.truth[place] = truth
        if len(trace.ease):
            trace.ease[place] = self.work.ease
        if len(trace.item_log_likelihood):
            states.pattern_log_likelihood(
                self.votes, after.log_weight, after.log_response, trace.item_log_likelihood[place]
            )
        if len(trace.replicate):
            states.replicate(
                self.state, after.log_weight, after.log_response, *self.rows, trace.replicate[place]
            )

    def _judge(self, judging: Judging, place: int) -> None:
        """Draw true labels, and the accuracies of annotators and systems given these labels."""
        votes, prior, now, trace = judging.votes, judging.prior, judging.now, self.trace
        trace.correlation[place] = true.draw_correlation(
            self.state, votes, self.work.truth, judging.n_given, prior.correlation,
            now.correlation, now.truth,
        )  # fmt: skip
        trace.majority[place] = true.draw_right(
            self.state, votes, judging.items, now.truth, now.people,
            self.process.form.n_respondents, trace.accuracy[place],
        )  # fmt: skip
        drawn, same = judging.drawn, judging.same
        true.judge(self.state, votes, judging.answers, now.truth, prior.weight, now.systems, drawn)
        trace.system_accuracy[place] = drawn.accuracy[same]
        trace.correct[place] = drawn.correct[same]
        trace.system_weight[place] = drawn.weight[same]
        trace.system_variance[place] = drawn.variance[same]
        if trace.by_truth.size:
            trace.by_truth[place] = drawn.by_truth[:, same]


def fill_tables(
    process: Process, par: Parameters, log_weight: Floats, log_response: Floats
) -> None:
    """Write log-probabilities of states (state), and of labels (respondent, response, state)."""
    form, ease = process.form, process.ease
    states.fill_own(
        par.log_prevalence, par.skill, par.slope, par.log_error, par.number[DIFFICULTY], ease,
        log_weight, log_response,
    )  # fmt: skip
    if form.related:
        states.add_source(
            par.log_base, par.number, ease, form.first_system, log_weight, log_response
        )


def _judging(process: Process, votes: Votes, pattern: Ints) -> Judging | None:
    """Return data and initial state for draws of true labels; None if errors are independent."""
    if process.errors is None:
        return None
    n = len(votes.n_items)
    first, same = distinct(process.answers)
    of_entry = np.repeat(np.arange(n), np.diff(votes.start))
    seen = votes.respondent < process.form.evidence
    n_given = np.bincount(of_entry[seen], votes.times[seen], minlength=n).astype(np.float64)
    n_labels = process.form.n_labels
    codes = process.answers[:, first]
    answers = true.answers(pattern, codes, NO_ANSWER, n_given, n_labels)
    items = true.difficulty(pattern, np.minimum(codes, n_labels), NO_ANSWER, n_given)
    now = true.room(n, n_labels, len(first))
    drawn = true.judged(n_labels, len(first))
    return Judging(votes, process.errors, answers, items, same, n_given, now, drawn)


def _seen(process: Process, votes: Votes) -> Votes:
    """Return the votes without items that do not inform the parameters.

    These items have no known true label, and no label by a respondent who is evidence. Drawing
    their states would make the chain mix more slowly.
    """
    evident = np.concatenate([[0], (votes.respondent < process.form.evidence).cumsum()])
    bare = np.diff(evident[votes.start]) == 0
    if len(votes.known):
        bare &= votes.known < 0
    return votes._replace(n_items=np.where(bare, 0, votes.n_items))


def _work(process: Process, votes: Votes) -> Work:
    """Allocate the tables and counts of a sweep."""
    form, n_patterns = process.form, len(votes.n_items)
    return Work(
        log_weight=np.empty(process.n_states),
        log_response=np.empty((form.n_respondents, form.n_labels, process.n_states)),
        counts=states.room(form, len(process.ease), process.n_states),
        truth=np.empty((n_patterns, form.n_labels)),
        ease=np.empty(n_patterns if form.difficulty else 0),
    )


def _trace(
    process: Process, votes: Votes, draws: int, *, items: bool, log_likelihood: bool,
    predictive: bool,
) -> Trace:  # fmt: skip
    """Allocate a trace for ``draws`` draws."""
    form, n_patterns, n = process.form, len(votes.n_items), process.form.n_labels
    n_respondents, n_rows = form.n_respondents, len(process.item) if predictive else 0
    matrices, kept = draws if form.rows else 0, draws if items else 0
    judged = (0, 0) if process.errors is None else (draws, len(process.systems))
    n_systems = judged[1] or n_respondents - form.first_system
    return Trace(
        prevalence=np.empty((draws, n)),
        accuracy=np.empty((draws, n_respondents)),
        confusion=np.empty((matrices, n_respondents, n, n)),
        number=np.empty((draws, 7)),
        slope=np.empty((draws, n_respondents - form.first_system)),
        population=np.empty((matrices, n, n)),
        alike=np.empty((matrices, n)),
        correct=np.empty((draws, n_systems)),
        log_likelihood=np.empty(draws),
        truth=np.empty((kept, n_patterns, n)),
        truth_mean=np.zeros((n_patterns, n)),
        ease=np.empty((kept if form.difficulty else 0, n_patterns)),
        coefficient=np.empty((draws, form.terms)),
        item_log_likelihood=np.empty((draws if log_likelihood else 0, n_patterns)),
        replicate=np.empty((draws if n_rows else 0, n_rows), dtype=np.int32),
        correlation=np.empty(judged[0]),
        majority=np.empty(judged[0]),
        system_accuracy=np.empty(judged),
        system_weight=np.empty((*judged, true.sides(n))),
        system_variance=np.empty(judged),
        by_truth=np.empty((judged[0], 2, judged[1], n if n == 2 else 0)),
    )


def start(process: Process, rng: np.random.Generator) -> Parameters:
    """Return a random point at which annotators are better than guessing and better than systems.

    At this point no labels are switched. With many items, a chain that starts with switched labels
    keeps them. A chain that starts with a system's errors as the truth keeps these too.
    """
    form = process.form
    par, n_labels, people = blank(form), form.n_labels, form.first_system
    chance = 1.0 / n_labels
    better = rng.uniform(0.3, 0.9, len(par.skill))
    better[people:] *= better[:people].min(initial=0.9)
    accuracy = chance + (1.0 - chance) * better
    par.skill[:] = np.log(accuracy / (1 - accuracy))[:, None]
    if not form.own_accuracy and not form.rows:
        par.skill[:people] = par.skill[0]
    par.number[MEAN] = par.skill[:people].mean()
    par.number[SPREAD] = rng.uniform(0.2, 1.0)
    par.number[DIFFICULTY] *= rng.uniform(0.5, 2.0)
    par.number[[SHARED, SOURCE]] = rng.normal(0.0, 1.0, 2)
    par.log_population[:] = np.log(0.4 * np.eye(n_labels) + 0.6 * chance)
    par.alike[:] = rng.uniform(3.0, 15.0, len(par.alike))
    if form.pooling == HIERARCHICAL:
        par.level[:people] = par.number[SPREAD] * rng.standard_normal(people)
        centre, sd = process.coefficient_prior.T
        par.coefficient[:] = centre + 0.2 * sd * rng.standard_normal(len(sd))
    return par
