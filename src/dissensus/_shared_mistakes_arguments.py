"""What is assumed of mistakes that annotators share, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.special import betainc, betaincinv

from dissensus import fitting
from dissensus._wording import listed, percent, share
from dissensus.dims import SAMPLE, SHARE
from dissensus.errors import ArgumentError, brief, shown

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """On how many items annotators are wrong together: one number, several, or draws."""

    values: Floats
    """(chain, draw, share, 1), of size 1 where it does not vary."""
    words: list[str]
    """Of each share; empty for 0, of which there is nothing to say."""
    coords: dict[str, Any] = field(default_factory=dict)
    drawn: dict[str, xr.DataArray] = field(default_factory=dict)

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimension of several shares, if there are."""
        return tuple(self.coords)


def level_of(
    given: Any, default: tuple[float, ...], beta: Any, n_labels: int, sample: tuple[int, ...],
    rng: np.random.Generator,
) -> Level:  # fmt: skip
    """Return the share of items that was given, or draw what is believed of it."""
    bound = (n_labels - 1) / n_labels
    if beta is not None:
        if given is not default:
            raise ArgumentError("share", expected="nothing beside beta=", found=brief(given))
        return _believed(beta, bound, sample, rng)
    values = _numbers(given)
    if not len(values) or not ((values >= 0) & (values < bound)).all():
        raise ArgumentError(
            "share", found=brief(given),
            expected=f"a number, or several, from 0 to below {bound:.3g}: from there on, labels "
            f"of {n_labels} kinds would point to the truth no more often than guesses",
        )  # fmt: skip
    words = [f"on {percent(value)} of the items" if value else "" for value in values]
    coords = {SHARE: values} if np.ndim(given) else {}
    return Level(values[:, None][None, None], words, coords)


def _numbers(given: Any) -> Floats:
    """Return numbers, NaN where there is something else."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(1, np.nan)
    text = isinstance(given, str | bytes) or values.ndim > 1
    return np.full(1, np.nan) if text else np.atleast_1d(values)


def _believed(beta: Any, bound: float, sample: tuple[int, ...], rng: np.random.Generator) -> Level:
    """Draw shares from a beta distribution, of which what is above the bound is cut off."""
    pair = _numbers(beta)
    if len(pair) != 2 or not (np.isfinite(pair) & (pair > 0)).all():
        raise ArgumentError("beta", expected="two finite numbers > 0", found=brief(beta))
    a, b = pair.tolist()
    below = float(betainc(a, b, bound))
    if below < 0.5:
        raise ArgumentError(
            "beta", expected=f"a distribution that is mostly below {bound:.3g}, where labels still "
            "tell something", found=brief(beta),
        )  # fmt: skip
    values = betaincinv(a, b, below * rng.random(sample))
    words = (
        f"on a share of the items that is not known (Beta({a:g}, {b:g}), {share(a / (a + b))} on "
        "average)"
    )
    return Level(values[..., None, None], [words], drawn={SHARE: xr.DataArray(values, dims=SAMPLE)})


def chances(repeated: Any, systems: npt.NDArray[Any]) -> Floats:
    """Return each system's chance to repeat the mistakes."""
    names = systems.tolist()
    if not isinstance(repeated, Mapping):
        return np.full(len(names), _chance("repeated", repeated))
    if set(repeated) != set(names):
        raise ArgumentError(
            "repeated", expected=f"a number, or one for each of the systems {shown(names)}"
            if names else "a number, as the fit has no systems",
            found=f"names {listed([repr(name) for name in repeated])}",
        )  # fmt: skip
    return np.array([_chance(f"repeated[{name!r}]", repeated[name]) for name in names])


def _chance(name: str, value: Any) -> float:
    number = fitting.finite(name, value)
    if not 0 <= number <= 1:
        raise ArgumentError(name, expected="a number in [0, 1]", found=brief(value))
    return number
