"""Whatever stands in a file, it is read right or refused in words that name the file."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from fuzz.data import prediction_tables
from fuzz.exports import label_studio, prodigy
from fuzz.judging import judged
from fuzz.profile import cases
from fuzz.settings_of import settings_of
from fuzz.strategies import annotation_tables
from hypothesis import given
from hypothesis import strategies as st

import dissensus as dx

ENDINGS = (".csv", ".tsv", ".parquet", ".json", ".jsonl", ".csv.gz", ".ndjson", ".json.gz", ".CSV")
READERS = {"annotations": dx.read_annotations, "predictions": dx.read_predictions}
TEXT_HARMS = (
    "none", "latin-1", "utf-16", "utf-16 without BOM", "BOM", "NUL", "open quote",
    "mixed line ends",
    "long field", "blank lines", "no newline at the end", "doubled header", "ragged", "semicolons",
)  # fmt: skip
BYTE_HARMS = ("none", "cut", "flip", "flips", "insert", "zeros", "twice", "empty", "head only")


def written(columns: dict, ending: str) -> bytes:
    """Write a table as bytes; what has no place in such a file is written as text."""
    frame = pd.DataFrame({name: [_cell(cell) for cell in cells] for name, cells in columns.items()})
    kind = ending.removesuffix(".gz").lower()
    if kind in {".csv", ".tsv"}:
        data = frame.to_csv(index=False, sep="," if kind == ".csv" else "\t").encode()
    elif kind == ".parquet":
        out = io.BytesIO()
        frame.to_parquet(out)
        data = out.getvalue()
    else:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        lines = [json.dumps(row, default=str) for row in rows]
        data = (f"[{','.join(lines)}]" if kind == ".json" else "\n".join(lines)).encode()
    return gzip.compress(data, mtime=0) if ending.endswith(".gz") else data


def _cell(cell):
    return (
        cell
        if cell is None or (isinstance(cell, int | float | str) and _small(cell))
        else str(cell)
    )


def _small(cell):
    return not isinstance(cell, int) or abs(cell) < 2**63


def harmed_text(data: bytes, how: str, place: float) -> bytes:
    """Do a file of text a wrong."""
    at = int(place * len(data))
    text = data.decode()
    ways = {
        "latin-1": lambda: text.replace("n0", "é").encode("latin-1", "replace"),
        "utf-16": lambda: text.encode("utf-16"),
        "utf-16 without BOM": lambda: text.encode("utf-16-le"),
        "BOM": lambda: b"\xef\xbb\xbf" + data,
        "NUL": lambda: data[:at] + b"\0" + data[at:],
        "open quote": lambda: data[:at] + b'"' + data[at:],
        "mixed line ends": lambda: data.replace(b"\n", b"\r\n", 1).replace(b"\n", b"\r", 3),
        "long field": lambda: data.replace(b"n0", b"x" * 200_000, 1),
        "blank lines": lambda: data.replace(b"\n", b"\n\n"),
        "no newline at the end": lambda: data.rstrip(b"\n"),
        "doubled header": lambda: data.replace(b"annotator", b"item", 1),
        "ragged": lambda: data[:at] + b"," + data[at:],
        "semicolons": lambda: data.replace(b",", b";"),
    }
    return ways[how]() if how in ways else data


def harmed_bytes(data: bytes, how: str, rng: np.random.Generator) -> bytes:
    """Do any file a wrong."""
    at = int(rng.integers(len(data)))
    if how in {"flip", "flips"}:
        out = bytearray(data)
        for spot in rng.integers(len(data), size=1 if how == "flip" else 20):
            out[spot] ^= 1 << int(rng.integers(8))
        return bytes(out)
    return {
        "cut": data[:at], "insert": data[:at] + rng.bytes(8) + data[at:], "empty": b"",
        "zeros": data[:at] + bytes(len(data) - at), "twice": data + data, "head only": data[:20],
    }.get(how, data)  # fmt: skip


def read(name: str, data: bytes, table: str = "annotations", **settings):
    """Judge the reading of some bytes under a name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        return judged(f"read_{table} {''.join(path.suffixes)}", READERS[table], path, **settings)


@st.composite
def tables(draw, kind):
    """Make tables of annotations or of predictions."""
    hostile = draw(st.booleans())
    return draw(
        prediction_tables() if kind == "predictions" else annotation_tables(hostile=hostile)
    )


@pytest.mark.parametrize("kind", sorted(READERS))
@pytest.mark.parametrize("ending", ENDINGS)
@cases(4, 350)
@given(data=st.data())
def test_a_file_of_a_table_is_read_or_refused(ending, kind, data):
    table = data.draw(tables(kind))
    if not table.columns or len({len(cells) for cells in table.columns.values()}) > 1:
        return
    try:
        content = written(table.columns, ending)
    except (ValueError, OverflowError, pa.ArrowException):  # no such file can hold it
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 2**20)))
    if not content.startswith((b"PAR1", b"\x1f")):
        how = data.draw(st.sampled_from(TEXT_HARMS))
        content = harmed_text(content, how, data.draw(st.floats(0, 1)))
    if content and data.draw(st.booleans()):
        content = harmed_bytes(content, data.draw(st.sampled_from(BYTE_HARMS)), rng)
    settings = table.options | data.draw(settings_of(READERS[kind], often=7, but={"format"}))
    answer = read(f"table{ending}", content, kind, **settings)
    if not answer.refused:
        dx.validate(answer.value)


@cases(8, 1500)
@given(
    st.sampled_from(ENDINGS),
    st.one_of(
        st.binary(max_size=80),
        st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace")),
    ),
    st.sampled_from(sorted(READERS)),
    st.sampled_from([None, *dx.formats.names()]),
)
def test_bytes_of_any_kind_are_read_or_refused(ending, content, kind, form):
    read(f"table{ending}", content, kind, format=form)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["item", "annotator", "label", "system", "id", "annotations", "result",
                             "value", "choices", "data", "answer", "text", "completed_by"]),
            inner, max_size=5,
        ),
    ),
    max_leaves=20,
)  # fmt: skip


@cases(8, 2000)
@given(JSON, st.sampled_from([".json", ".jsonl"]), st.sampled_from(sorted(READERS)),
       st.sampled_from([None, *dx.formats.names()]))  # fmt: skip
def test_json_of_any_shape_is_read_or_refused(value, ending, kind, form):
    read(f"export{ending}", json.dumps(value).encode(), kind, format=form)


@pytest.mark.parametrize("form", ["label-studio", "prodigy"])
@cases(8, 1500)
@given(data=st.data())
def test_an_export_is_read_or_refused(form, data):
    export = data.draw({"label-studio": label_studio, "prodigy": prodigy}[form]())
    kind = data.draw(
        st.sampled_from(sorted(READERS if form == "label-studio" else ["annotations"]))
    )
    lines = "\n".join(map(json.dumps, export)) if form == "prodigy" else json.dumps(export)
    ending = ".jsonl" if form == "prodigy" else ".json"
    settings = data.draw(settings_of(READERS[kind], often=9, but={"format"}))
    answer = read(f"{form}{ending}", lines.encode(), kind, format=form, **settings)
    if not answer.refused:
        dx.validate(answer.value)
