"""Statistics of each annotator's or item's labels, beside those of replicates of the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.sparse import csr_array

from dissensus._replication.predictive_draws import OBSERVED, PREDICTIVE, group_of, replicates
from dissensus._replication.replicates import Replicates, Said
from dissensus.dims import ANNOTATION, ANNOTATOR
from dissensus.errors import ArgumentError
from dissensus.kernels.types import Floats, Ints

ENDS: Final = (0.05, 0.95)
"""Quantiles of replicates that are reported; beyond them is called a misfit."""
_SAME: Final = 1e-9
"""Values this near are one value, summed up in another order."""


class Rows(NamedTuple):
    """What was said and what is replicated, row by row, with who said it."""

    both: Replicates
    annotator: Ints
    """(row): code."""
    annotators: npt.NDArray[Any]


def rows_of(fit: Any, annotations: Any) -> Rows:
    """Read a fit whose replicates keep their rows.

    Raises
    ------
    ArgumentError
        If replicates are no labels or numbers row by row, or nobody knows who said them.
    """
    drawn = group_of(fit, PREDICTIVE)
    both = replicates(fit, annotations)
    if both.form not in {"labels", "numbers"} or not {"score", "label_code"} & set(drawn):
        raise ArgumentError(
            "fit",
            expected="replicates of single labels or numbers that say whose they are",
            found=f"{both.form}, of the model {fit.attrs.get('model', '?')!r}",
            hint="crossed_effects and cross_replication replicate every annotator's own labels",
        )
    if annotations is not None:
        who = annotations[f"{ANNOTATOR}_code"].to_numpy().astype(np.int64)
        return Rows(both, who, annotations[ANNOTATOR].to_numpy())
    observed, name = group_of(fit, OBSERVED), f"{ANNOTATION}_{ANNOTATOR}"
    if name not in observed.coords:
        raise ArgumentError(
            "annotations", expected="what the model was fitted to: the fit does not say who said "
            "what", found="None",
        )  # fmt: skip
    names, who = np.unique(observed[name].to_numpy(), return_inverse=True)
    return Rows(both, who.ravel().astype(np.int64), names)


def means_by(group: Ints, n_groups: int) -> csr_array:
    """Return a matrix (row, group) that takes means: NaN for a group without rows stays out.

    Examples
    --------
    >>> (np.array([[1.0, 3.0, 5.0]]) @ means_by(np.array([0, 0, 1]), 2)).tolist()
    [[2.0, 5.0]]
    """
    n = np.bincount(group, minlength=n_groups)
    rows = np.arange(len(group))
    return csr_array((1.0 / n[group], (rows, group)), shape=(len(group), n_groups))


Statistics = Callable[[npt.NDArray[Any]], Floats]
"""From values (version, row) to statistics (version, group, statistic)."""


def compared(both: Replicates, statistics: Statistics, dims: tuple[str, str]) -> xr.Dataset:
    """Set observed statistics beside the mean, the ends and the tail of replicated ones."""
    observed = statistics(both.observed.values(slice(0, 1)))[0]
    drawn = _all(both.drawn, statistics, observed.size)
    near = np.isclose(drawn, observed, rtol=_SAME, atol=_SAME)
    with np.errstate(invalid="ignore"):
        tail = np.where(near, 0.5, drawn > observed).mean(axis=0)
    tail[np.isnan(observed) | np.isnan(drawn).any(axis=0)] = np.nan
    low, high = np.quantile(drawn, ENDS, axis=0)
    parts = {
        "observed": observed, "replicated": drawn.mean(axis=0), "lower": low, "upper": high,
        "tail_probability": tail,
    }  # fmt: skip
    return xr.Dataset({name: (dims, values) for name, values in parts.items()}, attrs=both.attrs)


def _all(said: Said, statistics: Statistics, width: int) -> Floats:
    """Compute statistics of all versions, some at a time."""
    return np.concatenate([statistics(said.values(some)) for some in said.blocks(width)])


def outside(found: xr.Dataset, dim: str) -> list[Any]:
    """Return the names along a dim with some statistic in the tails."""
    low, high = ENDS
    far = (found["tail_probability"] < low) | (found["tail_probability"] > high)
    other = [one for one in far.dims if one != dim]
    return list(found[dim].to_numpy()[far.any(other).to_numpy()])
