"""The accuracy of a system that was evaluated against an imperfect ground truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, SAMPLE
from dissensus.errors import ArgumentError, brief, warn_caller
from dissensus.kernels.types import Floats

# Checks of arguments that are DataArrays, arrays or floats, and names of results.


Numbers = xr.DataArray | Floats
WHOLE = "whole numbers, 1 or more"


def numbers(
    argument: str, given: Any, expected: str, is_valid: Callable[[Floats], npt.NDArray[np.bool_]]
) -> Numbers:
    """Return an argument as a DataArray or array of floats, or raise if a number is invalid."""
    try:
        values = np.asarray(given)
    except (TypeError, ValueError) as error:  # a DataTree, or a ragged list
        raise ArgumentError(argument, expected=expected, found=brief(given)) from error
    if isinstance(given, xr.Dataset) or values.dtype.kind not in "iuf":
        raise ArgumentError(argument, expected=expected, found=brief(given))
    invalid = values[~is_valid(values.astype(np.float64))]
    if invalid.size:
        raise ArgumentError(
            argument,
            expected=expected,
            found=f"{invalid.flat[0]}"
            + (f" and {invalid.size - 1} more" if invalid.size > 1 else ""),
        )
    return given.astype(np.float64) if isinstance(given, xr.DataArray) else values.astype(float)


def shares(argument: str, given: Any, expected: str) -> Numbers:
    """Return numbers from 0 to 1 or NaN (an undefined draw), or raise."""
    return numbers(argument, given, expected, lambda x: np.isnan(x) | ((x >= 0) & (x <= 1)))


def label_count(n_labels: Any) -> int:
    """Return the number of labels, or raise."""
    return arguments.whole("n_labels", n_labels, 2, 2**62)


def is_whole(values: Floats) -> npt.NDArray[np.bool_]:
    """Return for each number whether it is whole and finite."""
    return np.isfinite(values) & (values == np.rint(values))


def named(out: Any, name: str, better: str) -> Any:
    """Name a DataArray and put chain and draw first; return other results as a float or array."""
    if not isinstance(out, xr.DataArray):
        return out if np.ndim(out) else float(out)
    front = [dim for dim in SAMPLE if dim in out.dims]
    out = out.transpose(*front, ...).rename(name)
    out.attrs = {"better": better}
    return out


def broadcast(
    formula: Callable[..., Any], first: Numbers, second: Numbers, names: tuple[str, str]
) -> Any:
    """Apply a formula to two arguments, or raise if their shapes do not broadcast."""
    try:
        return xr.apply_ufunc(formula, first, second)
    except ValueError as error:
        raise ArgumentError(
            names[1],
            expected=f"numbers that broadcast with {names[0]}, of shape {first.shape}",
            found=f"shape {second.shape}, or different names along a dim",
        ) from error


def along_annotators(argument: str, given: Any, number: Numbers, estimate: Numbers) -> Numbers:
    """Return several numbers along ``annotator`` if ``estimate``, another argument, has dims.

    One number and a DataArray are returned unchanged.
    """
    plain = not isinstance(number, xr.DataArray) and number.ndim > 0
    if not (plain and isinstance(estimate, xr.DataArray)):
        return number
    if number.ndim > 1:
        raise ArgumentError(argument, expected="one dim, or a DataArray", found=str(number.shape))
    return xr.DataArray(number, {ANNOTATOR: np.asarray(given)}, ANNOTATOR)


_ROUNDING = 1e-12
_ERRORS = ("product", "independent")


def actual_accuracy(
    accuracy: Any, truth_accuracy: Any, errors: str = "product", n_labels: int = 2
) -> Any:
    r"""Accuracy of a system, from its agreement with an imperfect ground truth.

    .. math:: a g \quad \text{or} \quad a g + \frac{(1 - a)(1 - g)}{L - 1}

    with the accuracy a against the ground truth, and the accuracy g of the ground truth.

    Parameters
    ----------
    accuracy : DataArray, array or float
        Share a of the items on which the system agrees with the ground truth.
    truth_accuracy : DataArray, array or float
        Share g of the items on which the ground truth is right: `majority_accuracy`,
        `truth_accuracy`, or draws of a model.
    errors : {"product", "independent"}
        "product", as in the source: the system is right only where it agrees with a correct ground
        truth. "independent": it may also be right where it differs from a wrong ground truth.
    n_labels : int
        Number of labels L. A prediction that differs from a wrong label is right with probability
        1 / (L - 1). The product does not depend on L.

    Returns
    -------
    xarray.DataArray, array or float
        ``actual_accuracy``, from 0 to 1, with the dims of both arguments.

    Notes
    -----
    Both formulas assume that the system agrees equally often with right and wrong labels of the
    ground truth, like a system that has learned the annotators' labels with their mistakes. For a
    better system, whose errors are independent of the annotators' errors *given the true label*,
    the result is too low, and no formula of a and g applies: use a model of the truth,
    `models.symmetric_confusion` or `lehner`.

    Source: Cabitza et al. (2020), "The elephant in the machine", section 2 (example: a = .98 and g
    = .85 give .83) and Figure 9.

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

    result = broadcast(formula, system, truth, ("accuracy", "truth_accuracy"))
    return named(result, "actual_accuracy", "higher")


def probability_of_support(
    truth_accuracy: Any,
    accuracy: Any,
    required: float,
    *,
    errors: str = "product",
    n_labels: int = 2,
) -> xr.DataArray:
    r"""Probability that a ground truth is accurate enough for a claim about a system.

    .. math:: P(\text{actual accuracy} \ge r \mid \text{data})

    for a system with the accuracy a against this ground truth; with the product,
    :math:`P(a g \ge r)`.

    Parameters
    ----------
    truth_accuracy : DataArray
        Draws (chain, draw, ...) of the accuracy g of the ground truth: `truth_accuracy` of draws
        of `weighted_reliability`, or `majority_accuracy` of a model's accuracies.
    accuracy : DataArray, array or float
        The accuracy a of the system against the ground truth; may have draws.
    required : float
        The claimed or minimum acceptable accuracy r, above 0 and up to 1.
    errors : {"product", "independent"}
        As in `actual_accuracy`.
    n_labels : int
        As in `actual_accuracy`.

    Returns
    -------
    xarray.DataArray
        ``probability_of_support``, from 0 to 1, with the dims of both arguments except ``chain``
        and ``draw``. NaN if any draw is NaN.

    Notes
    -----
    The result is the share of draws that reach r (up to rounding, 1e-12 of r); its resolution is 1
    over the number of draws. The docstring of `truth_accuracy` gives the assumptions of its draws.

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
    claim = arguments.probability("required", required, allow_zero=False)
    draws = actual_accuracy(accuracy, truth_accuracy, errors, n_labels)
    if not (isinstance(draws, xr.DataArray) and set(SAMPLE) <= set(draws.dims) and draws.size):
        raise ArgumentError(
            "truth_accuracy",
            expected=f"draws, with dims {SAMPLE}",
            found=f"dims {getattr(draws, 'dims', ())}",
            hint="Pass the result of dissensus.truth_accuracy, from draws of a reliability",
        )
    undefined = draws.isnull().sum(SAMPLE)
    if bool((undefined > 0).any()):
        total = int(np.prod([draws.sizes[dim] for dim in SAMPLE]))
        warn_caller(
            f"Up to {int(undefined.max()):,} of {total:,} draws are undefined (NaN): the "
            "probability of support is then undefined too."
        )
    probability = (draws >= claim * (1 - _ROUNDING)).mean(SAMPLE).where(undefined == 0)
    return named(probability, "probability_of_support", "higher")
