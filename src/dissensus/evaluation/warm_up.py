"""Compiles kernels ahead of the first fit, for container images, CI caches and notebooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import models
from dissensus.data import annotations as _annotations
from dissensus.data.nested import from_rankings
from dissensus.data.pairs import pairs
from dissensus.data.predictions import predictions
from dissensus.errors import ArgumentError, DissensusWarning
from dissensus.evaluation.evaluate import evaluate
from dissensus.sampling.chains import tracked

Job = Callable[[], object]

_ITEMS: Final = 6
_ANNOTATORS: Final = 4


def warm_up(*names: str, progressbar: bool = True) -> None:
    """Compile the kernels of models ahead of their first fit.

    Numba compiles a kernel when it is first called, and caches the machine code on disk for this
    processor and this version of the library. Call this function once when a container image is
    built or a CI cache is filled.

    Parameters
    ----------
    *names : str
        Models, see `dissensus.models.names`. By default all models, and `dissensus.evaluate` of
        labels, grades, scores, rankings and votes.
    progressbar : bool
        Show progress.

    Raises
    ------
    ArgumentError
        If the library has no model of that name.

    Notes
    -----
    Each model is fitted to small studies, with its main options. Other options, such as
    ``difficulty=True``, still compile a few kernels at their first fit. The cache is in
    ``NUMBA_CACHE_DIR``, by default next to the library's files. An image that runs on several kinds
    of processors needs ``NUMBA_CPU_NAME=generic``, when it is built and when it runs.

    Examples
    --------
    >>> import dissensus as dx
    >>> dx.warm_up("dirichlet", progressbar=False)
    """
    known = [model.name for model in models.MODELS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ArgumentError(
            "names", expected=f"models of this library: {', '.join(known)}",
            found=", ".join(map(repr, unknown)),
        )  # fmt: skip
    jobs = list(_jobs(names or tuple(known), whole=not names))
    for job in tracked(jobs, "Warming up", progressbar):
        with warnings.catch_warnings():  # these fits are not used
            warnings.simplefilter("ignore", DissensusWarning)
            job()


def _jobs(names: tuple[str, ...], *, whole: bool) -> Iterator[Job]:
    """Yield functions that fit models to small studies and, if ``whole``, make evaluations."""
    few_rankings = {"i": {"a": [["x"], ["y"]], "b": [["y", "z"]]}}
    studies = {kind: _study(kind) for kind in ("nominal", "continuous", "ordinal")}
    studies |= {"ranking": _rankings(), "few rankings": from_rankings(few_rankings, labels="xyz")}
    studies["pair"] = _votes()
    for name in names:
        model = models.get(name)
        for kind, options in _FORMS.get(name, ((model.kinds[0], {}),)):
            study = _study(kind, pools=True) if model.pools else studies[kind]
            yield _fit(name, study, options)
    if whole:
        yield lambda: evaluate(studies["nominal"], _answers("xyz"), **_FEW)
        yield lambda: evaluate(studies["ordinal"], _answers((1, 2, 3)), **_FEW)
        yield lambda: evaluate(studies["continuous"], None, threshold=2.0, **_FEW)
        yield lambda: evaluate(studies["ranking"], _ordered(), **_FEW)
        yield lambda: evaluate(studies["pair"], None, **_FEW)


_FEW: Final[dict[str, Any]] = {"draws": 20, "random_seed": 1, "progressbar": False}

_FORMS: Final[dict[str, tuple[tuple[str, dict[str, Any]], ...]]] = {
    "inverse_rank": (("ranking", {}), ("few rankings", {})),  # draws of one item are contiguous
    "plackett_luce": (("ranking", {}), ("few rankings", {})),  # two ways of sampling
    "crossed_effects": (("continuous", {}), ("ordinal", {"family": "ordinal"})),
    "cross_replication": (("continuous", {}), ("ordinal", {"family": "ordinal"})),
    "symmetric_confusion": (
        ("nominal", {"predictions": True}), ("nominal", {"accuracy": "annotator"}),
    ),
    "dawid_skene": (("nominal", {"predictions": True}), ("nominal", {})),
    "rasch": (("nominal", {}), ("nominal", {"truth": True})),
    "bradley_terry": (("pair", {"side": True}),),
}  # fmt: skip
"""For each model, the kinds of annotations and the options of its fits. A model that is not named
is fitted to its first kind, without options."""


def _fit(name: str, study: xr.Dataset, options: dict[str, Any]) -> Job:
    arguments = dict(options)
    if arguments.pop("predictions", False):
        arguments["predictions"] = _answers("xyz")
    if arguments.pop("truth", False):
        arguments["truth"] = {f"i{i}": "xyz"[i % 3] for i in range(_ITEMS)}
    return lambda: models.get(name).module.fit(
        study, draws=10, tune=5, chains=2, random_seed=1, progressbar=False, **arguments
    )


def _study(kind: str, *, pools: bool = False) -> xr.Dataset:
    item, annotator = np.divmod(np.arange(_ITEMS * _ANNOTATORS), _ANNOTATORS)
    code = np.random.default_rng(1).integers(3, size=len(item))
    columns: dict[str, Any] = {
        "item": [f"i{i}" for i in item], "annotator": [f"a{a}" for a in annotator],
        "label": ["xyz"[c] for c in code] if kind == "nominal" else (code + 1).tolist(),
    }  # fmt: skip
    if pools:
        columns["pool"] = ["p" if a < _ANNOTATORS // 2 else "q" for a in annotator]
    return _annotations.annotations(columns, kind=kind, pool="pool" if pools else None)


def _rankings() -> xr.Dataset:
    orders = [[["x"], ["y", "z"]], [["y"], ["x"]], [["z"], ["x"], ["y"]], [["x", "y"]]]
    rankings = {
        f"i{i}": {f"a{a}": orders[(i + a) % 4] for a in range(_ANNOTATORS)} for i in range(_ITEMS)
    }
    return from_rankings(rankings, labels="uvwxyz")


def _votes() -> xr.Dataset:
    n = 8 * _ITEMS
    return pairs(
        {
            "left": ["xyz"[k % 3] for k in range(n)], "right": ["yzx"[k % 3] for k in range(n)],
            "winner": [("left", "tie", "right")[k % 4 % 3] for k in range(n)],
            "annotator": [k % _ANNOTATORS for k in range(n)],
            "item": [k % _ITEMS for k in range(n)],
        },
        annotator="annotator", item="item",
    )  # fmt: skip


def _answers(labels: Any) -> xr.Dataset:
    return predictions({
        "item": [f"i{i}" for i in range(_ITEMS)] * 2,
        "system": ["s"] * _ITEMS + ["t"] * _ITEMS,
        "label": [labels[i % 3] for i in range(_ITEMS)] + [labels[0]] * _ITEMS,
    })  # fmt: skip


def _ordered() -> xr.Dataset:
    rows = [
        (f"i{i}", system, label, rank)
        for i in range(_ITEMS) for system, order in (("s", "xyz"), ("t", "zxw"))
        for rank, label in enumerate(order, start=1)
    ]  # fmt: skip
    columns = dict(zip(("item", "system", "label", "rank"), zip(*rows, strict=True), strict=True))
    return predictions(columns, rank="rank")
