"""Whether a model reproduces the annotators' agreement.

The oracle: replicated draws are spelled out as annotations, one by one, with loops, and the public
statistics are taken of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from refusals import check_refused

import dissensus as dx

QUICK = {"chains": 2, "random_seed": 5, "progressbar": False, "posterior_predictive": True}
DRAWS = [(0, 0), (0, 3), (1, 5)]
"""Some (chain, draw) to spell out."""


def fitted(model, annotations, draws=6, **hyper):
    return dx.models.get(model).module.fit(annotations, draws=draws, **QUICK, **hyper)


def at(check, chain, draw):
    """Return the statistics of one replicate, by name."""
    values = check["replicated"].isel(chain=chain, draw=draw)
    return dict(zip(check["statistic"].to_numpy().tolist(), values.to_numpy(), strict=True))


def table(rows, **options):
    item, annotator, label = zip(*rows, strict=True)
    return dx.annotations({"item": item, "annotator": annotator, "label": label}, **options)


@pytest.fixture
def labels():
    """Five labels in order, unequal numbers of annotators, one item with one of them."""
    rng = np.random.default_rng(1)
    n = [4, 3, 2, 5, 1, 3, 4]
    rows = [(f"i{i}", a, int(rng.integers(1, 6))) for i in range(len(n)) for a in range(n[i])]
    return table(rows, kind="ordinal", labels=range(1, 6))


def spelled(counts):
    """Turn counts (item, label) of one draw into rows."""
    return [
        (str(item), place, label)
        for item in counts["item"].to_numpy()
        for place, label in enumerate(
            label
            for label in counts["label"].to_numpy().tolist()
            for _ in range(int(counts.sel(item=item, label=label)))
        )
    ]


@pytest.mark.parametrize("level", [None, "nominal", "ordinal", "interval", "ratio"])
def test_labels_by_spelling_replicates_out(labels, level):
    fit = fitted("dirichlet", labels)
    check = dx.agreement_check(fit, level=level)

    def of(annotations):
        result = {
            "percent_agreement": float(dx.percent_agreement(annotations)),
            "krippendorff_alpha": float(dx.krippendorff_alpha(annotations, level)),
            "leave_one_out_agreement": float(dx.leave_one_out_agreement(annotations)),
        }
        return pytest.approx(result, abs=1e-12)

    observed = dict(zip(check["statistic"].to_numpy(), check["observed"].to_numpy(), strict=True))
    assert observed == of(labels)
    for chain, draw in DRAWS:
        counts = fit["posterior_predictive"]["counts"].isel(chain=chain, draw=draw)
        again = table(spelled(counts), kind="ordinal", labels=range(1, 6))
        assert at(check, chain, draw) == of(again)


def test_numbers_by_spelling_replicates_out():
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(5), [3, 2, 1, 4, 2])
    rows = [(int(i), a, float(rng.normal(3 * i))) for a, i in enumerate(item)]
    ann = table(rows)
    fit = fitted("normal_scores", ann, prior=(5, 0.1, 3, 3))
    check = dx.agreement_check(fit)
    for chain, draw in DRAWS:
        score = fit["posterior_predictive"]["score"].isel(chain=chain, draw=draw).to_numpy()
        again = table([(i, a, s) for (i, a, _), s in zip(rows, score, strict=True)])
        by_item = [
            np.mean([abs(a - b) for k, a in enumerate(score[item == i])
                     for m, b in enumerate(score[item == i]) if k != m])
            for i in range(5) if (item == i).sum() > 1
        ]  # fmt: skip
        assert at(check, chain, draw) == pytest.approx(
            {
                "krippendorff_alpha": float(dx.krippendorff_alpha(again, "interval")),
                "mean_absolute_difference": float(np.mean(by_item)),
            },
            abs=1e-10,
        )


@pytest.fixture
def lists():
    """Lists with ties over six labels, long and short."""
    rng = np.random.default_rng(3)
    nested = {}
    for i in range(8):
        nested[f"i{i}"] = {}
        for a in range(rng.integers(1, 5)):
            order = rng.permutation(list("abcdef"))[: rng.integers(1, 5)].tolist()
            blocks = (
                [order[:2], *([label] for label in order[2:])] if a % 2 else [[x] for x in order]
            )
            nested[f"i{i}"][f"r{a}"] = blocks
    return dx.from_rankings(nested, labels=list("abcdef"))


def first_choice_pairs(ann, code):
    """Probability that two annotators agree, a tied first choice being drawn at random."""
    item, who, rank = (ann[n].to_numpy() for n in ("item_code", "annotator_code", "rank"))
    means = []
    for i in range(ann.sizes["item"]):
        people = np.unique(who[item == i])
        firsts = [code[(item == i) & (who == a) & (rank == 1)] for a in people]
        pairs = [
            np.mean([x == y for x in firsts[r] for y in firsts[s]])
            for r in range(len(people)) for s in range(len(people)) if r != s
        ]  # fmt: skip
        if pairs:
            means.append(np.mean(pairs))
    return float(np.mean(means))


def test_rankings_by_spelling_replicates_out(lists):
    fit = fitted("plackett_luce", lists)
    check = dx.agreement_check(fit)
    for chain, draw in DRAWS:
        code = fit["posterior_predictive"]["label_code"].isel(chain=chain, draw=draw).to_numpy()
        again = lists.assign(label_code=("annotation", code))
        got = at(check, chain, draw)
        assert got["percent_agreement"] == pytest.approx(first_choice_pairs(again, code), abs=1e-12)
        leading = float(dx.leave_one_out_agreement(dx.validate(again)))
        assert got["leave_one_out_agreement"] == pytest.approx(leading, abs=1e-12)
    seen = check["observed"].sel(statistic="percent_agreement")
    expected = first_choice_pairs(lists, lists["label_code"].to_numpy())
    assert float(seen) == pytest.approx(expected, abs=1e-12)


def test_ties_and_lengths_of_lists_are_given_not_checked(lists):
    check = dx.agreement_check(fitted("plackett_luce", lists))
    names = check["statistic"].to_numpy()[~check["checked"].to_numpy()].tolist()
    assert names == ["tie_rate", "list_length"]
    key = list(zip(*(lists[n].to_numpy().tolist() for n in ("item_code", "annotator_code")),
                   strict=True))  # fmt: skip
    rank = lists["rank"].to_numpy()
    pairs = [(k, m) for k in range(len(key)) for m in range(k) if key[k] == key[m]]
    rate = np.mean([rank[k] == rank[m] for k, m in pairs])
    assert check["observed"].to_numpy()[-2:] == pytest.approx([rate, len(key) / len(set(key))])
    given = check.sel(statistic=names)
    assert (given["replicated"] == given["observed"]).all()
    assert given["tail_probability"].isnull().all()
    assert check.attrs["in_words"].count("same value by design") == 2


def test_first_choices_by_spelling_replicates_out(lists):
    fit = fitted("inverse_rank", lists)
    check = dx.agreement_check(fit)
    assert check["statistic"].to_numpy().tolist() == ["percent_agreement", "krippendorff_alpha"]
    for chain, draw in DRAWS:
        counts = fit["posterior_predictive"]["first_choice"].isel(chain=chain, draw=draw)
        rows = []
        for i, name in enumerate(counts["item"].to_numpy()):
            answers = np.repeat(counts["candidate_label"].to_numpy()[i], counts.to_numpy()[i])
            rows += [(str(name), place, str(label)) for place, label in enumerate(answers)]
        again = table(rows, labels=list("abcdef"))
        assert at(check, chain, draw) == pytest.approx(
            {
                "percent_agreement": float(dx.percent_agreement(again)),
                "krippendorff_alpha": float(dx.krippendorff_alpha(again)),
            },
            abs=1e-12,
        )
    expected = first_choice_pairs(lists, lists["label_code"].to_numpy())
    assert float(check["observed"][0]) == pytest.approx(expected, abs=1e-12)


def test_lists_of_one_label_are_labels(labels):
    of_lists = dx.agreement_check(fitted("plackett_luce", labels), level="ordinal")
    of_labels = dx.agreement_check(fitted("dirichlet", labels), level="ordinal")
    assert of_lists["statistic"].equals(of_labels["statistic"])
    xr.testing.assert_allclose(of_lists["observed"], of_labels["observed"])


def test_tail_probability_counts_equal_values_half(labels):
    check = dx.agreement_check(fitted("dirichlet", labels, draws=200))
    for name in ("percent_agreement", "krippendorff_alpha"):
        row = check.sel(statistic=name)
        drawn, seen = row["replicated"].to_numpy().ravel(), float(row["observed"])
        equal = np.abs(drawn - seen) < 1e-9
        assert equal.any() or name != "percent_agreement"
        expected = (drawn[~equal] > seen).sum() / len(drawn) + equal.mean() / 2
        assert float(row["tail_probability"]) == pytest.approx(expected)


@pytest.mark.long
def test_blocks_do_not_matter(labels, lists, monkeypatch):
    fits = [fitted("dirichlet", labels), fitted("plackett_luce", lists)]
    whole = [dx.agreement_check(fit) for fit in fits]
    monkeypatch.setattr("dissensus.checks._replicates.ROWS", 50)
    for fit, expected in zip(fits, whole, strict=True):
        xr.testing.assert_allclose(dx.agreement_check(fit), expected, rtol=1e-13)


def simulated(rng, n_items, n_annotators, alpha):
    """Draw labels from the Dirichlet model itself."""
    theta = rng.dirichlet(alpha, n_items)
    return [
        (i, a, int(label))
        for i in range(n_items)
        for a, label in enumerate(rng.choice(len(alpha), n_annotators, p=theta[i]))
    ]


@pytest.mark.long
def test_a_true_model_is_in_no_tail():
    rng = np.random.default_rng(4)
    tails = []
    for _ in range(8):
        ann = table(simulated(rng, 120, 4, [1.0, 1.0, 1.0]), kind="nominal", labels=range(3))
        tails.append(dx.agreement_check(fitted("dirichlet", ann, draws=400))["tail_probability"])
    tails = np.stack(tails)
    assert (tails > 0.005).all()
    assert (tails < 0.995).all()
    assert np.abs(tails.mean(axis=0) - 0.5).max() < 0.25


def test_annotators_who_copy_each_other_are_caught():
    rng = np.random.default_rng(6)
    rows = [(i, a, label) for i, _, label in simulated(rng, 120, 1, [1.0] * 3) for a in range(4)]
    ann = table(rows, kind="nominal")  # a learned prior would say: they all see the same
    check = dx.agreement_check(fitted("dirichlet", ann, draws=100, prior_count=1))
    assert (check["tail_probability"] < 0.01).all()
    assert check.attrs["in_words"].count("not reproduced: higher in the data") == 3


def test_a_prior_too_strong_is_caught_and_one_that_fits_is_not():
    rng = np.random.default_rng(7)
    ann = table(simulated(rng, 150, 4, [0.1] * 8), kind="nominal", labels=range(8))
    strong = dx.agreement_check(fitted("dirichlet", ann, draws=100, prior_count=1))
    assert (strong["tail_probability"] < 0.01).all()
    right = dx.agreement_check(fitted("dirichlet", ann, draws=100, prior_count=0.1))
    assert (right["tail_probability"] > 0.01).all()
    assert (right["tail_probability"] < 0.99).all()
    assert "not reproduced" not in right.attrs["in_words"]


@pytest.mark.long
def test_a_prior_that_puts_annotators_too_close_is_caught_and_an_estimated_one_is_not():
    rng = np.random.default_rng(8)
    ann = table([(i, a, float(m + rng.normal())) for i, m in enumerate(rng.normal(0, 1, 100))
                 for a in range(4)])  # fmt: skip
    close = dx.agreement_check(fitted("normal_scores", ann, draws=100, prior=(0, 1, 30, 3)))
    tail = close["tail_probability"]
    assert float(tail.sel(statistic="mean_absolute_difference")) < 0.01
    assert float(tail.sel(statistic="krippendorff_alpha")) > 0.99
    fine = dx.agreement_check(fitted("normal_scores", ann, draws=100))
    assert "not reproduced" not in fine.attrs["in_words"]


def test_undefined_replicates_are_left_out_with_a_warning():
    ann = table([(1, "a", "x"), (1, "b", "x"), (2, "a", "y"), (2, "b", "x")])
    fit = fitted("dirichlet", ann, draws=50)
    with pytest.warns(dx.DissensusWarning, match=r"of replicates is undefined .* of 100 draws"):
        check = dx.agreement_check(fit).sel(statistic="krippendorff_alpha")
    drawn = check["replicated"].to_numpy().ravel()
    assert 0 < np.isnan(drawn).sum() < 100
    known = drawn[~np.isnan(drawn)]
    equal = np.isclose(known, float(check["observed"]))
    expected = np.where(equal, 0.5, known > float(check["observed"])).mean()
    assert float(check["tail_probability"]) == pytest.approx(expected)


def test_an_undefined_observed_value_is_not_checked():
    ann = table([(1, "a", "x"), (2, "b", "y")])
    fit = fitted("dirichlet", ann)
    with pytest.warns(dx.DissensusWarning, match="no item has labels of two annotators"):
        check = dx.agreement_check(fit)
    assert check["tail_probability"].isnull().all()
    assert "not checked, since it is undefined" in check.attrs["in_words"]


@pytest.mark.long
@pytest.mark.parametrize("model", ["dirichlet", "plackett_luce", "inverse_rank"])
def test_survives_netcdf(model, labels, lists, tmp_path):
    fit = fitted(model, labels if model == "dirichlet" else lists)
    fit.to_netcdf(tmp_path / "fit.nc")
    check = dx.agreement_check(xr.open_datatree(tmp_path / "fit.nc"))
    xr.testing.assert_allclose(check, dx.agreement_check(fit))
    check.to_netcdf(tmp_path / "check.nc")
    assert xr.open_dataset(tmp_path / "check.nc").attrs["in_words"] == check.attrs["in_words"]


@pytest.mark.long
def test_a_level_that_the_data_do_not_have(labels, lists):
    words = table([(1, "a", "x"), (1, "b", "y")])
    of_grades = partial(dx.agreement_check, fitted("dirichlet", labels))
    of_lists = partial(dx.agreement_check, fitted("plackett_luce", lists))
    of_words = partial(dx.agreement_check, fitted("dirichlet", words))
    odd = ("cardinal", np.array([1.0, np.nan]), pd.Series([0.1, 0.2]), ["nominal"], True)
    check_refused(dx.ArgumentError, [
        *((repr(level), partial(of_grades, level=level), "level: expected 'nominal' or 'ordinal'")
          for level in odd),
        ("lists", partial(of_lists, level="ordinal"), "expected 'nominal' for replicates that are"),
    ])  # fmt: skip
    check_refused(dx.AnnotationError, [
        ("words", partial(of_words, level="interval"), "which have distances"),
        ("no order", partial(of_words, words, level="ordinal"), "labels in an order"),
    ])  # fmt: skip
