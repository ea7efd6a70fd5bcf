"""Simulation of annotators who draw labels from true plausibilities, and of systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr
from scipy.special import softmax

from dissensus import arguments
from dissensus.data import annotations as _annotations
from dissensus.data import predictions as _predictions
from dissensus.data.plausibility import NAME
from dissensus.dims import ITEM, LABEL, SCOPE, SCOPES, SYSTEM
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.types import Flags, Floats, Ints
from dissensus.wording import counted


def for_each[T](
    name: str, value: Any, count: int, noun: str, check: Callable[[str, Any], T]
) -> list[T]:
    """Return a checked value for each pool, annotator or system, from one or several values."""
    if not arguments.is_listed(value):
        return [check(name, value)] * count
    if len(value) != count:
        expected = f"one value, or one for each of {counted(count, noun)}"
        raise ArgumentError(name, expected=expected, found=brief(value))
    return [check(f"{name}[{place}]", entry) for place, entry in enumerate(value)]


LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_AT_LEAST: Final = 2
"""Minimum number of annotators of each item, since agreement needs two."""
_LOG_SHARPNESS: Final = (-12.0, 14.0)
_HALVINGS: Final = 32


class RankingRows(NamedTuple):
    """Partial rankings, with a row for each annotator, item and ranked label."""

    item: Ints
    annotator: Ints
    label: Ints
    rank: Ints


def present(n_items: int, n_annotators: int, missing: float, rng: np.random.Generator) -> Flags:
    """Draw whether an annotator labels an item (item, annotator); at least two annotators do."""
    chance = rng.random((n_items, n_annotators))
    is_present = chance >= missing
    certain = np.argsort(-chance, axis=1)[:, :_AT_LEAST]
    np.put_along_axis(is_present, certain, True, axis=1)
    return is_present


def rankings(
    plausibility: Floats, is_present: Flags, longest: int, ties: float, rng: np.random.Generator
) -> RankingRows:
    """Draw partial rankings: labels without replacement, in proportion to their plausibility.

    Lengths and ties do not depend on the labels, so that labels are missing at random.
    """
    item, annotator = np.nonzero(is_present)
    order = _without_replacement(_log(plausibility)[item], rng)[:, :longest]
    weight = np.arange(longest, 0, -1)  # short lists are more common
    length = 1 + rng.choice(longest, size=len(item), p=weight / weight.sum())
    tied = rng.random(order.shape) < ties
    tied[:, 0] = False
    rank = np.cumsum(~tied, axis=1)
    row, place = np.nonzero(np.arange(longest) < length[:, None])
    return RankingRows(item[row], annotator[row], order[row, place], rank[row, place])


def answers(plausibility: Floats, sharpness: Floats, listed: int, rng: np.random.Generator) -> Ints:
    """Draw codes of labels (item, system, position) in proportion to plausibility^sharpness.

    A system with sharpness 0 guesses, with 1 it is like an annotator, and with more it is better.
    Errors are plausible labels, and are more frequent on ambiguous items.
    """
    power = sharpness[:, None] * _log(plausibility)[:, None]
    return _without_replacement(power, rng)[..., :listed]


def sharpness_of(quality: Floats, plausibility: Floats) -> Floats:
    """Return the sharpness at which the first label is the top label with probability ``quality``.

    The probability, a mean over the items, increases with sharpness from 1/K to 1, so bisection
    finds the sharpness.
    """
    relative = _log(plausibility)
    relative -= relative.max(axis=1, keepdims=True)
    low, high = (np.full(len(quality), bound) for bound in _LOG_SHARPNESS)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        power = np.exp(middle)[:, None] * relative[:, None]
        below = (1 / np.exp(power).sum(axis=-1)).mean(axis=0) < quality
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.exp((low + high) / 2))


def _log(plausibility: Floats) -> Floats:
    """Return logarithms; 0 is replaced by the smallest positive number."""
    return np.log(np.maximum(plausibility, np.finfo(np.float64).tiny))


def _without_replacement(log_weight: Floats, rng: np.random.Generator) -> Ints:
    """Draw orders of labels, one label after another in proportion to its weight (Gumbel trick)."""
    return np.argsort(-(log_weight + rng.gumbel(size=log_weight.shape)), axis=-1)


def true_metrics(plausibility: Floats, lists: Ints) -> dict[str, Floats]:
    """Return metrics (system) of lists without ties against the true order of labels, by name."""
    depth = min(lists.shape[-1], 3)
    true = np.argsort(-plausibility, axis=1)[:, :depth]
    same = lists[:, :, :depth, None] == true[:, None, None, :]
    shared = [same[:, :, :k, :k].sum(axis=(2, 3)) for k in range(1, depth + 1)]
    out = {
        f"top_{k}_accuracy": same[:, :, :k, 0].any(axis=2).mean(axis=0) for k in range(1, depth + 1)
    }
    if depth == 1:
        return out
    for k in range(2, depth + 1):
        out[f"top_{k}_set_accuracy"] = (shared[k - 1] == k).mean(axis=0)
    overlap = sum(count / k for k, count in enumerate(shared, start=1))
    out[f"average_overlap_at_{depth}"] = np.mean(overlap / depth, axis=0)
    return out


_TOPICS: Final = (
    "billing", "delivery", "returns", "product fault", "account access", "order change",
    "product question", "praise",
)  # fmt: skip
"""Labels: topics of customer messages."""
_LISTED: Final = 3
_BLUR: Final = 0.03
"""Total added to an item's plausibilities. Otherwise metrics of later places would depend on the
order of labels with plausibilities of 1e-5 and 1e-9, which no annotator names."""
_FRESH: Final = 20_000
_CELLS: Final = 2_000_000
"""Maximum number of cells (system, label, item) in the simulation of new items."""


class Study(NamedTuple):
    """The result of `study`.

    Examples
    --------
    >>> import dissensus as dx
    >>> annotations, predictions, truth = dx.simulate.study(n_items=5, random_seed=1)
    >>> truth["quality"].to_series().to_dict()
    {'system A': 0.9, 'system B': 0.8, 'system C': 0.7, 'system D': 0.6}
    >>> truth["top_1_accuracy"].sel(scope="these items").values
    array([1. , 0.6, 0.8, 0.6])
    """

    annotations: xr.Dataset
    predictions: xr.Dataset
    truth: xr.Dataset
    """``plausibility`` (item, label), ``top_label`` (item), ``quality`` (system), and the true
    value of each metric, named like the metric, over (scope, system)."""


@dataclass(frozen=True)
class _Design:
    n_items: int
    n_annotators: int
    n_labels: int
    quality: Floats
    ranking: bool
    prior_count: float
    missing: float
    ties: float
    max_ranked: int

    @property
    def listed(self) -> int:
        """Number of labels in a system's list."""
        return min(_LISTED, self.n_labels) if self.ranking else 1

    def plausibility(self, n_items: int, rng: np.random.Generator) -> Floats:
        """Draw the plausibilities of items (item, label)."""
        return rng.dirichlet(np.full(self.n_labels, self.prior_count), n_items)

    def seen(self, plausibility: Floats) -> Floats:
        """Return the plausibilities from which systems draw, with a minimum for each label."""
        return plausibility + _BLUR / self.n_labels


def study(
    n_items: int = 300,
    n_annotators: int = 8,
    n_labels: int = 6,
    n_systems: int = 4,
    *,
    kind: str = "ranking",
    quality: Sequence[float] | None = None,
    prior_count: float = 0.05,
    missing: float = 0.2,
    ties: float = 0.2,
    max_ranked: int = 3,
    random_seed: Any = None,
) -> Study:
    r"""Simulate annotators who disagree, and systems of known quality.

    An item has a true plausibility, :math:`\theta_i \sim \mathrm{Dirichlet}(c, \dots, c)`, and its
    largest entry is the true top label. An annotator draws one label from :math:`\theta_i`
    ("nominal"), or up to ``max_ranked`` labels without replacement ("ranking", the Plackett-Luce
    process), some of which are tied. A system draws a list in the same way from
    :math:`(\theta_i + .03/K)^\kappa`, with :math:`\kappa` such that its first label is the true top
    label with the given probability.

    Parameters
    ----------
    n_items, n_annotators, n_labels, n_systems : int
        Numbers of items, annotators, labels and systems; at least 1 (labels: 2).
    kind : {"ranking", "nominal"}
        "ranking": annotators give partial rankings with ties, and systems give lists of up to three
        labels with scores. "nominal": annotators and systems give one label.
    quality : sequence of float, optional
        For each system the probability that its first label is the true top label; from 1/K
        (guessing) to 1. By default from .9 down to .6 in even steps.
    prior_count : float
        :math:`c`; > 0. Small values make most items clear; 1 makes all plausibilities equally
        likely.
    missing : float
        Probability in [0, 1) that an annotator skips an item; two annotators never skip it.
    ties : float
        Probability in [0, 1] that an annotator ties a label with the label before it.
    max_ranked : int
        Length of the longest ranking; shorter rankings are more frequent.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same study.

    Returns
    -------
    Study
        With the fields ``annotations``, ``predictions`` and ``truth``.

    Notes
    -----
    ``truth`` has each metric computed against the true plausibility, for these items and for new
    items of the same process (the mean over 20,000 items, or fewer in very large label spaces; the
    top-1 accuracy on new items is the given quality).

    An evaluation estimates accuracies *below* the true accuracies, because few annotators do not
    show which label is the most plausible if plausibilities are nearly even. The difference is
    larger for accurate systems, few annotators and a low reliability. `docs/validation.md` compares
    systems on real panels.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.study(n_items=50, random_seed=1)
    >>> study.truth["top_1_accuracy"].sel(scope="new items").values
    array([0.9, 0.8, 0.7, 0.6])
    >>> float(dx.top_k_accuracy(study.truth["plausibility"], study.predictions).sel(
    ...     system="system A")) == float(study.truth["top_1_accuracy"][0, 0])
    True
    """
    design = _checked(
        n_items, n_annotators, n_labels, n_systems,
        kind, quality, prior_count, missing, ties, max_ranked,
    )  # fmt: skip
    rng, later = np.random.default_rng(random_seed).spawn(2)
    cells = len(design.quality) * design.n_labels
    fresh = design.plausibility(max(min(_FRESH, _CELLS // cells), 1000), later)
    sharpness = sharpness_of(design.quality, design.seen(fresh))
    theta = design.plausibility(design.n_items, rng)
    is_present = present(design.n_items, design.n_annotators, design.missing, rng)
    longest = design.max_ranked if design.ranking else 1
    rows = rankings(theta, is_present, longest, design.ties, rng)
    lists = answers(design.seen(theta), sharpness, design.listed, rng)
    names = _names(design)
    table = {
        "item": names[ITEM][rows.item],
        "annotator": _numbered("annotator", design.n_annotators)[rows.annotator],
        "label": names[LABEL][rows.label],
        "rank": rows.rank,
    }
    rank = "rank" if design.ranking else None
    ann = _annotations.annotations(table, rank=rank, kind=kind, labels=list(names[LABEL]))
    new = true_metrics(fresh, answers(design.seen(fresh), sharpness, design.listed, later))
    new["top_1_accuracy"] = design.quality
    here = true_metrics(theta, lists)
    return Study(ann, _predicted(lists, names, rng), _truth(design, theta, here, new, names))


def _checked(
    n_items: Any, n_annotators: Any, n_labels: Any, n_systems: Any,
    kind: Any, quality: Any, prior_count: Any, missing: Any, ties: Any, max_ranked: Any,
) -> _Design:  # fmt: skip
    n_systems = arguments.whole("n_systems", n_systems)
    n_labels = arguments.whole("n_labels", n_labels, 2)
    ranking = arguments.one_of("kind", kind, ("ranking", "nominal")) == "ranking"
    q = np.linspace(0.9, 0.6, n_systems)
    if quality is not None:
        q = arguments.finite_row("quality", quality)
    if len(q) != n_systems or (q < 1 / n_labels).any() or (q > 1).any():
        raise ArgumentError(
            "quality",
            expected=f"for each of {n_systems} systems a probability from "
            f"{1 / n_labels:.3g} (guessing among {n_labels} labels) to 1",
            found=repr(quality),
        )
    return _Design(
        n_items=arguments.whole("n_items", n_items),
        n_annotators=arguments.whole("n_annotators", n_annotators),
        n_labels=n_labels,
        quality=q,
        ranking=ranking,
        prior_count=arguments.positive("prior_count", prior_count),
        missing=arguments.probability("missing", missing, allow_one=False),
        ties=arguments.probability("ties", ties),
        max_ranked=min(arguments.whole("max_ranked", max_ranked), n_labels),
    )


def _names(design: _Design) -> dict[str, npt.NDArray[np.str_]]:
    more = range(len(_TOPICS) + 1, design.n_labels + 1)
    topics = [*_TOPICS[: design.n_labels], *(f"topic {number}" for number in more)]
    return {
        ITEM: _numbered("message", design.n_items),
        LABEL: np.array(topics),
        SYSTEM: system_names(len(design.quality)),
    }


def system_names(count: int) -> npt.NDArray[np.str_]:
    """Return names of systems with letters, or with numbers if there are more than 26."""
    if count > len(LETTERS):
        return _numbered("system", count)
    return np.array([f"system {letter}" for letter in LETTERS[:count]])


def _numbered(word: str, how_many: int) -> npt.NDArray[np.str_]:
    """Return names numbered from 1, padded with zeros so that they sort in this order."""
    width = len(str(how_many))
    return np.array([f"{word} {number:0{width}d}" for number in range(1, how_many + 1)])


def _predicted(
    lists: Ints, names: dict[str, npt.NDArray[np.str_]], rng: np.random.Generator
) -> xr.Dataset:
    n_items, n_systems, listed = lists.shape
    item, system, _ = np.indices(lists.shape).reshape(3, -1)
    table: dict[str, Any] = {
        "item": names[ITEM][item],
        "system": names[SYSTEM][system],
        "label": names[LABEL][lists.ravel()],
    }
    if listed == 1:
        return _predictions.predictions(table)
    share = rng.dirichlet(np.ones(listed + 1), (n_items, n_systems))[..., :listed]
    table["score"] = -np.sort(-share, axis=-1).ravel()
    return _predictions.predictions(table, score="score")


def _truth(
    design: _Design,
    theta: Floats,
    here: dict[str, Floats],
    new: dict[str, Floats],
    names: dict[str, npt.NDArray[np.str_]],
) -> xr.Dataset:
    out = xr.Dataset(
        {
            NAME: ((ITEM, LABEL), theta),
            "top_label": (ITEM, names[LABEL][theta.argmax(axis=1)]),
            "quality": (SYSTEM, design.quality),
        },
        coords={**names, SCOPE: list(SCOPES)},
    )
    for name, value in here.items():
        out[name] = ((SCOPE, SYSTEM), np.stack([value, new[name]]))
    return out


# Items on a line.


_LABELS: Final = ("Benign1", "Benign2", "Cancer")
_CENTRES: Final = np.array([-2.0, 0.0, 2.0])


class Toy(NamedTuple):
    """The result of `toy`.

    Examples
    --------
    >>> import dissensus as dx
    >>> annotations, plausibility, x = dx.simulate.toy(n_items=4, random_seed=1)
    >>> x.round(1).values
    array([-1.3,  0.3,  2.4,  2.9])
    >>> plausibility.sel(label="Cancer").round(2).values
    array([0.  , 0.2 , 0.95, 0.98])
    """

    annotations: xr.Dataset
    """Nominal annotations, one label from every annotator for every item."""
    plausibility: xr.DataArray
    """(item, label): the true p(y | x), which can be passed to metrics in place of a fit."""
    x: xr.DataArray
    """(item): place on the line."""


def toy(
    n_items: int = 100,
    n_annotators: int = 5,
    *,
    x: Sequence[float] | None = None,
    overlap: float = 1.0,
    random_seed: Any = None,
) -> Toy:
    r"""Simulate items on a line, whose three labels overlap, and annotators.

    .. math:: p(y \mid x) \propto \mathrm{Normal}(x;\ \mu_y, \sigma), \qquad
        \mu = (-2, 0, 2) \text{ for Benign1, Benign2, Cancer}

    Each annotator draws a label of each item from this distribution, independently, as in
    `dissensus.models.dirichlet` at reliability 1. Items near -1 and 1, where two labels are equally
    probable, are ambiguous.

    Parameters
    ----------
    n_items : int
        Number of items, drawn from the mixture of the three labels. Not used with ``x``.
    n_annotators : int
        Number of annotators.
    x : sequence of float, optional
        Places of the items, in this order.
    overlap : float
        Standard deviation :math:`\sigma` of each label; > 0.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.

    Notes
    -----
    After Stutz et al. (2023), Figure 2, which has no numbers: centres and spread are chosen here.

    Examples
    --------
    >>> import dissensus as dx
    >>> toy = dx.simulate.toy(n_annotators=3, x=[-3.0, -1.0, 0.0], random_seed=1)
    >>> toy.plausibility.round(2).values
    array([[0.98, 0.02, 0.  ],
           [0.5 , 0.5 , 0.01],
           [0.11, 0.79, 0.11]])
    >>> toy.annotations.sizes["annotation"]
    9
    """
    n_annotators = arguments.whole("n_annotators", n_annotators)
    spread = arguments.positive("overlap", overlap)
    rng = np.random.default_rng(random_seed)
    if x is None:
        n_items = arguments.whole("n_items", n_items)
        centre = _CENTRES[rng.integers(len(_CENTRES), size=n_items)]
        at = np.sort(rng.normal(centre, spread))
    else:
        at = arguments.finite_row("x", x)
    true = softmax(-0.5 * ((at[:, None] - _CENTRES) / spread) ** 2, axis=1)
    chance = rng.random((len(at), n_annotators, 1))
    code = (chance >= true.cumsum(axis=1)[:, None, :-1]).sum(axis=-1)
    items = np.arange(1, len(at) + 1)
    table = {
        "item": np.repeat(items, n_annotators),
        "annotator": np.tile(np.arange(1, n_annotators + 1), len(at)),
        "label": np.asarray(_LABELS)[code.ravel()],
    }
    ann = _annotations.annotations(table, labels=_LABELS)
    coords = {ITEM: items, LABEL: list(_LABELS)}
    plausibility = xr.DataArray(true, dims=(ITEM, LABEL), coords=coords, name=NAME)
    return Toy(ann, plausibility, xr.DataArray(at, dims=ITEM, coords={ITEM: items}, name="x"))
