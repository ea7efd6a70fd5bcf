"""What an evaluation says of its ground truth: how far the label that most annotators gave holds.

How often the majority of those who labelled an item is right, if they are not equally accurate.
Of annotators of whom one is right on 95 % of the items and another on 30 %, a majority is more
often right than of as many who are all as accurate as these on average.

Nothing is fitted here. Accuracies of annotators come with their draws from the model of one true
label, where that was fitted, or else from how often they are with the others. Reliabilities are
statistics, drawn by the Bayesian bootstrap. Each variable has an interval of its own; draws of one
do not belong to those of another.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import metrics
from dissensus.data.rows import voices_per
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL, SAMPLE
from dissensus.errors import ArgumentError, DissensusWarning, brief
from dissensus.evaluation import accuracy as _accuracy_model
from dissensus.evaluation.accuracy import no_one_label, too_few
from dissensus.evaluation.notes import Notes
from dissensus.evaluation.observed import Settings
from dissensus.evaluation.section import Groups, Planned, with_added
from dissensus.kernels.majority import MOST, annotators_for_target, in_all, majority_unlike
from dissensus.kernels.types import Floats
from dissensus.statistics._bayesian_bootstrap import bayesian_bootstrap
from dissensus.statistics._truth import Accuracies, accuracies

# Whether an evaluation says what its ground truth is worth, settled before anything is fitted.


AUTO: Final = "auto"
MAJORITY: Final = "majority"
GROUP: Final = "weighted_reliability"
"""What an evaluation calls it."""
_KNOWN: Final = (
    "Labels that are known to be true go to dissensus.weighted_reliability(annotations, truth=...)"
)


@dataclass(frozen=True, kw_only=True)
class Plan(Planned):
    """What it is judged by, or why it is not judged."""

    accuracy: Any = None
    """Of annotators: "auto", "majority", or as given."""


def planned(annotations: xr.Dataset, ground_truth: Any, threshold: float | None) -> Plan:
    """Settle what is said of the ground truth, before anything is fitted.

    Raises
    ------
    ArgumentError
        If accuracies are given that are none, or to annotations that have no ground truth.
    """
    if ground_truth is None:
        return Plan(why_not="not asked for")
    named = isinstance(ground_truth, str)
    asked = not (named and ground_truth == AUTO)
    why_not = no_one_label(annotations, threshold) or ("" if asked else too_few(annotations))
    if why_not and asked:
        raise ArgumentError(
            "ground_truth", expected=f"None or {AUTO!r}: {why_not}", found=brief(ground_truth)
        )
    if why_not:
        return Plan(why_not=why_not)
    if asked and not (named and ground_truth == MAJORITY):
        by_annotator(ground_truth, annotations)
    return Plan(accuracy=ground_truth, asked=asked)


def by_annotator(given: Any, annotations: xr.Dataset) -> tuple[Accuracies, Floats]:
    """Read accuracies of annotators (draw, cell), with the share of the labels that is each cell's.

    Raises
    ------
    ArgumentError
        If they are none, or are by item.
    """
    codes = (annotations[f"{dim}_code"].to_numpy() for dim in ("annotator", "item"))
    try:
        found = accuracies(given, annotations, *codes)
    except ArgumentError as problem:
        raise ArgumentError(
            "ground_truth", where=problem.where, hint=problem.hint or _KNOWN,
            expected=f"{AUTO!r}, None, or accuracies of annotators: {problem.expected}",
            found=problem.found,
        ) from problem  # fmt: skip
    if not (found.common or found.by_annotator):
        raise ArgumentError(
            "ground_truth", expected="accuracies by annotator", found="accuracies by item",
            hint="dissensus.weighted_reliability takes them",
        )  # fmt: skip
    n = found.values.shape[1]
    return found, np.bincount(found.cell, minlength=n) / len(found.cell)


_CELLS: Final = 20_000_000
"""Accuracies held at a time."""
_STEPS: Final = 2_000_000_000
"""Of work, some seconds; beyond, there are so many panels that they are like random ones."""


def right_by_panel(given: Any, annotations: xr.Dataset, label: xr.DataArray) -> xr.DataArray | None:
    """Return draws of how often the majority label of an item is right (chain, draw), or None.

    None where all annotators are as accurate, there are too many different panels to go through
    them all, or one is larger than `MOST`.

    Parameters
    ----------
    given
        Accuracies of annotators, as `weighted_reliability` takes them; or "majority", which are
        of all together.
    annotations : Dataset
        Who labelled what.
    label : DataArray (chain, draw)
        How often a label is right.
    """
    if isinstance(given, str):
        return None
    known, weight = by_annotator(given, annotations)
    panels = _panels(annotations)
    steps = label.size * sum(len(panel) ** 2 for panel in panels)
    if known.common or max(map(len, panels)) > MOST:
        return None
    if steps > _STEPS or label.size * len(weight) > _CELLS:
        return None
    right = np.zeros(len(known.values))
    for panel, n_items in panels.items():
        right += n_items * majority_unlike(known.values[:, panel], annotations.sizes[LABEL])
    right = np.broadcast_to(right / sum(panels.values()), label.size)
    coords = {dim: label[dim] for dim in SAMPLE}
    return xr.DataArray(right.reshape(label.shape), coords, SAMPLE)


def _panels(annotations: xr.Dataset) -> Counter[tuple[int, ...]]:
    """Count items by who labelled them."""
    item, who = (annotations[f"{dim}_code"].to_numpy() for dim in (ITEM, ANNOTATOR))
    n = annotations.sizes[ANNOTATOR]
    item, who = np.divmod(np.unique(item.astype(np.int64) * n + who), n)
    parts = np.split(who, np.flatnonzero(np.diff(item)) + 1)
    return Counter(tuple(part.tolist()) for part in parts)


TARGET: Final = 0.95
"""How often a ground truth should be right, for the number of annotators that takes."""
LEAST_DRAWS: Final = 1000
FEW_LABELS: Final = 5000
"""Up to so many, draws take no time."""
_SAID: Final = r".*(are few:|bear on)"
"""Begins to match warnings of few items, which agreement has had already."""


def with_ground_truth(found: Groups, plan: Plan, settings: Settings) -> tuple[Groups, str]:
    """Add to the groups of an evaluation what it says of its ground truth, or why nothing.

    Returned with the groups: where accuracies of annotators are from, or the reason, in words.
    """

    def made() -> Groups:
        return {GROUP: ground_truth(found, plan, settings)}

    source = "" if plan.why_not else _source(found, plan)
    return with_added(found, plan, source, made, missing="The ground truth is not judged")


def ground_truth(found: Groups, plan: Plan, settings: Settings) -> xr.Dataset:
    """Return the group ``weighted_reliability``, from the groups there are already."""
    annotations = found["annotations"]
    given = _given(found, plan)
    label = _label_accuracy(found, given, _draws(annotations, settings.draws))
    own = Notes()
    with own.of(GROUP):
        warnings.filterwarnings("ignore", _SAID, DissensusWarning)
        ask = _Bootstrap(annotations, settings, label)
        out = xr.Dataset({
            "concordance": ask.of("concordance"),
            GROUP: ask.of(GROUP, accuracy=given, errors="uniform"),
        })  # fmt: skip
    n_labels, voices = annotations.sizes[LABEL], voices_per(annotations, ITEM)
    if _source(found, plan) in _accuracy_model.MODELS:
        n_annotators = int(np.median(voices[voices > 0]))
        majority = _fitted(found["accuracy"], label, n_labels, n_annotators)
    else:
        right = right_by_panel(given, annotations, label)
        majority = _of_majority(label, voices[voices > 0], n_labels, right)
    out = out.merge(majority, combine_attrs="override")
    attrs: dict[str, Any] = {
        "accuracy": _source(found, plan), "errors": "uniform", "target": TARGET,
        "n_labels": n_labels, "n_annotators": int(np.median(voices[voices > 0])),
        "fewest_annotators": int(voices[voices > 0].min()),
        "most_annotators": int(voices.max()),
        "confidence": str(out["concordance"].attrs["confidence"]),
        "typical_confidence": _confidence(found, out["concordance"], n_labels),
        "notes": "\n".join(own.texts()),
    }  # fmt: skip
    return out.assign_attrs(attrs)


def _draws(annotations: xr.Dataset, asked: int) -> int:
    """Choose how many draws, where a model does not: of many labels a quarter will do."""
    few = annotations.sizes[ANNOTATION] <= FEW_LABELS
    return asked if few else min(asked, max(asked // 4, LEAST_DRAWS))


def _source(found: Groups, plan: Plan) -> str:
    """Say where accuracies of annotators are from."""
    if not isinstance(plan.accuracy, str):
        return "given"
    fitted = plan.accuracy == AUTO and "accuracy" in found
    return str(found["accuracy"].attrs["model"]) if fitted else MAJORITY


def _given(found: Groups, plan: Plan) -> Any:
    """Return accuracies as `weighted_reliability` takes them."""
    if isinstance(plan.accuracy, str):
        return found["accuracy"] if _source(found, plan) != MAJORITY else MAJORITY
    return plan.accuracy


def _label_accuracy(found: Groups, given: Any, draws: int) -> xr.DataArray:
    """Return how often a label is right: (chain, draw)."""
    if isinstance(given, str):  # against the majority of the others, drawn with the agreement
        agreement = found["agreement"]["leave_one_out_agreement"].isel({DRAW: slice(draws)})
        return agreement.drop_attrs()
    known, weight = by_annotator(given, found["annotations"])
    values = known.values @ weight
    if not known.coords:
        values = np.repeat(values, draws, axis=0)
    chain = known.coords.get(CHAIN, np.arange(1))
    draw = known.coords.get(DRAW, np.arange(len(values) // len(chain)))
    values = values.reshape(len(chain), len(draw))
    return xr.DataArray(values, {CHAIN: chain, DRAW: draw}, SAMPLE)


def _fitted(
    accuracy: xr.Dataset, label: xr.DataArray, n_labels: int, n_annotators: int
) -> xr.Dataset:
    """Return the same from a fit, in which annotators of one item err together."""
    alone = annotators_for_target(label.to_numpy(), TARGET, n_labels)
    needed = in_all(alone, accuracy["error_correlation"].transpose(*SAMPLE).to_numpy())
    right = accuracy["majority_correct"].transpose(*SAMPLE).to_numpy()
    enough = right >= TARGET  # as many as there are do, then
    needed = np.where(enough, np.minimum(needed, n_annotators), needed)
    return _named(label, accuracy["majority_correct"], needed)


def _of_majority(
    label: xr.DataArray, voices: Any, n_labels: int, right: xr.DataArray | None = None
) -> xr.Dataset:
    """Return how often a label is right, and a majority, and how many annotators that takes."""
    if right is None:
        size, n_items = np.unique(np.minimum(voices, MOST), return_counts=True)
        share = xr.DataArray(n_items / n_items.sum(), {ANNOTATOR: size}, (ANNOTATOR,))
        each = metrics.get("majority_accuracy").function(size, label, n_labels)
        right = (each * share).sum(ANNOTATOR)
    return _named(label, right, annotators_for_target(label.to_numpy(), TARGET, n_labels))


def _named(label: xr.DataArray, majority: xr.DataArray, needed: Floats) -> xr.Dataset:
    higher = {"better": "higher"}
    return xr.Dataset({
        "label_accuracy": label.assign_attrs(higher),
        "truth_accuracy": majority.clip(0, 1).assign_attrs(higher),
        "annotators_for_truth": (SAMPLE, needed, {"better": "lower"}),
    })  # fmt: skip


class _Bootstrap:
    """Draws of statistics, laid out as others are."""

    def __init__(self, annotations: xr.Dataset, settings: Settings, like: xr.DataArray) -> None:
        self.annotations, self.settings = annotations, settings
        self.coords = {dim: like[dim].to_numpy() for dim in SAMPLE}

    def of(self, name: str, *args: Any, **options: Any) -> xr.DataArray:
        """Return draws of a statistic."""
        shape = tuple(len(names) for names in self.coords.values())
        drawn = bayesian_bootstrap(
            name, self.annotations, *args, draws=int(np.prod(shape)),
            random_seed=self.settings.random_seed, **options,
        )  # fmt: skip
        values = drawn.to_numpy().reshape(*shape, *drawn.shape[2:])
        rest = {str(dim): drawn[dim].to_numpy() for dim in drawn.dims[2:]}
        return xr.DataArray(values, self.coords | rest, drawn.dims, attrs=drawn.attrs)


def _confidence(found: Groups, concordance: xr.DataArray, n_labels: int) -> float:
    """Return the confidence that, if all labels had it, would make that concordance.

    The square of genuine confidence is what is left of the agreement.
    """
    if "confidence" not in found["annotations"]:
        return 1.0
    agreed = float(found["agreement"]["percent_agreement"].mean())
    genuine = np.sqrt(min(float(concordance.mean()) / agreed, 1.0)) if agreed > 0 else 1.0
    typical = float(genuine / (n_labels - (n_labels - 1) * genuine))
    return typical if np.isfinite(typical) and typical > 0 else 1.0
