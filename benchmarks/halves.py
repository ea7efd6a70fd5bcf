"""Whether two halves of the annotators differ as far as intervals say.

    uv run python benchmarks/halves.py [--shared FOLDER]

Annotators of real sets are split into two halves 20 times, and both halves' agreement on the same
150 items is computed. Printed is the root mean square of their difference in standard deviations of
the draws (by the widths of 89 % intervals; of ratios, logarithms), which is 1 if intervals are
right, less if they are too wide: of `human_agreement` and of
the difference to a system (these items), and of Krippendorff's alpha and a system's discrepancy
ratio, before and after they are widened by the variation over annotators (new items, which the
halves share).
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import dissensus as dx
from dissensus import statistics
from dissensus.evaluation.answers import agreements, votes_of
from dissensus.evaluation.other_annotators import by_others, versions, widened

SETS = {
    "ducks": "ducks/ratings.csv", "weather": "weather_sentiment_amt/ratings.csv",
    "sentiment": "sentiment_popularity_amt/ratings.csv", "dices350": "dices350/ratings.csv.gz",
    "masc help-v": "masc_word_sense/help-v.csv.gz", "masc late-j": "masc_word_sense/late-j.csv.gz",
    "adult_content3": "adult_content3/ratings.csv.gz", "cebab": "cebab_aspects/annotations.csv",
    "annotation_paradigms": "annotation_paradigms/ratings.csv.gz", "wax": "wax/annotations.csv",
    "immigration": "immigration_crowd_replication/ratings.csv.gz",
    "cad_radiologists": "cad_radiologists/ratings.csv",
}  # fmt: skip
ALPHA = "krippendorff_alpha"


def measured(rows: pd.DataFrame, predictions: xr.Dataset, seed: int) -> list[np.ndarray]:
    """Return draws of the six quantities."""
    ann = dx.annotations(rows, kind="nominal")
    rng = np.random.default_rng(seed)
    people, systems = agreements(votes_of(ann, predictions), 500, rng, new_items=False)
    boot = dx.bayesian_bootstrap(ALPHA, ann, draws=500, random_seed=seed)
    by_version = versions(ann, seed)
    wider = boot
    if by_version is not None:
        spread = by_version.spread(
            by_version.values(statistics.get(ALPHA).sums(by_version.annotations))
        )
        wider = widened(boot, spread, by_version.n_groups - 1, seed)
    some: dict[str, Any] = {"on_missing": "drop"}
    ratio = dx.bayesian_bootstrap(
        "discrepancy_ratio", ann, predictions, draws=500, random_seed=seed, **some
    )
    now = ratio
    if by_version is not None:
        sums = statistics.get("discrepancy_ratio").sums(
            by_version.annotations, by_version.predictions(ann, predictions), **some
        )
        now = by_others(ratio, by_version, sums, seed)
    ratios = [np.log(x["discrepancy_ratio"].isel(system=0)).to_numpy() for x in (ratio, now)]
    return [people, systems[:, 0] - people, boot.to_numpy(), wider.to_numpy(), *ratios]


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the difference of medians in standard deviations, from widths of 89 % intervals."""
    low, high = np.quantile(np.stack([a.ravel(), b.ravel()]), [0.055, 0.945], axis=1)
    return float((np.median(a) - np.median(b)) / np.sqrt((((high - low) / 3.197) ** 2).sum()))


def apart(rows: pd.DataFrame, most: int | None) -> np.ndarray | None:
    """Return differences of halves in standard deviations (split, quantity)."""
    rows = rows.dropna().drop_duplicates(["item", "annotator"]).astype(str)
    items = rows["item"].drop_duplicates()
    rows = rows[rows["item"].isin(items.sample(min(150, len(items)), random_state=1))]
    rng = np.random.default_rng(0)
    lead = rows.groupby("item")["label"].agg(lambda labels: labels.value_counts().index[0])
    noise = rng.choice(rows["label"].unique(), len(lead))
    answer = np.where(rng.random(len(lead)) < 0.8, lead, noise)
    table = {"item": lead.index, "system": ["s"] * len(lead), "label": answer}
    predictions = dx.predictions(pd.DataFrame(table), kind="nominal")
    out = []
    for seed in range(20):
        people = np.random.default_rng(seed).permutation(rows["annotator"].unique())
        first = rows["annotator"].isin(people[: len(people) // 2])
        halves = [rows[side].sample(frac=1, random_state=seed) for side in (first, ~first)]
        halves = [half.groupby("item").head(most or len(half)) for half in halves]
        both = set.intersection(*(
            set(half["item"].value_counts().loc[lambda n: n > 1].index) for half in halves
        ))  # fmt: skip
        if len(both) < 20:
            return None
        draws = [measured(half[half["item"].isin(both)], predictions, seed) for half in halves]
        out.append([gap(*two) for two in zip(*draws, strict=True)])
    return np.array(out)


def main() -> None:
    """Print a line for each set, with all labels of an item and with at most three."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    folder = parser.parse_args().shared
    warnings.simplefilter("ignore", dx.DissensusWarning)
    print(f"{'set':24} {'labels':>6} {'human':>6} {'less':>6} {'alpha, items':>13} {'widened':>8} "
          f"{'ratio, items':>13} {'widened':>8}")  # fmt: skip
    for name, path in SETS.items():
        rows = pd.read_csv(folder / path)[["item", "annotator", "label"]]
        for most in (None, 3):
            result = apart(rows, most)
            if result is not None:
                rms = np.sqrt((result**2).mean(axis=0))
                print(f"{name:24} {most or 'all':>6} {rms[0]:6.2f} {rms[1]:6.2f} {rms[2]:13.2f} "
                      f"{rms[3]:8.2f} {rms[4]:13.2f} {rms[5]:8.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
