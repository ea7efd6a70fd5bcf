"""Accuracy of systems and annotators, from the annotators' agreement alone (Lehner 2015)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus.data.alignment import labels_by_systems, systems_of
from dissensus.dims import BIN, COLUMN, ITEM, LABEL, SYSTEM
from dissensus.errors import shown, warn_caller
from dissensus.kernels.formulas import (
    AGREEMENT,
    BINS,
    ITEMS,
    PROBABILITY,
    Answers,
    accuracy_from,
    base_rates,
    binned_answers,
    corrected_agreement,
    guessed,
    truth_probabilities,
)
from dissensus.kernels.types import Flags, Floats, Ints, Names
from dissensus.kernels.votes import Votes, votes
from dissensus.statistics._chance import ONE_LABEL
from dissensus.statistics._read import codes_in, labels_of, read, rows_of
from dissensus.statistics._sums import SUMS, Matrix, Sums, Undefined, indicator

NO_LABELS: Final = "no item has two labels"
GUESSES: Final = (
    "annotators agree no more often than by guessing, 1 time in {n} with {n} labels; base rates, "
    "truth and the systems' accuracy are then unknown (the annotators' accuracy is estimated as "
    "1/{n})"
)
NO_ANSWERS: Final = "no item has a label and a prediction"
ALL_ALIKE: Final = (
    "the accuracy in a bin where all labels are equally probable does not depend on the "
    "system; the average is over the other bins"
)
COLUMNS: Final = ("probability", "items", "agreement", "accuracy")


def lehner(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    *,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.Dataset:
    r"""Accuracy of systems that may be better than the annotators, by Lehner's method.

    Each item has one true label, out of N. Every annotator is correct with the same probability
    :math:`P_c` on every item, and wrong labels are equally frequent. The method has four steps:

    .. math::

        P_c = \frac{1}{N} + \sqrt{\frac{(N - 1) P_a - \frac{N - 1}{N}}{N}}, \qquad
        \pi_k = \frac{(N - 1) f_k - 1 + P_c}{N P_c - 1}, \qquad
        \tau_{ik} \propto \pi_k P_c^{n_{ik}} \Bigl(\frac{1 - P_c}{N - 1}\Bigr)^{n_i - n_{ik}},

    with :math:`P_a` the share of pairs that agree, among all pairs of labels of the same item,
    :math:`f_k` the share of label k among all annotations, and :math:`n_{ik}` the number of labels
    k among the :math:`n_i` annotations of item i. Base rates :math:`\pi` are clipped to [0, 1] and
    scaled to a sum of 1. In the last step, items are put into bins (0, .1], ..., (.9, 1], by the
    probability :math:`\tau` of their most probable label. The mean of these probabilities in bin b
    is :math:`P_g`, and the system gives the most probable label for a share :math:`A_b` of the
    :math:`I_b` items of the bin:

    .. math:: P_b = \frac{(N - 1) A_b - 1 + P_g}{N P_g - 1}, \qquad
        P_s = \frac{\sum_b I_b P_b}{\sum_b I_b},

    each :math:`P_b` clipped to [0, 1].

    Parameters
    ----------
    annotations : Dataset
        Annotations: labels, not rankings or continuous numbers, in any number for each item. Every
        row counts, also a second label by the same annotator (``trial=``), since all annotators
        have the same accuracy. N is the size of the label space (``labels=``), used or not.
    predictions, weights
        As in `naive_accuracy`.
    on_missing : {"raise", "drop"}
        What to do about items without annotations or predictions. Items without predictions are
        still used for the annotators' accuracy and the base rates.

    Returns
    -------
    xarray.Dataset
        ``agreement`` :math:`P_a`, ``annotator_accuracy``, ``prevalence`` (label), which are the
        base rates, ``system_accuracy`` (system), ``bins`` (system, bin, column), and ``truth``
        (item, label), which is absent in `bayesian_bootstrap`. Columns of the bins are
        "probability" (:math:`P_g`), "items" (the sum of their weights), "agreement" and "accuracy",
        NaN in bins without items. ``system_accuracy`` is the mean over items of bins with
        :math:`P_g > 1/N`. Undefined values are NaN, with a warning that gives the reason.
        If annotators agree no more often than by guessing, :math:`P_a \leq 1/N`,
        ``annotator_accuracy`` is 1/N, as in the source, and the other variables are NaN. If all
        annotators agree except on items with (almost) no weight, the truth of these items is NaN.
        Predicted labels that annotators could not give are wrong, with a warning.

    Notes
    -----
    If some items are harder, or some wrong labels are more frequent, the estimated accuracy is too
    high; if annotators are not equally accurate, it is too low. Near :math:`P_a = 1/N` a small
    change of agreement is a large change of accuracy. Because every bin is clipped, the accuracy of
    a system that is nearly always correct is underestimated: with four equally frequent labels,
    three annotators of accuracy .6 and 2,000 items, the mean estimate for a system of accuracy .9
    is .86. `models.symmetric_confusion` has the same assumptions, but also uses the systems'
    predictions and has a posterior; `models.dawid_skene` needs fewer assumptions.

    If n labels are tied as the most probable, predicting one of these counts 1/n, the mean over
    random breaks of the tie (the source has no rule). A probability on the edge of two bins, up to
    rounding errors, is in the lower bin. The ``truth`` of items without labels is equal to the base
    rates, and these items do not count for systems.

    Errors in the source: Eq. 3 has 1 - P/(N - 1) in place of (1 - P)/(N - 1); in Table 4 the
    correct value for the bin .8 to .9 is .771, the last bin is .3 to .4, and in the bin .5 to .6
    the system agrees in 2 of 2 cases.

    Source: Lehner (2015), "Estimating the accuracy of automated classification systems using only
    expert ratings that are less accurate than the system", Eq. 2, 5 and 7 and Table 4.

    Examples
    --------
    Lehner's example: four raters label ten cases and are correct half of the time; the system is
    better.

    >>> import dissensus as dx
    >>> data = dx.datasets.load("lehner_table2")
    >>> result = dx.lehner(data.annotations, data.predictions)
    >>> result["annotator_accuracy"].item(), result["prevalence"].values.round(3).tolist()
    (0.5, [0.325, 0.25, 0.25, 0.175])
    >>> result["system_accuracy"].round(4).values
    array([0.7314])
    >>> result["bins"].sel(system="system", bin="(0.8, 0.9]").round(3).values
    array([0.849, 3.   , 0.667, 0.771])
    """
    patterns = _patterns_of(annotations, predictions, on_missing)
    result = _sums(patterns).value(weights)
    return result if weights is SUMS else result.assign(truth=_truth(patterns, result))


class _Patterns(NamedTuple):
    """A pattern is a set of items with the same labels; an answer is a prediction for a pattern."""

    items: Names
    labels: Names
    systems: Names
    votes: Votes
    """Labels by pattern; every row is a vote."""
    pattern: Ints
    """(item): the pattern of the item."""
    answers: Answers
    parts: tuple[Matrix, Matrix]
    """(item, pattern) and (item, answer): 1 for the item's pattern, and for each answer of a system
    to the item. All are 0 for items without labels."""
    tallies: sparse.csr_array
    """(pattern, tally): numbers of ordered pairs of labels, of pairs that differ, and of each
    label."""


def _patterns_of(annotations: Any, predictions: Any, on_missing: str) -> _Patterns:
    annotations = read(annotations, continuous=False)
    rows_of(annotations)  # raises for repeated labels without trial=
    items = annotations[ITEM].to_numpy()
    codes, labels = labels_of(annotations)
    systems = systems_of(annotations, predictions, on_missing)
    predicted = labels_by_systems(systems, labels)
    (item,) = codes_in(annotations, ITEM)
    by_pattern, pattern = votes(item, np.zeros_like(item), codes.astype(np.int64), len(items))
    n_patterns = len(by_pattern.start) - 1
    labelled = np.bincount(item, minlength=len(items)) > 0
    answer, answers, answered = _answers(pattern, labelled, predicted, n_patterns, len(labels))
    parts = (
        indicator(np.flatnonzero(labelled), pattern[labelled], (len(items), n_patterns)),
        indicator(answered, answer, (len(items), len(answers.label))),
    )
    tallies = _tallies(by_pattern, len(labels))
    return _Patterns(items, labels, systems.names, by_pattern, pattern, answers, parts, tallies)


def _answers(
    pattern: Ints, labelled: Flags, predicted: Ints, n_patterns: int, n_labels: int
) -> tuple[Ints, Answers, Ints]:
    """Return the answer of each prediction, all distinct answers, and the item of each prediction.

    Only predictions for labelled items are returned.
    """
    item, system = np.nonzero(labelled[:, None] & (predicted >= 0))
    # All labels outside the label space have the same code: no annotator agrees with them.
    label = np.minimum(predicted[item, system], n_labels)
    n_systems = predicted.shape[1]
    key = (pattern[item] * n_systems + system) * (n_labels + 1) + label
    known, answer = np.unique(key, return_inverse=True)
    rest, label = np.divmod(known, n_labels + 1)
    start = np.searchsorted(rest // n_systems, np.arange(n_patterns + 1))
    label = np.where(label == n_labels, -1, label)
    return answer, Answers(start.astype(np.int64), rest % n_systems, label), item


def _tallies(by_pattern: Votes, n_labels: int) -> sparse.csr_array:
    n = len(by_pattern.start) - 1
    pattern = np.repeat(np.arange(n), np.diff(by_pattern.start))
    times = by_pattern.times.astype(np.float64)
    total = np.bincount(pattern, times, n)
    pairs = total * (total - 1.0)
    same = np.bincount(pattern, times * (times - 1.0), n)
    labels = sparse.csr_array((times, (pattern, by_pattern.label)), shape=(n, n_labels))
    pair_counts = sparse.csr_array(np.stack([pairs, pairs - same], axis=1))
    return sparse.csr_array(sparse.hstack([pair_counts, labels]))


def _sums(patterns: _Patterns) -> Sums:
    n_labels, n_patterns = len(patterns.labels), len(patterns.votes.start) - 1

    def finish(totals: Floats, undefined: Undefined) -> dict[str, Floats]:
        counts, answered = totals[:, :n_patterns], totals[:, n_patterns:]
        tallies = np.asarray((patterns.tallies.T @ counts.T).T)
        agreement, accuracy, prevalence = _of_annotators(tallies, n_labels, undefined)
        bins = binned_answers(
            patterns.votes,
            patterns.answers,
            np.ascontiguousarray(answered),
            accuracy,
            prevalence,
            len(patterns.systems),
        )
        table, systems = _of_systems(bins[:, :, ::-1], n_labels, undefined)
        return {
            "agreement": agreement,
            "annotator_accuracy": accuracy,
            "prevalence": prevalence,
            "system_accuracy": systems,
            "bins": table,
        }

    edges = np.arange(BINS, 0, -1) / BINS  # highest first, as in the source's table
    names = np.array([f"({edge - 1 / BINS:.1f}, {edge:.1f}]" for edge in edges])
    dims = {"prevalence": (LABEL,), "system_accuracy": (SYSTEM,), "bins": (SYSTEM, BIN, COLUMN)}
    coords = {LABEL: patterns.labels, SYSTEM: patterns.systems, BIN: names}
    coords[COLUMN] = np.array(COLUMNS)
    return Sums("lehner", patterns.parts, finish, patterns.items, dims, coords)


def _of_annotators(
    tallies: Floats, n_labels: int, undefined: Undefined
) -> tuple[Floats, Floats, Floats]:
    """Return agreement and accuracy (set of weights), and base rates (set of weights, label)."""
    disagreement = undefined.divide(tallies[:, 1], tallies[:, 0], NO_LABELS)
    disagreement = undefined.where(
        np.full(len(disagreement), n_labels < 2), disagreement, ONE_LABEL
    )
    accuracy = accuracy_from(disagreement, n_labels)
    known = undefined.where(guessed(accuracy, n_labels), accuracy, GUESSES.format(n=n_labels))
    label_counts = tallies[:, 2:]
    share = label_counts / np.maximum(label_counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    rates, defined = np.full(share.shape, np.nan), ~np.isnan(known)
    rates[defined] = base_rates(share[defined], known[defined])
    return 1.0 - disagreement, accuracy, rates


def _of_systems(bins: Floats, n_labels: int, undefined: Undefined) -> tuple[Floats, Floats]:
    """Return the bins (set of weights, system, bin, column), and the accuracy of systems."""
    items, known = bins[..., ITEMS], ~np.isnan(bins[:, 0, 0, ITEMS])
    occupied = items > 0
    size = np.where(occupied, items, 1.0)
    probability = np.where(occupied, bins[..., PROBABILITY] / size, np.nan)
    agreement = np.where(occupied, bins[..., AGREEMENT] / size, np.nan)
    alike = occupied & guessed(np.where(occupied, probability, 1.0), n_labels)
    undefined.where(alike.any(axis=(1, 2)), np.zeros(len(bins)), ALL_ALIKE)
    usable = occupied & ~alike
    corrected = corrected_agreement(agreement, np.where(usable, probability, 1.0), n_labels)
    accuracy = np.where(usable, corrected, np.nan)
    table = np.stack([probability, items, agreement, accuracy], axis=-1)
    counted = np.where(usable, items, 0.0).sum(axis=2)
    total = np.where(usable, items * np.where(usable, accuracy, 0.0), 0.0).sum(axis=2)
    empty = known[:, None] & ~occupied.any(axis=2)
    average = np.where(counted > 0, total / np.where(counted > 0, counted, 1.0), np.nan)
    return table, undefined.where(empty, np.where(empty, 0.0, average), NO_ANSWERS)


def _truth(patterns: _Patterns, result: xr.Dataset) -> xr.DataArray:
    """Return the probability that each label is true, and warn where it is undefined."""
    accuracy, prevalence = float(result["annotator_accuracy"]), result["prevalence"].to_numpy()
    values: Floats = np.full((len(patterns.items), len(prevalence)), np.nan)
    if not np.isnan(prevalence).any():
        values = truth_probabilities(patterns.votes, accuracy, prevalence)[patterns.pattern]
        lacking = np.isnan(values).any(axis=1)
        if lacking.any():
            warn_caller(
                f"lehner: the truth of {shown(list(patterns.items[lacking]))} is undefined (NaN): "
                "annotators agree on all items with positive weight, but not on these."
            )
    coords = {ITEM: patterns.items, LABEL: patterns.labels}
    attrs = {"better": result["prevalence"].attrs["better"]}
    return xr.DataArray(values, coords, (ITEM, LABEL), name="truth", attrs=attrs)
