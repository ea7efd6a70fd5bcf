"""One process at a time at a file, where the system can see to it."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Any, Final

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
