"""Regression of the difficulty of items on the annotators' confidence."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.dims import ITEM, LABEL, SAMPLE
from dissensus.errors import AnnotationError, warn_caller
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.weighted import line, midranks
from dissensus.statistics._confidence_check import given_confidence
from dissensus.statistics._read import codes_in, read
from dissensus.statistics._resampling import CELLS, Units, units_of, warn_of_few
from dissensus.statistics._sums import Undefined
from dissensus.statistics._truth import (
    TrueLabels,
    fit_name,
    labels_only,
    of_known_items,
    place_of,
    posterior_of,
    true_labels,
)
from dissensus.wording import share

NAMES: Final = ("slope", "intercept", "rank_correlation")
IN_FITS: Final = ("difficulty", "item_difficulty")
"""Names in posteriors of `rasch`, and of models of the truth with ``difficulty=True``."""
_NO_TREND: Final = "all items have the same confidence, or the same difficulty"


def confidence_difficulty(
    annotations: xr.Dataset,
    truth: Any,
    *,
    draws: int | None = None,
    cluster: Any = None,
    random_seed: Any = None,
    on_missing: str = "raise",
) -> xr.Dataset:
    r"""Regress the difficulty of items on the annotators' confidence.

    With the mean confidence :math:`c_i` of an item, its difficulty :math:`d_i`, and weights
    :math:`w \sim \mathrm{Dirichlet}(1, \dots, 1)` over items (or clusters of them), each draw is
    the line of least squares

    .. math:: \min_{\alpha, \beta} \sum_i w_i (d_i - \alpha - \beta c_i)^2

    and Spearman's rank correlation, with mid-ranks for ties and the same weights.

    Parameters
    ----------
    annotations : Dataset
        Labels with confidence.
    truth : mapping, Series or DataArray (item), or DataTree
        Known labels by item: difficulty is the share of wrong labels. Or a fit: difficulty is the
        variable ``difficulty`` (`models.rasch`) or ``item_difficulty``
        (`models.symmetric_confusion` and `models.dawid_skene` with ``difficulty=True``), both in
        logits. For other fits, difficulty is the share of labels that differ from a true label
        drawn from the fit. Each draw uses one of the fit's draws.
    draws, cluster, random_seed, on_missing
        As in `confidence_check`.

    Returns
    -------
    xarray.Dataset
        ``slope``, ``intercept`` and ``rank_correlation``, with ``chain`` and ``draw``; for each
        item ``confidence`` and ``difficulty``, with draws if difficulty is from a fit.
        ``attrs["difficulty"]`` is the measure of difficulty, ``attrs["in_words"]`` a summary. If
        all items have the same confidence or difficulty, the slope or the correlation is NaN, with
        a warning. There is also a warning for fewer than 20 items.

    Notes
    -----
    Slope and correlation are closer to 0 than they would be with known difficulties: with few
    annotators the share of wrong labels is a coarse measure, and a fit draws difficulties without
    using confidence. Their absolute values are therefore lower bounds. In simulations with 200
    items of five labels, a slope of -6.2 and a correlation of -.82 were estimated as -3.4 and -.45
    (`models.rasch`, truth known), or -3.1 and -.28 (truth not known).

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Figure 8b.

    Examples
    --------
    >>> import dissensus as dx
    >>> n = 40
    >>> ann = dx.annotations({
    ...     "item": [i for i in range(n) for _ in "ab"], "annotator": list("ab") * n,
    ...     "label": [0, 0, 0, 1] * (n // 2), "confidence": [1, 0.8, 0.6, 0.4] * (n // 2)},
    ...     confidence="confidence")
    >>> trend = dx.confidence_difficulty(ann, dict.fromkeys(range(n), 0), random_seed=1)
    >>> trend["slope"].mean().round(2).item(), trend["rank_correlation"].mean().round(2).item()
    (-1.25, -1.0)
    """
    annotations = labels_only(read(annotations))
    given_confidence(annotations)
    rng = generator(random_seed, "confidence and difficulty")
    units = units_of(annotations, cluster)
    known, difficulty, unit = _difficulty(truth, annotations, rng, on_missing)
    n = known.number_of_draws(draws)
    annotations = of_known_items(annotations, known)
    item = annotations["item_code"].to_numpy()
    count = np.bincount(item, minlength=annotations.sizes[ITEM])
    kept = np.flatnonzero(count)
    if len(kept) < 2:
        raise AnnotationError(
            "annotations", expected="at least two items", found=f"labels of {len(kept)}"
        )
    warn_of_few("confidence_difficulty", count > 0, units)
    confidence = np.bincount(item, given_confidence(annotations), len(count))[kept] / count[kept]
    confidence = np.round(confidence, 12)  # so that rounding errors do not break ties
    difficulty = difficulty[:, kept]
    undefined = {name: Undefined() for name in NAMES}
    trends = _trends(confidence, difficulty, units, kept, rng, n, undefined)
    messages = (undefined[name].message(name, "draws") for name in ("slope", "rank_correlation"))
    if text := " ".join(filter(None, messages)):
        warn_caller(text)
    values: dict[str, tuple[tuple[str, ...], Floats]] = {
        name: ((), array) for name, array in trends.items()
    }
    if known.drawn:
        values["difficulty"] = ((ITEM,), difficulty)
    out = known.dataset(values, {ITEM: annotations[ITEM].to_numpy()[kept]})
    out["confidence"] = (ITEM, confidence)
    if not known.drawn:
        out["difficulty"] = (ITEM, difficulty[0])
    out.attrs = {"difficulty": unit, "truth": known.source}
    return out.assign_attrs(in_words=_sentence(out["rank_correlation"]))


def _difficulty(
    truth: Any, annotations: xr.Dataset, rng: np.random.Generator, on_missing: str
) -> tuple[TrueLabels, Floats, str]:
    """Return true labels, the difficulty of items (draw, item), and the unit of difficulty."""
    posterior = posterior_of(truth, "truth")
    name = next((each for each in IN_FITS if posterior is not None and each in posterior), None)
    if posterior is None or name is None:
        known = true_labels(truth, annotations, rng, on_missing)
        return known, _wrong_shares(annotations, known), "share of wrong labels"
    array = posterior[name].transpose(*SAMPLE, ITEM)
    values = array.to_numpy()[..., place_of(array, ITEM, annotations[ITEM].to_numpy())]
    coords = {dim: posterior[dim].to_numpy() for dim in SAMPLE}
    values = values.reshape(-1, values.shape[-1])
    # True labels are not used: 0 marks all items as known.
    known = TrueLabels(np.zeros(values.shape, dtype=np.int64), coords, fit_name(posterior))
    return known, values, "difficulty (logits)"


def _wrong_shares(annotations: xr.Dataset, known: TrueLabels) -> Floats:
    """Return the share of wrong labels (draw, item); NaN for items without labels or true label."""
    item, label = codes_in(annotations, ITEM, LABEL)
    shape = (annotations.sizes[ITEM], int(max(label.max(), known.code.max())) + 1)
    counts = np.bincount(item * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape)
    total = counts.sum(axis=1)
    right = counts[np.arange(shape[0]), known.code]
    wrong = 1.0 - right / np.maximum(total, 1)
    return np.where((known.code < 0) | (total == 0), np.nan, wrong)


def _trends(
    confidence: Floats,
    difficulty: Floats,
    units: Units,
    kept: Ints,
    rng: np.random.Generator,
    n: int,
    undefined: dict[str, Undefined],
) -> dict[str, Floats]:
    """Return slope, intercept and rank correlation by name: (draw).

    ``kept`` are the codes of the items.
    """
    block = max(1, CELLS // max(units.n, len(kept)))
    parts: list[tuple[Floats, ...]] = []
    for first in range(0, n, block):
        weight = rng.standard_exponential((min(block, n - first), units.n))[:, units.of_item[kept]]
        weight /= weight.sum(axis=1, keepdims=True)
        values = difficulty[first : first + block] if len(difficulty) > 1 else difficulty
        slope, intercept, _ = line(confidence[None], values, weight)
        ranks = midranks(confidence[None], weight), midranks(values, weight)
        parts.append((slope, intercept, line(*ranks, weight)[2]))
    trends = dict(zip(NAMES, map(np.concatenate, zip(*parts, strict=True)), strict=True))
    return {
        name: undefined[name].where(np.isnan(array), np.nan_to_num(array), _NO_TREND)
        for name, array in trends.items()
    }


def _sentence(draws: xr.DataArray) -> str:
    if not bool(draws.notnull().any()):
        return f"No correlation: {_NO_TREND}."
    low, high = draws.quantile([0.05, 0.95], skipna=True).to_numpy()
    mean = float(draws.mean())
    direction = "less" if mean < 0 else "more"
    return (
        f"Annotators are {direction} sure of difficult items: correlation of ranks {share(mean)} "
        f"[{share(low)}, {share(high)}] (90 %)"
        + (", which may be 0." if low < 0 < high else ", and stronger with known difficulties.")
    )
