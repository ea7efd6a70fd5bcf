"""Which variance components an evaluation looks for, if any, settled before anything is fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus._added_groups import Planned
from dissensus._observed import are_classes
from dissensus._wording import counted
from dissensus.data.rows import voices_per
from dissensus.dims import ANNOTATOR, ITEM, LABEL, POOL, other
from dissensus.errors import ArgumentError, brief, shown
from dissensus.registry import one_of

AUTO: Final = "auto"
FAMILIES: Final = ("gaussian", "ordinal", "bernoulli")
LEVELS: Final = 10
"""Ordered labels up to so many have cutpoints of their own; more of them, if numbers, are numbers:
so many cutpoints would take long to draw, and tell little that equal steps do not."""
FEWEST: Final = 5
"""Items with two annotators: of fewer the prior would speak, not the items."""
MOST_POOLS: Final = 8
"""Pools that are compared with each other: past that nobody reads all pairs."""
NOBODY_TWICE: Final = "no item has two annotators"


@dataclass(frozen=True)
class Plan(Planned):
    """What is to be fitted, or why nothing is."""

    family: str = ""
    pools: bool = False
    anonymous: bool = False
    shared: bool = False
    """Whether annotators are in several pools."""
    reference: Any = None


def planned(
    annotations: xr.Dataset, predictions: xr.Dataset | None, components: str | None, reference: Any
) -> Plan:
    """Settle what is fitted, before anything is.

    Raises
    ------
    ArgumentError
        If there is no such family, or pools are to be compared with one that there is not.
    """
    one_of("components", components, (AUTO, *FAMILIES, None))
    plan = _family(annotations, predictions, components)
    if plan.family:
        found = _worth_it(annotations, plan)
        if found.why_not == NOBODY_TWICE and components != AUTO:
            raise ArgumentError(
                "components", expected=f"None or {AUTO!r}: {NOBODY_TWICE}", found=repr(components)
            )
        plan = found if components == AUTO else plan
    if not plan.family:
        if reference is not None:
            raise ArgumentError(
                "reference", expected="None, where variance components are not looked for "
                f"({plan.why_not})", found=brief(reference),
            )  # fmt: skip
        return plan
    return replace(_design(annotations, plan.family, reference), asked=components != AUTO)


def _family(
    annotations: xr.Dataset, predictions: xr.Dataset | None, components: str | None
) -> Plan:
    """Choose what labels are to the model; what was asked for is left to the model to refuse."""
    if components is None:
        return Plan(why_not="not asked for")
    if components != AUTO:
        return Plan(components)
    kind = annotations.attrs["kind"]
    if kind == "continuous":
        return Plan("gaussian")
    if kind == "ranking":
        return Plan(why_not="rankings have none")
    labels = annotations[LABEL].to_numpy()
    if len(labels) == 2:
        return Plan("bernoulli")
    if kind == "nominal" or len(labels) < 2:
        return Plan(why_not=f"{counted(len(labels), 'label')} without an order")
    if are_classes(annotations, predictions):
        return Plan(
            why_not="whole numbers that nobody called ordered are taken for classes, of which "
            "there is no ICC", told=True,
        )  # fmt: skip
    many = len(labels) > LEVELS and labels.dtype.kind in "if"
    return Plan("gaussian" if many else "ordinal")


def _worth_it(annotations: xr.Dataset, plan: Plan) -> Plan:
    """Drop the plan where there is too little to tell items from annotators."""
    several = int((voices_per(annotations, ITEM) > 1).sum())
    if several == 0:
        return Plan(why_not=NOBODY_TWICE)
    if several < FEWEST:
        who = "item has" if several == 1 else "items have"
        return Plan(
            why_not=f"only {several} {who} two annotators, and an ICC needs {FEWEST}", told=True
        )
    name = "value" if "value" in annotations else "label_code"
    said = annotations[name].to_numpy()
    if (said == said[0]).all():
        return Plan(why_not="all labels are the same, so that there is no variance to share out",
                    told=True)  # fmt: skip
    return plan


def _design(annotations: xr.Dataset, family: str, reference: Any) -> Plan:
    """See whether there are pools to compare, and annotators to know again."""
    pools = annotations[POOL].to_numpy() if POOL in annotations.coords else np.empty(0)
    remarks: list[str] = []
    several = 2 <= len(pools) <= MOST_POOLS
    if len(pools) > MOST_POOLS:
        remarks.append(
            f"There are {len(pools)} pools, too many to compare with each other (up to "
            f"{MOST_POOLS} are): the ICC takes all annotators for one pool."
        )
    if reference is not None and (not several or reference not in pools.tolist()):
        raise ArgumentError(
            "reference",
            expected=f"one of the pools {shown(pools.tolist(), 9)}" if several
            else f"None: there are not 2 to {MOST_POOLS} pools to compare",
            found=brief(reference),
        )  # fmt: skip
    anonymous = int(voices_per(annotations, ANNOTATOR).max()) < 2
    if anonymous:
        remarks.append(
            "No annotator labelled two items, so that how annotators differ cannot be told from "
            "chance: the model has no annotators' effects, and there is no annotator ICC."
        )
    shared = several and _several_pools_each(annotations)
    if shared and not anonymous:
        remarks.append(
            f"{counted(shared, 'annotator')} in several pools: the model gives them an effect of "
            "their own in each, as if they were different people."
        )
    return Plan(family, pools=several, anonymous=anonymous, shared=bool(shared),
                reference=reference, remarks=tuple(remarks))  # fmt: skip


def _several_pools_each(annotations: xr.Dataset) -> int:
    pairs = np.unique(_pairs(annotations, ANNOTATOR))
    each = np.bincount(pairs // annotations.sizes[POOL])
    return int((each > 1).sum())


def _pairs(annotations: xr.Dataset, dim: str) -> Any:
    code = annotations[f"{dim}_code"].to_numpy().astype(np.int64)
    return code * annotations.sizes[POOL] + annotations["pool_code"].to_numpy()


def shared_items(annotations: xr.Dataset) -> xr.DataArray:
    """Count the items that two pools have in common, and those of each: a square over pools."""
    n_pools = annotations.sizes[POOL]
    seen = np.zeros(annotations.sizes[ITEM] * n_pools)
    seen[_pairs(annotations, ITEM)] = 1.0
    table = seen.reshape(-1, n_pools)
    names = annotations[POOL].to_numpy()
    return xr.DataArray(
        (table.T @ table).astype(np.int64), dims=(POOL, other(POOL)),
        coords={POOL: names, other(POOL): names}, name="n_items_shared",
    )  # fmt: skip
