"""Selection of columns from any kind of table; each column becomes a pandas Series."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

import narwhals as nw
import numpy as np
import pandas as pd
import xarray as xr
from narwhals.exceptions import DuplicateError

from dissensus.errors import AnnotationError, brief, folded, resembling, shown


def is_table(value: Any) -> bool:
    """Return whether a value is a table (of any library), not a sequence of names."""
    if isinstance(value, Mapping) or is_rows(value):
        return True
    if type(value).__module__.partition(".")[0] == "datasets":
        return True
    frame = nw.from_native(value, pass_through=True)
    return isinstance(frame, nw.DataFrame | nw.LazyFrame)


def is_rows(frame: Any) -> bool:
    """Return whether a value is a list of rows: at least one is a mapping from column to cell."""
    rows = isinstance(frame, Sequence) and not isinstance(frame, str | bytes)
    return rows and len(frame) > 0 and any(isinstance(row, Mapping) for row in frame)


def _of_rows(rows: Sequence[Any], error: type[AnnotationError]) -> dict[str, list[Any]]:
    """Return the columns of a list of rows; a cell that a row lacks is None."""
    odd = next((n for n, row in enumerate(rows) if not isinstance(row, Mapping)), None)
    if odd is not None:
        expected = "a mapping from column to cell, as other rows"
        raise error("the table", where=f"row {odd}", expected=expected, found=brief(rows[odd]))
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def of_hub(data: Any, error: type[AnnotationError]) -> dict[str, pd.Series[Any]]:
    """Return the columns of a `Dataset` of Hugging Face; classes are read by name."""
    if isinstance(data, Mapping):
        raise error(
            "the table", expected="one data set", found=f"the splits {shown(list(data))}",
            hint=f"Choose a split, such as data[{next(iter(data), 'train')!r}]",
        )  # fmt: skip
    if not hasattr(data, "with_format") or not hasattr(data, "__len__"):
        expected, hint = "a data set in memory, not a stream", "Read the rows: list(data)"
        raise error("the table", expected=expected, found=type(data).__name__, hint=hint)
    table = data.with_format("arrow")[:]
    out = {}
    for name in table.column_names:
        column = table[name].to_pandas(integer_object_nulls=True)
        out[str(name)] = _named(column, getattr(data.features[name], "names", None))
    return out


def _named(codes: pd.Series[Any], names: Sequence[str] | None) -> pd.Series[Any]:
    """Return a column of class codes as a categorical of ``names``; codes below 0 are missing.

    Without names, return the column unchanged.
    """
    if names is None:
        return codes
    known = codes.fillna(-1).astype("int64").clip(-1).to_numpy()
    return pd.Series(pd.Categorical.from_codes(known, categories=pd.Index(names)))


def columns(
    frame: Any,
    wanted: Mapping[str, str | None],
    error: type[AnnotationError] = AnnotationError,
    needed: Iterable[str] = (),
    source: str = "",
    hint: str = "",
) -> dict[str, pd.Series[Any]]:
    """Return the wanted columns of a table by role, with a new index 0, 1, 2, ....

    ``wanted`` maps roles to names of columns. A role with the name None is left out, or is an error
    if it is ``needed``. ``source`` is the name of the table in messages; ``hint`` is advice about
    tables of another form.
    """
    names = {role: str(name) for role, name in wanted.items() if name is not None}
    for role in needed:
        if role not in names:
            raise error(f"{role}=", expected="the name of a column", found="None")
    table = opened(frame, error)
    _refuse_index(frame, [name for name in names.values() if name not in table], error)
    require_columns(names, list(table), error, source, hint)
    taken = {role: table[name] for role, name in names.items()}
    if any(len(values) == 0 for values in taken.values()):
        raise error(source or "the table", expected="at least one row", found="0 rows")
    return taken


def _refuse_index(frame: Any, missing: Sequence[str], error: type[AnnotationError]) -> None:
    """Raise if missing columns are levels of the index of a pandas frame."""
    levels = frame.index.names if isinstance(frame, pd.DataFrame) else []
    indexed = [name for name in missing if name in map(str, levels)]
    if indexed:
        raise error(
            f"column{'s' if len(indexed) > 1 else ''} {', '.join(map(repr, indexed))}",
            expected="columns", found="levels of the index", hint="Pass frame.reset_index()",
        )  # fmt: skip


_SYNONYMS: Final = {
    "item": "item id image task document doc text case example sample instance question unit file "
    "filename object",
    "annotator": "annotator rater worker coder user reader judge labeler labeller reviewer expert "
    "person participant observer respondent",
    "label": "label class category rating value answer response annotation judgment judgement "
    "grade vote choice diagnosis prediction predicted predictedlabel pred score",
    "system": "system model method classifier algorithm modelversion",
    "left": "left modela systema itema answera responsea",
    "right": "right modelb systemb itemb answerb responseb",
    "rank": "rank ranking position place",
    "score": "score probability prob confidence",
    "confidence": "confidence certainty",
}
"""Usual names of columns, as `_stem` returns them, by role."""
_HAVE_FORMS: Final = frozenset({"annotator", "system", "label", "left"})
"""Roles that have no column in tables of another form, such as one column for each annotator."""


def require_columns(
    names: Mapping[str, str],
    columns: Sequence[str],
    error: type[AnnotationError],
    source: str = "",
    hint: str = "",
    call: str = "",
) -> None:
    """Raise if any columns are missing; the error names all of them, and similar columns.

    Parameters
    ----------
    names : mapping from role to column name
    columns : sequence of str
        The columns of the table.
    error : type
        Type of the error.
    source : str, optional
        The file, for the message.
    hint : str, optional
        Advice if no column is similar.
    call : str, optional
        A function of the table to which columns are named, if the caller's own function has no such
        arguments.

    Examples
    --------
    >>> names = {"item": "item", "annotator": "annotator", "label": "label"}
    >>> require_columns(names, ["image", "rater", "label"], AnnotationError)
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: columns 'item', 'annotator': expected columns of these names
    to read as item, annotator; found the columns 'image', 'rater', 'label'. Name them with
    item='image', annotator='rater'
    """
    missing = {role: name for role, name in names.items() if name not in columns}
    if not missing:
        return
    free = [name for name in columns if name not in names.values()]
    likely = {role: _likely(role, name, free) for role, name in missing.items()}
    unnamed = [role for role, near in likely.items() if not near]
    rest = [name for name in free if name not in likely.values()]
    if len(unnamed) == len(rest) == 1 and unnamed[0] in _SYNONYMS:
        likely[unnamed[0]] = rest[0]
    single = len(missing) == 1
    advice = ", ".join(f"{role}={near!r}" if near else f"{role}=" for role, near in likely.items())
    subject = f"column{'' if single else 's'} {', '.join(map(repr, missing.values()))}"
    other_form = hint and any(not near for role, near in likely.items() if role in _HAVE_FORMS)
    them = "it" if single else "them"
    if call:
        remedy = f"Rename {them}, or read the table yourself: {call}(table, {advice})"
    else:
        remedy = f"Name {them} with {advice}" + (f". {hint}" if other_form else "")
    raise error(
        f"{source}: {subject}" if source else subject,
        expected=f"{'a column of this name' if single else 'columns of these names'} to read as "
        f"{', '.join(missing)}",
        found=f"the columns {shown(columns, 12)}" if columns else "no columns",
        hint=remedy,
    )


def _likely(role: str, name: str, columns: Sequence[str]) -> str:
    """Return the column name that resembles ``name``, or the only usual one for the role, or ""."""
    words = _SYNONYMS.get(role, role).split()
    usual = [column for column in columns if _stem(column) in words]
    return resembling(name, columns) or (usual[0] if len(usual) == 1 else "")


def _stem(column: str) -> str:
    """Return a name in small letters and digits only, without a final "id" or "name".

    >>> _stem("Worker ID"), _stem("image_name"), _stem("id")
    ('worker', 'image', 'id')
    """
    text = re.sub(r"[\W_]+", "", folded(column))
    return re.sub(r"(?<=\w)(id|name)\Z", "", text) if text != "filename" else text


def opened(
    frame: Any, error: type[AnnotationError] = AnnotationError
) -> Mapping[str, pd.Series[Any]]:
    """Return any table as a mapping from column name to pandas Series."""
    if type(frame).__module__.partition(".")[0] == "datasets":  # by name, to avoid an import
        return of_hub(frame, error)
    if is_rows(frame):
        frame = _of_rows(frame, error)
    if isinstance(frame, Mapping):
        return _from_mapping(frame, error)
    return _from_frame(frame, error)


def _from_mapping(
    frame: Mapping[Any, Any], error: type[AnnotationError]
) -> dict[str, pd.Series[Any]]:
    require_distinct([str(name) for name in frame], error)
    out = {str(name): _column(str(name), values, error) for name, values in frame.items()}
    lengths = {name: len(values) for name, values in out.items()}
    if len(set(lengths.values())) > 1:
        raise error("the columns", expected="one length for all", found=str(lengths))
    return out


def require_distinct(
    names: Sequence[str], error: type[AnnotationError], source: str = "the table", where: str = ""
) -> None:
    """Raise if two columns have the same name; ``source`` and ``where`` are for the message."""
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise error(
            source,
            where=where,
            expected="distinct column names",
            found=f"{shown(doubled)} more than once",
            hint="Rename or remove the copies",
        )


def _column(name: str, values: Any, error: type[AnnotationError]) -> pd.Series[Any]:
    """Return a column of a mapping as a Series.

    A list becomes a Series of objects, because NumPy would convert the 1 in ``[1, "a"]`` to text.
    """
    if isinstance(values, xr.DataArray):
        values = values.to_numpy()
    if isinstance(values, pd.Series):
        return values.reset_index(drop=True)
    if isinstance(values, np.ndarray | pd.Index | pd.api.extensions.ExtensionArray):
        if values.ndim != 1:
            shape = f"the shape {values.shape}"
            raise error(f"column {name!r}", expected="one dimension", found=shape)
        if isinstance(values, np.ma.MaskedArray):  # pd.Series would convert integers to floats
            return _objects(values.tolist())
        return pd.Series(values)
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _series(series)
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        expected = "a list or array, one value for each row"
        raise error(f"column {name!r}", expected=expected, found=type(values).__name__)
    return _objects(list(values))


def _objects(cells: list[Any]) -> pd.Series[Any]:
    return pd.Series(np.fromiter(cells, dtype=object, count=len(cells)), dtype=object)


def _from_frame(frame: Any, error: type[AnnotationError]) -> Mapping[str, pd.Series[Any]]:
    try:
        table = nw.from_native(frame)
        table = table.collect() if isinstance(table, nw.LazyFrame) else table
    except TypeError as problem:
        raise error(
            "the table",
            expected="a dataframe (pandas, polars, duckdb, ...), a mapping of columns, or rows",
            found=type(frame).__name__,
            hint="For files use dissensus.read_annotations and dissensus.read_predictions",
        ) from problem
    except DuplicateError as problem:
        doubled = re.findall(r"- (.+) \d+ times", str(problem))
        description = f"{' and '.join(doubled)} more than once" if doubled else str(problem)
        raise error("the table", expected="distinct column names", found=description) from problem
    require_distinct([str(name) for name in table.columns], error)
    return _Columns(table)


class _Columns(Mapping[str, "pd.Series[Any]"]):
    """The columns of a narwhals frame by name; each is converted only when it is needed."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self._names: dict[str, Any] = {str(name): name for name in frame.columns}

    def __getitem__(self, name: str) -> pd.Series[Any]:
        return _series(self._frame.get_column(self._names[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _series(series: nw.Series[Any]) -> pd.Series[Any]:
    """Convert a column of any library to a Series; equal contents give equal Series."""
    native = series.to_native()
    if isinstance(native, pd.Series):
        return native.reset_index(drop=True)
    kind = series.dtype
    if isinstance(kind, nw.Enum):
        order = list(kind.categories)
        return pd.Series(pd.Categorical(series.to_list(), categories=order, ordered=True))
    if isinstance(kind, nw.Categorical) and nw.is_ordered_categorical(series):
        return pd.Series(native.to_pandas())  # pyarrow's dictionary type
    if isinstance(kind, nw.Categorical):
        return _objects(series.to_list())
    if kind == nw.String:
        return pd.Series(series.to_arrow().to_pandas())
    zoned = isinstance(kind, nw.Datetime) and kind.time_zone is not None
    wide = kind in {nw.Int128, nw.UInt128}
    if zoned or wide or series.null_count():
        # A Series of objects is needed in three cases. If values are missing, pandas converts
        # integers to floats, which lose digits. narwhals drops the time zone of a pyarrow column.
        # Arrow has no integers of 128 bits.
        return _objects(series.to_list())
    return pd.Series(series.to_pandas()).reset_index(drop=True)
