"""A reference for `cross_replication` of numbers: means and effects integrated out.

NUTS sees six numbers: two standard deviations of items, two of annotators, one of the residual,
and the correlation. Means and effects are normal given these, and drawn so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from reference.make import nuts
from reference.make.normal_effects import effects, indicators
from reference.make.writer import Quantity, write

# Items 3 and 4 are seen by one pool only; annotators from 3 on are of the second.
ITEM = np.array([0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 3, 4])
WHO = np.array([0, 1, 0, 2, 1, 2, 3, 4, 3, 4, 3, 4, 1, 4])
Y = np.array([4.0, 5.0, 6.5, 7.0, 3.5, 3.0, 4.9, 3.4, 5.4, 6.1, 4.4, 3.6, 5.6, 4.2])
POOLS = ["old", "new"]
POOL_OF = np.array([0, 0, 0, 1, 1])
PRIORS = {
    "mu": [4.0, 2.0], "sigma_item": ["half_normal", 1.5],
    "sigma_annotator": ["half_normal", 1.0], "sigma": ["half_normal", 1.0],
}  # fmt: skip
SEED = 20261121
N_ITEMS, N_PEOPLE = 5, 5


def design() -> tuple[Any, Any]:
    """Return Z and the prior means of (mu by pool, effects by item and pool, by annotator)."""
    pool = POOL_OF[WHO]
    Z = indicators(pool, 2 * ITEM + pool, WHO)
    assert Z.shape[1] == 2 + 2 * N_ITEMS + N_PEOPLE, "the last item is of the last pool"
    return Z, np.r_[[PRIORS["mu"][0]] * 2, np.zeros(Z.shape[1] - 2)]


def declare() -> None:
    """Write the density of the numbers, of one normal vector."""
    import pymc as pm
    import pytensor.tensor as pt

    scale = {name: prior[1] for name, prior in PRIORS.items()}
    item = pm.HalfNormal("sigma_item", scale["sigma_item"], shape=2)
    people = pm.HalfNormal("sigma_annotator", scale["sigma_annotator"], shape=2)
    residual = pm.HalfNormal("sigma", scale["sigma"])
    rho = pm.Uniform("rho", -1.0, 1.0)  # LKJ of shape 1
    pool = POOL_OF[WHO]
    same = pool[:, None] == pool
    between = pt.where(same, 1.0, rho) * item[pool][:, None] * item[pool][None, :]
    v = scale["mu"] ** 2 * same + between * (ITEM[:, None] == ITEM)
    v = v + pt.outer(people[pool], people[pool]) * (WHO[:, None] == WHO)
    v = v + residual**2 * np.eye(len(Y))
    root = pt.linalg.cholesky(v)
    z = pt.linalg.solve_triangular(root, pt.as_tensor(Y - PRIORS["mu"][0]), lower=True)
    pm.Potential("numbers", -(z**2).sum() / 2 - pt.log(pt.diagonal(root)).sum())


def main() -> None:
    run = nuts.sampled(declare, seed=SEED, draws=30_000)
    draws = completed(run)
    names = {"pool": POOLS, "pool_": POOLS, "item": [f"i{i}" for i in range(N_ITEMS)]}
    names["annotator"] = [f"a{j}" for j in range(N_PEOPLE)]
    stored = nuts.quantities(draws, names)
    stored = [_placed(quantity) for quantity in stored]
    columns = {
        "item": [f"i{i}" for i in ITEM], "annotator": [f"a{j}" for j in WHO],
        "pool": [POOLS[POOL_OF[j]] for j in WHO], "label": Y.tolist(),
    }  # fmt: skip
    write(
        "cross_replication", "numbers",
        question="Do two pools of annotators see the same in an item?",
        data={"columns": columns, "options": {"kind": "continuous", "pool": "pool"}},
        hyper={"family": "gaussian", "priors": PRIORS}, wrong={"correlation_prior": 1.3},
        script=__file__, seed=SEED,
        method="NUTS on the density of the numbers, means and effects integrated out",
        criteria=nuts.criteria(run, [v for _, v in draws.values()]),
        quantities=stored, packages=nuts.packages(),
    )  # fmt: skip


def _placed(quantity: Quantity) -> Quantity:
    """Say where the library has it: an annotator's effect for each pool, a whole matrix."""
    if quantity.variable == "annotator_effect":
        at = {**quantity.at, "pool": POOLS[POOL_OF[int(quantity.at["annotator"][1:])]]}
        return Quantity(quantity.variable, at, quantity.statistics)
    if quantity.variable == "correlation":
        return Quantity(
            quantity.variable, {"pool": POOLS[0], "pool_": POOLS[1]}, quantity.statistics
        )
    return quantity


def completed(run: Any) -> dict[str, Any]:
    """Draw means and effects given the standard deviations and the correlation."""
    item, people = nuts.values(run, "sigma_item"), nuts.values(run, "sigma_annotator")
    residual, rho = nuts.values(run, "sigma"), nuts.values(run, "rho")
    shape = rho.shape
    Z, m = design()
    flat = [x.reshape(-1, *x.shape[2:]) for x in (item, people, residual, rho)]
    rng = np.random.default_rng(SEED)
    result = np.empty((len(flat[3]), len(m)))
    for low in range(0, len(result), 2000):
        some = [x[low : low + 2000] for x in flat]
        mean, covariance = effects(Y, Z, m, _prior(*some[:2], some[3], len(m)), some[2])
        root = np.linalg.cholesky(covariance + 1e-12 * np.eye(len(m)))
        normal = rng.normal(size=(*mean.shape, 1))
        result[low : low + 2000] = mean + (root @ normal)[..., 0]
    result = result.reshape(*shape, -1)
    effect = result[..., 2 : 2 + 2 * N_ITEMS].reshape(*shape, N_ITEMS, 2)
    return {
        "mu": (("pool",), result[..., :2]), "sigma_item": (("pool",), item),
        "sigma_annotator": (("pool",), people), "sigma": ((), residual),
        "correlation": ((), rho), "item_effect": (("item", "pool"), effect),
        "annotator_effect": (("annotator",), result[..., -N_PEOPLE:]),
    }  # fmt: skip


def _prior(item: Any, people: Any, rho: Any, k: int) -> Any:
    """Return the prior covariance of means and effects (point, k, k)."""
    D = np.zeros((len(rho), k, k))
    D[:, [0, 1], [0, 1]] = PRIORS["mu"][1] ** 2
    for i in range(N_ITEMS):
        a, b = 2 + 2 * i, 3 + 2 * i
        D[:, a, a], D[:, b, b] = item[:, 0] ** 2, item[:, 1] ** 2
        D[:, a, b] = D[:, b, a] = rho * item[:, 0] * item[:, 1]
    for j in range(N_PEOPLE):
        at = k - N_PEOPLE + j
        D[:, at, at] = people[:, POOL_OF[j]] ** 2
    return D
