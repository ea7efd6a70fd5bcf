"""The PyMC model itself, calibrated by a package that knows nothing of this one."""

from __future__ import annotations

import numpy as np
import pytest
import simuk
from calibration import harness

import dissensus as dx


@pytest.mark.slow
def test_nuts_on_build_is_calibrated():
    """Ranks by simuk (prior predictive, pm.observe, pm.sample), judged by our envelope.

    `test_as_written` does the same in CI by this library's own harness.
    """
    rng = np.random.default_rng(1)
    ann = dx.from_matrix(rng.choice(list("abc"), (15, 3)), labels=list("abc"))
    sbc = simuk.SBC(
        dx.models.dirichlet.build(ann, prior_count=0.8), num_simulations=20, seed=3,
        progress_bar=False, keep_fits=False,
        sample_kwargs={"draws": 400, "tune": 400, "chains": 1, "cores": 1},
    )  # fmt: skip
    sbc.run_simulations()
    ranks = sbc.simulations["prior_sbc"]["plausibility"].to_numpy()[0, ..., 0]
    assert ranks.shape == (20, 15)
    # Draws follow from one another, so a rank of 400 says about as much as one of a hundred.
    places = (ranks.ravel() + rng.random(ranks.size)) / 401
    assert harness.p_value(places) > 0.001
