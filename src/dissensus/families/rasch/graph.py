"""What a Gibbs step must know of abilities and difficulties in a model, read off the model's graph.

Variables are known by the names that `dissensus.models.rasch` gives them. That they are put
together as in that model is found by trying numbers: at a few points what the labels see, and the
parameters of the priors, must be what the kernel makes of the same numbers. The model may have more
in it, as long as nothing hangs together with these variables or their labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from pymc.distributions.transforms import SimplexTransform
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import DirichletRV, NormalRV

from dissensus.families.crossed.graph import (
    PLAIN,
    bound_below,
    constants,
    normal_above,
    require_logarithm,
    scale_prior,
)
from dissensus.families.crossed.kernels.data import HALF_NORMAL, Crossed, Priors, crossed
from dissensus.families.rasch.distributions import LatentAnswersRV
from dissensus.families.rasch.kernels.data import Said
from dissensus.kernels.types import UNKNOWN, Floats, Ints
from dissensus.sampling.step import refuse_other_uses, to_values, uncompiled, unfit

Natural = Mapping[str, Floats]

MEAN, ABILITY_SPREAD, ABILITY = "mean_ability", "ability_spread", "ability"
DIFFICULTY_SPREAD, DIFFICULTY = "difficulty_spread", "difficulty"
PREVALENCE, WRONG, RIGHT = "prevalence", "confidence_if_wrong", "confidence_if_right"
NAMES: Final = (
    MEAN, ABILITY_SPREAD, ABILITY, DIFFICULTY_SPREAD, DIFFICULTY, PREVALENCE, WRONG, RIGHT,
)  # fmt: skip
_LEVELS: Final = frozenset({WRONG, RIGHT})
_NEEDED: Final = frozenset(NAMES) - _LEVELS
_FAR: Final = 100.0
"""Logits: no chance of a guess can be told beside such an ability."""
_TRIED: Final = 3


class Reading(NamedTuple):
    """Labels and priors, as the kernel takes them."""

    data: Crossed
    said: Said
    priors: Priors
    names: tuple[str, ...]
    """Of the variables that the step moves."""
    lead: float
    """What an ability has before the logit of knowing."""
    n_levels: int
    """Of confidence; 0 if it is no evidence."""


def knows(name: Any) -> bool:
    """Say whether a variable of this name is one of a Rasch model."""
    return name in NAMES


def has_form(model: Any) -> bool:
    """Say whether a model looks like a Rasch model, by its labels and names."""
    return len(_answers(model)) == 1 and {one.name for one in model.free_RVs} >= _NEEDED


def _answers(model: Any) -> list[Any]:
    return [one for one in model.observed_RVs if isinstance(one.owner.op, LatentAnswersRV)]


def read(model: Any) -> Reading:
    """Read a model.

    Raises
    ------
    ArgumentError
        If the step would not be exact for it, saying why.
    """
    if not has_form(model):
        raise unfit(
            f"free variables {', '.join(sorted(_NEEDED))} and one observed LatentAnswers", "others"
        )
    with uncompiled():
        return _read(_Graph(model))


def _read(graph: _Graph) -> Reading:
    graph.check_variables()
    graph.prepare()
    generator = np.random.default_rng(1)
    some = graph.numbers(generator)
    seen = graph.see(some)
    item, label, level = graph.labels(seen)
    truth = _truth(seen)
    annotator, guessing = graph.who(some)
    for _ in range(_TRIED):
        _compare(graph, graph.numbers(generator), annotator, item, truth, guessing)
    n_items, n_labels = seen.log_truth.shape
    data = crossed(
        label.astype(np.float64), item, annotator, np.zeros_like(item), n_items=n_items,
        annotator_pool=np.zeros(len(some[ABILITY]), dtype=np.int64), n_pools=1,
    )  # fmt: skip
    said = _said(graph, data, label, level, truth, guessed=n_labels if guessing else 0)
    lead = -float(np.log1p(-1.0 / n_labels)) if guessing else 0.0
    n_levels = seen.log_level.shape[1] if graph.levels else 0
    return Reading(data, said, graph.priors(lead), graph.names, lead, n_levels)


def _said(
    graph: _Graph, data: Crossed, label: Ints, level: Ints, truth: Ints, *, guessed: int
) -> Said:
    """Put what was said into the order of the layout.

    The kernel knows items by their labels. Where others are known to be true, this speaks of the
    prevalence alone.
    """
    count, level_prior = graph.shares()
    of_others = truth[np.setdiff1d(np.flatnonzero(truth != UNKNOWN), data.cell_item)]
    return Said(
        label=label[data.row], level=level[data.row] if graph.levels else level[:0],
        truth=truth[data.cell_item],
        prevalence=count + np.bincount(of_others, minlength=len(count)), level_prior=level_prior,
        guessed=float(guessed),
    )  # fmt: skip


class _Seen(NamedTuple):
    """What a model makes of numbers."""

    log_truth: Floats
    logit: Floats
    log_level: Floats
    ability: tuple[Floats, Floats]
    """The parameters of its distribution."""
    difficulty: tuple[Floats, Floats]


class _Graph:
    """A model, its variables by name, and numbers put in their places."""

    def __init__(self, model: Any) -> None:
        self.model = model
        there = {one.name: one for one in model.free_RVs}
        self.names = tuple(name for name in NAMES if name in there)
        self.ours = {name: there[name] for name in self.names}
        self.levels = [name for name in self.names if name in _LEVELS]
        (self.answers,) = _answers(model)
        self.parts = self.answers.owner.op.dist_params(self.answers.owner)
        self.values = [model.rvs_to_values[one] for one in self.ours.values()]

    def check_variables(self) -> None:
        """Raise unless variables stand by themselves, and are of the kinds they should be."""
        ours = list(self.ours.values())
        refuse_other_uses(self.model, ours, self.answers)
        others = set(self.model.free_RVs) - set(ours)
        for one in [*ours, self.answers]:
            strange = sorted(str(other.name) for other in others & set(ancestors([one])))
            if strange:
                raise unfit(f"{one.name} to hang on the library's variables only", strange[0])
        self._check_distributions()

    def _check_distributions(self) -> None:
        """Raise if variables are of other kinds, or moved by PyMC in other units."""
        if len(self.levels) == 1:
            raise unfit(f"both of {RIGHT} and {WRONG}, or none", self.levels[0])
        for name in (ABILITY_SPREAD, DIFFICULTY_SPREAD):
            require_logarithm(self.model, self.ours[name])
        kinds = dict.fromkeys((ABILITY, DIFFICULTY), (NormalRV, "Normal", type(None)))
        shares = dict.fromkeys(
            (PREVALENCE, *self.levels), (DirichletRV, "Dirichlet", SimplexTransform)
        )
        for name, (kind, word, transform) in (kinds | shares).items():
            one = self.ours[name]
            if not isinstance(one.owner.op, kind):
                raise unfit(f"{name} with a {word} prior", str(one.owner.op))
            if not isinstance(self.model.rvs_to_transforms[one], transform):
                raise unfit(f"{name} as PyMC moves a {word} variable", "another transformation")

    def prepare(self) -> None:
        """Look at shapes, and compile what is tried."""
        self.to_values = to_values(self.model, self.names)
        shapes = self.model.eval_rv_shapes()
        self.shapes = {name: shapes[name] for name in self.names}
        wanted = dict.fromkeys((MEAN, ABILITY_SPREAD, DIFFICULTY_SPREAD), 0)
        wanted |= dict.fromkeys((ABILITY, DIFFICULTY, PREVALENCE, *self.levels), 1)
        for name, ndim in wanted.items():
            if len(self.shapes[name]) != ndim:
                raise unfit(f"{name} of {ndim} dimensions", str(len(self.shapes[name])))
        of_priors = [
            part
            for name in (ABILITY, DIFFICULTY)
            for part in self.ours[name].owner.op.dist_params(self.ours[name].owner)
        ]
        self.evaluate = self.model.compile_fn(
            self.model.replace_rvs_by_values([*self.parts[:3], *of_priors]), inputs=self.values,
            on_unused_input="ignore", mode=PLAIN,
        )  # fmt: skip
        self.least = bound_below(self.model, self.ours[MEAN])

    def see(self, natural: Natural) -> _Seen:
        """Put numbers in natural units into the model."""
        values = self.to_values(*(natural[name] for name in self.names))
        point = {one.name: value for one, value in zip(self.values, values, strict=True)}
        log_truth, logit, log_level, *rest = self.evaluate(point)
        return _Seen(log_truth, logit, log_level, tuple(rest[:2]), tuple(rest[2:]))

    def numbers(self, generator: np.random.Generator) -> dict[str, Floats]:
        """Draw any numbers that are possible."""
        low = self.least if np.isfinite(self.least) else 0.0
        out = {MEAN: np.asarray(low + generator.uniform(0.5, 2.0))}
        for name in (ABILITY_SPREAD, DIFFICULTY_SPREAD):
            out[name] = np.asarray(generator.uniform(0.5, 2.0))
        for name in (ABILITY, DIFFICULTY):
            out[name] = generator.normal(size=self.shapes[name])
        for name in (PREVALENCE, *self.levels):
            out[name] = generator.dirichlet(np.full(self.shapes[name], 2.0))
        return out

    def labels(self, seen: _Seen) -> tuple[Ints, Ints, Ints]:
        """Return items, labels and levels, as far as they can be told without trying."""
        (item,) = constants(self.model, [self.parts[3]])
        code = self.model.rvs_to_values[self.answers].eval()
        (n_items, n_labels), n_levels = seen.log_truth.shape, seen.log_level.shape[1]
        if n_labels < 2 or self.shapes[PREVALENCE] != (n_labels,):
            raise unfit(f"one {PREVALENCE} of each of two labels or more", f"{n_labels} labels")
        if self.shapes[DIFFICULTY] != (n_items,):
            raise unfit(
                f"one {DIFFICULTY} of each of {n_items} items", str(self.shapes[DIFFICULTY])
            )
        for text, codes, n in (("items", item, n_items), ("labels", code, n_labels * n_levels)):
            if ((codes < 0) | (codes >= n)).any():
                raise unfit(f"{text} in codes from 0 to {n - 1}", f"{codes.min()} to {codes.max()}")
        label, level = np.divmod(code.astype(np.int64), n_levels)
        return np.asarray(item, dtype=np.int64), label, level

    def who(self, some: Natural) -> tuple[Ints, bool]:
        """Find whose each label is, by trying distinct abilities, and whether they may guess."""
        easy = {**some, DIFFICULTY: np.zeros_like(some[DIFFICULTY])}
        number = np.arange(len(some[ABILITY]), dtype=np.float64)
        high = self.see({**easy, ABILITY: _FAR + number}).logit - _FAR
        low = self.see({**easy, ABILITY: np.full_like(number, -_FAR)}).logit
        annotator = np.rint(high).astype(np.int64)
        if ((annotator < 0) | (annotator >= len(number))).any():
            raise _other_logits()
        return annotator, bool((low > 0.5 * -_FAR).any())  # what exactly is compared later

    def priors(self, lead: float) -> Priors:
        """Read the priors of what is one number."""
        mean, sd = normal_above(self.model, self.ours[MEAN], self.least)
        scale = {
            name: scale_prior(self.model, self.ours[name]).reshape(1, 3)
            for name in (ABILITY_SPREAD, DIFFICULTY_SPREAD)
        }
        nothing = np.array([HALF_NORMAL, 1.0, 0.0])
        return Priors(
            mu=np.array([[mean - lead, sd]]), least=np.array([self.least - lead]),
            sd_item=scale[DIFFICULTY_SPREAD], sd_annotator=scale[ABILITY_SPREAD],
            sd=nothing[None], gap=nothing, lkj=1.0,
        )  # fmt: skip

    def shares(self) -> tuple[Floats, float]:
        """Return what each label, and each level of confidence, is given in advance."""
        counts = []
        for name in (PREVALENCE, *self.levels):
            owner = self.ours[name].owner
            (given,) = constants(self.model, owner.op.dist_params(owner))
            counts.append(np.broadcast_to(np.asarray(given, dtype=np.float64), self.shapes[name]))
        level = np.unique(np.concatenate([np.empty(0), *counts[1:]]))
        if len(level) > 1:
            raise unfit("one prior count for all levels of confidence", str(level))
        return counts[0].copy(), float(level[0]) if len(level) else 1.0


def _truth(seen: _Seen) -> Ints:
    """Return the one label that may be the truth of each item, or that it is unknown."""
    possible = np.isfinite(seen.log_truth)
    n = possible.sum(axis=1)
    if not np.isin(n, (1, possible.shape[1])).all():
        raise unfit("items of which one label may be true, or all", "some of the labels")
    return np.where(n == 1, possible.argmax(axis=1), UNKNOWN)


def _compare(
    graph: _Graph, some: Natural, annotator: Ints, item: Ints, truth: Ints, guessing: bool
) -> None:
    """Raise unless the kernel makes the same of these numbers as the model."""
    seen = graph.see(some)
    log_share = np.log(some[PREVALENCE])
    possible = (truth[:, None] == UNKNOWN) | (truth[:, None] == np.arange(len(log_share)))
    if not _same(seen.log_truth, np.where(possible, log_share, -np.inf)):
        raise unfit(f"truths with the probabilities of {PREVALENCE}", "others")
    logit = some[ABILITY][annotator] - some[DIFFICULTY][item]
    if guessing:
        logit = np.logaddexp(logit, -np.log(len(log_share) - 1))
    if not _same(seen.logit, logit):
        raise _other_logits()
    level = np.zeros((2, 1))
    if graph.levels:
        level = np.log([some[WRONG], some[RIGHT]])
    if not _same(seen.log_level, level):
        raise unfit(f"levels of confidence with the probabilities of {WRONG} and {RIGHT}", "others")
    for name, found, centre, sd in (
        (ABILITY, seen.ability, MEAN, ABILITY_SPREAD),
        (DIFFICULTY, seen.difficulty, "0", DIFFICULTY_SPREAD),
    ):
        wanted = (some.get(centre, 0.0), some[sd])
        if not all(np.allclose(one, two) for one, two in zip(found, wanted, strict=True)):
            raise unfit(f"{name} ~ Normal({centre}, {sd})", "others")


def _same(found: Floats, wanted: Floats) -> bool:
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-6, atol=1e-8)


def _other_logits() -> Exception:
    return unfit(
        f"labels that are right by one {ABILITY} less their item's {DIFFICULTY}, each as it is",
        "others",
    )
