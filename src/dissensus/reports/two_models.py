"""What two models of the same annotations say alike, and where they part, in words and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.plausibility import Space, space
from dissensus.dims import ITEM, RELIABILITY, SCOPE, SYSTEM, other
from dissensus.kernels.types import Floats
from dissensus.plots import _source as pieces
from dissensus.reports import numbers as facts
from dissensus.reports.language import Name, Sentence, joined, sentence, text
from dissensus.reports.words import digits
from dissensus.wording import counted, metric_title, number, share

# Where two models of the same annotations part: the numbers, not yet the words.


MODEL: Final = "model"
SURE: Final = 0.8
"""A model counts as sure of an order that it gives this probability."""


class Swap(NamedTuple):
    """Two systems that the models put in opposite orders."""

    first: Any
    second: Any
    """The first is ahead in the main model, the second in its companion."""
    sure: bool
    """Whether both models are sure of their order."""


def named(side: xr.DataTree) -> str:
    """Name a model, with the reliability it is shown at."""
    return f"{side.attrs['model']} at {number(side.attrs['reference_reliability'])}"


def both(evaluation: xr.DataTree) -> list[xr.Dataset]:
    """Return the `numbers` of both models."""
    return [facts.numbers(side) for side in pieces.sides(evaluation)]


def pair(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> xr.Dataset:
    """Return `numbers` of both models at their reference reliabilities, for the items at hand.

    That only so many items were seen makes both models' intervals wider alike: it is no reason
    for them to differ, and is left out.
    """
    each = []
    for side, values in zip(pieces.sides(evaluation), numbers, strict=True):
        here = {RELIABILITY: side.attrs["reference_reliability"], SCOPE: pieces.THESE}
        each.append(values.sel(here).drop_vars([RELIABILITY, SCOPE]))
    index = xr.IndexVariable(MODEL, [str(side.attrs["model"]) for side in pieces.sides(evaluation)])
    out = xr.concat(each, dim=index, combine_attrs="override")
    return out.assign(apart=out["lower"].max(MODEL) > out["upper"].min(MODEL))


def reach(numbers: list[xr.Dataset], metric: str) -> xr.Dataset:
    """Return the lowest and the highest mean along each model's reliabilities (model, system)."""
    each = []
    for values in numbers:
        mean = values["mean"].sel(metric=metric).sel({SCOPE: pieces.THESE}, drop=True)
        ends = {"low": mean.min(RELIABILITY), "high": mean.max(RELIABILITY)}
        each.append(xr.Dataset(ends))
    return xr.concat(each, dim=xr.IndexVariable(MODEL, ["main", "companion"]))


def swaps(evaluation: xr.DataTree, metric: str) -> list[Swap]:
    """Return the pairs of systems that one model orders otherwise than the other, surest first."""
    better = []
    for side in pieces.sides(evaluation):
        if not facts.has(side, "comparison"):
            return []
        pairs = (
            side["comparison"]
            .to_dataset()
            .sel(
                {
                    "metric": metric,
                    SCOPE: pieces.THESE,
                    RELIABILITY: side.attrs["reference_reliability"],
                }
            )
        )
        ahead = pairs["probability_better"] + pairs["probability_equal"] / 2
        better.append(ahead.transpose(SYSTEM, other(SYSTEM)).to_numpy())
    first, second = better
    # A draw of equal scores is half a win for each: .5 is no order.
    found = (first > 0.5) & (second < 0.5) & ~np.eye(len(first), dtype=bool)
    sure = np.minimum(first, 1 - second)
    names = evaluation["metrics"][SYSTEM].to_numpy().tolist()
    places = sorted(np.argwhere(found).tolist(), key=lambda ij: -sure[ij[0], ij[1]])
    return [Swap(names[i], names[j], bool(sure[i, j] >= SURE)) for i, j in places]


def items(evaluation: xr.DataTree) -> xr.Dataset:
    """Return, item by item, what leads in each model and how far the models are apart.

    Returns
    -------
    xarray.Dataset
        Over (item): ``differs``, whether different labels lead on average over the draws, and
        ``distance``, the share of the plausibility that lies on other labels (half the sum of
        absolute differences).
    """
    first, second = (facts.mean_plausibility(side) for side in pieces.sides(evaluation))
    where = space(first)
    masses = (first.to_numpy(), onto(second, where))
    leading = [_leading(mass, where) for mass in masses]
    return xr.Dataset(
        {
            "differs": (ITEM, leading[0] != leading[1]),
            "distance": (ITEM, np.abs(masses[0] - masses[1]).sum(axis=1) / 2),
        },
        coords={ITEM: first[ITEM].to_numpy()},
    )


def beside(evaluation: xr.DataTree) -> Floats | None:
    """Return the companion's mean plausibilities on the main model's columns, if there is one."""
    both_sides = pieces.sides(evaluation)
    if len(both_sides) < 2:
        return None
    return onto(facts.mean_plausibility(both_sides[1]), space(facts.draws_or_mean(evaluation)))


def onto(mean: xr.DataArray, where: Space) -> Floats:
    """Write a mean plausibility on the columns of another of the same items and labels."""
    values, own = mean.to_numpy(), space(mean)
    if own.dense == where.dense and (own.dense or np.array_equal(own.codes, where.codes)):
        return values
    if not own.dense:
        # On average over the draws the labels of a remainder have even parts of its mass.
        each = values[:, -1] / np.maximum(own.sizes[:, -1], 1)
        item, column = np.nonzero(own.codes >= 0)
        named = values[item, column]
        values = np.repeat(each[:, None], len(where.labels), axis=1)
        values[item, own.codes[item, column]] = named
    if where.dense:
        return values
    is_named = where.codes >= 0
    out = np.take_along_axis(values, np.maximum(where.codes, 0), axis=1) * is_named
    out[:, -1] += np.where(is_named[:, -1], 0.0, np.maximum(1.0 - out.sum(axis=1), 0.0))
    return out


def _leading(mass: Floats, where: Space) -> npt.NDArray[np.int64]:
    """Return the column that leads, a remainder going by the mass of each of its labels."""
    sizes = np.broadcast_to(where.sizes, mass.shape)
    return np.argmax(np.where(sizes > 0, mass / np.maximum(sizes, 1), -1.0), axis=1)


_NAMED = 3
_ROUNDING = 1e-9
FURTHEST = 6
"""So many items are shown on which the models part."""


@dataclass(frozen=True)
class Verdict:
    """What is said of two models."""

    short: Sentence
    """For the opening of a page, or a terminal."""
    full: list[list[Sentence]]
    """Paragraphs."""
    agree: bool


def verdict(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> Verdict:
    """Say whether the models part, where, and what to make of it.

    ``numbers`` are those of `parting.both`; none without predictions.
    """
    apart = items(evaluation)
    about = [_settings(evaluation)]
    if not numbers:
        agree = not bool(apart["differs"].any())
        full = [
            about,
            _item_words(evaluation, apart),
            [_conclusion(evaluation, None, agree=agree, same_order=False)],
        ]
        return Verdict(_of_items(evaluation, apart), full, agree)
    values = pair(evaluation, numbers)
    metric = str(values["metric"].to_numpy()[0])
    swapped = swaps(evaluation, metric)
    several = values.sizes[SYSTEM] > 1
    agree = not bool(values["apart"].sel(metric=metric).any()) and not any(s.sure for s in swapped)
    systems = _interval_words(evaluation, values, metric)
    if systems_apart(values, metric):
        systems.append(_reach_words(evaluation, numbers, metric, systems_apart(values, metric)[0]))
    systems.append(_order_words(values, metric, swapped))
    full = [
        about,
        systems + _other_metrics(values),
        _item_words(evaluation, apart),
        [_conclusion(evaluation, metric, agree=agree, same_order=several and not swapped)],
    ]
    return Verdict(_short(evaluation, values, metric, agree=agree), full, agree)


def parting_words(evaluation: xr.DataTree) -> str:
    """Say in one sentence, as plain text, whether two models agree."""
    numbers = both(evaluation) if facts.has(evaluation, "metrics") else []
    return text(verdict(evaluation, numbers).short)


def _names(evaluation: xr.DataTree) -> tuple[str, str]:
    first, second = (str(side.attrs["model"]) for side in pieces.sides(evaluation))
    return first, second


def _settings(evaluation: xr.DataTree) -> Sentence:
    first, second = (named(side) for side in pieces.sides(evaluation))
    return sentence(
        "What an annotation is worth for the plausibility of a label is for a model to say, and "
        "the annotations do not tell which one is right. Here are two side by side, each over "
        "reliabilities of its own and compared at one of them: {a} and {b}. The two scales mean "
        "different things: equal numbers are not equal trust.", a=first, b=second,
    )  # fmt: skip


def _short(evaluation: xr.DataTree, values: xr.Dataset, metric: str, *, agree: bool) -> Sentence:
    first, second = _names(evaluation)
    title = metric_title(metric)
    if agree:
        return sentence("A second model, {b}, agrees with {a} on the {title} of the systems.",
                        a=first, b=second, title=title)  # fmt: skip
    apart = int(values["apart"].sel(metric=metric).sum())
    if not apart:
        return sentence("A second model, {b}, contradicts {a} on the order of the systems in "
                        "{title}.", a=first, b=second, title=title)  # fmt: skip
    return sentence(
        "A second model, {b}, parts from {a}: the intervals of the {title} of {n} do not overlap.",
        a=first, b=second, title=title, n=_of(apart, values.sizes[SYSTEM], "system"),
    )  # fmt: skip


def _of(count: int, total: int, noun: str) -> str:
    if count == total:
        return f"all {counted(total, noun)}" if total > 1 else f"the {noun}"
    return f"{count:,} of {counted(total, noun)}"


def _interval_words(evaluation: xr.DataTree, values: xr.Dataset, metric: str) -> list[Sentence]:
    """Say of which systems the intervals do not overlap, and whether reliability mends that."""
    first, second = _names(evaluation)
    here = values.sel(metric=metric)
    title, d = metric_title(metric), digits(here)
    n_systems = here.sizes[SYSTEM]
    apart = systems_apart(values, metric)
    if not apart:
        gap = _gap(here)
        worst = int(np.argmax(gap))
        return [sentence(
            "In {title} the models agree: {of} overlap, the means differing by at most {gap} "
            "({name}).", title=title, gap=share(float(gap[worst]), d),
            of=f"the two intervals of {'the' if n_systems == 1 else 'each'} system",
            name=Name(str(here[SYSTEM].to_numpy()[worst])),
        )]  # fmt: skip
    parts: list[str] = []
    for k in apart[:_NAMED]:
        means = [share(float(here["mean"].isel({MODEL: m, SYSTEM: k})), d) for m in (0, 1)]
        parts += ["; " if parts else "", Name(str(here[SYSTEM].to_numpy()[k])),
                  f" {means[0]} under {first}, {means[1]} under {second}"]  # fmt: skip
    left = len(apart) - _NAMED
    parts += [f"; and {left} more"] if left > 0 else []
    return [sentence(
        "In {title} the models part: the intervals of {n} do not overlap ({parts}).",
        title=title, n=_of(len(apart), n_systems, "system"), parts=tuple(parts),
    )]  # fmt: skip


def _gap(here: xr.Dataset) -> npt.NDArray[np.float64]:
    """Return how far the means of each system are apart."""
    mean = here["mean"].transpose(MODEL, SYSTEM).to_numpy()
    return np.abs(mean[0] - mean[1])


def systems_apart(values: xr.Dataset, metric: str) -> list[int]:
    """Return the places of the systems whose intervals do not overlap, furthest apart first."""
    here = values.sel(metric=metric)
    order = np.argsort(-_gap(here), kind="stable")
    return [int(k) for k in order if bool(here["apart"][k])]


def _reach_words(
    evaluation: xr.DataTree, numbers: list[xr.Dataset], metric: str, place: int
) -> Sentence:
    """Say whether another choice of reliability would bring a system's two values together."""
    first, second = _names(evaluation)
    ends = reach(numbers, metric).isel({SYSTEM: place})
    d = digits(numbers[0].sel(metric=metric))
    low, high = ends["low"].to_numpy(), ends["high"].to_numpy()
    meet = low.max() <= high.min()
    return sentence(
        "Over all reliabilities gone through, {name} is at {a} to {b} under {first} and at {c} to "
        "{d} under {second}: {so}.",
        name=Name(str(ends[SYSTEM].item())), a=share(float(low[0]), d), b=share(float(high[0]), d),
        c=share(float(low[1]), d), d=share(float(high[1]), d), first=first, second=second,
        so="ranges that meet, so that some of the difference may be one of trust" if meet
        else "no choice of reliabilities brings the two together",
    )  # fmt: skip


def _order_words(values: xr.Dataset, metric: str, swapped: list[Swap]) -> Sentence:
    """Say whether the systems come in the same order."""
    n_systems = values.sizes[SYSTEM]
    if n_systems < 2:
        return ()
    title = metric_title(metric)
    if not swapped:
        return sentence(" Both put the systems in the same order.")
    first, second = values[MODEL].to_numpy().tolist()
    one = swapped[0]
    sure = sum(swap.sure for swap in swapped)
    how = "each sure of it" if one.sure else "though not both are sure of it"
    more = len(swapped) - 1
    return sentence(
        "The order of the systems in {title} changes for {n}: {first} puts {a} before {b}, "
        "{second} {b} before {a}, {how}{more}.",
        title=title, n=_of(len(swapped), n_systems * (n_systems - 1) // 2, "pair"),
        first=first, second=second, a=Name(str(one.first)), b=Name(str(one.second)), how=how,
        more=f"; of the {counted(more, 'other pair')}, they are sure of {sure - one.sure}"
        if more else "",
    )  # fmt: skip


def _other_metrics(values: xr.Dataset) -> list[Sentence]:
    """Count where intervals part in the metrics after the first."""
    rest = values["apart"].isel(metric=slice(1, None)).sum(SYSTEM)
    if not rest.sizes["metric"]:
        return []
    hit = [
        f"{metric_title(str(name))} ({int(count)})"
        for name, count in zip(rest["metric"].to_numpy(), rest.to_numpy(), strict=True)
        if count
    ]
    if not hit:
        return [sentence("In no other metric do intervals part.")]
    return [sentence("Systems whose intervals part in other metrics: {hit}; none in the rest."
                     if len(hit) < rest.sizes["metric"]
                     else "Systems whose intervals part in other metrics: {hit}.",
                     hit=", ".join(hit))]  # fmt: skip


def _of_items(evaluation: xr.DataTree, apart: xr.Dataset) -> Sentence:
    """Say of how many items another label leads."""
    first, second = _names(evaluation)
    differs, n_items = int(apart["differs"].sum()), apart.sizes[ITEM]
    if not differs:
        return sentence("Under {a} and {b} the same label leads on average in all of {n}.",
                        a=first, b=second, n=counted(n_items, "item"))  # fmt: skip
    return sentence(
        "Under {a} and {b} different labels lead on average in {n}.",
        a=first, b=second, n=_of(differs, n_items, "item"),
    )  # fmt: skip


def _item_words(evaluation: xr.DataTree, apart: xr.Dataset) -> list[Sentence]:
    """Say of how many items the leading label differs, and which are furthest apart."""
    out = [_of_items(evaluation, apart)]
    distance = apart["distance"].to_numpy()
    if float(distance.max()) > _ROUNDING:
        order = np.argsort(-distance, kind="stable")[:_NAMED].tolist()
        far = [k for k in order if distance[k] > _ROUNDING]
        names = joined(apart[ITEM].to_numpy()[far].tolist())
        out.append(sentence(
            "On average over items, {mean} of the plausibility lies on other labels; most for "
            "{names} ({values}).", mean=share(float(distance.mean())), names=names,
            values=", ".join(share(float(distance[k])) for k in far),
        ))  # fmt: skip
    doubts = []
    for side in pieces.sides(evaluation):
        doubt = facts.certainty_shares(side).sel(top=1, below=0.9)
        here = doubt.sel({RELIABILITY: side.attrs["reference_reliability"]})
        doubts.append(f"{share(float(here))} of the items under {named(side)}")
    out.append(sentence("The leading label is in doubt (certainty below .90) for {a} and {b}.",
                        a=doubts[0], b=doubts[1]))  # fmt: skip
    return out


def furthest(apart: xr.Dataset) -> list[int]:
    """Return the places of the items to show: those with another leading label come first."""
    distance = apart["distance"].to_numpy()
    order = np.lexsort((-distance, ~apart["differs"].to_numpy()))
    return [int(k) for k in order[:FURTHEST] if distance[k] > _ROUNDING]


def _conclusion(
    evaluation: xr.DataTree, metric: str | None, *, agree: bool, same_order: bool
) -> Sentence:
    first, second = _names(evaluation)
    what = "the leading labels" if metric is None else f"the systems' {metric_title(metric)}"
    if agree:
        return sentence("What to make of it: what is said here about {what} does not hang on "
                        "which of the two models one takes.", what=what)  # fmt: skip
    but = ", but which system is better does not" if same_order else ""
    return sentence(
        "What to make of it: conclusions about {what} hang on the model{but}. More draws would "
        "not change that. Give both results, or say why {a} or {b} is what these annotators do: "
        "their cards, under Data and model, say what each assumes. The items below, on which they "
        "part, are worth another look, or another annotator.",
        what=what, a=first, b=second, but=but,
    )  # fmt: skip
