"""Recipes: which model an evaluation uses for annotations of a kind, and how."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments, models
from dissensus.data.plausibility import NAME, plausibility_of
from dissensus.data.predictions import features, has_numbers, predicted_numbers
from dissensus.data.refusals import SIDES, unlike_kind
from dissensus.data.rows import given_numbers, label_counts, statements_per, voices_per
from dissensus.data.sets import OF_SETS
from dissensus.dims import ANNOTATION, ITEM, LABEL, POSITION, SYSTEM
from dissensus.errors import (
    AnnotationError,
    ArgumentError,
    DissensusWarning,
    PredictionError,
    brief,
    shown,
)
from dissensus.families.rankings.predictions import replicated as replicated_rankings
from dissensus.families.rankings.process import prior_of as prior_of_rankings
from dissensus.kernels.normal import moments
from dissensus.metrics._groups import event_plausibility
from dissensus.sampling import convergence
from dissensus.sampling.learned_prior import LEARNED, LearnedPrior, prior_of

# Recipes by the form of their draws.


BELOW, ABOVE = SIDES

_NOT_HYPER: Final = frozenset(
    {"annotations", "predictions", "draws", "chains", "random_seed", "progressbar", "reliability"}
    | {"log_likelihood", "posterior_predictive"}
)
"""Arguments of every fit that an evaluation sets itself or does not use."""


_WARM_UP: Final = 500
"""Warm-up draws of a learned prior: the default of ``fit``, so that an evaluation has the same
draws as a fit. Rankings are an exception (decision 0033)."""


def shares(annotations: xr.Dataset) -> xr.DataArray:
    """Return the shares of labels (item, label); the largest is that of the majority vote."""
    counts = label_counts(annotations)
    total = counts.sum(axis=1, keepdims=True)
    return dense(counts / np.maximum(total, 1), annotations, annotations[LABEL].to_numpy())


@dataclass(frozen=True)
class Recipe:
    """How an evaluation uses one model to turn annotations into plausibilities."""

    model: str
    reliabilities: tuple[float, ...]
    reference: float
    """The reliability whose posterior is kept; reports begin with it."""
    point: Callable[[xr.Dataset], xr.DataArray] = shares
    """The point estimate, for naive metrics that ignore uncertainty."""
    leading: str = "the majority label of each item"
    """What the point estimate treats as the truth, in words."""
    is_limit: bool = True
    """Whether the posterior shrinks to the point estimate as the reliability grows."""
    prior_weight: Callable[..., float] | None = None
    """Returns the weight of the prior in a typical item's posterior, from annotations, reliability
    and hyperparameters. With many labels and few annotators, a flat prior outweighs the data."""
    companion: str | None = None
    """A second model that is also used by default, because results depend on the model."""
    learns: str | None = None
    """The hyperparameter that is learned by default, with predictions as evidence."""
    learn: Callable[..., Any] = prior_of
    """Function that learns the hyperparameter ``learns``, once for all reliabilities."""
    insight: bool = False
    """Whether metrics allow for what systems know beyond the labels (``insight="learned"``)."""
    of_numbers: bool = False
    """Whether draws are means of numbers, which systems predict, not plausibilities of labels."""
    markov_chains: bool = False
    """Whether draws are autocorrelated, so that convergence is checked."""
    kind: str = ""
    """Kind of the annotations."""

    def fit(self, annotations: xr.Dataset, reliability: float, **options: Any) -> xr.DataTree:
        """Fit the model at one reliability."""
        fit = models.get(self.model).module.fit
        fitted: xr.DataTree = fit(
            annotations, reliability=reliability, progressbar=False, **options
        )
        return fitted

    def learned(
        self, annotations: xr.Dataset, hyper: Mapping[str, Any], **settings: Any
    ) -> dict[str, Any]:
        """Return the learned prior and the predictions, its evidence; empty if none is learned."""
        if self.learns is None or hyper.get(self.learns, LEARNED) != LEARNED:
            return {}
        options = {"tune": _WARM_UP, **hyper, **settings}
        prior = self.learn(annotations, **options)
        if self.markov_chains:  # fits of other models check the chains of the prior themselves
            labels = annotations[LABEL].to_numpy()
            answers = features(settings["predictions"], labels[:0], labels)
            convergence.diagnosed_parameters(prior.draws(labels, answers))
        return {self.learns: prior, "predictions": settings["predictions"]}

    def check_options(self, reliability: Any, hyper: Mapping[str, Any]) -> None:
        """Raise if a given hyperparameter is not one of the model's."""
        del reliability
        fit = inspect.signature(models.get(self.model).module.fit)
        known = [name for name in fit.parameters if name not in _NOT_HYPER]
        for name, value in hyper.items():
            if name not in known:
                near = get_close_matches(name, fit.parameters, n=1, cutoff=0.5)
                raise ArgumentError(
                    name, expected=f"a hyperparameter of {self.model}: {', '.join(known)}",
                    found=brief(value), hint="".join(f"Did you mean {match}=?" for match in near),
                )  # fmt: skip

    def plausibility(self, fit: xr.DataTree) -> xr.DataArray:
        """Return the plausibility of a fit."""
        return plausibility_of(fit)

    def replicated(
        self, fit: xr.DataTree, annotations: xr.Dataset, reliability: float,
        hyper: Mapping[str, Any], random_seed: Any,
    ) -> xr.DataTree | None:  # fmt: skip
        """Return draws with replicated annotations; None if the model has no agreement check."""
        del fit, annotations, reliability, hyper, random_seed
        return None

    def predictions(self, predictions: xr.Dataset) -> xr.Dataset:
        """Return predictions of labels; raise if they are numbers."""
        problem = unlike_kind(self.kind, predictions, scores=False)
        if problem is not None:
            raise problem
        return predictions

    def statistics(self, annotations: xr.Dataset, point: xr.DataArray) -> xr.Dataset:
        """Return counts, the leading share and the point estimate of each item."""
        out = xr.Dataset(coords={ITEM: annotations[ITEM].to_numpy()})
        out["n_annotations"] = (ITEM, statements_per(annotations, ITEM))
        out["leading_share"] = (ITEM, point.to_numpy().max(axis=-1))
        out["point_estimate"] = point
        return out


@dataclass(frozen=True)
class RankingRecipe(Recipe):
    """Recipe for rankings. Replicated lists show whether annotators are independent."""

    def fit(self, annotations: xr.Dataset, reliability: float, **options: Any) -> xr.DataTree:
        """Fit the model at one reliability, and record that the prior is from first labels."""
        fitted = super().fit(annotations, reliability, **options)
        if isinstance(options.get("concentration"), LearnedPrior):
            attrs = fitted["posterior"].attrs
            attrs["inference"] = f"{attrs['inference']}; the prior is from first labels"
        return fitted

    def replicated(
        self, fit: xr.DataTree, annotations: xr.Dataset, reliability: float,
        hyper: Mapping[str, Any], random_seed: Any,
    ) -> xr.DataTree | None:  # fmt: skip
        """Return draws with replicated lists.

        Return None if no list has two labels, or no item has two annotators.
        """
        has_lists = annotations.sizes[ANNOTATION] > statements_per(annotations, ITEM).sum()
        if not has_lists or voices_per(annotations, ITEM).max(initial=0) < 2:
            return None
        known = inspect.signature(models.get(self.model).module.build).parameters
        settings = {name: known[name].default for name in known if name != "annotations"}
        settings |= {name: value for name, value in hyper.items() if name in settings}
        settings["reliability"] = reliability
        return replicated_rankings(fit, annotations, random_seed=random_seed, **settings)


@dataclass(frozen=True)
class ScoreRecipe(Recipe):
    """Scores on a scale: systems predict the panel's mean."""

    of_numbers: bool = True

    def fit(self, annotations: xr.Dataset, reliability: float, **options: Any) -> xr.DataTree:
        """Fit the model, which has no reliability."""
        del reliability
        fitted: xr.DataTree = models.get(self.model).module.fit(
            annotations, progressbar=False, **options
        )
        return fitted

    def check_options(self, reliability: Any, hyper: Mapping[str, Any]) -> None:
        """Warn if several reliabilities are given, because equal results would look robust."""
        super().check_options(reliability, hyper)
        if reliability is not None and np.size(reliability) > 1:
            warnings.warn(
                f"{self.model} has no reliability: its results are the same at all reliabilities.",
                DissensusWarning,
                stacklevel=3,
            )

    def learned(
        self, annotations: xr.Dataset, hyper: Mapping[str, Any], **settings: Any
    ) -> dict[str, Any]:
        """Return the predicted numbers, as evidence of a learned prior; empty if there are none."""
        del annotations
        predictions = settings["predictions"]
        if hyper.get("prior", LEARNED) != LEARNED or not has_numbers(predictions):
            return {}
        return {"predictions": predictions}

    def plausibility(self, fit: xr.DataTree) -> xr.DataArray:
        """Return draws of the items' means."""
        posterior = fit["posterior"]
        assert isinstance(posterior, xr.DataTree)
        return posterior.to_dataset()["mean"]

    def predictions(self, predictions: xr.Dataset) -> xr.Dataset:
        """Return predicted numbers."""
        if not has_numbers(predictions):
            raise PredictionError(
                "predictions", expected="one number from each system and item",
                found=f"labels such as {shown(predictions[LABEL].to_numpy().tolist(), 3)}",
                hint="Give the numbers; or threshold=, the cut whose sides are the labels "
                f"{BELOW!r} and {ABOVE!r}",
            )  # fmt: skip
        value = predicted_numbers(predictions).astype(np.float64)
        return value.to_dataset(name="value").assign_attrs(predictions.attrs, kind="continuous")

    def statistics(self, annotations: xr.Dataset, point: xr.DataArray) -> xr.Dataset:
        """Return counts and the point estimate of each item."""
        out = xr.Dataset(coords={ITEM: annotations[ITEM].to_numpy()})
        out["n_annotations"] = (ITEM, statements_per(annotations, ITEM))
        out["point_estimate"] = point
        return out


def mean_scores(annotations: xr.Dataset) -> xr.DataArray:
    """Return the mean score of each item; NaN without scores."""
    item = annotations["item_code"].to_numpy()
    data = moments(given_numbers(annotations), item, annotations.sizes[ITEM])
    mean = np.where(data.n > 0, data.mean, np.nan)
    return xr.DataArray(mean, dims=ITEM, coords={ITEM: annotations[ITEM].to_numpy()}, name="mean")


def off_scale(annotations: xr.Dataset, predictions: xr.Dataset) -> list[Any]:
    """Return systems whose mean number is outside the range of the annotators' scores.

    Their numbers may be in another unit, such as log probabilities instead of grades.
    """
    score = given_numbers(annotations)
    mean = predictions["value"].mean(ITEM)
    if np.ptp(score) == 0:
        return []
    outside = ((mean < score.min()) | (mean > score.max())).to_numpy()
    return list(mean[SYSTEM].to_numpy()[outside].tolist())


@dataclass(frozen=True)
class ThresholdRecipe(ScoreRecipe):
    """Scores on a scale: the labels are the two sides of a cut."""

    of_numbers: bool = False
    threshold: float = 0.0

    def plausibility(self, fit: xr.DataTree) -> xr.DataArray:
        """Turn means and variances into plausibilities of the two sides."""
        return event_plausibility(fit, self.threshold, labels=(BELOW, ABOVE))

    def predictions(self, predictions: xr.Dataset) -> xr.Dataset:
        """Return predictions of the two sides; predicted labels are returned unchanged."""
        if not has_numbers(predictions):
            return predictions
        side = (
            (predicted_numbers(predictions) >= self.threshold)
            .astype(np.int64)
            .expand_dims(POSITION, -1)
        )
        out = xr.Dataset({"label_code": side, "block": xr.ones_like(side)})
        return out.assign_coords({LABEL: [BELOW, ABOVE]}).assign_attrs(kind="nominal")

    def statistics(self, annotations: xr.Dataset, point: xr.DataArray) -> xr.Dataset:
        """Return counts, the leading share and the point estimate of each item."""
        return Recipe.statistics(self, annotations, point)


def dense(values: Any, annotations: xr.Dataset, labels: Any) -> xr.DataArray:
    """Return values (item, label) as a plausibility, in the form that models return."""
    coords = {ITEM: annotations[ITEM].to_numpy(), LABEL: labels}
    return xr.DataArray(values, dims=(ITEM, LABEL), coords=coords, name=NAME)


# The recipe of a model that is not in `RECIPES`: a new model, or a model of another package.


_RELIABILITY = "reliability"


@dataclass(frozen=True)
class PluggedRecipe(Recipe):
    """A model without a recipe of its own, whose fit has a plausibility."""

    def fit(self, annotations: xr.Dataset, reliability: float, **options: Any) -> xr.DataTree:
        """Fit the model, and add the diagnostics that the library's own models have."""
        fit = models.get(self.model).module.fit
        if self._knows_reliability():
            options[_RELIABILITY] = reliability
        fitted = fit(annotations, progressbar=False, **options)
        if not isinstance(fitted, xr.DataTree) or "posterior" not in fitted.children:
            raise ArgumentError(
                "model", where=f"the fit of {self.model}", found=type(fitted).__name__,
                expected="a DataTree with a group 'posterior'",
            )  # fmt: skip
        return _completed(fitted, self.model, options)

    def check_options(self, reliability: Any, hyper: Any) -> None:
        """Raise if a hyperparameter or a reliability is given that the model does not have."""
        super().check_options(reliability, hyper)
        if reliability is not None and not self._knows_reliability():
            raise ArgumentError(
                _RELIABILITY, expected=f"None: the model {self.model} has no such argument",
                found=repr(reliability),
            )  # fmt: skip

    def _knows_reliability(self) -> bool:
        return _RELIABILITY in inspect.signature(models.get(self.model).module.fit).parameters


def plugged(name: str, kind: str) -> Recipe | None:
    """Return a recipe for a model that is not in `RECIPES` but has a plausibility; else None.

    Raises
    ------
    ArgumentError
        If the model cannot be fitted to this kind of annotations.
    """
    own = {recipe.model for recipe in RECIPES}
    new = [entry.name for entry in models.MODELS if entry.plausibility and entry.name not in own]
    if name not in [*new, *models.plugins()]:
        return None
    model = models.get(name)
    if kind not in model.kinds:
        raise ArgumentError(
            "model", expected=f"one for {kind} annotations",
            found=f"{name!r}, for {', '.join(model.kinds)}",
        )  # fmt: skip
    known = inspect.signature(model.module.fit).parameters
    default = known[_RELIABILITY].default if _RELIABILITY in known else 1.0
    usual = float(default) if isinstance(default, int | float) else 1.0
    return PluggedRecipe(name, (usual,), usual, is_limit=False, markov_chains=True)


def _completed(fit: xr.DataTree, model: str, options: dict[str, Any]) -> xr.DataTree:
    """Add attributes that the fit lacks: inference, and convergence of its chains."""
    posterior = fit["posterior"]
    attrs: dict[str, Any] = {"model": model, "inference": f"as the model {model} does it"}
    if _RELIABILITY in options:
        attrs[f"hyper_{_RELIABILITY}"] = options[_RELIABILITY]
    if "n_items_poor" not in posterior.attrs:
        attrs |= convergence.diagnosed(plausibility_of(fit))
    if "sample_stats" not in fit.children:
        fit["sample_stats"] = xr.DataTree(xr.Dataset())
    if "n_divergences" not in posterior.attrs:
        attrs |= convergence.divergences(
            {str(name): values for name, values in fit["sample_stats"].data_vars.items()}
        )
    posterior.attrs = attrs | dict(posterior.attrs)
    return fit


# The model for each kind of annotations, and its default reliabilities.


HEAVY_PRIOR = 0.5
"""Reports have a note if the prior has a larger weight than this in a typical item."""


@dataclass(frozen=True)
class _Sides:
    """Point estimate for scores that are cut: the side of an item's mean score has share 1."""

    threshold: float

    def __call__(self, annotations: xr.Dataset) -> xr.DataArray:
        mean = mean_scores(annotations).to_numpy()
        above = np.where(np.isnan(mean), np.nan, mean >= self.threshold)
        return dense(np.stack([1 - above, above], axis=1), annotations, [BELOW, ABOVE])


def _prior_of_counts(annotations: xr.Dataset, reliability: float, **hyper: Any) -> float:
    if hyper.get("prior_count", LEARNED) == LEARNED:  # estimated from the items
        return 0.0
    prior = float(hyper["prior_count"]) * annotations.sizes[LABEL]
    observed = reliability * float(np.median(statements_per(annotations, ITEM)))
    return prior / (prior + observed)


def _inverse_rank(annotations: xr.Dataset) -> xr.DataArray:
    if annotations.attrs["kind"] != "ranking":  # for single labels, both estimates are the same
        return shares(annotations)
    point: xr.DataArray = models.get("inverse_rank").module.point(annotations)
    return point


_FIRST = "the first label of each item's inverse rank normalisation"

RECIPES: Final = (
    Recipe(
        "dirichlet", (0.5, 1.0, 2.0, 5.0, 10.0), 1.0, prior_weight=_prior_of_counts,
        learns="prior_count", insight=True,
    ),
    # The ranges of the next two models are from Stutz et al. (2023), C.3: temperatures of 10 to 100
    # for PrIRN, rankings repeated 1 to 10 times for Plackett-Luce. The references are the middle
    # temperature, and 1, at which Plackett-Luce counts every ranking once.
    Recipe(
        "inverse_rank", (10.0, 30.0, 100.0), 30.0, point=_inverse_rank, leading=_FIRST
    ),
    RankingRecipe(
        "plackett_luce", (1.0, 3.0, 10.0), 1.0, point=_inverse_rank, leading=_FIRST,
        is_limit=False, companion="inverse_rank", learns="concentration",
        learn=partial(prior_of_rankings, first_labels=True), markov_chains=True, insight=True,
    ),
    ScoreRecipe(
        "normal_scores", (1.0,), 1.0, point=mean_scores, leading="the mean score of each item",
    ),
)  # fmt: skip
"""Recipes of models that need more than `plugged` gives, such as a range of reliabilities."""

_DEFAULT: Final = {"continuous": "normal_scores", "ranking": "plackett_luce"}
DEFAULT: Final = "default"
"""Default of the argument ``companion``: the default model's; none if ``model`` is given."""


def recipe_for(
    annotations: xr.Dataset, *, model: str | None = None, threshold: float | None = None
) -> Recipe:
    """Return the recipe to evaluate annotations of this kind.

    Raises
    ------
    ArgumentError
        If the model is unknown or is not for this kind, or the threshold is not a number.
    """
    kind = annotations.attrs["kind"]
    if kind == "set":
        raise AnnotationError(
            "annotations", expected="one label, number or ranking from each annotator and item",
            found='sets of labels (kind "set")', hint=OF_SETS,
        )  # fmt: skip
    if model is None:
        model = _DEFAULT.get(kind, "dirichlet")
        if threshold is not None and kind == "ordinal":
            model = "normal_scores"
    recipe = plugged(model, kind) or _known(_fitting(kind), "model", model, kind)
    if threshold is None:
        return replace(recipe, kind=kind)
    if not isinstance(recipe, ScoreRecipe):
        raise ArgumentError(
            "threshold",
            expected=f"None: {model} of {kind} annotations has no numbers to cut",
            found=repr(threshold),
        )
    cut = arguments.finite("threshold", threshold)
    return ThresholdRecipe(
        recipe.model, recipe.reliabilities, recipe.reference, point=_Sides(cut),
        leading="the side of the threshold that each item's mean score is on", kind=kind,
        threshold=cut,
    )  # fmt: skip


def companion_for(main: Recipe, companion: str | None, *, by_default: bool) -> Recipe | None:
    """Return the recipe of the companion of the main model, or None.

    Parameters
    ----------
    main : Recipe
        Recipe of the main model.
    companion : str or None
        The argument of `evaluate`: a name, None, or `DEFAULT`.
    by_default : bool
        Whether the main model was chosen by default.

    Raises
    ------
    ArgumentError
        If there is no such model, or the main model has no companion.
    """
    if companion == DEFAULT:
        companion = main.companion if by_default else None
    if companion is None:
        return None
    others = [
        recipe
        for recipe in _fitting(main.kind)
        if recipe.model != main.model and not isinstance(recipe, ScoreRecipe)
    ]
    if not others or isinstance(main, ScoreRecipe):
        raise ArgumentError(
            "companion",
            expected=f"None: there is no other model to compare {main.model} with for {main.kind} "
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
