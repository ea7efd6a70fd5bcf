"""Whole evaluations at size: processor seconds and peak memory, each in a process of its own.

    uv run python benchmarks/evaluations.py
    uv run python benchmarks/evaluations.py "2,000 cases"      # those whose names begin so

Kernels are compiled before, by an evaluation of a few draws. The ranked cases are those of
`benchmarks/data.py`: the first reader of a case is the first system, the other systems are that
reader with some labels replaced by others; 2,000 cases are drawn from them with replacement, and
their conditions folded into 256.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable

import data
import numpy as np
import pandas as pd
import xarray as xr
from machine import described

import dissensus as dx

WRONG = (0.0, 0.15, 0.3, 0.5)
"""Share of the labels of each system that are replaced."""
Study = tuple[xr.Dataset, xr.Dataset]


def labels() -> Study:
    """800 items with ten labels each, three systems."""
    study = dx.simulate.confusion_study(
        800, 10, 3, ipc=0.8, system_accuracy=[0.95, 0.85, 0.7], random_seed=1
    )
    return study.annotations, study.predictions


def cases() -> Study:
    """600 ranked cases, 419 conditions, four systems."""
    return _judged(_table(), 419)


def many_cases() -> Study:
    """2,000 ranked cases, 256 labels, four systems."""
    rng, table = np.random.default_rng(3), _table()
    folded = [rng.permutation(419) % 256 for _ in range(4)]
    of_case = dict(list(table.groupby("item")))
    names = list(of_case)
    parts = []
    for number in range(2000):
        part = of_case[names[rng.integers(len(names))]].copy()
        part["label"] = folded[number % 4][part["label"].to_numpy()]
        parts.append(part.drop_duplicates(["reader", "label"]).assign(item=number))
    return _judged(pd.concat(parts), 256)


STUDIES: dict[str, Callable[[], Study]] = {
    "800 items, 8,000 labels, 3 systems": labels,
    "600 cases, 419 conditions, 4 systems": cases,
    "2,000 cases, 256 labels, 4 systems": many_cases,
}


def _table() -> pd.DataFrame:
    """Return one row for each listed label, readers of a case numbered from 0."""
    ann = data.dermatology()[1]
    table = pd.DataFrame({
        "item": ann["item_code"], "who": ann["annotator_code"], "label": ann["label_code"],
        "rank": ann["rank"],
    })  # fmt: skip
    table["reader"] = table.groupby("item")["who"].transform(lambda who: who.factorize()[0])
    return table.drop(columns="who")


def _judged(table: pd.DataFrame, n_labels: int) -> Study:
    """Take the first readers of cases with two and more for systems, and leave the others."""
    rng = np.random.default_rng(5)
    first = table[table["reader"] == 0]
    systems = []
    for number, share in enumerate(WRONG):
        answers = first.copy()
        wrong = rng.random(len(answers)) < share
        answers.loc[wrong, "label"] = rng.choice(table["label"].to_numpy(), wrong.sum())
        systems.append(answers.drop_duplicates(["item", "label"]).assign(system=f"s{number}"))
    pred = _dense(pd.concat(systems), ["item", "system"])
    alone = table.groupby("item")["reader"].transform("max") == 0
    kept = _dense(table[(table["reader"] > 0) | alone], ["item", "reader"])
    ann = dx.annotations(
        kept.assign(annotator=kept["item"].astype(str) + "/" + kept["reader"].astype(str)),
        rank="rank", labels=range(n_labels),
    )  # fmt: skip
    return ann, dx.predictions(pred, rank="rank")


def _dense(table: pd.DataFrame, of: list[str]) -> pd.DataFrame:
    return table.assign(rank=table.groupby(of)["rank"].rank(method="dense").astype(int))


def measured(name: str) -> None:
    """Evaluate one study, and print its row."""
    ann, pred = STUDIES[name]()
    dx.evaluate(ann, pred, draws=10, random_seed=1, progressbar=False)
    before = os.times()
    dx.evaluate(ann, pred, random_seed=1, progressbar=False)
    after = os.times()
    seconds = after.user + after.system - before.user - before.system
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows = ann.sizes["annotation"]
    print(f"| {name} | {rows:,} | {seconds:.1f} | {peak:.2f} |", flush=True)


def main() -> None:
    """Print a row for each study, or one of them if it is named in full."""
    if sys.argv[1:] and sys.argv[1] in STUDIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measured(sys.argv[1])
        return
    print(f"{described()}\n\n| study | rows | processor seconds | peak GB |\n|---|--:|--:|--:|")
    for name in STUDIES:
        if name.startswith(tuple(sys.argv[1:] or [""])):
            subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
