"""Statistics of the observed annotations: agreement, and discrepancies of systems and annotators.

No model is fitted. Each statistic has a posterior by the Bayesian bootstrap over items, or over
clusters if the annotations name any. Posteriors of agreement and of systems' discrepancies also
contain the variation between annotators.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import statistics
from dissensus.data import tables
from dissensus.data.rows import voices_per
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, POSITION, SYSTEM
from dissensus.errors import DissensusWarning, PredictionError
from dissensus.evaluation.other_annotators import (
    MANY_ROWS,
    Versions,
    by_others,
    versions,
    with_others,
)
from dissensus.evaluation.same_annotators import NEW_ANNOTATORS
from dissensus.evaluation.section import Groups, Notes, Settings
from dissensus.statistics._advantage_probability import NO_ITEMS
from dissensus.statistics._bayesian_bootstrap import drawn, prepared
from dissensus.statistics._discrepancy_ratio import NO_OTHERS
from dissensus.statistics._non_inferiority import non_inferiority
from dissensus.statistics._resampling import FEW_UNITS, OF_FEW, Units, units_of
from dissensus.statistics._votes import by_annotator
from dissensus.wording import coefficient_title, counted

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
    "set": (
        ("krippendorff_alpha_masi", "krippendorff_alpha", {"distance": "masi"}),
        ("krippendorff_alpha_jaccard", "krippendorff_alpha", {"distance": "jaccard"}),
    ),
}
"""By kind of annotations: a statistic's name in an evaluation, its function and its arguments."""


_OF_SOME: Final = rf".*({OF_FEW}|{NO_OTHERS}|{NO_ITEMS})"
"""Matches warnings about annotators who share few items, or none, with others."""

CLASSES: Final = (
    "The labels are whole numbers without a stated order: agreement and discrepancies treat them "
    'as classes. If they are grades, read them with kind="ordinal".'
)


def observed(annotations: xr.Dataset, predictions: xr.Dataset | None, settings: Settings) -> Groups:
    """Return ``agreement`` and ``discrepancy`` (draws), and ``statistics`` (observed values).

    There are no groups if no item has two annotators, or if there is only one item or cluster. The
    attribute ``notes`` holds warnings about undefined values, few items, and labels of unknown
    order.
    """
    units = annotations.get("cluster_code", annotations[ITEM]).to_numpy()
    if int(voices_per(annotations, ITEM).max()) < 2 or len(np.unique(units)) < 2:
        return {}
    if predictions is not None:
        predictions = first_labels(annotations, predictions)
    kind = annotations.attrs["kind"]
    if are_classes(annotations, predictions):
        kind = "nominal"
        if settings.distance is None:
            settings = replace(settings, distance="nominal")
    bootstrap = Bootstrap(annotations, settings, Notes(), xr.Dataset(), units_of(annotations, None))
    agreement = xr.Dataset()
    seed = settings.random_seed
    without = versions(annotations, seed)
    for name, statistic, options in COEFFICIENTS[kind]:
        called = None if name == statistic else name
        draws = bootstrap.of(statistic, called=called, **options)[name]
        agreement[name] = with_others(draws, without, statistic, options, seed)
    notes = [CLASSES] if kind != annotations.attrs["kind"] else []
    agreement.attrs["notes"] = "\n".join([*notes, *bootstrap.notes_text().splitlines()])
    agreement.attrs[NEW_ANNOTATORS] = int(without is not None)
    if without is not None and predictions is not None:
        n_predictions = predictions.sizes[ITEM] * predictions.sizes[SYSTEM]
        if annotations.sizes[ANNOTATION] + n_predictions > MANY_ROWS:
            # Use fewer versions, since predictions for each version also need memory.
            without = versions(annotations, seed, n_predictions)
    discrepancy = _discrepancy(replace(bootstrap, notes=Notes()), predictions, without)
    groups = {"agreement": agreement, "discrepancy": discrepancy, "statistics": bootstrap.points}
    return {name: group for name, group in groups.items() if group.data_vars}


def are_classes(annotations: xr.Dataset, predictions: xr.Dataset | None) -> bool:
    """Return whether labels are whole numbers whose order is inferred, not stated."""
    guessed = str(annotations.attrs.get("kind_source", "")).startswith("inferred")
    named = predictions is None or "label_code" in predictions
    return annotations.attrs["kind"] == "ordinal" and guessed and named


@dataclass(frozen=True)
class Bootstrap:
    """Draws statistics of some annotations, and collects observed values and warnings."""

    annotations: xr.Dataset
    settings: Settings
    notes: Notes
    points: xr.Dataset
    """The values as observed."""
    units: Units

    def of(self, name: str, *args: Any, called: str | None = None, **options: Any) -> xr.Dataset:
        """Return draws of a statistic, and add its observed value to ``points``."""
        settings = self.settings
        with self.notes.of("statistics"), warnings.catch_warnings():
            # `_discrepancy` reports annotators with few items.
            warnings.filterwarnings("ignore", _OF_SOME, DissensusWarning)
            sums = prepared(
                statistics.get(name), (self.annotations, *args), options, settings.random_seed
            )
            point = _dataset(sums.value(), name)
            with _noted_already(point[name]):
                draws = drawn(sums, self.units, settings.draws, settings.random_seed)
        self.points.update(point.rename({name: called}) if called else point)
        return _dataset(draws, name).rename({name: called} if called else {})

    def warn(self, text: str) -> None:
        """Add a note."""
        with self.notes.of("statistics"):
            warnings.warn(text, DissensusWarning, stacklevel=2)

    def notes_text(self) -> str:
        """Return the notes, one per line."""
        texts = (_in_words(text) for text in self.notes.texts())
        return "\n".join(dict.fromkeys(texts))


def _in_words(text: str) -> str:
    """Return a note with the name of a statistic at its beginning replaced by the title."""
    name, space, rest = text.partition(" ")
    known = any(name in (entry.name, f"normalized_{entry.name}") for entry in statistics.STATISTICS)
    return f"{coefficient_title(name)}{space}{rest}" if known else text


def _discrepancy(
    bootstrap: Bootstrap, predictions: xr.Dataset | None, without: Versions | None
) -> xr.Dataset:
    """Return discrepancy ratios of systems and annotators, and comparisons of the two."""
    settings = bootstrap.settings
    present = _present(bootstrap, predictions)
    options: dict[str, Any] = {"distance": settings.distance}
    if settings.distance is None and bootstrap.annotations.attrs["kind"] == "ranking":
        # With whole rankings, annotators who list more labels are farther from the others.
        options = {"distance": "ranking", "depth": 1}
    if not present.all():
        options["weights"] = present.astype(np.float64)
    known = _known(bootstrap.annotations, present, others=2)
    people = len(np.unique(bootstrap.annotations["annotator_code"].to_numpy()))
    n_left_out = people - len(known.codes)
    units = bootstrap.units.plural
    if n_left_out == people:
        bootstrap.warn(
            f"No annotator shares {FEW_UNITS} {units} or more with two others: too few for a "
            "discrepancy ratio of annotators."
        )
    elif n_left_out:
        verb = "shares" if n_left_out == 1 else "share"
        bootstrap.warn(
            f"{counted(n_left_out, 'annotator')} of {people:,} {verb} fewer than {FEW_UNITS} "
            f"{units} with two others: too few for a discrepancy ratio of their own."
        )
    out = xr.Dataset(attrs={"margin": settings.margin})
    if len(known.codes):
        out = out.merge(
            bootstrap.of("annotator_discrepancy_ratio", **options).isel({ANNOTATOR: known.codes})
        )
        out["n_items"] = (ANNOTATOR, known.n_items)
        out.attrs.update(out["annotator_discrepancy_ratio"].attrs)
    if predictions is not None:
        try:
            known = _known(bootstrap.annotations, present, others=1)
            systems = _of_systems(bootstrap, predictions, known, options, without)
        except PredictionError as problem:
            if settings.distance is not None:
                raise
            bootstrap.warn(f"Systems have no discrepancy ratio: {problem}")
        else:
            out = _merged(out, systems)
    out.attrs.pop("better", None)
    return out.assign_attrs(notes=bootstrap.notes_text())


def _merged(annotators: xr.Dataset, systems: xr.Dataset) -> xr.Dataset:
    """Merge both results; annotators that only the systems' results name have the ratio NaN."""
    attrs = annotators.attrs | systems.attrs
    if "n_items" in annotators and ANNOTATOR in systems.coords:
        everyone = systems[ANNOTATOR].to_numpy()
        n_items = annotators["n_items"].reindex({ANNOTATOR: everyone}, fill_value=0)
        annotators = annotators.drop_vars("n_items").reindex({ANNOTATOR: everyone})
        annotators = annotators.assign(n_items=n_items)
    return annotators.merge(systems).assign_attrs(attrs)


def _of_systems(
    bootstrap: Bootstrap, predictions: xr.Dataset, known: Known, options: dict[str, Any],
    without: Versions | None,
) -> xr.Dataset:  # fmt: skip
    options = options | {"on_missing": bootstrap.settings.on_missing}
    out = bootstrap.of("discrepancy_ratio", predictions, **options)
    if without is not None:
        others = {name: value for name, value in options.items() if name != "weights"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DissensusWarning)  # the statistic itself has warned
            of_versions = statistics.get("discrepancy_ratio").sums(
                without.annotations, without.predictions(bootstrap.annotations, predictions),
                **others | {"on_missing": "drop"},
            )  # fmt: skip
        out = by_others(out, without, of_versions, bootstrap.settings.random_seed)
    if len(known.codes):
        out.update(bootstrap.of("advantage_probability", predictions, **options).isel(
            {ANNOTATOR: known.codes}
        ))  # fmt: skip
        out.update(bootstrap.of("winning_rate", predictions, **options))
        least = inspect.signature(statistics.get("winning_rate").function).parameters["min_items"]
        out["winning_rate"].attrs["n_annotators"] = int((known.n_items >= least.default).sum())
    with bootstrap.notes.of("statistics"), _noted_already(bootstrap.points["discrepancy_ratio"]):
        out["non_inferiority"] = non_inferiority(
            out["discrepancy_ratio"], bootstrap.settings.margin
        )
    return out


class Known(NamedTuple):
    """Annotators who share enough items with other annotators."""

    codes: npt.NDArray[np.int64]
    n_items: npt.NDArray[np.int64]
    """(annotator): number of items that enough other annotators labelled as well."""


def _known(annotations: xr.Dataset, present: npt.NDArray[np.bool_], others: int) -> Known:
    """Return the annotators who share enough items with at least ``others`` other annotators."""
    shared = present & (voices_per(annotations, ITEM) > others)
    rows = shared[annotations["item_code"].to_numpy()]
    if not rows.any():
        return Known(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    kept = annotations.isel({ANNOTATION: rows})
    n_items = voices_per(kept, ANNOTATOR)
    n_units = n_items
    if "cluster_code" in kept:
        unit = kept["cluster_code"].to_numpy()[kept["item_code"].to_numpy()]
        n_units = voices_per(kept.assign(item_code=(ANNOTATION, unit)), ANNOTATOR)
    codes = np.flatnonzero(n_units >= FEW_UNITS)
    return Known(codes, n_items[codes])


def _present(bootstrap: Bootstrap, predictions: xr.Dataset | None) -> npt.NDArray[np.bool_]:
    """Return which items have predictions; all items, if items without them are not dropped."""
    items = bootstrap.annotations[ITEM].to_numpy()
    everywhere = np.ones(len(items), dtype=bool)
    if predictions is None or bootstrap.settings.on_missing != "drop":
        return everywhere  # if items must be the same, a later check raises
    present = tables.match(items, predictions[ITEM].to_numpy()) >= 0
    if not present.all():
        n_bare = int((~present).sum())
        verb = "is" if n_bare == 1 else "are"
        bootstrap.warn(
            f"{counted(n_bare, 'item')} of {len(items):,} without predictions {verb} left out of "
            "the discrepancies, of systems and of annotators."
        )
    return present


@contextmanager
def _noted_already(point: xr.DataArray) -> Iterator[None]:
    """Ignore warnings about undefined draws if observed values are undefined, which has a note."""
    with warnings.catch_warnings():
        undefined = point.isnull()
        if bool(undefined.all()):
            warnings.simplefilter("ignore", DissensusWarning)
        elif bool(undefined.any()):
            warnings.filterwarnings("ignore", r".*undefined \(NaN\) in .* draws:", DissensusWarning)
        yield


def _dataset(values: xr.DataArray | xr.Dataset, name: str) -> xr.Dataset:
    return values if isinstance(values, xr.Dataset) else values.to_dataset(name=name)


def first_labels(annotations: xr.Dataset, predictions: xr.Dataset) -> xr.Dataset:
    """Return the first label of each list if annotators gave single labels."""
    if annotations.attrs["kind"] == "ranking" or predictions.attrs["kind"] != "ranking":
        return predictions
    if bool((predictions["block"] == 1).sum(POSITION).max() > 1):
        return predictions  # tied first labels: the statistics raise an error
    return predictions.isel({POSITION: slice(1)}).assign_attrs(kind="nominal")


def of_majority(
    annotations: xr.Dataset, predictions: xr.Dataset | None, on_missing: str = "raise"
) -> xr.Dataset:
    """Return how often systems and annotators give the majority label of an item.

    ``majority_accuracy`` (system) and ``annotator_majority`` (annotator), the latter against the
    majority of the other annotators; NaN for annotators who share no item with others. Each of n
    tied labels counts 1/n.
    """
    out = xr.Dataset({"annotator_majority": by_annotator(annotations)})
    if predictions is not None:
        with warnings.catch_warnings():
            # The metrics have warned of items that are left out.
            warnings.simplefilter("ignore", DissensusWarning)
            out["majority_accuracy"] = (
                statistics.get("majority_vote_accuracy")
                .function(annotations, predictions, on_missing=on_missing)
                .drop_attrs(deep=False)
            )
    return out
