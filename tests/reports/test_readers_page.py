"""The report and the table of a reader study: their numbers are those of the draws."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_base import rc_context

import dissensus as dx
from dissensus.errors import ArgumentError
from dissensus.evaluation.readers import COLUMNS
from dissensus.reports import readers_page
from dissensus.statistics._reader_words import concerns
from dissensus.wording import probability, share

SAMPLE = ("chain", "draw")


def scores(n_readers=5, n_cases=60, gain=0.6, modalities=("alone", "tool"), seed=1):
    rng = np.random.default_rng(seed)
    ill = np.arange(n_cases) % 3 == 0
    rows = [
        {"reader": f"r{r}", "case": c, "modality": m, "ill": int(ill[c]),
         "score": round(ill[c] * (1 + gain * k) + rng.normal(), 1)}
        for r in range(n_readers) for c in range(n_cases) for k, m in enumerate(modalities)
    ]  # fmt: skip
    alone = pd.DataFrame({"case": range(n_cases), "score": 1.5 * ill + rng.normal(size=n_cases)})
    return pd.DataFrame(rows), alone


def study(**options):
    table, system = scores(**options)
    return dx.reader_study(
        table,
        "ill",
        threshold={"readers": [0.5, 1.0], "system": [0.2, 0.9]},
        predictions=system,
        draws=1000,
        random_seed=1,
    )


@pytest.fixture(scope="module")
def result():
    return study()


def plain(texts):
    return re.sub(r"<[^>]+>", "", " ".join(map(str, texts))).replace("\N{NO-BREAK SPACE}", " ")


def test_rows_are_the_draws(result):
    table = dx.summary(result)
    assert tuple(table.columns) == COLUMNS
    assert set(table["quantity"]) == {
        "average_auc", "difference", "reader_sd", "interaction_sd", "system_auc",
        "system_difference", "average_sensitivity", "average_specificity",
        "sensitivity_difference", "specificity_difference", "system_sensitivity",
        "system_specificity", "system_sensitivity_difference", "system_specificity_difference",
    }  # fmt: skip
    for row in table.to_dict("records"):
        where = {name: row[name] for name in ("modality", "system", "threshold") if row[name] != ""}
        draws = result[row["quantity"]].sel(where)
        assert row["mean"] == pytest.approx(float(draws.mean()))
        assert row["lower"] == pytest.approx(float(draws.quantile(0.055)), abs=2e-3)
        if row["quantity"].endswith("difference"):
            assert row["probability_positive"] == float((draws > 0).mean())
    assert table.attrs["probability"] == 0.89
    with rc_context({"stats.ci_prob": 0.5}):
        assert (dx.summary(result)["lower"] > table["lower"]).all()
    seen = table.set_index(["quantity", "modality"])["observed"]
    mean = result["observed_auc"].mean("reader")
    assert seen["average_auc", "tool"] == float(mean.sel(modality="tool"))
    difference = float(mean.sel(modality="alone") - mean.sel(modality="tool"))
    assert seen["difference", ""].item() == pytest.approx(difference)


def test_three_modalities_have_each_pair_once():
    table, _ = scores(modalities=("a", "b", "c"))
    rows = dx.summary(dx.reader_study(table, "ill", draws=200, random_seed=1))
    pairs = rows.query("quantity == 'difference'")[["modality", "modality_"]]
    assert pairs.to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]


def test_a_study_has_no_groups(result):
    with pytest.raises(ArgumentError, match="of: expected None; found 'metrics'"):
        dx.summary(result, "metrics")


@pytest.mark.usefixtures("no_pictures")
def test_the_page_is_whole(result, page):
    parsed = page(result)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {"table-verdict", "table-readers", "table-sensitivity", "table-specificity"} <= set(
        parsed.ids
    )
    headings = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert max(np.diff(headings)) <= 1
    text = re.sub(r"\s+", " ", parsed.text).replace("\N{NO-BREAK SPACE}", " ")
    chance = float((result["difference"] < 0).mean())
    best = result["average_auc"].sel(modality="tool")
    low, high = (share(float(best.quantile(p)), 3) for p in (0.025, 0.975))
    assert f"better than alone with probability {probability(chance)}" in text
    assert f"tool {share(float(best.mean()), 3)} [{low} to {high}]" in text
    assert "tool minus alone" in text
    assert "alone minus tool" not in text  # neither in a sentence nor in a table
    assert "dashed lines: systems" in text
    assert "5 readers on 60 cases" in text
    assert "5 readers with 2 modalities, and 1 system; 60 cases, of which 20 are positive." in text
    assert "Plan a further study. The smallest study with a power of .80 or more has" in text
    assert "The difference is drawn from the pilot's posterior." in text
    assert "new readers like these and new cases like these" in text


@pytest.mark.long
@pytest.mark.pictures
def test_the_page_has_one_picture(result, page):
    parsed = page(result)
    assert [a["id"] for a in parsed.all("figure")] == ["verdict"]
    assert result.attrs["in_words"] in next(a["aria-label"] for a in parsed.all("svg"))


def test_tables_are_the_rows(result):
    table = readers_page.averages(result, dx.summary(result))
    rows = {str(row[0]): row[1:] for row in table.bodies[0].rows}
    assert list(rows) == [
        "alone", "tool", "alone minus tool", "system system", "system system minus alone",
        "system system minus tool",
    ]  # fmt: skip
    less = result["system_difference"].sel(modality="tool", system="system")
    mean, between, seen, chance = rows["system system minus tool"]
    assert mean == share(float(less.mean()), 3)
    assert between.split(" to ")[0] == share(float(less.quantile(0.055)), 3)
    observed = result["observed_system_auc"] - result["observed_auc"].sel(modality="tool").mean()
    assert seen == share(observed.item(), 3)
    assert chance == probability(float((less > 0).mean()))
    rates = {part.id: part for part in readers_page._parts(result, dx.summary(result))}[
        "rates"
    ].part.tables
    assert [body.title for body in rates[0].bodies] == [
        "Readers' scores of at least 0.5", "Readers' scores of at least 1"
    ]  # fmt: skip
    at = result["average_sensitivity"].sel(modality="alone", threshold=1.0)
    assert rates[0].bodies[1].rows[0][1] == share(float(at.mean()), 3)
    alone = result["system_sensitivity"].sel(system="system", threshold=1.0)
    named = {str(row[0]): row[1] for row in rates[0].bodies[1].rows}
    assert named["system system"] == share(float(alone.mean()), 3)
    assert rates[0].note == "Systems have thresholds of their own. system: 0.2 and 0.9."


def test_the_better_modality_comes_first_in_tables_and_differences(result):
    """Beside the first sentence, "tool minus alone", a table of "alone minus tool" misleads."""
    ordered = readers_page.best_first(result)
    rows = {str(row[0]): row[1:] for row in
            readers_page.averages(ordered, dx.summary(ordered)).bodies[0].rows}  # fmt: skip
    assert list(rows)[:3] == ["tool", "alone", "tool minus alone"]
    gain = -result["difference"]
    mean, _, seen, chance = rows["tool minus alone"]
    assert mean == share(float(gain.mean()), 3)
    observed = result["observed_auc"].mean("reader")
    assert seen == share(float(observed.sel(modality="tool") - observed.sel(modality="alone")), 3)
    assert chance == probability(float((gain > 0).mean()))
    xr.testing.assert_identical(readers_page.best_first(ordered), ordered)
    three = readers_page.best_first(study(modalities=("alone", "tool", "both")))
    assert three["modality"].values.tolist() == ["both", "tool", "alone"]
    names = [str(row[0]) for row in
             readers_page.averages(three, dx.summary(three)).bodies[0].rows]  # fmt: skip
    assert names[3:6] == ["both minus tool", "both minus alone", "tool minus alone"]


def test_modalities_that_begin_alike_keep_their_ends():
    """Cut at the end, "radiologist alone" minus "radiologist with AI" was one name minus itself."""
    alike = study(modalities=("radiologist alone", "radiologist with AI"))
    names = [str(row[0]) for row in
             readers_page.averages(alike, dx.summary(alike)).bodies[0].rows]  # fmt: skip
    assert names[0].endswith("alone")
    assert names[1].endswith("AI")
    assert names[2] == f"{names[0]} minus {names[1]}"
    assert names[4:] == [f"system system minus {name}" for name in names[:2]]


def test_the_lead_says_how_sure_it_is():
    for gain, words in ((0.8, "tool is better than alone with probability"),
                        (0.0, "It is not settled whether")):  # fmt: skip
        simulated = study(gain=gain, n_readers=6, n_cases=90)
        result = plain(
            readers_page._sentences(
                "headline", readers_page.headline(simulated, dx.summary(simulated))
            )
        )
        assert result.startswith(words)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
@pytest.mark.usefixtures("no_pictures")
def test_boxes_are_careful_where_the_study_warns(page):
    assert [box.state for box in readers_page.boxes(study(), {})] == ["fine"] * 4
    table, _ = scores(n_readers=3, n_cases=24)
    table["score"] *= -1
    few = dx.reader_study(table, "ill", draws=500, random_seed=1)
    states = [box.state for box in readers_page.boxes(few, concerns(few))]
    assert states == ["fine", "careful", "careful", "stop"]
    text = page(few).text
    assert "Do not rely on these numbers" in text
    assert "Positive cases have lower scores than negative ones" in text
    assert "Plan a further study" not in text
    panel, _ = scores(n_readers=3, seed=3)
    votes = dx.annotations(
        {"item": panel["case"], "annotator": panel["reader"] + panel["modality"],
         "label": (panel["score"] > 0.5).astype(int)},
    )  # fmt: skip
    fit = dx.models.symmetric_confusion.fit(votes, draws=100, random_seed=1, progressbar=False)
    estimated = dx.reader_study(scores()[0], fit, random_seed=1)
    box = readers_page.boxes(estimated, concerns(estimated))[0]
    assert box.state == "careful"
    assert "The truth is estimated" in box.reason
    steps = readers_page.steps(estimated, concerns(estimated))
    assert steps[0].startswith("Find out the true labels of some cases, drawn at random")


@pytest.mark.usefixtures("no_pictures")
def test_readers_of_these_cases_only(page):
    table, _ = scores(modalities=("all",))
    fixed = dx.reader_study(
        table, "ill", new_readers=False, new_cases=False, draws=50, random_seed=1
    )
    text = re.sub(r"\s+", " ", page(fixed).text)
    assert "The average area under the ROC curve of readers is" in text
    assert "these readers and these cases" in text
    assert "analyse this one for new readers and new cases." in text
    assert "[" not in text[text.index("The average area") :][:80]
    assert "averages are for these readers only" in text


@pytest.mark.usefixtures("no_pictures")
def test_three_modalities_and_partial_areas_have_a_page(page):
    table, _ = scores(modalities=("a", "b", "c"))
    three = dx.reader_study(table, "ill", max_false_positive_rate=0.6, draws=200, random_seed=1)
    text = re.sub(r"\s+", " ", page(three).text)
    assert "analyse two modalities at a time" in text
    assert "Mean sensitivities at false positive rates up to .6" in text


@pytest.mark.long
@pytest.mark.usefixtures("no_pictures")
def test_a_study_from_a_file_has_the_same_page(result, tmp_path):
    result.to_netcdf(tmp_path / "study.nc")
    pages = []
    for name, source in (("now", result), ("then", xr.open_dataset(tmp_path / "study.nc"))):
        pages.append(dx.report(source, tmp_path / f"{name}.html").read_text(encoding="utf-8"))
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    "part",
    [
        lambda study: study.isel(modality=[1, 0]),
        lambda study: study.isel(modality=0),
        lambda study: study.sel(reader=["r1", "r2"]),
        lambda study: study[["average_auc", "difference"]],
    ],
)
def test_parts_of_a_study_are_refused(result, part, tmp_path):
    for call in (dx.summary, lambda data: dx.report(data, tmp_path / "x.html")):
        with pytest.raises(ArgumentError, match="expected a whole reader study"):
            call(part(result))


def test_what_is_no_study_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"or a Dataset from dissensus\.reader_study"):
        dx.report(xr.Dataset(), tmp_path / "report.html")
