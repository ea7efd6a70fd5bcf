"""What is drawn at once in fits of chunks: some items, as a task that runs anywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data.chunks import Frame, Rows
from dissensus.data.plausibility import widened
from dissensus.dims import CANDIDATE, ITEM
from dissensus.errors import ArgumentError, ConvergenceWarning, Said, held_back, warn_caller
from dissensus.kernels.rowwise import in_one_thread
from dissensus.kernels.types import Array

Fit = Callable[..., xr.DataTree]

CHAINS: Final = (("r_hat_max", np.max), ("ess_bulk_min", np.min), ("ess_tail_min", np.min),
                  ("n_items_poor", np.sum))  # fmt: skip
"""How the chains of a block went, and what that comes to for all blocks."""

_POOR: Final = (
    "The chains have not run long enough for some items. How many, and how far they are from it, "
    "stands in fit['sample_stats']: n_items_poor, ess_bulk_min, ess_tail_min, r_hat_max. Do not "
    "trust their intervals; ask for more draws (draws=)."
)

_TIMES: Final = 4
"""Draws, their order, and what is made of it: so many times the draws' room is safe."""


_SAID: Final[set[tuple[str, str]]] = set()
"""What this process has said: of which fit, in which words."""


class Block(NamedTuple):
    """Some items of a chunk: what is drawn at once."""

    chunk: int
    low: int
    high: int


class Task(NamedTuple):
    """What the fits of all blocks have in common."""

    fit: Fit
    frame: Frame
    settings: Mapping[str, Any]
    edges: list[int]
    name: str
    """What no other fit is called."""
    width: int = 0
    """Candidates of an item, where there are such; 0 where there are none, or nobody knows yet."""
    bytes_each: int = 0
    """Of an item's draws."""
    for_draws: bool = True
    """Or for what there is without any: then nothing is said of them."""

    def part(self, rows: Any, items: Array, block: Block) -> xr.Dataset:
        """Return the annotations of a block."""
        chunk = (self.edges[block.chunk], self.edges[block.chunk + 1])
        return self.frame.part(rows, items, chunk, block.low)

    def fitted(self, rows: Any, items: Array, block: Block) -> xr.DataTree:
        """Fit the items of a block."""
        rng = deepcopy(self.settings["random_seed"])
        return self.fit(self.part(rows, items, block), **{**self.settings, "random_seed": rng})


def run(task: Task, rows: Rows, items: Array, block: Block) -> dict[Any, Array]:
    """Fit a block, and return its variables."""
    _require_room(task.bytes_each * len(items))
    with held_back() as said, in_one_thread():
        fit = task.fitted(rows.read(), items, block)
    if task.for_draws:
        _warn(task.name, said)
    out: dict[Any, Array] = {
        CHAINS: np.array([fit.attrs.get(name, np.nan) for name, _ in CHAINS], dtype=np.float64)
    }
    for group, node in fit.children.items():
        for name, one in node.variables.items():
            if CANDIDATE in one.dims:
                one = widened(str(name), one, task.width)
            values = one.to_numpy()
            out[group, str(name)] = values if ITEM in one.dims else values[None]
    return out


def of_chains(block: dict[Any, Array], number: int) -> Array:
    return block[CHAINS][number : number + 1]


def _warn(name: str, said: list[Said]) -> None:
    """Say what the fit of a block had to say, on the machine where somebody asked for it."""
    warn: Callable[..., None] = warn_caller
    if "distributed" in sys.modules:
        import distributed

        warn = distributed.warn
    for text, category in said:
        # All blocks in the same words, once for each fit and process. Python would see to that, had
        # it not forgotten what it has said whenever some library catches warnings.
        words = _POOR if category is ConvergenceWarning else text
        if (name, words) not in _SAID:
            _SAID.add((name, words))
            warn(words, category)


def chunk_size() -> int:
    """Return how many bytes Dask takes for a chunk: its setting ``array.chunk-size``."""
    import dask
    from dask.utils import parse_bytes

    return int(parse_bytes(dask.config.get("array.chunk-size")))


def _require_room(draws: int) -> None:
    """Raise, rather than be killed, where a cluster's worker cannot hold a block."""
    if "distributed" not in sys.modules:
        return
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:  # no worker: the scheduler of threads
        return
    if worker.memory_manager.memory_limit is None:
        return
    limit = worker.memory_manager.memory_limit // worker.state.nthreads
    if _TIMES * draws < limit:
        return
    fitting_size = max(1, limit // _TIMES // 2**20)
    raise ArgumentError(
        "array.chunk-size", where="a Dask setting",
        expected=f"draws of at most {limit / _TIMES / 2**20:.0f} MiB at once: metrics take up to "
        f"{_TIMES} times their room, and a worker's thread has {limit / 2**20:.0f} MiB",
        found=f"{draws / 2**20:.0f} MiB",
        hint="Before the fit: "
        f'dask.config.set({{"array.chunk-size": "{fitting_size} MiB"}}), or fewer threads a worker',
    )  # fmt: skip
