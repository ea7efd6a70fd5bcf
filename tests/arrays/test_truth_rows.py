"""What rows of confusion matrices have in common, against the Dirichlet-multinomial posterior."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from dissensus.arrays import truth_rows
from dissensus.arrays.stream import started
from dissensus.arrays.truth_counts import room
from dissensus.arrays.truth_parameters import HIERARCHICAL, Form, Priors, blank

PRIOR = np.array([2.8, 0.6, 0.6])
ALIKE = np.array([2.0, 0.2])


def form(n_voices=3, n_labels=3, difficulty=0):
    return Form(n_labels, n_voices, n_voices, n_voices, 1, 0, 0, 0, difficulty, 0, HIERARCHICAL)


def priors():
    return Priors(np.ones(3), 1.0, 1.0, 0.5, 1.0, np.array([1.5, 1.0]),
                  np.tile(PRIOR, (3, 1)), ALIKE, 10.0)  # fmt: skip


SAID = np.array([[3.0, 1, 0], [5, 0, 2], [0, 0, 1]])


def points(n=2**15):
    """Return the prior's points (alike, row) with their Dirichlet-multinomial weights."""
    u = stats.qmc.Sobol(3, rng=np.random.default_rng(1)).random(n).clip(1e-9, 1 - 1e-9)
    alike = stats.gamma.ppf(u[:, 0], ALIKE[0], scale=1 / ALIKE[1])
    first = special.betaincinv(PRIOR[0], PRIOR[1:].sum(), u[:, 1])
    second = special.betaincinv(PRIOR[1], PRIOR[2], u[:, 2])
    row = np.stack([first, (1 - first) * second, (1 - first) * (1 - second)], axis=1)
    log = sum(stats.dirichlet_multinomial.logpmf(one, np.maximum(alike[:, None] * row, 1e-300),
                                                 int(one.sum())) for one in SAID)  # fmt: skip
    weight = np.exp(log - log.max()) * (row.argmax(axis=1) == 0)
    return alike, row, weight / weight.sum()


def test_rows_in_common_given_counts():
    """Chinese restaurants: the draws' moments are those of the weighted points."""
    alike, row, weight = points()
    par, counts, state = blank(form()), room(form(), 1, 3), started(1)
    counts.right[:, 0, 0], counts.wrong[:, 0, 0] = SAID[:, 0], SAID[:, 1:].sum(axis=1)
    counts.error[:, 0, 1:] = SAID[:, 1:]
    found = np.empty((30_000, 4))
    for one in found:
        truth_rows._draw_common_of_counts(state, form(), par, priors(), counts, 0)
        one[0], one[1:] = par.alike[0], np.exp(par.log_population[0])
    known = np.column_stack([np.log(alike), row])
    found[:, 0] = np.log(found[:, 0])
    check_moments(found, known, weight)


def check_moments(found, known, weight):
    for k in range(known.shape[1]):
        mean = weight @ known[:, k]
        sd = np.sqrt(weight @ (known[:, k] - mean) ** 2)
        assert found[:, k].mean() == pytest.approx(mean, abs=0.06 * sd)
        assert found[:, k].std() == pytest.approx(sd, rel=0.08)


def test_rows_in_common_given_rows():
    """With difficulty rows cannot be summed out: the points are weighed by their density."""
    rows = np.array([[0.7, 0.2, 0.1], [0.8, 0.1, 0.1], [0.5, 0.1, 0.4]])
    alike, row, _ = points()
    shape = np.maximum(alike[:, None] * row, 1e-300)
    log = (special.gammaln(shape.sum(1)) - special.gammaln(shape).sum(1)) * len(rows)
    log += ((shape - 1) * np.log(rows).sum(axis=0)).sum(axis=1)
    weight = np.exp(log - log.max()) * (row.argmax(axis=1) == 0)
    par, state = blank(form(difficulty=1)), started(2)
    par.skill[:, 0] = special.logit(rows[:, 0])
    par.log_error[:, 0, 1:] = np.log(rows[:, 1:] / rows[:, 1:].sum(axis=1, keepdims=True))
    found = np.empty((30_000, 4))
    for one in found:
        truth_rows._draw_common_of_rows(state, form(difficulty=1), par, priors(), 0)
        one[0], one[1:] = math.log(par.alike[0]), np.exp(par.log_population[0])
    known = np.column_stack([np.log(alike), row])
    check_moments(found, known, weight / weight.sum())


@pytest.mark.parametrize("collapsed", [True, False])
def test_density_of_a_systems_level(collapsed):
    """A uniform accuracy, as a logit; rows worth ten labels, drawn and seen."""
    right, error = np.array([4.0, 2, 0]), np.array([[0, 1.0, 2], [3, 0, 0], [0, 0, 0]])
    skill = np.array([0.5, 1.0, -0.3])

    def want(eta):
        p = special.expit(eta)
        out = stats.logistic.logpdf(eta)
        for z in range(3):
            shape = 10 * np.where(np.arange(3) == z, p, (1 - p) / 2)
            counts = np.where(np.arange(3) == z, right[z], error[z])
            away = np.delete(shape, z), np.delete(counts, z)
            if collapsed:
                out += special.gammaln(10) - special.gammaln(10 + counts.sum())
                out += (special.gammaln(shape + counts) - special.gammaln(shape)).sum()
            else:
                out += stats.beta.logpdf(special.expit(skill[z]), shape[z], away[0].sum())
                out += special.gammaln(away[0].sum()) - special.gammaln((away[0] + away[1]).sum())
                out += (special.gammaln(away[0] + away[1]) - special.gammaln(away[0])).sum()
        return out

    logits = np.array([-2.0, 0.1, 1.5, 3.0])
    found = [
        truth_rows._log_level(one, 10.0, collapsed, skill, right, error.sum(axis=1), error)
        for one in logits
    ]
    np.testing.assert_allclose(np.diff(found), np.diff([want(one) for one in logits]))


def test_tables_of_a_restaurant():
    """The expected number is the sum of a / (a + k) over guests."""
    state = started(4)
    mean = np.mean([truth_rows._tables(state, 30.0, 2.5) for _ in range(20_000)])
    assert mean == pytest.approx((2.5 / (2.5 + np.arange(30))).sum(), abs=0.05)
    assert truth_rows._tables(state, 0.0, 2.5) == 0


def drawn_rows(right, wrong, error, shape, draws, seed, **how):
    """Draw the second label's row again and again, given what was counted."""
    par, counts, state = blank(form()), room(form(), 1, 3), started(seed)
    counts.right[0, 1, 0], counts.wrong[0, 1, 0], counts.error[0, 1] = right, wrong, error
    found = np.empty((draws, 3))
    for one in found:
        truth_rows._draw_row(state, form(), np.zeros(1), par, counts, 0, 1, shape, **how)
        p = special.expit(par.skill[0, 1])
        one[:] = (1 - p) * np.exp(par.log_error[0, 1])
        one[1] = p
    return found


def test_rows_given_counts_are_dirichlet():
    shape = np.array([0.6, 2.8, 0.6])
    found = drawn_rows(3.0, 6.0, [5.0, 0.0, 1.0], shape, 20_000, 5, named=False)
    law = stats.dirichlet(shape + np.array([5.0, 3.0, 1.0]))
    np.testing.assert_allclose(found.mean(axis=0), law.mean(), atol=0.006)
    np.testing.assert_allclose(found.var(axis=0), law.var(), rtol=0.06)


def test_a_named_row_is_dirichlet_where_its_own_label_leads():
    shape = np.array([0.6, 2.8, 0.6])
    found = drawn_rows(3.0, 4.0, [3.0, 0.0, 1.0], shape, 40_000, 6, named=True)
    free = np.random.default_rng(1).dirichlet(shape + np.array([3.0, 3.0, 1.0]), 400_000)
    law = free[free.argmax(axis=1) == 1]
    assert (found.argmax(axis=1) == 1).all()
    np.testing.assert_allclose(found.mean(axis=0), law.mean(axis=0), atol=0.006)
    np.testing.assert_allclose(found.std(axis=0), law.std(axis=0), rtol=0.05)
