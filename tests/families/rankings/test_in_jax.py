"""The models in JAX, rankings above all, beside PyTensor's own: in a process of their own.

JAX starts threads, which the forked workers of `pymc.sample` in other tests would warn of.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.machinery import PathFinder  # find_spec of importlib.util would import JAX

import numpy as np
import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(PathFinder.find_spec("jax") is None, reason="no JAX: uv sync --group jax"),
]

SCRIPT = """
import json, warnings
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import dissensus as dx
from dissensus.families.distributions import PartialRanking
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
there = np.array([[True, True, True, False], [True, True, False, True]])
for name in ("strength", "log_strength"):  # a sharpness with a prior, and labels that are absent
    with pm.Model() as models[name]:
        u, sharpness = pm.Normal("u", shape=4), pm.Gamma("sharpness", 2, 2)
        given = pt.exp(u) * there if name == "strength" else pt.switch(there, u, -np.inf)
        PartialRanking(
            "y", sharpness=sharpness, observed=np.array([[1, 2, 0, 0], [1, 1, 0, 2]]),
            **{name: given},
        )
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
    logp = model.compile_logp(mode="FAST_COMPILE")
    dlogp = model.compile_dlogp(mode="FAST_COMPILE")
    function = pymc.sampling.jax.get_jaxified_logp(model)
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
said = dx.simulate.confusion_study(8, 3, 3, ipc=0.7, random_seed=2).annotations
two = dx.simulate.confusion_study(8, 3, 2, ipc=0.7, random_seed=2).annotations
grades = dx.simulate.replication_study(8, 3, 2, family="ordinal", random_seed=2).annotations
others = {
    "dawid_skene": dx.models.dawid_skene.build(said),
    "dawid_skene of two labels": dx.models.dawid_skene.build(two),
    "symmetric_confusion": dx.models.symmetric_confusion.build(said),
    "rasch": dx.models.rasch.build(said),
    "crossed_effects": dx.models.crossed_effects.build(grades, family="ordinal"),
}
out["stored"] = {}
for name, model in others.items():
    flat = [np.asarray(value) for value in model.initial_point(1).values()]
    names = [variable.name for variable in model.unobserved_value_vars]
    stored = pymc.sampling.jax.get_jaxified_graph(model.value_vars, model.unobserved_value_vars)
    want = model.compile_fn(
        model.unobserved_value_vars, inputs=model.value_vars, mode="FAST_COMPILE"
    )(model.initial_point(1))
    gap = [float(np.abs(a - b).max()) for a, b in zip(jax.jit(stored)(*flat), want)]
    out["stored"][name] = dict(zip(names, gap))
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def results():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTENSOR_FLAGS": "cxx="},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["listed", "absent", "strength", "log_strength"])
def test_density_and_gradient_are_those_of_pytensor(results, name):
    of = results[name]
    assert np.ptp(of["pytensor"]) > 0.01
    np.testing.assert_allclose(of["jax"], of["pytensor"], rtol=1e-10)
    np.testing.assert_allclose(of["many"], of["jax"], rtol=1e-10)
    np.testing.assert_allclose(of["of_jax"], of["gradient"], rtol=1e-8, atol=1e-10)


def test_a_second_derivative_is_not_made_up(results):
    assert results["second"]


def test_what_a_trace_stores_is_the_same_for_other_models(results):
    """A sampler in JAX compiles it after the last draw: what fails there loses them all."""
    for name, gaps in results["stored"].items():
        assert len(gaps) > 3, name
        assert max(gaps.values()) < 1e-9, (name, gaps)
