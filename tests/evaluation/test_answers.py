"""The three numbers that people call accuracy, in the group ``answers`` of an evaluation."""

from __future__ import annotations

from itertools import permutations

import lean
import numpy as np
import pytest
import xarray as xr
from scipy.stats import beta

import dissensus as dx
from dissensus.cli.tables import results
from dissensus.evaluation.answers import (
    agreements,
    deviations,
    question_of,
    votes_of,
    with_answers,
)
from dissensus.reports import evidence, opening, verdict
from dissensus.reports.sentences import sentences
from dissensus.wording import share

SAMPLE = ("chain", "draw")
LEAN = {**lean.LEAN, "reliability": (1.0,)}
RUN = {"draws": 200, "random_seed": 1, "progressbar": False}


def headline(result):
    actual = verdict.lead(result, evidence.numbers(result))
    return sentences("headline", verdict.headline(result, actual))


@pytest.fixture
def ann():
    rows = [(1, "x"), (1, "x"), (1, "y"), (2, "y"), (2, "z"), (3, "z"), (4, "x"), (4, "x")]
    table = {"item": [i for i, _ in rows], "label": [label for _, label in rows]}
    return dx.annotations(table | {"annotator": range(8)})


@pytest.fixture
def pred():
    table = {"item": [4, 3, 2, 1] * 2, "system": list("ssssrrrr"), "label": list("xzzxyyyy")}
    return dx.predictions(table)


def by_hand(rows, answer, weight):
    """Go through all labels, and through all ordered pairs of an item's annotators."""
    agreed = sum(weight[i] * (answer[i] == label) for i, label in rows)
    total = sum(weight[i] for i, _ in rows)
    same = pairs = 0.0
    for item in sorted({i for i, _ in rows}):
        mine = [label for i, label in rows if i == item]
        if len(mine) > 1:
            alike = [first == second for first, second in permutations(mine, 2)]
            same += weight[item] * len(mine) * np.mean(alike)
            pairs += weight[item] * len(mine)
    return agreed / total, same / pairs


def rows_of(ann):
    items, labels = ann["item"].to_numpy(), ann["label"].to_numpy()
    codes = zip(ann["item_code"].to_numpy(), ann["label_code"].to_numpy(), strict=True)
    return [(items[i], labels[k]) for i, k in codes]


def test_the_middle_is_what_counting_gives(ann, pred):
    people, systems = agreements(
        votes_of(ann, pred), 40_000, np.random.default_rng(1), new_items=False
    )
    weight = dict.fromkeys((1, 2, 3, 4), 1.0)
    for place, answer in enumerate(({1: "x", 2: "z", 3: "z", 4: "x"}, dict.fromkeys(weight, "y"))):
        share, pairs = by_hand(rows_of(ann), answer, weight)
        assert np.median(systems[:, place]) == pytest.approx(share, abs=0.01)
        assert np.median(people) == pytest.approx(pairs, abs=0.01)
    assert people.min() == 0.0
    assert people.max() == 1.0


def test_of_new_items_items_are_drawn(ann, pred):
    """Each draw is what counting gives with weights of items, as no annotator is known again."""

    class Weights:
        def standard_exponential(self, shape):
            assert shape == (1, 4)
            return np.array([[0.5, 2.0, 1.0, 3.0]])

        def standard_normal(self, shape):
            return np.zeros(shape)

        def random(self, n):
            return np.full(n, 0.5)

    people, systems = agreements(votes_of(ann, pred), 1, Weights(), new_items=True)
    weight = dict(zip((1, 2, 3, 4), (0.5, 2.0, 1.0, 3.0), strict=True))
    share, pairs = by_hand(rows_of(ann), {1: "x", 2: "z", 3: "z", 4: "x"}, weight)
    assert systems[0, 0] == pytest.approx(share)
    assert people[0] == pytest.approx(pairs)


def test_new_items_come_in_their_clusters():
    rows = [(i, a, "x" if i < 24 else "xy"[a % 2], i // 6) for i in range(48) for a in range(4)]
    table = dict(
        zip(("item", "annotator", "label", "patient"), zip(*rows, strict=True), strict=True)
    )
    table["annotator"] = range(len(rows))
    both = [
        agreements(votes_of(dx.annotations(table, cluster=cluster), None), 4000,
                   np.random.default_rng(1), new_items=True)[0].std()
        for cluster in (None, "patient")
    ]  # fmt: skip
    assert both[1] / both[0] == pytest.approx(np.sqrt(6), rel=0.1)  # alike within a cluster


def test_deviations_are_the_jackknife():
    """Of items with three votes or more: what leaving out one vote changes, item by item."""
    rng = np.random.default_rng(3)
    size = np.array([3, 4, 6])
    rows = [(i, int(rng.integers(3))) for i, m in enumerate(size) for _ in range(m)]
    item, label = zip(*rows, strict=True)
    ann = dx.annotations({"item": item, "annotator": range(13), "label": label}, kind="nominal")
    pred = dx.predictions({"item": [0, 1, 2], "system": ["s"] * 3, "label": [0, 1, 0]},
                          kind="nominal")  # fmt: skip
    votes = votes_of(ann, pred)
    actual = deviations(votes)

    def of_item(labels, answer):
        right = np.mean([label == answer for label in labels])
        return np.array([right, np.mean([a == b for a, b in permutations(labels, 2)])])

    for i, m in enumerate(size):
        mine = [label for at, label in rows if at == i]
        whole = of_item(mine, [0, 1, 0][i])
        without = [of_item(mine[:j] + mine[j + 1 :], [0, 1, 0][i]) for j in range(m)]
        variance = (m - 1) / m * ((np.array(without) - np.mean(without, axis=0)) ** 2).sum(axis=0)
        own = actual[votes.item == i] * size.sum() / m
        np.testing.assert_allclose((own**2).sum(axis=0), variance, atol=1e-12)
        np.testing.assert_allclose(votes.of_pairs()[i], whole[1])


def study(rng, n_items, n_labels, n_annotators=None, skill=0.0):
    """Labels of annotators, a system's, and the agreement of a new annotator with it and another.

    Annotators say a label with a probability that is the item's to the power of their skill.
    """
    of_item = rng.dirichlet([0.6] * 3, n_items)
    answer = np.where(
        rng.random(n_items) < 0.8, of_item.argmax(axis=1), rng.integers(3, size=n_items)
    )
    n_people = n_annotators or n_items * n_labels
    who = np.arange(n_items * n_labels).reshape(n_items, -1)
    if n_annotators:
        who = np.stack([rng.permutation(n_people)[:n_labels] for _ in range(n_items)])
    power = np.exp(rng.normal(0, skill, n_people))
    says = of_item[:, None] ** power[who][..., None]
    says /= says.sum(axis=-1, keepdims=True)
    label = (rng.random((n_items, n_labels, 1)) > says.cumsum(axis=-1)).sum(axis=-1).clip(0, 2)
    panel = of_item[:, None] ** np.exp(np.random.default_rng(9).normal(0, skill, 400))[:, None]
    panel = (panel / panel.sum(axis=-1, keepdims=True)).mean(axis=1)
    truth = np.array([panel[np.arange(n_items), answer].mean(), (panel**2).sum(axis=-1).mean()])
    ann = dx.annotations({
        "item": np.repeat(np.arange(n_items), n_labels), "annotator": who.ravel(),
        "label": label.ravel(),
    }, kind="nominal", labels=[0, 1, 2])  # fmt: skip
    pred = dx.predictions({"item": range(n_items), "system": ["s"] * n_items, "label": answer},
                          kind="nominal")  # fmt: skip
    return votes_of(ann, pred), truth


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [
        (100, 2), (100, 3), (100, 3, 40, 0.6), (200, 4, 8, 0.6), (200, 3, 3, 0.6),
    ],
)  # fmt: skip
def test_intervals_for_these_items_contain_what_new_annotators_would_say(settings):
    """Two labels an item, annotators who differ, few annotators: 89 % intervals hold .85 or more.

    The Bayesian bootstrap within items held .00 of human agreement with two labels, .68 with three.
    """
    n, held = 80, np.zeros(3)
    for seed in range(n):
        rng = np.random.default_rng([seed, *map(int, settings)])
        votes, (right, alike) = study(rng, *settings)
        people, systems = agreements(votes, 400, rng, new_items=False)
        system = systems[:, 0]
        for k, (draws, true) in enumerate(
            ((system, right), (people, alike), (system - people, right - alike))
        ):
            low, high = np.quantile(draws, [0.055, 0.945])
            held[k] += low <= true <= high
    assert (held / n > 0.82).all(), held / n  # .85 less a standard error


def test_ties_in_first_place_count_in_part():
    lists = {1: [[["a", "b"], ["c"]], [["a"]]], 2: [[["c"]]]}
    ann = dx.from_rankings({i: dict(enumerate(many)) for i, many in lists.items()})
    table = {"item": [1, 2], "system": ["s", "s"], "label": ["a", "c"]}
    votes = votes_of(ann, dx.predictions(table))
    assert votes.agrees[:, 0].tolist() == [0.5, 1.0, 1.0]
    people, _ = agreements(votes, 4000, np.random.default_rng(1), new_items=False)
    assert np.median(people) == pytest.approx(0.5, abs=0.05)  # of the only pair


@pytest.mark.parametrize("new_items", [False, True])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_labels_that_are_all_alike_do_not_exclude_others(n_labels, new_items):
    """Limits by Jeffreys' interval: no vote of n deviates, and the prior is Beta(1/2, 1/2)."""
    n_items = 50
    ann = dx.annotations({
        "item": np.repeat(np.arange(n_items), n_labels), "label": ["x"] * n_items * n_labels,
        "annotator": np.arange(n_items * n_labels) % 10,
    }, kind="nominal", labels=["x", "y"])  # fmt: skip
    pred = dx.predictions({"item": [*range(n_items)] * 2, "label": [*"x" * n_items, *"y" * n_items],
                           "system": [*"r" * n_items, *"s" * n_items]})  # fmt: skip
    rng, n = np.random.default_rng(1), n_items * n_labels
    people, systems = agreements(votes_of(ann, pred), 20_000, rng, new_items=new_items)
    limit, of_units = (beta(0.5, x + 0.5).ppf(0.945) for x in (n, n_items if new_items else n))
    low, high = np.quantile(np.column_stack([systems, people]), [0.055, 0.945], axis=0)
    np.testing.assert_allclose(low, [1 - of_units, 0, 1 - 2 * limit], rtol=0.03, atol=1e-3)
    np.testing.assert_allclose(high, [1, of_units, 1], rtol=0.03)


@pytest.mark.long
@pytest.mark.parametrize("new_items", [False, True])
def test_intervals_where_labels_hardly_differ_contain_the_agreement_of_people(new_items):
    """One label of a hundred is an error: .77 and .74 of the intervals held before."""
    right, n = 0.99, 60
    held = np.zeros(2)
    for seed in range(n):
        rng = np.random.default_rng([seed, 7])
        truth = rng.random(50) < 0.03
        label = truth[:, None] ^ (rng.random((50, 2)) > right)
        ann = dx.annotations({
            "item": np.repeat(np.arange(50), 2), "label": label.ravel().astype(int),
            "annotator": np.arange(100) % 20,
        }, kind="nominal", labels=[0, 1])  # fmt: skip
        pred = dx.predictions({"item": range(50), "system": ["s"] * 50, "label": truth.astype(int)})
        people, systems = agreements(votes_of(ann, pred), 500, rng, new_items=new_items)
        for k, (draws, true) in enumerate(
            ((people, right**2 + (1 - right) ** 2), (systems, right))
        ):
            low, high = np.quantile(draws, [0.055, 0.945])
            held[k] += low <= true <= high
    assert (held / n > 0.85).all(), held / n


def test_one_pair_of_annotators_for_all_items_leaves_the_items_to_vary():
    label = np.array([list("xx"), list("xy")] * 20).ravel()
    table = {"item": np.repeat(np.arange(40), 2), "annotator": list("ab") * 40, "label": label}
    votes = votes_of(dx.annotations(table), None)
    people, _ = agreements(votes, 4000, np.random.default_rng(1), new_items=False)
    assert people.std() == pytest.approx(np.sqrt(0.25 / 40), rel=0.1)


def test_nobody_to_agree_with_is_undefined():
    ann = dx.annotations({"item": [1, 2], "annotator": ["a", "b"], "label": ["x", "y"]})
    people, systems = agreements(votes_of(ann, None), 3, np.random.default_rng(1), new_items=False)
    assert np.isnan(people).all()
    assert systems.shape == (3, 1)


@pytest.mark.long
def test_an_evaluation_has_them_and_says_which_leads():
    study = dx.simulate.confusion_study(
        150, 4, 3, ipc=0.8, system_accuracy=[0.9, 0.6], random_seed=1
    )
    ann, pred = study.annotations, study.predictions
    settings = RUN | LEAN | {"truth_model": "symmetric_confusion"}
    result = dx.evaluate(ann, pred, **settings)
    answers = result["answers"].to_dataset()
    assert list(answers.data_vars) == [
        "annotator_agreement", "panel_agreement", "accuracy", "human_agreement",
    ]  # fmt: skip
    for name, values in answers.data_vars.items():
        system = () if name == "human_agreement" else ("system",)
        assert values.dims == (*SAMPLE, *system)
    assert answers.attrs["question"] == "panel"
    assert "most of a large panel" in answers.attrs["in_words"]
    table = dx.summary(result, "answers")
    assert table["quantity"].tolist() == [
        *("annotator_agreement",) * 2, *("panel_agreement",) * 2, *("accuracy",) * 2,
        "human_agreement",
    ]  # fmt: skip
    means = [float(answers[row.quantity].mean()) if row.quantity == "human_agreement"
             else float(answers[row.quantity].sel(system=row.system).mean())
             for row in table.itertuples()]  # fmt: skip
    np.testing.assert_allclose(table["mean"].astype(float), means)
    assert table.attrs["question"] == "panel"
    right = result["accuracy"]["estimated_accuracy"].sel(scope="these items", drop=True)
    xr.testing.assert_equal(answers["accuracy"], right.drop_attrs().reset_coords(drop=True))


def test_systems_and_scopes_go_by_name(ann, pred):
    groups = {"annotations": ann, "predictions": pred}
    rng, numbers = np.random.default_rng(1), {"chain": [0, 1], "draw": range(6)}
    scopes = {"scope": ["these items", "new items"]}
    draws = xr.DataArray(
        rng.random((2, 6, 3, 2, 2)), numbers | {"reliability": [1.0, 2.0, 4.0]} | scopes
        | {"system": ["r", "s"]}, (*SAMPLE, "reliability", "scope", "system"),
    )  # fmt: skip
    groups["metrics"] = draws.to_dataset(name="top_1_accuracy")
    turned = draws.isel(reliability=0, drop=True, draw=slice(3)).sel(system=["s", "r"]) + 1
    groups["accuracy"] = turned.to_dataset(name="estimated_accuracy")
    for new, scope in enumerate(scopes["scope"]):
        actual = with_answers(
            groups, "truth", new_items=bool(new), random_seed=1, reference=2.0, shape=(1, 1),
            truth_model="dawid_skene",
        )["answers"]  # fmt: skip
        assert actual.attrs["scope"] == scope
        panel = draws.sel(reliability=2.0, scope=scope).isel(draw=[0, 2, 5])
        for s in ("r", "s"):
            agreement, want = actual["panel_agreement"].sel(system=s), panel.sel(system=s)
            np.testing.assert_array_equal(agreement, want)
            want = turned.sel(scope=scope, system=s)
            np.testing.assert_array_equal(actual["accuracy"].sel(system=s), want)


@pytest.mark.long
def test_known_labels_let_the_truth_lead_the_page_and_the_terminal():
    study = dx.simulate.confusion_study(80, 4, 3, system_accuracy=[0.9, 0.6], random_seed=1)
    truth = study.truth["truth_label"].to_series().iloc[:25]
    settings = RUN | LEAN | {"truth_model": "symmetric_confusion"}
    result = dx.evaluate(study.annotations, study.predictions, truth=truth, **settings)
    answers = result["answers"].to_dataset()
    assert answers.attrs["question"] == "truth"
    lines = headline(result)
    first, second = (answers["accuracy"].sel(system=f"system {name}") for name in "AB")
    low, high = first.quantile([0.055, 0.945]).to_numpy()
    level = "89\N{NO-BREAK SPACE}% interval for these items"
    held = f"{share(float(first.mean()))} of the items ({level} {share(low)} to {share(high)})"
    start = (
        f"system A is the better of 2 systems: it gives the one true label for an estimated {held}"
    )
    assert lines[0].startswith(f"{start}, system B for {share(float(second.mean()))}; on new items")
    accuracy = result["accuracy"].to_dataset()
    own = accuracy["estimated_accuracy"].sel(system="system A", scope="new items")
    gap = own - accuracy["annotator_accuracy"].mean("annotator")
    assert f"the difference in accuracy is {share(float(gap.mean()))} (" in lines[1]
    assert any(str(part).startswith(start) for part in results(result))
    result["answers"].attrs["question"] = "panel"
    assert "agrees with the panel" in headline(result)[0]
    result["answers"].attrs["question"] = "truth"
    result["accuracy"].attrs.update(n_items_poor=1, ess_bulk_min=7.0, r_hat_max=1.9)
    lines = headline(result)
    assert "agrees with the panel" in lines[0]
    line = lines[-1]
    assert line.startswith("Accuracy against the one true label is not reliable (chains too short")
    assert line.endswith("agreement with a large panel leads.")


@pytest.mark.long
def test_without_a_fit_of_the_truth_there_is_no_accuracy_and_the_panel_leads(ann, pred):
    result = dx.evaluate(ann, pred, question="truth", **RUN, **LEAN)
    answers, metrics = result["answers"].to_dataset(), result["metrics"]["top_1_accuracy"]
    assert "accuracy" not in answers
    assert answers.attrs["question"] == "panel"
    assert "most of a large panel" in answers.attrs["in_words"]
    text = (
        "Accuracy against the one true label could not be estimated (not asked for): agreement "
        "with a large panel leads."
    )
    assert headline(result)[-1] == text
    assert any(text in str(part) for part in results(result))
    of_new = dx.evaluate(ann, pred, new_items=True, **RUN, **LEAN)["answers"].to_dataset()
    for actual, scope in ((answers, "these items"), (of_new, "new items")):
        want = metrics.sel(reliability=1.0, scope=scope, drop=True)
        np.testing.assert_array_equal(actual["panel_agreement"], want)
        assert actual.attrs["scope"] == scope
    assert (of_new.std(SAMPLE) > 0).all()
    alone = dx.evaluate(ann, chains=2, **RUN, **LEAN)["answers"].to_dataset()
    assert list(alone.data_vars) == ["human_agreement"]
    assert alone["human_agreement"].shape == (2, 200)


def test_the_question_follows_from_what_is_known():
    assert question_of(None, 0) == "panel"
    assert question_of(None, 1) == "truth"
    assert question_of("panel", 1) == "panel"
    with pytest.raises(dx.ArgumentError, match="question: expected 'panel' or 'truth' or None"):
        question_of("both", 0)
    with pytest.raises(dx.ArgumentError, match="new_items"):
        dx.evaluate(dx.annotations({"item": [1], "annotator": [1], "label": ["x"]}), new_items=1)


@pytest.mark.long
def test_the_page_says_all_three_of_the_leading_system():
    study = dx.simulate.confusion_study(80, 4, 3, system_accuracy=[0.9, 0.6], random_seed=1)
    result = dx.evaluate(study.annotations, study.predictions, **RUN, **LEAN)
    text = " ".join(sentences("answers", opening.answers(result, "system A")))
    answers = result["answers"].to_dataset().sel(system="system A")
    low, high = answers["panel_agreement"].quantile([0.055, 0.945]).to_numpy()
    for value in (answers["annotator_agreement"].mean(), answers["human_agreement"].mean()):
        assert f"on {share(float(value))}" in text
    assert f"({share(low)} to {share(high)})" in text
    assert "one true label" not in text
    alone = dx.evaluate(study.annotations, **RUN, **LEAN)
    assert opening.answers(alone, "system A") == {}


def test_items_without_predictions_are_no_disagreement(ann, pred):
    """Two annotators and a system are compared on the items that the system answered."""
    some = pred.isel(item=pred["item"].to_numpy() != 1)
    rest = dx.annotations({
        "item": [2, 2, 3, 4, 4], "annotator": [4, 5, 6, 7, 8], "label": list("yzzxx")
    })  # fmt: skip
    rng = [np.random.default_rng(1) for _ in range(2)]
    for new in (False, True):
        first = agreements(votes_of(ann, some), 50, rng[0], new_items=new)
        other = agreements(votes_of(rest, some), 50, rng[1], new_items=new)
        for a, b in zip(first, other, strict=True):
            np.testing.assert_allclose(a, b)


def test_agreement_by_items_is_said_where_labels_are_many_on_some():
    """90 items with 3 labels x, 10 with 20 of which half are x: by items .95, by labels .787."""
    rows = [(i, k, "x") for i in range(90) for k in range(3)]
    rows += [(i, k, "xy"[k % 2]) for i in range(90, 100) for k in range(20)]
    item, annotator, label = zip(*rows, strict=True)
    ann = dx.annotations({"item": item, "annotator": annotator, "label": label})
    pred = dx.predictions({"item": range(100), "system": ["m"] * 100, "label": ["x"] * 100})
    result = dx.evaluate(ann, pred, **RUN, **LEAN)
    with_annotator, with_panel = sentences("answers", opening.answers(result, "m"))
    assert "on .79 of these items (.95 if each item, not each label, counts once)" in with_annotator
    assert with_panel.endswith(" of these items.")
    even = dx.annotations({"item": item[:270], "annotator": annotator[:270], "label": label[:270]})
    result = dx.evaluate(even, pred.isel(item=slice(90)), **RUN, **LEAN)
    assert opening.answers(result, "m")["by_items"] is None
