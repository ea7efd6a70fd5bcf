"""The posterior of a fit as a table, where ArviZ's own summary stumbles over the dim ``label``."""

from __future__ import annotations

import arviz as az
import numpy as np
import pytest

import dissensus as dx

pytestmark = pytest.mark.filterwarnings("ignore:The chains have not run long enough")


@pytest.fixture(scope="module")
def ann():
    rng = np.random.default_rng(1)
    return dx.from_matrix(rng.choice(["a", "b"], (12, 3)).tolist())


def test_a_fit_is_summarised_without_its_items(ann):
    fit = dx.models.symmetric_confusion.fit(ann, draws=100, random_seed=1, progressbar=False)
    table = dx.summary(fit)
    assert {"prevalence[a]", "prevalence[b]"} <= set(table.index)
    assert table.attrs["left_out"] == ["truth"]
    known = az.summary(fit, var_names=["annotator_accuracy"])
    assert table.loc[known.index].drop(columns="doubt").equals(known)


def test_what_a_fit_has_of_items_only_is_shown(ann):
    fit = dx.models.dirichlet.fit(ann, draws=50, random_seed=1, progressbar=False, prior_count=1)
    assert "plausibility[3, b]" in dx.summary(fit).index


@pytest.mark.long
def test_an_evaluation_has_a_posterior_too(ann):
    result = dx.evaluate(ann, draws=50, chains=2, random_seed=1, progressbar=False)
    assert len(dx.summary(result, "posterior"))
    assert dx.summary(result, "metrics").empty  # of metrics: no predictions


def test_what_is_no_fit_is_refused():
    with pytest.raises(dx.ArgumentError, match="expected a fit, or an evaluation by a model"):
        dx.summary(3, "posterior")
    with pytest.raises(dx.ArgumentError, match=r"expected a DataTree from dissensus\.evaluate"):
        dx.summary(3)


def test_draws_that_are_yet_to_be_made_are_not_made_for_a_table():
    ann = dx.annotations({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": list("aba")})
    fit = dx.models.dirichlet.fit(dx.chunked(ann), draws=20, random_seed=1, prior_count=1)
    with pytest.raises(dx.ArgumentError, match=r"expected draws in memory.*fit\.compute"):
        dx.summary(fit)
    assert len(dx.summary(fit.compute())) == 4
