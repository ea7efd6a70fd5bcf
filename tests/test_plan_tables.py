"""Plans at a terminal of 80 columns."""

from __future__ import annotations

import io

import component_fits as made
from rich.console import Console

import dissensus as dx
from dissensus._plan_tables import plan_tables


def printed(found):
    console = Console(width=80, file=io.StringIO())
    for table in plan_tables(found):
        console.print(table)
    return console.file.getvalue()


def test_pools_and_pairs_have_rows_of_their_own():
    pilot = made.cross_replication("gaussian", draws=20, names=("crowd [a]", "experts"))
    found = dx.plan_reliability(
        pilot, (2, 4), (20, 30), panel=6, studies=2, draws=40, random_seed=1, progressbar=False
    )
    text = printed(found)
    for name in (" crowd [a] │", "ICC of crowd [a]", "Normalised xCC of crowd [a] and experts"):
        assert name in text
    assert "P(≥ .80)" in text
    assert "2 simulated" in text
    half = found["half_width"].isel(pool=0).sel(annotator=4, item=30).item()
    assert f"± {half:.3f}".replace("0.", ".") in text
    assert max(map(len, text.splitlines())) <= 80


def test_accuracy_of_systems_has_the_table_it_had():
    ann = dx.simulate.study(n_items=20, random_seed=5, kind="nominal").annotations
    text = printed(dx.plan(ann, (1, 3), (50,), random_seed=1))
    assert "interval of a system of accuracy 0.8" in text
    for name in ("certainty", "items above .9", "shortfall", "± at 50 items"):
        assert name in text
