"""Small sets of labels for tests of crossed effects: unbalanced, with repetitions and gaps."""

from __future__ import annotations

from functools import cache
from typing import Any

import crossed_reference
import numpy as np
import pytest
import xarray as xr

import dissensus as dx

FAMILIES = ("gaussian", "bernoulli", "ordinal")
by_family = pytest.mark.parametrize("family", FAMILIES)

PLACES = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 2), (2, 0), (0, 2), (2, 1), (1, 2)]
"""(item, annotator): three of each, one of them twice, in no order."""
NUMBERS = [4.0, 5.0, 6.5, 7.0, 5.5, 3.0, 3.9, 3.4, 4.4, 6.1]
GRADES = [1, 2, 3, 2, 2, 0, 1, 0, 1, 3]
ACROSS = [
    (0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (0, 3), (1, 3), (1, 4), (3, 4), (3, 3), (0, 0),
]  # fmt: skip
"""(item, annotator) of two pools, annotators from 3 on in the second; items 2 and 3 are seen by
one pool only, and (0, 0) is there twice."""
ACROSS_NUMBERS = [4.0, 5.0, 6.5, 7.0, 5.5, 3.0, 3.9, 3.4, 4.4, 6.1, 4.4]
ACROSS_GRADES = [0, 2, 3, 2, 1, 1, 2, 2, 0, 1, 1]


def labels(places: Any, values: Any, **options: Any) -> xr.Dataset:
    """Make annotations of rows; repetitions are numbered through."""
    item, who = zip(*places, strict=True)
    columns: dict[str, Any] = {"item": [f"i{i}" for i in item], "annotator": [f"a{j}" for j in who]}
    columns |= {"label": list(values), "trial": range(len(item))}
    return dx.annotations(columns, trial="trial", **options)


def one_pool(family: str, places: Any = PLACES, n_labels: int = 3) -> xr.Dataset:
    """Make labels of one pool, suited to a family."""
    if family == "gaussian":
        return labels(places, NUMBERS[: len(places)], kind="continuous")
    n_labels = 2 if family == "bernoulli" else n_labels
    grades = np.array(GRADES[: len(places)]) * n_labels // 4
    return labels(places, grades, kind="ordinal", labels=range(n_labels))


def two_pools(
    family: str, *, shared: bool = False, n_labels: int = 3, n_pools: int = 2
) -> xr.Dataset:
    """Make labels of two pools, or of three; ``shared``: one annotator is in both.

    What is not a number has two rows less: points of the prior are to be worth enough.
    """
    across = ACROSS if family == "gaussian" else ACROSS[:9]
    pool = ["old" if j < 3 else "new" for _, j in across]
    if n_pools == 3:
        pool = ["third" if j in {2, 4} else p for (_, j), p in zip(across, pool, strict=True)]
    who = [0 if shared and j == 3 else j for _, j in across]
    columns: dict[str, Any] = {
        "item": [f"i{i}" for i, _ in across], "annotator": [f"a{j}" for j in who], "pool": pool,
        "trial": range(len(who)),
    }  # fmt: skip
    options: dict[str, Any] = {"trial": "trial", "pool": "pool"}
    if family == "gaussian":
        return dx.annotations(columns | {"label": ACROSS_NUMBERS}, **options, kind="continuous")
    n_labels = 2 if family == "bernoulli" else n_labels
    grades = np.array(ACROSS_GRADES[: len(across)]) * n_labels // 4
    columns["label"] = grades
    return dx.annotations(columns, **options, kind="ordinal", labels=range(n_labels))


PRIORS: dict[str, dict[str, Any]] = {
    "gaussian": {
        "mu": (4.0, 2.0), "sigma_item": ("half_t", 1.5, 6.0),
        "sigma_annotator": ("exponential", 1.0), "sigma": ("half_normal", 1.5),
    },
    "bernoulli": {
        "mu": (0.5, 1.0), "sigma_item": ("half_normal", 1.5),
        "sigma_annotator": ("half_t", 1.0, 6.0),
    },
    "ordinal": {
        "mu": (0.3, 0.7), "sigma_item": ("exponential", 0.7),
        "sigma_annotator": ("half_normal", 0.7), "gap": ("half_t", 1.0, 6.0),
    },
}  # fmt: skip
"""Each form of prior somewhere, with tails light enough for squares to have an error."""


def priors_of(family: str, *, anonymous: bool = False) -> dict[str, Any]:
    """Return the priors, less that of what is not there."""
    drop = {"sigma_annotator"} if anonymous else set()
    return {name: prior for name, prior in PRIORS[family].items() if name not in drop}


def fit(ann: xr.Dataset, **options: Any) -> xr.DataTree:
    """Fit `cross_replication` where there are pools, and else `crossed_effects`."""
    pools = "pool_code" in ann
    model = dx.models.cross_replication if pools else dx.models.crossed_effects
    draws = {"draws": 2500, "random_seed": 12} if pools else {"draws": 2000, "random_seed": 11}
    return model.fit(ann, **{**draws, "chains": 2, "progressbar": False, **options})


def integrated(ann: xr.Dataset, family: str, **options: Any) -> crossed_reference.Reference:
    """Integrate over the priors of `priors_of`."""
    priors = priors_of(family, anonymous=options.get("anonymous", False))
    options = {"pools": "pool_code" in ann, **options}
    if family == "gaussian":
        return crossed_reference.gaussian(ann, priors, **options)
    return crossed_reference.labels(ann, family, priors, **options)


@cache
def simulated(family: str, pools: bool = False) -> xr.Dataset:
    """Return a simulated study of a family, made once."""
    sizes, more = (40, 8, 4), {}
    if pools:
        sizes, more = (30, (6, 4), (4, 3)), {"pools": ("old", "new"), "overlap": 0.8}
    study = dx.simulate.replication_study(*sizes, family=family, random_seed=1, **more)
    return study.annotations
