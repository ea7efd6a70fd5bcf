"""Whether two halves of the annotators differ as far as intervals say.

    uv run python benchmarks/halves.py [--shared FOLDER] [--few]

Annotators of real sets are split into two halves 20 times, and both halves' agreement on the same
150 items is computed. Printed is the root mean square of their difference in standard deviations of
the draws (by the widths of 89 % intervals; of ratios, logarithms), which is 1 if intervals are
right, less if they are too wide: of `human_agreement` and of
the difference to a system (these items), and of Krippendorff's alpha and a system's discrepancy
ratio, before and after they are widened by the variation over annotators (new items, which the
halves share).

With ``--few``, some annotators of each set are shown. Printed are the coverage and the mean width
of 89 % intervals of the group `answers` (these items), and the share that ends at 1; the true
values are those of all annotators. One system has the most frequent label, the other one label of
each item, drawn at random.
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


N_ITEMS = 150
QUANTITIES = ("human agreement", "frequent label", "drawn label", "frequent minus human")


def shown_of(rows: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    """Return the rows of some annotators, by the name of the design."""
    rng, mixed = np.random.default_rng(seed), rows.sample(frac=1, random_state=seed)
    n_each = rows.groupby("annotator").size()
    people = rng.permutation(n_each.index[n_each >= 0.5 * rows["item"].nunique()])
    some = {n: mixed[mixed["annotator"].isin(people[:n])] for n in (3, 4, 5, 6, 8, 10, 12)}
    out = {f"all of {n}": some[n] for n in (3, 4, 5, 8, 10) if len(people) >= 2 * n}
    out |= {f"3 of {n}": some[n].groupby("item").head(3) for n in (6, 12) if len(people) >= n + 4}
    return out | {"3 by anyone": mixed.groupby("item").head(3)}


def of_few(rows: pd.DataFrame, seed: int) -> Any:
    """Yield design, quantity, whether the interval contains the true value, width, and end."""
    rows = rows.dropna().drop_duplicates(["item", "annotator"]).astype(str)
    items = np.random.default_rng(seed).permutation(rows["item"].unique())[:N_ITEMS]
    rows = rows[rows["item"].isin(items)]
    for design, part in shown_of(rows, seed).items():
        if (part.groupby("item").size() > 1).sum() < 20:
            continue
        whole = rows[rows["item"].isin(part["item"])]
        by_item = whole.sample(frac=1, random_state=seed + 1000).groupby("item")["label"]
        answers = [by_item.agg(lambda given: given.value_counts().index[0]), by_item.first()]
        predictions = dx.predictions(pd.concat(
            pd.DataFrame({"item": given.index, "system": f"s{k}", "label": given.to_numpy()})
            for k, given in enumerate(answers)
        ), kind="nominal")  # fmt: skip
        seen, every = (
            votes_of(dx.annotations(table.sort_values("item"), kind="nominal"), predictions)
            for table in (part, whole)
        )
        people, systems = agreements(seen, 1000, np.random.default_rng(seed), new_items=False)
        paired = seen.paired  # items count as in the few annotators' agreement
        human = float(every.of_pairs() @ paired / paired.sum())
        of_each = seen.size @ (every.summed(every.agrees) / every.size[:, None]) / seen.size.sum()
        truth = (human, *of_each, of_each[0] - human)
        draws = (people, *systems.T, systems[:, 0] - people)
        for name, true, values in zip(QUANTITIES, truth, draws, strict=True):
            low, high = np.quantile(values, [0.055, 0.945])
            yield name, design, low <= true <= high, high - low, high > 0.9995


def print_few(folder: Path) -> None:
    """Print coverage and widths by quantity and design."""
    rows = []
    for path in SETS.values():
        table = pd.read_csv(folder / path)[["item", "annotator", "label"]]
        rows += [row for seed in range(20) for row in of_few(table, seed)]
    table = pd.DataFrame(rows, columns=["quantity", "design", "coverage", "width", "ends at 1"])
    for keys in (["quantity", "design"], ["quantity"]):
        means = table.groupby(keys, sort=False).mean(numeric_only=True)
        print(means.round(2).to_string(), "\n")


def main() -> None:
    """Print a line for each set, with all labels of an item and with at most three."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"))
    parser.add_argument("--few", action="store_true", help="coverage with a few annotators")
    options = parser.parse_args()
    folder = options.shared
    warnings.simplefilter("ignore", dx.DissensusWarning)
    if options.few:
        print_few(folder)
        return
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
