r"""Cross-replication: whether pools of annotators agree about the items.

The story. Several pools of annotators label the same items: an old tool and a new one, crowd
workers and experts. Each pool has an effect for each item, and the effects of the pools are
correlated. Within a pool the model is `crossed_effects`.

.. math::

    \eta_{ij} = \mu_p + a_{ip} + b_j, \qquad (a_{i1}, \dots, a_{iP}) \sim
        \mathrm{Normal}(0, S R S), \quad b_j \sim \mathrm{Normal}(0, \sigma_{\text{annotator}, p}^2)

for annotator j of pool p, with :math:`S = \mathrm{diag}(\sigma_\text{item})`. R has the
correlations of the pools' effects, without the noise of single annotators. A correlation is 1 if
two pools measure the same. It is the normalised xCC (`dissensus.normalized_xcc`). The xCC
(`dissensus.xcc`) is the correlation of one label from each pool, which includes this noise.

The families (numbers, two labels, ordered labels) are those of `crossed_effects`. The pools share
the cutpoints of ordered labels. They share the residual standard deviation of numbers, unless
``residual="pool"``. If pools differ in noise, the ICC of a pool with less noise is then too low
(.55 instead of .76 if its residual standard deviation is half as large), and the fit warns. For
ordered labels that differ in this way use the default family with ``residual="pool"``. All pools
are fitted together. Differences are therefore computed within one posterior, for example between
the xCC of treatment and experts and the xCC of control and experts. Pools need not label all items.

Priors and why. As in `crossed_effects`, the same for all pools. R has an LKJ prior
(``correlation_prior=``). The default of 1 is uniform over correlation matrices; larger values
shrink correlations towards 0. With few items or noisy pools, the posterior of the correlation is
wide. If small pools agree almost perfectly, the priors make the xCC too low. With 120 items, 6 to
10 annotators per pool and a true correlation of .95, 90 % intervals of the xCC contained the true
value in about 80 % of 400 studies, and were too low in the other studies; intervals of the
normalised xCC contained it in 90 %. With 300 items and 40 annotators per pool, both contained it in
90 % (`make calibrate` repeats these studies).

When to use it. To ask whether a change of tool, instructions or annotators changes what is
measured. When not: if one of two pools is the truth by definition, use metrics of accuracy; for
three or more labels without an order, use `dissensus.cross_kappa`. An annotator in two pools is an
error, unless ``shared_annotators=True``: an annotator then has a separate effect in each pool.

The sampler is an exact Gibbs sampler. NUTS on the same model serves as a check.

Source: Wong, Paritosh & Aroyo (2021), "Cross-replication reliability".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from dissensus.dims import ANNOTATION, ITEM, MEMBER, POOL, other
from dissensus.families.base import FitOptions, run
from dissensus.families.crossed.fit import CrossedFit
from dissensus.families.crossed.process import Process
from dissensus.families.crossed.process import process as crossed_process
from dissensus.models.crossed_effects import (
    _coordinates,
    _mean,
    _observe,
    _scale,
    _with_covariates,
)

KINDS = ("continuous", "ordinal")
"""Kinds for the default family, which takes ordered labels as numbers; two labels without an order
need ``family="bernoulli"``."""


def build(
    annotations: xr.Dataset,
    *,
    family: str = "gaussian",
    sampler: str = "gibbs",
    priors: Mapping[str, Any] | None = None,
    anonymous: bool = False,
    residual: str = "shared",
    correlation_prior: float = 1.0,
    shared_annotators: bool = False,
    formula: str | None = None,
    items: Any = None,
    annotators: Any = None,
) -> Any:
    """Write the process as a PyMC model.

    Parameters
    ----------
    annotations : xarray.Dataset
        Continuous, binary or ordinal labels, with two or more pools (``pool=``).
    family, priors, anonymous, formula, items, annotators
        As in `crossed_effects`. A term with ``pool``, such as ``"~ age:pool"``, has a separate
        coefficient for each pool; the pools' means are always in the model.
    sampler : {"gibbs", "nuts"}
        Not used by `build`, which takes the settings of `fit`: the model is the same.
    residual : {"shared", "pool"}
        Whether all pools have the same residual standard deviation of numbers, or each a separate
        one.
    correlation_prior : float
        The shape of the LKJ prior; > 0.
    shared_annotators : bool
        Allow annotators in several pools.

    Returns
    -------
    pymc.Model
        With ``mu``, ``sigma_item``, ``sigma_annotator`` (pool), ``correlation`` (pool, ``pool_``)
        and its Cholesky factor, ``item_effect`` (item, pool), ``annotator_effect`` (member), where
        a member is an annotator in a pool, and the other variables of `crossed_effects`.

    Raises
    ------
    AnnotationError
        If the annotations do not suit the family, have fewer than two pools, or have annotators in
        several pools.
    ArgumentError
        If a setting is invalid.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(20, pools=("old", "new"), random_seed=1).annotations
    >>> model = dx.models.cross_replication.build(ann)
    >>> [v.name for v in model.free_RVs][:4]
    ['mu', 'sigma_item', 'correlation_cholesky', 'item_effect']
    """
    return _model(crossed_process(
        "cross_replication", annotations, family=family, sampler=sampler, priors=priors,
        anonymous=anonymous, residual=residual, correlation_prior=correlation_prior,
        shared_annotators=shared_annotators, formula=formula, items=items, annotators=annotators,
    ))  # fmt: skip


def _model(process: Process) -> Any:
    import pymc as pm

    from dissensus.families.steps import Model, written

    with Model(coords=_coordinates(process), model=None) as model:
        mu, sigma_item = _mean(process, POOL), _scale("sigma_item", process.priors, POOL)
        # PyMC 6.4 finds the variable of a value by dropping three words, split at underscores, from
        # its name. If a transform has two words, pymc.compute_log_likelihood of a trace fails.
        one_word = pm.distributions.transforms.CholeskyCorrTransform(process.n_pools)
        one_word.name = "choleskycorr"
        root = pm.LKJCorr(
            "correlation_cholesky", n=process.n_pools, eta=process.lkj, default_transform=one_word
        )
        pm.Deterministic("correlation", root @ root.T, dims=(POOL, other(POOL)))
        item = pm.MvNormal(
            "item_effect", mu=[0.0] * process.n_pools, chol=sigma_item[:, None] * root,
            dims=(ITEM, POOL),
        )  # fmt: skip
        item_code = pm.Data("item_code", process.item, dims=ANNOTATION)
        pool = pm.Data("pool_code", process.pool, dims=ANNOTATION)
        eta = _with_covariates(process, mu[pool]) + item[item_code, pool]
        if not process.anonymous:
            sigma_annotator = _scale("sigma_annotator", process.priors, POOL)
            annotator = pm.Normal(
                "annotator_effect", 0.0, sigma_annotator[process.member_pool], dims=MEMBER
            )
            eta = eta + annotator[pm.Data("member_code", process.member, dims=ANNOTATION)]
        _observe(process, eta, pool)
    return written(model)


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
    residual: str = "shared",
    correlation_prior: float = 1.0,
    shared_annotators: bool = False,
    formula: str | None = None,
    items: Any = None,
    annotators: Any = None,
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior; raises and warns as `crossed_effects` does.

    Parameters
    ----------
    annotations : xarray.Dataset
        Continuous, binary or ordinal labels, with two or more pools (``pool=``).
    family, priors, anonymous, residual, correlation_prior, shared_annotators
        As in `build`. The same holds for ``formula``, ``items`` and ``annotators``.
    draws, tune, chains, random_seed, progressbar, sampler, checkpoint
        As in `crossed_effects`.
    log_likelihood, posterior_predictive, keep_effects
        As in `crossed_effects`. Items have an effect in every pool, also in pools that did not
        label them.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``mu``, ``sigma_item``, ``sigma_annotator`` (pool), ``correlation``
        (pool, ``pool_``), ``sigma`` (of numbers; per pool with ``residual="pool"``), ``cutpoint``
        (boundary) of ordered labels, and, if kept, ``item_effect`` (item, pool) and
        ``annotator_effect`` (annotator, pool), NaN where an annotator is not in a pool.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(
    ...     100, pools=("old", "new"), correlation=0.9, random_seed=1).annotations
    >>> fit = dx.models.cross_replication.fit(ann, draws=200, random_seed=1, progressbar=False)
    >>> fit.posterior.correlation.dims
    ('chain', 'draw', 'pool', 'pool_')
    >>> bool(dx.normalized_xcc(fit, pools=("old", "new")).mean() > 0.7)
    True
    """
    settings: dict[str, Any] = {
        "family": family, "sampler": sampler, "anonymous": anonymous, "residual": residual,
        "correlation_prior": correlation_prior, "shared_annotators": shared_annotators,
    }  # fmt: skip
    tables = {"formula": formula, "items": items, "annotators": annotators}
    process = crossed_process("cross_replication", annotations, priors=priors, **settings, **tables)
    options = FitOptions(
        draws=draws, tune=tune, chains=chains, random_seed=random_seed, progressbar=progressbar,
        sampler=sampler, keep=keep_effects, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, checkpoint=checkpoint,
    )  # fmt: skip
    hyper = settings | process.words
    return run(CrossedFit(process, options), lambda: _model(process), hyper)
