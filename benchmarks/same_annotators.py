"""Whether intervals of agreement with the panel allow for other annotators.

    uv run python benchmarks/same_annotators.py [--times 10]

Of four real panels, some annotators are shown with all their labels, or a few labels of each item.
The truth is the agreement of a system with the leading label of the whole panel. Two systems
answer like annotators: one is an annotator who is not shown, the other draws each label with a
probability in proportion to the square of its share. Printed is the coverage of 89 % intervals: of
the posterior alone (`top_k_accuracy`), and of `evaluate`.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from machine import described
from panel_data import PANELS

import dissensus as dx

SETS = ("ducks", "annotation_paradigms", "dices350", "adult_content3")
ITEMS = 200
FIT = {"draws": 200, "chains": 2, "progressbar": False}
ALONE = {"components": None, "truth_model": None, "ground_truth": None, "companion": None}


def main() -> None:
    """Print a table of coverage and mean width by design."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=10, help="studies of each set and design")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [row for name in SETS for seed in range(options.times) for row in studies(name, seed)]
    table = pd.DataFrame(rows)
    for name in ("posterior", "evaluate"):
        inside = (table[f"{name}_low"] <= table["truth"]) & (
            table["truth"] <= table[f"{name}_high"]
        )
        table[f"{name} coverage"] = inside
        table[f"{name} width"] = table[f"{name}_high"] - table[f"{name}_low"]
    shown = [
        f"{name} {number}" for name in ("posterior", "evaluate") for number in ("coverage", "width")
    ]
    print(table.groupby("design", sort=False)[shown].mean().round(3).to_string())
    print(described())


def studies(name: str, seed: int) -> Any:
    """Yield the intervals of both systems in each design."""
    ratings = PANELS[name]().ratings
    assert ratings is not None
    ratings = ratings.astype(str).drop_duplicates(["item", "annotator"])
    items = np.unique(ratings["item"])
    if len(items) > ITEMS:
        items = np.sort(np.random.default_rng(9).choice(items, ITEMS, replace=False))
    ratings = ratings[ratings["item"].isin(items)]
    counts = pd.crosstab(ratings["item"], ratings["label"]).loc[items]
    labels, shares = np.array(counts.columns), counts.div(counts.sum(axis=1), axis=0).to_numpy()
    leads = shares >= shares.max(axis=1, keepdims=True) - 1e-9
    credit = leads / leads.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    of_each = ratings.groupby("annotator").size()
    people = rng.permutation(of_each.index[of_each >= 0.9 * len(items)])
    own = ratings[ratings["annotator"] == people[-1]].set_index("item")["label"].reindex(items)
    systems = {
        "person": np.where(own.isna(), labels[shares.argmax(axis=1)], own),
        "drawn": np.array([rng.choice(labels, p=row**2 / (row**2).sum()) for row in shares]),
    }
    predictions = dx.predictions(pd.concat(
        pd.DataFrame({"item": items, "system": system, "label": given})
        for system, given in systems.items()
    ))  # fmt: skip
    truth = {
        system: credit[np.arange(len(items)), np.searchsorted(labels, given)].mean()
        for system, given in systems.items()
    }
    others = ratings[ratings["annotator"] != people[-1]]
    for design, part in designs(others, people, seed):
        annotations = dx.annotations(part, kind="nominal", labels=list(labels), items=items)
        fit = dx.models.dirichlet.fit(annotations, predictions=predictions, random_seed=seed, **FIT)
        alone = dx.top_k_accuracy(fit, predictions, insight="learned", random_seed=seed)
        result = dx.evaluate(
            annotations, predictions, reliability=(1.0,), random_seed=seed, **FIT, **ALONE
        )
        for system in systems:
            row = {"set": name, "design": design, "truth": truth[system]}
            for kind, draws in (
                ("posterior", alone), ("evaluate", result["answers"]["panel_agreement"])
            ):  # fmt: skip
                low, high = np.quantile(draws.sel(system=system), [0.055, 0.945])
                row |= {f"{kind}_low": low, f"{kind}_high": high}
            yield row


def designs(ratings: pd.DataFrame, people: Any, seed: int) -> Any:
    """Yield the name and the rows of each design."""
    mixed = ratings.sample(frac=1, random_state=seed)
    for n in (3, 5, 8):
        yield f"the same {n} annotators", ratings[ratings["annotator"].isin(people[:n])]
    for n in (6, 10):
        some = mixed[mixed["annotator"].isin(people[:n])]
        yield f"3 of {n} annotators", some.groupby("item").head(3)
    yield "5 labels by anyone", mixed.groupby("item").head(5)


if __name__ == "__main__":
    main()
