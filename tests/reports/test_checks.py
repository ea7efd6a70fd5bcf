"""Chains that are too short: loud where the reference is among them, a caution elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from reports.conftest import spoken

import dissensus as dx
from dissensus.cli.options import as_options
from dissensus.cli.tables import results
from dissensus.evaluation import doubts, scoring
from dissensus.reports import checks, design
from dissensus.reports.sentences import sentences


@pytest.fixture
def chains(two):
    """Return a function that puts given numbers of poor items, along reliability, into the main."""

    def build(*poor, prior=False):
        means = {"a": [0.8] * len(poor), "b": [0.6] * len(poor)}
        result = two(means, means)
        result.attrs["markov_chains"] = int(not prior)
        for side in (result, result["companion"]):  # chance r-hats of few draws are not the matter
            side["diagnostics"]["top_1_accuracy"].loc[{"diagnostic": "r_hat"}] = 1.0
        n = len(poor)
        data = {"ess_bulk_min": [400.0 - 30 * k for k in range(n)], "ess_bulk_median": [900.0] * n,
                "ess_bulk_min_item": ["i"] * n, "r_hat_max": [1.01 + 0.03 * k for k in range(n)],
                "r_hat_max_item": ["j"] * n, "n_items_poor": list(poor)}  # fmt: skip
        result["convergence"] = xr.Dataset(
            {name: ("reliability", values) for name, values in data.items()},
            coords={"reliability": result["metrics"]["reliability"]},
        )
        return result

    return build


def texts_of(topics):
    return [spoken(*topic) for topic in topics]


@pytest.mark.usefixtures("three_are_enough")
def test_all_is_well(chains):
    result = chains(0, 0)
    assert checks.troubles(result) == checks.cautions(result) == []
    out = " ".join(texts_of(checks.diagnosis(result)))
    assert (
        "Items at reliability 1: the plausibilities have at least 400 effective draws, 900" in out
    )
    assert "0 of 3 items have too few (below 100)" in out


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_poor_at_the_reference_is_trouble(chains, page):
    result = chains(2, 3)
    words = texts_of(checks.troubles(result))
    assert len(words) == 1
    assert words[0].startswith(
        "The chains of dirichlet are too short for 2 of 3 items at reliability 1 and 3 at 2: the "
        "smallest effective sample size is 370 (item i), and r-hat is up to 1.04."
    )
    parsed = page(result)
    assert "Do not rely on these numbers" in parsed.text
    assert "table-chains-0" in parsed.ids


@pytest.mark.usefixtures("three_are_enough")
def test_poor_elsewhere_is_a_caution(chains):
    result = chains(0, 1)
    assert checks.troubles(result) == []
    assert "for 1 of 3 items at reliability 2" in texts_of(checks.cautions(result))[0]


@pytest.mark.usefixtures("three_are_enough")
@pytest.mark.parametrize("poor", [(2, 3), (0, 1)])
def test_the_terminal_prints_every_warning_of_the_page(chains, poor):
    result = chains(*poor)
    result.attrs["prior_weight"] = 0.7
    warnings = texts_of(checks.troubles(result) + checks.cautions(result))
    assert len(warnings) == 2
    printed = " ".join(part for part in results(result) if isinstance(part, str))
    for warning in warnings:
        assert warning in printed.replace("\N{NO-BREAK SPACE}", " ")
    assert "A smaller prior (--prior-count)" in as_options(printed)


@pytest.mark.usefixtures("three_are_enough")
@pytest.mark.parametrize(("drift", "kind"), [(0.0, "fine"), (0.3, "rough"), (3.0, "trouble")])
def test_metrics_are_rough_before_they_are_not_to_be_relied_on(dictated, drift, kind):
    """The limits of `doubt` in summaries are those of troubles."""
    tree = dictated({"a": [0.8], "b": [0.6]})
    draws = tree["metrics"].to_dataset()
    ramp = xr.DataArray(np.linspace(-0.01, 0.01, draws.sizes["draw"]), dims="draw")
    draws["top_1_accuracy"] = (draws["top_1_accuracy"] + drift * ramp).transpose(
        *draws["top_1_accuracy"].dims
    )
    tree["metrics"], tree["diagnostics"] = draws, scoring.diagnostics(draws)
    assert [name for name, _ in checks.cautions(tree)] == ["rough"] * (kind == "rough")
    assert bool(checks.troubles(tree)) == (kind == "trouble")
    assert (dx.summary(tree)["doubt"] != "").any() == (kind == "trouble")


@pytest.mark.usefixtures("three_are_enough")
def test_without_errors_the_rate_that_they_may_have_is_said(dictated):
    """Three right answers: up to 1 - .05 ** (1/3) = .63 may be wrong."""
    (caution,) = checks.cautions(dictated({"a": [1.0], "b": [0.6]}, spread=0.0))
    assert spoken(*caution).startswith(
        "a agrees with the panel on every item, so intervals of this agreement for new items are "
        "too narrow: with no error in 3 items, an error rate of up to .63 is still plausible"
    )
    assert checks.cautions(dictated({"a": [0.9], "b": [0.6]}, spread=0.0)) == []


def test_units_are_those_that_systems_were_scored_on(dictated):
    """Not items without predictions; and clusters where there are any."""
    tree = dictated({"a": [0.9], "b": [0.6]})
    assert checks.sampled_units(tree)[1:] == (3, "items")
    tree["predictions"] = tree["predictions"].to_dataset().isel(item=[0, 2])
    assert checks.sampled_units(tree)[1:] == (2, "items")
    data = tree["annotations"].to_dataset()
    tree["annotations"] = data.assign(cluster_code=("item", [0, 1, 0]))
    assert checks.sampled_units(tree)[1:] == (1, "clusters")
    (caution,) = checks.cautions(tree)
    assert spoken(*caution).startswith("There is only 1 cluster: intervals for new items are too")


def with_more(result, **more):
    data = result["convergence"].to_dataset()
    return data.assign({name: ("reliability", [value] * 2) for name, value in more.items()})


def test_chains_of_a_learned_prior_are_not_of_items(chains):
    result = chains(2, 2, prior=True)
    (words,) = texts_of(checks.troubles(result))
    assert words == (
        "The chains of dirichlet are too short for 2 parameters of its learned prior: the smallest "
        "effective sample size is 400 (the worst parameter is i), and r-hat is up to 1.01. Do not "
        "rely on numbers of dirichlet; evaluate again with more draws."
    )
    assert doubts.of_metrics(result).startswith("chains of the learned prior too short: 400")
    assert checks.convergence_tables(result) == []
    assert "r-hat is at most 1.01 (limit 1.05): the chains are too short for 2" in (
        " ".join(texts_of(checks.diagnosis(result)))
    )
    result["convergence"] = with_more(result, ess_tail_min=40.0)
    assert "size is 40 (" in texts_of(checks.troubles(result))[0]
    out = " ".join(texts_of(checks.diagnosis(chains(0, 0, prior=True))))
    assert "The parameters of the learned prior have at least 400 effective draws" in out
    assert "of 3 items" not in out
    assert "too short" not in out


def test_a_learned_prior_beside_items_is_judged_too(chains):
    result = chains(0, 0)
    result["convergence"] = with_more(
        result, prior_n_items_poor=3, prior_ess_bulk_min=38.0, prior_ess_bulk_min_item="c"
    )
    (words,) = texts_of(checks.troubles(result))
    assert "too short for 3 parameters of its learned prior" in words
    assert "is 38 (the worst parameter is c). Do not rely on numbers of dirichlet" in words
    assert doubts.of_metrics(result) == "chains of the learned prior too short: 38 effective draws"
    assert "0 of 3 items have too few" in " ".join(texts_of(checks.diagnosis(result)))


def test_without_the_attribute_chains_are_of_items(chains):
    result = chains(2, 3)
    del result.attrs["markov_chains"]
    assert "2 of 3 items" in texts_of(checks.troubles(result))[0]


@pytest.mark.usefixtures("three_are_enough")
def test_one_chain_has_no_r_hat(chains):
    result = chains(0, 1)
    result["convergence"] = result["convergence"].to_dataset().drop_vars("r_hat_max")
    assert "r-hat" not in texts_of(checks.cautions(result))[0]
    assert "r-hat is at most" not in texts_of(checks.diagnosis(result))[0]


def test_trouble_of_the_companion_is_named(two):
    result = two({"a": [0.8]}, {"a": [0.8]})
    draws = result["companion/metrics"].to_dataset()
    draws["top_1_accuracy"][0, 0, 0, 0, 0] = float("nan")
    result["companion/metrics"] = draws
    assert texts_of(checks.troubles(result))[0].startswith("Under inverse_rank: 1 value of")


@pytest.mark.long
def test_labels_nobody_named_can_outweigh_the_others(rankings):
    options = {"draws": 50, "random_seed": 1, "progressbar": False, "reliability": (1,)}
    sparse = dx.evaluate(rankings[0], **options)
    assert checks.cautions(sparse) == []
    flat = dx.evaluate(rankings[0], concentration=20.0, **options)
    assert "Labels that no annotator gave have" in texts_of(checks.cautions(flat))[0]


def test_certain_labels_that_no_annotator_gave_are_named(evaluate):
    """The plausibility of one item is moved to a label that nobody gave it."""
    tree = evaluate().copy()
    data = tree["annotations"].to_dataset()
    assert "never_given" not in [topic for topic, _ in checks.cautions(tree)]
    item, label = data["item_code"].to_numpy(), data["label_code"].to_numpy()
    place, unsaid = next(
        (i, k) for i in range(data.sizes["item"]) for k in range(data.sizes["label"])
        if k not in label[item == i]
    )  # fmt: skip
    posterior, certainty = (tree[name].to_dataset() for name in ("posterior", "certainty"))
    posterior["plausibility"][{"item": place}] = 0.0
    posterior["plausibility"][{"item": place, "label": unsaid}] = 1.0
    certainty["annotation_certainty"][{"item": place}] = 1.0
    tree["posterior"], tree["certainty"] = posterior, certainty
    (facts,) = [facts for topic, facts in checks.cautions(tree) if topic == "never_given"]
    assert facts["names"] == repr(data["item"].to_numpy()[place].item())
    text = " ".join(texts_of([("never_given", facts)]))
    assert text.startswith(f"On 1 item ({facts['names']}) the leading label is certain, although")


def test_systems_made_from_the_annotations_are_named(evaluate):
    """One has all labels of an annotator, one the most frequent labels; others are neither."""
    rng = np.random.default_rng(4)
    truth = rng.integers(3, size=300)
    labels = np.where(rng.random((300, 5)) < 0.55, truth[:, None], rng.integers(3, size=(300, 5)))
    ann = dx.from_matrix(labels, kind="nominal")
    count = (labels[:, :, None] == np.arange(3)).sum(axis=1)
    answers = {
        "copy": labels[:, 2],
        "majority": count.argmax(axis=1),
        "oracle": truth,
        "other": np.where(rng.random(300) < 0.55, truth, rng.integers(3, size=300)),
    }
    table = {
        "item": np.tile(np.arange(300), 4),
        "system": np.repeat(list(answers), 300),
        "label": np.concatenate(list(answers.values())),
    }
    pred = dx.predictions(table, kind="nominal")
    tree = evaluate().copy()
    tree["annotations"], tree["predictions"] = xr.DataTree(ann), xr.DataTree(pred)
    result = [facts for topic, facts in checks._copies(tree)]
    assert [facts["system"] for facts in result] == ["copy", "majority"]
    first, second = (sentences("copies", facts)[0] for facts in result)
    assert "copy gives the label of annotator 2 on all" in first
    assert "majority gives the most frequent label on all" in second
    some = pred.isel(item=pred["item"].to_numpy() < 8)
    tree["predictions"] = xr.DataTree(some)
    assert checks._copies(tree) == []


def test_shared_errors_cannot_be_checked_without_known_labels(evaluate):
    result = evaluate()
    assert "no_known_truth" not in [topic for topic, _ in checks.cautions(result)]
    result["answers"].attrs["question"] = "truth"
    result["accuracy"] = xr.Dataset(attrs={"n_known": 0})
    (facts,) = [facts for topic, facts in checks.cautions(result) if topic == "no_known_truth"]
    said_, *_, remedy = sentences("no_known_truth", facts)
    assert said_.startswith("No true label is known")
    assert "20 to 40 items" in remedy
    result["accuracy"].attrs["n_known"] = 20
    assert "no_known_truth" not in [topic for topic, _ in checks.cautions(result)]


def test_spelling_comes_first():
    """Also columns that are no annotators, and labels of predictions that nobody could give."""
    rng = np.random.default_rng(1)
    labels = np.column_stack([rng.choice(["yes", "no", "Yes "], (30, 3)), np.tile(["a", "b"], 15)])
    ann = dx.from_matrix(labels, kind="nominal")
    pred = dx.predictions({"item": range(30), "system": ["s"] * 30, "label": ["yes", "NO"] * 15})
    lean = {"truth_model": None, "ground_truth": None, "components": None, "companion": None}
    with pytest.warns(dx.DissensusWarning):
        result = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False, **lean)
    topic, facts = checks.cautions(result)[0]
    *reason, remedy = sentences(topic, facts)
    words = " ".join(reason)
    assert topic == "spelling"
    assert "no label that others gave: 3 ('a', 'b')" in words
    assert "only in capitals or blanks (rows): 'Yes ' (" in words
    assert "which count as wrong: 15. 'NO' is 'no' except for capitals" in words
    assert remedy == "Correct the table, and evaluate again."
    fine = dx.evaluate(dx.from_matrix(np.char.strip(np.char.lower(labels[:, :3])), kind="nominal"),
                       draws=50, random_seed=1, progressbar=False, **lean)  # fmt: skip
    assert not design.spelling(fine)


@pytest.mark.long
def test_places_in_a_table_are_no_people(evaluated):
    """With places for annotators, human agreement is .0 to 1.0; with a name for each label, not."""
    labels = np.sort(np.random.default_rng(1).choice(["no", "yes"], (60, 4), p=[0.7, 0.3]))
    pred = dx.predictions({"item": range(60), "system": ["s"] * 60, "label": ["no", "yes"] * 30})
    item, place = np.indices(labels.shape).reshape(2, -1)
    width = []
    for name in (place, range(labels.size)):
        ann = dx.annotations({"item": item, "annotator": name, "label": labels.ravel()})
        result = evaluated(f"places {len(set(name))}", ann, pred, draws=100, truth_model=None,
                           components=None, companion=None)  # fmt: skip
        said_ = [facts for topic, facts in checks.cautions(result) if topic == "places"]
        assert said_ == ([{"n": np.sum(labels[:, 0] != labels[:, -1])}] if name is place else [])
        width.append(np.ptp(np.quantile(result["answers"]["human_agreement"], [0.055, 0.945])))
    assert width[0] > 3 * width[1]
    text, *_, remedy = sentences("places", {"n": 40})
    assert text.startswith("On all 40 items with different labels, the labels are sorted")
    assert 'frame["annotator"] = range(len(frame))' in remedy


@pytest.mark.parametrize(
    ("n", "wide", "cautious"),
    [(4, True, True), (5, True, False), (12, False, True), (13, False, False)],
)
def test_annotators_of_all_items_are_few(n, wide, cautious):
    """Where intervals of the panel allow for other annotators, only very few are cautioned of."""
    ann = dx.from_matrix(np.random.default_rng(1).integers(2, size=(30, n)), kind="nominal")
    pred = dx.predictions({"item": range(30), "system": ["s"] * 30, "label": [0, 1] * 15})
    evaluation = xr.DataTree.from_dict({
        "annotations": ann, "predictions": pred, "certainty": xr.Dataset({"of": 1}),
        "metrics": xr.Dataset({"top_1_accuracy": 1}, attrs={"new_annotators": 1} if wide else {}),
    })  # fmt: skip
    topics = design._few_people(evaluation)
    assert bool(topics) == cautious
    if cautious:
        text = " ".join(sentences(*topics[0]))
        said = "Intervals of the agreement with the panel allow for other annotators, who"
        assert (said in text) == wide
