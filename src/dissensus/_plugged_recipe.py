"""The recipe of a model that another package brings."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import xarray as xr

from dissensus import models
from dissensus._recipe import Recipe
from dissensus.data.plausibility import plausibility_of
from dissensus.errors import ArgumentError
from dissensus.sampling import convergence

_RELIABILITY = "reliability"


@dataclass(frozen=True)
class PluggedRecipe(Recipe):
    """A model of which no more is known than that its fit has a plausibility."""

    def fit(self, annotations: xr.Dataset, reliability: float, **options: Any) -> xr.DataTree:
        """Fit the model, and see to what the library's own models see to themselves."""
        fit = models.get(self.model).module.fit
        if self._knows_reliability():
            options[_RELIABILITY] = reliability
        found = fit(annotations, progressbar=False, **options)
        if not isinstance(found, xr.DataTree) or "posterior" not in found.children:
            raise ArgumentError(
                "model", where=f"the fit of {self.model}", found=type(found).__name__,
                expected="a DataTree with a group 'posterior'",
            )  # fmt: skip
        return _completed(found, self.model, options)

    def check_options(self, reliability: Any, hyper: Any) -> None:
        """Raise on a hyperparameter, or a range of reliabilities, that the model does not know."""
        super().check_options(reliability, hyper)
        if reliability is not None and not self._knows_reliability():
            raise ArgumentError(
                _RELIABILITY, expected=f"None: the model {self.model} has no such argument",
                found=repr(reliability),
            )  # fmt: skip

    def _knows_reliability(self) -> bool:
        return _RELIABILITY in inspect.signature(models.get(self.model).module.fit).parameters


def plugged(name: str, kind: str) -> Recipe | None:
    """Return the recipe of a model of that name, if another package brings one.

    Raises
    ------
    ArgumentError
        If its fits are not of this kind of annotations.
    """
    if name not in models.plugins():
        return None
    model = models.get(name)
    if kind not in model.kinds:
        raise ArgumentError(
            "model", expected=f"one for {kind} annotations",
            found=f"{name!r}, for {', '.join(model.kinds)}",
        )  # fmt: skip
    known = inspect.signature(model.module.fit).parameters
    default = known[_RELIABILITY].default if _RELIABILITY in known else 1.0
    usual = float(default) if isinstance(default, int | float) else 1.0
    return PluggedRecipe(name, (usual,), usual, is_limit=False, markov_chains=True)


def _completed(fit: xr.DataTree, model: str, options: dict[str, Any]) -> xr.DataTree:
    """Say what a fit does not say of itself: how it was made, and whether its chains have met."""
    posterior = fit["posterior"]
    attrs: dict[str, Any] = {"model": model, "inference": f"as the model {model} does it"}
    if _RELIABILITY in options:
        attrs[f"hyper_{_RELIABILITY}"] = options[_RELIABILITY]
    if "n_items_poor" not in posterior.attrs:
        attrs |= convergence.diagnosed(plausibility_of(fit))
    if "sample_stats" not in fit.children:
        fit["sample_stats"] = xr.DataTree(xr.Dataset())
    if "n_divergences" not in posterior.attrs:
        attrs |= convergence.divergences(
            {str(name): one for name, one in fit["sample_stats"].data_vars.items()}
        )
    posterior.attrs = attrs | dict(posterior.attrs)
    return fit
