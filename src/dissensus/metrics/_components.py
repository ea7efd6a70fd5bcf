"""Variance components of a fit of crossed effects, and correlations of observed labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments
from dissensus.dims import BOUNDARY, LABEL, POOL, SAMPLE, other
from dissensus.errors import ArgumentError, brief, shown
from dissensus.kernels.special import (
    covariance_between,
    covariance_within,
    logistic_mixture,
    mixture_variance,
    step_variance,
)
from dissensus.sampling import convergence

CROSSED_EFFECTS = "crossed_effects"
CROSS_REPLICATION = "cross_replication"
MODELS = (CROSSED_EFFECTS, CROSS_REPLICATION)
LATENT, OBSERVED = "latent", "observed"
SCALES = (LATENT, OBSERVED)
GAUSSIAN, BERNOULLI, ORDINAL = "gaussian", "bernoulli", "ordinal"
RESIDUAL_VARIANCE = {BERNOULLI: np.pi**2 / 3, ORDINAL: 1.0}
"""Variance of the latent residual: of the logistic and of the standard normal distribution."""


@dataclass(frozen=True)
class Components:
    """Draws of the parts of a label's variance: (chain, draw), or (chain, draw, pool)."""

    family: str
    mu: xr.DataArray
    item: xr.DataArray
    """Variance of the item effects."""
    annotator: xr.DataArray | None
    """Variance of the annotator effects; None with ``anonymous=True``."""
    residual: xr.DataArray
    """Variance of the latent residual."""
    correlation: xr.DataArray | None
    """Correlation of the item effects between pools (pool, pool_)."""
    cutpoint: xr.DataArray | None
    """Cutpoints of ordered labels (boundary)."""
    label_value: xr.DataArray | None
    """The numbers of ordered labels (label)."""
    warning: str = ""
    """Why the chains are unreliable; empty if no reason is known."""

    @property
    def effects(self) -> xr.DataArray:
        """Variance of item and annotator effects together."""
        return self.item if self.annotator is None else self.item + self.annotator

    @property
    def total(self) -> xr.DataArray:
        """Variance of a label on the latent scale."""
        return self.effects + self.residual


def components(fit: Any, models: tuple[str, ...] = MODELS) -> Components:
    """Return the variance components of a fit of one of ``models``, or raise."""
    posterior, constants = _groups(fit, models)
    about = _of_trace(fit) | posterior.attrs | fit.attrs
    _check_model(about.get("model"), models)
    family = about.get("hyper_family")
    arguments.one_of("family of the fit", family, (GAUSSIAN, *RESIDUAL_VARIANCE))
    assert isinstance(family, str)
    draws = _needed(posterior, about["model"], family)
    if "sigma_annotator" in posterior:
        draws["sigma_annotator"] = _sorted(posterior["sigma_annotator"])
    if family == GAUSSIAN:
        residual = draws["sigma"] ** 2
    else:
        residual = xr.full_like(draws["mu"], RESIDUAL_VARIANCE[family])
    annotator = draws.get("sigma_annotator")
    return Components(
        family=family,
        mu=draws["mu"],
        item=draws["sigma_item"] ** 2,
        annotator=None if annotator is None else annotator**2,
        residual=residual,
        correlation=draws.get("correlation"),
        cutpoint=draws.get("cutpoint"),
        label_value=constants.get("label_value"),
        warning=convergence.warning(about),
    )


def _groups(fit: Any, models: tuple[str, ...]) -> tuple[xr.Dataset, xr.Dataset]:
    """Return the posterior and the constant data of a fit."""
    expected = f"a fit of {' or '.join(models)}, with its group 'posterior'"
    if not isinstance(fit, xr.DataTree):
        raise ArgumentError(
            "fit",
            expected=expected,
            found=brief(fit),
            hint="Pass the whole DataTree, which contains the model and the labels",
        )
    if "posterior" not in fit.children:
        groups = f"the groups {shown(list(fit.children))}" if fit.children else "no groups"
        raise ArgumentError("fit", expected=expected, found=groups)
    constants = fit["constant_data"].to_dataset() if "constant_data" in fit.children else None
    return fit["posterior"].to_dataset(), xr.Dataset() if constants is None else constants


def _of_trace(fit: xr.DataTree) -> dict[str, Any]:
    """Return the model and the family of a trace of `pymc.sample`, as attributes of a fit.

    They are inferred from the names of variables. The result is empty for unknown models.
    """
    posterior = fit["posterior"].data_vars
    observed = fit["observed_data"].data_vars if "observed_data" in fit.children else {}
    if not {"mu", "sigma_item"} <= set(posterior) or not {"score", "label_code"} & set(observed):
        return {}
    of_labels = ORDINAL if "cutpoint" in posterior else BERNOULLI
    if of_labels == BERNOULLI and "score" not in observed and int(observed["label_code"].max()) > 1:
        raise ArgumentError(
            "fit", expected="draws of 'cutpoint', since there are more than two labels",
            found=f"draws of {shown([str(name) for name in posterior], 9)}",
            hint="Metrics find the parameters of a model by name: call its cutpoints 'cutpoint'",
        )  # fmt: skip
    return {
        "model": CROSS_REPLICATION if "correlation" in posterior else CROSSED_EFFECTS,
        "hyper_family": GAUSSIAN if "score" in observed else of_labels,
    }


def _check_model(fitted_model: Any, models: tuple[str, ...]) -> None:
    """Raise unless the fitted model is one of ``models``."""
    if fitted_model not in models:
        raise ArgumentError(
            "fit",
            expected=f"a fit of {' or '.join(models)}",
            found=f"a fit of {fitted_model}" if fitted_model else "no attribute 'model'",
            hint="This model has only one pool of annotators"
            if fitted_model == CROSSED_EFFECTS
            else "",
        )


def _needed(posterior: xr.Dataset, model: str, family: str) -> dict[str, xr.DataArray]:
    """Return the draws, by name, that variance components need, with chain and draw in front."""
    names = ["mu", "sigma_item"]
    names += {GAUSSIAN: ["sigma"], ORDINAL: ["cutpoint"]}.get(family, [])
    names += ["correlation"] if model == CROSS_REPLICATION else []
    for name in names:
        if name not in posterior or not set(SAMPLE) <= set(posterior[name].dims):
            raise ArgumentError(
                "fit",
                expected=f"draws of {shown(names, 9)} in the posterior of {model}",
                found=f"none of {name!r}",
            )
    return {name: _sorted(posterior[name]) for name in names}


def _sorted(draws: xr.DataArray) -> xr.DataArray:
    """Return draws with chain and draw first and pools last, without attributes."""
    dims = [dim for dim in (POOL, other(POOL)) if dim in draws.dims]
    return draws.transpose(*SAMPLE, ..., *dims).drop_attrs(deep=False)


def label_steps(parts: Components) -> xr.DataArray:
    """Return the differences of successive labels' numbers, or raise if labels have no numbers."""
    values, cutpoint = parts.label_value, parts.cutpoint
    assert cutpoint is not None
    if values is None or values.size != cutpoint.sizes[BOUNDARY] + 1:
        raise ArgumentError(
            "fit",
            expected="'label_value' in its group 'constant_data', a number for each label",
            found="none"
            if values is None
            else f"{values.size} for {cutpoint.sizes[BOUNDARY]} cutpoints",
        )
    steps = values.drop_vars(LABEL, errors="ignore").astype(np.float64).diff(LABEL)
    return steps.rename({LABEL: BOUNDARY})


# Correlations of observed labels.


_PART, _OTHER = "part", "other_part"


class Labels(NamedTuple):
    """The distribution of observed labels: see `dissensus.kernels.special`."""

    weight: xr.DataArray
    bound: xr.DataArray
    sd: xr.DataArray
    variance: xr.DataArray
    """Variance of the observed label."""


def observed_labels(parts: Components) -> Labels | None:
    """Return the distribution of observed labels; None for numbers, which have one scale only."""
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
    # The correlation is undefined if all labels are the same up to rounding.
    return Labels(weight, bound, sd, spread.where(spread > 0))


def correlation_within(labels: Labels, shared: xr.DataArray) -> xr.DataArray:
    """Return the correlation of two observed labels that share the latent variance ``shared``."""
    covariance = xr.apply_ufunc(
        covariance_within, *labels[:3], shared, input_core_dims=[*[[_PART]] * 3, []]
    )
    return (covariance / labels.variance).clip(0.0, 1.0)  # values outside are rounding errors


def correlation_between(labels: Labels, others: Labels, shared: xr.DataArray) -> xr.DataArray:
    """Return the correlation of observed labels of two pools with latent covariance ``shared``."""
    renamed = [part.rename({_PART: _OTHER}) for part in others[:3]]
    covariance = xr.apply_ufunc(
        covariance_between,
        *labels[:3],
        *renamed,
        shared,
        input_core_dims=[*[[_PART]] * 3, *[[_OTHER]] * 3, []],
    )
    return (covariance / (labels.variance * others.variance) ** 0.5).clip(-1.0, 1.0)
