"""How often the draws agree on one answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from numba import njit

from dissensus.arrays.rowwise import rowwise

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def set_codes(top: Codes) -> Codes:
    """Give every distinct set along the last axis its own number.

    Examples
    --------
    >>> set_codes(np.array([[1, 2], [2, 1], [1, 3]]))
    array([0, 0, 1])
    """
    members = np.sort(top, axis=-1)
    code = pd.factorize(members[..., 0].ravel())[0].astype(np.int64)
    for place in range(1, members.shape[-1]):
        column = members[..., place].ravel()
        span = int(column.max()) - int(column.min()) + 1
        code = pd.factorize(code * span + (column - column.min()))[0].astype(np.int64)
    return code.reshape(top.shape[:-1])


@njit(cache=True)
def _mode(codes: Codes) -> int:
    """Return the commonest code, the first to appear of them if several are.

    What number a code has depends on the other items of the array, so it cannot decide.
    """
    ordered = np.sort(codes)
    most, count = 0, 0
    for i in range(len(ordered)):
        count = count + 1 if i > 0 and ordered[i] == ordered[i - 1] else 1
        most = max(most, count)
    for code in codes:
        low = np.searchsorted(ordered, code)
        if low + most <= len(ordered) and ordered[low + most - 1] == code:
            return int(code)
    return -1


@rowwise("void(int64[:, :], float64[:], float64[:], float64[:])", "(c,d)->(),(),()")
def modal_share(codes: Codes, share: Floats, mcse: Floats, bias: Floats) -> None:
    """Return the share of the commonest code over (chain, draw), its error, and its bias.

    The Monte Carlo error comes from batch means, so that it also holds for draws that follow
    from one another. The share of the *commonest* code is biased upwards, since chance helps
    to choose it: the bias is estimated by choosing on one half of each chain and counting on the
    other. (On every other draw, draws that follow from one another would stand on both sides.)
    """
    n_chains, n_draws = codes.shape
    best = _mode(codes.copy().reshape(-1))
    share[0] = np.mean(codes == best)

    size = max(1, int(np.sqrt(n_draws)))
    batches = n_draws // size
    means = np.empty(n_chains * batches)
    for c in range(n_chains):
        for b in range(batches):
            means[c * batches + b] = np.mean(codes[c, b * size : (b + 1) * size] == best)
    mcse[0] = np.nan
    if len(means) > 1:
        mcse[0] = np.sqrt(np.var(means) * len(means) / (len(means) - 1) / len(means))

    bias[0] = np.nan
    if n_draws > 1:
        half = n_draws // 2
        one, two = codes[:, :half].copy(), codes[:, half:].copy()
        honest = np.sum(two == _mode(one.reshape(-1))) + np.sum(one == _mode(two.reshape(-1)))
        bias[0] = max(0.0, share[0] - honest / codes.size)
