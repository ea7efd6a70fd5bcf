"""Do the tests notice faults? Changes one operator or number of a kernel at a time.

``uv run python benchmarks/mutants.py --checkout FOLDER --number 20 --seed 1`` works on a clone of
its own, of any version of the library: sources there are rewritten and put back. A mutant is
*caught* by the unit tests that name its file, else by the long ones, or it survives. Tests that
fail without it say nothing (*failed before*). A survivor may be equivalent: look at it.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

SWAPS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip


class Mutant(NamedTuple):
    """A place in a file, what stands there and what stands there instead."""

    path: Path
    line: int
    start: int
    end: int
    new: str


def between(left: ast.expr, right: ast.expr, swap: tuple[str, str], path: Path) -> list[Mutant]:
    """Replace the operator between two operands, if nothing else stands there (no parenthesis)."""
    old, new = swap
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return []
    line = path.read_text().splitlines()[right.lineno - 1].encode()
    if line[left.end_col_offset : right.col_offset].decode().strip() != old:
        return []
    return [Mutant(path, right.lineno, left.end_col_offset, right.col_offset, f" {new} ")]


def places(path: Path) -> list[Mutant]:
    """Return all changes of one operator or number inside the functions of a file."""
    out = []
    functions = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    for node in {
        inner for function in functions for part in function.body for inner in ast.walk(part)
    }:
        match node:
            case ast.BinOp(left, op, right) if type(op) in SWAPS:
                out += between(left, right, SWAPS[type(op)], path)
            case ast.Compare(left, [op], [right]) if type(op) in SWAPS:
                out += between(left, right, SWAPS[type(op)], path)
            case ast.BoolOp(op, [left, right]):
                out += between(left, right, SWAPS[type(op)], path)
            case ast.Constant(int() | float() as value) if not isinstance(value, bool):
                new = repr(value + 1) if isinstance(value, int) else repr(value * 1.1 + 0.1)
                out.append(
                    Mutant(path, node.lineno, node.col_offset, node.end_col_offset or 0, new)
                )
    return sorted(set(out))


def kernels(root: Path) -> list[Path]:
    """Return the files of kernels, in this version's layout or the first one's."""
    source = root / "src" / "dissensus"
    folders = [*source.rglob("kernels"), source / "arrays"]
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def run(root: Path, marks: str, files: list[Path]) -> str:
    """Return how a run of tests ended: passed, failed, or endless."""
    for cache in root.rglob("*.nb[ci]"):
        if ".venv" not in cache.parts:
            cache.unlink()
    command = ["uv", "run", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "1", "-m", marks]
    command += [str(file) for file in files]
    try:
        code = subprocess.run(command, cwd=root, capture_output=True, timeout=900).returncode
    except subprocess.TimeoutExpired:
        return "endless"
    return "passed" if code in (0, 5) else "failed"


def fate(root: Path, mutant: Mutant, *, passing: bool) -> str:
    """Return which tests catch a mutant; whether they pass without it need not be asked again."""
    text = mutant.path.read_text()
    lines = text.splitlines(keepends=True)
    bytes_ = lines[mutant.line - 1].encode()
    lines[mutant.line - 1] = (
        bytes_[: mutant.start] + mutant.new.encode() + bytes_[mutant.end :]
    ).decode()
    stem = mutant.path.stem
    files = [path for path in (root / "tests").rglob("test_*.py") if stem in path.read_text()]
    kinds = {"unit": "not slow and not long", "long": "long and not slow"}
    for word, marks in kinds.items():
        before = "passed" if passing else run(root, marks, files)
        if before != "passed":
            return f"{before} before"
        try:
            mutant.path.write_text("".join(lines))
            ast.parse(mutant.path.read_text())
            after = run(root, marks, files)
        finally:
            mutant.path.write_text(text)
        if after != "passed":
            return f"caught, {word}" if after == "failed" else f"endless, {word}"
    return "survived"


def main() -> None:
    """Sample mutants, and print what becomes of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--passing", action="store_true", help="all tests are known to pass")
    options = parser.parse_args()
    root = options.checkout.resolve()
    draw = random.Random(options.seed)
    every = [mutant for path in kernels(root) for mutant in places(path)]
    count: Counter[str] = Counter()
    for mutant in draw.sample(every, options.number):
        outcome = fate(root, mutant, passing=options.passing)
        count[outcome] += 1
        line = mutant.path.read_text().splitlines()[mutant.line - 1].strip()
        print(
            f"{outcome:14} {mutant.path.stem}:{mutant.line} {mutant.new.strip()!r} in {line}",
            flush=True,
        )
    print(dict(count), "of", len(every), "places")


if __name__ == "__main__":
    main()
