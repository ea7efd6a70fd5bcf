"""The section ``weighted_reliability``: the rate at which majority labels are true.

This section fits no model. Accuracies of annotators are draws of the section ``accuracy``, given
numbers, or how often an annotator agrees with the majority of the others. Differences between
annotators matter: with two labels, the majority of four annotators with accuracies .95, .95, .30
and .30 is right with probability .71, and with probability .68 if all have the mean accuracy.
Reliabilities are statistics, drawn by the Bayesian bootstrap. Draws of different variables are not
joint draws.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import metrics
from dissensus.data.rows import voices_per
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL, SAMPLE
from dissensus.errors import ArgumentError, DissensusWarning, brief
from dissensus.evaluation.section import (
    AUTO,
    NOT_WANTED,
    Groups,
    Notes,
    Plan,
    Reason,
    Settings,
    no_one_label,
    too_few,
)
from dissensus.kernels.majority import MOST, annotators_for_target, in_all, majority_unlike
from dissensus.kernels.types import Floats
from dissensus.statistics._accuracies import Accuracies, accuracies
from dissensus.statistics._bayesian_bootstrap import bayesian_bootstrap
from dissensus.statistics._resampling import ARE_FEW, OF_FEW_ITEMS

GROUP: Final = "weighted_reliability"
SOURCE: Final = "accuracy"
NOTE: Final = "The ground truth is not evaluated"
MAJORITY: Final = "majority"
_KNOWN: Final = (
    "Labels that are known to be true go to dissensus.weighted_reliability(annotations, truth=...)"
)


@dataclass(frozen=True)
class GroundTruthPlan(Plan):
    """The accuracies of annotators: "auto", "majority", or given accuracies."""

    accuracy: Any


def plan(
    annotations: xr.Dataset, ground_truth: Any, threshold: float | None
) -> GroundTruthPlan | Reason:
    """Choose the accuracies of annotators.

    Raises
    ------
    ArgumentError
        If ``ground_truth`` is not valid, or labels cannot be right or wrong.
    """
    if ground_truth is None:
        return Reason(NOT_WANTED)
    named = isinstance(ground_truth, str)
    by_name = not (named and ground_truth == AUTO)
    reason = no_one_label(annotations, threshold) or ("" if by_name else too_few(annotations))
    if reason and by_name:
        raise ArgumentError(
            "ground_truth", expected=f"None or {AUTO!r}: {reason}", found=brief(ground_truth)
        )
    if reason:
        return Reason(reason)
    if by_name and not (named and ground_truth == MAJORITY):
        by_annotator(ground_truth, annotations)
    return GroundTruthPlan(ground_truth, by_name=by_name)


def by_annotator(accuracy: Any, annotations: xr.Dataset) -> tuple[Accuracies, Floats]:
    """Return accuracies by cell (all annotators, or one), and the share of labels in each cell."""
    codes = (annotations[f"{dim}_code"].to_numpy() for dim in ("annotator", "item"))
    try:
        known = accuracies(accuracy, annotations, *codes)
    except ArgumentError as problem:
        raise ArgumentError(
            "ground_truth", where=problem.where, hint=problem.hint or _KNOWN,
            expected=f"{AUTO!r}, None, or accuracies of annotators: {problem.expected}",
            found=problem.found,
        ) from problem  # fmt: skip
    if not (known.common or known.by_annotator):
        raise ArgumentError(
            "ground_truth", expected="accuracies by annotator", found="accuracies by item",
            hint="dissensus.weighted_reliability takes accuracies by item",
        )  # fmt: skip
    n = known.values.shape[1]
    return known, np.bincount(known.cell, minlength=n) / len(known.cell)


_CELLS: Final = 20_000_000
"""Maximum number of accuracies held in memory."""
_STEPS: Final = 2_000_000_000
"""Maximum number of steps, which take some seconds. If more are needed, panels are treated as
random panels."""


def right_by_panel(
    accuracy: Any, annotations: xr.Dataset, label: xr.DataArray
) -> xr.DataArray | None:
    """Return draws (chain, draw) of the accuracy of the majority label of an item, or None.

    The result is None if accuracies are not given by annotator, if all annotators are equally
    accurate, if there are too many different panels, or if a panel is larger than `MOST`.
    ``label`` (chain, draw) is how often a single label is right.
    """
    if isinstance(accuracy, str):
        return None
    known, weight = by_annotator(accuracy, annotations)
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
    """Return the number of items of each panel: the annotators who labelled an item."""
    item, annotator = (annotations[f"{dim}_code"].to_numpy() for dim in (ITEM, ANNOTATOR))
    n = annotations.sizes[ANNOTATOR]
    item, annotator = np.divmod(np.unique(item.astype(np.int64) * n + annotator), n)
    parts = np.split(annotator, np.flatnonzero(np.diff(item)) + 1)
    return Counter(tuple(part.tolist()) for part in parts)


TARGET: Final = 0.95
"""Target accuracy of a ground truth, for ``annotators_for_truth``."""
LEAST_DRAWS: Final = 1000
FEW_LABELS: Final = 5000
"""Up to this number of annotations, all draws are made, because they are quick."""
_NOTED: Final = rf".*({ARE_FEW}|{OF_FEW_ITEMS})"
"""Matches warnings about few items, which ``agreement`` notes already."""


def draws(groups: Groups, plan: GroundTruthPlan, settings: Settings) -> Groups:
    """Return the group ``weighted_reliability``, computed from earlier groups."""
    annotations = groups["annotations"]
    fit = groups.get("accuracy") if _is(plan.accuracy, AUTO) else None
    accuracy, source = plan.accuracy, "given"
    if isinstance(accuracy, str):
        accuracy, source = (MAJORITY, MAJORITY) if fit is None else (fit, str(fit.attrs["model"]))
    label = _label_accuracy(groups, accuracy, _draws(annotations, settings.draws))
    section_notes = Notes()
    with section_notes.of(GROUP):
        warnings.filterwarnings("ignore", _NOTED, DissensusWarning)
        drawn = partial(_bootstrapped, annotations, settings, label)
        out = xr.Dataset({
            "concordance": drawn("concordance"),
            GROUP: drawn(GROUP, accuracy=accuracy, errors="uniform"),
        })  # fmt: skip
    n_labels, per_item = annotations.sizes[LABEL], voices_per(annotations, ITEM)
    per_item = per_item[per_item > 0]
    n_annotators = int(np.median(per_item))
    if fit is not None:
        majority = _fitted(fit, label, n_labels, n_annotators)
    else:
        right = right_by_panel(accuracy, annotations, label)
        majority = _of_majority(label, per_item, n_labels, right)
    out = out.merge(majority, combine_attrs="override")
    attrs: dict[str, Any] = {
        SOURCE: source, "errors": "uniform", "target": TARGET,
        "n_labels": n_labels, "n_annotators": n_annotators,
        "fewest_annotators": int(per_item.min()), "most_annotators": int(per_item.max()),
        "confidence": str(out["concordance"].attrs["confidence"]),
        "typical_confidence": _confidence(groups, out["concordance"], n_labels),
        "notes": "\n".join(section_notes.texts()),
    }  # fmt: skip
    return {GROUP: out.assign_attrs(attrs)}


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name


def _draws(annotations: xr.Dataset, n_draws: int) -> int:
    """Return the number of draws if no fit determines it: with many labels, a quarter of all."""
    few = annotations.sizes[ANNOTATION] <= FEW_LABELS
    return n_draws if few else min(n_draws, max(n_draws // 4, LEAST_DRAWS))


def _label_accuracy(groups: Groups, accuracy: Any, draws: int) -> xr.DataArray:
    """Return draws (chain, draw) of how often a single label is right."""
    if isinstance(accuracy, str):  # agreement with the majority of the others
        agreement = groups["agreement"]["leave_one_out_agreement"].isel({DRAW: slice(draws)})
        return agreement.drop_attrs(deep=False)
    known, weight = by_annotator(accuracy, groups["annotations"])
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
    """Return the quantities of `_of_majority` from a fit with correlated errors."""
    alone = annotators_for_target(label.to_numpy(), TARGET, n_labels)
    needed = in_all(alone, accuracy["error_correlation"].transpose(*SAMPLE).to_numpy())
    right = accuracy["majority_correct"].transpose(*SAMPLE).to_numpy()
    enough = right >= TARGET  # the present annotators suffice
    needed = np.where(enough, np.minimum(needed, n_annotators), needed)
    return _named(label, accuracy["majority_correct"], needed)


def _of_majority(
    label: xr.DataArray, per_item: Any, n_labels: int, right: xr.DataArray | None = None
) -> xr.Dataset:
    """Return the accuracies of a label and of a majority, and the annotators needed."""
    if right is None:
        size, n_items = np.unique(np.minimum(per_item, MOST), return_counts=True)
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


def _bootstrapped(
    annotations: xr.Dataset, settings: Settings, like: xr.DataArray, name: str, **options: Any
) -> xr.DataArray:
    """Return draws of a statistic, with the chains and draws of ``like``."""
    sample = {dim: like[dim].to_numpy() for dim in SAMPLE}
    drawn = bayesian_bootstrap(
        name, annotations, draws=like.size, random_seed=settings.random_seed, **options
    )
    values = drawn.to_numpy().reshape(*(like.sizes[dim] for dim in SAMPLE), *drawn.shape[2:])
    rest = {str(dim): drawn[dim].to_numpy() for dim in drawn.dims[2:]}
    return xr.DataArray(values, sample | rest, drawn.dims, attrs=drawn.attrs)


def _confidence(groups: Groups, concordance: xr.DataArray, n_labels: int) -> float:
    """Return the constant confidence of annotators that gives the same concordance.

    The ratio of concordance to agreement is the square of confidence corrected for guessing.
    """
    if "confidence" not in groups["annotations"]:
        return 1.0
    agreed = float(groups["agreement"]["percent_agreement"].mean())
    genuine = np.sqrt(min(float(concordance.mean()) / agreed, 1.0)) if agreed > 0 else 1.0
    typical = float(genuine / (n_labels - (n_labels - 1) * genuine))
    return typical if np.isfinite(typical) and typical > 0 else 1.0
