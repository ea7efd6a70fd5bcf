"""Small data for every registered statistic, whatever it takes."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
import xarray as xr
from small_studies import study

import dissensus as dx
from dissensus.statistics import STATISTICS

CASES = [(entry, dict(variant)) for entry in STATISTICS for variant in entry.variants]
every_statistic = pytest.mark.parametrize("entry", STATISTICS, ids=lambda entry: entry.name)
every_variant = pytest.mark.parametrize(
    ("entry", "variant"),
    CASES,
    ids=[" ".join([entry.name, *map(str, variant.values())]) for entry, variant in CASES],
)


def studies(entry, variant, seed, **sizes):
    """Return a study of each kind of which the statistic can be taken; one at least."""
    return [_study(entry, kind, seed, **sizes) for kind in _kinds(entry, tuple(variant.items()))]


@cache
def _kinds(entry, variant):
    out = []
    for kind in ("nominal", "ordinal", "continuous"):
        try:
            taken(entry, dict(variant), _study(entry, kind, seed=0))
        except dx.DissensusError as problem:  # such as distances between names
            assert kind not in entry.kinds or variant, f"{kind}: {problem}"
        else:
            assert kind in entry.kinds, kind
            out.append(kind)
    assert out, "no kind of annotations suits it"
    return out


def _study(entry, kind, seed, n_items=8, trials=False):
    n_annotators = 2 if entry.takes == "two annotators" else 6
    sizes = {"n_items": n_items, "n_annotators": n_annotators, "missing": 0.2, "trials": trials}
    if entry.takes == "scores":
        return study(seed, kind, n_labels=2, **sizes).scored(seed)
    return study(seed, kind, single=False, **sizes)


def arguments(entry, made):
    """Return the annotations, and the predictions and thresholds where it takes some."""
    more = {"predictions": (), "scores": ([0.25, 0.5, 0.75],)}.get(entry.takes)
    return (
        (made.annotations(),) if more is None else (made.annotations(), made.predictions(), *more)
    )


@contextmanager
def undefined_in_silence():
    """What is undefined is NaN: here it may be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        yield


def taken(entry, variant, made, **more):
    """Take the statistic of a study."""
    with undefined_in_silence():
        return entry.function(*arguments(entry, made), **variant, **more)


def arrays(result):
    """Return the variables of a result that are of all items together."""
    result = result.data_vars.values() if isinstance(result, xr.Dataset) else [result]
    return [array for array in result if "item" not in array.dims]


def assert_same(actual, expected, atol=1e-10):
    """Compare results by the names of their coordinates; undefined is equal to undefined."""
    assert type(actual) is type(expected)
    for array, expected_array in zip(arrays(actual), arrays(expected), strict=True):
        assert (array.name, array.dims) == (expected_array.name, expected_array.dims)
        names = {
            dim: expected_array[dim] for dim in expected_array.dims if dim in expected_array.coords
        }
        np.testing.assert_allclose(array.sel(names).values, expected_array.values, atol=atol)
