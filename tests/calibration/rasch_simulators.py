"""How to draw a study from a Rasch model's prior, and what to ask of its fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from calibration.harness import Case, Floats
from scipy import special, stats

import dissensus as dx

MODEL: Final = "rasch"
FORMS: Final = (
    "truth known", "truth known, guesses", "truth unknown", "truth unknown, no guesses",
    "truth of some known", "confidence", "truth known, covariates",
    "truth of some known, covariates",
)  # fmt: skip
"""Those with covariates are written by hand where a truth is known: as written, a known truth would
not depend on the prevalence that is drawn. Without truths and guesses they are left out: chains
hold to one of several modes in two of seven studies (r-hat 1.6), so that places are not uniform."""
ITEMS, PEOPLE, LEVELS = 15, 4, 3
_THIN: Final = {"truth known": 8, "truth known, guesses": 15, "truth of some known": 15}


class World(NamedTuple):
    """Parameters drawn from the prior, by the names of the posterior, and what came of them."""

    parameters: dict[str, Any]
    truth: Any
    codes: dict[str, Any]
    level: Any
    guessing: bool
    covariates: Any  # (label, term), centred; no term without a formula
    options: dict[str, Any]  # The formula, and the tables


def case(form: str, rng: np.random.Generator) -> Case:
    """Draw a study; of all labels a fifth are left out."""
    n_labels = int(rng.integers(2, 4))
    base = form.removesuffix(", covariates")
    all_known = base.startswith("truth known")
    guessing = base not in ("truth known", "truth unknown, no guesses")
    world = _world(rng, n_labels, all_known=all_known, guessing=guessing, regress=base != form)
    table = pd.DataFrame(world.codes)
    confidence = form == "confidence"
    table["confidence"] = (world.level + 1) / LEVELS
    ann = dx.annotations(
        table, confidence="confidence", kind="nominal", labels=list(range(n_labels))
    )
    n_known = ITEMS if all_known else 5 * (base == "truth of some known")
    known = {i: int(world.truth[i]) for i in range(n_known)}
    levels = [k for k in range(LEVELS) if (world.level == k).any()]
    ask = partial(_questions, world, known, levels if confidence and len(levels) == LEVELS else [])
    settings = {"truth": known, "confidence": confidence, "guessing": guessing, **world.options}
    return Case(ann, settings, ask, thin=_THIN.get(form, 20))


def _world(
    rng: np.random.Generator, n_labels: int, *, all_known: bool, guessing: bool, regress: bool
) -> World:
    least = -np.inf if all_known or guessing else -np.log(n_labels - 1)
    low = stats.norm.cdf(least, 1.0, 1.5)
    mean = float(stats.norm.ppf(rng.uniform(low, 1.0), 1.0, 1.5))
    spread, difficulty_spread = abs(rng.normal(0.0, 1.0)), abs(rng.normal(0.0, 1.5))
    ability = rng.normal(mean, spread, PEOPLE)
    difficulty = rng.normal(0.0, difficulty_spread, ITEMS)
    prevalence = rng.dirichlet(np.ones(n_labels))
    if_right, if_wrong = rng.dirichlet(np.ones(LEVELS), 2)
    truth = rng.choice(n_labels, ITEMS, p=prevalence)
    item, annotator = np.divmod(np.arange(ITEMS * PEOPLE), PEOPLE)
    keep = rng.random(len(item)) < 0.8
    keep[annotator == 0] = True  # everybody labels something, and every item is labelled
    keep[item == 0] = True
    item, annotator = item[keep], annotator[keep]
    x, options = _covariates(rng, item, annotator) if regress else (np.empty((len(item), 0)), {})
    coefficient = rng.normal(0.0, 2.5 / x.std(axis=0))
    above = ability[annotator] - difficulty[item] + x @ coefficient
    right = rng.logistic(size=len(item)) < above
    if guessing:  # odds of being right are those and a guess's
        odds = np.exp(above) + 1 / (n_labels - 1)
        right = rng.random(len(item)) < odds / (1 + odds)
    other = (truth[item] + rng.integers(1, n_labels, len(item))) % n_labels
    either = [rng.choice(LEVELS, len(item), p=p) for p in (if_wrong, if_right)]
    return World(
        {
            "mean_ability": mean, "ability_spread": spread, "difficulty_spread": difficulty_spread,
            "ability": ability, "difficulty": difficulty, "prevalence": prevalence,
            "confidence_if_right": if_right, "confidence_if_wrong": if_wrong,
            "coefficient": coefficient,
        },
        truth,
        {"item": item, "annotator": annotator, "label": np.where(right, truth[item], other)},
        np.where(right, either[1], either[0]),
        guessing,
        x,
        options,
    )  # fmt: skip


def _covariates(rng: np.random.Generator, item: Any, annotator: Any) -> tuple[Any, dict[str, Any]]:
    """Draw covariates of items and annotators; return those of labels, and what a fit is told."""
    words, age = rng.normal(size=ITEMS), rng.normal(size=PEOPLE)
    x = np.stack([words[item], age[annotator], words[item] * age[annotator]], axis=1)
    return x - x.mean(axis=0), {
        "formula": "~ words * age", "items": {"item": range(ITEMS), "words": words},
        "annotators": {"annotator": range(PEOPLE), "age": age},
    }  # fmt: skip


def _questions(
    world: World, known: Mapping[int, int], levels: list[int], fit: xr.DataTree
) -> Mapping[str, tuple[Floats, Floats]]:
    """Ask of parameters, and of how probable the labels are under them."""
    posterior = fit["posterior"].to_dataset()

    def question(name: str, *place: int) -> tuple[Floats, Floats]:
        draws = posterior[name].to_numpy().reshape(-1, *posterior[name].shape[2:])
        true = np.asarray(world.parameters[name], dtype=np.float64)
        return draws[(slice(None), *place)][:, None], np.asarray(true[place]).reshape(1)

    out = {
        name: question(name) for name in ("mean_ability", "ability_spread", "difficulty_spread")
    } | {
        "ability": question("ability", 1), "difficulty": question("difficulty", 2),
        "prevalence": question("prevalence", 0),
    }  # fmt: skip
    if world.options:
        out |= {f"coefficient[{k}]": question("coefficient", k) for k in range(3)}
    if levels:
        out |= {name: question(name, 0) for name in ("confidence_if_right", "confidence_if_wrong")}
    log_likelihood = fit["sample_stats"]["log_likelihood"].to_numpy().ravel()
    with_levels = "confidence_if_right" in posterior
    if not with_levels or levels:
        true = np.array([_log_likelihood(world, known, with_levels)])
        out["log-likelihood"] = log_likelihood[:, None], true
    return out


def _log_likelihood(world: World, known: Mapping[int, int], with_levels: bool) -> float:
    """Return that of the labels under the true parameters, unknown truths summed out."""
    p, codes = world.parameters, world.codes
    n = len(p["prevalence"])
    log_odds = p["ability"][codes["annotator"]] - p["difficulty"][codes["item"]]
    log_odds = log_odds + world.covariates @ p["coefficient"]
    if world.guessing:
        log_odds = np.logaddexp(log_odds, -np.log(n - 1))
    right = special.log_expit(log_odds)
    wrong = special.log_expit(-log_odds) - np.log(n - 1)
    if with_levels:
        right = right + np.log(p["confidence_if_right"])[world.level]
        wrong = wrong + np.log(p["confidence_if_wrong"])[world.level]
    table = np.log(p["prevalence"])[None].repeat(ITEMS, axis=0)
    for z in range(n):
        np.add.at(table[:, z], codes["item"], np.where(codes["label"] == z, right, wrong))
    whole = special.logsumexp(table, axis=1)
    for item, z in known.items():
        whole[item] = table[item, z]
    return float(whole.sum())


SIMULATORS: Final = {f"{MODEL}: {form}": partial(case, form) for form in FORMS}
