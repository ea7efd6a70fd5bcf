"""Lehner's algebra: his worked example, the definition in plain Python, and known accuracies."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from small_studies import study

import dissensus as dx
from dissensus.kernels.formulas import Answers, binned_answers
from dissensus.kernels.votes import votes

# Lehner's worked example ----------------------------------------------------------------------


@pytest.fixture
def worked():
    data = dx.datasets.load("lehner_table2")
    return dx.lehner(data.annotations, data.predictions)


def test_the_worked_example_has_the_accuracy_and_base_rates_of_the_text(worked):
    """Lehner (2015), Eq. 2 and 5: 20 of 60 pairs agree, P_c = .5, .325/.25/.25/.175."""
    assert float(worked["agreement"]) == pytest.approx(20 / 60, abs=1e-15)
    assert float(worked["annotator_accuracy"]) == pytest.approx(0.5, abs=1e-15)
    np.testing.assert_allclose(worked["prevalence"], [0.325, 0.25, 0.25, 0.175], rtol=1e-14)


def test_the_worked_example_has_the_truth_of_table_3(worked):
    """Lehner (2015), Table 3, to its last digit."""
    printed = """
        .041 .032 .860 .067   .084 .195 .584 .136   .041 .032 .860 .067   .074 .511 .057 .358
        .120 .828 .031 .021   .325 .250 .250 .175   .975 .009 .009 .006   .325 .250 .250 .175
        .657 .169 .056 .118   .657 .169 .056 .118
    """
    expected = np.array(printed.split(), dtype=float).reshape(10, 4)
    np.testing.assert_array_equal(worked["truth"].values.round(3), expected)
    assert worked["truth"].dims == ("item", "label")
    assert worked["item"].values.tolist() == list(range(1, 11))


def test_the_worked_example_has_the_bins_of_table_4_put_right(worked):
    """Lehner (2015), Table 4, with three slips put right.

    Printed are .776 in the bin .8-.9 for .771 = (3 (2/3) - 1 + .849) / (4 (.849) - 1); the name
    .2-.3 for .3-.4, as .325 is the probability; and agreement .333 (accuracy .452) in .5-.6, where
    the system gives the leading label in both cases 2 and 4 of Table 3. The average is as printed.
    """
    bins = worked["bins"].sel(system="system")
    names = bins["bin"].values.tolist()
    assert names == [f"(0.{n}, {(n + 1) / 10}]" for n in range(9, -1, -1)]
    filled = {
        "(0.9, 1.0]": [0.975, 1, 1.000, 1.000],
        "(0.8, 0.9]": [0.849, 3, 0.667, 0.771],
        "(0.6, 0.7]": [0.657, 2, 0.000, 0.000],
        "(0.5, 0.6]": [0.548, 2, 1.000, 1.000],
        "(0.3, 0.4]": [0.325, 2, 0.500, 1.000],
    }
    for name in names:
        expected = filled.get(name, [np.nan, 0, np.nan, np.nan])
        np.testing.assert_array_equal(bins.sel(bin=name).values.round(3), expected)
    value = float(worked["system_accuracy"].sel(system="system"))
    assert round(value, 3) == 0.731
    assert round(value, 4) == 0.7314


# The definition, one item after the other ----------------------------------------------------


def by_definition(given, answered, space):
    """Take item -> labels and item -> a system's label; the steps of the source, in its order."""
    n = len(space)
    pairs = [a == b for labels in given.values() for a, b in combinations(labels, 2)]
    if not pairs or sum(pairs) * n <= len(pairs):
        return None
    agreement = sum(pairs) / len(pairs)
    right = 1 / n + math.sqrt(((n - 1) * agreement - (n - 1) / n) / n)
    everything = Counter(label for labels in given.values() for label in labels)
    total = sum(everything.values())
    rates = [((n - 1) * everything[k] / total - 1 + right) / (n * right - 1) for k in space]
    rates = [min(max(rate, 0.0), 1.0) for rate in rates]
    rates = [rate / sum(rates) for rate in rates]
    truth = {}
    for item, labels in given.items():
        joint = [rate * math.prod(right if y == k else (1 - right) / (n - 1) for y in labels)
                 for k, rate in zip(space, rates, strict=True)]  # fmt: skip
        truth[item] = [p / sum(joint) for p in joint]
    return right, rates, truth, averaged(binned(truth, answered, space), n)


def binned(truth, answered, space):
    """Return the items of each bin: probability of the leading label, and who agrees."""
    bins = [[] for _ in range(10)]
    for item, labels in answered.items():
        most = max(truth[item])
        leading = [k for k, p in zip(space, truth[item], strict=True) if p > most - 1e-9]
        place = next(b for b in range(10) if most <= (b + 1) / 10 + 1e-12)
        bins[place].append((most, (labels in leading) / len(leading)))
    return bins


def averaged(bins, n):
    above = below = 0.0
    for items in bins:
        if items:
            probability, agree = np.mean(items, axis=0)
            if abs(n * probability - 1) > 1e-9:
                raw = ((n - 1) * agree - 1 + probability) / (n * probability - 1)
                above += len(items) * min(max(raw, 0.0), 1.0)
                below += len(items)
    return above / below if below else math.nan


@pytest.mark.parametrize("trials", [False, True])
def test_is_its_definition(trials):
    """Unequal numbers of labels, some items with one; repeated labels count one by one."""
    known = 0
    for seed in range(10):
        kind, n_labels = ("nominal", "ordinal")[seed % 2], 2 + seed % 4
        made = study(seed, kind, n_items=12, n_annotators=2 + seed % 5, n_labels=n_labels,
                     trials=trials)  # fmt: skip
        given = {item: [label for labels in by.values() for label in labels]
                 for item, by in made.labels_by_item().items()}  # fmt: skip
        with np.errstate(all="raise"):
            actual = taken(made.annotations(), made.predictions())
        for system in "st":
            answered = {item: made.predicted[item, system] for item in given}
            expected = by_definition(given, answered, made.labels)
            if expected is None:
                assert actual["annotator_accuracy"].item() == pytest.approx(1 / n_labels)
                assert np.isnan(actual["system_accuracy"]).all()
                continue
            known += 1
            right, rates, truth, accuracy = expected
            assert float(actual["annotator_accuracy"]) == pytest.approx(right, abs=1e-12)
            np.testing.assert_allclose(actual["prevalence"], rates, atol=1e-10)
            for item, each in truth.items():
                np.testing.assert_allclose(actual["truth"].sel(item=item), each, atol=1e-10)
            actual_accuracy = actual["system_accuracy"].sel(system=system)
            np.testing.assert_allclose(actual_accuracy, accuracy, atol=1e-9)
    assert known > 7


def taken(*args, **more):
    """Take it where something may be undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        return dx.lehner(*args, **more)


# A known truth ---------------------------------------------------------------------------------


def answers(rng, truth, accuracy, n_labels):
    """Give the true label with a probability, and else any of the others equally often."""
    right = rng.random(truth.shape) < accuracy
    return np.where(right, truth, (truth + rng.integers(1, n_labels, truth.shape)) % n_labels)


def simulated(seed, n_items, prevalence, accuracy, systems, n_annotators=3, missing=0.1):
    rng = np.random.default_rng(seed)
    n_labels = len(prevalence)
    truth = rng.choice(n_labels, n_items, p=prevalence)
    table = answers(rng, np.repeat(truth[:, None], n_annotators, axis=1), accuracy, n_labels)
    item, who = np.nonzero(rng.random(table.shape) >= missing)
    ann = dx.annotations(
        {"item": item, "annotator": who, "label": table[item, who]},
        kind="nominal", labels=range(n_labels),
    )  # fmt: skip
    names = ann["item"].to_numpy()
    labels = {name: answers(rng, truth, skill, n_labels) for name, skill in systems.items()}
    pred = dx.predictions(
        {
            "item": np.tile(names, len(labels)),
            "system": np.repeat(list(labels), len(names)),
            "label": np.concatenate([each[names] for each in labels.values()]),
        },
        kind="nominal",
    )
    return ann, pred


@pytest.mark.parametrize(
    ("prevalence", "accuracy"),
    [([0.3, 0.25, 0.2, 0.15, 0.1], 0.6), ([0.7, 0.3], 0.8), ([0.5, 0.3, 0.2], 0.45)],
)
def test_many_items_give_the_true_accuracies(prevalence, accuracy):
    """Lehner (2015), Figure 1, where the assumptions hold: all within Monte Carlo error.

    The error is the spread of the bootstrap's draws. Systems are worse than guesses, no better
    than the annotators, and far better.
    """
    systems = {"poor": 0.1, "fair": 0.5, "good": 0.9}
    ann, pred = simulated(7, 20_000, prevalence, accuracy, systems)
    actual = dx.lehner(ann, pred)
    error = dx.bayesian_bootstrap("lehner", ann, pred, draws=200, random_seed=1).std("draw")[
        {"chain": 0}
    ]
    expected = {
        "annotator_accuracy": accuracy,
        "prevalence": prevalence,
        "system_accuracy": list(systems.values()),
    }
    for name, value in expected.items():
        assert float(error[name].max()) < 0.03, name
        assert (abs(actual[name] - value) < 4 * error[name]).all(), name


def test_truth_is_as_probable_as_it_says():
    """Of labels said to be true with a probability of p, so many are: in bins of many items."""
    ann, pred = simulated(8, 20_000, [0.4, 0.35, 0.25], 0.6, {"truth": 1.0}, n_annotators=4)
    bins = dx.lehner(ann, pred)["bins"].sel(system="truth")
    bins = bins[(bins.sel(column="items") > 50).values]
    assert bins.sizes["bin"] >= 4
    share, items = bins.sel(column="agreement"), bins.sel(column="items")
    error = np.sqrt(share * (1 - share) / items) + 0.005
    assert (abs(share - bins.sel(column="probability")) < 4 * error).all()


@pytest.mark.long
def test_a_good_system_looks_worse_where_labels_are_equally_frequent():
    """The figure in the docstring: .86 on average for a system of .9, by bins that are clipped."""
    studies = [simulated(seed, 2000, [0.25] * 4, 0.6, {"m": 0.9}, missing=0) for seed in range(30)]
    result = [float(dx.lehner(*each)["system_accuracy"][0]) for each in studies]
    error = np.std(result) / len(result) ** 0.5
    assert np.mean(result) == pytest.approx(0.86, abs=3 * error)
    assert np.mean(result) < 0.9 - 3 * error


# Draws, and weights; what else holds for all statistics is in test_invariances. --------------


def test_truth_of_repeated_items_is_that_of_whole_weights():
    made = study(4, n_items=10, trials=True, single=False)
    order = taken(made.annotations(), made.predictions())["item"].values
    times = {item: 1 + place % 3 for place, item in enumerate(order)}
    weighted = taken(made.annotations(), made.predictions(), weights=times)
    repeated = made.repeated(times)
    whole = taken(repeated.annotations(), repeated.predictions())
    first = whole["truth"].sel(item=[f"{item}/0" for item in order])
    np.testing.assert_allclose(first, weighted["truth"], atol=1e-12)
    assert (weighted["bins"].sel(column="items").sum("bin") == sum(times.values())).all()


def test_a_posterior_holds_all_but_the_truth_of_items():
    ann, pred = simulated(5, 400, [0.5, 0.3, 0.2], 0.7, {"m": 0.9, "n": 0.5})
    draws = dx.bayesian_bootstrap("lehner", ann, pred, draws=300, random_seed=1)
    result = dx.lehner(ann, pred)
    assert set(draws) == set(result) - {"truth"}
    assert draws["bins"].dims == ("chain", "draw", "system", "bin", "column")
    for name in ("agreement", "annotator_accuracy", "prevalence"):
        np.testing.assert_allclose(draws[name].mean(("chain", "draw")), result[name], atol=0.02)
    better = dx.compare(draws["system_accuracy"])["probability_better"].sel(system="m", system_="n")
    assert float(better) > 0.99


# Items that somebody left out, and labels nobody could give ------------------------------------


def test_items_without_predictions_tell_of_annotators_only():
    ann, pred = simulated(6, 300, [0.5, 0.3, 0.2], 0.7, {"m": 0.9})
    some = pred.isel(item=slice(0, 100))
    with pytest.raises(dx.PredictionError, match="annotated items without predictions"):
        dx.lehner(ann, some)
    whole, actual = dx.lehner(ann, pred), dx.lehner(ann, some, on_missing="drop")
    for name in ("agreement", "annotator_accuracy", "prevalence", "truth"):
        xr.testing.assert_allclose(actual[name], whole[name])
    assert float(actual["bins"].sel(column="items").sum()) == 100


def test_items_without_labels_have_base_rates_and_do_not_count():
    data = dx.datasets.load("lehner_table2")
    ann, pred = data.annotations, data.predictions
    kept = ann.isel(annotation=(ann["item_code"] != 6).values)  # case 7 keeps its name only
    actual, whole = dx.lehner(kept, pred), dx.lehner(ann, pred)
    np.testing.assert_allclose(actual["truth"].sel(item=7), actual["prevalence"], rtol=1e-12)
    assert float(actual["bins"].sel(column="items").sum()) == 9
    without = dx.lehner(ann, pred, weights=[1, 1, 1, 1, 1, 1, 0, 1, 1, 1])
    xr.testing.assert_allclose(actual["system_accuracy"], without["system_accuracy"])
    assert not actual["prevalence"].equals(whole["prevalence"])


def test_a_label_outside_the_label_space_is_a_miss_and_said_to_be():
    data = dx.datasets.load("lehner_table2")
    code = data.predictions["label_code"].values[:, 0, 0]
    labels = data.predictions["label"].values[code].astype(object)

    def answered(label):
        made = np.where(np.arange(10) == 6, label, labels).tolist()  # case 7: all say A
        return dx.predictions({"item": range(1, 11), "system": ["m"] * 10, "label": made})

    with pytest.warns(dx.DissensusWarning, match="outside the label space"):
        result = dx.lehner(data.annotations, answered("Z"))
    wrong = dx.lehner(data.annotations, answered("B"))
    xr.testing.assert_allclose(result["system_accuracy"], wrong["system_accuracy"])


# Ties and edges ---------------------------------------------------------------------------------


def test_one_of_two_leading_labels_is_half_an_agreement():
    """Two a against two b, and base rates of one half: both lead with .5, and .5 is 1/N."""
    rows = [["a", "a", "a", "a"], ["b", "b", "b", "b"], ["a", "b", "a", "b"]]
    pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": list("aba")})
    with pytest.warns(dx.DissensusWarning, match="all labels are equally probable"):
        result = dx.lehner(dx.from_matrix(rows), pred)
    assert result["prevalence"].values.tolist() == [0.5, 0.5]
    row = result["bins"].sel(system="m", bin="(0.4, 0.5]").values
    np.testing.assert_allclose(row, [0.5, 1.0, 0.5, np.nan])
    assert float(result["system_accuracy"][0]) == 1.0  # over the other bin, where it is right


@pytest.mark.parametrize(
    ("accuracy", "place"),
    [(0.9, 8), (0.9 + 1e-13, 8), (0.9 - 1e-13, 8), (0.9 + 1e-6, 9), (1.0, 9), (0.6, 5), (0.5, 4)],
)
def test_a_probability_on_an_edge_is_in_the_lower_bin(accuracy, place):
    """One label of two, base rates one half: the leading label's probability is the accuracy."""
    zero = np.zeros(1, dtype=np.int64)
    result, _ = votes(zero, zero, zero, 1)
    answer = Answers(np.array([0, 1]), zero, zero)
    half = np.full((1, 2), 0.5)
    sums = binned_answers(result, answer, np.ones((1, 1)), np.array([accuracy]), half, 1)
    assert np.flatnonzero(sums[0, 0, :, 1]).tolist() == [place]


# What is undefined --------------------------------------------------------------------------------


def one_system(n, labels):
    return dx.predictions({"item": range(n), "system": ["m"] * n, "label": labels})


@pytest.mark.parametrize(
    "rows",
    [
        [["a", "b"], ["b", "a"]],  # never
        [["a", "b"], ["b", "b"]],  # 1 time in 2, as guesses: no denominator
    ],
)
def test_annotators_who_agree_no_more_than_guesses_tell_nothing(rows):
    with pytest.warns(dx.DissensusWarning, match="no more often than by guessing, 1 time in 2"):
        result = dx.lehner(dx.from_matrix(rows), one_system(2, ["a", "b"]))
    assert float(result["annotator_accuracy"]) == 0.5
    for name in ("prevalence", "truth", "bins", "system_accuracy"):
        assert np.isnan(result[name]).all()


def test_without_two_labels_of_an_item_nothing_is_known():
    ann = dx.from_matrix([["a", None], [None, "b"]])
    with pytest.warns(dx.DissensusWarning, match="no item has two labels") as caught:
        result = dx.lehner(ann, one_system(2, ["a", "b"]))
    assert len(caught) == 1
    assert all(np.isnan(result[name]).all() for name in result)


def test_one_label_to_give_tells_nothing():
    ann = dx.from_matrix([["a", "a"], ["a", "a"]])
    with pytest.warns(dx.DissensusWarning, match=r"only one label to give.*labels=\["):
        result = dx.lehner(ann, one_system(2, ["a", "a"]))
    assert all(np.isnan(result[name]).all() for name in result)


def test_annotators_who_always_agree_are_right():
    ann = dx.from_matrix([["a", "a", None], ["b", "b", "b"], ["a", None, None]], labels="abc")
    result = dx.lehner(ann, one_system(3, ["a", "a", "a"]))
    assert float(result["annotator_accuracy"]) == 1.0
    np.testing.assert_allclose(result["prevalence"], [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(result["truth"], [[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert float(result["system_accuracy"][0]) == pytest.approx(2 / 3)


def test_items_of_no_weight_may_contradict_annotators_who_are_never_wrong():
    ann = dx.from_matrix([["a", "a"], ["b", "b"], ["a", "b"]])
    with pytest.warns(dx.DissensusWarning, match="truth of 2 is undefined"):
        result = dx.lehner(ann, one_system(3, ["a", "a", "a"]), weights=[1, 1, 0])
    assert np.isnan(result["truth"].sel(item=2)).all()
    assert float(result["system_accuracy"][0]) == 0.5


def test_a_system_without_labelled_items_has_no_accuracy():
    ann = dx.from_matrix([["a", "a"], ["b", "b"], ["a", "b"], ["a", "a"]])
    with pytest.warns(dx.DissensusWarning, match="no item has a label and a prediction") as caught:
        result = dx.lehner(ann, one_system(1, ["a"]), on_missing="drop", weights=[0, 1, 1, 1])
    assert len(caught) == 1
    assert np.isnan(result["system_accuracy"]).all()
    assert np.isfinite(result["prevalence"]).all()
