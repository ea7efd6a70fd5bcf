"""Simulated studies for tests of the Rasch model and of its Gibbs step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import dissensus as dx

N_ITEMS, N_PEOPLE = 12, 4


def simulated(
    n_items: int, n_people: int, n_labels: int, seed: int, guessing: bool = False
) -> tuple[xr.Dataset, Any, Any, Any]:
    """Simulate labels and confidences by the card; return annotations, truth and parameters."""
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(1.0, 0.8, n_people), rng.normal(0.0, 1.0, n_items)
    truth = rng.integers(0, n_labels, n_items)
    item, annotator = np.divmod(np.arange(n_items * n_people), n_people)
    odds = np.exp(ability[annotator] - difficulty[item]) + guessing / (n_labels - 1)
    right = rng.random(len(item)) < odds / (1 + odds)
    other = (truth[item] + rng.integers(1, n_labels, len(item))) % n_labels
    sure = rng.choice([0.5, 0.75, 1.0], len(item), p=[0.2, 0.3, 0.5])
    unsure = rng.choice([0.5, 0.75, 1.0], len(item), p=[0.5, 0.3, 0.2])
    table = pd.DataFrame({
        "item": item, "annotator": annotator, "label": np.where(right, truth[item], other),
        "confidence": np.where(right, sure, unsure),
    })  # fmt: skip
    ann = dx.annotations(
        table, confidence="confidence", kind="nominal", labels=list(range(n_labels))
    )
    return ann, truth, ability, difficulty


def study(n_labels: int = 2) -> tuple[xr.Dataset, Any]:
    """Return annotations of a small study, and the truth."""
    return simulated(N_ITEMS, N_PEOPLE, n_labels, seed=4)[:2]


def only(tree: xr.DataTree, names: Any) -> xr.DataTree:
    """Leave these variables."""
    return xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset()[list(names)]})
