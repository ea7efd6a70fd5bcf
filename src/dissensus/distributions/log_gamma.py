"""The logarithm of a Gamma variate: strengths too small for a floating-point number."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Continuous, SymbolicRandomVariable
from pymc.distributions.shape_utils import implicit_size_from_params, rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor.random.basic import gamma, uniform
from pytensor.tensor.random.utils import normalize_size_param


class LogGammaRV(SymbolicRandomVariable):
    """One of shape a is one of shape a + 1 times U^(1/a), which in logarithms never underflows."""

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
    >>> from dissensus.distributions import LogGamma
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
