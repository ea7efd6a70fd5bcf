"""Does a fitted model reproduce the annotations? Statistics of what it predicts, beside the data.

A fit with posterior-predictive draws holds one replicate of the annotations in each draw
(`predictive_draws` reads them, model by model). Replicates are laid out as further items, so that
the statistics of `dissensus.statistics` are taken of thousands of them at once (`replicates`).
"""
