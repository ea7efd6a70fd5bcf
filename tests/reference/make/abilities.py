"""References for `rasch`: NUTS on the card's likelihood, unknown truths summed out.

Abilities and difficulties are standard normal variables times their spread. Given all truths,
prevalence is a Beta variate and takes no part in the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from reference.make import nuts
from reference.make.summaries import exactly, of_distribution
from reference.make.writer import Quantity, columns, spelled, write
from scipy import stats

SAID = ["000", "001", "110", "111", "10.", "0.1"]
"""A label for each annotator on each item; a point where there is none."""
TRUTH = [0, 0, 1, 1, 1, 0]
SEED = 20261123
FORMS = {
    "truth known": {"known": range(6), "guessing": False},
    "truth known, guessing": {"known": range(6), "guessing": True},
    "truth unknown": {"known": (), "guessing": True},
    "truth of some known": {"known": (1, 2), "guessing": True},
}
"""Two labels: the odds of a guess are 1."""
N_ITEMS, N_PEOPLE = len(SAID), 3


def main() -> None:
    for form, settings in FORMS.items():
        reference(form, **settings)


def declare(known: Any, guessing: bool) -> None:
    import pymc as pm
    import pytensor.tensor as pt

    mean = pm.Normal("mean_ability", 1.0, 1.5)
    spread = pm.HalfNormal("ability_spread", 1.0)
    hard = pm.HalfNormal("difficulty_spread", 1.5)
    ability = pm.Deterministic("ability", mean + spread * pm.Normal("a", shape=N_PEOPLE))
    difficulty = pm.Deterministic("difficulty", hard * pm.Normal("b", shape=N_ITEMS))
    odds = pt.exp(ability[:, None] - difficulty[None, :]) + float(guessing)
    right = pm.Deterministic("accuracy", odds / (1 + odds))
    log_right, log_wrong = pt.log(right), pt.log1p(-right)
    known = set(known)
    if len(known) < N_ITEMS:
        first = pm.Uniform("first", 0.0, 1.0)
        share = pm.Deterministic("prevalence", pt.stack([first, 1 - first]))
    truths = [None] * N_ITEMS
    for i, row in enumerate(SAID):
        log = [
            sum((log_right if int(y) == z else log_wrong)[j, i]
                for j, y in enumerate(row) if y != ".")
            for z in range(2)
        ]  # fmt: skip
        if len(known) < N_ITEMS:
            log = [each + pt.log(share[z]) for z, each in enumerate(log)]
        if i in known:
            pm.Potential(f"item_{i}", log[TRUTH[i]])
            truths[i] = pt.as_tensor(float(TRUTH[i]))
        else:
            pm.Potential(f"item_{i}", pt.logaddexp(log[0], log[1]))
            truths[i] = pt.sigmoid(log[1] - log[0])
    pm.Deterministic("second_is_true", pt.stack(truths))


def reference(form: str, known: Any, guessing: bool) -> None:
    run = nuts.sampled(lambda: declare(known, guessing), seed=SEED, draws=25_000)
    dims: dict[str, tuple[str, ...]] = {
        "mean_ability": (), "ability_spread": (), "difficulty_spread": (),
        "ability": ("annotator",), "difficulty": ("item",), "accuracy": ("annotator", "item"),
    }  # fmt: skip
    everything = len(known) == N_ITEMS
    dims |= {} if everything else {"prevalence": ("label",)}
    draws = {name: (dim, nuts.values(run, name)) for name, dim in dims.items()}
    names: dict[str, list[Any]] = {
        "item": [f"i{i}" for i in range(N_ITEMS)], "label": [0, 1],
        "annotator": [f"a{j}" for j in range(N_PEOPLE)],
    }  # fmt: skip
    stored = nuts.quantities(draws, names)
    if everything:
        ones = sum(TRUTH)
        for label, n in enumerate((N_ITEMS - ones, ones)):
            beta = of_distribution(stats.beta(1 + n, 1 + N_ITEMS - n))
            stored.append(Quantity("prevalence", {"label": label}, beta))
    else:
        stored += _truths(nuts.values(run, "second_is_true"), known)
    wrong = {"priors": {"difficulty_spread": ["half_normal", 1.3 * 1.5]}}
    write(
        "rasch", form, question="How able is each annotator, and how difficult each item?",
        data=_data(known), hyper={"guessing": guessing}, script=__file__, seed=SEED,
        wrong=wrong if form == "truth known" else None,
        method="NUTS on a likelihood written from the card, truths summed out, nothing centred",
        criteria=nuts.criteria(run, [v for _, v in draws.values()]), quantities=stored,
        packages=nuts.packages(),
    )  # fmt: skip


def _truths(second: Any, known: Any) -> list[Quantity]:
    """Give the mean only: of what a draw's probability is given, the library has more to say."""
    import arviz_stats

    out = []
    for i in range(N_ITEMS):
        at = {"item": f"i{i}", "label": 1}
        if i in set(known):
            result = exactly(mean=TRUTH[i])
        else:
            draws = np.ascontiguousarray(second[..., i])
            result = {"mean": (float(draws.mean()), float(arviz_stats.mcse(draws)))}
        out.append(Quantity("truth", at, result))
    return out


def _data(known: Any) -> dict[str, Any]:
    data = {"columns": columns(spelled(SAID)), "options": {"kind": "nominal", "labels": [0, 1]}}
    return data | ({"truth": {f"i{i}": TRUTH[i] for i in known}} if len(known) else {})
