"""The posterior of crossed effects on tiny data, by integrating over the prior point by point.

Nothing here is shared with the library: parameters are a Sobol sequence through the quantile
functions of their priors, and every point is weighed by the likelihood. For numbers, effects are
integrated out by the normal density of all labels at once, and come back by its conditional
moments; for labels, the effects are points of the sequence themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import xarray as xr
from scipy import special, stats


@dataclass(frozen=True)
class Design:
    """Who labelled what: codes row by row, and how many of each there are."""

    item: Any
    member: Any
    """An annotator in a pool; None where annotators are nobody in particular."""
    pool: Any
    member_pool: Any
    n_items: int
    n_pools: int

    @classmethod
    def of(cls, ann: xr.Dataset, *, anonymous: bool = False, pools: bool = False) -> Design:
        """Read annotations with plain loops."""
        item = ann["item_code"].to_numpy().astype(int)
        who = ann["annotator_code"].to_numpy().astype(int)
        pool = ann["pool_code"].to_numpy().astype(int) if pools else np.zeros_like(item)
        if pools:
            known = sorted(set(zip(who.tolist(), pool.tolist(), strict=True)))
        else:
            known = [(j, 0) for j in range(ann.sizes["annotator"])]
        member = [known.index(pair) for pair in zip(who.tolist(), pool.tolist(), strict=True)]
        return cls(
            item, None if anonymous else np.array(member, dtype=int), pool,
            np.array([p for _, p in known], dtype=int), ann.sizes["item"],
            ann.sizes["pool"] if pools else 1,
        )  # fmt: skip


@dataclass
class Reference:
    """Points of the prior (point), weights that sum to 1, and moments of what was integrated."""

    weight: Any
    points: dict[str, Any]
    """Arrays (point, ...)."""
    inner: dict[str, tuple[Any, Any]]
    """Conditional means and variances (point, ...), where the rest was integrated out."""

    @property
    def ess(self) -> float:
        """How many equally weighted points these are worth."""
        return float(1.0 / np.sum(self.weight**2))

    def mean(self, values: Any) -> tuple[Any, Any]:
        """Return the mean, and its error as if the points were random (they are better)."""
        weight = self.weight.reshape(-1, *[1] * (values.ndim - 1))
        mean = (weight * values).sum(axis=0)
        return mean, np.sqrt((weight**2 * (values - mean) ** 2).sum(axis=0))

    def quantile(self, values: Any, q: float) -> float:
        """Return a quantile of one number's points."""
        order = np.argsort(values)
        place = np.searchsorted(np.cumsum(self.weight[order]), q)
        return float(values[order][min(place, len(order) - 1)])


def _spread(prior: tuple[Any, ...], u: Any) -> Any:
    form, scale, *degrees = prior
    if form == "half_normal":
        return scale * stats.norm.ppf((1 + u) / 2)
    if form == "half_t":
        return scale * stats.t.ppf((1 + u) / 2, degrees[0])
    return -scale * np.log1p(-u)


def _correlation(u: Any, n_pools: int, eta: float) -> Any:
    """Draw from LKJ by partial correlations along a vine (Lewandowski et al. 2009)."""
    out = np.broadcast_to(np.eye(n_pools), (len(u), n_pools, n_pools)).copy()
    if n_pools == 2:
        out[:, 0, 1] = out[:, 1, 0] = 2 * special.betaincinv(eta, eta, u[:, 0]) - 1
    if n_pools == 3:
        a, b = (2 * special.betaincinv(eta + 0.5, eta + 0.5, u[:, k]) - 1 for k in (0, 1))
        partial = 2 * special.betaincinv(eta, eta, u[:, 2]) - 1
        c = a * b + partial * np.sqrt((1 - a**2) * (1 - b**2))
        for (j, k), r in {(0, 1): a, (0, 2): b, (1, 2): c}.items():
            out[:, j, k] = out[:, k, j] = r
    return out


def uniform(n_dims: int, log2: int, seed: int) -> Any:
    """Return points of a Sobol sequence, none of them on an edge."""
    points = stats.qmc.Sobol(n_dims, rng=np.random.default_rng(seed)).random_base2(log2)
    return np.clip(points, 1e-12, 1 - 1e-12)


def _parameters(u: Any, design: Design, priors: Any, eta: float, n_sd: int) -> tuple[Any, int]:
    """Turn the first columns into standard deviations and a correlation; how many were used."""
    p = design.n_pools
    out, at = {}, 0
    for name, n in (("sigma_item", p), ("sigma_annotator", p), ("sigma", n_sd)):
        if name in priors and n and (name != "sigma_annotator" or design.member is not None):
            out[name] = _spread(priors[name], u[:, at : at + n])
            at += n
    n_pairs = p * (p - 1) // 2
    out["correlation"] = _correlation(u[:, at : at + n_pairs], p, eta)
    return out, at + n_pairs


def gaussian(
    ann: xr.Dataset, priors: Any, *, pools: bool = False, anonymous: bool = False, n_sd: int = 1,
    eta: float = 1.0, log2: int = 14, seed: int = 1,
) -> Reference:  # fmt: skip
    """Integrate effects and means out by the normal density of all numbers at once."""
    design = Design.of(ann, anonymous=anonymous, pools=pools)
    y = ann["value"].to_numpy()
    n_pairs = design.n_pools * (design.n_pools - 1) // 2
    u = uniform(2 * design.n_pools + n_sd + n_pairs, log2, seed)
    at, _ = _parameters(u, design, priors, eta, n_sd)
    centre, mu_sd = priors["mu"]
    pool, item = design.pool, design.item
    sd = at["sigma_item"]
    effect = sd[:, :, None] * sd[:, None, :] * at["correlation"]  # covariance between pools
    residual = at["sigma"][:, pool] if n_sd > 1 else np.repeat(at["sigma"], len(y), axis=1)
    same_pool = pool[:, None] == pool
    v = mu_sd**2 * same_pool + effect[:, pool[:, None], pool] * (item[:, None] == item)
    if design.member is not None:
        same = design.member[:, None] == design.member
        v = v + at["sigma_annotator"][:, pool][:, :, None] ** 2 * same
    v = v + residual[:, :, None] ** 2 * np.eye(len(y))
    root = np.linalg.cholesky(v)
    z = np.linalg.solve(root, np.broadcast_to((y - centre)[:, None], (len(v), len(y), 1)))[..., 0]
    log = -0.5 * (z**2).sum(axis=1) - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    inner = {}
    each = np.arange(design.n_pools)
    mean_with = mu_sd**2 * np.broadcast_to(each[:, None] == pool, (len(v), len(each), len(y)))
    inner["mu"] = _given(mean_with, mu_sd**2, v, y - centre)
    inner["mu"] = (inner["mu"][0] + centre, inner["mu"][1])
    cells = [(i, p) for i in range(design.n_items) for p in each]
    which, where = (np.array(part) for part in zip(*cells, strict=True))
    with_items = effect[:, where[:, None], pool] * (which[:, None] == item)
    inner["item_effect"] = _given(with_items, effect[:, where, where], v, y - centre)
    if design.member is not None:
        square = at["sigma_annotator"][:, design.member_pool] ** 2
        own = np.arange(len(design.member_pool))[:, None] == design.member
        inner["annotator_effect"] = _given(square[:, :, None] * own, square, v, y - centre)
    return Reference(weights(log), at, inner)


def _given(covariance: Any, variance: Any, v: Any, gap: Any) -> tuple[Any, Any]:
    """Return moments of normal numbers given others."""
    gain = np.swapaxes(np.linalg.solve(v, np.swapaxes(covariance, 1, 2)), 1, 2)
    return gain @ gap, variance - (gain * covariance).sum(axis=2)


def weights(log: Any) -> Any:
    """Return weights that sum to 1."""
    weight = np.exp(log - log.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def labels(
    ann: xr.Dataset, family: str, priors: Any, *, pools: bool = False, anonymous: bool = False,
    eta: float = 1.0, log2: int = 16, seed: int = 1,
) -> Reference:  # fmt: skip
    """Take effects as points too: for a dozen labels or so."""
    design = Design.of(ann, anonymous=anonymous, pools=pools)
    p, n_members = design.n_pools, 0 if anonymous else len(design.member_pool)
    n_gaps = ann.sizes["label"] - 2 if family == "ordinal" else 0
    n_effects = design.n_items * p + n_members
    u = uniform(2 * p + p * (p - 1) // 2 + p + n_effects + n_gaps, log2, seed)
    at, used = _parameters(u, design, priors, eta, 0)
    normal = special.ndtri(u[:, used : used + p + n_effects])
    centre, mu_sd = priors["mu"]
    at["mu"] = centre + mu_sd * normal[:, :p]
    root = at["sigma_item"][:, :, None] * np.linalg.cholesky(at["correlation"])
    item = normal[:, p : p + design.n_items * p].reshape(len(u), design.n_items, p)
    at["item_effect"] = np.einsum("spq,siq->sip", root, item)
    predictor = at["mu"][:, design.pool] + at["item_effect"][:, design.item, design.pool]
    if n_members:
        people = normal[:, p + design.n_items * p :]
        at["annotator_effect"] = at["sigma_annotator"][:, design.member_pool] * people
        predictor = predictor + at["annotator_effect"][:, design.member]
    code = ann["label_code"].to_numpy()
    if family == "bernoulli":
        return Reference(weights(_log_bernoulli(predictor, code)), at, {})
    gaps = _spread(priors["gap"], u[:, u.shape[1] - n_gaps :]) if n_gaps else np.empty((len(u), 0))
    cuts = np.concatenate([np.zeros((len(u), 1)), gaps.cumsum(axis=1)], axis=1)
    at["cutpoint"] = cuts - cuts.mean(axis=1, keepdims=True)
    edges = np.pad(at["cutpoint"], ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    high, low = (special.ndtr(edges[:, code + k] - predictor) for k in (1, 0))
    with np.errstate(divide="ignore"):  # a point from which a label is all but impossible
        log = np.log(high - low).sum(axis=1)
    return Reference(weights(log), at, {})


def _log_bernoulli(predictor: Any, code: Any) -> Any:
    return special.log_expit(np.where(code == 1, predictor, -predictor)).sum(axis=1)


# -- Comparing ---------------------------------------------------------------------------------


def compare(
    fit: xr.DataTree, reference: Reference, *, enough: float = 400, errors: float = 4,
    points: float = 800,
) -> None:  # fmt: skip
    """Compare means and shares below quantiles of a fit with the reference's.

    Each is a mean of some function of the draws, and is compared in Monte Carlo errors of its own,
    of draws and of points together. There must be ``enough`` draws that are worth independent ones,
    and so many ``points``.
    """
    assert reference.ess > points, f"the points are worth {reference.ess:.0f} only"
    for name, values in reference.points.items():
        if name in fit["posterior"]:
            _compare_points(fit["posterior"][name], reference, values, enough, errors)
    for name, (mean, variance) in reference.inner.items():
        if name not in fit["posterior"]:
            continue
        draws = _cells(fit["posterior"][name])
        for power, values in ((1, mean), (2, mean**2 + variance)):
            for k, number in enumerate(draws):
                want, error = reference.mean(values.reshape(len(values), -1)[:, k])
                _near(number**power, want, error, enough, errors, f"{name}[{k}]^{power}")


def _cells(draws: xr.DataArray) -> list[Any]:
    """Return the numbers of a parameter one by one, without those that are not there."""
    flat = draws.to_numpy().reshape(*draws.shape[:2], -1)
    return [flat[..., k] for k in range(flat.shape[-1]) if not np.isnan(flat[0, 0, k])]


def _compare_points(
    draws: xr.DataArray, reference: Reference, values: Any, enough: float, errors: float
) -> None:
    cells = _cells(draws)
    points = values.reshape(len(values), -1)
    assert len(cells) == points.shape[1], draws.name
    for k, (number, point) in enumerate(zip(cells, points.T, strict=True)):
        if np.ptp(point) == 0:
            np.testing.assert_allclose(number, point[0])
            continue
        # No squares: of so many points a few with large values would carry them.
        functions = {"": lambda x: x}
        for q in (0.1, 0.5, 0.9):
            edge = reference.quantile(point, q)
            functions[f" < {edge:.3g}"] = lambda x, edge=edge: (x < edge) * 1.0
        for text, function in functions.items():
            want, error = reference.mean(function(point))
            _near(function(number), want, error, enough, errors, f"{draws.name}[{k}]{text}")


def _near(draws: Any, want: Any, error: Any, enough: float, errors: float, text: str) -> None:
    ess = float(az.ess(draws[None] if draws.ndim == 1 else draws))
    assert ess > enough, f"{text}: {ess:.0f} effective draws are too few to judge by"
    spread = np.hypot(draws.std() / np.sqrt(ess), error)
    gap = abs(draws.mean() - want)
    assert gap <= errors * spread, (
        f"{text}: {draws.mean():.4f}, expected {want:.4f} +- {spread:.4f}"
    )


def compare_fits(
    first: xr.DataTree, second: xr.DataTree, *, enough: float, errors: float = 4
) -> None:
    """Compare means, spreads and tails of two fits of one model, effects and all."""
    assert set(first["posterior"].data_vars) == set(second["posterior"].data_vars)
    for name, draws in first["posterior"].data_vars.items():
        cells = zip(_cells(draws), _cells(second["posterior"][name]), strict=True)
        for k, (a, b) in enumerate(cells):
            both = np.concatenate([a.ravel(), b.ravel()])
            if np.ptp(both) < 1e-9:
                continue
            middle, edge = np.mean(both), np.quantile(both, 0.9)
            for text, function in {
                "": lambda x: x,
                " squared deviation": lambda x, m=middle: (x - m) ** 2,
                " tail": lambda x, e=edge: (x > e) * 1.0,
            }.items():
                f, g = function(a), function(b)
                ess = float(az.ess(f)), float(az.ess(g))
                assert min(ess) > enough, f"{name}[{k}]{text}: effective draws {ess}"
                spread = np.hypot(f.std() / ess[0] ** 0.5, g.std() / ess[1] ** 0.5)
                gap = abs(f.mean() - g.mean())
                assert gap < errors * spread, (
                    f"{name}[{k}]{text}: {f.mean():.4f} and {g.mean():.4f}, +- {spread:.4f}"
                )
