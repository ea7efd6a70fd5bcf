"""What turns annotations of one kind into plausibilities, by one model."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import models
from dissensus.data.plausibility import NAME, plausibility_of
from dissensus.data.predictions import features
from dissensus.data.rows import label_counts, statements_per
from dissensus.dims import ITEM, LABEL, POSITION
from dissensus.errors import ArgumentError, DissensusWarning, PredictionError
from dissensus.metrics.groups import event_plausibility
from dissensus.sampling.learned_prior import LEARNED, prior_of

BELOW, ABOVE = "below", "above"

_NOT_HYPER: Final = frozenset(
    {"annotations", "predictions", "draws", "chains", "random_seed", "progressbar", "reliability"}
    | {"log_likelihood", "posterior_predictive"}
)
"""Arguments of every fit that an evaluation sets itself, or has no use for."""


_WARM_UP: Final = 500
"""As that of fits is by default, whose draws an evaluation so has."""


def shares(annotations: xr.Dataset) -> xr.DataArray:
    """Return the shares of labels (item, label): majority vote reads off the largest."""
    counts = label_counts(annotations)
    total = counts.sum(axis=1, keepdims=True)
    return dense(counts / np.maximum(total, 1), annotations, annotations[LABEL].to_numpy())


@dataclass(frozen=True)
class Recipe:
    """How annotations are turned into plausibilities by one model: all that is peculiar to it."""

    model: str
    reliabilities: tuple[float, ...]
    reference: float
    """The reliability whose posterior is kept, and which reports begin with."""
    point: Callable[[xr.Dataset], xr.DataArray] = shares
    """The point estimate that is used where uncertainty is ignored."""
    leading: str = "the majority label of each item"
    """What one takes for the truth who goes by the point estimate."""
    is_limit: bool = True
    """Whether the posterior shrinks to the point estimate as the reliability grows."""
    prior_weight: Callable[..., float] | None = None
    """From annotations, reliability and hyperparameters to the share of the prior in a typical
    item's posterior. With many labels and few annotators a prior of one label each outweighs
    the data."""
    companion: str | None = None
    """The model beside it where this one is the default: where the choice moves the result."""
    learns: str | None = None
    """The hyperparameter of a prior that is learned, if none is given, with predictions for
    evidence."""
    learn: Callable[..., Any] = prior_of
    """Learns it, once for all reliabilities."""
    insight: bool = False
    """Whether a prior that saw the predictions leaves open what systems know beyond the labels."""
    markov_chains: bool = False
    """Whether draws hang on each other, so that it must be seen whether there are enough."""
    kind: str = ""
    """Kind of the annotations."""

    def fit(self, annotations: xr.Dataset, reliability: float, **options: Any) -> xr.DataTree:
        """Fit the model at one reliability."""
        fit = models.get(self.model).module.fit
        found: xr.DataTree = fit(annotations, reliability=reliability, progressbar=False, **options)
        return found

    def learned(
        self, annotations: xr.Dataset, hyper: Mapping[str, Any], **settings: Any
    ) -> dict[str, Any]:
        """Return what fits at all reliabilities share: a prior that is learned, and from what."""
        if self.learns is None or hyper.get(self.learns, LEARNED) != LEARNED:
            return {}
        asked = {"tune": _WARM_UP, **hyper, **settings}
        prior = self.learn(annotations, **asked)
        if self.markov_chains:  # elsewhere its chains are all there are, and are judged with a fit
            labels = annotations[LABEL].to_numpy()
            prior.diagnosed(labels, features(settings["predictions"], labels[:0], labels))
        return {self.learns: prior, "predictions": settings["predictions"]}

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


def dense(values: Any, annotations: xr.Dataset, labels: Any) -> xr.DataArray:
    """Lay plausibilities out as those of a model are."""
    coords = {ITEM: annotations[ITEM].to_numpy(), LABEL: labels}
    return xr.DataArray(values, dims=(ITEM, LABEL), coords=coords, name=NAME)
