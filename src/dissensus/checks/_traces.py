"""Read traces of `pymc.sample` on a latent truth model into the layout of the model's ``fit``.

A trace has no attributes: the names of its variables identify the model and its settings. Its data
contain the respondent code of each label. Codes of annotators come first, then those of systems,
then one code for known truths.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.data.layout import LABELS, PLACE, RESPONDENTS
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, shown
from dissensus.kernels.types import Ints
from dissensus.statistics._accuracies import OF_RASCH

CONSTANT: Final = "constant_data"
OBSERVED: Final = "observed_data"
PREDICTIVE: Final = "posterior_predictive"
NAMELESS: Final = "annotators_unknown"
"""Attribute of a laid-out trace whose annotators share one accuracy or matrix."""
NUMBERED: Final = "number"
"""Prefix of the numbers of annotators whose names are not in a trace."""
_PLACES: Final = (ITEM, PLACE)
_NAMES: Final[dict[str, frozenset[str]]] = {
    model: frozenset(f"prevalence truth {names}".split()) for model, names in {
        "dawid_skene": "population_confusion confusion_concentration accuracy_spread coefficient "
                       "annotator_offset right_or_wrong error_rows confusion annotator_accuracy "
                       "system_level system_confusion system_accuracy shared_answers "
                       "source_typical_accuracy",
        "symmetric_confusion": "annotator_accuracy system_accuracy mean_accuracy accuracy_spread "
                               "annotator_offset distance_decay error_concentration error_rows "
                               "annotator_typical_accuracy system_typical_accuracy "
                               "difficulty_spread difficulty_slope shared_answers "
                               "source_typical_accuracy",
    }.items()
} | {"rasch": OF_RASCH}  # fmt: skip
"""Variables of each model, except those of ``dawid_skene`` with difficulty=True: its matrices are
then for typical items, and the checks cannot use them."""
_HINT: Final = "Type dissensus.models.{}.fit(annotations, ...), or give the trace as it was sampled"


def no_model(trace: xr.DataTree) -> str:
    """Describe a trace that is not recognised as the trace of a latent truth model."""
    names = list(map(str, trace["posterior"].data_vars)) if "posterior" in trace.children else []
    strange = [name for name in names if not any(name in known for known in _NAMES.values())]
    if strange:
        hard = any(name.startswith("typical_") for name in strange)
        of = " (of dawid_skene with difficulty=True)" if hard else ""
        return f"a trace with variables that these checks do not read: {shown(strange, 6)}{of}"
    if "truth" not in names:
        return "a trace without 'truth' (as with error_correlation=)"
    return f"a trace whose variables fit no model: {shown(names, 12)}"


def as_fit(trace: Any) -> Any:
    """Return a trace of a latent truth model in the layout of a fit, anything else unchanged."""
    if not isinstance(trace, xr.DataTree) or "model" in trace.attrs:
        return trace
    groups = {name: trace[name].to_dataset() for name in trace.children}
    posterior, constant = groups.get("posterior"), groups.get(CONSTANT)
    if posterior is None or constant is None or "truth" not in posterior:
        return trace
    settings = _settings(posterior)
    if not settings or not {RESPONDENTS, LABELS} <= set(constant):
        return trace
    _require_same_labels(groups.get(OBSERVED, xr.Dataset()), constant)
    respondents = _Respondents.read(posterior, constant, settings)
    labels = {OBSERVED: constant[LABELS]}
    if PREDICTIVE in groups and "labels" in groups[PREDICTIVE]:
        labels[PREDICTIVE] = groups[PREDICTIVE]["labels"]
    n_levels = posterior.sizes.get("level", 1)  # a code holds a label and a level of confidence
    if int(constant[LABELS].max()) // n_levels >= posterior.sizes[LABEL]:
        raise ArgumentError(
            "fit", expected="draws of all labels and levels of confidence",
            found="some were dropped", hint=_HINT.format(settings["model"]),
        )  # fmt: skip
    laid = {"posterior": posterior, CONSTANT: respondents.rows(posterior)}
    laid |= {
        group: respondents.by_respondent(values // n_levels) for group, values in labels.items()
    }
    if settings.get("hyper_errors") == "graded":
        laid[OBSERVED]["label_code"].attrs["kind"] = "ordinal"
    fit = xr.DataTree.from_dict(laid)
    fit.attrs = settings | ({NAMELESS: 1} if respondents.is_one else {})
    return fit


def _require_same_labels(observed: xr.Dataset, constant: xr.Dataset) -> None:
    """Raise if the observed labels are not those from which the model computes the truth."""
    if "labels" not in observed:
        return
    labels, codes = observed["labels"], constant[LABELS]
    if labels.shape == codes.shape and not np.array_equal(labels, codes):
        raise ArgumentError(
            "fit", expected="a trace whose observed labels are the data 'label_code', from which "
            "the truth is computed", found="other labels, as after pymc.observe",
            hint='Change the data: pymc.set_data({"label_code": ...}), or build the model again',
        )  # fmt: skip


class _Respondents(NamedTuple):
    """The respondent of each label."""

    codes: Ints
    """(item, place): code of the respondent; negative if the place is empty."""
    n_people: int
    is_one: bool
    """Whether all annotators are one respondent."""
    systems: xr.DataArray | None

    @classmethod
    def read(
        cls, posterior: xr.Dataset, constant: xr.Dataset, settings: dict[str, Any]
    ) -> _Respondents:
        """Read the respondents of a trace; raise if a part of the trace was dropped."""
        hint = _HINT.format(settings["model"])
        for dim in (*SAMPLE, ITEM, LABEL, ANNOTATOR, SYSTEM, "respondent", "level"):
            is_needed = dim in (*SAMPLE, ITEM, LABEL) or dim in posterior.coords
            if is_needed and dim not in posterior.dims:
                raise ArgumentError(
                    "fit", expected=f"draws with the dimension {dim!r}",
                    found="none, as after isel or sel with a single value", hint=hint,
                )  # fmt: skip
        if not np.array_equal(posterior[ITEM], constant[RESPONDENTS][ITEM]):
            raise ArgumentError(
                "fit", expected="a trace whose data and draws have the same items",
                found="data of other items, as after pymc.set_data, or draws of some items",
                hint=hint,
            )  # fmt: skip
        codes = constant[RESPONDENTS].transpose(*_PLACES).to_numpy()
        is_one = "complete" in settings.values() or (
            settings.get("hyper_accuracy") == "common" and settings["hyper_errors"] != "unequal"
        )
        n_systems = posterior.sizes.get(SYSTEM, 0)
        n_people = posterior.sizes.get(ANNOTATOR, posterior.sizes.get("respondent", 0) - n_systems)
        if "error_concentration" in posterior and not {ANNOTATOR, "respondent"} & {*posterior.dims}:
            # With two labels and one accuracy, no variable of the posterior is by respondent.
            n_people = int(codes.max(initial=-1)) + 1 - n_systems
            n_people -= n_people > 1 and _is_truth(codes, posterior, constant)
        n_people = 1 if is_one else n_people
        n_extra = int(codes.max(initial=-1)) + 1 - n_people - n_systems
        if n_extra > 1 or (n_extra == 1 and not _is_truth(codes, posterior, constant)):
            raise ArgumentError(
                "fit", expected="draws of all respondents with labels",
                found=f"draws of {n_people} annotators and {n_systems} systems, and labels of "
                f"{int(codes.max(initial=-1)) + 1} respondents", hint=hint,
            )  # fmt: skip
        return cls(codes, n_people, is_one, posterior.get(SYSTEM))

    def of_annotators(self) -> tuple[Ints, Ints]:
        """Return item and place of annotators' labels, by item and then by annotator."""
        item, place = np.nonzero((self.codes >= 0) & (self.codes < self.n_people))
        order = np.lexsort((self.codes[item, place], item))
        return item[order], place[order]

    def rows(self, posterior: xr.Dataset) -> xr.Dataset:
        """Return the item and the annotator of each label."""
        item, place = self.of_annotators()
        people = np.arange(self.n_people)
        if not self.is_one and ANNOTATOR in posterior.coords:
            people = posterior[ANNOTATOR].to_numpy()
        elif not self.is_one and "respondent" in posterior.coords:
            people = posterior["respondent"].to_numpy()[: self.n_people]
        elif not self.is_one:  # annotators' names are not in the trace
            people = np.array([f"{NUMBERED} {k + 1}" for k in people])
        return xr.Dataset(
            {"item_code": (ANNOTATION, item),
             "annotator_code": (ANNOTATION, self.codes[item, place])},
            coords={ITEM: posterior[ITEM].to_numpy(), LABEL: posterior[LABEL].to_numpy(),
                    ANNOTATOR: people},
        )  # fmt: skip

    def by_respondent(self, labels: xr.DataArray) -> xr.Dataset:
        """Split labels (item, place) into annotators' (annotation) and systems' (item, system)."""
        sample = [dim for dim in labels.dims if dim not in _PLACES]
        values = labels.transpose(*sample, *_PLACES).to_numpy()
        out = {"label_code": ((*sample, ANNOTATION), values[..., *self.of_annotators()])}
        coords = {dim: labels[dim].to_numpy() for dim in sample}
        if self.systems is not None:
            system = self.codes - self.n_people
            item, place = np.nonzero((system >= 0) & (system < self.systems.size))
            answers = np.full((*values.shape[:-1], self.systems.size), -1)
            answers[..., item, system[item, place]] = values[..., item, place]
            out["system_label_code"] = ((*sample, ITEM, SYSTEM), answers)
            coords[SYSTEM] = self.systems.to_numpy()
        return xr.Dataset(out, coords=coords)


def _is_truth(codes: Ints, posterior: xr.Dataset, constant: xr.Dataset) -> bool:
    """Return whether the last respondent is always right: its labels are then the known truths."""
    item, place = np.nonzero(codes == codes.max())
    label = constant[LABELS].transpose(*_PLACES).to_numpy()[item, place]
    truth = posterior["truth"].transpose(*SAMPLE, ITEM, LABEL).to_numpy()[:, :, item, label]
    is_one_each = len(np.unique(item)) == len(item) and "ability" not in posterior
    return is_one_each and bool((truth > 1.0 - 1e-9).all())


def _settings(posterior: xr.Dataset) -> dict[str, Any]:
    """Return the attributes that a fit would have; empty if the variables fit no model."""
    names = {str(name) for name in posterior.data_vars}
    if {"ability", "difficulty"} <= names <= _NAMES["rasch"]:
        return {"model": "rasch"}
    if "annotator_accuracy" not in names:
        return {}
    systems = "related" if "shared_answers" in names else "independent"
    out = {"hyper_difficulty": int("difficulty_spread" in names), "hyper_systems": systems}
    if {"population_confusion", "confusion"} & names and names <= _NAMES["dawid_skene"]:
        pooling = "hierarchical" if "confusion" in names else "complete"
        pooling = pooling if "population_confusion" in names else "none"
        return {"model": "dawid_skene", "hyper_pooling": pooling, **out}
    if not names <= _NAMES["symmetric_confusion"]:
        return {}
    errors = "graded" if "distance_decay" in names else "equal"
    errors = "unequal" if "error_concentration" in names else errors
    accuracy = ANNOTATOR if "mean_accuracy" in names else "common"
    return {
        "model": "symmetric_confusion", "hyper_accuracy": accuracy, "hyper_errors": errors, **out,
    }  # fmt: skip
