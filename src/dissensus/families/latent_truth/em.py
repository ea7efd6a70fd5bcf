"""Dawid and Skene's EM: the maximum likelihood of a latent truth.

Maximum likelihood of a latent truth with a confusion matrix for each annotator: EM.
Given how probable each label is to be true of each pattern of labels, prevalences and error rates
are shares of labels (Dawid and Skene 1979, Eqs. 2.3 and 2.4); given these, the truth follows by
Bayes' rule (2.5). The two in turn never lower the likelihood.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.rows import label_counts, statements_per
from dissensus.dims import ANNOTATOR, ITEM, LABEL, RESPONSE
from dissensus.errors import ArgumentError, ConvergenceWarning, brief
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.kernels.votes import Votes, votes
from dissensus.sampling import fitting


class Estimate(NamedTuple):
    """Where EM stopped: the truth and the likelihood are those under the parameters."""

    prevalence: Floats
    """(label)"""
    confusion: Floats
    """How probable a response is where a label is true (voice, response, label)."""
    truth: Floats
    """How probable each label is to be true (pattern, label)."""
    log_likelihood: float
    objective: float
    """What was made as large as possible: with smoothing, more than the log-likelihood."""
    iterations: int
    converged: bool


@kernel
def climb(
    votes: Votes, truth: Floats, n_voices: int, smoothing: float, iterations: int, tolerance: float
) -> Estimate:
    r"""Go up from a first guess of the truth until the objective hardly rises.

    The objective is the log-likelihood :math:`\sum_i \log \sum_z \pi_z \prod_v C_{v z y}` (no
    multinomial constants), plus the smoothing times the sum of the logarithms of all
    :math:`\pi_z` and :math:`C_{vzy}`.

    Parameters
    ----------
    votes : Votes
        Labels by pattern; none without a label.
    truth : array (pattern, label)
        The first guess, rows that sum to 1. It is not written over.
    n_voices : int
    smoothing : float
        Count added to every label, of the prevalence and of each row of each confusion matrix.
    iterations : int
        Give up after so many; at least 1.
    tolerance : float
        Stop when an iteration adds no more than this to the objective.

    Returns
    -------
    Estimate

    Examples
    --------
    Two voices who are always of one mind, about three items:

    >>> from dissensus.kernels.votes import votes
    >>> one = np.array([0, 1, 0])
    >>> found, pattern = votes(np.arange(6) % 3, np.repeat([0, 1], 3), np.tile(one, 2), 3)
    >>> best = climb(found, np.array([[0.9, 0.1], [0.2, 0.8]])[one[[0, 1]]], 2, 0.0, 100, 1e-9)
    >>> best.prevalence.round(3), round(best.log_likelihood, 6) == round(
    ...     2 * math.log(2 / 3) + math.log(1 / 3), 6)
    (array([0.667, 0.333]), True)
    """
    n_labels = truth.shape[1]
    truth = truth.copy()
    prevalence = np.empty(n_labels)
    confusion = np.empty((n_voices, n_labels, n_labels))
    log_prevalence, log_confusion = np.empty(n_labels), np.empty(confusion.shape)
    value, before, rounds, converged = -np.inf, -np.inf, 0, False
    while rounds < iterations and not converged:
        rounds += 1
        _shares(votes, truth, smoothing, prevalence, confusion)
        penalty = _log(prevalence, log_prevalence, smoothing)
        penalty += _log(confusion.ravel(), log_confusion.ravel(), smoothing)
        value = _weigh(votes, log_prevalence, log_confusion, truth)
        converged = value + penalty - before <= tolerance
        before = value + penalty
    return Estimate(prevalence, confusion, truth, value, before, rounds, converged)


@kernel
def labels_given(votes: Votes, truth: Floats, n_voices: int) -> Floats:
    """Count the labels of each voice by what is true: (voice, response, label)."""
    given = np.zeros((n_voices, truth.shape[1], truth.shape[1]))
    _count(votes, truth, given)
    return given


@inner
def _count(votes: Votes, truth: Floats, given: Floats) -> None:
    for p in range(len(votes.n_items)):
        for entry in range(votes.start[p], votes.start[p + 1]):
            v, y = votes.voice[entry], votes.label[entry]
            times = votes.times[entry] * votes.n_items[p]
            for z in range(truth.shape[1]):
                given[v, y, z] += times * truth[p, z]


@inner
def _shares(
    votes: Votes, truth: Floats, smoothing: float, prevalence: Floats, confusion: Floats
) -> None:
    """Write prevalences and error rates as shares of labels.

    A label that is never true of what a voice labelled leaves a row of that voice open: any
    gives the same value, and it is made flat, so that the row does not pretend to know.
    """
    n_labels = len(prevalence)
    prevalence[:] = smoothing
    for p in range(len(votes.n_items)):
        for z in range(n_labels):
            prevalence[z] += votes.n_items[p] * truth[p, z]
    total = 0.0
    for z in range(n_labels):
        total += prevalence[z]
    for z in range(n_labels):
        prevalence[z] /= total
    confusion[:] = smoothing
    _count(votes, truth, confusion)
    for v in range(len(confusion)):
        for z in range(n_labels):
            total = 0.0
            for y in range(n_labels):
                total += confusion[v, y, z]
            for y in range(n_labels):
                confusion[v, y, z] = confusion[v, y, z] / total if total > 0 else 1 / n_labels


@inner
def _log(values: Floats, out: Floats, smoothing: float) -> float:
    """Write logarithms, of 0 too, and return their sum times the smoothing."""
    total = 0.0
    for place, value in enumerate(values):
        out[place] = math.log(value) if value > 0 else -np.inf
        if smoothing > 0:  # without it 0 times -inf would be no number
            total += smoothing * out[place]
    return total


@inner
def _weigh(votes: Votes, log_prevalence: Floats, log_confusion: Floats, truth: Floats) -> float:
    """Write how probable each label is to be true, and return the log-likelihood.

    A label that cannot be true has the logarithm -inf and gets exactly 0. Some label can be: the
    one by which the shares were counted.
    """
    value = 0.0
    for p in range(len(votes.n_items)):
        weight = truth[p]
        for z in range(len(weight)):
            weight[z] = log_prevalence[z]
        for entry in range(votes.start[p], votes.start[p + 1]):
            v, y, times = votes.voice[entry], votes.label[entry], votes.times[entry]
            for z in range(len(weight)):
                weight[z] += times * log_confusion[v, y, z]
        high, total = -math.inf, 0.0
        for z in range(len(weight)):
            high = max(high, weight[z])
        for z in range(len(weight)):
            weight[z] = math.exp(weight[z] - high)
            total += weight[z]
        for z in range(len(weight)):
            weight[z] /= total
        value += votes.n_items[p] * (high + math.log(total))
    return value


# Maximum likelihood of a latent truth, from annotations: Dawid and Skene's EM.


KINDS: Final = ("nominal", "ordinal")
_START: Final = "start"
_STARTS: Final = ("votes", "random")


def em(
    annotations: xr.Dataset,
    *,
    start: str = "votes",
    starts: int = 1,
    iterations: int = 1000,
    tolerance: float = 1e-8,
    smoothing: float = 0.0,
    random_seed: Any = None,
) -> xr.Dataset:
    r"""Find prevalences and error rates under which the labels are most probable.

    .. math:: \log L = \sum_i \log \sum_z \pi_z \prod_{(j, y) \in i} C_{j z y}

    over the labels y that annotators j gave item i: the EM algorithm of Dawid and Skene (1979),
    the deterministic counterpart of the model `dawid_skene`. It has no prior and no draws, and
    says nothing of its own uncertainty. With few labels for each annotator the likelihood has
    several maxima, some of them with error rates of exactly 0 and 1; which one is found depends
    on the start, and the highest need not be the one to believe.

    Parameters
    ----------
    annotations : xarray.Dataset
        Labels, nominal or ordinal. Repeated labels by one annotator count each as a label.
    start : {"votes", "random"}
        The first guess of an item's truth: the shares of its labels, or a draw from
        Dirichlet(1 + its counts of labels), in which every label has a chance and keeps its name.
    starts : int
        How many random starts to try; the best one is returned.
    iterations : int
        How many to give up after, with a warning.
    tolerance : float
        Stop when an iteration adds no more than this to the log-likelihood; >= 0.
    smoothing : float
        Count added to every label, of the prevalence and of each row of each confusion matrix;
        >= 0. Above 0 this is the posterior mode under Dirichlet(1 + smoothing) priors, and it is
        the log posterior density that rises.
    random_seed : int or numpy.random.Generator, optional
        Makes random starts repeatable.

    Returns
    -------
    xarray.Dataset
        ``prevalence`` (label)
            How probable each label is to be true of an item.
        ``confusion`` (annotator, label, response)
            How probable a response is where the label is true; rows sum to 1.
        ``labels_given`` (annotator, label)
            What a row of ``confusion`` rests on: the expected number of labels that the annotator
            gave where this label was true. Where it is 0 the likelihood says nothing of the row,
            which is flat by convention.
        ``truth`` (item, label)
            How probable each label is to be true of this item, given the above.
        ``log_likelihood``
            Without multinomial constants.
        ``start_log_likelihood`` (start)
            Where each start led.

        The attributes ``iterations`` and ``converged`` (1 or 0) are those of the best start.

    Raises
    ------
    AnnotationError
        If the annotations are of another kind, or an item has none.
    ArgumentError
        If an argument makes no sense.

    Warns
    -----
    ConvergenceWarning
        If the log-likelihood was still rising.

    References
    ----------
    Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates using the EM
    algorithm, Applied Statistics 28(1), 20-28.

    Examples
    --------
    The prevalences that Dawid and Skene published, .40, .42, .11 and .07, are where their start
    leads, but the likelihood is larger elsewhere:

    >>> import dissensus as dx
    >>> ann = dx.datasets.load("anaesthesia").annotations
    >>> from_votes = dx.models.dawid_skene.em(ann)
    >>> from_votes["prevalence"].values.round(2), from_votes["log_likelihood"].item()
    (array([0.4 , 0.42, 0.11, 0.07]), -192.890...)
    >>> best = dx.models.dawid_skene.em(ann, start="random", starts=200, random_seed=1)
    >>> best["prevalence"].values.round(2), best["log_likelihood"].item()
    (array([0.4 , 0.45, 0.09, 0.07]), -191.568...)
    """
    n_starts = _checked_starts(start, starts)
    fitting.require_kind(annotations, KINDS, "dawid_skene")
    fitting.require_annotated(
        statements_per(annotations, ITEM), annotations, "without one nothing speaks of its truth"
    )
    smoothing = arguments.finite("smoothing", smoothing, 0)
    iterations = arguments.whole("iterations", iterations)
    tolerance = arguments.finite("tolerance", tolerance, 0)
    item, annotator, label = (
        annotations[f"{dim}_code"].to_numpy().astype(np.int64) for dim in (ITEM, ANNOTATOR, LABEL)
    )
    found, pattern = votes(item, annotator, label, annotations.sizes[ITEM])
    counts = np.empty((len(found.n_items), annotations.sizes[LABEL]))
    counts[pattern] = label_counts(annotations)  # the same for all items of a pattern
    rng = generator(random_seed, "dawid_skene em")
    n_annotators = annotations.sizes[ANNOTATOR]
    reached = np.empty(n_starts)
    best: Estimate | None = None
    for turn in range(n_starts):
        guess = _row_shares(counts if start == "votes" else rng.standard_gamma(1 + counts))
        one = climb(found, guess, n_annotators, smoothing, iterations, tolerance)
        reached[turn] = one.log_likelihood
        if best is None or one.objective > best.objective:
            best = one
    assert best is not None  # there is one start at least
    if not best.converged:
        _warn(best, tolerance)
    given = labels_given(found, best.truth, n_annotators).sum(axis=1)
    out = _named(annotations, best, pattern, given, reached)
    return out.assign_attrs(start=start, smoothing=smoothing)


def _checked_starts(start: Any, starts: Any) -> int:
    if not isinstance(start, str) or start not in _STARTS:
        raise ArgumentError("start", expected=f"one of {_STARTS}", found=brief(start))
    n_starts = arguments.whole("starts", starts)
    if start == "votes" and n_starts > 1:
        raise ArgumentError(
            "starts", expected='1 with start="votes", which always leads to the same place',
            found=str(n_starts), hint='Several starts are for start="random"',
        )  # fmt: skip
    return n_starts


def _row_shares(weight: Floats) -> Floats:
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _warn(best: Estimate, tolerance: float) -> None:
    warnings.warn(
        f"em: the log-likelihood was still rising by more than {tolerance:g} an iteration after "
        f"{best.iterations}. Give more iterations (iterations={4 * best.iterations}).",
        ConvergenceWarning,
        stacklevel=3,
    )


def _named(
    annotations: xr.Dataset, best: Estimate, pattern: npt.NDArray[np.int64], given: Floats,
    reached: Floats,
) -> xr.Dataset:  # fmt: skip
    names = {dim: annotations[dim].to_numpy() for dim in (ITEM, ANNOTATOR, LABEL)}
    return xr.Dataset(
        {
            "prevalence": (LABEL, best.prevalence),
            "confusion": ((ANNOTATOR, LABEL, RESPONSE), best.confusion.transpose(0, 2, 1)),
            "labels_given": ((ANNOTATOR, LABEL), given),
            "truth": ((ITEM, LABEL), best.truth[pattern]),
            "log_likelihood": best.log_likelihood,
            "start_log_likelihood": (_START, reached),
        },
        coords=names | {RESPONSE: names[LABEL]},
        attrs={"iterations": best.iterations, "converged": int(best.converged)},
    )
