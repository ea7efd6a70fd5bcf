"""Agreement of two pools varies with who their annotators happen to be."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from component_fits import cross_replication, fit_of
from scipy import stats

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


def spreads_of(ann, seed=1):
    """Return the variances over annotators of pool a, and of pool b."""
    parts = [versions(ann, seed, rows=ann["pool_code"].to_numpy() == k) for k in range(2)]
    return [
        each.spread(each.values(statistics.get("cross_kappa").sums(each.annotations, **NUMBERS)))
        for each in parts
    ]


def test_cross_kappa_has_the_variation_between_annotators_of_both_pools():
    ann = read(study(6, (6, 6), slopes=0.8))
    agreement = pool_agreement(ann, settings(draws=8000))
    kappa = agreement["cross_kappa"].sel(PAIR)
    alone = dx.bayesian_bootstrap("cross_kappa", ann, draws=8000, random_seed=1, **NUMBERS)
    spreads = spreads_of(ann)
    assert min(spreads) > 0.2 * max(spreads)  # else this test would not need both
    # Normal noise with the 89 % interval of a t distribution: 1.23 times as wide with 5 degrees.
    wider = stats.t(5).ppf(0.945) / stats.norm.ppf(0.945)
    expected = np.sqrt(float(alone.var()) + wider**2 * sum(spreads))
    assert float(kappa.std()) == pytest.approx(expected, rel=0.05)
    xr.testing.assert_identical(
        agreement["cross_kappa"].sel(PAIR, drop=True),
        agreement["cross_kappa"].sel(pool="b", pool_="a", drop=True),
    )


def test_people_in_both_pools_are_left_out_of_both():
    """Twice the covariance of the two pools is missed if they are taken for different people."""
    rows = study(8, (6, 6), slopes=0.8)
    rows["annotator"] = rows["annotator"].str[1:]
    first = rows[rows["pool"] == "a"]
    again = np.random.default_rng(2).normal(0.0, 0.5, len(first))
    both = pd.concat([first, first.assign(pool="b", label=first["label"] + again)])
    ann = read(both)
    with pytest.warns(dx.DissensusWarning, match="annotators are in both pools"):
        alone = dx.bayesian_bootstrap("cross_kappa", ann, draws=4000, random_seed=1, **NUMBERS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        apart = spreads_of(ann)
    kappa = pool_agreement(ann, settings(draws=4000))["cross_kappa"].sel(PAIR)
    wider = stats.t(5).ppf(0.945) / stats.norm.ppf(0.945)
    between = (float(kappa.var()) - float(alone.var())) / wider**2
    assert between > 1.5 * sum(apart)


@pytest.mark.filterwarnings("ignore:normalized_cross_kappa is undefined")
@pytest.mark.parametrize("normalized", [False, True])
def test_the_noise_of_normalised_values_does_not_change_the_sign(normalized):
    """Alphas of single versions are near 0; cross kappa itself is clearly positive."""
    rng = np.random.default_rng(3)
    item = rng.normal(size=200)
    rows = pd.concat([
        pd.DataFrame({
            "item": np.tile(np.arange(200), 3), "pool": pool,
            "annotator": np.repeat([f"{pool}{k}" for k in range(3)], 200),
            "label": np.concatenate([
                w * item + noise * rng.normal(size=200) for w in weights
            ]),
        })
        for pool, weights, noise in (("a", (1.0, 1.0, 1.0), 0.3), ("b", (0.7, 0.5, 0.2), 1.5))
    ])  # fmt: skip
    name = "normalized_cross_kappa" if normalized else "cross_kappa"
    ann = read(rows)
    draws = pool_agreement(ann, settings(draws=4000))[name].sel(PAIR)
    alone = dx.bayesian_bootstrap(
        "cross_kappa", ann, draws=4000, random_seed=1, normalized=normalized, **NUMBERS
    )
    assert length(draws) > 1.2 * length(alone)
    assert length(draws) < 12 * length(alone)
    if normalized:
        kappa = pool_agreement(ann, settings(draws=4000))["cross_kappa"].sel(PAIR)
        np.testing.assert_array_equal(np.sign(draws), np.sign(kappa.where(draws.notnull())))


def test_a_ratio_of_estimates_may_still_exceed_1():
    ann = read(study(4, (3, 3), n_items=40))
    draws = pool_agreement(ann, settings())["normalized_cross_kappa"].sel(PAIR)
    assert float(draws.max()) > 1.0


@pytest.mark.long
@pytest.mark.parametrize("what", [pytest.param("kappa", marks=pytest.mark.long), "xcc"])
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
    noise = rng.normal(0.0, 0.05, (2, 1000, 3, 3))
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
    assert length(after.sel(PAIR)) == pytest.approx(1.7 * length(xcc.sel(PAIR)), rel=0.05)
    assert float(after.sel(PAIR).median()) == pytest.approx(float(middle.sel(PAIR)), abs=0.01)
    same = (out["posterior"]["correlation"] == fit["posterior"]["correlation"]).all(
        ["chain", "draw"]
    )
    moved = {("a", "b"), ("b", "a")}
    assert {(p, q) for p in "abc" for q in "abc" if not same.sel(pool=p, pool_=q)} == moved
    for name in fit["posterior"]:
        equal = np.array_equal(fit["posterior"][name], out["posterior"][name])
        assert equal == (name != "correlation")


def test_an_xcc_that_is_more_uncertain_stays_as_it_is():
    fit = cross_replication("gaussian", draws=500)
    assert as_uncertain_between(fit, 0.9 * dx.xcc(fit, scale="observed")) is fit


def test_correlations_stay_between_minus_1_and_1():
    fit = cross_replication("gaussian", draws=500)
    out = as_uncertain_between(fit, 30.0 * dx.xcc(fit, scale="observed"))
    correlation = out["posterior"]["correlation"]
    assert float(abs(correlation).max()) == 1.0
    own = correlation.isel(pool=0, pool_=0)
    np.testing.assert_array_equal(own, np.ones_like(own))


def test_correlations_of_three_pools_stay_a_correlation_matrix():
    fit = cross_replication("gaussian", draws=500)
    out = as_uncertain_between(fit, 3.0 * dx.xcc(fit, scale="observed"))
    before, after = (x["posterior"]["correlation"].to_numpy() for x in (fit, out))
    assert np.linalg.eigvalsh(after).min() > -1e-9
    np.testing.assert_allclose(after, after.swapaxes(-1, -2), atol=1e-12)
    assert abs(after - before).max() > 0.1


@pytest.mark.long
def test_reliability_is_planned_from_correlations_that_were_moved():
    fit = cross_replication("gaussian", draws=100)
    out = as_uncertain_between(fit, 3.0 * dx.xcc(fit, scale="observed"))
    plan = dx.plan_reliability(out, panel=12, studies=3, random_seed=1)
    assert plan.attrs["studies"] == 3


def fit_of_study(ann, family):
    return dx.models.cross_replication.fit(
        ann, family=family, draws=500, tune=300, chains=2, random_seed=1, progressbar=False,
        keep_effects=False,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Some annotators")
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
def test_evaluations_have_an_xcc_as_uncertain_as_without_a_model(family):
    rows = study(9, (5, 5), slopes=0.8, own=1.0)
    kind, labels = ("continuous", None) if family == "gaussian" else ("ordinal", range(5))
    if family == "bernoulli":
        kind, labels = "nominal", ["no", "yes"]
        rows["label"] = np.where(rows["label"] > 0, "yes", "no")
    elif family == "ordinal":
        rows["label"] = (rows["label"].round() + 2).clip(0, 4).astype(int)
    ann = dx.annotations(rows, pool="pool", kind=kind, labels=labels)
    result = dx.evaluate(ann, random_seed=1, draws=500, chains=2, progressbar=False)
    fit = fit_of_study(ann, family)
    alone = dx.xcc(fit, scale="observed").sel(PAIR)
    goal = length(cross_of(ann, fit, settings()).sel(PAIR).clip(-1.0, 1.0))
    wide = result["components"]["xcc"].sel(scale="observed", **PAIR)
    assert goal > 1.3 * length(alone)
    # Correlations end at 1, so that the length may not be reached.
    assert length(wide) > 1.3 * length(alone)
    assert 0.6 * goal < length(wide) < 1.1 * goal
    np.testing.assert_allclose(dx.xcc(result["components"], "observed").sel(PAIR), wide, atol=1e-12)
    kappa = result["pools"]["cross_kappa"].sel(PAIR)
    boot = dx.bayesian_bootstrap(
        "cross_kappa", ann, draws=1000, random_seed=1, pools=("a", "b"),
        distance=result["pools"].attrs["distance"],
    )  # fmt: skip
    assert length(kappa) > 1.2 * length(boot)


def test_a_pool_of_one_annotator_has_no_alpha_but_the_other_varies():
    rows = study(6, (6, 6), slopes=0.8)
    ann = read(rows[(rows["pool"] == "a") | (rows["annotator"] == "b1")])
    draws = pool_agreement(ann, settings(draws=4000))
    alone = dx.bayesian_bootstrap("cross_kappa", ann, draws=4000, random_seed=1, **NUMBERS)
    assert draws["normalized_cross_kappa"].isnull().all()
    assert length(draws["cross_kappa"].sel(PAIR)) > 1.2 * length(alone)


@pytest.mark.long
def test_pools_of_two_annotators_are_named_in_a_note():
    ann = read(study(1, (2, 2)))
    result = dx.evaluate(ann, random_seed=1, draws=100, chains=2, progressbar=False)
    notes = result["components"].attrs["notes"]
    assert "how annotators differ in pools 'a' and 'b'. For other annotators" in notes


def test_the_names_of_grades_do_not_matter_for_the_xcc():
    """Labels 0, 1, 4 are numbers in the model; as text they are, too, by their label values."""
    rows = study(2)
    rows["label"] = np.array([0, 1, 4])[(rows["label"].round() + 1).clip(0, 2).astype(int)]
    numbers = dx.annotations(rows, pool="pool", kind="ordinal", labels=[0, 1, 4])
    fit = fit_of_study(numbers, "gaussian")
    expected = cross_of(numbers, fit, settings())
    as_read = cross_of(read(rows.assign(label=rows["label"].astype(float))), fit, settings())
    xr.testing.assert_allclose(expected, as_read)
