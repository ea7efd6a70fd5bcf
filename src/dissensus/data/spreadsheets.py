"""Names in tables that may be opened as spreadsheets, where some would be run as formulas."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pandas as pd

_BEGINS: Final = "(?:^|(?<=[;\t\r\n]))"
"""Where a cell may begin: a program that splits at semicolons or tabs ignores our quotes."""
_FORMULA: Final = r"(?=[\s\"'\x00-\x1f]*[=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001 (of full width)
_ARMED: Final = re.compile(f"{_BEGINS}{_FORMULA}")


def disarmed(text: str) -> str:
    r"""Put an apostrophe before text that a spreadsheet would run as a formula.

    Formulas begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, perhaps after
    blanks and quotation marks, at the beginning or after a semicolon, tab or line break within.
    All other text stays as it is.
    """
    return _ARMED.sub("'", text)


def disarmed_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts are no formulas; numbers stay numbers, also negative ones."""
    out = frame.copy()
    for place, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            cells = np.empty(len(frame), dtype=object)  # of any type: 10 stays 10 beside "a"
            cells[:] = [_cell(cell) for cell in frame.iloc[:, place]]
            out.isetitem(place, cells)
    return out


def _cell(cell: Any) -> Any:
    return disarmed(cell) if isinstance(cell, str) else cell
