"""The Bayesian bootstrap: the draws are the statistic under Dirichlet weights, for any of them."""

from __future__ import annotations

import warnings
from functools import partial

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from small_studies import study
from statistic_cases import arguments, arrays, every_variant, studies, taken, undefined_in_silence

import dissensus as dx
from dissensus.arrays.seeds import generator
from dissensus.statistics._doubts import Doubts
from dissensus.statistics._resampling import replicated
from dissensus.statistics._sums import Sums


@pytest.fixture
def ann():
    return study(1, "ordinal", n_items=40, n_annotators=4).annotations()


def weights_of(seed, n_units, draws):
    """Return the weights that a seed draws: the totals of the identity."""
    identity = Sums("weights", (np.eye(n_units),), lambda totals, _: totals, np.arange(n_units))
    rng = generator(seed, "bayesian bootstrap")
    return np.concatenate(list(replicated(identity, rng, draws)))


@every_variant
def test_draws_are_the_statistic_under_the_weights_drawn(entry, variant):
    for made in studies(entry, variant, 2, n_items=24):
        args = arguments(entry, made)
        with undefined_in_silence():
            drawn = dx.bayesian_bootstrap(
                partial(entry.function, **variant), *args, draws=12, random_seed=5
            )
        for d, weights in enumerate(weights_of(5, 24, 12)):
            once = taken(entry, variant, made, weights=weights)
            for all_draws, one in zip(arrays(drawn), arrays(once), strict=True):
                assert all_draws.name == one.name
                assert all_draws.dims == ("chain", "draw", *one.dims)
                assert all_draws.dtype == np.float64
                found = all_draws.isel(chain=0, draw=d)
                np.testing.assert_allclose(found, one, atol=1e-10)
                for dim in one.dims:
                    assert found[dim].values.tolist() == one[dim].values.tolist()


@every_variant
def test_many_sets_of_weights_at_once_are_one_after_the_other(entry, variant):
    # Weights as unequal as they come, among them none at all.
    rng = np.random.default_rng(3)
    for made in studies(entry, variant, 4, n_items=10, trials=True):
        args = arguments(entry, made)
        sums = entry.sums(*args, **variant)
        weights = rng.gamma(0.5, size=(60, 10)) * (rng.random((60, 10)) < 0.8) + 1e-3
        each = [sums.weighted(one).totals() for one in weights]
        together = sums.labelled(sums.finish(np.concatenate(each), Doubts()), ("chain", "draw"))
        with undefined_in_silence():
            values = [sums.value(one) for one in weights]
        for d, one in enumerate(values):
            for all_draws, single in zip(arrays(together), arrays(one), strict=True):
                np.testing.assert_allclose(all_draws[0, d], single, atol=1e-10)


def test_a_statistic_by_itself_by_name_and_in_partials_is_the_same(ann):
    how = {"draws": 30, "random_seed": 1}
    expected = dx.bayesian_bootstrap(dx.krippendorff_alpha, ann, level="ordinal", **how)
    level = partial(dx.krippendorff_alpha, level="ordinal")
    for statistic, more in [
        ("krippendorff_alpha", {"level": "ordinal"}),
        (level, {}),
        (partial(level), {}),
        (partial(level, level="ratio"), {"level": "ordinal"}),
    ]:
        found = dx.bayesian_bootstrap(statistic, ann, **more, **how)
        xr.testing.assert_identical(found, expected)
    xr.testing.assert_identical(
        dx.bayesian_bootstrap(dx.krippendorff_alpha, ann, "ordinal", **how), expected
    )


def test_the_output_has_one_chain_and_draws_in_front(ann):
    found = dx.bayesian_bootstrap("percent_agreement", ann, draws=7, random_seed=1)
    assert (found.name, found.dims, found.shape) == ("percent_agreement", ("chain", "draw"), (1, 7))
    assert found["chain"].values.tolist() == [0]
    assert found["draw"].values.tolist() == list(range(7))
    assert dx.bayesian_bootstrap("percent_agreement", ann).sizes["draw"] == 4000


def test_arviz_summarises_it(ann):
    found = dx.bayesian_bootstrap("krippendorff_alpha", ann, draws=200, random_seed=1)
    table = az.summary(found)
    assert table.loc["krippendorff_alpha", "mean"] == pytest.approx(float(found.mean()), abs=0.01)
    assert az.plot_forest(found.to_dataset()) is not None


def test_seeds(ann):
    def drawn(seed, statistic="percent_agreement"):
        return dx.bayesian_bootstrap(statistic, ann, draws=50, random_seed=seed)

    xr.testing.assert_identical(drawn(1), drawn(1))
    assert not drawn(1).equals(drawn(2))
    assert not drawn(None).equals(drawn(None))
    xr.testing.assert_identical(drawn(np.random.default_rng(3)), drawn(np.random.default_rng(3)))
    rng = np.random.default_rng(3)
    assert not drawn(rng).equals(drawn(rng))
    with pytest.raises(dx.ArgumentError, match="random_seed"):
        drawn("one")


def test_the_mean_of_an_indicator_has_its_beta_posterior():
    # 12 of 40 items agree: the posterior of their share, without a prior, is Beta(12, 28). With
    # 40 items each has a weight; with 400, equal ones share a Gamma variate.
    for n in (40, 400):
        agree = 3 * n // 10
        ann = dx.from_matrix([["a", "a"]] * agree + [["a", "b"]] * (n - agree))
        found = dx.bayesian_bootstrap("percent_agreement", ann, draws=5000, random_seed=2)
        posterior = stats.beta(agree, n - agree)
        assert stats.kstest(found.values.ravel(), posterior.cdf).pvalue > 0.001


def test_lumped_items_give_the_draws_distribution_of_single_ones(monkeypatch):
    made = study(6, n_items=300, n_labels=2, n_annotators=3)
    lumped = dx.bayesian_bootstrap("krippendorff_alpha", made.annotations(), random_seed=1)
    monkeypatch.setattr("dissensus.statistics._resampling._FEW", 10**9)
    single = dx.bayesian_bootstrap("krippendorff_alpha", made.annotations(), random_seed=2)
    assert stats.ks_2samp(lumped.values.ravel(), single.values.ravel()).pvalue > 0.001


def clustered(seed=3, n_items=60):
    """A study, and the cluster of each item: none has the same number of items."""
    made = study(seed, "ordinal", n_items=n_items)
    rng = np.random.default_rng(seed)
    return made, {f"i{i}": f"c{rng.integers(25)}" for i in range(n_items)}


def test_items_of_a_cluster_stay_together():
    made, cluster = clustered()
    ann = made.annotations()
    items = ann["item"].values.tolist()
    found = dx.bayesian_bootstrap("krippendorff_alpha", ann, cluster=cluster, draws=20,
                                  random_seed=4)  # fmt: skip
    units = list(dict.fromkeys(cluster[item] for item in items))
    for d, of_units in enumerate(weights_of(4, len(units), 20)):
        weights = {item: of_units[units.index(cluster[item])] for item in items}
        once = dx.krippendorff_alpha(ann, weights=weights)
        assert float(found[0, d]) == pytest.approx(float(once), abs=1e-10)


def test_clusters_may_be_given_in_any_form():
    made, cluster = clustered()
    ann = made.annotations()
    items = ann["item"].values.tolist()
    by_place = [cluster[item] for item in items]
    codes = pd.factorize(np.array(by_place))[0]
    series = pd.Series(cluster)
    declared = ann.assign(cluster_code=("item", codes)).assign_coords(
        cluster=list(dict.fromkeys(by_place))
    )

    def drawn(data, given, statistic="percent_agreement"):
        return dx.bayesian_bootstrap(statistic, data, cluster=given, draws=10, random_seed=1)

    expected = drawn(ann, cluster)
    array = xr.DataArray(by_place[::-1], dims="item", coords={"item": items[::-1]})
    for given in (by_place, codes, np.array(by_place), series, series[::-1], array):
        xr.testing.assert_identical(drawn(ann, given), expected)
    for given in (None, "cluster"):
        xr.testing.assert_identical(drawn(declared, given), expected)
    single = drawn(ann, None)
    assert not single.equals(expected)
    for data in (ann, declared):
        xr.testing.assert_identical(drawn(data, "item"), single)


def test_clusters_of_one_item_are_items(ann):
    each = dx.bayesian_bootstrap("percent_agreement", ann, draws=20, random_seed=1)
    also = dx.bayesian_bootstrap("percent_agreement", ann, draws=20, random_seed=1,
                                 cluster=np.arange(40)[::-1])  # fmt: skip
    xr.testing.assert_identical(also, each)


def test_what_is_no_cluster_is_refused(ann):
    items = ann["item"].values.tolist()
    for given, message in [
        ("patient", "expected None, \"item\".*found 'patient'.*cluster="),
        ("cluster", "cluster="),
        ([1, 2], "each of 40 items"),
        (dict.fromkeys(items[:39], 1), f"none for '{items[39]}'"),
        ([None, *range(39)], "a cluster for each item"),
    ]:
        with pytest.raises(dx.ArgumentError, match=f"^cluster.*{message}"):
            dx.bayesian_bootstrap("percent_agreement", ann, cluster=given)


def test_given_weights_are_multiplied_with_those_drawn(ann):
    given = np.random.default_rng(1).gamma(2.0, size=40)
    how = {"draws": 15, "random_seed": 3}
    found = dx.bayesian_bootstrap("krippendorff_alpha", ann, weights=given, **how)
    for d, weights in enumerate(weights_of(3, 40, 15)):
        once = float(dx.krippendorff_alpha(ann, weights=given * weights))
        assert float(found[0, d]) == pytest.approx(once, abs=1e-10)
    own = dx.bayesian_bootstrap(lambda a, weights: weights.sum(), ann, weights=given, **how)
    assert not own.equals(dx.bayesian_bootstrap(lambda a, weights: weights.sum(), ann, **how))
    with pytest.raises(dx.ArgumentError, match="weights"):
        dx.bayesian_bootstrap("krippendorff_alpha", ann, weights=[1, 2], **how)


def test_a_callable_is_called_with_named_weights_for_each_draw(ann):
    seen = []

    def both(annotations, more, *, weights, level):
        assert annotations is ann
        assert (more, level) == (7, "ordinal")
        assert weights["item"].values.tolist() == ann["item"].values.tolist()
        assert float(weights.sum()) == pytest.approx(40)
        seen.append(weights)
        alpha = dx.krippendorff_alpha(annotations, level, weights=weights)
        return xr.Dataset({"alpha": alpha, "agreement": dx.percent_agreement(ann, weights=weights)})

    found = dx.bayesian_bootstrap(both, ann, 7, level="ordinal", draws=9, random_seed=1)
    assert isinstance(found, xr.Dataset)
    assert found["alpha"].dims == ("chain", "draw")
    assert found["alpha"].shape == (1, 9)
    assert len(seen) == 9
    assert float(found["agreement"][0, 3]) == float(dx.percent_agreement(ann, weights=seen[3]))


def test_a_callable_around_a_statistic_has_its_distribution(ann):
    def alpha(annotations, weights=None):
        return dx.krippendorff_alpha(annotations, weights=weights)

    slow = dx.bayesian_bootstrap(alpha, ann, draws=800, random_seed=1)
    fast = dx.bayesian_bootstrap("krippendorff_alpha", ann, draws=4000, random_seed=2)
    assert slow.name == fast.name
    assert stats.ks_2samp(slow.values.ravel(), fast.values.ravel()).pvalue > 0.001


def test_callables_keep_the_items_of_a_cluster_together():
    made, cluster = clustered()
    ann = made.annotations()

    def spread(annotations, weights):
        by_cluster = weights.groupby(
            weights["item"].copy(data=[cluster[i] for i in weights["item"].values])
        )
        return float(by_cluster.std().max())  # fmt: skip

    found = dx.bayesian_bootstrap(spread, ann, cluster=cluster, draws=3, random_seed=1)
    assert (abs(found) < 1e-12).all()


@pytest.mark.parametrize("value", [3, 2.5, np.float64(1.0), np.array(4), True])
def test_a_callable_may_return_any_number(ann, value):
    def five(annotations, weights):
        return value

    found = dx.bayesian_bootstrap(five, ann, draws=2, random_seed=1)
    assert (found.name, found.dims, found.dtype) == ("five", ("chain", "draw"), np.float64)
    assert (found == float(value)).all()


def test_a_callable_may_return_an_array_with_dims(ann):
    def each(annotations, **kwargs):
        weights = kwargs["weights"]
        return xr.DataArray([weights.sum(), weights.max()], dims="what", coords={"what": [1, 2]})

    found = dx.bayesian_bootstrap(each, ann, draws=4, random_seed=1)
    assert (found.name, found.dims) == ("each", ("chain", "draw", "what"))
    np.testing.assert_allclose(found.sel(what=1), 40.0)


def test_what_is_no_statistic_is_refused(ann):
    with pytest.raises(dx.ArgumentError, match=r"krippendorff_alpha.*found 'kappa'"):
        dx.bayesian_bootstrap("kappa", ann)
    with pytest.raises(dx.ArgumentError, match="found int"):
        dx.bayesian_bootstrap(3, ann)
    with pytest.raises(dx.ArgumentError, match=r"keyword weights=.*'<lambda>' without it"):
        dx.bayesian_bootstrap(lambda annotations: 1.0, ann)
    for value, found in [("much", "str"), (None, "NoneType"), ([1.0, 2.0], "list"), ({}, "dict")]:
        with pytest.raises(dx.ArgumentError, match=f"returns a number.*found {found}"):
            dx.bayesian_bootstrap(lambda a, weights, value=value: value, ann, draws=2)
    for draws in (0, -1, 2.5, True, "many"):
        with pytest.raises(dx.ArgumentError, match="draws: expected a whole number"):
            dx.bayesian_bootstrap("percent_agreement", ann, draws=draws)
    with pytest.raises(dx.AnnotationError, match="xarray"):
        dx.bayesian_bootstrap("percent_agreement", [[1, 2]])
    with pytest.raises(TypeError, match="levle"):
        dx.bayesian_bootstrap("krippendorff_alpha", ann, levle="ordinal")


def test_one_item_is_no_sample_and_few_are_said_to_be_few(ann):
    with pytest.raises(dx.ArgumentError, match=r"two items or clusters at least.*found 1"):
        dx.bayesian_bootstrap("percent_agreement", dx.from_matrix([["a", "b"]]))
    with pytest.raises(dx.ArgumentError, match="two items or clusters"):
        dx.bayesian_bootstrap("percent_agreement", ann, cluster=np.zeros(40))
    with pytest.warns(dx.DissensusWarning, match="3 items or clusters are few") as caught:
        dx.bayesian_bootstrap("percent_agreement", ann, draws=5, cluster=np.arange(40) % 3)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dx.bayesian_bootstrap("percent_agreement", ann, draws=5, cluster=np.arange(40) % 20)


def test_undefined_draws_are_nan_and_said_once():
    ann = dx.from_matrix([["a", "a"]] * 30)
    with pytest.warns(dx.DissensusWarning, match="NaN.* in 25 of 25 draws: all labels") as caught:
        found = dx.bayesian_bootstrap("krippendorff_alpha", ann, draws=25, random_seed=1)
    assert len(caught) == 1
    assert found.isnull().all()


def test_draws_do_not_depend_on_their_blocks(monkeypatch, ann):
    # More draws at a time than one block holds come from several streams, all of them used.
    monkeypatch.setattr("dissensus.statistics._resampling._CELLS", 400)
    found = dx.bayesian_bootstrap("percent_agreement", ann, draws=95, random_seed=1)
    assert len(np.unique(found)) == 95
    whole = float(dx.percent_agreement(ann))
    assert float(found.mean()) == pytest.approx(whole, abs=4 * float(found.std()) / 95**0.5)


def test_rankings_can_be_given_to_a_callable(rankings):
    with pytest.warns(dx.DissensusWarning, match="2 items or clusters are few"):
        found = dx.bayesian_bootstrap(
            lambda annotations, weights: weights.max(), rankings[0], draws=3, random_seed=1
        )
    assert found.shape == (1, 3)
