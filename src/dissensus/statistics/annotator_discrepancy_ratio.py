"""How far each annotator is from the others, compared with how far these are from each other."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus.arrays.grouped import Floats
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.errors import ArgumentError
from dissensus.statistics._apart import Apart, Distance, apart, described
from dissensus.statistics._doubts import Doubts
from dissensus.statistics._statements import read, rows_of
from dissensus.statistics._sums import Finish, Matrix, Sums, compact

ALPHA_ITEMS: Final = ("same", "all")
NO_OTHERS: Final = "no item of the annotator has labels of two others"
OTHERS_AGREE: Final = (
    "the other annotators agree on every item looked at, and there is no disagreement to compare "
    "with"
)


def annotator_discrepancy_ratio(
    annotations: xr.Dataset,
    distance: Distance | None = None,
    *,
    alpha_items: str = "same",
    tolerance: float | None = None,
    depth: int | None = None,
    weights: Any = None,
) -> xr.DataArray:
    r"""Discrepancy ratio of each annotator, taken out and treated as a system.

    .. math:: \Delta_r = \frac{\mu_r}{\alpha_{-r}}, \qquad
        \mu_r = \frac{1}{I_r} \sum_i \frac{1}{A_i - 1} \sum_{s \neq r} \psi(Y_{ir}, Y_{is}), \quad
        \alpha_{-r} = \frac{1}{I_r} \sum_i \frac{1}{(A_i - 1) (A_i - 2)}
        \sum_{s, t \neq r, s \neq t} \psi(Y_{is}, Y_{it})

    over the :math:`I_r` items that the annotator and two others labelled. Above 1, an annotator
    is further from the others than they are from each other.

    Parameters
    ----------
    annotations : Dataset
        Annotations.
    distance, tolerance, depth
        As in `discrepancy_ratio`.
    alpha_items : {"same", "all"}
        Which items :math:`\alpha_{-r}` is over: the same ones as :math:`\mu_r`, or all that two
        others labelled. The annotators of "all" are compared with one yardstick, nearly; but one
        who only labels easy items is then rewarded for it.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray (annotator)

    Raises
    ------
    AnnotationError
        If annotations do not have the distance.
    ArgumentError
        On an unknown distance or choice of items.

    Warns
    -----
    DissensusWarning
        Where it is undefined, and NaN: an annotator without any item that two others labelled,
        and others who agree on all of them.

    Notes
    -----
    A high ratio is no proof of poor work: someone who is right against a majority has one too.

    With "same", an annotator's ratio is that of a system which speaks of their items only, so
    that nobody gains by leaving out the hard ones; annotators of different items have different
    yardsticks. The source does not say which items it takes.

    Source: Lovchinsky et al. (2020), section 4.2.1 and Table 4.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "b", "b"], ["a", "a", "b"]])
    >>> dx.annotator_discrepancy_ratio(ann).round(2).to_series().to_dict()
    {0: 1.0, 1: 0.5, 2: 2.5}
    """
    return sums(
        annotations, distance, alpha_items=alpha_items, tolerance=tolerance, depth=depth
    ).value(weights)


def sums(
    annotations: xr.Dataset,
    distance: Distance | None = None,
    *,
    alpha_items: str = "same",
    tolerance: float | None = None,
    depth: int | None = None,
) -> Sums:
    """Prepare the ratios as a function of sums over items."""
    if alpha_items not in ALPHA_ITEMS:
        raise ArgumentError(
            "alpha_items", expected=f"one of {ALPHA_ITEMS}", found=repr(alpha_items)
        )
    annotations = read(annotations, rankings=True)
    attrs = described(annotations, distance, tolerance=tolerance, depth=depth)
    found = apart(annotations, rows_of(annotations), distance, tolerance=tolerance, depth=depth)
    n_annotators = annotations.sizes[ANNOTATOR]
    everywhere = alpha_items == "all"
    return Sums(
        "annotator_discrepancy_ratio",
        _parts(found, n_annotators, everywhere=everywhere),
        _finish(n_annotators, everywhere=everywhere),
        annotations[ITEM].to_numpy(),
        dims={"annotator_discrepancy_ratio": (ANNOTATOR,)},
        coords={ANNOTATOR: annotations[ANNOTATOR].to_numpy()},
        attrs=attrs | {"alpha_items": alpha_items},
        better="lower",
    )


def _parts(found: Apart, n_annotators: int, *, everywhere: bool) -> tuple[Matrix, ...]:
    """Return, by item and annotator: items that count, distance to the others, and theirs."""
    voices = found.voices[found.voice_item]
    counts = voices >= 3
    by_annotator = [
        counts.astype(np.float64),
        np.where(counts, found.to_others, 0.0),
        np.where(counts, found.without, 0.0),
    ]
    shape = (len(found.voices), n_annotators)
    start = np.concatenate([[0], np.cumsum(found.voices)])

    def matrix(values: Floats) -> Matrix:
        return compact(sparse.csr_array((values, found.voice_annotator, start), shape=shape))

    if not everywhere:
        return tuple(matrix(values) for values in by_annotator)
    # All items that anyone has, and what to take off for those of an annotator, without whom they
    # are among the first three.
    paired = (found.voices >= 2).astype(np.float64)
    between = found.by_item(found.to_others)
    own = paired[found.voice_item], between[found.voice_item]
    return (
        *(matrix(values) for values in by_annotator),
        *(matrix(values) for values in own),
        np.stack([paired, between], axis=1),
    )


def _finish(n_annotators: int, *, everywhere: bool) -> Finish:
    def finish(totals: Floats, doubts: Doubts) -> Floats:
        blocks = totals[:, : (5 if everywhere else 3) * n_annotators]
        found = blocks.reshape(len(totals), -1, n_annotators)
        n_items, towards, between = found[:, 0], found[:, 1], found[:, 2]
        n_between = n_items
        if everywhere:
            paired, all_between = totals[:, -2:-1], totals[:, -1:]
            n_between = paired - found[:, 3] + n_items
            rest = all_between - found[:, 4]
            # Where an annotator has all items, nothing is left of the rest but rounding.
            between = between + np.where(rest > 1e-12 * all_between, rest, 0.0)
        return _ratio(towards, n_items, between, n_between, doubts)

    return finish


def _ratio(
    towards: Floats, n_items: Floats, between: Floats, n_between: Floats, doubts: Doubts
) -> Floats:
    """Divide the annotator's mean distance by the mean distance of the others."""
    none = n_items <= 0
    agree = ~none & (between <= 0)
    above, below = towards * n_between, between * n_items
    ratio = above / np.where(none | agree, 1.0, below)
    ratio = doubts.where(agree, ratio, OTHERS_AGREE)
    return doubts.where(none, ratio, NO_OTHERS)
