"""Plans of labels by people beside systems' predictions for all items."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments, models
from dissensus.data.alignment import predicted_labels, respelled_item
from dissensus.data.annotations import annotations as read
from dissensus.data.schema import checked_annotations, checked_predictions
from dissensus.data.tables import match
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, SAMPLE
from dissensus.errors import AnnotationError, DissensusWarning, PredictionError, shown
from dissensus.kernels.random import generator
from dissensus.kernels.types import Array, Floats, Ints
from dissensus.metrics._accuracy import top_k_accuracy
from dissensus.metrics._insight import LEARNED
from dissensus.metrics._lists import check_lists
from dissensus.sampling import fitting
from dissensus.studies.planning.judged import STUDIES, Words, half_width, planned, sizes

_TUNE: Final = 200
_NOTABLE: Final = 1.25
"""Of systems that guess, the labelled items alone needed up to 1.23 times as many labels, as a urn
adds to what is unknown of the labelled items; less is not called a saving."""
_SHOWN: Final = 12
"""Maximum number of labels that an error names."""
WORDS: Final = Words(
    "label", "for", "predicted items", "item", "systems' agreement with the panel",
    "predictions for the other items", "from the labelled items alone",
)  # fmt: skip


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
    """Return the plan of `dissensus.plan` for labels of items that systems have labelled.

    A study with more items, or more labels for each, has the labels of the smaller studies too.
    """
    names, labels = _checked(pilot, predictions)
    tried = sizes(annotators, items, len(names), prob, draws, WORDS)
    arguments.flags(progressbar=progressbar)
    whole = _read(pilot[ITEM].to_numpy()[pilot["item_code"]], pilot["label_code"], labels, names)
    fit = _fitted(whole, predictions, (1, STUDIES), random_seed)
    panels = fit["posterior"]["plausibility"].isel({CHAIN: 0}).transpose(DRAW, ITEM, LABEL)
    rng = generator(random_seed, "plan of labels")
    numbers = sorted({*tried.items, len(names)})
    half = np.zeros((2, STUDIES, len(tried.annotators), len(numbers)))
    size = 2, tried.draws // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DissensusWarning)  # about simulated studies
        labelled = [_labelled(panel, tried.annotators[-1], rng) for panel in panels.to_numpy()]
        seeds = rng.integers(2**32, size=STUDIES)
        lots = list(product(range(STUDIES), np.ndindex(half.shape[2:])))
        for study, place in fitting.tracked(lots, "Simulating studies", progressbar):
            order, code = labelled[study]
            times, n = tried.annotators[place[0]], numbers[place[1]]
            chosen = np.sort(order[:n])
            items_of, given = np.repeat(names[chosen], times), code[chosen, :times].ravel()
            own = np.random.default_rng([int(seeds[study]), times, n])
            some = predictions.isel({ITEM: chosen})
            # With labels for all items, both are the same.
            ways = [(predictions, None), (some, _filled(names[chosen], len(names), size, own))]
            for row, (said, weights) in enumerate(ways[: 2 if n < len(names) else 1]):
                ann = _read(items_of, given, labels, said[ITEM].to_numpy())
                fit = _fitted(ann, said, size, int(seeds[study]))
                agreement = top_k_accuracy(
                    fit, said, insight=LEARNED, weights=weights, random_seed=int(seeds[study])
                ).stack(sample=SAMPLE)
                half[row:, study, *place] = half_width(agreement.to_numpy().T, tried.prob)
    kept = [numbers.index(n) for n in tried.items]
    told, alone = half
    needed = _as_narrow(told.mean(axis=0), alone.mean(axis=0), np.array(numbers))
    return planned(
        told[..., kept], alone[..., kept], needed[:, kept], tried, WORDS, notable=_NOTABLE
    )


def _checked(pilot: Any, predictions: xr.Dataset) -> tuple[Array, Array]:
    """Return the names of predicted items, which include the pilot's, and the labels."""
    kinds = models.get("dirichlet").module.KINDS
    kind = pilot.attrs.get("kind") if isinstance(pilot, xr.Dataset) else None
    if kind not in kinds:
        raise AnnotationError(
            "pilot", expected="labels (nominal or ordinal), from dissensus.annotations, since "
            "predictions= asks how many labels they save", found=kind or type(pilot).__name__,
            hint="A fit is no pilot: type plan(annotations, predictions=pred)"
            if isinstance(pilot, xr.DataTree) else "",
        )  # fmt: skip
    checked_annotations(pilot)
    check_lists(predictions)
    checked_predictions(predictions)
    names, labels = predictions[ITEM].to_numpy(), pilot[LABEL].to_numpy()
    _require_labels(labels, predictions)
    items = pilot[ITEM].to_numpy()
    bare = items[match(items, names) < 0]
    if len(bare):
        raise PredictionError(
            "predictions", expected="predictions for all items of the pilot",
            found=f"none for {len(bare):,} of its {len(items):,} items: {shown(list(bare))}",
            hint=respelled_item(items, names),
        )  # fmt: skip
    return names, labels


def _require_labels(labels: Array, predictions: xr.Dataset) -> None:
    """Raise unless the pilot can show how often each predicted label is a panel's."""
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


def _read(items_of: Array, code: Any, labels: Array, items: Array) -> xr.Dataset:
    """Return annotations of these items; the model does not ask who gave a label."""
    code = np.asarray(code)
    rows = {"item": items_of, "annotator": np.arange(len(code)), "label": labels[code]}
    return read(rows, labels=labels.tolist(), items=items, kind="nominal")


def _fitted(
    annotations: xr.Dataset, predictions: xr.Dataset, size: tuple[int, int], seed: Any
) -> xr.DataTree:
    """Fit the model with (chains, draws)."""
    fit = models.get("dirichlet").module.fit(
        annotations, predictions=predictions, chains=size[0], draws=size[1], tune=_TUNE,
        random_seed=seed, progressbar=False,
    )  # fmt: skip
    assert isinstance(fit, xr.DataTree)
    return fit


def _labelled(panel: Floats, times: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the order in which items are labelled, and labels (item, annotator) of all."""
    order = rng.permutation(len(panel))
    edges = panel.cumsum(axis=1)
    edges /= edges[:, -1:]
    drawn = np.random.default_rng(rng.integers(2**32)).random((times, len(panel))).T
    return order, (drawn[..., None] > edges[:, None, :-1]).sum(axis=2)


def _filled(items: Array, total: int, size: tuple[int, int], rng: np.random.Generator) -> Any:
    """Return weights (chain, draw, item) that estimate the mean of all items from some.

    Each other item is given the value of one of these: of a Polya urn, whose draws are the
    Bayesian bootstrap where ``total`` is large.
    """
    shares = rng.dirichlet(np.ones(len(items)), size)
    weights = 1.0 + rng.multinomial(total - len(items), shares)
    return xr.DataArray(weights, dims=(*SAMPLE, ITEM), coords={ITEM: items})


def _as_narrow(told: Floats, alone: Floats, n: Ints) -> Floats:
    """Return how many items need labels for intervals as narrow from these items alone.

    Half-widths are (annotator, item), those of the last size from labels for all items, which is
    the largest answer. The square of an interval's length is linear in 1 / n between two sizes, and
    below the smallest.
    """
    if len(n) == 1:
        return np.full_like(told, n[0])
    out = np.empty_like(told)
    inverse = 1.0 / n[::-1]
    for row, (with_all, own) in enumerate(zip(told, alone, strict=True)):
        square = np.maximum.accumulate(own[::-1] ** 2)
        slope = (inverse[-1] - inverse[-2]) / max(square[-1] - square[-2], 1e-12)
        beyond = np.maximum(with_all**2 - square[-1], 0.0) * slope
        out[row] = 1.0 / (np.interp(with_all**2, square, inverse) + beyond)
    return out
