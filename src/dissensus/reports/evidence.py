"""The numbers of an evaluation that reports and the command line show."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.plausibility import plausibility_of
from dissensus.dims import RELIABILITY, SAMPLE, SCOPE, SYSTEM
from dissensus.evaluation.evidence import of_model
from dissensus.evaluation.same_annotators import NEW_ANNOTATORS
from dissensus.plots._source import interval_settings
from dissensus.sampling.intervals import spread
from dissensus.wording import digits_for, interval_name, listed, number, percent

METRIC = "metric"
LIMIT = 0.9
"""The certainty below which the leading label is uncertain."""
CERTAINTY_STEPS = (0.99, LIMIT, 0.75, 0.5)
Facts = dict[str, Any]
"""Numbers of a topic of `sentences`; empty if nothing is known."""
Topics = list[tuple[str, Facts]]
"""Topics of `sentences` with their facts."""


def level() -> str:
    """Return the probability of the intervals as text."""
    return percent(interval_settings()[1])


def interval_title() -> str:
    """Return the name of the intervals."""
    kind, prob = interval_settings()
    return interval_name(prob, kind)


def named(side: xr.DataTree) -> str:
    """Return the name of a model with its reference reliability."""
    if side.attrs.get("kind") == "set":  # its fits have no range of reliabilities
        return str(side.attrs["model"])
    return f"{side.attrs['model']} at {number(side.attrs['reference_reliability'])}"


def digits(values: Any) -> int:
    """Return the decimals that the narrowest interval of a Dataset or of table rows needs."""
    return digits_for(np.asarray(values["upper"] - values["lower"]).ravel().tolist())


def notes(evaluation: xr.DataTree, *groups: str) -> list[str]:
    """Return the notes of groups, each note once."""
    texts = [str(evaluation[name].attrs.get("notes", "")) for name in groups
             if name in evaluation.children]  # fmt: skip
    return list(dict.fromkeys(line for text in texts for line in text.splitlines() if line))


def has(evaluation: xr.DataTree, group: str) -> bool:
    """Return whether an evaluation has a group with variables."""
    return group in evaluation.children and bool(evaluation[group].data_vars)


def group(evaluation: xr.DataTree, name: str) -> xr.Dataset:
    """Return a group of an evaluation, or an empty Dataset."""
    return evaluation[name].to_dataset() if name in evaluation.children else xr.Dataset()


def draws_or_mean(evaluation: xr.DataTree, group: str = "posterior") -> xr.DataArray:
    """Return the plausibilities of a group; their means if draws were not kept."""
    data = evaluation[group].to_dataset()
    return plausibility_of(data.get("plausibility_mean", data))


def mean_plausibility(evaluation: xr.DataTree, group: str = "posterior") -> xr.DataArray:
    """Return the means of the plausibilities of a group."""
    return mean_of_draws(draws_or_mean(evaluation, group))


def mean_of_draws(theta: xr.DataArray) -> xr.DataArray:
    """Average over draws, if there are draws."""
    return theta.mean([dim for dim in SAMPLE if dim in theta.dims], keep_attrs=True)


def reliabilities(evaluation: xr.DataTree) -> list[float]:
    """Return the reliabilities; a single one if the model has no such setting."""
    for name in ("certainty", "metrics"):
        if has(evaluation, name):
            return [float(value) for value in evaluation[name][RELIABILITY].to_numpy()]
    return [float(evaluation.attrs["reference_reliability"])]


def is_of_numbers(evaluation: xr.DataTree) -> bool:
    """Return whether items have no leading label: numbers without a threshold, or sets."""
    return not has(evaluation, "certainty")


def allows_for_others(evaluation: xr.DataTree, name: str) -> bool:
    """Return whether intervals of a group, "metrics" or "agreement", allow for other annotators."""
    return bool(group(evaluation, name).attrs.get(NEW_ANNOTATORS))


_WIDENED: Final = {
    "top_1_accuracy": "the agreement with the panel", "top_2_accuracy": "the accuracy of lists",
    "sensitivity": "sensitivity", "specificity": "specificity", "f1": "F1",
    "log_score": "scores of probabilities", "mean_squared_error": "systems' errors",
    "correlation": "systems' correlations with the panel",
}  # fmt: skip


def widened(evaluation: xr.DataTree) -> str:
    """Name the metrics whose intervals allow for other annotators; "" if there are none."""
    if not allows_for_others(evaluation, "metrics"):
        return ""
    draws = group(evaluation, "metrics")
    names = [title for name, title in _WIDENED.items() if name in draws]
    if "top_1_accuracy" in group(evaluation, "categories"):
        names.append("accuracies in categories")
    return listed(names)


def means_of_items(evaluation: xr.DataTree) -> xr.Dataset:
    """Return ``mean``, ``lower`` and ``upper`` (item) of the panel's mean score.

    If draws were not kept, the interval is that of a normal distribution.
    """
    data = evaluation["posterior"].to_dataset().drop_attrs(deep=False)
    if "mean" in data:
        return xr.Dataset(spread(data["mean"]))
    mean, level = data["mean_mean"], interval_settings()[1]
    half = data["mean_sd"] * NormalDist().inv_cdf((1 + level) / 2)
    return xr.Dataset({"mean": mean, "lower": mean - half, "upper": mean + half})


def knows_reliability(evaluation: xr.DataTree) -> bool:
    """Return whether the model has a reliability."""
    attrs = evaluation["posterior"].attrs
    return "hyper_reliability" in attrs or len(reliabilities(evaluation)) > 1


def numbers(evaluation: xr.DataTree) -> xr.Dataset:
    """Return the summary of one model of an evaluation over (metric, reliability, scope, system).

    ``truth`` is the known value, or NaN; the coordinate ``better`` of a metric is "higher" or
    "lower".
    """
    frame = of_model(evaluation)
    draws = evaluation["metrics"].to_dataset()
    names = [str(name) for name in draws.data_vars]
    dims = (METRIC, RELIABILITY, SCOPE, SYSTEM)
    coords = {METRIC: names} | {dim: draws[dim].to_numpy() for dim in dims[1:]}
    shape = [len(values) for values in coords.values()]
    # Rows have the order of the draws; an index would sort them.
    out = xr.Dataset(
        {
            name: (dims, frame[name].to_numpy().reshape(shape))
            for name in frame.columns
            if name not in {*dims, "model"}
        },
        coords=coords,
        attrs=frame.attrs,
    )
    better = [draws[name].attrs.get("better", "higher") for name in names]
    truth = [_truth(evaluation, name, out["mean"].sel({METRIC: name}, drop=True)) for name in names]
    out["truth"] = xr.concat(truth, dim=xr.IndexVariable(METRIC, names))
    return out.assign_coords(better=(METRIC, better))


def _truth(evaluation: xr.DataTree, name: str, like: xr.DataArray) -> xr.DataArray:
    """Return the known values of a metric, with the dims of its means; NaN if unknown."""
    unknown = xr.full_like(like, np.nan)
    if not has(evaluation, "truth") or name not in evaluation["truth"]:
        return unknown
    known = evaluation["truth"].to_dataset()[name]
    if SYSTEM not in known.coords or not set(known.dims) <= {SCOPE, SYSTEM}:
        return unknown
    known = known.drop_vars([c for c in known.coords if c not in known.dims])
    return known.reindex({dim: like[dim] for dim in known.dims}).broadcast_like(like)


def ordered(values: xr.Dataset) -> xr.Dataset:
    """Order systems by mean, best first; ``values`` have one metric, reliability and scope."""
    mean = values["mean"].to_numpy()
    sign = 1 if str(values["better"].item()) == "lower" else -1
    order = np.argsort(np.where(np.isnan(mean), np.inf, sign * mean), kind="stable")
    return values.isel({SYSTEM: order})


def leaders(values: xr.Dataset) -> list[tuple[Any, ...]]:
    """Return the leading systems at each reliability; ``values`` have one metric and scope."""
    sign = -1 if str(values["better"].item()) == "lower" else 1
    mean = sign * values["mean"].transpose(RELIABILITY, SYSTEM).to_numpy()
    systems = values[SYSTEM].to_numpy().tolist()
    leading = []
    for row in mean:
        best = np.nanmax(row) if np.isfinite(row).any() else np.nan
        is_level = np.isclose(row, best, rtol=0, atol=1e-9, equal_nan=True)
        leading.append(
            tuple(name for name, is_best in zip(systems, is_level, strict=True) if is_best)
        )
    return leading


def same_order(values: xr.Dataset) -> bool:
    """Return whether the order of the systems is the same at every reliability."""
    mean = values["mean"].transpose(RELIABILITY, SYSTEM).to_numpy()
    signs = np.sign(np.round(mean[:, :, None] - mean[:, None, :], 9))
    return bool((signs == signs[:1]).all())


def certainty_shares(evaluation: xr.DataTree) -> xr.DataArray:
    """Return the share of items below each step of certainty: (top, reliability, below)."""
    data = evaluation["certainty"].to_dataset()
    names = [str(name) for name in data.data_vars if not str(name).endswith(("_mcse", "_bias"))]
    tops = [int(name.rpartition("_")[2]) if name[-1].isdigit() else 1 for name in names]
    below = list(CERTAINTY_STEPS)
    steps = xr.DataArray(below, dims="below", coords={"below": below})
    each = [(data[name] < steps).mean("item") for name in names]
    return xr.concat(each, dim=xr.IndexVariable("top", tops)).transpose("top", RELIABILITY, "below")


def mean_certainty(evaluation: xr.DataTree) -> xr.DataArray:
    """Return mean annotation certainty over (top, reliability)."""
    data = evaluation["certainty"].to_dataset()
    tops = [int(top) for top in certainty_shares(evaluation)["top"].to_numpy()]
    names = ["annotation_certainty" + (f"_{top}" if top > 1 else "") for top in tops]
    return xr.concat([data[name].mean("item") for name in names], dim=xr.IndexVariable("top", tops))
