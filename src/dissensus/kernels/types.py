"""Names of arrays by their content, for type annotations in all modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Codes = Ints
"""Numbers that stand for names: labels, items, annotators."""
UNKNOWN = -1
"""Stands for an unknown code."""
Keys = npt.NDArray[np.uint64]
"""Starts of streams of random numbers."""
Flags = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]
Names = Array
