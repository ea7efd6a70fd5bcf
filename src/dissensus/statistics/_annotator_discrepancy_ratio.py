"""The distance of each annotator from the others, relative to the others' own distances."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.kernels.types import Floats
from dissensus.statistics._distances import Distance
from dissensus.statistics._pairwise import StatementDistances, statement_distances
from dissensus.statistics._read import read
from dissensus.statistics._sums import Finish, Matrix, Sums, Undefined, compact

ALPHA_ITEMS: Final = ("same", "all")
NO_OTHERS: Final = "no item of the annotator has labels of two others"
OTHERS_AGREE: Final = (
    "the other annotators agree on every item looked at{rounded}, and there is no disagreement to "
    "compare with"
)
ROUNDED: Final = ", up to rounding beside the annotator's own distances"

_LEVEL: Final = 8
"""Doublings of a distance within one level of magnitude."""


def annotator_discrepancy_ratio(
    annotations: xr.Dataset,
    distance: Distance | None = None,
    *,
    alpha_items: str = "same",
    tolerance: float | None = None,
    depth: int | None = None,
    weights: Any = None,
) -> xr.DataArray:
    r"""Discrepancy ratio of each annotator, left out and treated as a system.

    .. math:: \Delta_r = \frac{\mu_r}{\alpha_{-r}}, \qquad
        \mu_r = \frac{1}{I_r} \sum_i \frac{1}{A_i - 1} \sum_{s \neq r} \psi(Y_{ir}, Y_{is}), \quad
        \alpha_{-r} = \frac{1}{I_r} \sum_i \frac{1}{(A_i - 1) (A_i - 2)}
        \sum_{s, t \neq r, s \neq t} \psi(Y_{is}, Y_{it})

    over the :math:`I_r` items that the annotator and two others labelled. Above 1, an annotator
    is farther from the others than they are from each other.

    Parameters
    ----------
    annotations, distance, tolerance, depth, weights
        As in `discrepancy_ratio`.
    alpha_items : {"same", "all"}
        The items of :math:`\alpha_{-r}`: the items of :math:`\mu_r`, or all that two others
        labelled. "all" compares annotators with nearly the same denominator, but rewards an
        annotator who labels easy items only.

    Returns
    -------
    xarray.DataArray (annotator)
        NaN, with a warning, if an annotator has no item that two others labelled, or the others
        agree on all of them.

    Notes
    -----
    A high ratio does not prove poor work: an annotator who is right against a majority has one.

    With "same", avoiding hard items does not lower an annotator's ratio, but annotators of
    different items have different denominators. The source does not say which items it uses.

    Source: Lovchinsky et al. (2020), section 4.2.1 and Table 4.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["a", "b", "b"], ["a", "a", "b"]])
    >>> dx.annotator_discrepancy_ratio(ann).round(2).to_series().to_dict()
    {0: 1.0, 1: 0.5, 2: 2.5}
    """
    arguments.one_of("alpha_items", alpha_items, ALPHA_ITEMS)
    annotations = read(annotations, rankings=True)
    distances = statement_distances(annotations, distance, tolerance=tolerance, depth=depth)
    n_annotators = annotations.sizes[ANNOTATOR]
    parts = _same_items(distances, n_annotators)
    n_levels = None
    if alpha_items == "all":
        more, n_levels = _other_items(distances, n_annotators)
        parts += more
    # The distances of the others are computed without the annotator, except for callables.
    by_callable = distances.attrs["distance"] == "callable"
    reason = OTHERS_AGREE.format(rounded=ROUNDED if by_callable else "")
    name = "annotator_discrepancy_ratio"
    return Sums(
        name,
        parts,
        _finish(n_annotators, n_levels, reason),
        annotations[ITEM].to_numpy(),
        dims={name: (ANNOTATOR,)},
        coords={ANNOTATOR: annotations[ANNOTATOR].to_numpy()},
        attrs=distances.attrs | {"alpha_items": str(alpha_items)},
        better="lower",
        bearing=parts[0],
    ).value(weights)


def _same_items(distances: StatementDistances, n_annotators: int) -> tuple[Matrix, ...]:
    """Return by item and annotator: items that count, distance to the others, and theirs."""
    counts = distances.counts[distances.item] >= 3
    columns = (
        counts.astype(np.float64),
        np.where(counts, distances.to_others, 0.0),
        np.where(counts, distances.without, 0.0),
    )
    return tuple(_by_annotator(distances, values, n_annotators) for values in columns)


def _by_annotator(distances: StatementDistances, values: Floats, n_annotators: int) -> Matrix:
    shape = (len(distances.counts), n_annotators)
    start = np.concatenate([[0], np.cumsum(distances.counts)])
    return compact(sparse.csr_array((values, distances.annotator, start), shape=shape))


def _other_items(
    distances: StatementDistances, n_annotators: int
) -> tuple[tuple[Matrix, ...], int]:
    """Return sums over all items, and each annotator's to subtract; by level.

    Items whose distances are of one magnitude are a level with sums of its own: subtracting beside
    a much larger number would leave rounding only.
    """
    paired = (distances.counts >= 2).astype(np.float64)
    between = distances.by_item(distances.to_others)
    exponent = np.frexp(between)[1] // _LEVEL
    levels = np.unique(exponent[between > 0])
    parts = [_by_annotator(distances, paired[distances.item], n_annotators)]
    whole = [paired]
    for level in levels:
        whole.append(np.where((between > 0) & (exponent == level), between, 0.0))
        parts.append(_by_annotator(distances, whole[-1][distances.item], n_annotators))
    return (*parts, np.stack(whole, axis=1)), len(levels)


def _finish(n_annotators: int, n_levels: int | None, reason: str) -> Finish:
    def finish(totals: Floats, undefined: Undefined) -> Floats:
        n_blocks = 3 if n_levels is None else 4 + n_levels
        blocks = totals[:, : n_blocks * n_annotators].reshape(len(totals), -1, n_annotators)
        n_items, towards, between = blocks[:, 0], blocks[:, 1], blocks[:, 2]
        n_between = n_items
        if n_levels is not None:
            whole = totals[:, n_blocks * n_annotators :, None]
            rest = whole - blocks[:, 3:]
            # If an annotator labelled all items, the rest is rounding.
            rest = np.where(rest > 1e-12 * whole, rest, 0.0)
            n_between = n_items + rest[:, 0]
            between = between + rest[:, 1:].sum(axis=1)
        empty = n_items <= 0
        agree = ~empty & (between <= 0)
        own = np.where(empty, 1.0, towards) / np.where(empty, 1.0, n_items)
        others = np.where(empty, 1.0, between) / np.where(empty, 1.0, n_between)
        ratio = undefined.where(agree, own / np.where(agree, 1.0, others), reason)
        return undefined.where(empty, ratio, NO_OTHERS)

    return finish
