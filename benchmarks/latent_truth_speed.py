"""Latent truth, how fast: `uv run python benchmarks/latent_truth_speed.py --python INTERPRETER`.

INTERPRETER is a Python with crowd-kit: `uv venv peers && uv pip install --python peers crowd-kit`.

100,000 labels of 20,000 items. What is measured runs in a process of its own, for its peak memory,
after one small fit that compiles the kernels. Given are seconds by the clock and processor seconds
of all threads; a machine that does other things as well makes the former the longer. Effective
draws (bulk) are those of prevalences and of annotators' accuracies.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
from machine import described
from memory import peak_memory

import dissensus as dx
from dissensus.families.base import FitOptions, by_gibbs
from dissensus.families.latent_truth.fit import TruthFit
from dissensus.models import dawid_skene

N_ITEMS, PER_ITEM, CROWD = 20_000, 5, 800
HEAD = (
    "| what | labels | seconds | processor seconds | a sweep "
    "| effective draws of accuracies: worst, 5 %, median | of prevalences, worst "
    "| 100 of the median accuracy: processor seconds, by crowd-kit's | of the worst accuracy "
    "| of the worst prevalence | peak memory |\n|---|" + "--:|" * 10
)
KINDS = {
    "hierarchical": {"pooling": "hierarchical", "difficulty": False},
    "no pooling": {"pooling": "none", "difficulty": False},
    "hierarchical, difficulty": {"pooling": "hierarchical", "difficulty": True},
}


def main() -> None:
    """Print the tables."""
    options = _asked()
    print(f"{described()}\n\nsymmetric_confusion.fit, 5 annotators, 5 labels, 4 x 2,000 draws\n")
    print("| what | seconds | processor seconds | peak memory |\n|---|--:|--:|--:|")
    for name in ("symmetric", "extended"):
        result = _alone(name)
        print(f"| {name} | {_times(result)} | {result['peak']:.2f} GB |", flush=True)
    print("\ndawid_skene, 800 annotators\n")
    print(HEAD)
    for labels in (2, 3, 5):
        peer = _peer(options.python, labels) if options.python else None
        if peer:
            print(
                f"| crowd-kit, {peer['iterations']} iterations | {labels} | {_times(peer)} |"
                + " |" * 6 + f" {peer['peak']:.2f} GB |", flush=True,
            )  # fmt: skip
        for kind in KINDS:
            print(_row(kind, labels, _alone("rows", kind, labels, options.draws), peer), flush=True)
    if options.nuts:
        print("\n" + json.dumps(_nuts()))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default="", help="a Python with crowd-kit")
    parser.add_argument("--draws", type=int, default=1000, help="a chain, of two")
    parser.add_argument("--nuts", action="store_true", help="compare with NUTS on a small study")
    parser.add_argument("--alone", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        warnings.simplefilter("ignore", dx.DissensusWarning)
        name, *rest = options.alone
        result = _rows(rest[0], int(rest[1]), int(rest[2])) if rest else _symmetric(name)
        result["peak"] = peak_memory() / 2**30
        print(json.dumps(result))
        sys.exit()
    return options


def _alone(*arguments: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--alone", *map(str, arguments)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def _times(result: dict[str, Any]) -> str:
    return f"{result['seconds']:.2f} | {result['processor']:.2f}"


def _row(kind: str, labels: int, result: dict[str, Any], peer: dict[str, Any] | None) -> str:
    worst, low, median, prevalence = result["effective"]
    sweep = 1000 * result["processor"] / result["sweeps"]
    cells = [kind, str(labels), _times(result), f"{sweep:.2f} ms"]
    cells += [f"{worst:.0f}, {low:.0f}, {median:.0f}", f"{prevalence:.0f}"]
    for effective in (median, worst, prevalence):
        each = result["processor"] / effective * 100
        cells.append(f"{each:.2f}" + (f", {each / peer['processor']:.1f}" if peer else ""))
    return f"| {' | '.join(cells)} | {result['peak']:.2f} GB |"


def _crowd(labels: int) -> Any:
    """Simulate annotators from poor to good; errors a step off are likelier, each its own way."""
    ipc = np.linspace(0.5, 0.9, CROWD) if labels == 2 else np.linspace(0.4, 0.85, CROWD)
    return dx.simulate.confusion_study(
        N_ITEMS, CROWD, labels, ipc=ipc.tolist(), labels_per_item=PER_ITEM, asymmetry=1.5,
        error_range=0.5, prevalence=[1 / labels] * labels, random_seed=1,
    ).annotations  # fmt: skip


def _symmetric(name: str) -> dict[str, Any]:
    """Fit as a user does, the truth of items not kept."""
    options: dict[str, Any] = {"chains": 4, "progressbar": False, "keep_items": False}
    if name == "extended":
        options |= {"accuracy": "annotator", "errors": "unequal", "difficulty": True}
    ann = dx.simulate.confusion_study(N_ITEMS, PER_ITEM, 5, random_seed=1).annotations
    small = dx.simulate.confusion_study(50, PER_ITEM, 5, random_seed=1).annotations
    fit = dx.models.symmetric_confusion.fit
    fit(small, draws=100, tune=5, **options)
    start = time.perf_counter(), time.process_time()
    fit(ann, draws=2000, tune=500, random_seed=1, **options)
    return _since(start)


def _since(start: tuple[float, float]) -> dict[str, Any]:
    return {
        "seconds": time.perf_counter() - start[0],
        "processor": time.process_time() - start[1],
    }


def _rows(kind: str, labels: int, draws: int) -> dict[str, Any]:
    """Sample by the kernel alone, which `fit` puts names on; warm-up included."""
    settings = {"systems": "independent", "evidence": "all", "prior_count": 1.0, "sampler": "gibbs"}

    def drawn(ann: Any, draws: int, tune: int) -> Any:
        process = dawid_skene._process(ann, None, on_missing="raise", **settings, **KINDS[kind])
        options = FitOptions(draws=draws, tune=tune, chains=2, progressbar=False, keep=False)
        return by_gibbs(TruthFit(process, options), np.random.default_rng(1))

    drawn(dx.simulate.confusion_study(50, PER_ITEM, labels, random_seed=1).annotations, 2, 2)
    ann = _crowd(labels)
    start = time.perf_counter(), time.process_time()
    result = drawn(ann, draws, draws // 2)
    out = _since(start)
    accuracy = [_ess(result.accuracy[..., v]) for v in range(CROWD)]
    prevalence = min(_ess(result.prevalence[..., z]) for z in range(labels))
    out["effective"] = [*np.quantile(accuracy, [0, 0.05, 0.5]).tolist(), prevalence]
    out["sweeps"] = 2 * (draws + draws // 2)
    return out


def _ess(draws: Any) -> float:
    return float(az.ess(np.asarray(draws)))


def _peer(python: str, labels: int) -> dict[str, Any]:
    worker = Path(__file__).with_name("crowdkit_worker.py")
    ann = _crowd(labels)
    table = np.stack([ann[f"{dim}_code"] for dim in ("item", "annotator", "label")], axis=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        np.savetxt(path, table, "%d", ",", header="task,worker,label", comments="")
        done = subprocess.run([python, worker, path], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def _nuts() -> dict[str, Any]:
    """Compare processor seconds for an effective draw of the worst accuracy, on 2,000 labels."""
    ann = dx.simulate.confusion_study(
        400, 20, 3, ipc=np.linspace(0.5, 0.9, 20).tolist(), labels_per_item=5, random_seed=1
    ).annotations
    warnings.simplefilter("ignore")
    out: dict[str, Any] = {}
    for sampler, draws in (("gibbs", 2000), ("nuts", 300)):
        run: dict[str, Any] = {"chains": 1, "progressbar": False, "sampler": sampler}
        for _ in range(2):  # what the second takes is there without a sweep, compilation done
            start = time.perf_counter(), time.process_time()
            dx.models.dawid_skene.fit(ann, draws=2, tune=2, **run)
            before = _since(start)
        start = time.perf_counter(), time.process_time()
        fit = dx.models.dawid_skene.fit(ann, draws=draws, tune=draws, random_seed=1, **run)
        spent = _since(start)
        spent = {name: spent[name] - before[name] for name in spent}
        accuracy = fit["posterior"]["annotator_accuracy"].to_numpy()
        worst = min(_ess(accuracy[..., v]) for v in range(20))
        out[sampler] = spent | {"worst": worst, "each": spent["processor"] / worst}
    out["ratio"] = out["nuts"]["each"] / out["gibbs"]["each"]
    return out


if __name__ == "__main__":
    main()
