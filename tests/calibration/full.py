"""The full calibration, form by form: `PYTHONPATH=tests python -m calibration.full --help`.

What is there already and not stale is left as it is, so that a run that was ended goes on where it
ended, and forms can be run one by one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple
from zlib import crc32

import numpy as np
from calibration import crossed_simulators, forms, harness, page, rasch_simulators, saved
from calibration import truth_simulators as truth
from calibration.simulators import SIMULATORS

import dissensus as dx

SEED = 2
FALSE_ALARM = 0.001
"""Of one question; seeds are fixed, so that a run that passes goes on passing."""


class Run(NamedTuple):
    """A form, and how far it is to be tried."""

    name: str
    fit: harness.Fit
    simulator: Callable[[], Callable[[np.random.Generator], harness.Case]]
    studies: int
    draws: int


def size(name: str) -> tuple[int, int]:
    """Return the studies of a form with a simulator written by hand, and the draws of each fit."""
    model = name.split(":")[0]
    if model in truth.MODELS:
        return 200, 49
    if model in {*crossed_simulators.MODELS, rasch_simulators.MODEL}:
        return 200, 199
    return 100, 999  # a study of 40 items has 40 answers


def runs() -> dict[str, Run]:
    """Return all forms: drawn from as they are written, and simulated by hand."""
    out = {
        # Kinds that a model takes for the same must not be drawn the same: it would check nothing.
        name: Run(
            name, form.model.module.fit, partial(form.simulator, crc32(name.encode())), 200, 999
        )
        for name, form in forms.forms().items()
    }
    for name, simulate in SIMULATORS.items():
        fit = dx.models.get(name.split(":")[0]).module.fit
        out[name] = Run(name, fit, lambda simulate=simulate: simulate, *size(name))
    return dict(sorted(out.items()))


def record_of(run: Run, studies: int | None = None, *, again: bool = False) -> saved.Record:
    """Return what is known of a form, and find it out if that is nothing, little or stale."""
    wanted = studies or run.studies
    known = saved.read(run.name)
    if known is None or known.stale or known.studies < wanted or again:
        start = time.monotonic()
        places = harness.run(run.fit, run.simulator(), studies=wanted, draws=run.draws, seed=SEED)
        saved.save(run.name, wanted, run.draws, places, time.monotonic() - start)
        known = saved.read(run.name)
    assert known is not None
    return known


def main() -> None:
    """Run what is wanted, and write the page; fail if a form is not calibrated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[""], help="forms whose names hold this")
    parser.add_argument("--studies", type=int, help="of each form, instead of the full number")
    parser.add_argument("--again", action="store_true", help="also what is there already")
    parser.add_argument("--page", action="store_true", help="only write the page, of what is there")
    requested = parser.parse_args()
    every, poor = runs(), []
    for name, run in every.items():
        if requested.page or not any(part in name for part in requested.only):
            continue
        record = record_of(run, requested.studies, again=requested.again)
        p = {question: harness.p_value(x) for question, x in record.places.items()}
        least = min(p.values())
        poor += [f"{name}: {question}" for question, value in p.items() if value < FALSE_ALARM]
        print(
            f"{name}: {record.studies} studies, {record.minutes:.1f} min, p {least:.4f}", flush=True
        )
    print(page.write([x for x in map(saved.read, every) if x is not None], list(every)))
    if poor:
        raise SystemExit("not calibrated: " + "; ".join(poor))


if __name__ == "__main__":
    main()
