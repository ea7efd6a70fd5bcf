"""The true sets of labels in simulated crowds, beside crowd-kit's BinaryRelevance.

``uv run --with crowd-kit python benchmarks/sets.py --studies 20``

Six labels, two pairs of which occur together; items have between none and all. Each annotator has a
sensitivity and a specificity, which differ between labels a little, and in the second half of the
studies some items are hard: there, everybody guesses more. Given are the share of (item, label)
that is right, the share of items whose whole set is right, and the mean log probability of the
truth. Vote shares are smoothed by half a vote for yes and for no, without which their log score is
minus infinity. With ``--scores``, 89 % intervals of `dx.set_score` of two systems are held against
their scores by the true sets, and by the sets that most of 500 such annotators would give. With
``--shared FOLDER`` the truth is known of real answers of one label each, which are read as sets;
with both, 89 % intervals of `dx.evaluate` are held against the scores of two systems: with
``question="truth"`` by the truth, without known sets and with 30 of them, and by the sets of most
of ChaosNLI's hundred annotators, of whom three are seen. With ``--shares``, intervals of the share
of items with a label are held against panels of ten labels an item and more, whose labels are read
one at a time (yes or no), by how far off plausibilities may be together.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from panel_data import PANELS
from scipy.special import expit

import dissensus as dx
from dissensus.evaluation.sets import share_of_panel

LABELS = ["anger", "awe", "fear", "grief", "joy", "love"]
BASE = np.array([-1.2, -2.5, -1.6, -2.2, -0.4, -0.8])
QUIET = {"draws": 300, "tune": 200, "random_seed": 1, "progressbar": False}


def study(n_items: int, per_item: int, hard: bool, seed: int) -> tuple[Any, pd.DataFrame, Any]:
    """Simulate which labels are true, (item, label), a row for each answer, and a panel's sets."""
    rng = np.random.default_rng(seed)
    sad, glad = rng.normal(0, 1.5, size=(2, n_items, 1))
    own = np.concatenate([sad, 0 * sad, sad, sad, glad, glad], axis=1)
    truth = rng.random((n_items, 6)) < expit(BASE + own)
    skill, caution = people(15, rng)
    ease = np.exp(-rng.exponential(0.7 if hard else 0.0, size=(n_items, 1, 1)))
    who = np.array([rng.choice(15, per_item, replace=False) for _ in range(n_items)])
    logit = np.where(truth[:, None], skill[who] - caution[who], -skill[who] - caution[who])
    held = rng.random(logit.shape) < expit(ease * logit)
    skill, caution = people(500, rng)
    logit = np.where(truth[:, None], skill - caution, -skill - caution)
    panel = expit(ease * logit).mean(axis=1) > 0.5
    rows = [
        {"item": item, "annotator": f"w{who[item, k]}",
         "label": [LABELS[x] for x in np.flatnonzero(held[item, k])]}
        for item in range(n_items) for k in range(per_item)
    ]  # fmt: skip
    return truth, pd.DataFrame(rows), panel


def people(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw annotators: their skill (annotator, label), and how seldom they give labels."""
    skill = rng.normal(1.4, 0.9, size=(n, 1)) + rng.normal(0, 0.4, size=(n, 6))
    return skill, rng.normal(0.6, 0.7, size=(n, 1))


def theirs(table: pd.DataFrame, base: Any, labels: list[str] = LABELS) -> Any:
    """Return the probability of each label (item, label) by BinaryRelevance."""
    from crowdkit.aggregation.multilabel import BinaryRelevance

    told = table.rename(columns={"item": "task", "annotator": "worker"})
    fitted = BinaryRelevance(base).fit(told)
    share = np.column_stack(
        [fitted.aggregators_[label].probas_.reindex(columns=[0, 1], fill_value=0.0)[1].sort_index()
         for label in labels]
    )  # fmt: skip
    if type(base).__name__ == "MajorityVote":
        n = table.groupby("item").size().to_numpy()[:, None]
        return (share * n + 0.5) / (n + 1)
    return np.clip(share, 1e-6, 1 - 1e-6)


def ours(
    table: pd.DataFrame, labels: list[str] = LABELS, model: str = "dawid_skene", **more: Any
) -> Any:
    """Return the mean probability of each label (item, label): that it is true, or is given."""
    ann = dx.annotations(table, kind="set", labels=labels)
    name = {"dawid_skene": "truth", "dirichlet": "plausibility"}[model]

    def probability(data: Any) -> Any:
        draws = dx.models.get(model).module.fit(data, **QUIET, **more)["posterior"][name]
        return draws.sel(label="yes").mean(("chain", "draw"))

    rows = dx.by_label(probability, ann).transpose("item", "element").sel(element=labels)
    return np.clip(rows.sortby("item").to_numpy(), 1e-6, 1 - 1e-6)


def scores(probability: Any, truth: Any) -> tuple[float, float, float]:
    """Return labels right, whole sets right, and the mean log probability of the truth."""
    right = (probability > 0.5) == truth
    log = np.log(np.where(truth, probability, 1 - probability))
    return right.mean(), right.all(axis=1).mean(), log.mean()


def score_rows(studies: int) -> Any:
    """Yield target, kind of items, system, score, whether the interval covers, width and error."""
    for seed in range(studies):
        hard = seed >= studies // 2
        truth, table, panel = study(200, 5, hard, seed)
        rng = np.random.default_rng(seed + 1000)
        held = [truth ^ (rng.random(truth.shape) < share) for share in (0.05, 0.15)]
        label = [";".join(np.array(LABELS)[row]) or "none" for rows in held for row in rows]
        pred = dx.predictions(
            {
                "item": np.tile(np.arange(len(truth)), 2),
                "system": np.repeat(["good", "poor"], len(truth)), "label": label,
            },
            kind="set", separator=";", none="none",
        )  # fmt: skip
        ann = dx.annotations(table, kind="set", labels=LABELS)
        for target, model, sets, more in (
            ("truth", "dawid_skene", truth, {}),
            ("truth, errors correlated", "dawid_skene", truth, {"error_correlation": "learned"}),
            ("panel", "dirichlet", panel, {}),
        ):
            fit = dx.models.get(model).module.fit
            fits = dx.by_label(fit, ann, predictions=pred, **more, **QUIET)
            insight = "learned" if target == "panel" else None
            result = dx.set_score(fits, pred, insight=insight, random_seed=1)
            for k, name in enumerate(["good", "poor"]):
                for score, value in known_scores(sets, held[k]).items():
                    mine = result[score].sel(system=name)
                    low, high = mine.quantile([0.055, 0.945]).values
                    inside, error = low <= value <= high, float(mine.mean()) - value
                    of = "hard items" if hard else "equal items"
                    yield target, of, name, score, inside, high - low, error


def known_scores(sets: Any, held: Any) -> dict[str, float]:
    """Return the scores of predicted sets (item, label) by known ones."""
    both, either = (sets & held).sum(1), (sets | held).sum(1)
    size = sets.sum(0) + held.sum(0)
    return {
        "exact_match": (sets == held).all(1).mean(),
        "jaccard": np.where(either > 0, both / np.maximum(either, 1), 1).mean(),
        "micro_f1": 2 * both.sum() / size.sum(),
        "macro_f1": (2 * (sets & held).sum(0) / size).mean(),
    }


REAL = {
    "drug_relations": ("crowd.csv", ("gold_questions.csv", "expert_consensus.csv")),
    "weather_sentiment_amt": ("ratings.csv", ("gold.csv",)),
    "adult_content2": ("ratings.csv.gz", ("gold.csv",)),
}


def real(shared: Path, per_item: int, seed: int) -> Iterator[tuple[str, pd.DataFrame, list[str]]]:
    """Yield real answers, a few of each item, and the truth of items (by item) in ``attrs``."""
    for name, (answers, known) in REAL.items():
        table = pd.read_csv(shared / name / answers, dtype=str)[["item", "annotator", "label"]]
        table = table.drop_duplicates(["item", "annotator"])
        tables = [pd.read_csv(shared / name / file, dtype=str) for file in known]
        gold = pd.concat([frame.set_index("item").iloc[:, 0] for frame in tables])
        gold = gold[~gold.index.duplicated()]
        table = table[table["item"].isin(gold.index)].sample(frac=1, random_state=seed)
        table = table.groupby("item").head(per_item).sort_values(["item", "annotator"])
        table["label"] = [[f"is {label}"] for label in table["label"]]  # text, also of numbers
        truth = gold.str.split("\n").reindex(sorted(table["item"].unique()))
        labels = sorted({label for (label,) in table["label"]})  # of others nobody can know
        table.attrs["truth"] = np.array(
            [[label[3:] in names for label in labels] for names in truth]
        )
        yield name, table.reset_index(drop=True), labels


ITEMS = 200


def real_score_rows(shared: Path, studies: int) -> Any:
    """Yield set, known sets, system, whether the interval of Jaccard covers, width and error."""
    for seed in range(studies):
        for name, table, labels in real(shared, 5, seed):
            rng = np.random.default_rng(seed)
            items = np.array(sorted(table["item"].unique()))
            those = np.flatnonzero(table.attrs["truth"].any(axis=1))  # of some label that was given
            kept = np.sort(rng.choice(those, min(ITEMS, len(those)), replace=False))
            truth = table.attrs["truth"][kept]
            ann = dx.annotations(
                table[table["item"].isin(items[kept])], kind="set", labels=labels
            )  # fmt: skip
            pred, held = systems_of(truth, items[kept], labels, rng)
            some = rng.choice(len(kept), 30, replace=False)
            known = {items[kept][k]: [labels[x] for x in np.flatnonzero(truth[k])] for k in some}
            for told in (None, known):
                evaluation = dx.evaluate(ann, pred, question="truth", truth=told, **QUIET)
                draws = evaluation["metrics"]["jaccard"].sel(scope="these items").squeeze(drop=True)
                for row in _jaccard_rows(draws, held, truth):
                    yield name, len(told or ()), *row


PANEL_ITEMS = 250


def panel_score_rows(shared: Path, studies: int) -> Any:
    """Yield the same of a real panel."""
    votes = pd.read_csv(shared / "chaosnli_snli" / "votes100.csv.gz").set_index("item")
    labels = list(votes.columns)
    for seed in range(studies):
        rng = np.random.default_rng(seed)
        some = votes.iloc[rng.choice(len(votes), PANEL_ITEMS, replace=False)]
        truth = some.to_numpy() > 0.5 * some.to_numpy().sum(axis=1, keepdims=True)
        seen = [rng.permutation(np.repeat(labels, row))[:3] for row in some.to_numpy()]
        rows = {"item": np.repeat(some.index, 3), "annotator": range(3 * PANEL_ITEMS),
                "label": [[label] for row in seen for label in row]}  # fmt: skip
        ann = dx.annotations(pd.DataFrame(rows), kind="set")
        pred, held = systems_of(truth, some.index.to_numpy(), labels, rng)
        fits = dx.by_label(dx.models.dirichlet.fit, ann, predictions=pred, **QUIET)
        result = dx.set_score(fits, pred, insight="learned", random_seed=1)["jaccard"]
        for row in _jaccard_rows(result, held, truth):
            yield "chaosnli_snli, panel", 0, *row


def systems_of(truth: Any, items: Any, labels: list[str], rng: np.random.Generator) -> Any:
    """Return predicted sets of two systems, and which labels they hold (item, label)."""
    held, rows = {}, []
    for system, share in (("good", 0.1), ("poor", 0.4)):
        other = np.eye(len(labels), dtype=bool)[rng.integers(len(labels), size=len(items))]
        held[system] = np.where(rng.random((len(items), 1)) < share, other, truth)
        sets = [[labels[x] for x in np.flatnonzero(row)] for row in held[system]]
        rows += [{"item": item, "system": system, "label": label}
                 for item, label in zip(items, sets, strict=True)]  # fmt: skip
    return dx.predictions(pd.DataFrame(rows), kind="set"), held


def _jaccard_rows(draws: Any, held: dict[str, Any], truth: Any) -> Any:
    for system, labels in held.items():
        mine, true = draws.sel(system=system), known_scores(truth, labels)["jaccard"]
        low, high = np.quantile(mine, [0.055, 0.945])
        yield system, low <= true <= high, high - low, float(mine.mean()) - true


OFF = (0.0, 0.2, 0.3, 0.35, 0.4, 0.5)


def share_rows(studies: int) -> Any:
    """Yield set, answers an item, standard deviation, whether the interval covers, and its width.

    The share of items that most of the others of a panel give the label; 300 items of a panel, and
    labels that at least .04 of them have, and lack.
    """
    for name, read in PANELS.items():
        counts = read().counts
        size = counts.sum(axis=1)
        for k, n, seed in product(range(counts.shape[1]), (3, 5, 10), range(studies)):
            common = 0.04 < (counts[:, k] / size > 0.5).mean() < 0.96
            if not common or (k and counts.shape[1] == 2) or n >= 0.6 * size.min():
                continue
            rng = np.random.default_rng([seed, n, k])
            some = rng.choice(len(size), min(len(size), 300), replace=False)
            yes = rng.hypergeometric(counts[some, k], size[some] - counts[some, k], n)
            other = (counts[some, k] - yes) / (size[some] - n)
            true = (np.sign(other - 0.5) / 2 + 0.5).mean()
            given = np.where(np.arange(n) < yes[:, None], "yes", "no")
            ann = dx.from_matrix(pd.DataFrame(given), kind="nominal", labels=["no", "yes"])
            fit = dx.models.dirichlet.fit(ann, **QUIET)["posterior"]
            for off in OFF:
                draws = share_of_panel(
                    fit["plausibility"].sel(label="yes"), np.random.default_rng(seed), off
                )
                low, high = draws.quantile([0.055, 0.945]).to_numpy()
                yield name, n, off, low <= true <= high, high - low


def main() -> None:
    """Simulate, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--scores", action="store_true", help="coverage of scores of systems")
    parser.add_argument("--shared", type=Path, help="folder of real sets")
    parser.add_argument("--shares", action="store_true", help="coverage of shares of labels")
    options = parser.parse_args()
    warnings.simplefilter("ignore", dx.DissensusWarning)
    if options.shares:
        names = ["set", "n", "sd", "coverage", "width"]
        frame = pd.DataFrame(share_rows(options.studies), columns=names)
        for by in ("set", "n"):
            print(frame.groupby([by, "sd"])[names[3:]].mean().unstack().round(3).to_string())
        return
    if options.scores and options.shared:
        names = ["set", "known", "system", "coverage", "width", "error"]
        rows = [*real_score_rows(options.shared, options.studies),
                *panel_score_rows(options.shared, options.studies)]  # fmt: skip
        frame = pd.DataFrame(rows, columns=names)
        print(frame.groupby(names[:3])[names[3:]].mean().round(3).to_string())
        return
    if options.scores:
        names = ["target", "items", "system", "score", "coverage", "width", "error"]
        frame = pd.DataFrame(score_rows(options.studies), columns=names)
        print(frame.groupby(names[:4])[names[4:]].mean().round(3).to_string())
        return
    from crowdkit.aggregation import DawidSkene, MajorityVote

    ways: dict[str, Callable[..., Any]] = {
        "BinaryRelevance, MajorityVote": lambda *of: theirs(of[0], MajorityVote(), *of[1:]),
        "BinaryRelevance, DawidSkene": lambda *of: theirs(of[0], DawidSkene(n_iter=100), *of[1:]),
        "by_label, dirichlet": lambda *of: ours(*of, model="dirichlet"),
        "by_label, dawid_skene": ours,
        "... errors correlated": lambda *of: ours(*of, error_correlation="learned"),
    }
    rows = []
    if options.shared:
        for per_item, seed in product((3, 5), range(options.studies)):
            for name, told, labels in real(options.shared, per_item, seed):
                for way, call in ways.items():
                    frame = scores(call(told, labels), told.attrs["truth"])
                    rows.append((name, per_item, way, *frame))
        names = ["set", "labels", "way", "label right", "set right", "log score"]
        table = pd.DataFrame(rows, columns=names).groupby(names[:3], sort=False).mean().round(3)
        print(table.to_string())
        return
    for n_items, per_item in ((100, 3), (100, 5), (500, 3)):
        for seed in range(options.studies):
            hard = seed >= options.studies // 2
            truth, table, _ = study(n_items, per_item, hard, seed)
            for way, call in ways.items():
                frame = scores(call(table), truth)
                rows.append(
                    (n_items, per_item, "hard items" if hard else "equal items", way, *frame)
                )
    names = ["items", "labels", "study", "way", "label right", "set right", "log score"]
    table = pd.DataFrame(rows, columns=names).groupby(names[:4], sort=False).mean().round(3)
    print(table.to_string())


if __name__ == "__main__":
    main()
