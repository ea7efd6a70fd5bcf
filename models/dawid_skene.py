r"""Dawid-Skene: one truth for each item, and a confusion matrix for each annotator.

The story. Every item has one true label. What an annotator says depends on it in a way of his own:
a matrix that says, for each true label, how often he gives each response. So he may be good at one
label and bad at another, or take one for the other.

.. math::

    z_i &\sim \mathrm{Categorical}(\pi), \qquad \pi \sim \mathrm{Dirichlet}(\alpha) \\
    y_{ij} \mid z_i = z &\sim \mathrm{Categorical}(C_{jz})

The truth is summed out. Three ways to learn the matrices:

``pooling="hierarchical"``
    Annotators of one population, around its matrix M. Who is good is good at all labels: his odds
    of being right are those of M times :math:`e^{s_j}`, :math:`s_j \sim N(0, \omega^2)`, and
    what is his own at one label is drawn around that. How good he is says nothing of where his
    errors fall:

    .. math::

        C_{jzz} \sim \mathrm{Beta}(\kappa_z p_{jz}, \kappa_z (1 - p_{jz})), \quad
        \mathrm{logit}\, p_{jz} = \mathrm{logit}\, M_{zz} + s_j, \qquad
        \frac{C_{jzy}}{1 - C_{jzz}} \sim \mathrm{Dirichlet}(\kappa_z M_{zy}),\ y \ne z

    In a fit M is ``population_confusion``, :math:`\kappa` ``confusion_concentration`` and
    :math:`\omega` ``accuracy_spread``, with which at 0 rows are
    :math:`\mathrm{Dirichlet}(\kappa_z M_z)`. Who gave few labels is taken for a typical one.
    The way to go for annotators' accuracies.
``pooling="complete"``
    One matrix for all, :math:`C_{jz} = M_z`.
``pooling="none"``
    Each on his own, rows apart, :math:`C_{jz} \sim \mathrm{Dirichlet}(a_z)`: what is not seen is
    the prior. The way to go if the labels of items are, and what `dissensus.evaluate` takes: the
    prior of so many annotators holds a label that is rarely true to its meaning, where one matrix
    that all are drawn around lets it become a class of whatever is hard.

``difficulty=True`` multiplies the odds of being right by :math:`e^{\tau b_j d_i}`, with
:math:`d_i` from a standard normal distribution in fifths, as in `symmetric_confusion`; matrices
are then averages over items, and one column more of a kind with Whitehill's GLAD.

Systems are judged jointly, each row of their matrices drawn around a symmetric one, with the
weight of ten labels, whose accuracy is uniform from 0 to 1: what they are confused by is theirs.

Annotators of one item err together (``error_correlation``). What labels point to need not be true:
people who are misled by the same thing point to a wrong label together. Of n labels of an item
whose errors have the correlation :math:`\rho`, :math:`m = n / (1 + (n - 1) \rho)` are independent,
and the true label :math:`z^*` has, given what the model above makes of the labels,

.. math::

    P(z^*_i = k \mid y_i, \theta) &\propto P(z_i = k \mid y_i, \theta)^{m_i / n_i}, \\
    P(z^*_i = k \mid y_i, s_i, \theta) &\propto P(z_i = k \mid y_i, \theta)^{m_i / n_i}\,
        e^{w [s_i = k]}

with the weight w of what a system knows that annotators do not. No labels can tell :math:`\rho`:
"learned" is what seven sets with a known truth say, :math:`\log\rho` normal around log .6, sd 1/2
(``docs/validation.md``); above 1 it is no correlation, but makes up for skills that were learned as
if errors were independent, and are overstated too. w lies somewhere between 0, a system that knows
what annotators know, and :math:`w_0 \le 3.5`, its log odds of being right if it erred independently
of them: it is even from :math:`-.1 w_0` to :math:`1.2 w_0`, with a normal error of .5. Labels known
to be true (``truth=``) tell both. By default (0) what labels point to is true, as it says above;
`dissensus.evaluate` has "learned".

Priors and why. Prevalence is uniform over the simplex. :math:`M_z`, and :math:`a_z` with no
pooling, is worth four labels, 2.8 of them right, and :math:`M_z` has its own label most often of
all: annotators on the whole use names for what they mean. This keeps labels from changing places,
which the likelihood alone would allow, and a label that is hardly ever true from becoming a name
for hard items. With no pooling every annotator has the four labels, which does the same where there
are many of them. :math:`\kappa_z \sim \mathrm{Gamma}(2, 0.2)`, mean 10, says how alike
annotators are at one label, and :math:`\omega`, half-normal of scale 1 as in
`symmetric_confusion`, how much they differ at all.

When to use it. Many labels from each annotator, or from all together: a few hundred for each label
that is ever true. Nominal or ordinal labels, repeated ones too (``trial``). When not: few labels
(a matrix of K x K numbers from three annotators and fifty items is mostly prior:
`symmetric_confusion`); items that annotators find hard together, three annotators only: a matrix
is free enough to explain that as something else, and accuracies can be off (16 simulated studies of
5,000 items that differ in difficulty, errors graded: .73 to .88 for a system of .87, and .85 to .88
by `symmetric_confusion` with graded errors and difficulty); no one true label (`dirichlet`); a
system that learned from these very labels, or is made of them. A mistake that annotators share
passes for the truth, unless errors are correlated.

The likelihood of such models has several maxima, and the one that EM finds from the vote
proportions need not be the highest; `em` is here for comparison, not for use. On Dawid and
Skene's own anaesthetists the published rates, prevalences .40/.42/.11/.07, have log-likelihood
-192.89, and .40/.45/.09/.07 have -191.57. Both lie well inside the posterior, as do error rates far
from the 0 and 1 that EM gives. A point estimate hides that; intervals do not.

Drawn by an exact Gibbs sampler, NUTS on the same model is there as a witness.

Source: Dawid & Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
algorithm"; hierarchical: Paun et al. (2018), "Comparing Bayesian models of annotation".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.dims import ANNOTATOR, LABEL, RESPONSE, SYSTEM
from dissensus.families.base import FitOptions, run
from dissensus.families.latent_truth import model as parts
from dissensus.families.latent_truth.em import em as em
from dissensus.families.latent_truth.fit import TruthFit
from dissensus.families.latent_truth.kernels.data import COMPLETE, HIERARCHICAL, NONE
from dissensus.families.latent_truth.parameters import TYPICAL
from dissensus.families.latent_truth.process import Process
from dissensus.families.latent_truth.process import process as truth_process

KINDS = ("nominal", "ordinal")
POOLING: Final = {"hierarchical": HIERARCHICAL, "none": NONE, "complete": COMPLETE}
_LABELS: Final = 4.0
"""What the prior of a row is worth, in labels."""
_RIGHT: Final = 0.7
"""The share of them that is right."""


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
        How matrices are learned from each other, see the card.
    difficulty : bool
        Whether items differ in how hard they are.
    systems : {"independent", "related"}
        Whether they share a source of answers, as in `dissensus.models.symmetric_confusion`.
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
        With ``prevalence`` (label), ``confusion`` (annotator, label, response), what it is drawn
        from, ``system_confusion`` (system, label, response), and the observed ``labels``: those of
        annotators, then systems'.

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
    process = _process(
        annotations, predictions, pooling=pooling, difficulty=difficulty, systems=systems,
        evidence=evidence, prior_count=prior_count, truth=truth,
        error_correlation=error_correlation, sampler=sampler, on_missing=on_missing,
    )  # fmt: skip
    return _model(process)


def _model(process: Process) -> Any:
    """Write the process as a PyMC model."""
    import pymc as pm
    import pytensor.tensor as pt

    with pm.Model(coords=parts.coordinates(process), model=None) as model:
        share = parts.prevalence(process)
        voices = [_annotators(process)]
        if parts.known_systems(process):
            voices.append(_taken_apart(_systems(process)))
        skill, log_error = (pt.concatenate(part) for part in zip(*voices, strict=True))
        n = process.form.n_labels
        equal = np.full((n, n), -np.log(max(n - 1, 1)))
        parts.observe(process, share, skill, log_error, pt.as_tensor(equal))
    return model


def _taken_apart(rows: Any) -> tuple[Any, Any]:
    """Return logits of being right, and logarithms of where errors fall, of rows."""
    import pytensor.tensor as pt

    same = pt.eye(rows.shape[-1], dtype="bool")
    wrong = pt.log(pt.switch(same, 0.0, rows).sum(axis=-1))
    skill = pt.log(pt.diagonal(rows, axis1=-2, axis2=-1)) - wrong
    return skill, pt.switch(same, 0.0, pt.log(rows) - wrong[..., None])


def _annotators(process: Process) -> tuple[Any, Any]:
    """Make the matrices of annotators' voices, taken apart."""
    import pymc as pm

    from dissensus.families.latent_truth.distributions import LeadingDirichlet

    if process.form.pooling == NONE:
        shape = np.broadcast_to(
            process.priors.rows, (len(process.annotators), *process.priors.rows.shape)
        )
        dims = (ANNOTATOR, LABEL, RESPONSE)
        return _taken_apart(pm.Dirichlet(_called(process, "confusion"), a=shape, dims=dims))
    pooled = "population_confusion"
    name = _called(process, pooled) if process.form.pooling == COMPLETE else pooled
    own = np.arange(process.form.n_labels)
    mean = LeadingDirichlet(name, process.priors.rows, own, dims=(LABEL, RESPONSE))
    return _taken_apart(mean[None]) if process.form.pooling == COMPLETE else _around(process, mean)


def _around(process: Process, mean: Any) -> tuple[Any, Any]:
    """Make annotators' matrices around the population's, each as good as he is at all labels."""
    import pymc as pm
    import pytensor.tensor as pt

    n, people = process.form.n_labels, len(process.annotators)
    shape, rate = process.priors.alike
    alike = pm.Gamma("confusion_concentration", alpha=shape, beta=rate, dims=LABEL)
    spread = pm.HalfNormal("accuracy_spread", sigma=process.priors.spread)
    # In units of the spread: with few annotators NUTS would get stuck where that is small.
    level = spread * pm.Normal("annotator_offset", dims=ANNOTATOR)
    typical = _taken_apart(mean)[0] + level[:, None]
    both = pt.stack([pt.sigmoid(typical), pt.sigmoid(-typical)], axis=-1)
    # Both, as a Beta accuracy that rounds to 1 would not say how far from 1 it is.
    right = pm.Dirichlet(
        _called(process, "right_or_wrong"), a=alike[:, None] * both,
        dims=(ANNOTATOR, LABEL, parts.OUTCOME),
    )  # fmt: skip
    errors = pt.ones((people, n, 1))  # of two labels an error is the other one
    away = ~np.eye(n, dtype=bool)
    if n > 2:
        shape = (alike[:, None] * mean)[away].reshape((n, n - 1))
        errors = pm.Dirichlet(
            _called(process, "error_rows"), a=_every(people, shape),
            dims=(ANNOTATOR, LABEL, parts.OTHER_LABEL),
        )  # fmt: skip
    blank = pt.zeros((people, n, n))
    wrong = (right[..., 1, None] * errors).reshape((people, -1))
    whole = blank[:, away].set(wrong)[:, ~away].set(right[..., 0])
    pm.Deterministic(_called(process, "confusion"), whole, dims=(ANNOTATOR, LABEL, RESPONSE))
    skill = pt.log(right[..., 0]) - pt.log(right[..., 1])
    return skill, blank[:, away].set(pt.log(errors).reshape((people, -1)))


def _called(process: Process, name: str) -> str:
    """Name a matrix: with difficulty it is that of a typical item."""
    return f"{TYPICAL}{name}" if process.form.difficulty else name


def _every(n: int, shape: Any) -> Any:
    import pytensor.tensor as pt

    return pt.broadcast_to(shape, (n, *shape.shape))


def _systems(process: Process) -> Any:
    """Make the matrices of systems, around symmetric ones."""
    import pymc as pm
    import pytensor.tensor as pt

    n = process.form.n_labels
    level = pm.Uniform("system_level", 0.0, 1.0, dims=SYSTEM)[:, None, None]
    even = pt.switch(np.eye(n, dtype=bool), level, (1 - level) / (n - 1))
    return pm.Dirichlet(
        _called(process, "system_confusion"),
        a=process.priors.system * even,
        dims=(SYSTEM, LABEL, RESPONSE),
    )


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
    annotations, predictions, pooling, difficulty, systems, evidence, prior_count, truth, on_missing
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
    checkpoint : path, optional
        Where to keep what has been drawn, every half a minute: a fit that is interrupted, or whose
        machine fails, goes on from there when the same is asked for again, to the same draws. Needs
        the package zarr. A fit that is finished is read from there.

    Returns
    -------
    xarray.DataTree
        ``posterior`` with ``confusion`` (annotator, label, response), rows of which sum to 1;
        ``annotator_accuracy`` (annotator) over items of such prevalence; where annotators are
        pooled ``population_confusion`` (label, response), and of a population also
        ``confusion_concentration`` (label) and ``accuracy_spread``, the standard deviation between
        annotators of the log odds of being right;
        ``system_confusion``, where systems are related of a system's own answers only;
        ``system_accuracy`` and ``system_correct`` (system), the share of *these* items that it
        got right; ``prevalence`` (label); ``truth`` (item, label): how
        probable each label is to be true, given the other parameters of the draw; with difficulty
        ``difficulty_spread``, ``difficulty_slope`` (system) and ``item_difficulty`` (item).
        Where errors are correlated ``truth``, and accuracies
        of annotators and of systems, are of true labels; ``error_correlation`` is beside them,
        ``system_weight`` (system), the log odds that its answer adds to an item's labels,
        ``system_doubt`` (system), the mean over items of p (1 - p) with the probability p of being
        right, and ``majority_correct``, how often the label that most annotators gave is true.
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
        If labels, or who gave them, leave some of this to priors, naming whom it concerns.
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
    return truth_process(
        "dawid_skene", annotations, predictions, shared=pooling == "complete",
        form={"rows": 1, "pooling": POOLING[pooling]}, rows=_prior(n), **settings,
    )  # fmt: skip


def _prior(n: int) -> npt.NDArray[np.float64]:
    """Return the labels that rows are given in advance (label, response)."""
    out = np.full((n, n), _LABELS * (1 - _RIGHT) / max(n - 1, 1))
    np.fill_diagonal(out, _LABELS * _RIGHT)
    return out
