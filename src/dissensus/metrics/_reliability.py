"""Intraclass correlations, and the reliability of means of several labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import POOL, SAMPLE
from dissensus.errors import ArgumentError
from dissensus.kernels.formulas import labels_needed, stepped_up
from dissensus.metrics._actual_accuracy import (
    Numbers,
    along_annotators,
    broadcast,
    named,
    numbers,
)
from dissensus.metrics._components import (
    LATENT,
    SCALES,
    Components,
    components,
    correlation_within,
    observed_labels,
)


def icc(fit: Any, scale: str = "latent") -> xr.DataArray:
    r"""Intraclass correlation: the correlation of two annotators' labels of one item.

    .. math:: \mathrm{ICC} = \frac{\sigma_\mathrm{item}^2}
        {\sigma_\mathrm{item}^2 + \sigma_\mathrm{annotator}^2 + \sigma^2}

    with :math:`\sigma^2` the residual variance: :math:`\pi^2/3` for two labels
    (family "bernoulli"), 1 for ordered labels.

    Parameters
    ----------
    fit : DataTree
        A fit of `models.crossed_effects` or `models.cross_replication`.
    scale : {"latent", "observed"}
        "latent": the formula above. "observed": the correlation of the observed labels of one item
        by two different annotators (0 and 1 for two labels, numbers for ordered labels), over the
        populations of items and annotators. For numbers (family "gaussian") the two scales are the
        same.

    Returns
    -------
    xarray.DataArray
        ``icc`` (chain, draw), or (chain, draw, pool); in [0, 1]. If the chains of the fit did not
        converge, the attribute ``doubt`` describes the problem.

    Notes
    -----
    The ICC depends on the population of items: with the same annotators it is higher if items
    differ more. A high ICC does not prove that labels are right: annotators with the same bias
    agree.

    The ICC is the *squared* correlation of one label with the item's true score. The source
    describes it as the correlation itself.

    With two or with ordered labels, the latent ICC is below 1 even if annotators always agree,
    since the residual variance is fixed. The observed ICC is comparable with Cohen's kappa and
    Krippendorff's alpha. It is low if nearly all labels are the same, and NaN if all are. For the
    mean of observed labels, use `dissensus.spearman_brown` of the observed ICC. The observed ICC is
    computed by quadrature, to about 1e-9. With ``anonymous=True`` differences between annotators
    are part of the residual.

    The interval assumes that effects are normal, and that annotators differ by a constant only. If
    the same few annotators labelled all items, it is too narrow for other annotators: on real sets,
    89 % intervals contained the ICC of a large panel in about .75 of the studies
    (docs/validation.md). The group ``components`` of `dissensus.evaluate` allows for this.

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
    arguments.one_of("scale", scale, SCALES)
    parts = components(fit)
    return _share(parts, parts.item, scale, "icc", "higher")


def annotator_icc(fit: Any, scale: str = "latent") -> xr.DataArray:
    r"""Annotator ICC: the correlation of one annotator's labels of two different items.

    .. math:: \mathrm{ICC}_\mathrm{annotator} = \frac{\sigma_\mathrm{annotator}^2}
        {\sigma_\mathrm{item}^2 + \sigma_\mathrm{annotator}^2 + \sigma^2}

    Parameters
    ----------
    fit, scale
        As in `icc`, without ``anonymous=True``; "observed" is the correlation of one annotator's
        observed labels of two different items.

    Returns
    -------
    xarray.DataArray
        ``annotator_icc`` (chain, draw), or (chain, draw, pool); in [0, 1].

    Notes
    -----
    Lower values are better. If the annotator ICC exceeds the ICC, a label depends more on its
    annotator than on its item, and Quinn, Miles and Wong call such data unacceptable. Which of the
    two is larger does not depend on the scale.

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
    arguments.one_of("scale", scale, SCALES)
    parts = components(fit)
    return _share(parts, annotator_variance(parts), scale, "annotator_icc", "lower")


def annotator_variance(parts: Components) -> xr.DataArray:
    """Return the variance of the annotator effects, or raise if the model has no such effects."""
    if parts.annotator is None:
        raise ArgumentError(
            "fit",
            expected="draws of 'sigma_annotator'",
            found="none, since the fit has anonymous=True",
            hint="With anonymous=True, differences of annotators are part of the residual",
        )
    return parts.annotator


def _share(
    parts: Components, variance: xr.DataArray, scale: str, name: str, better: str
) -> xr.DataArray:
    """Return draws of the correlation of two labels that have the latent ``variance`` in common."""
    labels = None if scale == LATENT else observed_labels(parts)
    shares = variance / parts.total if labels is None else correlation_within(labels, variance)
    pools = [POOL] if POOL in shares.dims else []
    out = shares.transpose(*SAMPLE, *pools).rename(name)
    out.attrs = {"better": better, "scale": scale}
    out.attrs |= {"doubt": parts.warning} if parts.warning else {}
    return out


# The reliability of a mean of several labels.


def spearman_brown(icc: Any, k: Any) -> Any:
    r"""Reliability of the mean of k annotators' labels.

    .. math:: \mathrm{ICC}(k) = \frac{k\,\mathrm{ICC}}{(k - 1)\,\mathrm{ICC} + 1}

    Parameters
    ----------
    icc : DataArray, array or float
        Draws of `dissensus.icc`, or any reliability of one label, in [-1, 1].
    k : float, sequence of float, or DataArray
        Number of annotators of an item, > 0; may be an average. Several numbers add a dim
        ``annotator``. A DataArray keeps its dims.

    Returns
    -------
    xarray.DataArray, array or float
        ``spearman_brown``, at most 1, with the dims of ``icc`` and (annotator) or those of ``k``.
        If neither is a DataArray: a float, or an array broadcast by NumPy.

    Notes
    -----
    The mean of many annotators with the same bias is reliable but wrong.

    Each item is assumed to have k different annotators, as in an ICC of absolute agreement. For the
    mean of observed labels, use the ICC on the observed scale. With a negative reliability, which
    is possible for estimates, the result is NaN for :math:`k \geq 1 - 1/\mathrm{ICC}`.

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
    single = _reliability(icc)
    number = numbers("k", k, "positive finite numbers", lambda x: np.isfinite(x) & (x > 0))
    number = along_annotators("k", k, number, single)
    result = broadcast(stepped_up, single, number, ("icc", "k"))
    return _with_scale(named(result, "spearman_brown", "higher"), single)


def annotators_needed(icc: Any, target: float) -> Any:
    r"""Find the number of annotators per item whose mean label has a target reliability.

    .. math:: k = \left\lceil \frac{t\,(1 - \mathrm{ICC})}{\mathrm{ICC}\,(1 - t)} \right\rceil

    and at least 1: `spearman_brown` solved for k, rounded up.

    Parameters
    ----------
    icc : DataArray, array or float
        As in `spearman_brown`.
    target : float
        The target t, between 0 and 1.

    Returns
    -------
    xarray.DataArray, array or float
        ``annotators_needed``, whole numbers, with the dims of ``icc``. Infinity where the
        reliability of one label is 0 or less.

    Notes
    -----
    A target counts as reached up to rounding (1e-12 of the target). Draws are skewed and may be
    infinite: use quantiles, or the share of draws within the budget, not the mean.

    Source: Spearman (1910) and Brown (1910), the formula of `spearman_brown` solved for the number.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> dx.annotators_needed(0.25, target=0.5), dx.annotators_needed(0.25, target=0.51)
    (3.0, 4.0)
    >>> draws = xr.DataArray([[0.5, 0.25, 0.0]], dims=("chain", "draw"), name="icc")
    >>> dx.annotators_needed(draws, target=0.8).values
    array([[ 4., 12., inf]])
    """
    goal = arguments.probability("target", target, allow_zero=False, allow_one=False)
    single = _reliability(icc)
    result = xr.apply_ufunc(labels_needed, single, goal)
    return _with_scale(named(result, "annotators_needed", "lower"), single)


def _reliability(icc: Any) -> Numbers:
    # NaN is valid: it is an undefined draw.
    expected = "reliabilities of one label, from -1 to 1"
    return numbers("icc", icc, expected, lambda x: np.isnan(x) | (abs(x) <= 1))


def _with_scale(result: Any, icc: Any) -> Any:
    scale = getattr(icc, "attrs", {}).get("scale")
    return result if scale is None else result.assign_attrs(scale=scale)
