"""The average annotator beside the systems: differences, their words, and the annotator's value."""

from __future__ import annotations

import numpy as np
import one_truth
import pytest
import xarray as xr
from reports.conftest import spoken

import dissensus as dx
from dissensus.dims import SCOPES
from dissensus.plots._source import interval
from dissensus.reports import average_annotator, evidence, verdict
from dissensus.wording import share

SAMPLE = ("chain", "draw")


def with_ratios(evaluation, systems, annotators):
    """Dictate draws of discrepancy ratios."""
    tree = evaluation.copy()
    data, points = tree["discrepancy"].to_dataset(), tree["statistics"].to_dataset()
    points = points.drop_dims([dim for dim in ("system", "annotator") if dim in points.dims])
    out = xr.Dataset(attrs=data.attrs)
    noise = np.linspace(-0.001, 0.001, 200)[None, :, None]
    for name, dim, values in (
        ("discrepancy_ratio", "system", systems),
        ("annotator_discrepancy_ratio", "annotator", annotators),
    ):
        level = np.array(list(values.values()))
        out[name] = (("chain", "draw", dim), noise + level)
        out = out.assign_coords({dim: list(values)})
        points[name] = xr.DataArray(level, {dim: list(values)}, dim)
    out["non_inferiority"] = dx.non_inferiority(out["discrepancy_ratio"], 0.1)
    out["winning_rate"] = xr.zeros_like(out["discrepancy_ratio"]).assign_attrs(n_annotators=2)
    points["winning_rate"] = xr.zeros_like(points["discrepancy_ratio"])
    out["n_items"] = ("annotator", np.full(len(annotators), 20))
    tree["discrepancy"], tree["statistics"] = out, points
    return tree


def against(evaluation, system, **how):
    return average_annotator.against(
        average_annotator.annotator_comparison(evaluation, **how), system
    )


def written(draws):
    """Return mean and interval as the page writes them."""
    ends = [float(end) for end in interval(draws)]
    d = 2 if ends[1] - ends[0] >= 0.05 or ends[0] == ends[1] else 3
    return f"{share(float(draws.mean()), d)} ({share(ends[0], d)} to {share(ends[1], d)})"


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(0.8, "better"), (0.95, "same"), (1.0, "same"), (1.05, "same"), (1.2, "worse")],
)
def test_ratios_are_compared_with_1(evaluate, ratio, words):
    tree = with_ratios(evaluate(), {"near": ratio, "far": 1.3}, {"a": 0.9, "b": 1.1})
    del tree["answers"]
    result = against(tree, "near")
    assert (result["beside"], result["by"]) == (words, "ratio")
    draws = tree["discrepancy"]["discrepancy_ratio"].sel(system="near")
    assert result["difference"] == written(draws)
    assert result["better_than"] == pytest.approx({0.8: 1, 0.95: 1, 1: 0.5}.get(ratio, 0))
    assert against(tree, "far")["beside"] == "worse"
    assert against(tree, "nobody") == {"beside": ""}


def with_agreements(evaluation, gap, noise, people=0.8):
    """Dictate draws of agreement with an annotator: of people, and of system a, higher by gap."""
    tree = evaluation.copy()
    draws = np.linspace(-1, 1, 200)[None]
    humans = people + 0.001 * draws
    own = (humans + gap + noise * draws)[..., None]
    coords = {"chain": [0], "draw": range(200)}
    tree["answers"] = xr.Dataset(
        {"human_agreement": (SAMPLE, humans), "annotator_agreement": ((*SAMPLE, "system"), own)},
        coords | {"system": ["a"]}, {"scope": "these items", "question": "panel"},
    )  # fmt: skip
    return tree


@pytest.mark.usefixtures("three_are_enough")
@pytest.mark.parametrize(
    ("gap", "noise", "words"),
    [
        (0.0, 0.01, "a does about as well as an annotator: its agreement with annotators"),
        (-0.01, 0.005, "a does about as well as an annotator: "),  # surely worse, but by little
        (0.0, 0.1, "It is not settled whether a does better or worse than an annotator: "),
        (0.05, 0.03, "a does better than an annotator: "),
        (-0.05, 0.03, "a does worse than an annotator: "),
    ],
)
def test_the_difference_to_an_annotator_is_that_of_the_draws(dictated, gap, noise, words):
    """About the same is within 10 % of the annotators' own disagreement: here .02."""
    tree = with_agreements(dictated({"a": [0.8]}, names=["a"]), gap, noise)
    answers = tree["answers"]
    difference = written(answers["annotator_agreement"][..., 0] - answers["human_agreement"])
    result = verdict.lead(tree, evidence.numbers(tree))
    text = spoken("headline", verdict.headline(tree, result))
    assert words in text
    assert f"from their agreement with each other by {difference} on these items." in text
    table = verdict.table(tree, result)
    assert table.bodies[0].rows[0][
        table.head.index("Against an annotator, 89\N{NO-BREAK SPACE}%")
    ] == difference.partition("(")[2].rstrip(")")
    assert table.note.endswith(
        "within .020 of 0, that is, 10\N{NO-BREAK SPACE}% of the annotators' disagreement with "
        "each other."
    )


def test_the_margin_is_that_of_the_evaluation(dictated):
    tree = with_agreements(dictated({"a": [0.8]}, names=["a"]), 0.0, 0.04)
    assert against(tree, "a")["beside"] == "open"
    tree["discrepancy"].attrs["margin"] = 0.3
    assert against(tree, "a")["beside"] == "same"


@pytest.mark.long
def test_accuracies_are_compared_with_the_mean_of_the_annotators():
    tree = one_truth.evaluated()
    data = tree["accuracy"]
    people = data["annotator_accuracy"].mean("annotator")
    for system in data["system"].to_numpy():
        draws = data["estimated_accuracy"].sel(scope=SCOPES[1], system=system) - people
        result = against(tree, system, truth=True)
        assert (result["difference"], result["scope"]) == (written(draws), "new items")
        above = float(data["above_annotators"].sel(system=system))
        assert result["better_than"] == pytest.approx(above)
    mean, these, new = average_annotator.row(average_annotator.value(tree, "accuracy"), 2)
    assert (mean, these) == (share(float(people.mean())), "")
    assert new == " to ".join(share(float(end)) for end in interval(people))


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_the_comparison_is_on_the_page_if_items_have_two_annotators(page, evaluate):
    text = page(evaluate()).text
    assert "than an annotator" in text or "as well as an annotator" in text
    assert "Against an annotator" in text
    ann = dx.annotations({"item": [1, 2, 3], "annotator": list("abc"), "label": list("xyx")})
    pred = dx.predictions({"item": [1, 2, 3], "system": ["m"] * 3, "label": list("xyy")})
    alone = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False)
    text = page(alone).text
    assert "than an annotator" not in text
    assert "gainst an annotator" not in text
    assert "No item has two annotators" in text
    assert against(alone, "m") == {"beside": ""}


# The annotator's own agreement with the panel.


def panel(n_items=400, n_labels=5, seed=1):
    """Return annotations and predictions, and how often one annotator agrees with the panel."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet([0.4] * 3, size=n_items)
    votes = np.array([rng.choice(list("xyz"), n_labels, p=share) for share in theta])
    item = np.repeat(np.arange(n_items), n_labels)
    who = np.tile(np.arange(n_labels), n_items)
    ann = dx.annotations({"item": item, "annotator": who, "label": votes.ravel()})
    best = np.array(list("xyz"))[theta.argmax(axis=1)]
    pred = dx.predictions({"item": np.arange(n_items), "system": ["m"] * n_items, "label": best})
    return ann, pred, theta.max(axis=1).mean()


LEAN = {"truth_model": None, "ground_truth": None, "components": None, "progressbar": False}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_one_more_annotator_agrees_with_the_panel_as_often_as_the_interval_says(seed):
    ann, pred, truth = panel(seed=seed)
    result = dx.evaluate(ann, pred, reliability=1, draws=200, random_seed=1, **LEAN)
    draws = average_annotator.agreement_with_panel(result)
    largest = result["posterior"]["plausibility"].max("label").mean("item")
    here = draws.sel(scope=SCOPES[0])
    assert float(here.mean()) == pytest.approx(float(largest.mean()), abs=0.005)
    assert float(here.std()) >= 0.95 * float(largest.std())
    low, high = (float(end) for end in interval(draws.sel(scope=SCOPES[0]), ci_prob=0.99))
    assert low < truth < high
    width = [float(np.diff(interval(draws.sel(scope=scope)), axis=0)[0]) for scope in SCOPES]
    assert width[0] < width[1]
    table = verdict.table(result, verdict.lead(result, evidence.numbers(result)))
    (row,) = table.bodies[1].rows
    mean = share(float(here.mean()), len(table.bodies[0].rows[0][1]) - 1)
    assert row[:2] == ["An annotator", mean]


@pytest.mark.long
def test_annotators_of_different_skill_make_the_agreement_of_one_more_less_certain():
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=120)
    right = rng.random((120, 8)) < np.array([0.95, 0.95, 0.9, 0.9, 0.6, 0.5, 0.45, 0.4])
    ann = dx.from_matrix(np.where(right, truth[:, None], rng.integers(3, size=(120, 8))),
                         kind="nominal")  # fmt: skip
    pred = dx.predictions(
        {"item": np.arange(120), "system": ["m"] * 120, "label": truth}, kind="nominal"
    )
    result = dx.evaluate(ann, pred, reliability=1, draws=200, random_seed=1, **LEAN)
    here = average_annotator.agreement_with_panel(result).sel(scope=SCOPES[0])
    largest = result["posterior"]["plausibility"].max("label").mean("item")
    of_each = right.mean(axis=0) + (1 - right).mean(axis=0) / 3
    assert float(here.std()) > 3 * float(largest.std())
    assert float(here.std()) == pytest.approx(of_each.std(ddof=1) / np.sqrt(8), rel=0.35)


@pytest.mark.long
def test_no_value_where_the_draws_imply_another_agreement():
    """Plausibilities that are too extreme say too much of the next annotator."""
    ann, pred, _ = panel(100)
    result = dx.evaluate(ann, pred, reliability=1, draws=100, random_seed=1, **LEAN)
    assert average_annotator.agreement_with_panel(result) is not None
    tree = result.copy()
    theta = result["posterior"]["plausibility"]
    posterior = result["posterior"].to_dataset()
    tree["posterior"] = posterior.assign(plausibility=theta**2 / (theta**2).sum("label"))
    assert average_annotator.agreement_with_panel(tree) is None
    assert len(verdict.table(tree, verdict.lead(tree, evidence.numbers(tree))).bodies) == 1


def test_other_metrics_have_no_annotator(dictated):
    assert average_annotator.value(dictated({"a": [0.8]}), "expected_loss") is None
