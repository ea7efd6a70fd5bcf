"""Agreement of two pools varies with who their annotators happen to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from component_fits import cross_replication, fit_of

import dissensus as dx
from dissensus import statistics
from dissensus.evaluation.components import cross_of, pool_agreement
from dissensus.evaluation.other_annotators import as_uncertain_between, versions
from dissensus.evaluation.section import Settings

PAIR = {"pool": "a", "pool_": "b"}
NUMBERS = {"pools": ("a", "b"), "distance": "interval"}


def settings(seed=1, draws=1000):
    return Settings(draws, seed, None, 0.1, "raise", chains=2)


def length(draws):
    return float(np.diff(np.nanquantile(draws, [0.055, 0.945]))[0])


def study(seed, n_annotators=(5, 5), n_items=60, slopes=0.5, own=0.5):
    """Draw numbers of two pools; annotators differ in slope, and in an opinion of their own.

    The xCC of all annotators is 1 / (1 + slopes**2 + own**2 + 1), of equal pools.
    """
    rng = np.random.default_rng(seed)
    item = rng.normal(size=n_items)
    rows = []
    for pool, n in zip("ab", n_annotators, strict=True):
        slope = rng.normal(1.0, slopes, n)
        # The opinion depends on a feature of the items that has nothing to do with the first.
        other, weight = rng.normal(size=n_items), rng.normal(0.0, own, n)
        value = slope * item[:, None] + weight * other[:, None] + rng.normal(size=(n_items, n))
        i, who = np.indices(value.shape).reshape(2, -1)
        rows.append(pd.DataFrame({
            "item": i, "annotator": [f"{pool}{w}" for w in who], "pool": pool,
            "label": value.ravel(),
        }))  # fmt: skip
    return pd.concat(rows)


def read(rows):
    return dx.annotations(rows, pool="pool", kind="continuous")


def jackknifed(value_of, rows, people):
    """Return the variance of a jackknife over some annotators, from its definition."""
    without = [value_of(rows[rows["annotator"] != name]) for name in people]
    return (len(people) - 1) * np.var(without)


@pytest.mark.parametrize("normalized", [False, True])
def test_versions_leave_out_annotators_of_one_pool_only(normalized):
    options = NUMBERS | {"normalized": normalized}
    rows = study(1, (4, 6), n_items=200)
    ann = read(rows)
    for pool, n in (("a", 4), ("b", 6)):
        of_pool = ann["pool"][ann["pool_code"]].to_numpy() == pool
        by_version = versions(ann, 1, rows=of_pool)
        assert by_version.n_groups == n
        values = by_version.values(
            statistics.get("cross_kappa").sums(by_version.annotations, **options)
        )
        people = sorted(set(rows.loc[rows["pool"] == pool, "annotator"]))
        without = [
            float(dx.cross_kappa(read(rows[rows["annotator"] != name]), **options))
            for name in people
        ]
        np.testing.assert_allclose(np.sort(values[:n]), np.sort(without))
        shuffled = values.reshape(-1, n)[1:]
        expected = (n - 1) * (np.var(without) - shuffled.var(axis=1).mean())
        assert by_version.spread(values) == pytest.approx(max(expected, 0.0))


def test_who_is_in_nearly_all_pairs_with_the_other_pool_is_not_left_out():
    rows = study(2, (4, 3))
    few = rows["annotator"].isin(["a1", "a2", "a3"]) & (rows["item"] > 5)
    ann = read(rows[~few])
    by_version = versions(ann, 1, rows=ann["pool_code"].to_numpy() == 0)
    assert (~by_version.used[0]).sum() == 1


def test_cross_kappa_has_the_variation_between_annotators_of_both_pools():
    rows = study(3, (6, 6), slopes=0.8)
    ann = read(rows)
    agreement = pool_agreement(ann, settings(draws=8000))
    kappa = agreement["cross_kappa"].sel(PAIR)
    alone = dx.bayesian_bootstrap("cross_kappa", ann, draws=8000, random_seed=1, **NUMBERS)
    # Of three to nine groups the t distribution has 5/3 of the variance; lengths are compared.
    spread = sum(
        each.spread(each.values(statistics.get("cross_kappa").sums(each.annotations, **NUMBERS)))
        for each in (versions(ann, 1, rows=ann["pool_code"].to_numpy() == k) for k in range(2))
    )
    noise = np.random.default_rng(1).standard_t(5, (2, alone.size)) * np.sqrt(spread / 2)
    assert length(kappa) == pytest.approx(length(alone + noise.sum(axis=0)), rel=0.05)
    assert length(kappa) > 1.4 * length(alone)
    xr.testing.assert_identical(
        agreement["cross_kappa"].sel(PAIR, drop=True),
        agreement["cross_kappa"].sel(pool="b", pool_="a", drop=True),
    )


def test_a_ratio_of_estimates_may_still_exceed_1():
    ann = read(study(4, (3, 3), n_items=40))
    draws = pool_agreement(ann, settings())["normalized_cross_kappa"].sel(PAIR)
    assert float(draws.max()) > 1.0


@pytest.mark.parametrize("what", ["kappa", "xcc"])
def test_intervals_contain_the_agreement_of_all_annotators(what):
    """Of 200 studies, 89 % intervals: .88 and .88 (resampled over items only: .52)."""
    truth = 1.0 / (1.0 + 0.5**2 + 0.5**2 + 1.0)
    fit = xr.DataTree.from_dict({"/": xr.Dataset(), "constant_data": xr.Dataset()})
    held = []
    for seed in range(40):
        ann = read(study(seed))
        draws = (
            pool_agreement(ann, settings(seed))["cross_kappa"]
            if what == "kappa"
            else cross_of(ann, fit, settings(seed))
        )
        low, high = np.quantile(draws.sel(PAIR), [0.055, 0.945])
        held.append(low <= truth <= high)
    assert np.mean(held) > 0.8


def test_the_xcc_without_a_model_is_the_correlation_of_labels_from_both_pools():
    """Pools that use the scale differently: cross kappa is low for this reason alone."""
    rows = study(5, (3, 4), n_items=80)
    wide = rows.assign(label=np.where(rows["pool"] == "a", 5 + 3 * rows["label"], rows["label"]))
    # Items of one pool only say nothing of a correlation.
    wide = wide[~((wide["pool"] == "b") & (wide["item"] >= 70))]
    both = wide[wide["item"] < 70]
    a, b = (
        both[both["pool"] == pool].pivot(index="item", columns="annotator", values="label")
        for pool in "ab"
    )
    x, y = np.repeat(a.to_numpy(), 4, axis=1), np.tile(b.to_numpy(), 3)
    expected = np.corrcoef(x.ravel(), y.ravel())[0, 1]
    fit = xr.DataTree.from_dict({"/": xr.Dataset(), "constant_data": xr.Dataset()})
    draws = cross_of(read(wide), fit, settings()).sel(PAIR)
    assert float(draws.median()) == pytest.approx(expected, abs=0.03)
    assert float(dx.cross_kappa(read(wide), **NUMBERS)) < expected - 0.1


def test_a_correlation_is_spread_about_its_median_until_the_xcc_is_as_uncertain():
    rng = np.random.default_rng(1)
    correlation = np.eye(3)[None, None] + 0.2 * (1 - np.eye(3))
    noise = rng.normal(0.0, 0.1, (2, 1000, 3, 3))
    fit = fit_of(
        "gaussian", names="abc", mu=0.0, sigma=1.0, sigma_annotator=0.5,
        sigma_item=rng.gamma(100.0, 0.01, (2, 1000, 3)),
        correlation=correlation + (noise + noise.swapaxes(2, 3)) * (1 - np.eye(3)),
    )  # fmt: skip
    xcc = dx.xcc(fit, scale="observed")
    middle = xcc.median(["chain", "draw"])
    factor = xr.ones_like(middle).where(False)  # no draws of the xCC: NaN
    for p, q, times in (("a", "b", 1.7), ("a", "c", 0.4)):
        for pair in ((p, q), (q, p)):
            factor.loc[dict(zip(("pool", "pool_"), pair, strict=True))] = times
    out = as_uncertain_between(fit, middle + factor * (xcc - middle))
    after = dx.xcc(out, scale="observed")
    assert length(after.sel(PAIR)) == pytest.approx(1.7 * length(xcc.sel(PAIR)), rel=0.02)
    assert float(after.sel(PAIR).median()) == pytest.approx(float(middle.sel(PAIR)), abs=0.01)
    same = (out["posterior"]["correlation"] == fit["posterior"]["correlation"]).all(
        ["chain", "draw"]
    )
    moved = {("a", "b"), ("b", "a")}
    assert {(p, q) for p in "abc" for q in "abc" if not same.sel(pool=p, pool_=q)} == moved
    for name in fit["posterior"]:
        equal = np.array_equal(fit["posterior"][name], out["posterior"][name])
        assert equal == (name != "correlation")


def test_correlations_stay_between_minus_1_and_1():
    fit = cross_replication("gaussian", draws=500)
    out = as_uncertain_between(fit, 30.0 * dx.xcc(fit, scale="observed"))
    correlation = out["posterior"]["correlation"]
    assert float(abs(correlation).max()) == 1.0
    own = correlation.isel(pool=0, pool_=0)
    np.testing.assert_array_equal(own, np.ones_like(own))
