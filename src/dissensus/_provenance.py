"""What an evaluation must carry to be made again: arguments, seed, versions, and which data."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import xarray as xr

ARGUMENTS: Final = "arguments"
NOT_RECORDED: Final = "not_recorded"
DATA: Final = ("annotations", "predictions")
_PACKAGES: Final = ("dissensus", "pymc", "arviz", "numpy", "numba", "xarray", "scipy")


def seed_or_drawn(random_seed: Any) -> tuple[Any, str]:
    """Return a seed, and whether it was given or had to be drawn.

    Examples
    --------
    >>> seed_or_drawn(1)
    (1, 'given')
    >>> seed, source = seed_or_drawn(None)
    >>> 0 <= seed < 2**32, source
    (True, 'drawn')
    """
    if random_seed is not None:
        return random_seed, "given"
    return int(np.random.SeedSequence().generate_state(1)[0]), "drawn"


def versions() -> dict[str, str]:
    """Return the versions of what the draws hang on, as attributes.

    Examples
    --------
    >>> sorted(versions())[:3]
    ['arviz_version', 'dissensus_version', 'numba_version']
    """
    found = {f"{name}_version": version(name) for name in _PACKAGES}
    return found | {"python_version": platform.python_version()}


def provenance(
    annotations: xr.Dataset, predictions: xr.Dataset | None, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return attributes that say of which data and how an evaluation was made.

    Arguments that cannot be written down, such as functions, are named in ``not_recorded``.
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
    """Return a value as JSON can hold it, so that the same comes back; TypeError if it cannot."""
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufU":
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | range):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):  # whose keys need not be text, as those of JSON must be
        return {"mapping": [[_plain(key), _plain(one)] for key, one in value.items()]}
    raise TypeError(type(value).__name__)


def _back(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _back(one) for key, one in value["mapping"]}
    return [_back(one) for one in value] if isinstance(value, list) else value


def data_hash(data: xr.Dataset) -> str:
    """Return a hash of a Dataset's names and values, the same before and after it is stored.

    What a file changes does not count: the width of numbers and text, the order of variables.

    Examples
    --------
    >>> one = xr.Dataset({"x": ("item", [1, 2])}, coords={"item": ["a", "b"]})
    >>> narrow = one.assign(x=one["x"].astype("int8")).assign_coords(item=one["item"].astype("O"))
    >>> data_hash(one) == data_hash(narrow), data_hash(one) == data_hash(one + 1)
    (True, False)
    """
    said = [str(data.attrs.get(name, "")) for name in ("kind", "kind_source")]
    found = hashlib.sha256(repr(said).encode())
    for name in sorted(map(str, data.variables)):
        values = data.variables[name]
        found.update(f"\0{name}\0{values.dims}\0{values.shape}\0".encode())
        found.update(_bytes(values.to_numpy()))
    return f"sha256:{found.hexdigest()}"


def _bytes(values: Any) -> bytes:
    """Write values in one width, whatever they came in."""
    kind = values.dtype.kind
    if kind in "biu":
        return values.astype("<i8").tobytes()
    if kind == "f":
        return (values.astype("<f8") + 0.0).tobytes()  # one zero, not two
    if kind in "mM":
        return values.astype(f"<{kind}8[ns]").tobytes()
    # The length in front: else ("ab", "c") would be ("a", "bc").
    texts = (str(one).encode("utf-8", "surrogatepass") for one in values.ravel())
    return b"".join(len(text).to_bytes(8, "little") + text for text in texts)
