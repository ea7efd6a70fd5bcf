r"""Variation of systems' metrics over annotators, if the same few annotators labelled all items.

A fit assumes that each label is by an annotator of its own. If each of five annotators labelled all
items, what is peculiar to one of them is in the labels of all items, and other five annotators
would change the agreement of a system with the panel by about twice the standard deviation of the
posterior, and its error by more (docs/validation.md). So the model is fitted again without each
annotator, and the jackknife over annotators gives the variance. Errors of numbers are widened also
if each of up to twenty annotators scored a part of the items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from dissensus.data.schema import as_checked
from dissensus.dims import ANNOTATION, CHAIN, DRAW, SAMPLE, SYSTEM
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.sampling.chains import tracked

NEW_ANNOTATORS: Final = "new_annotators"
"""Attribute of ``metrics`` and ``agreement``: whether intervals contain the variation between
annotators."""
END: Final = 0.945
"""Upper end of an 89 % interval, as a probability."""
_GROUPS: Final = 8
"""Maximum number of fits; with more annotators, groups of annotators are left out."""


def covariance(
    annotations: xr.Dataset, estimate: Callable[[xr.Dataset], Floats], random_seed: Any,
    progressbar: bool = False,
) -> tuple[Floats, int]:  # fmt: skip
    r"""Return the covariance of estimates over annotators (estimate, estimate), and the freedom.

    .. math:: \frac{G - 1}{G} \sum_g (t_{-g} - \bar t)(t_{-g} - \bar t)^\top

    is the delete-a-group jackknife with G groups of annotators, Shao & Tu (1995), *The Jackknife
    and Bootstrap*, section 2.3. ``estimate`` returns the estimates from some annotations;
    undefined ones count as the mean of the others.
    """
    people, annotator = np.unique(annotations["annotator_code"].to_numpy(), return_inverse=True)
    n_groups = min(len(people), _GROUPS)
    order = generator(random_seed, "groups of annotators").permutation(len(people))
    group = (order % n_groups)[annotator]
    left_out = tracked(range(n_groups), "Fitting without some annotators", progressbar)
    parts = (as_checked(annotations.isel({ANNOTATION: group != g})) for g in left_out)
    each = np.ma.masked_invalid(np.stack([estimate(part) for part in parts]))
    apart = (each - each.mean(axis=0)).filled(0.0)
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


class _Scale(NamedTuple):
    """The scale on which a metric gets noise, and the way back."""

    forth: Callable[[Any], Any]
    back: Callable[[Any], Any]


_NEAR_1: Final = 1.0 - 1e-6
"""Maximum absolute correlation: Fisher's scale is infinite at 1."""
_SHARE: Final = _Scale(lambda x: x, lambda x: x.clip(0.0, 1.0))
_SCALES: Final = {
    # A shift of all scores, such as the annotators' leniency, changes these two by as much. An
    # error that noise makes negative counts as positive, as a shift in the other direction.
    "mean_absolute_error": _Scale(lambda x: x, abs),
    "mean_squared_error": _Scale(np.sqrt, lambda x: x**2),
    "correlation": _Scale(lambda x: np.arctanh(x.clip(-_NEAR_1, _NEAR_1)), np.tanh),
    "log_score": _Scale(lambda x: x, lambda x: x.clip(max=0.0)),
    "brier_score": _Scale(lambda x: x, lambda x: x.clip(0.0, 2.0)),
}
"""Scales of metrics that are not shares between 0 and 1."""
_MODELS: Final = ("dirichlet", "normal_scores")
"""Models whose metrics get the variation between annotators."""


def can_be_widened(model: str) -> bool:
    """Return whether metrics of a model can get the variation between annotators."""
    return model in _MODELS


def jackknifed(
    draws: xr.Dataset, annotations: xr.Dataset, estimate: Callable[[xr.Dataset], xr.Dataset],
    at: Mapping[str, Any], random_seed: Any, progressbar: bool = False,
) -> xr.Dataset:  # fmt: skip
    """Add noise to metrics (..., system), so that their variance is the jackknife's, if larger.

    ``estimate`` returns means of the same metrics (system) from some annotations. The variance of
    draws is taken ``at`` one reliability and scope. The noise of all metrics and systems is drawn
    together.
    """
    names = [str(name) for name in draws]
    scales = [_SCALES.get(name, _SHARE) for name in names]
    scaled = [scale.forth(draws[name]) for name, scale in zip(names, scales, strict=True)]

    def estimates(part: xr.Dataset) -> Floats:
        means = estimate(part).sel({SYSTEM: draws[SYSTEM]})
        each = (scale.forth(means[name]) for name, scale in zip(names, scales, strict=True))
        return np.concatenate([values.to_numpy() for values in each])

    between, freedom = covariance(annotations, estimates, random_seed, progressbar)
    posterior = np.concatenate([x.sel(at).var(SAMPLE).to_numpy() for x in scaled])
    shape = tuple(draws.sizes[dim] for dim in SAMPLE)
    drawn = _noise(posterior, between, freedom, shape, random_seed)
    out = draws.copy()
    for name, scale, before, part in zip(
        names, scales, scaled, np.split(drawn, len(names), axis=-1), strict=True
    ):
        wide = scale.back(before + xr.DataArray(part, dims=(CHAIN, DRAW, SYSTEM)))
        out[name] = wide.transpose(*draws[name].dims).assign_attrs(draws[name].attrs)
    return _possible(out).assign_attrs({NEW_ANNOTATORS: 1})


_NOT_ABOVE: Final = (("top_1_accuracy", "top_2_accuracy"), ("top_2_accuracy", "top_3_accuracy"))
"""Pairs of metrics of which the first cannot be larger."""


def _possible(draws: xr.Dataset) -> xr.Dataset:
    """Return draws in which accuracies are in order, after noise was added to each metric.

    F1 keeps noise of its own: in a draw it may differ from the F1 of the other rates.
    """
    values: dict[Any, Any] = dict(draws.data_vars)
    for lower, upper in _NOT_ABOVE:
        if {lower, upper} <= set(values):
            values[upper] = np.maximum(values[lower], values[upper])
    for k in (2, 3):  # if the set is right, so is one of its labels
        right, whole = f"top_{k}_accuracy", f"top_{k}_set_accuracy"
        if {right, whole} <= set(values):
            values[whole] = np.minimum(values[whole], values[right])
    if {"sensitivity", "specificity"} <= set(values):
        accuracy = values["top_1_accuracy"]  # a mean of the two rates
        first, second = values["sensitivity"], values["specificity"]
        both, above = first.notnull() & second.notnull(), first >= second
        for name, rate, upper in (("sensitivity", first, above), ("specificity", second, ~above)):
            at_least, at_most = np.maximum(rate, accuracy), np.minimum(rate, accuracy)
            alone = accuracy.where(rate.notnull())  # without items for the other rate
            values[name] = xr.where(both, xr.where(upper, at_least, at_most), alone)
    if {"mean_absolute_error", "mean_squared_error"} <= set(values):
        # A mean of squares is at least the square of the mean.
        square = values["mean_absolute_error"] ** 2
        values["mean_squared_error"] = np.maximum(values["mean_squared_error"], square)
    return draws.assign({name: x.assign_attrs(draws[name].attrs) for name, x in values.items()})


def _noise(
    posterior: Floats, between: Floats, freedom: int, shape: tuple[int, ...], random_seed: Any
) -> Floats:
    """Draw noise (chain, draw, estimate) that makes the variance of draws the jackknife's.

    ``posterior`` is the variance of the draws (estimate), and ``between`` the jackknife's
    covariance, which contains that of single labels, as the posterior does. The noise is normal,
    scaled to the 89 % interval of a t distribution: with two degrees of freedom, a t variate has no
    variance.
    """
    variance = np.diag(between)
    ratio = np.divide(posterior, variance, out=np.ones_like(variance), where=variance > 0)
    scale = np.sqrt(np.maximum(1.0 - np.nan_to_num(ratio, nan=1.0), 0.0))
    root = symmetric_root(between) * scale
    rng = generator(random_seed, "other annotators")
    drawn = as_wide_as_t(freedom) * rng.standard_normal((*shape, len(root))) @ root
    return np.asarray(drawn)
