"""States of items: tables, truths and counts against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from dissensus.families.latent_truth.kernels import states
from dissensus.families.latent_truth.kernels.data import DIFFICULTY, SHARED, SOURCE, Form, blank
from dissensus.kernels.random import started
from dissensus.kernels.votes import votes

EASE = np.array([-1.0, 1.0])


def setting(related, difficulty=1, evidence=4):
    """Two annotators and two systems, three labels, every parameter another number."""
    form = Form(3, 4, 2, evidence, 1, 0, 0, 0, difficulty, related, 0)
    par, rng = blank(form), np.random.default_rng(1)
    par.skill[:] = rng.normal(0.5, 1, (4, 3))
    par.log_prevalence[:] = np.log([0.5, 0.3, 0.2])
    for rows in (par.log_error, par.log_base[None]):
        weight = rng.random(rows.shape) * (1 - np.eye(3))
        with np.errstate(divide="ignore"):
            rows[:] = np.log(weight / weight.sum(axis=-1, keepdims=True))
    par.slope[2:] = 0.5, 2.0
    par.number[[DIFFICULTY, SHARED, SOURCE]] = 0.8, -0.4, 0.6
    return form, par


def tables(form, par, ease=EASE):
    n = states.n_states(form, ease)
    weight, response = np.empty(n), np.empty((form.n_voices, form.n_labels, n))
    states.fill_tables(form, ease, par, weight, response)
    return weight, response


def plain(par, related):
    """Return state -> (probability, chances (voice, label)) from the definitions."""
    out, spread = {}, par.number[DIFFICULTY]
    share, error, base = (np.exp(x) for x in (par.log_prevalence, par.log_error, par.log_base))
    taken = special.expit(par.number[SHARED])
    for f in range(3 if related else 1):
        for q, ease in enumerate(EASE):
            hit = special.expit(par.number[SOURCE] + spread * ease)
            for z in range(3):
                weight = share[z] / 2
                if related:
                    weight *= hit if f == z else (1 - hit) * base[z, f]
                chance = np.empty((4, 3))
                for v, y in np.ndindex(4, 3):
                    p = special.expit(par.skill[v, z] + spread * par.slope[v] * ease)
                    chance[v, y] = p if y == z else (1 - p) * error[v, z, y]
                    if related and v >= 2:
                        chance[v, y] = (1 - taken) * chance[v, y] + taken * (y == f)
                out[(f * 2 + q) * 3 + z] = weight, chance
    return out


@pytest.mark.parametrize("related", [0, 1])
def test_tables(related):
    form, par = setting(related)
    weight, response = tables(form, par)
    want = plain(par, related)
    assert len(want) == len(weight)
    for s, (chance, rows) in want.items():
        assert np.exp(weight[s]) == pytest.approx(chance)
        np.testing.assert_allclose(np.exp(response[:, :, s]), rows)
    assert np.exp(weight).sum() == pytest.approx(1)
    np.testing.assert_allclose(np.exp(response).sum(axis=1), 1)


ROWS = np.array([
    (0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 3, 0), (1, 0, 1), (1, 1, 1), (1, 2, 1), (1, 3, 0),
    (2, 0, 2), (2, 0, 2), (2, 1, 0), (2, 2, 2), (2, 3, 2), (3, 3, 1),
])  # fmt: skip
"""(item, voice, label): two items alike, one labelled twice by one voice, one by a system only."""


def visited(form, par, seed=1):
    found, pattern = votes(*ROWS.T, 4)
    weight, response = tables(form, par)
    counts = states.room(form, len(EASE), len(weight))
    truth, ease = np.empty((len(found.n_items), 3)), np.empty(len(found.n_items))
    state = started(seed)
    whole = states.draw_states(
        state, found, form.evidence, EASE, weight, response, counts.raw, counts.size, truth,
        ease,
    )  # fmt: skip
    states.sort_counts(state, form, par, response, counts)
    each = np.empty(len(found.n_items))
    states.pattern_log_likelihood(found, weight, response, each)
    return whole, truth[pattern], ease[pattern], each[pattern], counts


@pytest.mark.parametrize("related", [0, 1])
@pytest.mark.parametrize("evidence", [2, 4])
def test_truth_and_likelihood(related, evidence):
    form, par = setting(related, evidence=evidence)
    whole, truth, ease, each, _ = visited(form, par)
    total = 0.0
    for i in range(4):
        joint, full = np.zeros((3, 2)), 0.0
        for s, (chance, rows) in plain(par, related).items():
            known = [rows[v, y] for k, v, y in ROWS if k == i and v < evidence]
            joint[s % 3, (s // 3) % 2] += chance * np.prod(known)
            full += chance * np.prod([rows[v, y] for k, v, y in ROWS if k == i])
        share = joint / joint.sum()
        np.testing.assert_allclose(truth[i], share.sum(axis=1))
        assert ease[i] == pytest.approx(share.sum(axis=0) @ EASE)
        assert each[i] == pytest.approx(np.log(full))
        total += np.log(joint.sum())
    assert whole == pytest.approx(total)


@pytest.mark.parametrize("related", [0, 1])
def test_counts_add_up(related):
    form, par = setting(related)
    *_, counts = visited(form, par)
    assert counts.size.sum() == counts.truth.sum() == 4
    given = counts.raw.sum(axis=2)
    for v, y in np.ndindex(4, 3):
        assert given[v, y] == ((ROWS[:, 1] == v) & (ROWS[:, 2] == y)).sum()
    np.testing.assert_allclose(counts.error.sum(axis=2), counts.wrong.sum(axis=2))
    own = counts.right.sum(axis=(1, 2)) + counts.wrong.sum(axis=(1, 2))
    assert own[:2].tolist() == [5 - 1, 3]
    assert counts.shared.sum() == (7 if related else 0)
    assert own.sum() + counts.shared[0] == len(ROWS)
    if related:
        assert counts.source_right.sum() + counts.source_wrong.sum() == 4
        assert counts.source_error.sum() == counts.source_wrong.sum()


@pytest.mark.long
def test_counts_have_the_truths_probabilities():
    form, par = setting(1)
    _, truth, *_ = visited(form, par)
    found = np.mean([visited(form, par, seed)[4].truth for seed in range(4000)], axis=0)
    np.testing.assert_allclose(found, truth.sum(axis=0), atol=0.06)


def test_labels_drawn_anew():
    """One row: the label's probability over all states."""
    form, par = setting(1)
    weight, response = tables(form, par)
    state, out = started(1), np.empty(40_000, dtype=np.int32)
    states.replicate(state, weight, response, np.arange(40_000), np.full(40_000, 3), out)
    want = np.exp(response[3]) @ np.exp(weight)
    assert stats.chisquare(np.bincount(out, minlength=3), want * 40_000).pvalue > 1e-3


@pytest.mark.parametrize("x", [-800.0, -5.0, 0.0, 3.0, 800.0])
def test_log_sigmoid(x):
    assert states.log_sigmoid(x) == pytest.approx(special.log_expit(x))
