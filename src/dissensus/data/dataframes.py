"""Conversion of annotations, predictions and draws to tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data.pairs import OUTCOMES, are_votes, checked_pairs
from dissensus.data.schema import CODES, checked_annotations, checked_predictions
from dissensus.data.sets import joined
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, shown

_OPTIONAL = ("rank", "confidence", "trial")
"""Optional variables along annotations, which become columns."""


def to_dataframe(data: Any) -> pd.DataFrame:
    """Write annotations, predictions, votes on pairs, or draws as a tidy pandas table.

    Parameters
    ----------
    data : Dataset or DataArray
        Annotations, predictions, votes, or draws (chain, draw, ...).

    Returns
    -------
    pandas.DataFrame
        For annotations, one row per annotation, with names in place of codes. For predictions, one
        row per item, system and listed label, with the rank; for sets, one row per item and system,
        with the set as text. `dissensus.annotations` and `dissensus.predictions` read these
        columns. Ordinal labels are an ordered categorical, which keeps their order. The table does
        not contain the kind of other labels, or unused labels: pass ``kind=`` and ``labels=`` again
        when you read it. For sets pass the attributes ``separator`` and ``none`` too. For votes,
        one row per vote. For draws, one row per chain, draw and further coordinate (such as item),
        and one column per variable.

    Raises
    ------
    ArgumentError
        If the data are something else. For an evaluation or a fit, use `dissensus.summary`.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": ["a", "b"], "label": ["x", "y"]})
    >>> dx.to_dataframe(ann)
       item annotator label
    0     1         a     x
    1     1         b     y
    """
    if are_votes(data):
        return _of_votes(checked_pairs(data))
    if isinstance(data, xr.Dataset) and SYSTEM in data.dims and not set(SAMPLE) & set(data.dims):
        return _of_predictions(checked_predictions(data, sets=True))
    if isinstance(data, xr.Dataset) and f"{ITEM}_code" in data:
        return _of_annotations(checked_annotations(data))
    if isinstance(data, xr.DataArray | xr.Dataset) and set(SAMPLE) <= set(data.dims):
        return _of_draws(data)
    raise ArgumentError(
        "data", expected="annotations, predictions, votes, or draws (chain, draw, ...)",
        found=f"dims {shown(list(data.dims))}" if isinstance(data, xr.DataArray | xr.Dataset)
        else type(data).__name__,
        hint="For tables of an evaluation or a fit use dissensus.summary"
        if isinstance(data, xr.DataTree) else "",
    )  # fmt: skip


def _of_annotations(data: xr.Dataset) -> pd.DataFrame:
    """Return a table of annotations with names for codes; rows repeat their item's groups."""
    data = data.compute()
    item = data[f"{ITEM}_code"].to_numpy()
    out: dict[str, Any] = {}
    for name, (along, dim) in CODES.items():
        if name in data:
            codes, names = data[name].to_numpy(), data[dim].to_numpy()
            rows = codes if along == ANNOTATION else codes[item]
            out[dim] = names[rows]
            if dim == LABEL and data.attrs["kind"] == "ordinal":
                out[dim] = pd.Categorical.from_codes(rows, pd.Index(names), ordered=True)
        elif dim == LABEL:
            out[LABEL] = data["value"].to_numpy()
    return pd.DataFrame(out | {name: data[name].to_numpy() for name in _OPTIONAL if name in data})


def _of_votes(data: xr.Dataset) -> pd.DataFrame:
    """Return a table of votes: the systems, the winner and, if known, the voter and the prompt."""
    systems = data[SYSTEM].to_numpy()
    out = {side: systems[data[f"{side}_code"].to_numpy()] for side in ("left", "right")}
    out["winner"] = np.array(OUTCOMES)[data["outcome"].to_numpy()]
    for dim in (ANNOTATOR, ITEM):
        if dim in data.coords:
            out[dim] = data[dim].to_numpy()[data[f"{dim}_code"].to_numpy()]
    return pd.DataFrame(out)


def _of_predictions(data: xr.Dataset) -> pd.DataFrame:
    """Return a table of predictions: the labels of each item and system, in list order."""
    data = data.compute()
    items, systems = (data[dim].to_numpy() for dim in (ITEM, SYSTEM))
    if "value" in data:
        value = data["value"].transpose(ITEM, SYSTEM).to_numpy()
        row, column = np.indices(value.shape).reshape(2, -1)
        return pd.DataFrame({ITEM: items[row], SYSTEM: systems[column], LABEL: value.ravel()})
    code, block = (
        data[name].transpose(ITEM, SYSTEM, "position").to_numpy()
        for name in ("label_code", "block")
    )
    if data.attrs["kind"] == "set":
        return _of_sets(data, code)
    item, system, place = np.nonzero(code >= 0)
    at = (item, system, place)
    out = {ITEM: items[item], SYSTEM: systems[system], LABEL: data[LABEL].to_numpy()[code[at]]}
    if data.attrs["kind"] == "ranking":
        out["rank"] = block[at]  # blocks and ranks have the same numbers: 1, 2, 2, 3
    return pd.DataFrame(out)


def _of_sets(data: xr.Dataset, code: Any) -> pd.DataFrame:
    """Return a table of predicted sets, with a row for each item and system."""
    row, system = np.indices(code.shape[:2]).reshape(2, -1)
    elements, flat = data[LABEL].to_numpy(), code.reshape(len(row), -1)
    member = np.zeros((len(row), len(elements)), dtype=bool)
    member[np.nonzero(flat >= 0)[0], flat[flat >= 0]] = True
    words = joined(elements, member, data.attrs["separator"], data.attrs["none"])
    return pd.DataFrame(
        {ITEM: data[ITEM].to_numpy()[row], SYSTEM: data[SYSTEM].to_numpy()[system], LABEL: words}
    )


def _of_draws(data: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    """Return a table of draws, with a row for each chain, draw and further coordinate."""
    if isinstance(data, xr.DataArray):
        data = data.to_dataset(name=data.name or "value")
    drawn = data[
        [name for name, variable in data.data_vars.items() if set(SAMPLE) <= set(variable.dims)]
    ]
    order = [*SAMPLE, *(dim for dim in drawn.dims if dim not in SAMPLE)]
    table: pd.DataFrame = drawn.compute().to_dataframe(dim_order=order).reset_index()
    return table
