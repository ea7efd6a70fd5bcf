"""What an evaluation says of the annotations as they are: agreement, and systems among annotators.

No model is asked here. Each number is a statistic with a posterior by the Bayesian bootstrap over
items (or over the clusters that the annotations name).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import statistics
from dissensus._notes import Notes
from dissensus.dims import ANNOTATOR, ITEM, POSITION
from dissensus.errors import DissensusWarning, PredictionError
from dissensus.schema import voices_per
from dissensus.statistics.bayesian_bootstrap import bayesian_bootstrap
from dissensus.statistics.non_inferiority import non_inferiority

Groups = dict[str, xr.Dataset]
Options = Mapping[str, Any]

COEFFICIENTS: Final[Mapping[str, tuple[tuple[str, str, Options], ...]]] = {
    "nominal": (
        ("percent_agreement", "percent_agreement", {}),
        ("krippendorff_alpha", "krippendorff_alpha", {"level": "nominal"}),
        ("gwet_ac1", "gwet_ac", {}),
        ("leave_one_out_agreement", "leave_one_out_agreement", {}),
    ),
    "ordinal": (
        ("percent_agreement", "percent_agreement", {}),
        ("krippendorff_alpha_ordinal", "krippendorff_alpha", {"level": "ordinal"}),
        ("krippendorff_alpha_nominal", "krippendorff_alpha", {"level": "nominal"}),
        ("gwet_ac2", "gwet_ac", {"weighting": "quadratic"}),
        ("leave_one_out_agreement", "leave_one_out_agreement", {}),
    ),
    "continuous": (("krippendorff_alpha_interval", "krippendorff_alpha", {"level": "interval"}),),
    "ranking": (("leave_one_out_agreement", "leave_one_out_agreement", {}),),
}
"""By kind of annotations: the name in an evaluation, the statistic, and its arguments."""


@dataclass(frozen=True)
class Settings:
    """How it is asked."""

    draws: int
    random_seed: int | None
    distance: Any
    margin: float
    on_missing: str


def observed(annotations: xr.Dataset, predictions: xr.Dataset | None, settings: Settings) -> Groups:
    """Return the groups ``agreement`` and ``discrepancy``, draws, and ``statistics``, as observed.

    All are left out where no item has two annotators, so that nobody can be seen to disagree, and
    where there is one item only, which is no sample. What there is to note (undefined values, few
    items) goes along in the attribute ``notes``.
    """
    units = annotations.get("cluster_code", annotations[ITEM]).to_numpy()
    if int(voices_per(annotations, ITEM).max()) < 2 or len(np.unique(units)) < 2:
        return {}
    points = xr.Dataset()
    groups = {}
    for name, group in (("agreement", _agreement), ("discrepancy", _discrepancy)):
        notes = Notes()
        groups[name] = group(annotations, predictions, settings, notes, points)
        groups[name].attrs["notes"] = "\n".join(dict.fromkeys(notes.texts()))
    return groups | {"statistics": points}


def _drawn(name: str, settings: Settings, annotations: xr.Dataset, *args: Any, **more: Any) -> Any:
    """Draw from the posterior of a registered statistic."""
    return bayesian_bootstrap(
        name, annotations, *args, draws=settings.draws, random_seed=settings.random_seed, **more
    )


def _agreement(
    annotations: xr.Dataset, _: Any, settings: Settings, notes: Notes, points: xr.Dataset
) -> xr.Dataset:
    out = xr.Dataset()
    for name, statistic, options in COEFFICIENTS[annotations.attrs["kind"]]:
        once, found = _both(statistic, settings, notes, annotations, **options)
        out[name], points[name] = found[statistic], once[statistic]
    return out


def _discrepancy(
    annotations: xr.Dataset,
    predictions: xr.Dataset | None,
    settings: Settings,
    notes: Notes,
    points: xr.Dataset,
) -> xr.Dataset:
    """Return how far systems and annotators are from the annotators, and the comparisons."""
    how = {"distance": settings.distance}
    once, out = _both("annotator_discrepancy_ratio", settings, notes, annotations, **how)
    points.update(once)
    out["n_items"] = (ANNOTATOR, voices_per(annotations, ANNOTATOR))
    out.attrs.update(out["annotator_discrepancy_ratio"].attrs, margin=settings.margin)
    if predictions is None:
        return out
    how["on_missing"] = settings.on_missing
    both = annotations, first_labels(annotations, predictions)
    try:
        for name in ("discrepancy_ratio", "advantage_probability", "winning_rate"):
            once, found = _both(name, settings, notes, *both, **how)
            points.update(once)
            out.update(found)
    except PredictionError as problem:
        if settings.distance is not None:
            raise
        with notes.of("statistics"):
            warnings.warn(
                f"Systems have no discrepancy ratio: {problem}", DissensusWarning, stacklevel=2
            )
    else:
        with notes.of("statistics"), _said_before(points["discrepancy_ratio"]):
            out["non_inferiority"] = non_inferiority(out["discrepancy_ratio"], settings.margin)
    return out


@contextmanager
def _said_before(once: xr.DataArray) -> Iterator[None]:
    """Keep quiet about draws where the observed value is undefined already, and noted as such."""
    with warnings.catch_warnings():
        if bool(once.isnull().all()):
            warnings.simplefilter("ignore", DissensusWarning)
        yield


def _both(
    name: str, settings: Settings, notes: Notes, *args: Any, **more: Any
) -> tuple[xr.Dataset, xr.Dataset]:
    """Return a statistic as observed, and its draws."""
    with notes.of("statistics"):
        once = _dataset(statistics.get(name).function(*args, **more), name)
        with _said_before(once[name]):
            found = _drawn(name, settings, *args, **more)
    return once, _dataset(found, name)


def _dataset(found: xr.DataArray | xr.Dataset, name: str) -> xr.Dataset:
    return found if isinstance(found, xr.Dataset) else found.to_dataset(name=name)


def first_labels(annotations: xr.Dataset, predictions: xr.Dataset) -> xr.Dataset:
    """Take the first label of each list, where annotators gave one label and systems lists."""
    if annotations.attrs["kind"] == "ranking" or predictions.attrs["kind"] != "ranking":
        return predictions
    if bool((predictions["block"] == 1).sum(POSITION).max() > 1):
        return predictions  # tied first labels: the statistics say what is wrong with that
    return predictions.isel({POSITION: slice(1)}).assign_attrs(kind="nominal")
