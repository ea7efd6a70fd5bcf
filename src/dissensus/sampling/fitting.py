"""Code of all fits: checks of annotations, sampling with PyMC, and the DataTree of a fit."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from itertools import islice, permutations
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.rows import statements_per, voices_per
from dissensus.data.schema import checked_annotations
from dissensus.data.sets import OF_SETS
from dissensus.dims import CHAIN, DRAW, ITEM, LABEL, SAMPLE
from dissensus.errors import AnnotationError, shown
from dissensus.kernels.random import generator
from dissensus.sampling.chains import by_lots as by_lots
from dissensus.sampling.chains import mapped as mapped
from dissensus.sampling.chains import swept as swept
from dissensus.sampling.chains import tracked as tracked
from dissensus.sampling.checkpoints import Checkpoint as Checkpoint
from dissensus.sampling.checkpoints import opened
from dissensus.sampling.interruption import all_or_nothing as all_or_nothing
from dissensus.sampling.interruption import before_any_draw, noticing, shortfall, wants_all
from dissensus.wording import counted

REPEATED: Final = "repeated_labels"
"""Attribute of fits without annotators: 1 if some annotator gave an item several labels."""
EXACT = "exact: independent draws from the posterior in closed form, no MCMC, no warm-up"


def require_kind(annotations: xr.Dataset, kinds: tuple[str, ...], model: str) -> None:
    """Raise unless the annotations follow the schema and are of one of the kinds."""
    kind = checked_annotations(annotations).attrs["kind"]
    if kind not in kinds:
        raise AnnotationError(
            "annotations",
            expected=f"kind {' or '.join(map(repr, kinds))} for the model {model}",
            found=f"{kind!r} ({annotations.attrs.get('kind_source', 'given')})",
            hint=OF_SETS
            if kind == "set"
            else "If the kind was inferred wrongly, read them again with kind=",
        )


def require_annotated(n: Any, annotations: xr.Dataset, why: str) -> None:
    """Raise if items have no annotation; ``n`` (item) are numbers of annotations.

    ``why`` is the reason, for the message.
    """
    bare = np.flatnonzero(np.asarray(n) == 0)
    if len(bare):
        raise AnnotationError(
            "annotations",
            where=f"items {shown(list(annotations['item'].to_numpy()[bare]))}",
            expected=f"at least one annotation of every item ({why})",
            found=f"{counted(len(bare), 'item')} without any",
            hint="Leave these items out: read the annotations again without items=, and leave "
            'items that only predictions have out with on_missing="drop"',
        )


def require_choice(annotations: xr.Dataset) -> None:
    """Raise if the label space has fewer than two labels."""
    labels = annotations[LABEL].to_numpy()
    if len(labels) < 2:
        raise AnnotationError(
            "annotations",
            expected="two labels or more",
            found=f"{shown(list(labels))} only",
            hint="If annotators could give other labels, read the annotations again with labels=",
        )


def begun(
    checkpoint: Any, *, random_seed: Any, **fit: Any
) -> tuple[Checkpoint | None, np.random.Generator]:
    """Return the checkpoint of a fit (None without a path), and the generator of its seed.

    ``fit`` are further arguments of `checkpoints.opened`, which identify the fit.
    """
    store = opened(checkpoint, random_seed=random_seed, **fit)
    return store, generator(random_seed if store is None else store.random_seed, "fit")


def stream_seed(rng: np.random.Generator) -> int:
    """Draw a seed for the random streams of items: see `dissensus.kernels.random`."""
    return int(rng.integers(2**31))


def fitted(
    model: str,
    *,
    posterior: Mapping[str, xr.DataArray],
    sample_stats: Mapping[str, xr.DataArray],
    observed_data: Mapping[str, xr.DataArray],
    constant_data: Mapping[str, xr.DataArray],
    hyper: Mapping[str, Any],
    inference: str = EXACT,
    diagnostics: Mapping[str, Any] | None = None,
    requested: tuple[int, int] | None = None,
) -> xr.DataTree:
    """Return a fit as a DataTree in ArviZ's schema, with attributes that describe the fit.

    ``requested`` are the requested numbers of chains and draws, if an interruption may have left
    fewer. ``hyper`` are the settings of the model, stored as attributes ``hyper_*``.
    """
    draws = xr.Dataset(in_order_of_dims(posterior))
    attrs = {
        "model": model,
        "inference": inference,
        "inference_library": "dissensus",
        "inference_library_version": version("dissensus"),
        **{f"hyper_{name}": _storable(value) for name, value in hyper.items()},
        **(diagnostics or {}),
        **(shortfall(draws, requested) if requested is not None else {}),
    }
    numbers = {dim: np.arange(draws.sizes[dim]) for dim in (CHAIN, DRAW)}
    groups = {
        "posterior": draws.assign_coords(numbers),
        "sample_stats": xr.Dataset(sample_stats).assign_coords(numbers),
        "observed_data": xr.Dataset(observed_data),
        "constant_data": xr.Dataset(constant_data),
    }
    tree = xr.DataTree.from_dict({name: data.assign_attrs(attrs) for name, data in groups.items()})
    tree.attrs.update(attrs)
    return tree


_MOST_ORDERS: Final = 1000


def in_order_of_dims(variables: Mapping[Any, xr.DataArray]) -> dict[Any, xr.DataArray]:
    """Reorder variables if rows of `arviz.summary` would have wrong names in the given order.

    ArviZ 1.3 stacks values in the order of the variable's dims, but names in the order of the
    Dataset's dims, in which dims are sorted by first appearance. With p (b) before q (a, b), the
    rows of q would have wrong names. Variables with several dims are then put first. The
    order stays if no order works: for example q (a, b) and r (c, b) alone.

    Examples
    --------
    >>> p = xr.DataArray([[[1.0]]], dims=("chain", "draw", "b"))
    >>> q = p.expand_dims("a", 2)
    >>> list(in_order_of_dims({"p": p, "q": q})), list(in_order_of_dims({"p": q}))
    (['q', 'p'], ['p'])
    """
    every = [values.dims for values in variables.values()]
    kinds = list(dict.fromkeys(every))
    wide = [dims for dims in kinds if len(set(dims).difference(SAMPLE)) > 1]
    for first in [(), *islice(permutations(wide), _MOST_ORDERS)]:
        seen = list(dict.fromkeys(dim for dims in (*first, *every) for dim in dims))
        if all(sorted(dims, key=seen.index) == list(dims) for dims in kinds):
            place = {dims: n for n, dims in enumerate(first)}
            return dict(sorted(variables.items(), key=lambda v: place.get(v[1].dims, len(place))))
    return dict(variables)


def repeats(annotations: xr.Dataset) -> dict[str, int]:
    """Return the attribute `REPEATED` if an annotator gave an item several labels, else {}."""
    n_statements, n_annotators = (
        count(annotations, ITEM) for count in (statements_per, voices_per)
    )
    return {REPEATED: 1} if (n_statements > n_annotators).any() else {}


def _storable(value: Any) -> Any:
    """Return a setting in a type that NetCDF can store: it has no booleans and no None."""
    if value is None:
        return "default"
    return int(value) if isinstance(value, bool | np.bool_) else value


def sampled(model: Any, *, draws: int, tune: int, chains: int, **options: Any) -> Any:
    """Sample a PyMC model.

    After an interruption, return the draws made so far, or raise if there are none.
    """
    import pymc as pm

    # PyMC 6.4 uses half of the processors by default: with one processor it would divide by 0.
    options.setdefault("cores", min(4, max((os.cpu_count() or 1) // 2, 1)))
    try:
        with model, noticing() as interrupted:
            if wants_all():  # otherwise PyMC would go on with the next chain
                options["callback"] = partial(_stop, interrupted)
            return pm.sample(
                draws=draws, tune=tune, chains=chains, nuts_sampler="pymc",
                compute_convergence_checks=False,  # this library has its own
                **options,
            )  # fmt: skip
    except ValueError as problem:
        if "Not enough samples" not in str(problem):  # PyMC's error after a Ctrl-C in the warm-up
            raise
        raise before_any_draw("in the warm-up") from None


_STARTS: Final = 1000
"""Maximum number of starts that are tried for each chain. Ordered labels bound some parameters:
many random starts are then out of bounds, and PyMC's default of ten is too few."""


def by_nuts(model: Any, **options: Any) -> Any:
    """Sample a PyMC model by NUTS only, each chain from its own start."""
    from dissensus.sampling.step import without_gibbs

    with without_gibbs():
        return sampled(model, jitter_max_retries=_STARTS, **options)


def _stop(interrupted: list[int], **_: Any) -> None:
    """Stop the current chain if an earlier chain was interrupted: a callback of `pymc.sample`."""
    if interrupted:
        raise KeyboardInterrupt


def with_predictions(
    tree: xr.DataTree,
    build: Callable[[], Any],
    *,
    log_likelihood: bool,
    posterior_predictive: bool,
    rng: np.random.Generator,
    progressbar: bool,
) -> xr.DataTree:
    """Add the groups ``log_likelihood`` and ``posterior_predictive``, if requested.

    ``build`` returns the PyMC model.
    """
    if not (log_likelihood or posterior_predictive):
        return tree
    import pymc as pm

    model = build()
    if log_likelihood:
        density = pm.compute_log_likelihood(
            tree, model=model, progressbar=progressbar, extend_inferencedata=False
        )
        attach(tree, "log_likelihood", density)
    if posterior_predictive:
        attach(tree, "posterior_predictive", predicted(tree, model, rng, progressbar))
    return tree


def attach_log_prior(
    tree: xr.DataTree,
    build: Callable[[], Any],
    extra_draws: Mapping[str, xr.DataArray] | None = None,
) -> None:
    """Add the group ``log_prior``, the log prior densities of parameters in each draw.

    `arviz.psense_summary` uses it. Only parameters whose prior depends on no other parameter are
    included: their priors are choices, while the prior of an effect, given its standard
    deviation, is a part of the model. ``extra_draws`` are draws of parameters that have another
    name in the posterior.

    The attribute ``left_out`` names parameters without draws in the fit. It also names parameters
    whose density is not finite in some draw, because ArviZ's results would be NaN. Fits inside
    `all_or_nothing` do not get the group, because it needs PyMC.
    """
    if wants_all():
        return
    import pymc as pm
    from pytensor.graph.traversal import ancestors

    from dissensus.sampling.interpreter import evaluated

    model, draws = build(), {**tree["posterior"].data_vars, **(extra_draws or {})}
    free = set(model.free_RVs)
    top = [rv for rv in model.free_RVs if free & set(ancestors([rv])) == {rv}]
    own = [rv for rv in top if rv.name in draws]
    if not own:
        return
    values = [rv.type() for rv in own]
    density = evaluated(values, [pm.logp(rv, at) for rv, at in zip(own, values, strict=True)])
    numbers = [draws[rv.name].to_numpy().astype(rv.type.dtype) for rv in own]
    size = numbers[0].shape[:2]
    densities: list[Any] = []
    for place in np.ndindex(*size):
        each = density(*(array[place] for array in numbers))
        densities = densities or [np.empty((*size, *np.shape(part))) for part in each]
        for whole, part in zip(densities, each, strict=True):
            whole[place] = part
    group = {}
    for rv, whole in zip(own, densities, strict=True):
        dims = draws[rv.name].dims[: whole.ndim]
        coords = {dim: draws[rv.name][dim] for dim in dims if dim in draws[rv.name].coords}
        if np.isfinite(whole).all():
            group[rv.name] = xr.DataArray(whole, dims=dims, coords=coords)
    left_out = [rv.name for rv in top if rv.name not in group]
    attach(tree, "log_prior", xr.Dataset(group))
    if left_out:
        tree["log_prior"].attrs["left_out"] = left_out


def predicted(
    posterior: Any, model: Any, rng: np.random.Generator, progressbar: bool, **options: Any
) -> xr.Dataset:
    """Draw replicates of the observed variables, one for each draw of the posterior."""
    import pymc as pm

    with quiet(not progressbar), noticing() as interrupted:
        predictions = pm.sample_posterior_predictive(
            posterior,
            model=model,
            # With the seed of the posterior, the predictions could repeat its random numbers.
            random_seed=int(rng.integers(2**31)),
            progressbar=progressbar,
            **options,
        )
    if interrupted:  # PyMC returns arrays that are only partly filled
        raise KeyboardInterrupt("Interrupted while predictions were drawn: there are none")
    return predictions["posterior_predictive"].to_dataset()


@contextmanager
def quiet(silent: bool) -> Iterator[None]:
    """Silence Numba's warnings of slow matrix products and, if ``silent``, PyMC's log messages."""
    from numba.core.errors import NumbaPerformanceWarning

    logger = logging.getLogger("pymc.sampling.forward")
    before = logger.level
    if silent:
        logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaPerformanceWarning)
            yield
    finally:
        logger.setLevel(before)


def attach(tree: xr.DataTree, name: str, group: xr.Dataset) -> None:
    """Add a group to a fit, with the attributes of the fit and with numbered chains and draws."""
    bare = [dim for dim in SAMPLE if dim in group.dims and dim not in group.coords]
    numbers = {dim: np.arange(group.sizes[dim]) for dim in bare}
    tree[name] = xr.DataTree(group.assign_coords(numbers).assign_attrs(tree.attrs))
