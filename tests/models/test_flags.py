"""What is neither True nor False is refused by every fit: the text "False" would count as true."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import dissensus as dx
from dissensus.models import MODELS

FLAGS = [
    pytest.param(model, name, id=f"{model.name} {name}")
    for model in MODELS
    for name, argument in inspect.signature(model.module.fit).parameters.items()
    if isinstance(argument.default, bool) and name != "progressbar"
]


@pytest.mark.parametrize("value", ["False", 1, None, np.array([True, False])], ids=repr)
@pytest.mark.parametrize(("model", "name"), FLAGS)
def test_a_flag_is_true_or_false(model, name, value, examples):
    with pytest.raises(dx.ArgumentError, match=f"^{name}: expected True or False"):
        model.module.fit(examples[model.kinds[-1]], draws=2, progressbar=False, **{name: value})
