"""Learning the Dirichlet prior that all items share; it favours the labels that systems predict."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.chunks import chunks_of, is_chunked
from dissensus.data.predictions import Features, features
from dissensus.data.rows import label_counts
from dissensus.data.schema import checked_annotations
from dissensus.dims import (
    ITEM,
    LABEL,
    LISTING_SYSTEM,
    SAMPLE,
    SCORED_SYSTEM,
    STRATUM,
    SYSTEM,
)
from dissensus.errors import ArgumentError
from dissensus.kernels.ellipses import SD_SPREAD
from dissensus.kernels.learned_prior import (
    CONCENTRATION_SPREAD,
    FEATURE_SPREAD,
    LABEL_SPREAD,
    Layout,
    alike,
    cells_of,
    draw_hyperparameters,
    draw_plausibilities,
    layout,
)
from dissensus.kernels.random import generator, item_keys, name_hashes, row_keys
from dissensus.kernels.types import Floats
from dissensus.sampling import fitting
from dissensus.sampling.chains import by_lots, mapped

Size = tuple[int, int]

LEARNED: Final = "learned"
INFERENCE: Final = (
    "the prior by elliptical slice sampling, with the plausibilities integrated out; then the "
    "plausibilities by exact draws, given the prior"
)


_SHOWN: Final = 10_000_000
"""Cells times sweeps of all chains above which a progress bar is shown: about a second of work."""


class LearnedPrior(NamedTuple):
    """Draws of the hyperparameters, learned from all items."""

    values: Floats
    """(chain, draw, hyperparameter): see `dissensus.kernels.learned_prior.Layout`."""
    log_density: Floats
    """(chain, draw)"""
    n_labels: int
    n_items: int = 0
    """Number of items from which the prior was learned."""
    stored: bool = True
    """Whether a fit stores these draws; fits of single chunks do not."""
    unnamed: float | None = None
    """For rankings: mean gamma shape of a label that nobody named, to split the remainder by."""

    def draws(self, labels: npt.NDArray[Any], item_features: Features) -> dict[str, xr.DataArray]:
        """Return the draws of each hyperparameter by name, as in a posterior."""
        layout = _layout(self.n_labels, item_features)
        out = {"concentration": xr.DataArray(np.exp(self.values[..., 0]), dims=SAMPLE)}
        weights = self.values[..., 1 : 1 + layout.n_weights]
        of_strata = layout.of_strata(self.values)
        names = (
            list(labels[: layout.n_free]),
            item_features.systems,
            item_features.with_lists,
            item_features.with_probabilities,
        )
        first, place = 0, 1 + layout.n_weights
        for (name, dim), each in zip(WEIGHTS.items(), names, strict=True):
            if not each:
                continue
            part = slice(first, first + len(each))
            coords, first = {dim: each}, first + len(each)
            out[name] = xr.DataArray(weights[..., part], dims=(*SAMPLE, dim), coords=coords)
            if layout.n_strata:
                out[f"{name}_sd"] = xr.DataArray(np.exp(self.values[..., place]), dims=SAMPLE)
                out[f"stratum_{name}"] = xr.DataArray(
                    of_strata[..., part], dims=(*SAMPLE, STRATUM, dim),
                    coords={STRATUM: list(item_features.strata)} | coords,
                )  # fmt: skip
                place += 1
        return out


def _layout(n_labels: int, item_features: Features) -> Layout:
    return layout(n_labels, item_features.kinds, len(item_features.strata))


def chosen(items: npt.NDArray[np.generic], most: int) -> npt.NDArray[np.bool_]:
    """Return whether each item is chosen to learn the prior from (item).

    All items are chosen if there are at most ``most``. Otherwise ``most`` items are chosen by
    hashes of their names: the order and chunks of items do not matter.
    """
    if len(items) <= most:
        return np.ones(len(items), dtype=np.bool_)
    hashes = name_hashes(items)
    return np.asarray(hashes <= np.partition(hashes, most - 1)[most - 1])


def prior_of(
    annotations: xr.Dataset,
    *,
    predictions: xr.Dataset | None,
    draws: int,
    chains: int,
    tune: int,
    random_seed: Any,
    progressbar: bool,
    **others: Any,
) -> LearnedPrior:
    """Draw the hyperparameters, learned from all items, in memory or in chunks.

    The result can be passed as ``prior_count`` to fits with the same predictions, draws and chains.
    It does not depend on the ``reliability`` of these fits: every label counts once.
    """
    del others  # settings of a fit that the prior does not need
    size = arguments.sample_shape(draws, chains)
    parts: Iterable[xr.Dataset] = [annotations]
    if is_chunked(annotations):
        parts = (checked_annotations(chunk.read()) for chunk in chunks_of(annotations))
    lots = (
        (
            label_counts(part).astype(np.float64),
            features(predictions, part[ITEM].to_numpy(), part[LABEL].to_numpy()).by_stratum(part),
        )
        for part in parts
    )
    rng = generator(random_seed, "prior")
    return learned(lots, size, arguments.whole("tune", tune, 0), rng, progressbar=progressbar)


def learned(
    lots: Iterable[tuple[Floats, Features]], size: Size, tune: int, rng: np.random.Generator,
    *, progressbar: bool = False,
) -> LearnedPrior:  # fmt: skip
    """Draw the hyperparameters; each lot is the counts (item, label) and features of some items."""
    kinds = []
    for lot, item_features in lots:
        labelled = lot.any(axis=1)  # items without labels carry no information
        stratum = None if item_features.stratum is None else item_features.stratum[labelled]
        kinds.append(
            alike(lot[labelled], [each[labelled] for each in item_features.values], stratum=stratum)
        )
        layout = _layout(lot.shape[1], item_features)
    values = [np.concatenate([part[1][f] for part in kinds]) for f in range(len(kinds[0][1]))]
    counts, times, stratum = (np.concatenate([part[k] for part in kinds]) for k in (0, 2, 3))
    if len(kinds) > 1:
        counts, values, times, stratum = alike(counts, values, times, stratum)
    keys = row_keys(np.arange(size[0], dtype=np.uint64), seed=fitting.stream_seed(rng))
    cells = cells_of(counts, values, times, stratum)
    shown = progressbar and len(cells.label) * (tune + size[1]) * size[0] > _SHOWN
    drawn = draw_hyperparameters(
        cells, layout, size[1], keys, tune,
        lambda job, n: mapped(job, range(n), "Learning the prior, chain", shown),
    )  # fmt: skip
    return LearnedPrior(drawn[..., :-1], drawn[..., -1], counts.shape[1])


def plausibilities(
    prior: LearnedPrior, counts: Floats, item_features: Features, items: npt.NDArray[Any],
    size: Size, seed: int,
) -> Floats:  # fmt: skip
    """Draw each item's plausibilities, given the hyperparameters: (chain, draw, item, label).

    ``counts`` (item, label) are numbers of labels, multiplied by the reliability.
    """
    keys = item_keys(items, size[0], seed=seed)
    theta = np.empty((*size, *counts.shape))
    layout = _layout(prior.n_labels, item_features)
    assert prior.values.shape[-1] == layout.size, "learned with other strata or predictions"
    weights = np.ascontiguousarray(layout.of_strata(prior.values[:, : size[1]]))
    log_kappa = np.ascontiguousarray(prior.values[:, : size[1], 0])
    strata = np.zeros(len(counts), dtype=np.int64)
    if layout.n_strata and item_features.stratum is not None:
        strata = item_features.stratum

    def draw_lot(chain: int, low: int, high: int) -> None:
        values = [each[low:high] for each in item_features.values]
        cells = cells_of(counts[low:high], values, stratum=strata[low:high])
        draw_plausibilities(
            log_kappa[chain], weights[chain], keys[chain, low:high], theta[chain, :, low:high],
            cells.n_labels, cells.start, cells.label, cells.given, cells.bounds, cells.feature,
            cells.value, cells.stratum, layout.n_free,
        )  # fmt: skip

    by_lots(draw_lot, size[0], len(items))
    return theta


WEIGHTS: Final = {
    "label_weight": LABEL, "prediction_weight": SYSTEM, "later_weight": LISTING_SYSTEM,
    "probability_weight": SCORED_SYSTEM,
}  # fmt: skip
"""The name of each kind of weights, and its dimension."""
EVIDENCE: Final = tuple(WEIGHTS)[1:]
"""Weights of features, in the order of `Features.kinds`."""
HYPERPARAMETERS: Final[tuple[str, ...]] = ("concentration", *WEIGHTS)


def prior_from(posterior: xr.Dataset, n_labels: int) -> LearnedPrior:
    """Return the draws of the hyperparameters that PyMC sampled."""
    arrays = [posterior[name].to_numpy() for name in HYPERPARAMETERS if name in posterior]
    arrays[0] = np.log(arrays[0])[..., None]
    values = np.concatenate(arrays, axis=-1)
    return LearnedPrior(values, np.full(values.shape[:2], np.nan), n_labels)


def is_learned(value: Any) -> bool:
    """Return whether the value of an argument requests a learned prior."""
    return isinstance(value, str) and value == LEARNED


def no_evidence(predictions: xr.Dataset | None, name: str, value: Any) -> None:
    """Raise if there are predictions and a fixed prior: a fixed prior ignores predictions."""
    if predictions is not None:
        raise ArgumentError(
            "predictions", expected=f"None beside a prior that is fixed ({name}={value})",
            found=type(predictions).__name__,
            hint=f'{name}="{LEARNED}" (the default) learns from them',
        )  # fmt: skip


def in_graph(n_labels: int, item_features: Features, typical: float, code: Any = None) -> Any:
    """Add the hyperparameters to a PyMC model; return the concentration and labels' log weights.

    ``typical`` is the prior median of the concentration. With ``code`` the features are of cells:
    ``code`` (cell) is the code of each cell's label, negative for a cell without a named label.
    With strata, each item has the weights of its own stratum.
    """
    import pymc as pm
    import pytensor.tensor as pt

    def weights(name: str, spread: float) -> Any:
        dim = WEIGHTS[name]
        mean = pm.Normal(name, 0.0, spread, dims=dim)
        if not item_features.strata:
            return mean
        sd = pm.LogNormal(f"{name}_sd", 0.0, SD_SPREAD)
        own = pm.Normal(f"stratum_{name}", mean, sd, dims=(STRATUM, dim))
        return own[item_features.stratum]

    concentration = pm.LogNormal("concentration", math.log(typical), CONCENTRATION_SPREAD)
    tilt = 0.0
    if layout(n_labels).n_free:
        tilt = weights("label_weight", LABEL_SPREAD)
        if code is not None:
            # Negative codes select the last entry, 0.
            tilt = pt.concatenate([tilt, [0.0]])[pt.maximum(code, -1)]
    values = iter(item_features.values)
    for name, size in zip(EVIDENCE, item_features.kinds, strict=True):
        if size:
            weight = weights(name, FEATURE_SPREAD)
            own = [weight[:, k, None] if item_features.strata else weight[k] for k in range(size)]
            tilt = tilt + sum(each * next(values) for each in own)
    return concentration, tilt


def log_marginal(parameters: Any, counts: Floats) -> Any:
    """Return the log density of counts (item, label) as a PyTensor expression, up to a constant.

    ``parameters`` (item, label) are the parameters of the Dirichlet prior; the plausibilities are
    integrated out.
    """
    import pytensor.tensor as pt

    total = parameters.sum(axis=-1)
    each = pt.gammaln(parameters + counts) - pt.gammaln(parameters)
    return each.sum() + (pt.gammaln(total) - pt.gammaln(total + counts.sum(axis=-1))).sum()
