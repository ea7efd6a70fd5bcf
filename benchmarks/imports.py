"""How long a fresh interpreter takes to import, less what it takes to start."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator

from timing import Row, in_turns


def rows(repeats: int) -> Iterator[Row]:
    """Measure `import dissensus` beside `import pymc`."""
    start, ours, pymc = in_turns(
        repeats, lambda: _run("pass"), lambda: _run("import dissensus"), lambda: _run("import pymc")
    )
    idle = statistics.median(start)
    yield Row(
        "import dissensus", [t - idle for t in ours], "import pymc", [t - idle for t in pymc],
        "< 300 ms",
    )  # fmt: skip


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
