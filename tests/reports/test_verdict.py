"""The first screen: its verdict, table, boxes and steps say what the draws say."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import one_truth
import pytest
import xarray as xr
from reports.conftest import spoken
from reports.test_sections import with_accuracy

import dissensus as dx
from dissensus import plots
from dissensus.dims import SAMPLE, SCOPES
from dissensus.evaluation import scoring
from dissensus.plots._source import interval
from dissensus.reports import (
    checks,
    evidence,
    items,
    next_steps,
    pictures,
    trust,
    two_models,
    verdict,
)
from dissensus.wording import digits_for, probability, share


def lead_of(evaluation):
    return verdict.lead(evaluation, evidence.numbers(evaluation))


def headline_of(evaluation):
    return spoken("headline", verdict.headline(evaluation, lead_of(evaluation)))


def boxes(evaluation):
    numbers = two_models.both(evaluation) if evaluation["metrics"].data_vars else []
    both = two_models.compared(evaluation, numbers).facts
    result = lead_of(evaluation) if numbers else None
    out = trust.boxes(evaluation, result, both, checks.checked(evaluation))
    for box in out:
        assert box.rule.endswith(".")
        assert bool(box.remedy) == (box.state != "fine")
    return out


def with_draws(evaluation, first, second, new=None):
    """Put draws of two systems into a dictated evaluation: those of new items apart."""
    tree = evaluation.copy()
    draws = np.stack([first, second], axis=-1)[None, :, None, None, :]
    further = draws if new is None else np.stack(new, axis=-1)[None, :, None, None, :]
    coords = {
        "chain": [0],
        "draw": range(len(first)),
        "reliability": [1.0],
        "scope": list(SCOPES),
        "system": ["a", "b"],
    }
    values = xr.DataArray(
        np.concatenate([draws, further], axis=3), coords,
        ("chain", "draw", "reliability", "scope", "system"), attrs={"better": "higher"},
    )  # fmt: skip
    tree["metrics"] = xr.Dataset({"top_1_accuracy": values})
    tree["comparison"] = scoring.comparison(tree["metrics"].to_dataset())
    return tree


@pytest.mark.usefixtures("three_are_enough")
@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (0.97, "a is the better of 2 systems: it agrees with the panel on .8"),
        (0.9, "a is probably the better of 2 systems: it agrees with the panel on .8"),
        (0.6, "It is not settled whether a or b is better. a agrees with the panel on .7"),
    ],
)
def test_the_verdict_is_as_sure_as_the_draws(dictated, ahead, words):
    still = np.full(1000, 0.7)
    first = np.where(np.arange(1000) < 1000 * ahead, 0.82, 0.69)
    tree = with_draws(dictated({"a": [0.8], "b": [0.7]}), first, still)
    text = headline_of(tree)
    assert text.startswith(words)
    who = "a" if ahead == 0.6 else "it"
    assert f"on new items {who} is better with probability {probability(ahead)}." in text
    low, high = (
        float(end.sel(scope=SCOPES[0], system="a")) for end in interval(lead_of(tree).draws)
    )
    d = lead_of(tree).digits
    assert f"(89 % interval for these items {share(low, d)} to {share(high, d)})" in text
    assert "The panel is a large number of annotators like these" in text


def test_of_several_close_systems_no_two_are_named(dictated):
    """The best of the first two would be the best of all with a probability of .6 only."""
    close = dictated({name: [0.7 + k / 1000] for k, name in enumerate("abcd")}, spread=0.02)
    result, text = lead_of(close), headline_of(close)
    best = dx.compare(result.draws.sel(scope=SCOPES[1]).rename("x"))["probability_best"]
    first, second = (float(best.sel(system=name)) for name in result.systems[:2])
    assert first + second < 0.95
    assert text.startswith("It is not settled which of 4 systems is the best. d agrees with")
    assert f"on new items d is the best with probability {probability(first)}." in text
    apart = dictated({"a": [0.8], "b": [0.79], "c": [0.6]}, spread=0.02)
    assert headline_of(apart).startswith(
        "The best of 3 systems is a or b, but it is not settled which"
    )


@pytest.mark.usefixtures("three_are_enough")
def test_a_single_system_and_systems_that_are_the_same(dictated):
    assert headline_of(dictated({"a": [0.8]}, names=["a"])).startswith(
        "a agrees with the panel on .800 of"
    )
    still = np.full(100, 0.7)
    text = headline_of(with_draws(dictated({"a": [0.8], "b": [0.7]}), still, still))
    assert text.startswith("a and b do equally well: each agrees with the panel on .70")


@pytest.mark.usefixtures("three_are_enough")
def test_smaller_is_better_where_it_is(dictated):
    tree = dictated({"a": [0.8], "b": [0.6]}, metric="expected_loss")
    tree["metrics"]["expected_loss"].attrs["better"] = "lower"
    tree["comparison"] = scoring.comparison(tree["metrics"].to_dataset())
    assert headline_of(tree).startswith(
        "b is the better of 2 systems: it has an expected loss of .600"
    )
    assert trust.more_items(lead_of(tree)) == 1.0  # it is settled


def test_the_table_has_the_numbers_of_the_draws(evaluate):
    result = evaluate()
    actual = lead_of(result)
    table = verdict.table(result, actual)
    assert len(table.head) <= 7
    frame = dx.summary(result)
    frame = frame[(frame["metric"] == "top_1_accuracy") & (frame["reliability"] == 1.0)]
    gap = result["answers"]["annotator_agreement"] - result["answers"]["human_agreement"]
    low, high = interval(gap)
    digits = digits_for((high - low).to_numpy())
    for name, mean, these, new, best, beside in table.bodies[0].rows:
        for scope, cell in zip(SCOPES, (these, new), strict=True):
            row = frame[(frame["system"] == name) & (frame["scope"] == scope)].iloc[0]
            assert (
                cell
                == f"{share(row['lower'], actual.digits)} to {share(row['upper'], actual.digits)}"
            )
            if scope == SCOPES[0]:
                assert mean == share(row["mean"], actual.digits)
            else:
                assert best == probability(row["probability_best"])
        draws = gap.sel(system=name)
        assert beside == " to ".join(share(float(end), digits) for end in interval(draws))
    assert [row[0] for row in table.bodies[0].rows] == actual.systems


@pytest.mark.long
def test_accuracy_leads_where_the_truth_is_asked_for():
    tree = one_truth.evaluated().copy()
    assert lead_of(tree).name == "top_1_accuracy"
    tree["answers"].attrs["question"] = "truth"
    if dx.evaluation.doubts.of_answer(tree, "accuracy"):  # of 60 draws
        tree["accuracy"].attrs |= {"ess_bulk_min": 400.0, "ess_tail_min": 400.0, "r_hat_max": 1.0}
    result = lead_of(tree)
    assert result.name == "accuracy"
    draws = tree["accuracy"]["estimated_accuracy"].sel(scope=SCOPES[0])
    best = draws.mean(("chain", "draw"))
    assert headline_of(tree).startswith(f"{result.systems[0]} is ")
    assert result.systems[0] == best["system"][int(np.argmax(best.data))].item()
    assert (
        f"gives the one true label for an estimated {share(float(best.max()), result.digits)}"
        in headline_of(tree)
    )
    table = verdict.table(tree, result)
    assert table.title == "Accuracy: how often the one true label is given"
    assert table.bodies[1].rows[0][0] == "An annotator"


@pytest.mark.long
def test_labels_of_rankings_are_compared_at_the_same_depth():
    """A system that lists more labels is not farther from those who list one: they agree."""
    statements = {"item": [1, 1, 2, 2, 3, 3], "annotator": list("ababab"), "label": list("xxyyxy")}
    rank = {"rank": [1] * 6}
    ann = dx.annotations({**statements, **rank}, rank="rank", kind="ranking", labels=list("xyz"))
    lists = {"item": np.repeat([1, 2, 3], 3), "system": ["m"] * 9, "label": list("xyzyxzxyz"),
             "rank": [1, 2, 3] * 3}  # fmt: skip
    pred = dx.predictions(lists, rank="rank")
    short = dx.predictions({"item": [1, 2, 3], "system": ["m"] * 3, "label": list("xyx")})
    ratios = [
        dx.evaluate(ann, system, draws=20, random_seed=1, progressbar=False)["discrepancy"]
        for system in (pred, short)
    ]
    assert ratios[0].attrs["depth"] == 1
    first, second = (ratio["discrepancy_ratio"].to_numpy() for ratio in ratios)
    np.testing.assert_allclose(first, second)
    whole = [float(dx.discrepancy_ratio(ann, system, "ranking")["discrepancy_ratio"][0])
             for system in (pred, short)]  # fmt: skip
    assert whole[0] == whole[1]  # annotators list one label, and lists are cut there


# Boxes and steps.


@pytest.mark.long
@pytest.mark.usefixtures("three_are_enough")
def test_more_items_is_where_the_probability_reaches_its_limit(dictated):
    """On as many items more, the same difference is 1.645 standard errors from 0."""
    rng = np.random.default_rng(1)
    gap = rng.normal(size=4000)
    gap = 0.02 + 0.02 * (gap - gap.mean()) / gap.std(ddof=1)
    base = np.full(4000, 0.7)
    tree = with_draws(dictated({"a": [0.8], "b": [0.7]}), base + 0.02, base, (base + gap, base))
    factor = trust.more_items(lead_of(tree))
    assert factor == pytest.approx(1.645**2, rel=0.05)
    assert float((0.02 + (gap - 0.02) / factor**0.5 > 0).mean()) == pytest.approx(0.95, abs=0.01)
    steps = next_steps.steps(tree, lead_of(tree), [])
    assert steps["more"] == f"{int(np.ceil(3 * (factor - 1)))} more items"
    assert boxes(tree)[-1].remedy == (
        f"If the difference is as estimated, about {steps['more']} like these would settle it."
    )
    close = with_draws(tree, base + 0.02, base, (base + gap - 0.018, base))
    assert trust.more_items(lead_of(close)) is None
    box = boxes(close)[-1]
    assert box.state == "careful"
    bound = share(float(np.quantile(np.abs(gap - 0.018), 0.95)))
    assert box.remedy == (
        f"The two systems differ by at most {bound} with probability .95: if this is too little to "
        "matter, choose the cheaper one. Otherwise get over 10 times as many items."
    )
    labels = with_draws(tree, base + gap - 0.018, base, (base + gap - 0.018, base))
    assert "get more labels for each item, or true labels" in boxes(labels)[-1].remedy


def test_from_a_few_items_nothing_is_extrapolated(dictated):
    """There are three; and their intervals for new items are too narrow."""
    still = np.full(1000, 0.7)
    first = np.where(np.arange(1000) < 900, 0.82, 0.69)
    tree = with_draws(dictated({"a": [0.8], "b": [0.7]}), first, still)
    *_, careful, settled = boxes(tree)
    assert careful.reason.startswith("There are only 3 items: intervals for new items are too")
    assert (careful.word, careful.remedy) == ("Careful", "Have 20 or more items labelled.")
    assert (settled.word, settled.remedy) == ("Careful", "Have more items labelled.")
    assert not next_steps.steps(tree, lead_of(tree), [])["more"]
    sure = with_draws(tree, still + 0.1, still)
    assert boxes(sure)[-1].word == "Careful"
    assert headline_of(sure).startswith("a is probably the better of 2 systems")
    same = with_draws(tree, still, still)
    assert boxes(same)[-1].word == "Careful"
    assert headline_of(same).startswith("It is not settled whether a or b is better.")
    facts = verdict.headline(sure, lead_of(sure))
    assert facts["beside"] in ("", "open")


@pytest.mark.long
@pytest.mark.usefixtures("three_are_enough")
def test_systems_that_are_the_same_are_best_only_if_no_other_is(dictated):
    still = np.full(1000, 0.7)
    same = with_draws(dictated({"a": [0.8], "b": [0.7]}), still, still)
    assert (boxes(same)[-1].word, boxes(same)[-1].reason) == ("Fine", "a and b do equally well.")
    third = dictated({"a": [0.8], "b": [0.8], "c": [0.799]}, spread=0.05)
    draws = third["metrics"].to_dataset()
    draws["top_1_accuracy"].loc[{"system": "b"}] = draws["top_1_accuracy"].sel(system="a")
    third["metrics"] = draws
    third["comparison"] = scoring.comparison(draws)
    assert lead_of(third).equal == []
    assert boxes(third)[-1].word == "Careful"
    assert "do equally well" not in headline_of(third)


@pytest.mark.usefixtures("three_are_enough")
def test_so_many_items_settle_which_of_several_is_best(dictated):
    """With five equal rivals each pair is settled long before the best is."""
    tree = dictated({"a": [0.8], **{name: [0.77] for name in "bcdef"}}, spread=0.01)
    result = lead_of(tree)
    factor = trust.more_items(result)
    gap = (result.draws.sel(scope=SCOPES[1], system="a") - result.draws.sel(scope=SCOPES[1])).isel(
        system=slice(1, None)
    )
    mean = gap.mean(("chain", "draw"))
    shrunk = mean + (gap - mean) / np.sqrt(factor)
    assert float((shrunk > 0).all("system").mean()) == pytest.approx(0.95, abs=0.01)
    assert factor > 1.645**2 * float((gap.std(("chain", "draw")) / mean).max()) ** 2


@pytest.mark.long
@pytest.mark.usefixtures("three_are_enough")
def test_boxes_say_what_is_wrong(dictated, evaluate):
    good = dictated({"a": [0.8], "b": [0.6]})
    assert [box.word for box in boxes(good)][1:] == ["Fine", "Fine"]
    short = evaluate(draws=20)
    box = boxes(short)[1]
    assert (box.word, box.reason[:3]) == ("Do not use", "No:")
    assert box.remedy == "Evaluate again with more draws."
    ann = dx.annotations({"item": [1, 2, 3], "annotator": list("abc"), "label": list("xyx")})
    alone = dx.evaluate(ann, draws=50, random_seed=1, progressbar=False)
    assert boxes(alone)[0].reason.startswith("No item has two annotators")
    votes = dx.from_matrix([["x", "y"]] * 8)  # they never agree
    never = dx.evaluate(votes, draws=50, random_seed=1, progressbar=False)
    assert boxes(never)[0].word == "Do not use"


def test_agreement_on_one_label_or_one_item_is_not_fine():
    def box(rows, **options):
        ann = dx.from_matrix(rows, **options)
        return trust._agreement(xr.DataTree.from_dict({"annotations": ann}), None)

    alike = box([["x", "x"]] * 8)
    assert (alike.word, alike.reason[:25]) == ("Careful", "Only one label was given:")
    assert "labels=" in alike.remedy
    assert "labels=" not in box([["x", "x"]] * 8, labels=["x", "y"]).remedy
    alone = box([["x", "y", "x"], ["y", None, None]])
    assert (alone.word, alone.reason[:34]) == ("Careful", "Only one item has several annotato")


@pytest.mark.long
def test_annotators_who_surely_differ_are_named_the_worst_first():
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=80)
    votes = np.stack([truth] * 4, axis=1)
    votes[rng.random(80) < 0.1, 2] = 2
    votes[:, 3] = rng.integers(3, size=80)  # guesses
    votes[::2, 2] = 0
    result = dx.evaluate(
        dx.from_matrix(votes.tolist()), draws=200, random_seed=1, progressbar=False
    )
    names = [name for name, _ in next_steps.differing(result)]
    ratio = result["discrepancy"]["annotator_discrepancy_ratio"]
    low = ratio.quantile(0.055, ("chain", "draw"))
    mean = ratio.mean(("chain", "draw")).where(low > 1, drop=True)
    assert names == mean.sortby(-mean)["annotator"].astype(str).values.tolist()
    assert len(names) >= 1


def test_items_are_the_least_certain(evaluate):
    result = evaluate()
    cards = items.cards(result, items.least_certain(result))
    shown = next_steps.steps(result, lead_of(result), cards)["items"]
    at = result.attrs["reference_reliability"]
    certainty = result["certainty"]["annotation_certainty"].sel(reliability=at)
    assert [value for _, _, value in shown] == [share(float(v)) for v in np.sort(certainty)[:10]]


@pytest.mark.long
def test_scores_are_on_one_side_of_the_threshold():
    rng = np.random.default_rng(1)
    score = rng.normal(size=30)
    table = {"item": np.repeat(range(30), 3), "annotator": [1, 2, 3] * 30,
             "label": np.repeat(score, 3) + rng.normal(scale=0.3, size=90)}  # fmt: skip
    pred = {"item": range(30), "system": ["m"] * 30, "label": score}
    result = dx.evaluate(
        dx.annotations(table), dx.predictions(pred, kind="continuous"), threshold=0.0, draws=150,
        random_seed=1, progressbar=False, components=None,
    )  # fmt: skip
    actual = lead_of(result)
    value = share(float(actual.numbers["mean"].sel(scope=SCOPES[0])[0]), actual.digits)
    start = f"m agrees with the panel on the side of the threshold for {value} of the items"
    assert headline_of(result).startswith(start)
    assert "times the distance between two annotators, on new items." in headline_of(result)
    table = verdict.table(result, actual)
    assert table.title.endswith("on the side of the threshold")
    assert "Discrepancy ratio, 89\N{NO-BREAK SPACE}%" in table.head


# The page.


def words(parsed):
    return " ".join(parsed.text.split()).replace("\N{NO-BREAK SPACE}", " ")


def test_the_first_picture_has_the_means_of_the_table(evaluate):
    result = evaluate()
    actual = lead_of(result)
    shown = pictures.lead(result, evidence.numbers(result), actual)
    rows = verdict.table(result, actual).bodies[0].rows
    assert ", ".join(f"{name} {mean}" for name, mean, *_ in rows) in shown.wide
    assert shown.title == "Agreement with the panel"
    assert "At reliability 1 (how much one annotation counts, a setting and not an estimate)" in (
        shown.caption
    )


@pytest.mark.long
def test_the_first_picture_of_accuracies_has_the_means_of_the_table():
    tree = one_truth.evaluated().copy()
    tree["answers"].attrs["question"] = "truth"
    tree["accuracy"].attrs |= {"ess_bulk_min": 400.0, "ess_tail_min": 400.0, "r_hat_max": 1.0}
    result = lead_of(tree)
    assert result.name == "accuracy"
    shown = pictures.lead(tree, evidence.numbers(tree), result)
    systems, (person,) = (body.rows for body in verdict.table(tree, result).bodies)
    assert ", ".join(f"{name} {mean}" for name, mean, *_ in systems) in shown.wide
    assert f"Broken line with a band: an annotator, {person[1]} ({person[3]})." in shown.caption
    assert ">an annotator<" in shown.wide
    made = plots.forest(
        tree["accuracy"].to_dataset()["estimated_accuracy"].rename("accuracy"), backend="matplotlib"
    )
    for name, mean, *_ in systems:
        dot = made.viz["point_estimate"]["accuracy"].sel(system=name).item()
        assert share(float(dot.get_offsets()[0][0]), result.digits) == mean
    plt.close("all")


@pytest.mark.usefixtures("no_pictures")
def test_a_word_is_defined_where_it_first_occurs(evaluate, page):
    text = words(page(evaluate()))
    assert "top-1 accuracy" not in text.split("How do the systems compare")[0]
    assert "uncertainty-adjusted" not in text
    first = text.index("the panel")
    assert 0 < text.index("The panel is a large number of annotators like these") - first < 400


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_another_first_by_agreement_with_the_panel_is_named():
    tree = one_truth.evaluated().copy()
    answers = tree["answers"].to_dataset()
    names = answers["system"].to_numpy()
    answers = answers.sel(system=names)
    answers["panel_agreement"] = answers["panel_agreement"].copy(
        data=np.broadcast_to(np.where(names == names[-1], 0.99, 0.5), answers["accuracy"].shape)
    )
    last = xr.where(answers["system"] == names[-1], 0.1, 0.9)
    answers["accuracy"] = last.broadcast_like(answers["accuracy"]).transpose(*SAMPLE, "system")
    tree["answers"] = answers.assign_attrs(question="truth")
    tree["accuracy"].attrs |= {"ess_bulk_min": 400.0, "ess_tail_min": 400.0, "r_hat_max": 1.0}
    facts = verdict.headline(tree, lead_of(tree))
    assert facts["other"] == {"name": names[-1], "shares": [".99", ".50"]}
    assert f"annotators would give), {names[-1]} is first (.99 against .50)." in headline_of(tree)


@pytest.mark.usefixtures("no_pictures")
def test_a_page_without_systems_asks_nothing_of_them(evaluate, page):
    parsed = page(evaluate(predictions=False))
    assert "ystem" not in parsed.text.split("Which data and model were used")[0]
    assert "Broken line: .90, below which the leading label is called uncertain." in words(parsed)


def test_a_line_marks_the_limit_of_certainty(evaluate):
    figure = pictures._certainty_with_limit(evaluate(predictions=False))
    assert [0.9, 0.9] in [list(line.get_ydata()) for line in figure.axes[0].lines]
    plt.close(figure)


@pytest.mark.usefixtures("no_pictures")
def test_nothing_is_computed_twice(two, page, monkeypatch):
    calls = []

    def count(module, name):
        function = getattr(module, name)

        def counted(*given):
            calls.append(name)
            return function(*given)

        monkeypatch.setattr(module, name, counted)

    for module, name in (
        (two_models, "items"), (two_models, "facts"), (checks, "troubles"), (checks, "cautions"),
    ):  # fmt: skip
        count(module, name)
    page(two({"a": [0.8], "b": [0.6]}, {"a": [0.8], "b": [0.6]}))
    assert sorted(calls) == ["cautions", "facts", "items", "troubles"]


@pytest.mark.long
def test_known_labels_are_asked_for_where_they_narrow_the_interval(evaluate):
    tree = with_accuracy(evaluate(truth_model=None), names=["A", "B"], n_known=30)
    assert next_steps.known_labels(tree) == {}  # it is narrow enough
    data = tree["accuracy"].to_dataset()
    wide = 100 * (data["estimated_accuracy"] - data["estimated_accuracy"].mean(SAMPLE))
    data["estimated_accuracy"] = data["estimated_accuracy"].mean(SAMPLE) + wide
    tree["accuracy"] = data
    low, high = interval(data["estimated_accuracy"].sel(system="A", scope=SCOPES[0]))
    assert next_steps.known_labels(tree) == {
        "n": "50 more items", "known": "30 items", "name": "A", "now": share(float(high - low)),
        "width": ".10", "of_panel": True,
    }  # fmt: skip


@pytest.mark.long
def test_items_with_known_truth_need_no_second_look():
    """Annotators of three labels are split, and the truth of 20 of 30 items is known."""
    rng = np.random.default_rng(1)
    right, wrong = rng.choice(list("xyz"), 30), rng.choice(list("xyz"), (30, 4))
    labels = np.where(rng.random((30, 4)) < 0.5, right[:, None], wrong)
    table = {"item": np.repeat(range(30), 4), "annotator": list("abcd") * 30,
             "label": labels.ravel()}  # fmt: skip
    pred = {"item": range(30), "system": ["m"] * 30,
            "label": np.where(rng.random(30) < 0.7, right, "x")}  # fmt: skip
    truth = dict(enumerate(right.tolist()))

    def evaluated(known):
        result = dx.evaluate(
            dx.annotations(table), dx.predictions(pred), truth=known, question="truth", draws=150,
            random_seed=1, progressbar=False, components=None,
        )  # fmt: skip
        actual = lead_of(result)
        assert actual.name == "accuracy"
        cards = items.cards(result, items.least_certain(result))
        return next_steps.steps(result, actual, cards), boxes(result)[0]

    steps, agreement = evaluated({item: truth[item] for item in range(20)})
    assert {int(name) for _, name, _ in steps["items"]} <= set(range(20, 30))
    assert agreement.remedy.startswith("Have the uncertain items labelled")
    steps, agreement = evaluated(truth)
    assert steps["items"] == []
    assert agreement.remedy.endswith("all true labels are known.")
