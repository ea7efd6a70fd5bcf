"""Tables of annotations and of predictions: most of them well formed, some as hostile as can be.

A case is a small plan (sizes, a design, a family of names) whose rows are laid out by NumPy, so
that hypothesis shrinks the plan and not the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fuzz.names import HOSTILE, PLAIN, vocabulary
from hypothesis import strategies as st

DESIGNS = (
    "complete", "sparse", "own item each", "two halves", "one annotator", "one item", "one label",
    "an annotator with one label", "alike everywhere", "each item its label", "one row",
)  # fmt: skip
KINDS = ("nominal", "ordinal", "continuous", "ranking")


@dataclass
class Table:
    """Columns as lists, and the keyword arguments by which they are to be read."""

    columns: dict[str, list[Any]]
    options: dict[str, Any] = field(default_factory=dict)


@st.composite
def annotation_tables(draw, kinds=KINDS, hostile=True, people=None, pools=None):
    """Make tables with one row per statement; without ``hostile``, such as can be read.

    ``people`` is the number of annotators, ``pools`` whether they are in pools: None for any.
    """
    kind = draw(st.sampled_from(kinds))
    families = PLAIN + (HOSTILE if hostile and draw(st.integers(0, 2)) == 0 else ())
    design = draw(st.sampled_from(DESIGNS)) if draw(st.booleans()) else "complete"
    sizes = [draw(st.integers(low, high)) for low, high in ((1, 6), (2, 5), (1, 4))]
    sizes[1] = people or sizes[1]
    if design in {"one item", "one row"}:
        sizes[0] = 1
    if design in {"one annotator", "one row"}:
        sizes[1] = 1
    if design in {"one label", "one row"}:
        sizes[2] = 1
    items, people = (draw(vocabulary(n, st.sampled_from(families))) for n in sizes[:2])
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    seen = _pairs(design, len(items), len(people), rng)
    table = Table({"item": [items[i] for i, _ in seen], "annotator": [people[a] for _, a in seen]})
    if kind == "ranking":
        labels = draw(vocabulary(sizes[2] + 1, st.sampled_from(families)))
        _rank(table, seen, labels, rng)
    else:
        answers = _said(design, seen, sizes[2], rng)
        _label(draw, table, kind, answers, sizes[2], families, rng)
    _extras(draw, table, rng, pools)
    if hostile and draw(st.integers(0, 3)) == 0:
        spoil(draw, table, rng)
    return table


def _pairs(design, n_items, n_people, rng):
    """Say who labelled what."""
    every = [(i, a) for i in range(n_items) for a in range(n_people)]
    if design == "own item each":
        return [(i, i % n_people) for i in range(n_items)]
    if design == "two halves":
        return [(i, a) for i, a in every if i % 2 == a % 2] or every
    if design == "sparse":
        kept = [pair for pair in every if rng.random() < 0.5]
        return kept or every[:1]
    return every


def _said(design, seen, n_labels, rng):
    liked = rng.integers(n_labels, size=1 + max(i for i, _ in seen))
    if design == "alike everywhere":
        return [0] * len(seen)
    if design == "each item its label":
        return [i % n_labels for i, _ in seen]
    codes = [int(liked[i]) if rng.random() < 0.6 else int(rng.integers(n_labels)) for i, _ in seen]
    if design == "an annotator with one label":
        codes = [0 if a == 0 else code for (_, a), code in zip(seen, codes, strict=True)]
    return codes


def _label(draw, table, kind, codes, n_labels, families, rng):
    if kind == "nominal":
        labels = draw(vocabulary(n_labels, st.sampled_from(families)))
        table.columns["label"] = [labels[code] for code in codes]
        table.options["kind"] = "nominal"
        if draw(st.booleans()):
            text = all(isinstance(label, str) for label in labels)
            unused = [name for name in ("nobody", "said this") if text and name not in labels]
            table.options["labels"] = labels + unused
    elif kind == "ordinal":
        start, step = draw(st.sampled_from([(0, 1), (1, 1), (-2, 3), (0, 50)]))
        table.columns["label"] = [start + step * code for code in codes]
        table.options["kind"] = draw(st.sampled_from(["ordinal", None]))
        if draw(st.booleans()):
            table.options["labels"] = [start + step * code for code in range(n_labels + 1)]
    else:
        scale = draw(st.sampled_from([1.0, 1.0, 1e-3, 100.0, 0.0, 1e-300, 1e150, 1e300]))
        noise = rng.normal(size=len(codes))
        table.columns["label"] = [
            float((code + part) * scale) for code, part in zip(codes, noise, strict=True)
        ]
        table.options["kind"] = "continuous"


def _rank(table, seen, labels, rng):
    """Give every pair of the design a partial ranking with ties."""
    rows = {"item": [], "annotator": [], "label": [], "rank": []}
    for place in range(len(seen)):
        rank = 1
        for code in rng.permutation(len(labels))[: rng.integers(1, len(labels) + 1)]:
            for name in ("item", "annotator"):
                rows[name].append(table.columns[name][place])
            rows["label"].append(labels[code])
            rows["rank"].append(rank)
            rank += int(rng.random() < 0.6)
    table.columns.update(rows)
    table.options["rank"] = "rank"


def _extras(draw, table, rng, pools):
    """Add the columns that a table may have beside."""
    n = len(table.columns["item"])
    if draw(st.booleans()) if pools is None else pools:
        table.columns["pool"] = ["pq"[k % 2] for k, _ in _numbered(table.columns["annotator"])]
        table.options["pool"] = "pool"
    if draw(st.integers(0, 3)) == 0:
        table.columns["confidence"] = [float(rng.choice([0.0, 0.5, 0.9, 1.0])) for _ in range(n)]
        table.options["confidence"] = "confidence"
    if draw(st.integers(0, 3)) == 0:
        table.columns["cluster"] = [k // 2 for k, _ in _numbered(table.columns["item"])]
        table.options["cluster"] = "cluster"
    if draw(st.integers(0, 5)) == 0:
        table.columns["stratum"] = ["uv"[k % 2] for k, _ in _numbered(table.columns["item"])]
        table.options["stratum"] = "stratum"


def _numbered(names):
    """Number names by first appearance; equal by what they look like, so that any may be one."""
    known: dict[str, int] = {}
    return [(known.setdefault(repr(name), len(known)), name) for name in names]


FAULTS = (
    "missing column", "no rows", "one cell missing", "one cell strange", "row twice",
    "column all missing", "longer column", "wrong name", "strange option", "gap in ranks",
)  # fmt: skip
STRANGE = (
    None, float("nan"), float("inf"), -0.0, "", " ", "\0", "\ud800", b"bytes", [1], {"a": 1},
    10**30,
    1 + 2j, object, True, np.datetime64("NaT", "ns"), "=1+1", "\u202etext", (1, 2),
    np.float32("nan"),
)  # fmt: skip


def spoil(draw, table, rng):
    """Do a table one or two wrongs."""
    for fault in draw(st.lists(st.sampled_from(FAULTS), min_size=1, max_size=2, unique=True)):
        column = draw(st.sampled_from(sorted(table.columns)))
        cells = table.columns[column]
        row = int(rng.integers(len(cells))) if cells else 0
        if fault == "missing column":
            del table.columns[column]
        elif fault == "no rows":
            table.columns = {name: [] for name in table.columns}
        elif fault in {"one cell missing", "one cell strange"} and cells:
            strange = draw(st.sampled_from(STRANGE))
            cells[row] = None if fault == "one cell missing" else strange
        elif fault == "row twice" and cells:
            for values in table.columns.values():
                values.append(values[min(row, len(values) - 1)])
        elif fault == "column all missing":
            table.columns[column] = [None] * len(cells)
        elif fault == "longer column":
            cells.append(cells[-1] if cells else 1)
        elif fault == "wrong name":
            table.options[draw(st.sampled_from(["item", "label", "rank", "pool"]))] = "nowhere"
        elif fault == "gap in ranks" and "rank" in table.columns and cells:
            ranks = table.columns["rank"]
            table.columns["rank"] = [3 * x if isinstance(x, int) else x for x in ranks]
        elif fault == "strange option":
            option = draw(
                st.sampled_from(["kind", "labels", "rank", "confidence", "item", "trial"])
            )
            table.options[option] = draw(st.sampled_from(STRANGE))
        if not table.columns:
            return
