"""Contents of annotations and predictions, as lines of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

from dissensus.data.contents import annotation_contents, respelled
from dissensus.wording import short

_LABELS = 8
Lines = list[tuple[str, str]]
"""Names and values."""


def describe_annotations(annotations: xr.Dataset) -> Lines:
    """Return the contents of annotations as lines.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": list("ab"), "label": ["x", "y"]})
    >>> dict(describe_annotations(ann))["annotators per item"]
    '2 (all alike)'
    """
    return annotation_lines(annotation_contents(annotations))


def annotation_lines(contents: Mapping[str, Any]) -> Lines:
    """Return the result of `annotation_contents` as lines."""
    kind = f"{contents['kind']} ({contents['kind_source']})"
    if contents["kind"] == "ordinal" and contents["kind_source"].startswith("inferred"):
        kind += (
            ". An evaluation treats them as nominal until the kind is given (ordinal or nominal)"
        )
    out = [
        ("kind", kind),
        *((name, f"{contents[name]:,}") for name in ("rows", "items", "annotators")),
        ("annotators per item", _spread(contents["annotators_per_item"])),
        ("items per annotator", _spread(contents["items_per_annotator"])),
    ]
    alone = contents["items_with_one_annotator"]
    if alone:
        text = f"{alone:,}: no disagreement can be observed there"
        out.append(("items with one annotator", text))
    if "items_per_stratum" in contents:
        count = contents["items_per_stratum"]
        each = ", ".join(f"{short(name, 40)} {n:,}" for name, n in list(count.items())[:_LABELS])
        more = f", {len(count) - _LABELS} more" if len(count) > _LABELS else ""
        out.append(("strata, with items", f"{len(count)}: {each}{more}"))
    if "labels" in contents:
        of_sets = contents["kind"] == "set"  # an answer can have several labels
        count = contents["labels"]
        out += _labels(count, contents["rows"] if of_sets else sum(count.values()))
    if "rankings" in contents:
        ties = contents["rankings_with_ties"] / contents["rankings"]
        out.append(("rankings with ties", f"{ties:.0%}"))
    return out + _numbers(contents)


def vote_lines(contents: Mapping[str, Any]) -> Lines:
    """Return the result of `vote_contents` as lines."""
    names, n, ties = (contents[name] for name in ("systems", "votes", "ties"))
    out = [("kind", "pair (votes on pairs of systems)"), ("votes", f"{n:,}"),
           ("systems", f"{len(names):,}: {_few(names)}"),
           ("ties", f"{ties:,} ({ties / n:.0%})")]  # fmt: skip
    for key, title in (("annotator", "voter"), ("item", "prompt")):
        if f"{key}s" not in contents:
            out.append((f"{title}s", "not named"))
            continue
        out += [(f"{title}s", f"{contents[f'{key}s']:,}"),
                (f"votes per {title}", _spread(contents[f"votes_per_{key}"]))]  # fmt: skip
    groups = contents["groups"]
    if len(groups) > 1:
        out.append(("groups without votes between them", " | ".join(map(_few, groups[:5]))))
    return out


def prediction_lines(contents: Mapping[str, Any]) -> Lines:
    """Return the result of `prediction_contents` as lines.

    Examples
    --------
    >>> import dissensus as dx
    >>> from dissensus.data.contents import prediction_contents
    >>> ann = dx.annotations({"item": [1, 2], "annotator": list("ab"), "label": ["x", "y"]})
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> dict(prediction_lines(prediction_contents(ann, pred)))["annotated, not predicted by all"]
    '1: 2'
    """
    names = contents["systems"]
    out = [
        ("predictions", contents["kind"]),
        ("systems", f"{len(names):,}: {_few(names)}"),
        ("items predicted", f"{contents['items']:,}"),
    ]
    for title, items in (
        ("annotated, not predicted by all", contents["items_without_predictions"]),
        ("predicted, not annotated", contents["items_without_annotations"]),
    ):
        if items:
            out.append((title, f"{len(items):,}: {_few(items)}"))
    if not contents["items_in_common"]:
        out.append(("items in common", "none"))
    lists = contents.get("labels_per_list")
    if lists and lists["max"] > 1:
        out.append(("labels in a list", _spread(lists)))
    if contents.get("labels_outside"):
        text = f"{_few(contents['labels_outside'])}, not in the annotations' label space"
        near = contents["labels_misspelt"].strip()
        out.append(
            ("labels outside", f"{text}: such labels count as wrong. {near}".removesuffix(". "))
        )
    return out + _numbers(contents)


def _numbers(contents: Mapping[str, Any]) -> Lines:
    return [
        (f"{name} (min, quartiles, max)", ", ".join(f"{q:,.10g}" for q in contents[name].values()))
        for name in ("values", "confidence")
        if name in contents
    ]


def _spread(counts: Mapping[str, float]) -> str:
    if counts["min"] == counts["max"]:
        return f"{counts['min']:,} (all alike)"
    return f"{counts['min']:,} to {counts['max']:,}, median {counts['median']:g}"


def _labels(count: Mapping[Any, int], total: int) -> Lines:
    """Return the shares of labels, labels spelled in several ways, and unused labels."""
    often = sorted(count, key=lambda name: -count[name])[:_LABELS]
    shares = ", ".join(f"{short(name, 40)} {count[name] / total:.0%}" for name in often)
    more = f", {len(count) - _LABELS} more" if len(count) > _LABELS else ""
    out = [("labels", f"{len(count):,}: {shares}{more}")]
    several = respelled(count)
    if several:
        out.append(("labels that differ only in capitals or blanks", _few(several)))
    unused = [name for name, n in count.items() if not n]
    if unused:
        out.append(("labels nobody used", f"{len(unused):,}: {_few(unused)}"))
    return out


def _few(names: Iterable[Any]) -> str:
    names = list(names)
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return ", ".join(short(repr(name), 40) for name in names[:5]) + more
