"""Pairwise comparison of systems, draw by draw."""

from __future__ import annotations

import numpy as np
import xarray as xr

from dissensus.dims import SAMPLE, SYSTEM, other
from dissensus.errors import ArgumentError, brief

RANK = "rank"


def compare(draws: xr.DataArray, dim: str = SYSTEM) -> xr.Dataset:
    r"""Compare systems pair by pair on the same draws.

    Parameters
    ----------
    draws : xarray.DataArray
        A metric with ``chain``, ``draw`` and ``dim`` (two or more systems), without NaN; other dims
        are kept. If the attribute ``better`` is "lower", smaller values are better.
    dim : str
        The dim to compare along.

    Returns
    -------
    xarray.Dataset
        ``difference`` (chain, draw, dim, dim\_): the first system minus the second;
        ``probability_better`` (dim, dim\_): share of draws in which the first is strictly better;
        ``probability_equal`` (dim, dim\_); ``rank_probability`` (dim, rank): share of draws in
        which a system has this rank, where tied systems share the tied ranks equally;
        ``probability_best`` (dim): the probability of rank 1.

    Notes
    -----
    The probability of being better does not measure the size of a difference: with many items, a
    negligible difference may be certain (see ``difference``). The best of many systems seems better
    than it is: ``probability_best`` accounts for this selection, the interval of the best system
    does not.

    Differences are paired: in each draw, both systems have the same plausibilities and item
    weights, so their common uncertainty cancels.

    Examples
    --------
    >>> import xarray as xr, dissensus as dx
    >>> draws = xr.DataArray([[[0.7, 0.6], [0.8, 0.6], [0.5, 0.6]]], name="accuracy",
    ...     dims=("chain", "draw", "system"), coords={"system": ["a", "b"]})
    >>> round(dx.compare(draws).probability_better.sel(system="a", system_="b").item(), 3)
    0.667
    """
    if not isinstance(draws, xr.DataArray):
        raise ArgumentError(
            "draws",
            expected="one metric, as a DataArray",
            found=type(draws).__name__,
            hint="Choose one variable, such as metrics['top_1_accuracy']",
        )
    draws = draws.compute()  # compute once, since the draws are used several times below
    _require_systems(draws, dim)
    sign = -1 if draws.attrs.get("better") == "lower" else 1
    second = draws.rename({dim: other(dim)})
    ranks = _rank_probability(sign * draws, dim)
    out = xr.Dataset(
        {
            "difference": draws - second,
            "probability_better": (sign * draws > sign * second).mean(SAMPLE),
            "probability_equal": (draws == second).mean(SAMPLE),
            "rank_probability": ranks,
            "probability_best": ranks.isel({RANK: 0}, drop=True),
        }
    )
    out["difference"] = out["difference"].transpose(*SAMPLE, ..., dim, other(dim))
    return out.assign_attrs(metric=str(draws.name), better="lower" if sign < 0 else "higher")


def _require_systems(draws: xr.DataArray, dim: str) -> None:
    """Raise unless draws are numeric and have two or more systems along a dim."""
    if not isinstance(dim, str) or dim in {*SAMPLE, RANK}:
        raise ArgumentError(
            "dim",
            expected=f"the name of a dim other than {(*SAMPLE, RANK)}",
            found=brief(dim),
        )
    if not {*SAMPLE, dim} <= set(draws.dims) or RANK in draws.dims:
        raise ArgumentError(
            "draws",
            expected=f"dims {(*SAMPLE, dim)} among others, and not {RANK!r}",
            found=str(draws.dims),
        )
    if draws.sizes[dim] < 2:
        raise ArgumentError("draws", expected=f"two or more values along {dim!r}", found="one")
    if draws.dtype.kind not in "iuf" or bool(draws.isnull().any()):
        raise ArgumentError(
            "draws",
            expected="a number for each system in each draw",
            found=f"{int(draws.isnull().sum())} of {draws.size} undefined, of type {draws.dtype}",
        )


def _rank_probability(draws: xr.DataArray, dim: str) -> xr.DataArray:
    """Return the probability of each system's ranks (..., dim, rank); 1 is the largest value."""
    second = draws.rename({dim: other(dim)})
    above = (second > draws).sum(other(dim))
    equal = (second == draws).sum(other(dim))
    ranks = xr.DataArray(np.arange(1, draws.sizes[dim] + 1), dims=RANK, name=RANK)
    within = (ranks > above) & (ranks <= above + equal)
    share = (within / equal).mean(SAMPLE)
    return share.assign_coords({RANK: ranks.to_numpy()}).transpose(..., dim, RANK)
