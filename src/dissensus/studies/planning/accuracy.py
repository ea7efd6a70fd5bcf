"""Plans of a system's accuracy without known labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.schema import checked_annotations
from dissensus.dims import ANNOTATOR, ESTIMATOR, ITEM, LABEL, SCOPE, SCOPES, STUDY
from dissensus.errors import AnnotationError, ArgumentError, ConvergenceWarning, DissensusWarning
from dissensus.kernels.random import generator
from dissensus.sampling import fitting
from dissensus.statistics._agreement import bennett_s
from dissensus.statistics._bayesian_bootstrap import bayesian_bootstrap
from dissensus.studies.planning.sentences import closeness_sentences
from dissensus.studies.planning.studies import counts, level, share
from dissensus.studies.planning.unknown_truth import (
    ESTIMATORS,
    Setting,
    StudyResult,
    known_items,
    studied,
)

# Agreement of annotators beyond chance.


_KINDS: Final = ("nominal", "ordinal")


class Agreement(NamedTuple):
    """Agreement of annotators, given or from a pilot study."""

    kappa: float
    n_labels: int
    known: tuple[float, float] | None
    """The interval of a pilot's kappa."""


def _agreement(
    pilot: Any, kappa: Any, n_labels: Any, prob: float, random_seed: Any
) -> Agreement:  # fmt: skip
    """Return kappa and the number of labels, given or from a pilot study."""
    if pilot is not None:
        return _of_pilot(pilot, {"kappa": kappa, "n_labels": n_labels}, prob, random_seed)
    if kappa is None:
        expected = "the agreement of annotators beyond guessing, or a pilot"
        raise ArgumentError("kappa", expected=expected, found="neither")
    if n_labels is None:
        expected = "the number of labels in the label space, with kappa"
        hint = "In a shell: --label-count"
        raise ArgumentError("n_labels", expected=expected, found="None", hint=hint)
    number = arguments.finite("kappa", kappa)
    if not 0 < number <= 1:
        raise ArgumentError("kappa", expected="a number above 0, at most 1", found=repr(kappa))
    return Agreement(number, arguments.whole("n_labels", n_labels, 2), None)


def _of_pilot(pilot: Any, given: dict[str, Any], prob: float, random_seed: Any) -> Agreement:
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(
                name, expected="none, since the pilot determines it", found=repr(value)
            )
    kind = checked_annotations(pilot).attrs["kind"]
    n_labels = pilot.sizes[LABEL] if kind in _KINDS else 0
    if n_labels < 2:
        raise AnnotationError(
            "pilot", expected="two labels or more, nominal or ordinal",
            found=f"{n_labels} of them" if kind in _KINDS else f"the kind {kind!r}",
        )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)  # NaN raises below
        kappa = float(bennett_s(pilot))
        if not kappa > 0:
            raise AnnotationError(
                "pilot", expected="annotators who agree more often than by guessing",
                found=f"a kappa (bennett_s) of {kappa:.3g}",
                hint="" if np.isfinite(kappa) else "The pilot needs items with two labels",
            )  # fmt: skip
        draws = bayesian_bootstrap(bennett_s, pilot, draws=2000, random_seed=random_seed)
    values = draws.to_array() if isinstance(draws, xr.Dataset) else draws
    low, high = np.nanquantile(values.to_numpy(), [(1 - prob) / 2, (1 + prob) / 2])
    return Agreement(kappa, n_labels, (float(low), float(high)))


# Errors of estimates over simulated studies.


_CELL = (ANNOTATOR, ITEM)


def closeness(
    studies: Sequence[Sequence[Sequence[StudyResult]]], annotators: list[int], items: list[int],
    within: float, assurance: float,
) -> xr.Dataset:  # fmt: skip
    """Summarise the results of simulated studies (annotator, item, study)."""
    data = _gathered(studies).assign_coords(
        {ANNOTATOR: annotators, ITEM: items, SCOPE: list(SCOPES), ESTIMATOR: list(ESTIMATORS)}
    )
    close = abs(data["error"]) <= within + 1e-12  # False for NaN
    out = xr.Dataset(
        {
            **_share("within_share", close),
            **_root_mean_square("rmse", data["error"]),
            **_mean("bias", data["error"]),
            **_mean("half_width", data["half_width"]),
            **_share("coverage", data["covered"]),
            **_mean("observed_kappa", data["kappa"]),
            "undefined_share": data["error"].isnull().mean(STUDY),
            "poor_share": data["poor"].mean(STUDY),
        }
    )
    needed = xr.apply_ufunc(
        lambda shares: enough(items, shares, assurance), out["within_share"],
        input_core_dims=[[ITEM]], vectorize=True,
    )  # fmt: skip
    return out.assign(items_enough=needed)


def enough(items: Sequence[int], shares: npt.ArrayLike, assurance: float) -> float:
    """Return the number of items at which the share of studies reaches ``assurance``.

    Shares are made monotone by isotonic regression, and interpolated in the square root of items.
    The result is NaN if the share for the largest number of items is too low.
    """
    from scipy.optimize import isotonic_regression

    rising = isotonic_regression(np.asarray(shares, dtype=np.float64)).x
    reached = np.flatnonzero(rising >= assurance - 1e-9)
    if not len(reached):
        return float("nan")
    place = int(reached[0])
    if place == 0:
        return float(items[0])
    low, high = rising[place - 1 : place + 1]
    before, after = np.sqrt(items[place - 1 : place + 1])
    root = before + (after - before) * min(1.0, (assurance - low) / (high - low))
    return float(np.ceil(root**2 - 1e-6))


def _gathered(studies: Sequence[Sequence[Sequence[StudyResult]]]) -> xr.Dataset:
    """Return the results of all studies as arrays (..., annotator, item, study)."""

    def stacked(name: str, *dims: str) -> xr.DataArray:
        values = [[[getattr(study, name) for study in cell] for cell in row] for row in studies]
        return xr.DataArray(np.asarray(values, dtype=np.float64), dims=(*_CELL, STUDY, *dims))

    return xr.Dataset(
        {
            "error": stacked("error", ESTIMATOR, SCOPE).transpose(ESTIMATOR, SCOPE, ...),
            "half_width": stacked("half_width", SCOPE).transpose(SCOPE, ...),
            "covered": stacked("covered", SCOPE).transpose(SCOPE, ...),
            "kappa": stacked("kappa"),
            "poor": stacked("poor"),
        }
    )


def _share(name: str, values: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return a share of studies and its standard error, which a uniform prior keeps above 0."""
    n = values.sizes[STUDY]
    yes = values.sum(STUDY)
    error = ((yes + 1.0) * (n - yes + 1.0) / (n + 3.0)) ** 0.5 / (n + 2.0)
    return {name: yes / n, f"{name}_error": error}


def _mean(name: str, values: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return a mean over studies, with its standard error; NaN for fewer than two studies."""
    n = values.notnull().sum(STUDY)
    mean = values.sum(STUDY) / n.where(n > 0)
    squares = ((values - mean) ** 2).sum(STUDY)
    return {name: mean, f"{name}_error": (squares / (n * (n - 1)).where(n > 1)) ** 0.5}


def _root_mean_square(name: str, values: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return the root of the mean square, with its standard error to first order."""
    square, error = _mean("", values**2).values()
    root = square**0.5
    return {name: root, f"{name}_error": error / (2.0 * root).where(root > 0)}


# The plan.


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
    r"""Plan the estimation of a system's accuracy from annotators who may be less accurate.

    Every item has one true label, which is unknown. Annotators who agree with kappa :math:`\kappa`
    on N labels are right with probability

    .. math:: p = \frac{1}{N} + \frac{N - 1}{N} \sqrt{\kappa},

    if annotators are equally accurate, items equally hard, and errors equally frequent. For each
    number of annotators and items, studies with such annotators and a system of known accuracy are
    simulated, and the system's accuracy is estimated by `models.symmetric_confusion` and by
    `lehner`.

    Parameters
    ----------
    pilot : Dataset, optional
        Nominal or ordinal annotations of a first few dozen items, for kappa and the number of
        labels.
    annotators : sequence of int
        Annotators of each item to try, 2 or more.
    items : sequence of int
        Numbers of items to try.
    kappa : float, optional
        Agreement beyond chance 1/N, as `bennett_s`: above 0, at most 1. In place of a pilot.
    n_labels : int, optional
        Number of labels, with ``kappa``.
    accuracy : float
        Accuracy of the system.
    within : float
        Maximum error of a good estimate.
    assurance : float
        Share of studies that must have a good estimate.
    violated : bool
        Simulate unequal annotators, items and errors together, as Lehner (2015): accuracies from .1
        below :math:`p` to .1 above, lower by .2 in a third of the items and higher by .2 in another
        third, errors half as probable with every step, and entries of a confusion matrix changed by
        up to 100 %. The model is then ``accuracy="annotator", errors="graded", difficulty=True``.
    studies : int
        Simulated studies for each number of annotators and items; 2 or more.
    draws : int
        Posterior draws in each of two chains; if too few, 4 or 16 times this number is drawn.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same plan. With an int, results for a number of annotators and items
        do not depend on which other numbers are tried.
    prob, progressbar
        As in `dissensus.plan`.

    Returns
    -------
    xarray.Dataset
        Along ``estimator`` ("symmetric_confusion", its posterior mean, and "lehner"), ``scope``
        ("these items": the system's share of right answers in the study; "new items": its expected
        accuracy), ``annotator`` and ``item``. All variables except the last three have a Monte
        Carlo standard error, named ``..._error``.

        - ``within_share`` (estimator, scope, annotator, item): share of studies whose error is at
          most ``within``. ``rmse`` and ``bias`` of the estimate.
        - ``half_width`` (scope, annotator, item): mean of half the length of the model's interval.
          ``coverage``: share of studies whose interval contains the truth.
        - ``observed_kappa`` (annotator, item): mean of kappa over studies.
        - ``items_enough`` (estimator, scope, annotator): number of items for which ``within_share``
          is the assurance, interpolated in the square root of items; NaN if it is above the largest
          number in ``items``, and the smallest number in ``items`` if it is below. Shares that
          decrease with items are averaged.
        - ``undefined_share`` (estimator, scope, annotator, item): share of studies without an
          estimate, in which annotators agree no more often than by chance; these studies do not
          count in ``within_share``. ``poor_share`` (annotator, item): share of studies whose chains
          did not converge.

        ``attrs["known_items"]`` is the number of items that would be sufficient if their true
        labels were known, and ``attrs["in_words"]`` is a summary with assumptions.

    Warns
    -----
    ConvergenceWarning
        If chains of some studies did not converge.

    Notes
    -----
    Limits:

    - The prevalence of labels is drawn separately for each study, from a uniform distribution.
    - Mistakes that annotators share are not simulated; they make estimates worse. With
      ``violated=True``, ``accuracy`` is the accuracy without difficulty: .9 becomes .867, because
      accuracies are at most 1.
    - With ``violated=True`` annotators of a given accuracy agree *more* than kappa (see
      ``observed_kappa``), because of errors near the truth and easy items. The annotators of a
      pilot with that kappa are then worse than this plan assumes.

    The standard error of a share of 40 studies is .05. Twelve cells of 40 studies take about a
    minute, with ``violated=True`` several.

    See Also
    --------
    plan : The accuracy of a system if items need not have one true label.
    plan_reliability : The reliability of labels.

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
    studies, draws = arguments.whole("studies", studies, 2), arguments.whole("draws", draws)
    arguments.flags(violated=violated)
    agreed = _agreement(pilot, kappa, n_labels, prob, random_seed)
    setting = Setting(agreed.kappa, agreed.n_labels, accuracy, bool(violated), prob, draws)
    cells = _simulated(setting, *tried, studies, random_seed, progressbar)
    out = closeness(cells, *tried, within, assurance)
    out = out.assign_attrs(
        kappa=agreed.kappa, n_labels=agreed.n_labels, accuracy=accuracy, within=within,
        assurance=assurance, violated=int(setting.violated), studies=studies, probability=prob,
        annotator_accuracy=round(setting.annotator_accuracy, 3),
        known_items=known_items(accuracy, within, assurance),
        **({} if agreed.known is None else {"kappa_interval": list(agreed.known)}),
    )  # fmt: skip
    _warn_if_poor(out)
    return out.assign_attrs(in_words="\n".join(closeness_sentences(out)))


def _several(annotators: Any) -> list[int]:
    """Return the numbers of annotators, or raise if one is below 2: agreement needs two."""
    numbers = counts("annotators", annotators)
    if numbers[0] < 2:
        raise ArgumentError(
            "annotators", expected="2 or more for each item",
            found=repr(annotators),
        )  # fmt: skip
    return numbers


def _simulated(
    setting: Setting, annotators: list[int], items: list[int], studies: int, random_seed: Any,
    progressbar: bool,
) -> list[list[list[StudyResult]]]:  # fmt: skip
    """Draw and estimate all studies (annotator, item, study)."""
    lots = [
        (place, k, n, rng)
        for place, (k, n) in enumerate(product(annotators, items))
        for rng in generator(random_seed, f"plan accuracy {k} {n}").spawn(studies)
    ]
    cells: list[list[StudyResult]] = [[] for _ in range(len(annotators) * len(items))]
    with warnings.catch_warnings():
        # Warnings are ignored: studies with poor chains or undefined estimates are counted instead.
        warnings.simplefilter("ignore", DissensusWarning)
        for place, k, n, rng in fitting.tracked(lots, "Simulating studies", progressbar):
            cells[place].append(studied(setting, k, n, rng))
    return [cells[i : i + len(items)] for i in range(0, len(cells), len(items))]


def _warn_if_poor(plan: xr.Dataset) -> None:
    n = round(float(plan["poor_share"].sum()) * plan.attrs["studies"])
    if n:
        total = plan["poor_share"].size * plan.attrs["studies"]
        warnings.warn(
            f"In {n:,} of {total:,} simulated studies the chains are too short; these studies "
            "are counted. Use more draws (draws=).",
            ConvergenceWarning, stacklevel=3,
        )  # fmt: skip
