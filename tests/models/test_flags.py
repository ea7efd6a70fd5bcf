"""What is neither True nor False is refused by every fit: the text "False" would count as true."""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np
import pytest
from refusals import check_refused

import dissensus as dx
from dissensus.models import MODELS

FLAGS = [
    pytest.param(model, name, id=f"{model.name} {name}")
    for model in MODELS
    for name, argument in inspect.signature(model.module.fit).parameters.items()
    if isinstance(argument.default, bool) and name != "progressbar"
]


@pytest.mark.parametrize(("model", "name"), FLAGS)
def test_a_flag_is_true_or_false(model, name, examples):
    fit = partial(model.module.fit, examples[model.kinds[-1]], draws=2, progressbar=False)
    check_refused(dx.ArgumentError, [
        (repr(value), partial(fit, **{name: value}), f"^{name}: expected True or False")
        for value in ("False", 1, None, np.array([True, False]))
    ])  # fmt: skip
