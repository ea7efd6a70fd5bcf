"""Whether a fitted model reproduces how every annotator uses the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._replication.by_group import compared, means_by, outside, rows_of
from dissensus.dims import ANNOTATOR, LABEL
from dissensus.errors import shown
from dissensus.kernels.types import Floats

STATISTIC = "statistic"


def label_check(fit: Any, annotations: xr.Dataset | None = None) -> xr.Dataset:
    r"""Compare how each annotator uses the labels with how the model has them use these.

    Crossed effects give an annotator one number: how lenient they are. Somebody who only uses the
    ends of the scale, or never the last label, or whose numbers spread more than others', has no
    place in the model, and shows here.

    .. math:: p_{jk} = P(T_{jk}(y^{rep}) > T_{jk}(y) \mid y)
        + \tfrac{1}{2} P(T_{jk}(y^{rep}) = T_{jk}(y) \mid y)

    Parameters
    ----------
    fit : DataTree
        What ``fit(..., posterior_predictive=True)`` of `crossed_effects` or `cross_replication`
        returned, or of another model that replicates labels row by row.
    annotations : Dataset, optional
        What the model was fitted to. Needed only if the fit does not say who said what.

    Returns
    -------
    Dataset
        Along ``annotator`` and ``label`` (shares of labels) or, of numbers, ``statistic`` (their
        mean and standard deviation): ``observed``, ``replicated`` (the mean of replicates),
        ``lower`` and ``upper`` (90 % of replicates between them) and ``tail_probability``; also
        ``n_labels`` (annotator). NaN for the standard deviation of a single number, and for
        annotators without labels. The attribute ``in_words`` says who is in the tails.

    Raises
    ------
    ArgumentError
        If the fit has no predictive draws of single labels or numbers.
    AnnotationError
        If the annotations are not those the model was fitted to.

    Notes
    -----
    Of a true model about one in ten tail probabilities lies below .05 or above .95 (fewer, since
    the data are used twice): with many annotators, look at how many there are and how far out.

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
    if rows.both.form == "labels":
        labels = rows.both.labels

        def shares(values: npt.NDArray[Any]) -> Floats:
            found = [(values == k) * 1.0 @ mean for k in range(len(labels))]
            return _known(np.stack(found, axis=-1), n >= 1)

        out = compared(rows.both, shares, (ANNOTATOR, LABEL)).assign_coords({LABEL: labels})
    else:

        def moments(values: npt.NDArray[Any]) -> Floats:
            middle = values @ mean
            square = (values - middle[:, rows.annotator]) ** 2 @ mean
            spread = np.sqrt(square * (n / np.maximum(n - 1, 1)))
            middle, spread = _known(middle[..., None], n >= 1), _known(spread[..., None], n >= 2)
            return np.concatenate([middle, spread], axis=-1)

        out = compared(rows.both, moments, (ANNOTATOR, STATISTIC))
        out = out.assign_coords({STATISTIC: ["mean", "standard deviation"]})
    out = out.assign_coords({ANNOTATOR: rows.annotators}).assign(n_labels=(ANNOTATOR, n))
    return out.assign_attrs(in_words=_words(out))


def _known(values: Floats, there: npt.NDArray[np.bool_]) -> Floats:
    """Put NaN in place of annotators (version, annotator, statistic) without enough labels."""
    return np.where(there[:, None], values, np.nan)


def _words(found: xr.Dataset) -> str:
    tail = found["tail_probability"]
    n_checked, n_far = int(tail.notnull().sum()), int(((tail < 0.05) | (tail > 0.95)).sum())
    people = outside(found, ANNOTATOR)
    what = "shares of labels" if LABEL in found.dims else "means and standard deviations"
    start = f"{n_far} of {n_checked} {what} of annotators are outside 90 % of their replicates"
    if not people:
        return f"{start}."
    return f"{start}, of {len(people)} of {found.sizes[ANNOTATOR]} annotators: {shown(people)}."
