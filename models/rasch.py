r"""Rasch: the ability of each annotator and the difficulty of each item.

The story. Whether an annotator is right about an item depends on ability less difficulty:

.. math::

    \frac{P(y_{ij} = z_i)}{P(y_{ij} \ne z_i)} = e^{\theta_j - b_i} + g, \qquad
    \theta_j \sim \mathrm{Normal}(m, s_\theta^2), \quad b_i \sim \mathrm{Normal}(0, s_b^2)

A wrong label is any of the other labels with equal probability. With g = 0 this is Rasch's model,
:math:`P(y_{ij} = z_i) = \operatorname{logistic}(\theta_j - b_i)`. As difficulties have mean 0, an
ability is then the logit of being right about the average item. With ``guessing=True``, annotators
who do not know the true label choose any label: :math:`g = 1 / (K - 1)` for K labels, and accuracy
is never below chance.

The truth :math:`z_i` may be known of all items (``truth=``), of some, or of none. If all are known,
this is a Bernoulli item response model. Unknown truths are learned,
:math:`z_i \sim \mathrm{Categorical}(\pi)`, as in `symmetric_confusion`, where difficulties take
five values and not a value for each item.

``confidence=True`` uses the annotators' confidences as evidence:

.. math:: c_{ij} \mid y_{ij} = z_i \sim \mathrm{Categorical}(r), \qquad
    c_{ij} \mid y_{ij} \ne z_i \sim \mathrm{Categorical}(w)

where r (``confidence_if_right``) and w (``confidence_if_wrong``) are shares of the levels. If w has
half its weight on the highest level, half of all wrong labels were given with full confidence. The
model takes confidences as independent. Usually they are not: annotators of a difficult item are
unsure together (correlations of .1 to .4 in real studies). In six simulated studies with a
correlation of .13 and a fifth of the truths known, 90 % intervals covered 25 of 30 accuracies with
confidence, and 30 without it. The fit warns of such a correlation.

``formula="~ experience + words"``: covariates of annotators and items, columns of two tables. The
exponent in the first formula then has a coefficient for each term:

.. math:: \theta_j - b_i + x_{ij}' \beta

A positive coefficient means "right more often", for covariates of annotators and of items alike:
it makes an annotator abler, or an item *easier*. Covariates are centred over the labels.
Abilities, difficulties, their spreads and the mean ability are for annotators and items with
average covariates. ``accuracy`` includes the covariates. With guessing, a coefficient is about the
log odds of knowing the label, which change more than those of being right. If truths are unknown
and items about equally hard, coefficients are then too large: by a quarter in seven simulated
studies of 200 items with five labels each (coverage of 89 % intervals .57; .90 of `dawid_skene`
with the same formula, about being right). With neither a known truth nor guessing,
do not use covariates: other truths with other signs of coefficients fit small studies about as
well, and chains stay with one of them (r-hat shows it).

Priors and why. m is normal (1, 1.5), in logits: annotators are mostly right. If some
truth is unknown and nobody guesses, m is also bounded below by the logit of chance,
:math:`-\log(K - 1)`. Without the bound "mostly right" and "mostly wrong" explain two labels equally
well. :math:`s_\theta` is half-normal with scale 1, :math:`s_b` with 1.5: items differ more than
annotators who were chosen for the task. Prevalence is uniform over the simplex
(``prior_count=1``), and so are r and w. A coefficient is normal with mean 0 and sd 2.5, in logits,
divided by the sd of its covariate, as in `crossed_effects`. ``priors=`` changes the priors
of coefficients, m, :math:`s_\theta` and :math:`s_b`.

When to use it. To estimate the ability of annotators who labelled items of different difficulty,
the difficulty of items, and the accuracy of each annotator on each item
(`dissensus.weighted_reliability`). When not: if labels are confused with particular other labels
(`dawid_skene`); to judge systems beside annotators (`symmetric_confusion`); with one label an item
and no known truth, where ability and difficulty cannot be separated.

Guessing is left out by default only if all truths are known. Without guessing, an item may be so
difficult that all annotators are wrong about it. Unanimous labels then fit an easy item as well as
an impossible one, and accuracies are not identified. In seven studies of radiologists
(`mrmc_readers`), with accuracies of .73 to .97 by the known truth, the mean error of the estimated
accuracies was .10 without guessing, and .04 with it. The model cannot detect annotators who are
wrong together for reasons other than ability: 90 % intervals covered 30 of 30 accuracies with the
truth known, and 21 without it.

Data were simulated from other models to measure the coverage of 89 % intervals (6 annotators, 120
items, three labels; 15 studies of each kind). With the truth known, intervals of accuracies cover
.84 to .91 if some labels are guessed, discrimination differs, or items are hard in groups;
intervals of ``ability`` cover .57 and .62 in the last two cases. With an unknown truth, intervals
of accuracies cover .69 to .84 (.78 if nobody guesses), and the differences between annotators are
too small by a third. If many annotators give the same wrong answer on .15 of the items, accuracies
are .11 too high, and intervals cover .18: give some true labels.

The sampler is an exact Gibbs sampler. Given which annotators knew the truth, abilities and
difficulties are crossed effects (`crossed_effects`), and are moved by the kernel of that model.
Difficulties are also moved with truths and guesses summed out. NUTS on the same model, with truths
and guesses summed out, serves as a check.

The algorithm: `docs/derivations/rasch-gibbs.md`. The reasons for guessing:
`docs/decisions/0010-who-does-not-know-guesses.md`.

Source: Cabitza et al. (2020), "The elephant in the machine", Eq. 5, after Rasch (1960); guessing
after Birnbaum (1968), with the known share of right guesses; confidence as evidence is our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from dissensus.data.layout import PLACE, by_place
from dissensus.dims import ANNOTATOR, ITEM, LABEL, LEVEL, TERM
from dissensus.families.base import FitOptions, run
from dissensus.families.rasch.fit import RaschFit
from dissensus.families.rasch.process import KINDS as KINDS
from dissensus.families.rasch.process import Process
from dissensus.families.rasch.process import process as rasch_process
from dissensus.kernels.types import UNKNOWN
from dissensus.models.crossed_effects import _scale
from dissensus.sampling.places import observed


def build(
    annotations: xr.Dataset,
    *,
    truth: Any = None,
    confidence: bool = False,
    guessing: bool | None = None,
    priors: Mapping[str, Any] | None = None,
    prior_count: float = 1.0,
    sampler: str = "gibbs",
    formula: str | None = None,
    items: Any = None,
    annotators: Any = None,
) -> Any:
    """Write the process as a PyMC model.

    `pymc.sample` chooses the Gibbs step for it, except within `dissensus.steps.without_gibbs`.

    Parameters
    ----------
    annotations : xarray.Dataset
        Labels, nominal or ordinal. Each repeated label of an annotator counts as one label.
    truth : mapping, pandas.Series or DataArray (item), optional
        From items to labels known to be true; of all items, or of some.
    confidence : bool
        Whether confidences are evidence; they may have at most 10 different levels.
    guessing : bool, optional
        Whether annotators who do not know the true label choose any label with equal probability.
        None is False if the truth of all items is known, and True if not.
    priors : mapping, optional
        Of ``mean_ability`` and ``coefficient``: (mean, sd). Of ``ability_spread`` and
        ``difficulty_spread``: ("half_normal", scale), ("half_t", scale, degrees of freedom) or
        ("exponential", mean). The others keep their defaults.
    prior_count : float
        Prior count of each label, in items; > 0.
    sampler : {"gibbs", "nuts"}
        Not used by `build`, which takes the settings of `fit`: the model is the same.
    formula : str, optional
        Covariates of being right, as in `crossed_effects`: ``"~ experience * np.log(words)"``. Each
        term must be a function of one item and one annotator, which is computed for all pairs. A
        column ``pool`` must be in a table.
    items, annotators : table, optional
        Covariates, with a column ``item`` or ``annotator`` of names. Each annotator needs a label.

    Returns
    -------
    pymc.Model
        With ``mean_ability``, ``ability_spread``, ``ability`` (annotator), ``difficulty_spread``,
        ``difficulty`` (item), ``prevalence`` (label), with confidence ``confidence_if_right`` and
        ``confidence_if_wrong`` (level), with a formula ``coefficient`` (term), and the observed
        ``labels`` (item, place): codes of labels (with confidence times the number of levels, plus
        the level's code); -1 at places without a label. ``truth`` (item, label) is the probability
        of each label to be true. The data ``label_code`` and ``respondent_code`` (item, place),
        ``covariates`` (item, place, term) of a formula, and, if the truth of some items is known,
        ``truth_code`` (item; -1 if unknown), can be set to those of other items.
        The data ``guess_odds``, 1 / (labels - 1), exist only if annotators guess.

        `pymc.compute_log_likelihood` gives the log-likelihood of each item given its difficulty,
        and ``fit(log_likelihood=True)`` with its difficulty summed out. Use `fit` for
        `arviz.loo`: an item's own labels inform its difficulty, and Pareto k is often too high.

    Raises
    ------
    AnnotationError
        If the annotations are not labels, if there are fewer than two labels, if an item has none,
        or if ``confidence=True`` and confidence is missing.
    ArgumentError
        If a setting is invalid, ``truth`` names items or labels that do not exist, or a table
        lacks a column, a row or a value.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a"], ["a", "b"], ["b", "b"]])
    >>> model = dx.models.rasch.build(ann, truth={0: "a"})
    >>> [v.name for v in model.free_RVs][:3]
    ['mean_ability', 'ability_spread', 'ability']
    """
    return _model(rasch_process(
        annotations, truth=truth, confidence=confidence, guessing=guessing, priors=priors,
        prior_count=prior_count, sampler=sampler, formula=formula, items=items,
        annotators=annotators,
    ))  # fmt: skip


def _model(process: Process) -> Any:
    """Write the process as a PyMC model."""
    import pymc as pm
    import pytensor.tensor as pt

    from dissensus.families.rasch.distributions import (
        LatentAnswers,
        difference,
        joint,
        of_items,
    )
    from dissensus.families.steps import Model, written

    n_labels = len(process.labels)
    coords = {
        ITEM: process.items, ANNOTATOR: process.annotators, LABEL: process.labels,
        LEVEL: process.levels,
    } | ({TERM: process.terms} if len(process.terms) else {})  # fmt: skip
    with Model(coords=coords, model=None) as model:
        centre, sd = process.priors["mean_ability"]
        if np.isfinite(process.least):
            mean = pm.TruncatedNormal("mean_ability", mu=centre, sigma=sd, lower=process.least)
        else:
            mean = pm.Normal("mean_ability", mu=centre, sigma=sd)
        ability_spread = _scale("ability_spread", process.priors)
        ability = pm.Normal("ability", mean, ability_spread, dims=ANNOTATOR)
        difficulty_spread = _scale("difficulty_spread", process.priors)
        difficulty = pm.Normal("difficulty", 0.0, difficulty_spread, dims=ITEM)
        respondent, label = observed(*process.observations())
        # ability[respondent] - difficulty[:, None]
        logit = difference(ability, difficulty, respondent)
        if len(process.terms):
            logit = logit + _of_covariates(process, respondent)
        if process.guessing:  # add the odds of a right guess
            odds = pm.Data("guess_odds", 1.0 / (n_labels - 1))
            logit = pt.logaddexp(logit, pt.log(odds))

        counts = np.full(n_labels, process.prior_count)
        prevalence = pm.Dirichlet("prevalence", a=counts, dims=LABEL)
        log_truth = pt.log(prevalence)[None]
        if (process.truth != UNKNOWN).any():
            known = pm.Data("truth_code", process.truth, dims=ITEM)
            known = of_items(known, respondent)[:, None]
            possible = pt.eq(known, UNKNOWN) | pt.eq(known, np.arange(n_labels))
            log_truth = pt.switch(possible, log_truth, -np.inf)

        log_level: Any = np.zeros((2, 1))
        if len(process.levels):
            shape = np.full(len(process.levels), process.level_prior)
            right = pm.Dirichlet("confidence_if_right", a=shape, dims=LEVEL)
            wrong = pm.Dirichlet("confidence_if_wrong", a=shape, dims=LEVEL)
            log_level = pt.log(pt.stack([wrong, right]))
        # The truth of each item is summed out.
        given = log_truth, logit, pt.as_tensor(log_level), respondent
        LatentAnswers("labels", *given, observed=label, dims=(ITEM, PLACE))
        pm.Deterministic(
            "truth", pm.math.softmax(joint(label, *given), axis=-1), dims=(ITEM, LABEL)
        )
    return written(model)


def _of_covariates(process: Process, respondent: Any) -> Any:
    """Add the coefficients of a formula, and return the covariates' part of logits."""
    import pymc as pm

    from dissensus.families.rasch.distributions import of_items

    centre, sd = process.coefficient_prior.T
    coefficient = pm.Normal("coefficient", mu=centre, sigma=sd, dims=TERM)
    value = by_place(process.item, len(process.items), process.covariates, empty=0.0)
    given = of_items(pm.Data("covariates", value, dims=(ITEM, PLACE, TERM)), respondent)
    # As a matrix: with three dimensions the product takes seven times as long.
    return (given.reshape((-1, value.shape[-1])) @ coefficient).reshape(respondent.shape)


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
    formula: str | None = None,
    items: Any = None,
    annotators: Any = None,
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    annotations, truth, confidence, guessing, priors, prior_count, formula, items, annotators
        As in `build`.
    draws, tune, chains, random_seed, progressbar, sampler, checkpoint
        As in `crossed_effects`.
    log_likelihood : bool
        Add the log-likelihood of all labels of each item, with the item's difficulty and unknown
        truth summed out, for leave-one-item-out cross-validation (`arviz.loo`). Add also
        ``log_prior``, for `arviz.psense_summary`.
    posterior_predictive : bool
        Add new labels by the same annotators, of the same items.
    keep_items : bool
        Keep the draws of every item's difficulty and truth, and of every annotator's accuracy on
        every item. ``truth_mean`` in ``constant_data`` is always kept.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``ability`` (annotator), logits; ``mean_ability``, ``ability_spread``,
        ``difficulty_spread``; ``prevalence`` (label); ``confidence_if_right`` and
        ``confidence_if_wrong`` (level); ``coefficient`` (term), logits, for `dissensus.contrast`;
        if kept, ``difficulty`` (item), ``accuracy`` (annotator,
        item), in [0, 1], also of items that the annotator did not label, and ``truth`` (item,
        label), the probability that each label is true, given the other parameters of the draw.
        Attributes summarise r-hat and effective sample size.

    Raises
    ------
    AnnotationError, ArgumentError
        As in `build`; also if the draws of items would take more than 4 GB.

    Warns
    -----
    ConvergenceWarning
        If the chains have not converged.
    DesignWarning
        If the data do not inform some parameters, which then depend on priors. The warning names
        items and annotators.
    DissensusWarning
        If confidences of one item are correlated: ``confidence=True`` assumes independence.

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

    The three annotators who are right more often have a diploma:

    >>> people = {"annotator": [1, 2, 3, 4, 5, 6], "diploma": list("nnnyyy")}
    >>> fit = dx.models.rasch.fit(
    ...     study.annotations, truth=known, formula="~ diploma", annotators=people, random_seed=1,
    ...     progressbar=False)
    >>> bool((dx.contrast(fit, {"diploma[y]": 1}) > 0).mean() > 0.95)
    True
    """
    process = rasch_process(
        annotations, truth=truth, confidence=confidence, guessing=guessing, priors=priors,
        prior_count=prior_count, sampler=sampler, formula=formula, items=items,
        annotators=annotators,
    )  # fmt: skip
    options = FitOptions(
        draws=draws, tune=tune, chains=chains, random_seed=random_seed, progressbar=progressbar,
        sampler=sampler, keep=keep_items, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, checkpoint=checkpoint,
    )  # fmt: skip
    hyper = {
        "confidence": confidence, "guessing": process.guessing,
        "prior_count": prior_count, "sampler": sampler, **process.words,
    }  # fmt: skip
    return run(RaschFit(process, options), lambda: _model(process), hyper)
