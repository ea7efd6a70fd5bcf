"""F1 of a system, minus the mean F1 of held-out annotators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.data.alignment import labels_by_systems, systems_of
from dissensus.dims import ANNOTATOR, ITEM, LABEL, SYSTEM
from dissensus.errors import ArgumentError, brief, shown, warn_caller
from dissensus.kernels.grouped import grouped, label_shares
from dissensus.kernels.labels import leaders
from dissensus.kernels.random import generator
from dissensus.kernels.types import Flags, Floats, Ints, Names
from dissensus.statistics._read import (
    codes_in,
    places_in,
    plain_label,
    positive_code,
    read,
    rows_of,
    spelled,
)
from dissensus.statistics._sums import Matrix, Sums, Undefined, compact

AVERAGES: Final = ("binary", "macro", "micro")
NO_F1: Final = "neither the vote nor the scored respondent gave the positive label"
NO_GOLD: Final = (
    "no held-out annotator has an F1: they share no item with the voters, or none on which they or "
    "the vote gave the positive label"
)


def relative_f1(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    held_out: Sequence[Any] | float = 0.5,
    *,
    positive: Any = None,
    average: str | None = None,
    random_seed: Any = None,
    on_missing: str = "raise",
    weights: Any = None,
) -> xr.DataArray:
    r"""F1 of a system minus the mean F1 of held-out annotators, both against the others' vote.

    .. math:: F_1(m) - \frac{1}{|H|} \sum_{h \in H} F_1(h), \qquad
        F_1 = \frac{2\,\mathrm{tp}}{2\,\mathrm{tp} + \mathrm{fp} + \mathrm{fn}}

    The annotators who are not held out vote on each item. Their majority label is used as the
    truth; n tied labels count 1/n each. The system is scored on all items that have a vote. Each
    held-out annotator h in :math:`H` is scored on those of these items that h annotated.

    Parameters
    ----------
    annotations, predictions, on_missing, weights
        As in `naive_accuracy`.
    held_out : sequence of annotators, or float
        The held-out annotators; or the share of annotators to hold out, drawn at random.
    positive : label, optional
        The positive label; True and False are the labels 1 and 0. None is the last of two labels.
    average : {"binary", "macro", "micro"}, optional
        "binary": F1 of the positive label. "macro": the mean F1 over labels that the vote or the
        scored respondent gave. "micro": F1 of all labels together, which is accuracy. None is
        "binary" if there are two labels or ``positive`` is given, and else "macro".
    random_seed : int or numpy.random.Generator, optional
        Seed of the drawn annotators, if ``held_out`` is a share.

    Returns
    -------
    xarray.DataArray
        (system), from -1 to 1, above 0 if the system is better. ``attrs["held_out"]`` are the
        held-out annotators, ``attrs["positive"]`` is the positive label. NaN, with a warning, if
        the F1 of the system is undefined, or under the weights that of a held-out annotator.
        Held-out annotators without an F1 are left out of the mean, with a warning: they share no
        item with the voters, or none on which they or the vote gave the positive label.

    Notes
    -----
    Relative F1 is available for comparison with publications. It has two flaws, which
    `discrepancy_ratio` does not have. First, it depends on the number of voters: with more voters
    the vote has fewer errors, and errors of the vote change both F1. Second, an annotator who skips
    hard items is scored on easy items, but the system on all items: one cautious annotator lowers
    the relative F1 of every system. Draws of `bayesian_bootstrap` do not include the uncertainty
    from the choice of held-out annotators.

    A predicted label that annotators could not give is wrong, and adds no label to the average.

    Source: Lovchinsky et al. (2020), section 4.1.3 and appendix C, of the method of Rajpurkar et
    al. (2018) and Hannun et al. (2019).

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["x", "x", "x", "y"], ["y", "y", "x", "y"], ["y", "y", "y", "x"]])
    >>> pred = dx.predictions({"item": range(3), "system": ["m"] * 3, "label": ["x", "y", "y"]})
    >>> dx.relative_f1(ann, pred, held_out=[2, 3]).round(3).values
    array([0.417])
    """
    annotations = read(annotations, continuous=False)
    held = _held_out(annotations, held_out, random_seed)
    kept, average = _classes(annotations, positive, average)
    counts = _counts(annotations, predictions, held, kept, on_missing)
    n_systems = len(counts.systems)
    scored = counts.scored(average)

    def finish(totals: Floats, undefined: Undefined) -> Floats:
        f1 = _f1(*counts.split(totals), average)
        system, people = f1[:, :n_systems], f1[:, n_systems:][:, scored]
        enough = np.full(len(totals), float(len(scored)))
        mean = undefined.divide(people.sum(axis=1), enough, NO_GOLD)
        unknown = np.isnan(system) | np.isnan(people).any(axis=1)[:, None]
        difference = np.where(unknown, 0.0, system) - np.where(unknown, 0.0, mean[:, None])
        return undefined.where(unknown, difference, NO_F1)

    name = "relative_f1"
    attrs: dict[str, Any] = {"held_out": counts.held_out, "average": str(average)}
    if average == "binary":
        attrs["positive"] = plain_label(annotations[LABEL].to_numpy()[kept[0]])
    dims, coords = {name: (SYSTEM,)}, {SYSTEM: counts.systems}
    sums = Sums(name, counts.parts, finish, annotations[ITEM].to_numpy(), dims, coords, attrs)
    return sums.value(weights)


def _f1(right: Floats, given: Floats, voted: Floats, average: str) -> Floats:
    """Return F1 (set of weights, respondent), systems first; NaN where it is undefined."""
    if average == "micro":
        # Each item has one given and one voted label, so both sums should be equal. But `given`
        # lacks systems' labels that are outside the label space.
        right, voted = (x.sum(axis=2, keepdims=True) for x in (right, voted))
        given = voted
    either = given + voted
    f1 = 2.0 * right / np.where(either > 0, either, 1.0)
    n = (either > 0).sum(axis=2)
    return np.where(n > 0, f1.sum(axis=2) / np.maximum(n, 1), np.nan)


class _Counts(NamedTuple):
    """Sums by item from which all F1 are computed."""

    parts: tuple[Matrix, ...]
    """Four matrices with counts of labels: labels that both a respondent and the vote gave, and
    labels that a respondent gave, both (item, respondent and label); labels of the vote on all
    items, for systems (item, label); and labels of the vote on the items of each held-out annotator
    (item, annotator and label)."""
    n_labels: int
    systems: Names
    held_out: list[str]

    def split(self, totals: Floats) -> tuple[Floats, Floats, Floats]:
        """Return counts of right, given and voted labels: (set of weights, respondent, label)."""
        n, systems = self.n_labels, len(self.systems)
        ends = np.cumsum([part.shape[1] for part in self.parts])[:-1]
        right, given, vote, votes = (
            part.reshape(len(totals), -1, n) for part in np.split(totals, ends, axis=1)
        )
        vote = np.broadcast_to(vote, (len(totals), systems, n))
        return right, given, np.concatenate([vote, votes], axis=1)

    def scored(self, average: str) -> Ints:
        """Return the places of held-out annotators who have an F1, and warn of those without."""
        totals = np.concatenate([np.atleast_1d(part.sum(axis=0)) for part in self.parts])[None]
        _, given, voted = self.split(totals)
        has_label = (given + voted)[0, len(self.systems) :].sum(axis=1) > 0
        if not has_label.all():
            omitted = [
                name for name, fine in zip(self.held_out, has_label, strict=True) if not fine
            ]
            label = "positive label" if average == "binary" else "label"
            warn_caller(
                f"relative_f1 leaves out {len(omitted)} of the held-out annotators "
                f"({shown(omitted)}): on their items neither they nor the vote gave a {label}."
            )
        return np.flatnonzero(has_label)


def _counts(
    annotations: xr.Dataset, predictions: Any, held: Ints, labels: Ints, on_missing: str
) -> _Counts:
    """Count the labels of systems and of the held-out annotators."""
    rows_of(annotations)  # raises for repeated labels without trial=
    all_labels = annotations[LABEL].to_numpy()
    systems = systems_of(annotations, predictions, on_missing)
    predicted = labels_by_systems(systems, all_labels)
    item, annotator, label = codes_in(annotations, ITEM, ANNOTATOR, LABEL)
    shape = (len(predicted), len(all_labels))
    seat = np.full(annotations.sizes[ANNOTATOR], -1)
    seat[held] = np.arange(len(held))
    voting = seat[annotator] < 0
    vote = _vote(item[voting], annotator[voting], label[voting], systems.present, shape)
    # The labels of systems, then of the held-out annotators, on the items with a vote.
    decided = np.diff(vote.indptr) > 0
    row, system = np.nonzero((predicted >= 0) & (predicted < len(all_labels)) & decided[:, None])
    own, n_systems = ~voting & decided[item], len(systems.names)
    n = n_systems + len(held)
    codes = np.concatenate([predicted[row, system], label[own]])
    respondent = np.concatenate([system, n_systems + seat[annotator[own]]])
    statement, place = np.unique(
        np.concatenate([row, item[own]]) * n + respondent, return_inverse=True
    )
    item_code, respondent_code = np.divmod(statement, n)
    shares = 1.0 / np.bincount(place)[place]
    given = sparse.csr_array((shares, (place, codes)), shape=(len(statement), len(all_labels)))
    given, voted = given[:, labels], vote[item_code][:, labels]
    people = respondent_code >= n_systems
    parts = (
        _laid_out(given.multiply(voted), item_code, respondent_code, (shape[0], n)),
        _laid_out(given, item_code, respondent_code, (shape[0], n)),
        compact(sparse.csr_array(vote[:, labels])),
        _laid_out(
            voted[people],
            item_code[people],
            respondent_code[people] - n_systems,
            (shape[0], len(held)),
        ),
    )
    names = spelled(annotations[ANNOTATOR].to_numpy()[held])
    return _Counts(parts, len(labels), systems.names, names)


def _laid_out(values: Any, item: Ints, respondent: Ints, shape: tuple[int, int]) -> Matrix:
    """Return sparse values (statement, label) as (item, respondent and label)."""
    cells, n_labels = values.tocoo(), values.shape[1]
    place = (item[cells.row], respondent[cells.row] * n_labels + cells.col)
    wide = (shape[0], shape[1] * n_labels)
    return compact(sparse.csr_array((cells.data, place), shape=wide))


def _vote(
    item: Ints, annotator: Ints, label: Ints, present: Flags, shape: tuple[int, int]
) -> sparse.csr_array:
    """Return the majority label, or tied labels with equal shares: (item, label)."""
    shares = label_shares(grouped(item, annotator, shape[0]), label, shape[1])
    share = leaders(shares.start, shares.amount) * np.repeat(present, np.diff(shares.start))
    vote = sparse.csr_array((share, shares.label, shares.start), shape=shape)
    vote.eliminate_zeros()
    vote.sort_indices()
    return vote


def _held_out(annotations: xr.Dataset, held_out: Any, random_seed: Any) -> Ints:
    """Return the codes of the held-out annotators, who are named or drawn at random."""
    names = annotations[ANNOTATOR].to_numpy()
    if len(names) < 2:
        raise ArgumentError(
            "annotations",
            expected="at least two annotators: one to hold out, one to vote",
            found=str(len(names)),
        )
    if isinstance(held_out, float | np.floating):
        return _drawn(names, float(held_out), random_seed)
    expected = f"a list of annotators, such as {shown(list(names), 3)}, or a share from 0 to 1"
    place = places_in("held_out", held_out, names, expected)
    if len(place) == len(names):
        raise ArgumentError("held_out", expected="some of the annotators", found="all of them")
    return place


def _drawn(names: Names, share: float, random_seed: Any) -> Ints:
    if not 0 < share < 1:
        raise ArgumentError("held_out", expected="a share between 0 and 1", found=repr(share))
    n = min(max(round(share * len(names)), 1), len(names) - 1)
    # Draw from sorted names, so that the order of rows does not matter.
    order = np.argsort(names.astype(str), kind="stable")
    rng = generator(random_seed, "annotators held out")
    return order[np.sort(rng.permutation(len(names))[:n])]


def _classes(annotations: xr.Dataset, positive: Any, average: str | None) -> tuple[Ints, str]:
    """Return the codes of the labels to average over, and the name of the average."""
    labels = annotations[LABEL].to_numpy()
    if average is None:
        average = "binary" if positive is not None or len(labels) == 2 else "macro"
    arguments.one_of("average", average, AVERAGES)
    if average != "binary":
        if positive is not None:
            raise ArgumentError(
                "positive", expected=f'None, with average="{average}"', found=brief(positive)
            )
        return np.arange(len(labels)), average
    if positive is None and len(labels) == 2:
        return np.array([1]), average
    return np.array([positive_code(positive, labels)]), average
