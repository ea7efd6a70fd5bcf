"""Predictions in: what the systems under evaluation said about the items."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import tables
from dissensus.dims import ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import PredictionError, shown

_KINDS = ("nominal", "ranking", "continuous")


def predictions(
    frame: Any,
    item: str = "item",
    system: str = "system",
    label: str = "label",
    *,
    score: str | None = None,
    rank: str | None = None,
    kind: str | None = None,
    on_missing: str = "raise",
) -> xr.Dataset:
    """Read predictions from a table: one row per item and system, or several if ordered.

    Parameters
    ----------
    frame : dataframe or mapping of columns
        Anything narwhals knows.
    item, system, label : str
        The columns that say what was predicted about what, and by which system.
    score : str, optional
        Column of scores; each system's labels for an item are ordered by falling score, equal
        scores are tied.
    rank : str, optional
        Column of ranks 1, 2, 2, 3 instead of scores.
    kind : {"nominal", "ranking", "continuous"}, optional
        "continuous" reads the labels as numbers. By default "ranking" if ``score`` or
        ``rank`` is given, else "nominal" (or "continuous" for numbers with fractions).
    on_missing : {"raise", "drop"}
        What to do about items for which some system has no prediction.

    Returns
    -------
    xarray.Dataset
        Over ``item``, ``system`` and ``position``; see `dissensus.schema`.

    Raises
    ------
    PredictionError
        On missing columns, entries or items, on two rows for one item and system without
        ``score`` or ``rank``, and on a label listed twice.

    Examples
    --------
    >>> import dissensus as dx
    >>> pred = dx.predictions({
    ...     "item": [1, 1, 2], "system": ["m", "m", "m"], "label": ["a", "b", "b"],
    ...     "score": [0.2, 0.8, 0.5],
    ... }, score="score")
    >>> pred["label_code"].sel(item=1, system="m").values
    array([1, 0])
    """
    _check_options(score, rank, kind, on_missing)
    wanted = {"item": item, "system": system, "label": label, "score": score, "rank": rank}
    column = tables.columns(frame, wanted, PredictionError)
    items = tables.encode(column["item"], item, error=PredictionError)
    systems = tables.encode(column["system"], system, error=PredictionError)
    pair = items.codes * len(systems.values) + systems.codes
    ordered = score is not None or rank is not None
    if kind is None:
        kind = "ranking" if ordered else _infer_kind(column["label"], label)
    coords = {ITEM: items.values, SYSTEM: systems.values}
    if kind == "continuous":
        _check_single(pair, items, systems)
        values = tables.numbers(column["label"], label, PredictionError)
        out = _grid(pair, values, coords)
    else:
        labels = tables.encode(column["label"], label, sort=True, error=PredictionError)
        if not ordered:
            _check_single(pair, items, systems)
        _check_listed_once(pair, labels, items, systems)
        key = _order(column, score, rank, len(pair))
        out = _lists(pair, labels, key, column.get("score"), coords)
    out.attrs["kind"] = kind
    return _complete(out, on_missing)


def _check_options(score: str | None, rank: str | None, kind: str | None, on_missing: str) -> None:
    if score is not None and rank is not None:
        raise PredictionError(
            "score and rank", expected="one of the two", found=f"{score!r} and {rank!r}"
        )
    if kind not in (None, *_KINDS):
        raise PredictionError("kind", expected=f"one of {_KINDS} or None", found=repr(kind))
    if kind == "ranking" and score is None and rank is None:
        raise PredictionError(
            "kind", expected='score= or rank= together with kind="ranking"', found="neither"
        )
    if on_missing not in {"raise", "drop"}:
        raise PredictionError("on_missing", expected="'raise' or 'drop'", found=repr(on_missing))


def _infer_kind(column: pd.Series[Any], name: str) -> str:
    encoded = tables.encode(column, name, error=PredictionError)
    return "continuous" if encoded.values.dtype.kind == "f" else "nominal"


def _check_single(
    pair: npt.NDArray[np.int64], items: tables.Encoded, systems: tables.Encoded
) -> None:
    again = np.flatnonzero(pd.Series(pair).duplicated().to_numpy())
    if len(again):
        row = int(again[0])
        first = int(np.flatnonzero(pair == pair[row])[0])
        raise PredictionError(
            "predictions",
            where=f"rows {first} and {row} ({_which(row, items, systems)})",
            expected="one row for each item and system",
            found=f"a second one ({len(again)} such rows)",
            hint="For lists of labels name the column that orders them with score= or rank=",
        )


def _check_listed_once(
    pair: npt.NDArray[np.int64],
    labels: tables.Encoded,
    items: tables.Encoded,
    systems: tables.Encoded,
) -> None:
    again = np.flatnonzero(pd.Series(pair * len(labels.values) + labels.codes).duplicated())
    if len(again):
        row = int(again[0])
        raise PredictionError(
            "predictions",
            where=f"row {row} ({_which(row, items, systems)})",
            expected="each label once in a list",
            found=f"{shown([labels.values[labels.codes[row]]])} a second time",
        )


def _which(row: int, items: tables.Encoded, systems: tables.Encoded) -> str:
    item, system = items.values[items.codes[row]], systems.values[systems.codes[row]]
    return f"item {shown([item])}, system {shown([system])}"


def _order(
    column: dict[str, pd.Series[Any]], score: str | None, rank: str | None, rows: int
) -> npt.NDArray[np.float64]:
    """Return the key by which a list is ordered: small comes first, equal is tied."""
    if score is not None:
        return -tables.numbers(column["score"], score, PredictionError)
    if rank is not None:
        values = tables.numbers(column["rank"], rank, PredictionError)
        bad = np.flatnonzero(values < 1)
        if len(bad):
            raise PredictionError(
                f"column {rank!r}",
                where=f"row {bad[0]}",
                expected="ranks from 1",
                found=str(values[bad[0]]),
            )
        return values
    return np.zeros(rows)


def _grid(
    pair: npt.NDArray[np.int64], values: npt.NDArray[np.float64], coords: dict[str, Any]
) -> xr.Dataset:
    shape = (len(coords[ITEM]), len(coords[SYSTEM]))
    grid = np.full(shape[0] * shape[1], np.nan)
    grid[pair] = values
    return xr.Dataset({"value": ((ITEM, SYSTEM), grid.reshape(shape))}, coords=coords)


def _lists(
    pair: npt.NDArray[np.int64],
    labels: tables.Encoded,
    key: npt.NDArray[np.float64],
    score: pd.Series[Any] | None,
    coords: dict[str, Any],
) -> xr.Dataset:
    """Lay out each list along ``position``, in order, with the number of its block."""
    order = np.lexsort((labels.codes, key, pair))
    pair, key, codes = pair[order], key[order], labels.codes[order]
    start = np.flatnonzero(np.diff(pair, prepend=-1))
    length = np.diff(np.append(start, len(pair)))
    position = np.arange(len(pair)) - np.repeat(start, length)
    new_block = np.diff(key, prepend=np.nan) != 0
    new_block[start] = True
    count = np.cumsum(new_block)
    block = count - np.repeat(count[start] - 1, length)
    shape = (len(coords[ITEM]), len(coords[SYSTEM]), int(length.max()))
    dims = (ITEM, SYSTEM, POSITION)

    def laid(values: npt.NDArray[Any], empty: float, dtype: Any) -> tuple[Any, npt.NDArray[Any]]:
        out = np.full((shape[0] * shape[1], shape[2]), empty, dtype=dtype)
        out[pair, position] = values
        return dims, out.reshape(shape)

    variables = {"label_code": laid(codes, -1, np.int64), "block": laid(block, 0, np.int64)}
    if score is not None:
        variables["score"] = laid(-key, np.nan, np.float64)
    return xr.Dataset(variables, coords={**coords, LABEL: labels.values})


def _complete(pred: xr.Dataset, on_missing: str) -> xr.Dataset:
    """Every system must speak on the same items, or comparisons compare nothing."""
    if "value" in pred:
        absent = pred["value"].isnull()
    else:
        absent = (pred["label_code"] < 0).all(POSITION)
    lacking = absent.any(SYSTEM).to_numpy()
    if not lacking.any():
        return pred
    if on_missing == "drop":
        return pred.isel({ITEM: ~lacking})
    per_system = absent.sum(ITEM).to_numpy()
    worst = int(per_system.argmax())
    raise PredictionError(
        "predictions",
        expected="a prediction of every system for every item",
        found=f"{int(lacking.sum())} items without one: {shown(list(pred[ITEM].to_numpy()[lacking]))}"
        f" (system {shown([pred[SYSTEM].to_numpy()[worst]])} lacks {int(per_system[worst])})",
        hint='on_missing="drop" leaves those items out for all systems',
    )
