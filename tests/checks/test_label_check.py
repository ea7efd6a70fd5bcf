"""Each annotator's use of the labels, and each item's residuals, beside those of replicates.

The oracle: loops over draws, annotators and items.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

MODELS = {"crossed_effects": None, "cross_replication": ("old", "new")}
by_case = pytest.mark.parametrize(
    ("model", "family"),
    [(model, family) for model in MODELS for family in ("gaussian", "bernoulli", "ordinal")],
)


def made(model, family, draws=20, annotations=None, **options):
    ann = annotations
    if ann is None:
        ann = dx.simulate.replication_study(
            12, 5, 3, family=family, pools=MODELS[model], random_seed=1
        ).annotations
    fit = dx.models.get(model).module.fit(
        ann, family=family, draws=draws, chains=2, random_seed=5, progressbar=False,
        posterior_predictive=True, **options,
    )  # fmt: skip
    return fit, ann


def versions(fit, ann, numeric):
    """Return observed values and replicates (version, row), as labels or as numbers."""
    name = "score" if "value" in ann else "label_code"
    drawn = fit["posterior_predictive"][name].to_numpy()
    drawn = drawn.reshape(-1, drawn.shape[-1])
    seen = ann["value" if "value" in ann else "label_code"].to_numpy()
    if numeric and name == "label_code":
        worth = fit["constant_data"]["label_value"].to_numpy()
        return worth[seen], worth[drawn]
    return seen, drawn


def same(result, observed, replicated):
    """Compare all that is reported of one statistic."""
    assert float(result["observed"]) == pytest.approx(observed, abs=1e-12)
    assert float(result["replicated"]) == pytest.approx(np.mean(replicated), abs=1e-10)
    ends = np.quantile(replicated, [0.05, 0.95])
    assert [float(result["lower"]), float(result["upper"])] == pytest.approx(ends, abs=1e-10)
    gap = np.array(replicated) - observed
    tail = np.mean(np.where(np.abs(gap) < 1e-9, 0.5, gap > 0))
    assert float(result["tail_probability"]) == pytest.approx(tail)


@by_case
def test_labels_of_annotators_by_loops(model, family):
    fit, ann = made(model, family)
    check = dx.label_check(fit)
    seen, drawn = versions(fit, ann, numeric=False)
    who = ann["annotator"].to_numpy()[ann["annotator_code"]]
    assert set(check["annotator"].to_numpy()) == set(who)
    for name in check["annotator"].to_numpy():
        part, rows = check.sel(annotator=name), who == name
        assert int(part["n_labels"]) == rows.sum()
        if family == "gaussian":
            for word, function in {"mean": np.mean, "standard deviation": np.std}.items():
                more = {} if function is np.mean else {"ddof": 1}
                values = [function(y[rows], **more) for y in drawn]
                same(part.sel(statistic=word), function(seen[rows], **more), values)
        else:
            for code, label in enumerate(ann["label"].to_numpy()):
                values = [np.mean(y[rows] == code) for y in drawn]
                same(part.sel(label=label), np.mean(seen[rows] == code), values)


@by_case
def test_residuals_of_items_by_loops(model, family):
    fit, ann = made(model, family, keep_effects=False)
    check = dx.residual_check(fit)
    seen, drawn = versions(fit, ann, numeric=True)
    expected = drawn.mean(axis=0)
    item = ann["item"].to_numpy()[ann["item_code"]]
    assert check["item"].to_numpy().tolist() == ann["item"].to_numpy().tolist()
    for name in check["item"].to_numpy():
        part, rows = check.sel(item=name), item == name
        rest = [y[rows] - expected[rows] for y in (seen, *drawn)]
        same(part.sel(statistic="mean"), rest[0].mean(), [r.mean() for r in rest[1:]])
        spread = [np.sqrt(np.mean(r**2)) for r in rest]
        same(part.sel(statistic="spread"), spread[0], spread[1:])


@by_case
def test_annotations_may_be_given_and_blocks_do_not_matter(model, family, monkeypatch):
    fit, ann = made(model, family)
    for check in (dx.label_check, dx.residual_check):
        whole = check(fit)
        given = check(fit, ann)
        if "annotator" in given.dims:
            given = given.sel(annotator=whole["annotator"])
        xr.testing.assert_allclose(given, whole)
        monkeypatch.setattr("dissensus.checks._replicates.ROWS", 90)
        xr.testing.assert_allclose(check(fit), whole, rtol=1e-12)


def test_who_uses_the_scale_in_another_way_is_found():
    ann = dx.simulate.replication_study(200, 10, 5, family="ordinal", random_seed=2).annotations
    code, who = ann["label_code"].to_numpy().copy(), ann["annotator_code"].to_numpy()
    own = code[who == 3]
    code[who == 3] = np.where(own >= 2, 4, 0)  # only the ends
    ann = ann.assign(label_code=("annotation", code))
    fit, _ = made("crossed_effects", "ordinal", 200, ann)
    check = dx.label_check(fit)
    far = (check["tail_probability"] < 0.005) | (check["tail_probability"] > 0.995)
    odd = ann["annotator"].to_numpy()[3]
    assert far.sel(annotator=odd).sum() >= 4
    others = far.drop_sel(annotator=odd)
    assert float(others.mean()) < 0.2
    assert repr(int(odd)) in check.attrs["in_words"]


def test_an_item_that_splits_the_annotators_is_found():
    ann = dx.simulate.replication_study(100, 12, 6, random_seed=3).annotations
    value, item = ann["value"].to_numpy().copy(), ann["item_code"].to_numpy()
    value[item == 7] += np.array([4.0, -4.0] * 3)
    fit, _ = made("crossed_effects", "gaussian", 200, ann.assign(value=("annotation", value)))
    check = dx.residual_check(fit)
    tail = check["tail_probability"].sel(statistic="spread")
    assert float(tail[7]) < 0.005
    assert "spread of residuals" in check.attrs["in_words"]


@pytest.mark.long
def test_a_true_model_is_rarely_outside():
    for family in ("gaussian", "bernoulli", "ordinal"):
        ann = dx.simulate.replication_study(100, 20, 5, family=family, random_seed=4).annotations
        fit, _ = made("crossed_effects", family, 200, ann)
        for check in (dx.label_check(fit), dx.residual_check(fit)):
            tail = check["tail_probability"]
            assert float(((tail < 0.05) | (tail > 0.95)).mean()) < 0.15


def test_who_said_too_little_has_no_spread_and_who_said_nothing_has_nothing():
    ann = dx.simulate.replication_study(12, 5, 3, random_seed=1).annotations
    rows = np.flatnonzero(ann["annotator_code"] != 2)
    first = np.flatnonzero(ann["annotator_code"] == 1)
    few = ann.isel(annotation=np.setdiff1d(rows, first[1:]))
    fit, _ = made("crossed_effects", "gaussian", 20, few)
    check = dx.label_check(fit, few)
    assert check["n_labels"].to_numpy()[[1, 2]].tolist() == [1, 0]
    assert check["observed"].isnull().to_numpy()[[1, 2]].tolist() == [[False, True], [True, True]]
    empty = few.isel(annotation=np.flatnonzero(few["item_code"] != 4))
    fit, _ = made("crossed_effects", "gaussian", 20, empty)
    check = dx.residual_check(fit)
    assert check["tail_probability"].isnull().all("statistic").to_numpy().nonzero()[0] == [4]


@pytest.mark.long
def test_survives_netcdf(tmp_path):
    fit, _ = made("cross_replication", "ordinal")
    fit.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    again = xr.open_datatree(tmp_path / "fit.nc", engine="h5netcdf")
    for check in (dx.label_check, dx.residual_check):
        xr.testing.assert_allclose(check(again), check(fit))
        check(fit).to_netcdf(tmp_path / "check.nc", engine="h5netcdf")


def test_an_evaluation_is_no_fit():
    tree = xr.DataTree.from_dict({"statistics": xr.Dataset(), "posterior": xr.Dataset()})
    tree.attrs["model"] = "dirichlet"
    with pytest.raises(dx.ArgumentError, match=r"found an evaluation\. Fit the model: .*dirichlet"):
        dx.items_to_review(tree)
