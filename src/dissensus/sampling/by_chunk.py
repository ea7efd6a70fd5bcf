"""Fits of annotations in chunks: the draws are Dask arrays, computed block by block when needed.

This module is for models whose items are independent in the posterior. These models draw each item
from a separate stream of random numbers. A fit of some items therefore gives the same draws as a
fit of all items. A block is a group of items; only the blocks that a result needs are computed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import wraps
from inspect import signature
from itertools import pairwise
from operator import getitem
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.chunks import Frame, Rows, by_item, is_chunked, item_edges
from dissensus.data.plausibility import widened
from dissensus.data.predictions import Features
from dissensus.dims import ANNOTATION, CANDIDATE, CHAIN, DRAW, ITEM
from dissensus.errors import ArgumentError, ConvergenceWarning, HeldWarning, held_back, warn_caller
from dissensus.kernels.random import generator
from dissensus.kernels.rowwise import in_one_thread
from dissensus.kernels.types import Array
from dissensus.sampling.convergence import diagnosed_parameters
from dissensus.sampling.fitting import EXACT
from dissensus.sampling.learned_prior import LearnedPrior

Fit = Callable[..., xr.DataTree]

CHAINS: Final = (("r_hat_max", np.max), ("ess_bulk_min", np.min), ("ess_tail_min", np.min),
                  ("n_items_poor", np.sum))  # fmt: skip
"""Names of diagnostics of the chains, and the function that reduces each over blocks."""

_POOR: Final = (
    "The chains have not run long enough for some items. fit['sample_stats'] has their number and "
    "diagnostics: n_items_poor, ess_bulk_min, ess_tail_min, r_hat_max. Do not trust the intervals "
    "of these items; ask for more draws (draws=)."
)

_TIMES: Final = 4
"""Memory that a metric may need, as a multiple of the memory of the draws."""


_WARNED: Final[set[tuple[str, str]]] = set()
"""(name of the fit, text) of each warning that this process has given."""


class Block(NamedTuple):
    """Items of one chunk that are drawn together."""

    chunk: int
    low: int
    """The number of the first item, counted over all chunks."""
    high: int
    """The number of the first item after the block."""


class Task(NamedTuple):
    """Inputs that the fits of all blocks share."""

    fit: Fit
    frame: Frame
    settings: Mapping[str, Any]
    edges: list[int]
    name: str
    """A unique name of the fit, for keys of Dask."""
    width: int = 0
    """Largest number of candidates of an item; 0 if there are none, or while it is not known."""
    bytes_each: int = 0
    """Bytes of the draws of one item."""
    for_draws: bool = True
    """Whether the draws are used; if not, warnings of the fits are suppressed."""

    def part(self, rows: Any, items: Array, block: Block) -> xr.Dataset:
        """Return the annotations of a block; ``rows`` are the columns of its chunk."""
        chunk = (self.edges[block.chunk], self.edges[block.chunk + 1])
        return self.frame.part(rows, items, chunk, block.low)

    def fitted(self, rows: Any, items: Array, block: Block) -> xr.DataTree:
        """Fit the items of a block."""
        rng = deepcopy(self.settings["random_seed"])
        return self.fit(self.part(rows, items, block), **{**self.settings, "random_seed": rng})


def run(task: Task, rows: Rows, items: Array, block: Block) -> dict[Any, Array]:
    """Fit a block, and return its variables by (group, name), and its diagnostics.

    Variables without items get a first axis of length 1.
    """
    _require_room(task.bytes_each * len(items))
    with held_back() as messages, in_one_thread():
        fit = task.fitted(rows.read(), items, block)
    if task.for_draws:
        _warn(task.name, messages)
    out: dict[Any, Array] = {
        CHAINS: np.array([fit.attrs.get(name, np.nan) for name, _ in CHAINS], dtype=np.float64)
    }
    for group, node in fit.children.items():
        for name, variable in node.variables.items():
            if CANDIDATE in variable.dims:
                variable = widened(str(name), variable, task.width)
            values = variable.to_numpy()
            out[group, str(name)] = values if ITEM in variable.dims else values[None]
    return out


def of_chains(block: dict[Any, Array], number: int) -> Array:
    """Return one diagnostic of a block's chains, in an array of length 1."""
    return block[CHAINS][number : number + 1]


def _warn(name: str, messages: list[HeldWarning]) -> None:
    """Give the warnings of a block's fit on the machine that requested the block."""
    warn: Callable[..., None] = warn_caller
    if "distributed" in sys.modules:
        import distributed

        warn = distributed.warn
    for text, category in messages:
        # A warning is shown once for each fit and process, not for each block. Python's own filter
        # is not enough: it is reset whenever a library catches warnings.
        words = _POOR if category is ConvergenceWarning else text
        if (name, words) not in _WARNED:
            _WARNED.add((name, words))
            warn(words, category)


def chunk_size() -> int:
    """Return Dask's setting ``array.chunk-size`` in bytes."""
    import dask
    from dask.utils import parse_bytes

    return int(parse_bytes(dask.config.get("array.chunk-size")))


def _require_room(draws: int) -> None:
    """Raise if this worker lacks memory for metrics of a block with ``draws`` bytes of draws."""
    if "distributed" not in sys.modules:
        return
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:  # not on a worker: Dask runs in threads of this process
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


_DATA: Final = ("observed_data", "constant_data")
"""Groups of a fit that contain no draws."""
_FEWEST: Final = {"draws": 1, "chains": 1, "tune": 0}

_WHOLE: Final = ("log_likelihood", "posterior_predictive", "checkpoint")
"""Arguments of fits; their results need all items in memory at once."""


class Settled(NamedTuple):
    """Results that are computed from all items and shared by all chunks."""

    settings: dict[str, Any]
    attrs: dict[Any, Any]
    """Attributes of the fit, such as diagnostics of the shared parameters."""
    groups: Mapping[str, dict[str, xr.DataArray]] = {}
    """Variables of the fit without the dim ``item``, by group and name."""
    width: int | None = None
    """Largest number of candidates of an item; None if it follows from the labels alone."""


def settled_prior(
    prior: LearnedPrior, name: str, labels: Array, item_features: Features, prefix: str = ""
) -> Settled:
    """Return the results of a learned prior; the fits of chunks get it as the argument ``name``."""
    drawn = prior.draws(labels, item_features)
    density = xr.DataArray(prior.log_density, dims=(CHAIN, DRAW))
    return Settled(
        {name: prior._replace(stored=False)}, diagnosed_parameters(drawn, prefix),
        {"posterior": drawn, "sample_stats": {"lp": density}},
    )  # fmt: skip


Settle = Callable[[xr.Dataset, Mapping[str, Any]], Settled]


def by_chunks(settle: Settle | None = None, whole: Callable[..., bool] | None = None) -> Any:
    """Let a fit function take annotations in chunks; it then returns lazy arrays.

    ``settle`` returns the results that all chunks share, such as a prior learned from all items.
    ``whole`` returns whether the given settings need all items to be drawn together.
    """

    def decorate(fit: Fit) -> Fit:
        @wraps(fit)
        def fitted(annotations: Any, **settings: Any) -> xr.DataTree:
            together = any(
                not (settings.get(name) is None or settings[name] is False) for name in _WHOLE
            )
            if together or not is_chunked(annotations) or (whole and whole(**settings)):
                return fit(annotations, **settings)
            bound = signature(fit).bind(annotations, **settings)
            bound.apply_defaults()
            settings = bound.kwargs
            annotations = by_item(annotations)
            settled = Settled({}, {}) if settle is None else settle(annotations, settings)
            lazy = _Lazy(fitted, annotations, settings | settled.settings, settled.width)
            return lazy.tree(settled)

        return fitted

    return decorate


class _Variable(NamedTuple):
    """A variable of a fit. ``like`` is its example, with one item, chain and draw."""

    group: str
    name: str
    like: xr.Variable
    is_coordinate: bool


class _Lazy:
    """A fit whose draws are computed later, block by block."""

    def __init__(
        self, fit: Fit, annotations: xr.Dataset, settings: dict[str, Any], width: int | None
    ) -> None:
        self.edges, self.items = item_edges(annotations), annotations[ITEM].to_numpy()
        frame = Frame.of(annotations)
        self.rows = [annotations[name].data for name in frame.columns]
        rng = generator(settings["random_seed"], "fit")
        # Every block uses the random state that one fit of all items would use.
        quiet = settings | {"random_seed": deepcopy(rng), "progressbar": False}
        self.task = Task(fit, frame, quiet, self.edges, f"fit-{uuid4().hex}")
        self.probe = self._probe(rng)
        chains, draws = arguments.sample_shape(settings["draws"], settings["chains"])
        self.sizes = {CHAIN: chains, DRAW: draws, ITEM: len(self.items)}
        if any(CANDIDATE in variable.like.dims for variable in self.variables()):
            self.sizes[CANDIDATE] = width or _width(self.rows, frame)
        width, each = self.sizes.get(CANDIDATE, 0), self._bytes_each()
        self.task = self.task._replace(width=width, bytes_each=each)
        at_once = max(1, chunk_size() // max(each, 1))
        self.blocks = [
            Block(chunk, low, min(low + at_once, end))
            for chunk, (first, end) in enumerate(pairwise(self.edges))
            for low in range(first, end, at_once)
        ]

    def _probe(self, rng: np.random.Generator) -> xr.DataTree:
        """Fit the first item with the fewest draws, to get the names and dims of the variables.

        The generator advances by as much as in a fit of all items.
        """
        rows = Rows([column.blocks[0] for column in self.rows])
        part = self.task.part(rows.read(), self.items[:1], Block(0, 0, 1))
        with held_back():  # the fit of the block with this item gives the same warnings
            return self.task.fit(part, **self._few(random_seed=rng))

    def _few(self, **others: Any) -> dict[str, Any]:
        """Return the settings of the fit, with the fewest possible draws."""
        known = {name: n for name, n in _FEWEST.items() if name in self.task.settings}
        return {**self.task.settings, **known, **others}

    def variables(self) -> list[_Variable]:
        """Return the variables of a fit, except indexes and variables along annotations."""
        return [
            _Variable(group, str(name), variable, name in node.coords)
            for group, node in self.probe.children.items()
            for name, variable in node.variables.items()
            if name not in node.indexes and ANNOTATION not in variable.dims
        ]

    def _size(self, variable: _Variable, dim: Any) -> int:
        return self.sizes.get(dim, variable.like.sizes[dim])

    def _bytes_each(self) -> int:
        """Return the number of bytes of one item's draws."""
        return sum(
            8 * math.prod(self._size(variable, dim) for dim in variable.like.dims if dim != ITEM)
            for variable in self.variables()
            if {CHAIN, ITEM} <= set(variable.like.dims)
        )

    def tree(self, settled: Settled) -> xr.DataTree:
        """Return the fit as a DataTree: lazy arrays, and the results that all chunks share."""
        attrs = settled.attrs
        drawn = self._blocks(self.task)
        name = f"{self.task.name}-data"
        data_task = self.task._replace(
            settings=self._few(), name=name, bytes_each=0, for_draws=False
        )
        data = self._blocks(data_task)
        groups: dict[str, xr.Dataset] = {}
        for group, node in self.probe.children.items():
            named = {str(d): node[str(d)].variable for d in node.indexes if d not in self.sizes}
            counted = {dim: np.arange(self.sizes[dim]) for dim in (CHAIN, DRAW) if dim in node.dims}
            items = {ITEM: self.items} if ITEM in node.dims else {}
            groups[group] = xr.Dataset(
                coords={**named, **counted, **items}, attrs=node.attrs | attrs
            )
        for variable in self.variables():
            graph = data if variable.group in _DATA else drawn
            array = (variable.like.dims, self._array(variable, *graph), variable.like.attrs)
            if variable.is_coordinate:
                groups[variable.group] = groups[variable.group].assign_coords(
                    {variable.name: array}
                )
            else:
                groups[variable.group][variable.name] = array
        if self.probe.attrs["inference"] != EXACT and "n_items_poor" not in attrs:
            for number, (name, reduced) in enumerate(CHAINS):
                groups["sample_stats"][name] = ((), self._of_chains(number, reduced, *drawn))
        for group, whole in settled.groups.items():
            groups[group] = groups[group].merge(whole)
        tree = xr.DataTree.from_dict(groups)
        tree.attrs.update(self.probe.attrs | attrs)
        return tree

    def _blocks(self, task: Task) -> tuple[str, Any]:
        """Return the name of a Dask graph, and the graph: each task fits one block."""
        from dask.highlevelgraph import HighLevelGraph

        name = task.name
        layer: dict[Any, Any] = {f"{name}-of": task}
        chunks = [Rows([column.blocks[k] for column in self.rows])
                  for k in range(len(self.edges) - 1)]  # fmt: skip
        for number, block in enumerate(self.blocks):
            items = self.items[block.low : block.high]
            layer[name, number] = (run, f"{name}-of", chunks[block.chunk], items, block)
        return name, HighLevelGraph.from_collections(name, layer)

    def _array(self, variable: _Variable, name: str, graph: Any) -> Any:
        """Return a variable as a lazy array; a variable without items is summed over blocks."""
        import dask.array as da
        from dask.highlevelgraph import HighLevelGraph

        dims = variable.like.dims if ITEM in variable.like.dims else (ITEM, *variable.like.dims)
        key = f"{name}-{variable.group}-{variable.name}"
        layer = {
            (key, *(number if dim == ITEM else 0 for dim in dims)): (
                getitem, (name, number), (variable.group, variable.name)
            )
            for number in range(len(self.blocks))
        }  # fmt: skip
        summed = ITEM not in variable.like.dims
        counts = tuple(1 if summed else block.high - block.low for block in self.blocks)
        chunks = tuple(counts if dim == ITEM else (self._size(variable, dim),) for dim in dims)
        whole = HighLevelGraph({**graph.layers, key: layer}, {**graph.dependencies, key: {name}})
        out = da.Array(whole, key, chunks=chunks, dtype=variable.like.dtype)
        return out.sum(axis=0) if summed else out

    def _of_chains(self, number: int, reduced: Any, name: str, graph: Any) -> Any:
        """Return a diagnostic of the chains, reduced over all blocks, as a lazy number."""
        import dask.array as da
        from dask.highlevelgraph import HighLevelGraph

        key = f"{name}-chains-{number}"
        layer = {
            (key, block): (of_chains, (name, block), number) for block in range(len(self.blocks))
        }
        whole = HighLevelGraph({**graph.layers, key: layer}, {**graph.dependencies, key: {name}})
        each = da.Array(whole, key, chunks=((1,) * len(self.blocks),), dtype=np.float64)
        return da.reduction(each, reduced, reduced, dtype=np.float64)


def _width(rows: Sequence[Any], frame: Frame) -> int:
    """Return the largest number of candidates of an item: its named labels plus the remainder."""
    import dask

    place = [frame.columns.index(name) for name in ("item_code", "label_code")]
    chunks = zip(*(rows[k].to_delayed() for k in place), strict=True)
    return 1 + max(dask.compute(*(dask.delayed(_most_labels)(*each) for each in chunks)))


def _most_labels(item: Array, label: Array) -> int:
    """Return the largest number of different labels that one item has."""
    pairs = np.unique(np.stack([item, label]), axis=1)[0]
    return int(np.unique(pairs, return_counts=True)[1].max(initial=0))
