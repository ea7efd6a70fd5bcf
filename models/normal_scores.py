r"""Normal scores: annotators rate on a scale, and disagree around a mean.

The story. An item has a mean score and a spread; each annotator's score is a draw around it.

.. math::

    \sigma_i^2 &\sim \mathrm{InverseGamma}(a, b) \\
    \mu_i \mid \sigma_i^2 &\sim \mathrm{Normal}(m,\ \sigma_i^2 / k) \\
    y_{ir} &\sim \mathrm{Normal}(\mu_i,\ \sigma_i^2)

The plausibility of an event, such as "toxic" for a score below c, is
:math:`\Phi((c - \mu_i)/\sigma_i)`: see `dissensus.event_plausibility`, whose result all metrics of
plausibilities take.

Priors and why. ``prior=(m, k, a, b)``: k is how many scores the prior mean is worth, 2a how many
the prior variance is worth, b/(a - 1) its mean. With ``prior=None`` the four are estimated from
all items together by maximum marginal likelihood (empirical Bayes, as the source does), written
to the attributes; items with few scores then lean on the others. That treats the estimate as known,
which is harmless with hundreds of items and not with five: state a prior there. On a coarse
scale, items whose scores all agree count in the estimate with the spread of rounding, not with 0.

When to use it. Scores that are numbers with at least an even spacing: toxicity -2..2, aesthetics
1..10, direct assessment 0..100. When not: annotators who use the scale differently, or whose
agreement is the question (`crossed_effects`); scores piled up at an end of the scale, where a
normal spread reaches past it; a handful of ordered words.

Source: Stutz et al. (2023), Appendix A. The posterior is conjugate, and drawn exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dissensus import fitting
from dissensus._by_chunks import Settled, by_chunks
from dissensus._conjugate import normal_draws
from dissensus.arrays import normal_gamma
from dissensus.arrays.empirical_bayes import estimate_prior, grid_step
from dissensus.arrays.seeds import generator
from dissensus.dims import ANNOTATION, CHAIN, DRAW, ITEM
from dissensus.errors import AnnotationError, ArgumentError
from dissensus.registry import check_flags
from dissensus.schema import given_numbers

KINDS = ("continuous", "ordinal")
Prior = tuple[float, float, float, float]
_SIZE = 1e100
_ESTIMATED = "estimated from all items"


def build(annotations: xr.Dataset, *, prior: Prior | None = None) -> Any:
    """Write the process as a PyMC model.

    Parameters
    ----------
    annotations : xarray.Dataset
        Continuous annotations, or ordinal ones whose labels are numbers.
    prior : (m, k, a, b), optional
        See the model's card; estimated from the data by default.

    Returns
    -------
    pymc.Model
        With ``mean`` and ``variance`` (item), and the observed ``score`` (annotation).

    Raises
    ------
    AnnotationError
        If the annotations are of another kind, or the prior cannot be estimated from them.
    ArgumentError
        If the prior is not four numbers, the last three positive.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [0.5, 1.5]})
    >>> [v.name for v in dx.models.normal_scores.build(ann, prior=(0, 1, 2, 2)).basic_RVs]
    ['variance', 'mean', 'score']
    """
    import pymc as pm

    score, item, _, before = _data(annotations, prior)
    m, k, a, b = before
    coords = {ITEM: annotations[ITEM].to_numpy(), ANNOTATION: np.arange(len(score))}
    with pm.Model(coords=coords) as model:
        variance = pm.InverseGamma("variance", alpha=a, beta=b, dims=ITEM)
        mean = pm.Normal("mean", mu=m, sigma=(variance / k) ** 0.5, dims=ITEM)
        pm.Normal(
            "score", mu=mean[item], sigma=variance[item] ** 0.5, observed=score, dims=ANNOTATION
        )
    return model


def _prior_of_all(annotations: xr.Dataset, settings: Mapping[str, Any]) -> Settled:
    """Return the prior that all chunks share: where it is not given, it is estimated from all."""
    if settings.get("prior") is not None:
        return Settled({}, {})
    prior = tuple(float(value) for value in _data(annotations, None)[-1])
    return Settled({"prior": prior}, {"hyper_prior_source": _ESTIMATED})


@by_chunks(settle=_prior_of_all)
def fit(
    annotations: xr.Dataset,
    *,
    draws: int = 1000,
    tune: int = 500,  # noqa: ARG001 (all models share these arguments; nothing to tune here)
    chains: int = 4,
    random_seed: Any = None,
    progressbar: bool = True,
    log_likelihood: bool = False,
    posterior_predictive: bool = False,
    prior: Prior | None = None,
) -> xr.DataTree:
    """Draw from the posterior, exactly.

    Parameters
    ----------
    annotations : xarray.Dataset
        Continuous annotations, or ordinal ones whose labels are numbers.
    draws, chains : int
        How many; all draws are independent.
    tune : int
        Not used: there is nothing to warm up.
    random_seed : int or numpy.random.Generator, optional
        Makes the draws repeatable.
    progressbar : bool
        For the two groups below only.
    log_likelihood, posterior_predictive : bool
        Add these groups, from the PyMC model.
    prior : (m, k, a, b), optional
        As in `build`; the one used is in the attribute ``hyper_prior``.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``mean`` and ``variance`` (chain, draw, item).

    Raises
    ------
    AnnotationError, ArgumentError
        As in `build`.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [0.5, 1.5]})
    >>> fit = dx.models.normal_scores.fit(ann, prior=(0, 1, 2, 2), draws=10, random_seed=1)
    >>> sorted(fit.posterior.data_vars)
    ['mean', 'variance']
    """
    check_flags(log_likelihood=log_likelihood, posterior_predictive=posterior_predictive)
    score, item, data, before = _data(annotations, prior)
    m, k, a, b = (float(value) for value in before)
    after = normal_gamma.update(before, data)
    rng = generator(random_seed, "fit")
    names, size = {ITEM: annotations[ITEM].to_numpy()}, fitting.sample_shape(draws, chains)
    mean, variance, density = normal_draws(after, names[ITEM], size, fitting.stream_seed(rng))
    dims = (CHAIN, DRAW, ITEM)
    tree = fitting.fitted(
        "normal_scores",
        posterior={
            "mean": xr.DataArray(mean, dims=dims, coords=names),
            "variance": xr.DataArray(variance, dims=dims, coords=names),
        },
        sample_stats={"lp": xr.DataArray(density, dims=(CHAIN, DRAW))},
        observed_data={"score": xr.DataArray(score, dims=ANNOTATION)},
        constant_data={
            "item_code": xr.DataArray(item, dims=ANNOTATION),
            **{
                f"posterior_{name}": xr.DataArray(value, dims=ITEM, coords=names)
                for name, value in after._asdict().items()
            },
        },
        hyper={
            "prior": [m, k, a, b],
            "prior_source": "given" if prior is not None else _ESTIMATED,
        },
    )
    return fitting.with_predictions(
        tree,
        lambda: build(annotations, prior=(m, k, a, b)),
        log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive,
        rng=rng,
        progressbar=progressbar,
    )


def _data(
    annotations: xr.Dataset, prior: Prior | None
) -> tuple[Any, Any, normal_gamma.Moments, normal_gamma.NormalGamma]:
    """Return scores, their items, per-item moments, and the prior."""
    fitting.require_kind(annotations, KINDS, "normal_scores")
    score = given_numbers(annotations)
    item = annotations["item_code"].to_numpy()
    _require_size(score)
    data = normal_gamma.moments(score, item, annotations.sizes[ITEM])
    if prior is None:
        return score, item, data, estimate_prior(data, grid_step(score))
    return score, item, data, _given(prior)


def _require_size(score: Any) -> None:
    """Raise on scores whose squares, and sums of these, no number could hold."""
    largest = float(np.abs(score).max(initial=0.0))
    if largest > _SIZE:
        raise AnnotationError(
            "annotations", expected=f"scores from {-_SIZE:g} to {_SIZE:g}",
            found=f"one of the size {largest:.3g}", hint="Read them in another unit",
        )  # fmt: skip


def _given(prior: Prior) -> normal_gamma.NormalGamma:
    try:
        numbers = np.array([float(value) for value in prior])
    except (TypeError, ValueError):
        numbers = np.array([])
    if len(numbers) != 4 or not np.isfinite(numbers).all() or min(numbers[1:]) <= 0:
        raise ArgumentError(
            "prior", expected="(m, k, a, b) with k, a and b positive", found=repr(prior)
        )
    return normal_gamma.NormalGamma(*numbers)
