"""Variance components and agreement of pools, beside figures that others have computed."""

from __future__ import annotations

import krippendorff
import numpy as np
import pandas as pd
import pytest

import dissensus as dx
from dissensus.evaluation.components import pool_agreement
from dissensus.evaluation.observed import Settings

QUIET = {"draws": 60, "random_seed": 1, "progressbar": False}


@pytest.mark.long
def test_published_components_of_a_rating_study(shared):
    """NFLX public set, REML of the crossed model (lme4 1.1-31, the folder's README).

    Item 1.40403, annotator 0.08761, residual 0.39405: ICC .7446, annotator ICC .0465.
    """
    frame = pd.read_csv(shared / "nflx_video_quality" / "ratings.csv")
    ann = dx.annotations(frame, kind="ordinal")
    result = dx.evaluate(ann, components="gaussian", reliability=(1,), **QUIET)
    mean = result["components"].to_dataset().sel(scale="latent").mean(("chain", "draw"))
    assert float(mean["icc"]) == pytest.approx(0.7446, abs=0.02)
    assert float(mean["annotator_icc"]) == pytest.approx(0.0465, abs=0.015)
    assert float(result["components"]["n_labels"]) == 26


@pytest.mark.long
def test_components_of_simulated_ratings():
    """The same in a bare clone: REML is by mean squares where all rate all (McGraw & Wong 1996)."""
    rng = np.random.default_rng(2)
    n, k = 40, 20
    table = 3.0 + 1.1 * rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=k)
    table = np.rint(table + 0.6 * rng.normal(size=(n, k))).clip(1, 5).astype(int)
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    rest = table - rows[:, None] - columns + table.mean()
    error = (rest**2).sum() / ((n - 1) * (k - 1))
    of_item, of_annotator = rows.var(ddof=1) - error / k, columns.var(ddof=1) - error / n
    whole = of_item + of_annotator + error
    ann = dx.from_matrix(table.tolist(), kind="ordinal", labels=range(1, 6))
    result = dx.evaluate(ann, components="gaussian", reliability=(1,), **QUIET)
    mean = result["components"].to_dataset().sel(scale="latent").mean(("chain", "draw"))
    assert float(mean["icc"]) == pytest.approx(of_item / whole, abs=0.02)
    assert float(mean["annotator_icc"]) == pytest.approx(of_annotator / whole, abs=0.015)
    assert float(result["components"]["n_labels"]) == k


def test_agreement_of_simulated_pools():
    """The same in a bare clone: alphas of the package krippendorff, kappa_x from its definition."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 60)
    labels, pools = [], ("g1", "g2")
    for chance in (0.8, 0.9):
        right = rng.random((60, 4)) < chance
        labels.append(np.where(right, truth[:, None], 1 - truth[:, None]))
    item, who = np.indices((60, 4)).reshape(2, -1)
    ann = dx.annotations(
        {"item": np.tile(item, 2), "annotator": np.concatenate([who, who + 4]),
         "label": np.concatenate([x.ravel() for x in labels]), "pool": np.repeat(pools, 240)},
        pool="pool", kind="nominal",
    )  # fmt: skip
    actual = pool_agreement(ann, Settings(100, 1, None, 0.1, "raise"))
    alphas = [krippendorff.alpha(x.T, level_of_measurement="nominal") for x in labels]
    alpha = actual["observed_krippendorff_alpha"].sel(pool=list(pools))
    np.testing.assert_allclose(alpha, alphas, atol=1e-10)
    observed = np.mean(labels[0][:, :, None] != labels[1][:, None])
    expected = np.mean(labels[0].ravel()[:, None] != labels[1].ravel())
    kappa = (1 - observed / expected) / np.sqrt(alphas[0] * alphas[1])
    between = actual["observed_normalized_cross_kappa"].sel(pool="g1", pool_="g2")
    assert float(between) == pytest.approx(kappa, abs=1e-10)


@pytest.mark.long
def test_published_agreement_of_pools(shared):
    """Two annotation paradigms: figures of the folder's README, computed by other packages."""
    frame = pd.read_csv(shared / "annotation_paradigms" / "ratings.csv.gz")
    ann = dx.annotations(frame, pool="group")
    result = pool_agreement(ann, Settings(100, 1, None, 0.1, "raise"))
    alpha = result["observed_krippendorff_alpha"].sel(pool=["g1", "g2", "g3"])
    np.testing.assert_allclose(alpha, [0.1978, 0.7781, 0.1478], atol=5e-5)
    between = result["observed_normalized_cross_kappa"].sel(pool="g1", pool_=["g2", "g3"])
    np.testing.assert_allclose(between, [0.5696, 1.0512], atol=5e-5)
