"""A posterior for any statistic of the annotations."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import statistics
from dissensus._item_weights import item_weights
from dissensus.arrays.seeds import generator
from dissensus.dims import CLUSTER, DRAW, ITEM, SAMPLE
from dissensus.errors import ArgumentError, DissensusWarning, shown
from dissensus.statistics._doubts import Doubts
from dissensus.statistics._resampling import over_units, replicated
from dissensus.statistics._statements import read

Ints = npt.NDArray[np.int64]

FEW_UNITS = 20
"""With fewer items (or clusters) the bootstrap's intervals are known to be too narrow."""


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
    cluster : None, "item", array-like (item), or mapping from item to cluster
        What was sampled: units whose items stay together, such as patients or documents. None
        takes the clusters that the annotations name (``cluster=`` of `dissensus.annotations`), and
        items if they name none; "item" takes items even so.
    random_seed : int or numpy.random.Generator, optional
        The same seed gives the same draws.
    progressbar : bool
        Show progress; for callables of your own.

    Returns
    -------
    DataArray or Dataset
        What the statistic returns, with ``chain`` (1) and ``draw`` in front, for `arviz.summary`.

    Raises
    ------
    ArgumentError
        If the statistic is unknown or takes no weights, if an item has no cluster, if there is
        only one item or cluster, or a draw is not a number.

    Warns
    -----
    DissensusWarning
        With fewer than 20 items or clusters, and where draws are undefined.

    Notes
    -----
    To compare two statistics, or one in two pools, do not subtract the draws of two calls: their
    weights differ. Write a callable that returns the difference, or both in a Dataset.

    It knows nothing of the annotators being a sample too: intervals are for these annotators and
    new items. Another set of annotators is a question for a model (`crossed_effects`).

    Source: Rubin (1981), "The Bayesian bootstrap", *Annals of Statistics* 9.

    Examples
    --------
    >>> import dissensus as dx
    >>> study = dx.simulate.study(200, 3, kind="nominal", random_seed=1)
    >>> alpha = dx.bayesian_bootstrap(dx.krippendorff_alpha, study.annotations, random_seed=1)
    >>> alpha.dims, alpha.name
    (('chain', 'draw'), 'krippendorff_alpha')
    """
    positive = isinstance(draws, int | np.integer) and not isinstance(draws, bool) and draws > 0
    if not positive:
        raise ArgumentError("draws", expected="a whole number, 1 or more", found=repr(draws))
    unit, n_units = _units(annotations, cluster)
    _require_units(n_units)
    rng = generator(random_seed, "bayesian bootstrap")
    function, before, known = _unwrapped(statistic)
    args, kwargs = (*before, *args), known | kwargs
    entry = statistics.registered(function)
    if entry is None:
        show = {"progressbar": progressbar}
        return _one_by_one(function, annotations, args, kwargs, unit, n_units, rng, draws, **show)
    weights = kwargs.pop("weights", None)
    sums = entry.sums(annotations, *args, **kwargs).weighted(weights)
    doubts = Doubts()
    units = over_units(sums, unit, n_units) if n_units < len(unit) else sums
    blocks = [sums.finish(totals, doubts) for totals in replicated(units, rng, int(draws))]
    doubts.say(sums.name, draws=True)
    return sums.labelled(_joined(blocks), SAMPLE)


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


def _units(annotations: Any, cluster: Any) -> tuple[Ints, int]:
    """Return the number of each item's cluster, and how many clusters there are."""
    annotations = read(annotations, rankings=True)
    items = annotations[ITEM].to_numpy()
    if cluster is None and "cluster_code" in annotations:
        cluster = annotations["cluster_code"].to_numpy()
    if cluster is None or (isinstance(cluster, str) and cluster == ITEM):
        return np.arange(len(items)), len(items)
    if isinstance(cluster, str):
        if cluster != CLUSTER or "cluster_code" not in annotations:
            raise ArgumentError(
                "cluster",
                expected=f'None, "{ITEM}", or the cluster of each item'
                + (f', or "{CLUSTER}"' if "cluster_code" in annotations else ""),
                found=repr(cluster),
                hint="Name the column of clusters when the annotations are read, with cluster=",
            )
        cluster = annotations["cluster_code"].to_numpy()
    codes, names = pd.factorize(_by_item(cluster, items))
    if (codes < 0).any():
        lacking = items[codes < 0]
        raise ArgumentError(
            "cluster", expected="a cluster for each item", found=f"none for {shown(list(lacking))}"
        )
    return codes.astype(np.int64), len(names)


def _by_item(cluster: Any, items: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the cluster of each item, from a mapping, a Series or DataArray by item, or places."""
    if isinstance(cluster, xr.DataArray) and ITEM in cluster.coords:
        cluster = dict(zip(cluster[ITEM].to_numpy().tolist(), cluster.to_numpy(), strict=True))
    elif isinstance(cluster, pd.Series) and not isinstance(cluster.index, pd.RangeIndex):
        cluster = cluster.to_dict()
    if isinstance(cluster, Mapping):
        return np.array([cluster.get(item) for item in items.tolist()], dtype=object)
    values = np.asarray(cluster)
    if values.shape != items.shape:
        raise ArgumentError(
            "cluster",
            expected=f"the cluster of each of {len(items)} items",
            found=f"an array of shape {values.shape}",
        )
    return values


def _require_units(n_units: int) -> None:
    if n_units < 2:
        raise ArgumentError(
            "annotations",
            expected="two items or clusters at least: they are the sample",
            found=str(n_units),
        )
    if n_units < FEW_UNITS:
        warnings.warn(
            f"{n_units} items or clusters are few: the bootstrap's intervals are too narrow then. "
            "Take them for a lower bound of the uncertainty, or fit a model.",
            DissensusWarning,
            stacklevel=3,
        )


def _one_by_one(
    function: Callable[..., Any],
    annotations: xr.Dataset,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    unit: Ints,
    n_units: int,
    rng: np.random.Generator,
    draws: int,
    *,
    progressbar: bool,
) -> Any:
    """Call a statistic that dissensus does not know once per draw."""
    from rich.progress import track

    _require_weights(function)
    items = annotations[ITEM]
    given = kwargs.pop("weights", None)
    factor = 1.0 if given is None else item_weights(given, items.to_numpy(), "weights")
    found = []
    for _ in track(range(draws), description="bootstrap", disable=not progressbar):
        drawn = rng.standard_exponential(n_units)
        weights = (drawn * (n_units / drawn.sum()))[unit] * factor
        weighing = xr.DataArray(weights, dims=ITEM, coords={ITEM: items.to_numpy()})
        value = function(annotations, *args, weights=weighing, **kwargs)
        found.append(_labelled(value, getattr(function, "__name__", "statistic")))
    joined = xr.concat(found, dim=pd.RangeIndex(draws, name=DRAW))
    return joined.expand_dims(chain=[0]).transpose(*SAMPLE, ...)


def _require_weights(function: Callable[..., Any]) -> None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return  # builtins have no signature: they will complain themselves
    taken = any(p.name == "weights" or p.kind is p.VAR_KEYWORD for p in parameters)
    if not taken:
        raise ArgumentError(
            "statistic",
            expected="a callable with the keyword weights=, a weight for each item",
            found=f"{getattr(function, '__name__', function)!r} without it",
        )


def _labelled(value: Any, name: str) -> Any:
    """Return what a callable gave for one draw as xarray, named."""
    if isinstance(value, xr.Dataset):
        return value
    if isinstance(value, xr.DataArray):
        return value if value.name is not None else value.rename(name)
    try:
        number = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        number = None
    if value is None or number is None or number.ndim:  # NumPy takes None for NaN
        raise ArgumentError(
            "statistic",
            expected="a callable that returns a number, a DataArray or a Dataset",
            found=type(value).__name__,
        )
    return xr.DataArray(number, name=name)
