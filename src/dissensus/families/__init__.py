"""One package for each family of models: process, sampler, PyMC form, and kernels."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, submodules=["distributions", "steps"])
