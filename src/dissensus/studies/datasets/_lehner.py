"""Lehner's worked example: ten cases, four raters who agree little, one system."""

from __future__ import annotations

from typing import Final

from dissensus.data import annotations as _annotations
from dissensus.data import predictions
from dissensus.studies.datasets._entry import Data, Entry

_CASES: Final = "CDCCA BDCCC CCDCC BBDDB ABBBB CBDAA AAAAA ADBCC DBAAD ADABB".split()  # noqa: SIM905
"""A case each: what raters 1 to 4 said, then the system."""


def read() -> Data:
    """Return the raters' labels and the system's answers."""
    rows = [
        (case, f"rater {rater}", label)
        for case, row in enumerate(_CASES, start=1)
        for rater, label in enumerate(row[:4], start=1)
    ]
    columns = zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True)
    answers = {
        "item": list(range(1, len(_CASES) + 1)),
        "system": ["system"] * len(_CASES),
        "label": [row[4] for row in _CASES],
    }
    return Data(
        _annotations.annotations(dict(columns), labels="ABCD"),
        predictions.predictions(answers),
        None,
    )


ENTRY: Final = Entry(
    name="lehner_table2",
    title="A worked example: four raters and a system on ten made-up cases",
    kind="nominal",
    counts={"items": 10, "annotators": 4, "labels": 4, "annotations": 40, "systems": 1},
    citation=(
        "Lehner, P. E. (2015). Estimating the accuracy of automated classification systems using "
        "only expert ratings that are less accurate than the system. Journal of Modern Applied "
        "Statistical Methods 14(1), article 13. Table 2. doi:10.22237/jmasm/1430453520"
    ),
    licence="a published table, typed in as facts",
    read=read,
    notes=(
        "20 of 60 pairs of raters agree. The labels A, B, C and D were given 11, 10, 10 and 9 "
        'times; the source\'s text says "11 instances of each" (its base rates use the right '
        "counts)."
    ),
)
