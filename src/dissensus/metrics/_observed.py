"""Correlations of labels as they are observed, effects and residuals averaged out."""

from __future__ import annotations

from typing import NamedTuple

import xarray as xr

from dissensus.dims import BOUNDARY
from dissensus.kernels.special import (
    covariance_between,
    covariance_within,
    logistic_mixture,
    mixture_variance,
    step_variance,
)
from dissensus.metrics._components import BERNOULLI, GAUSSIAN, Components, label_steps

_PART, _OTHER = "part", "other_part"


class Labels(NamedTuple):
    """How observed labels come about: see `dissensus.kernels.special`."""

    weight: xr.DataArray
    bound: xr.DataArray
    sd: xr.DataArray
    variance: xr.DataArray
    """Of the observed label."""


def observed_labels(parts: Components) -> Labels | None:
    """Return how labels come about, with a dim for their parts; None if they are the latent ones.

    Raises
    ------
    ArgumentError
        If the fit does not say what the numbers of ordered labels are.
    """
    if parts.family == GAUSSIAN:
        return None
    if parts.family == BERNOULLI:
        weight, noise = (xr.DataArray(values, dims=_PART) for values in logistic_mixture())
        sd = (parts.effects + noise) ** 0.5
        bound, variance = parts.mu / sd, mixture_variance
    else:
        assert parts.cutpoint is not None
        weight = label_steps(parts).rename({BOUNDARY: _PART})
        cutpoint = parts.cutpoint.drop_vars(BOUNDARY, errors="ignore").rename({BOUNDARY: _PART})
        total = parts.total**0.5
        bound, variance = (parts.mu - cutpoint) / total, step_variance
        sd = total.broadcast_like(bound)
    spread = xr.apply_ufunc(variance, weight, bound, input_core_dims=[[_PART], [_PART]])
    # Where all labels are the same to the last digit, no correlation is defined.
    return Labels(weight, bound, sd, spread.where(spread > 0))


def correlation_within(labels: Labels, shared: xr.DataArray) -> xr.DataArray:
    """Correlate two labels that have a latent variance in common."""
    covariance = xr.apply_ufunc(
        covariance_within, *labels[:3], shared, input_core_dims=[*[[_PART]] * 3, []]
    )
    return (covariance / labels.variance).clip(0.0, 1.0)  # past which there is rounding only


def correlation_between(labels: Labels, others: Labels, shared: xr.DataArray) -> xr.DataArray:
    """Correlate two labels of different pools that have a latent covariance."""
    renamed = [part.rename({_PART: _OTHER}) for part in others[:3]]
    covariance = xr.apply_ufunc(
        covariance_between, *labels[:3], *renamed, shared,
        input_core_dims=[*[[_PART]] * 3, *[[_OTHER]] * 3, []],
    )  # fmt: skip
    return (covariance / (labels.variance * others.variance) ** 0.5).clip(-1.0, 1.0)
