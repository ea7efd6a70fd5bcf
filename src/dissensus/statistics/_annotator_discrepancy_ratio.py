"""How far each annotator is from the others, compared with how far these are from each other."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.kernels.types import Floats
from dissensus.statistics._pairwise import Apart, Distance, apart, described
from dissensus.statistics._read import read, rows_of
from dissensus.statistics._sums import Doubts, Finish, Matrix, Sums, compact

ALPHA_ITEMS: Final = ("same", "all")
NO_OTHERS: Final = "no item of the annotator has labels of two others"
OTHERS_AGREE: Final = (
    "the other annotators agree on every item looked at{rounded}, and there is no disagreement to "
    "compare with"
)
ROUNDED: Final = ", up to rounding beside the annotator's own distances"

LEVEL: Final = 8
"""Doublings of a distance that items of one level differ by at most."""


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
    arguments.one_of("alpha_items", alpha_items, ALPHA_ITEMS)
    annotations = read(annotations, rankings=True)
    attrs = described(annotations, distance, tolerance=tolerance, depth=depth)
    found = apart(annotations, rows_of(annotations), distance, tolerance=tolerance, depth=depth)
    n_annotators = annotations.sizes[ANNOTATOR]
    parts = _same_items(found, n_annotators)
    n_levels = None
    if alpha_items == "all":
        more, n_levels = _other_items(found, n_annotators)
        parts += more
    # What others are apart is computed without the annotator, except for callables.
    why = OTHERS_AGREE.format(rounded=ROUNDED if found.distance == "callable" else "")
    return Sums(
        "annotator_discrepancy_ratio",
        parts,
        _finish(n_annotators, n_levels, why),
        annotations[ITEM].to_numpy(),
        dims={"annotator_discrepancy_ratio": (ANNOTATOR,)},
        coords={ANNOTATOR: annotations[ANNOTATOR].to_numpy()},
        attrs=attrs | {"alpha_items": str(alpha_items)},
        better="lower",
        bearing=parts[0],
    )


def _same_items(found: Apart, n_annotators: int) -> tuple[Matrix, ...]:
    """Return, by item and annotator: items that count, distance to the others, and theirs."""
    counts = found.voices[found.voice_item] >= 3
    columns = (
        counts.astype(np.float64),
        np.where(counts, found.to_others, 0.0),
        np.where(counts, found.without, 0.0),
    )
    return tuple(_by_annotator(found, values, n_annotators) for values in columns)


def _by_annotator(found: Apart, values: Floats, n_annotators: int) -> Matrix:
    shape = (len(found.voices), n_annotators)
    start = np.concatenate([[0], np.cumsum(found.voices)])
    return compact(sparse.csr_array((values, found.voice_annotator, start), shape=shape))


def _other_items(found: Apart, n_annotators: int) -> tuple[tuple[Matrix, ...], int]:
    """Return sums of all items, and of each annotator's, which are to be taken off; by level.

    Items whose distances are of one order of magnitude are a level with sums of its own: beside a
    wild number elsewhere, nothing would be left of them but rounding.
    """
    paired = (found.voices >= 2).astype(np.float64)
    between = found.by_item(found.to_others)
    exponent = np.frexp(between)[1] // LEVEL
    levels = np.unique(exponent[between > 0])
    parts = [_by_annotator(found, paired[found.voice_item], n_annotators)]
    whole = [paired]
    for level in levels:
        whole.append(np.where((between > 0) & (exponent == level), between, 0.0))
        parts.append(_by_annotator(found, whole[-1][found.voice_item], n_annotators))
    return (*parts, np.stack(whole, axis=1)), len(levels)


def _finish(n_annotators: int, n_levels: int | None, why: str) -> Finish:
    def finish(totals: Floats, doubts: Doubts) -> Floats:
        n_blocks = 3 if n_levels is None else 4 + n_levels
        blocks = totals[:, : n_blocks * n_annotators]
        found = blocks.reshape(len(totals), -1, n_annotators)
        n_items, towards, between = found[:, 0], found[:, 1], found[:, 2]
        n_between = n_items
        if n_levels is not None:
            whole = totals[:, n_blocks * n_annotators :, None]
            rest = whole - found[:, 3:]
            # Where an annotator has all items, nothing is left of the rest but rounding.
            rest = np.where(rest > 1e-12 * whole, rest, 0.0)
            n_between = n_items + rest[:, 0]
            between = between + rest[:, 1:].sum(axis=1)
        return _ratio(towards, n_items, between, n_between, doubts, why)

    return finish


def _ratio(
    towards: Floats, n_items: Floats, between: Floats, n_between: Floats, doubts: Doubts, why: str
) -> Floats:
    """Divide the annotator's mean distance by the mean distance of the others."""
    none = n_items <= 0
    agree = ~none & (between <= 0)
    mean, theirs = (np.where(none, 1.0, x) for x in (towards, between))
    mean, theirs = mean / np.where(none, 1.0, n_items), theirs / np.where(none, 1.0, n_between)
    ratio = doubts.where(agree, mean / np.where(agree, 1.0, theirs), why)
    return doubts.where(none, ratio, NO_OTHERS)
