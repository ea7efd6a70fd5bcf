"""Predictive draws as annotations: who said what, what a fit must hold, and unnamed labels."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.checks._replicates import replicates, with_names
from dissensus.data.plausibility import REMAINDER, Space

QUICK = {"draws": 20, "chains": 2, "random_seed": 5, "progressbar": False}


def fitted(model, annotations, **options):
    fit = dx.models.get(model).module.fit
    return fit(annotations, **{**QUICK, "posterior_predictive": True, **options})


@pytest.fixture
def words():
    return dx.annotations(
        {"item": [1, 2, 1, 2, 3, 1], "annotator": list("aabbac"), "label": list("xyxxyy")}
    )


@pytest.fixture
def repeated():
    """One annotator of two says everything three times."""
    rows = [(i, "once", 0, i % 3) for i in range(6)]
    rows += [(i, "thrice", t, (i + (t > 1) * i) % 3) for t in range(3) for i in range(6)]
    item, who, trial, label = zip(*rows, strict=True)
    columns = {"item": item, "annotator": who, "trial": trial, "label": label}
    return dx.annotations(columns, trial="trial", kind="ordinal", labels=range(3))


def test_repetitions_count_once_where_annotations_say_who_repeated(repeated):
    fit = fitted("dirichlet", repeated)
    check = dx.agreement_check(fit, repeated)
    once = float(dx.percent_agreement(repeated))
    assert float(check["observed"].sel(statistic="percent_agreement")) == pytest.approx(once)
    with pytest.raises(dx.ArgumentError, match="annotations: expected the annotations of the fit"):
        dx.agreement_check(fit)  # it has counts of labels only


@pytest.mark.parametrize("model", ["dawid_skene", "symmetric_confusion", "rasch"])
def test_repetitions_count_once_where_a_fit_says_who_repeated(repeated, model):
    fit = fitted(model, repeated)
    check = dx.agreement_check(fit)["observed"]
    assert float(check.sel(statistic="percent_agreement")) == pytest.approx(
        float(dx.percent_agreement(repeated))
    )
    xr.testing.assert_identical(check, dx.agreement_check(fit, repeated)["observed"])


@pytest.mark.long
def test_labels_are_dealt_at_random_to_the_rows_of_an_item(repeated):
    """The expected agreement is that of any two labels of the item, whoever said them."""
    fit = fitted("dirichlet", repeated, draws=2000)
    by_person = dx.agreement_check(fit, repeated)["replicated"].sel(statistic="percent_agreement")
    del fit.attrs["repeated_labels"]  # then each label is an annotator's
    by_row = dx.agreement_check(fit)["replicated"].sel(statistic="percent_agreement")
    difference = (by_row - by_person).to_numpy()
    error = difference.std() / np.sqrt(difference.size)
    assert abs(difference.mean()) < 4 * error
    assert (replicates(fit, repeated).drawn.values(slice(0, 9)).shape) == (9, 24)


def test_numbers_keep_who_said_them():
    columns = {"item": [1, 1, 1, 2, 2], "annotator": list("aabab"), "trial": [0, 1, 0, 0, 0],
               "label": [0.5, 1.5, 3.0, 2.0, 1.0]}  # fmt: skip
    ann = dx.annotations(columns, trial="trial")
    fit = fitted("normal_scores", ann, prior=(0, 1, 2, 2))
    check = dx.agreement_check(fit, ann)
    assert float(check["observed"][0]) == pytest.approx(float(dx.krippendorff_alpha(ann)))
    with pytest.raises(dx.ArgumentError, match="annotations: expected the annotations of the fit"):
        dx.agreement_check(fit)


def test_rankings_know_their_trials():
    columns = {"item": ["i"] * 6, "annotator": list("ooooyy"), "trial": [1, 1, 2, 2, 1, 1],
               "label": list("abacab"), "rank": [1, 2, 1, 2, 1, 2]}  # fmt: skip
    ann = dx.annotations(columns, trial="trial", rank="rank", labels=list("abcd"))
    for model in ("plackett_luce", "inverse_rank"):
        fit = fitted(model, ann, draws=400)
        assert fit["observed_data"]["annotation_trial"].to_numpy().tolist() == [1, 1, 2, 2, 1, 1]
        with pytest.warns(dx.DissensusWarning, match="krippendorff_alpha"):
            check = dx.agreement_check(fit)
        assert float(check["observed"].sel(statistic="percent_agreement")) == 1


def test_replicated_first_choices_repeat_where_annotators_did():
    """Agreement of replicates is between annotators, as that of the data."""
    columns = {"item": ["i"] * 8, "annotator": list("ooooyyyy"), "trial": [1, 1, 2, 2] * 2,
               "label": list("abacabba"), "rank": [1, 2] * 4}  # fmt: skip
    ann = dx.annotations(columns, trial="trial", rank="rank", labels=list("abcd"))
    both = replicates(fitted("inverse_rank", ann), None)
    assert both.drawn.annotator.tolist() == both.observed.annotator.tolist() == [0, 0, 1, 1]
    assert both.drawn.trial.tolist() == both.observed.trial.tolist() == [0, 1, 0, 1]


def test_inverse_rank_keeps_what_was_said_beside_its_predictions(rankings):
    ann = rankings[0]
    fit = fitted("inverse_rank", ann)
    observed = fit["observed_data"]
    assert observed["label_code"].to_numpy().tolist() == ann["label_code"].to_numpy().tolist()
    assert observed["rank"].to_numpy().tolist() == ann["rank"].to_numpy().tolist()
    assert "score" in observed
    assert "label_code" not in fitted("inverse_rank", ann, posterior_predictive=False)[
        "observed_data"
    ]  # fmt: skip


def test_scores_that_do_not_know_their_items():
    ann = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": [1.0, 2, 4, 3]})
    fit = fitted("normal_scores", ann, prior=(0, 1, 2, 2))
    expected = dx.agreement_check(fit)
    fit["constant_data"] = xr.DataTree(fit["constant_data"].to_dataset().drop_vars("item_code"))
    with pytest.raises(dx.ArgumentError, match="annotations: expected the annotations of the fit"):
        dx.agreement_check(fit)
    xr.testing.assert_identical(dx.agreement_check(fit, ann), expected)


def space_of(concentration):
    """Five labels, of which items name 1 and 3, and none."""
    codes = np.array([[1, 3, REMAINDER], [-1, -1, REMAINDER]])
    sizes = np.array([[1, 1, 3], [0, 0, 5]])
    return Space(np.array(list("abcde")), codes, sizes, concentration, 7)


@pytest.mark.parametrize("concentration", [0.1, 1.0, np.inf])
def test_pairs_agree_as_often_as_under_a_dirichlet_split(concentration):
    """Two draws from Dirichlet(a, ..., a) shares over U labels agree w.p. (a + 1) / (a U + 1)."""
    space = space_of(concentration)
    codes = np.tile([3, REMAINDER, REMAINDER, REMAINDER, REMAINDER, REMAINDER], (20_000, 1))
    actual = with_names(codes, np.array([0, 0, 0, 1, 1, 1]), space, 0)
    assert (actual[:, 0] == 3).all()
    assert set(actual[:, 1:3].ravel()) == {0, 2, 4}
    assert set(actual[:, 3:].ravel()) == set(range(5))
    for pair, size in (((1, 2), 3), ((3, 4), 5), ((3, 5), 5), ((4, 5), 5)):
        share = (actual[:, pair[0]] == actual[:, pair[1]]).mean()
        a = concentration
        expected = 1 / size if np.isinf(a) else (a + 1) / (a * size + 1)
        assert share == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(20_000))


def test_nothing_to_name():
    codes = np.array([[1, 3]])
    assert with_names(codes, np.array([0, 0]), space_of(1.0), 0) is codes


def test_no_replicate_takes_the_remainder_for_one_label():
    """With a large prior nearly all choices are labels that nobody named: they seldom agree."""
    labels = ["a", "b", *(f"label {k}" for k in range(98))]
    ann = dx.from_rankings({i: [[["a"]], [["b"]]] for i in range(40)}, labels=labels)
    fit = dx.models.inverse_rank.fit(
        ann, prior_count=100.0, draws=25, chains=2, random_seed=1, posterior_predictive=True,
        progressbar=False,
    )  # fmt: skip
    values = replicates(fit).drawn.values(slice(0, 50))
    assert values.min() >= 0
    assert len(np.unique(values)) == 100
    agreement = dx.agreement_check(fit)["replicated"].sel(statistic="percent_agreement")
    assert float(agreement.mean()) < 0.02
