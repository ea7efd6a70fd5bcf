"""Accuracies of systems and annotators, with three marks each."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx


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


@pytest.mark.parametrize("name", ["annotator_majority", "majority_accuracy"])
def test_what_somebody_took_out_is_named(name):
    with pytest.raises(dx.ArgumentError, match=f"'accuracy', with .*{name}.*; found Dataset with"):
        dx.plots.accuracies(dictated().drop_vars(name))


def test_systems_come_first_and_the_best_of_them():
    assert rows(dx.plots.accuracies(dictated()))[:4] == ["systems", "s2", "s1", "s0"]
    assert rows(dx.plots.accuracies(dictated()))[4] == "annotators"


def test_bars_are_the_intervals_and_crosses_the_majority_vote():
    data = dictated(n_systems=1)
    figure = dx.plots.accuracies(data, ci_kind="eti", ci_prob=0.5)
    new, these, dot, cross = figure.axes[0].lines[:4]
    for line, scope in ((new, "new items"), (these, "these items")):
        want = np.quantile(data["estimated_accuracy"].sel(scope=scope), [0.25, 0.75])
        np.testing.assert_allclose(line.get_xdata(), want)
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
    assert "diamond: uncertainty-adjusted" in dx.plots.accuracies(tree).get_supxlabel()
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


def test_what_has_no_accuracies_is_refused():
    with pytest.raises(dx.ArgumentError, match="draws of 'annotator_accuracy'"):
        dx.plots.accuracies(xr.Dataset({"alpha": 1.0}))
