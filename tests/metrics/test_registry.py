"""What holds for every registered metric."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import arviz as az
import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects

import dissensus as dx
from dissensus import metrics
from dissensus.metrics import METRICS

COMMON = ("plausibility", "predictions", "weights", "per_item", "on_missing", "random_seed")
STUB = re.sub(
    r"import \(\n    (.*),\n\)",  # a name so long that its line is broken
    r"import \1",
    Path(dx.__file__).with_name("__init__.pyi").read_text(encoding="utf-8"),
)
pytestmark = pytest.mark.unit(9, long="all")
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
of_plausibilities = [
    m for m in METRICS if m.name not in {"annotation_certainty", "certainty"}
    and m.takes in {"lists", "plausibility"}
]  # fmt: skip
of_components = [m for m in METRICS if m.takes in {"components", "pools"}]
with_draws = pytest.mark.parametrize(
    "metric", of_plausibilities + of_components, ids=lambda metric: metric.name
)


def with_coefficients():
    """Return a fit with draws of two coefficients."""
    draws = np.random.default_rng(1).normal(size=(2, 40, 2))
    coefficient = xr.DataArray(draws, dims=("chain", "draw", "term"), coords={"term": ["x", "y"]})
    return xr.DataTree.from_dict({"posterior": coefficient.to_dataset(name="coefficient")})


def with_strengths():
    """Return a fit with draws of three strengths."""
    draws = np.random.default_rng(1).normal(size=(2, 40, 3))
    strength = xr.DataArray(draws, dims=("chain", "draw", "system"), coords={"system": list("abc")})
    return xr.DataTree.from_dict({"posterior": strength.to_dataset(name="strength")})


def arguments(metric, make):
    """Small arguments for a metric, whatever it takes."""
    theta = make.theta(1, draws=40)
    predictions = make.lists(1, theta)
    more = dict(metric.arguments)
    if metric.name == "group_labels":
        more["mapping"] = {f"l{k}": "even" if k % 2 == 0 else "odd" for k in range(5)}
    if metric.name == "expected_risk":
        more["risk"] = {f"l{k}": k for k in range(5)}
    if metric.name == "event_plausibility":
        parts = {"mean": theta.isel(label=0), "variance": theta.isel(label=1)}
        normal = xr.Dataset({name: part.drop_vars("label") for name, part in parts.items()})
        return (normal,), more | {"threshold": 0.2}
    if metric.takes == "scores":
        value = predictions["label_code"].isel(position=0, drop=True) + 0.5
        numbers = value.to_dataset(name="value").assign_attrs(kind="continuous")
        return (theta.isel(label=0, drop=True), numbers), more
    if metric.takes == "sets":
        rest = theta.drop_attrs()
        fits = {
            label: xr.concat([1 - share, share], xr.IndexVariable("label", ["no", "yes"]))
            for label, share in ((x, rest.sel(label=x, drop=True)) for x in ("l0", "l1"))
        }
        rows = {"item": np.repeat(theta["item"].to_numpy(), 2), "system": ["s", "t"] * 3}
        given = ["l0", "l0;l1", "-", "l1", "l0", "-"]
        sets = dx.predictions(rows | {"label": given}, kind="set", separator=";", none="-")
        return (fits, sets), more
    if metric.takes in {"probabilities", "two labels"}:
        two = theta.isel(label=[0, 1])
        two = (two / two.sum("label")).assign_coords(label=[0, 1]).drop_attrs()
        rows = {"item": np.repeat(two["item"].to_numpy(), 2), "system": ["s", "t"] * 3}
        if metric.takes == "two labels":
            return (two, dx.predictions(rows | {"label": [0, 1, 1, 1, 0, 0]})), more
        return (two, dx.predictions(rows | {0: [0.25] * 6, 1: [0.75] * 6})), more
    if metric.name == "majority_accuracy":  # where draws come second
        return (), more | {"accuracy": dx.top_k_accuracy(theta, predictions)}
    first = {
        "lists": (theta, predictions),
        "plausibility": (theta,),
        "draws": (dx.top_k_accuracy(theta, predictions),),
        "rankings": ([[0], [1, 2]], [[1]], 2, 4),
        "strengths": ([2.0, 1.0, 0.5, 0.5], [[0], [1, 2]]),
        "components": (crossed_effects("bernoulli", draws=40),),
        "pools": (cross_replication("ordinal", draws=40),),
        "coefficients": (with_coefficients(),),
        "pairs": (with_strengths(),),
    }
    if metric.takes == "pools":  # not a pool with itself, where all draws are 1
        more["reference"] = "b"
    return first[metric.takes], more


@every_metric
def test_is_public_and_found_by_name(metric):
    assert getattr(dx, metric.name) is metric.function
    assert metric.name in dir(dx)
    assert re.search(rf"^from \.metrics\.\w+ import {metric.name} as {metric.name}$", STUB, re.M)
    assert metrics.get(metric.name) is metric
    assert metric.name in metrics.names()


def test_every_public_function_of_the_metrics_is_registered():
    exported = re.findall(r"^from \.metrics\.\w+ import (\w+) as \w+$", STUB, flags=re.MULTILINE)
    assert set(exported) == set(metrics.names()), (
        "METRICS of src/dissensus/metrics/__init__.py and src/dissensus/__init__.pyi differ"
    )
    assert len(set(metrics.names())) == len(METRICS)


@every_metric
def test_docstring_is_complete(metric):
    text = inspect.getdoc(metric.function)
    for section in ("Parameters", "Returns", "Notes", "Examples"):
        assert f"\n{section}\n{'-' * len(section)}\n" in text, section
    assert ">>> " in text
    if metric.name != "compare":  # counting draws needs no source
        assert "Source: " in text
    for name in inspect.signature(metric.function).parameters:
        assert re.search(rf"^(.*, )?{name}(,.*)? ?(:.*)?$", text, flags=re.MULTILINE), name


@every_metric
def test_lists_share_their_arguments(metric):
    parameters = inspect.signature(metric.function).parameters
    first = next(iter(parameters))
    expected = {
        "lists": "plausibility",
        "plausibility": "plausibility",
        "rankings": "ranking",
        "strengths": "strengths",
        "components": "fit",
        "pools": "fit",
        "coefficients": "fit",
    }
    assert first == expected.get(metric.takes, first)
    if metric.takes != "lists":
        return
    common = COMMON if metric.name != "certainty" else ("plausibility", "predictions", "on_missing")
    assert set(common) <= set(parameters)
    for name in common[2:]:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["on_missing"].default == "raise"
    for name, _ in metric.arguments:
        assert name in parameters


@every_metric
def test_result_is_named_and_within_bounds(metric, make):
    args, more = arguments(metric, make)
    result = metric.function(*args, **more)
    if metric.takes in {"rankings", "strengths"}:  # one number of one thing
        assert isinstance(result, float)
        assert metric.low <= result <= metric.high
        return
    assert result.attrs.get("better", "none") == metric.better
    for array in result.data_vars.values() if isinstance(result, xr.Dataset) else [result]:
        assert array.name
        assert array.dtype == np.float64
        assert metric.low - 1e-12 <= float(array.min())
        assert float(array.max()) <= metric.high + 1e-12
        assert not set(array.attrs) - (
            {"better", "scale"} if metric in of_components else {"better"}
        )
        if {"chain", "draw"} <= set(array.dims):
            assert array.dims[:2] == ("chain", "draw")
    if metric.takes == "lists" and metric.name != "certainty":
        assert result.dims == ("chain", "draw", "system")
        each = metric.function(*args, **more, per_item=True)
        assert each.dims == ("chain", "draw", "item", "system")
        assert each.name == result.name
        assert list(result["system"].values) == ["s", "t"]


@with_draws
def test_arviz_takes_the_result(metric, make):
    args, more = arguments(metric, make)
    result = metric.function(*args, **more)
    # ArviZ 1.3 stacks into a dim of its own called "label", and fails where there is one.
    table = az.summary(result.rename(label="group") if "label" in result.dims else result)
    assert len(table) == result.isel(chain=0, draw=0).size
    assert table["mean"].notna().all()
    assert az.plot_forest(result.to_dataset()) is not None


def test_arviz_takes_a_comparison(make):
    theta = make.theta(1, draws=40)
    comparison = dx.compare(dx.top_k_accuracy(theta, make.lists(1, theta)))
    # Without the diagonal: a constant has no R-hat, and ArviZ warns.
    pair = comparison["difference"].sel(system="s", system_="t")
    assert len(az.summary(pair)) == 1


@pytest.mark.parametrize("metric", of_components, ids=lambda metric: metric.name)
def test_a_fit_read_from_a_file_is_the_same(metric, make, tmp_path):
    (fit,), more = arguments(metric, make)
    fit.to_netcdf(tmp_path / "fit.nc")
    with xr.open_datatree(tmp_path / "fit.nc") as back:
        for scale in ("latent", "observed"):
            result = metric.function(back, scale=scale, **more)
            xr.testing.assert_identical(result, metric.function(fit, scale=scale, **more))
            assert result.attrs == {"better": metric.better, "scale": scale}


@pytest.mark.parametrize("metric", of_plausibilities, ids=lambda metric: metric.name)
def test_a_fit_a_posterior_and_the_array_are_one(metric, make):
    args, more = arguments(metric, make)
    theta, rest = args[0], args[1:]
    expected = metric.function(theta, *rest, **more)
    posterior = theta.to_dataset(name="plausibility")
    tree = xr.DataTree.from_dict({"posterior": posterior})
    for source in (theta.rename("anything"), posterior, tree, tree["posterior"]):
        xr.testing.assert_identical(metric.function(source, *rest, **more), expected)


def test_an_unknown_metric_is_refused_with_the_known_ones():
    with pytest.raises(dx.ArgumentError, match="top_k_accuracy"):
        dx.metrics.get("accuracy")
