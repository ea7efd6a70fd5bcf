"""Non-inferiority: the probability that a discrepancy ratio is within a margin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief, shown, warn_caller
from dissensus.statistics._read import real

_RATIO = "discrepancy_ratio"


def non_inferiority(ratio_draws: xr.DataArray | xr.Dataset, margin: float) -> xr.DataArray:
    r"""Probability that a discrepancy ratio is below 1 plus a margin.

    .. math:: P(\Delta < 1 + \epsilon \mid \text{data})

    With a margin of 0.1, a system may be farther from the annotators than they are from each other
    by less than a tenth. Choose the margin before looking at the draws.

    Parameters
    ----------
    ratio_draws : DataArray or Dataset
        Draws (chain, draw, ...) of ratios, from `bayesian_bootstrap` of `discrepancy_ratio` (the
        variable of this name in a Dataset), of `annotator_discrepancy_ratio`, or from a model.
    margin : float
        The accepted excess, 0 or more.

    Returns
    -------
    xarray.DataArray
        A probability for each system (or along other dims of the draws). NaN, with a warning, if
        some draws are NaN.

    Notes
    -----
    The result is the share of draws below the limit; its resolution is 1 over the number of draws.
    Draws of `bayesian_bootstrap` are for the same annotators. In 60 simulated studies of 400 items
    with three annotators, a system whose ratio against other annotators was 1.15 had a probability
    of .95 or more in 15 % of the studies. With draws of `dissensus.evaluate`, which are for other
    annotators, this was so in 5 % of 40 studies.

    Source: Lovchinsky et al. (2020), section 3.2, as a posterior probability in place of a test.

    Examples
    --------
    >>> import xarray as xr
    >>> import dissensus as dx
    >>> draws = xr.DataArray([[0.8, 1.05, 1.2, 0.9]], dims=("chain", "draw"))
    >>> dx.non_inferiority(draws, margin=0.1).item()
    0.75
    """
    number = real(margin)
    if not 0 <= number < math.inf:
        raise ArgumentError(
            "margin",
            expected="a number, 0 or more (0.1: up to a tenth more than between annotators)",
            found=brief(margin),
        )
    draws = _draws(ratio_draws)
    undefined = draws.isnull().sum(SAMPLE)
    if bool((undefined > 0).any()):
        _warn(undefined, draws)
    probability = (draws < 1.0 + number).mean(SAMPLE).where(undefined == 0)
    return probability.rename("non_inferiority").assign_attrs(margin=number)


def _draws(draws: Any) -> xr.DataArray:
    if isinstance(draws, xr.DataTree):
        draws = draws.to_dataset()
    if isinstance(draws, xr.Dataset) and _RATIO in draws:
        draws = draws[_RATIO]
    if not isinstance(draws, xr.DataArray):
        variables = f"a Dataset of {list(draws.data_vars)}" if isinstance(draws, xr.Dataset) else ""
        raise ArgumentError(
            "ratio_draws",
            expected=f"draws of ratios, a DataArray, or a Dataset with {_RATIO!r}",
            found=variables or type(draws).__name__,
        )
    missing = [dim for dim in SAMPLE if dim not in draws.dims]
    if missing or draws.size == 0 or draws.dtype.kind not in "iuf":
        raise ArgumentError(
            "ratio_draws",
            expected=f"draws that are numbers, with dims {SAMPLE}",
            found=f"{draws.size} values of {draws.dtype} with dims {draws.dims}",
            hint="Use dissensus.bayesian_bootstrap(dissensus.discrepancy_ratio, ...)",
        )
    return draws


def _warn(undefined: xr.DataArray, draws: xr.DataArray) -> None:
    total = int(np.prod([draws.sizes[dim] for dim in SAMPLE]))
    where = ""
    if undefined.dims == (SYSTEM,) and SYSTEM in undefined.coords:
        names = undefined[SYSTEM].to_numpy()[(undefined > 0).to_numpy()]
        where = f" of {shown(list(names))}"
    warn_caller(
        f"Up to {int(undefined.max()):,} of {total:,} draws{where} are undefined (NaN), so the "
        "probability is undefined too."
    )
