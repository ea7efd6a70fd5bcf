"""The list of named formats, `FORMATS`.

To add a format, write a module with ``read_annotations`` or ``read_predictions`` (or both) and a
test, and add a line to the list.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Final

from dissensus.errors import FormatError


@dataclass(frozen=True)
class Format:
    """The description of a format. The module of its reader is imported only when it is needed.

    Examples
    --------
    >>> import dissensus as dx
    >>> prodigy = dx.formats.get("prodigy")
    >>> prodigy.reads, prodigy.summary
    (('annotations',), 'the JSONL of Prodigy, one decision per line')
    """

    name: str
    reads: tuple[str, ...]
    """What the reader can read, that is, "annotations", "predictions", or both."""
    summary: str

    @property
    def module(self) -> ModuleType:
        """The module of the reader."""
        return import_module(f"dissensus.data.formats.{self.name.replace('-', '_')}")


_LABELS: Final = ("annotations",)
_BOTH: Final = ("annotations", "predictions")
FORMATS: Final = (
    Format("arena", _LABELS, "votes on pairs, of Chatbot Arena or MT-Bench"),
    Format("argilla", _BOTH, "the records of Argilla 2 as JSON"),
    Format("counts", _LABELS, "an item column, then one column of votes per label"),
    Format("crowd-kit", _LABELS, "a table with the columns task, worker, label"),
    Format("deepeval", _BOTH, "a test run of DeepEval as JSON"),
    Format("inspect-ai", _BOTH, "a table of samples of Inspect, from samples_df"),
    Format("judge-bench", _LABELS, "a data set of JUDGE-BENCH as JSON"),
    Format("label-studio", _BOTH, "the JSON export of Label Studio"),
    Format("lewidi", _LABELS, "a data set of Learning with Disagreements, 2023 or 2025, as JSON"),
    Format("lm-eval", _BOTH, "the samples of lm-evaluation-harness, one per line"),
    Format("pairs", _LABELS, "votes on pairs: the columns left, right and winner"),
    Format("prodigy", _LABELS, "the JSONL of Prodigy, one decision per line"),
    Format("promptfoo", _BOTH, "the results of promptfoo as JSON"),
    Format("wide", _BOTH, "an item column, then one column per annotator or system"),
)


def names() -> list[str]:
    """Return the names of all formats.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.formats.names()
    ['arena', 'argilla', 'counts', 'crowd-kit', 'deepeval', 'inspect-ai', 'judge-bench', ...]
    """
    return [known.name for known in FORMATS]


def get(name: str) -> Format:
    """Return the description of a format; hyphens, blanks and capitals of the name do not matter.

    Raises
    ------
    FormatError
        If there is no such format.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.formats.get("Label Studio").reads
    ('annotations', 'predictions')
    """
    wanted = re.sub("[-_ ]", "", str(name)).lower()
    for known in FORMATS:
        if known.name.replace("-", "") == wanted:
            return known
    raise FormatError("format", expected=f"one of {', '.join(names())}, or None", found=repr(name))


def recognised(columns: Collection[str], contents: str | None = None) -> Format | None:
    """Return the format of the tool whose files have these columns or fields, or None.

    Examples
    --------
    >>> recognised(["evalId", "results"]).name
    'promptfoo'
    """
    for known in FORMATS:
        test = getattr(known.module, "recognised", None)
        if (contents is None or contents in known.reads) and test and test(columns):
            return known
    return None
