"""An evaluation with every section, and other draws in each place: one number names its place.

Tests of reports and summaries read numbers back from it, and hold them against the draws.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import stored
import xarray as xr
from component_fits import cross_replication

from dissensus.evaluation import scoring
from dissensus.evaluation.components import component_draws

SAMPLE = ("chain", "draw")
SCOPES = ["these items", "new items"]
POOLS = ["crowd", "experts", "tool"]


@cache
def _made() -> xr.DataTree:
    rng = np.random.default_rng(8)
    tree = stored.read("dense")
    tree.attrs["reference_reliability"] = 5.0  # neither the first nor the middle one, nor the last
    tree["companion"].attrs["reference_reliability"] = 100.0
    for side in (tree, tree["companion"]):
        _score(side, rng)
        _categorise(side, rng)
    systems = tree["metrics"]["system"].to_numpy()
    truth = rng.uniform(0.4, 0.9, (2, len(systems)))
    tree["truth"] = xr.Dataset({"top_1_accuracy": (("scope", "system"), truth)},
                               {"scope": SCOPES, "system": systems})  # fmt: skip
    tree["discrepancy"], more = _discrepancies(tree, rng)
    tree["statistics"] = tree["statistics"].to_dataset().drop_vars("discrepancy_ratio").merge(more)
    tree["components"], tree["pools"] = _components(rng)
    tree["accuracy"] = _shuffled(tree["accuracy"].to_dataset(), rng)
    return tree


def evaluation() -> xr.DataTree:
    """Return a copy of it."""
    return _made().copy(deep=True)


def _draws(rng, low, high, shape, spread=0.05, sample=(2, 30)):
    means = rng.uniform(low, high, shape)
    return means + spread * rng.normal(size=(*sample, *shape)) * rng.uniform(0.5, 1, shape)


def _score(side, rng):
    """Give a model metrics of which no two have the same mean, order or interval."""
    old = side["metrics"].to_dataset()["top_1_accuracy"]
    names = ("top_1_accuracy", "top_2_accuracy")
    draws = {name: old.copy(data=_draws(rng, 0.3, 0.9, old.shape[2:])) for name in names}
    side["metrics"] = xr.Dataset(draws)
    side["comparison"] = scoring.comparison(side["metrics"].to_dataset())
    side["diagnostics"] = scoring.diagnostics(side["metrics"].to_dataset())
    certainty = side["certainty"].to_dataset()
    values = certainty["annotation_certainty"]
    drawn = values.copy(data=rng.uniform(0.4, 1, values.shape))
    side["certainty"] = certainty.assign(annotation_certainty=drawn)
    naive = {f"naive_{name}": ("system", rng.uniform(0.3, 0.9, old.sizes["system"]))
             for name in names}  # fmt: skip
    kept = side["statistics"].to_dataset().drop_vars("naive_top_1_accuracy")
    given = 2 + rng.permutation(kept.sizes["item"])
    side["statistics"] = kept.assign(naive | {"n_annotations": ("item", given)})


def _categorise(side, rng):
    certainty = side["certainty"].to_dataset()["annotation_certainty"]
    metric = side["metrics"].to_dataset()["top_1_accuracy"]
    mass = rng.dirichlet([2, 1], (2, 30, certainty.sizes["item"]))
    theta = xr.DataArray(mass, {"item": certainty["item"], "label": ["mild", "grave"]},
                         (*SAMPLE, "item", "label"))  # fmt: skip
    side["categories"] = xr.Dataset({
        "plausibility": theta,
        "annotation_certainty": certainty.copy(data=rng.uniform(0.5, 1, certainty.shape)),
        "top_1_accuracy": metric.copy(data=_draws(rng, 0.3, 0.9, metric.shape[2:])),
        "naive_top_1_accuracy": ("system", rng.uniform(0.3, 0.9, metric.sizes["system"])),
    })  # fmt: skip


def _discrepancies(tree, rng):
    """Return ratios of systems and annotators, and the values as observed."""
    systems, people = (tree[group][dim].to_numpy() for group, dim in (
        ("metrics", "system"), ("annotations", "annotator")))  # fmt: skip
    out = xr.Dataset(
        coords={"system": systems, "annotator": people}, attrs=tree["discrepancy"].attrs
    )
    points = xr.Dataset(coords=out.coords)
    for name, dim, n in (("discrepancy_ratio", "system", len(systems)),
                         ("winning_rate", "system", len(systems)),
                         ("annotator_discrepancy_ratio", "annotator", len(people))):  # fmt: skip
        low, high = (0.3, 0.7) if name == "winning_rate" else (0.8, 1.2)
        out[name] = ((*SAMPLE, dim), _draws(rng, low, high, (n,), 0.1, (1, 60)))
        points[name] = (dim, rng.uniform(low, high, n))
    out["winning_rate"].attrs["n_annotators"] = 4
    out["non_inferiority"] = (out["discrepancy_ratio"] < 1.1).mean(SAMPLE)
    out["n_items"] = ("annotator", 20 + rng.permutation(len(people)))
    return out.assign_attrs(margin=0.1), points


def _components(rng):
    n_labels = xr.DataArray([2.0, 3.0, 4.0], {"pool": POOLS}, ["pool"])
    fit = cross_replication("ordinal", draws=30, names=POOLS)
    square = {"pool": POOLS, "pool_": POOLS}
    result = component_draws(fit, n_labels, "experts")
    result["n_items_shared"] = xr.DataArray(rng.integers(5, 99, (3, 3)), square, list(square))
    result.attrs.update(fit.attrs, reference="experts", inference="by hand", notes="", finite=1)
    pools = xr.Dataset(attrs={"distance": "interval", "notes": ""})
    for name, dims in (("krippendorff_alpha", ("pool",)), ("cross_kappa", tuple(square)),
                       ("normalized_cross_kappa", tuple(square))):  # fmt: skip
        shape = (3,) * len(dims)
        coords = dict.fromkeys(dims, POOLS)
        pools[name] = xr.DataArray(_draws(rng, 0.1, 0.9, shape, sample=(1, 60)), coords,
                                   (*SAMPLE, *dims))  # fmt: skip
        pools[f"observed_{name}"] = xr.DataArray(rng.uniform(0.1, 0.9, shape), coords, dims)
    return result, pools


def _shuffled(data, rng):
    """Give accuracies of systems and annotators means that no other number has."""
    for name, shape in (("estimated_accuracy", (2, 4)), ("annotator_accuracy", (4,))):
        data[name] = data[name].copy(data=_draws(rng, 0.4, 0.9, shape, 0.02, (2, 500)))
    for name, dim in (("majority_accuracy", "system"), ("annotator_majority", "annotator"),
                      ("above_annotators", "system")):  # fmt: skip
        data[name] = (dim, rng.uniform(0.3, 0.9, 4))
    return data
