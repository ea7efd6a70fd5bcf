"""Compare results of the library with whole real panels: part of `make validate`.

From sets with ten labels per item or more, 3, 5 and 10 labels are drawn. Estimated agreements of
systems from these labels are compared with the agreements with the whole panel. Methods: votes (the
share of items on which a system gives the leading label; ties count in part; a bootstrap of the
items); a flat prior, the former default (`prior_count=1`); a prior learned without predictions; and
the default. For differences, all systems are in one fit.

Each result is saved when it is computed, and a stopped run is resumed. The tables are written to
`docs/validation/`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from machine import described
from panel_data import KINDS, PANELS, TOGETHER, Drawn, Panel, drawn

import dissensus as dx
from dissensus.kernels.random import item_keys
from dissensus.metrics._insight import draw_insights, lean

DOCS = Path(__file__).resolve().parents[1] / "docs" / "validation"
PROB = 0.89
SIZES = (3, 5, 10)
METHODS: dict[str, dict[str, Any] | None] = {
    "votes": None,
    "flat prior": {"prior_count": 1.0},
    "learned, no predictions": {},
    "default": {"predictions": True},
}
SAMPLE = ("chain", "draw")


def main() -> None:
    """Compute the missing results, and write the tables."""
    options = _asked()
    warnings.simplefilter("ignore", dx.DissensusWarning)
    results = Path(options.results)
    results.parent.mkdir(exist_ok=True)
    done = (
        [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    )
    if not options.tables:
        have = {(row["set"], row["kind"], row["n"], row["seed"]) for row in done}
        with results.open("a") as file:
            for row in _panel_rows(options, have):
                file.write(json.dumps(row) + "\n")
                file.flush()
                done.append(row)
    DOCS.mkdir(exist_ok=True)
    text = f"{panel_tables(pd.DataFrame(done))}\n{described()}\n"
    (DOCS / "panel.md").write_text(text)
    print(text)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", choices=list(PANELS), default=list(PANELS))
    parser.add_argument("--seeds", type=int, default=2, help="draws of labels for each set")
    parser.add_argument("--results", default="build/real_data_panel.jsonl", help="file to add to")
    parser.add_argument("--tables", action="store_true", help="of what is in the file already")
    return parser.parse_args()


def _panel_rows(options: argparse.Namespace, have: set[Any]) -> Iterator[dict[str, Any]]:
    for name in options.sets:
        panel = PANELS[name]()
        for kind in (*KINDS, TOGETHER):
            for n in SIZES:
                for seed in range(options.seeds):
                    if (name, kind, n, seed) not in have:
                        for study in drawn(panel, kind, n, seed):
                            here = {"set": name, "kind": kind, "n": n, "seed": seed}
                            for row in _judged(panel, study, seed, together=kind == TOGETHER):
                                yield here | row
        print(name, flush=True)


def _judged(panel: Panel, study: Drawn, seed: int, *, together: bool) -> Iterator[dict[str, Any]]:
    ann = dx.annotations(study.annotations, labels=panel.labels)
    scored = {"score": "score"} if "score" in study.predictions else {}
    pred = dx.predictions(study.predictions, **scored)
    counts = dx.schema.label_counts(ann)
    for method, options in METHODS.items():
        if together and method not in ("votes", "default"):
            continue
        start = time.perf_counter()
        if options is None:
            draws, shares = (
                _votes(counts, first_labels(pred, panel.labels), seed),
                counts / counts.sum(1, keepdims=True),
            )
        else:
            options = options | ({"predictions": pred} if "predictions" in options else {})
            fit = dx.models.dirichlet.fit(
                ann, draws=100, random_seed=seed, progressbar=False, **options
            )
            theta = fit["posterior"]["plausibility"]
            codes = first_labels(pred, panel.labels)
            draws = by_panel(theta, counts, study, codes, seed)
            if method == "default":
                draws = _leaned(draws, pred, seed)
            draws = {name: right.mean(axis=-1).ravel() for name, right in draws.items()}
            shares = theta.mean(SAMPLE).values
            # Of the panel's own shares some labels are known already.
            left = study.size - counts.sum(1)
            shares = (counts + shares * left[:, None]) / study.size[:, None]
        seconds = time.perf_counter() - start
        away = 0.5 * np.abs(shares - study.shares).sum(1).mean()
        truth = dict(study.truth)
        if together:
            for first, second in itertools.combinations(list(draws), 2):
                draws[f"{first} less {second}"] = draws[first] - draws[second]
                truth[f"{first} less {second}"] = truth[first] - truth[second]
        for system, values in draws.items():
            low, high = np.quantile(values, [(1 - PROB) / 2, (1 + PROB) / 2])
            yield {
                "method": method, "system": str(system), "truth": truth[system],
                "estimate": float(np.mean(values)), "low": float(low), "high": float(high),
                "away": float(away), "seconds": seconds, "items": len(counts),
                "panel": float(np.median(study.size)), "labels": counts.shape[1],
            }  # fmt: skip


def first_labels(pred: Any, labels: list[str]) -> dict[str, Any]:
    """Return each system's first labels, in the order of items."""
    place = pd.Index(labels).get_indexer([str(name) for name in pred["label"].values])
    first = pred["label_code"].isel(position=0).sortby("item")
    return {str(name): place[first.sel(system=name).values] for name in pred["system"].values}


def _votes(counts: Any, codes: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return how often the leading label is given; items by the Bayesian bootstrap."""
    top = counts == counts.max(1, keepdims=True)
    credit = top / top.sum(1, keepdims=True)
    weight = np.random.default_rng(seed).dirichlet(np.ones(len(counts)), 1000)
    return {name: weight @ credit[np.arange(len(counts)), code] for name, code in codes.items()}


def by_panel(
    theta: Any, counts: Any, study: Drawn, codes: dict[str, Any], seed: int
) -> dict[str, Any]:
    """Return draws of each system's agreement with the whole panel, of which some labels are seen.

    Draws are (chain, draw, item); ties count in part. With the hundred labels of ChaosNLI this is
    close to the agreement with a large panel; with ten labels it is not.
    """
    rng = np.random.default_rng(seed)
    left, rows = study.size - counts.sum(1), np.arange(len(counts))
    drawn = theta.transpose(*SAMPLE, "item", "label").values
    out = {name: np.empty(drawn.shape[:3]) for name in codes}
    for place in np.ndindex(*drawn.shape[:2]):
        plausibility = drawn[place]
        whole = counts + rng.multinomial(left, plausibility / plausibility.sum(1, keepdims=True))
        top = whole == whole.max(1, keepdims=True)
        credit = top / top.sum(1, keepdims=True)
        for name, code in codes.items():
            out[name][place] = credit[rows, code]
    return out


def _leaned(draws: dict[str, Any], pred: Any, seed: int) -> dict[str, Any]:
    """Add insight to draws of agreement, as an evaluation does."""
    some = next(iter(draws.values()))
    insight = draw_insights(pred, some.shape[:2], seed)
    keys = item_keys(np.arange(some.shape[2]), len(some), seed=seed)
    dims = (*SAMPLE, "item")
    return {
        name: lean(xr.DataArray(right, dims=dims), insight.sel(system=name, drop=True), keys).values
        for name, right in draws.items()
    }


# -- Tables --------------------------------------------------------------------------------


def scored(table: pd.DataFrame) -> pd.DataFrame:
    """Add error, coverage, width and score of the interval (Gneiting & Raftery 2007)."""
    width = table["high"] - table["low"]
    miss = (table["low"] - table["truth"]).clip(lower=0) + (table["truth"] - table["high"]).clip(
        lower=0
    )
    return table.assign(
        error=table["estimate"] - table["truth"], holds=(miss < 1e-9).astype(float), width=width,
        score=width + 2 / (1 - PROB) * miss,
    )  # fmt: skip


def panel_tables(rows: pd.DataFrame) -> str:
    """Write one table of methods, and one of sets and kinds of systems by the default."""
    rows = scored(rows)
    rows["size"] = rows["error"].abs()
    both = rows[rows["kind"] == TOGETHER]
    rows = rows[rows["kind"] != TOGETHER]
    numbers = "mean error | mean abs. error | 89 % coverage | width | score | TV to the panel | s |"
    line = "--:|" * 7
    out = [f"| systems | method | labels | {numbers}", f"|---|---|--:|{line}"]
    for (kind, method, n), part in rows.groupby(["kind", "method", "n"], sort=False):
        out.append(_line([kind, method, str(n)], part))
    out += ["", "All systems in one fit: agreement of each kind of system, and differences between "
            "two systems (first minus second):", ""]  # fmt: skip
    out += [f"| agreement of | method | labels | {numbers}", f"|---|---|--:|{line}"]
    of = both["system"].map(_kinds).rename("of")
    for (pair, method, n), part in both.groupby([of, "method", "n"]):
        out.append(_line([pair, method, str(n)], part))
    out += ["", "The default, by set:", ""]
    out += [f"| set | items | possible labels | panel size | systems | labels drawn | {numbers}"]
    out += [f"|---|--:|--:|--:|---|--:|{line}"]
    own = rows[rows["method"] == "default"]
    for (name, kind, n), part in own.groupby(["set", "kind", "n"], sort=False):
        row = part.iloc[0]
        head = [name, f"{row['items']:,}", f"{row['labels']}", f"{row['panel']:g}", kind, str(n)]
        out.append(_line(head, part))
    return "\n".join(out) + "\n"


def _kinds(name: str) -> str:
    """Return the kind of a system, or the kinds of two in the order of their difference."""
    names = {"noisy": "noisy", "share": "where people err", "perso": "one of the panel"}
    return " minus ".join(names.get(word[:5], "real") for word in name.split(" less "))


def _line(head: list[str], part: pd.DataFrame) -> str:
    cells = [f"{part['error'].mean():+.3f}", f"{part['size'].mean():.3f}",
             f"{part['holds'].mean():.2f}", f"{part['width'].mean():.3f}",
             f"{part['score'].mean():.3f}", f"{part['away'].mean():.3f}",
             f"{part['seconds'].mean():.1f}"]  # fmt: skip
    return f"| {' | '.join([*head, *cells])} |"


if __name__ == "__main__":
    main()
