r"""Crossed effects: how much labels vary with items, with annotators, and by chance.

The story. Each item and each annotator has an effect. A label is the sum of both effects, a common
mean, and a residual. The residual includes the variation of labels that one annotator gives one
item repeatedly, and the interaction of annotator and item.

.. math::

    \eta_{ij} = \mu + a_i + b_j, \qquad a_i \sim \mathrm{Normal}(0, \sigma_\text{item}^2), \quad
        b_j \sim \mathrm{Normal}(0, \sigma_\text{annotator}^2)

``family="gaussian"``: numbers, :math:`y \sim \mathrm{Normal}(\eta, \sigma^2)`.
``family="bernoulli"``: two labels; :math:`\eta` is the logit of the second. The residual on the
latent scale is logistic, with variance :math:`\pi^2/3`.
``family="ordinal"``: ordered labels, :math:`P(y \le k) = \Phi(c_k - \eta)`. The latent residual is
standard normal. The cutpoints have mean 0, so that :math:`\mu` is the distance of the latent mean
from the middle of the cutpoints.

``formula="~ age + words"``: covariates of annotators and items, columns of two tables. They change
the mean, :math:`\eta_{ij} = \mu + x_{ij}' \beta + a_i + b_j`, with a coefficient for each term.
Covariates are centred, so that :math:`\mu` is the mean for average covariates. Effects and the ICC
are then for items and annotators with equal covariates.

Any design is allowed: annotators with few labels, items with few labels. With ``anonymous=True``
annotators have no effects, for data in which a name stands for different people on different items.

The model has no effects of pairs of annotator and item, or of clusters. If annotators repeat their
labels of an item (``trial=``), ``sigma_item`` and the ICC are too high. If items of a cluster are
alike (``cluster=``), intervals for new items are too narrow. All annotators have one ``sigma``: if
some have more noise, its intervals are too narrow for other annotators. A `DesignWarning` reports
each of the three.

Priors and why. The priors are weakly informative, and can be set with ``priors=``. Standard
deviations are half-t with 3 degrees of freedom, whose heavy tail allows data to overrule the prior:

=========================  =================  ======================  =======================
\                          gaussian           bernoulli (logits)      ordinal (latent sd)
=========================  =================  ======================  =======================
``mu``                     mean of labels,    0, sd 2.5               0, sd 2.5
                           2.5 of their sd
``sigma_item``, ``..``     sd of labels       2.5                     1.5
gap between cutpoints                                                 exponential, mean 1
``coefficient``            2.5 sd of labels   sd 2.5                  sd 2.5
=========================  =================  ======================  =======================

The prior of a coefficient has mean 0, and this sd divided by the sd of its covariate.

Priors for numbers are centred and scaled to the data: the data are used twice, but only for
location and scale. For labels, the latent residual fixes the scale. Priors for labels allow, and do
not require, that the label of an item two standard deviations from the average is nearly certain.
With five ordered labels, the prior share of the first label, and of the last, is about a third; a
few dozen annotations overrule this. Three or four annotators contain little information about the
standard deviation of annotators, so its prior matters: set it from similar annotators.

When to use it. To estimate how reliable labels are (`dissensus.icc`), how many annotators are
needed (`dissensus.annotators_needed`), and which annotators are lenient. When not: for one true
label with different errors of annotators (`dawid_skene`); for three or more labels without an
order; if the disagreement itself is of interest (`dirichlet`, `normal_scores`); for several pools
(`cross_replication`). If the annotator ICC is above the ICC, single labels do not measure the
items: revise the instructions first.

The sampler is an exact Gibbs sampler. A sweep takes as long as a few passes over the labels. NUTS
on the same model serves as a check. Successive draws are nearly independent. The exception is two
labels, if one label is rare (2 %) or annotators are unanimous: the effective sample size of 4,000
draws is then 100 to 200. If a point estimate is sufficient, lme4 is faster.

Source: Wong, Paritosh & Aroyo (2021), "Cross-replication reliability", with the corrections in
`docs/derivations/crossed-effects-gibbs.md`; variance components: Shrout & Fleiss (1979).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import (
    ANNOTATION,
    ANNOTATOR,
    BOUNDARY,
    ITEM,
    LABEL,
    MEMBER,
    POOL,
    TERM,
    other,
)
from dissensus.families.base import FitOptions, run
from dissensus.families.crossed.fit import CrossedFit
from dissensus.families.crossed.kernels.sweep import BERNOULLI, GAUSSIAN
from dissensus.families.crossed.priors import Prior
from dissensus.families.crossed.process import Process
from dissensus.families.crossed.process import process as crossed_process

KINDS = ("continuous", "ordinal")
"""Kinds for the default family; two labels without an order need ``family="bernoulli"``."""


def build(
    annotations: xr.Dataset,
    *,
    family: str = "gaussian",
    sampler: str = "gibbs",
    priors: Mapping[str, Any] | None = None,
    anonymous: bool = False,
    formula: str | None = None,
    items: Any = None,
    annotators: Any = None,
) -> Any:
    """Write the process as a PyMC model.

    `pymc.sample` chooses the Gibbs step for it, except within `dissensus.steps.without_gibbs`.

    Parameters
    ----------
    annotations : xarray.Dataset
        Numbers, two labels, or ordered labels.
    family : {"gaussian", "bernoulli", "ordinal"}
        The distribution of labels, see the card.
    sampler : {"gibbs", "nuts"}
        Not used by `build`, which takes the settings of `fit`: the model is the same.
    priors : mapping, optional
        For ``mu`` and ``coefficient``: (mean, sd). For ``sigma_item``, ``sigma_annotator``,
        ``sigma`` and ``gap``: ("half_normal", scale), ("half_t", scale, degrees of freedom) or
        ("exponential", mean). Other parameters keep their default priors.
    anonymous : bool
        Fit a model without effects of annotators.
    formula : str, optional
        Covariates in the syntax of the package formulae: ``"~ age * group + np.log(words)"``. The
        mean is always in the model. Variables are columns of the two tables, and ``pool``.
        Functions are those of NumPy, and ``scale``, ``poly``, ``bs`` and others of formulae.
    items : table, optional
        Covariates of items, with a column ``item`` of names, and one row for each item with labels.
    annotators : table, optional
        Covariates of annotators, with a column ``annotator`` of names.

    Returns
    -------
    pymc.Model
        With ``mu``, ``sigma_item``, ``sigma_annotator``, ``item_effect`` (item),
        ``annotator_effect`` (annotator), ``sigma`` of numbers, ``cutpoint`` (boundary) of ordered
        labels, ``coefficient`` (term) if there is a formula, with the data ``covariates``
        (annotation, term), and the observed ``score`` or ``label_code`` (annotation). The data
        ``item_code`` and ``annotator_code`` (annotation) can be set to other codes.

    Raises
    ------
    AnnotationError
        If the annotations do not suit the family.
    ArgumentError
        If a setting is invalid, or a column, row or value is missing in a table.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([[1.0, 2.5], [3.0, 3.5], [2.0, 2.5]], kind="continuous")
    >>> model = dx.models.crossed_effects.build(ann)
    >>> [v.name for v in model.free_RVs]
    ['mu', 'sigma_item', 'item_effect', 'sigma_annotator', 'annotator_effect', 'sigma']
    """
    return _model(crossed_process(
        "crossed_effects", annotations, family=family, sampler=sampler, priors=priors,
        anonymous=anonymous, formula=formula, items=items, annotators=annotators,
    ))  # fmt: skip


def _model(process: Process) -> Any:
    import pymc as pm

    from dissensus.families.steps import Model, written

    with Model(coords=_coordinates(process), model=None) as model:
        item_code = pm.Data("item_code", process.item, dims=ANNOTATION)
        mu, sigma_item = _mean(process), _scale("sigma_item", process.priors)
        item = pm.Normal("item_effect", 0.0, sigma_item, dims=ITEM)
        eta = _with_covariates(process, mu) + item[item_code]
        if not process.anonymous:
            sigma_annotator = _scale("sigma_annotator", process.priors)
            annotator = pm.Normal("annotator_effect", 0.0, sigma_annotator, dims=ANNOTATOR)
            eta = eta + annotator[pm.Data("annotator_code", process.member, dims=ANNOTATION)]
        _observe(process, eta, 0)
    return written(model)


def _coordinates(process: Process) -> dict[str, Any]:
    """Return the coordinates of a PyMC model."""
    out: dict[str, Any] = {ITEM: process.annotations[ITEM].to_numpy()}
    if process.pools is None:
        out[ANNOTATOR] = process.annotations[ANNOTATOR].to_numpy()
    else:
        out[POOL] = out[other(POOL)] = process.pools
        out[MEMBER] = np.arange(len(process.member_pool))
    if len(process.terms):
        out[TERM] = process.terms
    if len(process.labels):
        out[LABEL] = process.labels
    if process.family == "ordinal":
        out[BOUNDARY] = process.boundaries
    return out


def _scale(name: str, priors: Mapping[str, Prior], dims: Any = None) -> Any:
    """Add a standard deviation, or another positive number, with its prior."""
    import pymc as pm

    form, size, *degrees = priors[name]
    if form == "half_normal":
        return pm.HalfNormal(name, sigma=size, dims=dims)
    if form == "half_t":
        return pm.HalfStudentT(name, nu=degrees[0], sigma=size, dims=dims)
    return pm.Exponential(name, scale=size, dims=dims)


def _mean(process: Process, dims: Any = None) -> Any:
    """Add the mean of each pool."""
    import pymc as pm

    centre, sd = process.priors["mu"]
    return pm.Normal("mu", mu=centre, sigma=sd, dims=dims)


def _with_covariates(process: Any, mean: Any) -> Any:
    """Add the coefficients of a formula, and return the mean with the effects of covariates."""
    import pymc as pm

    if not len(process.terms):
        return mean
    centre, sd = process.coefficient_prior.T
    coefficient = pm.Normal("coefficient", mu=centre, sigma=sd, dims=TERM)
    return mean + pm.Data("covariates", process.covariates, dims=(ANNOTATION, TERM)) @ coefficient


def _observe(process: Process, eta: Any, pool: Any) -> Any:
    """Add the observed labels; ``pool`` is the pool of each label."""
    import pymc as pm

    if process.family == GAUSSIAN:
        per_pool = process.n_sd > 1
        sigma = _scale("sigma", process.priors, POOL if per_pool else None)
        sigma = sigma[pool] if per_pool else sigma
        return pm.Normal("score", mu=eta, sigma=sigma, observed=process.value, dims=ANNOTATION)
    code = process.value.astype(np.int64)
    pm.Data("label_value", process.label_value, dims=LABEL)  # for metrics of a trace
    if process.family == BERNOULLI:
        return pm.Bernoulli("label_code", logit_p=eta, observed=code, dims=ANNOTATION)
    from dissensus.families.crossed.distributions import CumulativeProbit

    return CumulativeProbit("label_code", eta, _cutpoints(process), observed=code, dims=ANNOTATION)


def _cutpoints(process: Process) -> Any:
    """Add cutpoints with mean 0, computed from the gaps between them."""
    import pymc as pm
    import pytensor.tensor as pt

    n_gaps, raw = len(process.labels) - 2, pt.zeros(1)
    if n_gaps:
        pm.modelcontext(None).add_coord("gap_", np.arange(n_gaps))
        gap = _scale("gap", process.priors, "gap_")
        raw = pt.concatenate([raw, pt.cumsum(gap)])
    return pm.Deterministic("cutpoint", raw - pt.mean(raw), dims=BOUNDARY)


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
    family: str = "gaussian",
    sampler: str = "gibbs",
    keep_effects: bool = True,
    priors: Mapping[str, Any] | None = None,
    anonymous: bool = False,
    formula: str | None = None,
    items: Any = None,
    annotators: Any = None,
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    annotations : xarray.Dataset
        Numbers, two labels, or ordered labels.
    draws, tune, chains : int
        Draws per chain, sweeps before the first draw, and number of chains.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    progressbar : bool
        Show progress.
    log_likelihood : bool
        Add the log-likelihood of every label given the effects, for `arviz.loo`, and ``log_prior``
        of the other parameters, for `arviz.psense_summary`.
    posterior_predictive : bool
        Add new labels by the same annotators for the same items.
    family, priors, anonymous, formula, items, annotators
        As in `build`.
    sampler : {"gibbs", "nuts"}
        The Gibbs sampler, or NUTS on the same model, which is much slower.
    keep_effects : bool
        Keep the draws of the effects of items and annotators.
    checkpoint : path, optional
        Path of the saved state of the fit, which is updated every half minute. The same call
        resumes an interrupted fit, with the same draws, and reads a finished fit. Needs zarr.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``mu``, ``sigma_item``, ``sigma_annotator``, ``sigma`` (of numbers),
        ``cutpoint`` (boundary) of ordered labels, ``coefficient`` (term) for
        `dissensus.contrast`, and, if kept, ``item_effect`` (item) and
        ``annotator_effect`` (annotator). For labels, ``constant_data`` has the latent ``sigma`` and
        the numbers that represent the labels; with covariates, also the centred ``covariates`` and
        ``covariate_mean`` (term). Attributes summarise r-hat and effective sample size over the
        parameters.

    Raises
    ------
    AnnotationError, ArgumentError
        As in `build`; also if the effects would need more than 4 GB.

    Warns
    -----
    ConvergenceWarning
        If the chains have not converged.
    DesignWarning
        If the data do not inform some parameters, which then depend on priors. The warning names
        items and annotators.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(60, 8, 4, random_seed=1).annotations
    >>> fit = dx.models.crossed_effects.fit(ann, draws=200, random_seed=1, progressbar=False)
    >>> sorted(fit.posterior.data_vars)
    ['annotator_effect', 'item_effect', 'mu', 'sigma', 'sigma_annotator', 'sigma_item']
    >>> bool(0.3 < dx.icc(fit).mean() < 0.6)
    True
    """
    settings: dict[str, Any] = {"family": family, "sampler": sampler, "anonymous": anonymous}
    tables = {"formula": formula, "items": items, "annotators": annotators}
    process = crossed_process("crossed_effects", annotations, priors=priors, **settings, **tables)
    options = FitOptions(
        draws=draws, tune=tune, chains=chains, random_seed=random_seed, progressbar=progressbar,
        sampler=sampler, keep=keep_effects, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, checkpoint=checkpoint,
    )  # fmt: skip
    hyper = settings | process.words
    return run(CrossedFit(process, options), lambda: _model(process), hyper)
