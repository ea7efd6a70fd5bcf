"""No interval of a failed fit is printed without its mark: summaries, terminal, page and pictures.

Failures are planted: what a fit found of its own chains is overwritten, as if they had failed.
"""

from __future__ import annotations

import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
import stored
import xarray as xr
from rich.console import Group
from rich.markup import render
from rich.table import Table

import dissensus as dx
from dissensus import plots
from dissensus.cli.tables import results
from dissensus.evaluation import evidence
from dissensus.evaluation.doubts import DOUBT, MARK, of_numbers, reasons
from dissensus.reports.page import _opening, page
from dissensus.reports.tables import Body, certainty_tables
from dissensus.reports.tables import Table as Page
from dissensus.reports.two_models import both

mpl.use("Agg")

BROKEN = {"n_items_poor": 3, "ess_bulk_min": 7.0, "r_hat_max": 1.9, "ess_bulk_min_item": "x"}
OF_MODEL = ("metrics",)
ADDED = ("components", "accuracy")


@pytest.fixture(scope="module")
def good():
    """Two labels of 40 items by 5 annotators: every group that an evaluation can have."""
    study = dx.simulate.confusion_study(
        60, 5, 2, ipc=(0.7, 0.75, 0.8, 0.85, 0.9), system_accuracy=(0.8, 0.9), random_seed=2
    )
    return dx.evaluate(study.annotations, study.predictions, reliability=(1,), draws=400,
                       random_seed=1, progressbar=False)  # fmt: skip


@pytest.fixture
def planted(good):
    """An evaluation in which a group's fit is said to have failed."""

    def made(group):
        tree = stored.read("votes") if group == "leaderboard" else good.copy()
        if group == "metrics":
            tree["convergence"] = xr.Dataset(
                {name: ("reliability", [value]) for name, value in BROKEN.items()}
                | {"ess_bulk_median": ("reliability", [9.0])}, {"reliability": [1.0]},
            )  # fmt: skip
        elif group == "answers":  # each from where it was drawn
            tree = made("metrics")
            tree["accuracy"].attrs.update(BROKEN)
            few = tree["answers"].to_dataset().isel(draw=slice(20))
            tree["answers"] = xr.DataTree(few)
        else:
            tree[group].attrs.update(BROKEN)
        return tree

    return made


@pytest.mark.long
def test_a_good_evaluation_is_not_marked(good):
    for of in evidence._OF:
        rows = dx.summary(good, of)
        assert list(rows.columns)[-1] == DOUBT
    assert set(dx.summary(good)[DOUBT]) == {""}
    assert set(dx.summary(good, "statistics")[DOUBT]) == {""}


# Of sets, tests/evaluation/test_sets.py asks the same.
@pytest.mark.parametrize("of", [of for of in evidence._OF if of != "labels"])
def test_every_summary_says_of_every_row_whether_it_is_to_be_relied_on(good, planted, of):
    """A new summary, or a new row with an interval, that has no doubt of its own fails here."""
    group = {"weighted_reliability": "accuracy"}.get(of, of)
    if of == "posterior":  # exact draws cannot fail, but there can be too few of them
        tree = good.copy()
        tree["posterior"] = tree["posterior"].to_dataset().isel(draw=slice(20))
        tree["posterior"].attrs["inference"] = "exact: few"
    elif of == "statistics":
        tree = good.copy()
        for name in ("agreement", "discrepancy"):
            tree[name] = tree[name].to_dataset().isel(draw=slice(20))
    else:
        tree = planted(group)
    rows = dx.summary(tree, of)
    assert len(rows)
    if of == "components":
        rows = rows[rows["by"] == "model"]
    if of == "weighted_reliability":
        own = rows["quantity"] == "concordance"
        assert (rows[own][DOUBT] == "").all()  # of what was observed: no fit behind them
        rows = rows[~own]
    assert (rows[DOUBT] != "").all()
    if of in (*OF_MODEL, *ADDED, "weighted_reliability"):
        assert rows[DOUBT].str.contains("7 effective draws, r-hat 1.90").all()


INTERVAL = re.compile(r"[.\d]+ to [.\d]+$|[.\d]+ to [.\d]+ !$")


@pytest.mark.slow
@pytest.mark.parametrize("group", ["metrics", "components", "accuracy"])
def test_every_interval_on_the_terminal_is_marked(planted, group):
    parts = [
        part.renderables
        for part in results(planted(group), everything=True)
        if isinstance(part, Group)
    ]
    tables = {render(title).plain: rest for title, *rest in parts}
    titles = {
        "metrics": ["Metrics of the systems: dirichlet at 1"],
        "components": ["Components of a label's variance, and reliability"],
        "accuracy": ["Accuracy of systems", "Accuracy of annotators", "The ground truth"],
    }[group]
    for title in titles:
        warning, *rest = tables[title]
        assert "Do not rely on the marked numbers" in warning
        grids = [part for part in rest if isinstance(part, Table)]
        cells = [str(cell) for grid in grids for column in grid.columns for cell in column.cells]
        if title == "The ground truth":  # two annotators agree: no fit is behind that
            assert sum(cell.endswith(MARK) for cell in cells) == 4
        elif title.startswith("Components"):  # and none behind alpha
            assert sum(cell.endswith(MARK) for cell in cells) == 6
        else:
            assert all(cell.endswith(MARK) for cell in cells if INTERVAL.search(cell))


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_the_table_of_certainties_marks_the_reliabilities_of_a_failed_fit(planted):
    tree = planted("metrics")
    (table,) = certainty_tables(tree)
    assert [str(row[1]).endswith(MARK) for row in table.bodies[0].rows] == [True]
    certainties = page(tree).split('id="table-certainty-1"')[1]
    assert "! Do not rely on the marked numbers" in certainties[:300]


def test_a_table_without_marks_does_not_speak_of_marks():
    table = Page("t", "T", ["a"], [Body(-1, [[0.5], ["x"]])], reason="only 20 draws")
    assert table.warning == "! Do not rely on these numbers: only 20 draws"
    assert replace(table, bodies=[Body(-1, [[".5 !"]])]).warning.startswith(
        "! Do not rely on the marked numbers"
    )
    assert replace(table, reason="").warning == ""


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("group", "ids"),
    [
        ("metrics", ["table-verdict", "verdict", "table-metrics", "table-better",
                     "table-certainty-1", "distribution", "better", "certainty", "item"]),
        ("components", ["table-components", "components"]),
        ("accuracy", ["table-accuracy", "accuracies", "table-ground-truth", "truth-nomogram"]),
    ],
)  # fmt: skip
def test_every_table_and_picture_of_the_page_says_so(good, planted, group, ids):
    html = page(planted(group))
    assert "Do not rely on these numbers</h2>" in html
    for element in ids:
        assert html.count(f'id="{element}"') == 1
        part = html[html.index(f'id="{element}"') :]
        end = part.index("</table>" if element.startswith("table") else "</figure>")
        assert 'class="doubt"' in part[:end], element
    if group == "accuracy":  # once is enough
        assert 'class="doubt"' not in page(good)


@pytest.mark.parametrize("group", ["metrics", "components", "accuracy"])
def test_pictures_say_so_themselves(good, planted, group):
    draw = {"metrics": plots.certainty, "components": plots.components,
            "accuracy": plots.accuracies}[group]  # fmt: skip
    assert draw(good)._suptitle is None
    assert "Do not rely on this" in draw(planted(group))._suptitle.get_text()


def test_a_fit_that_failed_says_so_row_by_row():
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(2, 200, 2))
    draws[1, :, 0] += 3
    fit = xr.DataTree.from_dict({"posterior": xr.Dataset(
        {"x": (("chain", "draw", "k"), draws)},
        {"chain": [0, 1], "draw": np.arange(200), "k": ["bad", "good"]},
    )})  # fmt: skip
    rows = dx.summary(fit)[DOUBT]
    assert "r-hat" in rows["x[bad]"]
    assert rows["x[good]"] == ""
    fit["posterior"].attrs["n_divergences"] = 2
    assert set(dx.summary(fit)[DOUBT]) == {"2 divergent transitions"}
    few = xr.DataTree.from_dict({"posterior": fit["posterior"].to_dataset().isel(draw=slice(30))})
    assert set(dx.summary(few)[DOUBT]) == {"only 30 draws a chain"}


def test_what_is_undefined_is_not_doubtful():
    assert of_numbers(np.nan, np.nan, np.nan) == ""
    assert of_numbers(None, None, None) == ""
    assert reasons(["", np.nan, None]) == ""


@pytest.mark.parametrize("of", ["accuracy", "weighted_reliability"])
def test_annotators_who_may_be_guessing_leave_no_accuracy_unmarked(good, of):
    tree = good.copy()
    tree["accuracy"].attrs["near_guessing"] = 0.3
    rows = dx.summary(tree, of)
    if of == "weighted_reliability":
        rows = rows[rows["quantity"] != "concordance"]
    assert rows[DOUBT].str.contains("annotators may be guessing").all()


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_words_on_several_reliabilities_say_that_one_of_them_failed():
    study = dx.simulate.confusion_study(
        40, 5, 2, ipc=0.8, system_accuracy=(0.8, 0.9), random_seed=2
    )
    tree = dx.evaluate(
        study.annotations, study.predictions, reliability=(1, 5), draws=400, components=None,
        truth_model=None, random_seed=1, progressbar=False,
    )  # fmt: skip
    assert "Do not rely on the following numbers" not in page(tree)
    poor = {name: ("reliability", [0.0, value]) for name, value in BROKEN.items()
            if name != "ess_bulk_min_item"}  # fmt: skip
    poor["ess_bulk_min_item"] = ("reliability", ["x", "x"])
    poor["ess_bulk_median"] = ("reliability", [900.0, 9.0])
    tree["convergence"] = xr.Dataset(poor, {"reliability": [1.0, 5.0]})
    opening = _opening(tree, both(tree)[0])
    first = "".join(str(part) for part in opening["after"][0])
    assert "Do not rely on the following numbers" in first


def test_a_picture_of_too_few_replicates_says_so(good):
    tree = good.copy()
    tree["discrepancy"] = tree["discrepancy"].to_dataset().isel(draw=slice(20))
    assert plots.discrepancy(good)._suptitle is None
    assert "only" in plots.discrepancy(tree)._suptitle.get_text()
