"""People label a part of the items, a judge and the systems all: `dx.annotations(items=)`."""

from __future__ import annotations

import numpy as np
import pytest

import dissensus as dx

QUIET = {"random_seed": 1, "progressbar": False}


def study(kind, n_items=300, n_labelled=60, seed=1):
    """Simulate three people on some items, and a judge and a poorer system on all."""
    rng = np.random.default_rng(seed)
    names = [f"i{k}" for k in range(n_items)]
    taken = rng.choice(n_items, n_labelled, replace=False)
    panel = rng.normal(50, 10, n_items) if kind == "continuous" else rng.integers(0, 3, n_items)
    systems = {"judge": 0.95, "poor": 0.6}

    def label_of(k, share):
        if kind == "continuous":
            return panel[k] + rng.normal(0, 12 * (1 - share))
        return int(panel[k] if rng.random() < share else rng.integers(0, 3))

    rows = [(names[k], f"p{who}", label_of(k, 0.8)) for k in taken for who in range(3)]
    answers = [(name, s, label_of(k, share)) for s, share in systems.items()
               for k, name in enumerate(names)]  # fmt: skip
    table = dict(zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True))
    pred = dict(zip(("item", "system", "label"), zip(*answers, strict=True), strict=True))
    return table, dx.predictions(pred, kind=None if kind == "continuous" else "nominal"), panel


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nominal", "ordinal", "continuous"])
def test_an_evaluation_is_of_all_items_and_its_statistics_of_the_labelled_ones(kind):
    table, pred, _ = study(kind)
    options = {"kind": kind} | ({} if kind == "continuous" else {"labels": [0, 1, 2]})
    ann = dx.annotations(table, items=pred["item"], **options)
    result = dx.evaluate(ann, pred, draws=100, **QUIET)
    some = dx.annotations(table, **options)
    assert result["posterior"].sizes["item"] == 300
    alpha = {name: dx.krippendorff_alpha(each) for name, each in (("all", ann), ("some", some))}
    assert float(alpha["all"]) == float(alpha["some"])
    values = result["metrics"].to_dataset()
    assert all(np.isfinite(values[name]).all() for name in values)
    assert np.isfinite(dx.summary(result)[["lower", "upper"]]).all(axis=None)


@pytest.mark.long
def test_a_system_on_unlabelled_items_is_judged_by_what_predicts_labels():
    """With 60 of 300 items labelled the interval of the rest's share is right and narrower."""
    hold, width = [], []
    for seed in range(6):
        table, pred, panel = study("nominal", seed=seed)
        labels = {"labels": [0, 1, 2], "kind": "nominal"}
        every = dx.annotations(table, items=pred["item"], **labels)
        fit = dx.models.dirichlet.fit(every, predictions=pred, draws=300, **QUIET)
        some = dx.annotations(table, **labels)
        alone = dx.models.dirichlet.fit(some, predictions=pred, draws=300, **QUIET)
        draws = dx.top_k_accuracy(fit, pred)
        few = pred.sel(item=some["item"].to_numpy())
        fewer = dx.top_k_accuracy(alone, few, weights="bayesian-bootstrap", random_seed=1)
        for system in ("judge", "poor"):
            answer = pred["label"].to_numpy()[pred["label_code"].sel(system=system)].ravel()
            truth = (answer.astype(int) == panel).mean()
            ends = [x.sel(system=system).quantile([0.055, 0.945]) for x in (draws, fewer)]
            width.append([float(np.diff(x)[0]) for x in ends])
            hold.append(float(ends[0][0]) <= truth <= float(ends[0][1]))
    assert np.mean(hold) > 0.7  # 12 intervals of 89 %
    ratio = np.mean(width, axis=0)
    assert ratio[0] < 0.85 * ratio[1]


@pytest.mark.long
def test_numbers_of_a_judge_stand_for_scores_of_people():
    table, pred, panel = study("continuous")
    ann = dx.annotations(table, items=pred["item"])
    fit = dx.models.normal_scores.fit(ann, predictions=pred, draws=300, **QUIET)
    mean = fit["posterior"]["mean"]
    low, high = mean.quantile([0.055, 0.945], ("chain", "draw"))
    bare = ~np.isin(ann["item"].to_numpy(), table["item"])
    inside = ((low <= panel) & (panel <= high)).to_numpy()
    assert 0.82 < inside[bare].mean() < 0.96
