"""Agreement with a panel where people labelled a part of the items and systems answered all.

``uv run python benchmarks/unlabelled.py`` draws three labels for 100 items, at most a third, of
each panel of `panel_data`, with systems of all kinds on all items. Intervals of `top_k_accuracy`
for all items (`dx.annotations(..., items=)`) are held against the panel, beside those of the
labelled items alone (Bayesian bootstrap of the items). With ``--truth``, accuracies are held
against the known truth of the sets of `truth_data`, where 0, 30 or 60 of the labelled items have a
known truth; "labelled items alone" are then the accuracies on similar items.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr
from machine import described
from panel_data import PANELS, TOGETHER, Panel, drawn
from real_data import PROB
from truth_data import STUDIES, Study, few, systems

import dissensus as dx

LABELLED, SHARE = 100, 3
KNOWN = (0, 30, 60)


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
    """Yield set, whether all items, whether a noisy system, whether it holds, and the width."""
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


def accuracies(seeds: int) -> Iterator[tuple[str, int, bool, str, bool, float, float]]:
    """Yield set, known items, whether all items, kind of system, holds, width, and error."""
    for name, study_of in STUDIES.items():
        whole = study_of()
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            study = few(whole, seed)
            answers = systems(study, rng)
            items = study.gold.index.to_numpy()
            some = rng.choice(items, min(LABELLED, len(items) // SHARE), replace=False)
            frame = pd.concat(
                [one.reset_index().assign(system=name) for name, (_, one) in answers.items()]
            )
            labels = study.labels[study.labels["item"].isin(some)]
            for n_known in KNOWN:
                if n_known > len(some):
                    continue
                known = study.gold[some[:n_known]] if n_known else None
                for all_items in (True, False):
                    draws = _accuracy(study, labels, frame, known, seed, all_items=all_items)
                    for system, (kind, one) in answers.items():
                        truth = float((one == study.gold.reindex(one.index)).mean())
                        mine = draws.sel(system=system).values.ravel()
                        low, high = np.quantile(mine, [(1 - PROB) / 2, (1 + PROB) / 2])
                        inside, error = low <= truth <= high, float(mine.mean() - truth)
                        yield name, n_known, all_items, kind, inside, high - low, error


def _accuracy(
    study: Study, labels: pd.DataFrame, predictions: pd.DataFrame, known: pd.Series | None,
    seed: int, *, all_items: bool,
) -> xr.DataArray:  # fmt: skip
    """Return draws of accuracies: on all items, or on items like the labelled ones."""
    if not all_items:
        predictions = predictions[predictions["item"].isin(labels["item"])]
    pred = dx.predictions(predictions)
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
    return posterior["system_correct" if all_items else "system_accuracy"]


def main() -> None:
    """Print how many intervals hold, and how wide they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4, help="draws of each panel")
    parser.add_argument("--truth", action="store_true", help="accuracies, of sets with known truth")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.truth:
        names = ["set", "known", "all items", "kind", "hold", "width", "error"]
        found = pd.DataFrame(accuracies(asked.seeds), columns=names)
        print(described())
        for by in (["kind", "known", "all items"], ["set", "known", "all items"]):
            print(found.groupby(by)[["hold", "width", "error"]].mean().round(3).to_string())
        return
    names = ["set", "all items", "noisy", "hold", "width"]
    found = pd.DataFrame(rows(asked.seeds), columns=names)
    print(described())
    for by in (["noisy", "all items"], ["set", "all items"]):
        print(found.groupby(by)[["hold", "width"]].mean().round(3))


if __name__ == "__main__":
    main()
