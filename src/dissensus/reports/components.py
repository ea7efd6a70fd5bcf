"""The section of a report on variance components of labels and pools of annotators."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import plots
from dissensus.dims import POOL, SAMPLE, SCALE
from dissensus.evaluation.evidence import BOOTSTRAP, MODEL, PAIR, summary
from dissensus.plots._source import interval_settings
from dissensus.reports import evidence
from dissensus.reports.evidence import Facts, interval_title
from dissensus.reports.sections import Section
from dissensus.reports.sentences import Name, paragraph, sentences
from dissensus.reports.svg import picture
from dissensus.reports.tables import Body, Table, between
from dissensus.wording import coefficient_title, counted, number, probability, share, short


def row_of(
    frame: pd.DataFrame, quantity: str, pool: Any = None, pair: Any = None,
    scale: str | None = None, by: str = MODEL,
) -> Any:  # fmt: skip
    """Return a row of the summary of components, or None."""
    keep = (frame["quantity"] == quantity) & (frame["by"] == by)
    for column, value in ((POOL, pool), (PAIR, pair)):
        keep &= frame[column].isna() if value is None else frame[column] == value
    if scale is not None:
        keep &= frame[SCALE] == scale
    rows = frame[keep]
    return None if rows.empty else rows.iloc[0]


def components(evaluation: xr.DataTree, *, page: bool = True) -> Section | None:
    """Return the section, if a model of components was fitted; without ``page`` as plain text."""
    if not evidence.has(evaluation, "components"):
        return None
    frame = summary(evaluation, "components")
    attrs = evaluation["components"].attrs
    has_pools = POOL in evaluation["components"].dims
    rows = frame[(frame["quantity"] == "icc") & (frame[SCALE] == "observed")]
    means = (
        share(row["mean"]) if row[POOL] is None else f"{short(row[POOL])} {share(row['mean'])}"
        for _, row in rows.iterrows()
    )  # fmt: skip
    facts = {
        "interval": interval_title(), "model": attrs["model"], "family": attrs["hyper_family"],
        "means": ", ".join(means), "has_pools": has_pools,
        "has_crosses": has_pools or evidence.has(evaluation, "agreement")
        or bool((frame["by"] == BOOTSTRAP).any()),
    }  # fmt: skip
    return Section(
        sentences("components", component_facts(evaluation), page=page),
        component_tables(evaluation),
        paragraph("components_intro", facts, source="captions.html"),
        tuple(evidence.notes(evaluation, "components", "pools")),
        picture("components", facts, partial(plots.components, evaluation)) if page else None,
    )


# Facts.


def component_facts(evaluation: xr.DataTree) -> Facts:
    """Return components of each pool, similarities of pools, and where ICC contradicts alpha."""
    frame = summary(evaluation, "components")
    data = evaluation["components"].to_dataset()
    pools = data[POOL].to_numpy().tolist() if POOL in data.dims else [None]
    rows = frame[(frame["quantity"] == "normalized_xcc") & (frame[SCALE] == "latent")]
    rows = rows[np.isfinite(rows["mean"])].sort_values("mean", ascending=False, kind="stable")
    n_pairs = len(rows) if len(pools) > 1 else 0
    pairs = rows.to_dict("records")[: 2 if n_pairs else 0]
    if n_pairs > 2:
        pairs = [rows.iloc[0].to_dict(), rows.iloc[-1].to_dict()]
    for pair in pairs:
        for scale in ("latent", "observed"):
            pair[scale] = row_of(frame, "xcc", pair[POOL], pair[PAIR], scale)["mean"]
    return {
        "gaussian": data.attrs["hyper_family"] == "gaussian", "level": interval_settings()[1],
        "pools": [_pool_facts(data, frame, pool) for pool in pools],
        "pairs": pairs, "n_pairs": n_pairs,
        "reference": data.attrs.get("reference"), "against": list(_against(frame)),
        "apart": list(_apart(evaluation, frame)),
    }  # fmt: skip


def _pool_facts(data: xr.Dataset, frame: pd.DataFrame, pool: Any) -> Facts:
    return {
        "name": pool,
        "icc": row_of(frame, "icc", pool, scale="latent"),
        "annotator_icc": row_of(frame, "annotator_icc", pool, scale="latent"),
        "observed": row_of(frame, "icc", pool, scale="observed"),
        "mean_reliability": row_of(frame, "mean_reliability", pool),
        "n_labels": _n_labels(data, pool),
    }


def _n_labels(data: xr.Dataset, pool: Any) -> float:
    """Return the number of labels of a typical item."""
    return float(data["n_labels"] if pool is None else data["n_labels"].sel({POOL: pool}))


def _against(frame: pd.DataFrame) -> Any:
    """Yield which pool of a pair is closer to the reference, for at most four pairs."""
    rows = frame[(frame["quantity"] == "normalized_xcc_difference") & (frame[SCALE] == "latent")]
    for row in rows.head(4).to_dict("records"):
        p, near, far = row["probability_positive"], row[POOL], row[PAIR]
        values = [row["mean"], row["lower"], row["upper"]]
        if p < 0.5:
            p, near, far = 1 - p, far, near
            values = [-row["mean"], -row["upper"], -row["lower"]]
        yield {"near": near, "far": far, "p": p,
               **dict(zip(("mean", "lower", "upper"), values, strict=True))}  # fmt: skip


def _apart(evaluation: xr.DataTree, frame: pd.DataFrame) -> Any:
    """Yield pools whose ICC and alpha have intervals that do not overlap."""
    for pool, alpha in _alphas(evaluation, frame):
        icc = row_of(frame, "icc", pool, scale="observed")
        if alpha["lower"] > icc["upper"] or alpha["upper"] < icc["lower"]:
            observed = {"mean": alpha["observed"], "lower": alpha["lower"], "upper": alpha["upper"]}
            yield {"pool": pool, "icc": icc, "alpha": observed}


def _alphas(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[tuple[Any, Any]]:
    """Return each pool with its row of alpha; none if alpha's distance is not that of the ICC."""
    family = evaluation["components"].attrs["hyper_family"]
    if "pools" in evaluation.children:
        if family != "bernoulli" and evaluation["pools"].attrs["distance"] != "interval":
            return []
        rows = frame[frame["quantity"] == "krippendorff_alpha"]
        return [(row[POOL], row) for _, row in rows.iterrows()]
    if not evidence.has(evaluation, "agreement"):
        return []
    names = {"gaussian": ["krippendorff_alpha_interval"],
             "bernoulli": ["krippendorff_alpha", "krippendorff_alpha_nominal"]}  # fmt: skip
    rows = summary(evaluation, "statistics")
    rows = rows[rows["statistic"].isin(names.get(family, []))]
    return [(None, row) for _, row in rows.iterrows()]


def outweighed(evaluation: xr.DataTree) -> list[Facts]:
    """Return the pools whose annotators probably explain more of the variance than the items."""
    if not evidence.has(evaluation, "components"):
        return []
    data = evaluation["components"].to_dataset()
    chance = data.get("annotators_outweigh_items")
    if chance is None:
        return []
    pools = data[POOL].to_numpy().tolist() if POOL in chance.dims else [None]
    out = []
    for pool, p in zip(pools, np.atleast_1d(chance.to_numpy()).tolist(), strict=True):
        mean = None
        if {"mean_reliability", "n_labels"} <= set(data) and _n_labels(data, pool) > 1:
            own = data["mean_reliability"]
            mean = float((own if pool is None else own.sel({POOL: pool})).mean(SAMPLE))
        if p > 0.5:
            out.append({"pool": pool, "probability": p, "sure": p > 0.95,
                        "mean": mean if mean is not None and np.isfinite(mean) else None,
                        "count": _n_labels(data, pool) if mean is not None else 1})  # fmt: skip
    return out


# Tables.


_NOTE: Final = (
    "The shares of item, annotator and residual add up to 1. ICC: the correlation of two "
    "annotators' labels of an item. An annotator ICC above the ICC means that a label depends more "
    "on the annotator than on the item."
)
_LATENT: Final = " Shares are on the latent scale; the observed scale is that of the labels."


def component_tables(evaluation: xr.DataTree) -> list[Table]:
    """Return the components; with pools, also their similarities and differences."""
    frame = summary(evaluation, "components")
    data = evaluation["components"].to_dataset()
    tables = [_shares(evaluation, data, frame)]
    if POOL in data.dims:
        tables.append(_pairs(data, frame))
    if "reference" in data.attrs:
        tables.append(_differences(data, frame))
    return tables


def _head(first: str) -> list[Any]:
    return [first, "Mean", f"Interval, {evidence.level()}"]


def _line(title: Any, row: Any, value: str = "mean") -> list[Any]:
    return [title, share(row[value]), between(row)]


def _shares(evaluation: xr.DataTree, data: xr.Dataset, frame: pd.DataFrame) -> Table:
    """Return the shares of variance, reliabilities and alpha of each pool."""
    gaussian = data.attrs["hyper_family"] == "gaussian"
    bodies = []
    for pool in data[POOL].to_numpy().tolist() if POOL in data.dims else [None]:
        quantities: list[tuple[str, str, str | None]] = [
            ("Item (ICC)", "icc", "latent"),
            ("Annotator (annotator ICC)", "annotator_icc", "latent"),
            ("Residual", "residual_share", None),
        ]
        if not gaussian:
            quantities += [("ICC, observed scale", "icc", "observed"),
                       ("Annotator ICC, observed scale", "annotator_icc", "observed")]  # fmt: skip
        mean = f"Reliability of the mean of {number(_n_labels(data, pool))}"
        quantities.append((mean, "mean_reliability", None))
        lines = [
            (title, row_of(frame, name, pool, scale=scale)) for title, name, scale in quantities
        ]
        rows = [_line(title, row) for title, row in lines if row is not None]
        chance = row_of(frame, "annotators_outweigh_items", pool)
        if chance is not None:
            rows.append(["P(annotator ICC above ICC)", probability(chance["mean"]), ""])
        rows += _alpha_rows(evaluation, frame, pool)
        bodies.append(Body(-1, rows, "" if pool is None else short(pool)))
    title = "Components of a label's variance, and reliability"
    note = _NOTE if gaussian else _NOTE + _LATENT
    return Table("table-components", title, _head("Quantity"), bodies, note)


def _alpha_rows(evaluation: xr.DataTree, frame: pd.DataFrame, pool: Any) -> list[list[Any]]:
    if pool is not None:
        row = row_of(frame, "krippendorff_alpha", pool, by=BOOTSTRAP)
        if row is None:
            return []
        level = str(evaluation["pools"].attrs["distance"])
        return [_line(f"Krippendorff's alpha, {level}, without a model", row, "observed")]
    rows = summary(evaluation, "statistics")
    rows = rows[rows["statistic"].str.startswith("krippendorff_alpha")].head(1)
    return [
        _line(f"{coefficient_title(row['statistic'])}, without a model", row, "observed")
        for _, row in rows.iterrows()
    ]


def _pairs(data: xr.Dataset, frame: pd.DataFrame) -> Table:
    """Return the similarity of each pair of pools, with and without a model."""
    quantities = [
        ("Normalised xCC", "normalized_xcc", "latent"),
        ("Normalised xCC, observed scale", "normalized_xcc", "observed"),
        ("xCC", "xcc", "latent"),
        ("xCC, observed scale", "xcc", "observed"),
    ]
    if data.attrs["hyper_family"] == "gaussian":
        quantities = quantities[::2]
    bodies = []
    pairs = frame[(frame["quantity"] == "xcc") & (frame[SCALE] == "observed")]
    for a, b in zip(pairs[POOL], pairs[PAIR], strict=True):
        rows = [_line(title, row_of(frame, name, a, b, scale)) for title, name, scale in quantities]
        for title, name in (("Normalised cross-kappa, without a model", "normalized_cross_kappa"),
                            ("Cross-kappa, without a model", "cross_kappa")):  # fmt: skip
            row = row_of(frame, name, a, b, by=BOOTSTRAP)
            rows += [] if row is None else [_line(title, row, "observed")]
        shared = counted(int(data["n_items_shared"].sel({POOL: a, PAIR: b})), "item")
        bodies.append(Body(-1, rows, f"{short(a)} and {short(b)}, {shared} in common"))
    note = (
        "Normalised xCC: the correlation of the pools' opinions of an item, without the noise of "
        "single labels. xCC: the correlation of two labels, one from each pool. A normalised "
        "cross-kappa is a ratio of estimates, and may exceed 1."
    )
    return Table("table-pools", "Similarity of pools", _head("Quantity"), bodies, note)


def _differences(data: xr.Dataset, frame: pd.DataFrame) -> Table:
    """Return differences between pools in their similarity to the reference, and in ICC."""
    titles = {
        "icc_difference": "ICC minus the ICC of the reference",
        "normalized_xcc_difference": "Normalised xCC with the reference, first minus second",
        "xcc_difference": "xCC with the reference, first minus second",
    }
    bodies = []
    for name, title in titles.items():
        rows = frame[(frame["quantity"] == name) & (frame[SCALE] == "observed")]
        body = [
            [*_line(Name(row[POOL] if row[PAIR] is None else f"{row[POOL]} minus {row[PAIR]}"),
                    row), probability(row["probability_positive"])]
            for _, row in rows.iterrows()
        ]  # fmt: skip
        if body:
            bodies.append(Body(-1, body, title))
    note = "On the observed scale." if data.attrs["hyper_family"] != "gaussian" else ""
    title = f"Pools and {short(data.attrs['reference'])}"
    return Table("table-differences", title, [*_head("Pools"), "P(above 0)"], bodies, note)
