"""References for `dirichlet` and `inverse_rank`: shares of a Dirichlet distribution are Beta."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from reference.make.simplex import shares
from reference.make.summaries import least_difference, of_distribution
from reference.make.writer import Quantity, columns, write
from scipy import stats

LABELS = ["ash", "bee", "cow"]
SAID = {"i": ["ash", "ash", "bee"], "j": ["cow"], "k": ["bee", "cow", "cow", "cow", "ash"]}
RANKED = {
    "p": {"ann": [["ash"], ["bee", "cow"]], "bob": [["bee"], ["ash"]]},
    "q": {"ann": [["dog"]], "cat": [["ash", "dog"]], "bob": [["dog"], ["ash"], ["cow"]]},
}


def main() -> None:
    for reliability, prior_count in ((1.0, 1.0), (2.5, 0.4)):
        dirichlet(reliability, prior_count)
    for prior_count, per in ((0.0, "item"), (0.5, "annotator")):
        inverse_rank(prior_count, per)


def dirichlet(reliability: float, prior_count: float) -> None:
    """Shares by the Beta distribution, and by quadrature of prior times likelihood."""
    rows = [
        (item, f"a{n}", label) for item, labels in SAID.items() for n, label in enumerate(labels)
    ]
    quantities, apart = [], 0.0
    for item, labels in SAID.items():
        count = [labels.count(label) for label in LABELS]

        def log_likelihood(logs: Any, count: Any = count) -> Any:
            return reliability * sum(n * logs[:, k] for k, n in enumerate(count))

        summed = shares(log_likelihood, prior_count)
        for k, label in enumerate(LABELS):
            own = prior_count + reliability * count[k]
            rest = sum(prior_count + reliability * n for n in count) - own
            result = of_distribution(stats.beta(own, rest))
            apart = max(apart, least_difference(result, summed[k]))
            quantities.append(Quantity("plausibility", {"item": item, "label": label}, result))
    write(
        "dirichlet", f"reliability {reliability:g}",
        question="What would a large panel say of each item, if each label counts "
        f"{reliability:g} times?",
        data={"columns": columns(rows), "options": {"kind": "nominal", "labels": LABELS}},
        hyper={"reliability": reliability, "prior_count": prior_count}, script=__file__,
        wrong={"prior_count": 1.3 * prior_count} if reliability > 1 else None,
        method="closed form (Beta distributions), held against quadrature over the simplex",
        criteria={"exact": True, "quadrature_agrees_to_1e-6": apart < 1e-6},
        quantities=quantities,
    )  # fmt: skip


def inverse_rank(prior_count: float, per: str) -> None:
    """Weights 1 / (rank of the block x its size) in fractions, as the source's Eq. 14 has them."""
    labels, reliability = ["ash", "bee", "cow", "dog", "elk", "fox"], 7.0
    quantities, whole = [], True
    for item, answers in RANKED.items():
        weight: dict[str, Fraction] = {}
        for blocks in answers.values():
            for place, block in enumerate(blocks, start=1):
                for label in block:
                    weight[label] = weight.get(label, Fraction(0)) + Fraction(1, place * len(block))
        total = sum(weight.values())
        whole &= sum(w / total for w in weight.values()) == 1
        worth = reliability * (len(answers) if per == "annotator" else 1)
        shape: dict[str | None, float] = {
            label: worth * float(w / total) + prior_count for label, w in weight.items()
        }
        if prior_count:
            shape[None] = prior_count * (len(labels) - len(weight))  # all that nobody named
        for label, own in shape.items():
            if own < sum(shape.values()):
                actual = of_distribution(stats.beta(own, sum(shape.values()) - own))
                at = {"item": item, "candidate": label}
                quantities.append(Quantity("plausibility", at, actual))
    write(
        "inverse_rank", f"per {per}",
        question="How plausible is each label, if an item's rankings are worth so many labels?",
        data={"rankings": RANKED, "options": {"labels": labels}},
        hyper={"reliability": reliability, "reliability_per": per, "prior_count": prior_count},
        wrong={"reliability": 1.3 * reliability} if per == "item" else None, script=__file__,
        method="closed form (weights in fractions, Beta distributions)",
        criteria={"exact": True, "weights_sum_to_one_in_fractions": whole},
        quantities=quantities,
    )  # fmt: skip
