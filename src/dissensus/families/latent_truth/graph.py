"""What a Gibbs step must know of a latent truth in a model, read off the model's graph.

Variables are known by the names that `dissensus.models.symmetric_confusion` and
`dissensus.models.dawid_skene` give them. That they are put together as in these models is found by
trying: at a few points the tables that the labels see, and the parameters of every prior, must be
what the kernel makes of the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from pytensor.tensor.random.basic import (
    DirichletRV,
    GammaRV,
    HalfNormalRV,
    LogNormalRV,
    NormalRV,
    UniformRV,
)
from scipy.special import expit

from dissensus.families.latent_truth.distributions import LatentTruthRV, LeadingDirichletRV
from dissensus.families.latent_truth.kernels.data import (
    COMPLETE,
    EQUAL,
    GRADED,
    HIERARCHICAL,
    NONE,
    UNEQUAL,
    Form,
    Parameters,
    Priors,
    fifths,
)
from dissensus.families.latent_truth.kernels.states import fill_tables, n_states
from dissensus.families.latent_truth.parameters import TYPICAL, oracle, points
from dissensus.kernels.types import Floats
from dissensus.kernels.votes import Votes, votes
from dissensus.sampling.step import refuse_other_uses, uncompiled, unfit

Values = Mapping[str, Floats]

_KINDS: Final = {
    "prevalence": DirichletRV, "annotator_accuracy": UniformRV,
    "annotator_typical_accuracy": UniformRV, "mean_accuracy": UniformRV,
    "accuracy_spread": HalfNormalRV, "annotator_offset": NormalRV, "system_accuracy": UniformRV,
    "system_typical_accuracy": UniformRV, "distance_decay": NormalRV,
    "error_concentration": LogNormalRV, "error_rows": DirichletRV,
    "difficulty_spread": HalfNormalRV, "difficulty_slope": LogNormalRV, "shared_answers": UniformRV,
    "source_typical_accuracy": UniformRV, "population_confusion": LeadingDirichletRV,
    "confusion_concentration": GammaRV, "right_or_wrong": DirichletRV, "confusion": DirichletRV,
    "system_level": UniformRV, "system_confusion": DirichletRV,
}  # fmt: skip
_TRIED: Final = 3


class Reading(NamedTuple):
    """Labels, the form of the process and its priors."""

    votes: Votes
    form: Form
    ease: Floats
    priors: Priors
    names: tuple[str, ...]
    """Of the variables that the step moves."""
    natural: Callable[[Mapping[str, Any]], dict[str, Floats]]
    """From a point to the variables in natural units."""


def knows(name: Any) -> bool:
    """Say whether a variable of this name is one of a latent truth."""
    return isinstance(name, str) and name.removeprefix(TYPICAL) in _KINDS


def has_form(model: Any) -> bool:
    """Say whether a model looks like one of a latent truth, by its labels and names."""
    observed = model.observed_RVs
    return (
        len(observed) == 1
        and isinstance(observed[0].owner.op, LatentTruthRV)
        and "prevalence" in {one.name for one in model.free_RVs}
    )


def read(model: Any) -> Reading:
    """Read a model.

    Raises
    ------
    ArgumentError
        If the step would not be exact for it, saying why.
    """
    if not has_form(model):
        raise unfit("one observed LatentTruth, and its prevalence", "others")
    free = {one.name.removeprefix(TYPICAL): one for one in model.free_RVs}
    _refuse_strangers(model, free)
    labels = model.observed_RVs[0]
    log_weight, log_response, item, voice = labels.owner.op.dist_params(labels.owner)
    parameters = {name: one.owner.op.dist_params(one.owner) for name, one in free.items()}
    flat = [part for each in parameters.values() for part in each]

    def at(point: Mapping[str, Any]) -> _Seen:
        found = iter(evaluate(point))
        natural = {name: np.asarray(next(found)) for name in free}
        tables = (next(found), next(found))
        return _Seen(natural, tables, {n: [next(found) for _ in p] for n, p in parameters.items()})

    with uncompiled():
        evaluate = _function(model, [*free.values(), log_weight, log_response, *flat])
        begin = model.initial_point()
        start = at(begin)
        known = _is_oracle(start.tables[1][-1])
        if known:
            start = _without_oracle(start)
        form, ease = _form(start)
        priors = _priors(start, form)
        generator = np.random.default_rng(1)
        for _ in range(_TRIED):
            point = {
                name: value + 0.3 * generator.standard_normal(np.shape(value))
                for name, value in begin.items()
            }
            seen = at(point)
            _compare(_without_oracle(seen) if known else seen, form, ease, priors)
        value = np.asarray(model.rvs_to_values[labels].eval(), dtype=np.int64)
        which, who = (np.asarray(one.eval(), dtype=np.int64) for one in (item, voice))
    truth = np.full(int(which.max(initial=-1)) + 1, -1)
    said = who < form.n_voices
    truth[which[~said]] = value[~said]
    found, _ = votes(which[said], who[said], value[said], len(truth), truth)
    names = tuple(one.name for one in free.values())
    return Reading(found, form, ease, priors, names, _natural(model, free))


def _function(model: Any, outputs: Iterable[Any]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    """Make a function of a point, as PyTensor's mode says."""
    made: Callable[[Mapping[str, Any]], Sequence[Any]] = model.compile_fn(
        model.replace_rvs_by_values(list(outputs)), inputs=model.value_vars,
        on_unused_input="ignore",
    )  # fmt: skip
    return made


def _natural(
    model: Any, free: Mapping[str, Any]
) -> Callable[[Mapping[str, Any]], dict[str, Floats]]:
    """Compile the way from a point, where a chain stands, to variables in natural units."""
    evaluate = _function(model, free.values())
    return lambda point: dict(zip(free, map(np.asarray, evaluate(point)), strict=True))


class _Seen(NamedTuple):
    """What a model makes of a point."""

    natural: dict[str, Floats]
    tables: tuple[Floats, Floats]
    priors: dict[str, list[Floats]]
    """The parameters of each variable's distribution."""


def _is_oracle(log_response: Floats) -> bool:
    """Say whether a voice never errs: the truth that is known."""
    n, n_states = log_response.shape
    return bool(np.array_equal(log_response, oracle(n, n_states)))


def _without_oracle(seen: _Seen) -> _Seen:
    log_weight, log_response = seen.tables
    return seen._replace(tables=(log_weight, log_response[:-1]))


def _refuse_strangers(model: Any, free: Mapping[str, Any]) -> None:
    """Raise if a variable is unknown, of another distribution, or used by something else."""
    for name, one in free.items():
        if name not in _KINDS or not isinstance(one.owner.op, _KINDS[name]):
            raise unfit("the variables of the library's models only", f"{name}: {one.owner.op}")
    refuse_other_uses(model, free.values(), model.observed_RVs[0])


def _form(seen: _Seen) -> tuple[Form, Floats]:
    """Find which process it is by the names of its variables."""
    names, (log_weight, log_response) = set(seen.natural), seen.tables
    n_voices, n = log_response.shape[:2]
    systems = {"system_accuracy", "system_typical_accuracy", "system_confusion"} & names
    n_systems = len(seen.natural[systems.pop()]) if systems else 0
    pooled, own = "population_confusion" in names, "right_or_wrong" in names
    difficulty, related = "difficulty_spread" in names, "shared_answers" in names
    graded, unequal = "distance_decay" in names, "error_concentration" in names
    form = Form(
        n_labels=n, n_voices=n_voices, first_system=n_voices - n_systems, evidence=n_voices,
        rows=int(pooled or "confusion" in names),
        own_accuracy=int("annotator_offset" in names and not pooled),
        errors=UNEQUAL if unequal else GRADED if graded else EQUAL, ordered=int(graded),
        difficulty=int(difficulty), related=int(related),
        pooling=(HIERARCHICAL if own else COMPLETE) if pooled else NONE,
    )  # fmt: skip
    ease = fifths() if difficulty else np.zeros(1)
    if n_states(form, ease) != len(log_weight):
        raise unfit(f"{n_states(form, ease)} states of an item", f"{len(log_weight)}")
    return form, ease


def _priors(seen: _Seen, form: Form) -> Priors:
    """Read the priors that may differ from model to model."""

    def of(name: str, place: int) -> Any:
        return np.asarray(seen.priors[name][place] if name in seen.priors else 1.0, dtype=float)

    def number(name: str, place: int) -> float:
        return float(of(name, place).flat[0])  # that all are the same is seen when it is tried

    n = form.n_labels
    rows = of("population_confusion" if form.pooling != NONE else "confusion", 0)
    return Priors(
        prevalence=np.broadcast_to(of("prevalence", 0), n).copy(),
        spread=number("accuracy_spread", 1), difficulty=number("difficulty_spread", 1),
        slope=number("difficulty_slope", 1), decay=number("distance_decay", 1),
        concentration=np.array([number("error_concentration", place) for place in (0, 1)]),
        rows=np.broadcast_to(rows, (*rows.shape[:-2], n, n)).reshape(-1, n, n)[0].copy(),
        alike=np.array(
            [number("confusion_concentration", 0), 1 / number("confusion_concentration", 1)]
        ),
        system=float(of("system_confusion", 0)[..., :1, :].sum(axis=-1).flat[0])
        if "system_confusion" in seen.priors
        else 1.0,
    )  # fmt: skip


def _compare(seen: _Seen, form: Form, ease: Floats, priors: Priors) -> None:
    """Raise unless the kernel makes the same of these numbers."""
    many = points(form, {name: value[None] for name, value in seen.natural.items()})
    one = Parameters(*(part[0] for part in many))
    tables = np.empty_like(seen.tables[0]), np.empty_like(seen.tables[1])
    fill_tables(form, ease, one, *tables)
    for name, found, wanted in zip(("states", "labels"), seen.tables, tables, strict=True):
        if not np.allclose(found, wanted, rtol=1e-6, atol=1e-8):
            raise unfit(f"probabilities of {name} as in the library's models", "others")
    for name, expected in _expected(seen.natural, one, form, priors).items():
        for found, right in zip(seen.priors[name], expected, strict=True):
            if not np.allclose(found, right, rtol=1e-6, atol=1e-8):
                raise unfit(f"{name} with the prior of the library's models", str(found))


def _expected(
    natural: Values, par: Parameters, form: Form, priors: Priors
) -> dict[str, tuple[Any, ...]]:
    """Return the parameters of each variable's distribution at a point."""
    low, unit = (1.0 / form.n_labels, 1.0), (0.0, 1.0)
    shape, rate = priors.alike
    n = form.n_labels
    away = ~np.eye(n, dtype=bool)
    level = natural.get("system_level", np.ones(0))[:, None, None]
    even = np.where(away, (1 - level) / max(n - 1, 1), level)
    concentration = natural.get("error_concentration", 1.0)
    if form.pooling == HIERARCHICAL:
        error_rows = (par.alike[:, None] * np.exp(par.log_population))[away].reshape(n, n - 1)
    else:
        error_rows = concentration * np.exp(par.log_base[away].reshape(n, n - 1))
    known: dict[str, tuple[Any, ...]] = {
        "prevalence": (priors.prevalence,), "annotator_accuracy": low,
        "annotator_typical_accuracy": low, "mean_accuracy": low,
        "accuracy_spread": (0.0, priors.spread),
        "annotator_offset": unit,
        "system_accuracy": unit, "system_typical_accuracy": unit,
        "distance_decay": (0.0, priors.decay), "error_concentration": tuple(priors.concentration),
        "error_rows": (error_rows,),
        "difficulty_spread": (0.0, priors.difficulty), "difficulty_slope": (0.0, priors.slope),
        "shared_answers": unit, "source_typical_accuracy": unit,
        "population_confusion": (priors.rows, np.arange(n)),
        "confusion_concentration": (shape, 1 / rate),
        "confusion": (priors.rows,), "right_or_wrong": (_accuracies(par, form),),
        "system_level": unit, "system_confusion": (priors.system * even,),
    }  # fmt: skip
    return {name: known[name] for name in natural}


def _accuracies(par: Parameters, form: Form) -> Floats:
    """Return the shapes of annotators' accuracies, right and wrong (annotator, label, 2)."""
    right = np.diagonal(par.log_population)
    wrong = np.exp(par.log_population).sum(axis=1) - np.exp(right)
    odds = right - np.log(wrong) + par.level[: form.first_system, None]
    return np.asarray(par.alike[:, None] * expit(np.stack([odds, -odds], axis=-1)))
