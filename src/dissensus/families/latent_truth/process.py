"""What the PyMC forms and the Gibbs sampler of a latent truth share: labels and settings."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.alignment import said_by_systems, systems_of
from dissensus.data.known_labels import known_codes
from dissensus.data.rows import statements_per
from dissensus.dims import ANNOTATOR, ITEM, LABEL
from dissensus.errors import ArgumentError, PredictionError, shown
from dissensus.families.latent_truth.design import warn_of_design
from dissensus.families.latent_truth.errors import checked_errors
from dissensus.families.latent_truth.kernels import true_labels
from dissensus.families.latent_truth.kernels.data import Form, Priors, fifths
from dissensus.families.latent_truth.kernels.sweep import Judging, judging
from dissensus.kernels.types import Floats, Ints
from dissensus.kernels.votes import Votes, votes
from dissensus.sampling import fitting

KINDS: Final = ("nominal", "ordinal")
SAMPLERS: Final = ("gibbs", "nuts")
SYSTEMS: Final = ("independent", "related")
EVIDENCE: Final = ("all", "annotators")
NOTHING: Final = -1
"""The code of a system that said nothing of an item."""


class Process(NamedTuple):
    """Labels of annotators, then those of systems, in codes; the form of the process; priors."""

    model: str
    annotations: xr.Dataset
    item: Ints
    """(label given)"""
    voice: Ints
    """(label given): annotators, who may share one voice, then systems."""
    label: Ints
    """(label given)"""
    answers: Ints
    """Of systems (item, system); -1 for none."""
    systems: npt.NDArray[Any]
    """Their names."""
    shared: bool
    """Whether nothing tells annotators apart, and they are one voice."""
    form: Form
    ease: Floats
    """How easy the items of each fifth are, in standard deviations."""
    priors: Priors
    known: Ints
    """True labels (item); -1 for none."""
    errors: true_labels.Prior | None
    """How annotators of one item err together; None if they err independently. Systems are then
    judged by true labels, and none of the voices."""

    @property
    def labels(self) -> npt.NDArray[Any]:
        """The names of labels."""
        return np.asarray(self.annotations[LABEL].to_numpy())

    @property
    def items(self) -> npt.NDArray[Any]:
        """The names of items."""
        return np.asarray(self.annotations[ITEM].to_numpy())

    @property
    def annotators(self) -> npt.NDArray[Any]:
        """The names of annotators."""
        return np.asarray(self.annotations[ANNOTATOR].to_numpy())

    def votes(self) -> tuple[Votes, Ints]:
        """Lay out labels by pattern, for the sampler."""
        return votes(self.item, self.voice, self.label, len(self.items), self.known)

    def judging(self, found: Votes, pattern: Ints) -> Judging | None:
        """Say how true labels follow from what labels point to, if not at once."""
        if self.errors is None:
            return None
        answers = true_labels.answers(pattern, self.answers, NOTHING)
        return judging(found, self.form, self.errors, answers)


def process(
    model: str,
    annotations: xr.Dataset,
    predictions: xr.Dataset | None,
    *,
    shared: bool,
    form: dict[str, int],
    difficulty: bool,
    systems: str,
    evidence: str,
    sampler: str,
    prior_count: float,
    on_missing: str,
    truth: Any = None,
    error_correlation: Any = 0.0,
    rows: Floats | None = None,
) -> Process:
    """Check annotations, predictions and settings, and put them together.

    ``shared`` says that nothing tells annotators apart, ``form`` what else differs between models.

    Raises
    ------
    AnnotationError
        If the annotations are no labels, or of fewer than two kinds, or an item has none.
    PredictionError
        If the predictions are no labels of these items.
    ArgumentError
        If a setting makes no sense.
    """
    fitting.require_kind(annotations, KINDS, model)
    arguments.one_of("systems", systems, SYSTEMS)
    arguments.one_of("evidence", evidence, EVIDENCE)
    arguments.one_of("sampler", sampler, SAMPLERS)
    arguments.flags(difficulty=difficulty)
    _require_labels(annotations)
    errors = checked_errors(error_correlation)
    answers, names = _answers(annotations, predictions, on_missing, errors is not None)
    if systems == "related" and errors is not None:
        raise ArgumentError(
            "systems", expected="'independent' where errors are correlated: each is judged by "
            "itself then", found="'related'",
        )  # fmt: skip
    if systems == "related" and len(names) < 2:
        raise ArgumentError(
            "systems", expected="'independent' with fewer than two systems", found="'related'"
        )
    item, annotator, label = _rows(annotations)
    first = 1 if shared else annotations.sizes[ANNOTATOR]
    heard = answers if errors is None else answers[:, :0]
    who, which = np.nonzero(heard.T >= 0)
    voice = np.zeros_like(annotator) if shared else annotator
    n_voices = first + heard.shape[1]
    n_labels = annotations.sizes[LABEL]
    found = Process(
        model=model, annotations=annotations,
        item=np.concatenate([item, which]), voice=np.concatenate([voice, first + who]),
        label=np.concatenate([label, answers[which, who]]), answers=answers, systems=names,
        shared=shared,
        form=Form(
            **{"n_labels": n_labels, "n_voices": n_voices, "first_system": first,
               "evidence": n_voices if evidence == "all" else first, "rows": 0, "own_accuracy": 0,
               "errors": 0, "ordered": 0, "pooling": 0, **form,
               "difficulty": int(difficulty),
               "related": int(systems == "related")}
        ),
        ease=fifths() if difficulty else np.zeros(1),
        priors=Priors(
            prevalence=np.full(n_labels, arguments.positive("prior_count", prior_count)),
            spread=1.0, difficulty=1.0, slope=0.5, decay=1.0, concentration=np.array([1.5, 1.0]),
            rows=np.ones((n_labels, n_labels)) if rows is None else rows,
            alike=np.array([2.0, 0.2]), system=10.0,
        ),
        known=known_codes(annotations, truth), errors=errors,
    )  # fmt: skip
    warn_of_design(found)
    return found


def _require_labels(annotations: xr.Dataset) -> None:
    fitting.require_choice(annotations)
    fitting.require_annotated(
        statements_per(annotations, ITEM), annotations, "without one nothing speaks of its truth"
    )


def _rows(annotations: xr.Dataset) -> tuple[Ints, Ints, Ints]:
    """Return the codes of items, annotators and labels of the annotations."""
    item, annotator, label = (
        annotations[f"{dim}_code"].to_numpy().astype(np.int64) for dim in (ITEM, ANNOTATOR, LABEL)
    )
    return item, annotator, label


def _answers(
    annotations: xr.Dataset, predictions: xr.Dataset | None, on_missing: str, layered: bool
) -> tuple[Ints, npt.NDArray[Any]]:
    """Return what systems said (item, system), and their names.

    Where they are voices they speak of labels that annotators could give; judged by true labels,
    others are wrong.
    """
    if predictions is None:
        return np.zeros((annotations.sizes[ITEM], 0), dtype=np.int64), np.empty(0, dtype=object)
    found = systems_of(annotations, predictions, on_missing)
    kind = found.predictions.attrs["kind"]
    if kind != "nominal":
        raise PredictionError(
            "predictions", expected="one label from each system and item",
            found=f'numbers (kind "{kind}")' if kind == "continuous" else f"lists (kind {kind!r})",
            hint="Cut numbers into labels; of lists, read the first label only",
        )  # fmt: skip
    labels = annotations[LABEL].to_numpy()
    vocabulary = found.predictions.get(LABEL, xr.DataArray([], dims=LABEL)).to_numpy()
    strange = [one for one in vocabulary.tolist() if one not in set(labels.tolist())]
    if strange and not layered:
        raise PredictionError(
            "predictions", expected=f"labels that annotators could give: {shown(list(labels))}",
            found=f"{shown(strange)}",
            hint="Read the annotations again with labels=, all that can be true",
        )  # fmt: skip
    return said_by_systems(found, labels), found.names
