"""Comparison of systems with the average annotator, and the annotator's own value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.predictions import predictions
from dissensus.data.tables import match
from dissensus.dims import CANDIDATE, CHAIN, DRAW, ITEM, LABEL, SAMPLE, SCOPE, SCOPES, SYSTEM
from dissensus.evaluation.accuracy import on_average
from dissensus.evaluation.answers import spread_of, votes_of
from dissensus.evaluation.evidence import METRIC as PANEL
from dissensus.evaluation.runs import clusters_of
from dissensus.metrics._items import bootstrap_weights, over_items
from dissensus.plots._source import NEW, THESE
from dissensus.reports import evidence
from dissensus.reports.evidence import Facts
from dissensus.reports.opening import ACCURACY, labelled
from dissensus.reports.sentences import interval
from dissensus.sampling.intervals import spread
from dissensus.wording import percent, share

SURE: Final = 0.95
"""Probability from which a system is better, or worse, than an annotator or another system."""
LABELS, RATIO = "labels", "ratio"
"""Kinds of comparison, besides `ACCURACY`: by single labels, or by distances."""
_UNDECIDED: Final = 0.005
"""Maximum error of the annotator's agreement with the panel, due to labels that nobody gave."""
_UNLIKE: Final = 0.02
"""Maximum difference of the implied and the observed agreement of two annotators."""
_SEED: Final = 0
"""Seed of the weights of new items, so that the same evaluation gives the same page."""


@dataclass(frozen=True)
class Beside:
    """Systems compared with an annotator."""

    by: str
    """`LABELS`, `ACCURACY` or `RATIO`."""
    scope: str
    draws: xr.DataArray
    """(chain, draw, system): systems' values minus an annotator's; or discrepancy ratios."""
    equal: float
    """The value of a system that is like an annotator."""
    margin: float
    """Largest distance from ``equal`` that counts as about equal."""
    share: float
    """The margin as a share of the annotators' own disagreement, errors or distance."""

    @property
    def digits(self) -> int:
        """Number of decimals of written values."""
        return evidence.digits(xr.Dataset(spread(self.draws)))


def beside(evaluation: xr.DataTree, *, truth: bool = False) -> Beside | None:
    """Return the comparison with an annotator: by accuracy, agreement, or distance.

    - With ``truth``: accuracy minus the mean accuracy of the annotators, for new items.
    - For single labels, which are equal or not: agreement with a random annotator, minus the
      agreement of two annotators.
    - Otherwise: discrepancy ratios.

    Returns None without systems, or if no item has two annotators.
    """
    margin = float(evidence.group(evaluation, "discrepancy").attrs.get("margin", 0.1))
    if truth:
        data = evaluation["accuracy"].to_dataset()
        people = on_average(data["annotator_accuracy"])
        draws = data["estimated_accuracy"].sel({SCOPE: NEW}, drop=True) - people
        return Beside(ACCURACY, NEW, draws, 0.0, margin * float(1 - people.mean()), margin)
    answers = evidence.group(evaluation, "answers")
    if "annotator_agreement" in answers and is_of_labels(evaluation):
        people = answers["human_agreement"]
        if bool(people.notnull().all()):
            draws = answers["annotator_agreement"] - people
            scope = labelled(evaluation, str(answers.attrs["scope"]))
            return Beside(LABELS, scope, draws, 0.0, margin * float(1 - people.mean()), margin)
    ratio = evidence.group(evaluation, "discrepancy").get("discrepancy_ratio")
    return None if ratio is None else Beside(RATIO, NEW, ratio, 1.0, margin, margin)


def is_of_labels(evaluation: xr.DataTree) -> bool:
    """Return whether discrepancies are those of single labels, equal or not."""
    attrs = evidence.group(evaluation, "discrepancy").attrs
    return attrs.get("distance") == "nominal" or attrs.get("depth") == 1


def against(found: Beside | None, system: Any) -> Facts:
    """Return how a system compares with an annotator.

    ``beside`` is "same" if the whole interval is within the margin, else "better" or "worse" if
    this has probability .95, else "open".
    """
    if found is None or system not in found.draws[SYSTEM]:
        return {"beside": ""}
    draws = found.draws.sel({SYSTEM: system}, drop=True)
    if bool(draws.isnull().any()):
        return {"beside": ""}
    sign = -1 if found.by == RATIO else 1
    more = sign * (draws - found.equal)
    probability = float((more > 0).mean() + (more == 0).mean() / 2)
    parts = {name: float(value) for name, value in spread(draws).items()}
    # Draws of ratios are skewed if annotators are few.
    middle = float(draws.median()) if found.by == RATIO else parts["mean"]
    written = interval(parts, found.digits)
    ends = np.array([parts["lower"], parts["upper"]]) - found.equal
    side = "better" if probability >= SURE else "worse" if probability <= 1 - SURE else "open"
    return {
        "beside": "same" if bool((np.abs(ends) <= found.margin).all()) else side,
        "by": found.by, "scope": found.scope, "better_than": probability,
        "difference": f"{share(middle, found.digits)} ({written})", "interval": written,
    }  # fmt: skip


def note(found: Beside) -> str:
    """Return what the column of the comparison shows."""
    part = percent(found.share)
    if found.by == RATIO:
        return (
            "Discrepancy ratio: distance to an annotator, relative to the distance between two "
            f"annotators; about 1 if the interval is within {part} of 1."
        )
    what, own = {
        ACCURACY: ("accuracy minus the annotators' mean accuracy", "mean error rate"),
        LABELS: (
            "agreement with a random annotator minus the agreement of two annotators",
            "disagreement with each other",
        ),
    }[found.by]
    return (
        f"Against an annotator: {what}, on {found.scope}. System and annotators are about equal if "
        f"the interval is within {share(found.margin, 3)} of 0, that is, {part} of the annotators' "
        f"{own}."
    )


# The annotator's own value of the quantity that leads.


def value(evaluation: xr.DataTree, name: str) -> xr.DataArray | None:
    """Return draws (chain, draw[, scope]) of the average annotator, or None if there are none.

    ``name`` is the name of a metric, or `ACCURACY` for the annotators' mean accuracy (no scope).
    """
    if name == ACCURACY:
        return on_average(evaluation["accuracy"].to_dataset()["annotator_accuracy"])
    return agreement_with_panel(evaluation) if name == PANEL else None


def agreement_with_panel(evaluation: xr.DataTree) -> xr.DataArray | None:
    """Return how often one more annotator gives the label that most of the panel would give.

    In a draw, this is the largest plausibility of each item, averaged over the items with
    predictions; annotators vary beyond chance, as in `answers.agreements`. None if it is not known
    well enough:

    - draws of items were not kept;
    - labels that nobody gave, which have no plausibility of their own, lead too often;
    - the draws imply another agreement of two annotators than was observed: the plausibilities of
      some models order the labels well, but are too even or too extreme.
    """
    theta = evidence.draws_or_mean(evaluation)
    if CHAIN not in theta.dims:
        return None
    predicted = match(theta[ITEM].to_numpy(), evaluation["predictions"][ITEM].to_numpy()) >= 0
    theta, dim = theta.isel({ITEM: predicted}), LABEL
    if LABEL not in theta.dims:
        size, dim = theta["candidate_size"], CANDIDATE
        rest = theta.where(size > 1, 0.0).sum(dim)
        theta = theta.where(size == 1, 0.0)
        if float((rest - theta.max(dim)).clip(min=0.0).mean()) > _UNDECIDED:
            return None
    if abs(_implied(evaluation, theta, dim) - _observed(evaluation)) > _UNLIKE:
        return None
    largest = theta.max(dim)
    cluster = clusters_of(evaluation["annotations"].to_dataset(), largest)
    weights = bootstrap_weights(largest, _SEED, cluster).assign_coords(largest.coords)
    each = [over_items(largest, one) for one in (None, weights)]
    index = xr.IndexVariable(SCOPE, list(SCOPES))
    out = xr.concat(each, dim=index, coords="minimal", compat="override")
    place = theta.mean(list(SAMPLE)).argmax(dim)
    labels = theta["candidate_label"].isel({dim: place}) if dim != LABEL else theta[LABEL][place]
    table = {"item": theta[ITEM].to_numpy(), "label": labels.to_numpy()}
    leading = predictions(table | {"system": ["panel"] * len(place)}, kind="nominal")
    votes = votes_of(evaluation["annotations"].to_dataset(), leading)
    n_draws = out.sizes[CHAIN] * out.sizes[DRAW]
    noise = spread_of(votes).drawn(n_draws, np.random.default_rng(_SEED), chance=False)[:, 0]
    shape = out.isel({SCOPE: 0}, drop=True)
    out = out + shape.copy(data=noise.reshape(shape.shape))
    return out.clip(0.0, 1.0).transpose(*SAMPLE, SCOPE)


def _implied(evaluation: xr.DataTree, theta: xr.DataArray, dim: str) -> float:
    """Return the agreement of two annotators by the draws, items weighted as in ``answers``."""
    counts = evaluation["statistics"]["n_annotations"].to_series().reindex(theta[ITEM].to_numpy())
    weights = np.where(counts > 1, counts, 0.0)
    if not weights.any():
        return np.inf
    return float(np.average((theta**2).sum(dim).mean(list(SAMPLE)), weights=weights))


def _observed(evaluation: xr.DataTree) -> float:
    """Return the agreement of two annotators, as observed, or minus infinity."""
    answers = evidence.group(evaluation, "answers")
    value = float(answers["human_agreement"].median()) if answers else np.nan
    return value if np.isfinite(value) else -np.inf


def row(draws: xr.DataArray, d: int) -> list[str]:
    """Write the mean, and the intervals for these items and for new items."""
    if SCOPE not in draws.dims:
        parts = spread(draws)
        return [share(float(parts["mean"]), d), "", interval(parts, d)]
    parts = spread(draws)
    ends = [interval({name: one.sel({SCOPE: scope}) for name, one in parts.items()}, d)
            for scope in (THESE, NEW)]  # fmt: skip
    return [share(float(parts["mean"].sel({SCOPE: THESE})), d), *ends]
