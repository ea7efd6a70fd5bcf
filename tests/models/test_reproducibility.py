"""The same seed gives the same draws, whatever the threads, chunks and processes.

Of chains beside each other and of fresh processes: `calibration/test_chains.py`.
"""

from __future__ import annotations

import os

import numba
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


def assert_same(first, second):
    assert set(first.children) == set(second.children)
    for group in first.children:
        xr.testing.assert_equal(first[group].to_dataset(), second[group].to_dataset())


@by_model
def test_one_thread_and_several_draw_the_same(model, examples, monkeypatch):
    ann = examples[model.kinds[-1]]
    result = []
    before = numba.get_num_threads()
    try:
        for threads in (1, 7):
            monkeypatch.setattr(os, "cpu_count", lambda threads=threads: threads)
            numba.set_num_threads(min(threads, before))
            result.append(fit(model, ann))
    finally:
        numba.set_num_threads(before)
    assert_same(*result)


@by_model
def test_annotations_in_chunks_and_in_one_draw_the_same(model, examples):
    ann = examples[model.kinds[-1]]
    rows = "vote" if "vote" in ann.dims else "annotation"
    assert_same(fit(model, ann), fit(model, ann.chunk({rows: 4})))


@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.* transitions diverged")  # so short a warm-up finds no step
@pytest.mark.parametrize(
    ("name", "options"),
    [("crossed_effects", {"sampler": "nuts"}),
     ("plackett_luce", {"reliability": "common", "tempering": "strength"})],
)  # fmt: skip
def test_one_process_and_two_draw_the_same_through_pymc(name, options, examples, monkeypatch):
    """Of one processor, PyMC would take none."""
    model = dx.models.get(name)
    result, used = [], []
    real = pm.sample

    def sample(**settings):
        used.append(settings["cores"])
        return real(**settings)

    monkeypatch.setattr(pm, "sample", sample)
    for processors in (1, 4):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        result.append(fit(model, examples[model.kinds[-1]], chains=2, **options))
    assert used == [1, 2]
    assert_same(*result)
