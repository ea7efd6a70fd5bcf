"""What an evaluation says of reliability as rows: one for each number, pool, or pair of pools."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus._component_groups import LATENT, OBSERVED
from dissensus._doubts import DOUBT, of_bootstrap, of_group, of_numbers
from dissensus._pool_agreement import POINT
from dissensus.dims import POOL, SAMPLE, SCALE, other
from dissensus.sampling.intervals import spread

PAIR: Final = other(POOL)
COLUMNS: Final = (
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
                    found = _numbers(one, data.get(f"{POINT}{name}"), place, by)
                    found |= {DOUBT: of_all or _doubt(one) if by == MODEL else of_bootstrap(one)}
                    rows.append({"quantity": str(name), "by": by} | place | found)
            elif name == "annotators_outweigh_items":
                rows += [row | {DOUBT: of_all} for row in _outweighing(draws, by)]
    out = pd.DataFrame(rows, columns=list(COLUMNS))
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


def _numbers(
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
