"""Studies whose truth is known, as arrays that any environment can read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tools import annotations

import dissensus as dx

Arrays = dict[str, npt.NDArray[Any]]

PANEL = {"n_annotators": 5, "n_labels": 4, "ipc": 0.7, "asymmetry": 1.3}
"""Five annotators who label everything."""

SPREAD = {"sigma_item": 1.0, "sigma_annotator": 0.5, "sigma": 1.0}
ICC = SPREAD["sigma_item"] ** 2 / sum(sd**2 for sd in SPREAD.values())


def crowds(n: int) -> Arrays:
    """Simulate annotators from poor to good; one row is a study, an item, an annotator, a label."""
    labels, truths, accuracies = [], [], []
    for seed in range(n):
        study = dx.simulate.confusion_study(
            4000, 200, 4, ipc=np.linspace(0.35, 0.85, 200).tolist(), labels_per_item=5,
            asymmetry=1.5, error_range=0.5, prevalence=[0.4, 0.3, 0.2, 0.1], random_seed=seed,
        )  # fmt: skip
        ann, truth = study.annotations, study.truth
        codes = [ann[name].to_numpy()[ann[f"{name}_code"].to_numpy()]
                 for name in ("item", "annotator")]  # fmt: skip
        rows = [np.full(ann.sizes["annotation"], seed), codes[0] - 1, codes[1] - 1,
                ann["label_code"].to_numpy()]  # fmt: skip
        labels.append(np.stack(rows, axis=1))
        names = truth["label"].to_numpy()
        truths.append(np.searchsorted(names, truth["truth_label"].to_numpy()))
        accuracies.append(truth["annotator_accuracy"].to_numpy())
    return {"rows": np.concatenate(labels), "truth": np.stack(truths),
            "accuracy": np.stack(accuracies), "n_labels": np.array(4)}  # fmt: skip


def large_panels(n: int) -> Arrays:
    """Simulate tables of labels (study, item, annotator)."""
    return {"table": np.stack([_panel(100_000, seed) for seed in range(n)])}


def small_panels(n: int) -> Arrays:
    """Simulate small tables, and say what alpha is of very many items."""
    alpha = float(dx.krippendorff_alpha(annotations(_panel(1_000_000, 10**6))))
    return {"table": np.stack([_panel(50, seed) for seed in range(n)]), "alpha": np.array(alpha)}


def _panel(n_items: int, seed: int) -> npt.NDArray[np.int64]:
    ann = dx.simulate.confusion_study(
        n_items, prevalence=[0.4, 0.3, 0.2, 0.1], random_seed=seed, **PANEL
    ).annotations
    out = np.full((n_items, PANEL["n_annotators"]), -1)
    out[ann["item_code"].to_numpy(), ann["annotator_code"].to_numpy()] = ann[
        "label_code"
    ].to_numpy()
    assert (out >= 0).all()
    return out


def matrices(n: int) -> Arrays:
    """Simulate numbers (study, item, annotator) with known components."""
    out = []
    for seed in range(n):
        rng = np.random.default_rng(seed)
        sizes = ((40, 1), (1, 8), (40, 8))
        out.append(sum(rng.normal(0, sd, n) for sd, n in zip(SPREAD.values(), sizes, strict=True)))
    return {"table": np.stack(out), "icc": np.array(ICC)}
