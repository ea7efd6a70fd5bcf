"""Whether confidences are evidence of their own, as a Rasch model takes them for."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import warn_caller
from dissensus.families.rasch.process import Process
from dissensus.kernels.types import Floats

_MUCH: Final = 0.1
"""A correlation that is told of: below it six labels of an item count as four or more."""
_ERRORS: Final = 4.0


def warn_of_shared_confidence(what: Process, truth_mean: Floats, level: Floats) -> None:
    """Warn if those who label one item are sure or unsure of it together, right or wrong.

    Parameters
    ----------
    truth_mean : array (item, label)
        How probable each label is to be true.
    level : array (right, level)
        Posterior means of how often each level goes with wrong, and with right labels.
    """
    wrong, right = level @ what.levels
    expected = wrong + (right - wrong) * truth_mean[what.item, what.label]
    rest = what.levels[what.level] - expected
    found, n_pairs = _correlation(rest, what.item)
    if n_pairs and found > max(_MUCH, _ERRORS / np.sqrt(n_pairs)):
        warn_caller(
            f"Annotators of one item are sure or unsure of it together, whether they are right or "
            f"wrong (correlation {found:.2f}). confidence=True takes each confidence for evidence "
            "of its own, and counts the same hesitation several times: accuracies come out too "
            "low and intervals too short. Fit without it, and look at what confidence tells with "
            "dissensus.confidence_check."
        )


def _correlation(rest: Floats, item: npt.NDArray[Any]) -> tuple[float, float]:
    """Return how alike residuals of one item are, and in how many pairs."""
    n = np.bincount(item)
    squares = np.bincount(item, rest**2)
    together = np.bincount(item, rest) ** 2 - squares
    n_pairs = float((n * (n - 1)).sum()) / 2.0
    spread = squares.sum() / len(rest)
    if not n_pairs or not spread:
        return 0.0, 0.0
    return float(together.sum()) / (2.0 * n_pairs * spread), n_pairs
