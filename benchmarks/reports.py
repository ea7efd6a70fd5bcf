"""Height and words of reports on real annotations of six kinds, as a browser lays them out.

    uv run --group browser python benchmarks/reports.py --out build/reports

Each report is written and photographed, on a desk (1,280 pixels wide) and a phone (400). Chromium
must be installed.
"""

from __future__ import annotations

import argparse
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from data import SHARED
from playwright.sync_api import sync_playwright
from truth_data import STUDIES, systems

import dissensus as dx

WIDTHS = (1280, 400)
RUN = {"draws": 500, "random_seed": 1, "progressbar": False, "on_missing": "drop"}


def main() -> None:
    """Write the reports, and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/reports"))
    parser.add_argument("--only", nargs="*", choices=list(KINDS), default=list(KINDS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    print("| annotations | pixels at 1,280 | at 400 | words | wider than the phone |")
    print("|---|--:|--:|--:|---|")
    for name in options.only:
        path = dx.report(KINDS[name](), options.out / f"{name}.html", overwrite=True)
        desk, phone = (_size(path.resolve(), width) for width in WIDTHS)
        wider = "yes" if phone[2] > WIDTHS[1] else "no"
        print(f"| {name} | {desk[0]:,} | {phone[0]:,} | {desk[1]:,} | {wider} |", flush=True)


def _size(path: Path, width: int) -> tuple[int, int, int]:
    """Return height, words and width of a page as it opens, and photograph it."""
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(path.as_uri())
        scripts = (
            "document.documentElement.scrollHeight",
            "document.body.innerText.split(/\\s+/).length",
            "document.documentElement.scrollWidth",
        )
        actual = [int(page.evaluate(script)) for script in scripts]
        page.screenshot(path=path.with_suffix(f".{width}.png"), full_page=True)
        browser.close()
    height, words, whole = actual
    return height, words, whole


def _with_truth(name: str) -> xr.DataTree:
    """Evaluate systems that err in known ways, with 30 known labels."""
    study = STUDIES[name]()
    made = systems(study, np.random.default_rng(1)).items()
    rows = [
        labels.rename("label").reset_index().assign(system=system) for system, (_, labels) in made
    ]
    known = study.gold.sample(30, random_state=1).to_dict()
    pred = dx.predictions(pd.concat(rows))
    return dx.evaluate(study.annotations(), pred, truth=known, **RUN)


def _aspects() -> xr.DataTree:
    folder = SHARED / "cebab_aspects"
    pred = dx.read_predictions(folder / "predictions.csv")
    return dx.evaluate(dx.read_annotations(folder / "annotations.csv"), pred, **RUN)


def _rankings() -> xr.DataTree:
    """Take one dermatologist of each case for a system, beside the same answers shuffled."""
    table = pd.read_csv(SHARED / "dermatology" / "rankings.csv")
    table = table[table["item"].isin(table["item"].unique()[:200])]
    held = table["annotator"] == table.groupby("item")["annotator"].transform("first")
    answers = table[held]
    other = answers.assign(**{"class": np.random.default_rng(1).permutation(answers["class"])})
    both = pd.concat([answers.assign(system="a dermatologist"), other.assign(system="shuffled")])
    both = both.drop_duplicates(["system", "item", "class"])
    how: dict[str, Any] = {"label": "class", "rank": "rank"}
    ann = dx.annotations(table[~held], labels=range(419), **how)
    return dx.evaluate(ann, dx.predictions(both, **how), **RUN)


def _scores() -> xr.DataTree:
    """Say of translations whether they are good: more than 70 points."""
    table, answers = (
        pd.read_csv(SHARED / "mlqe_pe_da" / f"{name}.csv.gz") for name in ("ratings", "predictions")
    )
    items = table["item"].unique()[:400]
    table, answers = (part[part["item"].isin(items)] for part in (table, answers))
    rank = answers["model_scores"].rank(pct=True)
    score = np.quantile(table["label"], rank)
    pred = dx.predictions(
        {"item": answers["item"], "system": ["model"] * len(answers), "label": score},
        kind="continuous",
    )
    ann = dx.annotations(table[["item", "annotator", "label"]], kind="continuous")
    return dx.evaluate(ann, pred, threshold=70.0, **RUN)


def _numbers() -> xr.DataTree:
    """Score videos without a threshold: four of 26 raters, and two systems made of the others."""
    table = pd.read_csv(SHARED / "nflx_video_quality" / "ratings.csv")
    seen = table["annotator"].isin(["s01", "s02", "s03", "s04"])
    panel = table[~seen].groupby("item")["label"].mean()
    rng = np.random.default_rng(0)
    labels = [panel.to_numpy() + rng.normal(0, sd, len(panel)) for sd in (0.3, 0.9)]
    pred = dx.predictions(
        {"item": [*panel.index] * 2, "system": np.repeat(["near", "far"], len(panel)),
         "label": np.concatenate(labels)}, kind="continuous",
    )  # fmt: skip
    return dx.evaluate(dx.annotations(table[seen], kind="continuous"), pred, **RUN)


def _grades() -> xr.DataTree:
    """Ordered labels of many annotators, without systems."""
    table = pd.read_csv(SHARED / "popquorn_offensiveness" / "ratings.csv.gz")
    table = table[table["item"].isin(table["item"].unique()[:200])]
    ann = dx.annotations(table[["item", "annotator", "label"]], kind="ordinal")
    return dx.evaluate(ann, **RUN)


KINDS: dict[str, Callable[[], xr.DataTree]] = {
    "labels, 30 known": lambda: _with_truth("drug_relations, experts"),
    "labels of radiologists, 30 known": lambda: _with_truth("cad_radiologists"),
    "labels": _aspects,
    "grades, no systems": _grades,
    "scores, with a threshold": _scores,
    "scores": _numbers,
    "rankings": _rankings,
}


if __name__ == "__main__":
    main()
