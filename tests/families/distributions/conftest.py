"""Graphs of distributions are small, and compiled only where a test asks for it."""

from pymc_runs import graphs_are_not_compiled

__all__ = ["graphs_are_not_compiled"]
