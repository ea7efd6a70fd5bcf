"""The process behind labels with a latent truth: checked annotations, predictions and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.alignment import labels_by_systems, systems_of
from dissensus.data.known_labels import known_codes
from dissensus.data.rows import statements_per
from dissensus.dims import ANNOTATOR, ITEM, LABEL
from dissensus.errors import ArgumentError, PredictionError, shown
from dissensus.families.latent_truth.design import warn_of_design
from dissensus.families.latent_truth.errors import checked_errors
from dissensus.families.latent_truth.kernels import true_labels
from dissensus.families.latent_truth.kernels.data import (
    NO_ANSWER,
    Form,
    Priors,
    Regression,
    fifths,
    regression,
)
from dissensus.kernels.types import Array, Flags, Floats, Ints
from dissensus.kernels.votes import Votes, votes
from dissensus.sampling import fitting

KINDS: Final = ("nominal", "ordinal")


class Process(NamedTuple):
    """Codes of the labels of annotators, then of systems; the form of the process; its priors."""

    model: str
    annotations: xr.Dataset
    item: Ints  # (row)
    respondent: Ints  # (row): annotators, who may be one respondent, then systems
    label: Ints  # (row)
    answers: Ints  # Of systems (item, system)
    systems: npt.NDArray[Any]  # Their names
    interchangeable: bool  # Whether all annotators are one respondent
    form: Form
    ease: Floats  # Ease of the items of each fifth, in standard deviations; 0 without difficulty
    priors: Priors
    known: Ints  # True labels (item); -1 for none
    errors: true_labels.Prior | None
    """Priors for correlated errors of annotators; None if errors are independent. With correlated
    errors, systems are compared with drawn true labels, and are not respondents."""
    formula: str = ""
    terms: Array = np.empty(0, dtype=str)  # Names of coefficients
    covariates: Floats = np.empty((0, 0))  # (annotator, term), centred
    covariate_mean: Floats = np.empty(0)  # (term): averages over annotators
    coefficient_prior: Floats = np.empty((0, 2))  # (term, 2): mean and standard deviation

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

    @property
    def n_states(self) -> int:
        """The number of states that an item can have."""
        return (
            self.form.n_labels * len(self.ease) * (self.form.n_labels if self.form.related else 1)
        )

    @property
    def n_modelled_systems(self) -> int:
        """The number of systems in the PyMC model: none if they are not evidence."""
        form = self.form
        return form.n_respondents - form.first_system if form.evidence == form.n_respondents else 0

    @property
    def most_labels(self) -> int:
        """The largest number of labels of an item, by respondents who are evidence."""
        evident = self.item[self.respondent < self.form.evidence]
        return int(np.bincount(evident, minlength=1).max())

    @property
    def has_informative_known(self) -> bool:
        """Whether known true labels inform the parameters of annotators.

        If errors are correlated, these parameters describe the label behind the annotations, which
        can differ from the true label: known labels inform them only if no item has two labels,
        because nothing else informs the accuracies of annotators.
        """
        return self.errors is None or self.most_labels < 2

    @property
    def item_order(self) -> Ints:
        """The places of rows, in the order of their items."""
        return np.argsort(self.item, kind="stable")

    def regression(self) -> Regression:
        """Return the regression on covariates of annotators, for the sampler."""
        value = self.covariates.reshape(self.form.first_system, self.form.terms)
        return regression(value, self.coefficient_prior)

    def votes(self) -> tuple[Votes, Ints]:
        """Return the labels by pattern, and the pattern of each item, for the sampler."""
        return votes(self.item, self.respondent, self.label, len(self.items), self.known)


def process(
    model: str,
    annotations: xr.Dataset,
    predictions: xr.Dataset | None,
    *,
    interchangeable: bool,
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
    covariates: Mapping[str, Any] | None = None,
) -> Process:
    """Return the process of checked annotations, predictions and settings.

    ``form`` holds the fields of `Form` that differ between models. ``rows`` is the prior of the
    rows of confusion matrices. ``covariates`` holds the last fields of `Process`. Raises as
    `dissensus.models.dawid_skene.build` does.
    """
    fitting.require_kind(annotations, KINDS, model)
    arguments.one_of("systems", systems, ("independent", "related"))
    arguments.one_of("evidence", evidence, ("all", "annotators"))
    arguments.one_of("sampler", sampler, ("gibbs", "nuts"))
    arguments.flags(difficulty=difficulty)
    fitting.require_choice(annotations)
    errors = checked_errors(error_correlation)
    answers, names = _answers(annotations, predictions, on_missing, errors is not None)
    # Whether an item may have predictions only.
    predictions_suffice = errors is not None or evidence == "all"
    answered = (answers != NO_ANSWER).any(axis=1) if predictions_suffice else None
    require_annotated(annotations, answered)
    _require_relatable(systems, errors, len(names))
    item, annotator, label = row_codes(annotations)
    n_labels = annotations.sizes[LABEL]
    first = 1 if interchangeable else annotations.sizes[ANNOTATOR]
    n_respondents = first + (len(names) if errors is None else 0)
    system_code, answered_item = np.nonzero(answers[:, : n_respondents - first].T != NO_ANSWER)
    result = Process(
        model=model,
        annotations=annotations,
        item=np.concatenate([item, answered_item]),
        respondent=np.concatenate([annotator * (not interchangeable), first + system_code]),
        label=np.concatenate([label, answers[answered_item, system_code]]),
        answers=answers,
        systems=names,
        interchangeable=interchangeable,
        form=Form(**{
            "n_labels": n_labels, "n_respondents": n_respondents, "first_system": first,
            "evidence": n_respondents if evidence == "all" else first, "rows": 0,
            "own_accuracy": 0, "errors": 0, "ordered": 0, "pooling": 0,
            "difficulty": int(difficulty), "related": int(systems == "related"), **form,
        }),
        ease=fifths() if difficulty else np.zeros(1),
        priors=Priors(
            prevalence=np.full(n_labels, arguments.positive("prior_count", prior_count)),
            spread=1.0, difficulty=1.0, slope=0.5, decay=1.0, concentration=np.array([1.5, 1.0]),
            rows=np.ones((n_labels, n_labels)) if rows is None else rows,
            alike=np.array([2.0, 0.2]), system=10.0,
        ),
        known=known_codes(annotations, truth),
        errors=errors,
        **(covariates or {}),
    )  # fmt: skip
    warn_of_design(result)
    return result


def require_annotated(annotations: xr.Dataset, answered: Flags | None = None) -> None:
    """Raise unless every item has a label, or was ``answered`` (item) by a system."""
    n_statements, reason = statements_per(annotations, ITEM), "the truth is estimated from labels"
    if answered is not None:
        n_statements, reason = n_statements + answered, "or a system's prediction"
    fitting.require_annotated(n_statements, annotations, reason)


def row_codes(annotations: xr.Dataset) -> tuple[Ints, Ints, Ints]:
    """Return three arrays (annotation): the codes of items, of annotators and of labels."""
    item, annotator, label = (
        annotations[f"{dim}_code"].to_numpy().astype(np.int64) for dim in (ITEM, ANNOTATOR, LABEL)
    )
    return item, annotator, label


def _require_relatable(systems: str, errors: true_labels.Prior | None, n_systems: int) -> None:
    """Raise if systems="related" is impossible: errors are correlated, or systems too few."""
    if systems == "related" and errors is not None:
        raise ArgumentError(
            "systems", expected="'independent' if errors are correlated: each system is then "
            "estimated separately", found="'related'",
        )  # fmt: skip
    if systems == "related" and n_systems < 2:
        raise ArgumentError(
            "systems", expected="'independent' with fewer than two systems", found="'related'"
        )


def _answers(
    annotations: xr.Dataset, predictions: xr.Dataset | None, on_missing: str, others_are_wrong: bool
) -> tuple[Ints, npt.NDArray[Any]]:
    """Return the codes of systems' labels (item, system), and the systems' names.

    Labels that annotators cannot give are refused, unless ``others_are_wrong``.
    """
    if predictions is None:
        return np.zeros((annotations.sizes[ITEM], 0), dtype=np.int64), np.empty(0, dtype=object)
    aligned = systems_of(annotations, predictions, on_missing)
    kind = aligned.predictions.attrs["kind"]
    if kind != "nominal":
        raise PredictionError(
            "predictions", expected="one label from each system and item",
            found=f'numbers (kind "{kind}")' if kind == "continuous" else f"lists (kind {kind!r})",
            hint="Turn numbers into labels, with thresholds; from lists, read only the first label",
        )  # fmt: skip
    labels = annotations[LABEL].to_numpy()
    vocabulary = aligned.predictions.get(LABEL, xr.DataArray([], dims=LABEL)).to_numpy()
    strange = [label for label in vocabulary.tolist() if label not in set(labels.tolist())]
    if strange and not others_are_wrong:
        raise PredictionError(
            "predictions", expected=f"labels that annotators could give: {shown(list(labels))}",
            found=f"{shown(strange)}",
            hint="Read the annotations again, with all possible labels in labels=",
        )  # fmt: skip
    return labels_by_systems(aligned, labels), aligned.names
