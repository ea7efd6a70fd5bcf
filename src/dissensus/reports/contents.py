"""What is in annotations and predictions, in words: lines of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

from dissensus.data.contents import annotation_contents
from dissensus.errors import folded
from dissensus.wording import short

NEEDS = 'An evaluation needs on_missing="drop"'
"""What to do where one side has items that the other has not."""
_MOST_LABELS = 8
Lines = list[tuple[str, str]]
"""What, and its value in words."""


def describe_annotations(annotations: xr.Dataset) -> Lines:
    """List what a person wants to know before trusting a file.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": list("ab"), "label": ["x", "y"]})
    >>> dict(describe_annotations(ann))["annotators per item"]
    '2 (all alike)'
    """
    return annotation_lines(annotation_contents(annotations))


def annotation_lines(found: Mapping[str, Any]) -> Lines:
    """Put `annotation_contents` into words."""
    out = [
        ("kind", _kind(found)),
        *((name, f"{found[name]:,}") for name in ("rows", "items", "annotators")),
        ("annotators per item", _spread(found["annotators_per_item"])),
        ("items per annotator", _spread(found["items_per_annotator"])),
    ]
    alone = found["items_with_one_annotator"]
    if alone:
        out.append(("items with one annotator", f"{alone:,}: no disagreement can be seen there"))
    if "labels" in found:
        out += _labels(found["labels"])
    if "rankings" in found:
        out.append(("rankings with ties", f"{found['rankings_with_ties'] / found['rankings']:.0%}"))
    return out + _numbers(found)


def prediction_lines(found: Mapping[str, Any], needs: str = NEEDS) -> Lines:
    """Put `prediction_contents` into words; the command line says in its own what is needed.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.data.contents import prediction_contents
    >>> ann = dx.annotations({"item": [1, 2], "annotator": list("ab"), "label": ["x", "y"]})
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> dict(prediction_lines(prediction_contents(ann, pred)))["annotated, not predicted by all"]
    '1: 2. An evaluation needs on_missing="drop"'
    """
    names = found["systems"]
    out = [
        ("predictions", found["kind"]),
        ("systems", f"{len(names):,}: {_few(names)}"),
        ("items predicted", f"{found['items']:,}"),
    ]
    sides = {
        "annotated, not predicted by all": found["items_without_predictions"],
        "predicted, not annotated": found["items_without_annotations"],
    }
    for side, items in sides.items():
        if items:
            out.append((side, f"{len(items):,}: {_few(items)}" + (f". {needs}" if needs else "")))
    if not found["items_in_common"]:
        out.append(("items in common", "none: are they named alike in both files?"))
    if found["unlike"]:
        out.append(("unlike", f"{found['unlike']}: an evaluation refuses them as they are"))
    lists = found.get("labels_per_list")
    if lists and lists["max"] > 1:
        out.append(("labels in a list", _spread(lists)))
    if found.get("labels_outside"):
        what = "not in the annotations' label space: they count as wrong"
        near = found["labels_misspelt"].strip()
        said = f"{_few(list(found['labels_outside']))}, {what}"
        out.append(("labels outside", f"{said}. {near}" if near else said))
    return out + _numbers(found)


def _kind(found: Mapping[str, Any]) -> str:
    said = f"{found['kind']} ({found['kind_source']})"
    if found["kind"] == "ordinal" and found["kind_source"].startswith("inferred"):
        said += ". Agreement takes them for classes until the kind is said: ordinal, or nominal"
    return said


def _numbers(found: Mapping[str, Any]) -> Lines:
    return [
        (f"{what} (min, quartiles, max)", ", ".join(f"{q:,.10g}" for q in found[what].values()))
        for what in ("values", "confidence")
        if what in found
    ]


def _spread(counts: Mapping[str, float]) -> str:
    if counts["min"] == counts["max"]:
        return f"{counts['min']:,} (all alike)"
    return f"{counts['min']:,} to {counts['max']:,}, median {counts['median']:g}"


def _labels(count: Mapping[Any, int]) -> Lines:
    total = sum(count.values())
    often = sorted(count, key=lambda name: -count[name])[:_MOST_LABELS]
    shares = ", ".join(f"{short(name, 40)} {count[name] / total:.0%}" for name in often)
    more = f", {len(count) - _MOST_LABELS} more" if len(count) > _MOST_LABELS else ""
    out = [("labels", f"{len(count):,}: {shares}{more}")]
    out += _alike(list(count))
    unused = [name for name, n in count.items() if not n]
    if unused:
        out.append(("labels nobody used", f"{len(unused):,}: {_few(unused)}"))
    return out


def _alike(names: list[Any]) -> Lines:
    """Point out labels that are one, written in several ways."""
    alike: dict[str, list[Any]] = {}
    for name in names:
        alike.setdefault(folded(name), []).append(name)
    doubled = [one for group in alike.values() if len(group) > 1 for one in group]
    what = "labels alike but for capitals or blanks"
    return [(what, _few(doubled))] if doubled else []


def _few(names: Iterable[Any]) -> str:
    names = list(names)
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return ", ".join(short(repr(name), 40) for name in names[:5]) + more
