"""Names of items, annotators, labels and systems, in families: plain ones and hostile ones."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from hypothesis import strategies as st

_UTC, _PARIS = dt.UTC, ZoneInfo("Europe/Paris")
_ODD_TEXT = (
    "e\u0301", "\u00e9", "\u05d0\u05d1", "\u202ereversed", "a\u0300\u0316",
    "\U0001f9d1\u200d\u2695\ufe0f",
    "<script>alert(1)</script>", "=1+1", "@SUM(A1)", "a,b", 'quo"te', "line\nbreak", "tab\there",
    "None", "nan", "NA", "null", "True", "0", "-1", "01", "1e5", "\u0661", "x" * 5000, " a", "a ",
    "A",
    "a", "\u200b", "\ufeffbom", "chain", "draw", "item", "label", "system", "{x}", "%s", "$x^2$",
    "\\",
)  # fmt: skip


def _plain(n):
    return [f"n{k}" for k in range(n)]


_FAMILIES = {
    "plain": _plain,
    "integers": lambda n: list(range(n)),
    "negative": lambda n: [-7 * k for k in range(n)],
    "digits": lambda n: [str(k) for k in range(n)],
    "padded": lambda n: [f"{k:03d}" for k in range(n)],
    "floats": lambda n: [k + 0.5 for k in range(n)],
    "huge": lambda n: [2**63 + k for k in range(n)],
    "beyond floats": lambda n: [10**400 + k for k in range(n)],
    "decimals": lambda n: [Decimal(k) / 10 for k in range(n)],
    "dates": lambda n: [dt.date(2024, 1, 1 + k) for k in range(n)],
    "stamps": lambda n: [pd.Timestamp(2024, 1, 1 + k, 12) for k in range(n)],
    "zoned": lambda n: [dt.datetime(2024, 3, 31, 9 + k, tzinfo=_PARIS) for k in range(n)],
    "NumPy": lambda n: [np.int32(k) for k in range(n)],
}
PLAIN = tuple(_FAMILIES)

_BAD = {
    "bytes": lambda n: [bytes([65 + k]) for k in range(n)],
    "mixed": lambda n: [k if k % 2 else f"n{k}" for k in range(n)],
    "mixed zones": lambda n: [
        dt.datetime(2024, 1, 1 + k, tzinfo=_UTC if k % 2 else None) for k in range(n)
    ],
    # Clocks go from 2 to 3 at once: two ways to name one moment.
    "no such hour": lambda n: [dt.datetime(2024, 3, 31, k, tzinfo=_PARIS) for k in range(n)],
    "lists": lambda n: [[k] for k in range(n)],
    "complex": lambda n: [complex(k, 1) for k in range(n)],
    "missing": lambda n: [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "ns"), None][:n],
    "blank": lambda n: ["", " ", "\t", "\u00a0", "\u2003", "\n"][:n],
    "signed zeros": lambda n: [0.0, -0.0, 1.5, 2.5, 3.5, 4.5][:n],
    "near": lambda n: [1.0 + k * 2.0**-52 for k in range(n)],
    "huge and floats": lambda n: [2**63 + k if k % 2 else k + 0.5 for k in range(n)],
    "infinite": lambda n: [float("inf"), float("-inf"), 1.0, 2.0, 3.0, 4.0][:n],
    "durations": lambda n: [dt.timedelta(k) for k in range(n)],
    "times of day": lambda n: [dt.time(k) for k in range(n)],
    "huge decimals": lambda n: [Decimal(f"1e{300 * (k + 1)}") for k in range(n)],
    "early dates": lambda n: [dt.date(1 + k, 1, 1) for k in range(n)],
    "odd NaN": lambda n: [Decimal("NaN"), Decimal("sNaN"), 1, 2, 3, 4][:n],
    "types": lambda n: [int, str, float, list, dict, set][:n],
}
HOSTILE = ("text", "odd text", "booleans", *_BAD)


@st.composite
def vocabulary(draw, n, family):
    """Make n names of one family (fewer where it has no more)."""
    family = draw(family)
    if family == "text":
        return draw(st.lists(st.text(max_size=6), min_size=n, max_size=n, unique=True))
    if family == "odd text":
        return draw(st.lists(st.sampled_from(_ODD_TEXT), min_size=n, max_size=n, unique=True))
    if family == "booleans":
        return [True, False][:n] if n < 3 else [True, False] * (n // 2) + [True] * (n % 2)
    return (_FAMILIES | _BAD)[family](n)
