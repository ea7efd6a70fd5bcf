"""What statistics do with settings that make no sense, and what they say of those they took."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from statistic_cases import arguments, every_statistic, studies, undefined_in_silence

import dissensus as dx
from dissensus.statistics import STATISTICS
from dissensus.statistics._read import code_of, names_in, proportion, whole

pytestmark = pytest.mark.unit(10)

NONSENSE = {
    "None": None,
    "3.5": 3.5,
    "text": "qq",
    "half of a surrogate pair": "\ud800",
    "bytes": b"x\xff",
    "true": True,
    "huge": 10**400,
    "list": [],
    "ragged": [1, [2], 3],
    "lists": [[1, 2], [3]],
    "mapping": {},
    "set": frozenset("xy"),
    "object": object(),
    "array": np.array([1, 2]),
    "matrix": np.array([[1]]),
    "Series": pd.Series([1, 2, 3]),
    "frame": pd.DataFrame({"r0": [1]}),
    "missing": pd.NA,
    "DataArray": xr.DataArray([1.0, 2.0], dims="x"),
    "Dataset": xr.Dataset(),
    "tree": xr.DataTree(),
}
FITS = {
    "positive": set(),
    "random_seed": {"true", "huge", "list", "array"},
    "thresholds": {"3.5", "array", "Series", "DataArray"},
    "normalized": {"true"},
    "per_item": {"true"},
    "per_pair": {"true"},
    "by_pool": {"true"},
    "per_annotator": {"true"},
}
"""By argument: what of the above it can make sense of. None fits where it is the default."""

DATA = {"annotations", "predictions", "scores"}
INSTEAD = {"accuracy"}
"""None by default, and None only with another argument in its place."""


@functools.cache
def sensible(name):
    """Return a statistic's arguments by name."""
    entry = next(entry for entry in STATISTICS if entry.name == name)
    variant = dict(entry.variants[0])
    args = arguments(entry, studies(entry, variant, 3)[0])
    names = list(inspect.signature(entry.function).parameters)[: len(args)]
    return entry.function, dict(zip(names, args, strict=True)) | variant


@every_statistic
def test_nonsense_is_refused_by_the_name_of_the_argument(entry):
    function, given = sensible(entry.name)
    others = {"Dataset of annotations": given["annotations"]}
    others |= {f"Dataset of {name}": given[name] for name in ("predictions",) if name in given}
    for name, parameter in inspect.signature(function).parameters.items():
        none = parameter.default is None and name not in INSTEAD
        fits = FITS.get(name, set()) | ({"None"} if none else set())
        for nonsense, value in (NONSENSE | others).items():
            if value is given.get(name) and value is not None:
                continue
            try:
                with undefined_in_silence():
                    result = function(**{**given, name: value})
            except dx.DissensusError as problem:
                # Of a Dataset, the part of it is named that is not as it should be; and these
                # annotations have no strata, which is true of them and not of the argument.
                complains_of = "annotations" if (name, nonsense) == ("stratified", "true") else name
                assert problem.subject == complains_of or name in DATA, nonsense
                assert "\n" not in str(problem) or name == "random_seed", nonsense
                assert nonsense not in fits, name
            else:
                assert isinstance(result, xr.DataArray | xr.Dataset)
                assert nonsense in fits, name


@pytest.mark.parametrize("nonsense", [name for name in NONSENSE if name != "3.5"])
def test_numbers_of_tests_and_of_margins_are_checked_too(nonsense):
    _, given = sensible("winning_rate")
    given = {"annotations": given["annotations"], "predictions": given["predictions"]}
    for name in ("epsilon", "q", "min_items"):
        with pytest.raises(dx.ArgumentError, match=f"{name}: expected"):
            dx.alt_test(**{**given, "epsilon": 0.1, name: NONSENSE[nonsense]})
    draws = xr.DataArray([[0.8, 1.05]], dims=("chain", "draw"))
    with pytest.raises(dx.ArgumentError, match="margin: expected a number"):
        dx.non_inferiority(draws, margin=NONSENSE[nonsense])


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("krippendorff_alpha", {}, {"level": "nominal"}),
        *[("krippendorff_alpha", {"level": level}, {"level": level})
          for level in ("nominal", "ordinal", "interval", "ratio")],
        ("gwet_ac", {}, {"weighting": "none"}),
        ("gwet_ac", {"weighting": "linear"}, {"weighting": "linear"}),
        ("bennett_s", {"weighting": "quadratic"}, {"weighting": "quadratic"}),
        ("cohen_kappa", {"annotators": [4, 2]}, {"weighting": "none", "annotators": ["4", "2"]}),
        ("iota", {}, {"distance": "nominal"}),
        ("iota", {"distance": "interval"}, {"distance": "squared"}),
        ("iota", {"distance": lambda a, b: float(a != b)}, {"distance": "callable"}),
        ("cross_kappa", {"pools": ["b", "a"]}, {
            "distance": "nominal", "missing": "weighted", "normalized": 0, "pools": ["b", "a"]}),
        ("cross_kappa", {"missing": "items", "normalized": True, "distance": "absolute"}, {
            "distance": "absolute", "missing": "items", "normalized": 1, "pools": ["a", "b"]}),
        ("leave_one_out_agreement", {"ties": "any"}, {"ties": "any"}),
        ("leave_one_out_agreement", {"per_item": True}, {"ties": "share"}),
    ],
)  # fmt: skip
def test_a_result_says_which_coefficient_it_is(name, more, expected, tmp_path):
    rng = np.random.default_rng(5)
    item, annotator = np.divmod(np.arange(200), 5)
    frame = {"item": item, "annotator": annotator, "label": rng.integers(1, 4, 200),
             "group": np.where(annotator < 3, "a", "b")}  # fmt: skip
    # Noise alone has no alpha to normalise by.
    frame["label"] = np.where(rng.random(200) < 0.5, item % 3 + 1, frame["label"])
    ann = dx.annotations(frame, kind="ordinal", pool="group")
    actual = getattr(dx, name)(ann, **more)
    assert actual.attrs == expected | {"better": "higher"}
    assert all(type(value) in {str, int, list} for value in actual.attrs.values())
    actual.to_netcdf(tmp_path / "found.nc", engine="h5netcdf")
    with xr.open_dataarray(tmp_path / "found.nc", engine="h5netcdf") as back:
        assert {key: listed(value) for key, value in back.attrs.items()} == actual.attrs


def listed(value):
    """Return what a file gives back for a number or a list of texts."""
    return (
        value.item() if isinstance(value, np.generic) else getattr(value, "tolist", lambda: value)()
    )


def test_statistics_of_systems_say_their_settings(votes, rankings):
    rate = dx.winning_rate(*votes, epsilon=0.2, min_items=1)
    more = {"epsilon": 0.2, "min_items": 1, "better": "higher"}
    assert rate.attrs == {"distance": "nominal", **more}
    # The depth and the tolerance are half of what a distance is.
    assert dx.winning_rate(*rankings, epsilon=0.2, min_items=1).attrs["depth"] == 3
    ann = dx.from_matrix([[1.0, 1.5], [2.0, 2.5]])
    pred = dx.predictions({"item": [0, 1], "system": ["m"] * 2, "label": [1.2, 2.4]})
    how = {"distance": "hinge", "tolerance": 0.25}
    assert dx.advantage_probability(ann, pred, **how).attrs == {**how, "better": "higher"}
    assert dx.alt_test(ann, pred, 0.1, **how, min_items=2).attrs["tolerance"] == 0.25


@pytest.mark.parametrize(
    ("labels", "positive", "recorded"),
    [
        ((False, True), True, 1), ((False, True), False, 0), ((False, True), np.True_, 1),
        ((False, True), 1, 1), ((False, True), None, 1), ((1, 2), True, 1), ((1, 2), 2.0, 2),
        (("no", "yes"), None, "yes"), (("no", "yes"), "no", "no"),
        (("no", "yes"), np.array("no"), "no"),
    ],
)  # fmt: skip
def test_the_positive_label_is_found_alike_and_recorded(labels, positive, recorded):
    table = np.array([[0, 0, 0, 1], [1, 1, 0, 1], [1, 1, 1, 0]])
    cells = [(i, r, labels[table[i, r]]) for i in range(3) for r in range(4)]
    item, annotator, label = zip(*cells, strict=True)
    ann = dx.annotations({"item": item, "annotator": annotator, "label": label}, kind="nominal")
    answers = [labels[code] for code in (0, 1, 1)]
    pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": answers}, kind="nominal")
    scores = dx.relative_f1(ann, pred, [2, 3], positive=positive)
    curve = dx.discrepancy_curve(ann, {0: 0.2, 1: 0.7, 2: 0.9}, [0.5], positive=positive)
    for result in (scores, curve):
        assert result.attrs["positive"] == recorded
        assert type(result.attrs["positive"]) in {str, int}
    # As in test_relative_f1: 5/12 of the second label, 2/3 of the first.
    first = code_of(recorded, np.array([int(x) if isinstance(x, bool) else x for x in labels])) == 0
    assert float(scores[0]) == pytest.approx(2 / 3 if first else 5 / 12)


def test_no_label_is_positive_where_all_count():
    ann = dx.from_matrix([["x", "x", "y"], ["y", "y", "z"], ["z", "y", "x"]])
    pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": list("xyz")})
    assert "positive" not in dx.relative_f1(ann, pred, [2]).attrs


STRAY = {
    "nominal": lambda ann, pred: dx.discrepancy_ratio(ann, pred),
    "jaccard": lambda ann, pred: dx.discrepancy_ratio(ann, pred, "jaccard"),
    "callable": lambda ann, pred: dx.discrepancy_ratio(ann, pred, lambda y, z: float(y != z)),
    "advantages": lambda ann, pred: dx.advantage_probability(ann, pred),
    "winning rate": lambda ann, pred: dx.winning_rate(ann, pred, min_items=1),
    "alt_test": lambda ann, pred: dx.alt_test(ann, pred, 0.1, min_items=2),
    "vote": lambda ann, pred: dx.majority_vote_accuracy(ann, pred),
    "f1": lambda ann, pred: dx.relative_f1(ann, pred, [2]),
    "draws": lambda ann, pred: dx.bayesian_bootstrap(
        dx.discrepancy_ratio, ann, pred, draws=2, random_seed=1
    ),
}


@pytest.mark.parametrize("call", STRAY.values(), ids=STRAY)
def test_a_warning_of_stray_labels_points_at_who_called(call):
    ann = dx.from_matrix([["x", "x", "y"], ["y", "x", "y"], ["y", "y", "y"]] * 8)
    pred = dx.predictions({"item": range(24), "system": ["m"] * 24, "label": list("xyz") * 8})
    with pytest.warns(dx.DissensusWarning, match="outside the label space") as caught:
        call(ann, pred)
    assert {record.filename for record in caught} == {__file__}


def test_a_warning_of_annotators_left_out_points_at_who_called():
    ann = dx.from_matrix([["x", "y", "x"], ["x", "y", "x"]], labels=["x", "y", "z"])
    ann = dx.annotations(
        {"item": [0, 0, 1, 1, 2], "annotator": list("ababc"), "label": list("xxyyx")}
    )
    pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": list("xyx")})
    with pytest.warns(dx.DissensusWarning, match="leaves out 1") as caught:
        dx.relative_f1(ann, pred, ["b", "c"])
    assert {record.filename for record in caught} == {__file__}


def test_thresholds_of_systems_are_numbers_and_one_each():
    ann = dx.from_matrix([["no", "no"], ["no", "yes"], ["yes", "yes"]])
    scores = xr.DataArray(
        [[0.1, 0.2], [0.6, 0.3], [0.8, 0.9]], dims=("item", "system"),
        coords={"item": [0, 1, 2], "system": ["a", "b"]},
    )  # fmt: skip
    for values, names in ((["x", "y"], ["a", "b"]), ([0.1, 0.2], ["a", "a"])):
        given = xr.DataArray(values, dims="system", coords={"system": names})
        with pytest.raises(dx.ArgumentError, match="thresholds: expected a number for each"):
            dx.discrepancy_curve(ann, scores, given)


def test_scores_name_each_item_once():
    ann = dx.from_matrix([["no", "no"], ["no", "yes"]])
    with pytest.raises(
        dx.PredictionError, match="scores: expected each item once; found 1 more than once"
    ):
        dx.discrepancy_curve(ann, pd.Series([0.1, 0.5, 0.6], index=[0, 1, 1]), [0.3])


def test_names_may_come_in_any_sequence():
    for given in (["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Series(["a", "b"]),
                  xr.DataArray(["a", "b"]), iter("ab"), {"a": 1, "b": 2}.keys()):  # fmt: skip
        assert names_in("pools", given, "two").tolist() == ["a", "b"]
    assert names_in("pools", np.array([1, 2]), "two").tolist() == [1, 2]


def test_numbers_have_their_bounds():
    assert (whole("n", np.int8(2), 1), proportion("p", np.float32(0.5))) == (2, 0.5)
    for value in (True, np.True_, 0, 1.0, np.timedelta64(3, "s"), 2**63):
        with pytest.raises(dx.ArgumentError, match="n: expected a whole number, 1 or more"):
            whole("n", value, 1)
    for value in (-0.1, 1, np.nan, 0.5j, np.complex64(0.5), np.timedelta64(0, "s")):
        with pytest.raises(dx.ArgumentError, match="p: expected a number from 0 to below 1"):
            proportion("p", value)
