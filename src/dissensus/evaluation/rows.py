"""What an evaluation says as rows of tables: accuracy, reliability, ground truth, posterior."""

from __future__ import annotations

from collections.abc import Iterator
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
from dissensus.evaluation.components import LATENT, OBSERVED, POINT
from dissensus.evaluation.doubts import (
    DOUBT,
    each,
    is_exact,
    of_bootstrap,
    of_fit,
    of_ground_truth,
    of_group,
    of_numbers,
)
from dissensus.evaluation.ground_truth import GROUP
from dissensus.sampling.intervals import effective, spread, whole

# What an evaluation says of accuracy as rows: one for each system and scope, and annotator.


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
    # Names stay what they are: a column that is put together makes 10.0 of 10.
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
    """Return agreement with the majority of the others, of each annotator, or of all on average."""
    each = data["annotator_majority"]
    return each if ANNOTATOR in data["annotator_accuracy"].dims else each.mean(skipna=True)


def _rows(
    draws: xr.DataArray, dim: str, of: str, beside: dict[str, xr.DataArray | None]
) -> pd.DataFrame:
    """Lay out one row for each scope and name."""
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
    """Lay values out as others are; those of systems that were not judged are left out."""
    same = {str(dim): like[dim] for dim in values.dims}
    return (
        values.drop_attrs()
        .reindex(same)
        .broadcast_like(like)
        .transpose(*like.dims)
        .to_numpy()
        .ravel()
    )


# What an evaluation says of reliability as rows: one for each number, pool, or pair of pools.


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
                    found |= {DOUBT: of_all or _doubt(one) if by == MODEL else of_bootstrap(one)}
                    rows.append({"quantity": str(name), "by": by} | place | found)
            elif name == "annotators_outweigh_items":
                rows += [row | {DOUBT: of_all} for row in _outweighing(draws, by)]
    out = pd.DataFrame(rows, columns=list(COMPONENT_COLUMNS))
    for column in (SCALE, POOL, PAIR):  # names stay what they are: a table of its own accord
        each = [row.get(column) for row in rows]  # makes 10.0 of 10 where other rows have none
        out[column] = pd.Series(each, index=out.index, dtype=object)
    return out


def _single(draws: xr.DataArray) -> Iterator[tuple[dict[str, Any], xr.DataArray]]:
    """Go through the numbers that say something, and once each."""
    for scale in draws[SCALE].to_numpy().tolist() if SCALE in draws.dims else [None]:
        of_scale = draws if scale is None else draws.sel({SCALE: scale}, drop=True)
        names = draws[POOL].to_numpy().tolist() if POOL in draws.dims else [None]
        paired = PAIR in draws.dims
        for one in combinations(names, 2) if paired else ((name, None) for name in names):
            place = {POOL: one[0], PAIR: one[1]}
            found = of_scale.sel({dim: name for dim, name in place.items() if dim in draws.dims})
            compared = not str(draws.name).endswith("_difference")
            if compared or not bool(found.isnull().all()):  # of the reference with itself: nothing
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


def _doubt(draws: xr.DataArray) -> str:
    """Say what is wrong with the draws of one number."""
    from arviz_stats import ess

    found = _diagnosed(draws)
    tail = float(ess(draws, method="tail")) if found else None
    return of_numbers(found.get("ess_bulk"), tail, found.get("r_hat"))


def _diagnosed(draws: xr.DataArray) -> dict[str, float]:
    """Return effective sample size and r-hat of one number, NaN where it is the same throughout."""
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
    """Return the probability that annotators outweigh items: a row without an interval."""
    names = chance[POOL].to_numpy().tolist() if POOL in chance.dims else [None]
    each = np.atleast_1d(chance.to_numpy()).tolist()
    return [
        {"quantity": str(chance.name), "by": by, POOL: name, "mean": value}
        for name, value in zip(names, each, strict=True)
    ]


# What an evaluation says of its ground truth as rows: one for each quantity.


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


# The posterior of a fit as ArviZ's table, without what there is one of for each item.


POSTERIOR = "posterior"
_OTHER_NAME = "label_"
"""ArviZ gives the dim ``label`` to the rows of its table, and no variable may have it."""


def posterior_rows(fit: xr.DataTree) -> pd.DataFrame:
    """Summarise the parameters of a fit by `arviz.summary`; those of items only if none is left."""
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
