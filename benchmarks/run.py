"""Measure dissensus against its peers, side by side in one run: `uv run python benchmarks/run.py`.

Prints one table: the median of several repetitions, their range, and the ratio to the peer's
median. Never a test: what a machine does on a bad day must not fail a change.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import agreement
import fits
import imports
import metrics
import rankings
import reading
from machine import described
from timing import Row

SECTIONS = {
    "fits": fits.rows, "rankings": rankings.rows, "metrics": metrics.rows,
    "agreement": agreement.rows, "imports": imports.rows, "reading": reading.rows,
}  # fmt: skip


def main() -> None:
    """Run the sections asked for, and print their rows as they come."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", help=f"some of: {', '.join(SECTIONS)} (default all)")
    parser.add_argument("--repeats", type=int, default=7, help="repetitions (default 7)")
    options = parser.parse_args()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    print(described(), end="\n\n")
    print(Row.header())
    for row in measured(options.sections or list(SECTIONS), options.repeats):
        print(row, flush=True)


def measured(sections: list[str], repeats: int) -> Iterator[Row]:
    """Measure section by section."""
    for name in sections:
        yield from SECTIONS[name](repeats)


if __name__ == "__main__":
    sys.exit(main())
