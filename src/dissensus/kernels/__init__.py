"""Mathematical kernels in NumPy and Numba, without labelled dims; core axes are last.

`dissensus.metrics` and `dissensus.models` wrap these functions.
"""
