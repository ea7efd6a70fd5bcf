"""How to draw studies of crossed effects, and what to ask of their fits.

Priors are given, never scaled to the data: those were not what the truth came from. Everybody in a
study shares its variances, so that a study has one answer to each question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from calibration.harness import Case, Floats
from scipy import special, stats

import dissensus as dx

Generator = np.random.Generator
Codes = npt.NDArray[np.int64]

MODELS: Final = ("cross_replication", "crossed_effects")
FAMILIES: Final = ("gaussian", "bernoulli", "ordinal")
POOLS: Final = ("crowd", "experts", "nurses")
N_ITEMS: Final = 10
N_ANNOTATORS: Final = {1: 5, 2: 4, 3: 4}
"""In each pool, by the number of pools."""
MU: Final = {"gaussian": (30.0, 2.0), "bernoulli": (0.3, 1.2), "ordinal": (-0.2, 0.8)}
SPREADS: Final = (("half_t", 1.0, 5.0), ("half_normal", 1.5), ("exponential", 0.8))
GAPS: Final = (("exponential", 0.8), ("half_normal", 1.0), ("half_t", 0.7, 6.0))
THIN: Final = 5


class Rows(NamedTuple):
    """Who labelled what."""

    item: Codes
    annotator: Codes
    pool: Codes
    trial: Codes


class Truth(NamedTuple):
    """What a study was drawn from."""

    mu: Floats
    sigma_item: Floats
    sigma_annotator: Floats
    sigma: Floats
    correlation: Floats
    item: Floats
    """(item, pool)"""
    annotator: Floats
    """(annotator, pool)"""
    cutpoint: Floats


class Setting(NamedTuple):
    """Which process, of those that a model knows."""

    family: str
    n_pools: int
    anonymous: bool
    shared: bool
    own_residual: bool
    lkj: float


# -- Studies ----------------------------------------------------------------------------------


def _rows(setting: Setting, rng: Generator) -> Rows:
    """Draw an unbalanced design with gaps and repeats, and items that one pool did not see.

    Everybody labels the first item, and nobody of the first pool the second one where there are
    others who do.
    """
    n, P = N_ANNOTATORS[setting.n_pools], setting.n_pools
    labels = rng.choice([0, 1, 2], (N_ITEMS, n, P), p=[0.3, 0.6, 0.1])
    labels *= (rng.random((N_ITEMS, 1, P)) < 0.8) if P > 1 else 1
    labels[0] = 1
    if P > 1:
        labels[1, :, 0], labels[1, :, 1] = 0, 1
    labels[~labels.any(axis=(1, 2)), 0, -1] = 1
    item, who, pool = np.nonzero(labels)
    times = labels[item, who, pool]
    # The same person in two pools says it twice, too.
    trial = np.concatenate([np.arange(k) for k in times]) + 2 * np.repeat(pool, times)
    item, who, pool = (np.repeat(x, times) for x in (item, who, pool))
    return Rows(item, who, pool, trial)


def _spread(prior: tuple[Any, ...], n: int, rng: Generator) -> Floats:
    form, scale = prior[:2]
    if form == "exponential":
        return scale * rng.standard_exponential(n)
    noise = rng.standard_t(prior[2], n) if form == "half_t" else rng.standard_normal(n)
    return np.abs(scale * noise)


def _lkj(n: int, shape: float, rng: Generator) -> Floats:
    """Draw a correlation matrix by partial correlations (Lewandowski, Kurowicka & Joe 2009)."""
    R = np.eye(n)
    if n == 2:
        R[0, 1] = R[1, 0] = 2 * rng.beta(shape, shape) - 1
    elif n == 3:
        a, b = 2 * rng.beta(shape + 0.5, shape + 0.5, 2) - 1
        c = a * b + (2 * rng.beta(shape, shape) - 1) * np.sqrt((1 - a**2) * (1 - b**2))
        R[0, 1:], R[1:, 0], R[1, 2], R[2, 1] = (a, b), (a, b), c, c
    return R


def _truth(setting: Setting, priors: Mapping[str, Any], n_labels: int, rng: Generator) -> Truth:
    P, n = setting.n_pools, N_ANNOTATORS[setting.n_pools]
    sigma_item, sigma_annotator = np.zeros((2, P))
    sigma_item = _spread(priors["sigma_item"], P, rng)
    if not setting.anonymous:
        sigma_annotator = _spread(priors["sigma_annotator"], P, rng)
    fixed = {"bernoulli": np.pi / np.sqrt(3), "ordinal": 1.0}.get(setting.family)
    sigma = np.full(P, fixed, dtype=float)
    if fixed is None:
        sigma[:] = _spread(priors["sigma"], P if setting.own_residual else 1, rng)
    R = _lkj(P, setting.lkj, rng)
    root = sigma_item[:, None] * np.linalg.cholesky(R)
    cut = np.zeros(0)
    if setting.family == "ordinal":
        cut = np.concatenate([[0.0], _spread(priors["gap"], n_labels - 2, rng).cumsum()])
        cut -= cut.mean()
    return Truth(
        rng.normal(*priors["mu"], P), sigma_item, sigma_annotator, sigma, R,
        rng.standard_normal((N_ITEMS, P)) @ root.T, sigma_annotator * rng.standard_normal((n, P)),
        cut,
    )  # fmt: skip


def _labels(family: str, eta: Floats, sd: Floats, cut: Floats, rng: Generator) -> Any:
    if family == "gaussian":
        return eta + sd * rng.standard_normal(eta.shape)
    if family == "bernoulli":
        return (rng.random(eta.shape) < special.expit(eta)).astype(int)
    return (eta[:, None] + rng.standard_normal((len(eta), 1)) > cut).sum(axis=1)


def _annotations(setting: Setting, rows: Rows, labels: Any, n_labels: int) -> xr.Dataset:
    # A pool's people are others than those of the next, unless they are the same.
    who = rows.annotator + (0 if setting.shared else 100 * rows.pool)
    table = {"item": rows.item, "annotator": who, "label": labels, "trial": rows.trial,
             "pool": np.array(POOLS)[rows.pool]}  # fmt: skip
    kind = {"gaussian": "continuous", "bernoulli": "nominal", "ordinal": "ordinal"}
    return dx.annotations(
        table, trial="trial", kind=kind[setting.family],
        pool="pool" if setting.n_pools > 1 else None,
        labels=None if setting.family == "gaussian" else range(n_labels),
    )  # fmt: skip


# -- Questions --------------------------------------------------------------------------------


def _per_pool(values: xr.DataArray | None, like: Floats) -> Floats:
    """Return draws (sample, pool), with what is shared repeated and what is absent 0."""
    if values is None:
        return np.zeros_like(like)
    flat = values.to_numpy().reshape(values.sizes["chain"] * values.sizes["draw"], -1)
    return np.broadcast_to(flat, like.shape).astype(float)


def _effects(values: xr.DataArray | None, shape: tuple[int, ...]) -> Floats:
    """Return draws (sample, item or annotator, pool)."""
    if values is None:
        return np.zeros(shape)
    values = values.sortby(values.dims[2])  # names come in the order of the rows
    return values.to_numpy().reshape(-1, *(*values.shape[2:], 1)[:2])


def _drawn(tree: xr.DataTree, setting: Setting, truth: Truth) -> Truth:
    """Return the draws of a fit, the sample in front of everything."""
    post, P, n = tree["posterior"], setting.n_pools, N_ANNOTATORS[setting.n_pools]
    mu = post["mu"].to_numpy().reshape(-1, P)
    people = _effects(post.get("annotator_effect"), (len(mu), n, P))
    if setting.n_pools > 1 and not setting.shared and not setting.anonymous:
        people = np.stack([people[:, p * n : (p + 1) * n, p] for p in range(P)], axis=-1)
    R = post["correlation"].to_numpy().reshape(-1, P, P) if P > 1 else np.ones((len(mu), 1, 1))
    fixed = np.broadcast_to(truth.sigma, mu.shape)
    return Truth(
        mu, _per_pool(post["sigma_item"], mu), _per_pool(post.get("sigma_annotator"), mu),
        _per_pool(post["sigma"], mu) if setting.family == "gaussian" else fixed, R,
        _effects(post["item_effect"], ()), people,
        post["cutpoint"].to_numpy().reshape(len(mu), -1) if "cutpoint" in post else np.zeros(0),
    )  # fmt: skip


def _log_likelihood(family: str, rows: Rows, labels: Any, x: Truth) -> Floats:
    """Return the log-likelihood of all labels together, by SciPy."""
    eta = x.mu[:, rows.pool] + x.item[:, rows.item, rows.pool]
    eta = eta + x.annotator[:, rows.annotator, rows.pool]
    if family == "gaussian":
        return stats.norm.logpdf(labels, eta, x.sigma[:, rows.pool]).sum(-1)
    if family == "bernoulli":
        return special.log_expit(np.where(labels == 1, eta, -eta)).sum(-1)
    edge = np.full((len(eta), 1), np.inf)
    cut = np.concatenate([-edge, x.cutpoint, edge], axis=1)
    low, high = cut[:, labels] - eta, cut[:, labels + 1] - eta
    low, high = np.where(low > -high, -high, low), np.where(low > -high, -low, high)
    log_low, log_high = special.log_ndtr(low), special.log_ndtr(high)
    return (log_high + np.log1p(-np.exp(np.minimum(log_low - log_high, -1e-300)))).sum(-1)


def _answers(setting: Setting, rows: Rows, labels: Any, x: Truth) -> dict[str, Floats]:
    """Answer all questions, of draws as of the truth (sample)."""
    total = x.sigma_item**2 + x.sigma_annotator**2 + x.sigma**2
    icc = x.sigma_item**2 / total
    out = {
        "mu": x.mu[:, 0], "sigma_item": x.sigma_item[:, 0], "icc": icc[:, 0],
        "item effect": x.item[:, 0, 0],
        "log-likelihood": _log_likelihood(setting.family, rows, labels, x),
    }  # fmt: skip
    if not setting.anonymous:
        out["sigma_annotator"] = x.sigma_annotator[:, -1]
        out["annotator effect"] = x.annotator[:, 0, -1]
    if setting.family == "gaussian":
        out["sigma"] = x.sigma[:, -1]
    if setting.family == "ordinal":
        out["cutpoint"], out["gap"] = x.cutpoint[:, 0], x.cutpoint[:, -1] - x.cutpoint[:, -2]
    if setting.n_pools > 1:
        out["correlation"] = x.correlation[:, 0, 1]
        out["last correlation"] = x.correlation[:, -2, -1]
        out["xcc"] = x.correlation[:, 0, 1] * np.sqrt(icc[:, 0] * icc[:, 1])
        out["effect of an item not seen"] = x.item[:, 1, 0]
    return out


# -- Cases ------------------------------------------------------------------------------------


def _setting(model: str, family: str, rng: Generator) -> Setting:
    several = model == "cross_replication"
    n_pools = int(rng.choice([2, 3])) if several else 1
    coins = rng.random(3) < [0.2, 0.3, 0.5]
    return Setting(
        family, n_pools, anonymous=bool(coins[0]), shared=several and bool(coins[1]),
        own_residual=several and family == "gaussian" and bool(coins[2]),
        lkj=float(rng.choice([1.0, 2.5])) if several else 1.0,
    )  # fmt: skip


def _priors(setting: Setting, rng: Generator) -> dict[str, Any]:
    names = ["sigma_item"] if setting.anonymous else ["sigma_item", "sigma_annotator"]
    names += ["sigma"] if setting.family == "gaussian" else []
    out: dict[str, Any] = {name: SPREADS[rng.integers(len(SPREADS))] for name in names}
    out["mu"] = MU[setting.family]
    if setting.family == "ordinal":
        out["gap"] = GAPS[rng.integers(len(GAPS))]
    return out


def case(model: str, family: str, rng: Generator) -> Case:
    """Draw a study, after a short warm-up or a long one: what is learned there must not matter."""
    setting = _setting(model, family, rng)
    priors, rows = _priors(setting, rng), _rows(setting, rng)
    n_labels = 2 if family == "bernoulli" else int(rng.choice([3, 5]))
    truth = _truth(setting, priors, n_labels, rng)
    eta = truth.mu[rows.pool] + truth.item[rows.item, rows.pool]
    eta = eta + truth.annotator[rows.annotator, rows.pool]
    labels = _labels(family, eta, truth.sigma[rows.pool], truth.cutpoint, rng)
    known = _answers(setting, rows, labels, Truth(*(part[None] for part in truth)))

    def questions(fit: xr.DataTree) -> Mapping[str, tuple[Floats, Floats]]:
        result = _answers(setting, rows, labels, _drawn(fit, setting, truth))
        return {name: (draws[:, None], known[name]) for name, draws in result.items()}

    hyper: dict[str, Any] = {"family": family, "priors": priors, "anonymous": setting.anonymous,
                             "tune": int(rng.choice([50, 400]))}  # fmt: skip
    if model == "cross_replication":
        hyper["residual"] = "pool" if setting.own_residual else "shared"
        hyper |= {"correlation_prior": setting.lkj, "shared_annotators": setting.shared}
    return Case(_annotations(setting, rows, labels, n_labels), hyper, questions, thin=THIN)
