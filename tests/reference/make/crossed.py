"""References for `crossed_effects` of numbers: effects integrated out, the rest by quadrature.

Given the three standard deviations all else is normal. These are summed over an even grid of their
logarithms; what they are given is a mixture of normal distributions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from reference.make.normal_effects import effects, indicators, log_density
from reference.make.summaries import Statistics, least_difference, of_grid, of_mixture
from reference.make.writer import Quantity, write
from scipy import special, stats

ITEM = np.array([0, 0, 1, 1, 1, 2, 2, 0, 2, 1, 3, 3])
WHO = np.array([0, 1, 0, 1, 2, 2, 0, 2, 1, 2, 3, 0])
Y = np.array([4.0, 5.0, 6.5, 7.0, 5.5, 3.0, 3.9, 3.4, 4.4, 6.1, 5.2, 6.3])
SDS = ("sigma_item", "sigma_annotator", "sigma")
STATED = {
    "mu": [4.0, 2.0], "sigma_item": ["half_t", 1.5, 6.0],
    "sigma_annotator": ["exponential", 1.0], "sigma": ["half_normal", 1.5],
}  # fmt: skip
GRID = {
    "sigma_item": (-12.0, 5.0, 0.1), "sigma_annotator": (-15.0, 5.0, 0.15),
    "sigma": (-4.0, 3.5, 0.11),
}  # fmt: skip
"""First, last and step of logarithms. The better a standard deviation is known, the narrower the
steps; and labels that no effects explain leave nothing to a residual near 0."""


def main() -> None:
    wrong = {"priors": STATED | {"sigma_item": ["half_t", 1.3 * 1.5, 6.0]}}
    reference("numbers, stated priors", STATED, {"priors": STATED}, wrong)
    # The card's: scaled to the labels.
    sd = float(np.std(Y, ddof=1))
    card: dict[str, Any] = {"mu": [float(Y.mean()), 2.5 * sd]}
    card |= {name: ["half_t", sd, 3.0] for name in SDS}
    reference("numbers, default priors", card, {})


def reference(
    form: str, priors: dict[str, Any], hyper: dict[str, Any], wrong: dict[str, Any] | None = None
) -> None:
    fine, coarse = summaries(priors, 1.0), summaries(priors, 1.25)
    gaps = {key: least_difference(fine[key].statistics, coarse[key].statistics) for key in fine}
    apart = max(gaps.values())
    print(f"{form}: quadrature error at most {apart:.1e}")
    columns = {
        "item": [f"i{i}" for i in ITEM], "annotator": [f"a{j}" for j in WHO],
        "trial": list(range(len(Y))), "label": Y.tolist(),
    }  # fmt: skip
    write(
        "crossed_effects", form,
        question="How much of a number is the item, how much the annotator, how much chance?",
        data={"columns": columns, "options": {"kind": "continuous", "trial": "trial"}},
        hyper={"family": "gaussian", **hyper}, wrong=wrong, script=__file__,
        method="quadrature over three standard deviations; mean and effects integrated out",
        criteria={"quadrature_error_below_1e-6": apart < 1e-6},
        quantities=fine.values(),
    )  # fmt: skip


def summaries(priors: dict[str, Any], wide: float) -> dict[str, Quantity]:
    """Summarise everything by sums whose steps are so many times as wide."""
    grids = [np.arange(low, high, wide * step) for low, high, step in GRID.values()]
    n_items, n_people = ITEM.max() + 1, WHO.max() + 1
    Z = indicators(np.zeros_like(ITEM), ITEM, WHO)
    centre, mu_sd = priors["mu"]
    m = np.zeros(Z.shape[1])
    m[0] = centre
    log_prior = [_log_prior(priors[name], np.exp(grid)) + grid
                 for name, grid in zip(SDS, grids, strict=True)]  # fmt: skip
    mass = np.empty([len(grid) for grid in grids])
    mean = np.empty((*mass.shape, len(m)))
    variance = np.empty_like(mean)
    b, c = (part.ravel() for part in np.meshgrid(*grids[1:], indexing="ij"))
    for a, at in enumerate(grids[0]):
        D = np.zeros((len(b), len(m), len(m)))
        square = np.concatenate([
            np.full((len(b), 1), mu_sd**2), np.full((len(b), n_items), np.exp(2 * at)),
            np.repeat(np.exp(2 * b)[:, None], n_people, axis=1),
        ], axis=1)  # fmt: skip
        D[:, np.arange(len(m)), np.arange(len(m))] = square
        log = log_density(Y, Z, m, D, np.exp(c)) + log_prior[0][a]
        mass[a] = log.reshape(mass.shape[1:]) + log_prior[1][:, None] + log_prior[2]
        result = effects(Y, Z, m, D, np.exp(c))
        mean[a] = result[0].reshape(mean.shape[1:])
        variance[a] = np.diagonal(result[1], axis1=1, axis2=2).reshape(mean.shape[1:])
    mass = np.exp(mass - special.logsumexp(mass))
    return _named(grids, mass, mean, variance, n_items, n_people)


def _named(
    grids: Any, mass: Any, mean: Any, variance: Any, n_items: int, n_people: int
) -> dict[str, Quantity]:
    out = []
    for axis, name in enumerate(SDS):
        other = tuple(k for k in range(3) if k != axis)
        out.append(Quantity(name, {}, of_grid(np.exp, grids[axis], mass.sum(axis=other))))
    some = mass > 1e-13  # of a million points most weigh nothing
    weight = mass[some] / mass[some].sum()
    places: list[tuple[str, dict[str, Any]]] = [("mu", {})]
    places += [("item_effect", {"item": f"i{i}"}) for i in range(n_items)]
    places += [("annotator_effect", {"annotator": f"a{j}"}) for j in range(n_people)]
    for k, (name, at) in enumerate(places):
        out.append(Quantity(name, at, _normals(weight, mean[some, k], variance[some, k])))
    return {quantity.name: quantity for quantity in out}


def _normals(weight: Any, mean: Any, variance: Any) -> Statistics:
    sd = np.sqrt(np.maximum(variance, 1e-300))
    low, high = float((mean - 12 * sd).min()), float((mean + 12 * sd).max())
    return of_mixture(weight, mean, sd**2, lambda x: special.ndtr((x - mean) / sd), low, high)


def _log_prior(prior: list[Any], value: Any) -> Any:
    form, scale, *degrees = prior
    if form == "half_normal":
        return stats.halfnorm.logpdf(value, scale=scale)
    if form == "exponential":
        return stats.expon.logpdf(value, scale=scale)
    return np.log(2) + stats.t.logpdf(value, degrees[0], scale=scale)
