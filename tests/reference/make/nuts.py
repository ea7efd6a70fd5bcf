"""Long runs of NUTS on a density that a script writes down, and what they must be to be stored.

A script hands over how to declare the parameters and a log-density: nothing of the library's own
models is used. nutpie samples where it is installed, as it is faster; PyMC's own NUTS otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np
from reference.make.summaries import QUANTILES, of_draws
from reference.make.writer import Quantity

PACKAGES = ("numpy", "scipy", "pymc", "pytensor", "arviz")
LEAST = 10_000


def sampled(declare: Callable[[], None], *, seed: int, draws: int = 15_000) -> Any:
    """Return the run; ``declare`` is called within a PyMC model."""
    import pymc as pm

    with pm.Model():
        declare()
        return pm.sample(
            draws, tune=2000, chains=4, cores=2, random_seed=seed, target_accept=0.98,
            nuts_sampler=sampler(), progressbar=False, compute_convergence_checks=False,
        )  # fmt: skip


def sampler() -> str:
    return "nutpie" if find_spec("nutpie") else "pymc"


def packages() -> tuple[str, ...]:
    return (*PACKAGES, "nutpie") if sampler() == "nutpie" else PACKAGES


def quantities(draws: dict[str, tuple[tuple[str, ...], Any]], names: dict[str, list[Any]]) -> list:
    """Summarise arrays (chain, draw, ...), whose dims have these names."""
    out = []
    for variable, (dims, values) in draws.items():
        for place in np.ndindex(values.shape[2:]):
            at = {dim: names[dim][k] for dim, k in zip(dims, place, strict=True)}
            out.append(Quantity(variable, at, of_draws(values[(..., *place)])))
    return out


def criteria(run: Any, draws: Iterable[Any]) -> dict[str, bool]:
    """Judge a run by all that is stored of it: arrays (chain, draw, ...)."""
    import arviz_stats

    r_hat, ess = [], []
    for values in draws:
        for place in np.ndindex(values.shape[2:]):
            series = np.ascontiguousarray(values[(..., *place)])
            r_hat.append(float(arviz_stats.rhat(series)))
            ess += [float(arviz_stats.ess(series, method=m)) for m in ("bulk", "mean", "sd")]
            ess += [
                float(arviz_stats.ess(series, method="quantile", prob=q))
                for q in QUANTILES.values()
            ]
    print(f"r-hat {max(r_hat):.4f}, ESS {min(ess):.0f}, "
          f"divergences {int(run['sample_stats']['diverging'].sum())}")  # fmt: skip
    return {
        "r_hat_below_1.01": max(r_hat) < 1.01, "ess_above_10000": min(ess) > LEAST,
        "no_divergences": not run["sample_stats"]["diverging"].any(),
    }  # fmt: skip


def values(run: Any, name: str) -> Any:
    """Return draws (chain, draw, ...)."""
    return run["posterior"][name].to_numpy()
