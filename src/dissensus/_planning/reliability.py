"""What so many annotators and items would tell of reliability, from a pilot's posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus._planning.designs import Design
from dissensus._planning.studies import Widths
from dissensus.dims import ANNOTATOR, ITEM, POOL, SAMPLE, other
from dissensus.metrics.reliability import annotators_needed, spearman_brown


def of_annotators(
    one: xr.DataArray, annotators: list[int], target: float, assurance: float
) -> xr.Dataset:
    """Say what the mean of so many labels is worth, and how many it takes.

    Parameters
    ----------
    one : DataArray
        Draws of the ICC (chain, draw[, pool]).
    annotators : list of int
        Numbers of labels.
    target, assurance : float
        The reliability to reach, and how surely.
    """
    mean = spearman_brown(one, annotators).rename("reliability")
    needed = annotators_needed(one, target)
    return xr.Dataset(
        {
            "icc": one,
            "reliability": mean,
            "probability_reached": (needed <= mean[ANNOTATOR])
            .mean(SAMPLE)
            .transpose(ANNOTATOR, ...),
            "annotators_needed": needed,
            "annotators_enough": _enough(needed, assurance),
        }
    )


def _enough(needed: xr.DataArray, assurance: float) -> xr.DataArray:
    """Return the least number of annotators that will do in such a share of the draws."""
    n = needed.sizes[SAMPLE[0]] * needed.sizes[SAMPLE[1]]
    # So many draws must agree; the rounding of, say, .7 * 10 must not ask for one more.
    place = max(int(np.ceil(assurance * n * (1 - 1e-12))), 1) - 1
    flat = needed.fillna(np.inf).stack(sample=SAMPLE).transpose(..., "sample")
    values = np.sort(flat.to_numpy(), axis=-1)[..., place]
    return xr.DataArray(values, {d: needed[d] for d in flat.dims[:-1]}, flat.dims[:-1])


def of_items(
    found: Widths, designs: list[Design], width: float, assurance: float, pools: list[Any] | None
) -> xr.Dataset:
    """Say how wide intervals are with so many items, and how many items it takes."""
    annotators = list(dict.fromkeys(design.n_annotators for design in designs))
    items = list(dict.fromkeys(design.n_items for design in designs))
    n_pools = 1 if pools is None else len(pools)
    labels = np.array([d.n_annotators * d.n_items * n_pools for d in designs])
    out = xr.Dataset(
        {"n_labels": ((ANNOTATOR, ITEM), labels.reshape(len(annotators), len(items)))},
        coords={ANNOTATOR: annotators, ITEM: items},
    )
    names = {} if pools is None else {POOL: pools, other(POOL): pools}
    quantities = {"": found.icc[..., 0] if pools is None else found.icc}
    if pools is not None:
        quantities["xcc_"] = np.where(np.eye(n_pools, dtype=bool), np.nan, found.xcc)
    for prefix, lengths in quantities.items():
        dims = [ANNOTATOR, ITEM, "study", *list(names)[: lengths.ndim - 2]]
        shape = (len(annotators), len(items), *lengths.shape[1:])
        length = xr.DataArray(
            lengths.reshape(shape), dims=dims, coords={d: names[d] for d in dims[3:]}
        ).assign_coords({ANNOTATOR: annotators, ITEM: items})
        out = out.assign(_summed_up(length, prefix, width, assurance))
    return out


def _summed_up(
    length: xr.DataArray, prefix: str, width: float, assurance: float
) -> dict[str, xr.DataArray]:
    """Average over studies: half the length, the share that is short enough, and items for that."""
    defined = length.notnull().any("study")
    # An interval that no study could give is not short; but of a pool with itself there is none.
    short = (length <= width).mean("study").where(defined)
    items = length[ITEM].where(short >= assurance)
    return {
        f"{prefix}half_width": length.mean("study") / 2,
        f"{prefix}probability_narrow": short,
        f"{prefix}items_enough": items.min(ITEM),
    }
