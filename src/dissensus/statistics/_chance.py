"""What coefficients of agreement corrected for chance have in common."""

from __future__ import annotations

from typing import Final

NO_PAIRS: Final = "no item has labels of two annotators"
NO_SPREAD: Final = (
    "all labels are the same, so that none could have disagreed by chance; the data do not say how "
    "well annotators tell items apart"
)
