"""Ordered labels have no scale of their own: moving that of all that is latent at once.

Stretching latent numbers, means, effects, their standard deviations and the cutpoints by one factor
changes no label, only how large the residuals are, whose standard deviation is 1. One number is
drawn, along that direction (Liu & Sabatti 2000), for the price of reading the labels once. What
moves slowly otherwise moves together.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from dissensus.arrays.crossed_data import Crossed
from dissensus.arrays.crossed_parameters import Parameters, Priors, log_scale_prior
from dissensus.arrays.stream import State
from dissensus.arrays.univariate_slice import slicer

Floats = npt.NDArray[np.float64]


@njit(cache=True)
def _residual_square(data: Crossed, par: Parameters) -> float:
    total = 0.0
    for c in range(len(par.item)):
        base = par.mu[data.cell_pool[c]] + par.item[c]
        for n in range(data.cell_start[c], data.cell_start[c + 1]):
            away = par.latent[n] - base - par.annotator[data.annotator[n]]
            total += away * away
    return total


@njit(cache=True)
def _of_stretch(x: float, square: float, n_labels: float, par: Parameters, priors: Priors) -> float:
    """Return the log density of the logarithm of a factor.

    Effects are as probable as before, since their standard deviations are stretched with them:
    what counts is the volume of everything else.
    """
    factor = math.exp(x)
    total = n_labels * x - 0.5 * factor * factor * square
    for p in range(len(par.mu)):
        mean, sd = priors.mu[p]
        total += x - 0.5 * ((factor * par.mu[p] - mean) / sd) ** 2
        total += x + log_scale_prior(factor * par.sd_item[p], priors.sd_item[p])
        if par.sd_annotator[p] > 0.0:
            total += x + log_scale_prior(factor * par.sd_annotator[p], priors.sd_annotator[p])
    for gap in par.gap:
        total += x + log_scale_prior(factor * gap, priors.gap)
    return total


_slice_stretch = slicer(_of_stretch)


@njit(cache=True)
def move_scale(state: State, data: Crossed, par: Parameters, priors: Priors) -> None:
    """Stretch all that is latent; the latent numbers themselves are left to be drawn anew."""
    square, n_labels = _residual_square(data, par), float(len(par.latent))
    width = 3.0 / math.sqrt(n_labels)
    factor = math.exp(_slice_stretch(state, 0.0, width, square, n_labels, par, priors))
    par.mu[:] *= factor
    par.sd_item[:] *= factor
    par.sd_annotator[:] *= factor
    par.gap[:] *= factor
    par.item[:] *= factor
    par.annotator[:] *= factor
