"""What is measured on: real annotations where they lie beside the checkout, else simulated."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import xarray as xr

import dissensus as dx

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def dermatology() -> tuple[str, xr.Dataset]:
    """600 cases, about five partial rankings each, 419 conditions."""
    path = SHARED / "dermatology" / "rankings.csv"
    if path.exists():
        table = pd.read_csv(path)
        ann = dx.annotations(table, label="class", rank="rank", labels=range(419))
        return "600 dermatology cases", ann
    study = dx.simulate.study(
        600, 5, 419, 1, kind="ranking", missing=0.0, max_ranked=3, random_seed=1
    )
    return "600 simulated cases", study.annotations


def cebab() -> tuple[str, xr.Dataset]:
    """1,008 items, four labels each out of three."""
    path = SHARED / "cebab_aspects" / "annotations.csv"
    if path.exists():
        ann = dx.read_annotations(path)
        return f"{ann.sizes['item']:,} items of cebab_aspects", ann
    study = dx.simulate.study(1008, 4, 3, 1, kind="nominal", missing=0.0, random_seed=1)
    return "1,008 simulated items", study.annotations
