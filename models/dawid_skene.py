r"""Dawid-Skene: one true label for each item, and a confusion matrix for each annotator.

The story. Every item i has one true label z. An annotator j gives the label y with a probability
that depends on z: row z of the annotator's confusion matrix C. An annotator may be accurate for one
label and not for another, and may confuse particular labels.

.. math::

    z_i &\sim \mathrm{Categorical}(\pi), \qquad \pi \sim \mathrm{Dirichlet}(\alpha) \\
    y_{ij} \mid z_i = z &\sim \mathrm{Categorical}(C_{jz})

The true labels are summed out. There are three priors of the matrices:

``pooling="hierarchical"``
    Annotators belong to a population with the matrix M. The odds that annotator j is right are
    those of M times :math:`e^{s_j}`, the same factor for all labels, with
    :math:`s_j \sim N(0, \omega^2)`. Each label's accuracy varies around that. Where errors fall
    does not depend on how accurate the annotator is:

    .. math::

        C_{jzz} \sim \mathrm{Beta}(\kappa_z p_{jz}, \kappa_z (1 - p_{jz})), \quad
        \mathrm{logit}\, p_{jz} = \mathrm{logit}\, M_{zz} + s_j, \qquad
        \frac{C_{jzy}}{1 - C_{jzz}} \sim \mathrm{Dirichlet}(\kappa_z M_{zy}),\ y \ne z

    In a fit M is ``population_confusion``, :math:`\kappa` is ``confusion_concentration`` and
    :math:`\omega` is ``accuracy_spread``. With :math:`\omega = 0` rows are
    :math:`\mathrm{Dirichlet}(\kappa_z M_z)`. The matrix of an annotator with few labels stays close
    to the population's. Use it to estimate the accuracies of annotators.
``pooling="complete"``
    One matrix for all annotators, :math:`C_{jz} = M_z`.
``pooling="none"``
    Independent matrices, :math:`C_{jz} \sim \mathrm{Dirichlet}(a_z)`. Rows without labels stay at
    the prior. Use it to estimate the labels of items; `dissensus.evaluate` does. The priors of many
    annotators keep the meaning of a rare label, where a pooled matrix can turn it into a class of
    hard items.

``difficulty=True`` multiplies the odds of being right beyond those of a guess,
:math:`C_{jzz} / (1 - C_{jzz}) - 1 / (K - 1)`, by :math:`e^{\tau b_j d_i}`, with the ease
:math:`d_i` from a standard normal distribution in fifths, as in `symmetric_confusion`. A hard item
is a guess, and where errors fall does not change. A row that is right about a typical item less
often than by guessing (1/K) is so about items of any difficulty. Matrices in a fit are then
averages over items. The model is related to GLAD (Whitehill).

Systems are respondents too. Each row of a system's matrix is drawn around a symmetric row with the
weight of ten labels; the accuracy of the symmetric matrix is uniform from 0 to 1.

Correlated errors (``error_correlation``). The label that annotators point to need not be the true
one: people who are misled by the same thing point to a wrong label together. Of n labels of an item
whose errors have the correlation :math:`\rho`, :math:`m = n / (1 + (n - 1) \rho)` are independent.
The true label :math:`z^*` then has, given the model above and the answer :math:`s_i` of a system,

.. math::

    P(z^*_i = k \mid y_i, \theta) &\propto P(z_i = k \mid y_i, \theta)^{m_i / n_i}, \\
    P(z^*_i = k \mid y_i, s_i, \theta) &\propto P(z_i = k \mid y_i, \theta)^{m_i / n_i}\,
        e^{w [s_i = k]}

The weight w stands for what a system knows beyond the annotators; systems with the same answers
have the same draws. Labels alone do not identify :math:`\rho`. "learned" is a prior from seven data
sets with a known truth: :math:`\log\rho` is normal around log .6 with sd 1/2
(``docs/validation.md``). Values above 1 are no correlations; they make up for accuracies that were
estimated as if errors were independent and are too high. A system that knows what annotators know
has w = 0. A system that errs independently of them has as w its log odds of being right, at most
3.5, called :math:`w_0`. The prior of w is uniform from :math:`-.1 w_0` to :math:`1.2 w_0`, plus a
normal error with sd .5. Labels known to be true (``truth=``) are evidence of both. The default is
0, independent errors; `dissensus.evaluate` uses "learned".

Priors and why. Prevalence is uniform over the simplex. Each row :math:`M_z`, and :math:`a_z`
without pooling, has the weight of four labels, 2.8 of them right; and each :math:`M_z` has its own
label most often, as annotators on the whole use labels for what they mean. This rules out that
labels change places, which the likelihood allows, and that a rare label becomes a name for hard
items. Without pooling the four labels of each annotator do the same if there are many annotators.
:math:`\kappa_z \sim \mathrm{Gamma}(2, 0.2)`, with mean 10, and :math:`\omega` is half-normal with
scale 1.

When to use it. There are a few hundred labels for each label that is ever true, from each annotator
or, with pooling, from all. Labels are nominal or ordinal, also repeated (``trial``).

When not: with few labels the posterior is mostly prior: use `symmetric_confusion`. With items that
annotators find hard together and three annotators, a matrix can explain difficulty as confusion,
and accuracies can be off: in 16 simulated studies of 5,000 items with difficulty and graded errors
a system of .87 was estimated at .73 to .88, and at .85 to .88 by `symmetric_confusion` with graded
errors and difficulty. Without one true label use `dirichlet`. Do not judge a system that was
trained on these labels or is made of them. A mistake that annotators share counts as the truth,
unless errors are correlated.

The likelihood has several maxima, and the one that EM reaches from vote proportions need not be the
highest; `em` is for comparison. For the anaesthetists of Dawid and Skene the published prevalences
.40/.42/.11/.07 have log-likelihood -192.89, and .40/.45/.09/.07 have -191.57. Both lie well inside
the posterior, and so do error rates far from the 0 and 1 that EM returns.

Sampling. An exact Gibbs sampler; NUTS on the PyMC model is there to check it.

Source: Dawid & Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
algorithm"; hierarchical: Paun et al. (2018), "Comparing Bayesian models of annotation".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, LABEL, RESPONSE, SYSTEM
from dissensus.families.base import FitOptions, run
from dissensus.families.latent_truth import likelihood
from dissensus.families.latent_truth.em import em as em
from dissensus.families.latent_truth.fit import TruthFit
from dissensus.families.latent_truth.kernels.data import COMPLETE, HIERARCHICAL, NONE
from dissensus.families.latent_truth.process import Process
from dissensus.families.latent_truth.process import process as truth_process
from dissensus.models.symmetric_confusion import _base, _difficulty, _source

KINDS = ("nominal", "ordinal")
POOLING: Final = {"hierarchical": HIERARCHICAL, "none": NONE, "complete": COMPLETE}
LABELS, RIGHT = 4.0, 0.7
"""The weight of a row's prior, in labels, and the share of them that is right."""


def build(
    annotations: xr.Dataset,
    *,
    predictions: xr.Dataset | None = None,
    pooling: str = "hierarchical",
    difficulty: bool = False,
    systems: str = "independent",
    evidence: str = "all",
    prior_count: float = 1.0,
    truth: Any = None,
    error_correlation: Any = 0.0,
    sampler: str = "gibbs",
    on_missing: str = "raise",
) -> Any:
    """Write the process as a PyMC model.

    Parameters
    ----------
    annotations : xarray.Dataset
        Labels, nominal or ordinal. Repeated labels by one annotator count each as a label.
    predictions : xarray.Dataset, optional
        One label for each item from each system.
    pooling : {"hierarchical", "none", "complete"}
        The prior of confusion matrices, see the card.
    difficulty : bool
        Whether items differ in difficulty.
    systems : {"independent", "related"}
        Whether systems share a source of answers, as in `dissensus.models.symmetric_confusion`.
    evidence : {"all", "annotators"}
        Whose labels are evidence of the truth. With "annotators" the PyMC model has no systems.
    prior_count : float
        Dirichlet shape of each prevalence; > 0.
    truth : mapping, Series, DataArray (item) or table, optional
        True labels, where they are known. In the PyMC model they are the labels of one more
        respondent, who is always right; not if errors are correlated.
    error_correlation : float, "learned" or (median, spread)
        Correlation of the errors of an item's labels, see the card: a number, a prior learned
        from sets with a known truth, or the median and the standard deviation of the logarithm. If
        it is not 0, true labels are drawn given the label that annotators point to, and every
        system is judged by them and is no evidence of the truth. The PyMC model is of the label
        that annotators point to; `fit` draws true labels from its draws.
    sampler : {"gibbs", "nuts"}
        Not used: the model is the same. `build` and `fit` take the same settings.
    on_missing : {"raise", "drop"}
        Whether items that only one side has are an error. With "drop", predictions for items
        without annotations are left out, and annotated items without predictions stay.

    Returns
    -------
    pymc.Model
        With ``prevalence`` (label), ``confusion`` (annotator, label, response) and its
        hyperparameters, ``system_confusion`` (system, label, response), and the observed
        ``labels``: those of annotators, then of systems.

    Raises
    ------
    AnnotationError
        If the annotations are no labels, or of fewer than two kinds, or an item has none.
    PredictionError
        If the predictions are not one label for each of these items.
    ArgumentError
        If a setting makes no sense.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.datasets.load("anaesthesia").annotations
    >>> model = dx.models.dawid_skene.build(ann, pooling="none")
    >>> [v.name for v in model.basic_RVs]
    ['prevalence', 'confusion', 'labels']
    """
    return _model(_process(
        annotations, predictions, pooling=pooling, difficulty=difficulty, systems=systems,
        evidence=evidence, prior_count=prior_count, truth=truth,
        error_correlation=error_correlation, sampler=sampler, on_missing=on_missing,
    ))  # fmt: skip


def _model(process: Process) -> Any:
    """Write the model in PyMC. Respondents are annotators, then systems."""
    import pymc as pm
    import pytensor.tensor as pt

    import dissensus.families.steps  # noqa: F401 (registers the Gibbs step with pymc.sample)

    form, prior, n_systems = process.form, process.priors, process.n_modelled_systems
    with pm.Model(coords=likelihood.coordinates(process), model=None) as model:
        prevalence = pm.Dirichlet("prevalence", a=prior.prevalence, dims=LABEL)

        # Of each confusion matrix: logits of being right (respondent, label), and log-probabilities
        # of wrong responses (respondent, label, response).
        matrices = [_annotators(process)]
        if n_systems:
            n = form.n_labels
            level = pm.Uniform("system_level", 0.0, 1.0, dims=SYSTEM)[:, None, None]
            symmetric = pt.switch(np.eye(n, dtype=bool), level, (1 - level) / (n - 1))
            rows = pm.Dirichlet(
                _typical("system_confusion", process), a=prior.system * symmetric,
                dims=(SYSTEM, LABEL, RESPONSE),
            )  # fmt: skip
            matrices.append(likelihood.split(rows))
        logit, log_error = (pt.concatenate(part) for part in zip(*matrices, strict=True))

        # Items in fifths by difficulty: (respondent, label, ease).
        spread, slope = _difficulty(process)
        logit = likelihood.eased(process, logit, spread * slope[:, None, None])
        source = _source(process, spread, _base(process))
        likelihood.name_accuracies(process, prevalence, logit)
        # truth[i] ~ Categorical(prevalence), labels[i] ~ Categorical(confusion[:, truth[i]]),
        # with truth summed out.
        likelihood.observe(process, prevalence, logit, log_error, source)
    return model


def _annotators(process: Process) -> tuple[Any, Any]:
    """Add the confusion matrices of annotators, and split them."""
    import pymc as pm

    from dissensus.families.latent_truth.distributions import LeadingDirichlet

    form, rows = process.form, process.priors.rows
    if form.pooling == NONE:
        shape = np.broadcast_to(rows, (len(process.annotators), *rows.shape))
        name, dims = _typical("confusion", process), (ANNOTATOR, LABEL, RESPONSE)
        return likelihood.split(pm.Dirichlet(name, a=shape, dims=dims))
    # A Dirichlet prior, given that each label is most often called by its own name.
    name, own = "population_confusion", np.arange(form.n_labels)
    if form.pooling == COMPLETE:
        name = _typical(name, process)
    population = LeadingDirichlet(name, rows, own, dims=(LABEL, RESPONSE))
    if form.pooling == COMPLETE:
        return likelihood.split(population[None])
    return _around(process, population)


def _around(process: Process, population: Any) -> tuple[Any, Any]:
    """Add annotators' matrices around the population's, and split them."""
    import pymc as pm
    import pytensor.tensor as pt

    prior, n, people = process.priors, process.form.n_labels, len(process.annotators)
    alpha, beta = prior.alike
    alike = pm.Gamma("confusion_concentration", alpha=alpha, beta=beta, dims=LABEL)
    # How far the logits of an annotator lie above the population's, for all labels. Offsets are in
    # units of the spread, as NUTS gets stuck at small spreads otherwise. The effect of a covariate,
    # such as an annotator's experience, would be one more term here: `level + beta * experience`.
    spread = pm.HalfNormal("accuracy_spread", sigma=prior.spread)
    level = spread * pm.Normal("annotator_offset", dims=ANNOTATOR)
    expected = likelihood.split(population)[0] + level[:, None]
    # A Beta accuracy as a Dirichlet pair: an accuracy that rounds to 1 has a logit even so.
    both = pt.stack([pt.sigmoid(expected), pt.sigmoid(-expected)], axis=-1)
    right = pm.Dirichlet(
        _typical("right_or_wrong", process), a=alike[:, None] * both,
        dims=(ANNOTATOR, LABEL, likelihood.OUTCOME),
    )  # fmt: skip
    errors = pt.ones((people, n, 1))  # with two labels there is one wrong answer
    away = ~np.eye(n, dtype=bool)
    if n > 2:
        shape = (alike[:, None] * population)[away].reshape((n, n - 1))
        errors = pm.Dirichlet(
            _typical("error_rows", process), a=pt.broadcast_to(shape, (people, n, n - 1)),
            dims=(ANNOTATOR, LABEL, likelihood.OTHER_LABEL),
        )  # fmt: skip
    blank = pt.zeros((people, n, n))
    wrong = (right[..., 1, None] * errors).reshape((people, -1))
    confusion = blank[:, away].set(wrong)[:, ~away].set(right[..., 0])
    name, dims = _typical("confusion", process), (ANNOTATOR, LABEL, RESPONSE)
    pm.Deterministic(name, confusion, dims=dims)
    logit = pt.log(right[..., 0]) - pt.log(right[..., 1])
    return logit, blank[:, away].set(pt.log(errors).reshape((people, -1)))


def _typical(name: str, process: Process) -> str:
    """Return the name of a matrix; with difficulty it is that of a typical item."""
    return f"typical_{name}" if process.form.difficulty else name


def fit(
    annotations: xr.Dataset,
    *,
    predictions: xr.Dataset | None = None,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
    random_seed: Any = None,
    progressbar: bool = True,
    log_likelihood: bool = False,
    posterior_predictive: bool = False,
    pooling: str = "hierarchical",
    difficulty: bool = False,
    systems: str = "independent",
    evidence: str = "all",
    prior_count: float = 1.0,
    truth: Any = None,
    error_correlation: Any = 0.0,
    keep_items: bool = True,
    sampler: str = "gibbs",
    on_missing: str = "raise",
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    annotations, predictions, pooling, difficulty, systems, evidence, prior_count, truth
        As in `build`, as are ``error_correlation`` and ``on_missing``.
    draws, tune, chains, random_seed, progressbar, sampler, checkpoint
        As in `crossed_effects`.
    log_likelihood : bool
        Add the log-likelihood of each item, all its labels together and the truth summed out, by
        which `arviz.compare` weighs variants that were fitted to the same data.
    posterior_predictive : bool
        Add labels of new items by the same annotators and systems.
    keep_items : bool
        Keep the draws of every item's truth. Without, nothing grows with items but the labels;
        ``truth_mean`` in ``constant_data`` stays.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``confusion`` (annotator, label, response), rows of which sum to 1;
        ``annotator_accuracy`` (annotator) over items of such prevalence; with pooling
        ``population_confusion`` (label, response), and if hierarchical
        ``confusion_concentration`` (label) and ``accuracy_spread``, the standard deviation between
        annotators of the log odds of being right; ``system_confusion``, of related systems that of
        their own answers; ``system_accuracy`` and ``system_correct`` (system), the share of *these*
        items that it got right; ``prevalence`` (label); ``truth`` (item, label), the probability
        that each label is true, given the other parameters of the draw; with difficulty
        ``difficulty_spread``, ``difficulty_slope`` (system) and ``item_difficulty`` (item).
        With correlated errors ``truth`` and accuracies are of true labels, and there are
        ``error_correlation``; ``system_weight`` (system), the log odds that its answer adds to the
        labels; ``system_doubt`` (system), the mean over items of p (1 - p) with the probability p
        that it is right; and ``majority_correct``, how often the label of most annotators is true.
        Attributes summarise r-hat and effective sample size.

    Raises
    ------
    AnnotationError, PredictionError, ArgumentError
        As in `build`; also if the truth of items, or matrices, would take more than 4 GB.

    Warns
    -----
    ConvergenceWarning
        If the chains have not run long enough.
    DesignWarning
        If the data leave some of this to the priors, naming the annotators.
    DissensusWarning
        If labels may have changed places, or an annotator is right less often than by guessing.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.datasets.load("anaesthesia").annotations
    >>> fit = dx.models.dawid_skene.fit(ann, random_seed=1, progressbar=False)
    >>> fit.posterior.confusion.sizes["annotator"]
    5
    >>> low, high = fit.posterior.prevalence.sel(label=2).quantile([0.05, 0.95]).values
    >>> bool(low < 0.42 < 0.447 < high)
    True
    """
    settings = {
        "pooling": pooling, "difficulty": difficulty, "systems": systems, "evidence": evidence,
        "prior_count": prior_count, "error_correlation": error_correlation, "sampler": sampler,
    }  # fmt: skip
    process = _process(annotations, predictions, on_missing=on_missing, truth=truth, **settings)
    options = FitOptions(
        draws=draws, tune=tune, chains=chains, random_seed=random_seed, progressbar=progressbar,
        sampler=sampler, keep=keep_items, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, checkpoint=checkpoint,
    )  # fmt: skip
    return run(TruthFit(process, options), lambda: _model(process), settings)


def _process(
    annotations: xr.Dataset, predictions: xr.Dataset | None, *, pooling: Any, **settings: Any
) -> Process:
    """Check annotations, predictions and settings, and put them together."""
    arguments.one_of("pooling", pooling, tuple(POOLING))
    n = annotations.sizes.get(LABEL, 0) if isinstance(annotations, xr.Dataset) else 0
    wrong = LABELS * (1 - RIGHT) / max(n - 1, 1)
    rows = np.where(np.eye(n, dtype=bool), LABELS * RIGHT, wrong)
    return truth_process(
        "dawid_skene", annotations, predictions, interchangeable=pooling == "complete",
        form={"rows": 1, "pooling": POOLING[pooling]}, rows=rows, **settings,
    )  # fmt: skip
