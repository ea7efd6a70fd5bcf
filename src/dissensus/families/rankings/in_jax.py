"""The likelihood of partial rankings for samplers in JAX, by the compiled kernel.

This module is imported only if JAX is in use: the library itself does not need JAX.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pytensor.link.jax.dispatch import jax_funcify

from dissensus.families.rankings.distributions import RankingLogp
from dissensus.kernels.compiled import kernel
from dissensus.kernels.plackett_luce import of_ranks
from dissensus.kernels.types import Floats, Ints


@jax_funcify.register(RankingLogp)
def _in_jax(op: Any, node: Any = None, **options: Any) -> Any:  # noqa: ARG001
    """Return the likelihood and its gradient as a function that JAX can differentiate."""
    return ranking_logp


@jax.custom_jvp
def ranking_logp(log_strength: Any, rank: Any) -> Any:
    """Return the log-likelihood and its gradient, of one ranking or, under `jax.vmap`, of many."""
    like = jax.ShapeDtypeStruct
    results = tuple(like(shape, log_strength.dtype) for shape in ((), log_strength.shape))
    return jax.pure_callback(_of_all, results, log_strength, rank, vmap_method="broadcast_all")


@ranking_logp.defjvp
def _derivative(primals: Any, tangents: Any) -> Any:
    """Multiply by the gradient, the second output; second derivatives are NaN."""
    value, gradient = ranking_logp(*primals)
    return (value, gradient), ((gradient * tangents[0]).sum(), jnp.full_like(gradient, jnp.nan))


def _of_all(log_strength: Any, rank: Any) -> tuple[Floats, Floats]:
    """Return log-likelihoods (...) and gradients (..., label); one call of the kernel for all."""
    shape, dtype = log_strength.shape, log_strength.dtype
    value, gradient = np.zeros(shape[:-1]), np.zeros(shape)
    rows = value.size, shape[-1]
    strengths = np.asarray(log_strength, np.float64).reshape(rows)
    ranks = np.asarray(rank, np.int64).reshape(rows)
    _of_rows(strengths, ranks, value.reshape(-1), gradient.reshape(rows))
    return value.astype(dtype), gradient.astype(dtype)


@kernel
def _of_rows(log_strength: Floats, rank: Ints, value: Floats, gradient: Floats) -> None:
    for row in range(len(rank)):
        value[row], part = of_ranks(log_strength[row], rank[row])
        for label in range(len(part)):
            gradient[row, label] = part[label]
