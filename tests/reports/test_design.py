"""Known items that are clearer or harder than the others."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import xarray as xr
from reports.conftest import spoken

import dissensus as dx
from dissensus.evaluation.provenance import ARGUMENTS
from dissensus.reports import checks, design
from dissensus.reports.design import compared


def labelled(n_agree, cluster=None, n_labels=3):
    """Return annotations by four people of items on which the first ``n_agree`` of them agree."""
    rows = [{"item": f"i{i}", "annotator": a, "label": 0 if a < n else a, "site": (cluster or [0] *
             len(n_agree))[i]} for i, n in enumerate(n_agree) for a in range(4)]  # fmt: skip
    table = {name: [row[name] for row in rows] for name in rows[0]}
    return dx.annotations(table, kind="nominal", cluster="site" if cluster else None)


def shares(n_agree):
    pairs = [list(itertools.combinations([0 if a < n else a for a in range(4)], 2))
             for n in n_agree]  # fmt: skip
    return np.array([np.mean([x == y for x, y in of_item]) for of_item in pairs])


def test_the_standard_error_is_that_of_random_choices():
    """Of all choices of five of twelve items, enumerated."""
    n_agree = [4, 4, 4, 3, 2, 0, 4, 3, 0, 2, 4, 4]
    known = np.arange(12) < 5
    seen, a = compared(labelled(n_agree), known), shares(n_agree)
    each = [np.mean(a[list(k)]) - np.mean(np.delete(a, list(k)))
            for k in itertools.combinations(range(12), 5)]  # fmt: skip
    assert seen[:3] == (5, pytest.approx(a[:5].mean()), pytest.approx(a[5:].mean()))
    assert seen.errors == pytest.approx((a[:5].mean() - a[5:].mean()) / np.std(each))


def test_whole_clusters_vary_more_than_single_items():
    """Of all choices of five of twelve clusters of three items, whose items are alike."""
    of_cluster = [4, 4, 4, 3, 2, 0, 4, 3, 0, 2, 4, 4]
    n_agree, cluster = np.repeat(of_cluster, 3).tolist(), np.repeat(np.arange(12), 3).tolist()
    known, a = np.arange(36) < 15, shares(of_cluster)
    each = [np.mean(a[list(k)]) - np.mean(np.delete(a, list(k)))
            for k in itertools.combinations(range(12), 5)]  # fmt: skip
    seen = compared(labelled(n_agree, cluster), known)
    difference = seen.known - seen.others
    assert seen.errors == pytest.approx(difference / np.std(each), rel=0.1)
    alone = compared(labelled(n_agree), known)
    assert alone.errors == pytest.approx(np.sqrt(3) * seen.errors, rel=0.1)


def test_nothing_is_compared_with_few_items_or_equal_agreement():
    n_agree = [4, 4, 4, 3, 2, 0, 4, 3, 0, 2]
    for n_known in (0, 4, 6, 10):
        assert compared(labelled(n_agree), np.arange(10) < n_known) is None
    assert compared(labelled([4] * 10), np.arange(10) < 5) is None
    ann = dx.annotations({"item": range(20), "annotator": [0] * 20, "label": [0, 1] * 10})
    assert compared(ann, np.arange(20) < 10) is None


def given(evaluation, ann, known, n_known=1):
    """Put annotations and known items into an evaluation."""
    evaluation["annotations"] = xr.DataTree(ann)
    evaluation["accuracy"] = xr.Dataset(attrs={"n_known": n_known})
    truth = {"mapping": [[item, 0] for item in known]}
    evaluation.attrs[ARGUMENTS] = json.dumps({"truth": truth if known else None})
    return [facts for topic, facts in checks.cautions(evaluation) if topic == "known_items"]


def test_known_items_that_are_unlike_the_others_are_cautioned(evaluate):
    evaluation, ann = evaluate(), labelled([4] * 20 + [2, 3] * 40)
    names = ann["item"].to_numpy().tolist()
    (facts,) = given(evaluation, ann, names[:18])
    words = spoken("known_items", facts)
    assert words.startswith("Annotators agree on 1.00 of the pairs of labels of the 18 known items")
    assert "on .35 of those of the other items: the known items are clearer" in words
    assert "outside their intervals" in words
    assert words.endswith("drawn at random, and give these as truth= (command line: --known) "
                          "instead.")  # fmt: skip
    (facts,) = given(evaluation, ann, names[20:50:2])
    assert "are harder than the others" in spoken("known_items", facts)
    assert "outside" not in spoken("known_items", facts)
    assert given(evaluation, ann, names[::5]) == []
    assert given(evaluation, ann, names[:18], n_known=0) == []
    assert given(evaluation, ann, []) == []


def test_a_small_difference_is_no_matter(evaluate):
    """With many items, it is many standard errors; but accuracies hardly depend on it."""
    n_agree = [4, 4, 3] * 100 + [4, 4, 4, 3] * 400
    ann = labelled(n_agree)
    assert abs(compared(ann, np.arange(len(n_agree)) < 300).errors) > 2.33
    assert given(evaluate(), ann, ann["item"].to_numpy()[:300].tolist()) == []


@pytest.mark.long
def test_an_evaluation_is_cautioned_of_unanimous_known_items():
    study = dx.simulate.confusion_study(
        200, ipc=(0.8, 0.7, 0.6, 0.7), n_annotators=4, system_accuracy=[0.9], random_seed=1
    )
    ann, truth = study.annotations, study.truth["truth_label"].to_series()
    share = dx.schema.label_counts(ann).max(axis=1)
    for known, topics in ((np.argsort(-share)[:30], ["known_items"]), (np.arange(30), [])):
        evaluation = dx.evaluate(
            ann, study.predictions, truth=truth.iloc[known].to_dict(), draws=60, reliability=(1,),
            components=None, ground_truth=None, truth_model="symmetric_confusion", random_seed=1,
            progressbar=False,
        )  # fmt: skip
        every = [topic for topic, _ in checks.cautions(evaluation)]
        assert [topic for topic in every if topic == "known_items"] == topics


@pytest.mark.parametrize(("n", "cautious"), [(3, False), (4, True)])
def test_annotators_who_repeat_themselves_are_cautioned(n, cautious):
    """Of 60 labels, and ``n`` second labels of one annotator: more than a twentieth of all."""
    first = [
        {"item": i, "annotator": a, "label": i % 2, "trial": 1} for i in range(20) for a in "abc"
    ]
    again = [{**row, "trial": 2} for row in first if row["annotator"] == "a"][:n]
    ann = dx.annotations(first + again, kind="nominal", trial="trial")
    topics = design.people(xr.DataTree.from_dict({"annotations": ann}))
    assert topics == ([("repeated", {"n": n, "of": 60 + n})] if cautious else [])
    text = spoken("repeated", {"n": n, "of": 60 + n})
    assert text.startswith(f"{n} of {60 + n} labels repeat a label by the same annotator")
    assert text.endswith("Keep one label of each annotator for each item.")
