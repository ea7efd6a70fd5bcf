"""The two forms of a plausibility: laying out, taking out, and refusing what is neither."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.plausibility import (
    PADDING,
    REMAINDER,
    candidate_form,
    layout,
    plausibility_of,
    space,
)


@pytest.fixture
def ann():
    return dx.from_rankings(
        {"x": {"r": [["b"], ["a"]], "s": [["c"], ["b"]]}, "y": {"r": [["d"]]}}, labels="abcd"
    )


@pytest.fixture
def lumped(ann):
    where = layout(ann)
    values = np.random.default_rng(1).dirichlet(np.ones(4), size=(2, 3, 2)) * (where.sizes > 0)
    values /= values.sum(-1, keepdims=True)
    items, labels = ann["item"].values, ann["label"].values
    return candidate_form(values, where, items, labels, concentration=0.5, seed=4)


def test_layout_of_every_row(ann):
    where = layout(ann)
    assert where.codes.tolist() == [[0, 1, 2, REMAINDER], [3, PADDING, PADDING, REMAINDER]]
    assert where.sizes.tolist() == [[1, 1, 1, 1], [1, 0, 0, 3]]
    for row in range(ann.sizes["annotation"]):
        item, label = int(ann["item_code"][row]), int(ann["label_code"][row])
        assert where.codes[item, where.place[row]] == label


def test_candidate_form_names_what_has_a_name(lumped):
    assert lumped.dims == ("chain", "draw", "item", "candidate")
    names, sizes = lumped["candidate_label"].values, lumped["candidate_size"].values
    assert names[0].tolist() == ["a", "b", "c", "d"]  # a remainder of one label is that label
    assert names[1].tolist() == ["d", "", "", ""]
    assert sizes.sum(axis=1).tolist() == [4, 4]
    where = space(lumped)
    assert not where.dense
    assert where.labels.tolist() == list("abcd")
    assert where.codes.tolist() == [[0, 1, 2, 3], [3, PADDING, PADDING, REMAINDER]]
    assert (where.concentration, where.seed) == (0.5, 4)


def test_point_estimates_have_the_last_dims_only(ann):
    where = layout(ann)
    items, labels = ann["item"].values, ann["label"].values
    point = candidate_form(np.ones((2, 4)), where, items, labels, concentration=np.inf, seed=0)
    assert point.dims == ("item", "candidate")


@pytest.mark.parametrize("label", ["only", 3])
def test_netcdf_keeps_the_label_space(ann, tmp_path, label):
    # A list of one comes back as the one, other lists as arrays or lists.
    single = dx.from_rankings({"x": {"r": [[label]]}}, labels=[label])
    for number, source in enumerate((single, ann)):
        where = layout(source)
        form = candidate_form(
            where.sizes / where.sizes.sum(axis=-1, keepdims=True),
            where,
            source["item"].values,
            source["label"].values,
            concentration=np.inf,
            seed=1,
        )
        path = tmp_path / f"{number}.nc"
        xr.DataTree.from_dict({"posterior": form.to_dataset()}).to_netcdf(path)
        with xr.open_datatree(path) as back:
            result = space(plausibility_of(back))
            assert result.labels.tolist() == source["label"].values.tolist()
            np.testing.assert_array_equal(result.codes, space(form).codes)
            assert result.concentration == np.inf


def test_dims_come_in_order_whatever_theirs_was(lumped):
    turned = lumped.transpose("candidate", "draw", "item", "chain")
    assert plausibility_of(turned).dims[-2:] == ("item", "candidate")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.ones((1, 2)), "a DataTree from fit, a Dataset, or a DataArray; found ndarray"),
        (xr.Dataset({"other": 1}), "found the variables 'other'"),
        (xr.Dataset(), "found the variables none"),
        (xr.DataTree(), "found the variables none"),
        (xr.DataArray([0.5, 0.5], dims="label"), "expected dims"),
        (xr.DataArray([0.5, 0.5], dims="item"), "expected dims"),
        (xr.DataArray([[[1.0]]], dims=("item", "label", "candidate")), "expected dims"),
        (xr.DataArray([[1.0]], dims=("item", "candidate")), "coordinates candidate_.*whole trace"),
        (xr.DataArray([["a"]], dims=("item", "label")), "expected numbers"),
        (xr.DataArray(np.ones((0, 2)), dims=("item", "label")), r"shape \(0, 2\)"),
    ],
)
def test_what_is_no_plausibility(source, message):
    with pytest.raises(dx.ArgumentError, match=message):
        plausibility_of(source)


def test_labels_must_be_distinct():
    theta = xr.DataArray(
        [[0.5, 0.5]], dims=("item", "label"), coords={"item": [1], "label": ["a", "a"]}
    )
    with pytest.raises(dx.ArgumentError, match="distinct labels; found 'a' more than once"):
        space(theta)


def test_text_of_any_kind_is_text():
    labels = np.array(["a", "b"], dtype=np.dtypes.StringDType())
    theta = xr.DataArray([[0.5, 0.5]], dims=("item", "label"), coords={"label": labels})
    assert space(theta).labels.dtype.kind == "U"


@pytest.mark.parametrize(
    ("names", "sizes", "labels", "message"),
    [
        (["a", ""], [1, 1], list("abc"), "candidate_size is 1; found ''"),
        (["z", ""], [1, 2], list("abc"), "candidate_size is 1; found 'z'"),
        (["a", ""], [1, 1], None, None),  # an odd name, but a name
        (["a", ""], [1, 3], list("abc"), "add up to the label space, 3, .*found sums 4"),
        (["a", ""], [1, -1], list("abc"), "add up to the label space"),
        (["a", "a"], [1, 1], list("ab"), "each label once for an item"),
    ],
)
def test_candidates_must_make_up_the_label_space(names, sizes, labels, message):
    theta = xr.DataArray(
        [[0.5, 0.5]],
        dims=("item", "candidate"),
        coords={
            "candidate_label": (("item", "candidate"), [names]),
            "candidate_size": (("item", "candidate"), [sizes]),
        },
        attrs={} if labels is None else {"labels": labels},
    )
    if message is None:
        assert space(theta).labels.tolist() == ["", "a"]
        return
    with pytest.raises(dx.ArgumentError, match=message):
        space(theta)


def test_items_must_agree_on_the_size_of_the_label_space(lumped):
    del lumped.attrs["labels"]
    sizes = lumped["candidate_size"].copy()
    sizes[1, -1] = 7
    with pytest.raises(dx.ArgumentError, match="found sums 4, 8"):
        space(lumped.assign_coords(candidate_size=sizes))


def test_draws_of_pymc_get_the_names_that_metrics_read(rankings):
    ann, pred = rankings
    fit = dx.models.inverse_rank.fit(ann, draws=50, random_seed=1)
    theta = fit["posterior"]["plausibility"]
    raw = xr.DataArray(theta.values, dims=theta.dims, name="plausibility")  # as pm.sample names it
    named = dx.plausibility.with_candidates(raw.to_dataset(), ann)
    np.testing.assert_array_equal(named["candidate_label"], theta["candidate_label"])
    np.testing.assert_array_equal(
        dx.top_k_accuracy(named, pred, k=2), dx.top_k_accuracy(fit, pred, k=2)
    )
    with pytest.raises(dx.ArgumentError, match=r"draws: expected .* shape \(2, 4\)"):
        dx.plausibility.with_candidates(raw.isel(candidate=[0, 1]), ann)


@pytest.mark.parametrize("mass", [-0.1, 1.1, 3.0, np.nan, np.inf])
def test_a_mass_that_is_no_share_is_refused_and_its_item_named(mass):
    theta = xr.DataArray(
        [[[[0.5, 0.5], [1 - mass, mass]]]], dims=("chain", "draw", "item", "label"),
        coords={"item": ["i", "j"], "label": ["x", "y"]},
    )  # fmt: skip
    with pytest.raises(dx.ArgumentError, match=r"plausibility, items 'j': expected shares"):
        dx.group_labels(theta, {"x": 0, "y": 1})


def test_masses_that_do_not_add_up_to_1_are_refused_as_where_labels_were_selected():
    theta = xr.DataArray(
        [[[[0.33, 0.33, 0.33], [0.2, 0.3, 0.5]]]], dims=("chain", "draw", "item", "label"),
        coords={"item": ["i", "j"], "label": ["x", "y", "z"]},
    )  # fmt: skip
    plausibility_of(theta)  # as in a table with two decimals
    with pytest.raises(
        dx.ArgumentError, match=r"items 'j': expected shares that add up to 1.*0\.98"
    ):
        plausibility_of(theta * xr.DataArray([1.0, 0.98], dims="item"))
    with pytest.raises(dx.ArgumentError, match=r"items 'i', 'j': .* found the sum 0\.66"):
        dx.top_k_accuracy(theta.sel(label=["x", "y"]), {"i": "x", "j": "y"})
