"""What a system's accuracy is worth, if the ground truth it was judged by is not always true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.dims import SAMPLE
from dissensus.errors import ArgumentError, brief, warn_caller
from dissensus.kernels.types import Floats

# Plain numbers in, with or without names: what is checked, and how results are named.


Numbers = xr.DataArray | Floats
WHOLE = "whole numbers, 1 or more"


def numbers(
    argument: str, given: Any, wanted: str, good: Callable[[Floats], npt.NDArray[np.bool_]]
) -> Numbers:
    """Return numbers as given, those of a DataArray with their names, or raise.

    Examples
    --------
    >>> numbers("k", [1, -2, 0], "positive numbers", lambda x: x > 0)
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: k: expected positive numbers; found -2 and 1 more
    """
    try:
        values = np.asarray(given)
    except (TypeError, ValueError) as error:  # a DataTree; a ragged list
        raise ArgumentError(argument, expected=wanted, found=brief(given)) from error
    if isinstance(given, xr.Dataset) or values.dtype.kind not in "iuf":
        raise ArgumentError(argument, expected=wanted, found=brief(given))
    bad = values[~good(values.astype(np.float64))]
    if bad.size:
        raise ArgumentError(
            argument, expected=wanted,
            found=f"{bad.flat[0]}" + (f" and {bad.size - 1} more" if bad.size > 1 else ""),
        )  # fmt: skip
    return given.astype(np.float64) if isinstance(given, xr.DataArray) else values.astype(float)


def shares(argument: str, given: Any, wanted: str) -> Numbers:
    """Return numbers from 0 to 1 as given, or raise; NaN, an undefined draw, stays one.

    Examples
    --------
    >>> shares("accuracy", [0.5, 1], "accuracies, from 0 to 1")
    array([0.5, 1. ])
    """
    return numbers(argument, given, wanted, lambda x: np.isnan(x) | ((x >= 0) & (x <= 1)))


def one_number(
    argument: str, given: Any, wanted: str, good: Callable[[Floats], npt.NDArray[np.bool_]]
) -> float:
    """Return a single number, or raise.

    Examples
    --------
    >>> one_number("target", 0.95, "a number between 0 and 1", lambda x: (x > 0) & (x < 1))
    0.95
    """
    found = numbers(argument, given, wanted, good)
    if isinstance(found, xr.DataArray) or found.ndim:
        raise ArgumentError(argument, expected=wanted, found=brief(given))
    return float(found)


def label_count(n_labels: Any) -> int:
    """Return how many labels there are, or raise.

    Examples
    --------
    >>> label_count(1)
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: n_labels: expected a whole number, 2 or more, to 2**62; found 1
    """
    wanted = "a whole number, 2 or more, to 2**62"
    found = one_number(
        "n_labels", n_labels, wanted, lambda x: is_whole(x) & (x >= 2) & (x <= 2.0**62)
    )
    return int(found)


def is_whole(values: Floats) -> npt.NDArray[np.bool_]:
    """Return which numbers are whole and finite.

    Examples
    --------
    >>> is_whole(np.array([1.0, 1.5, np.inf]))
    array([ True, False, False])
    """
    return np.isfinite(values) & (values == np.rint(values))


def named(out: Any, name: str, better: str) -> Any:
    """Name a result if what it came from had names, with draws in front; else a float or array."""
    if not isinstance(out, xr.DataArray):
        return out if np.ndim(out) else float(out)
    front = [dim for dim in SAMPLE if dim in out.dims]
    out = out.transpose(*front, ...).rename(name)
    out.attrs = {"better": better}
    return out


_ROUNDING = 1e-12
_ERRORS = ("product", "independent")


def actual_accuracy(
    accuracy: Any, truth_accuracy: Any, errors: str = "product", n_labels: int = 2
) -> Any:
    r"""How often a system is right that agrees so often with an imperfect ground truth.

    .. math:: a g \quad \text{or} \quad a g + \frac{(1 - a)(1 - g)}{L - 1}

    with the accuracy a against the ground truth, and the accuracy g of the ground truth.

    Parameters
    ----------
    accuracy : DataArray, array or float
        Share a of the items on which the system says what the ground truth says.
    truth_accuracy : DataArray, array or float
        Share g of the items on which the ground truth is right: `majority_accuracy`,
        `truth_accuracy`, or draws of a model.
    errors : {"product", "independent"}
        Whether the system is right only where it agrees with a ground truth that is right (the
        source's product), or also where both err and differ, as happens if the two
        kinds of error are independent.
    n_labels : int
        How many labels there are, L: who contradicts a wrong label is right with L = 2, and once
        in L - 1 times with more. The product does not depend on it.

    Returns
    -------
    xarray.DataArray, array or float
        ``actual_accuracy``, from 0 to 1, with the dims of both.

    Raises
    ------
    ArgumentError
        If an accuracy is not within [0, 1], the two do not fit together, or there is no such
        setting.

    Notes
    -----
    Both suppose that the system agrees with the ground truth as often where this is right as where
    it is wrong: a system that has learned what annotators say, mistakes and all. A system that
    knows better, and errs independently of the annotators *given the true label*, is underrated
    by such a ground truth, not overrated; there no formula of a and g will do, but a model that
    judges it without one: `models.symmetric_confusion`, `lehner`.

    Source: Cabitza et al. (2020), "The elephant in the machine", section 2 (98 % on a ground truth
    of 85 % are 83 %) and Figure 9.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> round(dx.actual_accuracy(0.98, 0.85), 3)
    0.833
    >>> round(dx.actual_accuracy(0.98, 0.85, errors="independent"), 3)
    0.836
    >>> draws = xr.DataArray([[0.9, 1.0]], dims=("chain", "draw"), name="truth_accuracy")
    >>> dx.actual_accuracy(0.9, draws).values
    array([[0.81, 0.9 ]])
    """
    arguments.one_of("errors", errors, _ERRORS)
    labels = label_count(n_labels)
    system = shares("accuracy", accuracy, "accuracies of systems, from 0 to 1")
    truth = shares("truth_accuracy", truth_accuracy, "accuracies of a ground truth, from 0 to 1")

    def formula(a: Any, g: Any) -> Any:
        return a * g if errors == "product" else a * g + (1 - a) * (1 - g) / (labels - 1)

    try:
        found = xr.apply_ufunc(formula, system, truth)
    except ValueError as error:
        raise ArgumentError(
            "truth_accuracy",
            expected=f"numbers that broadcast with accuracy, of shape {system.shape}",
            found=f"shape {truth.shape}, or other names along a dim",
        ) from error
    return named(found, "actual_accuracy", "higher")


def probability_of_support(
    truth_accuracy: Any,
    accuracy: Any,
    required: float,
    *,
    errors: str = "product",
    n_labels: int = 2,
) -> xr.DataArray:
    r"""Probability that a ground truth is good enough to support a claim about a system.

    .. math:: P(\text{actual accuracy} \ge r \mid \text{data})

    of a system whose accuracy against this ground truth is a: with the product,
    :math:`P(a g \ge r)`.

    Parameters
    ----------
    truth_accuracy : DataArray
        Draws (chain, draw, ...) of the accuracy g of the ground truth: `truth_accuracy` of draws
        of `weighted_reliability`, or `majority_accuracy` of a model's accuracies.
    accuracy : DataArray, array or float
        The accuracy a that the system shows against it; with draws, if they are known.
    required : float
        The accuracy r that is claimed, or the least that is acceptable, above 0 and up to 1.
    errors : {"product", "independent"}
        As in `actual_accuracy`.
    n_labels : int
        As in `actual_accuracy`.

    Returns
    -------
    xarray.DataArray
        ``probability_of_support``, from 0 to 1, with the dims of both but ``chain`` and ``draw``.
        NaN where any draw is.

    Raises
    ------
    ArgumentError
        If neither has draws, or numbers are out of bounds.

    Warns
    -----
    DissensusWarning
        Where some draws are undefined (NaN): so is the probability then.

    Notes
    -----
    The share of draws that reach the claim, with a resolution of one over their number; one that
    misses it by rounding only (1e-12 of it) reaches it. It is no surer than what links the draws to
    the accuracy of the ground truth: see the Notes of `truth_accuracy`.

    Source: Cabitza et al. (2020), "The elephant in the machine", section 5, as a posterior
    probability in place of a threshold.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> rho = xr.DataArray([[0.6, 0.66, 0.7, 0.75]], dims=("chain", "draw"))
    >>> truth = dx.truth_accuracy(rho, n_annotators=5)
    >>> dx.probability_of_support(truth, accuracy=0.95, required=0.9).item()
    0.75
    """
    wanted = "a number above 0, up to 1"
    claim = one_number("required", required, wanted, lambda x: (x > 0) & (x <= 1))
    draws = actual_accuracy(accuracy, truth_accuracy, errors, n_labels)
    if not (isinstance(draws, xr.DataArray) and set(SAMPLE) <= set(draws.dims) and draws.size):
        raise ArgumentError(
            "truth_accuracy", expected=f"draws, with dims {SAMPLE}",
            found=f"dims {getattr(draws, 'dims', ())}",
            hint="dissensus.truth_accuracy of draws of a reliability makes them",
        )  # fmt: skip
    undefined = draws.isnull().sum(SAMPLE)
    if bool((undefined > 0).any()):
        total = int(np.prod([draws.sizes[dim] for dim in SAMPLE]))
        warn_caller(
            f"Draws are undefined (NaN), up to {int(undefined.max()):,} of {total:,}, and so is "
            "the probability of support."
        )
    found = (draws >= claim * (1 - _ROUNDING)).mean(SAMPLE).where(undefined == 0)
    return named(found, "probability_of_support", "higher")
