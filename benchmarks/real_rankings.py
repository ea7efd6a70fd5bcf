"""Compare priors of rankings by held-out readers: part of `make validate`.

The data are dermatologists' differential diagnoses of real cases. One reader of a case is the
system, one is held out, and the model sees some of the others. The table in `docs/validation/` has
the log score of the label that the held-out reader puts first, and how often this is the leading
label.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import described

import dissensus as dx
from dissensus.families.rankings.process import prior_of

HERE = Path(__file__).resolve().parents[1]
DATA = HERE.parent / "shared" / "data" / "dermatology" / "rankings.csv"
COLUMNS = {"label": "class", "rank": "rank"}
N_LABELS = 419
METHODS: dict[str, dict[str, Any]] = {
    "prior of one label in total": {"concentration": None},
    "learned, no predictions": {},
    "default": {"predictions": True},
    "as `dx.evaluate`, no predictions": {"first_labels": True},
    "as `dx.evaluate`": {"first_labels": True, "predictions": True},
}


def main() -> None:
    """Fit, and write the table."""
    warnings.simplefilter("ignore", dx.DissensusWarning)
    frame = pd.read_csv(DATA)
    frame["reader"] = frame["annotator"].str.split("_").str[1].astype(int)
    rows = [row for n_readers in (1, 2, 3) for row in _rows(frame, n_readers)]
    head = ("readers seen", "method", "cases", "log score", "estimated share", "true share",
            "plausibility of the leading label", "held-out readers who put it first",
            "s")  # fmt: skip
    lines = [f"| {' | '.join(head)} |", "|--:|---|--:|--:|--:|--:|--:|--:|--:|"]
    lines += [
        "| {readers} | {method} | {cases} | {score:.3f} | {says:.3f} | {seen:.3f} | {top:.3f} | "
        "{hit:.3f} | {seconds:.1f} |".format(**row)
        for row in rows
    ]
    text = "\n".join([*lines, "", described(), ""])
    (HERE / "docs" / "validation" / "rankings.md").write_text(text)
    print(text)


def _rows(frame: pd.DataFrame, n_readers: int) -> list[dict[str, Any]]:
    """Judge all methods on the cases that have enough readers."""
    enough = frame.groupby("item")["reader"].max() >= n_readers + 2
    frame = frame[frame["item"].isin(enough.index[enough])]
    seen = frame[(frame["reader"] > 2) & (frame["reader"] <= n_readers + 2)]
    ann = dx.annotations(seen, labels=list(range(N_LABELS)), **COLUMNS)
    system = frame[frame["reader"] == 1].assign(system="a reader")
    pred = dx.predictions(system, **COLUMNS)
    first = {who: _first(frame[frame["reader"] == who]) for who in (1, 2)}
    together = {item: len(first[1][item] & first[2][item]) / len(first[1][item])
                / len(first[2][item]) for item in first[2]}  # fmt: skip
    out = []
    for method, options in METHODS.items():
        settings = dict(options, predictions=pred if options.get("predictions") else None)
        start = time.process_time()
        if settings.pop("first_labels", False):
            settings["concentration"] = prior_of(
                ann, predictions=settings["predictions"], draws=1000, chains=4, tune=500,
                random_seed=1, progressbar=False, first_labels=True,
            )  # fmt: skip
        fit = dx.models.plackett_luce.fit(ann, random_seed=1, progressbar=False, **settings)
        seconds = time.process_time() - start
        share = _shares(fit["posterior"]["plausibility"].mean(("chain", "draw")))
        logs = [np.log(np.mean([share(item, x) for x in of])) for item, of in first[2].items()]
        top, leads = _leading(fit["posterior"]["plausibility"].mean(("chain", "draw")))
        hit = [(leads[item] in of) / len(of) for item, of in first[2].items()]
        says = [np.mean([share(item, ranking) for ranking in first[1][item]]) for item in first[2]]
        out.append({
            "readers": n_readers, "method": method, "cases": len(logs), "score": np.mean(logs),
            "top": top, "hit": np.mean(hit), "says": np.mean(says),
            "seen": np.mean(list(together.values())), "seconds": seconds,
        })  # fmt: skip
    return out


def _first(rows: pd.DataFrame) -> dict[Any, set[int]]:
    """Return the labels that a reader puts first, of each case."""
    return rows[rows["rank"] == 1].groupby("item")["class"].agg(set).to_dict()


def _shares(mean: Any) -> Any:
    """Return a function that says how plausible a label of a case is."""
    labels, sizes = mean["candidate_label"].to_numpy(), mean["candidate_size"].to_numpy()
    values, row = mean.to_numpy(), {item: k for k, item in enumerate(mean["item"].to_numpy())}

    def share(item: Any, label: int) -> float:
        k = row[item]
        named = (labels[k] == label) & (sizes[k] == 1)
        return float(values[k][named][0] if named.any() else values[k, -1] / sizes[k, -1])

    return share


def _leading(mean: Any) -> tuple[float, dict[Any, int]]:
    """Return the mean plausibility of leading labels, and these labels by case."""
    values, labels = mean.to_numpy(), mean["candidate_label"].to_numpy()
    top = values.argmax(axis=1)
    leads = np.take_along_axis(labels, top[:, None], axis=1)[:, 0].tolist()
    return float(values.max(axis=1).mean()), dict(zip(mean["item"].to_numpy(), leads, strict=True))


if __name__ == "__main__":
    main()
