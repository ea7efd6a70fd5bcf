"""Simulates items on a line with three labels, drawn by annotators from the true shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data import annotations as _annotations
from dissensus.data.plausibility import NAME
from dissensus.dims import ITEM, LABEL

_LABELS: Final = ("Benign1", "Benign2", "Cancer")
_CENTRES: Final = np.array([-2.0, 0.0, 2.0])


class Toy(NamedTuple):
    """What `toy` returns.

    Examples
    --------
    >>> import dissensus as dx
    >>> annotations, plausibility, x = dx.simulate.toy(n_items=4, random_seed=1)
    >>> x.round(1).values
    array([-1.3,  0.3,  2.4,  2.9])
    >>> plausibility.sel(label="Cancer").round(2).values
    array([0.  , 0.2 , 0.95, 0.98])
    """

    annotations: xr.Dataset
    """Nominal annotations, one label from every annotator for every item."""
    plausibility: xr.DataArray
    """(item, label): the true p(y | x). Metrics take it in place of a fit."""
    x: xr.DataArray
    """(item): where on the line the item lies, from left to right."""


def toy(
    n_items: int = 100,
    n_annotators: int = 5,
    *,
    x: Sequence[float] | None = None,
    overlap: float = 1.0,
    random_seed: Any = None,
) -> Toy:
    r"""Simulate items on a line, with labels that overlap, and annotators who draw one each.

    .. math:: p(y \mid x) \propto \mathrm{Normal}(x;\ \mu_y, \sigma), \qquad
        \mu = (-2, 0, 2) \text{ for Benign1, Benign2, Cancer}

    Every annotator draws a label from this for every item, independently: the process of
    `dissensus.models.dirichlet` at reliability 1. Items near x = -1 and x = 1, where two labels
    meet, are ambiguous, however many annotators label them; items far from there are clear.

    Parameters
    ----------
    n_items : int
        How many items, drawn from the mixture of the three labels. Not used with ``x``.
    n_annotators : int
        How many annotators.
    x : sequence of float, optional
        Put the items here instead, in this order.
    overlap : float
        The standard deviation of each label along the line; > 0. Small values make items clear,
        large ones ambiguous.
    random_seed : int or numpy.random.Generator, optional
        Makes the draws repeatable.

    Returns
    -------
    Toy
        With the fields ``annotations``, ``plausibility`` and ``x``.

    Raises
    ------
    ArgumentError
        If an argument makes no sense.

    Notes
    -----
    After Stutz et al. (2023), Figure 2, which prints no numbers: centres and spread are ours.

    Examples
    --------
    >>> import dissensus as dx
    >>> toy = dx.simulate.toy(n_annotators=3, x=[-3.0, -1.0, 0.0], random_seed=1)
    >>> toy.plausibility.round(2).values
    array([[0.98, 0.02, 0.  ],
           [0.5 , 0.5 , 0.01],
           [0.11, 0.79, 0.11]])
    >>> toy.annotations.sizes["annotation"]
    9
    """
    n_annotators = arguments.whole("n_annotators", n_annotators)
    spread = arguments.positive("overlap", overlap)
    rng = np.random.default_rng(random_seed)
    if x is None:
        n_items = arguments.whole("n_items", n_items)
        centre = _CENTRES[rng.integers(len(_CENTRES), size=n_items)]
        at = np.sort(rng.normal(centre, spread))
    else:
        at = arguments.finite_row("x", x)
    true = _shares(at, spread)
    chance = rng.random((len(at), n_annotators, 1))
    code = (chance >= true.cumsum(axis=1)[:, None, :-1]).sum(axis=-1)
    items = np.arange(1, len(at) + 1)
    table = {
        "item": np.repeat(items, n_annotators),
        "annotator": np.tile(np.arange(1, n_annotators + 1), len(at)),
        "label": np.asarray(_LABELS)[code.ravel()],
    }
    ann = _annotations.annotations(table, labels=_LABELS)
    coords = {ITEM: items, LABEL: list(_LABELS)}
    plausibility = xr.DataArray(true, dims=(ITEM, LABEL), coords=coords, name=NAME)
    return Toy(ann, plausibility, xr.DataArray(at, dims=ITEM, coords={ITEM: items}, name="x"))


def _shares(x: npt.NDArray[np.float64], spread: float) -> npt.NDArray[np.float64]:
    """Return p(y | x); in logs, because far out all three densities underflow."""
    log = -0.5 * ((x[:, None] - _CENTRES) / spread) ** 2
    share = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))
