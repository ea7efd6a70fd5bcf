"""How many items, if annotators worse than the system are to tell how accurate it is."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any

import xarray as xr

from dissensus._planning.agreeing_pilots import agreement_of
from dissensus._planning.checks import counts, level, share
from dissensus._planning.closeness import closeness
from dissensus._planning.closeness_sentences import sentences
from dissensus._planning.known_items import known_items
from dissensus._planning.unknown_truth import Found, Setting, studied
from dissensus.errors import ArgumentError, ConvergenceWarning, DissensusWarning
from dissensus.kernels.random import generator
from dissensus.registry import check_flag
from dissensus.sampling import fitting


def plan_accuracy(
    pilot: xr.Dataset | None = None,
    annotators: Sequence[int] = (2, 3, 5),
    items: Sequence[int] = (50, 100, 200, 400),
    *,
    kappa: float | None = None,
    n_labels: int | None = None,
    accuracy: float = 0.9,
    within: float = 0.1,
    assurance: float = 0.9,
    violated: bool = False,
    studies: int = 40,
    draws: int = 250,
    prob: float | None = None,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    r"""Foresee how well annotators would tell the accuracy of a system that is better than they.

    Every item has one true label, which nobody knows. Annotators who agree with kappa
    :math:`\kappa` on N labels are right with probability

    .. math:: p = \frac{1}{N} + \frac{N - 1}{N} \sqrt{\kappa},

    if all are alike, and so are items and errors. For each number of annotators and items, studies
    of such annotators and of a system of known accuracy are simulated, and that accuracy is
    estimated without the truth, by `models.symmetric_confusion` and by `lehner`.

    Parameters
    ----------
    pilot : Dataset, optional
        Annotations of a first few dozen items: labels, nominal or ordinal. They tell kappa and the
        number of labels.
    annotators : sequence of int
        Annotators for each item to try, 2 or more.
    items : sequence of int
        Numbers of items to try.
    kappa : float, optional
        Agreement beyond guessing as `bennett_s` has it, where chance is 1/N: above 0, at most 1.
        Instead of a pilot.
    n_labels : int, optional
        How many labels there are to choose from, with ``kappa``.
    accuracy : float
        The imagined system's.
    within : float
        How far the estimate may be off.
    assurance : float
        The share of studies in which it may not be off by more.
    violated : bool
        Simulate annotators who are not all alike, nor items, nor errors, as Lehner (2015) did all
        at once: accuracies from .1 below :math:`p` to .1 above, lower by .2 in a third of the
        items and higher in another, errors half as probable with every step, and every entry of a
        confusion matrix off by up to 100 %. The model is then ``accuracy="annotator",
        errors="graded", difficulty=True``.
    studies : int
        Simulated studies for each number of annotators and items; 2 or more.
    draws : int
        Posterior draws in each of two chains; 4 or 16 times as many where these are too few.
    prob : float, optional
        Probability of the (equal-tailed) interval; ArviZ's ``stats.ci_prob`` by default.
    random_seed : int or numpy.random.Generator, optional
        Makes it repeatable. With a number, what is said of so many annotators and items does not
        depend on what else is tried.
    progressbar : bool
        Show progress.

    Returns
    -------
    xarray.Dataset
        With the dims ``estimator`` ("symmetric_confusion", its posterior mean, and "lehner"),
        ``scope`` ("these items": the share of the study's items that the system gets right; "new
        items": its expected accuracy), ``annotator`` and ``item``. All but the last three have
        a Monte Carlo standard error beside them, named ``..._error``.

        - ``within_share`` (estimator, scope, annotator, item): share of studies whose estimate is
          off by ``within`` or less. ``rmse`` and ``bias``: its error.
        - ``half_width`` (scope, annotator, item): half the length of the model's interval, mean.
          ``coverage``: share of studies where it holds the truth.
        - ``observed_kappa`` (annotator, item): what kappa came out as, mean over studies.
        - ``items_enough`` (estimator, scope, annotator): the least number of items for which
          ``within_share`` is the assurance. If it is not among ``items`` it is interpolated in
          the square root of items, if it is their least it may be less, and NaN if there are not
          enough of them. Shares that fall as items increase are taken for chance and averaged.
        - ``undefined_share`` (estimator, scope, annotator, item): studies without an estimate,
          since annotators agreed no more often than guesses. They count as not within.
          ``poor_share`` (annotator, item): studies whose chains had not run long enough even so.

        ``attrs["known_items"]`` is the number of items whose truth, were it known, would tell it
        so closely by itself, and ``attrs["in_words"]`` says all in sentences, with what is taken
        for granted.

    Raises
    ------
    ArgumentError
        If there is neither a pilot nor kappa, or both, or an argument makes no sense.
    AnnotationError
        If the pilot has no labels, or its annotators agree no more often than guesses.

    Warns
    -----
    ConvergenceWarning
        In how many studies chains had not run long enough.

    Notes
    -----
    What it cannot know:

    - How often each label is true: drawn anew in each study, all base rates equally likely.
    - What else is violated. Annotators who share a mistake are not in the simulation, and make
      every number here too hopeful. With ``violated=True``, ``accuracy`` is what it is before
      difficulty: of .9 there remains .867, as nobody is right more often than always.
    - With ``violated=True`` annotators who are right so often agree *more* than kappa says (see
      ``observed_kappa``): near errors and easy items make them coincide. Of a pilot with that
      kappa, annotators are then worse than this plan assumes.

    A share of 40 studies is known to ± .05. Twelve cells of 40 studies take about a minute, with
    ``violated=True`` several, as chains are slow and run longer.

    See Also
    --------
    plan : The accuracy of a system where items need not have one true label.
    plan_reliability : How reliable labels are.

    References
    ----------
    Lehner (2015), Estimating the Accuracy of Automated Classification Systems Using Only Expert
    Ratings that are Less Accurate than the System, Journal of Modern Applied Statistical Methods
    14(1), Article 13: Eq. 2, and "Recommended use and uses to avoid", which advises 200 items for
    a kappa of about .3 and 100 for .55, with five labels and three annotators.

    Examples
    --------
    >>> import dissensus as dx
    >>> found = dx.plan_accuracy(annotators=(3,), items=(50, 400), kappa=0.3, n_labels=5,
    ...                          studies=10, random_seed=1, progressbar=False)
    >>> found.attrs["annotator_accuracy"]
    0.638
    >>> new = found.sel(estimator="symmetric_confusion", scope="new items", annotator=3)
    >>> bool(new.half_width.sel(item=400) < new.half_width.sel(item=50))
    True
    """
    tried = _several(annotators), counts("items", items)
    within, assurance = share("within", within), share("assurance", assurance)
    accuracy, prob = share("accuracy", accuracy), level(prob)
    studies, draws = fitting.whole("studies", studies, 2), fitting.whole("draws", draws)
    check_flag("violated", violated)
    agreed = agreement_of(pilot, kappa, n_labels, prob, random_seed)
    setting = Setting(agreed.kappa, agreed.n_labels, accuracy, bool(violated), prob, draws)
    found = _simulated(setting, *tried, studies, random_seed, progressbar)
    out = closeness(found, *tried, within, assurance)
    out = out.assign_attrs(
        kappa=agreed.kappa, n_labels=agreed.n_labels, accuracy=accuracy, within=within,
        assurance=assurance, violated=int(setting.violated), studies=studies, probability=prob,
        annotator_accuracy=round(setting.annotator_accuracy, 3),
        known_items=known_items(accuracy, within, assurance),
        **({} if agreed.known is None else {"kappa_interval": list(agreed.known)}),
    )  # fmt: skip
    _warn_if_poor(out)
    return out.assign_attrs(in_words="\n".join(sentences(out)))


def _several(annotators: Any) -> list[int]:
    """Return numbers of annotators, of whom one alone cannot agree with anybody."""
    numbers = counts("annotators", annotators)
    if numbers[0] < 2:
        raise ArgumentError(
            "annotators", expected="2 or more for each item: from agreement they are known",
            found=repr(annotators),
        )  # fmt: skip
    return numbers


def _simulated(
    setting: Setting, annotators: list[int], items: list[int], studies: int, random_seed: Any,
    progressbar: bool,
) -> list[list[list[Found]]]:  # fmt: skip
    """Draw and estimate all studies (annotator, item, study)."""
    lots = [
        (place, k, n, rng)
        for place, (k, n) in enumerate(product(annotators, items))
        for rng in generator(random_seed, f"plan accuracy {k} {n}").spawn(studies)
    ]
    cells: list[list[Found]] = [[] for _ in range(len(annotators) * len(items))]
    with warnings.catch_warnings():
        # Of chains, which are looked at here, and of what is NaN, which is counted.
        warnings.simplefilter("ignore", DissensusWarning)
        for place, k, n, rng in fitting.tracked(lots, "Simulating studies", progressbar):
            cells[place].append(studied(setting, k, n, rng))
    return [cells[i : i + len(items)] for i in range(0, len(cells), len(items))]


def _warn_if_poor(found: xr.Dataset) -> None:
    n = round(float(found["poor_share"].sum()) * found.attrs["studies"])
    if n:
        total = found["poor_share"].size * found.attrs["studies"]
        warnings.warn(
            f"In {n:,} of {total:,} simulated studies the chains have not run long enough; they "
            "are counted all the same. Ask for more draws (draws=).",
            ConvergenceWarning, stacklevel=3,
        )  # fmt: skip
