"""A reference for `bradley_terry` with a judge: NUTS on Davidson's probabilities, vote by vote.

A judge's verdict on a pair, and how far apart its systems are in all verdicts (least squares), have
a weight each; a tie by the judge makes a tie more or less probable.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from reference.make import nuts
from reference.make.writer import write

SYSTEMS = ["a", "b", "c", "d"]
JUDGED = "<<=<><<<=<<><=<<><=<<<<<>=<<<>"
"""On the six pairs, prompt after prompt: the first system (<) is better, the second, or neither."""
VOTED = "<=<<.>=<.<<.<<.=><<=<.>..<<=>."
"""Votes on the same pairs, . for none."""
SPREAD, TIE, WEIGHT = 1.2, 1.5, 0.8
SEED = 20261127
WORD = {"<": "left", "=": "tie", ">": "right"}


def main() -> None:
    pairs = list(combinations(range(len(SYSTEMS)), 2))
    rows = [(f"q{k // len(pairs)}", *pairs[k % len(pairs)]) for k in range(len(JUDGED))]
    run = nuts.sampled(lambda: declare(rows), seed=SEED)
    dims: dict[str, tuple[str, ...]] = {
        "strength": ("system",), "beyond_judge": ("system",), "strength_spread": (), "tie": (),
        "judge_weight": ("judge",), "judge_system_weight": ("judge",), "judge_tie": ("judge",),
    }  # fmt: skip
    draws = {name: (dim, nuts.values(run, name)) for name, dim in dims.items()}
    votes, verdicts = (table(rows, words) for words in (VOTED, JUDGED))
    priors = {
        "strength_spread": SPREAD, "tie": TIE, "judge_weight": WEIGHT,
        "judge_system_weight": WEIGHT, "judge_tie": WEIGHT,
    }  # fmt: skip
    write(
        "bradley_terry", "verdicts of a judge",
        question="How much stronger is one of four systems, by votes and a judge's verdicts?",
        data={"pairs": votes, "verdicts": verdicts}, hyper={"priors": priors, "items": False},
        wrong={"priors": {**priors, "judge_weight": 1.3 * WEIGHT}}, script=__file__,
        method="NUTS on the probability of each vote", seed=SEED, packages=nuts.packages(),
        criteria=nuts.criteria(run, [values for _, values in draws.values()]),
        quantities=nuts.quantities(draws, {"system": SYSTEMS, "judge": ["judge"]}),
    )  # fmt: skip


def table(rows: list[tuple[str, int, int]], words: str) -> dict[str, list[str]]:
    """Return the pairs on which something is said, as columns."""
    return {
        name: [value(*row, word) for row, word in zip(rows, words, strict=True) if word != "."]
        for name, value in {
            "left": lambda _, left, __, ___: SYSTEMS[left],
            "right": lambda _, __, right, ___: SYSTEMS[right],
            "winner": lambda _, __, ___, word: WORD[word],
            "item": lambda item, _, __, ___: item,
        }.items()
    }


def declare(rows: list[tuple[str, int, int]]) -> None:
    import pymc as pm
    import pytensor.tensor as pt

    design = np.zeros((len(rows), len(SYSTEMS)))
    for k, (_, left, right) in enumerate(rows):
        design[k, left], design[k, right] = 1.0, -1.0
    verdict = np.array([{"<": 1.0, "=": 0.0, ">": -1.0}[word] for word in JUDGED])
    place = np.linalg.lstsq(design, verdict)[0]  # that of the smallest norm: its mean is 0
    voted = np.array([word != "." for word in VOTED])
    z = pm.Normal("z", shape=len(SYSTEMS))
    spread = pm.Weibull("strength_spread", 2.0, np.sqrt(2.0) * SPREAD)
    beyond = pm.Deterministic("beyond_judge", spread * (z - z.mean()))
    tie = pm.Normal("tie", 0.0, TIE)
    weight, apart, tied = (
        pm.Normal(name, 0.0, WEIGHT, shape=1)
        for name in ("judge_weight", "judge_system_weight", "judge_tie")
    )
    pm.Deterministic("strength", beyond + (weight + apart) * place)
    half = (design @ beyond + weight * verdict + apart * (design @ place))[voted] / 2
    odds = (tie + tied * (verdict == 0))[voted]
    log: Any = pt.stack([half, odds, -half], axis=1)
    log -= pt.logsumexp(log, axis=1, keepdims=True)
    won = np.array(["<=>".index(word) for word in VOTED if word != "."])
    pm.Potential("votes", log[np.arange(len(won)), won].sum())


if __name__ == "__main__":
    main()
