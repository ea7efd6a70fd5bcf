"""What must not change a statistic, whichever it is."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_studies import WORDS
from statistic_cases import CASES, assert_same, every_variant, studies, taken

import dissensus as dx

pytestmark = pytest.mark.unit(12, long="all")

SEEDS = st.integers(0, 2**31)
few = settings(max_examples=2, deadline=None)

LABEL_SPACE = {"bennett_s", "gwet_ac", "lehner"}
"""Chance in these is one over the number of labels that could have been given."""
EVERY_LABEL = {"lehner"}
"""Here annotators are all alike, and each label of one is as good as one of another."""


def permuted(rng, names):
    return dict(zip(names, rng.permutation(names).tolist(), strict=True))


def of(made, place):
    return sorted({row[place] for row in made.rows})


@pytest.mark.unit(0, long=10)
@every_variant
@given(seed=SEEDS)
@few
def test_the_order_of_rows_does_not_matter(entry, variant, seed):
    for made in studies(entry, variant, seed, trials=bool(seed % 2)):
        order = np.random.default_rng(seed).permutation(len(made.rows))
        turned = type(made)(**{**vars(made), "rows": [made.rows[o] for o in order]})
        assert_same(taken(entry, variant, turned), taken(entry, variant, made))


@every_variant
@given(seed=SEEDS)
@few
def test_names_of_annotators_and_items_do_not_matter(entry, variant, seed):
    if "random_seed" in variant:
        return  # whoever is held out is drawn by name
    rng = np.random.default_rng(seed)
    for made in studies(entry, variant, seed):
        who = {name: f"z{place}" for place, name in enumerate(rng.permutation(of(made, 1)))}
        renamed = made.mapped(lambda item, name, *rest, who=who: (item, who[name], *rest))
        expected = taken(entry, variant, made)
        if "annotator" in expected.coords:
            names = [who[name] for name in expected["annotator"].values]
            expected = expected.assign_coords(annotator=names)
        if "annotator_" in expected.coords:  # of each two
            expected = expected.assign_coords(annotator_=names)
        assert_same(taken(entry, variant, renamed), expected)


@pytest.mark.parametrize(
    ("entry", "variant"),
    [case for case in CASES if case[0].pairwise],
    ids=[" ".join([e.name, *map(str, v.values())]) for e, v in CASES if e.pairwise],
)
@given(seed=SEEDS)
@few
def test_annotators_may_be_others_on_every_item(entry, variant, seed):
    rng = np.random.default_rng(seed)
    for made in studies(entry, variant, seed, trials=bool(seed % 2)):
        who = {item: permuted(rng, of(made, 1)) for item in of(made, 0)}
        renamed = made.mapped(lambda item, name, *rest, who=who: (item, who[item][name], *rest))
        assert_same(taken(entry, variant, renamed), taken(entry, variant, made))


@every_variant
@given(seed=SEEDS)
@few
def test_names_of_labels_do_not_matter(entry, variant, seed):
    rng = np.random.default_rng(seed)
    for made in studies(entry, variant, seed):
        if made.kind == "continuous":
            continue
        new = permuted(rng, made.labels)
        if made.kind == "ordinal":  # words for words, in the same order
            words = WORDS[: len(made.labels)]
            made = made.relabelled(dict(zip(made.labels, words, strict=True)))
            new = dict(zip(words, words[::-1], strict=True))
        try:
            expected = taken(entry, variant, made)
        except dx.DissensusError as problem:
            assert re.search("words|numbers", str(problem))
            continue
        if "label" not in expected.coords:
            assert_same(taken(entry, variant, made.relabelled(new)), expected)


@every_variant
@given(seed=SEEDS)
@few
def test_weights_of_one_are_no_weights(entry, variant, seed):
    for made in studies(entry, variant, seed):
        ones = np.ones(made.annotations().sizes["item"])
        assert_same(taken(entry, variant, made, weights=ones), taken(entry, variant, made))


@every_variant
@given(seed=SEEDS, trials=st.booleans())
@few
def test_whole_weights_repeat_items_and_zeros_leave_them_out(entry, variant, seed, trials):
    rng = np.random.default_rng(seed)
    for made in studies(entry, variant, seed, trials=trials):
        times = {item: int(rng.integers(0, 4)) for item in of(made, 0)}
        # All annotators are on the first two items: with these nobody disappears.
        times |= {"i0": times["i0"] + 1, "i1": times["i1"] + 1}
        weighted = taken(entry, variant, made, weights=times)
        assert_same(taken(entry, variant, made.repeated(times)), weighted)


@every_variant
@given(seed=SEEDS)
@few
def test_labels_that_nobody_used_do_not_matter(entry, variant, seed):
    if entry.name in LABEL_SPACE or entry.takes == "scores":  # these are of two labels
        return
    for made in studies(entry, variant, seed):
        if made.labels is None:
            continue
        extra = WORDS[-2:] if made.kind == "nominal" else (17, 40)
        wider = type(made)(**{**vars(made), "labels": (*made.labels, *extra)})
        actual, expected = taken(entry, variant, wider), taken(entry, variant, made)
        if "label" in expected.coords:
            actual = actual.sel(label=expected["label"])
        assert_same(actual, expected)


@every_variant
@given(seed=SEEDS)
@few
def test_saying_the_same_thing_again_does_not_matter(entry, variant, seed):
    if entry.name in EVERY_LABEL:
        return
    for made in studies(entry, variant, seed):
        again = [(item, who, 1, *rest) for item, who, _, *rest in made.rows[::2]]
        twice = type(made)(**{**vars(made), "rows": [*made.rows, *again]})
        try:
            result = taken(entry, variant, twice)
        except dx.DissensusError as problem:
            assert "trial" in str(problem)
            continue
        assert_same(result, taken(entry, variant, made))
