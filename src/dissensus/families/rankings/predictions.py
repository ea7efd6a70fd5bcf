"""Log-likelihood of rankings under a fitted ranking model, and replicated rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus.data.rows import ranks
from dissensus.dims import ANNOTATION, ANNOTATOR, CHAIN, DRAW, ITEM, LABEL
from dissensus.families.rankings.kernels.predict import predicted
from dissensus.families.rankings.process import RANKING, Process, process
from dissensus.families.rankings.sampler import Draws
from dissensus.kernels.random import generator, name_hashes, row_keys
from dissensus.kernels.rankings import first_choice_agreement
from dissensus.kernels.types import Ints
from dissensus.sampling import fitting

MOST_REPLICATES, LEAST_REPLICATES, MOST_ROWS = 400, 100, 4_000_000
"""Maximum and minimum number of replicates for a check, and the maximum of their rows in total. The
minimum number of replicates is drawn even if they have more rows."""
ANOTHER = -1
"""Code of an unnamed label, if all unnamed labels count as one."""


def with_rankings(
    tree: xr.DataTree,
    process: Process,
    draws: Draws,
    *,
    log_likelihood: bool,
    posterior_predictive: bool,
    rng: np.random.Generator,
) -> xr.DataTree:
    """Add the groups of log-likelihood and predictions that are requested."""
    if log_likelihood:
        fitting.attach(tree, "log_likelihood", _log_likelihood(process, draws))
    if posterior_predictive:
        codes = _new_rankings(process, draws, int(rng.integers(2**31)))
        observed = tree["observed_data"].to_dataset()
        agreement = _agreement(process, observed["label_code"].to_numpy()[None])
        tree["observed_data"] = xr.DataTree(
            observed.assign(first_choice_agreement=float(agreement[0]))
        )
        fitting.attach(tree, "posterior_predictive", _predictive(process, draws, codes, observed))
    return tree


def replicated(
    fit: xr.DataTree, annotations: xr.Dataset, *, random_seed: Any, **settings: Any
) -> xr.DataTree:
    """Return evenly spaced draws of a fit, with a replicate of all rankings for each draw."""
    checked = process(annotations, **settings)
    posterior = fit["posterior"].to_dataset()
    n = MOST_ROWS // max(annotations.sizes[ANNOTATION], 1)
    n = max(LEAST_REPLICATES, min(MOST_REPLICATES, n)) // posterior.sizes[CHAIN]
    n_draws = posterior.sizes[DRAW]
    places = np.linspace(0, n_draws - 1, min(max(n, 1), n_draws)).astype(np.int64)
    thinned = posterior.isel({DRAW: places})
    draws = Draws({"plausibility": thinned["plausibility"]}, None, checked.sharpness, {}, "")
    seed = int(generator(random_seed, "replicates").integers(2**31))
    data = xr.Dataset(observed(annotations))
    predictive = _predictive(checked, draws, _new_rankings(checked, draws, seed), data)
    return xr.DataTree.from_dict(
        {"/": xr.Dataset(attrs=fit.attrs), "posterior": thinned, "observed_data": data,
         "posterior_predictive": predictive}
    )  # fmt: skip


def observed(annotations: xr.Dataset) -> dict[str, xr.DataArray]:
    """Return the label and the block of each annotation."""
    code = annotations["label_code"].to_numpy()
    coords: dict[str, Any] = {}
    for dim in (ITEM, ANNOTATOR):
        names = annotations[dim].to_numpy()[annotations[f"{dim}_code"].to_numpy()]
        coords[f"{ANNOTATION}_{dim}"] = (ANNOTATION, names)
    if "trial" in annotations:  # distinguishes rankings of an item by one annotator
        coords[f"{ANNOTATION}_trial"] = (ANNOTATION, annotations["trial"].to_numpy())
    return {
        name: xr.DataArray(values, dims=ANNOTATION, coords=coords)
        for name, values in (("label_code", code), ("rank", ranks(annotations)))
    }


def _shaped(draws: Draws, values: Any, dim: str, coords: Any) -> xr.DataArray:
    """Return an array (all draws, dim) as (chain, draw, dim)."""
    theta = draws.posterior["plausibility"]
    shape = (theta.sizes[CHAIN], theta.sizes[DRAW], values.shape[-1])
    named = {CHAIN: np.arange(shape[0]), DRAW: np.arange(shape[1]), **coords}
    return xr.DataArray(values.reshape(shape), dims=(CHAIN, DRAW, dim), coords=named)


def _log_likelihood(process: Process, draws: Draws) -> xr.Dataset:
    ann = process.annotations
    coords: dict[str, Any] = {
        f"{RANKING}_{dim}": (RANKING, ann[dim].to_numpy()[process.of_ranking(dim)])
        for dim in (ITEM, ANNOTATOR)
    }
    values = draws.log_likelihood  # not None: the draws were made with log_likelihood=True
    coords[RANKING] = np.arange(process.n_rankings)
    return xr.Dataset({"rankings": _shaped(draws, values, RANKING, coords)})


def _predictive(process: Process, draws: Draws, codes: Ints, data: xr.Dataset) -> xr.Dataset:
    labels = _shaped(draws, codes, ANNOTATION, data["label_code"].coords)
    labels.attrs = {"labels": process.annotations[LABEL].to_numpy().tolist(), "another": ANOTHER}
    agreement = _agreement(process, codes).reshape(labels.shape[:2])
    return xr.Dataset({"label_code": labels, "first_choice_agreement": ((CHAIN, DRAW), agreement)})


def _agreement(process: Process, codes: Ints) -> npt.NDArray[np.float64]:
    return first_choice_agreement(process.laid.rankings, codes[:, process.laid.row])


def _new_rankings(process: Process, draws: Draws, seed: int) -> Ints:
    """Draw a new label for every annotation (draw, annotation), as a code of the label space."""
    theta = draws.posterior["plausibility"].to_numpy()
    names = name_hashes(process.annotations[ITEM].to_numpy())
    n_unnamed = process.n_unnamed()
    split = np.full(len(names), process.concentration)
    split_keys = _split_keys(draws.posterior["plausibility"], names)
    rows = process.laid.row
    out = np.empty((*theta.shape[:2], len(rows)), dtype=np.int64)
    each = 1.0 if draws.sharpness is None else draws.sharpness
    sharp = np.broadcast_to(each, (theta.shape[0] * theta.shape[1], process.n_rankings))
    sharp = sharp.reshape(*theta.shape[:2], -1)
    for chain in range(len(theta)):
        keys = row_keys(np.asarray(chain, dtype=np.uint64), names, seed=seed)
        column = predicted(
            process.laid.rankings, theta[chain], process.laid.candidate, n_unnamed, split, keys,
            split_keys[chain], sharp[chain],
        )  # fmt: skip
        out[chain][:, rows] = _label_codes(process, column.astype(np.int64))
    return out.reshape(-1, len(rows))


def _split_keys(plausibility: xr.DataArray, items: Any) -> Any:
    """Return the random streams by which metrics split the remainder (chain, draw, item)."""
    chains, draws = (name_hashes(np.arange(plausibility.sizes[dim])) for dim in (CHAIN, DRAW))
    seed = plausibility.attrs["remainder_seed"]
    return row_keys(chains[:, None, None], draws[:, None], items, seed=seed)


def _label_codes(process: Process, column: Ints) -> Ints:
    """Turn columns, or members of the remainder, into label codes.

    The named codes c_0 < c_1 < ... are in order, so that the code of the j-th unnamed label
    is j plus the number of named codes with c_m - m <= j.
    """
    item = process.annotations["item_code"].to_numpy()[process.laid.row]
    last = process.where.codes.shape[1] - 1
    codes = process.where.codes[:, :-1]
    chosen = np.where(column < last, codes[item, np.minimum(column, max(last - 1, 0))], ANOTHER)
    if process.unranked != "exact":
        return chosen
    member = column - last
    gap = np.where(codes >= 0, codes - np.arange(last), np.iinfo(np.int64).max)[item]
    for place in range(last):
        member = member + (gap[:, place] <= column - last)
    return np.where(column < last, chosen, member)
