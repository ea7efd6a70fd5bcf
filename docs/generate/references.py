"""The page of reference posteriors, made from the files in tests/reference/posteriors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FILES = Path(__file__).parents[2] / "tests" / "reference" / "posteriors"
_TITLE = "Reference posteriors"
_WORDS = """\
For each model there are small data sets whose posterior was made by something that shares no code
with the model's sampler, nor with its PyMC graph: by enumeration, closed forms or quadrature where
that can be done, else by a long run of NUTS on a density written anew from the model's card. The
tests fit the model to the same data and compare means, standard deviations and tail quantiles with
these, in Monte Carlo standard errors of both sides; each file, in `tests/reference/posteriors`, has
the data, the numbers with their errors, and how it was made. `make reference` makes them again, and
writes none of which a criterion fails.
"""
_HEAD = ("model", "form", "the question", "made by", "numbers", "criteria, all met", "date")


def reference_page() -> str:
    """Return the page as reStructuredText."""
    stored = [json.loads(path.read_text("utf-8")) for path in sorted(_FILES.iterdir())]
    rows = [_HEAD, *map(_row, stored)]
    lines = [_TITLE, "=" * len(_TITLE), "", _WORDS, ".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        lines += [f"   {'-' if n else '* -'} {cell}".replace("   - ", "     - ", 1)
                  for n, cell in enumerate(row)]  # fmt: skip
    return "\n".join(lines) + "\n"


def _row(stored: dict[str, Any]) -> tuple[str, ...]:
    criteria = ", ".join(name.replace("_", " ") for name in stored["criteria"])
    return (
        f"`{stored['model']}`", stored["form"], stored["question"], stored["provenance"]["method"],
        str(len(stored["quantities"])), criteria, stored["provenance"]["date"],
    )  # fmt: skip
