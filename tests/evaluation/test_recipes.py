"""Recipes: data about models, complete and consistent, so that adding a model is adding one."""

from __future__ import annotations

import inspect

import pytest
from lean import LEAN

import dissensus as dx
from dissensus.evaluation.recipes import DEFAULT, RECIPES, companion_for, recipe_for


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.model)
def test_a_recipe_fits_its_model(recipe):
    model = dx.models.get(recipe.model)
    assert recipe.reference in recipe.reliabilities
    assert list(recipe.reliabilities) == sorted(set(recipe.reliabilities))
    if recipe.companion is not None:
        assert set(dx.models.get(recipe.companion).kinds) & set(model.kinds)
    takes = inspect.signature(model.module.fit).parameters
    assert ("reliability" in takes) == (recipe.model != "normal_scores")
    # What is not drawn independently must be seen to have run long enough.
    assert recipe.markov_chains == ("sampler" in takes)


@pytest.mark.parametrize("kind", ["nominal", "ordinal", "continuous", "ranking"])
def test_every_kind_has_a_default(kind, votes):
    ann = votes[0].assign_attrs(kind=kind)
    recipe = recipe_for(ann, threshold=0.0 if kind == "continuous" else None)
    assert kind in dx.models.get(recipe.model).kinds
    assert recipe.kind == kind


def test_the_ranges_of_rankings_are_those_of_the_source(rankings):
    # Stutz et al. (2023), C.3: "1, 2, 3, 5, and 10 repetitions"; temperatures 10 to 100.
    # Their ends and middle.
    main = recipe_for(rankings[0])
    beside = companion_for(main, DEFAULT, by_default=True)
    assert (main.model, main.reliabilities) == ("plackett_luce", (1, 3, 10))
    assert (beside.model, beside.reliabilities) == ("inverse_rank", (10, 30, 100))


def test_a_model_that_was_asked_for_comes_alone(rankings):
    main = recipe_for(rankings[0], model="plackett_luce")
    assert companion_for(main, DEFAULT, by_default=False) is None
    assert companion_for(main, None, by_default=True) is None
    assert companion_for(main, "inverse_rank", by_default=False).model == "inverse_rank"


@pytest.mark.parametrize("name", ["plackett_luce", "dirichlet", "normal_scores", "nobody", 7])
def test_a_companion_that_cannot_be_is_refused(rankings, name):
    main = recipe_for(rankings[0])
    with pytest.raises(dx.ArgumentError, match=r"companion: expected one of \['inverse_rank'\]"):
        companion_for(main, name, by_default=True)


def test_a_registered_model_needs_no_recipe(votes, monkeypatch):
    panel = dx.models.Model("panel", ("nominal",), "shares of labels", home="plugins.panel")
    monkeypatch.setattr(dx.models, "MODELS", (*dx.models.MODELS, panel))
    result = dx.evaluate(*votes, model="panel", draws=20, random_seed=1, progressbar=False, **LEAN)
    assert result.attrs["model"] == "panel"
    with pytest.raises(dx.ArgumentError, match="one for ordinal annotations; found 'panel'"):
        recipe_for(votes[0].assign_attrs(kind="ordinal"), model="panel")
    with pytest.raises(dx.ArgumentError, match=r"model: expected one of \['dirichlet'"):
        recipe_for(votes[0], model="dawid_skene")  # has no plausibility


def test_scores_have_no_companion():
    main = recipe_for(dx.from_matrix([[1.5, 2.5]]), threshold=2)
    with pytest.raises(dx.ArgumentError, match="companion: expected None"):
        companion_for(main, "dirichlet", by_default=False)
