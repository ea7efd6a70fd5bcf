"""Bars, curves and marks of pictures are at the numbers of the draws, by name, scope and model."""

from __future__ import annotations

import arviz as az
import everything
import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection

import dissensus as dx

pytestmark = pytest.mark.long

SAMPLE = list(everything.SAMPLE)
THESE, NEW = everything.SCOPES
LEVEL = 0.89


@pytest.fixture(scope="module")
def tree():
    return everything.evaluation()


def ends(draws):
    return az.eti(draws.to_numpy().ravel(), prob=LEVEL).tolist()


def names_by(values):
    return values[values.dims[0]].to_numpy()[np.argsort(-values.to_numpy(), kind="stable")].tolist()


# Rows: bars from the thickest to the thinnest, then marks.


def rows_of(figure):
    """Return the name of each row, its bars, and the places of its marks."""
    (ax,) = figure.axes
    result = [(text.get_text(), [], {}) for text in ax.get_yticklabels()]
    for line in ax.lines:
        x, y = (np.asarray(part, dtype=float) for part in line.get_data())
        if len(y) == 1:
            result[int(y[0])][2][line.get_marker()] = x[0]
        elif y[0] == y[1]:
            result[int(y[0])][1].append((line.get_linewidth(), *x))
    return [(name, [ends for _, *ends in sorted(bars, reverse=True)], marks)
            for name, bars, marks in result]  # fmt: skip


def accuracies(tree):
    data = tree["accuracy"].to_dataset()
    draws, people = data["estimated_accuracy"], data["annotator_accuracy"]
    panel = tree["metrics"]["top_1_accuracy"].sel(reliability=5.0, scope=NEW)
    yield "systems", [], {}
    for s in names_by(draws.sel(scope=NEW).mean(SAMPLE)):
        these, new = (draws.sel(scope=scope, system=s) for scope in (THESE, NEW))
        yield s, [ends(these), ends(new)], {
            "o": new.mean(), "x": data["majority_accuracy"].sel(system=s),
            "D": panel.sel(system=s).mean(),
        }  # fmt: skip
    yield "annotators", [], {}
    for a in names_by(people.mean(SAMPLE)):
        majority = data["annotator_majority"].sel(annotator=a)
        of_person = people.sel(annotator=a)
        yield a, [ends(of_person)], {"o": of_person.mean(), "x": majority}


def components(tree, scale="observed"):
    data, pools = tree["components"].to_dataset(), tree["pools"].to_dataset()
    pairs = [("crowd", "experts"), ("crowd", "tool"), ("experts", "tool")]
    for name, title, statistic in (
        ("icc", "ICC", "krippendorff_alpha"), ("annotator_icc", "annotator ICC", ""),
        ("mean_reliability", "mean label", ""),
        ("normalized_xcc", "normalised xCC", "normalized_cross_kappa"),
        ("xcc", "xCC", "cross_kappa"),
    ):  # fmt: skip
        yield title, [], {}
        for place in pairs if "xcc" in name else everything.POOLS:
            at = dict(zip(("pool", "pool_"), np.atleast_1d(place).tolist(), strict=False))
            draws = data[name].sel(at)
            draws = draws.sel(scale=scale) if "scale" in draws.dims else draws
            marks = {"o": draws.mean()}
            if statistic and scale == "observed":
                marks["x"] = pools[f"observed_{statistic}"].sel(at)
            yield " \N{EN DASH} ".join(at.values()), [ends(draws)], marks


def discrepancy(tree):
    data = tree["discrepancy"].to_dataset()
    rows = []
    for name, dim, mark in (("discrepancy_ratio", "system", "D"),
                            ("annotator_discrepancy_ratio", "annotator", "o")):  # fmt: skip
        # A ratio has no mean where it allows for other annotators.
        rows += [(float(draws.median()), draws[dim].item(), ends(draws), mark)
                 for draws in data[name].transpose(dim, ...)]  # fmt: skip
    for middle, name, bar, mark in sorted(rows):
        yield name, [bar], {mark: middle}


ROWS = {
    "accuracies": (dx.plots.accuracies, accuracies),
    "components": (dx.plots.components, components),
    "latent components": (lambda tree: dx.plots.components(tree, scale="latent"),
                          lambda tree: components(tree, "latent")),
    "discrepancy": (dx.plots.discrepancy, discrepancy),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_at_the_numbers_of_the_draws(tree, name):
    draw, expected = ROWS[name]
    actual, wanted = rows_of(draw(tree)), list(expected(tree))
    assert [row[0] for row in actual] == [row[0] for row in wanted]
    for (_, bars, marks), (who, numbers, places) in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(bars, numbers, err_msg=who)
        assert marks == {mark: pytest.approx(float(place)) for mark, place in places.items()}


# Curves along reliability.


def curves_of(ax, n):
    """Return means, bands of both scopes, crosses and stars, by colour."""
    result = {}
    for line in ax.lines:
        own = result.setdefault(line.get_color(), {})
        if len(line.get_xdata()) == n:
            own["mean"] = line.get_ydata()
        elif line.get_marker() in {"x", "*"}:
            own[line.get_marker()] = line.get_ydata()[0]
    bands = [band for band in ax.collections if isinstance(band, FillBetweenPolyCollection)]
    paths = {}
    for band in bands:
        y = band.get_paths()[0].vertices[:, 1]
        colour = tuple(band.get_facecolor()[0][:3])
        paths.setdefault(colour, []).append((band.get_alpha(), y[1 : n + 1], y[n + 2 : -1][::-1]))
    return [own for own in result.values() if "mean" in own], list(paths.values())


@pytest.mark.parametrize("name", ["reliability", "models"])
def test_curves_are_at_the_numbers_of_the_draws(tree, name):
    axes = getattr(dx.plots, name)(tree).axes
    sides = (tree, tree["companion"])[: len(axes)]
    order = names_by(tree["metrics"]["top_1_accuracy"].mean(["reliability", "scope", *SAMPLE]))
    truth = tree["truth"]["top_1_accuracy"].sel(scope=THESE)
    for ax, side in zip(axes, sides, strict=True):
        draws = side["metrics"]["top_1_accuracy"]
        curves, bands = curves_of(ax, draws.sizes["reliability"])
        for s, own, both in zip(order, curves, bands, strict=True):
            these, new = (draws.sel(scope=scope, system=s) for scope in (THESE, NEW))
            np.testing.assert_allclose(own["mean"], these.mean(SAMPLE))
            assert own["x"] == side["statistics"]["naive_top_1_accuracy"].sel(system=s).item()
            assert own["*"] == truth.sel(system=s).item()
            for (_, low, high), of_scope in zip(sorted(both, key=lambda b: b[0]), (new, these),
                                           strict=True):  # fmt: skip
                want = np.array([ends(part) for part in of_scope.transpose("reliability", ...)])
                np.testing.assert_allclose(np.stack([low, high], axis=1), want)


@pytest.mark.parametrize("scope", [THESE, NEW])
def test_a_cell_is_how_often_its_row_is_better_than_its_column(tree, scope):
    ax = dx.plots.better(tree, scope=scope).axes[0]
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [text.get_text() for text in ax.get_xticklabels()]
    draws = tree["metrics"]["top_1_accuracy"].sel(reliability=5.0, scope=scope)
    for text in ax.texts:
        column, row = (names[int(place)] for place in text.get_position())
        better = (draws.sel(system=row) > draws.sel(system=column)).mean().item()
        assert text.get_text() == dx.wording.probability(better)
