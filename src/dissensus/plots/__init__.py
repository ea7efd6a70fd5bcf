"""Plots of an evaluation, or of a part of it. Each function returns a figure and shows nothing.

ArviZ draws `distribution` and `forest`, with any of its backends; these return a `PlotCollection`.
Matplotlib draws the other plots. Matplotlib is imported with the first plot.

Settings that several plots share (``figsize``, ``ax``, ``ci_kind`` and others) are described and
checked in `dissensus.plots._source`, which completes the docstrings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Final

from dissensus.errors import ArgumentError, shown
from dissensus.registry import find

if TYPE_CHECKING:
    from ._along import calibration as calibration
    from ._along import discrepancy_curve as discrepancy_curve
    from ._along import models as models
    from ._along import reliability as reliability
    from ._annotators import annotator_roc as annotator_roc
    from ._annotators import confidence_difficulty as confidence_difficulty
    from ._annotators import confidence_errors as confidence_errors
    from ._annotators import confidence_ridges as confidence_ridges
    from ._checks import agreement_check as agreement_check
    from ._checks import assumptions as assumptions
    from ._checks import label_check as label_check
    from ._checks import prior_predictive as prior_predictive
    from ._checks import residual_check as residual_check
    from ._item import item as item
    from ._items import certainty as certainty
    from ._items import expected_risk as expected_risk
    from ._items import items_to_review as items_to_review
    from ._items import simplex as simplex
    from ._plans import accuracy_plan as accuracy_plan
    from ._plans import reliability_plan as reliability_plan
    from ._reader_study import reader_study as reader_study
    from ._rows import accuracies as accuracies
    from ._rows import components as components
    from ._rows import discrepancy as discrepancy
    from ._systems import better as better
    from ._systems import distribution as distribution
    from ._systems import forest as forest
    from ._truth_nomogram import truth_nomogram as truth_nomogram


@dataclass(frozen=True)
class Plot:
    """An entry of the list of plots.

    Examples
    --------
    >>> import dissensus as dx
    >>> better = dx.plots.get("better")
    >>> better.group, better.summary
    ('comparison', 'probability that one system is better than another')
    """

    name: str
    group: str
    """The group of an evaluation that the plot needs."""
    module: str
    summary: str

    @property
    def function(self) -> Callable[..., Any]:
        """The function that draws the plot."""
        draw = getattr(import_module(f"dissensus.plots.{self.module}"), self.name)
        assert callable(draw)
        return _completed(draw, self.group)


PLOTS: Final = (
    Plot("forest", "metrics", "_systems", "metrics of all systems, at one reliability"),
    Plot("reliability", "metrics", "_along", "a metric against reliability, with intervals"),
    Plot("models", "companion", "_along", "a metric against reliability under two models"),
    Plot("distribution", "metrics", "_systems", "draws of a metric, for each system"),
    Plot("better", "comparison", "_systems", "probability that one system is better than another"),
    Plot("discrepancy", "discrepancy", "_rows", "discrepancy ratios of systems and annotators"),
    Plot("components", "components", "_rows", "reliability of labels, correlation of pools"),
    Plot("accuracies", "accuracy", "_rows", "accuracy of systems and annotators"),
    Plot("discrepancy_curve", "discrepancy_curve", "_along", "discrepancy ratio by threshold"),
    Plot("calibration", "calibration", "_along", "calibration of predicted probabilities"),
    Plot("certainty", "certainty", "_items", "annotation certainty of every item, sorted"),
    Plot("item", "posterior", "_item", "one item: annotations, plausibilities, predictions"),
    Plot("simplex", "posterior", "_items", "plausibilities over three labels in a triangle"),
    Plot("agreement_check", "agreement_check", "_checks", "agreement in data and replicates"),
    Plot("assumptions", "assumptions", "_checks", "checks of a model of the truth"),
    Plot("label_check", "label_check", "_checks", "use of labels in data and replicates"),
    Plot("residual_check", "residual_check", "_checks", "residuals in data and replicates"),
    Plot("prior_predictive", "prior_predictive", "_checks", "prior of labels and of the ICC"),
    Plot("expected_risk", "expected_risk", "_items", "histogram of the items' expected risk"),
    Plot("reliability_plan", "plan", "_plans", "annotators and items for reliable labels"),
    Plot(
        "truth_nomogram", "weighted_reliability", "_truth_nomogram",
        "accuracy of a majority of annotators",
    ),
    Plot("annotator_roc", "annotator_roc", "_annotators", "annotators in ROC space"),
    Plot("reader_study", "reader_study", "_reader_study", "ROC curves of readers and systems"),
    Plot("confidence_ridges", "annotations", "_annotators", "confidence of each annotator"),
    Plot("confidence_errors", "confidence_check", "_annotators", "errors by confidence"),
    Plot(
        "confidence_difficulty", "confidence_difficulty", "_annotators",
        "difficulty of items against confidence",
    ),
    Plot("items_to_review", "items_to_review", "_items", "items to review first, with gains"),
    Plot("accuracy_plan", "accuracy_plan", "_plans", "items for a system's accuracy"),
)  # fmt: skip


@cache
def _completed(draw: Callable[..., Any], group: str) -> Callable[..., Any]:
    """Return the function with a complete docstring, checks of settings, and warnings."""
    from dissensus.plots._source import check, documented

    call_signature = signature(draw)

    @wraps(draw)
    def drawn(*args: Any, **options: Any) -> Any:
        from dissensus.plots._style import warn_above

        try:
            settings = call_signature.bind(*args, **options).arguments
        except TypeError:
            return draw(*args, **options)  # raises an error that names the function
        check(settings)
        source = settings.get(next(iter(call_signature.parameters)))
        try:
            picture = draw(*args, **options)
        except KeyError as missing:  # a Dataset without one of its variables
            names = list(getattr(source, "data_vars", getattr(source, "children", [])))
            raise ArgumentError(
                "source", expected=f"an evaluation, or its {group!r}, with {missing}",
                found=f"{type(source).__name__} with {shown(names, 12) or 'nothing'}",
            ) from missing  # fmt: skip
        warn_above(picture, source, group)
        return picture

    drawn.__doc__ = documented(draw)
    return drawn


def names() -> list[str]:
    """Return the names of all plots.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.plots.names()[:4]
    ['forest', 'reliability', 'models', 'distribution']
    """
    return [plot.name for plot in PLOTS]


def get(name: str) -> Plot:
    """Return the entry of a plot.

    Raises
    ------
    ArgumentError
        If there is no plot of that name.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.plots.get("better").group
    'comparison'
    """
    return find(PLOTS, name, "plot")


def __getattr__(name: str) -> Callable[..., Any]:
    if name in names():
        return get(name).function
    raise AttributeError(f"no plot {name!r}; the plots are {', '.join(names())}")


def __dir__() -> list[str]:
    return [*names(), "PLOTS", "get", "names"]
