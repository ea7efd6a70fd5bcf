r"""The spread between readers, from noisy estimates for each reader.

The estimate for reader r with modality m is :math:`\mu_m + \rho_r + \delta_{mr}` plus noise. The
noise of different readers is correlated, since all readers see the same cases; its covariance is
known. The standard deviations of :math:`\rho` and :math:`\delta` have half-normal priors. With a
flat prior of :math:`\mu`, the likelihood of both standard deviations has a closed form. So their
posterior is computed on a grid, and draws from it are independent.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from dissensus.kernels.types import Floats, Ints

NODES: Final = 32
"""Number of nodes for each standard deviation; nodes are quantiles of its prior."""
_ENTRIES: Final = 4_000_000
"""Maximum number of entries of covariances in memory at a time."""
_CLOSE: Final = 1e-9
"""Added to variances: the covariance of noise is singular if two readers always agree."""


class Cells(NamedTuple):
    """Pairs of reader and modality that have an estimate."""

    modality: Ints
    """(cell,): code of the modality."""
    reader: Ints
    """(cell,): code of the reader."""

    @property
    def n_modalities(self) -> int:
        """Return the number of modalities."""
        return int(self.modality.max()) + 1

    def mean(self, values: Floats) -> Floats:
        """Return means over readers (draw, modality) of values (draw, cell)."""
        member = self.modality[:, None] == np.arange(self.n_modalities)
        return np.asarray(values @ (member / member.sum(axis=0)))


class Chance(NamedTuple):
    """Random numbers for averages over readers; all thresholds use the same numbers."""

    spread: Floats
    """(draw,): uniform, for both standard deviations."""
    reader: Floats
    """(draw, reader): normal."""
    cell: Floats
    """(draw, cell): normal."""

    @classmethod
    def drawn(cls, n: int, cells: Cells, rng: np.random.Generator) -> Chance:
        """Return random numbers for ``n`` draws."""
        readers = int(cells.reader.max()) + 1
        normal = rng.standard_normal
        return cls(rng.random(n), normal((n, readers)), normal((n, len(cells.reader))))


def half_normal(scale: float) -> Floats:
    """Return equally probable values of a standard deviation with a half-normal prior (node,)."""
    return np.asarray(scale * ndtri(0.5 + 0.5 * (np.arange(NODES) + 0.5) / NODES))


def spreads(
    cells: Cells, estimate: Floats, noise: Floats, size: Floats, scale: float, chance: Floats
) -> Floats:
    """Draw the standard deviations between readers, and between modalities within a reader.

    Parameters
    ----------
    cells : Cells
    estimate : array (cell,)
    noise : array (cell, cell)
        The covariance of the estimates for given readers.
    size : array (cell,)
        The number to which the variance of an estimate is inversely proportional, such as a number
        of cases.
    scale : float
        Scale of the half-normal prior of both standard deviations.
    chance : array (draw,)
        Uniform random numbers.

    Returns
    -------
    array (draw, 2)
        With one modality the data cannot distinguish the two standard deviations: the second is 0,
        and the first includes both, with a prior that is wider by a factor of sqrt(2).
    """
    nodes = half_normal(scale)
    single = cells.n_modalities == 1
    pair = (np.sqrt(2.0) * nodes, np.zeros(1)) if single else (nodes, nodes)
    grid = np.stack(np.meshgrid(*pair, indexing="ij"), axis=-1).reshape(-1, 2)
    noise = _pooled(noise, size, cells.modality)
    at_once = max(1, _ENTRIES // len(estimate) ** 2)
    parts = np.split(grid, np.arange(at_once, len(grid), at_once))
    log = np.concatenate([_log_likelihood(cells, estimate, noise, part) for part in parts])
    reached = np.cumsum(np.exp(log - log.max()))
    place = np.searchsorted(reached, chance * reached[-1], side="right")
    return np.asarray(grid[np.minimum(place, len(grid) - 1)])


def _pooled(noise: Floats, size: Floats, modality: Ints) -> Floats:
    """Return the covariance of noise with the variances of each modality proportional to 1 / size.

    Correlations do not change. Areas near 1 have little noise. With a separate variance for each
    reader, an area far below the others would be explained by its noise, and not by the spread
    between readers. Obuchowski & Rockette (1995) also average variances over readers.
    """
    own = np.sqrt(np.diag(noise))
    product = np.outer(own, own)
    scaled = np.divide(noise, product, out=np.eye(len(own)), where=product > 0)
    total = np.bincount(modality, own**2 * size) / np.bincount(modality)
    common = np.sqrt(total[modality] / size)
    return np.asarray(scaled * np.outer(common, common))


def _log_likelihood(cells: Cells, estimate: Floats, noise: Floats, sd: Floats) -> Floats:
    """Return the log-likelihood of standard deviations (node, 2), with means integrated out."""
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


def of_new_readers(average: Floats, cells: Cells, sd: Floats, chance: Chance) -> Floats:
    r"""Return averages over all possible readers, from averages over these readers.

    Both are (draw, modality).

    The mean deviation of these readers from all readers is drawn, and subtracted on the probit
    scale, so that averages stay between 0 and 1:
    :math:`\Phi(\Phi^{-1}(a) \sqrt{1 + s^2} - s z)` has the mean a for a standard normal z.
    """
    deviation = sd[:, :1] * chance.reader[:, cells.reader] + sd[:, 1:] * chance.cell
    shift = cells.mean(deviation)
    size = np.sqrt((sd**2).sum(axis=1, keepdims=True) / np.bincount(cells.modality))
    at = ndtri(average)
    slope = np.exp(-0.5 * at**2) / np.sqrt(2 * np.pi)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = ndtr(at * np.hypot(1.0, size / slope) - shift / slope)
    return np.where(np.isfinite(at), out, average)
