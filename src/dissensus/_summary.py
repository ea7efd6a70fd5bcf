"""The result of an evaluation as one tidy table: one row per metric, reliability, scope, system."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from dissensus.dims import RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.errors import ArgumentError


def summary(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the metrics of an evaluation.

    Parameters
    ----------
    evaluation : xarray.DataTree
        From `dissensus.evaluate`, with predictions.

    Returns
    -------
    pandas.DataFrame
        Columns model, metric, reliability, scope, system, mean, sd, lower, upper (an interval of
        the kind and probability that ArviZ's rcParams say, named in ``attrs``),
        probability_best (NaN for one system), naive (the value against the point estimate),
        ess_bulk and r_hat. The rows of a companion model come after those of the main one.
        Empty if there were no predictions.

    Raises
    ------
    ArgumentError
        If this is no evaluation.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": list("ab"), "label": ["x", "y"]})
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> result = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False)
    >>> list(dx.summary(result).columns)[:6]
    ['model', 'metric', 'reliability', 'scope', 'system', 'mean']
    """
    if not isinstance(evaluation, xr.DataTree) or "statistics" not in evaluation.children:
        raise ArgumentError(
            "evaluation",
            expected="a DataTree from dissensus.evaluate",
            found=f"{type(evaluation).__name__} without a group 'statistics'",
        )

    out = of_model(evaluation)
    if "companion" in evaluation.children:
        beside = of_model(evaluation.children["companion"])
        out = pd.concat([out, beside], ignore_index=True)  # keeps attributes that are alike
    return out


def of_model(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the metrics under the one model that an evaluation, or a companion, is of."""
    from arviz_base import rcParams
    from arviz_stats import eti, hdi

    kind, prob = rcParams["stats.ci_kind"], rcParams["stats.ci_prob"]
    key = [RELIABILITY, SCOPE, SYSTEM]
    rows = []
    draws = evaluation["metrics"].to_dataset() if "metrics" in evaluation.children else xr.Dataset()
    for name, values in ((str(name), values) for name, values in draws.data_vars.items()):
        interval = (hdi if kind == "hdi" else eti)(values, prob=prob)
        parts = {
            "mean": values.mean(SAMPLE),
            "sd": values.std(SAMPLE, ddof=1),
            "lower": interval.sel(ci_bound="lower", drop=True),
            "upper": interval.sel(ci_bound="upper", drop=True),
            "probability_best": _best(evaluation, name, values),
            "naive": evaluation["statistics"][f"naive_{name}"],
            "ess_bulk": evaluation["diagnostics"][name].sel(diagnostic="ess_bulk", drop=True),
            "r_hat": evaluation["diagnostics"][name].sel(diagnostic="r_hat", drop=True),
        }
        table = xr.Dataset({part: value.drop_attrs() for part, value in parts.items()})
        frame = table.to_dataframe(dim_order=key).reset_index()
        frame = frame.assign(metric=name, model=str(evaluation.attrs.get("model", "")))
        rows.append(frame[["model", "metric", *key, *parts]])
    out = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
    out.attrs.update(interval=kind, probability=prob)
    return out


def _best(evaluation: xr.DataTree, name: str, values: xr.DataArray) -> xr.DataArray:
    comparison = evaluation["comparison"].to_dataset()
    if "probability_best" not in comparison:
        return xr.full_like(values.isel(chain=0, draw=0, drop=True), float("nan"))
    return comparison["probability_best"].sel(metric=name, drop=True)
