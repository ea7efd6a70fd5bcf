"""Plans of people's labels or scores of a part of the items, if systems predicted all items."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus import arguments, models
from dissensus.data.alignment import predicted_labels, respelled_item
from dissensus.data.annotations import annotations as read
from dissensus.data.predictions import predicted_numbers
from dissensus.data.rows import given_numbers
from dissensus.data.schema import checked_annotations, checked_predictions
from dissensus.data.tables import match
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, SAMPLE, STRATUM, SYSTEM
from dissensus.errors import (
    AnnotationError,
    ArgumentError,
    DissensusWarning,
    PredictionError,
    brief,
    shown,
)
from dissensus.kernels.random import generator
from dissensus.kernels.types import Array, Floats, Ints
from dissensus.metrics._accuracy import top_k_accuracy
from dissensus.metrics._insight import LEARNED
from dissensus.metrics._items import over_items
from dissensus.metrics._lists import check_lists
from dissensus.sampling import fitting
from dissensus.studies.planning.judged import STUDIES, Words, half_width, planned, sizes
from dissensus.studies.planning.studies import warn_of_the_same

Answers = tuple[Ints, Array]
"""The order in which items are labelled, and the labels or scores of items (item, annotator)."""
_TUNE: Final = 200
_NOTABLE: Final = 1.25
"""A ratio below this number is not called a saving. In simulations with systems that guess, up to
1.23 times as many labels were needed without predictions, since the urn adds uncertainty."""
_SHOWN: Final = 12
"""Maximum number of labels that an error names."""
_OTHERS: Final = "predictions for the other items"
_UNITS: Final = ("for", "predicted items", "item")


@dataclass(frozen=True)
class _Labels:
    """People give labels; the planned quantity is the systems' agreement with the panel."""

    labels: Array
    """The label space."""

    words: ClassVar[Words] = Words(
        "label", *_UNITS, "systems' agreement with the panel", _OTHERS,
        "from the labelled items alone", whole=True,
    )  # fmt: skip
    model: ClassVar[str] = "dirichlet"

    def given(self, annotations: xr.Dataset) -> Array:
        """Return the label of each annotation."""
        return np.asarray(self.labels[annotations["label_code"].to_numpy()])

    def read(self, rows: Mapping[str, Any], **items: Any) -> xr.Dataset:
        """Return the rows as annotations."""
        return read(rows, labels=self.labels.tolist(), kind="nominal", **items)

    def simulated(self, posterior: Any, times: int, rng: np.random.Generator) -> list[Answers]:
        """Draw the labels of each item by ``times`` annotators, once for each posterior draw."""
        panels = posterior["plausibility"].isel({CHAIN: 0}).transpose(DRAW, ITEM, LABEL)
        drawn = [_labelled(panel, times, rng) for panel in panels.to_numpy()]
        return [(order, self.labels[code]) for order, code in drawn]

    def quantity(
        self, fit: xr.DataTree, predictions: xr.Dataset, weights: Any, seed: int
    ) -> xr.DataArray:
        """Return draws of the planned quantity (chain, draw, system)."""
        return top_k_accuracy(fit, predictions, insight=LEARNED, weights=weights, random_seed=seed)


@dataclass(frozen=True)
class _Scores:
    """People give scores; the planned quantity is the panel's mean score over all items."""

    words: ClassVar[Words] = Words(
        "score", *_UNITS, "the mean score of all items", _OTHERS, "from the scored items alone",
        whole=True,
    )  # fmt: skip
    model: ClassVar[str] = "normal_scores"

    def given(self, annotations: xr.Dataset) -> Array:
        """Return the score of each annotation."""
        return given_numbers(annotations)

    def read(self, rows: Mapping[str, Any], **items: Any) -> xr.Dataset:
        """Return the rows as annotations."""
        return read(rows, kind="continuous", **items)

    def simulated(self, posterior: Any, times: int, rng: np.random.Generator) -> list[Answers]:
        """Draw the scores of each item by ``times`` annotators, once for each posterior draw."""
        first = posterior[["mean", "variance"]].isel({CHAIN: 0}).transpose(DRAW, ITEM)
        out = []
        for mean, variance in zip(first["mean"].to_numpy(), first["variance"].to_numpy(),
                                  strict=True):  # fmt: skip
            order, own = rng.permutation(len(mean)), np.random.default_rng(rng.integers(2**32))
            noise = own.standard_normal((times, len(mean))).T  # smaller studies: first columns
            out.append((order, mean[:, np.newaxis] + np.sqrt(variance)[:, np.newaxis] * noise))
        return out

    def quantity(
        self, fit: xr.DataTree, predictions: xr.Dataset, weights: Any, seed: int
    ) -> xr.DataArray:
        """Return draws of the planned quantity (chain, draw, system)."""
        del predictions, seed
        return over_items(fit["posterior"].to_dataset()["mean"], weights).expand_dims(SYSTEM)


class _Study(NamedTuple):
    """The kind of people's answers, and systems' predictions for all items."""

    kind: _Labels | _Scores
    predictions: xr.Dataset
    strata: Array | None
    """(item): the stratum of each predicted item."""

    def read(self, items_of: Array, given: Array, item_places: Any = slice(None)) -> xr.Dataset:
        """Return annotations of some items, each by a new annotator: the fits ignore annotators."""
        rows = {"item": items_of, "annotator": np.arange(len(given)), "label": given}
        items = self.predictions[ITEM].to_numpy()[item_places]
        if self.strata is None:
            return self.kind.read(rows, items=items)
        table = {"item": items, "stratum": self.strata[item_places]}
        return self.kind.read(rows, items=table, stratum="stratum")

    def fit(
        self, annotations: xr.Dataset, predictions: xr.Dataset, size: tuple[int, int], seed: Any
    ) -> xr.DataTree:
        """Fit the model; ``size`` is (chains, draws)."""
        fit = models.get(self.kind.model).module.fit(
            annotations, predictions=predictions, chains=size[0], draws=size[1], tune=_TUNE,
            random_seed=seed, progressbar=False,
        )  # fmt: skip
        assert isinstance(fit, xr.DataTree)
        return fit


def plan_labels(
    pilot: Any,
    annotators: Sequence[int],
    items: Sequence[int] | None,
    *,
    predictions: Any,
    prob: float | None = None,
    draws: int = 400,
    random_seed: Any = None,
    progressbar: bool = True,
) -> xr.Dataset:
    """Return the plan of `dissensus.plan` for labels or scores of items that systems have judged.

    A study with more items, or more labels of each item, includes the labels of smaller studies.
    """
    study = _checked(pilot, predictions)
    kind, names = study.kind, predictions[ITEM].to_numpy()
    if isinstance(kind, _Labels):
        warn_of_the_same(pilot)
    tried = sizes(annotators, items, len(names), prob, draws, kind.words)
    arguments.flags(progressbar=progressbar)
    if isinstance(kind, _Scores) and tried.annotators[0] < 2:
        raise ArgumentError(
            "annotators", expected="2 or more: one score of each item does not show how much "
            "scores of an item vary", found=brief(annotators),
        )  # fmt: skip
    whole = study.read(pilot[ITEM].to_numpy()[pilot["item_code"]], kind.given(pilot))
    fit = study.fit(whole, predictions, (1, STUDIES), random_seed)
    rng = generator(random_seed, "plan of labels")
    numbers = sorted({*tried.items, len(names)})
    half = np.zeros((2, STUDIES, len(tried.annotators), len(numbers)))
    size = 2, tried.draws // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)  # about simulated studies
        answers = kind.simulated(fit["posterior"].to_dataset(), tried.annotators[-1], rng)
        seeds = rng.integers(2**32, size=STUDIES)
        lots = list(product(range(STUDIES), np.ndindex(half.shape[2:])))
        for number, place in fitting.tracked(lots, "Simulating studies", progressbar):
            order, simulated = answers[number]
            times, n = tried.annotators[place[0]], numbers[place[1]]
            chosen = np.sort(order[:n])
            items_of, given = np.repeat(names[chosen], times), simulated[chosen, :times].ravel()
            own = np.random.default_rng([int(seeds[number]), times, n])
            # With labels for all items, the two analyses are the same.
            ways = [(slice(None), None), (chosen, _filled(names[chosen], len(names), size, own))]
            for row, (item_places, weights) in enumerate(ways[: 2 if n < len(names) else 1]):
                known, seed = predictions.isel({ITEM: item_places}), int(seeds[number])
                fit = study.fit(study.read(items_of, given, item_places), known, size, seed)
                quantity = kind.quantity(fit, known, weights, seed).stack(sample=SAMPLE)
                half[row:, number, *place] = half_width(quantity.to_numpy().T, tried.prob)
    tried_places = [numbers.index(n) for n in tried.items]
    with_systems, alone = half
    needed = _as_narrow(with_systems.mean(axis=0), alone.mean(axis=0), np.array(numbers))
    return planned(
        with_systems[..., tried_places], alone[..., tried_places], needed[:, tried_places], tried,
        kind.words, notable=_NOTABLE,
    )  # fmt: skip


def _checked(pilot: Any, predictions: xr.Dataset) -> _Study:
    """Return the study, or raise if predictions for items of the pilot are missing."""
    kind = pilot.attrs.get("kind") if isinstance(pilot, xr.Dataset) else None
    as_numbers = kind == "continuous" or (
        isinstance(predictions, xr.Dataset) and "value" in predictions
    )
    kinds = models.get((_Scores if as_numbers else _Labels).model).module.KINDS
    if kind not in kinds:
        raise AnnotationError(
            "pilot", expected=f"{'scores' if as_numbers else 'labels'} ({' or '.join(kinds)}), "
            "from dissensus.annotations, since predictions= are "
            f"{'scores' if as_numbers else 'labels'}",
            found=kind or type(pilot).__name__, hint=_hint(pilot, kind),
        )  # fmt: skip
    checked_annotations(pilot)
    if as_numbers:
        _require_spread(pilot)
    else:
        check_lists(predictions)
    checked_predictions(predictions)
    if as_numbers:
        predicted_numbers(predictions)
    names = predictions[ITEM].to_numpy()
    if not as_numbers:
        _require_labels(pilot[LABEL].to_numpy(), predictions)
    items = pilot[ITEM].to_numpy()
    bare = items[match(items, names) < 0]
    if len(bare):
        raise PredictionError(
            "predictions", expected="predictions for all items of the pilot",
            found=f"none for {len(bare):,} of its {len(items):,} items: {shown(list(bare))}",
            hint=respelled_item(items, names),
        )  # fmt: skip
    place = match(names, items)
    strata = None
    if STRATUM in pilot.coords and (place >= 0).all():
        strata = pilot[STRATUM].to_numpy()[pilot["stratum_code"].to_numpy()[place]]
    return _Study(
        _Scores() if as_numbers else _Labels(pilot[LABEL].to_numpy()), predictions, strata
    )


def _hint(pilot: Any, kind: str | None) -> str:
    if isinstance(pilot, xr.DataTree):
        return "A fit is not a pilot: type plan(annotations, predictions=pred)"
    return (
        "Predicted numbers are compared with scores, predicted labels with labels" if kind else ""
    )


def _require_spread(pilot: xr.Dataset) -> None:
    """Raise unless the pilot shows how much scores of one item vary."""
    score, item = given_numbers(pilot), pilot["item_code"].to_numpy()
    order = np.lexsort((score, item))
    if not np.any((np.diff(item[order]) == 0) & (np.diff(score[order]) > 0)):
        raise AnnotationError(
            "pilot", expected="items with two or more different scores, which show how much scores "
            "of an item vary", found="none",
            hint="Let two people or more score some of the items",
        )  # fmt: skip


def _require_labels(labels: Array, predictions: xr.Dataset) -> None:
    """Raise unless the pilot's label space has two labels or more, and all predicted labels."""
    strange = predicted_labels(predictions)
    strange = strange[match(strange, labels) < 0]
    if len(labels) > 1 and not len(strange):
        return
    every = [*labels.tolist(), *strange.tolist()]
    raise AnnotationError(
        "pilot", expected="two labels or more, and all that systems predict",
        found=f"{shown(labels.tolist())}"
        + (f", without {shown(strange.tolist())}" if len(strange) else ""),
        hint="Read the pilot with all labels that people may give"
        + (f": labels={every}" if len(strange) and len(every) <= _SHOWN else ": labels="),
    )  # fmt: skip


def _labelled(panel: Floats, times: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the order in which items are labelled, and codes of labels (item, annotator).

    Labels are drawn from the plausibilities ``panel`` (item, label).
    """
    order = rng.permutation(len(panel))
    edges = panel.cumsum(axis=1)
    edges /= edges[:, -1:]
    drawn = np.random.default_rng(rng.integers(2**32)).random((times, len(panel))).T
    return order, (drawn[..., None] > edges[:, None, :-1]).sum(axis=2)


def _filled(items: Array, total: int, size: tuple[int, int], rng: np.random.Generator) -> Any:
    """Return weights of some items (chain, draw, item) that estimate the mean over all items.

    A Polya urn gives each other item the value of one of these items. If ``total`` is large, its
    draws are those of the Bayesian bootstrap.
    """
    shares = rng.dirichlet(np.ones(len(items)), size)
    weights = 1.0 + rng.multinomial(total - len(items), shares)
    return xr.DataArray(weights, dims=(*SAMPLE, ITEM), coords={ITEM: items})


def _as_narrow(with_systems: Floats, alone: Floats, n: Ints) -> Floats:
    """Return how many labelled items alone would give intervals as narrow as with systems.

    Half-widths are (annotator, item). The last size, all items, is the largest possible result.
    The square of an interval's length is taken to be linear in 1 / n between two sizes, and below
    the smallest size.
    """
    if len(n) == 1:
        return np.full_like(with_systems, n[0])
    out = np.empty_like(with_systems)
    inverse = 1.0 / n[::-1]
    for row, (with_all, own) in enumerate(zip(with_systems, alone, strict=True)):
        square = np.maximum.accumulate(own[::-1] ** 2)
        slope = (inverse[-1] - inverse[-2]) / max(square[-1] - square[-2], 1e-12)
        beyond = np.maximum(with_all**2 - square[-1], 0.0) * slope
        out[row] = 1.0 / (np.interp(with_all**2, square, inverse) + beyond)
    return out
