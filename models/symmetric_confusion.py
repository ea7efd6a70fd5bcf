r"""Symmetric confusion: one truth for each item, errors that fall anywhere.

The story. Every item has one true label. An annotator hits it with a certain probability, and
otherwise says one of the others; systems do likewise, each with an accuracy of its own. Nobody
knows the truth, but where annotators agree it is rarely by chance: agreement tells accuracy, and
accuracy tells the truth. So a system can be found to be better than everybody who judged it.

.. math::

    z_i &\sim \mathrm{Categorical}(\pi), \qquad \pi \sim \mathrm{Dirichlet}(\alpha) \\
    P(y_{ij} = y \mid z_i = z) &= \begin{cases} p_j & y = z \\
        (1 - p_j)\, e_{zy} & y \neq z \end{cases}

with K labels. The truth z is summed out, and items with the same labels are computed once.

As it stands this is the process behind kappa: one accuracy p for all annotators
(``accuracy="common"``), all errors alike (``errors="equal"``, :math:`e_{zy} = 1/(K-1)`), all items
alike. Each can be given up, and `dissensus.check_assumptions` says which should be:

``accuracy="annotator"``
    An accuracy for each, :math:`\operatorname{logit} p_j \sim \mathrm{Normal}(\operatorname{logit}
    m, s^2)`.
``errors="graded"`` (ordered labels)
    An error m steps off is :math:`e^{-\lambda m}` as likely: ``distance_decay``.
``errors="unequal"``
    Everybody has errors of his own, :math:`e_{j z} \sim \mathrm{Dirichlet}(\kappa\, \bar e_z)`
    around equal ones, or graded ones if labels are ordered.
``difficulty=True``
    :math:`\operatorname{logit} p_{ij} = a_j + \tau b_j d_i` with :math:`d_i` from a standard normal
    distribution in fifths: easy items are easy for all. :math:`b_j` is 1 for annotators; systems
    have a slope of their own. Accuracies are then averages over items.
``systems="related"``
    Systems that were trained alike err alike: each gives, with probability c
    (``shared_answers``), the answer of a source that is drawn once for an item.

Annotators of one item err together (``error_correlation``). What labels point to need not be true:
people who are misled by the same thing point to a wrong label together. How true labels follow, and
what is believed of it, is on the card of `dawid_skene`. By default (0) what labels point to is
true, as it says above; `dissensus.evaluate` has "learned".

Priors and why. Prevalence is uniform over the simplex (``prior_count=1``). The accuracy of
annotators, or its mean, is uniform above guessing, 1/K: below it "they are mostly right" and "they
are mostly wrong" would explain two labels equally well. The accuracy of systems is uniform from 0
to 1; annotators are what gives labels their meaning. s and :math:`\tau` are half-normal with scale
1 (logits), :math:`\lambda` normal with sd 1 around equal errors, :math:`\log\kappa` normal
(1.5, 1), :math:`\log b` normal with sd 1/2, c uniform.

When to use it. To estimate accuracies without a known truth: annotators know better than guessing,
labels are nominal or ordered, the truth is one of them, and answers are independent given the
truth and how hard the item is. When not: labels confused in ways of their own (`dawid_skene`, if
there are labels enough to learn a matrix from); items that have no one true label (`dirichlet`);
annotators who saw the system's answer, or each other's; a system that learned from these very
labels, or is made of them: a majority vote of the annotators would come out as nearly always right,
and no check tells. If many annotators make the same mistake it is no mistake to this model,
unless errors are correlated.

A system is evidence of the truth too: ``evidence="all"``. With ``evidence="annotators"`` what
annotators are like, and ``truth``, are inferred from annotators alone, and systems are judged given
that, the source's own order: wider intervals, but systems teach nothing of annotators. Several
systems are still judged together, each being evidence for the others; where they err alike, fit
them one by one, or with ``systems="related"``.

Drawn by an exact Gibbs sampler that costs as much as there are patterns of labels; NUTS on the
same model, the truth summed out, is there as a witness.

Source: Lehner (2015), "Estimating the accuracy of automated classification systems using only
expert ratings that are less accurate than the system", whose algebra is `dissensus.lehner`; what
goes beyond is its "future research".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, LABEL, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.families.base import FitOptions, run
from dissensus.families.latent_truth import model as parts
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
    """Write the process as a PyMC model.

    Parameters
    ----------
    annotations : xarray.Dataset
        Labels, nominal or ordinal. Repeated labels by one annotator count each as a label.
    predictions : xarray.Dataset, optional
        One label for each item from each system.
    accuracy : {"common", "annotator"}
        One for all annotators, or one for each.
    errors : {"equal", "graded", "unequal"}
        Where they fall, see the card. "graded" needs ordered labels.
    difficulty : bool
        Whether items differ in how hard they are.
    systems : {"independent", "related"}
        Whether they share a source of answers.
    evidence : {"all", "annotators"}
        Whose labels tell the truth. With "annotators" the systems have no place in the PyMC form.
    prior_count : float
        Items that each label is given in advance; > 0.
    truth : mapping, Series, DataArray (item) or table, optional
        Labels that are known to be true, of some items or all. In the PyMC model one voice more
        says them, which never errs; not if errors are correlated.
    error_correlation : float, "learned" or (median, spread)
        Of the errors of an item's labels, see the card. The PyMC model is of what labels point to,
        in which errors are independent given that; true labels are drawn from it in `fit`.
    sampler : {"gibbs", "nuts"}
        Not used: the model is the same. Here so that `build` and `fit` take the same settings.
    on_missing : {"raise", "drop"}
        Whether items that only one side has are an error. With "drop", predictions for items that
        nobody annotated are left out, and annotated items without predictions stay.

    Returns
    -------
    pymc.Model
        With ``prevalence`` (label), ``annotator_accuracy``, ``system_accuracy`` (system), what
        else the settings ask for, and the observed ``labels``: those of annotators, then systems'.

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
    >>> data = dx.datasets.load("lehner_table2")
    >>> model = dx.models.symmetric_confusion.build(
    ...     data.annotations, predictions=data.predictions)
    >>> [v.name for v in model.basic_RVs]
    ['prevalence', 'annotator_accuracy', 'system_accuracy', 'labels']
    """
    process = _process(
        annotations, predictions, accuracy=accuracy, errors=errors, difficulty=difficulty,
        systems=systems, evidence=evidence, prior_count=prior_count, truth=truth,
        error_correlation=error_correlation, sampler=sampler,
        on_missing=on_missing,
    )  # fmt: skip
    return _model(process)


def _model(process: Process) -> Any:
    """Write the process as a PyMC model."""
    import pymc as pm
    import pytensor.tensor as pt

    with pm.Model(coords=parts.coordinates(process), model=None) as model:
        share = parts.prevalence(process)
        people, systems = _annotators(process), _systems(process)
        skill = pt.concatenate([people, systems]) if systems is not None else people
        skill = skill[:, None] + pt.zeros(process.form.n_labels)
        base = _base(process)
        rows = _rows(process, base)
        parts.observe(process, share, skill, rows, base)
    return model


def _typical(name: str, low: float, dims: Any, exact: bool) -> Any:
    """Make an accuracy, or that of a typical item where the average is another; as logits."""
    import pymc as pm

    own = f"{name}_accuracy" if exact else f"{name}_typical_accuracy"
    return pm.math.logit(pm.Uniform(own, low, 1.0, dims=dims))


def _annotators(process: Process) -> Any:
    """Make the logits of annotators' accuracies, one for each of their voices."""
    import pymc as pm
    import pytensor.tensor as pt

    low = 1.0 / process.form.n_labels
    if process.form.own_accuracy:
        mean = pm.math.logit(pm.Uniform("mean_accuracy", low, 1.0))
        spread = pm.HalfNormal("accuracy_spread", sigma=process.priors.spread)
        # In units of the spread: with few annotators NUTS would get stuck where that is small.
        return mean + spread * pm.Normal("annotator_offset", dims=ANNOTATOR)
    logit = _typical("annotator", low, None, not process.form.difficulty)
    return logit + pt.zeros(process.form.first_system)


def _systems(process: Process) -> Any:
    """Make the logits of systems' accuracies."""
    if not parts.known_systems(process):
        return None
    exact = not (process.form.difficulty or process.form.related)
    return _typical("system", 0.0, SYSTEM, exact)


def _base(process: Process) -> Any:
    """Make what errors are, or are drawn around (label, response), in logarithms."""
    import pymc as pm
    import pytensor.tensor as pt

    n = process.form.n_labels
    away = np.where(np.eye(n, dtype=bool), -np.inf, 0.0)
    if not process.form.ordered:
        return pt.as_tensor(np.where(np.isfinite(away), -np.log(max(n - 1, 1)), 0.0))
    decay = pm.Normal("distance_decay", mu=0.0, sigma=process.priors.decay)
    step = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = pt.exp(-decay * step) * ~np.eye(n, dtype=bool)
    return pt.switch(step > 0, -decay * step - pt.log(weight.sum(axis=1, keepdims=True)), 0.0)


def _rows(process: Process, base: Any) -> Any:
    """Make each voice's own errors (voice, label, response), or what all have."""
    import pymc as pm
    import pytensor.tensor as pt

    if process.form.errors != UNEQUAL:
        return base[None]
    n = process.form.n_labels
    voices = process.form.first_system + parts.known_systems(process)
    mean, sd = process.priors.concentration
    concentration = pm.LogNormal("error_concentration", mu=mean, sigma=sd)
    if n == 2:  # there is one other label: nothing to draw
        return pt.zeros((voices, n, n))
    away = ~np.eye(n, dtype=bool)
    shape = concentration * pt.exp(base[away].reshape((n, n - 1)))
    rows = pm.Dirichlet(
        "error_rows", a=pt.broadcast_to(shape, (voices, n, n - 1)),
        dims=(parts.VOICE, LABEL, parts.OTHER_LABEL),
    )  # fmt: skip
    return pt.zeros((voices, n, n))[:, away].set(pt.log(rows).reshape((voices, -1)))


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
    """Draw from the posterior.

    Parameters
    ----------
    annotations, predictions, accuracy, errors, difficulty, systems, evidence, prior_count
        As in `build`.
    draws, tune, chains : int
        Draws per chain, sweeps before the first of them, and chains.
    random_seed : int or numpy.random.Generator, optional
        Makes the draws repeatable.
    progressbar : bool
        Show progress.
    log_likelihood : bool
        Add the log-likelihood of each item, all its labels together and the truth summed out:
        `arviz.compare` then weighs variants that were fitted to the same data.
    posterior_predictive : bool
        Add labels drawn anew: by the same annotators and systems, of new items.
    error_correlation : float, "learned" or (median, spread)
        How much the errors of an item's labels hang together, see the card: 0 if not at all,
        another number, what sets with a known truth say, or a median and the standard deviation of
        its logarithm. True labels are then drawn given what labels point to, and all systems are
        judged by them, each by itself; none is evidence of the truth.
    keep_items : bool
        Keep the draws of every item's truth. Without, nothing grows with items but the labels;
        ``truth_mean`` in ``constant_data`` stays.
    sampler : {"gibbs", "nuts"}
        The Gibbs sampler, or NUTS on the same model, slower by far.
    on_missing : {"raise", "drop"}
        As in `build`.
    checkpoint : path, optional
        Where to keep what has been drawn, every half a minute: a fit that is interrupted, or whose
        machine fails, goes on from there when the same is asked for again, to the same draws. Needs
        the package zarr. A fit that is finished is read from there.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``annotator_accuracy`` (or one for each annotator), ``system_accuracy``
        (system): how often it is right on items like these; ``system_correct`` (system): the share
        of *these* items it got right; ``prevalence`` (label); ``truth`` (item, label): how probable
        each label is to be true, given the other parameters of the draw; and, as asked for,
        ``mean_accuracy``, ``accuracy_spread``, ``distance_decay``, ``error_concentration``,
        ``difficulty_spread``, ``difficulty_slope`` (system), ``item_difficulty`` (item, logits),
        ``shared_answers``. Where errors are correlated ``truth``, and accuracies
        of annotators and of systems, are of true labels; ``error_correlation`` is beside them,
        ``system_weight`` (system), the log odds that its answer adds to an item's labels,
        ``system_doubt`` (system), the mean over items of p (1 - p) with the probability p of being
        right, and ``majority_correct``, how often the label that most annotators gave is true.
        Attributes summarise r-hat and effective sample size.

    Raises
    ------
    AnnotationError, PredictionError, ArgumentError
        As in `build`; also if the truth of items would take more than 4 GB.

    Warns
    -----
    ConvergenceWarning
        If the chains have not run long enough.
    DesignWarning
        If labels, or who gave them, leave some of this to priors, naming whom it concerns.
    DissensusWarning
        If an annotator is right less often than by guessing.

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
    """Check annotations, predictions and settings, and put them together."""
    arguments.one_of("accuracy", accuracy, ACCURACY)
    arguments.one_of("errors", errors, tuple(ERRORS))
    ordered = isinstance(annotations, xr.Dataset) and annotations.attrs.get("kind") == "ordinal"
    if errors == "graded" and not ordered:
        raise ArgumentError(
            "errors", expected="'equal' or 'unequal' for labels without an order", found="'graded'",
            hint='If they have one, read them with kind="ordinal" and labels= in that order',
        )  # fmt: skip
    own = accuracy == "annotator"
    return truth_process(
        "symmetric_confusion", annotations, predictions, shared=not own and errors != "unequal",
        form={
            "own_accuracy": int(own), "errors": ERRORS[errors],
            "ordered": int(ordered and errors != "equal"),
        },
        **settings,
    )  # fmt: skip
