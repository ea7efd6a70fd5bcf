"""`describe` and `to_dataframe`, of anything that has draws, was said, or is neither."""

from __future__ import annotations

import pandas as pd
import pytest
from fuzz.data import NOT_DATA, annotation_sets, prediction_sets
from fuzz.judging import judged, twice
from fuzz.profile import cases
from fuzz.test_fuzz_metrics import plausibilities
from hypothesis import given
from hypothesis import strategies as st

import dissensus as dx

pytestmark = pytest.mark.long


@st.composite
def draws(draw):
    """Make plausibilities, metrics of them, comparisons, or what is none of these."""
    ann, result = draw(plausibilities())
    case = draw(st.integers(0, 4))
    if case == 0:
        return draw(st.sampled_from(NOT_DATA))
    if case == 1:
        return result
    pred = draw(prediction_sets(ann, ("labels", "ranks", "scores")))
    answer = judged("top_k_accuracy", dx.top_k_accuracy, result, pred, on_missing="drop")
    if answer.refused:
        return result
    if case == 2:
        return answer.value
    other = judged("compare", dx.compare, answer.value)
    return answer.value if other.refused else other.value


@cases(8, 2000)
@given(data=st.data())
def test_draws_are_described_or_refused(data):
    form = data.draw(st.sampled_from(["text", "markdown", "latex", "html", None, 3]))
    answer = twice("describe", dx.describe, data.draw(draws()), form)
    if not answer.refused:
        assert "draw" in answer.value
        assert "nan" not in answer.value


@cases(8, 2000)
@given(data=st.data())
def test_tables_are_made_or_refused(data):
    ann = data.draw(annotation_sets())
    source = data.draw(
        st.one_of(st.just(ann), prediction_sets(ann, ("labels", "ranks", "scores")), draws())
    )
    answer = twice("to_dataframe", dx.to_dataframe, source)
    assert answer.refused or isinstance(answer.value, pd.DataFrame)
