"""Compare estimated sensitivities and specificities with sets of known truth.

Each label of a set, against all others, makes a study of two labels. The systems are those of
`real_truth.py`, and one that errs on one side: it finds .95 of the positive items, and .7 of the
others. The truth of no items, or of 50, is known: `uv run python benchmarks/real_rates.py`.
"""

from __future__ import annotations

import argparse
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from machine import described
from truth_data import STUDIES, Study, few, systems

import dissensus as dx

PROB = 0.89
LEAST = 15
"""Minimum number of positive items, and of others, whose truth is known."""
POSITIVE, OTHER = "1 positive", "0 other"
SETTINGS = {"positive": POSITIVE, "components": None, "companion": None, "ground_truth": None,
            "draws": 300, "random_seed": 1, "progressbar": False, "on_missing": "drop",
            "reliability": (1.0,)}  # fmt: skip


def main() -> None:
    """Print the coverage, the error and the width of intervals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", choices=list(STUDIES), default=list(STUDIES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in options.sets:
        rows += list(_of_set(name))
        print(name, flush=True)
    table = pd.DataFrame(rows)
    table["covered"] = (table["truth"] >= table["low"]) & (table["truth"] <= table["high"])
    table["error"], table["width"] = table["mean"] - table["truth"], table["high"] - table["low"]
    shown = ["covered", "error", "naive", "width"]
    table["naive"] -= table["truth"]
    for by in (["known", "rate"], ["known", "rate", "kind"], ["known", "rate", "set"]):
        print(
            table.groupby(by)[shown].mean().assign(n=table.groupby(by).size()).round(3).to_string()
        )
    print(described())


def _of_set(name: str) -> Iterator[dict[str, Any]]:
    study = STUDIES[name]()
    for size, given in (("all", study), ("few", few(study, zlib.crc32(name.encode())))):
        for label in sorted(set(study.gold)):
            positive = int((given.gold == label).sum())
            if LEAST <= positive <= len(given.gold) - LEAST:
                for row in _judged(_two_sided(given, label), f"{name} {size} {label}"):
                    yield {"set": name, "size": size, "label": label, **row}


def _two_sided(study: Study, label: str) -> Study:
    """Merge all labels but one."""

    def merged(values: pd.Series) -> pd.Series:
        return values.where(values != label, POSITIVE).where(values == label, OTHER)

    labels, answers = (
        table.assign(label=merged(table["label"])) for table in (study.labels, study.systems)
    )
    return Study(labels, [OTHER, POSITIVE], "nominal", merged(study.gold), answers)


def _judged(study: Study, key: str) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    gold, ann = study.gold, study.annotations()
    answers = systems(study, rng)
    is_true = (gold == POSITIVE).to_numpy()
    right = rng.random(len(gold)) < np.where(is_true, 0.95, 0.7)
    one_sided = np.where(right == is_true, POSITIVE, OTHER)
    answers["one-sided"] = "one-sided", pd.Series(one_sided, gold.index, name="label")
    frame = pd.concat([y.reset_index(name="label").assign(system=name)
                       for name, (_, y) in answers.items()])  # fmt: skip
    pred = dx.predictions(frame)
    order = rng.permutation(gold.index.to_numpy())
    for n in (0, 50):
        if n > len(gold) / 2:
            continue
        known = gold[order[:n]] if n else None
        result = dx.evaluate(ann, pred, truth=known, question="truth", **SETTINGS)
        for name, (kind, given) in answers.items():
            true = gold.reindex(given.index)
            for rate, side in (("sensitivity", POSITIVE), ("specificity", OTHER)):
                at = {"system": name, "scope": "these items"}
                draws = result["accuracy"][f"estimated_{rate}"].sel(at)
                low, high = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2])
                of_panel = result["metrics"].to_dataset().get(rate)
                naive = np.nan if of_panel is None else of_panel.sel(at, drop=True).mean()
                yield {
                    "known": n, "system": name, "kind": kind, "rate": rate, "low": low - 1e-9,
                    "high": high + 1e-9, "mean": float(draws.mean()), "naive": float(naive),
                    "truth": float((given[true == side] == side).mean()),
                }  # fmt: skip


if __name__ == "__main__":
    main()
