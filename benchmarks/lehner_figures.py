"""The source's Figures 1 to 14 as a table: `uv run python benchmarks/lehner_figures.py`.

Five labels, three annotators, one system, as in Lehner (2015): in Figures 1 to 7 what his algebra
assumes holds, in 8 to 14 it does not (annotators .1 better and worse than the middle one, items
.2 easier and harder, errors half as probable a step further off, each error's probability moved by
up to itself). Estimates are compared with both of his measures of truth: expected accuracy, and
the share of the study's items that the system got right.

`--studies` says how many a figure and accuracy. Each goes to a file as it is done, and a run
that was stopped goes on where it was. `--part violations` switches violations off one by one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import described

import dissensus as dx

ACCURACIES = (0.1, 0.3, 0.5, 0.7, 0.9)
SIZES = dict(
    enumerate([(5000, 0.6), *((n, middle) for n in (200, 50) for middle in (0.4, 0.6, 0.8))], 1)
)
"""Items and the middle annotator's accuracy, of Figures 1 to 7; 8 to 14 have the same."""
VIOLATED = {"difficulty": 0.2, "asymmetry": 2.0, "error_range": 1.0}
SPREAD = 0.1
EXTENDED = {"accuracy": "annotator", "difficulty": True}
MODELS: dict[str, dict[str, Any]] = {
    "K": {},
    "graded": EXTENDED | {"errors": "graded"},
    "unequal": EXTENDED | {"errors": "unequal"},
}
RUN = {"draws": 500, "tune": 300, "chains": 2, "progressbar": False, "keep_items": False}
LARGE = 5000
EDGES = [0.05, 0.95]
TARGETS = {"expected": "system_accuracy", "sample": "system_correct"}


def main() -> None:
    """Run what is lacking, and print the tables."""
    options = _asked()
    jobs = _figures(options) if options.part == "figures" else _violations(options)
    results = Path(options.results.format(part=options.part))
    if not options.tables:
        _run(jobs, results, options.processes)
    table = pd.DataFrame([json.loads(line) for line in results.read_text().splitlines()])
    print(f"{described()}\n")
    _print(table)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("figures", "violations"), default="figures")
    parser.add_argument("--studies", type=int, default=100, help="a figure and accuracy")
    parser.add_argument("--large", type=int, default=20, help="studies of 5,000 items")
    parser.add_argument("--figures", type=int, nargs="*", default=list(range(1, 15)))
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=["K", "graded"])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--results", default="lehner_{part}.jsonl", help="file to add to")
    parser.add_argument("--tables", action="store_true", help="of what is in the file already")
    return parser.parse_args()


# -- What is simulated -----------------------------------------------------------------------------


def _figures(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All figures' first studies come before any second one: a part is a table too."""
    for study in range(max(options.studies, options.large)):
        for figure in options.figures:
            violated = figure > 7
            n, middle = SIZES[figure - 7 * violated]
            if study >= (options.large if n == LARGE else options.studies):
                continue
            for accuracy in ACCURACIES:
                broken = sorted([*VIOLATED, "annotators"]) if violated else []
                yield {
                    "case": str(figure), "n": n, "middle": middle, "accuracy": accuracy,
                    "broken": broken, "study": study, "seed": [figure, study],
                    "models": options.models,
                }  # fmt: skip


def _violations(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One violation alone, and all but one; with one seed for all of them."""
    every = sorted([*VIOLATED, "annotators"])
    cases = {"none": [], "all": every}
    cases |= {f"only {violation}": [violation] for violation in every}
    cases |= {f"all but {violation}": [x for x in every if x != violation] for violation in every}
    for study in range(options.large):
        for case, broken in cases.items():
            yield {
                "case": case, "n": LARGE, "middle": 0.6, "accuracy": 0.9, "broken": broken,
                "study": study, "seed": [99, study], "models": options.models,
            }  # fmt: skip


def _simulated(job: dict[str, Any]) -> Any:
    middle, broken = job["middle"], job["broken"]
    unequal = (middle - SPREAD, middle, middle + SPREAD)
    return dx.simulate.confusion_study(
        job["n"], ipc=unequal if "annotators" in broken else middle,
        system_accuracy=[job["accuracy"]],
        random_seed=np.random.default_rng([*job["seed"], round(10 * job["accuracy"])]),
        **{name: value for name, value in VIOLATED.items() if name in broken},
    )  # fmt: skip


# -- What is estimated -----------------------------------------------------------------------------


def _run(jobs: Iterable[dict[str, Any]], results: Path, processes: int) -> None:
    done = set()
    if results.exists():
        done = {_key(json.loads(line)) for line in results.read_text().splitlines()}
    lacking = [job for job in jobs if _key(job) not in done]
    start = time.perf_counter()
    with results.open("a") as file, multiprocessing.get_context("spawn").Pool(processes) as pool:
        for number, rows in enumerate(pool.imap(_estimated, lacking), 1):
            file.write(json.dumps(rows) + "\n")
            file.flush()
            if number % 100 == 0:
                spent = time.perf_counter() - start
                print(f"{number} of {len(lacking)}, {spent:.0f} s", flush=True)


def _key(job: dict[str, Any]) -> tuple[Any, ...]:
    return job["case"], job["accuracy"], job["study"]


def _estimated(job: dict[str, Any]) -> dict[str, Any]:
    warnings.simplefilter("ignore", dx.DissensusWarning)
    study = _simulated(job)
    row = dict(job)
    row["true annotators"] = float(study.truth["annotator_accuracy"].mean())
    for target, name in TARGETS.items():
        row[f"true {target}"] = float(study.truth[name][0])
    result = dx.lehner(study.annotations, study.predictions)
    row["lehner annotators"] = float(result["annotator_accuracy"])
    row |= {f"lehner {target}": float(result["system_accuracy"][0]) for target in TARGETS}
    for model in job["models"]:
        posterior = dx.models.symmetric_confusion.fit(
            study.annotations, predictions=study.predictions, **RUN, **MODELS[model],
            random_seed=job["study"],
        ).posterior  # fmt: skip
        row[f"{model} annotators"] = float(posterior["annotator_accuracy"].mean())
        for target, name in TARGETS.items():
            draws = posterior[name].to_numpy().ravel()
            row[f"{model} {target}"] = float(draws.mean())
            row[f"{model} {target} edges"] = np.quantile(draws, EDGES).tolist()
    return row


# -- What is said of it ----------------------------------------------------------------------------


def _print(table: pd.DataFrame) -> None:
    names = ["case", "n", "middle", "accuracy"]
    groups = list(table.groupby(names, sort=False))
    if set(table["case"]) <= {str(k) for k in range(1, 15)}:
        groups.sort(key=lambda group: (int(group[0][0]), group[0][3]))
    models = table["models"].iloc[0]
    for target in TARGETS:
        print(f"Against the {target} accuracy\n")
        head = [*names, "studies", "undefined", "lehner: bias", "RMSE"]
        for model in models:
            head += [f"{model}: bias", "RMSE", "of lehner's", "coverage"]
        print(f"| {' | '.join(head)} |\n|---|{'--:|' * (len(head) - 1)}")
        for key, group in groups:
            print(f"| {' | '.join([*map(str, key), *_cells(group, target)])} |")
        print()
    print("Accuracy of annotators, mean\n\n| case | truth | lehner |", " | ".join(models), "|")
    print("|---|" + "--:|" * (2 + len(models)))
    for case, group in table.groupby("case", sort=False):
        means = [group[f"{name} annotators"].mean() for name in ("true", "lehner", *models)]
        print(f"| {case} |", " | ".join(f"{mean:.3f}" for mean in means), "|")


def _cells(group: pd.DataFrame, target: str) -> Iterator[str]:
    """Compare on the studies where the algebra has an answer; coverage is over all."""
    error = group[f"lehner {target}"] - group[f"true {target}"]
    defined = error.notna()
    algebra = _rmse(error[defined])
    yield from (str(len(group)), str((~defined).sum()), f"{error.mean():+.3f}", f"{algebra:.3f}")
    for model in group["models"].iloc[0]:
        truth = group[f"true {target}"]
        error = (group[f"{model} {target}"] - truth)[defined]
        edges = np.array(group[f"{model} {target} edges"].tolist())
        inside = (edges[:, 0] <= truth + 1e-9) & (truth - 1e-9 <= edges[:, 1])
        ratio = _rmse(error) / algebra
        yield from (f"{error.mean():+.3f}", f"{_rmse(error):.3f}")
        yield from (f"{ratio:.2f}", f"{inside.mean():.2f}")


def _rmse(error: Any) -> float:
    return float(np.sqrt(np.mean(error**2)))


if __name__ == "__main__":
    main()
