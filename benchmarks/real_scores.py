"""Errors and correlations of systems that predict numbers: a few raters against many.

The methods see a few of each item's raters. The others form two groups: the systems' predictions
are made from one, and the known answers from the other. These are mean squared errors and
correlations against the group's mean, without the noise of that mean. Methods are the mean score of
each item, and `dx.score_error` of fits of `models.normal_scores` without and with predictions as
evidence. The table is written to `docs/validation/scores.md`. With ``--part``, raters scored a
third of the items, 100 at most, and systems predicted all: errors on all items are compared with
estimates from the labelled items alone, over `PARTS` draws of raters and items.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from data import SHARED
from machine import described

import dissensus as dx

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "scores.md"
MOST_ITEMS = 400
PARTS = 4
QUANTITIES = ("mean_squared_error", "correlation")
METHODS = ("mean score", "no predictions", "default")
Z = 1.598
"""Half the width of an 89 % interval in standard deviations."""


class Study(NamedTuple):
    """Scores of all raters of a set (item, rater), and how many of them are seen."""

    name: str
    scores: np.ndarray
    seen: int


def studies() -> Iterator[Study]:
    """Read the sets with six raters of an item or more."""
    faces = pd.read_csv(SHARED / "mdns_faces" / "ratings.csv.gz")
    for name, rows in faces[faces["group"] == "six_scales"].groupby("dimension"):
        yield Study(f"mdns_faces, {name}", _wide(rows, "annotator"), 3)
    videos = pd.read_csv(SHARED / "nflx_video_quality" / "ratings.csv")
    yield Study("nflx_video_quality", _wide(videos, "annotator"), 3)
    sentences = pd.read_csv(SHARED / "mlqe_pe_da" / "ratings.csv.gz")
    for name, rows in sentences.groupby("group"):
        scores = _wide(rows, "annotator")
        if scores.shape[1] >= 6:
            yield Study(f"mlqe_pe_da, {name}", scores, 2)


def _wide(rows: pd.DataFrame, raters: str) -> np.ndarray:
    table = rows.pivot(index="item", columns=raters, values="label")
    table = table.loc[:, table.notna().mean() > 0.9].dropna()
    return table.to_numpy(float)[:MOST_ITEMS]


class Drawn(NamedTuple):
    """The seen scores of a study, the systems' numbers, and the known answer."""

    name: str
    seen: np.ndarray
    """(item, rater)"""
    systems: dict[str, np.ndarray]
    answer: np.ndarray
    noise: np.ndarray
    """(item): variance of the answer's error."""
    spread: float
    variance: float


def drawn(study: Study, rng: np.random.Generator) -> Drawn | None:
    """Draw raters and systems; None if items hardly differ, so that the answer is all noise."""
    scores = np.array([rng.permutation(row) for row in study.scores])
    if study.name.startswith("nflx"):  # raters are the same people on all items: keep them
        scores = study.scores[:, rng.permutation(study.scores.shape[1])]
    n, raters = scores.shape
    half = (raters - study.seen - 1) // 2
    seen, single, some, others = np.split(
        scores, np.cumsum([study.seen, 1, half]), axis=1
    )  # fmt: skip
    some, sd = some.mean(axis=1), scores.std()
    systems = {
        "one rater": single[:, 0], "several raters": some,
        "noisy": some + rng.normal(0, 0.5 * sd, n),
        "shrunk": scores.mean() + 0.4 * (some - scores.mean()) + rng.normal(0, 0.1 * sd, n),
        "unrelated": rng.permutation(single[:, 0]),
    }  # fmt: skip
    answer, noise = others.mean(axis=1), others.var(axis=1, ddof=1) / others.shape[1]
    spread = answer.var() - noise.mean()
    if spread < 0.05 * scores.var():
        return None
    return Drawn(study.name, seen, systems, answer, noise, spread, scores.var())


def judged(study: Study, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield a row for each system, method and quantity."""
    sample = drawn(study, rng)
    if sample is None:
        return
    ann = dx.from_matrix(sample.seen, kind="continuous")
    pred = _predictions(ann["item"].to_numpy(), sample.systems)
    settings = {"draws": 500, "random_seed": 1, "progressbar": False}
    fits = [dx.models.normal_scores.fit(ann, predictions=told, **settings) for told in (None, pred)]
    mean = xr.DataArray(
        sample.seen.mean(axis=1), dims="item", coords={"item": ann["item"].to_numpy()}
    )
    errors = [_bootstrapped(mean, pred), *(dx.score_error(fit, pred) for fit in fits)]
    for method, result in zip(METHODS, errors, strict=True):
        yield from _held(sample, method, result)


def of_a_part(study: Study, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield rows for raters who scored a third of the items, 100 at most; systems have all."""
    sample = drawn(study, rng)
    if sample is None:
        return
    items, settings = np.arange(len(sample.answer)), {"random_seed": 1, "progressbar": False}
    some = np.sort(rng.choice(items, min(100, len(items) // 3), replace=False))
    pred = _predictions(items, sample.systems)
    frame = pd.DataFrame(sample.seen[some], index=some).melt(
        var_name="annotator", value_name="label", ignore_index=False
    ).rename_axis("item").reset_index()  # fmt: skip
    for method, labels, weights in (
        ("all items", pred, None), ("labelled alone", pred.sel(item=some), "bayesian-bootstrap"),
    ):  # fmt: skip
        ann = dx.annotations(frame, kind="continuous", items=labels["item"])
        fit = dx.models.normal_scores.fit(ann, predictions=labels, draws=500, **settings)
        errors = dx.score_error(fit, labels, weights=weights, random_seed=1)
        yield from _held(sample, method, errors)


def _held(sample: Drawn, method: str, result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield errors, widths and coverage of the intervals of each quantity."""
    for name, values in sample.systems.items():
        apart, noise = (values - sample.answer) ** 2, sample.noise
        error = np.sqrt((4 * apart * noise + 2 * noise**2).mean() / len(noise))
        known = {
            "mean_squared_error": (apart.mean() - noise.mean(), error, sample.variance),
            "correlation": (
                np.cov(values, sample.answer, ddof=0)[0, 1]
                / (values.std() * np.sqrt(sample.spread)),
                error / (2 * np.sqrt(sample.spread * sample.variance)), 1.0,
            ),
        }  # fmt: skip
        for quantity in QUANTITIES:
            true, uncertain, unit = known[quantity]
            draws = result[quantity].sel(system=name)
            off, sd_of_draws = float(draws.mean()) - true, float(draws.std())
            yield {
                "set": sample.name, "system": name, "method": method, "quantity": quantity,
                "error": off / unit, "width": 2 * Z * sd_of_draws / unit,
                "coverage": abs(off) < Z * np.hypot(sd_of_draws, uncertain),
            }  # fmt: skip


def _predictions(items: np.ndarray, systems: dict[str, np.ndarray]) -> xr.Dataset:
    table = {"item": np.tile(items, len(systems)), "system": np.repeat(list(systems), len(items)),
             "label": np.concatenate(list(systems.values()))}  # fmt: skip
    return dx.predictions(table, kind="continuous")


def _bootstrapped(mean: xr.DataArray, predictions: xr.Dataset) -> xr.Dataset:
    """Return the errors against mean scores, with a bootstrap of the items."""
    draws = mean.expand_dims(chain=1, draw=2000)
    return dx.score_error(draws, predictions, weights="bayesian-bootstrap", random_seed=1)


# Studies that the model does not describe, and many systems.


class Simulated(NamedTuple):
    """A simulated study: means of items, their scores (item, annotator), and systems."""

    means: np.ndarray
    scores: np.ndarray
    systems: dict[str, np.ndarray]


def simulated(kind: str, rng: np.random.Generator) -> Simulated:
    """Simulate a study; the first system is the best, with an error of .5."""
    n_items, n_systems, n_scores = {
        "12 systems": (60, 12, 2), "5 systems": (60, 5, 2), "2 systems": (60, 2, 2),
    }.get(kind, (80, 2, 3))  # fmt: skip
    means, shape = rng.normal(5, 2, n_items), (n_items, n_scores)
    noise = {"lenient annotators": 0.6}.get(kind, 1.0) * rng.normal(size=shape)
    if kind == "lenient annotators":
        noise += rng.normal(0, 0.8, n_scores)
    if kind == "uneven noise":
        noise *= np.exp(rng.normal(size=(n_items, 1)))
    spread = np.linspace(0.5, 2.5, n_systems)
    systems = {f"s{k}": rng.normal(means, sd) for k, sd in enumerate(spread)}
    return Simulated(means, means[:, None] + noise, systems)


SIMULATED = ("2 systems", "5 systems", "12 systems", "lenient annotators", "uneven noise")
STUDIES = 25


def of_simulated() -> Iterator[str]:
    """Yield rows on the squared error of the best system."""
    yield "| simulated studies | true squared error | estimate | coverage |"
    yield "|---|--:|--:|--:|"
    for kind in SIMULATED:
        rows = []
        for seed in range(STUDIES):
            study = simulated(kind, np.random.default_rng(seed))
            ann = dx.from_matrix(study.scores, kind="continuous")
            pred = _predictions(ann["item"].to_numpy(), study.systems)
            fit = dx.models.normal_scores.fit(
                ann, predictions=pred, draws=200, chains=2, random_seed=seed, progressbar=False
            )
            draws = dx.score_error(fit, pred)["mean_squared_error"].sel(system="s0")
            true = ((study.systems["s0"] - study.means) ** 2).mean()
            low, high = draws.quantile([0.055, 0.945])
            rows.append((true, float(draws.mean()), float(low <= true <= high)))
        yield f"| {kind} | " + " | ".join(f"{mean:.2f}" for mean in np.mean(rows, axis=0)) + " |"


# Probabilities, against all labels of a panel.


def of_probabilities() -> Iterator[str]:
    """Yield rows on two classifiers: five of 100 labels are seen."""
    folder = SHARED / "chaosnli_snli"
    votes = pd.read_csv(folder / "votes100.csv.gz").set_index("item").iloc[:500]
    answers = pd.read_csv(folder / "predictions.csv.gz")
    pred = dx.predictions(answers[answers["item"].isin(votes.index)])
    rng = np.random.default_rng(0)
    seen = [rng.multivariate_hypergeometric(row, 5) for row in votes.to_numpy()]
    with TemporaryDirectory() as place:
        table = pd.DataFrame(seen, columns=votes.columns, index=votes.index)
        table.to_csv(path := Path(place) / "votes.csv")
        ann = dx.read_annotations(path, format="counts")
    shares = votes.div(votes.sum(axis=1), axis=0)
    names = {"item": shares.index.to_numpy(), "label": shares.columns.to_numpy()}
    whole = xr.DataArray(shares.to_numpy(), dims=("item", "label"), coords=names)
    fit = dx.models.dirichlet.fit(
        ann, predictions=pred, draws=500, random_seed=1, progressbar=False
    )
    actual, known = (dx.probability_score(x, pred) for x in (fit, whole))
    yield "| system | score | by all 100 labels | estimate | 89 % interval |"
    yield "|---|---|--:|--:|--:|"
    for system in pred["system"].to_numpy():
        for name in ("log_score", "brier_score", "total_variation", "calibration_error"):
            draws, true = (x[name].sel(system=system) for x in (actual, known))
            low, high = draws.quantile([0.055, 0.945]).to_numpy()
            yield (
                f"| {system} | {name.replace('_', ' ')} | {float(true):.3f} | "
                f"{float(draws.mean()):.3f} | {low:.3f} to {high:.3f} |"
            )


def main() -> None:
    """Fit, and write the tables."""
    warnings.simplefilter("ignore", dx.DissensusWarning)
    rng = np.random.default_rng(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="store_true", help="raters scored a part of the items")
    if parser.parse_args().part:
        rngs = [np.random.default_rng(1 + part) for part in range(PARTS)]
        rows = pd.DataFrame([
            row for rng in rngs for study in studies() for row in of_a_part(study, rng)
        ])  # fmt: skip
        print(described(), rows["set"].nunique(), "sets")
        for by in (["quantity", "method"], ["quantity", "system", "method"]):
            each = {"coverage": "mean", "width": "median", "error": "median"}
            print(rows.groupby(by).agg(each).round(3).to_string())
        return
    rows = pd.DataFrame([row for study in studies() for row in judged(study, rng)])
    print(rows.groupby(["quantity", "system", "method"])[["coverage", "width", "error"]].mean())
    result = rows.assign(absolute=rows["error"].abs()).groupby(["quantity", "method"], sort=False)
    table = result[["coverage", "width", "error", "absolute"]].mean()
    lines = ["| quantity | method | coverage | width | mean error | mean absolute error |",
             "|---|---|--:|--:|--:|--:|"]  # fmt: skip
    for (quantity, method), row in table.iterrows():
        cells = " | ".join(f"{value:.2f}" for value in row)
        lines.append(f"| {quantity.replace('_', ' ')} | {method} | {cells} |")
    sets = rows["set"].nunique()
    more = ["", *of_simulated(), "", *of_probabilities(), "", f"{sets} sets; {described()}", ""]
    PAGE.write_text("\n".join([*lines, *more]))


if __name__ == "__main__":
    main()
