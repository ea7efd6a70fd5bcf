"""Error rates by confidence: conjugate formulas, definitions, and what the data folders say."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from sklearn.metrics import roc_auc_score

import dissensus as dx

SAMPLE = ("chain", "draw")


def labels(n=300, people=3, seed=1, levels=(0.2, 0.6, 1.0)):
    """One label an item; the surer, the more often 1, which is true."""
    rng = np.random.default_rng(seed)
    sure = rng.choice(levels, n)
    right = rng.random(n) < 0.4 + 0.5 * sure
    frame = pd.DataFrame({"item": np.arange(n), "annotator": rng.integers(0, people, n),
                          "label": right.astype(int), "confidence": sure})  # fmt: skip
    return frame, dx.annotations(frame, confidence="confidence"), dict.fromkeys(range(n), 1)


def test_one_label_an_item_is_the_conjugate_posterior():
    frame, ann, truth = labels()
    check = dx.confidence_check(ann, truth, prior=(2, 3), random_seed=1)
    wrong, n = (frame["label"] == 0).groupby(frame["confidence"]).agg(["sum", "count"]).T.to_numpy()
    exact = {
        "error_rate": (2 + wrong, 3 + n - wrong),
        "level_share": (n, n.sum() - n),
        "wrong_share": (wrong, wrong.sum() - wrong),
    }
    for name, (a, b) in exact.items():
        for k in range(3):
            draws = check[name].isel(level=k).to_numpy().ravel()
            assert stats.kstest(draws, stats.beta(a[k], b[k]).cdf).pvalue > 1e-3
    np.testing.assert_array_equal(check["level"], [0.2, 0.6, 1.0])
    np.testing.assert_array_equal(check.attrs["n_labels"], n)


def test_each_annotator_has_a_posterior_of_his_own():
    frame, ann, truth = labels()
    check = dx.confidence_check(ann, truth, random_seed=1)
    cell = frame.query("annotator == 2 and confidence == 0.6")
    draws = check["annotator_error_rate"].sel(annotator=2, level=0.6).to_numpy().ravel()
    wrong = int((cell["label"] == 0).sum())
    exact = stats.beta(1 + wrong, 1 + len(cell) - wrong)
    assert stats.kstest(draws, exact.cdf).pvalue > 1e-3
    for who, part in frame.groupby("annotator"):
        mean = check["annotator_discrimination"].sel(annotator=who).mean()
        assert mean == pytest.approx(roc_auc_score(part["label"], part["confidence"]), abs=0.01)
    without = dx.confidence_check(ann, truth, per_annotator=False, random_seed=1)
    assert "annotator" not in without.dims


def test_discrimination_is_the_area_under_the_curve():
    frame, ann, truth = labels(2000, levels=np.linspace(0, 1, 50))
    check = dx.confidence_check(ann, truth, random_seed=1)
    expected = roc_auc_score(frame["label"], frame["confidence"])
    assert check["discrimination"].mean() == pytest.approx(expected, abs=0.002)


def test_labels_of_one_item_are_no_evidence_of_their_own():
    frame, ann, truth = labels(100, 1)
    copies = pd.concat([frame.assign(annotator=k) for k in range(10)])
    many = dx.annotations(copies, confidence="confidence")
    single, ten = (
        dx.confidence_check(a, truth, prior=(1e-3, 1e-3), random_seed=1)["error_rate"].std(SAMPLE)
        for a in (ann, many)
    )
    # As wide as of 100 labels, where a Beta of 1,000 had a third of it.
    np.testing.assert_allclose(ten, single, rtol=0.06)


def test_items_of_one_cluster_are_not_either():
    frame, _, truth = labels(400, 1)
    frame["patient"] = frame["label"] * 40 + np.arange(400) % 40
    ann = dx.annotations(frame, confidence="confidence", cluster="patient")
    by_item, by_patient = (
        dx.confidence_check(ann, truth, cluster=unit, random_seed=1)["error_rate"].std(SAMPLE)
        for unit in ("item", None)
    )
    assert (by_patient > 1.2 * by_item).all()


def test_a_fit_that_knows_the_truth_is_known_truth_with_its_draws():
    _, ann, truth = labels()
    known = np.zeros((2, 500, 300, 2))
    known[..., 1] = 1.0
    coords = {"item": ann["item"].to_numpy()[::-1], "label": [0, 1]}
    fit = xr.Dataset({"truth": ((*SAMPLE, "item", "label"), known)}, coords)
    drawn = dx.confidence_check(ann, xr.DataTree.from_dict({"posterior": fit}), random_seed=1)
    plain = dx.confidence_check(ann, truth, random_seed=1)
    assert drawn["error_rate"].shape == (2, 500, 3)
    gap = abs(drawn.mean(SAMPLE) - plain.mean(SAMPLE))
    assert max(float(x.max()) for x in gap.data_vars.values()) < 0.02


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")  # of so short a run
def test_a_fit_that_knew_nothing_of_confidence_makes_levels_alike():
    _, ann, _ = labels(60)
    fit = dx.models.rasch.fit(
        ann, confidence=True, draws=20, tune=20, chains=2, random_seed=1, progressbar=False
    )
    posterior = fit["posterior"].to_dataset()
    blind = posterior.assign_attrs(hyper_confidence=False)
    known = blind.assign(truth=blind["truth"].round())

    def warnings_of(truth):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dx.confidence_check(ann, truth, random_seed=1)
        return [record for record in caught if "without confidence" in str(record.message)]

    assert [record.filename for record in warnings_of(blind)] == [__file__]
    assert not warnings_of(fit)
    assert not warnings_of(known)


def test_doubt_of_the_truth_flows_in():
    # 40 items whose truth is a coin, the same for all in a draw: the error rate is .5 or so,
    # and as uncertain as the truth.
    rng = np.random.default_rng(1)
    ann = dx.annotations(
        {"item": list(range(40)), "annotator": ["a"] * 40, "label": [0, 1] * 20,
         "confidence": [0.5] * 20 + [1.0] * 20}, confidence="confidence",
    )  # fmt: skip
    coin = rng.integers(0, 2, (1, 400, 1)).repeat(40, axis=2)
    truth = np.stack([1.0 - coin, coin], axis=-1)
    coords = {"item": list(range(40)), "label": [0, 1]}
    sure = xr.Dataset({"truth": ((*SAMPLE, "item", "label"), truth)}, coords)
    half = sure.assign(truth=sure["truth"] * 0 + 0.5)
    known = dx.confidence_check(ann, dict.fromkeys(range(40), 0), draws=400, random_seed=1)
    each = dx.confidence_check(ann, half, random_seed=1)["error_rate"].std(SAMPLE)
    assert (each > 1.2 * known["error_rate"].std(SAMPLE)).all()
    dx.confidence_check(ann, sure, random_seed=1)


def test_many_levels_are_bins_of_as_many_labels():
    frame, ann, truth = labels(1000, levels=np.linspace(0, 1, 101))
    check = dx.confidence_check(ann, truth, bins=5, random_seed=1)
    assert check.sizes["level"] == 5
    n, low, high = (check.attrs[name] for name in ("n_labels", "lowest", "highest"))
    assert n.sum() == 1000
    assert abs(n - 200).max() < 20
    assert (low[1:] > high[:-1]).all()
    sure = frame["confidence"]
    means = [sure[(sure >= a) & (sure <= b)].mean() for a, b in zip(low, high, strict=True)]
    np.testing.assert_allclose(check["level"], means)
    assert check.attrs["levels"] == "5 bins of 101 values"


def test_a_frequent_value_is_in_one_bin():
    frame, _, truth = labels(100, levels=np.linspace(0, 0.9, 30))
    frame.loc[:59, "confidence"] = 1.0
    ann = dx.annotations(frame, confidence="confidence")
    check = dx.confidence_check(ann, truth, bins=4, random_seed=1)
    assert check.attrs["lowest"][-1] == 1.0
    assert check.attrs["n_labels"][-1] == 60


def test_order_of_rows_and_names_does_not_matter():
    frame, ann, truth = labels()
    mixed = frame.sample(frac=1.0, random_state=1)
    other = dx.annotations(mixed, confidence="confidence")
    first, second = (
        dx.confidence_check(a, truth, random_seed=1).mean(SAMPLE) for a in (ann, other)
    )
    gap = abs(first - second)
    assert max(float(x.max()) for x in gap.data_vars.values()) < 0.02


def test_nothing_wrong_is_said_and_is_nan():
    frame, _, truth = labels(60)
    ann = dx.annotations(frame.assign(label=1), confidence="confidence", labels=[0, 1])
    with pytest.warns(dx.DissensusWarning, match=r"wrong_share is undefined .*no label is wrong"):
        check = dx.confidence_check(ann, truth, random_seed=1)
    assert bool(check["wrong_share"].isnull().all())
    assert bool(check["discrimination"].isnull().all())
    assert bool(check["error_rate"].notnull().all())
    assert check.attrs["in_words"].startswith("No label is wrong.")


def test_few_items_are_said():
    frame, _, truth = labels(15, 1)
    ann = dx.annotations(frame, confidence="confidence")
    with pytest.warns(dx.DissensusWarning, match="15 items are few"):
        dx.confidence_check(ann, truth, random_seed=1)


def test_refusals():
    frame, ann, truth = labels(60)
    with pytest.raises(dx.AnnotationError, match=r"expected confidence.*confidence="):
        dx.confidence_check(dx.annotations(frame), truth)
    flat = dx.annotations(frame.assign(confidence=0.7), confidence="confidence")
    with pytest.raises(dx.AnnotationError, match=r"at least two levels; found 0.7 in every row"):
        dx.confidence_check(flat, truth)
    with pytest.raises(dx.ArgumentError, match="a label for every item; found none for 59 of 60"):
        dx.confidence_check(ann, {0: 1})
    with pytest.raises(dx.ArgumentError, match=r"truth: .*posterior has 'truth'"):
        dx.confidence_check(ann, xr.Dataset({"mu": (SAMPLE, [[1.0]])}))


@pytest.mark.parametrize(
    ("name", "bad"),
    [("bins", 1), ("prior", (1, -1)), ("per_annotator", "no"), ("draws", 0), ("truth", None),
     ("cluster", "patient"), ("on_missing", "skip"), ("truth", "gold")],
)  # fmt: skip
def test_bad_settings_are_named(name, bad):
    _, ann, truth = labels(60)
    with pytest.raises(dx.ArgumentError, match=rf"^{name}"):
        dx.confidence_check(ann, **({"truth": truth} | {name: bad}))


def soup(shared):
    frame = pd.read_csv(shared / "soup_sureness" / "ratings.csv")
    frame["case"] = frame["annotator"] + "-" + frame["trial"].astype(str)
    frame["sure"] = frame["confidence_level"].map({1: 0.0, 2: 0.5, 3: 1.0})
    ann = dx.annotations(frame, item="case", label="label", confidence="sure", cluster="annotator")
    return ann, dict(zip(frame["case"], frame["gold"], strict=True))


def test_soups_have_the_error_rates_of_their_folder(shared):
    # README of soup_sureness: right if guessed .5728 (n = 213), not sure .5903 (537), sure .7129
    # (1,097).
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)  # some are never wrong
        check = dx.confidence_check(*soup(shared), random_seed=1)
    right = 1.0 - check["error_rate"].mean(SAMPLE).to_numpy()
    np.testing.assert_allclose(right, [0.5728, 0.5903, 0.7129], atol=0.005)
    np.testing.assert_array_equal(check.attrs["n_labels"], [213, 537, 1097])
    # By arithmetic: .2871 * 1097 of the 626 wrong ones.
    assert check.attrs["in_words"].startswith("50 % of wrong labels were given with the highest")


def test_a_table_in_words():
    """200 labels by 20 people: means of Betas by counting, and the sentence by arithmetic."""
    n, wrong = np.array([40, 60, 100]), np.array([18, 24, 42])
    who = np.random.default_rng(1).permutation(np.repeat(np.arange(20), 10))
    frame = pd.DataFrame({
        "item": np.arange(200), "annotator": who, "confidence": np.repeat([0.0, 0.5, 1.0], n),
        "label": np.concatenate([np.arange(k) < bad for k, bad in zip(n, wrong, strict=True)]),
    })  # fmt: skip
    frame["label"] = frame["label"].map({True: "new", False: "old"})
    ann = dx.annotations(frame, confidence="confidence", cluster="annotator")
    check = dx.confidence_check(ann, dict.fromkeys(range(200), "old"), random_seed=1)
    np.testing.assert_allclose(check["error_rate"].mean(SAMPLE), (wrong + 1) / (n + 2), atol=0.005)
    np.testing.assert_array_equal(check.attrs["n_labels"], n)
    # 42 of 84 wrong labels.
    assert check.attrs["in_words"].startswith("50 % of wrong labels were given with the highest")


def test_gratings_have_the_error_rates_of_their_folder(shared):
    # README of masked_orientation: right by confidence5 .5573, .6588, .7240, .8230, .9658.
    frame = pd.read_csv(shared / "masked_orientation" / "ratings.csv.gz")
    frame["case"] = np.arange(len(frame))
    frame["sure"] = (frame["confidence5"] - 1) / 4
    ann = dx.annotations(frame, item="case", label="label", confidence="sure")
    truth = dict(zip(frame["case"], frame["gold"], strict=True))
    check = dx.confidence_check(ann, truth, draws=500, random_seed=1)
    right = 1.0 - check["error_rate"].mean(SAMPLE).to_numpy()
    np.testing.assert_allclose(right, [0.5573, 0.6588, 0.7240, 0.8230, 0.9658], atol=0.003)
    assert bool((check["annotator_discrimination"].mean(SAMPLE) > 0.5).all())
