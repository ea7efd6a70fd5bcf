"""The form of a process, its priors, and values of its parameters, as kernels read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from dissensus.kernels.types import Floats

NO_ANSWER = -1
"""The code of an item that a system does not answer."""
EQUAL, GRADED, UNEQUAL = 0, 1, 2
"""How errors are spread over the other labels."""
NONE, COMPLETE, HIERARCHICAL = 0, 1, 2
"""How annotators' confusion matrices are pooled."""
MEAN, SPREAD, DECAY, CONCENTRATION, DIFFICULTY, SHARED, SOURCE = range(7)
"""Places in `Parameters.number`."""
_FIFTHS = 5
"""Number of points that represent the normal distribution of difficulty. With eleven points, the
results of a thousand items do not differ noticeably."""


class Form(NamedTuple):
    """Integers and flags that describe the process.

    A *respondent* is an annotator or a system. Annotators that the model does not distinguish are
    one respondent.
    """

    n_labels: int
    n_respondents: int  # Annotators, then systems
    first_system: int
    evidence: int  # The first respondent that is not evidence; ``n_respondents`` if all are
    rows: int  # 1 if each respondent has a confusion matrix, 0 if it has one accuracy
    own_accuracy: int  # 1 if each annotator has its own accuracy, without confusion matrices
    errors: int
    ordered: int  # 1 if unequal errors are drawn around graded ones
    difficulty: int
    related: int
    pooling: int
    terms: int = 0  # Coefficients of covariates of annotators


class Priors(NamedTuple):
    """Parameters of all priors; the form determines which of them are used."""

    prevalence: Floats  # Dirichlet shape (label)
    spread: float  # Scale of the half-normal prior of ``accuracy_spread``
    difficulty: float  # Scale of the half-normal prior of ``difficulty_spread``
    slope: float  # Standard deviation of the logarithm of ``difficulty_slope``
    decay: float  # Standard deviation of ``distance_decay``
    concentration: Floats  # Mean and standard deviation of the logarithm of ``error_concentration``
    rows: Floats  # Dirichlet shapes of the rows of a confusion matrix (label, response)
    alike: Floats  # Shape and rate of the Gamma prior of ``confusion_concentration``
    system: float  # Dirichlet concentration of each row of a system's matrix around a symmetric one


class Parameters(NamedTuple):
    """Current values of all parameters; each sweep overwrites them in place."""

    log_prevalence: Floats  # (label)
    skill: Floats  # Logit of being right about a typical item (respondent, label)
    log_error: Floats
    """Log-probabilities of wrong answers, given that the answer is wrong (respondent, label,
    response)."""
    log_base: Floats  # Centre of the rows of ``log_error``; also the errors of a shared source
    number: Floats  # Single numbers, by place. ``MEAN``, ``SHARED`` and ``SOURCE`` are logits.
    slope: Floats  # Effect of an item's difficulty on a respondent (respondent); 1 for annotators
    log_population: Floats  # ``population_confusion`` (label, response)
    alike: Floats  # ``confusion_concentration`` (label)
    level: Floats
    """(respondent). Of a system: the logit of ``system_level``. Of an annotator: difference of its
    logits from the regression on covariates or, without covariates, from the population's."""
    coefficient: Floats  # (term)


class Regression(NamedTuple):
    """Covariates of annotators, and directions in which coefficients are independent.

    Coefficients are ``centre`` + ``basis`` @ g. The elements of g are standard normal a priori.
    They are also independent given the annotators' levels, as the rows of ``along`` are orthogonal.
    """

    value: Floats  # (annotator, term)
    centre: Floats  # Means of the prior (term)
    basis: Floats  # (term, direction)
    along: Floats  # By how much each direction raises logits (direction, annotator)


def regression(value: Floats, prior: Floats) -> Regression:
    """Lay out covariates (annotator, term), given mean and sd of each coefficient (term, 2)."""
    mean, sd = prior.T
    square = np.linalg.qr(value * sd, mode="r")
    turn = np.linalg.svd(square)[2].T if value.size else np.eye(value.shape[1])
    basis = np.ascontiguousarray(sd[:, None] * turn)
    return Regression(value, mean, basis, np.ascontiguousarray((value @ basis).T))


def fifths() -> Floats:
    """Return the ease of items: means of the fifths of a normal distribution, with variance 1."""
    edges = stats.norm.ppf(np.linspace(0, 1, _FIFTHS + 1))
    means = -np.diff(stats.norm.pdf(edges)) * _FIFTHS
    return np.asarray(means / means.std())


def blank(form: Form) -> Parameters:
    """Return parameters with accuracies of 1/2 for a typical item, and equal errors."""
    n, respondents = form.n_labels, form.n_respondents
    error = np.full((respondents, n, n), -np.log(max(n - 1, 1)))
    error[:, np.arange(n), np.arange(n)] = -np.inf
    number = np.zeros(7)
    number[[SPREAD, CONCENTRATION]] = 0.5, 5.0
    number[DIFFICULTY] = 0.5 if form.difficulty else 0.0
    return Parameters(
        log_prevalence=np.full(n, -np.log(n)),
        skill=np.zeros((respondents, n)),
        log_error=error,
        log_base=error[0].copy() if respondents else np.zeros((n, n)),
        number=number,
        slope=np.ones(respondents),
        log_population=np.full((n, n), -np.log(n)),
        alike=np.full(n, 10.0),
        level=np.zeros(respondents),
        coefficient=np.zeros(form.terms),
    )
