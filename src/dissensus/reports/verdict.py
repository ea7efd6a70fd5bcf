"""The first screen of a report: the verdict, and the systems in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.dims import ITEM, RELIABILITY, SAMPLE, SCOPE, SYSTEM, other
from dissensus.evaluation.answers import PANEL_LEADS, TRUTH
from dissensus.evaluation.doubts import DOUBT, of_answer
from dissensus.evaluation.evidence import METRIC as PANEL
from dissensus.evaluation.sets import are_sets
from dissensus.metrics._comparison import compare
from dissensus.plots._source import NEW, THESE
from dissensus.reports import average_annotator, checks, evidence
from dissensus.reports.average_annotator import SURE, AnnotatorComparison
from dissensus.reports.evidence import Facts
from dissensus.reports.opening import ACCURACY, ERROR, achieves, is_cut, value_of
from dissensus.reports.sentences import Name, interval
from dissensus.reports.tables import Body, Table, between
from dissensus.sampling.intervals import spread
from dissensus.wording import capital, counted, metric_title, probability, share

LIKELY: Final = 0.8
"""Minimum probability of a likely order; from `SURE` on, an order is settled."""
EQUAL: Final = 0.995
"""Two systems count as equal if equal values have a larger probability than this."""
_AGAINST: Final = {
    average_annotator.RATIO: "Discrepancy ratio, {}",
    average_annotator.LABELS: "Against an annotator, {}",
    ACCURACY: "Against an annotator, {}",
}
"""Heads of the column that compares systems with an annotator."""
ANNOTATOR_ROW: Final = "An annotator"
_OWN: Final = {
    PANEL: "An annotator: how often one more annotator would agree with the panel.",
    ACCURACY: "An annotator: the annotators' mean accuracy on new items.",
}
TRUE_LABEL: Final = "Accuracy: how often the one true label is given"
_ROWS: Final = 12


@dataclass(frozen=True)
class Lead:
    """The leading metric: the first metric, or accuracy against the one true label."""

    name: str
    """Name of the metric, or `ACCURACY`."""
    numbers: xr.Dataset
    """As `evidence.numbers` of the metric (scope, system), the best system first."""
    draws: xr.DataArray
    """(chain, draw, scope, system), the best system first."""
    pairs: xr.Dataset
    """The result of `dissensus.compare` without ``difference``; empty for one system."""
    reason: str
    """Reason not to rely on the metric. Accuracy leads only if there is no reason."""
    comparison: AnnotatorComparison | None
    """The systems compared with an annotator."""
    annotator: xr.DataArray | None
    """Draws (chain, draw[, scope]) of the average annotator, of the same metric."""
    few: bool
    """Whether there are too few items, or clusters, to settle which system is best."""

    @property
    def systems(self) -> list[Any]:
        """The systems, best first."""
        return self.draws[SYSTEM].to_numpy().tolist()

    @property
    def sign(self) -> int:
        """1 if large values are good, else -1."""
        return -1 if str(self.numbers["better"].item()) == "lower" else 1

    @property
    def digits(self) -> int:
        """Number of decimals of written values."""
        return evidence.digits(self.numbers)

    @property
    def best(self) -> list[float]:
        """The probability that each system, best first, is the best on new items."""
        best = self.pairs["probability_best"].sel({SCOPE: NEW, SYSTEM: self.systems})
        return [float(chance) for chance in best.to_numpy()]

    @property
    def equal(self) -> list[Any]:
        """The systems equal to the first in nearly all draws, if they are the best systems.

        Empty if there are few items, on which different systems can be equal by chance.
        """
        if self.few:
            return []
        pair = self.pairs["probability_equal"].sel({SYSTEM: self.systems[0], SCOPE: NEW})
        same = pair.sel({other(SYSTEM): self.systems}).to_numpy() > EQUAL
        if same.sum() < 2 or sum(np.array(self.best)[same]) < SURE:
            return []
        return [name for name, is_equal in zip(self.systems, same, strict=True) if is_equal]


def lead(evaluation: xr.DataTree, values: xr.Dataset | None) -> Lead | None:
    """Return the leading metric; None without systems."""
    if values is None:
        return None
    name = str(values[evidence.METRIC].to_numpy()[0])
    at = {evidence.METRIC: name, RELIABILITY: float(evaluation.attrs["reference_reliability"])}
    numbers, reason, pairs = values.sel(at), checks.of_model(evaluation, values), xr.Dataset()
    draws = evaluation["metrics"].to_dataset()[name].sel({RELIABILITY: at[RELIABILITY]}, drop=True)
    if _wants_truth(evaluation):
        name, reason = ACCURACY, ""
        draws = evaluation["accuracy"].to_dataset()["estimated_accuracy"].dropna(SYSTEM, how="all")
        numbers = xr.Dataset(spread(draws.drop_attrs(deep=False))).assign_coords(better="higher")
        unknown = xr.full_like(numbers["mean"], np.nan)
        numbers = numbers.assign({DOUBT: unknown.astype(object).fillna(""), "truth": unknown})
        if draws.sizes[SYSTEM] > 1:
            pairs = compare(draws).drop_vars("difference")
    elif draws.sizes[SYSTEM] > 1:
        pairs = evaluation["comparison"].to_dataset().sel(at, drop=True)
    order = {SYSTEM: evidence.ordered(numbers.sel({SCOPE: THESE}))[SYSTEM].to_numpy()}
    comparison = average_annotator.annotator_comparison(evaluation, truth=name == ACCURACY)
    own = average_annotator.value(evaluation, name)
    few = checks.are_few(evaluation)
    return Lead(name, numbers.sel(order), draws.sel(order), pairs, reason, comparison, own, few)


def _wants_truth(evaluation: xr.DataTree) -> bool:
    """Return whether the question is about the true label and its answer has no warning."""
    data = evidence.group(evaluation, "answers")
    is_of_truth = "accuracy" in data and data.attrs["question"] == TRUTH
    return is_of_truth and not of_answer(evaluation, "accuracy")


# The verdict.


def headline(evaluation: xr.DataTree, lead: Lead | None) -> Facts:
    """Return the best system, how certain its lead is, and how it compares with an annotator."""
    if lead is None and are_sets(evaluation["annotations"].to_dataset()):
        labelled = evaluation["statistics"]["n_annotations"] > 0
        return {"name": "", "width": "", "note": "", "panel": "", "other": None, "uncertain": None,
                "n_items": int(labelled.sum())}  # fmt: skip
    if lead is None and evidence.is_of_numbers(evaluation):
        means = evidence.means_of_items(evaluation)
        width = float((means["upper"] - means["lower"]).median())
        return {"name": "", "n_items": means.sizes[ITEM], "width": share(width), "note": "",
                "panel": "mean", "other": None, "level": evidence.level()}  # fmt: skip
    if lead is None:
        certainty = evaluation["certainty"].to_dataset()["annotation_certainty"]
        at = {RELIABILITY: evaluation.attrs["reference_reliability"]}
        values = certainty.sel(at).to_numpy()
        return {"name": "", "n_items": len(values), "uncertain": int((values < 0.9).sum()),
                "width": "", "note": "", "panel": "", "other": None}  # fmt: skip
    first, *rest = lead.systems
    here, d = lead.numbers.isel({SYSTEM: 0}).sel({SCOPE: THESE}), lead.digits
    against = average_annotator.against(lead.comparison, first)
    against["from"] = ""
    if lead.few and against["beside"]:
        units = checks.sampled_units(evaluation)
        against |= {"beside": "open", "from": units.counted(units.n)}
    facts: Facts = {
        "name": first, "second": "", "n_systems": len(lead.systems), "state": "", "equal": [],
        "achieves": achieves(
            lead.name, share(float(here["mean"]), d), cut=is_cut(evaluation),
            truth=evaluation.attrs.get("question") == TRUTH,
        ),
        "these": interval(here, d), "level": evidence.level(), "note": _note(evaluation),
        "panel": _panel(evaluation, lead.name),
        "other": _other_first(evaluation), **against,
    }  # fmt: skip
    if rest:
        best = lead.best
        facts |= {
            "second": rest[0], "state": _state(best[0], has_few_items=lead.few),
            "best": best[0],
            "either": sum(best[:2]) >= SURE,
            "second_value": value_of(
                lead.name, share(float(lead.numbers["mean"].sel({SCOPE: THESE})[1]), d),
                cut=is_cut(evaluation),
            ),
            "equal": lead.equal,
        }  # fmt: skip
    return facts


def _panel(evaluation: xr.DataTree, name: str) -> str:
    """Return what systems are compared with: "label", "set", "side", "mean", "truth", or ""."""
    if are_sets(evaluation["annotations"].to_dataset()):
        return "truth" if evaluation.attrs.get("question") == TRUTH else "set"
    if evidence.is_of_numbers(evaluation):
        return "mean"
    return "" if name != PANEL else "side" if is_cut(evaluation) else "label"


def _note(evaluation: xr.DataTree) -> str:
    """Return why agreement with a panel leads although the question is the true label."""
    data = evidence.group(evaluation, "answers")
    if _wants_truth(evaluation):
        return ""
    if data.attrs.get("notes"):
        return str(data.attrs["notes"])
    warning = of_answer(evaluation, "accuracy") if "accuracy" in data else ""
    if not warning or data.attrs["question"] != TRUTH:
        return ""
    return f"Accuracy against the one true label is not reliable ({warning}): {PANEL_LEADS}."


def _other_first(evaluation: xr.DataTree) -> Facts | None:
    """Return the first system by agreement with the panel, if it is not the first by accuracy."""
    if not _wants_truth(evaluation):
        return None
    data = evidence.group(evaluation, "answers")
    panel, own = (data[name].mean(SAMPLE) for name in ("panel_agreement", "accuracy"))
    first, leader = (shares.idxmax(SYSTEM).item() for shares in (panel, own))
    if first == leader:
        return None
    values = [share(float(panel.sel({SYSTEM: name}))) for name in (first, leader)]
    return {"name": first, "shares": values}


def _state(p: float, *, has_few_items: bool) -> str:
    """Return how certain an order is; with few items, it is never "sure"."""
    return "sure" if p >= SURE and not has_few_items else "likely" if p >= LIKELY else "open"


def table(evaluation: xr.DataTree, lead: Lead | None) -> Table | None:
    """Return a table of systems with intervals, compared with an annotator, who has a row too."""
    if lead is None:
        return None
    level, d = evidence.level(), lead.digits
    known = bool(lead.numbers["truth"].sel({SCOPE: THESE}).notnull().any())
    head = ["System", "Mean", f"These items, {level}", f"New items, {level}"]
    head += ["P(best)"] * bool(lead.pairs)
    head += [_AGAINST[lead.comparison.by].format(level)] if lead.comparison else []
    head += ["Truth"] * known
    bodies = [Body(-1, [_row(lead, name, known=known) for name in lead.systems[:_ROWS]])]
    if lead.annotator is not None:
        own: list[Any] = [Name(ANNOTATOR_ROW), *average_annotator.row(lead.annotator, d)]
        bodies.append(Body(-1, [own + [""] * (len(head) - len(own))]))
    left = len(lead.systems) - _ROWS
    more = f"{counted(left, 'more system')} {'is' if left == 1 else 'are'} in a table below."
    notes = [more if left > 0 else "",
             average_annotator.note(lead.comparison) if lead.comparison else "",
             _OWN[lead.name] if lead.annotator is not None else ""]  # fmt: skip
    title = _heading(lead.name, cut=is_cut(evaluation))
    note = " ".join(filter(None, notes))
    return Table("table-verdict", title, head, bodies, note, stacked=True)


def _row(lead: Lead, name: Any, *, known: bool) -> list[Any]:
    these, new = (lead.numbers.sel({SYSTEM: name, SCOPE: scope}) for scope in (THESE, NEW))
    d = lead.digits
    row: list[Any] = [Name(name), share(float(these["mean"]), d)]
    row += [
        between({part: numbers[part].item() for part in ("lower", "upper", DOUBT)}, d)
        for numbers in (these, new)
    ]
    if lead.pairs:
        best = lead.pairs["probability_best"].sel({SYSTEM: name, SCOPE: NEW})
        row.append(probability(float(best)))
    if lead.comparison:
        row.append(average_annotator.against(lead.comparison, name).get("interval", "n/a"))
    return row + [share(float(these["truth"]), d)] * known


def _heading(name: str, *, cut: bool) -> str:
    if name == PANEL and cut:
        return "Agreement with the panel on the side of the threshold"
    if name == ERROR:
        return f"{capital(metric_title(name))} (smaller is better)"
    return TRUE_LABEL if name == ACCURACY else capital(metric_title(name))
