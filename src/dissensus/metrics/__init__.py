"""Metrics: functions of draws that return draws.

Most metrics return a named float `xarray.DataArray` (or Dataset). Unless a metric is a summary over
draws, ``chain`` and ``draw`` come first, as `arviz.summary`, `arviz.plot_forest` and `arviz.hdi`
expect.

All metrics raise an `ArgumentError` for invalid settings, draws and fits, and a `PredictionError`
for predictions with other items or labels than the annotations.

The documentation, and the tests that apply to all metrics, are generated from the registry below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from dissensus.registry import find


@dataclass(frozen=True)
class Metric:
    """An entry of the registry, which loads the metric on demand.

    Examples
    --------
    >>> import dissensus as dx
    >>> tau = dx.metrics.get("kendall_tau")
    >>> tau.takes, tau.low, tau.high, tau.better
    ('lists', -1.0, 1.0, 'higher')
    >>> tau.function is dx.kendall_tau
    True
    """

    name: str
    takes: str
    """Kind of input: "lists" (plausibility and predictions), "probabilities" (plausibility and
    predicted probabilities), "two labels" (plausibility and predictions of two labels), "scores"
    (means and predicted numbers), "sets" (fits by label and predicted sets), "plausibility",
    "draws", "rankings", "strengths", "components" (a fit with variance components), "pools" (a fit
    of several pools), "coefficients" (a fit with covariates) or "pairs" (a fit to votes on
    pairs)."""
    low: float = 0.0
    high: float = 1.0
    better: str = "higher"
    """Which values are better: "higher", "lower", or "none" if neither is."""
    arguments: tuple[tuple[str, Any], ...] = ()
    """Required arguments, with values that are valid for small data."""

    @property
    def function(self) -> Callable[..., Any]:
        """The function that computes the metric."""
        function = getattr(import_module("dissensus"), self.name)
        assert callable(function)
        return function


METRICS: Final = (
    Metric("annotation_certainty", "plausibility", better="none"),
    Metric("certainty", "lists"),
    Metric("top_k_accuracy", "lists"),
    Metric("set_accuracy", "lists"),
    Metric("overlap", "lists", arguments=(("k", 2),)),
    Metric("average_overlap", "lists", arguments=(("depth", 2),)),
    Metric("rank_biased_overlap", "lists", arguments=(("p", 0.9),)),
    Metric("kendall_tau", "lists", low=-1.0),
    Metric("spearman_footrule", "lists", better="lower"),
    Metric("score_error", "scores", low=-1.0, high=float("inf"), better="none"),
    Metric(
        "probability_score", "probabilities", low=-float("inf"), high=float("inf"), better="none"
    ),
    Metric("sensitivity_specificity", "two labels", better="none", arguments=(("positive", 1),)),
    Metric("set_score", "sets", better="none"),
    Metric("group_labels", "plausibility", better="none"),
    Metric("expected_risk", "plausibility", high=float("inf"), better="none"),
    Metric("event_plausibility", "draws", better="none"),
    Metric("compare", "draws", low=-1.0),
    Metric("mean_average_overlap", "rankings"),
    Metric("partial_ranking_logp", "strengths", low=-float("inf"), high=0.0, better="none"),
    Metric("icc", "components"),
    Metric("annotator_icc", "components", better="lower"),
    Metric("normalized_xcc", "pools", low=-1.0),
    Metric("xcc", "pools", low=-1.0),
    Metric(
        "contrast",
        "coefficients",
        low=-float("inf"),
        high=float("inf"),
        better="none",
        arguments=(("weights", {"x": 1.0, "y": -0.5}),),
    ),
    Metric("win_rate", "pairs"),
    Metric("rank", "pairs", low=1.0, high=float("inf"), better="lower"),
    Metric("spearman_brown", "draws", low=-float("inf"), arguments=(("k", 3),)),
    Metric(
        "annotators_needed",
        "draws",
        low=1.0,
        high=float("inf"),
        better="lower",
        arguments=(("target", 0.8),),
    ),
    Metric("majority_accuracy", "draws", arguments=(("n_annotators", 3),)),
    Metric("annotators_for_truth", "draws", low=1.0, high=float("inf"), better="lower"),
    Metric("truth_accuracy", "draws", arguments=(("n_annotators", 3),)),
    Metric("actual_accuracy", "draws", arguments=(("truth_accuracy", 0.9),)),
    Metric("probability_of_support", "draws", arguments=(("accuracy", 0.95), ("required", 0.9))),
)


def names() -> list[str]:
    """Return the names of all metrics.

    Examples
    --------
    >>> import dissensus as dx
    >>> "top_k_accuracy" in dx.metrics.names()
    True
    """
    return [metric.name for metric in METRICS]


def get(name: str) -> Metric:
    """Return the entry of a metric, or raise an `ArgumentError` for an unknown name.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.metrics.get("spearman_footrule").better
    'lower'
    """
    return find(METRICS, name, "metric")


def __getattr__(name: str) -> Any:
    """Return a metric; its module is loaded on first use."""
    if name not in names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return get(name).function


def __dir__() -> list[str]:
    return sorted([*globals(), *names()])
