"""Votes on pairs of real systems: time on one core, and predictions of votes that were left out.

``NUMBA_NUM_THREADS=1 taskset -c 1 uv run --with choix --with evalica python benchmarks/votes.py
--shared FOLDER`` prints three tables.

Time: `models.bradley_terry.fit` beside 100 bootstraps (votes drawn with replacement) of maximum
likelihood, by `bradley_terry.maximum_likelihood`, choix and evalica (a tie is half a win each).

With ``--part sweeps``, milliseconds a sweep of 6,000 simulated votes on 20 systems, by how many
votes each voter, or each prompt, has. With ``--part agree``, how far maximum likelihood is from
theirs where the models are the same: votes without ties.

Scores: mean log probability of the outcomes (win, tie, loss) of votes left out by voter, prompt or
pair of systems. Voters and prompts without votes in the fit have new effects, from the spreads of
each draw; tastes are new for all voters. Standard errors take votes of a fold together. "Constant
share of ties": P(tie) = c, P(left) = (1 - c) logistic(k (s_l - s_r)); strengths s are maximum
likelihood with ties as half a win each, c and k the most probable for the votes that are not left
out. "Own ties of prompts": Davidson's model by maximum likelihood, and then a tendency to ties for
each prompt, with a normal prior (1) about the common one.

Coverage: 89 % predictive intervals of a system's share of votes on a prompt that is left out, for
systems with at least 10 votes there: same voters and pairs. "If right" is how often they contain
the simulated shares: more than .89, since few votes have few possible shares.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import arviz as az
import choix
import evalica
import numpy as np
import pandas as pd
from machine import described
from real_data import PROB
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, softmax

import dissensus as dx

FOLDS = 10
LEAST = 10  # votes that a system has on a prompt at least
REPEATS = 3
AGAIN = 5  # new effects for each draw of the posterior
SETS = {"LLMFAO": "llmfao_votes/crowd.csv.gz", "MT-Bench": "mtbench_votes/human.csv.gz"}
COLUMNS = {"worker": "voter", "judge": "voter", "model_a": "left", "model_b": "right"}
OUTCOMES = {"left": 0, "model_a": 0, "tie": 1, "right": 2, "model_b": 2}
FORMS: dict[str, dict[str, bool]] = {
    "default: voters and prompts": {},
    "prompts only": {"annotators": False},
    "voters only": {"items": False},
    "neither": {"annotators": False, "items": False},
}
SHARES = {"won": [1.0, 0.0, 0.0], "won, ties half": [1.0, 0.5, 0.0], "tied": [0.0, 1.0, 0.0]}
votes = partial(dx.pairs, annotator="voter", item="item")
model = dx.models.bradley_terry


def read(folder: Path, name: str) -> pd.DataFrame:
    """Return votes with codes of outcomes and names of pairs without an order."""
    table = pd.read_csv(folder / SETS[name]).rename(columns=COLUMNS)
    item = ["prompt"] if "prompt" in table else ["question_id", "turn"]
    # Letters in front, because names in digits are read as numbers.
    table["item"] = "p" + table[item].astype(str).agg("-".join, axis=1)
    table["voter"] = "v" + table["voter"].astype(str)
    table["pair"] = [" / ".join(sorted(pair)) for pair in table[["left", "right"]].to_numpy()]
    table["outcome"] = table["winner"].map(OUTCOMES)
    return table.assign(winner=table["outcome"].map(dict(enumerate(("left", "tie", "right")))))


def by_model(seen: pd.DataFrame, out: pd.DataFrame, seed: int, form: dict[str, bool]) -> np.ndarray:
    """Return the probabilities (draw, vote, outcome) of votes left out."""
    post = model.fit(
        votes(seen), draws=300, tune=200, chains=2, random_seed=seed, progressbar=False, **form
    )["posterior"].dataset
    rng, systems = np.random.default_rng([seed, 1]), post["system"].to_numpy()

    def flat(name: str) -> np.ndarray:
        values = post[name].to_numpy()
        return np.repeat(values.reshape(-1, *values.shape[2:]), AGAIN, axis=0)

    def effects(name: str, spread: str, dim: str, column: str) -> tuple[np.ndarray, Any]:
        """Return effects (draw, name, ...), new ones of names unknown to the fit, and codes."""
        names, code = np.unique(out[column].to_numpy(), return_inverse=True)
        place = pd.Index(post[dim].to_numpy()).get_indexer(names)
        assert ((place >= 0) == np.isin(names, seen[column])).all(), column
        values = np.log(flat(name)) if name == "annotator_sharpness" else flat(name)
        sd = flat(spread).reshape(-1, *[1] * (values.ndim - 1))
        drawn = rng.normal(size=(len(values), len(names), *values.shape[2:])) * sd
        drawn[:, place >= 0] = values[:, place[place >= 0]]
        return drawn, code

    ahead, tie = ahead_in(flat("strength"), out, systems), flat("tie")[:, None]
    left, right = (np.searchsorted(systems, out[side]) for side in ("left", "right"))
    if "annotator_taste_spread" in post:  # drawn anew for all voters: fits do not keep them
        names, code = np.unique(out["voter"].to_numpy(), return_inverse=True)
        taste = rng.normal(size=(len(ahead), len(names), len(systems)))
        taste *= flat("annotator_taste_spread")[:, None, None]
        ahead += taste[:, code, left] - taste[:, code, right]
    if "item_spread" in post:
        effect, code = effects("item_effect", "item_spread", "item", "item")
        ahead += effect[:, code, left] - effect[:, code, right]
        of_item, _ = effects("item_tie", "item_tie_spread", "item", "item")
        tie = tie + of_item[:, code]
    if "sharpness_spread" in post:
        sharp, code = effects("annotator_sharpness", "sharpness_spread", "annotator", "voter")
        own, _ = effects("annotator_tie", "annotator_tie_spread", "annotator", "voter")
        ahead, tie = ahead * np.exp(sharp[:, code]), tie + own[:, code]
    return davidson(ahead, tie)


def davidson(ahead: np.ndarray, tie: Any) -> np.ndarray:
    """Return the probabilities of left, tie and right."""
    logits = [ahead / 2, np.broadcast_to(tie, ahead.shape), -ahead / 2]
    return softmax(np.stack(logits, axis=-1), axis=-1)


def ahead_in(strength: np.ndarray, table: pd.DataFrame, systems: np.ndarray) -> np.ndarray:
    """Return by how much the left system of each vote is ahead."""
    left, right = (np.searchsorted(systems, table[side]) for side in ("left", "right"))
    return strength[..., left] - strength[..., right]


def wins(table: pd.DataFrame, systems: np.ndarray) -> np.ndarray:
    """Return how often each system won against each, a tie being half a win each."""
    left, right = (np.searchsorted(systems, table[side]) for side in ("left", "right"))
    n, won = len(systems), 1.0 - table["outcome"].to_numpy() / 2
    flat = np.bincount(left * n + right, won, n * n) + np.bincount(right * n + left, 1 - won, n * n)
    return flat.reshape(n, n)


def by_constant(seen: pd.DataFrame, out: pd.DataFrame, equal: bool = False) -> np.ndarray:
    """Return probabilities with ties as half a win each, and a constant share of ties."""
    systems, share = np.unique(seen[["left", "right"]]), (seen["outcome"] == 1).mean()
    strength, decided = choix.ilsr_pairwise_dense(wins(seen, systems)), seen[seen["outcome"] != 1]
    favoured = (1.0 - decided["outcome"]) * ahead_in(strength, decided, systems)
    best = minimize_scalar(lambda k: -log_expit(k * favoured).sum(), bounds=(0, 20))
    k = 0.0 if equal else best.x
    p = (1 - share) * expit(k * ahead_in(strength, out, systems))
    return np.stack([p, np.full(len(p), share), 1 - share - p], axis=-1)


def by_davidson(seen: pd.DataFrame, out: pd.DataFrame, own: bool = False) -> np.ndarray:
    """Return probabilities with Davidson's ties; ``own``: prompts differ, new ones do not."""
    best = model.maximum_likelihood(votes(seen))
    strength, systems = best["strength"].to_numpy(), best["system"].to_numpy()
    names, code = np.unique(seen["item"], return_inverse=True)
    common, more, tied = float(best["tie"]), np.zeros(len(names)), seen["outcome"] == 1
    for _ in range(50 if own else 0):  # Newton's method
        p = davidson(ahead_in(strength, seen, systems), common + more[code])[:, 1]
        more += (np.bincount(code, tied - p) - more) / (np.bincount(code, p * (1 - p)) + 1.0)
    place = pd.Index(names).get_indexer(out["item"])
    tie = common + np.where(place >= 0, more[place], 0.0)
    return davidson(ahead_in(strength, out, systems), tie)


POINTS: dict[str, Callable[[pd.DataFrame, pd.DataFrame], np.ndarray]] = {
    "maximum likelihood, Davidson": by_davidson,
    "... constant share of ties": by_constant,
    "... own ties of prompts": partial(by_davidson, own=True),
    "all systems equal": partial(by_constant, equal=True),
}


def folds(table: pd.DataFrame, by: str) -> np.ndarray:
    """Return the fold of each vote; each prompt is one."""
    names, code = np.unique(table[by], return_inverse=True)
    fold = np.random.default_rng(1).permutation(len(names))
    return (fold if by == "item" else fold % FOLDS)[code]


def difference(values: np.ndarray, fold: np.ndarray) -> str:
    """Write a mean and its standard error, values being alike within folds."""
    sums = np.bincount(fold, values - values.mean())
    error = np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(values)
    return f"{values.mean():+.4f} ± {error:.4f}"


def scores(name: str, table: pd.DataFrame, by: str) -> list[str]:
    """Print a row for each way to predict votes left out; return rows of the coverage."""
    lines: list[str] = []
    fold = folds(table, by)
    logs = {way: np.empty(len(table)) for way in [*FORMS, *POINTS]}
    result: dict[tuple[str, str], list[np.ndarray]] = {(f, s): [] for f in FORMS for s in SHARES}
    for number in np.unique(fold):
        left_out = fold == number
        seen, out = table[~left_out], table[left_out]
        at = np.arange(len(out)), out["outcome"].to_numpy()
        for form, settings in FORMS.items():
            p = by_model(seen, out, number, settings)
            logs[form][left_out] = np.log(p.mean(axis=0)[at])
            for share in SHARES if by == "item" else ():
                result[form, share].append(held(p, out, SHARES[share]))
        for way, predict in POINTS.items():
            logs[way][left_out] = np.log(predict(seen, out)[at])
    each = 1.0 / table.groupby("voter")["voter"].transform("size").to_numpy()
    for way, log in logs.items():
        more = log - logs["neither"]
        print(f"| {name} | {by} | {way} | {log.mean():.4f} | {difference(more, fold)} | "
              f"{difference(more * each / each.mean(), fold)} |", flush=True)  # fmt: skip
    for (form, share), parts in result.items() if by == "item" else ():
        inside, right, width = np.hstack(parts).mean(axis=1)
        prompts = [part[0].mean() for part in parts]
        lines.append(f"| {name} | {form} | {share} | {inside:.3f} | {right:.3f} | "
                     f"{min(prompts):.2f} to {max(prompts):.2f} | {width:.3f} |")  # fmt: skip
    return lines


def held(p: np.ndarray, out: pd.DataFrame, worth: list[float]) -> np.ndarray:
    """Return whether intervals contain shares (of votes, of simulated votes), and their widths."""
    value, rng = np.array(worth), np.random.default_rng(2)
    systems = np.unique(out[["left", "right"]])
    left, right = (out[side].to_numpy()[:, None] == systems for side in ("left", "right"))
    n = (left | right).sum(axis=0)
    drawn = (rng.uniform(size=(*p.shape[:2], 1)) >= np.cumsum(p, axis=-1)[..., :2]).sum(axis=-1)
    drawn = np.vstack([out["outcome"], drawn])
    share = ((value[drawn] @ left + value[2 - drawn] @ right) / n)[:, n >= LEAST]
    low, high = np.quantile(share[1:], [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
    inside = (share >= low - 1e-9) & (share <= high + 1e-9)
    return np.stack([inside[0], inside[1:].mean(axis=0), high - low])


def estimators(table: pd.DataFrame) -> dict[str, Callable[[pd.DataFrame], object]]:
    """Return maximum likelihood by name."""
    systems, winner = np.unique(table[["left", "right"]]), evalica.Winner
    n, words = len(systems), np.array([winner.X, winner.Draw, winner.Y], dtype=object)

    def twice(t: pd.DataFrame) -> list[tuple[int, int]]:
        """Return each vote as two (winner, loser)."""
        left, right = (np.searchsorted(systems, t[side]).tolist() for side in ("left", "right"))
        rows = zip(left, right, t["outcome"], strict=True)
        return [(b, a) if lost > half else (a, b) for a, b, lost in rows for half in (0, 1)]

    return {
        "bradley_terry.maximum_likelihood": lambda t: model.maximum_likelihood(votes(t)),
        "choix.ilsr_pairwise_dense": lambda t: choix.ilsr_pairwise_dense(wins(t, systems)),
        "evalica.bradley_terry": lambda t: evalica.bradley_terry(
            t["left"], t["right"], words[t["outcome"]].tolist()
        ),
        "choix.ilsr_pairwise": lambda t: choix.ilsr_pairwise(n, twice(t)),
        "choix.mm_pairwise": lambda t: choix.mm_pairwise(n, twice(t)),
    }


def clocked(call: Callable[..., Any], repeats: int = REPEATS) -> tuple[list[Any], str]:
    """Return results, and processor seconds (median and range) and wall seconds (median)."""
    results, busy, wall = [], [], []
    for seed in range(repeats):
        start, begin = time.process_time(), time.perf_counter()
        results.append(call(random_seed=seed))
        busy.append(time.process_time() - start)
        wall.append(time.perf_counter() - begin)
    return results, (f"{statistics.median(busy):.1f} ({min(busy):.1f} to {max(busy):.1f}) | "
                     f"{statistics.median(wall):.1f}")  # fmt: skip


def agree(table: pd.DataFrame) -> None:
    """Print how far maximum likelihood of votes without ties is from the peers', which is alike."""
    decided = table[table["outcome"] != 1]
    systems, peers = np.unique(decided[["left", "right"]]), estimators(decided)
    ours = peers.pop("bradley_terry.maximum_likelihood")(decided)["strength"]
    ours = ours.sel(system=systems).to_numpy()
    for name, peer in peers.items():
        result = peer(decided)
        if name.startswith("evalica"):
            result = np.log(pd.Series(result.scores).loc[systems].to_numpy())
        apart = (ours - ours.mean()) - (np.asarray(result) - np.mean(result))
        print(f"| {name} | {np.abs(apart).max():.1g} |", flush=True)


def times(table: pd.DataFrame) -> None:
    """Print a row for each number of sweeps, and for each peer."""
    fit = partial(model.fit, votes(table), progressbar=False)
    fit(draws=5, tune=5)  # loads compiled kernels
    for tune, draws in ((200, 300), (250, 500), (500, 1000)):
        fits, seconds = clocked(partial(fit, draws=draws, tune=tune))
        kept = [made["posterior"].dataset[["strength"]] for made in fits]
        size = statistics.median(float(az.ess(x, method="bulk")["strength"].min()) for x in kept)
        r_hat = max(float(az.rhat(x)["strength"].max()) for x in kept)
        print(f"| posterior, 4 x ({tune} + {draws}) | {seconds} | {size:,.0f} of {4 * draws:,} | "
              f"{r_hat:.3f} |", flush=True)  # fmt: skip
    for name, estimate in estimators(table).items():

        def bootstraps(random_seed: int, estimate: Any = estimate) -> None:
            rng, n = np.random.default_rng(random_seed), len(table)
            for _ in range(100):
                estimate(table.iloc[rng.integers(n, size=n)])

        seconds = clocked(bootstraps, 1 if "mm" in name else REPEATS)[1]
        print(f"| 100 x {name} | {seconds} | | |", flush=True)


def sweeps() -> None:
    """Print a row for each number of votes of a voter or prompt."""
    rng, n = np.random.default_rng(1), 6000
    strength, left = rng.normal(size=20), rng.integers(20, size=n)
    right = (left + rng.integers(1, 20, n)) % 20
    for each in (2, 3, 8, 24, 100):
        whose = np.arange(n) % (n // each)
        ahead = strength[left] - strength[right]
        logits = np.stack([ahead / 2, rng.normal(-0.4, 0.7, n)[whose], -ahead / 2], axis=1)
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        columns = {"left": left, "right": right, "voter": whose, "item": whose}
        table = pd.DataFrame({name: [f"n{k}" for k in code] for name, code in columns.items()})
        table["winner"] = np.array(["left", "tie", "right"])[labels]
        for form in ({"items": False}, {"annotators": False}):
            fit = partial(
                model.fit, votes(table), chains=1, progressbar=False, keep_items=False, **form
            )
            fit(draws=5, tune=5)
            seconds = [time.process_time()]
            for draws in (100, 500, 100, 500):
                fit(draws=draws, tune=0, random_seed=draws)
                seconds.append(time.process_time())
            few, many = np.diff(seconds).reshape(2, 2).min(axis=0)
            who = "prompt" if form.get("annotators") is False else "voter"
            print(f"| {each} for each {who} | {(many - few) / 0.4:.2f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, required=True, help="the folder of real sets")
    parser.add_argument("--part", nargs="*", default=["time", "scores"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(described(), end="\n\n")
    if "time" in options.part:
        print("| LLMFAO | processor seconds | wall | smallest effective sample | r-hat |")
        print("|---|--:|--:|--:|--:|", flush=True)
        times(read(options.shared, "LLMFAO"))
    if "sweeps" in options.part:
        print("\n| votes | milliseconds a sweep |\n|---|--:|")
        sweeps()
    if "agree" in options.part:
        for name in ("LLMFAO", "MT-Bench"):
            print(f"\n| {name} | largest difference of log strengths |\n|---|--:|")
            agree(read(options.shared, name))
    if "scores" in options.part:
        print("\n| votes | by | method | score | more than neither | all voters the same |")
        print("|---|---|---|--:|--:|--:|", flush=True)
        lines = []
        for name, by in (("LLMFAO", "item"), ("LLMFAO", "voter"), ("LLMFAO", "pair"),
                         ("MT-Bench", "voter"), ("MT-Bench", "pair")):  # fmt: skip
            lines += scores(name, read(options.shared, name), by)
        print("\n| votes | method | share | inside | if right | by prompt | mean width |")
        print("|---|---|---|--:|--:|--:|--:|", *lines, sep="\n")


if __name__ == "__main__":
    main()
