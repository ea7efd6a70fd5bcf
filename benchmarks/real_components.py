"""Whether intervals of the ICC contain the ICC of a large panel.

    uv run python benchmarks/real_components.py [--times 20]

Of real sets with many annotators, a study sees all labels of a few annotators for 60 items, or a
few labels of each of 100 items. The truth is the ICC of the whole set, without a model: one minus
the mean squared difference of two annotators' labels of one item, divided by that of two
annotators' labels of two items. Printed are the coverage and the mean width of 89 % intervals of
the ICC and the annotator ICC (numbers: of numbers; two or ordered labels: of observed labels) of
`models.crossed_effects` alone, and as `evaluate` shows them. Simulated studies follow the model.

With ``--pools``, a study sees some annotators of each pool for 80 items. Observed xCC and cross
kappa, also normalised, are compared with those of the whole pools, without a model.

With ``--noise``, two simulated pools differ in their noise, or do not. The observed ICC of each
pool and the observed xCC, with residuals that pools share and as `evaluate` has them, are compared
with correlations of two labels of 300,000 items.

With ``--plans``, the first 40 items are the pilot of `plan_reliability`, and 150 items the study.
Printed are half the planned width, and half the widths of the study.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from data import SHARED
from machine import described

import dissensus as dx
from dissensus.evaluation import components
from dissensus.evaluation.components import FAMILIES, alpha_of, cross_of, pool_agreement
from dissensus.evaluation.other_annotators import as_uncertain, as_uncertain_between
from dissensus.evaluation.section import Settings

FIT = {"draws": 500, "tune": 300, "chains": 2, "progressbar": False}
DESIGNS = {"the same 3": (3, 60), "the same 5": (5, 60), "the same 10": (10, 60),
           "3 by anyone": (3, 100), "8 by anyone": (8, 100)}  # fmt: skip

SIMULATED = {"simulated": 1.0, "simulated, low ICC": 0.25}
"""Standard deviations of items; those of annotators and residuals are the defaults."""


def sets() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the name, the family and the rows of each set; labels are numbers."""
    faces = pd.read_csv(SHARED / "mdns_faces" / "ratings.csv.gz")
    for name in ("angry", "happy", "sad"):
        rows = faces[(faces["dimension"] == name) & (faces["group"] == "six_scales")]
        yield f"faces {name}", "gaussian", rows
        yield f"faces {name}", "ordinal", rows
    videos = pd.read_csv(SHARED / "nflx_video_quality" / "ratings.csv")
    yield "videos", "gaussian", videos
    yield "videos", "ordinal", videos
    offensive = pd.read_csv(SHARED / "popquorn_offensiveness" / "ratings.csv.gz")
    yield "offensive", "gaussian", offensive
    yield "offensive", "ordinal", offensive
    voices = pd.read_csv(SHARED / "vcc2018_mos" / "ratings.csv.gz")
    yield "voices", "gaussian", voices
    yield "voices", "ordinal", voices
    lecturers = pd.read_csv(SHARED / "insteval" / "ratings.csv.gz")
    yield "lecturers", "gaussian", lecturers
    yield "lecturers", "ordinal", lecturers
    yield "dices350", "bernoulli", dices350()
    yield "ducks", "bernoulli", pd.read_csv(SHARED / "ducks" / "ratings.csv")
    yield "paradigms", "bernoulli", paradigms()


def dices350() -> pd.DataFrame:
    """Return yes or no of raters of a chatbot, without "unsure"."""
    rows = pd.read_csv(SHARED / "dices350" / "ratings.csv.gz")
    rows = rows[rows["label"].isin(["No", "Yes"])]
    return rows.assign(label=(rows["label"] == "Yes").astype(int))


def paradigms() -> pd.DataFrame:
    """Return whether annotators called posts hateful; their group is their pool."""
    rows = pd.read_csv(SHARED / "annotation_paradigms" / "ratings.csv.gz")
    return rows.assign(label=(rows["label"] == "hateful").astype(int), pool=rows["group"])


def true_icc(rows: pd.DataFrame, of: str = "item") -> float:
    """Return the ICC from products of pairs of labels, less the mean product of all others.

    With ``of="annotator"``, return the annotator ICC.
    """
    value = rows["label"].to_numpy(float)
    value = value - value.mean()

    def products(column: str) -> tuple[float, float]:
        """Return the sum of products of two labels of one item (annotator), and their number."""
        code = pd.factorize(rows[column])[0]
        n, total = np.bincount(code).astype(float), np.bincount(code, value)
        return float(total @ total - value @ value), float(n @ (n - 1))

    (by_item, n_item), (by_annotator, n_annotator) = products("item"), products("annotator")
    everything, n_all = value.sum() ** 2 - value @ value, len(value) * (len(value) - 1.0)
    other = (everything - by_item - by_annotator) / (n_all - n_item - n_annotator)
    same = by_item / n_item if of == "item" else by_annotator / n_annotator
    return float((same - other) / (value @ value / len(value) - other))


def study(rows: pd.DataFrame, n: int, n_items: int, same: bool, rng: np.random.Generator) -> Any:
    """Return the rows of a study, or None if the set has no such study."""
    if same:
        many = rows.groupby("annotator")["item"].nunique()
        people = rng.permutation(many.index[many >= 0.9 * rows["item"].nunique()])
        if len(people) < 2 * n:
            return None
        rows = rows[rows["annotator"].isin(people[:n])]
    items = rng.permutation(rows["item"].unique())[:n_items]
    rows = rows[rows["item"].isin(items)]
    if not same:
        rows = rows.sample(frac=1, random_state=int(rng.integers(2**31)))
        rows = rows.groupby("item").head(n)
    return rows


def annotated(part: pd.DataFrame, rows: pd.DataFrame, family: str) -> xr.Dataset:
    """Return a study as annotations, with the labels of all rows of the set."""
    if family == "gaussian":
        return dx.annotations(part, kind="continuous")
    return dx.annotations(part, kind="ordinal", labels=sorted(rows["label"].unique().tolist()))


def simulated(family: str, sigma_item: float) -> pd.DataFrame:
    """Return labels of 100 annotators for 400 items that follow the model."""
    part = dx.simulate.replication_study(
        400, 100, 100, family=family, sigma_item=sigma_item, random_seed=1
    ).annotations
    number = part["value"] if "value" in part else part["label_code"]
    return dx.to_dataframe(part).assign(label=number.to_numpy())


def results(name: str, family: str, rows: pd.DataFrame, times: int) -> Iterator[dict[str, Any]]:
    """Yield the error and the intervals of each study."""
    rows = rows.drop_duplicates(["item", "annotator"])
    truth = {"": true_icc(rows), "annotator ": true_icc(rows, "annotator")}
    for design, (n, n_items) in DESIGNS.items():
        for seed in range(times):
            part = study(rows, n, n_items, "same" in design, np.random.default_rng([n, seed]))
            if part is None:
                break
            annotations = annotated(part, rows, family)
            fit = dx.models.crossed_effects.fit(annotations, family=family, random_seed=seed, **FIT)
            alpha = alpha_of(annotations, fit, Settings(4000, seed, None, 0.1, "raise"))
            row = {"set": name, "family": family, "design": design, "icc": truth[""]}
            for kind, each in (("model", fit), ("evaluate", as_uncertain(fit, alpha, seed))):
                for whose, icc in (("", dx.icc), ("annotator ", dx.annotator_icc)):
                    draws = icc(each, scale="observed")
                    low, high = np.quantile(draws, [0.055, 0.945])
                    row |= {
                        f"{whose}{kind} error": float(draws.mean()) - truth[whose],
                        f"{whose}{kind} inside": low <= truth[whose] <= high,
                        f"{whose}{kind} width": high - low,
                    }
            yield row


def pools() -> Iterator[tuple[str, str, pd.DataFrame, tuple[int, ...]]]:
    """Yield the name, the family, the rows and the annotators of each pool that studies see."""
    yield "paradigms", "bernoulli", paradigms(), (3, 5, 10)
    faces = pd.read_csv(SHARED / "mdns_faces" / "ratings.csv.gz")
    for name in ("angry", "happy", "sad"):
        rows = faces[faces["dimension"] == name]
        yield f"faces {name}", "gaussian", rows.assign(pool=rows["group"]), (3, 5)
    yield "dices350, halves", "bernoulli", halves(dices350()), (3, 5, 10)
    videos = halves(pd.read_csv(SHARED / "nflx_video_quality" / "ratings.csv"))
    yield "videos, halves", "gaussian", videos, (3, 5)
    ducks = halves(pd.read_csv(SHARED / "ducks" / "ratings.csv"))
    yield "ducks, halves", "bernoulli", ducks, (3, 5, 10)
    for name, (family, correlation) in SIMULATED_POOLS.items():
        part = dx.simulate.replication_study(
            400, 50, 50, family=family, pools=("a", "b"), correlation=correlation, random_seed=2
        ).annotations
        number = part["value"] if "value" in part else part["label_code"]
        yield name, family, dx.to_dataframe(part).assign(label=number.to_numpy()), (3, 5, 10)


SIMULATED_POOLS = {
    "simulated": ("gaussian", 0.8),
    "simulated, two labels": ("bernoulli", 0.5),
    "simulated, equal pools": ("gaussian", 1.0),
}
"""Family and correlation of studies that follow the model."""


def halves(rows: pd.DataFrame) -> pd.DataFrame:
    """Split annotators into two pools, whose normalised xCC is near 1."""
    half = pd.factorize(rows["annotator"], sort=True)[0] % 2
    return rows.assign(pool=np.array(["a", "b"])[half])


def true_xcc(rows: pd.DataFrame) -> dict[Any, float]:
    """Return the xCC of each pair of pools, from products of two labels of one item."""
    mean, variance = {}, {}
    for pool, part in rows.groupby("pool"):
        value = part["label"].astype(float) - part["label"].mean()
        sums = [value.groupby(part[name]).agg(["sum", "count"]) for name in ("item", "annotator")]
        square = float((value**2).sum())
        other = square - sum(float((each["sum"] ** 2).sum()) for each in sums)
        n_other = len(value) ** 2 + len(value) - sum((each["count"] ** 2).sum() for each in sums)
        variance[pool] = square / len(value) - other / n_other
        mean[pool] = value.groupby(part["item"]).mean()
    out = {}
    for p, q in combinations(sorted(mean), 2):
        a, b = mean[p].align(mean[q], join="inner")
        same = float((a * b).sum())
        apart = same - (float(a.sum() * b.sum()) - same) / (len(a) - 1)
        out[p, q] = apart / len(a) / np.sqrt(variance[p] * variance[q])
    return out


NEAR_1 = 0.97
"""Normalised values above this count as this: intervals of correlations end below 1."""


def of_pools(times: int) -> Iterator[dict[str, Any]]:
    """Yield the errors and the intervals of xCC and cross kappa in each study."""
    for name, family, rows, sizes in pools():
        rows = rows.drop_duplicates(["item", "annotator", "pool"])
        rows = rows.assign(annotator=rows["pool"].astype(str) + rows["annotator"].astype(str))
        kind = {"gaussian": "continuous", "bernoulli": "ordinal"}[family]
        distance = "interval"
        whole = dx.annotations(rows, pool="pool", kind=kind)
        icc = {pool: true_icc(part) for pool, part in rows.groupby("pool")}
        truth = {
            (p, q): {
                "xcc": x,
                "normalized": min(x / np.sqrt(icc[p] * icc[q]), NEAR_1),
                "kappa": float(dx.cross_kappa(whole, pools=(p, q), distance=distance)),
                "normalized kappa": float(
                    dx.cross_kappa(whole, pools=(p, q), distance=distance, normalized=True)
                ),
            }
            for (p, q), x in true_xcc(rows).items()
        }
        for n, seed in product(sizes, range(times)):
            part = study_of_pools(rows, n, np.random.default_rng([n, seed]))
            labels = None if kind == "continuous" else [0, 1]
            annotations = dx.annotations(part, pool="pool", kind=kind, labels=labels)
            fit = chosen = dx.models.cross_replication.fit(
                annotations, family=family, random_seed=seed, keep_effects=False, **FIT
            )
            if family == "gaussian":  # as `evaluate` has it
                chosen = dx.models.cross_replication.fit(
                    annotations, residual="pool", random_seed=seed, keep_effects=False, **FIT
                )
            settings = Settings(2000, seed, None, 0.1, "raise")
            wide = as_uncertain(chosen, alpha_of(annotations, chosen, settings), seed)
            wide = as_uncertain_between(wide, cross_of(annotations, chosen, settings))
            agreement = pool_agreement(annotations, settings)
            every: dict[str, tuple[str, Any]] = {
                "kappa": ("kappa", agreement["cross_kappa"]),
                "normalized kappa": ("normalized kappa", agreement["normalized_cross_kappa"]),
            }
            for when, each in (("model", fit), ("evaluate", wide)):
                every[f"xcc {when}"] = ("xcc", dx.xcc(each, "observed"))
                every[f"normalized {when}"] = ("normalized", dx.normalized_xcc(each, "observed"))
            for pair, true in truth.items():
                row: dict[str, Any] = {"set": name, "annotators": n}
                for when, each in (("model", fit), ("evaluate", wide)):
                    own = dx.icc(each, "observed").sel(pool=pair[0])
                    low, middle, high = np.quantile(own, [0.055, 0.5, 0.945])
                    row |= {
                        f"icc {when} error": float(middle) - icc[pair[0]],
                        f"icc {when} inside": low <= icc[pair[0]] <= high,
                        f"icc {when} width": high - low,
                    }
                for what, (quantity, draws) in every.items():
                    draws = draws.sel(pool=pair[0], pool_=pair[1])
                    low, middle, high = np.nanquantile(draws, [0.055, 0.5, 0.945])
                    row |= {
                        f"{what} error": float(middle) - true[quantity],
                        f"{what} inside": low <= true[quantity] <= high,
                        f"{what} width": high - low,
                    }
                yield row


def study_of_pools(rows: pd.DataFrame, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the labels of n annotators of each pool, of those with most labels, for 80 items."""
    people: list[Any] = []
    for _, part in rows.groupby("pool"):
        many = part["annotator"].value_counts().sort_index()
        people += list(rng.permutation(many.index[many >= 0.9 * many.max()])[:n])
    items = rng.permutation(rows["item"].unique())[:80]
    return rows[rows["annotator"].isin(people) & rows["item"].isin(items)]


CUTS = (-1.2, -0.3, 0.5, 1.3)


def of_noise(times: int) -> Iterator[dict[str, Any]]:
    """Yield the errors and the intervals of each pool's ICC, and of the xCC."""
    for kind, noise in product(("continuous", "ordinal"), ((1.0, 1.0), (0.6, 1.2))):
        rng = np.random.default_rng(0)
        items = rng.normal(size=(2, 300_000))
        pairs = [two_pools(300_000, noise, kind, rng, items) for _ in range(2)]
        truth = {"experts": np.corrcoef(pairs[0][0], pairs[1][0])[0, 1],
                 "crowd": np.corrcoef(pairs[0][1], pairs[1][1])[0, 1],
                 "xcc": np.corrcoef(pairs[0][0], pairs[1][1])[0, 1]}  # fmt: skip
        for seed in range(times):
            rng = np.random.default_rng([seed, int(10 * noise[0])])
            items, rows = rng.normal(size=(2, 150)), []
            for k in range(6):
                for pool, label in zip(
                    ("experts", "crowd"), two_pools(150, noise, kind, rng, items), strict=True
                ):
                    rows.append(pd.DataFrame({"item": np.arange(150), "label": label, "pool": pool,
                                              "annotator": f"{pool} {k}"}))  # fmt: skip
            annotations = dx.annotations(pd.concat(rows), kind=kind, pool="pool")
            settings = Settings(2000, seed, None, 0.1, "raise", chains=2, progressbar=False)
            chosen = components.plan(annotations, None, "auto", None)
            family = "gaussian" if kind == "continuous" else "ordinal"
            for when, plan in (
                ("shared", replace(chosen, family=family, residual="shared")), ("evaluate", chosen)
            ):  # fmt: skip
                result = components.draws({"annotations": annotations}, plan, settings)
                result = result["components"].sel(scale="observed")
                for what, draws in (
                    ("experts", result["icc"].sel(pool="experts")),
                    ("crowd", result["icc"].sel(pool="crowd")),
                    ("xcc", result["xcc"].sel(pool="experts", pool_="crowd")),
                ):  # fmt: skip
                    low, high = np.quantile(draws, [0.055, 0.945])
                    yield {"kind": kind, "noise": str(noise), "what": what, "when": when,
                           "truth": truth[what], "mean": float(draws.mean()),
                           "inside": low <= truth[what] <= high, "width": high - low}  # fmt: skip


def two_pools(
    n: int, noise: tuple[float, float], kind: str, rng: np.random.Generator, items: Any
) -> list[Any]:
    """Return the labels of one annotator of each pool, for whom the items' effects are alike."""
    first, rest = items
    out = []
    for effect, sd in zip((first, 0.8 * first + 0.6 * rest), noise, strict=True):
        lenient = rng.normal(0.0, 0.3, n if n > 1000 else 1)
        label = 1.2 * effect + lenient + rng.normal(0.0, sd, n)
        out.append(np.digitize(label, CUTS) + 1 if kind == "ordinal" else label)
    return out


def of_plans(times: int) -> Iterator[dict[str, Any]]:
    """Yield half the planned width of the interval of the ICC, and half the widths of a study."""
    for (name, family, rows), design, seed in product(sets(), PLANNED, range(times)):
        n = DESIGNS[design][0]
        rows = rows.drop_duplicates(["item", "annotator"])
        part = study(rows, n, 150, "same" in design, np.random.default_rng([n, seed]))
        if part is None:
            continue
        few = part[part["item"].isin(part["item"].unique()[:40])]
        whole, pilot = (annotated(each, rows, family) for each in (part, few))
        plan = dx.plan_reliability(
            pilot, (n,), (whole.sizes["item"],), family=family, studies=10, prob=0.89, draws=300,
            random_seed=seed, progressbar=False,
        )  # fmt: skip
        fit = dx.models.crossed_effects.fit(whole, family=family, random_seed=seed, **FIT)
        alpha = alpha_of(whole, fit, Settings(4000, seed, None, 0.1, "raise"))
        row = {"set": name, "family": family, "design": design, "planned": plan.half_width.item()}
        for kind, each in (("model", fit), ("evaluate", as_uncertain(fit, alpha, seed))):
            low, high = np.quantile(dx.icc(each, scale="observed"), [0.055, 0.945])
            row[kind] = (high - low) / 2
        yield row | {"ratio": row["evaluate"] / row["planned"]}


PLANNED = ("the same 3", "the same 5", "the same 10", "3 by anyone", "8 by anyone")


def main() -> None:
    """Print tables by design, and by set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20, help="studies of each set and design")
    parser.add_argument("--pools", action="store_true", help="xCC instead")
    parser.add_argument("--noise", action="store_true", help="pools that differ in noise instead")
    parser.add_argument("--plans", action="store_true", help="widths that were planned instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.pools:
        table = pd.DataFrame(of_pools(options.times))
        table["data"] = table["set"].where(table["set"].isin(SIMULATED_POOLS), "real")
        for key in (["set", "annotators"], ["data", "annotators"], ["data"]):
            means = table.groupby(key, sort=False).mean(numeric_only=True)
            print(means.round(3).T.to_string(), "\n")
        print(described())
        return
    if options.noise:
        table = pd.DataFrame(of_noise(options.times))
        means = table.groupby(["kind", "noise", "what", "when"], sort=False).mean()
        print(means.round(3).to_string(), "\n")
        print(described())
        return
    if options.plans:
        table = pd.DataFrame(of_plans(options.times))
        for key in (["set", "family", "design"], ["family", "design"], ["design"]):
            means = table.groupby(key, sort=False).mean(numeric_only=True)
            print(means.round(3).to_string(), "\n")
        print(described())
        return
    every = [*sets()]
    for family in FAMILIES:
        every += [(name, family, simulated(family, sd)) for name, sd in SIMULATED.items()]
    table = pd.DataFrame(row for each in every for row in results(*each, times=options.times))
    table["data"] = table["set"].where(table["set"].isin(SIMULATED), "real")
    numbers = [name for name in table if name.split()[-1] in ("icc", "error", "inside", "width")]
    for key in (["data", "design"], ["data", "family", "design"], ["family", "set"],
                ["set", "family", "design"]):  # fmt: skip
        print(table.groupby(key, sort=False)[numbers].mean().round(3).to_string(), "\n")
    print(described())


if __name__ == "__main__":
    main()
