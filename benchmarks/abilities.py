"""Abilities, how fast: `uv run python benchmarks/abilities.py --python INTERPRETER`.

INTERPRETER is a Python with nutpie: `uv venv peers && uv pip install --python peers pymc nutpie`.

100,000 labels of which it is known whether they are right: 5,000 items, 200 annotators, 20 labels
an item. What counts is seconds until every ability has 1,000 effective draws (bulk), warm-up and
all, compilation not; two chains on two cores for both. Beside it, ours without the truth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from machine import described
from scipy import special

import dissensus as dx

N_ITEMS, PER_ITEM, CROWD, N_LABELS = 5_000, 20, 200, 3
HEAD = (
    "| what | draws | seconds | effective draws of abilities: worst, median "
    "| seconds for 1,000 of the worst |\n|---|--:|--:|--:|--:|"
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="an interpreter that has nutpie")
    requested = parser.parse_args()
    warnings.simplefilter("ignore", dx.DissensusWarning)
    print(f"{described()}\n\n{HEAD}")
    table, truth = _study()
    ann = dx.annotations(table, kind="nominal", labels=list(range(N_LABELS)))
    known = pd.Series(truth)
    for name, options in {
        "truth known": {"truth": known},
        "truth known, guessing": {"truth": known, "guessing": True},
        "truth unknown": {},
        "truth unknown, no guessing": {"guessing": False},
    }.items():
        seconds, ability = _ours(ann, **options)
        print(_row(f"dissensus, {name}", seconds, ability), flush=True)
    if requested.python:
        seconds, ability = _peer(requested.python, table, truth)
        print(_row("nutpie, truth known", seconds, ability))


def _study() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(N_ITEMS), PER_ITEM)
    annotator = np.concatenate([rng.choice(CROWD, PER_ITEM, replace=False) for _ in range(N_ITEMS)])
    ability, difficulty = rng.normal(1.0, 0.8, CROWD), rng.normal(0.0, 1.0, N_ITEMS)
    truth = rng.integers(0, N_LABELS, N_ITEMS)
    right = rng.random(len(item)) < special.expit(ability[annotator] - difficulty[item])
    other = (truth[item] + rng.integers(1, N_LABELS, len(item))) % N_LABELS
    label = np.where(right, truth[item], other)
    return pd.DataFrame({"item": item, "annotator": annotator, "label": label}), truth


def _ours(ann: xr.Dataset, draws: int = 1000, **options: Any) -> tuple[float, xr.DataArray]:
    fit = dx.models.rasch.fit
    run = {"chains": 2, "progressbar": False, "keep_items": False, "random_seed": 1, **options}
    fit(ann, draws=2, tune=2, **run)  # compiles
    start = time.perf_counter()
    fitted = fit(ann, draws=draws, tune=300, **run)
    return time.perf_counter() - start, fitted["posterior"]["ability"]


def _peer(python: str, table: pd.DataFrame, truth: Any) -> tuple[float, xr.DataArray]:
    right = table["label"].to_numpy() == truth[table["item"].to_numpy()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.npz"
        np.savez(path, item=table["item"], annotator=table["annotator"], right=right.astype(int))
        run = subprocess.run(
            [python, str(Path(__file__).with_name("abilities_worker.py")), "1000", str(path)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    result = json.loads(run.stdout.splitlines()[-1])
    ability = xr.DataArray(result["ability"], dims=("chain", "draw", "annotator"))
    return result["seconds"], ability


def _row(name: str, seconds: float, ability: xr.DataArray) -> str:
    ess = az.ess(ability.to_dataset(name="x"))["x"].to_numpy()
    draws = ability.sizes["chain"] * ability.sizes["draw"]
    return (
        f"| {name} | {draws:,} | {seconds:.1f} | {ess.min():,.0f}, {np.median(ess):,.0f} "
        f"| {1000 * seconds / ess.min():.1f} |"
    )


if __name__ == "__main__":
    main()
