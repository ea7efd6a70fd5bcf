"""How often voices are right: draws of accuracies given how often they were.

All are logits. Where items differ in how hard they are, an accuracy is that of a typical item and
has no closed form; otherwise it has one.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.gamma import log_gamma_variate
from dissensus.arrays.stream import State
from dissensus.arrays.truth_counts import Counts
from dissensus.arrays.truth_parameters import (
    DIFFICULTY,
    MEAN,
    SPREAD,
    Form,
    Parameters,
    Priors,
)
from dissensus.arrays.truth_states import log_sigmoid
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]

_TRIES: Final = 20


@njit(cache=True)
def log_hits(eta: float, spread: float, ease: Floats, right: Floats, wrong: Floats) -> float:
    """Return the log-likelihood of an accuracy: right and wrong answers at each ease."""
    out = 0.0
    for q in range(len(ease)):
        if right[q] > 0.0:
            out += right[q] * log_sigmoid(eta + spread * ease[q])
        if wrong[q] > 0.0:
            out += wrong[q] * log_sigmoid(-eta - spread * ease[q])
    return out


@njit(cache=True)
def lowest(n_labels: int) -> float:
    """Return the logit of guessing."""
    return -math.log(max(n_labels - 1.0, 1.0))


@njit(cache=True)
def _log_beta(
    eta: float, a: float, b: float, low: float, spread: float, ease: Floats, right: Floats,
    wrong: Floats,
) -> float:  # fmt: skip
    """Return the log density of a logit, a Beta(a, b) accuracy a priori, above a bound."""
    if eta <= low:
        return -math.inf
    prior = a * log_sigmoid(eta) + b * log_sigmoid(-eta)
    return prior + log_hits(eta, spread, ease, right, wrong)


_slice_beta = slicer(_log_beta)


@njit(cache=True)
def draw_beta(
    state: State, eta: float, a: float, b: float, low: float, spread: float, ease: Floats,
    right: Floats, wrong: Floats,
) -> float:  # fmt: skip
    """Draw the logit of an accuracy that is Beta(a, b) a priori, above a bound."""
    if len(ease) == 1:
        for _ in range(_TRIES):  # how many fail does not hang on eta: the rest may go by slices
            new = log_gamma_variate(state, a + right[0]) - log_gamma_variate(state, b + wrong[0])
            if new > low:
                return new
    # The thinner of both tails falls off like an exponential, and that is how wide it is.
    width = max(1.0, 1.0 / min(a + right.sum(), b + wrong.sum()))
    return _slice_beta(state, eta, width, a, b, low, spread, ease, right, wrong)


@njit(cache=True)
def _log_normal(
    eta: float, mean: float, sd: float, spread: float, ease: Floats, right: Floats, wrong: Floats
) -> float:
    return -0.5 * ((eta - mean) / sd) ** 2 + log_hits(eta, spread, ease, right, wrong)


_slice_normal = slicer(_log_normal)


@njit(cache=True)
def _log_mean(mean: float, low: float, sd: float, eta: Floats) -> float:
    """Return the log density of the logit of a uniform accuracy, given logits around it."""
    if mean <= low:
        return -math.inf
    out = log_sigmoid(mean) + log_sigmoid(-mean)
    for one in eta:
        out -= 0.5 * ((one - mean) / sd) ** 2
    return out


_slice_mean = slicer(_log_mean)


@njit(cache=True)
def _log_spread(log_sd: float, scale: float, mean: float, eta: Floats) -> float:
    sd = math.exp(log_sd)
    if sd < 1e-9:  # a spread of nothing: its inverse square is no number
        return -math.inf
    out = (1 - len(eta)) * log_sd - 0.5 * (sd / scale) ** 2
    for one in eta:
        out -= 0.5 * ((one - mean) / sd) ** 2
    return out


_slice_spread = slicer(_log_spread)


@njit(cache=True)
def draw_spread(state: State, sd: float, scale: float, mean: float, eta: Floats) -> float:
    """Draw the standard deviation of logits around a mean, half-normal a priori."""
    return math.exp(_slice_spread(state, math.log(sd), 1.0, scale, mean, eta))


@njit(cache=True)
def _draw_own(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, right: Floats,
    wrong: Floats,
) -> None:  # fmt: skip
    """Draw the accuracy of each annotator, and the normal distribution that they come from."""
    spread = par.number[DIFFICULTY]
    eta = par.skill[: form.first_system, 0].copy()
    for v in range(form.first_system):
        eta[v] = _slice_normal(
            state, eta[v], 1.0, par.number[MEAN], par.number[SPREAD], spread, ease, right[v],
            wrong[v],
        )  # fmt: skip
        par.skill[v] = eta[v]
    low = lowest(form.n_labels)
    par.number[MEAN] = _slice_mean(state, par.number[MEAN], 0.5, low, par.number[SPREAD], eta)
    par.number[SPREAD] = draw_spread(state, par.number[SPREAD], prior.spread, par.number[MEAN], eta)


@njit(cache=True)
def draw_skills(
    state: State, form: Form, ease: Floats, par: Parameters, prior: Priors, counts: Counts
) -> None:
    """Draw accuracies of annotators who have one each, or one for all."""
    spread, low = par.number[DIFFICULTY], lowest(form.n_labels)
    right, wrong = counts.right.sum(axis=1), counts.wrong.sum(axis=1)
    n = form.first_system
    if form.own_accuracy:
        _draw_own(state, form, ease, par, prior, right, wrong)
    elif n > 0:
        par.skill[:n] = draw_beta(
            state, par.skill[0, 0], 1.0, 1.0, low, spread, ease, right[:n].sum(axis=0),
            wrong[:n].sum(axis=0),
        )  # fmt: skip


@njit(cache=True)
def draw_system_skills(
    state: State, form: Form, ease: Floats, par: Parameters, counts: Counts
) -> None:
    """Draw accuracies of systems that have one each."""
    spread = par.number[DIFFICULTY]
    right, wrong = counts.right.sum(axis=1), counts.wrong.sum(axis=1)
    for v in range(form.first_system, form.n_voices):
        par.skill[v] = draw_beta(
            state, par.skill[v, 0], 1.0, 1.0, -math.inf, spread * par.slope[v], ease, right[v],
            wrong[v],
        )  # fmt: skip
