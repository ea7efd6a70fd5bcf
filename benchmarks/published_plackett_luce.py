"""Compare our Plackett-Luce sampler with the one published by Stutz et al. (2023), in one run.

    uv run python benchmarks/published_plackett_luce.py --published PATH --python INTERPRETER

PATH is a clone of google-deepmind/uncertain_ground_truth, of which nothing is kept here, and
INTERPRETER a Python that has JAX, so that dissensus need not. Both sample the same cases under the
same prior, the one of the published notebook: concentration 1, and one more label for all that
nobody named. The notebook makes a sampler for each case, and so compiles for each: that is *first*;
*again* is the same case once more with the same sampler. Seconds are of processor time, all threads
together, so that neighbours on the machine count little. POSIX only (the time limit is an alarm).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import arviz as az
import data
import differentials
import numpy as np
import xarray as xr
from differentials import Case
from machine import described
from timing import in_turns, shown

import dissensus as dx

COLUMNS = (
    "case", "theirs first", "theirs again", "ours alone",
    "mean of the leading label", "effective draws", "ratio to first", "ratio to again",
    "effective draws of the remainder", "ratio to first", "ratio to again",
)  # fmt: skip
SPARSE = "| sparse prior, 50 labels of 1/50 | exact | ours | theirs |\n|---|--:|--:|--:|"


def main() -> None:
    """Print how fast both are, whether they agree, and what becomes of a sparse prior."""
    options = _asked()
    # What it warns of, few effective draws, is what the table shows.
    warnings.simplefilter("ignore", dx.DissensusWarning)
    name, everything = data.dermatology()
    with _published(options) as (their_machine, ask):
        print(f"{described()}; published: {their_machine}", end="\n\n")
        seconds = median(_ours(everything, options)[0]) / everything.sizes["item"]
        print(
            f"{options.tune} + {options.draws:,} sweeps, one chain, "
            f"reliability {options.reliability}. Ours, {name} in one fit: {shown(seconds)} a "
            "case. The ratios are of effective draws a second of processor time, ours by that "
            "fit.\n"
        )
        print(f"| {' | '.join(COLUMNS)} |\n|---|{'--:|' * (len(COLUMNS) - 1)}")
        for case in [differentials.figure_5(), *differentials.handful(everything, options.cases)]:
            print(_speed(case, ask(case), seconds, options), flush=True)
        print(f"\n{SPARSE}")
        for case in differentials.sparse():
            print(_sparse(case, ask(case), options), flush=True)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True, help="the clone's folder")
    parser.add_argument("--python", default=sys.executable, help="a Python with JAX")
    parser.add_argument("--cases", type=int, default=6, help="dermatology cases (default 6)")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--tune", type=int, default=500)
    parser.add_argument("--reliability", type=int, default=1, help="repeats of each ranking")
    parser.add_argument("--jit", default="jit_per_reader", help="the published sampler's strategy")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for a published case")
    parser.add_argument("--repeats", type=int, default=7, help="of ours (default 7)")
    options = parser.parse_args()
    if not (options.published / "pl_samplers.py").exists():
        parser.error(f"no pl_samplers.py in {options.published}: is it a clone of the repository?")
    return options


@contextmanager
def _published(options: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Start the published sampler; give what it runs on, and a way to ask it for a case."""
    worker = Path(__file__).with_name("published_worker.py")
    command = [options.python, str(worker)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def answered(message: dict[str, Any]) -> dict[str, Any]:
            print(json.dumps(message), file=process.stdin, flush=True)
            answer = process.stdout.readline() if process.stdout else ""
            if not answer:
                raise SystemExit(
                    f"{options.python} stopped: does it have jax? See its message above"
                )
            return json.loads(answer)

        def of_case(case: Case) -> dict[str, Any]:
            message = asdict(case)
            # The published way to believe an annotator more is to say everything several times.
            message["rankings"] = case.rankings * (1 if case.exact else options.reliability)
            return answered(message)

        how = {name: getattr(options, name) for name in ("tune", "draws", "timeout", "jit")}
        yield answered({"published": str(options.published.resolve()), **how})["machine"], of_case


def _ours(ann: xr.Dataset, options: argparse.Namespace, **hyper: Any) -> tuple[list[float], Any]:
    """Fit several times; return the seconds, and the draws (draw, item, candidate)."""
    hyper = hyper or {"concentration": 1.0, "unranked": "one", "reliability": options.reliability}
    fit = partial(
        dx.models.plackett_luce.fit, ann, draws=options.draws, tune=options.tune, chains=1,
        random_seed=1, progressbar=False, **hyper,
    )  # fmt: skip
    (times,) = in_turns(options.repeats, fit, clock=time.process_time)
    return times, fit()["posterior"]["plausibility"].to_numpy()[0]


def _speed(case: Case, theirs: dict[str, Any], share: float, options: argparse.Namespace) -> str:
    """Write one case: seconds, means, effective draws, and those per second."""
    times, draws = _ours(case.annotations, options)
    mine = draws[:, 0]
    if "failed" in theirs:
        return f"| {case} | {theirs['failed']} | | {shown(median(times))} |" + " |" * 7
    peer = np.array(theirs["draws"])
    leading = int(mine[:, :-1].mean(axis=0).argmax())
    cells = [str(case), *map(shown, (theirs["first"], theirs["again"], median(times)))]
    cells.append(f"{_mean(mine, leading)}, theirs {_mean(peer, leading)}")
    for candidate in (leading, -1):
        own, other = _effective(mine, candidate), _effective(peer, candidate)
        ratios = (own / share / (other / theirs[which]) for which in ("first", "again"))
        cells += [f"{own:.0f}, theirs {other:.0f}", *(f"{ratio:,.0f}" for ratio in ratios)]
    return f"| {' | '.join(cells)} |"


def _sparse(case: Case, theirs: dict[str, Any], options: argparse.Namespace) -> str:
    """Write the leading label's mean: in closed form, ours, theirs."""
    _, draws = _ours(case.annotations, options, concentration=case.concentration)
    result = theirs.get("failed") or _mean(np.array(theirs["draws"]), 0)
    return f"| {case} | {case.exact:.4f} | {_mean(draws[:, 0], 0)} | {result} |"


def _effective(draws: np.ndarray, candidate: int) -> float:
    return float(az.ess(draws[None, :, candidate]))


def _mean(draws: np.ndarray, candidate: int) -> str:
    """Write the mean with its Monte Carlo error."""
    values = draws[:, candidate]
    error = values.std(ddof=1) / np.sqrt(_effective(draws, candidate))
    return f"{values.mean():.3f} ± {error:.3f}"


if __name__ == "__main__":
    sys.exit(main())
