r"""Variation of systems' agreement with the panel over annotators, if the same few labelled all.

A fit assumes that each label is by an annotator of its own. If each of five annotators labelled all
items, what is peculiar to one of them is in the labels of all items, and other five annotators
would change the agreement by about twice the standard deviation of the posterior
(docs/validation.md). So the model is fitted again without each annotator, and the jackknife over
annotators gives the variance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import xarray as xr
from scipy import stats

from dissensus.data.rows import voices_per
from dissensus.data.schema import as_checked
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, SAMPLE, SYSTEM
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.sampling.chains import tracked
from dissensus.statistics._resampling import FEW_UNITS

NEW_ANNOTATORS: Final = "new_annotators"
"""Attribute of ``metrics`` and ``agreement``: whether intervals contain the variation between
annotators; of ``metrics``, those of agreement with the panel."""
_FEWEST, _MOST = 2.5, 20.0
"""Limits of the effective number of annotators. With fewer, one annotator gave most labels, and
nothing shows how others would label. With more, other annotators hardly change the agreement."""
_PART: Final = 0.4
"""Minimum number of labels per item, divided by the effective number of annotators. If each item is
labelled by other annotators, intervals of the posterior are right (docs/validation.md)."""
_ALONE: Final = 0.1
"""Maximum share of items with one annotator: left out, this annotator would leave no label."""
END: Final = 0.945
"""Upper end of an 89 % interval, as a probability."""
_GROUPS: Final = 8
"""Maximum number of fits; with more annotators, groups of annotators are left out."""


def are_same(annotations: xr.Dataset) -> bool:
    r"""Return whether the same few annotators labelled most of the items.

    The effective number of annotators is :math:`N^2 / \sum_k n_k^2`, if annotator k labelled
    :math:`n_k` items, N in total.
    """
    of_item = voices_per(annotations, ITEM)
    n_items, n_alone = int((of_item > 0).sum()), int((of_item == 1).sum())
    n_each = voices_per(annotations, ANNOTATOR).astype(np.float64)
    effective = n_each.sum() ** 2 / (n_each**2).sum()
    per_item = n_each.sum() / n_items
    few = _FEWEST <= effective <= _MOST and n_items >= FEW_UNITS
    return bool(few and per_item >= _PART * effective and n_alone <= _ALONE * n_items)


def covariance(
    annotations: xr.Dataset, estimate: Callable[[xr.Dataset], Floats], random_seed: Any,
    progressbar: bool = False,
) -> tuple[Floats, int]:  # fmt: skip
    r"""Return the covariance of estimates over annotators (system, system), and the freedom.

    .. math:: \frac{G - 1}{G} \sum_g (t_{-g} - \bar t)(t_{-g} - \bar t)^\top

    is the delete-a-group jackknife with G groups of annotators, Shao & Tu (1995), *The Jackknife
    and Bootstrap*, section 2.3. ``estimate`` returns the estimates (system) from some annotations.
    """
    people, annotator = np.unique(annotations["annotator_code"].to_numpy(), return_inverse=True)
    n_groups = min(len(people), _GROUPS)
    order = generator(random_seed, "groups of annotators").permutation(len(people))
    group = (order % n_groups)[annotator]
    left_out = tracked(range(n_groups), "Fitting without some annotators", progressbar)
    parts = (as_checked(annotations.isel({ANNOTATION: group != g})) for g in left_out)
    each = np.stack([estimate(part) for part in parts])
    apart = each - each.mean(axis=0)
    return np.asarray((n_groups - 1) / n_groups * apart.T @ apart), n_groups - 1


def symmetric_root(matrix: Floats) -> Floats:
    """Return the symmetric square root, which does not depend on the signs of eigenvectors.

    Negative eigenvalues, of an estimated covariance, count as 0.
    """
    values, axes = np.linalg.eigh(matrix)
    return np.asarray(axes * np.sqrt(values.clip(0.0)) @ axes.T)


def as_wide_as_t(freedom: int) -> float:
    """Return the factor by which normal noise gets the 89 % interval of a t distribution."""
    return float(stats.t(freedom).ppf(END) / stats.norm.ppf(END))


def widened(
    draws: xr.DataArray, posterior: Floats, between: Floats, freedom: int, random_seed: Any
) -> xr.DataArray:
    """Add noise to draws (..., system), so that their variance is the jackknife's, if larger.

    ``posterior`` is the variance of the draws (system), and ``between`` the jackknife's covariance,
    which contains that of single labels, as the posterior does. The noise is normal, scaled to the
    89 % interval of a t distribution: with two degrees of freedom, a t variate has no variance.
    Draws stay between 0 and 1.
    """
    variance = np.diag(between)
    ratio = np.divide(posterior, variance, out=np.ones_like(variance), where=variance > 0)
    scale = np.sqrt(np.maximum(1.0 - ratio, 0.0))
    root = symmetric_root(between) * scale
    rng, shape = generator(random_seed, "other annotators"), tuple(draws.sizes[d] for d in SAMPLE)
    noise = as_wide_as_t(freedom) * rng.standard_normal((*shape, len(root))) @ root
    added = xr.DataArray(noise, dims=(CHAIN, DRAW, SYSTEM))
    return (draws + added).clip(0.0, 1.0).transpose(*draws.dims).assign_attrs(draws.attrs)
