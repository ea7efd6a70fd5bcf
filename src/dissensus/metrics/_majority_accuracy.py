"""The accuracy of a majority vote, from accuracies or from the reliability of labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR
from dissensus.errors import ArgumentError
from dissensus.kernels.formulas import accuracy_from_concordance, accuracy_from_rho
from dissensus.kernels.majority import MOST, annotators_for_target, majority_alike, majority_unlike
from dissensus.kernels.types import Floats
from dissensus.metrics._actual_accuracy import (
    WHOLE,
    Numbers,
    along_annotators,
    broadcast,
    is_whole,
    label_count,
    named,
    numbers,
    shares,
)

_ACCURACIES = "accuracies of annotators, from 0 to 1"


def majority_accuracy(n_annotators: Any, accuracy: Any, n_labels: int = 2) -> Any:
    r"""Probability that the majority label is the true label.

    .. math:: \sum_{x} P(X = x) \, E\left[\frac{[M_x \le x]}{1 + T_x}\right]

    where :math:`X` is the number of annotators who are right (binomial, or Poisson binomial for
    unequal accuracies). Given x right votes, :math:`M_x` is the largest number of votes for a wrong
    label, and :math:`T_x` is the number of wrong labels with x votes. Ties are broken at random.

    Parameters
    ----------
    n_annotators : int, sequence of int, DataArray or None
        Number of annotators of an item, at most 999 with more than two labels. Several numbers add
        a dim ``annotator``. A DataArray keeps its dims. None: the number of accuracies.
    accuracy : float, sequence of float, or DataArray
        How often an annotator is right. One number if all annotators are equally accurate; or one
        number for each annotator, in a DataArray with a dim ``annotator``, or along the last axis
        of a sequence or array. In a DataArray without that dim, such as draws, each number is for
        equally accurate annotators.
    n_labels : int
        Number of labels. Errors are equally frequent.

    Returns
    -------
    xarray.DataArray, array or float
        ``majority_accuracy``, from 0 to 1, with the dims of both arguments except the dim of
        annotators' accuracies; a float or an array if neither is a DataArray.

    Notes
    -----
    The result is exact, without simulation. If annotators are equally accurate and better than
    chance, the accuracy never decreases with their number; with two labels, an even number of them
    is as good as the next lower odd number.

    Annotators are assumed to err independently. If they share mistakes, or some items are hard for
    all, the majority is less often right: see `evaluate`, or pass accuracies by item (annotator,
    item) and average over items.

    Source: Condorcet (1785); Cabitza et al. (2020), "The elephant in the machine", Figures 1-3.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> dx.majority_accuracy([3, 5, 7, 9], 0.85).round(3)
    array([0.939, 0.973, 0.988, 0.994])
    >>> round(dx.majority_accuracy(None, [0.9, 0.8, 0.7]), 3)
    0.902
    >>> draws = xr.DataArray([[0.8, 0.9]], dims=("chain", "draw"))
    >>> dx.majority_accuracy(3, draws, n_labels=4).values.round(3)
    array([[0.917, 0.978]])
    """
    right, labels = shares("accuracy", accuracy, _ACCURACIES), label_count(n_labels)
    if not _of_each(n_annotators, right):
        return named(alike(right, n_annotators, labels), "majority_accuracy", "higher")
    count = right.sizes[ANNOTATOR] if isinstance(right, xr.DataArray) else right.shape[-1]
    _check_count(n_annotators, count)
    _check_most(np.asarray(count), labels)
    last = [[ANNOTATOR]] if isinstance(right, xr.DataArray) else [[]]
    result = xr.apply_ufunc(partial(majority_unlike, n_labels=labels), right, input_core_dims=last)
    return named(result, "majority_accuracy", "higher")


def annotators_for_truth(accuracy: Any, target: float = 0.95, n_labels: int = 2) -> Any:
    r"""Find the number of annotators whose majority vote has a target accuracy.

    The smallest n with ``majority_accuracy(n, accuracy, n_labels)`` of at least the target. With
    two labels n is odd, since one more annotator only adds ties.

    Parameters
    ----------
    accuracy : DataArray, array or float
        Accuracy of each annotator.
    target : float
        The target, between 0 and 1.
    n_labels : int
        As in `majority_accuracy`.

    Returns
    -------
    xarray.DataArray, array or float
        ``annotators_for_truth``, whole numbers, with the dims of ``accuracy``. Infinity where
        annotators are not better than chance (1 / n_labels), or where more than 2^50 annotators
        (two labels) or 999 (more labels) would be needed.

    Notes
    -----
    A target counts as reached up to rounding (1e-12 of the target). Draws are skewed and may be
    infinite: use quantiles, or the share of draws within the budget, not the mean. The assumptions
    are those of `majority_accuracy`: with shared mistakes, some targets cannot be reached.

    Source: Cabitza et al. (2020), "The elephant in the machine", Figure 1.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> dx.annotators_for_truth(0.85), dx.annotators_for_truth(0.85, n_labels=4)
    (5.0, 3.0)
    >>> draws = xr.DataArray([[0.7, 0.9, 0.5]], dims=("chain", "draw"), name="accuracy")
    >>> dx.annotators_for_truth(draws, target=0.9).values
    array([[ 9.,  1., inf]])
    """
    goal = arguments.probability("target", target, allow_zero=False, allow_one=False)
    right, labels = shares("accuracy", accuracy, _ACCURACIES), label_count(n_labels)
    needed = partial(annotators_for_target, target=goal, n_labels=labels)
    return named(xr.apply_ufunc(needed, right), "annotators_for_truth", "lower")


def alike(accuracy: Numbers, n_annotators: Any, n_labels: int) -> Any:
    """Return the accuracy of the majority of equally accurate annotators."""
    size = numbers("n_annotators", n_annotators, WHOLE, lambda x: is_whole(x) & (x >= 1))
    _check_most(np.asarray(size), n_labels)
    size = along_annotators("n_annotators", n_annotators, size, accuracy)
    formula = partial(_by_size, n_labels=n_labels)
    return broadcast(formula, accuracy, size, ("accuracy", "n_annotators"))


def _by_size(accuracy: Floats, size: Floats, n_labels: int) -> Floats:
    p, n = np.broadcast_arrays(accuracy, size)
    out = np.empty(p.shape)
    for number in np.unique(n):
        out[n == number] = majority_alike(p[n == number], int(number), n_labels)
    return out


def _of_each(n_annotators: Any, accuracy: Numbers) -> bool:
    """Return whether accuracies are by annotator; raise if the number of annotators is unknown."""
    each = ANNOTATOR in accuracy.dims if isinstance(accuracy, xr.DataArray) else accuracy.ndim > 0
    if n_annotators is None and not each:
        raise ArgumentError(
            "n_annotators",
            expected=WHOLE,
            found="None",
            hint="Without it, accuracy must have one number for each annotator",
        )
    return each


def _check_count(n_annotators: Any, count: int) -> None:
    if n_annotators is not None:
        size = numbers("n_annotators", n_annotators, WHOLE, lambda x: is_whole(x) & (x >= 1))
    if count == 0 or (n_annotators is not None and not (size.ndim == 0 and int(size) == count)):
        raise ArgumentError(
            "accuracy",
            expected="one number for each annotator"
            + ("" if n_annotators is None else f", as n_annotators is {n_annotators}"),
            found=f"{count} numbers",
            hint="For several panels of equally accurate annotators, use a DataArray without a dim "
            f"{ANNOTATOR!r}",
        )


def _check_most(size: Any, n_labels: int) -> None:
    # With two labels the accuracy is a binomial tail, which is fast for any number of annotators.
    if n_labels > 2 and size.size and size.max() > MOST:
        raise ArgumentError(
            "n_annotators",
            expected=f"at most {MOST} with more than two labels",
            found=f"{size.max():.0f}",
        )


_MEASURES = ("weighted_reliability", "concordance")


def truth_accuracy(
    reliability: Any,
    n_annotators: Any,
    n_labels: int = 2,
    *,
    confidence: float = 1.0,
    measure: str = "weighted_reliability",
) -> Any:
    r"""Accuracy of a majority vote, from the reliability of its labels.

    If annotators are right with probability p, are equally confident, and err independently, then

    .. math:: \rho = \hat c^2 p^2, \qquad
        \sigma = \hat c^2 \left(p^2 + \frac{(1 - p)^2}{L - 1}\right), \qquad
        \hat c = \frac{c}{c + (1 - c)/L}

    with confidence c and L labels. The result is `majority_accuracy` of the solution p.

    Parameters
    ----------
    reliability : DataArray, array or float
        Draws of `weighted_reliability` (rho), or of another ``measure``, in [0, 1].
    n_annotators : int, sequence of int, or DataArray
        Number of annotators who vote on an item. Several numbers add a dim ``annotator``; with 1,
        the result is p.
    n_labels : int
        Number of labels L.
    confidence : float
        The annotators' confidence, above 0 and up to 1. Use 1 if annotations have no confidence.
    measure : {"weighted_reliability", "concordance"}
        The kind of reliability. With confidence 1 a concordance is `percent_agreement`.

    Returns
    -------
    xarray.DataArray, array or float
        ``truth_accuracy``, from 0 to 1, with the dims of ``reliability`` and (annotator) or those
        of ``n_annotators``. NaN where no p gives the reliability: above :math:`\hat c^2`, or with a
        concordance below :math:`\hat c^2 / L`, which is less agreement than by chance.

    Notes
    -----
    The assumptions above link the reliability of pairs to the accuracy of a majority. If accuracies
    differ between annotators or items, the majority is less often right for the same rho, above all
    if some items are hard for all annotators. With a model of accuracies by annotator and item,
    average `majority_accuracy` over items instead. With more than two labels, compute rho with
    ``errors="uniform"``; with two labels there is no difference.

    Figure 9 of the source does not give the number of annotators. Its values (systems with scores
    of .95, .90 and .85 lose about 6 points at :math:`\rho = .67`) are correct for five annotators
    with ``measure="concordance"``: 6.3, 6.0 and 5.7 points. With rho as the source defines it,
    three confident annotators lose 8.4 to 7.5 points, and five 4.4 to 3.9.

    Source: Cabitza et al. (2020), "The elephant in the machine", Figures 4 and 9.

    Examples
    --------
    >>> import dissensus as dx, xarray as xr
    >>> dx.truth_accuracy(2 / 3, [1, 3, 5]).round(3)
    array([0.816, 0.911, 0.954])
    >>> draws = xr.DataArray([[0.65, 0.7]], dims=("chain", "draw"), name="weighted_reliability")
    >>> dx.truth_accuracy(draws, 5).values.round(3)
    array([[0.947, 0.966]])
    """
    arguments.one_of("measure", measure, _MEASURES)
    values = shares("reliability", reliability, f"draws of {measure}, from 0 to 1")
    labels = label_count(n_labels)
    sure = arguments.probability("confidence", confidence, allow_zero=False)
    genuine = sure / (sure + (1 - sure) / labels)
    if measure == "concordance":
        right = xr.apply_ufunc(accuracy_from_concordance, values, genuine, labels)
    else:
        right = xr.apply_ufunc(accuracy_from_rho, values, genuine)
    return named(alike(right, n_annotators, labels), "truth_accuracy", "higher")
