"""How often the draws agree on one answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from numba import guvectorize, njit

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


@njit(cache=True)  # type: ignore[misc]
def _mode(codes: Codes) -> int:
    """Return the commonest code, the smallest of them if several are."""
    ordered = np.sort(codes)
    best, best_count, count = ordered[0], 0, 0
    for i in range(len(ordered)):
        count = count + 1 if i > 0 and ordered[i] == ordered[i - 1] else 1
        if count > best_count:
            best, best_count = ordered[i], count
    return int(best)


@guvectorize(
    ["void(int64[:, :], float64[:], float64[:], float64[:])"],
    "(c,d)->(),(),()",
    nopython=True,
    cache=True,
)  # type: ignore[misc]
def modal_share(codes: Codes, share: Floats, mcse: Floats, bias: Floats) -> None:
    """Return the share of the commonest code over (chain, draw), its error, and its bias.

    The Monte Carlo error comes from batch means, so that it also holds for draws that follow
    from one another. The share of the *commonest* code is biased upwards, since chance helps
    to choose it: the bias is estimated by choosing on every other draw and counting on the rest.
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
        even, odd = codes[:, 0::2].copy(), codes[:, 1::2].copy()
        honest = 0.5 * np.mean(odd == _mode(even.reshape(-1)))
        honest += 0.5 * np.mean(even == _mode(odd.reshape(-1)))
        bias[0] = max(0.0, share[0] - honest)
