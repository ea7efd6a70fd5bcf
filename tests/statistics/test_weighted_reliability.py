"""Weighted reliability against its definition, in all forms that accuracies may come in."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from concordance_reference import (
    as_annotations,
    close,
    empirical,
    item_value,
    majority,
    quietly,
    study,
    value,
    weights_for,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import seeds

import dissensus as dx
from dissensus.statistics._resampling import over_units
from dissensus.statistics._sums import Undefined

SEEDS = st.integers(0, 2**31)
few = settings(max_examples=12, deadline=None)


def made(seed, **more):
    """Return a study, its annotations, weights, and what is taken for chance and errors."""
    rng = np.random.default_rng([11, seed])
    items = study(rng, trials=bool(seed % 2), **more)
    weights = weights_for(rng, len(items))
    chance = ("uniform", "empirical")[(seed // 2) % 2]
    share = empirical(items, 3, weights) if chance == "empirical" else [1 / 3] * 3
    errors = ("printed", "uniform")[(seed // 4) % 2]
    how = {"share": share, "ways": 1.0 if errors == "printed" else 2.0}
    return rng, items, weights, {"chance": chance, "errors": errors}, how


def by_annotator(ann):
    """Return annotators in the order that numbers by place are in."""
    return ann["annotator"].values.tolist()


FORMS = ("number", "mapping", "array", "matrix", "draws", "draws by item", "one number, draws")


def given_as(form, rng, names, n_items):
    """Return an accuracy to pass, and it as a function of draw, annotator and item."""
    cells = rng.random((6, len(names), n_items)) * 0.98 + 0.01
    place = {name: at for at, name in enumerate(names)}
    coords = {"annotator": names, "item": np.arange(n_items)}
    if form == "number":
        return float(cells[0, 0, 0]), 1, lambda d, r, x: cells[0, 0, 0]
    if form == "mapping":
        of = {name: float(cells[0, at, 0]) for name, at in place.items()}
        return dict(reversed(of.items())) | {99: 0.5}, 1, lambda d, r, x: of[r]
    if form == "array":
        return cells[0, :, 0], 1, lambda d, r, x: cells[0, place[r], 0]
    if form == "matrix":
        return cells[0], 1, lambda d, r, x: cells[0, place[r], x]
    sample = cells.reshape(2, 3, len(names), n_items)
    array = xr.DataArray(sample, dims=("chain", "draw", "annotator", "item"), coords=coords)
    if form == "draws by item":
        turned = array.transpose("item", "draw", "annotator", "chain")
        order = {"annotator": rng.permutation(len(names)), "item": rng.permutation(n_items)}
        return turned.isel(order), 6, lambda d, r, x: cells[d, place[r], x]
    if form == "draws":
        return array.isel(item=0), 6, lambda d, r, x: cells[d, place[r], 0]
    return array.isel(item=0, annotator=0, drop=True), 6, lambda d, r, x: cells[d, 0, 0]


@pytest.mark.unit(56, long=40)
@pytest.mark.parametrize("seed", seeds(48, unit=8))
@pytest.mark.parametrize("form", FORMS)
def test_it_is_what_its_definition_gives(form, seed):
    rng, items, weights, settings, how = made(seed)
    ann = as_annotations(items, kind=("nominal", "ordinal")[seed % 2])
    accuracy, n, of = given_as(form, rng, by_annotator(ann), len(items))

    def expected(d, share, function, *args):
        more = {**how, "share": share, "accuracy": lambda r, x, y: of(d, r, x)}
        return function(*args, **more)

    found = quietly(dx.weighted_reliability, ann, accuracy=accuracy, weights=weights, **settings)
    assert found.dims == (() if n == 1 else ("chain", "draw"))
    for d, one in enumerate(found.values.ravel()):
        share = how["share"]
        close(one, value(items, weights=weights, share=share, ways=how["ways"],
                         accuracy=lambda r, x, y, d=d: of(d, r, x)))  # fmt: skip
    each = quietly(dx.weighted_reliability, ann, accuracy=accuracy, per_item=True, **settings)
    assert each.dims == (*found.dims, "item")
    share = how["share"]
    if settings["chance"] == "empirical":
        share = empirical(items, 3, np.ones(len(items)))
    for d, row in enumerate(each.values.reshape(n, -1)):
        close(row, [item_value(said, share, x=x, ways=how["ways"],
                               accuracy=lambda r, x, y, d=d: of(d, r, x))
                    for x, said in enumerate(items)])  # fmt: skip


@pytest.mark.parametrize("seed", seeds(100, unit=8))
def test_accuracy_may_be_how_often_annotators_are_with_the_majority_of_the_others(seed):
    _, items, weights, settings, how = made(seed, missing=0.2)
    ann = as_annotations(items)
    found = quietly(dx.weighted_reliability, ann, accuracy="majority", weights=weights, **settings)
    of = majority(items, weights)
    close(found, value(items, weights=weights, accuracy=lambda r, x, y: of[r], **how))
    each = quietly(dx.weighted_reliability, ann, accuracy="majority", per_item=True, **settings)
    ones = np.ones(len(items))
    of = majority(items, ones)
    if settings["chance"] == "empirical":
        how["share"] = empirical(items, 3, ones)
    close(each, [item_value(said, x=x, accuracy=lambda r, x, y: of[r], **how)
                 for x, said in enumerate(items)])  # fmt: skip


@pytest.mark.parametrize("seed", seeds(60, unit=8))
def test_of_known_labels_only_pairs_that_are_right_count(seed):
    rng, items, weights, settings, how = made(seed)
    ann = as_annotations(items)
    truth = rng.integers(3, size=len(items)).tolist()
    del how["ways"]
    forms = [truth, dict(enumerate(truth)), pd.Series(truth, index=range(len(items)))]
    expected = value(items, weights=weights,
                     accuracy=lambda r, x, y: float(y == truth[x]), **how)  # fmt: skip
    for form in forms:
        found = quietly(dx.weighted_reliability, ann, truth=form, weights=weights, **settings)
        close(found, expected)
    graded = quietly(
        dx.weighted_reliability, ann, truth=truth, weights=weights, distance="absolute", **settings
    )
    close(graded, expected)
    assert found.attrs["accuracy"] == "known labels"


@pytest.mark.parametrize("seed", seeds(40, unit=8))
def test_graded_agreement_counts_what_labels_have_in_common(seed):
    rng, items, weights, settings, how = made(seed)
    ann = as_annotations(items)
    names = by_annotator(ann)
    accuracy, _, of = given_as("matrix", rng, names, len(items))
    accuracy = accuracy if seed % 3 else dict(zip(names, accuracy[:, 0].tolist(), strict=True))
    found = quietly(
        dx.weighted_reliability, ann, accuracy=accuracy, weights=weights, distance="absolute",
        **settings,
    )  # fmt: skip
    close(found, value(items, weights=weights, close=lambda a, b: 1.0 - abs(a - b) / 2.0,
                       accuracy=lambda r, x, y: of(0, r, x if seed % 3 else 0), **how))  # fmt: skip


@pytest.mark.long
@given(seed=SEEDS)
@few
def test_more_accuracy_or_confidence_is_never_less_reliability(seed):
    rng = np.random.default_rng(seed)
    items = study(rng, trials=bool(seed % 2))
    low = rng.random(5)
    high = low + (1 - low) * rng.random(5) * rng.integers(2, size=5)
    surer = [
        {r: [(y, c + (1 - c) * rng.random()) for y, c in given] for r, given in said.items()}
        for said in items
    ]
    of = [as_annotations(which) for which in (items, items, surer)]
    found = [
        quietly(dx.weighted_reliability, ann, accuracy=dict(enumerate(a.tolist())))
        for ann, a in zip(of, (low, high, high), strict=True)
    ]
    assert np.isnan(found[0]) or np.all(np.diff([float(one) for one in found]) >= -1e-14)


@given(seed=SEEDS, errors=st.sampled_from(["printed", "uniform"]))
@few
def test_it_is_between_zero_and_concordance(seed, errors):
    rng = np.random.default_rng(seed)
    items = study(rng)
    ann = as_annotations(items)
    accuracy = dict(enumerate(rng.random(5).tolist()))
    sigma = quietly(dx.concordance, ann)
    rho = quietly(dx.weighted_reliability, ann, accuracy=accuracy, errors=errors)
    assert np.isnan(sigma) or 0.0 <= float(rho) <= float(sigma) + 1e-14
    half = quietly(dx.weighted_reliability, ann, accuracy=0.5)
    close(half, sigma / 2)
    close(quietly(dx.weighted_reliability, ann, accuracy=1.0), sigma)
    close(quietly(dx.weighted_reliability, ann, accuracy=0.0), 0.0 * sigma)
    # Of n labels, two who guess and agree are right in one of n cases.
    close(quietly(dx.weighted_reliability, ann, accuracy=1 / 3, errors="uniform"), sigma / 3)


@pytest.mark.parametrize("accuracy", ["majority", "by annotator", "by item"])
@pytest.mark.parametrize("chance", ["uniform", "empirical"])
@pytest.mark.parametrize("seed", range(6))
def test_whole_weights_repeat_items_with_their_confidence(seed, chance, accuracy):
    rng = np.random.default_rng([12, seed])
    items = study(rng, trials=bool(seed % 2), missing=0.0)
    times = rng.integers(0, 4, size=len(items))
    times[0] += 1
    how = {"majority": "majority", "by annotator": {r: 0.3 + 0.15 * r for r in range(4)},
           "by item": rng.random((4, len(items)))}[accuracy]  # fmt: skip
    copies = [x for x, n in enumerate(times) for _ in range(n)]
    again = as_annotations([items[x] for x in copies])
    repeated = how[:, copies] if accuracy == "by item" else how
    weighted = quietly(
        dx.weighted_reliability, as_annotations(items), accuracy=how, chance=chance, weights=times
    )
    close(weighted, quietly(dx.weighted_reliability, again, accuracy=repeated, chance=chance))


def frame(items):
    rows = [(f"i{x}", f"r{r}", "uvw"[y], c)
            for x, said in enumerate(items) for r, [(y, c)] in said.items()]  # fmt: skip
    return pd.DataFrame(rows, columns=["item", "annotator", "label", "sure"])


@given(seed=SEEDS)
@few
def test_names_and_the_order_of_rows_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    table = frame(study(rng))
    accuracy = {f"r{r}": float(rng.random()) for r in range(4)}
    how = {"chance": ("uniform", "empirical")[seed % 2], "errors": "uniform"}
    read = {"confidence": "sure", "kind": "nominal"}
    expected = quietly(
        dx.weighted_reliability, dx.annotations(table, labels=list("uvw"), **read),
        accuracy=accuracy, **how,
    )  # fmt: skip
    who = dict(zip(accuracy, rng.permutation([f"z{n}" for n in range(4)]).tolist(), strict=True))
    other = table.sample(frac=1.0, random_state=seed % 1000)
    other = other.assign(
        annotator=other["annotator"].map(who),
        label=other["label"].map({"u": "w", "v": "u", "w": "v"}),
        item=other["item"] + "x",
    )
    found = quietly(
        dx.weighted_reliability, dx.annotations(other, labels=list("wvu"), **read),
        accuracy={who[name]: a for name, a in accuracy.items()}, **how,
    )  # fmt: skip
    close(found, expected)


@pytest.mark.parametrize("cells", [400_000, 300])
def test_the_bootstrap_takes_one_draw_of_accuracies_with_each_set_of_weights(cells, monkeypatch):
    monkeypatch.setattr("dissensus.statistics._resampling.CELLS", cells)  # in blocks, or in one
    # No item differs from another: all that varies are the accuracies, and each is used once.
    ann = dx.from_matrix([["a", "a"]] * 30, labels=["a", "b"])
    accuracy = xr.DataArray(np.linspace(0.5, 0.9, 100).reshape(4, 25), dims=("chain", "draw"))
    expected = dx.weighted_reliability(ann, accuracy=accuracy)
    assert expected.dims == ("chain", "draw")
    for array in (accuracy, accuracy.expand_dims(annotator=[0, 1]),
                  accuracy.expand_dims(annotator=[0, 1], item=range(30))):  # fmt: skip
        found = dx.bayesian_bootstrap(
            dx.weighted_reliability, ann, accuracy=array, draws=100, random_seed=1
        )
        assert dict(found.sizes) == {"chain": 1, "draw": 100}
        close(np.sort(found.values.ravel()), np.sort(expected.values.ravel()))
    many = dx.bayesian_bootstrap(
        "weighted_reliability", ann, accuracy=accuracy, draws=250, random_seed=1
    )
    times = np.unique(many.values.round(12), return_counts=True)[1]
    assert set(times) == {2, 3}


@pytest.mark.parametrize("cells", [400_000, 3000])
@pytest.mark.parametrize("by_item", [False, True])
def test_where_labels_agree_accuracies_learned_from_them_are_high(cells, by_item, monkeypatch):
    """So deviations add up, and not their squares: as if independent, 90 % intervals held 80 %.

    Of 100 studies of 200 items by three annotators of .8, whose accuracies a fit learned: 95 hold
    it; 100 items by five: 98.
    """
    monkeypatch.setattr("dissensus.statistics._resampling.CELLS", cells)  # in blocks, or in one
    rng = np.random.default_rng(3)
    right = rng.random((150, 3)) < 0.8
    ann = dx.from_matrix(np.where(right, "a", "b").tolist())
    accuracy = xr.DataArray(rng.normal(0.8, 0.02, (2, 500)), dims=("chain", "draw"))
    if by_item:
        accuracy = accuracy.expand_dims(annotator=range(3), item=range(150))
    both, items = (
        dx.bayesian_bootstrap("weighted_reliability", ann, accuracy=a, draws=1000, random_seed=1)
        for a in (accuracy, 0.8)
    )
    alone = dx.weighted_reliability(ann, accuracy=accuracy)
    assert float(both.std()) == pytest.approx(float(items.std() + alone.std()), rel=0.03)
    assert float(both.mean()) == pytest.approx(float(items.mean()), rel=0.01)


@pytest.mark.parametrize("chance", ["uniform", "empirical"])
@pytest.mark.parametrize("form", ["majority", "draws by item", "draws"])
def test_bootstrap_draws_are_the_statistic_under_their_weights(form, chance):
    rng = np.random.default_rng(5)
    items = []
    while len(items) < 24:
        items += study(rng, annotators=3, missing=0.1)
    ann = as_annotations(items)
    accuracy, n = "majority", 1
    if form != "majority":
        accuracy, n, _ = given_as(form, rng, by_annotator(ann), len(items))
    weights = rng.dirichlet(np.ones(len(items)), size=2 * n) * len(items)
    sums = dx.statistics.get("weighted_reliability").sums(ann, accuracy=accuracy, chance=chance)
    totals = np.concatenate([weights @ part for part in sums.parts if part.ndim > 1], axis=1)
    totals = np.concatenate([(weights @ sums.parts[0])[:, None], totals], axis=1)
    draws = sums.resampled([totals], np.random.default_rng(1))
    found = draws.finish(totals, Undefined())
    for w, one in zip(weights, found, strict=True):
        expected = dx.weighted_reliability(ann, accuracy=accuracy, chance=chance, weights=w)
        assert np.isclose(expected.values.ravel(), one, rtol=1e-10).any()
    cluster = np.arange(len(items)) // 3
    by_cluster = over_units(sums, cluster, cluster.max() + 1)
    weights = rng.random(cluster.max() + 1)
    totals = np.concatenate(
        [np.atleast_2d(part.T @ weights).reshape(1, -1) for part in by_cluster.parts], axis=1
    )
    found = by_cluster.finish(totals, Undefined())
    close(found[0], dx.weighted_reliability(
        ann, accuracy=accuracy, chance=chance, weights=weights[cluster]))  # fmt: skip
    drawn = dx.bayesian_bootstrap(
        dx.weighted_reliability, ann, accuracy=accuracy, chance=chance, draws=60,
        cluster=np.arange(len(items)), random_seed=1,
    )  # fmt: skip
    assert drawn.dims == ("chain", "draw")
    assert np.isfinite(drawn).all()


def test_who_is_always_right_cannot_agree_with_who_never_is():
    ann = dx.from_matrix([["a", "a"], ["a", "b"]])
    with pytest.warns(dx.DissensusWarning, match="one is always right and the other never"):
        found = dx.weighted_reliability(ann, accuracy=[1.0, 0.0], per_item=True)
    np.testing.assert_array_equal(found, [np.nan, 0.0])
    with pytest.warns(dx.DissensusWarning, match="one is always right and the other never"):
        assert np.isnan(dx.weighted_reliability(ann, accuracy=[1.0, 0.0]))
    assert float(dx.weighted_reliability(ann, accuracy=[1.0, 0.0], weights=[0, 1])) == 0.0
    one = dx.from_matrix([["a", "a"]], labels=["a"])
    with pytest.warns(dx.DissensusWarning, match="only one label to give"):
        assert np.isnan(dx.weighted_reliability(one, accuracy=0.8, errors="uniform"))


def test_attributes_say_what_was_done():
    found = dx.weighted_reliability(
        dx.from_matrix([["x", "y", "y"], ["y", "y", None]]),
        accuracy={0: 0.5, 1: 0.6, 2: 0.7},
        slim_majority=0.5,
    )
    assert found.name == "weighted_reliability"
    assert found.attrs == {
        "better": "higher", "confidence": "none given: 1 everywhere", "chance": "uniform",
        "distance": "nominal", "slim_majority": 0.5, "errors": "printed",
        "accuracy": "by annotator",
    }  # fmt: skip


def test_one_pair_against_all_appearances_leaves_the_whole_defined():
    """Ann always says what most others say, Cy never; on the first item they agree in two camps."""
    ann = dx.from_matrix([
        ["x", "y", "x", "y"], ["x", "x", "y", None], ["x", "x", "y", None], ["x", "x", "y", None],
    ])  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dx.weighted_reliability(ann, accuracy="majority", per_item=True)
    assert found.notnull().all()
