"""Cross-replication: correlations of two pools' labels of the same items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import POOL, SAMPLE, other
from dissensus.errors import ArgumentError, brief, shown
from dissensus.metrics._components import (
    CROSS_REPLICATION,
    LATENT,
    SCALES,
    Components,
    components,
    correlation_between,
    correlation_within,
    observed_labels,
)
from dissensus.metrics._reliability import annotator_variance


def annotators_outweigh_items(fit: Any) -> xr.DataArray:
    """Return the probability that the annotator ICC exceeds the ICC; (pool) if there are pools.

    The probability is the same on both scales, since the correlation of two labels increases with
    the variance that the labels share. Source: Quinn, Miles and Wong, "Measuring Validity and
    Reliability of Human Ratings", which calls data unacceptable if the annotator ICC exceeds the
    ICC.
    """
    parts = components(fit)
    above = annotator_variance(parts) > parts.item
    return above.mean(SAMPLE).rename("annotators_outweigh_items")


Pair = Callable[[int, int], xr.DataArray]
"""Function of the places of two pools that returns their correlation (chain, draw)."""


def normalized_xcc(
    fit: Any,
    scale: str = "latent",
    pools: Sequence[Any] | None = None,
    reference: Any = None,
) -> xr.DataArray:
    r"""Normalised xCC: correlation of the item effects of two pools, without bias and noise.

    .. math:: \rho_{pq} = \mathrm{Corr}(\eta_{ip}, \eta_{iq})

    with :math:`\eta_{ip}` the effect of item i in pool p.

    Parameters
    ----------
    fit : DataTree
        A fit of `models.cross_replication`.
    scale : {"latent", "observed"}
        "latent": :math:`\rho` itself. "observed": the observed xCC divided by the root of the
        product of both pools' observed ICCs. This is the correlation of an item's mean labels in
        two large panels, one from each pool. For numbers (family "gaussian") the two scales are the
        same.
    pools : pair, optional
        Return this pair of pools only.
    reference : pool, optional
        Return the pairs of this pool with every other pool. Not together with ``pools``.

    Returns
    -------
    xarray.DataArray
        ``normalized_xcc`` (chain, draw, pool, pool\_); (chain, draw) with ``pools``;
        (chain, draw, pool) with ``reference``. In [-1, 1]; 1 for a pool with itself.

    Notes
    -----
    The normalised xCC compares large panels, not two annotators. If annotators are careless without
    a common bias, the normalised xCC is high, but the xCC is low. On the observed scale the
    normalised xCC is NaN if the ICC of a pool is 0.

    Source: Quinn, Miles and Wong, "Measuring Validity and Reliability of Human Ratings"
    ("normalized xCC").

    Examples
    --------
    Are labels of the treatment closer to those of the experts than labels of the control?

    >>> import dissensus as dx, numpy as np, xarray as xr
    >>> names, draws = ["experts", "control", "treatment"], ("chain", "draw")
    >>> rho = np.array([[1, 0.6, 0.8], [0.6, 1, 0.7], [0.8, 0.7, 1]])
    >>> posterior = xr.Dataset(
    ...     {"correlation": ((*draws, "pool", "pool_"), np.tile(rho, (1, 50, 1, 1)))}
    ...     | {k: ((*draws, "pool"), np.ones((1, 50, 3))) for k in
    ...        ("mu", "sigma_item", "sigma_annotator", "sigma")},
    ...     coords={"pool": names, "pool_": names})
    >>> fit = xr.DataTree.from_dict({"posterior": posterior})
    >>> fit.attrs.update(model="cross_replication", hyper_family="gaussian")
    >>> draws = dx.normalized_xcc(fit, reference="experts")
    >>> gain = dx.compare(draws, dim="pool")
    >>> round(gain.difference.sel(pool="treatment", pool_="control").mean().item(), 3)
    0.2
    """
    parts = _checked(fit, scale)
    if scale == LATENT or parts.family == "gaussian":
        pair = _by_place(parts.correlation)
    else:
        pair = _normalized(_observed(parts))
    return _arranged(pair, parts, pools, reference, "normalized_xcc", scale)


def xcc(
    fit: Any,
    scale: str = "latent",
    pools: Sequence[Any] | None = None,
    reference: Any = None,
) -> xr.DataArray:
    r"""xCC: the correlation of two labels of an item, one from each pool.

    .. math:: \mathrm{xCC}_{pq} = \rho_{pq} \sqrt{\mathrm{ICC}_p\, \mathrm{ICC}_q}

    Parameters
    ----------
    fit : DataTree
        A fit of `models.cross_replication`.
    scale : {"latent", "observed"}
        "latent": the formula above. "observed": the correlation of the observed labels, as in
        `dissensus.icc`.
    pools, reference
        As in `normalized_xcc`.

    Returns
    -------
    xarray.DataArray
        ``xcc`` (chain, draw, pool, pool\_); (chain, draw) with ``pools``; (chain, draw, pool)
        with ``reference``. In [-1, 1]; the ICC for a pool with itself.

    Notes
    -----
    A low value has two possible causes: noise within a pool, or pools that label differently.
    `normalized_xcc` distinguishes these causes.

    The two annotators are assumed to share only the item: an annotator in both pools has a separate
    effect in each.

    From 3 to 10 annotators of each of two or three real pools, the observed xCC was too low by .05
    on average, and 89 % intervals contained that of the whole pools in .68 to .72 of the studies.
    In `dissensus.evaluate`, which widens them, it is .88 to .99, and cross kappa has .88 to 1.00
    (docs/validation.md).

    Source: Quinn, Miles and Wong, "Measuring Validity and Reliability of Human Ratings", after
    Wong, Paritosh and Aroyo (2021), "Cross-replication reliability".

    Examples
    --------
    >>> import dissensus as dx, numpy as np, xarray as xr
    >>> draws, rho = ("chain", "draw"), np.array([[1, 0.6], [0.6, 1]])
    >>> names = dict.fromkeys(("mu", "sigma_item", "sigma_annotator", "sigma"), np.ones((1, 1, 2)))
    >>> posterior = xr.Dataset({k: ((*draws, "pool"), v) for k, v in names.items()},
    ...                        coords={"pool": ["a", "b"], "pool_": ["a", "b"]})
    >>> posterior["correlation"] = ((*draws, "pool", "pool_"), rho[None, None])
    >>> fit = xr.DataTree.from_dict({"posterior": posterior})
    >>> fit.attrs.update(model="cross_replication", hyper_family="gaussian")
    >>> round(dx.xcc(fit, pools=("a", "b")).item(), 3)  # .6 times an ICC of 1/3
    0.2
    """
    parts = _checked(fit, scale)
    observed = scale != LATENT and parts.family != "gaussian"
    pair = _observed(parts) if observed else _latent(parts)
    return _arranged(pair, parts, pools, reference, "xcc", scale)


def _checked(fit: Any, scale: str) -> Components:
    arguments.one_of("scale", scale, SCALES)
    return components(fit, (CROSS_REPLICATION,))


def _by_place(matrix: xr.DataArray | None) -> Pair:
    """Return a function of the places of two pools that returns this entry of a matrix of draws."""
    assert matrix is not None
    return lambda p, q: matrix.isel({POOL: p, other(POOL): q}, drop=True)


def _latent(parts: Components) -> Pair:
    rho = _by_place(parts.correlation)
    share = (parts.item / parts.total).transpose(..., POOL)

    def pair(p: int, q: int) -> xr.DataArray:
        first, second = (share.isel({POOL: place}, drop=True) for place in (p, q))
        # The diagonal is set exactly, without rounding errors.
        return first if p == q else rho(p, q) * (first * second) ** 0.5

    return pair


def _observed(parts: Components) -> Pair:
    """Return a function that returns the correlation of two observed labels of an item.

    Each of its two arguments is the place of a label's pool.
    """
    labels = observed_labels(parts)
    assert labels is not None
    rho, sd = _by_place(parts.correlation), parts.item**0.5

    def of(place: int) -> Any:
        pooled = (part.isel({POOL: place}, drop=True, missing_dims="ignore") for part in labels)
        return type(labels)(*pooled)

    def pair(p: int, q: int) -> xr.DataArray:
        first, second = (sd.isel({POOL: place}, drop=True) for place in (p, q))
        if p == q:
            return correlation_within(of(p), first**2)
        return correlation_between(of(p), of(q), rho(p, q) * first * second)

    return pair


def _normalized(pair: Pair) -> Pair:
    """Return a function that divides the xCC of two pools by the root of the product of their ICCs.

    The value is NaN where this root is 0.
    """
    own: dict[int, xr.DataArray] = {}

    def normalized(p: int, q: int) -> xr.DataArray:
        for place in {p, q} - set(own):
            own[place] = pair(place, place)
        scale = (own[p] * own[q]) ** 0.5
        value = own[p] if p == q else pair(p, q)
        # Correlations beyond 1 are rounding errors.
        return (value / scale.where(scale > 0)).clip(-1.0, 1.0)

    return normalized


def _arranged(
    pair: Pair, parts: Components, pools: Any, reference: Any, name: str, scale: str
) -> xr.DataArray:
    """Return the requested pairs as one array."""
    names = parts.mu[POOL].to_numpy()
    if pools is not None and reference is not None:
        raise ArgumentError(
            "pools", expected="either pools= or reference=", found=f"both, reference={reference!r}"
        )
    if pools is not None:
        out = pair(*_two_places(pools, names))
    elif reference is not None:
        base = _place("reference", reference, names)
        others = [pair(p, base) for p in range(len(names)) if p != base]
        out = xr.concat(others, dim=POOL).assign_coords({POOL: np.delete(names, base)})
    else:
        out = _matrix(pair, len(names)).assign_coords({POOL: names, other(POOL): names})
    pool_dims = [dim for dim in (POOL, other(POOL)) if dim in out.dims]
    out = out.transpose(*SAMPLE, *pool_dims).rename(name)
    out.attrs = {"better": "higher", "scale": scale}
    out.attrs |= {"doubt": parts.warning} if parts.warning else {}
    return out


def _matrix(pair: Pair, n_pools: int) -> xr.DataArray:
    """Return the values of all pairs (pool, pool_); each pair is computed once."""
    values = {(p, q): pair(p, q) for p in range(n_pools) for q in range(p + 1)}
    rows = [
        xr.concat([values[max(p, q), min(p, q)] for q in range(n_pools)], dim=other(POOL))
        for p in range(n_pools)
    ]
    return xr.concat(rows, dim=POOL)


def _two_places(pools: Any, names: Any) -> tuple[int, int]:
    listed = [] if isinstance(pools, str) or not np.iterable(pools) else list(pools)
    if len(listed) != 2 or listed[0] == listed[1]:
        raise ArgumentError("pools", expected="two different pools", found=brief(pools))
    return _place("pools", listed[0], names), _place("pools", listed[1], names)


def _place(argument: str, pool: Any, names: Any) -> int:
    """Return the place of a pool, or raise an error that names the known pools."""
    known = names.tolist()
    if isinstance(pool, str | int | float | np.generic) and pool in known:
        return known.index(pool)
    near = get_close_matches(pool, map(str, known), n=1) if isinstance(pool, str) else []
    raise ArgumentError(
        argument,
        expected=f"one of the pools {shown(known, 9)}",
        found=brief(pool),
        hint=f"Did you mean {near[0]!r}?" if near else "",
    )
