"""Dawid and Skene's anaesthetists: seven ratings of each of 45 patients, four categories."""

from __future__ import annotations

from typing import Final

from dissensus.data import annotations as _annotations
from dissensus.studies.datasets._entry import Data, Entry, one_of

_RATINGS: Final = """
    1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223
    4444444 2223343 1111111 2223212 1211111 1112111 1111111 1111111 2222221 2221322
    2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 1111111 1121121
    1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111
    1111111 1212111 2322222 1211111 2222222
""".split()  # noqa: SIM905 (a table; 45 quoted words are none)
"""A patient each: the three ratings by observer 1, then one by each of observers 2 to 5."""

_OBSERVER: Final = ("1", "1", "1", "2", "3", "4", "5")
_TRIAL: Final = (1, 2, 3, 1, 1, 1, 1)
_DISPUTED: Final = 6
"""Patient 7, whom the two transcriptions in circulation rate differently."""


def read(transcription: str = "published") -> Data:
    """Return the ratings in one of the two transcriptions that circulate."""
    one_of("transcription", transcription, ("published", "rater"))
    ratings = list(_RATINGS)
    if transcription == "rater":
        ratings[_DISPUTED] = "112" + ratings[_DISPUTED][3:]
    rows = [
        (patient, f"observer {observer}", int(label), trial)
        for patient, row in enumerate(ratings, start=1)
        for label, observer, trial in zip(row, _OBSERVER, _TRIAL, strict=True)
    ]
    columns = zip(("item", "annotator", "label", "trial"), zip(*rows, strict=True), strict=True)
    ann = _annotations.annotations(
        dict(columns), trial="trial", kind="ordinal", labels=(1, 2, 3, 4)
    )
    return Data(ann, None, None)


ENTRY: Final = Entry(
    name="anaesthesia",
    title="Anaesthetists' ratings of patients' fitness for surgery, from their forms",
    kind="ordinal",
    counts={"items": 45, "annotators": 5, "labels": 4, "annotations": 315},
    citation=(
        "Dawid, A. P. and Skene, A. M. (1979). Maximum likelihood estimation of observer "
        "error-rates using the EM algorithm. Applied Statistics 28(1), 20-28. Table 1."
    ),
    licence="a published table, typed in as facts",
    read=read,
    options={
        "transcription": (
            '"published" (default): patient 7 was rated 1, 2, 2 by observer 1, which goes with '
            'the published error rates; "rater": 1, 1, 2, as in the R package rater'
        )
    },
    notes=(
        "Observer 1 rated every patient three times, weeks apart (trial 1 to 3), the others once. "
        "Nobody knows the truth."
    ),
)
