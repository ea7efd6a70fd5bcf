"""The accuracy of a ground truth, from the reliability of its labels."""

from __future__ import annotations

from typing import Any

import xarray as xr

from dissensus import arguments
from dissensus.kernels.formulas import accuracy_from_concordance, accuracy_from_rho
from dissensus.metrics._actual_accuracy import label_count, named, one_number, shares
from dissensus.metrics._majority_accuracy import alike

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

    Annotators who are right with probability p, equally confident, and err independently, have

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
        The annotators' confidence, above 0 and up to 1. Use 1 if there is none, as the reliability
        does.
    measure : {"weighted_reliability", "concordance"}
        The kind of reliability. With confidence 1 a concordance is `percent_agreement`.

    Returns
    -------
    xarray.DataArray, array or float
        ``truth_accuracy``, from 0 to 1, with the dims of ``reliability`` and (annotator) or those
        of ``n_annotators``. NaN where no such annotators have the reliability: above
        :math:`\hat c^2`, or with a concordance below :math:`\hat c^2 / L`, which is
        less agreement than by chance.

    Raises
    ------
    ArgumentError
        If a reliability or the confidence is out of bounds, ``measure`` is unknown, or
        numbers of annotators or labels are invalid.

    Notes
    -----
    The assumptions above link the reliability of pairs to the accuracy of a majority. If accuracies
    differ between annotators or items, the majority is less often right for the same rho, most of
    all where some items are hard for everybody. With a model of accuracies by annotator and item,
    average `majority_accuracy` over items instead. With more than two labels rho must have
    ``errors="uniform"``; with two there is no difference.

    Figure 9 of the source shows this relation for an unstated number of annotators. Its values
    (systems scored .95, .90 and .85 lose about 6 points at :math:`\rho = .67`, and
    :math:`\rho \sim .7` is a truth that is 95 % accurate) are those of five annotators with
    ``measure="concordance"``: 6.3, 6.0 and 5.7 points, and .954. With rho as the source defines
    it, three confident annotators lose 8.4 to 7.5 points, and five 4.4 to 3.9; three with a
    confidence of .93 lose 6.0 to 5.3.

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
    sure = one_number(
        "confidence", confidence, "a number above 0, up to 1", lambda x: (x > 0) & (x <= 1)
    )
    genuine = sure / (sure + (1 - sure) / labels)
    if measure == "concordance":
        right = xr.apply_ufunc(accuracy_from_concordance, values, genuine, labels)
    else:
        right = xr.apply_ufunc(accuracy_from_rho, values, genuine)
    return named(alike(right, n_annotators, labels), "truth_accuracy", "higher")
