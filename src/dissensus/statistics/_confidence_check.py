"""Share of wrong labels by the annotators' confidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from scipy import sparse

from dissensus import arguments
from dissensus.dims import ANNOTATOR, ITEM, LABEL, LEVEL, SAMPLE
from dissensus.errors import AnnotationError, warn_caller
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.weighted import more_sure
from dissensus.statistics._read import codes_in, read, whole
from dissensus.statistics._resampling import CELLS, Units, units_of, warn_of_few
from dissensus.statistics._sums import Undefined
from dissensus.statistics._truth import (
    TrueLabels,
    labels_only,
    of_known_items,
    posterior_of,
    prior_counts,
    true_labels,
)
from dissensus.wording import share

_DIMS: Final = {
    "error_rate": (LEVEL,),
    "level_share": (LEVEL,),
    "wrong_share": (LEVEL,),
    "discrimination": (),
    "annotator_error_rate": (ANNOTATOR, LEVEL),
    "annotator_discrimination": (ANNOTATOR,),
}
_NONE_WRONG: Final = "no label is wrong"
_NO_PAIR: Final = "there is no right label, or no wrong one"


def confidence_check(
    annotations: xr.Dataset,
    truth: Any,
    *,
    bins: int = 10,
    prior: tuple[float, float] = (1.0, 1.0),
    per_annotator: bool = True,
    draws: int | None = None,
    cluster: Any = None,
    random_seed: Any = None,
    on_missing: str = "raise",
) -> xr.Dataset:
    r"""Error rates of labels by confidence, and the confidence of wrong labels.

    With weights :math:`w_u \sim \mathrm{Exponential}(1)` of units u (items, or clusters of them),
    and :math:`n_{u\ell}` labels of confidence level :math:`\ell` of which :math:`e_{u\ell}` are
    wrong, each draw of the error rate is

    .. math:: \frac{g_1 + \sum_u w_u e_{u\ell}}{g_1 + g_2 + \sum_u w_u n_{u\ell}}, \qquad
        g_1 \sim \mathrm{Gamma}(a), \quad g_2 \sim \mathrm{Gamma}(b)

    This is the Bayesian bootstrap with ``prior=(a, b)`` counts of wrong and right labels. If every
    unit has one label, the posterior is the conjugate :math:`\mathrm{Beta}(a + e, b + n - e)`. If
    units have several labels, the posterior is wider than this Beta: labels of one item tend to be
    right or wrong together, and are not independent evidence.

    Parameters
    ----------
    annotations : Dataset
        Labels with confidence. Each repeated label (``trial=``) counts.
    truth : mapping, Series or DataArray (item), or DataTree
        Known labels by item; or a fit whose posterior has ``truth`` (item, label): each draw then
        uses true labels drawn from one of the fit's draws.
    bins : int
        Maximum number of levels. If there are more different confidences, levels are bins with
        similar numbers of labels. Equal confidences are in the same bin.
    prior : (float, float)
        Prior counts of wrong and right labels in each error rate, > 0.
    per_annotator : bool
        Return results by annotator too.
    draws : int, optional
        Number of draws. Default: 4,000, or the number of draws of the fit.
    cluster
        The sampled units, as in `bayesian_bootstrap`: items, or the clusters of the annotations.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    on_missing : {"raise", "drop"}
        Whether items without a known label are an error, or are left out with a warning.

    Returns
    -------
    xarray.Dataset
        With ``chain`` and ``draw``: ``error_rate`` (level), the probability that a label is wrong;
        ``level_share`` (level), the share of the level among all labels; ``wrong_share`` (level),
        its share among wrong labels; ``discrimination``, the probability that a right label has a
        higher confidence than a wrong label, where a tie counts one half. This is the area under
        the ROC curve of confidence; .5 is chance. By annotator: ``annotator_error_rate``
        (annotator, level) and ``annotator_discrimination`` (annotator).

        The coordinate ``level`` is a confidence, or the mean confidence of a bin. Attributes are
        the ``lowest`` and ``highest`` confidence of each level, and its ``n_labels``; ``in_words``
        is a summary in sentences. ``wrong_share`` is NaN, with a warning, if no label is wrong.
        Discrimination is NaN, with a warning, if no label is wrong or none is right; so is an
        annotator's, for the annotator's labels. There is also a warning for fewer than 20 units,
        and for a fit that did not use the confidence.

    Notes
    -----
    Intervals are for the same annotators and new items. Shares have no prior: a level without wrong
    labels has a ``wrong_share`` of 0 in all draws. If the trials of an item have different stimuli,
    make each trial an item, and put trials that belong together into one cluster.

    ``discrimination`` over all annotators also depends on differences between annotators: it is low
    if annotators who are always sure err more often, even if the confidence of each annotator is
    informative.

    If the truth is uncertain, true labels from a fit without confidence do not depend on
    confidence. Differences between levels are then underestimated: in simulations with 200 items,
    three annotators with accuracy .8, and error rates of .33 and .13, the means were .27 and .17,
    and 4 in 10 of the 90 % intervals contained the true value. With a fit that uses confidence
    (`models.rasch` with ``confidence=True``), 9 in 10 intervals did. This model assumes that
    confidences of different annotators are independent.

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Figure 8a.

    Examples
    --------
    >>> import dissensus as dx
    >>> n = 120
    >>> ann = dx.annotations({
    ...     "item": range(n), "annotator": ["a", "b"] * 60, "label": [0, 1, 1] * 40,
    ...     "confidence": [0.5, 0.5, 1, 1] * 30}, confidence="confidence")
    >>> check = dx.confidence_check(ann, dict.fromkeys(range(n), 1), random_seed=1)
    >>> check["error_rate"].mean(("chain", "draw")).round(2).to_series().to_dict()
    {0.5: 0.34, 1.0: 0.34}
    >>> print(check.attrs["in_words"].splitlines()[0])
    50 % of wrong labels were given with the highest confidence (1).
    """
    annotations = labels_only(read(annotations))
    given_confidence(annotations)
    arguments.flags(per_annotator=per_annotator)
    bins, counts = whole("bins", bins, 2), prior_counts(prior)
    rng = generator(random_seed, "confidence check")
    units = units_of(annotations, cluster)
    _warn_of_fit_without_confidence(truth)
    known = true_labels(truth, annotations, rng, on_missing)
    annotations = of_known_items(annotations, known)
    n = known.number_of_draws(draws)
    levels = levels_of(given_confidence(annotations), bins)
    bears = np.bincount(annotations["item_code"], minlength=annotations.sizes[ITEM]) > 0
    warn_of_few("confidence_check", bears, units)
    people = annotations.sizes[ANNOTATOR] if per_annotator else 0
    cells = _cells_of(annotations, levels)
    # A separate random stream, so that the result does not depend on the size of blocks.
    prior_rng = rng.spawn(1)[0]
    blocks = _totals(cells, known, units, rng, n)
    values, undefined = _draws(blocks, cells, levels, counts, people, prior_rng)
    messages = (each.message(name, "draws") for name, each in undefined.items())
    if text := " ".join(filter(None, messages)):
        warn_caller(text)
    level, attrs = levels.described()
    coords = {LEVEL: level} | ({ANNOTATOR: annotations[ANNOTATOR].to_numpy()} if people else {})
    out = known.dataset({name: (_DIMS[name], array) for name, array in values.items()}, coords)
    out.attrs = {"truth": known.source, "prior": list(counts)} | attrs
    return out.assign_attrs(in_words="\n".join(_sentences(out)))


def given_confidence(annotations: xr.Dataset) -> Floats:
    """Return the confidence of each row, or raise if there is none."""
    if "confidence" not in annotations:
        raise AnnotationError(
            "annotations",
            expected="confidence: how sure annotators were of their labels",
            found="none",
            hint="Name the column: dissensus.annotations(..., confidence=)",
        )
    return annotations["confidence"].to_numpy().astype(np.float64)


def _warn_of_fit_without_confidence(truth: Any) -> None:
    posterior = posterior_of(truth, "truth")
    if posterior is None or "model" not in posterior.attrs:
        return  # draws from elsewhere: whether they used confidence is unknown
    if posterior.attrs.get("hyper_confidence", False):
        return
    if "truth" in posterior and bool(posterior["truth"].isin([0.0, 1.0]).all()):
        return  # all true labels are known
    warn_caller(
        "The fit estimated the truth without confidence: where the truth is uncertain, the "
        "difference between sure and unsure labels is underestimated. Give known labels, or a fit "
        "of dissensus.models.rasch with confidence=True."
    )


# Levels of confidence: distinct values or, if there are many, bins of values.


class Levels(NamedTuple):
    """Levels of confidence."""

    value: Floats
    """(value): the different confidences, ascending."""
    code: Ints
    """(row): place of the confidence in ``value``."""
    level: Ints
    """(value): number of the level that contains the value."""
    description: str
    """"levels", or the numbers of bins and of values in words."""

    @property
    def n(self) -> int:
        """The number of levels."""
        return int(self.level[-1]) + 1

    def described(self) -> tuple[Floats, dict[str, Any]]:
        """Return the mean confidence of each level, and attributes of the result."""
        total = np.bincount(self.code, minlength=len(self.value)).astype(np.float64)
        n = np.bincount(self.level, total)
        first = np.searchsorted(self.level, np.arange(self.n))
        last = np.append(first[1:], len(self.level)) - 1
        mean = np.bincount(self.level, total * self.value) / n
        return np.where(first == last, self.value[first], mean), {
            "levels": self.description,
            "lowest": self.value[first],
            "highest": self.value[last],
            "n_labels": n.astype(np.int64),
        }


def levels_of(confidence: Floats, bins: int) -> Levels:
    """Return levels of confidence: the distinct values, or up to ``bins`` bins of similar size.

    Rows with equal values are in the same bin. So there may be fewer bins than requested.

    Examples
    --------
    >>> levels_of(np.array([0.1, 0.2, 0.3, 0.3]), 2).level
    array([0, 0, 1])
    """
    value, code, count = np.unique(confidence, return_inverse=True, return_counts=True)
    if len(value) < 2:
        raise AnnotationError(
            "confidence", expected="at least two levels", found=f"{value[0]:g} in every row"
        )
    if len(value) <= bins:
        return Levels(value, code, np.arange(len(value)), "levels")
    middle = np.cumsum(count) - count / 2.0
    place = np.minimum((middle * bins / len(confidence)).astype(np.int64), bins - 1)
    level = np.unique(place, return_inverse=True)[1]
    return Levels(value, code, level, f"{level[-1] + 1} bins of {len(value):,} values")


# Numbers of right and wrong labels by annotator and confidence, in each draw of weights and truth.


class _Cells(NamedTuple):
    """Counts of labels by (item, label) and by (annotator, confidence)."""

    item: Ints
    """(answer): an answer is a pair of an item and a label."""
    label: Ints
    tally: sparse.csr_array
    """(answer, column): number of labels. A column is a pair of an annotator and a confidence."""
    annotator: Ints
    """(column): code of the annotator, ascending."""
    value: Ints
    """(column): place of the confidence in `Levels.value`, ascending for each annotator."""


def _cells_of(annotations: xr.Dataset, levels: Levels) -> _Cells:
    item, label, annotator = codes_in(annotations, ITEM, LABEL, ANNOTATOR)
    answer, row = _distinct(item, label)
    column, place = _distinct(annotator, levels.code)
    shape = (len(answer[0]), len(column[0]))
    tally = sparse.csr_array((np.ones(len(row)), (row, place)), shape=shape)
    return _Cells(*answer, tally, *column)


def _distinct(first: Ints, second: Ints) -> tuple[tuple[Ints, Ints], Ints]:
    """Return the distinct pairs, ascending, and the index of each row's pair."""
    width = int(second.max(initial=0)) + 1
    pair, number = np.unique(first * width + second, return_inverse=True)
    return (pair // width, pair % width), number


Sides = tuple[Floats, Floats]
"""Weighted numbers of right and of wrong labels, each (draw, ...)."""


def _totals(
    cells: _Cells, truth: TrueLabels, units: Units, rng: np.random.Generator, draws: int
) -> Iterator[Sides]:
    """Yield weighted numbers of right and of wrong labels (draw, column), in blocks of draws.

    In each draw, all labels of a unit have the same weight, which is an exponential variable, and
    one draw of the truth is used.
    """
    block = max(1, CELLS // max(units.n, *cells.tally.shape))
    by_column = cells.tally.T.tocsr()
    for first in range(0, draws, block):
        size = min(block, draws - first)
        weight = rng.standard_exponential((size, units.n))[:, units.of_item[cells.item]]
        code = truth.code[first : first + size] if truth.drawn else truth.code
        is_right = code[:, cells.item] == cells.label
        right, wrong = ((by_column @ (weight * side).T).T for side in (is_right, ~is_right))
        yield right, wrong


def _draws(
    blocks: Iterator[Sides],
    cells: _Cells,
    levels: Levels,
    prior: tuple[float, float],
    n_annotators: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Floats], dict[str, Undefined]]:
    """Return draws (draw, ...) and counts of undefined values, both by name of the result.

    ``prior`` has the counts of wrong and of right labels. With ``n_annotators=0`` there are no
    results by annotator.
    """
    undefined = {name: Undefined() for name in _DIMS}
    start = np.zeros(1, dtype=np.int64)
    by_value = _gather(cells.value, len(levels.value))
    by_level = _gather(levels.level, levels.n)
    level = levels.level[cells.value]
    by_both = _gather(cells.annotator * levels.n + level, n_annotators * levels.n)
    firsts = np.flatnonzero(np.diff(cells.annotator, prepend=-1))
    parts: list[dict[str, Floats]] = []
    for right, wrong in blocks:
        pooled = right @ by_value, wrong @ by_value
        right_of, wrong_of = (side @ by_level for side in pooled)
        labels, errors = right_of + wrong_of, wrong_of.sum(axis=1, keepdims=True)
        part = {
            "error_rate": _error_rate(right_of, wrong_of, prior, rng),
            "level_share": labels / labels.sum(axis=1, keepdims=True),
            "wrong_share": undefined["wrong_share"].divide(wrong_of, errors, _NONE_WRONG),
            "discrimination": _discrimination(*pooled, start, undefined["discrimination"])[:, 0],
        }
        if n_annotators:
            shape = (len(right), n_annotators, levels.n)
            sides = ((side @ by_both).reshape(shape) for side in (right, wrong))
            part["annotator_error_rate"] = _error_rate(next(sides), next(sides), prior, rng)
            name = "annotator_discrimination"
            part[name] = np.full((len(right), n_annotators), np.nan)
            each = _discrimination(right, wrong, firsts, undefined[name])
            part[name][:, cells.annotator[firsts]] = each
        parts.append(part)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, undefined


def _gather(place: Ints, n: int) -> sparse.csr_array:
    """Return the matrix (column, sum) that adds up the columns of each place below n."""
    kept = place < n
    index = np.flatnonzero(kept), place[kept]
    return sparse.csr_array((np.ones(len(index[0])), index), shape=(len(place), n))


def _error_rate(
    right: Floats, wrong: Floats, prior: tuple[float, float], rng: np.random.Generator
) -> Floats:
    """Return draws of the share of wrong labels; gamma variables of the prior counts are added."""
    wrong, right = (
        side + rng.standard_gamma(count, side.shape)
        for side, count in zip((wrong, right), prior, strict=True)
    )
    return np.asarray(wrong / (wrong + right))


def _discrimination(right: Floats, wrong: Floats, start: Ints, undefined: Undefined) -> Floats:
    """Return the probability that a right label has a higher confidence than a wrong label."""
    pairs, all_right, all_wrong = more_sure(right, wrong, start)
    return undefined.divide(pairs, all_right * all_wrong, _NO_PAIR)


def _sentences(check: xr.Dataset) -> list[str]:
    """Return the result in sentences, with central 90 % intervals."""
    top, low = check.isel({LEVEL: -1}), check.isel({LEVEL: 0})
    wrong = check["wrong_share"].mean(list(SAMPLE)).to_numpy()
    out = ["No label is wrong."]
    if np.isfinite(wrong).all():
        both = f", {100 * wrong[-2:].sum():.0f} % with the two highest" if len(wrong) > 2 else ""
        out = [
            f"{100 * wrong[-1]:.0f} % of wrong labels were given with the highest confidence "
            f"({_level(check, -1)}){both}."
        ]
    out.append(
        f"A label given with the highest confidence is wrong with probability "
        f"{_with_interval(top['error_rate'])}, a label with the lowest ({_level(check, 0)}) with "
        f"{_with_interval(low['error_rate'])}."
    )
    if bool(check["discrimination"].notnull().any()):
        out.append(
            "A right label was given with more confidence than a wrong label with "
            f"probability {_with_interval(check['discrimination'])} (a tie counts half; chance is "
            ".50)."
        )
    return [*out, "Intervals: 90 %."]


def _level(check: xr.Dataset, place: int) -> str:
    low, high = (float(check.attrs[name][place]) for name in ("lowest", "highest"))
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _with_interval(draws: xr.DataArray) -> str:
    low, high = draws.quantile([0.05, 0.95], skipna=True).to_numpy()
    return f"{share(float(draws.mean()))} [{share(low)}, {share(high)}]"
