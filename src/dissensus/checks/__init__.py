"""Posterior predictive checks: statistics of replicated annotations and of the data.

Each posterior predictive draw of a fit is one replicate of the annotations. `_replicates` arranges
replicates as further items, so that `dissensus.statistics` computes a statistic of thousands of
replicates at once.

All checks raise an `ArgumentError` for a fit of another model, a part of a fit, a fit without the
required draws, and invalid settings. They raise an `AnnotationError` or a `PredictionError` for
data that are not those of the fit or are not suitable for the model.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "_agreement": ["agreement_check", "model_discrepancy_ratio"],
        "_assumptions": ["check_assumptions"],
        "_by_group": ["label_check", "residual_check"],
        "_comparison": ["compare_truth_models"],
        "_prior": ["prior_predictive"],
        "_review": ["items_to_review"],
    },
)
