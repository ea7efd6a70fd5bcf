"""A reference for `dawid_skene` with a population: truths enumerated, matrices integrated out.

Given all truths, an annotator's row is a Beta variate whose counts have a Beta-binomial
distribution given the population's row M and its weight kappa. So, of two labels, there is one
integral over (M, kappa) for each row and each set of counts.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from reference.make.summaries import Statistics, exactly, least_difference, of_mixture
from reference.make.writer import Quantity, write
from scipy import special, stats

SAID = ["000", "000", "110", "1.1", "01.", "111", "100", "0.0"]
"""A label for each annotator on each item; a point where there is none."""
N_PEOPLE, N_ITEMS = 3, len(SAID)


def main() -> None:
    fine, coarse = summaries(48), summaries(36)
    apart = max(least_difference(fine[key].statistics, coarse[key].statistics) for key in fine)
    print(f"quadrature error at most {apart:.1e}")
    rows = [(f"i{i}", f"a{j}", int(y)) for i, said in enumerate(SAID)
            for j, y in enumerate(said) if y != "."]  # fmt: skip
    columns = dict(zip(("item", "annotator", "label"), map(list, zip(*rows, strict=True)),
                       strict=True))  # fmt: skip
    write(
        "dawid_skene", "hierarchical",
        question="What does each annotator say of each true label, as one of a population?",
        data={"columns": columns, "options": {"kind": "nominal", "labels": [0, 1]}}, hyper={},
        script=__file__,
        method="exact enumeration of all truths, quadrature over each row of the population",
        criteria={"quadrature_error_below_1e-6": apart < 1e-6}, quantities=fine.values(),
    )  # fmt: skip


class Population:
    """Nodes of the prior of (M, kappa): Beta(2.8, 1.2) above a half, and Gamma(2, 0.2)."""

    def __init__(self, n: int) -> None:
        # M by Legendre's nodes from a half to 1; (1 - M)^0.2 is made smooth by a fifth power.
        x, w = np.polynomial.legendre.leggauss(n)
        gap = 0.5 * ((x + 1) / 2) ** 5
        log_m = np.log(w) + 4 * np.log((x + 1) / 2) + stats.beta.logpdf(gap, 1.2, 2.8)
        # kappa on the scale of logarithms, by a trapezoidal sum.
        t = np.linspace(-10.0, 6.0, 4 * n)
        log_kappa = stats.gamma.logpdf(np.exp(t), 2.0, scale=5.0) + t
        gap, self.kappa = (part.ravel() for part in np.meshgrid(gap, np.exp(t), indexing="ij"))
        self.M = 1 - gap
        log = (log_m[:, None] + log_kappa).ravel()
        self.log = log - special.logsumexp(log)
        self.a, self.b = self.kappa * self.M, self.kappa * gap

    def counts(self, hit: int, miss: int) -> Any:
        """Return the log-probability of an annotator's answers at each node."""
        return special.betaln(self.a + hit, self.b + miss) - special.betaln(self.a, self.b)


def summaries(n: int) -> dict[str, Quantity]:
    population = Population(n)
    truths = np.array(list(itertools.product(range(2), repeat=N_ITEMS)))
    counts = _counts(truths)
    terms = {pair: population.counts(*pair)
             for pair in {tuple(x) for x in counts.reshape(-1, 2).tolist()}}  # fmt: skip
    density: dict[Any, Any] = {}
    for key in {tuple(map(tuple, row)) for row in counts.reshape(-1, N_PEOPLE, 2).tolist()}:
        density[key] = population.log + sum(terms[pair] for pair in key)
    evidence = {key: special.logsumexp(log) for key, log in density.items()}
    ones = truths.sum(axis=1)
    log = special.betaln(1 + N_ITEMS - ones, 1 + ones)
    keys = [[tuple(map(tuple, row)) for row in one] for one in counts.tolist()]
    log = log + np.array([evidence[one[0]] + evidence[one[1]] for one in keys])
    weight = np.exp(log - special.logsumexp(log))
    out = _of_items(truths, ones, weight)
    for z in range(2):
        out += _of_row(population, z, [one[z] for one in keys], weight, density, evidence)
    return {one.name: one for one in out}


def _counts(truths: Any) -> Any:
    """Return how often each annotator was right and wrong (truths, label, annotator, 2)."""
    out = np.zeros((len(truths), 2, N_PEOPLE, 2), dtype=int)
    for i, said in enumerate(SAID):
        for j, y in enumerate(said):
            if y != ".":
                wrong = (truths[:, i] != int(y)).astype(int)
                np.add.at(out, (np.arange(len(truths)), truths[:, i], j, wrong), 1)
    return out


def _of_items(truths: Any, ones: Any, weight: Any) -> list[Quantity]:
    out = []
    for k, n in enumerate((N_ITEMS - ones, ones)):
        found = _betas(weight, 1.0 + n, 1.0 + N_ITEMS - n)
        out.append(Quantity("prevalence", {"label": k}, found))
        for i in range(N_ITEMS):
            probable = exactly(mean=weight @ (truths[:, i] == k))
            out.append(Quantity("truth", {"item": f"i{i}", "label": k}, probable))
    return out


def _betas(weight: Any, a: Any, b: Any) -> Statistics:
    mean = a / (a + b)
    variance = mean * (1 - mean) / (a + b + 1)
    return of_mixture(weight, mean, variance, lambda x: special.betainc(a, b, x), 0.0, 1.0)


def _of_row(
    population: Population, z: int, keys: list[Any], weight: Any, density: Any, evidence: Any
) -> list[Quantity]:
    """Summarise a true label's row: of the population, its weight, and of each annotator."""
    whole = np.zeros(len(population.log))
    mine: list[dict[Any, Any]] = [{} for _ in range(N_PEOPLE)]
    total: dict[Any, float] = {}
    for key, mass in zip(keys, weight, strict=True):
        total[key] = total.get(key, 0.0) + mass
    for key, mass in total.items():
        nodes = mass * np.exp(density[key] - evidence[key])
        whole += nodes
        for j in range(N_PEOPLE):
            mine[j][key[j]] = mine[j].get(key[j], 0.0) + nodes
    place = {"label": z, "response": z}
    out = [
        Quantity("population_confusion", place, _moments(whole, population.M)),
        Quantity("confusion_concentration", {"label": z}, _moments(whole, population.kappa)),
    ]
    for j, parts in enumerate(mine):
        nodes = np.concatenate(list(parts.values()))
        a = np.concatenate([population.a + hit for hit, _ in parts])
        b = np.concatenate([population.b + miss for _, miss in parts])
        some = nodes > 1e-13
        found = _betas(nodes[some] / nodes[some].sum(), a[some], b[some])
        # 1 less a billionth has no normal error: a small kappa draws rows of nothing but one label.
        found = {name: pair for name, pair in found.items() if pair[0] < 1 - 1e-4}
        out.append(Quantity("confusion", {"annotator": f"a{j}", **place}, found))
    return out


def _moments(weight: Any, value: Any) -> Statistics:
    mean = weight @ value
    return exactly(mean=mean, sd=np.sqrt(weight @ (value - mean) ** 2))
