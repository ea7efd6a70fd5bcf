"""References for `crossed_effects` of two labels, and of ordered ones: NUTS, nothing integrated.

Effects are standard normal variables times their standard deviation, and the likelihood is
written from the model's card.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from reference.make import nuts
from reference.make.writer import write

ITEM = np.array([0, 0, 1, 1, 1, 2, 2, 0, 2, 1, 3, 3, 3])
WHO = np.array([0, 1, 0, 1, 2, 2, 0, 2, 1, 2, 0, 1, 2])
GRADE = np.array([1, 2, 2, 2, 1, 0, 1, 0, 1, 2, 1, 2, 0])
SEED = 20261122
FAMILIES: dict[str, dict[str, Any]] = {
    "bernoulli": {
        "n_labels": 2, "question": "How much of one of two labels is the item, how much the "
        "annotator?",
        "priors": {"mu": [0.5, 1.0], "sigma_item": ["half_normal", 1.5],
                   "sigma_annotator": ["half_normal", 1.0]},
    },
    "ordinal": {
        "n_labels": 3, "question": "How much of an ordered label is the item, how much the "
        "annotator, and where are the cuts?",
        "priors": {"mu": [0.3, 0.7], "sigma_item": ["exponential", 0.7],
                   "sigma_annotator": ["half_normal", 0.7], "gap": ["exponential", 1.0]},
    },
}  # fmt: skip


def main() -> None:
    for family in FAMILIES:
        reference(family)


def codes(family: str) -> Any:
    return (GRADE > 0).astype(int) if family == "bernoulli" else GRADE


def declare(family: str) -> None:
    import pymc as pm
    import pytensor.tensor as pt

    priors, y = FAMILIES[family]["priors"], codes(family)
    mu = pm.Normal("mu", *priors["mu"])
    eta = mu
    for name, code in (("item", ITEM), ("annotator", WHO)):
        form, scale = priors[f"sigma_{name}"]
        sd = (
            pm.HalfNormal(f"sigma_{name}", scale)
            if form == "half_normal"
            else pm.Exponential(f"sigma_{name}", 1 / scale)
        )
        effect = pm.Deterministic(
            f"{name}_effect", sd * pm.Normal(f"{name}_raw", shape=int(code.max()) + 1)
        )
        eta = eta + effect[code]
    if family == "bernoulli":
        pm.Potential("labels", -pt.softplus(pt.as_tensor(1.0 - 2.0 * y) * eta).sum())
        return
    gap = pm.Exponential("gap", 1 / priors["gap"][1])
    pm.Deterministic("cutpoint", pt.stack([-gap / 2, gap / 2]))
    below = [(1 + pt.erf((cut - eta) / np.sqrt(2))) / 2 for cut in (-gap / 2, gap / 2)]
    chance = pt.stack([below[0], below[1] - below[0], 1 - below[1]])
    pm.Potential("labels", pt.log(chance[y, np.arange(len(y))]).sum())


def reference(family: str) -> None:
    case = FAMILIES[family]
    run = nuts.sampled(lambda: declare(family), seed=SEED, draws=30_000)
    dims: dict[str, tuple[str, ...]] = {
        "mu": (), "sigma_item": (), "sigma_annotator": (), "item_effect": ("item",),
        "annotator_effect": ("annotator",),
    }  # fmt: skip
    dims |= {"cutpoint": ("boundary",)} if family == "ordinal" else {}
    draws = {name: (dim, nuts.values(run, name)) for name, dim in dims.items()}
    names: dict[str, list[Any]] = {
        "item": [f"i{i}" for i in range(ITEM.max() + 1)],
        "annotator": [f"a{j}" for j in range(WHO.max() + 1)],
        "boundary": ["0|1", "1|2"],
    }  # fmt: skip
    columns = {
        "item": [names["item"][i] for i in ITEM], "annotator": [names["annotator"][j] for j in WHO],
        "trial": list(range(len(ITEM))), "label": codes(family).tolist(),
    }  # fmt: skip
    options = {"kind": "ordinal", "labels": list(range(case["n_labels"])), "trial": "trial"}
    write(
        "crossed_effects", "two labels" if family == "bernoulli" else "ordered labels",
        question=case["question"], data={"columns": columns, "options": options},
        hyper={"family": family, "priors": case["priors"]}, script=__file__, seed=SEED,
        method="NUTS on a likelihood written from the card, effects not centred",
        criteria=nuts.criteria(run, [v for _, v in draws.values()]),
        quantities=nuts.quantities(draws, names), packages=nuts.packages(),
    )  # fmt: skip
