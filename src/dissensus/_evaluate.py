"""The main job: from annotations and predictions to a posterior over the truth, and metrics."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from dissensus import metrics
from dissensus._recipes import Recipe, recipe_for
from dissensus._scoring import certainties, score, score_point
from dissensus.dims import RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.errors import ArgumentError, DissensusWarning
from dissensus.schema import checked_annotations, checked_predictions


def evaluate(
    annotations: xr.Dataset,
    predictions: xr.Dataset | None = None,
    *,
    reliability: Sequence[float] | None = None,
    draws: int = 1000,
    chains: int = 4,
    random_seed: int | None = None,
    progressbar: bool = True,
    model: str | None = None,
    threshold: float | None = None,
    risk: Any = None,
    on_missing: str = "raise",
    **hyper: Any,
) -> xr.DataTree:
    """Evaluate systems against annotators who disagree, over a range of trust in them.

    The reliability of the annotators is not in the data, and what one concludes may hang on it:
    everything is therefore computed along a range of reliabilities.

    Parameters
    ----------
    annotations : xarray.Dataset
        From `dissensus.annotations` or one of its kin.
    predictions : xarray.Dataset, optional
        From `dissensus.predictions`. Without it only the annotations are described.
    reliability : sequence of float, optional
        Values to go through; by default a range that suits the model. The posterior is kept at
        its reference (1 for `dirichlet`, 30 for `inverse_rank`) if that is among them, else at
        the middle one.
    draws, chains : int
        Posterior draws per chain, and chains.
    random_seed : int, optional
        Makes everything repeatable.
    progressbar : bool
        Show progress.
    model : str, optional
        A name of `dissensus.models`; by default chosen by the kind of the annotations.
    threshold : float, optional
        For scores on a scale: the cut whose two sides are the labels. Needed there.
    risk : mapping from label to number, optional
        Adds each item's expected risk.
    on_missing : {"raise", "drop"}
        What to do about items that only one side has.
    **hyper
        Other hyperparameters of the model, such as ``prior_count``.

    Returns
    -------
    xarray.DataTree
        ``posterior`` (at the reference reliability), ``metrics`` (chain, draw, reliability,
        scope, system), ``comparison`` of the systems metric by metric, ``certainty`` and
        ``expected_risk`` per item, ``statistics`` of the observed annotations (among them the
        naive metrics against the point estimate), ``diagnostics`` of the draws, and the
        ``annotations`` and ``predictions`` themselves.

    Raises
    ------
    AnnotationError, PredictionError
        If the two do not fit each other or the model.
    ArgumentError
        If an argument makes no sense.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2, 2], "annotator": list("abab"),
    ...                       "label": ["x", "y", "x", "x"]})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["x", "x"]})
    >>> result = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False)
    >>> result["metrics"]["top_1_accuracy"].dims
    ('chain', 'draw', 'reliability', 'scope', 'system')
    """
    checked_annotations(annotations)
    recipe = recipe_for(annotations, model=model, threshold=threshold)
    recipe.check_options(reliability, hyper)
    trust = _checked_range(recipe.reliabilities if reliability is None else reliability)
    reference = recipe.reference if recipe.reference in trust else trust[len(trust) // 2]
    if predictions is not None:
        predictions = recipe.predictions(checked_predictions(predictions))
    scored = functools.partial(
        _scored, predictions=predictions, random_seed=random_seed, on_missing=on_missing
    )
    runs: list[dict[str, xr.Dataset]] = []
    groups: dict[str, xr.Dataset] = {}
    with _each_warning_once():
        for gamma in _progress(trust, f"{recipe.model}, reliability", progressbar):
            fit = recipe.fit(
                annotations, gamma, draws=draws, chains=chains, random_seed=random_seed, **hyper
            )
            plausibility = recipe.plausibility(fit)
            runs.append(scored(plausibility))
            if gamma == reference:
                groups |= _kept(fit, plausibility, risk)
        groups |= _along(trust, runs)
        point = recipe.point(annotations)
        groups["statistics"] = recipe.statistics(annotations, point)
        groups["annotations"] = annotations
        if predictions is not None:
            naive = score_point(point, predictions, on_missing)
            groups["statistics"] = groups["statistics"].merge(naive)
            groups["predictions"] = predictions
    tree = xr.DataTree.from_dict(groups)
    tree.attrs.update(_provenance(recipe, reference, draws, chains, random_seed))
    tree.attrs.update({name: tree["posterior"].attrs[name] for name in _hyper(tree)})
    weight = recipe.prior_weight(annotations, reference, **hyper)
    if weight is not None:
        tree.attrs["prior_weight"] = weight
    return tree


def _hyper(tree: xr.DataTree) -> list[str]:
    return [str(name) for name in tree["posterior"].attrs if str(name).startswith("hyper_")]


def _scored(
    plausibility: xr.DataArray, predictions: xr.Dataset | None, random_seed: Any, on_missing: str
) -> dict[str, xr.Dataset]:
    """Return what is computed anew at each reliability."""
    out = {"certainty": certainties(plausibility, predictions)}
    if predictions is not None:
        out["metrics"] = score(plausibility, predictions, random_seed, on_missing)
    return out


def _kept(fit: xr.DataTree, plausibility: xr.DataArray, risk: Any) -> dict[str, xr.Dataset]:
    """Return what is kept of the reference reliability only."""
    posterior = fit["posterior"].to_dataset()
    if plausibility.name not in posterior:
        posterior = posterior.assign({str(plausibility.name): plausibility})
    if risk is None:
        return {"posterior": posterior}
    expected = metrics.get("expected_risk").function(plausibility, risk)
    return {"posterior": posterior, "expected_risk": expected.to_dataset()}


def _along(trust: tuple[float, ...], runs: list[dict[str, xr.Dataset]]) -> dict[str, xr.Dataset]:
    """Join the runs along reliability, and compare the systems."""
    index = xr.IndexVariable(RELIABILITY, list(trust))
    out = {
        name: xr.concat([run[name] for run in runs], dim=index, combine_attrs="override")
        for name in runs[0]
    }
    out |= {"comparison": xr.Dataset(), "diagnostics": xr.Dataset()}
    if "metrics" in out:
        out["metrics"] = out["metrics"].transpose(*SAMPLE, RELIABILITY, SCOPE, SYSTEM)
        out["comparison"] = _comparison(out["metrics"])
        out["diagnostics"] = _diagnostics(out["metrics"])
    return out


@contextmanager
def _each_warning_once() -> Iterator[None]:
    """Say once what would be said for every metric at every reliability."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DissensusWarning)
        yield
    said = set()
    for warning in caught:
        if str(warning.message) not in said:
            said.add(str(warning.message))
            warnings.warn(warning.message, warning.category, stacklevel=4)


def _checked_range(reliability: Sequence[float]) -> tuple[float, ...]:
    try:
        given = np.atleast_1d(np.asarray(reliability, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.array([])
    values = tuple(given.ravel().tolist())
    bad = not values or given.ndim > 1 or not np.isfinite(values).all() or min(values) <= 0
    if bad or len(set(values)) < len(values):
        raise ArgumentError(
            "reliability",
            expected="one or more different positive numbers",
            found=repr(reliability),
        )
    return tuple(sorted(values))


def _comparison(draws: xr.Dataset) -> xr.Dataset:
    """Compare the systems on every metric; the draws of the differences are left to `compare`."""
    if draws.sizes[SYSTEM] < 2:
        return xr.Dataset()
    compare = metrics.get("compare").function
    drop = ["difference", *SAMPLE]
    each = [compare(draws[name]).drop_vars(drop) for name in draws.data_vars]
    index = xr.IndexVariable("metric", [str(name) for name in draws.data_vars])
    return xr.concat(each, dim=index, combine_attrs="drop")


def _diagnostics(draws: xr.Dataset) -> xr.Dataset:
    """Return effective sample size and r-hat of every metric.

    A metric that is the same in all draws has neither; NaN is right there, not a failure.
    """
    from arviz_stats import ess, rhat

    with np.errstate(invalid="ignore", divide="ignore"):
        kinds = {
            "ess_bulk": ess(draws, method="bulk"),
            "ess_tail": ess(draws, method="tail"),
            "r_hat": rhat(draws),
        }
    index = xr.IndexVariable("diagnostic", list(kinds))
    return xr.concat(list(kinds.values()), dim=index, combine_attrs="drop")


def _provenance(
    recipe: Recipe, reference: float, draws: int, chains: int, random_seed: int | None
) -> dict[str, Any]:
    seed = "none: these draws cannot be repeated" if random_seed is None else str(random_seed)
    return {
        "model": recipe.model,
        "kind": recipe.kind,
        "inference": recipe.inference,
        "reference_reliability": reference,
        "draws": draws,
        "chains": chains,
        "random_seed": seed,
        "dissensus_version": version("dissensus"),
        "pymc_version": version("pymc"),
        "arviz_version": version("arviz"),
    }


def _progress(values: Sequence[float], text: str, show: bool) -> Iterable[float]:
    """Go through the values under a progress bar."""
    from rich.progress import track

    return track(values, description=f"Fitting {text}") if show else values
