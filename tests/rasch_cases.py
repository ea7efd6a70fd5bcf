"""A small study for tests of the Gibbs step for the Rasch model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import dissensus as dx

N_ITEMS, N_PEOPLE = 12, 4


def study(n_labels: int = 2) -> tuple[xr.Dataset, Any]:
    """Simulate labels and confidences; return annotations, and the truth."""
    rng = np.random.default_rng(4)
    ability, difficulty = rng.normal(1.0, 0.8, N_PEOPLE), rng.normal(0.0, 1.0, N_ITEMS)
    truth = rng.integers(0, n_labels, N_ITEMS)
    item, annotator = np.divmod(np.arange(N_ITEMS * N_PEOPLE), N_PEOPLE)
    right = rng.random(len(item)) < 1 / (1 + np.exp(difficulty[item] - ability[annotator]))
    wrong = (truth[item] + rng.integers(1, n_labels, len(item))) % n_labels
    sure = rng.choice([0.5, 0.75, 1.0], len(item), p=[0.2, 0.3, 0.5])
    table = pd.DataFrame({
        "item": item, "annotator": annotator, "label": np.where(right, truth[item], wrong),
        "confidence": np.where(right, sure, 1.5 - sure),
    })  # fmt: skip
    ann = dx.annotations(
        table, confidence="confidence", kind="nominal", labels=list(range(n_labels))
    )
    return ann, truth


def only(tree: xr.DataTree, names: Any) -> xr.DataTree:
    """Leave these variables."""
    return xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset()[list(names)]})
