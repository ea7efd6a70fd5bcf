"""Fits leave no file open and no thread behind.

`benchmarks/leaks.py` looks at 200 of each model, and at memory.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dissensus.models import MODELS

FILES = Path("/proc/self/fd")
FEW = {"draws": 5, "tune": 5, "chains": 2, "random_seed": 1, "progressbar": False}


# Five draws after five sweeps may have labels of six items anywhere, and the fit says so.
@pytest.mark.filterwarnings("ignore:Annotators mostly call:dissensus.errors.DissensusWarning")
@pytest.mark.skipif(not FILES.is_dir(), reason="open files are listed on Linux only")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_files_and_threads_are_as_before(model, examples):
    def held():
        return sum(1 for _ in FILES.iterdir()), threading.active_count()

    def fit():
        model.module.fit(examples[model.kinds[-1]], posterior_predictive=True, **FEW)

    fit()  # what is loaded and compiled once stays
    before = held()
    for _ in range(5):
        fit()
    assert held() == before
