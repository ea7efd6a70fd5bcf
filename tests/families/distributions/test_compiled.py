"""What the other tests draw and weigh in Python, compiled as `pymc.sample` does it."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytest

from dissensus.families.conjugate.distributions import PowerMultinomial
from dissensus.families.crossed.distributions import CumulativeProbit
from dissensus.families.rankings.distributions import LogGamma
from dissensus.families.rasch.distributions import LatentAnswers

CASES = {
    "CumulativeProbit": lambda: CumulativeProbit.dist(eta=[0.5, -1.0], cutpoint=[-1.0, 0.5]),
    "LatentAnswers": lambda: LatentAnswers.dist(
        np.log([[0.5, 0.5]]), np.full((2, 2), 1.1), np.zeros((2, 1)), [[0, 0], [0, -1]]
    ),
    "LogGamma": lambda: LogGamma.dist(alpha=[0.5, 3.0]),
    "PowerMultinomial": lambda: PowerMultinomial.dist(n=4, p=[0.7, 0.3], power=0.5),
}


SLOW = "LatentAnswers"  # to compile


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name == SLOW else name for name in CASES]
)
def test_compiled_it_is_the_same(name):
    variable = CASES[name]()
    value = pm.draw(variable, random_seed=1, mode="NUMBA")
    assert np.isfinite(value).all()
    density = pm.logp(variable, value)
    np.testing.assert_allclose(
        density.eval(mode="NUMBA"), density.eval(mode="FAST_COMPILE"), rtol=1e-10
    )
