"""Known true labels of all or some items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import frames, tables
from dissensus.data.weights import by_item
from dissensus.dims import ITEM, LABEL, SYSTEM
from dissensus.errors import AnnotationError, ArgumentError, brief, misspelt, shown
from dissensus.kernels.types import UNKNOWN, Ints, Names

_COLUMNS = (ITEM, LABEL)


def known_codes(annotations: xr.Dataset, truth: Any) -> Ints:
    """Return the code of each item's true label (item); -1 if the label is not known.

    ``truth`` maps items to labels: a mapping, Series, DataArray (item), or a table with the columns
    ``item`` and ``label``. The label of an item that is absent, or has no label, is not known.
    """
    items, labels = annotations[ITEM].to_numpy(), annotations[LABEL].to_numpy()
    out = np.full(len(items), UNKNOWN, dtype=np.int64)
    if truth is None:
        return out
    names, values = named(truth)
    names = tables.stored(names, items)
    place = tables.match(names, items)
    if (place < 0).any():
        raise ArgumentError(
            "truth", expected="labels of items of the annotations",
            found=f"other items: {shown(list(names[place < 0]))}",
            hint="Leave these items out, or read the annotations with items=, a list of all items",
        )  # fmt: skip
    repeated = pd.Index(place).duplicated()
    if repeated.any():
        description = f"several for {shown(list(names[repeated]))}"
        raise ArgumentError("truth", expected="one label for each item", found=description)
    known = ~pd.isna(values)
    code = _codes(values[known], labels)
    if (code < 0).any():
        raise ArgumentError(
            "truth", expected=f"labels that annotators could give: {shown(list(labels))}",
            found=shown(list(dict.fromkeys(map(str, values[known][code < 0])))),
            hint=misspelt(list(dict.fromkeys(values[known][code < 0])), list(labels))
            or "Read the annotations again with labels=, the whole label space",
        )  # fmt: skip
    out[place[known]] = code
    return out


def require_informed(posterior: xr.Dataset, place: Ints, argument: str = "truth") -> None:
    """Raise if the truth of one of the items at ``place`` depends on the prevalence only.

    In a fit with correlated errors, predictions are not evidence of the truth. For an item without
    labels, the probabilities of the true label are then the prevalence, in each draw.
    """
    if "error_correlation" not in posterior or "prevalence" not in posterior:
        return
    front = [dim for dim in posterior["truth"].dims if dim not in (ITEM, LABEL)]
    truth = posterior["truth"].transpose(*front, ITEM, LABEL)
    prevalence = posterior["prevalence"].transpose(*front, LABEL).to_numpy()[..., None, :]
    values = truth.to_numpy()[..., place, :]
    bare = np.isclose(values, prevalence, rtol=1e-9, atol=1e-12).all(axis=-1)
    bare = bare.all(axis=tuple(range(bare.ndim - 1)))
    if bare.any() and values.shape[0] > 0:
        names = truth[ITEM].to_numpy()[place][bare]
        raise ArgumentError(
            argument, expected="a fit in which every item has labels",
            found=f"{len(names):,} of {len(place):,} items without labels: {shown(list(names))}",
            hint="Leave these items out, or fit with error_correlation=0, where predictions are "
            "evidence of their truth",
        )  # fmt: skip


def require_evidence(
    posterior: xr.Dataset, systems: Names, argument: str, hint: str, *, where: str = "",
    lists: bool = False,
) -> None:  # fmt: skip
    """Raise unless a fit to the truth used the systems' predictions as evidence of it.

    Without this evidence, a system is estimated to know nothing beyond the annotators' labels.
    """
    known = posterior[SYSTEM].to_numpy() if SYSTEM in posterior.coords else np.empty(0, object)
    lacking = systems[tables.match(systems, known) < 0]
    left_out = posterior.attrs.get("hyper_evidence") == "annotators"
    weighted = "system_weight" in posterior
    if not len(lacking) and not (weighted and lists) and (weighted or not left_out):
        return
    raise ArgumentError(
        argument, where=where, hint=hint,
        expected="a fit in which predictions of these systems are evidence of the truth",
        found=f"a fit without {shown(lacking.tolist())}" if len(lacking)
        else "a fit with correlated errors, in which lists are not evidence" if weighted
        else 'a fit with evidence="annotators"',
    )  # fmt: skip


def recorded(truth: Any) -> Any:
    """Return true labels as a dict that can be stored; return anything else unchanged."""
    if isinstance(truth, xr.Dataset):  # true sets of labels
        return truth
    try:
        names, labels = named(truth)
    except ArgumentError:
        return truth
    kept = ~pd.isna(labels)
    return dict(zip(tables.stored(names[kept]).tolist(), labels[kept].tolist(), strict=True))


def codes_of_all(truth: Any, items: Names, labels: Names, *, closed: bool) -> Ints:
    """Return the code of each item's true label (item), or raise if an item has none.

    ``truth`` gives labels by place or by name, see `weights.by_item`. A label outside the label
    space ``labels`` is an error if ``closed``; otherwise its code is -1.
    """
    if isinstance(truth, str | bytes | set | frozenset | xr.Dataset | xr.DataTree):
        raise ArgumentError("truth", expected="a label for each item", found=brief(truth))
    true_labels = by_item(truth, items, "truth", "label")
    missing = pd.isna(true_labels)
    if missing.any():
        lacking = shown(list(items[missing]))
        raise ArgumentError("truth", expected="a label for every item", found=f"none for {lacking}")
    code = _codes(true_labels, labels)
    outside = code < 0
    if closed and outside.any():
        raise ArgumentError(
            "truth",
            where=f"item {shown([items[outside][0]])}",
            expected=f"one of the labels {shown(list(labels))}",
            found=shown(list(true_labels[outside][:1])),
            hint="For unused labels, read the annotations with labels=[...], the whole label space",
        )
    return code


def _codes(true_labels: Names, labels: Names) -> Ints:
    """Return the codes of labels, -1 outside the label space."""
    try:
        return tables.match(np.array(true_labels.tolist()), labels)
    except (TypeError, ValueError) as problem:  # for example, a label is a list
        expected = "a label for each item"
        raise ArgumentError("truth", expected=expected, found=str(problem)) from problem


def named(truth: Any) -> tuple[Names, Names]:
    """Return the names of the items in ``truth``, and the labels of these items."""
    if isinstance(truth, xr.DataArray) and truth.dims == (ITEM,) and ITEM in truth.coords:
        return truth[ITEM].to_numpy(), truth.to_numpy()
    if isinstance(truth, pd.Series) and truth.index.nlevels == 1:
        return truth.index.to_numpy(), truth.to_numpy(dtype=object)
    if hasattr(truth, "columns") or (isinstance(truth, Mapping) and set(truth) == set(_COLUMNS)):
        try:
            table = frames.columns(truth, dict(zip(_COLUMNS, _COLUMNS, strict=True)))
        except AnnotationError as problem:
            raise ArgumentError(
                "truth", expected="a table with the columns item and label", found=problem.found,
                hint="Rename the columns, or pass a mapping from items to labels",
            ) from problem  # fmt: skip
        names, labels = (table[name].to_numpy() for name in _COLUMNS)
        return names, labels.astype(object)
    if isinstance(truth, Mapping):
        labels = np.empty(len(truth), dtype=object)
        labels[:] = list(truth.values())
        return tables.named(truth), labels
    raise ArgumentError(
        "truth", expected="a mapping, Series or DataArray (item) from items to labels, or a table "
        "with the columns item and label",
        found=brief(truth),
        hint=f'One label for all items: dict.fromkeys(annotations["item"].values, {truth!r})'
        if np.isscalar(truth)
        else "Labels without names of items: dict(zip(items, labels))",
    )  # fmt: skip
