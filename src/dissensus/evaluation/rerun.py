"""Repeats an evaluation from its file, and compares the results."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import models
from dissensus.data.hashing import data_hash
from dissensus.errors import ArgumentError, FormatError, brief
from dissensus.evaluation.evaluate import evaluate
from dissensus.evaluation.provenance import (
    ARGUMENTS,
    DATA,
    MODEL_PACKAGE,
    NOT_RECORDED,
    arguments_of,
    of_model,
    versions,
)

_ADDED: Final = frozenset({"truth"})
"""Groups that are not results: the truth of a simulated study, added by `dissensus demo`."""
_GIVEN: Final = "predictions_given"
_SET_BY_RERUN: Final = frozenset({*DATA, "progressbar"})


class Difference(NamedTuple):
    """How a variable differs between a file and its repetition."""

    where: str
    """Group and name of the variable."""
    how: str


class Rerun(NamedTuple):
    """Result of repeating an evaluation."""

    differences: list[Difference]
    compared: int
    """Number of compared variables."""
    versions: list[str]
    """A text for each package whose version differs."""


def stored(path: Path) -> xr.DataTree:
    """Read an evaluation into memory."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    with _opened(path) as tree:
        if ARGUMENTS not in tree.attrs or DATA[0] not in tree.children:
            raise FormatError(
                str(path), expected="an evaluation with its arguments and annotations, as "
                "`dissensus evaluate` writes it", found="a file without them",
            )  # fmt: skip
        return tree.load()


def _opened(path: Path) -> xr.DataTree:
    """Open a file or a Zarr store. Zarr format 2 is refused: its codecs may unpickle objects."""
    if path.is_dir():
        if find_spec("zarr") is None:
            raise FormatError(
                str(path), expected="a .nc file, or a Zarr store where zarr is installed",
                found="a folder, and no package zarr",
            )  # fmt: skip
        try:
            return xr.open_datatree(path, engine="zarr", zarr_format=3, consolidated=False)
        except (FileNotFoundError, ValueError, KeyError, TypeError) as problem:
            raise FormatError(
                str(path), expected="an evaluation in a Zarr store of format 3",
                found=f"a folder that is not a Zarr store ({brief(problem)})",
            ) from problem  # fmt: skip
    return xr.open_datatree(path, engine="h5netcdf")


def rerun(tree: xr.DataTree, *, progressbar: bool = True) -> Rerun:
    """Repeat a stored evaluation, and compare all variables."""
    if NOT_RECORDED in tree.attrs:
        raise ArgumentError(
            "evaluation", expected="an evaluation with all arguments recorded",
            found=f"arguments that could not be recorded: {tree.attrs[NOT_RECORDED]}",
            hint="Call dissensus.evaluate with them and the seed "
            f"({tree.attrs['random_seed']}), and compare",
        )  # fmt: skip
    annotations, predictions = _data(tree)
    arguments = _arguments(tree)
    package, model = tree.attrs.get(MODEL_PACKAGE), str(tree.attrs.get("model"))
    if package is not None and model not in models.plugins():
        known = tree.attrs.get(f"{package}_version", "of an unknown version")
        raise ArgumentError(
            "evaluation", expected=f"the model {model!r} of the package {package} {known}",
            found="no model of that name", hint="Install that package",
        )  # fmt: skip
    repeated = evaluate(annotations, predictions, progressbar=progressbar, **arguments)
    pairs = list(_pairs(tree, repeated))
    # If the model is a plugin, the version of its package is compared too.
    now = {name: value for name, value in of_model(model).items() if name != MODEL_PACKAGE}
    changed = [
        f"{name.removesuffix('_version')} {tree.attrs.get(name, 'unknown')} then, {version} now"
        for name, version in (versions() | now).items()
        if str(tree.attrs.get(name, "unknown")) != version
    ]
    return Rerun([pair for pair in pairs if pair.how], len(pairs), changed)


def _arguments(tree: xr.DataTree) -> dict[str, Any]:
    """Return the recorded arguments; raise if they are not valid, as in an edited file."""
    try:
        recorded = arguments_of(tree.attrs)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as problem:
        raise FormatError(
            ARGUMENTS, expected="arguments as an evaluation records them", found=brief(problem)
        ) from problem
    if not _SET_BY_RERUN.isdisjoint(recorded):
        raise FormatError(
            ARGUMENTS, expected=f"none of {', '.join(sorted(_SET_BY_RERUN))}",
            found=", ".join(sorted(_SET_BY_RERUN & set(recorded))),
        )  # fmt: skip
    return recorded


def _data(tree: xr.DataTree) -> tuple[xr.Dataset, xr.Dataset | None]:
    """Return annotations and predictions; raise if their hashes are not the recorded ones."""
    groups = (DATA[0], _GIVEN if _GIVEN in tree.children else DATA[1])
    datasets = []
    for name, group in zip(DATA, groups, strict=True):
        data = tree[group].to_dataset() if group in tree.children else None
        recorded = tree.attrs.get(f"{name}_hash")
        now = None if data is None else data_hash(data)
        if recorded != now:
            raise FormatError(
                name, expected=f"the data that were evaluated ({recorded})", found=f"{now}",
                hint="The file was changed after it was written, or NetCDF does not preserve these "
                "values",
            )  # fmt: skip
        datasets.append(data)
    if datasets[0] is None:
        raise FormatError(DATA[0], expected="annotations in the file", found="none")
    return datasets[0], datasets[1]


def _pairs(then: xr.DataTree, now: xr.DataTree) -> Iterator[Difference]:
    """Yield the name of every variable, and how its values differ ("" if they do not)."""
    before, after = _variables(then), _variables(now)
    for where in dict.fromkeys([*before, *after]):
        if where not in after:
            yield Difference(where, "not made this time")
        elif where not in before:
            yield Difference(where, "not in the file")
        else:
            yield Difference(where, _difference(before[where], after[where]))


def _variables(tree: xr.DataTree) -> dict[str, xr.Variable]:
    """Return all variables and coordinates; keys are "group/name"."""
    return {
        f"{node.path.strip('/')}/{name}".strip("/"): values
        for node in tree.subtree
        if node.path.strip("/").split("/")[0] not in _ADDED
        for name, values in node.to_dataset(inherit=False).variables.items()
    }


def _difference(then: xr.Variable, now: xr.Variable) -> str:
    """Return in words how values differ, or "" if they are equal to the last digit."""
    if then.dims != now.dims or then.shape != now.shape:
        return f"{dict(now.sizes)} now, {dict(then.sizes)} then"
    before, after = then.to_numpy(), now.to_numpy()
    if before.dtype == np.float32:  # draws of items are stored in single precision
        after = after.astype(np.float32)
    both_nan = np.asarray((before != before) & (after != after))
    unlike = np.asarray(before != after) & ~both_nan
    if not unlike.any():
        return ""
    if before.dtype.kind not in "fiub":
        return f"{int(unlike.sum()):,} of {before.size:,} values differ"
    with np.errstate(invalid="ignore"):
        gap = np.abs(before[unlike].astype(np.float64) - after[unlike].astype(np.float64))
    most = "undefined in one of them" if np.isnan(gap).all() else f"by up to {np.nanmax(gap):.3g}"
    return f"{int(unlike.sum()):,} of {before.size:,} values differ, {most}"
