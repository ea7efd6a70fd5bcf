"""What calibration by one chain cannot see: state that passes from chain to chain, or fit to fit.

A chain that is a copy of another is calibrated by itself, and r-hat then says that all is well.
So: a Markov chain has to be the same whatever chains there are beside it and however long they
are; no draw of one may stand in another; chains must wander apart; and a fit in a process that has
fitted other data must be the fit of a fresh process.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, Final

import numpy as np
import xarray as xr
from calibration.harness import Floats

from dissensus.errors import DissensusWarning
from dissensus.sampling.fitting import EXACT

Fit = Callable[..., xr.DataTree]

OPTIONS: Final = {"draws": 40, "tune": 30, "chains": 3, "random_seed": 7, "progressbar": False}
LONG: Final = {"draws": 400, "tune": 100, "chains": 4}
DEVIATIONS: Final = 5.0
"""Of a correlation between chains from 0, in standard errors, before it is not an accident."""
ONE_STREAM: Final = {"item_effect"}
"""Effects of items that a pool did not see are drawn for all chains at the end, from one stream."""


def fitted(fit: Fit, annotations: xr.Dataset, **options: Any) -> xr.DataTree:
    """Fit a few draws, without what is said of so few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)
        return fit(annotations, **{**OPTIONS, **options})


def fingerprint(tree: xr.DataTree) -> str:
    """Return a hash of all numbers of a fit."""
    result = hashlib.sha256()
    for node in tree.subtree:
        for name, values in sorted(node.to_dataset(inherit=False).data_vars.items()):
            if values.dtype.kind in "fiub":
                place = f"{node.path}/{name}"
                result.update(place.encode() + np.ascontiguousarray(values.to_numpy()).tobytes())
    return result.hexdigest()


def findings(fit: Fit, annotations: xr.Dataset, **hyper: Any) -> dict[str, str]:
    """Return what is wrong with the chains of a fit, by the check that sees it."""
    whole = fitted(fit, annotations, **hyper)
    out = {}
    if whole.attrs["inference"] != EXACT:  # draws all at once come from one stream
        alone = fitted(fit, annotations, **hyper, chains=1)
        longer = fitted(fit, annotations, **hyper, draws=2 * OPTIONS["draws"])
        out["alone"] = _other_draws(whole, alone)
        out["length"] = _other_draws(whole, longer)
    out["again"] = _other_draws(whole, fitted(fit, annotations, **hyper))
    out["common draws"] = _common(whole)
    out["together"] = _together(fitted(fit, annotations, **hyper, **LONG))
    return {check: words for check, words in out.items() if words}


def after_other_data(fit: Fit, other: xr.Dataset, annotations: xr.Dataset, **hyper: Any) -> str:
    """Fit other data, then these, and return the fingerprint: that of a fresh process, if right."""
    fitted(fit, other, **hyper)
    return fingerprint(fitted(fit, annotations, posterior_predictive=True, **hyper))


def _other_draws(first: xr.DataTree, second: xr.DataTree) -> str:
    """Name the variables of which the chains and draws that two fits share are not the same."""
    different = []
    for name, draws in first["posterior"].data_vars.items():
        theirs = second["posterior"][name]
        both = {dim: slice(min(draws.sizes[dim], theirs.sizes[dim])) for dim in ("chain", "draw")}
        if name not in ONE_STREAM and not draws.isel(both).equals(theirs.isel(both)):
            different.append(str(name))
    return ", ".join(different)


def _moving(tree: xr.DataTree) -> Iterator[tuple[str, Floats]]:
    """Yield the numbers that differ from draw to draw (chain, draw), by name."""
    for name, draws in tree["posterior"].data_vars.items():
        flat = draws.to_numpy().reshape(*draws.shape[:2], -1)
        for cell in range(flat.shape[-1]):
            values = flat[..., cell]
            # Shares that were rounded to 0 or 1 are not draws that could coincide.
            if len(np.unique(values)) > 0.9 * values.shape[1] and np.isfinite(values).all():
                yield f"{name}[{cell}]", values


def _common(tree: xr.DataTree) -> str:
    """Name numbers of which one chain has a draw that another has, to the last digit."""
    for name, values in _moving(tree):
        for a, b in combinations(range(len(values)), 2):
            both = np.intersect1d(values[a], values[b])
            if np.setdiff1d(both, [0.0, 1.0]).size:
                return f"{name}: {both.size} draws of chain {a} are in chain {b}"
    return ""


def _together(tree: xr.DataTree) -> str:
    """Name numbers that rise and fall together in two chains.

    The standard error of a correlation of series that follow from themselves is that of as many
    draws as they are worth, by the products of their autocorrelations (Bartlett, 1946).
    """
    worst, words = 0.0, ""
    for name, values in _moving(tree):
        z = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
        rho = np.array([_autocorrelations(row) for row in z])
        for a, b in combinations(range(len(z)), 2):
            n = z.shape[1]
            error = np.sqrt(max(1 + 2 * (rho[a] * rho[b]).sum(), 1.0) / n)
            result = abs(float((z[a] * z[b]).mean())) / error
            if result > worst:
                worst, words = result, f"{name}: chains {a} and {b}, {result:.1f} standard errors"
    return words if worst > DEVIATIONS else ""


def _autocorrelations(row: Floats) -> Floats:
    """Return autocorrelations up to a quarter of the length."""
    n = len(row)
    spectrum = np.abs(np.fft.rfft(row, 2 * n)) ** 2
    return np.fft.irfft(spectrum)[1 : n // 4] / n
