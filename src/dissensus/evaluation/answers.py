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
from scipy.sparse import coo_array

from dissensus import arguments
from dissensus.data.predictions import features
from dissensus.data.rows import ranking_code, ranks
from dissensus.data.tables import match
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, RELIABILITY, SCOPE, SCOPES, SYSTEM
from dissensus.evaluation.runs import clusters_of
from dissensus.evaluation.section import NONE, Groups
from dissensus.kernels.random import generator
from dissensus.kernels.types import Flags, Floats, Ints

PANEL, TRUTH = "panel", "truth"
GROUP: Final = "answers"
_WORDS: Final = {
    PANEL: "the label that most of a large panel of such annotators would give",
    TRUTH: "the one true label of each item",
}
NO_ACCURACY: Final = "Accuracy against the one true label could not be estimated"
PANEL_LEADS: Final = "agreement with a large panel leads"


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
    """First choices. Each annotator has one vote on an item; ties share it."""

    item: Ints
    """(vote): place of its item among those with votes."""
    annotator: Ints
    """(vote)"""
    agrees: Floats
    """(vote, system): share of the vote for the system's answer."""
    shared: Floats
    """(vote): agreement with the other votes on its item, summed over these."""
    tied: Flags
    """(item): whether a vote on it is for several labels."""
    unit: Ints
    """(item): what new items are drawn by, the item or its cluster."""

    @property
    def size(self) -> Ints:
        """Number of votes (item)."""
        return np.bincount(self.item)

    def summed(self, values: Floats) -> Floats:
        """Sum over the votes of each item: (vote, ...) to (item, ...)."""
        return grouped_sums(self.item, values, len(self.tied))

    def of_pairs(self) -> Floats:
        """Return the agreement of two annotators (item), 0 where there is one."""
        size = self.size
        return self.summed(self.shared) / np.maximum(size * (size - 1), 1)


def grouped_sums(group: Ints, values: Floats, n: int) -> Floats:
    """Sum rows of values (row, ...) by group (row): (group, ...)."""
    where = coo_array((np.ones(len(group)), (group, np.arange(len(group)))), (n, len(group)))
    return np.asarray(where.tocsr() @ values)


def votes_of(annotations: xr.Dataset, predictions: xr.Dataset | None) -> Votes:
    """Collect the first choices of all annotators, on items with predictions if there are any."""
    first = ranks(annotations) == 1
    if predictions is not None:
        predicted = match(annotations[ITEM].to_numpy(), predictions[ITEM].to_numpy()) >= 0
        first &= predicted[annotations["item_code"].to_numpy()]
    item, label, who = (
        annotations[name].to_numpy()[first]
        for name in ("item_code", "label_code", "annotator_code")
    )
    _, begins, vote = np.unique(
        ranking_code(annotations)[first], return_index=True, return_inverse=True
    )
    n_each = np.bincount(vote)
    part = 1.0 / n_each[vote]  # of a vote for tied labels
    used, of_vote = np.unique(item[begins], return_inverse=True)
    cell = np.unique(item * annotations.sizes[LABEL] + label, return_inverse=True)[1]
    others = np.bincount(cell, part)[cell] - part
    answer = features(predictions, annotations[ITEM].to_numpy(), annotations[LABEL].to_numpy())
    agrees = np.stack([
        np.bincount(vote, part * each[item, label]) for each in answer.values[: len(answer.systems)]
    ] or [np.zeros(len(begins))], axis=1)  # fmt: skip
    cluster = clusters_of(annotations, annotations[ITEM])
    return Votes(
        of_vote, who[begins], agrees, np.bincount(vote, part * others),
        np.bincount(of_vote, n_each > 1) > 0, used if cluster is None else cluster[used],
    )  # fmt: skip


def by_items(votes: Votes) -> Floats:
    """Return the observed agreement with an annotator (system), each item counted once."""
    return np.asarray((votes.summed(votes.agrees) / votes.size[:, None]).mean(axis=0))


def agreements(
    votes: Votes, draws: int, rng: np.random.Generator, *, new_items: bool
) -> tuple[Floats, Floats]:
    """Draw the agreement of two annotators (draw), and of systems with an annotator (draw, system).

    Annotators are drawn for both: see `deviations`. For new items, the Bayesian bootstrap reweights
    items, or clusters, with what was said of them. The first is NaN where no item has two
    annotators.
    """
    size, pairs = votes.size, votes.of_pairs()
    several = size * (size > 1)
    each = deviations(votes)
    if new_items:
        _, unit = np.unique(votes.unit, return_inverse=True)
        weight = rng.standard_exponential((draws, unit.max(initial=-1) + 1))[:, unit]
        total = np.column_stack([votes.summed(votes.agrees), several * pairs])
        n = np.column_stack([*[size] * votes.agrees.shape[1], several])
        with np.errstate(invalid="ignore"):
            middle = weight @ total / (weight @ n)
        rows = _beyond_chance(votes, each)
    else:
        middle = np.append(votes.agrees.mean(axis=0), _mean(pairs, several))
        rows = _by_annotator(votes, each)
    out = np.clip(middle + _scaled(rows, draws, rng), 0.0, 1.0)
    return out[:, -1], out[:, :-1]


def _mean(values: Floats, weight: Ints) -> float:
    total = weight.sum()
    return float(values @ weight / total) if total else float("nan")


def deviations(votes: Votes) -> Floats:
    r"""Return by how much votes move the agreements (vote, system and pairs).

    If votes on an item are independent, the variance of an agreement is the sum of squares. Of an
    item with m votes, the mean :math:`\bar x` over votes moves by
    :math:`(x_j - \bar x) / \sqrt{m (m - 1)}`, and the agreement U of pairs by
    :math:`2 \sqrt{(m - 1) / m} (g_j - U) / (m - 2)`, where :math:`g_j` is the agreement of vote j
    with the others: the jackknife of a U-statistic, Arvesen (1969), *Annals of Mathematical
    Statistics* 40. With few votes the variance of U is too large by what `_excess` returns.

    One pair of votes does not tell the variance of U, and one vote not that of the mean. On items
    with one or two votes deviations are those from the mean over items: what differs between items
    is included, so that variances are too large rather than too small.
    """
    size, pairs = votes.size, votes.of_pairs()
    m, several = size[votes.item].astype(np.float64), size * (size > 1)
    many = m > 2
    mean = votes.summed(votes.agrees) / size[:, None]
    more = np.sqrt(m / np.maximum(m - 1, 1))[:, None]
    of_means = np.where(
        many[:, None], more * (votes.agrees - mean[votes.item]),
        votes.agrees - votes.agrees.mean(axis=0),
    ) / len(m)  # fmt: skip
    own = votes.shared / np.maximum(m - 1, 1) - pairs[votes.item]
    of_pairs = 2 * np.sqrt(m * (m - 1)) / np.maximum(m - 2, 1) * own
    centred = np.nan_to_num(pairs - _mean(pairs, several))
    of_pairs = np.where(many, of_pairs, np.sqrt(2) * centred[votes.item] * (m > 1))
    return np.column_stack([of_means, of_pairs / max(int(several.sum()), 1)])


def _by_annotator(votes: Votes, each: Floats) -> Floats:
    """Sum deviations (vote, quantity) of each annotator, since some agree more than others.

    If a pair labels all items, deviations from the mean over items cancel out. If deviations on
    items with one or two votes are larger by item, they are summed by item.
    """
    few = (votes.size < 3)[votes.item][:, None]
    people = _of_people(votes, np.where(few, 0.0, each))
    rest, items = _of_people(votes, each) - people, votes.summed(np.where(few, each, 0.0))
    items[:, -1] /= np.sqrt(2)
    if (spread := (people[:, -1] ** 2).sum()) > 0:
        people[:, -1] *= np.sqrt(max(1.0 - _excess(votes) / spread, _LEAST))
    larger = (rest**2).sum(axis=0) < (items**2).sum(axis=0)
    return np.concatenate([people + np.where(larger, 0.0, rest), np.where(larger, items, 0.0)])


def _beyond_chance(votes: Votes, each: Floats) -> Floats:
    """Return deviations of annotators (annotator, quantity) less what chance explains of them."""
    people = _of_people(votes, each)
    by_chance, square = (each**2).sum(axis=0), (people**2).sum(axis=0)
    beyond = np.divide(square - by_chance, square, out=np.zeros_like(square), where=square > 0)
    return people * np.sqrt(np.maximum(beyond, 0.0))


def _of_people(votes: Votes, each: Floats) -> Floats:
    who = np.unique(votes.annotator, return_inverse=True)[1]
    return grouped_sums(who, each, int(who.max(initial=-1)) + 1)


_LEAST: Final = 0.25
"""Smallest share of the jackknife's variance that is kept; in theory it is 1/4 for three votes."""


def _excess(votes: Votes) -> float:
    r"""Return by how much the jackknife's variance of the agreement of pairs is too large.

    .. math:: \Bigl(\frac{4}{m (m - 2)} - \frac{2}{m (m - 1)}\Bigr) \zeta, \qquad
        \zeta = E(a_{12}) - 2 E(a_{12} a_{13}) + E(a_{12} a_{34})

    on an item with m votes, where :math:`a_{jk}` is the agreement of two. The last term, which only
    four votes tell, is replaced by the square of the mean over items, which is smaller.
    """
    size, pairs = votes.size, votes.of_pairs()
    m = np.maximum(size, 3).astype(np.float64)
    # The sum of squares of a vote's agreements: of untied votes their sum, else at least this.
    square = np.where(votes.tied[votes.item], votes.shared**2 / (m[votes.item] - 1), votes.shared)
    triples = votes.summed(votes.shared**2 - square) / (m * (m - 1) * (m - 2))
    many = size > 2
    zeta = pairs[many].mean() * (1.0 + pairs[many].mean()) - 2.0 * triples[many].mean()
    share = (size / max(int(size[size > 1].sum()), 1)) ** 2
    more = share * (4 / (m * (m - 2)) - 2 / (m * (m - 1)))
    return float(max(zeta, 0.0) * more[many].sum())


def _scaled(dev: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw sums of deviations (draw, quantity) from a t distribution.

    The degrees of freedom are those of Satterthwaite: few annotators do not tell the variance.
    """
    square = (dev**2).sum(axis=1)
    fourth = (square**2).sum()
    freedom = max(float(square.sum() ** 2 / fourth) - 1.0, 1.0) if fourth > 0 else np.inf
    scale = np.sqrt(freedom / rng.chisquare(freedom, draws)) if fourth > 0 else np.ones(draws)
    return np.asarray(rng.standard_normal((draws, len(dev))) @ dev * scale[:, None])
