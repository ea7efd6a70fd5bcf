"""Posterior predictive checks of each annotator's use of labels, and of each item's residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.sparse import csr_array

from dissensus.checks._replicates import (
    Replicates,
    group_of,
    people_of,
    replicates,
    tail_probability,
)
from dissensus.checks._traces import PREDICTIVE, as_fit
from dissensus.dims import ANNOTATOR, ITEM, LABEL
from dissensus.errors import ArgumentError, shown
from dissensus.kernels.types import Floats, Ints

ENDS: Final = (0.05, 0.95)
"""Quantiles of replicates; observed values outside are misfits."""


class Rows(NamedTuple):
    """Observed and replicated labels by row, and their annotators."""

    versions: Replicates
    annotator: Ints
    """(row): code of the annotator."""
    annotators: npt.NDArray[Any]


def rows_of(fit: Any, annotations: Any) -> Rows:
    """Read the rows of a fit whose replicates are single labels or numbers."""
    versions = replicates(fit, annotations)
    fit = as_fit(fit)
    drawn = group_of(fit, PREDICTIVE)
    if versions.form not in {"labels", "numbers"} or not {"score", "label_code"} & set(drawn):
        raise ArgumentError(
            "fit",
            expected="replicates of single labels or numbers, with the annotator of each",
            found=f"{versions.form}, of the model {fit.attrs.get('model', '?')!r}",
            hint="crossed_effects and cross_replication replicate the labels of each annotator",
        )
    if annotations is not None:
        return Rows(versions, versions.observed.annotator, annotations[ANNOTATOR].to_numpy())
    recorded = people_of(fit)
    if recorded is None:
        raise ArgumentError(
            "annotations", expected="the annotations of the fit: the fit does not record the "
            "annotator of each label", found="None",
        )  # fmt: skip
    return Rows(versions, *recorded)


def means_by(group: Ints, n_groups: int) -> csr_array:
    """Return a matrix (row, group) that computes means."""
    n = np.bincount(group, minlength=n_groups)
    rows = np.arange(len(group))
    return csr_array((1.0 / n[group], (rows, group)), shape=(len(group), n_groups))


Statistics = Callable[[npt.NDArray[Any]], Floats]
"""Function of values (version, row) that returns statistics (version, group, statistic)."""


def compared(versions: Replicates, statistics: Statistics, dims: tuple[str, str]) -> xr.Dataset:
    """Return observed statistics, with mean, quantiles and tail probability of replicates."""
    observed = statistics(versions.observed.values(slice(0, 1)))[0]
    blocks = versions.drawn.blocks(observed.size)
    drawn = np.concatenate([statistics(versions.drawn.values(block)) for block in blocks])
    with np.errstate(invalid="ignore"):
        tail = tail_probability(drawn, observed)
    tail[np.isnan(observed) | np.isnan(drawn).any(axis=0)] = np.nan
    low, high = np.quantile(drawn, ENDS, axis=0)
    parts = {
        "observed": observed, "replicated": drawn.mean(axis=0), "lower": low, "upper": high,
        "tail_probability": tail,
    }  # fmt: skip
    return xr.Dataset(
        {name: (dims, values) for name, values in parts.items()}, attrs=versions.attrs
    )


def in_tails(check: xr.Dataset) -> xr.DataArray:
    """Return whether each observed statistic is in a tail of its replicates."""
    low, high = ENDS
    return (check["tail_probability"] < low) | (check["tail_probability"] > high)


def _outside(check: xr.Dataset, dim: str) -> list[Any]:
    """Return the items, or annotators, that have a statistic in a tail of its replicates."""
    far = in_tails(check)
    return list(check[dim].to_numpy()[far.any([d for d in far.dims if d != dim]).to_numpy()])


STATISTIC: Final = "statistic"


def label_check(fit: Any, annotations: xr.Dataset | None = None) -> xr.Dataset:
    r"""Check whether a model reproduces each annotator's use of the labels.

    Crossed effects describe an annotator by one number, the leniency. This check finds annotators
    whom one number does not describe: for example, they use only the ends of the scale, never the
    last label, or a wider range.

    .. math:: p_{jk} = P(T_{jk}(y^{rep}) > T_{jk}(y) \mid y)
        + \tfrac{1}{2} P(T_{jk}(y^{rep}) = T_{jk}(y) \mid y)

    Parameters
    ----------
    fit : DataTree
        From ``fit(..., posterior_predictive=True)`` of `crossed_effects`, `cross_replication`, or
        another model that replicates labels row by row.
    annotations : Dataset, optional
        The data of the fit. Needed only if the fit does not contain the annotator of each label.

    Returns
    -------
    Dataset
        Along ``annotator`` and ``label`` (shares of labels) or, for numbers, ``statistic`` (mean
        and standard deviation): ``observed``, ``replicated`` (the mean of replicates), ``lower``
        and ``upper`` (the central 90 % of replicates) and ``tail_probability``; also ``n_labels``
        (annotator). Values are NaN for an annotator without labels, the standard deviation also
        with one label. The attribute ``in_words`` names the annotators in the tails.

    Notes
    -----
    Under the true model, about one in ten tail probabilities is below .05 or above .95, or fewer,
    since the data are used twice.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(60, 8, 4, family="ordinal", random_seed=1).annotations
    >>> fit = dx.models.crossed_effects.fit(ann, family="ordinal", draws=200, random_seed=1,
    ...     posterior_predictive=True, progressbar=False)
    >>> check = dx.label_check(fit)
    >>> check["observed"].dims, round(float(check["observed"].sum("label").min()), 9)
    (('annotator', 'label'), 1.0)
    """
    rows = rows_of(fit, annotations)
    n_people = len(rows.annotators)
    mean = means_by(rows.annotator, n_people)
    n = np.bincount(rows.annotator, minlength=n_people)
    if rows.versions.form == "labels":
        labels = rows.versions.labels

        def shares(values: npt.NDArray[Any]) -> Floats:
            columns = [(values == k) * 1.0 @ mean for k in range(len(labels))]
            return _known(np.stack(columns, axis=-1), n >= 1)

        out = compared(rows.versions, shares, (ANNOTATOR, LABEL)).assign_coords({LABEL: labels})
    else:

        def moments(values: npt.NDArray[Any]) -> Floats:
            middle = values @ mean
            square = (values - middle[:, rows.annotator]) ** 2 @ mean
            spread = np.sqrt(square * (n / np.maximum(n - 1, 1)))
            middle, spread = _known(middle[..., None], n >= 1), _known(spread[..., None], n >= 2)
            return np.concatenate([middle, spread], axis=-1)

        out = compared(rows.versions, moments, (ANNOTATOR, STATISTIC))
        out = out.assign_coords({STATISTIC: ["mean", "standard deviation"]})
    out = out.assign_coords({ANNOTATOR: rows.annotators}).assign(n_labels=(ANNOTATOR, n))
    return out.assign_attrs(in_words=_words(out))


def _known(values: Floats, has_enough: npt.NDArray[np.bool_]) -> Floats:
    """Set values of annotators with too few labels to NaN: (version, annotator, statistic)."""
    return np.where(has_enough[:, None], values, np.nan)


def _words(check: xr.Dataset) -> str:
    n_checked, n_far = int(check["tail_probability"].notnull().sum()), int(in_tails(check).sum())
    people = _outside(check, ANNOTATOR)
    quantity = "shares of labels" if LABEL in check.dims else "means and standard deviations"
    start = (
        f"{n_far} of {n_checked} {quantity} of annotators are outside 90 % of their replicates "
        f"({_by_chance(n_checked)})"
    )
    if not people:
        return f"{start}."
    return f"{start}, of {len(people)} of {check.sizes[ANNOTATOR]} annotators: {shown(people)}."


def _by_chance(n: int) -> str:
    """Say how many of n numbers are outside 90 % of replicates if the model is right.

    "At most", because data that a model was fitted to are closer to its replicates than new data.

    >>> _by_chance(130)
    'at most about 13 are expected by chance'
    """
    return f"at most about {n / 10:.0f} are expected by chance"


STATISTICS = ("mean", "spread")


def residual_check(fit: Any, annotations: xr.Dataset | None = None) -> xr.Dataset:
    r"""Check whether a model reproduces the residuals of each item.

    A residual is a label (or its place, from 0, if labels are not numbers) minus the mean of its
    replicates. If the residuals of an item have a larger spread than residuals of replicates,
    annotators are split, and one number does not describe the item. If their mean is far from 0,
    the item is an outlier.

    .. math:: r_{ij} = y_{ij} - E(y^{rep}_{ij} \mid y), \qquad
        T_i = \frac{1}{n_i} \sum_j r_{ij} \quad\text{and}\quad
        \sqrt{\frac{1}{n_i} \sum_j r_{ij}^2}

    Parameters
    ----------
    fit, annotations
        As in `label_check`.

    Returns
    -------
    Dataset
        Along ``item`` and ``statistic`` ("mean", "spread"): ``observed``, ``replicated`` (the
        mean of replicates), ``lower`` and ``upper`` (the central 90 % of replicates) and
        ``tail_probability``; also ``n_labels`` (item). NaN for items without labels. The attribute
        ``in_words`` names the items in the tails.

    Notes
    -----
    Item effects are fitted to these labels. Tail probabilities of means are therefore near .5 even
    for outliers. Spreads under the true model tend to be smaller than spreads of replicates: with
    four labels per item effect, the spreads of 107 of 600 simulated items were below the central 90
    % of replicates, and the spreads of 2 items above. Only spreads above are informative.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(60, 8, 4, random_seed=1).annotations
    >>> fit = dx.models.crossed_effects.fit(ann, draws=200, random_seed=1,
    ...     posterior_predictive=True, progressbar=False)
    >>> check = dx.residual_check(fit)
    >>> check["observed"].dims, abs(float(check["observed"].sel(statistic="mean").mean())) < 0.1
    (('item', 'statistic'), True)
    """
    versions = rows_of(fit, annotations).versions
    item = versions.observed.item
    n = np.bincount(item, minlength=len(versions.items))
    mean, numbers = means_by(item, len(versions.items)), _numbers(fit, versions)
    expected = _expected(versions, numbers)

    def residuals(values: npt.NDArray[Any]) -> Floats:
        rest = (values if numbers is None else numbers[values]) - expected
        both_moments = np.stack([rest @ mean, np.sqrt(rest**2 @ mean)], axis=-1)
        return np.where((n > 0)[:, None], both_moments, np.nan)

    out = compared(versions, residuals, (ITEM, STATISTIC)).assign(n_labels=(ITEM, n))
    out = out.assign_coords({ITEM: versions.items, STATISTIC: list(STATISTICS)})
    return out.assign_attrs(in_words=_residual_words(out))


def _numbers(fit: xr.DataTree, versions: Replicates) -> Floats | None:
    """Return the number that stands for each label code (label); None if labels are numbers."""
    if versions.form == "numbers":
        return None
    constant = fit["constant_data"]
    if "label_value" in constant and LABEL in constant["label_value"].dims:
        return np.asarray(constant["label_value"].to_numpy(), dtype=np.float64)
    return np.arange(len(versions.labels), dtype=np.float64)


def _expected(versions: Replicates, numbers: Floats | None) -> Floats:
    """Return the mean over replicates (row)."""
    total = np.zeros(len(versions.drawn.item))
    for block in versions.drawn.blocks():
        values = versions.drawn.values(block)
        total += (values if numbers is None else numbers[values]).sum(axis=0)
    return np.asarray(total / versions.drawn.count)


def _residual_words(check: xr.Dataset) -> str:
    lines = []
    for name in STATISTICS:
        part = check.sel(statistic=name)
        far = _outside(part, ITEM)
        known = int(part["tail_probability"].notnull().sum())
        names = f": {shown(far)}" if far else ""
        lines.append(
            f"{name} of residuals: {len(far)} of {known} items are outside 90 % of their "
            f"replicates ({_by_chance(known)}){names}."
        )
    return "\n".join(lines)
