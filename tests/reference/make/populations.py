"""A reference for `dawid_skene` with a population: truths enumerated, matrices integrated out.

Given all truths, the population's rows M, their weights kappa and the spread of annotators, each
annotator is by himself: an integral over how much better he is than typical of the product of two
Beta-binomial probabilities, one for each true label. So there are, of two labels, sums over pairs
of nodes of (M, kappa), one for each label, and nodes of the spread.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from reference.make.summaries import Statistics, exactly, least_difference, of_mixture
from reference.make.writer import Quantity, columns, spelled, write
from scipy import special, stats

SAID = ["000", "000", "110", "1.1", "01.", "111", "100", "0.0"]
"""A label for each annotator on each item; a point where there is none."""
N_PEOPLE, N_ITEMS = 3, len(SAID)
FINE, COARSE = (22, 56, 20, 49), (18, 48, 16, 41)
"""Nodes of a row, of its weight, of the spread, of an annotator."""


def main() -> None:
    fine, coarse = summaries(*FINE), summaries(*COARSE)
    apart = max(least_difference(fine[key].statistics, coarse[key].statistics) for key in fine)
    print(f"quadrature error at most {apart:.1e}")
    write(
        "dawid_skene", "hierarchical",
        question="What does each annotator say of each true label, as one of a population?",
        data={"columns": columns(spelled(SAID)), "options": {"kind": "nominal", "labels": [0, 1]}},
        hyper={}, wrong={"prior_count": 1.3}, script=__file__,
        method="exact enumeration of all truths, quadrature over the population and annotators",
        criteria={"quadrature_error_below_1e-6": apart < 1e-6}, quantities=fine.values(),
    )  # fmt: skip


class Rows:
    """Nodes of the prior of a row and its weight: Beta(2.8, 1.2) above a half, Gamma(2, 0.2)."""

    def __init__(self, n_rows: int, n_weights: int) -> None:
        # M by Legendre's nodes from a half to 1; (1 - M)^0.2 is made smooth by a fifth power.
        x, w = np.polynomial.legendre.leggauss(n_rows)
        gap = 0.5 * ((x + 1) / 2) ** 5
        log_m = np.log(w) + 4 * np.log((x + 1) / 2) + stats.beta.logpdf(gap, 1.2, 2.8)
        # kappa on the scale of logarithms, by a trapezoidal sum.
        t = np.linspace(-10.0, 5.5, n_weights)
        log_kappa = stats.gamma.logpdf(np.exp(t), 2.0, scale=5.0) + t
        gap, self.kappa = (part.ravel() for part in np.meshgrid(gap, np.exp(t), indexing="ij"))
        self.M = 1 - gap
        self.logit = np.log1p(-gap) - np.log(gap)
        log = (log_m[:, None] + log_kappa).ravel()
        self.mass = np.exp(log - special.logsumexp(log))

    def answers(self, better: Any, hit: int, miss: int) -> tuple[Any, Any]:
        """Return the Beta shapes after answers, and their probability (node, how much better)."""
        odds = self.logit[:, None] + better
        a, b = (self.kappa[:, None] * special.expit(x) for x in (odds, -odds))
        chance = np.exp(special.betaln(a + hit, b + miss) - special.betaln(a, b))
        return (a + hit, self.kappa[:, None] + hit + miss), chance


def summaries(n_rows: int, n_weights: int, n_spreads: int, n_people: int) -> dict[str, Quantity]:
    rows = Rows(n_rows, n_weights)
    truths = np.array(list(itertools.product(range(2), repeat=N_ITEMS)))
    counts = _counts(truths)  # (truths, label, annotator, right or wrong)
    ones = truths.sum(axis=1)
    prior = np.exp(special.betaln(1 + N_ITEMS - ones, 1 + ones))
    x, w = np.polynomial.legendre.leggauss(n_spreads)
    spreads, masses = 3 * (x + 1), w * stats.halfnorm.pdf(3 * (x + 1))
    normal = np.linspace(-6.5, 6.5, n_people)  # by a trapezoidal sum, too
    share = stats.norm.pdf(normal) * (normal[1] - normal[0])
    sums = _Sums(len(truths), len(rows.mass))
    for spread, mass in zip(spreads, masses, strict=True):
        people = _People(rows, spread * normal, share, counts)
        for k, chance in enumerate(prior):
            sums.add(k, spread, mass * chance, people.of(counts[k]), rows.mass)
    return {quantity.name: quantity for quantity in sums.quantities(rows, truths, ones)}


class _People:
    """What each annotator's answers come to, for pairs of nodes; kept by counts."""

    def __init__(self, rows: Rows, better: Any, share: Any, counts: Any) -> None:
        self.share = share
        pairs = {tuple(x) for x in counts.reshape(-1, 2).tolist()}
        self.parts = {pair: _with_moments(*rows.answers(better, *pair)) for pair in pairs}
        self.known: dict[Any, Any] = {}

    def of(self, counts: Any) -> list[Any]:
        """Return for each annotator the evidence and four moments (5, node, node)."""
        return [self._one(tuple(map(tuple, counts[:, j].tolist()))) for j in range(N_PEOPLE)]

    def _one(self, key: Any) -> Any:
        if key not in self.known:
            (p, p1, p2), (q, q1, q2) = (self.parts[pair] for pair in key)
            pairs = ((p, q), (p1, q), (p2, q), (p, q1), (p, q2))
            self.known[key] = np.stack([(a * self.share) @ b.T for a, b in pairs])
        return self.known[key]


def _with_moments(shapes: tuple[Any, Any], chance: Any) -> tuple[Any, Any, Any]:
    """Return the probability of answers, and that times the accuracy's first two moments."""
    a, total = shapes
    first = a / total
    return chance, chance * first, chance * first * (a + 1) / (total + 1)


class _Sums:
    """Sums over truths, spreads and pairs of nodes."""

    def __init__(self, n_truths: int, n_nodes: int) -> None:
        self.truths = np.zeros(n_truths)
        self.spread = np.zeros(3)
        self.nodes = np.zeros((2, n_nodes))
        self.people = np.zeros((N_PEOPLE, 4))

    def add(self, k: int, spread: float, weight: float, people: list[Any], mass: Any) -> None:
        base = weight * mass[:, None] * mass
        a, b, c = people
        whole = base * a[0] * b[0] * c[0]
        total = whole.sum()
        self.truths[k] += total
        self.spread += total * spread ** np.arange(3)
        self.nodes += whole.sum(axis=1), whole.sum(axis=0)
        for j, (person, others) in enumerate(
            ((a, b[0] * c[0]), (b, a[0] * c[0]), (c, a[0] * b[0]))
        ):
            self.people[j] += np.einsum("mxy,xy->m", person[1:], base * others)

    def quantities(self, rows: Rows, truths: Any, ones: Any) -> list[Quantity]:
        total = self.truths.sum()
        out = _of_items(truths, ones, self.truths / total)
        out.append(Quantity("accuracy_spread", {}, _moments(*(self.spread / total)[1:])))
        for z in range(2):
            place, nodes = {"label": z, "response": z}, self.nodes[z] / total
            named = {"population_confusion": (rows.M, place),
                     "confusion_concentration": (rows.kappa, {"label": z})}  # fmt: skip
            for name, (value, at) in named.items():
                out.append(Quantity(name, at, _moments(nodes @ value, nodes @ value**2)))
            for j in range(N_PEOPLE):
                result = _moments(*self.people[j, 2 * z : 2 * z + 2] / total)
                out.append(Quantity("confusion", {"annotator": f"a{j}", **place}, result))
        return out


def _counts(truths: Any) -> Any:
    """Return how often each annotator was right and wrong (truths, label, annotator, 2)."""
    out = np.zeros((len(truths), 2, N_PEOPLE, 2), dtype=int)
    for i, row in enumerate(SAID):
        for j, y in enumerate(row):
            if y != ".":
                wrong = (truths[:, i] != int(y)).astype(int)
                np.add.at(out, (np.arange(len(truths)), truths[:, i], j, wrong), 1)
    return out


def _of_items(truths: Any, ones: Any, weight: Any) -> list[Quantity]:
    out = []
    for k, n in enumerate((N_ITEMS - ones, ones)):
        result = _betas(weight, 1.0 + n, 1.0 + N_ITEMS - n)
        out.append(Quantity("prevalence", {"label": k}, result))
        for i in range(N_ITEMS):
            probable = exactly(mean=weight @ (truths[:, i] == k))
            out.append(Quantity("truth", {"item": f"i{i}", "label": k}, probable))
    return out


def _betas(weight: Any, a: Any, b: Any) -> Statistics:
    mean = a / (a + b)
    variance = mean * (1 - mean) / (a + b + 1)
    return of_mixture(weight, mean, variance, lambda x: special.betainc(a, b, x), 0.0, 1.0)


def _moments(mean: float, square: float) -> Statistics:
    return exactly(mean=mean, sd=np.sqrt(square - mean**2))
