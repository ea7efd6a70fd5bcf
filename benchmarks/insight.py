"""What systems knew of real panels beyond what a few labels showed: the numbers behind `insight`.

For each system of `panel_data`, by how much the log odds of its answers to be the panel's leading
label must be more than a fit of the few labels says, so that the agreement comes out as it was.
The table goes to `docs/validation/insight.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import described
from panel_data import KINDS, PANELS, drawn
from real_data import SAMPLE, SIZES, by_panel, first_labels
from scipy.optimize import minimize

import dissensus as dx

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "insight.md"
GRID = np.linspace(-4, 6, 501)
NORMAL = np.linspace(-3, 3, 121)
SHARES = {"real": 1.0, "one of the panel": 1.0, "where people err": 1.0, "noisy": 1 / 3}
"""How many systems of each kind one meets, as we think: noise that pays no heed to how evenly the
panel is split is a limit."""


def main() -> None:
    """Find the numbers, and write the table."""
    warnings.simplefilter("ignore", dx.DissensusWarning)
    rows = pd.DataFrame(row for name in PANELS if name != "ferplus_counts" for row in _rows(name))
    parts = ["| systems | labels | systems judged | mean | sd | of it by chance |"]
    parts += ["|---|--:|--:|--:|--:|--:|"]
    for (kind, n), part in rows.groupby(["kind", "n"], sort=False):
        chance = np.sqrt((part["chance"] ** 2).mean())
        parts += [f"| {kind} | {n} | {len(part)} | {part['insight'].mean():+.2f} | "
                  f"{part['insight'].std():.2f} | {chance:.2f} |"]  # fmt: skip
    parts += ["", "Shifted lognormals of the greatest likelihood, each set left out in turn:", ""]
    parts += ["| left out | 5.5 % | median | 94.5 % | mean |", "|---|--:|--:|--:|--:|"]
    for name in ["none", *rows["set"].unique()]:
        found = _fitted(rows[rows["set"] != name])
        low, middle, high = np.interp([-1.598, 0, 1.598], NORMAL, found)
        mean = np.average(found, weights=np.exp(-(NORMAL**2) / 2))
        parts += [f"| {name} | {low:+.2f} | {middle:+.2f} | {high:+.2f} | {mean:+.2f} |"]
    PAGE.write_text("\n".join([*parts, "", described(), ""]))
    print(PAGE.read_text())


def _rows(name: str) -> Iterator[dict[str, Any]]:
    panel = PANELS[name]()
    for kind in KINDS:
        for n in SIZES:
            for study in drawn(panel, kind, n, 0):
                ann = dx.annotations(study.annotations, labels=panel.labels)
                scored = {"score": "score"} if "score" in study.predictions else {}
                pred = dx.predictions(study.predictions, **scored)
                counts = dx.schema.label_counts(ann)
                fit = dx.models.dirichlet.fit(
                    ann, draws=100, random_seed=0, progressbar=False, predictions=pred
                )
                theta = fit["posterior"]["plausibility"].transpose(*SAMPLE, ...)
                right = by_panel(theta, counts, study, first_labels(pred, panel.labels), 0)
                for system, draws in right.items():
                    found, chance = _insight(draws, study.truth[system])
                    yield {"set": name, "kind": kind, "n": n, "insight": found, "chance": chance}


def _insight(right: Any, truth: float) -> tuple[float, float]:
    """Return the log odds that are lacking, and their standard error."""
    p = right.mean((0, 1))
    odds = np.exp(GRID)[:, None]
    agreement = (p * odds / (1 - p + p * odds)).mean(1)
    slope = (p * (1 - p)).mean()
    return float(np.interp(truth, agreement, GRID)), float(right.mean(-1).std() / slope)


def _fitted(rows: pd.DataFrame) -> Any:
    """Return the insights at `NORMAL` of the distribution they are most probable under."""
    share = rows["kind"].map(SHARES) / rows.groupby("kind")["kind"].transform("size")
    seen, chance = (rows[name].to_numpy()[:, None] for name in ("insight", "chance"))

    def insights(given: Any) -> Any:
        return np.exp(given[0] + np.exp(given[1]) * NORMAL) - given[2]

    def unlikely(given: Any) -> float:
        near = np.exp(-(((seen - insights(given)) / chance) ** 2) / 2 - NORMAL**2 / 2) / chance
        return -float((share * np.log(near.sum(1) + 1e-12)).sum())

    best = minimize(unlikely, [-1.6, 0.0, 0.15], method="Nelder-Mead", options={"maxiter": 2000})
    return insights(best.x)


if __name__ == "__main__":
    main()
