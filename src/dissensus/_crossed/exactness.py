"""Numbers that items and annotators explain to the last digit: nothing is left for chance.

Let N numbers follow exactly from a sum of effects that can fit r numbers whatever they are. As the
residual's standard deviation s goes to 0, their density, effects integrated out, grows as
s^-(N - r). Its product with any prior that is not 0 there has no finite integral if N > r: there is
no posterior. If N = r (one label an item, say) the density stays finite, and all is well.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dissensus.errors import AnnotationError
from dissensus.kernels.types import Floats, Ints

_NOTHING: Final = 1e-6
"""A residual this small beside the numbers' own spread is rounding, or might as well be."""
_ROUNDS: Final = 100
_STALLED: Final = 0.99
"""Where a round leaves more than this of a sum of squares, it will not go to 0."""


def require_a_rest(value: Floats, cell: Ints, member: Ints | None, whose: str = "") -> None:
    """Raise if numbers are a sum of effects, and more numbers than effects can fit.

    Parameters
    ----------
    value : array (annotation)
    cell : array (annotation)
        Codes of items, or of items in a pool.
    member : array (annotation), optional
        Codes of annotators; None where they have no effects.
    whose : str
        For the complaint, where these are not all numbers: " of pool 'a'".

    Examples
    --------
    >>> require_a_rest(np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1]), None)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: annotations: expected numbers that items do not explain to
    within a millionth of their spread, for a residual to be estimated; found 3 that they do. ...
    >>> require_a_rest(np.array([1.0, 1.1, 2.0]), np.array([0, 0, 1]), None)
    """
    if _left(value, cell, member) or len(value) <= _fitted_exactly(cell, member):
        return
    who = "items" if member is None else "items and annotators"
    raise AnnotationError(
        "annotations",
        expected=f"numbers that {who} do not explain to within a millionth of their spread, for a "
        "residual to be estimated",
        found=f"{len(value):,}{whose} that they do",
        hint="If everybody agrees (but perhaps for a constant of each annotator's own), no model "
        "is needed to see it, and of grades family='ordinal' takes these. If one label is millions "
        "of times farther out than the others, is it a slip?",
    )


def _left(value: Floats, cell: Ints, member: Ints | None) -> bool:
    """Whether something remains, found by taking means out in turn."""
    rest = value - value.mean()
    nothing = _NOTHING**2 * float(rest @ rest)
    for _ in range(_ROUNDS):
        before = float(rest @ rest)
        for code in (cell, member):
            if code is not None:
                n = np.bincount(code)
                rest = rest - (np.bincount(code, rest) / np.maximum(n, 1))[code]
        after = float(rest @ rest)
        if after <= nothing:
            return False
        if after > _STALLED * before:
            return True
    return True


def _fitted_exactly(cell: Ints, member: Ints | None) -> int:
    """Count the numbers that effects can fit whatever they are: the rank of the design."""
    _, cell = np.unique(cell, return_inverse=True)
    n_cells = int(cell.max()) + 1
    if member is None:
        return n_cells
    _, member = np.unique(member, return_inverse=True)
    n = n_cells + int(member.max()) + 1
    links = coo_array((np.ones(len(cell)), (cell, n_cells + member)), shape=(n, n))
    return n - int(connected_components(links, directed=False)[0])
