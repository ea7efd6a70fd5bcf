"""Cohen's kappa, plain and weighted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data import tables
from dissensus.dims import ANNOTATION, ANNOTATOR
from dissensus.errors import AnnotationError, ArgumentError, brief, shown
from dissensus.statistics._chance import described, placed
from dissensus.statistics._iota import between_annotators
from dissensus.statistics._read import names_in, read, rows_of, spelled
from dissensus.statistics._sums import Sums

NO_COMMON: Final = "no item has labels of both annotators"


def cohen_kappa(
    annotations: xr.Dataset,
    weighting: str | None = None,
    annotators: Sequence[Any] | None = None,
    *,
    weights: Any = None,
) -> xr.DataArray:
    r"""Agreement of two annotators beyond chance, with each one's own shares of labels.

    .. math:: \kappa = 1 - \frac{\sum_{k, l} v_{kl} \, p_{kl}}{\sum_{k, l} v_{kl} \, p_{k+} p_{+l}}

    with :math:`p_{kl}` the share of items that the first annotator gave label k and the second
    label l, and :math:`v_{kl} = [k \neq l]`, or :math:`|k - l|`, or :math:`(k - l)^2`, over the
    items that both labelled.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        their shares.
    weighting : None, "linear" or "quadratic"
        How much a disagreement weighs, by the places of the labels in their order (labels that
        nobody used have a place too). None: all the same.
    annotators : sequence of two names, optional
        Which two. Need not be given if there are only two.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from -1 to 1; 0 for what chance would give. Its ``attrs`` name the weighting and
        the two annotators.

    Raises
    ------
    AnnotationError
        If there are fewer than two annotators, or labels have no order and ``weighting`` needs one.
    ArgumentError
        If it is not clear which two annotators are meant, one of them is unknown, or on an unknown
        weighting or weights that are none.

    Warns
    -----
    DissensusWarning
        Where kappa is undefined, and NaN: no item labelled by both, or one label used by both.

    Notes
    -----
    It misleads where one label is much more frequent than the others: chance agreement is high
    then, and kappa low with few disagreements (prevalence). And annotators who differ in how often
    they use a label get a *higher* kappa than others with as much agreement and equal shares
    (bias). Report `percent_agreement` and `gwet_ac` beside it. With quadratic weights it grows with
    the number of labels, and makes little of neighbours taken for each other: do not compare it
    between scales.

    For more than two annotators `krippendorff_alpha`, `fleiss_kappa` or `iota` (the same as this
    with two).

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
    return sums(annotations, weighting, annotators).value(weights)


def sums(
    annotations: xr.Dataset, weighting: str | None = None, annotators: Sequence[Any] | None = None
) -> Sums:
    """Prepare kappa as a function of sums over items."""
    annotations = read(annotations)
    two = _two(annotations) if annotators is None else _named(annotations, annotators)
    theirs = np.isin(annotations["annotator_code"].to_numpy(), two)
    if not theirs.all():
        rows_of(annotations)  # complains of repeated rows while they have the caller's numbers
        annotations = annotations.isel({ANNOTATION: theirs})
    annotations, distance = placed(annotations, weighting)
    names = spelled(annotations[ANNOTATOR].to_numpy()[two])
    attrs = {**described(weighting), "annotators": names}
    return between_annotators("cohen_kappa", annotations, distance, NO_COMMON, attrs)


def _two(annotations: xr.Dataset) -> npt.NDArray[np.int64]:
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


def _named(annotations: xr.Dataset, annotators: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the codes of the annotators of these names."""
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
