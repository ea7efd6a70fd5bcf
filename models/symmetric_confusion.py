r"""Symmetric confusion: one true label for each item, and one accuracy for each respondent.

The story. Every item has one true label. An annotator gives the true label with a certain
probability, the accuracy, and otherwise one of the other labels. So do systems, each with a
separate accuracy. The true labels are unknown. But annotators rarely agree by chance: agreement
informs accuracies, and accuracies inform the true labels. A system can turn out to be better than
all annotators.

.. math::

    z_i &\sim \mathrm{Categorical}(\pi), \qquad \pi \sim \mathrm{Dirichlet}(\alpha) \\
    P(y_{ij} = y \mid z_i = z) &= \begin{cases} p_j & y = z \\
        (1 - p_j)\, e_{zy} & y \neq z \end{cases}

with K labels. The true label z is summed out, and all items with the same labels are computed
together.

By default this is the process behind kappa: one accuracy p for all annotators
(``accuracy="common"``), equal probabilities of all wrong labels (``errors="equal"``,
:math:`e_{zy} = 1/(K-1)`), items of the same difficulty. Each assumption can be relaxed, and
`dissensus.check_assumptions` shows which assumptions should be relaxed:

``accuracy="annotator"``
    An accuracy for each annotator, :math:`\operatorname{logit} p_j \sim
    \mathrm{Normal}(\operatorname{logit} m, s^2)`.
``errors="graded"`` (ordered labels)
    A wrong label that is m steps from the true label has a probability proportional to
    :math:`e^{-\lambda m}`; :math:`\lambda` is ``distance_decay``.
``errors="unequal"``
    Different errors for each respondent, :math:`e_{j z} \sim \mathrm{Dirichlet}(\kappa\,
    \bar e_z)`, around equal errors, or around graded errors if labels are ordered.
``difficulty=True``
    On a hard item respondents guess: the odds of being right are
    :math:`e^{a_j + \tau b_j d_i} + 1 / (K - 1)` with the ease :math:`d_i` (the opposite of
    difficulty) from a standard normal distribution in fifths, so that accuracies are above that of
    guessing. :math:`b_j` is 1 for annotators, and a separate slope for each system. The accuracy
    for a typical item (:math:`d_i = 0`), to which all priors refer, determines :math:`a_j`. If this
    accuracy is below guessing, there is no :math:`a_j`, and the accuracy is the same on all items.
    Accuracies in a fit are averages over items.
``systems="related"``
    Systems that were trained on similar data make the same errors: each predicts, with probability
    c (``shared_answers``), the label of a common source, which is drawn once for each item.

Correlated errors (``error_correlation``). The label behind the annotations may differ from the
true label: annotators who are misled in the same way give the same wrong label. The card of
`dawid_skene` explains the probability of the true labels, the priors, and the assumptions about
items that only systems labelled. The default of ``error_correlation`` is 0, independent errors;
`dissensus.evaluate` uses "learned".

Priors and why. Prevalence is uniform over the simplex (``prior_count=1``). The accuracy of
annotators, or its mean, is uniform above guessing, 1/K: otherwise annotators who are mostly right
and annotators who are mostly wrong would explain two labels equally well. The accuracy of systems
is uniform from 0 to 1, because annotators determine the meaning of labels. s and :math:`\tau` are
half-normal with scale 1 (logits), :math:`\lambda` is normal with sd 1 around equal errors,
:math:`\log\kappa` normal (1.5, 1), :math:`\log b` normal with sd 1/2, c uniform.

When to use it. To estimate accuracies without known true labels. Annotators are better than
guessing, labels are nominal or ordinal, the true label is in the label space, and labels are
independent given the true label and the difficulty of the item.

When not: if particular labels are confused and there are enough annotations to learn a matrix, or
if there are covariates of accuracies, use `dawid_skene`. If items have no single true label, use
`dirichlet`. If a judge labelled the outputs of several systems, fit each system's outputs
separately: a fit has one prevalence and one accuracy of the judge for all outputs. Do not use the
model if annotators saw the system's predictions or each other's labels. Do not evaluate a system
that was trained on these labels or computed from them: the accuracy of a majority vote of the
annotators is estimated as nearly 1, and no check detects it. A mistake that many annotators share
counts as the truth, unless ``error_correlation`` is above 0.

Predictions are evidence of the truth too (``evidence="all"``). With ``evidence="annotators"`` the
parameters of annotators, and ``truth``, are inferred from annotations alone. The parameters of
systems are inferred given the parameters of annotators, as in Lehner (2015). Intervals are then
wider, but systems do not affect the results for annotators. Several systems are still estimated
together, and the predictions of each are evidence for the others. If systems make the same errors,
fit them one by one, or with ``systems="related"``.

The sampler is an exact Gibbs sampler. Its cost increases with the number of patterns: different
combinations of an item's labels. NUTS on the same model serves as a check.

Source: Lehner (2015), "Estimating the accuracy of automated classification systems using only
expert ratings that are less accurate than the system", whose method is `dissensus.lehner`. The
extensions are what the source calls "future research".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.layout import PLACE
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.families.base import FitOptions, run
from dissensus.families.latent_truth import likelihood
from dissensus.families.latent_truth.fit import TruthFit
from dissensus.families.latent_truth.kernels.data import EQUAL, GRADED, UNEQUAL
from dissensus.families.latent_truth.process import Process
from dissensus.families.latent_truth.process import process as truth_process

KINDS = ("nominal", "ordinal")
ACCURACY: Final = ("common", "annotator")
ERRORS: Final = {"equal": EQUAL, "graded": GRADED, "unequal": UNEQUAL}


def build(
    annotations: xr.Dataset,
    *,
    predictions: xr.Dataset | None = None,
    accuracy: str = "common",
    errors: str = "equal",
    difficulty: bool = False,
    systems: str = "independent",
    evidence: str = "all",
    prior_count: float = 1.0,
    truth: Any = None,
    error_correlation: Any = 0.0,
    sampler: str = "gibbs",
    on_missing: str = "raise",
) -> Any:
    """Write the process as a PyMC model; raises as `dawid_skene` does.

    Parameters
    ----------
    annotations, predictions, difficulty, evidence, prior_count, truth, sampler, on_missing
        As in `dawid_skene`.
    accuracy : {"common", "annotator"}
        One accuracy for all annotators, or one for each annotator.
    errors : {"equal", "graded", "unequal"}
        Distribution of the wrong labels, see the card. "graded" needs ordered labels.
    systems : {"independent", "related"}
        Whether systems share a source of errors.
    error_correlation : float, "learned" or (median, spread)
        Correlation of the errors of an item's labels, as in `dawid_skene`.

    Returns
    -------
    pymc.Model
        With ``prevalence`` (label), ``annotator_accuracy``, ``system_accuracy`` (system), the
        parameters of the settings, the observed ``labels`` and ``truth``, as in `dawid_skene`.
        Respondents are annotators, then systems. All annotators are respondent 0 if they have one
        accuracy, except with ``errors="unequal"``: then each annotator's errors have a distribution
        of their own.

    Examples
    --------
    >>> import dissensus as dx
    >>> data = dx.datasets.load("lehner_table2")
    >>> model = dx.models.symmetric_confusion.build(
    ...     data.annotations, predictions=data.predictions)
    >>> [v.name for v in model.basic_RVs]
    ['prevalence', 'annotator_accuracy', 'system_accuracy', 'labels']
    """
    return _model(_process(
        annotations, predictions, accuracy=accuracy, errors=errors, difficulty=difficulty,
        systems=systems, evidence=evidence, prior_count=prior_count, truth=truth,
        error_correlation=error_correlation, sampler=sampler, on_missing=on_missing,
    ))  # fmt: skip


def _model(process: Process) -> Any:
    """Write the model in PyMC. Respondents are annotators, then systems."""
    import pymc as pm
    import pytensor.tensor as pt

    from dissensus.families.latent_truth.distributions import LatentTruth, joint
    from dissensus.families.steps import Model, written

    form, prior, n_systems = process.form, process.priors, process.n_modelled_systems
    with Model(coords=likelihood.coordinates(process), model=None) as model:
        prevalence = pm.Dirichlet("prevalence", a=prior.prevalence, dims=LABEL)

        # Logits of accuracies, for a typical item (respondent).
        guessing = 1.0 / form.n_labels
        if form.own_accuracy:
            mean = pm.math.logit(pm.Uniform("mean_accuracy", guessing, 1.0))
            spread = pm.HalfNormal("accuracy_spread", sigma=prior.spread)
            # Offsets are in units of the spread, since otherwise NUTS gets stuck at small spreads.
            # A covariate of annotators would be one more term in this line.
            skill = mean + spread * pm.Normal("annotator_offset", dims=ANNOTATOR)
        else:
            name = "annotator_typical_accuracy" if form.difficulty else "annotator_accuracy"
            skill = pm.math.logit(pm.Uniform(name, guessing, 1.0)) + pt.zeros(form.first_system)
        if n_systems:
            typical = form.difficulty or form.related
            name = "system_typical_accuracy" if typical else "system_accuracy"
            system_skill = pm.math.logit(pm.Uniform(name, 0.0, 1.0, dims=SYSTEM))
            skill = pt.concatenate([skill, system_skill])
        logit = skill[:, None] + pt.zeros(form.n_labels)
        base = _base(process)
        log_error = _errors(process, base)

        # Items in fifths by difficulty: (respondent, label, ease).
        spread, slope = _difficulty(process)
        logit = likelihood.eased(process, logit, spread * slope[:, None, None])
        source = _source(process, spread, base)
        likelihood.name_accuracies(process, prevalence, logit)
        # truth[i] ~ Categorical(prevalence)
        # labels[i, n] = truth[i] with probability sigmoid(logit), else a wrong label with the
        # log-probabilities log_error[respondent[i, n], truth[i]].
        # The truth is summed out, as are the ease and the source's answer if the model has them.
        log_state, log_label = likelihood.tables(process, prevalence, logit, log_error, source)
        respondent, label = likelihood.observed(process)
        LatentTruth(
            "labels", log_state, log_label, respondent, observed=label,
            dims=(ITEM, PLACE),
        )  # fmt: skip
        likelihood.name_truth(process, joint(label, log_state, log_label, respondent))
    return written(model)


def _difficulty(process: Process) -> tuple[Any, Any]:
    """Add the spread of difficulties, and the slope of each respondent; return both."""
    import pymc as pm
    import pytensor.tensor as pt

    n_systems, slope = process.n_modelled_systems, pt.ones(process.form.first_system)
    if not process.form.difficulty:
        return 0.0, pt.concatenate([slope, pt.ones(n_systems)])
    spread = pm.HalfNormal("difficulty_spread", sigma=process.priors.difficulty)
    if n_systems:
        slopes = pm.LogNormal("difficulty_slope", mu=0.0, sigma=process.priors.slope, dims=SYSTEM)
        slope = pt.concatenate([slope, slopes])
    return spread, slope


def _source(process: Process, spread: Any, base: Any) -> likelihood.Source | None:
    """Add and return the source whose answer related systems give with some probability."""
    import pymc as pm

    if not (process.form.related and process.n_modelled_systems):
        return None
    taken = pm.Uniform("shared_answers", 0.0, 1.0)
    accuracy = pm.Uniform("source_typical_accuracy", 0.0, 1.0)
    answer = likelihood.eased(process, pm.math.logit(accuracy), spread)
    return likelihood.Source(taken, answer, base)


def _base(process: Process) -> Any:
    """Return log-probabilities (label, response) of equal errors, or of errors that decay.

    In the second case, add the decay with distance.
    """
    import pymc as pm
    import pytensor.tensor as pt

    n = process.form.n_labels
    step = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    if not process.form.ordered:
        return pt.as_tensor(np.where(step > 0, -np.log(n - 1), 0.0))
    decay = pm.Normal("distance_decay", mu=0.0, sigma=process.priors.decay)
    weight = pt.exp(-decay * step) * ~np.eye(n, dtype=bool)
    return pt.switch(step > 0, -decay * step - pt.log(weight.sum(axis=1, keepdims=True)), 0.0)


def _errors(process: Process, base: Any) -> Any:
    """Return log-probabilities of errors (respondent, label, response).

    With unequal errors, add a distribution for each respondent. Otherwise the first axis has length
    1, and the errors are ``base``.
    """
    import pymc as pm
    import pytensor.tensor as pt

    if process.form.errors != UNEQUAL:
        return base[None]
    n, respondents = process.form.n_labels, process.form.first_system + process.n_modelled_systems
    mean, sd = process.priors.concentration
    concentration = pm.LogNormal("error_concentration", mu=mean, sigma=sd)
    if n == 2:  # there is one wrong label
        return pt.zeros((respondents, n, n))
    away = ~np.eye(n, dtype=bool)
    shape = concentration * pt.exp(base[away].reshape((n, n - 1)))
    rows = pm.Dirichlet(
        "error_rows", a=pt.broadcast_to(shape, (respondents, n, n - 1)),
        dims=(likelihood.RESPONDENT, LABEL, likelihood.OTHER_LABEL),
    )  # fmt: skip
    return pt.zeros((respondents, n, n))[:, away].set(pt.log(rows).reshape((respondents, -1)))


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
    accuracy: str = "common",
    errors: str = "equal",
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
    """Draw from the posterior; raises and warns as `dawid_skene` does.

    Parameters
    ----------
    annotations, predictions, accuracy, errors, difficulty, systems, evidence, prior_count
        As in `build`, as are ``truth``, ``error_correlation`` and ``on_missing``.
    draws, tune, chains, random_seed, progressbar, sampler, checkpoint
        As in `crossed_effects`.
    log_likelihood, posterior_predictive, keep_items
        As in `dawid_skene`.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``annotator_accuracy`` (one, or one for each annotator);
        ``system_accuracy`` (system), the accuracy on new items; ``system_correct`` (system), the
        share of *these* items on which the system is right; ``prevalence`` (label); ``truth``
        (item, label), the probability that each label is true, given the other parameters of the
        draw; and, depending on the settings, ``mean_accuracy``, ``accuracy_spread``,
        ``distance_decay``, ``error_concentration``, ``difficulty_spread``, ``difficulty_slope``
        (system), ``item_difficulty`` (item, logits), ``shared_answers``. For the variables of
        correlated errors, see `dissensus.models.dawid_skene.fit`. Attributes summarise r-hat and
        effective sample size.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.confusion_study(300, ipc=0.6, system_accuracy=[0.9], random_seed=1)
    >>> fit = dx.models.symmetric_confusion.fit(
    ...     study.annotations, predictions=study.predictions, random_seed=1, progressbar=False)
    >>> fit.posterior.annotator_accuracy.quantile([0.05, 0.95]).values.round(2)
    array([0.52, 0.58])
    >>> study.truth.annotator_correct.mean().round(2).item()
    0.56
    >>> fit.posterior.system_correct.quantile([0.05, 0.95]).values.round(2)
    array([0.9 , 0.96])
    >>> study.truth.system_correct.round(2).values
    array([0.91])
    """
    settings = {
        "accuracy": accuracy, "errors": errors, "difficulty": difficulty, "systems": systems,
        "evidence": evidence, "prior_count": prior_count,
        "error_correlation": error_correlation, "sampler": sampler,
    }  # fmt: skip
    process = _process(annotations, predictions, on_missing=on_missing, truth=truth, **settings)
    options = FitOptions(
        draws=draws, tune=tune, chains=chains, random_seed=random_seed, progressbar=progressbar,
        sampler=sampler, keep=keep_items, log_likelihood=log_likelihood,
        posterior_predictive=posterior_predictive, checkpoint=checkpoint,
    )  # fmt: skip
    return run(TruthFit(process, options), lambda: _model(process), settings)


def _process(
    annotations: xr.Dataset, predictions: xr.Dataset | None, *, accuracy: Any, errors: Any,
    **settings: Any,
) -> Process:  # fmt: skip
    """Check annotations, predictions and settings, and return them as a process."""
    arguments.one_of("accuracy", accuracy, ACCURACY)
    arguments.one_of("errors", errors, tuple(ERRORS))
    ordered = isinstance(annotations, xr.Dataset) and annotations.attrs.get("kind") == "ordinal"
    if errors == "graded" and not ordered:
        raise ArgumentError(
            "errors", expected="'equal' or 'unequal' for labels without an order", found="'graded'",
            hint='If labels have an order, read them with kind="ordinal" and labels= in that order',
        )  # fmt: skip
    own = accuracy == "annotator"
    return truth_process(
        "symmetric_confusion", annotations, predictions,
        interchangeable=not own and errors != "unequal",
        form={
            "own_accuracy": int(own), "errors": ERRORS[errors],
            "ordered": int(ordered and errors != "equal"),
        },
        **settings,
    )  # fmt: skip
