"""Every setting of every metric and model, set to every nonsense: no chance has to come by it."""

from __future__ import annotations

import inspect
from functools import cache

import numpy as np
import pytest
import xarray as xr
from component_fits import cross_replication, crossed_effects
from fuzz.judging import judged
from fuzz.settings_of import LONG, NONSENSE, settable

import dissensus as dx
from dissensus.metrics import METRICS
from dissensus.models import MODELS


@cache
def annotated():
    """Five items of two annotators, their fit, and two systems' lists."""
    rng = np.random.default_rng(1)
    ann = dx.from_matrix(rng.choice(["p", "q"], (5, 2)), labels=["p", "q"])
    fit = dx.models.dirichlet.fit(ann, draws=3, chains=2, random_seed=1, progressbar=False)
    items = ann["item"].to_numpy().tolist()
    rows = [
        (item, system, label, rank)
        for item in items
        for system in "st"
        for rank, label in enumerate(rng.permutation(["p", "q"]).tolist(), start=1)
    ]
    table = dict(zip(("item", "system", "label", "rank"), zip(*rows, strict=True), strict=True))
    return fit["posterior"]["plausibility"], dx.predictions(table, rank="rank")


def answered(**columns):
    """Return the answers of two systems on the five items."""
    item, system = np.divmod(np.arange(10), 2)
    return dx.predictions({"item": item, "system": np.array(["s", "t"])[system], **columns})


@cache
def scored():
    """Five items of three numbers, their fit, and two systems' numbers."""
    ann = dx.from_matrix(np.random.default_rng(1).normal(size=(5, 3)))
    fit = dx.models.normal_scores.fit(ann, draws=3, chains=2, random_seed=1, progressbar=False)
    return fit, answered(label=np.linspace(-1.0, 1.0, 10))


def sets():
    """Return plausibilities of two labels of five items, and two systems' sets."""
    values = np.random.default_rng(4).random((2, 1, 4, 5))
    fits = {
        label: xr.DataArray(
            np.stack([1 - p, p], axis=-1), dims=("chain", "draw", "item", "label"),
            coords={"item": range(5), "label": ["no", "yes"]},
        )
        for label, p in zip("pq", values, strict=True)
    }  # fmt: skip
    rows = {"item": [0, 1, 2, 3, 4] * 2, "system": ["s"] * 5 + ["t"] * 5}
    given = ["p", "q", "p;q", "p", "-"] * 2
    return fits, dx.predictions(rows | {"label": given}, kind="set", separator=";", none="-")


def draws():
    values = np.random.default_rng(2).random((1, 4, 2))
    return xr.DataArray(values, dims=("chain", "draw", "system"), coords={"system": ["s", "t"]},
                        name="number")  # fmt: skip


def with_coefficients():
    """Return a fit with draws of two coefficients."""
    values = np.random.default_rng(1).normal(size=(1, 4, 2))
    coefficient = xr.DataArray(values, dims=("chain", "draw", "term"), coords={"term": ["x", "y"]})
    return xr.DataTree.from_dict({"posterior": coefficient.to_dataset(name="coefficient")})


def with_strengths():
    """Return a fit with draws of three strengths."""
    values = np.random.default_rng(1).normal(size=(1, 4, 3))
    strength = xr.DataArray(
        values, dims=("chain", "draw", "system"), coords={"system": list("pqr")}
    )
    return xr.DataTree.from_dict({"posterior": strength.to_dataset(name="strength")})


ARGUMENTS = {
    "lists": lambda: list(annotated()),
    "plausibility": lambda: [annotated()[0]],
    "components": lambda: [crossed_effects("gaussian", draws=3)],
    "pools": lambda: [cross_replication("gaussian", draws=3)],
    "draws": lambda: [draws()],
    "strengths": lambda: [[0.5, 1.0, 2.0, 3.0], [[0], [1]]],
    "coefficients": lambda: [with_coefficients()],
    "pairs": lambda: [with_strengths()],
    "blocks": lambda: [[[0], [1]], [[1], [0]], 2, 4],
    "scores": lambda: list(scored()),
    "probabilities": lambda: [annotated()[0], answered(p=[0.3, 0.9] * 5, q=[0.7, 0.1] * 5)],
    "two labels": lambda: [annotated()[0], answered(label=["p", "q"] * 5)],
    "sets": lambda: list(sets()),
}
"""What a metric is given, by what it takes."""
OWN = {
    "event_plausibility": (lambda: [xr.Dataset({"mean": draws(), "variance": draws()})],
                           {"threshold": 0.2}),
    "majority_accuracy": (list, {"accuracy": draws()}),
    "group_labels": (ARGUMENTS["plausibility"], {"mapping": {"p": "a", "q": "b"}}),
    "expected_risk": (ARGUMENTS["plausibility"], {"risk": {"p": 0, "q": 1.0}}),
    "sensitivity_specificity": (ARGUMENTS["two labels"], {"positive": "p"}),
}  # fmt: skip


def call_of(entry):
    """Return the arguments of a call that is right."""
    make, more = OWN.get(entry.name, (ARGUMENTS.get(entry.takes, ARGUMENTS["blocks"]), {}))
    return make(), dict(entry.arguments) | more


@pytest.mark.unit(0, long=7)
@pytest.mark.parametrize("entry", METRICS, ids=lambda entry: entry.name)
def test_every_setting_refuses_nonsense_in_words(entry):
    args, more = call_of(entry)
    assert not judged("metrics, each setting", entry.function, *args, **more).refused
    taken = list(inspect.signature(entry.function).parameters)[: len(args)]
    for name in settable(entry.function):
        if name in taken or name in LONG:
            continue
        for value in NONSENSE:
            judged("metrics, each setting", entry.function, *args, **{**more, name: value})


@cache
def annotations(model):
    """Five items of four annotators, of the first kind that a model takes."""
    rng, kind = np.random.default_rng(3), model.kinds[0]
    if kind == "pair":
        left = np.arange(20) % 3
        return dx.pairs({"left": left, "right": (left + 1) % 3, "winner": ["left", "tie"] * 10})
    labels = rng.normal(size=20) if kind == "continuous" else rng.choice(["p", "q", "r"], 20)
    table = {"item": np.repeat(np.arange(5), 4), "annotator": np.tile(list("abcd"), 5),
             "label": labels, "pool": np.tile(["old", "old", "new", "new"], 5)}  # fmt: skip
    return dx.annotations(table, pool="pool", kind=kind)


@pytest.mark.unit(0, long=3)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_setting_of_a_fit_refuses_nonsense_in_words(model):
    fit, few = model.module.fit, {"draws": 3, "chains": 1, "random_seed": 1, "progressbar": False}
    few |= {"tune": 2} if "tune" in inspect.signature(fit).parameters else {}
    assert not judged("models, each setting", fit, annotations(model), **few).refused
    for name in settable(fit):
        if name not in few:
            for value in NONSENSE:
                judged("models, each setting", fit, annotations(model), **few, **{name: value})
