"""The house in numbers: files and lines, who imports whom, and how many rooms a call goes through.

``make house`` prints them beside the bars that docs/decisions/0018 sets. Numbers are counted, not
timed, so that they are the same on every machine.
"""

from __future__ import annotations

import ast
import statistics
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "dissensus"


def modules() -> dict[str, Path]:
    """Return all modules of the library by name."""
    paths = [path for path in PACKAGE.rglob("*.py") if path.parts[-2] != "models"]
    named = {
        path: ("dissensus", *path.relative_to(PACKAGE).with_suffix("").parts) for path in paths
    }
    for path in (ROOT / "models").glob("*.py"):
        named[path] = ("dissensus", "models", path.stem)
    return {".".join(name).removesuffix(".__init__"): path for path, name in named.items()}


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """Return which of the known modules a file imports."""
    out = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                out.add(full if full in known else node.module)
    return out & set(known)


def lines(*folders: str) -> dict[Path, int]:
    """Return the number of lines of each Python file."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return {
        path: len(path.read_text().splitlines())
        for path in paths
        if "dissensus/models" not in str(path)
    }


def entered(known: dict[str, Path]) -> set[str]:
    """Return files of public names that the stub does not list.

    They are models, what models and packages pass on (`import em as em`), step methods, commands,
    formats of files (`format=`), and what is imported by its full name as text.
    """
    out = {
        name for name in known
        if name.startswith(("dissensus.models.", "dissensus.cli.", "dissensus.data.formats."))
        or name.endswith(".step")
    }  # fmt: skip
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and node.value in known:
                out.add(node.value)
            elif isinstance(node, ast.ImportFrom) and any(x.asname == x.name for x in node.names):
                out.add(f"{name}.{node.module}" if node.level else node.module or "")
    return out & set(known)


def arrangement() -> dict[str, Any]:
    """Return what can be counted without running anything."""
    known = modules()
    entrances = entered(known)
    public = (PACKAGE / "__init__.pyi").read_text()
    arrows = {name: imported(path, known) - {name} for name, path in known.items()}
    importers = Counter(to for targets in arrows.values() for to in targets)
    plain = [
        name for name, path in known.items()
        if path.stem != "__init__" and f"from {name.removeprefix('dissensus')} import" not in public
        and name not in entrances
    ]  # fmt: skip
    alone = [name for name in plain if importers[name] == 1]
    sizes = lines("src", "models")
    rooms = [path.parent for path in PACKAGE.glob("*/__init__.py") if not path.parent.is_symlink()]
    tests = lines("tests")
    return {
        "packages at the root": len(rooms),
        "files at the root": sum(path.is_file() for path in PACKAGE.iterdir()),
        "files": len(sizes),
        "lines of src and models": sum(sizes.values()),
        "lines a file, median": statistics.median(sizes.values()),
        "files over 600 lines": sum(size > 600 for size in sizes.values()),
        "arrows": sum(map(len, arrows.values())),
        "imported by one other only, %": round(100 * len(alone) / len(plain), 1),
        "files of tests": len(tests),
        "lines of tests": sum(tests.values()),
    }


class Walk:
    """What a call goes through: functions, files, and how often the file changes."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.functions: set[tuple[str, str]] = set()
        self.changes = 0
        self.checks = 0
        self._last = ""

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        """Note a call."""
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith((str(PACKAGE), str(ROOT / "models"))):
            return
        self.files.add(name)
        self.functions.add((name, frame.f_code.co_qualname))
        if threading.current_thread() is threading.main_thread():  # chains go to and fro in others
            self.changes += self._last != name
            self._last = name
        self.checks += frame.f_code.co_name == "check_form"


class Frames:
    """How many of the library's frames lie between a fit and the first sweep of its kernel."""

    def __init__(self) -> None:
        self.found: int | None = None

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        """Note the stack at the first sweep."""
        if self.found is None and event == "call" and frame.f_code.co_name == "advance":
            here = [frame]
            if threading.current_thread() is not threading.main_thread():  # which waits for chains
                here.append(sys._current_frames()[threading.main_thread().ident or 0])
            self.found = sum(map(self._below, here))

    def _below(self, frame: Any) -> int:
        """Count the library's frames of a stack, up to the fit."""
        result = 0
        while frame is not None and frame.f_code.co_name != "fit":
            result += frame.f_code.co_filename.startswith((str(PACKAGE), str(ROOT / "models")))
            frame = frame.f_back
        return result


def traced(hook: Any, call: Any) -> Any:
    """Return a hook after a call under it."""
    sys.setprofile(hook)
    threading.setprofile(hook)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return hook


def walks() -> dict[str, Any]:
    """Return what is counted by running an evaluation of 30 items, and a fit."""
    import dissensus as dx

    toy = dx.simulate.study(30, 5, 3, kind="nominal", random_seed=1)
    quick: dict[str, Any] = {"draws": 20, "random_seed": 1, "progressbar": False}

    def evaluate() -> None:
        dx.evaluate(toy.annotations, toy.predictions, **quick)

    evaluate()  # what is imported and compiled at first is not part of the way
    walk = traced(Walk(), evaluate)
    frames = traced(
        Frames(), lambda: dx.models.dawid_skene.fit(toy.annotations, tune=5, chains=1, **quick)
    )
    return {
        "evaluate: functions": len(walk.functions),
        "evaluate: files": len(walk.files),
        "evaluate: changes of file": walk.changes,
        "evaluate: annotations checked, times": walk.checks,
        "frames from fit to the kernel": frames.found,
    }


BARS = {
    "packages at the root": 12, "files at the root": 10, "lines of src and models": 58_000,
    "files over 600 lines": 0, "imported by one other only, %": 10, "lines of tests": 45_000,
    "evaluate: files": 64, "evaluate: changes of file": 1_000,
    "evaluate: annotations checked, times": 1, "frames from fit to the kernel": 4,
}  # fmt: skip


def main() -> None:
    """Print all numbers, and the bars that are set."""
    for name, value in (arrangement() | walks()).items():
        bar = f"(at most {BARS[name]:,})" if name in BARS else ""
        print(f"{name:40} {value:>10,} {bar}")


if __name__ == "__main__":
    main()
