"""Bayesian evaluation when annotators disagree and the true labels are unknown.

Annotation processes are PyMC models (`dissensus.models`). A metric is computed for each of their
posterior draws, and the result is draws of the metric, ready for ArviZ. Everything public is
reachable from here and loaded on first use: ``import dissensus`` alone does not load PyMC.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)

__version__ = "0.1.0"
