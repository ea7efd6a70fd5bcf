"""How certain the draws are of a label, or a set of labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import xarray as xr

from dissensus import arguments
from dissensus.data.plausibility import plausibility_of, space
from dissensus.dims import CHAIN, DRAW, ITEM, SAMPLE
from dissensus.kernels.candidates import modal_share, set_codes
from dissensus.metrics._accuracy import set_accuracy
from dissensus.metrics._blocks import PART, by_block, coords_of, front, is_lazy
from dissensus.metrics._lists import PLACE, require_draws, top_labels


def annotation_certainty(plausibility: Any, top: int = 1) -> xr.DataArray:
    r"""Share of draws that agree on the most plausible label (or set of labels) of an item.

    .. math:: \max_{C: |C| = j} \frac1M \sum_m 1[Y_{\mathrm{top}\text{-}j}(\theta^{(m)}_i) = C]

    It summarises over draws by definition. A value of 1 means that the annotations determine the
    leading label(s), not that they were unanimous.

    Parameters
    ----------
    plausibility : DataTree, Dataset or DataArray
        A fit, its posterior, or the plausibility itself, dense or in candidate form.
    top : int
        Size j of the set.

    Returns
    -------
    xarray.DataArray
        (item), in [0, 1], with two coordinates along ``item``: ``mcse``, its Monte Carlo
        standard error, and ``selection_bias``, an estimate of its upward bias from choosing the
        set by the same draws (large for large j).

    Raises
    ------
    ArgumentError
        If there are no draws, or ``top`` is not a positive whole number.

    Notes
    -----
    It is neither agreement nor truth: many annotators with the same mistake are certain, and an
    item on which 600 of 1,000 agree is as certain as one on which all do. It grows with the number
    of annotators and with their stated reliability: compare items within a study only.

    Source: Stutz et al. (2023), Eq. 4 to 6: the *set* of the top j labels is compared, not the
    label at rank j. Labels of plausibility exactly 0 are in no set.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aab")},
    ...                      labels=["a", "b"])
    >>> fit = dx.models.dirichlet.fit(ann, draws=1000, prior_count=1, random_seed=1)
    >>> certainty = dx.annotation_certainty(fit)  # exactly .875 and .75
    >>> bool((abs(certainty - [0.875, 0.75]) < 4 * certainty["mcse"]).all())
    True
    """
    theta = plausibility_of(plausibility)
    require_draws(theta)
    modal = _modal(theta, arguments.whole("top", top))
    modal.attrs = {}
    share, mcse, bias = (modal.isel({PART: part}, drop=True) for part in range(3))
    out = share.assign_coords(mcse=mcse, selection_bias=bias)
    name = "annotation_certainty" if top == 1 else f"annotation_certainty_{top}"
    out.attrs = {"better": "none"}
    return out.rename(name)


def _modal(theta: xr.DataArray, top: int) -> xr.DataArray:
    """Return the share of the most frequent set, its error and its bias: (..., item, part)."""
    if is_lazy(theta):
        others = [dim for dim in front(theta) if dim not in SAMPLE]
        coords = coords_of(theta, others) | {PART: 3}
        return by_block(partial(_modal, top=top), theta, dims=[*others, ITEM, PART], coords=coords)
    labels = top_labels(theta, space(theta), top)
    codes = xr.apply_ufunc(set_codes, labels, input_core_dims=[[PLACE]])
    each = xr.apply_ufunc(
        modal_share, codes, input_core_dims=[[CHAIN, DRAW]], output_core_dims=[[], [], []]
    )
    return xr.concat(each, dim=PART).transpose(..., ITEM, PART)


def certainty(
    plausibility: Any, predictions: xr.Dataset, *, on_missing: str = "raise"
) -> xr.DataArray:
    r"""Share of draws whose most plausible labels are exactly the predicted set.

    .. math:: \mathrm{Certainty}(C; i) = \frac1M \sum_m
        1[Y_{\mathrm{top}\text{-}|C|}(\theta^{(m)}_i) = C]

    It summarises over draws by definition.

    Parameters
    ----------
    plausibility, predictions, on_missing
        As in `top_k_accuracy`.

    Returns
    -------
    xarray.DataArray
        (item, system), in [0, 1].

    Raises
    ------
    PredictionError
        If items or labels do not fit.
    ArgumentError
        If there are no draws.

    Notes
    -----
    It is not the probability that the system is right, but that its answer is the one most
    plausible to annotators, including mistakes that they share.

    Source: Stutz et al. (2023), Eq. 3 and 6.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["a"]})
    >>> fit = dx.models.dirichlet.fit(ann, draws=1000, random_seed=1)
    >>> dx.certainty(fit, pred).round(1).values  # exactly .5
    array([[0.5]])
    """
    theta = plausibility_of(plausibility)
    require_draws(theta)
    scores = set_accuracy(theta, predictions, per_item=True, on_missing=on_missing)
    return scores.mean(SAMPLE).rename("certainty")
