"""Maximum likelihood for complete rankings, against choix: both in turns, in one run.

    uv run --with choix python benchmarks/plackett_luce_ml.py

choix is not a dependency: without it, the times are ours only. It takes no ties and no unlisted
labels, so that the data are rankings of just those labels that were there to be ranked. Given are
two of its estimators of the same maximum, each with its default tolerance, and how far their log
strengths are from ours (the largest difference, both with mean 0). The third, ``opt_rankings``,
takes more than a minute for the first set of rankings.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from data import SHARED
from machine import described
from timing import Row, in_turns

import dissensus as dx

PEERS = ("mm_rankings", "ilsr_rankings")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="repetitions (default 3)")
    options = parser.parse_args()
    print(described(), end="\n\n")
    print(Row.header())
    for row in rows(options.repeats):
        print(row, flush=True)


def rows(repeats: int) -> Iterator[Row]:
    """Measure each set of rankings against each estimator of choix, if that is installed."""
    for name, orders, n_labels in _studies():
        ours = _ours(orders)
        label = f"plackett_luce.maximum_likelihood, {name}"
        if find_spec("choix") is None:
            yield Row(label, in_turns(repeats, ours)[0], "choix is not installed")
            continue
        for peer in PEERS:
            theirs = partial(getattr(import_module("choix"), peer), n_labels, orders)
            apart = np.abs(_centred(ours()) - theirs()).max()
            times, peer_times = in_turns(repeats, ours, theirs)
            yield Row(f"{label} (apart by {apart:.1g})", times, f"choix.{peer}", peer_times)


def _studies() -> Iterator[tuple[str, list[list[int]], int]]:
    """Give rankings as lists of labels, best first."""
    rng = np.random.default_rng(1)
    strength = rng.normal(0, 1, 50)
    arrival = rng.gumbel(size=(1000, 50)) + strength
    yield "1,000 simulated rankings of 50", np.argsort(-arrival, axis=1).tolist(), 50
    for name, file, largest in (
        ("36 races of nascar2002, drivers 1 to 83", "nascar2002", 83),
        ("842 rankings of 3 of 10 beans", "beans", None),
    ):
        path = SHARED / file / "rankings.csv"
        if path.exists():
            table = pd.read_csv(path)
            if largest is not None:  # the others were last in all their races
                table = table[table["item_id"] <= largest]
            table = table.sort_values(["annotator", "rank"])
            table["code"] = pd.factorize(table["item"], sort=True)[0]
            orders = table.groupby("annotator")["code"].agg(list).tolist()
            yield name, orders, table["code"].nunique()


def _ours(orders: list[list[int]]) -> Callable[[], Any]:
    table = pd.DataFrame(
        [
            ("all", number, label, rank)
            for number, order in enumerate(orders)
            for rank, label in enumerate(order, start=1)
        ],
        columns=["item", "annotator", "label", "rank"],
    )
    ann = dx.annotations(table, rank="rank")
    return partial(dx.models.plackett_luce.maximum_likelihood, ann, unranked="absent")


def _centred(plausibility: Any) -> np.ndarray:
    logs = np.log(plausibility.to_numpy()[0, :-1])
    return logs - logs.mean()


if __name__ == "__main__":
    main()
