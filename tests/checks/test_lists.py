"""Equal lists of two annotators: by listing all pairs, and in evaluations with copied lists."""

import itertools

import numpy as np
import pandas as pd
import pytest

import dissensus as dx
from dissensus.checks._lists import identical_lists, most_alike
from dissensus.reports import checks
from dissensus.reports.sentences import sentences

TRIAL = [None, "trial"]


def lists_of(seed, n_items=40, trial=None):
    """Ranked lists over three labels with ties, so that many are equal."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n_items):
        for a, t in itertools.product(range(rng.integers(1, 5)), range(1 + bool(trial))):
            order = rng.permutation(3)[: rng.integers(1, 4)]
            tied = rng.random() < 0.4
            rank = [1, 1, 2] if tied else [1, 2, 3]
            rows += [(i, a, t, label, rank[k]) for k, label in enumerate(order.tolist())]
    names = ["item", "annotator", "trial", "label", "rank"]
    frame = pd.DataFrame(rows, columns=names)
    return dx.annotations(frame, rank="rank", labels=[0, 1, 2], trial=trial), frame


def by_pairs(frame):
    """Count pairs of equally long lists by two annotators of an item, and equal ones."""
    pairs, equal, alike = 0, 0, {}
    for _, item in frame.groupby("item"):
        each = [(who, set(zip(statement.label, statement["rank"], strict=True)))
                for (who, _), statement in item.groupby(["annotator", "trial"])]  # fmt: skip
        for (a, left), (b, right) in itertools.combinations(each, 2):
            if a != b and len(left) == len(right) > 1:
                pairs += 1
                equal += left == right
                key = (str(min(a, b)), str(max(a, b)))
                alike[key] = alike.get(key, 0) + (left == right)
    return pairs, equal, alike


@pytest.mark.parametrize("trial", TRIAL)
@pytest.mark.parametrize("seed", range(3))
def test_equal_lists_are_counted_as_by_listing_all_pairs(seed, trial):
    ann, frame = lists_of(seed, trial=trial)
    pairs, equal, alike = by_pairs(frame)
    result = [part.sum() for part in identical_lists(ann).parts]
    assert result == [pairs, equal]
    assert equal > 0
    top = most_alike(ann, 1)
    assert top.n_all == equal
    assert top.n_same == max(alike.values()) == alike[top.first, top.second]
    assert most_alike(ann, top.n_same + 1) is None


def test_no_lists_are_equal():
    ann = dx.from_rankings({"i": {"a": [["x"], ["y"]], "b": [["y"], ["x"]]}}, labels="xyz")
    assert most_alike(ann, 1) is None


def study(seed, copied, n_items=60):
    """Plackett-Luce lists by three annotators; the second copies the first's with a probability."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n_items):
        log_strength = np.log(rng.gamma(0.4, 1.0, 12) + 1e-9)
        before = None
        for who in ("ann", "bob", "cy"):
            order = np.argsort(-(log_strength + rng.gumbel(size=12)))[: rng.integers(1, 5)].tolist()
            if who == "bob" and rng.random() < copied:
                order = before
            before = order
            rows += [(i, who, label, k + 1) for k, label in enumerate(order)]
    frame = pd.DataFrame(rows, columns=["item", "annotator", "label", "rank"])
    labels = {"item": range(n_items), "system": "s", "label": rng.integers(0, 12, n_items)}
    pred = dx.predictions(pd.DataFrame(labels))
    return dx.annotations(frame, rank="rank", labels=list(range(12))), pred


@pytest.mark.parametrize("copied", [0.0, 0.3])
def test_evaluations_notice_copied_lists(copied):
    result = dx.evaluate(
        *study(4, copied), draws=100, reliability=[1.0], companion=None, random_seed=1,
        progressbar=False,
    )  # fmt: skip
    check = result["agreement_check"].to_dataset().sel(statistic="identical_lists")
    actual = [facts for topic, facts in checks.cautions(result) if topic == "copied_lists"]
    if not copied:
        assert 0.01 < float(check["tail_probability"]) < 0.99
        assert not actual
        return
    assert float(check["tail_probability"]) < 0.01
    text, *_, remedy = sentences("copied_lists", actual[0])
    assert text.count("ann and bob gave") == 1
    assert f"{float(check['observed']):.2f}"[1:] in text
    assert "leave out" in remedy


def test_a_model_that_does_not_reproduce_first_labels_is_told():
    ann, pred = study(4, 0.0)
    result = dx.evaluate(
        ann, pred, draws=100, reliability=[1.0], concentration=30.0, companion=None, random_seed=1,
        progressbar=False,
    )  # fmt: skip
    (facts,) = [facts for topic, facts in checks.cautions(result) if topic == "first_labels"]
    text, *_, remedy = sentences("first_labels", facts)
    assert "probably too low" in text
    assert remedy.startswith("Leave out concentration=, and evaluate again")
    both = facts | {"settings": ["a=", "b="]}
    assert "<code>a=</code>, <code>b=</code>, and" in sentences("first_labels", both, page=True)[-1]
    assert "rank 1" in sentences("first_labels", facts | {"settings": []})[-1]


def test_lists_by_single_annotators_are_not_checked():
    ann = dx.from_rankings({i: {f"a{i}": [["x"], ["y"]]} for i in range(4)}, labels="xyz")
    quick = {"draws": 20, "companion": None, "random_seed": 1, "progressbar": False}
    assert "agreement_check" not in dx.evaluate(ann, **quick).children
    single = dx.from_rankings({i: {a: [["x"]] for a in "ab"} for i in range(4)}, labels="xyz")
    assert "agreement_check" not in dx.evaluate(single, **quick).children


@pytest.mark.long
def test_few_draws_make_few_replicates_and_many_at_most_400():
    ann, pred = study(4, 0.0, 20)
    for draws, chains, n in ((30, 2, 30), (500, 3, 133)):
        evaluation = dx.evaluate(ann, pred, draws=draws, chains=chains, reliability=[1.0],
                            companion=None, random_seed=1, progressbar=False)  # fmt: skip
        assert dict(evaluation["agreement_check"].sizes)["draw"] == n
        assert "from first labels" in evaluation.attrs["inference"]
