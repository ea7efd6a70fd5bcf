"""Covariates: a formula evaluated on a table of items and a table of annotators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import frames, tables
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, POOL, TERM
from dissensus.errors import ArgumentError, DesignWarning, brief, resembling, shown, warn_caller
from dissensus.kernels.types import Array, Floats, Ints

INTERCEPT = "Intercept"
_ENCODINGS: Final = {"Sum", "Treatment"}
"""Names of encodings: the package formulae lists them as variables of a term such as C(x, Sum)."""

Columns = Mapping[str, tuple[str, "pd.Series[Any]"]]
"""For each variable: its dim (item, annotator or annotation), and its values along that dim."""


class Covariates(NamedTuple):
    """Centred covariates of each label: ``mu`` is then the mean at average covariates."""

    formula: str
    terms: Array
    value: Floats  # (annotation, term)
    mean: Floats  # (term): the averages that were subtracted
    of_pairs: Callable[[Ints, Ints], Floats] | None = None
    """Function of item and annotator codes (pair); returns centred covariates (pair, term)."""


def covariates(formula: Any, annotations: xr.Dataset, items: Any, annotators: Any) -> Covariates:
    """Evaluate a formula for all labels; raise if the formula or a table is not valid.

    Variables are the columns of ``items`` and ``annotators``, and ``pool``.
    """
    if formula is None:
        for name, table in (("items", items), ("annotators", annotators)):
            if table is not None:
                raise ArgumentError(
                    name, expected="no table without a formula", found=type(table).__name__,
                    hint='Name the columns to use, such as formula="~ age + words"',
                )  # fmt: skip
        return Covariates(
            "", np.empty(0, dtype=str), np.empty((annotations.sizes[ANNOTATION], 0)), np.empty(0)
        )
    text = _right_side(formula)
    variables = _variables(text)
    if not variables:
        raise ArgumentError(
            "formula", expected="at least one covariate", found=repr(formula),
            hint="Without covariates leave formula out",
        )  # fmt: skip
    columns = _columns(variables, annotations, items, annotators)
    matrix = _evaluated(text, _table(columns, _places(annotations)))
    names, value = _terms(matrix)
    if not np.isfinite(value).all():
        wrong = [name for name, column in zip(names, value.T, strict=True)
                 if not np.isfinite(column).all()]  # fmt: skip
        raise ArgumentError(
            "formula", expected="finite numbers",
            found=f"infinite or undefined ones in the terms {shown(wrong)}",
        )  # fmt: skip
    mean = value.mean(axis=0)
    of_pairs = partial(_of_pairs, matrix, columns, mean)
    return Covariates(f"~ {text}", np.array(names), value - mean, mean, of_pairs)


def _places(annotations: xr.Dataset) -> dict[str, Ints]:
    """Return the codes of each label's item and annotator, and its row, by the name of the dim."""
    codes = {dim: f"{dim}_code" for dim in (ITEM, ANNOTATOR)}
    out = {dim: annotations[name].to_numpy() for dim, name in codes.items() if name in annotations}
    return out | {ANNOTATION: np.arange(annotations.sizes[ANNOTATION])}


def _table(columns: Columns, places: Mapping[str, Ints]) -> pd.DataFrame:
    return pd.DataFrame({
        name: values.iloc[places[dim]].reset_index(drop=True)
        for name, (dim, values) in columns.items()
    })  # fmt: skip


def _terms(matrix: Any) -> tuple[list[str], Floats]:
    """Return names and values of the terms of an evaluated formula, without the intercept."""
    frame = matrix.as_dataframe()
    names = [str(name) for name in frame.columns if name != INTERCEPT]
    return names, frame[names].to_numpy(dtype=np.float64)


def _of_pairs(matrix: Any, columns: Columns, mean: Floats, item: Ints, annotator: Ints) -> Floats:
    table = _table(columns, {ITEM: item, ANNOTATOR: annotator})
    return _terms(matrix.evaluate_new_data(table))[1] - mean


def require_pairs(design: Covariates, annotations: xr.Dataset) -> None:
    """Raise unless covariates can be computed for each pair of an annotator and an item."""
    if design.of_pairs is None:
        return
    code = _places(annotations)
    without_labels = np.setdiff1d(np.arange(annotations.sizes[ANNOTATOR]), code[ANNOTATOR])
    if len(without_labels):
        raise ArgumentError(
            "annotations", expected="a label by each annotator, with formula=",
            found=f"none by {shown(list(annotations[ANNOTATOR].to_numpy()[without_labels]))}",
        )  # fmt: skip
    # A function of all rows, such as a mean, gives another value for a table of one row.
    ends = [design.value.argmin(axis=0), design.value.argmax(axis=0)]
    for row in np.unique(ends):
        recomputed = design.of_pairs(code[ITEM][[row]], code[ANNOTATOR][[row]])
        wrong = design.terms[~np.isclose(recomputed[0], design.value[row], rtol=1e-6, atol=1e-9)]
        if len(wrong):
            raise ArgumentError(
                "formula", expected="terms that are a function of one item and one annotator",
                found=f"others: {shown(list(wrong))}",
                hint="Use center, scale or poly of formulae, which remember the averages",
            )  # fmt: skip


def _right_side(formula: Any) -> str:
    """Return the formula without its tilde."""
    if not isinstance(formula, str):
        raise ArgumentError(
            "formula", expected="text such as '~ age + words'", found=brief(formula)
        )
    left, tilde, right = formula.rpartition("~")
    if left.strip():
        raise ArgumentError(
            "formula", expected="a formula without a left side, such as '~ age + words'",
            found=repr(formula), hint="Remove the text before ~",
        )  # fmt: skip
    return (right if tilde else formula).strip()


def _printable(problem: Exception) -> str:
    """Return the message of an error on one line, in ASCII."""
    return re.sub(r"\s+", " ", str(problem)).encode("ascii", "backslashreplace").decode()


def _variables(text: str) -> list[str]:
    """Return the names of the columns that a formula uses."""
    from formulae.model_description import model_description

    try:
        described = model_description(text)
    except Exception as problem:
        raise ArgumentError(
            "formula", expected="a formula such as '~ age * group + words'", found=repr(text),
            hint=_printable(problem),
        ) from problem  # fmt: skip
    if described.group_terms:
        raise ArgumentError(
            "formula", expected="no group terms such as (1 | item): items and annotators already "
            "have effects", found=repr(text),
        )  # fmt: skip
    terms = {str(getattr(term, "name", term)) for term in described.common_terms}
    if INTERCEPT not in terms:
        raise ArgumentError(
            "formula", expected="a formula with an intercept: the model has one",
            found=repr(text), hint="Remove 0 or -1 from the formula",
        )  # fmt: skip
    return sorted(described.var_names - {""})  # formulae lists numbers in a call as ""


def _columns(variables: list[str], annotations: xr.Dataset, items: Any, annotators: Any) -> Columns:
    """Return the dim and the values of each variable; raise if a column or a value is missing."""
    sides = {
        ITEM: _opened("items", ITEM, items, annotations),
        ANNOTATOR: _opened("annotators", ANNOTATOR, annotators, annotations),
    }
    wrong: list[str] = []
    out = {}
    for name in variables:
        table_dims = [side for side, (table, _) in sides.items() if name in table]
        if name == POOL and f"{POOL}_code" in annotations and not table_dims:
            codes = annotations[f"{POOL}_code"].to_numpy()
            out[name] = ANNOTATION, pd.Series(annotations[POOL].to_numpy()[codes])
        elif len(table_dims) == 1:
            table, place = sides[table_dims[0]]
            out[name] = table_dims[0], _column(table[name]).iloc[place]
            wrong += _missing(name, *out[name], annotations)
            wrong += _unusable(name, *out[name], annotations)
        elif table_dims:
            wrong.append(f"{name!r} is a column of both items= and annotators=: rename one of them")
        elif name not in _ENCODINGS:
            known = [column for table, _ in sides.values() for column in table]
            near = resembling(name, known)
            hint = f"; did you mean {near!r}?" if near else ""
            wrong.append(f"{name!r} is in no table (columns: {shown(known) or 'none'}){hint}")
    if wrong:
        raise ArgumentError(
            "formula", expected="columns of the tables, with a value in each row that is used",
            found="; ".join(wrong),
        )  # fmt: skip
    return out


def _opened(
    argument: str, dim: str, table: Any, annotations: xr.Dataset
) -> tuple[Mapping[str, Any], Ints]:
    """Return the columns of a table, and the row of each item or annotator (-1: no row)."""
    if table is None:
        return {}, np.empty(0, dtype=np.int64)
    columns = dict(frames.opened(table))
    if dim not in columns:
        raise ArgumentError(
            argument, expected=f"a table with a column {dim!r} of names", found=shown(list(columns))
        )
    annotation_names = annotations[dim].to_numpy()
    names = tables.stored(columns.pop(dim).to_numpy(), annotation_names)
    twice = pd.Index(names).duplicated()
    if twice.any():
        raise ArgumentError(
            argument, expected=f"one row for each {dim}",
            found=f"several for {shown(list(dict.fromkeys(names[twice])))}",
        )  # fmt: skip
    place = tables.match(annotation_names, names)
    labelled = np.unique(annotations[f"{dim}_code"].to_numpy())
    absent = labelled[place[labelled] < 0]
    if len(absent):
        raise ArgumentError(
            argument, expected=f"a row for each {dim} that has labels",
            found=f"none for {len(absent)} of {len(labelled)}: "
            f"{shown(list(annotation_names[absent]))}",
            hint=f"Its column {dim!r} has names such as {shown(list(names[:3]))}",
        )  # fmt: skip
    return columns, place


def _column(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return categories in their order, numbers as floats, and everything else as text."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        # The package formulae keeps the order of ordered categories; the first is the reference.
        return values.cat.remove_unused_categories().cat.as_ordered()
    if values.dtype == object:  # a list in a mapping, perhaps with missing entries
        present = values[values.notna()]
        if len(present) and present.map(_is_number).all():
            return values.astype(np.float64)
    if pd.api.types.is_bool_dtype(values) or not pd.api.types.is_numeric_dtype(values):
        return values.astype(object).where(values.isna(), values.astype(str))
    return values.astype(np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _missing(name: str, dim: str, values: pd.Series[Any], annotations: xr.Dataset) -> Iterator[str]:
    codes = annotations[f"{dim}_code"].to_numpy()
    lacking = codes[values.isna().to_numpy()[codes]]
    if len(lacking):
        affected = list(dict.fromkeys(annotations[dim].to_numpy()[lacking].tolist()))
        yield (
            f"{name!r} is missing for {len(affected)} {dim}{'s' if len(affected) > 1 else ''} "
            f"({shown(affected)}): fill in the values, or remove the labels of {dim}s without one"
        )


_FEW: Final = 2
"""Text that looks like numbers is taken for categories if it has at most so many values."""


def _unusable(
    name: str, dim: str, values: pd.Series[Any], annotations: xr.Dataset
) -> Iterator[str]:
    """Yield what is wrong with categories; warn if each item or annotator has its own."""
    if pd.api.types.is_numeric_dtype(values):
        return
    used = values.iloc[np.unique(annotations[f"{dim}_code"].to_numpy())].dropna()
    known = used.unique().tolist()
    if len(known) == 1:
        yield f"{name!r} has one value for all {dim}s with labels, {known[0]!r}: leave it out"
    is_text = not isinstance(values.dtype, pd.CategoricalDtype)
    if is_text and len(known) > _FEW and pd.to_numeric(used, errors="coerce").notna().all():
        yield (
            f"{name!r} is text that looks like numbers ({shown(known, 3)}): convert it, "
            f"table[{name!r}] = pd.to_numeric(table[{name!r}]), or, if these are names of "
            f'categories, table[{name!r}].astype("category")'
        )
    elif len(known) > _FEW and len(known) == len(used):
        warn_caller(
            f"Each {dim} has its own value of {name!r} ({shown(known, 3)}): the labels do not tell "
            f"its coefficients from the effects of {dim}s. Leave it out, or join values.",
            DesignWarning,
        )


def _evaluated(text: str, table: pd.DataFrame) -> Any:
    from formulae import design_matrices

    try:
        with np.errstate(all="ignore"):  # `covariates` refuses values that are not finite
            return design_matrices(text, table, na_action="error", env=0).common
    except Exception as problem:
        raise ArgumentError(
            "formula", expected="a formula that can be evaluated", found=repr(text),
            hint=_printable(problem),
        ) from problem  # fmt: skip


def constants(terms: Array, value: Floats, mean: Floats) -> dict[str, xr.DataArray]:
    """Return covariates and their averages for a fit's constant data; empty without covariates."""
    if not len(terms):
        return {}
    names = {TERM: terms}
    return {
        "covariates": xr.DataArray(value, coords=names, dims=(ANNOTATION, TERM)),
        "covariate_mean": xr.DataArray(mean, coords=names, dims=TERM),
    }


def aliasing_warnings(terms: Array, value: Floats, pool: Ints) -> Iterator[str]:
    """Return a warning of terms that are linear combinations of others, and so not identified."""
    dependent = [terms[k] for k in aliased(value, pool)]
    if dependent:
        several = len(dependent) > 1
        yield (
            f"{shown(dependent)} "
            f"{'are linear combinations' if several else 'is a linear combination'} of the mean "
            f"and the terms before {'them' if several else 'it'}: the labels do not identify these "
            "coefficients separately, and the estimates depend on the priors. Leave some of these "
            "terms out of the formula."
        )


def aliased(value: Floats, pool: Ints) -> list[int]:
    """Return indices of terms that are linear combinations of earlier terms and pool indicators."""
    rows = np.concatenate([np.eye(int(pool.max(initial=0)) + 1)[pool], value], axis=1)
    spread = np.linalg.norm(rows, axis=0)
    rows = rows / np.where(spread > 0, spread, 1.0)
    out, basis = [], np.empty((len(rows), 0))
    for k in range(rows.shape[1]):
        rest = rows[:, k] - basis @ (basis.T @ rows[:, k])
        rest -= basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > 1e-9:
            basis = np.column_stack([basis, rest / size])
        elif k >= rows.shape[1] - value.shape[1]:
            out.append(k - (rows.shape[1] - value.shape[1]))
    return out
