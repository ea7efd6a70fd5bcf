"""A posterior for any statistic of the annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import arguments, statistics
from dissensus.data.weights import item_weights
from dissensus.dims import ITEM, SAMPLE
from dissensus.errors import ArgumentError, shown
from dissensus.kernels.random import generator
from dissensus.statistics import Statistic
from dissensus.statistics._resampling import (
    Units,
    over_units,
    replicated,
    units_of,
    warn_of_few,
    warn_of_few_each,
)
from dissensus.statistics._sums import AS_COUNTS, Sums, Undefined, counts_of

MOST_DRAWS: Final = 10**9
_STREAM: Final = "bayesian bootstrap"


def bayesian_bootstrap(
    statistic: str | Callable[..., Any],
    annotations: xr.Dataset,
    *args: Any,
    draws: int = 4000,
    cluster: Any = None,
    random_seed: Any = None,
    progressbar: bool = False,
    **kwargs: Any,
) -> Any:
    r"""Draw from the posterior of a statistic, if the items are a sample from a population.

    .. math:: w^{(m)} \sim n \, \mathrm{Dirichlet}(1, \dots, 1), \qquad T^{(m)} = T(w^{(m)})

    The weights are draws from the posterior of the distribution of items (the limit of a Dirichlet
    process prior with weight 0). Only the observed items have mass in this posterior.

    Parameters
    ----------
    statistic : str or callable
        A statistic of dissensus, which may be wrapped in `functools.partial`, or its name: all
        draws are computed as one matrix product. Or any callable that takes annotations as the
        first argument and ``weights=`` (a DataArray over items), and returns a number, DataArray,
        or Dataset: it is called once per draw.
    annotations : Dataset
        Annotations.
    *args, **kwargs
        Other arguments of the statistic, such as predictions or ``level="ordinal"``. ``weights=``
        are multiplied by the drawn weights.
    draws : int
        Number of draws.
    cluster : None, "item", array-like (item), Series, or mapping from item to cluster
        The sampled units: clusters whose items stay together, such as patients or documents. None
        uses the clusters in the annotations (``cluster=`` of `dissensus.annotations`), or items if
        there are none; "item" always uses items. A Series is matched by name if its index has the
        items, as ``weights=`` are.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws. A statistic with its own ``random_seed`` (`relative_f1`)
        gets the same seed (or a spawned Generator), unless `functools.partial` sets another one.
    progressbar : bool
        Show the progress of your own callables; statistics of dissensus do not use it.

    Returns
    -------
    DataArray or Dataset
        The result of the statistic, with ``chain`` (1) and ``draw`` in front, for `arviz.summary`.
        There is a warning if values depend on fewer than 20 items or clusters, and if draws are
        undefined (NaN).

    Notes
    -----
    If the statistic itself has draws (`weighted_reliability` with draws of accuracies), each set of
    weights is paired with one of these draws, and the result includes both uncertainties. Pairs are
    formed by rank, high with high. The reason is that accuracies estimated from the same labels are
    high where labels agree: independent pairs would make intervals a fifth too narrow. If
    accuracies come from other data, such as a test of the annotators, the intervals are too wide.

    To compare two statistics, or two pools, do not subtract the draws of two calls, which have
    different weights. Write a callable that returns the difference, or both in a Dataset.

    Intervals are for the same annotators and new items. Other annotators may agree much more, or
    less: the draws of agreement from `dissensus.evaluate` include this uncertainty.

    Only observed items occur in the draws. If annotators agree on all items, or on none, all draws
    are equal: an interval of width 0 does not mean certainty.

    Source: Rubin (1981), "The Bayesian bootstrap", *Annals of Statistics* 9.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.study(200, 3, kind="nominal", random_seed=1)
    >>> alpha = dx.bayesian_bootstrap(dx.krippendorff_alpha, study.annotations, random_seed=1)
    >>> alpha.dims, alpha.name
    (('chain', 'draw'), 'krippendorff_alpha')
    """
    n_draws = arguments.whole("draws", draws, 1, MOST_DRAWS)
    units = units_of(annotations, cluster)
    function, keywords = _unwrapped(statistic)
    args, kwargs = (annotations, *args), keywords | kwargs
    entry = statistics.registered(function)
    if entry is None:
        weights = kwargs.pop("weights", None)
        rng = generator(random_seed, _STREAM)
        call = _Call(function, args, kwargs)
        return call.draws(weights, units, rng, n_draws, progressbar=progressbar)
    return drawn(prepared(entry, args, kwargs, random_seed), units, n_draws, random_seed)


def drawn(sums: Sums, units: Units, n_draws: int, random_seed: Any) -> xr.DataArray | xr.Dataset:
    """Return draws of a statistic from its sums over items; ``units`` are the sampled units."""
    rng = generator(random_seed, _STREAM)
    by_unit = sums if units.are_items else over_units(sums, units.of_item, units.n)
    rng_copy = deepcopy(rng)  # `resampled` may need all weights in advance, in a first pass
    by_unit = by_unit.resampled(replicated(by_unit, rng_copy, n_draws), rng_copy)
    if not warn_of_few(sums.name, sums.bears, units):
        warn_of_few_each(replace(sums, dims=by_unit.dims), units)
    undefined = Undefined()
    blocks: list[Any] = [
        by_unit.finish(totals, undefined) for totals in replicated(by_unit, rng, n_draws)
    ]
    undefined.warn(sums.name, "draws")
    if isinstance(blocks[0], Mapping):
        joined: Any = {name: np.concatenate([each[name] for each in blocks]) for name in blocks[0]}
    else:
        joined = np.concatenate(blocks)
    out: xr.DataArray | xr.Dataset = by_unit.labelled(joined, SAMPLE)
    return out


def prepared(
    entry: Statistic, args: tuple[Any, ...], kwargs: Mapping[str, Any], random_seed: Any
) -> Sums:
    """Return the weighted sums of a statistic, or raise for arguments that it does not take."""
    kwargs = dict(kwargs)
    weights = kwargs.pop("weights", None)
    signature = inspect.signature(entry.function)
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as problem:
        bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
        listed = signature.replace(parameters=bare, return_annotation=signature.empty)
        raise ArgumentError(
            entry.name, expected=f"the arguments {listed}", found=f"others ({problem})"
        ) from problem
    if "random_seed" in signature.parameters and "random_seed" not in bound:
        spawns = isinstance(random_seed, np.random.Generator)
        # A spawned generator, so that the statistic's random numbers do not change the weights.
        kwargs["random_seed"] = random_seed.spawn(1)[0] if spawns else random_seed
    sums: Sums = entry.sums(*args, **kwargs)
    return sums.weighted(weights)


def _unwrapped(statistic: Any) -> tuple[Any, dict[str, Any]]:
    """Return a function without `functools.partial` wrappers, and the keywords of the wrappers.

    A wrapper with positional arguments is not removed.
    """
    if isinstance(statistic, str):
        return statistics.get(statistic).function, {}
    if not callable(statistic):
        raise ArgumentError(
            "statistic",
            expected="a statistic, its name, or a callable",
            found=type(statistic).__name__,
        )
    if isinstance(statistic, partial) and not statistic.args:
        function, keywords = _unwrapped(statistic.func)
        return function, keywords | statistic.keywords
    return statistic, {}


# Callables that are not statistics of dissensus: one call for each draw.


class _Call:
    """A callable with its arguments, called once per draw of weights."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.name = getattr(function, "__name__", "statistic")

    def draws(
        self,
        base_weights: Any,
        units: Units,
        rng: np.random.Generator,
        n: int,
        *,
        progressbar: bool,
    ) -> xr.DataArray | xr.Dataset:
        """Return the results of all draws, along chain and draw."""
        from rich.progress import track

        self._check_arguments()
        items = self.args[0][ITEM].to_numpy()
        factor = np.ones(len(items))
        if base_weights is not None:
            factor = counts_of(item_weights(base_weights, items, "weights"))
        warn_of_few(self.name, factor > 0, units)
        results: list[Any] = []
        for draw in track(range(n), description="bootstrap", disable=not progressbar):
            drawn = rng.standard_exponential(units.n)
            values = (drawn * (units.n / drawn.sum()))[units.of_item] * factor
            weights = xr.DataArray(values, dims=ITEM, coords={ITEM: items}, attrs={AS_COUNTS: True})
            value = self.function(*self.args, weights=weights, **self.kwargs)
            result = _labelled(value, self.name, draw)
            if results:
                _require_same_form(results[0], result, draw)
            results.append(result)
        return _stacked(results)

    def _check_arguments(self) -> None:
        """Raise unless the callable takes these arguments and the keyword ``weights=``."""
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):
            return  # a builtin without a signature; the call raises an error if arguments are wrong
        name = getattr(self.function, "__name__", self.function)
        parameters = signature.parameters.values()
        named = any(p.name == "weights" and p.kind is not p.POSITIONAL_ONLY for p in parameters)
        if not named and not any(p.kind is p.VAR_KEYWORD for p in parameters):
            raise ArgumentError(
                "statistic",
                expected="a callable with the keyword weights=, a weight for each item",
                found=f"{name!r} without it",
            )
        try:
            signature.bind(*self.args, weights=None, **self.kwargs)
        except TypeError as problem:
            raise ArgumentError(
                "statistic",
                expected=f"the arguments of {name!r}, and weights=",
                found=f"others ({problem})",
            ) from problem


def _labelled(value: Any, name: str, draw: int) -> xr.DataArray | xr.Dataset:
    """Return the result of one draw as a named xarray object, or raise unless it is numeric."""
    if isinstance(value, xr.DataArray):
        value = value if value.name is not None else value.rename(name)
        arrays = [value]
    elif isinstance(value, xr.Dataset):
        arrays = list(value.data_vars.values())
    else:
        return xr.DataArray(_number(value, draw), name=name)
    taken = [dim for dim in SAMPLE if dim in value.dims or dim in value.coords]
    if taken:
        raise _unfit(draw, "a result without the dims chain and draw", f"one with {shown(taken)}")
    for array in arrays:
        if array.dtype.kind not in "biuf":
            raise _unfit(draw, "numbers", f"{array.name!r} of type {array.dtype}")
    if not arrays:
        raise _unfit(draw, "a Dataset with variables", "none")
    return value


def _number(value: Any, draw: int) -> float:
    plain = not isinstance(value, str | bytes | np.ma.core.MaskedConstant)
    try:
        array = np.asarray(value)
        numeric = array.dtype.kind in "biuf" or isinstance(value, Real | Decimal)
        if plain and numeric and not array.ndim:
            return float(array[()])
    except (TypeError, ValueError, OverflowError) as problem:
        description = f"{type(value).__name__} ({problem})"
    else:
        description = type(value).__name__
    raise _unfit(draw, "a callable that returns a number, a DataArray or a Dataset", description)


def _require_same_form(first: Any, result: Any, draw: int) -> None:
    """Raise unless a draw's result has the dims, shape and coordinates of the first result."""
    same = type(result) is type(first) and _form(result) == _form(first)
    if same and result.coords.to_dataset().equals(first.coords.to_dataset()):
        return
    describe = _described_coords if same else _described_form
    raise _unfit(draw, f"a result like that of draw 0: {describe(first)}", describe(result))


def _form(value: xr.DataArray | xr.Dataset) -> dict[Any, tuple[Any, ...]]:
    """Return the dims and the shape of each variable by name."""
    arrays = [value] if isinstance(value, xr.DataArray) else value.data_vars.values()
    return {array.name: (array.dims, array.shape) for array in arrays}


def _described_coords(value: xr.DataArray | xr.Dataset) -> str:
    each = [
        f"{name} {shown(list(coord.to_numpy().ravel()))}" for name, coord in value.coords.items()
    ]
    return f"coordinates {'; '.join(each) or 'none'}"


def _described_form(value: xr.DataArray | xr.Dataset) -> str:
    each = [
        f"{name!r} {dict(zip(*form, strict=True)) or ''}" for name, form in _form(value).items()
    ]
    return f"{type(value).__name__} with {', '.join(part.strip() for part in each)}"


def _unfit(draw: int, expected: str, description: str) -> ArgumentError:
    return ArgumentError("statistic", where=f"draw {draw}", expected=expected, found=description)


def _stacked(results: list[Any]) -> xr.DataArray | xr.Dataset:
    """Join results with the same dims and shapes along draw, and add a chain of length 1."""
    first = results[0]
    if isinstance(first, xr.Dataset):
        parts = {name: _stacked([each[name] for each in results]) for name in first.data_vars}
        return xr.Dataset(parts, coords=first.coords, attrs=first.attrs)
    sample = {"chain": np.arange(1), "draw": np.arange(len(results))}
    return xr.DataArray(
        np.stack([each.to_numpy() for each in results])[None],
        dims=(*SAMPLE, *first.dims),
        coords={**first.coords, **sample},
        name=first.name,
        attrs=first.attrs,
    )
