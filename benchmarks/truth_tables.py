"""Tables and diagrams of what `latent_truth_gold.py` found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
SHOWN = 8
"""Fewest items of a bin in a diagram."""


def print_labels(table: pd.DataFrame) -> None:
    """Print accuracy, log score and LOO by study, then how far probabilities keep their word."""
    for study, rows in table.groupby("study", sort=False):
        print(f"{study}: {rows['items'].iloc[0]} items with a known truth\n")
        print("| method | right | log score | unfloored | below 1e-6 | elpd | r-hat | worst ESS |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for _, row in rows.iterrows():
            cells = [f"{row['accuracy']:.4f}", f"{row['log score']:.3f}"]
            cells += [_number(row["unfloored"], ".3f"), row["below the floor"]]
            elpd = row.get("elpd", np.nan)
            if np.isfinite(elpd):
                cells += [f"{elpd:.1f} ± {row['elpd se']:.1f}", _number(row["r-hat"], ".2f")]
                cells += [_number(row["ess"], ".0f")]
            else:
                cells += [""] * 3
            print(f"| {row['method']} | {' | '.join(map(str, cells))} |")
        print()
    print("| mean over studies | right | log score |\n|---|--:|--:|")
    n = table["study"].nunique()
    for method, rows in table.groupby("method", sort=False):
        if len(rows) == n:
            print(f"| {method} | {rows['accuracy'].mean():.4f} | {rows['log score'].mean():.3f} |")
    print("\nOf the leading label: its mean probability, how often it is right, items\n")
    for method, rows in table.groupby("method", sort=False):
        cells = [f"{mean:.3f} {share:.3f} ({n})" for mean, share, n in _bins(rows)]
        print(f"| {method} | {' | '.join(cells)} |")


def _number(value: Any, form: str) -> str:
    return "" if value is None or not np.isfinite(value) else format(value, form)


def _bins(rows: pd.DataFrame) -> list[tuple[float, float, int]]:
    top, hit = (np.concatenate(rows[name].tolist()) for name in ("top", "hit"))
    place = np.clip(np.digitize(top, BINS[1:-1], right=False), 0, len(BINS) - 2)
    out = []
    for b in range(len(BINS) - 1):
        mine = place == b
        if mine.any():
            out.append((float(top[mine].mean()), float(hit[mine].mean()), int(mine.sum())))
    return out


def save_plot(table: pd.DataFrame, path: str) -> None:
    """Draw reliability, one diagram for each method, studies pooled; small bins left out."""
    import matplotlib.pyplot as plt

    names = list(table["method"].unique())
    figure, axes = plt.subplots(
        -(-len(names) // 4), 4, figsize=(14, 3.6 * -(-len(names) // 4)), squeeze=False
    )
    for axis, method in zip(axes.ravel(), names, strict=False):
        axis.plot([0, 1], [0, 1], color="0.7")
        found = [one for one in _bins(table[table["method"] == method]) if one[2] >= SHOWN]
        mean, share, n = (np.array(part) for part in zip(*found, strict=True))
        error = 1.96 * np.sqrt(np.maximum(share * (1 - share), 0.25 / n) / n)
        axis.errorbar(mean, share, error, marker="o", markersize=4, linewidth=1)
        axis.set(title=method, xlabel="probability of the leading label", ylabel="share right")
        axis.title.set_fontsize(9)
        axis.set(xlim=(0.3, 1.02), ylim=(0, 1.02))
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def print_held_out(table: pd.DataFrame) -> None:
    """Print how often intervals hold the truth, as they are and with shared mistakes."""
    head = ["study", "model", "systems", "answers", "", "bias", "RMSE", "cover, accuracy"]
    print(f"| {' | '.join([*head, 'cover, correct', 'its length'])} |")
    print("|---|---|--:|--:|---|--:|--:|--:|--:|--:|")
    ends = {"": "as fitted", ", shared mistakes": "shared mistakes"}
    for (study, method), rows in table.groupby(["study", "method"], sort=False):
        start = f"| {study} | {method} | {len(rows)} | {rows['answers'].mean():.0f} |"
        for end, name in ends.items():
            known = rows[rows[f"system_correct mean{end}"].notna()] if _has(rows, end) else rows[:0]
            if len(known):
                print(f"{start} {name} | {' | '.join(_held(known, end))} |")
            start = "| | | | |"


def _has(rows: pd.DataFrame, end: str) -> bool:
    """Say whether results have it; those of earlier runs have not."""
    return f"system_correct mean{end}" in rows


def _held(rows: pd.DataFrame, end: str) -> list[str]:
    """Write error, coverage, and the mean length of the last interval."""
    error = rows[f"system_correct mean{end}"] - rows["share right"]
    cells = [f"{error.mean():+.3f}", f"{np.sqrt((error**2).mean()):.3f}"]
    for name in ("system_accuracy", "system_correct"):
        edges = np.array(rows[f"{name} edges{end}"].tolist())
        inside = edges[:, 0] - 1e-9 <= rows["share right"]
        inside &= rows["share right"] <= edges[:, 1] + 1e-9
        cells.append(f"{inside.mean():.2f}")
    return [*cells, f"{(edges[:, 1] - edges[:, 0]).mean():.3f}"]
