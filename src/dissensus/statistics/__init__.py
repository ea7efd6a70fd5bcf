"""Statistics: functions of the observed annotations that take weights over items.

`bayesian_bootstrap` draws these weights and thereby gives any statistic a posterior. Each statistic
is computed from sums over items, as ``Sums(...).value(weights)`` (see `_sums`). So
`bayesian_bootstrap` computes all draws of a statistic as one matrix product.

All statistics raise an `AnnotationError` or a `PredictionError` for data of a kind that they do not
take, and for items that have only annotations or only predictions. They raise an `ArgumentError`
for invalid settings and weights. Undefined values are NaN, and a `DissensusWarning` gives the
reason.

The registry `STATISTICS` lists all statistics, for the documentation and for tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Final

from dissensus.registry import find

Variant = tuple[tuple[str, Any], ...]
"""Names of arguments of a statistic, with their values."""


@dataclass(frozen=True)
class Statistic:
    """An entry of the registry. The module of the statistic is loaded on first use.

    Examples
    --------
    >>> import dissensus as dx
    >>> kappa = dx.statistics.get("cohen_kappa")
    >>> kappa.takes, kappa.low, kappa.high, kappa.kinds
    ('two annotators', -1.0, 1.0, ('nominal', 'ordinal', 'continuous'))
    >>> kappa.function is dx.cohen_kappa
    True
    """

    name: str
    """The public name of the statistic."""
    takes: str = "annotations"
    """The required data: "annotations", "two annotators", "pools", or, in addition to annotations,
    "predictions" or "scores"."""
    low: float = -float("inf")
    high: float = 1.0
    better: str = "higher"
    """Which values are better: "higher", "lower", or "none"."""
    kinds: tuple[str, ...] = ("nominal", "ordinal", "continuous")
    """The kinds of labels that the statistic takes."""
    variants: tuple[Variant, ...] = ((),)
    """Arguments that select versions of the statistic. Tests check each version."""
    variable: str = ""
    """The name of the variable with values from `low` to `high`; empty if it is `name`."""
    pairwise: bool = True
    """Whether the value stays the same if annotators are renamed separately for each item."""

    @property
    def function(self) -> Callable[..., Any]:
        """The public function that computes the statistic."""
        function = getattr(import_module("dissensus"), self.name)
        assert callable(function)
        return function

    @property
    def sums(self) -> Callable[..., Any]:
        """A function with the same arguments that returns the statistic's sums (`Sums`)."""
        from dissensus.statistics._sums import SUMS

        return partial(self.function, weights=SUMS)


_WEIGHTED: Final = ((), (("weighting", "linear"),), (("weighting", "quadratic"),))
_LABELS: Final = ("nominal", "ordinal")
_ALL_KINDS: Final = ("nominal", "ordinal", "continuous", "ranking")

STATISTICS: Final = (
    Statistic("percent_agreement", low=0.0),
    # With quadratic weights the minimum approaches -5 for many labels. Without weights it is -1.
    Statistic("bennett_s", low=-5.0, kinds=_LABELS, variants=_WEIGHTED),
    Statistic("cohen_kappa", takes="two annotators", low=-1.0, variants=_WEIGHTED, pairwise=False),
    Statistic("fleiss_kappa"),
    Statistic("gwet_ac", low=-5.0, kinds=_LABELS, variants=_WEIGHTED),
    Statistic(
        "iota",
        variants=((), (("distance", "squared"),), (("distance", "absolute"),)),
        pairwise=False,
    ),
    Statistic(
        "cross_kappa",
        takes="pools",
        high=float("inf"),  # a normalised cross kappa may exceed 1
        variants=(
            (),
            (("missing", "pairs"),),
            (("missing", "items"), ("distance", "interval")),
            (("distance", "absolute"),),
            (("normalized", True),),
            (("normalized", True), ("distance", "interval")),
        ),
    ),
    Statistic(
        "krippendorff_alpha",
        variants=tuple((("level", x),) for x in ("nominal", "ordinal", "interval", "ratio")),
    ),
    Statistic(
        "leave_one_out_agreement",
        low=0.0,
        kinds=("nominal", "ordinal", "ranking"),
        variants=((), (("ties", "any"),)),
    ),
    Statistic(
        "concordance",
        low=0.0,
        kinds=_ALL_KINDS,
        variants=(
            (),
            (("chance", "empirical"),),
            (("distance", "absolute"), ("max_distance", 8.0)),
            (("slim_majority", 0.5),),
        ),
    ),
    Statistic(
        "weighted_reliability",
        low=0.0,
        kinds=_ALL_KINDS,
        variants=(
            (("accuracy", 0.8),),
            (("accuracy", "majority"),),
            (("accuracy", "majority"), ("distance", "squared"), ("max_distance", 50.0)),
            (("accuracy", 0.7), ("slim_majority", 0.5)),
            (("accuracy", "majority"), ("per_pair", True)),
        ),
        pairwise=False,
    ),
    Statistic(
        "discrepancy_ratio",
        takes="predictions",
        low=0.0,
        high=float("inf"),
        better="lower",
        kinds=_ALL_KINDS,
        variants=(
            (),
            (("distance", "absolute"),),
            (("distance", "hinge"), ("tolerance", 0.5)),
            (("distance", "jaccard"),),
        ),
    ),
    Statistic(
        "annotator_discrepancy_ratio",
        low=0.0,
        high=float("inf"),
        better="lower",
        kinds=_ALL_KINDS,
        variants=((), (("alpha_items", "all"),), (("distance", "absolute"),)),
        pairwise=False,
    ),
    Statistic(
        "discrepancy_curve",
        takes="scores",
        low=0.0,
        high=float("inf"),
        better="lower",
        kinds=_LABELS,
    ),
    Statistic("naive_accuracy", takes="predictions", low=0.0, kinds=_LABELS),
    Statistic("majority_vote_accuracy", takes="predictions", low=0.0, kinds=_LABELS),
    Statistic("lehner", takes="predictions", low=0.0, kinds=_LABELS, variable="system_accuracy"),
    Statistic(
        "advantage_probability",
        takes="predictions",
        low=0.0,
        kinds=_ALL_KINDS,
        variants=((("distance", "nominal"),), (("distance", "squared"),)),
        pairwise=False,
    ),
    Statistic(
        "winning_rate",
        takes="predictions",
        low=0.0,
        kinds=_ALL_KINDS,
        variants=(
            (("min_items", 1), ("distance", "nominal")),
            (("min_items", 1), ("distance", "squared"), ("per_annotator", True)),
        ),
        pairwise=False,
    ),
    Statistic(
        "relative_f1",
        takes="predictions",
        low=-1.0,
        kinds=_LABELS,
        variants=(
            (("random_seed", 1),),
            (("random_seed", 1), ("average", "macro")),
            (("random_seed", 1), ("average", "micro")),
        ),
        pairwise=False,
    ),
)


def names() -> list[str]:
    """Return the names of all statistics.

    Examples
    --------
    >>> import dissensus as dx
    >>> "cohen_kappa" in dx.statistics.names()
    True
    """
    return [statistic.name for statistic in STATISTICS]


def get(name: str) -> Statistic:
    """Return the entry of a statistic, or raise an `ArgumentError` for an unknown name.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.statistics.get("percent_agreement").low
    0.0
    """
    return find(STATISTICS, name, "statistic")


def registered(function: Callable[..., Any]) -> Statistic | None:
    """Return the entry of the statistic that a function computes; None for other functions.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.statistics.registered(dx.krippendorff_alpha).name
    'krippendorff_alpha'
    """
    name = getattr(function, "__name__", "")
    return next((s for s in STATISTICS if s.name == name and s.function is function), None)


_OTHERS: Final = ("bayesian_bootstrap", "best_threshold", "by_label")
"""Public functions of this package that are not statistics."""


def __getattr__(name: str) -> Any:
    """Return a public function; its module is loaded on first use."""
    if name not in (*names(), *_OTHERS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("dissensus"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *names(), *_OTHERS])
