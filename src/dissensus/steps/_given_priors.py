"""Priors whose parameters are given, read off the model's graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytensor
from pymc.distributions.transforms import LogTransform
from pymc.logprob.basic import logp
from pytensor.compile.mode import Mode
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import ExponentialRV, HalfNormalRV
from scipy.stats import norm

from dissensus.arrays.crossed_parameters import EXPONENTIAL, HALF_NORMAL, HALF_T
from dissensus.kernels.types import Floats
from dissensus.sampling.step import unfit

PLAIN: Final = Mode(linker="py", optimizer=None)
"""For what is evaluated once or twice: to compile it would take longer."""


def constants(model: Any, parameters: Sequence[Any]) -> list[Any]:
    """Evaluate parameters of a prior, which must be given.

    Raises
    ------
    ArgumentError
        If they hang on what is drawn.
    """
    free = set(model.free_RVs)
    for one in parameters:
        if free & set(ancestors([one])):
            raise unfit("priors that are given", f"{one} hangs on other variables")
    given = model.replace_rvs_by_values(list(parameters))
    return list(pytensor.function([], given, mode=PLAIN)())


def require_logarithm(model: Any, variable: Any) -> None:
    """Raise unless PyMC moves the variable as its logarithm."""
    if not isinstance(model.rvs_to_transforms[variable], LogTransform):
        raise unfit(f"{variable.name} with a prior on positive numbers", "another transformation")


def scale_prior(model: Any, variable: Any) -> Floats:
    """Return (..., 3): the form of a positive number's prior, its scale, and degrees.

    Raises
    ------
    ArgumentError
        If it is of another form.
    """
    op = variable.owner.op
    parameters = op.dist_params(variable.owner)
    if isinstance(op, HalfNormalRV):
        location, scale = constants(model, parameters)
        row = [HALF_NORMAL, scale, 0.0]
    elif isinstance(op, ExponentialRV):
        location, row = 0.0, [EXPONENTIAL, constants(model, parameters)[0], 0.0]
    elif op.name == "halfstudentt":
        degrees, scale = constants(model, parameters)
        location, row = 0.0, [HALF_T, scale, degrees]
    else:
        raise unfit(
            f"{variable.name} with a HalfNormal, HalfStudentT or Exponential prior", str(op)
        )
    if np.any(location):
        raise unfit(f"{variable.name} with a prior that begins at 0", str(location))
    return np.stack(np.broadcast_arrays(*row), axis=-1).astype(np.float64)


def bound_below(model: Any, variable: Any) -> float:
    """Return the bound above which PyMC moves a number, minus infinity if there is none.

    Raises
    ------
    ArgumentError
        If there is a bound above, too.
    """
    transform = model.rvs_to_transforms[variable]
    if transform is None:
        return -np.inf
    ends = [transform.backward(np.float64(end), *variable.owner.inputs) for end in (-1e3, 1e3)]
    least, most = (float(end) for end in constants(model, ends))
    if most < np.inf:
        raise unfit(f"{variable.name} without a bound above", str(most))
    return least


def normal_above(model: Any, variable: Any, least: float) -> tuple[float, float]:
    """Return the mean and the standard deviation of a number's normal prior above a bound.

    However the density is written, it must be a normal one wherever PyMC moves the number, up to a
    constant: this is tried.

    Raises
    ------
    ArgumentError
        If it is another.
    """
    owner = variable.owner
    other = unfit(f"{variable.name} with a Normal prior, or one above a bound", str(owner.op))
    given = constants(model, owner.op.dist_params(owner)[:2])
    if len(given) < 2 or np.ndim(given[0]) or np.ndim(given[1]) or not given[1] > 0:
        raise other
    mean, sd = (float(one) for one in given)
    x = mean + sd * np.linspace(-8.0, 8.0, 17)
    if np.isfinite(least):
        x = np.append(x, least + sd * np.array([1e-3, 0.1, 1.0, 10.0]))
    x = x[x > least]
    gap = constants(model, [logp(variable, x)])[0] - norm.logpdf(x, mean, sd)
    if not np.isfinite(gap).all() or not np.allclose(gap, gap[0], atol=1e-6):
        raise other
    return mean, sd
