"""Designs that leave something to priors are told before sampling; ordinary ones are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dissensus as dx
from dissensus._reflections import near_guessing
from dissensus.models import (
    cross_replication,
    crossed_effects,
    dawid_skene,
    rasch,
    symmetric_confusion,
)

EVERYBODY = [(i, a) for i in range(12) for a in "abcd"]
ISLANDS = [(i, a) for i in range(6) for a in "abc"] + [(i, a) for i in range(6, 12) for a in "def"]
NESTED = [(i, "abcd"[i % 4]) for i in range(12)]
AGAIN = [(i, "abcdefghijkl"[i]) for i in range(12) for _ in range(2)]
STRANGER = [(i, a) for i in range(9) for a in "abc"] + [(i, "z") for i in range(9, 12)]
PAIR = [(i, a) for i in range(12) for a in "ab"]
ONE = [(i, "a") for i in range(6)] * 2


def labels(rows, **more):
    """Labels that differ, of who labelled what."""
    rng = np.random.default_rng(3)
    table = {"item": [i for i, _ in rows], "annotator": [a for _, a in rows]}
    table["trial"] = list(range(len(rows)))
    said = rng.choice(["n", "y"], len(rows)).tolist()
    said[:2] = ["n", "y"]
    more |= {"trial": "trial"} if len(set(rows)) < len(rows) else {}
    pool = more.pop("pool", None)
    table |= {"label": said} | ({} if pool is None else {"pool": pool})
    named = {"pool": None if pool is None else "pool", **more}
    return dx.annotations(table, kind="nominal", labels=["n", "y"], **named)


def said(model, ann, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.build(ann, **options)
    assert all(issubclass(one.category, dx.DesignWarning) for one in caught)
    return " ".join(str(one.message) for one in caught)


CROSSED = (crossed_effects, {"family": "bernoulli"})
RASCH = (rasch, {})
OWN = (symmetric_confusion, {"accuracy": "annotator"})
SHARED = (symmetric_confusion, {})
MATRICES = (dawid_skene, {})
COMPLETE = (dawid_skene, {"pooling": "complete"})


@pytest.mark.parametrize("how", [CROSSED, RASCH, OWN, SHARED, MATRICES])
def test_ordinary_designs_are_left_in_peace(how):
    assert said(how[0], labels(EVERYBODY), **how[1]) == ""


@pytest.mark.parametrize(
    ("how", "rows", "words"),
    [
        (CROSSED, ISLANDS, ["2 groups that share no item ('a', 'b', 'c' | 'd', 'e', 'f')",
                            "ICC and xCC stand if they are"]),
        (CROSSED, NESTED, ["sigma_item cannot be told from the residual", "annotator ICC stands"]),
        (CROSSED, AGAIN, ["sigma_item and sigma_annotator cannot be told apart", "their sum"]),
        (CROSSED, ONE, ["only one annotator: sigma_annotator comes from its prior alone"]),
        (CROSSED, [(i, f"a{i}{k}") for i in range(6) for k in range(2)],
         ["sigma_annotator cannot be told from the residual. ICC and xCC stand"]),
        (RASCH, ISLANDS, ["able annotators look like easy items"]),
        (RASCH, NESTED, ["no truth is known: nothing tells how able anybody is"]),
        (RASCH, STRANGER, ["1 of 4 annotators ('z')", "no truth of theirs is known"]),
        (OWN, ISLANDS, ["2 groups that share no item", "better than guessing"]),
        (MATRICES, ISLANDS, ["2 groups that share no item"]),
        (OWN, STRANGER, ["1 of 4 annotators ('z') share no item with anybody"]),
        (OWN, PAIR, ["only ('a', 'b'): how often the two agree is known"]),
        (MATRICES, NESTED, ["No item has two labels: nothing tells how accurate anybody is"]),
    ],
)  # fmt: skip
def test_what_labels_cannot_tell_is_said_with_names(how, rows, words):
    found = said(how[0], labels(rows), **how[1])
    for one in words:
        assert one in found
    assert "Have " in found or "have " in found or "Do not report" in found or "set anon" in found


@pytest.mark.parametrize("how", [SHARED, COMPLETE])
@pytest.mark.parametrize("rows", [ISLANDS, STRANGER, PAIR])
def test_one_accuracy_for_all_needs_no_links(how, rows):
    assert said(how[0], labels(rows), **how[1]) == ""


def test_systems_that_label_all_items_join_annotators():
    ann = labels(ISLANDS)
    table = {"item": list(range(12)), "system": ["s"] * 12, "label": ["n", "y"] * 6}
    pred = dx.predictions(table)
    assert said(symmetric_confusion, ann, accuracy="annotator", predictions=pred) == ""
    alone = said(symmetric_confusion, ann, accuracy="annotator", predictions=pred,
                 evidence="annotators")  # fmt: skip
    assert "2 groups" in alone


def test_known_truths_make_strangers_comparable():
    truth = {i: "n" if i % 2 else "y" for i in range(12)}
    assert "no truth of theirs" not in said(rasch, labels(STRANGER), truth=truth)
    assert "difficulty_spread comes from its prior" in said(rasch, labels(NESTED), truth=truth)


def test_items_without_a_label_are_named():
    whole = labels([*EVERYBODY, (12, "a")])
    found = said(crossed_effects, whole.isel(annotation=slice(48)), family="bernoulli")
    assert "1 of 13 items (12) have no label" in found


def test_labels_that_are_all_the_same():
    rows = {"item": [0, 0, 1, 1], "annotator": list("abab"), "label": ["y"] * 4}
    ann = dx.annotations(rows, kind="nominal", labels=["n", "y"])
    found = said(crossed_effects, ann, family="bernoulli")
    assert "All labels are 'y'" in found


@pytest.mark.parametrize(("shared", "words"), [(0, "share no item"), (1, "share 1 item."), (5, "")])
def test_pools_with_few_items_in_common_are_named(shared, words):
    rows = [(i, a) for i in range(12) for a in "ab"]
    rows += [(i + 12 - shared, a) for i in range(12) for a in "cd"]
    pool = ["old" if a in "ab" else "new" for _, a in rows]
    found = said(cross_replication, labels(rows, pool=pool), family="bernoulli")
    if not words:
        assert found.count("Pools") == 0
        return
    assert words in found
    # Of two pools the LKJ prior with shape 1 is uniform over correlations.
    assert "between -0.90 and 0.90" in found


def test_three_pools_have_the_priors_interval_of_a_beta():
    """With shape 1 and three pools (r + 1) / 2 is Beta(1.5, 1.5): its .95 quantile is .9027."""
    rows = [(10 * p + i, "abcdef"[2 * p + k]) for p in range(3) for i in range(8) for k in (0, 1)]
    pool = [str("abcdef".index(a) // 2) for _, a in rows]
    found = said(cross_replication, labels(rows, pool=pool), family="bernoulli")
    assert "and from other pools" in found
    assert "between -0.81 and 0.81" in found


def test_a_residual_that_pools_share_is_known_if_one_pool_tells_it():
    rng = np.random.default_rng(1)
    rows = [(i, a) for i in range(8) for a in "abc"] + [
        (i, f"z{i}{k}") for i in range(8) for k in (0, 1)
    ]
    table = {"item": [i for i, _ in rows], "annotator": [a for _, a in rows],
             "label": rng.normal(size=len(rows)), "pool": ["old"] * 24 + ["new"] * 16}  # fmt: skip
    ann = dx.annotations(table, pool="pool", kind="continuous")
    assert said(cross_replication, ann) == ""
    assert "sigma_annotator cannot be told" in said(cross_replication, ann, residual="pool")


# -- After sampling: truths that could be read the other way round -----------------------------


def test_annotators_who_guess_are_found_out():
    rng = np.random.default_rng(5)
    ann = dx.from_matrix(rng.choice(["n", "y"], (60, 4)).tolist(), labels=["n", "y"])
    run = {"draws": 200, "chains": 2, "random_seed": 1, "progressbar": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.ConvergenceWarning)
        with pytest.warns(dx.DesignWarning, match="read the other way round") as caught:
            fit = symmetric_confusion.fit(ann, keep_items=False, **run)
    assert fit.attrs["near_guessing"] > 0.1
    assert any("chain by chain" in str(one.message) for one in caught)


def test_annotators_who_exchange_labels_are_named():
    import xarray as xr

    draws = np.full((2, 50, 3), 0.8)
    draws[..., 2] = 0.1
    dims, coords = ("chain", "draw", "annotator"), {"annotator": ["a", "b", "c"]}
    with pytest.warns(dx.DissensusWarning, match=r"1 of 3 annotators \('c'\) are right less often"):
        near_guessing(xr.DataArray(draws, dims=dims, coords=coords), 2)
