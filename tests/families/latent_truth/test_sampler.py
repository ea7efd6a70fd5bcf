"""Where chains of a latent truth begin."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.families.latent_truth.chain import start
from dissensus.models import dawid_skene
from dissensus.models import symmetric_confusion as symmetric

COMMON = {
    "difficulty": False, "systems": "independent", "evidence": "all", "prior_count": 1.0,
    "sampler": "gibbs", "on_missing": "raise",
}  # fmt: skip
KINDS = {
    "common": lambda *given: symmetric._process(
        *given, accuracy="common", errors="equal", **COMMON
    ),
    "own": lambda *given: symmetric._process(
        *given, accuracy="annotator", errors="equal", **COMMON
    ),
    "matrices": lambda *given: dawid_skene._process(*given, pooling="none", **COMMON),
}


@pytest.mark.parametrize("kind", KINDS)
def test_chains_begin_where_no_system_knows_better_than_annotators(kind):
    # Of a study of 5,000 items and a system right on one in ten, 4 in 800 chains that began with a
    # better system than annotators took its answers for the truth, 1,858 below the others' log-
    # likelihood, and stayed there; none in 800 that begin as here.
    study = dx.simulate.confusion_study(20, system_accuracy=(0.9, 0.1), random_seed=1)
    process = KINDS[kind](study.annotations, study.predictions)
    result = [start(process, rng).skill for rng in np.random.default_rng(2).spawn(200)]
    guessing = -np.log(process.form.n_labels - 1)
    for skill in result:
        people, systems = skill[: process.form.first_system], skill[process.form.first_system :]
        assert systems.shape == (2, 5)
        assert (systems > guessing).all()
        assert systems.max() < people.min()
    assert np.std([skill[0, 0] for skill in result]) > 0.3  # or chains could not tell on each other
