"""What pictures of replicated statistics share: one panel for each, and who is in the tails."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dissensus.checks._by_group import ENDS
from dissensus.errors import ArgumentError, shown
from dissensus.plots import _source as pieces
from dissensus.plots import _style as look
from dissensus.wording import percent

NEEDED: Final = ("observed", "lower", "upper", "tail_probability")


def checked(source: Any, name: str, dim: str) -> xr.Dataset:
    """Return what a check found along a dim and one more, that of its statistics.

    Raises
    ------
    ArgumentError
        If the source is no such check.
    """
    found = pieces.group(source, name)
    if not set(NEEDED) <= set(found.data_vars) or dim not in found["observed"].dims:
        raise ArgumentError(
            "source",
            expected=f"what dissensus.{name} returns",
            found=f"variables {shown(list(found.data_vars)) or 'none'}",
        )
    return found.transpose(dim, ...)


def outside(found: xr.Dataset) -> xr.DataArray:
    """Return which statistics lie in the tails of their replicates.

    Examples
    --------
    >>> outside(xr.Dataset({"tail_probability": ("item", [0.01, 0.5, 0.99])})).values.tolist()
    [True, False, True]
    """
    low, high = ENDS
    return (found["tail_probability"] < low) | (found["tail_probability"] > high)


def draw(
    ax: Axes, found: xr.Dataset, places: npt.ArrayLike, *, flat: bool, size: float, thick: float
) -> None:
    """Draw intervals of replicates and what was observed: along rows (flat), else along columns."""
    at = np.asarray(places, dtype=np.float64)
    lower, upper, observed = (found[n].to_numpy() for n in ("lower", "upper", "observed"))
    lines = ax.hlines if flat else ax.vlines
    lines(at, lower, upper, color=look.DRAWS, alpha=0.55, linewidth=thick)
    far = outside(found).to_numpy()
    for these, (color, marker) in ((~far, _looks(False)), (far, _looks(True))):
        x, y = (observed[these], at[these]) if flat else (at[these], observed[these])
        ax.plot(x, y, color=color, marker=marker, markersize=size, linestyle="none")


def _looks(far: bool) -> tuple[str, str]:
    return (look.WORSE, "D") if far else (look.ink(), "o")


def legend(figure: Any) -> None:
    """Say above all panels what lines and marks are."""
    low, high = ENDS
    marks = [Line2D([], [], color=look.DRAWS, alpha=0.55, linewidth=5)]
    for far in (False, True):
        color, marker = _looks(far)
        marks.append(Line2D([], [], color=color, marker=marker, markersize=4.5, linestyle="none"))
    figure.legend(
        marks, [f"{percent(high - low)} of replicates", "observed", "outside"],
        loc="outside upper left", ncols=3, frameon=False, fontsize=look.SMALL,
        handlelength=1.0, columnspacing=1.0, handletextpad=0.5,
    )  # fmt: skip
