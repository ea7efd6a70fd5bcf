"""Matplotlib figures as SVG in a page: in the colours of its theme, and reproducible."""

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
from markupsafe import Markup

from dissensus.plots import _style as look
from dissensus.plots._names import PREFIX, tips
from dissensus.reports.evidence import Facts
from dissensus.reports.sentences import sentences

# Colours that no plot uses, to be replaced by those of the page's theme.
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
    "lines.solid_capstyle": "butt",
    "text.usetex": False,
    "path.simplify_threshold": 0.2,
}
_NO_DATE: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}


@contextmanager
def _sheet() -> Iterator[None]:
    """Use Matplotlib's defaults instead of the user's settings, and colours to be replaced."""
    import matplotlib.pyplot as plt

    with mpl.rc_context(), plt.ioff(), warnings.catch_warnings():
        # The browser has other fonts for letters that DejaVu Sans lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def drawn(draw: Callable[[], Any], prefix: str, words: str) -> Markup:
    """Return a figure as SVG for a page; its ids start with ``prefix``, ``words`` describe it.

    ``draw`` returns a figure, or a PlotCollection of Matplotlib.
    """
    import matplotlib.pyplot as plt

    with _sheet(), tips():
        made = draw()
        figure = made.viz["figure"].item() if hasattr(made, "viz") else made
        buffer = StringIO()
        figure.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.03,
                       metadata=_NO_DATE)  # fmt: skip
        if hasattr(made, "viz"):
            plt.close(figure)
    return Markup(_inline(buffer.getvalue(), prefix, words))  # noqa: S704 (escaped by Matplotlib)


def _inline(svg: str, prefix: str, words: str) -> str:
    """Turn an SVG document into a part of a page."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"\s*<style type=\"text/css\">.*?</style>", "", body, count=1, flags=re.DOTALL)
    # Matplotlib uses single quotes around values that contain double quotes.
    body = re.sub(rf"<g id=([\"']){PREFIX}(.*?)\1>", r'<g class="tip"><title>\2</title>', body)
    # Within tags only: a name between tags may look like an attribute. Names have no "<" or ">",
    # which Matplotlib has escaped.
    body = re.sub(r"<[^<>]+>", partial(_tag, numbers=_numbers(body), prefix=prefix), body)
    width, height = re.findall(r"viewBox=\"0 0 ([\d.]+) ([\d.]+)\"", body)[0]
    head = (
        f'<svg class="figure" viewBox="0 0 {float(width):.1f} {float(height):.1f}" role="img" '
        f'aria-label="{escape(words)}" style="max-width:{float(width) * 4 / 3:.0f}px" '
        'stroke-linejoin="round" stroke-linecap="butt">'
    )
    return head + re.sub(r"\n\s*", "\n", body[body.index(">") + 1 :]).strip()


def _numbers(body: str) -> dict[str, str]:
    """Return reproducible names for the ids of an SVG document.

    Matplotlib's ids are hashes of exact coordinates, whose last bits differ between runs.
    """
    known = re.findall(r"<[^<>]*\bid=\"([^\"]+)\"", body)
    return {
        name: f"r{place}"
        for place, name in enumerate(dict.fromkeys(known))
        if re.fullmatch(r"[A-Za-z]\w*[0-9a-f]{10}", name)
    }


def _tag(match: re.Match[str], numbers: dict[str, str], prefix: str) -> str:
    """Return a tag with unique ids, rounded numbers and colours of the theme."""
    tag = _prefixed(match.group(), numbers, prefix)
    tag = re.sub(r" transform=\"rotate\(-0 [^\"]*\"", "", tag)
    tag = re.sub(r"(?<= )(d|x|y|transform|points)=\"[^\"]*\"", _rounded, tag)
    return re.sub(r"style=\"[^\"]*\"", _themed, tag)


def _prefixed(tag: str, numbers: dict[str, str], prefix: str) -> str:
    """Add the prefix to ids and references."""

    def renamed(match: re.Match[str]) -> str:
        before, name = match.groups()
        return f"{before}{prefix}-{numbers.get(name, name)}"

    tag = tag.replace("xlink:href", "href")
    return re.sub(r"(\bid=\"|href=\"#|url\(#)([^\")]+)", renamed, tag)


def _rounded(match: re.Match[str]) -> str:
    return re.sub(r"(\.\d\d)\d+", r"\1", match.group().replace(" \n", " "))


def _themed(match: re.Match[str]) -> str:
    """Replace colours and font by those of the page."""
    style = match.group()
    for color, name in _THEME.items():
        style = style.replace(color, name)
    return re.sub(r"font-family: [^;\"]*;? ?", "", style)


WIDE, NARROW = 6.9, 3.7
"""Widths of a figure in inches, on a wide screen and on a phone."""


@dataclass(frozen=True)
class Shown:
    """A figure on the page."""

    id: str
    title: str
    caption: str
    wide: Markup
    narrow: Markup
    reason: str = ""
    """Reason not to rely on the figure."""


def picture(topic: str, facts: Facts, draw: Callable[..., Any], *, name: str = "") -> Shown:
    """Draw a figure in both widths; its title, caption and description are those of its topic."""
    name = name or topic
    title, caption, words = sentences(topic.replace("-", "_"), facts, source="captions.html")
    wide, narrow = (
        drawn(partial(draw, figsize=(width, None)), f"{name}-{kind}", words)
        for kind, width in (("w", WIDE), ("n", NARROW))
    )
    return Shown(name, title, caption, wide, narrow)
