r"""Plackett-Luce: partial rankings with ties, such as differential diagnoses.

The story. For each item, every label has a strength :math:`\lambda_k`. The plausibility of a label
is its share of the sum of strengths: the probability that an annotator names it first. Each
annotator draws labels without replacement, with probabilities proportional to the strengths of the
remaining labels, and stops at some point. The order of tied labels is not known: the likelihood is
a sum over all orders of ties. Labels that an annotator does not list come after the listed ones.

.. math::

    \lambda_k \sim \mathrm{Gamma}(\kappa m_k, 1), \qquad
        \theta_k = \lambda_k \big/ \sum_j \lambda_j, \qquad
    p(b \mid \lambda) = \prod_{l < L} \;\sum_{\sigma \text{ orders } b_l} \;\prod_{j}
        \frac{\lambda_{\sigma_j}}{Z_l + \lambda_{\sigma_j} + \lambda_{\sigma_{j+1}} + \dots}

with blocks :math:`b_1 > \dots > b_L` and :math:`Z_l` the strength of all blocks after the l-th.

The *reliability* :math:`\gamma` is the weight of rankings. One ranking per item does not identify
:math:`\gamma`, so compare results over a range of values. There are two definitions.
``tempering="likelihood"`` uses :math:`p(b \mid \lambda)^\gamma`: with 2, each ranking counts twice.
``tempering="strength"`` uses :math:`p(b \mid \lambda^\gamma)`: with 2, log strengths are doubled.
Both are exact, for any :math:`\gamma` from 1e-6 to 1e6; 0 would be the prior, and as :math:`\gamma`
increases, likelihood tempering approaches `maximum_likelihood`. The reliability can also be
*learned*: one for all annotators (``reliability="common"``) or, if annotators rank several items,
one for each under a hierarchical prior (``"annotator"``). This needs strength tempering, because a
power of the likelihood is not normalised. The concentration of the prior determines the scale of
the learned reliability: interpret differences between annotators rather than values.

Priors and why. The items share a prior, which is learned from all items and from the systems'
predictions, with the strengths summed out,

.. math::

    \log \kappa \sim \mathrm{Normal}(0, 1.5), \quad a_k \sim \mathrm{Normal}(0, 1), \quad
        b_s, c_s, d_s \sim \mathrm{Normal}(0, 1.5), \qquad
    m_{ik} \propto \exp\bigl(a_k + \textstyle\sum_s b_s 1[s \text{ predicts } k]
        + \sum_s d_s z_{isk} + \sum_s c_s \log p_s(k \mid i)\bigr)

with :math:`z_{isk} = 1 / \log_2(1 + l)` for the l-th label of system s, from the second on, and
probabilities :math:`p_s` instead if the system predicts them for all labels; the last place of a
list of all labels has :math:`z = 0`. The parameters are ``concentration`` :math:`\kappa`,
``label_weight`` :math:`a` (for up to 30 labels; with more, all are equal), ``prediction_weight``
:math:`b`, ``later_weight`` :math:`d` and ``probability_weight`` :math:`c`. To learn the prior,
every ranking counts once, whatever the reliability. One ranking per item does not inform
:math:`\kappa`, whose posterior is then its prior. The meaning of :math:`\kappa` depends on
``unranked``. A system that was trained on these rankings repeats them: fit without its predictions.
In real lists, later labels are closer to chance than the model says: :math:`\kappa` is then too
large, and plausibilities of leading labels are too small. `dissensus.evaluate` therefore learns the
prior from first labels alone, see docs/decisions/0033.

A number a for ``concentration`` fixes the prior at :math:`\kappa m_k = a`. Labels that are not
named are then a problem: with 419 conditions and a = 1 they have .94 of the mass even after six
annotators. The mean plausibilities of the most plausible condition in Figure 5 of the source, at
reliability 1, are:

==================================  =====
``unranked="exact"``, a = 1/419      .40
``unranked="one"``, a = 1            .27
``unranked="exact"``, a = 1          .012
==================================  =====

With ``concentration=None`` the shape of each of K labels is a = 1/K, so that the prior counts as
one label: it is sparse, and few labels share the mass. ``unranked`` defines the labels from which
an annotator chooses: all labels ("exact"); the named labels and one that represents all others
("one", as in the published code); the labels that any annotator named for the item ("ignore"); or
only those that the annotator lists, like the drivers who started in a race ("absent").

When to use it. Rankings, with or without ties, of few or of hundreds of labels. When not: for
single labels, use `dirichlet`, which is faster and gives the same results under the same prior (the
prior median of :math:`\kappa` is 1 here, and the number of labels there); for annotators with
different errors about one true label, `dawid_skene`; if annotators saw each other's lists, no model
of this library (with many labels, `dissensus.agreement_check` shows copies); to reproduce studies
that used inverse rank normalisation, `inverse_rank`, whose results can differ: compare both.

Strengths are drawn by an exact Gibbs sampler, whose cost increases with the number of named labels
(`docs/derivations`). NUTS on the same model serves as a check. If more than one label is not named,
some metrics need the split of the remainder's mass among its labels. With ``tempering="strength"``
this split is drawn from the prior, and with a learned prior from the mean of that prior; the masses
of named labels and of the remainder are exact.

Source: Stutz et al. (2023), "Evaluating AI systems under uncertain ground truth", Appendix B.4,
with the error in B.4.2 corrected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.predictions import Features, features
from dissensus.dims import ANNOTATOR, CANDIDATE, ITEM, LABEL
from dissensus.errors import ArgumentError
from dissensus.families.rankings.learned_prior import PriorCells, learned
from dissensus.families.rankings.maximum_likelihood import maximum_likelihood as maximum_likelihood
from dissensus.families.rankings.predictions import observed, with_rankings
from dissensus.families.rankings.process import KINDS as KINDS
from dissensus.families.rankings.process import (
    LEARNED,
    RANKING,
    Process,
    most_candidates,
    prior_of,
    teaching,
)
from dissensus.families.rankings.process import process as rankings_process
from dissensus.families.rankings.sampler import diagnosed, drawn, drawn_by
from dissensus.kernels.random import generator
from dissensus.sampling import fitting
from dissensus.sampling.by_chunk import Settled, by_chunks, settled_prior
from dissensus.sampling.interruption import before_any_draw
from dissensus.sampling.learned_prior import LEARNED as LEARNED_PRIOR
from dissensus.sampling.learned_prior import LearnedPrior, in_graph, is_learned

_PRIOR = "the prior by elliptical slice sampling, with strengths integrated out; given the prior"


def build(
    annotations: xr.Dataset,
    *,
    reliability: float | str = 1.0,
    tempering: str = "likelihood",
    concentration: float | str | None = LEARNED_PRIOR,
    unranked: str = "exact",
    sampler: str = "gibbs",
    predictions: xr.Dataset | None = None,
) -> Any:
    """Write the process as a PyMC model.

    `pymc.sample` chooses the Gibbs step for this model, except within
    `dissensus.steps.without_gibbs`. Metrics accept its trace. In predictive draws, all labels that
    are not named count as one label, with one place.

    PyMC's own predictive functions need the trace of `pymc.sample` on this model. Do not pass the
    result of `fit`, which has no ``log_strength``: PyMC would silently draw strengths from the
    prior. Use ``posterior_predictive=True`` and ``log_likelihood=True`` of `fit` instead.

    Parameters
    ----------
    annotations : xarray.Dataset
        Rankings, or single labels (then every label is a list of one label).
    reliability : float, "common" or "annotator"
        The weight of rankings; > 0. "common" and "annotator" learn the reliability from the data.
    tempering : {"likelihood", "strength"}
        The base of the power ``reliability``, see the card.
    concentration : "learned", float or None
        "learned" learns the prior from all items; a number > 0 is the Gamma shape of each label's
        strength; None is 1 divided by the number of labels. A learned prior needs
        ``reliability=1``: see `fit`.
    unranked : {"exact", "one", "ignore", "absent"}
        The labels from which an annotator chooses, see the card.
    sampler : {"gibbs", "nuts"}
        Not used by `build`, which takes the settings of `fit`: the model is the same.
    predictions : xarray.Dataset, optional
        From `dissensus.predictions`: evidence for a learned prior. May have further items.

    Returns
    -------
    pymc.Model
        With ``log_strength`` of every label in the model, the deterministic ``plausibility``
        (item, candidate) and the observed ``rankings`` (ranking, place): for each label of the
        ranking's item the number of its block, 0 if it is not listed. With a learned prior, also
        the parameters of the prior, see the card.

    Raises
    ------
    AnnotationError
        If the annotations are of another kind; with ``unranked="ignore"`` or ``"absent"`` also if
        an item has no annotations, and with ``"absent"`` if all labels of a ranking are tied, so
        that the ranking would not count.
    ArgumentError
        If a setting is invalid.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> [v.name for v in dx.models.plackett_luce.build(ann).basic_RVs]
    ['concentration', 'label_weight', 'log_strength', 'rankings']
    """
    process = rankings_process(
        annotations, reliability=reliability, tempering=tempering,
        concentration=concentration, unranked=unranked, sampler=sampler, predictions=predictions,
    )  # fmt: skip
    if process.leaning is not None and reliability != 1.0:
        raise ArgumentError(
            "concentration", expected="a number, since reliability is not 1", found=LEARNED_PRIOR,
            hint="`fit` learns the prior at reliability 1 and uses it at others, which is not "
            "one model",
        )  # fmt: skip
    return _model(process)


def _model(process: Process) -> Any:
    """Write the process as a PyMC model, with the prior's parameters if the prior is learned."""
    import pymc as pm
    import pytensor.tensor as pt

    from dissensus.families.rankings.distributions import LogGamma, PartialRanking
    from dissensus.families.steps import Model, written

    chosen, blocks = process.ranks()
    shape = process.where.codes.shape
    coords = {dim: process.annotations[dim].to_numpy() for dim in (ITEM, ANNOTATOR, LABEL)}
    counted = {CANDIDATE: shape[1], "cell": len(process.shape)}
    counted |= {RANKING: process.n_rankings, "place": chosen.shape[1]}
    counted |= {"feature": len(process.item_features.values)}
    coords |= {dim: np.arange(size) for dim, size in counted.items()}
    with Model(coords=coords | process.item_features.coords(), model=None) as model:
        # Metrics of a trace need the label of each candidate, and all labels.
        pm.Data("candidate_code", process.where.codes, dims=(ITEM, CANDIDATE))
        pm.Data("label_number", np.arange(process.annotations.sizes[LABEL]), dims=LABEL)
        pm.Data("remainder_concentration", float(process.concentration))
        alpha = process.shape
        if process.leaning is not None and process.prior_draws is None:
            n_labels = process.annotations.sizes[LABEL]
            alpha = _learned_shapes(n_labels, process.prior_cells(), process.item_features)
        strength = LogGamma("log_strength", alpha=alpha, dims="cell")
        padded = pt.concatenate([strength, [-np.inf]])  # a place of -1 is this last entry
        of_item = padded[process.cells()]
        share = strength - pt.logsumexp(of_item, axis=1)[process.owner()]
        mass = pt.zeros(shape)[process.owner(), process.laid.candidate].inc(pt.exp(share))
        pm.Deterministic("plausibility", mass, dims=(ITEM, CANDIDATE))
        PartialRanking(
            "rankings", log_strength=padded[chosen], power=process.power,
            sharpness=_sharpness(process), observed=blocks, dims=(RANKING, "place"),
        )  # fmt: skip
    return written(model)


def _learned_shapes(n_labels: int, cells: PriorCells, evidence: Features) -> Any:
    """Return the Gamma shape of each cell under the prior shared by all items.

    The Gibbs step reads the data of a model, and calls this function to prove that the model has
    the same prior.
    """
    import pymc as pm
    import pytensor.tensor as pt

    item = pm.Data("cell_item", cells.item, dims="cell")
    label = pm.Data("cell_label", cells.label, dims="cell")
    size = pm.Data("cell_size", cells.size, dims="cell")
    features = pm.Data("cell_features", cells.features, dims=("cell", "feature"))
    columns = [features[:, k] for k in range(cells.features.shape[1])]
    concentration, tilt = in_graph(n_labels, evidence._replace(values=columns), 1.0, label)
    weight = size * pt.exp(tilt)
    total = pt.zeros(int(cells.item.max()) + 1)[item].inc(weight)
    return concentration * weight / total[item]


def _not_item_by_item(**settings: Any) -> bool:
    """Return whether a parameter is learned from all items together, or NUTS is used."""
    return settings.get("sampler") == "nuts" or settings.get("reliability") in LEARNED


def _sharpness(process: Process) -> Any:
    """Return the power of the strengths, as a number or (ranking): a setting, or learned."""
    import pymc as pm
    import pytensor.tensor as pt

    if process.reliability not in LEARNED:
        return 1.0 if process.sharpness is None else process.sharpness
    typical = pm.Normal("log_reliability", 0.0, 0.5)
    common = pm.Deterministic("reliability", pt.exp(typical))
    if process.reliability == "common":
        return pt.full((process.n_rankings,), common)
    spread = pm.HalfNormal("reliability_spread", 0.5)
    away = pm.Normal("reliability_offset", dims=ANNOTATOR)
    each = pm.Deterministic("annotator_reliability", common * pt.exp(spread * away), dims=ANNOTATOR)
    return each[process.of_ranking(ANNOTATOR)]


def _prior_of_all(annotations: xr.Dataset, settings: Mapping[str, Any]) -> Settled:
    """Learn the prior shared by all chunks."""
    prior = settings["concentration"]
    if is_learned(prior):
        prior = prior_of(annotations, **settings)
    if not isinstance(prior, LearnedPrior):
        return Settled({}, {})
    labels = annotations[LABEL].to_numpy()
    evidence = features(settings["predictions"], labels[:0], labels)
    width = most_candidates(annotations, settings["predictions"], settings["unranked"])
    return settled_prior(prior, "concentration", labels, evidence, "prior_")._replace(width=width)


@by_chunks(settle=_prior_of_all, whole=_not_item_by_item)
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
    reliability: float | str = 1.0,
    tempering: str = "likelihood",
    concentration: float | str | None = LEARNED_PRIOR,
    unranked: str = "exact",
    sampler: str = "gibbs",
    predictions: xr.Dataset | None = None,
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    annotations : xarray.Dataset
        Rankings, or single labels.
    draws, tune, chains : int
        Draws per chain, sweeps before the first draw, and number of chains.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    progressbar : bool
        Show progress.
    log_likelihood : bool
        Add the log-likelihood of every ranking. With likelihood tempering it has the factor
        ``reliability``: use it to compare models only at reliability 1, or with strength tempering,
        and only models with the same ``unranked``. If one of an item's few rankings is left out,
        the strengths change much: check the Pareto k of `arviz.loo`. If the prior is learned, also
        ``log_prior``, for `arviz.psense_summary`.
    posterior_predictive : bool
        Add ``label_code``: for every annotation, the label that a new annotator of the same item
        puts in that place. The attribute ``labels`` has the names; -1 is a label that is not named
        (with ``unranked="one"``). Lists have the lengths and ties of the data. Add also
        ``first_choice_agreement``, the share of pairs of annotators of an item with the same first
        labels, to compare with the same share in the observed data.
    reliability, tempering, unranked, predictions
        As in `build`.
    concentration : "learned", float or None
        As in `build`. To learn the prior, every ranking counts once, whatever the reliability; with
        more than 300 items, 300 are used. If the reliability is learned too, the prior is first
        learned and then fixed at its posterior mean.
    sampler : {"gibbs", "nuts"}
        The Gibbs sampler, or NUTS on the same model, which is much slower.
    checkpoint : path, optional
        Path of the saved state of the fit, which is updated every half minute. The same call
        resumes an interrupted fit, with the same draws, and reads a finished fit. Needs zarr.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``plausibility`` (chain, draw, item, candidate) in candidate form, see
        `dissensus.plausibility`, and a learned ``reliability`` or ``annotator_reliability``.
        Attributes summarise r-hat and effective sample size over items.

    Warns
    -----
    ConvergenceWarning
        If the chains have not run long enough for some items.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> fit = dx.models.plackett_luce.fit(ann, draws=10, random_seed=1, progressbar=False)
    >>> fit.posterior.plausibility.dims
    ('chain', 'draw', 'item', 'candidate')
    """
    arguments.flags(log_likelihood=log_likelihood, posterior_predictive=posterior_predictive)
    chains, draws = arguments.sample_shape(draws, chains)
    hyper: dict[str, Any] = {
        "reliability": reliability, "tempering": tempering, "concentration": concentration,
        "unranked": unranked, "sampler": sampler,
    }  # fmt: skip
    process = rankings_process(annotations, **hyper, predictions=predictions)
    hyper["reliability"] = process.reliability
    hyper["predictions"] = int(bool(process.item_features.systems))
    more = Settled({}, {})
    fixed = {}
    if process.leaning is not None:
        hyper["concentration"] = LEARNED_PRIOR
    else:
        fixed["prior_shape"] = process.named(process.prior(), 0).rename("prior_shape")
    tune = arguments.whole("tune", tune, least=0)
    checkpoint_state, rng = fitting.begun(
        checkpoint, model="plackett_luce", annotations=annotations, random_seed=random_seed,
        sampler=drawn_by(process, sampler), draws=draws, tune=tune, chains=chains,
    )  # fmt: skip
    initial_process = process
    jointly = sampler == "nuts" and process.reliability == 1.0
    if process.leaning is not None and not jointly:
        seed = random_seed if checkpoint_state is None else checkpoint_state.random_seed
        prior = process.prior_draws or _learned(process, (chains, draws), tune, seed, progressbar)
        process = process.with_prior(prior)
        if prior.stored:
            labels = annotations[LABEL].to_numpy()
            more = settled_prior(prior, "concentration", labels, process.item_features, "prior_")
    result = drawn(
        process, lambda: _model(process), draws=draws, chains=chains, rng=rng,
        tune=tune, progressbar=progressbar, nuts=sampler == "nuts", log_likelihood=log_likelihood,
        checkpoint=checkpoint_state,
    )  # fmt: skip
    tree = fitting.fitted(
        "plackett_luce",
        posterior=result.posterior | more.groups.get("posterior", {}),
        sample_stats=result.sample_stats | more.groups.get("sample_stats", {}),
        observed_data=observed(annotations),
        constant_data=fixed,
        hyper=hyper,
        inference=result.inference if not process.prior_draws else f"{_PRIOR}; {result.inference}",
        diagnostics=diagnosed(result) | more.attrs,
        requested=(chains, draws),
    )
    if log_likelihood:
        fitting.attach_log_prior(tree, lambda: _model(initial_process))
    return with_rankings(
        tree, process, result, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, rng=rng,
    )  # fmt: skip


def _learned(
    process: Process, size: tuple[int, int], tune: int, random_seed: Any, progressbar: bool
) -> LearnedPrior:
    """Draw the hyperparameters of the learned prior."""
    taught = process.taught(teaching(process.annotations[ITEM].to_numpy()))
    rng = generator(random_seed, "prior")
    try:
        return learned(
            taught, process.annotations.sizes[LABEL], size, tune, rng, progressbar=progressbar
        )
    except KeyboardInterrupt:
        raise before_any_draw("before the prior was learned") from None
