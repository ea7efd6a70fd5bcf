"""Every model in the registry, of all annotations that can be made: very few draws of each."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.data import NOT_DATA, annotation_sets, prediction_sets, verdicts
from fuzz.judging import arrays, judged, twice
from fuzz.profile import cases
from fuzz.settings_of import settings_of
from hypothesis import given
from hypothesis import strategies as st

from dissensus.models import MODELS

FEW = {"draws": 3, "tune": 2, "chains": 1, "progressbar": False, "random_seed": 1}
BESIDE = ("maximum_likelihood", "point", "em")
"""What a model may offer beside `build` and `fit`."""
SHARES = (
    "plausibility",
    "truth",
    "annotator_accuracy",
    "system_accuracy",
    "prevalence",
    "confusion",
)
NOT_EVERYWHERE = {"annotator_effect"}
"""What there is not of each: annotators who are not in a pool have no effect in it."""
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
every_point = pytest.mark.parametrize(
    ("model", "name"), [(m, name) for m in MODELS for name in BESIDE if hasattr(m.module, name)]
)


@st.composite
def calls(draw, model, function):
    """Make annotations that suit the model, in most cases, and settings."""
    kinds = model.kinds if draw(st.integers(0, 9)) else ("nominal", "continuous", "ranking")
    ann = draw(annotation_sets(kinds, pools=model.pools or None))
    settings = draw(settings_of(function, but={"sampler", "truth", "chains"}))
    if "predictions" in function.__annotations__ and draw(st.booleans()):
        of_pairs = ann.attrs["kind"] == "pair"
        made = verdicts(ann) if of_pairs else prediction_sets(ann, ("labels",))
        settings["predictions"] = draw(made)
    if "family" in function.__annotations__ and draw(st.booleans()):
        settings["family"] = draw(st.sampled_from(["gaussian", "bernoulli", "ordinal"]))
    if "log_likelihood" in function.__annotations__:
        settings |= {name: True for name in ("log_likelihood", "posterior_predictive")
                     if draw(st.integers(0, 5)) == 0}  # fmt: skip
    if draw(st.integers(0, 29)) == 0:
        ann = draw(st.sampled_from(NOT_DATA))
    return ann, settings


@every_model
@cases(3, 700)
@given(data=st.data())
def test_a_fit_is_sound_or_refused(model, data):
    ann, settings = data.draw(calls(model, model.module.fit))
    run = twice if data.draw(st.integers(0, 5)) == 0 and "random_seed" not in settings else judged
    answer = run(f"models.{model.name}", model.module.fit, ann, **(FEW | settings))
    if answer.refused:
        return
    sound(answer.value)
    if "item" in answer.value["posterior"].dims:
        assert answer.value["posterior"].indexes["item"].equals(ann.indexes["item"])


def sound(fit):
    """Check the draws of a fit: finite, probabilities in [0, 1] and summing to 1."""
    for array in arrays(fit["posterior"].to_dataset()):
        assert array.dims[:2] == ("chain", "draw")
        values = array.to_numpy()
        known = values[~np.isnan(values)]
        assert np.isfinite(known).all(), array.name
        assert known.size == values.size or array.name in NOT_EVERYWHERE, array.name
        if array.name in SHARES:
            assert np.nanmin(values, initial=0.0) >= 0.0
            assert np.nanmax(values, initial=1.0) <= 1.0 + 1e-9
        if array.name in {"plausibility", "truth", "prevalence"}:
            last = "candidate" if "candidate" in array.dims else "label"
            np.testing.assert_allclose(array.sum(last), 1.0, atol=1e-9)


@every_point
@cases(3, 300)
@given(data=st.data())
def test_a_point_estimate_is_sound_or_refused(model, name, data):
    function = getattr(model.module, name)
    ann, settings = data.draw(calls(model, function))
    answer = judged(f"models.{model.name}.{name}", function, ann, **settings)
    if not answer.refused:
        for array in arrays(answer.value):
            known = array.to_numpy().astype(float)
            assert not np.isinf(known).any() or array.name == "lp"


@every_model
@cases(1, 40)
@given(data=st.data())
def test_a_graph_is_built_or_refused(model, data):
    ann, settings = data.draw(calls(model, model.module.build))
    answer = judged(f"models.{model.name}.build", model.module.build, ann, **settings)
    if not answer.refused:
        assert answer.value.free_RVs
