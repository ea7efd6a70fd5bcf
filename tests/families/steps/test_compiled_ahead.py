"""Kernels are compiled when a step is made, so that workers forked by `pymc.sample` find them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import sys
import warnings

import numba.core.event as event

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


@pytest.mark.parametrize("kind", [
    "CrossedEffectsGibbs",  # the others take up to half a minute each
    *(pytest.param(kind, marks=pytest.mark.slow)
      for kind in ("LatentTruthGibbs", "RaschGibbs", "PlackettLuceGibbs")),
])  # fmt: skip
def test_a_step_that_was_made_compiles_nothing_more(kind, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE, kind], check=True, capture_output=True, text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.split() == ["True", "0", "True"]
