r"""Dirichlet reliability: each annotator gives one label.

The story. Each item has a distribution over labels, its *plausibility* :math:`\theta_i`: the shares
of labels that a large panel would give. Each annotator draws one label from it. The plausibilities
share a prior, which is learned from all items and from the systems' predictions.

.. math::

    \log \kappa &\sim \mathrm{Normal}(\log K, 1.5), \quad a_k \sim \mathrm{Normal}(0, 1), \quad
        b_s, c_s, d_s \sim \mathrm{Normal}(0, 1.5) \\
    m_{ik} &\propto \exp\bigl(a_k + \textstyle\sum_s b_s 1[s \text{ predicts } k]
        + \sum_s d_s z_{isk} + \sum_s c_s \log p_s(k \mid i)\bigr) \\
    \theta_i &\sim \mathrm{Dirichlet}(\kappa m_i) \\
    s_i \mid \theta_i &\sim \mathrm{Multinomial}(n_i, \theta_i)^{\gamma}
        \quad\text{so that}\quad
    \theta_i \mid s_i \sim \mathrm{Dirichlet}(\kappa m_i + \gamma s_i)

with :math:`s_i` the counts of labels. The *reliability* :math:`\gamma` is the weight of one
annotation: with 1, annotations are independent draws; with 2, each counts twice; with 1/2, each
counts half. As :math:`\gamma \to \infty`, the plausibility shrinks to the observed shares. The data
do not identify :math:`\gamma`, which is a setting: compare results over a range of values. To learn
the prior, every annotation counts once, whatever the reliability.

Priors and why. The prior of the plausibilities is learned, with the plausibilities summed out:
``concentration`` :math:`\kappa` (the weight of the prior, in annotations), ``label_weight``
:math:`a` (for up to 30 labels; with more, all are equal), and ``prediction_weight`` :math:`b`. If
systems list several labels in order, there is also ``later_weight`` :math:`d`, with :math:`z_{isk}
= 1 / \log_2(1 + l)` for the l-th label of system s, from the second on. Systems that predict a
probability for every label have ``probability_weight`` :math:`c` instead. The last place of a list
of all labels follows from the others and has :math:`z = 0`. With a flat prior and few annotations
per item, the posterior is mostly prior. For example, a classifier agrees with the hundred
annotators of ChaosNLI on .74 of the items. From three annotations of each item, the estimate is .60
with the flat prior, and .74 with the learned prior. Predictions are evidence. In a model without
them, the posterior of an item with the annotations a, b, b is the same whatever the systems
predict, and all systems are underestimated. A number :math:`\alpha` for ``prior_count`` fixes the
prior at Dirichlet(:math:`\alpha, \dots, \alpha`), as in the source; 1 is uniform over the simplex.

Strata. If the annotations have ``stratum=``, such as the systems whose outputs a judge labelled,
each stratum g has weights of its own, :math:`a_{gk} \sim \mathrm{Normal}(a_k, \sigma_a)`,
:math:`b_{gs} \sim \mathrm{Normal}(b_s, \sigma_b)`, and so for :math:`c` and :math:`d`, with
:math:`\log \sigma \sim \mathrm{Normal}(0, 1)`: ``stratum_label_weight``,
``stratum_prediction_weight`` and so on, and ``label_weight_sd`` and so on. So a label by a judge
that favours one system counts for less in the stratum of that system. Systems with few labelled
outputs borrow information from the others. With more than 30 labels, only first labels, later
labels and probabilities have weights by stratum. Without strata, the estimated share of good
outputs is too high for the system that the judge favours, and too low for the other systems.

Limits. A few annotations do not show how well a system predicts items on which the panel is split
nearly evenly. On these items, the prior treats the system as a member of the panel.
`top_k_accuracy`, `set_accuracy` and `average_overlap` with ``insight="learned"`` add this
uncertainty, and so does `dissensus.evaluate`; the coverage of the intervals on real panels is in
`docs/validation.md`. A system that was trained on these annotations repeats them: fit without its
predictions. The prior has one mode. If items have a true label, which nearly every annotator and
system gives, a prediction can outweigh two or three annotators who agree on another label: use a
model of the truth there.

When to use it. Nominal or ordinal labels, one from each annotator. When not: rankings
(`plackett_luce`, `inverse_rank`); annotators with different errors, or items with one true label
that you want to find (`dawid_skene`); scores on a scale (`normal_scores`). All annotators are
exchangeable in this model, and the order of ordinal labels is not used.

Tables: `arviz.summary` (1.3) does not accept a dimension called "label". Rename it:
``az.summary(fit["posterior"].to_dataset().rename(label="answer"))``. Metrics are not affected.

Source: Stutz et al. (2023), "Evaluating AI systems under uncertain ground truth", Appendix A, and
Section 4 for the plausibility given predictions, p(lambda | b, x), for which the source has no
model. With the plausibilities summed out, the counts of items are Dirichlet-multinomial. The
parameters of the prior are drawn by elliptical slice sampling; given these, the plausibilities are
drawn exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.chunks import chunks_of
from dissensus.data.predictions import Features, check_predicted, features
from dissensus.data.rows import label_counts
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.sampling import fitting
from dissensus.sampling.by_chunk import Settled, by_chunks, settled_prior
from dissensus.sampling.by_item import dirichlet_draws
from dissensus.sampling.learned_prior import (
    INFERENCE,
    LEARNED,
    LearnedPrior,
    in_graph,
    is_learned,
    learned,
    log_marginal,
    no_evidence,
    plausibilities,
    prior_of,
)

KINDS = ("nominal", "ordinal")


def build(
    annotations: xr.Dataset,
    *,
    reliability: float = 1.0,
    prior_count: float | str = LEARNED,
    predictions: xr.Dataset | None = None,
) -> Any:
    """Write the process as a PyMC model.

    Parameters
    ----------
    annotations : xarray.Dataset
        Nominal or ordinal annotations. With ``stratum=``, the prior depends on the item's stratum.
    reliability : float
        Weight of one annotation; > 0.
    prior_count : "learned" or float
        "learned" learns the prior from all items; a number > 0 is the prior count of each label.
    predictions : xarray.Dataset, optional
        From `dissensus.predictions`: evidence for a learned prior. May have further items.

    Returns
    -------
    pymc.Model
        With ``plausibility`` (item, label), the observed ``counts`` (item, label) and the
        parameters of a learned prior, see the card.

    Raises
    ------
    AnnotationError
        If the annotations are of another kind.
    ArgumentError
        If a hyperparameter is not positive, or predictions are given with a fixed prior.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    >>> [v.name for v in dx.models.dirichlet.build(ann).basic_RVs]
    ['concentration', 'label_weight', 'plausibility', 'counts']
    """
    import pymc as pm

    from dissensus.families.conjugate.distributions import PowerMultinomial

    counts, gamma, alpha, evidence = _data(annotations, reliability, prior_count, predictions)
    with pm.Model(coords=_names(annotations) | evidence.coords(), model=None) as model:
        if isinstance(alpha, str):
            concentration, tilt = in_graph(counts.shape[1], evidence, counts.shape[1])
            mean = pm.math.softmax(np.zeros(counts.shape) + tilt, axis=-1)
            parameters = concentration * mean
            # To learn the prior, every annotation counts once, whatever the reliability.
            if gamma != 1.0:
                once = log_marginal(parameters, counts) - log_marginal(parameters, gamma * counts)
                pm.Potential("learned_once", once)
        else:
            parameters = np.full(counts.shape, alpha)
        plausibility = pm.Dirichlet("plausibility", a=parameters, dims=_DIMS)
        PowerMultinomial(
            "counts",
            n=counts.sum(axis=1).astype(np.int64),
            p=plausibility,
            power=gamma,
            observed=counts.astype(np.int64),
            dims=_DIMS,
        )
    return model


def _prior_of_all(annotations: xr.Dataset, settings: Mapping[str, Any]) -> Settled:
    """Learn the prior shared by all chunks."""
    prior = settings["prior_count"]
    if is_learned(prior):
        fitting.require_kind(chunks_of(annotations)[0].read(), KINDS, "dirichlet")
        prior = prior_of(annotations, **settings)
    if not isinstance(prior, LearnedPrior):
        return Settled({}, {})
    labels = annotations[LABEL].to_numpy()
    evidence = features(settings["predictions"], labels[:0], labels).by_stratum(annotations)
    return settled_prior(prior, "prior_count", labels, evidence)


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
    reliability: float = 1.0,
    prior_count: float | str = LEARNED,
    predictions: xr.Dataset | None = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    annotations : xarray.Dataset
        Nominal or ordinal annotations. With ``stratum=``, the prior depends on the item's stratum.
    draws, chains : int
        Numbers of draws and chains. Successive draws of a learned prior are slightly dependent;
        given the prior, draws of plausibilities are independent.
    tune : int
        Number of draws of a learned prior that are discarded first.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    progressbar : bool
        Show progress.
    log_likelihood, posterior_predictive : bool
        Add these groups, computed by the PyMC model. The log-likelihood comes with ``log_prior``,
        for `arviz.psense_summary`. It is of all labels of an item, given the item's own
        plausibility, times ``reliability``. `arviz.loo` cannot leave an item out with it (Pareto k
        is too high without predictions): do not use it to compare models.
    reliability, prior_count, predictions
        As in `build`.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``plausibility`` (chain, draw, item, label) and the learned prior's
        ``concentration``, ``label_weight`` (label), ``prediction_weight`` (system),
        ``later_weight`` (listing_system) and ``probability_weight`` (scored_system), if the model
        has them, with strata also the parameters by stratum, see the card; ``sample_stats``,
        ``observed_data``, ``constant_data``.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    >>> fit = dx.models.dirichlet.fit(ann, draws=10, random_seed=1)
    >>> fit.posterior.plausibility.shape
    (4, 10, 1, 2)
    """
    arguments.flags(log_likelihood=log_likelihood, posterior_predictive=posterior_predictive)
    counts, gamma, alpha, evidence = _data(annotations, reliability, prior_count, predictions)
    size, names = arguments.sample_shape(draws, chains), _names(annotations)
    more = Settled({}, {})
    if is_learned(alpha):
        warm_up, seeds = arguments.whole("tune", tune, 0), generator(random_seed, "prior")
        alpha = learned([(counts, evidence)], size, warm_up, seeds, progressbar=progressbar)
    if isinstance(alpha, LearnedPrior) and alpha.stored:
        more = settled_prior(alpha, "prior_count", names[LABEL], evidence)
    rng = generator(random_seed, "fit")
    seed = fitting.stream_seed(rng)
    stats, constant = dict(more.groups.get("sample_stats", {})), {}
    if isinstance(alpha, LearnedPrior):
        theta = plausibilities(alpha, gamma * counts, evidence, names[ITEM], size, seed)
    else:
        parameters = alpha + gamma * counts
        constant["parameters"] = xr.DataArray(parameters, dims=_DIMS, coords=names)
        theta, density = dirichlet_draws(parameters, names[ITEM], size, seed)
        stats["lp"] = xr.DataArray(density, dims=(CHAIN, DRAW))
    tree = fitting.fitted(
        "dirichlet",
        posterior={
            "plausibility": xr.DataArray(theta, dims=(CHAIN, DRAW, *_DIMS), coords=names),
            **more.groups.get("posterior", {}),
        },
        sample_stats=stats,
        observed_data={"counts": xr.DataArray(counts.astype(np.int64), dims=_DIMS, coords=names)},
        constant_data=constant,
        hyper={
            "reliability": gamma,
            "prior_count": LEARNED if isinstance(alpha, LearnedPrior) else alpha,
            "predictions": int(bool(evidence.systems)),
        },
        inference=INFERENCE if isinstance(alpha, LearnedPrior) else fitting.EXACT,
        diagnostics={**more.attrs, **fitting.repeats(annotations)},
    )
    build_model = partial(
        build, annotations, reliability=reliability, prior_count=prior_count,
        predictions=predictions,
    )  # fmt: skip
    if log_likelihood:
        fitting.attach_log_prior(tree, build_model)
    return fitting.with_predictions(
        tree,
        build_model,
        log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive,
        rng=rng,
        progressbar=progressbar,
    )


_DIMS = (ITEM, LABEL)


def _data(
    annotations: xr.Dataset, reliability: float, prior_count: Any, predictions: xr.Dataset | None
) -> tuple[Floats, float, Any, Features]:
    """Return counts (item, label), reliability, prior count, and features of predictions."""
    fitting.require_kind(annotations, KINDS, "dirichlet")
    counts = label_counts(annotations).astype(np.float64)
    gamma = arguments.positive("reliability", reliability)
    if isinstance(prior_count, LearnedPrior) or is_learned(prior_count):
        names = _names(annotations)
        evidence = features(predictions, names[ITEM], names[LABEL]).by_stratum(annotations)
        if is_learned(prior_count):
            check_predicted(names[ITEM], predictions)
        return counts, gamma, prior_count, evidence
    alpha = arguments.positive("prior_count", prior_count, other=LEARNED)
    no_evidence(predictions, "prior_count", f"{alpha:g}")
    return counts, gamma, alpha, features(None, *_names(annotations).values())


def _names(annotations: xr.Dataset) -> dict[str, Any]:
    return {dim: annotations[dim].to_numpy() for dim in _DIMS}
