"""The picture of a plan of accuracy without the truth."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx


@pytest.fixture(scope="module")
def found():
    return dx.plan_accuracy(
        annotators=(2, 4), items=(30, 90), kappa=0.6, n_labels=3, studies=3, random_seed=1,
        progressbar=False,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("scope", ["new items", "these items"])
def test_lines_are_at_the_numbers_planned(found, scope):
    shares, halves = dx.plots.accuracy_plan(found, scope=scope).axes
    one = found.sel(scope=scope)
    for row in range(2):
        model, algebra = shares.lines[2 * row : 2 * row + 2]
        for line, name in ((model, "symmetric_confusion"), (algebra, "lehner")):
            expected = one["within_share"].sel(estimator=name).isel(annotator=row)
            np.testing.assert_allclose(line.get_ydata(), expected)
        np.testing.assert_array_equal(halves.lines[row].get_xdata(), [30, 90])
        np.testing.assert_allclose(
            halves.lines[row].get_ydata(), one["half_width"].isel(annotator=row)
        )
    assert shares.lines[4].get_ydata()[0] == 0.9
    assert halves.lines[2].get_ydata()[0] == 0.1


@pytest.mark.long
def test_lines_have_their_names_at_their_ends(found):
    shares, halves = dx.plots.accuracy_plan(found).axes
    assert [text.get_text() for text in halves.texts] == ["2 annotators", "4 annotators"]
    ends = [line.get_ydata()[-1] for line in halves.lines[:2]]
    places = [text.xy[1] for text in halves.texts]
    assert (ends[0] > ends[1]) == (places[0] > places[1])
    assert [text.get_text() for text in shares.get_legend().get_texts()] == ["model", "lehner"]


def test_what_is_no_such_plan_is_refused(found):
    with pytest.raises(dx.ArgumentError, match=r"^scope: "):
        dx.plots.accuracy_plan(found, scope="all")
    with pytest.raises(dx.ArgumentError, match=r"^source: expected what dissensus.plan_accuracy"):
        dx.plots.accuracy_plan(found[["rmse"]])
