"""Win rates and ranks of systems, from votes on pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ITEM, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.pairs import win_rate_rows

_NODES = 32
"""Number of values of the difference between two systems on a new prompt."""


def win_rate(fit: xr.DataTree, *, new_items: bool = False) -> xr.DataArray:
    r"""Share of votes that each system wins against the others, a tie counting as half.

    .. math:: w_k = \frac{1}{K - 1} \sum_{j \ne k}
        \bigl( P(k \succ j) + \tfrac{1}{2} P(k \sim j) \bigr)

    Parameters
    ----------
    fit : xarray.DataTree
        A fit of `dissensus.models.bradley_terry`, or the trace of `pymc.sample` on its model.
    new_items : bool
        Whether the prompts are new. By default they are those of the votes, each pair of systems
        voted on as often on each of them.

    Returns
    -------
    xarray.DataArray
        ``win_rate`` (chain, draw, system), in [0, 1]; they average 1/2.

    Raises
    ------
    ArgumentError
        If the fit has no strengths, or the prompts' effects were not kept.

    Notes
    -----
    All other systems are met equally often, whatever the votes were on, and votes are those of a
    typical voter: one with the median sharpness and tendency to ties, to whom each system is shown
    on the left in half of the votes. If the model has no effects of prompts, ``new_items`` changes
    nothing.

    Source: the probabilities of Davidson (1970), "On extending the Bradley-Terry model to
    accommodate ties in paired comparison experiments", Eq. 3.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = dx.pairs({"left": list("aab") * 9, "right": list("bcc") * 9,
    ...                   "winner": list("acb") * 9})
    >>> fit = dx.models.bradley_terry.fit(votes, random_seed=1, progressbar=False)
    >>> dx.win_rate(fit).mean().round(6).item()
    0.5
    """
    arguments.flags(new_items=new_items)
    draws = _posterior(fit)
    ahead, nodes, weights = draws["strength"], np.zeros(1), np.ones(1)
    if "item_spread" in draws and new_items:
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        weights = weights / weights.sum()
    elif "item_spread" in draws:
        if "item_effect" not in draws:
            raise ArgumentError(
                "fit", expected="effects of prompts, for the win rate on these prompts",
                found="a fit with keep_items=False",
                hint="Fit with keep_items=True, or type new_items=True",
            )  # fmt: skip
        ahead = ahead + draws["item_effect"]
    if ITEM not in ahead.dims:
        ahead = ahead.expand_dims(ITEM)
    strength = ahead.transpose(*SAMPLE, ITEM, SYSTEM).to_numpy()
    # The difference of two systems has twice the variance.
    spread = np.sqrt(2.0) * draws["item_spread"].to_numpy() if len(nodes) > 1 else np.zeros(1)
    each = spread[..., None] * nodes if len(nodes) > 1 else nodes
    odds = np.exp(draws["tie"].to_numpy()) if "tie" in draws else 0.0
    side = draws["side"].to_numpy() if "side" in draws else 0.0
    values = win_rate_rows(strength, odds, side, each, weights)
    return xr.DataArray(
        values, dims=(*SAMPLE, SYSTEM), coords=draws["strength"].coords, name="win_rate",
        attrs={"better": "higher"},
    )  # fmt: skip


def rank(fit: xr.DataTree) -> xr.DataArray:
    r"""Rank of each system by its strength, 1 being the best.

    .. math:: r_k = 1 + \#\{j : s_j > s_k\}

    Parameters
    ----------
    fit : xarray.DataTree
        As in `win_rate`.

    Returns
    -------
    xarray.DataArray
        ``rank`` (chain, draw, system), from 1 to the number of systems. The share of draws with
        rank 1 is the probability to be the best.

    Raises
    ------
    ArgumentError
        If the fit has no strengths.

    Notes
    -----
    An interval of ranks may be wide although the votes are many: systems of about the same strength
    change places from draw to draw. `compare` gives the probability of being better for each pair.

    Source: ranks under a posterior, Laird & Louis (1989), "Empirical Bayes ranking methods".

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = dx.pairs({"left": list("aab") * 9, "right": list("bcc") * 9,
    ...                   "winner": list("aab") * 9})
    >>> fit = dx.models.bradley_terry.fit(votes, random_seed=1, progressbar=False)
    >>> dx.rank(fit).median(("chain", "draw")).values
    array([1., 2., 3.])
    """
    strength = _posterior(fit)["strength"].transpose(*SAMPLE, SYSTEM)
    below = np.argsort(np.argsort(-strength.to_numpy(), axis=-1), axis=-1)
    out: xr.DataArray = strength.copy(data=below + 1.0)
    return out.rename("rank").assign_attrs(better="lower")


def _posterior(fit: Any) -> xr.Dataset:
    """Return the draws of a fit, or raise unless they are of strengths of systems."""
    found = isinstance(fit, xr.DataTree) and "posterior" in fit.children
    draws = fit["posterior"].to_dataset() if found else xr.Dataset()
    if "strength" not in draws or SYSTEM not in draws["strength"].dims:
        raise ArgumentError(
            "fit", expected="a fit of models.bradley_terry, or the trace of its model",
            found=f"a fit of {fit.attrs['model']}" if found and "model" in fit.attrs
            else brief(fit),
        )  # fmt: skip
    return draws
