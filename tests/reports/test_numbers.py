"""The page of scores without a threshold: errors, the panel's mean, and no word on labels."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
from lean import LEAN
from reports.conftest import Page
from rich.console import Console

import dissensus as dx
from dissensus.cli.tables import results
from dissensus.reports import checks
from dissensus.wording import number, share

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_pictures")]
SAMPLE = ("chain", "draw")
MORE = LEAN | {"draws": 500, "random_seed": 1, "progressbar": False}


def evaluated(*, predictions=True, scale=1.0):
    rng = np.random.default_rng(3)
    mu = rng.normal(60, 10, 40)
    ann = dx.from_matrix(scale * rng.normal(mu[:, None], 8, (40, 3)))
    table = {"item": np.tile(np.arange(40), 2), "system": np.repeat(["near", "far"], 40),
             "label": scale * np.concatenate([rng.normal(mu, 3), rng.normal(mu, 12)])}  # fmt: skip
    return dx.evaluate(ann, dx.predictions(table) if predictions else None, **MORE)


@pytest.fixture(scope="module")
def evaluation():
    return evaluated()


def written(evaluation, tmp_path):
    path = dx.report(evaluation, tmp_path / "page.html", overwrite=True)
    return path.read_text(encoding="utf-8")


def plain(html):
    html = re.sub(r"<(style|script)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html))).replace("\xa0", " ")


def interval(draws):
    low, high = draws.quantile([0.055, 0.945])
    return f"{share(float(low))} to {share(float(high))}"


def test_the_verdict_and_its_table_are_those_of_the_draws(evaluation, tmp_path):
    page = written(evaluation, tmp_path)
    Page(page)  # balanced
    lead = plain(re.search(r'<p class="lead">.*?</p>', page, re.S)[0])
    error = evaluation["metrics"]["mean_absolute_error"].sel(reliability=1.0)
    near, far = (error.sel(system=name, scope="these items") for name in ("near", "far"))
    assert "near is the better of 2 systems" in lead
    assert f"it is {share(float(near.mean()))} away from the panel's mean score on average" in lead
    assert interval(near) in lead
    assert f"is {share(float(far.mean()))} away from it" in lead
    table = plain(re.search(r'id="table-verdict".*?</table>', page, re.DOTALL)[0])
    for name in ("near", "far"):
        for scope in ("these items", "new items"):
            assert interval(error.sel(system=name, scope=scope)) in table


def test_no_word_on_labels_that_scores_do_not_have(evaluation, tmp_path):
    text = plain(written(evaluation, tmp_path).split("<h4>Model")[0])
    for word in ("leading label", "plausibilit", "threshold", " certainty "):
        assert word not in text.lower(), word


def test_the_items_are_those_with_the_widest_intervals(evaluation, tmp_path):
    page = written(evaluation, tmp_path)
    mean = evaluation["posterior"]["mean"]
    low, high = mean.quantile([0.055, 0.945], SAMPLE)
    order = (low - high).argsort().to_numpy()
    step = plain(re.search(r"<strong>Look at the least.*?</li>", page, re.S)[0])
    wanted = [f"{item} ({interval(mean.sel(item=item))})" for item in order[:10]]
    assert all(text in step for text in wanted)
    card = plain(re.search(r'<article id="item-1".*?</article>', page, re.S)[0])
    assert interval(mean.sel(item=order[0])) in card
    value = evaluation["predictions"]["value"].sel(item=order[0], system="near").item()
    assert f"{number(value)} near" in card


def test_the_terminal_says_the_same(evaluation, capsys):
    console = Console(width=80, force_terminal=False)
    for part in results(evaluation):
        console.print(part)
    out = capsys.readouterr().out
    assert "near is the better of 2 systems" in out
    assert max(map(len, out.splitlines())) <= 80
    assert len(out.splitlines()) <= 25


def test_scores_alone_have_a_page(tmp_path):
    result = evaluated(predictions=False)
    page = plain(written(result, tmp_path))
    mean = result["posterior"]["mean"]
    low, high = mean.quantile([0.055, 0.945], SAMPLE)
    assert f"panel's mean score is {share(float((high - low).median()))} wide or less" in page
    assert "system" not in page.split("Model ")[0].lower()


def test_large_errors_are_written_without_decimals(tmp_path):
    result = evaluated(scale=100.0)
    error = result["metrics"]["mean_absolute_error"].sel(
        reliability=1.0, system="near", scope="these items"
    )
    assert f"it is {float(error.mean()):,.0f} away from the panel's mean" in plain(
        written(result, tmp_path)
    )


@pytest.mark.parametrize(("spread", "cautious"), [(0.0, False), (6.0, True)])
def test_few_annotators_of_different_leniency_are_cautioned_of(spread, cautious, tmp_path):
    """Three annotators score all items; their mean leniency stays in the mean of each item."""
    rng = np.random.default_rng(5)
    mu = rng.normal(60, 10, 40)
    ann = dx.from_matrix(rng.normal(mu[:, None] + spread * np.array([-1, 0, 1]), 4))
    pred = dx.predictions({"item": np.arange(40), "system": ["s"] * 40, "label": mu})
    result = dx.evaluate(ann, pred, **(MORE | {"components": "gaussian"}))
    topics = [topic for topic, _ in checks.cautions(result)]
    assert ("leniency" in topics) == cautious
    assert ("few_people" in topics) != cautious
    page = plain(written(result, tmp_path))
    said = (
        "errors and systems' correlations with the panel and of discrepancy ratios also allow for"
    )
    assert f"Intervals of systems' {said} other annotators." in page
    text = "Intervals of systems' errors and systems' correlations with the panel allow for this"
    assert (text in page) == cautious
    few = "correlations with the panel allow for other annotators, who may label differently. So do"
    assert (few in page) != cautious
    others = dx.annotations(dx.to_dataframe(ann).assign(
        annotator=[f"{name} {item % 2}" for item, name in zip(
            ann["item_code"].to_numpy(), ann["annotator"].to_numpy()[ann["annotator_code"]],
            strict=True)]
    ), kind="continuous")  # fmt: skip
    result = dx.evaluate(others, pred, **(MORE | {"components": "gaussian"}))
    assert "few_people" not in [topic for topic, _ in checks.cautions(result)]
