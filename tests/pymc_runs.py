"""Short runs of PyMC models by the steps that PyMC chooses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import pytensor
import pytest
from pytensor.link.c.basic import CLinker
from pytensor.link.numba.linker import NumbaLinker

from dissensus.sampling.interpreter import uncompiled
from dissensus.sampling.step import without_gibbs


@pytest.fixture(autouse=True)
def graphs_are_not_compiled() -> Iterator[None]:
    """For a conftest to import: nothing is, but where a test asks for it by ``mode=``."""
    with uncompiled():
        yield


AS_USERS_HAVE_IT = {"mode": "Mode", "cxx": pytensor.config.cxx}


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every compiler of PyTensor fail."""

    def called(*args: Any, **options: Any) -> None:
        raise AssertionError("a compiler was called")

    monkeypatch.setattr(CLinker, "make_thunk", called)
    monkeypatch.setattr(NumbaLinker, "fgraph_convert", called)


def few_as_users_have_it(model: Any) -> Any:
    """Sample a few draws; what is compiled for a user is compiled."""
    with pytensor.config.change_flags(**AS_USERS_HAVE_IT):
        return pm.sample(
            3, tune=2, chains=1, model=model, random_seed=1, progressbar=False,
            compute_convergence_checks=False,
        )  # fmt: skip


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


def same_draws(first: Any, second: Any, names: list[str], least: int = 150) -> None:
    """Compare means and standard deviations of two runs, in Monte Carlo errors of both."""
    for name in names:
        a, b = first[name], second[name]
        if name == "correlation":  # one number, and ones
            a, b = a[..., 0, 1], b[..., 0, 1]
        assert min(float(az.ess(draws).min()) for draws in (a, b)) > least
        for method, move in (("mean", "mean"), ("sd", "std")):
            gap = np.abs(getattr(a, move)(("chain", "draw")) - getattr(b, move)(("chain", "draw")))
            error = np.hypot(az.mcse(a, method=method), az.mcse(b, method=method))
            assert (gap.to_numpy() <= 4 * np.asarray(error)).all(), (name, method)
