"""The group ``answers``: three quantities that are all called accuracy, and which one leads.

- Annotator agreement: the rate at which a system gives the label of an annotator. Each annotation
  counts once. No model is needed. Human agreement is this rate for two annotators of an item.
- Panel agreement: the rate at which a system gives the label that most of a large panel of such
  annotators would give.
- Accuracy: the rate at which a system gives the one true label.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy.sparse import coo_array, diags_array
from scipy.stats import chi2

from dissensus import arguments
from dissensus.data.predictions import features
from dissensus.data.rows import ranking_code, ranks
from dissensus.data.tables import match
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, RELIABILITY, SCOPE, SCOPES, SYSTEM
from dissensus.evaluation.scoring import clusters_of
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
_AT_ONCE: Final = 2_000_000
"""Maximum number of random weights held in memory."""


def question_of(question: str | None, known: int) -> str:
    """Return ``question`` or, by default, the truth if any true label is known, else the panel."""
    arguments.one_of("question", question, (PANEL, TRUTH, None))
    return question or (TRUTH if known else PANEL)


def with_answers(
    groups: Groups, question: str, *, new_items: bool, random_seed: Any, reference: float,
    shape: tuple[int, int], truth_model: str,
) -> Groups:  # fmt: skip
    """Add the group ``answers``, if annotators and systems gave labels.

    ``shape`` (chains, draws) is used only if there are no systems. ``truth_model`` is the status of
    the section ``accuracy``. If the question is the truth, but systems have no accuracy, the panel
    leads and the attribute ``notes`` says why.
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
    out = xr.Dataset({name: parts[name].drop_attrs(deep=False) for name in order if name in parts})
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
    """Annotators' first choices: each has one vote on an item, which tied labels share."""

    item: Ints
    """(vote): position of the vote's item among the items with votes."""
    annotator: Ints
    """(vote): code of the annotator."""
    agrees: Floats
    """(vote, system): share of the vote for the system's answer."""
    shared: Floats
    """(vote): sum of the vote's agreements with the other votes on its item."""
    tied: Flags
    """(item): whether some vote on the item is for several labels."""
    unit: Ints
    """(item): code of the item or its cluster, which is the unit of the bootstrap."""

    @property
    def size(self) -> Ints:
        """Number of votes (item)."""
        return np.bincount(self.item)

    def summed(self, values: Floats) -> Floats:
        """Sum over the votes of each item: (vote, ...) to (item, ...)."""
        return grouped_sums(self.item, values, len(self.tied))

    @property
    def paired(self) -> Ints:
        """Number of votes (item), 0 where there is only one vote."""
        return self.size * (self.size > 1)

    def of_pairs(self) -> Floats:
        """Return the mean agreement of pairs of votes (item), 0 where there is only one vote."""
        size = self.size
        return self.summed(self.shared) / np.maximum(size * (size - 1), 1)


def grouped_sums(group: Ints, values: Floats, n: int) -> Floats:
    """Sum rows of values (row, ...) by group (row): (group, ...)."""
    where = coo_array((np.ones(len(group)), (group, np.arange(len(group)))), (n, len(group)))
    return np.asarray(where.tocsr() @ values)


def votes_of(annotations: xr.Dataset, predictions: xr.Dataset | None) -> Votes:
    """Collect all first choices; with predictions, only those on items that have predictions."""
    first = ranks(annotations) == 1
    if predictions is not None:
        predicted = match(annotations[ITEM].to_numpy(), predictions[ITEM].to_numpy()) >= 0
        first &= predicted[annotations["item_code"].to_numpy()]
    item, label, annotator = (
        annotations[name].to_numpy()[first]
        for name in ("item_code", "label_code", "annotator_code")
    )
    _, begins, vote = np.unique(
        ranking_code(annotations)[first], return_index=True, return_inverse=True
    )
    n_each = np.bincount(vote)
    part = 1.0 / n_each[vote]  # share of the vote that each tied label gets
    used, of_vote = np.unique(item[begins], return_inverse=True)
    cell = np.unique(item * annotations.sizes[LABEL] + label, return_inverse=True)[1]
    others = np.bincount(cell, part)[cell] - part
    answer = features(predictions, annotations[ITEM].to_numpy(), annotations[LABEL].to_numpy())
    agrees = np.stack([
        np.bincount(vote, part * each[item, label]) for each in answer.values[: len(answer.systems)]
    ] or [np.zeros(len(begins))], axis=1)  # fmt: skip
    cluster = clusters_of(annotations, annotations[ITEM])
    return Votes(
        of_vote, annotator[begins], agrees, np.bincount(vote, part * others),
        np.bincount(of_vote, n_each > 1) > 0, used if cluster is None else cluster[used],
    )  # fmt: skip


def by_items(votes: Votes) -> Floats:
    """Return the observed agreement with an annotator (system); each item counts once."""
    return np.asarray((votes.summed(votes.agrees) / votes.size[:, None]).mean(axis=0))


def agreements(
    votes: Votes, draws: int, rng: np.random.Generator, *, new_items: bool
) -> tuple[Floats, Floats]:
    """Draw the agreement of two annotators (draw), and of systems with an annotator (draw, system).

    Draws for these items vary by chance and by annotator (`spread_of`). Draws for new items vary by
    the Bayesian bootstrap of items or clusters, and by annotator beyond chance. The agreement of
    two annotators is NaN if no item has two annotators.
    """
    size, pairs = votes.size, votes.of_pairs()
    spread = spread_of(votes)
    noise = spread.drawn(draws, rng, chance=not new_items)
    if new_items:
        total = np.column_stack([votes.summed(votes.agrees), votes.paired * pairs])
        n = np.column_stack([*[size] * votes.agrees.shape[1], votes.paired])
        middle = _of_new_items(votes, total, n, draws, rng)
    else:
        middle = np.append(votes.agrees.mean(axis=0), _mean(pairs, votes.paired))
    known = spread.beyond + (np.var(middle, axis=0) if new_items else spread.chance)
    lacking = np.sqrt(np.maximum(_least(votes, new_items=new_items) ** 2 - known, 0.0))
    noise += lacking * rng.standard_normal(noise.shape)
    out = np.clip(middle + noise, 0.0, 1.0)
    return out[:, -1], out[:, :-1]


def _of_new_items(
    votes: Votes, total: Floats, n: Floats, draws: int, rng: np.random.Generator
) -> Floats:
    """Draw agreements (draw, quantity) by the Bayesian bootstrap over items or clusters."""
    unit = np.unique(votes.unit, return_inverse=True)[1]
    n_units = int(unit.max(initial=-1)) + 1
    total, n = grouped_sums(unit, total, n_units), grouped_sums(unit, n, n_units)
    parts, at_once = [], max(1, _AT_ONCE // max(n_units, 1))
    for first in range(0, draws, at_once):
        weight = rng.standard_exponential((min(at_once, draws - first), n_units))
        with np.errstate(invalid="ignore"):
            parts.append(weight @ total / (weight @ n))
    return np.concatenate(parts)


def _mean(values: Floats, weight: Ints) -> float:
    total = weight.sum()
    return float(values @ weight / total) if total else float("nan")


def deviations(votes: Votes) -> Floats:
    r"""Return the contribution of each vote to each agreement (vote, quantity).

    The quantities are the agreement of each system, and last that of pairs of votes. If votes on an
    item are independent, the sum of the votes' squared contributions estimates the variance of an
    agreement.

    On an item with m votes, let :math:`x_j` be the agreement of vote j with a system, and
    :math:`\bar x` their mean. Vote j contributes :math:`(x_j - \bar x) / \sqrt{m (m - 1)}` to
    :math:`\bar x`. It contributes :math:`2 \sqrt{(m - 1) / m} (g_j - U) / (m - 2)` to the agreement
    U of pairs, where :math:`g_j` is the mean agreement of vote j with the other votes. The latter
    is the jackknife of a U-statistic (Arvesen 1969, *Annals of Mathematical Statistics* 40). With
    few votes, it overestimates the variance of U; `_excess` returns by how much.

    The variance of U cannot be estimated from one pair of votes, nor that of the mean from one
    vote. On items with one or two votes, deviations are from the mean over all items. These
    deviations include differences between items, so variances may be too large.
    """
    size, pairs = votes.size, votes.of_pairs()
    m = size[votes.item].astype(np.float64)
    many = m > 2
    mean = votes.summed(votes.agrees) / size[:, None]
    scale = np.sqrt(m / np.maximum(m - 1, 1))[:, None]
    of_means = np.where(
        many[:, None], scale * (votes.agrees - mean[votes.item]),
        votes.agrees - votes.agrees.mean(axis=0),
    ) / len(m)  # fmt: skip
    own = votes.shared / np.maximum(m - 1, 1) - pairs[votes.item]
    of_pairs = 2 * np.sqrt(m * (m - 1)) / np.maximum(m - 2, 1) * own
    centred = np.nan_to_num(pairs - _mean(pairs, votes.paired))
    of_pairs = np.where(many, of_pairs, np.sqrt(2) * centred[votes.item] * (m > 1))
    return np.column_stack([of_means, of_pairs / max(int(votes.paired.sum()), 1)])


class Spread(NamedTuple):
    """Variances of the agreements (quantity), and their correlations."""

    chance: Floats
    """Variance if all votes are independent."""
    beyond: Floats
    """Variance added by differences between annotators."""
    freedom: Floats
    """Degrees of freedom of the sum of both variances."""
    correlation: Floats
    """(quantity, quantity)"""

    def drawn(self, draws: int, rng: np.random.Generator, *, chance: bool) -> Floats:
        """Draw deviations (draw, quantity) from t distributions, scaled together in each draw."""
        variance = self.beyond + (self.chance if chance else 0.0)
        values, vectors = np.linalg.eigh(self.correlation)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        normal = rng.standard_normal((draws, len(root))) @ root.T
        quantile = chi2.ppf(rng.random(draws)[:, None], self.freedom)
        return np.asarray(normal * np.sqrt(variance * self.freedom / quantile))


def spread_of(votes: Votes) -> Spread:
    r"""Return the variances of the agreements, by chance and by annotators.

    Let V be the sum of squares of the votes' `deviations`. Sum the deviations of each annotator's
    votes, and let S be the sum of squares of these sums. S is larger than V on average if some
    annotators agree more than others on all their items. Deviations from an item's mean contain
    only a part of such differences between annotators. This part depends on which annotators
    labelled which items: the variance due to annotators is :math:`R (S - V)`, with R from
    `_hidden`.
    """
    each = deviations(votes)
    annotator = np.unique(votes.annotator, return_inverse=True)[1]
    people = grouped_sums(annotator, each, int(annotator.max(initial=-1)) + 1)
    by_vote, by_person = (each**2).sum(axis=0), (people**2).sum(axis=0)
    hidden = _hidden(votes, annotator)
    beyond = hidden * np.maximum(by_person - by_vote, 0.0)
    chance = by_vote.copy()
    many = (votes.size > 2)[votes.item]
    of_many = (each[many, -1] ** 2).sum()
    chance[-1] -= min(_excess(votes), (1.0 - _LEAST) * of_many)
    # Satterthwaite (1946): S has the degrees of freedom of annotators, V those of votes.
    uncertain = (hidden * by_person * (beyond > 0)) ** 2 / _freedom(people)
    freedom = _ratio((chance + beyond) ** 2, chance**2 / _freedom(each) + uncertain)
    both = people.T @ people + _LITTLE * each.T @ each
    sd = np.sqrt(np.diag(both))
    size = np.where(sd > 0, sd, 1.0)
    return Spread(chance, beyond, freedom, both / np.outer(size, size) + np.diag(1.0 * (sd == 0)))


_UNSEEN: Final = 1.15
"""If no vote of n deviates, 89 % intervals contain rates of deviating votes up to 1.6 times this
number, divided by n: 1.84 / n, as the equal-tailed interval with Jeffreys' prior Beta(1/2, 1/2)."""


def _least(votes: Votes, *, new_items: bool) -> Floats:
    """Return the least standard deviation (quantity), even if no vote deviates.

    One more vote may deviate. It changes the agreement of n votes with a system by 1 / n, and the
    agreement of pairs by 2 / n. With new items, one more of n items (or clusters) may be answered
    wrongly, or divide annotators: it changes agreement with a system by up to 1 / n, and agreement
    of pairs, if annotators divide into halves, by 1 / (2 n).
    """
    pairs = 2.0 / max(int(votes.paired.sum()), 1)
    single = 1.0 / max(int(votes.size.sum()), 1)
    if new_items:
        n_units = max(len(np.unique(votes.unit)), 1)
        single, pairs = 1.0 / n_units, max(pairs, 0.5 / n_units)
    return _UNSEEN * np.asarray([*[single] * votes.agrees.shape[1], pairs])


_LITTLE: Final = 1e-6
"""Weight of single votes in correlations. It matters if all annotators' sums of deviations are 0,
as with one pair of annotators."""


_FREEDOM: Final = 1.5
"""Factor of the ratio in `_freedom`. On twelve real sets of which three to twelve annotators are
shown (docs/validation.md), intervals with 1 are too long, and with 3 too short."""


def _freedom(rows: Floats) -> Floats:
    r"""Return the degrees of freedom of sums of squares of n rows (row, quantity).

    :math:`(\sum x^2)^2 / \sum x^4` is 1 if one row is much larger than the others, and about
    :math:`(n + 2) / 3` if rows are normal.
    """
    ratio = _ratio((rows**2).sum(axis=0) ** 2, (rows**4).sum(axis=0))
    most = np.maximum((rows != 0).any(axis=1).sum() - 1.0, 1.0)
    return np.clip(_FREEDOM * ratio - 1.0, 1.0, most)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return degrees of freedom, 1 or more; 1 for quantities that do not vary."""
    return np.maximum(np.divide(above, below, out=np.ones_like(above), where=below > 0), 1.0)


_MOST_HIDDEN: Final = 4.0
"""Maximum of the factor R of `_hidden`; a larger factor would amplify noise."""


def _hidden(votes: Votes, annotator: Ints) -> Floats:
    r"""Return the factor R (quantity): annotators' variance, divided by the part deviations show.

    Suppose that annotator k has :math:`n_k` of n votes, and an effect :math:`a_k` on them, and that
    effects are independent with variance 1. Then the mean over votes has the variance
    :math:`\sum_k n_k^2 / n^2`, of which :math:`1 / n` is chance. The annotators' sums of deviations
    are :math:`B a / n` for a matrix B. The expectation of S (see `spread_of`) is the sum of squares
    of B's elements divided by :math:`n^2`, of which :math:`1 / n` is chance too. R is the first of
    these quantities divided by the second, both without chance. R is 0 if deviations show no
    differences between annotators, as when one pair of annotators labels all items.
    """
    size = votes.size.astype(np.float64)
    n_people, n_items = int(annotator.max(initial=-1)) + 1, len(size)
    seat = coo_array(
        (np.ones(len(annotator)), (annotator, votes.item)), (n_people, n_items)
    ).tocsr()
    out = []
    for of_pairs in (False, True):
        counted = size > of_pairs  # items with a vote, or with a pair of votes
        n = float(size[counted].sum())
        if n == 0:
            out.append(0.0)
            continue
        own = np.where(size > 2, np.sqrt(size / np.maximum(size - 1, 1)), 1.0)
        other = np.where(size > 2, -own / size, 0.0)
        if of_pairs:  # in units of a mean over votes; both votes of a pair count equally
            own, other = (np.where(size == 2, np.sqrt(0.5), x) for x in (own, other))
            own = np.where(size == 2, 0.0, own)
        sums = seat @ np.where(counted, own, 0.0)
        effect = seat @ diags_array(np.where(counted, other, 0.0)) @ seat.T
        effect = effect + diags_array(sums)
        of_each = seat @ counted.astype(np.float64)
        small = seat @ (counted & (size < 3)) * (np.sqrt(2) if of_pairs else 1.0)
        # Items with one or two votes: deviations from the mean over all items.
        squares = float((effect.multiply(effect)).sum() - 2 * small @ (effect @ of_each) / n
                        + (small @ small) * (of_each @ of_each) / n**2)  # fmt: skip
        seen, true = squares - n, float(of_each @ of_each) - n
        out.append(min(true / seen, _MOST_HIDDEN) if seen > 1e-9 * n else 0.0)
    return np.array([out[0]] * votes.agrees.shape[1] + [out[1]])


_LEAST: Final = 0.25
"""Minimum share of the jackknife's variance that remains when `_excess` is subtracted; in theory
1/4 for three votes."""


def _excess(votes: Votes) -> float:
    r"""Return by how much the jackknife's variance of the agreement of pairs is too large.

    .. math:: \Bigl(\frac{4}{m (m - 2)} - \frac{2}{m (m - 1)}\Bigr) \zeta, \qquad
        \zeta = E(a_{12}) - 2 E(a_{12} a_{13}) + E(a_{12} a_{34})

    for an item with m votes, where :math:`a_{jk}` is the agreement of votes j and k. The last
    expectation needs four votes. The square of the mean over items is used instead; it is smaller.
    """
    size, pairs = votes.size, votes.of_pairs()
    m = np.maximum(size, 3).astype(np.float64)
    # Sum of squares of a vote's agreements. Without ties these are 0 or 1, so it is their sum; with
    # ties it is a lower bound.
    square = np.where(votes.tied[votes.item], votes.shared**2 / (m[votes.item] - 1), votes.shared)
    triples = votes.summed(votes.shared**2 - square) / (m * (m - 1) * (m - 2))
    many = size > 2
    if not many.any():
        return 0.0
    zeta = pairs[many].mean() * (1.0 + pairs[many].mean()) - 2.0 * triples[many].mean()
    share = (size / max(int(votes.paired.sum()), 1)) ** 2
    factor = share * (4 / (m * (m - 2)) - 2 / (m * (m - 1)))
    return float(max(zeta, 0.0) * factor[many].sum())
