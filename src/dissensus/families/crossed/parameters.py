"""The table of the parameters of crossed effects: their names, dims, and places in the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from dissensus.dims import ANNOTATOR, BOUNDARY, ITEM, POOL, other
from dissensus.families.crossed.kernels.sweep import GAUSSIAN, ORDINAL
from dissensus.families.crossed.process import Process


class Parameter(NamedTuple):
    """A parameter of the posterior."""

    name: str
    slot: str
    """Field of the kernel's `Parameters` and `Trace`."""
    dims: tuple[str, ...]
    """With the pool, also where there is one pool without a name."""
    when: Callable[[Process], bool] = lambda _: True
    """Whether a process has it."""
    variable: str = ""
    """The free variable of the PyMC model, if it has another name."""
    is_log: bool = False
    """Whether PyMC moves the logarithm of the variable."""
    is_effect: bool = False
    """Whether it grows with items or annotators."""


PARAMETERS: Final = (
    Parameter("mu", "mu", (POOL,)),
    Parameter("sigma_item", "sd_item", (POOL,), is_log=True),
    Parameter("sigma_annotator", "sd_annotator", (POOL,), lambda p: not p.anonymous, is_log=True),
    Parameter("sigma", "sd", (POOL,), lambda p: p.family == GAUSSIAN, is_log=True),
    Parameter("cutpoint", "gap", (BOUNDARY,), lambda p: p.family == ORDINAL, "gap", is_log=True),
    Parameter(
        "correlation", "correlation", (POOL, other(POOL)), lambda p: p.pools is not None,
        "correlation_cholesky",
    ),
    Parameter("item_effect", "item", (ITEM, POOL), is_effect=True),
    Parameter(
        "annotator_effect", "annotator", (ANNOTATOR, POOL), lambda p: not p.anonymous,
        is_effect=True,
    ),
)  # fmt: skip


def parameters_of(process: Process, *, effects: bool = True) -> list[Parameter]:
    """Return the parameters that a process has."""
    return [p for p in PARAMETERS if p.when(process) and (effects or not p.is_effect)]
