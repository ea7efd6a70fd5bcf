"""How annotations become the layout that ranking kernels read."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx
from dissensus.data.plausibility import layout
from dissensus.families.rankings.layout import TREATMENTS, laid_out


@pytest.fixture
def ann():
    rankings = {"i": [[["c"], ["a", "b"]], [], [["c"]]], "j": [[["d"], ["a"]]]}
    return dx.from_rankings(rankings, labels="abcdef")


def of(ann, unranked="exact", **options):
    return laid_out(ann, layout(ann), unranked, **options)


def test_rows_are_in_order_of_item_annotator_and_rank(ann):
    shuffled = ann.isel(annotation=[3, 5, 2, 0, 4, 1])
    for shown in (ann, shuffled):
        result = of(shown)
        codes = shown["label_code"].to_numpy()[result.row]
        names = shown["label"].to_numpy()[codes].tolist()
        assert names[0] == "c"
        assert sorted(names[1:3]) == ["a", "b"]
        assert names[3:] == ["c", "d", "a"]
        assert result.rankings.rank.tolist() == [1, 2, 2, 1, 1, 2]
        assert result.rankings.ranking_start.tolist() == [0, 3, 4, 6]
        assert result.rankings.item_start.tolist() == [0, 2, 3]  # who says nothing has no ranking


@pytest.mark.parametrize(
    ("unranked", "n_labels", "candidate"),
    [
        ("exact", [1, 1, 1, 3, 1, 1, 4], [0, 1, 2, 3, 0, 1, 3]),
        ("one", [1, 1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 0, 1, 3]),
        ("ignore", [1, 1, 1, 1, 1], [0, 1, 2, 0, 1]),
        ("absent", [1, 1, 1, 1, 1], [0, 1, 2, 0, 1]),
    ],
)
def test_what_is_there_to_be_ranked(ann, unranked, n_labels, candidate):
    result = of(ann, unranked)
    assert result.named.tolist() == [3, 2]
    assert result.n_labels.tolist() == n_labels
    assert result.candidate.tolist() == candidate
    assert result.rankings.closed.all() == (unranked == "absent")
    assert result.rankings.cell_start[-1] == len(n_labels)


def test_labels_that_nobody_named_may_have_a_cell_each(ann):
    result = of(ann, lumped=False)
    assert result.rankings.n_cells.tolist() == [6, 6]
    assert (result.n_labels == 1).all()
    np.testing.assert_array_equal(result.candidate[3:6], 3)


def test_where_all_labels_are_named_nothing_is_left():
    ann = dx.from_rankings({"i": [[["a"], ["b"]]]}, labels="ab")
    for unranked in TREATMENTS:
        assert of(ann, unranked).rankings.n_cells.tolist() == [2]


def test_an_unknown_treatment_is_refused(ann):
    with pytest.raises(dx.ArgumentError, match=r"unranked.*'exact'.*'absent'.*found 'lumped'"):
        of(ann, "lumped")


def test_a_part_is_what_its_items_alone_would_be(ann):
    whole = of(ann).rankings
    alone = of(ann.isel(annotation=[4, 5])).rankings.part(1, 2)
    for actual, expected in zip(whole.part(1, 2), alone, strict=True):
        np.testing.assert_array_equal(actual, expected)
