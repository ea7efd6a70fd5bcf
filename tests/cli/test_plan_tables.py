"""Tables at a terminal of 80 columns, above all those of plans."""

from __future__ import annotations

import io
import re

import component_fits as made
import pytest
import xarray as xr
from rich.console import Console

import dissensus as dx
from dissensus.cli.tables import laid_out, plan_tables
from dissensus.reports.tables import Body, Table


def printed(result):
    return shown(plan_tables(result))


def shown(tables):
    console = Console(width=80, file=io.StringIO())
    for table in tables:
        console.print(laid_out(table))
    return console.file.getvalue()


def test_a_long_name_gives_way_and_no_number_is_cut():
    numbers = [".990 !", ".987 to 1.000 !", ".976 to 1.000 !", "< .01", "1.000, inside"]
    head = [
        "System",
        "Mean",
        "These items, 89 %",
        "New items, 89 %",
        "P(best)",
        "Truth, these items",
    ]
    rows = [["a name of twenty-four so", *numbers], ["s", *numbers]]
    text = shown([Table("t", "Metrics", head, [Body(-1, rows, "First"), Body(-1, rows, "Second")])])
    assert max(map(len, text.splitlines())) <= 80
    for number in numbers:
        assert text.count(f" {number}") == 4
    places = {line.index("< .01") for line in text.splitlines() if "< .01" in line}
    assert len(places) == 1  # the bodies of a table stand below each other


@pytest.mark.long
def test_pools_and_pairs_have_rows_of_their_own():
    pilot = made.cross_replication("gaussian", draws=20, names=("crowd [a]", "experts"))
    plan = dx.plan_reliability(
        pilot, (2, 4), (20, 30), panel=6, studies=2, draws=40, random_seed=1, progressbar=False
    )
    text = printed(plan)
    for name in (" crowd [a] ", "ICC of crowd [a]", "Normalised xCC of crowd [a] and experts"):
        assert name in text
    assert "P(≥ .80)" in text
    assert "2 simulated" in text
    half = plan["half_width"].isel(pool=0).sel(annotator=4, item=30).item()
    assert f"± {half:.3f}".replace("0.", ".") in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.long
def test_accuracy_without_the_truth_has_a_row_for_each_estimate():
    plan = dx.plan_accuracy(
        annotators=(3, 5), items=(20, 50, 100, 1000), kappa=0.4, n_labels=4, studies=2,
        random_seed=1, progressbar=False,
    )  # fmt: skip
    new = plan.sel(scope="new items", annotator=5)
    new["within_share"][:] = [[0.5, 0.5, 0.75, 1.0], [0.0, 0.1, 0.2, 0.3]]
    new["half_width"][:] = [0.2, 0.1, 0.05, 0.04]
    new["items_enough"][:] = [834, float("nan")]
    rest = plan.sel(scope="new items", annotator=3)
    rest["items_enough"][:] = [20, 20]
    told = xr.concat([rest, new], dim="annotator").expand_dims(scope=["new items"])
    text = printed(told.assign_attrs(plan.attrs))
    model, algebra = (line for line in text.splitlines() if line.strip().startswith("5, "))
    cells = re.split("  +", model.strip())
    assert cells == ["5, model", ".50 ± .20", ".50 ± .10", ".75 ± .05", "1.00 ± .04", "834"]
    assert "> 1,000" in algebra
    assert "≤ 20" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.filterwarnings("ignore:The same few annotators:dissensus.DesignWarning")
def test_accuracy_of_systems_has_the_table_it_had():
    ann = dx.simulate.study(n_items=20, random_seed=5, kind="nominal").annotations
    plan = dx.plan(ann, (1, 3), (50,), random_seed=1)
    text = printed(plan)
    assert "interval of a system of accuracy 0.8" in text
    (head,) = (line for line in text.splitlines() if line.startswith("annotators"))
    names = ["annotators", "certainty", "items above .9", "shortfall", "± at 50 items"]
    assert re.split("  +", head.strip()) == names
    for n in (1, 3):
        (row,) = (line.split() for line in text.splitlines() if line.startswith(f"{n} "))
        of_number = plan.sel(annotator=n)
        values = [of_number[name] for name in ("certainty", "certain_share", "shortfall")]
        values.append(of_number["half_width"].sel(item=50))
        assert row[1:] == [f"{float(value.squeeze()):.3f}" for value in values]


def test_plans_beside_predictions_have_a_row_for_each_size():
    numbers = {"half_width": [[0.2, 0.1]], "half_width_alone": [[0.25, 0.125]],
               "items_alone": [[150.4, 1490.0]]}  # fmt: skip
    plan = xr.Dataset(
        {name: (("annotator", "item"), values) for name, values in numbers.items()},
        {"annotator": [3], "item": [100, 1000]}, {"probability": 0.89},
    )  # fmt: skip
    rows = [re.split("  +", line.strip()) for line in printed(plan).splitlines()]
    assert ["annotators", "items", "±", "± alone", "items needed alone"] in rows
    assert ["3", "100", "0.200", "0.250", "150"] in rows
    assert ["3", "1,000", "0.100", "0.125", "1,490"] in rows
