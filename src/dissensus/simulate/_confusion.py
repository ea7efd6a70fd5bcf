"""A study of known confusion matrices: annotators, systems, and the true label of every item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dissensus.kernels.types import Ints
from dissensus.simulate._confusion_checks import Design, checked
from dissensus.simulate._confusion_layout import (
    Items,
    Process,
    Said,
    annotated,
    names_of,
    predicted,
    truth_of,
)
from dissensus.simulate._confusion_matrices import matrices, others, responses
from dissensus.simulate._crossed import subsets


class ConfusionStudy(NamedTuple):
    """What `confusion_study` returns.

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
    ``annotator_accuracy`` and ``annotator_correct`` (annotator), and the same of systems under
    ``system_...``."""


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
    r"""Simulate annotators and systems that mistake one label for another, as Lehner (2015) did.

    Every item has one true label. An annotator's or a system's label is drawn from the row of
    its confusion matrix for this true label, independently of the others'. By default all
    assumptions of `lehner` hold; ``ipc``, ``difficulty``, ``asymmetry`` and ``error_range`` each
    violate one. The source's violations are ``ipc=(0.5, 0.6, 0.7)``, ``difficulty=0.2``,
    ``asymmetry=2.0``, ``error_range=1.0``, all at once (its Figures 8 to 14).

    Parameters
    ----------
    n_items, n_annotators, n_labels : int
        How many; at least 1 (two labels). Labels are ordered, "A" to "E", or numbers if there are
        more than 26.
    ipc : float or sequence of float
        The source's IPC, the initial probability of being correct: of all annotators, or one for
        each; in [0, 1].
    difficulty : float
        PDA, in [0, 1]: in a third of the items (as nearly as can be, drawn at random)
        accuracies, of annotators and systems alike, are lower by so much, in another third higher;
        but not below 0 nor above 1.
    asymmetry : float
        AD, > 0: an error is so many times as probable as one a step further off.
    error_range : float
        PER, in [0, 1]: each error's probability is multiplied by a number drawn evenly from
        1 - PER to 1 + PER. Then rows are made to sum to 1, and the diagonal is multiplied by one
        factor (entries staying at most 1), so that the accuracy over the prevalence is again
        the one asked for. Every annotator and every system has a matrix of its own in each third of
        the items.
    system_accuracy : float or sequence of float
        IPC of each system.
    prevalence : sequence of float, optional
        How probable each label is to be true. By default drawn, all being equally likely.
    labels_per_item : int, optional
        How many annotators label an item, a random set; by default all.
    related : float
        With two systems or more, the chance in [0, 1] that a system does not answer itself but
        repeats an answer that was drawn for the item once, from the first system's matrix. So
        systems err alike; the others' accuracies are so far drawn to the first one's.
    shared_mistakes : float
        In [0, 1]: the share of items, each by chance, on which annotators are wrong together. All
        of them label such an item as if another label, evenly chosen, were true: its
        ``apparent_label``.
    repeated : float or sequence of float
        The chance in [0, 1] that a system is misled like the annotators on such an item; of all
        systems, or one for each.
    random_seed : int or numpy.random.Generator, optional
        Makes the study repeatable. With one seed, who labels what does not depend on the
        accuracies, nor the true labels on the mistakes that are shared.

    Returns
    -------
    ConfusionStudy
        With the fields ``annotations`` (of the kind "ordinal"), ``predictions`` and ``truth``.

    Raises
    ------
    ArgumentError
        If an argument makes no sense.

    Notes
    -----
    ``truth`` holds both of the source's measures of true accuracy: ``annotator_accuracy`` and
    ``system_accuracy`` are expected ones, over the prevalence and over groups of items, and
    ``annotator_correct`` and ``system_correct`` the share of these items' labels that are right
    (NaN for an annotator who labelled nothing). Where difficulty would take an accuracy beyond
    0 or 1, the expected one is not the one asked for: .9 becomes .867 and .1 becomes .133 with a
    difficulty of .2. ``system_confusion`` and what follows from it include repeated answers, and
    all matrices and accuracies include the mistakes that annotators share.

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
    >>> (vote < study.truth["system_correct"]).values  # the vote itself errs
    array([ True, False])
    """
    design = checked(
        n_items=n_items, n_annotators=n_annotators, n_labels=n_labels, ipc=ipc,
        difficulty=difficulty, asymmetry=asymmetry, error_range=error_range,
        system_accuracy=system_accuracy, prevalence=prevalence, labels_per_item=labels_per_item,
        related=related, shared_mistakes=shared_mistakes, repeated=repeated,
    )  # fmt: skip
    rng = np.random.default_rng(random_seed)
    who, of_voices, of_items, of_labels = rng.spawn(4)
    people = subsets(design.n_items, design.n_annotators, design.labels_per_item, who)
    process = _drawn_process(design, of_voices)
    items = _drawn_items(design, process, of_items)
    seen = np.broadcast_to(items.truth[:, None], (design.n_items, design.n_systems + 1))
    if design.shared_mistakes > 0:  # else not a number is drawn that was not drawn without
        items, seen = _misled(design, items, rng.spawn(1)[0])
    said = _drawn_labels(design, process, items, seen, people, of_labels)
    names = names_of(design)
    return ConfusionStudy(
        annotations=annotated(said, names),
        predictions=predicted(said, names),
        truth=truth_of(design, process, items, said, names),
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
    turn = rng.permutation(len(design.groups))  # else what is left over would always be hard
    group = rng.permutation(turn[np.arange(design.n_items) % len(turn)])
    truth = rng.choice(design.n_labels, design.n_items, p=process.prevalence)
    return Items(group, truth, apparent=truth)


def _misled(design: Design, items: Items, rng: np.random.Generator) -> tuple[Items, Ints]:
    """Draw what annotators take each item for, and what each system does; the source last."""
    which, where, whom = rng.spawn(3)
    wrong = which.random(design.n_items) < design.shared_mistakes
    apparent = np.where(wrong, others(items.truth, design.n_labels, where), items.truth)
    chance = np.append(design.repeated, design.repeated[0])  # the source is like the first system
    repeats = whom.random((design.n_items, len(chance))) < chance
    seen = np.where(repeats, apparent[:, None], items.truth[:, None])
    return items._replace(apparent=apparent), seen


def _drawn_labels(
    design: Design, process: Process, items: Items, seen: Ints, people: Ints,
    rng: np.random.Generator,
) -> Said:  # fmt: skip
    by_people, by_systems = rng.spawn(2)
    theirs = process.confusion[people, items.group[:, None], items.apparent[:, None]]
    answers = _answers(design, process, items, seen, by_systems)
    return Said(people, responses(theirs, by_people), answers)


def _answers(
    design: Design, process: Process, items: Items, seen: Ints, rng: np.random.Generator
) -> Ints:
    """Draw the systems' answers, some of them from the source that they share."""
    alone, shared, which = rng.spawn(3)
    confusion = process.confusion[design.n_annotators :]
    system = np.arange(design.n_systems)[:, None]
    own = responses(confusion[system, items.group, seen[:, :-1].T], alone).T
    source = responses(confusion[0, items.group, seen[:, -1]], shared)
    return np.where(which.random(own.shape) < design.related, source[:, None], own)
