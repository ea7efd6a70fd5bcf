"""Rows of confusion matrices given what was counted, and the level of a system's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from dissensus.families.latent_truth.kernels import matrices
from dissensus.families.latent_truth.kernels.data import HIERARCHICAL, Form, blank
from dissensus.kernels.random import started

FORM = Form(3, 3, 3, 3, 1, 0, 0, 0, 0, 0, HIERARCHICAL)


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
    actual = [
        matrices._log_level(level, 10.0, collapsed, skill, right, error.sum(axis=1), error)
        for level in logits
    ]
    np.testing.assert_allclose(np.diff(actual), np.diff([want(level) for level in logits]))


def drawn_rows(right, wrong, error, shape, draws, seed, named):
    """Draw the second label's row again and again, given what was counted."""
    less = shape[0] + shape[2]
    right, wrong, error = np.array([right]), np.array([wrong]), np.array(error)
    par, state, ease = blank(FORM), started(seed), np.zeros(1)
    skill, log_error = par.skill[0, 1], par.log_error[0, 1]
    result = np.empty((draws, 3))
    for row in result:
        skill = matrices.draw_row(
            state, skill, 0.0, ease, right, wrong, error, 1, shape, less, named, log_error
        )
        p = special.expit(skill)
        row[:] = (1 - p) * np.exp(log_error)
        row[1] = p
    return result


def test_rows_given_counts_are_dirichlet():
    shape = np.array([0.6, 2.8, 0.6])
    result = drawn_rows(3.0, 6.0, [5.0, 0.0, 1.0], shape, 20_000, 5, named=False)
    law = stats.dirichlet(shape + np.array([5.0, 3.0, 1.0]))
    np.testing.assert_allclose(result.mean(axis=0), law.mean(), atol=0.006)
    np.testing.assert_allclose(result.var(axis=0), law.var(), rtol=0.06)


def test_a_named_row_is_dirichlet_where_its_own_label_leads():
    shape = np.array([0.6, 2.8, 0.6])
    result = drawn_rows(3.0, 4.0, [3.0, 0.0, 1.0], shape, 40_000, 6, named=True)
    free = np.random.default_rng(1).dirichlet(shape + np.array([3.0, 3.0, 1.0]), 400_000)
    law = free[free.argmax(axis=1) == 1]
    assert (result.argmax(axis=1) == 1).all()
    np.testing.assert_allclose(result.mean(axis=0), law.mean(axis=0), atol=0.006)
    np.testing.assert_allclose(result.std(axis=0), law.std(axis=0), rtol=0.05)
