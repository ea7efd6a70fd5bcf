"""What a check of confidence found, in sentences."""

from __future__ import annotations

import numpy as np
import xarray as xr

from dissensus._wording import share
from dissensus.dims import LEVEL, SAMPLE


def sentences(found: xr.Dataset) -> list[str]:
    """Say how sure annotators were of wrong labels, and what being sure tells.

    Intervals are central ones of 90 %.
    """
    top, low = found.isel({LEVEL: -1}), found.isel({LEVEL: 0})
    wrong = found["wrong_share"].mean(list(SAMPLE)).to_numpy()
    out = ["No label is wrong."]
    if np.isfinite(wrong).all():
        out = [
            f"{_percent(wrong[-1])} of wrong labels were given with the highest confidence "
            f"({_level(found, -1)})" + (
                f", {_percent(wrong[-2:].sum())} with the two highest." if len(wrong) > 2 else "."
            )
        ]  # fmt: skip
    out.append(
        f"A label given with the highest confidence is wrong with probability "
        f"{_with_interval(top['error_rate'])}, one with the lowest ({_level(found, 0)}) with "
        f"{_with_interval(low['error_rate'])}."
    )
    told = found["discrimination"]
    if bool(told.notnull().any()):
        out.append(
            "Of a right and a wrong label, the right one was given with more confidence with "
            f"probability {_with_interval(told)}, ties in halves; by chance .50."
        )
    return [*out, "Intervals: 90 %."]


def _level(found: xr.Dataset, place: int) -> str:
    low, high = (float(found.attrs[name][place]) for name in ("lowest", "highest"))
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _with_interval(draws: xr.DataArray) -> str:
    low, high = draws.quantile([0.05, 0.95], skipna=True).to_numpy()
    return f"{share(float(draws.mean()))} [{share(low)}, {share(high)}]"
