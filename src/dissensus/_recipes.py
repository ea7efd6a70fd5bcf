"""Which model serves which kind of annotations, and what its default look at trust is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import models
from dissensus._plugged_recipe import plugged
from dissensus._recipe import ABOVE, BELOW, Recipe, ThresholdRecipe, dense, shares
from dissensus.data.rows import given_numbers, statements_per
from dissensus.dims import ITEM, LABEL
from dissensus.errors import ArgumentError
from dissensus.families.rankings.process import prior_of as prior_of_rankings
from dissensus.kernels.normal import moments
from dissensus.sampling.fitting import finite
from dissensus.sampling.learned_prior import LEARNED

HEAVY_PRIOR = 0.5
"""A prior with more than this share of the weight in a typical item is pointed out."""


@dataclass(frozen=True)
class _Sides:
    """The point estimate of scores: all of an item's mass on the side its mean score is on."""

    threshold: float

    def __call__(self, annotations: xr.Dataset) -> xr.DataArray:
        item = annotations["item_code"].to_numpy()
        data = moments(given_numbers(annotations), item, annotations.sizes[ITEM])
        above = np.where(data.n > 0, data.mean >= self.threshold, np.nan)
        return dense(np.stack([1 - above, above], axis=1), annotations, [BELOW, ABOVE])


def _prior_of_counts(annotations: xr.Dataset, reliability: float, **hyper: Any) -> float:
    if hyper.get("prior_count", LEARNED) == LEARNED:  # it says what the items say
        return 0.0
    prior = float(hyper["prior_count"]) * annotations.sizes[LABEL]
    said = reliability * float(np.median(statements_per(annotations, ITEM)))
    return prior / (prior + said)


def _inverse_rank(annotations: xr.Dataset) -> xr.DataArray:
    if annotations.attrs["kind"] != "ranking":  # of single labels it is the same
        return shares(annotations)
    found: xr.DataArray = models.get("inverse_rank").module.point(annotations)
    return found


_FIRST = "the first label of each item's inverse rank normalisation"

RECIPES: Final = (
    Recipe(
        "dirichlet", (0.5, 1.0, 2.0, 5.0, 10.0), 1.0, prior_weight=_prior_of_counts,
        learns="prior_count", insight=True,
    ),
    # Both ranges are those of Stutz et al. (2023), C.3: rankings repeated 1 to 10 times for
    # Plackett-Luce, temperatures of 10 to 100 for PrIRN, here with its middle for reference. At 1
    # Plackett-Luce takes every ranking once: as it was said, and not more.
    Recipe(
        "inverse_rank", (10.0, 20.0, 30.0, 50.0, 100.0), 30.0, point=_inverse_rank, leading=_FIRST
    ),
    Recipe(
        "plackett_luce", (1.0, 2.0, 3.0, 5.0, 10.0), 1.0, point=_inverse_rank, leading=_FIRST,
        is_limit=False, companion="inverse_rank", learns="concentration",
        learn=prior_of_rankings, markov_chains=True,
    ),
    ThresholdRecipe(
        "normal_scores", (1.0,), 1.0,
        leading="the side of the threshold that each item's mean score is on",
    ),
)  # fmt: skip
"""The only list of recipes: a model that is in it can be asked for."""

_DEFAULT: Final = {"continuous": "normal_scores", "ranking": "plackett_luce"}
DEFAULT: Final = "default"
"""As the name of a companion: the one that goes with the model, where that is a default too."""


def recipe_for(
    annotations: xr.Dataset, *, model: str | None = None, threshold: float | None = None
) -> Recipe:
    """Choose how to evaluate annotations of this kind.

    Raises
    ------
    ArgumentError
        If the model is unknown or does not fit, or scores come without a threshold.
    """
    kind = annotations.attrs["kind"]
    if model is None:
        model = _DEFAULT.get(kind, "dirichlet")
        if threshold is not None and kind == "ordinal":
            model = "normal_scores"
    recipe = plugged(model, kind) or _known(_fitting(kind), "model", model, kind)
    if not isinstance(recipe, ThresholdRecipe):
        if threshold is not None:
            raise ArgumentError(
                "threshold",
                expected=f"None: {model} of {kind} annotations knows no numbers to cut",
                found=repr(threshold),
            )
        return replace(recipe, kind=kind)
    if threshold is None:
        raise ArgumentError(
            "threshold",
            expected="the cut between the two outcomes, for annotations that are numbers",
            found="None",
            hint='If the numbers are names of labels, read them with kind="nominal". For their '
            "reliability alone fit models.crossed_effects, which needs no threshold",
        )
    cut = finite("threshold", threshold)
    return replace(recipe, kind=kind, threshold=cut, point=_Sides(cut))


def companion_for(main: Recipe, companion: str | None, *, by_default: bool) -> Recipe | None:
    """Choose the model that the main one is set beside, if any.

    Parameters
    ----------
    main : Recipe
        Of the main model.
    companion : str or None
        What was asked for: a name, none, or the default.
    by_default : bool
        Whether the main model was chosen by default.

    Raises
    ------
    ArgumentError
        If there is no such model, or it does not judge the same labels.
    """
    if companion == DEFAULT:
        companion = main.companion if by_default else None
    if companion is None:
        return None
    others = [
        one
        for one in _fitting(main.kind)
        if one.model != main.model and not isinstance(one, ThresholdRecipe)
    ]
    if not others or isinstance(main, ThresholdRecipe):
        raise ArgumentError(
            "companion",
            expected=f"None: no other model judges what {main.model} does of {main.kind} "
            "annotations",
            found=repr(companion),
        )
    return replace(_known(others, "companion", companion, main.kind), kind=main.kind)


def _fitting(kind: str) -> list[Recipe]:
    return [recipe for recipe in RECIPES if kind in models.get(recipe.model).kinds]


def _known(recipes: list[Recipe], argument: str, name: str, kind: str) -> Recipe:
    for recipe in recipes:
        if recipe.model == name:
            return recipe
    names = [recipe.model for recipe in recipes]
    raise ArgumentError(
        argument, expected=f"one of {names} for {kind} annotations", found=repr(name)
    )
