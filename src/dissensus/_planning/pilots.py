"""A pilot study of measurements: fitted, and what is needed of it to draw new studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import models
from dissensus.data.schema import checked_annotations
from dissensus.dims import POOL, SAMPLE
from dissensus.errors import AnnotationError, ArgumentError
from dissensus.metrics._components import CROSS_REPLICATION, CROSSED_EFFECTS, Components, components
from dissensus.sampling import fitting

_FAMILY: Final = {"continuous": "gaussian", "ordinal": "ordinal", "nominal": "bernoulli"}
_DRAWN: Final = ("mu", "sigma_item", "sigma_annotator", "sigma", "correlation", "cutpoint")


class Pilot(NamedTuple):
    """What new studies need to know of a pilot."""

    fit: xr.DataTree
    family: str
    pools: list[Any] | None
    """Names; None where there is one pool without a name."""
    draws: Mapping[str, npt.NDArray[np.float64]]
    """The parameters (sample, ...), chains one after the other."""
    anonymous: bool
    """Whether annotators have no effect of their own."""
    n_annotators: list[int] | None
    """In each pool; None where the fit does not say."""
    label_value: xr.DataArray | None
    """The numbers of ordered labels."""

    @property
    def model(self) -> str:
        """The model's name."""
        return CROSSED_EFFECTS if self.pools is None else CROSS_REPLICATION

    @property
    def n_pools(self) -> int:
        """How many pools there are."""
        return 1 if self.pools is None else len(self.pools)


def pilot_of(
    pilot: Any, family: str | None, priors: Any, random_seed: Any, progressbar: bool
) -> Pilot:
    """Take a fit as it is, or fit annotations.

    Raises
    ------
    ArgumentError
        If the fit is of another model, or of another family than the one asked for.
    AnnotationError
        If the annotations do not suit the model.
    """
    if not isinstance(pilot, xr.DataTree):
        pilot = _fitted(pilot, family, priors, random_seed, progressbar)
    try:
        parts = components(pilot)
    except ArgumentError as problem:
        raise ArgumentError(
            "pilot", expected=problem.expected, found=problem.found, hint=problem.hint
        ) from problem
    if family is not None and family != parts.family:
        raise ArgumentError(
            "family", expected=f"{parts.family!r}, as the pilot was fitted, or none at all",
            found=repr(family),
        )  # fmt: skip
    return _described(pilot, parts)


def is_fit(pilot: Any) -> bool:
    """Say whether this is a fit of variance components, of which only reliability is planned."""
    return isinstance(pilot, xr.DataTree)


def _fitted(
    annotations: Any, family: str | None, priors: Any, random_seed: Any, progressbar: bool
) -> xr.DataTree:
    checked_annotations(annotations)
    several = "pool_code" in annotations and annotations.sizes[POOL] > 1
    model = models.get(CROSS_REPLICATION if several else CROSSED_EFFECTS).module
    with fitting.all_or_nothing():
        return model.fit(
            annotations, family=family or _family_for(annotations), priors=priors,
            keep_effects=False, random_seed=random_seed, progressbar=progressbar,
        )  # fmt: skip


def _family_for(annotations: xr.Dataset) -> str:
    """Return the family of labels that these are."""
    kind = annotations.attrs["kind"]
    n_labels = annotations.sizes.get("label", 0)
    if kind not in _FAMILY or (kind == "nominal" and n_labels != 2):
        raise AnnotationError(
            "pilot", expected="numbers, ordered labels, or two labels, to plan reliability",
            found=f"{n_labels} {kind} labels",
            hint="If they have an order, read them with kind='ordinal' and labels= in order",
        )  # fmt: skip
    return _FAMILY[kind]


def _described(fit: xr.DataTree, parts: Components) -> Pilot:
    posterior = fit["posterior"].to_dataset()
    draws = {}
    for name in _DRAWN:
        if name in posterior:
            values = posterior[name].transpose(*SAMPLE, ...).to_numpy()
            draws[name] = values.reshape(-1, *values.shape[2:])
    pooled = POOL in parts.mu.dims
    return Pilot(
        fit=fit,
        family=parts.family,
        pools=list(parts.mu[POOL].to_numpy()) if pooled else None,
        draws=draws,
        anonymous=parts.annotator is None,
        n_annotators=_people(fit, parts.mu.sizes[POOL] if pooled else 1),
        label_value=parts.label_value,
    )


def _people(fit: xr.DataTree, n_pools: int) -> list[int] | None:
    """Count the annotators of each pool, if the fit holds who labelled what."""
    known = fit["constant_data"].to_dataset() if "constant_data" in fit.children else xr.Dataset()
    if "annotator_code" not in known:
        return None
    who = known["annotator_code"].to_numpy()
    if n_pools == 1:
        return [len(np.unique(who))]
    pool = known["pool_code"].to_numpy()
    return [len(np.unique(who[pool == p])) for p in range(n_pools)]
