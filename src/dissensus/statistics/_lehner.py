"""Accuracy of systems and annotators from annotators' agreement alone."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.dims import BIN, COLUMN, ITEM, LABEL, SYSTEM
from dissensus.errors import shown, warn_caller
from dissensus.kernels.formulas import (
    AGREEMENT,
    BINS,
    ITEMS,
    PROBABILITY,
    accuracy_from,
    base_rates,
    binned_answers,
    corrected_agreement,
    guessed,
    truth_probabilities,
)
from dissensus.kernels.types import Floats
from dissensus.statistics._chance import ONE_LABEL
from dissensus.statistics._sums import Doubts, Sums
from dissensus.statistics._truth import AnswerPatterns, answer_patterns

NO_LABELS: Final = "no item has two labels"
GUESSES: Final = (
    "annotators agree no more often than guesses would, 1 time in {} with {} labels, so that base "
    "rates, truth and the systems' accuracy are unknown (their own accuracy comes out as 1/{})"
)
NO_ANSWERS: Final = "no item has a label and a prediction"
ALL_ALIKE: Final = (
    "the accuracy in a bin where all labels are equally probable, which says nothing of a system; "
    "the average is over its other bins"
)
COLUMNS: Final = ("probability", "items", "agreement", "accuracy")


def lehner(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    *,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.Dataset:
    r"""Accuracy of systems that may be better than the annotators, by Lehner's algebra.

    Each item has one true label of N. Every annotator is right with the same probability
    :math:`P_c` on every item, and else gives any wrong label equally often. Four steps:

    .. math::

        P_c = \frac{1}{N} + \sqrt{\frac{(N - 1) P_a - \frac{N - 1}{N}}{N}}, \qquad
        \pi_k = \frac{(N - 1) f_k - 1 + P_c}{N P_c - 1}, \qquad
        \tau_{ik} \propto \pi_k P_c^{n_{ik}} \Bigl(\frac{1 - P_c}{N - 1}\Bigr)^{n_i - n_{ik}},

    with :math:`P_a` the share of pairs of labels of one item that agree, all pairs of all items
    pooled, :math:`f_k` the share of label k among all labels, and :math:`n_{ik}` how often item i
    was given it; base rates :math:`\pi` are clipped to [0, 1] and brought to a sum of 1. Last,
    items are sorted by the probability of the leading label into bins (0, .1], ..., (.9, 1]. If
    that is :math:`P_g` on average in bin b, and the system gives the leading label in a share
    :math:`A_b` of its :math:`I_b` items,

    .. math:: P_b = \frac{(N - 1) A_b - 1 + P_g}{N P_g - 1}, \qquad
        P_s = \frac{\sum_b I_b P_b}{\sum_b I_b},

    each :math:`P_b` clipped to [0, 1].

    Parameters
    ----------
    annotations : Dataset
        Annotations: labels, not rankings or numbers on a scale, as many for each item as there
        are. Every row is a label of its own, also the second of one annotator (``trial=``), as
        annotators are all alike here. N is the number of labels of the label space (``labels=``),
        also of those nobody gave.
    predictions : Dataset
        One label from each system and item.
    on_missing : {"raise", "drop"}
        What to do about items that only one side has. Those without predictions tell of the
        annotators and base rates all the same.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.Dataset
        ``agreement`` of two labels of an item, ``annotator_accuracy``, ``prevalence`` (label), the
        base rates, ``system_accuracy`` (system), ``bins`` (system, bin, column), and ``truth``
        (item, label). Columns of the bins are "probability" (of the leading label, mean), "items"
        (the sum of their weights), "agreement" and "accuracy"; without items they are NaN. In
        `bayesian_bootstrap` all but ``truth``.

    Raises
    ------
    AnnotationError, PredictionError
        If these are no labels, or items differ.
    ArgumentError
        If the weights are none.

    Warns
    -----
    DissensusWarning
        Where something is undefined, and NaN: no item has two labels; annotators agree no more
        often than guesses would, :math:`P_a \leq 1/N` (``annotator_accuracy`` is 1/N then, as in
        the source, all that follows NaN); all labels of a bin are equally probable; no item has a
        label and a prediction; all agree but on items of (next to) no weight, whose truth cannot
        be told then. If systems predict labels that annotators could not give: these are misses.

    Notes
    -----
    It misleads where its assumptions do not hold. Where some items are harder, or errors go to
    some labels more than to others, annotators agree more than alike ones of their accuracy would,
    and it comes out too high; where annotators are unequal, too low. It also misleads with few
    items: near :math:`P_a = 1/N` a small change of agreement is a large one of accuracy, and
    clipping every bin makes a system that is nearly always right look worse, most of all where
    labels are equally frequent: bins of items whose annotators all differ are next to noise. With
    four such labels and three annotators of .6, a system of .9 is .86 on average at 2,000 items.
    ``dissensus.models.symmetric_confusion`` has the same assumptions, takes the systems' answers
    for evidence too and has a posterior; ``dissensus.models.dawid_skene`` does without them.

    Where n labels lead, a system that gives one of them agrees in 1/n of an item: what it would
    on average if ties were broken at random (the source names no rule). A probability on the edge
    of two bins, up to rounding, is in the lower one. Items without labels have the base rates for
    truth, and do not count for systems.

    Slips in print: Eq. 3 has 1 - P/(N - 1) for (1 - P)/(N - 1); in Table 4 the bin .8 to .9 is .771
    and not .776, the last bin is .3 to .4, and in .5 to .6 the system agrees in 2 of 2 cases
    (accuracy 1). The printed average, .731, is right.

    Source: Lehner (2015), "Estimating the accuracy of automated classification systems using only
    expert ratings that are less accurate than the system", Eq. 2, 5 and 7 and Table 4.

    Examples
    --------
    Lehner's own: four raters of ten cases, right half of the time, and a system better than they.

    >>> import dissensus as dx
    >>> data = dx.datasets.load("lehner_table2")
    >>> found = dx.lehner(data.annotations, data.predictions)
    >>> found["annotator_accuracy"].item(), found["prevalence"].values.round(3).tolist()
    (0.5, [0.325, 0.25, 0.25, 0.175])
    >>> found["system_accuracy"].round(4).values
    array([0.7314])
    >>> found["bins"].sel(system="system", bin="(0.8, 0.9]").round(3).values
    array([0.849, 3.   , 0.667, 0.771])
    """
    patterns = answer_patterns(annotations, predictions, on_missing)
    found: xr.Dataset = _sums(patterns).value(weights)
    return found.assign(truth=_truth(patterns, found))


def sums(annotations: xr.Dataset, predictions: xr.Dataset, *, on_missing: str = "raise") -> Sums:
    """Prepare it as a function of sums over items: how many have each pattern and answer."""
    return _sums(answer_patterns(annotations, predictions, on_missing))


def _sums(patterns: AnswerPatterns) -> Sums:
    n_labels, n_patterns = len(patterns.labels), len(patterns.votes.start) - 1

    def finish(totals: Floats, doubts: Doubts) -> dict[str, Floats]:
        counts, answered = totals[:, :n_patterns], totals[:, n_patterns:]
        tallies = np.asarray((patterns.tallies.T @ counts.T).T)
        agreement, accuracy, prevalence = _of_annotators(tallies, n_labels, doubts)
        bins = binned_answers(
            patterns.votes, patterns.answers, np.ascontiguousarray(answered), accuracy,
            prevalence, len(patterns.systems),
        )  # fmt: skip
        table, systems = _of_systems(bins[:, :, ::-1], n_labels, doubts)
        return {
            "agreement": agreement,
            "annotator_accuracy": accuracy,
            "prevalence": prevalence,
            "system_accuracy": systems,
            "bins": table,
        }

    edges = np.arange(BINS, 0, -1) / BINS  # from the top, as in the source's table
    names = np.array([f"({edge - 1 / BINS:.1f}, {edge:.1f}]" for edge in edges])
    dims = {"prevalence": (LABEL,), "system_accuracy": (SYSTEM,), "bins": (SYSTEM, BIN, COLUMN)}
    coords = {LABEL: patterns.labels, SYSTEM: patterns.systems, BIN: names}
    coords[COLUMN] = np.array(COLUMNS)
    return Sums("lehner", patterns.parts, finish, patterns.items, dims, coords)


def _of_annotators(tallies: Floats, n_labels: int, doubts: Doubts) -> tuple[Floats, Floats, Floats]:
    """Return agreement, accuracy (set of weights) and base rates (set of weights, label)."""
    apart = doubts.divided(tallies[:, 1], tallies[:, 0], NO_LABELS)
    apart = doubts.where(np.full(len(apart), n_labels < 2), apart, ONE_LABEL)
    accuracy = accuracy_from(apart, n_labels)
    unknown = guessed(accuracy, n_labels)
    why = GUESSES.format(n_labels, n_labels, n_labels)
    safe = doubts.where(unknown, accuracy, why)
    given = tallies[:, 2:]
    share = given / np.maximum(given.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    rates, known = np.full(share.shape, np.nan), ~np.isnan(safe)
    rates[known] = base_rates(share[known], safe[known])
    return 1.0 - apart, accuracy, rates


def _of_systems(bins: Floats, n_labels: int, doubts: Doubts) -> tuple[Floats, Floats]:
    """Return the table of bins (set of weights, system, bin, column), and each average."""
    items, known = bins[..., ITEMS], ~np.isnan(bins[:, 0, 0, ITEMS])
    some = items > 0
    size = np.where(some, items, 1.0)
    probability = np.where(some, bins[..., PROBABILITY] / size, np.nan)
    agreement = np.where(some, bins[..., AGREEMENT] / size, np.nan)
    alike = some & guessed(np.where(some, probability, 1.0), n_labels)
    doubts.where(alike.any(axis=(1, 2)), np.zeros(len(bins)), ALL_ALIKE)
    usable = some & ~alike
    accuracy = np.where(
        usable, corrected_agreement(agreement, np.where(usable, probability, 1.0), n_labels), np.nan
    )
    table = np.stack([probability, items, agreement, accuracy], axis=-1)
    counted = np.where(usable, items, 0.0).sum(axis=2)
    total = np.where(usable, items * np.where(usable, accuracy, 0.0), 0.0).sum(axis=2)
    none = known[:, None] & ~some.any(axis=2)
    average = np.where(counted > 0, total / np.where(counted > 0, counted, 1.0), np.nan)
    return table, doubts.where(none, np.where(none, 0.0, average), NO_ANSWERS)


def _truth(patterns: AnswerPatterns, found: xr.Dataset) -> xr.DataArray:
    """Return the probability that each label is the true one, and say where it is unknown."""
    accuracy, prevalence = float(found["annotator_accuracy"]), found["prevalence"].to_numpy()
    values: npt.NDArray[np.float64] = np.full((len(patterns.items), len(prevalence)), np.nan)
    if not np.isnan(prevalence).any():
        values = truth_probabilities(patterns.votes, accuracy, prevalence)[patterns.pattern]
        lacking = np.isnan(values).any(axis=1)
        if lacking.any():
            warn_caller(
                f"lehner: the truth of {shown(list(patterns.items[lacking]))} is undefined (NaN): "
                "annotators agree on all items of any weight, and differ on these."
            )
    coords = {ITEM: patterns.items, LABEL: patterns.labels}
    attrs = {"better": found["prevalence"].attrs["better"]}
    return xr.DataArray(values, coords, (ITEM, LABEL), name="truth", attrs=attrs)
