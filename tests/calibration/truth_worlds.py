"""Worlds with a latent truth, drawn from the priors that the cards state, and labels from them.

Plain NumPy, written from the cards alone: nothing of the package's is used. A respondent is an
annotator, or a system after them; each annotator is one, even if all are alike.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Generator = np.random.Generator


def _fifths() -> Floats:
    """Return the means of a normal distribution's fifths, with variance 1."""
    edges = stats.norm.ppf(np.linspace(0, 1, 6)).tolist()
    means = [stats.norm.expect(lb=a, ub=b, conditional=True) for a, b in pairwise(edges)]
    return np.asarray(means) / np.std(means)


FIFTHS: Final = _fifths()


class Setting(NamedTuple):
    """Which process, of those that the two models know."""

    model: str
    n_labels: int
    n_annotators: int
    n_systems: int
    ordered: bool = False
    own_accuracy: bool = False
    errors: str = "equal"
    pooling: str = ""
    difficulty: bool = False
    related: bool = False
    evidence: str = "all"
    prior_count: float = 1.0
    known: float = 0.0
    """Share of items whose truth is known."""


class World(NamedTuple):
    """Everything that the posterior is over, but the truth of items."""

    prevalence: Floats
    skill: Floats
    """Logit of being right about a typical item (respondent, label)."""
    log_error: Floats
    """(respondent, label, response)"""
    log_base: Floats
    """(label, response): what rows of errors are drawn around, and a source's errors."""
    slope: Floats
    """(respondent)"""
    difficulty: float
    shared: float
    source: float
    """Logit."""
    mean: float
    spread: float
    decay: float
    concentration: float
    population: Floats
    alike: Floats
    level: Floats
    """The accuracy that a system's rows are drawn around (system)."""
    better: Floats
    """By how much the logits of an annotator lie above his population's (annotator)."""


class Study(NamedTuple):
    """What was said, and what nobody sees."""

    item: Codes
    respondent: Codes
    trial: Codes
    label: Codes
    """(row)"""
    truth: Codes
    fifth: Codes
    """(item)"""
    known: Codes
    """The truth where it is known, else -1 (item)."""


# -- Worlds -----------------------------------------------------------------------------------


def _log_dirichlet(shape: Floats, rng: Generator) -> Floats:
    """Draw in logarithms, up to a constant; a Gamma variate of a small shape would be 0."""
    gamma = np.log(rng.standard_gamma(shape + 1.0))
    return gamma + np.log(rng.random(np.shape(shape))) / shape


def _errors(log_weight: Floats) -> Floats:
    """Bring weights (..., label, response) to log-probabilities of errors."""
    away = np.where(np.eye(log_weight.shape[-1], dtype=bool), -np.inf, log_weight)
    return away - special.logsumexp(away, axis=-1, keepdims=True)


def _split(log_row: Floats) -> tuple[Floats, Floats]:
    """Split rows (..., label, response) into logits of being right, and errors."""
    n = log_row.shape[-1]
    wrong = special.logsumexp(np.where(np.eye(n, dtype=bool), -np.inf, log_row), axis=-1)
    return np.diagonal(log_row, axis1=-2, axis2=-1) - wrong, _errors(log_row)


def _symmetric(setting: Setting, rng: Generator) -> dict[str, object]:
    """Draw one accuracy for each respondent, and its errors."""
    n, n_respondents = setting.n_labels, setting.n_annotators + setting.n_systems
    mean, spread = special.logit(rng.uniform(1 / n, 1)), abs(rng.standard_normal())
    skill = np.full(setting.n_annotators, mean)
    if setting.own_accuracy:
        skill = rng.normal(mean, spread, setting.n_annotators)
    skill = np.concatenate([skill, special.logit(rng.random(setting.n_systems))])
    decay, concentration = rng.standard_normal(), np.exp(rng.normal(1.5, 1.0))
    graded = setting.ordered and setting.errors != "equal"
    step = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    base = _errors(-(decay if graded else 0.0) * step)
    error = np.broadcast_to(base, (n_respondents, n, n))
    if setting.errors == "unequal":
        shape = np.where(np.eye(n, dtype=bool), 1.0, concentration * np.exp(base))
        error = _errors(_log_dirichlet(np.broadcast_to(shape, (n_respondents, n, n)), rng))
    return {
        "skill": np.repeat(skill[:, None], n, axis=1), "log_error": error, "log_base": base,
        "mean": mean, "spread": spread, "decay": decay, "concentration": concentration,
    }  # fmt: skip


def _matrices(setting: Setting, rng: Generator) -> dict[str, object]:
    """Draw a confusion matrix for each respondent."""
    n, who = setting.n_labels, setting.n_annotators
    right = np.eye(n, dtype=bool)
    prior = np.where(right, 2.8, 1.2 / (n - 1))
    log_mean = _log_dirichlet(prior, rng)
    while setting.pooling != "none" and (log_mean.argmax(axis=1) != np.arange(n)).any():
        log_mean = _log_dirichlet(prior, rng)  # each label is called by its own name most often
    log_mean -= special.logsumexp(log_mean, axis=1, keepdims=True)
    alike = rng.gamma(2.0, 1 / 0.2, n)
    spread, better = abs(rng.standard_normal()), np.zeros(who)
    if setting.pooling == "hierarchical":
        better = spread * rng.standard_normal(who)
        people = _around(log_mean, alike, better, rng)
    elif setting.pooling == "none":
        people = _log_dirichlet(np.broadcast_to(prior, (who, n, n)), rng)
    else:
        people = np.broadcast_to(log_mean, (who, n, n))
    level = rng.random((setting.n_systems, 1, 1))
    systems = _log_dirichlet(10.0 * np.where(right, level, (1 - level) / (n - 1)), rng)
    skill, error = _split(np.concatenate([people, systems]))
    return {"skill": skill, "log_error": error, "log_base": _errors(np.zeros((n, n))),
            "population": np.exp(log_mean), "alike": alike, "spread": spread,
            "level": level.ravel(), "better": better}  # fmt: skip


def _around(log_mean: Floats, alike: Floats, level: Floats, rng: Generator) -> Floats:
    """Draw log rows (respondent, label, response), of people who are good at all or at none.

    Being right is Beta, with the odds of the population's row times those of the person; errors
    are Dirichlet, whatever the person.
    """
    n = len(log_mean)
    logit, _ = _split(log_mean)
    odds = logit + level[:, None]
    pair = np.stack([special.expit(odds), special.expit(-odds)], axis=-1)
    hit = _log_dirichlet(alike[:, None] * pair, rng)
    hit -= special.logsumexp(hit, axis=-1, keepdims=True)
    shape = np.broadcast_to(alike[:, None] * np.exp(log_mean), (len(level), n, n))
    error = _errors(_log_dirichlet(shape, rng))
    return np.where(np.eye(n, dtype=bool), hit[..., 0, None], hit[..., 1, None] + error)


def world(setting: Setting, rng: Generator) -> World:
    """Draw all parameters from their priors."""
    parts = _matrices(setting, rng) if setting.pooling else _symmetric(setting, rng)
    slope = np.ones(setting.n_annotators + setting.n_systems)
    if setting.difficulty:
        slope[setting.n_annotators :] = np.exp(rng.normal(0.0, 0.5, setting.n_systems))
    absent = dict.fromkeys(("mean", "spread", "decay", "concentration"), 0.0)
    absent |= dict.fromkeys(("population", "alike", "level", "better"), np.zeros(1))
    return World(
        prevalence=rng.dirichlet(np.full(setting.n_labels, setting.prior_count)), slope=slope,
        difficulty=abs(rng.standard_normal()) if setting.difficulty else 0.0,
        shared=rng.random(), source=special.logit(rng.random()), **{**absent, **parts},
    )  # fmt: skip


# -- Labels -----------------------------------------------------------------------------------


def eased(logit: Floats, ease: Floats, n_labels: int) -> Floats:
    """Return logits of being right about items that are easier than typical ones by this.

    The odds beyond those of a guess are multiplied; who is no better than a guess stays so.
    """
    guess = -np.log(n_labels - 1)
    with np.errstate(divide="ignore"):
        beyond = logit + np.log1p(-np.exp(-np.maximum(logit - guess, 0.0)))
    return np.where(logit > guess, np.logaddexp(beyond + ease, guess), logit)


def _log_answer(eta: Floats, log_error: Floats, z: Codes) -> Floats:
    """Return log-probabilities of responses (row, response), of rows with these logits."""
    out = special.log_expit(-eta)[:, None] + log_error
    out[np.arange(len(z)), z] = special.log_expit(eta)
    return out


def _pick(log_p: Floats, rng: Generator) -> Codes:
    edge = np.exp(log_p).cumsum(axis=1)
    return (rng.random((len(edge), 1)) * edge[:, -1:] > edge).sum(axis=1)


def labelled(
    setting: Setting, world: World, rows: tuple[Codes, Codes, Codes], n_items: int, rng: Generator
) -> Study:
    """Draw the truth of items, their difficulty, and labels (item, respondent, trial of each)."""
    item, respondent, trial = rows
    truth = rng.choice(setting.n_labels, n_items, p=world.prevalence)
    fifth = rng.integers(5, size=n_items) if setting.difficulty else np.full(n_items, 2)
    ease = world.difficulty * FIFTHS[fifth]
    n = setting.n_labels
    eta = eased(world.skill[respondent, truth[item]], world.slope[respondent] * ease[item], n)
    label = _pick(_log_answer(eta, world.log_error[respondent, truth[item]], truth[item]), rng)
    if setting.related:
        guide = eased(np.asarray(world.source), ease, n)
        source = _pick(_log_answer(guide, world.log_base[truth], truth), rng)
        taken = (respondent >= setting.n_annotators) & (rng.random(len(respondent)) < world.shared)
        label = np.where(taken, source[item], label)
    known = np.full(n_items, -1)
    if setting.known:
        known = np.where(rng.random(n_items) < setting.known, truth, -1)
    return Study(item, respondent, trial, label, truth, fifth, known)


def log_likelihood(setting: Setting, world: World, study: Study) -> float:
    """Return that of all labels that are evidence, and of known truths, state by state."""
    system = study.respondent >= setting.n_annotators
    used = ~system if setting.evidence == "annotators" else np.full(len(system), True)
    item, respondent, label, system = (
        part[used] for part in (study.item, study.respondent, study.label, system)
    )
    states, n = [], setting.n_labels
    for z, q, f in product(range(n), range(5), range(n)):
        ease, at = world.difficulty * FIFTHS[q], np.full(1, z)
        guide = eased(np.full(1, world.source), ease, n)
        log_source = _log_answer(guide, world.log_base[[z]], at)[0, f]
        eta = eased(world.skill[respondent, z], world.slope[respondent] * ease, n)
        own = _log_answer(eta, world.log_error[respondent, z], np.full(len(respondent), z))
        p = np.exp(own[np.arange(len(label)), label])
        if setting.related:
            p = np.where(system, (1 - world.shared) * p + world.shared * (label == f), p)
        each = np.where((study.known < 0) | (study.known == z), 0.0, -np.inf)
        with np.errstate(divide="ignore"):
            np.add.at(each, item, np.log(p))
            states.append(np.log(world.prevalence[z] / 5) + log_source + each)
    return float(special.logsumexp(states, axis=0).sum())


def accuracy(setting: Setting, world: World) -> Floats:
    """Return how often each respondent is right about items as they come (respondent)."""

    def right(logit: Floats, slope: Floats) -> Floats:
        ease = world.difficulty * slope * FIFTHS
        return special.expit(eased(logit[..., None], ease, setting.n_labels)).mean(axis=-1)

    own = right(world.skill, world.slope[:, None, None]) @ world.prevalence
    if setting.related:
        source = right(np.asarray(world.source), np.ones(1))
        rest = slice(setting.n_annotators, None)
        own[rest] = (1 - world.shared) * own[rest] + world.shared * source
    return own


def confusion(world: World) -> Floats:
    """Return how often each response is given, over items as hard as they come."""
    n = world.skill.shape[-1]
    ease = world.difficulty * world.slope[:, None, None] * FIFTHS
    right = special.expit(eased(world.skill[..., None], ease, n)).mean(axis=-1)
    same = np.eye(n, dtype=bool)
    return np.where(same, right[..., None], (1 - right)[..., None] * np.exp(world.log_error))
