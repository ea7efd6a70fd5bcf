"""What follows from mistakes that annotators share, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from dissensus._spread import spread
from dissensus._wording import counted, listed, percent, share, short
from dissensus.dims import ANNOTATOR, LABEL, SAMPLE, SHARE, SYSTEM

POOR: Final = 0.05
"""From this part of the draws on, what is assumed does not go well with the labels."""
_HARDLY: Final = 0.5
"""From this part on, it does not go with them."""
_SYSTEMS: Final = 6
"""Systems to write of; the others are in the numbers."""


@dataclass(frozen=True)
class Told:
    """What systems' accuracies would be otherwise."""

    repeated: npt.NDArray[np.float64]
    all: xr.DataArray
    """If they make all the mistakes (chain, draw[, share], system)."""
    none: xr.DataArray
    none_impossible: npt.NDArray[np.float64]
    """(share, system)"""
    shares: npt.NDArray[np.float64]
    """(share), or their mean if they were drawn."""


def sentences(
    found: xr.Dataset, posterior: xr.Dataset, words: list[str], told: Told | None
) -> list[str]:
    """Say how accurate annotators and systems are.

    Parameters
    ----------
    found : Dataset
        From `dissensus.shared_mistakes`.
    posterior : Dataset
        Of the fit, which knows of no shared mistakes.
    words : list of str
        On how many items annotators are wrong together, for each share.
    told : Told, optional
        If there are systems.
    """
    where = [place for place, text in enumerate(words) if text]
    if not where:
        return ["Without mistakes that annotators share, accuracies are those of the fit."]
    each = found["annotator_accuracy"]
    over = [ANNOTATOR] if ANNOTATOR in each.dims else []
    then = _values(each.mean(over), where)
    before = _values(posterior["annotator_accuracy"].mean(over), [0])
    average = " on average" if over else ""
    out = [
        f"If annotators are wrong together {_joined([words[k] for k in where])}, they are right on "
        f"{_joined(then)} of items like these{average}, not on {before[0]} ({_brackets()})."
    ]
    if told is not None:
        names = found[SYSTEM].to_numpy()
        out += [_of_system(k, where, found, posterior, told) for k in range(len(names))][:_SYSTEMS]
        if len(names) > _SYSTEMS:
            out.append(f"{counted(len(names) - _SYSTEMS, 'more system')} in the numbers.")
    return [*out, "Labels alone cannot tell which of these holds."]


def _brackets() -> str:
    from arviz_base import rcParams

    return f"in brackets: {percent(rcParams['stats.ci_prob'])} intervals"


def _of_system(
    k: int, where: list[int], found: xr.Dataset, posterior: xr.Dataset, told: Told
) -> str:
    """Say how accurate a system then is, and how accurate if it makes other mistakes."""
    at = {SYSTEM: k}
    given = float(told.repeated[k])
    bad = np.atleast_2d(found["impossible"].to_numpy())[:, k]
    cases = [(given, _values(found["system_accuracy"].isel(at), where, bad))]
    if given != 1:
        cases.append((1.0, _values(told.all.isel(at), where)))
    if given != 0:
        cases.append((0.0, _values(told.none.isel(at), where, told.none_impossible[:, k])))
    seen = posterior["system_accuracy"].isel(at)
    often = float(seen.mean()) > 1 / posterior.sizes[LABEL]
    why = f"it agrees with annotators too {'often' if often else 'rarely'} for that"
    parts = [percent(value) for value in told.shares[where]]
    name, before = short(found[SYSTEM].to_numpy()[k]), _values(seen, [0])[0]
    said = [_case(repeated, values, parts, why) for repeated, values in cases]
    return f"{name!r} is right on {before} if there are no such mistakes; {'; '.join(said)}."


def _case(repeated: float, values: list[str], shares: list[str], why: str) -> str:
    """Say how accurate a system is that repeats so many of the mistakes."""
    known = [value for value in values if value]
    if not known:
        return f"that it makes {_many(repeated)} is impossible: {why}"
    text = f"if it makes {_many(repeated)}, on {listed(known, 'or')}"
    if cannot := [part for part, value in zip(shares, values, strict=True) if not value]:
        text += f" ({listed(cannot, 'or')} of the items is impossible: {why})"
    return text


def _many(repeated: float) -> str:
    if repeated in {0.0, 1.0}:
        return "all of them with the annotators" if repeated else "none of them"
    return f"{percent(repeated)} of them with the annotators"


def _values(
    draws: xr.DataArray, where: list[int], bad: npt.NDArray[np.float64] | None = None
) -> list[str]:
    """Write mean and interval at each share, and nothing where it cannot be."""
    if SHARE not in draws.dims:
        draws = draws.expand_dims(SHARE)
    parts = spread(draws.transpose(*SAMPLE, SHARE))
    mean, low, high = (parts[name].to_numpy() for name in ("mean", "lower", "upper"))
    return [
        "" if bad is not None and bad[k] > _HARDLY
        else f"{share(mean[k])} [{share(low[k])}, {share(high[k])}]"
        for k in where
    ]  # fmt: skip


def _joined(parts: list[str]) -> str:
    """Join what are alternatives."""
    if all(part.endswith(" of the items") for part in parts):
        parts = [part.removesuffix(" of the items").removeprefix("on ") for part in parts]
        return f"on {listed(parts, 'or')} of the items"
    return listed(parts, "or")
