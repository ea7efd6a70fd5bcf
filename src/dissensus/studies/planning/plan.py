"""Plans of new studies, simulated from the posterior of a pilot study."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from inspect import signature
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments, models
from dissensus.data.pairs import are_votes
from dissensus.data.predictions import Features
from dissensus.data.rows import statements_per
from dissensus.dims import ANNOTATOR, ITEM
from dissensus.errors import AnnotationError, ArgumentError, DesignWarning, brief, warn_caller
from dissensus.kernels.dirichlet import draw_dirichlet
from dissensus.kernels.majority import leaned
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.metrics._insight import insight_of
from dissensus.sampling import fitting
from dissensus.sampling.learned_prior import LEARNED, learned, plausibilities
from dissensus.statistics._reader_words import is_reader_study
from dissensus.statistics._resampling import FEW_UNITS
from dissensus.studies.planning.judged import half_width, plan_votes
from dissensus.studies.planning.labels import plan_labels
from dissensus.studies.planning.readers import plan_readers
from dissensus.studies.planning.reliability import plan_reliability
from dissensus.studies.planning.studies import counts, level, share, warn_of_the_same
from dissensus.wording import counted

_REPEATS = 10
_WARM_UP = 100


def planned(
    pilot: Any,
    annotators: Sequence[int],
    items: Sequence[int],
    *,
    accuracy: float = 0.8,
    reliability: float = 1.0,
    prior_count: float | str = LEARNED,
    prob: float | None = None,
    draws: int = 400,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Return the plan of `dissensus.plan` for labels that are not measurements."""
    share("accuracy", accuracy)
    draws = arguments.sample_shape(draws, 1)[1]
    sizes = {"annotators": counts("annotators", annotators), "items": counts("items", items)}
    fit = models.get("dirichlet").module.fit(
        pilot, draws=_REPEATS, chains=1, random_seed=random_seed, progressbar=False,
        reliability=reliability, prior_count=prior_count,
    )  # fmt: skip
    truths = fit["posterior"]["plausibility"].isel(chain=0).to_numpy()
    rng = generator(random_seed, "plan")
    prob = level(prob)
    _warn_of_little(pilot, learned=isinstance(prior_count, str))
    warn_of_the_same(pilot)
    # One study of each size, since the learned prior depends on the number of items.
    how = (accuracy, reliability, prior_count, draws, rng)
    studies = [[_study(truths, n, k, *how) for k in sizes["items"]] for n in sizes["annotators"]]
    largest = int(np.argmax(sizes["items"]))
    chosen = [row[largest] for row in studies]
    half = [[_half_width(study[0], prob, rng) for study in row] for row in studies]
    return xr.Dataset(
        {
            "certainty": (ANNOTATOR, [float(study[1].mean()) for study in chosen]),
            "certain_share": (ANNOTATOR, [float((study[1] > 0.9).mean()) for study in chosen]),
            "half_width": ((ANNOTATOR, ITEM), half),
            "shortfall": (ANNOTATOR, [study[2] - float(study[0].mean()) for study in chosen]),
        },
        coords={ANNOTATOR: sizes["annotators"], ITEM: sizes["items"]},
        attrs={"accuracy": accuracy, "reliability": reliability, "probability": prob},
    )


def _warn_of_little(pilot: xr.Dataset, *, learned: bool) -> None:
    """Warn if the pilot contains little information on how often annotators differ."""
    times = statements_per(pilot, ITEM)
    labelled, several = int((times > 0).sum()), int((times > 1).sum())
    if learned and several < min(FEW_UNITS, labelled):
        extent = "one label of each item"
        if several:
            extent = f"two labels of only {counted(several, 'item')}"
        warn_caller(
            f"The pilot has {extent}, and so does not show how often annotators differ: the "
            "planned widths depend mostly on the prior, and can be too large by a factor of two. "
            "Have some items labelled by two annotators, or set prior_count=",
            DesignWarning,
        )
    elif labelled < FEW_UNITS:
        warn_caller(
            f"The pilot has labels of {counted(labelled, 'item')}. With fewer than "
            f"{FEW_UNITS}, planned widths are rough: other items would give other widths",
            DesignWarning,
        )


def _study(
    truths: Floats, n_annotators: int, n_items: int, accuracy: float, reliability: float,
    prior_count: float | str, draws: int, rng: np.random.Generator,
) -> tuple[Floats, Floats, float]:  # fmt: skip
    """Simulate one study: the system's scores (draw, item), certainties (item), true accuracy."""
    pool = truths.reshape(-1, truths.shape[-1])
    theta = pool[rng.integers(len(pool), size=n_items)]
    counts = rng.multinomial(n_annotators, theta)
    n_labels = theta.shape[1]
    right = theta.argmax(axis=1)
    wrong = (right + rng.integers(1, max(2, n_labels), size=n_items)) % n_labels
    answers = np.where(rng.random(n_items) < accuracy, right, wrong)
    drawn = _posterior(counts, answers, reliability, prior_count, draws, rng).argmax(axis=-1)
    frequency = np.stack([(drawn == label).mean(axis=0) for label in range(n_labels)])
    scores = (drawn == answers).astype(np.float64)
    if isinstance(prior_count, str):  # draw insight, the system's knowledge beyond the labels
        keys: Any = rng.integers(2**64, size=n_items, dtype=np.uint64)
        insight = insight_of(rng.standard_normal(draws))
        scores = leaned(scores.T, 0.0, scores.mean(axis=0), 1.0, insight, keys).T
    return scores, frequency.max(axis=0), float((answers == right).mean())


def _posterior(
    counts: npt.NDArray[np.int64], answers: npt.NDArray[np.int64], reliability: float,
    prior_count: float | str, draws: int, rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Draw plausibilities of a simulated study (draw, item, label), as `models.dirichlet` does."""
    n_items, n_labels = counts.shape
    if not isinstance(prior_count, str):
        keys: Any = rng.integers(2**64, size=n_items, dtype=np.uint64)
        return draw_dirichlet(prior_count + reliability * counts, keys, draws).theta
    answer = Features([np.eye(n_labels)[answers]], ["system"], [], [])
    votes = counts.astype(np.float64)
    prior = learned([(votes, answer)], (1, draws), _WARM_UP, rng)
    seed = fitting.stream_seed(rng)
    theta = plausibilities(prior, reliability * votes, answer, np.arange(n_items), (1, draws), seed)
    return theta[0]


def _half_width(scores: Floats, level: float, rng: np.random.Generator) -> float:
    """Return half the length of the mean score's interval for new items (Bayesian bootstrap)."""
    weights = rng.standard_exponential(scores.shape)
    values = (scores * weights).sum(axis=1) / weights.sum(axis=1)
    return half_width(values[:, np.newaxis], level)


_ANNOTATORS: Final = (1, 2, 3, 5, 8, 12)
_ITEMS: Final = (100, 300, 1000)


def plan(
    pilot: xr.Dataset | xr.DataTree,
    annotators: Sequence[int] | None = None,
    items: Sequence[int] | None = None,
    *,
    target: float | None = None,
    width: float | None = None,
    family: str | None = None,
    accuracy: float | None = None,
    reliability: float | None = None,
    prior_count: float | str | None = None,
    difference: float | None = None,
    margin: float | None = None,
    predictions: xr.Dataset | None = None,
    prob: float | None = None,
    draws: int | None = None,
    random_seed: int | None = None,
    progressbar: bool = True,
    **settings: Any,
) -> xr.Dataset:
    r"""Plan the numbers of annotators and items of a new study.

    The plan is for the reliability of labels if they are *measurements*, that is, numbers, or if
    ``target``, ``width`` or ``family`` is given, or if the pilot is a fit of
    `models.crossed_effects` or `models.cross_replication`; see `dissensus.plan_reliability`.
    If the pilot is a result of `dissensus.reader_study`, the plan is for the precision of *areas
    under the ROC curve*: annotators are readers, items are cases. If the pilot has votes on pairs,
    the plan is for the precision of *win rates* from votes and a judge's verdicts: items are pairs
    of answers. With ``predictions=``, systems, such as a judge, have labelled or scored all items,
    and people label or score a part of them. The plan is then for the precision of *agreement with
    the panel* (labels), or of the *mean score* that a panel would give (scores). Otherwise the plan
    is for the precision of a *system's accuracy*. If items have one true label, use
    `dissensus.plan_accuracy`.

    To plan a system's accuracy, new studies are drawn from the pilot's posterior, and analysed by
    `models.dirichlet`. In these studies a system predicts an item's most plausible label with
    probability ``accuracy``, and each label is by another annotator. If the same few annotators
    label all items, intervals are wider: see Notes.

    Parameters
    ----------
    pilot : xarray.Dataset or DataTree
        Nominal or ordinal annotations of a first few dozen items, some of them labelled by two
        annotators or more. To plan reliability: numbers, ordered labels or two labels, or a fit. To
        plan areas: a reader study with one or two modalities, for new readers and new cases, with
        at least 90 % of all scores (each reader, case and modality). To plan win rates: votes of
        people, from `dissensus.pairs`.
    annotators : sequence of int, optional
        Annotators of each item to try: 1, 2, 3, 5, 8 and 12 by default; with ``predictions=`` 3;
        for pairs 1 (votes on each pair).
    items : sequence of int, optional
        Numbers of items to try: 100, 300 and 1,000 by default. With ``predictions=``, numbers of
        items or pairs that people label or vote on: by default one, three and six tenths of all.
    target, width, family
        To plan reliability, see `plan_reliability`; None is the default there.
    accuracy : float, optional
        Accuracy of the system; .8 by default.
    reliability : float, optional
        Reliability in the model, for the pilot and the new studies; 1 by default.
    prior_count : "learned" or float, optional
        Prior count in the model, for the pilot and the new studies; learned by default, in new
        studies also from the predictions.
    difference : float, optional
        For reader studies: the assumed difference of areas, the pilot's first modality minus the
        second; with one modality, the system minus the readers. By default it is drawn from the
        pilot's posterior.
    margin : float, optional
        For reader studies: margin of non-inferiority, above 0.
    predictions : xarray.Dataset, optional
        Labels or scores that systems gave to all items, from `dissensus.predictions`; for votes on
        pairs, judges' verdicts on all pairs, as in `models.bradley_terry`.
    prob : float, optional
        Probability of the (equal-tailed) interval; ArviZ's ``stats.ci_prob`` by default, .95 for
        reader studies.
    draws : int, optional
        Posterior draws in each simulated study; 400 by default. For reader studies, the number of
        simulated studies; 1,000 by default.
    random_seed : int, optional
        The same seed gives the same plan.
    progressbar : bool
        Show progress of plans of reliability and of plans with ``predictions=``.
    **settings
        Further arguments of `plan_reliability`.

    Returns
    -------
    xarray.Dataset
        Means over simulated studies. ``certainty`` (annotator): annotation certainty;
        ``certain_share`` (annotator): share of items with certainty above .9; ``half_width``
        (annotator, item): half the length of the interval of the uncertainty-adjusted accuracy for
        new items; ``shortfall`` (annotator): true accuracy minus its posterior mean, positive
        because the most plausible label is uncertain with few annotators, or if two labels are
        nearly equally plausible (may be negative with one annotator). With a learned prior the
        interval includes the system's knowledge beyond the labels (``insight`` in
        `top_k_accuracy`), which does not depend on the number of items.

        For reader studies, over simulated studies in which each reader scores each case with each
        modality:

        - ``half_width`` (annotator, item): mean half-width of the interval of the difference
          between two modalities; with one modality, of its average area;
        - ``power``, with two modalities: share of intervals that exclude 0;
        - ``non_inferiority`` (modality, annotator, item), with two modalities and ``margin=``:
          share of intervals that show this modality to be worse by less than the margin;
        - ``system_half_width`` (modality, system, annotator, item), and so on, if the pilot has
          systems: the same for the system's area minus the average area of the readers.

        With ``predictions=``, over five simulated studies:

        - ``half_width`` (annotator, item): half the length of the interval of a win rate on all
          judged pairs, or of a system's agreement with the panel on all predicted items, the mean
          over systems; or of the mean score of all items;
        - ``half_width_alone``: the same without the verdicts, or from the labelled items alone;
        - ``items_alone``: the number of pairs with votes, or of labelled items, that gives
          ``half_width`` without verdicts, or from the labelled items alone. It can exceed the
          number of pairs. Verdicts and predictions save ``items_alone`` minus ``item``.

        ``attrs["in_words"]`` describes the result for the largest number of labels or votes; with
        ``predictions=``, for the largest number of items below all items, if there is one. For a
        reader study it names the study with the fewest readings (readers times cases) whose power
        is at least .8, or else the study with the highest power.

    See Also
    --------
    plan_accuracy : The accuracy of a system that is better than its annotators.
    plan_reliability : The reliability of labels.

    Notes
    -----
    Reader studies: the variance of a difference is that of Obuchowski & Rockette (1995). Variances
    due to cases are those in the pilot, times the pilot's number of cases divided by the new
    number. Variances between readers are drawn from the pilot's posterior. The mean over new
    readers is normal. Each simulated study is analysed with the prior of `dissensus.reader_study`.
    The share of positive cases is the pilot's.

    Votes on pairs: votes of the pilot's voters on a random part of the judged pairs are drawn from
    the pilot's posterior. `models.bradley_terry` analyses them twice: with the verdicts, and
    without the information in the verdicts. Effects of voters and prompts are the model's defaults
    (no ``side``, no ``answers``). Win rates are of expected votes, as `evaluate` shows them.
    Without verdicts, the square of an interval's length is taken as inversely proportional to the
    number of votes.

    The same few annotators: on four real sets, with pilots of 50 items and studies of 150, the
    half-widths of `evaluate` were .97 to .98 times the planned ones if labels were by many
    annotators. If the same three, five or eight annotators labelled all items, they were 1.7, 1.25
    and 1.15 times the planned ones (means over 16 studies; for three, up to 4.7 times), because
    other annotators may label differently (``benchmarks/same_annotators.py --plans``).

    Labels and predictions: labels of a random part of the items are drawn from the pilot's
    posterior and analysed by `models.dirichlet` and `top_k_accuracy` with ``insight="learned"``, as
    `evaluate` does: once with the predictions for all items, and once with the labelled items only,
    from which a Polya urn draws the values of the other items. Scores are planned in the same way,
    by `models.normal_scores` and its means of items. Between the sizes tried, and up to labels for
    all items, the square of an interval's length is taken as linear in :math:`1 / n`. The numbers
    of items include the pilot's items if these are a random part of all items. The pilot's strata
    are used if it names all predicted items (``items=`` of `dissensus.annotations`). Savings of
    less than a quarter may be due to differences between the two analyses. With 20,000 items and 5
    labels, a study takes 4 seconds and a gigabyte.

    Examples
    --------
    >>> import dissensus as dx
    >>> pilot = dx.simulate.study(30, 2, 3, kind="nominal", random_seed=1).annotations
    >>> result = dx.plan(pilot, annotators=(1, 8), items=(50,), random_seed=1)
    >>> bool(result.certainty.sel(annotator=8) > result.certainty.sel(annotator=1))
    True
    """
    _all_known(settings)
    own = {"accuracy": accuracy, "reliability": reliability, "prior_count": prior_count}
    shared = {"prob": prob, "draws": draws, "random_seed": random_seed}
    if isinstance(pilot, xr.DataTree) and pilot.attrs.get("model") == "bradley_terry":
        raise ArgumentError(
            "pilot", expected="votes, from dissensus.pairs", found="a fit of bradley_terry",
            hint="Type plan(votes, predictions=verdicts)",
        )  # fmt: skip
    voted = are_votes(pilot)
    if voted or predictions is not None:
        others = {"difference": difference, "margin": margin} | own | settings
        others |= {"target": target, "width": width, "family": family}
        numbers = isinstance(pilot, xr.Dataset) and pilot.attrs.get("kind") == "continuous"
        quantity = "the mean score is" if numbers else "agreement with the panel is"
        quantity = "win rates are" if voted else quantity
        _none_of(others, f"none, since {quantity} planned")
        plan_of_part, usual = (plan_votes, (1,)) if voted else (plan_labels, (3,))
        return plan_of_part(
            pilot, usual if annotators is None else annotators, items, predictions=predictions,
            **_given(shared), progressbar=progressbar,
        )  # fmt: skip
    annotators = _ANNOTATORS if annotators is None else annotators
    items = _ITEMS if items is None else items
    goals = {"target": target, "width": width, "family": family}
    of_readers = {"difference": difference, "margin": margin}
    if is_reader_study(pilot):
        _none_of(own | goals | settings, "none, since areas of readers are planned")
        return plan_readers(pilot, annotators, items, **_given(of_readers | shared))
    _none_of(of_readers, "none, since the pilot is not a reader study")
    if _of_measurements(pilot, goals):
        _none_of(own, "none, since reliability is planned")
        return plan_reliability(
            pilot, annotators, items, **_given(goals | shared), **settings, progressbar=progressbar
        )
    _none_of(settings, "none, since a system's accuracy is planned; target= plans reliability")
    return planned(pilot, annotators, items, **_given(own | shared))


_OF_TRUTH: Final = ("truth", "kappa", "n_labels", "within", "violated")
"""The option --truth, and arguments of `plan_accuracy` that `plan` does not have."""


def _all_known(settings: dict[str, Any]) -> None:
    """Raise if no plan has one of these arguments; the error names the existing arguments."""
    known = list(
        dict.fromkeys([*signature(plan).parameters, *signature(plan_reliability).parameters])
    )
    known.remove("settings")
    for name, value in settings.items():
        if name in ("readers", "cases"):
            other = "annotators" if name == "readers" else "items"
            raise ArgumentError(
                name, expected=f"no such argument: numbers of {name} are {other}=",
                found=brief(value),
            )  # fmt: skip
        if name in _OF_TRUTH:
            raise ArgumentError(
                name, expected="no such argument", found=brief(value),
                hint="For a system's accuracy if items have one true label, call "
                "dissensus.plan_accuracy(pilot, ...)",
            )  # fmt: skip
        if name not in known:
            hint = "".join(f"Did you mean {near}=?" for near in get_close_matches(name, known, n=1))
            expected = f"no such argument: plan takes {', '.join(known)}"
            raise ArgumentError(name, expected=expected, found=brief(value), hint=hint)


def _of_measurements(pilot: Any, goals: dict[str, Any]) -> bool:
    """Return whether the plan is for reliability."""
    if isinstance(pilot, xr.Dataset) and pilot.attrs.get("kind") == "ranking":
        raise AnnotationError(
            "pilot", expected="labels or numbers: plans for rankings do not exist yet",
            found="rankings",
            hint="Use first choices: read the rows with rank 1 as labels",
        )  # fmt: skip
    numbers = isinstance(pilot, xr.Dataset) and pilot.attrs.get("kind") == "continuous"
    is_fit = isinstance(pilot, xr.DataTree)
    return is_fit or numbers or any(value is not None for value in goals.values())


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


def _none_of(settings: dict[str, Any], expected: str) -> None:
    """Raise if a given setting would have no effect."""
    for name, value in _given(settings).items():
        raise ArgumentError(name, expected=expected, found=brief(value))
