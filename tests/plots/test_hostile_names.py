"""Every picture, where systems, annotators, items, labels and pools have names that mean harm."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib import cbook
from matplotlib.text import Text

import dissensus as dx
from dissensus.plots import PLOTS
from dissensus.plots import _style as look

NAMES = [
    r"$\frac{1}{0}$", r"$\undefined$ \$ $", "$$", r"a\$b$", "_leading", "a_b^c", "$_$", "\\",
    "<script>alert(1)</script>", "{{ 7 }}", "%(a)s {0} {name}", "\u202eoverride",
    "\u200frtl\u05e9\u05dc\u05d5\u05dd", "zero\u200bwidth", "bell\x07\x1b[31m", "two\nlines\t\r",
    "x" * 10_000, "W" * 60, "`'\"", "", " ", "none",
]  # fmt: skip
NAMED = {"system", "system_", "annotator", "annotator_", "item", "label", "pool", "pool_",
         "category", "candidate_label"}  # fmt: skip


def renamed(tree):
    """Return the same evaluation, in which the names that came with the data are others."""
    known = {}

    def name(dim, value):
        of = known.setdefault(dim.rstrip("_"), {})
        if value not in of:
            place = len(of)
            of[value] = NAMES[place] if place < len(NAMES) else f"{NAMES[place % 19]}{place}"
        return of[value]

    def change(node):
        data = node.copy()
        for coordinate in NAMED & set(data.coords):
            # Numbers that are labels, or sizes of a plan, mean what they are.
            kinds = "OUT" if coordinate == "label" or "half_width" in data else "OUTi"
            if data[coordinate].ndim == 1 and data[coordinate].dtype.kind in kinds:
                cells = data[coordinate].to_numpy().tolist()
                values = np.array([name(coordinate, cell) for cell in cells], object)
                data = data.assign_coords(
                    {coordinate: (data[coordinate].dims, values, data[coordinate].attrs)}
                )
        return data

    out = xr.map_over_datasets(change, tree)
    assert known
    return out


@pytest.fixture(scope="module")
def hostile(dense):
    return renamed(dense)


@pytest.mark.unit(3, long=9)
@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.filterwarnings("ignore:Matplotlib currently does not support")
@pytest.mark.parametrize("name", [plot.name for plot in PLOTS])
def test_no_name_is_a_formula_and_none_breaks_a_picture(name, hostile):
    given = (hostile["certainty"]["item"].to_numpy()[3],) if name == "item" else ()
    made = dx.plots.get(name).function(hostile, *given, figsize=(3.7, None))
    figure = made.viz["figure"].item() if hasattr(made, "viz") else made
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    assert width == pytest.approx(3.7)
    assert 1 < height < 12  # fitted to the width
    for text in figure.findobj(Text):
        content = text.get_text()
        assert not cbook.is_math_text(content), content
        assert r"\\$\frac" not in content, "escaped twice"
        assert len(content) < 400
        assert not set("\x07\x1b\u202e") & set(content)


@pytest.mark.parametrize("name", NAMES)
def test_a_label_is_drawn_as_it_is_written(name):
    figure = look.Picture()
    text = figure.text(0, 0, look.label(name))
    shown, formula = text._preprocess_math(text.get_text())
    assert not formula
    assert "\n" not in shown
    assert len(shown) <= 24
    if len(name) < 24 and name.isprintable():
        assert shown == name


@pytest.mark.parametrize("name", NAMES)
def test_a_legend_leaves_nobody_out(name):
    figure, ax = plt.subplots()
    ax.plot([0, 1], label=look.entry(look.label(name)) or " ")
    figure.canvas.draw()
    assert len(ax.legend().get_texts()) == 1
