"""Which model of one true label an evaluation fits, if any, settled before anything is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import xarray as xr

from dissensus._added_groups import Planned
from dissensus._observed import are_classes, first_labels
from dissensus._wording import counted
from dissensus.data.known_labels import known_codes
from dissensus.data.rows import voices_per
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, POSITION
from dissensus.errors import ArgumentError, brief
from dissensus.families.latent_truth.design import ENOUGH
from dissensus.families.latent_truth.errors import LEARNED, checked_errors
from dissensus.registry import one_of

AUTO: Final = "auto"
MODELS: Final = ("dawid_skene", "symmetric_confusion")
FEWEST: Final = 5
"""Items with two annotators: of fewer the prior would speak, not the items."""
MOST_LABELS: Final = 30
"""Of more labels few are ever given twice, and hardly anybody is seen to agree."""
NOBODY_TWICE: Final = "no item has two annotators"
_NO_ONE_LABEL: Final = {"ranking": "rankings do not name one label",
                        "continuous": "numbers are not right or wrong"}  # fmt: skip


class Candidate(NamedTuple):
    """A model that could be, with its settings."""

    model: str
    settings: Mapping[str, Any]
    in_words: str


@dataclass(frozen=True)
class Plan(Planned):
    """What is to be fitted, or why nothing is."""

    candidates: tuple[Candidate, ...] = ()
    """The first is taken, unless another one predicts labels better."""
    error_correlation: Any = LEARNED
    truth: Any = None
    """Labels known to be true, of some items."""
    n_known: int = 0
    predictions: xr.Dataset | None = None
    """One label from each system and item; None where systems gave none."""


def planned(
    annotations: xr.Dataset,
    predictions: xr.Dataset | None,
    truth_model: str | None,
    threshold: float | None,
    truth: Any = None,
    error_correlation: Any = LEARNED,
) -> Plan:
    """Settle what is fitted, before anything is.

    Raises
    ------
    ArgumentError
        If there is no such model, or it was named and cannot be fitted to such annotations, or
        labels are known that these items cannot have.
    """
    one_of("truth_model", truth_model, (AUTO, *MODELS, None))
    if truth is not None and truth_model is None:
        raise ArgumentError(
            "truth", expected="None with truth_model=None, which leaves accuracies out",
            found=brief(truth),
        )  # fmt: skip
    checked_errors(error_correlation, above=0.0)
    if truth_model is None:
        return Plan(why_not="not asked for")
    asked = truth_model != AUTO
    why_not, told = _reason(annotations, threshold, asked)
    known = 0
    if truth is not None and not no_one_label(annotations, threshold, alone=True):
        known = int((known_codes(annotations, truth) >= 0).sum())
        if known >= FEWEST and why_not in (NOBODY_TWICE, too_few(annotations)):
            why_not, told = "", False
    if why_not and truth is not None:
        few = f", or the truth of {FEWEST} items or more" if 0 < known < FEWEST else ""
        raise ArgumentError(
            "truth", expected=f"None: {why_not}{few}", found=brief(truth),
            hint="" if no_one_label(annotations, threshold, alone=True)
            else f"truth_model={MODELS[1]!r} takes them all the same",
        )  # fmt: skip
    if why_not and asked:
        raise ArgumentError(
            "truth_model", expected=f"None or {AUTO!r}: {why_not}", found=repr(truth_model)
        )
    if why_not:
        return Plan(why_not=why_not, told=told)
    systems, why = one_label_each(annotations, predictions)
    remarks = [f"Systems have no estimated accuracy: {why}."] if why else []
    anonymous = int(voices_per(annotations, ANNOTATOR).max()) < 2
    if anonymous:
        remarks.append(
            "No annotator labelled two items, so that one accuracy stands for all of them."
        )
    if "cluster_code" in annotations:
        remarks.append(
            "Estimated accuracies take the items of a cluster to be independent: their intervals "
            "may be too narrow."
        )
    able = annotations.sizes[ANNOTATION] >= ENOUGH * annotations.sizes[LABEL]
    could_be = _candidates(annotations, systems, anonymous)
    taken = [one for one in could_be if (one.model == truth_model if asked else True)]
    return Plan(
        tuple(taken if able or asked else taken[1:]), asked=asked, predictions=systems,
        truth=truth, n_known=known,
        error_correlation=error_correlation, remarks=tuple(remarks),
    )  # fmt: skip


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


def no_one_label(annotations: xr.Dataset, threshold: float | None, *, alone: bool = False) -> str:
    """Say why no label can be right or wrong, or nobody can be seen to agree; else nothing.

    With ``alone`` an annotator may be the only one of each item.
    """
    kind = annotations.attrs["kind"]
    if kind in _NO_ONE_LABEL:
        return _NO_ONE_LABEL[kind]
    if threshold is not None:
        return "labels that are cut at a threshold are numbers"
    if annotations.sizes[LABEL] < 2:
        return "there is one label only"
    return "" if alone or int(voices_per(annotations, ITEM).max()) > 1 else NOBODY_TWICE


def too_few(annotations: xr.Dataset) -> str:
    """Say if there are too few items with two annotators; else nothing."""
    several = int((voices_per(annotations, ITEM) > 1).sum())
    if several >= FEWEST:
        return ""
    who = "item has" if several == 1 else "items have"
    return f"only {several} {who} two annotators, and that needs {FEWEST}"


def _candidates(
    annotations: xr.Dataset, predictions: xr.Dataset | None, anonymous: bool
) -> tuple[Candidate, Candidate]:
    """Return models whose parameters labels can tell: of annotators one by one, if they can."""
    ordered = annotations.attrs["kind"] == "ordinal" and not are_classes(annotations, predictions)
    who = "all annotators" if anonymous else "each annotator"
    return (
        Candidate(
            "dawid_skene", {"pooling": "complete" if anonymous else "none"},
            f"a confusion matrix for {who}",
        ),
        Candidate(
            "symmetric_confusion",
            {"accuracy": "common" if anonymous else "annotator",
             "errors": "graded" if ordered else "equal"},
            f"an accuracy for {who}",
        ),
    )  # fmt: skip


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
