"""Steps stand in graphs of a moment, compiled only where a test asks for it."""

from pymc_runs import graphs_are_not_compiled, no_compiler

import dissensus.families.steps  # noqa: F401 (models by hand: nothing else registers the steps)

__all__ = ["graphs_are_not_compiled", "no_compiler"]
