"""Agreement with a panel where people labelled a part of the items and systems answered all.

``uv run python benchmarks/unlabelled.py`` draws three labels for 100 items, at most a third, of
each panel of `panel_data`, with systems of all kinds on all items. Intervals of `top_k_accuracy`
for all items (`dx.annotations(..., items=)`) are held against the panel, beside those of the
labelled items alone (Bayesian bootstrap of the items). With ``--truth``, accuracies are held
against the known truth of the sets of `truth_data`, where 0, 30 or 60 of the labelled items have a
known truth; "labelled items alone" are then the accuracies on similar items. Items are drawn at
random, or those on which three of the systems differ four times as often as the others. With
``--plan``, what `dx.plan` says from three labels for each of 50 items is held against such studies:
half-widths, and whether the labelled items alone, as many as the plan says, give as narrow
intervals.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from machine import described
from panel_data import PANELS, TOGETHER, Panel, drawn
from real_data import PROB
from truth_data import STUDIES, Study, few, systems

import dissensus as dx

LABELLED, SHARE = 100, 3
KNOWN = (0, 30, 60)
JUDGES = ("noisy 0.85", "like people, power 1", "like people, power 3")
PILOT = 50
LABELS, MAJORITY = "labels of people", "majority labels"


def draws_of(labels: pd.DataFrame, predictions: pd.DataFrame, panel: Panel, seed: int,
             *, whole: bool) -> xr.DataArray:  # fmt: skip
    """Return draws of the agreement of systems: of all items, or of the labelled ones."""
    if not whole:
        predictions = predictions[predictions["item"].isin(labels["item"])]
    pred = dx.predictions(predictions)
    ann = dx.annotations(labels, labels=panel.labels, items=pred["item"], kind="nominal")
    fit = dx.models.dirichlet.fit(
        ann, predictions=pred, draws=500, chains=2, random_seed=seed, progressbar=False
    )
    weights = None if whole else "bayesian-bootstrap"
    return dx.top_k_accuracy(fit, pred, insight="learned", weights=weights, random_seed=seed)


def rows(seeds: int) -> Iterator[tuple[str, bool, bool, bool, float]]:
    """Yield set, whether all items, whether a noisy system, whether it covers, and the width."""
    for name, panel_of in PANELS.items():
        for seed in range(seeds):
            panel = panel_of()
            for study in drawn(panel, TOGETHER, 3, seed):
                items = study.predictions["item"].unique()
                n = min(LABELLED, len(items) // SHARE)
                some = np.random.default_rng(seed + 10).choice(items, n, replace=False)
                labels = study.annotations[study.annotations["item"].isin(some)]
                for whole in (True, False):
                    draws = draws_of(labels, study.predictions, panel, seed, whole=whole)
                    for system, truth in study.truth.items():
                        edges = (1 - PROB) / 2, (1 + PROB) / 2
                        low, high = np.quantile(draws.sel(system=system), edges)
                        noisy = system.startswith("noisy")
                        yield name, whole, noisy, low <= truth <= high, high - low


def plans(seeds: int) -> Iterator[tuple[str, int, float, float, float, float, float, float]]:
    """Yield set and items labelled; half-widths planned and found, alone too; items needed alone.

    The last number is the half-width that as many items alone give.
    """
    for name, panel_of in PANELS.items():
        for seed in range(seeds):
            panel = panel_of()
            for study in drawn(panel, TOGETHER, 3, seed):
                rng = np.random.default_rng(seed + 10)
                items = rng.permutation(study.predictions["item"].unique())
                n = min(LABELLED, len(items) // SHARE)
                pilot = _labels(study.annotations, panel, items[-min(PILOT, n) :])
                pred = dx.predictions(study.predictions)
                plan = dx.plan(
                    pilot, (3,), (n,), predictions=pred, random_seed=seed, progressbar=False
                )
                planned = plan.isel(annotator=0, item=0)
                needed = round(float(planned["items_alone"]))
                told = _half(_labels(study.annotations, panel, items[:n], items), pred, seed)
                alone = [
                    _half(_labels(study.annotations, panel, items[:k]), pred, seed)
                    for k in (n, needed)
                ]
                both = (float(planned[f"half_width{which}"]) for which in ("", "_alone"))
                yield name, n, *both, needed, told, *alone


def _labels(
    labels: pd.DataFrame, panel: Panel, some: npt.NDArray[np.int64],
    items: npt.NDArray[np.int64] | None = None,
) -> xr.Dataset:  # fmt: skip
    rows = labels[labels["item"].isin(some)]
    return dx.annotations(rows, labels=panel.labels, items=items, kind="nominal")


def _half(ann: xr.Dataset, pred: xr.Dataset, seed: int) -> float:
    """Return the mean half-width of systems, items without labels by a Polya urn."""
    n_all = pred.sizes["item"]
    some = pred.sel(item=ann["item"].to_numpy())
    fit = dx.models.dirichlet.fit(
        ann, predictions=some, draws=500, chains=2, random_seed=seed, progressbar=False
    )
    shares = np.random.default_rng(seed).dirichlet(np.ones(ann.sizes["item"]), (2, 500))
    more = np.random.default_rng(seed).multinomial(n_all - ann.sizes["item"], shares)
    coords = {"item": ann["item"].to_numpy()}
    weights = xr.DataArray(1.0 + more, dims=("chain", "draw", "item"), coords=coords)
    draws = dx.top_k_accuracy(fit, some, insight="learned", weights=weights, random_seed=seed)
    ends = draws.quantile([(1 - PROB) / 2, (1 + PROB) / 2], ("chain", "draw"))
    return float(ends.diff("quantile").mean() / 2)


def accuracies(seeds: int) -> Iterator[tuple[str, int, bool, bool, str, bool, float, float]]:
    """Yield set, known items, whether drawn by difficulty, whether all items, kind, and results.

    Results are whether the interval covers, its width, and the error of the mean.
    """
    for name, study_of in STUDIES.items():
        whole = study_of()
        for seed in range(seeds):
            study = few(whole, seed)
            answers = systems(study, np.random.default_rng(seed))
            truth = _true(study, answers)
            for hard in (False, True):
                some = _chosen(answers, np.random.default_rng(seed + 100), hard=hard)
                for n_known in KNOWN:
                    if n_known > len(some):
                        continue
                    known = study.gold[some[:n_known]] if n_known else None
                    for all_items in (True, False):
                        draws = _accuracy(study, some, answers, known, seed, all_items=all_items)
                        for key, (kind, share) in truth.items():
                            low, high = np.quantile(draws[key], [(1 - PROB) / 2, (1 + PROB) / 2])
                            inside, error = low <= share <= high, float(draws[key].mean() - share)
                            yield name, n_known, hard, all_items, kind, inside, high - low, error


def _chosen(
    answers: dict[str, tuple[str, pd.Series[str]]], rng: np.random.Generator, *, hard: bool
) -> npt.NDArray[np.object_]:
    """Draw the items that people label."""
    frame = pd.DataFrame({name: answers[name][1] for name in JUDGES})
    chance = np.where(hard & (frame.nunique(axis=1) > 1), 4.0, 1.0)
    n = min(LABELLED, len(frame) // SHARE)
    return rng.choice(frame.index.to_numpy(), n, replace=False, p=chance / chance.sum())


def _true(
    study: Study, answers: dict[str, tuple[str, pd.Series[str]]]
) -> dict[str, tuple[str, float]]:
    """Return the kind and the accuracy of each system, of labels, and of majority labels."""
    out = {
        name: (kind, float((labels == study.gold.reindex(labels.index)).mean()))
        for name, (kind, labels) in answers.items()
    }
    given = study.labels[study.labels["item"].isin(study.gold.index)]
    right = given["label"].to_numpy() == study.gold[given["item"]].to_numpy()
    votes = pd.crosstab(given["item"], given["label"]).reindex(columns=study.names, fill_value=0)
    top = votes.eq(votes.max(axis=1), axis=0)
    top = top.div(top.sum(axis=1), axis=0)
    place = votes.columns.get_indexer(study.gold[votes.index])
    led = np.where(place >= 0, top.to_numpy()[np.arange(len(top)), place], 0.0)
    return out | {LABELS: (LABELS, right.mean()), MAJORITY: (MAJORITY, float(led.mean()))}


def _accuracy(
    study: Study, some: npt.NDArray[np.object_], answers: dict[str, tuple[str, pd.Series[str]]],
    known: pd.Series[str] | None, seed: int, *, all_items: bool,
) -> dict[str, npt.NDArray[np.float64]]:  # fmt: skip
    """Return draws of accuracies: on all items, or on items like the labelled ones."""
    tables = [series.reset_index().assign(system=name) for name, (_, series) in answers.items()]
    predictions = pd.concat(tables)
    if not all_items:
        predictions = predictions[predictions["item"].isin(some)]
    pred = dx.predictions(predictions)
    labels = study.labels[study.labels["item"].isin(some)]
    ann = dx.annotations(
        labels, labels=study.names, kind=study.kind, trial="trial",
        items=pred["item"] if all_items else None,
    )  # fmt: skip
    fit = dx.models.symmetric_confusion.fit(
        ann, predictions=pred, error_correlation="learned", truth=known, keep_items=False,
        draws=500, chains=2, random_seed=seed, progressbar=False,
        errors="graded" if study.kind == "ordinal" else "equal",
    )  # fmt: skip
    posterior = fit["posterior"].to_dataset()
    of_systems = posterior["system_correct" if all_items else "system_accuracy"]
    out = {str(name): of_systems.sel(system=name).values.ravel() for name in answers}
    people = posterior["annotator_accuracy"]
    if "annotator" in people.dims:
        given = labels.groupby("annotator").size().reindex(people["annotator"].values)
        people = people.weighted(xr.DataArray(given.to_numpy(), dims="annotator")).mean("annotator")
    return out | {
        LABELS: people.values.ravel(), MAJORITY: posterior["majority_correct"].values.ravel()
    }  # fmt: skip


def main() -> None:
    """Print the coverage and the width of intervals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4, help="draws of each panel")
    parser.add_argument("--truth", action="store_true", help="accuracies, of sets with known truth")
    parser.add_argument("--plan", action="store_true", help="what dissensus.plan says")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.plan:
        names = ["set", "items", "planned", "planned alone", "needed alone", "found",
                 "found alone", "found with these"]  # fmt: skip
        frame = pd.DataFrame(plans(options.seeds), columns=names)
        print(described())
        print(frame.groupby("set").mean().round(3).to_string())
        print(frame.drop(columns="set").mean().round(3).to_string())
        return
    if options.truth:
        names = ["set", "known", "hard", "all items", "kind", "coverage", "width", "error"]
        frame = pd.DataFrame(accuracies(options.seeds), columns=names)
        print(described())
        for by in (["hard", "kind", "known", "all items"], ["hard", "set", "known", "all items"]):
            print(
                frame.groupby(by)[["coverage", "width", "error"]].mean().round(3).to_string(),
                flush=True,
            )
        return
    names = ["set", "all items", "noisy", "coverage", "width"]
    frame = pd.DataFrame(rows(options.seeds), columns=names)
    print(described())
    for by in (["noisy", "all items"], ["set", "all items"]):
        print(frame.groupby(by)[["coverage", "width"]].mean().round(3))


if __name__ == "__main__":
    main()
