"""The tables of variance components, with agreement as observed beside them."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import xarray as xr

from dissensus._report import numbers as facts
from dissensus._report.component_rows import between, row_of
from dissensus._report.language import Name
from dissensus._report.tables import Body, Table
from dissensus._wording import coefficient_title, number, percent, probability, share, short
from dissensus.dims import POOL, SCALE
from dissensus.evaluation.rows import BOOTSTRAP, PAIR
from dissensus.evaluation.summary import summary

NOTE: Final = (
    "The shares of item, annotator and the rest add up to 1. ICC: the correlation of two "
    "annotators' labels of one item, the squared correlation of one label with the item's true "
    "score. The lower the annotator ICC the better: above the ICC a label says more about who "
    "gave it."
)
LATENT: Final = (
    " Shares are on the latent scale; as given means of labels as they were, where 1 is perfect "
    "agreement, as of alpha."
)


def tables(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[Table]:
    """Return the table of shares and, of pools, that of pairs and of differences."""
    data = evaluation["components"].to_dataset()
    if POOL not in data.dims:
        return [_shares(evaluation, data, frame, [None])]
    out = [_shares(evaluation, data, frame, data[POOL].to_numpy().tolist()), _pairs(data, frame)]
    return out if "reference" not in data.attrs else [*out, _differences(data, frame)]


def _head(first: str) -> list[Any]:
    _, prob = facts.settings()
    return [first, "Mean", f"Interval, {percent(prob)}"]


def _line(title: Any, row: Any, value: str = "mean") -> list[Any]:
    return [title, share(row[value]), between(row)]


def _shares(
    evaluation: xr.DataTree, data: xr.Dataset, frame: pd.DataFrame, pools: list[Any]
) -> Table:
    bodies = []
    for pool in pools:
        title = "" if pool is None else short(pool)
        rows = _of_pool(data, frame, pool) + _observed(evaluation, frame, pool)
        bodies.append(Body(-1, rows, title))
    note = NOTE if data.attrs["hyper_family"] == "gaussian" else NOTE + LATENT
    title = "What a label's variance is made of, and how reliable labels are"
    return Table("table-components", title, _head("Quantity"), bodies, note)


def _of_pool(data: xr.Dataset, frame: pd.DataFrame, pool: Any) -> list[list[Any]]:
    gaussian = data.attrs["hyper_family"] == "gaussian"
    k = float(data["n_labels"].sel({POOL: pool}) if pool is not None else data["n_labels"])
    wanted: list[tuple[str, str, str | None]] = [
        ("Item (ICC)", "icc", "latent"),
        ("Annotator (annotator ICC)", "annotator_icc", "latent"),
        ("The rest", "residual_share", None),
    ]
    if not gaussian:
        wanted += [("ICC, as given", "icc", "observed"),
                   ("Annotator ICC, as given", "annotator_icc", "observed")]  # fmt: skip
    wanted.append((f"Reliability of the mean of {number(k)}", "mean_reliability", None))
    found = [(title, row_of(frame, name, pool, scale=scale)) for title, name, scale in wanted]
    rows = [_line(title, row) for title, row in found if row is not None]
    chance = row_of(frame, "annotators_outweigh_items", pool)
    if chance is not None:
        rows.append(["P(annotator ICC above ICC)", probability(chance["mean"]), ""])
    return rows


def _observed(evaluation: xr.DataTree, frame: pd.DataFrame, pool: Any) -> list[list[Any]]:
    """Return alpha, which asks for no model."""
    if pool is not None:
        row = row_of(frame, "krippendorff_alpha", pool, by=BOOTSTRAP)
        if row is None:
            return []
        level = str(evaluation["pools"].attrs["distance"])
        return [_line(f"Krippendorff's alpha, {level}, as observed", row, "observed")]
    rows = summary(evaluation, "statistics")
    rows = rows[rows["statistic"].str.startswith("krippendorff_alpha")].head(1)
    return [
        _line(f"{coefficient_title(row['statistic'])}, as observed", row, "observed")
        for _, row in rows.iterrows()
    ]


def _pairs(data: xr.Dataset, frame: pd.DataFrame) -> Table:
    """Return how alike pools are, by the model and as observed, pair by pair."""
    bodies = []
    pairs = frame[(frame["quantity"] == "xcc") & (frame[SCALE] == "observed")]
    wanted = [
        ("Normalised xCC", "normalized_xcc", "latent"),
        ("Normalised xCC, as given", "normalized_xcc", "observed"),
        ("xCC", "xcc", "latent"),
        ("xCC, as given", "xcc", "observed"),
    ]
    if data.attrs["hyper_family"] == "gaussian":
        wanted = wanted[::2]
    for _, pair in pairs.iterrows():
        a, b = pair[POOL], pair[PAIR]
        rows = [_line(title, row_of(frame, name, a, b, scale)) for title, name, scale in wanted]
        for title, name in (("Normalised cross-kappa, as observed", "normalized_cross_kappa"),
                            ("Cross-kappa, as observed", "cross_kappa")):  # fmt: skip
            row = row_of(frame, name, a, b, by=BOOTSTRAP)
            rows += [] if row is None else [_line(title, row, "observed")]
        both = int(data["n_items_shared"].sel({POOL: a, PAIR: b}))
        bodies.append(Body(-1, rows, f"{short(a)} and {short(b)}, {both:,} items in common"))
    note = (
        "Normalised xCC: how alike the pools' opinions of an item are, the noise of single labels "
        "set aside; 1 if they measure the same. xCC: the correlation of one label from each. A "
        "normalised cross-kappa is a ratio of estimates, and may exceed 1."
    )
    title = "How alike pools of annotators are"
    return Table("table-pools", title, _head("Quantity"), bodies, note)


def _differences(data: xr.Dataset, frame: pd.DataFrame) -> Table:
    """Return the pools beside the reference."""
    reference = str(data.attrs["reference"])
    titles = {
        "icc_difference": "ICC, less that of the reference",
        "normalized_xcc_difference": "Normalised xCC with the reference, first less second",
        "xcc_difference": "xCC with the reference, first less second",
    }
    bodies = []
    for name, title in titles.items():
        rows = frame[(frame["quantity"] == name) & (frame[SCALE] == "observed")]
        body = []
        for _, row in rows.iterrows():
            who = str(row[POOL]) if row[PAIR] is None else f"{row[POOL]} less {row[PAIR]}"
            chance = probability(row["probability_positive"])
            body.append([*_line(Name(who), row), chance])
        if body:
            bodies.append(Body(-1, body, title))
    head = [*_head("Pools"), "P(above 0)"]
    note = "Of labels as they are given." if data.attrs["hyper_family"] != "gaussian" else ""
    title = f"Pools beside {short(reference)}"
    return Table("table-differences", title, head, bodies, note)
