"""What crossed effects refuse, and in which words."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from crossed_labels import labels, one_pool, priors_of, two_pools
from refusals import check_refused

import dissensus as dx
from dissensus.models import cross_replication, crossed_effects

by_use = pytest.mark.parametrize("use", ["build", "fit"])
QUICK = {"draws": 5, "chains": 1, "tune": 5, "progressbar": False}
NUMBERS, ORDERED = one_pool("gaussian"), one_pool("ordinal")
WORDS = {"item": [1, 1, 2], "annotator": list("aba"), "label": ["bad", "good", "bad"]}


def pair(values, **options):
    """Make a label for each of two items."""
    return labels([(0, 0), (1, 0)], values, **options)


def in_units(unit):
    rows = {"item": [1, 1, 2, 2, 3, 3], "annotator": list("ababab"),
            "label": unit * np.random.default_rng(1).normal(size=6)}  # fmt: skip
    return dx.annotations(rows, kind="continuous")


DATA = [
    ("bernoulli", NUMBERS, "expected labels, with family='bernoulli'; found cont"),
    ("ordinal", NUMBERS, "expected labels, with family='ordinal'; found contin"),
    ("bernoulli", ORDERED, "two labels, .*found 3: 0, 1, 2. Use family='ordinal"),
    ("ordinal", pair(["x", "y"]), "ordered labels, .* found 2 nominal lab"),
    ("ordinal", pair([1, 1], kind="ordinal", labels=[1]),
     "two or more ordered labels, .*found 1 ordinal"),
    ("gaussian", pair(["x", "y"]), "found nominal labels. For two labels use fa"),
    ("gaussian", dx.annotations(WORDS, kind="ordinal", labels=["bad", "good"]),
     "ordered words such as 'bad'.*family='ordinal'"),
    ("gaussian", pair([3.0, 3.0], kind="continuous"),
     "numbers that differ: the default priors are in u"),
    ("gaussian", in_units(1e-160), r"range lies between 1e-100 and 1e\+100"),
    ("gaussian", in_units(1e160), r"range lies between 1e-100 and 1e\+100"),
    ("poisson", NUMBERS, "family: expected 'gaussian' or 'bernoulli' or 'ordi"),
    (None, NUMBERS, "family: expected 'gaussian' or .*found None"),
]  # fmt: skip
PRIORS = [
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
]
AGREED = [[[5, 5], [5, 5]], [[1, 1], [2, 2], [4, 4]], [[1, 3], [2, 4]]]
"""Tables that leave no residual: everybody agrees, perhaps but for a constant of their own."""
SETTINGS = [
    *((dx.from_matrix(np.array(table, dtype=float), kind="continuous"),
       {"priors": priors_of("gaussian")}, "must not explain them to within a millionth")
      for table in AGREED),
    *((NUMBERS, {"priors": priors}, words) for priors, words in PRIORS),
    (NUMBERS, {"anonymous": True, "priors": {"sigma_annotator": ("half_normal", 1.0)}},
     "priors: expected .*; found 'sigma_annotator'"),
    (ORDERED, {"family": "ordinal", "priors": {"sigma": ("half_normal", 1.0)}},
     "priors: expected .*; found 'sigma'"),
    *((NUMBERS, {"sampler": sampler}, "sampler: expected 'gibbs' or 'nuts'")
      for sampler in ("hmc", None, 1)),
]  # fmt: skip
ALONE = dx.annotations(
    {"item": [1, 2], "annotator": [1, 1], "label": [0.5, 1.5], "pool": ["a", "a"]}, pool="pool"
)
OF_POOLS = [
    (NUMBERS, {}, "two or more pools of annotators; found none"),
    (ALONE, {}, r"found 1\. .*use crossed_effects"),
    (two_pools("gaussian", shared=True), {}, "annotators 'a0': expected each annotator in one"),
    (two_pools("gaussian"), {"residual": "item"},
     "residual: expected 'shared' or 'pool'; found 'item'"),
    (two_pools("gaussian"), {"correlation_prior": 0},
     "correlation_prior: expected a finite number > 0; found 0"),
    (two_pools("gaussian"), {"correlation_prior": "wide"},
     "correlation_prior: expected a finite number > 0"),
    (two_pools("ordinal"), {"family": "ordinal", "residual": "pool"},
     "residual: expected 'shared' with family='ordinal'"),
]  # fmt: skip


@by_use
def test_data_and_settings_that_do_not_suit(use):
    single, several = getattr(crossed_effects, use), getattr(cross_replication, use)
    calls = [
        *((single, ann, {"family": family}, words) for family, ann, words in DATA),
        *((single, *case) for case in SETTINGS),
        *((several, *case) for case in OF_POOLS),
    ]
    check_refused(dx.DissensusError, [
        (words, partial(call, ann, **options), words) for call, ann, options, words in calls
    ])  # fmt: skip


def test_effects_that_would_fill_the_memory():
    many = {"draws": 100_000_000, "progressbar": False}
    with pytest.raises(dx.ArgumentError, match=r"keep_effects: expected False, for 100,000,000 dr"):
        crossed_effects.fit(NUMBERS, **many)
    with pytest.raises(dx.ArgumentError, match=r"The draws would take \d+ GB. Metrics do not need"):
        cross_replication.fit(two_pools("gaussian"), **many)


def test_degrees_of_freedom_are_three_unless_given():
    fit = crossed_effects.fit(NUMBERS, priors={"sigma": ("half_t", 2.0)}, **QUICK)
    assert "sigma half_t(2, 3)" in fit.attrs["hyper_priors"]


def test_a_pool_whose_numbers_leave_no_residual():
    ann = two_pools("gaussian")
    value = np.where(ann["pool_code"] == 0, ann["item_code"] * 1.0, ann["value"])
    ann = ann.assign(value=("annotation", value))
    cross_replication.fit(ann, **QUICK)
    with pytest.raises(dx.AnnotationError, match="of pool 'new' without a residual"):
        cross_replication.fit(ann, residual="pool", **QUICK)
