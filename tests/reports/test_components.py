"""The section on variance components, for dictated numbers."""

from __future__ import annotations

import arviz as az
import everything
import numpy as np
import pytest
import xarray as xr
from component_fits import fit_of
from reports.conftest import spoken

import dissensus as dx
from dissensus.evaluation.components import component_draws
from dissensus.reports import checks, components
from dissensus.wording import share

NAMES = ("crowd", "experts", "tool")


@pytest.fixture
def evaluation(votes):
    return dx.evaluate(votes[0], draws=50, random_seed=1, progressbar=False)


def with_components(evaluation, fit, n_labels=4.0, reference=None, **attrs):
    """Put dictated components into an evaluation."""
    tree = evaluation.copy()
    result = component_draws(fit, xr.DataArray(n_labels), reference)
    if "pool" in result.dims:
        shape = {dim: list(NAMES) for dim in ("pool", "pool_")}
        result["n_labels"] = xr.DataArray([n_labels] * 3, {"pool": list(NAMES)}, ["pool"])
        result["n_items_shared"] = xr.DataArray(np.full((3, 3), 7), shape, ["pool", "pool_"])
    result.attrs.update(fit.attrs, inference="by hand", notes="", finite=1, **attrs)
    if reference is not None:
        result.attrs["reference"] = reference
    tree["components"] = result
    return tree


def single_pool(family="gaussian", item=2.0, annotator=1.0, **more):
    noise = np.linspace(-0.01, 0.01, 100)[None, :]
    more |= {"sigma": 1.0} if family == "gaussian" else {}
    return fit_of(
        family, mu=0.0 * noise, sigma_item=item + noise, sigma_annotator=annotator + noise, **more
    )


def pools():
    noise = np.linspace(-0.01, 0.01, 100)[None, :, None]
    rho = np.array([[1, 0.9, 0.5], [0.9, 1, 0.2], [0.5, 0.2, 1]])
    return fit_of(
        "gaussian", names=NAMES, correlation=rho, mu=0 * noise, sigma=1.0 + 0 * noise,
        sigma_item=np.array([2.0, 1.0, 1.0]) + noise,
        sigma_annotator=np.array([1.0, 0.5, 3.0]) + noise,
    )  # fmt: skip


def words(tree):
    return spoken("components", components.component_facts(tree))


def warnings(tree):
    return [spoken("outweighed", facts) for facts in components.outweighed(tree)]


def test_the_words_are_the_numbers(evaluation):
    # Variances 4, 1 and 1: the item has 2/3, and by Spearman-Brown 4 labels (8/3) / 3 = 8/9.
    text = words(with_components(evaluation, single_pool()))
    assert "The item explains 67 % [67 to 67] of a label's variance, the annotator 17 %" in text
    assert "The mean of the 4 labels of a typical item has reliability .89 [.89 to .89]" in text
    single = words(with_components(evaluation, single_pool(), n_labels=1.0))
    assert "One label of an item has reliability .67" in single


def test_labels_that_are_no_numbers_have_two_scales(evaluation):
    text = words(with_components(evaluation, single_pool("bernoulli")))
    assert "of a label's latent variance" in text
    assert "On the observed scale, two annotators' labels of an item have the correlation" in text


@pytest.mark.usefixtures("no_pictures")
def test_annotators_who_outweigh_items_are_warned_of(evaluation, page):
    tree = with_components(evaluation, single_pool(item=1.0, annotator=2.0))
    result = page(tree)
    assert "The annotators explain more of the variance than the items (probability > .99)" in (
        result.text
    )
    assert "a single label depends more on the annotator than on the item" in result.text
    assert warnings(with_components(evaluation, single_pool())) == []


@pytest.mark.parametrize(("chance", "sure"), [(0.76, False), (0.95, False), (0.96, True)])
def test_the_warning_is_no_surer_than_the_draws(evaluation, chance, sure):
    # Variances 1, 4 and 1: the ICC is 1/6, and by Spearman-Brown that of 4 labels (4/6) / (9/6).
    tree = with_components(evaluation, single_pool(item=1.0, annotator=2.0))
    tree["components"]["annotators_outweigh_items"] = xr.DataArray(chance)
    (text,) = warnings(tree)
    if sure:
        assert text.startswith(
            "The annotators explain more of the variance than the items (probability .96): "
        )
    else:
        assert text.startswith(
            "The annotators probably explain more of the variance than the items"
        )
        assert ": a single label depends more on the annotator than on the item;" in text
    assert "; the mean of the 4 labels of a typical item has reliability .44. " in text
    assert text.endswith("averages of more labels are more reliable.")  # the remedy
    single = with_components(evaluation, single_pool(item=1.0, annotator=2.0), n_labels=1.0)
    assert "the mean of" not in warnings(single)[0]


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_pools_are_told_apart(evaluation, page):
    tree = with_components(evaluation, pools(), reference="crowd")
    text = words(tree)
    assert "crowd and experts are the most similar pools" in text
    assert "experts and tool are the least similar pools: they have the correlation .20" in text
    assert "experts is closer to crowd than tool is, with probability" in text
    (warning,) = warnings(tree)
    assert warning.startswith("In tool, the annotators")
    result = page(tree)
    assert {"components", "table-components", "table-pools", "table-differences"} <= set(result.ids)
    assert "crowd and experts, 7 items in common" in result.text


def test_correlations_of_pools_name_their_scale(evaluation):
    """Those of latent numbers with each other, and that of labels apart."""
    tree = with_components(evaluation, pools(), reference="crowd")
    facts = components.component_facts(tree)
    assert f"(normalised xCC) and {share(facts['pairs'][0]['latent'])} with it (xCC)." in (
        spoken("components", facts)
    )
    (first, _) = facts["pairs"]
    text = spoken("components", facts | {"gaussian": False})
    latent, observed = (share(first[scale]) for scale in ("latent", "observed"))
    assert f"(normalised xCC), {latent} with it (xCC), and {observed} on the observed scale" in text


@pytest.mark.parametrize(("people", "expected"), [
    (range(6), None), ([0, 1, 2, 0, 1, 3], "2 annotators are in several pools"),
])  # fmt: skip
def test_annotators_in_several_pools_are_warned_of(evaluation, people, expected):
    tree = with_components(evaluation, pools(), reference="crowd")
    tree["annotations"] = xr.Dataset(
        {"annotator_code": ("annotation", list(people)), "label_code": ("annotation", [0] * 6),
         "pool_code": ("annotation", [0, 0, 0, 1, 1, 1]),
         "item_code": ("annotation", [0, 0, 1, 0, 0, 1])},
        {"pool": ["a", "b"], "item": [0, 1], "annotator": range(6), "label": ["x"]},
        {"kind": "nominal"},
    )  # fmt: skip
    result = [spoken(*topic) for topic in checks.cautions(tree) if topic[0] == "in_several_pools"]
    assert [text[: len(expected or "")] for text in result] == ([expected] if expected else [])


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_poor_chains_are_no_small_print(evaluation, page):
    poor = with_components(
        evaluation, single_pool(), n_items_poor=1, ess_bulk_min=30.0, r_hat_max=1.2
    )
    result = page(poor)
    assert "Do not rely on these numbers" in result.text
    assert "effective sample size is 30, and r-hat is up to 1.20" in result.text
    wrong = with_components(evaluation, single_pool())
    wrong["components"].attrs["finite"] = 0
    assert "Draws of ICCs and xCCs are not finite." in [
        spoken(*topic) for topic in checks.troubles(wrong)
    ]


@pytest.mark.long
@pytest.mark.parametrize("sign", [1, -1])
def test_who_is_closer_to_the_reference_is_told_by_the_draws(sign):
    tree = everything.evaluation()
    data = tree["components"].to_dataset()
    tree["components"] = data.assign(
        normalized_xcc_difference=sign * data["normalized_xcc_difference"]
    )
    (result,) = components.component_facts(tree)["against"]
    places = {"scale": "latent", "pool": "crowd", "pool_": "tool"}
    draws = tree["components"]["normalized_xcc_difference"].sel(places)
    names = ["crowd", "tool"]
    if (draws > 0).mean() < 0.5:
        draws, names = -draws, names[::-1]
    assert [result["near"], result["far"]] == names
    assert result["p"] == pytest.approx(float((draws > 0).mean()))
    ends = az.eti(draws.to_numpy().ravel(), prob=0.89)
    numbers = [result[name] for name in ("mean", "lower", "upper")]
    np.testing.assert_allclose(numbers, [draws.mean(), *ends])


@pytest.mark.usefixtures("no_pictures")
def test_without_components_nothing_is_said(evaluation, page):
    assert components.components(evaluation) is None
    assert "components" not in page(evaluation).ids


@pytest.mark.long
def test_an_icc_far_from_alpha_is_pointed_out():
    # Half the items are clear to everybody, and for the others labels are tossed.
    rng = np.random.default_rng(1)
    sure = np.repeat(rng.integers(0, 2, (60, 1)), 6, axis=1)
    ann = dx.from_matrix(np.where(sure, "yes", "no").astype(object))
    result = dx.evaluate(ann, draws=50, random_seed=1, progressbar=False, components=None)
    tree = with_components(result, single_pool("bernoulli", item=1.0))
    assert "for agreement, rely on alpha" in words(tree)


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_names_stay_text(evaluation, page):
    bad = ("<script>alert(1)</script>", "b", "c")
    fit = pools()
    fit = fit.map_over_datasets(
        lambda data: data.assign_coords({d: list(bad) for d in ("pool", "pool_") if d in data.dims})
    )
    tree = evaluation.copy()
    n_labels = xr.DataArray([2.0] * 3, {"pool": list(bad)}, ["pool"])
    result = component_draws(fit, n_labels, "b")
    result["n_items_shared"] = xr.DataArray(
        np.ones((3, 3)), {"pool": list(bad), "pool_": list(bad)}, ["pool", "pool_"]
    )
    result.attrs.update(pools().attrs, inference="by hand", notes="", finite=1, reference="b")
    tree["components"] = result
    html = page(tree)
    assert len(html.all("script")) == 1
    assert bad[0] in html.text
