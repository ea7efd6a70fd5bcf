"""Whether intervals contain the accuracy of lists of labels, on panels of three labels and more.

    uv run python benchmarks/lists.py [--times 1] [--longest 2]

A few labels of each item are drawn from a panel. Systems list labels in order. Their first label is
that of a person, a label drawn in proportion to the squared shares, the panel's leading label, or
the leading label on .8 of the items and a random label elsewhere. Later labels are the panel's next
labels in order, a person's, the labels that are common in all items, or random. The truth is the
metric against the shares of the whole panel. Printed are the coverage of 89 % intervals of
`evaluate`, their mean width and the mean error.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from machine import described
from panel_data import PANELS, Floats, Ints, shown_of, table_of

import dissensus as dx

SETS = (
    "chaosnli_snli", "ferplus_counts", "adult_content3", "masc help-v", "dices350",
    "weather_sentiment_amt",
)  # fmt: skip
ITEMS = 250
FIT: dict[str, Any] = {"draws": 200, "chains": 2, "progressbar": False}
ALONE = {"components": None, "truth_model": None, "ground_truth": None, "companion": None}


def main() -> None:
    """Print tables by metric, later labels and first label."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=1, help="studies of each set and number")
    parser.add_argument("--longest", type=int, default=2, help="labels in a list")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = pd.DataFrame([
        row for name in SETS for seed in range(options.times) for n in (3, 6)
        for row in study(name, n, seed, options.longest)
    ])  # fmt: skip
    table["coverage"] = (table["low"] <= table["truth"]) & (table["truth"] <= table["high"])
    table["width"], table["error"] = table["high"] - table["low"], table["mean"] - table["truth"]
    shown = ["coverage", "width", "error"]
    for key in (["metric", "later"], ["metric", "first", "later"], ["metric", "set"]):
        print(table.groupby(key, sort=False)[shown].mean().round(3).to_string(), "\n")
    print(described())


def study(name: str, n: int, seed: int, longest: int) -> Iterator[dict[str, Any]]:
    """Yield the interval and the truth of each metric and system; n labels of each item are shown.

    Systems are evaluated one at a time, because predictions of several are evidence together.
    """
    panel, rng = PANELS[name](), np.random.default_rng(seed)
    counts, labels = panel.counts, np.array(panel.labels)
    if len(counts) > ITEMS:
        counts = counts[np.sort(np.random.default_rng(9).choice(len(counts), ITEMS, replace=False))]
    items = np.arange(len(counts))
    rows = table_of(shown_of(counts, n, rng), panel.labels)
    annotations = dx.annotations(rows, kind="nominal", labels=list(labels), items=items)
    share = counts / counts.sum(axis=1, keepdims=True)
    exact = xr.DataArray(
        share[None, None] + 1e-9 * rng.random(share.shape),  # ties are broken at random
        dims=("chain", "draw", "item", "label"), coords={"item": items, "label": labels},
    )  # fmt: skip
    length, depth = min(longest, len(labels)), min(longest, len(labels) - 1)
    for (first, later), order in lists(share, rng):
        said = {
            "item": np.repeat(items, length), "system": ["s"] * (length * len(items)),
            "rank": [*range(1, length + 1)] * len(items),
            "label": labels[order[:, :length]].ravel(),
        }  # fmt: skip
        predictions = dx.predictions(said, rank="rank")
        result = dx.evaluate(
            annotations, predictions, reliability=(1.0,), random_seed=seed, **FIT, **ALONE
        )
        drawn = result["metrics"].to_dataset().sel(reliability=1.0, scope="these items", system="s")
        for metric, truth in scores(exact, predictions, depth).items():
            low, high = np.quantile(drawn[metric], [0.055, 0.945])
            yield {
                "set": name, "first": first, "later": later, "metric": metric,
                "truth": truth.item(), "mean": float(drawn[metric].mean()), "low": low,
                "high": high,
            }  # fmt: skip


def scores(
    plausibility: Any, predictions: xr.Dataset, length: int, **options: Any
) -> dict[str, xr.DataArray]:
    """Return the metrics of lists, by name."""
    of_k = [
        dx.top_k_accuracy(plausibility, predictions, k, **options) for k in range(1, length + 1)
    ]
    of_k += [dx.set_accuracy(plausibility, predictions, k, **options) for k in range(2, length + 1)]
    of_k += [dx.average_overlap(plausibility, predictions, length, **options)]
    return {str(value.name): value for value in of_k}


def lists(share: Floats, rng: np.random.Generator) -> Iterator[tuple[tuple[str, str], Ints]]:
    """Yield the kinds of first and later labels, and all labels in a system's order."""
    n_items, n_labels = share.shape
    top = (share + 1e-9 * rng.random(share.shape)).argmax(axis=1)
    other = (top + rng.integers(1, n_labels, n_items)) % n_labels
    firsts = {
        "person": ordered(share, rng)[:, 0], "squared": ordered(share**2, rng)[:, 0],
        "leading": top, "noisy": np.where(rng.random(n_items) < 0.8, top, other),
    }  # fmt: skip
    laters = {
        "panel's": share**50, "person's": share + 0.01,
        "common": np.broadcast_to(share.mean(axis=0), share.shape), "random": np.ones(share.shape),
    }  # fmt: skip
    for first, given in firsts.items():
        for later, weight in laters.items():
            order = ordered(weight, rng)
            rest = order[order != given[:, None]].reshape(n_items, n_labels - 1)
            yield (first, later), np.column_stack([given, rest])


def ordered(weight: Floats, rng: np.random.Generator) -> Ints:
    """Draw labels in order, each in proportion to its weight among those that are left."""
    noise = rng.gumbel(size=weight.shape)
    return np.asarray((-np.log(np.maximum(weight, 1e-300)) - noise).argsort(axis=1))


if __name__ == "__main__":
    main()
