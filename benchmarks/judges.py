"""Win rates from a judge's verdicts on all pairs and people's votes on some, on real sets.

``uv run --with ppi-python python benchmarks/judges.py --shared FOLDER`` draws n of the pairs that
people voted on, again and again, gives `models.bradley_terry` those votes and the judge's verdicts
on all pairs, and asks for the 89 % interval of each system's win rate by people's votes on all
pairs (of several votes on a pair, that of most; ties half). Beside it: `ppi_py` (PPI++), if the
interpreter has it, and the votes alone (a conjugate Dirichlet of win, tie and loss).

``--panel`` takes only pairs with three votes or more, gives the model one person's vote on each of
n of them, and asks for the win rate by the majority of all votes: people are noisy, and the panel
is known.
"""

from __future__ import annotations

import argparse
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from machine import described
from real_data import PROB

import dissensus as dx

SIDES = {1.0: "left", 0.5: "tie", 0.0: "right"}
COLUMNS = ["item", "left", "right"]


def mtbench(folder: Path) -> pd.DataFrame:
    """Votes of people and GPT-4's verdicts: 1,814 pairs of six models."""
    parts = []
    for name in ("human", "gpt4"):
        table = pd.read_csv(folder / "mtbench_votes" / f"{name}.csv.gz")
        parts.append(pd.DataFrame({
            "item": table["question_id"].astype(str) + "-" + table["turn"].astype(str),
            "left": table["model_a"], "right": table["model_b"],
            name: table["winner"].map({"model_a": 1.0, "model_b": 0.0}).fillna(0.5),
        }))  # fmt: skip
    people = parts[0].groupby(COLUMNS)["human"].mean().reset_index()
    return people.merge(parts[1], on=COLUMNS).rename(columns={"human": "vote", "gpt4": "verdict"})


def pandalm(folder: Path, judge: str) -> pd.DataFrame:
    """Labels of three people and a judge's verdicts: 999 pairs of five models."""
    items = pd.read_csv(folder / "pandalm" / "items.csv").set_index("item")
    ratings = pd.read_csv(folder / "pandalm" / "ratings.csv")
    judged = pd.read_csv(folder / "pandalm" / "predictions.csv").set_index("item")[judge]
    sides = {"1": 1.0, "2": 0.0}
    people = ratings["label"].astype(str).map(sides).fillna(0.5).groupby(ratings["item"]).mean()
    out = pd.DataFrame({
        "left": items["system_1"], "right": items["system_2"], "vote": people,
        "verdict": judged.astype(str).map(sides).fillna(0.5),
    }).reset_index()  # fmt: skip
    return out[out["left"] != out["right"]].reset_index(drop=True)


def votes_of(folder: Path, name: str) -> pd.DataFrame:
    """Return single votes, with who cast them: columns of a pair, voter and vote."""
    if name.startswith("mtbench"):
        table = pd.read_csv(folder / "mtbench_votes" / "human.csv.gz")
        return pd.DataFrame({
            "item": table["question_id"].astype(str) + "-" + table["turn"].astype(str),
            "left": table["model_a"], "right": table["model_b"], "voter": table["judge"],
            "vote": table["winner"].map({"model_a": 1.0, "model_b": 0.0}).fillna(0.5),
        })  # fmt: skip
    items = pd.read_csv(folder / "pandalm" / "items.csv").set_index("item")
    ratings = pd.read_csv(folder / "pandalm" / "ratings.csv")
    out = ratings.join(items, on="item").rename(
        columns={"system_1": "left", "system_2": "right", "annotator": "voter"}
    )
    out["vote"] = ratings["label"].astype(str).map({"1": 1.0, "2": 0.0}).fillna(0.5)
    return out[[*COLUMNS, "voter", "vote"]]


def by_panel(table: pd.DataFrame, votes: pd.DataFrame, n: int, times: int) -> None:
    """Print how often intervals contain the win rate by the panel's majority, from single votes."""
    count = votes.groupby(COLUMNS)["vote"].size().rename("count").reset_index()
    table = table.merge(count[count["count"] >= 3], on=COLUMNS).reset_index(drop=True)
    if n > len(table):
        return
    systems = sorted(set(table["left"]) | set(table["right"]))
    majority = np.where(table["vote"] > 0.5, 1.0, np.where(table["vote"] < 0.5, 0.0, 0.5))
    truth = rates(table.assign(vote=majority), "vote", systems)
    edges = (1 - PROB) / 2, (1 + PROB) / 2
    panel = round(table["count"].mean())
    result: dict[str, list] = {f"majority of {panel}": [], "single votes": []}
    for time_ in range(times):
        rng = np.random.default_rng([n, time_])
        taken = table.iloc[rng.choice(len(table), n, replace=False)][COLUMNS]
        shuffled = votes.merge(taken, on=COLUMNS).sample(frac=1, random_state=time_)
        seen = shuffled.drop_duplicates(COLUMNS)
        fit = fitted(table, seen, time_, annotator="voter")
        for name, size in zip(result, (panel, 1), strict=True):
            rate = dx.win_rate(fit, panel=size, random_seed=time_).sel(system=systems)
            result[name].append(np.quantile(rate.to_numpy().reshape(-1, len(systems)), edges, 0).T)
    for name, each in result.items():
        ends = np.array(each)
        hold = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
        error = np.abs(ends.mean(axis=(0, 2)) - truth).max()
        print(f"| {len(table):,} | {n} | {name} | {hold.mean():.3f} | {hold.mean(0).min():.2f} to "
              f"{hold.mean(0).max():.2f} | {np.ptp(ends, axis=-1).mean():.3f} | {error:.3f} |",
              flush=True)  # fmt: skip


def rates(table: pd.DataFrame, column: str, systems: list[str]) -> np.ndarray:
    """Return each system's win rate."""
    return np.array([won(table, column, name).mean() for name in systems])


def won(table: pd.DataFrame, column: str, name: str) -> np.ndarray:
    """Return a system's outcomes: 1 won, 1/2 tied."""
    left, right = table["left"] == name, table["right"] == name
    return np.concatenate([table.loc[left, column], 1.0 - table.loc[right, column]])


def fitted(table: pd.DataFrame, seen: pd.DataFrame, seed: int, annotator=None):
    """Fit `models.bradley_terry` to votes on some pairs and verdicts on all."""
    judges = [name for name in table if name.startswith("verdict")]
    melted = table.melt(COLUMNS, judges, var_name="judge", value_name="winner")
    verdicts = dx.pairs(
        melted.assign(winner=melted["winner"].map(SIDES)), item="item", annotator="judge"
    )
    votes = dx.pairs(seen.assign(winner=seen["vote"].map(SIDES)), item="item", annotator=annotator)
    return dx.models.bradley_terry.fit(
        votes, predictions=verdicts, draws=500, tune=300, chains=2, random_seed=seed,
        progressbar=False,
    )  # fmt: skip


def by_model(table: pd.DataFrame, seen: pd.DataFrame, systems: list[str], seed: int) -> np.ndarray:
    """Return draws of win rates (draw, system) by `models.bradley_terry`."""
    fit = fitted(table, seen, seed)
    return (
        dx.win_rate(fit, random_seed=seed).sel(system=systems).to_numpy().reshape(-1, len(systems))
    )


def by_ppi(rest: pd.DataFrame, seen: pd.DataFrame, name: str) -> tuple[float, float]:
    """Return the interval of PPI++."""
    from ppi_py import ppi_mean_ci

    y, heard = won(seen, "vote", name), won(seen, "verdict", name)
    if len(y) < 2:
        return np.nan, np.nan
    low, high = ppi_mean_ci(y, heard, won(rest, "verdict", name), alpha=1 - PROB)
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


def alone(seen: pd.DataFrame, name: str, rng: np.random.Generator) -> np.ndarray:
    """Return draws of a win rate from the votes alone."""
    counts = [(won(seen, "vote", name) == value).sum() for value in SIDES]
    return rng.dirichlet(np.array(counts) + 0.5, 2000) @ np.array(list(SIDES))


def studied(table: pd.DataFrame, n: int, times: int, ppi: bool) -> dict[str, np.ndarray]:
    """Return intervals (time, system, end) by method, and the truth."""
    systems = sorted(set(table["left"]) | set(table["right"]))
    table = table.assign(
        vote=np.where(table["vote"] > 0.5, 1.0, np.where(table["vote"] < 0.5, 0, 0.5))
    )
    edges = (1 - PROB) / 2, (1 + PROB) / 2
    out: dict[str, list] = {"dissensus": [], "votes alone": [], "PPI++": []}
    for time_ in range(times):
        rng = np.random.default_rng([n, time_])
        taken = np.isin(np.arange(len(table)), rng.choice(len(table), n, replace=False))
        seen, rest = table[taken], table[~taken]
        draws = by_model(table, seen, systems, time_)
        out["dissensus"].append(np.quantile(draws, edges, axis=0).T)
        out["votes alone"].append([np.quantile(alone(seen, name, rng), edges) for name in systems])
        out["PPI++"].append(
            [by_ppi(rest, seen, name) if ppi else (np.nan,) * 2 for name in systems]
        )
    result = {name: np.array(ends) for name, ends in out.items()}
    return result | {"truth": rates(table, "vote", systems)}


def planned(table: pd.DataFrame, sizes: list[int], times: int) -> None:
    """Print widths that plans expect, and those of expected votes, as evaluations show them."""
    systems = sorted(set(table["left"]) | set(table["right"]))
    table = table.assign(
        vote=np.where(table["vote"] > 0.5, 1.0, np.where(table["vote"] < 0.5, 0, 0.5))
    )
    melted = table.melt(COLUMNS, ["verdict"], var_name="judge", value_name="winner")
    verdicts = dx.pairs(
        melted.assign(winner=melted["winner"].map(SIDES)), item="item", annotator="judge"
    )
    expected = []
    for seed in range(3):
        seen = table.iloc[np.random.default_rng(seed).choice(len(table), 100, replace=False)]
        votes = dx.pairs(seen.assign(winner=seen["vote"].map(SIDES)), item="item")
        plan = dx.plan(votes, items=sizes, predictions=verdicts, random_seed=1, progressbar=False)
        expected.append(2 * plan["half_width"].to_numpy()[0])
    truth = rates(table, "vote", systems)
    for n, width in zip(sizes, np.mean(expected, axis=0), strict=True):
        ends = []
        for time_ in range(times):
            taken = np.random.default_rng([n, time_]).choice(len(table), n, replace=False)
            fit = fitted(table, table.iloc[np.sort(taken)], time_)
            draws = dx.win_rate(fit, as_cast=False, random_seed=time_).sel(system=systems)
            ends.append(draws.quantile([(1 - PROB) / 2, (1 + PROB) / 2], ("chain", "draw")))
        low, high = np.array(ends).transpose(1, 0, 2)
        hold = (low <= truth) & (truth <= high)
        by = hold.mean(axis=0)
        print(f"| {n} | {width:.3f} | {(high - low).mean():.3f} | {hold.mean():.3f} | "
              f"{by.min():.2f} to {by.max():.2f} |", flush=True)  # fmt: skip


def has_ppi() -> bool:
    """Return whether the interpreter has the peer."""
    return find_spec("ppi_py") is not None


def main() -> None:
    """Print a row for each set, number of votes and method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, required=True, help="the folder of real sets")
    parser.add_argument("--only", default="", help="sets whose names hold this")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--votes", type=int, nargs="*", default=[30, 100, 300])
    parser.add_argument("--panel", action="store_true", help="one vote each, the majority asked")
    parser.add_argument("--plan", action="store_true", help="plans, and evaluations, of MT-Bench")
    options = parser.parse_args()
    ppi = has_ppi()
    warnings.simplefilter("ignore")
    print(described(), end="\n\n")
    if options.plan:
        print("| votes | planned | width | coverage | by system |\n|--:|--:|--:|--:|---|")
        planned(mtbench(options.shared), options.votes, options.times)
        return
    if options.panel:
        print("| pairs | votes | win rate by | coverage | by system | mean width | largest error |")
        print("|--:|--:|---|--:|---|--:|--:|")
        sets = {
            "mtbench_votes": mtbench(options.shared),
            "pandalm": pandalm(options.shared, "gpt35"),
        }
        for name, table in sets.items():
            for n in options.votes:
                by_panel(table, votes_of(options.shared, name), n, options.times)
        return
    print("| set, judge | votes | method | coverage | by system | mean width | seconds each |")
    print("|---|--:|---|--:|---|--:|--:|")
    sets = {"mtbench_votes, GPT-4": mtbench(options.shared)}
    both = pandalm(options.shared, "gpt35")
    sets["pandalm, both judges"] = both.assign(
        verdict_too=pandalm(options.shared, "pandalm7b")["verdict"]
    )
    sets |= {f"pandalm, {name}": pandalm(options.shared, name) for name in ("gpt35", "pandalm7b")}
    if not any(options.only in name for name in sets):
        parser.error(f"--only: expected a part of one of {', '.join(sets)}")
    for name, table in ((k, v) for k, v in sets.items() if options.only in k):
        for n in options.votes:
            start = time.perf_counter()
            result = studied(table, n, options.times, ppi)
            each = (time.perf_counter() - start) / options.times
            truth = result.pop("truth")
            for method, ends in result.items():
                if np.isnan(ends).all():
                    continue
                known = ~np.isnan(ends[..., 0])
                hold = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
                by = [hold[known[:, k], k].mean() for k in range(len(truth))]
                width = (ends[..., 1] - ends[..., 0])[known].mean()
                print(f"| {name} | {n} | {method} | {hold[known].mean():.3f} | {min(by):.2f} to "
                      f"{max(by):.2f} | {width:.3f} | {each:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
