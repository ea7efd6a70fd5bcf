"""Studies in which annotators of one item err together: what `error_correlation` adds to a fit.

A fit learns annotators from labels alone, and draws the correlation, weights of systems and true
labels given that: a cut, and no posterior under one joint distribution. Places are uniform where
annotators are known to a hair, so that 5,000 items are labelled by annotators who are all alike.
Given them two parts have a joint distribution, and each has a form of its own:

- the correlation from its prior, true labels given labels, of which some are known;
- the weight w of a system from its prior, given the accuracy that the system would have if it erred
  independently; and then true labels given labels and the system's answers.

The second holds for a given correlation and given answers. Answers come from a system that errs
independently of the true label that they are drawn with, and so tell its accuracy. Together the two
parts are not a generative model: the labels that are known tell the correlation as if there were no
system, and a system's accuracy besides its weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import xarray as xr
from calibration.harness import Case, Floats
from calibration.truth_questions import drawn_truths
from calibration.truth_worlds import Codes, Generator

import dissensus as dx

N_ITEMS, N_ANNOTATORS, N_KNOWN = 5000, 5, 100
MEDIAN, SPREAD = 0.6, 0.5
"""Of the correlation, and of its logarithm."""
LOW, HIGH, MORE, MOST = -0.1, 1.2, 0.5, 3.5
"""Ends of the uniform part of w, in w0; standard deviation of its normal part; the largest w0."""
THIN: Final = 5


def case(model: str, with_system: bool, rng: Generator) -> Case:
    """Draw a study, and say what to ask of it."""
    n = int(rng.integers(2, 4))
    ann, votes, log_p = _labels(n, rng)
    correlation = MEDIAN if with_system else MEDIAN * np.exp(SPREAD * rng.standard_normal())
    # Of n labels, n / (1 + (n - 1) correlation) are independent.
    log_p /= 1 + (votes.sum(axis=1, keepdims=True) - 1) * correlation
    wanted: dict[str, Any] = {"error correlation": ("error_correlation", correlation)}
    hyper: dict[str, Any] = {"error_correlation": "learned"}
    if with_system:
        answers, weight = _answers(log_p, rng)
        log_p[np.arange(N_ITEMS), answers] += weight
        table = {"item": np.arange(N_ITEMS), "system": ["s"] * N_ITEMS, "label": answers}
        hyper = {"error_correlation": MEDIAN, "predictions": dx.predictions(table, kind="nominal")}
        wanted = {"weight": ("system_weight", weight)}
    truth = _pick(log_p, rng)
    if with_system:
        wanted["system correct"] = ("system_correct", (answers == truth).mean())
    else:
        leads = votes == votes.max(axis=1, keepdims=True)
        hits = leads[np.arange(N_ITEMS), truth] / leads.sum(axis=1)
        wanted["majority correct"] = ("majority_correct", hits.mean())
    known = rng.choice(N_ITEMS, N_KNOWN, replace=False)
    hyper |= {"truth": dict(zip(known.tolist(), truth[known].tolist(), strict=True)), "tune": 300}
    if model == "dawid_skene":
        hyper["pooling"] = "complete"

    def questions(fit: xr.DataTree) -> Mapping[str, tuple[Floats, Floats]]:
        post = fit["posterior"]
        out = {
            name: (post[variable].to_numpy().reshape(-1, 1), np.array([value]))
            for name, (variable, value) in wanted.items()
        }
        if not with_system:  # the truth of items is said without the system's answers
            first = (drawn_truths(fit, rng) == 0).sum(axis=1, dtype=float)
            out["items of the first label"] = (first[:, None], np.array([(truth == 0).sum()]))
        return out

    return Case(ann, hyper, questions, thin=THIN)


def _labels(n: int, rng: Generator) -> tuple[xr.Dataset, Codes, Floats]:
    """Draw labels; return how often each is given, and log-probabilities of the label meant."""
    prevalence, accuracy = rng.dirichlet(np.full(n, 10.0)), rng.uniform(0.65, 0.8)
    given = rng.random((N_ITEMS, N_ANNOTATORS)) < 0.7
    given[~given.any(axis=1), 0] = True
    item, who = np.nonzero(given)
    meant = rng.choice(n, N_ITEMS, p=prevalence)
    label = _answered(meant[item], accuracy, n, rng)
    votes = np.zeros((N_ITEMS, n), dtype=np.int64)
    np.add.at(votes, (item, label), 1)
    table = {"item": item, "annotator": who, "label": label}
    ann = dx.annotations(table, kind="nominal", labels=range(n))
    return ann, votes, np.log(prevalence) + votes * np.log(accuracy * (n - 1) / (1 - accuracy))


def _answered(meant: Codes, accuracy: float, n: int, rng: Generator) -> Codes:
    """Draw answers that are right with this probability, and else any other label."""
    other = (meant + rng.integers(1, n, len(meant))) % n
    return np.where(rng.random(len(meant)) < accuracy, meant, other)


def _answers(log_p: Floats, rng: Generator) -> tuple[Codes, float]:
    """Draw a system's answers, and the weight that they have beyond the labels."""
    n = log_p.shape[1]
    accuracy = rng.random()
    answers = _answered(_pick(log_p, rng), accuracy, n, rng)
    independent = min(max(np.log(accuracy * (n - 1) / (1 - accuracy)), 0.0), MOST)
    weight = rng.uniform(LOW, HIGH) * independent + MORE * rng.standard_normal()
    return answers, weight


def _pick(log_p: Floats, rng: Generator) -> Codes:
    """Draw a label for each item, given log-probabilities up to a constant."""
    return np.argmax(log_p + rng.gumbel(size=log_p.shape), axis=1)


SIMULATORS: Final[Mapping[str, Callable[[Generator], Case]]] = {
    f"{model}: {form}": partial(case, model, with_system)
    for model in ("dawid_skene", "symmetric_confusion")
    for form, with_system in (("errors together", False), ("weight of a system", True))
}
