"""Concordance and weighted reliability of each two annotators, against their definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import xarray as xr
from concordance_reference import (
    NAN,
    as_annotations,
    close,
    empirical,
    equal,
    majority,
    meant,
    quietly,
    right,
    slim,
    study,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import seeds

import dissensus as dx
from dissensus.statistics import _reliability_sums

SEEDS = st.integers(0, 2**31)
few = settings(max_examples=12, deadline=None)
SAMPLE = ("chain", "draw")


def by_definition(items, names, share, weights, *, near=equal, accuracy=None, ways=1.0, factor=()):
    """Return the mean of Eq. 2 (times Eq. 6) over the items two annotators share, pair by pair."""
    out = np.full((len(names), len(names)), NAN)
    for (i, r), (j, s) in itertools.combinations(enumerate(names), 2):
        above = below = 0.0
        for x, said in enumerate(items):
            if r not in said or s not in said or weights[x] == 0:
                continue
            below += weights[x]
            for (one, c), (two, d) in itertools.product(said[r], said[s]):
                both = near(one, two) * meant(c, share[one]) * meant(d, share[two])
                if both and accuracy is not None:
                    both *= right(accuracy(r, x, one), accuracy(s, x, two), ways)
                times = factor[x] if len(factor) else 1.0
                above += weights[x] * times * both / len(said[r]) / len(said[s])
        out[i, j] = out[j, i] = above / below if below else NAN
    return out


def made(seed, **more):
    rng = np.random.default_rng([21, seed])
    items = study(rng, trials=bool(seed % 2), items=7, **more)
    ways = [np.ones(len(items)), rng.integers(0, 3, len(items)) + 0.0, rng.random(len(items)) + 0.1]
    weights = ways[seed % 3]
    weights = weights if weights.sum() else np.ones(len(items))
    chance = ("uniform", "empirical")[(seed // 2) % 2]
    share = empirical(items, 3, weights) if chance == "empirical" else [1 / 3] * 3
    ann = as_annotations(items, kind=("nominal", "ordinal")[seed % 2])
    return rng, items, ann, ann["annotator"].to_numpy().tolist(), weights, chance, share


@pytest.mark.parametrize("seed", seeds(120, unit=8))
def test_concordance_of_pairs_is_what_its_definition_gives(seed):
    _, items, ann, names, weights, chance, share = made(seed)
    more, how = {}, {}
    if seed % 5 == 1:
        more = {"slim_majority": 0.25}
        how = {"factor": [0.25 if slim(said, 3) else 1.0 for said in items]}
    if seed % 5 == 3 and ann.attrs["kind"] == "ordinal":
        more, how = {"distance": "absolute"}, {"near": lambda a, b: 1.0 - abs(a - b) / 2.0}
    found = quietly(dx.concordance, ann, chance=chance, weights=weights, per_pair=True, **more)
    assert found.dims == ("annotator", "annotator_")
    assert found["annotator"].values.tolist() == found["annotator_"].values.tolist() == names
    close(found, by_definition(items, names, share, weights, **how))


@pytest.mark.unit(56, long=40)
@pytest.mark.parametrize("seed", seeds(60, unit=8))
@pytest.mark.parametrize(
    "form", ["number", "by name", "by item", "majority", "truth", "draws", "draws by item"]
)
def test_reliability_of_pairs_is_what_its_definition_gives(form, seed):
    rng, items, ann, names, weights, chance, share = made(seed)
    errors = ("printed", "uniform")[(seed // 4) % 2]
    cells = rng.random((6, len(names), len(items))) * 0.98 + 0.01
    array = xr.DataArray(
        cells.reshape(2, 3, len(names), -1), dims=(*SAMPLE, "annotator", "item"),
        coords={"annotator": names, "item": np.arange(len(items))},
    )  # fmt: skip
    at = {name: place for place, name in enumerate(names)}
    agreed = majority(items, weights)
    true = rng.integers(3, size=len(items)).tolist()
    given, of = {
        "number": (0.7, lambda d, r, x, y: 0.7),
        "by name": ({r: cells[0, at[r], 0] for r in names}, lambda d, r, x, y: cells[0, at[r], 0]),
        "by item": (cells[0], lambda d, r, x, y: cells[0, at[r], x]),
        "majority": ("majority", lambda d, r, x, y: agreed[r]),
        "truth": (None, lambda d, r, x, y: float(y == true[x])),
        "draws": (array.isel(item=0), lambda d, r, x, y: cells[d, at[r], 0]),
        "draws by item": (array.transpose(), lambda d, r, x, y: cells[d, at[r], x]),
    }[form]
    known = {"truth": true} if form == "truth" else {"accuracy": given}
    found = quietly(
        dx.weighted_reliability, ann, chance=chance, errors=errors, weights=weights,
        per_pair=True, **known,
    )  # fmt: skip
    n = 6 if "draws" in form else 1
    assert found.dims == (*(SAMPLE if n > 1 else ()), "annotator", "annotator_")
    for d, one in enumerate(found.values.reshape(n, len(names), len(names))):
        close(one, by_definition(
            items, names, share, weights, ways=1.0 if errors == "printed" else 2.0,
            accuracy=lambda r, x, y, d=d: of(d, r, x, y)))  # fmt: skip


@given(seed=SEEDS)
@few
def test_of_two_annotators_the_pair_is_the_whole(seed):
    rng = np.random.default_rng(seed)
    items = study(rng, annotators=2, items=8, trials=bool(seed % 2))
    ann = as_annotations(items)
    if ann.sizes["annotator"] < 2:
        return
    n = len(items)
    weights = rng.random(n) if seed % 3 else None
    more = [{"accuracy": rng.random((2, n))}, {"accuracy": "majority"}, {"accuracy": 0.8},
            {"truth": rng.integers(3, size=n)}][seed % 4]  # fmt: skip
    more |= {"chance": ("uniform", "empirical")[seed % 2], "slim_majority": 0.5}
    whole = quietly(dx.weighted_reliability, ann, weights=weights, **more)
    pair = quietly(dx.weighted_reliability, ann, weights=weights, per_pair=True, **more)
    close(pair.values[[0, 1], [1, 0]], [whole, whole])
    assert np.isnan(np.diagonal(pair)).all()


@given(seed=SEEDS)
@few
def test_names_and_order_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    items = study(rng, items=8)
    who = rng.permutation(4).tolist()
    other = [{who[r]: given for r, given in said.items()} for said in items]
    accuracy = rng.random(4)
    found = quietly(dx.weighted_reliability, as_annotations(items), per_pair=True,
                    accuracy=dict(enumerate(accuracy.tolist())))  # fmt: skip
    turned = quietly(
        dx.weighted_reliability, as_annotations(other[::-1]), per_pair=True,
        accuracy={who[r]: float(a) for r, a in enumerate(accuracy)},
    )  # fmt: skip
    names = [who[r] for r in found["annotator"].values]
    close(turned.sel(annotator=names, annotator_=names), found)


def test_the_mean_over_pairs_is_the_whole_where_everybody_labels_everything():
    rng = np.random.default_rng(4)
    ann = as_annotations(study(rng, items=9, missing=0.0, trials=True))
    pairs = dx.concordance(ann, per_pair=True, slim_majority=0.3)
    close(np.nanmean(pairs), dx.concordance(ann, slim_majority=0.3))


def test_who_shares_no_item_has_no_value_and_a_warning_says_so():
    ann = dx.from_matrix([["x", "x", None], [None, "y", "x"], ["y", "y", None]])
    with pytest.warns(dx.DissensusWarning, match="1 of 3 values: no item has labels of both"):
        found = dx.concordance(ann, per_pair=True)
    np.testing.assert_array_equal(found, [[NAN, 1, NAN], [1, NAN, 0], [NAN, 0, NAN]])
    with pytest.warns(dx.DissensusWarning, match="no item has labels of both annotators"):
        found = dx.concordance(ann, per_pair=True, weights=[1, 0, 1])
    assert math.isnan(found[1, 2])
    assert found[0, 1] == 1.0
    alone = dx.from_matrix([["x"], ["y"]])
    assert dx.concordance(alone, per_pair=True).shape == (1, 1)
    assert np.isnan(dx.concordance(alone, per_pair=True)).all()


def test_who_never_agree_may_be_always_right_and_never():
    ann = dx.from_matrix([["a", "b", "a"], ["a", "b", "a"]])
    with pytest.warns(dx.DissensusWarning, match="one is always right and the other never"):
        found = dx.weighted_reliability(ann, accuracy=[1.0, 0.0, 0.0], per_pair=True)
    np.testing.assert_array_equal(found, [[NAN, 0, NAN], [0, NAN, 0], [NAN, 0, NAN]])


@pytest.mark.long
@pytest.mark.parametrize("chance", ["uniform", "empirical"])
def test_the_bootstrap_draws_pairs_too(chance):
    rng = np.random.default_rng(6)
    items = []
    while len(items) < 60:
        items += study(rng, annotators=3, missing=0.1)
    ann = as_annotations(items)
    draws = dx.bayesian_bootstrap(
        dx.concordance, ann, chance=chance, per_pair=True, draws=400, random_seed=1
    )
    assert draws.dims == (*SAMPLE, "annotator", "annotator_")
    slow = dx.bayesian_bootstrap(
        lambda ann, weights: dx.concordance(ann, chance=chance, weights=weights, per_pair=True),
        ann, draws=400, random_seed=1,
    )  # fmt: skip
    for found in (draws, slow):
        np.testing.assert_allclose(
            found.mean(SAMPLE), dx.concordance(ann, chance=chance, per_pair=True), atol=0.02
        )
    np.testing.assert_allclose(draws.std(SAMPLE), slow.std(SAMPLE), rtol=0.25)
    accuracy = xr.DataArray(rng.random((1, 9, 3)), dims=(*SAMPLE, "annotator"))
    both = dx.bayesian_bootstrap(
        dx.weighted_reliability, ann, accuracy=accuracy, per_pair=True, draws=50,
        cluster=np.arange(len(items)) // 2, random_seed=1,
    )  # fmt: skip
    assert both.shape == (1, 50, 3, 3)


def test_a_pair_that_rests_on_few_items_is_named():
    table = [["a", "a", None]] * 30 + [["a", None, "b"]] * 25 + [["a", "b", "b"]] * 5
    with pytest.warns(dx.DissensusWarning, match=r"of '1 and 2' \(5 items\) rests on fewer than"):
        dx.bayesian_bootstrap(
            dx.concordance, dx.from_matrix(table), per_pair=True, draws=10, random_seed=1
        )


def test_what_makes_no_sense_or_no_room_is_refused(monkeypatch):
    ann = dx.from_matrix([["x", "y"], ["y", "y"]])
    for of, more in ((dx.concordance, {}), (dx.weighted_reliability, {"accuracy": 0.8})):
        with pytest.raises(dx.ArgumentError, match="per_pair: expected False with per_item"):
            of(ann, per_item=True, per_pair=True, **more)
        with pytest.raises(dx.ArgumentError, match="per_pair: expected True or False"):
            of(ann, per_pair="yes", **more)
    draws = xr.DataArray(np.full((2, 50), 0.8), dims=SAMPLE)
    monkeypatch.setattr(_reliability_sums, "CELLS", 300)
    with pytest.raises(dx.ArgumentError, match=r"per_pair: expected up to 300 numbers.*Thin"):
        dx.weighted_reliability(ann, accuracy=draws, per_pair=True)
    monkeypatch.setattr(_reliability_sums, "MOST", 1)
    with pytest.raises(dx.AnnotationError, match=r"annotations: expected up to 1 pairs.*fewer"):
        dx.concordance(ann, per_pair=True)
