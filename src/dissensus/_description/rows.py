"""What is said of draws: a row for each number, and what is said of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import xarray as xr

from dissensus._wording import capital, clean, coefficient_title, metric_title
from dissensus.dims import SAMPLE, other
from dissensus.errors import ArgumentError
from dissensus.evaluation.doubts import of_numbers
from dissensus.metrics import METRICS
from dissensus.sampling import convergence
from dissensus.sampling.intervals import effective, spread, whole

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
