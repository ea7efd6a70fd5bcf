"""Reader studies: areas by counting pairs, covariances by DeLong's formula, published studies."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from refusals import check_refused
from scipy import integrate, stats
from scipy.special import betaincinv
from sklearn.metrics import roc_auc_score

import dissensus as dx
from dissensus.statistics._reader_areas import _of_added_cases, area, curve, rates, shares
from dissensus.statistics._reader_spread import Cells, Chance, of_new_readers, spreads
from dissensus.wording import share

SAMPLE = ("chain", "draw")


def table(n_readers=4, n_cases=60, distance=1.5, gain=0.5, seed=1, grades=None):
    """Scores with two modalities; odd cases are ill."""
    rng = np.random.default_rng(seed)
    ill = np.arange(n_cases) % 2
    score = ill * np.array([distance, distance + gain])[:, None, None]
    score = score + 0.5 * rng.standard_normal(n_cases)
    score = score + 0.8 * rng.standard_normal((2, n_readers, n_cases))
    score += 0.2 * rng.standard_normal((2, n_readers, 1)) * ill
    if grades:
        score = np.digitize(score, np.quantile(score, np.arange(1, grades) / grades))
    modality, reader, case = np.indices(score.shape).reshape(3, -1)
    return pd.DataFrame(
        {"modality": np.array(["MRI", "CT"])[modality], "reader": reader, "case": case,
         "score": score.ravel(), "ill": ill[case]}
    )  # fmt: skip


def study(frame, truth="ill", **options):
    return dx.reader_study(frame, truth, **{"random_seed": 1, "draws": 2000} | options)


def delong(frame):
    """Return the covariance of areas (reader, modality) by the formula of DeLong et al. (1988)."""
    wide = frame.pivot(index="case", columns=["reader", "modality"], values="score")
    wide = wide.sort_index(axis=1).to_numpy()
    ill = frame.groupby("case")["ill"].first().to_numpy() == 1
    above = wide[ill][:, None] > wide[~ill][None]
    psi = above + 0.5 * (wide[ill][:, None] == wide[~ill][None])
    parts = [psi.mean(axis=1), psi.mean(axis=0)]
    return psi.mean(axis=(0, 1)), sum(np.cov(part, rowvar=False) / len(part) for part in parts)


@pytest.mark.parametrize("grades", [None, 4])
def test_observed_areas_are_those_of_scikit_learn(grades):
    frame = table(grades=grades)
    simulated = study(frame, draws=10)["observed_auc"]
    for (modality, reader), rows in frame.groupby(["modality", "reader"]):
        at = simulated.sel(modality=modality, reader=reader)
        assert float(at) == pytest.approx(roc_auc_score(rows["ill"], rows["score"]), abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("grades", [None, 5])
def test_draws_for_new_cases_have_the_covariance_of_delong(grades):
    frame = table(grades=grades, n_cases=80)
    simulated = study(frame, draws=20_000)["auc"].transpose(*SAMPLE, "reader", "modality")
    observed, covariance = delong(frame)
    draws = simulated.values[0].reshape(20_000, -1)
    np.testing.assert_allclose(draws.mean(axis=0), observed, atol=0.004)
    # The variance of a variance from 20,000 draws is small; what is left is of order 1 / cases.
    ratio = np.sqrt(draws.var(axis=0) / np.diag(covariance))
    np.testing.assert_allclose(ratio, 1.0, atol=0.07)
    correlation = np.corrcoef(draws, rowvar=False)
    size = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(correlation, covariance / np.outer(size, size), atol=0.06)


def test_weighted_areas_are_sums_over_pairs():
    rng = np.random.default_rng(1)
    score, weight = rng.integers(0, 4, 12).astype(float), rng.gamma(1.0, size=(3, 12))
    true = rng.random((3, 12)) < 0.5
    order = np.argsort(-score)
    pair = shares(weight[:, order], true[:, order])
    _, sensitivity, false_positive_rate = rates(score[order], *pair)
    for draw in range(3):
        positive, negative = np.flatnonzero(true[draw]), np.flatnonzero(~true[draw])
        w = weight[draw][positive][:, None] * weight[draw][negative]
        above, below = score[positive][:, None], score[negative]
        higher = (above > below) + 0.5 * (above == below)
        expected = (w * higher).sum() / w.sum()
        assert area(sensitivity, false_positive_rate)[draw] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("most", [0.1, 0.35, 1.0])
def test_partial_areas_are_integrals_of_the_curve(most):
    frame = table(grades=6)
    rows = frame[(frame["reader"] == 0) & (frame["modality"] == "CT")]
    rows = rows.sort_values("score", ascending=False)
    true, weight = rows["ill"].to_numpy()[None] == 1, np.ones((1, len(rows)))
    pair = shares(weight, true)
    _, sensitivity, false_positive_rate = rates(rows["score"].to_numpy(float), *pair)
    at = np.linspace(0, 1, 20_001)
    height = curve(sensitivity, false_positive_rate, 20_000)[0]
    upto = at <= most
    expected = integrate.trapezoid(height[upto], at[upto]) / most
    assert area(sensitivity, false_positive_rate, most)[0] == pytest.approx(expected, abs=3e-4)
    # scikit-learn standardises: McClish (1989), (1 + (area - least) / (most - least)) / 2.
    if most < 1:
        least = most**2 / 2
        by = roc_auc_score(rows["ill"], rows["score"], max_fpr=most)
        raw = (2 * by - 1) * (most - least) + least
        assert area(sensitivity, false_positive_rate, most)[0] == pytest.approx(raw / most)


@pytest.mark.long
def test_rates_at_thresholds_are_shares():
    frame = table(grades=5)
    simulated = study(frame, threshold=[2, 3.5], draws=20_000)
    rows = frame[(frame["reader"] == 2) & (frame["modality"] == "MRI")]
    for threshold in (2.0, 3.5):
        here = simulated.sel(reader=2, modality="MRI", threshold=threshold)
        for name, label in (("sensitivity", 1), ("specificity", 0)):
            hit = (rows["score"] >= threshold) == label
            p, n = hit[rows["ill"] == label].mean(), (rows["ill"] == label).sum()
            if p == 1:  # Jeffreys' prior
                usual = stats.beta(n + 0.5, 0.5)
                assert stats.kstest(here[name].values.ravel(), usual.cdf).pvalue > 1e-3
                continue
            assert float(here[name].mean()) == pytest.approx(p, abs=0.005)
            usual = np.sqrt(p * (1 - p) / (n - 1))  # s / sqrt(n)
            assert float(here[name].std()) == pytest.approx(usual, rel=0.05)
    average = simulated["average_sensitivity"].mean(SAMPLE)
    seen = simulated["sensitivity"].mean((*SAMPLE, "reader"))
    xr.testing.assert_allclose(average, seen.transpose(*average.dims), atol=0.01)


def test_spreads_have_the_posterior_of_quadrature():
    rng = np.random.default_rng(3)
    reader, modality = np.repeat(np.arange(4), 2), np.tile([0, 1], 4)
    size = rng.uniform(10, 20, 8)
    cells = Cells(modality, reader)
    root = rng.normal(size=(8, 20)) / 40
    given = root @ root.T
    # Correlations stay; variances are 1 / size times one number for each modality.
    own = np.diag(given)
    common = np.array([(own * size)[modality == m].mean() for m in (0, 1)])[modality] / size
    noise = given * np.sqrt(np.outer(common / own, common / own))
    estimate = 0.8 + 0.06 * rng.normal(size=4)[reader] + 0.03 * rng.normal(size=8)
    scale = 0.05
    means = np.eye(2)[modality]

    grid = (np.arange(80) + 0.5) * 0.25 / 80
    between, within = (sd[..., None, None] for sd in np.meshgrid(grid, grid, indexing="ij"))
    same = reader[:, None] == reader
    # With the prior N(0, 100) of both means instead of a flat one.
    whole = noise + between**2 * same + within**2 * np.eye(8) + 100.0 * means @ means.T
    rest = np.linalg.solve(whole, np.broadcast_to(estimate[:, None], (80, 80, 8, 1)))
    prior = stats.halfnorm(scale=scale).logpdf(grid)
    log = prior[:, None] + prior - 0.5 * (np.linalg.slogdet(whole)[1] + rest[..., 0] @ estimate)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    expected = [weight.sum(axis=1) @ grid, weight.sum(axis=0) @ grid]
    drawn = spreads(cells, estimate, given, size, scale, rng.random(20_000))
    np.testing.assert_allclose(drawn.mean(axis=0), expected, rtol=0.03)


def test_averages_of_new_readers_keep_the_mean_and_have_the_stated_spread():
    rng = np.random.default_rng(1)
    cells = Cells(np.tile([0, 1], 5), np.repeat(np.arange(5), 2))
    average = np.tile([0.7, 0.97], (200_000, 1))
    sd = np.tile([0.02, 0.01], (200_000, 1))
    drawn = of_new_readers(average, cells, sd, Chance.drawn(200_000, cells, rng))
    np.testing.assert_allclose(drawn.mean(axis=0), [0.7, 0.97], atol=2e-4)
    np.testing.assert_allclose(drawn.std(axis=0), np.hypot(0.02, 0.01) / np.sqrt(5), rtol=0.05)
    # Effects of readers cancel in the difference, as far as both slopes are alike.
    level = np.full((200_000, 2), 0.7)
    alike = of_new_readers(level, cells, sd, Chance.drawn(200_000, cells, rng))
    less = alike[:, 0] - alike[:, 1]
    assert less.std() == pytest.approx(0.01 * np.sqrt(2 / 5), rel=0.02)
    assert drawn.max() < 1
    chance = Chance.drawn(2, cells, rng)
    assert of_new_readers(np.ones((2, 2)), cells, sd[:2], chance).tolist() == [[1.0, 1.0]] * 2


def test_every_option_changes_something():
    frame = table()
    frame["patient"] = frame["case"] // 4
    base = study(frame)
    for name, option in (
        ("new_readers", False), ("new_cases", False), ("cluster", "patient"), ("random_seed", 2),
    ):  # fmt: skip
        assert not base["difference"].equals(study(frame, **{name: option})["difference"]), name
    assert study(frame, draws=7).sizes["draw"] == 7
    more = study(frame, threshold=[0, 4.0], max_false_positive_rate=0.5)
    xr.testing.assert_equal(base["difference"], more["difference"])
    same = study(frame)
    xr.testing.assert_identical(base, same)
    with pytest.warns(dx.DissensusWarning, match="reverse the scores"):
        other = study(frame, positive=0)
    assert other["observed_auc"].values == pytest.approx(1 - base["observed_auc"].values)
    assert "modality_" not in base.dims
    assert list(base["modality"].values) == ["CT", "MRI"]
    average = base["average_auc"]
    less = average.sel(modality="CT", drop=True) - average.sel(modality="MRI", drop=True)
    np.testing.assert_allclose(base["difference"], less)


def test_what_is_not_new_adds_nothing():
    frame = table()
    fixed = study(frame, new_readers=False, new_cases=False)
    assert float(fixed["difference"].std()) == pytest.approx(0, abs=1e-12)
    seen = fixed["observed_auc"].mean("reader").diff("modality").item()
    assert fixed["difference"].values[0, 0] == pytest.approx(-seen)
    both, cases, readers = (
        float(study(frame, **options)["average_auc"].sel(modality="CT").std())
        for options in ({}, {"new_readers": False}, {"new_cases": False})
    )
    assert both > cases
    assert both > readers


@pytest.mark.long
def test_cases_of_a_cluster_count_as_one():
    frame = table(n_readers=2, n_cases=40)
    options = {"new_readers": False}
    frame["patient"] = frame["case"]
    alone = study(frame, **options)["auc"]
    np.testing.assert_allclose(alone, study(frame, cluster="patient", **options)["auc"])
    copies = [frame.assign(case=frame["case"] + 100 * k) for k in range(3)]
    thrice = pd.concat(copies)
    np.testing.assert_allclose(alone, study(thrice, cluster="patient", **options)["auc"])
    apart = study(thrice, **options)["auc"].std(SAMPLE)
    np.testing.assert_allclose(apart / alone.std(SAMPLE), 3**-0.5, atol=0.06)
    # Of clusters with both kinds the variance is that of sums over clusters (Obuchowski 1997).
    both = frame.assign(patient=frame["case"] // 4)
    simulated = study(both, cluster="patient", threshold=1.0, draws=20_000, **options)
    rows = both[(both["reader"] == 0) & (both["modality"] == "CT") & (both["ill"] == 1)]
    hit = (rows["score"] >= 1).groupby(rows["patient"]).agg(["sum", "size"])
    p, k = hit["sum"].sum() / hit["size"].sum(), len(hit)
    sums = hit["sum"] - p * hit["size"]
    usual = np.sqrt(k / (k - 1) * (sums**2).sum()) / hit["size"].sum()
    here = simulated["sensitivity"].sel(reader=0, modality="CT", threshold=1.0)
    assert float(here.std()) == pytest.approx(usual, rel=0.05)


@pytest.mark.long
def test_few_cases_of_a_reader_have_the_variance_of_few_cases():
    frame = table(n_readers=2, n_cases=200)
    part = frame[(frame["reader"] == 0) | (frame["case"] < 24)]
    alone = frame[(frame["reader"] == 1) & (frame["case"] < 24)]
    options = {"new_readers": False, "threshold": 1.0, "draws": 20_000}
    within = study(part, **options).sel(reader=1)
    without = study(alone, **options).sel(reader=1)
    for name in ("auc", "sensitivity", "specificity"):
        ratio = within[name].std(SAMPLE) / without[name].std(SAMPLE)
        np.testing.assert_allclose(ratio, 1, atol=0.08)


def test_designs_need_not_be_crossed():
    frame = table(n_readers=8, n_cases=80)
    half = (frame["case"] // 2 + frame["reader"]) % 2 == 0
    part = frame[half]
    simulated = study(part)
    for (modality, reader), rows in part.groupby(["modality", "reader"]):
        expected = roc_auc_score(rows["ill"], rows["score"])
        assert float(
            simulated["observed_auc"].sel(modality=modality, reader=reader)
        ) == pytest.approx(expected)
    assert float(simulated["difference"].std()) > float(study(frame)["difference"].std())
    # Readers of one modality only: no reader is compared with himself.
    apart = frame[(frame["reader"] < 4) == (frame["modality"] == "CT")]
    nested = study(apart)
    assert int(nested["observed_auc"].isnull().sum()) == 8
    assert float(nested["difference"].std()) > float(simulated["difference"].std())


def test_three_modalities_have_all_differences():
    frame = table()
    third = frame[frame["modality"] == "CT"].assign(modality="US")
    simulated = study(pd.concat([frame, third]))
    less = simulated["difference"]
    assert less.dims == (*SAMPLE, "modality", "modality_")
    np.testing.assert_allclose(less.sel(modality="CT", modality_="CT"), 0)
    np.testing.assert_allclose(
        less.sel(modality="CT", modality_="MRI"), -less.sel(modality="MRI", modality_="CT")
    )
    # The third is a copy of the first.
    assert float(less.sel(modality="CT", modality_="US").mean()) == pytest.approx(0, abs=0.005)


@pytest.mark.long
def test_truth_is_taken_in_every_form():
    frame = table()
    expected = study(frame)["auc"]
    by_case = frame.groupby("case")["ill"].first()
    forms = {
        "mapping": by_case.to_dict(),
        "series": by_case,
        "booleans": (by_case == 1).to_dict(),
        "array": xr.DataArray(by_case.to_numpy(), {"item": by_case.index.to_numpy()}, ["item"]),
        "table": pd.DataFrame({"item": by_case.index, "label": by_case.to_numpy()}),
    }
    forms["column"] = frame["ill"]  # whose index is that of rows, among which are names of cases
    forms["rows"] = frame[["case", "ill"]]
    forms["columns"] = {"case": frame["case"].tolist(), "ill": frame["ill"].tolist()}
    for name, truth in forms.items():
        xr.testing.assert_equal(expected, study(frame, truth)["auc"])
        assert study(frame, truth, draws=3).attrs["positive"] == 1, name
    mixed = frame.sample(frac=1, random_state=1)
    xr.testing.assert_allclose(expected, study(mixed, mixed["ill"])["auc"])
    part = frame.drop(index=[470])
    xr.testing.assert_equal(study(part)["auc"], study(part, part["ill"])["auc"])
    doubled = pd.concat([frame[:240], frame[240:].reset_index(drop=True)])
    xr.testing.assert_equal(expected, study(doubled, doubled["ill"])["auc"])
    words = {case: "ill" if is_ill else "well" for case, is_ill in by_case.items()}
    xr.testing.assert_equal(expected, study(frame, words, positive="ill")["auc"])


def test_cases_are_named_as_in_the_caller_s_table():
    frame = table()
    days = pd.date_range("2020-05-01", periods=frame["case"].max() + 1)
    dated = frame.assign(case=days[frame["case"]])
    by_case = dated.groupby("case")["ill"].first()
    for truth in (by_case, by_case.to_dict(), dated[["case", "ill"]]):
        xr.testing.assert_equal(study(dated)["auc"], study(dated, truth)["auc"])


def fit_with(probability, chains=2, draws=300):
    """Return a posterior in which each case is positive with a probability (case,)."""
    p = np.asarray(probability)
    truth = np.broadcast_to(np.stack([1 - p, p], axis=-1), (chains, draws, len(p), 2))
    coords = {"item": np.arange(len(p)), "label": [0, 1]}
    data = xr.Dataset({"truth": ((*SAMPLE, "item", "label"), truth)}, coords)
    return xr.DataTree.from_dict({"posterior": data})


@pytest.mark.filterwarnings("ignore:The truth is estimated")
def test_a_certain_fit_is_a_known_truth():
    frame = table(n_cases=100)
    known = study(frame, draws=1000, threshold=1.0)
    sure = study(frame, fit_with(np.arange(100) % 2), draws=None, threshold=1.0)
    assert (sure.sizes["chain"], sure.sizes["draw"]) == (2, 300)
    np.testing.assert_allclose(sure["observed_auc"], known["observed_auc"])
    np.testing.assert_allclose(sure["observed_sensitivity"], known["observed_sensitivity"])
    np.testing.assert_allclose(sure["observed_curve"], known["observed_curve"], atol=1e-9)
    ratio = sure["auc"].std(SAMPLE) / known["auc"].std(SAMPLE)
    np.testing.assert_allclose(ratio, 1, atol=0.15)


def test_areas_against_a_panel_are_sums_over_pairs():
    rng = np.random.default_rng(2)
    p, score = rng.random(30), -np.sort(-rng.integers(0, 6, 30)).astype(float)
    weight = rng.gamma(1.0, size=(1, 30))
    _, sensitivity, false_positive_rate = rates(score, *shares(weight, p[None]))
    psi = (score[:, None] > score) + 0.5 * (score[:, None] == score)
    apart, w = p[:, None] - p, np.outer(weight[0], weight[0])
    expected = 0.5 + (w * apart * (psi - 0.5)).sum() / (w * apart**2).sum()
    assert area(sensitivity, false_positive_rate)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The truth is estimated")
def test_an_uncertain_truth_neither_shrinks_areas_nor_is_ignored():
    # A panel whose errors are independent of the readers': the mean over studies is the area.
    true, areas, widths = [], [], []
    for seed in range(14):
        frame = table(n_cases=200, distance=1.0, seed=seed)
        rng = np.random.default_rng(seed)
        ill = np.arange(200) % 2
        votes = rng.binomial(3, np.where(ill, 0.8, 0.2))
        p = stats.binom.pmf(votes, 3, 0.8)
        p /= p + stats.binom.pmf(votes, 3, 0.2)
        simulated = study(frame, fit_with(p), draws=None, new_readers=False)
        known = study(frame, new_readers=False, draws=600)
        true.append(known["observed_auc"].mean("reader").values)
        areas.append(simulated["average_auc"].mean(SAMPLE).values)
        widths.append([float(x["average_auc"].std(SAMPLE).mean()) for x in (simulated, known)])
    apart = np.array(areas) - np.array(true)
    assert abs(apart.mean()) < 3 * apart.std() / np.sqrt(apart.size / 2)
    assert apart.mean() > -0.02  # against drawn labels: -.12
    wide = np.mean(widths, axis=0)
    assert wide[0] > 1.1 * wide[1]


def test_systems_stand_beside_readers():
    frame = table()
    rng = np.random.default_rng(5)
    score = pd.Series(rng.normal(size=60) + np.arange(60) % 2, name="score")
    result = study(frame, predictions=score)
    assert result["observed_system_auc"].values[0] == pytest.approx(
        roc_auc_score(np.arange(60) % 2, score)
    )
    less = result["system_auc"] - result["average_auc"]
    xr.testing.assert_allclose(
        result["system_difference"], less.transpose(*result["system_difference"].dims)
    )
    assert result["system_difference"].dims == (*SAMPLE, "modality", "system")
    both = pd.concat(
        [pd.DataFrame({"system": name, "case": range(60), "score": score}) for name in "ab"]
    )
    two = study(frame, predictions=both)
    assert list(two["system"].values) == ["a", "b"]
    np.testing.assert_array_equal(
        two["system_auc"].sel(system="a"), two["system_auc"].sel(system="b")
    )
    given = dx.predictions(
        {"item": range(60), "system": ["x"] * 60, "prediction": score}, kind="continuous",
        label="prediction",
    )  # fmt: skip
    assert study(frame, predictions=given)["observed_system_auc"].item() == pytest.approx(
        result["observed_system_auc"].item()
    )
    with pytest.warns(dx.DissensusWarning, match="no score for 10 of 60 cases"):
        study(frame, predictions=score[10:])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The partial area depends on about 9")
def test_systems_have_operating_points_and_partial_areas():
    frame, true = table(), np.arange(60) % 2
    score = pd.Series(np.random.default_rng(5).normal(size=60) + true, name="score")
    more = {"threshold": {"readers": [0.5, 1.0], "system": [-0.1, 0.7]},
            "max_false_positive_rate": 0.3}  # fmt: skip
    result = study(frame, predictions=score, **more)
    for place, least in enumerate(more["threshold"]["system"]):
        answer, at = score.to_numpy() >= least, {"system": 0, "threshold": place}
        assert result["system_threshold"][at].item() == least
        sensitivity, specificity = answer[true == 1].mean(), 1 - answer[true == 0].mean()
        assert result["observed_system_sensitivity"][at].item() == pytest.approx(sensitivity)
        assert result["observed_system_specificity"][at].item() == pytest.approx(specificity)
        draws = result["system_sensitivity"][at]
        assert float(draws.mean()) == pytest.approx(sensitivity, abs=0.01)
        spread = np.sqrt(sensitivity * (1 - sensitivity) / 30)
        assert float(draws.std()) == pytest.approx(spread, rel=0.1)
    # A system with the scores of a reader is that reader.
    who, with_what = frame["reader"].iloc[0], frame["modality"].iloc[0]
    own = frame[(frame["reader"] == who) & (frame["modality"] == with_what)]
    more["threshold"]["system"] = [0.5, 1.0]
    alike = study(frame, predictions=own.set_index("case")["score"], **more)
    for measure in ("sensitivity", "specificity", "partial_auc", "auc"):
        reader = alike[measure].sel(modality=with_what, reader=who)
        system = alike[f"system_{measure}"].isel(system=0)
        np.testing.assert_allclose(system.to_numpy(), reader.to_numpy(), atol=1e-9)
        prefix = "" if measure == "auc" else f"{measure}_"
        less = alike[f"system_{prefix}difference"]
        expected = alike[f"system_{measure}"] - alike[f"average_{measure}"]
        xr.testing.assert_allclose(less, expected.transpose(*less.dims).rename(less.name))
    more["threshold"] = {"readers": [1.0, 0.5], "system": [1.0, 0.5]}
    xr.testing.assert_identical(
        study(frame, predictions=own.set_index("case")["score"], **more), alike
    )
    readers_only = study(frame, predictions=score, threshold=[0.5, 1.0])
    assert "system_sensitivity" not in readers_only  # their scores can be on another scale


@pytest.mark.parametrize(("threshold", "words"), [
    ({"readers": 0.5}, "expected 'readers' and every system: 'system'; found 'readers'"),
    ({"system": 0.5}, "'readers' among the names"),
    ({"readers": 0.5, "other": 0.5}, "every system: 'system'; found 'readers', 'other'"),
    ({"readers": None, "system": 0.5}, "'readers' among the names"),
    ({"readers": 0.5, "system": "high"}, "expected numbers for system 'system'"),
    ({"readers": 0.5, "system": [0.5, 0.6]}, "system 'system': expected as many different"),
    ({"readers": [0.5, 0.5], "system": [0.5, 0.6]}, "system 'system': expected as many different"),
    ({"readers": [0.5, 1.0], "system": [0.6, 0.5]}, "the same order as the readers' thresholds"),
    ({"readers": 0.5, "system": 99}, "up to its highest.*found 99"),
])  # fmt: skip
def test_thresholds_that_do_not_go_together_are_refused(threshold, words):
    frame = table()
    score = pd.Series(np.random.default_rng(5).normal(size=60) + np.arange(60) % 2)
    with pytest.raises(dx.ArgumentError, match=words):
        study(frame, predictions=score, threshold=threshold)


def test_thresholds_of_systems_need_systems():
    with pytest.raises(
        dx.ArgumentError, match=r"a threshold of readers.*as there are no predictions"
    ):
        study(table(), threshold={"readers": 0.5})


def test_annotations_are_a_study_with_one_modality():
    frame = table(grades=5)
    rows = frame[frame["modality"] == "CT"]
    ann = dx.annotations(rows, item="case", annotator="reader", label="score", kind="ordinal")
    truth = rows.groupby("case")["ill"].first()
    simulated = study(ann, truth)
    alone = study(rows.drop(columns="modality"))
    assert "difference" not in simulated
    assert "interaction_sd" not in simulated
    np.testing.assert_array_equal(simulated["average_auc"], alone["average_auc"])
    named = study(ann, truth, reader="annotator", case="item", score="label", modality=None)
    np.testing.assert_array_equal(simulated["average_auc"], named["average_auc"])
    assert simulated["modality"].values.tolist() == ["all"]


def test_pools_of_annotations_are_not_taken_for_modalities():
    frame = table(grades=5)
    rows = frame[frame["modality"] == "CT"].assign(pool=lambda rows: rows["reader"] % 2)
    ann = dx.annotations(rows, "case", "reader", "score", pool="pool", kind="ordinal")
    with pytest.warns(dx.DissensusWarning, match=r"pools of readers \(0, 1\) are read as one"):
        simulated = study(ann, rows.groupby("case")["ill"].first())
    assert simulated["modality"].values.tolist() == ["all"]


def test_thresholds_are_scores_and_grades():
    frame = table(grades=5)
    rows = frame[frame["modality"] == "CT"]
    truth = rows.groupby("case")["ill"].first()
    expected = study(rows.drop(columns="modality"), threshold=3)["sensitivity"]
    ann = dx.annotations(rows, item="case", annotator="reader", label="score", kind="ordinal")
    np.testing.assert_array_equal(study(ann, truth, threshold=3)["sensitivity"], expected)
    words = ["no", "hardly", "maybe", "likely", "sure"]
    named = rows.assign(score=pd.Categorical.from_codes(rows["score"], words, ordered=True))
    simulated = study(named.drop(columns="modality"), threshold=["likely"])
    np.testing.assert_array_equal(simulated["sensitivity"], expected)
    assert simulated["threshold"].values.tolist() == ["likely"]
    numbers = rows.assign(score=pd.Categorical(rows["score"] + 10, ordered=True))
    simulated = study(numbers.drop(columns="modality"), threshold=13)
    np.testing.assert_array_equal(simulated["sensitivity"], expected)
    with pytest.raises(dx.ArgumentError, match=r"threshold: expected grades: 'no', .* found 3"):
        study(named, threshold=3)


@pytest.mark.long
def test_readers_of_few_clusters_have_the_variance_of_few_clusters():
    frame = table(n_readers=2, n_cases=200)
    frame["patient"] = frame["case"] // 4
    part = frame[(frame["reader"] == 0) | (frame["case"] < 48)]
    alone = frame[(frame["reader"] == 1) & (frame["case"] < 48)]
    options = {"new_readers": False, "draws": 20_000, "cluster": "patient"}
    within, without = (study(rows, **options).sel(reader=1)["auc"] for rows in (part, alone))
    np.testing.assert_allclose(within.std(SAMPLE) / without.std(SAMPLE), 1, atol=0.08)


def test_what_understates_is_warned_of():
    frame = table(n_readers=2)
    with pytest.warns(
        dx.DissensusWarning, match="only 2 readers with a modality: the interval for new readers"
    ):
        study(frame)
    study(frame, new_readers=False)
    sharp = table(distance=9)
    with pytest.warns(
        dx.DissensusWarning, match="0 with CT.*half a positive and half a negative case"
    ):
        simulated = study(sharp)
    assert float(simulated["auc"].std(SAMPLE).min()) > 0.003
    assert 0.95 < float(simulated["auc"].mean()) < 1
    with pytest.warns(dx.DissensusWarning, match="The truth is estimated.*areas are too large"):
        study(frame, fit_with(np.arange(60) % 2), draws=None, new_readers=False)
    lacking = table()
    lacking = lacking[~((lacking["reader"] == 3) & (lacking["ill"] == 1))]
    with pytest.warns(dx.DissensusWarning) as told:
        simulated = study(pd.concat([lacking, table(n_readers=6).query("reader > 3")]))
    assert "2 of 12 pairs of reader and modality have fewer than 3 positive or fewer" in str(
        told[0].message
    )
    assert int(simulated["auc"].isel(chain=0, draw=0).isnull().sum()) == 2


def test_scores_that_are_all_the_same_are_noticed():
    frame = table()
    frame.loc[frame["modality"] == "CT", "score"] = 3
    n = frame["reader"].nunique()
    with pytest.warns(dx.DissensusWarning, match=rf"^{n} of {2 * n} pairs of reader .* same score"):
        study(frame)


def test_a_system_with_one_score_is_noticed():
    frame = table()
    cases = frame["case"].unique()
    same = {"item": cases, "system": ["flat"] * len(cases), "label": [0.5] * len(cases)}
    pred = dx.predictions(same, kind="continuous")
    with pytest.warns(dx.DissensusWarning, match="^All cases have the same score by flat"):
        study(frame, predictions=pred)


def test_described_are_averages_and_not_curves():
    simulated = study(table())
    assert dx.describe(simulated) == simulated.attrs["in_words"]
    written = dx.describe(simulated, "markdown")
    assert "false_positive_rate" not in written
    assert len(written.splitlines()) < 20


def test_the_sentence_says_for_whom():
    frame = table()
    simulated = study(frame, predictions={c: float(c % 2) + c % 3 for c in range(60)})
    text = simulated.attrs["in_words"]
    assert text.startswith("Average area under the ROC curve, new readers on new cases: CT .")
    less = simulated["difference"]
    low, high = less.quantile([0.025, 0.975]).values
    assert f"CT minus MRI: {share(float(less.mean()), 3)} (95 % interval {share(low, 3)}" in text
    assert f"to {share(high, 3)}); above 0 with probability" in text
    assert " The system: ." in text
    here = study(frame, new_readers=False, new_cases=False).attrs["in_words"]
    assert "these readers on these cases: CT ." in here
    assert "interval" not in here
    assert "probability" not in here


FRAME = table()
MIXED = FRAME.sample(frac=1, random_state=1).reset_index(drop=True)


def changed(**columns):
    return FRAME.assign(**columns)


def few(n):
    return FRAME[(FRAME["ill"] == 0) | (FRAME["case"] < 2 * n)]


CASES = [
    ("no truth", lambda: dx.reader_study(FRAME, None), "truth: expected"),
    ("truth of another name", lambda: study(FRAME, "sick"),
     "truth: expected a column of the table named 'sick'; found columns 'modality', 'reader'"),
    ("one true label", lambda: study(changed(ill=0)),
     "truth: expected positive and negative cases; found the label 0 for all 60"),
    ("truth of other names", lambda: study(FRAME, {"x": 1, "y": 0}),
     "truth: expected labels of cases such as 0, 1, 2"),
    ("few clusters", lambda: study(changed(patient=FRAME["case"] // 40), cluster="patient"),
     "cluster: expected at least 3 clusters"),
    ("partial area of a fit", lambda: study(
        FRAME, fit_with(FRAME["ill"][:60]), draws=None, max_false_positive_rate=0.5),
     "max_false_positive_rate: expected 1 with a fit"),
    ("columns of annotations", lambda: study(
        dx.annotations(FRAME[FRAME["modality"] == "CT"], "case", "reader", "score"), {0: 1},
        cluster="patient"), "cluster: expected None, since ratings are annotations"),
    ("a column of annotations", lambda: study(
        dx.annotations(FRAME[FRAME["modality"] == "CT"], "case", "reader", "score"), {0: 1},
        modality="tool"), "modality: expected the default, since ratings are annotations"),
    ("system of one kind", lambda: study(FRAME, predictions={k: 1.0 * k for k in range(1, 60, 2)}),
     "predictions, system 'system': expected scores of at least 3 positive and 3 negative cases"),
    ("a list of scores", lambda: study(FRAME, predictions=[0.1] * 60), "predictions: expected"),
    ("threshold outside", lambda: study(FRAME, threshold=[0.5, 100]),
     "threshold: expected scores above the lowest"),
    ("a column of other rows", lambda: study(MIXED[1:], MIXED["ill"]),
     "truth, row .*: expected labels by case, equal to the column 'ill'.*truth='ill'"),
    ("several true labels", lambda: study(FRAME, pd.Series([0, 1, 1], [0, 0, 1])),
     "truth: expected one label for each case; found several for 0"),
    ("a fit with gaps", lambda: study(FRAME, fit_with([np.nan] * 60), draws=None),
     "truth: expected a probability of each case in each draw"),
    ("a fit that knows nothing", lambda: study(FRAME, fit_with([0.5] * 60), draws=None),
     "ratings: expected with each modality, a reader who scored"),
    ("missing columns", lambda: study(FRAME.drop(columns=["reader", "score"])),
     "columns 'reader', 'score': expected columns of these names"),
    ("modality of another name", lambda: study(FRAME.rename(columns={"modality": "treatment"})),
     r"two from reader 0, case 0 .*Name the column of modalities with modality="),
    ("scores twice", lambda: study(pd.concat([FRAME, FRAME[:3]])),
     r"rows 0 and 480: expected one score .* \(such rows: 3\)"),
    ("two true labels", lambda: study(changed(ill=np.arange(480) % 7 % 2)),
     r"column 'ill', rows 3 and 63 \(case 3\): expected one true label .* found 1 and 0"),
    ("two clusters", lambda: study(changed(patient=range(480)), cluster="patient"),
     "column 'patient'.* expected one cluster for each case"),
    ("text as score", lambda: study(changed(score="high")), "column 'score', row 0"),
    ("few cases", lambda: study(few(2)), "at least 3 positive cases; found 2 of 32"),
    ("cases without truth", lambda: study(FRAME, {0: 1, 1: 0}),
     "expected a label for every case; found no label for 58 of 60"),
    ("labels without a positive", lambda: study(changed(ill=np.where(FRAME["ill"], "yes", "no"))),
     "positive: expected the positive label: one of"),
    ("a positive that is none", lambda: study(FRAME, positive=2), "positive: expected one of"),
    ("threshold", lambda: study(FRAME, threshold="high"), "threshold: expected"),
    ("rate", lambda: study(FRAME, max_false_positive_rate=0), "max_false_positive_rate: expected"),
    ("draws", lambda: study(FRAME, draws=0), "draws: expected a whole number"),
    ("flag", lambda: study(FRAME, new_cases="no"), "new_cases"),
    ("draws of a fit", lambda: study(FRAME, fit_with(FRAME["ill"][:60])), "draws: expected None"),
    ("system of other cases", lambda: study(FRAME, predictions={100: 1.0, 101: 2.0}),
     "predictions: expected scores of the cases that readers read, .* found other cases: 100, 101"),
    ("system twice", lambda: study(
        FRAME, predictions=pd.DataFrame({"case": [1, 1], "score": [0.0, 1.0]})),
     "expected one score for each case from each system"),
    ("nominal labels", lambda: dx.reader_study(dx.from_matrix([["a", "b"]]), {0: 1}),
     "ratings: expected ordered labels or numbers"),
]  # fmt: skip


def test_refusals_say_what_is_wrong():
    check_refused(dx.DissensusError, CASES)


def jackknife(frame):
    """Return areas (reader, modality), and their covariance by leaving out a case at a time."""
    wide = frame.pivot(index="case", columns=["reader", "modality"], values="score")
    wide = wide.sort_index(axis=1).to_numpy()
    ill = frame.groupby("case")["ill"].first().to_numpy() == 1

    def areas(kept):
        above, below = wide[kept & ill][:, None], wide[kept & ~ill][None]
        return ((above > below) + 0.5 * (above == below)).mean(axis=(0, 1))

    n = len(wide)
    without = np.array([areas(np.arange(n) != case) for case in range(n)])
    return areas(np.ones(n, bool)), np.cov(without, rowvar=False) * (n - 1) ** 2 / n


def obuchowski_rockette(frame, estimate=delong):
    """Return the difference of areas, its standard error, degrees of freedom, and the former for
    these readers only, by Obuchowski & Rockette (1995) as corrected by Hillis (2007, 2014).

    Both modalities are read by all readers on the same cases, or on different ones. ``estimate``
    gives the covariance of areas.
    """
    of = [rows for _, rows in frame.groupby("modality")]
    n = frame["reader"].nunique()
    if set(of[0]["case"]) == set(of[1]["case"]):
        areas, covariance = estimate(frame)
        covariance = covariance.reshape(n, 2, n, 2)
    else:  # no covariance between modalities
        assert not set(of[0]["case"]) & set(of[1]["case"])
        covariance, areas = np.zeros((n, 2, n, 2)), np.empty((n, 2))
        for k, rows in enumerate(of):
            areas[:, k], covariance[:, k, :, k] = estimate(rows)
    less = areas.reshape(n, 2) @ [1, -1]
    other = ~np.eye(n, dtype=bool)
    same, crossed = [(0, 0), (1, 1)], [(0, 1), (1, 0)]
    variance, cov1, cov2, cov3 = (
        np.mean([covariance[:, a, :, b][which].mean() for a, b in places])
        for places, which in ((same, ~other), (crossed, ~other), (same, other), (crossed, other))
    )
    interaction = less.var(ddof=1) / 2
    whole = interaction + n * max(cov2 - cov3, 0.0)
    these = np.sqrt(2 / n * (variance - cov1 + (n - 1) * max(cov2 - cov3, 0.0)))
    degrees = (n - 1) * whole**2 / interaction**2
    return less.mean(), np.sqrt(2 / n * whole), degrees, these


def read(shared, name):
    frame = pd.read_csv(shared / "mrmc_readers" / f"{name}_ratings.csv")
    names = {"item": "case", "annotator": "reader", "group": "modality", "label": "score",
             "gold": "ill"}  # fmt: skip
    return frame.rename(columns=names)


# Areas over readers from the README of the set. Then for new readers the difference, its standard
# error and 95 % interval by DeLong's covariances, and its standard error for these readers, by
# those of the jackknife: documented output of MRMCaov 0.3 ("Using MRMCaov") and of OR-DBM MRMC 2.51
# (analyses 1 and 2).
PUBLISHED = {
    "vandyke": ((0.8970, 0.9408), -0.0438, 0.0207, (-0.0879, 0.0003), 0.01872),
    "franken": ((0.8477, 0.8369), 0.0109, 0.0050, (-0.0051, 0.0268), 0.01916),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_studies(shared, name):
    areas, difference, error, limits, error_of_these = PUBLISHED[name]
    frame = read(shared, name)
    mean, new, degrees, _ = obuchowski_rockette(frame)
    these = obuchowski_rockette(frame, jackknife)[3]
    assert these == pytest.approx(error_of_these, abs=1e-5)
    assert (mean, new) == (pytest.approx(difference, abs=5e-5), pytest.approx(error, abs=5e-5))
    interval = stats.t.interval(0.95, degrees, mean, new)
    np.testing.assert_allclose(interval, limits, atol=6e-5)
    simulated = study(frame, draws=4000)
    seen = simulated["observed_auc"].mean("reader").values
    np.testing.assert_allclose(seen, areas, atol=5e-5)
    np.testing.assert_allclose(simulated["average_auc"].mean(SAMPLE), seen, atol=0.002)
    if name == "vandyke":  # that of Franken estimates a negative variance between readers
        less = simulated["difference"].values
        assert less.mean() == pytest.approx(difference, abs=0.001)
        assert less.std() == pytest.approx(error, abs=0.002)
        np.testing.assert_allclose(np.quantile(less, [0.025, 0.975]), limits, atol=0.005)
    less = study(frame, draws=4000, new_readers=False)["difference"].values
    assert less.mean() == pytest.approx(difference, abs=0.001)
    assert less.std() == pytest.approx(error_of_these, rel=0.08)


@pytest.mark.long
def test_modalities_of_other_patients(shared):
    """Kundel et al. (1997): films of some patients, hard and soft copies of the images of others.

    MRMCaov documents no output of this study. The formula is that which gives its output above.
    """
    frame = read(shared, "kundel")
    draws = {new: study(frame, draws=4000, new_readers=new)["average_auc"] for new in (True, False)}
    for pair in itertools.combinations(sorted(frame["modality"].unique()), 2):
        of_pair = frame[frame["modality"].isin(pair)]
        mean, new, degrees, _ = obuchowski_rockette(of_pair)
        these = obuchowski_rockette(of_pair, jackknife)[3]
        of = {k: (x.sel(modality=pair[0]) - x.sel(modality=pair[1])).values
              for k, x in draws.items()}  # fmt: skip
        assert of[False].mean() == pytest.approx(mean, abs=0.003)
        assert of[False].std() == pytest.approx(these, rel=0.06)
        # Of hard and soft copies the variance between readers has 3 degrees of freedom and is
        # estimated as less than nothing, so that new readers seem surer than these.
        if degrees > 30:
            assert of[True].std() == pytest.approx(new, rel=0.15)
        assert of[True].std() > of[False].std()


@pytest.mark.long
def test_of_many_readers_it_is_the_analysis_of_obuchowski_and_rockette():
    frame = table(n_readers=20)
    mean, error, degrees, _ = obuchowski_rockette(frame)
    simulated = study(frame)["difference"].values
    assert simulated.mean() == pytest.approx(mean, abs=0.001)
    assert simulated.std() == pytest.approx(error, rel=0.1)
    np.testing.assert_allclose(
        np.quantile(simulated, [0.025, 0.975]),
        stats.t.interval(0.95, degrees, mean, error),
        atol=0.006,
    )


@pytest.mark.long
def test_a_seed_is_repeated_in_another_process():
    # The order of a set of names depends on the process; draws must not.
    code = (
        "import numpy as np, warnings, dissensus as dx\n"
        "warnings.simplefilter('ignore')\n"
        "rows = [{'reader': r, 'case': c, 'score': 9 * (c % 2) + r * c % 5, 'ill': c % 2}\n"
        "        for r in range(4) for c in range(30)]\n"
        "found = dx.reader_study(rows, 'ill', threshold=5, draws=20, random_seed=1)\n"
        "print([float(found[name].sum()) for name in sorted(found.data_vars)])\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in (1, 2)
    }  # fmt: skip
    assert len(told) == 1


def test_edges_know_clusters_and_are_the_same_cases_for_all_readers_of_a_modality():
    frame = table(distance=9, n_cases=200)
    frame["patient"] = frame["case"] // 20
    with pytest.warns(dx.DissensusWarning, match="All positive cases"):
        simulated = study(frame, threshold=[4.0, 5.0], max_false_positive_rate=0.1)
    for modality in simulated["modality"].values:
        draws = simulated["auc"].sel(modality=modality).values.reshape(2000, -1)
        np.testing.assert_allclose(np.corrcoef(draws, rowvar=False), 1.0)
    # Two modalities without errors may differ: .000 is not certain.
    lower, upper = np.quantile(simulated["difference"], [0.025, 0.975])
    assert lower < -0.004 < 0.004 < upper
    assert (simulated["sensitivity"].diff("threshold") <= 1e-12).all()
    # Half a negative case takes more of a small part of the curve.
    assert float(simulated["partial_auc"].mean()) < float(simulated["auc"].mean())
    with pytest.warns(dx.DissensusWarning, match="All positive cases"):
        clustered = study(frame, cluster="patient")
    ratio = clustered["auc"].std(SAMPLE) / simulated["auc"].std(SAMPLE)
    assert float(ratio.min()) > 3


def test_a_modality_with_fewer_errors_is_the_better_one_also_without_any():
    """Observed areas are 1 for all readers of CT, and smaller for one reader of MRI."""
    frame = table(distance=9)
    rows = frame.index[(frame["reader"] == 0) & (frame["modality"] == "MRI")]
    mine = frame.loc[rows].sort_values("score")
    ill = mine.index[mine["ill"] == 1]
    frame.loc[ill[0], "score"] = mine["score"][mine["ill"] == 0].max() - 0.01
    with pytest.warns(dx.DissensusWarning, match="All positive cases"):
        simulated = study(frame, new_readers=False)
    order = simulated["observed_auc"].mean("reader")
    assert float(order.sel(modality="CT")) == pytest.approx(1.0, abs=1e-12)
    assert float(order.sel(modality="MRI")) < 0.9999
    less = simulated["average_auc"].mean(SAMPLE)
    assert float(less.sel(modality="CT")) > float(less.sel(modality="MRI"))
    better = (simulated["average_auc"].sel(modality="CT")
              > simulated["average_auc"].sel(modality="MRI"))  # fmt: skip
    assert 0.5 < float(better.mean()) < 0.8


@pytest.mark.parametrize("most", [1.0, 0.2])
@pytest.mark.parametrize("low", [False, True])
def test_an_added_case_changes_an_area_as_a_curve_with_it_does(low, most):
    """The area of the curve of many cases and one more of each kind, which has some weight."""
    n, m = 4000, 3000
    chance = np.array([[0.7], [0.4], [0.6], [0.3]])
    positive, negative = betaincinv(0.5, 20.0, 0.7), betaincinv(0.5, 30.0, 0.4)
    score = np.r_[np.full(n, 1.0), np.full(m, 0.0)] * (-1 if low else 1)
    score = score + np.r_[np.linspace(0.0, 0.1, n), np.linspace(0.0, 0.1, m)]
    beyond = 1.0 - chance[2:, 0] ** 2 if not low else chance[2:, 0] ** 2
    # The positive case is below a share of the negative ones, and so on; mirrored if low.
    added = np.r_[np.quantile(score[n:], beyond[0]), np.quantile(score[:n], 1.0 - beyond[1])]
    weight = np.r_[np.full(n, (1 - positive) / n), np.full(m, (1 - negative) / m),
                   positive, negative]  # fmt: skip
    true = np.r_[np.ones(n, bool), np.zeros(m, bool), True, False]
    score = np.r_[score, added]
    order = np.argsort(-score)
    pair = shares(weight[None, order], true[None, order])
    _, sensitivity, false_positive_rate = rates(score[order], *pair)
    result = area(sensitivity, false_positive_rate, most)[0]
    expected = _of_added_cases((20.0, 30.0), chance, most, low=low)[0]
    assert abs((0.0 if low else 1.0) - result) == pytest.approx(expected, abs=0.004)


def test_readers_whose_labels_are_in_the_truth_are_named():
    frame = table(n_cases=100)
    fit = fit_with(np.where(np.arange(100) % 2, 0.99, 0.01))
    people = frame["reader"].unique()[:2].tolist()
    fit["constant_data"] = xr.Dataset(coords={"annotator": people})
    with pytest.warns(dx.DissensusWarning, match=f"answers of {people[0]!r}, {people[1]!r} them"):
        study(frame, fit, draws=None)
    fit["constant_data"] = xr.Dataset(coords={"annotator": ["another"]})
    with pytest.warns(dx.DissensusWarning, match="The truth is estimated"):
        study(frame, fit, draws=None)


def test_a_fit_that_contradicts_the_readers_is_warned_of():
    frame = table(distance=9)
    with pytest.warns(dx.DissensusWarning) as told:
        study(frame, fit_with(np.where(np.arange(60) % 2, 0.8, 0.2)), draws=None)
    assert any("Do not report these areas" in str(record.message) for record in told)
