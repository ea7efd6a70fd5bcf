"""The section ``components``: shares of a label's variance due to items and annotators.

The model is `models.crossed_effects` or, for several pools, `models.cross_replication`. It takes
numbers, ordered labels, or two labels. Draws of single effects are not kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments, metrics, models
from dissensus.data.rows import voices_per
from dissensus.data.schema import as_checked
from dissensus.dims import ANNOTATION, ANNOTATOR, DRAW, ITEM, LABEL, POOL, SAMPLE, SCALE, other
from dissensus.errors import ArgumentError, ConvergenceWarning, brief, shown
from dissensus.evaluation.observed import Bootstrap, are_classes
from dissensus.evaluation.other_annotators import (
    KAPPAS,
    as_uncertain,
    as_uncertain_between,
    kappas_with_others,
    versions,
    with_others,
)
from dissensus.evaluation.section import (
    AUTO,
    FEWEST,
    NO_PAIR,
    NOT_WANTED,
    Groups,
    Notes,
    Plan,
    Reason,
    Settings,
    warn_of_chains,
)
from dissensus.kernels.random import generator
from dissensus.kernels.types import Flags
from dissensus.metrics._components import LATENT, OBSERVED, SCALES
from dissensus.metrics._cross_replication import annotators_outweigh_items
from dissensus.sampling import convergence, fitting
from dissensus.statistics._resampling import units_of
from dissensus.wording import counted, listed

# Draws of reliability from a fit.


CONSTANTS: Final = ("sigma", "label_value", "n_labels_per_item")
"""Constant data of a fit that are kept; the annotations contain the rest."""


def component_draws(fit: xr.DataTree, n_labels: xr.DataArray, reference: Any = None) -> xr.Dataset:
    r"""Return draws of reliability from a fit of crossed effects.

    ``n_labels`` is the typical number of annotators of an item, with pools one number for each.

    - ``icc``, ``annotator_icc`` (chain, draw, scale[, pool]).
    - ``residual_share``: share of variance due to neither items nor annotators (latent scale).
    - ``mean_reliability``: reliability of the mean of ``n_labels`` labels (observed scale).
    - ``annotators_outweigh_items``: probability that annotators explain more variance than items.
    - Of pools: ``xcc`` and ``normalized_xcc`` (chain, draw, scale, pool, pool\_).
    - With a reference: ``icc_difference`` (..., pool), an ICC minus the reference's ICC;
      ``xcc_difference`` and ``normalized_xcc_difference`` (..., pool, pool\_), the correlation of
      ``pool`` with the reference minus that of ``pool_``. NaN for the reference itself.
    """
    out = xr.Dataset({"icc": _on_both_scales("icc", fit)})
    residual = 1.0 - out["icc"].sel({SCALE: LATENT}, drop=True)
    if "sigma_annotator" in fit["posterior"]:
        out["annotator_icc"] = _on_both_scales("annotator_icc", fit)
        residual = residual - out["annotator_icc"].sel({SCALE: LATENT}, drop=True)
        out["annotators_outweigh_items"] = annotators_outweigh_items(fit)
    out["residual_share"] = residual.drop_attrs(deep=False)
    step_up = metrics.get("spearman_brown").function
    out["mean_reliability"] = step_up(out["icc"].sel({SCALE: OBSERVED}, drop=True), n_labels)
    out["n_labels"] = n_labels
    if "correlation" in fit["posterior"]:
        out = out.merge(_between_pools(fit, out["icc"], reference))
    return out


def _on_both_scales(name: str, fit: xr.DataTree) -> xr.DataArray:
    each = [metrics.get(name).function(fit, scale=scale) for scale in SCALES]
    out = xr.concat(each, dim=xr.IndexVariable(SCALE, list(SCALES)), combine_attrs="drop")
    return out.transpose(*SAMPLE, SCALE, ...).assign_attrs(better=each[0].attrs["better"])


def _between_pools(fit: xr.DataTree, icc: xr.DataArray, reference: Any) -> xr.Dataset:
    """Return correlations between pools, and differences from the reference."""
    out = xr.Dataset({"xcc": _on_both_scales("xcc", fit)})
    latent = metrics.get("normalized_xcc").function(fit)
    # Equals the metric on the observed scale, but saves a second sum over pairs of labels.
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
    """Set all values of the reference pool to NaN."""
    for dim in (POOL, other(POOL)):
        if dim in draws.dims:
            draws = draws.where(draws[dim] != reference)
    return draws.drop_attrs(deep=False)


# The same quantities without a model, with the variation between annotators.


_ENOUGH: Final = 1000
"""Minimum number of draws for the length of an interval."""
_HIDDEN: Final = "The labels do not show how annotators differ"


def alpha_of(annotations: xr.Dataset, fit: xr.DataTree, settings: Settings) -> xr.DataArray:
    """Return draws of the alpha of the numbers whose observed ICC the fit has, of each pool.

    The coordinate ``shown`` is whether the labels show how annotators vary.
    """
    numbers = _numbers(annotations, fit)
    if POOL not in fit["posterior"].dims:
        return _alpha_with_others(numbers, settings)
    code, names = numbers["pool_code"].to_numpy(), numbers[POOL].to_numpy()
    parts = [numbers.isel({ANNOTATION: code == place}) for place in range(len(names))]
    each = [_alpha_with_others(part, settings) for part in parts]
    visible = [bool(alpha["shown"]) for alpha in each]
    each = [alpha.drop_vars("shown") for alpha in each]
    out = xr.concat(each, dim=xr.IndexVariable(POOL, names), combine_attrs="drop")
    return out.assign_coords(shown=(POOL, visible))


def _numbers(annotations: xr.Dataset, fit: xr.DataTree) -> xr.Dataset:
    """Return the annotations as numbers, those whose observed ICC the fit has."""
    if "value" in annotations:
        return annotations
    value = annotations["label_code"].to_numpy().astype(np.float64)
    if "label_value" in fit["constant_data"]:
        value = fit["constant_data"]["label_value"].to_numpy()[annotations["label_code"]]
    elif annotations[LABEL].dtype.kind in "iuf":
        value = annotations[LABEL].to_numpy().astype(np.float64)[annotations["label_code"]]
    bare = annotations.drop_dims(LABEL).drop_vars("label_code")
    return as_checked(bare.assign(value=(ANNOTATION, value)).assign_attrs(kind="continuous"))


def _alpha_with_others(annotations: xr.Dataset, settings: Settings) -> xr.DataArray:
    units, seed = units_of(annotations, None), settings.random_seed
    settings = replace(settings, draws=max(settings.draws, _ENOUGH))
    bootstrap = Bootstrap(annotations, settings, Notes(), xr.Dataset(), units)
    draws = bootstrap.of(ALPHA, level=INTERVAL)[ALPHA]
    without = versions(annotations, seed)
    draws = with_others(draws, without, ALPHA, {"level": INTERVAL}, seed)
    visible = without is not None and without.complete and bool(draws.notnull().any())
    return draws.assign_coords(shown=visible)


def _of_hidden_annotators(alpha: xr.DataArray) -> Iterator[str]:
    """Say which intervals do not allow for annotators who differ in more than leniency."""
    hidden = ~alpha["shown"]
    if POOL not in alpha.dims and bool(hidden):
        yield (
            f"{_HIDDEN}. The interval of the ICC is for annotators who differ in leniency only, "
            "and may be too short."
        )
    elif POOL in alpha.dims and bool(hidden.any()):
        names = [repr(name) for name in alpha[POOL].to_numpy()[hidden.to_numpy()].tolist()]
        pools = f"pool{'s' if len(names) > 1 else ''} {listed(names)}"
        yield (
            f"{_HIDDEN} in {pools}. For other annotators, the intervals of ICC, xCC and cross "
            "kappa may be too short."
        )


def cross_of(annotations: xr.Dataset, fit: xr.DataTree, settings: Settings) -> xr.DataArray:
    r"""Return draws of the observed xCC of each two pools, without a model (..., pool, pool\_).

    If numbers have mean 0 and variance 1 in each pool, cross kappa with squared differences is the
    correlation of two labels of an item, one from each pool.
    """
    numbers = _numbers(annotations, fit)
    settings = replace(settings, draws=max(settings.draws, _ENOUGH))
    bootstrap = Bootstrap(numbers, settings, Notes(), xr.Dataset(), units_of(numbers, None))
    options = {"distance": INTERVAL, "missing": "items"}
    return _between(bootstrap, KAPPAS[:1], options, standardized=True)[KAPPAS[0]]


# The choice of the model.


GROUP: Final = "components"
SOURCE: Final = "hyper_family"
NOTE: Final = "There is no ICC"
FAMILIES: Final = ("gaussian", "ordinal", "bernoulli")
LEVELS: Final = 10
"""Maximum number of ordered labels that are modelled with cutpoints. More labels, if they are
numbers, are modelled as numbers with equal steps: many cutpoints are slow and change little."""
MOST_POOLS: Final = 8
"""Maximum number of pools that are compared pair by pair."""


@dataclass(frozen=True)
class ComponentsPlan(Plan):
    """The model of variance components."""

    family: str
    pools: bool = False
    anonymous: bool = False
    shared: bool = False
    """Whether some annotators are in several pools."""
    reference: Any = None
    residual: str = "shared"
    """Whether pools share the residual variance of numbers, or each "pool" has its own."""


def plan(
    annotations: xr.Dataset, predictions: xr.Dataset | None, components: str | None, reference: Any
) -> ComponentsPlan | Reason:
    """Choose the family of the model, and whether it has pools and annotator effects."""
    arguments.one_of("components", components, (AUTO, *FAMILIES, None))
    by_name = components not in (AUTO, None)
    family = components if by_name else _family(annotations, predictions, components)
    if isinstance(family, str):
        reason = _too_little(annotations)
        if by_name and reason is not None and reason.text == NO_PAIR:
            raise ArgumentError(
                "components", expected=f"None or {AUTO!r}: {NO_PAIR}", found=repr(components)
            )
        if by_name or reason is None:
            return _design(annotations, family, reference, by_name)
        family = reason
    assert isinstance(family, Reason)
    if reference is not None:
        raise ArgumentError(
            "reference", expected="None, because variance components are not estimated "
            f"({family.text})", found=brief(reference),
        )  # fmt: skip
    return family


def _family(
    annotations: xr.Dataset, predictions: xr.Dataset | None, components: str | None
) -> str | Reason:
    """Return the family that suits the labels, or the reason why there is none."""
    if components is None:
        return Reason(NOT_WANTED)
    kind = annotations.attrs["kind"]
    if kind == "continuous":
        return "gaussian"
    if kind == "ranking":
        return Reason("rankings have none")
    labels = annotations[LABEL].to_numpy()
    if len(labels) == 2:
        return "bernoulli"
    if kind == "nominal" or len(labels) < 2:
        return Reason(f"{counted(len(labels), 'label')} without an order")
    if are_classes(annotations, predictions):
        return Reason(
            "whole numbers without a stated order are treated as classes, which have no ICC",
            noted=True,
        )  # fmt: skip
    many = len(labels) > LEVELS and labels.dtype.kind in "if"
    return "gaussian" if many else "ordinal"


def _too_little(annotations: xr.Dataset) -> Reason | None:
    """Return why the labels cannot separate the variances of items and annotators; else None."""
    several = int((voices_per(annotations, ITEM) > 1).sum())
    if several == 0:
        return Reason(NO_PAIR)
    if several < FEWEST:
        items = "item has" if several == 1 else "items have"
        return Reason(
            f"only {several} {items} two annotators, and an ICC needs {FEWEST}", noted=True
        )
    values = annotations["value" if "value" in annotations else "label_code"].to_numpy()
    if (values == values[0]).all():
        return Reason("all labels are the same, so their variance is 0", noted=True)
    return None


def _design(annotations: xr.Dataset, family: str, reference: Any, by_name: bool) -> ComponentsPlan:
    """Choose whether pools are compared, and whether annotators have effects."""
    pools = annotations[POOL].to_numpy() if POOL in annotations.coords else np.empty(0)
    remarks: list[str] = []
    several = 2 <= len(pools) <= MOST_POOLS
    if len(pools) > MOST_POOLS:
        remarks.append(
            f"There are {len(pools)} pools, too many to compare with each other (maximum "
            f"{MOST_POOLS}): the ICC treats all annotators as one pool."
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
            "No annotator labelled two items: differences between annotators cannot be separated "
            "from residual variation. The model has no annotator effects, and there is no "
            "annotator ICC."
        )
    shared = 0
    if several:
        shared = in_several_pools(annotations)
    if shared and not anonymous:
        remarks.append(
            f"{counted(shared, 'annotator')} in several pools: the model has a separate effect "
            "for each annotator in each pool, as if an annotator of two pools were two people."
        )
    may_differ = family == "gaussian" or (family == "ordinal" and not by_name)
    own_noise = several and may_differ and _pairs_in_all_pools(annotations)
    if own_noise and family == "ordinal":
        family = "gaussian"
        remarks.append(
            "The labels are modelled as numbers, because pools may differ in noise, which "
            'cutpoints that pools share do not allow (components="ordinal" has these cutpoints).'
        )
    return ComponentsPlan(
        family, pools=several, residual="pool" if own_noise else "shared", anonymous=anonymous,
        shared=bool(shared), reference=reference, by_name=by_name, remarks=tuple(remarks),
    )  # fmt: skip


def _pairs_in_all_pools(annotations: xr.Dataset) -> bool:
    """Return whether `FEWEST` items have two labels within each pool, which show its noise."""
    n_pools = annotations.sizes[POOL]
    shape = annotations.sizes[ITEM], n_pools
    n_labels = np.bincount(_pairs(annotations, ITEM), minlength=shape[0] * n_pools).reshape(shape)
    return bool(((n_labels > 1).sum(axis=0) >= FEWEST).all())


def in_several_pools(annotations: xr.Dataset) -> int:
    """Return the number of annotators who are in several pools."""
    n_pools = np.bincount(np.unique(_pairs(annotations, ANNOTATOR)) // annotations.sizes[POOL])
    return int((n_pools > 1).sum())


def _pairs(annotations: xr.Dataset, dim: str) -> Any:
    code = annotations[f"{dim}_code"].to_numpy().astype(np.int64)
    return code * annotations.sizes[POOL] + annotations["pool_code"].to_numpy()


def shared_items(annotations: xr.Dataset) -> xr.DataArray:
    """Return the number of items that each pair of pools shares (pool, pool_)."""
    n_pools = annotations.sizes[POOL]
    seen = np.zeros(annotations.sizes[ITEM] * n_pools)
    seen[_pairs(annotations, ITEM)] = 1.0
    table = seen.reshape(-1, n_pools)
    names = annotations[POOL].to_numpy()
    return xr.DataArray(
        (table.T @ table).astype(np.int64), dims=(POOL, other(POOL)),
        coords={POOL: names, other(POOL): names}, name="n_items_shared",
    )  # fmt: skip


# Observed agreement within pools and between them.


POINT: Final = "observed_"
"""Prefix of the names of observed values; variables without it are draws."""
ALPHA: Final = "krippendorff_alpha"
INTERVAL: Final = "interval"


def pool_agreement(annotations: xr.Dataset, settings: Settings) -> xr.Dataset:
    r"""Return Krippendorff's alpha of each pool, and chance-corrected agreement of pairs of pools.

    The variables ``krippendorff_alpha`` (..., pool), ``cross_kappa`` and ``normalized_cross_kappa``
    (..., pool, pool\_) are draws from the Bayesian bootstrap, with the variation between
    annotators. The last two are NaN on the diagonal. Observed values have the prefix ``observed_``.
    """
    distance = _distance(annotations)
    bootstrap = Bootstrap(annotations, settings, Notes(), xr.Dataset(), units_of(annotations, None))
    names = annotations[POOL].to_numpy()
    level = "nominal" if distance == "nominal" else INTERVAL
    code = annotations["pool_code"].to_numpy()
    within, seed = [], settings.random_seed
    for place in range(len(names)):
        part = annotations.isel({ANNOTATION: code == place})
        alone = replace(bootstrap, annotations=part, points=xr.Dataset())
        each = _both(alone, ALPHA, level=level)
        stream = f"new annotators, pool {place}"  # other people than those of other pools
        without = versions(part, seed)
        each[ALPHA] = with_others(each[ALPHA], without, ALPHA, {"level": level}, seed, stream)
        within.append(each)
    out = xr.concat(within, dim=xr.IndexVariable(POOL, names), combine_attrs="drop")
    out = out.merge(_between(bootstrap, KAPPAS, {"distance": distance}))
    return out.assign_attrs(distance=distance, notes=bootstrap.notes_text())


def _distance(annotations: xr.Dataset) -> str:
    """Return the distance of labels: "interval" (squared) for ordered numbers, else "nominal"."""
    numeric = "value" in annotations or annotations[LABEL].dtype.kind in "if"
    return "interval" if numeric and annotations.attrs["kind"] != "nominal" else "nominal"


def _both(
    bootstrap: Bootstrap, statistic: str, *, called: str | None = None, **options: Any
) -> xr.Dataset:
    """Return draws and the observed value of one statistic."""
    name = called or statistic
    draws = bootstrap.of(statistic, called=called, **options)[name].drop_attrs(deep=False)
    return xr.Dataset(
        {name: draws, f"{POINT}{name}": bootstrap.points[name].drop_attrs(deep=False)}
    )


def _between(
    bootstrap: Bootstrap, names: Iterable[str], options: Mapping[str, Any], *,
    standardized: bool = False,
) -> xr.Dataset:  # fmt: skip
    """Return statistics of each two pools, some of `KAPPAS`, as symmetric matrices."""
    pools = bootstrap.annotations[POOL].to_numpy()
    by_pair = {}
    for p, q in combinations(range(len(pools)), 2):
        pair = _of_two(bootstrap, p, q, standardized=standardized)
        seed, of_pair = pair.settings.random_seed, {**options, "pools": (pools[p], pools[q])}
        draws = xr.merge(
            _both(pair, KAPPAS[0], called=name, normalized=name != KAPPAS[0], **of_pair)
            for name in names
        )
        for whose, part in _apart(pair.annotations, p, q):
            without = versions(pair.annotations, seed, rows=part, share=len(pools))
            if without is not None:
                stream = f"new annotators, pools {p} and {q}, {whose}"
                draws = kappas_with_others(draws, without, of_pair, seed, stream)
        by_pair[p, q] = by_pair[q, p] = draws
    undefined = xr.full_like(by_pair[0, 1], np.nan)
    rows = [
        xr.concat(
            [by_pair.get((p, q), undefined) for q in range(len(pools))],
            dim=xr.IndexVariable(other(POOL), pools), combine_attrs="drop",
        )
        for p in range(len(pools))
    ]  # fmt: skip
    return xr.concat(rows, dim=xr.IndexVariable(POOL, pools), combine_attrs="drop")


def _apart(annotations: xr.Dataset, p: int, q: int) -> Iterator[tuple[str, Flags | None]]:
    """Yield the rows of annotators whose variation is independent of that of others.

    These are those of each pool or, if some people are in both, all: None.
    """
    pool, annotator = (annotations[name].to_numpy() for name in ("pool_code", "annotator_code"))
    if len(np.intersect1d(annotator[pool == p], annotator[pool == q])):
        yield "of both", None
        return
    for place in (p, q):
        yield f"of {place}", pool == place


def _of_two(bootstrap: Bootstrap, p: int, q: int, *, standardized: bool) -> Bootstrap:
    """Keep the labels of two pools for the items that both labelled, if there are any.

    Standardised numbers have mean 0 and variance 1 in both pools, with equal weights of items.
    """
    annotations = bootstrap.annotations
    item, pool = (annotations[name].to_numpy() for name in ("item_code", "pool_code"))
    both = np.intersect1d(item[pool == p], item[pool == q])
    if len(both):
        kept = np.isin(item, both) & np.isin(pool, (p, q))
        annotations, item, pool = annotations.isel({ANNOTATION: kept}), item[kept], pool[kept]
    if standardized:
        value = annotations["value"].to_numpy().copy()
        for place in (p, q):
            own = pool == place
            weight = 1.0 / np.bincount(item[own])[item[own]]
            value[own] -= np.average(value[own], weights=weight)
            value[own] /= np.sqrt(np.average(value[own] ** 2, weights=weight)) or 1.0
        annotations = annotations.assign(value=(ANNOTATION, value))
    return replace(bootstrap, annotations=as_checked(annotations), points=xr.Dataset())


LEAST_DRAWS: Final = 500
"""Minimum number of draws of a chain."""
FEW_LABELS: Final = 5000
"""Up to this number of annotations, twice as many draws are made, because sweeps are quick."""
_WARM_UP: Final = 300
MOST_TIMES: Final = 8
"""Maximum factor by which the number of draws grows if chains were too short and are run again."""


def draws(groups: Groups, plan: ComponentsPlan, settings: Settings) -> Groups:
    """Fit the model; return ``components``, with two groups below it, and with pools ``pools``."""
    annotations = groups["annotations"]
    per_chain = _draws(annotations, settings.draws // settings.chains)
    name = "cross_replication" if plan.pools else "crossed_effects"
    options: dict[str, Any] = {}
    if plan.pools:
        options = {"shared_annotators": plan.shared, "residual": plan.residual}
    section_notes, times = Notes(), 1
    streams = ("components", "components, longer")
    with section_notes.of(name), fitting.all_or_nothing(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # see _warn
        for stream in streams:
            fit = models.get(name).module.fit(
                annotations, family=plan.family, anonymous=plan.anonymous, keep_effects=False,
                draws=times * per_chain, tune=_WARM_UP, chains=settings.chains,
                progressbar=settings.progressbar,
                random_seed=generator(settings.random_seed, stream), **options,
            )  # fmt: skip
            times = min(convergence.longer(fit["posterior"].attrs), MOST_TIMES)
            if times == 1:
                break
    alpha = alpha_of(annotations, fit, settings)
    fit = as_uncertain(fit, alpha, settings.random_seed)
    if plan.pools:
        fit = as_uncertain_between(fit, cross_of(annotations, fit, settings))
    remarks = [*plan.remarks, *([] if plan.anonymous else _of_hidden_annotators(alpha))]
    components = component_draws(fit, _typical(annotations, plan.pools), plan.reference)
    components = components.assign_coords({dim: fit["posterior"][dim] for dim in SAMPLE})
    if plan.pools:
        components["n_items_shared"] = shared_items(annotations)
    finite = all(bool(np.isfinite(components[part]).all()) for part in ("icc", "residual_share"))
    notes = "\n".join([*remarks, *section_notes.texts()])
    components = components.assign_attrs(fit.attrs, notes=notes, finite=int(finite))
    if plan.reference is not None:
        components.attrs["reference"] = str(plan.reference)
    with settings.notes.of(name):
        # With many labels, a chain has half of the draws that were set. Advise 4 times that number.
        _warn(components.attrs, 8 * components.sizes[DRAW])
    # The parts of the fit that metrics such as `dissensus.icc` need.
    constants = fit["constant_data"].to_dataset()
    constants = constants[[part for part in CONSTANTS if part in constants]]
    out = {
        GROUP: components,
        f"{GROUP}/posterior": fit["posterior"].to_dataset(),
        f"{GROUP}/constant_data": constants.assign_attrs(fit.attrs),
    }
    return out | ({"pools": pool_agreement(annotations, settings)} if plan.pools else {})


def _typical(annotations: xr.Dataset, pools: bool) -> xr.DataArray:
    """Return the median number of annotators of a labelled item; with pools, within each pool."""
    if not pools:
        n_annotators = voices_per(annotations, ITEM)
        return xr.DataArray(float(np.median(n_annotators[n_annotators > 0])))
    code = annotations["pool_code"].to_numpy()
    each = []
    for place in range(annotations.sizes[POOL]):
        n_annotators = voices_per(annotations.isel({ANNOTATION: code == place}), ITEM)
        each.append(float(np.median(n_annotators[n_annotators > 0])) if n_annotators.any() else 1.0)
    return xr.DataArray(each, dims=POOL, coords={POOL: annotations[POOL].to_numpy()})


def _draws(annotations: xr.Dataset, n_draws: int) -> int:
    """Choose the draws of a chain: half with many labels, because draws are nearly independent."""
    few = annotations.sizes[ANNOTATION] <= FEW_LABELS
    return max(n_draws, 2 * LEAST_DRAWS) if few else max(n_draws // 2, LEAST_DRAWS)


def _warn(attrs: Mapping[Any, Any], better: int) -> None:
    if not attrs["finite"]:
        text = "The draws of variance components are not all finite numbers: do not use them."
        warnings.warn(text, ConvergenceWarning, stacklevel=2)
        return
    warn_of_chains(
        attrs, f"The chains of {attrs['model']} have not run long enough",
        f"Do not trust the intervals of ICCs; ask for more draws (draws={better}).",
    )  # fmt: skip
