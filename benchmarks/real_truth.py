"""Compare estimated accuracies with sets of known truth: the second half of `make validate`.

Each set is used whole, and with a few labels per item. The systems are noisy versions of the truth,
systems that err where people disagree, held-out annotators, and real systems; annotators are
evaluated too. In parts of the tables the truth of 30 or 50 items is known. The prior of the errors
that annotators share is learned from the other sets. `dissensus.evaluate` is compared, with the
same intervals, with: the models alone (independent errors); `symmetric_confusion` with difficulty,
as in the first version; majority vote and Dawid-Skene's EM (crowd-kit's; tests compare it
with that package) with a bootstrap of items; agreement with a random annotator; the known items
alone; and `ppi_py`, if it is installed:
`uv run --with ppi-python python benchmarks/real_truth.py`.

Each result is saved when it is computed, and a stopped run is resumed.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from machine import described
from real_data import DOCS, PROB, SAMPLE, scored
from scipy.optimize import minimize_scalar
from scipy.stats import kendalltau
from truth_data import STUDIES, Study, few, systems

import dissensus as dx
from dissensus.families.latent_truth.errors import SPREAD

KNOWN = (0, 30, 50)
LEAST = 20
"""Minimum number of items of an annotator or a system."""
HELD_OUT = 2
DRAWS = 500
PLAIN = {"reliability": (1.0,), "components": None, "companion": None, "ground_truth": None,
         "progressbar": False, "on_missing": "drop", "draws": DRAWS}  # fmt: skip


def main() -> None:
    """Compute the missing results, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", choices=list(STUDIES), default=list(STUDIES))
    parser.add_argument("--results", default="build/real_truth.jsonl", help="file to add to")
    parser.add_argument("--tables", action="store_true", help="of what is in the file already")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Path(options.results)
    results.parent.mkdir(exist_ok=True)
    lines = results.read_text().splitlines() if results.exists() else []
    done = [row for line in lines for row in json.loads(line)]
    if not options.tables:
        with results.open("a") as file:
            for rows in _rows(options.sets, done):
                file.write(json.dumps(rows) + "\n")
                file.flush()
                done += rows
    text = f"{tables(pd.DataFrame(done))}\n{described()}\n"
    (DOCS / "truth.md").write_text(text)
    print(text)


def _rows(names: list[str], done: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    have = {(row["set"], row["labels"], row["without"]) for row in done}
    result = {
        (row["set"], row["labels"]): row["correlation"] for row in done if "correlation" in row
    }
    for name in STUDIES:  # whichever are asked for: each is judged by what the others say
        for labels, study in _sizes(name):
            if (name, labels) not in result:
                result[name, labels] = best = _best_correlation(study)
                here = {"set": name, "labels": labels, "without": "-", "kind": "correlation"}
                yield [here | {"correlation": best}]
    for name in names:
        others = [value for (other, _), value in result.items() if _family(other) != _family(name)]
        prior = (float(np.exp(np.mean(np.log(others)))), SPREAD)
        for labels, study in _sizes(name):
            for without in ["", *_held_out(study)]:
                if (name, labels, without) not in have:
                    here = {"set": name, "labels": labels, "without": without}
                    yield [here | row for row in _judged(study, without, prior, name + labels)]
            print(name, labels, flush=True)


def _sizes(name: str) -> Iterator[tuple[str, Study]]:
    study = STUDIES[name]()
    yield "all", study
    yield "few", few(study, zlib.crc32(name.encode()))


def _family(name: str) -> str:
    return name.split(",")[0]


def _held_out(study: Study) -> list[str]:
    """Choose annotators to be judged as systems, without their labels."""
    known = study.labels[study.labels["item"].isin(study.gold.index)]
    many = known.groupby("annotator")["item"].nunique()
    able = sorted(many.index[many >= 2 * LEAST])
    rng = np.random.default_rng(len(study.labels))
    return [str(name) for name in rng.choice(able, min(HELD_OUT, len(able)), replace=False)]


def _best_correlation(study: Study) -> float:
    """Return the correlation of errors that fits the known truth best."""
    ann = study.annotations()
    fit = dx.models.dawid_skene.fit(
        ann, pooling="none", draws=100, tune=300, random_seed=1, progressbar=False
    )
    mine = fit["posterior"]["truth"]
    mine = mine.assign_coords(item=mine["item"].values.astype(str)).sel(item=list(study.gold.index))
    each = np.log(np.maximum(mine.stack(sample=SAMPLE).transpose("sample", ...).values, 1e-300))
    counts = dx.schema.label_counts(ann)
    n_given = counts.sum(1)[pd.Index(ann["item"].values.astype(str)).get_indexer(study.gold.index)]
    code = pd.Index([str(k) for k in ann["label"].values]).get_indexer(study.gold)
    rows = np.arange(len(code))

    def loss(correlation: float) -> float:
        power = each / (1 + (n_given - 1) * correlation)[:, None]
        share = np.exp(power - power.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        return -float(np.log(share.mean(0)[rows, code]).mean())

    return float(minimize_scalar(loss, bounds=(0, 3), method="bounded").x)


# -- One study -----------------------------------------------------------------------------


def _judged(
    study: Study, without: str, prior: tuple[float, float], key: str
) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(zlib.crc32(f"{key}{without}".encode()))
    ann = study.annotations(without)
    if without:
        answers = {f"annotator {without}": ("held out", study.answers(without))}
    else:
        answers = systems(study, rng)
    answers = {name: labels for name, labels in answers.items() if len(labels[1]) >= LEAST}
    frame = pd.concat([y.reset_index().assign(system=name) for name, (_, y) in answers.items()])
    pred = dx.predictions(frame)
    items = pd.Index(ann["item"].values.astype(str))
    gold = study.gold[study.gold.index.isin(items)]
    truth = {
        name: float((labels == gold.reindex(labels.index)).mean())
        for name, (_, labels) in answers.items()
    }
    judged = gold.index if not without else next(iter(answers.values()))[1].index
    order = rng.permutation(np.array([item for item in judged if item in gold.index]))
    for n in KNOWN:
        if n > len(order) / 2:
            continue
        known = gold[order[:n]] if n else None
        for method, (draws, seconds) in _by_all(
            ann, pred, known, prior, answers, gold, rng
        ).items():
            for name, values in draws.items():
                people = name not in answers
                true = values.pop("truth") if people else truth[name]
                kind = "annotator" if people else answers[name][0]
                yield {"method": method, "kind": kind, "system": name, "known": n, "truth": true,
                       "seconds": seconds, **values}  # fmt: skip
        if not without and not n:
            yield from _of_labels(ann, gold, prior)


Found = dict[str, tuple[dict[str, dict[str, float]], float]]


def _by_all(
    ann: Any, pred: Any, known: Any, prior: tuple[float, float], answers: Any, gold: Any,
    rng: np.random.Generator,
) -> Found:  # fmt: skip
    """Return the estimates of each system by each method, and the time in seconds."""
    out: Found = {}
    start = time.process_time()
    tree = dx.evaluate(ann, pred, random_seed=1, truth=known, error_correlation=prior, **PLAIN)
    result = tree["accuracy"].to_dataset()
    mine = result["estimated_accuracy"].sel(scope="these items").stack(sample=SAMPLE)
    intervals = {name: _interval(mine.sel(system=name).values) for name in answers}
    intervals |= _people(result["annotator_accuracy"], ann, gold)
    out["evaluate"] = intervals, time.process_time() - start
    top = _leading(ann, dx.schema.label_counts(ann))
    out |= _of_known(answers, known, top, gold, rng)
    if known is None:
        out |= _without_truth(ann, pred, answers, top, gold, rng)
    return out


def _without_truth(
    ann: Any, pred: Any, answers: Any, top: Any, gold: Any, rng: np.random.Generator
) -> Found:
    out: Found = {}
    graded = {"errors": "graded"} if ann.attrs["kind"] == "ordinal" else {}
    for method, model, options in (
        ("dawid_skene, errors independent", "dawid_skene", {}),
        ("default of the first version", "symmetric_confusion", {"difficulty": True, **graded}),
    ):
        start, intervals = time.process_time(), {}
        for name in answers:
            fit = dx.models.get(model).module.fit(
                ann, predictions=pred.sel(system=[name]), draws=300, tune=300, random_seed=1,
                progressbar=False, keep_items=False, on_missing="drop", **options,
            )  # fmt: skip
            intervals[name] = _interval(fit["posterior"]["system_correct"].values.ravel())
        intervals |= _people(fit["posterior"]["annotator_accuracy"], ann, gold)
        out[method] = intervals, time.process_time() - start
    start = time.process_time()
    truth = dx.models.dawid_skene.em(ann)["truth"]
    best = pd.Series(
        truth["label"].values[truth.transpose("item", "label").values.argmax(1)].astype(str),
        index=truth["item"].values.astype(str),
    )
    seconds = time.process_time() - start
    out["Dawid-Skene EM, bootstrap"] = _bootstrapped(answers, best, rng), seconds
    out["majority vote, bootstrap"] = _bootstrapped(answers, top, rng), 0.0
    rows = pd.DataFrame({
        "item": ann["item"].values[ann["item_code"].values].astype(str),
        "label": ann["label"].values[ann["label_code"].values].astype(str),
    })  # fmt: skip
    intervals = {}
    for name, (_, labels) in answers.items():
        each = rows[rows["item"].isin(labels.index)]
        agreed = (
            (each["label"] == labels.reindex(each["item"]).to_numpy()).groupby(each["item"]).mean()
        )
        intervals[name] = _interval(_resampled(agreed.to_numpy(float), rng))
    out["agreement with an annotator"] = intervals, 0.0
    return out


def _of_known(answers: Any, known: Any, top: Any, gold: Any, rng: np.random.Generator) -> Found:
    """Return estimates from the known items alone, and from all items by `ppi_py`."""
    if known is None:
        return {}
    alone, more = {}, {}
    for name, (_, labels) in answers.items():
        sure = labels.index.isin(known.index)
        hit = (labels == gold.reindex(labels.index)).to_numpy()[sure].astype(float)
        right, n = hit.sum(), len(hit)
        share = rng.beta(0.5 + right, 0.5 + n - right, 2000)
        left = len(labels) - n
        alone[name] = _interval((right + rng.binomial(left, share)) / len(labels))
        guess = (labels == top.reindex(labels.index)).to_numpy().astype(float)
        low, high = _ppi(hit, guess[sure], guess[~sure])
        if np.isfinite(low):
            low, high = max(low, 0.0), min(high, 1.0)
            more[name] = {"estimate": (low + high) / 2, "low": low, "high": high}
    out: Found = {"known items alone": (alone, 0.0)}
    return out | ({"ppi_py": (more, 0.0)} if more else {})


def _ppi(hit: Any, guess: Any, rest: Any) -> tuple[float, float]:
    try:
        from ppi_py import ppi_mean_ci
    except ImportError:
        return np.nan, np.nan
    low, high = ppi_mean_ci(hit, guess, rest, alpha=1 - PROB)
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


def _of_labels(ann: Any, gold: Any, prior: tuple[float, float]) -> Iterator[dict[str, Any]]:
    """Return how often inferred labels are right, and their probabilities of being right."""
    tree = dx.evaluate(ann, None, random_seed=1, error_correlation=prior, **PLAIN)
    ways = {
        "evaluate": tree["accuracy"]["truth_mean"],
        "Dawid-Skene EM, bootstrap": dx.models.dawid_skene.em(ann)["truth"],
    }
    for method, mean in ways.items():
        share = mean.assign_coords(item=mean["item"].values.astype(str)).sel(item=list(gold.index))
        values = share.transpose("item", "label").values
        code = pd.Index([str(k) for k in mean["label"].values]).get_indexer(gold)
        rows = np.arange(len(code))
        yield {
            "method": method, "kind": "labels", "known": 0,
            "right": float((values.argmax(1) == code).mean()),
            "expected": float(1 - values.max(1).mean()),
            "log_score": float(np.log(np.maximum(values[rows, code], 1e-6)).mean()),
        }  # fmt: skip


def _people(draws: Any, ann: Any, gold: Any) -> dict[str, dict[str, float]]:
    """Return the estimates of annotators with enough items of known truth."""
    if "annotator" not in draws.dims:
        return {}
    item = ann["item"].values[ann["item_code"].values].astype(str)
    rows = pd.DataFrame({
        "who": ann["annotator"].values[ann["annotator_code"].values].astype(str),
        "right": ann["label"].values[ann["label_code"].values].astype(str)
        == gold.reindex(item).to_numpy(),
    })[np.isin(item, gold.index)]  # fmt: skip
    each = rows.groupby("who")["right"].agg(["mean", "size"])
    mine = draws.assign_coords(annotator=draws["annotator"].values.astype(str))
    return {
        f"annotator {who}": _interval(mine.sel(annotator=who).values.ravel())
        | {"truth": float(row["mean"])}
        for who, row in each[each["size"] >= LEAST].iterrows()
    }


def _leading(ann: Any, counts: Any) -> pd.Series:
    labels = ann["label"].values[counts.argmax(1)].astype(str)
    return pd.Series(labels, index=ann["item"].values.astype(str))


def _bootstrapped(answers: Any, best: pd.Series, rng: np.random.Generator) -> Any:
    return {
        name: _interval(_resampled((labels == best.reindex(labels.index)).to_numpy(float), rng))
        for name, (_, labels) in answers.items()
    }


def _resampled(values: Any, rng: np.random.Generator) -> Any:
    return rng.dirichlet(np.ones(len(values)), 1000) @ values


def _interval(values: Any) -> dict[str, float]:
    low, high = np.quantile(values, [(1 - PROB) / 2, (1 + PROB) / 2])
    return {"estimate": float(np.mean(values)), "low": float(low), "high": float(high)}


# -- Tables --------------------------------------------------------------------------------


def tables(rows: pd.DataFrame) -> str:
    """Write the tables of methods, and of the library's results by kind and by set."""
    judged = scored(rows[rows["estimate"].notna()])
    judged["size"], judged["known"] = judged["error"].abs(), judged["known"].astype(int)
    people = judged["kind"] == "annotator"
    judged["of"] = np.where(people, "annotators", "systems")
    judged = judged[~people | (judged["without"] == "")]  # annotators once each
    people = judged["of"] == "annotators"
    numbers = "mean error | mean abs. error | 89 % coverage | width | score | s | n |"
    line = "--:|" * 7
    out = [f"| accuracy of | known items | method | {numbers}", f"|---|--:|---|{line}"]
    for (who, known, method), part in judged.groupby(["of", "known", "method"], sort=False):
        out.append(_line([who, str(known), method], part))
    out += ["", "`evaluate`, by kind of system:", ""]
    out += [f"| systems | known items | {numbers}", f"|---|--:|{line}"]
    own = judged[(judged["method"] == "evaluate") & ~people]
    for (kind, known), part in own.groupby(["kind", "known"]):
        out.append(_line([kind, str(known)], part))
    out += [
        "",
        "`evaluate`, by set. For systems, a second row has the best other method (by score):",
        "",
    ]
    out += [
        f"| set | labels | accuracy of | known items | method | {numbers}",
        f"|---|---|---|--:|---|{line}",
    ]
    for (name, labels, who, known), part in judged.groupby(
        ["set", "labels", "of", "known"], sort=False
    ):
        each = part.groupby("method")["score"].mean().drop("evaluate")
        best = [each.idxmin()] if len(each) and who == "systems" else []
        for method in ["evaluate", *best]:
            mine = part[part["method"] == method]
            out.append(_line([name, labels, who, str(known), method], mine))
    return "\n".join([*out, "", *_label_tables(rows), "", *_order(judged)]) + "\n"


def _label_tables(rows: pd.DataFrame) -> list[str]:
    result = rows[rows["kind"] == "labels"].pivot_table(
        index=["set", "labels"], columns="method", values=["right", "expected", "log_score"],
        sort=False,
    )  # fmt: skip
    own = {(r["set"], r["labels"]): r["correlation"] for _, r in rows.iterrows()
           if r["kind"] == "correlation"}  # fmt: skip
    out = [
        "Inferred labels: share of right labels, observed and expected error rates of `evaluate`, "
        "expected error rates of EM, mean log probability of the true label (log score; "
        "probabilities below 1e-6 count as 1e-6), and the correlation of errors r that fits the "
        "set's truth best:", "",
        "| set | labels | right | by EM | error rate | expected | by EM | log score | by EM | r |",
        f"|---|---|{'--:|' * 8}",
    ]  # fmt: skip
    em = "Dawid-Skene EM, bootstrap"
    for (name, labels), row in result.iterrows():
        a, b = (row.xs(method, level="method") for method in ("evaluate", em))
        cells = [f"{a['right']:.3f}", f"{b['right']:.3f}", f"{1 - a['right']:.3f}",
                 f"{a['expected']:.3f}", f"{b['expected']:.3f}", f"{a['log_score']:.2f}",
                 f"{b['log_score']:.2f}", f"{own[name, labels]:.2f}"]  # fmt: skip
        out.append(f"| {' | '.join([name, labels, *cells])} |")
    return out


def _order(judged: pd.DataFrame) -> list[str]:
    out = ["Order of the systems of a set: Kendall's tau with the true order, averaged over sets:",
           "", "| known items | method | tau |", "|--:|---|--:|"]  # fmt: skip
    several = judged[(judged["without"] == "") & (judged["of"] == "systems")]
    for (known, method), part in several.groupby(["known", "method"], sort=False):
        tau = [
            kendalltau(rows["estimate"], rows["truth"]).statistic
            for _, rows in part.groupby(["set", "labels"])
            if len(rows) > 2
        ]
        out.append(f"| {known} | {method} | {np.mean(tau):.3f} |")
    return out


def _line(head: list[str], part: pd.DataFrame) -> str:
    cells = [f"{part['error'].mean():+.3f}", f"{part['size'].mean():.3f}",
             f"{part['holds'].mean():.2f}", f"{part['width'].mean():.3f}",
             f"{part['score'].mean():.3f}", f"{part['seconds'].mean():.1f}",
             f"{len(part)}"]  # fmt: skip
    return f"| {' | '.join([*head, *cells])} |"


if __name__ == "__main__":
    main()
