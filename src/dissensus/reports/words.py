"""The opening paragraphs of a report: the numbers, said in plain words."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.rows import ranking_code, voices_per
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.evaluation.answers import TRUTH
from dissensus.evaluation.doubts import of_answer
from dissensus.plots import _source as pieces
from dissensus.plots._source import NEW, THESE
from dissensus.reports import numbers as facts
from dissensus.reports.language import Name, Sentence, joined, sentence
from dissensus.sampling.intervals import spread
from dissensus.wording import (
    counted,
    digits_for,
    interval_name,
    metric_title,
    number,
    percent,
    share,
    spoken_probability,
)

ALONE: Final = (
    "No item has two annotators, so that nothing shows how far they disagree: there is no "
    "agreement, no discrepancy ratio, and the intervals rest on the prior."
)


def data_words(evaluation: xr.DataTree) -> Sentence:
    """Say what there is: items, annotators, what they gave, how often they disagree."""
    annotations = evaluation["annotations"].to_dataset()
    kind = annotations.attrs["kind"]
    ranking = kind == "ranking"
    n_items = annotations.sizes[ITEM]
    given = int(ranking_code(annotations).max()) + 1 if ranking else annotations.sizes[ANNOTATION]
    noun = {"ranking": "ranking", "continuous": "score"}.get(kind, "label")
    n_annotators = annotations.sizes[ANNOTATOR]
    # Votes without names, as counts are: that nobody speaks twice says nothing about how many.
    nameless = n_annotators == given > n_items
    words = sentence(
        "{who} gave {given} to {items}, {each} each on average",
        who="Annotators named once each" if nameless else counted(n_annotators, "annotator"),
        given=counted(given, noun),
        items=counted(n_items, "item"),
        each=number(round(given / max(1, n_items), 1)),
    )
    if kind in {"nominal", "ordinal"}:
        several = evaluation["statistics"]["n_annotations"].to_numpy() > 1
        split = evaluation["statistics"]["leading_share"].to_numpy()[several] < 1
        if len(split):
            which = "the items" if several.all() else "the items with more than one"
            words += sentence("; they are not unanimous on {share} of {which}",
                              share=share(float(split.mean())), which=which)  # fmt: skip
    return (*words, "." if some_shared(annotations) else f". {ALONE}")


def some_shared(annotations: xr.Dataset) -> bool:
    """Say whether any item has two annotators."""
    return bool(voices_per(annotations, ITEM).max() > 1)


def _intervals(values: xr.Dataset, system: object, digits: int) -> Sentence:
    """Write both intervals of a system's mean."""
    these, new = (values.sel({SCOPE: scope, SYSTEM: system}) for scope in (THESE, NEW))
    prob = float(values.attrs["probability"])
    bounds = [share(float(one[b]), digits) for one in (these, new) for b in ("lower", "upper")]
    return sentence(
        "({level} interval {a} to {b}; on new items {c} to {d})",
        level=percent(prob),
        **dict(zip("abcd", bounds, strict=True)),
    )  # fmt: skip


def _achieves(metric: str, value: str) -> Sentence:
    """Say what a value of this metric means."""
    k = metric.removeprefix("top_").partition("_")[0]
    if metric == "top_1_accuracy":
        return sentence("names the most plausible label for {value} of the items", value=value)
    if metric.startswith("top_") and metric.endswith("_set_accuracy"):
        return sentence("names just the {k} most plausible labels for {value} of the items",
                        k=k, value=value)  # fmt: skip
    if metric.startswith("top_") and metric.endswith("_accuracy"):
        return sentence("has the most plausible label among its first {k} for {value} of the items",
                        k=k, value=value)  # fmt: skip
    return sentence("reaches a {metric} of {value}", metric=metric_title(metric), value=value)


def digits(values: xr.Dataset) -> int:
    """Choose the decimals that the narrower intervals of a metric call for."""
    return digits_for((values["upper"] - values["lower"]).to_numpy().ravel().tolist())


def leader_words(
    evaluation: xr.DataTree, values: xr.Dataset, metric: str, reliability: float
) -> list[Sentence]:
    """Say who leads at one reliability, how surely, and what one would have said without it.

    ``values`` are the `numbers` of this metric, all reliabilities.
    """
    here = values.sel({RELIABILITY: reliability})
    ranked = facts.ordered(here.sel({SCOPE: THESE}))
    systems = ranked[SYSTEM].to_numpy().tolist()
    d = digits(values)
    value = share(float(ranked["mean"][0]), d)
    who = sentence("{name} {achieves} {intervals}", name=Name(str(systems[0])),
                   achieves=_achieves(metric, value),
                   intervals=_intervals(here, systems[0], d))  # fmt: skip
    if facts.knows_reliability(evaluation):
        at = "At" if len(pieces.sides(evaluation)) == 1 else f"Under {evaluation.attrs['model']} at"
        who = sentence("{at} reliability {r}, {who}", at=at, r=number(reliability), who=who)
    out = [(*who, ".")]
    if len(systems) > 1:
        pair = (
            evaluation["comparison"].to_dataset().sel({"metric": metric, RELIABILITY: reliability})
        )
        out += _rivals(pair, ranked, systems, d)
    out += _naive_words(evaluation, ranked, d)
    return out


def answer_words(evaluation: xr.DataTree, system: object) -> list[Sentence]:
    """Say of a system each of the numbers that people call accuracy, by its name."""
    if "answers" not in evaluation.children:
        return []
    answers = evaluation["answers"].to_dataset()
    known = {str(name): spread(values) for name, values in answers.data_vars.items()}
    humans = known["human_agreement"]["mean"]
    systems = answers[SYSTEM].to_numpy().tolist() if SYSTEM in answers.coords else []
    if not np.isfinite(humans) or system not in systems:
        return []
    own = {
        name: {part: float(value.sel({SYSTEM: system})) for part, value in parts.items()}
        for name, parts in known.items()
        if name != "human_agreement"
    }
    out = sentence(
        "{name} says what an annotator drawn at random says on {one} of {items} (annotators say "
        "what another one says on {humans}), and what most of a large panel of them would say on "
        "{panel}",
        name=Name(str(system)), one=share(own["annotator_agreement"]["mean"]),
        items=answers.attrs["scope"], humans=share(float(humans)),
        panel=_held(own["panel_agreement"]),
    )  # fmt: skip
    if "accuracy" in own and not of_answer(evaluation, "accuracy"):
        out += sentence(
            "; if each item has one true label, it gives that on {right}",
            right=_held(own["accuracy"]),
        )
    return [(*out, ".")]


def true_label_words(evaluation: xr.DataTree) -> list[Sentence]:
    """Answer what was asked, where that is the one true label of each item."""
    if "answers" not in evaluation.children:
        return []
    answers = evaluation["answers"].to_dataset()
    if answers.attrs["question"] != TRUTH or "accuracy" not in answers:
        return []
    draws = answers["accuracy"].dropna(SYSTEM, how="all")
    if not draws.sizes[SYSTEM] or of_answer(evaluation, "accuracy"):
        return []
    order = draws.mean(SAMPLE).argsort().to_numpy()[::-1]
    first, *rest = (draws.isel({SYSTEM: place}) for place in order)
    best = _numbers(first)
    out = sentence(
        "{name} gives the one true label on {value} of {items}",
        name=Name(str(first[SYSTEM].item())), value=_held(best), items=answers.attrs["scope"],
    )  # fmt: skip
    if rest:
        better = float((first > rest[0]).mean() + (first == rest[0]).mean() / 2)
        out += sentence(
            ", {other}, the next, on {value}: {name} is right more often with probability {p}",
            other=Name(str(rest[0][SYSTEM].item())), value=_held(_numbers(rest[0])),
            name=Name(str(first[SYSTEM].item())), p=spoken_probability(better),
        )  # fmt: skip
    return [(*out, ".")]


def _numbers(draws: xr.DataArray) -> dict[str, float]:
    return {name: float(value) for name, value in spread(draws).items()}


def _held(parts: dict[str, float]) -> str:
    """Write a mean with its interval."""
    d = digits_for([parts["upper"] - parts["lower"]])
    return "{} ({} to {})".format(*(share(parts[name], d) for name in ("mean", "lower", "upper")))


def _rivals(pair: xr.Dataset, ranked: xr.Dataset, systems: list[Any], d: int) -> list[Sentence]:
    """Say how surely the leader is better than the next, and the best of all."""
    first, second = systems[0], systems[1]
    duel = {SYSTEM: first, f"{SYSTEM}_": second}
    better, equal = (pair[name].sel(duel) for name in ("probability_better", "probability_equal"))
    names = {"a": Name(str(first)), "b": Name(str(second))}
    if float(equal.sel({SCOPE: NEW})) > 0.995:
        level = facts.leaders(ranked.expand_dims(RELIABILITY))[0]
        return [sentence("{all} do equally well, draw by draw.", all=joined(level))]
    out = [sentence(
        "It is better than {b} ({value}), the next, {sure}{verdict}.",
        **names, value=share(float(ranked["mean"][1]), d), sure=_sure(better),
        verdict=_verdict(float(better.sel({SCOPE: NEW})), float(equal.sel({SCOPE: NEW}))),
    )]  # fmt: skip
    if len(systems) > 2:
        best = pair["probability_best"].sel({SYSTEM: first})
        out.append(sentence("It is the best of the {n} systems {sure}.",
                            n=f"{len(systems):,}", sure=_sure(best)))  # fmt: skip
    return out


def _sure(values: xr.DataArray) -> str:
    """Write a probability of either scope, once if they read the same."""
    these, new = (spoken_probability(float(values.sel({SCOPE: scope}))) for scope in (THESE, NEW))
    if these == new:
        return f"with probability {these}, on these items and on new ones"
    return f"with probability {these} on these items and {new} on new ones"


def _verdict(better: float, equal: float) -> str:
    if better >= 0.95:
        return ""
    if better + equal / 2 >= 0.8:
        return ": likely, not certain"
    return ": which of the two is better stays open"


def _naive_words(evaluation: xr.DataTree, ranked: xr.Dataset, d: int) -> list[Sentence]:
    """Say what the same data give if the disagreement of the annotators is ignored."""
    naive = float(ranked["naive"][0])
    if not np.isfinite(naive):
        return []
    low, high = float(ranked["lower"][0]), float(ranked["upper"][0])
    holds = "which the interval holds" if low <= naive <= high else (
        f"{share(abs(naive - float(ranked['mean'][0])), d)} "
        f"{'more' if naive > high else 'less'}, and outside the interval"
    )  # fmt: skip
    truth = str(evaluation.attrs.get("point_estimate", "the majority label of each item"))
    ignored = (
        "the annotators disagree"
        if some_shared(evaluation["annotations"].to_dataset())
        else "another annotator might disagree"
    )
    out = [sentence(
        "Had one ignored that {ignored}, and taken {truth} for the truth, one would have said "
        "{naive}: {holds}.",
        ignored=ignored, truth=truth, naive=share(naive, d), holds=holds,
    )]  # fmt: skip
    sign = -1 if str(ranked["better"].item()) == "lower" else 1
    best = ranked.isel({SYSTEM: int(np.nanargmax(sign * ranked["naive"].to_numpy()))})
    if sign * float(best["naive"]) > sign * naive + 1e-12:
        out.append(sentence("One would also have put {c} ({value}) first.",
                            c=Name(str(best[SYSTEM].item())),
                            value=share(float(best["naive"]), d)))  # fmt: skip
    return out


def truth_words(values: xr.Dataset) -> list[Sentence]:
    """Say how many intervals hold a known truth; nothing where none is known.

    ``values`` are `numbers` at one reliability, of all metrics.
    """
    known = values["truth"].notnull()
    if not bool(known.any()):
        return []
    inside = (values["truth"] >= values["lower"]) & (values["truth"] <= values["upper"]) & known
    parts = [
        f"{int(inside.sel({SCOPE: scope}).sum())} of {int(known.sel({SCOPE: scope}).sum())} "
        f"intervals for {scope}"
        for scope in values[SCOPE].to_numpy()
    ]
    out = [sentence("The truth is known here: {parts} hold it.", parts=" and ".join(parts))]
    if int(inside.sum()) < int(known.sum()):
        out.append(sentence(
            "Some misses are to be expected: what a system does where annotators are evenly split "
            "their labels do not show, and one that sees more clearly than they do comes out too "
            "low."
        ))  # fmt: skip
    return out


def interval_words(*, scopes: bool) -> Sentence:
    """State kind and level of all intervals, and what the two scopes mean."""
    said = sentence("Intervals are {name}s of the posterior.", name=interval_level())
    if not scopes:
        return said
    return said + sentence(
        " Those for these items hold the uncertainty about what the annotators' labels mean for "
        "the items at hand; those for new items add that only so many items were seen (Bayesian "
        "bootstrap over items)."
    )


def interval_level() -> str:
    """Name the intervals of this report by level and kind."""
    kind, prob = facts.settings()
    return interval_name(prob, kind)
