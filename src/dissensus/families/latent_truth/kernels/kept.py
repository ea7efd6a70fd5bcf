"""Stored parts of a draw: accuracies, confusion matrices, shares correct."""

from __future__ import annotations

import math

import numpy as np

from dissensus.families.latent_truth.kernels.data import DIFFICULTY, SHARED, SOURCE
from dissensus.families.latent_truth.kernels.states import (
    above_guessing,
    eased,
    log_sigmoid,
    lowest,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.types import Floats


@inner
def _mean_right(eta: float, spread: float, ease: Floats, guess: float) -> float:
    """Return an accuracy, averaged over the difficulty of items."""
    out, above = 0.0, above_guessing(eta, guess)
    for q in range(len(ease)):
        out += math.exp(log_sigmoid(eased(eta, above, spread * ease[q], guess)))
    return out / len(ease)


@kernel
def write_accuracy(
    log_prevalence: Floats, skill: Floats, slope: Floats, number: Floats, ease: Floats,
    first_related: int, out: Floats,
) -> None:  # fmt: skip
    """Write each respondent's accuracy, averaged over labels and difficulty."""
    guess = lowest(len(log_prevalence))
    for r in range(len(out)):
        own = 0.0
        for z in range(len(log_prevalence)):
            right = _mean_right(skill[r, z], number[DIFFICULTY] * slope[r], ease, guess)
            own += math.exp(log_prevalence[z]) * right
        if r >= first_related:
            taken = math.exp(log_sigmoid(number[SHARED]))
            source = _mean_right(number[SOURCE], number[DIFFICULTY], ease, guess)
            own = (1.0 - taken) * own + taken * source
        out[r] = own


@kernel
def write_confusion(
    skill: Floats, slope: Floats, number: Floats, ease: Floats, log_error: Floats, out: Floats
) -> None:
    """Write confusion matrices, averaged over difficulty (respondent, label, response)."""
    n_respondents, n_labels = skill.shape
    guess = lowest(n_labels)
    for r in range(n_respondents):
        for z in range(n_labels):
            right = _mean_right(skill[r, z], number[DIFFICULTY] * slope[r], ease, guess)
            for y in range(n_labels):
                wrong = (1.0 - right) * math.exp(log_error[r, z, y])
                out[r, z, y] = right if y == z else wrong


@kernel
def write_correct(raw: Floats, first_system: int, out: Floats) -> None:
    """Write the share of its items that each system got right, NaN without items."""
    n_respondents, n_labels, n_states = raw.shape
    for r in range(first_system, n_respondents):
        right, total = 0.0, 0.0
        for s in range(n_states):
            right += raw[r, s % n_labels, s]
            for y in range(n_labels):
                total += raw[r, y, s]
        out[r - first_system] = right / total if total > 0.0 else np.nan
