"""Numbers as a sum of normal effects: their density, and the effects given the numbers.

All of it from one statement: y = Z u + e with u normal (m, D) and e normal (0, s^2). Arrays have
points in front; n numbers, k effects.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def log_density(y: Any, Z: Any, m: Any, D: Any, residual: Any) -> Any:
    """Return that of the numbers with the effects integrated out (point)."""
    root = np.linalg.cholesky(_covariance(Z, D, residual))
    gap = np.broadcast_to((y - Z @ m)[:, None], (len(D), len(y), 1))
    z = np.linalg.solve(root, gap)[..., 0]
    return -(z**2).sum(axis=1) / 2 - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)


def effects(y: Any, Z: Any, m: Any, D: Any, residual: Any) -> tuple[Any, Any]:
    """Return means (point, k) and covariances (point, k, k) of effects given the numbers."""
    both = D @ Z.T
    gain = np.swapaxes(np.linalg.solve(_covariance(Z, D, residual), np.swapaxes(both, 1, 2)), 1, 2)
    return m + gain @ (y - Z @ m), D - gain @ np.swapaxes(both, 1, 2)


def _covariance(Z: Any, D: Any, residual: Any) -> Any:
    return Z @ D @ Z.T + residual[:, None, None] ** 2 * np.eye(len(Z))


def indicators(*codes: Any) -> Any:
    """Return Z: a column for each value of each code."""
    return np.concatenate([np.equal.outer(code, np.arange(code.max() + 1)) for code in codes],
                          axis=1).astype(float)  # fmt: skip
