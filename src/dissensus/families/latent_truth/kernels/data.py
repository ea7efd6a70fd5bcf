"""The form of a process, its priors and its parameters, in the layout that kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from dissensus.kernels.types import Floats

NO_ANSWER = -1
"""The code that stands for no answer, on items that a system does not answer."""
EQUAL, GRADED, UNEQUAL = 0, 1, 2
"""How a respondent's errors are spread over the wrong labels."""
NONE, COMPLETE, HIERARCHICAL = 0, 1, 2
"""How annotators' confusion matrices are pooled."""
MEAN, SPREAD, DECAY, CONCENTRATION, DIFFICULTY, SHARED, SOURCE = range(7)
"""Places of single parameters in `Parameters.number`."""
_FIFTHS = 5
"""Number of points that represent the normal distribution of difficulty. With eleven points instead
of five, results for a thousand items hardly differ."""


class Form(NamedTuple):
    """Integers and flags that describe the process.

    A *respondent* is an annotator or a system. Annotators that the model does not distinguish are
    one respondent.
    """

    n_labels: int
    n_respondents: int  # Annotators, then systems
    first_system: int  # Number of the first system; the number of annotators
    evidence: int  # Respondents below this number are evidence of the truth
    rows: int  # 1 if each respondent has a confusion matrix, 0 if it has one accuracy
    own_accuracy: int  # 1 if each annotator has its own accuracy, without confusion matrices
    errors: int  # `EQUAL`, `GRADED` or `UNEQUAL`
    ordered: int  # 1 if errors are graded, or unequal and drawn around graded errors
    difficulty: int  # 1 if items differ in difficulty
    related: int  # 1 if systems share a source of answers
    pooling: int  # `NONE`, `COMPLETE` or `HIERARCHICAL`
    terms: int = 0  # Number of coefficients of annotators' covariates


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
    system: float  # Concentration of each row of a system's matrix around a symmetric matrix


class Parameters(NamedTuple):
    """Current values of all parameters; each sweep overwrites the arrays."""

    log_prevalence: Floats  # (label)
    skill: Floats  # Logit of being right about a typical item (respondent, label)
    log_error: Floats
    """Log-probabilities of wrong answers, given that the answer is wrong (respondent, label,
    response)."""
    log_base: Floats  # Centre of ``log_error``; also errors of a shared source (label, response)
    number: Floats  # Single numbers, by place; ``MEAN``, ``SHARED`` and ``SOURCE`` are logits
    slope: Floats  # Effect of an item's difficulty on a respondent (respondent); 1 for annotators
    log_population: Floats  # ``population_confusion`` (label, response)
    alike: Floats  # ``confusion_concentration`` (label)
    level: Floats
    """(respondent). Of a system: the logit of ``system_level``. Of an annotator: difference of its
    logits from the sum of the population's logit and, with covariates, the regression on them."""
    coefficient: Floats  # (term)


class Regression(NamedTuple):
    """Covariates of annotators, and directions in which coefficients are independent.

    The coefficients are ``centre`` + ``basis`` @ g. In the prior, the elements of g are independent
    and standard normal. Given the annotators' levels, they are independent too, because the rows of
    ``along`` are orthogonal.
    """

    value: Floats  # (annotator, term)
    centre: Floats  # Means of the prior (term)
    basis: Floats  # (term, direction)
    along: Floats  # Increase of an annotator's logits per unit of g (direction, annotator)


def regression(value: Floats, prior: Floats) -> Regression:
    """Return the regression on covariates ``value`` (annotator, term).

    ``prior`` (term, 2) holds the mean and standard deviation of each coefficient.
    """
    mean, sd = prior.T
    square = np.linalg.qr(value * sd, mode="r")
    turn = np.linalg.svd(square)[2].T if value.size else np.eye(value.shape[1])
    basis = np.ascontiguousarray(sd[:, None] * turn)
    return Regression(value, mean, basis, np.ascontiguousarray((value @ basis).T))


def fifths() -> Floats:
    """Return the ease of items: means of a normal distribution's fifths, scaled to variance 1."""
    edges = stats.norm.ppf(np.linspace(0, 1, _FIFTHS + 1))
    means = -np.diff(stats.norm.pdf(edges)) * _FIFTHS
    return np.asarray(means / means.std())


def blank(form: Form) -> Parameters:
    """Return parameters with accuracies of 1/2 for a typical item, and equally probable errors."""
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
