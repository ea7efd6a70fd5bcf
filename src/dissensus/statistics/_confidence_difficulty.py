"""Whether annotators are less sure of difficult items."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import AnnotationError, warn_caller
from dissensus.kernels.random import generator
from dissensus.kernels.types import Floats
from dissensus.kernels.weighted import line, midranks
from dissensus.statistics._confidence import given_confidence
from dissensus.statistics._read import read
from dissensus.statistics._resampling import Units, units_of, warn_of_few
from dissensus.statistics._sums import Doubts
from dissensus.statistics._truth import (
    TrueLabels,
    labels_only,
    named_fit,
    of_known_items,
    place_of,
    posterior_of,
    true_labels,
)
from dissensus.wording import share

NAMES: Final = ("slope", "intercept", "rank_correlation")
IN_FITS: Final = ("difficulty", "item_difficulty")
"""What posteriors call it: `rasch`, and models of the truth with ``difficulty=True``."""
_CELLS: Final = 400_000
_NO_TREND: Final = "all items have the same confidence, or the same difficulty"


class _Difficulty(NamedTuple):
    """How difficult items are."""

    values: Floats
    """(draw, item); one draw if they are known."""
    words: str


def confidence_difficulty(
    annotations: xr.Dataset,
    truth: Any,
    *,
    draws: int | None = None,
    cluster: Any = None,
    random_seed: Any = None,
    on_missing: str = "raise",
) -> xr.Dataset:
    r"""How the difficulty of items goes with how sure annotators are of them.

    With the mean confidence :math:`c_i` of an item, its difficulty :math:`d_i`, and weights
    :math:`w \sim \mathrm{Dirichlet}(1, \dots, 1)` over items (or clusters of them), each draw is
    the line of least squares

    .. math:: \min_{\alpha, \beta} \sum_i w_i (d_i - \alpha - \beta c_i)^2

    and Spearman's correlation of ranks, ties in the middle, with the same weights.

    Parameters
    ----------
    annotations : Dataset
        Labels with confidence.
    truth : mapping, Series or DataArray (item), or DataTree
        Known labels by item: difficulty is the share of labels that are wrong. Or a fit: difficulty
        is what its posterior has under ``difficulty`` (`models.rasch`) or ``item_difficulty``
        (`models.symmetric_confusion` and `models.dawid_skene` with ``difficulty=True``), both in
        logits; else the share of labels that differ from the ``truth`` drawn from it. Each draw
        then takes one of the fit's.
    draws : int, optional
        How many; 4,000, or, of a fit, as many as it has.
    cluster
        What was sampled, as in `bayesian_bootstrap`: items, or the clusters that annotations name.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    on_missing : {"raise", "drop"}
        Whether items without a known label are an error, or left out with a warning.

    Returns
    -------
    xarray.Dataset
        ``slope``, ``intercept`` and ``rank_correlation``, with ``chain`` and ``draw``; of each item
        its ``confidence`` and ``difficulty``, the latter with the draws of a fit.
        ``attrs["difficulty"]`` says what difficulty is, ``attrs["in_words"]`` what was found.

    Raises
    ------
    AnnotationError
        If there is no confidence, or fewer than two items.
    ArgumentError
        If an item has no known label, the fit is of other items, or a setting makes no sense.

    Warns
    -----
    DissensusWarning
        Where confidence or difficulty is the same for all items: there is no slope then (NaN), or
        no correlation. And if there are fewer than 20 items.

    Notes
    -----
    Slope and correlation are nearer to 0 than those of difficulties that are known: a share of
    wrong labels of few annotators is a coarse measure, and a fit draws difficulties without knowing
    of confidence. Simulated with 200 items of five labels, a slope of -6.2 and a correlation of
    -.82 came out as -3.4 and -.45 (`models.rasch`, truth known), or -3.1 and -.28 (not known). Read
    them as "at least".

    Source: Cabitza et al. (2020), "The elephant in the machine", *Applied Sciences* 10, Figure 8b.

    Examples
    --------
    >>> import dissensus as dx
    >>> n = 40
    >>> ann = dx.annotations({
    ...     "item": [i for i in range(n) for _ in "ab"], "annotator": list("ab") * n,
    ...     "label": [0, 0, 0, 1] * (n // 2), "confidence": [1, 0.8, 0.6, 0.4] * (n // 2)},
    ...     confidence="confidence")
    >>> found = dx.confidence_difficulty(ann, dict.fromkeys(range(n), 0), random_seed=1)
    >>> found["slope"].mean().round(2).item(), found["rank_correlation"].mean().round(2).item()
    (-1.25, -1.0)
    """
    annotations = labels_only(read(annotations))
    given_confidence(annotations)
    rng = generator(random_seed, "confidence and difficulty")
    units = units_of(annotations, cluster)
    known, hard = _difficulty(truth, annotations, rng, on_missing)
    n = known.number_of_draws(draws)
    annotations = of_known_items(annotations, known)
    item = annotations["item_code"].to_numpy()
    count = np.bincount(item, minlength=annotations.sizes[ITEM])
    kept = np.flatnonzero(count)
    if len(kept) < 2:
        raise AnnotationError(
            "annotations", expected="two items at least", found=f"labels of {len(kept)}"
        )
    warn_of_few("confidence_difficulty", count > 0, units, stacklevel=2)
    sure = np.bincount(item, given_confidence(annotations), len(count))[kept] / count[kept]
    sure = np.round(sure, 12)  # else the order of annotators would break ties
    values = hard.values[:, kept]
    doubts = {name: Doubts() for name in NAMES}
    found = _trends(sure, values, units, kept, rng, n, doubts)
    said = (doubts[name].words(name, draws=True) for name in ("slope", "rank_correlation"))
    if text := " ".join(filter(None, said)):
        warn_caller(text)
    return _labelled(found, sure, values, known, annotations[ITEM].to_numpy()[kept], hard.words)


def _difficulty(
    truth: Any, annotations: xr.Dataset, rng: np.random.Generator, on_missing: str
) -> tuple[TrueLabels, _Difficulty]:
    """Return how difficult items are, and what draws there are of it."""
    posterior = posterior_of(truth, "truth")
    name = next((each for each in IN_FITS if posterior is not None and each in posterior), None)
    if posterior is None or name is None:
        known = true_labels(truth, annotations, rng, on_missing)
        return known, _Difficulty(_wrong(annotations, known), "share of wrong labels")
    array = posterior[name].transpose(*SAMPLE, ITEM)
    values = array.to_numpy()[..., place_of(array, ITEM, annotations[ITEM].to_numpy())]
    coords = {dim: posterior[dim].to_numpy() for dim in SAMPLE}
    values = values.reshape(-1, values.shape[-1])
    # Nobody asks for their truth, but they all count as known.
    known = TrueLabels(np.zeros(values.shape, dtype=np.int64), coords, named_fit(posterior))
    return known, _Difficulty(values, "difficulty (logits)")


def _wrong(annotations: xr.Dataset, known: TrueLabels) -> Floats:
    """Return the share of wrong labels (draw, item); NaN where nobody knows, or labelled."""
    item, label = (annotations[f"{name}_code"].to_numpy() for name in ("item", "label"))
    shape = (annotations.sizes[ITEM], int(max(label.max(), known.code.max())) + 1)
    counts = np.bincount(item * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape)
    total = counts.sum(axis=1)
    right = counts[np.arange(shape[0]), known.code]
    share_wrong = 1.0 - right / np.maximum(total, 1)
    return np.where((known.code < 0) | (total == 0), np.nan, share_wrong)


def _trends(
    sure: Floats, values: Floats, units: Units, kept: npt.NDArray[np.intp],
    rng: np.random.Generator, n: int, doubts: dict[str, Doubts],
) -> dict[str, Floats]:  # fmt: skip
    """Return a line and a correlation of ranks for each draw, items weighted."""
    block = max(1, _CELLS // max(units.n, len(kept)))
    parts: list[tuple[Floats, ...]] = []
    for first in range(0, n, block):
        weight = rng.standard_exponential((min(block, n - first), units.n))[:, units.of_item[kept]]
        weight /= weight.sum(axis=1, keepdims=True)
        hard = values[first : first + block] if len(values) > 1 else values
        slope, intercept, _ = line(sure[None], hard, weight)
        ranks = midranks(sure[None], weight), midranks(hard, weight)
        parts.append((slope, intercept, line(*ranks, weight)[2]))
    found = dict(zip(NAMES, map(np.concatenate, zip(*parts, strict=True)), strict=True))
    return {
        name: doubts[name].where(np.isnan(one), np.nan_to_num(one), _NO_TREND)
        for name, one in found.items()
    }


def _labelled(
    found: dict[str, Floats], sure: Floats, values: Floats, known: TrueLabels,
    items: npt.NDArray[Any], what: str,
) -> xr.Dataset:  # fmt: skip
    coords = known.draw_coords(len(found["slope"]))
    shape = tuple(len(coords[dim]) for dim in SAMPLE)
    hard = xr.DataArray(values[0], dims=ITEM)
    if known.drawn:
        hard = xr.DataArray(values.reshape(*shape, -1), dims=(*SAMPLE, ITEM))
    out = xr.Dataset(
        {name: (SAMPLE, values.reshape(shape)) for name, values in found.items()}
        | {"confidence": (ITEM, sure), "difficulty": hard},
        coords=coords | {ITEM: items},
        attrs={"difficulty": what, "truth": known.words},
    )
    return out.assign_attrs(in_words=_sentence(out["rank_correlation"]))


def _sentence(draws: xr.DataArray) -> str:
    """Say whether the sure items are the easy ones."""
    if not bool(draws.notnull().any()):
        return f"No correlation: {_NO_TREND}."
    low, high = draws.quantile([0.05, 0.95], skipna=True).to_numpy()
    mean = float(draws.mean())
    way = "less" if mean < 0 else "more"
    return (
        f"Annotators are {way} sure of difficult items: correlation of ranks {share(mean)} "
        f"[{share(low)}, {share(high)}] (90 %)"
        + (", which may be none." if low < 0 < high else ", and more so were difficulty known.")
    )
