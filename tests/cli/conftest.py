"""Small files of annotations and predictions."""

from __future__ import annotations

import csv

import pytest


def write(path, rows, header):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture
def files(tmp_path):
    rows = [
        (f"i{i}", who, "xy"[(i + (who == "cat")) % 2])
        for i in range(9)
        for who in ("ann", "bob", "cat")
    ]
    ann = write(tmp_path / "a.csv", rows, ("item", "annotator", "label"))
    rows = [(f"i{i}", system, "xy"[i % 2]) for i in range(9) for system in ("s", "t")]
    return ann, write(tmp_path / "p.csv", rows, ("item", "system", "label"))
