"""Which model serves which kind of annotations, and what its default look at trust is."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import models
from dissensus.arrays.normal_gamma import moments
from dissensus.dims import ITEM, LABEL, POSITION
from dissensus.errors import ArgumentError, DissensusWarning, PredictionError
from dissensus.fitting import finite
from dissensus.metrics.events import event_plausibility
from dissensus.plausibility import NAME, plausibility_of
from dissensus.schema import given_numbers, label_counts, statements_per

BELOW, ABOVE = "below", "above"
HEAVY_PRIOR = 0.5
"""A prior with more than this share of the weight in a typical item is pointed out."""

_NOT_HYPER: Final = frozenset(
    {"annotations", "draws", "chains", "random_seed", "progressbar", "reliability"}
    | {"log_likelihood", "posterior_predictive"}
)
"""Arguments of every fit that an evaluation sets itself, or has no use for."""


@dataclass(frozen=True)
class Recipe:
    """How annotations of one kind are turned into plausibilities."""

    model: str
    kind: str
    reliabilities: tuple[float, ...]
    reference: float
    """The reliability whose posterior is kept, and which reports begin with."""
    inference: str = "exact, independent draws"

    def fit(self, annotations: xr.Dataset, reliability: float, **options: Any) -> xr.DataTree:
        """Fit the model at one reliability."""
        fit = models.get(self.model).module.fit
        found: xr.DataTree = fit(annotations, reliability=reliability, progressbar=False, **options)
        return found

    def check_options(self, reliability: Any, hyper: Mapping[str, Any]) -> None:
        """Raise on a hyperparameter that the model does not have."""
        del reliability
        fit = inspect.signature(models.get(self.model).module.fit)
        known = [name for name in fit.parameters if name not in _NOT_HYPER]
        for name, value in hyper.items():
            if name not in known:
                raise ArgumentError(
                    name,
                    expected=f"a hyperparameter of {self.model}: {', '.join(known)}",
                    found=f"{name}={value!r}",
                )

    def plausibility(self, fit: xr.DataTree) -> xr.DataArray:
        """Take the plausibility out of a fit."""
        return plausibility_of(fit)

    def predictions(self, predictions: xr.Dataset) -> xr.Dataset:
        """Bring predictions into the form the plausibilities have."""
        if "label_code" not in predictions:
            raise PredictionError(
                "predictions",
                expected=f"labels, as the {self.kind} annotations have",
                found=f"numbers such as {predictions['value'].to_numpy().flat[0]:g}",
                hint='If the numbers are names of labels, read them with kind="nominal"',
            )
        return predictions

    def point(self, annotations: xr.Dataset) -> xr.DataArray:
        """Return the point estimate that is used where uncertainty is ignored."""
        if self.model == "inverse_rank":
            found: xr.DataArray = models.get(self.model).module.point(annotations)
            return found
        return shares(annotations)

    def prior_weight(
        self, annotations: xr.Dataset, reliability: float, **hyper: Any
    ) -> float | None:
        """Return the share of the prior in a typical item's posterior; None if it has none.

        With many labels and few annotators a prior of one label each outweighs the data.
        """
        if self.model != "dirichlet":
            return None
        prior = float(hyper.get("prior_count", 1.0)) * annotations.sizes[LABEL]
        said = reliability * float(np.median(statements_per(annotations, ITEM)))
        return prior / (prior + said)

    def statistics(self, annotations: xr.Dataset, point: xr.DataArray) -> xr.Dataset:
        """Describe the observed annotations, and their point estimate, item by item."""
        out = xr.Dataset(coords={ITEM: annotations[ITEM].to_numpy()})
        out["n_annotations"] = (ITEM, statements_per(annotations, ITEM))
        out["leading_share"] = (ITEM, point.to_numpy().max(axis=-1))
        out["point_estimate"] = point
        return out


@dataclass(frozen=True)
class ThresholdRecipe(Recipe):
    """Scores on a scale: the labels are the two sides of a cut."""

    threshold: float = 0.0

    def fit(self, annotations: xr.Dataset, reliability: float, **options: Any) -> xr.DataTree:
        """Fit the model; scores know no reliability but their own spread."""
        del reliability
        found: xr.DataTree = models.get(self.model).module.fit(
            annotations, progressbar=False, **options
        )
        return found

    def check_options(self, reliability: Any, hyper: Mapping[str, Any]) -> None:
        """Warn of a range of reliabilities: a flat curve would look like robust results."""
        super().check_options(reliability, hyper)
        if reliability is not None and np.size(reliability) > 1:
            warnings.warn(
                f"{self.model} has no reliability: its results are the same at all of them.",
                DissensusWarning,
                stacklevel=3,
            )

    def plausibility(self, fit: xr.DataTree) -> xr.DataArray:
        """Turn means and variances into plausibilities of the two sides."""
        return event_plausibility(fit, self.threshold, labels=(BELOW, ABOVE))

    def predictions(self, predictions: xr.Dataset) -> xr.Dataset:
        """Cut predicted numbers at the threshold."""
        if "value" in predictions:
            value = predictions["value"]
        elif predictions[LABEL].dtype.kind in "if":  # whole numbers are read as labels
            first = predictions["label_code"].isel({POSITION: 0}, drop=True)
            value = predictions[LABEL].astype(np.float64)[first].drop_vars(LABEL)
        else:
            return predictions
        side = (value >= self.threshold).astype(np.int64).expand_dims(POSITION, -1)
        out = xr.Dataset({"label_code": side, "block": xr.ones_like(side)})
        return out.assign_coords({LABEL: [BELOW, ABOVE]}).assign_attrs(kind="nominal")

    def point(self, annotations: xr.Dataset) -> xr.DataArray:
        """Return all of an item's mass on the side its mean score is on."""
        item = annotations["item_code"].to_numpy()
        data = moments(given_numbers(annotations), item, annotations.sizes[ITEM])
        above = np.where(data.n > 0, data.mean >= self.threshold, np.nan)
        return _dense(np.stack([1 - above, above], axis=1), annotations, [BELOW, ABOVE])


def recipe_for(
    annotations: xr.Dataset, *, model: str | None = None, threshold: float | None = None
) -> Recipe:
    """Choose how to evaluate annotations of this kind.

    Raises
    ------
    ArgumentError
        If the model is unknown or does not fit, or scores come without a threshold.
    """
    kind = annotations.attrs["kind"]
    if model is None:
        model = {"continuous": "normal_scores", "ranking": "inverse_rank"}.get(kind, "dirichlet")
        if threshold is not None and kind == "ordinal":
            model = "normal_scores"
    fitting = [known.name for known in models.MODELS if kind in known.kinds]
    if model not in fitting:
        raise ArgumentError(
            "model", expected=f"one of {fitting} for {kind} annotations", found=repr(model)
        )
    if model != "normal_scores" and threshold is not None:
        raise ArgumentError(
            "threshold",
            expected=f"None: {model} of {kind} annotations knows no numbers to cut",
            found=repr(threshold),
        )
    if model == "normal_scores":
        if threshold is None:
            raise ArgumentError(
                "threshold",
                expected="the cut between the two outcomes, for annotations that are numbers",
                found="None",
                hint='If the numbers are names of labels, read them with kind="nominal"',
            )
        return ThresholdRecipe(model, kind, (1.0,), 1.0, threshold=finite("threshold", threshold))
    if model == "inverse_rank":
        # The range of Stutz et al. (2023, C.3), and its middle.
        return Recipe(model, kind, (10.0, 20.0, 30.0, 50.0, 100.0), 30.0)
    return Recipe(model, kind, (0.5, 1.0, 2.0, 5.0, 10.0), 1.0)


def shares(annotations: xr.Dataset) -> xr.DataArray:
    """Return the shares of labels (item, label): majority vote reads off the largest."""
    counts = label_counts(annotations)
    total = counts.sum(axis=1, keepdims=True)
    return _dense(counts / np.maximum(total, 1), annotations, annotations[LABEL].to_numpy())


def _dense(values: Any, annotations: xr.Dataset, labels: Any) -> xr.DataArray:
    coords = {ITEM: annotations[ITEM].to_numpy(), LABEL: labels}
    return xr.DataArray(values, dims=(ITEM, LABEL), coords=coords, name=NAME)
