"""Read annotations from a table with one row per label of an annotator."""

# There is no "from __future__ import annotations": type checkers would confuse that name with the
# function `annotations` below.
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.frames import columns, is_table, opened
from dissensus.data.schema import KINDS, check_annotations, dense
from dissensus.data.sets import gathered, of_columns, refuse_words
from dissensus.dims import ANNOTATION, ANNOTATOR, CLUSTER, ELEMENT, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import AnnotationError, brief, relocated, shown
from dissensus.kernels.types import Floats, Ints

_MANY = 20
NO_ANSWER = (
    "Delete the rows without a label, or write a word that stands for no answer, which is then a "
    "label of its own"
)
"""Advice about missing labels."""
_OTHER_FORMS = (
    "If each annotator has a column, use dissensus.from_matrix(table.set_index('item')); if the "
    "columns count votes, write a file and use dissensus.read_annotations with format='counts'"
)
_NO_NUMBER = "Delete the rows without a number"
_IN_WORDS = "First map words or percentages to numbers from 0 to 1, and report the mapping"


def annotations(
    frame: Any,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    *,
    rank: str | None = None,
    confidence: str | None = None,
    pool: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    trial: str | None = None,
    kind: str | None = None,
    labels: Sequence[Any] | None = None,
    items: Any = None,
    separator: str | None = None,
    none: Any = None,
) -> xr.Dataset:
    """Read annotations from a table with one row per label of an annotator.

    Parameters
    ----------
    frame : dataframe, mapping of columns, or rows
        Any dataframe that narwhals supports (pandas, polars, pyarrow, duckdb, ...), a list of
        mappings, or a `Dataset` of Hugging Face's `datasets`, whose classes are read by name.
    item, annotator, label : str
        Columns of the item, the annotator, and the label.
    rank : str, optional
        Column of ranks in a partial ranking: 1, 2, 2, 3 (ties share a rank, no gaps). Labels
        without a row are unranked. The kind is then "ranking".
    confidence : str, optional
        Column of confidences in [0, 1].
    pool, cluster, stratum, trial : str, optional
        Columns of the annotator's pool, the item's cluster (such as a patient), the item's stratum,
        and the number of the trial. A stratum is a group of items that may differ from others: the
        learned prior has weights of its own for each stratum.
    kind : {"nominal", "ordinal", "continuous", "ranking", "set"}, optional
        Kind of the labels. "set": an answer can contain several labels. The table has a row for
        each label, or a row for each answer, whose labels are a list, or text with ``separator=``.
        If there is no column ``label``, each label has a column of 0 and 1; these are the columns
        in ``labels=``, or all columns that no other argument names. All rows with the same
        annotator, item, trial and pool are one answer. Blanks around labels are removed. If None,
        the kind is inferred (never "set"), and ``attrs["kind_source"]`` gives the reason: text is
        nominal, whole numbers are ordinal (continuous if there are more than 20 different numbers),
        other numbers are continuous.
    labels : sequence, optional
        The whole label space, in order. Needed for ordinal labels in words, and to include unused
        labels.
    items : sequence or table, optional
        All items, if some have no annotation: for example ``pred["item"]``, if people labelled only
        some of the items that a judge labelled. The plausibilities of the other items are then
        learned from predictions (`dissensus.models.dirichlet`). Models of the truth accept such
        items too, with ``predictions=``. With ``cluster=`` or ``stratum=``, pass a table with these
        columns and the column of items; ``frame`` may have these columns too.
    separator : str, optional
        The text between the labels of a row, such as ";". For sets only.
    none : label, optional
        The word for an empty set in the table, such as "none"; capitals must match. An empty list
        means an empty set too. An empty set is a valid answer; a missing label is an error. For
        sets only.

    Returns
    -------
    xarray.Dataset
        Rows along ``annotation``, names in the coordinates ``item``, ``annotator``, ``label``;
        see `dissensus.schema`. For sets, ``label`` has the distinct answers, ``element`` the labels
        in them, and ``member`` (label, element) says which labels an answer contains.

    Raises
    ------
    AnnotationError
        If a column or entry is missing, an annotator has two labels for an item (without
        ``trial=``), a label is outside ``labels=``, ranks have gaps, a confidence is outside [0,
        1], or text is mixed with numbers.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({
    ...     "item": ["i1", "i1", "i2"], "annotator": ["ann", "bob", "ann"],
    ...     "label": ["cat", "dog", "cat"],
    ... })
    >>> dict(ann.sizes)
    {'annotation': 3, 'item': 2, 'annotator': 2, 'label': 2}
    >>> ann.attrs["kind"], ann.attrs["kind_source"]
    ('nominal', 'inferred: the labels are text')
    """
    wanted = {
        "item": item, "annotator": annotator, "label": label, "rank": rank, "trial": trial,
        "confidence": confidence, "pool": pool, "cluster": cluster, "stratum": stratum,
    }  # fmt: skip
    all_items = None if items is None else _every_item(items, wanted)
    own = wanted
    if all_items is not None and len(all_items) > 1:  # clusters and strata may be only in items=
        table = opened(frame)
        own = {role: x for role, x in wanted.items() if role not in _OF_ITEMS or x in table}
    if isinstance(kind, str) and kind == "set":
        frame, labels = of_columns(frame, own, labels, none=none)
    column = columns(frame, own, needed=("item", "annotator", "label"), hint=_OTHER_FORMS)
    names = {role: str(name) for role, name in wanted.items() if name is not None}
    ranked = rank is not None
    if isinstance(kind, str) and kind == "set":  # `coded_labels` refuses a kind that is not text
        if ranked:
            raise AnnotationError("rank", expected='None with kind="set"', found=brief(rank))
        space = None if labels is None else _space(labels)
        answers = gathered(column, names, separator, none, space)
        extra = {"member": ((LABEL, ELEMENT), answers.member), ELEMENT: answers.elements}
        attrs = {"kind": kind, "kind_source": "given", **answers.words}
        with relocated(lambda row: f"row {answers.first[row]}"):
            return _assembled(answers.columns, names, answers.label, all_items, extra, attrs)
    refuse_words(separator, none, "an answer")
    coded, kind, source = coded_labels(column["label"], names["label"], kind, labels, ranked)
    return _assembled(column, names, coded, all_items, {}, {"kind": kind, "kind_source": source})


def _assembled(
    column: "dict[str, pd.Series[Any]]",
    names: dict[str, str],
    coded: tables.Encoded | Floats,
    all_items: "dict[str, pd.Series[Any]] | None",
    extra: dict[str, Any],
    attrs: dict[str, str],
) -> xr.Dataset:
    """Return the annotations as a Dataset; ``column`` and ``names`` are by role.

    ``coded`` are the labels, ``extra`` further variables and coordinates. ``all_items`` has the
    columns of the table ``items=``, which includes items without a row.
    """
    items = tables.encode(column["item"], names["item"])
    if all_items is not None:
        items = _among(items, all_items["item"], names["item"])
    annotators = tables.encode(column["annotator"], names["annotator"])
    variables: dict[str, Any] = {
        "item_code": (ANNOTATION, items.codes),
        "annotator_code": (ANNOTATION, annotators.codes),
        **{name: value for name, value in extra.items() if name != ELEMENT},
    }
    coords = {ITEM: items.values, ANNOTATOR: annotators.values}
    if ELEMENT in extra:
        coords[ELEMENT] = extra[ELEMENT]
    if isinstance(coded, tables.Encoded):
        variables["label_code"] = (ANNOTATION, coded.codes)
        coords[LABEL] = coded.values
    else:
        variables["value"] = (ANNOTATION, coded)
    if "rank" in column:
        variables["rank"] = (ANNOTATION, whole_ranks(column["rank"], names["rank"]))
    if "confidence" in column:
        sure = tables.numbers(column["confidence"], names["confidence"], hint=_IN_WORDS)
        variables["confidence"] = (ANNOTATION, sure)
    if "trial" in column:
        trials = tables.encode(column["trial"], names["trial"])
        variables["trial"] = (ANNOTATION, trials.values[trials.codes])
    if "pool" in column:
        pools = grouped(column["pool"], names["pool"])
        variables["pool_code"], coords[POOL] = (ANNOTATION, pools.codes), pools.values
    for dim in (CLUSTER, STRATUM):
        if dim in column or (all_items is not None and dim in all_items):
            groups, items_of_rows = _groups_of_items(column, all_items, dim, names, items)
            variables[f"{dim}_code"] = (ITEM, _per_item(groups, items_of_rows, names[dim]))
            coords[dim] = groups.values
    out = xr.Dataset(variables, coords=coords, attrs=attrs)
    check_annotations(out, names)
    return out


def coded_labels(
    column: "pd.Series[Any]",
    name: str,
    kind: str | None,
    labels: Sequence[Any] | None,
    ranked: bool,
) -> tuple[tables.Encoded | Floats, str, str]:
    """Return labels as codes (continuous labels as numbers), their kind, and the kind's source."""
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise AnnotationError("kind", expected=f"one of {KINDS} or None", found=repr(kind))
    if kind == "set":
        raise AnnotationError(
            "kind", expected="a kind with one label in an answer",
            found="'set'", hint="dissensus.annotations reads sets",
        )  # fmt: skip
    if kind is not None and ranked != (kind == "ranking"):
        expected = 'kind="ranking" together with rank=, the column of ranks'
        arguments = f"kind={kind!r} and rank={'given' if ranked else None}"
        raise AnnotationError("kind", expected=expected, found=arguments)
    if kind == "continuous":
        if labels is not None:
            expected = 'None with kind="continuous"'
            raise AnnotationError("labels", expected=expected, found=brief(labels))
        return tables.numbers(column, name, blank_hint=_NO_NUMBER), kind, "given"
    encoded = tables.encode(column, name, sort=True, hint=NO_ANSWER)
    source = "given"
    if kind is None:
        kind, reason = _infer_kind(encoded, column, labels is not None, ranked)
        source = f"inferred: {reason}"
        if kind == "continuous":
            return encoded.values.astype(np.float64)[encoded.codes], kind, source
    if labels is not None:
        encoded = _into(encoded, labels, column, name)
    elif kind == "ordinal" and encoded.is_text and not _ordered(column):
        raise AnnotationError(
            "labels",
            expected="the labels in order, lowest first (words have no order of their own)",
            found="no labels=",
            hint=f"Name them in their order, such as labels={[str(x) for x in encoded.values]}"
            if len(encoded.values) <= 6
            else "",
        )
    return encoded, kind, source


def _ordered(column: "pd.Series[Any]") -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype) and bool(column.dtype.ordered)


def _boolean(column: "pd.Series[Any]") -> bool:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.dtype.categories.dtype.kind == "b"
    return pd.api.types.infer_dtype(column, skipna=False) == "boolean"


def _infer_kind(
    encoded: tables.Encoded, column: "pd.Series[Any]", bounded: bool, ranked: bool
) -> tuple[str, str]:
    if ranked:
        return "ranking", "a column of ranks was named"
    if _ordered(column):
        return "ordinal", "the labels are an ordered categorical"
    if encoded.is_text:
        return "nominal", "the labels are text"
    if _boolean(column):
        return "nominal", "the labels are true or false, written 1 and 0"
    if bounded:
        return "ordinal", "the labels are numbers from the given label space"
    if encoded.values.dtype.kind == "f":
        return "continuous", "the labels are numbers with fractions"
    if len(encoded.values) > _MANY:
        return "continuous", f"the labels are more than {_MANY} different whole numbers"
    return "ordinal", "the labels are whole numbers"


def _into(
    encoded: tables.Encoded, labels: Sequence[Any], column: "pd.Series[Any]", name: str
) -> tables.Encoded:
    """Return labels as codes of the label space ``labels``, or raise if a label is outside it."""
    space = _space(labels)
    place = tables.match(encoded.values, space.values)
    if (place < 0).any():
        stray = encoded.values[place < 0]
        row = int(np.flatnonzero(place[encoded.codes] < 0)[0])
        raise AnnotationError(
            f"column {name!r}",
            where=f"row {row}",
            expected=f"one of labels= ({shown(list(space.values), 12)})",
            found=f"{column.iloc[row]!r}; labels outside the label space: {shown(list(stray))}",
            hint='If the labels are scores, use kind="continuous" without labels='
            if tables.are_fractions(encoded.values)
            else "",
        )
    return tables.Encoded(place[encoded.codes], space.values)


def _space(labels: Sequence[Any]) -> tables.Encoded:
    """Encode the label space in the given order."""
    if isinstance(labels, set | frozenset) or not isinstance(labels, Iterable):
        expected = "a list of labels in order (a set has no order)"
        description = f"{type(labels).__name__} {labels!r}"
        raise AnnotationError("labels", expected=expected, found=description)
    names = list(labels)
    if not names:
        raise AnnotationError("labels", expected="None, or the labels in order", found="none")
    try:
        space = tables.encode(pd.Series(names, dtype=object), "labels")
    except AnnotationError as problem:
        # The error's row is a place in labels=. Readers of files must not report it as a line.
        where = problem.relocated("entry {}".format).where
        raise AnnotationError(
            "labels", where=where, expected=problem.expected, found=problem.found
        ) from problem
    if len(space.values) != len(names):
        raise AnnotationError("labels", expected="distinct labels", found=shown(names, 12))
    return space


def whole_ranks(column: "pd.Series[Any]", name: str) -> Ints:
    """Return ranks as integers, or raise; the error names the first rank that is not whole."""
    values = tables.numbers(column, name)
    bad = np.flatnonzero((values != np.rint(values)) | (np.abs(values) >= 10**12))
    if len(bad):
        raise AnnotationError(
            f"column {name!r}",
            where=f"row {bad[0]}",
            expected="whole numbers: 1 for the first choice, 2 for the next, ...",
            found=f"{values[bad[0]]:g}",
            hint=dense("item", "annotator"),
        )
    return values.astype(np.int64)


def grouped(column: "pd.Series[Any]", name: str) -> tables.Encoded:
    """Encode the names of groups, sorted or in the order of categories.

    Unused categories are left out.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
    return tables.encode(column, name, sort=True)


_OF_ITEMS = (CLUSTER, STRATUM)
"""Columns that have the same value in all rows of an item."""


def _every_item(items: Any, wanted: Mapping[str, str | None]) -> "dict[str, pd.Series[Any]]":
    """Return the columns of ``items=`` by role: the items, their clusters and their strata."""
    groups = {role: wanted[role] for role in _OF_ITEMS if wanted[role] is not None}
    if not isinstance(items, xr.Dataset) and is_table(items):
        table = columns(items, {"item": wanted["item"], **groups}, source="items=")
        names_of = tables.encode(table["item"], "items=")
        # Check groups before the tables are joined, so that errors name rows of ``items``.
        for role, name in groups.items():
            title = f"items=: {name}"
            _per_item(grouped(table[role], title), names_of, title)
        return table
    if isinstance(items, str | bytes | xr.Dataset) or not isinstance(items, Iterable):
        raise AnnotationError(
            "items=", expected="a sequence of names of items", found=brief(items),
            hint='For the items of predictions use items=pred["item"]'
            if isinstance(items, xr.Dataset) else "",
        )  # fmt: skip
    if groups:
        role, name = next(iter(groups.items()))
        raise AnnotationError(
            "items=", expected=f"a table with the columns {wanted['item']!r} and {name!r}, since "
            f"{role}= is given", found=type(items).__name__,
            hint=f"Items without an annotation need a {role} too",
        )  # fmt: skip
    names = items if isinstance(items, pd.Index | pd.Series | np.ndarray) else list(items)
    names = [x.item() if isinstance(x, xr.DataArray) else x for x in names]
    return {"item": pd.Series(names)}


def _among(items: tables.Encoded, all_items: "pd.Series[Any]", name: str) -> tables.Encoded:
    """Return the items of the table as codes of ``all_items``, or raise if one is missing."""
    all_values = tables.encode(all_items, "items=").values
    place = tables.match(items.values, all_values)
    if (place < 0).any():
        stray = items.values[place < 0]
        raise AnnotationError(
            "items=", expected=f"all items of the column {name!r}",
            found=f"{len(stray)} of them missing: {shown(list(stray))}",
        )  # fmt: skip
    return tables.Encoded(place[items.codes], all_values)


def _groups_of_items(
    column: "dict[str, pd.Series[Any]]", all_items: "dict[str, pd.Series[Any]] | None", dim: str,
    names: dict[str, str], items: tables.Encoded,
) -> tuple[tables.Encoded, tables.Encoded]:  # fmt: skip
    """Return the group and the item of each row of both tables, as codes.

    The rows of annotations come before the rows of ``all_items``: an error that an item is in two
    groups then names a row of annotations.
    """
    values, places = [], []
    if dim in column:
        tables.present(column[dim], names[dim])  # before joining: errors name rows of this table
        values.append(column[dim])
        places.append(items.codes)
    if all_items is not None:  # `_among` has put ``items`` into the order of ``all_items``
        values.append(all_items[dim])
        places.append(tables.encode(all_items["item"], names["item"]).codes)
    together = values[0] if len(values) == 1 else pd.concat(values, ignore_index=True)
    return grouped(together, names[dim]), items._replace(codes=np.concatenate(places))


def _per_item(groups: tables.Encoded, items: tables.Encoded, name: str) -> Ints:
    """Return the code of each item's group (item), or raise if an item is in two groups."""
    per_item = np.empty(len(items.values), dtype=np.int64)
    per_item[items.codes] = groups.codes
    clash = np.flatnonzero(per_item[items.codes] != groups.codes)
    if len(clash):
        row = int(clash[0])
        here, elsewhere = groups.codes[row], per_item[items.codes[row]]
        raise AnnotationError(
            f"column {name!r}",
            where=f"row {row} (item {shown([items.values[items.codes[row]]])})",
            expected="the same value in every row of one item",
            found=f"{shown([groups.values[here]])} here and "
            f"{shown([groups.values[elsewhere]])} elsewhere",
        )
    return per_item
