"""Partial rankings with ties, under Plackett-Luce."""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Continuous, Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import implicit_size_from_params, rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.gradient import DisconnectedType, grad_undefined
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.random.basic import exponential, gamma, uniform
from pytensor.tensor.random.utils import normalize_size_param

from dissensus.errors import ArgumentError
from dissensus.kernels import plackett_luce
from dissensus.kernels.plackett_luce import of_ranks
from dissensus.kernels.types import Ints

# The exact log-likelihood of a partial ranking as a PyTensor operation with its gradient.


_IN_JAX = "pytensor.link.jax.dispatch"


class RankingLogp(Op):
    """The log-likelihood of one ranking, and its gradient, which costs little more.

    Before you compile a graph of this operation with ``mode="JAX"``, import
    `families.rankings.in_jax`. `PartialRanking` imports it for samplers in JAX.
    """

    gufunc_signature = "(k),(k)->(),(k)"
    __props__ = ()

    def make_node(self, log_strength: Any, rank: Any) -> Any:
        """Build a node from log strengths and the number of each label's block, both (label)."""
        log_strength = pt.as_tensor(log_strength, dtype="float64")
        rank = pt.as_tensor(rank, dtype="int64")
        return Apply(self, [log_strength, rank], [pt.dscalar(), log_strength.type()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:  # noqa: ARG002
        """Compute value and gradient in Python, for graphs that PyTensor does not compile."""
        value, gradient = of_ranks(*inputs)
        outputs[0][0], outputs[1][0] = np.asarray(value), gradient

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        """Multiply by the gradient (the second output); second derivatives are not defined."""
        rank = grad_undefined(self, 1, inputs[1], "ranks are whole numbers")
        if isinstance(cotangents[0].type, DisconnectedType):
            return [grad_undefined(self, 0, inputs[0], "no second derivatives"), rank]
        return [cotangents[0] * outputs[1], rank]


@numba_basic.register_funcify_and_cache_key(RankingLogp)
def _compiled(op: Any, node: Any, **options: Any) -> Any:  # noqa: ARG001
    """Return the kernel and the cache key of the compiled code."""

    @numba_basic.numba_njit
    def ranking_logp(log_strength: Any, rank: Any) -> Any:
        value, gradient = of_ranks(log_strength, rank)
        return np.asarray(value), gradient

    return ranking_logp, _kernel_key()


@cache
def _kernel_key() -> str:
    """Return a key that changes with the kernel's source, so that cached code is never outdated."""
    paths = [__file__, plackett_luce.__file__]
    sources = [Path(str(path)).read_bytes() for path in paths]
    return sha256(b"".join(sources)).hexdigest()


ranking_logp = Blockwise(RankingLogp())


# The logarithm of a Gamma variate: strengths can be too small for a floating-point number.


class LogGammaRV(SymbolicRandomVariable):
    """Draws Gamma(a) as Gamma(a + 1) times U^(1/a), U uniform: logarithms never underflow."""

    name = "log_gamma"
    extended_signature = "[rng],[size],()->[rng],()"
    _print_name = ("LogGamma", "\\operatorname{LogGamma}")

    @classmethod
    def rv_op(cls, alpha: Any, *, size: Any = None, rng: Any = None) -> Any:
        """Build the graph of a draw."""
        alpha = pt.as_tensor(alpha, dtype="float64")
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        if rv_size_is_none(size):
            size = implicit_size_from_params(alpha, ndims_params=cls.ndims_params)
        between, above = gamma(alpha + 1.0, scale=1.0, size=size, rng=rng, return_next_rng=True)
        next_rng, u = uniform(size=size, rng=between, return_next_rng=True)
        draw = pt.log(above) + pt.log1p(-u) / alpha  # 1 - u is never 0
        return cls(inputs=[rng, size, alpha], outputs=[next_rng, draw])(rng, size, alpha)


class LogGamma(Continuous):
    r"""The logarithm u of a Gamma(a, 1) variate.

    .. math:: f(u \mid a) = \frac{1}{\Gamma(a)} \exp(a u - e^u)

    With a = 1/2000 two thirds of the Gamma variates are below the smallest floating-point number;
    their logarithms are ordinary numbers.

    Parameters
    ----------
    alpha : tensor_like of float
        a > 0, the shape.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.families.distributions import LogGamma
    >>> u = pm.draw(LogGamma.dist(alpha=1 / 2000), 1000, random_seed=1)
    >>> bool(np.median(np.exp(u)) == 0), bool(np.isfinite(u).all())
    (True, True)
    """

    rv_type = LogGammaRV
    rv_op = LogGammaRV.rv_op

    @classmethod
    def dist(cls, alpha: Any, *args: Any, **kwargs: Any) -> Any:
        """Return an unnamed variable."""
        return super().dist([alpha], *args, **kwargs)

    def support_point(rv: Any, size: Any, alpha: Any) -> Any:  # noqa: N805
        """Return the mode."""
        point = pt.log(alpha)
        return point if rv_size_is_none(size) else pt.full(size, point)

    def logp(value: Any, alpha: Any) -> Any:  # noqa: N805
        """Return the log density."""
        density = alpha * value - pt.exp(value) - pt.gammaln(alpha)
        return check_parameters(density, alpha > 0, msg="alpha > 0")


class PartialRankingRV(SymbolicRandomVariable):
    """Draws rankings: labels arrive at exponential times, and take places in order of arrival."""

    name = "partial_ranking"
    extended_signature = "[rng],[size],(k),(k),(),()->[rng],(k)"
    _print_name = ("PartialRanking", "\\operatorname{PartialRanking}")

    @classmethod
    def rv_op(
        cls, log_strength: Any, places: Any, power: Any, sharpness: Any, *,
        size: Any = None, rng: Any = None,
    ) -> Any:  # fmt: skip
        """Build the graph of a draw."""
        log_strength = pt.as_tensor(log_strength, dtype="float64")
        places = pt.as_tensor(places, dtype="int64")
        power, sharpness = (
            pt.as_tensor(exponent, dtype="float64") for exponent in (power, sharpness)
        )
        parameters = (log_strength, places, power, sharpness)
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        if rv_size_is_none(size):
            size = implicit_size_from_params(*parameters, ndims_params=cls.ndims_params)
        shape = pt.concatenate([size, log_strength.shape[-1:]])
        next_rng, time = exponential(1.0, size=shape, rng=rng, return_next_rng=True)
        arrival = pt.log(time) - tempered(log_strength, sharpness)
        ranks = _in_places(arrival, pt.broadcast_to(places, shape))
        return cls(inputs=[rng, size, *parameters], outputs=[next_rng, ranks])(
            rng, size, *parameters
        )


class PartialRanking(Discrete):
    r"""Partial rankings with ties under Plackett-Luce, exactly.

    .. math:: f(b \mid \lambda, \gamma, \delta) = \Bigl[ \prod_{l < L} \int_0^\infty Z_l e^{-Z_l t}
        \prod_{k \in b_l} \bigl(1 - e^{-\lambda_k^\delta t}\bigr)\, dt \Bigr]^\gamma

    with blocks :math:`b_1 > \dots > b_L`, where :math:`b_L` has the labels that are not listed, and
    :math:`Z_l` the sum of :math:`\lambda_k^\delta` over all blocks after the l-th. The integrals
    are sums over all orders within blocks. At :math:`\gamma = 1`, f is the probability of the
    ranking, given the sizes of its blocks. Otherwise f is not normalised over b, and is meant for
    inference about the strengths; draws are made as if :math:`\gamma` were 1. Do not give the power
    a prior: f is not normalised, and increases as the power falls. The sharpness can have a prior.

    A value is a vector over labels: the number of each label's block, from 1, or 0 for a label that
    is not listed.

    Parameters
    ----------
    strength : tensor_like of float (..., label), optional
        :math:`\lambda_k \ge 0`; 0 for an absent label, which cannot be ranked. The scale does
        not matter.
    log_strength : tensor_like of float (..., label), optional
        :math:`\log \lambda_k` instead, which may be of any size.
    places : tensor_like of int (..., label), optional
        The shape of a random draw: the number of the block of each place, first place first,
        and then 0 for each label that is not listed. For example, 1, 2, 2, 0 has one label
        first, two labels tied after it, and one unlisted label. Default: as in the observed values;
        without any, all present labels are listed, without ties.
    power : tensor_like of float
        :math:`\gamma > 0`, reliability as a power of the likelihood.
    sharpness : tensor_like of float
        :math:`\delta > 0`, reliability as a power of the strengths.

    Raises
    ------
    ArgumentError
        If not exactly one of `strength` and `log_strength` is given, or the observed values are not
        rankings.

    Notes
    -----
    Source: Stutz et al. (2023), Appendix B.4; `docs/derivations/partial-rankings.md`.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.families.distributions import PartialRanking
    >>> x = PartialRanking.dist([2.0, 1.0, 1.0])
    >>> round(float(np.exp(pm.logp(x, [1, 1, 0]).eval())), 12)  # 2/4 1/2 + 1/4 2/3
    0.416666666667
    >>> np.sort(pm.draw(x, random_seed=1))
    array([1, 2, 3])
    >>> tied = PartialRanking.dist([2.0, 1.0, 1.0], places=[1, 1, 0])
    >>> np.sort(pm.draw(tied, random_seed=1))
    array([0, 1, 1])
    """

    rv_type = PartialRankingRV
    rv_op = PartialRankingRV.rv_op

    def __new__(cls, name: str, *args: Any, observed: Any = None, **kwargs: Any) -> Any:
        """Make a named variable in a model."""
        if observed is not None:
            _refuse_gaps(observed)
            shared = hasattr(observed, "get_value")
            places = places_of(observed.get_value() if shared else observed)
            if kwargs.get("places") is None:  # shared data may change: their places are a graph
                kwargs["places"] = _sorted_places(observed) if shared else places
        return super().__new__(cls, name, *args, observed=observed, **kwargs)

    @classmethod
    def dist(
        cls, strength: Any = None, *, log_strength: Any = None, places: Any = None,
        power: Any = 1.0, sharpness: Any = 1.0, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Return an unnamed variable."""
        if (strength is None) == (log_strength is None):
            raise ArgumentError(
                "strength", expected="strength or log_strength",
                found="neither" if strength is None else "both",
            )  # fmt: skip
        if log_strength is None:
            strength = pt.as_tensor(strength, dtype="float64")
            positive = pt.neq(strength, 0.0)  # log 0 has no finite gradient
            log_strength = pt.switch(positive, pt.log(pt.switch(positive, strength, 1.0)), -np.inf)
        log_strength = pt.as_tensor(log_strength, dtype="float64")
        if places is None:
            places = _places_of_present(log_strength)
        return super().dist([log_strength, places, power, sharpness], **kwargs)

    def support_point(rv: Any, size: Any, log_strength: Any, places: Any, power: Any, sharpness: Any) -> Any:  # fmt: skip  # noqa: E501, N805
        """Return the labels in order of their strengths."""
        if rv_size_is_none(size):
            size = implicit_size_from_params(
                log_strength, places, power, sharpness, ndims_params=rv.owner.op.ndims_params
            )
        shape = pt.concatenate([size, log_strength.shape[-1:]])
        return _in_places(pt.broadcast_to(-log_strength, shape), pt.broadcast_to(places, shape))

    def logp(value: Any, log_strength: Any, places: Any, power: Any, sharpness: Any) -> Any:  # noqa: ARG002, N805
        """Return the exact log-likelihood, tempered."""
        if _IN_JAX in sys.modules:  # JAX samplers import it before they call logp
            import_module("dissensus.families.rankings.in_jax")
        log_likelihood = power * ranking_logp(tempered(log_strength, sharpness), value)[0]
        return check_parameters(
            log_likelihood, pt.all(log_strength < np.inf), power > 0, sharpness > 0,
            msg="strengths finite and >= 0, power > 0, sharpness > 0",
        )  # fmt: skip


def tempered(log_strength: Any, sharpness: Any) -> Any:
    """Return log strengths times sharpness (...); minus infinity is not changed.

    Infinity must not be multiplied: the gradient by the sharpness would contain 0 times infinity.
    A finite bound replaces it first, because PyTensor would move a ``switch`` behind the product.
    """
    finite = pt.maximum(log_strength, _FARTHEST) * pt.shape_padright(sharpness)
    return pt.switch(log_strength > -np.inf, finite, -np.inf)


_FARTHEST = -1e30
"""Lower bound of finite log strengths; finite also in single precision, which PyTensor tries first
for constants."""


def _places_of_present(log_strength: Any) -> Any:
    """Return a place of its own for each label with a strength above 0."""
    present = log_strength > -np.inf
    place = pt.arange(1, log_strength.shape[-1] + 1)
    return pt.where(place <= present.sum(axis=-1, keepdims=True), place, 0)


def _in_places(key: Any, places: Any) -> Any:
    """Sort labels by the key, in ascending order, and return the block of each label's place."""
    position = pt.argsort(pt.argsort(key, axis=-1), axis=-1)
    return pt.take_along_axis(places, position, axis=-1)


def _refuse_gaps(observed: Any) -> None:
    """Raise on masked ranks: PyMC would draw them one by one, which gives no valid ranking."""
    if np.ma.is_masked(observed):
        raise ArgumentError(
            "observed", expected="ranks without a mask", found="a masked array",
            hint="Use rank 0 for a label that is not listed, strength 0 for an absent label",
        )  # fmt: skip


def _sorted_places(ranks: Any) -> Any:
    """Return `places_of` as a graph."""
    ordered = pt.sort(ranks, axis=-1)
    n, unlisted = ordered.shape[-1], pt.eq(ordered, 0).sum(axis=-1, keepdims=True)
    return pt.take_along_axis(ordered, (pt.arange(n) + unlisted) % n, axis=-1)


def places_of(ranks: Any) -> Ints:
    """Return the block of each place, as `PartialRanking` takes it in ``places``.

    Parameters
    ----------
    ranks : array of int (..., label)
        The number of each label's block, 0 for unlisted.

    Raises
    ------
    ArgumentError
        If a row's blocks are not 1, 2, ... without a gap.

    Examples
    --------
    >>> places_of([[0, 2, 1, 2], [1, 0, 0, 0]])
    array([[1, 2, 2, 0],
           [1, 0, 0, 0]])
    """
    blocks = np.asarray(ranks)
    expected = "whole numbers of blocks 1, 2, ... of the labels in each row, 0 for unlisted ones"
    if blocks.dtype.kind not in "iu" or blocks.ndim < 1:
        raise ArgumentError("observed", expected=expected, found=f"an array of {blocks.dtype}")
    places = np.sort(blocks.astype(np.int64), axis=-1)
    jump = np.diff(places, axis=-1, prepend=np.zeros_like(places[..., :1]))
    bad = (places < 0) | (jump > 1)
    if bad.any():
        row = tuple(np.argwhere(bad)[0][:-1].tolist())
        where = "row " + ", ".join(map(str, row)) if row else ""
        raise ArgumentError(
            "observed", where=where, expected=expected, found=str(blocks[row].tolist())
        )
    shift = (places == 0).sum(axis=-1, keepdims=True)
    n = places.shape[-1]
    return np.take_along_axis(places, (np.arange(n) + shift) % max(n, 1), axis=-1)
