"""The model of rankings in JAX, beside PyTensor's own: in a process of its own.

JAX starts threads, which the forked workers of `pymc.sample` in other tests would warn of.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("jax") is None, reason="no JAX: uv sync --group jax"),
]

SCRIPT = """
import json, warnings
import numpy as np
import dissensus as dx
warnings.simplefilter("ignore")  # of BLAS, which PyTensor does not find everywhere
ranked = {
    "c": [[["a"], ["b"]], [["b"], ["c", "a"]], [["d", "c"], ["a"]]],
    "d": [[["c"], ["a", "b"], ["d"]]],
    "e": [[["a", "b"], ["c"]]],
}
annotations = dx.from_rankings(ranked, labels="abcd")
models = {
    "listed": dx.models.plackett_luce.build(annotations),
    "absent": dx.models.plackett_luce.build(annotations, unranked="absent"),
}
out = {}
import jax
import pymc.sampling.jax
for name, model in models.items():
    points = [model.initial_point(seed) for seed in (1, 2)]
    rng = np.random.default_rng(3)
    points = [
        {key: value + 0.5 * rng.normal(size=np.shape(value)) for key, value in point.items()}
        for point in points
    ]
    flat = [[np.asarray(point[v.name]) for v in model.value_vars] for point in points]
    logp, dlogp = model.compile_logp(), model.compile_dlogp()
    function = pymc.sampling.jax.get_jaxified_logp(model, negative_logp=True)
    gradient = jax.grad(function)
    stacked = [np.stack(pair) for pair in zip(*flat)]
    out[name] = {
        "pytensor": [float(logp(point)) for point in points],
        "jax": [float(function(each)) for each in flat],
        "many": np.asarray(jax.jit(jax.vmap(function))(stacked)).tolist(),
        "gradient": [dlogp(point).tolist() for point in points],
        "of_jax": [
            np.concatenate([np.ravel(part) for part in gradient(each)]).tolist() for each in flat
        ],
    }
from dissensus.families.rankings.in_jax import ranking_logp as in_jax
strengths, rank = np.array([0.3, -1.0, 2.0]), np.array([1, 1, 0])
second = jax.hessian(lambda x: in_jax(x, rank)[0])(strengths)
out["second"] = bool(np.isnan(second).all())
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def found():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["listed", "absent"])
def test_density_and_gradient_are_those_of_pytensor(found, name):
    of = found[name]
    sign = np.sign(of["jax"][0]) * np.sign(of["pytensor"][0])
    assert np.ptp(of["pytensor"]) > 0.1
    np.testing.assert_allclose(sign * np.array(of["jax"]), of["pytensor"], rtol=1e-10)
    np.testing.assert_allclose(of["many"], of["jax"], rtol=1e-10)
    np.testing.assert_allclose(sign * np.array(of["of_jax"]), of["gradient"], rtol=1e-8, atol=1e-10)


def test_a_second_derivative_is_not_made_up(found):
    assert found["second"]
