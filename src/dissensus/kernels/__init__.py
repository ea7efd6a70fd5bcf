"""The maths, and only the maths: NumPy and Numba kernels, core axes last.

Nothing here knows a dimension's name. `dissensus.metrics` and `dissensus.models` wrap these.
"""
