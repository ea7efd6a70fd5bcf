"""Cholesky factors of matrices as large as there are pools: a handful of rows."""

from __future__ import annotations

import math

from dissensus.arrays.compiled import inner
from dissensus.arrays.types import Floats


@inner
def factorised(matrix: Floats, n: int) -> bool:
    """Turn the leading n rows of a symmetric matrix into its lower Cholesky factor, in place.

    Returns whether the matrix is positive definite; if not, what is left in it is rubbish.
    """
    for j in range(n):
        for i in range(j, n):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i > j:
                matrix[i, j] = total / matrix[j, j]
            elif total > 0.0:
                matrix[j, j] = math.sqrt(total)
            else:
                return False
    return True


@inner
def forwards(factor: Floats, n: int, vector: Floats) -> None:
    """Solve L x = v, in place."""
    for i in range(n):
        for k in range(i):
            vector[i] -= factor[i, k] * vector[k]
        vector[i] /= factor[i, i]


@inner
def backwards(factor: Floats, n: int, vector: Floats) -> None:
    """Solve L' x = v, in place."""
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            vector[i] -= factor[k, i] * vector[k]
        vector[i] /= factor[i, i]


@inner
def inverted(factor: Floats, n: int, out: Floats) -> float:
    """Write the inverse of L L' and return the logarithm of its determinant."""
    log_det = 0.0
    for column in range(n):
        log_det += 2.0 * math.log(factor[column, column])
        for i in range(n):
            out[column, i] = 1.0 if i == column else 0.0
        forwards(factor, n, out[column])
        backwards(factor, n, out[column])
    return log_det
