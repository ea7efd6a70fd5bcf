"""Which pictures a report shows, with what is said under them and to those who cannot see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from markupsafe import Markup

from dissensus import plots
from dissensus._report import numbers as facts
from dissensus._report.language import Name, Sentence, sentence, text
from dissensus._report.svg import drawn
from dissensus._report.words import digits
from dissensus._wording import (
    capital,
    counted,
    interval_name,
    metric_title,
    number,
    probability,
    share,
)
from dissensus.dims import CHAIN, ITEM, LABEL, RELIABILITY, SCOPE, SYSTEM
from dissensus.plots import _pieces as pieces
from dissensus.plots._pieces import NEW, THESE

_WIDE, _NARROW = 6.9, 3.7
"""Inches: as drawn for a page or a desk, and for a phone."""
_IN_WORDS = 8


@dataclass(frozen=True)
class Shown:
    """A picture on the page."""

    id: str
    title: str
    caption: Sentence
    wide: Markup
    narrow: Markup
    doubt: str = ""
    """Why it is not to be relied on."""


def pictures(evaluation: xr.DataTree, values: xr.Dataset | None) -> Iterator[Shown]:
    """Draw all pictures that this evaluation has the data for.

    ``values`` are its `numbers`, or None without predictions.
    """
    if values is not None:
        yield from _of_systems(evaluation, values)
    yield _certainty(evaluation)
    drawn_ones = facts.draws_or_mean(evaluation)
    kept = CHAIN in drawn_ones.dims  # else chunk by chunk, and dropped
    if kept and drawn_ones.sizes.get(LABEL) == 3:
        yield _simplex(evaluation)
    if facts.has(evaluation, "expected_risk"):
        yield _risk(evaluation)
    if kept:
        yield _item(evaluation)


def picture(
    name: str, title: str, caption: Sentence, words: str, draw: Callable[..., Any]
) -> Shown:
    """Draw one picture in both widths."""
    wide, narrow = (
        drawn(partial(draw, figsize=(width, None)), f"{name}-{kind}", words)
        for kind, width in (("w", _WIDE), ("n", _NARROW))
    )
    return Shown(name, title, caption, wide, narrow)


def _of_systems(evaluation: xr.DataTree, values: xr.Dataset) -> Iterator[Shown]:
    names = [str(name) for name in values["metric"].to_numpy()]
    yield _forest(evaluation, values, names)
    if values.sizes[RELIABILITY] > 1:
        for name in dict.fromkeys([names[0], names[-1]]):
            yield _reliability(evaluation, values, name)
    yield _distribution(evaluation, values, names[0])
    if values.sizes[SYSTEM] > 1:
        yield _better(evaluation, values, names[0])


def _at(evaluation: xr.DataTree) -> str:
    """Say at which reliability, where that means something."""
    if not facts.knows_reliability(evaluation):
        return ""
    return f" at reliability {number(evaluation.attrs['reference_reliability'])}"


def _means(values: xr.Dataset, metric: str, reliability: float) -> Sentence:
    """List the systems' means, best first, for those who cannot see the picture."""
    here = values.sel({"metric": metric, RELIABILITY: reliability, SCOPE: THESE})
    here.attrs.update(values.attrs)
    d = digits(values.sel(metric=metric))
    ranked = facts.ordered(here)
    parts: list[str] = []
    for place in range(min(_IN_WORDS, ranked.sizes[SYSTEM])):
        one = ranked.isel({SYSTEM: place})
        parts += [", " if place else "", Name(str(one[SYSTEM].item())),
                  f" {share(float(one['mean']), d)}"]  # fmt: skip
    left = ranked.sizes[SYSTEM] - _IN_WORDS
    return (*parts, f" and {left} more" if left > 0 else "")


def _forest(evaluation: xr.DataTree, values: xr.Dataset, names: list[str]) -> Shown:
    reliability = float(evaluation.attrs["reference_reliability"])
    kind, prob = facts.settings()
    rows = len(names) * values.sizes[SYSTEM]
    metrics = names if rows <= 40 else names[:1]
    caption = sentence(
        "Circle: the posterior mean{at}. Thick bar: {interval} for these items; thin line: for new "
        "items like them. Cross: what one would have said ignoring the annotators' "
        "disagreement.{star}",
        at=_at(evaluation), interval=interval_name(prob, kind),
        star=" Star: the known truth." if bool(values["truth"].notnull().any()) else "",
    )  # fmt: skip
    means = _means(values, names[0], reliability)
    words = text(("Intervals. Means of ", metric_title(names[0]), ": ", *means, "."))
    return picture(
        "forest", "How the systems do", caption, words,
        lambda figsize: plots.forest(
            evaluation, metrics if figsize[0] > _NARROW else names[:1],
            backend="matplotlib", figsize=figsize,
        ),
    )  # fmt: skip


def _reliability(evaluation: xr.DataTree, values: xr.Dataset, metric: str) -> Shown:
    trust = [float(value) for value in values[RELIABILITY].to_numpy()]
    title = metric_title(metric)
    caption = sentence(
        "Reliability is how much a statement of an annotator is taken to be worth; the data do "
        "not tell it. Lines: means; dark bands: intervals for these items; pale bands: for new "
        "items. {crosses}{star}",
        crosses=_crosses(evaluation),
        star=" Stars: the known truth." if bool(values["truth"].notnull().any()) else "",
    )  # fmt: skip
    words = sentence(
        "Curves of {title} against reliability. At {a}: {low}. At {b}: {high}.", title=title,
        a=number(trust[0]), b=number(trust[-1]), low=_means(values, metric, trust[0]),
        high=_means(values, metric, trust[-1]),
    )  # fmt: skip
    return picture(
        f"reliability-{metric}", f"{capital(title)}, by how far one trusts the annotators",
        caption, text(words),
        lambda **size: plots.reliability(evaluation, metric, **size),
    )  # fmt: skip


def _crosses(evaluation: xr.DataTree) -> str:
    """Say what the crosses at the right edge stand for."""
    if evaluation.attrs.get("point_is_limit", 1):
        return "Crosses at ∞: trusting the annotators so far that their disagreement is ignored."
    return (
        f"Crosses: their disagreement ignored, {evaluation.attrs['point_estimate']} being taken "
        "for the truth."
    )


def models(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> Shown:
    """Draw the main metric under both models beside each other."""
    metric = str(numbers[0]["metric"].to_numpy()[0])
    title = metric_title(metric)
    sides = pieces.sides(evaluation)
    first, second = (str(side.attrs["model"]) for side in sides)
    caption = sentence(
        "The same systems, items and annotations under two models. Lines: means; dark bands: "
        "intervals for these items; pale bands: for new items; crosses: the annotators' "
        "disagreement ignored (under ∞ where a growing trust leads there). The vertical line "
        "marks the reliability at which the models are compared; the two scales mean different "
        "things.{star}",
        star=" Stars: the known truth." if bool(numbers[0]["truth"].notnull().any()) else "",
    )
    parts = [
        _means(values, metric, float(side.attrs["reference_reliability"]))
        for side, values in zip(sides, numbers, strict=True)
    ]
    words = sentence(
        "Curves of {title} against reliability under two models. Under {first}: {a}. Under "
        "{second}: {b}.", title=title, first=first, second=second, a=parts[0], b=parts[1],
    )  # fmt: skip
    return picture(
        "two-models", f"{capital(title)} under {first} and under {second}", caption, text(words),
        lambda **size: plots.models(evaluation, metric, **size),
    )  # fmt: skip


def _distribution(evaluation: xr.DataTree, values: xr.Dataset, metric: str) -> Shown:
    title = metric_title(metric)
    caption = sentence(
        "Where the {title} of each system may lie on new items{at}: the distribution over the "
        "draws.", title=title, at=_at(evaluation),
    )  # fmt: skip
    reliability = float(evaluation.attrs["reference_reliability"])
    words = text(("Distributions of ", title, ". Means: ", *_means(values, metric, reliability)))
    return picture(
        "distribution", f"{capital(title)} over the draws", caption, words,
        lambda **size: plots.distribution(
            evaluation, metric, backend="matplotlib", stats={"dist": {"grid_len": 128}}, **size
        ),
    )  # fmt: skip


def _better(evaluation: xr.DataTree, values: xr.Dataset, metric: str) -> Shown:
    pair = evaluation["comparison"].to_dataset()["probability_best"].sel(metric=metric, scope=NEW)
    pair = pair.sel({RELIABILITY: evaluation.attrs["reference_reliability"]})
    best = pair.isel({SYSTEM: int(pair.to_numpy().argmax())})
    words = sentence(
        "Matrix of the probability that one system is better than another. Most probably the best: "
        "{name}, with {p}.", name=Name(str(best[SYSTEM].item())), p=probability(float(best)),
    )  # fmt: skip
    caption = sentence(
        "How probably the system of the row is better in {title} than that of the column, on new "
        "items{at}. Blue: better; orange: worse; pale: undecided.",
        title=metric_title(metric), at=_at(evaluation),
    )  # fmt: skip
    most = 2.8 + 0.6 * min(12, values.sizes[SYSTEM])  # wider cells would not tell more
    return picture(
        "better", "Which is better, and how surely", caption, text(words),
        lambda figsize: plots.better(evaluation, metric, figsize=(min(figsize[0], most), None)),
    )  # fmt: skip


def _certainty(evaluation: xr.DataTree) -> Shown:
    shares = facts.certainty_shares(evaluation).sel(top=1, below=0.9)
    trust = facts.reliabilities(evaluation)
    known = facts.knows_reliability(evaluation)
    words = "; ".join(
        f"{share(float(shares[k]))} of the items below .90"
        + (f" at reliability {number(value)}" if known else "")
        for k, value in enumerate(trust)
    )
    caption = sentence(
        "How often the posterior draws agree on the leading label of an item, items in order. "
        "1 says that the annotations leave no doubt which label is the most plausible, not that "
        "the annotators were unanimous."
    )
    return picture(
        "certainty", "How sure the annotations make us of each item", caption,
        f"Curves of annotation certainty over sorted items: {words}.",
        lambda **size: plots.certainty(evaluation, **size),
    )  # fmt: skip


def _simplex(evaluation: xr.DataTree) -> Shown:
    count = evaluation["posterior"].sizes[ITEM]
    caption = sentence(
        "A corner: all the mass on one label; the middle: all three as plausible; dotted lines "
        "part the regions in which each label leads. First the means of all {items}, then, for "
        "some of them, draws (dots) and their mean (ring).", items=counted(count, "item"),
    )  # fmt: skip
    return picture(
        "simplex", "Plausibilities in the triangle of three labels", caption,
        "Triangles: means of all items, and draws of a few items from clear to unclear.",
        lambda **size: plots.simplex(evaluation, **size),
    )  # fmt: skip


def _risk(evaluation: xr.DataTree) -> Shown:
    mean = float(next(iter(evaluation["expected_risk"].to_dataset().data_vars.values())).mean())
    caption = sentence(
        "Items by expected risk: bars are means over the draws, lines intervals. The mean over "
        "all items is {mean}.", mean=number(round(mean, 2)),
    )  # fmt: skip
    return picture(
        "risk", "Expected risk", caption,
        f"Histogram of the items' expected risk; the mean is {number(round(mean, 2))}.",
        lambda **size: plots.expected_risk(evaluation, **size),
    )  # fmt: skip


def _item(evaluation: xr.DataTree) -> Shown:
    """Draw the item the annotations settle least: what all of this is about."""
    values = (
        evaluation["certainty"]
        .to_dataset()["annotation_certainty"]
        .sel({RELIABILITY: evaluation.attrs["reference_reliability"]})
    )
    place = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
    item, least = values[ITEM].to_numpy()[place].item(), share(float(values[place]))
    caption = sentence(
        "The draws agree on its leading label with certainty {least} only. Dots are draws of the "
        "plausibility of each label, bars their means, crosses the point estimate that ignores "
        "the uncertainty.", least=least,
    )  # fmt: skip
    words = sentence(
        "Annotations, plausibilities and predictions of item {name}, as in the first card under "
        "Least certain items.", name=Name(str(item)),
    )  # fmt: skip
    return picture(
        "item", "The least certain item in full", caption, text(words),
        lambda **size: plots.item(evaluation, item, **size),
    )  # fmt: skip
