"""Write a reference posterior, if it is good enough to be one."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "posteriors"


@dataclass(frozen=True)
class Quantity:
    """One number of a posterior: of which variable, at which place, and its statistics."""

    variable: str
    at: Mapping[str, Any]
    statistics: Mapping[str, tuple[float, float]]
    """From "mean", "sd", "q05", ... to value and Monte Carlo standard error, 0 if exact."""

    @property
    def name(self) -> str:
        place = ", ".join(f"{dim}={value}" for dim, value in self.at.items())
        return f"{self.variable}[{place}]" if place else self.variable


def spelled(statements: Iterable[str], letter: str = "a") -> list[tuple[Any, ...]]:
    """Return rows of strings, one for each item: a label each, a point where there is none."""
    return [(f"i{i}", f"{letter}{j}", int(y)) for i, given in enumerate(statements)
            for j, y in enumerate(given) if y != "."]  # fmt: skip


def columns(rows: Iterable[tuple[Any, ...]], who: str = "annotator") -> dict[str, list[Any]]:
    """Lay rows (item, who, label) out as columns."""
    return dict(zip(("item", who, "label"), map(list, zip(*rows, strict=True)), strict=True))


def write(
    model: str, form: str, *, question: str, data: Mapping[str, Any], hyper: Mapping[str, Any],
    script: str, method: str, criteria: Mapping[str, Any], quantities: Iterable[Quantity],
    seed: int | None = None, packages: Iterable[str] = ("numpy", "scipy"),
    wrong: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Write one file; refuse where a criterion fails.

    ``wrong``: arguments of `fit`, of which one hyperparameter is 1.3 times too large. The tests
    must detect it. One form of each model has one.
    """
    held = {name: bool(value) for name, value in criteria.items()}
    if not held or not all(held.values()):
        raise SystemExit(f"{model}, {form}: not written, since of {held} not all are true")
    name = Path(script).stem
    content = {
        "model": model, "form": form, "question": question, "data": data, "hyper": hyper,
        **({"wrong": wrong} if wrong else {}),
        "provenance": {
            "script": f"tests/reference/make/{name}.py",
            "command": f"PYTHONPATH=tests uv run python -m reference.make {name}",
            "method": method,
            "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
            "seed": seed,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        },
        "criteria": held,
        "quantities": {
            quantity.name: {
                "variable": quantity.variable, "at": dict(quantity.at),
                **{name: [float(x) for x in pair] for name, pair in quantity.statistics.items()},
            }
            for quantity in quantities
        },
    }  # fmt: skip
    path = FOLDER / f"{model}-{form.replace(',', '').replace(' ', '-')}.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(content, indent=1, allow_nan=False)
    path.write_text(_short(text) + "\n", encoding="utf-8")
    print(f"{path.name}: {len(content['quantities'])} quantities")


def _short(text: str) -> str:
    """Put lists of plain values on one line each: a file that can be read, and compared."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        stripped = line.strip()
        if inside and not stripped.endswith(("[", "{")):
            lines[-1] += stripped + (" " if stripped.endswith(",") else "")
            inside = not stripped.startswith("]")
            if not inside:
                lines[-1] = lines[-1].rstrip()
            continue
        lines.append(line)
        inside = stripped.endswith("[")
    return "\n".join(lines)
