"""Files whole or not at all, one process at a time, hashes, and names that are no formulas.

Writing files: whole or not at all, all of a result or none of it.
Everything is written into a folder beside its place, and renamed when the last file is whole: a
full disk, Ctrl-C or an error on the way leaves what was there, and nothing beside it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.errors import ArgumentError

# One process at a time at a file, where the system can see to it.


try:
    import fcntl
except ImportError:  # Windows: there two processes are not kept apart
    fcntl = None  # type: ignore[assignment]

_OURS: Final[dict[Path, weakref.finalize[..., Any]]] = {}


def claim(path: Path, owner: object) -> None:
    """Keep other processes from a file while its owner lives, until it is released.

    Whoever dies has released it. A second owner in this process takes it over: the first may be
    a fit that failed, and lives on in a traceback.

    Raises
    ------
    BlockingIOError
        If another process has it.
    """
    release(path)
    if fcntl is not None:
        file = os.open(path, os.O_RDONLY)
        _OURS[path] = weakref.finalize(owner, os.close, file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            release(path)
            raise
        except OSError:  # disks that know no locks
            release(path)


def release(path: Path) -> None:
    """Leave a file to whoever wants it.

    Examples
    --------
    >>> release(Path("never claimed"))
    """
    if (ours := _OURS.pop(path, None)) is not None:
        ours()


# Hashes of data, the same before and after they are stored.


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
        found.update(in_bytes(values.to_numpy()))
    return f"sha256:{found.hexdigest()}"


def in_bytes(values: Any) -> bytes:
    """Write an array's values in one width, whatever they came in.

    Examples
    --------
    >>> import numpy as np
    >>> in_bytes(np.array([1], "int8")) == in_bytes(np.array([1], "int64"))
    True
    """
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


def contents_hash(value: Any) -> str:
    """Return a hash of all arrays, numbers and texts that a value is made of.

    Datasets are left out: `data_hash` is theirs.

    Examples
    --------
    >>> one, two = {"x": np.arange(3), "y": [1, None]}, {"x": np.arange(3), "y": [2, None]}
    >>> contents_hash(one) == contents_hash(dict(one)), contents_hash(one) == contents_hash(two)
    (True, False)
    """
    found = hashlib.sha256()
    for piece in pieces(value):
        if isinstance(piece, np.ndarray):
            found.update(f"\0{piece.shape}{piece.dtype.kind}\0".encode())
            found.update(in_bytes(piece))
        else:
            found.update(f"\0{piece!r}".encode())
    return f"sha256:{found.hexdigest()}"


def pieces(value: Any) -> Iterator[Any]:
    """Go through what a value is made of: arrays, numbers and texts.

    Raises
    ------
    TypeError
        If something else is among it: of that nobody could say whether it is the same.

    Examples
    --------
    >>> list(pieces({"x": [1, (None, "a")]}))
    ['x', 1, None, 'a']
    """
    if isinstance(value, np.ndarray | np.generic | bool | int | float | str | None):
        yield value
    elif isinstance(value, xr.DataArray):
        yield str(value.dims)
        yield value.to_numpy()
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield name
            yield from pieces(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from pieces(one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from pieces(getattr(value, field.name))
    elif not isinstance(value, xr.Dataset):
        raise TypeError(f"a {type(value).__name__} cannot be hashed")


# Names in tables that may be opened as spreadsheets, where some would be run as formulas.


_BEGINS: Final = "(?:^|(?<=[;\t\r\n]))"
"""Where a cell may begin: a program that splits at semicolons or tabs ignores our quotes."""
_FORMULA: Final = r"(?=[\s\"'\x00-\x1f]*[=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001 (of full width)
_ARMED: Final = re.compile(f"{_BEGINS}{_FORMULA}")
_DISARMED: Final = re.compile(f"{_BEGINS}'{_FORMULA}")


def disarmed(text: str) -> str:
    r"""Put an apostrophe before what a spreadsheet would take for a formula.

    Formulas begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, perhaps after
    blanks and quotation marks, at the beginning or after a semicolon, tab or line break within.
    All other text stays as it is.

    Examples
    --------
    >>> disarmed("=1+1"), disarmed("a-b"), disarmed("a;=1"), disarmed("'-x")
    ("'=1+1", 'a-b', "a;'=1", "''-x")
    """
    return _ARMED.sub("'", text)


def armed(text: str) -> str:
    """Take away what `disarmed` added, and nothing else.

    Examples
    --------
    >>> [armed(disarmed(name)) for name in ("=1+1", "'=1", "it's", "-")]
    ['=1+1', "'=1", "it's", '-']
    """
    return _DISARMED.sub("", text)


def disarmed_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts are no formulas; numbers stay numbers, also negative ones.

    Examples
    --------
    >>> disarmed_table(pd.DataFrame({"system": ["=1", "m"], "mean": [-1.0, 2.0]}))
      system  mean
    0    '=1  -1.0
    1      m   2.0
    """
    out = frame.copy()
    for place, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            cells = np.empty(len(frame), dtype=object)  # of any type: 10 stays 10 beside "a"
            cells[:] = [_cell(cell) for cell in frame.iloc[:, place]]
            out.isetitem(place, cells)
    return out


def _cell(cell: Any) -> Any:
    return disarmed(cell) if isinstance(cell, str) else cell


type Writer = Callable[[Path], Any]
"""Writes to the path it is given."""

_STORE: Final = ("zarr.json", ".zgroup")
"""What a folder holds if it is a Zarr store."""
_REFUSED: Final = {errno.EACCES, errno.EPERM, errno.EROFS}


def replace(path: Path, write: Writer, *, overwrite: bool = True) -> None:
    """Write one file (or Zarr store) in the place of what was there.

    Of a symbolic link the link is replaced, never what it points at.

    Parameters
    ----------
    path : Path
        Where it belongs, in a folder that exists.
    write : callable
        Writes to the path it is given, which has the same name and another folder.
    overwrite : bool
        Whether what is there may be replaced; else it is an error, also if it has come since.

    Raises
    ------
    ArgumentError
        If the folder may not be written to, a folder has the name, or ``overwrite`` forbids it.
    """
    replace_all(path.parent, {path.name: write}, overwrite=overwrite)


def replace_all(
    folder: Path, writers: Mapping[str, Writer | None], *, overwrite: bool = True
) -> None:
    """Write several files that belong together: all are replaced, or none is.

    Parameters
    ----------
    folder : Path
        A folder that exists.
    writers : mapping
        From the name of a file to what writes it; None for one that is to be gone.
    overwrite : bool
        As for `replace`.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as name:
    ...     replace_all(Path(name), {"a": lambda path: path.write_text("x")})
    ...     [path.name for path in Path(name).iterdir()]
    ['a']
    """
    for name in writers:
        check_target(folder / name)
    with _beside(folder) as place:
        new, old = place / "new", place / "old"
        new.mkdir()
        old.mkdir()
        for name, write in writers.items():
            if write is not None:
                write(new / name)
                settle(new / name)
        begun: dict[str, bool] = {}
        try:
            for name in writers:
                _require_absent(folder / name, overwrite=overwrite)
                begun[name] = there(folder / name)
                _keep(folder / name, old / name)
                _move(new / name, folder / name)
        except BaseException:  # also Ctrl-C: half of two results is worse than either
            for name, before in reversed(begun.items()):
                _restore(folder / name, old / name, place / f"discarded-{name}", before)
            raise


def check_target(path: Path) -> None:
    """Raise if a folder that is no Zarr store stands where a file belongs.

    Examples
    --------
    >>> check_target(Path("."))
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: path: expected the name of a file; found the folder .
    """
    if not path.is_dir():
        return
    if path.suffix != ".zarr" or not is_store(path):
        what = "the name of a Zarr store" if path.suffix == ".zarr" else "the name of a file"
        raise ArgumentError("path", expected=what, found=f"the folder {path}")


def is_store(folder: Path) -> bool:
    """Say whether a folder is a Zarr store."""
    return any((folder / name).exists() for name in _STORE)


def there(path: Path) -> bool:
    """Say whether the name is taken, be it by a symbolic link that leads nowhere."""
    return os.path.lexists(path)


def require_writable(folder: Path, subject: str) -> None:
    """Raise if nothing can be written into a folder, before the work begins."""
    with _beside(folder, subject):
        pass


@contextmanager
def _beside(folder: Path, subject: str = "path") -> Iterator[Path]:
    """Make a folder for what is not whole yet, on the same disk, and take it away at the end."""
    try:
        made = tempfile.TemporaryDirectory(dir=folder, prefix=".dissensus-")
    except OSError as problem:
        if problem.errno not in _REFUSED:
            raise
        raise ArgumentError(
            subject, expected="a folder that may be written to",
            found=f"{folder}: {problem.strerror}",
        ) from problem  # fmt: skip
    with made as name:
        yield Path(name)


def settle(path: Path) -> None:
    """Have the disk take a file before its name is given away; a full one may say so only now."""
    if path.is_file():  # a Zarr store is thousands of files
        with path.open("rb+") as file:
            os.fsync(file.fileno())


def _require_absent(path: Path, *, overwrite: bool) -> None:
    if not overwrite and there(path):
        raise ArgumentError(
            "path", expected="a file that does not exist yet", found=str(path),
            hint="overwrite=True replaces it",
        )  # fmt: skip


def _keep(path: Path, old: Path) -> None:
    """Keep what is there, to bring it back: a second name for a file, so that it never lacks."""
    if path.is_dir() and not path.is_symlink():  # nothing can be renamed over a folder
        path.rename(old)
    elif there(path):
        with suppress(OSError, NotImplementedError):  # disks that know no second names
            os.link(path, old, follow_symlinks=False)


def _move(new: Path, path: Path) -> None:
    if there(new):
        new.replace(path)
    else:
        path.unlink(missing_ok=True)


def _restore(path: Path, old: Path, discarded: Path, before: bool) -> None:
    """Bring back what was there, or nothing; what is new stays if the old had no second name."""
    if (there(old) or not before) and there(path):
        path.rename(discarded)
    if there(old):
        old.rename(path)
