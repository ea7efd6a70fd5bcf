"""Plans of labels by people beside systems' predictions for all items."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments, models
from dissensus.data.alignment import check_labels
from dissensus.data.annotations import annotations as read
from dissensus.data.schema import checked_annotations
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
WORDS: Final = Words(
    "label", "for", "predicted items", "item", "systems' agreement with the panel",
    "predictions for the other items", "from the labelled items alone",
)  # fmt: skip


def plan_labels(
    pilot: Any,
    annotators: Sequence[int],
    items: Sequence[int] | None,
    *,
    predictions: xr.Dataset,
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
        lots = list(product(range(STUDIES), np.ndindex(half.shape[2:])))
        for study, place in fitting.tracked(lots, "Simulating studies", progressbar):
            order, code = labelled[study]
            chosen = np.sort(order[: numbers[place[1]]])
            given = code[chosen, : tried.annotators[place[0]]]
            seed = int(rng.integers(2**32))
            some = predictions.isel({ITEM: chosen})
            weights = _filled(names[chosen], len(names), size, rng)
            for row, (said, weighted) in enumerate(((predictions, None), (some, weights))):
                items_of = np.repeat(names[chosen], given.shape[1])
                ann = _read(items_of, given.ravel(), labels, said[ITEM].to_numpy())
                fit = _fitted(ann, said, size, seed)
                agreement = top_k_accuracy(
                    fit, said, insight=LEARNED, weights=weighted, random_seed=seed
                ).stack(sample=SAMPLE)
                half[row, study, *place] = half_width(agreement.to_numpy().T, tried.prob)
    kept = [numbers.index(n) for n in tried.items]
    told, alone = half
    needed = _as_narrow(told.mean(axis=0), alone.mean(axis=0), np.array(numbers))
    return planned(told[..., kept], alone[..., kept], needed[:, kept], tried, WORDS)


def _checked(pilot: Any, predictions: xr.Dataset) -> tuple[Array, Array]:
    """Return the names of predicted items, which include the pilot's, and the labels."""
    kinds = models.get("dirichlet").module.KINDS
    kind = pilot.attrs.get("kind") if isinstance(pilot, xr.Dataset) else type(pilot).__name__
    if kind not in kinds:
        raise AnnotationError(
            "pilot", expected="labels (nominal or ordinal), from dissensus.annotations, since "
            "predictions= asks how many labels they save", found=f"{kind}",
        )  # fmt: skip
    checked_annotations(pilot)
    check_lists(predictions)
    names, labels = predictions[ITEM].to_numpy(), pilot[LABEL].to_numpy()
    check_labels(predictions, labels)
    items = pilot[ITEM].to_numpy()
    bare = items[match(items, names) < 0]
    if len(bare):
        raise PredictionError(
            "predictions", expected="predictions for all items of the pilot",
            found=f"none for {len(bare):,} of its {len(items):,} items: {shown(list(bare))}",
        )  # fmt: skip
    return names, labels


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
    edges = panel.cumsum(axis=1)
    edges /= edges[:, -1:]
    drawn = rng.random((len(panel), times, 1))
    return rng.permutation(len(panel)), (drawn > edges[:, None, :-1]).sum(axis=2)


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

    Half-widths are (annotator, item), those of the last size from labels for all items. The square
    of an interval's length is linear in 1 / n between two sizes.
    """
    out = np.empty_like(told)
    for row, (with_all, own) in enumerate(zip(told, alone, strict=True)):
        square = np.maximum.accumulate(own[::-1] ** 2)
        out[row] = 1.0 / np.interp(with_all**2, square, 1.0 / n[::-1])
    return out
