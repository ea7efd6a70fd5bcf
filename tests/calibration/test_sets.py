"""Scores of whole sets are calibrated where labels are independent, as fits by label have it."""

from __future__ import annotations

import numpy as np
import pytest
from calibration import harness

import dissensus as dx
from dissensus.metrics import _sets

NAMES = ["a", "b", "c"]
FALSE_ALARM = 0.001


def case(rng, n=8, annotators=3):
    """Shares of each label from the model's prior, sets of answers, and a system's sets."""
    share = rng.beta(1, 1, (n, 3))
    answers = rng.random((annotators, n, 3)) < share
    predicted = rng.random((n, 3)) < rng.random(3)
    predicted[0] = True  # not all empty
    return share > 0.5, answers, predicted


def words(held):
    return [";".join(np.array(NAMES)[row]) or "none" for row in held.reshape(-1, 3)]


def scores(true, labels):
    """Scores by hand."""
    both, size = (true & labels).sum(), true.sum() + labels.sum()
    either = (true | labels).sum(axis=1)
    return {
        "exact_match": (true == labels).all(axis=1).mean(),
        "jaccard": np.where(either > 0, (true & labels).sum(1) / np.maximum(either, 1), 1.0).mean(),
        "micro_f1": 2 * both / size if size else np.nan,
    }


def places(studies, seed):
    """Return where true scores lie among the draws, by score."""
    result = {name: [] for name in ("exact_match", "jaccard", "micro_f1")}
    how = {"kind": "set", "separator": ";", "none": "none"}
    for study in range(studies):
        rng = np.random.default_rng((seed, study))
        true, answers, predicted = case(rng)
        n = len(true)
        rows = {"item": np.tile(np.arange(n), len(answers)), "label": words(answers),
                "annotator": np.repeat(np.arange(len(answers)), n)}  # fmt: skip
        ann = dx.annotations(rows, labels=NAMES, **how)
        pred = dx.predictions(
            {"item": np.arange(n), "system": ["s"] * n, "label": words(predicted)}, **how
        )
        fits = dx.by_label(
            dx.models.dirichlet.fit, ann, prior_count=1.0, draws=99, chains=1, random_seed=study,
            progressbar=False,
        )  # fmt: skip
        drawn = dx.set_score(fits, pred, random_seed=study)
        for name, known in scores(true, predicted).items():
            values = drawn[name].sel(system="s").to_numpy().ravel()
            if np.isfinite(known) and np.isfinite(values).all():
                result[name].append(harness.places(values[:, None], np.array([known]), rng))
    return {name: np.concatenate(each) for name, each in result.items()}


@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")  # labels that no answer has
@pytest.mark.parametrize("studies", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_true_scores_are_anywhere_among_the_draws(studies):
    for name, where in places(studies, 1).items():
        assert harness.p_value(where) > FALSE_ALARM, name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dissensus.DissensusWarning")
def test_another_rule_of_membership_is_caught(monkeypatch):
    monkeypatch.setattr(_sets, "_HALF", 0.35)
    assert min(harness.p_value(where) for where in places(200, 1).values()) < FALSE_ALARM
