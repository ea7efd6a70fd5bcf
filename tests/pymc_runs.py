"""Short runs of PyMC models by the steps that PyMC chooses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymc as pm
import pytensor
import pytest

from dissensus.sampling.step import uncompiled, without_gibbs


@pytest.fixture(autouse=True)
def graphs_are_not_compiled() -> Iterator[None]:
    """For a conftest to import: nothing is, but where a test asks for it by ``mode=``."""
    with uncompiled():
        yield


def run(
    model: Any, draws: int = 1500, tune: int = 300, chains: int = 2, seed: int = 7,
    mode: str | None = None, **options: Any,
) -> Any:  # fmt: skip
    """Sample; by default nothing is compiled, which is quick where a Gibbs step does the work."""
    with model, pytensor.config.change_flags(mode=mode) if mode else uncompiled():
        return pm.sample(
            draws, tune=tune, chains=chains, cores=1, random_seed=seed, progressbar=False,
            compute_convergence_checks=False, **options,
        )  # fmt: skip


def by_nuts(model: Any, **options: Any) -> Any:
    """Sample by NUTS throughout, compiled."""
    with without_gibbs():
        return run(model, mode="NUMBA", nuts_sampler="pymc", **options)
