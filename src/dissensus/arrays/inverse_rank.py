"""Inverse rank normalisation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dissensus.arrays.types import Codes


def inverse_rank_weights(
    rank: Codes, ranking: Codes, *, split_ties: bool
) -> npt.NDArray[np.float64]:
    r"""Weigh each ranked label by :math:`1/(l\,|b_l|)`, or :math:`1/l` if ties do not split.

    Parameters
    ----------
    rank : array (row)
        The block l that the label stands in, from 1.
    ranking : array (row)
        Which partial ranking the row belongs to.
    split_ties : bool
        Divide a block's weight by its size (Eq. 14 of Stutz et al. 2023); their published code
        does not.

    Returns
    -------
    array (row)

    Examples
    --------
    >>> inverse_rank_weights(np.array([1, 2, 2]), np.array([0, 0, 0]), split_ties=True)
    array([1.  , 0.25, 0.25])
    """
    weight = 1.0 / rank
    if split_ties:
        block = ranking * (int(rank.max()) + 1) + rank
        _, place, size = np.unique(block, return_inverse=True, return_counts=True)
        weight = weight / size[place]
    return np.asarray(weight)
