"""What was said about one item, as lines of text: by annotators, and by systems."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import metrics
from dissensus._wording import number, short
from dissensus.data.rows import ranks
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, ITEM, LABEL, SAMPLE, SYSTEM
from dissensus.errors import DissensusWarning, PredictionError
from dissensus.plots._pieces import places


class Statement(NamedTuple):
    """Something said about an item, and by whom."""

    who: list[object]
    blocks: list[list[object]]
    """Labels in order, tied ones together; a single label is one block of one."""
    hit: float = float("nan")
    """How probably the item's leading label is among them (predictions only)."""


def place_of(data: xr.DataArray | xr.Dataset, item: object) -> int:
    """Find an item, or say which there are.

    Raises
    ------
    ArgumentError
        If there is no such item.
    """
    return places(data, [item], "item")[0]


def said(annotations: xr.Dataset, item: object) -> list[Statement]:
    """Return what the annotators said about an item, the same statements together."""
    rows = np.flatnonzero(annotations["item_code"].to_numpy() == place_of(annotations, item))
    here = annotations.isel({ANNOTATION: rows})
    who = here[ANNOTATOR].to_numpy()[here["annotator_code"].to_numpy()]
    if "label_code" in here:
        what = here[LABEL].to_numpy()[here["label_code"].to_numpy()].tolist()
    else:
        what = here["value"].to_numpy().tolist()
    trial = here["trial"].to_numpy() if "trial" in here else np.zeros(len(rows))
    frame = pd.DataFrame({"who": pd.factorize(who)[0], "trial": pd.factorize(trial)[0],
                          "rank": ranks(here), "row": np.arange(len(rows))})  # fmt: skip
    same: dict[str, Statement] = {}
    for _, one in frame.groupby(["who", "trial"], sort=True):
        blocks = [[what[row] for row in block["row"]] for _, block in one.groupby("rank")]
        blocks = [sorted(block, key=str) for block in blocks]
        person = np.asarray(who)[one["row"].iloc[0]]
        statement = same.setdefault(repr(blocks), Statement([], blocks))
        statement.who.append(getattr(person, "item", lambda person=person: person)())
    return sorted(same.values(), key=lambda one: -len(one.who))


def predicted(predictions: xr.Dataset, item: object, plausibility: xr.DataArray) -> list[Statement]:
    """Return what the systems said, and how probably it holds the item's leading label."""
    if "label_code" not in predictions or item not in predictions[ITEM].to_numpy():
        return []
    here = predictions.isel({ITEM: [place_of(predictions, item)]}).transpose(ITEM, SYSTEM, ...)
    names, systems = here[LABEL].to_numpy(), here[SYSTEM].to_numpy().tolist()
    lists = np.stack([here[name].to_numpy()[0] for name in ("label_code", "block")], axis=1)
    # Hundreds of systems say only a few different things about one item.
    _, one_of, same = np.unique(lists, axis=0, return_index=True, return_inverse=True)
    plausibility = plausibility.isel({ITEM: [place_of(plausibility, item)]})
    hits = _hits(here.isel({SYSTEM: one_of}), plausibility)[same.ravel()]
    out = []
    for system, (code, block), hit in zip(systems, lists, hits, strict=True):
        blocks = [names[code[block == k]].tolist() for k in np.unique(block[block > 0])]
        out.append(Statement([system], blocks, float(hit)))
    return out


def _hits(here: xr.Dataset, plausibility: xr.DataArray) -> npt.NDArray[np.float64]:
    if CHAIN not in plausibility.dims:
        return np.full(here.sizes[SYSTEM], np.nan)
    longest = int((here["block"] > 0).sum("position").max())
    accuracy = metrics.get("top_k_accuracy").function
    with warnings.catch_warnings():
        # Labels outside the label space: `evaluate` has warned of them for all items at once.
        warnings.simplefilter("ignore", DissensusWarning)
        try:
            found = accuracy(plausibility, here, k=longest)
        except PredictionError:  # here even all of them are outside
            return np.zeros(here.sizes[SYSTEM])
    return np.asarray(found.mean(SAMPLE).to_numpy())


def spelled(blocks: Sequence[Sequence[object]], width: int = 40) -> str:
    """Write blocks as the source does: {a, b} > c.

    Examples
    --------
    >>> spelled([["a"], ["b", "c"]]), spelled([[0.5]])
    ('a > {b, c}', '.5')
    """

    def name(one: object) -> str:
        return number(one) if isinstance(one, float) else short(one, width)

    texts = [
        name(block[0]) if len(block) == 1 else "{" + ", ".join(map(name, block)) + "}"
        for block in blocks
    ]
    return " > ".join(texts)
