"""Callables of one's own: called once per draw, and what they may return."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from small_studies import study

import dissensus as dx


@pytest.fixture
def ann():
    return study(1, "ordinal", n_items=40, n_annotators=4).annotations()


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


def test_the_weights_are_those_of_a_dirichlet_distribution(ann):
    found = dx.bayesian_bootstrap(lambda ann, weights: weights[0], ann, draws=500, random_seed=1)
    assert stats.kstest(found.values.ravel() / 40, stats.beta(1, 39).cdf).pvalue > 0.001


def test_callables_keep_the_items_of_a_cluster_together(ann):
    cluster = {item: n % 20 for n, item in enumerate(ann["item"].values.tolist())}

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


def test_rankings_can_be_given_to_a_callable(rankings):
    with pytest.warns(dx.DissensusWarning, match="^2 items are few"):
        found = dx.bayesian_bootstrap(
            lambda annotations, weights: weights.max(), rankings[0], draws=3, random_seed=1
        )
    assert found.shape == (1, 3)


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
    found = dx.bayesian_bootstrap(by_draw(both, both, both), ann, draws=3)
    assert (found["a"].dims, found["n"].dims) == (("chain", "draw", "what"), ("chain", "draw"))
    assert found["a"].isel(chain=0, draw=2, drop=True).identical(both["a"])
    assert (found["n"].dtype, found.attrs) == (int, {"source": "here"})
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
