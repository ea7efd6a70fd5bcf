"""Whether labels of a fitted latent truth have kept their meaning."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.dims import ANNOTATOR, LABEL, RESPONSE, SAMPLE
from dissensus.kernels.types import Floats


def in_place(posterior: xr.Dataset, labels: npt.NDArray[np.generic]) -> xr.DataArray:
    """Return how probable it is that each label is what is mostly said where it is true.

    Of annotators together, their population or their mean: the diagonal must be the largest entry
    of its row of the confusion matrix.

    Examples
    --------
    >>> rows = np.array([[[[0.6, 0.4], [0.3, 0.7]], [[0.6, 0.4], [0.7, 0.3]]]])
    >>> confusion = xr.DataArray(rows, dims=("chain", "draw", "label", "response"))
    >>> in_place(xr.Dataset({"population_confusion": confusion}), np.array(["x", "y"])).values
    array([1. , 0.5])
    """
    whole = _confusion(posterior, len(labels))
    largest = np.diagonal(whole, axis1=-2, axis2=-1) >= whole.max(axis=-1)
    share = largest.mean(axis=tuple(range(largest.ndim - 1)))
    return xr.DataArray(share, dims=LABEL, coords={LABEL: labels})


def _confusion(posterior: xr.Dataset, n: int) -> Floats:
    """Return the annotators' confusion matrix (chain, draw, label, response)."""
    if "confusion" in posterior or "population_confusion" in posterior:
        whole = posterior.get("population_confusion")
        if whole is None:
            whole = posterior["confusion"].mean(ANNOTATOR)
        return np.asarray(whole.transpose(*SAMPLE, LABEL, RESPONSE).to_numpy())
    return common_confusion(posterior, n)


def common_confusion(posterior: xr.Dataset, n: int) -> Floats:
    """Return the mean confusion matrix (chain, draw, label, response) of symmetric confusion.

    Examples
    --------
    >>> accuracy = xr.DataArray([[0.8]], dims=("chain", "draw"))
    >>> common_confusion(xr.Dataset({"annotator_accuracy": accuracy}), 3)[0, 0, 0]
    array([0.8, 0.1, 0.1])
    """
    accuracy = posterior["annotator_accuracy"]
    accuracy = accuracy.mean([dim for dim in accuracy.dims if dim not in SAMPLE]).transpose(*SAMPLE)
    decay = posterior.get("distance_decay", xr.zeros_like(accuracy)).transpose(*SAMPLE)
    step = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = np.exp(-decay.to_numpy()[..., None, None] * step) * (step > 0)
    right = accuracy.to_numpy()[..., None, None]
    wrong = (1.0 - right) * weight / weight.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(step == 0, right, wrong))
