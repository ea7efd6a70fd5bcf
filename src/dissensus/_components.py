"""What an evaluation says of a label's variance: how much is the item's, how much the annotator's.

Numbers, ordered labels and two labels go through `models.crossed_effects`, those of several pools
through `models.cross_replication`. The draws of the effects themselves are not kept.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import models
from dissensus._added_groups import with_added
from dissensus._component_groups import component_draws, is_finite, kept
from dissensus._component_plan import Plan, shared_items
from dissensus._notes import Notes
from dissensus._observed import Settings
from dissensus._pool_agreement import pool_agreement
from dissensus.data.rows import voices_per
from dissensus.dims import ANNOTATION, ITEM, POOL, SAMPLE
from dissensus.errors import ConvergenceWarning
from dissensus.kernels.random import generator
from dissensus.sampling import fitting

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
