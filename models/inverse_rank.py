r"""Probabilistic inverse rank normalisation (PrIRN): partial rankings, weighted by rank.

The story. Each annotator names labels in order, some perhaps tied. A label in block l of
:math:`|b_l|` tied labels gets the weight :math:`1/(l\,|b_l|)`; weights are summed over annotators
and normalised. This is the point estimate IRN of clinical studies. PrIRN treats these weights as
the shares of :math:`\gamma` labels drawn independently:

.. math::

    \mathrm{IRN}_i(k) \propto \sum_r \sum_{l} \frac{1[k \in b^r_l]}{l\,|b^r_l|}, \qquad
    \theta_i \mid b_i \sim \mathrm{Dirichlet}(\alpha + \gamma\, \mathrm{IRN}_i)

The model has no likelihood of the rankings: the source defines the posterior directly, and so does
this model. The prior of the PyMC model from `build` is therefore this posterior. The data of the
PyMC model are the first choices of *new* annotators. By default there are no new annotators; the
docstring of `build` says how to predict their choices, or how to learn from them.

Priors and why. :math:`\alpha` is ``prior_count``, by default 0: a label that is not named has
plausibility exactly 0, and is never in a top set. The published notebook adds .01 to each of 419
labels, which is ``prior_count=0.01``. With ``split_ties=False`` every tied label has the full
weight 1/l, as in the published code (this changes the top label of 33 of the 1,947 dermatology
cases).

The *reliability* :math:`\gamma` is the number of labels that all annotators of an item count as, so
PrIRN does not depend on the number of annotators. One annotator who names two labels in order
counts as much as five who agree on that order. With ``reliability_per="annotator"``, :math:`\gamma`
is multiplied by the number of the item's annotators.

When to use it. Together with `plackett_luce`, to see how much results depend on the aggregation;
and to compare with studies that used IRN. When not: if you need intervals from a generative model.

Source: Stutz et al. (2023), Eq. 14 to 16 and Appendix B.3. Drawn exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.plausibility import Layout, candidate_form, layout
from dissensus.data.rows import ranking_code, ranks, statements_per
from dissensus.dims import ANNOTATOR, CANDIDATE, CHAIN, DRAW, ITEM, LABEL
from dissensus.errors import ArgumentError
from dissensus.families.rankings.predictions import observed
from dissensus.kernels.random import generator
from dissensus.kernels.rankings import inverse_rank_weights
from dissensus.kernels.types import Floats
from dissensus.sampling import fitting
from dissensus.sampling.by_chunk import by_chunks
from dissensus.sampling.by_item import dirichlet_draws

KINDS = ("nominal", "ordinal", "ranking")


def build(
    annotations: xr.Dataset,
    *,
    reliability: float = 10.0,
    reliability_per: str = "item",
    split_ties: bool = True,
    prior_count: float = 0.0,
) -> Any:
    """Write PrIRN as a PyMC model: normalised Gamma strengths of the named labels.

    The observed ``first_choice`` is the number of ``new_annotators`` (item) whose first choice is
    each candidate. There are 0 new annotators, so that sampling the model gives the posterior of
    `fit`. Set their number with ``pm.set_data({"new_annotators": ...})``; then
    ``pm.sample_posterior_predictive(fit, freeze_vars=["plausibility"])`` predicts their choices,
    and ``pm.observe(model, {"first_choice": ...})`` learns from them. Metrics
    accept a trace of `pymc.sample`.

    Parameters
    ----------
    annotations : xarray.Dataset
        Rankings, or single labels (then every label is a first choice).
    reliability : float
        Number of labels that the rankings count as; > 0.
    reliability_per : {"item", "annotator"}
        Whether this number is for all annotators of an item together, or for each annotator.
    split_ties : bool
        Divide the weight of a block by its size (Eq. 14); the published code does not.
    prior_count : float
        Added to the Dirichlet parameter of every label, even if it is not named; >= 0.

    Returns
    -------
    pymc.Model
        With ``strength`` of each candidate with a positive parameter, the deterministic
        ``plausibility`` (item, candidate) and the ``first_choice`` (item, candidate).

    Raises
    ------
    AnnotationError
        If the annotations are of another kind, or an item has no annotation.
    ArgumentError
        If a hyperparameter is invalid.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> [v.name for v in dx.models.inverse_rank.build(ann).basic_RVs]
    ['strength', 'first_choice']
    """
    import pymc as pm
    import pytensor.tensor as pt

    where, scores = _scores(annotations, split_ties)
    parameters = _parameters(annotations, where, scores, reliability, reliability_per, prior_count)
    cell = np.nonzero(parameters)
    coords = {dim: annotations[dim].to_numpy() for dim in (ITEM, LABEL)}
    coords[CANDIDATE] = np.arange(scores.shape[1])
    with pm.Model(coords=coords, model=None) as model:
        pm.Data("candidate_code", where.codes, dims=(ITEM, CANDIDATE))
        pm.Data("label_number", np.arange(annotations.sizes[LABEL]), dims=LABEL)
        pm.Data("remainder_concentration", _concentration(prior_count))
        new = pm.Data(_NEW, np.zeros(len(scores), dtype=np.int64), dims=ITEM)
        strength = pm.Gamma("strength", alpha=parameters[cell], beta=1.0)
        mass = pt.zeros(parameters.shape)[cell].set(strength)
        plausibility = pm.Deterministic(
            "plausibility", mass / mass.sum(axis=-1, keepdims=True), dims=_DIMS
        )
        pm.Multinomial(
            "first_choice", n=new, p=plausibility, dims=_DIMS,
            observed=np.zeros(parameters.shape, dtype=np.int64),
        )  # fmt: skip
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
    reliability: float = 10.0,
    reliability_per: str = "item",
    split_ties: bool = True,
    prior_count: float = 0.0,
) -> xr.DataTree:
    """Draw from the posterior, exactly.

    Parameters
    ----------
    annotations : xarray.Dataset
        Rankings, or single labels.
    draws, chains : int
        Numbers of draws and chains; all draws are independent.
    tune : int
        Not used: no warm-up is needed.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    progressbar : bool
        Show progress of the posterior predictive draws.
    log_likelihood : bool
        Must be False: the model has no likelihood, see its card.
    posterior_predictive : bool
        Add ``first_choice``, the first choices of as many new annotators as the item has, and add
        the rankings to the observed data.
    reliability, reliability_per, split_ties, prior_count
        As in `build`.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``plausibility`` (chain, draw, item, candidate) in candidate form, see
        `dissensus.plausibility`; ``observed_data`` with ``score``, the normalised IRN.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> fit = dx.models.inverse_rank.fit(ann, draws=10, random_seed=1)
    >>> fit.posterior.plausibility.dims
    ('chain', 'draw', 'item', 'candidate')
    """
    arguments.flags(log_likelihood=log_likelihood, posterior_predictive=posterior_predictive)
    if log_likelihood:
        raise ArgumentError(
            "log_likelihood", expected="False", found="True",
            hint="PrIRN has no likelihood: compare it with other models "
            "by their predictions",
        )  # fmt: skip
    where, scores = _scores(annotations, split_ties)
    parameters = _parameters(annotations, where, scores, reliability, reliability_per, prior_count)
    hyper: dict[str, Any] = {
        "reliability": float(reliability), "reliability_per": reliability_per,
        "split_ties": split_ties, "prior_count": float(prior_count),
    }  # fmt: skip
    rng = generator(random_seed, "fit")
    seed, size = fitting.stream_seed(rng), arguments.sample_shape(draws, chains)
    theta, density = dirichlet_draws(parameters, annotations[ITEM].to_numpy(), size, seed)
    seed = fitting.stream_seed(rng)  # for the split of the remainder, independent of the draws
    score = _named(scores, where, annotations, prior_count, seed).rename("score")
    tree = fitting.fitted(
        "inverse_rank",
        posterior={"plausibility": _named(theta, where, annotations, prior_count, seed)},
        sample_stats={"lp": xr.DataArray(density, dims=(CHAIN, DRAW))},
        observed_data={"score": score},
        constant_data={"parameters": score.copy(data=parameters)},
        hyper=hyper,
    )
    if posterior_predictive:
        model = build(annotations, **hyper)
        model.set_data(_NEW, statements_per(annotations, ITEM))
        new_choices = fitting.predicted(tree, model, rng, progressbar, freeze_vars=["plausibility"])
        coords = {name: score.coords[name] for name in ("candidate_label", "candidate_size")}
        fitting.attach(tree, "posterior_predictive", new_choices.assign_coords(coords))
        # Checks compare new choices with the rankings: scores do not show which annotators agree.
        observed_data = tree["observed_data"].to_dataset().assign(observed(annotations))
        fitting.attach(tree, "observed_data", observed_data)
    return tree


def point(annotations: xr.Dataset, *, split_ties: bool = True) -> xr.DataArray:
    """Return inverse rank normalisation itself, the deterministic counterpart.

    Parameters
    ----------
    annotations : xarray.Dataset
        Rankings, or single labels.
    split_ties : bool
        As in `build`.

    Returns
    -------
    xarray.DataArray
        ``plausibility`` (item, candidate), without draws. Metrics of it are numbers without
        intervals.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_rankings({"case": [[["a"], ["b"]], [["b"]]]}, labels="abc")
    >>> dx.models.inverse_rank.point(ann).values  # 1 : 1/2 + 1
    array([[0.4, 0.6, 0. ]])
    """
    where, scores = _scores(annotations, split_ties)
    return _named(scores, where, annotations, 0.0, 0)


_DIMS = (ITEM, CANDIDATE)
_NEW = "new_annotators"


def _scores(annotations: xr.Dataset, split_ties: bool) -> tuple[Layout, Floats]:
    """Return the layout of candidates, and IRN (item, candidate)."""
    fitting.require_kind(annotations, KINDS, "inverse_rank")
    arguments.flags(split_ties=split_ties)
    fitting.require_annotated(
        statements_per(annotations, ITEM), annotations, "IRN is 0/0 without one"
    )
    where = layout(annotations)
    item = annotations["item_code"].to_numpy()
    weight = inverse_rank_weights(
        ranks(annotations), ranking_code(annotations), split_ties=split_ties
    )
    cell = item * where.codes.shape[1] + where.place
    scores = np.bincount(cell, weight, minlength=where.codes.size).reshape(where.codes.shape)
    return where, scores / scores.sum(axis=1, keepdims=True)


def _parameters(
    annotations: xr.Dataset, where: Layout, scores: Floats, reliability: float,
    reliability_per: str, prior_count: float,
) -> Floats:  # fmt: skip
    """Return Dirichlet parameters (item, candidate); the remainder has the sum over its labels."""
    gamma = arguments.positive("reliability", reliability)
    alpha = arguments.finite("prior_count", prior_count, 0)
    arguments.one_of("reliability_per", reliability_per, (ITEM, ANNOTATOR))
    times = statements_per(annotations, ITEM)[:, None] if reliability_per == ANNOTATOR else 1
    return np.asarray(gamma * times * scores + alpha * where.sizes)


def _named(
    values: Floats, where: Layout, annotations: xr.Dataset, prior_count: float, seed: int
) -> xr.DataArray:
    items, labels = (annotations[dim].to_numpy() for dim in (ITEM, LABEL))
    return candidate_form(
        values, where, items, labels, concentration=_concentration(prior_count), seed=seed
    )


def _concentration(prior_count: float) -> float:
    """Return the Dirichlet parameter of each label of the remainder; infinite for equal shares."""
    return float(prior_count) if prior_count > 0 else float("inf")
