"""Call a function of the library for each label of annotations that are sets of labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import statistics
from dissensus.data import tables
from dissensus.data.alignment import check_labels, predicted_labels
from dissensus.data.schema import checked_annotations, checked_predictions
from dissensus.dims import ANNOTATION, ELEMENT, ITEM, LABEL, POSITION, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, brief, held_back, shown, warn_caller
from dissensus.kernels.random import generator
from dissensus.kernels.types import Flags, Names
from dissensus.statistics._bayesian_bootstrap import bayesian_bootstrap
from dissensus.statistics._pairwise import require_alike
from dissensus.statistics._resampling import same_weights

_SEED: Final = "random_seed"
_TRUTH: Final = "truth"
_ANSWERS: Final = ("no", "yes")


class ByLabel(dict[Any, Any]):
    """Results by label. If they are an argument of `by_label`, each call gets that of its label."""


def by_label(function: str | Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    r"""Call a function once for each label that sets can contain.

    For each label, an answer becomes "yes" if it contains the label, and else "no". Annotations and
    predictions are then of kind "nominal", which most functions of the library take.

    Parameters
    ----------
    function : str or callable
        A statistic or its name, `bayesian_bootstrap`, ``fit`` of a model, or your own function.
    *args, **kwargs
        Arguments of ``function``. Annotations, predictions and known labels (``truth=``, as
        annotations with one answer for each item) must be sets (``kind="set"``). If an argument is
        a dict that `by_label` returned, each call gets the value of its label. Other arguments are
        the same for all labels.

    Returns
    -------
    DataArray, Dataset or dict
        Numbers, DataArrays and Datasets are joined along ``element`` (the label), after ``chain``
        and ``draw`` if there are any; values that exist only for some labels are NaN for the
        others. Other results, such as fits, are in a dict from label to result.

    Notes
    -----
    `bayesian_bootstrap`, statistics and metrics get the same seed for all labels, even if
    ``random_seed`` is None. Bootstrap weights of items are then the same for each label, so that a
    mean over ``element``, or a difference between labels, has the right interval. Labels without a
    value (NaN) are left out of xarray's mean, unless ``skipna=False``. Other functions with a
    ``random_seed``, including your own, get a different seed for each label. If your own function
    uses bootstrap weights, set their seed inside the function: otherwise intervals of means over
    labels are wrong.

    Each label is fitted separately. If few answers contain a label, its fit depends on the prior.
    Draws of fits are independent between labels. The interval of their mean over ``element`` is too
    narrow if labels tend to be true together, and too wide if they exclude each other.

    A label that only predictions contain is "no" in all annotations, with a warning. The confidence
    of an answer is used as the confidence of each "yes" and "no". Warnings and errors of the
    function name the label.

    Raises
    ------
    ArgumentError
        If no argument is annotations or predictions, or one of these has another kind than "set".
    PredictionError
        If predicted sets have no label in common with the annotations, or use another separator.

    Examples
    --------
    >>> import dissensus as dx
    >>> rows = {"item": [1, 1, 2, 2, 3, 3], "annotator": ["a", "b"] * 3,
    ...         "label": ["joy", "joy;love", "none", "none", "joy;love", "joy;love"]}
    >>> ann = dx.annotations(rows, kind="set", separator=";", none="none")
    >>> dx.by_label(dx.krippendorff_alpha, ann).round(2).to_series().to_dict()
    {'joy': 1.0, 'love': 0.44}

    For each item, the share of many annotators who would give each label:

    >>> fits = dx.by_label(
    ...     dx.models.dirichlet.fit, ann, draws=50, tune=50, random_seed=1, progressbar=False
    ... )
    >>> fits["love"]["posterior"]["plausibility"].sel(label="yes").sizes["item"]
    3
    """
    function = statistics.get(function).function if isinstance(function, str) else function
    if not callable(function):
        raise ArgumentError(
            "function", expected="a function, such as dissensus.models.dawid_skene.fit",
            found=brief(function),
        )  # fmt: skip
    args, kwargs = _by_name(function, args, kwargs)
    truth: Any = kwargs.get(_TRUTH)
    of_sets = truth is not None and not isinstance(truth, ByLabel)
    if of_sets:
        _require_one_answer_each(truth)
    elements = _elements([*args, *kwargs.values()])
    if of_sets:
        kwargs[_TRUTH] = ByLabel({
            element: _known(_holds(truth, element)) for element in elements.tolist()
        })  # fmt: skip
    seeds = _seeds(function, args, kwargs, len(elements))
    results: list[Any] = []
    with same_weights():
        for k, element in enumerate(elements.tolist()):
            own = [_of_label(value, element) for value in args]
            named = {name: _of_label(value, element) for name, value in kwargs.items()}
            seed = {_SEED: seeds[k]} if seeds else {}
            results.append(_named(function, own, named | seed, element))
    return _joined(results, elements, getattr(function, "__name__", None))


def _by_name(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments, with ``truth`` and the arguments after it by name, not position."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return args, kwargs
    place = names.index(_TRUTH) if _TRUTH in names else len(args)
    if place >= len(args) or _TRUTH in kwargs:
        return args, kwargs
    named = dict(zip(names[place : len(args)], args[place:], strict=True))
    return args[:place], named | kwargs


def _is_data(value: Any) -> bool:
    """Return whether a value is annotations or predictions."""
    return isinstance(value, xr.Dataset) and "kind" in value.attrs


def _require_one_answer_each(truth: Any) -> None:
    """Raise unless known labels are sets, one for each item."""
    if not _is_data(truth) or truth.attrs["kind"] != "set" or ANNOTATION not in truth.dims:
        raise ArgumentError(
            _TRUTH, expected='annotations of kind "set", with one answer for each known item',
            found=f"kind {truth.attrs['kind']!r}" if _is_data(truth) else type(truth).__name__,
            hint='Read the known sets with dissensus.annotations(..., kind="set"), with the same '
            "annotator for all of them",
        )  # fmt: skip
    item = truth[f"{ITEM}_code"].to_numpy()
    repeated = np.flatnonzero(np.bincount(item) > 1)
    if len(repeated):
        raise ArgumentError(
            _TRUTH, expected="one answer for each known item",
            found=f"several for {shown(truth[ITEM].to_numpy()[repeated].tolist())}",
        )  # fmt: skip


def _known(truth: xr.Dataset) -> dict[Any, str]:
    """Return known labels as a mapping from item to "yes" or "no"."""
    items = truth[ITEM].to_numpy()[truth[f"{ITEM}_code"].to_numpy()].tolist()
    return {
        item: _ANSWERS[code] for item, code in zip(items, truth["label_code"].values, strict=True)
    }


def _elements(arguments: list[Any]) -> Names:
    """Return all labels in the arguments, those of annotations first; raise if none are sets."""
    sets = [_checked(argument) for argument in arguments if _is_data(argument)]
    earlier = [argument for argument in arguments if isinstance(argument, ByLabel)]
    if not sets and not earlier:
        raise ArgumentError(
            "arguments", expected='annotations or predictions that are sets (kind "set")',
            found=shown([type(argument).__name__ for argument in arguments])
            if arguments
            else "nothing",
            hint='Read them with dissensus.annotations(..., kind="set")',
        )  # fmt: skip
    if earlier:
        return _of_results(earlier, sets)
    annotations = [data for data in sets if SYSTEM not in data.dims]
    predictions = [data for data in sets if SYSTEM in data.dims]
    vocabularies = [data[ELEMENT].to_numpy() for data in annotations] or [
        data[LABEL].to_numpy() for data in predictions
    ]
    elements = vocabularies[0]
    for vocabulary in vocabularies[1:]:
        elements = tables.widened(elements, vocabulary)
    for data in predictions if annotations else ():
        require_alike(annotations[0], data)
        stray = check_labels(data, elements, ' are taken as "no" in all annotations')
        if len(stray):
            elements = tables.widened(elements, data[LABEL].to_numpy()[stray])
    return elements


def _of_results(earlier: list[ByLabel], sets: list[xr.Dataset]) -> Names:
    """Return the labels of earlier results, or raise if an argument has a label without result."""
    fewest = min(earlier, key=len)
    elements = np.array(list(fewest))
    vocabularies = [np.array(list(result)) for result in earlier]
    vocabularies += [
        predicted_labels(data) if SYSTEM in data.dims else data[ELEMENT].to_numpy() for data in sets
    ]
    for names in vocabularies:
        new = names[tables.match(names, elements) < 0]
        if len(new):
            raise ArgumentError(
                "arguments", expected=f"labels that the results have: {shown(elements.tolist())}",
                found=shown(new.tolist()), hint="Give annotations and predictions to by_label in "
                "the first call, too, so that there is a result for each label",
            )  # fmt: skip
    return elements


def _checked(data: xr.Dataset) -> xr.Dataset:
    """Return annotations or predictions if they are sets, or raise."""
    predicted = SYSTEM in data.dims
    name = "predictions" if predicted else "annotations"
    if data.attrs["kind"] != "set":
        raise ArgumentError(
            name, expected='sets (kind "set")', found=f"kind {data.attrs['kind']!r}",
            hint=f'Read them with dissensus.{name}(..., kind="set"); a single label is a set too',
        )  # fmt: skip
    return checked_predictions(data, sets=True) if predicted else checked_annotations(data)


def _seeds(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], n: int
) -> list[Any]:
    """Return a seed for each label; an empty list if the function takes no seed or has its own."""
    seed = kwargs.get(_SEED)
    if seed is None:
        try:
            signature = inspect.signature(function)
            taken = signature.bind_partial(*args, **kwargs).arguments
        except (TypeError, ValueError):  # the call itself raises a better error
            return []
        parameter = signature.parameters.get(_SEED)
        if parameter is None or _SEED in (taken.keys() - kwargs.keys()):
            return []
        seed = None if parameter.default is parameter.empty else parameter.default
        if seed is not None and not isinstance(seed, np.random.Generator):
            return []
    rng = generator(seed, "by label")
    if _has_weights(function):
        whole = isinstance(seed, int | np.integer)
        return [seed if whole else int(rng.integers(2**31))] * n
    return [int(number) for number in rng.integers(2**31, size=n)]


def _has_weights(function: Any) -> bool:
    """Return whether a function is `bayesian_bootstrap`, a statistic or a metric.

    These functions get the same seed for all labels.
    """
    while isinstance(function, partial):
        function = function.func
    of_metrics = str(getattr(function, "__module__", "")).startswith("dissensus.metrics.")
    return (
        function is bayesian_bootstrap or of_metrics or statistics.registered(function) is not None
    )


def _of_label(value: Any, element: Any) -> Any:
    """Return the value of an argument for one label."""
    if isinstance(value, ByLabel):
        return value[element]
    return _holds(value, element) if _is_data(value) else value


def _holds(data: xr.Dataset, element: Any) -> xr.Dataset:
    """Return nominal data: each answer is "yes" if it contains the label, and else "no"."""
    dims = data["label_code"].dims
    names = data[LABEL if SYSTEM in data.dims else ELEMENT].to_numpy()
    own = np.flatnonzero(tables.match(names, np.array([element])) == 0)
    held: Flags
    if SYSTEM in data.dims:
        code = data["label_code"].to_numpy()
        place = own[0] if len(own) else len(names)
        held = (code == place).any(axis=dims.index(POSITION), keepdims=True)
        out = data.drop_dims([LABEL, POSITION]).assign(block=(dims, np.ones(held.shape, np.int64)))
    else:
        answer = data["label_code"].to_numpy()
        member = data["member"].to_numpy()
        held = member[answer, own[0]] if len(own) else np.zeros(len(answer), dtype=bool)
        out = data.drop_dims([LABEL, ELEMENT])
    out["label_code"] = (dims, held.astype(np.int64))
    out = out.assign_coords({LABEL: np.array(_ANSWERS)})
    kept = {name: value for name, value in data.attrs.items() if name not in {"separator", "none"}}
    out.attrs = kept | {"kind": "nominal"}
    return out


def _named(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], element: Any
) -> Any:
    """Call the function; warnings and errors name the label."""
    with held_back() as warnings:
        try:
            result = function(*args, **kwargs)
        except Exception as problem:
            problem.add_note(f"This is about the label {brief(element)}.")
            raise
    for text, category in warnings:
        warn_caller(f"Label {brief(element)}: {text}", category)
    return result


def _joined(results: list[Any], elements: Names, name: str | None) -> Any:
    """Join numbers and arrays along ``element``, and put other results into a dict."""
    separate = ByLabel(zip(elements.tolist(), results, strict=True))
    if all(isinstance(result, float | int | np.number) for result in results):
        results = [xr.DataArray(float(result), name=name) for result in results]
    kinds = {type(result) for result in results}
    if kinds not in ({xr.DataArray}, {xr.Dataset}) or any(_is_data(result) for result in results):
        return separate
    if len({tuple(result.dims) for result in results}) > 1 or ELEMENT in results[0].dims:
        return separate
    index = xr.DataArray(elements, dims=ELEMENT, name=ELEMENT)
    try:
        joined: Any = xr.concat(results, dim=index, join="outer", combine_attrs="drop_conflicts")
    except ValueError:  # sizes differ, and without coordinates values cannot be aligned
        return separate
    first = [dim for dim in SAMPLE if dim in joined.dims]
    return joined.transpose(*first, ELEMENT, ...)
