"""From a model of scores to plausibilities of an event: that a score is past a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr

from dissensus.data import tables
from dissensus.data.plausibility import NAME
from dissensus.dims import LABEL
from dissensus.errors import AnnotationError, ArgumentError, brief, shown
from dissensus.metrics._blocks import is_lazy
from dissensus.metrics._numbers import one_number


def event_plausibility(
    fit: Any, threshold: float, labels: tuple[Any, Any] = ("below", "above")
) -> xr.DataArray:
    r"""Plausibility that one more annotator's score falls below or above a threshold.

    .. math:: \theta_i = \Phi\left(\frac{c - \mu_i}{\sigma_i}\right), \qquad 1 - \theta_i

    Parameters
    ----------
    fit : DataTree or Dataset
        A fit of `models.normal_scores`, with ``mean`` and ``variance`` (item).
    threshold : float
        The cut c, in the units of the scores.
    labels : pair
        What to call the two outcomes.

    Returns
    -------
    xarray.DataArray
        A dense plausibility (chain, draw, item, label) of the two outcomes: every metric of
        plausibilities takes it.

    Raises
    ------
    ArgumentError
        If the fit has no mean and variance, or the threshold is not finite.

    Notes
    -----
    It misleads where scores are not normal, as near the ends of a scale: it believes in scores
    beyond them. The threshold is a choice; look at more than one.

    Source: Stutz et al. (2023), Appendix A (toxicity and aesthetics).

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 1], "annotator": [1, 2, 3],
    ...                       "label": [0.5, 1.5, 1.0]})
    >>> fit = dx.models.normal_scores.fit(ann, prior=(0, 1, 2, 2), draws=500, random_seed=1)
    >>> dx.event_plausibility(fit, threshold=0.75).sel(label="above").mean().round(1).item()
    0.5
    """
    posterior = fit
    if isinstance(fit, xr.DataTree):
        posterior = (fit["posterior"] if "posterior" in fit.children else fit).to_dataset()
    known = set(posterior) if isinstance(posterior, xr.Dataset) else set()
    parts = {"mean", "variance"}
    if not parts <= known or any(posterior[name].dtype.kind not in "fiu" for name in parts):
        found = isinstance(posterior, xr.Dataset)
        raise ArgumentError(
            "fit",
            expected="a fit of normal_scores, with mean and variance",
            found=f"the variables {shown(list(posterior))}" if found else type(fit).__name__,
        )
    # Of draws in chunks each look would draw them all.
    if not is_lazy(posterior["variance"]) and bool((posterior["variance"] < 0).any()):
        raise ArgumentError(
            "fit", expected="variances of 0 or more",
            found=str(float(posterior["variance"].min())),
        )  # fmt: skip
    threshold = one_number("threshold", threshold, "a finite number", np.isfinite)
    outcomes = _two(labels)
    scaled = (threshold - posterior["mean"]) / np.sqrt(posterior["variance"])
    both = [xr.apply_ufunc(ndtr, side, dask="allowed") for side in (scaled, -scaled)]
    out = xr.concat(both, dim=LABEL).transpose(..., LABEL)
    return out.assign_coords({LABEL: outcomes}).rename(NAME)


def _two(labels: Any) -> list[Any]:
    """Return the names of both outcomes, or raise."""
    names = list(labels) if isinstance(labels, Sequence | np.ndarray) else []
    try:
        space = tables.encode(pd.Series(names, dtype=object), "labels").values
    except AnnotationError:
        space = np.empty(0)
    if len(names) != 2 or len(space) != 2:
        raise ArgumentError("labels", expected="two different names", found=brief(labels))
    return names
