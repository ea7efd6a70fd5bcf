"""What a full calibration found, form by form, in files that know what they rest on.

They lie in the git-ignored ``calibration/``. A file is stale once a source of a sampler, or of the
harness, says something else than when it was made; comments and docstrings do not count.
"""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import time
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from calibration.harness import Floats

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "calibration"
_SOURCES: Final = (
    "models/*.py", "src/dissensus/kernels/*.py", "src/dissensus/families/**/*.py",
    "src/dissensus/sampling/*.py", "src/dissensus/data/plausibility.py",
    "tests/calibration/harness.py", "tests/calibration/*simulators.py",
    "tests/calibration/truth_*.py", "tests/calibration/as_written.py",
    "tests/calibration/forms.py", "tests/calibration/designs.py",
)  # fmt: skip


class Record(NamedTuple):
    """The places of the truth in one form, and how they were found."""

    name: str
    studies: int
    draws: int
    places: Mapping[str, Floats]
    minutes: float
    date: str
    commit: str
    versions: Mapping[str, str]
    sources: str

    @property
    def stale(self) -> bool:
        """Whether a source has changed since."""
        return self.sources != sources()


def file_of(name: str) -> Path:
    """Return the file of a form."""
    words = "".join(x if x.isalnum() or x in "_." else " " for x in name).split()
    return FOLDER / f"{'-'.join(words)}.json"


@cache
def sources() -> str:
    """Return a hash of what draws and what judges, without comments and docstrings."""
    out = hashlib.sha256()
    for pattern in _SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            out.update(path.name.encode() + _bare(path.read_text(encoding="utf-8")).encode())
    return out.hexdigest()[:16]


def _bare(text: str) -> str:
    """Return a module's code without docstrings, and without where it stands."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [
                child for child in body
                if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant))
            ]  # fmt: skip
    return ast.dump(tree)


def save(name: str, studies: int, draws: int, places: Mapping[str, Floats], seconds: float) -> None:
    """Write what was found of a form."""
    labels: dict[str, Any] = {
        "name": name, "studies": studies, "draws": draws, "minutes": round(seconds / 60, 2),
        "date": time.strftime("%Y-%m-%d"), "commit": _commit(), "sources": sources(),
        "versions": {tool: version(tool) for tool in ("dissensus", "pymc", "numpy", "numba")},
        "places": {q: np.round(x, 6).tolist() for q, x in places.items()},
    }  # fmt: skip
    FOLDER.mkdir(exist_ok=True)
    part = file_of(name).with_suffix(".part")
    part.write_text(json.dumps(labels), encoding="utf-8")
    part.replace(file_of(name))


def read(name: str) -> Record | None:
    """Return what was found of a form, or None."""
    if not file_of(name).exists():
        return None
    content = json.loads(file_of(name).read_text(encoding="utf-8"))
    content["places"] = {question: np.array(x) for question, x in content["places"].items()}
    return Record(**content)


def _commit() -> str:
    """Name the commit, with a word on what has been changed since."""
    head, changed = (
        subprocess.run(
            ["git", "--no-optional-locks", "-C", str(ROOT), *command],
            capture_output=True, text=True, check=False,
        ).stdout.strip()
        for command in (["rev-parse", "--short", "HEAD"],
                        ["status", "--porcelain", "--", "src", "models"])
    )  # fmt: skip
    return (head or "unknown") + (" and changes not committed" if changed else "")
