"""Small studies of a latent truth, with the settings they are fitted with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import dissensus as dx

Item = list[tuple[int, int]]


@dataclass(frozen=True)
class Case:
    """Labels item by item as pairs (annotator, label), answers as pairs (system, label)."""

    model: str
    statements: list[Item]
    answers: list[Item] = field(default_factory=list)
    n_labels: int = 2
    kind: str = "nominal"
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def n_annotators(self) -> int:
        return 1 + max(who for item in self.statements for who, _ in item)

    @property
    def n_systems(self) -> int:
        return 1 + max((who for item in self.answers for who, _ in item), default=-1)

    def get(self, name: str) -> Any:
        """Return a setting, or what it is by default."""
        default = {"accuracy": "common", "errors": "equal", "pooling": "hierarchical",
                   "difficulty": False, "systems": "independent", "evidence": "all",
                   "prior_count": 1.0}  # fmt: skip
        return self.settings.get(name, default[name])

    @property
    def graded(self) -> bool:
        return self.kind == "ordinal" and self.get("errors") != "equal"

    @property
    def cut(self) -> bool:
        """Whether systems teach nothing."""
        return bool(self.n_systems) and self.get("evidence") == "annotators"

    def annotations(self) -> Any:
        rows = [(f"i{i}", f"a{who}", label) for i, item in enumerate(self.statements)
                for who, label in item]  # fmt: skip
        cells = [row[:2] for row in rows]
        table = dict(zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True))
        repeated = len(set(cells)) < len(cells)
        if repeated:
            trial = [cells[:n].count(cell) for n, cell in enumerate(cells)]
        return dx.annotations(
            {**table, **({"trial": trial} if repeated else {})}, kind=self.kind,
            labels=range(self.n_labels), **({"trial": "trial"} if repeated else {}),
        )  # fmt: skip

    def predictions(self) -> Any:
        if not self.n_systems:
            return None
        rows = [(f"i{i}", f"s{who}", label) for i, item in enumerate(self.answers)
                for who, label in item]  # fmt: skip
        table = zip(("item", "system", "label"), zip(*rows, strict=True), strict=True)
        return dx.predictions(dict(table), kind="nominal")

    def fit(self, **run: Any) -> Any:
        module = dx.models.get(self.model).module
        run = {"progressbar": False, "random_seed": 7, **run}
        return module.fit(
            self.annotations(), predictions=self.predictions(), **self.settings, **run
        )

    def build(self) -> Any:
        module = dx.models.get(self.model).module
        return module.build(self.annotations(), predictions=self.predictions(), **self.settings)


# -- Some ----------------------------------------------------------------------------------------

TWO = [
    [(0, 0), (1, 0), (2, 0)], [(0, 0), (1, 0), (2, 0)], [(0, 1), (1, 1), (2, 0)],
    [(0, 1), (2, 1)], [(0, 0), (1, 1)],
]  # fmt: skip
"""Two labels: items with the same labels, and with labels by some only."""
REPEATED = [*TWO[1:], [(1, 1), (1, 1), (1, 0), (2, 1)]]
"""The same with an annotator who labels an item three times."""
TWO_SYSTEMS = [
    [(0, 0), (1, 0)], [(0, 0), (1, 0)], [(0, 1), (1, 1)], [(0, 1), (1, 0)], [(0, 1), (1, 1)]
]  # fmt: skip
ONE_SYSTEM = [item[:1] for item in TWO_SYSTEMS]
THREE = [
    [(0, 0), (1, 0), (2, 0)], [(0, 2), (1, 2)], [(0, 1), (1, 1), (2, 2)], [(0, 1), (2, 1)],
    [(0, 0), (1, 2)],
]  # fmt: skip
"""Three labels."""
ONE_OF_THREE = [[(0, 0)], [(0, 2)], [(0, 1)], [(0, 1)], [(0, 2)]]


def symmetric(labels: Any, answers: Any = (), n_labels: int = 2, **settings: Any) -> Case:
    return _case("symmetric_confusion", labels, answers, n_labels, **settings)


def rows(labels: Any, answers: Any = (), n_labels: int = 2, **settings: Any) -> Case:
    return _case("dawid_skene", labels, answers, n_labels, **settings)


def _case(model: str, labels: Any, answers: Any, n_labels: int, **settings: Any) -> Case:
    kind = settings.pop("kind", "nominal")
    return Case(model, labels, list(answers), n_labels, kind, settings)


SYMMETRIC = {
    "one accuracy": symmetric(TWO, ONE_SYSTEM, prior_count=2.0),
    "no systems, repeated labels": symmetric(REPEATED),
    "one each, related systems": symmetric(
        TWO, TWO_SYSTEMS, accuracy="annotator", systems="related"
    ),
    "graded, difficulty": symmetric(
        THREE, ONE_OF_THREE, 3, kind="ordinal", errors="graded", difficulty=True
    ),
    "difficulty, related systems": symmetric(TWO, TWO_SYSTEMS, difficulty=True, systems="related"),
    "unequal": symmetric(THREE, ONE_OF_THREE, 3, errors="unequal"),
    "unequal around graded, one each": symmetric(
        THREE, ONE_OF_THREE, 3, kind="ordinal", errors="unequal", accuracy="annotator"
    ),
    "unequal, of two labels": symmetric(TWO, ONE_SYSTEM, errors="unequal"),
    "evidence of annotators, difficulty": symmetric(
        TWO, ONE_SYSTEM, evidence="annotators", difficulty=True
    ),
    "evidence of annotators, related systems": symmetric(
        TWO, TWO_SYSTEMS, evidence="annotators", systems="related"
    ),
}
ROWS = {
    "hierarchical": rows(TWO, ONE_SYSTEM),
    "none, difficulty": rows(REPEATED, ONE_SYSTEM, pooling="none", difficulty=True),
    "complete, related systems": rows(TWO, TWO_SYSTEMS, pooling="complete", systems="related"),
    "none, three labels": rows(THREE, ONE_OF_THREE, 3, pooling="none", prior_count=0.5),
    "hierarchical, difficulty, three labels": rows(THREE, ONE_OF_THREE, 3, difficulty=True),
    "hierarchical, difficulty, related systems": rows(
        TWO, TWO_SYSTEMS, difficulty=True, systems="related"
    ),
    "evidence of annotators": rows(TWO, ONE_SYSTEM, evidence="annotators"),
}
