r"""Rasch: how able each annotator is, and how difficult each item.

The story. An annotator is right about an item if his ability is above its difficulty, by chance:

.. math::

    \frac{P(y_{ij} = z_i)}{P(y_{ij} \ne z_i)} = e^{\theta_j - b_i} + g, \qquad
    \theta_j \sim \mathrm{Normal}(m, s_\theta^2), \quad b_i \sim \mathrm{Normal}(0, s_b^2)

and if he is wrong, he says any of the other labels alike. With g = 0 this is Rasch's model,
:math:`P(y_{ij} = z_i) = \operatorname{logistic}(\theta_j - b_i)`: as difficulties have mean 0, an
ability is the logit of being right about the average item. With ``guessing=True`` the odds of a
guess come on top, :math:`g = 1 / (K - 1)` for K labels: who does not know takes any label, and
nobody is right less often than by guessing.

The truth :math:`z_i` is known of all items (``truth=``, then this is a Bernoulli item response
model of which labels are right), of some, or of none: then it is learned with the rest,
:math:`z_i \sim \mathrm{Categorical}(\pi)`, as in `symmetric_confusion`, whose difficulties are in
fifths where these are each its own.

``confidence=True`` takes what annotators say of how sure they are as evidence:

.. math:: c_{ij} \mid y_{ij} = z_i \sim \mathrm{Categorical}(r), \qquad
    c_{ij} \mid y_{ij} \ne z_i \sim \mathrm{Categorical}(w)

where r (``confidence_if_right``) and w (``confidence_if_wrong``) are shares of the levels there
are. What is learned says whether confidence tells anything: where w has half its weight on the
highest level, half of all wrong labels were given with full confidence. Each confidence is taken
for evidence of its own. As a rule it is not: who sees a difficult item hesitates with the others
who see it (correlations of .1 to .4 in real studies). In six simulated ones with .13 and a fifth of
the truths known, 90 % intervals held 25 of 30 accuracies; without confidence, 30. The fit warns.

Priors and why. m is normal (1, 1.5), in logits: annotators on the whole know more than nothing.
Where some truth is not known and nobody guesses, it is also above the logit of being right as often
as by guessing, :math:`-\log(K - 1)`: below it "they are mostly right" and "they are mostly wrong"
explain two labels equally well. :math:`s_\theta` is half-normal with scale 1, :math:`s_b` with 1.5:
items differ more than people who were chosen for the task. Prevalence is uniform over the simplex
(``prior_count=1``), and so are r and w. ``priors=`` changes the first three.

When to use it. To know how able annotators are who labelled items of different difficulty, what
each item asks of them, and how accurate each is on each (`dissensus.weighted_reliability`).
When not: labels that are confused with certain others (`dawid_skene`); systems to be judged beside
annotators (`symmetric_confusion`); one label an item and no known truth, where nothing tells
ability from difficulty.

Guessing is left out by default only where the truth of all items is known. Without the truth it is
what keeps the model honest: an item that may be so difficult that all are wrong about it makes
labels on which all agree speak for an easy item or for an impossible one, and accuracies come out
anywhere. Of seven studies of radiologists (`mrmc_readers`), whose accuracies the truth shows to be
.73 to .97, it missed them by .10 on average without guessing, by .04 with it. Annotators who are
wrong together, for what the item shows and not for want of ability, remain out of sight: with the
truth 90 % intervals held 30 of 30 accuracies, and without it 21.

Drawn by an exact Gibbs sampler: given who knew, abilities and difficulties are crossed effects
(`crossed_effects`), and its kernel moves them; difficulties are moved with truths and guesses
summed out. NUTS on the same model, all of that summed out, is there as a witness.

The algorithm: `docs/derivations/rasch-gibbs.md`. Why who does not know guesses:
`docs/decisions/0010-who-does-not-know-guesses.md`.

Source: Cabitza et al. (2020), "The elephant in the machine", Eq. 5, after Rasch (1960); guessing
after Birnbaum (1968), with the share of guesses that are right known; confidence as evidence is our
own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, LEVEL
from dissensus.families.base import FitOptions, run
from dissensus.families.crossed.priors import spelled
from dissensus.families.rasch.fit import RaschFit
from dissensus.families.rasch.process import KINDS as KINDS
from dissensus.families.rasch.process import Process
from dissensus.families.rasch.process import process as rasch_process
from dissensus.kernels.types import UNKNOWN
from dissensus.models.crossed_effects import _scale


def build(
    annotations: xr.Dataset,
    *,
    truth: Any = None,
    confidence: bool = False,
    guessing: bool | None = None,
    priors: Mapping[str, Any] | None = None,
    prior_count: float = 1.0,
    sampler: str = "gibbs",
) -> Any:
    """Write the process as a PyMC model.

    `pymc.sample` takes the Gibbs step for it by itself; `dissensus.steps.without_gibbs` goes
    without.

    Parameters
    ----------
    annotations : xarray.Dataset
        Labels, nominal or ordinal. Repeated labels by one annotator count each as a label.
    truth : mapping, pandas.Series or DataArray (item), optional
        From items to the labels that are known to be true; of all items, or of some.
    confidence : bool
        Whether how sure annotators were is evidence. Of at most 10 different levels.
    guessing : bool, optional
        Whether who does not know takes any of the labels, and is right once in as many times as
        there are labels. None is False if the truth of all items is known, and True if not.
    priors : mapping, optional
        Of ``mean_ability``: (mean, sd). Of ``ability_spread`` and ``difficulty_spread``:
        ("half_normal", scale), ("half_t", scale, degrees of freedom) or ("exponential", mean).
        Those not named keep the card's.
    prior_count : float
        Items that each label is given in advance; > 0.
    sampler : {"gibbs", "nuts"}
        Not used: the model is the same. Here so that `build` and `fit` take the same settings.

    Returns
    -------
    pymc.Model
        With ``mean_ability``, ``ability_spread``, ``ability`` (annotator), ``difficulty_spread``,
        ``difficulty`` (item), ``prevalence`` (label), with confidence ``confidence_if_right`` and
        ``confidence_if_wrong`` (level), and the observed ``labels`` (annotation): codes of labels,
        with confidence times the number of levels, plus the level's.

    Raises
    ------
    AnnotationError
        If the annotations are no labels, or of fewer than two kinds, an item has none, or
        confidence is asked for and is not there.
    ArgumentError
        If a setting makes no sense, or ``truth`` names items or labels there are not.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a"], ["a", "b"], ["b", "b"]])
    >>> model = dx.models.rasch.build(ann, truth={0: "a"})
    >>> [v.name for v in model.free_RVs][:3]
    ['mean_ability', 'ability_spread', 'ability']
    """
    return _model(_process(annotations, truth, confidence, guessing, priors, prior_count, sampler))


def _process(
    annotations: xr.Dataset, truth: Any, confidence: bool, guessing: bool | None, priors: Any,
    prior_count: float, sampler: str,
) -> Process:  # fmt: skip
    return rasch_process(
        annotations, truth=truth, confidence=confidence, guessing=guessing, priors=priors,
        prior_count=prior_count, sampler=sampler,
    )  # fmt: skip


def _model(process: Process) -> Any:
    """Write the process as a PyMC model."""
    import pymc as pm
    import pytensor.tensor as pt

    import dissensus.families.steps  # noqa: F401 (registers the Gibbs step)
    from dissensus.families.rasch.distributions import LatentAnswers

    n_labels, n_levels = len(process.labels), len(process.levels)
    coords = {
        ITEM: process.items, ANNOTATOR: process.annotators, LABEL: process.labels,
        ANNOTATION: np.arange(len(process.label)), LEVEL: process.levels,
    }  # fmt: skip
    with pm.Model(coords=coords, model=None) as model:
        centre, sd = process.priors["mean_ability"]
        if np.isfinite(process.least):
            mean = pm.TruncatedNormal("mean_ability", mu=centre, sigma=sd, lower=process.least)
        else:
            mean = pm.Normal("mean_ability", mu=centre, sigma=sd)
        ability_spread = _scale("ability_spread", process.priors)
        ability = pm.Normal("ability", mean, ability_spread, dims=ANNOTATOR)
        difficulty_spread = _scale("difficulty_spread", process.priors)
        difficulty = pm.Normal("difficulty", 0.0, difficulty_spread, dims=ITEM)
        logit = ability[process.annotator] - difficulty[process.item]
        if process.guessing:  # the odds of a right guess come on top
            logit = pt.logaddexp(logit, -np.log(n_labels - 1))

        counts = np.full(n_labels, process.prior_count)
        prevalence = pm.Dirichlet("prevalence", a=counts, dims=LABEL)
        truth = process.truth[:, None]
        possible = (truth == UNKNOWN) | (truth == np.arange(n_labels))
        log_truth = pt.switch(possible, pt.log(prevalence), -np.inf)

        log_level, code = np.zeros((2, 1)), process.label
        if n_levels:
            shape = np.full(n_levels, process.level_prior)
            right = pm.Dirichlet("confidence_if_right", a=shape, dims=LEVEL)
            wrong = pm.Dirichlet("confidence_if_wrong", a=shape, dims=LEVEL)
            log_level = pt.log(pt.stack([wrong, right]))
            code = code * n_levels + process.level
        # The truth of each item is summed out.
        LatentAnswers(
            "labels", log_truth, logit, log_level, process.item, observed=code, dims=ANNOTATION
        )
    return model


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
    truth: Any = None,
    confidence: bool = False,
    guessing: bool | None = None,
    priors: Mapping[str, Any] | None = None,
    prior_count: float = 1.0,
    keep_items: bool = True,
    sampler: str = "gibbs",
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    annotations, truth, confidence, guessing, priors, prior_count
        As in `build`.
    draws, tune, chains : int
        Draws per chain, sweeps before the first of them, and chains.
    random_seed : int or numpy.random.Generator, optional
        Makes the draws repeatable.
    progressbar : bool
        Show progress.
    log_likelihood : bool
        Add the log-likelihood of each item, all its labels together, given what does not belong
        to the item: its difficulty is summed out, and its truth unless it is known, when it
        counts among what is seen. So items can be left out (`arviz.loo`).
    posterior_predictive : bool
        Add labels drawn anew: by the same annotators, of the same items.
    keep_items : bool
        Keep the draws of every item's difficulty and truth, and of every annotator's accuracy on
        every item. Without, nothing grows with items but the labels; ``truth_mean`` in
        ``constant_data`` stays.
    sampler : {"gibbs", "nuts"}
        The Gibbs sampler, or NUTS on the same model, slower by far.
    checkpoint : path, optional
        Where to keep what has been drawn, every half a minute: a fit that is interrupted, or whose
        machine fails, goes on from there when the same is asked for again, to the same draws. Needs
        the package zarr. A fit that is finished is read from there.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``ability`` (annotator), logits; ``mean_ability``, ``ability_spread``,
        ``difficulty_spread``; ``prevalence`` (label); ``confidence_if_right`` and
        ``confidence_if_wrong`` (level); if kept, ``difficulty`` (item), ``accuracy`` (annotator,
        item), in [0, 1], also of items that the annotator did not label, and ``truth`` (item,
        label): how probable each label is to be true, given the other parameters of the draw.
        Attributes summarise r-hat and effective sample size.

    Raises
    ------
    AnnotationError, ArgumentError
        As in `build`; also if what is said of items would take more than 4 GB.

    Warns
    -----
    ConvergenceWarning
        If the chains have not run long enough.
    DesignWarning
        If labels, or who gave them, leave some of this to priors, naming whom it concerns.
    DissensusWarning
        If annotators of one item are sure or unsure together, which ``confidence=True`` takes for
        evidence of each.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.confusion_study(
    ...     150, 6, 2, ipc=(0.6, 0.65, 0.7, 0.8, 0.85, 0.9), difficulty=0.1, random_seed=1)
    >>> known = study.truth["truth_label"]
    >>> fit = dx.models.rasch.fit(
    ...     study.annotations, truth=known, random_seed=1, progressbar=False)
    >>> ability = fit["posterior"]["ability"].mean(("chain", "draw"))
    >>> int(ability.to_numpy().argmax())
    5
    """
    process = _process(annotations, truth, confidence, guessing, priors, prior_count, sampler)
    options = FitOptions(
        draws=draws, tune=tune, chains=chains, random_seed=random_seed, progressbar=progressbar,
        sampler=sampler, keep=keep_items, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, checkpoint=checkpoint,
    )  # fmt: skip
    hyper = {
        "confidence": confidence,
        "guessing": process.guessing,
        "priors": spelled(process.priors),
        "prior_count": prior_count,
        "sampler": sampler,
    }
    return run(RaschFit(process, options), lambda: _model(process), hyper)
