"""Which pictures a report shows, and Matplotlib figures as part of a page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from html import escape
from io import StringIO
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import xarray as xr
from markupsafe import Markup

from dissensus import plots
from dissensus.dims import CHAIN, ITEM, LABEL, RELIABILITY, SCOPE, SYSTEM
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.plots._source import NEW, THESE
from dissensus.plots._style import PREFIX, wanted
from dissensus.reports import numbers as facts
from dissensus.reports.language import Name, Sentence, sentence, text
from dissensus.reports.words import digits
from dissensus.wording import (
    capital,
    counted,
    interval_name,
    metric_title,
    number,
    probability,
    share,
)

# Matplotlib figures as part of a page: text that follows its theme, the same bytes every time.


# Colours nobody would choose, drawn with and then replaced by those of the page's theme.
_INK, _FAINT, _PAPER = "#010203", "#040506", "#fdfcfb"
_THEME: Final = {
    _INK: "currentColor",
    _FAINT: "var(--line)",
    _PAPER: "var(--paper)",
    look.DRAWS: "var(--draws)",
    **{color: f"var(--s{place})" for place, color in enumerate(look.PALETTE)},
}
_SETTINGS: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dissensus",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _FAINT,
    "figure.facecolor": _PAPER,
    "savefig.facecolor": "none",
    "legend.framealpha": 0.0,
    "text.usetex": False,
    "path.simplify_threshold": 0.2,
}
_NO_DATE: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}


@contextmanager
def _sheet() -> Iterator[None]:
    """Draw with Matplotlib's own defaults, whatever the user has set, in the page's colours."""
    import matplotlib.pyplot as plt

    with mpl.rc_context(), plt.ioff(), warnings.catch_warnings():
        # Letters that DejaVu Sans lacks: the browser has other fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        mpl.rcdefaults()
        for name, value in _SETTINGS.items():
            mpl.rcParams[name] = value
        yield


def drawn(draw: Callable[[], Any], prefix: str, words: str) -> Markup:
    """Draw a figure and return it as SVG to stand in an HTML page.

    Parameters
    ----------
    draw : callable
        Makes the figure, or a PlotCollection of Matplotlib's.
    prefix : str
        Keeps the ids of several figures on one page apart.
    words : str
        What the figure shows, for those who cannot see it.

    Returns
    -------
    markupsafe.Markup
    """
    import matplotlib.pyplot as plt

    with _sheet(), wanted():
        made = draw()
        figure = made.viz["figure"].item() if hasattr(made, "viz") else made
        buffer = StringIO()
        figure.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.03,
                       metadata=_NO_DATE)  # fmt: skip
        if hasattr(made, "viz"):
            plt.close(figure)
    return Markup(_inline(buffer.getvalue(), prefix, words))  # noqa: S704 (escaped by Matplotlib)


def _inline(svg: str, prefix: str, words: str) -> str:
    """Make a part of a page out of a document of its own."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"\s*<style type=\"text/css\">.*?</style>", "", body, count=1, flags=re.DOTALL)
    # Matplotlib puts single quotes around what has double ones in it.
    body = re.sub(rf"<g id=([\"']){PREFIX}(.*?)\1>", r'<g class="tip"><title>\2</title>', body)
    # Within tags only: between them are names, which may read like attributes. No name has a
    # "<" or ">" of its own here, as Matplotlib has escaped both.
    body = re.sub(r"<[^<>]+>", partial(_tag, numbers=_numbers(body), prefix=prefix), body)
    width, height = re.findall(r"viewBox=\"0 0 ([\d.]+) ([\d.]+)\"", body)[0]
    head = (
        f'<svg class="figure" viewBox="0 0 {float(width):.1f} {float(height):.1f}" role="img" '
        f'aria-label="{escape(words)}" style="max-width:{float(width) * 4 / 3:.0f}px" '
        'stroke-linejoin="round" stroke-linecap="butt">'
    )
    return head + re.sub(r"\n\s*", "\n", body[body.index(">") + 1 :]).strip()


def _numbers(body: str) -> dict[str, str]:
    """Return ids that are the same every time.

    Matplotlib hashes coordinates to the last bit, and the solver behind its layouts adds up in
    an order of its own each time: the hashes differ where nothing else does.
    """
    known = re.findall(r"<[^<>]*\bid=\"([^\"]+)\"", body)
    return {
        name: f"r{place}"
        for place, name in enumerate(dict.fromkeys(known))
        if re.fullmatch(r"[A-Za-z]\w*[0-9a-f]{10}", name)
    }


def _tag(found: re.Match[str], numbers: dict[str, str], prefix: str) -> str:
    """Write one tag as the page wants it."""
    tag = _prefixed(found.group(), numbers, prefix)
    tag = re.sub(r" transform=\"rotate\(-0 [^\"]*\"", "", tag)
    tag = re.sub(r"(?<= )(d|x|y|transform|points)=\"[^\"]*\"", _rounded, tag)
    return re.sub(r"style=\"[^\"]*\"", _themed, tag)


def _prefixed(tag: str, numbers: dict[str, str], prefix: str) -> str:
    """Keep the ids of a figure apart from those of others."""

    def renamed(found: re.Match[str]) -> str:
        before, name = found.groups()
        return f"{before}{prefix}-{numbers.get(name, name)}"

    tag = tag.replace("xlink:href", "href")
    return re.sub(r"(\bid=\"|href=\"#|url\(#)([^\")]+)", renamed, tag)


def _rounded(found: re.Match[str]) -> str:
    return re.sub(r"(\.\d\d)\d+", r"\1", found.group().replace(" \n", " "))


def _themed(found: re.Match[str]) -> str:
    """Put the page's colours and font in the place of the figure's."""
    style = found.group()
    for color, name in _THEME.items():
        style = style.replace(color, name)
    return re.sub(r"font-family: [^;\"]*;? ?", "", style)


# Which pictures a report shows, with what is said under them and to those who cannot see.


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
