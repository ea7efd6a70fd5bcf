"""The figures of a report; captions and descriptions are in ``captions.html``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from dissensus import plots
from dissensus.dims import CHAIN, ITEM, LABEL, RELIABILITY, SCOPE, SYSTEM
from dissensus.plots._source import NEW, THESE, sides
from dissensus.plots._style import BROKEN, SMALL, ink, target_line
from dissensus.reports import average_annotator, evidence
from dissensus.reports.evidence import LIMIT, Facts
from dissensus.reports.opening import ACCURACY
from dissensus.reports.svg import NARROW, Shown, picture
from dissensus.reports.verdict import TRUE_LABEL, Lead
from dissensus.sampling.intervals import spread
from dissensus.wording import capital, metric_title, number, share, short

_IN_WORDS = 8


def lead(evaluation: xr.DataTree, values: xr.Dataset | None, leading: Lead | None) -> Shown | None:
    """Draw the leading metric; without systems, the certainty of the items (None for numbers)."""
    if values is None or leading is None:
        return None if evidence.is_of_numbers(evaluation) else _certainty(evaluation)
    source: xr.DataTree | xr.DataArray = evaluation
    how: dict[str, Any] = {"metrics": leading.name}
    facts: Facts
    if leading.name == ACCURACY:
        source, how = _accuracies(evaluation)
        facts = {
            "metric": "accuracy", "means": _listed(leading.numbers.sel({SCOPE: THESE})), "at": "",
            "interval": evidence.interval_title(), "has_truth": False, "title": TRUE_LABEL,
            "crosses": "agreement with the majority label",
        }  # fmt: skip
    else:
        facts = _facts(evaluation, values, leading.name)
        facts["title"] = capital(facts["metric"])
    written, marked = "", partial(plots.forest, source, limit=12, backend="matplotlib", **how)
    if leading.annotator is not None:
        mean, *ends = average_annotator.row(leading.annotator, leading.digits)
        written = f"{mean} ({next(filter(None, ends))})"
        marked = partial(_with_annotator, marked, leading.annotator)
    facts |= {"annotator": written, "defines": True}
    return picture("forest", facts, marked, name="verdict")


def _accuracies(evaluation: xr.DataTree) -> tuple[xr.DataArray, dict[str, Any]]:
    """Return draws of the systems' accuracies for a forest plot, and settings of the plot."""
    data = evaluation["accuracy"].to_dataset()
    draws = data["estimated_accuracy"].dropna(SYSTEM, how="all").rename("accuracy")
    return draws, {"naive": data["majority_accuracy"]}


def _with_annotator(forest: Callable[..., Any], draws: xr.DataArray, **size: Any) -> Any:
    """Draw a forest plot, with a line and a band for the average annotator."""
    made = forest(**size)
    draws = draws.sel({SCOPE: THESE}) if SCOPE in draws.dims else draws
    parts = {name: float(value) for name, value in spread(draws).items()}
    ax = made.viz["figure"].item().axes[1]
    look = {"color": ink(), "zorder": 0}
    ax.axvspan(parts["lower"], parts["upper"], alpha=0.1, linewidth=0, **look)
    ax.axvline(parts["mean"], linewidth=0.9, linestyle=BROKEN, **look)
    ax.annotate("an annotator", (parts["mean"], 1.0), xycoords=("data", "axes fraction"),
                xytext=(0, 2), textcoords="offset points", ha="center", fontsize=SMALL)  # fmt: skip
    return made


def of_items(evaluation: xr.DataTree) -> list[Shown]:
    """Draw the certainty of items, their plausibilities and risks, and the least certain item."""
    if evidence.is_of_numbers(evaluation):
        return []
    out = [_certainty(evaluation)] if evidence.has(evaluation, "metrics") else []
    theta = evidence.draws_or_mean(evaluation)
    has_draws = CHAIN in theta.dims  # with chunks, draws are not kept
    if has_draws and theta.sizes.get(LABEL) == 3:
        out.append(picture(
            "simplex", {"n_items": evaluation["posterior"].sizes[ITEM]},
            lambda **size: plots.simplex(evaluation, **size),
        ))  # fmt: skip
    if evidence.has(evaluation, "expected_risk"):
        risks = next(iter(evaluation["expected_risk"].to_dataset().data_vars.values()))
        out.append(picture(
            "risk", {"mean": round(float(risks.mean()), 2)},
            lambda **size: plots.expected_risk(evaluation, **size),
        ))  # fmt: skip
    return [*out, _item(evaluation)] if has_draws else out


def of_systems(evaluation: xr.DataTree, values: xr.Dataset) -> list[Shown]:
    """Draw the systems on all metrics, along reliability, and against each other."""
    return list(_of_systems(evaluation, values))


def _of_systems(evaluation: xr.DataTree, values: xr.Dataset) -> Iterator[Shown]:
    names = [str(name) for name in values["metric"].to_numpy()]
    first, facts = names[0], _facts(evaluation, values, names[0])
    if len(names) > 1 and len(names) * values.sizes[SYSTEM] <= 40:
        yield picture(
            "forest",
            facts | {"title": "Metrics of the systems", "annotator": "", "defines": False},
            lambda figsize: plots.forest(
                evaluation, names if figsize[0] > NARROW else names[:1],
                backend="matplotlib", figsize=figsize,
            ),
        )  # fmt: skip
    if values.sizes[RELIABILITY] > 1:
        for name in dict.fromkeys([names[0], names[-1]]):
            yield _reliability(evaluation, values, name)
    yield picture(
        "distribution", facts,
        lambda **size: plots.distribution(
            evaluation, first, backend="matplotlib", stats={"dist": {"grid_len": 128}}, **size
        ),
    )  # fmt: skip
    if evidence.has(evaluation, "calibration"):
        curve = evaluation["calibration"].to_dataset()
        yield picture(
            "calibration", {"interval": evidence.interval_title(), "n": curve.sizes[SYSTEM]},
            lambda **size: plots.calibration(curve, **size),
        )  # fmt: skip
    if values.sizes[SYSTEM] > 1:
        best = evaluation["comparison"].to_dataset()["probability_best"]
        best = best.sel({"metric": first, SCOPE: NEW, RELIABILITY: _reference(evaluation)})
        leader = best.isel({SYSTEM: int(best.to_numpy().argmax())})
        most = 2.8 + 0.6 * min(12, values.sizes[SYSTEM])
        yield picture(
            "better", facts | {"best": leader[SYSTEM].item(), "probability": float(leader)},
            lambda figsize: plots.better(evaluation, first, figsize=(min(figsize[0], most), None)),
        )  # fmt: skip


def _reference(evaluation: xr.DataTree) -> float:
    return float(evaluation.attrs["reference_reliability"])


def _facts(evaluation: xr.DataTree, values: xr.Dataset, metric: str) -> Facts:
    """Return the facts that captions need on a metric at the reference reliability."""
    at = _reference(evaluation)
    return {
        "metric": metric_title(metric), "means": _means(values, metric, at),
        "at": number(at) if evidence.knows_reliability(evaluation) else "",
        "interval": evidence.interval_title(), "has_truth": bool(values["truth"].notnull().any()),
        "crosses": f"values against {evaluation.attrs['point_estimate']}, which ignore disagreement"
        if evidence.is_of_numbers(evaluation)
        else "scores against a point estimate of the labels, which ignore disagreement",
    }  # fmt: skip


def _means(values: xr.Dataset, metric: str, reliability: float) -> str:
    """List the systems' means, best first."""
    here = values.sel({"metric": metric, RELIABILITY: reliability, SCOPE: THESE})
    return _listed(here, evidence.digits(values.sel(metric=metric)))


def _listed(here: xr.Dataset, digits: int | None = None) -> str:
    """List the systems' means, best first; ``here`` is of one metric, reliability and scope."""
    d = evidence.digits(here) if digits is None else digits
    ranked = evidence.ordered(here)
    pairs = zip(ranked[SYSTEM].to_numpy(), ranked["mean"].to_numpy(), strict=True)
    texts = [f"{short(name)} {share(float(mean), d)}" for name, mean in pairs]
    more = f" and {len(texts) - _IN_WORDS} more" if len(texts) > _IN_WORDS else ""
    return ", ".join(texts[:_IN_WORDS]) + more


def _reliability(evaluation: xr.DataTree, values: xr.Dataset, metric: str) -> Shown:
    trust = [float(value) for value in values[RELIABILITY].to_numpy()]
    facts = _facts(evaluation, values, metric) | {
        "point_is_limit": evaluation.attrs.get("point_is_limit", 1),
        "point": evaluation.attrs["point_estimate"],
        "ends": [(number(r), _means(values, metric, r)) for r in (trust[0], trust[-1])],
    }
    return picture(
        "reliability", facts, lambda **size: plots.reliability(evaluation, metric, **size),
        name=f"reliability-{metric}",
    )  # fmt: skip


def models(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> Shown:
    """Draw the first metric under both models."""
    metric = str(numbers[0]["metric"].to_numpy()[0])
    facts = _facts(evaluation, numbers[0], metric) | {
        "models": [(str(side.attrs["model"]), _means(values, metric, _reference(side)))
                   for side, values in zip(sides(evaluation), numbers, strict=True)],
    }  # fmt: skip
    return picture(
        "two-models", facts, lambda **size: plots.models(evaluation, metric, **size)
    )  # fmt: skip


def _certainty(evaluation: xr.DataTree) -> Shown:
    shares = evidence.certainty_shares(evaluation).sel(top=1, below=0.9).to_numpy().tolist()
    trust = map(number, evidence.reliabilities(evaluation))
    facts = {"below": list(zip(trust, shares, strict=True)),
             "knows_reliability": evidence.knows_reliability(evaluation)}  # fmt: skip
    return picture("certainty", facts, partial(_certainty_with_limit, evaluation))


def _certainty_with_limit(evaluation: xr.DataTree, **size: Any) -> Any:
    """Draw certainties, with a line below which the leading label is uncertain."""
    figure = plots.certainty(evaluation, **size)
    for ax in figure.axes:
        target_line(ax, LIMIT)
    return figure


def _item(evaluation: xr.DataTree) -> Shown:
    """Draw the least certain item."""
    values = evaluation["certainty"].to_dataset()["annotation_certainty"]
    values = values.sel({RELIABILITY: _reference(evaluation)})
    place = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
    item = values[ITEM].to_numpy()[place].item()
    return picture(
        "item", {"item": item, "certainty": float(values[place])},
        lambda **size: plots.item(evaluation, item, **size),
    )  # fmt: skip
