"""From the values that PyMC holds to variables in natural units, and back."""

from __future__ import annotations

from typing import Any

import pytensor


def to_natural(model: Any, names: tuple[str, ...]) -> Any:
    """Compile the way from the values that PyMC holds to variables in natural units."""
    inputs, outputs = [], []
    for name in names:
        variable = model[name]
        value, transform = (
            model.rvs_to_values[variable].type(),
            model.rvs_to_transforms[variable],
        )
        inputs.append(value)
        outputs.append(
            value if transform is None else transform.backward(value, *variable.owner.inputs)
        )
    return pytensor.function(inputs, outputs, on_unused_input="ignore")


def to_values(model: Any, names: tuple[str, ...]) -> Any:
    """Compile the way from variables in natural units to the values that PyMC holds."""
    inputs, outputs = [], []
    for name in names:
        variable = model[name]
        natural, transform = variable.type(), model.rvs_to_transforms[variable]
        inputs.append(natural)
        outputs.append(
            natural if transform is None else transform.forward(natural, *variable.owner.inputs)
        )
    return pytensor.function(inputs, outputs, on_unused_input="ignore")
