"""When everything was last run in full and passed: `python -m calibration.passes NAME COMMIT`.

`make calibrate` and `make fuzz` call it once all has passed. The table it writes is committed, and
stands at the top of the page on calibration.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from pathlib import Path
from typing import Final

from calibration.saved import ROOT

FILE: Final = ROOT / "docs" / "calibration" / "passes.csv"


def passed(name: str, commit: str, file: Path = FILE) -> None:
    """Write today's date and the commit into the row of this name."""
    with file.open(newline="", encoding="utf-8") as opened:
        head, *rows = csv.reader(opened)
    if name not in {row[0] for row in rows}:
        raise SystemExit(f"{file.name} has no row {name!r}; it has {[row[0] for row in rows]}")
    for row in rows:
        if row[0] == name:
            row[2:] = [time.strftime("%Y-%m-%d"), commit]
    with file.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened, lineterminator="\n").writerows([head, *rows])


if __name__ == "__main__":
    *NAMES, COMMIT = sys.argv[1:]
    if float(os.environ.get("DISSENSUS_FUZZ_SHARE", "1")) >= 1:  # else it was not in full
        for each in NAMES:
            passed(each, COMMIT)
