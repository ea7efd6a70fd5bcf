"""What annotators' matrices have in common, against points of the prior with their weights.

The weights are products of Beta, Beta-binomial and Dirichlet-multinomial densities of SciPy's.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from dissensus.families.latent_truth.kernels import matrices
from dissensus.families.latent_truth.kernels.data import (
    HIERARCHICAL,
    SPREAD,
    Form,
    Priors,
    blank,
    regression,
)
from dissensus.families.latent_truth.kernels.states import room
from dissensus.kernels import variates
from dissensus.kernels.random import started

PRIOR = np.array([2.8, 0.6, 0.6])
ALIKE = np.array([2.0, 0.2])
SAID = np.array([[[3.0, 1, 0], [5, 0, 2], [0, 0, 1]], [[0, 2, 0], [1, 4, 0], [1, 1, 0]],
                 [[0, 0, 0], [0, 0, 0], [0, 1, 1]]])  # fmt: skip
"""(label, annotator, response)"""
ROWS = np.array([[[0.7, 0.2, 0.1], [0.8, 0.1, 0.1], [0.5, 0.1, 0.4]],
                 [[0.1, 0.6, 0.3], [0.2, 0.75, 0.05], [0.4, 0.5, 0.1]],
                 [[0.2, 0.2, 0.6], [0.1, 0.3, 0.6], [0.3, 0.1, 0.6]]])  # fmt: skip
"""(label, annotator, response)"""
COVARIATES, COEFFICIENT = (
    np.array([[1.0, 0.3], [-0.8, 0.5], [-0.2, -0.8]]),
    np.array([[0.4, 1.0], [-0.2, 0.6]]),
)
"""(annotator, term), and mean and standard deviation (term)."""


def form(n_labels=3, difficulty=0):
    return Form(n_labels, 3, 3, 3, 1, 0, 0, 0, difficulty, 0, HIERARCHICAL)


def priors(n_labels=3):
    rows = np.full((n_labels, n_labels), 1.2 / (n_labels - 1))
    np.fill_diagonal(rows, 2.8)
    return Priors(np.ones(n_labels), 1.0, 1.0, 0.5, 1.0, np.array([1.5, 1.0]), rows, ALIKE, 10.0)


def prior_points(n_labels, n=2**19):
    """Return points of the prior: spread, levels, and of each label its weight and row.

    Levels are about those of covariates, whose coefficients come last.
    """
    u = stats.qmc.Sobol(6 + n_labels**2, rng=np.random.default_rng(1)).random(n)
    u = u.clip(1e-9, 1 - 1e-9)
    spread = stats.norm.ppf((1 + u[:, 0]) / 2)
    level = spread[:, None] * stats.norm.ppf(u[:, 1:4])
    coefficient = COEFFICIENT[:, 0] + COEFFICIENT[:, 1] * stats.norm.ppf(u[:, -2:])
    alike, row = np.empty((n, n_labels)), np.empty((n, n_labels, n_labels))
    for z in range(n_labels):
        at = u[:, 4 + z * n_labels : 4 + (z + 1) * n_labels]
        alike[:, z] = stats.gamma.ppf(at[:, 0], ALIKE[0], scale=1 / ALIKE[1])
        right = special.betaincinv(2.8, 1.2, at[:, 1])
        away = [y for y in range(n_labels) if y != z]
        row[:, z, z] = right
        first = special.betaincinv(0.6, 0.6, at[:, 2]) if n_labels == 3 else np.ones(n)
        row[:, z, away[0]] = (1 - right) * first
        if n_labels == 3:
            row[:, z, away[1]] = (1 - right) * (1 - first)
    leads = (row.argmax(axis=2) == np.arange(n_labels)).all(axis=1)
    return spread, level, alike, row, leads, coefficient


def log_weight(level, alike, row, counts, rows):
    """Weigh points by answers where ``rows`` is None, else by accuracies, and errors counted."""
    out = np.zeros(len(level))
    for z in range(alike.shape[1]):
        odds = special.logit(np.clip(row[:, z, z], 1e-300, 1 - 1e-16))
        away = np.delete(np.arange(row.shape[2]), z)
        for v in range(3):
            a, b = (np.maximum(alike[:, z] * special.expit(x), 1e-300)
                    for x in (odds + level[:, v], -odds - level[:, v]))  # fmt: skip
            hit, missed = int(counts[z, v, z]), counts[z, v, away].astype(int)
            if rows is None:
                out += stats.betabinom.logpmf(hit, hit + missed.sum(), a, b)
            else:
                out += stats.beta.logpdf(rows[z, v, z], a, b)
            if len(away) > 1:
                shape = np.maximum(alike[:, z, None] * row[:, z, away], 1e-300)
                out += stats.dirichlet_multinomial.logpmf(missed, shape, int(missed.sum()))
    return out


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.parametrize(
    ("n_labels", "difficulty", "n_terms"), [(2, 0, 0), (3, 0, 0), (2, 1, 0), (2, 0, 2), (2, 1, 2)]
)
def test_what_rows_have_in_common(n_labels, difficulty, n_terms):
    """Moments of the draws are those of the weighted points, of everything that is drawn."""
    counts_said = SAID[:n_labels, :, :n_labels]
    spread, level, alike, row, leads, coefficient = prior_points(n_labels)
    given = regression(COVARIATES[:, :n_terms], COEFFICIENT[:n_terms])
    level = level + coefficient[:, :n_terms] @ given.value.T
    log = log_weight(level, alike, row, counts_said, ROWS if difficulty else None)
    weight = np.exp(log - log.max()) * leads
    weight /= weight.sum()
    assert 1 / (weight**2).sum() > 2000
    layout, prior = form(n_labels, difficulty), priors(n_labels)
    par, counts, state = blank(layout), room(layout, 1, n_labels), started(1)
    par.log_population[:] = np.log(0.4 * np.eye(n_labels) + 0.6 / n_labels)
    for z in range(n_labels):
        label_counts = counts_said[z]
        counts.right[:, z, 0], counts.wrong[:, z, 0] = (
            label_counts[:, z],
            np.delete(label_counts, z, 1).sum(1),
        )
        counts.error[:, z] = np.where(np.arange(n_labels) == z, 0.0, label_counts)
        par.skill[:, z] = special.logit(ROWS[z, :, z])
    result, beta, at = [], np.zeros(n_terms), np.empty(n_terms)
    answers = counts.right, counts.wrong, counts.error
    for _ in range(30_000):
        if n_terms:
            now = given.value @ beta + par.level
            matrices.draw_coefficients(
                state, given.along, not difficulty, par.skill, par.log_population, par.alike,
                par.number, now, rest := now - given.value @ given.centre, at, *answers,
            )  # fmt: skip
            par.level[:], beta = rest, given.centre + given.basis @ at
        mean = given.value @ beta
        matrices.draw_population(
            state, 3, not difficulty, prior.rows, prior.alike, prior.spread, par.skill, mean,
            par.level, par.log_population, par.alike, par.number, *answers,
        )  # fmt: skip
        result.append([math.log(par.number[SPREAD]), *(mean + par.level), *np.log(par.alike),
                      *np.exp(par.log_population).ravel(), *beta])  # fmt: skip
    known = np.column_stack([np.log(spread), level, np.log(alike), row.reshape(len(row), -1),
                             coefficient[:, :n_terms]])  # fmt: skip
    check_moments(np.array(result), known, weight)


def check_moments(result, known, weight):
    assert result.shape[1] == known.shape[1]
    for k in range(known.shape[1]):
        mean = weight @ known[:, k]
        sd = np.sqrt(weight @ (known[:, k] - mean) ** 2)
        assert result[:, k].mean() == pytest.approx(mean, abs=0.07 * sd)
        assert result[:, k].std() == pytest.approx(sd, rel=0.08)


def test_tables_of_a_restaurant():
    """The expected number is the sum of a / (a + k) over guests."""
    state = started(4)
    mean = np.mean([variates.tables(state, 30.0, 2.5) for _ in range(20_000)])
    assert mean == pytest.approx((2.5 / (2.5 + np.arange(30))).sum(), abs=0.05)
    assert variates.tables(state, 0.0, 2.5) == 0


def test_odds_of_a_row():
    row = np.array([0.2, 0.7, 0.1])
    assert matrices.row_odds(np.log(row), 1) == pytest.approx(math.log(0.7 / 0.3))
    hardly = np.array([-800.0, 0.0, -801.0])
    assert matrices.row_odds(hardly, 1) == pytest.approx(800 - math.log1p(math.exp(-1)))
