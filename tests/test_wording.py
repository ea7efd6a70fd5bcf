"""How numbers and names are written, in results and in the code."""

from __future__ import annotations

import ast
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus import wording

ROOT = Path(__file__).resolve().parents[1]
VAGUE = {"what", "found", "one", "it", "asked", "said", "voice", "voices", "doubt", "doubts"}
"""Names that do not say what they hold. Error classes have the argument ``found``."""


def bound(path):
    """Return the names that a file gives to functions, classes, parameters and variables."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg) and node.arg != "found":
            names.add(node.arg)
    return names


def test_names_in_the_code_say_what_they_hold():
    files = [*(ROOT / "models").glob("*.py"), *(ROOT / "src" / "dissensus").rglob("*.py")]
    assert len(files) > 300
    vague = {str(path.relative_to(ROOT)): bound(path) & VAGUE for path in files}
    assert not {path: names for path, names in vague.items() if names}


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(max_size=60), max_size=6), st.integers(4, 40))
def test_short_names_are_safe_short_and_distinct(names, width):
    result = wording.short_names(names, width)
    assert len(set(result)) == len(names)
    assert all(len(name) <= width + 4 for name in result)
    assert not any(unicodedata.category(x) in {"Cc", "Cs"} for name in result for x in name)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, ".00"), (0.996, "1.00"), (1.5, "1.50"), (-0.001, ".00"), (float("inf"), "n/a")],
)
def test_shares(value, written):
    assert wording.share(value) == written


def test_numbers_keep_their_sign():
    assert wording.number(-0.25) == wording.MINUS + ".25"
    assert wording.share(-0.25) == wording.MINUS + ".25"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("top_3_accuracy", "top-3 accuracy"),
        ("annotation_certainty", "annotation certainty"),
        ("kendall_tau", "Kendall's tau"),
        ("my_own_metric", "my own metric"),
    ],
)
def test_metric_titles(name, title):
    assert wording.metric_title(name) == title
