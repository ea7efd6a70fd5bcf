"""A reference for `bradley_terry`: NUTS on Davidson's probabilities, vote by vote.

Strengths are standard normal variables less their mean, times their spread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from reference.make import nuts
from reference.make.writer import columns, write

SYSTEMS = ["a", "b", "c"]
VOTES = (
    "ab<" * 7 + "ab=" * 3 + "ab>" * 3 + "ba>" * 4 + "bc<" * 6 + "bc=" * 5 + "cb<" * 5 + "ca=" * 4
)
"""Left, right, and the winner: the left (<) or the right (>) system, or neither."""
SPREAD, TIE, SIDE = 1.2, 1.5, 0.6
SEED = 20261126


def main() -> None:
    rows = [VOTES[k : k + 3] for k in range(0, len(VOTES), 3)]
    run = nuts.sampled(lambda: declare(rows), seed=SEED)
    dims: dict[str, tuple[str, ...]] = {
        "strength": ("system",), "strength_spread": (), "tie": (), "side": (),
    }  # fmt: skip
    draws = {name: (dim, nuts.values(run, name)) for name, dim in dims.items()}
    word = {"<": "left", "=": "tie", ">": "right"}
    table = columns([(left, right, word[won]) for left, right, won in rows])
    priors = {"strength_spread": SPREAD, "tie": TIE, "side": SIDE}
    write(
        "bradley_terry", "ties and side",
        question="How much stronger is one of three systems, by votes with ties?",
        data={"pairs": dict(zip(("left", "right", "winner"), table.values(), strict=True))},
        hyper={"priors": priors, "side": True},
        wrong={"priors": {**priors, "side": 1.3 * SIDE}}, script=__file__,
        method="NUTS on the probability of each vote", seed=SEED, packages=nuts.packages(),
        criteria=nuts.criteria(run, [values for _, values in draws.values()]),
        quantities=nuts.quantities(draws, {"system": SYSTEMS}),
    )  # fmt: skip


def declare(rows: list[str]) -> None:
    import pymc as pm
    import pytensor.tensor as pt

    z = pm.Normal("z", shape=len(SYSTEMS))
    spread = pm.Weibull("strength_spread", 2.0, np.sqrt(2.0) * SPREAD)
    strength = pm.Deterministic("strength", spread * (z - z.mean()))
    tie, side = pm.Normal("tie", 0.0, TIE), pm.Normal("side", 0.0, SIDE)
    left, right = (np.array([SYSTEMS.index(row[k]) for row in rows]) for k in range(2))
    won = np.array(["<=>".index(row[2]) for row in rows])
    half = (strength[left] - strength[right] + side) / 2
    log: Any = pt.stack([half, tie + 0 * half, -half], axis=1)
    log -= pt.logsumexp(log, axis=1, keepdims=True)
    pm.Potential("votes", log[np.arange(len(rows)), won].sum())


if __name__ == "__main__":
    main()
