"""The exact log-likelihood of a partial ranking as a PyTensor operation with its gradient."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, grad_undefined
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.tensor.blockwise import Blockwise

from dissensus.kernels import plackett_luce
from dissensus.kernels.plackett_luce import of_ranks


class RankingLogp(Op):
    """One ranking: its log-likelihood, and beside it the gradient, which costs little more."""

    gufunc_signature = "(k),(k)->(),(k)"
    __props__ = ()

    def make_node(self, log_strength: Any, rank: Any) -> Any:
        """Take log strengths and the number of each label's block, both (label)."""
        log_strength = pt.as_tensor(log_strength, dtype="float64")
        rank = pt.as_tensor(rank, dtype="int64")
        return Apply(self, [log_strength, rank], [pt.dscalar(), log_strength.type()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:  # noqa: ARG002
        """Compute both in Python, which PyTensor does where it does not compile."""
        value, gradient = of_ranks(*inputs)
        outputs[0][0], outputs[1][0] = np.asarray(value), gradient

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        """Multiply by the gradient, which is there already; it has no derivative itself."""
        rank = grad_undefined(self, 1, inputs[1], "ranks are whole numbers")
        if isinstance(cotangents[0].type, DisconnectedType):
            return [grad_undefined(self, 0, inputs[0], "no second derivatives"), rank]
        return [cotangents[0] * outputs[1], rank]


@numba_basic.register_funcify_and_cache_key(RankingLogp)
def _compiled(op: Any, node: Any, **options: Any) -> Any:  # noqa: ARG001
    """Give PyTensor the kernel, and a key under which to keep what it compiles."""

    @numba_basic.numba_njit
    def ranking_logp(log_strength: Any, rank: Any) -> Any:
        value, gradient = of_ranks(log_strength, rank)
        return np.asarray(value), gradient

    return ranking_logp, _kernel_key()


@cache
def _kernel_key() -> str:
    """Return a key that changes with the kernel's text, so that no compiled one is out of date."""
    paths = [__file__, plackett_luce.__file__, plackett_luce.__file__]
    sources = [Path(str(path)).read_bytes() for path in paths]
    return sha256(b"".join(sources)).hexdigest()


ranking_logp = Blockwise(RankingLogp())
