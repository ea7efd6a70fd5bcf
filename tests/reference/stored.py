"""Reference posteriors as they are stored, and a fit of the library to the same data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import xarray as xr

import dissensus as dx

FOLDER = Path(__file__).parent / "posteriors"
PLACE = ("variable", "at")
"""What an entry holds besides its statistics."""


@dataclass(frozen=True)
class Stored:
    """One file."""

    name: str
    content: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.content[name]
        except KeyError:
            raise AttributeError(name) from None

    def annotations(self) -> xr.Dataset:
        data = self.content["data"]
        if "rankings" in data:
            return dx.from_rankings(data["rankings"], **data["options"])
        if "pairs" in data:
            return _pairs(data["pairs"])
        return dx.annotations(data["columns"], **data["options"])

    def fit(self, **run: Any) -> xr.Dataset:
        """Return the posterior that the library draws from; arguments overrule the stored ones."""
        settings = {"progressbar": False, "random_seed": 1, **self.content["hyper"], **run}
        data = self.content["data"]
        if "predictions" in data:
            settings["predictions"] = dx.predictions(data["predictions"], kind="nominal")
        if "verdicts" in data:
            settings["predictions"] = _pairs(data["verdicts"])
        if "truth" in data:
            settings["truth"] = data["truth"]
        module = dx.models.get(self.content["model"]).module
        return module.fit(self.annotations(), **settings)["posterior"].to_dataset()


def _pairs(table: dict[str, list[str]]) -> xr.Dataset:
    return dx.pairs(table, item="item" if "item" in table else None)


@lru_cache
def references() -> dict[str, Stored]:
    """Read all files, by their names without the ending."""
    paths = sorted(FOLDER.glob("*.json"))
    return {
        path.stem: Stored(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in paths
    }


def statistics(entry: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return value and Monte Carlo standard error of each statistic of a quantity."""
    return {name: tuple(pair) for name, pair in entry.items() if name not in PLACE}


def draws(posterior: xr.Dataset, entry: dict[str, Any]) -> Any:
    """Return the draws (chain, draw) of a quantity."""
    result, at = posterior[entry["variable"]], dict(entry["at"])
    if "candidate" in at:
        result, label = result.sel(item=at.pop("item")), at.pop("candidate")
        names = result["candidate_label"].to_numpy().tolist()
        # What nobody named stands last, without a name of its own.
        result = result.isel(candidate=names.index(label) if label is not None else _rest(result))
    return result.sel(at).transpose("chain", "draw").to_numpy()


def _rest(result: xr.DataArray) -> int:
    """Return the place of what stands for all labels that nobody named."""
    named = result["candidate_label"].to_numpy()
    size = result["candidate_size"].to_numpy()
    return int(next(k for k in reversed(range(len(named))) if size[k] and named[k] == ""))
