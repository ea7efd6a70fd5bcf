"""Rows written as sentences, as a Markdown table, or as a LaTeX one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from dissensus._description.rows import DIFFERENCE, Described, Row
from dissensus._wording import clean, counted, interval_name, spoken_probability
from dissensus.evaluation.doubts import MARK

_EQUAL: Final = "eti"


def number(value: float, digits: int) -> str:
    """Write a number with its leading zero, which journals want of what may exceed 1.

    Examples
    --------
    >>> number(0.5, 2), number(-0.0001, 2), number(float("inf"), 0), number(float("nan"), 2)
    ('0.50', '0.00', 'infinite', 'undefined')
    """
    if np.isnan(value):
        return "undefined"
    if np.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if not float(text.replace(",", "")) else text


def _interval(row: Row) -> str:
    if np.isnan(row.lower):
        return "undefined"
    if row.lower == row.upper and np.isinf(row.lower):
        return number(row.lower, 0)
    return f"{number(row.lower, row.digits)} to {number(row.upper, row.digits)}"


def _kind(found: Described, row: Row) -> tuple[str, str]:
    """Name the middle and the interval of a row; journals write 95%, without a space."""
    kind = _EQUAL if row.is_count else found.kind
    interval = interval_name(found.level, kind).replace("\N{NO-BREAK SPACE}", "")
    return ("median" if row.is_count else "mean"), interval


def _pair(names: tuple[str, ...], what: str) -> str:
    """Write one name, or two that are set against or beside each other."""
    return (" less " if what.startswith(DIFFERENCE) else " and ").join(map(clean, names))


def _label(row: Row) -> str:
    """Say of what a number is; a name that is a number needs to be told what of."""
    parts = []
    for dim, names in row.of:
        said = _pair(names, row.what)
        known = all(re.search(r"[^\W\d]", name) for name in names)
        parts.append(said if known else f"{clean(dim)} {said}")
    return ", ".join([row.what, *parts])


def _chance(row: Row) -> str:
    return spoken_probability(row.better).replace(".", "0.")


def notes(found: Described) -> Iterator[str]:
    """Say what holds for all rows, and what does not hold."""
    said = [f"{counted(found.draws, 'draw')} in {counted(found.chains, 'chain')}"]
    if np.isfinite(found.bulk):
        said.append(f"effective draws at least {found.bulk:,.0f} in the middle and "
                    f"{found.tail:,.0f} in the tails")  # fmt: skip
    if np.isfinite(found.r_hat):
        said.append(f"r-hat at most {found.r_hat:.2f}")
    if np.isfinite(found.mcse):
        said.append(f"Monte Carlo error of the means at most {found.mcse:.1g}")
    yield f"{'; '.join(said)}."
    gone = [row for row in found.rows if row.undefined]
    if gone:
        most = max(row.undefined for row in gone)
        share = f"up to {most:.1%}" if most >= 0.0005 else "less than 0.1%"
        yield (f"Draws in which a number is undefined are left out: {share} of them, in "
               f"{counted(len(gone), 'row')}.")  # fmt: skip
    doubts: dict[str, list[str]] = {}
    for row in found.rows:
        if row.doubt:
            doubts.setdefault(row.doubt, []).append(_label(row))
    for doubt, rows in doubts.items():
        which = "all of this" if len(rows) == len(found.rows) else "; ".join(rows[:5])
        more = f" and {len(rows) - 5} more" if which != "all of this" and len(rows) > 5 else ""
        yield f"Not to be relied on ({doubt}): {which}{more}."


def text(found: Described) -> str:
    """Write sentences."""
    lines = []
    for row in found.rows:
        middle, interval = _kind(found, row)
        better = "" if np.isnan(row.better) else (
            f"; the first is better with probability {_chance(row)}")  # fmt: skip
        doubt = f" {MARK}" if row.doubt else ""
        lines.append(f"{_label(row)}: {middle} {number(row.middle, row.digits)} ({interval} "
                     f"{_interval(row)}{better}){doubt}.")  # fmt: skip
    return "\n".join([*lines, *notes(found)])


def _table(found: Described, escape: Callable[[str], str]) -> tuple[list[str], list[list[str]]]:
    """Lay out head and cells: dims, middle, interval, and what else some row has."""
    dims = list(dict.fromkeys(dim for row in found.rows for dim, _ in row.of))
    kinds = list(dict.fromkeys(_kind(found, row) for row in found.rows))
    compared = any(not np.isnan(row.better) for row in found.rows)
    mixed = len(kinds) > 1
    head = ["", *map(clean, dims), *(("", "interval") if mixed else kinds[0])]
    head += ["P(first is better)"] if compared else []
    cells = []
    for row in found.rows:
        of = dict(row.of)
        middle, interval = _kind(found, row)
        said = [row.what, *(_pair(of[dim], row.what) if dim in of else "" for dim in dims)]
        value, ends = number(row.middle, row.digits), _interval(row)
        said += [f"{middle} {value}", f"{ends} ({interval})"] if mixed else [value, ends]
        said[-1] += f" {MARK}" if row.doubt else ""
        said += [_chance(row) if not np.isnan(row.better) else ""] if compared else []
        cells.append([escape(one) for one in said])
    return [escape(one) for one in head], cells


def markdown(found: Described) -> str:
    """Write a table in Markdown, what is said of all below it."""
    head, cells = _table(found, _for_markdown)
    n_names = len(head) - 2 - (head[-1].startswith("P("))
    rule = "|".join(["---"] * n_names + ["--:"] * (len(head) - n_names))
    lines = [_line(head), f"|{rule}|", *map(_line, cells)]
    return "\n".join([*lines, "", *(_for_markdown(one) for one in notes(found))])


def _line(cells: list[str]) -> str:
    return re.sub(r"  +", " ", f"| {' | '.join(cells)} |")


def _for_markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#$&~])", r"\\\1", text)


def latex(found: Described) -> str:
    """Write a ``tabular``, what is said of all below it."""
    head, cells = _table(found, _for_latex)
    n_names = len(head) - 2 - (head[-1].startswith("P("))
    columns = "l" * n_names + "r" * (len(head) - n_names)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", rf"{' & '.join(head)} \\",
             r"\midrule", *(rf"{' & '.join(row)} \\" for row in cells), r"\bottomrule",
             r"\end{tabular}"]  # fmt: skip
    return "\n".join([*lines, "", *(_for_latex(one) for one in notes(found))])


_LATEX: Final = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "[": "{[}", "]": "{]}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def _for_latex(text: str) -> str:
    """Escape what LaTeX would take for its own; a minus becomes one."""
    out = "".join(_LATEX.get(sign, sign) for sign in text)
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", out)


WRITERS: Final[dict[str, Callable[[Described], str]]] = {
    "text": text, "markdown": markdown, "latex": latex,
}  # fmt: skip
