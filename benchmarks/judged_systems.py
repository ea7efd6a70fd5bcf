"""Shares of a label by judged system, from a judge's labels on all items and people's on some.

``uv run --with ppi-python python benchmarks/judged_systems.py --shared FOLDER`` draws some of the
items that people labelled, again and again, gives `models.dirichlet` these and the judge's labels
of all items, and asks for the 89 % interval of the share of a label in each stratum: with
``stratum=``, with one prior for all items, and with a fit of each stratum by itself. Beside it
PPI++ in each stratum, if the interpreter has `ppi_py`.

Real sets: each vote on a pair of answers is an item with the labels first, tie and second, and the
two systems are its stratum. Simulated ones: outputs pass or fail; systems differ in how many are
good, and in how often the judge passes good and bad ones, which the model does not assume in this
form; three people err on a part of the outputs, more often on those that the judge gets wrong.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from judges import has_ppi, mtbench, pandalm
from machine import described
from real_data import PROB

import dissensus as dx

EDGES = (1 - PROB) / 2, (1 + PROB) / 2
WORDS = {1.0: "first", 0.5: "tie", 0.0: "second"}


def pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Return votes of most people and verdicts as labels, systems in the order of their names."""
    turned = (table["left"] > table["right"]).to_numpy()
    both = np.sort(table[["left", "right"]].to_numpy().astype(str), axis=1)
    out = {"item": np.arange(len(table)), "stratum": [" - ".join(row) for row in both]}
    vote = np.sign(table["vote"].to_numpy() - 0.5) / 2 + 0.5
    for name, value in {"people": vote, "judge": table["verdict"].to_numpy()}.items():
        out[name] = [WORDS[x] for x in np.where(turned, 1.0 - value, value)]
    return pd.DataFrame(out)


def outputs(seed: int, n_systems: int, n_each: int, *, noisy: bool) -> pd.DataFrame:
    """Return simulated outputs, with the people's labels in columns p0, p1, p2."""
    rng = np.random.default_rng([seed, n_systems, n_each, noisy])
    system = np.repeat(np.arange(n_systems), n_each)
    good = rng.random(len(system)) < rng.uniform(0.3, 0.9, n_systems)[system]
    passed = np.where(
        good, rng.uniform(0.7, 1.0, n_systems)[system], rng.uniform(0.05, 0.5, n_systems)[system]
    )
    judge = rng.random(len(system)) < passed
    out = pd.DataFrame({
        "item": np.arange(len(system)), "stratum": [f"s{k}" for k in system],
        "judge": np.where(judge, "pass", "fail"),
    })  # fmt: skip
    hard = rng.random(len(system)) < np.where(judge == good, 0.1, 0.4)
    for k in range(3):
        wrong = noisy & hard & (rng.random(len(system)) < 0.4)
        out[f"p{k}"] = np.where(good != wrong, "pass", "fail")
    out["truth"] = np.where(noisy & hard, np.where(good, 0.6, 0.4), good)  # a large panel's share
    return out


def long(some: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each label of a person."""
    people = [name for name in some if name in ("people", "p0", "p1", "p2")]
    return some.melt(["item", "stratum"], people, var_name="annotator", value_name="label")


def by_model(table: pd.DataFrame, some: pd.DataFrame, label: str, seed: int, *, strata: bool):
    """Return draws of the share of a label (stratum, draw), with or without strata."""
    marks = dx.predictions(table.assign(system="judge"), label="judge")
    space = sorted({*table["judge"], *long(table)["label"]})
    more = {"items": table, "stratum": "stratum"} if strata else {"items": table["item"]}
    ann = dx.annotations(long(some), labels=space, kind="nominal", **more)
    fit = dx.models.dirichlet.fit(
        ann, predictions=marks, draws=500, tune=300, chains=2, random_seed=seed, progressbar=False
    )
    share = fit["posterior"]["plausibility"].sel(label=label).stack(s=("chain", "draw"))
    values = share.transpose("item", "s").to_pandas().reset_index(drop=True)
    return values.groupby(table["stratum"].to_numpy()).mean()


def by_itself(table: pd.DataFrame, some: pd.DataFrame, label: str, seed: int):
    """Return draws of the share of a label (stratum, draw), each stratum fitted by itself."""
    parts = []
    for name, own in table.groupby("stratum"):
        seen = some[some["stratum"] == name]
        if len(seen):
            parts.append(by_model(own.reset_index(drop=True), seen, label, seed, strata=False))
        else:
            parts.append(pd.DataFrame(np.nan, index=[name], columns=range(1000)))
    return pd.concat([part.set_axis(range(part.shape[1]), axis=1) for part in parts])


def by_ppi(table: pd.DataFrame, some: pd.DataFrame, label: str) -> np.ndarray:
    """Return the intervals of PPI++ (stratum, end)."""
    from ppi_py import ppi_mean_ci

    people = [name for name in some if name in ("people", "p0", "p1", "p2")]
    out = []
    for name, own in table.groupby("stratum"):
        seen = some[some["stratum"] == name]
        rest = own[~own["item"].isin(seen["item"])]
        if len(seen) < 2:
            out.append((np.nan, np.nan))
            continue
        y = (seen[people] == label).to_numpy().astype(float).mean(axis=1)
        heard, others = ((part["judge"] == label).to_numpy(float) for part in (seen, rest))
        low, high = ppi_mean_ci(y, heard, others, alpha=1 - PROB)
        out.append((float(np.ravel(low)[0]), float(np.ravel(high)[0])))
    return np.array(out)


METHODS = ("with `stratum=`", "one prior for all", "each by itself", "PPI++ in each")


def intervals(method: str, table: pd.DataFrame, some: pd.DataFrame, label: str, seed: int):
    """Return intervals (stratum, end) and estimates (stratum)."""
    if method == METHODS[3]:
        ends = by_ppi(table, some, label)
        return ends, ends.mean(axis=1)
    if method == METHODS[2]:
        draws = by_itself(table, some, label, seed)
    else:
        draws = by_model(table, some, label, seed, strata=method == METHODS[0])
    return draws.quantile(EDGES, axis=1).T.to_numpy(), draws.mean(axis=1).to_numpy()


def studied(draw, n: int, label: str, times: int, ppi: bool) -> None:
    """Print a row for each method; ``draw`` returns a table for a seed."""
    result: dict[str, list] = {}
    for seed in range(times):
        name, table = draw(seed)
        some = table.sample(n, random_state=seed)
        value = table["truth"] if "truth" in table else table["people"] == label
        truth = value.groupby(table["stratum"]).mean().to_numpy()
        for method in METHODS[: len(METHODS) if ppi else -1]:
            start = time.perf_counter()
            got = intervals(method, table, some, label, seed)
            seconds = time.perf_counter() - start
            result.setdefault(method, []).append((*got, truth, seconds))
    for method, each in result.items():
        ends, middle, truth = (np.array([interval[k] for interval in each]) for k in range(3))
        known = ~np.isnan(middle)
        hold = ((ends[..., 0] <= truth) & (truth <= ends[..., 1]))[known].mean()
        width = (ends[..., 1] - ends[..., 0])[known].mean()
        error = np.sqrt(((middle - truth)[known] ** 2).mean())
        print(f"| {name} | {n} | {method} | {hold:.3f} | {width:.3f} | {error:.3f} | "
              f"{np.mean([interval[3] for interval in each]):.1f} |", flush=True)  # fmt: skip


def main() -> None:
    """Print a row for each set, number of labelled items and method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, required=True, help="the folder of real sets")
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--only", default="", help="sets whose names hold this")
    options = parser.parse_args()
    ppi = has_ppi()
    warnings.simplefilter("ignore")
    print(described(), end="\n\n")
    print("| set | labelled | method | coverage | mean width | error | seconds |")
    print("|---|--:|---|--:|--:|--:|--:|")
    votes, lm = pairs(mtbench(options.shared)), pairs(pandalm(options.shared, "gpt35"))
    sets = [
        (lambda _: ("mtbench_votes, 15 strata", votes), (100, 300), "first"),
        (lambda _: ("pandalm, gpt35", lm), (100, 300), "first"),
        (lambda s: ("2 systems x 200", outputs(s, 2, 200, noisy=False)), (40, 100), "pass"),
        (lambda s: ("6 systems x 100", outputs(s, 6, 100, noisy=False)), (60, 180), "pass"),
        (
            lambda s: ("6 systems x 100, people err", outputs(s, 6, 100, noisy=True)),
            (60, 180), "pass",
        ),
    ]  # fmt: skip
    for draw, sizes, label in sets:
        if options.only in draw(0)[0]:
            for n in sizes:
                studied(draw, n, label, options.times, ppi)


if __name__ == "__main__":
    main()
