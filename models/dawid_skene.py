r"""Dawid-Skene: one true label for each item, and a confusion matrix for each annotator.

The story. Every item i has one true label z. An annotator j gives the label y with a probability
that depends on z: row z of the annotator's confusion matrix C. An annotator may be accurate for one
label and not for another, and may confuse particular labels.

.. math::

    z_i &\sim \mathrm{Categorical}(\pi), \qquad \pi \sim \mathrm{Dirichlet}(\alpha) \\
    y_{ij} \mid z_i = z &\sim \mathrm{Categorical}(C_{jz})

K is the number of labels. In the PyMC model, true labels are summed out. The Gibbs sampler of `fit`
draws true labels and parameters alternately. The posterior of the parameters is the same. There are
three priors of the matrices:

``pooling="hierarchical"``
    Annotators belong to a population with the matrix M. The odds of annotator j's expected accuracy
    :math:`p_{jz}` are the odds of :math:`M_{zz}` times :math:`e^{t_j}`, the same factor for all
    labels, with :math:`t_j \sim N(0, \omega^2)`. The annotator's accuracies vary around these
    expectations, with the concentration :math:`\kappa_z`. The probabilities of wrong labels, given
    an error, do not depend on :math:`t_j`:

    .. math::

        C_{jzz} \sim \mathrm{Beta}(\kappa_z p_{jz}, \kappa_z (1 - p_{jz})), \quad
        \mathrm{logit}\, p_{jz} = \mathrm{logit}\, M_{zz} + t_j, \qquad
        \frac{C_{jzy}}{1 - C_{jzz}} \sim \mathrm{Dirichlet}(\kappa_z M_{zy}),\ y \ne z

    In a fit M is ``population_confusion``, :math:`\kappa` is ``confusion_concentration`` and
    :math:`\omega` is ``accuracy_spread``. With :math:`\omega = 0` rows are
    :math:`\mathrm{Dirichlet}(\kappa_z M_z)`. The matrix of an annotator with few labels is close to
    the population's matrix. Use this prior to estimate the accuracies of annotators.

    ``formula="~ experience"``: covariates of annotators, columns of a table. Then
    :math:`t_j \sim N(x_j' \beta, \omega^2)`, and a coefficient :math:`\beta_k` is the increase of
    the log odds of being right per unit of the covariate, for all labels. Covariates are centred
    over annotators, each counted once: M is the matrix of an annotator with average covariates, and
    :math:`\omega` is for annotators with equal covariates.
``pooling="complete"``
    One matrix for all annotators, :math:`C_{jz} = M_z`.
``pooling="none"``
    Independent matrices, :math:`C_{jz} \sim \mathrm{Dirichlet}(a_z)`. If an annotator has no item
    of the true label z, row z keeps its prior. Use this prior to estimate the true labels of items,
    as `dissensus.evaluate` does. In each annotator's prior the true label has the largest expected
    probability; over many annotators this information adds up. A pooled matrix has only one prior,
    which may be too weak: the model may then use a rare label to explain hard items.

``difficulty=True``: items differ in difficulty. Let :math:`o = C_{jzz} / (1 - C_{jzz})` be the odds
that a respondent is right about a typical item (``typical_confusion`` in the PyMC model), and
:math:`g = 1 / (K - 1)` the odds of a guess. The odds for item i are
:math:`g + (o - g)\, e^{\tau b_j d_i}`; if o is at most g, they are o for all items. The ease
:math:`d_i`, the opposite of difficulty, has five equally probable values: the means of the fifths
of a standard normal distribution, scaled to variance 1. In a fit :math:`\tau` is
``difficulty_spread``; :math:`b_j` is 1 for annotators and ``difficulty_slope`` for systems. On a
hard item respondents guess; the probabilities of wrong labels, given an error, do not change.
``confusion`` in a fit is the average over items. The model is related to GLAD (Whitehill).

Systems are respondents too. Each row of a system's matrix has a Dirichlet prior, with shapes that
sum to 10, around the row of a symmetric matrix; the accuracy of the symmetric matrix is uniform
from 0 to 1. ``systems="related"`` is explained in `symmetric_confusion`.

Correlated errors (``error_correlation``). The label z behind the annotations may then differ from
the true label: annotators who are misled in the same way give the same wrong label. If errors
have the correlation :math:`\rho`, the n labels of an item carry as much information as
:math:`m = n / (1 + (n - 1) \rho)` independent labels. The probability of the true label
:math:`z^*`, without and with the prediction :math:`s_i` of a system, is

.. math::

    P(z^*_i = k \mid y_i, \theta) &\propto P(z_i = k \mid y_i, \theta)^{m_i / n_i}, \\
    P(z^*_i = k \mid y_i, s_i, \theta) &\propto P(z_i = k \mid y_i, \theta)^{m_i / n_i}\,
        e^{w [s_i = k]}

The weight w is the log odds that a prediction adds to the annotators' labels. Systems with
identical predictions have identical draws of w. Labels alone do not identify :math:`\rho`.
"learned" is a prior from seven data sets with a known truth: :math:`\log\rho` is normal around log
.6 with sd 1/2 (``docs/validation/truth.md``). :math:`\rho` can exceed 1: it then corrects
accuracies that are too high because the model above assumes independent errors. If a system adds no
information to the labels, w = 0. If its errors are independent of the annotators' errors, w is
:math:`w_0 = \mathrm{logit}(\text{accuracy}) + \log(K - 1)`, limited to values from 0 to 3.5. The
prior of w is uniform from :math:`-.1 w_0` to :math:`1.2 w_0`, plus a normal error with sd .5. Known
true labels (``truth=``) inform :math:`\rho` and w. The default of ``error_correlation`` is 0,
independent errors; `dissensus.evaluate` uses "learned".

Items that only systems labelled. If errors are independent, predictions are evidence of the true
labels of these items. With ``evidence="annotators"`` these items are refused. With correlated
errors predictions are no such evidence: the weight w is added to the evidence of annotators'
labels, and these items have no such labels. Accuracies on these items come from similar labelled
items:

- A system is right as often as on labelled items on which it gives the same prediction and a
  similar fraction of the other systems agrees with it (none, at most half, more, all). Given
  prediction and fraction, the share of right predictions has a Beta prior around the share given
  the fraction alone, with the weight of four items. The latter has a Beta prior around the share on
  all labelled items, with the weight of two items. The last share has a uniform prior.
- Annotators' labels are right as often as on labelled items on which a similar fraction of systems
  gives the leading prediction; the priors are similar. An annotator is better or worse than the
  other annotators by as much as on the items that the annotator labelled.
- Labelled items are taken for a random sample of the items that are similar to them: if people
  chose easy items, accuracies are too high. With one system, all items are taken to be as hard as
  the labelled items.

Priors and why. Prevalence is uniform over the simplex. The Dirichlet shapes of each row
:math:`M_z`, and of :math:`a_z` without pooling, sum to 4, of which the correct label has 2.8:
annotators mostly give the correct label, and four labels have little weight compared with data.
Each :math:`M_z` is restricted to rows in which the correct label is the most frequent. This
prevents label switching, which the likelihood allows, and makes it less likely that a rare label
explains hard items. Without pooling, the priors of many annotators together have this effect.
:math:`\kappa_z \sim \mathrm{Gamma}(2, 0.2)`, with mean 10. :math:`\omega` is half-normal with scale
1, :math:`\tau` half-normal with scale 1, and the logarithm of ``difficulty_slope`` is normal with
sd .5. A coefficient is normal around 0; its sd is 1 divided by the sd of the covariate over
annotators, so that the scale is that of :math:`\omega`. Under a much wider prior, half of the
annotators may be worse than guessing, and a few labels do not show which half: chains differed in 4
of 25 small simulated studies with sd 2.5, and in one with sd 1.

When to use it. There are a few hundred responses to items of each true label, from each annotator
or, with pooling, from all annotators. Labels are nominal or ordinal, also repeated (``trial``).
When not: with few labels the posterior is mostly prior: use `symmetric_confusion`. If the same
items are hard for all of three annotators, a matrix can describe difficulty as confusion, and
accuracies can be wrong. In 16 simulated studies of 5,000 items with difficulty and graded errors,
the accuracy of a system was .87; estimates were .73 to .88 by this model, and .85 to .88 by
`symmetric_confusion` with graded errors and difficulty. If items have no single true label, use
`dirichlet`. Prevalence and matrices are the same in all strata: if a judge labelled the outputs of
several systems, the shares of true labels become too similar between systems; fit each system's
outputs separately. Do not evaluate a system that was trained on these labels or computed from them.
A mistake that annotators share counts as the truth, unless ``error_correlation`` is above 0.

The likelihood has several maxima, and the maximum that EM reaches from vote proportions may not be
the highest; `em` is for comparison. For the anaesthetists of Dawid and Skene the published
prevalences .40/.42/.11/.07 have log-likelihood -192.89, and .40/.45/.09/.07 have -191.57. Both sets
of prevalences are well inside the posterior. EM returns error rates of 0 and 1; the posterior
includes rates far from 0 and 1.

Sampling. `fit` uses an exact Gibbs sampler. `pm.sample` on the model of `build` uses the same
sampler as a step method if its graph is unchanged; for a changed model it uses NUTS, with a
warning.

Source: Dawid & Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
algorithm"; hierarchical: Paun et al. (2018), "Comparing Bayesian models of annotation".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.layout import PLACE
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, RESPONSE, SYSTEM, TERM
from dissensus.errors import ArgumentError, DesignWarning, brief, warn_caller
from dissensus.families.base import FitOptions, run
from dissensus.families.crossed.covariates import aliasing_warnings, covariates
from dissensus.families.latent_truth import likelihood
from dissensus.families.latent_truth.em import em as em
from dissensus.families.latent_truth.fit import TruthFit
from dissensus.families.latent_truth.kernels.data import COMPLETE, HIERARCHICAL, NONE
from dissensus.families.latent_truth.process import Process
from dissensus.families.latent_truth.process import process as truth_process
from dissensus.models.symmetric_confusion import _base, _difficulty, _source
from dissensus.sampling import fitting

KINDS = ("nominal", "ordinal")
POOLING: Final = {"hierarchical": HIERARCHICAL, "none": NONE, "complete": COMPLETE}
PRIOR_LABELS, RIGHT = 4.0, 0.7
"""Weight of the prior of a row of a matrix, in labels, and its share of right labels."""
REACH = 1.0
"""Prior standard deviation of a coefficient, for covariates with standard deviation 1."""


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
    formula: str | None = None,
    annotators: Any = None,
    sampler: str = "gibbs",
    on_missing: str = "raise",
) -> Any:
    """Write the process as a PyMC model.

    Parameters
    ----------
    annotations : xarray.Dataset
        Labels, nominal or ordinal. Each repeated label by one annotator counts.
    predictions : xarray.Dataset, optional
        One label for each item from each system.
    pooling : {"hierarchical", "none", "complete"}
        The prior of confusion matrices, see the card.
    difficulty : bool
        Whether items differ in difficulty.
    systems : {"independent", "related"}
        Whether systems share a source of answers, as in `dissensus.models.symmetric_confusion`.
    evidence : {"all", "annotators"}
        "all": predictions also inform the true labels. "annotators": they do not, and the PyMC
        model has no systems.
    prior_count : float
        Dirichlet shape of the prevalence, the same for each label; > 0.
    truth : mapping, Series, DataArray (item) or table, optional
        True labels of some items. In the PyMC model they are responses of one more respondent
        without errors. With correlated errors they inform only the correlation, and the weights and
        accuracies of systems.
    formula : str, optional
        Covariates of annotators' accuracies, as in `crossed_effects`: ``"~ experience + C(site)"``.
        Needs ``pooling="hierarchical"``. `symmetric_confusion` has no covariates.
    annotators : table, optional
        Covariates of annotators, with a column ``annotator`` of names; a row for each annotator.
    error_correlation : float, "learned" or (median, spread)
        Correlation of the errors of an item's labels, see the card: a number, a prior learned
        from sets with a known truth, or the median and the standard deviation of the logarithm. If
        it is not 0, the PyMC model is for the labels behind the annotations, and has no systems.
        From its draws `fit` draws the true labels. Predictions then have the weight w of the card,
        and do not inform the parameters of annotators.
    sampler : {"gibbs", "nuts"}
        Not used by `build`, which takes the settings of `fit`: the model is the same.
    on_missing : {"raise", "drop"}
        Whether items of the annotations without predictions, or predictions for other items, are an
        error. With "drop", predictions for other items are left out, and annotated items without
        predictions stay.

    Returns
    -------
    pymc.Model
        With ``prevalence`` (label), ``confusion`` (annotator, label, response) and its
        hyperparameters, ``coefficient`` (term) if there is a formula, with the data ``covariates``
        (annotator, term), ``system_confusion`` (system, label, response), and the observed
        ``labels`` (item, place): annotations, then predictions, then -1. ``truth`` (item, label) is
        the probability of each label to be the true one. The data ``label_code`` and
        ``respondent_code`` (item, place) can be set to data of other items.

    Raises
    ------
    AnnotationError
        If the annotations are not labels, the label space has fewer than two labels, or an item has
        neither an annotation nor a prediction.
    PredictionError
        If the predictions are not one label for each of these items.
    ArgumentError
        If a setting is invalid, or a table lacks a column, a row or a value.

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
        formula=formula, annotators=annotators,
    ))  # fmt: skip


def _model(process: Process) -> Any:
    """Write the model in PyMC. Respondents are annotators, then systems."""
    import pymc as pm
    import pytensor.tensor as pt

    from dissensus.families.latent_truth.distributions import LatentTruth, joint
    from dissensus.families.steps import Model, written

    # Priors that are not arguments have their numbers in families/latent_truth/process.py.
    form, prior, n_systems = process.form, process.priors, process.n_modelled_systems
    with Model(coords=likelihood.coordinates(process), model=None) as model:
        prevalence = pm.Dirichlet("prevalence", a=prior.prevalence, dims=LABEL)

        # For each confusion matrix: logits of being right (respondent, label), and
        # log-probabilities of wrong responses (respondent, label, response).
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
        # truth[i] ~ Categorical(prevalence)
        # labels[i, n] ~ Categorical(confusion[respondent[i, n], truth[i]])
        # The truth is summed out, as are the ease and the source's answer if the model has them.
        log_state, log_label = likelihood.tables(process, prevalence, logit, log_error, source)
        respondent, label = likelihood.observed(process)
        LatentTruth(
            "labels", log_state, log_label, respondent, observed=label,
            dims=(ITEM, PLACE),
        )  # fmt: skip
        likelihood.name_truth(process, joint(label, log_state, log_label, respondent))
    return written(model)


def _annotators(process: Process) -> tuple[Any, Any]:
    """Add the confusion matrices of annotators; return them as `likelihood.split` does."""
    import pymc as pm

    from dissensus.families.latent_truth.distributions import LeadingDirichlet

    form, rows = process.form, process.priors.rows
    if form.pooling == NONE:
        shape = np.broadcast_to(rows, (len(process.annotators), *rows.shape))
        name, dims = _typical("confusion", process), (ANNOTATOR, LABEL, RESPONSE)
        return likelihood.split(pm.Dirichlet(name, a=shape, dims=dims))
    # A Dirichlet prior, given that the true label is the most frequent response in each row.
    name, own = "population_confusion", np.arange(form.n_labels)
    if form.pooling == COMPLETE:
        name = _typical(name, process)
    population = LeadingDirichlet(name, rows, own, dims=(LABEL, RESPONSE))
    if form.pooling == COMPLETE:
        return likelihood.split(population[None])
    return _around(process, population)


def _around(process: Process, population: Any) -> tuple[Any, Any]:
    """Add annotators' matrices around the population's; return them as `_annotators` does."""
    import pymc as pm
    import pytensor.tensor as pt

    prior, n, people = process.priors, process.form.n_labels, len(process.annotators)
    alpha, beta = prior.alike
    alike = pm.Gamma("confusion_concentration", alpha=alpha, beta=beta, dims=LABEL)
    # Difference of an annotator's logits from those of the population, for all labels. Offsets are
    # in units of the spread, since otherwise NUTS gets stuck at small spreads.
    spread = pm.HalfNormal("accuracy_spread", sigma=prior.spread)
    level = spread * pm.Normal("annotator_offset", dims=ANNOTATOR)
    if process.form.terms:
        centre, sd = process.coefficient_prior.T
        coefficient = pm.Normal("coefficient", mu=centre, sigma=sd, dims=TERM)
        known = pm.Data("covariates", process.covariates, dims=(ANNOTATOR, TERM))
        level = known @ coefficient + level
    expected = likelihood.split(population)[0] + level[:, None]
    # A Beta variate is written as a Dirichlet pair, accuracy and probability of an error. The logit
    # is then finite even if the accuracy rounds to 1.
    both = pt.stack([pt.sigmoid(expected), pt.sigmoid(-expected)], axis=-1)
    right = pm.Dirichlet(
        _typical("right_or_wrong", process), a=alike[:, None] * both,
        dims=(ANNOTATOR, LABEL, likelihood.OUTCOME),
    )  # fmt: skip
    errors = pt.ones((people, n, 1))  # with two labels there is only one wrong label
    if n > 2:
        shape = (alike[:, None] * population)[~np.eye(n, dtype=bool)].reshape((n, n - 1))
        errors = pm.Dirichlet(
            _typical("error_rows", process), a=pt.broadcast_to(shape, (people, n, n - 1)),
            dims=(ANNOTATOR, LABEL, likelihood.OTHER_LABEL),
        )  # fmt: skip
    confusion = likelihood.square(right[..., :1], right[..., 1:] * errors, n)
    name, dims = _typical("confusion", process), (ANNOTATOR, LABEL, RESPONSE)
    pm.Deterministic(name, confusion, dims=dims)
    logit = pt.log(right[..., 0]) - pt.log(right[..., 1])
    return logit, likelihood.square(0.0, pt.log(errors), n)


def _typical(name: str, process: Process) -> str:
    """Return the name of a matrix; if items differ in difficulty, it is for a typical item."""
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
    formula: str | None = None,
    annotators: Any = None,
    keep_items: bool = True,
    sampler: str = "gibbs",
    on_missing: str = "raise",
    checkpoint: Any = None,
) -> xr.DataTree:
    """Draw from the posterior.

    Parameters
    ----------
    annotations, predictions, pooling, difficulty, systems, evidence, prior_count, truth
        As in `build`, as are ``formula``, ``annotators``, ``error_correlation`` and
        ``on_missing``.
    draws, tune, chains, random_seed, progressbar, sampler, checkpoint
        As in `crossed_effects`.
    log_likelihood : bool
        Add the log-likelihood of each item: of all its labels and predictions together, with the
        truth summed out (with correlated errors, of labelled items, without predictions). By it,
        `arviz.compare` compares variants that were fitted to the same data. Add also
        ``log_prior``, of parameters whose prior depends on no other, for `arviz.psense_summary`.
    posterior_predictive : bool
        Add labels of new items by the same annotators and systems.
    keep_items : bool
        Keep the draws of every item's truth. If False, memory does not increase with items, apart
        from the data; ``truth_mean`` in ``constant_data`` is always kept.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``confusion`` (annotator, label, response), rows of which sum to 1;
        ``annotator_accuracy`` (annotator) for items with this prevalence; with pooling
        ``population_confusion`` (label, response), and if hierarchical ``confusion_concentration``
        (label) and ``accuracy_spread``, the standard deviation between annotators of the log odds
        of being right; ``coefficient`` (term) of a formula, for `dissensus.contrast`;
        ``system_confusion`` (if systems are related, for predictions not taken from the shared
        source);
        ``system_accuracy``, and ``system_correct`` (system), the share of *these* items on which
        the system is right; ``prevalence`` (label); ``truth`` (item, label), the probability that
        each label is true, given the other parameters of the draw (with correlated
        errors, on items without labels, the prevalence); with difficulty
        ``difficulty_spread``, ``difficulty_slope`` (system) and ``item_difficulty`` (item). With
        correlated errors ``truth`` and accuracies are of true labels, and there are
        ``error_correlation``; ``system_weight`` (system, and label if there are two), the log odds
        that a prediction adds to the labels; ``system_doubt`` (system), the mean over items of
        p (1 - p), where p is the probability that the system is right; with two labels,
        ``system_prevalence`` (system, label), the share of the system's items with this true label,
        and ``system_hits``, the share with this true label on which the system is right (their sum
        is ``system_correct``); and ``majority_correct``, the share of items whose majority label
        is, or would be, true. Attributes summarise r-hat and effective sample size.

    Raises
    ------
    AnnotationError, PredictionError, ArgumentError
        As in `build`; also if the truth of items, or matrices, would need more than 4 GB.

    Warns
    -----
    ConvergenceWarning
        If the chains have not run long enough.
    DesignWarning
        If the data do not inform some parameters, which then depend on priors. The warning names
        the annotators.
    DissensusWarning
        If labels may be switched, or an annotator is right less often than by guessing.

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

    Are experienced annotators more often right? The model does not know the truth:

    >>> study = dx.simulate.confusion_study(
    ...     300, 6, 3, ipc=[0.5, 0.55, 0.65, 0.75, 0.8, 0.9], random_seed=1)
    >>> people = {"annotator": study.annotations["annotator"], "years": [1, 2, 3, 6, 8, 9]}
    >>> fit = dx.models.dawid_skene.fit(
    ...     study.annotations, formula="~ years", annotators=people, draws=300, random_seed=1,
    ...     progressbar=False)
    >>> bool((dx.contrast(fit, {"years": 1.0}) > 0).mean() > 0.95)
    True
    """
    settings = {
        "pooling": pooling, "difficulty": difficulty, "systems": systems, "evidence": evidence,
        "prior_count": prior_count, "error_correlation": error_correlation, "sampler": sampler,
    }  # fmt: skip
    process = _process(
        annotations, predictions, on_missing=on_missing, truth=truth, formula=formula,
        annotators=annotators, **settings,
    )  # fmt: skip
    options = FitOptions(
        draws=draws, tune=tune, chains=chains, random_seed=random_seed, progressbar=progressbar,
        sampler=sampler, keep=keep_items, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, checkpoint=checkpoint,
    )  # fmt: skip
    hyper = settings | ({"formula": process.formula} if process.formula else {})
    return run(TruthFit(process, options), lambda: _model(process), hyper)


def _process(
    annotations: xr.Dataset, predictions: xr.Dataset | None, *, pooling: Any, formula: Any = None,
    annotators: Any = None, **settings: Any,
) -> Process:  # fmt: skip
    """Check annotations, predictions and settings, and return them as a process."""
    arguments.one_of("pooling", pooling, tuple(POOLING))
    fitting.require_kind(annotations, KINDS, "dawid_skene")
    if formula is not None and pooling != "hierarchical":
        raise ArgumentError(
            "formula", expected=f"None with pooling={pooling!r}, since accuracies then have no "
            "population", found=brief(formula),
            hint='Type pooling="hierarchical"',
        )  # fmt: skip
    design = _design(formula, annotations, annotators)
    n = annotations.sizes.get(LABEL, 0) if isinstance(annotations, xr.Dataset) else 0
    wrong = PRIOR_LABELS * (1 - RIGHT) / max(n - 1, 1)
    rows = np.where(np.eye(n, dtype=bool), PRIOR_LABELS * RIGHT, wrong)
    return truth_process(
        "dawid_skene", annotations, predictions, interchangeable=pooling == "complete",
        form={"rows": 1, "pooling": POOLING[pooling], "terms": len(design["terms"])}, rows=rows,
        covariates=design, **settings,
    )  # fmt: skip


def _design(formula: Any, annotations: xr.Dataset, annotators: Any) -> dict[str, Any]:
    """Evaluate a formula for each annotator, and return the fields of a process for it."""
    people = np.arange(annotations.sizes[ANNOTATOR])
    each = xr.Dataset({"annotator_code": (ANNOTATION, people), ANNOTATOR: annotations[ANNOTATOR]})
    design = covariates(formula, each, None, annotators)
    for text in aliasing_warnings(design.terms, design.value, np.zeros_like(people)):
        warn_caller(text, DesignWarning)
    spread = design.value.std(axis=0)
    wide = REACH / np.where(spread > 0, spread, 1.0)
    return {
        "formula": design.formula, "terms": design.terms, "covariates": design.value,
        "covariate_mean": design.mean,
        "coefficient_prior": np.stack([np.zeros(len(wide)), wide], axis=1),
    }  # fmt: skip
