"""The first sentences of a report: the data, the leading system, the certainty of the items."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.rows import ranking_code, voices_per
from dissensus.dims import ANNOTATION, ANNOTATOR, ITEM, RELIABILITY, SCOPE, SYSTEM, other
from dissensus.evaluation.answers import by_items, votes_of
from dissensus.evaluation.doubts import of_answer
from dissensus.plots._source import NEW, THESE, sides
from dissensus.reports import evidence
from dissensus.reports.evidence import Facts, interval_title
from dissensus.reports.sentences import interval
from dissensus.sampling.intervals import spread
from dissensus.wording import (
    counted,
    digits_for,
    metric_title,
    number,
    share,
    spoken_probability,
)

LABELLED: Final = "the labelled items"
ALONE: Final = (
    "No item has two annotators: agreement and discrepancy ratios cannot be estimated, and "
    "intervals depend on the prior."
)


_ANOTHER: Final = 0.01
"""Agreement by labels and agreement by items are both written if they differ by more than this."""
_ANSWERS: Final = {"ranking": "ranking", "continuous": "score", "set": "answer"}


def data(evaluation: xr.DataTree) -> Facts:
    """Return numbers of items, annotators and annotations, and the rate of disagreement."""
    annotations = evaluation["annotations"].to_dataset()
    kind = annotations.attrs["kind"]
    n_items, n_annotators = annotations.sizes[ITEM], annotations.sizes[ANNOTATOR]
    given = annotations.sizes[ANNOTATION]
    if kind == "ranking":
        given = int(ranking_code(annotations).max()) + 1
    counts = evaluation["statistics"]["n_annotations"].to_numpy()
    several, bare = counts > 1, int((counts == 0).sum())
    split = None
    is_of_labels = kind in {"nominal", "ordinal"} and not evidence.is_of_numbers(evaluation)
    if is_of_labels and several.any():
        leading = evaluation["statistics"]["leading_share"].to_numpy()[several]
        split = float((leading < 1).mean())
    # Names that occur once each, as in tables of counts, do not show the number of annotators.
    is_nameless = n_annotators == given > n_items
    return {
        "annotators": "Annotators (each name occurs only once)" if is_nameless
        else counted(n_annotators, "annotator"),
        "given": counted(given, _ANSWERS.get(kind, "label")),
        "n_items": counted(n_items - bare, "item"), "bare": bare,
        "each": number(round(given / max(1, n_items - bare), 1)),
        "predicted": "predictions" in evaluation,
        "known": int(evidence.group(evaluation, "accuracy").attrs.get(
            "n_known", evaluation.attrs.get("n_known", 0)
        )),
        "of_sets": kind == "set",
        "left_out": int(evaluation.attrs.get("n_left_out", 0)),
        "split": split, "all_shared": bool(several[counts > 0].all()),
        "alone": "" if has_shared_items(annotations) else ALONE,
    }  # fmt: skip


def has_shared_items(annotations: xr.Dataset) -> bool:
    """Return whether any item has two annotators."""
    return bool(voices_per(annotations, ITEM).max() > 1)


# The leading system.


def leader(evaluation: xr.DataTree, values: xr.Dataset, reliability: float) -> Facts:
    """Return the leading system, its rivals, and its score against a point estimate.

    ``values`` are `evidence.numbers` of one metric.
    """
    metric = str(values["metric"].item())
    here = values.sel({RELIABILITY: reliability})
    ranked = evidence.ordered(here.sel({SCOPE: THESE}))
    systems = ranked[SYSTEM].to_numpy().tolist()
    d = evidence.digits(values)
    best = here.sel({SYSTEM: systems[0]})
    at = ""
    if evidence.knows_reliability(evaluation):
        at = "At" if len(sides(evaluation)) == 1 else f"Under {evaluation.attrs['model']} at"
        at += f" reliability {number(reliability)}"
    facts: Facts = {
        "at": at, "name": systems[0], "level": float(values.attrs["probability"]),
        "achieves": achieves(metric, share(float(ranked["mean"][0]), d), cut=is_cut(evaluation)),
        "these": interval(best.sel({SCOPE: THESE}), d), "new": interval(best.sel({SCOPE: NEW}), d),
        "equal": [], "second": None, "undecided": "", "best": "", "naive": "",
    }  # fmt: skip
    if len(systems) > 1:
        pairs = evaluation["comparison"].to_dataset()
        facts |= _rivals(pairs.sel({"metric": metric, RELIABILITY: reliability}), ranked, d)
    return facts | _naive(evaluation, ranked, d)


ACCURACY: Final = "accuracy"
"""Name of the leading metric if it is accuracy against the one true label."""
ERROR, CORRELATION = "mean_absolute_error", "correlation"
"""Metrics of numbers; one of them is the leading metric."""


def is_cut(evaluation: xr.DataTree) -> bool:
    """Return whether scores were compared by their side of a threshold."""
    return str(evaluation["annotations"].attrs["kind"]) == "continuous"


def achieves(metric: str, value: str, *, cut: bool = False, truth: bool = False) -> str:
    """Return a value of a metric in words, to follow the name of a system.

    ``cut``: scores are cut at a threshold. ``truth``: sets are compared with the true sets.
    """
    if metric == "top_1_accuracy" and cut:
        return f"agrees with the panel on the side of the threshold for {value} of the items"
    k = metric.removeprefix("top_").partition("_")[0]
    if metric == ACCURACY:
        return f"gives the one true label for an estimated {value} of the items"
    if metric == "top_1_accuracy":
        return f"agrees with the panel on {value} of the items"
    if metric.startswith("top_") and metric.endswith("_set_accuracy"):
        return f"names exactly the {k} most plausible labels for {value} of the items"
    if metric.startswith("top_") and metric.endswith("_accuracy"):
        return f"has the most plausible label among its first {k} for {value} of the items"
    if metric == "jaccard":
        sets = "true ones" if truth else "panel's"
        return f"gives sets whose Jaccard similarity to the {sets} is {value} on average"
    if metric == ERROR:
        return f"is {value} away from the panel's mean score on average"
    if metric == CORRELATION:
        return f"has a correlation of {value} with the panel's mean scores"
    title = metric_title(metric)
    return f"has {'an' if title[0].lower() in 'aeiou' else 'a'} {title} of {value}"


def value_of(metric: str, value: str, *, cut: bool = False) -> str:
    """Return the value of the second system, to follow `achieves` of the first system."""
    if metric == "top_1_accuracy" and not cut:
        return f"on {value}"
    if metric == ACCURACY or metric.startswith("top_"):
        return f"for {value}"
    if metric == ERROR:
        return f"is {value} away from it"
    if metric == "jaccard":
        return value
    return f"has {value}"


def _rivals(pairs: xr.Dataset, ranked: xr.Dataset, d: int) -> Facts:
    """Return the probabilities that the first system is better than the second, and is the best."""
    first, second, *_ = systems = ranked[SYSTEM].to_numpy().tolist()
    pair = pairs.sel({SYSTEM: first, other(SYSTEM): second})
    better, equal = (
        float(pair[name].sel({SCOPE: NEW})) for name in ("probability_better", "probability_equal")
    )
    if equal > 0.995:
        return {"equal": list(evidence.leaders(ranked.expand_dims(RELIABILITY))[0])}
    undecided = "likely" if better + equal / 2 >= 0.8 else "open"
    best = pairs["probability_best"].sel({SYSTEM: first})
    return {
        "second": second, "second_value": share(float(ranked["mean"][1]), d),
        "better": _with_probability(pair["probability_better"]),
        "undecided": "" if better >= 0.95 else undecided, "n_systems": f"{len(systems):,}",
        "best": _with_probability(best) if len(systems) > 2 else "",
    }  # fmt: skip


def _with_probability(values: xr.DataArray) -> str:
    """Write the probabilities of both scopes, once if they are the same."""
    these, new = (spoken_probability(float(values.sel({SCOPE: scope}))) for scope in (THESE, NEW))
    if these == new:
        return f"with probability {these}, on these items and on new ones"
    return f"with probability {these} on these items and {new} on new ones"


def _naive(evaluation: xr.DataTree, ranked: xr.Dataset, d: int) -> Facts:
    """Return the score against a point estimate of the labels, which ignores disagreement."""
    naive, mean = (float(ranked[name][0]) for name in ("naive", "mean"))
    if not np.isfinite(naive):
        return {}
    point = str(evaluation.attrs.get("point_estimate", "the majority label of each item"))
    if n_labelled := labelled_items(evaluation):
        point += f", on the {counted(n_labelled, 'item')} with labels"
    place = "inside the interval"
    if not float(ranked["lower"][0]) <= naive <= float(ranked["upper"][0]):
        side = "above" if naive > mean else "below"
        place = f"{share(abs(naive - mean), d)} {side} the mean, and outside the interval"
    sign = -1 if str(ranked["better"].item()) == "lower" else 1
    best = ranked.isel({SYSTEM: int(np.nanargmax(sign * ranked["naive"].to_numpy()))})
    is_other = sign * float(best["naive"]) > sign * naive + 1e-12
    return {
        "naive": share(naive, d), "naive_place": place,
        "point": point,
        "naive_first": str(best[SYSTEM].item()) if is_other else "",
        "naive_best": share(float(best["naive"]), d),
    }  # fmt: skip


def labelled(evaluation: xr.DataTree, scope: str) -> str:
    """Return the name of the items on which systems are compared with labels."""
    has_unlabelled = bool((evaluation["statistics"]["n_annotations"] == 0).any())
    return LABELLED if has_unlabelled and scope == THESE else scope


def answers(evaluation: xr.DataTree, system: object) -> Facts:
    """Return the agreement of a system with an annotator and a panel, and its accuracy."""
    draws = evidence.group(evaluation, "answers")
    if not draws:
        return {}
    humans = float(draws["human_agreement"].mean())
    if not np.isfinite(humans) or system not in draws.get(SYSTEM, []):
        return {}
    own = draws.sel({SYSTEM: system})
    has_accuracy = "accuracy" in own and not of_answer(evaluation, "accuracy")
    scope = labelled(evaluation, str(draws.attrs["scope"]))
    return {
        "name": system, "scope": scope, "humans": humans,
        "estimated": "all items" if scope == LABELLED else scope,
        "agreement": float(own["annotator_agreement"].mean()),
        "by_items": _by_items(evaluation, system),
        "panel": _with_interval(own["panel_agreement"]),
        "accuracy": _with_interval(own["accuracy"]) if has_accuracy else "",
    }  # fmt: skip


def _by_items(evaluation: xr.DataTree, system: object) -> float | None:
    """Return a system's agreement with an annotator if each item counts once.

    Return None if it is nearly the same as agreement if each label counts once.
    """
    predictions = evaluation["predictions"].to_dataset()
    votes = votes_of(evaluation["annotations"].to_dataset(), predictions)
    place = predictions[SYSTEM].to_numpy().tolist().index(system)
    value = float(by_items(votes)[place])
    return value if abs(value - votes.agrees[:, place].mean()) > _ANOTHER else None


def _with_interval(draws: xr.DataArray) -> str:
    """Write mean and interval."""
    parts = {name: float(value) for name, value in spread(draws).items()}
    d = digits_for([parts["upper"] - parts["lower"]])
    return f"{share(parts['mean'], d)} ({interval(parts, d)})"


# Reliability, certainty, known values.


def along_reliability(values: xr.Dataset) -> Facts:
    """Return which systems lead at each reliability, and how a leading system's mean changes."""
    here = values.sel({SCOPE: THESE})
    trust = [float(value) for value in here[RELIABILITY].to_numpy()]
    if len(trust) < 2:
        return {}
    leading = evidence.leaders(here)
    runs: list[dict[str, Any]] = []
    for names, value in zip(leading, trust, strict=True):
        if not runs or runs[-1]["names"] != names:
            runs.append({"names": names, "from": value})
        runs[-1]["to"] = value
    for run in runs:
        start, end = number(run["from"]), number(run["to"])
        run["span"] = f"{start} to {end}" if start != end else start
    mean = here["mean"].sel({SYSTEM: leading[-1][0]})
    order = ""
    if here.sizes[SYSTEM] > 2:
        same = evidence.same_order(here)
        order = f"the order of the {'' if same else 'other '}systems {'does not ' if same else ''}"
        order += "change" if same else "changes"
    d = evidence.digits(values)
    return {
        "runs": runs, "several": here.sizes[SYSTEM] > 1, "order": order,
        "ends": f"from {number(trust[0])} to {number(trust[-1])}",
        "first": number(trust[0]), "last": number(trust[-1]),
        "metric": metric_title(str(here["metric"].item())), "name": leading[-1][0],
        "low": share(float(mean[0]), d), "high": share(float(mean[-1]), d),
    }  # fmt: skip


def labelled_items(evaluation: xr.DataTree) -> int:
    """Return the number of items with labels if some items have none, else 0."""
    has_labels = evaluation["statistics"]["n_annotations"].to_numpy() > 0
    return 0 if has_labels.all() else int(has_labels.sum())


def uncertain_items(
    evaluation: xr.DataTree, reliability: float | None = None, *, labelled: bool = False
) -> float:
    """Return the share of items with a certainty below .90, by default at the reference.

    ``labelled``: of the items that annotators labelled.
    """
    at = evaluation.attrs["reference_reliability"] if reliability is None else reliability
    if labelled:
        values = evaluation["certainty"]["annotation_certainty"].sel({RELIABILITY: at})
        has_labels = evaluation["statistics"]["n_annotations"].to_numpy() > 0
        return float((values.to_numpy()[has_labels] < 0.9).mean())
    shares = evidence.certainty_shares(evaluation).sel(top=1, below=0.9)
    return float(shares.sel({RELIABILITY: at}))


def certainty(evaluation: xr.DataTree, reliability: float) -> Facts:
    """Return the share of uncertain items and, without predictions, the mean certainty."""
    if evidence.is_of_numbers(evaluation):
        return {}
    has_metrics = evidence.has(evaluation, "metrics")
    names_it = evidence.knows_reliability(evaluation) and not has_metrics
    mean = evidence.mean_certainty(evaluation).sel({"top": 1, RELIABILITY: reliability})
    n_labelled = labelled_items(evaluation)
    return {
        "at": f"At reliability {number(reliability)}, the" if names_it else "The",
        "below": uncertain_items(evaluation, reliability), "n_labelled": n_labelled,
        "of_labelled": uncertain_items(evaluation, reliability, labelled=bool(n_labelled)),
        "mean": None if has_metrics else float(mean),
    }  # fmt: skip


def certainty_along(evaluation: xr.DataTree) -> Facts:
    """Return the share of uncertain items at the smallest and the largest reliability."""
    trust = evidence.reliabilities(evaluation)
    if len(trust) < 2 or evidence.is_of_numbers(evaluation):
        return {}
    low, high = (uncertain_items(evaluation, trust[place]) for place in (0, -1))
    return {"low": low, "high": high, "first": number(trust[0]), "last": number(trust[-1])}


def truth(values: xr.Dataset) -> Facts:
    """Return how many intervals contain the known value; ``values`` are at one reliability."""
    known = values["truth"].notnull()
    if not bool(known.any()):
        return {}
    inside = (values["truth"] >= values["lower"]) & (values["truth"] <= values["upper"]) & known
    parts = [
        f"{int(inside.sel({SCOPE: scope}).sum())} of "
        f"{counted(int(known.sel({SCOPE: scope}).sum()), 'interval')} for {scope}"
        for scope in values[SCOPE].to_numpy()
    ]
    return {"parts": parts, "misses": int(inside.sum()) < int(known.sum())}


def intervals(evaluation: xr.DataTree, *, scopes: bool) -> Facts:
    """Return the name of the intervals, what new items are, and which allow for other annotators.

    With ``scopes``, there are intervals for these items and for new items.
    """
    data = evidence.group(evaluation, "annotations")
    people = ""
    if evidence.allows_for_others(evaluation, "agreement"):
        people = "agreement between annotators"
        if "annotator_agreement" in evidence.group(evaluation, "answers"):
            people = "agreement with an annotator"
        elif "system_discrepancy" in evidence.group(evaluation, "discrepancy"):
            people = "discrepancy ratios"
    wide = [name for name in (evidence.widened(evaluation), people) if name]
    units = "clusters of items" if "cluster_code" in data else "items"
    return {
        "name": interval_title(),
        "scopes": scopes,
        "units": units,
        "wide": " and of ".join(wide),
    }
