"""NumPyro and nutpie find what `fit` finds: in processes of their own, as JAX has threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("numpyro") is None, reason="no NumPyro: uv sync --group jax"),
]

SCRIPT = """
import json, sys, warnings
import arviz as az
import numpy as np
import pymc as pm
import dissensus as dx
warnings.simplefilter("ignore")  # of BLAS, which PyTensor does not find everywhere
warnings.simplefilter("error", dx.DissensusWarning)  # of steps that step aside
name, sampler = sys.argv[1:]
if name == "plackett_luce":
    ann = dx.simulate.study(n_items=4, kind="ranking", n_labels=3, random_seed=1).annotations
    variable = "plausibility"
elif name == "symmetric_confusion":
    ann = dx.simulate.confusion_study(30, 4, 3, random_seed=1).annotations
    variable = "annotator_accuracy"
else:
    ann = dx.simulate.replication_study(20, 5, 3, random_seed=1).annotations
    variable = "sigma_item"
module = getattr(dx.models, name)
quiet = {"random_seed": 1, "progressbar": False}
# 1,200 draws of rankings by nutpie have some 30 effective ones, too few to estimate their error.
length = (2000, 1500, 4) if (name, sampler) == ("plackett_luce", "nutpie") else (600, 600, 2)
draws, tune, chains = length
with module.build(ann):
    trace = pm.sample(
        draws, tune=tune, chains=chains, nuts_sampler=sampler, compute_convergence_checks=False,
        **quiet,
    )
fit = module.fit(ann, draws=2000, **quiet)
one, two = (tree["posterior"][variable] for tree in (trace, fit))
moves = (two.std(("chain", "draw")) > 0).to_numpy()
error = np.hypot(*(az.mcse(x, method="mean").to_numpy() for x in (one, two)))
gap = one.mean(("chain", "draw")).to_numpy() - two.mean(("chain", "draw")).to_numpy()
if name == "crossed_effects":  # a metric of each trace
    assert abs(float(dx.icc(trace).mean()) - float(dx.icc(fit).mean())) < 0.1
elif name == "symmetric_confusion":
    assert dx.items_to_review(trace).sizes["item"] == 30
print(json.dumps(np.abs(gap / error)[moves].ravel().tolist()))
"""


@pytest.mark.parametrize("name", [
    "crossed_effects", "symmetric_confusion",
    pytest.param("plackett_luce", marks=pytest.mark.slow),  # four minutes, mostly compilation
])  # fmt: skip
# With nutpie installed, PyMC takes it in place of its own NUTS: it is in no group of packages.
@pytest.mark.unit(3, long=1)
@pytest.mark.parametrize("sampler", [
    "numpyro", pytest.param("nutpie", marks=pytest.mark.skipif(
        find_spec("nutpie") is None, reason="no nutpie: uv run --with nutpie pytest ...",
    )),
])  # fmt: skip
def test_finds_the_means_of_fit_within_standard_errors(name, sampler):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name, sampler], check=True, capture_output=True, text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    z = json.loads(done.stdout.splitlines()[-1])
    assert z and max(z) < 4, z
