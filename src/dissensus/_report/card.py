"""The first words of a model's card, out of its docstring."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_SIGNS: Final = {"infty": "∞", "to": "→", "times": "·", "le": "≤", "ge": "≥"}
_WANTED: Final = ("The story.", "Priors and why.", "When to use it.")


def card(docstring: str | None) -> tuple[str, list[str]]:
    r"""Return a card's title and the paragraphs an evaluator should have read.

    Examples
    --------
    >>> card("Coin: heads or tails.\n\nThe story. It\n:math:`\\theta_i` falls.\n\nSource: X.")
    ('Coin: heads or tails.', ['The story. It θi falls.'])
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", (docstring or "").strip()) if part.strip()]
    if not paragraphs:
        return "", []
    kept = [part for part in paragraphs[1:] if part.startswith(_WANTED)]
    return _plain(paragraphs[0]), [_plain(part) for part in kept]


def _plain(text: str) -> str:
    """Write reStructuredText as plain text; simple mathematics as it is read aloud."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r":math:`([^`]*)`", lambda found: _mathematics(found.group(1)), text)
    return text.replace("``", "").replace("`", "").replace("**", "").replace("*", "")


def _mathematics(formula: str) -> str:
    formula = re.sub(r"\\([A-Za-z]+)", lambda found: _sign(found.group(1)), formula)
    return re.sub(r"[_{}\\]", "", formula).strip()


def _sign(name: str) -> str:
    """Return the letter or sign that a TeX command stands for; nothing for layout commands."""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    greek = "LAMDA" if name.lower() == "lambda" else name.upper()
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {greek}")
    except KeyError:
        return _SIGNS.get(name, "")
