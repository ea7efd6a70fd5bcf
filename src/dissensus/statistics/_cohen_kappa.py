"""Cohen's kappa, plain and weighted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.dims import ANNOTATION, ANNOTATOR
from dissensus.errors import AnnotationError, ArgumentError, brief, shown
from dissensus.kernels.types import Ints
from dissensus.statistics._chance import described, placed
from dissensus.statistics._iota import between_annotators
from dissensus.statistics._read import names_in, read, rows_of, spelled

NO_COMMON: Final = "no item has labels of both annotators"


def cohen_kappa(
    annotations: xr.Dataset,
    weighting: str | None = None,
    annotators: Sequence[Any] | None = None,
    *,
    weights: Any = None,
) -> xr.DataArray:
    r"""Agreement of two annotators beyond chance, with each annotator's own shares of labels.

    .. math:: \kappa = 1 - \frac{\sum_{k, l} v_{kl} \, p_{kl}}{\sum_{k, l} v_{kl} \, p_{k+} p_{+l}}

    with :math:`p_{kl}` the share of items to which the first annotator gave label k and the second
    label l, and :math:`v_{kl} = [k \neq l]`, or :math:`|k - l|`, or :math:`(k - l)^2`, over the
    items that both labelled.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        their shares.
    weighting : None, "linear" or "quadratic"
        How much a disagreement weighs, by the places of the labels in their order (unused labels
        have a place too). None: all the same.
    annotators : sequence of two names, optional
        Which two. Not needed if there are only two.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from -1 to 1; 0 for chance. ``attrs`` name the weighting and the two annotators.

    Raises
    ------
    AnnotationError
        If there are fewer than two annotators, or ``weighting`` needs an order of labels and there
        is none.
    ArgumentError
        If there are more than two annotators and none are named, a name or the weighting is
        unknown, or the weights are invalid.

    Warns
    -----
    DissensusWarning
        If both labelled no item, or both always gave the same one label: the result is NaN.

    Notes
    -----
    Where one label is frequent, chance agreement is high and kappa is low even with few
    disagreements (prevalence). Annotators who use labels with different frequencies get a *higher*
    kappa than annotators with equal frequencies and the same agreement (bias). Report
    `percent_agreement` and `gwet_ac` beside it. With quadratic weights it grows with the number of
    labels: do not compare it between scales.

    For more than two annotators: `krippendorff_alpha`, `fleiss_kappa`, or `iota`, which equals
    kappa for two.

    Source: Cohen (1960), "A coefficient of agreement for nominal scales"; Cohen (1968), "Weighted
    kappa", *Psychological Bulletin* 70.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1, 1], [2, 2], [3, 2], [1, 1], [3, 3]], kind="ordinal")
    >>> round(float(dx.cohen_kappa(ann)), 3)
    0.706
    >>> round(float(dx.cohen_kappa(ann, weighting="quadratic")), 3)
    0.857
    """
    annotations = read(annotations)
    two = _only_two(annotations) if annotators is None else _named(annotations, annotators)
    theirs = np.isin(annotations["annotator_code"].to_numpy(), two)
    if not theirs.all():
        rows_of(annotations)  # checks for repeated rows while rows have the caller's numbers
        annotations = annotations.isel({ANNOTATION: theirs})
    annotations, distance = placed(annotations, weighting)
    names = spelled(annotations[ANNOTATOR].to_numpy()[two])
    attrs = {**described(weighting), "annotators": names}
    sums = between_annotators("cohen_kappa", annotations, distance, NO_COMMON, attrs)
    return sums.value(weights)


def _only_two(annotations: xr.Dataset) -> Ints:
    """Return the codes of the only two annotators."""
    codes = np.unique(annotations["annotator_code"].to_numpy())
    names = list(annotations[ANNOTATOR].to_numpy()[codes])
    if len(codes) < 2:
        raise AnnotationError(
            "annotations", expected="two annotators", found=f"only {shown(names) or 'none'}"
        )
    if len(codes) > 2:
        raise ArgumentError(
            "annotators",
            expected="the names of two: kappa is of a pair",
            found=f"None, with {len(codes):,} annotators ({shown(names, 3)})",
            hint="For all of them: krippendorff_alpha, fleiss_kappa or iota",
        )
    return codes


def _named(annotations: xr.Dataset, annotators: Sequence[Any]) -> Ints:
    """Return the codes of two annotators given by name."""
    names = names_in("annotators", annotators, "two names")
    if names.shape != (2,):
        raise ArgumentError("annotators", expected="two names", found=brief(annotators))
    known = annotations[ANNOTATOR].to_numpy()
    codes = tables.match(names, known)
    if (codes < 0).any():
        raise ArgumentError(
            "annotators",
            expected=f"names of annotators, such as {shown(list(known), 3)}",
            found=f"{shown(list(names[codes < 0]))}, which none of them has",
        )
    if codes[0] == codes[1]:
        raise ArgumentError(
            "annotators", expected="two different annotators", found=f"{shown(list(names))}"
        )
    return codes
