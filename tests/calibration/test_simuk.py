"""The PyMC model itself, calibrated by a package that knows nothing of this one."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import simuk
from calibration import harness

import dissensus as dx
from dissensus.sampling.step import uncompiled


@pytest.mark.parametrize(
    ("items", "studies", "draws", "context"),
    [
        pytest.param(60, 2, 40, uncompiled, id="reduced"),
        pytest.param(15, 20, 400, nullcontext, marks=pytest.mark.slow, id="full"),
    ],
)
def test_nuts_on_build_is_calibrated(items, studies, draws, context):
    """Ranks by simuk (prior predictive, pm.observe, pm.sample), judged by our envelope."""
    rng = np.random.default_rng(1)
    ann = dx.from_matrix(rng.choice(list("abc"), (items, 3)), labels=list("abc"))
    sbc = simuk.SBC(
        dx.models.dirichlet.build(ann, prior_count=0.8), num_simulations=studies, seed=3,
        progress_bar=False, keep_fits=False,
        sample_kwargs={"draws": draws, "tune": draws, "chains": 1, "cores": 1},
    )  # fmt: skip
    with context():
        sbc.run_simulations()
    ranks = sbc.simulations["prior_sbc"]["plausibility"].to_numpy()[0, ..., 0]
    assert ranks.shape == (studies, items)
    # Draws follow from one another, so a rank of 400 says about as much as one of a hundred.
    places = (ranks.ravel() + rng.random(ranks.size)) / (draws + 1)
    assert harness.p_value(places) > 0.001
