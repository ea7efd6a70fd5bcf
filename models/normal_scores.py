r"""Normal scores: numbers that vary around the mean of an item.

The story. An item has a mean score and a variance. Each annotator's score is a draw around it.

.. math::

    \sigma_i^2 &\sim \mathrm{InverseGamma}(a, b) \\
    \mu_i \mid \sigma_i^2 &\sim \mathrm{Normal}(m,\ \sigma_i^2 / k) \\
    y_{ir} &\sim \mathrm{Normal}(\mu_i,\ \sigma_i^2)

The plausibility of an event, such as "toxic" for a score below c, is
:math:`\Phi((c - \mu_i)/\sigma_i)`. `dissensus.event_plausibility` returns it for all metrics of
plausibilities.

Priors and why. ``prior=(m, k, a, b)``: the prior mean counts as k scores, the prior variance as 2a
scores, and the prior mean of the variance is b/(a - 1). By default the four numbers are learned
from all items, with means and variances integrated out, and differ between draws. Items with few
scores are shrunk towards the other items as far as the data support this. With c the middle and s
the spread of the scores, and v the typical variance of an item,

.. math::

    m = c + s\,x_1, \quad k = e^{x_2}, \quad a = 2 e^{x_3}, \quad b = a v\, e^{x_4}, \qquad
    x \sim \mathrm{Normal}(0, (1, 1.5, 1, 1)).

Predictions are evidence for a learned prior: the prior mean of item i is

.. math:: m + \sum_j w_j\, (p_{ij} - \bar p_j), \qquad
    w_j \sim \mathrm{Normal}(0,\ t / (\sqrt J\, \mathrm{sd}(p_j)))

with :math:`p_{ij}` the number that system j of J predicts, :math:`w_j` its weight,
``prediction_weight``, and t the standard deviation of items' mean scores, at least s. Without
predictions in the prior, metrics would count as error what a system knows about an item beyond the
item's few scores.

Strata. If the annotations have ``stratum=``, such as the systems whose outputs were scored, each
stratum has a prior mean and weights of its own around m and w: ``stratum_prior_mean`` and
``stratum_prediction_weight``. Their standard deviations between strata are learned:
``prior_mean_sd``, in scores, with prior s times LogNormal(0, 1), and ``prediction_weight_sd``, in
units of the prior standard deviation of the weight, with prior LogNormal(0, 1).

In the posterior the four numbers are ``prior_mean`` m, ``prior_count`` k, ``prior_shape`` a and
``prior_variance`` b/a. At most a thousand items are used to learn the prior. On a coarse scale,
items with equal scores count with the variance of rounding, not with 0.

When to use it. Scores that are evenly spaced numbers: toxicity -2..2, aesthetics 1..10, direct
assessment 0..100. When not: if annotators use the scale differently, or their agreement is the
question (`crossed_effects`); if many scores are at an end of the scale, since a normal distribution
has no ends; for a few ordered words. Do not use predictions in three cases. With three systems or
more and fewer than 20 items per system, the systems' errors are overestimated (a warning says so).
If annotators agree much less on some items than on others, the model assumes that the means of
these items are farther from their prediction. If the same few annotators score all items and differ
in leniency, intervals of items' means and of `dissensus.score_error` are too narrow; `evaluate`
widens those of errors and correlations.

Source: Stutz et al. (2023), Appendix A, where the prior is estimated and then assumed known. Given
the prior, the posterior is conjugate and drawn exactly. The prior is drawn by elliptical slice
sampling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.predictions import Numbers, check_predicted, numbers
from dissensus.data.rows import given_numbers
from dissensus.dims import ANNOTATION, CHAIN, DRAW, ITEM
from dissensus.errors import AnnotationError, ArgumentError
from dissensus.families.conjugate.normal_prior import (
    INFERENCE,
    NormalPrior,
    grid_step,
    in_graph,
    learned,
    log_marginal,
    teachers,
    teaching,
    units_of,
    warn_of_many,
)
from dissensus.kernels import normal
from dissensus.kernels.random import generator
from dissensus.sampling import fitting
from dissensus.sampling.by_chunk import Settled, by_chunks
from dissensus.sampling.by_item import normal_draws
from dissensus.sampling.learned_prior import LEARNED, is_learned, no_evidence

KINDS = ("continuous", "ordinal")
Prior = tuple[float, float, float, float]
_SIZE = 1e100
_ANY: Prior = (0.0, 1.0, 1.0, 1.0)


def build(
    annotations: xr.Dataset,
    *,
    prior: Prior | str = LEARNED,
    predictions: xr.Dataset | None = None,
) -> Any:
    """Write the process as a PyMC model.

    Parameters
    ----------
    annotations : xarray.Dataset
        Continuous annotations, or ordinal ones whose labels are numbers. With ``stratum=``, a
        learned prior depends on the item's stratum.
    prior : "learned" or (m, k, a, b)
        "learned" learns the prior from all items; for the numbers see the card.
    predictions : xarray.Dataset, optional
        Numbers of systems, from `dissensus.predictions`: evidence for a learned prior. May have
        further items.

    Returns
    -------
    pymc.Model
        With ``mean`` and ``variance`` (item), the observed ``score`` (annotation) and the
        parameters of a learned prior, see the card.

    Raises
    ------
    AnnotationError
        If the annotations are of another kind, or a prior cannot be learned from them.
    ArgumentError
        If the prior is not four numbers, the last three positive, or predictions are
        given with a fixed prior.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [0.5, 1.5]})
    >>> [v.name for v in dx.models.normal_scores.build(ann, prior=(0, 1, 2, 2)).basic_RVs]
    ['variance', 'mean', 'score']
    """
    import pymc as pm

    score, item, data, before, evidence = _data(annotations, prior, predictions)
    coords = {ITEM: annotations[ITEM].to_numpy(), ANNOTATION: np.arange(len(score))}
    with pm.Model(coords=coords | evidence.coords(), model=None) as model:
        if before is None:
            before = in_graph(units_of(data), evidence)
            teacher_items = teachers(coords[ITEM], data)
            taught = teaching(data, grid_step(score), teacher_items)
            if not np.array_equal(taught, teaching(data, 0.0, data.n > 0)):
                # The prior is learned from rounded scores, or from a part of very many items.
                m, *rest = before
                by_item = evidence.systems or evidence.strata
                taught_prior = (m[teacher_items.nonzero()] if by_item else m, *rest)
                log_taught = log_marginal(taught_prior, taught)
                pm.Potential("learned_from", log_taught - log_marginal(before, data))
        m, k, a, b = before
        variance = pm.InverseGamma("variance", alpha=a, beta=b, dims=ITEM)
        mean = pm.Normal("mean", mu=m, sigma=(variance / k) ** 0.5, dims=ITEM)
        pm.Normal(
            "score", mu=mean[item], sigma=variance[item] ** 0.5, observed=score, dims=ANNOTATION
        )
    return model


def _prior_of_all(annotations: xr.Dataset, settings: Mapping[str, Any]) -> Settled:
    """Learn the prior shared by all chunks."""
    if not is_learned(settings["prior"]):
        return Settled({}, {})
    prior = _learned(annotations, settings)
    return Settled({"prior": prior._replace(stored=False)}, prior.diagnosed(), prior.groups())


def _learned(annotations: xr.Dataset, settings: Mapping[str, Any]) -> NormalPrior:
    score, _, data, _, evidence = _data(annotations, LEARNED, settings["predictions"])
    teacher_items = teachers(annotations[ITEM].to_numpy(), data)
    warn_of_many(int(teacher_items.sum()), evidence)
    return learned(
        teaching(data, grid_step(score), teacher_items), evidence.of(teacher_items),
        units_of(data), arguments.sample_shape(settings["draws"], settings["chains"]),
        arguments.whole("tune", settings["tune"], 0), generator(settings["random_seed"], "prior"),
    )  # fmt: skip


@by_chunks(settle=_prior_of_all)
def fit(
    annotations: xr.Dataset,
    *,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
    random_seed: Any = None,
    progressbar: bool = True,
    log_likelihood: bool = False,
    posterior_predictive: bool = False,
    prior: Prior | str = LEARNED,
    predictions: xr.Dataset | None = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    annotations : xarray.Dataset
        Continuous annotations, or ordinal ones whose labels are numbers. With ``stratum=``, a
        learned prior depends on the item's stratum.
    draws, chains : int
        Numbers of draws and chains. Successive draws of a learned prior are slightly dependent;
        given the prior, draws of items are independent.
    tune : int
        Number of draws of a learned prior that are discarded first.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    progressbar : bool
        Show progress of the two groups below.
    log_likelihood, posterior_predictive : bool
        Add these groups, computed by the PyMC model. The log-likelihood comes with ``log_prior``,
        for `arviz.psense_summary`.
    prior, predictions
        As in `build`.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``mean`` and ``variance`` (chain, draw, item), and the learned prior's
        ``prior_mean``, ``prior_count``, ``prior_shape``, ``prior_variance`` and
        ``prediction_weight`` (system), if there are predictions; with strata also the parameters
        by stratum, see the card.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": [0.5, 1.5]})
    >>> fit = dx.models.normal_scores.fit(ann, prior=(0, 1, 2, 2), draws=10, random_seed=1)
    >>> sorted(fit.posterior.data_vars)
    ['mean', 'variance']
    """
    arguments.flags(log_likelihood=log_likelihood, posterior_predictive=posterior_predictive)
    score, item, data, before, evidence = _data(annotations, prior, predictions)
    names, size = {ITEM: annotations[ITEM].to_numpy()}, arguments.sample_shape(draws, chains)
    attrs: dict[str, Any] = {}
    groups: dict[str, dict[str, xr.DataArray]] = {}
    constant = {"item_code": xr.DataArray(item, dims=ANNOTATION)}
    stated = before is not None
    if before is None:
        settings = {"draws": draws, "chains": chains, "tune": tune, "random_seed": random_seed,
                    "predictions": predictions}  # fmt: skip
        shared = prior if isinstance(prior, NormalPrior) else _learned(annotations, settings)
        before = shared.each(evidence)
        if shared.stored:
            attrs, groups = shared.diagnosed(), shared.groups()
    else:
        for name, value in normal.update(before, data)._asdict().items():
            constant[f"posterior_{name}"] = xr.DataArray(value, dims=ITEM, coords=names)
    rng = generator(random_seed, "fit")
    mean, variance, density = normal_draws(
        before, data, names[ITEM], size, fitting.stream_seed(rng)
    )
    dims = (CHAIN, DRAW, ITEM)
    stats = groups.get("sample_stats", {})
    if stated:
        stats = {"lp": xr.DataArray(density, dims=(CHAIN, DRAW))}
    tree = fitting.fitted(
        "normal_scores",
        posterior={
            "mean": xr.DataArray(mean, dims=dims, coords=names),
            "variance": xr.DataArray(variance, dims=dims, coords=names),
            **groups.get("posterior", {}),
        },
        sample_stats=stats,
        observed_data={"score": xr.DataArray(score, dims=ANNOTATION)},
        constant_data=constant,
        hyper={
            "prior": [float(value) for value in before] if stated else LEARNED,
            "predictions": int(bool(evidence.systems)),
        },
        inference=fitting.EXACT if stated else INFERENCE,
        diagnostics={**attrs, **fitting.repeats(annotations)},
    )
    if log_likelihood:
        fitting.attach_log_prior(
            tree, lambda: build(annotations, prior=prior, predictions=predictions)
        )
    return fitting.with_predictions(
        tree,
        # Scores depend only on means and variances, so that any prior serves.
        lambda: build(annotations, prior=prior if stated else _ANY),
        log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive,
        rng=rng,
        progressbar=progressbar,
    )


def _data(
    annotations: xr.Dataset, prior: Any, predictions: xr.Dataset | None
) -> tuple[Any, Any, normal.Moments, Any, Numbers]:
    """Return scores, item codes, moments of items, the prior (None: learned), and predictions."""
    fitting.require_kind(annotations, KINDS, "normal_scores")
    score = given_numbers(annotations)
    item = annotations["item_code"].to_numpy()
    _require_size(score)
    data = normal.moments(score, item, annotations.sizes[ITEM])
    items = annotations[ITEM].to_numpy()
    evidence = numbers(predictions, items).by_stratum(annotations)
    if is_learned(prior):
        check_predicted(items, predictions)
    if is_learned(prior) or isinstance(prior, NormalPrior):
        return score, item, data, None, evidence
    given = _given(prior)
    no_evidence(predictions, "prior", prior)
    return score, item, data, given, evidence


def _require_size(score: Any) -> None:
    """Raise on scores whose sums of squares would overflow or underflow."""
    largest = float(np.abs(score).max(initial=0.0))
    if largest > _SIZE:
        raise AnnotationError(
            "annotations", expected=f"scores from {-_SIZE:g} to {_SIZE:g}",
            found=f"a score of size {largest:.3g}", hint="Use another unit of scores",
        )  # fmt: skip
    apart = float(np.ptp(score)) if len(score) else 0.0
    if 0.0 < apart < 1 / _SIZE:
        raise AnnotationError(
            "annotations", expected=f"scores that differ by {1 / _SIZE:g} or more",
            found=f"differences up to {apart:.3g}", hint="Use another unit of scores",
        )  # fmt: skip


def _given(prior: Prior) -> normal.NormalGamma:
    try:
        numbers = np.array([float(value) for value in prior])
    except (TypeError, ValueError):
        numbers = np.array([])
    if len(numbers) != 4 or not np.isfinite(numbers).all() or min(numbers[1:]) <= 0:
        raise ArgumentError(
            "prior",
            expected=f"{LEARNED!r}, or (m, k, a, b) with k, a and b positive",
            found=repr(prior),
        )
    return normal.NormalGamma(*numbers)
