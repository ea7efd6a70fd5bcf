"""Folders of Parquet files read whole: the same as of one table, and complaints name the file."""

from __future__ import annotations

import pandas as pd
import pytest
import xarray as xr

import dissensus as dx

LABELS = pd.DataFrame({"item": ["i", "i", "j", "j", "k"], "annotator": [1, 2, 1, 2, 1],
                       "label": ["x", "y", "x", "x", "y"]})  # fmt: skip
ANSWERS = pd.DataFrame({"item": ["i", "j", "k"] * 2, "system": ["a"] * 3 + ["b"] * 3,
                        "label": ["x", "x", "y", "y", "x", "y"]})  # fmt: skip


def split(table, folder):
    """Write rows into two files, one deeper than the other, and a third that is empty."""
    (folder / "deeper").mkdir(parents=True)
    for name, rows in (("a", slice(0, 2)), ("deeper/b", slice(2, None)), ("c", slice(0, 0))):
        table.iloc[rows].to_parquet(folder / f"{name}.parquet")
    (folder / "_SUCCESS").touch()
    return folder


@pytest.mark.parametrize(
    ("read", "take", "table"),
    [(dx.read_annotations, dx.annotations, LABELS), (dx.read_predictions, dx.predictions, ANSWERS)],
)
def test_the_same_as_of_one_table(read, take, table, tmp_path):
    result = read(split(table, tmp_path / "all"))
    assert result.attrs.pop("format") == "parquet, a folder of files"
    xr.testing.assert_identical(result, take(table))


def test_what_is_no_data_and_columns_nobody_asked_for_are_left_alone(tmp_path):
    folder = split(LABELS, tmp_path / "all")
    for name in ("._a.parquet", "_temporary/a.parquet", ".ipynb_checkpoints/a.parquet"):
        (folder / name).parent.mkdir(exist_ok=True)
        LABELS.to_parquet(folder / name)
    (folder / "folder.parquet").mkdir()
    more = pd.DataFrame({"item": ["z"], "annotator": [1], "label": ["x"], "comment": [3]})
    more.set_index(pd.Index([7])).to_parquet(folder / "Z.PARQUET")
    result = dx.read_annotations(folder)
    assert result.sizes["annotation"] == len(LABELS) + 1
    assert sorted(result["item"].to_numpy()) == ["i", "j", "k", "z"]


def test_whole_numbers_of_several_sizes_are_the_same_items(tmp_path):
    for size in ("int32", "int64"):
        frame = LABELS.assign(item=range(5)).astype({"item": size})
        frame.assign(annotator=size).to_parquet(tmp_path / f"{size}.parquet")
    result = dx.read_annotations(tmp_path)
    assert result["item"].to_numpy().tolist() == list(range(5))
    assert result.sizes["annotation"] == 10


def test_a_bad_row_is_named_with_its_file(tmp_path):
    folder = split(pd.concat([LABELS, LABELS.iloc[[4]]]), tmp_path / "all")
    with pytest.raises(dx.AnnotationError, match=r"all.*deeper.b\.parquet, row 3"):
        dx.read_annotations(folder)


def test_what_cannot_be_put_together_is_refused_in_words(tmp_path):
    folder = split(LABELS, tmp_path / "all")
    LABELS.drop(columns="label").to_parquet(folder / "d.parquet")
    with pytest.raises(
        dx.FormatError, match=r"d\.parquet: expected the columns of a\.parquet; .*label"
    ):
        dx.read_annotations(folder)
    LABELS.assign(item=pd.Timestamp("2026-11-21")).to_parquet(folder / "d.parquet")
    with pytest.raises(dx.FormatError, match=r"d\.parquet: expected columns of the same types"):
        dx.read_annotations(folder)
    (folder / "d.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(dx.FormatError, match=r"d\.parquet: expected a whole Parquet file"):
        dx.read_annotations(folder)
    with pytest.raises(dx.FormatError, match="delimiter: expected None for a folder"):
        dx.read_annotations(folder, delimiter=";")
    with pytest.raises(dx.FormatError, match="expected a file; found a folder"):
        dx.read_annotations(folder, format="wide")


def test_nothing_to_read_is_an_error(tmp_path):
    with pytest.raises(dx.FormatError, match="a folder of Parquet files; found a folder"):
        dx.read_predictions(tmp_path)
    LABELS.iloc[:0].to_parquet(tmp_path / "a.parquet")
    with pytest.raises(dx.FormatError, match="at least one row; found 0 rows"):
        dx.read_annotations(tmp_path)


def test_columns_in_the_names_of_folders_are_pointed_at(tmp_path):
    LABELS.to_parquet(tmp_path / "all", partition_cols=["annotator"])
    with pytest.raises(dx.FormatError, match=r"'annotator'.*the name of the folder 'annotator=1'"):
        dx.read_annotations(tmp_path / "all")
