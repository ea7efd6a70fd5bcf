"""Rows of sections: each number once, and whole numbers of names and counts as they are."""

from __future__ import annotations

from types import SimpleNamespace

import arviz as az
import everything
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx
from dissensus.evaluation.evidence import (
    ACCURACY_COLUMNS,
    COMPONENT_COLUMNS,
    GROUND_TRUTH_COLUMNS,
    accuracy_rows,
    adjusted,
    ground_truth_rows,
)
from dissensus.sampling.intervals import whole

SAMPLE = {"chain": [0, 1], "draw": range(50)}


def draws(means, dims, coords):
    rng = np.random.default_rng(1)
    means = np.asarray(means, dtype=float)
    values = means + 0.01 * rng.normal(size=(2, 50, *means.shape))
    return xr.DataArray(values, dims=("chain", "draw", *dims), coords=SAMPLE | coords)


def dictated(people=(0.7, 0.6), who=(10, 20), systems=("a", "b")):
    scopes = ["these items", "new items"]
    shared = {"system": list(systems)}
    data = xr.Dataset({
        "estimated_accuracy": draws([[0.9, 0.8], [0.91, 0.81]], ("scope", "system"),
                                    {"scope": scopes} | shared),
        "majority_accuracy": xr.DataArray([0.7, 0.65], shared, ["system"]),
        "annotator_majority": xr.DataArray([0.5, np.nan], {"annotator": list(who)}, ["annotator"]),
        "annotator_accuracy": draws(people, ("annotator",), {"annotator": list(who)}),
    })  # fmt: skip
    metric = draws([[[0.6, 0.5]], [[0.6, 0.5]]], ("scope", "reliability", "system"),
                   {"scope": scopes, "reliability": [1.0]} | shared)  # fmt: skip
    metrics = xr.Dataset({"top_1_accuracy": metric})
    tree = xr.DataTree.from_dict({"accuracy": data, "metrics": metrics})
    tree.attrs["reference_reliability"] = 1.0
    return tree


def test_rows_say_each_number_once():
    rows = accuracy_rows(dictated())
    assert list(rows.columns) == list(ACCURACY_COLUMNS)
    assert rows["of"].tolist() == ["system"] * 4 + ["annotator"] * 2
    assert rows["name"].tolist() == ["a", "b", "a", "b", 10, 20]
    assert not rows.duplicated(["of", "name", "scope"]).any()
    first = rows.iloc[2]
    assert first["scope"] == "new items"
    assert first["mean"] == pytest.approx(0.91, abs=0.01)
    assert first["lower"] < first["mean"] < first["upper"]
    assert first["majority"] == 0.7
    assert first["uncertainty_adjusted"] == pytest.approx(0.6, abs=0.01)
    assert rows["ess_bulk"].notna().all()
    assert rows["uncertainty_adjusted"].notna().tolist() == [True] * 4 + [False] * 2
    assert rows["majority"].isna().tolist() == [False] * 5 + [True]


def test_names_that_are_numbers_stay_whole_numbers(tmp_path):
    rows = accuracy_rows(dictated(systems=(1, 2)))
    assert not any(isinstance(name, float) for name in rows["name"])
    rows.to_csv(tmp_path / "accuracy.csv", index=False)
    table = pd.read_csv(tmp_path / "accuracy.csv", dtype=str)
    assert table["name"].tolist() == ["1", "2", "1", "2", "10", "20"]


def test_one_accuracy_for_all_annotators_has_one_row():
    tree = dictated()
    data = tree["accuracy"].to_dataset()
    data["annotator_accuracy"] = data["annotator_accuracy"].isel(annotator=0, drop=True)
    tree["accuracy"] = data
    rows = accuracy_rows(tree)
    people = rows[rows["of"] == "annotator"]
    assert len(people) == 1
    assert people["name"].item() is None
    assert people["majority"].item() == 0.5


def test_without_the_metric_nothing_is_adjusted():
    tree = dictated()
    tree["metrics"] = xr.Dataset({"kendall_tau": tree["metrics"]["top_1_accuracy"]})
    assert adjusted(tree) is None
    assert accuracy_rows(tree)["uncertainty_adjusted"].isna().all()


@pytest.mark.parametrize(
    ("of", "columns"),
    [("accuracy", ACCURACY_COLUMNS), ("weighted_reliability", GROUND_TRUTH_COLUMNS),
     ("components", COMPONENT_COLUMNS)],
)  # fmt: skip
def test_a_section_that_is_left_out_has_no_rows(evaluated, of, columns):
    result = evaluated("three items", dx.from_matrix([["x", "y", "z"]] * 3), draws=20)
    rows = dx.summary(result, of)
    assert rows.empty
    assert list(rows.columns) == list(columns)


def truths(needed=5.0):
    rng = np.random.default_rng(1)
    noise = 0.01 * rng.normal(size=(2, 50))
    sample = ("chain", "draw")
    data = xr.Dataset(
        {
            "concordance": (sample, 0.6 + noise),
            "annotators_for_truth": (sample, np.full((2, 50), needed)),
        },
    )
    return xr.DataTree.from_dict({"weighted_reliability": data})


def test_rows_of_a_ground_truth_say_each_number_once():
    rows = ground_truth_rows(truths())
    assert list(rows.columns) == list(GROUND_TRUTH_COLUMNS)
    assert rows["quantity"].tolist() == [
        "concordance", "annotators_for_truth",
    ]  # fmt: skip
    np.testing.assert_allclose(rows["mean"], [0.6, 5], atol=0.01)
    assert (rows["lower"] <= rows["median"]).all()
    assert (rows["median"] <= rows["upper"]).all()


def test_where_no_number_will_do_there_is_no_mean():
    actual = whole(xr.DataArray([[3.0, 5.0, 5.0, 5.0, np.inf]], dims=("chain", "draw")))
    assert (actual["lower"], actual["median"], actual["upper"]) == (3, 5, np.inf)
    assert np.isnan(actual["mean"])
    assert np.isnan(actual["sd"])
    assert whole(xr.DataArray([[3.0, 5.0]], dims=("chain", "draw")))["mean"] == pytest.approx(4)


# Every number of every group, held against the draws in which it has its place.


def _metric(tree, row):
    side = tree if row.model == tree.attrs["model"] else tree["companion"]
    at = {"reliability": row.reliability, "scope": row.scope, "system": row.system}
    return side["metrics"][row.metric].sel(at), {
        "naive": side["statistics"][f"naive_{row.metric}"].sel(system=row.system),
        "probability_best": side["comparison"]["probability_best"].sel(at | {"metric": row.metric}),
    }


def _answer(tree, row):
    draws = tree["answers"][row.quantity]
    return draws.sel(system=row.system) if "system" in draws.dims else draws, {}


def _statistic(tree, row):
    group = "agreement" if row.statistic in tree["agreement"] else "discrepancy"
    draws, point = tree[group][row.statistic], tree["statistics"][row.statistic]
    at = {dim: getattr(row, dim) for dim in draws.dims[2:]}
    return draws.sel(at), {"observed": point.sel(at), "undefined": 0.0}


def _component(tree, row):
    draws = tree["components" if row.by == "model" else "pools"][row.quantity]
    at = {dim: getattr(row, dim) for dim in ("scale", "pool", "pool_") if dim in draws.dims}
    result = {"undefined": 0.0}
    if row.quantity.endswith("_difference"):
        result["probability_positive"] = (draws.sel(at) > 0).mean()
    if row.by == "bootstrap":
        result["observed"] = tree["pools"][f"observed_{row.quantity}"].sel(at)
    return draws.sel(at), result


def _accuracy(tree, row):
    data = tree["accuracy"].to_dataset()
    if row.of == "annotator":
        at = {"annotator": row.name}
        return data["annotator_accuracy"].sel(at), {"majority": data["annotator_majority"].sel(at)}
    at = {"scope": row.scope, "system": row.name}
    metric = tree["metrics"]["top_1_accuracy"].sel(
        at | {"reliability": tree.attrs["reference_reliability"]}
    )
    return data["estimated_accuracy"].sel(at), {
        "majority": data["majority_accuracy"].sel(system=row.name),
        "uncertainty_adjusted": metric.mean(),
    }


def _ground_truth(tree, row):
    draws = tree["weighted_reliability"][row.quantity]
    return draws, {"median": draws.median()}


GROUPS = {
    "metrics": _metric, "answers": _answer, "statistics": _statistic, "components": _component,
    "accuracy": _accuracy, "weighted_reliability": _ground_truth,
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("of", GROUPS)
def test_every_number_of_a_summary_is_that_of_its_draws(of):
    tree, wrong = everything.evaluation(), []
    with az.rc_context({"stats.ci_kind": "hdi", "stats.ci_prob": 0.7}):
        table = dx.summary(tree, of)
    keys = {"scale", "pool", "pool_", "reliability"}
    for row in table.rename(columns={"name": "name_"}).itertuples():
        row = row._asdict() | {"name": getattr(row, "name_", None)}
        draws, expected = GROUPS[of](tree, SimpleNamespace(**row))
        if row.get("quantity") == "annotators_for_truth":
            continue  # whole numbers have a test above
        if row.get("quantity") == "annotators_outweigh_items":
            expected = {"mean": draws}
        else:
            low, high = az.hdi(draws.to_numpy().ravel(), prob=0.7)
            expected |= {"mean": draws.mean(), "sd": draws.std(ddof=1), "lower": low, "upper": high}
            if "ess_bulk" in row and row.get("by") != "bootstrap":
                expected |= {"ess_bulk": az.ess(draws, method="bulk"), "r_hat": az.rhat(draws)}
        numbers = table.select_dtypes("number").columns.difference(keys)
        expected = dict.fromkeys(numbers, np.nan) | {k: float(v) for k, v in expected.items()}
        wrong += [(row["Index"], name, row[name], value) for name, value in expected.items()
                  if not np.isclose(row[name], value, rtol=1e-9, equal_nan=True)]  # fmt: skip
    assert wrong == []


QUICK = {"draws": 40, "tune": 40, "chains": 2, "random_seed": 1, "progressbar": False}


def _fit(model):
    rng = np.random.default_rng(1)
    if model == "dawid_skene":
        study = dx.simulate.confusion_study(40, 5, 3, random_seed=1)
        return dx.models.dawid_skene.fit(study.annotations, **QUICK)
    if model == "cross_replication":
        study = dx.simulate.replication_study(30, [5, 5], [3, 3], pools=["p", "q"], random_seed=1)
        return dx.models.cross_replication.fit(study.annotations, **QUICK)
    sides = np.array([rng.permutation(list("abc"))[:2] for _ in range(90)])
    votes = {"left": sides[:, 0], "right": sides[:, 1], "item": np.arange(90) % 4,
             "winner": rng.choice(["left", "right", "tie"], 90)}  # fmt: skip
    return dx.models.bradley_terry.fit(dx.pairs(votes, item="item"), **QUICK)


@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
@pytest.mark.parametrize("model", ["dawid_skene", "cross_replication", "bradley_terry"])
def test_rows_of_a_fit_have_the_numbers_of_their_names(model):
    """ArviZ 1.3.0 names values of q(a, b) as if they were q(b, a) where p(b) comes first."""
    fit = _fit(model)
    posterior = fit["posterior"].to_dataset()
    tables = [dx.summary(fit)]
    if model == "bradley_terry":  # the others have a dim "label", or dims that no order helps
        tables.append(az.summary(fit))
    several = 0
    for table in tables:
        for row, mean in table["mean"].items():
            name, _, places = row.rstrip("]").partition("[")
            values = posterior[name].mean(("chain", "draw"))
            names = dict(zip(values.dims, places.split(", "), strict=False))
            at = {dim: values[dim].to_numpy().astype(str).tolist().index(place)
                  for dim, place in names.items()}  # fmt: skip
            expected = float(values.isel(at))  # NaN for annotators of another pool
            assert float(mean) == pytest.approx(expected, abs=0.006, rel=0.006, nan_ok=True)
            several += len(at) > 1
    assert several > 3
