"""Files of other tools with an odd value in some place are read, or refused by name."""

from __future__ import annotations

import copy
import json
import warnings

import pytest
from files_of_tools import FILES

import dissensus as dx
from dissensus.data import formats

ODD = [None, "", 0, {"id": 1}, "1,2", float("nan")]
OPTIONS = {"judge-bench": {"label": "grammaticality"}}


def places(value, path=()):
    """Yield the path of every value within a value; of a list, only those of the last entry."""
    yield path
    parts = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list) and value:
        parts = [(len(value) - 1, value[-1])]
    for key, part in parts:
        if not str(key).startswith("conversation_"):
            yield from places(part, (*path, key))


def spoiled(content, path, odd):
    """Return a copy with an odd value in one place."""
    if not path:
        return odd
    out = copy.deepcopy(content)
    inner = out
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    return out


def check(path, name, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dx.DissensusWarning)
        try:
            getattr(dx, f"read_{kind}")(path, format=name, **OPTIONS.get(name, {}))
        except dx.DissensusError as problem:
            assert path.name in str(problem) or "=" in str(problem), problem


def parsed(name):
    """Return the contents of a file as JSON; of a table, its records."""
    _, content = FILES[name]
    if isinstance(content, str) and name != "inspect-ai":
        return [json.loads(line) for line in content.splitlines()]
    return content


CASES = [(known.name, kind) for known in formats.FORMATS if known.name in FILES
         for kind in known.reads]  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_file_is_read(name, kind, file):
    read = getattr(dx, f"read_{kind}")
    data = read(file(*FILES[name]), format=name, **OPTIONS.get(name, {}))
    assert data.attrs["format"] == name


@pytest.mark.unit(0, long=2)
@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case[0] != "inspect-ai"])
def test_odd_values_are_read_or_refused(name, kind, file):
    content = parsed(name)
    ending = ".jsonl" if name == "lm-eval" else ".json"
    for path in places(content):
        for odd in ODD:
            harmed = spoiled(content, path, odd)
            if ending == ".jsonl" and isinstance(harmed, list):
                harmed = "\n".join(map(json.dumps, harmed))
            check(file(f"a{ending}", harmed), name, kind)


@pytest.mark.unit(0, long=1)
@pytest.mark.parametrize("kind", ["annotations", "predictions"])
def test_odd_cells_are_read_or_refused(kind, file):
    rows = [row.split(",") for row in FILES["inspect-ai"][1].splitlines()]
    for number in (0, len(rows) - 1):
        for column in range(len(rows[0])):
            for odd in ("", "0", "nan", '"{}"', "score_"):
                harmed = copy.deepcopy(rows)
                harmed[number][column] = odd
                text = "\n".join(map(",".join, harmed))
                check(file("a.csv", text + "\n"), "inspect-ai", kind)
