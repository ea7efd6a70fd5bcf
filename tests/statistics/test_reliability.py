"""Concordance and weighted reliability of all, by item and by pair, against their definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from concordance_reference import (
    as_annotations,
    close,
    empirical,
    equal,
    item_value,
    majority,
    pair_values,
    quietly,
    slim,
    study,
    value,
    weights_for,
)

import dissensus as dx
from dissensus.statistics import _reliability_sums
from dissensus.statistics._resampling import over_units
from dissensus.statistics._sums import Undefined

SAMPLE = ("chain", "draw")
N_LABELS = 3
FORMS = (
    "none", "number", "mapping", "array", "matrix", "draws", "draws by item", "one number, draws",
    "majority", "truth",
)  # fmt: skip
GRADED = (
    ({}, equal),
    ({"distance": "absolute"}, lambda a, b: 1.0 - abs(a - b) / 2.0),
    ({"distance": "squared", "max_distance": 2.5}, lambda a, b: max(0.0, 1 - (a - b) ** 2 / 2.5)),
    ({"distance": lambda a, b: abs(a - b)}, lambda a, b: 1.0 - abs(a - b) / 2.0),
)


def shares(rng, items, weights, kind):
    """Return a setting of chance, and the share of each label it stands for."""
    own = (rng.dirichlet(np.ones(N_LABELS)) * 0.9 + 0.02).tolist()
    return [
        ("uniform", [1 / N_LABELS] * N_LABELS),
        ("empirical", empirical(items, N_LABELS, weights)),
        (dict(enumerate(own)), own),
        (0.3, [0.3] * N_LABELS),
    ][kind]


def accuracies(form, rng, names, items):
    """Return arguments, the number of draws, and accuracy by weights, draw, annotator, item, label.

    An annotator may be named in a mapping or an array who labelled nothing, and in any order.
    """
    n_items = len(items)
    cells = rng.random((6, len(names), n_items)) * 0.98 + 0.01
    place = {name: at for at, name in enumerate(names)}
    coords = {"annotator": names, "item": np.arange(n_items)}
    array = xr.DataArray(
        cells.reshape(2, 3, len(names), n_items), coords, (*SAMPLE, "annotator", "item")
    )
    order = {"annotator": rng.permutation(len(names)), "item": rng.permutation(n_items)}
    mapping = {name: float(cells[0, at, 0]) for name, at in reversed(place.items())} | {99: 0.5}
    turned = array.transpose("item", "draw", "annotator", "chain").isel(order)
    truth = rng.integers(N_LABELS, size=n_items).tolist()
    known = [truth, dict(enumerate(truth)), pd.Series(truth)][n_items % 3]
    given, n, of = {
        "none": (None, 1, None),
        "number": (float(cells[0, 0, 0]), 1, lambda w, d, r, x, y: cells[0, 0, 0]),
        "mapping": (mapping, 1, lambda w, d, r, x, y: mapping[r]),
        "array": (cells[0, :, 0], 1, lambda w, d, r, x, y: cells[0, place[r], 0]),
        "matrix": (cells[0], 1, lambda w, d, r, x, y: cells[0, place[r], x]),
        "draws": (array.isel(item=0), 6, lambda w, d, r, x, y: cells[d, place[r], 0]),
        "draws by item": (turned, 6, lambda w, d, r, x, y: cells[d, place[r], x]),
        "one number, draws": (
            array.isel(item=0, annotator=0, drop=True), 6, lambda w, d, r, x, y: cells[d, 0, 0]
        ),
        "majority": ("majority", 1, lambda w, d, r, x, y: majority(items, w)[r]),
        "truth": (known, 1, lambda w, d, r, x, y: float(y == truth[x])),
    }[form]  # fmt: skip
    return {"truth" if form == "truth" else "accuracy": given}, n, of


@pytest.mark.unit(40)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", FORMS)
def test_each_layout_is_what_its_definition_gives(form, seed):
    case = 4 * FORMS.index(form) + seed
    rng = np.random.default_rng([11, case])
    items = study(rng, trials=bool(seed % 2), sure=("any", "extreme", None)[case % 3])
    weights, ones = weights_for(rng, len(items)), np.ones(len(items))
    graded, near = GRADED[(case + case // 4) % 4]
    ann = as_annotations(items, kind="ordinal" if graded or seed % 2 else "nominal")
    names = ann["annotator"].to_numpy().tolist()
    chance, share = shares(rng, items, weights, seed)
    options, n, of = accuracies(form, rng, names, items)
    errors = "uniform" if case % 5 in (1, 2) else "printed"
    factor = [0.25 if case % 3 == 1 and slim(labels, N_LABELS) else 1.0 for labels in items]
    settings = {"chance": chance, "slim_majority": 0.25 if case % 3 == 1 else 1.0, **graded}
    how = {
        # Of labels that differ, at most one is right.
        "close": equal if form == "truth" else near,
        "ways": 2.0 if errors == "uniform" else 1.0,
        "factor": factor,
    }
    if form == "none":
        statistic = dx.concordance
    else:
        statistic = dx.weighted_reliability
        settings |= {"errors": errors, **options}

    def accuracy(w, d):
        return None if of is None else lambda r, x, y: of(w, d, r, x, y)

    whole = quietly(statistic, ann, weights=weights, **settings)
    each = quietly(statistic, ann, per_item=True, **settings)
    pairs = quietly(statistic, ann, weights=weights, per_pair=True, **settings)
    sample = SAMPLE if n > 1 else ()
    assert whole.dims == sample
    assert each.dims == (*sample, "item")
    assert pairs.dims == (*sample, "annotator", "annotator_")
    assert pairs["annotator"].values.tolist() == pairs["annotator_"].values.tolist() == names
    assert ("max_distance" in whole.attrs) == bool(graded)
    unweighted = empirical(items, N_LABELS, ones) if chance == "empirical" else share
    for d in range(n):
        more = how | {"accuracy": accuracy(weights, d)}
        close(whole.values.ravel()[d], value(items, share, weights, **more))
        expected = pair_values(items, names, share, weights, **more)
        close(pairs.values.reshape(n, len(names), -1)[d], expected)
        more["accuracy"] = accuracy(ones, d)
        expected = [item_value(labels, unweighted, x=x, **more) for x, labels in enumerate(items)]
        close(each.values.reshape(n, -1)[d], expected)


def test_special_accuracies():
    """Of n labels, two who guess and agree are right in one of n cases."""
    ann = as_annotations(study(np.random.default_rng(3), items=9, missing=0.1))
    sigma = dx.concordance(ann)
    cases = [(0.5, "printed", 1 / 2), (1.0, "printed", 1.0), (0.0, "printed", 0.0)]
    for accuracy, errors, share in [*cases, (1 / 3, "uniform", 1 / 3)]:
        close(dx.weighted_reliability(ann, accuracy=accuracy, errors=errors), share * sigma)


def test_the_mean_over_pairs_is_the_whole_where_everybody_labels_everything():
    rng = np.random.default_rng(4)
    ann = as_annotations(study(rng, items=9, missing=0.0, trials=True))
    pairs = dx.concordance(ann, per_pair=True, slim_majority=0.3)
    close(np.nanmean(pairs), dx.concordance(ann, slim_majority=0.3))


def test_attributes_say_what_was_done():
    reliability = dx.weighted_reliability(
        dx.from_matrix([["x", "y", "y"], ["y", "y", None]]),
        accuracy={0: 0.5, 1: 0.6, 2: 0.7},
        slim_majority=0.5,
    )
    assert reliability.name == "weighted_reliability"
    assert reliability.attrs == {
        "better": "higher", "confidence": "none given: 1 everywhere", "chance": "uniform",
        "distance": "nominal", "slim_majority": 0.5, "errors": "printed",
        "accuracy": "by annotator",
    }  # fmt: skip


# Undefined values and refusals.


def test_who_is_always_right_cannot_agree_with_who_never_is():
    ann = dx.from_matrix([["a", "a"], ["a", "b"]])
    with pytest.warns(dx.DissensusWarning, match="one has accuracy 1 and the other 0"):
        reliability = dx.weighted_reliability(ann, accuracy=[1.0, 0.0], per_item=True)
    np.testing.assert_array_equal(reliability, [np.nan, 0.0])
    with pytest.warns(dx.DissensusWarning, match="one has accuracy 1 and the other 0"):
        assert np.isnan(dx.weighted_reliability(ann, accuracy=[1.0, 0.0]))
    assert float(dx.weighted_reliability(ann, accuracy=[1.0, 0.0], weights=[0, 1])) == 0.0
    single = dx.from_matrix([["a", "a"]], labels=["a"])
    with pytest.warns(dx.DissensusWarning, match="label space has only one label"):
        assert np.isnan(dx.weighted_reliability(single, accuracy=0.8, errors="uniform"))
    three = dx.from_matrix([["a", "b", "a"], ["a", "b", "a"]])
    with pytest.warns(dx.DissensusWarning, match="one has accuracy 1 and the other 0"):
        reliability = dx.weighted_reliability(three, accuracy=[1.0, 0.0, 0.0], per_pair=True)
    np.testing.assert_array_equal(
        reliability, [[np.nan, 0, np.nan], [0, np.nan, 0], [np.nan, 0, np.nan]]
    )


def test_one_pair_against_all_appearances_leaves_the_whole_defined():
    """Ann always says what most others say, Cy never; on the first item they agree in two camps."""
    ann = dx.from_matrix([
        ["x", "y", "x", "y"], ["x", "x", "y", None], ["x", "x", "y", None], ["x", "x", "y", None],
    ])  # fmt: skip
    assert dx.weighted_reliability(ann, accuracy="majority", per_item=True).notnull().all()


def test_who_shares_no_item_has_no_value_and_a_warning_says_so():
    ann = dx.from_matrix([["x", "x", None], [None, "y", "x"], ["y", "y", None]])
    with pytest.warns(dx.DissensusWarning, match="1 of 3 values: no item has labels of both"):
        result = dx.concordance(ann, per_pair=True)
    np.testing.assert_array_equal(
        result, [[np.nan, 1, np.nan], [1, np.nan, 0], [np.nan, 0, np.nan]]
    )
    alone = dx.from_matrix([["x"], ["y"]])
    assert np.isnan(dx.concordance(alone, per_pair=True)).values.tolist() == [[True]]


def test_what_makes_no_sense_or_no_room_is_refused(monkeypatch):
    ann = dx.from_matrix([["x", "y"], ["y", "y"]])
    for of, more in ((dx.concordance, {}), (dx.weighted_reliability, {"accuracy": 0.8})):
        with pytest.raises(dx.ArgumentError, match="per_pair: expected False with per_item"):
            of(ann, per_item=True, per_pair=True, **more)
    draws = xr.DataArray(np.full((2, 50), 0.8), dims=SAMPLE)
    monkeypatch.setattr(_reliability_sums, "CELLS", 300)
    with pytest.raises(dx.ArgumentError, match=r"per_pair: expected at most 300 numbers.*Thin"):
        dx.weighted_reliability(ann, accuracy=draws, per_pair=True)
    monkeypatch.setattr(_reliability_sums, "MOST", 1)
    with pytest.raises(dx.AnnotationError, match=r"annotations: expected at most 1 pairs.*fewer"):
        dx.concordance(ann, per_pair=True)


# Draws of the bootstrap; what holds for all statistics is in test_bayesian_bootstrap.


@pytest.mark.parametrize("cells", [400_000, 300])
def test_the_bootstrap_takes_one_draw_of_accuracies_with_each_set_of_weights(cells, monkeypatch):
    monkeypatch.setattr("dissensus.statistics._resampling.CELLS", cells)  # in blocks, or in one
    # No item differs from another: all that varies are the accuracies, and each is used once.
    ann = dx.from_matrix([["a", "a"]] * 30, labels=["a", "b"])
    accuracy = xr.DataArray(np.linspace(0.5, 0.9, 100).reshape(4, 25), dims=SAMPLE)
    expected = dx.weighted_reliability(ann, accuracy=accuracy)
    for array in (accuracy, accuracy.expand_dims(annotator=[0, 1]),
                  accuracy.expand_dims(annotator=[0, 1], item=range(30))):  # fmt: skip
        draws = dx.bayesian_bootstrap(
            dx.weighted_reliability, ann, accuracy=array, draws=100, random_seed=1
        )
        assert dict(draws.sizes) == {"chain": 1, "draw": 100}
        close(np.sort(draws.values.ravel()), np.sort(expected.values.ravel()))
    many = dx.bayesian_bootstrap(
        "weighted_reliability", ann, accuracy=accuracy, draws=250, random_seed=1
    )
    times = np.unique(many.values.round(12), return_counts=True)[1]
    assert set(times) == {2, 3}


@pytest.mark.parametrize("cells", [400_000, 3000])
@pytest.mark.parametrize("by_item", [False, True])
def test_where_labels_agree_accuracies_learned_from_them_are_high(cells, by_item, monkeypatch):
    """So deviations add up, not their squares: otherwise the coverage of 90 % intervals was 80 %.

    Of 100 studies of 200 items by three annotators of .8, whose accuracies a fit learned: 95
    intervals contain it; 100 items by five: 98.
    """
    monkeypatch.setattr("dissensus.statistics._resampling.CELLS", cells)  # in blocks, or in one
    rng = np.random.default_rng(3)
    right = rng.random((150, 3)) < 0.8
    ann = dx.from_matrix(np.where(right, "a", "b").tolist())
    accuracy = xr.DataArray(rng.normal(0.8, 0.02, (2, 500)), dims=SAMPLE)
    if by_item:
        accuracy = accuracy.expand_dims(annotator=range(3), item=range(150))
    both, items = (
        dx.bayesian_bootstrap("weighted_reliability", ann, accuracy=a, draws=1000, random_seed=1)
        for a in (accuracy, 0.8)
    )
    alone = dx.weighted_reliability(ann, accuracy=accuracy)
    assert float(both.std()) == pytest.approx(float(items.std() + alone.std()), rel=0.03)
    assert float(both.mean()) == pytest.approx(float(items.mean()), rel=0.01)


@pytest.mark.unit(6)
@pytest.mark.parametrize("chance", ["uniform", "empirical"])
@pytest.mark.parametrize("form", ["majority", "draws by item", "draws"])
def test_bootstrap_draws_are_the_statistic_under_their_weights(form, chance):
    rng = np.random.default_rng(5)
    items = []
    while len(items) < 24:
        items += study(rng, annotators=3, missing=0.1)
    ann = as_annotations(items)
    options, n, _ = accuracies(form, rng, ann["annotator"].values.tolist(), items)
    options["chance"] = chance
    weights = rng.dirichlet(np.ones(len(items)), size=2 * n) * len(items)
    sums = dx.statistics.get("weighted_reliability").sums(ann, **options)
    totals = np.concatenate([weights @ part for part in sums.parts], axis=1)
    actual = sums.resampled([totals], np.random.default_rng(1)).finish(totals, Undefined())
    for w, draw in zip(weights, actual, strict=True):
        expected = dx.weighted_reliability(ann, weights=w, **options)
        assert np.isclose(expected.values.ravel(), draw, rtol=1e-10).any()
    cluster = np.arange(len(items)) // 3
    weights = rng.random(cluster.max() + 1)
    by_cluster = over_units(sums, cluster, len(weights))
    totals = np.concatenate([np.ravel(part.T @ weights) for part in by_cluster.parts])[None]
    actual = by_cluster.finish(totals, Undefined())
    close(actual[0], dx.weighted_reliability(ann, weights=weights[cluster], **options))


def test_a_pair_that_rests_on_few_items_is_named():
    table = [["a", "a", None]] * 30 + [["a", None, "b"]] * 25 + [["a", "b", "b"]] * 5
    accuracy = xr.DataArray(np.full((1, 9, 3), 0.8), dims=(*SAMPLE, "annotator"))
    with pytest.warns(dx.DissensusWarning, match=r"of '1 and 2' \(5 items\) depends on fewer than"):
        draws = dx.bayesian_bootstrap(
            dx.weighted_reliability, dx.from_matrix(table), accuracy=accuracy, per_pair=True,
            draws=10, random_seed=1,
        )  # fmt: skip
    assert draws.shape == (1, 10, 3, 3)
