"""Crossed effects beside NUTS: `uv run python benchmarks/components.py --python INTERPRETER`.

INTERPRETER is a Python with Bambi and nutpie, so that dissensus need not: for example that of
`uv venv peers && uv pip install --python peers bambi nutpie`. All sample the same labels under the
same priors, one chain on one core. What counts is effective draws (bulk, the worst of the standard
deviations and the ICC) a second of sampling, warm-up and all, compilation not.

`--r RSCRIPT` adds lme4, where there is one: a point estimate without a posterior.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import xarray as xr
from machine import described
from memory import peak_memory

import dissensus as dx
from dissensus.families.base import FitOptions, by_gibbs
from dissensus.families.crossed.fit import CrossedFit
from dissensus.families.crossed.process import process

SIZE = {"n_items": 4000, "n_annotators": 100, "labels_per_item": 5}
PRIORS = {
    "mu": (0.0, 2.5),
    **dict.fromkeys(("sigma_item", "sigma_annotator", "sigma"), ("half_t", 2.5, 3.0)),
}
PEERS = {
    "gaussian": ("bambi", "nutpie centred", "nutpie non-centred"),
    "bernoulli": ("bambi", "nutpie centred", "nutpie non-centred"),
    "ordinal": ("bambi", "nutpie centred", "nutpie non-centred"),
}
HEAD = (
    "| what | seconds | effective draws | a second | ours by it | ICC |\n|---|--:|--:|--:|--:|--:|"
)


def main() -> None:
    """Print one table for each family, then how time and memory grow."""
    options = _asked()
    warnings.simplefilter("ignore", dx.DissensusWarning)
    print(f"{described()}\n\nOne core, one chain; seconds of sampling, warm-up included.\n")
    for family in options.families:
        print(f"{family}: 20,000 labels, 4,000 items, 100 annotators\n\n{HEAD}")
        for row in _family(family, options):
            print(row, flush=True)
        print()
    if not options.no_growth:
        print("| gaussian labels | seconds | effective draws | a second | peak memory |")
        print("|--:|--:|--:|--:|--:|")
        for n in (10_000, 100_000, 1_000_000, 4_000_000):
            print(_growth(n), flush=True)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default="", help="a Python with Bambi and nutpie")
    parser.add_argument("--r", default="", help="an Rscript with lme4")
    parser.add_argument("--families", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--draws", type=int, default=2000, help="of ours (default 2,000)")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for one peer")
    parser.add_argument("--no-growth", action="store_true")
    parser.add_argument("--alone", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        _alone(options.alone)
        sys.exit()
    return options


def _study(family: str) -> xr.Dataset:
    scale = 1.5 if family == "bernoulli" else 1.0
    return dx.simulate.replication_study(
        **SIZE, family=family, sigma_item=scale, sigma_annotator=0.5, random_seed=1
    ).annotations


def _family(family: str, options: argparse.Namespace) -> Iterator[str]:
    ann = _study(family)
    seconds, draws = _ours(ann, family, options.draws)
    effective = _worst(draws, family)
    mine = effective / seconds
    yield _row("dissensus, Gibbs", seconds, effective, 1.0, _icc(draws, family))
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "labels.npz"
        value = ann["value"] if "value" in ann else ann["label_code"]
        np.savez(table, y=value, item=ann["item_code"], annotator=ann["annotator_code"])
        for peer in PEERS[family] if options.python else ():
            result = _peer(options, peer, family, table)
            if isinstance(result, str):
                yield f"| {peer} | {result} | | | | |"
                continue
            arrays = {k: np.array(v) for k, v in result["draws"].items()}
            effective = _worst(arrays, family)
            ratio = mine / (effective / result["seconds"])
            yield _row(peer, result["seconds"], effective, ratio, _icc(arrays, family))
        if options.r and family != "ordinal":
            yield _lme4(options.r, family, ann, Path(folder))


def _ours(ann: xr.Dataset, family: str, draws: int) -> tuple[float, dict[str, Any]]:
    """Sample by the kernel alone, which `fit` puts names on."""
    priors = {k: v for k, v in PRIORS.items() if family == "gaussian" or k != "sigma"}
    crossed = process(
        "crossed_effects", ann, family=family, sampler="gibbs", priors=priors, anonymous=False
    )

    def drawn(draws: int, tune: int) -> Any:
        options = FitOptions(draws=draws, tune=tune, chains=1, progressbar=False, keep=False)
        return by_gibbs(CrossedFit(crossed, options), np.random.default_rng(1))

    drawn(2, 2)
    start = time.perf_counter()
    result = drawn(draws, 500)
    seconds = time.perf_counter() - start
    names = ("sigma_item", "sigma_annotator") + (("sigma",) if family == "gaussian" else ())
    return seconds, {name: getattr(result, name)[..., 0] for name in names}


def _icc(draws: dict[str, Any], family: str) -> Any:
    own = {"bernoulli": np.pi**2 / 3, "ordinal": 1.0}
    residual = own[family] if family in own else draws["sigma"] ** 2
    item, annotator = draws["sigma_item"] ** 2, draws["sigma_annotator"] ** 2
    return item / (item + annotator + residual)


def _worst(draws: dict[str, Any], family: str) -> float:
    """Return the fewest effective draws of the standard deviations and the ICC."""
    every = [*draws.values(), _icc(draws, family)]
    return min(float(az.ess(np.atleast_2d(series))) for series in every)


def _row(label: str, seconds: float, effective: float, ratio: float, icc: Any) -> str:
    cells = [label, f"{seconds:.2f}", f"{effective:.0f}", f"{effective / seconds:.1f}"]
    return f"| {' | '.join(cells)} | {ratio:.1f} | {icc.mean():.3f} +- {icc.std():.3f} |"


def _peer(options: argparse.Namespace, peer: str, family: str, table: Path) -> Any:
    worker = Path(__file__).with_name("components_worker.py")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            [options.python, worker, peer, family, table], capture_output=True, text=True,
            timeout=options.timeout, env=os.environ | threads, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"more than {options.timeout} s"
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else done.stderr[-300:]


def _lme4(rscript: str, family: str, ann: xr.Dataset, folder: Path) -> str:
    """Time a point estimate."""
    table = folder / "labels.csv"
    value = ann["value"] if "value" in ann else ann["label_code"]
    columns = np.stack([value, ann["item_code"], ann["annotator_code"]], axis=1)
    np.savetxt(table, columns, delimiter=",", header="y,i,a", comments="")
    call = "lmer(y ~ 1 + (1|i) + (1|a), d)"
    if family == "bernoulli":
        call = "glmer(y ~ 1 + (1|i) + (1|a), d, family=binomial)"
    code = (
        f"library(lme4); d <- read.csv('{table}'); t <- system.time(m <- {call})[3]; "
        "v <- as.data.frame(VarCorr(m))$vcov; cat(t, v)"
    )
    done = subprocess.run([rscript, "-e", code], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"| lme4 | {done.stderr.strip()[-100:]} | | | | |"
    seconds, *parts = map(float, done.stdout.split())
    parts = [*parts, np.pi**2 / 3][:3]
    return f"| lme4, a point estimate | {seconds:.2f} | | | | {parts[0] / sum(parts):.3f} |"


def _growth(n: int) -> str:
    """Measure in a process of its own, for its peak memory."""
    done = subprocess.run(
        [sys.executable, __file__, "--alone", str(n)], capture_output=True, text=True, check=True
    )
    seconds, effective, peak = json.loads(done.stdout.strip().splitlines()[-1])
    return (
        f"| {n:,} | {seconds:.2f} | {effective:.0f} | {effective / seconds:.0f} | {peak:.2f} GB |"
    )


def _alone(n: int) -> None:
    """Fit n labels, five an item, by 1,000 annotators: 100 + 450 sweeps."""
    ann = dx.simulate.replication_study(n // 5, min(1000, n // 100), 5, random_seed=1).annotations
    warm = dx.simulate.replication_study(50, 10, 5, random_seed=1).annotations
    options: dict[str, Any] = {"chains": 1, "keep_effects": False, "progressbar": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        dx.models.crossed_effects.fit(warm, draws=5, tune=5, **options)
        start = time.perf_counter()
        fit = dx.models.crossed_effects.fit(ann, draws=450, tune=100, random_seed=1, **options)
    seconds = time.perf_counter() - start
    names = ("sigma_item", "sigma_annotator", "sigma")
    draws = {name: fit["posterior"][name].to_numpy() for name in names}
    peak = peak_memory() / 2**30
    print(json.dumps([seconds, _worst(draws, "gaussian"), peak]))


if __name__ == "__main__":
    main()
