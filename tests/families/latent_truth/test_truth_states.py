"""States of items: tables, truths and counts against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from truth_cases import THREE, rows

from dissensus.families.latent_truth.chain import Chain, fill_tables
from dissensus.families.latent_truth.kernels import states
from dissensus.families.latent_truth.kernels.data import DIFFICULTY, SHARED, SOURCE, Form, blank
from dissensus.kernels.random import started
from dissensus.models.dawid_skene import _process

EASE = np.array([-1.0, 1.0])
ROWS = np.array([
    (0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 3, 0), (1, 0, 1), (1, 1, 1), (1, 2, 1), (1, 3, 0),
    (2, 0, 2), (2, 0, 2), (2, 1, 0), (2, 2, 2), (2, 3, 2), (3, 3, 1),
])  # fmt: skip
"""(item, respondent, label): two items alike, one labelled twice by one, one by a system only."""
by_relation = pytest.mark.parametrize("related", [0, 1])


def setting(related, evidence=4):
    """Two annotators and two systems, three labels, every parameter another number."""
    form, rng = Form(3, 4, 2, evidence, 1, 0, 0, 0, 1, related, 0), np.random.default_rng(1)
    par = blank(form)
    par.skill[:] = rng.normal(0.5, 1, (4, 3))
    par.log_prevalence[:] = np.log([0.5, 0.3, 0.2])
    for part in (par.log_error, par.log_base[None]):
        weight = rng.random(part.shape) * (1 - np.eye(3))
        with np.errstate(divide="ignore"):
            part[:] = np.log(weight / weight.sum(axis=-1, keepdims=True))
    par.slope[2:] = 0.5, 2.0
    par.number[[DIFFICULTY, SHARED, SOURCE]] = 0.8, -0.4, 0.6
    item, respondent, label = ROWS.T
    process = _process(
        rows(THREE[:4], n_labels=3).annotations(), None, pooling="none", difficulty=True,
        systems="independent", evidence="all", prior_count=1.0, sampler="gibbs", on_missing="raise",
    )._replace(item=item, respondent=respondent, label=label, form=form, ease=EASE,
               known=np.full(4, -1))  # fmt: skip
    return process, par


def right(logit, ease):
    """Return an accuracy: of three labels a guess has odds of 1/2, and ease acts on the rest."""
    odds = np.exp(logit)
    odds += max(odds - 0.5, 0.0) * (np.exp(ease) - 1)
    return odds / (1 + odds)


def plain(par, related):
    """Return state -> (probability, chances (respondent, label)) from the definitions."""
    out, spread = {}, par.number[DIFFICULTY]
    share, error, base = (np.exp(x) for x in (par.log_prevalence, par.log_error, par.log_base))
    taken = special.expit(par.number[SHARED])
    for f in range(3 if related else 1):
        for q, ease in enumerate(EASE):
            hit = right(par.number[SOURCE], spread * ease)
            for z in range(3):
                weight = share[z] / 2
                if related:
                    weight *= hit if f == z else (1 - hit) * base[z, f]
                chance = np.empty((4, 3))
                for r, y in np.ndindex(4, 3):
                    p = right(par.skill[r, z], spread * par.slope[r] * ease)
                    chance[r, y] = p if y == z else (1 - p) * error[r, z, y]
                    if related and r >= 2:
                        chance[r, y] = (1 - taken) * chance[r, y] + taken * (y == f)
                out[(f * 2 + q) * 3 + z] = weight, chance
    return out


def visited(process, par, seed=1):
    """Draw states once; return a chain with tables, truths and counts, and the log-likelihood."""
    votes, pattern = process.votes()
    chain = Chain(process, votes, pattern)
    chain.par, chain.state = par, started(seed)
    return chain, pattern, chain._visit(process.form.evidence, chain.work, chain.seen)


def logit(eta, ease, n_labels):
    guess = states.lowest(n_labels)
    return states.eased(eta, states.above_guessing(eta, guess), ease, guess)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_a_hard_item_is_a_guess(n_labels):
    """And a respondent who is worse than guessing is so on all items."""
    guess = -np.log(n_labels - 1)
    for eta in (guess + 1e-9, guess + 0.3, 4.0, 900.0):
        assert logit(eta, 0.0, n_labels) == eta
        assert logit(eta, 1e-12, n_labels) == pytest.approx(eta)
        assert logit(eta, -2000.0, n_labels) == pytest.approx(guess)
        assert (np.diff([logit(eta, x, n_labels) for x in np.linspace(-3, 3, 9)]) > 0).all()
    odds = np.exp(guess + 0.3)
    want = (odds - 1 / (n_labels - 1)) * np.exp(-0.8) + 1 / (n_labels - 1)
    assert logit(guess + 0.3, -0.8, n_labels) == pytest.approx(np.log(want))
    for eta in (guess, guess - 1e-9, -3.0, -900.0):
        assert {logit(eta, x, n_labels) for x in (-2.0, 0.0, 2.0)} == {eta}


@by_relation
def test_tables(related):
    process, par = setting(related)
    want, n = plain(par, related), process.n_states
    weight, response = np.empty(n), np.empty((4, 3, n))
    fill_tables(process, par, weight, response)
    assert len(want) == n
    for s, (chance, chances) in want.items():
        assert np.exp(weight[s]) == pytest.approx(chance)
        np.testing.assert_allclose(np.exp(response[:, :, s]), chances)
    assert np.exp(weight).sum() == pytest.approx(1)
    np.testing.assert_allclose(np.exp(response).sum(axis=1), 1)


@by_relation
@pytest.mark.parametrize("evidence", [2, 4])
def test_truth_and_likelihood(related, evidence):
    process, par = setting(related, evidence)
    chain, pattern, whole = visited(process, par)
    work, each = chain.work, np.empty(len(chain.votes.n_items))
    states.pattern_log_likelihood(chain.votes, work.log_weight, work.log_response, each)
    total = 0.0
    for i in range(4):
        joint, full = np.zeros((3, 2)), 0.0
        for s, (chance, chances) in plain(par, related).items():
            known = [chances[r, y] for k, r, y in ROWS if k == i and r < evidence]
            joint[s % 3, (s // 3) % 2] += chance * np.prod(known)
            full += chance * np.prod([chances[r, y] for k, r, y in ROWS if k == i])
        share = joint / joint.sum()
        np.testing.assert_allclose(work.truth[pattern[i]], share.sum(axis=1))
        assert work.ease[pattern[i]] == pytest.approx(share.sum(axis=0) @ EASE)
        assert each[pattern[i]] == pytest.approx(np.log(full))
        total += np.log(joint.sum())
    assert whole == pytest.approx(total)


@by_relation
def test_counts_add_up(related):
    counts = visited(*setting(related))[0].work.counts
    assert counts.size.sum() == counts.truth.sum() == 4
    given = counts.raw.sum(axis=2)
    for r, y in np.ndindex(4, 3):
        assert given[r, y] == ((ROWS[:, 1] == r) & (ROWS[:, 2] == y)).sum()
    np.testing.assert_allclose(counts.error.sum(axis=2), counts.wrong.sum(axis=2))
    own = counts.right.sum(axis=(1, 2)) + counts.wrong.sum(axis=(1, 2))
    assert own[:2].tolist() == [4, 3]
    assert counts.shared.sum() == (7 if related else 0)
    assert own.sum() + counts.shared[0] == len(ROWS)
    if related:
        assert counts.source_right.sum() + counts.source_wrong.sum() == 4
        assert counts.source_error.sum() == counts.source_wrong.sum()


@pytest.mark.long
def test_counts_have_the_truths_probabilities():
    process, par = setting(1)
    chain, pattern, _ = visited(process, par)
    truth = chain.work.truth[pattern].sum(axis=0)
    drawn = [visited(process, par, seed)[0].work.counts.truth for seed in range(4000)]
    np.testing.assert_allclose(np.mean(drawn, axis=0), truth, atol=0.06)


def test_labels_of_new_items():
    """One row: the label's probability over all states."""
    work = visited(*setting(1))[0].work
    state, out = started(1), np.empty(40_000, dtype=np.int32)
    item, respondent = np.arange(40_000), np.full(40_000, 3)
    states.replicate(state, work.log_weight, work.log_response, item, respondent, out)
    want = np.exp(work.log_response[3]) @ np.exp(work.log_weight)
    assert stats.chisquare(np.bincount(out, minlength=3), want * 40_000).pvalue > 1e-3


@pytest.mark.parametrize("x", [-800.0, -5.0, 0.0, 3.0, 800.0])
def test_log_sigmoid(x):
    assert states.log_sigmoid(x) == pytest.approx(special.log_expit(x))
