"""What nobody listed, sampled as one cell and parted after."""

from __future__ import annotations

import numpy as np

from dissensus.families.rankings.kernels.layout import share_out, together
from dissensus.families.rankings.kernels.sweep import sample
from dissensus.kernels.rankings import Rankings

# Two items of four cells, whose second and third cells are listed by some; one of which nobody says
# anything.
SAID = Rankings(
    item_start=np.array([0, 2, 3, 3]), ranking_start=np.array([0, 2, 3, 4]),
    place=np.array([1, 2, 2, 1]), rank=np.array([1, 2, 1, 1]), cell_start=np.array([0, 4, 8, 10]),
    closed=np.zeros(3, dtype=bool),
)  # fmt: skip
SHAPE = np.array([0.5, 1.0, 0.3, 2.0, 0.4, 1.0, 0.3, 0.05, 1.0, 3.0])
KEYS = np.array([5, 6, 7], dtype=np.uint64)
COLUMN = np.array([0, 1, 2, 4, 0, 1, 2, 4, 0, 4])


def parted(n=40_000):
    shape = np.tile(SHAPE, (n, 1))
    fewer, together_shape, listed = together(SAID, shape)
    named = np.array([2, 1, 0])
    theta = sample(fewer, together_shape, KEYS, named=named, draws=n, tune=100)
    out = np.zeros((n, 3, 5))
    share_out(KEYS + np.uint64(10), theta, shape, SAID.cell_start, listed, COLUMN, out)
    return out


def test_cells_that_are_listed_stay_and_the_others_are_one():
    fewer, shape, listed = together(SAID, SHAPE[None])
    assert listed.tolist() == [False, True, True, False, False, True, False, False, False, False]
    assert fewer.cell_start.tolist() == [0, 3, 5, 6]
    assert fewer.place.tolist() == [0, 1, 1, 0]
    np.testing.assert_allclose(shape[0], [1.0, 0.3, 2.5, 1.0, 0.75, 4.0])


def test_the_parts_are_what_sampling_every_cell_gives():
    """The sampler itself, with each cell a unit of its own."""
    n = 40_000
    whole = sample(SAID, SHAPE, KEYS, named=np.array([3, 3, 1]), n_columns=5, draws=n, tune=100)
    out = parted(n)
    np.testing.assert_allclose(out.sum(axis=-1), 1.0)
    np.testing.assert_allclose(out.mean(axis=0), whole.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(out.std(axis=0), whole.std(axis=0), atol=0.01)
    mixed = [np.einsum("dik,dil->ikl", shares, shares) / n for shares in (out, whole)]
    np.testing.assert_allclose(*mixed, atol=0.01)


def test_what_nobody_said_anything_of_has_its_prior():
    out = parted()[:, 2]
    np.testing.assert_allclose(out.mean(axis=0), [0.25, 0, 0, 0, 0.75], atol=0.01)
