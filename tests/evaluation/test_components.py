"""Variance components in an evaluation: what is fitted, what is kept, and what is not."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects, fit_of

import dissensus as dx
from dissensus.evaluation import components
from dissensus.evaluation.components import (
    _typical,
    component_draws,
    plan,
    shared_items,
)
from dissensus.evaluation.observed import observed
from dissensus.evaluation.other_annotators import as_uncertain
from dissensus.evaluation.section import Settings
from dissensus.kernels.random import generator

QUIET = {"draws": 60, "random_seed": 1, "progressbar": False}
OF_POOLS = {"reference": "old", "reliability": (1,), "truth_model": None, "ground_truth": None}


def study(family="gaussian", pools=None, n_items=30, **more):
    if pools is not None:
        more["pools"] = pools
    return dx.simulate.replication_study(
        n_items, 6, 4, family=family, random_seed=1, **more
    ).annotations


def grades(n_labels, n_items=12, **more):
    rng = np.random.default_rng(1)
    item, who = np.indices((n_items, 4)).reshape(2, -1)
    label = (item + rng.integers(0, 3, len(item))) % n_labels + 1
    table = {"item": item, "annotator": who, "label": label}
    return dx.annotations(table, labels=range(1, n_labels + 1), **more)


@pytest.mark.parametrize(
    ("annotations", "family"),
    [
        (lambda: study(), "gaussian"),
        (lambda: grades(5, kind="ordinal"), "ordinal"),
        (lambda: grades(10, kind="ordinal"), "ordinal"),
        (lambda: grades(11, kind="ordinal"), "gaussian"),
        (lambda: grades(2, kind="nominal"), "bernoulli"),
        (lambda: grades(2, kind="ordinal"), "bernoulli"),
    ],
)
def test_the_family_follows_the_labels(annotations, family):
    assert plan(annotations(), None, "auto", None).family == family


@pytest.mark.parametrize(
    ("annotations", "reason", "told"),
    [
        (lambda: grades(3, kind="nominal"), "without an order", False),
        (lambda: grades(5), "without a stated order", True),
        (lambda: grades(5, n_items=4, kind="ordinal"), "only 4 items have two annotators", True),
        (
            lambda: dx.from_matrix([[1.0] * 3] * 9, kind="continuous"),
            "all labels are the same",
            True,
        ),
        (lambda: dx.from_matrix([[k + 0.5] for k in range(9)]), "no item has two", False),
        (lambda: dx.simulate.study(n_items=9, random_seed=1).annotations, "rankings", False),
    ],
)
def test_what_has_no_components_says_why(annotations, reason, told):
    result = plan(annotations(), None, "auto", None)
    assert reason in result.text
    assert result.noted == told


def test_a_family_that_is_asked_for_is_taken():
    assert plan(grades(5), None, "ordinal", None).family == "ordinal"
    assert plan(grades(5, kind="ordinal"), None, "gaussian", None).family == "gaussian"
    assert plan(grades(5, kind="ordinal"), None, None, None).text == "not asked for"


def test_what_makes_no_sense_is_refused():
    with pytest.raises(dx.ArgumentError, match="components: expected 'auto'"):
        plan(study(), None, "probit", None)
    with pytest.raises(dx.ArgumentError, match="no item has two annotators"):
        plan(dx.from_matrix([[0.5], [1.5]]), None, "gaussian", None)
    with pytest.raises(dx.ArgumentError, match="reference: expected None"):
        plan(study(), None, "auto", "a")
    with pytest.raises(dx.ArgumentError, match=r"one of the pools 'old', 'new'"):
        plan(study(pools=("old", "new")), None, "auto", "olds")
    with pytest.raises(dx.ArgumentError, match="not asked for"):
        plan(study(pools=("old", "new")), None, None, "old")


def test_annotators_whom_nobody_knows_again_are_anonymous():
    ann = grades(5, kind="ordinal")
    n = ann.sizes["annotation"]
    alone = ann.drop_dims("annotator").assign(annotator_code=("annotation", np.arange(n)))
    result = plan(alone.assign_coords(annotator=np.arange(n)), None, "auto", None)
    assert result.anonymous
    assert "No annotator labelled two items" in result.remarks[0]


def test_pools_are_compared_unless_there_are_too_many():
    names = tuple("abcdefghi")
    assert plan(study(pools=names[:8]), None, "auto", "a").pools
    result = plan(study(pools=names), None, "auto", None)
    assert not result.pools
    assert "There are 9 pools, too many" in result.remarks[0]


def two_pools(items, annotators):
    """Labels of pool x and pool y: which items, and which annotators, each."""
    rows = [
        (item, who, pool, float(item) + 0.1 * len(str(who)) + 0.01 * place)
        for pool, some, people in zip("xy", items, annotators, strict=True)
        for item in some
        for place, who in enumerate(people)
    ]
    frame = pd.DataFrame(rows, columns=["item", "annotator", "pool", "label"])
    return dx.annotations(frame, pool="pool", kind="continuous")


@pytest.mark.parametrize("kind", ["continuous", pytest.param("ordinal", marks=pytest.mark.long)])
def test_pools_of_unequal_noise_have_their_own_icc(kind):
    """Correlations of two labels of a pool, from many such items, with steps and without them."""
    truth = {"continuous": {"experts": 0.762, "crowd": 0.485},
             "ordinal": {"experts": 0.711, "crowd": 0.431}}[kind]  # fmt: skip
    rng = np.random.default_rng(3)
    n, first, rows = 150, rng.normal(size=150), []
    of_pool = {"experts": first, "crowd": 0.8 * first + 0.6 * rng.normal(size=n)}
    for pool, noise in (("experts", 0.6), ("crowd", 1.2)):
        for k in range(6):
            label = 1.2 * of_pool[pool] + rng.normal(0, 0.3) + rng.normal(0, noise, n)
            if kind == "ordinal":
                label = np.digitize(label, [-1.2, -0.3, 0.5, 1.3]) + 1
            rows.append(pd.DataFrame({"item": np.arange(n), "annotator": f"{pool} {k}",
                                      "label": label, "pool": pool}))  # fmt: skip
    ann = dx.annotations(pd.concat(rows), kind=kind, pool="pool")
    chosen = plan(ann, None, "auto", None)
    assert (chosen.family, chosen.residual) == ("gaussian", "pool")
    assert ("cutpoints" in "".join(chosen.remarks)) == (kind == "ordinal")
    icc = section(ann)[0]["components"]["icc"].sel(scale="observed")
    for pool, value in truth.items():
        low, high = np.quantile(icc.sel(pool=pool), [0.055, 0.945])
        assert low < value < high
        assert high - low < 0.25
    by_name = plan(ann, None, "ordinal" if kind == "ordinal" else "gaussian", None)
    assert by_name.residual == ("shared" if kind == "ordinal" else "pool")
    few = ann.isel(annotation=ann["annotator_code"].isin([0, 6, 7]))  # one expert
    assert plan(few, None, "auto", None).residual == "shared"


def test_people_in_two_pools_are_noted():
    result = plan(two_pools([range(8), range(8, 16)], ["ab", "bc"]), None, "auto", None)
    assert result.shared
    assert "1 annotator in several pools" in result.remarks[0]


def test_items_that_pools_share_are_counted():
    ann = two_pools([range(6), range(6, 12)], ["ab", "cd"])
    np.testing.assert_array_equal(shared_items(ann), [[6, 0], [0, 6]])


def test_a_typical_item_is_that_of_its_pool():
    ann = two_pools([range(6), range(3)], ["abc", "de"])
    np.testing.assert_array_equal(_typical(ann, pools=True), [3, 2])
    assert float(_typical(ann, pools=False)) == 4.0  # three items of 3, three of 5


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "ordinal"])
def test_draws_are_those_of_the_metrics(family):
    fit = crossed_effects(family)
    result = component_draws(fit, xr.DataArray(3.0))
    for scale in ("latent", "observed"):
        of_scale = result.sel(scale=scale)
        np.testing.assert_allclose(of_scale["icc"], dx.icc(fit, scale=scale))
        np.testing.assert_allclose(of_scale["annotator_icc"], dx.annotator_icc(fit, scale=scale))
    np.testing.assert_allclose(
        result["mean_reliability"], dx.spearman_brown(dx.icc(fit, scale="observed"), 3)
    )
    shares = result.sel(scale="latent")
    total = shares["icc"] + shares["annotator_icc"] + shares["residual_share"]
    np.testing.assert_allclose(total, 1.0)


@pytest.mark.long
@pytest.mark.parametrize("family", ["gaussian", "ordinal"])
def test_draws_of_pools_and_what_a_reference_adds(family):
    fit = cross_replication(family)
    n_labels = xr.DataArray([1.0, 2.0, 3.0], {"pool": list("abc")}, ["pool"])
    result = component_draws(fit, n_labels, "b").sel(scale="observed")
    np.testing.assert_allclose(result["xcc"], dx.xcc(fit, scale="observed"))
    np.testing.assert_allclose(
        result["normalized_xcc"], dx.normalized_xcc(fit, scale="observed"), rtol=1e-10
    )
    close = dx.normalized_xcc(fit, scale="observed", reference="b")
    gap = result["normalized_xcc_difference"].sel(pool="a", pool_="c")
    np.testing.assert_allclose(gap, close.sel(pool="a") - close.sel(pool="c"))
    more = result["icc_difference"].sel(pool="c")
    icc = dx.icc(fit, scale="observed")
    np.testing.assert_allclose(more, icc.sel(pool="c") - icc.sel(pool="b"))
    assert result["icc_difference"].sel(pool="b").isnull().all()
    assert result["normalized_xcc_difference"].sel(pool_="b").isnull().all()
    assert "xcc_difference" not in component_draws(fit, n_labels)


@pytest.mark.long
def test_an_evaluation_has_the_group_and_can_be_asked_again():
    result = dx.evaluate(study(), threshold=0.0, **QUIET)
    actual = result["components"]
    assert actual["icc"].dims == ("chain", "draw", "scale")
    assert actual.sizes["draw"] == 1000
    np.testing.assert_allclose(dx.icc(actual), actual["icc"].sel(scale="latent"), rtol=1e-12)
    assert float(dx.annotators_needed(dx.icc(actual), 0.8).median()) >= 1
    assert "item_effect" not in actual["posterior"]
    assert result.attrs["components"] == "gaussian"
    again = dx.evaluate(study(), threshold=0.0, **QUIET)
    xr.testing.assert_identical(again["components"].to_dataset(), actual.to_dataset())


@pytest.fixture
def of_pools(evaluated):
    """Two labels of two pools, and their evaluation, in which the old one is the reference."""
    ann = study("bernoulli", pools=("old", "new"))
    return ann, evaluated("two labels of two pools", ann, **QUIET, **OF_POOLS)


@pytest.mark.long
def test_pools_go_through_cross_replication_with_what_was_observed_beside(of_pools):
    ann, result = of_pools
    actual, beside = result["components"], result["pools"]
    assert actual.attrs["model"] == "cross_replication"
    assert actual.attrs["reference"] == "old"
    assert float(actual["n_items_shared"].sel(pool="old", pool_="new")) == 30
    np.testing.assert_allclose(
        beside["observed_cross_kappa"].sel(pool="old", pool_="new"), dx.cross_kappa(ann)
    )
    part = ann.isel(annotation=ann["pool_code"].to_numpy() == 1)
    name = ann["pool"].to_numpy()[1]
    np.testing.assert_allclose(
        beside["observed_krippendorff_alpha"].sel(pool=name), dx.krippendorff_alpha(part)
    )
    np.testing.assert_array_equal(
        beside["cross_kappa"].isnull().all(("chain", "draw")), np.eye(2, dtype=bool)
    )


def test_every_pool_and_every_pair_has_its_own_agreement():
    ann = study("bernoulli", pools=("a", "b", "c"))
    settings = Settings(20, 1, None, 0.1, "raise", 1, progressbar=False)
    result = components.pool_agreement(ann, settings)
    names = ann["pool"].to_numpy().tolist()
    for place, name in enumerate(names):
        part = ann.isel(annotation=ann["pool_code"].to_numpy() == place)
        observed = result["observed_krippendorff_alpha"].sel(pool=name).item()
        assert observed == pytest.approx(dx.krippendorff_alpha(part).item())
    for p, q in permutations(names, 2):
        for statistic in ("cross_kappa", "normalized_cross_kappa"):
            direct = dx.cross_kappa(ann, pools=(p, q), normalized="norm" in statistic).item()
            observed = result[f"observed_{statistic}"].sel(pool=p, pool_=q).item()
            assert observed == pytest.approx(direct), (p, q)


@pytest.mark.long
def test_what_the_model_refuses_is_noted_unless_it_was_asked_for():
    exact = np.add.outer(np.arange(9.0), [0.0, 0.25, 0.5])  # items and annotators explain it all
    ann = dx.from_matrix(exact, kind="continuous")
    result = dx.evaluate(ann, threshold=4.0, **QUIET)
    assert "components" not in result.children
    assert "the model refuses" in result["agreement"].attrs["notes"]
    with pytest.raises(dx.AnnotationError, match="must not explain them to within a millionth"):
        dx.evaluate(ann, threshold=4.0, components="gaussian", **QUIET)


@pytest.mark.long
def test_chains_that_are_too_short_are_warned_of(monkeypatch):
    monkeypatch.setattr(components, "LEAST_DRAWS", 100)
    monkeypatch.setattr(components, "_WARM_UP", 0)
    monkeypatch.setattr("dissensus.sampling.convergence.ESS", 1e9)
    with pytest.warns(dx.ConvergenceWarning, match="Do not trust the intervals of ICCs"):
        result = dx.evaluate(study(), threshold=0.0, **QUIET)
    assert result["components"].attrs["n_items_poor"] > 0
    assert result["components"].sizes["draw"] == 8 * 200  # the second attempt


@pytest.mark.long
def test_chains_that_are_too_short_are_run_once_more(monkeypatch):
    monkeypatch.setattr(components, "LEAST_DRAWS", 100)
    enough = dx.evaluate(study(), threshold=0.0, **QUIET)["components"]
    least = min(enough.attrs["ess_bulk_min"], enough.attrs["ess_tail_min"])
    assert enough.sizes["draw"] == 200
    monkeypatch.setattr("dissensus.sampling.convergence.ESS", 1.2 * least)
    again = dx.evaluate(study(), threshold=0.0, **QUIET)["components"]
    assert again.sizes["draw"] == 3 * 200
    assert again.attrs["n_items_poor"] == 0
    assert float(again["icc"].mean()) == pytest.approx(float(enough["icc"].mean()), abs=0.05)


@pytest.mark.long
def test_rows_say_each_number_once(of_pools):
    _, result = of_pools
    rows = dx.summary(result, "components")
    assert not rows.duplicated(["quantity", "by", "scale", "pool", "pool_"]).any()
    row = rows[(rows["quantity"] == "icc") & (rows["scale"] == "latent") & (rows["pool"] == "new")]
    draws = result["components"]["icc"].sel(scale="latent", pool="new")
    assert row["mean"].item() == pytest.approx(float(draws.mean()))
    assert row["lower"].item() < row["mean"].item() < row["upper"].item()
    assert row["ess_bulk"].item() > 100
    gap = rows[rows["quantity"] == "icc_difference"]
    assert gap["pool"].tolist() == ["new", "new"]
    assert gap["probability_positive"].between(0, 1).all()
    assert set(rows["by"]) == {"model", "bootstrap"}
    assert rows[rows["by"] == "bootstrap"]["observed"].notna().all()


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_pools_whose_names_are_numbers_stay_whole_numbers(tmp_path):
    ann = study("bernoulli", pools=("old", "new")).assign_coords(pool=[2, 3])
    result = dx.evaluate(ann, **QUIET, **OF_POOLS | {"reference": 2})
    rows = dx.summary(result, "components")
    for column in ("pool", "pool_"):
        assert rows[column].dtype == object
        assert not any(isinstance(name, float) for name in rows[column])
    assert rows["pool_"].isna().any()  # which made floats of all the others
    rows.to_csv(tmp_path / "components.csv")
    table = pd.read_csv(tmp_path / "components.csv", dtype=str)
    assert set(table["pool"].dropna()) | set(table["pool_"].dropna()) == {"2", "3"}
    dx.report(result, tmp_path / "report.html")
    assert "2 and 3" in (tmp_path / "report.html").read_text(encoding="utf-8")


def length(draws):
    """Return the length of the 89 % interval over chains and draws."""
    low, high = draws.quantile([0.055, 0.945], ["chain", "draw"])
    return high.drop_vars("quantile", errors="ignore") - low.drop_vars("quantile", errors="ignore")


def uses(family, slopes, n_items=80, item=1.0, words=False):
    """Let annotators use the scale more or less widely, which the model does not know."""
    rng = np.random.default_rng(3)
    latent = item * rng.normal(size=(n_items, 1))
    value = np.asarray(slopes) * latent + rng.normal(0.0, 0.5, (n_items, len(slopes)))
    if family == "gaussian":
        return dx.from_matrix(value, kind="continuous")
    cut = {"bernoulli": [0.0], "ordinal": [-1.0, 0.0, 1.0]}[family]
    names = ["none", "some", "much", "all"][: len(cut) + 1] if words else range(len(cut) + 1)
    code = np.digitize(value, cut)
    kind = "nominal" if family == "bernoulli" else "ordinal"
    return dx.from_matrix(np.array(list(names))[code], kind=kind, labels=list(names))


def around(n, spread):
    """Return slopes of annotators."""
    return np.exp(np.random.default_rng(4).normal(0.0, spread, n))


def settings(draws=2000, seed=1):
    return Settings(draws, seed, None, 0.1, "raise", chains=2)


def section(ann, family="auto", **more):
    """Return the groups of the section, and the fit without more."""
    chosen = plan(ann, None, family, None)
    name = "cross_replication" if chosen.pools else "crossed_effects"
    fit = dx.models.get(name).module.fit(
        ann, family=chosen.family, keep_effects=False, draws=1000, tune=300, chains=2,
        progressbar=False, random_seed=generator(1, "components"),
        **({"residual": chosen.residual} if chosen.pools else {}),
    )  # fmt: skip
    return components.draws({"annotations": ann}, chosen, settings(**more)), fit


UNEQUAL = pytest.mark.filterwarnings("ignore:Some annotators")


@UNEQUAL
@pytest.mark.parametrize("family", ["gaussian", *(
    pytest.param(family, marks=pytest.mark.long) for family in ("bernoulli", "ordinal")
)])  # fmt: skip
def test_the_icc_is_as_uncertain_as_alpha_where_annotators_use_the_scale_differently(family):
    ann = uses(family, around(10, 0.8))
    name = {"gaussian": "_interval", "ordinal": "_ordinal", "bernoulli": ""}[family]
    alpha = observed(ann, None, settings())["agreement"][f"krippendorff_alpha{name}"]
    groups, fit = section(ann)
    wide, alone = groups["components"].sel(scale="observed"), dx.icc(fit, scale="observed")
    assert length(alpha) > 1.3 * length(alone)
    # The alpha of grades as they are ordered is not exactly that of numbers.
    rtol = 0.15 if family == "ordinal" else 0.07
    np.testing.assert_allclose(length(wide["icc"]), length(alpha.clip(0.0, 1.0)), rtol=rtol)
    np.testing.assert_allclose(wide["icc"].median(), alone.median(), atol=0.03)
    np.testing.assert_allclose(
        wide["mean_reliability"], dx.spearman_brown(wide["icc"], wide["n_labels"])
    )
    for name in fit["posterior"]:
        same = np.array_equal(fit["posterior"][name], groups["components/posterior"][name])
        assert same == (name != "sigma_item")


@pytest.mark.long
@UNEQUAL
def test_names_of_grades_do_not_matter():
    slopes = around(6, 0.5)
    numbers, words = (
        section(uses("ordinal", slopes, words=words))[0]["components"]["icc"]
        for words in (False, True)
    )
    xr.testing.assert_allclose(numbers, words)


@pytest.mark.parametrize("family", ["gaussian", pytest.param("ordinal", marks=pytest.mark.long)])
def test_random_labels_have_an_icc_near_0_that_no_noise_moves(family):
    groups, fit = section(uses(family, [1.0, 1.0, 1.0], n_items=60, item=0.0))
    wide, alone = groups["components"].sel(scale="observed"), dx.icc(fit, scale="observed")
    assert float(alone.mean()) < 0.1
    assert float(wide["icc"].mean()) < float(alone.mean()) + 0.05
    assert float(wide["icc"].quantile(0.945)) < 0.5
    assert np.isfinite(wide["icc"]).all()


def test_an_icc_that_is_more_uncertain_than_alpha_stays_as_it_is():
    for fit in (crossed_effects("ordinal"), cross_replication("gaussian")):
        before = fit["posterior"].to_dataset()
        icc = dx.icc(fit, scale="observed")
        for alpha in (icc.mean() + 0.9 * (icc - icc.mean()), xr.full_like(icc, np.nan)):
            after = as_uncertain(fit, alpha, 1)["posterior"].to_dataset()
            xr.testing.assert_identical(after, before)


def test_each_pool_is_as_uncertain_as_its_own_alpha():
    fit = cross_replication("gaussian", draws=2000)
    icc = dx.icc(fit)
    longer = xr.DataArray([0.5, 1.6, np.nan], {"pool": list("abc")}, ["pool"])
    result = as_uncertain(fit, 0.5 + longer * (icc - 0.5), 1)
    same = (result["posterior"]["sigma_item"] == fit["posterior"]["sigma_item"]).all(
        ["chain", "draw"]
    )
    assert same.to_numpy().tolist() == [True, False, True]
    goal = length((0.5 + 1.6 * (icc.sel(pool="b") - 0.5)).clip(0.0, 1.0))
    np.testing.assert_allclose(length(dx.icc(result).sel(pool="b")), goal, rtol=0.05)


@pytest.mark.long
@UNEQUAL
def test_pools_differ_in_how_their_annotators_use_the_scale():
    """Both pools label the same items; annotators of "even" are alike, those of "uneven" not."""
    parts = []
    for pool, spread in (("even", 0.0), ("uneven", 0.8)):
        rows = dx.to_dataframe(uses("gaussian", around(8, spread)))
        rows["annotator"] = pool + rows["annotator"].astype(str)
        parts.append(rows.assign(pool=pool))
    ann = dx.annotations(pd.concat(parts), pool="pool", kind="continuous")
    groups, fit = section(ann)
    of_items = [
        length(dx.bayesian_bootstrap(
            "krippendorff_alpha", dx.annotations(part, kind="continuous"), level="interval",
            random_seed=1,
        ))
        for part in parts
    ]  # fmt: skip
    alpha, icc = groups["pools"]["krippendorff_alpha"], groups["components"]["icc"]
    # Without variation between annotators, alphas are resampled over items only.
    even, uneven = (length(alpha.sel(pool=pool)) for pool in ("even", "uneven"))
    assert even < 1.5 * of_items[0]
    assert uneven > 2.0 * of_items[1]
    widths = [
        length(x.sel(pool="uneven"))
        for x in (alpha.clip(0.0, 1.0), icc.sel(scale="observed"), dx.icc(fit, scale="observed"))
    ]
    np.testing.assert_allclose(widths[1], widths[0], rtol=0.1)
    assert widths[1] > 1.3 * widths[2]


def test_an_alpha_of_anything_does_not_move_draws_to_both_ends():
    rng = np.random.default_rng(1)
    odds = rng.normal(0.3, 0.5, (2, 1000))
    fit = fit_of("gaussian", mu=0.0, sigma_item=np.exp(odds / 2), sigma_annotator=1e-3, sigma=1.0)
    alpha = xr.DataArray(rng.uniform(-1.0, 2.0, (1, 4000)), dims=["chain", "draw"])
    icc = dx.icc(as_uncertain(fit, alpha, 1))
    assert 0.7 < length(icc) < 0.9
    assert float(((icc < 0.05) | (icc > 0.95)).mean()) < 0.1


@pytest.mark.parametrize(
    ("annotators", "told"),
    [pytest.param(2, True), pytest.param(3, False, marks=pytest.mark.long)],
)
def test_two_annotators_do_not_show_how_annotators_differ(annotators, told):
    groups, _ = section(uses("gaussian", [1.0] * annotators, n_items=30))
    notes = groups["components"].attrs["notes"]
    assert ("differ in leniency only" in notes) == told


@pytest.mark.long
def test_pools_of_other_people_vary_apart():
    parts = []
    for place, pool in enumerate("ab"):
        rows = dx.to_dataframe(uses("gaussian", around(5, 0.8)))
        rows["annotator"] = pool + rows["annotator"].astype(str)
        rows["item"] = rows["item"] + 1000 * place
        parts.append(rows.assign(pool=pool))
    ann = dx.annotations(pd.concat(parts), pool="pool", kind="continuous")
    alpha = components.pool_agreement(ann, settings())["krippendorff_alpha"]
    # Ranks: draws with few groups have long tails.
    ranks = alpha.transpose("pool", ...).to_numpy().reshape(2, -1).argsort(axis=1).argsort(axis=1)
    assert abs(np.corrcoef(ranks)[0, 1]) < 0.1


@pytest.mark.long
def test_the_icc_of_a_large_panel_is_inside_intervals_from_a_few_of_it(shared):
    """123 raters labelled all dialogues; the truth is their alpha, of all 350 dialogues.

    The model alone contains it in .6 of the cases (`benchmarks/real_components.py`).
    """
    rows = pd.read_csv(shared / "dices350" / "ratings.csv.gz")
    rows = rows[rows["label"].isin(["Yes", "No"])]
    truth = float(dx.krippendorff_alpha(dx.annotations(rows, kind="nominal"), level="nominal"))
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        people = rng.permutation(rows["annotator"].unique())[:10]
        items = rng.permutation(rows["item"].unique())[:60]
        part = rows[rows["annotator"].isin(people) & rows["item"].isin(items)]
        ann = dx.annotations(part, kind="nominal")
        groups = components.draws(
            {"annotations": ann}, plan(ann, None, "auto", None), settings(1000, seed)
        )
        icc = groups["components"]["icc"].sel(scale="observed")
        low, high = icc.quantile([0.055, 0.945])
        inside.append(bool(low <= truth <= high))
    assert np.mean(inside) >= 0.75
