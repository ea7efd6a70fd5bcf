"""Agreement with a panel where people labelled a part of the items and systems answered all.

``uv run python benchmarks/unlabelled.py`` draws three labels for 100 items, at most a third, of
each panel of `panel_data`, with systems of all kinds on all items. Intervals of `top_k_accuracy`
for all items (`dx.annotations(..., items=)`) are held against the panel, beside those of the
labelled items alone (Bayesian bootstrap of the items).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr
from machine import described
from panel_data import PANELS, TOGETHER, Panel, drawn
from real_data import PROB

import dissensus as dx

LABELLED, SHARE = 100, 3


def draws_of(labels: pd.DataFrame, predictions: pd.DataFrame, panel: Panel, seed: int,
             *, whole: bool) -> xr.DataArray:  # fmt: skip
    """Return draws of the agreement of systems: of all items, or of the labelled ones."""
    if not whole:
        predictions = predictions[predictions["item"].isin(labels["item"])]
    pred = dx.predictions(predictions)
    ann = dx.annotations(labels, labels=panel.labels, items=pred["item"], kind="nominal")
    fit = dx.models.dirichlet.fit(
        ann, predictions=pred, draws=500, chains=2, random_seed=seed, progressbar=False
    )
    weights = None if whole else "bayesian-bootstrap"
    return dx.top_k_accuracy(fit, pred, insight="learned", weights=weights, random_seed=seed)


def rows(seeds: int) -> Iterator[tuple[str, bool, bool, bool, float]]:
    """Yield set, whether all items, whether a noisy system, whether it holds, and the width."""
    for name, panel_of in PANELS.items():
        for seed in range(seeds):
            panel = panel_of()
            for study in drawn(panel, TOGETHER, 3, seed):
                items = study.predictions["item"].unique()
                n = min(LABELLED, len(items) // SHARE)
                some = np.random.default_rng(seed + 10).choice(items, n, replace=False)
                labels = study.annotations[study.annotations["item"].isin(some)]
                for whole in (True, False):
                    draws = draws_of(labels, study.predictions, panel, seed, whole=whole)
                    for system, truth in study.truth.items():
                        edges = (1 - PROB) / 2, (1 + PROB) / 2
                        low, high = np.quantile(draws.sel(system=system), edges)
                        noisy = system.startswith("noisy")
                        yield name, whole, noisy, low <= truth <= high, high - low


def main() -> None:
    """Print how many intervals hold, and how wide they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4, help="draws of each panel")
    warnings.simplefilter("ignore")
    names = ["set", "all items", "noisy", "hold", "width"]
    found = pd.DataFrame(rows(parser.parse_args().seeds), columns=names)
    print(described())
    for by in (["noisy", "all items"], ["set", "all items"]):
        print(found.groupby(by)[["hold", "width"]].mean().round(3))


if __name__ == "__main__":
    main()
