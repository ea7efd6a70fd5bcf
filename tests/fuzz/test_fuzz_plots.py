"""Every picture in the registry, of an evaluation, of what it draws, and of what it cannot."""

from __future__ import annotations

from functools import cache

import matplotlib.pyplot as plt
import pytest
import xarray as xr
from fuzz.data import NOT_DATA, annotation_sets
from fuzz.judging import judged
from fuzz.profile import cases
from fuzz.settings_of import settings_of
from hypothesis import given
from hypothesis import strategies as st
from plots.conftest import whole

from dissensus.plots import PLOTS


@cache
def evaluation() -> xr.DataTree:
    """Read a small evaluation, with all that pictures are made of."""
    return whole("dense")


@st.composite
def sources(draw, plot):
    """Choose what a picture is given."""
    tree = evaluation()
    kind = draw(st.integers(0, 9))
    if kind < 6 or plot.group not in tree.children:
        return tree
    part = tree[plot.group]
    if kind == 6:
        return part
    if kind == 7:
        return _emptied(part.to_dataset(), draw)
    if kind == 8:
        return draw(annotation_sets())
    return draw(st.sampled_from(NOT_DATA))


def _emptied(part, draw):
    """Leave out all entries along one dim, or one of the variables."""
    dims, names = sorted(map(str, part.dims)), sorted(map(str, part.data_vars))
    if dims and draw(st.booleans()):
        return part.isel({draw(st.sampled_from(dims)): []})
    return part.drop_vars(draw(st.sampled_from(names))) if names else part


@pytest.mark.unit(0, long=7)
@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
@cases(1, 200)
@given(data=st.data())
def test_a_picture_is_drawn_or_refused(plot, data):
    source = data.draw(sources(plot))
    args = ()
    if plot.name == "item":
        items = evaluation()["certainty"]["item"].to_numpy().tolist()
        args = (data.draw(st.sampled_from([*items, "nobody", 0, None])),)
    but = {"figsize", "backend", "item"} if data.draw(st.integers(0, 3)) else {"item", "backend"}
    settings = data.draw(settings_of(plot.function, often=2, but=frozenset(but)))
    try:
        answer = judged(f"plots.{plot.name}", plot.function, source, *args, **settings)
        if not answer.refused and hasattr(answer.value, "canvas"):
            answer.value.canvas.draw()
    finally:
        plt.close("all")
