"""Five million labels: latent truth, and every statistic of agreement with 1,000 bootstrap draws.

    uv run python benchmarks/many_labels.py                  # 5e6 labels
    uv run python benchmarks/many_labels.py --labels 1e6

Five labels of five an item, 1,000 annotators who are right .55 to .9 of the time. Every step in a
process of its own, for its peak memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import xarray as xr
from machine import described
from memory import peak_memory

import dissensus as dx
from dissensus import statistics

LABELS, PER_ITEM, ANNOTATORS, DRAWS = 5, 5, 1000, 1000
MODELS = ("dawid_skene", "symmetric_confusion")
RUN = {"draws": 500, "tune": 250, "chains": 2, "random_seed": 1, "progressbar": False,
       "keep_items": False}  # fmt: skip


def annotations(n_labels: int) -> xr.Dataset:
    """Draw the truth, who labels what, and the labels."""
    rng = np.random.default_rng(1)
    n_items = n_labels // PER_ITEM
    item = np.repeat(np.arange(n_items), PER_ITEM)
    first = rng.integers(0, ANNOTATORS, n_items)[:, None]
    who = ((first + np.arange(PER_ITEM) * 37) % ANNOTATORS).ravel()
    skill = rng.uniform(0.55, 0.9, ANNOTATORS)
    truth = rng.choice(LABELS, n_items, p=[0.35, 0.25, 0.2, 0.15, 0.05])[item]
    labels = np.where(rng.random(len(item)) < skill[who], truth, rng.integers(0, LABELS, len(item)))
    return dx.annotations({"item": item, "annotator": who, "label": labels}, kind="nominal",
                          labels=range(LABELS))  # fmt: skip


def steps() -> list[str]:
    """Return what is measured: models, and statistics that take annotations alone."""
    takes = [x.name for x in statistics.STATISTICS if x.takes == "annotations"]
    return [*MODELS, *takes]


def work(step: str, n_labels: int) -> None:
    """Do one step, and print what it took."""
    warnings.simplefilter("ignore")
    small, ann = annotations(5_000), annotations(n_labels)
    for data in (small, ann):  # the first compiles
        before, start, cpu = peak_memory() / 2**30, time.perf_counter(), time.process_time()
        outcome = _model(step, data) if step in MODELS else _statistic(step, data)
        result = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu,
                 "before": before, "peak": peak_memory() / 2**30, "outcome": outcome}  # fmt: skip
    print(json.dumps(result))


def _model(name: str, ann: xr.Dataset) -> str:
    fit = dx.models.get(name).module.fit(ann, **RUN)
    worst = {k: fit.attrs[k] for k in ("r_hat_max", "ess_bulk_min") if k in fit.attrs}
    return ", ".join(f"{name} {value:.3g}" for name, value in worst.items())


def _statistic(name: str, ann: xr.Dataset) -> str:
    entry = statistics.get(name)
    more = {"distance": "nominal"} if name == "annotator_discrepancy_ratio" else {}
    if name in {"weighted_reliability"}:
        more = {"accuracy": "majority"}
    draws = dx.bayesian_bootstrap(entry.function, ann, draws=DRAWS, random_seed=1, **more)
    array = draws if isinstance(draws, xr.DataArray) else next(iter(draws.data_vars.values()))
    values = np.asarray(array).reshape(DRAWS, -1)[:, 0]
    return f"{values.mean():.4f} ± {values.std():.4f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=float, default=5e6)
    parser.add_argument("--steps", nargs="*", choices=steps())
    parser.add_argument("--work", choices=steps())
    options = parser.parse_args()
    if options.work:
        work(options.work, int(options.labels))
        return
    print(f"{described()}\n\n{int(options.labels):,} labels\n")
    print("| what | seconds | processor seconds | peak, GB | with the data alone | found |")
    print("|---|--:|--:|--:|--:|---|")
    total = 0.0
    for step in options.steps or steps():
        row = _alone(step, options.labels)
        total += row["seconds"]
        print(f"| {step} | {row['seconds']:.1f} | {row['cpu']:.1f} | {row['peak']:.2f} "
              f"| {row['before']:.2f} | {row['outcome']} |", flush=True)  # fmt: skip
    print(f"| all | {total:.1f} | | | | |")


def _alone(step: str, n_labels: float) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--work", step, "--labels", str(n_labels)],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


if __name__ == "__main__":
    main()
