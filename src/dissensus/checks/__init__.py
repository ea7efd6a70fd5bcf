"""Does a fitted model reproduce the annotations? Statistics of what it predicts, beside the data.

A fit with posterior-predictive draws holds one replicate of the annotations in each draw
(`predictive_draws` reads them, model by model). Replicates are laid out as further items, so that
the statistics of `dissensus.statistics` are taken of thousands of them at once (`replicates`).
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "_agreement": ["agreement_check"],
        "_assumptions": ["check_assumptions"],
        "_by_group": ["label_check", "residual_check"],
        "_comparison": ["compare_truth_models"],
        "_discrepancy": ["model_discrepancy_ratio"],
        "_prior": ["prior_predictive"],
        "_review": ["items_to_review"],
    },
)
