"""Checked labels, truths and priors of a Rasch model, for the PyMC model and the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.data.known_labels import known_codes
from dissensus.data.layout import by_place
from dissensus.data.rows import statements_per
from dissensus.dims import ANNOTATOR, ITEM, LABEL, POOL
from dissensus.errors import AnnotationError, DesignWarning, shown, warn_caller
from dissensus.families.crossed.covariates import aliasing_warnings, covariates, require_pairs
from dissensus.families.crossed.kernels.data import Crossed, Priors, crossed
from dissensus.families.crossed.kernels.regression import regression
from dissensus.families.crossed.kernels.sweep import BERNOULLI
from dissensus.families.crossed.priors import (
    Prior,
    as_row,
    checked_names,
    checked_prior,
    coefficient_prior,
    spelled,
)
from dissensus.families.rasch.kernels.data import Labels
from dissensus.kernels.types import UNKNOWN, Array, Floats, Ints
from dissensus.sampling import fitting
from dissensus.sampling.design import anchored, islands, listed_islands, pairs, scattered, two_sided


def warn_of_design(process: Process) -> None:
    """Warn about parameters that the labels do not identify."""
    for text in _unknown(process):
        warn_caller(text, DesignWarning)


def _unknown(process: Process) -> Iterator[str]:
    yield from aliasing_warnings(process.terms, process.covariates, np.zeros_like(process.item))
    seen = pairs(process.item, process.annotator)
    nothing_known = bool((process.truth == UNKNOWN).all())
    if len(process.terms) and nothing_known and not process.guessing:
        yield (
            "No truth is known, and nobody guesses: other truths, with other signs of "
            "coefficients, explain the labels about as well, and chains may stay with one of them. "
            "Remove guessing=False, or give the truth= of some items."
        )
    if nothing_known and int(np.bincount(process.item).max()) < 2:
        yield (
            "No item has two labels, and no truth is known: the data do not inform abilities, and "
            "the posterior is the prior. Get two or more labels for some items."
        )
        return
    if not (seen.of_item or seen.repeated):
        yield (
            "No item has two labels: the data do not inform the difficulty of single items, and "
            "difficulty_spread depends on its prior only. Abilities then refer to typical items. "
            "Let several annotators label some items."
        )
    if not (seen.of_annotator or seen.repeated):
        yield (
            "No annotator labelled two items: the data do not inform the ability of single "
            "annotators, and ability_spread depends on its prior only. Let annotators label "
            "several items."
        )
    else:
        yield from _of_single(process)
        if seen.of_item:
            yield from _of_groups(process)


def _of_single(process: Process) -> Iterator[str]:
    """Warn about annotators who share no item with others, and have no known truth.

    Warn too about annotators who share items only two at a time.
    """
    n = len(process.annotators)
    with_truth = process.annotator[process.truth[process.item] != UNKNOWN]
    is_anchored = anchored(process.item, process.annotator, n, np.unique(with_truth))
    group = islands(process.item, process.annotator, n)
    size = np.bincount(group[group >= 0])
    lone = np.flatnonzero((group >= 0) & (size[np.maximum(group, 0)] == 1) & ~is_anchored)
    if len(lone):
        names = shown(list(process.annotators[lone]))
        yield (
            f"{len(lone)} of {n} annotators ({names}) share no item with other annotators, and "
            "have no known truth: their ability depends only on the prior and on the population. "
            "Do not report it; let others label some of their items."
        )
    warning = two_sided(group, is_anchored, process.annotators)
    if warning:
        yield warning


def _of_groups(process: Process) -> Iterator[str]:
    """Warn about groups of annotators that cannot be compared."""
    group = islands(process.item, process.annotator, len(process.annotators))
    if scattered(group, process.annotator):
        yield (
            f"The annotators are in {int(group.max()) + 1:,} groups that share no item "
            f"({listed_islands(group, process.annotators)}). Abilities and difficulties can be "
            "compared within a group. Between groups, able annotators and easy items are separated "
            "only by the prior, which assumes that all groups are alike. Let all groups label a "
            "few common items."
        )


KINDS: Final = ("nominal", "ordinal")
SAMPLERS: Final = ("gibbs", "nuts")
DEFAULTS: Final[dict[str, Prior]] = {
    "mean_ability": (1.0, 1.5),
    "ability_spread": ("half_normal", 1.0),
    "difficulty_spread": ("half_normal", 1.5),
}
_MOST_LEVELS: Final = 10
"""Maximum number of levels of confidence: with more, each is too rare to be informative."""


class Process(NamedTuple):
    """Labels in codes, known truths, levels of confidence, and priors."""

    annotations: xr.Dataset
    item: Ints  # (annotation)
    annotator: Ints  # (annotation)
    label: Ints  # (annotation)
    truth: Ints  # (item): a label's code, or `UNKNOWN`
    level: Ints  # (annotation): of confidence; empty if confidence is not used
    levels: Floats  # The confidences that occur, in increasing order; empty if they are not used
    guessing: bool  # Whether annotators who do not know the truth guess among all labels
    priors: Mapping[str, Prior]
    prior_count: float | Floats  # Prior count of each label, in items
    least: float  # The lower bound of the mean ability; minus infinity without a bound
    level_prior: float = 1.0  # Prior count of each level of confidence
    formula: str = ""
    terms: Array = np.empty(0, dtype=str)  # Names of coefficients
    covariates: Floats = np.empty((0, 0))  # (annotation, term), centred
    covariate_mean: Floats = np.empty(0)  # (term): averages, for which abilities hold
    of_pairs: Callable[[Ints, Ints], Floats] | None = None  # See `Covariates`
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
    def all_known(self) -> bool:
        """Whether the truth of every item is known."""
        return bool((self.truth != UNKNOWN).all())

    @property
    def floor(self) -> float:
        """Probability that an annotator who does not know the truth is right."""
        return 1.0 / len(self.labels) if self.guessing else 0.0

    @property
    def lead(self) -> float:
        """Ability minus the logit of knowing the truth; above 0 with guessing, else 0."""
        return -float(np.log1p(-self.floor))

    def observations(self) -> tuple[Ints, Ints]:
        """Return codes of annotators, and of labels combined with levels, each (item, place)."""
        code, n_levels, n = self.label, len(self.levels), len(self.items)
        if n_levels:
            code = code * n_levels + self.level
        return by_place(self.item, n, self.annotator), by_place(self.item, n, code)

    def data(self) -> Crossed:
        """Lay out the labels for the Gibbs sampler."""
        none = np.zeros_like(self.item)
        people = np.zeros(len(self.annotators), dtype=np.int64)
        data = crossed(
            self.label.astype(np.float64), self.item, self.annotator, none,
            n_items=len(self.items), annotator_pool=people, n_pools=1,
        )  # fmt: skip
        if not len(self.terms):
            return data
        return data._replace(regression=regression(self.covariates[data.row], data))

    def coded_labels(self, data: Crossed) -> Labels:
        """Return labels and levels in the order of ``data``.

        The kernel leaves out items without labels. Known truths of these are added to prior counts.
        """
        n = len(self.labels)
        unseen = np.setdiff1d(np.flatnonzero(self.truth != UNKNOWN), data.cell_item)
        return Labels(
            label=self.label[data.row],
            level=self.level[data.row] if len(self.levels) else self.level,
            truth=self.truth[data.cell_item],
            prevalence=np.full(n, self.prior_count) + np.bincount(self.truth[unseen], minlength=n),
            level_prior=self.level_prior,
            guessed=float(n) if self.guessing else 0.0,
        )

    def numbers(self) -> Priors:
        """Return the priors as compiled code reads them."""
        mean, sd = self.priors["mean_ability"]
        return Priors(
            mu=np.array([[mean - self.lead, sd]]),
            least=np.array([self.least]),
            sd_item=np.array([as_row(self.priors["difficulty_spread"])]),
            sd_annotator=np.array([as_row(self.priors["ability_spread"])]),
            sd=np.array([[0.0, 1.0, 0.0]]),
            gap=np.array([0.0, 1.0, 0.0]),
            lkj=1.0,
            coefficient=self.coefficient_prior,
        )

    @property
    def words(self) -> dict[str, str]:
        """The priors and the formula, for a fit's attributes."""
        formula = {"formula": self.formula} if self.formula else {}
        return {"priors": spelled(self.priors), **formula}


def process(
    annotations: xr.Dataset, *, truth: Any, confidence: bool, guessing: Any, priors: Any,
    prior_count: Any, sampler: Any, formula: Any = None, items: Any = None, annotators: Any = None,
) -> Process:  # fmt: skip
    """Return the process of checked annotations and settings."""
    fitting.require_kind(annotations, KINDS, "rasch")
    arguments.one_of("sampler", sampler, SAMPLERS)
    arguments.flags(confidence=confidence)
    fitting.require_choice(annotations)
    fitting.require_annotated(
        statements_per(annotations, ITEM), annotations, "without one its difficulty is not informed"
    )
    level, levels = np.zeros(0, dtype=np.int64), np.empty(0)
    if confidence:
        level, levels = _levels(annotations)
    codes = {
        dim: annotations[f"{dim}_code"].to_numpy().astype(np.int64)
        for dim in (ITEM, ANNOTATOR, LABEL)
    }
    known = known_codes(annotations, truth)
    guesses = bool((known == UNKNOWN).any())
    if guessing is not None:
        arguments.flags(guessing=guessing)
        guesses = bool(guessing)
    # Pools are left out: an annotator of several pools would have several accuracies for one item.
    single = annotations.drop_vars(f"{POOL}_code", errors="ignore")
    design = covariates(formula, single, items, annotators)
    require_pairs(design, annotations)
    all_priors = _priors(priors, covariates=bool(len(design.terms)))
    process = Process(
        annotations, codes[ITEM], codes[ANNOTATOR], codes[LABEL], known, level, levels, guesses,
        all_priors, arguments.positive("prior_count", prior_count),
        _least_ability(known, annotations.sizes[LABEL], guessing=guesses), 1.0, *design,
        coefficient_prior(all_priors, BERNOULLI, codes[LABEL].astype(float), design.value),
    )  # fmt: skip
    warn_of_design(process)
    return process


def _least_ability(known: Ints, n_labels: int, *, guessing: bool) -> float:
    """Return the lower bound of the mean ability: the logit of chance, or minus infinity.

    The bound prevents label switching if truths are unknown and annotators do not guess.
    """
    free = guessing or bool((known != UNKNOWN).all())
    return -np.inf if free else -float(np.log(n_labels - 1))


def _levels(annotations: xr.Dataset) -> tuple[Ints, Floats]:
    """Return the code of each label's level of confidence (annotation), and the levels."""
    if "confidence" not in annotations:
        raise AnnotationError(
            "annotations", expected="confidences, with confidence=True", found="none",
            hint="Read them with confidence=, the name of a column of numbers from 0 to 1",
        )  # fmt: skip
    confidence = annotations["confidence"].to_numpy()
    missing = int(np.isnan(confidence).sum())
    if missing:
        raise AnnotationError(
            "annotations", expected="a confidence of every label, with confidence=True",
            found=f"none for {missing} labels",
        )  # fmt: skip
    levels, level = np.unique(confidence, return_inverse=True)
    if len(levels) > _MOST_LEVELS:
        raise AnnotationError(
            "annotations", expected=f"at most {_MOST_LEVELS} levels of confidence",
            found=f"{len(levels)} different numbers",
            hint="Round them to a few steps first, and report these steps",
        )  # fmt: skip
    return level.astype(np.int64), levels


def _priors(priors: Any, *, covariates: bool) -> dict[str, Prior]:
    default = DEFAULTS | ({"coefficient": ()} if covariates else {})
    return default | {
        name: checked_prior(name, prior, mean=name in {"mean_ability", "coefficient"})
        for name, prior in checked_names(priors, tuple(default)).items()
    }
