"""The group ``answers``: three quantities that are all called accuracy, and which one leads.

- Annotator agreement: a system's rate of agreement with the annotators' labels, each label counted
  once. It needs no model. Human agreement is the same for two annotators.
- Panel agreement: the rate at which a system gives the label that most of a large panel of such
  annotators would give.
- Accuracy: the rate at which a system gives the one true label.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.data.predictions import features
from dissensus.data.rows import ranking_code, ranks
from dissensus.data.tables import match
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, RELIABILITY, SCOPE, SCOPES, SYSTEM
from dissensus.evaluation.section import NONE, Groups
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints

PANEL, TRUTH = "panel", "truth"
GROUP: Final = "answers"
_WORDS: Final = {
    PANEL: "the label that most of a large panel of such annotators would give",
    TRUTH: "the one true label of each item",
}
NO_ACCURACY: Final = "Accuracy against the one true label could not be estimated"
PANEL_LEADS: Final = "agreement with a large panel leads"
_AT_ONCE: Final = 2_000_000
"""Maximum number of random weights held in memory."""


def question_of(question: str | None, known: int) -> str:
    """Return the leading question: the truth if any true label is known, else the panel."""
    arguments.one_of("question", question, (PANEL, TRUTH, None))
    return question or (TRUTH if known else PANEL)


def with_answers(
    groups: Groups, question: str, *, new_items: bool, random_seed: Any, reference: float,
    shape: tuple[int, int], truth_model: str,
) -> Groups:  # fmt: skip
    """Add the group ``answers``, where annotators and systems gave labels.

    ``shape`` is the number of chains and of draws if there is no system. ``truth_model`` is the
    status of the section on accuracy. If systems have no accuracy, the panel leads, and the
    attribute ``notes`` says why.
    """
    annotations, predictions = groups["annotations"], groups.get("predictions")
    by_label = "metrics" not in groups or "top_1_accuracy" in groups["metrics"]
    if "label_code" not in annotations or not by_label:
        return groups
    scope, parts = SCOPES[int(new_items)], dict[str, xr.DataArray]()
    if "metrics" in groups:
        at = {RELIABILITY: reference, SCOPE: scope}
        draws = groups["metrics"]["top_1_accuracy"].sel(at, drop=True)
        if "accuracy" in groups and "estimated_accuracy" in groups["accuracy"]:
            accuracy = groups["accuracy"]["estimated_accuracy"].sel({SCOPE: scope}, drop=True)
            draws = _thinned(draws, accuracy.sizes[DRAW])
            parts["accuracy"] = accuracy.reindex({SYSTEM: draws[SYSTEM]})
        parts["panel_agreement"] = draws
        shape = draws.sizes[CHAIN], draws.sizes[DRAW]
    rng = generator(random_seed, "answers")
    votes = votes_of(annotations, predictions)
    people, systems = agreements(votes, int(np.prod(shape)), rng, new_items=new_items)
    numbers = {CHAIN: np.arange(shape[0]), DRAW: np.arange(shape[1])}
    parts["human_agreement"] = xr.DataArray(people.reshape(shape), numbers)
    if predictions is not None:
        coords = numbers | {SYSTEM: predictions[SYSTEM].to_numpy()}
        parts["annotator_agreement"] = xr.DataArray(systems.reshape(*shape, -1), coords)
    order = ("annotator_agreement", "panel_agreement", "accuracy", "human_agreement")
    out = xr.Dataset({name: parts[name].drop_attrs() for name in order if name in parts})
    notes: dict[str, str] = {}
    if question == TRUTH and predictions is not None and not _has_accuracy(out):
        reason = "systems did not give one label for each item"
        if truth_model.startswith(NONE):
            reason = truth_model.removeprefix(NONE).removesuffix(".")
        question, notes = PANEL, {"notes": f"{NO_ACCURACY} ({reason}): {PANEL_LEADS}."}
    in_words = f"How often does a system give {_WORDS[question]}?"
    attrs = {"question": question, "in_words": in_words, "scope": scope, **notes}
    return groups | {GROUP: out.assign_attrs(attrs)}


def _has_accuracy(answers: xr.Dataset) -> bool:
    return "accuracy" in answers and bool(answers["accuracy"].notnull().any())


def _thinned(draws: xr.DataArray, n: int) -> xr.DataArray:
    """Keep ``n`` evenly spaced draws of each chain."""
    places = np.linspace(0, draws.sizes[DRAW] - 1, n).round().astype(int)
    return draws.isel({DRAW: places}).assign_coords({DRAW: np.arange(n)})


class Votes(NamedTuple):
    """First choices, in the order of items. Each annotator has one vote; ties share it."""

    start: Ints
    """(item with votes): position of its first vote."""
    agrees: Floats
    """(vote, system): share of the vote for the system's answer."""
    vote: Ints
    """(part): its vote. A part is one label of a vote; parts are ordered by item and label."""
    part: Floats
    """(part): its share of the vote."""
    first_part: Ints
    """(label of an item): position of its first part."""
    first_cell: Ints
    """(item with votes): position of its first label."""

    @property
    def size(self) -> Ints:
        """Number of votes (item with votes)."""
        return np.diff(np.append(self.start, len(self.agrees)))


def votes_of(annotations: xr.Dataset, predictions: xr.Dataset | None) -> Votes:
    """Collect the first choices of all annotators, on items with predictions if there are any."""
    first = ranks(annotations) == 1
    if predictions is not None:
        predicted = match(annotations[ITEM].to_numpy(), predictions[ITEM].to_numpy()) >= 0
        first &= predicted[annotations["item_code"].to_numpy()]
    vote = ranking_code(annotations)[first]
    item = annotations["item_code"].to_numpy()[first]
    label = annotations["label_code"].to_numpy()[first]
    names = np.unique(vote, return_inverse=True)[1]
    of_vote = np.zeros(int(names.max()) + 1, dtype=np.int64)
    of_vote[names] = item
    rank = np.empty_like(of_vote)
    order = np.argsort(of_vote, kind="stable")
    rank[order] = np.arange(len(order))
    vote, part = rank[names], 1.0 / np.bincount(names)[names]
    n_labels = annotations.sizes[LABEL]
    used, cell = np.unique(item * n_labels + label, return_inverse=True)
    answer = features(predictions, annotations[ITEM].to_numpy(), annotations[LABEL].to_numpy())
    agrees = np.stack([
        np.bincount(vote, part * each[item, label]) for each in answer.values[: len(answer.systems)]
    ] or [np.zeros(len(order))], axis=1)  # fmt: skip
    start = np.flatnonzero(np.diff(of_vote[order], prepend=-1))
    by_cell = np.argsort(cell, kind="stable")
    first_part = np.flatnonzero(np.diff(cell[by_cell], prepend=-1))
    first_cell = np.flatnonzero(np.diff(used // n_labels, prepend=-1))
    return Votes(start, agrees, vote[by_cell], part[by_cell], first_part, first_cell)


def by_items(votes: Votes) -> Floats:
    """Return the observed agreement with an annotator (system), each item counted once."""
    each = np.add.reduceat(votes.agrees, votes.start) / votes.size[:, None]
    return np.asarray(each.mean(axis=0))


def agreements(
    votes: Votes, draws: int, rng: np.random.Generator, *, new_items: bool
) -> tuple[Floats, Floats]:
    """Draw the agreement of two annotators (draw), and of systems with an annotator (draw, system).

    For these items, the Bayesian bootstrap reweights the annotators of each item; for new items,
    it reweights the items. The first is NaN where no item has two annotators.
    """
    at_once = max(1, _AT_ONCE // len(votes.agrees))
    parts = [
        _drawn(votes, min(at_once, draws - first), rng, new_items=new_items)
        for first in range(0, draws, at_once)
    ]
    people, systems = zip(*parts, strict=True)
    return np.concatenate(people), np.concatenate(systems)


def _drawn(
    votes: Votes, draws: int, rng: np.random.Generator, *, new_items: bool
) -> tuple[Floats, Floats]:
    """Return one block of draws of `agreements`."""
    n_votes, n_systems = votes.agrees.shape
    size = votes.size
    several = size > 1
    if new_items:
        of_item = rng.standard_exponential((draws, len(size)))
        weight = np.ones((1, n_votes))
    else:
        of_item = np.ones((1, len(size)))
        weight = rng.standard_exponential((draws, n_votes))
        total = np.add.reduceat(weight, votes.start, axis=1)
        weight *= np.repeat(size / total, size, axis=1)
    agreed = np.stack([
        np.add.reduceat(weight * one, votes.start, axis=1) for one in votes.agrees.T
    ], axis=-1)  # fmt: skip
    n_labels_given = (of_item * size).sum(axis=1)[:, None]
    systems = (of_item[:, :, None] * agreed).sum(axis=1) / n_labels_given
    # Pairs of different annotators of an item: all pairs less the pairs of a vote with itself.
    own = weight**2 * np.bincount(votes.vote, votes.part**2)
    given = np.add.reduceat(weight[:, votes.vote] * votes.part, votes.first_part, axis=1)
    same = np.add.reduceat(given**2, votes.first_cell, axis=1)
    same -= np.add.reduceat(own, votes.start, axis=1)
    square = np.add.reduceat(weight**2, votes.start, axis=1)
    total = np.add.reduceat(weight, votes.start, axis=1) ** 2 - square
    with np.errstate(invalid="ignore"):
        each = np.where(several, same / total, 0.0)
        counted = (of_item * size * several).sum(axis=1)
        people = (of_item * size * each).sum(axis=1) / np.where(counted > 0, counted, np.nan)
    shape = draws, n_systems
    return np.broadcast_to(people, draws).copy(), np.broadcast_to(systems, shape).copy()
