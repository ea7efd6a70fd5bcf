"""How much annotators agree on what is right without guessing."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import ITEM
from dissensus.errors import ArgumentError, brief
from dissensus.statistics._concordance import kept_apart, of_all_items
from dissensus.statistics._distances import Distance
from dissensus.statistics._majority_credit import majority_credit
from dissensus.statistics._read import read
from dissensus.statistics._reliability import Confident, genuine_agreement, right
from dissensus.statistics._reliability_sums import Reliability, by_item, sums_by_pair, sums_of
from dissensus.statistics._sums import Sums
from dissensus.statistics._truth import EXPECTED, accuracies

NAME: Final = "weighted_reliability"
ERRORS: Final = ("printed", "uniform")
MAJORITY: Final = "majority"


def weighted_reliability(
    annotations: xr.Dataset,
    *,
    accuracy: Any = None,
    truth: Any = None,
    chance: Any = "uniform",
    errors: str = "printed",
    distance: Distance | None = None,
    max_distance: float | None = None,
    slim_majority: float = 1.0,
    per_item: bool = False,
    per_pair: bool = False,
    weights: Any = None,
) -> xr.DataArray:
    r"""Weighted reliability: probability that two annotators agree, did not guess, and are right.

    Each pair of annotators who agree counts its genuine agreement, as in `concordance`, times the
    probability that both are right, given their accuracies a and b on the item (Eq. 6 to 8):

    .. math:: \varrho(x) = \binom{m_x}{2}^{-1} \sum_{r < s} \mathrm{GA}_x(r, s)\,
        \frac{a_r a_s}{a_r a_s + (1 - a_r)(1 - a_s) / e}, \qquad
        \varrho = \frac{1}{|S|} \sum_{x \in S} \varrho(x)

    with :math:`e = 1` as printed, or :math:`n - 1` with n labels and errors that fall on all others
    alike.

    Parameters
    ----------
    annotations : Dataset
        Annotations. An annotator with several labels for an item (``trial=``) counts once, with
        the mean over them.
    accuracy : number, mapping, Series, array, DataArray, DataTree, Dataset, or "majority"
        How often annotators are right, from 0 to 1. One number for all; by annotator; or by
        annotator and item (an array of these dims). Names are matched where there are any, and else
        places in ``annotations["annotator"]`` and ``annotations["item"]``. A DataArray may have
        ``chain`` and ``draw``: then so has the result. A fit (DataTree) or its posterior (Dataset)
        has ``accuracy`` (annotator, item) from `models.rasch`, or ``annotator_accuracy`` from
        `models.dawid_skene` and `models.symmetric_confusion`.
        "majority": how often the label an annotator gave leads among the others of the item (of n
        tied leaders naming one counts 1/n; of several labels given, one that leads will do), with
        ``weights``, so weighted. Of two who agree, one of whom always led and the other never,
        the label counts one half.
    truth : array-like (item), mapping or Series from item to label, optional
        Known labels of all items, in place of ``accuracy``: a is 1 where a label is right, and 0
        where not. Where only some are known: ``accuracy``, of `models.rasch` fitted with them.
    chance : {"uniform", "empirical"}, mapping or Series from label to share, or number
        What a guess is, as in `concordance`.
    errors : {"printed", "uniform"}
        Whether two who are wrong agree for certain, which is right for two labels and what the
        source prints; or only if they make the same of n - 1 errors.
    distance, max_distance
        Graded agreement, as in `concordance`. Labels that are close but not equal then count as if
        both were right with the same probability; with ``truth``, not at all.
    slim_majority : float
        What an item with a slim majority counts, as in `concordance`.
    per_item : bool
        Return :math:`\varrho(x)`; not together with weights.
    per_pair : bool
        Return it for each two annotators, the mean over the items that both labelled, as in
        `concordance`. Accuracies against the "majority" stay those against all others.
    weights : array-like (item), mapping from item to weight, or DataArray, optional
        Weights over items.

    Returns
    -------
    xarray.DataArray
        A number from 0 to `concordance`; or (item), NaN for items with one annotator; or
        (``annotator``, ``annotator_``), the same in either order, NaN for two who share no item,
        and on the diagonal. With the dims chain and draw of the accuracies in front, if they have
        draws.

    Raises
    ------
    AnnotationError
        As `concordance` does, and if no label can lead for "majority".
    ArgumentError
        If there is neither accuracy nor truth, or both; an annotator or item has none, or a number
        is not from 0 to 1; and as `concordance` does.

    Warns
    -----
    DissensusWarning
        Where it is undefined, and NaN: no item with two annotators, or with the two whose value is
        asked for; two agree of whom one is always right and the other never; or errors are
        "uniform" and there is one label only.

    Notes
    -----
    With accuracies of 1/2 and errors as printed it is half the concordance: whom nobody knows to be
    better than a coin, agreement does not make right. With more than two labels "printed" is too
    low, since few who are wrong agree.

    `bayesian_bootstrap` adds the uncertainty of having seen only these items; if the accuracies
    have draws, each of its draws takes one of them.

    Eq. 6 takes annotators to be independent given the truth. If many make the same mistake, both
    agreement with the majority and this are too high. "majority" is no accuracy on hard items
    either: there the others are wrong too.

    It tells how far pairs of annotators can be relied on, and not how often the label of the
    majority is right, which grows with the number of annotators: `majority_accuracy`.

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Eq. 5 to 8.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.from_matrix([["a", "a", "b"], ["b", "b", None]])
    >>> round(float(dx.weighted_reliability(ann, accuracy=0.8)), 3)
    0.627
    >>> by_name = {0: 0.8, 1: 0.9, 2: 0.6}
    >>> round(float(dx.weighted_reliability(ann, accuracy=by_name)), 3)
    0.649
    >>> dx.weighted_reliability(ann, truth=["a", "a"], per_item=True).round(3).values
    array([0.333, 0.   ])
    >>> dx.weighted_reliability(ann, accuracy=0.8, per_pair=True).sel(annotator=0).round(3).values
    array([  nan, 0.941, 0.   ])
    """
    arguments.flags(per_item=per_item)
    settings: dict[str, Any] = {
        "accuracy": accuracy, "truth": truth, "chance": chance, "errors": errors,
        "distance": distance, "max_distance": max_distance, "slim_majority": slim_majority,
    }  # fmt: skip
    if not per_item:
        return sums(annotations, per_pair=per_pair, **settings).value(weights)
    kept_apart(weights, per_pair)
    what, annotations, attrs = _read(annotations, **settings)
    return by_item(what, annotations[ITEM].to_numpy(), attrs)


def sums(
    annotations: xr.Dataset,
    *,
    accuracy: Any = None,
    truth: Any = None,
    chance: Any = "uniform",
    errors: str = "printed",
    distance: Distance | None = None,
    max_distance: float | None = None,
    slim_majority: float = 1.0,
    per_item: bool = False,
    per_pair: bool = False,
) -> Sums:
    """Prepare it as a function of sums over items."""
    of_all_items(per_item)
    arguments.flags(per_pair=per_pair)
    what, annotations, attrs = _read(
        annotations, accuracy=accuracy, truth=truth, chance=chance, errors=errors,
        distance=distance, max_distance=max_distance, slim_majority=slim_majority,
    )  # fmt: skip
    if per_pair:
        return sums_by_pair(what, annotations, attrs)
    return sums_of(what, annotations[ITEM].to_numpy(), attrs)


def _read(
    annotations: Any, *, accuracy: Any, truth: Any, errors: str, **settings: Any
) -> tuple[Reliability, xr.Dataset, dict[str, Any]]:
    """Return what to add up, checked annotations, and what was done in words."""
    annotations = read(annotations, rankings=True)
    arguments.one_of("errors", errors, ERRORS)
    if accuracy is None and truth is None:
        raise ArgumentError(
            "accuracy", expected=f"{EXPECTED}; or known labels, truth=", found="None"
        )
    if accuracy is not None and truth is not None:
        raise ArgumentError("truth", expected="None, or no accuracy=", found=brief(truth))
    genuine = genuine_agreement(annotations, **settings)
    said = genuine.confident
    ways = _ways_to_be_wrong(said, errors, annotations.attrs["kind"])
    if truth is not None:
        attrs = genuine.attrs | {"accuracy": "known labels"}
        return Reliability(NAME, genuine, right(annotations, said, truth)), annotations, attrs
    attrs = genuine.attrs | {"errors": errors}
    if isinstance(accuracy, str) and accuracy == MAJORITY:
        credit = majority_credit(annotations)
        what = Reliability(NAME, genuine, competence=credit, errors=ways)
        return what, annotations, attrs | {"accuracy": MAJORITY}
    known = accuracies(accuracy, annotations, said.annotator, said.item)
    what = Reliability(NAME, genuine, competence=known, errors=ways)
    return what, annotations, attrs | {"accuracy": known.words}


def _ways_to_be_wrong(said: Confident, errors: str, kind: str) -> float:
    """Return in how many ways two who agree can be wrong; NaN if in none."""
    if errors == "printed":
        return 1.0
    if kind not in ("nominal", "ordinal"):
        raise ArgumentError(
            "errors",
            expected="'printed', where there are no labels to count",
            found=f"{errors!r}, with annotations of kind {kind!r}",
        )
    return said.n_said - 1.0 if said.n_said > 1 else np.nan
