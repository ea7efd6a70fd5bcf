"""Plackett-Luce on all differential diagnoses at once: time, compilation and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import data
import numpy as np
import xarray as xr
from timing import Row, in_turns

import dissensus as dx

DRAWS, TUNE = 1000, 500


def rows(repeats: int) -> Iterator[Row]:
    """Measure fits beside PrIRN, their simple companion.

    The published sampler is measured by `published_plackett_luce.py`, which needs a clone of it,
    and maximum likelihood by `plackett_luce_ml.py`.
    """
    warnings.simplefilter("ignore", dx.DissensusWarning)  # 1,000 draws are few for some cases
    name, ann = data.dermatology()
    label = f"plackett_luce.fit, {name} x {TUNE} + {DRAWS:,} sweeps"
    once = {"draws": DRAWS, "chains": 1, "random_seed": 1, "progressbar": False}
    learned = partial(dx.models.plackett_luce.fit, ann, tune=TUNE, **once)
    given = partial(learned, concentration=None)
    times, peer = in_turns(repeats, given, partial(dx.models.inverse_rank.fit, ann, **once))
    yield Row(f"{label}, the prior given", times, f"inverse_rank.fit, {DRAWS:,} draws", peer)
    yield Row(f"{label}, the prior learned", in_turns(repeats, learned)[0])
    times = in_turns(repeats, partial(_sampling, ann), clock=time.process_time)[0]
    yield Row(f"{label}: the sampling alone, processor time of all threads", times, target="< 2 s")
    with tempfile.TemporaryDirectory() as empty:
        first = _fresh(1, DRAWS, NUMBA_CACHE_DIR=empty)
    yield Row(f"{label}: the first on a machine, which compiles the kernels", [first["seconds"]])
    yield _memory(f"plackett_luce.fit, {name} x 4 x {DRAWS:,} draws, in a new process")


def _sampling(ann: xr.Dataset) -> np.ndarray:
    """Do what `fit` does between reading the annotations and judging the chains."""
    from dissensus.families.rankings.process import process
    from dissensus.families.rankings.sampler import gibbs

    ranking = process(
        ann, reliability=1.0, tempering="likelihood", concentration=None, unranked="exact",
        sampler="gibbs",
    )  # fmt: skip
    return gibbs(ranking, draws=DRAWS, tune=TUNE, chains=1, seed=1, progressbar=False)


def _memory(label: str) -> Row:
    result = _fresh(4, DRAWS)
    peak, before, draws = (f"{result[key] / 1e6:,.0f} MB" for key in ("peak", "before", "draws"))
    label += f" (peak memory {peak}, before the fit {before}; the draws {draws})"
    return Row(label, [result["seconds"]], target="peak < 1 GB")


def _fresh(chains: int, draws: int, **environment: str) -> dict[str, Any]:
    """Fit in a process that has done nothing else."""
    command = [sys.executable, str(Path(__file__).with_name("fresh.py")), str(chains), str(draws)]
    environment = os.environ | environment
    ran = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(ran.stdout)
