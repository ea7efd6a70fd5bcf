"""Fits of `crossed_effects` and `cross_replication` as they come out, of draws made up."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

SAMPLE = ("chain", "draw")
POOLS = ("a", "b", "c")


def tree(model: str, family: str, posterior: xr.Dataset, label_value: Any = None) -> xr.DataTree:
    """Give draws the groups and attributes of a fit."""
    attrs = {"model": model, "hyper_family": family}
    constants = xr.Dataset()
    if family != "gaussian":
        constants["sigma"] = float(np.pi / np.sqrt(3)) if family == "bernoulli" else 1.0
    if label_value is not None:
        names = [f"label {value}" for value in label_value]
        constants["label_value"] = xr.DataArray(list(label_value), {"label": names}, ["label"])
    groups = {"posterior": posterior, "constant_data": constants}
    out = xr.DataTree.from_dict({k: group.assign_attrs(attrs) for k, group in groups.items()})
    out.attrs.update(attrs)
    return out


def fit_of(
    family: str,
    *,
    label_value: Any = None,
    names: Any = None,
    correlation: Any = None,
    **draws: Any,
) -> xr.DataTree:
    """Make a fit of given numbers, (chain, draw[, pool]) or anything that broadcasts to that.

    With ``names`` of pools it is of `cross_replication`; ``cutpoint`` is (..., cutpoint).
    """
    pools = () if names is None else ("pool",)
    shape = np.broadcast_shapes(
        (1, 1) + (() if names is None else (len(names),)),
        *(np.shape(values) for name, values in draws.items() if name != "cutpoint"),
    )
    posterior = xr.Dataset(coords={} if names is None else {"pool": list(names)})
    for name, values in draws.items():
        array = np.asarray(values, dtype=float)
        if name == "cutpoint":
            wide = np.broadcast_to(array, (*shape[:2], array.shape[-1]))
            posterior[name] = ((*SAMPLE, "boundary"), wide)
        else:
            posterior[name] = ((*SAMPLE, *pools), np.broadcast_to(array, shape).copy())
    if names is not None:
        wide = np.broadcast_to(np.asarray(correlation, float), (*shape, len(names)))
        posterior["correlation"] = ((*SAMPLE, "pool", "pool_"), wide.copy())
        posterior = posterior.assign_coords(pool_=list(names))
    posterior = posterior.assign_coords({dim: np.arange(posterior.sizes[dim]) for dim in SAMPLE})
    if family == "ordinal" and label_value is None:
        label_value = range(posterior.sizes["boundary"] + 1)
    model = "crossed_effects" if names is None else "cross_replication"
    return tree(model, family, posterior, label_value)


def _random(rng: np.random.Generator, family: str, shape: tuple[int, ...]) -> dict[str, Any]:
    result = {"mu": rng.normal(size=shape)}
    for name in ("sigma_item", "sigma_annotator", *(["sigma"] if family == "gaussian" else [])):
        result[name] = rng.gamma(4.0, 0.3, size=shape)
    if family == "ordinal":
        cuts = np.sort(rng.normal(size=(*shape[:2], 3)), axis=-1)
        result["cutpoint"] = cuts - cuts.mean(axis=-1, keepdims=True)
    return result


def crossed_effects(family: str, draws: int = 5, seed: int = 1) -> xr.DataTree:
    """Random draws of one pool, in two chains."""
    return fit_of(family, **_random(np.random.default_rng(seed), family, (2, draws)))


def cross_replication(
    family: str, draws: int = 5, seed: int = 1, names: Any = POOLS
) -> xr.DataTree:
    """Random draws of several pools, in two chains."""
    rng = np.random.default_rng(seed)
    n = len(names)
    vectors = rng.normal(size=(2, draws, n, n + 1))
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    correlation = vectors @ np.swapaxes(vectors, -1, -2)
    correlation[..., np.arange(n), np.arange(n)] = 1.0
    parts = _random(rng, family, (2, draws, n))
    return fit_of(family, names=names, correlation=correlation, **parts)
