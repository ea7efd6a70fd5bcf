"""What a fit of a latent truth says of items, and of how a further annotator would label them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._replication.predictive_draws import group_of
from dissensus._replication.truth_labels import require_whole
from dissensus._replication.truth_places import common_confusion
from dissensus.dims import ANNOTATOR, ITEM, LABEL, RESPONSE, SAMPLE
from dissensus.errors import ArgumentError, shown
from dissensus.kernels.formulas import CELLS, right_after, right_after_alike
from dissensus.kernels.types import Floats, Ints

RASCH: Final = "rasch"
ROWS: Final = "dawid_skene"
MODELS: Final = (RASCH, "symmetric_confusion", ROWS)
UNSAID: Final = {
    "difficulty_spread": "difficulty=True: how hard an item is goes with what is true of it, and "
    "draws of both together are not kept",
    "error_correlation": "error_correlation=: further labels of an item are not independent of "
    "those it has, given its truth",
    "error_concentration": 'errors="unequal": the errors of each annotator are not kept',
}
"""What a posterior may have that says it does not hold all that is needed."""


@dataclass(frozen=True)
class ReviewDraws:
    """Draws of items' truths, and of a further annotator's labels."""

    truth: xr.DataArray
    """(chain, draw, item, label)"""
    accuracy: xr.DataArray | None
    """(chain, draw, annotator, item), where it is of items; errors are all alike then."""
    response: Floats
    """(draw, label, response), where items are all alike; else empty."""
    given: Ints
    """(item): labels it has."""
    known: npt.NDArray[np.bool_]
    """(item): whether its truth is known."""

    def mean(self) -> Floats:
        """Return how probable each label is to be true (item, label)."""
        mean = self.truth.mean(SAMPLE).transpose(ITEM, LABEL)
        return np.asarray(mean.to_numpy(), dtype=np.float64)

    def after(self, further: int) -> Floats:
        """Return how probably the leading label is right after so many further labels (item)."""
        parts = []
        for some in self._lots():
            truth = _laid(self.truth.isel({ITEM: some}), ITEM, LABEL)
            if self.accuracy is None:
                parts.append(right_after(truth, self.response, further))
                continue
            # Whoever of them is asked: a mean over annotators, whose labels are independent.
            right = _laid(self.accuracy.isel({ITEM: some}).mean(ANNOTATOR), ITEM)
            parts.append(right_after_alike(truth, right, further))
        return np.concatenate(parts)

    def _lots(self) -> Iterator[slice]:
        """Yield items, as many at a time as there is room for."""
        size, n = self.truth.sizes, self.truth.sizes[ITEM]
        wide = size[LABEL]
        if self.accuracy is not None:
            wide += self.accuracy.sizes[ANNOTATOR]
        step = max(1, CELLS // (size["chain"] * size["draw"] * wide))
        yield from (slice(first, first + step) for first in range(0, n, step))


def review_draws(fit: Any) -> ReviewDraws:
    """Read a fit.

    Raises
    ------
    ArgumentError
        If it is no fit of a latent truth, or a part of one, or it did not keep what is needed.
    """
    posterior = group_of(fit, "posterior")
    model = fit.attrs.get("model", "?")
    if model not in MODELS:
        raise ArgumentError(
            "fit", expected=f"a fit of {', '.join(MODELS[:-1])} or {MODELS[-1]}",
            found=f"one of {model}",
        )  # fmt: skip
    _require(posterior, model, ("truth", "accuracy") if model == RASCH else ("truth",))
    require_whole(fit, posterior, (ITEM, LABEL))
    n = posterior.sizes[ITEM]
    item = group_of(fit, "constant_data")["item_code"].to_numpy()
    observed = group_of(fit, "observed_data")
    known = np.zeros(n, dtype=bool)
    if "truth_code" in observed:
        known = observed["truth_code"].to_numpy() >= 0
    return ReviewDraws(
        truth=posterior["truth"],
        accuracy=posterior["accuracy"] if model == RASCH else None,
        response=np.empty((0, 0, 0)) if model == RASCH else _response(posterior, model),
        given=np.bincount(item, minlength=n),
        known=known,
    )


def _require(posterior: xr.Dataset, model: str, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in posterior:
            raise ArgumentError(
                "fit", expected=f"draws of {' and '.join(map(repr, names))} in the posterior",
                found=f"{shown(list(map(str, posterior.data_vars)), 12)}",
                hint=f"Fit again with keep_items=True: dissensus.models.{model}.fit(annotations)",
            )  # fmt: skip
    for name, why in UNSAID.items():
        if model != RASCH and name in posterior:
            raise ArgumentError(
                "fit", expected="draws that say how a further annotator would label each item",
                found=f"a fit of {model} with {why}",
                hint="Items that differ in how hard they are: dissensus.models.rasch. Else fit "
                "without this setting",
            )  # fmt: skip


def _response(posterior: xr.Dataset, model: str) -> Floats:
    """Return what a further annotator says, by what is true (draw, label, response)."""
    if model == ROWS:
        return _laid(posterior["confusion"].mean(ANNOTATOR), LABEL, RESPONSE)
    whole = common_confusion(posterior, posterior.sizes[LABEL])
    return whole.reshape(-1, *whole.shape[2:])


def _laid(draws: xr.DataArray, *dims: str) -> Floats:
    """Lay draws of all chains one after the other: (draw, *dims)."""
    values = draws.transpose(*SAMPLE, *dims).to_numpy()
    return np.asarray(values.reshape(-1, *values.shape[2:]), dtype=np.float64)
