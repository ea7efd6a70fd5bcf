"""Effective numbers of draws, and r-hat, of many numbers at once.

The results are those of ArviZ, up to rounding (Vehtari et al. 2021, with ranks and split chains).
ArviZ loops over parameters in Python. With a million items this takes as long as sampling.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from dissensus.kernels.compiled import compiled
from dissensus.kernels.types import Floats

_SAME = 1e-15
"""A number whose draws all differ by less than this counts as constant."""

_SOON = 64
"""Up to this many lags are computed one by one, because most numbers need few. For a number that
needs more, all lags are computed at once, by a Fourier transform."""


class Diagnostics(NamedTuple):
    """One diagnostic for each sampled number."""

    bulk: Floats
    """Effective number of draws for the middle of the distribution."""
    tail: Floats
    """Effective number of draws for two quantiles, the smaller of the two."""
    r_hat: Floats
    """The larger of r-hat of ranks and r-hat of ranks of distances from the median; NaN for one
    chain."""


def diagnostics(draws: Floats, prob: tuple[float, float]) -> Diagnostics:
    """Return the diagnostics of draws (number, chain, draw); each chain has at least four draws.

    ``prob`` are the probabilities of the two quantiles for the tail.
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
    """Split each chain into two halves."""
    half = draws.shape[2] // 2
    return np.concatenate([draws[..., :half], draws[..., -half:]], axis=1)


def _normal_scores(draws: Floats) -> Floats:
    """Replace draws by the normal quantiles of their ranks."""
    flat = draws.reshape(len(draws), -1)
    size = flat.shape[1]
    order = flat.argsort(axis=1)
    rising = np.take_along_axis(flat, order, axis=1)
    out = np.empty_like(flat)
    np.put_along_axis(out, order, _quantiles(np.arange(1.0, size + 1), size)[None], axis=1)
    tied = (rising[:, 1:] == rising[:, :-1]).any(axis=1)
    if tied.any():
        out[tied] = _quantiles(rankdata(flat[tied], axis=1), size)
    return out.reshape(draws.shape)


def _quantiles(ranks: Floats, size: int) -> Floats:
    out: Floats = ndtri((ranks - 0.375) / (size + 0.25))
    return out


def _r_hat(draws: Floats) -> Floats:
    n = draws.shape[2]
    between = n * draws.mean(axis=2).var(axis=1, ddof=1)
    within = draws.var(axis=2, ddof=1).mean(axis=1)
    out: Floats = np.sqrt((between / within + n - 1) / n)
    return out


def _ess(draws: Floats) -> Floats:
    """Return effective numbers of draws, without autocorrelations at lags where they are noise."""
    size = draws.shape[1] * draws.shape[2]
    centred = draws - draws.mean(axis=2, keepdims=True)
    between = np.zeros(len(draws))
    if draws.shape[1] > 1:
        between = draws.mean(axis=2).var(axis=1, ddof=1)
    soon = np.empty((len(draws), min(_SOON, draws.shape[2])))
    time = _times(centred, between, soon, False)
    late = np.isnan(time)
    if late.any():
        time[late] = _times(centred[late], between[late], _autocovariances(centred[late]), True)
    out = size / np.maximum(time, 1 / np.log10(size))
    return np.where(np.ptp(draws, axis=(1, 2)) < _SAME, float(size), out)


def _autocovariances(centred: Floats) -> Floats:
    """Return the autocovariances (number, lag), averaged over chains."""
    n = centred.shape[2]
    length = next_fast_len(2 * n, real=True)
    spectrum: Any = rfft(centred, n=length, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    out: Floats = irfft(power, n=length, axis=1)[:, :n] / n
    return out


# With this error_model, 0 / 0 is NaN and raises no error; it occurs for constant draws.
@functools.partial(compiled, nogil=True, error_model="numpy")
def _times(centred: Floats, between: Floats, covariance: Floats, known: bool) -> Floats:
    """Return the autocorrelation times (number); NaN where ``covariance`` has too few lags.

    ``covariance`` (number, lag) is written by this function, unless it is ``known``.
    Geyer's initial sequence of sums of two autocorrelations is used: it ends at the first sum that
    is not positive, and each sum is limited to the smallest sum before it.
    """
    n, out = centred.shape[2], np.full(len(centred), np.nan)
    for k in range(len(centred)):
        time, least, n_pairs = -1.0, np.inf, 1 + max(0, (n - 3) // 2)
        for pair in range(n_pairs):
            if 2 * pair + 1 >= covariance.shape[1]:
                break
            if not known:
                covariance[k, 2 * pair] = _autocovariance(centred[k], 2 * pair)
                covariance[k, 2 * pair + 1] = _autocovariance(centred[k], 2 * pair + 1)
            whole, at_first = covariance[k, 0] + between[k], covariance[k, 0] * n / (n - 1)
            even = 1.0 if pair == 0 else 1.0 - (at_first - covariance[k, 2 * pair]) / whole
            summed = even + 1.0 - (at_first - covariance[k, 2 * pair + 1]) / whole
            if summed <= 0.0 or pair == n_pairs - 1:
                out[k] = time + (even if even > 0.0 or summed >= 0.0 else 0.0)
                break
            least = min(least, summed)
            time += 2.0 * least
    return out


@functools.partial(compiled, fastmath={"reassoc"})
def _autocovariance(centred: Floats, lag: int) -> float:
    """Return an autocovariance, averaged over chains; the compiler may reorder sums."""
    total, n = 0.0, centred.shape[1]
    for chain in range(len(centred)):
        for draw in range(n - lag):
            total += centred[chain, draw] * centred[chain, draw + lag]
    return total / centred.size
