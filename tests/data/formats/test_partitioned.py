"""Folders of Parquet files: the same annotations as of one table, item by item."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx

N_ITEMS, N_ROWS = 40, 300


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    pairs = rng.choice(N_ITEMS * 12, N_ROWS, replace=False)
    return pd.DataFrame({
        "case": [f"c{k:03d}" for k in pairs // 12], "who": pairs % 12,
        "said": rng.choice(["yes", "no", "perhaps"], N_ROWS), "sure": rng.random(N_ROWS),
    })  # fmt: skip


COLUMNS = {"item": "case", "annotator": "who", "label": "said", "confidence": "sure"}


def split(table, folder, n_files=4):
    """Write rows into files of several row groups, in two folders."""
    for number, rows in enumerate(np.array_split(np.arange(len(table)), n_files)):
        path = folder / f"part={number // 2}" / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        table.iloc[rows].to_parquet(path, row_group_size=30)
    return folder


def assert_same(actual, whole):
    """The same but for the order of rows, which are sorted by item."""
    order = np.argsort(whole["item_code"].to_numpy(), kind="stable")
    whole = whole.isel(annotation=order)
    for name, values in whole.variables.items():
        np.testing.assert_array_equal(actual[name].to_numpy(), values.to_numpy())
    assert set(actual.variables) == set(whole.variables)
    for name in ("kind", "kind_source"):
        assert actual.attrs[name] == whole.attrs[name]


@pytest.mark.long
@pytest.mark.parametrize("items", [None, 7])
def test_the_same_annotations_as_of_one_table(table, tmp_path, items):
    folder = split(table, tmp_path / "labels")
    actual = dx.read_annotations(folder, chunks=items, store=tmp_path / "ann.zarr", **COLUMNS)
    assert actual.chunksizes["annotation"]
    assert actual.attrs["format"] == "parquet, a folder of files"
    whole = dx.annotations(table, **COLUMNS)
    assert_same(actual, whole)
    run = {"draws": 5, "chains": 1, "random_seed": 1}
    xr.testing.assert_identical(
        dx.models.dirichlet.fit(actual, **run)["posterior"]["plausibility"].compute().variable,
        dx.models.dirichlet.fit(whole, **run)["posterior"]["plausibility"].variable,
    )
    again = xr.open_zarr(tmp_path / "ann.zarr", consolidated=False)
    xr.testing.assert_identical(again.compute(), actual.compute())


@pytest.mark.long
@pytest.mark.parametrize("how", [
    {"kind": "ordinal", "labels": ["no", "perhaps", "yes", "always"]}, {"kind": "nominal"},
])  # fmt: skip
def test_labels_are_understood_as_in_one_table(table, tmp_path, how):
    folder = split(table, tmp_path / "labels")
    assert_same(
        dx.read_annotations(folder, store=tmp_path / "a", **COLUMNS, **how),
        dx.annotations(table, **COLUMNS, **how),
    )


@pytest.mark.parametrize("form", ["numbers", "whole", "spelled"])
def test_numbers_too(table, tmp_path, form):
    rng = np.random.default_rng(2)
    table["said"] = {"numbers": rng.normal(size=N_ROWS), "whole": rng.integers(1, 6, N_ROWS),
                     "spelled": rng.integers(1, 6, N_ROWS).astype(str)}[form]  # fmt: skip
    folder = split(table, tmp_path / "labels")
    result = dx.read_annotations(folder, store=tmp_path / "a", **COLUMNS)
    assert_same(result, dx.annotations(table, **COLUMNS))


def test_ranks_pools_and_trials(tmp_path):
    rng = np.random.default_rng(3)
    rows = [
        (f"i{i}", who, label, rank, "ab"[who % 2], trial)
        for i in rng.permutation(12) for who in range(3) for trial in (1, 2)
        for rank, label in enumerate(rng.permutation(list("xyz"))[: rng.integers(1, 4)], 1)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["item", "annotator", "label", "rank", "pool", "trial"])
    folder = split(table, tmp_path / "labels")
    how = {name: name for name in ("rank", "pool", "trial")}
    assert_same(
        dx.read_annotations(folder, chunks=5, store=tmp_path / "a", **how),
        dx.annotations(table, **how),
    )


def test_one_file_goes_into_a_store_too(table, tmp_path):
    table.to_csv(tmp_path / "one.csv", index=False)
    result = dx.read_annotations(tmp_path / "one.csv", store=tmp_path / "a", **COLUMNS)
    assert_same(result, dx.read_annotations(tmp_path / "one.csv", **COLUMNS))
    chunked = dx.read_annotations(tmp_path / "one.csv", chunks=5, **COLUMNS)
    assert chunked.attrs["item_chunks"][0] == 5


def damaged(table, damage):
    table = table.astype({"who": object})
    if damage == "twice":
        return pd.concat([table, table.iloc[[0]]])
    column, value = {"missing": ("said", None), "mixed": ("who", "ann"),
                     "unsure": ("sure", 1.5), "blank": ("case", "")}[damage]  # fmt: skip
    table.loc[200, column] = value
    if damage == "mixed":
        table["who"] = table["who"].astype(str)
        table.loc[200, "who"] = "a\0b"
    return table


@pytest.mark.parametrize(("damage", "words"), [
    ("missing", r"2\.parquet.*'said'.*row group 1, row 20.*missing"),
    ("twice", "one label for each item and annotator"), ("unsure", "confidence|sure"),
    ("blank", "'case'"), ("mixed", "'who'"),
])  # fmt: skip
def test_bad_rows_are_named_and_leave_no_store(table, tmp_path, damage, words):
    table = damaged(table, damage)
    table["who"] = table["who"].astype(str)
    folder = split(table, tmp_path / "labels")
    with pytest.raises(dx.AnnotationError, match=words):
        dx.read_annotations(folder, store=tmp_path / "a", chunks=9, **COLUMNS)
    assert not (tmp_path / "a").exists()


def test_files_that_spell_names_otherwise_are_not_guessed_at(table, tmp_path):
    folder = split(table, tmp_path / "labels")
    table["who"] = "n" + table["who"].astype(str)
    table.to_parquet(folder / "z.parquet")
    with pytest.raises(dx.AnnotationError, match=r"'who', some file.*all text, all numbers"):
        dx.read_annotations(folder, store=tmp_path / "a", **COLUMNS)


@pytest.mark.long
def test_a_store_of_a_run_that_was_killed_has_no_name(table, tmp_path):
    folder = split(table, tmp_path / "labels")
    code = """
import os, sys
import dissensus as dx
from dissensus.data import chunks as stores
opened = stores.opened
stores.opened = lambda place: (opened(place), os._exit(9))  # it is written, and not yet checked
dx.read_annotations(sys.argv[1], store=sys.argv[2], item="case", annotator="who", label="said")
"""
    command = [sys.executable, "-W", "ignore", "-c", code, str(folder), str(tmp_path / "a")]
    assert subprocess.run(command, check=False).returncode == 9
    assert not (tmp_path / "a").exists()
    dx.read_annotations(folder, store=tmp_path / "a", **COLUMNS)


@pytest.mark.long
@pytest.mark.unit(1)
@pytest.mark.parametrize("column", ["label_code", "confidence"])
def test_a_chunk_that_was_lost_is_not_taken_for_the_first_label(table, tmp_path, column):
    folder = split(table, tmp_path / "labels")
    result = dx.read_annotations(folder, chunks=5, store=tmp_path / "a", **COLUMNS)
    result.to_zarr(tmp_path / "b", consolidated=False)  # as it is, without more ado
    for store in ("a", "b"):
        (tmp_path / store / column / "c" / "3").unlink()
        again = dx.read_annotations(tmp_path / store)
        with pytest.raises(dx.AnnotationError, match=f"{column}|{column.removesuffix('_code')}"):
            dx.models.dirichlet.fit(again, draws=10).compute()


@pytest.mark.long
def test_a_store_is_read_again(table, tmp_path):
    folder = split(table, tmp_path / "labels")
    first = dx.read_annotations(folder, chunks=5, store=tmp_path / "a", **COLUMNS)
    again = dx.read_annotations(tmp_path / "a")
    xr.testing.assert_identical(again, first)
    assert again.chunksizes == first.chunksizes
    assert dx.read_annotations(tmp_path / "a", chunks=7).attrs["item_chunks"][0] == 7
    for how in ({"item": "case"}, {"kind": "nominal"}, {"store": tmp_path / "b"}):
        with pytest.raises(dx.FormatError, match=f"{next(iter(how))}="):
            dx.read_annotations(tmp_path / "a", **how)
    with pytest.raises(dx.FormatError, match="expected a file; found a Zarr store"):
        dx.read_predictions(tmp_path / "a")
    xr.Dataset({"x": ("y", [1])}).to_zarr(tmp_path / "other", consolidated=False)
    with pytest.raises(dx.FormatError, match="without item_code"):
        dx.read_annotations(tmp_path / "other")


def test_columns_in_the_names_of_folders_are_pointed_at(table, tmp_path):
    table.to_parquet(tmp_path / "labels", partition_cols=["who"])
    with pytest.raises(dx.FormatError, match=r"column 'who'.*the name of the folder 'who=0'"):
        dx.read_annotations(tmp_path / "labels", store=tmp_path / "a", **COLUMNS)


def test_what_cannot_be_read_is_said_at_once(table, tmp_path):
    folder = split(table, tmp_path / "labels")
    read = dx.read_annotations
    with pytest.raises(dx.ArgumentError, match="store: expected a path that does not exist"):
        read(folder, store=tmp_path, **COLUMNS)
    with pytest.raises(dx.ArgumentError, match="store: expected a path"):
        read(folder, store=3, **COLUMNS)
    with pytest.raises(dx.ArgumentError, match="chunks: expected a whole number"):
        read(folder, chunks=0, store=tmp_path / "a", **COLUMNS)
    with pytest.raises(dx.FormatError, match="column 'nobody'"):
        read(folder, store=tmp_path / "a", **COLUMNS | {"annotator": "nobody"})
    with pytest.raises(dx.FormatError, match="cluster=: expected None for a folder"):
        read(folder, store=tmp_path / "a", cluster="cluster", **COLUMNS)
    (tmp_path / "none").mkdir()
    with pytest.raises(dx.FormatError, match="Parquet files with rows"):
        read(tmp_path / "none", store=tmp_path / "a", **COLUMNS)
    (folder / "9.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(dx.FormatError, match=r"9\.parquet.*a whole Parquet file"):
        read(folder, store=tmp_path / "a", **COLUMNS)
    assert not (tmp_path / "a").exists()
