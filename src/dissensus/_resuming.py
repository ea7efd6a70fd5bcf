"""What chains of sweeps are at some moment, as arrays to be written down and read back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from dissensus._checkpoints import Checkpoint
from dissensus._hashing import contents_hash, pieces
from dissensus.kernels.types import Array

SECONDS: Final = 30.0
"""Between two writings: so much work at most is lost with the machine."""

_STATE: Final = "state"
_MEAN: Final = "truth_mean"
"""The one thing of a trace that has no draw in front: a mean over draws, made as they come."""


class Chain(Protocol):
    """What goes through sweeps, and writes what they find into its trace."""

    trace: Any
    """A NamedTuple of arrays, the draw in front."""
    scratch: frozenset[str]
    """Attributes that hold nothing of meaning before the first sweep."""

    def advance(self, first: int, n: int) -> None:
        """Go through n sweeps, the first of which is draw ``first``; before 0 is the warm-up."""


class Progress:
    """Chains, and the checkpoint that follows them.

    Of the chains all is written that they hold, whether it changes or not: who adds a number to a
    kernel's state need not think of its being kept.

    Parameters
    ----------
    chains : sequence of Chain
    checkpoint : Checkpoint
    first : int
        The first sweep: minus those of the warm-up.
    """

    def __init__(self, chains: Sequence[Chain], checkpoint: Checkpoint, first: int) -> None:
        self.chains, self.checkpoint, self.first = chains, checkpoint, first
        self.held = _held(chains)
        self.written = time.monotonic()
        checkpoint.begin(_fingerprint(chains))
        self.reached = self._resumed()

    def after(self, reached: int, *, now: bool = False) -> None:
        """Write down where the chains are after the sweep before ``reached``, if it is time.

        ``now`` is at the end, or upon Ctrl-C: nothing is written after.
        """
        if reached > self.reached and (now or time.monotonic() > self.written + SECONDS):
            self._write(reached)
        if now:
            self.checkpoint.release()

    def _write(self, reached: int) -> None:
        before = self._name(self.reached)
        parts = self._rows(max(self.reached, 0), max(reached, 0)) | self._means()
        arrays = {name: np.stack(one) for name, one in parts.items()}
        if self.checkpoint.save(self._name(reached), arrays | {_STATE: self._state()}):
            self.checkpoint.forget(before, [_STATE, _MEAN])
            self.reached = reached
        self.written = time.monotonic()

    def _name(self, reached: int) -> str:
        return f"{reached - self.first:010d}"

    def _state(self) -> Array:
        """Return all that the chains hold as one row of bytes: it is many small arrays."""
        return np.concatenate([np.ascontiguousarray(one).view(np.uint8).ravel()
                               for one in self.held])  # fmt: skip

    def _rows(self, first: int, last: int) -> dict[str, list[Array]]:
        """Return where these draws are written, chain by chain."""
        each = [chain.trace._asdict() for chain in self.chains]
        return {
            name: [one[name][first:last] for one in each]
            for name, values in each[0].items()
            if name != _MEAN and values[first:last].size
        }

    def _means(self) -> dict[str, list[Array]]:
        means = [getattr(chain.trace, _MEAN, np.empty(0)) for chain in self.chains]
        return {_MEAN: means} if means[0].size else {}

    def _resumed(self) -> int:
        """Bring the chains to where the checkpoint left them, and return the next sweep."""
        reached = self.first
        parts = self.checkpoint.parts()
        for part in parts:
            last = int(part) + self.first
            into = self._rows(max(reached, 0), max(last, 0))
            if part == parts[-1]:
                into |= self._means()
            like = {name: np.broadcast_to(to[0], (len(to), *to[0].shape)) for name, to in
                    into.items()}  # fmt: skip
            for name, values in self.checkpoint.load(part, like).items():
                for to, one in zip(into[name], values, strict=True):
                    to[...] = one
            reached = last
        if parts:
            now = self._state()
            self._put(self.checkpoint.load(parts[-1], {_STATE: now})[_STATE])
        return reached

    def _put(self, state: Array) -> None:
        start = 0
        for one in self.held:
            part = state[start : start + one.nbytes]
            one[...] = part.view(one.dtype).reshape(one.shape)
            start += one.nbytes


def _held(chains: Iterable[Chain]) -> list[Array]:
    """Return all arrays that the chains hold, each once, but for their traces."""
    out: dict[int, Array] = {}
    for chain in chains:
        for name, value in vars(chain).items():
            if name != "trace":
                found = (x for x in pieces(value) if isinstance(x, np.ndarray))
                out |= {id(x): x for x in found if x.flags.writeable and x.dtype.kind in "biuf"}
    return list(out.values())


def _fingerprint(chains: Iterable[Chain]) -> str:
    """Return a hash of all that chains begin with, and of how much they are to keep."""
    begun = [
        {k: v for k, v in vars(chain).items() if k != "trace" and k not in chain.scratch}
        for chain in chains
    ]
    room = [{k: v.shape for k, v in chain.trace._asdict().items()} for chain in chains]
    return contents_hash([begun, room])
