"""Draws as papers report them: sentences, or rows of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ITEM, SAMPLE, other
from dissensus.errors import ArgumentError, shown
from dissensus.evaluation.doubts import MARK, of_attributes, of_fit, of_numbers
from dissensus.evaluation.readers import averages
from dissensus.evaluation.votes import LEADERBOARD
from dissensus.metrics import METRICS
from dissensus.sampling import convergence
from dissensus.sampling.intervals import effective, spread, whole
from dissensus.statistics._reader_words import checked_study, is_reader_study
from dissensus.wording import (
    capital,
    clean,
    coefficient_title,
    counted,
    interval_name,
    metric_title,
    spoken_probability,
)

COUNTS = {metric.name for metric in METRICS if metric.low == 1.0}
"""Metrics that are numbers of annotators."""
_UNKNOWN = xr.DataArray(math.nan)
_ROUNDING: Final = 1e-9
"""An interval that is shorter than this share of the largest number comes from rounding."""
_PLACE = "place along all dims"
_DIFFERENCE = "Difference"
_EVALUATION: Final = {"statistics", "annotations"}
"""Groups of every evaluation, except one of votes."""


class Row(NamedTuple):
    """One number, as texts."""

    title: str
    names: dict[str, str]
    """Name along each dim; both names of a pair along its first dim."""
    label: str
    """Title and names."""
    kinds: tuple[str, str]
    """Names of the point estimate, mean or median, and of the interval."""
    middle: str
    interval: str
    better: str
    """Probability that the first of a pair is better; "" if there is no pair."""
    undefined: float
    """Share of draws that are undefined; they are left out."""
    reason: str
    """Reason not to rely on the number."""


def _paired(draws: xr.DataArray) -> xr.DataArray:
    """Return draws as floats; the second name of a pair, if it was selected, becomes a dim."""
    sides = [other(str(dim)) for dim in draws.dims if other(str(dim)) in draws.coords]
    alone = [side for side in sides if side not in draws.dims]
    draws = draws.expand_dims(alone, [draws.ndim + n for n in range(len(alone))])
    return draws.astype(np.float64).transpose(*SAMPLE, ...)


def _numbers(draws: xr.DataArray) -> xr.Dataset:
    """Return point estimates, intervals and diagnostics of a variable over its dims."""
    from arviz_stats import mcse

    names = {dim: draws[dim] for dim in draws.dims[2:] if dim in draws.coords}
    draws = draws.drop_vars(list(draws.coords))  # ArviZ requires distinct names
    is_count = draws.name in COUNTS or bool(np.isinf(draws).any())
    filled = draws.fillna(draws.mean(SAMPLE))  # for diagnostics, the mean fills undefined draws
    values = effective(filled)
    if is_count:
        values |= _counts(draws)
    else:
        parts = spread(draws, skipna=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = mcse(filled)
        varies = filled.max(SAMPLE) > filled.min(SAMPLE)
        values |= {"middle": parts["mean"], "lower": parts["lower"], "upper": parts["upper"],
                   "mcse": error.where(varies)}  # fmt: skip
    values["undefined"] = draws.isnull().mean(SAMPLE)
    out = xr.Dataset({name: value.drop_attrs(deep=False) for name, value in values.items()})
    chains, n_draws = (draws.sizes[dim] for dim in SAMPLE)
    return out.assign_coords(names).assign_attrs(
        digits=_digits(out, is_count=is_count),
        kinds=_kinds(is_count=is_count),
        few=convergence.few_draws(n_draws, chains, markov=chains > 1),
    )


def _counts(draws: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return medians and intervals whose ends are draws, which may be infinite."""
    dims = draws.dims[2:]
    flat = draws.stack({_PLACE: dims}) if dims else draws.expand_dims(_PLACE, -1)
    each = [whole(flat.isel({_PLACE: n})) for n in range(flat.sizes[_PLACE])]
    like = draws.isel(chain=0, draw=0, drop=True)
    return {
        name: like.copy(data=np.reshape([values[key] for values in each], like.shape))
        for name, key in (("middle", "median"), ("lower", "lower"), ("upper", "upper"))
    }


def _digits(numbers: xr.Dataset, *, is_count: bool) -> int:
    """Return the decimals of a variable; see the notes of `describe`."""
    ends = np.concatenate([numbers[name].values.ravel() for name in ("middle", "lower", "upper")])
    ends = ends[np.isfinite(ends)]
    if is_count and bool((ends == np.round(ends)).all()) and ends.max(initial=2) > 1:
        return 0
    widths = (numbers["upper"] - numbers["lower"]).to_numpy()
    size = float(np.abs(ends).max(initial=0.0))
    known = widths[np.isfinite(widths) & (widths > _ROUNDING * size)].tolist() or [1.0]
    least, most = (1 + math.ceil(-math.log10(width)) for width in (min(known), max(known)))
    usual = 2 if min(known) < 3 else 1 if min(known) < 30 else 0
    return max(usual, min(4, least), min(12, most))


def _kinds(*, is_count: bool) -> tuple[str, str]:
    """Return the names of the point estimate and of the interval; they write 95% without space."""
    from arviz_base import rcParams

    kind = "eti" if is_count else str(rcParams["stats.ci_kind"])
    interval = interval_name(float(rcParams["stats.ci_prob"]), kind)
    return ("median" if is_count else "mean"), interval.replace("\N{NO-BREAK SPACE}", "")


def _rows(
    title: str, numbers: xr.Dataset, better: xr.DataArray, reason: str
) -> Iterator[Row]:  # fmt: skip
    """Yield a row for each place with a defined draw; for a pair, in one order only."""
    dims = list(map(str, numbers["middle"].dims))
    pair = next(((dim, other(dim)) for dim in dims if other(dim) in dims), None)
    for place in np.ndindex(numbers["middle"].shape):
        at = dict(zip(dims, place, strict=True))
        here = {str(key): float(value) for key, value in numbers.isel(at).data_vars.items()}
        if here["undefined"] == 1 or (pair and _is_repeated(numbers, at, pair, here)):
            continue
        names = {dim: [str(numbers[dim].to_numpy()[k])] for dim, k in at.items()}
        if pair:
            names[pair[0]] += names.pop(pair[1])
        joined = " less " if title.startswith(_DIFFERENCE) else " and "
        texts = {dim: joined.join(map(clean, each)) for dim, each in names.items()}
        has_letters = {dim: all(re.search(r"[^\W\d]", name) for name in each)
                       for dim, each in names.items()}  # fmt: skip
        label = [text if has_letters[dim] else f"{clean(dim)} {text}"
                 for dim, text in texts.items()]  # fmt: skip
        chance = float(better.isel({dim: at[str(dim)] for dim in better.dims if dim in at}))
        yield Row(
            title, texts, ", ".join([title, *label]), numbers.attrs["kinds"],
            number(here["middle"], numbers.attrs["digits"]), _interval(here, numbers.attrs),
            "" if np.isnan(chance) else spoken_probability(chance).replace(".", "0."),
            here["undefined"],
            reason or numbers.attrs["few"]
            or of_numbers(here["ess_bulk"], here["ess_tail"], here.get("r_hat")),
        )  # fmt: skip


def _interval(values: dict[str, float], attrs: dict[Any, Any]) -> str:
    low, high = values["lower"], values["upper"]
    if np.isnan(low) or (low == high and np.isinf(low)):
        return number(low, 0)
    return " to ".join(number(end, attrs["digits"]) for end in (low, high))


def _is_repeated(
    numbers: xr.Dataset, at: dict[str, int], pair: tuple[str, str], here: dict[str, float]
) -> bool:
    """Return whether a pair is an earlier pair reversed, or one name twice with constant draws."""
    firsts, seconds = (numbers[dim].to_numpy().tolist() for dim in pair)
    first, second = firsts[at[pair[0]]], seconds[at[pair[1]]]
    if first == second:
        return here["lower"] == here["upper"]
    if second not in firsts or first not in seconds:
        return False
    return bool(firsts.index(second) < firsts.index(first))


def _title(name: str, data: xr.Dataset) -> str:
    """Return the title of a variable."""
    if name == "difference":
        has_metric = "metric" in data.attrs and "metric" not in data.dims
        metric = f" in {metric_title(str(data.attrs['metric']))}" if has_metric else ""
        return _DIFFERENCE + metric
    title = coefficient_title(name)
    if "'" in title:
        return _with_distance(name, title, data[name].attrs)
    title = metric_title(clean(name))
    return title if title[1:2].isupper() else capital(title)


def _with_distance(name: str, title: str, attrs: dict[Any, Any]) -> str:
    """Add the level, distance or weighting of a coefficient to its title, once."""
    if name == "krippendorff_alpha":
        distance = attrs.get("level", attrs.get("distance", ""))
        return coefficient_title(f"{name}_{distance}") if distance else title
    weighting = str(attrs.get("weighting", "none"))
    if weighting == "none" or title.endswith(weighting):
        return title
    return f"{title.replace('AC1', 'AC2')}, {weighting}"


# Texts.


def number(value: float, digits: int) -> str:
    """Write a number with its leading zero, as journals require.

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


def _notes(data: xr.Dataset, parts: Sequence[xr.Dataset], rows: Sequence[Row]) -> Iterator[str]:
    """Yield notes: diagnostics of all rows, undefined draws, and reasons not to rely on rows."""
    chains, n_draws = (data.sizes[dim] for dim in SAMPLE)
    bulk, tail, r_hat, error = (
        _worst(parts, name) for name in ("ess_bulk", "ess_tail", "r_hat", "mcse")
    )
    about = [f"{counted(chains * n_draws, 'draw')} in {counted(chains, 'chain')}"]
    if np.isfinite(bulk):
        about.append(f"effective draws at least {bulk:,.0f} in the middle and {tail:,.0f} in the "
                     "tails")  # fmt: skip
    if np.isfinite(r_hat):
        about.append(f"r-hat at most {r_hat:.2f}")
    if np.isfinite(error):
        about.append(f"Monte Carlo error of the means at most {error:.1g}")
    yield f"{'; '.join(about)}."
    undefined = [row.undefined for row in rows if row.undefined]
    if undefined:
        most = max(undefined)
        share = f"up to {most:.1%}" if most >= 0.0005 else "less than 0.1%"
        yield (f"Draws in which a number is undefined are left out: {share} of them, in "
               f"{counted(len(undefined), 'row')}.")  # fmt: skip
    for reason in dict.fromkeys(row.reason for row in rows if row.reason):
        labels = [row.label for row in rows if row.reason == reason]
        names = "; ".join(labels[:5]) + (f" and {len(labels) - 5} more" if len(labels) > 5 else "")
        yield f"Not reliable ({reason}): {names if len(labels) < len(rows) else 'all numbers'}."


def _worst(parts: Sequence[xr.Dataset], name: str) -> float:
    """Return the smallest effective sample size or largest other diagnostic; NaN if unknown."""
    each = [part[name].to_numpy().ravel() for part in parts if name in part]
    values = np.concatenate([*each, np.empty(0)])
    values = values[np.isfinite(values)]
    if not len(values):
        return math.nan
    return float(values.min() if name.startswith("ess") else values.max())


def _text(rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Write a sentence for each row, with the notes below."""
    lines = []
    for row in rows:
        better = f"; the first is better with probability {row.better}" if row.better else ""
        mark = f" {MARK}" if row.reason else ""
        lines.append(f"{row.label}: {row.kinds[0]} {row.middle} ({row.kinds[1]} "
                     f"{row.interval}{better}){mark}.")  # fmt: skip
    return "\n".join([*lines, *notes])


def _table(
    rows: Sequence[Row], escape: Callable[[str], str]
) -> tuple[list[str], list[list[str]], int]:
    """Return head, cells and the number of columns with names."""
    dims = list(dict.fromkeys(dim for row in rows for dim in row.names))
    kinds = list(dict.fromkeys(row.kinds for row in rows))
    is_compared = any(row.better for row in rows)
    is_mixed = len(kinds) > 1
    head = ["", *map(clean, dims), *(kinds[0] if len(kinds) == 1 else ("", "interval"))]
    head += ["P(first is better)"] if is_compared else []
    cells = []
    for row in rows:
        middle, interval = row.middle, row.interval
        if is_mixed:
            middle, interval = f"{row.kinds[0]} {middle}", f"{interval} ({row.kinds[1]})"
        line = [row.title, *(row.names.get(dim, "") for dim in dims), middle]
        line.append(f"{interval} {MARK}" if row.reason else interval)
        line += [row.better] if is_compared else []
        cells.append([escape(cell) for cell in line])
    return [escape(cell) for cell in head], cells, 1 + len(dims)


def _markdown(rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Write a Markdown table, with the notes below."""
    head, cells, n_names = _table(rows, _for_markdown)
    rule = "|".join(["---"] * n_names + ["--:"] * (len(head) - n_names))
    lines = [re.sub(r"  +", " ", f"| {' | '.join(line)} |") for line in (head, *cells)]
    lines.insert(1, f"|{rule}|")
    return "\n".join([*lines, "", *map(_for_markdown, notes)])


def _for_markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#$&~])", r"\\\1", text)


def _latex(rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Write a ``tabular``, with the notes below."""
    head, cells, n_names = _table(rows, _for_latex)
    columns = "l" * n_names + "r" * (len(head) - n_names)
    lines = [rf"{' & '.join(line)} \\" for line in (head, *cells)]
    return "\n".join([
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule", *lines[1:],
        r"\bottomrule", r"\end{tabular}", "", *map(_for_latex, notes),
    ])  # fmt: skip


_LATEX: Final = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "[": "{[}", "]": "{]}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def _for_latex(text: str) -> str:
    """Escape special characters, and write hyphens before numbers as minus signs."""
    out = "".join(_LATEX.get(sign, sign) for sign in text)
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", out)


_WRITERS: Final[dict[str, Callable[[Sequence[Row], Sequence[str]], str]]] = {
    "text": _text, "markdown": _markdown, "latex": _latex,
}  # fmt: skip


def describe(draws: xr.DataArray | xr.Dataset | xr.DataTree, format: str = "text") -> str:  # noqa: A002 -- as read_annotations
    r"""Write draws as papers report them: sentences, a Markdown table, or a LaTeX table.

    Parameters
    ----------
    draws : DataArray, Dataset or DataTree
        Draws (chain, draw, ...) of metrics or statistics, the result of `dissensus.compare`, or a
        fit, whose parameters without a dim of items are reported. An evaluation gives the verdict
        in words, and the reasons not to rely on it; one of votes on pairs also a table of win rates
        and ranks. A reader study gives its ``in_words``, with 95 % intervals, or a table without
        single readers and curves.
    format : {"text", "markdown", "latex"}
        Sentences; a table; or a ``tabular`` for LaTeX's package booktabs. Names from the data are
        escaped.

    Returns
    -------
    str
        Mean and interval of each number, of the kind and probability of ArviZ's settings. Numbers
        of annotators, and numbers of which some draws are infinite, have a median and an
        equal-tailed interval instead. Then the number of draws, the smallest effective sample
        sizes, the largest r-hat, and the largest Monte Carlo error of the means. Unreliable numbers
        are marked, with the reason, as far as the draws show it. For metrics, `dissensus.summary`
        of an evaluation also considers the diagnostics of the fit.

    Raises
    ------
    ArgumentError
        If ``draws`` are not draws of numbers, or ``format`` is unknown, or not "text" for an
        evaluation of other annotations than votes.

    Notes
    -----
    Numbers have enough decimals for two digits of their variable's narrowest interval: at least two
    decimals (one if this interval is longer than 3, none if longer than 30), and more than four
    only if the widest interval needs them. Counts have none. Along two dims such as ``system`` and
    ``system_``, each pair is given once.

    Kruschke (2021), "Bayesian analysis reporting guidelines", *Nature Human Behaviour* 5, requires
    interval, draws and diagnostics. An estimate with its uncertainty is item 24 of STARD 2015 and
    item 13 of GRRAS; see the guide to reporting in the documentation.

    Examples
    --------
    >>> import arviz as az, dissensus as dx, numpy as np, xarray as xr
    >>> values = np.random.default_rng(1).beta([60, 50], [40, 50], size=(4, 1000, 2))
    >>> draws = xr.DataArray(values, dims=("chain", "draw", "system"), name="top_1_accuracy",
    ...                      coords={"system": ["A", "B"]})
    >>> with az.rc_context({"stats.ci_kind": "eti", "stats.ci_prob": 0.95}):
    ...     print(dx.describe(draws))
    Agreement with the panel, A: mean 0.60 (95% equal-tailed interval 0.50 to 0.69).
    Agreement with the panel, B: mean 0.50 (95% equal-tailed interval 0.40 to 0.60).
    4,000 draws in 4 chains; ...; Monte Carlo error of the means at most 0.0008.
    >>> print(dx.describe(dx.compare(draws), "markdown"))
    | | system | mean | 89% equal-tailed interval | P(first is better) |
    |---|---|--:|--:|--:|
    | Difference in agreement with the panel | A less B | 0.10 | -0.01 to 0.21 | 0.93 |
    ...
    """
    arguments.one_of("format", format, _WRITERS)
    if isinstance(draws, xr.DataTree) and LEADERBOARD in draws.children:
        from dissensus.reports.votes import headline, unreliable, vote_sentences  # needs Matplotlib

        if format == "text":
            words = [*unreliable(draws), *vote_sentences("headline", headline(draws))]
            return " ".join(words).replace("\N{NO-BREAK SPACE}", " ")
        draws = draws[LEADERBOARD].to_dataset()[["win_rate", "rank"]]
    if format == "text" and isinstance(draws, xr.DataTree) and set(draws.children) >= _EVALUATION:
        from dissensus.reports.trust import first_screen  # needs Matplotlib

        return "\n".join(first_screen(draws)).replace("\N{NO-BREAK SPACE}", " ")
    if is_reader_study(draws):
        study = checked_study(draws, "draws")
        if format == "text":
            return str(study.attrs["in_words"])
        draws = averages(study)
    data, reason = _draws(draws)
    parts: list[xr.Dataset] = []
    rows: list[Row] = []
    for name, values in data.data_vars.items():
        if not set(SAMPLE) <= set(values.dims):
            continue
        if values.dtype.kind not in "biuf":
            raise ArgumentError(
                "draws", where=f"variable {str(name)!r}", expected="numbers",
                found=f"{values.dtype}",
                hint="For labels, describe how probable each label is: (draws == label).mean()",
            )  # fmt: skip
        parts.append(_numbers(_paired(values)))
        # Parameters of a model keep their names.
        title = str(name) if isinstance(draws, xr.DataTree) else _title(str(name), data)
        better = data.get("probability_better", _UNKNOWN) if name == "difference" else _UNKNOWN
        rows += _rows(title, parts[-1], better, reason)
    return _WRITERS[format](rows, list(_notes(data, parts, rows)))


def _draws(source: Any) -> tuple[xr.Dataset, str]:
    """Return variables with draws, and the reason not to rely on any of them."""
    if isinstance(source, xr.DataTree) and not source.children and source.data_vars:
        source = source.to_dataset()  # a group, such as result["answers"]
    if isinstance(source, xr.DataTree):
        return _of_fit(source)
    if isinstance(source, xr.DataArray):
        source = source.to_dataset(name=source.name or "value")
    if not isinstance(source, xr.Dataset):
        raise ArgumentError("draws", expected="draws, or a fit", found=type(source).__name__)
    bare = [str(n) for n, values in source.data_vars.items() if not set(SAMPLE) <= set(values.dims)]
    if len(bare) == len(source.data_vars):
        raise ArgumentError(
            "draws", expected="variables with the dims chain and draw",
            found=shown(bare) or "no variables",
            hint="These are data: evaluate them, or fit a model (`dissensus check FILE` "
            "describes a file)"
            if any(str(name).endswith("_code") for name in source.variables)
            else "Metrics of a fit and results of dissensus.bayesian_bootstrap have these dims",
        )  # fmt: skip
    _require_draws(source)
    return source.compute(), of_attributes(source.attrs)


def _require_draws(data: xr.Dataset) -> None:
    """Raise if a dim is empty."""
    bare = [str(dim) for dim, size in data.sizes.items() if not size]
    if bare:
        raise ArgumentError("draws", expected="dims that are not empty",
                            found=f"nothing along {shown(bare)}")  # fmt: skip


def _part_of(evaluation: xr.DataTree) -> str:
    """Return code that selects draws of an evaluation, after a colon; "" if there are none."""
    if "metrics" in evaluation.children and evaluation["metrics"].data_vars:
        return ": result['metrics'].to_dataset().sel(reliability=1)"
    part = next((name for name in ("answers", "agreement") if name in evaluation.children), "")
    return f": result['{part}'].to_dataset()" if part else ""


def _of_fit(fit: xr.DataTree) -> tuple[xr.Dataset, str]:
    if "statistics" in fit.children or "posterior" not in fit.children:
        raise ArgumentError(
            "draws", expected="draws, or a fit", found=f"groups {shown(list(fit.children), 12)}",
            hint="dissensus.summary makes tables of an evaluation, with the diagnostics of its "
            "fits; format='text' gives its verdict. Or describe a part of its draws"
            f"{_part_of(fit)}",
        )  # fmt: skip
    posterior = fit["posterior"]
    assert isinstance(posterior, xr.DataTree)
    data = posterior.to_dataset()
    shared = data.drop_vars(
        [name for name, values in data.data_vars.items() if ITEM in values.dims]
    )
    if not shared.data_vars:
        raise ArgumentError(
            "draws", expected="a fit with parameters that are not of single items",
            found=f"{shown(list(data.data_vars))} of {data.sizes[ITEM]:,} items",
            hint="Describe a metric of it, such as dissensus.top_k_accuracy(fit, predictions)",
        )  # fmt: skip
    _require_draws(shared)
    return shared.compute(), of_fit(posterior)
