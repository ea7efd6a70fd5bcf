"""From the reliability of labels to the accuracy of the ground truth made of them."""

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
    r"""Accuracy of a majority vote, from the reliability of the labels it was made of.

    Annotators who are all right with probability p, all as confident, and err independently, have

    .. math:: \rho = \hat c^2 p^2, \qquad
        \sigma = \hat c^2 \left(p^2 + \frac{(1 - p)^2}{L - 1}\right), \qquad
        \hat c = \frac{c}{c + (1 - c)/L}

    with confidence c and L labels. This is solved for p, and `majority_accuracy` of p is returned.

    Parameters
    ----------
    reliability : DataArray, array or float
        Draws of `weighted_reliability` (rho), or of another ``measure``, in [0, 1].
    n_annotators : int, sequence of int, or DataArray
        How many annotators vote on an item. Several numbers add a dim ``annotator``; with 1, it
        is p itself.
    n_labels : int
        How many labels there are, L.
    confidence : float
        How confident annotators are of a label, above 0 and up to 1. Take 1 if they were not
        asked, as the reliability does then.
    measure : {"weighted_reliability", "concordance"}
        What the reliability is. With confidence 1 a concordance is the share of pairs that agree,
        `percent_agreement`.

    Returns
    -------
    xarray.DataArray, array or float
        ``truth_accuracy``, from 0 to 1, with the dims of ``reliability`` and (annotator) or those
        of ``n_annotators``. NaN where no such annotators have that reliability: above
        :math:`\hat c^2`, or with a concordance below :math:`\hat c^2 / L`, where they agree less
        often than by chance.

    Raises
    ------
    ArgumentError
        If a reliability or the confidence is out of bounds, there is no such measure, or numbers
        of annotators or labels are none.

    Notes
    -----
    The reliability of pairs alone does not say how accurate their majority is; the annotators
    described above are the assumption that links the two. If accuracies differ (between annotators,
    or items), the same rho goes with a majority that is less often right, most of all where
    some items are hard for everybody. Where a model gives accuracies by annotator and item, average
    `majority_accuracy` of them over items instead. With more than two labels rho is the one
    with ``errors="uniform"``; with two there is no difference.

    Figure 9 of the source draws this relation without saying for how many annotators. Its reading
    (systems scored .95, .90 and .85 lose about 6 points at :math:`\rho = .67`, and
    :math:`\rho \sim .7` goes with a truth that is 95 % accurate) is what five annotators give
    with ``measure="concordance"``: 6.3, 6.0 and 5.7 points, and .954. With rho as the source
    defines it, three confident annotators lose 8.4 to 7.5 points, and five 4.4 to 3.9; three with
    a confidence of .93 lose 6.0 to 5.3.

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
