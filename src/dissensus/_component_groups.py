"""From a fit of crossed effects to what an evaluation keeps of it: draws of reliability."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import metrics
from dissensus.dims import POOL, SAMPLE, SCALE, other
from dissensus.metrics._components import SCALES
from dissensus.metrics.cross_replication import annotators_outweigh_items

LATENT, OBSERVED = SCALES
CONSTANTS: Final = ("sigma", "label_value", "n_labels_per_item")
"""What of a fit's constant data is kept; the rest is in the annotations."""


def component_draws(fit: xr.DataTree, n_labels: xr.DataArray, reference: Any = None) -> xr.Dataset:
    r"""Return draws of all that a fit of crossed effects says of reliability.

    Parameters
    ----------
    fit : DataTree
        Of `models.crossed_effects` or `models.cross_replication`.
    n_labels : DataArray
        How many annotators an item typically has; a number, or (pool).
    reference : pool, optional
        The pool that others are compared with.

    Returns
    -------
    xarray.Dataset
        ``icc``, ``annotator_icc`` (chain, draw, scale[, pool]); ``residual_share``, what neither
        items nor annotators account for, on the latent scale; ``mean_reliability`` of the mean
        of ``n_labels`` labels as they are given; ``annotators_outweigh_items``, a probability. Of
        pools ``normalized_xcc`` and ``xcc`` (chain, draw, scale, pool, pool\_); with a reference
        ``icc_difference`` (..., pool) from it, and ``xcc_difference`` and
        ``normalized_xcc_difference`` (..., pool, pool\_): how much closer to it is the pool of
        the row than that of the column. NaN where that is no question.
    """
    known = "sigma_annotator" in fit["posterior"]
    out = xr.Dataset({"icc": _on_both_scales("icc", fit)})
    latent = out["icc"].sel({SCALE: LATENT}, drop=True)
    residual = 1.0 - latent
    if known:
        out["annotator_icc"] = _on_both_scales("annotator_icc", fit)
        residual = residual - out["annotator_icc"].sel({SCALE: LATENT}, drop=True)
        out["annotators_outweigh_items"] = annotators_outweigh_items(fit)
    out["residual_share"] = residual.drop_attrs()
    step_up = metrics.get("spearman_brown").function
    out["mean_reliability"] = step_up(out["icc"].sel({SCALE: OBSERVED}, drop=True), n_labels)
    out["n_labels"] = n_labels
    if "correlation" in fit["posterior"]:
        out = out.merge(_between_pools(fit, out["icc"], reference))
    return out


def _on_both_scales(name: str, fit: xr.DataTree, **more: Any) -> xr.DataArray:
    metric = metrics.get(name).function
    each = [metric(fit, scale=scale, **more) for scale in SCALES]
    out = xr.concat(each, dim=xr.IndexVariable(SCALE, list(SCALES)), combine_attrs="drop")
    return out.transpose(*SAMPLE, SCALE, ...).assign_attrs(better=each[0].attrs["better"])


def _between_pools(fit: xr.DataTree, icc: xr.DataArray, reference: Any) -> xr.Dataset:
    """Return correlations between pools, and how far these differ from or against one of them."""
    out = xr.Dataset({"xcc": _on_both_scales("xcc", fit)})
    latent = metrics.get("normalized_xcc").function(fit)
    # As the metric has it, without going through all pairs of labels once more: that takes long.
    own = icc.sel({SCALE: OBSERVED}, drop=True)
    root = (own * own.rename({POOL: other(POOL)})) ** 0.5
    observed = (out["xcc"].sel({SCALE: OBSERVED}, drop=True) / root.where(root > 0)).clip(-1.0, 1.0)
    both = xr.concat([latent, observed], dim=out[SCALE], combine_attrs="drop")
    out["normalized_xcc"] = both.transpose(*SAMPLE, SCALE, ...).assign_attrs(out["xcc"].attrs)
    if reference is None:
        return out
    out["icc_difference"] = _masked(icc - icc.sel({POOL: reference}, drop=True), reference)
    for name in ("xcc", "normalized_xcc"):
        close = out[name].sel({other(POOL): reference}, drop=True)
        gap = close - close.rename({POOL: other(POOL)})
        same = gap[POOL] == gap[other(POOL)]
        out[f"{name}_difference"] = _masked(gap.where(~same), reference)
    return out


def _masked(draws: xr.DataArray, reference: Any) -> xr.DataArray:
    """Blank what is of the reference itself, with which there is nothing to compare."""
    for dim in (POOL, other(POOL)):
        if dim in draws.dims:
            draws = draws.where(draws[dim] != reference)
    return draws.drop_attrs()


def kept(fit: xr.DataTree) -> dict[str, xr.Dataset]:
    """Return what of the fit stays beside the draws, so that metrics can be asked of it again."""
    constants = fit["constant_data"].to_dataset()
    names = [name for name in CONSTANTS if name in constants]
    return {
        "posterior": fit["posterior"].to_dataset(),
        "constant_data": constants[names].assign_attrs(fit.attrs),
    }


def is_finite(data: xr.Dataset) -> bool:
    """Say whether the draws that should be numbers are."""
    return all(bool(np.isfinite(data[name]).all()) for name in ("icc", "residual_share"))
