"""A file's bytes, and its text: what can go wrong before anything is understood."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dissensus._writing import is_store
from dissensus.errors import FormatError, brief

LONGEST_LINE: Final = 1 << 28
"""Bytes. Whole files are held in memory, and a line several times over."""


def checked_path(path: str | os.PathLike[str], *, folder: bool = False) -> Path:
    """Return the path of a file that may be read, or of a folder of Parquet files if it may be one.

    Raises
    ------
    FormatError
        If it is no path, or that of another folder.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> checked_path(".")
    Traceback (most recent call last):
    ...
    dissensus.errors.FormatError: '.': expected a file; found a folder...
    """
    if not isinstance(path, str | os.PathLike):
        raise FormatError(
            "path",
            expected="the path of a file",
            found=type(path).__name__,
            hint="Tables in memory are read by dissensus.annotations and dissensus.predictions",
        )
    place = Path(path)
    try:
        _require_file(str(path), place, folder)
    except OSError as problem:
        if isinstance(problem, FileNotFoundError):
            raise
        why = problem.strerror or str(problem)
        raise FormatError(brief(str(path)), expected="a file", found=f"{why}") from problem
    return place


def is_folder(path: Any) -> bool:
    """Return whether there is a folder of that name, whatever else may be wrong with it."""
    try:
        return Path(path).is_dir()
    except (TypeError, ValueError, OSError):
        return False


def _require_file(name: str, place: Path, folder: bool) -> None:
    if "\0" in name:  # where some functions raise, and others say that there is no such file
        raise FormatError(brief(name), expected="the path of a file", found="a NUL character in it")
    if place.is_dir():
        if is_store(place):
            raise FormatError(f"{name!r}", expected="a file", found="a Zarr store")
        if folder and any(parquet_files(place)):
            return
        names = sorted(entry.name for entry in place.iterdir() if entry.is_file())
        hint = f"Name one of the files in it, such as {names[0]!r}" if names else ""
        expected = "a file, or a folder of Parquet files" if folder else "a file"
        raise FormatError(f"{name!r}", expected=expected, found="a folder", hint=hint)
    if place.is_symlink() and not place.exists():
        raise FormatError(
            f"{name!r}", expected="a file", found="a link that leads nowhere, or to itself"
        )
    if not place.exists():
        raise FileNotFoundError(f"no such file: {name!r}")
    if not place.is_file():  # of a pipe or a device nobody knows whether it ends
        raise FormatError(f"{name!r}", expected="a file", found="a pipe or a device")


def parquet_files(folder: Path) -> Iterator[Path]:
    """Find the Parquet files in a folder, at any depth.

    What begins with a dot or an underscore is no data: programs keep their own things there.
    """
    return (
        path for path in folder.rglob("*")
        if path.suffix.lower() == ".parquet" and path.is_file()
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    )  # fmt: skip


def ending(path: Path) -> str:
    """Return what the name ends in, in small letters, looking past ``.gz``.

    Examples
    --------
    >>> ending(Path("ratings.CSV")), ending(Path("ratings.tsv.gz"))
    ('.csv', '.tsv')
    """
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def read_bytes(path: Path, name: str | None = None) -> bytes:
    """Read a file, unpacking ``.gz``; an empty one is an error. Complaints call it ``name``."""
    name = path.name if name is None else name
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise FormatError(
            name, expected="a file that may be read", found=str(problem.strerror or problem)
        ) from problem
    if path.name.lower().endswith(".gz") and data:
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as problem:
            raise FormatError(
                name, expected="a whole gzip file", found=f"damage ({problem})"
            ) from problem
    if not data:
        raise FormatError(name, expected="a table", found="an empty file (0 bytes)")
    return data


def read_text(path: Path, encoding: str, *, lines: bool = False) -> str:
    """Read a text file, without its byte order mark; one with a row a line, if of ``lines``.

    Raises
    ------
    FormatError
        On bytes that are no text in this encoding, on NUL characters, and on lines without an
        end, saying where.
    """
    data = read_bytes(path)
    if lines:
        require_lines(path, data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as problem:
        raise _undecodable(path, data, encoding, problem) from problem
    except (LookupError, UnicodeError) as problem:
        raise FormatError(
            "encoding", expected="a name Python knows, such as 'cp1252'", found=repr(encoding)
        ) from problem
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise FormatError(path.name, expected="a table", found="nothing but blanks")
    if "\0" in text:
        offset = text.index("\0")
        raise FormatError(
            path.name,
            where=f"line {text.count('\n', 0, offset) + 1}",
            expected="text",
            found=f"a NUL character at offset {offset}",
            hint="Is it binary, or UTF-16? Then name the ending or the encoding, encoding='utf-16'",
        )
    return text


def require_lines(path: Path, data: bytes) -> None:
    """Raise if a line is longer than that of any table.

    Examples
    --------
    >>> require_lines(Path("a.csv"), b"item,annotator,label")
    """
    start = 0
    while len(data) - start > LONGEST_LINE:  # from the last line end within reach to the next
        end = max(data.rfind(mark, start, start + LONGEST_LINE) for mark in (b"\n", b"\r"))
        if end < 0:
            raise FormatError(
                path.name,
                where=f"line {data.count(b'\n', 0, start) + 1}",
                expected=f"lines of at most {LONGEST_LINE:,} bytes",
                found="a longer one",
                hint="Is it a table of text, with one row a line?",
            )
        start = end + 1


def _undecodable(
    path: Path, data: bytes, encoding: str, problem: UnicodeDecodeError
) -> FormatError:
    wide: Any = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    guess = "utf-16" if wide else "cp1252"
    origin = "as its first two bytes say" if wide else "as spreadsheets on Windows write"
    return FormatError(
        path.name,
        where=f"line {data.count(b'\n', 0, problem.start) + 1}",
        expected=f"text in {encoding}",
        found=f"the byte 0x{data[problem.start]:02x} at offset {problem.start}",
        hint=f"Name the encoding it was written in, for example encoding={guess!r}, {origin}",
    )
