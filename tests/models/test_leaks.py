"""Fits leave no file open and no thread behind.

`benchmarks/leaks.py` looks at 200 of each model, and at memory.
"""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import pytest

from dissensus.models import MODELS

FILES = Path("/proc/self/fd")
FEW = {"draws": 5, "tune": 5, "chains": 2, "random_seed": 1, "progressbar": False}
REFITS = 5  # a leak leaves at least one with each


# Five draws after five sweeps may have labels of six items anywhere, and the fit says so.
@pytest.mark.unit(0, long=1)
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:In the posterior, annotators:dissensus.errors.DissensusWarning")
@pytest.mark.skipif(not FILES.is_dir(), reason="open files are listed on Linux only")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_no_fit_leaves_a_file_or_a_thread(model, examples):
    def held():
        gc.collect()  # what earlier tests left may be closed meanwhile, and is not of these fits
        files = [str(file.readlink()) for file in FILES.iterdir() if file.is_symlink()]
        return files, threading.enumerate()

    def fit():
        model.module.fit(examples[model.kinds[-1]], posterior_predictive=True, **FEW)

    fit()  # what is loaded and compiled once stays
    files, threads = held()
    for _ in range(REFITS):
        fit()
    files_after, threads_after = held()
    assert len(files_after) < len(files) + REFITS, (files, files_after)
    assert len(threads_after) < len(threads) + REFITS, (threads, threads_after)
