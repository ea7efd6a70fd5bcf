"""Checkpoints: the state and the draws of a fit in a Zarr store, from which the fit resumes.

A store consists of parts: each contains the draws since the part before, and the state of the
chains. A part is written under another name and then renamed, so that after a crash it is complete
or absent. The attributes of the store identify the fit; another fit cannot use the store.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import xarray as xr

from dissensus.data.hashing import contents_hash, data_hash, pieces
from dissensus.errors import ArgumentError, FormatError, brief, warn_caller
from dissensus.kernels.random import seed_or_drawn
from dissensus.kernels.types import Array
from dissensus.storage import claim, release, replace, require_writable, settle

Arrays = Mapping[str, Array]

_FORMAT: Final = "dissensus checkpoint 1"
_PARTS: Final = "parts"
_HEADER: Final = "zarr.json"
_PACKAGES: Final = ("dissensus", "numpy", "numba")
"""Packages whose versions determine the draws; a fit resumes only with the same versions."""


class Checkpoint:
    """The store of one fit. ``belongs_to`` are values of JSON types that identify the fit."""

    def __init__(self, path: Path, belongs_to: Mapping[str, Any]) -> None:
        self.path = path
        self.belongs_to = dict(belongs_to)
        self._failed = False
        self._written = 0
        self._lock = threading.Lock()

    @property
    def random_seed(self) -> Any:
        """The seed of the fit: the given one, or one drawn when the store was created."""
        return self.belongs_to["random_seed"]

    @property
    def in_words(self) -> str:
        """The end of the message of an interrupted fit."""
        return f"; the finished part is saved in {self.path}: fit again with checkpoint= to resume"

    def begin(self, fingerprint: str) -> None:
        """Create the store, or check that an existing store is of the same fit; lock it.

        ``fingerprint`` is a hash of the initial state of the chains.
        """
        now = {**self.belongs_to, "settings": fingerprint}
        before = _header(self.path)
        if before is None:
            replace(self.path, partial(_new_store, attributes=now), overwrite=False)
        elif before != now:
            differing = [_difference(name, before.get(name), now[name]) for name in now
                         if before.get(name) != now[name]]  # fmt: skip
            raise ArgumentError(
                "checkpoint",
                expected="a path that is not taken, or the checkpoint of this very fit",
                found=f"{self.path}, of a fit with other {', '.join(differing)}",
            )
        try:
            claim(self.path / _HEADER, self)
        except BlockingIOError:
            raise ArgumentError(
                "checkpoint", expected="a checkpoint that no other process uses",
                found=f"{self.path}, which another fit uses",
            ) from None  # fmt: skip
        for unfinished in self.path.glob(".part-*"):  # left by a process that was killed
            shutil.rmtree(unfinished, ignore_errors=True)

    def release(self) -> None:
        """Unlock the store."""
        release(self.path / _HEADER)

    def parts(self) -> list[str]:
        """Return the names of the parts, in the order in which they were written."""
        names = (part.name for part in (self.path / _PARTS).iterdir())
        return sorted(name for name in names if name[0] != ".")  # without .DS_Store

    def load(self, part: str, like: Arrays) -> dict[str, Array]:
        """Return arrays of a part, or raise unless names, shapes and types are as in ``like``."""
        try:
            group = _zarr().open_group(self.path / _PARTS / part, mode="r", zarr_format=3)
            arrays = {name: np.asarray(group[name][:]) for name in like}
            for name, expected in like.items():
                if (arrays[name].shape, arrays[name].dtype) != (expected.shape, expected.dtype):
                    raise ValueError(name)
                # If the file of a chunk is missing, Zarr returns zeros and no error.
                if group[name].nchunks_initialized != group[name].nchunks:
                    raise ValueError(f"{name} lacks chunks")
            return arrays
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise FormatError(
                str(self.path), where=f"part {part}", expected="arrays as they were written",
                found=f"damaged or none ({problem})", hint="Delete the checkpoint, and begin anew",
            ) from problem  # fmt: skip

    def save(self, part: str, arrays: Arrays) -> bool:
        """Write a part; return whether it was written. A full disk must not end a long fit."""
        try:
            with self._lock:
                self._write(part, arrays)
        except OSError as problem:
            if not self._failed:
                warn_caller(
                    f"The checkpoint {self.path} could not be written "
                    f"({problem.strerror or problem}). "
                    "Sampling goes on; if it is interrupted, it resumes from the last checkpoint "
                    "that was written."
                )
            self._failed = True
            return False
        return True

    def forget(self, part: str, names: list[str]) -> None:
        """Delete arrays that a later part has replaced."""
        for name in names:
            shutil.rmtree(self.path / _PARTS / part / name, ignore_errors=True)

    def _write(self, part: str, arrays: Arrays) -> None:
        from zarr.codecs import Crc32cCodec

        place = self.path / _PARTS / part
        if place.exists():  # an earlier call wrote the part, and was interrupted afterwards
            return
        # Each attempt has a new name: after Ctrl-C Zarr may still write to the last one.
        self._written += 1
        temporary = self.path / f".part-{self._written}"
        try:
            group = _zarr().create_group(temporary, zarr_format=3)
            for name, values in arrays.items():
                # Draws hardly compress: Zarr adds only a checksum. Chunks of zeros are written
                # too, because `load` treats a chunk without a file as missing.
                group.create_array(name, data=np.ascontiguousarray(values),
                                   compressors=(Crc32cCodec(),),
                                   config={"write_empty_chunks": True})  # fmt: skip
            _settle_all(temporary)
            temporary.replace(place)
        except OSError:  # unfinished parts of repeated attempts would fill the disk
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def opened(
    path: Any, *, model: str, annotations: xr.Dataset, random_seed: Any, sampler: str,
    **numbers: int,
) -> Checkpoint | None:  # fmt: skip
    """Return the checkpoint of a fit, or None without a path.

    If ``random_seed`` is None, the seed of the store is used; a new store gets a random seed.
    ``sampler`` must be 'gibbs': the state of NUTS cannot be saved and restored. ``numbers`` are
    draws, tune and chains.
    """
    if path is None:
        return None
    place = _place(path)
    if sampler != "gibbs":
        raise ArgumentError(
            "checkpoint", expected="None, unless the Gibbs sampler draws all variables",
            found=f"a path, and {sampler}",
        )  # fmt: skip
    if isinstance(random_seed, np.random.Generator):
        raise ArgumentError(
            "random_seed",
            expected="a whole number or None, with checkpoint=: a resumed fit must begin in the "
            "same way",
            found="a Generator",
        )
    if random_seed is None:
        random_seed = (_header(place) or {}).get("random_seed")
    seed = seed_or_drawn(random_seed)[0]
    return Checkpoint(place, {
        "format": _FORMAT, "model": model, "annotations": data_hash(annotations), **numbers,
        "random_seed": seed if isinstance(seed, int) else np.asarray(seed).tolist(),
        **{f"{name}_version": version(name) for name in _PACKAGES},
    })  # fmt: skip


def _place(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or not _nameable(os.fspath(path)):
        raise ArgumentError("checkpoint", expected="a path, or None", found=brief(path))
    if find_spec("zarr") is None:
        raise ArgumentError(
            "checkpoint", expected="None, or a path where the package zarr is installed",
            found="no package zarr", hint="python3 -m pip install 'dissensus[zarr]'",
        )  # fmt: skip
    place = Path(path).absolute()  # the working folder may change during a long fit
    if not place.parent.is_dir():
        raise ArgumentError(
            "checkpoint", expected="a path in a folder that exists", found=str(place)
        )
    require_writable(place.parent, "checkpoint")
    return place


def _nameable(path: str | bytes) -> bool:
    """Return whether a file can have this path."""
    try:
        return isinstance(path, str) and bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _header(path: Path) -> dict[str, Any] | None:
    """Return the attributes of a checkpoint, or None if nothing has this path.

    Raise if the path is not a checkpoint.
    """
    if not os.path.lexists(path):
        return None
    try:
        attributes = dict(_zarr().open_group(path, mode="r", zarr_format=3).attrs)
    except (OSError, ValueError, KeyError, TypeError):
        attributes = {}
    if attributes.get("format") != _FORMAT:
        raise ArgumentError(
            "checkpoint", expected="a path that is not taken, or a checkpoint of this library",
            found=f"{path}, which is not a checkpoint",
        )  # fmt: skip
    return attributes


def _new_store(path: Path, attributes: Mapping[str, Any]) -> None:
    """Create the store of a checkpoint, without parts."""
    _zarr().create_group(path, zarr_format=3, attributes=dict(attributes))
    (path / _PARTS).mkdir()
    _settle_all(path)


def _settle_all(folder: Path) -> None:
    """Flush all files of a folder to disk; older parts are deleted only afterwards."""
    for path in folder.rglob("*"):
        settle(path)


def _difference(name: str, before: Any, now: Any) -> str:
    """Return the name of a setting that differs, with both values unless they are hashes."""
    if name in {"annotations", "settings"}:
        return name
    return f"{name} ({before}; now {now})"


def _zarr() -> Any:
    import zarr

    return zarr


SECONDS: Final = 30.0
"""Minimum number of seconds between two writes, which are made only between lots of sweeps."""

_STATE: Final = "state"
_MEAN: Final = "truth_mean"
"""The field of a trace without the dim ``draw``: a running mean over draws."""


class Chain(Protocol):
    """A chain of sweeps that writes its draws into its trace."""

    trace: Any
    """A NamedTuple of arrays, with the draw as the first dim."""
    scratch: frozenset[str]
    """Names of attributes that have no meaning before the first sweep."""

    def advance(self, first: int, n: int) -> None:
        """Run n sweeps from sweep ``first``, which is negative in the warm-up."""


class Progress:
    """Chains, and the checkpoint to which they are saved.

    All writable arrays of the chains are saved, so that a new field of a kernel's state needs no
    further code. ``first`` is minus the number of warm-up sweeps.
    """

    def __init__(self, chains: Sequence[Chain], checkpoint: Checkpoint, first: int) -> None:
        self.chains, self.checkpoint, self.first = chains, checkpoint, first
        self.held = _held(chains)
        self.written = time.monotonic()
        checkpoint.begin(_fingerprint(chains))
        self.reached = self._resumed()

    def after(self, reached: int, *, now: bool = False) -> None:
        """Save the chains, whose next sweep is ``reached``, if 30 seconds have passed.

        With ``now`` they are saved at once, for the last time, and the store is unlocked.
        """
        if reached > self.reached and (now or time.monotonic() > self.written + SECONDS):
            self._write(reached)
        if now:
            self.checkpoint.release()

    def _write(self, reached: int) -> None:
        before = self._name(self.reached)
        parts = self._rows(max(self.reached, 0), max(reached, 0)) | self._means()
        arrays = {name: np.stack(by_chain) for name, by_chain in parts.items()}
        if self.checkpoint.save(self._name(reached), arrays | {_STATE: self._state()}):
            self.checkpoint.forget(before, [_STATE, _MEAN])
            self.reached = reached
        self.written = time.monotonic()

    def _name(self, reached: int) -> str:
        return f"{reached - self.first:010d}"

    def _state(self) -> Array:
        """Return all arrays of the state of the chains as one array of bytes."""
        return np.concatenate([np.ascontiguousarray(array).view(np.uint8).ravel()
                               for array in self.held])  # fmt: skip

    def _rows(self, first: int, last: int) -> dict[str, list[Array]]:
        """Return draws ``first`` to ``last`` - 1: for each variable, one array a chain."""
        traces = [chain.trace._asdict() for chain in self.chains]
        return {
            name: [trace[name][first:last] for trace in traces]
            for name, values in traces[0].items()
            if name != _MEAN and values[first:last].size
        }

    def _means(self) -> dict[str, list[Array]]:
        means = [getattr(chain.trace, _MEAN, np.empty(0)) for chain in self.chains]
        return {_MEAN: means} if means[0].size else {}

    def _resumed(self) -> int:
        """Restore the chains from the checkpoint, and return the number of the next sweep."""
        reached = self.first
        parts = self.checkpoint.parts()
        for part in parts:
            last = int(part) + self.first
            into = self._rows(max(reached, 0), max(last, 0))
            if part == parts[-1]:
                into |= self._means()
            like = {
                name: np.broadcast_to(targets[0], (len(targets), *targets[0].shape))
                for name, targets in into.items()
            }
            for name, values in self.checkpoint.load(part, like).items():
                for target, stored in zip(into[name], values, strict=True):
                    target[...] = stored
            reached = last
        if parts:
            now = self._state()
            self._put(self.checkpoint.load(parts[-1], {_STATE: now})[_STATE])
        return reached

    def _put(self, state: Array) -> None:
        start = 0
        for array in self.held:
            part = state[start : start + array.nbytes]
            array[...] = part.view(array.dtype).reshape(array.shape)
            start += array.nbytes


def _held(chains: Iterable[Chain]) -> list[Array]:
    """Return the writable arrays of numbers of all chains, each once, except traces."""
    out: dict[int, Array] = {}
    for chain in chains:
        for name, value in vars(chain).items():
            if name != "trace":
                arrays = (x for x in pieces(value) if isinstance(x, np.ndarray))
                out |= {id(x): x for x in arrays if x.flags.writeable and x.dtype.kind in "biuf"}
    return list(out.values())


def _fingerprint(chains: Iterable[Chain]) -> str:
    """Return a hash of the initial state of the chains and of the shapes of their traces."""
    begun = [
        {k: v for k, v in vars(chain).items() if k != "trace" and k not in chain.scratch}
        for chain in chains
    ]
    room = [{k: v.shape for k, v in chain.trace._asdict().items()} for chain in chains]
    return contents_hash([begun, room])
