"""Truth hidden from models: `uv run python benchmarks/latent_truth_gold.py --python INTERPRETER`.

INTERPRETER is a Python with crowd-kit: `uv venv peers && uv pip install --python peers crowd-kit`.

`--part labels` (the default): how often the most probable label is right, the mean log probability
of the right one, and whether probabilities keep their word (`--plot FILE`). `--part held_out`: each
annotator with 50 labels or more of items with a known truth is taken for a system; does the 90 %
interval hold the share of these items that he got right? Only such items count as his answers. The
same after `dissensus.shared_mistakes` with the belief Beta(1, 9) of the share of mistakes that all
annotators make together, which was set before any study was looked at.

Each result goes to a file as it is done, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import described
from truth_data import STUDIES, Study
from truth_tables import print_held_out, print_labels, save_plot

import dissensus as dx

OWN = {"accuracy": "annotator"}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "symmetric": ("symmetric_confusion", {}),
    "symmetric, own accuracies": ("symmetric_confusion", OWN),
    "symmetric, own accuracies, difficulty": ("symmetric_confusion", OWN | {"difficulty": True}),
    "symmetric, own accuracies, unequal": ("symmetric_confusion", OWN | {"errors": "unequal"}),
    "symmetric, own accuracies, unequal, difficulty": (
        "symmetric_confusion", OWN | {"errors": "unequal", "difficulty": True},
    ),
    "symmetric, own accuracies, graded, difficulty": (
        "symmetric_confusion", OWN | {"errors": "graded", "difficulty": True},
    ),
    "dawid_skene, no pooling": ("dawid_skene", {"pooling": "none"}),
    "dawid_skene, no pooling, difficulty": (
        "dawid_skene", {"pooling": "none", "difficulty": True},
    ),
    "dawid_skene, hierarchical": ("dawid_skene", {}),
    "dawid_skene, hierarchical, difficulty": ("dawid_skene", {"difficulty": True}),
}  # fmt: skip
PEER, EM, VOTE = "crowd-kit DawidSkene", "dawid_skene.em", "majority vote"
FLOOR = 1e-6
"""What a lower probability of the right label counts as: EM has zeros. Ours stand unfloored too."""
ENOUGH = 50
EDGES = [0.05, 0.95]
BELIEF = (1, 9)
"""Of the share of items that annotators are wrong about together: its mean is .1."""


def main() -> None:
    """Run what is lacking, and print the tables."""
    asked = _asked()
    warnings.simplefilter("ignore", dx.DissensusWarning)
    results = Path(asked.results.format(part=asked.part))
    done = _read(results)
    if not asked.tables:
        jobs = _labels if asked.part == "labels" else _held_out
        with results.open("a") as file:
            have = {(row["study"], row["method"], row.get("system")) for row in done}
            for row in jobs(asked, have):
                file.write(json.dumps(row) + "\n")
                file.flush()
                done.append(row)
                shown = {k: v for k, v in row.items() if not isinstance(v, list)}
                print(shown, flush=True)
    print(f"\n{described()}\n")
    (print_labels if asked.part == "labels" else print_held_out)(pd.DataFrame(done))
    if asked.plot:
        save_plot(pd.DataFrame(done), asked.plot)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default="", help="a Python with crowd-kit")
    parser.add_argument("--part", choices=("labels", "held_out"), default="labels")
    parser.add_argument("--studies", nargs="*", choices=list(STUDIES), default=list(STUDIES))
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--most", type=int, default=1000, help="annotators a study to hold out")
    parser.add_argument("--results", default="latent_truth_{part}.jsonl", help="file to add to")
    parser.add_argument("--tables", action="store_true", help="of what is in the file already")
    parser.add_argument("--plot", default="", help="file for the reliability diagrams")
    return parser.parse_args()


def _read(results: Path) -> list[dict[str, Any]]:
    text = results.read_text() if results.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


# -- Labels ----------------------------------------------------------------------------------------


def _labels(asked: argparse.Namespace, done: set[Any]) -> Iterator[dict[str, Any]]:
    for name in asked.studies:
        study = STUDIES[name]()
        for method in (VOTE, EM, PEER, *_fitting(asked, study)):
            if (name, method, None) in done or (method == PEER and not asked.python):
                continue
            start = time.perf_counter()
            row: dict[str, Any] = {"study": name, "method": method}
            if method in VARIANTS:
                probability, extra = _fit(study, method, asked.draws)
                row |= extra
            elif method == PEER:
                probability = _peer(asked.python, study)
            else:
                probability = _counted(study, method)
            yield row | _scored(study, probability) | {"seconds": time.perf_counter() - start}


def _fitting(asked: argparse.Namespace, study: Study) -> list[str]:
    """Leave out what does not make sense with these labels."""
    unfit = () if study.kind == "ordinal" else ("graded",)
    if len(study.names) == 2:  # there is one wrong label only
        unfit = ("graded", "unequal")
    return [one for one in asked.variants if not any(word in one for word in unfit)]


def _fit(study: Study, method: str, draws: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    import arviz as az

    model, options = VARIANTS[method]
    fit = getattr(dx.models, model).fit(
        study.annotations(), draws=draws, tune=draws // 2, chains=2, random_seed=1,
        progressbar=False, keep_items=False, log_likelihood=True, **options,
    )  # fmt: skip
    loo = az.loo(fit, pointwise=True)
    extra = {
        "elpd": float(loo.elpd), "elpd se": float(loo.se), "p": float(loo.p),
        "poor k": int((loo.pareto_k > 0.7).sum()), "r-hat": fit.attrs.get("r_hat_max"),
        "ess": fit.attrs.get("ess_bulk_min"), "ess of": fit.attrs.get("ess_bulk_min_item"),
        "prevalence": fit["posterior"]["prevalence"].mean(("chain", "draw")).values.tolist(),
        "elpd each": np.asarray(loo.elpd_i).ravel().tolist() if len(study.gold) < 1000 else [],
    }  # fmt: skip
    return _frame(fit["constant_data"]["truth_mean"]), extra


def _frame(truth: Any) -> pd.DataFrame:
    items = truth["item"].astype(str)
    return pd.DataFrame(truth.values, index=items, columns=truth["label"].values)


def _counted(study: Study, method: str) -> pd.DataFrame:
    if method == EM:
        return _frame(dx.models.dawid_skene.em(study.annotations())["truth"])
    counts = pd.crosstab(study.labels["item"], study.labels["label"])
    return counts.div(counts.sum(axis=1), axis=0)


def _peer(python: str, study: Study) -> pd.DataFrame:
    worker = Path(__file__).with_name("crowdkit_worker.py")
    with tempfile.TemporaryDirectory() as folder:
        labels, found = Path(folder) / "labels.csv", Path(folder) / "found.csv"
        names = {"item": "task", "annotator": "worker"}
        study.labels.rename(columns=names).drop(columns="trial").to_csv(labels, index=False)
        subprocess.run([python, worker, labels, found], check=True, capture_output=True)
        return pd.read_csv(found, index_col=0, dtype={0: str, "task": str})


def _scored(study: Study, probability: pd.DataFrame) -> dict[str, Any]:
    """Compare with the truth; ties count fractionally."""
    names = study.names
    table = probability.reindex(study.gold.index)
    table.columns = table.columns.astype(str)
    values = table.reindex(columns=names).fillna(0.0).to_numpy()
    right = values[np.arange(len(values)), [names.index(one) for one in study.gold]]
    top = values.max(axis=1)
    leading = values >= top[:, None] - 1e-9
    hit = np.where(right >= top - 1e-9, 1.0 / leading.sum(axis=1), 0.0)
    return {
        "items": len(values), "accuracy": float(hit.mean()),
        "log score": float(np.log(np.maximum(right, FLOOR)).mean()),
        "below the floor": int((right < FLOOR).sum()),
        "smallest": float(right.min()),
        "unfloored": float(np.log(right).mean()) if right.min() > 0 else None,
        "top": np.round(top, 6).tolist(), "hit": hit.tolist(),
    }  # fmt: skip


# -- An annotator taken for a system ---------------------------------------------------------------


def _held_out(asked: argparse.Namespace, done: set[Any]) -> Iterator[dict[str, Any]]:
    for name in asked.studies:
        study = STUDIES[name]()
        for system in _systems(study)[: asked.most]:
            for method in _fitting(asked, study):
                if (name, method, system) not in done:
                    yield {"study": name, "method": method, "system": system} | _judged(
                        study, system, method, asked.draws
                    )


def _systems(study: Study) -> list[str]:
    """Return true systems, then the annotators with the most labels."""
    known = study.labels[study.labels["item"].isin(study.gold.index) & (study.labels["trial"] == 0)]
    counts = known["annotator"].value_counts()
    return [*study.systems["system"].unique(), *counts.index[counts >= ENOUGH]]


def _judged(study: Study, system: str, method: str, draws: int) -> dict[str, Any]:
    answers = study.answers(system)
    ann = study.annotations(without=system)
    answers = answers[answers["item"].isin(ann["item"].values.astype(str))]
    right = answers["label"].to_numpy() == study.gold[answers["item"]].to_numpy()
    model, options = VARIANTS[method]
    fit = getattr(dx.models, model).fit(
        ann, predictions=dx.predictions(answers), on_missing="drop", draws=draws,
        tune=draws // 2, chains=2, random_seed=1, progressbar=False, keep_items=False, **options,
    )  # fmt: skip
    row: dict[str, Any] = {"answers": len(right), "share right": float(right.mean())}
    shared = dx.shared_mistakes(fit, beta=BELIEF, random_seed=1)
    for group, end in ((fit["posterior"], ""), (shared, ", shared mistakes")):
        for target in ("system_accuracy", "system_correct"):
            found = group[target].to_numpy().ravel()
            row[f"{target} mean{end}"] = float(found.mean())
            row[f"{target} edges{end}"] = np.quantile(found, EDGES).tolist()
    return row


if __name__ == "__main__":
    main()
