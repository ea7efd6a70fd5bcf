"""Attributes by which an evaluation can be repeated: arguments, seed, versions, hashes of data."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import models
from dissensus.data.hashing import data_hash
from dissensus.registry import package_of

ARGUMENTS: Final = "arguments"
MODEL_PACKAGE: Final = "model_package"
"""Attribute that names the package of a model, if it is a plugin."""
NOT_RECORDED: Final = "not_recorded"
DATA: Final = ("annotations", "predictions")
_PACKAGES: Final = ("dissensus", "pymc", "arviz", "numpy", "numba", "xarray", "scipy")


def versions() -> dict[str, str]:
    """Return the versions of packages that draws depend on, as attributes.

    Examples
    --------
    >>> sorted(versions())[:3]
    ['arviz_version', 'dissensus_version', 'numba_version']
    """
    packages = {f"{name}_version": version(name) for name in _PACKAGES}
    return packages | {"python_version": platform.python_version()}


def of_model(name: str) -> dict[str, str]:
    """Return attributes with the package of a plugin and its version; none for other models.

    Examples
    --------
    >>> of_model("dirichlet")
    {}
    """
    package = package_of(name) if name in models.plugins() else None
    return {MODEL_PACKAGE: package[0], f"{package[0]}_version": package[1]} if package else {}


def provenance(
    annotations: xr.Dataset, predictions: xr.Dataset | None, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return attributes for the data and arguments of an evaluation.

    Arguments that JSON cannot hold, such as functions, are named in ``not_recorded``.
    """
    kept, lost = {}, []
    for name, value in arguments.items():
        try:
            kept[name] = _plain(value)
        except TypeError:
            lost.append(f"{name} (a {type(value).__name__})")
    out: dict[str, Any] = {**versions(), ARGUMENTS: json.dumps(kept)}
    if lost:
        out[NOT_RECORDED] = ", ".join(lost)
    for name, data in zip(DATA, (annotations, predictions), strict=True):
        if data is not None:
            out[f"{name}_hash"] = data_hash(data)
    return out


def arguments_of(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the arguments that were recorded.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": ["a", "b"], "label": [3, 4]})
    >>> arguments_of(provenance(ann, None, {"risk": {3: 0.5, 4: 1}, "draws": 7}))
    {'risk': {3: 0.5, 4: 1}, 'draws': 7}
    """
    return {name: _back(value) for name, value in json.loads(attrs[ARGUMENTS]).items()}


def _plain(value: Any) -> Any:
    """Return a value in a form that JSON can hold and `_back` restores; raise if there is none."""
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufU":
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | range):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):  # as pairs, because keys of JSON objects must be text
        return {"mapping": [[_plain(key), _plain(part)] for key, part in value.items()]}
    raise TypeError(type(value).__name__)


def _back(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _back(part) for key, part in value["mapping"]}
    return [_back(part) for part in value] if isinstance(value, list) else value
