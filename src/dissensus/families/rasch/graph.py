"""Abilities and difficulties read off a PyMC model, with a proof that it is a Rasch model.

Variables have the names that `dissensus.models.rasch` gives them. The model may have further
variables if they do not depend on these, nor these on them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from pymc.distributions.continuous import TruncatedNormalRV
from pytensor.tensor.random.basic import DirichletRV, NormalRV
from pytensor.tensor.special import LogAddExp

from dissensus import dims
from dissensus.families import base
from dissensus.families.crossed.graph import scale_prior
from dissensus.families.rasch.distributions import LatentAnswersRV
from dissensus.families.rasch.process import Process
from dissensus.kernels.types import UNKNOWN, Floats, Ints
from dissensus.sampling import proof
from dissensus.sampling.interpreter import of_point, uncompiled
from dissensus.sampling.step import is_as_written, unfit

MEAN, ABILITY_SPREAD, ABILITY = "mean_ability", "ability_spread", "ability"
DIFFICULTY_SPREAD, DIFFICULTY = "difficulty_spread", "difficulty"
PREVALENCE, WRONG, RIGHT = "prevalence", "confidence_if_wrong", "confidence_if_right"
NAMES: Final = (
    MEAN, ABILITY_SPREAD, ABILITY, DIFFICULTY_SPREAD, DIFFICULTY, PREVALENCE, WRONG, RIGHT,
    proof.COEFFICIENT,
)  # fmt: skip
_LEVELS: Final = frozenset({WRONG, RIGHT})
_NEEDED: Final = frozenset(NAMES) - _LEVELS - {proof.COEFFICIENT}


class Reading(NamedTuple):
    """The parts of a model that the step needs."""

    process: Process
    names: tuple[str, ...]  # The variables that the step moves


def has_form(model: Any) -> bool:
    """Return whether a model has the labels of a Rasch model."""
    return bool(_answers(model))


def _answers(model: Any) -> list[Any]:
    return [rv for rv in model.observed_RVs if isinstance(rv.owner.op, LatentAnswersRV)]


def read(model: Any) -> Reading:
    """Read a model; the error for another model names the variable that differs."""
    if len(_answers(model)) != 1:
        raise unfit("one observed LatentAnswers", "others")
    proof.require_free(model, sorted(_NEEDED))
    (answers,) = _answers(model)
    with uncompiled():
        process = _process(model, answers)
        reference = model if is_as_written(model) else base.model_of("rasch")(process)
        parameters = ("log_truth", "logit", "log_level", "respondent")
        proof.prove(model, answers, reference, parameters=parameters)
    moved = {rv.name for rv in reference.free_RVs}
    return Reading(process, tuple(name for name in NAMES if name in moved))


def _process(model: Any, answers: Any) -> Process:
    """Return the process that a model may be of."""
    free, shape = {rv.name: rv for rv in model.free_RVs}, proof.shapes(model)
    log_truth, logit, _, respondent = proof.prior(answers)
    who, said = proof.by_place(model, answers, respondent)
    items, place = np.nonzero(who >= 0)
    truth, n_labels = _truth(model, log_truth, len(who))
    names = sorted(_LEVELS & set(free))
    if len(names) == 1:
        raise unfit(f"both of {RIGHT} and {WRONG}, or none", names[0])
    counts = [_counts(model, free[name]) for name in names]
    n_levels = len(counts[0]) if counts else 0
    if len({count for each in counts for count in each}) > 1:
        raise unfit("one prior count for all levels of confidence", str(counts))
    code = proof.codes(said[items, place], n_labels * max(n_levels, 1), "labels")
    label, level = np.divmod(code, max(n_levels, 1))
    if len(shape[ABILITY]) != 1:
        raise unfit(f"{ABILITY} with 1 dimension", str(len(shape[ABILITY])))
    (n_people,) = shape[ABILITY]
    design = proof.regression(model, *who.shape)
    if design:
        design["covariates"] = design["covariates"][items, place]
    op = logit.owner.op if logit.owner is not None else None
    mean, sd, least = _mean_prior(model, free[MEAN])
    return Process(
        annotations=xr.Dataset(coords={
            dims.ITEM: np.arange(len(truth)), dims.LABEL: np.arange(n_labels),
            dims.ANNOTATOR: np.arange(n_people),
        }),
        item=items, annotator=proof.codes(who[items, place], n_people, "respondents"),
        label=label, truth=truth, level=level if n_levels else level[:0],
        levels=np.arange(n_levels, dtype=np.float64), guessing=isinstance(op, LogAddExp),
        priors={MEAN: (mean, sd)}
        | {name: scale_prior(model, free[name]) for name in (ABILITY_SPREAD, DIFFICULTY_SPREAD)},
        prior_count=_counts(model, free[PREVALENCE]),
        least=least,
        level_prior=float(counts[0][0]) if counts else 1.0,
        **design,
    )  # fmt: skip


def _truth(model: Any, log_truth: Any, n_items: int) -> tuple[Ints, int]:
    """Return the known labels of items, and the number of labels."""
    possible = np.isfinite(of_point(model, [log_truth])(model.initial_point())[0])
    n_possible, n_labels = possible.sum(axis=1), possible.shape[1]
    if not np.isin(n_possible, (1, n_labels)).all():
        raise unfit("items of which one label may be true, or all", "some of the labels")
    truth = np.where(n_possible == 1, possible.argmax(axis=1), UNKNOWN)
    return np.broadcast_to(truth, n_items).copy(), n_labels


def _mean_prior(model: Any, rv: Any) -> tuple[float, float, float]:
    """Return mean, standard deviation and lower bound of a normal prior."""
    op = rv.owner.op
    if not isinstance(op, NormalRV | TruncatedNormalRV):
        raise unfit(f"{rv.name} with a Normal prior, or a TruncatedNormal one", str(op))
    given = [proof.number(model, parameter, rv.name) for parameter in proof.prior(rv)]
    mean, sd, least, most = given if len(given) == 4 else (*given, -np.inf, np.inf)
    if most < np.inf:
        raise unfit(f"{rv.name} without an upper bound", f"{most:g}")
    return mean, sd, least


def _counts(model: Any, rv: Any) -> Floats:
    """Return the parameters of a Dirichlet prior."""
    if not isinstance(rv.owner.op, DirichletRV):
        raise unfit(f"{rv.name} with a Dirichlet prior", str(rv.owner.op))
    (counts,) = proof.constants(model, proof.prior(rv))
    return np.asarray(counts, dtype=np.float64)
