"""The written form of annotations and predictions, and the checks that hold them to it.

Annotations are an `xarray.Dataset`. Rows live along ``annotation`` and hold integer codes
into the index coordinates, which spell out the names:

==================  ============  ===================================================
variable            dims          meaning
==================  ============  ===================================================
``item_code``       annotation    place of the item in the coordinate ``item``
``annotator_code``  annotation    place of the annotator in ``annotator``
``label_code``      annotation    place of the label in ``label`` (not for numbers)
``value``           annotation    the number given (kind "continuous" only)
``rank``            annotation    1 for the first choice, ties share a rank ("ranking")
``confidence``      annotation    how sure the annotator was, in [0, 1] (optional)
``trial``           annotation    which repetition this is (optional)
``pool_code``       annotation    place of the annotator's group in ``pool`` (optional)
``cluster_code``    item          place of the item's cluster in ``cluster`` (optional)
``stratum_code``    item          place of the item's stratum in ``stratum`` (optional)
==================  ============  ===================================================

Attributes: ``kind`` ("nominal", "ordinal", "continuous", "ranking") and ``kind_source``,
which says whether the kind was given or why it was inferred.

Predictions are a Dataset as well, over ``item`` x ``system`` x ``position``:

==================  ========================  ============================================
variable            dims                      meaning
==================  ========================  ============================================
``label_code``      item, system, position    place in ``label``; -1 past the end of a list
``block``           item, system, position    1 for the first block; ties share a block
``score``           item, system, position    the score a list was ordered by (optional)
``value``           item, system              the number predicted (kind "continuous")
==================  ========================  ============================================

Attributes: ``kind`` ("nominal", "ranking", "continuous").

Both survive ``to_netcdf`` and `xarray.open_dataset`; `validate` re-checks either.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus._annotation_rows import given_numbers as given_numbers
from dissensus._annotation_rows import label_counts as label_counts
from dissensus._annotation_rows import ranking_code as ranking_code
from dissensus._annotation_rows import ranks as ranks
from dissensus._annotation_rows import statements_per as statements_per
from dissensus._annotation_rows import voices_per as voices_per
from dissensus._annotation_schema import CODES as CODES
from dissensus._annotation_schema import KINDS as KINDS
from dissensus._annotation_schema import PART as PART
from dissensus._annotation_schema import check_annotations as check_annotations
from dissensus._annotation_schema import check_form as check_form
from dissensus._prediction_schema import check_predictions as check_predictions
from dissensus.dims import ANNOTATOR, ITEM, SYSTEM
from dissensus.errors import AnnotationError, PredictionError, shown


def validate(data: xr.Dataset) -> xr.Dataset:
    """Check that a Dataset of annotations (or of predictions) keeps to the schema.

    Parameters
    ----------
    data : xarray.Dataset
        As made by `annotations` or `predictions`, or by hand.

    Returns
    -------
    xarray.Dataset
        The same object, so that calls can be chained.

    Raises
    ------
    AnnotationError
        Naming the variable, the row or item, what was expected and what was found.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": ["a", "b"], "label": ["x", "y"]})
    >>> dx.validate(ann) is ann
    True
    """
    if not isinstance(data, xr.Dataset):
        raise AnnotationError(
            "annotations",
            expected="an xarray.Dataset made by dissensus.annotations",
            found=type(data).__name__,
        )
    if SYSTEM in data.dims:
        check_predictions(data)
    else:
        check_annotations(data, {})
    return data


def checked_annotations(data: Any) -> xr.Dataset:
    """Return annotations that keep to the schema, or raise; predictions are none.

    Examples
    --------
    >>> import dissensus as dx
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> dx.schema.checked_annotations(pred)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations: expected what annotators said...
    """
    return validate(no_predictions(data))


def no_predictions(data: Any) -> Any:
    """Return data as it is, taken out of its node, or raise if they are predictions.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1], "annotator": ["a"], "label": ["x"]})
    >>> dx.schema.no_predictions(ann) is ann
    True
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> dx.schema.no_predictions(pred)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations: expected what annotators said...
    """
    data = _dataset(data)
    if isinstance(data, xr.Dataset) and SYSTEM in data.dims:
        raise AnnotationError(
            "annotations",
            expected="what annotators said, a Dataset made by dissensus.annotations",
            found="predictions: a Dataset with the dim 'system'",
            hint="Annotations come first, then predictions",
        )
    return data


def checked_predictions(data: Any) -> xr.Dataset:
    """Return predictions that keep to the schema, or raise; annotations are none.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1], "annotator": ["a"], "label": ["x"]})
    >>> dx.schema.checked_predictions(ann)
    Traceback (most recent call last):
    ...
    dissensus.errors.PredictionError: predictions: expected what systems said...
    """
    data = _dataset(data)
    if not isinstance(data, xr.Dataset) or SYSTEM not in data.dims:
        of = f", with the dims {tuple(data.dims)}" if isinstance(data, xr.Dataset) else ""
        raise PredictionError(
            "predictions",
            expected="what systems said, a Dataset made by dissensus.predictions",
            found=f"{type(data).__name__}{of}",
        )
    return validate(data)


def _dataset(data: Any) -> Any:
    """Take the Dataset out of a node, such as ``evaluation["annotations"]``."""
    return data.to_dataset() if isinstance(data, xr.DataTree) else data


def require_two_annotators(annotations: xr.Dataset, *, every_item: bool = True) -> None:
    """Raise unless two annotators spoke about each item (or about one at least).

    Parameters
    ----------
    annotations : xarray.Dataset
        Annotations.
    every_item : bool
        Every item needs two annotators; else it is enough that some item has them.

    Raises
    ------
    AnnotationError
        Naming the items, or the only annotator.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyx")})
    >>> dx.schema.require_two_annotators(ann, every_item=False)
    >>> dx.schema.require_two_annotators(ann)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations, item 2: expected two annotators or more ...
    """
    people = np.flatnonzero(voices_per(annotations, ANNOTATOR))
    if len(people) < 2:
        raise AnnotationError(
            "annotations",
            expected="two annotators or more, to see how far they agree",
            found=f"only {shown(list(annotations[ANNOTATOR].to_numpy()[people])) or 'none'}",
        )
    few = voices_per(annotations, ITEM) < 2
    if few.all() or (every_item and few.any()):
        names = annotations[ITEM].to_numpy()[few]
        raise AnnotationError(
            "annotations",
            where=f"item{'s' if len(names) > 1 else ''} {shown(list(names))}",
            expected="two annotators or more "
            + ("for every item" if every_item else "for one item at least"),
            found=f"{len(names)} of {annotations.sizes[ITEM]} items with fewer",
            hint="Leave those items out" if not few.all() else "",
        )
