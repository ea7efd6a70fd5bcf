"""What holds for every registered statistic."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from statistic_cases import (
    arguments,
    arrays,
    assert_same,
    every_statistic,
    every_variant,
    studies,
    taken,
    undefined_in_silence,
)

import dissensus as dx
from dissensus import statistics
from dissensus.statistics import STATISTICS

pytestmark = pytest.mark.unit(18, long=12)

STUB = re.sub(
    r"import \(\n    (.*),\n\)",  # a name so long that its line is broken
    r"import \1",
    Path(dx.__file__).with_name("__init__.pyi").read_text(encoding="utf-8"),
)
TAKES = {"annotations", "two annotators", "pools", "predictions", "scores"}
OF_DRAWS = {
    "alt_test", "annotator_roc", "bayesian_bootstrap", "best_threshold", "by_label",
    "confidence_check", "confidence_difficulty", "non_inferiority", "reader_study",
}  # fmt: skip
"""Public, and no statistics: they take a statistic, or draws of one, or have draws themselves."""


@every_statistic
def test_is_public_and_found_by_name(entry):
    assert getattr(dx, entry.name) is entry.function
    assert entry.name in dir(dx)
    assert re.search(rf"^from \.statistics\.\w+ import {entry.name} as {entry.name}$", STUB, re.M)
    assert statistics.get(entry.name) is entry
    assert statistics.registered(entry.function) is entry
    assert entry.name in statistics.names()


def test_every_public_function_of_the_statistics_is_registered():
    exported = re.findall(r"^from \.statistics\.\w+ import (\w+) as \w+$", STUB, flags=re.MULTILINE)
    assert set(exported) - OF_DRAWS == set(statistics.names()), (
        "STATISTICS of src/dissensus/statistics/__init__.py and src/dissensus/__init__.pyi differ"
    )
    assert len(set(statistics.names())) == len(STATISTICS)


@every_statistic
def test_what_is_written_of_it_makes_sense(entry):
    assert entry.takes in TAKES
    assert entry.better in {"higher", "lower", "none"}
    assert entry.low < entry.high
    assert entry.variants
    assert set(entry.kinds) <= {"nominal", "ordinal", "continuous", "ranking"}


@every_statistic
def test_docstring_is_complete(entry):
    text = inspect.getdoc(entry.function)
    for section in ("Parameters", "Returns", "Notes", "Examples"):
        assert f"\n{section}\n{'-' * len(section)}\n" in text, section
    assert "NaN" in text  # where it is undefined
    assert ">>> " in text
    assert "Source: " in text
    assert ".. math::" in text
    for name in inspect.signature(entry.function).parameters:
        assert re.search(rf"^(.*, )?{name}(,.*)? ?(:.*)?$", text, flags=re.MULTILINE), name


@pytest.mark.parametrize("package", [statistics, dx.metrics])
def test_errors_of_all_are_described_once(package):
    errors = ["PredictionError", "ArgumentError"]
    errors += ["AnnotationError", "DissensusWarning"] if package is statistics else []
    assert all(f"`{error}`" in package.__doc__ for error in errors)


@every_statistic
def test_statistics_share_their_arguments(entry):
    parameters = inspect.signature(entry.function).parameters
    second = {"predictions": ["predictions"], "scores": ["scores", "thresholds"]}
    first = ["annotations", *second.get(entry.takes, [])]
    assert list(parameters)[: len(first)] == first
    assert parameters["weights"].default is None
    assert parameters["weights"].kind is inspect.Parameter.KEYWORD_ONLY
    for variant in entry.variants:
        assert {name for name, _ in variant} <= set(parameters)


@every_variant
def test_result_is_named_and_within_bounds(entry, variant):
    main = entry.variable or entry.name
    for seed in range(2):
        for made in studies(entry, variant, seed, trials=bool(seed)):
            result = taken(entry, variant, made)
            for array in arrays(result):
                assert array.name
                assert array.dtype == np.float64
                assert not {"chain", "draw", "item"} & set(array.dims)
                assert all(dim in array.coords for dim in array.dims)
                assert entry.better in {array.attrs["better"], "none"}
                if isinstance(result, xr.Dataset) and array.name != main:
                    continue  # beside a ratio stands what was divided
                values = array.values[np.isfinite(array.values)]
                assert ((values >= entry.low - 1e-12) & (values <= entry.high + 1e-12)).all()
            if variant == dict(entry.variants[0]):
                assert main in {array.name for array in arrays(result)}


@every_variant
def test_some_value_is_defined(entry, variant):
    assert any(
        np.isfinite(array.values).any()
        for seed in range(8)
        for made in studies(entry, variant, seed)
        for array in arrays(taken(entry, variant, made))
    )


@every_variant
def test_it_is_what_its_sums_give(entry, variant):
    for made in studies(entry, variant, 3):
        args = arguments(entry, made)
        weights = np.random.default_rng(2).gamma(2.0, size=args[0].sizes["item"])
        with undefined_in_silence():
            result = entry.sums(*args, **variant).value(weights)
        assert_same(result, taken(entry, variant, made, weights=weights))


@every_statistic
def test_rankings_and_other_things_are_refused_in_words(entry, rankings):
    _, pred = rankings
    more = {"predictions": (pred,), "scores": (pred, [0.5])}.get(entry.takes, ())
    with pytest.raises(dx.AnnotationError):
        entry.function([[1, 2]], *more)
    if "ranking" not in entry.kinds:
        with pytest.raises(dx.AnnotationError, match="ranking"):
            entry.function(rankings[0], *more)
    if "continuous" not in entry.kinds:
        numbers = dx.from_matrix([[0.25, 1.5], [2.5, 3.5]], kind="continuous")
        labels = {"item": [0, 1], "system": ["m"] * 2, "label": [0.25, 1.5]}
        pred = dx.predictions(labels, kind="continuous")
        more = {"predictions": (pred,), "scores": (pred, [0.5])}.get(entry.takes, ())
        with pytest.raises(dx.AnnotationError, match=r'kind "continuous"|two labels'):
            entry.function(numbers, *more)


def test_an_unknown_statistic_is_refused_with_the_known_ones():
    with pytest.raises(dx.ArgumentError, match="krippendorff_alpha"):
        statistics.get("kappa")
    assert statistics.registered(len) is None
    assert statistics.registered(statistics.get) is None
