"""Bytes and text: encodings, packing, damage."""

from __future__ import annotations

import gzip
import os

import pytest

import dissensus as dx

LONG = "item,annotator,label\ncafé,ann,naïve\ncafé,bob,x\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf8_with_and_without_a_mark(encoding, file):
    ann = dx.read_annotations(file("a.csv", LONG.encode(encoding)))
    assert ann["item"].values.tolist() == ["café"]
    assert ann["label"].values.tolist() == ["naïve", "x"]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le"])
def test_other_encodings_by_name(encoding, file):
    path = file("a.csv", LONG.encode(encoding))
    ann = dx.read_annotations(path, encoding=encoding)
    assert ann["label"].values.tolist() == ["naïve", "x"]


def test_bytes_that_are_no_text_are_located_and_an_encoding_suggested(file):
    data = LONG.encode("cp1252")
    with pytest.raises(dx.FormatError) as caught:
        dx.read_annotations(file("a.csv", data))
    message = str(caught.value)
    assert f"the byte 0xe9 at offset {data.index(b'\xe9')}" in message
    assert "a.csv, line 2: expected text in utf-8" in message
    assert "encoding='cp1252'" in message


def test_utf16_is_suggested_by_its_mark(file):
    with pytest.raises(dx.FormatError, match="encoding='utf-16', as its first two bytes say"):
        dx.read_annotations(file("a.csv", LONG.encode("utf-16")))


def test_unknown_encoding(file):
    with pytest.raises(
        dx.FormatError, match=r"encoding: expected the name of an encoding in Python.*'utf-9'"
    ):
        dx.read_annotations(file("a.csv", LONG), encoding="utf-9")


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl"])
def test_nul_characters_are_located(name, file):
    with pytest.raises(
        dx.FormatError, match=r"line 2: expected text; found a NUL character at offset 9.*utf-16"
    ):
        dx.read_annotations(file(name, b'[\n"item,a\0n"]'))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_packed_text(ending, file):
    text = LONG if ending == "csv" else '{"item": 1, "annotator": 2, "label": "x"}\n'
    ann = dx.read_annotations(file(f"a.{ending}.gz", gzip.compress(text.encode())))
    assert ann.attrs["format"] == ending


@pytest.mark.parametrize("cut", [5, 30])
def test_damaged_packing_is_named(cut, file):
    data = gzip.compress(LONG.encode())[:cut]
    with pytest.raises(dx.FormatError, match=r"a.csv.gz: expected a whole gzip file; found damage"):
        dx.read_annotations(file("a.csv.gz", data))
    with pytest.raises(dx.FormatError, match="expected a whole gzip file"):
        dx.read_annotations(file("a.csv.gz", b"item,annotator"))


def test_links_to_nothing_pipes_and_odd_paths_are_refused(tmp_path):
    loop, other, pipe = (tmp_path / name for name in ("loop.csv", "other.csv", "pipe.csv"))
    loop.symlink_to(other)
    other.symlink_to(loop)
    os.mkfifo(pipe)
    for path, message in [
        (loop, "a link to a missing file, or to itself"),
        (pipe, "a pipe or a device"),
        (tmp_path / ("n" * 300 + ".csv"), "File name too long"),
        ("nul\0.csv", "a NUL character"),
    ]:
        with pytest.raises(dx.FormatError, match=message):
            dx.read_annotations(path)


def test_a_file_that_may_not_be_read_is_refused(file, monkeypatch):
    path = file("a.csv", LONG)

    def forbidden(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", forbidden)
    with pytest.raises(dx.FormatError, match=r"a.csv: expected a file that may be read; .*denied"):
        dx.read_annotations(path)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.csv.gz"])
def test_a_line_without_an_end_is_refused(name, file, monkeypatch):
    monkeypatch.setattr("dissensus.data.formats._text.LONGEST_LINE", 1000)
    data = b"item,annotator,label\n" + b"x" * 1001
    path = file(name, gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(dx.FormatError, match=r"line 2: expected lines of at most 1,000 bytes"):
        dx.read_annotations(path)


def test_a_long_file_of_short_lines_is_read(file, monkeypatch):
    monkeypatch.setattr("dissensus.data.formats._text.LONGEST_LINE", 30)
    for end in ("\n", "\r\n", "\r"):
        rows = "".join(f"{k},ann,x{end}" for k in range(50))
        path = file("a.csv", f"item,annotator,label{end}{rows}")
        assert dx.read_annotations(path).sizes["item"] == 50


def test_half_of_a_surrogate_pair_is_located(file):
    path = file("a.csv", b"item,annotator,label\n1,a,+2AA-\n")
    with pytest.raises(dx.FormatError, match="line 2: expected text; found half of a surrogate"):
        dx.read_annotations(path, encoding="utf-7")
