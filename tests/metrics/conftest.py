"""Small random plausibilities and lists, and slow oracles written from the definitions."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.plausibility import Layout, candidate_form

SYSTEMS = ("s", "t")


def dense(values, labels=None, items=None):
    """A plausibility (..., item, label), a point estimate or draws; labels are l0, l1, ..."""
    values = np.asarray(values, dtype=float)
    return xr.DataArray(
        values,
        dims=("chain", "draw", "item", "label")[-values.ndim :],
        coords={
            "item": range(values.shape[-2]) if items is None else items,
            "label": [f"l{k}" for k in range(values.shape[-1])] if labels is None else list(labels),
        },
        name="plausibility",
    )


def theta(seed, n_items=3, n_labels=5, chains=2, draws=3, zeros=False):
    """Dense draws with distinct masses; with ``zeros``, some labels are impossible."""
    rng = np.random.default_rng(seed)
    values = rng.dirichlet(np.ones(n_labels), size=(chains, draws, n_items))
    if zeros:
        possible = rng.random((n_items, n_labels)) < 0.6
        possible[np.arange(n_items), rng.integers(n_labels, size=n_items)] = True
        values = values * possible
        values /= values.sum(-1, keepdims=True)
    sample = {"chain": np.arange(chains), "draw": np.arange(draws)}
    return dense(values, items=[f"i{i}" for i in range(n_items)]).assign_coords(sample)


def lists(seed, plausibility, ties=True, longest=None, whole=False, labels=None):
    """Two systems' ranked lists of one or more labels, tied here and there."""
    rng = np.random.default_rng([seed, 7])
    labels = list(plausibility["label"].values) if labels is None else list(labels)
    rows = []
    for item in plausibility["item"].values:
        for system in SYSTEMS:
            length = len(labels) if whole else rng.integers(1, (longest or len(labels)) + 1)
            rank = 1
            for label in rng.permutation(labels)[:length]:
                rows.append((item, system, label, rank))
                rank += int(not ties or rng.random() < 0.6)
    table = dict(zip(("item", "system", "label", "rank"), zip(*rows, strict=True), strict=True))
    return dx.predictions(table, rank="rank")


def blocks(predictions, item, system):
    """One list as a list of blocks of labels."""
    prediction = predictions.sel(item=item, system=system)
    names = predictions["label"].values
    out: dict[int, list] = {}
    for code, block in zip(
        prediction["label_code"].values, prediction["block"].values, strict=True
    ):
        if block > 0:
            out.setdefault(int(block), []).append(names[code])
    return list(out.values())


def orders(blocks):
    """All full orders that the ties of a list allow; each is as likely as the others."""
    for parts in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield [label for part in parts for label in part]


def true_order(row, labels):
    """Labels of positive mass, the largest first, ties by label order."""
    places = sorted((k for k in range(len(row)) if row[k] > 0), key=lambda k: (-row[k], k))
    return [labels[k] for k in places]


def by_enumeration(plausibility, predictions, score):
    """Average score(predicted order, true order) over all orders of the predicted ties."""
    labels = list(plausibility["label"].values)
    draws = plausibility.transpose("chain", "draw", "item", "label")
    out = np.empty((*draws.shape[:3], len(predictions["system"])))
    for s, system in enumerate(predictions["system"].values):
        for i, item in enumerate(draws["item"].values):
            possible = list(orders(blocks(predictions, item, system)))
            for c, d in np.ndindex(*draws.shape[:2]):
                true = true_order(draws.values[c, d, i], labels)
                out[c, d, i, s] = np.mean([score(order, true) for order in possible])
    return out


def candidates(dense, named, concentration=np.inf, seed=11, anonymous=False):
    """Lump the labels outside ``named`` (item, label) into the remainder, by summing."""
    n_labels = dense.sizes["label"]
    width = int(named.sum(axis=1).max()) + 1
    codes = np.full((dense.sizes["item"], width), -1)
    sizes = np.zeros_like(codes)
    values = np.zeros((*dense.shape[:-1], width))
    for i, row in enumerate(named):
        kept = np.flatnonzero(row)
        codes[i, : len(kept)], sizes[i, : len(kept)] = kept, 1
        codes[i, -1], sizes[i, -1] = -2, n_labels - len(kept)
        values[..., i, : len(kept)] = dense.values[..., i, kept]
        values[..., i, -1] = dense.values[..., i, ~row].sum(axis=-1)
    out = candidate_form(
        values,
        Layout(codes, sizes, np.zeros(0, dtype=np.int64)),
        dense["item"].values,
        dense["label"].values,
        concentration=concentration,
        seed=seed,
    ).assign_coords({dim: dense[dim].values for dim in ("chain", "draw") if dim in dense.dims})
    if anonymous:
        del out.attrs["labels"]
    return out


@pytest.fixture(scope="session")
def make():
    """The makers above, for use inside hypothesis tests too."""
    return SimpleNamespace(
        dense=dense,
        theta=theta,
        lists=lists,
        blocks=blocks,
        orders=orders,
        true_order=true_order,
        by_enumeration=by_enumeration,
        candidates=candidates,
    )
