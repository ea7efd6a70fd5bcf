r"""Plackett-Luce: partial rankings with ties, such as differential diagnoses.

The story. Behind each item stand strengths :math:`\lambda_k` of all labels, and the plausibility
of a label is its share of their sum: how probably an annotator names it first. Each annotator
draws labels without replacement, always in proportion to the strengths of those left, and stops
somewhere. Some he puts level with each other: of tied labels the order is not known, and the
likelihood sums over all of them. Labels he does not list come after those he does.

.. math::

    \lambda_k \sim \mathrm{Gamma}(a, 1), \qquad \theta_k = \lambda_k \big/ \sum_j \lambda_j,
        \qquad
    p(b \mid \lambda) = \prod_{l < L} \;\sum_{\sigma \text{ orders } b_l} \;\prod_{j}
        \frac{\lambda_{\sigma_j}}{Z_l + \lambda_{\sigma_j} + \lambda_{\sigma_{j+1}} + \dots}

with blocks :math:`b_1 > \dots > b_L` and :math:`Z_l` the strength of all blocks after the l-th.

The *reliability* :math:`\gamma` says how far annotators are to be trusted; one ranking an item
cannot tell, so results should be looked at over a range of it. There are two ways to use it.
``tempering="likelihood"`` takes :math:`p(b \mid \lambda)^\gamma`: at 2, as if each annotator had
spoken twice. ``tempering="strength"`` takes :math:`p(b \mid \lambda^\gamma)`: at 2, annotators tell
labels apart twice as sharply. Both are exact, for any :math:`\gamma` from 1e-6 to 1e6; 0 would be
the prior, and as :math:`\gamma` grows, likelihood tempering goes to `maximum_likelihood`. Where
annotators are known across items, sharpness can be *learned*, one for all
(``reliability="common"``) or one each under a hierarchical prior (``"annotator"``); strength
tempering only, since a power of the likelihood has no likelihood of its own. The prior's
``concentration`` sets the scale of what is learned: read the differences between annotators
rather than the values.

Priors and why. The labels nobody named are the difficulty: with 419 conditions and a = 1 they
keep .94 of the mass even after six annotators. Of the leading condition in Figure 5 of the source
these are the mean plausibilities at reliability 1:

==================================  =====
``unranked="exact"``, a = 1/419      .40
``unranked="one"``, a = 1            .27
``unranked="exact"``, a = 1          .012
==================================  =====

The default ``concentration=None`` gives each of K labels the shape a = 1/K, one label's worth in
all: sparse, few labels share the mass. ``unranked`` says what there was to be ranked: all labels
("exact"); the named ones and one more that stands for all others ("one", as in the published code);
the labels that someone named for the item ("ignore"); or for each annotator just those he lists,
as drivers who started in a race ("absent").

When to use it. Rankings, with or without ties, of few or of hundreds of labels. When not: single
labels from each annotator, of which it makes what `dirichlet` makes with the same prior, but more
slowly; annotators with
errors of their own about one truth (`dawid_skene`); to reproduce studies that used inverse rank
normalisation (`inverse_rank`), whose results can differ: look at both.

Drawn by an exact Gibbs sampler whose cost lies in the named labels (`docs/derivations`); NUTS on
the same model is there as a witness. Under ``tempering="strength"`` with more than one unnamed
label, the split of the remainder's mass over its labels, which metrics need where it matters, is
taken from the prior; all masses are exact.

Source: Stutz et al. (2023), "Evaluating AI systems under uncertain ground truth", Appendix B.4,
with the slip in B.4.2 mended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus import fitting
from dissensus._by_chunks import by_chunks
from dissensus._maximum_likelihood import maximum_likelihood as maximum_likelihood
from dissensus._ranking_predictions import observed, with_rankings
from dissensus._ranking_process import LEARNED, RANKING, Process, process
from dissensus._ranking_sampler import diagnosed, drawn, drawn_by
from dissensus.dims import ANNOTATOR, CANDIDATE, ITEM
from dissensus.registry import check_flags

KINDS = ("nominal", "ordinal", "ranking")


def build(
    annotations: xr.Dataset,
    *,
    reliability: float | str = 1.0,
    tempering: str = "likelihood",
    concentration: float | None = None,
    unranked: str = "exact",
    sampler: str = "gibbs",
) -> Any:
    """Write the process as a PyMC model.

    `pymc.sample` takes the Gibbs step for it by itself; `dissensus.steps.without_gibbs` goes
    without. Metrics take the draws of `pymc.sample` through
    `dissensus.plausibility.with_candidates`. In predictive draws the labels nobody named count as
    one label, which takes one place.

    PyMC's own predictive functions need the trace that `pymc.sample` makes of this model. What
    `fit` returns holds no ``log_strength``; from it they would draw strengths from the prior
    without a word. Ask `fit` for ``posterior_predictive=True`` and ``log_likelihood=True`` instead.

    Parameters
    ----------
    annotations : xarray.Dataset
        Rankings, or single labels (then every label is a list of its own).
    reliability : float, "common" or "annotator"
        How far annotators are trusted; > 0. "common" and "annotator" learn it from the data.
    tempering : {"likelihood", "strength"}
        Of what the reliability is a power, see the card.
    concentration : float, optional
        The Gamma shape of each label's strength; > 0. By default one label's worth in all.
    unranked : {"exact", "one", "ignore", "absent"}
        What there was to be ranked, see the card.
    sampler : {"gibbs", "nuts"}
        Not used: the model is the same. Here so that `build` and `fit` take the same settings.

    Returns
    -------
    pymc.Model
        With ``log_strength`` of every label that is there, the deterministic ``plausibility``
        (item, candidate) and the observed ``rankings`` (ranking, place): for each label of the
        ranking's item the number of its block, 0 for unlisted.

    Raises
    ------
    AnnotationError
        If the annotations are of another kind, or an item has none where it needs one.
    ArgumentError
        If a setting makes no sense.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> [v.name for v in dx.models.plackett_luce.build(ann).basic_RVs]
    ['log_strength', 'rankings']
    """
    import pymc as pm
    import pytensor.tensor as pt

    import dissensus.steps  # noqa: F401 (registers the Gibbs step)
    from dissensus.distributions import LogGamma, PartialRanking

    what = process(
        annotations, KINDS, reliability=reliability, tempering=tempering,
        concentration=concentration, unranked=unranked, sampler=sampler,
    )  # fmt: skip
    chosen, blocks = what.ranks()
    shape = what.where.codes.shape
    coords = {dim: annotations[dim].to_numpy() for dim in (ITEM, ANNOTATOR)}
    counted = {CANDIDATE: shape[1], "cell": len(what.shape)}
    counted |= {RANKING: what.n_rankings, "place": chosen.shape[1]}
    coords |= {dim: np.arange(size) for dim, size in counted.items()}
    with pm.Model(coords=coords) as model:
        strength = LogGamma("log_strength", alpha=what.shape, dims="cell")
        padded = pt.concatenate([strength, [-np.inf]])  # where a place of -1 finds nothing
        of_item = padded[what.cells()]
        share = strength - pt.logsumexp(of_item, axis=1)[what.owner()]
        mass = pt.zeros(shape)[what.owner(), what.laid.candidate].inc(pt.exp(share))
        pm.Deterministic("plausibility", mass, dims=(ITEM, CANDIDATE))
        PartialRanking(
            "rankings", log_strength=padded[chosen], power=what.power,
            sharpness=_sharpness(what), observed=blocks, dims=(RANKING, "place"),
        )  # fmt: skip
    return model


def _not_item_by_item(**settings: Any) -> bool:
    """Return whether something is learned from all items together, or NUTS moves them all."""
    return settings.get("sampler") == "nuts" or settings.get("reliability") in LEARNED


def _sharpness(what: Process) -> Any:
    """Return the power of the strengths: given, or to be learned, for all or for each."""
    import pymc as pm
    import pytensor.tensor as pt

    if what.reliability not in LEARNED:
        return 1.0 if what.sharpness is None else what.sharpness
    typical = pm.Normal("log_reliability", 0.0, 0.5)
    common = pm.Deterministic("reliability", pt.exp(typical))
    if what.reliability == "common":
        return pt.full((what.n_rankings,), common)
    spread = pm.HalfNormal("reliability_spread", 0.5)
    away = pm.Normal("reliability_offset", dims=ANNOTATOR)
    each = pm.Deterministic("annotator_reliability", common * pt.exp(spread * away), dims=ANNOTATOR)
    return each[what.of_ranking(ANNOTATOR)]


@by_chunks(whole=_not_item_by_item)
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
    concentration: float | None = None,
    unranked: str = "exact",
    sampler: str = "gibbs",
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    annotations : xarray.Dataset
        Rankings, or single labels.
    draws, tune, chains : int
        Draws per chain, sweeps before the first of them, and chains.
    random_seed : int or numpy.random.Generator, optional
        Makes the draws repeatable.
    progressbar : bool
        Show progress.
    log_likelihood : bool
        Add the log-likelihood of every ranking. With likelihood tempering it carries the factor
        ``reliability``: compare models by it at 1, or with strength tempering, and only models
        with the same ``unranked``. To leave out one of an item's few rankings moves its strengths
        much: look at the Pareto k that `arviz.loo` reports.
    posterior_predictive : bool
        Add ``label_code``: for every annotation the label that a new annotator of the same item
        puts in that place (its attribute ``labels`` has the names; -1 is a label nobody named,
        where ``unranked="one"``), lists being as long and as tied as they are in the data; and
        ``first_choice_agreement``, how often two annotators of an item then begin with the same
        labels, to hold against the same among the observed data.
    reliability, tempering, concentration, unranked
        As in `build`.
    sampler : {"gibbs", "nuts"}
        The Gibbs sampler, or NUTS on the same model, slower by far.
    checkpoint : path, optional
        Where to keep what has been drawn, every half a minute: a fit that is interrupted, or whose
        machine fails, goes on from there when the same is asked for again, to the same draws. Needs
        the package zarr. A fit that is finished is read from there.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``plausibility`` (chain, draw, item, candidate) in candidate form, see
        `dissensus.plausibility`, and if it is learned ``reliability`` or
        ``annotator_reliability``. Its attributes summarise r-hat and effective sample size over
        items.

    Raises
    ------
    AnnotationError, ArgumentError
        As in `build`.

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
    check_flags(log_likelihood=log_likelihood, posterior_predictive=posterior_predictive)
    chains, draws = fitting.sample_shape(draws, chains)
    hyper: dict[str, Any] = {
        "reliability": reliability, "tempering": tempering, "concentration": concentration,
        "unranked": unranked, "sampler": sampler,
    }  # fmt: skip
    what = process(annotations, KINDS, **hyper)
    hyper["reliability"] = what.reliability
    tune = fitting.whole("tune", tune, least=0)
    kept, rng = fitting.begun(
        checkpoint, model="plackett_luce", annotations=annotations, random_seed=random_seed,
        sampler=drawn_by(what, sampler), draws=draws, tune=tune, chains=chains,
    )  # fmt: skip
    found = drawn(
        what, lambda: build(annotations, **hyper), draws=draws, chains=chains, rng=rng,
        tune=tune, progressbar=progressbar, nuts=sampler == "nuts", log_likelihood=log_likelihood,
        checkpoint=kept,
    )  # fmt: skip
    tree = fitting.fitted(
        "plackett_luce",
        posterior=found.posterior,
        sample_stats=found.sample_stats,
        observed_data=observed(annotations),
        constant_data={"prior_shape": what.named(what.prior(), 0).rename("prior_shape")},
        hyper=hyper,
        inference=found.inference,
        diagnostics=diagnosed(found),
        asked=(chains, draws),
    )
    return with_rankings(
        tree, what, found, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, rng=rng,
    )  # fmt: skip
