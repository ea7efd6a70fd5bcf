"""Tables of an evaluation, with one row for each number: what plots, reports and files read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.dims import (
    ANNOTATOR,
    ITEM,
    LABEL,
    POOL,
    RELIABILITY,
    SAMPLE,
    SCALE,
    SCOPE,
    SCOPES,
    SYSTEM,
    other,
)
from dissensus.errors import ArgumentError
from dissensus.evaluation.answers import GROUP as ANSWERS
from dissensus.evaluation.components import LATENT, OBSERVED, POINT
from dissensus.evaluation.doubts import (
    DOUBT,
    each,
    is_exact,
    of_answer,
    of_bootstrap,
    of_fit,
    of_ground_truth,
    of_group,
    of_metrics,
    of_numbers,
)
from dissensus.evaluation.ground_truth import GROUP
from dissensus.sampling.intervals import effective, spread, whole

# Accuracy: one row for each system and scope, and for each annotator.


ACCURACY_COLUMNS: Final = (
    "of", "name", SCOPE, "mean", "sd", "lower", "upper", "majority", "uncertainty_adjusted",
    "ess_bulk", "r_hat", DOUBT,
)  # fmt: skip
OF_SYSTEM, OF_ANNOTATOR = "system", "annotator"
_TAIL: Final = "ess_tail"
METRIC: Final = "top_1_accuracy"


def accuracy_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``accuracy``; see `dissensus.summary`."""
    frames = []
    if "accuracy" in evaluation.children:
        data = evaluation["accuracy"].to_dataset()
        if "estimated_accuracy" in data:
            beside = {"majority": data["majority_accuracy"], "uncertainty_adjusted":
                      adjusted(evaluation)}  # fmt: skip
            frames.append(_rows(data["estimated_accuracy"], SYSTEM, OF_SYSTEM, beside))
        beside = {"majority": _of_annotators(data)}
        frames.append(_rows(data["annotator_accuracy"], ANNOTATOR, OF_ANNOTATOR, beside))
    if not frames:
        return pd.DataFrame(columns=list(ACCURACY_COLUMNS))
    names = [name for frame in frames for name in frame["name"].tolist()]
    out = pd.concat([frame.drop(columns="name") for frame in frames], ignore_index=True)
    # dtype=object keeps names that are whole numbers: concat would turn 10 into 10.0.
    out["name"] = pd.Series(names, index=out.index, dtype=object)
    of_all = of_group(evaluation, "accuracy")
    own = each(out, out[_TAIL])
    out[DOUBT] = [of_all or one for one in own]
    return out[list(ACCURACY_COLUMNS)]


def adjusted(evaluation: xr.DataTree) -> xr.DataArray | None:
    """Return mean uncertainty-adjusted accuracy at the reference reliability: (scope, system)."""
    if "metrics" not in evaluation.children or METRIC not in evaluation["metrics"]:
        return None
    draws = evaluation["metrics"].to_dataset()[METRIC]
    reference = evaluation.attrs["reference_reliability"]
    return draws.sel({RELIABILITY: reference}, drop=True).mean(list(SAMPLE))


def _of_annotators(data: xr.Dataset) -> xr.DataArray:
    """Return agreement with the majority of the others: of each annotator, or the mean."""
    each = data["annotator_majority"]
    return each if ANNOTATOR in data["annotator_accuracy"].dims else each.mean(skipna=True)


def _rows(
    draws: xr.DataArray, dim: str, of: str, beside: dict[str, xr.DataArray | None]
) -> pd.DataFrame:
    """Return one row for each scope and name."""
    parts = spread(draws) | effective(draws)
    parts |= {name: values for name, values in beside.items() if values is not None}
    flat = {name: _like(values, parts["mean"]) for name, values in parts.items()}
    names = draws[dim].to_numpy().tolist() if dim in draws.dims else [None]
    scopes = draws[SCOPE].to_numpy().tolist() if SCOPE in draws.dims else [SCOPES[1]]
    out = pd.DataFrame(flat).reindex(columns=[*ACCURACY_COLUMNS, _TAIL])
    out["of"], out[SCOPE] = of, np.repeat(scopes, len(names))
    out["name"] = pd.Series(names * len(scopes), dtype=object)
    for column in ("majority", "uncertainty_adjusted"):
        out[column] = out[column].astype(np.float64)
    return out


def _like(values: xr.DataArray, like: xr.DataArray) -> Any:
    """Return values in the layout of ``like``, NaN for systems without a value."""
    same = {str(dim): like[dim] for dim in values.dims}
    return (
        values.drop_attrs()
        .reindex(same)
        .broadcast_like(like)
        .transpose(*like.dims)
        .to_numpy()
        .ravel()
    )


# Components: one row for each number, pool, or pair of pools.


PAIR: Final = other(POOL)
COMPONENT_COLUMNS: Final = (
    "quantity", "by", SCALE, POOL, PAIR, "observed", "mean", "sd", "lower", "upper",
    "probability_positive", "undefined", "ess_bulk", "r_hat", DOUBT,
)  # fmt: skip
MODEL, BOOTSTRAP = "model", "bootstrap"
_ON_ONE_SCALE: Final = {"residual_share": LATENT, "mean_reliability": OBSERVED}


def component_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise ``components`` and ``pools``; see `dissensus.summary`."""
    rows: list[dict[str, Any]] = []
    of_all = of_group(evaluation, "components")
    for group, by in (("components", MODEL), ("pools", BOOTSTRAP)):
        data = evaluation[group].to_dataset() if group in evaluation.children else xr.Dataset()
        for name, draws in data.data_vars.items():
            if set(SAMPLE) <= set(draws.dims):
                for place, one in _single(draws):
                    found = _component_numbers(one, data.get(f"{POINT}{name}"), place, by)
                    found |= {DOUBT: of_all or _mark(one) if by == MODEL else of_bootstrap(one)}
                    rows.append({"quantity": str(name), "by": by} | place | found)
            elif name == "annotators_outweigh_items":
                rows += [row | {DOUBT: of_all} for row in _outweighing(draws, by)]
    out = pd.DataFrame(rows, columns=list(COMPONENT_COLUMNS))
    for column in (SCALE, POOL, PAIR):  # dtype=object keeps names that are whole numbers
        names = [row.get(column) for row in rows]
        out[column] = pd.Series(names, index=out.index, dtype=object)
    return out


def _single(draws: xr.DataArray) -> Iterator[tuple[dict[str, Any], xr.DataArray]]:
    """Yield the place and the draws of each number, each pair of pools once."""
    for scale in draws[SCALE].to_numpy().tolist() if SCALE in draws.dims else [None]:
        of_scale = draws if scale is None else draws.sel({SCALE: scale}, drop=True)
        names = draws[POOL].to_numpy().tolist() if POOL in draws.dims else [None]
        paired = PAIR in draws.dims
        for one in combinations(names, 2) if paired else ((name, None) for name in names):
            place = {POOL: one[0], PAIR: one[1]}
            found = of_scale.sel({dim: name for dim, name in place.items() if dim in draws.dims})
            compared = not str(draws.name).endswith("_difference")
            if compared or not bool(found.isnull().all()):  # all NaN: the reference itself
                place[SCALE] = scale or _ON_ONE_SCALE.get(str(draws.name))
                yield place, found.reset_coords(drop=True)


def _component_numbers(
    draws: xr.DataArray, points: xr.DataArray | None, place: dict[str, Any], by: str
) -> dict[str, Any]:
    out: dict[str, Any] = {name: float(value) for name, value in spread(draws, skipna=True).items()}
    out["undefined"] = float(draws.isnull().mean())
    if str(draws.name).endswith("_difference"):
        out["probability_positive"] = float((draws > 0).mean())
    if points is not None:
        out["observed"] = float(points.sel({str(dim): place[str(dim)] for dim in points.dims}))
    if by == MODEL:
        out |= _diagnosed(draws)
    return out


def _mark(draws: xr.DataArray) -> str:
    """Return the reason not to rely on the draws of one number, or ""."""
    from arviz_stats import ess

    found = _diagnosed(draws)
    tail = float(ess(draws, method="tail")) if found else None
    return of_numbers(found.get("ess_bulk"), tail, found.get("r_hat"))


def _diagnosed(draws: xr.DataArray) -> dict[str, float]:
    """Return effective sample size and r-hat of one number; nothing if it is constant."""
    from arviz_stats import ess, rhat

    values = draws.to_numpy()
    if not np.isfinite(values).all() or values.min() == values.max():
        return {}
    several = draws.sizes["chain"] > 1
    return {
        "ess_bulk": float(ess(draws, method="bulk")),
        "r_hat": float(rhat(draws)) if several else float("nan"),
    }


def _outweighing(chance: xr.DataArray, by: str) -> list[dict[str, Any]]:
    """Return rows of the probability that annotators outweigh items, without an interval."""
    names = chance[POOL].to_numpy().tolist() if POOL in chance.dims else [None]
    each = np.atleast_1d(chance.to_numpy()).tolist()
    return [
        {"quantity": str(chance.name), "by": by, POOL: name, "mean": value}
        for name, value in zip(names, each, strict=True)
    ]


# Ground truth: one row for each quantity.


COUNT: Final = "annotators_for_truth"
GROUND_TRUTH_COLUMNS: Final = ("quantity", "mean", "sd", "median", "lower", "upper", DOUBT)


def ground_truth_rows(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``weighted_reliability``; see `dissensus.summary`."""
    data = evaluation[GROUP].to_dataset() if GROUP in evaluation.children else xr.Dataset()
    rows: list[dict[str, Any]] = []
    for name, draws in data.data_vars.items():
        found: dict[str, Any] = whole(draws) if name == COUNT else _ground_truth_numbers(draws)
        doubt = of_ground_truth(evaluation, str(name))
        rows.append({"quantity": str(name)} | found | {DOUBT: doubt})
    return pd.DataFrame(rows, columns=list(GROUND_TRUTH_COLUMNS))


def _ground_truth_numbers(draws: xr.DataArray) -> dict[str, float]:
    found = {name: float(value) for name, value in spread(draws, skipna=True).items()}
    return found | {"median": float(draws.median(skipna=True))}


# Posterior: the table of ArviZ, without variables of items.


POSTERIOR = "posterior"
_OTHER_NAME = "label_"
"""`arviz.summary` uses the dim ``label`` for its rows, so that no variable may have it."""


def posterior_rows(fit: xr.DataTree) -> pd.DataFrame:
    """Summarise a fit by `arviz.summary`, with variables of items only if there are no others."""
    import arviz as az

    posterior = fit[POSTERIOR]
    assert isinstance(posterior, xr.DataTree)
    whole = posterior.to_dataset()
    of_items = [str(name) for name, values in whole.data_vars.items() if ITEM in values.dims]
    few = whole.drop_vars(of_items)
    left_out = of_items if few.data_vars else []
    found = few if few.data_vars else whole
    if found.chunks:
        raise ArgumentError(
            "evaluation", expected="draws in memory", found="draws in chunks, yet to be made",
            hint="Metrics of them are small: arviz.summary(dx.certainty(fit).compute()); "
            "fit.compute() draws all",
        )  # fmt: skip
    if LABEL in found.dims:
        found = found.rename({LABEL: _OTHER_NAME})
    table = az.summary(found)
    assert isinstance(table, pd.DataFrame)
    of_all = of_fit(posterior)
    exact = is_exact(posterior.attrs)
    own = [""] * len(table) if exact else each(table, table.get("ess_tail"))
    table[DOUBT] = [of_all or one for one in own]
    table.attrs["left_out"] = left_out
    return table


# All tables.


_COLUMNS = ["statistic", SYSTEM, ANNOTATOR, "observed", "mean", "sd", "lower", "upper", "undefined",
            DOUBT]  # fmt: skip


def summary(evaluation: xr.DataTree, of: str | None = None) -> pd.DataFrame:
    """Summarise a group of an evaluation, or the posterior of a fit.

    Parameters
    ----------
    evaluation : xarray.DataTree
        From `dissensus.evaluate`, or from ``fit`` of a model.
    of : {"metrics", "answers", "statistics", "components", "accuracy", ...}, optional
        The group; also "weighted_reliability" and "posterior". By default the metrics, or the
        posterior of a fit.

    Returns
    -------
    pandas.DataFrame
        One row for each number; empty if the evaluation has no such group. ``mean``, ``sd``,
        ``lower`` and ``upper`` summarise the draws; kind and probability of the interval are
        ArviZ's rcParams, named in ``attrs``. ``doubt`` is the reason not to rely on a number, or
        empty. Other columns:

        - metrics: model, metric, reliability, scope, system, probability_best (NaN for one system),
          naive (the value against the point estimate), ess_bulk, r_hat. Rows of a companion come
          last.
        - answers: quantity, system (empty for ``human_agreement``). ``attrs`` name the leading
          question and the scope.
        - statistics: statistic, system, annotator, observed, undefined (share of undefined draws,
          which are left out).
        - components: quantity, by ("model" or "bootstrap"), scale ("latent", "observed"), pool,
          ``pool_``, observed, probability_positive (of differences), undefined, ess_bulk, r_hat.
          ``icc``, ``annotator_icc`` and ``residual_share`` add up to 1 on the latent scale. A
          difference is pool less ``pool_``, or less the reference.
        - accuracy: of ("system", "annotator"), name (empty for the accuracy of all annotators),
          scope, majority (accuracy by majority vote), uncertainty_adjusted (mean top-1 accuracy at
          the reference reliability), ess_bulk, r_hat.
        - weighted_reliability: quantity, median. The interval of ``annotators_for_truth`` is
          equal-tailed; it is infinite if no number suffices, and mean and sd are NaN then.
        - posterior: those of `arviz.summary`. ``attrs["left_out"]`` names variables of items, which
          are left out unless there are no others.

    Raises
    ------
    ArgumentError
        If ``evaluation`` is no evaluation and no fit, or ``of`` is not one of the groups.

    Notes
    -----
    ``doubt`` is set if the fit failed, the effective sample size is below 100 (in the bulk or the
    tails), r-hat is above 1.05, or there are too few draws for these diagnostics.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1], "annotator": list("ab"), "label": ["x", "y"]})
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> result = dx.evaluate(ann, pred, draws=50, random_seed=1, progressbar=False)
    >>> list(dx.summary(result).columns)[:6]
    ['model', 'metric', 'reliability', 'scope', 'system', 'mean']
    """
    of = _checked_group(evaluation, of)
    if of == POSTERIOR:
        return posterior_rows(evaluation)
    if of != "metrics":
        return _noted(_ROWS[of](evaluation))
    out = of_model(evaluation)
    if "companion" in evaluation.children:
        beside = of_model(evaluation.children["companion"])
        out = pd.concat([out, beside], ignore_index=True)  # keeps attributes that are alike
    return out


def _checked_group(evaluation: xr.DataTree, of: str | None) -> str:
    """Return the group to summarise; a fit has only its posterior."""
    groups = set(evaluation.children) if isinstance(evaluation, xr.DataTree) else set()
    is_evaluation, has_posterior = "statistics" in groups, POSTERIOR in groups
    if of is None:
        of = "metrics" if is_evaluation or not has_posterior else POSTERIOR
    if of not in _OF:
        raise ArgumentError("of", expected=f"one of {_OF}", found=repr(of))
    if not (has_posterior if of == POSTERIOR else is_evaluation):
        raise ArgumentError(
            "evaluation",
            expected="a fit, or an evaluation by a model"
            if of == POSTERIOR
            else "a DataTree from dissensus.evaluate, or from a model's fit",
            found=f"{type(evaluation).__name__} without a group "
            f"{POSTERIOR if of == POSTERIOR else 'statistics'!r}",
            hint="Draws: dissensus.describe(draws), or arviz.summary(draws)",
        )
    return of


def of_model(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the metrics of one model, that of an evaluation or of its companion."""
    key = [RELIABILITY, SCOPE, SYSTEM]
    rows = []
    draws = evaluation["metrics"].to_dataset() if "metrics" in evaluation.children else xr.Dataset()
    for name, values in ((str(name), values) for name, values in draws.data_vars.items()):
        parts = spread(values) | {
            "probability_best": _best(evaluation, name, values),
            "naive": evaluation["statistics"][f"naive_{name}"],
            "ess_bulk": evaluation["diagnostics"][name].sel(diagnostic="ess_bulk", drop=True),
            "r_hat": evaluation["diagnostics"][name].sel(diagnostic="r_hat", drop=True),
        }
        table = xr.Dataset({part: value.drop_attrs() for part, value in parts.items()})
        frame = table.to_dataframe(dim_order=key).reset_index()
        frame = frame.assign(metric=name, model=str(evaluation.attrs.get("model", "")))
        frame[DOUBT] = _doubts(evaluation, name, frame)
        rows.append(frame[["model", "metric", *key, *parts, DOUBT]])
    return _noted(pd.concat(rows, ignore_index=True) if rows else pd.DataFrame())


def _doubts(evaluation: xr.DataTree, name: str, frame: pd.DataFrame) -> list[str]:
    """Return the reason of each row: that of the model at its reliability, or its own."""
    known = evaluation["diagnostics"][name]
    tail = None
    if "ess_tail" in known["diagnostic"]:
        of_tail = known.sel(diagnostic="ess_tail", drop=True)
        tail = of_tail.transpose(RELIABILITY, SCOPE, SYSTEM).to_numpy()
    of_all = {at: of_metrics(evaluation, at) for at in frame[RELIABILITY].unique()}
    own = [""] * len(frame) if is_exact(evaluation.attrs) else each(frame, tail)
    return [of_all[at] or one for at, one in zip(frame[RELIABILITY], own, strict=True)]


def _noted(frame: pd.DataFrame) -> pd.DataFrame:
    """Name the kind and the probability of the intervals."""
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
    return pd.concat([row for row in rows if len(row)] or rows, ignore_index=True)


def _of_answers(evaluation: xr.DataTree) -> pd.DataFrame:
    """Summarise the group ``answers``."""
    columns = ["quantity", SYSTEM, "mean", "sd", "lower", "upper", DOUBT]
    data = evaluation[ANSWERS].to_dataset() if ANSWERS in evaluation.children else xr.Dataset()
    rows = [pd.DataFrame(columns=columns)]
    for name, values in data.data_vars.items():
        parts = {part: value.drop_attrs() for part, value in spread(values).items()}
        frame = xr.Dataset(parts).expand_dims("row").to_dataframe().reset_index()
        frame = frame.assign(quantity=str(name), doubt=of_answer(evaluation, str(name)))
        rows.append(frame.reindex(columns=columns))
    out = pd.concat([row for row in rows if len(row)] or rows, ignore_index=True)
    out.attrs.update({key: data.attrs[key] for key in ("question", "scope") if key in data.attrs})
    return out


def _rows_of(name: str, values: xr.DataArray, point: xr.DataArray) -> pd.DataFrame:
    """Summarise one statistic; ``point`` may have annotators without draws."""
    parts = spread(values, skipna=True)
    parts["undefined"] = values.isnull().mean(SAMPLE)
    parts["observed"] = point.sel({dim: values[dim] for dim in point.dims})
    flat = {part: value.drop_attrs() for part, value in parts.items()}
    frame = xr.Dataset(flat).expand_dims("row").to_dataframe().reset_index()
    frame = frame.assign(statistic=name, doubt=of_bootstrap(values)).reindex(columns=_COLUMNS)
    for column in (SYSTEM, ANNOTATOR):  # keeps whole numbers
        frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame


def _best(evaluation: xr.DataTree, name: str, values: xr.DataArray) -> xr.DataArray:
    comparison = evaluation["comparison"].to_dataset()
    if "probability_best" not in comparison:
        return xr.full_like(values.isel(chain=0, draw=0, drop=True), float("nan"))
    return comparison["probability_best"].sel(metric=name, drop=True)


_ROWS: Final[dict[str, Callable[[xr.DataTree], pd.DataFrame]]] = {
    ANSWERS: _of_answers, "statistics": _of_statistics, "components": component_rows,
    "accuracy": accuracy_rows, GROUP: ground_truth_rows,
}  # fmt: skip
_OF: Final = ("metrics", *_ROWS, POSTERIOR)
