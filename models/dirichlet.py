r"""Dirichlet reliability: each annotator names one label.

The story. Behind each item stands a distribution over labels, its *plausibility*
:math:`\theta_i`: what a large panel of such annotators would say of it. Each annotator drew one
label from it.

.. math::

    \theta_i &\sim \mathrm{Dirichlet}(\alpha, \dots, \alpha) \\
    s_i \mid \theta_i &\sim \mathrm{Multinomial}(n_i, \theta_i)^{\gamma}
        \quad\text{so that}\quad
    \theta_i \mid s_i \sim \mathrm{Dirichlet}(\alpha + \gamma s_i)

with :math:`s_i` the counts of labels. The *reliability* :math:`\gamma` says how much one label
counts: 1 takes the annotators at their word as independent draws, 2 counts each of them twice,
1/2 half; with :math:`\gamma \to \infty` the plausibility shrinks to the observed shares. The data
do not tell :math:`\gamma`: it is a statement of trust, and results should be looked at over a
range of it.

Priors and why. ``prior_count`` is :math:`\alpha`, the labels each label is given in advance. 1 is
uniform over the simplex, mild with a few labels and strong with many: with 16 labels and three
annotators it keeps 16/19 of the mass. 1/K gives all labels together the weight of one annotator.

When to use it. Nominal or ordinal labels, one from each annotator, few labels. When not:
annotators who name several labels in order (`plackett_luce`, `inverse_rank`); annotators who
err in ways of their own, or labels with one right answer that you want to find (`dawid_skene`);
scores on a scale (`normal_scores`). All annotators are exchangeable here, and the order of
ordinal labels is not used.

To tabulate: `arviz.summary` (1.3) cannot take a dimension called "label"; rename it on the way,
``az.summary(fit["posterior"].to_dataset().rename(label="answer"))``. Metrics are not concerned.

Source: Stutz et al. (2023), "Evaluating AI systems under uncertain ground truth",
Appendix A. The posterior is conjugate, and drawn exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import fitting
from dissensus._by_chunks import by_chunks
from dissensus._conjugate import dirichlet_draws
from dissensus.arrays.seeds import generator
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL
from dissensus.registry import check_flags
from dissensus.schema import label_counts

KINDS = ("nominal", "ordinal")


def build(annotations: xr.Dataset, *, reliability: float = 1.0, prior_count: float = 1.0) -> Any:
    """Write the process as a PyMC model.

    Parameters
    ----------
    annotations : xarray.Dataset
        Nominal or ordinal annotations.
    reliability : float
        How much one label counts; > 0.
    prior_count : float
        Labels that each label is given in advance; > 0.

    Returns
    -------
    pymc.Model
        With ``plausibility`` (item, label) and the observed ``counts`` (item, label).

    Raises
    ------
    AnnotationError
        If the annotations are of another kind.
    ArgumentError
        If a hyperparameter is not positive.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    >>> [v.name for v in dx.models.dirichlet.build(ann).basic_RVs]
    ['plausibility', 'counts']
    """
    import pymc as pm

    from dissensus.distributions import PowerMultinomial

    counts, gamma, alpha = _data(annotations, reliability, prior_count)
    with pm.Model(coords=_names(annotations)) as model:
        plausibility = pm.Dirichlet("plausibility", a=np.full(counts.shape, alpha), dims=_DIMS)
        PowerMultinomial(
            "counts", n=counts.sum(axis=1), p=plausibility, power=gamma, observed=counts, dims=_DIMS
        )
    return model


@by_chunks()
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
    reliability: float = 1.0,
    prior_count: float = 1.0,
) -> xr.DataTree:
    """Draw from the posterior, exactly.

    Parameters
    ----------
    annotations : xarray.Dataset
        Nominal or ordinal annotations.
    draws, chains : int
        How many; all draws are independent, chains only keep ArviZ's shape.
    tune : int
        Not used: there is nothing to warm up.
    random_seed : int or numpy.random.Generator, optional
        Makes the draws repeatable.
    progressbar : bool
        For the two groups below only.
    log_likelihood, posterior_predictive : bool
        Add these groups, from the PyMC model. The log-likelihood carries the factor
        ``reliability``, so compare models by it at reliability 1 only.
    reliability, prior_count : float
        As in `build`.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``plausibility`` (chain, draw, item, label), and ``sample_stats``,
        ``observed_data``, ``constant_data``.

    Raises
    ------
    AnnotationError, ArgumentError
        As in `build`.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": [1, 2], "label": ["a", "b"]})
    >>> fit = dx.models.dirichlet.fit(ann, draws=10, random_seed=1)
    >>> fit.posterior.plausibility.shape
    (4, 10, 1, 2)
    """
    check_flags(log_likelihood=log_likelihood, posterior_predictive=posterior_predictive)
    counts, gamma, alpha = _data(annotations, reliability, prior_count)
    rng = generator(random_seed, "fit")
    parameters = alpha + gamma * counts
    names, size = _names(annotations), fitting.sample_shape(draws, chains)
    theta, density = dirichlet_draws(parameters, names[ITEM], size, fitting.stream_seed(rng))
    tree = fitting.fitted(
        "dirichlet",
        posterior={"plausibility": xr.DataArray(theta, dims=(CHAIN, DRAW, *_DIMS), coords=names)},
        sample_stats={"lp": xr.DataArray(density, dims=(CHAIN, DRAW))},
        observed_data={"counts": xr.DataArray(counts, dims=_DIMS, coords=names)},
        constant_data={"parameters": xr.DataArray(parameters, dims=_DIMS, coords=names)},
        hyper={"reliability": gamma, "prior_count": alpha},
    )
    return fitting.with_predictions(
        tree,
        lambda: build(annotations, reliability=reliability, prior_count=prior_count),
        log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive,
        rng=rng,
        progressbar=progressbar,
    )


_DIMS = (ITEM, LABEL)


def _data(
    annotations: xr.Dataset, reliability: float, prior_count: float
) -> tuple[npt.NDArray[np.int64], float, float]:
    """Return the counts of labels (item, label), and the checked hyperparameters."""
    fitting.require_kind(annotations, KINDS, "dirichlet")
    counts = label_counts(annotations)
    gamma = fitting.positive("reliability", reliability)
    return counts, gamma, fitting.positive("prior_count", prior_count)


def _names(annotations: xr.Dataset) -> dict[str, Any]:
    return {dim: annotations[dim].to_numpy() for dim in _DIMS}
