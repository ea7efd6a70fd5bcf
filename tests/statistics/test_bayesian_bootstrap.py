"""The Bayesian bootstrap: the draws are the statistic under Dirichlet weights, for any of them."""

from __future__ import annotations

from functools import partial

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy import stats
from small_studies import study
from statistic_cases import arguments, arrays, every_variant, studies, taken, undefined_in_silence

import dissensus as dx
from dissensus.kernels.random import generator
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


@pytest.mark.unit(8, long=24)
@every_variant
def test_draws_are_the_statistic_under_the_weights_drawn(entry, variant):
    for trials in (False, True):
        made = studies(entry, variant, 2, n_items=24, trials=trials)[-1]
        with undefined_in_silence():
            drawn = dx.bayesian_bootstrap(
                partial(entry.function, **variant), *arguments(entry, made), draws=5, random_seed=5
            )
        for d, weights in enumerate(weights_of(5, 24, 5)):
            once = taken(entry, variant, made, weights=weights)
            for all_draws, single in zip(arrays(drawn), arrays(once), strict=True):
                assert all_draws.name == single.name
                assert all_draws.dims == ("chain", "draw", *single.dims)
                assert all_draws.dtype == np.float64
                result = all_draws.isel(chain=0, draw=d)
                np.testing.assert_allclose(result, single, atol=1e-10)
                for dim in single.dims:
                    assert result[dim].values.tolist() == single[dim].values.tolist()


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
        draws = dx.bayesian_bootstrap(statistic, ann, **more, **how)
        xr.testing.assert_identical(draws, expected)
    xr.testing.assert_identical(
        dx.bayesian_bootstrap(dx.krippendorff_alpha, ann, "ordinal", **how), expected
    )


def test_the_output_has_one_chain_and_draws_in_front(ann):
    draws = dx.bayesian_bootstrap("percent_agreement", ann, draws=7, random_seed=1)
    assert (draws.name, draws.dims, draws.shape) == ("percent_agreement", ("chain", "draw"), (1, 7))
    assert draws["chain"].values.tolist() == [0]
    assert draws["draw"].values.tolist() == list(range(7))
    assert dx.bayesian_bootstrap("percent_agreement", ann).sizes["draw"] == 4000


def test_arviz_summarises_it(ann):
    draws = dx.bayesian_bootstrap("krippendorff_alpha", ann, draws=200, random_seed=1)
    table = az.summary(draws)
    assert table.loc["krippendorff_alpha", "mean"] == pytest.approx(float(draws.mean()), abs=0.01)
    assert az.plot_forest(draws.to_dataset()) is not None


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
        draws = dx.bayesian_bootstrap("percent_agreement", ann, draws=5000, random_seed=2)
        posterior = stats.beta(agree, n - agree)
        assert stats.kstest(draws.values.ravel(), posterior.cdf).pvalue > 0.001


def test_items_of_a_cluster_stay_together(ann):
    items = ann["item"].values.tolist()
    cluster = {
        item: f"c{n}"
        for item, n in zip(items, np.random.default_rng(3).integers(100, size=40) % 30, strict=True)
    }
    draws = dx.bayesian_bootstrap("fleiss_kappa", ann, cluster=cluster, draws=20, random_seed=4)
    units = list(dict.fromkeys(cluster[item] for item in items))
    for d, of_units in enumerate(weights_of(4, len(units), 20)):
        weights = {item: of_units[units.index(cluster[item])] for item in items}
        once = dx.fleiss_kappa(ann, weights=weights)
        assert float(draws[0, d]) == pytest.approx(float(once), abs=1e-10)


def test_given_weights_are_multiplied_with_those_drawn(ann):
    given = np.random.default_rng(1).gamma(2.0, size=40)
    how = {"draws": 15, "random_seed": 3}
    draws = dx.bayesian_bootstrap("fleiss_kappa", ann, weights=given, **how)
    for d, weights in enumerate(weights_of(3, 40, 15)):
        once = float(dx.fleiss_kappa(ann, weights=given * weights))
        assert float(draws[0, d]) == pytest.approx(once, abs=1e-10)
    own = dx.bayesian_bootstrap(lambda a, weights: weights.sum(), ann, weights=given, **how)
    assert not own.equals(dx.bayesian_bootstrap(lambda a, weights: weights.sum(), ann, **how))
    with pytest.raises(dx.ArgumentError, match="weights"):
        dx.bayesian_bootstrap("krippendorff_alpha", ann, weights=[1, 2], **how)


def test_what_is_no_statistic_is_refused(ann):
    with pytest.raises(dx.ArgumentError, match=r"krippendorff_alpha.*found 'kappa'"):
        dx.bayesian_bootstrap("kappa", ann)
    with pytest.raises(dx.ArgumentError, match="found int"):
        dx.bayesian_bootstrap(3, ann)
    with pytest.raises(dx.ArgumentError, match=r"keyword weights=.*'<lambda>' without it"):
        dx.bayesian_bootstrap(lambda annotations: 1.0, ann)
    for value, result in [
        ("much", "str"), ("3", "str"), (None, "NoneType"), ([1.0, 2.0], "list"), ({}, "dict"),
        (1j, "complex"), (10**400, "int .int too large"), (np.ma.masked, "MaskedConstant"),
        (np.datetime64("2020"), "datetime64"),
    ]:  # fmt: skip
        with pytest.raises(dx.ArgumentError, match=f"returns a number.*found {result}"):
            dx.bayesian_bootstrap(lambda a, weights, value=value: value, ann, draws=2)
    for draws in (0, -1, 2.5, True, "many", 10**12, 10**400):
        with pytest.raises(dx.ArgumentError, match="draws: expected a whole number"):
            dx.bayesian_bootstrap("percent_agreement", ann, draws=draws)
    with pytest.raises(dx.AnnotationError, match="xarray"):
        dx.bayesian_bootstrap("percent_agreement", [[1, 2]])


def test_undefined_draws_are_nan_and_said_once():
    ann = dx.from_matrix([["a", "a"]] * 30)
    with pytest.warns(dx.DissensusWarning, match="NaN.* in 25 of 25 draws: all labels") as caught:
        draws = dx.bayesian_bootstrap("krippendorff_alpha", ann, draws=25, random_seed=1)
    assert len(caught) == 1
    assert draws.isnull().all()


def test_arguments_that_a_statistic_does_not_take_are_refused_with_those_it_does(ann):
    for name, more, message in [
        ("krippendorff_alpha", {"levle": "ordinal"}, "level=None, .*unexpected .*'levle'"),
        ("discrepancy_ratio", {}, r"\(annotations, predictions, distance=None.*'predictions'"),
        ("percent_agreement", {"foo": 1}, "'foo'"),
    ]:
        with pytest.raises(dx.ArgumentError, match=f"^{name}: expected the arguments .*{message}"):
            dx.bayesian_bootstrap(name, ann, **more)
    with pytest.raises(dx.ArgumentError, match="too many positional"):
        dx.bayesian_bootstrap("percent_agreement", ann, ann)

    def own(annotations, more, weights):
        raise AssertionError

    with pytest.raises(dx.ArgumentError, match=r"arguments of 'own'.*missing .*'more'"):
        dx.bayesian_bootstrap(own, ann)
    with pytest.raises(dx.ArgumentError, match=r"keyword weights=.*'by_place' without it"):

        def by_place(annotations, weights, /):
            raise AssertionError

        dx.bayesian_bootstrap(by_place, ann)


def held_out(made, seed, **more):
    return dx.bayesian_bootstrap(
        partial(dx.relative_f1, **more), made.annotations(), made.predictions(), random_seed=seed,
        draws=20, average="macro",
    )  # fmt: skip


def test_the_seed_goes_to_a_statistic_that_draws_too():
    made = study(2, "nominal", n_items=40, n_annotators=8, single=False)
    for seed in (1, [1, 2]):
        xr.testing.assert_identical(held_out(made, seed), held_out(made, seed))
        again = dx.relative_f1(
            made.annotations(), made.predictions(), average="macro", random_seed=seed
        )
        assert held_out(made, seed).attrs["held_out"] == again.attrs["held_out"]
    assert len({str(held_out(made, seed).attrs["held_out"]) for seed in range(8)}) > 1
    first, second = (held_out(made, np.random.default_rng(3)) for _ in range(2))
    xr.testing.assert_identical(first, second)
    # Its own seed comes first; the weights are those of the bootstrap's seed all the same.
    fixed = held_out(made, 5, random_seed=1)
    assert fixed.attrs["held_out"] == held_out(made, 1).attrs["held_out"]
    named = [who for who in made.annotations()["annotator"].values if who in fixed.held_out]
    xr.testing.assert_allclose(held_out(made, 5, held_out=named), fixed, rtol=1e-12)


# Callables of one's own: called once per draw, and what they may return.


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

    draws = dx.bayesian_bootstrap(both, ann, 7, level="ordinal", draws=9, random_seed=1)
    assert isinstance(draws, xr.Dataset)
    assert draws["alpha"].dims == ("chain", "draw")
    assert draws["alpha"].shape == (1, 9)
    assert len(seen) == 9
    assert float(draws["agreement"][0, 3]) == float(dx.percent_agreement(ann, weights=seen[3]))


def test_the_weights_are_those_of_a_dirichlet_distribution(ann):
    draws = dx.bayesian_bootstrap(lambda ann, weights: weights[0], ann, draws=500, random_seed=1)
    assert stats.kstest(draws.values.ravel() / 40, stats.beta(1, 39).cdf).pvalue > 0.001


def test_callables_keep_the_items_of_a_cluster_together(ann):
    cluster = {item: n % 20 for n, item in enumerate(ann["item"].values.tolist())}

    def spread(annotations, weights):
        by_cluster = weights.groupby(
            weights["item"].copy(data=[cluster[i] for i in weights["item"].values])
        )
        return float(by_cluster.std().max())  # fmt: skip

    draws = dx.bayesian_bootstrap(spread, ann, cluster=cluster, draws=3, random_seed=1)
    assert (abs(draws) < 1e-12).all()


@pytest.mark.parametrize("value", [3, 2.5, np.float64(1.0), np.array(4), True])
def test_a_callable_may_return_any_number(ann, value):
    def five(annotations, weights):
        return value

    draws = dx.bayesian_bootstrap(five, ann, draws=2, random_seed=1)
    assert (draws.name, draws.dims, draws.dtype) == ("five", ("chain", "draw"), np.float64)
    assert (draws == float(value)).all()


def test_a_callable_may_return_an_array_with_dims(ann):
    def each(annotations, **kwargs):
        weights = kwargs["weights"]
        return xr.DataArray([weights.sum(), weights.max()], dims="what", coords={"what": [1, 2]})

    draws = dx.bayesian_bootstrap(each, ann, draws=4, random_seed=1)
    assert (draws.name, draws.dims) == ("each", ("chain", "draw", "what"))
    np.testing.assert_allclose(draws.sel(what=1), 40.0)


def test_rankings_can_be_given_to_a_callable(rankings):
    with pytest.warns(dx.DissensusWarning, match="^2 items are few"):
        draws = dx.bayesian_bootstrap(
            lambda annotations, weights: weights.max(), rankings[0], draws=3, random_seed=1
        )
    assert draws.shape == (1, 3)


def by_draw(*values):
    """A callable that gives one after the other."""
    values = iter(values)

    def given(annotations, weights):
        return next(values)

    return given


def array(values=(1.0, 2.0), dim="what", names=("x", "y"), **more):
    return xr.DataArray(list(values), dims=dim, coords={dim: list(names)}, **more)


@pytest.mark.parametrize(
    ("first", "other", "message"),
    [
        (array(), array(names=("x", "z")), "coordinates what 'x', 'y'; found .* 'x', 'z'"),
        (array(), array((1.0, 2.0, 3.0), names="xyz"), "{'what': 2}; found .*{'what': 3}"),
        (array(), array(dim="where"), "{'what': 2}; found .*{'where': 2}"),
        (array(), array(name="other"), "'given' .*; found .*'other'"),
        (array(), 1.0, "{'what': 2}; found DataArray with 'given'"),
        (array(), array().to_dataset(name="given"), "like that of draw 0.*; found Dataset"),
        (
            xr.Dataset({"a": array()}),
            xr.Dataset({"a": array(), "b": array()}),
            "Dataset with 'a' {'what': 2}; found Dataset with 'a' {'what': 2}, 'b' {'what': 2}",
        ),
        (array(), array("ab"), "numbers; found 'given' of type <U1"),
        (array(), np.ones(2), "a number, a DataArray or a Dataset; found ndarray"),
    ],
)
def test_results_of_another_form_than_the_first_are_refused(ann, first, other, message):
    with pytest.raises(dx.ArgumentError, match=f"^statistic, draw 2: .*{message}"):
        dx.bayesian_bootstrap(by_draw(first, first, other), ann, draws=4)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (array(dim="draw"), "without the dims chain and draw; found one with 'draw'"),
        (array().expand_dims(chain=[0]), "found one with 'chain'"),
        (array().assign_coords(draw=3), "found one with 'draw'"),
        (array("ab"), "numbers; found 'given' of type <U1"),
        (array((10**400, 1)), "numbers; found 'given' of type object"),
        (xr.Dataset({"a": array(), "b": array("ab")}), "numbers; found 'b'"),
        (xr.Dataset(), "with variables; found none"),
    ],
)
def test_results_that_cannot_be_laid_out_are_refused_at_the_first_draw(ann, value, message):
    with pytest.raises(dx.ArgumentError, match=f"^statistic, draw 0: .*{message}"):
        dx.bayesian_bootstrap(by_draw(value), ann, draws=4)


def test_results_keep_their_coordinates_and_attributes(ann):
    given = array(attrs={"unit": "m"}).assign_coords(code=("what", [7, 8]), at=3)
    both = xr.Dataset({"a": given, "n": 4}, attrs={"source": "here"})
    draws = dx.bayesian_bootstrap(by_draw(both, both, both), ann, draws=3)
    assert (draws["a"].dims, draws["n"].dims) == (("chain", "draw", "what"), ("chain", "draw"))
    assert draws["a"].isel(chain=0, draw=2, drop=True).identical(both["a"])
    assert (draws["n"].dtype, draws.attrs) == (int, {"source": "here"})
    alone = dx.bayesian_bootstrap(by_draw(given, given), ann, draws=2)
    assert alone.isel(chain=0, draw=1, drop=True).identical(given.rename("given"))


def test_given_whole_weights_stay_repetitions_in_every_draw():
    """Alpha sees how many labels there are: a callable must not lose that by the draws' weights."""
    label = np.random.default_rng(3).choice(["x", "y"], (30, 2))
    ann = dx.from_matrix(label)
    seen = []

    def spied(annotations, weights):
        seen.append(weights)
        return dx.krippendorff_alpha(annotations, weights=weights)

    slow = dx.bayesian_bootstrap(spied, ann, draws=3, weights=[5] * 30, random_seed=1)
    repeated = dx.from_matrix(np.tile(label, (5, 1)))
    for weights, value in zip(seen, slow.values[0], strict=True):
        drawn = np.tile(weights.values / 5, 5)
        again = xr.DataArray(drawn, dims="item", coords={"item": range(150)}, attrs=weights.attrs)
        assert value == pytest.approx(
            float(dx.krippendorff_alpha(repeated, weights=again)), abs=1e-12
        )
