"""The same seed gives the same draws: whatever the threads, the process, the chains beside it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numba
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import dissensus as dx
from dissensus.models import MODELS

by_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
OPTIONS = {"draws": 30, "tune": 20, "chains": 3, "random_seed": 3, "progressbar": False,
           "posterior_predictive": True}  # fmt: skip


def fit(model, annotations, **options):
    return model.module.fit(annotations, **{**OPTIONS, **options})


def assert_same(one, two):
    assert set(one.children) == set(two.children)
    for group in one.children:
        xr.testing.assert_equal(one[group].to_dataset(), two[group].to_dataset())


@by_model
def test_one_thread_and_two_draw_the_same(model, examples, monkeypatch):
    ann = examples[model.kinds[-1]]
    found = []
    before = numba.get_num_threads()
    try:
        for threads in (1, 2, 7):
            monkeypatch.setattr(os, "cpu_count", lambda threads=threads: threads)
            numba.set_num_threads(min(threads, before))
            found.append(fit(model, ann))
    finally:
        numba.set_num_threads(before)
    assert_same(found[0], found[1])
    assert_same(found[0], found[2])


@by_model
def test_annotations_in_chunks_and_in_one_draw_the_same(model, examples):
    ann = examples[model.kinds[-1]]
    assert_same(fit(model, ann), fit(model, ann.chunk({"annotation": 4})))


@by_model
def test_a_chain_does_not_hang_on_those_after_it(model, examples):
    # Chains drawn all at once, exactly, come from one stream; Markov chains have one each.
    ann = examples[model.kinds[-1]]
    three, two = (fit(model, ann, chains=n, posterior_predictive=False) for n in (3, 2))
    if "no MCMC" in three.attrs["inference"]:
        return
    for name, draws in two["posterior"].data_vars.items():
        if name != "item_effect" or not model.pools:  # of unseen items, all chains in one stream
            xr.testing.assert_equal(draws, three["posterior"][name].isel(chain=slice(2)))


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.* transitions diverged")  # so short a warm-up finds no step
@pytest.mark.parametrize(
    ("name", "options"),
    [("crossed_effects", {"sampler": "nuts"}),
     ("plackett_luce", {"reliability": "common", "tempering": "strength"})],
)  # fmt: skip
def test_one_process_and_two_draw_the_same_through_pymc(name, options, examples, monkeypatch):
    model = dx.models.get(name)
    found = []
    real = pm.sample
    for cores in (1, 2):
        monkeypatch.setattr(pm, "sample", partial(real, cores=cores))
        found.append(fit(model, examples[model.kinds[-1]], chains=2, **options))
    assert_same(*found)


def fingerprint(tree: xr.DataTree) -> dict[str, str]:
    """Return a hash of every variable of a fit."""
    return {
        f"{node.path}/{name}": hashlib.sha256(
            np.ascontiguousarray(values.to_numpy()).tobytes()
        ).hexdigest()
        for node in tree.subtree
        for name, values in node.to_dataset(inherit=False).data_vars.items()
        if values.dtype.kind in "fiub"
    }


_CHILD = """
import json, sys
sys.path[:0] = {path!r}
import test_reproducibility as tests
from conftest import examples
from dissensus.models import MODELS

data = examples.__wrapped__() if hasattr(examples, "__wrapped__") else examples._fixture_function()
found = {{m.name: tests.fingerprint(tests.fit(m, data[m.kinds[-1]])) for m in MODELS}}
print(json.dumps(found))
"""


@pytest.mark.long
def test_another_process_draws_the_same(examples):
    # Another hash seed too: nothing may hang on the order of a set.
    here = {model.name: fingerprint(fit(model, examples[model.kinds[-1]])) for model in MODELS}
    code = _CHILD.format(path=[str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONHASHSEED": "4711", "NUMBA_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout.splitlines()[-1])
    assert there == here


def test_the_fingerprint_sees_a_last_digit(examples):
    one = dx.models.dirichlet.fit(examples["nominal"], draws=5, random_seed=1)
    two = one.copy(deep=True)
    theta = two["posterior"]["plausibility"]
    theta[0, 0, 0, 0] = np.nextafter(theta[0, 0, 0, 0].item(), 2)
    before, after = fingerprint(one), fingerprint(two)
    different = {name for name in before if before[name] != after[name]}
    assert different == {"/posterior/plausibility"}
