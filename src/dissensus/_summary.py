"""The result of an evaluation as one tidy table: one row per metric, reliability, scope, system."""

from __future__ import annotations

import warnings

import pandas as pd
import xarray as xr

from dissensus.dims import ANNOTATOR, RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.errors import ArgumentError

_OF = ("metrics", "statistics")
_COLUMNS = ["statistic", SYSTEM, ANNOTATOR, "observed", "mean", "sd", "lower", "upper", "undefined"]


def summary(evaluation: xr.DataTree, of: str = "metrics") -> pd.DataFrame:
    """Summarise the metrics of an evaluation, or its statistics.

    Parameters
    ----------
    evaluation : xarray.DataTree
        From `dissensus.evaluate`.
    of : {"metrics", "statistics"}
        Of what: metrics need predictions, statistics need items with two annotators.

    Returns
    -------
    pandas.DataFrame
        Of metrics: columns model, metric, reliability, scope, system, mean, sd, lower, upper (an
        interval of the kind and probability that ArviZ's rcParams say, named in ``attrs``),
        probability_best (NaN for one system), naive (the value against the point estimate),
        ess_bulk and r_hat. The rows of a companion model come after those of the main one.
        Empty if there were no predictions.

        Of statistics: columns statistic, system, annotator (empty where it has none), observed,
        mean, sd, lower, upper, undefined (the share of draws that are, and are left out);
        coefficients of agreement first, then discrepancy ratios.

    Raises
    ------
    ArgumentError
        If this is no evaluation, or ``of`` is something else.

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
    if of not in _OF:
        raise ArgumentError("of", expected=f"one of {_OF}", found=repr(of))
    if of == "statistics":
        return _of_statistics(evaluation)
    out = of_model(evaluation)
    if "companion" in evaluation.children:
        beside = of_model(evaluation.children["companion"])
        out = pd.concat([out, beside], ignore_index=True)  # keeps attributes that are alike
    return out


def of_model(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the metrics under the one model that an evaluation, or a companion, is of."""
    key = [RELIABILITY, SCOPE, SYSTEM]
    rows = []
    draws = evaluation["metrics"].to_dataset() if "metrics" in evaluation.children else xr.Dataset()
    for name, values in ((str(name), values) for name, values in draws.data_vars.items()):
        parts = _spread(values) | {
            "probability_best": _best(evaluation, name, values),
            "naive": evaluation["statistics"][f"naive_{name}"],
            "ess_bulk": evaluation["diagnostics"][name].sel(diagnostic="ess_bulk", drop=True),
            "r_hat": evaluation["diagnostics"][name].sel(diagnostic="r_hat", drop=True),
        }
        table = xr.Dataset({part: value.drop_attrs() for part, value in parts.items()})
        frame = table.to_dataframe(dim_order=key).reset_index()
        frame = frame.assign(metric=name, model=str(evaluation.attrs.get("model", "")))
        rows.append(frame[["model", "metric", *key, *parts]])
    return _noted(pd.concat(rows, ignore_index=True) if rows else pd.DataFrame())


def _spread(values: xr.DataArray, *, skipna: bool = False) -> dict[str, xr.DataArray]:
    """Return mean, sd and ArviZ's interval; with ``skipna`` of the draws that are defined."""
    from arviz_base import rcParams
    from arviz_stats import eti, hdi

    with warnings.catch_warnings():
        if skipna:  # what is undefined in all draws has no mean and no interval: NaN is right
            warnings.simplefilter("ignore", RuntimeWarning)
        interval = (hdi if rcParams["stats.ci_kind"] == "hdi" else eti)(
            values, prob=rcParams["stats.ci_prob"], dim=list(SAMPLE), skipna=skipna
        )
        return {
            "mean": values.mean(SAMPLE, skipna=skipna),
            "sd": values.std(SAMPLE, ddof=1, skipna=skipna),
            "lower": interval.sel(ci_bound="lower", drop=True),
            "upper": interval.sel(ci_bound="upper", drop=True),
        }


def _noted(frame: pd.DataFrame) -> pd.DataFrame:
    """Write down what the intervals are."""
    from arviz_base import rcParams

    frame.attrs.update(interval=rcParams["stats.ci_kind"], probability=rcParams["stats.ci_prob"])
    return frame


def _of_statistics(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the draws of statistics, one row for each value."""
    rows = [pd.DataFrame(columns=_COLUMNS)]
    for group in ("agreement", "discrepancy"):
        data = evaluation[group].to_dataset() if group in evaluation.children else xr.Dataset()
        for name, values in data.data_vars.items():
            if set(SAMPLE) <= set(values.dims):
                point = evaluation["statistics"].to_dataset()[name]
                rows.append(_rows_of(str(name), values, point))
    return _noted(pd.concat([row for row in rows if len(row)] or rows, ignore_index=True))


def _rows_of(name: str, values: xr.DataArray, point: xr.DataArray) -> pd.DataFrame:
    """Summarise one statistic; ``point`` may have annotators of whom there are no draws."""
    parts = _spread(values, skipna=True)
    parts["undefined"] = values.isnull().mean(SAMPLE)
    parts["observed"] = point.sel({dim: values[dim] for dim in point.dims})
    flat = {part: value.drop_attrs() for part, value in parts.items()}
    frame = xr.Dataset(flat).expand_dims("row").to_dataframe().reset_index()
    frame = frame.assign(statistic=name).reindex(columns=_COLUMNS)
    for column in (SYSTEM, ANNOTATOR):  # names stay what they are: 10 is not to become 10.0
        frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame


def _best(evaluation: xr.DataTree, name: str, values: xr.DataArray) -> xr.DataArray:
    comparison = evaluation["comparison"].to_dataset()
    if "probability_best" not in comparison:
        return xr.full_like(values.isel(chain=0, draw=0, drop=True), float("nan"))
    return comparison["probability_best"].sel(metric=name, drop=True)
