"""Whatever a table holds, it is read as it is or refused with the reason."""

from __future__ import annotations

import numpy as np
import xarray as xr
from fuzz.data import annotation_sets, prediction_tables
from fuzz.dressing import clothes, dressed
from fuzz.judging import judged
from fuzz.names import HOSTILE, PLAIN, vocabulary
from fuzz.profile import cases
from fuzz.settings_of import NONSENSE, settings_of
from fuzz.strategies import annotation_tables
from hypothesis import given
from hypothesis import strategies as st

import dissensus as dx


@cases(40, 8000)
@given(annotation_tables(), clothes())
def test_annotations_are_read_or_refused(table, worn):
    answer = judged("annotations", dx.annotations, dressed(table.columns, worn), **table.options)
    if answer.refused:
        return
    ann = answer.value
    assert dx.validate(ann) is ann
    assert ann.sizes["annotation"] == len(next(iter(table.columns.values())))


@cases(20, 2000)
@given(annotation_tables(hostile=False))
def test_well_formed_annotations_get_through(table):
    answer = judged("annotations, well formed", dx.annotations, table.columns, **table.options)
    assert not answer.refused, answer.refused


@cases(20, 4000)
@given(data=st.data())
def test_settings_of_the_readers_are_taken_or_refused(data):
    table = data.draw(annotation_tables(hostile=False))
    settings = table.options | data.draw(settings_of(dx.annotations, often=1))
    judged("annotations, settings", dx.annotations, table.columns, **settings)


@cases(20, 6000)
@given(prediction_tables(), clothes(), st.data())
def test_predictions_are_read_or_refused(table, worn, data):
    settings = table.options | data.draw(settings_of(dx.predictions, often=7))
    answer = judged("predictions", dx.predictions, dressed(table.columns, worn), **settings)
    if not answer.refused:
        dx.validate(answer.value)


@st.composite
def families(draw):
    """Choose a family of names, a plain one in most cases."""
    return draw(st.sampled_from(PLAIN if draw(st.integers(0, 3)) else HOSTILE))


@cases(20, 4000)
@given(data=st.data())
def test_a_matrix_is_read_or_refused(data):
    labels = data.draw(vocabulary(4, families()))
    cells = st.sampled_from([None, float("nan"), *labels] if data.draw(st.booleans()) else labels)
    wide = data.draw(st.sampled_from([1, 2, 3, 4, 0]))
    rows = data.draw(
        st.lists(st.lists(cells, min_size=wide, max_size=wide), min_size=1, max_size=5)
    )
    form = data.draw(st.sampled_from(["lists", "array", "pandas", "polars", "DataArray", "ragged"]))
    settings = data.draw(settings_of(dx.from_matrix))
    matrix = _matrix(rows, form)
    answer = judged("from_matrix", dx.from_matrix, matrix, **settings)
    if not answer.refused:
        assert answer.value.sizes["item"] == len(rows) + (form == "ragged")


def _matrix(rows, form):
    columns = {f"r{k}": [row[k] for row in rows] for k in range(len(rows[0]) if rows else 0)}
    if form in {"pandas", "polars"}:
        return dressed(columns, form)
    if form == "ragged":
        return [*rows, [1]]
    if form == "lists" or not columns:
        return rows
    array = np.empty((len(rows), len(columns)), dtype=object)
    for place, row in enumerate(rows):
        array[place] = row
    return array if form == "array" else xr.DataArray(array, dims=("item", "annotator"))


@cases(20, 4000)
@given(data=st.data())
def test_nested_rankings_are_read_or_refused(data):
    labels = data.draw(vocabulary(4, families()))
    odd = data.draw(st.integers(0, 3)) == 0
    block = st.lists(st.sampled_from(labels), min_size=0 if odd else 1, max_size=2)
    whole = st.lists(st.sampled_from(labels), min_size=1, max_size=4, unique_by=repr).map(
        lambda order: [[label] for label in order]
    )
    ranking = (
        st.one_of(st.lists(block, max_size=3), st.sampled_from([None, "x", [1]])) if odd else whole
    )
    items = data.draw(vocabulary(3, st.sampled_from(PLAIN)))
    readers = st.one_of(
        st.lists(ranking, min_size=1, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "c"]), ranking, min_size=1),
    )
    nested = {item: data.draw(readers) for item in items}
    settings = data.draw(settings_of(dx.from_rankings))
    answer = judged("from_rankings", dx.from_rankings, nested, **settings)
    if not answer.refused:
        assert answer.value.sizes["item"] == len(items)


@cases(10, 2000)
@given(data=st.data())
def test_a_dataset_that_was_tampered_with_is_refused_or_valid(data):
    ann = data.draw(annotation_sets())
    name = data.draw(st.sampled_from(sorted({*ann.variables, "kind"})))
    harmed = ann.copy(deep=True)
    how = data.draw(st.integers(0, 4))
    if name == "kind":
        harmed.attrs["kind"] = data.draw(st.sampled_from(NONSENSE))
    elif how == 0:
        harmed = harmed.drop_vars(name)
    elif how == 1 and harmed[name].size and harmed[name].dtype.kind in "iuf":
        harmed[name] = harmed[name] - 1
    elif how == 2:
        harmed[name] = harmed[name].astype(object)
    elif how == 3:
        harmed = harmed.isel({dim: [] for dim in harmed[name].dims})
    else:
        harmed[name] = harmed[name].astype(str)
    answer = judged("validate", dx.validate, harmed)
    if not answer.refused:
        judged("statistics of the tampered", dx.percent_agreement, harmed)


def test_very_many_labels_of_one_item_are_read():
    n = 100_000
    columns = {
        "item": [1] * n,
        "annotator": list(range(n)),
        "label": ["ab"[k % 2] for k in range(n)],
    }
    ann = judged("annotations, large", dx.annotations, columns).value
    result = judged("percent_agreement, large", dx.percent_agreement, ann).value
    assert abs(float(result) - (n / 2 - 1) / (n - 1)) < 1e-12
