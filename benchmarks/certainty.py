"""Whether leading labels are right as often as certainties say, and majority labels as intervals.

    uv run python benchmarks/certainty.py

First table: of real panels with many labels, a few labels of each item are shown. An item's
annotation certainty is the probability that its leading label is the one that most of a large panel
would give. Compared with the share of items on which the whole panel gives this label most often (a
tie of two counts a half). Second table: how many more leading labels are right if the fifth of the
items that `items_to_review` names first, or random items, get two further labels, and how many are
expected (shares of all items). Third table: of real sets with a known truth, which is hidden, the
share of majority labels that are right (a tie counts a half), and its 89 % interval by `evaluate`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from machine import described
from panel_data import PANELS, credit, shown_of, table_of
from truth_data import STUDIES, few

import dissensus as dx

ITEMS, TIMES = 400, 3
FIT = {"draws": 500, "chains": 2, "progressbar": False}
BINS = {"below .7": 0.7, ".7 to .9": 0.9, ".9 to .99": 0.99, ".99 to 1": 1.01}


def studies() -> Iterator[tuple[str, list[str], Any, Any]]:
    """Yield the name and labels of each panel, its counts (item, label), and random numbers."""
    for name, read in PANELS.items():
        if name == "ferplus_counts":  # has only ten labels of each item
            continue
        panel = read()
        for seed in range(TIMES):
            rng = np.random.default_rng(seed)
            chosen = rng.permutation(len(panel.counts))[:ITEMS]
            yield name, panel.labels, panel.counts[chosen], rng


def led(shown: Any, labels: list[str]) -> tuple[Any, Any, Any]:
    """Return a fit to counts of labels, its items, and the leading label of each."""
    annotations = dx.annotations(table_of(shown, labels), kind="nominal", labels=labels)
    fit = dx.models.dirichlet.fit(annotations, random_seed=1, **FIT)
    theta = fit["posterior"]["plausibility"].transpose("item", "label", ...)
    leads = (theta == theta.max("label")).mean(["chain", "draw"]).to_numpy()
    return fit, annotations["item"].to_numpy().astype(int), leads.argmax(axis=1)


def certainties() -> Iterator[pd.DataFrame]:
    """Yield the certainty of each item of a study, and whether the leading label is right."""
    for name, labels, counts, rng in studies():
        for n in (3, 5, 10):
            fit, item, label = led(shown_of(counts, n, rng), labels)
            yield pd.DataFrame({
                "set": name, "labels": n, "certainty": dx.annotation_certainty(fit).to_numpy(),
                "right": credit(counts)[item, label],
            })  # fmt: skip


def reviews() -> Iterator[dict[str, Any]]:
    """Yield how many more leading labels are right after two further labels of a fifth of items."""
    for name, labels, counts, rng in studies():
        shown = shown_of(counts, 3, rng)
        more = shown + shown_of(counts - shown, 2, rng)
        fit, item, label = led(shown, labels)
        before = credit(counts)[item, label].mean()
        ranked = dx.items_to_review(fit, further=2)
        n = len(item) // 5
        row = {"set": name, "expected": float(ranked["gain"][:n].sum()) / len(item)}
        ordered = ranked["item"].to_numpy().astype(int)
        for what, some in (("chosen", ordered[:n]), ("random", rng.permutation(item)[:n])):
            longer = shown.copy()
            longer[some] = more[some]
            _, item, label = led(longer, labels)
            row[what] = credit(counts)[item, label].mean() - before
        yield row


def majorities() -> Iterator[dict[str, Any]]:
    """Yield the share of right majority labels, and its interval."""
    for name, read in STUDIES.items():
        whole = read()
        for seed in range(1 + TIMES):
            study = few(whole, seed) if seed else whole
            votes = pd.crosstab(study.labels["item"], study.labels["label"])
            votes = votes.reindex(columns=study.names, fill_value=0)
            votes = votes.loc[votes.index.intersection(study.gold.index)]
            gold = votes.columns.get_indexer(study.gold.reindex(votes.index))
            shares = credit(votes.to_numpy())
            result = dx.evaluate(
                study.annotations(), question="truth", reliability=(1.0,), components=None,
                companion=None, random_seed=seed, **FIT,
            )  # fmt: skip
            right = result["accuracy"]["majority_correct"]
            low, high = np.quantile(right, [0.055, 0.945])
            yield {
                "set": name, "labels": "some" if seed else "all",
                "right": np.where(gold >= 0, shares[np.arange(len(gold)), gold], 0.0).mean(),
                "estimate": float(right.mean()), "low": low, "high": high,
            }  # fmt: skip


def main() -> None:
    """Print all tables."""
    warnings.simplefilter("ignore")
    table = pd.concat(certainties())
    table["bin"] = pd.cut(table["certainty"], [0.0, *BINS.values()], labels=list(BINS), right=False)
    for key in (["labels", "bin"], ["labels"], ["set", "labels"]):
        of_key = table.groupby(key, sort=False, observed=True)[["certainty", "right"]]
        print(of_key.mean().assign(items=of_key.size()).round(3).to_string(), "\n")
    print(pd.DataFrame(reviews()).groupby("set", sort=False).mean().round(4).to_string(), "\n")
    print(pd.DataFrame(majorities()).round(3).to_string(), "\n")
    print(described())


if __name__ == "__main__":
    main()
