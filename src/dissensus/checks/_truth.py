"""Checks of latent truth models: statistics of the observed labels and of replicates.

The functions return None, with a reason, if the data do not determine their statistic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments
from dissensus.checks._replicates import group_of, tail_probability
from dissensus.checks._traces import NAMELESS, OBSERVED, PREDICTIVE, no_model
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL, RESPONSE, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError
from dissensus.kernels.types import Floats
from dissensus.kernels.votes import Rows, Sums, rows, sums
from dissensus.wording import number, share, short

Ints = npt.NDArray[np.integer[Any]]

MODELS: Final = ("symmetric_confusion", "dawid_skene")
_CELLS: Final = 50_000_000
"""Maximum size of the sums of all versions."""


@dataclass(frozen=True)
class Labels:
    """Annotations and predictions in versions: first the data, then replicates."""

    layout: Rows
    codes: Ints
    """(version, row): label codes; rows are sorted by item."""
    answers: Ints
    """(version, item, system): predicted label; -1 for none."""
    repeats: Ints
    """(pair, 2): the rows of two labels of one item by one annotator."""
    labels: npt.NDArray[Any]
    annotators: npt.NDArray[Any]
    """Empty if the annotator of each label is not known."""
    systems: npt.NDArray[Any]
    ordered: bool
    order_known: bool
    """Whether ``ordered`` is known: a trace does not record whether labels are ordered."""
    sample: dict[str, npt.NDArray[Any]]
    """Coordinates of chain and draw."""

    @property
    def n_of_items(self) -> Ints:
        """The number of labels of each item."""
        return np.diff(self.layout.start)

    def sums(self) -> Sums:
        """Return the sums of agreements from which all statistics follow, for each version."""
        return sums(self.layout, self.codes, self.answers)


def read(fit: Any, draws: int | None) -> Labels:
    """Read a fit, and at most ``draws`` replicates of it."""
    observed = group_of(fit, OBSERVED)
    model = fit.attrs.get("model")
    if model not in MODELS:
        raise ArgumentError(
            "fit", expected=f"a fit of {' or '.join(MODELS)}",
            found=f"one of {model}" if model else no_model(fit),
            hint="For other models use dissensus.agreement_check",
        )  # fmt: skip
    drawn, constant = group_of(fit, PREDICTIVE), group_of(fit, "constant_data")
    require_whole(fit, drawn, (ITEM, ANNOTATOR, LABEL))
    n_labels = constant.sizes[LABEL]
    drawn = _thinned(drawn, draws, n_labels * (n_labels + constant.sizes[ANNOTATOR]))
    item = constant["item_code"].to_numpy()
    annotator = constant["annotator_code"].to_numpy()
    order = np.lexsort((annotator, item))
    people, names = constant[ANNOTATOR].to_numpy(), constant[LABEL].to_numpy()
    layout = rows(item[order], annotator[order], constant.sizes[ITEM], len(people), len(names))
    codes = _versions(observed["label_code"], drawn["label_code"], (ANNOTATION,))
    systems: npt.NDArray[Any] = np.empty(0, dtype=object)
    answers: Ints = np.empty((len(codes), constant.sizes[ITEM], 0), dtype=np.int64)
    # Systems have no replicates if true labels are known.
    if SYSTEM in observed.dims and "system_label_code" in drawn:
        systems, name = observed[SYSTEM].to_numpy(), "system_label_code"
        answers = _versions(observed[name], drawn[name], (ITEM, SYSTEM))
    kind = observed["label_code"].attrs.get("kind")
    return Labels(
        layout, codes[:, order], answers, _repeats(item[order], annotator[order]),
        labels=names, annotators=people[:0] if NAMELESS in fit.attrs else people, systems=systems,
        ordered=kind == "ordinal",
        order_known=kind is not None or "inference" in fit.attrs,
        sample={dim: drawn[dim].to_numpy() for dim in SAMPLE},
    )  # fmt: skip


def require_sample(drawn: xr.Dataset, dims: tuple[str, ...] = SAMPLE) -> None:
    """Raise if draws (or observed predictions) lack one of the dimensions."""
    for dim in dims:
        if dim not in drawn.dims:
            raise ArgumentError(
                "fit", expected=f"draws with the dimension {dim!r}",
                found="none, as after isel or sel with a single value",
                hint=f"Keep the dimension by a list: fit.isel({dim}=[0])",
            )  # fmt: skip


def require_whole(fit: xr.DataTree, drawn: xr.Dataset, dims: tuple[str, ...]) -> None:
    """Raise if a dim of draws or systems, or some items, annotators or labels, were dropped.

    Kernels index arrays along ``dims`` by codes, so the arrays must be complete.
    """
    observed, constant = group_of(fit, OBSERVED), group_of(fit, "constant_data")
    require_sample(drawn)
    if "system_label_code" in observed:
        require_sample(observed, (SYSTEM,))
    for dim in dims:
        code = (observed if dim == LABEL else constant)[f"{dim}_code"].to_numpy()
        if code.max(initial=-1) >= constant.sizes.get(dim, 0):
            raise ArgumentError(
                "fit", expected=f"all of the fitted data: {code.max() + 1} {dim}s or more",
                found=f"{constant.sizes.get(dim, 0)} of them",
                hint="Remove data before fitting, or select from the result",
            )  # fmt: skip


def _thinned(drawn: xr.Dataset, draws: int | None, width: int) -> xr.Dataset:
    """Keep at most ``draws`` evenly spaced draws that fit in memory, equally many per chain."""
    n_chains, n = drawn.sizes[CHAIN], drawn.sizes[DRAW]
    n_wanted = n * n_chains if draws is None else arguments.whole("draws", draws)
    n_wanted = min(n_wanted, _CELLS // width)
    n = min(n, max(1, n_wanted // n_chains))
    return drawn.isel({DRAW: np.linspace(0, drawn.sizes[DRAW] - 1, n).round().astype(int)})


def _versions(observed: xr.DataArray, drawn: xr.DataArray, dims: tuple[str, ...]) -> Ints:
    """Concatenate the data and their replicates."""
    rest = drawn.transpose(*SAMPLE, *dims).to_numpy()
    first = observed.transpose(*dims).to_numpy().astype(rest.dtype)[None]
    return np.concatenate([first, rest.reshape(-1, *first.shape[1:])])


def _repeats(item: Ints, annotator: Ints) -> Ints:
    """Return pairs of adjacent rows with the same annotator and item (pair, 2)."""
    first = np.flatnonzero((np.diff(item) == 0) & (np.diff(annotator) == 0))
    return np.stack([first, first + 1], axis=-1)


def in_place(posterior: xr.Dataset, labels: npt.NDArray[np.generic]) -> xr.DataArray:
    """Return the probability (label) that the most frequent response to a label is this label."""
    whole = _confusion(posterior, len(labels))
    largest = np.diagonal(whole, axis1=-2, axis2=-1) >= whole.max(axis=-1)
    share = largest.mean(axis=tuple(range(largest.ndim - 1)))
    return xr.DataArray(share, dims=LABEL, coords={LABEL: labels})


def _confusion(posterior: xr.Dataset, n: int) -> Floats:
    """Return the annotators' confusion matrix (chain, draw, label, response)."""
    if "confusion" in posterior or "population_confusion" in posterior:
        whole = posterior.get("population_confusion")
        whole = posterior["confusion"].mean(ANNOTATOR) if whole is None else whole
        return np.asarray(whole.transpose(*SAMPLE, LABEL, RESPONSE).to_numpy())
    return common_confusion(posterior, n)


def common_confusion(posterior: xr.Dataset, n: int) -> Floats:
    """Return the mean confusion matrix (chain, draw, label, response) of symmetric confusion."""
    accuracy = posterior["annotator_accuracy"]
    accuracy = accuracy.mean([dim for dim in accuracy.dims if dim not in SAMPLE]).transpose(*SAMPLE)
    decay = posterior.get("distance_decay", xr.zeros_like(accuracy)).transpose(*SAMPLE)
    step = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = np.exp(-decay.to_numpy()[..., None, None] * step) * (step > 0)
    right = accuracy.to_numpy()[..., None, None]
    wrong = (1.0 - right) * weight / weight.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(step == 0, right, wrong))


@dataclass(frozen=True)
class CheckResult:
    """One statistic; version 0 is the data, the rest are replicates."""

    name: str
    meaning: str
    values: Floats
    """(version); empty if the statistic was not computed."""
    size: str
    """The size of the effect in words, or the reason that the statistic was not computed."""
    two_sided: bool = False
    """Whether small values are evidence against the model too."""

    @property
    def observed(self) -> float:
        """The value of the data."""
        return float(self.values[0]) if len(self.values) else float("nan")

    @property
    def tail(self) -> float:
        """P(replicated > observed); equal values count half."""
        drawn = self.values[1:][np.isfinite(self.values[1:])]
        if not (len(drawn) and np.isfinite(self.observed)):
            return float("nan")
        return float(tail_probability(drawn, self.observed, atol=1e-12))

    @property
    def p_value(self) -> float:
        """The tail probability, two-sided if both sides count."""
        tail = self.tail
        return 2.0 * min(tail, 1.0 - tail) if self.two_sided else tail


_ROUNDING: Final = 1e-14
"""Smaller variances are rounding errors: one different item in millions has a larger variance."""

Statistic = Callable[[Labels, Sums], tuple[Floats | None, str]]
"""Returns values (version) with a sentence on their size, or None with the reason."""


def error_pairs(versions: Labels, sums: Sums) -> tuple[Floats | None, str]:
    """Return the distance of the shares of pairs, among disagreements, from the model's shares."""
    n_labels = versions.layout.n_labels
    if n_labels < 3:
        return None, "with two labels there is only one pair"
    a, b = np.triu_indices(n_labels, 1)
    pairs = _divided(sums.pairs[:, a, b], sums.pairs.sum(axis=(1, 2))[:, None])
    if not np.isfinite(pairs[0]).all():
        return None, "nobody disagrees about an item"
    expected = _mean(pairs)
    gap = (pairs - expected) ** 2
    far = _divided(gap, expected + (gap == 0)).sum(axis=1)
    most = int(np.argmax(pairs[0] - expected))
    first, second = (_name(versions.labels[k[most]]) for k in (a, b))
    return np.sqrt(far), (
        f"{first} and {second} are confused {_times(pairs[0, most], expected[most])}: "
        f"they are {share(pairs[0, most])} of the pairs of labels that disagree"
    )


def error_distance(versions: Labels, sums: Sums) -> tuple[Floats | None, str]:
    """Return the mean number of steps between two labels that disagree."""
    if not versions.ordered or versions.layout.n_labels < 3:
        known = (
            "labels have no order"
            if versions.order_known
            else "a trace does not record their order"
        )
        return None, "there are only two labels" if versions.ordered else known
    n = versions.layout.n_labels
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = sums.pairs.sum(axis=(1, 2))
    values = _divided((sums.pairs * steps).sum(axis=(1, 2)), weight)
    near = _divided((sums.pairs * (steps == 1)).sum(axis=(1, 2)), weight)
    if not np.isfinite(values[0]):
        return None, "nobody disagrees about an item"
    return values, (
        f"labels that disagree are {values[0]:.2f} steps apart, by the model "
        f"{np.nanmean(values[1:]):.2f}: neighbouring labels are confused "
        f"{_times(near[0], np.nanmean(near[1:]))}"
    )


def label_use(versions: Labels, sums: Sums) -> tuple[Floats | None, str]:
    """Return how far annotators' shares of each label are from the shares under the model."""
    n = _labels_with_others(versions)
    if (n > 0).sum() < 2:
        return None, "no two annotators labelled the same items"
    excess = _divided(sums.excess, n[:, None])
    expected = _mean(excess)
    values = np.nansum(n[:, None] * (excess - expected) ** 2, axis=(1, 2)) / n.sum()
    weight = np.abs(excess[0] - expected) * np.sqrt(n)[:, None]
    annotator, label = np.unravel_index(np.nanargmax(weight), weight.shape)
    difference = excess[0, annotator, label]
    return np.sqrt(values), (
        f"annotator {_name(versions.annotators[annotator])} says {_name(versions.labels[label])} "
        f"{_points(abs(difference))} {'more' if difference > 0 else 'less'} often than all who "
        "labelled the same items, by the model "
        f"{_points(expected[annotator, label], signed=difference > 0)}"
    )


def annotator_agreement(versions: Labels, sums: Sums) -> tuple[Floats | None, str]:
    """Return the standard deviation over annotators of their agreement with the others."""
    n = _labels_with_others(versions)
    if (n > 0).sum() < 3:
        return None, "fewer than three annotators share items with others"
    has_others = n > 0
    agreement = sums.agreed[:, has_others] / n[has_others]
    weight = n[has_others] / n.sum()
    mean = agreement @ weight
    values = np.sqrt(((agreement - mean[:, None]) ** 2) @ weight)
    names, seen = versions.annotators[has_others], agreement[0]
    low, high = (int(place) for place in (np.argmin(seen), np.argmax(seen)))
    return values, (
        f"agreement with the others goes from {share(seen[low])} (annotator {_name(names[low])}) "
        f"to {share(seen[high])} ({_name(names[high])}); it differs between annotators "
        f"{_times(values[0], values[1:].mean(), 'as much')}"
    )


def item_agreement(versions: Labels, sums: Sums) -> tuple[Floats | None, str]:
    """Return the standard deviation over items of the agreement of their labels."""
    n = int((versions.n_of_items > 2).sum())
    if n < 2:
        return None, "no two items have three or more labels"
    mean, square = (sums.items / n).T
    variance = square - mean**2
    values = np.sqrt(np.where(variance > _ROUNDING, variance, 0.0))
    return values, (
        f"the agreement of labels differs between items "
        f"{_times(values[0], values[1:].mean(), 'as much')}"
    )


def system_pairs(versions: Labels, sums: Sums) -> tuple[Floats | None, str]:
    """Return the excess of cases in which systems agree on one label and annotators on another.

    The excess is over the mean of all versions; the value is the largest of all pairs of systems.
    """
    if len(versions.systems) < 2:
        return None, "there are not two systems"
    a, b = np.triu_indices(len(versions.systems), 1)
    answered = ((versions.answers[0] >= 0) & (versions.n_of_items > 1)[:, None]).astype(np.float64)
    shares = _divided(sums.same[:, a, b], (answered.T @ answered)[a, b])
    if not np.isfinite(shares[0]).any():
        return None, "no item with two labels has predictions of two systems"
    expected = _mean(shares)
    values = np.nanmax(shares - expected, axis=1)
    most = int(np.nanargmax(shares[0] - expected))
    first, second = (_name(versions.systems[k[most]]) for k in (a, b))
    return values, (
        f"{first} and {second} agree on one label where two annotators agree on another in "
        f"{share(shares[0, most], 3)} of cases, {_times(shares[0, most], expected[most])}"
    )


def system_unanimity(versions: Labels, sums: Sums) -> tuple[Floats | None, str]:
    """Return systems' agreement with annotators on unanimous items, minus that on divided items."""
    if not len(versions.systems):
        return None, "there are no systems"
    unanimous = _divided(sums.unanimous[..., 1], sums.unanimous[..., 0])
    divided = _divided(sums.split[..., 1], sums.split[..., 0])
    gap = unanimous - divided
    is_defined = np.isfinite(gap[0])
    if not is_defined.any():
        return None, "annotators agree on all items, or on no item"
    values = gap[:, is_defined].mean(axis=1)
    most = int(np.argmax(np.abs(gap[0] - _mean(gap))[is_defined]))
    system = np.flatnonzero(is_defined)[most]
    same, split = ((x[0, system], np.nanmean(x[1:, system])) for x in (unanimous, divided))
    return values, (
        f"{_name(versions.systems[system])} agrees with unanimous annotators on {share(same[0])} "
        f"of items, by the model {share(same[1])}; with one of divided annotators on "
        f"{share(split[0])}, by the model {share(split[1])}"
    )


def repeats(versions: Labels, _: Sums) -> tuple[Floats | None, str]:
    """Return the share of repeated labels (one annotator, one item) that are the same."""
    if not len(versions.repeats):
        return None, "nobody labelled an item twice"
    first, second = versions.repeats.T
    values = (versions.codes[:, first] == versions.codes[:, second]).mean(axis=1)
    return values, (
        f"annotators who label an item again give the same label {share(values[0])} of the time, "
        f"by the model {share(values[1:].mean())}"
    )


CHECKS: Final[tuple[tuple[str, str, Statistic, bool], ...]] = (
    ("error_pairs", "all errors are equally frequent", error_pairs, False),
    ("error_distance", "near and far errors are equally frequent", error_distance, True),
    ("label_use", "annotators use labels equally often", label_use, False),
    ("annotator_agreement", "annotators are equally accurate", annotator_agreement, True),
    ("item_agreement", "items are equally hard", item_agreement, True),
    ("system_pairs", "systems err independently of each other", system_pairs, False),
    (
        "system_unanimity",
        "items hard for annotators are not hard for systems",
        system_unanimity,
        True,
    ),
    ("repeats", "labels by one annotator are independent", repeats, True),
)
"""Name, the assumption of the simplest model, the statistic, and whether both tails count."""
_OF_ANNOTATORS: Final = {"label_use", "annotator_agreement", "repeats"}


def results_of(versions: Labels) -> list[CheckResult]:
    """Compute all statistics."""
    sums = versions.sums()
    out = []
    for name, meaning, statistic, two_sided in CHECKS:
        values, size = None, "a trace of this model does not say who gave which label"
        if len(versions.annotators) or name not in _OF_ANNOTATORS:
            values, size = statistic(versions, sums)
        out.append(
            CheckResult(name, meaning, np.empty(0) if values is None else values, size, two_sided)
        )
    return out


def _labels_with_others(versions: Labels) -> Floats:
    """Return how many labels each annotator gave to items with two or more labels."""
    rows = np.repeat(versions.n_of_items > 1, versions.n_of_items)
    n = np.bincount(versions.layout.annotator[rows], minlength=versions.layout.n_annotators)
    return n.astype(np.float64)


def _divided(above: Floats, below: Floats) -> Floats:
    out = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    return np.divide(above, below, out=out, where=below > 0)


def _mean(values: Floats) -> Floats:
    """Return the mean over all versions: as it includes the data, it is 0 only if all are 0."""
    known = np.isfinite(values)
    return _divided(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0).astype(float))


def _name(name: Any) -> str:
    value = getattr(name, "item", lambda: name)()
    return repr(short(value)) if isinstance(value, str) else str(value)


def _times(observed: float, expected: float, phrase: str = "as often") -> str:
    if not expected > 0:
        return "although never by the model"
    times = number(float(f"{observed / expected:.2g}"))
    return (
        f"about {phrase} as the model says"
        if times == "1"
        else f"{times} times {phrase} as the model says"
    )


def _points(value: float, *, signed: bool | None = None) -> str:
    """Write a difference of shares in percentage points."""
    text = f"{100 * abs(value):.0f} percentage points"
    if signed is None or round(100 * abs(value)) == 0:
        return text
    return text if (value > 0) == signed else f"{text} in the other direction"
