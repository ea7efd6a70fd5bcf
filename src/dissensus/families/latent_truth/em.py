"""Maximum likelihood, by EM, of a latent truth with a confusion matrix for each annotator.

Given the probabilities of each item's true label, the prevalences are shares of items, and the
error rates are shares of labels (Dawid and Skene 1979, Eqs. 2.3 and 2.4). Given prevalences and
error rates, the probabilities of true labels follow by Bayes' rule (Eq. 2.5). EM alternates between
these two steps; no iteration lowers the likelihood.
"""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.data.rows import label_counts
from dissensus.dims import ANNOTATOR, ITEM, LABEL, RESPONSE
from dissensus.errors import ArgumentError, ConvergenceWarning
from dissensus.families.latent_truth.process import KINDS, require_annotated, row_codes
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.votes import Votes, votes
from dissensus.sampling import fitting

_START: Final = "start"


class Estimate(NamedTuple):
    """Result of EM: parameters, and the truth and the likelihood given these parameters."""

    prevalence: Floats  # (label)
    confusion: Floats  # Probability of a response, by true label (annotator, response, label)
    truth: Floats  # Probability that each label is true (pattern, label)
    log_likelihood: float
    objective: float  # The log-likelihood; with smoothing, plus the log prior density
    iterations: int
    converged: bool


def climb(
    votes: Votes, truth: Floats, n_annotators: int, smoothing: float, iterations: int,
    tolerance: float,
) -> Estimate:  # fmt: skip
    """Iterate from a first guess of the truth (pattern, label) until the objective hardly rises.

    The objective is the log-likelihood (without multinomial constants), plus ``smoothing`` times
    the sum of the logarithms of all prevalences and all entries of confusion matrices.
    """
    n_labels = truth.shape[1]
    counts = _counts(votes, n_annotators, n_labels)
    by_place = counts.T.tocsr()
    before, converged, done = -np.inf, False, 0
    while done < iterations and not converged:
        done += 1
        prevalence = votes.n_items @ truth + smoothing
        prevalence /= prevalence.sum()
        by_truth = by_place @ (votes.n_items[:, None] * truth)
        label_counts_by_truth = by_truth.reshape(n_annotators, n_labels, n_labels) + smoothing
        total = label_counts_by_truth.sum(axis=1, keepdims=True)
        # If a label is true of none of an annotator's items, the likelihood is the same for every
        # row of this label. A flat row is used.
        flat = np.full_like(label_counts_by_truth, 1 / n_labels)
        confusion = np.divide(label_counts_by_truth, total, out=flat, where=total > 0)
        with np.errstate(divide="ignore"):  # labels that cannot be true have probability 0
            log_prevalence, log_confusion = np.log(prevalence), np.log(confusion)
        joint = log_prevalence + counts @ log_confusion.reshape(-1, n_labels)
        high = joint.max(axis=1)
        truth = np.exp(joint - high[:, None])
        total = truth.sum(axis=1)
        truth /= total[:, None]
        value = float(votes.n_items @ (high + np.log(total)))
        objective = value
        if smoothing > 0:
            objective += smoothing * float(log_prevalence.sum() + log_confusion.sum())
        converged = objective - before <= tolerance
        before = objective
    return Estimate(prevalence, confusion, truth, value, before, done, converged)


def labels_given(votes: Votes, truth: Floats, n_annotators: int) -> Floats:
    """Return expected numbers of annotators' labels, by true label (annotator, response, label)."""
    n_labels = truth.shape[1]
    by_truth = _counts(votes, n_annotators, n_labels).T @ (votes.n_items[:, None] * truth)
    return np.asarray(by_truth).reshape(n_annotators, n_labels, n_labels)


def _counts(votes: Votes, n_annotators: int, n_labels: int) -> Any:
    """Return the counts of each annotator's responses, as a sparse matrix.

    Rows are patterns. Columns are pairs of an annotator and a response.
    """
    place = votes.respondent * n_labels + votes.label
    shape = (len(votes.n_items), n_annotators * n_labels)
    return sparse.csr_array((votes.times.astype(np.float64), place, votes.start), shape=shape)


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
    r"""Return the prevalences and error rates of maximum likelihood.

    .. math:: \log L = \sum_i \log \sum_z \pi_z \prod_{(j, y) \in i} C_{j z y}

    over the labels y that annotators j gave item i, by the EM algorithm of Dawid and Skene (1979).
    It is the deterministic counterpart of the model `dawid_skene`, without priors and without a
    measure of uncertainty. With few labels for each annotator the likelihood has several maxima,
    some of them with error rates of exactly 0 and 1. The start determines which maximum EM reaches,
    and the highest maximum need not be close to the true parameters.

    Parameters
    ----------
    annotations : xarray.Dataset
        Labels, nominal or ordinal. Each repeated label by one annotator counts as a label.
    start : {"votes", "random"}
        The first guess of an item's truth: the shares of its labels ("votes"), or a draw from
        Dirichlet(1 + counts of the item's labels) ("random").
    starts : int
        Number of random starts; the best result is returned.
    iterations : int
        Largest number of iterations; there is a warning if more are needed.
    tolerance : float
        Stop when an iteration adds no more than this to the log-likelihood; >= 0.
    smoothing : float
        Number added to the count of every label, for the prevalence and for each row of each
        confusion matrix; >= 0. If it is above 0, the result is a posterior mode under
        Dirichlet(1 + smoothing) priors, and iterations raise the log posterior density.
    random_seed : int or numpy.random.Generator, optional
        Makes random starts repeatable.

    Returns
    -------
    xarray.Dataset
        ``prevalence`` (label)
            Probability that each label is true of an item.
        ``confusion`` (annotator, label, response)
            Probability of a response where the label is true; rows sum to 1.
        ``labels_given`` (annotator, label)
            Expected number of labels that the annotator gave where this label was true. Where the
            number is 0, the likelihood does not depend on the row of ``confusion``, and the row is
            flat.
        ``truth`` (item, label)
            Probability that each label is true of this item, given prevalences and matrices.
        ``log_likelihood``
            The log-likelihood, without multinomial constants.
        ``start_log_likelihood`` (start)
            The log-likelihood that each start reached.

        The attributes ``iterations`` and ``converged`` (1 or 0) are those of the best start.

    Raises
    ------
    AnnotationError
        If the annotations are not nominal or ordinal labels, or an item has no label.
    ArgumentError
        If an argument is invalid.

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
    The start of Dawid and Skene leads to the prevalences that they published: .40, .42, .11 and
    .07. Other starts lead to a larger likelihood:

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
    require_annotated(annotations)
    smoothing = arguments.finite("smoothing", smoothing, 0)
    iterations = arguments.whole("iterations", iterations)
    tolerance = arguments.finite("tolerance", tolerance, 0)
    item, annotator, label = row_codes(annotations)
    patterns, pattern = votes(item, annotator, label, annotations.sizes[ITEM])
    counts = np.empty((len(patterns.n_items), annotations.sizes[LABEL]))
    counts[pattern] = label_counts(annotations)  # the same for all items of a pattern
    rng = generator(random_seed, "dawid_skene em")
    n_annotators = annotations.sizes[ANNOTATOR]
    best, reached = None, np.empty(n_starts)
    for turn in range(n_starts):
        guess = counts if start == "votes" else rng.standard_gamma(1 + counts)
        guess = guess / guess.sum(axis=1, keepdims=True)
        estimate = climb(patterns, guess, n_annotators, smoothing, iterations, tolerance)
        reached[turn] = estimate.log_likelihood
        if best is None or estimate.objective > best.objective:
            best = estimate
    assert best is not None  # there is at least one start
    if not best.converged:
        warnings.warn(
            f"em: the log-likelihood was still rising by more than {tolerance:g} an iteration "
            f"after {best.iterations}. Give more iterations (iterations={4 * best.iterations}).",
            ConvergenceWarning,
            stacklevel=2,
        )
    totals = labels_given(patterns, best.truth, n_annotators).sum(axis=1)
    result = _named(annotations, best, pattern, totals, reached)
    return result.assign_attrs(start=start, smoothing=smoothing)


def _checked_starts(start: Any, starts: Any) -> int:
    arguments.one_of("start", start, ("votes", "random"))
    n_starts = arguments.whole("starts", starts)
    if start == "votes" and n_starts > 1:
        raise ArgumentError(
            "starts", expected='1 with start="votes", which always leads to the same result',
            found=str(n_starts), hint='Several starts are for start="random"',
        )  # fmt: skip
    return n_starts


def _named(
    annotations: xr.Dataset, best: Estimate, pattern: Ints, totals: Floats, reached: Floats
) -> xr.Dataset:
    names = {dim: annotations[dim].to_numpy() for dim in (ITEM, ANNOTATOR, LABEL)}
    return xr.Dataset(
        {
            "prevalence": (LABEL, best.prevalence),
            "confusion": ((ANNOTATOR, LABEL, RESPONSE), best.confusion.transpose(0, 2, 1)),
            "labels_given": ((ANNOTATOR, LABEL), totals),
            "truth": ((ITEM, LABEL), best.truth[pattern]),
            "log_likelihood": best.log_likelihood,
            "start_log_likelihood": (_START, reached),
        },
        coords=names | {RESPONSE: names[LABEL]},
        attrs={"iterations": best.iterations, "converged": int(best.converged)},
    )
