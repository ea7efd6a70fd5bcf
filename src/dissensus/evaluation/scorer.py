"""A scorer for scikit-learn: choosing a classifier where the annotators disagree on the truth."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from dissensus import metrics
from dissensus.arguments import flags
from dissensus.data.plausibility import plausibility_of
from dissensus.data.predictions import predictions
from dissensus.dims import ITEM, SAMPLE, SYSTEM
from dissensus.errors import ArgumentError, shown

_CLASSIFIER = "classifier"


def scorer(
    plausibility: Any,
    metric: str = "top_k_accuracy",
    *,
    items: Callable[[Any], Any] | None = None,
    ranked: bool = False,
    **arguments: Any,
) -> Scorer:
    r"""Make a scorer for scikit-learn's model selection out of a fit.

    Parameters
    ----------
    plausibility : DataTree, Dataset or DataArray
        A fit of annotations, its posterior, or the plausibility itself.
    metric : str
        The name of a metric of predictions, such as "top_k_accuracy" or "average_overlap".
    items : function, optional
        From X, as the scorer is given it, to the names of its items, one for each row. By default
        the index of a DataFrame or Series.
    ranked : bool
        Take the classifier's labels in the order of ``predict_proba``, rather than the one that
        ``predict`` names; what looks at more than one label needs it.
    **arguments
        Of the metric, such as ``k=3``.

    Returns
    -------
    Scorer
        ``scorer(estimator, X, y=None)``, which goes into ``scoring=`` of `cross_val_score`,
        `GridSearchCV` and their like, returns the posterior mean of the metric, with its sign
        changed if less is better, as scikit-learn wants it. It does not look at y.
        ``scorer.draws(estimator, X)`` returns the draws, with which one sees whether the
        choice is more than chance.

    Raises
    ------
    ArgumentError
        If the metric is not one of predictions.

    Notes
    -----
    scikit-learn's own scorers compare with one label for each item. Where that is a majority of few
    annotators, the search prefers the classifier that repeats their mistakes. Here an answer
    counts by the probability that it is right. The mean is taken over draws first, so that the best
    of many candidates is chosen by its expected value; by how much it is better, and how surely,
    `dissensus.compare` of the draws says.

    Examples
    --------
    >>> import dissensus as dx, numpy as np, pandas as pd
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> study = dx.simulate.study(n_items=30, kind="nominal", random_seed=1)
    >>> fit = dx.models.dirichlet.fit(study.annotations, draws=200, random_seed=1)
    >>> X = pd.DataFrame({"size": np.arange(30)}, index=study.annotations["item"].values)
    >>> y = np.resize(study.annotations["label"].values, 30)
    >>> scores = cross_val_score(DummyClassifier(), X, y, scoring=dx.scorer(fit), cv=3)
    >>> bool(((scores > 0) & (scores < 1)).all())
    True
    """
    entry = metrics.get(metric)
    names = [
        one.name for one in metrics.METRICS if one.takes == "lists" and one.name != "certainty"
    ]
    if metric not in names:
        raise ArgumentError("metric", expected=f"one of {', '.join(names)}", found=repr(metric))
    if items is not None and not callable(items):
        raise ArgumentError("items", expected="a function of X, or None", found=repr(items))
    flags(ranked=ranked)
    _require_arguments(entry.function, metric, arguments)
    return Scorer(plausibility_of(plausibility), metric, items, ranked, arguments)


def _require_arguments(function: Callable[..., Any], metric: str, given: dict[str, Any]) -> None:
    """Raise on arguments that the metric does not have, or cannot do without."""
    try:
        signature(function).bind(None, None, **given)
    except TypeError as problem:
        raise ArgumentError(
            metric, expected="its own arguments, and all it needs", found=str(problem)
        ) from problem


class Scorer:
    """What `scorer` returns; scikit-learn calls it, and copies it to its processes."""

    def __init__(
        self,
        plausibility: xr.DataArray,
        metric: str,
        items: Callable[[Any], Any] | None,
        ranked: bool,
        arguments: dict[str, Any],
    ) -> None:
        self._plausibility = plausibility
        self._metric = metrics.get(metric)
        self._items = items
        self._ranked = ranked
        self._arguments = arguments

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Return the posterior mean, greater if better."""
        del y
        sign = -1.0 if self._metric.better == "lower" else 1.0
        return sign * float(self.draws(estimator, X).mean())

    def __repr__(self) -> str:
        """Say what is scored."""
        said = "".join(f", {name}={value!r}" for name, value in self._arguments.items())
        return f"scorer({self._metric.name!r}, ranked={self._ranked}{said})"

    def draws(self, estimator: Any, X: Any, name: str = _CLASSIFIER) -> xr.DataArray:
        """Return the metric's draws.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X : dataframe
            Of items that are annotated, each once.
        name : str
            What the classifier is called along ``system``.

        Returns
        -------
        xarray.DataArray
            (chain, draw, system), with the sign that the metric has.

        Raises
        ------
        ArgumentError
            If X does not say what its items are, or has one that nobody annotated, or one twice.
        """
        known = self._named(X)
        theta = self._plausibility.sel({ITEM: known})
        said = self._answers(estimator, X, known)
        said[SYSTEM] = np.full(len(said[ITEM]), name)
        how = {"score": "score"} if self._ranked else {"kind": "nominal"}
        given = predictions(said, **how)
        found: xr.DataArray = self._metric.function(theta, given, **self._arguments)
        return found.transpose(*SAMPLE, ...)

    def _named(self, X: Any) -> npt.NDArray[Any]:
        """Return the items of the rows of X."""
        if self._items is not None:
            names = np.asarray(self._items(X))
        elif hasattr(X, "index") and not callable(X.index):
            names = np.asarray(X.index)
        else:
            raise ArgumentError(
                "X", expected="a DataFrame whose index names the items", found=type(X).__name__,
                hint="Give dissensus.scorer a function items= that names them",
            )  # fmt: skip
        index = self._plausibility.indexes[ITEM]
        strange = [name for name in names.tolist() if name not in index]
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)  # a sparse matrix has no length
        if strange or len(names) != n_rows:
            raise ArgumentError(
                "X", expected=f"items that are annotated, such as {shown(index[:3].tolist())}",
                found=shown(strange) if strange else f"{len(names)} names of {n_rows} rows",
            )  # fmt: skip
        twice = names[pd.Index(names).duplicated()]
        if len(twice):
            raise ArgumentError(
                "X", expected="each item once", found=f"{shown(twice.tolist())} again"
            )
        return names

    def _answers(self, estimator: Any, X: Any, names: npt.NDArray[Any]) -> dict[str, Any]:
        """Return the rows of the classifier's predictions."""
        if not self._ranked:
            return {ITEM: names, "label": np.asarray(estimator.predict(X))}
        if not hasattr(estimator, "predict_proba"):
            raise ArgumentError(
                "estimator", expected="a classifier with predict_proba, for ranked=True",
                found=type(estimator).__name__,
            )  # fmt: skip
        chance = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        labels = np.asarray(estimator.classes_)
        return {ITEM: np.repeat(names, len(labels)), "label": np.tile(labels, len(names)),
                "score": chance.ravel()}  # fmt: skip
