"""Priors of crossed effects: what may be asked for, the defaults, and how a graph states them.

Priors of crossed effects: what may be asked for, and what is taken where nothing is.
A standard deviation's prior is a tuple: ("half_normal", scale), ("half_t", scale, degrees of
freedom) or ("exponential", mean).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pytensor
from pymc.distributions.transforms import LogTransform
from pymc.logprob.basic import logp
from pytensor.compile.mode import Mode
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import ExponentialRV, HalfNormalRV
from scipy.stats import norm

from dissensus.errors import AnnotationError, ArgumentError
from dissensus.families.crossed.kernels.data import EXPONENTIAL, HALF_NORMAL, HALF_T
from dissensus.kernels.types import Floats
from dissensus.registry import one_of
from dissensus.sampling import fitting
from dissensus.sampling.step import unfit

Prior = tuple[Any, ...]

FORMS: Final = {"half_normal": HALF_NORMAL, "half_t": HALF_T, "exponential": EXPONENTIAL}
_DEGREES: Final = 3.0
"""Of a half-t prior: its tail lets data speak that are far from what was expected."""
NAMES: Final = {
    "gaussian": ("mu", "sigma_item", "sigma_annotator", "sigma"),
    "bernoulli": ("mu", "sigma_item", "sigma_annotator"),
    "ordinal": ("mu", "sigma_item", "sigma_annotator", "gap"),
}


def priors_for(
    family: str, value: Floats, given: Mapping[str, Sequence[Any]] | None, *, anonymous: bool
) -> dict[str, Prior]:
    """Return the prior of each parameter.

    Raises
    ------
    ArgumentError
        If something else was asked for.
    AnnotationError
        If numbers do not differ, and some prior is to be scaled to them.
    """
    names = [n for n in NAMES[family] if not (anonymous and n == "sigma_annotator")]
    given = _mapping(given, names)
    out = {name: checked_prior(name, prior, mean=name == "mu") for name, prior in given.items()}
    if family != "gaussian":
        scale = 2.5 if family == "bernoulli" else 1.5
        default: dict[str, Prior] = {"mu": (0.0, 2.5), "gap": ("exponential", 1.0)}
        default |= {name: ("half_t", scale, _DEGREES) for name in names if "sigma" in name}
    elif set(names) <= set(out):
        default = {}
    else:
        default = _scaled(value, names)
    return {name: out.get(name, default.get(name, ())) for name in names}


def _scaled(value: Floats, names: Sequence[str]) -> dict[str, Prior]:
    """Return priors in units of the numbers' own spread."""
    spread = float(np.std(value, ddof=1)) if len(value) > 1 else 0.0
    if not spread > 0:
        found = f"{len(value)} times {value[0]:g}" if len(value) else "no label"
        raise AnnotationError(
            "annotations", expected="numbers that differ, to scale the priors by", found=found,
            hint="Say what is expected with priors=",
        )  # fmt: skip
    scales: dict[str, Prior] = {n: ("half_t", spread, _DEGREES) for n in names if "sigma" in n}
    return scales | {"mu": (float(np.mean(value)), 2.5 * spread)}


def _mapping(given: Any, names: Sequence[str]) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentError(
            "priors", expected=f"a mapping of {', '.join(names)}", found=repr(given)
        )
    for name in given:
        one_of("priors", name, names)
    return given


def checked_prior(name: str, prior: Any, *, mean: bool) -> Prior:
    """Return the prior of a mean, or of something positive, or raise naming it."""
    if mean:
        return _mean(name, prior)
    if not isinstance(prior, Sequence) or isinstance(prior, str) or len(prior) not in {2, 3}:
        raise ArgumentError(
            f"priors[{name!r}]",
            expected="('half_normal', scale), ('half_t', scale, degrees of freedom) or "
            "('exponential', mean)",
            found=repr(prior),
        )
    form = prior[0]
    one_of(f"priors[{name!r}]", form, tuple(FORMS))
    if len(prior) == 3 and form != "half_t":
        raise ArgumentError(
            f"priors[{name!r}]", expected=f"({form!r}, scale)", found=repr(tuple(prior))
        )
    numbers = [fitting.positive(f"priors[{name!r}]", number) for number in prior[1:]]
    if form == "half_t" and len(numbers) == 1:
        numbers.append(_DEGREES)
    return (form, *numbers)


def _mean(name: str, prior: Any) -> Prior:
    where = f"priors[{name!r}]"
    if isinstance(prior, str) or not isinstance(prior, Sequence) or len(prior) != 2:
        raise ArgumentError(where, expected="(mean, standard deviation)", found=repr(prior))
    return (fitting.finite(where, prior[0]), fitting.positive(where, prior[1]))


def spelled(priors: Mapping[str, Prior]) -> str:
    """Return priors as a person reads them, for the attributes of a fit."""
    return "; ".join(f"{name} {_spelled(prior)}" for name, prior in priors.items())


def _spelled(prior: Prior) -> str:
    words = [part if isinstance(part, str) else f"{part:.6g}" for part in prior]
    if not isinstance(prior[0], str):
        words = ["normal", *words]
    return f"{words[0]}({', '.join(words[1:])})"


def as_row(prior: Prior) -> list[float]:
    """Return a standard deviation's prior as compiled code reads it."""
    form, scale, *degrees = prior
    return [FORMS[form], scale, degrees[0] if degrees else 0.0]


# Priors whose parameters are given, read off the model's graph.


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
