"""Make references again: all, or the families that are named."""

from __future__ import annotations

import sys
from importlib import import_module

FAMILIES = (
    "plausibilities", "rankings", "scores", "truths", "hard_items", "populations", "crossed",
    "crossed_labels", "pools", "abilities",
)  # fmt: skip

for family in sys.argv[1:] or FAMILIES:
    import_module(f"reference.make.{family}").main()
