"""A Rasch model by integration over its prior: independent of kernels and of PyMC.

Tiny data only. Points of a scrambled Sobol sequence go through quantile functions of the priors as
the card writes them; the likelihood sums over the truth by enumeration.
"""

from __future__ import annotations

from itertools import product

import arviz as az
import numpy as np
from scipy import stats


def posterior_means(
    item, annotator, label, *, n_labels, truth=None, guessing=None, level=None, n_levels=0,
    log2_points=16, seed=0, covariates=None,
):  # fmt: skip
    """Return posterior means of the parameters, and probabilities of truths (item, label).

    ``truth`` has a code for each item, -1 where it is not known. Who does not know guesses, unless
    all truths are known or ``guessing`` says otherwise. ``covariates`` (annotator, item, term) are
    centred and of standard deviation 1 over the labels.
    """
    item, annotator, label = (np.asarray(x) for x in (item, annotator, label))
    n_items, n_people = item.max() + 1, annotator.max() + 1
    truth = np.full(n_items, -1) if truth is None else np.asarray(truth)
    n_terms = 0 if covariates is None else covariates.shape[2]
    n_dims = 3 + n_people + n_items + (n_labels - 1) + 2 * max(n_levels - 1, 0) + n_terms
    u = stats.qmc.Sobol(n_dims, seed=seed).random_base2(log2_points)
    u = np.clip(u, 1e-12, 1 - 1e-12)
    if guessing is None:
        guessing = bool((truth < 0).any())
    least = -np.inf if guessing or (truth >= 0).all() else -np.log(n_labels - 1)
    low = stats.norm.cdf(least, 1.0, 1.5)
    mean = stats.norm.ppf(low + (1 - low) * u[:, 0], 1.0, 1.5)
    ability_spread = stats.halfnorm.ppf(u[:, 1], scale=1.0)
    difficulty_spread = stats.halfnorm.ppf(u[:, 2], scale=1.5)
    at = 3
    ability = mean[:, None] + ability_spread[:, None] * stats.norm.ppf(u[:, at : at + n_people])
    at += n_people
    difficulty = difficulty_spread[:, None] * stats.norm.ppf(u[:, at : at + n_items])
    at += n_items
    share = _shares(u[:, at : at + n_labels - 1])
    at += n_labels - 1
    if_right = if_wrong = None
    if n_levels:
        if_right = _shares(u[:, at : at + n_levels - 1])
        if_wrong = _shares(u[:, at + n_levels - 1 : at + 2 * (n_levels - 1)])
    logit = ability[:, :, None] - difficulty[:, None, :]
    coefficient = stats.norm.ppf(u[:, n_dims - n_terms :], 0.0, 2.5)
    if n_terms:
        logit += np.einsum("jik,pk->pji", covariates, coefficient)
    odds = np.exp(logit)
    if guessing:
        odds += 1 / (n_labels - 1)
    accuracy = odds / (1 + odds)
    right = accuracy[:, annotator, item]
    wrong = (1 - right) / (n_labels - 1)
    if n_levels:
        right, wrong = right * if_right[:, level], wrong * if_wrong[:, level]
    joint = np.empty((len(u), n_items, n_labels))
    for i, z in product(range(n_items), range(n_labels)):
        mine = np.flatnonzero(item == i)
        each = np.where(label[mine] == z, right[:, mine], wrong[:, mine])
        joint[:, i, z] = share[:, z] * each.prod(axis=1)
        if truth[i] not in (-1, z):
            joint[:, i, z] = 0.0
    of_item = joint.sum(axis=2)
    weight = of_item.prod(axis=1)
    weight /= weight.sum()
    named = {
        "mean_ability": mean, "ability_spread": ability_spread,
        "difficulty_spread": difficulty_spread, "ability": ability, "difficulty": difficulty,
        "prevalence": share, "truth": joint / of_item[:, :, None],
        "accuracy": accuracy,
    }  # fmt: skip
    if n_terms:
        named["coefficient"] = coefficient
    if n_levels:
        named |= {"confidence_if_right": if_right, "confidence_if_wrong": if_wrong}
    return {name: np.tensordot(weight, x, (0, 0)) for name, x in named.items()}


def compare(posterior, runs):
    """Compare the draws of a fit with the means of several runs, in errors of both."""
    assert set(posterior.data_vars) == set(runs[0])
    for name in runs[0]:
        draws = posterior[name]
        ess = az.ess(draws.to_dataset(name="x"))["x"]
        of_chains = np.nan_to_num((draws.std(("chain", "draw")) / np.sqrt(ess)).to_numpy())
        expected = np.stack([run[name] for run in runs])
        error = np.hypot(of_chains, expected.std(axis=0, ddof=1) / np.sqrt(len(runs)))
        away = np.abs(draws.mean(("chain", "draw")).to_numpy() - expected.mean(axis=0))
        assert (away <= 4.5 * error + 0.003).all(), name


def _shares(u):
    """Draw evenly from the simplex by breaking a stick (point, part)."""
    n = u.shape[1] + 1
    out, rest = np.empty((len(u), n)), np.ones(len(u))
    for k in range(n - 1):
        part = stats.beta.ppf(u[:, k], 1, n - 1 - k)
        out[:, k], rest = rest * part, rest * (1 - part)
    out[:, -1] = rest
    return out
