"""Crossed effects of one pool: the exact posterior of tiny data, invariances, and small cases.

NUTS, published tables and complaints have files of their own beside this one.
"""

from __future__ import annotations

import arviz as az
import crossed_reference
import numpy as np
import pytest
import xarray as xr
from crossed_labels import PLACES, labels, one_pool, priors_of
from scipy import stats

import dissensus as dx
from dissensus.families.crossed.fit import _start
from dissensus.families.crossed.process import process
from dissensus.models import crossed_effects

FAMILIES = ("gaussian", "bernoulli", "ordinal")
by_family = pytest.mark.parametrize("family", FAMILIES)


def fit(ann, **options):
    return crossed_effects.fit(
        ann, **{"draws": 2000, "chains": 2, "random_seed": 11, "progressbar": False, **options}
    )


@pytest.fixture(scope="module")
def study():
    """Return a simulated study of a family, made once."""
    found = {
        family: dx.simulate.replication_study(40, 8, 4, family=family, random_seed=1).annotations
        for family in FAMILIES
    }
    return found.__getitem__


def integrated(ann, family, **options):
    priors = priors_of(family, anonymous=options.get("anonymous", False))
    if family == "gaussian":
        return crossed_reference.gaussian(ann, priors, **options)
    return crossed_reference.labels(ann, family, priors, **options)


# -- The exact posterior ----------------------------------------------------------------------


@pytest.mark.unit(0, long=3)
@by_family
@pytest.mark.parametrize("anonymous", [False, True], ids=["named", "anonymous"])
def test_the_posterior_is_that_of_integration(family, anonymous):
    ann = one_pool(family)
    priors = priors_of(family, anonymous=anonymous)
    found = fit(ann, family=family, priors=priors, anonymous=anonymous)
    crossed_reference.compare(found, integrated(ann, family, anonymous=anonymous))


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
    found = fit(ann, family=family, priors=priors_of(family))
    crossed_reference.compare(found, integrated(ann, family), enough=100)


def test_one_label_says_little():
    with pytest.warns(dx.DesignWarning, match="No item has two labels, and no annotator gave two"):
        crossed_effects.build(one_pool("gaussian", [(0, 0)]), priors=priors_of("gaussian"))


@pytest.mark.unit(0, long=1)
@by_family
def test_items_and_annotators_without_labels_have_their_prior(family):
    whole = one_pool(family, [*PLACES[:6], (3, 3)])
    ann = whole.isel(annotation=slice(6))
    found = fit(ann, family=family, priors=priors_of(family))
    crossed_reference.compare(found, integrated(ann, family))
    assert found["constant_data"]["n_labels_per_item"].to_numpy().tolist() == [2, 3, 1, 0]


@pytest.mark.long
def test_two_ordered_labels_have_no_gap():
    ann, priors = one_pool("ordinal", n_labels=2), priors_of("ordinal")
    found = fit(ann, family="ordinal", priors=priors)
    crossed_reference.compare(found, integrated(ann, "ordinal"))
    assert (found["posterior"]["cutpoint"] == 0).all()


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize(("family", "n_labels"), [("bernoulli", 2), ("ordinal", 3)])
def test_labels_that_are_all_alike(family, n_labels):
    ann = labels(PLACES, [n_labels - 1] * len(PLACES), kind="ordinal", labels=range(n_labels))
    found = fit(ann, family=family, priors=priors_of(family))
    crossed_reference.compare(found, integrated(ann, family), enough=200)


AGREED = {
    "alike": [[5, 5], [5, 5]], "agreed": [[1, 1], [2, 2], [4, 4]], "lenient": [[1, 3], [2, 4]],
}  # fmt: skip


@pytest.mark.parametrize("table", AGREED.values(), ids=AGREED)
def test_numbers_that_leave_no_residual_are_refused(table):
    ann = dx.from_matrix(np.array(table, dtype=float), kind="continuous")
    for use in (crossed_effects.fit, crossed_effects.build):
        with pytest.raises(dx.AnnotationError, match="do not explain to within a millionth"):
            use(ann, priors=priors_of("gaussian"))


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
    found = fit(dx.from_matrix(table, kind="continuous"), priors=priors, draws=5000)["posterior"]
    for name, square in zip(("sigma_item", "sigma_annotator", "sigma"), (item, who, rest),
                            strict=True):  # fmt: skip
        draws = found[name].to_numpy()
        half = np.median(square)
        for function in (np.sqrt, np.asarray, lambda v, half=half: v < half):
            want = float((weight * function(square)).sum())
            drawn = function(draws**2) * 1.0
            error = drawn.std() / np.sqrt(float(az.ess(drawn)))
            # A grid of 90 in each direction is not exact either: .3 % of what it says.
            assert abs(drawn.mean() - want) < 4 * error + 0.003 * want, name


# -- Invariances ------------------------------------------------------------------------------

WIDE = {"draws": 90, "tune": 200}
"""So few that chains are not judged."""


def drawn(found, name):
    return found["posterior"][name].to_numpy()


@by_family
def test_names_do_not_matter(family, study):
    ann = study(family)
    other = ann.assign_coords(
        item=[f"case {i:03d}" for i in range(ann.sizes["item"])],
        annotator=[f"person {j:03d}" for j in range(ann.sizes["annotator"])],
    )
    one, two = (fit(x, family=family, **WIDE)["posterior"] for x in (ann, other))
    for name in one.data_vars:
        np.testing.assert_array_equal(one[name].to_numpy(), two[name].to_numpy())


@pytest.mark.unit(0, long=1)
@by_family
def test_the_order_of_rows_items_and_annotators_does_not_matter(family, study):
    ann = study(family)
    rng = np.random.default_rng(2)
    order = {dim: rng.permutation(ann.sizes[dim]) for dim in ("annotation", "item", "annotator")}
    other = ann.isel(order)
    for dim in ("item", "annotator"):
        other[f"{dim}_code"] = ("annotation", np.argsort(order[dim])[other[f"{dim}_code"]])
    dx.validate(other)
    one, two = (fit(x, family=family, draws=1500, random_seed=s)
                for x, s in ((ann, 1), (other, 2)))  # fmt: skip
    two["posterior"] = xr.DataTree(two["posterior"].to_dataset().sel(
        item=one["posterior"]["item"], annotator=one["posterior"]["annotator"]))  # fmt: skip
    crossed_reference.compare_fits(one, two, enough=150, errors=4.5)


@pytest.mark.parametrize(("shift", "factor"), [(0.0, 4.0), (32.0, 1.0), (-7.3, 0.3), (2.0, 1e6)])
def test_the_unit_of_numbers_does_not_matter(shift, factor, study):
    """Default priors are scaled to the data, so that draws with one seed are the same numbers."""
    ann = study("gaussian")
    other = ann.assign(value=shift + factor * ann["value"])
    one, two = (fit(x, **WIDE)["posterior"] for x in (ann, other))
    for name in one.data_vars:
        want = one[name].to_numpy() * factor + (shift if name == "mu" else 0)
        np.testing.assert_allclose(two[name].to_numpy(), want, rtol=1e-6, atol=1e-6 * factor)


def test_a_large_offset_costs_no_digits(study):
    ann = study("gaussian")
    value = np.round(ann["value"] * 1024) / 1024  # exact beside 1e8 too
    one, two = (fit(ann.assign(value=value + c), **WIDE)["posterior"] for c in (0.0, 1e8))
    for name in ("sigma_item", "sigma_annotator", "sigma", "item_effect"):
        np.testing.assert_allclose(one[name], two[name], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(one["mu"], two["mu"] - 1e8, atol=1e-5)


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("family", ["bernoulli", "ordinal"])
def test_reversing_the_labels_turns_the_scale_round(family, study):
    ann = study(family)
    last = ann.sizes["label"] - 1
    other = ann.assign(label_code=last - ann["label_code"])
    one, two = (fit(x, family=family, draws=1500, random_seed=s)
                for x, s in ((ann, 3), (other, 4)))  # fmt: skip
    turned = two["posterior"].to_dataset()
    for name in {"mu", "item_effect", "annotator_effect", "cutpoint"} & set(turned):
        turned[name] = -turned[name]
    if "cutpoint" in turned:
        turned["cutpoint"] = turned["cutpoint"].copy(data=turned["cutpoint"].to_numpy()[..., ::-1])
    two["posterior"] = xr.DataTree(turned)
    crossed_reference.compare_fits(one, two, enough=150, errors=4.5)


@by_family
def test_what_is_kept_does_not_change_what_is_drawn(family, study):
    whole = fit(study(family), family=family, **WIDE)["posterior"]
    bare = fit(study(family), family=family, keep_effects=False, **WIDE)["posterior"]
    assert set(whole.data_vars) - set(bare.data_vars) == {"item_effect", "annotator_effect"}
    for name in bare.data_vars:
        np.testing.assert_array_equal(bare[name], whole[name])
    assert not {"item", "annotator"} & set(bare.dims)


@by_family
def test_chains_start_apart(family, study):
    what = process("crossed_effects", study(family), family=family, sampler="gibbs", priors=None,
                   anonymous=False)  # fmt: skip
    rng = np.random.default_rng(5)
    starts = [_start(what, what.data(), rng) for _ in range(200)]
    parts = ["sd_item", "sd_annotator", *(["sd"] if family == "gaussian" else [])]
    for part in parts:  # e^+-1 about the middle at two standard deviations
        assert np.std(np.log([getattr(start, part)[0] for start in starts])) > 0.4, part
    end = fit(study(family), family=family, draws=300)["posterior"]["mu"]
    assert np.std([start.mu[0] for start in starts]) > end.std()
