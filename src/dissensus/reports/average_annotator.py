"""Comparison of systems with the average annotator, and the average annotator's metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.predictions import predictions
from dissensus.data.tables import match
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, SAMPLE, SCOPE, SCOPES, SYSTEM
from dissensus.evaluation.accuracy import on_average
from dissensus.evaluation.answers import spread_of, votes_of
from dissensus.evaluation.evidence import METRIC as PANEL
from dissensus.evaluation.scoring import clusters_of
from dissensus.metrics._items import bootstrap_weights, over_items
from dissensus.plots._source import NEW, THESE
from dissensus.reports import evidence
from dissensus.reports.evidence import Facts
from dissensus.reports.opening import ACCURACY, labelled
from dissensus.reports.sentences import interval
from dissensus.sampling.intervals import spread
from dissensus.wording import percent, share

SURE: Final = 0.95
"""Minimum probability to state that a system is better, or worse, than an annotator or system."""
LABELS, RATIO = "labels", "ratio"
"""Kinds of comparison, besides `ACCURACY`: by single labels, or by distances."""
_UNLIKE: Final = 0.02
"""Maximum difference between the implied and the observed agreement of two annotators."""
_SEED: Final = 0
"""Seed of the weights of new items, so that the same evaluation gives the same page."""


@dataclass(frozen=True)
class AnnotatorComparison:
    """Systems compared with an annotator."""

    by: str
    """`LABELS`, `ACCURACY` or `RATIO`."""
    scope: str
    draws: xr.DataArray
    """(chain, draw, system): systems' values minus an annotator's; or discrepancy ratios."""
    equal: float
    """The value in ``draws`` of a system that is as good as an annotator."""
    margin: float
    """Largest distance from ``equal`` that counts as about equal."""
    share: float
    """The margin as a share of the annotators' disagreement, error rate or distance."""

    @property
    def digits(self) -> int:
        """Number of decimals of written values."""
        return evidence.digits(xr.Dataset(spread(self.draws)))


def annotator_comparison(
    evaluation: xr.DataTree, *, truth: bool = False
) -> AnnotatorComparison | None:
    """Return the comparison with an annotator: by accuracy, agreement, or distance.

    - With ``truth``: accuracy minus the mean accuracy of the annotators, for new items.
    - For single labels: agreement with a random annotator, minus the agreement of two annotators.
    - Otherwise: discrepancy ratios.

    Returns None without systems, or if no item has two annotators.
    """
    margin = float(evidence.group(evaluation, "discrepancy").attrs.get("margin", 0.1))
    if truth:
        data = evaluation["accuracy"].to_dataset()
        people = on_average(data["annotator_accuracy"])
        draws = data["estimated_accuracy"].sel({SCOPE: NEW}, drop=True) - people
        return AnnotatorComparison(
            ACCURACY, NEW, draws, 0.0, margin * float(1 - people.mean()), margin
        )
    answers = evidence.group(evaluation, "answers")
    if "annotator_agreement" in answers and is_of_labels(evaluation):
        people = answers["human_agreement"]
        if bool(people.notnull().all()):
            draws = answers["annotator_agreement"] - people
            scope = labelled(evaluation, str(answers.attrs["scope"]))
            return AnnotatorComparison(
                LABELS, scope, draws, 0.0, margin * float(1 - people.mean()), margin
            )
    ratio = evidence.group(evaluation, "discrepancy").get("discrepancy_ratio")
    return None if ratio is None else AnnotatorComparison(RATIO, NEW, ratio, 1.0, margin, margin)


def is_of_labels(evaluation: xr.DataTree) -> bool:
    """Return whether the distance of two answers is 0 for the same label and 1 for another."""
    attrs = evidence.group(evaluation, "discrepancy").attrs
    return attrs.get("distance") == "nominal" or attrs.get("depth") == 1


def against(comparison: AnnotatorComparison | None, system: Any) -> Facts:
    """Return how a system compares with an annotator.

    ``beside`` is "same" if the whole interval is within the margin; else "better" or "worse" if
    this has at least the probability `SURE`; else "open". Without a comparison it is "".
    """
    if comparison is None or system not in comparison.draws[SYSTEM]:
        return {"beside": ""}
    draws = comparison.draws.sel({SYSTEM: system}, drop=True)
    if bool(draws.isnull().any()):
        return {"beside": ""}
    sign = -1 if comparison.by == RATIO else 1
    more = sign * (draws - comparison.equal)
    probability = float((more > 0).mean() + (more == 0).mean() / 2)
    parts = {name: float(value) for name, value in spread(draws).items()}
    # With few annotators, draws of ratios are skewed: their mean is not a typical value.
    middle = float(draws.median()) if comparison.by == RATIO else parts["mean"]
    written = interval(parts, comparison.digits)
    ends = np.array([parts["lower"], parts["upper"]]) - comparison.equal
    side = "better" if probability >= SURE else "worse" if probability <= 1 - SURE else "open"
    return {
        "beside": "same" if bool((np.abs(ends) <= comparison.margin).all()) else side,
        "by": comparison.by, "scope": comparison.scope, "better_than": probability,
        "difference": f"{share(middle, comparison.digits)} ({written})", "interval": written,
    }  # fmt: skip


def note(comparison: AnnotatorComparison) -> str:
    """Return the note on the column of the comparison."""
    part = percent(comparison.share)
    if comparison.by == RATIO:
        return (
            "Discrepancy ratio: the distance between a system and an annotator, divided by the "
            "distance between two annotators. System and annotators are about equal if the "
            f"interval is within {part} of 1."
        )
    quantity, own = {
        ACCURACY: ("accuracy minus the annotators' mean accuracy", "mean error rate"),
        LABELS: (
            "agreement with a random annotator minus the agreement of two annotators",
            "disagreement with each other",
        ),
    }[comparison.by]
    return (
        f"Against an annotator: {quantity}, on {comparison.scope}. System and annotators are about "
        f"equal if the interval is within {share(comparison.margin, 3)} of 0, that is, {part} of "
        f"the annotators' {own}."
    )


# The average annotator's value of the leading metric.


def value(evaluation: xr.DataTree, name: str) -> xr.DataArray | None:
    """Return the average annotator's draws (chain, draw[, scope]), or None if they are unknown.

    ``name`` is the name of a metric, or `ACCURACY` for the annotators' mean accuracy (no scope).
    """
    if name == ACCURACY:
        return on_average(evaluation["accuracy"].to_dataset()["annotator_accuracy"])
    return agreement_with_panel(evaluation) if name == PANEL else None


def agreement_with_panel(evaluation: xr.DataTree) -> xr.DataArray | None:
    """Return how often one more annotator gives the label that most of the panel would give.

    In a draw, this is each item's largest plausibility, averaged over the items with predictions.
    The variation of annotators beyond chance is added, as in `answers.agreements`. Returns None in
    three cases:

    - The draws of items were not kept.
    - Annotators gave rankings. Of 9 simulated studies, 4 had a true value within the interval.
    - The draws imply an agreement of two annotators that differs from the observed agreement. Some
      models order the labels well, but their plausibilities are too even or too extreme.
    """
    theta = evidence.draws_or_mean(evaluation)
    if CHAIN not in theta.dims or LABEL not in theta.dims:
        return None
    predicted = match(theta[ITEM].to_numpy(), evaluation["predictions"][ITEM].to_numpy()) >= 0
    theta = theta.isel({ITEM: predicted})
    if abs(_implied(evaluation, theta) - _observed(evaluation)) > _UNLIKE:
        return None
    largest = theta.max(LABEL)
    cluster = clusters_of(evaluation["annotations"].to_dataset(), largest)
    weights = bootstrap_weights(largest, _SEED, cluster).assign_coords(largest.coords)
    each = [over_items(largest, item_weights) for item_weights in (None, weights)]
    index = xr.IndexVariable(SCOPE, list(SCOPES))
    out = xr.concat(each, dim=index, coords="minimal", compat="override")
    place = theta.mean(list(SAMPLE)).argmax(LABEL)
    table = {"item": theta[ITEM].to_numpy(), "label": theta[LABEL][place].to_numpy()}
    leading = predictions(table | {"system": ["panel"] * len(place)}, kind="nominal")
    votes = votes_of(evaluation["annotations"].to_dataset(), leading)
    n_draws = out.sizes[CHAIN] * out.sizes[DRAW]
    noise = spread_of(votes).drawn(n_draws, np.random.default_rng(_SEED), chance=False)[:, 0]
    shape = out.isel({SCOPE: 0}, drop=True)
    out = out + shape.copy(data=noise.reshape(shape.shape))
    return out.clip(0.0, 1.0).transpose(*SAMPLE, SCOPE)


def _implied(evaluation: xr.DataTree, theta: xr.DataArray) -> float:
    """Return the agreement of two annotators that the draws imply; infinity if no item has two.

    Items are weighted by their number of annotations, as in the group ``answers``.
    """
    counts = evaluation["statistics"]["n_annotations"].to_series().reindex(theta[ITEM].to_numpy())
    weights = np.where(counts > 1, counts, 0.0)
    if not weights.any():
        return np.inf
    return float(np.average((theta**2).sum(LABEL).mean(list(SAMPLE)), weights=weights))


def _observed(evaluation: xr.DataTree) -> float:
    """Return the observed agreement of two annotators; minus infinity if it is unknown."""
    answers = evidence.group(evaluation, "answers")
    value = float(answers["human_agreement"].median()) if answers else np.nan
    return value if np.isfinite(value) else -np.inf


def row(draws: xr.DataArray, d: int) -> list[str]:
    """Write the mean, and the intervals for these items (if known) and for new items."""
    if SCOPE not in draws.dims:
        parts = spread(draws)
        return [share(float(parts["mean"]), d), "", interval(parts, d)]
    parts = spread(draws)
    ends = [interval({name: part.sel({SCOPE: scope}) for name, part in parts.items()}, d)
            for scope in (THESE, NEW)]  # fmt: skip
    return [share(float(parts["mean"].sel({SCOPE: THESE})), d), *ends]
