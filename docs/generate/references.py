"""The page of reference posteriors, made from the files in tests/reference/posteriors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FILES = Path(__file__).parents[2] / "tests" / "reference" / "posteriors"
_TITLE = "Reference posteriors"
_WORDS = """\
Each model has small data sets with a posterior that was computed without the model's sampler and
without its PyMC graph: by enumeration, closed forms or quadrature, or by a long run of NUTS on an
independent implementation of the density on the model's card. Tests fit the model to the same data
and compare means, standard deviations and tail quantiles, in units of the Monte Carlo standard
errors of both. Each file in `tests/reference/posteriors` has the data, the values with their
errors, and their origin. `make reference` computes them again; it does not write a posterior that
fails a criterion.
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
