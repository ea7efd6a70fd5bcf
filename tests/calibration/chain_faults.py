"""Stale state, planted: in the chains of a fit, or in the process from one fit to the next."""

from __future__ import annotations

import numpy as np
import xarray as xr


def _changed(tree, change):
    """Return a fit with each variable's draws (chain, draw, ...) changed in place."""
    tree = tree.copy(deep=True)
    for draws in tree["posterior"].data_vars.values():
        change(draws.to_numpy())
    return tree


def continued(fit):
    """Let each chain go on where the one before it ended: one long chain, cut into pieces."""

    def faulty(ann, *, draws, chains, **options):
        long_fit = fit(ann, draws=draws * chains, chains=1, **options)
        pieces = {}
        for group in long_fit.children:
            data = long_fit[group].to_dataset()
            if "draw" in data.dims:
                parts = [data.isel(draw=slice(k * draws, (k + 1) * draws)) for k in range(chains)]
                parts = [part.assign_coords(draw=np.arange(draws)) for part in parts]
                data = xr.concat(parts, "chain").assign_coords(chain=np.arange(chains))
            pieces[group] = data.assign_attrs(long_fit.attrs)
        tree = xr.DataTree.from_dict(pieces)
        tree.attrs.update(long_fit.attrs)
        return tree

    return faulty


def same_stream(fit):
    """Give all chains one stream of random numbers: copies, but for where they began."""

    def change(values):
        values[1:, 5:] = values[:1, 5:]

    return lambda ann, **options: _changed(fit(ann, **options), change)


def moved_together(fit):
    """Drive chains by numbers that are half the same, so that no draw is in two of them."""

    def change(values):
        mean, values[1:] = values[1:].mean(axis=1, keepdims=True), values[1:]
        values[1:] = mean + 0.8 * (values[1:] - mean) + 0.6 * (
            values[:1] - values[:1].mean(axis=1, keepdims=True)
        )  # fmt: skip

    return lambda ann, **options: _changed(fit(ann, **options), change)


def scratch_of_sweeps(fit):
    """Share scratch from which the first chain reads a number of the second, now and then."""

    def change(values):
        if len(values) > 1:
            values[0, 3] = (values[0, 3] + values[1, 3]) / 2

    return lambda ann, **options: _changed(fit(ann, **options), change)


def remembered(fit):
    """Keep what was learned of the first data ever seen, here the scale of draws, for all."""
    kept = {}

    def faulty(ann, **options):
        tree = fit(ann, **options)
        scale = {name: float(draws.std()) for name, draws in tree["posterior"].data_vars.items()}
        first = kept.setdefault("scale", scale)
        tree = tree.copy(deep=True)
        for name, draws in tree["posterior"].data_vars.items():
            draws.to_numpy()[:] *= first.get(name, 1.0) / scale[name]
        return tree

    return faulty


def counted(fit):
    """Let the seed hang on how often anything was fitted before."""
    calls = []

    def faulty(ann, *, random_seed, **options):
        calls.append(1)
        return fit(ann, random_seed=random_seed + len(calls), **options)

    return faulty


IN_CHAINS = [
    ("chains continued", continued, {"length"}),
    ("one stream of random numbers", same_stream, {"common draws", "together"}),
    ("one stream, other starts", moved_together, {"together"}),
    ("scratch that chains share", scratch_of_sweeps, {"alone"}),
    ("a stream that goes on from fit to fit", counted, {"again"}),
]
"""Fault, and the checks of which one or more has to see it."""
