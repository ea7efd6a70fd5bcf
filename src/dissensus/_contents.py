"""What is in a set of annotations, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._wording import short
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL
from dissensus.schema import ranking_code


def describe_annotations(annotations: xr.Dataset) -> list[tuple[str, str]]:
    """List what a person wants to know before trusting a file.

    Parameters
    ----------
    annotations : xarray.Dataset
        From `dissensus.annotations`.

    Returns
    -------
    list of (str, str)
        What, and its value in words.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": list("ab"), "label": ["x", "y"]})
    >>> dict(describe_annotations(ann))["annotators per item"]
    '2 (all alike)'
    """
    kind, source = annotations.attrs["kind"], annotations.attrs["kind_source"]
    pairs = [annotations[f"{dim}_code"].to_numpy() for dim in (ITEM, ANNOTATOR)]
    # Repeated labels, and the places of a ranking, are of one annotator.
    item, annotator = np.unique(np.stack(pairs), axis=1)
    per_item = np.bincount(item, minlength=annotations.sizes[ITEM])
    out = [
        ("kind", f"{kind} ({source})"),
        ("rows", f"{annotations.sizes[ANNOTATION]:,}"),
        ("items", f"{annotations.sizes[ITEM]:,}"),
        ("annotators", f"{annotations.sizes[ANNOTATOR]:,}"),
        ("annotators per item", _spread(per_item)),
        ("items per annotator", _spread(np.bincount(annotator))),
    ]
    alone = int((per_item == 1).sum())
    if alone:
        out.append(("items with one annotator", f"{alone:,}: no disagreement can be seen there"))
    if "label_code" in annotations:
        out += _labels(annotations)
    else:
        out.append(_quartiles("values", annotations["value"].to_numpy()))
    if "confidence" in annotations:
        out.append(_quartiles("confidence", annotations["confidence"].to_numpy()))
    return out


def _quartiles(what: str, values: npt.NDArray[np.float64]) -> tuple[str, str]:
    quartiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    return f"{what} (min, quartiles, max)", ", ".join(f"{q:g}" for q in quartiles)


def _spread(counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    low, middle, high = counts.min(), np.median(counts), counts.max()
    if low == high:
        return f"{low:,} (all alike)"
    return f"{low:,} to {high:,}, median {middle:g}"


def _labels(annotations: xr.Dataset) -> list[tuple[str, str]]:
    names = annotations[LABEL].to_numpy()
    code = annotations["label_code"].to_numpy()
    count = np.bincount(code, minlength=len(names))
    order = np.argsort(-count, kind="stable")[:8]
    shares = ", ".join(f"{short(names[i], 40)} {count[i] / len(code):.0%}" for i in order)
    more = f", {len(names) - 8} more" if len(names) > 8 else ""
    out = [("labels", f"{len(names):,}: {shares}{more}")]
    unused = names[count == 0]
    if len(unused):
        out.append(("labels nobody used", f"{len(unused):,}: {_few(unused)}"))
    if "rank" in annotations:
        tied = _tied_share(annotations)
        out.append(("rankings with ties", f"{tied:.0%}"))
    return out


def _few(names: npt.NDArray[Any]) -> str:
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return ", ".join(short(repr(name), 40) for name in names[:5].tolist()) + more


def _tied_share(annotations: xr.Dataset) -> float:
    ranking, rank = ranking_code(annotations), annotations["rank"].to_numpy()
    block, size = np.unique(ranking * (rank.max() + 1) + rank, return_counts=True)
    tied = np.unique(block[size > 1] // (rank.max() + 1))
    return len(tied) / (int(ranking.max()) + 1)
