"""How to draw studies with a latent truth, and what to ask of their fits: case by case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from calibration import truth_correlated
from calibration.harness import Case
from calibration.truth_questions import questions_of
from calibration.truth_settings import SETTINGS, annotators_are_known
from calibration.truth_studies import ITEMS, draw
from calibration.truth_worlds import Generator, Setting

MODELS: Final = tuple(sorted(ITEMS))
THIN: Final = {"dawid_skene": 150, "symmetric_confusion": 20}
THIN_KNOWN: Final = 5
"""Systems are drawn anew for each draw of what annotators are like."""


def case(setting_of: Callable[[Generator], Setting], rng: Generator) -> Case:
    """Draw a study, and say what to ask of it."""
    drawn = draw(setting_of(rng), rng)
    many = annotators_are_known(drawn.setting)
    thin = THIN_KNOWN if many else THIN[drawn.setting.model]
    return Case(drawn.annotations, drawn.hyper, questions_of(drawn, rng.spawn(1)[0]), thin=thin)


SIMULATORS: Final[Mapping[str, Callable[[Generator], Case]]] = {
    name: partial(case, setting_of) for name, setting_of in SETTINGS.items()
} | truth_correlated.SIMULATORS
