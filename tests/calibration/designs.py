"""One small study of each kind: who said something of what; what they said is drawn anew.

Every item has all labels but one named, so that a model of rankings has a strength for each.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import xarray as xr

import dissensus as dx

N_ITEMS = 8
PEOPLE = 6
LABELS = {"two": 2, "nominal": 3, "strata": 3, "ordinal": 3, "ranking": 4}
"""Two labels are a kind of their own here, for models that take two only; and items of strata."""


@cache
def design(kind: str, seed: int = 20220318) -> xr.Dataset:
    """Return annotations of a kind, in two pools; unbalanced, so that no two axes are equal."""
    rng = np.random.default_rng(seed)
    if kind == "ranking":
        return _rankings(rng)
    if kind == "pair":
        left = rng.integers(0, 4, 60)
        return dx.pairs(
            {"left": left, "right": (left + rng.integers(1, 4, 60)) % 4, "who": np.arange(60) % 5,
             "winner": ["left", "tie", "right"] * 20, "prompt": rng.integers(0, 6, 60)},
            annotator="who", item="prompt",
        )  # fmt: skip
    each = [3 + i % 4 for i in range(N_ITEMS)]  # at least one annotator from each pool
    item = np.repeat(np.arange(N_ITEMS), each)
    who = np.concatenate([rng.permutation(PEOPLE)[:n] for n in each])
    place = np.concatenate([np.arange(n) for n in each])
    table = {"item": [f"i{i}" for i in item], "annotator": who,
             "pool": np.array(["p", "q"])[who % 2]}  # fmt: skip
    if kind == "strata":
        table["of"] = np.array(["s", "t", "u"])[item % 3]
    if kind == "continuous":
        return dx.annotations({**table, "label": 50 + rng.normal(size=len(item))}, pool="pool")
    n = LABELS[kind]
    label = np.where(place < n - 1, (place + item) % n, rng.integers(0, n, len(item)))
    return dx.annotations(
        {**table, "label": label}, pool="pool", labels=range(n),
        kind="nominal" if kind in {"two", "strata"} else kind,
        stratum="of" if kind == "strata" else None,
    )  # fmt: skip


COVARIATES = {
    "formula": "~ words * age + group",
    "items": {"item": [f"i{i}" for i in range(N_ITEMS)],
              "words": [0.3, -1.2, 0.8, 2.1, -0.4, 0.0, 1.1, -0.9]},
    "annotators": {"annotator": list(range(PEOPLE)), "age": [1.0, -0.5, 0.2, 1.6, -1.1, 0.4],
                   "group": list("abbaab")},
}  # fmt: skip
"""Terms of items, of annotators, and of both."""

_FIRST = np.array([0, 1, 1, 1, 0, 0, 0, 1])
_SECOND = (_FIRST + np.array([1, 2, 1, 1, 2, 1, 2, 2])) % 3
SAID = {
    "predictions": dx.predictions({
        "item": [f"i{i}" for i in range(N_ITEMS)] * 2, "system": ["judge"] * (2 * N_ITEMS),
        "label": np.append(_FIRST, _SECOND),
        "rank": np.repeat([1, 2], N_ITEMS),
    }, rank="rank"),
}  # fmt: skip
"""A judge's lists of two labels, who says two first in each stratum of the design "strata"."""

OF_ANNOTATORS = {"formula": "~ age + group", "annotators": COVARIATES["annotators"]}


_PAIRS = [(prompt, a, b) for prompt in range(6) for a in range(4) for b in range(a)]
VERDICTS = {
    "predictions": dx.pairs(
        {"left": [pair[1] for pair in _PAIRS] * 2, "right": [pair[2] for pair in _PAIRS] * 2,
         "winner": np.random.default_rng(5).choice(["left", "left", "tie", "right"], 72),
         "judge": ["gpt"] * 36 + ["llama"] * 36, "prompt": [pair[0] for pair in _PAIRS] * 2},
        annotator="judge", item="prompt",
    ),
    "answers": {"item": np.repeat(np.arange(6), 4), "system": list(range(4)) * 6,
                "length": np.random.default_rng(6).normal(size=24)},
}  # fmt: skip
"""Two judges' verdicts on all pairs of the design "pair", and a covariate of answers."""


def _rankings(rng: np.random.Generator) -> xr.Dataset:
    n = LABELS["ranking"]
    rankings: dict[str, dict[str, list[list[int]]]] = {}
    for i in range(N_ITEMS):
        first = rng.permutation(n)[: n - 1].tolist()
        lists = [[[first[0]], first[1:]], [[first[2]], [first[0]]], [[x] for x in first]]
        rankings[f"i{i}"] = {f"a{k}": lists[k] for k in range(1 + i % 3)}
    return dx.from_rankings(rankings, labels=range(n))
