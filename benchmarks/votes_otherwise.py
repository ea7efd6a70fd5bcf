"""Coverage of intervals of win rates where votes do not follow the model.

``uv run python benchmarks/votes_otherwise.py`` simulates 600 votes by 40 voters on 10 systems and
30 prompts, in ways that `models.bradley_terry` does not assume, and asks for 89 % intervals of win
rates on these prompts: P(left wins) + P(tie) / 2, computed exactly, by a voter who does not click
at random, or by any voter. Beside it the model without voters and prompts: independent votes.

A voter sees the difference of two answers with noise, and calls a tie where it is less than a
threshold, which is the prompt's own.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from machine import described
from real_data import PROB
from scipy import stats

import dissensus as dx

N_SYSTEMS, N_PROMPTS, N_VOTERS, N_VOTES = 10, 30, 40, 600


class World(NamedTuple):
    """How votes come about."""

    noise: Any = stats.norm
    """Distribution of what a voter hears beside the difference."""
    quality: Callable[..., np.ndarray] | None = None
    """Qualities (prompt, system); normal effects around the systems' if None."""
    careless: float = 0.0
    """Share of voters who click at random."""
    matched: bool = False
    """Whether alike systems meet more often, as in an arena."""
    few_prompts: bool = False
    """Whether half of the votes are on three prompts."""
    tastes: float = 0.0
    """Standard deviation of what each voter thinks of a system in all votes, with normal noise."""
    any_voter: bool = False
    """Whether the true rate is by any voter, also by those who click at random."""


def of_two_kinds(rng: np.random.Generator, strength: np.ndarray) -> np.ndarray:
    """Prompts of two kinds, with another order of systems in each."""
    other = rng.normal(size=N_SYSTEMS)
    kind = np.arange(N_PROMPTS) % 3 == 0
    return np.where(kind[:, None], other, strength)


def of_outliers(rng: np.random.Generator, strength: np.ndarray) -> np.ndarray:
    """Answers that fail altogether, one in eight."""
    fails = rng.random((N_PROMPTS, N_SYSTEMS)) < 0.125
    return strength - 3.0 * fails


WORLDS = {
    "normal noise": World(),
    "heavy tails of the noise": World(noise=stats.t(2)),
    "a third of voters click at random": World(careless=1 / 3),
    "... and the rate is by any voter": World(careless=1 / 3, any_voter=True),
    "two kinds of prompts": World(quality=of_two_kinds),
    "answers that fail": World(quality=of_outliers),
    "alike systems meet": World(matched=True),
    "half of the votes on three prompts": World(few_prompts=True),
    "voters have tastes": World(tastes=0.7),
}


def simulated(world: World, rng: np.random.Generator) -> tuple[dict[str, Any], np.ndarray]:
    """Return votes, and the win rates by a typical voter on these prompts."""
    strength = rng.normal(size=N_SYSTEMS)
    if world.quality is None:
        quality = strength + 0.5 * rng.normal(size=(N_PROMPTS, N_SYSTEMS))
    else:
        quality = world.quality(rng, strength)
    threshold = rng.gamma(2.0, 0.25, N_PROMPTS)
    scale = np.exp(0.4 * rng.normal(size=N_VOTERS))
    careless = rng.random(N_VOTERS) < world.careless
    weight = np.ones(N_PROMPTS)
    if world.few_prompts:
        weight[:3] = (N_PROMPTS - 3) / 3
    prompt = rng.choice(N_PROMPTS, N_VOTES, p=weight / weight.sum())
    who = rng.integers(N_VOTERS, size=N_VOTES)
    left, right = np.array([rng.permutation(N_SYSTEMS)[:2] for _ in range(N_VOTES)]).T
    if world.matched:
        place = np.argsort(np.argsort(strength))
        near = rng.integers(1, 3, size=N_VOTES) * rng.choice([-1, 1], N_VOTES)
        at = np.clip(place[left] + near, 0, N_SYSTEMS - 1)
        right = np.argsort(strength)[np.where(at == place[left], (at + 1) % N_SYSTEMS, at)]
    gap = quality[prompt, left] - quality[prompt, right]
    if world.tastes:
        taste = world.tastes * rng.normal(size=(N_VOTERS, N_SYSTEMS))
        gap = gap + taste[who, left] - taste[who, right]
    heard = gap + scale[who] * world.noise.rvs(size=N_VOTES, random_state=rng)
    outcome = np.where(np.abs(heard) < threshold[prompt], 1, np.where(heard > 0, 0, 2))
    outcome = np.where(careless[who], rng.integers(3, size=N_VOTES), outcome)
    names = np.array([f"s{k}" for k in range(N_SYSTEMS)])
    votes = {
        "left": names[left], "right": names[right], "item": prompt, "who": who,
        "winner": np.array(["left", "tie", "right"])[outcome],
    }  # fmt: skip
    apart = quality[:, :, None] - quality[:, None, :]
    edge, spread = threshold[:, None, None], np.sqrt(1.0 + 2.0 * world.tastes**2)
    wins, loses = (world.noise.cdf((side - edge) / spread) for side in (apart, -apart))
    won = wins + 0.5 * (1.0 - wins - loses)
    each = (won.sum(axis=2) - 0.5) / (N_SYSTEMS - 1)
    chance = careless.mean() if world.any_voter else 0.0
    return votes, (1.0 - chance) * each.mean(axis=0) + chance / 2


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--only", default="", help="kinds of votes whose names hold this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    edges = (1 - PROB) / 2, (1 + PROB) / 2
    ways = {"voters and prompts": {}, "independent": {"annotators": False, "items": False}}
    print(described(), end="\n\n")
    print(
        "| votes | coverage, with "
        + " | width | coverage, ".join(ways)
        + " | width | root mean square error |"
    )
    print("|---|" + "--:|" * 5)
    for name, world in WORLDS.items():
        if options.only not in name:
            continue
        hold, width, error = ({way: [] for way in ways} for _ in range(3))
        for study in range(options.studies):
            votes, truth = simulated(world, np.random.default_rng([7, study]))
            read = dx.pairs(votes, item="item", annotator="who")
            for way, settings in ways.items():
                fit = dx.models.bradley_terry.fit(
                    read, draws=500, tune=300, chains=2, random_seed=study, progressbar=False,
                    **settings,
                )  # fmt: skip
                rate = dx.win_rate(fit).sel(system=[f"s{k}" for k in range(N_SYSTEMS)])
                low, high = rate.quantile(edges, ("chain", "draw")).to_numpy()
                hold[way].append((low <= truth) & (truth <= high))
                width[way].append(high - low)
                error[way].append(rate.mean(("chain", "draw")).to_numpy() - truth)
        parts = [f"{np.mean(hold[way]):.3f} | {np.mean(width[way]):.3f}" for way in ways]
        far = np.sqrt(np.mean(np.square(error["voters and prompts"])))
        print(f"| {name} | {' | '.join(parts)} | {far:.3f} |", flush=True)


if __name__ == "__main__":
    main()
