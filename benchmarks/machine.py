"""What the numbers were measured on, without saying whose it is."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version


def described() -> str:
    """Return one line: cores, Python, and the libraries that do the work."""
    names = ("dissensus", "numpy", "scipy", "numba", "xarray", "pandas", "pymc")
    libraries = ", ".join(f"{name} {version(name)}" for name in names)
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}; "
        f"Python {platform.python_version()}, {libraries}"
    )
