"""Insight of systems on real panels: what they know of the panel beyond a few labels.

A system's insight is the number that must be added to the log odds, by a fit of the few labels,
that its answers are the panel's leading label, so that its estimated agreement is the true one. The
distribution of `dissensus.metrics._insight` is chosen from the systems of `panel_data` by one rule,
which is tested on each held-out set. Tables are written to `docs/validation/insight.md`.

Rows are saved set by set, and a stopped run is resumed.
"""

from __future__ import annotations

import argparse
import pickle
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import described
from panel_data import (
    KINDS,
    MORE_KINDS,
    PANELS,
    Drawn,
    Panel,
    more_systems,
    study_of,
    systems_of,
)  # fmt: skip
from real_data import PROB, SAMPLE, SIZES, by_panel, first_labels
from scipy.optimize import linprog
from scipy.stats import beta, binom, norm

import dissensus as dx
from dissensus.metrics._insight import insight_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation" / "insight.md"
GRID = np.linspace(-6, 8, 701)
NORMAL = norm.ppf((np.random.default_rng(0).permutation(400) + 0.5) / 400)
MEAN = 0.066
SHIFTS = (-0.4, -0.5, -0.6, -0.7)
SPREADS = (0.9, 1.0, 1.1, 1.2, 1.3, 1.4)
LARGE = 300
"""Minimum number of items of a set whose coverage is required."""
HOLD = 0.8
LIMITS = ("wrong where split", "right where split")
"""Kinds for which no distribution needs a sufficient coverage."""
RESPONSES = {
    "one of the panel": lambda share: share,
    "noisy, .8": lambda share: np.where(share > 0.5, 0.8, 0.2),
}
MOST_ITEMS, TAKEN = 1600, 1200
"""Sets with more items than the first are cut to the second."""
ALL_KINDS = (*KINDS, *MORE_KINDS)


def main() -> None:
    """Compute insights, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", choices=list(PANELS), default=list(PANELS))
    parser.add_argument("--results", default="build/insight", help="folder to add to")
    options = parser.parse_args()
    warnings.simplefilter("ignore", dx.DissensusWarning)
    folder = Path(options.results)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in options.sets:
        path = folder / f"{name}.pkl"
        if not path.exists():
            path.write_bytes(pickle.dumps(list(_rows(name))))
            print(name, flush=True)
        rows += pickle.loads(path.read_bytes())
    PAGE.write_text("\n".join([*_tables(pd.DataFrame(rows)), "", described(), ""]))
    print(PAGE.read_text())


def _rows(name: str) -> Iterator[dict[str, Any]]:
    panel = PANELS[name]()
    if len(panel.counts) > MOST_ITEMS:
        some = np.random.default_rng(0).permutation(len(panel.counts))[:TAKEN]
        panel = panel._replace(counts=panel.counts[some])
    for kind in ALL_KINDS:
        for n in SIZES:
            for study in _studies(panel, kind, n):
                for row in _systems(panel, study):
                    yield {"set": name, "kind": kind, "n": n} | row


def _studies(panel: Panel, kind: str, n: int) -> Iterator[Drawn]:
    rng = np.random.default_rng([0, n, ALL_KINDS.index(kind)])
    parts: Iterable[tuple[Any, dict[str, Any]]]
    if kind in KINDS:
        counts = panel.counts.copy()  # people's labels are taken out of it
        parts = [(counts, systems_of(panel, kind, counts, rng))]
    else:
        parts = more_systems(panel, kind, rng)
    for counts, systems in parts:
        if systems:
            drawing = np.random.default_rng([0, n, 77])
            yield study_of(panel.labels, counts, systems, n, drawing)


def _systems(panel: Panel, study: Drawn) -> Iterator[dict[str, Any]]:
    """Yield each system's estimated agreement by a fit, and how it changes with insight."""
    ann = dx.annotations(study.annotations, labels=panel.labels)
    scored = {"score": "score"} if "score" in study.predictions else {}
    pred = dx.predictions(study.predictions, **scored)
    counts = dx.schema.label_counts(ann)
    fit = dx.models.dirichlet.fit(
        ann, draws=100, random_seed=0, progressbar=False, predictions=pred
    )
    theta = fit["posterior"]["plausibility"].transpose(*SAMPLE, ...)
    codes = first_labels(pred, panel.labels)
    for system, draws in by_panel(theta, counts, study, codes, 0).items():
        p, agreement, truth = draws.mean((0, 1)), draws.mean(-1).ravel(), study.truth[system]
        curve = np.array([(p / (p + (1 - p) * np.exp(-insight))).mean() for insight in GRID])
        yield {
            "items": len(p), "truth": truth, "agreement": agreement, "curve": curve - p.mean(),
            "insight": float(np.interp(truth, curve, GRID)),
            "chance": float(agreement.std() / (p * (1 - p)).mean()),
            "features": _features(counts, codes[system], p),
        }  # fmt: skip


def _features(counts: Any, answer: Any, p: Any) -> Any:
    """Return features of the labels that could predict a system's insight.

    The log share of unanimous items on which it disagrees, and this minus the log share of all
    labels with which it disagrees; on other items, its agreement with labels minus the agreement of
    labels; the log odds of its estimated agreement; the share of unanimous items; and the log of
    the mean number of labels.
    """
    size = counts.sum(axis=1)
    share = counts[np.arange(len(answer)), answer] / size
    unanimous = counts.max(axis=1) == size
    wrong = np.log(1 - share[unanimous].mean() + 0.01)
    alike = ((counts / size[:, None]) ** 2).sum(axis=1)
    more = (share - alike)[~unanimous].mean()
    odds = np.log(p.mean() / (1 - p.mean()))
    missed = np.log(1 - share.mean() + 0.01)
    return np.array([wrong, wrong - missed, more, odds, unanimous.mean(), np.log(size.mean())])


# -- Tables --------------------------------------------------------------------------------


def _tables(rows: pd.DataFrame) -> list[str]:
    known = ~rows["kind"].isin(LIMITS)
    without, within = _judged(rows, 0 * NORMAL), _judged(rows, insight_of(NORMAL))
    out = ["| systems | number | mean insight | sd | sd by chance | mean error | "
           "mean abs. error | 89 % coverage without insight | with insight | "
           "width without insight | with insight |",
           f"|---|{'--:|' * 10}"]  # fmt: skip
    for kind, part in rows.groupby("kind", sort=False):
        at, chance = part.index, np.sqrt((part["chance"] ** 2).mean())
        error = within["error"][at]
        out += [f"| {kind} | {len(part)} | {part['insight'].mean():+.2f} | "
                f"{part['insight'].std():.2f} | {chance:.2f} | {error.mean():+.3f} | "
                f"{error.abs().mean():.3f} | {without['holds'][at].mean():.2f} | "
                f"{within['holds'][at].mean():.2f} | "
                f"{without['width'][at].mean():.3f} | {within['width'][at].mean():.3f} |"
                ]  # fmt: skip
    out += [
        "",
        "Each row leaves one set out. It has the narrowest distribution of insight with mean "
        f"{MEAN:.2f} whose "
        f"intervals have a coverage of {HOLD} or more on each other set of {LARGE} items or more, "
        "and the coverage on the set left out. Systems that are wrong or right where the panel is "
        "split are not counted:",
        "",
    ]
    out += ["| left out | items | 5.5 % quantile | median | 94.5 % quantile | coverage on this "
            "set | coverage by the distribution in use | its mean abs. error |",
            f"|---|{'--:|' * 7}"]  # fmt: skip
    judged = {(a, b): _judged(rows[known], _insights(a, b)) for a in SHIFTS for b in SPREADS}
    for name in ["none", *rows["set"].unique()]:
        # Two questions about the same faces are one set.
        kin = rows["set"].str.split(",").str[0] == name.split(",")[0]
        best = _narrowest(rows[known & ~kin], judged)
        low, middle, high = np.quantile(_insights(*best), [0.055, 0.5, 0.945])
        at = rows.index[known & (rows["set"] == name)]
        cells = ["", "", "", ""]
        if name != "none":
            cells = [f"{rows['items'][at].max():,}", f"{judged[best]['holds'][at].mean():.2f}",
                     f"{within['holds'][at].mean():.2f}",
                     f"{within['error'][at].abs().mean():.3f}"]  # fmt: skip
        out += [f"| {name} | {cells[0]} | {low:+.2f} | {middle:+.2f} | {high:+.2f} | "
                f"{' | '.join(cells[1:])} |"]  # fmt: skip
    explained = _explained(rows[known])
    out += ["", "Share of the variance of insight that six features of the labels explain on "
            f"held-out sets (least squares): {explained:+.2f}.", ""]  # fmt: skip
    out += ["Smallest and largest agreement with the panel that give the same distribution of "
            "labels and answers (infinitely many items, two possible labels):", ""]  # fmt: skip
    out += ["| system | true agreement | 3 labels | 5 labels | 10 labels |"]
    out += ["|---|--:|--:|--:|--:|"]
    for name, response in RESPONSES.items():
        bounds = [_bounds(n, response) for n in SIZES]
        cells = " | ".join(f"{low:.2f} to {high:.2f}" for _, low, high in bounds)
        out += [f"| {name} | {bounds[0][0]:.2f} | {cells} |"]
    return out


def _insights(shift: float, spread: float) -> Any:
    """Return insights of one candidate distribution at `NORMAL`."""
    scale = (MEAN - shift) / np.exp(spread**2 / 2)
    return scale * np.exp(spread * NORMAL) + shift


def _judged(rows: pd.DataFrame, insights: Any) -> pd.DataFrame:
    """Return errors, coverage and widths of intervals of agreement with these insights."""
    base, curve = np.stack(rows["agreement"]), np.stack(rows["curve"])
    place = (insights.clip(GRID[0], GRID[-1] - 1e-9) - GRID[0]) / (GRID[1] - GRID[0])
    low, part = place.astype(int), place % 1
    draws = base + curve[:, low] * (1 - part) + curve[:, low + 1] * part
    truth = rows["truth"].to_numpy()
    ends = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2], axis=1)
    holds = (ends[0] <= truth) & (truth <= ends[1])
    return pd.DataFrame(
        {"error": draws.mean(axis=1) - truth, "holds": holds, "width": ends[1] - ends[0]},
        index=rows.index,
    )


def _narrowest(rows: pd.DataFrame, judged: dict[tuple[float, float], pd.DataFrame]) -> Any:
    """Return the narrowest candidate with a sufficient coverage on each large set."""
    large = rows[rows.groupby("set")["items"].transform("max") >= LARGE]
    widths = {}
    for candidate, table in judged.items():
        if table["holds"][large.index].groupby(large["set"]).mean().min() >= HOLD:
            widths[candidate] = np.ptp(np.quantile(_insights(*candidate), [0.055, 0.945]))
    return min(widths, key=widths.__getitem__) if widths else (SHIFTS[-1], SPREADS[-1])


def _explained(rows: pd.DataFrame) -> float:
    """Return the explained share of the variance on held-out sets; each kind has one weight."""
    features = np.nan_to_num(np.stack(rows["features"]))
    design = np.column_stack([np.ones(len(rows)), (features - features.mean(0)) / features.std(0)])
    result, sets = rows["insight"].clip(-2, 3).to_numpy(), rows["set"].str.split(",").str[0]
    weight = 1 / rows.groupby("kind")["kind"].transform("size").to_numpy()
    predicted, constant = np.empty(len(rows)), np.empty(len(rows))
    for name in sets.unique():
        out = (sets == name).to_numpy()
        root = np.sqrt(weight[~out])
        slopes = np.linalg.lstsq(design[~out] * root[:, None], result[~out] * root, rcond=None)[0]
        predicted[out] = design[out] @ slopes
        constant[out] = np.average(result[~out], weights=weight[~out])
    lost = (weight * (result - predicted) ** 2).sum()
    return float(1 - lost / (weight * (result - constant) ** 2).sum())


def _bounds(n: int, response: Any) -> tuple[float, float, float]:
    """Return a system's agreement, and the smallest and largest that n labels per item permit.

    There are infinitely many items with the labels "yes" and "no" and shares of "yes" from
    Beta(1.2, .8), and the system says "yes" with probability ``response`` (share). The labels show
    how often the system gives each answer to items with each number of "yes". These are linear
    constraints on the distribution of shares given the answer, and agreement is linear too.
    """
    edges = np.linspace(0, 1, 201)
    share = (edges[1:] + edges[:-1]) / 2
    mass = np.diff(beta(1.2, 0.8).cdf(edges))
    seen = np.stack([binom.pmf(k, n, share) for k in range(n + 1)])
    zero = np.zeros_like(seen)
    constraints = np.block([[seen, zero], [zero, seen]])
    joint = np.concatenate([mass * response(share), mass * (1 - response(share))])
    agrees = np.concatenate([share > 0.5, share < 0.5]).astype(float)
    ends = [
        sign * linprog(sign * agrees, A_eq=constraints, b_eq=constraints @ joint).fun
        for sign in (1, -1)
    ]
    return float(agrees @ joint), *ends


if __name__ == "__main__":
    main()
