"""References for latent truths with fixed priors: all truths enumerated, the rest conjugate.

Given the truth of every item, accuracies, matrices and prevalences are independent Beta variates,
some of them cut off below; the posterior is their mixture over truths.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from reference.make.summaries import Statistics, exactly, of_mixture
from reference.make.writer import Quantity, columns, spelled, write
from scipy import special

SAID = {
    2: ["000", "000", "110", "1.1", "01.", "111", "100", "0.0", "001"],
    3: ["000", "22.", "112", "1.1", "02.", "111", "201"],
}
"""A label for each annotator on each item; a point where there is none."""
ANSWERS = {2: ["00", "01", "11", "11", "01", "11", "10", "00", "00"],
           3: ["0", "2", "1", "1", "0", "2", "2"]}  # fmt: skip
Counts = Any


def main() -> None:
    for n in (2, 3):
        symmetric(n)
        rows(n)
    complete()


class Betas:
    """A mixture of Beta variates that are cut off below ``least``."""

    def __init__(self, hits: Counts, misses: Counts, least: float = 0.0) -> None:
        self.a, self.b, self.least = np.asarray(hits, float), np.asarray(misses, float), least
        self.log_above = np.log(special.betaincc(self.a, self.b, least))

    @property
    def log_integral(self) -> Any:
        return special.betaln(self.a, self.b) + self.log_above

    def moment(self, power: int) -> Any:
        more = special.betaln(self.a + power, self.b)
        above = np.log(special.betaincc(self.a + power, self.b, self.least))
        return np.exp(more + above - self.log_integral)

    def cdf(self, x: float) -> Any:
        return 1 - special.betaincc(self.a, self.b, max(x, self.least)) / np.exp(self.log_above)

    def summary(self, weight: Any) -> Statistics:
        """Summarise, components that are alike put together."""
        pairs, which = np.unique(np.stack([self.a, self.b], axis=1), axis=0, return_inverse=True)
        mass = np.bincount(which.ravel(), weight)
        some = Betas(pairs[:, 0], pairs[:, 1], self.least)
        mean = some.moment(1)
        return of_mixture(mass, mean, some.moment(2) - mean**2, some.cdf, self.least, 1.0)


class Truths:
    """All truths of the items, and what labels then count as."""

    def __init__(self, n_labels: int) -> None:
        self.n, self.statements, self.answers = n_labels, SAID[n_labels], ANSWERS[n_labels]
        every = itertools.product(range(n_labels), repeat=len(self.statements))
        self.z = np.array(list(every))

    def confusion(self, statements: list[str], statement: int) -> Any:
        """Count responses by true label (truth, label, response)."""
        out = np.zeros((len(self.z), self.n, self.n))
        for i, given in enumerate(statements):
            if given[statement] != ".":
                out[np.arange(len(self.z)), self.z[:, i], int(given[statement])] += 1
        return out

    def prevalence(self, before: float) -> Any:
        """Return Dirichlet parameters (truth, label)."""
        return before + np.stack([(self.z == k).sum(axis=1) for k in range(self.n)], axis=1)

    def data(self, *, systems: bool) -> dict[str, Any]:
        data: dict[str, Any] = {
            "columns": columns(spelled(self.statements)),
            "options": {"kind": "nominal", "labels": list(range(self.n))},
        }
        if systems:
            data["predictions"] = columns(spelled(self.answers, "s"), "system")
        return data


def _log_beta(shape: Any) -> Any:
    return special.gammaln(shape).sum(axis=-1) - special.gammaln(shape.sum(axis=-1))


def _weight(logs: list[Any]) -> Any:
    total = np.sum(logs, axis=0)
    return np.exp(total - special.logsumexp(total))


def common(truths: Truths, shape: Any, weight: Any) -> list[Quantity]:
    """Summarise prevalences, and the probability of each item's truth."""
    out = []
    for k in range(truths.n):
        own = Betas(shape[:, k], shape.sum(axis=1) - shape[:, k])
        out.append(Quantity("prevalence", {"label": k}, own.summary(weight)))
        for i in range(len(truths.statements)):
            probable = exactly(mean=weight @ (truths.z[:, i] == k))
            out.append(Quantity("truth", {"item": f"i{i}", "label": k}, probable))
    return out


def _finish(model: str, form: str, weight: Any, quantities: list[Quantity], **more: Any) -> None:
    write(
        model, form, script=__file__,
        method="exact enumeration of all truths, conjugate integrals",
        criteria={
            "exact": True, "weights_sum_to_one_to_1e-12": abs(weight.sum() - 1) < 1e-12,
            "probabilities_of_truths_sum_to_one": _sum_to_one(quantities),
        },
        quantities=quantities, **more,
    )  # fmt: skip


def _sum_to_one(quantities: list[Quantity]) -> bool:
    total: dict[str, float] = {}
    for quantity in quantities:
        if quantity.variable == "truth":
            item = quantity.at["item"]
            total[item] = total.get(item, 0.0) + quantity.statistics["mean"][0]
    return all(abs(x - 1) < 1e-10 for x in total.values())


def symmetric(n: int) -> None:
    truths, before = Truths(n), 1.5
    people = sum(truths.confusion(truths.statements, j) for j in range(3))
    systems = [truths.confusion(truths.answers, s) for s in range(len(truths.answers[0]))]
    shape = truths.prevalence(before)
    hits = [np.einsum("tkk->t", each) for each in (people, *systems)]
    misses = [each.sum(axis=(1, 2)) - hit for each, hit in zip((people, *systems), hits,
                                                               strict=True)]  # fmt: skip
    own = [
        Betas(1 + hit, 1 + miss, 1 / n if statement == 0 else 0.0)
        for statement, (hit, miss) in enumerate(zip(hits, misses, strict=True))
    ]
    spread = [-np.log(n - 1) * miss for miss in misses]  # an error is any of the other labels
    weight = _weight([_log_beta(shape), *[respondent.log_integral for respondent in own], *spread])
    quantities = [*common(truths, shape, weight),
                  Quantity("annotator_accuracy", {}, own[0].summary(weight))]  # fmt: skip
    for s, system in enumerate(own[1:]):
        at = {"system": f"s{s}"}
        quantities.append(Quantity("system_accuracy", at, system.summary(weight)))
        share = hits[s + 1] / len(truths.statements)
        mean = weight @ share
        result = exactly(mean=mean, sd=np.sqrt(weight @ (share - mean) ** 2))
        quantities.append(Quantity("system_correct", at, result))
    _finish(
        "symmetric_confusion", f"{n} labels", weight, quantities,
        question="How accurate are annotators on the whole, and systems, and what is true?",
        data=truths.data(systems=True), hyper={"prior_count": before},
        wrong={"prior_count": 1.3 * before} if n == 2 else None,
    )  # fmt: skip


def _four_labels(n: int) -> Any:
    """Return what a row of a matrix is worth in advance: four labels, 2.8 of them right."""
    wrong = 1.2 / (n - 1)
    return np.full((n, n), wrong) + (2.8 - wrong) * np.eye(n)


def rows(n: int) -> None:
    """Matrices of everybody's own."""
    truths, before = Truths(n), 1.0
    shape = truths.prevalence(before)
    after = [truths.confusion(truths.statements, j) + _four_labels(n) for j in range(3)]
    weight = _weight([_log_beta(shape), *[_log_beta(a).sum(axis=1) for a in after]])
    quantities = common(truths, shape, weight)
    for j, a in enumerate(after):
        who = {"annotator": f"a{j}"}
        for z, y in np.ndindex(n, n):
            own = Betas(a[:, z, y], a[:, z].sum(axis=1) - a[:, z, y])
            at = {**who, "label": z, "response": y}
            quantities.append(Quantity("confusion", at, own.summary(weight)))
        quantities.append(Quantity("annotator_accuracy", who, _accuracy(shape, a, weight)))
    _finish(
        "dawid_skene", f"no pooling, {n} labels", weight, quantities,
        question="What does each annotator say of each true label, everybody on his own?",
        data=truths.data(systems=False), hyper={"pooling": "none", "prior_count": before},
    )  # fmt: skip


def _accuracy(shape: Any, rows: Any, weight: Any) -> Statistics:
    """Summarise the sum of prevalence x right over labels: all independent given the truth."""
    hit = np.einsum("tkk->tk", rows)
    total = rows.sum(axis=2)
    right, square = hit / total, hit * (hit + 1) / total / (total + 1)
    whole = shape.sum(axis=1)[:, None]
    once = (shape / whole * right).sum(axis=1)
    pairs = shape[:, :, None] * shape[:, None] / (whole * (whole + 1))[:, :, None]
    products = right[:, :, None] * right[:, None]
    diagonal = np.arange(shape.shape[1])
    pairs[:, diagonal, diagonal] = shape * (shape + 1) / whole / (whole + 1)
    products[:, diagonal, diagonal] = square
    twice = (pairs * products).sum(axis=(1, 2))
    mean = weight @ once
    return exactly(mean=mean, sd=np.sqrt(weight @ twice - mean**2))


def complete() -> None:
    """One matrix for all, each of two labels called by its own name more often than not."""
    truths, before = Truths(2), 1.0
    shape = truths.prevalence(before)
    after = sum(truths.confusion(truths.statements, j) for j in range(3)) + _four_labels(2)
    own = [Betas(after[:, z, z], after[:, z, 1 - z], 0.5) for z in range(2)]
    weight = _weight([_log_beta(shape), *[respondent.log_integral for respondent in own]])
    quantities = common(truths, shape, weight)
    for z in range(2):
        at = {"label": z, "response": z}
        quantities.append(Quantity("population_confusion", at, own[z].summary(weight)))
    _finish(
        "dawid_skene", "complete pooling", weight, quantities,
        question="What do annotators say of each true label, all of them alike?",
        data=truths.data(systems=False), hyper={"pooling": "complete", "prior_count": before},
    )  # fmt: skip
