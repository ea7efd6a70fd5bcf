"""Prior predictive distributions of labels and of their reliability."""

from __future__ import annotations

from inspect import signature
from types import ModuleType
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments, models
from dissensus.dims import LABEL, POOL, SAMPLE, other
from dissensus.errors import brief
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints
from dissensus.metrics._components import MODELS
from dissensus.metrics._reliability import icc
from dissensus.sampling import fitting
from dissensus.sampling.interpreter import uncompiled
from dissensus.wording import share

BIN: Final = "bin"
_BINS: Final = 40
_CENTRAL: Final = (0.01, 0.99)
"""Bins cover the draws of the prior between these quantiles only: its tails are long."""


def prior_predictive(
    model: str | ModuleType,
    annotations: xr.Dataset,
    *,
    draws: int = 1000,
    random_seed: Any = None,
    **settings: Any,
) -> xr.Dataset:
    """Draw labels and their reliability from the prior of a model of crossed effects.

    For each draw, parameters are drawn from the prior, and labels are drawn given these parameters,
    for the design of the annotations. Set ``priors=`` if the prior almost excludes some labels, or
    determines the ICC.

    Parameters
    ----------
    model : str or module
        "crossed_effects" or "cross_replication", or `models.crossed_effects` itself.
    annotations : Dataset
        Numbers, two labels, or ordered labels. They determine the design and, for numbers, the
        scale of the prior.
    draws : int
        Number of draws. The labels of all draws are kept in memory.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    **settings
        Arguments of the model's ``build``: ``family``, ``priors``, ``correlation_prior`` and
        others.

    Returns
    -------
    Dataset
        ``observed`` and ``replicated`` (chain, draw): the share of each ``label``, or the share of
        numbers in each ``bin`` (from ``bin_lower`` to ``bin_upper``; bins cover the data and the
        central 98 % of the prior). ``icc`` (chain, draw) or (chain, draw, pool), on the latent
        scale. ``correlation`` (chain, draw, ``pool``, ``pool_``), for `cross_replication`. The
        attribute ``in_words`` is a summary.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(30, 6, 3, family="ordinal", random_seed=1).annotations
    >>> prior = dx.prior_predictive(
    ...     "crossed_effects", ann, family="ordinal", draws=200, random_seed=1)
    >>> prior["replicated"].dims, bool(abs(prior["replicated"].sum("label") - 1).max() < 1e-9)
    (('chain', 'draw', 'label'), True)
    >>> bool(prior["icc"].quantile(0.05) < 0.1 and prior["icc"].quantile(0.95) > 0.8)
    True
    """
    name = _name_of(model)
    rng = generator(random_seed, "prior_predictive")
    built = _build(name, annotations, settings)
    tree = _drawn(built, arguments.whole("draws", draws), int(rng.integers(2**31)))
    attrs = {"model": name, "hyper_family": settings.get("family", "gaussian")}
    tree.attrs.update(attrs)
    out = _shares(tree, annotations)
    out["icc"] = icc(tree)
    if "correlation" in tree["posterior"]:
        out["correlation"] = tree["posterior"]["correlation"].drop_attrs(deep=False)
    return out.assign_attrs(attrs, in_words=_words(out))


def _name_of(model: Any) -> str:
    """Return the name of a model, given its name or its module."""
    name = model.__name__.rpartition(".")[2] if isinstance(model, ModuleType) else model
    arguments.one_of("model", name if isinstance(name, str) else brief(name), MODELS)
    return str(name)


def _build(name: str, annotations: xr.Dataset, settings: dict[str, Any]) -> Any:
    """Build the model, or raise for a setting that the model does not have."""
    build = models.get(name).module.build
    known = [p.name for p in signature(build).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for setting in settings:
        arguments.one_of(f"setting of {name}", setting, known)
    return build(annotations, **settings)


def _drawn(built: Any, draws: int, seed: int) -> xr.DataTree:
    """Draw parameters and labels; the group of parameters is ``posterior``, as metrics expect.

    Effects are not stored. Without compilation a thousand draws take a second; compilation would
    take ten seconds or more.
    """
    import pymc as pm

    names = [v.name for v in built.unobserved_RVs if not v.name.endswith("_effect")]
    names += [v.name for v in built.observed_RVs]
    with fitting.quiet(True), uncompiled():
        tree = pm.sample_prior_predictive(draws, model=built, var_names=names, random_seed=seed)
    groups = {"posterior": "prior", "prior_predictive": "prior_predictive", "observed_data": None}
    return xr.DataTree.from_dict(
        {to: tree[start or to].to_dataset().drop_attrs(deep=False) for to, start in groups.items()}
    )


def _shares(tree: xr.DataTree, annotations: xr.Dataset) -> xr.Dataset:
    """Return observed and drawn shares of each label, or of numbers in each bin."""
    name = str(next(iter(tree["observed_data"].data_vars)))
    drawn = tree["prior_predictive"][name].transpose(*SAMPLE, ...)
    seen = tree["observed_data"][name].to_numpy()
    values = drawn.to_numpy().reshape(-1, len(seen))
    coords: dict[str, Any]
    if name == "label_code":
        dim, coords = LABEL, {LABEL: annotations[LABEL].to_numpy()}
        count = len(coords[LABEL])
    else:
        edges = _edges(seen, values)
        values, seen, count = _placed(values, edges), _placed(seen, edges), len(edges) - 1
        dim, coords = BIN, {"bin_lower": (BIN, edges[:-1]), "bin_upper": (BIN, edges[1:])}
    replicated = _shares_of(values, count).reshape(*drawn.shape[:2], count)
    out = {"observed": (dim, _shares_of(seen[None], count)[0]),
           "replicated": ((*SAMPLE, dim), replicated)}  # fmt: skip
    return xr.Dataset(out, coords={d: drawn[d] for d in SAMPLE} | coords)


def _edges(seen: Floats, drawn: Floats) -> Floats:
    low, high = np.quantile(drawn, _CENTRAL)
    return np.linspace(min(low, seen.min()), max(high, seen.max()), _BINS + 1)


def _placed(values: Floats, edges: Floats) -> Ints:
    """Return the bin of each number, -1 outside all bins; the last bin includes its upper end."""
    place = np.searchsorted(edges, values, side="right") - 1
    place[values == edges[-1]] = len(edges) - 2
    return np.where(place < len(edges) - 1, place, -1)


def _shares_of(codes: Ints, count: int) -> Floats:
    """Return the share of each code: (version, code). Codes below 0 count only in the total."""
    counts = [np.bincount(row[row >= 0], minlength=count) for row in codes]
    return np.array(counts) / codes.shape[1]


def _words(result: xr.Dataset) -> str:
    lines = [_sentence("ICC of a label, latent scale", result["icc"])]
    if "correlation" in result:
        lines.append(_sentence("correlation of two pools", pairs(result["correlation"])))
    return "\n".join(lines)


def _sentence(name: str, values: xr.DataArray) -> str:
    low, middle, high = (share(float(v)) for v in np.quantile(values, [0.05, 0.5, 0.95]))
    return f"{name}: prior median {middle}, 90 % from {low} to {high}."


def pairs(correlation: xr.DataArray) -> xr.DataArray:
    """Return the correlation of each pair of different pools: (chain, draw, pair)."""
    values = correlation.transpose(*SAMPLE, POOL, other(POOL)).to_numpy()
    rows, columns = np.triu_indices(values.shape[-1], 1)
    return xr.DataArray(values[..., rows, columns], dims=(*SAMPLE, "pair"))
