"""The priors of a latent truth as its cards write them: uniform numbers through quantile functions.

Arrays have points in front.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special, stats
from truth_cases import Case


@dataclass
class Points:
    """Parameters of all respondents, annotators and then systems."""

    prevalence: Any
    """(point, label)"""
    right: Any
    """Logits for a typical item (point, respondent, label)."""
    errors: Any
    """(point, respondent, label, response)"""
    spread: Any
    """(point)"""
    slope: Any
    """(point, respondent)"""
    shared: Any
    """(point)"""
    source: Any
    """A logit (point)."""
    source_errors: Any
    """(point, label, response)"""
    named: dict[str, Any] = field(default_factory=dict)
    """What the library calls them, where that is a matter of names."""
    offset: Any = None
    """How much better than typical annotators are, in spreads (point, annotator)."""


class _Columns:
    """Columns of a uniform sequence, taken one after the other."""

    def __init__(self, u: Any) -> None:
        self.u, self.used = u, 0

    def take(self, n: int) -> Any:
        self.used += n
        return self.u[:, self.used - n : self.used]

    def column(self) -> Any:
        return self.take(1)[:, 0]

    def shares(self, shape: Any) -> Any:
        """Draw from a Dirichlet distribution (point, part) by breaking a stick."""
        n = shape.shape[1]
        out, rest = np.empty((len(self.u), n)), np.ones(len(self.u))
        for k in range(n - 1):
            part = special.betaincinv(shape[:, k], shape[:, k + 1 :].sum(axis=1), self.column())
            out[:, k], rest = rest * part, rest * (1 - part)
        out[:, n - 1] = rest
        return out

    def row(self, shape: Any, z: int) -> tuple[Any, Any]:
        """Draw the logit of the place z of a Dirichlet row, and the shares of other places."""
        away = np.delete(shape, z, axis=1)
        part = special.betaincinv(shape[:, z], away.sum(axis=1), self.column())
        errors = np.insert(self.shares(away), z, 0.0, axis=1)
        return special.logit(np.clip(part, 1e-290, 1 - 1e-16)), errors


def graded(decay: Any, n: int) -> Any:
    """Return errors that fall off with distance (point, label, response)."""
    out = np.zeros((len(decay), n, n))
    for z in range(n):
        for y in range(n):
            if y != z:
                out[:, z, y] = np.exp(-decay * abs(y - z))
    return out / out.sum(axis=2, keepdims=True)


def prior(case: Case, u: Any) -> tuple[Points, int, int]:
    """Turn uniform numbers into parameters; also return how many are not systems', and of all."""
    at, n, m, offset = _Columns(u), case.n_labels, len(u), None
    named: dict[str, Any] = {}
    prevalence = at.shares(np.full((m, n), case.get("prior_count")))
    base = graded(np.zeros(m), n)
    if case.model == "symmetric_confusion":
        if case.get("accuracy") == "annotator":
            mean = named["mean_accuracy"] = 1 / n + (1 - 1 / n) * at.column()
            sd = named["accuracy_spread"] = stats.norm.ppf((1 + at.column()) / 2)
            normal = special.ndtri(at.take(case.n_annotators))
            people = special.logit(mean)[:, None] + sd[:, None] * normal
        else:
            accuracy = special.logit(1 / n + (1 - 1 / n) * at.column())
            people = np.repeat(accuracy[:, None], case.n_annotators, axis=1)
        if case.graded:
            decay = named["distance_decay"] = special.ndtri(at.column())
            base = graded(decay, n)
        if case.get("errors") == "unequal":
            alike = named["error_concentration"] = np.exp(1.5 + special.ndtri(at.column()))
        people = np.repeat(people[:, :, None], n, axis=2)
        errors = np.repeat(base[:, None], case.n_annotators, axis=1)
        if case.get("errors") == "unequal":
            _own_errors(at, alike, base, errors)
    else:
        people, errors, offset = _people(case, at, named)
    spread = np.zeros(m)
    if case.get("difficulty"):
        spread = named["difficulty_spread"] = stats.norm.ppf((1 + at.column()) / 2)
    common = at.used
    slope = np.ones((m, case.n_annotators + case.n_systems))
    if case.model == "symmetric_confusion":
        systems = np.repeat(special.logit(at.take(case.n_systems))[:, :, None], n, axis=2)
        more = np.repeat(base[:, None], case.n_systems, axis=1)
        if case.get("errors") == "unequal":
            _own_errors(at, alike, base, more)
    else:
        systems, more = _systems(case, at)
    if case.get("difficulty") and case.n_systems:
        steep = named["difficulty_slope"] = np.exp(special.ndtri(at.take(case.n_systems)) / 2)
        slope[:, case.n_annotators :] = steep
    shared, source = np.zeros(m), np.zeros(m)
    if case.get("systems") == "related":
        shared = named["shared_answers"] = at.column()
        named["source_typical_accuracy"] = at.column()
        source = special.logit(named["source_typical_accuracy"])
    points = Points(
        prevalence, np.concatenate([people, systems], axis=1),
        np.concatenate([errors, more], axis=1), spread, slope, shared, source, base, named,
        offset,
    )  # fmt: skip
    return points, common, at.used


def _own_errors(at: _Columns, alike: Any, base: Any, out: Any) -> None:
    """Write errors of respondents' own (point, respondent, label, response) around common ones."""
    for statement in range(out.shape[1]):
        for z in range(base.shape[1]):
            shape = alike[:, None] * np.delete(base[:, z], z, axis=1)
            out[:, statement, z] = np.insert(at.shares(shape), z, 0.0, axis=1)


def _people(case: Case, at: _Columns, named: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Draw annotators' confusion matrices: four labels in advance, 2.8 of them right.

    Of a population also return by how many spreads each is better than typical.
    """
    n, m, j = case.n_labels, len(at.u), case.n_annotators
    right, errors = np.empty((m, j, n)), np.empty((m, j, n, n))
    before = np.full((n, n), 1.2 / (n - 1)) + (2.8 - 1.2 / (n - 1)) * np.eye(n)
    pooling = case.get("pooling")
    population, alike = np.empty((m, n, n)), np.empty((m, n))
    level = offset = np.zeros((m, j))
    if pooling == "hierarchical":
        sd = named["accuracy_spread"] = stats.norm.ppf((1 + at.column()) / 2)
        offset = special.ndtri(at.take(j))
        level = sd[:, None] * offset
    for z in range(n):
        shape = np.broadcast_to(before[z], (m, n))
        if pooling != "none":
            logit, wrong = at.row(shape, z)
            chance = special.expit(logit)[:, None]
            population[:, z] = np.where(np.arange(n) == z, chance, (1 - chance) * wrong)
        if pooling == "hierarchical":
            alike[:, z] = 5.0 * special.gammaincinv(2.0, at.column())
        for statement in range(j):
            if pooling == "hierarchical":
                right[:, statement, z], errors[:, statement, z] = _one_of_many(
                    at, logit + level[:, statement], alike[:, z], population[:, z], z
                )
            elif pooling == "complete":
                right[:, statement, z], errors[:, statement, z] = logit, wrong
            else:
                right[:, statement, z], errors[:, statement, z] = at.row(shape, z)
    if pooling != "none":
        named["population_confusion"] = population
    if pooling == "hierarchical":
        named["confusion_concentration"] = alike
    return right, errors, offset


def _one_of_many(at: _Columns, odds: Any, alike: Any, mean: Any, z: int) -> tuple[Any, Any]:
    """Draw a row around a population's: an accuracy of its own odds, and errors as of anybody."""
    a, b = (np.maximum(alike * special.expit(x), 1e-12) for x in (odds, -odds))
    part = special.betaincinv(a, b, at.column())
    shape = np.maximum(alike[:, None] * np.delete(mean, z, axis=1), 1e-12)
    errors = np.insert(at.shares(shape), z, 0.0, axis=1)
    return special.logit(np.clip(part, 1e-290, 1 - 1e-16)), errors


def _systems(case: Case, at: _Columns) -> tuple[Any, Any]:
    """Draw systems' matrices, rows worth ten labels around a symmetric one."""
    n, m = case.n_labels, len(at.u)
    right, errors = np.empty((m, case.n_systems, n)), np.empty((m, case.n_systems, n, n))
    for s in range(case.n_systems):
        level = at.column()[:, None]
        for z in range(n):
            shape = 10.0 * np.where(np.arange(n) == z, level, (1 - level) / (n - 1))
            right[:, s, z], errors[:, s, z] = at.row(shape, z)
    return right, errors
