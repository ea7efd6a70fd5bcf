"""What crossed effects refuse, and in which words."""

from __future__ import annotations

import numpy as np
import pytest
from crossed_labels import labels, one_pool, two_pools

import dissensus as dx
from dissensus.models import cross_replication, crossed_effects

both = pytest.mark.parametrize("use", [crossed_effects.build, crossed_effects.fit],
                               ids=["build", "fit"])  # fmt: skip
pools = pytest.mark.parametrize("use", [cross_replication.build, cross_replication.fit],
                                ids=["build", "fit"])  # fmt: skip


@both
@pytest.mark.parametrize(
    ("family", "ann", "message"),
    [
        ("bernoulli", one_pool("gaussian"), "expected labels, with family='bernoulli'; found cont"),
        ("ordinal", one_pool("gaussian"), "expected labels, with family='ordinal'; found contin"),
        ("bernoulli", one_pool("ordinal"), "two labels, .*found 3: 0, 1, 2. family='ordinal' take"),
        ("ordinal", labels([(0, 0), (1, 0)], ["x", "y"]), "ordered labels, .* found 2 nominal lab"),
        ("gaussian", labels([(0, 0), (1, 0)], ["x", "y"]), "found nominal labels. Two labels: fa"),
        ("poisson", one_pool("gaussian"), "family: expected 'gaussian' or 'bernoulli' or 'ordi"),
        (None, one_pool("gaussian"), "family: expected 'gaussian' or .*found None"),
    ],
)
def test_a_family_that_does_not_suit(use, family, ann, message):
    with pytest.raises(dx.DissensusError, match=message):
        use(ann, family=family)


@both
def test_words_in_order_are_no_numbers(use):
    ann = labels([(0, 0), (1, 0)], ["low", "high"], kind="ordinal", labels=["low", "high"])
    with pytest.raises(dx.AnnotationError):
        use(ann)


@both
def test_a_single_ordered_label(use):
    ann = labels([(0, 0), (1, 0)], [1, 1], kind="ordinal", labels=[1])
    with pytest.raises(dx.AnnotationError, match=r"two or more ordered labels, .*found 1 ordinal"):
        use(ann, family="ordinal")


@both
@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ("wide", "priors: expected a mapping of mu, sigma_item, sigma_annotator, sigma; found 'w"),
        ({"tau": ("half_normal", 1.0)}, "priors: expected 'mu' or .*; found 'tau'"),
        ({"gap": ("exponential", 1.0)}, "priors: expected 'mu' or .*; found 'gap'"),
        ({"mu": 3.0}, r"priors\['mu'\]: expected \(mean, standard deviation\); found 3.0"),
        ({"mu": (1.0, 2.0, 3.0)}, r"priors\['mu'\]: expected \(mean"),
        ({"mu": "01"}, r"priors\['mu'\]: expected \(mean"),
        ({"mu": (np.nan, 1.0)}, r"priors\['mu'\]: expected a finite number; found nan"),
        ({"mu": (0.0, 0.0)}, r"priors\['mu'\]: expected a finite number > 0; found 0.0"),
        ({"sigma": 2.0}, r"priors\['sigma'\]: expected \('half_normal', scale\), .*found 2.0"),
        ({"sigma": "half_normal"}, r"priors\['sigma'\]: expected \('half_normal', scale\)"),
        ({"sigma": ("half_normal",)}, r"priors\['sigma'\]: expected \('half_normal', scale\)"),
        ({"sigma": ("gamma", 1.0)}, r"priors\['sigma'\]: expected 'half_normal' or .*'gamma'"),
        ({"sigma": ("half_normal", 1.0, 3.0)}, r"expected \('half_normal', scale\); found"),
        ({"sigma": ("half_normal", -1.0)}, r"priors\['sigma'\]: expected a finite number > 0"),
        ({"sigma": ("half_normal", "1")}, r"priors\['sigma'\]: expected a finite number > 0"),
        ({"sigma": ("half_t", 1.0, 0.0)}, r"priors\['sigma'\]: expected a finite number > 0"),
        ({"sigma": ("half_t", np.inf)}, r"priors\['sigma'\]: expected a finite number > 0"),
        ({"sigma": (1.0, 2.0)}, r"priors\['sigma'\]: expected 'half_normal' or"),
        ([("sigma", 1.0)], "priors: expected a mapping"),
    ],
)
def test_malformed_priors(use, priors, message):
    with pytest.raises(dx.ArgumentError, match=message):
        use(one_pool("gaussian"), priors=priors)


@both
def test_the_prior_of_what_is_not_there(use):
    with pytest.raises(dx.ArgumentError, match=r"priors: expected .*; found 'sigma_annotator'"):
        use(one_pool("gaussian"), anonymous=True, priors={"sigma_annotator": ("half_normal", 1.0)})
    with pytest.raises(dx.ArgumentError, match=r"priors: expected .*; found 'sigma'"):
        use(one_pool("ordinal"), family="ordinal", priors={"sigma": ("half_normal", 1.0)})


def test_degrees_of_freedom_are_three_unless_given():
    fit = crossed_effects.fit(
        one_pool("gaussian"), priors={"sigma": ("half_t", 2.0)}, draws=5, chains=1, tune=5,
        progressbar=False,
    )  # fmt: skip
    assert "sigma half_t(2, 3)" in fit.attrs["hyper_priors"]


@both
def test_numbers_that_are_all_alike_give_no_scale(use):
    ann = labels([(0, 0), (1, 0)], [3.0, 3.0], kind="continuous")
    with pytest.raises(
        dx.AnnotationError, match="numbers that differ, to scale the priors by; fou"
    ):
        use(ann)


@both
@pytest.mark.parametrize("sampler", ["hmc", None, 1])
def test_samplers_there_are(use, sampler):
    with pytest.raises(dx.ArgumentError, match="sampler: expected 'gibbs' or 'nuts'"):
        use(one_pool("gaussian"), sampler=sampler)


def test_effects_that_would_fill_the_memory():
    with pytest.raises(dx.ArgumentError, match=r"keep_effects: expected False, for 100,000,000 dr"):
        crossed_effects.fit(one_pool("gaussian"), draws=100_000_000, progressbar=False)
    with pytest.raises(dx.ArgumentError, match=r"They would take \d+ GB. Metrics do not need"):
        cross_replication.fit(two_pools("gaussian"), draws=100_000_000, progressbar=False)


@pools
def test_one_pool_is_not_compared(use):
    with pytest.raises(dx.AnnotationError, match="two or more pools of annotators; found none"):
        use(one_pool("gaussian"))
    rows = {"item": [1, 2], "annotator": [1, 1], "label": [0.5, 1.5], "pool": ["a", "a"]}
    alone = dx.annotations(rows, pool="pool")
    with pytest.raises(dx.AnnotationError, match=r"found 1\. .*there is crossed_effects"):
        use(alone)


@pools
def test_annotators_in_two_pools(use):
    with pytest.raises(dx.AnnotationError, match="annotators 'a0': expected everybody in one pool"):
        use(two_pools("gaussian", shared=True))


@pools
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"residual": "item"}, "residual: expected 'shared' or 'pool'; found 'item'"),
        ({"correlation_prior": 0}, "correlation_prior: expected a finite number > 0; found 0"),
        ({"correlation_prior": "wide"}, "correlation_prior: expected a finite number > 0"),
    ],
)
def test_settings_that_make_no_sense(use, options, message):
    with pytest.raises(dx.ArgumentError, match=message):
        use(two_pools("gaussian"), **options)


@pools
def test_only_numbers_have_a_residual_to_learn(use):
    with pytest.raises(dx.ArgumentError, match="residual: expected 'shared' with family='ordinal'"):
        use(two_pools("ordinal"), family="ordinal", residual="pool")


def test_a_pool_whose_numbers_leave_no_residual():
    ann = two_pools("gaussian")
    value = np.where(ann["pool_code"] == 0, ann["item_code"] * 1.0, ann["value"])
    ann = ann.assign(value=("annotation", value))
    run = {"draws": 5, "chains": 1, "tune": 5, "progressbar": False}
    cross_replication.fit(ann, **run)
    with pytest.raises(dx.AnnotationError, match="of pool 'new' that they do"):
        cross_replication.fit(ann, residual="pool", **run)


def test_ordered_words_are_no_numbers():
    ann = dx.annotations(
        {"item": [1, 1, 2], "annotator": list("aba"), "label": ["bad", "good", "bad"]},
        kind="ordinal", labels=["bad", "good"],
    )  # fmt: skip
    with pytest.raises(dx.AnnotationError, match=r"ordered words such as 'bad'.*family='ordinal'"):
        crossed_effects.fit(ann)


@pytest.mark.parametrize("unit", [1e-160, 1e160])
def test_numbers_of_which_no_square_can_be_taken(unit):
    value = unit * np.random.default_rng(1).normal(size=6)
    ann = dx.annotations(
        {"item": [1, 1, 2, 2, 3, 3], "annotator": list("ababab"), "label": value},
        kind="continuous",
    )  # fmt: skip
    with pytest.raises(dx.AnnotationError, match=r"range lies between 1e-100 and 1e\+100"):
        crossed_effects.fit(ann)
