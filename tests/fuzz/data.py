"""What the functions behind the tables are given: annotations and predictions that were read."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from fuzz.judging import TALLY
from fuzz.names import PLAIN, vocabulary
from fuzz.strategies import KINDS, Table, annotation_tables, spoil
from hypothesis import strategies as st

import dissensus as dx

NOT_DATA = (
    None, "annotations", 5, [], {}, np.zeros((2, 2)), xr.Dataset(), xr.DataTree(),
    xr.DataArray([1.0], dims="item"),
)  # fmt: skip
"""What somebody may give in place of annotations, predictions or a fit."""


@st.composite
def annotation_sets(draw, kinds=KINDS, people=None, pools=None, silent=True):
    """Make annotations that were read from well-formed tables, of any design."""
    if kinds == ("pair",):
        return draw(_votes())
    table = draw(annotation_tables(kinds=kinds, hostile=False, people=people, pools=pools))
    ann = dx.annotations(table.columns, **table.options)
    if silent and not {"cluster", "stratum"} & set(ann.coords) and draw(st.integers(0, 7)) == 0:
        ann = _with_silent(ann)  # names without a row, as files with empty cells leave them
    return ann


@st.composite
def _votes(draw):
    """Make votes on pairs, of any design."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    n, n_systems = draw(st.integers(1, 30)), draw(st.integers(2, 5))
    names = np.array(draw(vocabulary(n_systems, st.sampled_from(PLAIN))))
    left = rng.integers(0, n_systems, n)
    right = (left + rng.integers(1, n_systems, n)) % n_systems
    labels = rng.choice(["left", "right", "tie"][: draw(st.integers(1, 3))], n)
    table = {"l": names[left], "r": names[right], "won": labels,
             "who": rng.integers(0, draw(st.integers(1, 4)), n),
             "what": rng.integers(0, draw(st.integers(1, 4)), n)}  # fmt: skip
    more = {"annotator": draw(st.sampled_from([None, "who"])),
            "item": draw(st.sampled_from([None, "what"]))}  # fmt: skip
    return dx.pairs(table, "l", "r", "won", **more)


@st.composite
def verdicts(draw, votes):
    """Make verdicts of judges on all pairs of answers that have votes, in most cases."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    system = votes["system"].to_numpy()
    table = {"l": system[votes["left_code"]], "r": system[votes["right_code"]]}
    if "item" in votes.coords:
        table["what"] = votes["item"].to_numpy()[votes["item_code"]]
    n, n_judges = votes.sizes["vote"], draw(st.integers(1, 2))
    cut = draw(st.integers(0, 9))
    kept = np.arange(n)[: max(1, n // 2)] if cut == 0 else np.arange(n)
    if cut == 1:
        table["l"] = np.full(n, "one more")
    rows = np.tile(kept, n_judges)
    columns = {name: values[rows] for name, values in table.items()}
    columns["who"] = np.repeat(["judge", "other"][:n_judges], len(kept))
    columns["won"] = rng.choice(["left", "right", "tie"][: draw(st.integers(1, 3))], len(rows))
    return dx.pairs(columns, "l", "r", "won", annotator="who",
                    item="what" if "what" in table else None)  # fmt: skip


def _with_silent(ann):
    from dissensus.data.nested import with_silent

    more = [_another(ann[dim].to_numpy()) for dim in ("item", "annotator")]
    return with_silent(ann, *more)


def _another(names):
    new = "nobody" if names.dtype.kind in "UO" else names.max() + 1
    return [*names.tolist(), new if isinstance(new, str) else new.item()]


@st.composite
def prediction_sets(draw, ann, forms=("labels", "ranks", "scores", "numbers")):
    """Make predictions about annotations: of all their items in most cases."""
    form = draw(st.sampled_from(forms))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    items = ann["item"].to_numpy().tolist()
    cut = draw(st.integers(0, 9))
    if cut == 0:
        items = items[: max(1, len(items) // 2)]
    elif cut == 1:
        items = [f"other {place}" for place in range(2)]
    elif cut == 2 and isinstance(items[0], str):
        items = [*items, "one more"]
    labels = ann["label"].to_numpy().tolist() if "label" in ann.coords else [0.5, 1.5, 2.5]
    if draw(st.integers(0, 9)) == 0 and isinstance(labels[0], str):
        labels = [*labels, "never heard of"]
    systems = ["s", "t", "u"][: draw(st.integers(1, 3))]
    columns = rows_of(form, items, systems, labels, rng)
    key = {"ranks": {"rank": "key"}, "scores": {"score": "key"}}.get(form, {})
    kind = {
        "labels": "nominal" if isinstance(labels[0], str) else None,
        "numbers": "continuous",
        "sets": "set",
    }
    return dx.predictions(columns, kind=kind.get(form), **key)


def rows_of(form: str, items: list, systems: list, labels: list, rng: Any) -> dict[str, list]:
    """Return the columns of a table of predictions."""
    rows = []
    for item in items:
        for system in systems:
            if form == "labels":
                rows.append((item, system, labels[rng.integers(len(labels))], 0))
            elif form == "numbers":
                rows.append((item, system, float(rng.choice([0.0, 0.5, 1.0, rng.normal()])), 0))
            else:
                rows += _list(form, item, system, labels, rng)
    return dict(
        zip(("item", "system", "label", "key"), map(list, zip(*rows, strict=True)), strict=True)
    )


def _list(form, item, system, labels, rng):
    order = [labels[code] for code in rng.permutation(len(labels))[: rng.integers(1, 5)]]
    if form == "scores":
        return [(item, system, label, float(rng.choice([-0.0, 0.0, 0.5, 1.0]))) for label in order]
    ranks = np.cumsum(np.r_[1, rng.integers(0, 2, size=len(order) - 1)]).tolist()
    return [(item, system, label, rank) for label, rank in zip(order, ranks, strict=True)]


def counted(area: str, outcome: str) -> None:
    """Count a case that is not one call."""
    TALLY[area, outcome] += 1


@st.composite
def prediction_tables(draw):
    """Make tables of predictions, from scores with ties, ranks or single labels; some spoilt."""
    ann = draw(annotation_sets())
    form = draw(st.sampled_from(["labels", "ranks", "scores", "numbers"]))
    labels = ann["label"].to_numpy().tolist() if "label" in ann.coords else [0.5, 1.5]
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    columns = rows_of(form, ann["item"].to_numpy().tolist(), ["s", "t"], labels, rng)
    key = {"ranks": {"rank": "key"}, "scores": {"score": "key"}}.get(form, {})
    table = Table(columns, key)
    if draw(st.integers(0, 2)) == 0:
        spoil(draw, table, rng)
    for name in ("pool", "confidence", "labels", "trial"):  # of annotations
        table.options.pop(name, None)
    return table
