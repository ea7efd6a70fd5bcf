"""The posterior of a latent truth on tiny data: truths summed over, parameters integrated over.

Nothing here is shared with the library: parameters are a Sobol sequence through the quantile
functions of their priors, and every point is weighed by the likelihood, which is a sum over all
states of an item in plain loops, as the models' cards write it. Arrays have points in front.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from crossed_reference import Reference, uniform, weights
from scipy import special, stats
from truth_cases import Case
from truth_prior import Points, graded, prior


def eases(case: Case) -> Any:
    """Return the means of the fifths of a standard normal variable, brought to variance 1."""
    if not case.get("difficulty"):
        return np.zeros(1)
    edge = stats.norm.ppf([0, 0.2, 0.4, 0.6, 0.8, 1])
    means = np.array([stats.truncnorm.mean(a, b) for a, b in pairwise(edge)])
    return means / np.sqrt(np.mean(means**2))


def joint(case: Case, points: Points, i: int, *, systems: bool) -> Any:
    """Return the probability of an item's labels with each state (point, truth, ease, source)."""
    given = [*case.statements[i]]
    if systems and case.answers:
        given += [(case.n_annotators + who, label) for who, label in case.answers[i]]
    ease, n = eases(case), case.n_labels
    related = systems and case.get("systems") == "related"
    out = np.empty((len(points.prevalence), n, len(ease), n if related else 1))
    for z, q, f in np.ndindex(out.shape[1:]):
        chance = points.prevalence[:, z] / len(ease)
        if related:
            hit = right(points.source, points.spread * ease[q], n)
            chance = chance * (hit if f == z else (1 - hit) * points.source_errors[:, z, f])
        for statement, y in given:
            own = answer(points, statement, z, y, ease[q])
            if related and statement >= case.n_annotators:
                own = (1 - points.shared) * own + points.shared * (f == y)
            chance = chance * own
        out[:, z, q, f] = chance
    return out


def odds(logit: Any, ease: Any, n_labels: int) -> Any:
    """Return odds of being right, given their logarithm for a typical item.

    What they have beyond 1 / (K - 1), those of a guess, is multiplied; if they have nothing, they
    stay as they are.
    """
    typical, guess = np.exp(logit), 1 / (n_labels - 1)
    return np.where(typical > guess, (typical - guess) * np.exp(ease) + guess, typical)


def right(logit: Any, ease: Any, n_labels: int) -> Any:
    """Return accuracies, given the logits of those for a typical item."""
    return 1 / (1 + 1 / odds(logit, ease, n_labels))


def answer(points: Points, statement: int, z: int, y: int, ease: float) -> Any:
    """Return how probable a respondent's own answer is (point)."""
    n = points.right.shape[2]
    own = odds(points.right[:, statement, z], points.spread * points.slope[:, statement] * ease, n)
    return 1 / (1 + 1 / own) if y == z else points.errors[:, statement, z, y] / (1 + own)


def log_likelihood(case: Case, points: Points, *, systems: bool = True) -> Any:
    """Return that of each item (point, item)."""
    each = [
        joint(case, points, i, systems=systems).sum(axis=(1, 2, 3))
        for i in range(len(case.statements))
    ]
    with np.errstate(divide="ignore"):
        return np.log(np.stack(each, axis=1))


def integrate(case: Case, *, log2: int = 16, seed: int = 1, outer: int = 2000) -> Reference:
    """Return the posterior of everything that a fit keeps."""
    _, common, n_dims = prior(case, np.full((1, 200), 0.5))
    u = uniform(n_dims, log2, seed)
    points, _, _ = prior(case, u)
    log = log_likelihood(case, points, systems=not case.cut).sum(axis=1)
    weight = weights(np.where(names_kept(points), log, -np.inf))
    if case.cut:
        points, weight = _judged(case, u, weight, common, seed, outer), np.full(outer, 1 / outer)
    return Reference(weight, *kept(case, points))


_INNER = 8


def names_kept(points: Points) -> Any:
    """Say whether the population calls each label by its own name most often (point)."""
    if "population_confusion" not in points.named:
        return np.ones(len(points.prevalence), dtype=bool)
    rows = points.named["population_confusion"]
    return (rows.argmax(axis=-1) == np.arange(rows.shape[-1])).all(axis=-1)


def _judged(case: Case, u: Any, weight: Any, common: int, seed: int, n_outer: int) -> Points:
    """Draw what annotators are like from their own labels, systems given that and all labels."""
    assert 1 / np.sum(weight**2) > n_outer, "too few points of weight to draw from"
    rng = np.random.default_rng(seed)
    place = (np.arange(n_outer) + rng.random()) / n_outer
    outer = u[rng.permutation(np.searchsorted(np.cumsum(weight), place).clip(max=len(u) - 1))]
    for low in range(0, n_outer, 100):
        some = np.repeat(outer[low : low + 100], 2**_INNER, axis=0)
        inner = uniform(u.shape[1] - common, _INNER, seed + 1 + low)
        some[:, common:] = np.tile(inner, (len(some) // len(inner), 1))
        log = log_likelihood(case, prior(case, some)[0]).sum(axis=1).reshape(-1, len(inner))
        chosen = (np.cumsum(weights(log), axis=1) < rng.random((len(log), 1))).sum(axis=1)
        outer[low : low + 100, common:] = inner[chosen.clip(max=len(inner) - 1)]
    return prior(case, outer)[0]


# -- What a fit keeps, from parameters, and back -------------------------------------------------


def kept(case: Case, points: Points) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the posterior's names with their values at points (point, ...).

    Second come those that are a draw even so, with their means and variances.
    """
    j = case.n_annotators
    out = {**points.named, "prevalence": points.prevalence}
    rows = np.stack(
        [_row_of(case, points, statement) for statement in range(points.right.shape[1])], 1
    )
    hits = np.einsum("pz,pvzz->pv", points.prevalence, rows)
    common = case.model == "symmetric_confusion" and case.get("accuracy") == "common"
    out["annotator_accuracy"] = hits[:, 0] if common else hits[:, :j]
    if case.model == "dawid_skene":
        out["confusion"] = rows[:, :j]
        if case.n_systems:
            out["system_confusion"] = rows[:, j:]
        if case.get("pooling") == "complete":
            out["population_confusion"] = rows[:, 0]
    each = [joint(case, points, i, systems=not case.cut) for i in range(len(case.statements))]
    out["truth"] = np.stack([_shares(joint_mass).sum(axis=(2, 3)) for joint_mass in each], axis=1)
    if case.get("difficulty"):
        ease = [_shares(joint_mass).sum(axis=(1, 3)) @ eases(case) for joint_mass in each]
        out["item_difficulty"] = -points.spread[:, None] * np.stack(ease, axis=1)
    if not case.n_systems:
        return out, {}
    source = np.mean(
        [right(points.source, points.spread * q, case.n_labels) for q in eases(case)], axis=0
    )
    taken = points.shared[:, None]
    out["system_accuracy"] = (1 - taken) * hits[:, j:] + taken * source[:, None]
    return out, {"system_correct": _correct(case, points)}


def _shares(weight: Any) -> Any:
    total = weight.sum(axis=(1, 2, 3), keepdims=True)
    return np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)  # 0: of no weight


def _row_of(case: Case, points: Points, statement: int) -> Any:
    """Return a respondent's confusion matrix over all items (point, label, response)."""
    n = case.n_labels
    out = np.empty((len(points.prevalence), n, n))
    for z, y in np.ndindex(n, n):
        out[:, z, y] = np.mean([answer(points, statement, z, y, q) for q in eases(case)], axis=0)
    return out


def _correct(case: Case, points: Points) -> tuple[Any, Any]:
    """Return mean and variance of the share of items that systems got right (point, system)."""
    mean = np.zeros((len(points.prevalence), case.n_systems))
    variance = np.zeros_like(mean)
    number = np.zeros(case.n_systems)
    for i, given in enumerate(case.answers):
        share = _shares(joint(case, points, i, systems=True)).sum(axis=(2, 3))
        for who, label in given:
            mean[:, who] += share[:, label]
            variance[:, who] += share[:, label] * (1 - share[:, label])
            number[who] += 1
    return mean / number, variance / number**2


def points_of(case: Case, posterior: Any) -> Points:
    """Take parameters back from draws; those of errors of everybody's own are not among them."""
    draws = {name: _flat(values) for name, values in posterior.data_vars.items()}
    m, n, j, s = len(draws["prevalence"]), case.n_labels, case.n_annotators, case.n_systems
    ease = eases(case)
    spread = draws.get("difficulty_spread", np.zeros(m))
    slope = np.ones((m, j + s))
    if "difficulty_slope" in draws:
        slope[:, j:] = draws["difficulty_slope"]
    shared = draws.get("shared_answers", np.zeros(m))
    source = special.logit(draws.get("source_typical_accuracy", np.full(m, 0.5)))
    base = graded(draws.get("distance_decay", np.zeros(m)), n)
    if case.model == "dawid_skene":
        rows = [draws["confusion"], *([draws["system_confusion"]] if s else [])]
        rows = np.concatenate(rows, axis=1)
        hits = np.einsum("pvzz->pvz", rows)
        errors = np.where(np.eye(n) == 1, 0.0, rows)
        wrong = errors.sum(axis=-1)
        whole = wrong[..., None]
        errors = np.divide(errors, whole, out=np.zeros_like(errors), where=whole > 0)
    else:
        people = np.broadcast_to(draws["annotator_accuracy"].reshape(m, -1), (m, j))
        typical = np.mean([right(source, spread * q, n) for q in ease], axis=0)
        systems = draws.get("system_accuracy", np.empty((m, 0)))
        systems = (systems - (shared * typical)[:, None]) / (1 - shared)[:, None]
        hits = np.repeat(np.concatenate([people, systems], axis=1)[:, :, None], n, axis=2)
        errors, wrong = np.repeat(base[:, None], j + s, axis=1), 1 - hits
    logits = _typical(hits, wrong, (spread[:, None] * slope)[:, :, None], ease)
    return Points(
        draws["prevalence"], logits, errors, spread, slope, shared, source, base, {}
    )  # fmt: skip


def _flat(draws: Any) -> Any:
    values = draws.to_numpy()
    return values.reshape(-1, *values.shape[2:])


def _typical(hits: Any, wrong: Any, spread: Any, ease: Any) -> Any:
    """Return logits for a typical item from accuracies over all, by bisection."""
    if not spread.any():
        with np.errstate(divide="ignore"):
            return np.log(hits) - np.log(wrong)
    low, high, n = np.full(hits.shape, -80.0), np.full(hits.shape, 80.0), hits.shape[2]
    for _ in range(120):
        middle = (low + high) / 2
        under = np.mean([right(middle, spread * q, n) for q in ease], axis=0) < hits
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return (low + high) / 2
