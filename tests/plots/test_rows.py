"""Plots of intervals in rows: accuracies, components, discrepancy ratios."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects

import dissensus as dx
from dissensus.evaluation.components import component_draws

# Accuracies of systems and annotators, with three marks each.


def rows(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def dictated(n_systems=3, n_people=2):
    rng = np.random.default_rng(1)
    coords = {"chain": [0, 1], "draw": range(50)}
    systems, people = [f"s{k}" for k in range(n_systems)], [f"p{k}" for k in range(n_people)]
    means = np.linspace(0.5, 0.9, n_systems)
    scoped = coords | {"scope": ["these items", "new items"], "system": systems}
    noise = rng.normal(size=(2, 50, 2, n_systems)) * np.array([[0.01], [0.02]])
    named = coords | {"annotator": people}
    data = {
        "estimated_accuracy": xr.DataArray(
            means + noise, scoped, ("chain", "draw", "scope", "system")
        ),
        "majority_accuracy": ("system", means - 0.1),
        "annotator_accuracy": xr.DataArray(
            0.7 + 0.01 * rng.normal(size=(2, 50, n_people)), named, ("chain", "draw", "annotator")
        ),
        "annotator_majority": ("annotator", np.full(n_people, 0.6)),
    }
    return xr.Dataset(data)


def test_systems_come_first_and_the_best_of_them():
    assert rows(dx.plots.accuracies(dictated()))[:4] == ["systems", "s2", "s1", "s0"]
    assert rows(dx.plots.accuracies(dictated()))[4] == "annotators"


@pytest.mark.parametrize("figsize", [None, (3.5, 3.0)])
def test_systems_of_a_family_keep_the_ends_of_their_names(figsize):
    data = dictated()
    names = [f"a-family-with-a-very-long-name-of-size-{size}" for size in ("8B", "70B", "405B")]
    figure = dx.plots.accuracies(data.assign_coords(system=names), figsize=figsize)
    assert [name.rsplit("-")[-1] for name in rows(figure)[1:4]] == ["405B", "70B", "8B"]
    assert max(map(len, rows(figure)[1:4])) == (28 if figsize is None else 16)


def test_bars_are_the_intervals_and_crosses_the_majority_vote():
    data = dictated(n_systems=1)
    figure = dx.plots.accuracies(data, ci_kind="eti", ci_prob=0.5)
    new, these, dot, cross = figure.axes[0].lines[:4]
    for line, scope in ((new, "new items"), (these, "these items")):
        want = np.quantile(data["estimated_accuracy"].sel(scope=scope), [0.25, 0.75])
        np.testing.assert_allclose(line.get_xdata(), want)
    assert new.get_linewidth() < these.get_linewidth()
    assert dot.get_marker() == "o"
    assert cross.get_marker() == "x"
    np.testing.assert_allclose(cross.get_xdata(), data["majority_accuracy"])


def test_an_evaluation_has_diamonds():
    data = dictated()
    metric = data["estimated_accuracy"].expand_dims({"reliability": [1.0]})
    tree = xr.DataTree.from_dict(
        {"accuracy": data, "metrics": xr.Dataset({"top_1_accuracy": metric - 0.2})}
    )
    tree.attrs["reference_reliability"] = 1.0
    marks = [line for line in dx.plots.accuracies(tree).axes[0].lines if line.get_marker() == "D"]
    assert len(marks) == 3
    assert "diamond: agreement with the panel" in dx.plots.accuracies(tree).get_supxlabel()
    want = data["estimated_accuracy"].sel(scope="new items", system="s2").mean() - 0.2
    np.testing.assert_allclose(marks[0].get_xdata(), want)


def test_one_accuracy_for_all_annotators_needs_no_heading():
    data = dictated()
    data["annotator_accuracy"] = data["annotator_accuracy"].isel(annotator=0, drop=True)
    assert rows(dx.plots.accuracies(data)) == ["s2", "s1", "s0", "annotators"]
    alone = data.drop_vars(["estimated_accuracy", "majority_accuracy"])
    assert rows(dx.plots.accuracies(alone)) == ["annotators"]


def test_what_is_too_much_is_left_out_and_counted():
    figure = dx.plots.accuracies(dictated(5, 4), limit=3)
    assert len(rows(figure)) == 2 + 3 + 3
    assert figure.get_supxlabel() == (
        "Thick: these items, thin: new items. Cross: majority vote.\n"
        "The most accurate; not shown: 2 systems and 1 annotator."
    )


# ICCs and xCCs in one picture.


def test_one_pool_has_a_row_for_each_quantity():
    data = component_draws(crossed_effects("gaussian"), xr.DataArray(3.0))
    assert rows(dx.plots.components(data)) == ["ICC", "annotator ICC", "mean label"]


def test_pools_and_pairs_stand_under_headings():
    data = component_draws(cross_replication("ordinal"), xr.DataArray(3.0))
    names = rows(dx.plots.components(data))
    assert names[:4] == ["ICC", "a", "b", "c"]
    assert names[-4:] == ["xCC", "a \N{EN DASH} b", "a \N{EN DASH} c", "b \N{EN DASH} c"]


def test_bars_are_the_intervals():
    data = component_draws(crossed_effects("gaussian", draws=50), xr.DataArray(3.0))
    figure = dx.plots.components(data, scale="latent", ci_kind="eti", ci_prob=0.5)
    low, high = figure.axes[0].lines[0].get_xdata()
    want = np.quantile(data["icc"].sel(scale="latent"), [0.25, 0.75])
    np.testing.assert_allclose([low, high], want)


def test_too_many_components_are_left_out_and_counted():
    data = component_draws(cross_replication("gaussian"), xr.DataArray(3.0))
    figure = dx.plots.components(data, limit=12)
    assert "xCC" not in rows(figure)
    assert figure.get_supxlabel() == "6 pairs of pools are left out."


# Systems and annotators on one scale.


def ratios(systems, annotators=(), **more):
    noise = np.linspace(-0.1, 0.1, 101)[None, :, None]
    out = {"discrepancy_ratio": (("chain", "draw", "system"), noise + np.array(systems))}
    coords = {"system": [f"s{k}" for k in range(len(systems))]}
    if len(annotators):
        name = "annotator_discrepancy_ratio"
        out[name] = (("chain", "draw", "annotator"), noise + np.array(annotators))
        coords["annotator"] = [f"a{k}" for k in range(len(annotators))]
    return xr.Dataset(out, coords=coords, **more)


def test_rows_are_sorted_and_systems_stand_out():
    figure = dx.plots.discrepancy(ratios([1.2, 0.7], [0.9, 1.5]))
    assert rows(figure) == ["s1", "a0", "s0", "a1"]
    weights = [label.get_fontweight() for label in figure.axes[0].get_yticklabels()]
    assert weights == ["bold", "normal", "bold", "normal"]


def test_bars_of_ratios_are_the_intervals():
    figure = dx.plots.discrepancy(ratios([1.2]), ci_kind="eti", ci_prob=0.5)
    bar = figure.axes[0].lines[0].get_xdata()
    np.testing.assert_allclose(bar, [1.15, 1.25], atol=0.003)


def test_the_margin_is_drawn():
    data = ratios([1.2], attrs={"margin": 0.25})
    lines = [line.get_xdata()[0] for line in dx.plots.discrepancy(data).axes[0].lines]
    assert 1.0 in lines
    assert 1.25 in lines
    lines = [line.get_xdata()[0] for line in dx.plots.discrepancy(data, margin=0.5).axes[0].lines]
    assert 1.5 in lines


def test_annotators_with_most_items_are_kept():
    data = ratios([1.0], np.linspace(0.5, 2, 50))
    data["n_items"] = ("annotator", np.arange(50))
    figure = dx.plots.discrepancy(data, limit=6)
    assert set(rows(figure)) == {"s0", "a45", "a46", "a47", "a48", "a49"}
    assert "45 annotators with fewer items are left out" in figure.texts[0].get_text()


def test_undefined_annotators_are_no_rows():
    data = ratios([1.0], [0.9, np.nan])
    assert rows(dx.plots.discrepancy(data)) == ["a0", "s0"]


def test_who_is_left_out_is_not_said_to_have_fewer_items_if_not_so():
    data = ratios([1.0], np.linspace(0.5, 2, 50))
    data["n_items"] = ("annotator", np.full(50, 200))
    for source in (data, data.drop_vars("n_items")):
        figure = dx.plots.discrepancy(source, limit=6)
        assert figure.texts[0].get_text() == "45 of 50 annotators are left out."


def test_pools_must_be_chosen_from():
    data = ratios([1.0, 1.1]).expand_dims(pool=["p", "q"], axis=-1)
    with pytest.raises(dx.ArgumentError, match="Select one value along pool"):
        dx.plots.discrepancy(data)
    assert len(rows(dx.plots.discrepancy(data.sel(pool="q")))) == 2


def test_annotators_alone_have_discrepancies(evaluation):
    """As in an evaluation without predictions."""
    alone = evaluation.copy()
    draws = alone["discrepancy"]["discrepancy_ratio"].rename(system="annotator")
    kept = draws.to_dataset(name="annotator_discrepancy_ratio")
    alone["discrepancy"] = kept.assign_attrs(alone["discrepancy"].attrs)
    names = rows(dx.plots.discrepancy(alone))
    assert len(names) == kept.sizes["annotator"]
