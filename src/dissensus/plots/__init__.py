"""Pictures: each function takes an evaluation, or the piece it draws, and returns a figure.

None of them shows anything by itself. ArviZ draws where it has a fitting plot (`distribution`,
`forest`; any of its backends, and a `PlotCollection` comes back), Matplotlib where it has none.
The list below is the only one; Matplotlib is loaded with the first picture, not before.
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
    from ._accuracies import accuracies as accuracies
    from ._accuracy_plan import accuracy_plan as accuracy_plan
    from ._agreement_check import agreement_check as agreement_check
    from ._annotator_roc import annotator_roc as annotator_roc
    from ._assumptions import assumptions as assumptions
    from ._better import better as better
    from ._certainty import certainty as certainty
    from ._components import components as components
    from ._confidence_difficulty import confidence_difficulty as confidence_difficulty
    from ._confidence_errors import confidence_errors as confidence_errors
    from ._confidence_ridges import confidence_ridges as confidence_ridges
    from ._discrepancy import discrepancy as discrepancy
    from ._discrepancy_curve import discrepancy_curve as discrepancy_curve
    from ._distribution import distribution as distribution
    from ._expected_risk import expected_risk as expected_risk
    from ._forest import forest as forest
    from ._item import item as item
    from ._items_to_review import items_to_review as items_to_review
    from ._label_check import label_check as label_check
    from ._models import models as models
    from ._prior_predictive import prior_predictive as prior_predictive
    from ._reliability import reliability as reliability
    from ._reliability_plan import reliability_plan as reliability_plan
    from ._residual_check import residual_check as residual_check
    from ._simplex import simplex as simplex
    from ._truth_nomogram import truth_nomogram as truth_nomogram


@dataclass(frozen=True)
class Plot:
    """What the library knows of a picture without loading it.

    Examples
    --------
    >>> import dissensus as dx
    >>> better = dx.plots.get("better")
    >>> better.group, better.summary
    ('comparison', 'probability that one system is better than another')
    """

    name: str
    group: str
    """The group of an evaluation that it cannot do without."""
    summary: str

    @property
    def function(self) -> Callable[..., Any]:
        """The function that draws it."""
        found = getattr(import_module(f"dissensus.plots._{self.name}"), self.name)
        assert callable(found)
        return _finished(found, self.group)


PLOTS: Final = (
    Plot("forest", "metrics", "metrics of all systems with intervals, at one reliability"),
    Plot("reliability", "metrics", "a metric against reliability, with intervals"),
    Plot("models", "companion", "a metric against reliability under two models, side by side"),
    Plot("distribution", "metrics", "distribution of a metric over draws, for each system"),
    Plot("better", "comparison", "probability that one system is better than another"),
    Plot("discrepancy", "discrepancy", "systems among annotators: how far from the others"),
    Plot("components", "components", "how reliable labels are, and how alike pools of annotators"),
    Plot("accuracies", "accuracy", "systems and annotators, if every item has one true label"),
    Plot("discrepancy_curve", "discrepancy_curve", "discrepancy ratio against the threshold"),
    Plot("certainty", "certainty", "annotation certainty of every item, sorted"),
    Plot("item", "posterior", "one item: annotations, plausibilities, predictions"),
    Plot("simplex", "posterior", "plausibilities over three labels in a triangle"),
    Plot("agreement_check", "agreement_check", "agreement of annotators beside that of a model's"),
    Plot("assumptions", "assumptions", "what a model of the truth assumes, beside the data"),
    Plot("label_check", "label_check", "each annotator's use of the labels beside the model's"),
    Plot("residual_check", "residual_check", "residuals of every item beside the model's"),
    Plot("prior_predictive", "prior_predictive", "labels and ICC before there are any data"),
    Plot("expected_risk", "expected_risk", "how many items have which expected risk"),
    Plot("reliability_plan", "plan", "annotators for a reliable mean, items for a narrow interval"),
    Plot("truth_nomogram", "weighted_reliability", "what a majority of annotators is worth"),
    Plot("annotator_roc", "annotator_roc", "annotators in ROC space, with posterior regions"),
    Plot("confidence_ridges", "annotations", "how sure each annotator is, one above the other"),
    Plot("confidence_errors", "confidence_check", "how many labels are wrong, by confidence"),
    Plot(
        "confidence_difficulty", "confidence_difficulty", "difficulty of items against confidence"
    ),
    Plot("items_to_review", "items_to_review", "items to send back, and what that is worth"),
    Plot("accuracy_plan", "accuracy_plan", "items for a system's accuracy without the truth"),
)


@cache
def _finished(draw: Callable[..., Any], group: str) -> Callable[..., Any]:
    """Return a function that looks at the settings, draws, and notes what not to rely on."""
    own = signature(draw)

    @wraps(draw)
    def drawn(*args: Any, **options: Any) -> Any:
        from dissensus.plots._source import check
        from dissensus.plots._style import doubtful_note

        try:
            given = own.bind(*args, **options).arguments
        except TypeError:
            return draw(*args, **options)  # which says it with its name
        check(given)
        source = given.get(next(iter(own.parameters)))
        try:
            picture = draw(*args, **options)
        except KeyError as missing:  # a Dataset somebody took a variable out of
            found = list(getattr(source, "data_vars", getattr(source, "children", [])))
            raise ArgumentError(
                "source", expected=f"an evaluation, or its {group!r}, with {missing}",
                found=f"{type(source).__name__} with {shown(found, 12) or 'nothing'}",
            ) from missing  # fmt: skip
        doubtful_note(picture, source, group)
        return picture

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
    """Return what is known of one plot.

    Raises
    ------
    ArgumentError
        If there is none of that name.

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
    raise AttributeError(f"no plot {name!r}; there are {', '.join(names())}")


def __dir__() -> list[str]:
    return [*names(), "PLOTS", "get", "names"]
