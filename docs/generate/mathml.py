"""Formulas as MathML, which browsers show without a script from elsewhere."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert


def _mathml(tex: str, display: str) -> str:
    """Convert a formula; several lines are aligned."""
    tex = tex.replace(r"\arg", r"\operatorname{arg}")  # which the converter does not know
    outside = re.sub(r"\\begin\{(\w+)\}.*?\\end\{\1\}", "", tex, flags=re.S)
    if r"\\" in outside:
        tex = rf"\begin{{array}}{{rlrlrl}}{tex}\end{{array}}"  # it does not know aligned
    out = re.sub("<mtext>(.*?)</mtext>", _text, convert(tex, display=display), flags=re.S)
    # Browsers align cells by style only.
    out = re.sub('columnalign="(left|right|center)"', r'style="text-align: \1"', out)
    ElementTree.fromstring(out)  # noqa: S314 - own text; an error if elements are not closed
    return out


def _text(found: re.Match[str]) -> str:
    r"""Return a text as HTML: PyMC's models have ``<shared>`` and ``\_`` in theirs."""
    words = found.group(1).replace(r"\_", "_")
    return f"<mtext>{words.replace('<', '&lt;').replace('>', '&gt;')}</mtext>"


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: Any) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body += [_mathml(part, "block") for part in node.astext().split("\n\n") if part.strip()]
    writer.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
