"""Memory, open files and threads: the same after 200 fits as after the first few.

    uv run python benchmarks/leaks.py [--fits 200]

Every model of the registry is fitted again and again in one process, with a checkpoint where it
takes one, and evaluations are made, written and read; each in a process of its own. What is flat
is not the first fit (which loads and compiles) but the second half against the first.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import multiprocessing
import os
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

WARM_UP = 20
"""Fits before the first look: arenas of malloc, caches and compiled kernels fill up."""


class Look(NamedTuple):
    """What a process holds at some moment."""

    mebibytes: float
    files: int
    threads: int


def look() -> Look:
    """Count what this process holds."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    size = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return Look(size, len(os.listdir("/proc/self/fd")), threading.active_count())  # noqa: PTH208


def work_of(name: str, folder: Path) -> Callable[[int], object]:
    """Return what is done again and again under a name."""
    import dissensus as dx

    rng = np.random.default_rng(1)
    labels = dx.from_matrix(rng.choice(list("abc"), (40, 4)), labels=list("abc"))
    numbers = dx.from_matrix(rng.normal(rng.normal(size=(40, 1)), 1.0, (40, 4)))
    pools = dx.simulate.replication_study(30, 4, 3, pools=("old", "new"), random_seed=1)
    quiet = {"draws": 50, "random_seed": 1, "progressbar": False}
    if name == "evaluate":

        def evaluated(_: int) -> None:
            from dissensus.cli.output import write_evaluation
            from dissensus.evaluation.rerun import stored

            result = dx.evaluate(labels, **quiet)
            stored(write_evaluation(result, folder)[0])

        return evaluated
    model = dx.models.get(name)
    ann = labels if "nominal" in model.kinds else pools.annotations if model.pools else numbers
    kept = "checkpoint" in inspect.signature(model.module.fit).parameters

    def fitted(k: int) -> None:
        more = {"checkpoint": folder / f"{k}.zarr"} if kept else {}
        model.module.fit(ann, chains=2, tune=50, **quiet, **more)

    return fitted


def measured(name: str, fits: int, queue: multiprocessing.Queue) -> None:
    """Do it so many times, and say what was held on the way."""
    warnings.simplefilter("ignore")
    looks = []
    with tempfile.TemporaryDirectory() as folder:
        work = work_of(name, Path(folder))
        for k in range(WARM_UP + fits):
            work(k)
            if k >= WARM_UP - 1 and (k - WARM_UP + 1) % max(fits // 10, 1) == 0:
                looks.append(look())
    queue.put(looks)


def main() -> None:
    """Print a table: a model a row."""
    import dissensus as dx

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    print(
        f"after {WARM_UP} fits, after {WARM_UP + options.fits // 2} and {WARM_UP + options.fits}:"
    )
    for name in options.only or [*dx.models.names(), "evaluate"]:
        queue = spawn.Queue()
        process = spawn.Process(target=measured, args=(name, options.fits, queue))
        process.start()
        looks = queue.get()
        process.join()
        first, half, last = looks[0], looks[len(looks) // 2], looks[-1]
        print(
            f"{name:20} memory {first.mebibytes:6.1f}, {half.mebibytes:6.1f}, "
            f"{last.mebibytes:6.1f} MiB   files {first.files}, {half.files}, {last.files}   "
            f"threads {first.threads}, {half.threads}, {last.threads}",
            flush=True,
        )


if __name__ == "__main__":
    main()
