"""Label counts whose likelihood is raised to a power, the reliability of annotators."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.multivariate import Multinomial
from pymc.distributions.shape_utils import implicit_size_from_params, rv_size_is_none
from pymc.logprob.basic import logp as logp_of
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor.random.basic import multinomial
from pytensor.tensor.random.utils import normalize_size_param


class PowerMultinomialRV(SymbolicRandomVariable):
    """Random draws are multinomial counts, whatever the power."""

    name = "power_multinomial"
    extended_signature = "[rng],[size],(),(p),()->[rng],(p)"
    _print_name = ("PowerMultinomial", "\\operatorname{PowerMultinomial}")

    @classmethod
    def rv_op(cls, n: Any, p: Any, power: Any, *, size: Any = None, rng: Any = None) -> Any:
        """Build the graph of a draw."""
        n = pt.as_tensor(n, dtype="int64")
        p, power = pt.as_tensor(p), pt.as_tensor(power)
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        if rv_size_is_none(size):
            size = implicit_size_from_params(n, p, power, ndims_params=cls.ndims_params)
        next_rng, draw = multinomial(n, p, size=size, rng=rng, return_next_rng=True)
        return cls(inputs=[rng, size, n, p, power], outputs=[next_rng, draw])(
            rng, size, n, p, power
        )


class PowerMultinomial(Discrete):
    r"""Multinomial counts with a tempered likelihood.

    .. math:: f(s \mid n, p, \gamma) = \left[\frac{n!}{\prod_k s_k!} \prod_k p_k^{s_k}\right]^\gamma

    At :math:`\gamma = 1` it is the multinomial distribution. Otherwise, the density is not
    normalised over s, and is meant for inference about p: each of the n labels counts
    :math:`\gamma` times. Random draws are multinomial counts for any :math:`\gamma`.

    Parameters
    ----------
    n : tensor_like of int
        Number of labels: the sum of the counts.
    p : tensor_like of float
        Probabilities along the last axis.
    power : tensor_like of float
        :math:`\gamma > 0`, the reliability.

    Examples
    --------
    Counts of 3 and 1, with reliability 1/2:

    >>> import numpy as np
    >>> import pymc as pm
    >>> from dissensus.families.distributions import PowerMultinomial
    >>> counts = PowerMultinomial.dist(n=4, p=[0.7, 0.3], power=0.5)
    >>> float(np.exp(pm.logp(counts, [3, 1]).eval()).round(4))  # square root of .4116
    0.6416
    >>> int(pm.draw(counts, random_seed=1).sum())
    4
    """

    rv_type = PowerMultinomialRV
    rv_op = PowerMultinomialRV.rv_op

    @classmethod
    def dist(cls, n: Any, p: Any, power: Any, *args: Any, **kwargs: Any) -> Any:
        """Return an unnamed variable."""
        return super().dist([n, p, power], *args, **kwargs)

    def support_point(rv: Any, size: Any, n: Any, p: Any, power: Any) -> Any:  # noqa: ARG002, N805
        """Return counts close to their mean."""
        from pymc.distributions.distribution import support_point

        return support_point(Multinomial.dist(n=n, p=p, size=size))

    def logp(value: Any, n: Any, p: Any, power: Any) -> Any:  # noqa: N805
        """Return the multinomial log density times the power."""
        tempered = power * logp_of(Multinomial.dist(n=n, p=p), value)
        return check_parameters(tempered, power > 0, msg="power > 0")
