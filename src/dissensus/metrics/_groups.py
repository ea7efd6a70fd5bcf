"""Plausibilities of groups of labels and of events, and expected risks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr

from dissensus import arguments
from dissensus.data import tables
from dissensus.data.plausibility import NAME, plausibility_of, space
from dissensus.dims import ITEM, LABEL, SAMPLE
from dissensus.errors import AnnotationError, ArgumentError, brief, shown
from dissensus.kernels.candidates import grouped_candidates
from dissensus.kernels.types import Floats, Ints, Names
from dissensus.metrics._blocks import all_labels, by_block, coords_of, front, is_lazy
from dissensus.metrics._lists import on_candidates

_GROUP = "group_of"


def event_plausibility(
    fit: Any, threshold: float, labels: tuple[Any, Any] = ("below", "above")
) -> xr.DataArray:
    r"""Plausibility that one more annotator's score is below or above a threshold.

    .. math:: \theta_i = \Phi\left(\frac{c - \mu_i}{\sigma_i}\right), \qquad 1 - \theta_i

    Parameters
    ----------
    fit : DataTree or Dataset
        A fit of `models.normal_scores`, with ``mean`` and ``variance`` (item).
    threshold : float
        The threshold c, in the units of the scores.
    labels : pair
        The names of the two outcomes.

    Returns
    -------
    xarray.DataArray
        A dense plausibility (chain, draw, item, label) of the two outcomes, which every metric of
        plausibilities accepts.

    Notes
    -----
    The plausibility is wrong if scores are not normal, for example near the ends of a bounded
    scale, since the normal distribution has no bounds. The result depends on the threshold: try
    several thresholds.

    Source: Stutz et al. (2023), Appendix A (toxicity and aesthetics).

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 1], "annotator": [1, 2, 3],
    ...                       "label": [0.5, 1.5, 1.0]})
    >>> fit = dx.models.normal_scores.fit(ann, prior=(0, 1, 2, 2), draws=500, random_seed=1)
    >>> dx.event_plausibility(fit, threshold=0.75).sel(label="above").mean().round(1).item()
    0.5
    """
    posterior = fit
    if isinstance(fit, xr.DataTree):
        posterior = (fit["posterior"] if "posterior" in fit.children else fit).to_dataset()
    known = set(posterior) if isinstance(posterior, xr.Dataset) else set()
    parts = {"mean", "variance"}
    if not parts <= known or any(posterior[name].dtype.kind not in "fiu" for name in parts):
        variables = isinstance(posterior, xr.Dataset)
        raise ArgumentError(
            "fit",
            expected="a fit of normal_scores, with mean and variance",
            found=f"the variables {shown(list(posterior))}" if variables else type(fit).__name__,
        )
    # A check of draws in chunks would compute all of them.
    if not is_lazy(posterior["variance"]) and bool((posterior["variance"] < 0).any()):
        least = str(float(posterior["variance"].min()))
        raise ArgumentError("fit", expected="variances of 0 or more", found=least)
    threshold = arguments.finite("threshold", threshold)
    outcomes = _two(labels)
    scaled = (threshold - posterior["mean"]) / np.sqrt(posterior["variance"])
    both = [xr.apply_ufunc(ndtr, side, dask="allowed") for side in (scaled, -scaled)]
    out = xr.concat(both, dim=LABEL).transpose(..., LABEL)
    return out.assign_coords({LABEL: outcomes}).rename(NAME)


def _two(labels: Any) -> list[Any]:
    names = list(labels) if isinstance(labels, Sequence | np.ndarray) else []
    try:
        distinct = tables.encode(pd.Series(names, dtype=object), "labels").values
    except AnnotationError:
        distinct = np.empty(0)
    if len(names) != 2 or len(distinct) != 2:
        raise ArgumentError("labels", expected="two different names", found=brief(labels))
    return names


def group_labels(plausibility: Any, mapping: Mapping[Any, Any]) -> xr.DataArray:
    r"""Sum the plausibilities of the labels in each group, such as risk levels.

    .. math:: \theta'_{ig} = \sum_{k \in g} \theta_{ik}

    Parameters
    ----------
    plausibility : DataTree, Dataset or DataArray
        A fit, its posterior, or the plausibility itself, dense or in candidate form.
    mapping : mapping from label to group
        The group of every label of the label space. Groups are all text, or all numbers.

    Returns
    -------
    xarray.DataArray
        A dense plausibility (chain, draw, item, label), which every metric of plausibilities
        accepts. Its labels are the groups, sorted.

    Notes
    -----
    With groups of unequal size, a symmetric prior over labels favours the group with more labels.
    The plausibility of a group does not show which label of the group is plausible.

    In candidate form, the mass of the remainder is divided among its labels at random, with the
    same shares as in other metrics.

    Source: Stutz et al. (2023), Section 3.2, risk categories.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> theta = xr.DataArray([[[[0.5, 0.3, 0.2]]]], dims=("chain", "draw", "item", "label"),
    ...                      coords={"item": [1], "label": list("abc")})
    >>> dx.group_labels(theta, {"a": "low", "b": "high", "c": "high"}).sel(label="high").item()
    0.5
    """
    theta = plausibility_of(plausibility)
    labels = all_labels(theta)
    groups = _encoded(_looked_up(mapping, labels, "mapping"), labels)
    out = _summed(theta, groups.codes, len(groups.values))
    out = out.rename({_GROUP: LABEL}).assign_coords({LABEL: groups.values})
    out.attrs = {}  # the attributes of the plausibility contain the label space before grouping
    return out.rename(NAME)


def expected_risk(plausibility: Any, risk: Mapping[Any, float] | xr.DataArray) -> xr.DataArray:
    r"""Mean of a number attached to the labels, under each draw's plausibility.

    .. math:: \sum_k \theta_{ik}\, \mathrm{risk}_k

    Parameters
    ----------
    plausibility : DataTree, Dataset or DataArray
        A fit, its posterior, or the plausibility itself, dense or in candidate form.
    risk : mapping from label to number, or DataArray (label)
        The number of every label of the label space.

    Returns
    -------
    xarray.DataArray
        (chain, draw, item), in the units of ``risk``.

    Notes
    -----
    If risks are ranks 0, 1, 2, the step from low to medium is assumed to equal the step from medium
    to high. A mean risk of 1 may mean that medium is certain, or that low and high are equally
    plausible: see `group_labels`.

    Source: Stutz et al. (2023), Figure 8.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> theta = xr.DataArray([[[[0.5, 0.3, 0.2]]]], dims=("chain", "draw", "item", "label"),
    ...                      coords={"item": [1], "label": list("abc")})
    >>> round(dx.expected_risk(theta, {"a": 0, "b": 1, "c": 2}).item(), 3)
    0.7
    """
    theta = plausibility_of(plausibility)
    labels = all_labels(theta)
    if isinstance(risk, xr.DataArray):
        if risk.dims != (LABEL,):
            raise ArgumentError("risk", expected=f"dims ({LABEL!r},)", found=str(risk.dims))
        risk = dict(zip(risk[LABEL].to_numpy().tolist(), risk.to_numpy().tolist(), strict=True))
    values = _finite(_looked_up(risk, labels, "risk"), labels)
    levels, code = np.unique(values, return_inverse=True)
    summed = _summed(theta, code.astype(np.int64), len(levels))
    out = xr.dot(summed, xr.DataArray(levels, dims=_GROUP), dim=_GROUP)
    out.attrs = {"better": "none"}
    return out.rename("expected_risk")


def _finite(risks: list[Any], labels: Names) -> Floats:
    values = pd.to_numeric(_series(risks), errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ArgumentError(
            "risk",
            where=f"label {shown([labels[bad[0]]])}",
            expected="a finite number",
            found=repr(risks[bad[0]]),
        )
    return values


def _encoded(groups: list[Any], labels: Names) -> tables.Encoded:
    """Return the names of groups, and the code of each label's group; errors name the label."""
    try:
        return tables.encode(_series(groups), "mapping", sort=True)
    except AnnotationError as problem:
        named = problem.relocated(lambda row: f"label {shown([labels[row]])}")
        raise ArgumentError(
            "mapping", where=named.where, expected=named.expected, found=named.found
        ) from problem


def _series(values: list[Any]) -> Any:
    return pd.Series(values, dtype=object).infer_objects()


def _looked_up(mapping: Mapping[Any, Any], labels: Names, name: str) -> list[Any]:
    if not isinstance(mapping, Mapping) or not mapping:
        raise ArgumentError(
            name,
            expected="a mapping with an entry for every label",
            found="an empty mapping" if isinstance(mapping, Mapping) else type(mapping).__name__,
        )
    place = tables.match(labels, tables.encode(_series(list(mapping)), name).values)
    if (place < 0).any():
        raise ArgumentError(
            name,
            expected="an entry for every label",
            found=f"none for {shown(list(labels[place < 0]))}",
        )
    values = list(mapping.values())
    return [values[i] for i in place]


def _summed(theta: xr.DataArray, group: Ints, n_groups: int) -> xr.DataArray:
    """Return the sum of plausibilities of the labels in each group (..., item, group)."""
    if is_lazy(theta):
        dims = [*front(theta), ITEM, _GROUP]
        coords = coords_of(theta, front(theta)) | {_GROUP: n_groups}
        sums = partial(_summed, group=group, n_groups=n_groups)
        return by_block(sums, theta, dims=dims, coords=coords)
    label_space = space(theta)
    if label_space.dense:
        member = xr.DataArray(np.eye(n_groups)[group], dims=(LABEL, _GROUP))
        out = xr.dot(theta.drop_vars(LABEL, errors="ignore"), member, dim=LABEL)
        return out.transpose(..., ITEM, _GROUP)
    if int(label_space.sizes.sum(axis=1).max()) > len(label_space.labels):
        raise ArgumentError(
            "plausibility",
            expected="attrs['labels'], the whole label space, which the candidate form requires",
            found=f"{len(label_space.labels)} known labels",
        )
    out = on_candidates(
        grouped_candidates,
        theta,
        label_space,
        xr.DataArray(group, dims="all"),
        xr.DataArray(np.zeros(n_groups), dims=_GROUP),
        more_dims=[["all"], [_GROUP]],
        output_dims=[_GROUP],
    )
    return out.transpose(*(d for d in SAMPLE if d in out.dims), ..., ITEM, _GROUP)
