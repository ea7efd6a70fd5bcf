"""The variation between annotators that neither a bootstrap over items nor a model contains.

Statistics of the labels get it from a jackknife over annotators (`versions`). Draws of a model of
variance components get it from such statistics (`as_uncertain`, `as_uncertain_between`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import metrics, statistics
from dissensus.checks._replicates import evaluated
from dissensus.data import tables
from dissensus.data.schema import as_checked
from dissensus.dims import ANNOTATION, DRAW, ITEM, POOL, SAMPLE, other
from dissensus.errors import DissensusWarning
from dissensus.evaluation.same_annotators import END, as_wide_as_t, symmetric_root
from dissensus.kernels.random import generator
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.metrics._components import OBSERVED
from dissensus.statistics._sums import Sums, Undefined

# The jackknife.


_GROUPS: Final = 20
_SHUFFLES: Final = (3, 20)
"""Minimum and maximum number of times that annotators exchange places, to estimate the variation by
chance and by items. The maximum is used with few labels."""
_ROWS: Final = 5_000_000
"""Maximum number of rows of all versions together, unless 5 groups and 3 shuffles need more."""
MANY_ROWS: Final = _ROWS // (_GROUPS * _SHUFFLES[1])
"""Maximum number of labels and predictions for all groups and shuffles."""
_FEWEST: Final = 3
"""Minimum number of groups: if one of two annotators is left out, no pair remains."""
_ALWAYS: Final = -1
"""Code of rows that are in all versions."""
_KEPT: Final = 0.3
"""Minimum share of the pairs of labels that a version keeps. Without one of three annotators, a
third of the pairs remains. An annotator who is in nearly all pairs cannot be left out."""


@dataclass(frozen=True)
class Versions:
    """Versions of annotations in one Dataset; each version leaves out one group of annotators."""

    annotations: xr.Dataset
    """Each version has its own items."""
    n_groups: int
    count: int
    """Number of versions: one for each shuffle and group."""
    used: Flags
    """(shuffle, group): whether the version keeps enough pairs of labels."""

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the variance over annotators."""
        return int(self.used[0].sum()) - 1

    @property
    def complete(self) -> bool:
        """Whether each group could be left out: else one annotator is in nearly all pairs."""
        return bool(self.used[0].all())

    def predictions(self, annotations: xr.Dataset, predictions: xr.Dataset) -> xr.Dataset:
        """Return predictions on the items of all versions."""
        place = tables.match(annotations[ITEM].to_numpy(), predictions[ITEM].to_numpy())
        predicted = np.flatnonzero(place >= 0)
        item = (predicted + len(place) * np.arange(self.count)[:, None]).ravel()
        out = predictions.isel({ITEM: np.tile(place[predicted], self.count)})
        return as_checked(out.assign_coords({ITEM: item}))

    def values(self, sums: Sums) -> Any:
        """Return the values of a statistic in each version."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DissensusWarning)  # about small versions
            return evaluated(sums, self.count, Undefined())

    def spread(self, values: Floats) -> float:
        """Return the variance over annotators of one statistic, at least 0."""
        return max(float(self.covariance(values).item()), 0.0)

    def covariance(self, values: Floats) -> Floats:
        r"""Return the covariance over annotators (statistic, statistic).

        ``values`` is (version, statistic). The covariance may have negative eigenvalues.

        .. math:: \frac{G - 1}{G} \sum_g (t_{-g} - \bar t)^2

        is the delete-a-group jackknife with G groups, Shao & Tu (1995), *The Jackknife and
        Bootstrap*, section 2.3. The mean of this covariance over shuffles, in which annotators
        exchange places, is subtracted: it is due to single labels and to items, and the bootstrap
        over items contains it.
        """
        each = np.asarray(values, dtype=np.float64).reshape(*self.used.shape, -1)
        used = (self.used & np.isfinite(each).all(axis=-1))[..., None]
        enough = used.sum(axis=(1, 2)) >= _FEWEST
        if not enough[0] or not enough[1:].any():
            return np.zeros((each.shape[-1],) * 2)
        used, each = used[enough], np.where(used, each, 0.0)[enough]
        n = used.sum(axis=1, keepdims=True)
        apart = np.where(used, each - each.sum(axis=1, keepdims=True) / n, 0.0)
        # As in the formula, with the mean square of those used for all G groups.
        factor = (self.n_groups - 1) ** 2 / (self.n_groups * (n - 1))
        products = factor * np.einsum("sgi,sgj->sij", apart, apart)
        return np.asarray(products[0] - products[1:].mean(axis=0))


def versions(
    annotations: xr.Dataset, random_seed: Any, n_predictions: int = 0, rows: Flags | None = None,
    share: int = 1,
) -> Versions | None:  # fmt: skip
    """Return versions without groups of annotators; None if data do not show how annotators vary.

    The data do not show this if there are only two annotators, if no annotator has two labels, or
    if one annotator is in nearly all pairs of labels. Each version also needs memory for
    ``n_predictions`` predictions. With ``rows`` (annotation), versions leave out groups of these
    rows' annotators only, from these rows: all other rows are in all versions. The maximum number
    of rows of all versions is divided by ``share``.
    """
    code, annotator = (annotations[name].to_numpy() for name in ("item_code", "annotator_code"))
    among = np.ones(len(code), dtype=bool) if rows is None else rows
    item, (people, annotator) = code[among], np.unique(annotator[among], return_inverse=True)
    cell, of_row = np.unique(item * len(people) + annotator, return_inverse=True)
    size = (max(len(code), 1) + n_predictions) * share
    n_groups = min(len(people), _GROUPS, max(_ROWS // (size * (1 + _SHUFFLES[0])), 5))
    if n_groups < _FEWEST or len(people) == len(cell):
        return None
    rng = generator(random_seed, "annotators")
    group = (rng.permutation(len(people)) % n_groups)[cell % len(people)]
    n_each = np.unique(cell // len(people), return_counts=True)[1]
    shuffles = int(np.clip(_ROWS // (size * n_groups), *_SHUFFLES))
    places = [_shuffled(n_each, rng) for _ in range(shuffles)]
    groups = np.full((1 + shuffles, len(code)), _ALWAYS)
    groups[:, among] = np.stack([group, *(group[place] for place in places)])[:, of_row]
    stacked = _without(annotations, groups, n_groups)
    return stacked if stacked.used.sum(axis=1).min() >= _FEWEST else None


def _shuffled(size: Ints, rng: np.random.Generator) -> Ints:
    """Exchange annotators between items with equally many annotators, and within items.

    A cell is an annotator of an item. Cells are in the order of items; ``size`` (item) is the
    number of an item's cells. Return, for each cell, the cell whose annotator it gets.
    """
    start = np.cumsum(size) - size
    ordered, shuffled = np.argsort(size, kind="stable"), np.lexsort((rng.random(len(size)), size))
    source = np.empty_like(ordered)
    source[ordered] = shuffled
    item = np.repeat(np.arange(len(size)), size)
    place = np.lexsort((rng.random(len(item)), item))  # shuffled within items
    return np.asarray(place - start[item] + start[source][item])


def _without(annotations: xr.Dataset, groups: Ints, n_groups: int) -> Versions:
    """Stack a version for each shuffle and group: all rows except those of the group.

    ``groups`` (shuffle, row) has the group of each row. Pairs of labels are counted within the
    groups or, if there are rows without a group, between these rows and those of the groups.
    """
    kept = groups[:, None, :] != np.arange(n_groups)[:, None]
    shuffle, group, row = np.nonzero(kept)
    place = shuffle * n_groups + group
    n_items, count = annotations.sizes[ITEM], len(groups) * n_groups
    of_items = [name for name, values in annotations.variables.items() if ITEM in values.dims]
    bare = annotations.drop_vars(of_items)
    rows = bare.isel({ANNOTATION: row})
    code = rows["item_code"].to_numpy() + n_items * place
    stacked = rows.assign(item_code=(ANNOTATION, code))
    stacked = stacked.assign_coords({ITEM: np.arange(n_items * count)})
    grouped = groups[0] != _ALWAYS
    item = annotations["item_code"].to_numpy()
    whole, fixed = (np.bincount(item[part], minlength=n_items) for part in (grouped, ~grouped))
    each = np.bincount(code[grouped[row]], minlength=n_items * count).reshape(count, n_items)
    within = grouped.all()
    pairs, all_pairs = ((n * (n - 1 if within else fixed)).sum(axis=-1) for n in (each, whole))
    used = (pairs >= _KEPT * all_pairs).reshape(len(groups), n_groups)
    return Versions(as_checked(stacked.assign_attrs(annotations.attrs)), n_groups, count, used)


_LEAST: Final = 0.01
"""Minimum ratio. Smaller ratios are set to it: they then do not vary over annotators."""
_BOUNDED: Final = frozenset({"nominal", "jaccard", "masi", "ranking"})
"""Distances that are at most 1."""


def by_others(
    discrepancies: xr.Dataset, without: Versions, sums: Sums, random_seed: Any
) -> xr.Dataset:
    """Add the variation over annotators to discrepancies and ratios, on the log scale.

    The annotators' discrepancy and the ratios get noise with the covariance that
    `Versions.covariance` returns. The noise is normal, because the exponential of a t variate has
    no mean. Its 89 % interval is as wide as that of a t distribution; the degrees of freedom are
    the number of groups that could be left out, minus 1.
    """
    values = without.values(sums)
    between = values["annotator_discrepancy"][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.maximum(values["system_discrepancy"] / between, _LEAST)
        both = np.log(np.hstack([between, ratio]))
    shape = (discrepancies.sizes[SAMPLE[1]],)
    noise = _noise(without.covariance(both), without.freedom, shape, random_seed, "new annotators")
    factor = np.exp(noise)
    most = 1.0 if discrepancies.attrs.get("distance") in _BOUNDED else None
    annotators = (discrepancies["annotator_discrepancy"] * factor[:, 0]).clip(None, most)
    systems = (discrepancies["system_discrepancy"] * factor[:, :1] * factor[:, 1:]).clip(None, most)
    out = {
        "annotator_discrepancy": annotators,
        "system_discrepancy": systems,
        "discrepancy_ratio": (systems / annotators).where(
            discrepancies["discrepancy_ratio"].notnull()
        ),
    }
    return discrepancies.assign(
        {name: each.assign_attrs(discrepancies[name].attrs) for name, each in out.items()}
    )


def _noise(
    covariance: Floats, freedom: int, shape: tuple[int, ...], random_seed: Any, stream: str
) -> Floats:
    """Draw normal noise (..., statistic) with the 89 % interval of a t distribution."""
    root = symmetric_root(covariance)
    # Replacing negative eigenvalues by 0 increases the variances: scale them back.
    sd, alone = np.sqrt((root**2).sum(axis=1)), np.sqrt(np.diag(covariance).clip(0.0))
    scale = np.divide(alone, sd, out=np.zeros_like(sd), where=sd > 0)
    rng = generator(random_seed, stream)
    drawn = rng.standard_normal((*shape, len(root))) @ root
    return np.asarray(as_wide_as_t(freedom) * scale * drawn)


def with_others(
    draws: xr.DataArray, without: Versions | None, statistic: str, options: Mapping[str, Any],
    random_seed: Any, stream: str = "new annotators",
) -> xr.DataArray:  # fmt: skip
    """Add the variation over annotators to draws of a coefficient, if the data show it.

    Coefficients of other annotators need random numbers of their own, from another ``stream``.
    """
    if without is None:
        return draws
    values = without.values(statistics.get(statistic).sums(without.annotations, **options))
    return widened(draws, without.spread(values), without.freedom, random_seed, stream)


RATES: Final = frozenset({"percent_agreement", "leave_one_out_agreement"})
"""Coefficients that are at least 0."""


def widened(
    draws: xr.DataArray, spread: float, freedom: int, random_seed: Any,
    stream: str = "new annotators",
) -> xr.DataArray:  # fmt: skip
    """Add the variation over annotators to draws of a coefficient, which is at most 1."""
    noise: Floats = generator(random_seed, stream).standard_t(freedom, draws.shape)
    least = 0.0 if draws.name in RATES else None
    return (draws + np.sqrt(spread) * noise).clip(least, 1.0).assign_attrs(draws.attrs)


KAPPAS: Final = ("cross_kappa", "normalized_cross_kappa")


def kappas_with_others(
    draws: xr.Dataset, without: Versions, options: Mapping[str, Any], random_seed: Any, stream: str
) -> xr.Dataset:
    """Add the variation over annotators to draws of cross kappa, also normalised if it is there.

    A normalised cross kappa is divided by the root of the product of two alphas. Cross kappa and
    the logarithm of this root get noise with their covariance, so that an alpha near 0 cannot
    change the sign. The noise is normal, with the 89 % interval of a t distribution.
    """
    names = [name for name in KAPPAS if name in draws]
    sums = statistics.get(KAPPAS[0]).sums
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)  # the statistic itself has warned
        values = [
            without.values(sums(without.annotations, normalized=name != KAPPAS[0], **options))
            for name in names
        ]
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = [np.fmax(values[0] / each, _LEAST) for each in values[1:]]  # also if undefined
    covariance = without.covariance(np.column_stack([values[0], *map(np.log, roots)]))
    kappa = draws[KAPPAS[0]]
    noise = _noise(covariance, without.freedom, kappa.shape, random_seed, stream)
    wide = (kappa + noise[..., 0]).clip(None, 1.0)
    out = {KAPPAS[0]: wide}
    if len(names) > 1:
        # More noise would say no more than that an alpha may be 0.
        sd = max(float(np.sqrt(covariance[1, 1].clip(0.0))), _MOST / 2)
        factor = np.exp(noise[..., 1] * (_MOST / 2 / sd))
        out[KAPPAS[1]] = draws[KAPPAS[1]] / kappa.where(kappa != 0) * wide / factor
    return draws.assign(out)


# Draws of a model that has annotators who differ by a constant only.


_MOST: Final = 1.5
"""Maximum standard deviation of the noise of a log variance. The 89 % interval of an ICC of .5 is
then about .1 to .9. With more noise, most draws are near 0 or 1, which no data have shown."""
_HALVINGS: Final = 12
_TRIED: Final = 500
"""Number of draws with which this standard deviation is found."""


def as_uncertain(fit: xr.DataTree, alpha: xr.DataArray, random_seed: Any) -> xr.DataTree:
    r"""Widen the draws of ``sigma_item`` until the observed ICC is as uncertain as alpha.

    The model assumes normal effects, and annotators who differ by a constant only. If few
    annotators label all items and differ in other ways, or if few items differ much from the
    others, the ICC of other annotators and items varies more than the posterior shows. ``alpha``
    has draws of Krippendorff's alpha of the same numbers, of each pool if there are pools. It
    estimates the same ICC without the model.

    If the 89 % interval of alpha, as far as it lies between 0 and 1, is longer than that of the
    observed ICC, :math:`\log \sigma_\mathrm{item}^2` gets normal noise. Its standard deviation is
    found by bisection, so that both intervals have the same length, as far as `_MOST` allows.
    """
    icc_of = metrics.get("icc").function
    icc = icc_of(fit, OBSERVED)
    before = _length(icc)
    goal = _length(alpha.reset_coords(drop=True).clip(0.0, 1.0))
    longer = (goal / before.where(before > 0)).fillna(1.0)
    if not (longer > 1.0).any():
        return fit
    rng = generator(random_seed, "components, other annotators")
    noise = icc.copy(data=rng.standard_normal(icc.shape))
    step = -(-icc.size // before.size // _TRIED)
    few = fit.isel({DRAW: slice(None, None, step)})
    tried = noise.isel({DRAW: slice(None, None, step)})
    goal = longer * _length(icc_of(few, OBSERVED))
    low, high = xr.zeros_like(goal), xr.full_like(goal, _MOST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        short = _length(icc_of(_moved(few, middle * tried), OBSERVED)) < goal
        low, high = low.where(~short, middle), high.where(short, middle)
    return _moved(fit, high.where(longer > 1.0, 0.0) * noise)


def _moved(fit: xr.DataTree, shift: xr.DataArray) -> xr.DataTree:
    """Return the fit with ``shift`` added to the logarithm of the variance of items."""
    out, posterior = fit.copy(), fit["posterior"].to_dataset()
    before = posterior["sigma_item"]
    after = (before * np.exp(0.5 * shift)).transpose(*before.dims)
    out["posterior"] = posterior.assign(sigma_item=after.assign_attrs(before.attrs))
    return out


def _length(draws: xr.DataArray) -> xr.DataArray:
    """Return the length of the 89 % interval, of each pool if there are pools; 0 if undefined."""
    defined = draws.where(draws.notnull().any(SAMPLE), 0.0)
    low, high = defined.quantile([1.0 - END, END], SAMPLE).transpose("quantile", ...)
    return high.drop_vars("quantile") - low.drop_vars("quantile")


def as_uncertain_between(fit: xr.DataTree, cross: xr.DataArray) -> xr.DataTree:
    r"""Spread the draws of ``correlation`` until the observed xCC is as uncertain as ``cross``.

    ``cross`` (..., pool, pool\_) has draws of the xCC without the model. If its 89 % interval is
    longer than that of the observed xCC, deviations of the xCC from its median are multiplied by
    the ratio of the two lengths. Correlations stay between -1 and 1.
    """
    xcc = metrics.get("xcc").function(fit, OBSERVED)
    normalized = metrics.get("normalized_xcc").function(fit, OBSERVED)
    before = _length(xcc)
    longer = (_length(cross.clip(-1.0, 1.0)) / before.where(before > 0)).fillna(1.0).clip(1.0)
    if not (longer > 1.0).any():
        return fit
    # The root of the product of both ICCs; in single draws it may be near 0.
    root = (xcc / normalized.where(normalized != 0)).median(SAMPLE)
    shift = (longer - 1.0) * (xcc - xcc.median(SAMPLE)) / root.where(root > 0)
    shift = shift.where(shift[POOL] != shift[other(POOL)], 0.0).fillna(0.0).drop_attrs(deep=False)
    out, posterior = fit.copy(), fit["posterior"].to_dataset()
    moved = (posterior["correlation"] + shift).clip(-1.0, 1.0)
    moved = moved.transpose(*posterior["correlation"].dims)
    if moved.sizes[POOL] > 2:
        moved = moved.copy(data=_as_correlations(moved.to_numpy()))
    out["posterior"] = posterior.assign(correlation=moved)
    return out


def _as_correlations(matrices: Floats) -> Floats:
    """Replace negative eigenvalues of symmetric matrices (..., pool, pool) by 0; keep ones.

    If pairs of three pools are moved apart, no data could have all these correlations.
    """
    values, axes = np.linalg.eigh(matrices)
    repaired = axes * values.clip(0.0)[..., None, :] @ np.swapaxes(axes, -1, -2)
    scale = np.sqrt(np.diagonal(repaired, axis1=-2, axis2=-1))
    repaired /= scale[..., :, None] * scale[..., None, :]
    diagonal = np.arange(matrices.shape[-1])
    repaired[..., diagonal, diagonal] = 1.0  # without rounding errors
    wrong = values[..., :1, None] < -1e-10  # by more than a rounding error
    return np.asarray(np.where(wrong, repaired.clip(-1.0, 1.0), matrices))
