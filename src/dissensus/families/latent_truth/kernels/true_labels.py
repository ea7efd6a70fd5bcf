"""True labels of items, if the errors of an item's annotators are correlated.

A model of a latent truth explains annotations by the label behind them. Annotators who are misled
in the same way give the same wrong label. A model of independent errors is then almost certain that
this label is true. If errors have the correlation r, n labels are as informative as

    m = n / (1 + (n - 1) r)

independent labels. The probability of the true label z of an item is proportional to
p(z | labels)^(m / n), where p(z | labels) is its probability if errors are independent. A system's
answer s adds the weight w:

    p(z | labels, s)  ~  p(z | labels)^(m / n) e^(w [z = s]).

A system may err on one side: of two labels, the weights of its answers are w + d and w - d, with d
from a normal distribution. Without known true labels, d is drawn from this distribution.

On items that only systems labelled, a system is assumed to be right as often as on labelled items
on which it gave the same answer, and a similar share of the other systems gave this answer too. On
these items, annotators are assumed to be right as often as on labelled items on which systems agree
to a similar degree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.families.latent_truth.kernels.states import known_label, log_sigmoid
from dissensus.kernels.compiled import Inner, inner, kernel, named_after
from dissensus.kernels.random import State, uniform
from dissensus.kernels.slices import slicer
from dissensus.kernels.special import log_plus
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.variates import binomial, log_gamma_variate, normal, scatter, tables
from dissensus.kernels.votes import Votes

LEAST: Final = 1e-12
"""Probabilities are kept at least this far from 0; those of right answers also from 1."""
_SWEEPS: Final = 3
"""Number of steps of each Markov chain in this module for one stored draw."""
_LABELS: Final = 4.0
"""Weight of the prior that an annotator is as accurate as all annotators together, in labels."""
GROUPS: Final = 4
"""Number of groups of items, by the share of other systems that gave a system's answer."""
_APART: Final = 0.7
"""Standard deviation of d: of two labels, the weights of a system's answers are w + d and w - d.
(`docs/validation.md`, "Sensitivity and specificity": with 1, accuracies have wider intervals
without more coverage; with less, rates of systems that err on one side have less coverage.)"""
_OF_GROUPS: Final = 2.0
"""Weight, in items, of the prior that answers in a group are right as often as in all groups."""
_OF_ANSWERS: Final = 4.0
"""Weight, in items, of the prior that a system is right as often with one answer as with all
answers in the group."""


class Answers(NamedTuple):
    """Counts of systems' answers by cell: a combination of system, pattern, label and group."""

    start: Ints  # Where the cells of each system begin (system + 1)
    pattern: Ints  # (cell)
    label: Ints  # (cell): codes from the number of labels on are answers that are never true
    group: Ints  # (cell): share of other systems with this answer, see `agreement_groups`
    labelled: Ints  # (cell): 1 if annotators labelled the items, else 0
    n_items: Ints  # (cell)


class Difficulty(NamedTuple):
    """Counts of items by how far systems agree, for accuracies of annotators on all items.

    A cell is a combination of pattern and group of labelled items.
    """

    start: Ints  # Where the cells of each pattern begin (pattern + 1)
    group: Ints  # (cell)
    n_items: Ints  # Number of labelled items (cell)
    unlabelled: Ints  # Number of items without labels (group)
    share: Floats  # Share of all items that belong to the group (group)


class Prior(NamedTuple):
    """Priors of the correlation and of systems' weights."""

    correlation: Floats  # Median of the correlation, and standard deviation of its logarithm
    weight: Floats
    """Four numbers about w: both ends of its uniform part as multiples of w0, the standard
    deviation of its normal part, and the largest w0. w0 is the weight of a system that errs
    independently of annotators."""


class Systems(NamedTuple):
    """State of the chain about systems."""

    independent: Floats  # Logit of a system's accuracy if it errs independently (system)
    weight: Floats  # Standard normal numbers that determine w, and d (system, 2 or 3)
    elsewhere: Floats
    """How often a system is right: on all items, and on the items of each group (system, 1 +
    group)."""


class Judged(NamedTuple):
    """A draw of what is known of systems. Each of two labels is a side; more labels have one."""

    accuracy: Floats  # On new items (system)
    correct: Floats  # Share of the answered items on which the system is right (system)
    weight: Floats  # Weight of an answer (system, side)
    variance: Floats
    """Mean over the answered items of p (1 - p), p the probability that the answer is right
    (system)."""
    by_truth: Floats
    """Of two labels: shares of the answered items with this true label, on which the system is
    right, and in all (2, system, label)."""


class ChainState(NamedTuple):
    """State of the chain; each draw overwrites it."""

    correlation: Floats  # Number with a standard normal prior that determines the correlation (1)
    truth: Floats  # Probability that each label is true (pattern, label)
    systems: Systems
    people: Floats
    """How often a label is right, and how often an item's majority label is: on all items, and on
    the items of each group of `Difficulty` (2, 1 + group)."""


def room(n_patterns: int, n_labels: int, n_systems: int) -> ChainState:
    """Return the initial state of a chain."""
    n_sides = sides(n_labels)
    return ChainState(
        correlation=np.zeros(1), truth=np.empty((n_patterns, n_labels)),
        systems=Systems(
            np.ones(n_systems), np.zeros((n_systems, 1 + n_sides)),
            np.full((n_systems, 1 + GROUPS), 0.5),
        ),
        people=np.full((2, 2 + GROUPS), 0.5),
    )  # fmt: skip


def judged(n_labels: int, n_systems: int) -> Judged:
    """Return room for a draw of what is known of systems."""
    by_side = n_systems, sides(n_labels)
    accuracy, correct, variance = np.empty((3, n_systems))
    return Judged(accuracy, correct, np.empty(by_side), variance, np.empty((2, *by_side)))


def sides(n_labels: int) -> int:
    """Return the number of different weights of a system's answers."""
    return 2 if n_labels == 2 else 1


def answers(pattern: Ints, codes: Ints, missing: int, n_given: Floats, n_labels: int) -> Answers:
    """Count systems' answers ``codes`` (item, system) by cell.

    ``pattern`` (item) is the pattern of each item, ``n_given`` (pattern) its number of labels, and
    ``missing`` the code for no answer. If every item has labels, all cells are in one group.
    """
    parts, start = [np.empty((5, 0), dtype=np.int64)], [0]
    labelled = (n_given[pattern] > 0).astype(np.int64)
    groups = (
        np.zeros_like(codes)
        if labelled.all()
        else agreement_groups(np.minimum(codes, n_labels), missing)
    )
    for code, group in zip(codes.T, groups.T, strict=True):
        given = code != missing
        cells, n_items = np.unique(
            np.stack([pattern, code, group, labelled])[:, given], axis=1, return_counts=True
        )
        parts.append(np.vstack([cells, n_items]))
        start.append(start[-1] + len(n_items))
    return Answers(np.array(start, dtype=np.int64), *np.hstack(parts))


def difficulty(pattern: Ints, codes: Ints, missing: int, n_given: Floats) -> Difficulty:
    """Count items by pattern and group. Arguments are those of `answers`.

    The group of an item is that of the answer that most systems gave (`agreement_groups`). Items
    that fewer than two systems answered are a further group. If every item has labels, all items
    are in this group.
    """
    labelled, given = n_given[pattern] > 0, codes != missing
    group = np.full(len(pattern), GROUPS)
    if not labelled.all() and codes.shape[1] > 1:
        lead = np.where(given, agreement_groups(codes, missing), 0).max(axis=1)
        group = np.where(given.sum(axis=1) > 1, lead, GROUPS)
    cells, n_items = np.unique(np.stack([pattern, group])[:, labelled], axis=1, return_counts=True)
    return Difficulty(
        start=np.searchsorted(cells[0], np.arange(len(n_given) + 1)).astype(np.int64),
        group=cells[1].copy(), n_items=n_items.astype(np.int64),
        unlabelled=np.bincount(group[~labelled], minlength=GROUPS + 1).astype(np.int64),
        share=np.bincount(group, minlength=GROUPS + 1) / len(group),
    )  # fmt: skip


def agreement_groups(codes: Ints, missing: int) -> Ints:
    """Return the group (item, system) of each answer: how many other systems gave the same answer.

    Groups are 0: none, 1: at most half, 2: more than half, 3: all. Missing answers, and the only
    answer on an item, are in group 1.

    >>> agreement_groups(np.array([[0, 0, 1], [1, 1, 1], [0, -1, -1]]), -1).tolist()
    [[1, 1, 0], [3, 3, 3], [1, 1, 1]]
    """
    given, width = codes != missing, int(codes.max(initial=0)) + 1
    cell = np.arange(len(codes))[:, None] * width + np.where(given, codes, 0)
    count = np.bincount(cell[given], minlength=len(codes) * width)
    others = given.sum(axis=1, keepdims=True) - 1
    alike = count[cell] - 1
    group = (alike > 0) + (2 * alike > others).astype(np.int64) + (alike == others)
    return np.where(given & (others > 0), group, 1)


def _elliptical(log_likelihood: Callable[..., float]) -> Any:
    r"""Compile elliptical slice sampling of standard normal numbers (Murray et al. 2010).

    ``log_likelihood`` takes (x, \*args). The result takes (state, x, \*args), and overwrites x by
    the next draw.
    """

    def draw(state: State, x: Floats, *args: Any) -> None:
        height = log_likelihood(x, *args) + math.log(uniform(state))
        old, other = x.copy(), np.empty(len(x))
        for k in range(len(x)):
            other[k] = normal(state)
        angle = 2.0 * math.pi * uniform(state)
        low, high = angle - 2.0 * math.pi, angle
        while True:
            for k in range(len(x)):
                x[k] = old[k] * math.cos(angle) + other[k] * math.sin(angle)
            if log_likelihood(x, *args) >= height:
                return
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * uniform(state)

    return Inner(named_after(draw, log_likelihood), cache=False)


# The correlation of errors, and probabilities of true labels given the correlation.


@inner
def _flatten(truth: Floats, p: int, power: float, out: Floats) -> None:
    """Write probabilities of a pattern's true label (label), raised to a power and normalised."""
    high, total = -math.inf, 0.0
    for z in range(len(out)):
        out[z] = power * math.log(max(truth[p, z], 1e-300))
        high = max(high, out[z])
    for z in range(len(out)):
        out[z] = math.exp(out[z] - high)
        total += out[z]
    for z in range(len(out)):
        out[z] = max(out[z] / total, LEAST)


@inner
def _log_known(
    x: Floats, prior: Floats, truth: Floats, n_given: Floats, votes: Votes, row: Floats
) -> float:
    """Return the log-probability of the known true labels, given the number ``x``."""
    correlation, out = prior[0] * math.exp(prior[1] * x[0]), 0.0
    for p in range(len(votes.known)):
        if votes.known[p] >= 0 and n_given[p] > 0.0:
            _flatten(truth, p, 1.0 / (1.0 + (n_given[p] - 1.0) * correlation), row)
            out += votes.n_items[p] * math.log(row[votes.known[p]])
    return out


_slice_known = _elliptical(_log_known)


@kernel
def draw_correlation(
    state: State, votes: Votes, truth: Floats, n_given: Floats, prior: Floats, x: Floats,
    out: Floats,
) -> float:  # fmt: skip
    """Draw and return the correlation of errors; write probabilities of true labels given it.

    ``truth`` (pattern, label) holds the probabilities under independent errors; ``out`` has the
    same shape.
    """
    row = np.empty(out.shape[1])
    for _ in range(_SWEEPS):
        _slice_known(state, x, prior, truth, n_given, votes, row)
    correlation = prior[0] * math.exp(prior[1] * x[0])
    for p in range(len(out)):
        _flatten(truth, p, 1.0 / (1.0 + max(n_given[p] - 1.0, 0.0) * correlation), out[p])
    return correlation


@inner
def _logit(share: float) -> float:
    return math.log(share) - math.log1p(-share)


@inner
def _share_of(logit: float) -> float:
    """Return the share that has this logit, at least `LEAST` from 0 and 1."""
    return min(max(math.exp(log_sigmoid(logit)), LEAST), 1.0 - LEAST)


@kernel
def draw_right(
    state: State, votes: Votes, items: Difficulty, truth: Floats, mean: Floats,
    n_respondents: int, out: Floats,
) -> float:  # fmt: skip
    """Draw the true labels, and write each respondent's accuracy (``out``).

    An accuracy is drawn given how many of the respondent's labels are true. Its prior is a Beta
    distribution around the share of all labels that are true. Returns the share of items whose true
    label is the majority label; for items without labels, this is the label that a majority would
    give. If there are items without labels, accuracies are corrected for the difference between all
    items and the items of each respondent. The correction compares the shares of right labels in
    groups of items (`_draw_means`, with the state ``mean``).
    """
    n, n_groups = truth.shape[1], len(items.share)
    right, total = np.zeros((n_respondents, n_groups)), np.zeros((n_respondents, n_groups))
    drawn, weight, given = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    hits, seen = np.zeros((2, n_groups)), np.zeros((2, n_groups))
    for p in range(len(votes.n_items)):
        if votes.start[p] == votes.start[p + 1]:  # the items of this pattern have no labels
            continue
        known = known_label(votes, p)
        whole, number = 0.0, 0.0
        for z in range(n):
            weight[z] = truth[p, z]
            if known >= 0:
                weight[z] = 1.0 if z == known else 0.0
            whole += weight[z]
            given[z] = 0.0
        for entry in range(votes.start[p], votes.start[p + 1]):
            if votes.respondent[entry] < n_respondents:
                given[votes.label[entry]] += votes.times[entry]
                number += votes.times[entry]
        most, tied = given.max(), 0.0
        for z in range(n):
            if given[z] == most:
                tied += 1.0
        for c in range(items.start[p], items.start[p + 1]):
            g = items.group[c]
            scatter(state, items.n_items[c], weight, whole, drawn)
            for entry in range(votes.start[p], votes.start[p + 1]):
                r, y, times = votes.respondent[entry], votes.label[entry], votes.times[entry]
                if r < n_respondents:
                    right[r, g] += times * drawn[y]
                    total[r, g] += times * items.n_items[c]
            seen[:, g] += items.n_items[c]
            for z in range(n):
                hits[0, g] += drawn[z] * given[z] / number
                if given[z] == most:
                    hits[1, g] += drawn[z] / tied
    prior = _LABELS * right.sum() / total.sum()
    for r in range(n_respondents):
        n_right, n_total = right[r].sum(), total[r].sum()
        out[r] = _draw_share(state, n_right + prior, n_total - n_right + _LABELS - prior)
    leading, whole = hits[1].sum(), seen[1].sum()
    if items.unlabelled.sum() == 0:
        return leading / whole
    # All labels of an item count as one label, because their errors are correlated.
    hits = np.floor(hits + uniform(state))
    for k in range(2):
        for _ in range(_SWEEPS):
            _draw_means(state, hits[k], seen[k] - hits[k], mean[k])
    group_share = mean[0, 1:]
    mean_all = (items.share * group_share).sum()
    for r in range(n_respondents):
        if total[r].sum() > 0.0:
            mean_own = (total[r] * group_share).sum() / total[r].sum()
            out[r] = _share_of(_logit(out[r]) + (_logit(mean_all) - _logit(mean_own)))
    for g in range(n_groups):
        leading += binomial(state, items.unlabelled[g], mean[1, 1 + g])
        whole += items.unlabelled[g]
    return leading / whole


# Systems: their accuracies, and the weights of their answers.


@inner
def _chance(truth: Floats, p: int, label: int) -> float:
    """Return the probability, given an item's labels, that ``label`` is true; 0 if never."""
    if label >= truth.shape[1]:
        return 0.0
    return min(max(truth[p, label], LEAST), 1.0 - LEAST)


@inner
def _weight(x: Floats, log_odds: float, prior: Floats, label: int) -> float:
    """Return the weight of an answer, given the two or three numbers ``x`` that determine it."""
    log_odds = min(max(log_odds, 0.0), prior[3])
    share = 0.5 * math.erfc(-x[0] / math.sqrt(2.0))
    weight = (prior[0] + (prior[1] - prior[0]) * share) * log_odds + prior[2] * x[1]
    if len(x) > 2:
        weight += _APART * (x[2] if label == 0 else -x[2])
    return weight


@inner
def _log_answers(
    x: Floats, log_odds: float, prior: Floats, votes: Votes, answers: Answers, truth: Floats,
    first: int, last: int,
) -> float:  # fmt: skip
    """Return the log-probability of a system's right and wrong answers on items of known truth."""
    out = 0.0
    if len(votes.known) == 0:
        return out
    weight = _weight(x, log_odds, prior, 0), _weight(x, log_odds, prior, 1)
    for c in range(first, last):
        p, y = answers.pattern[c], answers.label[c]
        q = _chance(truth, p, y)
        if votes.known[p] >= 0 and q > 0.0 and answers.labelled[c] > 0:
            yes, no = math.log(q) + weight[min(y, 1)], math.log1p(-q)
            observed = yes if votes.known[p] == y else no
            out += answers.n_items[c] * (observed - log_plus(yes, no))
    return out


_slice_weight = _elliptical(_log_answers)


@inner
def _log_independent(
    logit: float, votes: Votes, answers: Answers, truth: Floats, first: int, last: int,
    prior: Floats, x: Floats,
) -> float:  # fmt: skip
    """Return the log density of the logit of a system's accuracy, if the system errs independently.

    The prior of the accuracy is uniform. Known true labels are also evidence about the weight w,
    whose prior depends on the accuracy.
    """
    yes, no = log_sigmoid(logit), log_sigmoid(-logit)
    others = math.log(max(truth.shape[1] - 1.0, 1.0))
    out = yes + no
    out += _log_answers(x, logit + others, prior, votes, answers, truth, first, last)
    wrong = no - others
    for c in range(first, last):
        p, y = answers.pattern[c], answers.label[c]
        known = known_label(votes, p)
        if known >= 0:
            out += answers.n_items[c] * (yes if known == y else wrong)
        elif answers.labelled[c] > 0:
            q = _chance(truth, p, y)
            each = log_plus(math.log(q) + yes, math.log1p(-q) + wrong) if q > 0.0 else wrong
            out += answers.n_items[c] * each
    return out


_slice_independent = slicer(_log_independent)


@inner
def _draw_hits(state: State, votes: Votes, answers: Answers, c: int, share: float) -> int:
    """Draw on how many items of a cell the system is right."""
    known = known_label(votes, answers.pattern[c])
    if known >= 0:
        return answers.n_items[c] if known == answers.label[c] else 0
    return binomial(state, answers.n_items[c], share)


@inner
def _draw_means(state: State, yes: Floats, no: Floats, mean: Floats) -> None:
    """Draw the share of right answers in each group, and the mean of the shares' prior.

    ``yes`` and ``no`` (group) are the numbers of right and wrong answers. The shares have Beta
    posteriors; given numbers of `tables`, so has the mean (Teh et al. 2006, section 5.3).
    """
    top, all_yes, all_no = mean[0], 1.0, 1.0
    for g in range(len(yes)):
        all_yes += tables(state, yes[g], _OF_GROUPS * top)
        all_no += tables(state, no[g], _OF_GROUPS * (1.0 - top))
        mean[1 + g] = _draw_share(state, _OF_GROUPS * top + yes[g], _OF_GROUPS * (1 - top) + no[g])
    mean[0] = _draw_share(state, all_yes, all_no)


@inner
def _draw_elsewhere(
    state: State, right: Floats, total: Floats, mean: Floats, share: Floats
) -> None:
    """Draw how often a system is right (group, answer) on items that annotators did not label.

    ``right`` and ``total`` (group, answer) count right answers, and all answers, on the other
    items. The share of right answers of a group and answer has a Beta prior around the group's
    share. The group's share has a Beta prior around the share of all items, whose prior is uniform.
    ``mean`` (all items, then groups) is the chain's state.
    """
    n_answers = right.shape[1]
    yes, no = np.empty(GROUPS), np.empty(GROUPS)
    for _ in range(_SWEEPS):
        yes[:], no[:] = 0.0, 0.0
        for g in range(GROUPS):
            for y in range(n_answers):
                wrong = total[g, y] - right[g, y]
                yes[g] += tables(state, right[g, y], _OF_ANSWERS * mean[1 + g])
                no[g] += tables(state, wrong, _OF_ANSWERS * (1.0 - mean[1 + g]))
        _draw_means(state, yes, no, mean)
    for g in range(GROUPS):
        prior = _OF_ANSWERS * mean[1 + g]
        for y in range(n_answers):
            share[g, y] = _draw_share(
                state, prior + right[g, y], _OF_ANSWERS - prior + total[g, y] - right[g, y]
            )


@kernel
def judge(
    state: State, votes: Votes, answers: Answers, truth: Floats, prior: Floats, now: Systems,
    out: Judged,
) -> None:  # fmt: skip
    """Write draws of each system's accuracy on new items, its weights, and its right answers."""
    n_labels, n_sides = truth.shape[1], out.weight.shape[1]
    shape = (GROUPS, n_labels)
    hits, seen, elsewhere = np.empty(shape), np.empty(shape), np.empty(shape)
    odds = np.empty(n_sides)
    out.by_truth[:] = 0.0
    for s in range(len(now.independent)):
        first, last, x = answers.start[s], answers.start[s + 1], now.weight[s]
        now.independent[s] = _slice_independent(
            state, now.independent[s], 1.0, votes, answers, truth, first, last, prior, x
        )
        log_odds = now.independent[s] + math.log(max(n_labels - 1.0, 1.0))
        for _ in range(_SWEEPS):
            _slice_weight(state, x, log_odds, prior, votes, answers, truth, first, last)
        for j in range(n_sides):
            out.weight[s, j] = _weight(x, log_odds, prior, j)
            odds[j] = math.exp(out.weight[s, j])
        uncertain, total, all_right, unseen = 0.0, 0.0, 0.0, False
        hits[:] = 0.0
        seen[:] = 0.0
        for without in range(2):  # items without labels last: they are right as often as the others
            if without:
                if not unseen:
                    break
                _draw_elsewhere(state, hits, seen, now.elsewhere[s], elsewhere)
            for c in range(first, last):
                p, y, n = answers.pattern[c], answers.label[c], answers.n_items[c]
                known, g = known_label(votes, p), answers.group[c]
                if (answers.labelled[c] == 0 and known < 0) != (without == 1):
                    unseen = True
                    continue
                total += n
                j = y if n_sides == 2 else 0
                if y >= n_labels:  # an answer that is never right
                    if n_sides == 2:
                        ones = n * known if known >= 0 else binomial(state, n, _chance(truth, p, 1))
                        out.by_truth[1, s, 0] += n - ones
                        out.by_truth[1, s, 1] += ones
                    continue
                q = _chance(truth, p, y)
                share = elsewhere[g, y] if without else q * odds[j] / (q * odds[j] + 1.0 - q)
                hit = _draw_hits(state, votes, answers, c, share)
                all_right += hit
                uncertain += n * share * (1.0 - share)
                if not without:
                    hits[g, y] += hit
                    seen[g, y] += n
                out.by_truth[0, s, j] += hit
                out.by_truth[1, s, j] += hit
                out.by_truth[1, s, n_sides - 1 - j] += n - hit
        whole = total if total > 0.0 else np.nan
        out.correct[s] = all_right / whole
        out.accuracy[s] = _draw_share(state, 0.5 + all_right, 0.5 + total - all_right)
        out.variance[s] = uncertain / whole
        for k in range(2):
            for j in range(n_sides):
                out.by_truth[k, s, j] /= whole


@inner
def _draw_share(state: State, a: float, b: float) -> float:
    """Draw from Beta(a, b); the result is at least `LEAST` from 0 and 1."""
    odds = log_gamma_variate(state, max(a, LEAST)) - log_gamma_variate(state, max(b, LEAST))
    return _share_of(odds)
