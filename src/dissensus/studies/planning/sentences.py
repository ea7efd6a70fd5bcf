"""Sentences about plans of accuracy and of reliability."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATOR, ESTIMATOR, ITEM, POOL, SAMPLE, SCOPE, SCOPES, other
from dissensus.studies.planning.unknown_truth import ESTIMATORS, UNEQUAL
from dissensus.wording import clean, counted, listed, share, spoken_probability

# Plans of a system's accuracy without known labels.


_ADVICE: Final = {0.3: 200, 0.55: 100}
"""Number of items that Lehner (2015) advises for a kappa, with 5 labels and 3 annotators. In 90 %
of studies the error is then at most .1."""
_ABOUT: Final = 0.05
"""Maximum difference from a kappa that counts as "about" this kappa."""


class Advice(NamedTuple):
    """The number of items that Lehner (2015) advises for a kappa."""

    kappa: float
    items: int


def closeness_sentences(plan: xr.Dataset) -> list[str]:
    """Summarise a plan of `dissensus.plan_accuracy`."""
    new = plan.sel({SCOPE: SCOPES[1]})
    out = [_of_annotators(plan), _wanted(plan.attrs)]
    out += [_of_items(new.sel({ANNOTATOR: k})) for k in plan[ANNOTATOR].to_numpy()]
    return [*out, *_of_source(new), *_closeness_limits(plan)]


def _of_annotators(plan: xr.Dataset) -> str:
    about = plan.attrs
    labels, right = counted(about["n_labels"], "label"), f"{about['annotator_accuracy']:.0%}"
    start = f"With kappa {share(about['kappa'])} and {labels}, annotators are right {right} "
    if not about["violated"]:
        return f"{start}of the time, if annotators, items and errors do not differ."
    seen = share(plan["observed_kappa"].mean().item())
    return (
        f"{start}of the time, if annotators, items and errors do not differ. Here they differ: "
        f"simulated annotators have this accuracy on average (each up to {share(UNEQUAL, 1)} more "
        f"or less), and agree with kappa {seen}."
    )


def _wanted(about: dict[str, Any]) -> str:
    # Easy items do not compensate for hard items if accuracies are near 1: .9 becomes .867.
    accuracy = share(about["accuracy"]) + " before difficulty" * about["violated"]
    return (
        f"The goal is an estimate within {share(about['within'])} of the system's accuracy, "
        f"{accuracy}, in {about['assurance']:.0%} of studies."
    )


def _of_items(row: xr.Dataset) -> str:
    """Return a sentence on the items that both estimators need, for one number of annotators."""
    model, algebra = (row.sel({ESTIMATOR: name}) for name in ESTIMATORS)
    most = model.isel({ITEM: -1})
    items = counted(most[ITEM].item(), "item")
    need, other = (
        _enough(part["items_enough"].item(), row) or f"more than {items}"
        for part in (model, algebra)
    )
    return (
        f"With {counted(row[ANNOTATOR].item(), 'annotator')} the posterior mean needs {need}, "
        f"lehner's estimate {other}; with {items} {_count(most)} posterior means reach the goal, "
        f"and half the length of intervals is {share(most['half_width'].item())}."
    )


def _enough(items: float, row: xr.Dataset) -> str | None:
    """Write the number of items needed; None if it is above all numbers tried."""
    tried = row[ITEM].to_numpy()
    if not np.isfinite(items):
        return None
    if items in tried:
        text = counted(int(items), "item")
        return f"at most {text} (the fewest tried)" if items == tried[0] else text
    place = int(np.searchsorted(tried, items))
    return f"about {items:,.0f} items (interpolated, {tried[place - 1]:,} to {tried[place]:,})"


def _count(cell: xr.Dataset) -> str:
    n = cell.attrs["studies"]
    return f"{round(cell['within_share'].item() * n)} of {n}"


def advice(plan: xr.Dataset) -> Advice | None:
    """Return the advice of Lehner (2015) for the plan's labels and kappa; None without advice."""
    about = plan.attrs
    setting = (about["n_labels"], round(about["within"], 9), round(about["assurance"], 9))
    if setting != (5, 0.1, 0.9) or 3 not in plan[ANNOTATOR]:
        return None
    near = min(_ADVICE, key=lambda kappa: abs(kappa - about["kappa"]))
    return Advice(near, _ADVICE[near]) if abs(near - about["kappa"]) <= _ABOUT else None


def _of_source(new: xr.Dataset) -> list[str]:
    known = advice(new)
    if known is None:
        return []
    text = (
        f"Lehner (2015) advises {known.items} items for a kappa of about {share(known.kappa)} "
        "with 5 labels and 3 annotators"
    )
    if known.items not in new[ITEM]:
        return [f"{text}."]
    both = [
        _count(new.sel({ANNOTATOR: 3, ITEM: known.items, ESTIMATOR: name})) for name in ESTIMATORS
    ]
    return [
        f"{text}: with this number, {both[0]} posterior means reach the goal, {both[1]} of "
        "lehner's estimates."
    ]


def _closeness_limits(plan: xr.Dataset) -> list[str]:
    """State the standard error and the assumptions."""
    about = plan.attrs
    p, n = about["assurance"], about["studies"]
    out = [
        f"The standard error of a share of {share(p)} of {n} studies is "
        f"{share(np.sqrt(p * (1 - p) / n))}."
    ]
    if "kappa_interval" in about:
        low, high = about["kappa_interval"]
        out.append(
            f"The pilot's kappa, {share(about['kappa'])}, is itself known only to be between "
            f"{share(low)} and {share(high)} ({about['probability']:.0%} interval): plan with the "
            "lower value, too (kappa=)."
        )
    if not about["violated"]:
        out.append(
            "Unequal annotators, hard items and errors near the truth make estimates worse: "
            "violated=True (--violated) simulates them."
        )
    known = counted(about["known_items"], "item")
    return [
        *out,
        "Mistakes that annotators share are not simulated, and more items do not correct them. "
        f"The true labels of {known} would be enough without any annotators. With annotators, "
        "evaluate needs fewer known labels (truth=, --known).",
    ]


# Plans of reliability.


_FEW = 10
"""With fewer annotators in the pilot, a sentence states that their variance is uncertain."""


def sentences(plan: xr.Dataset) -> list[str]:
    """Summarise a plan of `dissensus.plan_reliability`."""
    out = []
    for name, part in per_pool(plan):
        out += [_lead(name, _of_one(part)), _lead(name, _of_several(part))]
    for name, part in quantities(plan):
        out.append(_of_width(name, part))
    return [*out, *_limits(plan)]


def per_pool(plan: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    """Return each pool's name and part of the plan; without pools, an empty name and the plan."""
    if POOL not in plan.dims:
        return [("", plan)]
    names = plan[POOL].to_numpy()
    return [(clean(name), plan.isel({POOL: p})) for p, name in enumerate(names)]


def quantities(plan: xr.Dataset) -> Iterator[tuple[str, xr.Dataset]]:
    """Yield the name and the part of the plan of each quantity with intervals.

    The quantities are the ICC of each pool, and the normalised xCC of each pair of pools.
    """
    if "half_width" not in plan:
        return
    for name, part in per_pool(plan):
        yield (f"the ICC of {name}" if name else "the ICC"), part
    if POOL not in plan.dims:
        return
    names = [clean(name) for name in plan[POOL].to_numpy()]
    shown = ("half_width", "probability_narrow", "items_enough")
    of_pairs = plan[[f"xcc_{name}" for name in shown] + ["n_labels"]]
    of_pairs = of_pairs.rename({f"xcc_{name}": name for name in shown})
    for a, b in combinations(range(len(names)), 2):
        pair = of_pairs.isel({POOL: a, other(POOL): b})
        yield f"normalised xCC of {names[a]} and {names[b]}", pair


def _lead(name: str, text: str) -> str:
    return f"{name}: {text}" if name else text


def _of_one(part: xr.Dataset) -> str:
    draws = part["icc"].to_numpy().ravel()
    level = part.attrs["probability"]
    low, middle, high = np.nanquantile(draws, [(1 - level) / 2, 0.5, (1 + level) / 2])
    return (
        f"One label has a reliability (ICC) of {share(middle)}, "
        f"{level:.0%} interval {share(low)} to {share(high)}."
    )


def _of_several(part: xr.Dataset) -> str:
    k, target = part["annotators_enough"].item(), share(part.attrs["target"])
    if not np.isfinite(k):
        sure = share(part.attrs["assurance"])
        return (
            f"No number of annotators makes the mean label reach {target} with probability {sure}."
        )
    chance = (part["annotators_needed"] <= k).mean(SAMPLE).item()
    fewer = (part["annotators_needed"] < k).mean(SAMPLE).item()
    less = f"; with one fewer {_short_of(fewer, part.attrs['assurance'])}" if k > 1 else ""
    return (
        f"With {counted(int(k), 'annotator')} an item the mean label reaches {target} "
        f"with probability {spoken_probability(chance)}{less}."
    )


def _short_of(value: float, required: float) -> str:
    """Write a probability that is too low, without rounding it up to the required probability."""
    if value < 0.005 or share(value) != share(required):
        return spoken_probability(value)
    down = np.floor(1000 * value * (1 + 1e-12)) / 1000  # .799 itself stays .799
    return share(down, 3)


def _of_width(name: str, part: xr.Dataset) -> str:
    """Describe the sufficient study with the fewest labels, or the best insufficient study."""
    flat = part[["probability_narrow", "n_labels"]].stack(cell=(ANNOTATOR, ITEM))
    chance, labels = flat["probability_narrow"].to_numpy(), flat["n_labels"].to_numpy()
    width, studies = share(part.attrs["width"]), part.attrs["studies"]
    chance = np.nan_to_num(chance)
    enough = chance >= part.attrs["assurance"]
    # The sufficient study with the fewest labels. If none is sufficient, the study with the highest
    # probability, and of equal ones that with the fewest labels.
    order = np.lexsort((labels, -chance)) if not enough.any() else np.lexsort((labels, ~enough))
    best, largest = int(order[0]), int(np.argmax(labels))
    named = [_study(*cell) for cell in flat["cell"].to_numpy()]
    count = [round(value * studies) for value in chance]
    of_all = counted(studies, "simulated study", "simulated studies")
    if not enough.any():
        most = f"the largest, {named[largest]}, "
        surest = f"the surest, {named[best]}, does in {count[best]} of {of_all}, {most}"
        end = f"in {count[largest]}"
        if chance[best] == chance[largest]:  # name only the largest
            surest, end = most, f"does in {count[largest]} of {of_all}"
        return (
            f"No study tried gives {name} an interval of {width} or shorter with probability "
            f"{share(part.attrs['assurance'])}: {surest}{end}."
        )
    study, reached = named[best], f"{count[best]} of {of_all}"
    return (
        f"{study[0].upper()}{study[1:]}, {counted(labels[best], 'label')} in all, give {name} an "
        f"interval of {width} or shorter in {reached}."
    )


def _study(annotators: int, items: int) -> str:
    return f"{counted(items, 'item')} with {counted(annotators, 'annotator')} each"


def _limits(plan: xr.Dataset) -> list[str]:
    """State the assumptions."""
    out = []
    people = np.atleast_1d(plan.attrs.get("pilot_annotators", [_FEW]))
    if min(people) < _FEW:
        out.append(
            f"The pilot had {listed([str(n) for n in people])} annotators. With so few, the "
            "variance between annotators is uncertain, and these results depend on its prior."
        )
    out.append("New items and annotators are taken to be like the pilot's.")
    return [*out, _LONGER] if "half_width" in plan else out


_LONGER: Final = (
    "Planned intervals are those of the model, for which annotators differ in leniency only. "
    "`dx.evaluate` allows for other differences too: on ten real sets its intervals of the ICC "
    "were about 1.4 times as long as planned (1.0 to 1.8 times on single sets), and 1.7 to 2.8 "
    "times as long if the same few annotators labelled all items."
)
"""See ``benchmarks/real_components.py --plans``."""
