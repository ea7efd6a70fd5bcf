"""What the documentation's pictures are drawn with, and the folder they are drawn into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

SIZE: Final = (6.5, 3.4)


def write(pictures: Mapping[str, Callable[[], Any]], folder: Path, prefix: str = "") -> None:
    """Draw all, each into a file of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures.items():
        figure = draw()
        figure.savefig(folder / f"{prefix}{name}.png", dpi=115)
        plt.close(figure)


def figure_of(picture: Callable[[], Any], path: str) -> list[str]:
    """Return the lines that show a picture with its caption, which is its function's docstring."""
    caption = " ".join((picture.__doc__ or "").split())
    return ["", f".. figure:: {path}", f"   :alt: {caption}", "   :width: 85%", "",
            f"   {caption}", ""]  # fmt: skip


def empty() -> tuple[Any, Any]:
    """Return a figure, and the axes in it."""
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    ax.grid(visible=True, alpha=0.3)
    return figure, ax


def densities(parts: Mapping[str, Any], label: str, *, mark: float | None = None) -> Any:
    """Draw the draws of several things over one another, and a number to compare them with."""
    figure, ax = empty()
    for name, draws in parts.items():
        ax.hist(np.asarray(draws).ravel(), bins=45, density=True, alpha=0.55, label=name)
    if mark is not None:
        ax.axvline(mark, color="black", linestyle=":", linewidth=1)
    ax.set_xlabel(label)
    ax.set_yticks([])
    ax.legend(frameon=False)
    return figure


def of_systems(draws: xr.DataArray, label: str | None = None, *, mark: float | None = None) -> Any:
    """Draw the posterior of each system."""
    parts = {str(name): draws.sel(system=name) for name in draws["system"].to_numpy()}
    return densities(parts, label or str(draws.name).replace("_", " "), mark=mark)


def curves(
    x: Any, lines: Mapping[str, Any], labels: tuple[str, str], title: str = "", *, log: bool = False
) -> Any:
    """Draw what becomes of a number, for some values of another."""
    figure, ax = empty()
    for name, y in lines.items():
        ax.plot(x, y, label=name, marker="." if len(x) < 25 else None)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if log:
        ax.set_yscale("log")
    ax.legend(title=title or None, frameon=False)
    return figure
