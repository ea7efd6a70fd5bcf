"""From the reliability of one label to that of a mean of several, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATOR
from dissensus.errors import ArgumentError
from dissensus.kernels.formulas import labels_needed, stepped_up
from dissensus.metrics._numbers import Numbers, named, numbers, one_number


def spearman_brown(icc: Any, k: Any) -> Any:
    r"""Reliability of the mean of k annotators' labels, from that of one label.

    .. math:: \mathrm{ICC}(k) = \frac{k\,\mathrm{ICC}}{(k - 1)\,\mathrm{ICC} + 1}

    Parameters
    ----------
    icc : DataArray, array or float
        Draws of `dissensus.icc`, or any reliability of one label, in [-1, 1].
    k : float, sequence of float, or DataArray
        How many annotators label an item, > 0; it need not be whole, as an average number of
        annotators is not. Several of them add a dim ``annotator`` with their numbers. A
        DataArray keeps its own dims.

    Returns
    -------
    xarray.DataArray, array or float
        ``spearman_brown``, with the dims of ``icc`` and (annotator) or those of ``k``. Where
        neither is a DataArray: a float, or an array as NumPy broadcasts the two. At most 1.

    Raises
    ------
    ArgumentError
        If icc is not within [-1, 1], or k is not positive and finite.

    Notes
    -----
    It misleads where annotators err together: the mean of many who share a bias is reliable, and
    wrong.

    The k annotators are drawn anew for every item, as in an ICC of absolute agreement. For the mean
    of labels as they are given, take the ICC on the observed scale. With a negative reliability, as
    estimates may be, it is NaN from :math:`k = 1 - 1/\mathrm{ICC}` on.

    Source: Spearman (1910), "Correlation calculated from faulty data"; Brown (1910), "Some
    experimental results in the correlation of mental abilities", both *British Journal of
    Psychology* 3.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> dx.spearman_brown(0.25, 3)
    0.5
    >>> draws = xr.DataArray([[0.25, 0.5]], dims=("chain", "draw"), name="icc")
    >>> dx.spearman_brown(draws, [1, 3]).sel(annotator=3).values
    array([[0.5 , 0.75]])
    """
    one = _reliability(icc)
    number = numbers("k", k, "positive finite numbers", lambda x: np.isfinite(x) & (x > 0))
    if isinstance(one, xr.DataArray) and not isinstance(number, xr.DataArray) and number.ndim:
        if number.ndim > 1:
            raise ArgumentError("k", expected="one dim, or a DataArray", found=str(number.shape))
        number = xr.DataArray(number, dims=ANNOTATOR, coords={ANNOTATOR: np.asarray(k)})
    return _named(stepped_up, one, number, "spearman_brown", "higher")


def annotators_needed(icc: Any, target: float) -> Any:
    r"""How many annotators per item it takes for their mean label to reach a reliability.

    .. math:: k = \left\lceil \frac{t\,(1 - \mathrm{ICC})}{\mathrm{ICC}\,(1 - t)} \right\rceil

    and at least 1: `spearman_brown` solved for k, rounded up.

    Parameters
    ----------
    icc : DataArray, array or float
        As in `spearman_brown`.
    target : float
        The reliability t to reach, between 0 and 1.

    Returns
    -------
    xarray.DataArray, array or float
        ``annotators_needed``, whole numbers, with the dims of ``icc``. Infinity where the
        reliability of one label is 0 or less: no number of annotators will do.

    Raises
    ------
    ArgumentError
        If icc is not within [-1, 1], or the target not between 0 and 1.

    Notes
    -----
    A target that is missed by rounding only (1e-12 of it) is reached. The draws are skewed, and
    may be infinite: look at their median and other quantiles, or at the share of draws within
    what one can pay, rather than at their mean.

    Source: Spearman (1910) and Brown (1910), as `spearman_brown`, solved for the number.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> dx.annotators_needed(0.25, target=0.5), dx.annotators_needed(0.25, target=0.51)
    (3.0, 4.0)
    >>> draws = xr.DataArray([[0.5, 0.25, 0.0]], dims=("chain", "draw"), name="icc")
    >>> dx.annotators_needed(draws, target=0.8).values
    array([[ 4., 12., inf]])
    """
    wanted = "a number between 0 and 1"
    goal = one_number("target", target, wanted, lambda x: (x > 0) & (x < 1))
    return _named(labels_needed, _reliability(icc), goal, "annotators_needed", "lower")


def _reliability(icc: Any) -> Numbers:
    # NaN, an undefined draw, stays one.
    wanted = "reliabilities of one label, from -1 to 1"
    return numbers("icc", icc, wanted, lambda x: np.isnan(x) | (abs(x) <= 1))


def _named(formula: Any, icc: Any, second: Any, name: str, better: str) -> Any:
    """Apply a formula, and name what comes out if what went in had names."""
    try:
        out = xr.apply_ufunc(formula, icc, second)
    except ValueError as error:
        raise ArgumentError(
            "k",
            expected=f"numbers that broadcast with icc, of shape {icc.shape}",
            found=f"shape {second.shape}, or other names along a dim",
        ) from error
    out = named(out, name, better)
    scale = getattr(icc, "attrs", {}).get("scale")
    return out if scale is None else out.assign_attrs(scale=scale)
