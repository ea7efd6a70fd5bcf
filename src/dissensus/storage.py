"""Write one or several files completely or not at all; lock files between processes.

Files are written into a temporary folder inside the target folder, and renamed when the last file
is complete: a full disk, Ctrl-C or an error during writing leaves the old files, and no others.
"""

from __future__ import annotations

import errno
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from dissensus.errors import ArgumentError

# Locks: only one process at a time uses a file, if the operating system has locks.


try:
    import fcntl
except ImportError:  # Windows: no locks between processes
    fcntl = None  # type: ignore[assignment]

_OURS: Final[dict[Path, weakref.finalize[..., Any]]] = {}


def claim(path: Path, owner: object) -> None:
    """Lock a file against other processes, until `release` is called or the owner is deleted.

    Raises a BlockingIOError if another process has the lock. A second owner in this process takes
    the lock over: the first owner may be a failed fit that a traceback still refers to.
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
        except OSError:  # disks without locks
            release(path)


def release(path: Path) -> None:
    """Remove the lock of a file, so that other processes can use it."""
    if (ours := _OURS.pop(path, None)) is not None:
        ours()


type Writer = Callable[[Path], Any]

_STORE: Final = ("zarr.json", ".zgroup")
"""A folder with one of these files is a Zarr store."""
_REFUSED: Final = {errno.EACCES, errno.EPERM, errno.EROFS}


def replace(path: Path, write: Writer, *, overwrite: bool = True) -> None:
    """Write one file (or Zarr store), and replace an existing one; see `replace_all`."""
    replace_all(path.parent, {path.name: write}, overwrite=overwrite)


def replace_all(
    folder: Path, writers: Mapping[str, Writer | None], *, overwrite: bool = True
) -> None:
    """Write several files that belong together: all are replaced, or none is.

    ``writers`` map the name of a file to a function that writes it to a path with the same name in
    another folder; None deletes the file. A symbolic link is replaced, never its target. Raises an
    ArgumentError if the folder is not writable, a folder has the name of a file, or ``overwrite``
    is False and a file exists, even if it was created in the meantime.

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
                begun[name] = name_exists(folder / name)
                _keep(folder / name, old / name)
                _move(new / name, folder / name)
        except BaseException:  # also Ctrl-C: old and new files must not be mixed
            for name, before in reversed(begun.items()):
                _restore(folder / name, old / name, place / f"discarded-{name}", before)
            raise


def check_target(path: Path) -> None:
    """Raise if the path of a file is a folder, unless both are a Zarr store.

    >>> check_target(Path("."))
    Traceback (most recent call last):
    ...
    dissensus.errors.ArgumentError: path: expected the name of a file; found the folder .
    """
    if not path.is_dir():
        return
    if path.suffix != ".zarr" or not is_store(path):
        expected = "the name of a Zarr store" if path.suffix == ".zarr" else "the name of a file"
        raise ArgumentError("path", expected=expected, found=f"the folder {path}")


def is_store(folder: Path) -> bool:
    """Return whether a folder is a Zarr store."""
    return any((folder / name).exists() for name in _STORE)


def name_exists(path: Path) -> bool:
    """Return whether the path exists; a broken symbolic link exists too."""
    return os.path.lexists(path)


def require_writable(folder: Path, subject: str) -> None:
    """Raise if nothing can be written into a folder, before the work begins."""
    with _beside(folder, subject):
        pass


@contextmanager
def _beside(folder: Path, subject: str = "path") -> Iterator[Path]:
    """Make a temporary folder for unfinished files within ``folder``; remove it at the end."""
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
    """Flush a file to disk before it is renamed; a full disk may report an error only now."""
    if path.is_file():  # a Zarr store has thousands of files, and is not flushed
        with path.open("rb+") as file:
            os.fsync(file.fileno())


def _require_absent(path: Path, *, overwrite: bool) -> None:
    if not overwrite and name_exists(path):
        raise ArgumentError(
            "path", expected="a file that does not exist yet", found=str(path),
            hint="overwrite=True replaces it",
        )  # fmt: skip


def _keep(path: Path, old: Path) -> None:
    """Keep an existing file under a second name, from which it can be restored."""
    if path.is_dir() and not path.is_symlink():  # nothing can be renamed over a folder
        path.rename(old)
    elif name_exists(path):
        with suppress(OSError, NotImplementedError):  # disks without hard links
            os.link(path, old, follow_symlinks=False)


def _move(new: Path, path: Path) -> None:
    if name_exists(new):
        new.replace(path)
    else:
        path.unlink(missing_ok=True)


def _restore(path: Path, old: Path, discarded: Path, before: bool) -> None:
    """Restore the old file; if `_keep` could not keep it, the new file stays."""
    if (name_exists(old) or not before) and name_exists(path):
        path.rename(discarded)
    if name_exists(old):
        old.rename(path)
