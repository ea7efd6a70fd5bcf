"""Kernels are compiled when a step is made, so that workers forked by `pymc.sample` find them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

MODELS = """
import os
import sys
import warnings

import numba.core.event as event
import pymc as pm

import dissensus as dx
from dissensus import steps

warnings.simplefilter("ignore")
kind = sys.argv[1]
rows = {"item": list("iijjkkll"), "annotator": list("abababab"), "label": list("xyxxyyyx")}
if kind == "PlackettLuceGibbs":
    ann = dx.from_rankings({"i": {"a": [["x"], ["y"]], "b": [["y", "z"]]}}, labels="xyz")
    model = dx.models.plackett_luce.build(ann, concentration=None)
elif kind == "CrossedEffectsGibbs":
    ann = dx.annotations({**rows, "label": [1.0, 2.5, 3, 4, 2, 1, 0, 2]}, kind="continuous")
    model = dx.models.crossed_effects.build(ann)
elif kind == "RaschGibbs":
    model = dx.models.rasch.build(dx.annotations(rows))
else:
    model = dx.models.dawid_skene.build(dx.annotations(rows))
"""
MADE = """
with model:
    chosen = [model["log_strength"]] if kind == "PlackettLuceGibbs" else None
    with event.install_recorder("numba:compile") as first:
        step = getattr(steps, kind)(chosen)
    point = model.initial_point()
    before = step.rng.bit_generator.state
    with event.install_recorder("numba:compile") as again:
        step.step(point)
print(len(first.buffer) > 0, len(again.buffer), step.rng.bit_generator.state != before)
"""
SAMPLED = """
class Processes(event.Listener):
    def on_start(self, event):
        if event.data["dispatcher"].py_func.__module__.startswith("dissensus"):
            os.write(1, f"{'parent' if os.getpid() == parent else 'worker'}\\n".encode())

    def on_end(self, event):
        pass

parent = os.getpid()
with event.install_listener("numba:compile", Processes()), model:
    trace = pm.sample(
        3, tune=2, chains=2, cores=2, random_seed=1, progressbar=False,
        compute_convergence_checks=False,
    )
print("chains", trace.posterior.sizes["chain"])
"""
EACH = pytest.mark.parametrize("kind", [
    "CrossedEffectsGibbs",  # the others take up to half a minute each
    *(pytest.param(kind, marks=pytest.mark.slow)
      for kind in ("LatentTruthGibbs", "RaschGibbs", "PlackettLuceGibbs")),
])  # fmt: skip


def run(code, kind, cache):
    return subprocess.run(
        [sys.executable, "-c", MODELS + code, kind], check=True, capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )  # fmt: skip


@pytest.mark.slow
@EACH
def test_a_step_that_was_made_compiles_nothing_more(kind, tmp_path):
    assert run(MADE, kind, tmp_path).stdout.split() == ["True", "0", "True"]


@pytest.mark.long
@EACH
def test_workers_of_pymc_compile_no_kernel_again(kind, tmp_path):
    done = run(SAMPLED, kind, tmp_path)
    *who, last = done.stdout.splitlines()
    assert last == "chains 2"
    assert set(who) == {"parent"}
    assert done.stderr.count("once on this machine") == 1  # it is said, and before it begins
    assert done.stderr.index("once on this machine") < done.stderr.index("Multiprocess sampling")
