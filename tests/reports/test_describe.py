"""`dissensus.describe`: what is said of draws, held against NumPy's own numbers, and escaped."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from lean import LEAN

import dissensus as dx
from dissensus.reports.describe import number


def accuracy(names=("A", "B"), draws=1000, chains=4, seed=1) -> xr.DataArray:
    values = np.random.default_rng(seed).beta([60, 50], [40, 50], size=(chains, draws, 2))
    coords = {"system": list(names)}
    return xr.DataArray(
        values, dims=("chain", "draw", "system"), name="top_1_accuracy", coords=coords
    )


def test_mean_and_interval_are_numpys():
    draws = accuracy()
    flat = draws.to_numpy().reshape(-1, 2)
    low, high = np.quantile(flat, [0.025, 0.975], axis=0)
    with az.rc_context({"stats.ci_kind": "eti", "stats.ci_prob": 0.95}):
        text = dx.describe(draws).splitlines()
    for n, name in enumerate("AB"):
        assert text[n] == (
            f"Agreement with the panel, {name}: mean {flat[:, n].mean():.2f} "
            f"(95% equal-tailed interval {low[n]:.2f} to {high[n]:.2f})."
        )


def test_kind_and_level_are_arviz_settings():
    draws = accuracy() ** 9  # skew, so that the two kinds differ
    low, high = az.hdi(draws.sel(system="A").to_numpy().ravel(), prob=0.8)
    with az.rc_context({"stats.ci_kind": "hdi", "stats.ci_prob": 0.8}):
        text = f"(80% highest-density interval {low:.4f} to {high:.4f})"
        assert text in dx.describe(draws)


def test_monte_carlo_error_is_arvizs():
    draws = accuracy()
    worst = float(az.mcse(draws.to_dataset(name="x"))["x"].max())
    assert f"Monte Carlo error of the means at most {worst:.1g}." in dx.describe(draws)


def test_pairs_are_given_once_and_the_first_less_the_second():
    draws = accuracy()
    pair = dx.compare(draws)
    text = dx.describe(pair).splitlines()
    assert len(text) == 2  # one pair, and the note
    mean = float(pair["difference"].sel(system="A", system_="B").mean())
    chance = float(pair["probability_better"].sel(system="A", system_="B"))
    start = f"Difference in agreement with the panel, A less B: mean {mean:.2f} ("
    assert text[0].startswith(start)
    assert f"the first is better with probability {chance:.2f})" in text[0]


def test_monte_carlo_error_is_arvizs_for_heavy_tails_too():
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(2, 500))
    for n in range(1, 500):
        noise[:, n] += 0.9 * noise[:, n - 1]
    draws = xr.DataArray(np.exp(noise), dims=("chain", "draw"), name="x")
    error = float(az.mcse(draws.to_dataset(name="x"))["x"])
    assert f"of the means at most {error:.1g}." in dx.describe(draws)


def test_undefined_draws_do_not_hide_chains_that_part():
    draws = accuracy()
    draws[0, :, 1] += 0.3
    draws[1, 0, 1] = np.nan
    text = dx.describe(draws)
    assert "Not reliable (r-hat" in text or "effective draws" in text.splitlines()[-1]
    assert "less than 0.1% of them" in text


def test_pairs_go_by_name_and_one_side_may_be_chosen():
    pair = dx.compare(accuracy(names=("A", "B")))
    other_way = dx.describe(pair.isel(system=[1, 0])).splitlines()
    assert other_way[0].startswith("Difference in agreement with the panel, B less A: mean -0.10")
    assert len(other_way) == 2
    assert dx.describe(pair.sel(system=["B"], system_=["A"])).startswith(
        "Difference in agreement with the panel, B less A: "
    )
    chosen = dx.describe(pair.sel(system_="B")).splitlines()
    assert chosen[0].startswith("Difference in agreement with the panel, A less B: ")
    assert len(chosen) == 2  # and not B less B


def test_what_is_within_a_pool_is_given():
    draws = accuracy()
    both = xr.concat([draws, draws / 2], "pool_").rename(system="pool").rename("xcc")
    both = both.assign_coords(pool_=["A", "B"])
    text = dx.describe(both)
    assert "xCC, A and A: " in text
    assert "xCC, B and B: " in text


def test_what_is_written_beside_draws_is_heeded():
    data = accuracy().to_dataset().assign_attrs(n_items_poor=1, r_hat_max=2.2, ess_bulk_min=9.0)
    assert "Not reliable (chains too short: 9 effective draws, r-hat 2.20)" in dx.describe(data)


def test_divergences_of_pymcs_own_fits_are_heeded():
    fit = xr.DataTree.from_dict({
        "posterior": accuracy().to_dataset(),
        "sample_stats": xr.Dataset({"diverging": (("chain", "draw"), np.ones((4, 1000), bool))}),
    })  # fmt: skip
    assert "4,000 divergent transitions" in dx.describe(fit)


def test_infinite_draws_are_medians_and_equal_tailed():
    draws = accuracy()
    needed = dx.annotators_needed(draws - 0.55, target=0.8)
    assert np.isinf(needed).any()
    middle = np.sort(needed.sel(system="A"), axis=None)[2000 - 1]
    with az.rc_context({"stats.ci_kind": "hdi"}):
        text = dx.describe(needed).splitlines()
    assert text[0].startswith(
        f"Annotators needed, A: median {number(middle, 0)} (89% equal-tailed "
    )
    assert "infinite" in text[0]


def test_undefined_draws_are_counted():
    draws = accuracy()
    draws[0, :40, 0] = np.nan
    text = dx.describe(draws)
    assert "up to 1.0% of them, in 1 row" in text
    assert "Agreement with the panel, A: mean 0.60" in text


def test_what_is_not_to_be_relied_on_is_said_so():
    draws = accuracy()
    draws[0, :, 1] += 0.3  # a chain elsewhere
    text = dx.describe(draws).splitlines()
    assert text[1].endswith(" !.")
    assert not text[0].endswith(" !.")
    assert text[-1].startswith("Not reliable (")
    assert "r-hat" in text[-1]
    assert text[-1].endswith("Agreement with the panel, B.")


def test_too_few_draws_are_said_of_all():
    text = dx.describe(accuracy(draws=10)).splitlines()
    assert text[-1] == "Not reliable (only 10 draws a chain): all numbers."


@pytest.mark.long
def test_a_fit_is_described_by_its_parameters_under_their_names():
    ann = dx.simulate.replication_study(30, 4, 3, family="gaussian", random_seed=1).annotations
    fit = dx.models.crossed_effects.fit(
        ann, draws=150, tune=150, chains=2, random_seed=1, progressbar=False
    )
    text = dx.describe(fit)
    mean = float(fit["posterior"]["sigma_item"].mean())
    assert f"sigma_item: mean {mean:.2f} (" in text
    assert "item_effect" not in text
    assert "annotator_effect, annotator 1: " in text


def test_names_are_escaped():
    draws = accuracy(names=("a|b_c*<i>", "50% & $x^2$ {~\\"))
    rows = dx.describe(draws, "markdown").splitlines()
    assert r"a\|b\_c\*\<i\>" in rows[2]
    rows = dx.describe(draws, "latex").splitlines()
    assert r"50\% \& \$x\textasciicircum{}2\$ \{\textasciitilde{}\textbackslash{}" in rows[5]
    assert rows[4].count(" & ") == 3


def test_markdown_is_a_table():
    rows = dx.describe(dx.compare(accuracy()), "markdown").split("\n\n")[0].splitlines()
    assert {row.count("|") for row in rows} == {6}
    assert rows[1] == "|---|---|--:|--:|--:|"


def test_minus_becomes_one_in_latex():
    draws = (accuracy() - 0.9).rename("x")
    assert " & $-$0." in dx.describe(draws, "latex")


def test_names_that_are_numbers_are_told_what_of():
    draws = accuracy().rename(system="reliability").assign_coords(reliability=[1, 2])
    assert dx.describe(draws).startswith("Agreement with the panel, reliability 1: ")


def test_several_variables_keep_their_order_and_their_decimals():
    draws = accuracy()
    data = xr.Dataset({"wide": draws * 100, "narrow": draws / 100})
    text = dx.describe(data).splitlines()
    assert text[0].startswith("Wide, A: mean 60.1 (")
    assert text[2].startswith("Narrow, A: mean 0.0060 (")  # four at most


def test_order_of_dims_does_not_matter():
    draws = accuracy()
    assert dx.describe(draws.transpose("system", "draw", "chain")) == dx.describe(draws)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (3, "found int"),
        (xr.DataArray([1.0], dims="item", name="x"), "found 'x'"),
        (xr.Dataset(), "found no variables"),
    ],
)
def test_what_is_no_draws_is_refused(wrong, words):
    with pytest.raises(dx.ArgumentError, match=words):
        dx.describe(wrong)


@pytest.mark.long
def test_evaluations_and_items_are_refused_with_what_to_do():
    study = dx.simulate.study(n_items=8, kind="nominal", random_seed=1)
    fit = dx.models.dirichlet.fit(study.annotations, draws=20, random_seed=1, prior_count=1)
    with pytest.raises(dx.ArgumentError, match="top_k_accuracy"):
        dx.describe(fit)
    result = dx.evaluate(
        study.annotations, study.predictions, draws=20, random_seed=1, progressbar=False, **LEAN
    )
    with pytest.raises(dx.ArgumentError, match=r"dissensus.summary makes tables"):
        dx.describe(result, "markdown")
    verdict = dx.describe(result)
    assert verdict.startswith("Do not rely on these numbers. ")
    assert "\nThe best of 4 systems is system A or system B" in verdict
    assert "\nCareful: There are only 8 items" in verdict
    text = dx.describe(result["metrics"].to_dataset().sel(reliability=1, scope="new items"))
    assert "Agreement with the panel, system A: mean " in text


def test_no_such_format():
    with pytest.raises(dx.ArgumentError, match="'text' or 'markdown' or 'latex'"):
        dx.describe(accuracy(), "html")


def test_names_that_are_the_same_are_no_trouble():
    text = dx.describe(accuracy(names=("A", "A"))).splitlines()
    assert [line.startswith("Agreement with the panel, A: ") for line in text[:2]] == [True, True]


def test_nothing_along_a_dim_is_refused():
    with pytest.raises(dx.ArgumentError, match="nothing along 'draw'"):
        dx.describe(accuracy().isel(draw=[]))


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_of_candidates_that_no_item_has_there_is_nothing_to_say(form):
    """Found by fuzzing: a column of nothing has no kind of interval."""
    draws = xr.DataArray(
        np.full((1, 3, 1, 1), np.nan), dims=("chain", "draw", "item", "candidate"),
        coords={"item": ["i"], "candidate_label": (("item", "candidate"), [[""]]),
                "candidate_size": (("item", "candidate"), [[0]])},
        name="plausibility", attrs={"labels": ["a"]},
    )  # fmt: skip
    assert isinstance(dx.describe(draws, form), str)


def test_small_numbers_are_seen():
    rng = np.random.default_rng(1)
    small = xr.DataArray(rng.normal(1e-5, 1e-6, (2, 500)), dims=("chain", "draw"), name="rate")
    mean = float(small.mean())
    assert f"mean {mean:.7f} (" in dx.describe(small)


@pytest.mark.parametrize(
    ("values", "words"),
    [("a", "<U1"), (np.datetime64("2020-01-01", "s"), "datetime64"), (1j, "complex128")],
)
def test_draws_that_are_no_numbers_are_refused(values, words):
    draws = xr.DataArray(np.full((2, 9), values), dims=("chain", "draw"), name="truth")
    with pytest.raises(
        dx.ArgumentError, match=f"variable 'truth': expected numbers; found {words}"
    ):
        dx.describe(draws)


def test_a_name_may_begin_like_a_metrics_and_a_dim_be_called_place():
    draws = xr.DataArray(np.ones((2, 9, 2)), dims=("chain", "draw", "place"), name="top_speed")
    assert dx.describe(draws).startswith("Top speed, place 0: mean 1.00")
    counts = draws.rename("annotators_needed") * np.inf
    assert "infinite" in dx.describe(counts)


def test_what_is_rounding_only_has_no_decimals():
    ann = dx.from_matrix([["a", "a", "b"], ["b", "b", "a"], ["a", "b", "b"]] * 10)
    draws = dx.bayesian_bootstrap("percent_agreement", ann, draws=200, random_seed=1)
    assert "mean 0.33 (" in dx.describe(draws)
    assert len(dx.describe(draws * 0 + np.random.default_rng(1).random(200) * 1e-40)) < 400


@pytest.mark.parametrize(("statistic", "options", "title"), [
    ("krippendorff_alpha", {}, "Krippendorff's alpha, nominal"),
    ("krippendorff_alpha", {"level": "ordinal"}, "Krippendorff's alpha, ordinal"),
    ("gwet_ac", {}, "Gwet's AC1"), ("gwet_ac", {"weighting": "linear"}, "Gwet's AC2, linear"),
    ("cohen_kappa", {}, "Cohen's kappa"), ("fleiss_kappa", {}, "Fleiss' kappa"),
    ("cohen_kappa", {"weighting": "quadratic"}, "Cohen's kappa, quadratic"),
    ("bennett_s", {"weighting": "linear"}, "Bennett's S, linear"),
])  # fmt: skip
@pytest.mark.unit(8)
def test_coefficients_have_their_level_or_weighting(statistic, options, title):
    ann = dx.from_matrix([[1, 1], [2, 2], [3, 2], [1, 2], [3, 3]] * 10, kind="ordinal")
    draws = dx.bayesian_bootstrap(statistic, ann, draws=20, random_seed=1, **options)
    assert dx.describe(draws).startswith(f"{title}: mean")
    assert dx.describe(draws, "markdown").splitlines()[2].startswith(f"| {title} |")


def test_alpha_of_sets_has_its_distance():
    draws = xr.DataArray(np.ones((1, 9)), dims=("chain", "draw"), name="krippendorff_alpha")
    assert dx.describe(draws.assign_attrs(distance="masi")).startswith(
        "Krippendorff's alpha, MASI distance: mean"
    )
    both = draws.rename("gwet_ac2").assign_attrs(weighting="quadratic")
    assert dx.describe(both).startswith("Gwet's AC2, quadratic: mean")
