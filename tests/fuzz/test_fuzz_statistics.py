"""Every statistic in the registry, of every kind of annotations and with any settings."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import xarray as xr
from fuzz.data import NOT_DATA, annotation_sets, prediction_sets
from fuzz.judging import arrays, explained, judged, twice, within
from fuzz.profile import cases
from fuzz.settings_of import settings_of
from hypothesis import given
from hypothesis import strategies as st

import dissensus as dx
from dissensus.statistics import STATISTICS

every_statistic = pytest.mark.parametrize("entry", STATISTICS, ids=lambda entry: entry.name)

THRESHOLDS = ([0.25, 0.5], [0.5], [0.0, 1.0], [-1e300, 1e300], 0.5, [], [float("nan")], "x")
DOCUMENTED = ("bins",)
"""Variables whose docstring says where they are NaN: bins without items."""


@st.composite
def calls(draw, entry):
    """Make the arguments of one call: data that suit it, in most cases, and settings."""
    kinds = entry.kinds if draw(st.integers(0, 9)) else ("nominal", "continuous", "ranking")
    ann = draw(annotation_sets(kinds, people=2 if entry.takes == "two annotators" else None,
                               pools=entry.takes == "pools" or None))  # fmt: skip
    args: list[Any] = [ann]
    if entry.takes in {"predictions", "scores"}:
        forms = ("numbers",) if entry.takes == "scores" else _forms(ann)
        if draw(st.integers(0, 9)) == 0:
            forms = ("labels", "ranks", "scores", "numbers")
        args.append(draw(prediction_sets(ann, forms)))
    if entry.takes == "scores":
        args.append(draw(st.sampled_from(THRESHOLDS)))
    if draw(st.integers(0, 19)) == 0:
        args[draw(st.integers(0, len(args) - 1))] = draw(st.sampled_from(NOT_DATA))
    variant = dict(draw(st.sampled_from(entry.variants)))
    given_already = set(list(inspect.signature(entry.function).parameters)[: len(args)])
    return args, variant | draw(settings_of(entry.function, but=given_already))


def _forms(ann):
    if ann.attrs["kind"] == "continuous":
        return ("numbers",)
    return ("ranks", "scores") if ann.attrs["kind"] == "ranking" else ("labels",)


@every_statistic
@cases(3, 900)
@given(data=st.data())
def test_a_statistic_is_within_its_bounds_or_refused(entry, data):
    args, settings = data.draw(calls(entry))
    again = data.draw(st.integers(0, 4)) == 0
    run = twice if again and "random_seed" not in settings else judged
    answer = run(f"statistics.{entry.name}", entry.function, *args, **settings)
    if not answer.refused:
        sound(entry, answer)


def sound(entry, answer):
    """Check bounds, and that nothing is undefined in silence."""
    result = answer.value
    if isinstance(result, xr.Dataset):
        result = result[entry.variable or entry.name]
    within(result, entry.low, entry.high)
    if not any("annotator_" in array.dims for array in arrays(result)):  # a diagonal is NaN
        explained(answer, but=DOCUMENTED)
    for array in arrays(answer.value):
        assert array.name


@every_statistic
@cases(2, 250)
@given(data=st.data())
def test_a_bootstrap_of_it_is_too(entry, data):
    args, settings = data.draw(calls(entry))
    more = data.draw(settings_of(dx.bayesian_bootstrap, but={"statistic", "draws"}))
    call = {"draws": 5, "random_seed": 1} | settings | more
    answer = judged("bayesian_bootstrap", dx.bayesian_bootstrap, entry.function, *args, **call)
    if answer.refused:
        return
    result = answer.value
    result = result[entry.variable or entry.name] if isinstance(result, xr.Dataset) else result
    within(result, entry.low, entry.high)
    for array in arrays(answer.value):
        assert array.dims[:2] == ("chain", "draw")
