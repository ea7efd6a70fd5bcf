"""Formulas as MathML, which browsers show without a script from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def _mathml(tex: str, display: str) -> str:
    """Convert a formula; several lines are aligned."""
    tex = tex.replace(r"\arg", r"\operatorname{arg}")  # which the converter does not know
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    return convert(tex, display=display)


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
