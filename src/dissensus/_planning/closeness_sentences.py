"""A plan of a system's accuracy without the truth, in plain words."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus._planning.unknown_truth import ESTIMATORS, UNEQUAL
from dissensus._wording import counted, share
from dissensus.dims import ANNOTATOR, ESTIMATOR, ITEM, SCOPE, SCOPES

_ADVICE: Final = {0.3: 200, 0.55: 100}
"""Lehner's: items for a kappa, with five labels and three annotators, to be within .1 in 90 %."""
_ABOUT: Final = 0.05
"""How near a kappa must be to be "around" it."""


class Advice(NamedTuple):
    """What the source says of the case planned."""

    kappa: float
    items: int


def sentences(found: xr.Dataset) -> list[str]:
    """Say what a plan of accuracy found.

    Parameters
    ----------
    found : xarray.Dataset
        From `dissensus.plan_accuracy`.
    """
    new = found.sel({SCOPE: SCOPES[1]})
    out = [_of_annotators(found), _wanted(found.attrs)]
    out += [_of_items(new.sel({ANNOTATOR: k})) for k in found[ANNOTATOR].to_numpy()]
    return [*out, *_of_source(new), *_limits(found)]


def _of_annotators(found: xr.Dataset) -> str:
    about = found.attrs
    labels, right = counted(about["n_labels"], "label"), f"{about['annotator_accuracy']:.0%}"
    start = f"With kappa {share(about['kappa'])} and {labels}, annotators are right {right} "
    if not about["violated"]:
        return f"{start}of the time, if all are alike, and so are items and errors."
    seen = share(found["observed_kappa"].mean().item())
    return (
        f"{start}of the time, if all are alike, and so are items and errors. Here they are not: "
        f"those simulated are right so often on average (annotators up to {share(UNEQUAL, 1)} more "
        f"or less), and agree with kappa {seen}."
    )


def _wanted(about: dict[str, Any]) -> str:
    # Easy items cannot make up for hard ones where nearly all is right anyway: .9 becomes .867.
    accuracy = share(about["accuracy"]) + " before difficulty" * about["violated"]
    return (
        f"Wanted is an estimate within {share(about['within'])} of the system's accuracy, "
        f"{accuracy}, in {about['assurance']:.0%} of studies."
    )


def _of_items(one: xr.Dataset) -> str:
    """Say how many items it takes with so many annotators, and of lehner's estimate."""
    model, algebra = (one.sel({ESTIMATOR: name}) for name in ESTIMATORS)
    most = model.isel({ITEM: -1})
    items = counted(most[ITEM].item(), "item")
    need, other = (
        _enough(part["items_enough"].item(), one) or f"more than {items}"
        for part in (model, algebra)
    )
    return (
        f"With {counted(one[ANNOTATOR].item(), 'annotator')} the posterior mean takes {need}, "
        f"lehner's estimate {other}; with {items} {_count(most)} posterior means are near enough, "
        f"half the interval is {share(most['half_width'].item())}."
    )


def _enough(items: float, one: xr.Dataset) -> str | None:
    """Write a number of items with where it comes from; None if too few were tried."""
    tried = one[ITEM].to_numpy()
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


def advice(found: xr.Dataset) -> Advice | None:
    """Return what the source says of this number of labels and this kappa, if anything."""
    about = found.attrs
    asked = (about["n_labels"], round(about["within"], 9), round(about["assurance"], 9))
    if asked != (5, 0.1, 0.9) or 3 not in found[ANNOTATOR]:
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
        f"{text}: with so many, {both[0]} posterior means are near enough, {both[1]} of "
        "lehner's estimates."
    ]


def _limits(found: xr.Dataset) -> list[str]:
    """Say how well it is known, and what it takes for granted."""
    about = found.attrs
    p, n = about["assurance"], about["studies"]
    out = [f"A share of {share(p)} of {n} studies is known to ± {share(np.sqrt(p * (1 - p) / n))}."]
    if "kappa_interval" in about:
        low, high = about["kappa_interval"]
        out.append(
            f"The pilot's kappa, {share(about['kappa'])}, is itself known only to be between "
            f"{share(low)} and {share(high)} ({about['probability']:.0%} interval): plan with the "
            "lower one, too (kappa=)."
        )
    if not about["violated"]:
        out.append(
            "Unequal annotators, hard items and near errors make it worse: violated=True "
            "(--violated) has them."
        )
    known = counted(about["known_items"], "item")
    return [
        *out,
        "Mistakes that annotators share are not foreseen, and no number of items makes up for "
        f"them. The true labels of {known} would do by themselves, whatever annotators share: "
        "evaluate takes them (truth=, --known), and needs fewer.",
    ]
