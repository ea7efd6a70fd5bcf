"""The exact posterior of crossed effects on tiny data, of one pool and of several.

NUTS, published tables and complaints have files of their own beside this one.
"""

from __future__ import annotations

import arviz as az
import crossed_reference
import numpy as np
import pytest
from crossed_labels import (
    FAMILIES,
    PLACES,
    by_family,
    fit,
    integrated,
    labels,
    one_pool,
    priors_of,
    two_pools,
)
from scipy import stats

import dissensus as dx
from dissensus.models import crossed_effects

NOBODY = {"anonymous": True}
CASES = {
    **{family: (one_pool, {}, family, {}, {}) for family in FAMILIES},
    **{f"{family}, anonymous": (one_pool, {}, family, NOBODY, NOBODY) for family in FAMILIES},
    "two ordered labels": (one_pool, {"n_labels": 2}, "ordinal", {}, {}),
    **{f"{family}, two pools": (two_pools, {}, family, {}, {}) for family in FAMILIES},
    **{f"{family}, two pools, anonymous": (two_pools, {}, family, NOBODY, NOBODY)
       for family in FAMILIES},
    "two ordered labels, two pools": (two_pools, {"n_labels": 2}, "ordinal", {}, {}),
    "residual per pool": (two_pools, {}, "gaussian", {"residual": "pool"}, {"n_sd": 2}),
    "residual per pool, anonymous": (
        two_pools, {}, "gaussian", {"residual": "pool", **NOBODY}, {"n_sd": 2, **NOBODY}
    ),
    "correlations near 0": (two_pools, {}, "gaussian", {"correlation_prior": 5.0}, {"eta": 5.0}),
    "three pools": (
        two_pools, {"n_pools": 3}, "gaussian", {"correlation_prior": 3.0}, {"eta": 3.0}
    ),
}  # fmt: skip
"""Who makes the data with which options, the family, options of a fit, and of the integration.

Where there are two pools, some items are seen by one of them only."""


@pytest.mark.unit(0, long=8)
@pytest.mark.parametrize("name", CASES)
def test_the_posterior_is_that_of_integration(name):
    make, data, family, options, same = CASES[name]
    ann, priors = make(family, **data), priors_of(family, anonymous="anonymous" in options)
    fitted = fit(ann, family=family, priors=priors, **options)
    enough = 300 if make is two_pools else 400
    crossed_reference.compare(fitted, integrated(ann, family, **same), enough=enough)
    if "n_labels" in data:  # no gap
        assert (fitted["posterior"]["cutpoint"] == 0).all()


DESIGNS = {
    "one item": [(0, j) for j in (0, 1, 2, 0, 1, 2)],
    "one annotator": [(i, 0) for i in (0, 1, 2, 0, 1, 2)],
    "nested": [(0, 0), (0, 0), (1, 1), (1, 1), (2, 2), (2, 3)],
    "one label": [(0, 0)],
}


@pytest.mark.unit(3, long=5)
@by_family
@pytest.mark.parametrize("design", DESIGNS)
def test_designs_that_identify_little(family, design):
    ann = one_pool(family, DESIGNS[design])
    fitted = fit(ann, family=family, priors=priors_of(family))
    crossed_reference.compare(fitted, integrated(ann, family), enough=100)


def test_one_label_says_little():
    with pytest.warns(dx.DesignWarning, match="No item has two labels, and no annotator gave two"):
        crossed_effects.build(one_pool("gaussian", [(0, 0)]), priors=priors_of("gaussian"))


@pytest.mark.unit(0, long=1)
@by_family
def test_items_and_annotators_without_labels_have_their_prior(family):
    whole = one_pool(family, [*PLACES[:6], (3, 3)])
    ann = whole.isel(annotation=slice(6))
    fitted = fit(ann, family=family, priors=priors_of(family))
    crossed_reference.compare(fitted, integrated(ann, family))
    assert fitted["constant_data"]["n_labels_per_item"].to_numpy().tolist() == [2, 3, 1, 0]


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize(("family", "n_labels"), [("bernoulli", 2), ("ordinal", 3)])
def test_labels_that_are_all_alike(family, n_labels):
    ann = labels(PLACES, [n_labels - 1] * len(PLACES), kind="ordinal", labels=range(n_labels))
    fitted = fit(ann, family=family, priors=priors_of(family))
    crossed_reference.compare(fitted, integrated(ann, family), enough=200)


@pytest.mark.unit(0, long=1)
@by_family
def test_an_annotator_in_two_pools_is_two_members(family):
    ann = two_pools(family, shared=True)
    with pytest.raises(dx.AnnotationError, match=r"annotators 'a0': .*found 1 in several"):
        fit(ann, family=family)
    fitted = fit(ann, family=family, priors=priors_of(family), shared_annotators=True)
    crossed_reference.compare(fitted, integrated(ann, family), enough=300)
    here = fitted["posterior"]["annotator_effect"].sel(annotator="a0")
    assert here.notnull().all()
    assert not np.allclose(here.isel(pool=0), here.isel(pool=1))


def test_three_items_by_three_annotators_on_a_grid():
    """A complete table of nine numbers, whose sums of squares say it all (Searle et al. 1992).

    Given the variances, the means of items, of annotators, and what is left are independent, each
    with its own expected mean square: no covariance matrix is needed.
    """
    table = np.array([[4.0, 5.0, 4.2], [6.5, 7.0, 6.1], [3.0, 4.4, 3.1]])
    priors = priors_of("gaussian") | {"mu": (0.0, 1e4)}
    grid = (np.arange(90) + 0.5) / 90
    t, e, h = (
        1.5 * stats.t.ppf((1 + grid) / 2, 6), -np.log1p(-grid), 1.5 * stats.norm.ppf((1 + grid) / 2)
    )  # fmt: skip
    item, who, rest = np.meshgrid(t**2, e**2, h**2, indexing="ij")
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    squares = (
        3 * ((rows - rows.mean()) ** 2).sum(), 3 * ((columns - columns.mean()) ** 2).sum(),
        ((table - rows[:, None] - columns + table.mean()) ** 2).sum(),
    )  # fmt: skip
    expected = (rest + 3 * item, rest + 3 * who, rest)
    log = sum(
        -0.5 * degrees * np.log(v) - 0.5 * s / v
        for s, v, degrees in zip(squares, expected, (2, 2, 4), strict=True)
    )
    # The grand mean: a flat prior on mu leaves nothing of it.
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    fitted = fit(dx.from_matrix(table, kind="continuous"), priors=priors, draws=5000)["posterior"]
    for name, square in zip(("sigma_item", "sigma_annotator", "sigma"), (item, who, rest),
                            strict=True):  # fmt: skip
        draws = fitted[name].to_numpy()
        half = np.median(square)
        for function in (np.sqrt, np.asarray, lambda v, half=half: v < half):
            want = float((weight * function(square)).sum())
            drawn = function(draws**2) * 1.0
            error = drawn.std() / np.sqrt(float(az.ess(drawn)))
            # A grid of 90 in each direction is not exact either: .3 % of what it says.
            assert abs(drawn.mean() - want) < 4 * error + 0.003 * want, name


@pytest.mark.long
def test_pools_without_a_link_are_pools_apart():
    """No item in both: each pool has the posterior it has alone, and the correlation its prior."""
    both = two_pools("gaussian")
    pool = both["pool_code"].to_numpy()
    apart = both.assign(item_code=("annotation", 4 * pool + both["item_code"].to_numpy()))
    apart = apart.drop_vars("item").assign_coords(item=np.arange(8))
    dx.validate(apart)
    priors = priors_of("gaussian")
    fitted = fit(apart, priors=priors, residual="pool", draws=6000, keep_effects=False)
    correlation = fitted["posterior"]["correlation"][..., 0, 1].to_numpy()
    assert stats.kstest(correlation[:, ::5].ravel(), stats.uniform(-1, 2).cdf).pvalue > 0.001
    for p in (0, 1):
        alone = apart.isel(annotation=np.flatnonzero(pool == p)).drop_vars(["pool", "pool_code"])
        alone = crossed_reference.gaussian(alone, priors)
        pool_fit = fitted.copy()
        here = fitted["posterior"].to_dataset().isel(pool=p)[["sigma_item", "sigma_annotator"]]
        pool_fit["posterior"] = type(fitted)(here)
        crossed_reference.compare(pool_fit, alone)
