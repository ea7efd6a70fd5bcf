"""Evaluations of rankings that violate the model.

``uv run python benchmarks/rankings_otherwise.py`` simulates lists of one to three of twelve labels
from `models.plackett_luce` and in ways that violate its assumptions. First table (80 items, four
lists, no predictions): the leading label's plausibility, its true share among first choices, and
the expected log score of a first choice minus the score of the true shares, with the prior learned
from whole lists and from first labels. Second table (60 items, three lists): coverage of 89 %
intervals of the share of items on which a system's label has the most first choices, by `evaluate`,
and with the prior of whole lists and without insight. One system is a member of the panel, whose
labels are first choices; two others have the label with the most first choices on .8 and .5 of the
items, and a random label on the others. Decision 0033 quotes both tables.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from machine import described
from real_data import PROB

import dissensus as dx
from dissensus.data.plausibility import space
from dissensus.families.rankings.process import prior_of

N_LABELS, N_CHOICES = 12, 20_000
QUICK: dict[str, Any] = {"draws": 300, "random_seed": 1, "progressbar": False}


class World(NamedTuple):
    """How utilities of labels are simulated."""

    gamma: bool = False
    """Whether strengths are gamma variates, as in the model, and not log-normal."""
    normal: bool = False
    """Whether noise is normal instead of Gumbel."""
    spread: float = 0.0
    """Standard deviation over items of the logarithm of the noise's scale."""
    later: float = 1.0
    """Factor of utilities in choices after the first."""
    first: float = 1.0
    """Factor of utilities in the first choice."""


WORLDS = {
    "the model": World(gamma=True),
    "normal log strengths": World(),
    "normal utilities": World(normal=True),
    "preferences differ in strength": World(normal=True, spread=1.0),
    "later labels nearer to chance": World(first=2.0, later=0.8),
}


def study(world: World, n_items: int, n_lists: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of lists, and shares of first choices (item, label)."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal if world.normal else rng.gumbel
    rows, shares = [], []
    for i in range(n_items):
        utility = rng.normal(0.0, 1.5, N_LABELS)
        if world.gamma:
            utility = np.log(rng.gamma(1.5 / N_LABELS, 1.0, N_LABELS) + 1e-12)
        noise = np.exp(world.spread * rng.standard_normal())
        firsts = world.first * utility + noise * draw(size=(N_CHOICES, N_LABELS))
        shares.append(np.bincount(firsts.argmax(axis=1), minlength=N_LABELS) / N_CHOICES)
        for who in range(n_lists):
            own = noise * draw(size=N_LABELS)
            top = int((world.first * utility + own).argmax())
            rest = own if world.first == world.later else noise * draw(size=N_LABELS)
            order = [k for k in np.argsort(-(world.later * utility + rest)) if k != top]
            listed = [top, *order][: rng.integers(1, 4)]
            rows += [(i, who, int(label), rank + 1) for rank, label in enumerate(listed)]
    return pd.DataFrame(rows, columns=["item", "annotator", "label", "rank"]), np.array(shares)


def read(rows: pd.DataFrame) -> Any:
    """Return the lists as annotations."""
    return dx.annotations(rows, rank="rank", labels=list(range(N_LABELS)))


def plausibilities(fit: Any) -> np.ndarray:
    """Return posterior means (item, label); labels of the remainder share its mean evenly."""
    mean = fit["posterior"]["plausibility"].mean(("chain", "draw")).transpose("item", ...)
    out = np.full((len(mean), N_LABELS), np.nan)
    for row, codes, values in zip(out, space(mean).codes, mean.to_numpy(), strict=True):
        row[codes[codes >= 0]] = values[codes >= 0]
        row[np.isnan(row)] = values[codes < 0].sum() / max(np.isnan(row).sum(), 1)
    return out


def leading(world: World, n_studies: int) -> np.ndarray:
    """Return (prior, number): leading labels' plausibility and true share, and the log score."""
    result = []
    for seed in range(n_studies):
        rows, truth = study(world, 80, 4, seed)
        ann = read(rows)
        for first_labels in (False, True):
            prior = prior_of(
                ann, predictions=None, chains=4, tune=500, first_labels=first_labels, **QUICK
            )
            fit = dx.models.plackett_luce.fit(ann, concentration=prior, **QUICK)
            plausibility = plausibilities(fit).clip(1e-6)
            share = np.take_along_axis(truth, plausibility.argmax(axis=1)[:, None], axis=1)
            loss = (truth * np.log(plausibility / truth.clip(1e-9))).sum(axis=1)
            result.append([plausibility.max(axis=1).mean(), share.mean(), loss.mean()])
    return np.reshape(result, (n_studies, 2, 3)).mean(axis=0)


def covered(world: World, n_studies: int) -> np.ndarray:
    """Return coverage (by `evaluate` or before, system)."""
    actual = []
    for seed in range(1000, 1000 + n_studies):
        rows, truth = study(world, 60, 3, seed)
        rng, top, items = np.random.default_rng(seed), truth.argmax(axis=1), np.arange(60)
        labels = {str(share): np.where(rng.random(60) < share, top, rng.integers(0, N_LABELS, 60))
                for share in (0.8, 0.5)}  # fmt: skip
        labels["member"] = np.array([rng.choice(N_LABELS, p=p / p.sum()) for p in truth])
        answers = pd.DataFrame(labels).melt(var_name="system", value_name="label")
        pred = dx.predictions(answers.assign(item=np.tile(items, len(labels))))
        ann = read(rows)
        result = dx.evaluate(ann, pred, reliability=[1.0], companion=None, **QUICK)
        now = result["metrics"]["top_1_accuracy"].sel(scope="these items").squeeze("reliability")
        fit = dx.models.plackett_luce.fit(ann, predictions=pred, **QUICK)
        for draws in (now, dx.top_k_accuracy(fit, pred)):
            low, high = draws.quantile([(1 - PROB) / 2, (1 + PROB) / 2], ("chain", "draw"))
            right = [(labels[name] == top).mean() for name in draws["system"].to_numpy()]
            actual.append(((low <= right) & (right <= high)).to_numpy())
    return np.reshape(actual, (n_studies, 2, len(labels))).mean(axis=0)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=15)
    n = parser.parse_args().studies
    warnings.simplefilter("ignore", dx.DissensusWarning)
    print("| world | whole lists: plausibility, share, log score | first labels: the same |")
    for name, world in WORLDS.items():
        whole, firsts = (", ".join(f"{x:.3f}" for x in row) for row in leading(world, n))
        print(f"| {name} | {whole} | {firsts} |", flush=True)
    print("| world | evaluate: .5, .8, member | whole lists, no insight: .5, .8, member |")
    for name, world in WORLDS.items():
        now, before = (", ".join(f"{x:.2f}" for x in row) for row in covered(world, n))
        print(f"| {name} | {now} | {before} |", flush=True)
    print(described())


if __name__ == "__main__":
    main()
