"""Make references again: all, or those of the files that are named."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

names = sys.argv[1:] or sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
for name in names:
    module = import_module(f"reference.make.{name}")
    if hasattr(module, "main"):  # the others are parts that several use
        module.main()
