"""A source of answers that systems share: how often they give its answer, and how good it is."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.gamma import log_gamma_variate
from dissensus.arrays.stream import State
from dissensus.arrays.truth_counts import Counts
from dissensus.arrays.truth_parameters import DIFFICULTY, SHARED, SOURCE, Form, Parameters
from dissensus.arrays.truth_skills import draw_beta
from dissensus.arrays.truth_states import fill_tables, log_sigmoid, weigh
from dissensus.arrays.truth_votes import Votes
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]


@njit(cache=True)
def _log_density(
    logit: float, place: int, votes: Votes, form: Form, ease: Floats, par: Parameters,
    log_weight: Floats, log_response: Floats, weight: Floats,
) -> float:  # fmt: skip
    """Return the log density of one of the two, uniform a priori, states of items summed out."""
    par.number[place] = logit
    fill_tables(form, ease, par, log_weight, log_response)
    out = log_sigmoid(logit) + log_sigmoid(-logit)
    for p in range(len(votes.n_items)):
        high = weigh(votes, form.n_voices, log_weight, log_response, p, weight)
        out += votes.n_items[p] * (high + math.log(weight.sum()))
    return out


_slice = slicer(_log_density)


@njit(cache=True)
def draw_related(
    state: State, votes: Votes, form: Form, ease: Floats, par: Parameters, log_weight: Floats,
    log_response: Floats,
) -> None:  # fmt: skip
    """Draw both with the states of items summed out.

    Given the states they hardly move where systems seldom give the source's answer: then it is
    not seen, and what was drawn for it last time holds it where it is.
    """
    weight = np.empty(len(log_weight))
    for place in (SHARED, SOURCE):
        par.number[place] = _slice(
            state, par.number[place], 2.0, place, votes, form, ease, par, log_weight,
            log_response, weight,
        )  # fmt: skip


@njit(cache=True)
def draw_source(state: State, ease: Floats, par: Parameters, counts: Counts) -> None:
    """Draw both given the states of items and who took which answer from the source."""
    par.number[SOURCE] = draw_beta(
        state, par.number[SOURCE], 1.0, 1.0, -math.inf, par.number[DIFFICULTY], ease,
        counts.source_right, counts.source_wrong,
    )  # fmt: skip
    taken, own = counts.shared
    par.number[SHARED] = log_gamma_variate(state, 1.0 + taken) - log_gamma_variate(state, 1.0 + own)
