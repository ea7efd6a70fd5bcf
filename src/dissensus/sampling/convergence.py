"""Convergence diagnostics of Markov chains, item by item, and warnings that give a remedy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.dims import CHAIN, DRAW, ITEM
from dissensus.errors import ConvergenceWarning, shown, warn_caller
from dissensus.kernels.diagnostics import diagnostics
from dissensus.kernels.types import Array, Flags, Floats
from dissensus.wording import counted

R_HAT: Final = 1.05
"""Largest r-hat of converged chains. The usual limit is 1.01 for one parameter; the largest r-hat
of hundreds of parameters exceeds it by chance."""

APART: Final = 1.5
"""An r-hat above this indicates several modes: the means of the chains differ by more than the
standard deviation within a chain."""

ESS: Final = 100.0
"""Minimum number of effective draws, in the bulk and in the tails, for an interval."""

_LOT: Final = 100

_MOVING: Final = 0.1
"""A constant chain is stuck if another chain changes in more than this share of its draws."""

FEWEST: Final = 100
"""Minimum number of draws in each chain for diagnostics."""

ATTRIBUTES: Final = (
    "ess_bulk_min", "ess_bulk_median", "ess_bulk_min_item", "ess_tail_min", "n_items_stuck",
    "n_items_undefined", "r_hat_max", "r_hat_max_item", "n_items_poor",
)  # fmt: skip
"""Names of the attributes that `diagnosed` returns; with one chain there is no r-hat."""
OF_PRIOR: Final = "prior_"
"""Prefix of `ATTRIBUTES` for a learned prior, in fits that also diagnose items."""


def diagnosed(draws: xr.DataArray, dim: str = ITEM, prefix: str = "") -> dict[str, Any]:
    """Summarise r-hat and effective sample size over items, and warn of poor items.

    The diagnostics of an item are the worst along other dims; draws without ``dim`` are one item.
    Returns the attributes `ATTRIBUTES`, with ``prefix``; none with fewer than 100 draws a chain.
    Numbers that are the same in all draws of all chains count as converged. The ConvergenceWarning
    names the poor items: fewer than 100 effective draws (bulk or tail), an r-hat above 1.05, a
    constant chain while other chains move, or draws that are not finite.
    """
    alone = dim not in draws.dims
    if alone:
        draws = draws.expand_dims({dim: [draws.name]})
    if draws.sizes[DRAW] < FEWEST or draws.sizes[dim] == 0:
        return {}
    # Items are diagnosed a few at a time, because the diagnostics copy the draws several times.
    lots = [draws.isel({dim: slice(i, i + _LOT)}) for i in range(0, draws.sizes[dim], _LOT)]
    worst = [_worst(lot, dim) for lot in lots]
    each = _Each(*(np.concatenate(part) for part in zip(*worst, strict=True)))
    names = draws[dim].to_numpy()
    attrs, poor = _summarised(each, names, several=draws.sizes[CHAIN] > 1)
    if attrs["n_items_poor"]:
        words = f"{len(names[poor])} of {len(names)} {dim}s ({shown(list(names[poor]))})"
        subject = words if draws.name is None else f"the {draws.name} of {words}"
        _warn(attrs, f"the {draws.name}" if alone else subject, draws.sizes[DRAW])
    return {f"{prefix}{name}": value for name, value in attrs.items()}


class _Each(NamedTuple):
    """Diagnostics of each item, in arrays (item)."""

    bulk: Floats
    tail: Floats
    r_hat: Floats
    stuck: Flags
    """Whether a chain is constant while other chains move or have another value."""
    undefined: Flags
    """Whether a draw is not finite."""


def _summarised(each: _Each, names: Any, *, several: bool) -> tuple[dict[str, Any], Any]:
    """Return `ATTRIBUTES`, and whether each item is poor; r-hat needs ``several`` chains."""
    attrs: dict[str, Any] = {
        "ess_bulk_min": float(each.bulk.min()),
        "ess_bulk_median": float(np.median(each.bulk)),
        "ess_bulk_min_item": str(names[each.bulk.argmin()]),
        "ess_tail_min": float(each.tail.min()),
        "n_items_stuck": int(each.stuck.sum()),
        "n_items_undefined": int(each.undefined.sum()),
    }
    poor = (each.bulk < ESS) | (each.tail < ESS) | (each.stuck > 0) | (each.undefined > 0)
    if several:
        attrs["r_hat_max"] = float(each.r_hat.max())
        attrs["r_hat_max_item"] = str(names[each.r_hat.argmax()])
        poor |= each.r_hat > R_HAT
    return attrs | {"n_items_poor": int(poor.sum())}, poor


def diagnosed_parameters(posterior: Mapping[str, xr.DataArray], prefix: str = "") -> dict[str, Any]:
    """Diagnose the chains for all parameters together, and warn if diagnostics are poor.

    Parameters that are NaN in all draws are left out. Returns attributes as `diagnosed` does.
    """
    parts = []
    for name, draws in posterior.items():
        flat = draws.to_numpy().reshape(*draws.shape[:2], -1)
        names = [name] if draws.ndim == 2 else [f"{name}[{place}]" for place in _places(draws)]
        parts.append(
            xr.DataArray(flat, dims=(CHAIN, DRAW, "parameter"), coords={"parameter": names})
        )
    whole = xr.concat(parts, dim="parameter")
    return diagnosed(whole.dropna("parameter", how="all"), "parameter", prefix)


def _places(draws: xr.DataArray) -> list[str]:
    names = [draws[dim].to_numpy() for dim in draws.dims[2:]]
    return [
        ", ".join(str(coordinates[k]) for coordinates, k in zip(names, place, strict=True))
        for place in np.ndindex(*draws.shape[2:])
    ]


def _worst(draws: xr.DataArray, dim: str) -> _Each:
    """Return the diagnostics of each item, the worst along other dims."""
    draws = draws.transpose(dim, ..., CHAIN, DRAW)
    values = draws.to_numpy()
    n_items, n_chains, n_draws = len(values), *values.shape[-2:]
    each = values.reshape(-1, n_chains, n_draws).astype(np.float64)
    undefined = ~np.isfinite(each).all(axis=(1, 2))
    each = np.where(undefined[:, None, None], 0.0, each)
    constant = (each == each[:, :1, :1]).all(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):  # constant draws give 0/0
        bulk, tail, apart = diagnostics(each, _ends())
    # The tail is undefined if no draw is above the quantile, as for shares that are mostly 1.
    tail = np.where(np.isnan(tail), bulk, tail)
    bulk, tail = (
        np.where(undefined, 0.0, np.where(constant, n_chains * n_draws, x)) for x in (bulk, tail)
    )
    apart = np.where(undefined, np.inf, np.where(constant, 1.0, apart))
    stuck = _stuck(draws).to_numpy().ravel() & ~undefined
    of_item: list[Array] = [
        diagnostic.reshape(n_items, -1) for diagnostic in (bulk, tail, apart, stuck, undefined)
    ]
    return _Each(of_item[0].min(axis=1), of_item[1].min(axis=1), of_item[2].max(axis=1),
                 of_item[3].any(axis=1), of_item[4].any(axis=1))  # fmt: skip


def _ends() -> tuple[float, float]:
    """Return the two probabilities of the quantiles that ArviZ uses for ``ess_tail``."""
    from arviz_base import rcParams

    prob = float(rcParams["stats.ci_prob"])
    low, high = sorted((prob, 1 - prob))
    return low, high


def _stuck(draws: xr.DataArray) -> xr.DataArray:
    """Return whether a chain is constant while other chains move or have another value.

    The result has the dims of ``draws`` except chain and draw. Numbers that rarely change in all
    chains, such as a share that is nearly always 1, do not count as stuck.
    """
    moves = (draws.diff(DRAW) != 0).mean(DRAW)
    still = (moves == 0).any(CHAIN)
    apart = draws.isel({DRAW: 0}).max(CHAIN) > draws.isel({DRAW: 0}).min(CHAIN)
    return still & ((moves > _MOVING).any(CHAIN) | ((moves == 0).all(CHAIN) & apart))


def least(attrs: Mapping[Any, Any]) -> float:
    """Return the smallest effective sample size, in the bulk or the tails."""
    return float(min(attrs["ess_bulk_min"], attrs.get("ess_tail_min", np.inf)))


def warning(attrs: Mapping[Any, Any], suffix: str = "") -> str:
    """Return in a few words why the chains of a fit are poor; "" if they are not poor.

    ``suffix`` is text after the word "chains", such as " of the learned prior".
    """
    chain_attrs = {name: attrs[name] for name in ATTRIBUTES if name in attrs}
    if not int(chain_attrs.get("n_items_poor", 0)):
        return ""
    if int(chain_attrs.get("n_items_undefined", 0)):
        return "draws that are not numbers"
    reasons = []
    if "ess_bulk_min" in chain_attrs:
        reasons.append(f"{chain_attrs['ess_bulk_min']:.0f} effective draws")
    if _thin_tails(chain_attrs):
        reasons.append(f"{chain_attrs['ess_tail_min']:.0f} in the tails")
    if "r_hat_max" in chain_attrs:
        reasons.append(f"r-hat {chain_attrs['r_hat_max']:.2f}")
    why = (
        "a chain stands still"
        if int(chain_attrs.get("n_items_stuck", 0))
        else f"chains{suffix} too short"
    )
    return f"{why}: {', '.join(reasons)}" if reasons else why


def longer(attrs: Mapping[Any, Any]) -> int:
    """Return the factor by which to increase the draws, given a fit's attributes.

    The factor is 1 if there are enough draws, or if more draws would not help.

    >>> poor = {"n_items_poor": 2, "ess_bulk_min": 70.0, "ess_tail_min": 120.0, "r_hat_max": 1.04}
    >>> longer(poor), longer(poor | {"n_items_stuck": 1}), longer(poor | {"n_items_poor": 0})
    (3, 1, 1)
    """
    chain_attrs = {name: attrs[name] for name in ATTRIBUTES if name in attrs}
    helpless = chain_attrs.get("n_items_undefined", 0) or chain_attrs.get("n_items_stuck", 0)
    if (
        helpless
        or chain_attrs.get("r_hat_max", 1.0) > APART
        or not chain_attrs.get("n_items_poor", 0)
    ):
        return 1
    return max(2, _needed_factor(chain_attrs))


def _needed_factor(attrs: Mapping[Any, Any]) -> int:
    """Return the factor of the draws that gives 200 effective draws, twice the minimum."""
    return math.ceil(2 * ESS / max(least(attrs), 1.0))


def few_draws(draws: int, chains: int, *, markov: bool) -> str:
    """Return a warning of too few draws for an interval; "" if there are enough.

    Draws of a Markov chain (``markov``) are counted by chain, independent draws in total.

    >>> few_draws(50, 4, markov=True)
    'only 50 draws a chain'
    >>> few_draws(50, 4, markov=False), few_draws(10, 4, markov=False)
    ('', 'only 40 draws')
    """
    if markov:
        return f"only {counted(draws, 'draw')} a chain" if draws < FEWEST else ""
    return f"only {counted(draws * chains, 'draw')}" if draws * chains < ESS else ""


def advice(attrs: Mapping[Any, Any], draws: int) -> str:
    """Return advice on poor chains, given a fit's attributes and its number of draws a chain.

    >>> advice({"n_items_poor": 1, "ess_bulk_min": 200.0}, 1000)
    'ask for more draws (draws=4000)'
    """
    if attrs.get("n_items_undefined"):
        return (
            "some draws are not finite. Do not use this fit; check for extreme values in the data "
            "or very wide priors, and report the problem"
        )
    if attrs.get("n_items_stuck"):
        return (
            "a chain stands still, and more draws do not help. Fit again with another "
            "random_seed, or a longer warm-up (tune=2000). If a chain stands still again, leave "
            "it out"
        )
    if attrs.get("r_hat_max", 1.0) > APART:
        return (
            "the chains seem to have settled in different places, and more draws do not help. "
            "Compare them chain by chain (fit['posterior'].mean('draw')), and try a simpler model"
        )
    times = max(4, _needed_factor(attrs)) if "ess_bulk_min" in attrs else 4
    return f"ask for more draws (draws={times * draws})"


def _warn(attrs: dict[str, Any], subject: str, draws: int) -> None:
    r_hat = f", r-hat up to {attrs['r_hat_max']:.2f}" if "r_hat_max" in attrs else ""
    tails = f" ({attrs['ess_tail_min']:.0f} in the tails)" if _thin_tails(attrs) else ""
    warn_caller(
        f"The chains have not run long enough for {subject}: as few as "
        f"{attrs['ess_bulk_min']:.0f} effective draws{tails}{r_hat}. Do not trust such intervals; "
        f"{advice(attrs, draws)}.",
        ConvergenceWarning,
    )


def _thin_tails(attrs: Mapping[str, Any]) -> bool:
    """Return whether the tails have fewer than 100 effective draws, and fewer than the bulk."""
    return bool(attrs.get("ess_tail_min", np.inf) < min(ESS, attrs.get("ess_bulk_min", np.inf)))


def divergences(sample_stats: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """Return the number of divergent transitions of NUTS, and warn of them.

    The result is empty if another sampler made the fit.
    """
    if "diverging" not in sample_stats:
        return {}
    n = int(sample_stats["diverging"].sum())
    if n:
        warn_caller(
            f"{n} of {sample_stats['diverging'].size} transitions diverged: NUTS did not reach all "
            "of the posterior, and intervals may be too narrow. Use the Gibbs sampler where "
            "there is one, or a longer warm-up (tune=2000)."
        )
    return {"n_divergences": n}
