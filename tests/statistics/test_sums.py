"""Statistics as functions of sums: weights, dims, dense and sparse sums, undefined values."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import sparse

import dissensus as dx
from dissensus.statistics._sums import Sums, Undefined, compact, times

ITEMS = np.array(["i", "j", "k"])
DENSE = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])


def ratio(totals, undefined):
    return undefined.divide(totals[:, 0], totals[:, 1] + totals[:, 2], "there is nothing")


def both(totals, undefined):
    return {"each": totals[:, 1:], "whole": totals.sum(axis=1)}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_totals_stand_side_by_side(form):
    sums = Sums("ratio", (np.array([1.0, 2.0, 3.0]), form(DENSE)), ratio, ITEMS)
    np.testing.assert_array_equal(sums.totals(), [[6.0, 4.0, 2.0]])
    weighted = sums.weighted([2, 0, 1]).totals()
    np.testing.assert_array_equal(weighted, [[5.0, 5.0, 0.0]])
    by_name = sums.weighted({"k": 1, "j": 0, "i": 2}).totals()
    np.testing.assert_array_equal(by_name, weighted)
    assert sums.weighted(None) is sums


def test_a_number_is_a_named_array_without_dims():
    sums = Sums("ratio", (np.ones(3), DENSE), ratio, ITEMS, attrs={"better": "higher"})
    result = sums.value()
    assert (result.name, result.dims, result.attrs) == ("ratio", (), {"better": "higher"})
    assert float(result) == 0.5
    with pytest.warns(dx.DissensusWarning, match="ratio is undefined .*there is nothing"):
        assert np.isnan(Sums("ratio", (np.ones(3), 0 * DENSE), ratio, ITEMS).value())


def test_several_values_are_a_dataset_with_their_dims():
    sums = Sums(
        "both", (np.ones(3), DENSE), both, ITEMS,
        dims={"each": ("system",)}, coords={"system": np.array(["s", "t"])}, attrs={"n": 3},
    )  # fmt: skip
    result = sums.value()
    assert isinstance(result, xr.Dataset)
    assert result["each"].dims == ("system",)
    assert result["each"].sel(system="t") == 2.0
    assert (float(result["whole"]), result["whole"].dims, result.attrs) == (9.0, (), {"n": 3})
    drawn = sums.labelled(both(np.ones((5, 3)), None), ("chain", "draw"))
    assert drawn["each"].dims == ("chain", "draw", "system")
    assert drawn["whole"].shape == (1, 5)
    assert drawn["draw"].values.tolist() == list(range(5))


def test_items_are_multiplied_and_nothing_else():
    factor = np.array([2.0, 0.5, 0.0])
    expected = DENSE * factor[:, None]
    np.testing.assert_array_equal(times(DENSE, factor), expected)
    actual = times(sparse.csr_array(DENSE), factor)
    np.testing.assert_array_equal(actual.toarray(), expected)
    np.testing.assert_array_equal(times(factor, factor), factor**2)


def test_sparse_sums_stay_sparse_where_that_saves_room():
    small = compact(sparse.csr_array(DENSE))
    np.testing.assert_array_equal(small, DENSE)
    wide = sparse.csr_array(sparse.eye_array(300))
    assert compact(wide) is wide


@pytest.mark.parametrize(
    ("statistic", "more"),
    [("percent_agreement", {}), ("cross_kappa", {}), ("krippendorff_alpha", {"level": "nominal"}),
     ("krippendorff_alpha", {"level": "ordinal"})],
)  # fmt: skip
def test_a_thousand_labels_are_as_good_as_five(statistic, more):
    # The same data with few labels (dense sums) and declared among a thousand (sparse ones).
    rng = np.random.default_rng(3)
    frame = {"item": np.repeat(np.arange(40), 4), "annotator": np.tile(np.arange(4), 40),
             "pool": np.tile([0, 0, 1, 1], 40)}  # fmt: skip
    frame["label"] = 200 * ((frame["item"] + rng.integers(0, 2, 160)) % 5)
    few, many = (
        dx.annotations(frame, pool="pool", kind="ordinal", labels=labels)
        for labels in (None, range(1000))
    )
    of = getattr(dx, statistic)
    assert float(of(many, **more)) == pytest.approx(float(of(few, **more)), abs=1e-12)
    drawn = [
        dx.bayesian_bootstrap(statistic, ann, draws=20, random_seed=4, **more)
        for ann in (few, many)
    ]
    np.testing.assert_allclose(drawn[1], drawn[0], atol=1e-12)


def test_a_multiple_of_a_sparse_matrix_does_not_change_with_it():
    """SciPy sorts the indices of a sparse matrix in place; a multiple must have its own."""
    unsorted = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3)
    )
    twice = times(unsorted, np.array([2.0]))
    unsorted.sort_indices()
    np.testing.assert_array_equal(twice.toarray(), [[4.0, 6.0, 2.0]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_items_bear_on_a_value_by_what_is_not_zero(form):
    matrix = form(np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    sums = Sums("ratio", (np.zeros(3), matrix), ratio, ITEMS, bearing=matrix)
    assert sums.bears.tolist() == [False, True, True]
    assert Sums("ratio", (np.ones(3), matrix), ratio, ITEMS).bears.all()
    weighted = sums.weighted([1, 1, 0])
    assert weighted.bears.tolist() == [False, True, False]
    item, value = weighted.bearing.nonzero()
    assert (item.tolist(), value.tolist()) == ([1], [1])
    assert Sums("ratio", (matrix,), ratio, ITEMS).weighted([1, 1, 0]).bearing is None


def test_nothing_undefined_says_nothing(recwarn):
    undefined = Undefined()
    assert undefined.divide(np.array([1.0]), np.array([2.0]), "why").tolist() == [0.5]
    undefined.warn("kappa")
    assert undefined.message("kappa", "draws") == ""
    assert len(recwarn) == 0


def test_only_what_is_positive_divides():
    below = np.array([1.0, 0.0, -1e-300, np.nan, 4.0])
    result = Undefined().divide(np.ones((2, 5)), below, "why")
    np.testing.assert_array_equal(result, [[1.0, np.nan, np.nan, np.nan, 0.25]] * 2)


def test_the_first_reason_stands():
    undefined = Undefined()
    values = undefined.where(np.array([True, False, False]), np.ones(3), "no pairs")
    values = undefined.where(np.array([True, True, False]), values, "no spread")
    np.testing.assert_array_equal(values, [np.nan, np.nan, 1.0])
    assert undefined.message("kappa", "draws") == (
        "kappa is undefined (NaN) in 1 of 3 draws: no pairs. "
        "kappa is undefined (NaN) in 1 of 3 draws: no spread."
    )


def test_one_value_needs_no_count_and_blocks_add_up():
    undefined = Undefined()
    for _ in range(2):
        undefined.divide(np.ones(1), np.zeros(1), "why")
    assert "in 2 of 2 values" in undefined.message("kappa")
    single = Undefined()
    single.divide(np.ones(1), np.zeros(1), "why")
    with pytest.warns(dx.DissensusWarning, match=r"^kappa is undefined \(NaN\): why\.$"):
        single.warn("kappa")


def test_the_warning_points_at_the_callers_line():
    with pytest.warns(dx.DissensusWarning) as caught:
        dx.percent_agreement(dx.from_matrix([[1, np.nan], [np.nan, 2]]))
    assert caught[0].filename == __file__
    ann = dx.from_matrix([[1, 1]] * 30)
    with pytest.warns(dx.DissensusWarning) as caught:
        dx.bayesian_bootstrap("krippendorff_alpha", ann, draws=3, random_seed=1)
    assert caught[0].filename == __file__
