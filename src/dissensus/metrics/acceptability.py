"""The one bound on data that the source of these metrics names."""

from __future__ import annotations

from typing import Any

import xarray as xr

from dissensus.dims import SAMPLE
from dissensus.metrics._components import components
from dissensus.metrics.icc import annotator_variance


def annotators_outweigh_items(fit: Any) -> xr.DataArray:
    r"""Probability that the annotator ICC exceeds the ICC.

    .. math:: P(\mathrm{ICC}_\mathrm{annotator} > \mathrm{ICC})
        = P(\sigma_\mathrm{annotator} > \sigma_\mathrm{item})

    It is the same on the latent and on the observed scale: the correlation of two labels grows with
    the variance they share, be it the item's or the annotator's.

    Parameters
    ----------
    fit : DataTree
        A fit of `models.crossed_effects` or `models.cross_replication`.

    Returns
    -------
    xarray.DataArray
        ``annotators_outweigh_items``, one number, or (pool): a share of draws, in [0, 1].

    Raises
    ------
    ArgumentError
        As `dissensus.annotator_icc`.

    Notes
    -----
    Where it is likely, a label says more about who gave it than about what it is of.

    Source: Quinn, Miles and Wong, "Measuring Validity and Reliability of Human Ratings", which
    calls such data unacceptable.

    Examples
    --------
    >>> import numpy as np
    >>> names = {"mu": [0, 0], "sigma_item": [1, 1], "sigma_annotator": [2, 0.5], "sigma": [1, 1]}
    >>> draws = xr.Dataset({k: (SAMPLE, np.array([v], dtype=float)) for k, v in names.items()})
    >>> fit = xr.DataTree.from_dict({"posterior": draws})
    >>> fit.attrs.update(model="crossed_effects", hyper_family="gaussian")
    >>> annotators_outweigh_items(fit).item()
    0.5
    """
    parts = components(fit)
    above = annotator_variance(parts) > parts.item
    return above.mean(SAMPLE).rename("annotators_outweigh_items")
