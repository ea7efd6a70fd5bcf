"""How many annotators, how many items? Simulated from a pilot study's posterior."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from inspect import signature
from typing import Any

import xarray as xr

from dissensus._plan_reliability import plan_reliability
from dissensus._planning.pilots import is_fit
from dissensus._planning.plausibility import planned
from dissensus.errors import AnnotationError, ArgumentError, brief


def plan(
    pilot: xr.Dataset | xr.DataTree,
    annotators: Sequence[int] = (1, 2, 3, 5, 8, 12),
    items: Sequence[int] = (100, 300, 1000),
    *,
    target: float | None = None,
    width: float | None = None,
    family: str | None = None,
    accuracy: float | None = None,
    reliability: float | None = None,
    prior_count: float | str | None = None,
    prob: float | None = None,
    draws: int | None = None,
    random_seed: int | None = None,
    progressbar: bool = True,
    **settings: Any,
) -> xr.Dataset:
    """Foresee what a study with so many annotators and items would tell.

    There are two kinds of studies here. If labels are *measurements* (numbers, or ``target``,
    ``width`` or ``family`` is given, or the pilot is a fit of `models.crossed_effects` or
    `models.cross_replication`), the question is how reliable they are:
    `dissensus.plan_reliability` answers it, and describes what it takes and returns. Otherwise it
    is how well the *accuracy of a system* would be known, as follows. A third kind, of items with
    one true label that the system may know better than the annotators, has
    `dissensus.plan_accuracy`.

    New studies are drawn from the pilot's posterior: items like the pilot's, annotated by so
    many annotators each, and a system that names an item's truly most plausible label
    with probability ``accuracy``. Each is analysed as `models.dirichlet` would.

    Parameters
    ----------
    pilot : xarray.Dataset or DataTree
        Nominal or ordinal annotations of a first few dozen items. For reliability numbers, ordered
        labels or two labels, or a fit.
    annotators : sequence of int
        Annotators for each item to try.
    items : sequence of int
        Numbers of items to try.
    target, width, family
        Of reliability, see `plan_reliability`; where None its own defaults, by which lengths of
        intervals are simulated. ``plan_reliability(width=None)`` leaves that out.
    accuracy : float, optional
        The imagined system's accuracy; .8 by default.
    reliability : float, optional
        Of the model, both for the pilot and for the analysis of the new studies; 1 by default.
    prior_count : "learned" or float, optional
        Of the model, for both, likewise; learned by default, in new studies also from what the
        system says.
    prob : float, optional
        Probability of the interval; ArviZ's ``stats.ci_prob`` by default.
    draws : int, optional
        Posterior draws in each simulated study; 400 by default.
    random_seed : int, optional
        Makes it repeatable.
    progressbar : bool
        Show progress, where there is something to wait for.
    **settings
        More for `plan_reliability`.

    Returns
    -------
    xarray.Dataset
        ``certainty`` (annotator): mean annotation certainty; ``certain_share`` (annotator):
        share of items with certainty above .9; ``half_width`` (annotator, item): half the length
        of the interval of the uncertainty-adjusted accuracy for new items; ``shortfall``
        (annotator): how far its mean lies below the true accuracy, because few annotators leave
        open which label leads (of one annotator an item it cannot be told how items differ, and it
        may lie above). Means over simulated studies. With a learned prior the interval leaves open
        what the system knows beyond the labels (``insight`` in `top_k_accuracy`), which no number
        of items tells; the imagined system, right as often however even the split, may lie outside.

    Raises
    ------
    AnnotationError
        If the pilot is of another kind.
    ArgumentError
        If an argument makes no sense, or is none of this kind of study.

    See Also
    --------
    plan_accuracy : The accuracy of a system that is better than its annotators.
    plan_reliability : How reliable labels are.

    Examples
    --------
    >>> import dissensus as dx
    >>> pilot = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"),
    ...                         "label": ["x", "y", "x", "x"]})
    >>> result = dx.plan(pilot, annotators=(1, 8), items=(50,), random_seed=1)
    >>> bool(result.certainty.sel(annotator=8) > result.certainty.sel(annotator=1))
    True
    """
    _all_known(settings)
    own = {"accuracy": accuracy, "reliability": reliability, "prior_count": prior_count}
    shared = {"prob": prob, "draws": draws, "random_seed": random_seed}
    asked = {"target": target, "width": width, "family": family}
    if _of_measurements(pilot, asked):
        _none_of(own, "none, as reliability is planned")
        return plan_reliability(
            pilot, annotators, items, **_given(asked | shared), **settings, progressbar=progressbar
        )
    _none_of(settings, "none, as the accuracy of a system is planned: target= asks for reliability")
    return planned(pilot, annotators, items, **_given(own | shared))


def _all_known(settings: dict[str, Any]) -> None:
    """Raise if an argument is one of neither kind of study; a TypeError would name another one."""
    known = list(
        dict.fromkeys([*signature(plan).parameters, *signature(plan_reliability).parameters])
    )
    known.remove("settings")
    for name, value in settings.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            raise ArgumentError(
                name,
                expected=f"no such argument: plan takes {', '.join(known)}",
                found=brief(value),
                hint=f"Did you mean {near[0]}=?" if near else "",
            )


def _of_measurements(pilot: Any, asked: dict[str, Any]) -> bool:
    """Say whether it is reliability that is to be planned."""
    if isinstance(pilot, xr.Dataset) and pilot.attrs.get("kind") == "ranking":
        raise AnnotationError(
            "pilot", expected="labels or numbers: a study of rankings is not planned yet",
            found="rankings",
            hint="Plan by first choices: read the rows with rank 1 as labels",
        )  # fmt: skip
    numbers = isinstance(pilot, xr.Dataset) and pilot.attrs.get("kind") == "continuous"
    return is_fit(pilot) or numbers or any(value is not None for value in asked.values())


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not given: defaults stand where they are used."""
    return {name: value for name, value in settings.items() if value is not None}


def _none_of(settings: dict[str, Any], expected: str) -> None:
    """Raise if something was given that would have no effect."""
    for name, value in _given(settings).items():
        raise ArgumentError(name, expected=expected, found=repr(value))
