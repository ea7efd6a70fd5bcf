"""Intraclass correlations: how much of a label's variance is the item's, how much the annotator's.

On the observed scale both are correlations of labels as they were given, so that perfect agreement
is 1 for every family of labels.
"""

from __future__ import annotations

from typing import Any

import xarray as xr

from dissensus.dims import POOL, SAMPLE
from dissensus.errors import ArgumentError
from dissensus.metrics._components import LATENT, Components, check_scale, components
from dissensus.metrics._observed import correlation_within, observed_labels


def icc(fit: Any, scale: str = "latent") -> xr.DataArray:
    r"""Intraclass correlation: how alike two annotators' labels of one item are.

    .. math:: \mathrm{ICC} = \frac{\sigma_\mathrm{item}^2}
        {\sigma_\mathrm{item}^2 + \sigma_\mathrm{annotator}^2 + \sigma^2}

    with :math:`\sigma^2` the residual variance: :math:`\pi^2/3` for two labels
    (family "bernoulli"), 1 for ordered labels.

    Parameters
    ----------
    fit : DataTree
        A fit of `models.crossed_effects` or `models.cross_replication`.
    scale : {"latent", "observed"}
        "latent": the formula above. "observed": the correlation of the labels as they are
        given (0 and 1 for two labels, their numbers for ordered ones), of one item by two
        different annotators, over all items and annotators like these. For numbers
        (family "gaussian") the two are the same.

    Returns
    -------
    xarray.DataArray
        ``icc`` (chain, draw), or (chain, draw, pool); in [0, 1]. Of a fit whose chains failed it
        has an attribute ``doubt``, which says why not to rely on it.

    Raises
    ------
    ArgumentError
        If the fit is of another model or has no posterior, or there is no such scale.

    Notes
    -----
    It misleads between populations: with the same annotators it is higher where items differ more.
    A high ICC is no proof that labels are right, for annotators with the same bias agree.

    It is the correlation of two labels of an item by different annotators, and the *squared*
    correlation of one label with the item's true score; the source has it for that correlation.

    Which scale? On the latent scale the residual of two labels or of ordered ones is a fixed
    number, so that annotators who always agree have an ICC below 1. The observed scale is
    comparable with Cohen's kappa and Krippendorff's alpha, and falls where nearly all labels are
    the same; the latent one does not hang on how common a label is. `dissensus.spearman_brown`
    speaks of the mean of labels as they are given if the ICC is on the observed scale.

    The observed scale is computed by quadrature, to about 1e-9. It is NaN where all labels are the
    same to the last digit. With ``anonymous=True`` annotators have no effect of their own, and how
    they differ is residual.

    Source: Quinn, Miles and Wong, "Measuring Validity and Reliability of Human Ratings"; for the
    two scales Nakagawa and Schielzeth (2010), "Repeatability for Gaussian and non-Gaussian data",
    *Biological Reviews* 85.

    Examples
    --------
    >>> import dissensus as dx, numpy as np, xarray as xr
    >>> names = {"mu": 0.0, "sigma_item": 2.0, "sigma_annotator": 0.5}
    >>> draws = xr.Dataset({k: (("chain", "draw"), np.full((1, 2), v)) for k, v in names.items()})
    >>> fit = xr.DataTree.from_dict({"posterior": draws})
    >>> fit.attrs.update(model="crossed_effects", hyper_family="bernoulli")
    >>> dx.icc(fit).round(3).values, dx.icc(fit, scale="observed").round(3).values
    (array([[0.531, 0.531]]), array([[0.378, 0.378]]))
    """
    check_scale(scale)
    parts = components(fit)
    return _share(parts, parts.item, scale, "icc", "higher")


def annotator_icc(fit: Any, scale: str = "latent") -> xr.DataArray:
    r"""Annotator ICC: how alike one annotator's labels of two different items are.

    .. math:: \mathrm{ICC}_\mathrm{annotator} = \frac{\sigma_\mathrm{annotator}^2}
        {\sigma_\mathrm{item}^2 + \sigma_\mathrm{annotator}^2 + \sigma^2}

    Parameters
    ----------
    fit, scale
        As in `icc`; "observed" is the correlation of two different items' labels by one annotator.

    Returns
    -------
    xarray.DataArray
        ``annotator_icc`` (chain, draw), or (chain, draw, pool); in [0, 1].

    Raises
    ------
    ArgumentError
        As `icc`; also if the fit knows no annotators across items (``anonymous=True``).

    Notes
    -----
    The lower the better. Where it exceeds the ICC, a label says more about who gave it than about
    what it is of, and the source calls such data unacceptable. That is the same question on both
    scales: `acceptability` answers it.

    Source: Quinn, Miles and Wong, "Measuring Validity and Reliability of Human Ratings" ("labeler
    ICC").

    Examples
    --------
    >>> import dissensus as dx, numpy as np, xarray as xr
    >>> names = {"mu": 3.0, "sigma_item": 1.0, "sigma_annotator": 2.0, "sigma": 2.0}
    >>> draws = xr.Dataset({k: (("chain", "draw"), np.full((1, 1), v)) for k, v in names.items()})
    >>> fit = xr.DataTree.from_dict({"posterior": draws})
    >>> fit.attrs.update(model="crossed_effects", hyper_family="gaussian")
    >>> round(dx.annotator_icc(fit).item(), 3), round(dx.icc(fit).item(), 3)
    (0.444, 0.111)
    """
    check_scale(scale)
    parts = components(fit)
    return _share(parts, annotator_variance(parts), scale, "annotator_icc", "lower")


def annotator_variance(parts: Components) -> xr.DataArray:
    """Return the variance of the annotator effects, or raise if the model has none."""
    if parts.annotator is None:
        raise ArgumentError(
            "fit",
            expected="draws of 'sigma_annotator'",
            found="none, as annotators have no names across items (anonymous=True)",
            hint="How annotators differ is part of the residual there",
        )
    return parts.annotator


def _share(
    parts: Components, variance: xr.DataArray, scale: str, name: str, better: str
) -> xr.DataArray:
    """Return the correlation of two labels that have a part of the variance in common."""
    labels = None if scale == LATENT else observed_labels(parts)
    shares = variance / parts.total if labels is None else correlation_within(labels, variance)
    pools = [POOL] if POOL in shares.dims else []
    out = shares.transpose(*SAMPLE, *pools).rename(name)
    out.attrs = {"better": better, "scale": scale} | ({"doubt": parts.doubt} if parts.doubt else {})
    return out
