"""F1 of a system, less that of annotators held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from dissensus.dims import LABEL, SYSTEM
from dissensus.kernels.types import Floats
from dissensus.statistics._held_out import NO_GOLD, confusions, places_of
from dissensus.statistics._held_out import classes as classes_of
from dissensus.statistics._read import plain_label
from dissensus.statistics._scores import categories
from dissensus.statistics._sums import Doubts, Sums


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
    r"""F1 of a system less the mean F1 of annotators, both against the vote of other annotators.

    .. math:: F_1(m) - \frac{1}{|H|} \sum_{h \in H} F_1(h), \qquad
        F_1 = \frac{2\,\mathrm{tp}}{2\,\mathrm{tp} + \mathrm{fp} + \mathrm{fn}}

    The annotators not held out vote on each item; the label with most votes is taken for the truth,
    of n tied labels each in 1/n. The system is scored on all items that have a vote, each annotator
    of :math:`H` on those that they annotated.

    Parameters
    ----------
    annotations : Dataset
        Annotations: labels, not rankings or numbers on a scale. An annotator with several labels
        for an item (``trial=``) counts once, with their shares.
    predictions : Dataset
        One label from each system and item.
    held_out : sequence of annotators, or float
        Who is held out; or what share of the annotators, drawn at random.
    positive : label, optional
        The label that F1 is of; True and False are the labels 1 and 0. None is the last one, if
        there are two.
    average : {"binary", "macro", "micro"}, optional
        "binary": of the positive label. "macro": the mean over labels that the vote or the one who
        is scored gave. "micro": of all labels together, which is accuracy. None is "binary" with
        two labels or ``positive``, and else "macro".
    random_seed : int or numpy.random.Generator, optional
        For a share: the same seed holds out the same annotators.
    on_missing : {"raise", "drop"}
        What to do about items that only one side has.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        (system), from -1 to 1, above 0 where the system does better. ``attrs["held_out"]`` names
        the annotators held out, ``attrs["positive"]`` the label that F1 is of.

    Raises
    ------
    AnnotationError, PredictionError
        If these are no labels, or items differ.
    ArgumentError
        If nobody is held out or nobody left to vote, if an annotator or label is unknown, if there
        is no such average, or weights are none.

    Warns
    -----
    DissensusWarning
        If an annotator held out has no F1, since neither they nor the vote gave the positive label
        on their items, or since they share none with the voters: the mean is over the others.
        Where an F1 is undefined for the system or under the weights: NaN.

    Notes
    -----
    It misleads in two ways, and is here to compare with. It depends on how many annotators vote:
    more of them make a better truth, and how far that raises either F1 depends on their errors. And
    an annotator who skips hard items is scored on easy ones, the system on all: one strict
    annotator makes every system look worse. `discrepancy_ratio` has neither fault. Draws of
    `bayesian_bootstrap` do not know that other annotators held out would give another number.

    A system's label that annotators could not give is a miss, and no label of its own.

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
    more = {"positive": positive, "average": average, "random_seed": random_seed}
    return sums(annotations, predictions, held_out, **more, on_missing=on_missing).value(weights)


def sums(
    annotations: xr.Dataset,
    predictions: xr.Dataset,
    held_out: Sequence[Any] | float = 0.5,
    *,
    positive: Any = None,
    average: str | None = None,
    random_seed: Any = None,
    on_missing: str = "raise",
) -> Sums:
    """Prepare it as a function of sums over items."""
    annotations = categories(annotations)
    held = places_of(annotations, held_out, random_seed)
    kept, average = classes_of(annotations, positive, average)
    found = confusions(annotations, predictions, held, kept, on_missing)
    n_systems = len(found.systems)
    scored = found.scored(average)

    def finish(totals: Floats, doubts: Doubts) -> Floats:
        f1 = _f1(*found.split(totals), average)
        system, people = f1[:, :n_systems], f1[:, n_systems:][:, scored]
        enough = np.full(len(totals), float(len(scored)))
        mean = doubts.divided(people.sum(axis=1), enough, NO_GOLD)
        undefined = np.isnan(system) | np.isnan(people).any(axis=1)[:, None]
        difference = np.where(undefined, 0.0, system) - np.where(undefined, 0.0, mean[:, None])
        return doubts.where(
            undefined, difference, "neither the vote nor the one scored gave the positive label"
        )

    name = "relative_f1"
    attrs: dict[str, Any] = {"held_out": found.held_out, "average": str(average)}
    if average == "binary":
        attrs["positive"] = plain_label(annotations[LABEL].to_numpy()[kept[0]])
    dims, coords = {name: (SYSTEM,)}, {SYSTEM: found.systems}
    return Sums(name, found.parts, finish, found.items, dims, coords, attrs)


def _f1(right: Floats, given: Floats, voted: Floats, average: str) -> Floats:
    """Return F1 of systems, then of annotators held out; NaN where undefined."""
    if average == "micro":
        # One label is given and one voted for on each item; a system's may be none of the labels.
        right, voted = (x.sum(axis=2, keepdims=True) for x in (right, voted))
        given = voted
    either = given + voted
    f1 = 2.0 * right / np.where(either > 0, either, 1.0)
    n = (either > 0).sum(axis=2)
    return np.where(n > 0, f1.sum(axis=2) / np.maximum(n, 1), np.nan)
