"""Truths that could as well be read the other way round.

Two labels that all annotators exchange give the same data. Priors hold annotators above guessing on
average, so that chains stay on one side; where the data say no more than that, the side is the
prior's, and this is where it shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import xarray as xr

from dissensus.dims import ANNOTATOR, SAMPLE
from dissensus.errors import DesignWarning, DissensusWarning, shown, warn_caller

NEAR: Final = 0.05
"""The part of the way from guessing to being right always that counts as guessing: what a uniform
prior gives it."""
_OFTEN: Final = 0.1
"""The share of draws there, twice the prior's, from which on it is no chance."""
_SURE: Final = 0.95


def near_guessing(accuracy: xr.DataArray, n_labels: int) -> dict[str, Any]:
    """Say how far annotators as a whole may be guessing, and who is worse than that.

    Parameters
    ----------
    accuracy : DataArray (chain, draw) or (chain, draw, annotator)
    n_labels : int

    Returns
    -------
    dict
        The attribute ``near_guessing``: the share of draws in which annotators are on average no
        more than a twentieth of the way above guessing.

    Warns
    -----
    DissensusWarning
        If that is so in more than a tenth of the draws (a `DesignWarning`: more draws are no help);
        and of annotators who are right less often than by guessing, with a probability above .95.

    Examples
    --------
    >>> draws = xr.DataArray([[0.8, 0.9, 0.85]], dims=("chain", "draw"))
    >>> near_guessing(draws, 2)
    {'near_guessing': 0.0}
    """
    chance = 1.0 / n_labels
    mean = accuracy.mean(ANNOTATOR) if ANNOTATOR in accuracy.dims else accuracy
    near = mean < chance + NEAR * (1 - chance)
    share = float(near.mean())
    if share > _OFTEN:
        by_chain = near.mean("draw").to_numpy().tolist()
        chains = ", ".join(f"{one:.0%}" for one in by_chain)
        why = (
            "The labels hardly tell which of them are true: read the other way round they would "
            "fit nearly as well, and that annotators are mostly right is the prior's word."
            if n_labels == 2
            else "Labels agree hardly more than by chance, and which of them are true is mostly "
            "the prior's word."
        )
        warn_caller(
            f"In {share:.0%} of the draws (chain by chain {chains}) annotators are on average no "
            f"better than guessing ({chance:.0%}), or hardly. {why} Do not report accuracies or "
            "truths; have items labelled by more annotators, or find the truth of some.",
            DesignWarning,
        )
    elif ANNOTATOR in accuracy.dims:
        _warn_of_worse(accuracy, chance)
    return {"near_guessing": share}


def doubt(attrs: Mapping[Any, Any]) -> str:
    """Say in a few words that annotators may be guessing, as far as a fit can tell; or nothing.

    Examples
    --------
    >>> doubt({"near_guessing": 0.31}), doubt({"near_guessing": 0.0}), doubt({})
    ('annotators may be guessing (31% of the draws)', '', '')
    """
    share = float(attrs.get("near_guessing", 0.0))
    return f"annotators may be guessing ({share:.0%} of the draws)" if share > _OFTEN else ""


def _warn_of_worse(accuracy: xr.DataArray, chance: float) -> None:
    """Name annotators who are surely right less often than by guessing."""
    worse = (accuracy < chance).mean(list(SAMPLE)).to_numpy() > _SURE
    names = accuracy[ANNOTATOR].to_numpy()[worse]
    if len(names):
        warn_caller(
            f"{len(names)} of {len(worse)} annotators ({shown(list(names))}) are right less often "
            f"than by guessing ({chance:.0%}), says the posterior. Have they exchanged labels? If "
            "all of a group had, the truth itself would be the other way round: look at what "
            "they were asked.",
            DissensusWarning,
        )
