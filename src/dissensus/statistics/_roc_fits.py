"""ROC space from a fit that learned how annotators confuse labels."""

from __future__ import annotations

from typing import Any, Final

import xarray as xr

from dissensus.dims import ANNOTATOR, LABEL, RESPONSE, SYSTEM
from dissensus.errors import ArgumentError, shown
from dissensus.statistics._settings import plain_label
from dissensus.statistics._true_labels import named_fit

_EVERYBODY: Final = "all annotators"


def from_posterior(posterior: xr.Dataset, positive: int) -> xr.Dataset:
    """Return sensitivities and false positive rates of annotators, and of systems.

    Raises
    ------
    ArgumentError
        If the posterior has neither confusion matrices nor accuracies with errors that fall on all
        other labels alike.
    """
    found: dict[str, xr.DataArray] = {}
    for who, prefix in ((ANNOTATOR, ""), (SYSTEM, "system_")):
        rates = _rates(posterior, who, positive)
        if rates is None and who == ANNOTATOR:
            raise ArgumentError(
                "annotations",
                expected="annotations, or a fit whose posterior has confusion matrices, or "
                "accuracies with errors that fall on all labels alike",
                found=f"the variables {shown(list(map(str, posterior.data_vars)), 12)}",
                hint="For models of more than two labels: dissensus.models.dawid_skene; or pass "
                "the annotations, and this fit as truth=",
            )
        if rates is not None:
            found |= {
                f"{prefix}{name}": rate.transpose("chain", "draw", who)
                for name, rate in zip(("sensitivity", "false_positive_rate"), rates, strict=True)
            }
    label: Any = plain_label(posterior[LABEL].to_numpy()[positive])
    return xr.Dataset(found, attrs={"positive": label, "truth": named_fit(posterior)})


def _rates(
    posterior: xr.Dataset, who: str, positive: int
) -> tuple[xr.DataArray, xr.DataArray] | None:
    """Return both rates, or None if there is nothing to take them from."""
    matrices = "confusion" if who == ANNOTATOR else "system_confusion"
    if matrices in posterior:
        said = posterior[matrices].isel({RESPONSE: positive}, drop=True)
        return _plain(said, positive), _others(said, posterior["prevalence"], positive)
    accuracy = posterior.get(f"{who}_accuracy")
    if accuracy is None or "accuracy" in posterior:  # of a Rasch model, by item
        return None
    n = posterior.sizes[LABEL]
    if n > 2 and posterior.attrs.get("hyper_errors", "equal") != "equal":
        return None
    if who not in accuracy.dims:
        accuracy = accuracy.expand_dims({who: [_EVERYBODY]})
    return accuracy, (1.0 - accuracy) / (n - 1)


def _plain(said: xr.DataArray, positive: int) -> xr.DataArray:
    return said.isel({LABEL: positive}, drop=True)


def _others(said: xr.DataArray, prevalence: xr.DataArray, positive: int) -> xr.DataArray:
    """Average over the true labels that are not positive, by how prevalent they are."""
    rest = [k for k in range(said.sizes[LABEL]) if k != positive]
    weight = prevalence.isel({LABEL: rest})
    return (said.isel({LABEL: rest}) * weight).sum(LABEL) / weight.sum(LABEL)
