"""The PyMC form of a latent truth: what its dims say is what its variables are."""

from __future__ import annotations

import pytest
from truth_cases import ONE_OF_THREE, ROWS, SYMMETRIC, THREE, symmetric

CASES = {
    **SYMMETRIC, **ROWS,
    # Systems have no rows of errors there, and no place among the voices.
    "evidence of annotators, unequal": symmetric(
        THREE, ONE_OF_THREE, 3, evidence="annotators", errors="unequal", accuracy="annotator"
    ),
}  # fmt: skip


@pytest.mark.unit(6)
@pytest.mark.parametrize("name", CASES)
def test_coordinates_are_as_long_as_the_dims(name):
    """Else `pymc.sample` would fail where it names its draws, after all the work."""
    model = CASES[name].build()
    shapes = model.eval_rv_shapes()  # by the dims
    for value, start in model.initial_point().items():
        assert shapes[value] == start.shape, value
    for variable, dims in model.named_vars_to_dims.items():
        if variable in shapes:
            assert shapes[variable] == tuple(len(model.coords[dim]) for dim in dims), variable
