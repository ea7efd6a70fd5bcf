"""Annotations cut into chunks of whole items."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from data.formats.conftest import statements
from hypothesis import given, settings
from hypothesis import strategies as st

import dissensus as dx
from dissensus.data.chunks import Frame, by_item, chunked, is_chunked, item_edges


def annotations(n_items=10, n_rows=40, seed=1):
    """Labels of items in no order; some items may have none."""
    rng = np.random.default_rng(seed)
    table = {"item": rng.integers(0, n_items, n_rows), "annotator": np.arange(n_rows),
             "label": rng.integers(0, 3, n_rows), "pool": np.arange(n_rows) % 2}  # fmt: skip
    return dx.annotations(table, kind="nominal", pool="pool")


@pytest.mark.long
@given(st.integers(1, 12), st.integers(0, 99))
@settings(deadline=None, max_examples=25)
def test_chunks_are_of_whole_items_and_nothing_is_lost(items, seed):
    ann = annotations(seed=seed)
    assert dx.validate(chunked(ann, items)).attrs["kind"] == "nominal"
    cut = by_item(chunked(ann, items))
    assert statements(cut) == statements(ann)
    edges, end = item_edges(cut), 0
    assert edges[0] == 0
    assert edges[-1] == ann.sizes["item"]
    for chunk, rows in enumerate(cut.chunksizes["annotation"]):
        code = cut["item_code"].to_numpy()[end : end + rows]
        assert ((code >= edges[chunk]) & (code < edges[chunk + 1])).all()
        end += rows
    xr.testing.assert_identical(cut["item"], ann["item"])


def test_parts_are_the_annotations_of_their_items():
    cut = by_item(chunked(annotations(), 4))
    frame, edges = Frame.of(cut), item_edges(cut)
    rows = [cut[name].data.blocks[1].compute() for name in frame.columns]
    part = frame.part(rows, cut["item"].to_numpy()[5:7], (edges[1], edges[2]), 5)
    want = {row for row in statements(cut) if row[0] in cut["item"].to_numpy()[5:7]}
    assert statements(part) == want
    assert part.sizes["annotator"] == cut.sizes["annotator"]


def test_chunks_that_cut_items_are_cut_anew():
    ann = annotations()
    cut = chunked(ann, 3)
    some = cut.isel(annotation=np.flatnonzero(cut["label_code"].to_numpy() > 0))
    for other in (ann.chunk(annotation=7), cut.chunk(annotation=9), cut.isel(annotation=[0]), some):
        anew = by_item(other.chunk())
        assert statements(anew) == statements(other)
        assert len(item_edges(anew)) == len(anew.chunksizes["annotation"]) + 1


def test_a_store_gives_the_chunks_back(tmp_path):
    cut = chunked(annotations(), 3)
    cut.to_zarr(tmp_path / "labels.zarr", consolidated=False)
    back = xr.open_zarr(tmp_path / "labels.zarr", consolidated=False)
    assert is_chunked(back)
    assert item_edges(back) == item_edges(cut) == [0, 3, 6, 9, 10]
    assert by_item(back).chunksizes == by_item(cut).chunksizes
    assert statements(back) == statements(cut)
    short = chunked(annotations(n_items=2), 5)
    short.to_netcdf(tmp_path / "one.nc")  # a list of one comes back as the one
    assert item_edges(xr.open_dataset(tmp_path / "one.nc", chunks={})) == [0, 2]


def test_without_a_number_a_chunk_has_about_so_many_rows(monkeypatch):
    assert chunked(annotations()).attrs["row_chunks"] == [40]
    monkeypatch.setattr("dissensus.data.chunks._ROWS", 8)
    assert len(chunked(annotations()).attrs["row_chunks"]) == 5


@pytest.mark.parametrize("items", [0, -1, 1.5, "3", True, [2]])
def test_a_senseless_number_of_items_is_refused(items):
    with pytest.raises(dx.ArgumentError, match="items: expected a whole number, 1 or more"):
        chunked(annotations(), items)


def test_rows_in_the_wrong_chunk_are_named():
    cut = chunked(annotations(), 5)
    turned = cut.isel(annotation=slice(None, None, -1))
    with pytest.raises(
        dx.AnnotationError, match=r"chunk of items 0 to 4: expected only rows of these"
    ):
        dx.models.dirichlet.fit(turned, draws=2, random_seed=1).compute()


def test_annotations_in_memory_are_not_chunked():
    assert not is_chunked(annotations())
    assert not is_chunked("annotations")
