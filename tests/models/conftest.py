"""One small set of annotations for each kind, and a yardstick for samplers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy import stats

import dissensus as dx
from dissensus.sampling.interpreter import uncompiled


@pytest.fixture(autouse=True)
def graphs_are_interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compile PyTensor's graphs only for tests that are marked: it takes most of a minute."""
    marked = any(request.node.get_closest_marker(name) for name in ("compiled", "slow"))
    with nullcontext() if marked else uncompiled():
        yield


@pytest.fixture(scope="session")
def examples() -> dict[str, xr.Dataset]:
    """Return annotations by kind; unbalanced, so that no two axes are of one length by luck."""
    rng = np.random.default_rng(20230704)
    item = np.repeat(np.arange(6), [4, 3, 2, 4, 3, 1])
    who = np.concatenate([np.arange(n) for n in (4, 3, 2, 4, 3, 1)])
    words = np.array(["cat", "dog", "owl"])[rng.integers(0, 3, len(item))]
    # Two pools, which most models have no eye for.
    table = {
        "item": [f"i{i}" for i in item],
        "annotator": who,
        "pool": np.array(["p", "q"])[who % 2],
    }
    return {
        "nominal": dx.annotations({**table, "label": words}, pool="pool"),
        "ordinal": dx.annotations(
            {**table, "label": rng.integers(1, 6, len(item))},
            pool="pool",
            kind="ordinal",
            labels=range(1, 6),
        ),
        "continuous": dx.annotations(
            {**table, "label": 50 + item + rng.normal(size=len(item))}, pool="pool"
        ),
        "ranking": dx.from_rankings(
            {
                "p": {"ann": [["a"], ["b", "c"]], "bob": [["b"], ["a"]]},
                "q": {"ann": [["d"]], "bob": [["d"], ["a"]], "cat": [["a", "d", "e"]]},
                "r": {"cat": [["f"], ["a"], ["b"]], "dan": []},
            },
            labels=list("abcdefgh"),
        ),
        "pair": dx.pairs(
            {
                "left": list("abcaabcdabcd"), "right": list("bcdcdabcdadb"),
                "winner": ["left", "right", "tie"] * 4, "voter": [1, 2, 3, 1, 2] * 2 + [3, 1],
                "prompt": list("ppqqrr") * 2,
            },
            annotator="voter", item="prompt",
        ),
    }  # fmt: skip


Close = Callable[[xr.DataTree, xr.DataArray], None]


@pytest.fixture
def close_to() -> Close:
    """Return a check that MCMC draws have the right means, in their own Monte Carlo errors."""

    def check(trace: xr.DataTree, exact: xr.DataArray) -> None:
        draws = trace["posterior"][str(exact.name)]
        ess = az.ess(draws).to_numpy()
        moving = draws.std(("chain", "draw")).to_numpy() > 0
        assert (ess[moving] > 400).all(), f"too few effective draws to judge by: {ess.min():.0f}"
        error = draws.std(("chain", "draw")).to_numpy() / np.sqrt(ess)
        gap = np.abs(draws.mean(("chain", "draw")).to_numpy() - exact.to_numpy())
        assert (gap[moving] < 4 * error[moving]).all()
        np.testing.assert_allclose(gap[~moving], 0, atol=1e-12)

    return check


def _leads(alpha, points=4000):
    alpha = np.asarray(alpha, dtype=float)
    edge = np.linspace(-40, np.log(alpha.max() + 20 * np.sqrt(alpha.max()) + 40), points)
    x = np.exp(edge)
    cdf = stats.gamma.cdf(x[:, None], alpha)
    density = stats.gamma.pdf(x[:, None], alpha) * x[:, None]
    others = np.stack([np.prod(np.delete(cdf, k, axis=1), axis=1) for k in range(len(alpha))], 1)
    return np.trapezoid(density * others, edge, axis=0)


@pytest.fixture(scope="session")
def leads():
    """Return a function for P(component k is the largest) under Dirichlet(alpha).

    Which of independent Gamma variates is the largest: the integral over x of the density of
    one times the distribution functions of the others. The grid is even in log x.
    """
    return _leads
