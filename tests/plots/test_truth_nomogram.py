"""The nomograms of a ground truth: lines are where the numbers are."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx

DRAWS = xr.DataArray(
    np.random.default_rng(1).beta(58, 42, size=(2, 200)), dims=("chain", "draw"),
    name="weighted_reliability",
)  # fmt: skip


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("n_labels", [2, 4])
def test_lines_are_the_nomograms(n_labels):
    majority, needed, actual = dx.plots.truth_nomogram(n_labels=n_labels).axes
    for line, size in zip(majority.lines, (9, 7, 5, 3, 1), strict=False):
        x, y = line.get_data()
        given = xr.DataArray(x, dims="x")
        np.testing.assert_allclose(y, dx.majority_accuracy(size, given, n_labels))
        assert line.get_label().startswith(f"{size} annotator")
    assert majority.lines[5].get_ydata()[0] == 0.95
    x, y = needed.lines[0].get_data()
    np.testing.assert_array_equal(y, dx.annotators_for_truth(x, 0.95, n_labels))
    assert y.max() <= 99
    x, y = actual.lines[0].get_data()
    np.testing.assert_allclose(y, 0.95 * dx.truth_accuracy(x, 5, n_labels))


def test_reads_the_source_at_the_threshold():
    # Cabitza et al. (2020), Figure 9: about 6 points lost at rho = .667.
    figure = dx.plots.truth_nomogram(measure="concordance")
    assert {"scored .95: .89", "scored .90: .84", "scored .85: .79"} <= set(texts(figure.axes[2]))
    assert figure.axes[2].get_xlabel() == "concordance"


def test_settings_go_into_the_last_panel():
    figure = dx.plots.truth_nomogram(
        n_annotators=3, accuracies=0.9, threshold=0.5, confidence=0.9, errors="independent"
    )
    line = figure.axes[2].lines[0]
    x, y = line.get_data()
    truth = dx.truth_accuracy(x, 3, confidence=0.9)
    np.testing.assert_allclose(y, dx.actual_accuracy(0.9, truth, "independent"))
    assert "majority of 3 annotators, with the confidence .90" in figure.get_supxlabel()
    assert x[-1] == pytest.approx((0.9 / 0.95) ** 2, abs=4e-3)  # no more can be had in doubt


def test_a_threshold_outside_is_not_read_off():
    figure = dx.plots.truth_nomogram(threshold=0.95, confidence=0.8)
    assert not any(": " in text for text in texts(figure.axes[2]))


@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: d.to_dataset()], ids=["array", "dataset"])
def test_draws_are_a_band_with_its_numbers(wrap):
    ax = dx.plots.truth_nomogram(wrap(DRAWS)).axes[2]
    (legend_text,) = [text for text in texts(ax) if text.startswith("these data")]
    assert legend_text.startswith(f"these data: {DRAWS.median().item():.2f}".replace("0.", "."))


def study(needed=9.0, **attrs):
    """What an evaluation says beside the reliability."""
    more = {"label_accuracy": 0.75 + 0.01 * (DRAWS - 0.58), "truth_accuracy": DRAWS * 0 + 0.85}
    data = DRAWS.to_dataset().assign({**more, "annotators_for_truth": DRAWS * 0 + needed})
    return data.assign_attrs({"n_annotators": 3, "n_labels": 4, "typical_confidence": 0.9} | attrs)


def test_a_study_is_marked_in_all_panels_and_chooses_their_settings():
    tree = xr.DataTree.from_dict({"weighted_reliability": study()})
    figure = dx.plots.truth_nomogram(tree)
    majority, needed, actual = figure.axes
    (dot,) = [line for line in majority.lines if line.get_marker() == "o"]
    np.testing.assert_allclose([*dot.get_xdata(), *dot.get_ydata()], [0.75, 0.85], atol=1e-3)
    assert "these data: .85 [.85, .85]" in texts(majority)
    assert "these data: 9 [9, 9]" in texts(needed)
    assert any(text.startswith("these data") for text in texts(actual))
    assert majority.get_xlim()[0] == 0.25
    assert "majority of 3 annotators, with the confidence .90" in figure.get_supxlabel()
    other = dx.plots.truth_nomogram(tree, n_annotators=7, n_labels=2, confidence=1)
    assert "majority of 7 annotators." in other.get_supxlabel()


def test_the_legend_stands_clear_of_what_is_said_of_the_study():
    figure = dx.plots.truth_nomogram(study())
    figure.draw_without_rendering()
    (legend_text,) = [x for x in figure.axes[0].texts if x.get_text().startswith("these data")]
    legend = figure.axes[0].get_legend().get_window_extent()
    assert legend.y0 >= legend_text.get_window_extent().y1
    assert legend.width < 0.5 * figure.axes[0].bbox.width


def test_where_no_number_will_do_the_mark_is_at_the_edge():
    ax = dx.plots.truth_nomogram(study(needed=np.inf)).axes[1]
    assert "these data: ∞ [∞, ∞]" in texts(ax)
    (dot,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert dot.get_ydata()[0] == ax.get_ylim()[1]
