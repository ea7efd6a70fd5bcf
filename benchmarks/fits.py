"""Exact draws from the conjugate posteriors, and what they need in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial

import data
import numpy as np
import xarray as xr
from timing import Row, in_turns

import dissensus as dx

DRAWS = 1000


def rows(repeats: int) -> Iterator[Row]:
    """Measure the models; the peer is a loop over items around NumPy's own Dirichlet."""
    name, ann = data.dermatology()
    # The published code needs half an hour for its 1,947 cases.
    yield _against_numpy(
        f"inverse_rank.fit, {name} x {DRAWS:,} draws", dx.models.inverse_rank.fit, ann, 1,
        repeats, target="< 1 s",
    )  # fmt: skip
    yield _against_numpy(
        f"inverse_rank.fit, {name} x 4 x {DRAWS:,} draws", dx.models.inverse_rank.fit, ann, 4,
        repeats,
    )  # fmt: skip
    name, ann = data.cebab()
    yield _against_numpy(
        f"dirichlet.fit, {name} x 4 x {DRAWS:,} draws, prior_count=1",
        partial(dx.models.dirichlet.fit, prior_count=1),
        ann,
        4,
        repeats,
    )


def _against_numpy(
    label: str, fit: Callable[..., xr.DataTree], ann: xr.Dataset, chains: int, repeats: int,
    target: str = "",
) -> Row:  # fmt: skip
    def ours() -> xr.DataTree:
        return fit(ann, draws=DRAWS, chains=chains, random_seed=1)

    alpha = ours()["constant_data"]["parameters"].to_numpy()

    def loop() -> np.ndarray:
        rng = np.random.default_rng(1)
        out = np.zeros((chains * DRAWS, *alpha.shape))
        for i, row in enumerate(alpha):
            out[:, i, row > 0] = rng.dirichlet(row[row > 0], chains * DRAWS)
        return out

    times, peer = in_turns(repeats, ours, loop)
    label += f" (peak memory {_peak(ours):.2f} x the draws)"
    return Row(label, times, "loop over numpy's dirichlet", peer, target)


def _peak(fit: Callable[[], xr.DataTree]) -> float:
    tracemalloc.start()
    draws = fit()["posterior"]["plausibility"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / draws.nbytes
