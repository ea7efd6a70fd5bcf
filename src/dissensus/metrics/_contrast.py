"""Weighted sums of coefficients of a fit with covariates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import SAMPLE, TERM
from dissensus.errors import ArgumentError, brief, shown

COEFFICIENT = "coefficient"


def contrast(fit: xr.DataTree, weights: Mapping[str, float]) -> xr.DataArray:
    r"""Weighted sum of coefficients, such as the difference of two groups of annotators.

    .. math:: \sum_k w_k \beta_k

    Parameters
    ----------
    fit : xarray.DataTree
        A fit of `dissensus.models.crossed_effects`, `cross_replication`, `rasch` or `dawid_skene`
        with ``formula=``, or the trace of `pymc.sample` on their model.
    weights : mapping from str to float
        The weight of each term, by name in ``fit.posterior["term"]``. Other terms have the weight
        0. The first level of a category has no term: its coefficient is 0.

    Returns
    -------
    xarray.DataArray
        ``contrast`` (chain, draw), in the unit of ``mu``. For numbers this is their unit, for two
        labels log odds, for ordered labels standard deviations of the latent residual, and for
        `rasch` and `dawid_skene` log odds of being right.

    Notes
    -----
    A contrast compares labels that are equal in all other covariates of the formula. It is not a
    causal effect of the covariate if the groups also differ in something that is not in the
    formula. `compare` gives the probability that one of several contrasts is the largest.

    Source: a linear contrast of regression coefficients, Gelman, Hill & Vehtari (2020),
    "Regression and other stories", section 10.3.

    Examples
    --------
    The difference between scores of annotators whose experience differs by ten years:

    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1.0, 2.0, 3.5], [2.0, 3.5, 4.0], [1.5, 2.0, 3.0]],
    ...                      kind="continuous")
    >>> people = {"annotator": [0, 1, 2], "years": [1.0, 5.0, 9.0]}
    >>> fit = dx.models.crossed_effects.fit(
    ...     ann, formula="~ years", annotators=people, draws=200, random_seed=1, progressbar=False)
    >>> ten_years = dx.contrast(fit, {"years": 10.0})
    >>> ten_years.dims, bool(ten_years.mean() > 0)
    (('chain', 'draw'), True)
    """
    coefficient = _coefficient(fit)
    terms = [str(term) for term in coefficient[TERM].to_numpy()]
    if not isinstance(weights, Mapping) or not weights:
        raise ArgumentError(
            "weights", expected=f"a mapping from terms to numbers; terms are {shown(terms)}",
            found=brief(weights),
        )  # fmt: skip
    unknown = [str(name) for name in weights if str(name) not in terms]
    if unknown:
        raise ArgumentError(
            "weights", expected=f"terms of the fit: {shown(terms)}", found=shown(unknown),
            hint="The first level of a category has no term: other levels are compared with it",
        )  # fmt: skip
    chosen = {str(name): arguments.finite(f"weights[{name!r}]", w) for name, w in weights.items()}
    weight = xr.DataArray(np.array([chosen.get(term, 0.0) for term in terms]), dims=TERM)
    out: xr.DataArray = (coefficient.drop_vars(TERM) * weight).sum(TERM).transpose(*SAMPLE, ...)
    return out.rename("contrast").assign_attrs(better="none")


def _coefficient(fit: Any) -> xr.DataArray:
    """Return the draws of the coefficients (chain, draw, term), or raise if the fit has none."""
    expected = "a fit with formula=, with the variable 'coefficient' in its group 'posterior'"
    if not isinstance(fit, xr.DataTree):
        raise ArgumentError("fit", expected=expected, found=brief(fit))
    if "posterior" not in fit.children:
        raise ArgumentError(
            "fit", expected=expected, found=f"the groups {shown(list(fit.children))}"
        )
    posterior = fit["posterior"]
    if COEFFICIENT not in posterior or TERM not in posterior[COEFFICIENT].dims:
        raise ArgumentError(
            "fit", expected=expected, found=f"the variables {shown(list(map(str, posterior)))}",
            hint='Fit with formula="~ ..." and tables of items and annotators',
        )  # fmt: skip
    return posterior.to_dataset()[COEFFICIENT]
