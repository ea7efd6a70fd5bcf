"""A source of answers that systems share: how often they give its answer, and how good it is."""

from __future__ import annotations

import math

import numpy as np

from dissensus.arrays.truth_parameters import DIFFICULTY, SHARED, SOURCE, Parameters
from dissensus.arrays.truth_skills import draw_beta
from dissensus.arrays.truth_states import (
    add_source,
    fill_own,
    known_label,
    log_sigmoid,
    total_of,
    weigh,
)
from dissensus.kernels.compiled import inner, kernel
from dissensus.kernels.random import State
from dissensus.kernels.slices import slicer
from dissensus.kernels.types import Floats
from dissensus.kernels.variates import log_gamma_variate
from dissensus.kernels.votes import Votes


@inner
def _log_density(
    logit: float, place: int, votes: Votes, first_system: int, ease: Floats, par: Parameters,
    log_weight: Floats, log_response: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Return the log density of one of the two, uniform a priori, states of items summed out."""
    par.number[place] = logit
    fill_own(
        par.log_prevalence, par.skill, par.slope, par.log_error, par.number[DIFFICULTY], ease,
        log_weight, log_response,
    )  # fmt: skip
    add_source(par.log_base, par.number, ease, first_system, log_weight, log_response)
    out = log_sigmoid(logit) + log_sigmoid(-logit)
    for p in range(len(votes.n_items)):
        high = weigh(
            votes, len(log_response), log_weight, log_response, p, known_label(votes, p),
            log_response.shape[1], weight,
        )  # fmt: skip
        out += votes.n_items[p] * (high + math.log(total_of(weight)))
    return out


_slice = slicer(_log_density)


@kernel
def draw_related(
    state: State, votes: Votes, first_system: int, ease: Floats, par: Parameters,
    log_weight: Floats, log_response: Floats,
) -> None:  # fmt: skip
    """Draw both with the states of items summed out.

    Given the states they hardly move where systems seldom give the source's answer: then it is
    not seen, and what was drawn for it last time holds it where it is.
    """
    weight = np.empty(len(log_weight))
    for place in range(SHARED, SOURCE + 1):
        par.number[place] = _slice(
            state, par.number[place], 2.0, place, votes, first_system, ease, par, log_weight,
            log_response, weight,
        )  # fmt: skip


@kernel
def draw_source(
    state: State, ease: Floats, number: Floats, right: Floats, wrong: Floats, shared: Floats
) -> None:
    """Draw both given the states of items and who took which answer from the source."""
    number[SOURCE] = draw_beta(
        state, number[SOURCE], 1.0, 1.0, -math.inf, number[DIFFICULTY], ease, right, wrong
    )
    taken, own = shared[0], shared[1]
    number[SHARED] = log_gamma_variate(state, 1.0 + taken) - log_gamma_variate(state, 1.0 + own)
