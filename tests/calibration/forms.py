"""Which forms of each model are drawn from as they are written; a model not named here has its own.

A form is a kind of annotations and the settings that go to `build` and `fit` alike. Every model of
the registry has one for each of its kinds, and needs no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from calibration import as_written
from calibration.designs import COVARIATES, OF_ANNOTATORS, SAID, VERDICTS, design
from calibration.harness import Case

from dissensus import models

NOT_DRAWN: Final = {
    "inverse_rank": "the model that `build` returns has no likelihood of rankings, because it "
    "starts from the posterior given the rankings",
}
"""Models of which no study can be drawn from `build`; each has a simulator written by hand."""

LAID_OUT_BY_DATA: Final = {
    "plackett_luce": "its cells are the labels that somebody named, so other data have others",
}
"""Models whose priors cannot be compared between data sets, number by number."""

_NUMBERS: Final = {
    "mu": (50.0, 2.0), "sigma_item": ("half_normal", 1.5),
    "sigma_annotator": ("half_normal", 1.0), "sigma": ("half_normal", 1.0),
}  # fmt: skip

_REGRESSION: Final = _NUMBERS | {"coefficient": (0.0, 1.0)}

GIVEN: Final[Mapping[str, Mapping[str, Any]]] = {
    "normal_scores": {"prior": (50.0, 0.5, 3.0, 3.0)},
    "plackett_luce": {"concentration": 0.5},
    "crossed_effects": {"priors": _NUMBERS},
    "cross_replication": {"priors": _NUMBERS},
    "bradley_terry": {"ties": True, "side": True},
}
"""What must be stated where the default is taken from the data, so that it is not a prior; and
where items of a small study would not all be judged under one prior that is learned: that is held
against grids instead (`tests/families/rankings/test_learned_strengths.py`)."""

FURTHER: Final = (
    ("crossed_effects", "two", {"family": "bernoulli"}),
    ("crossed_effects", "ordinal", {"family": "ordinal"}),
    ("cross_replication", "ordinal", {"family": "ordinal"}),
    ("crossed_effects", "continuous", {**COVARIATES, "priors": _REGRESSION}),
    ("crossed_effects", "two", {"family": "bernoulli", **COVARIATES}),
    ("crossed_effects", "ordinal", {"family": "ordinal", **COVARIATES}),
    ("cross_replication", "ordinal", {"family": "ordinal", **COVARIATES}),
    ("rasch", "nominal", COVARIATES),
    ("symmetric_confusion", "ordinal", {"errors": "graded", "difficulty": True}),
    ("dawid_skene", "nominal", {"pooling": "none"}),
    ("dawid_skene", "nominal", OF_ANNOTATORS),
    ("dirichlet", "strata", SAID),
    ("bradley_terry", "pair", {"ties": True, **VERDICTS}),
    ("plackett_luce", "ranking", {"tempering": "strength", "reliability": 2.0,
                                  "concentration": 1.0}),
)  # fmt: skip
"""Forms beyond the default one that a sampler has a way of its own for."""


class Form(NamedTuple):
    """A model, what it is fitted to, and how."""

    model: models.Model
    kind: str
    hyper: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The model, then what tells its forms apart."""
        unsaid = {"prior", "priors", "items", "annotators"}
        named = {"predictions", "answers"}  # whose values are tables
        labels = [
            name if name in named or value is True else str(value)
            for name, value in self.hyper.items() if name not in unsaid
        ]  # fmt: skip
        return f"{self.model.name}: {', '.join([self.kind, *labels])} (as written)"

    def simulator(self, seed: int = 0) -> Callable[[np.random.Generator], Case]:
        """Return a function that draws studies."""
        module = self.model.module
        return as_written.simulator(
            module.build, module.fit, design(self.kind), self.hyper, seed=seed,
            laid_out_by_data=self.model.name in LAID_OUT_BY_DATA,
        )  # fmt: skip


def forms() -> dict[str, Form]:
    """Return the forms of all models in the registry that can be drawn from, by name."""
    drawn = [model for model in models.MODELS if model.name not in NOT_DRAWN]
    result = [
        Form(model, kind, GIVEN.get(model.name, {}))
        for model in drawn
        for kind in model.kinds
        # To a model of numbers ordered labels are numbers: what is drawn of them is the same.
        if not (kind == "ordinal" and "continuous" in model.kinds)
    ]
    known = {model.name for model in drawn}
    result += [Form(models.get(n), kind, hyper) for n, kind, hyper in FURTHER if n in known]
    return {form.name: form for form in result}
