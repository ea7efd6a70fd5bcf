"""Matplotlib figures as part of a page: text that follows its theme, the same bytes every time."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from io import StringIO
from typing import Any, Final

import matplotlib as mpl
from markupsafe import Markup

from dissensus.plots import _style as look
from dissensus.plots._tips import PREFIX, wanted

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
