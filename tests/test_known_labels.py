"""True labels as people give them: of some items by name, of all by name or by place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx
from dissensus._known_labels import codes_of_all, known_codes

ANN = dx.annotations(
    {"item": ["i", "i", "j", "k"], "annotator": [1, 2, 1, 1], "label": [0, 1, 1, 0]}, kind="nominal"
)
ITEMS, LABELS = ANN["item"].to_numpy(), ANN["label"].to_numpy()


@pytest.mark.parametrize(
    "truth",
    [
        {"j": 1, "i": 0},
        {"j": "1", "i": "0"},
        {"j": True, "i": False},
        pd.Series([0, 1, None], index=["i", "j", "k"]),
        xr.DataArray([1, 0], dims="item", coords={"item": ["j", "i"]}),
    ],
)
def test_some_labels_are_found_by_name(truth):
    np.testing.assert_array_equal(known_codes(ANN, truth), [0, 1, -1])


@pytest.mark.parametrize(
    "truth",
    [
        [0, 1, 0],
        [False, True, False],
        {"k": 0, "j": 1, "i": 0, "other": 9},
        np.array(["0", "1", "0"]),
        pd.Series([0, 1, 0]),
    ],
)
def test_all_labels_are_found_by_place_or_by_name(truth):
    np.testing.assert_array_equal(codes_of_all(truth, ITEMS, LABELS, closed=True), [0, 1, 0])


def test_labels_that_are_none_are_refused_by_both():
    for truth in ({"i": [0], "j": [1], "k": [0, 1]}, {"i": 0, "j": 1, "k": object()}):
        with pytest.raises(dx.ArgumentError, match="truth: expected"):
            known_codes(ANN, truth)
        with pytest.raises(dx.ArgumentError, match="truth"):
            codes_of_all(truth, ITEMS, LABELS, closed=True)
    assert codes_of_all([0.5, 1, 0], ITEMS, LABELS, closed=False).tolist() == [-1, 1, 0]
