"""The page: complete in itself, safe, accessible, and honest about trouble."""

from __future__ import annotations

import re

import arviz as az
import numpy as np
import pytest

import dissensus as dx
from dissensus.dims import SCOPES
from dissensus.reports import checks
from dissensus.reports.page import card
from dissensus.wording import digits_for, share


def test_needs_nothing_from_elsewhere(usual):
    html, parsed = usual
    assert not re.search(r"https?://|@import|//cdn", html)
    for tag, attrs in parsed.elements:
        for name in ("src", "href", "xlink:href", "action"):
            assert attrs.get(name, "#").startswith("#"), (tag, attrs)
    assert not {"link", "img", "iframe", "object"} & {tag for tag, _ in parsed.elements}
    assert "default-src 'none'" in html


def test_every_reference_has_a_target_and_ids_are_unique(usual):
    _, parsed = usual
    assert len(parsed.ids) == len(set(parsed.ids))
    wanted = {attrs["href"][1:] for _, attrs in parsed.elements if "href" in attrs}
    wanted |= {a["aria-labelledby"] for _, a in parsed.elements if "aria-labelledby" in a}
    assert wanted <= set(parsed.ids)


def test_accessible(usual):
    _, parsed = usual
    figures = [a for a in parsed.all("svg") if a.get("class") == "figure"]
    assert figures
    assert all(len(a["aria-label"]) > 20 and a["role"] == "img" for a in figures)
    headings = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert max(np.diff(headings)) <= 1
    assert parsed.all("html")[0]["lang"] == "en"
    assert all(a.get("tabindex") == "0" for a in parsed.all("div") if a.get("class") == "scroll")


def lead_of(evaluation, find=az.eti, prob=0.89):
    """Return mean and intervals of the system `good`, as the page writes them."""
    every = evaluation["metrics"]["top_1_accuracy"]
    draws = every.sel(reliability=1.0, system="good")
    ends = [find(draws.sel(scope=scope).to_numpy().ravel(), prob=prob) for scope in SCOPES]
    low, high = find(every, prob=prob, dim=["chain", "draw"]).transpose("ci_bound", ...).to_numpy()
    d = digits_for((high - low).ravel())
    return share(float(draws.sel(scope=SCOPES[0]).mean()), d), *(
        f"{share(low, d)} to {share(high, d)}" for low, high in ends
    )


def words_of(parsed):
    return " ".join(parsed.text.split()).replace("\N{NO-BREAK SPACE}", " ")


def test_says_the_numbers(usual, evaluate):
    text = words_of(usual[1])
    mean, these, new = lead_of(evaluate())
    message = f"At reliability 1, good agrees with the panel on {mean} of the items (89 % interval"
    assert f"{message} {these}; on new items {new})" in text
    assert "89 % equal-tailed interval" in text
    assert "dirichlet: Dirichlet reliability: each annotator gives one label." in text
    assert "random seed" in text


@pytest.mark.usefixtures("no_pictures")
def test_interval_settings(evaluate, page):
    text = words_of(page(evaluate(), ci_kind="hdi", ci_prob=0.5, title="<b>My</b> title"))
    assert "50 % highest-density interval" in text
    assert "<b>My</b> title" in text
    mean, these, new = lead_of(evaluate(), az.hdi, 0.5)
    assert f"on {mean} of the items (50 % interval {these}; on new items {new})" in text


@pytest.mark.usefixtures("no_pictures")
def test_without_predictions(evaluate, page):
    parsed = page(evaluate(predictions=False))
    assert "The annotations of 3 items" in parsed.text
    assert "Least certain items" in parsed.text
    assert "table-metrics" not in parsed.ids
    assert "certainty" in parsed.ids


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_truth_is_shown_beside_the_intervals(page):
    study = dx.simulate.study(n_items=10, kind="nominal", random_seed=2)
    options = {"draws": 150, "random_seed": 1, "progressbar": False, "reliability": (1.0,)}
    result = dx.evaluate(study.annotations, study.predictions, **options)
    assert "Truth" not in page(result).text
    result["truth"] = study.truth
    text = page(result).text
    assert "Truth, new items" in text
    assert "The truth is known: " in text
    assert re.search(r"\.\d+, (inside|above|below)", text)


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_trouble_is_loud(evaluate, dictated, page):
    good = dictated({"a": [0.8], "b": [0.6]})
    assert checks.troubles(good) == []
    assert "Do not rely" not in page(good).text
    few = page(evaluate(draws=20))
    assert "too few effective draws" in few.text
    assert [a for a in few.all("section") if a.get("role") == "alert"]
    apart = good.copy(deep=True)
    apart["diagnostics"]["top_1_accuracy"].loc[{"diagnostic": "r_hat"}] = 1.2
    assert "r-hat is up to 1.200" in page(apart).text
    broken = good.copy(deep=True)
    broken["metrics"]["top_1_accuracy"][0, 0, 0, 0, 0] = np.nan
    assert "1 value of agreement with the panel is not finite" in page(broken).text


@pytest.mark.usefixtures("no_pictures")
def test_a_metric_that_never_varies_is_no_trouble(dictated, page):
    still = dictated({"a": [0.8], "b": [0.6]}, spread=0.0)
    assert checks.troubles(still) == []
    assert "nothing to diagnose" in page(still).text


@pytest.mark.long
def test_choice_of_reliability(evaluate, page):
    parsed = page(evaluate(reliability=(1, 2, 5)))
    bodies = [a for a in parsed.all("tbody") if "data-at" in a]
    assert {a["data-at"] for a in bodies} == {"0", "1", "2"}
    assert {a["data-at"] for a in bodies if "hidden" not in a} == {"0"}
    assert parsed.all("input")[0]["data-values"] == "1 2 5"
    assert {"reliability-top_1_accuracy-w-at-2"} <= set(parsed.ids)
    assert not page(evaluate(reliability=(1,))).all("input")


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_scores_have_no_reliability(page):
    rng = np.random.default_rng(1)
    frame = {
        "item": np.repeat(range(9), 3),
        "annotator": [1, 2, 3] * 9,
        "label": rng.normal(size=27),
    }
    pred = {"item": range(9), "system": ["m"] * 9, "label": rng.normal(size=9)}
    result = dx.evaluate(
        dx.annotations(frame), dx.predictions(pred, kind="continuous"), threshold=0.0,
        draws=150, random_seed=1, progressbar=False, components=None,
    )  # fmt: skip
    text = page(result).text
    assert "eliability" not in text.split("Which data and model were used")[1].split("Model")[0]
    assert "At reliability" not in text


@pytest.mark.parametrize("model", dx.models.MODELS, ids=lambda model: model.name)
def test_every_card_has_something_to_say(model):
    title, paragraphs = card(model.module.__doc__)
    assert title
    assert any(text.startswith("When to use it.") for text in paragraphs)
    assert not re.search(r"[`\\]|:math|, ,", title + " ".join(paragraphs))
