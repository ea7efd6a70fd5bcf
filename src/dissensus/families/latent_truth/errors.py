"""The argument ``error_correlation``: its check, and the prior called "learned"."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dissensus.errors import ArgumentError, brief
from dissensus.families.latent_truth.kernels.true_labels import Prior

LEARNED: Final = "learned"
MEDIAN, SPREAD = 0.6, 0.5
"""The prior of the correlation: median, and standard deviation of the logarithm. In seven data sets
with a known truth, the best-fitting correlations are .4 to 1 (docs/validation/truth.md). Their
logarithms have a standard deviation of .24. The prior is wider, because seven data sets are few."""
_WEIGHT: Final = (-0.1, 1.2, 0.5, 3.5)
"""The prior of a system's weight w, from systems on the same data sets. Let w0 be the weight of a
system that errs independently of annotators, limited to 0 to 3.5. Then w is uniform from -.1 w0 to
1.2 w0, plus a normal error with standard deviation .5. (Of two labels, see also `true_labels`.)"""


def checked_errors(given: Any, above: float | None = None) -> Prior | None:
    """Return the priors that ``error_correlation`` specifies; None if errors are independent.

    ``given`` is the argument: a number, "learned", or a pair of the median and the standard
    deviation of the logarithm. The number or median must be greater than ``above``. Other values
    raise an `ArgumentError`.

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
