"""Readers of tables and files. They return Datasets that follow the schema."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__, submodules=["formats", "plausibility", "schema"]
)
