"""Sweeps leave the joint distribution of parameters, truth and labels as it is.

Parameters drawn from the prior are a draw from the posterior given labels drawn from them. A chain
that starts there is where it should be from the first sweep on, however slowly it moves, so that
whatever is asked of it has the same expectation after some sweeps as before (Geweke, 2004, Journal
of the American Statistical Association 99:799). Places of calibration need chains that have
forgotten where they began; this does not, and what moves slowly is no excuse.
"""

from __future__ import annotations

import warnings
from unittest import mock

import numpy as np
import pytest
from calibration.truth_faults import systems_twice
from calibration.truth_questions import questions_of
from calibration.truth_settings import LONG, SETTINGS
from calibration.truth_studies import draw
from scipy import special

import dissensus as dx
from dissensus.errors import DissensusWarning
from dissensus.families.latent_truth import chain as sampler
from dissensus.families.latent_truth import fit as fit_parts
from dissensus.families.latent_truth.kernels import data as places
from dissensus.families.latent_truth.kernels.data import blank

SWEEPS = 15
STUDIES = {"reduced": 60, "full": 2000}
NAMES = sorted(name for name in SETTINGS if not name.endswith("known annotators"))
FAR = 4.5
"""Of a z-score: one in 150,000, for some hundred questions."""


def at(world, setting):
    """Return what starts a chain at the world that the study came from."""

    def start(process, rng):
        par, first = blank(process.form), process.form.first_system
        respondents = [*range(first), *range(setting.n_annotators, len(world.skill))]
        par.log_prevalence[:] = np.log(world.prevalence)
        par.skill[:] = world.skill[respondents]
        par.log_error[:] = world.log_error[respondents]
        par.log_base[:] = world.log_base
        par.slope[:] = world.slope[respondents]
        numbers = {
            places.MEAN: world.mean, places.SPREAD: world.spread, places.DECAY: world.decay,
            places.CONCENTRATION: world.concentration, places.DIFFICULTY: world.difficulty,
            places.SHARED: special.logit(world.shared), places.SOURCE: world.source,
        }  # fmt: skip
        for place, value in numbers.items():
            par.number[place] = value
        if setting.pooling:
            par.log_population[:] = np.log(world.population)
            par.alike[:] = world.alike
            par.level[first:] = special.logit(world.level)
        if setting.pooling == "hierarchical":
            par.level[:first] = world.better
        return par

    return start


def changes(name, studies, seed, fault=lambda fit: fit):
    """Return what changed in some sweeps, of answers and of their squares (question, study)."""
    rng = np.random.default_rng(seed)
    fit = fault(dx.models.get(name.split(":")[0]).module.fit)
    result = {}
    for _ in range(studies):
        drawn = draw(SETTINGS[name](rng), rng)
        start = at(drawn.world, drawn.setting)
        with (
            mock.patch.object(sampler, "start", start),
            mock.patch.object(fit_parts, "_diagnosed", lambda process, posterior: {}),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", DissensusWarning)
            options = {**drawn.hyper, "tune": 0, "random_seed": int(rng.integers(2**31))}
            tree = fit(drawn.annotations, draws=SWEEPS + 1, chains=1, progressbar=False, **options)
        for question, (draws, truth) in questions_of(drawn, rng)(tree).items():
            for power in (1, 2):
                change = draws[-1, 0] ** power - truth[0] ** power
                result.setdefault((question, power), []).append(change)
    return {key: np.array(each) for key, each in result.items()}


def score(change):
    """Return a z-score of the mean."""
    return change.mean() / (change.std(ddof=1) / np.sqrt(len(change)))


def scores(name, extent, seed=1, **options):
    return {key: score(x) for key, x in changes(name, STUDIES[extent], seed, **options).items()}


@pytest.mark.unit(0, long=2)
@pytest.mark.parametrize("name", sorted(set(NAMES) & LONG))
def test_sweeps_change_nothing_on_average(name):
    assert {key: z for key, z in scores(name, "reduced").items() if abs(z) > FAR} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_many_sweeps_change_nothing_on_average(name):
    result = scores(name, "full", seed=2)
    print(name, {key: round(z, 2) for key, z in result.items()})
    assert {key: z for key, z in result.items() if abs(z) > FAR} == {}


def test_a_planted_fault_changes_something():
    result = scores("dawid_skene: all at once", "reduced", fault=systems_twice)
    assert max(abs(z) for z in result.values()) > FAR
