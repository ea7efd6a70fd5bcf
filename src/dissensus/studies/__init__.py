"""Data sets, simulated studies, and plans of new ones."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, submodules=["datasets", "simulate"])
