"""The figures of a report, with captions and descriptions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from dissensus import plots
from dissensus.dims import CHAIN, ITEM, LABEL, RELIABILITY, SCOPE, SYSTEM
from dissensus.plots._source import NEW, THESE, sides
from dissensus.reports import evidence
from dissensus.reports.sections import interval_title
from dissensus.reports.svg import NARROW, Shown, picture
from dissensus.wording import capital, counted, metric_title, number, probability, share, short

_IN_WORDS = 8


def pictures(evaluation: xr.DataTree, values: xr.Dataset | None) -> Iterator[Shown]:
    """Draw the figures for which the evaluation has data.

    ``values`` are `evidence.numbers`, or None without predictions.
    """
    if values is not None:
        names = [str(name) for name in values["metric"].to_numpy()]
        yield _forest(evaluation, values, names)
        if values.sizes[RELIABILITY] > 1:
            for name in dict.fromkeys([names[0], names[-1]]):
                yield _reliability(evaluation, values, name)
        yield _distribution(evaluation, values, names[0])
        if values.sizes[SYSTEM] > 1:
            yield _better(evaluation, values, names[0])
    yield _certainty(evaluation)
    theta = evidence.draws_or_mean(evaluation)
    has_draws = CHAIN in theta.dims  # draws of chunks are not kept
    if has_draws and theta.sizes.get(LABEL) == 3:
        yield _simplex(evaluation)
    if evidence.has(evaluation, "expected_risk"):
        yield _risk(evaluation)
    if has_draws:
        yield _item(evaluation)


def _reference(evaluation: xr.DataTree) -> float:
    return float(evaluation.attrs["reference_reliability"])


def _at(evaluation: xr.DataTree) -> str:
    if not evidence.knows_reliability(evaluation):
        return ""
    return f" at reliability {number(_reference(evaluation))}"


def _means(values: xr.Dataset, metric: str, reliability: float) -> str:
    """List the systems' means, best first."""
    here = values.sel({"metric": metric, RELIABILITY: reliability, SCOPE: THESE})
    d = evidence.digits(values.sel(metric=metric))
    ranked = evidence.ordered(here)
    pairs = zip(ranked[SYSTEM].to_numpy(), ranked["mean"].to_numpy(), strict=True)
    texts = [f"{short(name)} {share(float(mean), d)}" for name, mean in pairs]
    more = f" and {len(texts) - _IN_WORDS} more" if len(texts) > _IN_WORDS else ""
    return ", ".join(texts[:_IN_WORDS]) + more


def _star(values: xr.Dataset) -> str:
    return " Stars: known values." if bool(values["truth"].notnull().any()) else ""


def _forest(evaluation: xr.DataTree, values: xr.Dataset, names: list[str]) -> Shown:
    metrics = names if len(names) * values.sizes[SYSTEM] <= 40 else names[:1]
    return picture(
        "forest", "Metrics of the systems",
        f"Circles: posterior means{_at(evaluation)}. Thick bars: {interval_title()}s for these "
        "items; thin lines: for new items. Crosses: scores against a point estimate of the labels, "
        f"which ignore disagreement.{_star(values)}",
        f"Intervals. Means of {metric_title(names[0])}: "
        f"{_means(values, names[0], _reference(evaluation))}.",
        lambda figsize: plots.forest(
            evaluation, metrics if figsize[0] > NARROW else names[:1],
            backend="matplotlib", figsize=figsize,
        ),
    )  # fmt: skip


def _reliability(evaluation: xr.DataTree, values: xr.Dataset, metric: str) -> Shown:
    trust = [float(value) for value in values[RELIABILITY].to_numpy()]
    title = metric_title(metric)
    crosses = (
        "Crosses at ∞: the limit of a growing reliability, which ignores disagreement."
        if evaluation.attrs.get("point_is_limit", 1)
        else f"Crosses: scores against {evaluation.attrs['point_estimate']}, which ignore "
        "disagreement."
    )
    ends = "".join(f" At {number(r)}: {_means(values, metric, r)}." for r in (trust[0], trust[-1]))
    return picture(
        f"reliability-{metric}", f"{capital(title)} by reliability of the annotators",
        "Reliability is the weight of an annotation. The data do not determine it. Lines: means; "
        f"dark bands: intervals for these items; pale bands: for new items. {crosses}"
        f"{_star(values)}",
        f"Curves of {title} against reliability.{ends}",
        lambda **size: plots.reliability(evaluation, metric, **size),
    )  # fmt: skip


def models(evaluation: xr.DataTree, numbers: list[xr.Dataset]) -> Shown:
    """Draw the first metric under both models."""
    metric = str(numbers[0]["metric"].to_numpy()[0])
    title = metric_title(metric)
    names = [str(side.attrs["model"]) for side in sides(evaluation)]
    each = "".join(
        f" Under {name}: {_means(values, metric, _reference(side))}."
        for name, side, values in zip(names, sides(evaluation), numbers, strict=True)
    )
    return picture(
        "two-models", f"{capital(title)} under {names[0]} and under {names[1]}",
        "Lines: means; dark bands: intervals for these items; pale bands: for new items; crosses: "
        "scores that ignore disagreement (at ∞ if they are the limit of a growing reliability). "
        "The vertical line is the reliability at which the models are compared. Reliabilities of "
        f"different models cannot be compared.{_star(numbers[0])}",
        f"Curves of {title} against reliability under two models.{each}",
        lambda **size: plots.models(evaluation, metric, **size),
    )  # fmt: skip


def _distribution(evaluation: xr.DataTree, values: xr.Dataset, metric: str) -> Shown:
    title = metric_title(metric)
    return picture(
        "distribution", f"Distribution of {title}",
        f"Posterior distribution of the {title} of each system on new items{_at(evaluation)}.",
        f"Distributions of {title}. Means: {_means(values, metric, _reference(evaluation))}",
        lambda **size: plots.distribution(
            evaluation, metric, backend="matplotlib", stats={"dist": {"grid_len": 128}}, **size
        ),
    )  # fmt: skip


def _better(evaluation: xr.DataTree, values: xr.Dataset, metric: str) -> Shown:
    pairs = evaluation["comparison"].to_dataset()["probability_best"]
    pairs = pairs.sel({"metric": metric, SCOPE: NEW, RELIABILITY: _reference(evaluation)})
    best = pairs.isel({SYSTEM: int(pairs.to_numpy().argmax())})
    most = 2.8 + 0.6 * min(12, values.sizes[SYSTEM])
    return picture(
        "better", "Probability of being better",
        f"Probability that the system of the row has the better {metric_title(metric)} than that "
        f"of the column, on new items{_at(evaluation)}. Blue: better; orange: worse; pale: "
        "undecided.",
        "Matrix of the probability that a system is better than another. Most probably the best: "
        f"{short(best[SYSTEM].item())}, with {probability(float(best))}.",
        lambda figsize: plots.better(evaluation, metric, figsize=(min(figsize[0], most), None)),
    )  # fmt: skip


def _certainty(evaluation: xr.DataTree) -> Shown:
    shares = evidence.certainty_shares(evaluation).sel(top=1, below=0.9)
    known = evidence.knows_reliability(evaluation)
    words = "; ".join(
        f"{share(float(below))} of the items below .90"
        + (f" at reliability {number(value)}" if known else "")
        for value, below in zip(evidence.reliabilities(evaluation), shares, strict=True)
    )
    return picture(
        "certainty", "Certainty of the items",
        "Share of posterior draws that have the same leading label, for each item. A certainty of "
        "1 means that the leading label is certain, not that the annotators were unanimous.",
        f"Curves of annotation certainty over sorted items: {words}.",
        lambda **size: plots.certainty(evaluation, **size),
    )  # fmt: skip


def _simplex(evaluation: xr.DataTree) -> Shown:
    return picture(
        "simplex", "Plausibilities of three labels",
        "Corners: all plausibility on one label; middle: all three equal; dotted lines separate "
        "the regions in which each label leads. First the means of all "
        f"{counted(evaluation['posterior'].sizes[ITEM], 'item')}, then draws (dots) and means "
        "(rings) of some.",
        "Triangles: means of all items, and draws of a few items from certain to uncertain.",
        lambda **size: plots.simplex(evaluation, **size),
    )  # fmt: skip


def _risk(evaluation: xr.DataTree) -> Shown:
    mean = float(next(iter(evaluation["expected_risk"].to_dataset().data_vars.values())).mean())
    text = number(round(mean, 2))
    return picture(
        "risk", "Expected risk",
        f"Items by expected risk. Bars: means; lines: intervals. The mean over items is {text}.",
        f"Histogram of the items' expected risk; the mean is {text}.",
        lambda **size: plots.expected_risk(evaluation, **size),
    )  # fmt: skip


def _item(evaluation: xr.DataTree) -> Shown:
    """Draw the least certain item."""
    values = evaluation["certainty"].to_dataset()["annotation_certainty"]
    values = values.sel({RELIABILITY: _reference(evaluation)})
    place = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
    item = values[ITEM].to_numpy()[place].item()
    return picture(
        "item", "The least certain item",
        f"The certainty of its leading label is {share(float(values[place]))}. Dots: draws of the "
        "plausibility of each label; bars: means; crosses: the point estimate.",
        f"Annotations, plausibilities and predictions of item {short(item)}, as in the first card "
        "under Least certain items.",
        lambda **size: plots.item(evaluation, item, **size),
    )  # fmt: skip
