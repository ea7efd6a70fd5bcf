"""Simulation of annotators and systems with known confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.special import softmax

from dissensus import arguments
from dissensus.data import annotations as _annotations
from dissensus.data import predictions as _predictions
from dissensus.dims import ANNOTATOR, ITEM, LABEL, RESPONSE, SYSTEM
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Floats, Ints
from dissensus.studies.simulate._replication import subsets
from dissensus.studies.simulate._study import LETTERS, for_each, system_names


def matrices(
    accuracy: Floats, asymmetry: float, error_range: float, prevalence: Floats,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Draw confusion matrices (..., label, response), one for each accuracy (...).

    Steps 1 and 2 of the source give the accuracies, the same for all labels. Step 3 distributes
    errors by distance. Step 4 changes each error by at most a share ``error_range``. Step 5 makes
    rows sum to 1 again, which changes the accuracy, and multiplies the diagonal to restore it.
    """
    n_labels = len(prevalence)
    # Shares of errors are equal for all accuracies: the total of the errors is a separate factor.
    error = np.broadcast_to(
        error_shares(n_labels, asymmetry), (*accuracy.shape, n_labels, n_labels)
    )
    moved = error * (1 - error_range * rng.uniform(-1, 1, error.shape))  # never 0: (0, 2]
    total = moved.sum(axis=-1)
    target = accuracy[..., None]
    right = target / (target + (1 - target) * total)
    right = with_accuracy(right, accuracy, prevalence)
    out = (1 - right)[..., None] * moved / total[..., None]
    label = np.arange(n_labels)
    out[..., label, label] = right
    return np.asarray(out)


def error_shares(n_labels: int, asymmetry: float) -> Floats:
    """Return shares of errors (label, response): one step further is ``asymmetry`` times rarer."""
    label = np.arange(n_labels)
    log = -np.abs(label[:, None] - label) * np.log(asymmetry)
    log = np.where(label[:, None] == label, -np.inf, log)
    return np.asarray(softmax(log, axis=1))


def with_accuracy(right: Floats, accuracy: Floats, prevalence: Floats) -> Floats:
    """Multiply probabilities of being right (..., label) so that their mean is the accuracy (...).

    Probabilities that would exceed 1 are set to 1; the other probabilities then need a larger
    factor. Each round sets at least one more probability to 1. So there are at most as many rounds
    as labels.
    """
    full = np.zeros(right.shape, dtype=bool)
    while True:
        remaining = accuracy - np.where(full, prevalence, 0.0).sum(axis=-1)
        current = np.where(full, 0.0, prevalence * right).sum(axis=-1)
        # For an accuracy of 0 or 1 there may be nothing to multiply: the factor is then 1.
        factor = np.divide(remaining, current, out=np.ones_like(current), where=current > 0)
        scaled = factor[..., None] * right
        more = full | (scaled >= 1)
        if (more == full).all():
            return np.where(full, 1.0, scaled)
        full = more


def responses(probability: Floats, rng: np.random.Generator) -> Ints:
    """Draw a response from each row of probabilities, never a response of probability 0."""
    bound = np.cumsum(probability, axis=-1)
    place = rng.random((*probability.shape[:-1], 1)) * bound[..., -1:]
    return np.asarray((place >= bound[..., :-1]).sum(axis=-1), dtype=np.int64)


def expected_accuracy(confusion: Floats, prevalence: Floats) -> Floats:
    """Return the accuracy of each respondent: a mean over labels, by prevalence, and over groups.

    ``confusion`` is (respondent, group, label, response). Groups have equal numbers of items.
    """
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    return np.asarray((right @ prevalence).mean(axis=-1))


def with_mistakes(confusion: Floats, share: Floats) -> Floats:
    """Return confusion matrices (respondent, group, label, response) given the true label.

    ``confusion`` is given the apparent label. For a ``share`` (respondent) of the items the
    apparent label differs from the true label; all other labels are equally likely.
    """
    rest = (confusion.sum(axis=-2, keepdims=True) - confusion) / (confusion.shape[-1] - 1)
    wrong = share[:, None, None, None]
    return np.asarray(np.where(wrong > 0, (1 - wrong) * confusion + wrong * rest, confusion))


def others(label: Ints, n_labels: int, rng: np.random.Generator) -> Ints:
    """Draw a different label for each label; all other labels are equally likely."""
    return np.asarray((label + rng.integers(1, n_labels, len(label))) % n_labels)


_GROUPS: Final = ("hard", "middle", "easy")
_ONE_GROUP: Final = ("all",)
_ROUNDING: Final = 1e-6


@dataclass(frozen=True)
class Design:
    """Checked settings of `confusion_study`."""

    n_items: int
    n_labels: int
    accuracy: Floats
    """Accuracies of annotators, then of systems, without difficulty."""
    n_annotators: int
    labels_per_item: int
    difficulty: float
    asymmetry: float
    error_range: float
    prevalence: Floats | None
    related: float
    shared_mistakes: float
    repeated: Floats
    """(system): probability that the system shares a mistake that the annotators share."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups of items of equal difficulty."""
        return _GROUPS if self.difficulty > 0 else _ONE_GROUP

    @property
    def shift(self) -> Floats:
        """(group): the difference of accuracies in the group from ``accuracy``."""
        d = self.difficulty
        return np.array([-d, 0.0, d]) if d > 0 else np.zeros(1)

    @property
    def n_systems(self) -> int:
        """The number of systems."""
        return len(self.accuracy) - self.n_annotators


def _systems(value: Any) -> list[float]:
    listed = value if arguments.is_listed(value) else [value]
    if not len(listed):
        expected = "a probability for each system, one or more"
        raise ArgumentError("system_accuracy", expected=expected, found=brief(value))
    return for_each("system_accuracy", listed, len(listed), "system", arguments.probability)


def _labels_per_item(value: Any, n_annotators: int) -> int:
    if value is None:
        return n_annotators
    each = arguments.whole("labels_per_item", value)
    if each > n_annotators:
        raise ArgumentError(
            "labels_per_item", found=str(each),
            expected=f"at most {n_annotators}, the number of annotators, or None for all",
        )  # fmt: skip
    return each


def _prevalence(value: Any, n_labels: int) -> Floats:
    share = arguments.finite_row("prevalence", value)
    if len(share) != n_labels or (share < 0).any() or abs(share.sum() - 1) > _ROUNDING:
        raise ArgumentError(
            "prevalence", found=brief(value),
            expected=f"a probability for each of {n_labels} labels, 1 in sum, or None",
        )  # fmt: skip
    return np.asarray(share / share.sum())


def _related(value: Any, n_systems: int) -> float:
    related = arguments.probability("related", value)
    if related > 0 and n_systems < 2:
        expected = "0, since there is only one system"
        raise ArgumentError("related", expected=expected, found=brief(value))
    return related


_GROUP: Final = "group"


class Process(NamedTuple):
    """The parameters from which labels are drawn."""

    prevalence: Floats
    confusion: Floats
    """(respondent, group, label, response): the probability of a response, given the label that the
    respondent sees. Annotators come first, then systems. Predictions that systems share are not
    included."""


class Items(NamedTuple):
    """True and apparent labels of items."""

    group: Ints
    truth: Ints
    apparent: Ints
    """The true label, or another label if annotators share a mistake."""


class Answers(NamedTuple):
    """Drawn labels and predictions."""

    people: Ints
    """(item, place): codes of the annotators of the item."""
    labels: Ints
    """(item, place): codes of the labels that these annotators give."""
    systems: Ints
    """(item, system): codes of predicted labels."""


def names_of(design: Design) -> dict[str, npt.NDArray[Any]]:
    """Return the names of each dim."""
    n_labels = design.n_labels
    label: Sequence[Any] = LETTERS[:n_labels]
    if n_labels > len(LETTERS):
        label = range(1, n_labels + 1)
    return {
        ITEM: np.arange(1, design.n_items + 1),
        ANNOTATOR: np.arange(1, design.n_annotators + 1),
        SYSTEM: system_names(design.n_systems),
        LABEL: np.array(list(label)),
        _GROUP: np.array(design.groups),
    }


def annotated(answers: Answers, names: dict[str, npt.NDArray[Any]]) -> xr.Dataset:
    """Return the annotators' labels as annotations."""
    table = {
        "item": np.repeat(names[ITEM], answers.people.shape[1]),
        "annotator": names[ANNOTATOR][answers.people.ravel()],
        "label": names[LABEL][answers.labels.ravel()],
    }
    return _annotations.annotations(table, kind="ordinal", labels=names[LABEL].tolist())


def predicted(answers: Answers, names: dict[str, npt.NDArray[Any]]) -> xr.Dataset:
    """Return the systems' labels as predictions."""
    item, system = np.indices(answers.systems.shape).reshape(2, -1)
    table = {
        "item": names[ITEM][item],
        "system": names[SYSTEM][system],
        "label": names[LABEL][answers.systems.ravel()],
    }
    return _predictions.predictions(table, kind="nominal")


def truth_of(
    design: Design, process: Process, items: Items, answers: Answers,
    names: dict[str, npt.NDArray[Any]],
) -> xr.Dataset:  # fmt: skip
    """Return the truth; accuracies include shared mistakes and shared predictions."""
    misled = design.shared_mistakes * np.append(np.ones(design.n_annotators), design.repeated)
    whole = with_mistakes(process.confusion, misled)
    people, own = np.split(whole, [design.n_annotators])
    systems = (1 - design.related) * own + design.related * own[0]
    right = (answers.labels == items.truth[:, None]).ravel()
    n_right, n_labels = (
        np.bincount(answers.people.ravel(), weight, design.n_annotators) for weight in (right, None)
    )
    correct = np.divide(n_right, n_labels, out=np.full(len(n_labels), np.nan), where=n_labels > 0)
    matrix = (_GROUP, LABEL, RESPONSE)
    return xr.Dataset(
        {
            "truth_label": (ITEM, names[LABEL][items.truth]),
            "apparent_label": (ITEM, names[LABEL][items.apparent]),
            "item_group": (ITEM, names[_GROUP][items.group]),
            "accuracy_shift": (_GROUP, design.shift),
            "prevalence": (LABEL, process.prevalence),
            "confusion": ((ANNOTATOR, *matrix), people),
            "system_confusion": ((SYSTEM, *matrix), systems),
            "annotator_accuracy": (ANNOTATOR, expected_accuracy(people, process.prevalence)),
            "system_accuracy": (SYSTEM, expected_accuracy(systems, process.prevalence)),
            "annotator_correct": (ANNOTATOR, correct),
            "system_correct": (SYSTEM, (answers.systems == items.truth[:, None]).mean(axis=0)),
        },
        coords=names | {RESPONSE: names[LABEL]},
        attrs={"related": design.related, "shared_mistakes": design.shared_mistakes},
    )


class ConfusionStudy(NamedTuple):
    """The result of `confusion_study`.

    Examples
    --------
    >>> import dissensus as dx
    >>> annotations, predictions, truth = dx.simulate.confusion_study(50, random_seed=1)
    >>> truth["annotator_accuracy"].values, truth["annotator_correct"].values
    (array([0.6, 0.6, 0.6]), array([0.52, 0.56, 0.64]))
    """

    annotations: xr.Dataset
    predictions: xr.Dataset
    truth: xr.Dataset
    """``truth_label``, ``apparent_label`` and ``item_group`` (item), ``prevalence`` (label),
    ``accuracy_shift`` (group), ``confusion`` (annotator, group, label, response),
    ``annotator_accuracy`` and ``annotator_correct`` (annotator), and the same for systems with the
    prefix ``system_``."""


def confusion_study(
    n_items: int = 200,
    n_annotators: int = 3,
    n_labels: int = 5,
    *,
    ipc: float | Sequence[float] = 0.6,
    difficulty: float = 0.0,
    asymmetry: float = 1.0,
    error_range: float = 0.0,
    system_accuracy: float | Sequence[float] = (0.9,),
    prevalence: Sequence[float] | None = None,
    labels_per_item: int | None = None,
    related: float = 0.0,
    shared_mistakes: float = 0.0,
    repeated: float | Sequence[float] = 1.0,
    random_seed: Any = None,
) -> ConfusionStudy:
    r"""Simulate annotators and systems with known confusion matrices, after Lehner (2015).

    Every item has one true label. Each label is drawn from a row of the respondent's confusion
    matrix, the row of the true label, independently of other labels. By default all assumptions of
    `lehner` hold; ``ipc``, ``difficulty``, ``asymmetry`` and ``error_range`` each violate one. The
    source's violations are ``ipc=(0.5, 0.6, 0.7)``, ``difficulty=0.2``, ``asymmetry=2.0`` and
    ``error_range=1.0``, all at once (Figures 8 to 14).

    Parameters
    ----------
    n_items, n_annotators, n_labels : int
        Numbers of items, annotators and labels; at least 1 (labels: 2). Labels are ordered: "A" to
        "Z", or numbers if there are more than 26.
    ipc : float or sequence of float
        Initial probability of being correct (IPC) of all annotators, or of each annotator; in [0,
        1].
    difficulty : float
        In [0, 1]; PDA in the source. All accuracies are lower by this number in a random third of
        the items, and higher in another third, within [0, 1].
    asymmetry : float
        Above 0; AD in the source. The probability of an error, divided by the probability of an
        error that is one step further from the true label.
    error_range : float
        In [0, 1]; PER in the source. Each error's probability is multiplied by a uniform number
        from 1 - PER to 1 + PER. Then rows are normalised, and the diagonal is multiplied by one
        factor (with entries of at most 1) that restores the accuracy over the prevalence. Every
        annotator and system has a separate matrix in each third of the items.
    system_accuracy : float or sequence of float
        IPC of each system.
    prevalence : sequence of float, optional
        Probability that each label is the true label; by default drawn from a uniform Dirichlet
        distribution.
    labels_per_item : int, optional
        Number of annotators of an item, a random set; by default all.
    related : float
        Probability in [0, 1] that a system repeats a shared prediction, which is drawn once for
        each item from the first system's matrix. Needs two systems or more. The accuracies of the
        other systems are then closer to the accuracy of the first.
    shared_mistakes : float
        Probability in [0, 1] that all annotators label an item as if another label were true, the
        ``apparent_label`` of the item. All other labels are equally likely.
    repeated : float or sequence of float
        Probability in [0, 1] that a system shares a mistake that all annotators make; for all
        systems, or for each system.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same study. With one seed, the annotators of an item do not depend
        on the accuracies, and true labels do not depend on shared mistakes.

    Returns
    -------
    ConfusionStudy
        With the fields ``annotations`` (ordinal), ``predictions`` and ``truth``.

    Notes
    -----
    ``truth`` has both measures of accuracy of the source: ``annotator_accuracy`` and
    ``system_accuracy`` are expected, over the prevalence and groups of items; ``annotator_correct``
    and ``system_correct`` are the shares of these items' labels that are right (NaN without
    labels). If an accuracy would be below 0 or above 1 because of difficulty, the expected accuracy
    differs from the given accuracy: .9 becomes .867, and .1 becomes .133, with a difficulty of .2.
    Matrices and accuracies include shared mistakes; for systems they also include shared
    predictions.

    References
    ----------
    Lehner (2015), Estimating the Accuracy of Automated Classification Systems Using Only Expert
    Ratings that are Less Accurate than the System, Journal of Modern Applied Statistical Methods
    14(1), Article 13: "Performance and robustness".

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.confusion_study(
    ...     300, ipc=(0.5, 0.6, 0.7), difficulty=0.2, asymmetry=2.0, error_range=1.0,
    ...     system_accuracy=(0.9, 0.1), random_seed=1,
    ... )
    >>> dict(study.annotations.sizes)
    {'annotation': 900, 'item': 300, 'annotator': 3, 'label': 5}
    >>> study.truth["annotator_accuracy"].round(3).values
    array([0.5, 0.6, 0.7])
    >>> study.truth["system_accuracy"].round(3).values
    array([0.867, 0.133])
    >>> vote = dx.majority_vote_accuracy(study.annotations, study.predictions)
    >>> (vote < study.truth["system_correct"]).values  # the vote has errors too
    array([ True, False])
    """
    n_annotators = arguments.whole("n_annotators", n_annotators)
    n_labels = arguments.whole("n_labels", n_labels, 2)
    annotators = for_each("ipc", ipc, n_annotators, "annotator", arguments.probability)
    systems = _systems(system_accuracy)
    repeats = for_each("repeated", repeated, len(systems), "system", arguments.probability)
    design = Design(
        n_items=arguments.whole("n_items", n_items),
        n_labels=n_labels,
        accuracy=np.array(annotators + systems),
        n_annotators=n_annotators,
        labels_per_item=_labels_per_item(labels_per_item, n_annotators),
        difficulty=arguments.probability("difficulty", difficulty),
        asymmetry=arguments.positive("asymmetry", asymmetry),
        error_range=arguments.probability("error_range", error_range),
        prevalence=None if prevalence is None else _prevalence(prevalence, n_labels),
        related=_related(related, len(systems)),
        shared_mistakes=arguments.probability("shared_mistakes", shared_mistakes),
        repeated=np.array(repeats),
    )
    rng = np.random.default_rng(random_seed)
    of_sets, of_respondents, of_items, of_labels = rng.spawn(4)
    people = subsets(design.n_items, design.n_annotators, design.labels_per_item, of_sets)
    process = _drawn_process(design, of_respondents)
    items = _drawn_items(design, process, of_items)
    seen = np.broadcast_to(items.truth[:, None], (design.n_items, design.n_systems + 1))
    if design.shared_mistakes > 0:  # for 0, no random numbers are used
        items, seen = _misled(design, items, rng.spawn(1)[0])
    answers = _drawn_labels(design, process, items, seen, people, of_labels)
    names = names_of(design)
    return ConfusionStudy(
        annotations=annotated(answers, names),
        predictions=predicted(answers, names),
        truth=truth_of(design, process, items, answers, names),
    )


def _drawn_process(design: Design, rng: np.random.Generator) -> Process:
    first, second = rng.spawn(2)
    prevalence = design.prevalence
    if prevalence is None:
        prevalence = first.dirichlet(np.ones(design.n_labels))
    accuracy = np.clip(design.accuracy[:, None] + design.shift, 0.0, 1.0)
    drawn = matrices(accuracy, design.asymmetry, design.error_range, prevalence, second)
    return Process(prevalence, drawn)


def _drawn_items(design: Design, process: Process, rng: np.random.Generator) -> Items:
    # A random order of groups: otherwise, items left by division by 3 would always be hard.
    turn = rng.permutation(len(design.groups))
    group = rng.permutation(turn[np.arange(design.n_items) % len(turn)])
    truth = rng.choice(design.n_labels, design.n_items, p=process.prevalence)
    return Items(group, truth, apparent=truth)


def _misled(design: Design, items: Items, rng: np.random.Generator) -> tuple[Items, Ints]:
    """Draw apparent labels, and the labels that systems see (item, system).

    The last column has the labels that the source of shared predictions sees.
    """
    of_items, where, whom = rng.spawn(3)
    wrong = of_items.random(design.n_items) < design.shared_mistakes
    apparent = np.where(wrong, others(items.truth, design.n_labels, where), items.truth)
    chance = np.append(design.repeated, design.repeated[0])  # the source sees as the first system
    repeats = whom.random((design.n_items, len(chance))) < chance
    seen = np.where(repeats, apparent[:, None], items.truth[:, None])
    return items._replace(apparent=apparent), seen


def _drawn_labels(
    design: Design, process: Process, items: Items, seen: Ints, people: Ints,
    rng: np.random.Generator,
) -> Answers:  # fmt: skip
    by_people, by_systems = rng.spawn(2)
    theirs = process.confusion[people, items.group[:, None], items.apparent[:, None]]
    answers = _answers(design, process, items, seen, by_systems)
    return Answers(people, responses(theirs, by_people), answers)


def _answers(
    design: Design, process: Process, items: Items, seen: Ints, rng: np.random.Generator
) -> Ints:
    """Draw the labels that systems predict (item, system), including shared predictions."""
    alone, shared, of_sources = rng.spawn(3)
    confusion = process.confusion[design.n_annotators :]
    system = np.arange(design.n_systems)[:, None]
    own = responses(confusion[system, items.group, seen[:, :-1].T], alone).T
    source = responses(confusion[0, items.group, seen[:, -1]], shared)
    return np.where(of_sources.random(own.shape) < design.related, source[:, None], own)
