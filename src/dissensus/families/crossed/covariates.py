"""Covariates of items and annotators: a formula and two tables become columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import frames, tables
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, POOL
from dissensus.errors import ArgumentError, brief, resembling, shown
from dissensus.kernels.types import Array, Floats, Ints

INTERCEPT = "Intercept"


class Covariates(NamedTuple):
    """Covariates of each label, centred, so that ``mu`` is the mean at their averages."""

    formula: str
    terms: Array
    value: Floats  # (annotation, term)
    mean: Floats  # (term): the averages that were subtracted


def covariates(formula: Any, annotations: xr.Dataset, items: Any, annotators: Any) -> Covariates:
    """Evaluate a formula for all labels, or raise naming what is wrong with it or a table.

    Variables are the columns of ``items`` and ``annotators``, and ``pool``.
    """
    if formula is None:
        for name, table in (("items", items), ("annotators", annotators)):
            if table is not None:
                raise ArgumentError(
                    name, expected="no table without a formula", found=type(table).__name__,
                    hint='Say which of its columns count, such as formula="~ age + words"',
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
    matrix = _evaluated(text, _table(variables, annotations, items, annotators))
    names = [str(name) for name in matrix.columns if name != INTERCEPT]
    value = matrix[names].to_numpy(dtype=np.float64)
    if not np.isfinite(value).all():
        wrong = [name for name, column in zip(names, value.T, strict=True)
                 if not np.isfinite(column).all()]  # fmt: skip
        raise ArgumentError(
            "formula", expected="finite numbers", found=f"others in the terms {shown(wrong)}"
        )
    mean = value.mean(axis=0)
    return Covariates(f"~ {text}", np.array(names), value - mean, mean)


def _right_side(formula: Any) -> str:
    """Return the formula without its tilde."""
    if not isinstance(formula, str):
        raise ArgumentError(
            "formula", expected="text such as '~ age + words'", found=brief(formula)
        )
    left, tilde, right = formula.rpartition("~")
    if left.strip():
        raise ArgumentError(
            "formula", expected="covariates only, such as '~ age + words': labels are what is "
            "modelled", found=repr(formula),
        )  # fmt: skip
    return (right if tilde else formula).strip()


def _variables(text: str) -> list[str]:
    """Return the names of the columns that a formula uses."""
    from formulae.model_description import model_description

    try:
        described = model_description(text)
    except Exception as problem:
        raise ArgumentError(
            "formula", expected="a formula such as '~ age * group + words'", found=repr(text),
            hint=str(problem),
        ) from problem  # fmt: skip
    if described.group_terms:
        raise ArgumentError(
            "formula", expected="common terms: items and annotators have their effects already",
            found=repr(text),
        )  # fmt: skip
    terms = {str(getattr(term, "name", term)) for term in described.common_terms}
    if INTERCEPT not in terms:
        raise ArgumentError(
            "formula", expected="a formula with an intercept, which is in the model already",
            found=repr(text), hint="Leave 0 or -1 out of it",
        )  # fmt: skip
    return sorted(described.var_names)


def _table(
    variables: list[str], annotations: xr.Dataset, items: Any, annotators: Any
) -> pd.DataFrame:
    """Return columns of the tables, a row for each label."""
    sides = {
        ITEM: _opened("items", ITEM, items, annotations),
        ANNOTATOR: _opened("annotators", ANNOTATOR, annotators, annotations),
    }
    wrong: list[str] = []
    out = {}
    for name in variables:
        homes = [side for side, (table, _) in sides.items() if name in table]
        if name == POOL and f"{POOL}_code" in annotations and not homes:
            codes = annotations[f"{POOL}_code"].to_numpy()
            out[name] = pd.Series(annotations[POOL].to_numpy()[codes])
        elif len(homes) == 1:
            table, place = sides[homes[0]]
            out[name] = _column(table[name]).iloc[place].reset_index(drop=True)
            wrong += _missing(name, homes[0], out[name], annotations)
        elif homes:
            wrong.append(f"{name!r} stands in both items= and annotators=: rename one of them")
        else:
            known = [column for table, _ in sides.values() for column in table]
            near = resembling(name, known)
            hint = f"; did you mean {near!r}?" if near else ""
            wrong.append(
                f"{name!r} is in no table, which have {shown(known) or 'no columns'}{hint}"
            )
    if wrong:
        raise ArgumentError(
            "formula", expected="columns of the tables, with a value for each of their names",
            found="; ".join(wrong),
        )  # fmt: skip
    return pd.DataFrame(out)


def _opened(
    argument: str, dim: str, table: Any, annotations: xr.Dataset
) -> tuple[Mapping[str, Any], Ints]:
    """Return the columns of a table, and the row of each label."""
    if table is None:
        return {}, np.empty(0, dtype=np.int64)
    columns = dict(frames.opened(table))
    if dim not in columns:
        raise ArgumentError(
            argument, expected=f"a table with a column {dim!r} of names", found=shown(list(columns))
        )
    names = columns.pop(dim).to_numpy()
    people = annotations[dim].to_numpy()
    twice = pd.Index(names).duplicated()
    if twice.any():
        raise ArgumentError(
            argument, expected=f"one row for each {dim}",
            found=f"several for {shown(list(dict.fromkeys(names[twice])))}",
        )  # fmt: skip
    place = tables.match(people, names)
    labelled = np.unique(annotations[f"{dim}_code"].to_numpy())
    absent = labelled[place[labelled] < 0]
    if len(absent):
        raise ArgumentError(
            argument, expected=f"a row for each {dim} that has labels",
            found=f"none for {len(absent)} of {len(labelled)}: {shown(list(people[absent]))}",
            hint=f"Its column {dim!r} has names such as {shown(list(names[:3]))}",
        )  # fmt: skip
    return columns, place[annotations[f"{dim}_code"].to_numpy()]


def _column(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return numbers as floats, ordered categories as they are, and all else as text."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.remove_unused_categories()
    if values.dtype == object:  # a list in a mapping, perhaps with missing entries
        given = values[values.notna()]
        if len(given) and given.map(_is_number).all():
            return values.astype(np.float64)
    if pd.api.types.is_bool_dtype(values) or not pd.api.types.is_numeric_dtype(values):
        return values.astype(object).where(values.isna(), values.astype(str))
    return values.astype(np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _missing(name: str, dim: str, values: pd.Series[Any], annotations: xr.Dataset) -> Iterator[str]:
    lacking = values.isna().to_numpy()
    if lacking.any():
        codes = annotations[f"{dim}_code"].to_numpy()[lacking]
        who = list(dict.fromkeys(annotations[dim].to_numpy()[codes].tolist()))
        yield (
            f"{name!r} is missing for {len(who)} {dim}{'s' if len(who) > 1 else ''} "
            f"({shown(who)}): fill it in, or leave their labels out"
        )


def _evaluated(text: str, table: pd.DataFrame) -> pd.DataFrame:
    from formulae import design_matrices

    try:
        with np.errstate(all="ignore"):  # what is not finite is refused above
            common = design_matrices(text, table, na_action="error", env=0).common
    except Exception as problem:
        raise ArgumentError(
            "formula", expected="a formula that can be evaluated", found=repr(text),
            hint=re.sub(r"\s+", " ", str(problem)),
        ) from problem  # fmt: skip
    out: pd.DataFrame = common.as_dataframe()
    return out


def aliased(value: Floats, pool: Ints) -> list[int]:
    """Return the terms that are sums of pools' means and of the terms before them."""
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


def unidentified(terms: Array, value: Floats, pool: Ints) -> Iterator[str]:
    """Name terms that follow from others, so that only their sums are known."""
    named = [terms[k] for k in aliased(value, pool)]
    if named:
        several = len(named) > 1
        yield (
            f"{shown(named)} follow{'' if several else 's'} from the mean and the terms before "
            f"{'them' if several else 'it'}: the labels do not tell their coefficients apart, and "
            "they depend on their priors. Leave some of these terms out of the formula."
        )
