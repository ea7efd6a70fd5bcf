"""Draws of the coefficients of covariates for two labels.

Coefficients are moved in three ways, each exact:

- given all effects, together with the means: along an ellipse about a normal approximation;
- coefficients of terms that are constant within items, opposite to the items' effects: the odds of
  labels stay the same, so that the move has a Gaussian density;
- coefficients of terms that are constant within annotators, opposite to the annotators' effects.

With covariates, the odds of a label have one more factor. `Offset` multiplies the odds of the other
side by this factor, label by label, so that the moves of `logistic` need no change.
"""

from __future__ import annotations

import numpy as np

from dissensus.families.crossed.kernels.data import Crossed, Parameters, Priors
from dissensus.families.crossed.kernels.odds import Odds, exponentials
from dissensus.families.crossed.kernels.regression import Regression, Side, draw_normal, offsets
from dissensus.kernels.compiled import kernel
from dissensus.kernels.random import State, uniform
from dissensus.kernels.types import Floats, Ints

_CONSTANT = 1e-12
"""A term is constant within groups if at most this share of its sum of squares is within groups."""
_WIDER = 1.5
"""Factor of the approximation's variances, so that it covers the posterior's tails."""
_FARTHEST = 3.0
"""Largest change of a logit in a Newton step: for larger ones the curvature changes too much."""
_NARROW = 1e-10
"""If the bracket of angles is smaller, the slice does not move. Only rounding errors cause this."""


class Offset:
    """The covariates' part of each label's logit, and layouts of labels that include it."""

    def __init__(
        self, data: Crossed, regression: Regression, par: Parameters, centre: Floats
    ) -> None:
        n, n_pools = len(data.value), data.n_pools
        self.regression = regression
        self.centre = centre  # Learned mean of pools' means and coefficients
        self.label = np.arange(n, dtype=np.int32)
        self.starts = np.arange(n + 1)
        self.by_annotator = np.argsort(data.annotator, kind="stable").astype(np.int32)
        self.pool = data.cell_pool[data.cell]
        self.design = np.zeros((n, n_pools + len(par.coefficient)))
        for p, (rows, value) in enumerate(zip(regression.rows, regression.value, strict=True)):
            self.design[rows, p] = 1.0
            self.design[rows, n_pools:] = value
        square = np.square(self.design[:, n_pools:]).sum(axis=0)
        self.of_items = _constant(regression.cells, square)
        self.of_annotators = _constant(regression.annotators, square)
        self.log, self.odds = np.empty(n), np.empty(n)
        self.refresh(par)

    def refresh(self, par: Parameters) -> None:
        """Write the covariates' part for the coefficients in ``par``."""
        offsets(self.regression, par.coefficient, self.log)
        exponentials(np.zeros(len(self.log), dtype=np.int64), np.zeros(1), self.log, self.odds)

    def seen_by_items(self, data: Crossed, known: Odds) -> tuple[Crossed, Odds]:
        """Return the data as if each label had its own annotator, whose odds include covariates."""
        odds = known.annotator[data.annotator] * self.odds
        return data._replace(annotator=self.label), known._replace(annotator=odds)

    def seen_by_annotators(self, data: Crossed, known: Odds) -> tuple[Crossed, Odds]:
        """Return the data as if each label had its own item, whose odds include covariates."""
        odds = known.cell[data.cell] * self.odds
        alone = data._replace(
            cell=self.label, cell_start=self.starts, cell_pool=self.pool,
            annotator_cell=self.by_annotator,
        )  # fmt: skip
        return alone, known._replace(cell=odds)


def by_items(data: Crossed, known: Odds, offset: Offset | None) -> tuple[Crossed, Odds]:
    """Return labels and odds for moves of items."""
    return offset.seen_by_items(data, known) if offset else (data, known)


def by_annotators(data: Crossed, known: Odds, offset: Offset | None) -> tuple[Crossed, Odds]:
    """Return labels and odds for moves of annotators."""
    return offset.seen_by_annotators(data, known) if offset else (data, known)


def _constant(side: Side, square: Floats) -> Ints:
    """Return the indices of terms that are constant within groups."""
    within = np.einsum("pkk->k", side.within)
    return np.flatnonzero(within <= _CONSTANT * square)


def move_coefficients(
    state: State, data: Crossed, par: Parameters, priors: Priors, offset: Offset, known: Odds,
    precision: Floats, rate: float,
) -> None:  # fmt: skip
    """Draw coefficients in the three ways that the module lists.

    ``precision`` is the prior precision of items' effects, by design; ``rate`` is the learning rate
    of `Offset.centre`.
    """
    given_effects(state, data, par, priors, offset)
    offset.centre += rate * (np.concatenate([par.mu, par.coefficient]) - offset.centre)
    _against_items(state, data, par, priors, offset, precision)
    if (par.sd_annotator > 0.0).any():
        _against_annotators(state, data, par, priors, offset)
    offset.refresh(par)
    exponentials(data.cell_pool, np.zeros(data.n_pools), par.item, known.cell)


def given_effects(
    state: State, data: Crossed, par: Parameters, priors: Priors, offset: Offset,
    guessed: float = 0.0,
) -> None:  # fmt: skip
    """Draw means and coefficients along an ellipse about a normal approximation.

    If ``guessed`` is 0, a value of 1 is the second of two outcomes. Otherwise, ``guessed`` is the
    number of labels that guesses are drawn from, and a value of 1 is a right label, known or
    guessed. The caller must refresh the offset afterwards.

    The approximation comes from two Newton steps from the offset's centre. It depends on the
    effects, not on the current coefficients. The slice is under the exact density (Nishihara,
    Murray & Adams 2014, "Parallel MCMC with generalized elliptical slice sampling", section 3).
    """
    prior, n_pools = np.concatenate([priors.mu, priors.coefficient]), len(par.mu)
    rest = par.item[data.cell] + par.annotator[data.annotator]
    first, _ = newton_step(offset.centre, rest, data.value, offset.design, prior, guessed)
    middle, root = newton_step(first, rest, data.value, offset.design, prior, guessed)
    current = np.concatenate([par.mu, par.coefficient]) - middle
    auxiliary = np.zeros(len(current))
    draw_normal(state, np.tril(root @ root.T) / _WIDER, auxiliary)
    design = offset.design
    etas = np.stack([rest + design @ middle, design @ current, design @ auxiliary])

    def height(angle: float) -> float:
        """Return the logarithm of the density divided by the approximation."""
        cos, sin = np.cos(angle), np.sin(angle)
        at = cos * current + sin * auxiliary
        if (middle[:n_pools] + at[:n_pools] < priors.least).any():
            return -np.inf
        whitened = at @ root
        likelihood = log_labels(etas[0] + cos * etas[1] + sin * etas[2], data.value, guessed)
        away = (middle + at - prior[:, 0]) / prior[:, 1]
        return likelihood - 0.5 * float(away @ away - whitened @ whitened / _WIDER)

    least = height(0.0) + np.log(_uniform(state))
    angle = 2.0 * np.pi * _uniform(state)
    low, high = angle - 2.0 * np.pi, angle
    while not height(angle) > least and high - low > _NARROW:
        low, high = (angle, high) if angle < 0.0 else (low, angle)
        angle = low + (high - low) * _uniform(state)
    if high - low > _NARROW:
        moved = middle + np.cos(angle) * current + np.sin(angle) * auxiliary
        par.mu[:], par.coefficient[:] = moved[:n_pools], moved[n_pools:]


@kernel
def _uniform(state: State) -> float:
    return uniform(state)


def log_labels(eta: Floats, value: Floats, guessed: float) -> float:
    """Return the log-likelihood of labels, up to a constant.

    With guessing, ``eta`` are the logits of knowing the truth.
    """
    right = np.logaddexp(0.0, eta + np.log(guessed)) if guessed else eta
    return float(value @ right - np.logaddexp(0.0, eta).sum())


def newton_step(
    at: Floats, rest: Floats, value: Floats, design: Floats, prior: Floats, guessed: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the end of a step towards the mode, and the precision's Cholesky factor at its start.

    A step changes no label's logit by more than three. With guessing, the expected information is
    used: the observed information may be negative.
    """
    eta = design @ at + rest
    chance = _logistic(eta)
    # Probability that the truth was known, if the label is right.
    knew = _logistic(eta + np.log(guessed)) if guessed else 1.0
    gradient = design.T @ (value * knew - chance) - (at - prior[:, 0]) / prior[:, 1] ** 2
    information = chance * (1.0 - chance) * knew * (1.0 - 1.0 / guessed if guessed else 1.0)
    precision = (design * information[:, None]).T @ design
    precision += np.diag(prior[:, 1] ** -2.0)
    root = np.linalg.cholesky(precision)
    step = np.linalg.solve(root.T, np.linalg.solve(root, gradient))
    far = float(np.abs(design @ step).max(initial=0.0))
    return at + step * min(1.0, _FARTHEST / max(far, 1e-300)), root


def _logistic(eta: Floats) -> Floats:
    out: Floats = 1.0 / (1.0 + np.exp(-np.clip(eta, -700.0, 700.0)))
    return out


def _against_items(
    state: State, data: Crossed, par: Parameters, priors: Priors, offset: Offset,
    precision: Floats,
) -> None:  # fmt: skip
    terms, side = offset.of_items, offset.regression.cells
    if not len(terms):
        return
    used = data.designs.n_labels > 0
    precision = np.where(used[:, :, None] & used[:, None, :], precision, 0.0)
    chosen = len(par.mu) + terms
    laid = np.zeros((len(data.designs.of_item), precision.shape[1]))
    laid[side.owner, side.place] = par.item
    pull = np.einsum("ikl,il->ik", precision[data.designs.of_item], laid)[side.owner, side.place]
    between = side.between[:, :, :, chosen[:, None], chosen]
    move = _drawn(
        state, np.einsum("dkl,dklfg->fg", precision, between), pull @ side.mean[:, terms],
        par.coefficient[terms], priors.coefficient[terms],
    )  # fmt: skip
    par.coefficient[terms] += move
    par.item[:] -= side.mean[:, terms] @ move


def _against_annotators(
    state: State, data: Crossed, par: Parameters, priors: Priors, offset: Offset
) -> None:
    terms, side = offset.of_annotators, offset.regression.annotators
    if not len(terms):
        return
    inverse = par.sd_annotator[data.annotator_pool] ** -2.0
    mean = side.mean[:, terms]
    move = _drawn(
        state, (mean * inverse[:, None]).T @ mean, (par.annotator * inverse) @ mean,
        par.coefficient[terms], priors.coefficient[terms],
    )  # fmt: skip
    par.coefficient[terms] += move
    par.annotator[:] -= mean @ move


def _drawn(state: State, precision: Floats, linear: Floats, now: Floats, prior: Floats) -> Floats:
    """Draw a move of coefficients; the effects' part of its precision and linear term is given."""
    weight = prior[:, 1] ** -2.0
    move = linear + weight * (prior[:, 0] - now)
    draw_normal(state, precision + np.diag(weight), move)
    return move
