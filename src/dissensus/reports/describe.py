"""Draws in the words that a paper wants: sentences, or rows of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ITEM, SAMPLE, other
from dissensus.errors import ArgumentError, shown
from dissensus.evaluation.doubts import MARK, of_attributes, of_fit, of_numbers
from dissensus.metrics import METRICS
from dissensus.sampling import convergence
from dissensus.sampling.intervals import effective, spread, whole
from dissensus.wording import (
    capital,
    clean,
    coefficient_title,
    counted,
    interval_name,
    metric_title,
    spoken_probability,
)

# What is said of draws: a row for each number, and what is said of all of them.


BETTER = "probability_better"
COUNTS = {metric.name for metric in METRICS if metric.low == 1.0}
"""Metrics that are whole numbers: of annotators."""
_NOTHING = xr.DataArray(math.nan)
_ROUNDING: Final = 1e-9
"""An interval that is shorter, as a share of the numbers, is a number that was rounded."""
_MOST: Final = 12
"""Decimals."""
_PLACE = "place along all dims"
DIFFERENCE = "Difference"
"""How the title of what is compared begins."""


@dataclass(frozen=True)
class Row:
    """One number."""

    what: str
    """The variable, in words."""
    of: tuple[tuple[str, tuple[str, ...]], ...]
    """Dims, and the names along them: two of a pair."""
    middle: float
    lower: float
    upper: float
    digits: int
    is_count: bool
    """Whether it is a median with an equal-tailed interval, of numbers that may be infinite."""
    undefined: float
    """The share of draws that are undefined, and left out."""
    better: float
    """In what share of draws the first of a pair is better; NaN where that is not asked."""
    doubt: str


@dataclass(frozen=True)
class Described:
    """All rows, and what holds for all."""

    rows: tuple[Row, ...]
    kind: str
    level: float
    draws: int
    chains: int
    bulk: float
    tail: float
    r_hat: float
    mcse: float


def described(data: xr.Dataset, doubt: str, *, parameters: bool) -> Described:
    """Describe all variables that have draws; ``doubt`` is why nothing of them holds, if so.

    Parameters of a model keep their names; metrics and statistics have titles.
    """
    from arviz_base import rcParams

    _require_numbers(data)
    known = {
        str(name): _paired(one)
        for name, one in data.data_vars.items()
        if set(SAMPLE) <= set(one.dims)
    }
    parts = {
        name: _numbers(one.astype(np.float64).transpose(*SAMPLE, ...))
        for name, one in known.items()
    }
    rows = [
        row
        for name, numbers in parts.items()
        for row in _rows(
            name if parameters else _title(name, data),
            numbers,
            data.get(BETTER, _NOTHING) if name == "difference" else _NOTHING,
        )
    ]
    sizes = data.sizes
    return Described(
        tuple(replace(row, doubt=doubt) for row in rows) if doubt else tuple(rows),
        str(rcParams["stats.ci_kind"]), float(rcParams["stats.ci_prob"]),
        sizes["chain"] * sizes["draw"], sizes["chain"],
        *(_worst(parts.values(), name) for name in ("ess_bulk", "ess_tail", "r_hat", "mcse")),
    )  # fmt: skip


def _require_numbers(data: xr.Dataset) -> None:
    """Raise on draws that have no mean: texts, times, complex numbers."""
    for name, one in data.data_vars.items():
        if set(SAMPLE) <= set(one.dims) and one.dtype.kind not in "biuf":
            raise ArgumentError(
                "draws", where=f"variable {name!r}", expected="numbers", found=f"{one.dtype}",
                hint="Of labels, describe how probable each is: (draws == label).mean()",
            )  # fmt: skip


def _worst(parts: Iterable[xr.Dataset], name: str) -> float:
    """Return the least effective sample size, or the most of the others; NaN if none is known."""
    found = [part[name].to_numpy().ravel() for part in parts if name in part]
    values = np.concatenate(found) if found else np.empty(0)
    values = values[np.isfinite(values)]
    if not len(values):
        return math.nan
    return float(values.min() if name.startswith("ess") else values.max())


def _numbers(draws: xr.DataArray) -> xr.Dataset:
    """Return all that is said of a variable, over its own dims, those that are pairs included."""
    names = {dim: draws[dim] for dim in draws.dims[2:] if dim in draws.coords}
    draws = draws.drop_vars(list(draws.coords))  # ArviZ would ask names to be different
    is_count = draws.name in COUNTS or bool(np.isinf(draws).any())
    # Of undefined draws nothing is known of how far chains have come: the others tell.
    filled = draws.fillna(draws.mean(SAMPLE))
    found = effective(filled)
    if is_count:
        found |= _counts(draws)
    else:
        parts = spread(draws, skipna=True)
        found |= {"middle": parts["mean"], "lower": parts["lower"], "upper": parts["upper"],
                  "mcse": _error(filled)}  # fmt: skip
    found["undefined"] = draws.isnull().mean(SAMPLE)
    out = xr.Dataset({name: one.drop_attrs() for name, one in found.items()})
    return out.assign_coords(names).assign_attrs(
        is_count=is_count,
        digits=_digits(out, is_count=is_count),
        few=convergence.few_draws(
            draws.sizes[SAMPLE[1]], draws.sizes[SAMPLE[0]], markov=draws.sizes[SAMPLE[0]] > 1
        ),
    )


def _error(draws: xr.DataArray) -> xr.DataArray:
    """Return the Monte Carlo error of the means; NaN for what is the same in all draws."""
    from arviz_stats import mcse

    with np.errstate(invalid="ignore", divide="ignore"):
        found: xr.DataArray = mcse(draws)
    return found.where(draws.max(SAMPLE) > draws.min(SAMPLE))


def _paired(draws: xr.DataArray) -> xr.DataArray:
    """Keep the other side of a comparison where one was chosen: it is part of the name."""
    sides = [other(str(dim)) for dim in draws.dims if other(str(dim)) in draws.coords]
    alone = [side for side in sides if side not in draws.dims]
    return draws.expand_dims(alone, [draws.ndim + n for n in range(len(alone))])


def _counts(draws: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return medians and intervals of numbers that occur, infinity among them."""
    dims = draws.dims[2:]
    flat = draws.stack({_PLACE: dims}) if dims else draws.expand_dims(_PLACE, -1)
    each = [whole(flat.isel({_PLACE: n})) for n in range(flat.sizes[_PLACE])]
    like = draws.isel(chain=0, draw=0, drop=True)
    return {
        name: xr.full_like(like, 0).copy(data=np.reshape([one[key] for one in each], like.shape))
        for name, key in (("middle", "median"), ("lower", "lower"), ("upper", "upper"))
    }


def _digits(numbers: xr.Dataset, *, is_count: bool) -> int:
    """Choose decimals that show two digits of the narrowest interval; none of whole numbers.

    Four are enough, but where even the widest would not show.
    """
    ends = np.concatenate(
        [numbers[name].to_numpy().ravel() for name in ("middle", "lower", "upper")]
    )
    ends = ends[np.isfinite(ends)]
    if is_count and bool((ends == np.round(ends)).all()) and (len(ends) == 0 or ends.max() > 1):
        return 0
    widths = (numbers["upper"] - numbers["lower"]).to_numpy()
    size = float(np.abs(ends).max(initial=0.0))
    known = widths[np.isfinite(widths) & (widths > _ROUNDING * size)].tolist() or [1.0]
    least, most = (1 + math.ceil(-math.log10(width)) for width in (min(known), max(known)))
    usual = 2 if min(known) < 3 else 1 if min(known) < 30 else 0
    return max(usual, min(4, least), min(_MOST, most))


def _rows(what: str, numbers: xr.Dataset, better: xr.DataArray) -> Iterator[Row]:
    """Write one row for each place: of a pair one order, and nothing that is never defined."""
    dims = list(map(str, numbers["middle"].dims))
    pair = next(((dim, other(dim)) for dim in dims if other(dim) in dims), None)
    for place in np.ndindex(numbers["middle"].shape):
        at = dict(zip(dims, place, strict=True))
        here = {str(key): float(one) for key, one in numbers.isel(at).data_vars.items()}
        if here["undefined"] == 1 or (pair and _is_said(numbers, at, pair, here)):
            continue
        yield Row(
            what, _names(numbers, at, pair),
            here["middle"], here["lower"], here["upper"], numbers.attrs["digits"],
            numbers.attrs["is_count"], here["undefined"],
            float(better.isel({dim: at[str(dim)] for dim in better.dims if dim in at})),
            numbers.attrs["few"]
            or of_numbers(here["ess_bulk"], here["ess_tail"], here.get("r_hat")),
        )  # fmt: skip


def _is_said(
    numbers: xr.Dataset, at: dict[str, int], pair: tuple[str, str], here: dict[str, float]
) -> bool:
    """Say whether a place is the other order of one that is shown, or something beside itself."""
    firsts, seconds = (numbers[dim].to_numpy().tolist() for dim in pair)
    one, two = firsts[at[pair[0]]], seconds[at[pair[1]]]
    if one == two:  # a difference of 0, or a correlation of 1
        return here["lower"] == here["upper"]
    if two not in firsts or one not in seconds:
        return False
    return bool(firsts.index(two) < firsts.index(one))


def _names(
    numbers: xr.Dataset, at: dict[str, int], pair: tuple[str, str] | None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return dims with the names at a place: both of a pair under its first dim."""
    names = {dim: str(numbers[dim].to_numpy()[place]) for dim, place in at.items()}
    first, second = pair or (None, None)
    return tuple(
        (dim, (name, names[str(second)]) if dim == first else (name,))
        for dim, name in names.items()
        if dim != second
    )


def _title(name: str, data: xr.Dataset) -> str:
    """Write a variable's name as a table wants it."""
    if name == "difference" and "metric" in data.attrs and "metric" not in data.dims:
        return f"{DIFFERENCE} in {metric_title(str(data.attrs['metric']))}"
    if name == "difference":
        return DIFFERENCE
    title = coefficient_title(name)
    if "'" in title:
        return title
    title = metric_title(clean(name))
    return title if title[1:2].isupper() else capital(title)


# Rows written as sentences, as a Markdown table, or as a LaTeX one.


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


def describe(draws: xr.DataArray | xr.Dataset | xr.DataTree, format: str = "text") -> str:  # noqa: A002 -- as read_annotations
    r"""Report draws as papers ask for it: sentences, a Markdown table, or a LaTeX one.

    Parameters
    ----------
    draws : DataArray, Dataset or DataTree
        Draws (chain, draw, ...) of metrics or statistics, what `dissensus.compare` returned, or a
        fit, of which parameters are reported, and not what there is one of for each item.
    format : {"text", "markdown", "latex"}
        Sentences, each of which can stand alone; a table; or a ``tabular`` with the rules of
        LaTeX's package booktabs. Names that came with the data are escaped.

    Returns
    -------
    str
        For each number its mean and interval, of the kind and probability that ArviZ's settings
        say, which are named. Of numbers of annotators, and where some draw is infinite, median and
        equal-tailed interval instead. Then how many draws there were, the least effective
        sample sizes, the largest r-hat, and the Monte Carlo error of the means. What is not to be
        relied on is said to be so, and why, as far as draws tell by themselves: what a metric was
        computed from, `dissensus.summary` of an evaluation knows, and of a fit this function.

    Raises
    ------
    ArgumentError
        If these are no draws, or no numbers, or an evaluation, which has many kinds of them, or
        there is no such format.

    Notes
    -----
    Decimals are as many as show two digits of a variable's narrowest interval, four at most (more
    where even the widest would not show); two at least, of intervals longer than 3 one, longer
    than 30 none, and none for what is counted. Of
    what is set side by side along dims such as ``system`` and ``system_``, each pair is given once.

    Interval, draws and diagnostics are what Kruschke (2021), "Bayesian analysis reporting
    guidelines", *Nature Human Behaviour* 5, asks for. An estimate with its uncertainty is item 24
    of STARD 2015 and item 13 of GRRAS; the guide to reporting in the documentation goes through
    both lists.

    Examples
    --------
    >>> import arviz as az, dissensus as dx, numpy as np, xarray as xr
    >>> values = np.random.default_rng(1).beta([60, 50], [40, 50], size=(4, 1000, 2))
    >>> draws = xr.DataArray(values, dims=("chain", "draw", "system"), name="top_1_accuracy",
    ...                      coords={"system": ["A", "B"]})
    >>> with az.rc_context({"stats.ci_kind": "eti", "stats.ci_prob": 0.95}):
    ...     print(dx.describe(draws))
    Top-1 accuracy, A: mean 0.60 (95% equal-tailed interval 0.50 to 0.69).
    Top-1 accuracy, B: mean 0.50 (95% equal-tailed interval 0.40 to 0.60).
    4,000 draws in 4 chains; ...; Monte Carlo error of the means at most 0.0008.
    >>> print(dx.describe(dx.compare(draws), "markdown"))
    | | system | mean | 89% equal-tailed interval | P(first is better) |
    |---|---|--:|--:|--:|
    | Difference in top-1 accuracy | A less B | 0.10 | -0.01 to 0.21 | 0.93 |
    ...
    """
    arguments.one_of("format", format, WRITERS)
    data, doubt = _draws(draws)
    return WRITERS[format](described(data, doubt, parameters=isinstance(draws, xr.DataTree)))


def _draws(source: Any) -> tuple[xr.Dataset, str]:
    """Return variables that have draws, and why none of them is to be relied on, if so."""
    if isinstance(source, xr.DataTree):
        return _of_fit(source)
    if isinstance(source, xr.DataArray):
        source = source.to_dataset(name=source.name or "value")
    if not isinstance(source, xr.Dataset):
        raise ArgumentError("draws", expected="draws, or a fit", found=type(source).__name__)
    bare = [str(name) for name, one in source.data_vars.items() if not set(SAMPLE) <= set(one.dims)]
    if len(bare) == len(source.data_vars):
        raise ArgumentError(
            "draws", expected="variables with the dims chain and draw",
            found=shown(bare) or "no variables",
            hint="A metric of a fit has them, and a statistic by dissensus.bayesian_bootstrap",
        )  # fmt: skip
    _require_draws(source)
    return source.compute(), of_attributes(source.attrs)


def _require_draws(data: xr.Dataset) -> None:
    """Raise if there is nothing along a dim."""
    bare = [str(dim) for dim, size in data.sizes.items() if not size]
    if bare:
        raise ArgumentError("draws", expected="one or more of everything",
                            found=f"nothing along {shown(bare)}")  # fmt: skip


def _of_fit(fit: xr.DataTree) -> tuple[xr.Dataset, str]:
    if "statistics" in fit.children or "posterior" not in fit.children:
        raise ArgumentError(
            "draws", expected="draws, or a fit", found=f"groups {shown(list(fit.children), 12)}",
            hint="Of an evaluation dissensus.summary makes tables, with doubts of its fits; of its "
            "draws describe some: result['metrics'].to_dataset().sel(reliability=1)",
        )  # fmt: skip
    posterior = fit["posterior"]
    assert isinstance(posterior, xr.DataTree)
    data = posterior.to_dataset()
    few = data.drop_vars([name for name, one in data.data_vars.items() if ITEM in one.dims])
    if not few.data_vars:
        raise ArgumentError(
            "draws", expected="a fit with parameters that are not of single items",
            found=f"{shown(list(data.data_vars))} of {data.sizes[ITEM]:,} items",
            hint="Describe a metric of it, such as dissensus.top_k_accuracy(fit, predictions)",
        )  # fmt: skip
    _require_draws(few)
    return few.compute(), of_fit(posterior)
