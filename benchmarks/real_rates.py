"""Compare estimated accuracies, sensitivities and specificities with sets of known truth.

Each label of a set, against all others, makes a study of two labels. The systems are those of
`real_truth.py`, and three that err on one side: they find .95, .6 or .02 of the positive items, and
.7, .97 or .99 of the others. The truth of no items, or of 50, is known. Rates are those of fits of
`models.dawid_skene`, which `dx.evaluate` returns too: `uv run python benchmarks/real_rates.py`.
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
ONE_SIDED = {"finds most": (0.95, 0.7), "finds some": (0.6, 0.97), "finds none": (0.02, 0.99)}
"""Probabilities of being right on positive items, and on the others."""


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
    below, above = table["low"] - table["truth"], table["truth"] - table["high"]
    table["covered"] = (below <= 0) & (above <= 0)
    table["error"], table["width"] = table["mean"] - table["truth"], table["high"] - table["low"]
    table["score"] = table["width"] + 2 / (1 - PROB) * np.maximum(np.maximum(below, above), 0)
    shown = ["covered", "error", "width", "score"]
    for by in (["known", "rate"], ["known", "rate", "kind"], ["known", "rate", "set"]):
        print(
            table.groupby(by)[shown].mean().assign(n=table.groupby(by).size()).round(3).to_string()
        )
    print(described())


def _of_set(name: str) -> Iterator[dict[str, Any]]:
    study = STUDIES[name]()
    for size, given in (("all", study), ("few", few(study, zlib.crc32(name.encode())))):
        labels = sorted(set(study.gold))
        for label in labels[: 1 if len(labels) == 2 else None]:
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
    gold, labels = study.gold, study.labels
    ann = study._replace(labels=labels[labels["item"].isin(gold.index)]).annotations()
    answers = systems(study, rng)
    is_true = (gold == POSITIVE).to_numpy()
    for name, rates in ONE_SIDED.items():
        right = rng.random(len(gold)) < np.where(is_true, *rates)
        given = np.where(right == is_true, POSITIVE, OTHER)
        answers[name] = name, pd.Series(given, gold.index, name="label")
    frame = pd.concat([y.reset_index(name="label").assign(system=name)
                       for name, (_, y) in answers.items()])  # fmt: skip
    pred = dx.predictions(frame)
    order = rng.permutation(gold.index.to_numpy())
    for n in (0, 50):
        if n > len(gold) / 2:
            continue
        fit = dx.models.dawid_skene.fit(
            ann, predictions=pred, truth=gold[order[:n]] if n else None,
            error_correlation="learned", draws=300, random_seed=1, progressbar=False,
        )["posterior"]  # fmt: skip
        for name, (kind, given) in answers.items():
            true = gold.reindex(given.index)
            of = fit.to_dataset().sel(system=name)
            share = of["system_hits"] / of["system_prevalence"]
            drawn = {"accuracy": (of["system_correct"], (given == true).mean())}
            for rate, side in (("sensitivity", POSITIVE), ("specificity", OTHER)):
                drawn[rate] = share.sel(label=side), (given[true == side] == side).mean()
            for rate, (draws, actual) in drawn.items():
                low, high = np.nanquantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2])
                yield {
                    "known": n, "system": name, "kind": kind, "rate": rate, "low": low - 1e-9,
                    "high": high + 1e-9, "mean": float(draws.mean()), "truth": float(actual),
                }  # fmt: skip


if __name__ == "__main__":
    main()
