"""Small random studies as plain rows: for brute force by the definitions, and for invariances."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import dissensus as dx

WORDS = ("ash", "bee", "cow", "dog", "elk")


@dataclass(frozen=True)
class Study:
    """Rows (item, annotator, trial, pool, label), and what systems said of each item."""

    rows: list[tuple]
    kind: str
    labels: tuple | None = None
    predicted: dict[tuple, Any] = field(default_factory=dict)
    continuous_predictions: bool = False
    pools: bool = True

    def annotations(self, **more):
        item, annotator, trial, pool, label = zip(*self.rows, strict=True)
        frame = {"item": item, "annotator": annotator, "label": label, "pool": pool}
        roles = {"pool": "pool"} if self.pools else {}
        if len({(row[0], row[1]) for row in self.rows}) < len(self.rows):
            frame["trial"] = trial
            roles["trial"] = "trial"
        return dx.annotations(frame, kind=self.kind, labels=self.labels, **roles, **more)

    def predictions(self):
        names = {row[0] for row in self.rows}
        cells = [(*key, label) for key, label in self.predicted.items() if key[0] in names]
        item, system, label = zip(*cells, strict=True)
        number = self.kind == "continuous" or self.continuous_predictions
        kind = "continuous" if number else "nominal"
        return dx.predictions({"item": item, "system": system, "label": label}, kind=kind)

    def mapped(self, change):
        """Apply a function to every row."""
        return replace(self, rows=[change(*row) for row in self.rows])

    def relabelled(self, new):
        """Rename labels, in the annotations, the label space and the predictions."""
        return replace(
            self,
            rows=[(*row[:4], new[row[4]]) for row in self.rows],
            labels=None if self.labels is None else tuple(new[label] for label in self.labels),
            predicted={key: new.get(label, label) for key, label in self.predicted.items()},
        )

    def scored(self, seed):
        """Let systems give scores instead of labels."""
        rng = np.random.default_rng([seed, 99])
        scores = {key: round(float(rng.random()), 3) for key in self.predicted}
        return replace(self, predicted=scores, continuous_predictions=True)

    def repeated(self, times):
        """Repeat items under new names, or leave them out, from a mapping of item to number."""
        copies = [(item, n) for item, number in times.items() for n in range(number)]
        rows = [
            (f"{item}/{n}", *row[1:]) for item, n in copies for row in self.rows if row[0] == item
        ]
        predicted = {
            (f"{item}/{n}", system): label
            for item, n in copies
            for (other, system), label in self.predicted.items()
            if other == item
        }
        return replace(self, rows=rows, predicted=predicted)

    def labels_by_item(self, pool=None):
        """Return item -> annotator -> labels."""
        out: dict = {item: {} for item in dict.fromkeys(row[0] for row in self.rows)}
        for item, annotator, _, of, label in self.rows:
            if pool is None or of == pool:
                out[item].setdefault(annotator, []).append(label)
        return out


def study(
    seed, kind="nominal", n_items=6, n_annotators=5, n_labels=3, missing=0.3, trials=False,
    single=True,
):  # fmt: skip
    """Make a random study whose annotators agree somewhat; the first items have enough labels.

    With ``single=False`` every item has two labels in either pool.
    """
    rng = np.random.default_rng([seed, n_items, n_annotators, n_labels])
    space: Any = {
        "nominal": WORDS[:n_labels],
        "ordinal": tuple(range(1, n_labels + 1)),
        "continuous": None,
    }[kind]
    rows = []
    for i in range(n_items):
        liked = rng.integers(n_labels)
        for r in range(n_annotators):
            sure = i < 2 or (not single and r < 4)
            if not sure and rng.random() < missing:
                continue
            for trial in range(rng.integers(1, 4) if trials else 1):
                label = _label(rng, kind, space, liked)
                rows.append((f"i{i}", f"r{r}", trial, "xy"[r % 2], label))
    order = rng.permutation(len(rows))
    items = [f"i{i}" for i in range(n_items)]
    predicted = {(i, s): _label(rng, kind, space, rng.integers(n_labels))
                 for i in items for s in "st"}  # fmt: skip
    return Study([rows[o] for o in order], kind, space, predicted)


def _label(rng, kind, space, liked):
    if kind == "continuous":
        return round(float(rng.gamma(2.0 + liked)), 3)
    return space[liked] if rng.random() < 0.4 else space[rng.integers(len(space))]


def psi(first, second, distance):
    """Mean distance over all pairs of labels (Lovchinsky et al. 2020, Eq. 1)."""
    return float(np.mean([distance(a, b) for a in first for b in second]))


def nominal(a, b):
    return float(a != b)


def squared(a, b):
    return float((a - b) ** 2)


def absolute(a, b):
    return float(abs(a - b))


def ratio(a, b):
    return 0.0 if a == b else float(((a - b) / (a + b)) ** 2)


def alpha_by_definition(by_item, distance):
    """Krippendorff's alpha over all pairs, one by one: from item -> annotator -> labels."""
    units = [list(by.values()) for by in by_item.values() if len(by) >= 2]
    everything = [labels for unit in units for labels in unit]
    n = len(everything)
    observed = sum(
        psi(unit[r], unit[s], distance) / (len(unit) - 1)
        for unit in units
        for r in range(len(unit))
        for s in range(len(unit))
        if r != s
    )
    expected = sum(
        psi(everything[r], everything[s], distance) for r in range(n) for s in range(n) if r != s
    )
    return 1.0 - (observed / n) / (expected / (n * (n - 1)))


def ordinal_distance(by_item):
    """Krippendorff's ordinal metric: labels given between two, the ends counted half, squared."""
    amount: dict = {}
    for by in by_item.values():
        for labels in by.values() if len(by) >= 2 else ():
            for label in labels:
                amount[label] = amount.get(label, 0.0) + 1.0 / len(labels)

    def distance(a, b):
        low, high = min(a, b), max(a, b)
        between = sum(n for label, n in amount.items() if low <= label <= high)
        return float((between - (amount[low] + amount[high]) / 2.0) ** 2)

    return distance
