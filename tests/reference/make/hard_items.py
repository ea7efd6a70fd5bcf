"""A reference for items that differ in difficulty: quadrature over four numbers, states summed out.

With one accuracy for all annotators, errors that fall on both other labels alike, and three labels,
a latent truth has four parameters: two of the prevalence, the accuracy for a typical item, and the
spread of difficulties.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from reference.make.summaries import exactly
from reference.make.truths import Truths
from reference.make.writer import Quantity, write
from scipy import stats

N = 3
WIDEST, FARTHEST = 7.0, 35.0
"""The half-normal prior of the spread has 3e-12 beyond, the logistic one of ability 1e-15."""
COARSE, FINE = (30, 120), (40, 170)
"""Nodes of the spread and of ability."""
SHARES = 8
"""Nodes of a share: the likelihood is a polynomial of degree 7, here times one of degree 3."""


def main() -> None:
    statements = Truths(N).statements
    votes = np.array([[given.count(str(k)) for k in range(N)] for given in statements])
    coarse, fine = posterior(votes, *COARSE), posterior(votes, *FINE)
    far = max(abs(coarse[at][0][name] - x) for at, each in fine.items()
              for name, x in each[0].items())  # fmt: skip
    write(
        "symmetric_confusion", "difficulty, 3 labels", script=__file__,
        question="How accurate are annotators, and how much do items differ in difficulty?",
        method=f"Gauss-Legendre quadrature, of ability by trapezoids, {FINE} nodes",
        data=Truths(N).data(systems=False), hyper={"difficulty": True},
        criteria={"exact": True, "fewer_nodes_say_the_same_to_1e-6": bool(far < 1e-6)},
        quantities=[
            Quantity(name, dict(at), exactly(**{k: float(x) for k, x in result.items()}))
            for (name, at), (result,) in fine.items()
        ],
    )  # fmt: skip


def _legendre(n: int) -> Any:
    """Return nodes and weights between 0 and 1."""
    x, w = np.polynomial.legendre.leggauss(n)
    return (x + 1) / 2, w / 2


def posterior(votes: Any, n_spread: int, n_ability: int) -> dict[Any, tuple[dict[str, float]]]:
    """Return means and standard deviations by the names and places of quantities.

    A uniform accuracy above guessing is 1/K + (1 - 1/K) s, with s uniform: the probability of
    knowing the truth. Its logit is logistic.
    """
    (u, wu), (x, wx) = _legendre(SHARES), _legendre(n_spread)
    know = np.linspace(-FARTHEST, FARTHEST, n_ability)
    grid = np.meshgrid(u, u, know, WIDEST * x, indexing="ij")
    first, stick, know, spread = (part.ravel() for part in grid)
    steps = np.full(n_ability, 1.0)
    weight = np.prod(np.meshgrid(wu, wu, steps, wx, indexing="ij"), axis=0).ravel()
    share = np.stack([first, (1 - first) * stick, (1 - first) * (1 - stick)])
    weight *= stats.halfnorm.pdf(spread) * stats.logistic.pdf(know)
    weight *= 1 - first  # the volume of a broken stick

    edge = stats.norm.ppf(np.linspace(0, 1, 6))
    ease = np.array([stats.truncnorm.mean(a, b) for a, b in pairwise(edge)])
    ease /= ease.std()
    guess = 1 / (N - 1)
    odds = np.exp(know) * N / (N - 1) * np.exp(spread * ease[:, None]) + guess
    right, wrong = odds / (1 + odds), 1 / (1 + odds) / (N - 1)  # (ease, point)
    truth = []
    for given in votes:
        each = np.stack([
            share[z] * (right ** given[z] * wrong ** (given.sum() - given[z])).mean(axis=0)
            for z in range(N)
        ])  # fmt: skip
        weight *= each.sum(axis=0)
        truth.append(each / each.sum(axis=0))
    weight /= weight.sum()

    def both(values: Any) -> tuple[dict[str, float]]:
        mean = weight @ values
        return ({"mean": mean, "sd": np.sqrt(weight @ (values - mean) ** 2)},)

    out = {
        ("annotator_accuracy", ()): both(right.mean(axis=0)),
        ("difficulty_spread", ()): both(spread),
    }  # fmt: skip
    out |= {("prevalence", (("label", k),)): both(share[k]) for k in range(N)}
    for i, each in enumerate(truth):
        for k in range(N):
            at = (("item", f"i{i}"), ("label", k))
            out["truth", at] = ({"mean": weight @ each[k]},)
    return out
