"""Evaluate each of six real sets with twenty seeds: part of `make validate`.

All seeds must give the same groups, rows and models, and numbers that differ by no more than the
Monte Carlo error. For each answer about a system, the standard deviations over seeds of the mean
and of both ends of the 89 % interval are divided by the root mean square of the Monte Carlo
standard errors that the evaluations report.

Each result is saved when it is computed, and a stopped run is resumed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

import arviz_stats as azs
import numpy as np
import pandas as pd
import xarray as xr
from machine import described
from real_data import DOCS, PROB
from truth_data import STUDIES, Study, systems

import dissensus as dx

SETS = [name for name in STUDIES if name != "drug_relations, test questions"]
N_SEEDS, N_ITEMS = 20, 200
MADE = ("noisy 0.85", "like people, power 1")
"""Systems that are made from the truth and the labels; real ones are judged too."""
ENDS = ((1 - PROB) / 2, (1 + PROB) / 2)


def main() -> None:
    """Compute the missing results, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--results", default="build/seeds.jsonl", help="file to add to")
    options = parser.parse_args()
    results = Path(options.results)
    results.parent.mkdir(exist_ok=True)
    lines = results.read_text().splitlines() if results.exists() else []
    done = [json.loads(line) for line in lines]
    have = {(row["set"], row["seed"]) for row in done}
    with results.open("a") as file:
        parts = {name: _part(STUDIES[name](), name) for name in options.sets}
        for seed, name in itertools.product(range(options.seeds), options.sets):
            if (name, seed) not in have:
                done.append({"set": name, "seed": seed, **evaluated(parts[name], name, seed)})
                file.write(json.dumps(done[-1]) + "\n")
                file.flush()
    text = f"{table(done)}\n\n{described()}\n"
    (DOCS / "seeds.md").write_text(text)
    print(text)


def _part(study: Study, name: str) -> Study:
    """Draw items, those with a known truth first."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    items = pd.Index(study.labels["item"].unique())
    order = rng.permutation(items)
    chosen = sorted(order, key=lambda item: item not in study.gold.index)[:N_ITEMS]
    return study._replace(
        labels=study.labels[study.labels["item"].isin(chosen)],
        gold=study.gold[study.gold.index.isin(chosen)],
        systems=study.systems[study.systems["item"].isin(chosen)],
    )


def evaluated(study: Study, name: str, seed: int) -> dict[str, Any]:
    """Return the groups of an evaluation, its warnings, and its numbers."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    answers = {
        system: labels for system, (kind, labels) in systems(study, rng).items()
        if system in MADE or kind == "real"
    }  # fmt: skip
    frame = pd.concat(
        [labels.reset_index().assign(system=system) for system, labels in answers.items()]
    )
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = dx.evaluate(
            study.annotations(), dx.predictions(frame), on_missing="drop", random_seed=seed,
            progressbar=False,
        )  # fmt: skip
    seconds = time.process_time() - start
    rows = dx.summary(tree)
    of_rows = [str(label) for label in rows.index] if rows.index.name else _labels(rows)
    return {
        "present": [*_variables(tree), *of_rows],
        "models": [
            f"{group}: {tree[group].attrs.get('model')} {tree[group].attrs.get('settings', '')}"
            for group in tree.children
        ],
        "apart": sum(issubclass(record.category, dx.ConvergenceWarning) for record in caught),
        "marked": int((rows["doubt"] != "").sum()),
        "items": tree["annotations"].sizes["item"],
        "numbers": dict(_numbers(tree["answers"].to_dataset())),
        "seconds": seconds,
    }


def _variables(tree: xr.DataTree) -> list[str]:
    return [f"{node.path}/{name}" for node in tree.subtree for name in node.data_vars]


def _labels(rows: pd.DataFrame) -> list[str]:
    text = rows.select_dtypes(exclude="number").drop(columns="doubt")
    return text.astype(str).agg(" ".join, axis=1).tolist()


def _numbers(answers: xr.Dataset) -> Any:
    """Give mean and ends of each answer, each with its Monte Carlo standard error."""
    for name, draws in answers.data_vars.items():
        for system in draws["system"].values if "system" in draws.dims else [None]:
            mine = draws.sel(system=system) if system is not None else draws
            x = mine.transpose("chain", "draw").to_numpy()
            at = f"{name} {system or ''}".strip()
            yield f"{at}, mean", (float(x.mean()), float(azs.mcse(x)))
            step = float(np.diff(np.unique(x)).min(initial=1.0))  # shares of items are discrete
            for prob in ENDS:
                error = np.hypot(azs.mcse(x, method="quantile", prob=prob), step / np.sqrt(12))
                yield f"{at}, end {prob:.3f}", (float(np.quantile(x, prob)), float(error))


def table(done: list[dict[str, Any]]) -> str:
    """Return a row for each set."""
    head = (
        "set", "items", "seeds", "different lists of variables and rows",
        "different choices of models", "evaluations with a convergence warning",
        "numbers marked as doubtful", "RMS of ratios, means", "largest", "RMS of ratios, ends",
        "largest", "s",
    )  # fmt: skip
    lines = [f"| {' | '.join(head)} |", f"|{'--|' * len(head)}"]
    for name in SETS:
        rows = [row for row in done if row["set"] == name]
        if len(rows) < 2:
            continue
        of_means, of_ends = _ratios(rows, "mean"), _ratios(rows, "end")
        cells = [
            name, rows[0]["items"], len(rows), len({tuple(row["present"]) for row in rows}),
            len({tuple(row["models"]) for row in rows}), sum(row["apart"] > 0 for row in rows),
            sum(row["marked"] for row in rows), f"{np.sqrt(np.mean(of_means**2)):.2f}",
            f"{of_means.max():.2f}", f"{np.sqrt(np.mean(of_ends**2)):.2f}", f"{of_ends.max():.2f}",
            f"{np.median([row['seconds'] for row in rows]):.0f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _ratios(rows: list[dict[str, Any]], kind: str) -> Any:
    """Return standard deviations over seeds, each relative to the stated error."""
    names = [name for name in rows[0]["numbers"] if f", {kind}" in name]
    out = []
    for name in names:
        value, error = np.array([row["numbers"][name] for row in rows if name in row["numbers"]]).T
        if error.max() > 0:
            out.append(value.std(ddof=1) / np.sqrt(np.mean(error**2)))
    return np.array(out)


if __name__ == "__main__":
    main()
