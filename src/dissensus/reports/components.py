"""What the report says of a label's variance: items, annotators, and pools of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus import plots
from dissensus.dims import POOL, SCALE
from dissensus.evaluation.rows import BOOTSTRAP, PAIR
from dissensus.evaluation.summary import summary
from dissensus.reports import numbers as facts
from dissensus.reports.language import Name, Sentence, sentence, text
from dissensus.reports.pictures import Shown, picture
from dissensus.reports.tables import Table, interval, row_of, tables
from dissensus.wording import (
    capital,
    counted,
    interval_name,
    number,
    percent,
    share,
    spoken_probability,
)

FAMILIES: Final = {
    "gaussian": "numbers, normally distributed about what the item and the annotator add up to",
    "ordinal": "ordered labels, cut out of a latent scale on which item and annotator add up",
    "bernoulli": "two labels, the odds of which are what the item and the annotator add up to",
}
_IN_WORDS: Final = 4


@dataclass(frozen=True)
class Part:
    """All that is said of variance components."""

    intro: str
    words: list[Sentence]
    notes: list[str]
    picture: Shown
    tables: list[Table]


def section(evaluation: xr.DataTree) -> Part | None:
    """Return words, picture and tables; nothing where no model of components was fitted."""
    if not facts.has(evaluation, "components"):
        return None
    frame = summary(evaluation, "components")
    return Part(_intro(evaluation), words(evaluation, frame), notes(evaluation),
                _picture(evaluation, frame), tables(evaluation, frame))  # fmt: skip


def _intro(evaluation: xr.DataTree) -> str:
    attrs = evaluation["components"].attrs
    family = str(attrs["hyper_family"])
    return (
        f"Under the model {attrs['model']}, of the family {family}: {FAMILIES[family]}. Intervals "
        "speak of new items and of new annotators like these."
    )


def notes(evaluation: xr.DataTree) -> list[str]:
    """Return what there is to note about the fit and about pools, once each."""
    lines = [
        line
        for group in ("components", "pools")
        if group in evaluation.children
        for line in str(evaluation[group].attrs.get("notes", "")).splitlines()
        if line
    ]
    return list(dict.fromkeys(lines))


def words(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[Sentence]:
    """Say what explains a label, pool by pool, and how alike the pools are."""
    data = evaluation["components"].to_dataset()
    pools = data[POOL].to_numpy().tolist() if POOL in data.dims else [None]
    out = [_shares(data, frame, pool, first=pool == pools[0]) for pool in pools[:_IN_WORDS]]
    if len(pools) > _IN_WORDS:
        more = counted(len(pools) - _IN_WORDS, "more pool")
        out.append(sentence("{more} in the table.", more=f"{more} {_are(len(pools) - _IN_WORDS)}"))
    out += _alike(frame) if len(pools) > 1 else []
    return out + _against(evaluation, frame) + parted(evaluation, frame)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _shares(data: xr.Dataset, frame: pd.DataFrame, pool: Any, *, first: bool) -> Sentence:
    """Say what one pool's labels are made of."""
    _, prob = facts.settings()
    icc, annotator = (row_of(frame, n, pool, scale="latent") for n in ("icc", "annotator_icc"))
    gaussian = data.attrs["hyper_family"] == "gaussian"
    return sentence(
        "An item explains {item} of {what}{whose}{people}{level}. "
        "{as_given}{mean}.",
        item=_percent(icc),
        what="a label's variance" if gaussian else "the variance behind a label",
        whose=() if pool is None else sentence(" of {pool}", pool=Name(str(pool))),
        people="" if annotator is None else f", the annotator {_percent(annotator)}",
        level=f"; in brackets are {percent(prob)} intervals" if first else "",
        as_given="" if gaussian else _as_given(frame, pool),
        mean=_mean_label(data, frame, pool, capital_letter=gaussian),
    )  # fmt: skip


def _as_given(frame: pd.DataFrame, pool: Any) -> str:
    row = row_of(frame, "icc", pool, scale="observed")
    return (
        f"As they are given, two annotators' labels of one item correlate at {share(row['mean'])} "
        f"[{interval(row)}]; "
    )


def _mean_label(data: xr.Dataset, frame: pd.DataFrame, pool: Any, *, capital_letter: bool) -> str:
    row = row_of(frame, "mean_reliability", pool)
    k = float(data["n_labels"] if pool is None else data["n_labels"].sel({POOL: pool}))
    several = f"the mean of the {number(k)} labels of a typical item"
    said = "one label of an item" if k <= 1 else several
    said += f" has reliability {share(row['mean'])} [{interval(row)}]"
    return capital(said) if capital_letter else said


def _percent(row: Any) -> str:
    """Write a share of variance with its interval, in percent."""
    low, high = (f"{100 * row[name]:.0f}" for name in ("lower", "upper"))
    return f"{percent(round(row['mean'], 2))} [{low} to {high}]"


def _alike(frame: pd.DataFrame) -> list[Sentence]:
    """Name the pools that are most and least alike."""
    rows = frame[(frame["quantity"] == "normalized_xcc") & (frame[SCALE] == "latent")]
    rows = rows[np.isfinite(rows["mean"])].sort_values("mean", ascending=False, kind="stable")
    if rows.empty:
        return []
    shown = [rows.iloc[0]] if len(rows) == 1 else [rows.iloc[0], rows.iloc[-1]]
    out = []
    for place, row in enumerate(shown):
        each = row_of(frame, "xcc", row[POOL], row[PAIR], scale="observed")
        most = "" if len(rows) == 1 else ("most " if place == 0 else "least ")
        out.append(sentence(
            "{a} and {b} see the items {most}alike: with the noise of single labels taken away "
            "their opinions correlate at {rho} [{interval}] (normalised xCC), and one label of "
            "each at {xcc} (xCC).",
            a=Name(str(row[POOL])), b=Name(str(row[PAIR])), most=most or "so far ",
            rho=share(row["mean"]), interval=interval(row), xcc=share(each["mean"]),
        ) if place == 0 else sentence(
            "{a} and {b} see them {most}alike: {rho} [{interval}], and one label of each {xcc}.",
            a=Name(str(row[POOL])), b=Name(str(row[PAIR])), most=most,
            rho=share(row["mean"]), interval=interval(row), xcc=share(each["mean"]),
        ))  # fmt: skip
    return out


def _against(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[Sentence]:
    """Say which pool sees the items more as the reference does."""
    reference = evaluation["components"].attrs.get("reference")
    rows = frame[(frame["quantity"] == "normalized_xcc_difference") & (frame[SCALE] == "latent")]
    out = []
    for _, row in rows.head(_IN_WORDS).iterrows():
        swap = row["probability_positive"] < 0.5
        near, far = (row[PAIR], row[POOL]) if swap else (row[POOL], row[PAIR])
        p = 1 - row["probability_positive"] if swap else row["probability_positive"]
        bounds = sorted([-row["lower"], -row["upper"]]) if swap else [row["lower"], row["upper"]]
        out.append(sentence(
            "{near} sees the items more as {reference} does than {far} does with probability {p} "
            "(normalised xCC {by} higher [{low} to {high}]).",
            near=Name(str(near)), far=Name(str(far)), reference=Name(str(reference)),
            p=spoken_probability(p), by=share(abs(row["mean"])),
            low=share(bounds[0]), high=share(bounds[1]),
        ))  # fmt: skip
    return out


def parted(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[Sentence]:
    """Point out where ICC and alpha, which ask the same of labels as given, are far apart."""
    found = []
    for pool, alpha in _alphas(evaluation, frame):
        icc = row_of(frame, "icc", pool, scale="observed")
        if alpha["lower"] > icc["upper"] or alpha["upper"] < icc["lower"]:
            found.append(sentence(
                "{whose}The ICC of labels as given is {icc} [{one}], and alpha, which needs no "
                "model, {alpha} [{two}]: the items are not spread as the model has them. As to how "
                "far annotators agree, rely on alpha.",
                whose=() if pool is None else sentence("{pool}: ", pool=Name(str(pool))),
                icc=share(icc["mean"]), one=interval(icc), alpha=share(alpha["observed"]),
                two=interval(alpha),
            ))  # fmt: skip
    return found


def _alphas(evaluation: xr.DataTree, frame: pd.DataFrame) -> list[tuple[Any, Any]]:
    """Return alpha pool by pool, where it looks at labels as the ICC does: by squares."""
    family = evaluation["components"].attrs["hyper_family"]
    if "pools" in evaluation.children:
        if family != "bernoulli" and evaluation["pools"].attrs["distance"] != "interval":
            return []
        rows = frame[frame["quantity"] == "krippendorff_alpha"]
        return [(row[POOL], row) for _, row in rows.iterrows()]
    if not facts.has(evaluation, "agreement"):
        return []
    names = {"gaussian": ["krippendorff_alpha_interval"],
             "bernoulli": ["krippendorff_alpha", "krippendorff_alpha_nominal"]}  # fmt: skip
    rows = summary(evaluation, "statistics")
    rows = rows[rows["statistic"].isin(names.get(family, []))]
    return [(None, row) for _, row in rows.iterrows()]


def _picture(evaluation: xr.DataTree, frame: pd.DataFrame) -> Shown:
    kind, prob = facts.settings()
    pools = POOL in evaluation["components"].dims
    same = "alpha, cross-kappa and its normalised form" if pools else "Krippendorff's alpha"
    crossed = pools or (frame["by"] == BOOTSTRAP).any() or facts.has(evaluation, "agreement")
    caption = sentence(
        "Dots: means; bars: {interval}s, of labels as they are given. ICC: the correlation of two "
        "annotators' labels of one item; annotator ICC: of one annotator's labels of two items; "
        "mean label: its reliability for as many labels as an item typically has.{pools}{cross}",
        interval=interval_name(prob, kind),
        pools=" xCC: the correlation of two labels of one item, one from each pool; normalised: "
        "of the whole pools' opinions." if pools else "",
        cross=f" Crosses: the same without a model ({same})." if crossed else "",
    )  # fmt: skip
    rows = frame[(frame["quantity"] == "icc") & (frame[SCALE] == "observed")]
    said: list[str] = []
    for _, row in rows.iterrows():
        said += ["" if row[POOL] is None else Name(str(row[POOL])), f" {share(row['mean'])}, "]
    return picture(
        "components", "How reliable labels are", caption,
        text(("Intraclass correlations with intervals. Means of ICC: ", *said, "and more.")),
        lambda figsize: plots.components(evaluation, figsize=figsize),
    )  # fmt: skip
