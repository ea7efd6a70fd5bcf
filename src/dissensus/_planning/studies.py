"""New studies drawn from a pilot's posterior, and how wide their intervals come out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from dissensus._planning.designs import Design
from dissensus._planning.pilots import Pilot
from dissensus.dims import LABEL, POOL, SAMPLE
from dissensus.errors import DissensusWarning
from dissensus.families.crossed.fit import parameters
from dissensus.families.crossed.process import process
from dissensus.families.crossed.sampler import by_gibbs
from dissensus.kernels.types import Floats
from dissensus.metrics.cross_replication import normalized_xcc
from dissensus.metrics.reliability import icc
from dissensus.sampling import fitting
from dissensus.simulate._replication import replication_study

_TUNE: Final = 300
"""Sweeps before the first draw: a study of hundreds of labels is forgotten by then."""


class Widths(NamedTuple):
    """Lengths of intervals, design by design and study by study."""

    icc: Floats
    """(design, study, pool)"""
    xcc: Floats
    """(design, study, pool, pool), of normalised xCC; the diagonal has no meaning."""


class Run(NamedTuple):
    """How each new study is analysed."""

    priors: Any
    scale: str
    prob: float
    draws: int


def widths(
    pilot: Pilot, designs: Sequence[Design], studies: int, run: Run,
    rng: np.random.Generator, progressbar: bool,
) -> Widths:  # fmt: skip
    """Draw as many new studies of each design, and measure the intervals in them.

    The same truths, and as far as can be the same luck, meet all designs: what differs between
    these is then the design.
    """
    truths = _spread(pilot, run.scale, studies, rng)
    seeds = rng.integers(2**63, size=studies).tolist()
    one = partial(_measured, pilot, run)
    lots = list(zip(truths, seeds, strict=True))
    tasks = [(design, truth, seed) for design, (truth, seed) in product(designs, lots)]
    with warnings.catch_warnings():
        # One annotator who labels one item, say: in a study that nobody has made.
        warnings.simplefilter("ignore", DissensusWarning)
        text = "Simulating studies"
        found = fitting.mapped(lambda task: one(*task), tasks, text, progressbar)
    shape = (len(designs), studies)
    of_icc, of_xcc = (np.stack(part) for part in zip(*found, strict=True))
    return Widths(
        of_icc.reshape(*shape, *of_icc.shape[1:]), of_xcc.reshape(*shape, *of_xcc.shape[1:])
    )


def _spread(pilot: Pilot, scale: str, studies: int, rng: np.random.Generator) -> list[int]:
    """Choose draws of the posterior to be the truth, evenly from the lowest ICC to the highest."""
    found = icc(pilot.fit, scale).transpose(*SAMPLE, ...).to_numpy()
    height = found.reshape(found.shape[0] * found.shape[1], -1).mean(axis=1)
    order = np.argsort(height, kind="stable")
    place = (np.arange(studies) + rng.random()) / studies * len(order)
    return order[np.minimum(place.astype(np.int64), len(order) - 1)].tolist()


def _measured(
    pilot: Pilot, run: Run, design: Design, truth: int, seed: int
) -> tuple[Floats, Floats]:
    """Simulate and analyse one study; return the lengths of its intervals."""
    fit = _analysed(pilot, run, _labels(pilot, design, truth, seed), seed)
    of_icc = np.atleast_1d(_length(icc(fit, run.scale), run.prob))
    if pilot.pools is None:
        return of_icc, np.zeros((1, 1))
    return of_icc, _length(normalized_xcc(fit, run.scale), run.prob)


def _labels(pilot: Pilot, design: Design, truth: int, seed: int) -> xr.Dataset:
    """Draw the labels of a new study, under one draw of the pilot's posterior."""
    given = {name: values[truth] for name, values in pilot.draws.items()}
    people = [design.n_annotators] * pilot.n_pools if pilot.anonymous else design.panel
    if pilot.pools is None:
        cutpoint = given.pop("cutpoint", None)
        given = {name: float(value) for name, value in given.items()}
        given |= {} if cutpoint is None else {"cutpoint": cutpoint}
    else:
        given["pools"] = [f"pool {p}" for p in range(pilot.n_pools)]
        given |= {"sigma": float(given["sigma"])} if np.ndim(given.get("sigma", [])) == 0 else {}
    if pilot.anonymous:
        given["sigma_annotator"] = 0.0
    study = replication_study(
        design.n_items, people if pilot.pools is not None else people[0], design.n_annotators,
        family=pilot.family, random_seed=seed, **given,
    )  # fmt: skip
    return study.annotations


def _analysed(pilot: Pilot, run: Run, annotations: xr.Dataset, seed: int) -> xr.DataTree:
    """Fit a new study as the pilot was, without what a person would want to look at."""
    about = pilot.fit.attrs
    more: dict[str, Any] = {}
    if pilot.pools is not None:
        own = POOL in pilot.fit["posterior"].to_dataset().get("sigma", xr.DataArray()).dims
        more["residual"] = "pool" if own else "shared"
        more["correlation_prior"] = about.get("hyper_correlation_prior", 1.0)
    what = process(
        pilot.model, annotations, family=pilot.family, sampler="gibbs", priors=run.priors,
        anonymous=pilot.anonymous, **more,
    )  # fmt: skip
    found = by_gibbs(
        what, draws=run.draws, tune=_TUNE, chains=1, rng=np.random.default_rng([seed, 1]),
        progressbar=False, effects=False,
    )  # fmt: skip
    groups = {"posterior": xr.Dataset(parameters(what, found))}
    if pilot.label_value is not None:
        value = pilot.label_value.drop_vars(LABEL, errors="ignore")
        groups["constant_data"] = xr.Dataset({"label_value": value})
    fit = xr.DataTree.from_dict(groups)
    fit.attrs.update(model=pilot.model, hyper_family=pilot.family)
    return fit


def _length(draws: xr.DataArray, prob: float) -> Floats:
    """Return the length of the interval; NaN where most draws are undefined."""
    values = draws.transpose(*SAMPLE, ...).to_numpy()
    values = values.reshape(-1, *values.shape[2:])
    known = np.isfinite(values)
    mostly = known.mean(axis=0) > 0.5
    values = np.where(known, values, np.nan)
    values[:, ~mostly] = 0.0  # or NumPy would complain of columns without a number
    low, high = np.nanquantile(values, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    return np.asarray(np.where(mostly, high - low, np.nan))
