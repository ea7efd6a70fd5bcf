"""How annotators of one item err together: the argument, and what is believed by default."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dissensus.errors import ArgumentError, brief
from dissensus.families.latent_truth.kernels.true_labels import Prior

LEARNED: Final = "learned"
MEDIAN, SPREAD = 0.6, 0.5
"""Of the correlation of errors, the latter of its logarithm. On seven sets with a known truth the
correlation that says most of it is .4 to 1 (docs/validation/truth.md); its logarithms lie as close
as .24 together, but seven are few."""
_WEIGHT: Final = (-0.1, 1.2, 0.5, 3.5)
"""Of a system's answer, by sets and systems of the same page: even from 0 to the weight it had if
it erred independently of annotators, with a little beyond on either side, give or take .5."""


def checked_errors(given: Any, above: float | None = None) -> Prior | None:
    """Read what is believed of the correlation of errors; None if they are independent.

    It is a number, a median and the standard deviation of its logarithm, or the name of what sets
    with a known truth say. ``above`` is what it has to be above.

    Raises
    ------
    ArgumentError
        If it is none of these.

    Examples
    --------
    >>> checked_errors(0.0) is None, checked_errors("learned").correlation
    (True, array([0.6, 0.5]))
    """
    values = (MEDIAN, SPREAD) if isinstance(given, str) and given == LEARNED else given
    try:
        pair = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        pair = np.array([np.nan])
    whole = np.append(pair, 0.0) if pair.shape == (1,) else pair
    bad = whole.shape != (2,) or not np.isfinite(whole).all() or (whole < 0).any()
    if bad or (above is not None and whole[0] <= above):
        raise ArgumentError(
            "error_correlation", found=brief(given),
            expected=f"a number {'from 0 on' if above is None else f'above {above:g}'}, "
            f"{LEARNED!r}, or a median and the standard deviation of "
            "the logarithm",
        )  # fmt: skip
    return Prior(whole, np.array(_WEIGHT)) if whole[0] > 0 else None
