"""Whether Markov chains have run long enough, item by item, said in words one can act on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.dims import CHAIN, DRAW, ITEM
from dissensus.errors import ConvergenceWarning, shown, warn_caller

Floats = npt.NDArray[np.float64]

R_HAT: Final = 1.05
"""Above this chains have not met. 1.01 is the usual mark for one number; the largest of the
hundreds looked at here passes that by chance."""

APART: Final = 1.5
"""Above this they differ by more than each of them has seen: there are several places to be."""

ESS: Final = 100.0
"""Fewer effective draws than this say little about an interval's ends."""

_LOT: Final = 100

FEWEST: Final = 100
"""Draws in a chain below which neither can be told."""

ATTRIBUTES: Final = (
    "ess_bulk_min", "ess_bulk_median", "ess_bulk_min_item", "r_hat_max", "r_hat_max_item",
    "n_items_poor",
)  # fmt: skip
"""What `diagnosed` says, by name; nothing of r-hat where there is one chain."""


def diagnosed(draws: xr.DataArray, dim: str = ITEM, prefix: str = "") -> dict[str, Any]:
    """Summarise r-hat and effective sample size over items, and warn where they are poor.

    Parameters
    ----------
    draws : DataArray (chain, draw, ...)
        What is judged, with its name, if it has one: for each item the worst of the numbers along
        other dims.
    dim : str
        What is called an item here; where it is not among the dims, there is one number.
    prefix : str
        Of the names of attributes.

    Returns
    -------
    dict
        Attributes: ``r_hat_max``, ``ess_bulk_min``, ``ess_bulk_median``, the items where the
        worst values are, and how many items are poor. Numbers that are the same in all draws
        count as converged. Fewer than 100 draws a chain tell nothing: no attributes then.

    Warns
    -----
    ConvergenceWarning
        Naming the items that have fewer than 100 effective draws or an r-hat above 1.05.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draws = xr.DataArray(rng.random((4, 500, 3)), dims=("chain", "draw", "item"), name="x",
    ...                      coords={"item": list("abc")})
    >>> found = diagnosed(draws)
    >>> found["n_items_poor"], found["ess_bulk_min"] > 1000
    (0, True)
    """
    alone = dim not in draws.dims
    if alone:
        draws = draws.expand_dims({dim: [draws.name]})
    if draws.sizes[DRAW] < FEWEST or draws.sizes[dim] == 0:
        return {}
    # A few items at a time: ArviZ makes several copies of what it looks at.
    lots = [draws.isel({dim: slice(i, i + _LOT)}) for i in range(0, draws.sizes[dim], _LOT)]
    worst = [_worst(lot, dim) for lot in lots]
    ess, r_hat = (np.concatenate(part) for part in zip(*worst, strict=True))
    names = draws[dim].to_numpy()
    found: dict[str, Any] = {
        "ess_bulk_min": float(ess.min()),
        "ess_bulk_median": float(np.median(ess)),
        "ess_bulk_min_item": str(names[ess.argmin()]),
    }
    poor = ess < ESS
    if draws.sizes[CHAIN] > 1:  # one chain cannot be compared with others
        found["r_hat_max"] = float(r_hat.max())
        found["r_hat_max_item"] = str(names[r_hat.argmax()])
        poor |= r_hat > R_HAT
    found["n_items_poor"] = int(poor.sum())
    if found["n_items_poor"]:
        words = f"{len(names[poor])} of {len(names)} {dim}s ({shown(list(names[poor]))})"
        what = words if draws.name is None else f"the {draws.name} of {words}"
        _warn(found, f"the {draws.name}" if alone else what, draws.sizes[DRAW])
    return {f"{prefix}{name}": value for name, value in found.items()}


def diagnosed_parameters(posterior: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """Judge the chains by all parameters at once, and warn if they are poor.

    Parameters
    ----------
    posterior : mapping
        Draws (chain, draw, ...) by name; each number is called by the names of its place. What is
        not defined in some draw is left out.

    Returns
    -------
    dict
        As of `diagnosed`.

    Examples
    --------
    >>> draws = np.random.default_rng(1).random((4, 500, 2))
    >>> one = xr.DataArray(draws, dims=("chain", "draw", "label"), coords={"label": ["a", "b"]})
    >>> diagnosed_parameters({"share": one})["ess_bulk_min_item"] in {"share[a]", "share[b]"}
    True
    """
    parts = []
    for name, draws in posterior.items():
        flat = draws.to_numpy().reshape(*draws.shape[:2], -1)
        names = [name] if draws.ndim == 2 else [f"{name}[{one}]" for one in _places(draws)]
        parts.append(
            xr.DataArray(flat, dims=(CHAIN, DRAW, "parameter"), coords={"parameter": names})
        )
    whole = xr.concat(parts, dim="parameter")
    return diagnosed(whole.dropna("parameter"), "parameter")


def _places(draws: xr.DataArray) -> list[str]:
    names = [draws[dim].to_numpy() for dim in draws.dims[2:]]
    return [
        ", ".join(str(one[k]) for one, k in zip(names, place, strict=True))
        for place in np.ndindex(*draws.shape[2:])
    ]


def _worst(draws: xr.DataArray, dim: str) -> tuple[Floats, Floats]:
    """Return the smallest effective sample size and the largest r-hat of each item."""
    from arviz_stats import ess, rhat

    with np.errstate(invalid="ignore", divide="ignore"):  # constants: 0/0, which is no failure
        both = ess(draws, method="bulk"), rhat(draws)
    other = [one for one in draws.dims if one not in {CHAIN, DRAW, dim}]
    n_draws = draws.sizes[CHAIN] * draws.sizes[DRAW]
    constant = (draws == draws.isel({CHAIN: 0, DRAW: 0})).all([CHAIN, DRAW])
    return (
        both[0].where(~constant, n_draws).min(other).to_numpy(),
        both[1].where(~constant, 1.0).max(other).to_numpy(),
    )


def _warn(found: dict[str, Any], what: str, draws: int) -> None:
    r_hat = f", r-hat up to {found['r_hat_max']:.2f}" if "r_hat_max" in found else ""
    times = max(4, math.ceil(2 * ESS / max(found["ess_bulk_min"], 1.0)))
    advice = f"ask for more draws (draws={times * draws})"
    if found.get("r_hat_max", 1.0) > APART:
        advice = (
            "they seem to have settled in different places, where more draws do not help. "
            "Compare them chain by chain (fit['posterior'].mean('draw')), and try a plainer model"
        )
    warn_caller(
        f"The chains have not run long enough for {what}: as few as "
        f"{found['ess_bulk_min']:.0f} effective draws{r_hat}. Do not trust such intervals; "
        f"{advice}.",
        ConvergenceWarning,
    )


def divergences(sample_stats: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """Count NUTS's divergent transitions, and warn if there are any.

    Parameters
    ----------
    sample_stats : mapping
        With ``diverging`` (chain, draw), if NUTS took part.

    Returns
    -------
    dict
        The attribute ``n_divergences``, or nothing.

    Examples
    --------
    >>> divergences({"diverging": xr.DataArray([[False, False]], dims=("chain", "draw"))})
    {'n_divergences': 0}
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
