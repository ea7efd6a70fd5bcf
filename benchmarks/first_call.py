"""Processor seconds of the first fit of each model: with an empty cache, and with a full one.

Each measurement is a process of its own with a `NUMBA_CACHE_DIR` of its own, twice in a row: the
first finds it empty (PyTensor's cache too), the second finds what the first compiled. *Warm* is the
same call once more in the second process. Given several interpreters (``--python``, of this and of
other checkouts), they take turns.

    uv run python benchmarks/first_call.py
    uv run python benchmarks/first_call.py --sample    # pm.sample, with two workers, beside fit
    uv run python benchmarks/first_call.py --python .venv/bin/python OTHER/.venv/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

N_ITEMS, N_ANNOTATORS = 40, 6
MANY: dict[str, Any] = {
    "draws": 500, "tune": 200, "chains": 2, "random_seed": 1, "progressbar": False,
}  # fmt: skip
FEW: dict[str, Any] = {"draws": 100, "random_seed": 1, "progressbar": False}


def columns(labels: list[Any]) -> dict[str, list[Any]]:
    """Give every item a label of every annotator, right with probability .7."""
    rng = np.random.default_rng(1)
    truth = rng.integers(len(labels), size=N_ITEMS)
    wrong = rng.integers(len(labels), size=(N_ITEMS, N_ANNOTATORS))
    given = np.where(rng.random(wrong.shape) < 0.7, truth[:, None], wrong)
    item, annotator = np.indices(given.shape).reshape(2, -1)
    return {
        "item": [f"i{i}" for i in item], "annotator": [f"a{a}" for a in annotator],
        "label": [labels[k] for k in given.ravel()],
    }  # fmt: skip


def answers(labels: list[Any]) -> Any:
    """Two systems that answer at random."""
    import dissensus as dx

    code = np.random.default_rng(2).integers(len(labels), size=2 * N_ITEMS)
    return dx.predictions({
        "item": [f"i{i}" for i in range(N_ITEMS)] * 2,
        "system": ["s"] * N_ITEMS + ["t"] * N_ITEMS, "label": [labels[k] for k in code],
    })  # fmt: skip


def rankings() -> tuple[Any, Any]:
    """Three places of six labels, the second shared by two; and two systems' top three."""
    import dissensus as dx

    rng = np.random.default_rng(1)
    rows = [
        (f"i{i}", f"a{a}", "abcdef"[k], place)
        for i in range(N_ITEMS) for a in range(N_ANNOTATORS)
        for k, place in zip(rng.permutation(6)[:4], (1, 2, 2, 3), strict=True)
    ]  # fmt: skip
    names = ("item", "annotator", "label", "rank")
    ann = dx.annotations(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)),
                          rank="rank")  # fmt: skip
    top = [(f"i{i}", s, "abcdef"[k], place) for i in range(N_ITEMS) for s in "st"
           for place, k in enumerate(rng.permutation(6)[:3], start=1)]  # fmt: skip
    names = ("item", "system", "label", "rank")
    return ann, dx.predictions(dict(zip(names, map(list, zip(*top, strict=True)), strict=True)),
                                rank="rank")  # fmt: skip


def votes() -> Any:
    """Votes of each annotator on each item, between two of four systems."""
    import dissensus as dx

    rng = np.random.default_rng(1)
    rows = [(*rng.choice(list("stuv"), 2, replace=False), f"i{i}", f"a{a}")
            for i in range(N_ITEMS) for a in range(N_ANNOTATORS)]  # fmt: skip
    columns = dict(zip(("left", "right", "item", "annotator"), zip(*rows, strict=True),
                       strict=True))  # fmt: skip
    winner = rng.choice(["left", "right", "tie"], len(rows))
    return dx.pairs({**columns, "winner": winner}, item="item", annotator="annotator")


def numeric_answers() -> Any:
    """Numbers of two systems."""
    import dissensus as dx

    items = [f"i{i}" for i in range(N_ITEMS)] * 2
    numbers = np.random.default_rng(4).normal(size=2 * N_ITEMS)
    return dx.predictions({
        "item": items, "system": ["s"] * N_ITEMS + ["t"] * N_ITEMS, "label": numbers,
    })  # fmt: skip


def prepared(case: str) -> Any:
    """Return a call that is to be measured."""
    import dissensus as dx

    how, _, rest = case.rpartition(": ")
    model, _, kind = rest.partition(" ")
    if kind == "votes":
        ann = votes()
        if model == "evaluate":
            return lambda: dx.evaluate(ann, **FEW)
        return lambda: dx.models.bradley_terry.fit(ann, tune=50, chains=2, **FEW)
    values = {"bernoulli": [0, 1], "ordinal": [0, 1, 2, 3]}.get(kind, list("abc"))
    table = columns(values)
    if kind in {"gaussian", "scores", "numbers"}:
        table["label"] = np.random.default_rng(3).normal(size=len(table["label"])).tolist()
    if model == "cross_replication":
        table["pool"] = ["x" if a < "a3" else "y" for a in table["annotator"]]
    numbers = ("gaussian", "scores", "numbers")
    of_kind = "continuous" if kind in numbers else {"ordinal": "ordinal"}.get(kind)
    if kind == "rankings" or model == "plackett_luce":
        ann, pred = rankings()
    else:
        pool = "pool" if "pool" in table else None
        ann = dx.annotations(table, kind=of_kind or "nominal", pool=pool)
        pred = answers(values) if kind in {"labels", "ordinal", "with systems"} else None
    if kind == "numbers":
        pred = numeric_answers()
    if model == "evaluate":
        return lambda: dx.evaluate(ann, pred, threshold=0.0 if kind == "scores" else None, **FEW)
    options: dict[str, Any] = {}
    if kind in {"gaussian", "bernoulli", "ordinal"}:
        options["family"] = kind
    if kind == "with systems":
        options["predictions"] = pred
    if kind == "in full":  # all that can be asked of it at once
        options = {"predictions": answers(values), "difficulty": True, "systems": "related"}
    module = getattr(dx.models, model)
    if how == "sample":
        import pymc as pm

        return lambda: pm.sample(model=module.build(ann, **options), cores=2, **MANY)
    few = MANY if how == "fit" else FEW | {"tune": 50, "chains": 2}
    return lambda: module.fit(ann, **options, **few)


CASES = (
    "dirichlet", "inverse_rank", "normal_scores scores", "plackett_luce",
    "symmetric_confusion", "symmetric_confusion with systems", "dawid_skene",
    "dawid_skene with systems", "dawid_skene in full", "rasch", "crossed_effects gaussian",
    "crossed_effects bernoulli", "crossed_effects ordinal", "cross_replication gaussian",
    "cross_replication ordinal", "bradley_terry votes", "evaluate labels", "evaluate ordinal",
    "evaluate scores", "evaluate numbers", "evaluate rankings", "evaluate votes",
)  # fmt: skip
WITH_A_STEP = (
    "crossed_effects gaussian",
    "crossed_effects ordinal",
    "cross_replication gaussian",
    "symmetric_confusion",
    "rasch",
    "dawid_skene",
    "plackett_luce",
)


def processor_seconds() -> float:
    """Return those of this process and of its workers that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def measured(case: str) -> dict[str, float]:
    """Measure the first call in this process, and the next."""
    warnings.simplefilter("ignore")
    call = prepared(case)
    result = {}
    for name in ("first", "again"):
        begun, clock = processor_seconds(), time.perf_counter()
        call()
        result[name] = processor_seconds() - begun
        result[f"{name}_clock"] = time.perf_counter() - clock
    return result


def in_a_process(python: str, case: str, cache: str) -> dict[str, float]:
    """Measure in a new process of some interpreter."""
    done = subprocess.run(
        [python, __file__, "--measure", case], check=True, capture_output=True, text=True,
        env={
            **os.environ, "NUMBA_CACHE_DIR": f"{cache}/numba",
            "PYTENSOR_FLAGS": f"base_compiledir={cache}/pytensor",
        },
    )  # fmt: skip
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Print a table of processor seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--sample", action="store_true", help="pm.sample beside fit")
    parser.add_argument("--measure")
    given = parser.parse_args()
    if given.sample:
        given.cases = [f"{how} {model}" for model in WITH_A_STEP for how in ("fit:", "sample:")]
    if given.measure:
        print(json.dumps(measured(given.measure)))
        return
    n = len(given.python)
    heads = [f"{name}{f' {k + 1}' * (n > 1)}" for k in range(n)
             for name in ("cold", "second process", "warm")]  # fmt: skip
    print(f"| first call | {' | '.join(heads)} |\n|---|{'--:|' * len(heads)}")
    for case in given.cases:
        cells = []
        for python in given.python:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    cold = in_a_process(python, case, folder)
                except subprocess.CalledProcessError as error:  # an older checkout may not have it
                    print(f"{case}: {error.stderr.splitlines()[-1]}", file=sys.stderr)
                    cells += [""] * 3
                    continue
                second = in_a_process(python, case, folder)
                size = sum(file.stat().st_size for file in Path(folder).rglob("*.nbc"))
            cells += [f"{cold['first']:.1f}", f"{second['first']:.1f}", f"{second['again']:.2f}"]
            print(f"{case}: {size / 2**20:.1f} MB of machine code", file=sys.stderr)
        print(f"| {case} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
