"""What is counted in advance where shares have a Beta distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from dissensus.errors import ArgumentError, brief
from dissensus.statistics._settings import real


def prior_counts(prior: Any) -> tuple[float, float]:
    """Return two positive numbers, or raise.

    Examples
    --------
    >>> prior_counts((1, 0.5))
    (1.0, 0.5)
    """
    pair = list(prior) if isinstance(prior, list | tuple | np.ndarray) else []
    numbers = [real(value) for value in pair]
    if len(numbers) != 2 or not all(0 < value < np.inf for value in numbers):
        raise ArgumentError(
            "prior", expected="two positive numbers, such as (1, 1)", found=brief(prior)
        )
    return numbers[0], numbers[1]
