"""Priors of crossed effects: checks of given priors, and defaults.

A standard deviation's prior is a tuple: ("half_normal", scale), ("half_t", scale, degrees of
freedom) or ("exponential", mean).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dissensus import arguments
from dissensus.errors import AnnotationError, ArgumentError
from dissensus.families.crossed.kernels.data import EXPONENTIAL, HALF_NORMAL, HALF_T
from dissensus.kernels.types import Floats

Prior = tuple[Any, ...]

FORMS: Final = {"half_normal": HALF_NORMAL, "half_t": HALF_T, "exponential": EXPONENTIAL}
_DEGREES: Final = 3.0
"""Degrees of freedom of a half-t prior. Its heavy tail lets data that conflict with it prevail."""
NAMES: Final = {
    "gaussian": ("mu", "sigma_item", "sigma_annotator", "sigma"),
    "bernoulli": ("mu", "sigma_item", "sigma_annotator"),
    "ordinal": ("mu", "sigma_item", "sigma_annotator", "gap"),
}


def priors_for(
    family: str, value: Floats, given: Mapping[str, Sequence[Any]] | None, *, anonymous: bool,
    covariates: bool = False,
) -> dict[str, Prior]:  # fmt: skip
    """Return the prior of each parameter; that of ``coefficient`` is empty unless given."""
    names = [n for n in NAMES[family] if not (anonymous and n == "sigma_annotator")]
    names += ["coefficient"] * covariates
    given = checked_names(given, names)
    out = {
        name: checked_prior(name, prior, mean=name in {"mu", "coefficient"})
        for name, prior in given.items()
    }
    if family != "gaussian":
        scale = 2.5 if family == "bernoulli" else 1.5
        default: dict[str, Prior] = {"mu": (0.0, 2.5), "gap": ("exponential", 1.0)}
        default |= {name: ("half_t", scale, _DEGREES) for name in names if "sigma" in name}
    elif set(names) - {"coefficient"} <= set(out):
        default = {}
    else:
        default = _scaled(value, names)
    return {name: out.get(name, default.get(name, ())) for name in names}


def _scaled(value: Floats, names: Sequence[str]) -> dict[str, Prior]:
    """Return priors in units of the standard deviation of the numbers."""
    spread = float(np.std(value, ddof=1)) if len(value) > 1 else 0.0
    if not spread > 0:
        values = f"{len(value)} times {value[0]:g}" if len(value) else "no label"
        raise AnnotationError(
            "annotations", expected="numbers that differ: the default priors are in units of their "
            "standard deviation", found=values,
            hint="Set the priors with priors=",
        )  # fmt: skip
    scales: dict[str, Prior] = {n: ("half_t", spread, _DEGREES) for n in names if "sigma" in n}
    return scales | {"mu": (float(np.mean(value)), 2.5 * spread)}


def coefficient_prior(
    priors: Mapping[str, Prior], family: str, value: Floats, covariates: Floats
) -> Floats:
    """Return mean and standard deviation of each coefficient (term, 2).

    By default, the effect of one standard deviation of a covariate has the same prior standard
    deviation as the mean: 2.5 standard deviations of the numbers, or 2.5 on the latent scale.
    """
    given = priors.get("coefficient")
    n_terms = covariates.shape[1]
    if given:
        return np.tile(given, (n_terms, 1))
    spread = covariates.std(axis=0)
    unit = float(np.std(value)) if family == "gaussian" else 1.0
    wide = 2.5 * (unit or 1.0) / np.where(spread > 0, spread, 1.0)
    return np.stack([np.zeros(n_terms), wide], axis=1)


def checked_names(given: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """Return priors by name; raise if they are not a mapping, or name an unknown parameter."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentError(
            "priors", expected=f"a mapping of {', '.join(names)}", found=repr(given)
        )
    for name in given:
        arguments.one_of("priors", name, names)
    return given


def checked_prior(name: str, prior: Any, *, mean: bool) -> Prior:
    """Return the prior of a mean or of a positive parameter; raise if it is not valid."""
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
    arguments.one_of(f"priors[{name!r}]", form, tuple(FORMS))
    if len(prior) == 3 and form != "half_t":
        raise ArgumentError(
            f"priors[{name!r}]", expected=f"({form!r}, scale)", found=repr(tuple(prior))
        )
    numbers = [arguments.positive(f"priors[{name!r}]", number) for number in prior[1:]]
    if form == "half_t" and len(numbers) == 1:
        numbers.append(_DEGREES)
    return (form, *numbers)


def _mean(name: str, prior: Any) -> Prior:
    where = f"priors[{name!r}]"
    if isinstance(prior, str) or not isinstance(prior, Sequence) or len(prior) != 2:
        raise ArgumentError(where, expected="(mean, standard deviation)", found=repr(prior))
    return (arguments.finite(where, prior[0]), arguments.positive(where, prior[1]))


def spelled(priors: Mapping[str, Prior]) -> str:
    """Return priors in words, for the attributes of a fit."""
    words = {name: _spelled(prior) if prior else "scaled" for name, prior in priors.items()}
    return "; ".join(f"{name} {word}" for name, word in words.items())


def _spelled(prior: Prior) -> str:
    words = [part if isinstance(part, str) else f"{part:.6g}" for part in prior]
    if not isinstance(prior[0], str):
        words = ["normal", *words]
    return f"{words[0]}({', '.join(words[1:])})"


def as_row(prior: Prior) -> list[float]:
    """Return the prior of a positive parameter as a row of the kernel's `Priors`."""
    form, scale, *degrees = prior
    return [FORMS[form], scale, degrees[0] if degrees else 0.0]
