"""Which model of one true label an evaluation fits, if any, settled before anything is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus._added_groups import Planned
from dissensus._observed import are_classes, first_labels
from dissensus._wording import counted
from dissensus.dims import ANNOTATOR, ITEM, LABEL, POSITION
from dissensus.errors import ArgumentError
from dissensus.registry import one_of
from dissensus.schema import voices_per

AUTO: Final = "auto"
MODELS: Final = ("symmetric_confusion", "dawid_skene")
FEWEST: Final = 5
"""Items with two annotators: of fewer the prior would speak, not the items."""
SEVERAL: Final = 3
"""Annotators of an item who tell of its difficulty, and whom one system more cannot outvote."""
ENOUGH: Final = 20
"""Items with so many annotators: of fewer difficulty cannot be told."""
MOST_LABELS: Final = 30
"""Of more labels few are ever given twice, and hardly anybody is seen to agree."""
NOBODY_TWICE: Final = "no item has two annotators"
_NO_ONE_LABEL: Final = {"ranking": "rankings do not name one label",
                        "continuous": "numbers are not right or wrong"}  # fmt: skip


@dataclass(frozen=True)
class Plan(Planned):
    """What is to be fitted, or why nothing is."""

    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of its fit."""
    evidence: str = "all"
    """What a system is judged by, beside the annotators: with "all" its own labels too."""
    predictions: xr.Dataset | None = None
    """One label from each system and item; None where systems gave none."""


def planned(
    annotations: xr.Dataset,
    predictions: xr.Dataset | None,
    truth: str | None,
    threshold: float | None,
) -> Plan:
    """Settle what is fitted, before anything is.

    Raises
    ------
    ArgumentError
        If there is no such model, or it was named and cannot be fitted to such annotations.
    """
    one_of("truth", truth, (AUTO, *MODELS, None))
    if truth is None:
        return Plan(why_not="not asked for")
    asked = truth != AUTO
    why_not, told = _reason(annotations, threshold, asked)
    if why_not and asked:
        raise ArgumentError("truth", expected=f"None or {AUTO!r}: {why_not}", found=repr(truth))
    if why_not:
        return Plan(why_not=why_not, told=told)
    systems, why = one_label_each(annotations, predictions)
    remarks = [f"Systems have no estimated accuracy: {why}."] if why else []
    voices = voices_per(annotations, ITEM)
    anonymous = int(voices_per(annotations, ANNOTATOR).max()) < 2
    model = str(truth) if asked else MODELS[0]
    # Matrices of few labels and difficulty explain the same: chains then do not meet.
    hard = model == MODELS[0] and int((voices >= SEVERAL).sum()) >= ENOUGH
    return Plan(
        model, asked=asked, predictions=systems,
        settings=_settings(annotations, systems, model, anonymous) | {"difficulty": hard},
        evidence="all" if np.median(voices) >= SEVERAL else "annotators",
        remarks=tuple(remarks + _remarks(annotations, model, anonymous, hard)),
    )  # fmt: skip


def _remarks(annotations: xr.Dataset, model: str, anonymous: bool, hard: bool) -> list[str]:
    """Say what cannot be told, or is taken for granted."""
    out = []
    if anonymous:
        out.append("No annotator labelled two items, so that one accuracy stands for all of them.")
    if not hard and model == MODELS[0]:
        out.append(
            f"Fewer than {ENOUGH} items have {SEVERAL} annotators, too few to tell whether some "
            "items are harder than others: all are taken to be equally hard. If some are harder, "
            "annotators and systems may be estimated too accurate."
        )
    if "cluster_code" in annotations:
        out.append(
            "Estimated accuracies take the items of a cluster to be independent: their intervals "
            "may be too narrow."
        )
    return out


def _reason(annotations: xr.Dataset, threshold: float | None, asked: bool) -> tuple[str, bool]:
    """Say why there is nothing to fit, and whether a reader would want to know."""
    why_not = no_one_label(annotations, threshold)
    if why_not or asked:
        return why_not, False
    n_labels = annotations.sizes[LABEL]
    if n_labels > MOST_LABELS:
        return f"there are {n_labels:,} labels, more than {MOST_LABELS}", True
    why_not = too_few(annotations)
    return why_not, bool(why_not)


def no_one_label(annotations: xr.Dataset, threshold: float | None) -> str:
    """Say why no label can be right or wrong, or nobody can be seen to agree; else nothing."""
    kind = annotations.attrs["kind"]
    if kind in _NO_ONE_LABEL:
        return _NO_ONE_LABEL[kind]
    if threshold is not None:
        return "labels that are cut at a threshold are numbers"
    if annotations.sizes[LABEL] < 2:
        return "there is one label only"
    return "" if int(voices_per(annotations, ITEM).max()) > 1 else NOBODY_TWICE


def too_few(annotations: xr.Dataset) -> str:
    """Say if there are too few items with two annotators; else nothing."""
    several = int((voices_per(annotations, ITEM) > 1).sum())
    if several >= FEWEST:
        return ""
    who = "item has" if several == 1 else "items have"
    return f"only {several} {who} two annotators, and that needs {FEWEST}"


def _settings(
    annotations: xr.Dataset, predictions: xr.Dataset | None, model: str, anonymous: bool
) -> dict[str, Any]:
    """Choose how rich the model is: as far as labels can tell."""
    if model == "dawid_skene":
        return {"pooling": "complete" if anonymous else "hierarchical"}
    ordered = annotations.attrs["kind"] == "ordinal" and not are_classes(annotations, predictions)
    return {
        "accuracy": "common" if anonymous else "annotator",
        "errors": "graded" if ordered else "equal",
    }


def one_label_each(
    annotations: xr.Dataset, predictions: xr.Dataset | None
) -> tuple[xr.Dataset | None, str]:
    """Return the one label that each system gave, or say why it has none."""
    if predictions is None:
        return None, ""
    firsts = first_labels(annotations, predictions)
    if "label_code" not in firsts:
        return None, "they gave numbers, not labels"
    if firsts.sizes[POSITION] != 1:
        tied = int((firsts["block"] == 1).sum(POSITION).max())
        return None, f"they gave lists with up to {counted(tied, 'label')} tied in first place"
    return firsts, ""
