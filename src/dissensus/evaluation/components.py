"""What an evaluation says of a label's variance: how much is the item's, how much the annotator's.

Numbers, ordered labels and two labels go through `models.crossed_effects`, those of several pools
through `models.cross_replication`. The draws of the effects themselves are not kept.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments, metrics, models
from dissensus.data.rows import voices_per
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, POOL, SAMPLE, SCALE, other
from dissensus.errors import ArgumentError, ConvergenceWarning, brief, shown
from dissensus.evaluation.notes import Notes
from dissensus.evaluation.observed import Asking, Settings, are_classes
from dissensus.evaluation.section import Planned, with_added
from dissensus.kernels.random import generator
from dissensus.metrics._components import SCALES
from dissensus.metrics._cross_replication import annotators_outweigh_items
from dissensus.sampling import fitting
from dissensus.wording import counted

# From a fit of crossed effects to what an evaluation keeps of it: draws of reliability.


LATENT, OBSERVED = SCALES
CONSTANTS: Final = ("sigma", "label_value", "n_labels_per_item")
"""What of a fit's constant data is kept; the rest is in the annotations."""


def component_draws(fit: xr.DataTree, n_labels: xr.DataArray, reference: Any = None) -> xr.Dataset:
    r"""Return draws of all that a fit of crossed effects says of reliability.

    Parameters
    ----------
    fit : DataTree
        Of `models.crossed_effects` or `models.cross_replication`.
    n_labels : DataArray
        How many annotators an item typically has; a number, or (pool).
    reference : pool, optional
        The pool that others are compared with.

    Returns
    -------
    xarray.Dataset
        ``icc``, ``annotator_icc`` (chain, draw, scale[, pool]); ``residual_share``, what neither
        items nor annotators account for, on the latent scale; ``mean_reliability`` of the mean
        of ``n_labels`` labels as they are given; ``annotators_outweigh_items``, a probability. Of
        pools ``normalized_xcc`` and ``xcc`` (chain, draw, scale, pool, pool\_); with a reference
        ``icc_difference`` (..., pool) from it, and ``xcc_difference`` and
        ``normalized_xcc_difference`` (..., pool, pool\_): how much closer to it is the pool of
        the row than that of the column. NaN where that is no question.
    """
    known = "sigma_annotator" in fit["posterior"]
    out = xr.Dataset({"icc": _on_both_scales("icc", fit)})
    latent = out["icc"].sel({SCALE: LATENT}, drop=True)
    residual = 1.0 - latent
    if known:
        out["annotator_icc"] = _on_both_scales("annotator_icc", fit)
        residual = residual - out["annotator_icc"].sel({SCALE: LATENT}, drop=True)
        out["annotators_outweigh_items"] = annotators_outweigh_items(fit)
    out["residual_share"] = residual.drop_attrs()
    step_up = metrics.get("spearman_brown").function
    out["mean_reliability"] = step_up(out["icc"].sel({SCALE: OBSERVED}, drop=True), n_labels)
    out["n_labels"] = n_labels
    if "correlation" in fit["posterior"]:
        out = out.merge(_between_pools(fit, out["icc"], reference))
    return out


def _on_both_scales(name: str, fit: xr.DataTree, **more: Any) -> xr.DataArray:
    metric = metrics.get(name).function
    each = [metric(fit, scale=scale, **more) for scale in SCALES]
    out = xr.concat(each, dim=xr.IndexVariable(SCALE, list(SCALES)), combine_attrs="drop")
    return out.transpose(*SAMPLE, SCALE, ...).assign_attrs(better=each[0].attrs["better"])


def _between_pools(fit: xr.DataTree, icc: xr.DataArray, reference: Any) -> xr.Dataset:
    """Return correlations between pools, and how far these differ from or against one of them."""
    out = xr.Dataset({"xcc": _on_both_scales("xcc", fit)})
    latent = metrics.get("normalized_xcc").function(fit)
    # As the metric has it, without going through all pairs of labels once more: that takes long.
    own = icc.sel({SCALE: OBSERVED}, drop=True)
    root = (own * own.rename({POOL: other(POOL)})) ** 0.5
    observed = (out["xcc"].sel({SCALE: OBSERVED}, drop=True) / root.where(root > 0)).clip(-1.0, 1.0)
    both = xr.concat([latent, observed], dim=out[SCALE], combine_attrs="drop")
    out["normalized_xcc"] = both.transpose(*SAMPLE, SCALE, ...).assign_attrs(out["xcc"].attrs)
    if reference is None:
        return out
    out["icc_difference"] = _masked(icc - icc.sel({POOL: reference}, drop=True), reference)
    for name in ("xcc", "normalized_xcc"):
        close = out[name].sel({other(POOL): reference}, drop=True)
        gap = close - close.rename({POOL: other(POOL)})
        same = gap[POOL] == gap[other(POOL)]
        out[f"{name}_difference"] = _masked(gap.where(~same), reference)
    return out


def _masked(draws: xr.DataArray, reference: Any) -> xr.DataArray:
    """Blank what is of the reference itself, with which there is nothing to compare."""
    for dim in (POOL, other(POOL)):
        if dim in draws.dims:
            draws = draws.where(draws[dim] != reference)
    return draws.drop_attrs()


def kept(fit: xr.DataTree) -> dict[str, xr.Dataset]:
    """Return what of the fit stays beside the draws, so that metrics can be asked of it again."""
    constants = fit["constant_data"].to_dataset()
    names = [name for name in CONSTANTS if name in constants]
    return {
        "posterior": fit["posterior"].to_dataset(),
        "constant_data": constants[names].assign_attrs(fit.attrs),
    }


def is_finite(data: xr.Dataset) -> bool:
    """Say whether the draws that should be numbers are."""
    return all(bool(np.isfinite(data[name]).all()) for name in ("icc", "residual_share"))


# Which variance components an evaluation looks for, if any, settled before anything is fitted.


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
    arguments.one_of("components", components, (AUTO, *FAMILIES, None))
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


# Agreement within pools of annotators and between them, as observed: no model is asked.


POINT: Final = "observed_"
"""Begins the names of values as observed; those without it are draws."""
BETWEEN: Final = ("cross_kappa", "normalized_cross_kappa")


def pool_agreement(annotations: xr.Dataset, settings: Settings) -> xr.Dataset:
    r"""Return alpha of each pool, and agreement beyond chance of each pair of pools.

    Parameters
    ----------
    annotations : Dataset
        With pools, and labels or numbers.
    settings : Settings
        Draws and seed.

    Returns
    -------
    xarray.Dataset
        Draws by the Bayesian bootstrap of ``krippendorff_alpha`` (pool), ``cross_kappa`` and
        ``normalized_cross_kappa`` (pool, pool\_), NaN between a pool and itself; the values as
        observed under names that begin with ``observed_``. Attributes: the ``distance`` of labels,
        and ``notes``.
    """
    distance = _distance(annotations)
    ask = Asking(annotations, settings, Notes(), xr.Dataset())
    names = annotations[POOL].to_numpy()
    level = "nominal" if distance == "nominal" else "interval"
    code = annotations["pool_code"].to_numpy()
    within = []
    for place in range(len(names)):
        part = annotations.isel({ANNOTATION: code == place})
        alone = replace(ask, annotations=part, points=xr.Dataset())
        within.append(_both(alone, "krippendorff_alpha", level=level))
    out = xr.concat(within, dim=xr.IndexVariable(POOL, names), combine_attrs="drop")
    for name in BETWEEN:
        out = out.merge(_between(ask, names, name, distance))
    return out.assign_attrs(distance=distance, notes=ask.said())


def _distance(annotations: xr.Dataset) -> str:
    """Choose how far labels are apart: squared where they are numbers in an order."""
    numeric = "value" in annotations or annotations[LABEL].dtype.kind in "if"
    return "interval" if numeric and annotations.attrs["kind"] != "nominal" else "nominal"


def _both(ask: Asking, statistic: str, *, called: str | None = None, **options: Any) -> xr.Dataset:
    """Return draws and the observed value of one statistic."""
    name = called or statistic
    draws = ask.of(statistic, called=called, **options)[name].drop_attrs()
    return xr.Dataset({name: draws, f"{POINT}{name}": ask.points[name].drop_attrs()})


def _between(ask: Asking, names: Any, name: str, distance: str) -> xr.Dataset:
    """Lay out all pairs, the same on both sides of the diagonal."""
    found = {}
    for p, q in combinations(range(len(names)), 2):
        options = {"pools": (names[p], names[q]), "distance": distance}
        pair = replace(ask, points=xr.Dataset())
        found[p, q] = found[q, p] = _both(
            pair, "cross_kappa", called=name, normalized=name != "cross_kappa", **options
        )
    nothing = xr.full_like(found[0, 1], np.nan)
    rows = [
        xr.concat(
            [found.get((p, q), nothing) for q in range(len(names))],
            dim=xr.IndexVariable(other(POOL), names), combine_attrs="drop",
        )
        for p in range(len(names))
    ]  # fmt: skip
    return xr.concat(rows, dim=xr.IndexVariable(POOL, names), combine_attrs="drop")


LEAST_DRAWS: Final = 500
"""A chain."""
FEW_LABELS: Final = 5000
"""Up to so many a sweep takes no time, and twice as many draws are taken."""
_WARM_UP: Final = 300


def with_components(
    found: dict[str, xr.Dataset], plan: Plan, settings: Settings, chains: int, progressbar: bool,
    notes: Notes,
) -> tuple[dict[str, xr.Dataset], str]:  # fmt: skip
    """Add to the groups of an evaluation what it says of variance components, or why nothing.

    Returned with the groups: the family, or the reason, in words.
    """

    def made() -> dict[str, xr.Dataset]:
        return components(found["annotations"], plan, settings, chains, progressbar, notes)

    return with_added(found, plan, plan.family, made, missing="There is no ICC")


def components(
    annotations: xr.Dataset, plan: Plan, settings: Settings, chains: int, progressbar: bool,
    notes: Notes,
) -> dict[str, xr.Dataset]:  # fmt: skip
    """Fit, and return the groups ``components`` (with two below it) and, of pools, ``pools``."""
    per_chain = _draws(annotations, settings.draws // chains)
    name = "cross_replication" if plan.pools else "crossed_effects"
    options: dict[str, Any] = {"shared_annotators": True} if plan.pools and plan.shared else {}
    own = Notes()
    with own.of(name), fitting.all_or_nothing(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below, with what helps here
        fit = models.get(name).module.fit(
            annotations, family=plan.family, anonymous=plan.anonymous, keep_effects=False,
            draws=per_chain, tune=_WARM_UP, chains=chains, progressbar=progressbar,
            random_seed=generator(settings.random_seed, "components"), **options,
        )  # fmt: skip
    found = component_draws(fit, _typical(annotations, plan.pools), plan.reference)
    found = found.assign_coords({dim: fit["posterior"][dim] for dim in SAMPLE})
    if plan.pools:
        found["n_items_shared"] = shared_items(annotations)
    found.attrs.update(fit.attrs, notes="\n".join([*plan.remarks, *own.texts()]),
                       finite=int(is_finite(found)))  # fmt: skip
    if plan.reference is not None:
        found.attrs["reference"] = str(plan.reference)
    with notes.of(name):
        _warn_of_chains(found, 8 * per_chain)  # as few as half of what is asked for are taken
    parts = kept(fit)
    groups = {"components": found} | {f"components/{part}": data for part, data in parts.items()}
    return groups | ({"pools": pool_agreement(annotations, settings)} if plan.pools else {})


def _typical(annotations: xr.Dataset, pools: bool) -> xr.DataArray:
    """Return the median number of annotators of an item: of those that a pool saw, pool by pool."""
    if not pools:
        return xr.DataArray(float(np.median(voices_per(annotations, ITEM))))
    code = annotations["pool_code"].to_numpy()
    each = []
    for place in range(annotations.sizes[POOL]):
        voices = voices_per(annotations.isel({ANNOTATION: code == place}), ITEM)
        each.append(float(np.median(voices[voices > 0])) if voices.any() else 1.0)
    return xr.DataArray(each, dims=POOL, coords={POOL: annotations[POOL].to_numpy()})


def _draws(annotations: xr.Dataset, asked: int) -> int:
    """Choose the draws of a chain: these hardly hang on each other, and half as many will do."""
    few = annotations.sizes[ANNOTATION] <= FEW_LABELS
    return max(asked, 2 * LEAST_DRAWS) if few else max(asked // 2, LEAST_DRAWS)


def _warn_of_chains(found: xr.Dataset, better: int) -> None:
    attrs = found.attrs
    if not attrs["finite"]:
        text = "The draws of variance components are not all finite numbers: do not use them."
    elif attrs.get("n_items_poor", 0):
        r_hat = f", r-hat up to {attrs['r_hat_max']:.2f}" if "r_hat_max" in attrs else ""
        text = (
            f"The chains of {attrs['model']} have not run long enough: as few as "
            f"{attrs['ess_bulk_min']:.0f} effective draws ({attrs['ess_bulk_min_item']}){r_hat}. "
            "Do not trust the intervals of ICCs; ask for more draws "
            f"(draws={better})."
        )
    else:
        return
    warnings.warn(text, ConvergenceWarning, stacklevel=3)
