"""The likelihood of labels in PyMC, given accuracies and errors, for both models of a latent truth.

The state of an item is its true label, its difficulty and, if systems are related, the answer of
their source. `LatentTruth` sums the states out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dissensus.data import layout
from dissensus.dims import ANNOTATOR, ITEM, LABEL, RESPONSE, SYSTEM, TERM
from dissensus.families.latent_truth.process import Process
from dissensus.kernels.types import Floats, Ints
from dissensus.sampling import places

RESPONDENT = "respondent"
OTHER_LABEL = "other_label"
OUTCOME = "outcome"
_NEVER = -1e10
"""Stands for the logarithm of probability 0, so that sums stay finite."""
_LEAST = 1e-12
"""Smallest difference of a logit from the logit of guessing, so that gradients are finite."""


class Source(NamedTuple):
    """A source of answers that systems share."""

    taken: Any  # Probability that a system gives the source's answer
    logit: Any  # Logit of the source's accuracy (ease)
    log_error: Any  # Log-probabilities of the source's wrong answers (label, response)


def coordinates(process: Process) -> dict[str, Any]:
    """Return the coordinates of a PyMC model."""
    n = process.form.n_labels
    return {
        ITEM: process.items, LABEL: process.labels, RESPONSE: process.labels,
        ANNOTATOR: process.annotators, SYSTEM: process.systems,
        RESPONDENT: _respondents(process), OTHER_LABEL: np.arange(n - 1),
        OUTCOME: ["right", "wrong"],
        **({TERM: process.terms} if process.form.terms else {}),
    }  # fmt: skip


def _respondents(process: Process) -> list[str]:
    """Return names of annotators, then of systems ("system x" if an annotator is called x too)."""
    people = [layout.EVERYBODY] if process.interchangeable else list(map(str, process.annotators))
    systems = list(map(str, process.systems[: process.n_modelled_systems]))
    return [*people, *(f"system {name}" if name in people else name for name in systems)]


def split(rows: Any) -> tuple[Any, Any]:
    """Split rows of confusion matrices (..., label, response).

    Returns logits of being right (..., label), and log-probabilities of wrong responses, given that
    the response is wrong (..., label, response). The latter are 0 on the diagonal.
    """
    import pytensor.tensor as pt

    same = pt.eye(rows.shape[-1], dtype="bool")
    wrong = pt.log(pt.switch(same, 0.0, rows).sum(axis=-1))
    logit = pt.log(pt.diagonal(rows, axis1=-2, axis2=-1)) - wrong
    return logit, pt.switch(same, 0.0, pt.log(rows) - wrong[..., None])


def square(own: Any, others: Any, n_labels: int) -> Any:
    """Insert a diagonal (..., label, 1) into rows without diagonal (..., label, other label).

    The result (..., label, response) is put together from two shifted copies of the rows, because
    assignments to parts of an array are slow to compile.
    """
    import pytensor.tensor as pt

    blank, same = pt.zeros_like(others[..., :1]), np.eye(n_labels, dtype=bool)
    before, after = (pt.concatenate(pair, axis=-1) for pair in ((others, blank), (blank, others)))
    return pt.switch(same, own, pt.switch(np.tri(n_labels, dtype=bool), before, after))


def eased(process: Process, logit: Any, spread: Any) -> Any:
    """Return logits of being right about items of each ease (..., ease).

    ``logit`` (...) is for a typical item. Its odds minus the odds of guessing are multiplied by
    exp(``spread`` * ease). Accuracies at or below guessing are the same for all items.
    """
    import pytensor.tensor as pt

    logit = logit[..., None]
    if not process.form.difficulty:
        return logit
    guess = -np.log(process.form.n_labels - 1)
    above = logit + pt.log(-pt.expm1(-pt.maximum(logit - guess, _LEAST)))
    ease = spread * process.ease
    return pt.switch(logit > guess, pt.logaddexp(above + ease, guess), logit + 0.0 * ease)


def name_accuracies(process: Process, prevalence: Any, logit: Any) -> None:
    """Add the accuracies that a fit reports, unless they are variables of the model.

    ``prevalence`` is (label). ``logit`` (respondent, label, ease) is the logit of being right.
    """
    import pymc as pm
    import pytensor.tensor as pt

    form, variables = process.form, pm.modelcontext(None).named_vars
    accuracy = (prevalence[None, :, None] * pt.sigmoid(logit)).sum(axis=1).mean(axis=-1)
    if "annotator_accuracy" not in variables and form.first_system:
        people = accuracy[: form.first_system]
        each = form.rows or form.own_accuracy
        if each and process.interchangeable:
            people = people[np.zeros(len(process.annotators), dtype=np.int64)]
        pm.Deterministic(
            "annotator_accuracy", people if each else people[0], dims=ANNOTATOR if each else None
        )
    if "system_accuracy" not in variables and process.n_modelled_systems and not form.related:
        pm.Deterministic("system_accuracy", accuracy[form.first_system :], dims=SYSTEM)


def tables(
    process: Process, prevalence: Any, logit: Any, log_error: Any, source: Source | None
) -> tuple[Any, Any]:
    """Return log-probabilities of states (state), and of labels (respondent, response, state).

    ``prevalence`` is (label). ``logit`` (respondent, label, ease) is the logit of being right.
    ``log_error`` (respondent, label, response) holds log-probabilities of responses, given that the
    response is wrong; its diagonal is not used.
    """
    import pytensor.tensor as pt

    n, n_ease, first = process.form.n_labels, len(process.ease), process.form.first_system
    same = np.eye(n, dtype=bool)
    log_state = (pt.log(prevalence) - np.log(n_ease))[:, None] + pt.zeros(n_ease)  # (label, ease)
    # (respondent, label, response, ease)
    own = _answers(logit[:, :, None, :], log_error[..., None], same[None, :, :, None])
    if source is None:
        log_state, log_label = log_state.T.ravel(), own.transpose(0, 2, 3, 1)
    else:
        answer = _answers(source.logit, source.log_error[:, :, None], same[:, :, None])
        log_state = (log_state[:, None, :] + answer).transpose(1, 2, 0).ravel()
        log_label = _mixed(own, source.taken, first).transpose(0, 2, 3, 4, 1)
    n_states = n_ease * n * (1 if source is None else n)
    log_label = log_label.reshape((-1, n, n_states))
    if len(_known_items(process)):
        log_label = pt.concatenate([log_label, oracle(n, n_states)[None]])
    return log_state, log_label


def oracle(n_labels: int, n_states: int) -> Floats:
    """Return log-probabilities of the labels of a respondent without errors (response, state)."""
    right = np.arange(n_labels)[:, None] == np.arange(n_states) % n_labels
    return np.where(right, 0.0, _NEVER)


def _answers(logit: Any, log_error: Any, same: Any) -> Any:
    """Return log-probabilities of answers; ``same`` is whether truth and response are equal."""
    import pytensor.tensor as pt

    # When PyTensor interprets a graph, `softplus` is a loop in Python.
    right, wrong = (-pt.logaddexp(0.0, sign * logit) for sign in (-1.0, 1.0))
    return pt.switch(same, right, wrong + log_error)


def _mixed(own: Any, taken: Any, first: int) -> Any:
    """Mix the source's answers into log-probabilities of the systems' own answers.

    The result is (respondent, label, response, answer of the source, ease).
    """
    import pytensor.tensor as pt

    n = own.shape[2]
    alone = pt.log1p(-taken) + own[first:, :, :, None, :]
    same = pt.eye(n, dtype="bool")[None, None, :, :, None]
    systems = pt.switch(same, pt.logaddexp(alone, pt.log(taken)), alone)
    people = own[:first, :, :, None, :] + pt.zeros((1, 1, 1, n, 1))
    return pt.concatenate([people, systems])


def _known_items(process: Process) -> Ints:
    """Return the places of items with a known true label that informs annotators' parameters."""
    return np.flatnonzero((process.known >= 0) & process.has_informative_known)


def observed(process: Process) -> tuple[Any, Any]:
    """Add respondents and labels (item, place) to the PyMC model as data, and return them."""
    return places.observed(*observations(process))


def name_truth(process: Process, log_joint: Any) -> None:
    """Add the probability that each label is the true one, given an item's labels.

    ``log_joint`` (item, state) are joint log-probabilities of the state and the item's labels. If
    errors are correlated, nothing is added: the label behind the annotations may differ from the
    true label, which only `fit` draws.
    """
    import pymc as pm

    if process.errors is None:
        state = pm.math.softmax(log_joint, axis=-1)
        truth = state.reshape((state.shape[0], -1, process.form.n_labels)).sum(axis=1)
        pm.Deterministic("truth", truth, dims=(ITEM, LABEL))


def observations(process: Process) -> tuple[Ints, Ints]:
    """Return respondents and labels (item, place) of the observations.

    Known true labels are labels of one more respondent, who makes no errors.
    """
    used, known = process.respondent < process.form.evidence, _known_items(process)
    last = np.full(len(known), process.form.first_system + process.n_modelled_systems)
    item = np.concatenate([process.item[used], known])
    respondent = np.concatenate([process.respondent[used], last])
    label = np.concatenate([process.label[used], process.known[known]])
    n = len(process.items)
    return layout.by_place(item, n, respondent), layout.by_place(item, n, label)
