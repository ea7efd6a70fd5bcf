"""Effective draws and r-hat of many numbers at once.

What ArviZ computes, to rounding (Vehtari et al. 2021, with ranks and split chains). ArviZ goes from
number to number in Python, which for a million items takes as long as to draw them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

Floats = npt.NDArray[np.float64]

_SAME = 1e-15
"""Numbers that differ by less are one."""


class Diagnostics(NamedTuple):
    """One number each for every number that was drawn."""

    bulk: Floats
    """Effective draws in the middle of the distribution."""
    tail: Floats
    """... of two quantiles, the lesser of both."""
    r_hat: Floats
    """The larger of that of ranks and that of ranks of distances from the median; NaN for one
    chain."""


def diagnostics(draws: Floats, prob: tuple[float, float]) -> Diagnostics:
    """Return effective draws and r-hat.

    Parameters
    ----------
    draws : array (number, chain, draw)
        Four draws a chain or more.
    prob : (float, float)
        Of the quantiles.

    Examples
    --------
    >>> draws = np.random.default_rng(1).random((2, 4, 500))
    >>> (diagnostics(draws, (0.05, 0.95)).bulk > 1000).tolist()
    [True, True]
    """
    halves = _split(draws)
    scores = _normal_scores(halves)
    ends = np.quantile(draws, prob, axis=(1, 2))
    low, high = (_ess((halves <= end[:, None, None]).astype(np.float64)) for end in ends)
    apart = np.full(len(draws), np.nan)
    if draws.shape[1] > 1:
        far = abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
        apart = np.maximum(_r_hat(scores), _r_hat(_normal_scores(far)))
    return Diagnostics(_ess(scores), np.minimum(low, high), apart)


def _split(draws: Floats) -> Floats:
    """Make two chains of each."""
    half = draws.shape[2] // 2
    return np.concatenate([draws[..., :half], draws[..., -half:]], axis=1)


def _normal_scores(draws: Floats) -> Floats:
    """Replace draws by the normal quantiles of their ranks."""
    flat = draws.reshape(len(draws), -1)
    ranks = rankdata(flat, axis=1)
    out: Floats = ndtri((ranks - 0.375) / (flat.shape[1] + 0.25)).reshape(draws.shape)
    return out


def _r_hat(draws: Floats) -> Floats:
    n = draws.shape[2]
    between = n * draws.mean(axis=2).var(axis=1, ddof=1)
    within = draws.var(axis=2, ddof=1).mean(axis=1)
    out: Floats = np.sqrt((between / within + n - 1) / n)
    return out


def _ess(draws: Floats) -> Floats:
    """Return the effective numbers of draws, from autocorrelations up to where they are noise."""
    size, n = draws.shape[1] * draws.shape[2], draws.shape[2]
    covariance = _autocovariances(draws)
    mean_var = covariance[:, :1] * n / (n - 1)
    var_plus = covariance[:, :1].copy()
    if draws.shape[1] > 1:
        var_plus += draws.mean(axis=2).var(axis=1, ddof=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):  # of constants, which are seen to below
        rho = 1 - (mean_var - covariance) / var_plus
    rho[:, 0] = 1
    n_pairs = 1 + max(0, (n - 3) // 2)
    pairs = rho[:, : 2 * n_pairs].reshape(len(rho), n_pairs, 2)
    summed = pairs.sum(axis=2)
    # Geyer's initial positive sequence ends at the first pair whose sum is not positive.
    ended = summed <= 0
    last = np.where(ended.any(axis=1), ended.argmax(axis=1), n_pairs - 1)
    before = np.arange(n_pairs) < last[:, None]
    falling = np.minimum.accumulate(summed, axis=1)  # his initial monotone sequence
    at = np.arange(len(rho)), last
    one_more = np.where((pairs[..., 0][at] > 0) | (summed[at] >= 0), pairs[..., 0][at], 0.0)
    tau = -1 + 2 * np.where(before, falling, 0.0).sum(axis=1) + one_more
    out = size / np.maximum(tau, 1 / np.log10(size))
    return np.where(np.ptp(draws, axis=(1, 2)) < _SAME, float(size), out)


def _autocovariances(draws: Floats) -> Floats:
    """Return the autocovariances (number, lag), averaged over chains."""
    n = draws.shape[2]
    length = next_fast_len(2 * n, real=True)
    spectrum: Any = rfft(draws - draws.mean(axis=2, keepdims=True), n=length, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    out: Floats = irfft(power, n=length, axis=1)[:, :n] / n
    return out
