"""Simulate new studies from a pilot's posterior, and compute the lengths of their intervals."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus import arguments, models
from dissensus.data.schema import checked_annotations
from dissensus.dims import LABEL, POOL, SAMPLE
from dissensus.errors import (
    AnnotationError,
    ArgumentError,
    DesignWarning,
    DissensusWarning,
    warn_caller,
)
from dissensus.families.base import FitOptions, by_gibbs
from dissensus.families.crossed.fit import CrossedFit, parameters
from dissensus.families.crossed.process import process
from dissensus.kernels.types import Floats
from dissensus.metrics._components import CROSS_REPLICATION, CROSSED_EFFECTS, Components, components
from dissensus.metrics._cross_replication import normalized_xcc
from dissensus.metrics._reliability import icc
from dissensus.sampling import fitting
from dissensus.statistics._resampling import are_same
from dissensus.studies.simulate._replication import replication_study


def counts(name: str, values: Any) -> list[int]:
    """Return whole numbers of 1 or more, sorted and without repeats, or raise.

    Examples
    --------
    >>> counts("items", (300, 100, 100))
    [100, 300]
    """
    try:
        numbers = np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        numbers = np.array([])
    if not len(numbers) or not (numbers >= 1).all() or (numbers != np.rint(numbers)).any():
        raise ArgumentError(name, expected="whole numbers, 1 or more", found=repr(values))
    return sorted({int(number) for number in numbers})


def warn_of_the_same(pilot: xr.Dataset) -> None:
    """Warn if the same few annotators labelled most of the pilot."""
    if are_same(pilot):
        warn_caller(
            "The same few annotators labelled most of the pilot, but the plan is for labels by "
            "many annotators. If the same few annotators label the new study too, intervals are "
            "wider than planned: by 70 % with three annotators, 25 % with five and 15 % with eight "
            "(means over four real sets)",
            DesignWarning,
        )


def share(name: str, value: Any) -> float:
    """Return a number between 0 and 1, both excluded, or raise."""
    return arguments.probability(name, value, allow_zero=False, allow_one=False)


def level(prob: Any) -> float:
    """Return the probability of intervals: ``prob``, or by default ArviZ's ``stats.ci_prob``."""
    from arviz_base import rcParams

    return float(rcParams["stats.ci_prob"]) if prob is None else share("prob", prob)


_FAMILY: Final = {"continuous": "gaussian", "ordinal": "ordinal", "nominal": "bernoulli"}
_DRAWN: Final = ("mu", "sigma_item", "sigma_annotator", "sigma", "correlation", "cutpoint")


class Pilot(NamedTuple):
    """The posterior and the design of a pilot study."""

    fit: xr.DataTree
    family: str
    pools: list[Any] | None
    """Names; None if there is one pool without a name."""
    draws: Mapping[str, npt.NDArray[np.float64]]
    """The parameters (sample, ...); chains are concatenated."""
    anonymous: bool
    """Whether the model has no effects of annotators."""
    n_annotators: list[int] | None
    """Number of annotators in each pool; None if the fit does not contain it."""
    label_value: xr.DataArray | None
    """The numbers of ordered labels."""

    @property
    def model(self) -> str:
        """The model's name."""
        return CROSSED_EFFECTS if self.pools is None else CROSS_REPLICATION

    @property
    def n_pools(self) -> int:
        """Number of pools."""
        return 1 if self.pools is None else len(self.pools)


def pilot_of(
    pilot: Any, family: str | None, priors: Any, random_seed: Any, progressbar: bool
) -> Pilot:
    """Return the pilot, from a fit, or from annotations: a model is then fitted to them."""
    if not isinstance(pilot, xr.DataTree):
        pilot = _fitted(pilot, family, priors, random_seed, progressbar)
    try:
        parts = components(pilot)
    except ArgumentError as problem:
        raise ArgumentError(
            "pilot", expected=problem.expected, found=problem.found, hint=problem.hint
        ) from problem
    if family is not None and family != parts.family:
        expected = f"{parts.family!r}, the family of the pilot, or None"
        raise ArgumentError("family", expected=expected, found=repr(family))
    return _described(pilot, parts)


def _fitted(
    annotations: Any, family: str | None, priors: Any, random_seed: Any, progressbar: bool
) -> xr.DataTree:
    checked_annotations(annotations)
    several = "pool_code" in annotations and annotations.sizes[POOL] > 1
    model = models.get(CROSS_REPLICATION if several else CROSSED_EFFECTS).module
    with fitting.all_or_nothing():
        return model.fit(
            annotations, family=family or _family_for(annotations), priors=priors,
            keep_effects=False, random_seed=random_seed, progressbar=progressbar,
        )  # fmt: skip


def _family_for(annotations: xr.Dataset) -> str:
    """Return the family for the kind of the labels, or raise if there is none."""
    kind = annotations.attrs["kind"]
    n_labels = annotations.sizes.get("label", 0)
    if kind not in _FAMILY or (kind == "nominal" and n_labels != 2):
        raise AnnotationError(
            "pilot", expected="numbers, ordered labels, or two labels, to plan reliability",
            found=f"{n_labels} {kind} labels",
            hint="If labels have an order, read them with kind='ordinal' and labels= in order",
        )  # fmt: skip
    return _FAMILY[kind]


def _described(fit: xr.DataTree, parts: Components) -> Pilot:
    posterior = fit["posterior"].to_dataset()
    draws = {}
    for name in _DRAWN:
        if name in posterior:
            values = posterior[name].transpose(*SAMPLE, ...).to_numpy()
            draws[name] = values.reshape(-1, *values.shape[2:])
    pooled = POOL in parts.mu.dims
    return Pilot(
        fit=fit,
        family=parts.family,
        pools=list(parts.mu[POOL].to_numpy()) if pooled else None,
        draws=draws,
        anonymous=parts.annotator is None,
        n_annotators=_people(fit, parts.mu.sizes[POOL] if pooled else 1),
        label_value=parts.label_value,
    )


def _people(fit: xr.DataTree, n_pools: int) -> list[int] | None:
    """Count the annotators of each pool; None if the fit does not record who gave each label."""
    known = fit["constant_data"].to_dataset() if "constant_data" in fit.children else xr.Dataset()
    name = next((name for name in ("annotator_code", "member_code") if name in known), None)
    if name is None:
        return None
    annotators = known[name].to_numpy()
    if n_pools == 1:
        return [len(np.unique(annotators))]
    pool = known["pool_code"].to_numpy()
    return [len(np.unique(annotators[pool == p])) for p in range(n_pools)]


class Design(NamedTuple):
    """The size of one new study; numbers are for each pool."""

    n_annotators: int
    """Annotators of each item."""
    n_items: int
    panel: list[int]
    """Total number of annotators, by pool."""


def designs(pilot: Pilot, annotators: list[int], items: list[int], panel: Any) -> list[Design]:
    """Return a design for every number of annotators with every number of items."""
    people = _panel(pilot, panel, annotators)
    return [Design(k, n, [max(k, size) for size in people]) for k, n in product(annotators, items)]


def _panel(pilot: Pilot, panel: Any, annotators: list[int]) -> list[int]:
    """Return the number of annotators in each pool: ``panel``, or by default as in the pilot."""
    if pilot.anonymous:
        if panel is not None:
            expected = "none, since annotators of the pilot are anonymous"
            raise ArgumentError("panel", expected=expected, found=repr(panel))
        return [1] * pilot.n_pools
    if panel is None and pilot.n_annotators is None:
        expected = "the number of annotators in new studies"
        missing = "none, and the fit of the pilot does not have this number"
        raise ArgumentError("panel", expected=expected, found=missing)
    if panel is None:
        assert pilot.n_annotators is not None
        return pilot.n_annotators
    size = arguments.whole("panel", panel)
    if size < max(annotators):
        expected = f"{max(annotators)} or more, the number of annotators of each item"
        raise ArgumentError("panel", expected=expected, found=repr(panel))
    return [size] * pilot.n_pools


_TUNE: Final = 300
"""Sweeps before the first draw; enough for studies of hundreds of labels."""


class Widths(NamedTuple):
    """Lengths of intervals in simulated studies."""

    icc: Floats
    """(design, study, pool)"""
    xcc: Floats
    """(design, study, pool, pool), of normalised xCC; the diagonal has no meaning."""


class Run(NamedTuple):
    """Settings of the analysis of new studies."""

    priors: Any
    scale: str
    prob: float
    draws: int


def widths(
    pilot: Pilot, designs: Sequence[Design], studies: int, run: Run,
    rng: np.random.Generator, progressbar: bool,
) -> Widths:  # fmt: skip
    """Simulate new studies of each design, and compute the lengths of their intervals.

    All designs use the same parameters, and as far as possible the same random numbers, so that
    designs can be compared.
    """
    truths = _spread(pilot, run.scale, studies, rng)
    seeds = rng.integers(2**63, size=studies).tolist()
    measure = partial(_measured, pilot, run)
    lots = list(zip(truths, seeds, strict=True))
    tasks = [(design, truth, seed) for design, (truth, seed) in product(designs, lots)]
    with warnings.catch_warnings():
        # Ignore warnings about the design of simulated studies.
        warnings.simplefilter("ignore", DissensusWarning)
        text = "Simulating studies"
        lengths = fitting.mapped(lambda task: measure(*task), tasks, text, progressbar)
    shape = (len(designs), studies)
    of_icc, of_xcc = (np.stack(part) for part in zip(*lengths, strict=True))
    return Widths(
        of_icc.reshape(*shape, *of_icc.shape[1:]), of_xcc.reshape(*shape, *of_xcc.shape[1:])
    )


def _spread(pilot: Pilot, scale: str, studies: int, rng: np.random.Generator) -> list[int]:
    """Return places of the posterior draws that are the true parameters of the studies.

    They are evenly spread from the draw with the lowest ICC to the draw with the highest.
    """
    draws = icc(pilot.fit, scale).transpose(*SAMPLE, ...).to_numpy()
    height = draws.reshape(draws.shape[0] * draws.shape[1], -1).mean(axis=1)
    order = np.argsort(height, kind="stable")
    place = (np.arange(studies) + rng.random()) / studies * len(order)
    return order[np.minimum(place.astype(np.int64), len(order) - 1)].tolist()


def _measured(
    pilot: Pilot, run: Run, design: Design, truth: int, seed: int
) -> tuple[Floats, Floats]:
    """Simulate and analyse one study; return the lengths of intervals of the ICC and of the xCC."""
    fit = _analysed(pilot, run, _labels(pilot, design, truth, seed), seed)
    of_icc = np.atleast_1d(_length(icc(fit, run.scale), run.prob))
    if pilot.pools is None:
        return of_icc, np.zeros((1, 1))
    return of_icc, _length(normalized_xcc(fit, run.scale), run.prob)


def _labels(pilot: Pilot, design: Design, truth: int, seed: int) -> xr.Dataset:
    """Draw the labels of a new study, from one draw ``truth`` of the pilot's posterior."""
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
    """Fit a new study with the model of the pilot, and keep only parameters."""
    about = pilot.fit.attrs
    more: dict[str, Any] = {}
    if pilot.pools is not None:
        own = POOL in pilot.fit["posterior"].to_dataset().get("sigma", xr.DataArray()).dims
        more["residual"] = "pool" if own else "shared"
        more["correlation_prior"] = about.get("hyper_correlation_prior", 1.0)
    parsed = process(
        pilot.model, annotations, family=pilot.family, sampler="gibbs", priors=run.priors,
        anonymous=pilot.anonymous, **more,
    )  # fmt: skip
    options = FitOptions(draws=run.draws, tune=_TUNE, chains=1, progressbar=False, keep=False)
    draws = by_gibbs(CrossedFit(parsed, options), np.random.default_rng([seed, 1]))
    groups = {"posterior": xr.Dataset(parameters(parsed, draws))}
    if pilot.label_value is not None:
        value = pilot.label_value.drop_vars(LABEL, errors="ignore")
        groups["constant_data"] = xr.Dataset({"label_value": value})
    fit = xr.DataTree.from_dict(groups)
    fit.attrs.update(model=pilot.model, hyper_family=pilot.family)
    return fit


def _length(draws: xr.DataArray, prob: float) -> Floats:
    """Return the length of each quantity's interval; NaN if most of its draws are undefined."""
    values = draws.transpose(*SAMPLE, ...).to_numpy()
    values = values.reshape(-1, *values.shape[2:])
    known = np.isfinite(values)
    mostly = known.mean(axis=0) > 0.5
    values = np.where(known, values, np.nan)
    values[:, ~mostly] = 0.0  # NumPy would warn about columns that are all NaN
    low, high = np.nanquantile(values, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    return np.asarray(np.where(mostly, high - low, np.nan))
