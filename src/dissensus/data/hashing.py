"""Hashes of data. A hash stays the same if the data are written to a file and read again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import xarray as xr


def data_hash(data: xr.Dataset) -> str:
    """Return a hash of a Dataset's names, values and kind.

    The hash does not depend on the width of numbers and text, or on the order of variables, because
    a file may change these.
    """
    attributes = [str(data.attrs.get(name, "")) for name in ("kind", "kind_source")]
    digest = hashlib.sha256(repr(attributes).encode())
    for name in sorted(map(str, data.variables)):
        values = data.variables[name]
        digest.update(f"\0{name}\0{values.dims}\0{values.shape}\0".encode())
        digest.update(in_bytes(values.to_numpy()))
    return f"sha256:{digest.hexdigest()}"


def in_bytes(values: Any) -> bytes:
    """Return an array's values as bytes, in one width for each kind of dtype.

    >>> import numpy as np
    >>> in_bytes(np.array([1], "int8")) == in_bytes(np.array([1], "int64"))
    True
    """
    kind = values.dtype.kind
    if kind in "biu":
        return values.astype("<i8").tobytes()
    if kind == "f":
        return (values.astype("<f8") + 0.0).tobytes()  # so that -0.0 equals 0.0
    if kind in "mM":
        return values.astype(f"<{kind}8[ns]").tobytes()
    # Each text follows its length: otherwise ("ab", "c") and ("a", "bc") would give equal bytes.
    texts = (str(cell).encode("utf-8", "surrogatepass") for cell in values.ravel())
    return b"".join(len(text).to_bytes(8, "little") + text for text in texts)


def contents_hash(value: Any) -> str:
    """Return a hash of all arrays, numbers and texts in a nested value.

    Datasets inside the value are ignored; `data_hash` hashes a Dataset.

    >>> first, second = {"x": np.arange(3), "y": [1, None]}, {"x": np.arange(3), "y": [2, None]}
    >>> contents_hash(first) == contents_hash(dict(first))
    True
    >>> contents_hash(first) == contents_hash(second)
    False
    """
    digest = hashlib.sha256()
    for piece in pieces(value):
        if isinstance(piece, np.ndarray):
            digest.update(f"\0{piece.shape}{piece.dtype.kind}\0".encode())
            digest.update(in_bytes(piece))
        else:
            digest.update(f"\0{piece!r}".encode())
    return f"sha256:{digest.hexdigest()}"


def pieces(value: Any) -> Iterator[Any]:
    """Yield the arrays, numbers and texts in a nested value, in order.

    >>> list(pieces({"x": [1, (None, "a")]}))
    ['x', 1, None, 'a']
    """
    if isinstance(value, np.ndarray | np.generic | bool | int | float | str | None):
        yield value
    elif isinstance(value, xr.DataArray):
        yield str(value.dims)
        yield value.to_numpy()
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield name
            yield from pieces(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from pieces(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from pieces(getattr(value, field.name))
    elif not isinstance(value, xr.Dataset):
        raise TypeError(f"a {type(value).__name__} cannot be hashed")
