"""A posterior for any statistic of the annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import statistics
from dissensus.dims import SAMPLE
from dissensus.errors import ArgumentError, brief
from dissensus.kernels.random import generator
from dissensus.statistics import Statistic
from dissensus.statistics._read import whole
from dissensus.statistics._resampling import (
    FEW_UNITS,
    one_by_one,
    over_units,
    replicated,
    units_of,
    warn_of_few,
    warn_of_few_each,
)
from dissensus.statistics._sums import Doubts, Sums

__all__ = ["FEW_UNITS", "bayesian_bootstrap"]

MOST_DRAWS: Final = 10**9


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
    r"""Draw from the posterior of a statistic, with the items for a sample of such items.

    .. math:: w^{(m)} \sim n \, \mathrm{Dirichlet}(1, \dots, 1), \qquad T^{(m)} = T(w^{(m)})

    The posterior of the distribution that items come from, with all its mass on the items seen
    (the limit of a Dirichlet process prior without weight), carried over to the statistic.

    Parameters
    ----------
    statistic : str or callable
        A statistic of dissensus, by itself or by name, also wrapped in `functools.partial`: all
        its draws are one matrix product over sums by item. Or any callable that takes annotations
        first and ``weights=`` (a DataArray over items), and returns a number, DataArray, or
        Dataset: called once per draw.
    annotations : Dataset
        Annotations.
    *args, **kwargs
        What else the statistic takes, such as predictions or ``level="ordinal"``. ``weights=``
        are multiplied with those drawn.
    draws : int
        How many.
    cluster : None, "item", array-like (item), Series, or mapping from item to cluster
        What was sampled: units whose items stay together, such as patients or documents. None
        takes the clusters that the annotations name (``cluster=`` of `dissensus.annotations`), and
        items if they name none; "item" takes items even so. A Series whose index holds the items
        is matched by name, as ``weights=`` are.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws. A statistic that draws too (`relative_f1`) has it as
        well, unless `functools.partial` gave it one; of a Generator it has a spawned one.
    progressbar : bool
        Show progress; for callables of your own.

    Returns
    -------
    DataArray or Dataset
        What the statistic returns, with ``chain`` (1) and ``draw`` in front, for `arviz.summary`.

    Raises
    ------
    ArgumentError
        If the statistic is unknown, takes no weights or other arguments, if an item has no cluster,
        if there is only one item or cluster, or a draw is not a number or has another form than
        the first.

    Warns
    -----
    DissensusWarning
        With fewer than 20 items or clusters that tell of the statistic, or of its value for an
        annotator, and where draws are undefined.

    Notes
    -----
    A statistic that has draws of its own (`weighted_reliability`, given draws of accuracies) has
    one of them taken with each set of weights: what comes out is uncertain of both. Weights under
    which it is large go with a draw that makes it large, rank by rank: accuracies learned from the
    same labels are high where these agree, and as if independent the two would leave intervals a
    fifth too narrow. Of accuracies from elsewhere, such as a test, they are too wide.

    To compare two statistics, or one in two pools, do not subtract the draws of two calls: their
    weights differ. Write a callable that returns the difference, or both in a Dataset.

    It knows nothing of the annotators being a sample too: intervals are for these annotators and
    new items. Another set of annotators is a question for a model of annotators.

    It knows of no other items than those seen. Where all of them agree, or all differ, draws of an
    agreement do not vary: an interval of width 0 is not certainty.

    Source: Rubin (1981), "The Bayesian bootstrap", *Annals of Statistics* 9.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.study(200, 3, kind="nominal", random_seed=1)
    >>> alpha = dx.bayesian_bootstrap(dx.krippendorff_alpha, study.annotations, random_seed=1)
    >>> alpha.dims, alpha.name
    (('chain', 'draw'), 'krippendorff_alpha')
    """
    n_draws = _checked(draws)
    units = units_of(annotations, cluster)
    rng = generator(random_seed, "bayesian bootstrap")
    function, before, known = _unwrapped(statistic)
    args, kwargs = (*before, *args), known | kwargs
    entry = statistics.registered(function)
    if entry is None:
        show = {"progressbar": progressbar}
        return one_by_one(function, annotations, args, kwargs, units, rng, n_draws, **show)
    weights = kwargs.pop("weights", None)
    sums = _prepared(entry, (annotations, *args), kwargs, random_seed).weighted(weights)
    by_unit = sums if units.are_items else over_units(sums, units.of_item, units.n)
    again = deepcopy(rng)  # the same weights, gone through before
    by_unit = by_unit.resampled(replicated(by_unit, again, n_draws), again)
    # Whose values it is of, with one draw of each for a set of weights.
    sums = replace(sums, dims=by_unit.dims)
    if not warn_of_few(sums.name, sums.bears, units, stacklevel=2):
        warn_of_few_each(sums, units, stacklevel=2)
    doubts = Doubts()
    blocks = [by_unit.finish(totals, doubts) for totals in replicated(by_unit, rng, n_draws)]
    doubts.say(sums.name, draws=True)
    return by_unit.labelled(_joined(blocks), SAMPLE)


def _checked(draws: Any) -> int:
    """Return how many draws, or raise: beyond some number is a slip, not a wish."""
    number = whole("draws", draws, 1)
    if number > MOST_DRAWS:
        raise ArgumentError(
            "draws", expected=f"a whole number up to {MOST_DRAWS:,}", found=brief(draws)
        )
    return number


def _prepared(
    entry: Statistic, args: tuple[Any, ...], kwargs: dict[str, Any], random_seed: Any
) -> Sums:
    """Return the sums of a registered statistic, if these are its arguments."""
    taken = inspect.signature(entry.sums)
    try:
        given = taken.bind(*args, **kwargs).arguments
    except TypeError as problem:
        public = inspect.signature(entry.function)
        bare = [each.replace(annotation=each.empty) for each in public.parameters.values()]
        listed = public.replace(parameters=bare, return_annotation=public.empty)
        raise ArgumentError(
            entry.name, expected=f"the arguments {listed}", found=f"others ({problem})"
        ) from problem
    if "random_seed" in taken.parameters and "random_seed" not in given:
        seeds = isinstance(random_seed, np.random.Generator)
        # One of its own: what the statistic draws does not move the weights.
        kwargs = kwargs | {"random_seed": random_seed.spawn(1)[0] if seeds else random_seed}
    sums: Sums = entry.sums(*args, **kwargs)
    return sums


def _joined(blocks: list[Any]) -> Any:
    if isinstance(blocks[0], Mapping):
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    return np.concatenate(blocks)


def _unwrapped(statistic: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return a function, and the arguments that partials gave it."""
    if isinstance(statistic, str):
        return statistics.get(statistic).function, (), {}
    if not callable(statistic):
        raise ArgumentError(
            "statistic",
            expected="a statistic, its name, or a callable",
            found=type(statistic).__name__,
        )
    if isinstance(statistic, partial) and not statistic.args:
        function, args, known = _unwrapped(statistic.func)
        return function, args, known | statistic.keywords
    return statistic, (), {}
