"""Errors and correlations of systems that predict numbers, from a few raters, against the others.

A few of each item's raters are seen. Of the others, one group makes the systems and one the known
answer: mean squared errors and correlations against its mean, from which the noise of that mean is
subtracted. Methods are the mean score of each item, and `dx.score_error` of fits of
`models.normal_scores` without and with predictions as evidence. The table goes to
`docs/validation/scores.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from data import SHARED
from machine import described

import dissensus as dx

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "scores.md"
MOST_ITEMS = 400
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


def judged(study: Study, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield a row for each system, method and quantity."""
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
        return  # the items hardly differ: the known answer is all noise
    ann = dx.from_matrix(seen, kind="continuous")
    pred = dx.predictions(
        {"item": np.tile(ann["item"], len(systems)), "system": np.repeat(list(systems), n),
         "label": np.concatenate(list(systems.values()))}, kind="continuous",
    )  # fmt: skip
    settings = {"draws": 500, "random_seed": 1, "progressbar": False}
    fits = [dx.models.normal_scores.fit(ann, predictions=one, **settings) for one in (None, pred)]
    mean = xr.DataArray(seen.mean(axis=1), dims="item", coords={"item": ann["item"].to_numpy()})
    errors = [_bootstrapped(mean, pred), *(dx.score_error(fit, pred) for fit in fits)]
    for method, found in zip(METHODS, errors, strict=True):
        for name, values in systems.items():
            apart = (values - answer) ** 2
            error = np.sqrt((4 * apart * noise + 2 * noise**2).mean() / n)
            known = {
                "mean_squared_error": (apart.mean() - noise.mean(), error, scores.var()),
                "correlation": (
                    np.cov(values, answer, ddof=0)[0, 1] / (values.std() * np.sqrt(spread)),
                    error / (2 * np.sqrt(spread * scores.var())), 1.0,
                ),
            }  # fmt: skip
            for quantity in QUANTITIES:
                true, uncertain, unit = known[quantity]
                draws = found[quantity].sel(system=name)
                off, sd_of_draws = float(draws.mean()) - true, float(draws.std())
                yield {
                    "set": study.name, "system": name, "method": method, "quantity": quantity,
                    "error": off / unit, "width": 2 * Z * sd_of_draws / unit,
                    "holds": abs(off) < Z * np.hypot(sd_of_draws, uncertain),
                }  # fmt: skip


def _bootstrapped(mean: xr.DataArray, predictions: xr.Dataset) -> xr.Dataset:
    """Return the errors against mean scores, with a bootstrap of the items."""
    draws = mean.expand_dims(chain=1, draw=2000)
    return dx.score_error(draws, predictions, weights="bayesian-bootstrap", random_seed=1)


def main() -> None:
    """Fit, and write the table."""
    warnings.simplefilter("ignore", dx.DissensusWarning)
    rng = np.random.default_rng(1)
    rows = pd.DataFrame([row for study in studies() for row in judged(study, rng)])
    print(rows.groupby(["quantity", "system", "method"])[["holds", "width", "error"]].mean())
    found = rows.assign(absolute=rows["error"].abs()).groupby(["quantity", "method"], sort=False)
    table = found[["holds", "width", "error", "absolute"]].mean()
    lines = ["| quantity | method | holds | width | mean error | mean absolute error |",
             "|---|---|--:|--:|--:|--:|"]  # fmt: skip
    for (quantity, method), row in table.iterrows():
        cells = " | ".join(f"{value:.2f}" for value in row)
        lines.append(f"| {quantity.replace('_', ' ')} | {method} | {cells} |")
    sets = rows["set"].nunique()
    PAGE.write_text("\n".join([*lines, "", f"{sets} sets; {described()}", ""]))


if __name__ == "__main__":
    main()
