"""Evaluations that tests of pictures read: small ones, made by the library as it is.

`make stored` writes them; a long test makes them again and compares.
"""

from __future__ import annotations

from itertools import combinations

import component_fits as made
import numpy as np
import one_truth
import pandas as pd
import xarray as xr
from component_fits import cross_replication
from scipy.special import expit

import dissensus as dx
from dissensus.evaluation.components import component_draws
from stored import FOLDER

QUIET = {"random_seed": 1, "progressbar": False}


def dense():
    """Three labels, so that the triangle can be drawn; four systems; two models."""
    study = dx.simulate.study(n_items=12, n_annotators=4, n_labels=3, kind="nominal", random_seed=1)
    return _evaluated(study, companion="inverse_rank")


def candidates():
    """Partial rankings, hence candidates with a remainder, and two models by default."""
    study = dx.simulate.study(n_items=12, n_annotators=4, n_labels=9, random_seed=1)
    return _evaluated(study)


def beside():
    """What no evaluation has, but a picture may be asked of: mostly of studies of their own."""
    return xr.DataTree.from_dict(
        {
            "assumptions": _assumptions(),
            "accuracy": _accuracy(),
            "components": component_draws(cross_replication("ordinal"), xr.DataArray(3.0)),
            "plan": _planned(),
            "items_to_review": _review(),
            "accuracy_plan": _planned_accuracy(),
            **_of_the_sure(),
            **_crossed_checks(),
        }
    )


def _evaluated(study, **options):
    labels = study.annotations["label"].to_numpy().tolist()
    risk = dict(zip(labels, range(len(labels)), strict=True))
    result = dx.evaluate(
        study.annotations, study.predictions, draws=30, chains=2, risk=risk, **QUIET, **options
    )
    result["truth"] = study.truth
    result["agreement_check"] = _checked(study.annotations)
    sure = study.annotations["annotator_code"].astype(float) / 4
    result["annotations"] = study.annotations.assign(confidence=sure)
    return result


def _checked(annotations):
    """What `agreement_check` returns; it is not a part of an evaluation, but may be put beside."""
    model = "plackett_luce" if annotations.attrs["kind"] == "ranking" else "dirichlet"
    fit = dx.models.get(model).module.fit(
        annotations, draws=30, chains=2, random_seed=1, progressbar=False, posterior_predictive=True
    )
    return dx.agreement_check(fit)


def _review():
    """Gains of items of a small study of its own."""
    votes = [["x", "x", "x"], ["y", "y", "y"]] * 4 + [["x", "x", "y"], ["y", None, None]]
    fit = dx.models.symmetric_confusion.fit(
        dx.from_matrix(votes), draws=100, chains=2, random_seed=1, progressbar=False
    )
    return dx.items_to_review(fit, further=2)


def _planned():
    """A plan of reliability, from a pilot of its own."""
    pilot = made.crossed_effects("gaussian", draws=20)
    return dx.plan_reliability(
        pilot, (2, 4), (20, 40), panel=6, studies=2, draws=30, random_seed=1, progressbar=False
    )


def _planned_accuracy():
    """A plan of accuracy without the truth, two studies of a size."""
    return dx.plan_accuracy(
        annotators=(2, 3), items=(20, 40), kappa=0.5, n_labels=3, studies=2, random_seed=1,
        progressbar=False,
    )  # fmt: skip


def _assumptions():
    """Checks of a model of the truth, of a small study of its own."""
    study = dx.simulate.confusion_study(40, system_accuracy=(0.9, 0.7), random_seed=1)
    fit = dx.models.symmetric_confusion.fit(
        study.annotations, predictions=study.predictions, draws=200, chains=2, random_seed=1,
        progressbar=False, posterior_predictive=True,
    )  # fmt: skip
    return dx.check_assumptions(fit)


def _accuracy():
    """Accuracies of a small study with one truth of its own."""
    study = dx.simulate.confusion_study(150, ipc=0.7, system_accuracy=(0.9, 0.7), random_seed=1)
    result = dx.evaluate(
        study.annotations, study.predictions, draws=30, chains=2, random_seed=1, components=None,
        progressbar=False,
    )  # fmt: skip
    return result["accuracy"].to_dataset()


def _crossed_checks():
    """Checks of crossed effects, before and after they have seen ordered labels."""
    study = dx.simulate.replication_study(12, 5, 3, family="ordinal", random_seed=1)
    fit = dx.models.crossed_effects.fit(
        study.annotations, family="ordinal", draws=30, chains=2, random_seed=1, progressbar=False,
        posterior_predictive=True,
    )  # fmt: skip
    prior = dx.prior_predictive(
        "crossed_effects", study.annotations, family="ordinal", draws=30, random_seed=1
    )
    return {
        "label_check": dx.label_check(fit),
        "residual_check": dx.residual_check(fit),
        "prior_predictive": prior,
    }


def _of_the_sure():
    """Labels with confidence and a known truth, and what is said of the two."""
    rng = np.random.default_rng(1)
    sure, right = rng.choice([0.25, 0.5, 1.0], 120), rng.random(120) < 0.8
    ann = dx.annotations(
        {"item": np.repeat(np.arange(30), 4), "annotator": list("abcd") * 30,
         "label": right.astype(int), "confidence": sure}, confidence="confidence",
    )  # fmt: skip
    truth = dict.fromkeys(range(30), 1) | {0: 0, 1: 0}
    made = ("annotator_roc", "confidence_check", "confidence_difficulty")
    out = {name: getattr(dx, name)(ann, truth, draws=100, random_seed=1) for name in made}
    ill = np.arange(40) % 2
    scores = [
        {"reader": r, "case": c, "modality": m, "score": d * ill[c] + rng.normal(), "ill": ill[c]}
        for r in range(4) for c in range(40) for m, d in (("MRI", 2.0), ("CT", 1.2))
    ]  # fmt: skip
    alone = {c: 2 * ill[c] + rng.normal() for c in range(40)}
    out["reader_study"] = dx.reader_study(
        scores, "ill", predictions=alone, threshold=1, draws=100, random_seed=1
    )
    return out


def judged():
    """Accuracies of a study of 200 items, and what its ground truth is worth, without the rest."""
    result = one_truth.evaluated()
    others = set(result.children) - {"accuracy", "weighted_reliability", "statistics"}
    return result.drop_nodes(sorted(others))


def votes():
    """Votes on pairs of four systems by five people, and a judge's verdicts on all pairs."""
    rng = np.random.default_rng(1)
    strength = {"strong": 1.2, "good": 0.6, "fair": 0.2, "weak": -1.2}
    rows = [
        (*rng.permutation(pair), f"q{item}", f"v{rng.integers(5)}")
        for pair in combinations(strength, 2) for item in range(8) for _ in range(4)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["left", "right", "item", "annotator"])
    apart = frame["left"].map(strength) - frame["right"].map(strength)
    frame["winner"] = np.where(rng.random(len(frame)) < expit(apart), "left", "right")
    frame.loc[rng.random(len(frame)) < 0.15, "winner"] = "tie"
    names = {"annotator": "annotator", "item": "item"}
    verdicts = dx.pairs(frame.drop_duplicates(["left", "right", "item"]).assign(annotator="judge"),
                        **names)  # fmt: skip
    some = frame.sample(120, random_state=1)
    return dx.evaluate(dx.pairs(some, **names), verdicts, draws=200, chains=2, **QUIET)


MADE = {
    "dense": dense, "candidates": candidates, "beside": beside, "one_truth": judged, "votes": votes,
}  # fmt: skip


def write(tree, path):
    """Write a tree with its larger arrays compressed."""
    small = {
        group.path: {
            name: {"zlib": True, "complevel": 9}
            for name, values in group.dataset.data_vars.items()
            if values.dtype.kind in "fiu" and values.size > 64
        }
        for group in tree.subtree
    }
    tree.to_netcdf(path, engine="h5netcdf", encoding=small)


if __name__ == "__main__":
    for name, function in MADE.items():
        write(function(), FOLDER / f"{name}.nc")
