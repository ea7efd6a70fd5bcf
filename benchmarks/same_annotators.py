"""Whether intervals of agreement with the panel allow for other annotators.

    uv run python benchmarks/same_annotators.py [--times 10]

Of four real panels, some annotators are shown with all their labels, or a few labels of each item.
The truth is the metric against the shares of the whole panel: the agreement with its leading label,
and sensitivity and specificity (two labels), or the accuracy of lists of two labels. Two systems
answer like annotators: one is an annotator who is not shown, the other draws each label with a
probability in proportion to the square of its share. Their second labels are drawn in proportion to
the shares. Printed is the coverage of 89 % intervals: of the posterior alone, and of `evaluate`.

With ``--plans``, half-widths that `dx.plan` predicts from pilots of 50 items are compared with
those of `evaluate` on 150 other items, for labels by the same annotators and by many.

With ``--scores``, some annotators give numbers, of two real sets and of simulated studies whose
annotators differ in leniency, in slope, or in opinions. The truth is the error of a system against
the mean of the annotators who are not shown, without the noise of that mean.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from data import SHARED
from lists import scores as list_scores
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
    parser.add_argument("--scores", action="store_true", help="errors of numbers instead")
    parser.add_argument("--plans", action="store_true", help="planned half-widths instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.plans:
        rows = [row for name in SETS for seed in range(options.times) for row in plans(name, seed)]
        table = pd.DataFrame(rows)
        table["ratio"] = table["actual"] / table["planned"]
        print(table.groupby(["labels by", "annotators"])["ratio"].describe().round(2).to_string())
        print(described())
        return
    each, sets = (of_scores, SCORES) if options.scores else (studies, SETS)
    rows = [row for name in sets for seed in range(options.times) for row in each(name, seed)]
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
    for key in (["quantity", "set", "design"], ["quantity", "design"])[not options.scores :]:
        print(table.groupby(key, sort=False)[shown].mean().round(3).to_string(), "\n")
    print(described())


def rated(name: str) -> pd.DataFrame:
    """Return one label of each item by each annotator, as text."""
    ratings = PANELS[name]().ratings
    assert ratings is not None
    ratings = ratings.astype(str).drop_duplicates(["item", "annotator"])
    return ratings.assign(label="label " + ratings["label"])


def studies(name: str, seed: int) -> Any:
    """Yield the intervals of both systems in each design."""
    ratings = rated(name)
    items = np.unique(ratings["item"])
    if len(items) > ITEMS:
        items = np.sort(np.random.default_rng(9).choice(items, ITEMS, replace=False))
    ratings = ratings[ratings["item"].isin(items)]
    counts = pd.crosstab(ratings["item"], ratings["label"]).loc[items]
    labels, shares = np.array(counts.columns), counts.div(counts.sum(axis=1), axis=0).to_numpy()
    rng = np.random.default_rng(seed)
    of_each = ratings.groupby("annotator").size()
    people = rng.permutation(of_each.index[of_each >= 0.9 * len(items)])
    own = ratings[ratings["annotator"] == people[-1]].set_index("item")["label"].reindex(items)
    systems = {
        "person": np.where(own.isna(), labels[shares.argmax(axis=1)], own),
        "drawn": np.array([rng.choice(labels, p=row**2 / (row**2).sum()) for row in shares]),
    }
    tables = [
        pd.DataFrame({"item": items, "system": system, "label": given, "rank": 1})
        for system, given in systems.items()
    ]
    if len(labels) > 2:
        tables += [
            first.assign(
                label=second_labels(first["label"].to_numpy(), shares, labels, rng), rank=2
            )
            for first in tables
        ]
    predictions = dx.predictions(pd.concat(tables), rank="rank")
    exact = xr.DataArray(
        shares[None, None] + 1e-9 * rng.random(shares.shape),  # ties are broken at random
        dims=("chain", "draw", "item", "label"), coords={"item": items, "label": labels},
    )  # fmt: skip
    truth = quantities(exact, predictions, labels)
    others = ratings[ratings["annotator"] != people[-1]]
    for design, part in designs(others, people, seed):
        annotations = dx.annotations(part, kind="nominal", labels=list(labels), items=items)
        fit = dx.models.dirichlet.fit(annotations, predictions=predictions, random_seed=seed, **FIT)
        alone = quantities(fit, predictions, labels, insight="learned", random_seed=seed)
        result = dx.evaluate(
            annotations, predictions, positive=labels[1] if len(labels) == 2 else None,
            reliability=(1.0,), random_seed=seed, **FIT, **ALONE,
        )  # fmt: skip
        wide = result["metrics"].to_dataset().sel(reliability=1.0, scope="these items")
        for system in systems:
            for quantity, value in truth.items():
                if quantity not in wide:  # undefined in some draws
                    continue
                row = {"set": name, "design": design, "quantity": quantity}
                row["truth"] = value.sel(system=system).item()
                for kind, draws in (("posterior", alone), ("evaluate", wide)):
                    low, high = np.quantile(draws[quantity].sel(system=system), [0.055, 0.945])
                    row |= {f"{kind}_low": low, f"{kind}_high": high}
                yield row


def second_labels(first: Any, shares: Any, labels: Any, rng: np.random.Generator) -> Any:
    """Draw a second label for each item, in proportion to the shares of the other labels."""
    weight = (shares + 0.01) * (labels != first[:, None])
    return np.array([rng.choice(labels, p=row / row.sum()) for row in weight])


def quantities(plausibility: Any, predictions: xr.Dataset, labels: Any, **options: Any) -> Any:
    """Return the metrics of systems that give lists of labels, or one of two labels."""
    if len(labels) > 2:
        return list_scores(plausibility, predictions, 2, **options)
    rates = dx.sensitivity_specificity(plausibility, predictions, labels[1], **options)
    agreement = dx.top_k_accuracy(plausibility, predictions, **options)
    return {"top_1_accuracy": agreement} | {k: rates[k] for k in ("sensitivity", "specificity")}


def plans(name: str, seed: int) -> Any:
    """Yield planned and actual half-widths for new items; a system is right on .8 of the items."""
    ratings = rated(name)
    labels, rng = sorted(ratings["label"].unique()), np.random.default_rng(seed)
    of_each = ratings.groupby("annotator").size()
    people = rng.permutation(of_each.index[of_each >= 0.9 * ratings["item"].nunique()])
    items = rng.permutation(ratings["item"].unique())
    mixed = ratings.sample(frac=1, random_state=seed)
    pilot, study = (mixed[mixed["item"].isin(part)] for part in (items[:50], items[50:200]))
    leads = study.groupby("item")["label"].agg(lambda given: given.value_counts().index[0])
    wrong = [rng.choice([label for label in labels if label != lead]) for lead in leads]
    answers = np.where(rng.random(len(leads)) < 0.8, leads, wrong)
    predictions = dx.predictions(
        pd.DataFrame({"item": leads.index, "system": "s", "label": answers})
    )
    for by in ("the same", "many"):
        first = (
            pilot[pilot["annotator"].isin(people[:5])] if by == "the same"
            else pilot.groupby("item").head(5)
        )  # fmt: skip
        plan = dx.plan(
            dx.annotations(first, kind="nominal", labels=labels), annotators=(3, 5, 8),
            items=(150,), random_seed=seed,
        )  # fmt: skip
        for n in (3, 5, 8):
            shown = (
                study[study["annotator"].isin(people[5 : 5 + n])] if by == "the same"
                else study.groupby("item").head(n)
            )  # fmt: skip
            result = dx.evaluate(
                dx.annotations(shown, kind="nominal", labels=labels), predictions,
                reliability=(1.0,), random_seed=seed, **FIT, **ALONE,
            )  # fmt: skip
            draws = result["metrics"]["top_1_accuracy"].sel(reliability=1.0, scope="new items")
            low, high = np.quantile(draws, [0.055, 0.945])
            yield {
                "labels by": by, "annotators": n, "actual": (high - low) / 2,
                "planned": plan["half_width"].sel(annotator=n).item(),
            }  # fmt: skip


def designs(ratings: pd.DataFrame, people: Any, seed: int) -> Any:
    """Yield the name and the rows of each design."""
    mixed = ratings.sample(frac=1, random_state=seed)
    for n in (3, 5, 8):
        yield f"the same {n} annotators", ratings[ratings["annotator"].isin(people[:n])]
    for n in (6, 10):
        some = mixed[mixed["annotator"].isin(people[:n])]
        yield f"3 of {n} annotators", some.groupby("item").head(3)
    yield "5 labels by anyone", mixed.groupby("item").head(5)


# Numbers.


SCORES = ("videos", "dices350", "simulated, leniency", "simulated, slopes", "simulated, opinions")
QUANTITIES = ("mean_squared_error", "correlation")
"""The noise of a mean can be taken out of these two."""
N_SCORED = 80


def scores_of(name: str, rng: np.random.Generator) -> np.ndarray:
    """Return scores (item, annotator) of at most 80 items."""
    if name == "videos":
        rows = pd.read_csv(SHARED / "nflx_video_quality" / "ratings.csv")
        table = rows.pivot(index="item", columns="annotator", values="label").dropna(axis=1)
    elif name == "dices350":
        rows = pd.read_csv(SHARED / "dices350" / "ratings.csv.gz")
        rows = rows.assign(label=rows["label"].map({"No": 0.0, "Unsure": 1.0, "Yes": 2.0}))
        table = rows.pivot_table(index="item", columns="annotator", values="label").dropna(axis=1)
    else:
        mean, n = rng.normal(5.0, 2.0, N_SCORED), 60
        score = mean[:, None] + rng.normal(size=(N_SCORED, n))
        if name.endswith("leniency"):
            score += rng.normal(0.0, 0.8, n)
        elif name.endswith("slopes"):
            score = 5.0 + (score - 5.0) * np.exp(rng.normal(0.0, 0.4, n))
        else:
            score += 0.9 * rng.normal(size=(N_SCORED, 3)) @ rng.normal(size=(3, n))
        return score
    scores = table.to_numpy(float)
    return scores[rng.permutation(len(scores))[:N_SCORED]]


def of_scores(name: str, seed: int) -> Any:
    """Yield the intervals of three systems and quantities in each design."""
    rng = np.random.default_rng([len(name), seed])
    scores = scores_of(name, rng)
    scores = scores[:, rng.permutation(scores.shape[1])]
    many = scores.shape[1] >= 40
    first = 20 if many else 10
    some, others = scores[:, first : first + 5], scores[:, first + 5 :]
    mean = others.mean(axis=1)
    noise = others.var(axis=1, ddof=1).mean() / others.shape[1]
    systems = {
        "one": some[:, 0], "several": some.mean(axis=1),
        "noisy": some.mean(axis=1) + rng.normal(0.0, 0.5 * scores.std(), len(scores)),
    }  # fmt: skip
    items = np.arange(len(scores))
    predictions = dx.predictions(pd.concat(
        pd.DataFrame({"item": items, "system": system, "label": given})
        for system, given in systems.items()
    ), kind="continuous")  # fmt: skip
    for n, per_item in ((3, 3), (5, 5), (10, 10), (10, 3), (20, 3)):
        if n > 10 and not many:
            continue
        order = rng.random((len(scores), n)).argsort(axis=1).argsort(axis=1)
        shown = np.where(order < per_item, scores[:, :n], np.nan)
        annotations = dx.from_matrix(shown, kind="continuous")
        fit = dx.models.normal_scores.fit(
            annotations, predictions=predictions, random_seed=seed, **FIT
        )
        alone = dx.score_error(fit, predictions)
        result = dx.evaluate(
            annotations, predictions, reliability=(1.0,), random_seed=seed, **FIT, **ALONE
        )
        wide = result["metrics"].to_dataset().sel(reliability=1.0, scope="these items")
        for system, given in systems.items():
            squared = max(((given - mean) ** 2).mean() - noise, 0.0)
            shared = np.cov(given, mean, ddof=0)[0, 1]
            truth = {
                "mean_squared_error": squared,
                "correlation": min(shared / (given.std() * np.sqrt(mean.var() - noise)), 0.999),
            }
            for quantity in QUANTITIES:
                row = {"set": name, "design": f"{per_item} of {n}", "quantity": quantity}
                row["truth"] = truth[quantity]
                for kind, draws in (("posterior", alone), ("evaluate", wide)):
                    low, high = np.quantile(draws[quantity].sel(system=system), [0.055, 0.945])
                    row |= {f"{kind}_low": low, f"{kind}_high": high}
                yield row


if __name__ == "__main__":
    main()
