"""The spread between readers, from estimates for each reader that contain noise.

An estimate of reader r with modality m is :math:`\\mu_m + \\rho_r + \\delta_{mr}` plus noise with a
known covariance, which cases bring that readers have in common. The two standard deviations have
half-normal priors. With a flat prior of :math:`\\mu` the likelihood of both has a closed form, so
their posterior is a sum over a grid, and its draws are independent.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from dissensus.kernels.types import Floats, Ints

NODES: Final = 32
"""Nodes for each standard deviation: quantiles of its prior."""
_ENTRIES: Final = 4_000_000
"""Entries of covariances that are in memory at a time."""
_CLOSE: Final = 1e-9
"""Added to the variance of noise: two readers who always say the same have no noise between them."""


class Cells(NamedTuple):
    """The readers and modalities of estimates."""

    modality: Ints
    """(cell,): the place of its modality."""
    reader: Ints
    """(cell,): the place of its reader."""
    size: Floats
    """(cell,): its numbers of positive and of negative cases p and n, as p n / (p + n)."""

    @property
    def n_modalities(self) -> int:
        """Return the number of modalities."""
        return int(self.modality.max()) + 1

    def mean(self, values: Floats) -> Floats:
        """Return means over readers (draw, modality) of values (draw, cell)."""
        member = self.modality[:, None] == np.arange(self.n_modalities)
        return np.asarray(values @ (member / member.sum(axis=0)))


def spreads(
    cells: Cells, estimate: Floats, noise: Floats, scale: float, n: int, rng: np.random.Generator
) -> Floats:
    """Draw the standard deviations between readers, and between modalities within a reader.

    Parameters
    ----------
    cells : Cells
    estimate : array (cell,)
    noise : array (cell, cell)
        The covariance of the estimates for given readers.
    scale : float
        Scale of the half-normal prior of both standard deviations.
    n : int
        The number of draws.
    rng : Generator

    Returns
    -------
    array (draw, 2)
        With one modality the second is 0: it cannot be told from the first.
    """
    nodes = scale * ndtri(0.5 + 0.5 * (np.arange(NODES) + 0.5) / NODES)
    single = cells.n_modalities == 1
    within = np.zeros(1) if single else nodes
    grid = np.stack(np.meshgrid(nodes, within, indexing="ij"), axis=-1).reshape(-1, 2)
    noise = _pooled(noise, cells.size)
    at_once = max(1, _ENTRIES // len(estimate) ** 2)
    parts = np.split(grid, np.arange(at_once, len(grid), at_once))
    log = np.concatenate([_log_likelihood(cells, estimate, noise, part) for part in parts])
    weight = np.exp(log - log.max())
    return np.asarray(grid[rng.choice(len(grid), size=n, p=weight / weight.sum())])


def _pooled(noise: Floats, size: Floats) -> Floats:
    """Return noise with its correlations, and one variance of all readers in proportion to 1 / size.

    Areas near 1 have little noise. With each reader's own variance, those far below the others
    would seem noisy instead of different. Obuchowski & Rockette (1995) average over readers too.
    """
    own = np.sqrt(np.diag(noise))
    scaled = np.divide(noise, np.outer(own, own), out=np.eye(len(own)), where=np.outer(own, own) > 0)
    common = np.sqrt(np.mean(own**2 * size) / size)
    return np.asarray(scaled * np.outer(common, common))


def _log_likelihood(cells: Cells, estimate: Floats, noise: Floats, sd: Floats) -> Floats:
    """Return the log-likelihood of standard deviations (node, 2), modalities' means integrated out."""
    between, within = (sd[:, k, None, None] ** 2 for k in (0, 1))
    same = cells.reader[:, None] == cells.reader
    variance = noise + between * same + (within + _CLOSE) * np.eye(len(estimate))
    design = (cells.modality[:, None] == np.arange(cells.n_modalities)).astype(np.float64)
    half = np.linalg.cholesky(variance)
    white = np.linalg.solve(half, np.column_stack([design, estimate])[None])
    x, y = white[:, :, :-1], white[:, :, -1:]
    gram, projected = x.mT @ x, x.mT @ y
    rest = y.mT @ y - projected.mT @ np.linalg.solve(gram, projected)
    diagonal = np.log(np.diagonal(half, axis1=1, axis2=2)).sum(axis=1)
    return np.asarray(-diagonal - 0.5 * np.linalg.slogdet(gram)[1] - 0.5 * rest[:, 0, 0])


def of_new_readers(
    average: Floats, cells: Cells, sd: Floats, rng: np.random.Generator
) -> Floats:
    r"""Return averages over all readers there could be, from averages over these (draw, modality).

    The mean deviation of these readers from all is drawn, and subtracted on the probit scale, so
    that averages stay between 0 and 1:
    :math:`\Phi(\Phi^{-1}(a) \sqrt{1 + s^2} - s z)` has the mean a for a standard normal z.
    """
    deviation = sd[:, :1] * rng.standard_normal((len(sd), int(cells.reader.max()) + 1))
    both = deviation[:, cells.reader]
    both += sd[:, 1:] * rng.standard_normal(both.shape)
    shift = cells.mean(both)
    count = np.bincount(cells.modality)
    size = np.sqrt((sd**2).sum(axis=1, keepdims=True) / count)
    at = ndtri(average)
    slope = np.exp(-0.5 * at**2) / np.sqrt(2 * np.pi)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = ndtr(at * np.hypot(1.0, size / slope) - shift / slope)
    return np.where(np.isfinite(at), out, average)
