"""References for `plackett_luce`: the definition, summed over orders, integrated over shares."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from reference.make.simplex import STEP, shares
from reference.make.summaries import least_difference
from reference.make.writer import Quantity, write
from scipy import special

LABELS = ["ash", "bee", "cow"]
RANKED = {
    "p": {"ann": [["ash"], ["bee", "cow"]], "bob": [["bee"], ["ash"]]},
    "q": {"ann": [["ash", "bee"], ["cow"]], "bob": [["ash"]], "cat": [["cow", "ash"]]},
}
FORMS: dict[str, dict[str, Any]] = {
    "reliability 1": {"concentration": 1.0},
    "one label s worth in all": {"concentration": None},
    "likelihood to the power 1.7": {"reliability": 1.7, "concentration": 0.8},
    "strengths to the power 2": {
        "reliability": 2.0, "tempering": "strength", "concentration": 1.0,
    },
}  # fmt: skip


def main() -> None:
    for form, hyper in FORMS.items():
        reference(form, hyper)


def reference(form: str, hyper: dict[str, Any]) -> None:
    reliability = hyper.get("reliability", 1.0)
    concentration = hyper.get("concentration") or 1 / len(LABELS)
    strength = hyper.get("tempering") == "strength"
    power, sharpness = (1.0, reliability) if strength else (reliability, 1.0)
    quantities, apart = [], 0.0
    for item, labels in RANKED.items():

        def log_likelihood(logs: Any, lists: Any = labels) -> Any:
            each = [_log_probability(sharpness * logs, blocks) for blocks in lists.values()]
            return power * sum(each)

        fine = shares(log_likelihood, concentration)
        coarse = shares(log_likelihood, concentration, 1.5 * STEP)
        for label, statistics, coarse_statistics in zip(LABELS, fine, coarse, strict=True):
            apart = max(apart, least_difference(statistics, coarse_statistics))
            quantities.append(
                Quantity("plausibility", {"item": item, "candidate": label}, statistics)
            )
    write(
        "plackett_luce", form,
        question="How plausible is each label as the first of a ranking, given ties and lists "
        "that break off?",
        data={"rankings": RANKED, "options": {"labels": LABELS}}, hyper=hyper, script=__file__,
        wrong={"concentration": 1.3 / len(LABELS)} if hyper["concentration"] is None else None,
        method="quadrature over the simplex; the likelihood summed over all orders that a "
        "ranking allows",
        criteria={"quadrature_error_below_1e-6": apart < 1e-6},
        quantities=quantities,
    )  # fmt: skip


def _log_probability(logs: Any, blocks: list[list[str]]) -> Any:
    """Sum over orders of tied labels; what is not listed comes after what is. (point, label) in."""
    listed = [[LABELS.index(label) for label in block] for block in blocks]
    terms = []
    for orders in itertools.product(*(itertools.permutations(block) for block in listed)):
        left, log = list(range(len(LABELS))), np.zeros(len(logs))
        for label in itertools.chain(*orders):
            log = log + logs[:, label] - special.logsumexp(logs[:, left], axis=1)
            left.remove(label)
        terms.append(log)
    return special.logsumexp(terms, axis=0)
