"""Counts that describe annotations and predictions, and warnings of probable mistakes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import takewhile
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data import tables
from dissensus.data.alignment import SOURCES, Sources, items_on_one_side, respelled_item
from dissensus.data.pairs import system_groups
from dissensus.data.prediction_schema import rows_of_probabilities
from dissensus.data.predictions import has_numbers, predicted_numbers
from dissensus.data.rows import ranking_code, statements_per, voices_per
from dissensus.dims import (
    ANNOTATION,
    ANNOTATOR,
    ELEMENT,
    ITEM,
    LABEL,
    POOL,
    POSITION,
    STRATUM,
    SYSTEM,
    VOTE,
)
from dissensus.errors import brief, folded, misspelt, shown
from dissensus.kernels.types import Array, Ints
from dissensus.wording import listed, percent

_QUARTILES = {"min": 0.0, "lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75, "max": 1.0}


def annotation_contents(annotations: xr.Dataset) -> dict[str, Any]:
    """Return counts that describe annotations, by name, such as ``items`` and ``labels``.

    Annotations that are numbers are described by their quartiles.

    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": list("ab"), "label": ["x", "y"]})
    >>> found = annotation_contents(ann)
    >>> found["annotators_per_item"], found["labels"]
    ({'min': 2, 'median': 2.0, 'max': 2}, {'x': 1, 'y': 1})
    """
    # An annotator counts once for an item, also with several rows, such as a ranking.
    per_item = voices_per(annotations, ITEM)
    out: dict[str, Any] = {
        "kind": annotations.attrs["kind"],
        "kind_source": annotations.attrs["kind_source"],
        "rows": annotations.sizes[ANNOTATION],
        "items": annotations.sizes[ITEM],
        "annotators": annotations.sizes[ANNOTATOR],
        "annotators_per_item": _spread(per_item),
        "items_per_annotator": _spread(voices_per(annotations, ANNOTATOR)),
        "items_with_one_annotator": int((per_item == 1).sum()),
    }
    if "member" in annotations:
        out["labels"] = answers_with(annotations)
    elif "label_code" in annotations:
        names = annotations[LABEL].to_numpy()
        count = np.bincount(annotations["label_code"].to_numpy(), minlength=len(names))
        out["labels"] = dict(zip(names.tolist(), count.tolist(), strict=True))
    else:
        out["values"] = _quartiles(annotations["value"])
    if "rank" in annotations:
        out["rankings"] = int(statements_per(annotations, ITEM).sum())
        out["rankings_with_ties"] = _tied(annotations)
    if "confidence" in annotations:
        out["confidence"] = _quartiles(annotations["confidence"])
    if "stratum_code" in annotations:
        names = annotations[STRATUM].to_numpy()
        count = np.bincount(annotations["stratum_code"].to_numpy(), minlength=len(names))
        out["items_per_stratum"] = dict(zip(names.tolist(), count.tolist(), strict=True))
    return out


def answers_with(annotations: xr.Dataset) -> dict[Any, int]:
    """Return the number of answers that contain each label, for annotations of kind "set".

    >>> import dissensus as dx
    >>> rows = {"item": [1, 1], "annotator": list("ab"), "label": ["joy", "joy;love"]}
    >>> answers_with(dx.annotations(rows, kind="set", separator=";"))
    {'joy': 2, 'love': 1}
    """
    held = annotations["member"].to_numpy()[annotations["label_code"].to_numpy()].sum(axis=0)
    return dict(zip(annotations[ELEMENT].to_numpy().tolist(), held.tolist(), strict=True))


def vote_contents(votes: xr.Dataset) -> dict[str, Any]:
    """Return counts that describe votes on pairs, and the groups of systems that votes connect.

    >>> from dissensus.data.pairs import pairs
    >>> votes = pairs({"left": list("aa"), "right": list("bb"), "winner": list("ab")})
    >>> found = vote_contents(votes)
    >>> found["votes"], found["ties"], found["groups"]
    (2, 0, [['a', 'b']])
    """
    names = votes[SYSTEM].to_numpy()
    left, right = (votes[name].to_numpy() for name in ("left_code", "right_code"))
    group = system_groups(left, right, len(names))
    out: dict[str, Any] = {
        "kind": votes.attrs["kind"],
        "votes": votes.sizes[VOTE],
        "systems": names.tolist(),
        "ties": int((votes["outcome"] == 1).sum()),
        "groups": [names[group == n].tolist() for n in range(int(group.max()) + 1)],
    }
    for dim in (ANNOTATOR, ITEM):
        if dim in votes.coords:
            each = np.bincount(votes[f"{dim}_code"].to_numpy(), minlength=votes.sizes[dim])
            out[f"{dim}s"] = votes.sizes[dim]
            out[f"votes_per_{dim}"] = _spread(each)
            out[f"most_votes_of_{dim}"] = votes[dim].to_numpy()[each.argmax()].item(), each.max()
            out[f"effective_{dim}s"] = each.sum() ** 2 / (each**2).sum()
    return out


def prediction_contents(annotations: xr.Dataset, predictions: xr.Dataset) -> dict[str, Any]:
    """Return counts that describe predictions, and the items and labels outside the annotations."""
    annotated, predicted = (data[ITEM].to_numpy() for data in (annotations, predictions))
    # Predicted whole numbers are read as labels; with continuous annotations, they are scores.
    numeric = annotations.attrs["kind"] == "continuous" and has_numbers(predictions)
    out: dict[str, Any] = {
        "kind": "continuous" if numeric else predictions.attrs["kind"],
        "systems": predictions[SYSTEM].to_numpy().tolist(),
        "items": len(predicted),
        "items_without_predictions": _without(annotated, predicted),
        "items_without_annotations": _without(predicted, annotated),
    }
    out["items_in_common"] = len(annotated) - len(out["items_without_predictions"])
    if "label_code" in predictions and not numeric:
        code = predictions["label_code"].to_numpy()
        out["labels_per_list"] = _spread((code >= 0).sum(axis=-1).ravel())
        out["labels_outside"] = _outside(annotations, predictions, code[code >= 0])
        known = _label_space(annotations).tolist()
        out["labels_misspelt"] = misspelt(list(out["labels_outside"]), known)
    else:
        out["values"] = _quartiles(predicted_numbers(predictions))
    return out


_SEPARATORS: Final = ";|,"
_SHOWN: Final = 6


def label_warnings(annotations: xr.Dataset) -> list[str]:
    """Return warnings of probable mistakes in labels, with remedies.

    A misspelt label counts as a separate label, which changes all results silently.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"),
    ...                       "label": ["yes", "no", "yes;no", "Yes"]})
    >>> for warning in label_warnings(ann):
    ...     print(warning)
    Labels that join others (rows): 'yes;no' (1). Each counts as a label of its own. ...
    Labels that differ only in capitals or blanks (rows): 'Yes' (1), 'yes' (1). They count as ...
    """
    if "member" in annotations:  # answers that are sets contain several labels
        return _empty_words(annotations) + _single_labels(annotations)
    if annotations.attrs["kind"] != "ranking" and (far := _far_number(annotations)):
        return [far]
    if "label_code" not in annotations:
        return []
    names = annotations[LABEL].to_numpy()
    if names.dtype.kind not in "UO":
        return []
    count = np.bincount(annotations["label_code"].to_numpy(), minlength=len(names))
    rows = {str(name): int(n) for name, n in zip(names, count, strict=True) if n}
    out = _decimal_commas(list(rows)) + _strangers(annotations)
    joined = [name for name in rows if _joins_others(name, rows.keys())]
    if joined:
        out.append(
            f"Labels that join others (rows): {_named(joined, rows)}. Each counts as a label "
            "of its own. Keep one label in each row, or write a word for both"
        )
    alike = respelled(rows)
    if alike:
        out.append(
            f"Labels that differ only in capitals or blanks (rows): {_named(alike, rows)}. They "
            "count as different labels. Write them alike"
        )
    slips = [] if alike or annotations.attrs["kind"] != "nominal" else _slips(rows)
    if slips:
        out.append(
            f"Labels that were given once and may be misspelt: {listed(slips[:5])}. Each counts as "
            "a label of its own. Correct them if so"
        )
    return out


_STRANGE: Final = 5
"""Minimum number of labels of an annotator who gave none of the labels that others gave."""


def _strangers(annotations: xr.Dataset) -> list[str]:
    """Return [a warning] of annotators who gave none of the labels that others gave, else [].

    In a wide table, they may be columns of something else.

    >>> import dissensus as dx
    >>> table = [["yes", "no", "news"], ["no", "no", "law"], ["yes", "yes", "news"]] * 2
    >>> ann = dx.from_matrix(table).assign_coords(annotator=["ann", "bob", "domain"])
    >>> _strangers(ann)
    ["Annotators who gave no label that others gave: 'domain' ('law', 'news'). If this is no ..."]
    """
    if {"rank", "member"} & set(annotations) or annotations.sizes[ANNOTATOR] <= 2:
        return []
    n = annotations.sizes[LABEL]
    label, annotator = (annotations[f"{dim}_code"].to_numpy() for dim in (LABEL, ANNOTATOR))
    pairs = np.unique(annotator.astype(np.int64) * n + label)
    givers = np.bincount(pairs % n, minlength=n)
    shares = np.bincount(pairs // n, givers[pairs % n] > 1, minlength=annotations.sizes[ANNOTATOR])
    alone = (shares == 0) & (np.bincount(annotator, minlength=len(shares)) >= _STRANGE)
    if not alone.any() or alone.all():
        return []
    names = annotations[ANNOTATOR].to_numpy()
    own = annotations[LABEL].to_numpy()[pairs[pairs // n == alone.argmax()] % n].tolist()
    several = f" and {alone.sum() - 1} more" if alone.sum() > 1 else ""
    return [
        f"Annotators who gave no label that others gave: {shown(names[alone][:1].tolist())} "
        f"({shown(own, 3)}){several}. If this is no annotator but a column of something else, "
        "leave it out"
    ]


_NUMBER: Final = re.compile(r"[-+]?\d+(,\d+)?\Z")


def _decimal_commas(names: list[str]) -> list[str]:
    """Return [a warning] if all labels are text that looks like numbers with a comma, else [].

    >>> _decimal_commas(["0,5", "2"])
    ["All labels look like numbers with a decimal comma ('0,5'), and are read as text. If ..."]
    >>> _decimal_commas(["0,5", "x"]), _decimal_commas(["1", "2"])
    ([], [])
    """
    commas = [name for name in names if "," in name]
    if not commas or not all(map(_NUMBER.match, names)):
        return []
    return [
        f"All labels look like numbers with a decimal comma ({shown(commas[:1])}), and are read as "
        "text. If they are numbers, write a decimal point: table['label'].str.replace(',', '.')"
    ]


def name_warnings(data: xr.Dataset, predictions: xr.Dataset | None = None) -> list[str]:
    """Return warnings of items, annotators or systems that seem to have two spellings.

    ``data`` are annotations, or votes on pairs, which also name systems.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 1], "annotator": ["ann", "bob", "Ann "],
    ...                       "label": list("xyx")})
    >>> name_warnings(ann)
    ["Annotators that differ only in capitals or blanks: 'ann', 'Ann '. They count ..."]
    """
    out = []
    dims = (ITEM, ANNOTATOR, SYSTEM, STRATUM, POOL)
    named = {dim: data[dim] for dim in dims if dim in data.coords}
    if predictions is not None:
        named[SYSTEM] = predictions[SYSTEM]
    for dim, values in named.items():
        if values.dtype.kind not in "UO":
            continue
        names = [name for name in values.to_numpy().tolist() if isinstance(name, str)]
        if alike := respelled(names):
            several = "Strata" if dim == STRATUM else f"{dim.capitalize()}s"
            out.append(
                f"{several} that differ only in capitals or blanks: "
                f"{shown(alike, _SHOWN)}. They count as different names. Write them alike"
            )
    return out


_MISSING: Final = re.compile(r"-?(9+|8+|7+|9+8|9+7)\Z")
"""Numbers that stand for a missing answer in many files: 99, -9, 888, 998."""
_APART: Final = 2
"""Minimum distance of codes for missing answers from all other numbers, as a multiple of the range
of the other numbers."""


def _far_number(annotations: xr.Dataset) -> str:
    """Return a warning of numbers that may stand for missing answers, or "".

    They look like codes, such as 99, and are far from all other numbers.

    >>> import dissensus as dx
    >>> _far_number(dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"),
    ...                             "label": [1, 3, 4, -99]}))
    '-99 is far from all other numbers (1 to 4; such rows: 1). If it stands for a missing ...'
    """
    if "value" in annotations:
        rows = annotations["value"].to_numpy()
    else:
        names = annotations[LABEL].to_numpy()
        if names.dtype.kind not in "if":
            return ""
        rows = names[annotations["label_code"].to_numpy()]
    values = np.unique(rows)
    for ends in (values[::-1], values):
        codes = list(takewhile(lambda code: _MISSING.match(f"{code:g}"), ends[:_CODES].tolist()))
        others = ends[len(codes) :]
        if not codes or not len(others):
            continue
        low, high = others.min(), others.max()
        if min(abs(codes[-1] - low), abs(codes[-1] - high)) > _APART * max(high - low, 1):
            named = listed([f"{code:g}" for code in codes])
            single = len(codes) == 1
            missing = (
                "it stands for a missing answer" if single else "they stand for missing answers"
            )
            return (
                f"{named} {'is' if single else 'are'} far from all other numbers ({low:g} to "
                f"{high:g}; such rows: {np.isin(rows, codes).sum():,}). If {missing}, remove "
                "such rows"
            )
    return ""


_CODES: Final = 3
"""Maximum number of different codes for missing answers in one file."""


_LONG_ENOUGH: Final = 4
_MANY: Final = 20
"""A label given once may be misspelt if a similar label is given at least this often."""


def _slips(rows: Mapping[str, int]) -> list[str]:
    """Return labels that were given once and resemble a frequent label, each with this label.

    >>> _slips({"magenta": 40, "ochre": 38, "maenta": 1, "ocher": 1, "mgaenta": 1, "item2": 1})
    ["'maenta' (like 'magenta')", "'mgaenta' (like 'magenta')"]
    >>> _slips({"cat": 40, "cats": 1, "wet": 40, "unwet": 1, "stage II": 40, "stage III": 1})
    []
    """
    often = [name for name, n in rows.items() if n >= _MANY]
    out = []
    for name in (name for name, n in rows.items() if n == 1 and len(name) >= _LONG_ENOUGH):
        like = next((frequent for frequent in often if _is_slip(name, frequent)), None)
        if like is not None:
            out.append(f"{name!r} (like {like!r})")
    return out


def _is_slip(name: str, like: str) -> bool:
    """Return whether ``name`` may be a misspelling of the label ``like``.

    One small letter is missing or added, or two neighbouring small letters are exchanged. The first
    and the last letter must be equal, because a change there often makes another word: cat and
    cats, typical and atypical, stage II and stage III.
    """
    if name[0] != like[0] or name[-1] != like[-1]:
        return False
    short, long = sorted((name, like), key=len)
    differs = [k for k, (a, b) in enumerate(zip(short, long, strict=False)) if a != b]
    if len(long) == len(short) + 1:
        place = differs[0] if differs else len(short)
        return short[place:] == long[place + 1 :] and long[place].islower()
    if len(differs) != 2 or len(long) != len(short):
        return False
    first, second = differs
    exchanged = name[first] == like[second] and name[second] == like[first]
    return second == first + 1 and exchanged and name[first : second + 1].islower()


def probability_warning(predictions: xr.Dataset) -> str:
    """Return a warning if some predictions have scores that are not probabilities, or "".

    There is a warning only if at least half of all predictions have probabilities.

    Examples
    --------
    >>> import dissensus as dx
    >>> given = {"item": [1, 2, 3], "system": ["m"] * 3, "x": [0.6, 0.5, 0.9], "y": [0.4, 0.5, 0.1]}
    >>> probability_warning(dx.predictions(given))
    ''
    """
    if "score" not in predictions or LABEL not in predictions.coords:
        return ""
    score = predictions["score"].transpose(ITEM, SYSTEM, POSITION).to_numpy()
    right = rows_of_probabilities(predictions)
    wrong = ~right & (np.isfinite(score).sum(axis=-1) > 1)  # a single score is a confidence
    if not wrong.any() or right.mean() < _MOSTLY:
        return ""
    item, system = np.argwhere(wrong)[0]
    name, by = (predictions[dim].to_numpy()[[k]].tolist()[0]
                for dim, k in ((ITEM, item), (SYSTEM, system)))  # fmt: skip
    total = np.nansum(score[item, system])
    return (
        f"The probabilities of {wrong.sum():,} of {right.size:,} predictions do not add up to 1, "
        f"or some are negative (item {brief(name)}, system {brief(by)}: the sum is "
        f"{total:.3g}). Log score, Brier score, total variation and calibration are left out of "
        "the evaluation, for all systems. Correct them, or leave these systems out"
    )


_MOSTLY: Final = 0.5
_ALMOST_ALL: Final = 0.95


def _single_labels(annotations: xr.Dataset) -> list[str]:
    """Return [a warning] if at least 95 % of the answers have exactly one label, else []."""
    answer, n_labels = annotations["label_code"].to_numpy(), annotations["member"].shape[1]
    single = annotations["member"].to_numpy().sum(axis=1) == 1
    share = float(single[answer].mean()) if len(answer) else 0.0
    if n_labels < 2 or len(answer) < _FEW or share < _ALMOST_ALL:
        return []
    return [
        f"{percent(round(share, 2))} of the answers have exactly one label. If labels "
        'exclude each other, read them with kind="nominal": a system\'s sets are scored as if '
        "labels were independent, so that exact match and Jaccard similarity would be too low"
    ]


_FEW: Final = 20
"""With fewer answers there is no warning: they may have one label each by chance."""


def _empty_words(annotations: xr.Dataset) -> list[str]:
    """Return warnings of labels that seem to mean an empty set, such as 'none'.

    Such a label is never given together with other labels.
    """
    member = annotations["member"].to_numpy()
    several = member[member.sum(axis=1) > 1].any(axis=0)
    names = annotations[ELEMENT].to_numpy()[~several].tolist()
    words = [name for name in names if folded(str(name)) in _NOTHING]
    return [
        f"The label {shown([word])} is never given together with others, and is read as a label. "
        f"If it means that no label applies, use none={word!r}"
        for word in words
    ]


_NOTHING: Final = frozenset({"none", "nothing", "null", "n/a", "empty", "no label", "no finding"})


def _named(names: list[str], rows: Mapping[str, int]) -> str:
    """Return the rarest of these labels as text, each with its number of rows."""
    fewest = sorted(names, key=rows.__getitem__)
    text = ", ".join(f"{shown([name])} ({rows[name]:,})" for name in fewest[:_SHOWN])
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{text}{more}"


def _joins_others(name: str, names: Collection[str]) -> bool:
    """Return whether all parts of a label, split at ";", "|" or ",", are labels themselves."""
    known = {folded(other) for other in names}
    parts = (name.split(mark) for mark in _SEPARATORS if mark in name)
    return any(all(folded(part) in known for part in pieces) for pieces in parts)


def respelled(names: Iterable[Any]) -> list[Any]:
    """Return the names that differ from another name only in capitals or blanks."""
    spellings: dict[str, list[Any]] = {}
    for name in names:
        spellings.setdefault(folded(name), []).append(name)
    return [name for group in spellings.values() if len(group) > 1 for name in group]


def annotation_warnings(
    annotations: xr.Dataset, predictions: xr.Dataset | None = None
) -> list[str]:
    """Return warnings of probable mistakes in annotations, with remedies."""
    out = label_warnings(annotations) + name_warnings(annotations, predictions)
    kind, source = (annotations.attrs[name] for name in ("kind", "kind_source"))
    if "label_code" in annotations:
        names = annotations[LABEL].to_numpy()
        first = shown(names.tolist(), 3)
        if kind == "ordinal" and source.startswith("inferred") and names.dtype.kind in "if":
            out.append(
                f"The labels are whole numbers ({first}), and are read as ordinal. An evaluation "
                'treats them as nominal until the kind is given. Use kind="nominal" if the numbers '
                'are names, kind="ordinal" if they are grades'
            )
        if kind in {"nominal", "ordinal"} and tables.are_fractions(names):
            out.append(
                f"The labels are numbers with fractions ({first}), and are read as {len(names):,} "
                f'{kind} labels. If they are scores, use kind="continuous"'
            )
    if annotations.sizes[ANNOTATION] > 1 and (only := only_answer(annotations)) is not None:
        named = annotations.sizes[ELEMENT if "member" in annotations else LABEL] > 1
        out.append(
            f"All labels are {shown([only])} ({annotations.sizes[ANNOTATION]:,} rows): agreement "
            "cannot be judged. If rows with other labels were left out, use all rows"
            + ("" if named else ". If no annotator gave another label, name the other labels with "
               "labels=")
        )  # fmt: skip
    if (voices_per(annotations, ITEM) <= 1).all():
        out.append(
            "Every item has only one annotator: no disagreement can be seen, and results depend on "
            "the prior. Let a second annotator label some of the items"
        )
    return out


def only_answer(annotations: xr.Dataset) -> Any:
    """Return the answer of all rows if they are alike: a label, or a set as text; else None.

    >>> import dissensus as dx
    >>> rows = {"item": [1, 1], "annotator": list("ab"), "label": ["x", "x"]}
    >>> only_answer(dx.annotations(rows)), only_answer(dx.annotations(rows | {"label": list("xy")}))
    ('x', None)
    """
    if "label_code" not in annotations:
        return None
    codes = np.unique(annotations["label_code"].to_numpy())
    return annotations[LABEL].to_numpy()[codes[0]].item() if len(codes) == 1 else None


def left_out(
    annotations: xr.Dataset, predictions: xr.Dataset, sources: Sources = SOURCES
) -> list[str]:
    """Return sentences about the items that ``on_missing="drop"`` leaves out."""
    items, predicted = (data[ITEM].to_numpy() for data in (annotations, predictions))
    alone = items_on_one_side(items, predicted)
    out = []
    if dropped := predictions.attrs.get("items_dropped"):
        out.append(
            f"Left out: all predictions for {dropped} items that some system did not predict"
        )
    if alone and len(alone.annotated) < len(items):
        respelled = respelled_item(items, predicted, sources)
        out.append(". ".join(filter(None, (f"Left out: {alone}", respelled))))
    return out


def _without(names: Array, others: Array) -> list[Any]:
    missing: list[Any] = names[tables.match(names, others) < 0].tolist()
    return missing


def _outside(annotations: xr.Dataset, predictions: xr.Dataset, code: Ints) -> dict[Any, int]:
    """Return the predicted labels outside the label space, each with its number of predictions."""
    if LABEL not in annotations.coords:
        return {}
    known = _label_space(annotations)
    names = predictions[LABEL].to_numpy()
    count = np.bincount(code, minlength=len(names))
    stray = (count > 0) & (tables.match(names, known) < 0)
    return dict(zip(names[stray].tolist(), count[stray].tolist(), strict=True))


def _label_space(annotations: xr.Dataset) -> Array:
    """Return the labels that annotators could give; an empty array for continuous annotations."""
    dim = ELEMENT if ELEMENT in annotations.coords else LABEL
    return annotations[dim].to_numpy() if dim in annotations.coords else np.empty(0, dtype=object)


def _quartiles(values: xr.DataArray) -> dict[str, float]:
    numbers = values.to_numpy()
    quantiles = np.quantile(numbers[~np.isnan(numbers)], list(_QUARTILES.values()))
    return dict(zip(_QUARTILES, quantiles.tolist(), strict=True))


def _spread(counts: Ints) -> dict[str, float]:
    return {"min": int(counts.min()), "median": float(np.median(counts)), "max": int(counts.max())}


def _tied(annotations: xr.Dataset) -> int:
    """Return the number of rankings in which two labels share a rank."""
    ranking, rank = ranking_code(annotations), annotations["rank"].to_numpy()
    block, size = np.unique(ranking * (rank.max() + 1) + rank, return_counts=True)
    return len(np.unique(block[size > 1] // (rank.max() + 1)))
