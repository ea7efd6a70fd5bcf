"""How much the annotators of a pilot agree beyond guessing, and how well that is known."""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data.schema import checked_annotations
from dissensus.dims import LABEL
from dissensus.errors import AnnotationError, ArgumentError, DissensusWarning
from dissensus.sampling import fitting
from dissensus.statistics.bayesian_bootstrap import bayesian_bootstrap
from dissensus.statistics.bennett_s import bennett_s

_KINDS: Final = ("nominal", "ordinal")


class Agreement(NamedTuple):
    """What a plan has to know of annotators."""

    kappa: float
    n_labels: int
    known: tuple[float, float] | None
    """The interval of a pilot's kappa."""


def agreement_of(
    pilot: Any, kappa: Any, n_labels: Any, prob: float, random_seed: Any
) -> Agreement:  # fmt: skip
    """Take kappa and the number of labels as they are given, or from a pilot.

    Raises
    ------
    ArgumentError
        If neither or both are given, or they make no sense.
    AnnotationError
        If the pilot has no labels, or its annotators agree no more often than guesses.
    """
    if pilot is not None:
        return _of_pilot(pilot, {"kappa": kappa, "n_labels": n_labels}, prob, random_seed)
    if kappa is None:
        raise ArgumentError(
            "kappa", expected="how much annotators agree beyond guessing, or a pilot",
            found="neither",
        )  # fmt: skip
    if n_labels is None:
        raise ArgumentError(
            "n_labels",
            expected="how many labels annotators choose from, with kappa",
            found="None",
            hint="In a shell: --label-count",
        )
    number = fitting.finite("kappa", kappa)
    if not 0 < number <= 1:
        raise ArgumentError("kappa", expected="a number above 0, at most 1", found=repr(kappa))
    return Agreement(number, fitting.whole("n_labels", n_labels, 2), None)


def _of_pilot(pilot: Any, given: dict[str, Any], prob: float, random_seed: Any) -> Agreement:
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(name, expected="none, as a pilot tells it", found=repr(value))
    kind = checked_annotations(pilot).attrs["kind"]
    n_labels = pilot.sizes[LABEL] if kind in _KINDS else 0
    if n_labels < 2:
        raise AnnotationError(
            "pilot", expected="two labels or more, nominal or ordinal",
            found=f"{n_labels} of them" if kind in _KINDS else f"the kind {kind!r}",
        )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)  # of what is NaN, which is refused below
        kappa = float(bennett_s(pilot))
        if not kappa > 0:
            raise AnnotationError(
                "pilot", expected="annotators who agree more often than guesses would",
                found=f"a kappa (bennett_s) of {kappa:.3g}",
                hint="" if np.isfinite(kappa) else "It takes items with two labels",
            )  # fmt: skip
        draws = bayesian_bootstrap(bennett_s, pilot, draws=2000, random_seed=random_seed)
    values = draws.to_array() if isinstance(draws, xr.Dataset) else draws
    low, high = np.nanquantile(values.to_numpy(), [(1 - prob) / 2, (1 + prob) / 2])
    return Agreement(kappa, n_labels, (float(low), float(high)))
