"""The first screen of a report: the verdict, whether to trust it, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.dims import ANNOTATOR, ITEM, RELIABILITY, SAMPLE, SCOPE, SYSTEM, other
from dissensus.evaluation.answers import PANEL_LEADS, TRUTH
from dissensus.evaluation.doubts import DOUBT, of_answer
from dissensus.evaluation.evidence import summary
from dissensus.metrics._comparison import compare
from dissensus.plots._source import NEW, THESE, sides
from dissensus.reports import checks, evidence, opening, two_models
from dissensus.reports.evidence import Facts
from dissensus.reports.opening import ACCURACY, achieves, is_cut
from dissensus.reports.sections import accuracy_facts, alpha_of
from dissensus.reports.sentences import Name, interval, paragraph, sentences
from dissensus.reports.tables import Body, Table, between
from dissensus.sampling.intervals import spread
from dissensus.wording import metric_title, percent, probability, share, short

SURE: Final = 0.95
LIKELY: Final = 0.8
"""Probabilities from which an order is settled, and from which it is likely."""
_Z: Final = 1.645
"""Standard errors that a difference must be from 0 to have the probability `SURE`."""
_FACTOR: Final = 10
"""More than this many times as many items are not worth labelling."""
_BESIDE: Final = ("P(closer than an annotator)", "P(above the average annotator)")
"""Heads of the comparison with annotators: by distance, and by accuracy."""
_ROWS: Final = 12
_ITEMS: Final = 10
_PEOPLE: Final = 5
_FEW: Final = 0.1
_TENTATIVE: Final = 0.667
"""The alpha from which Krippendorff allows tentative conclusions."""


@dataclass(frozen=True)
class Lead:
    """The quantity that leads: the first metric, or accuracy against the one true label."""

    name: str
    """Of the metric; or `ACCURACY`."""
    numbers: xr.Dataset
    """As `evidence.numbers` of the quantity (scope, system), the best system first."""
    draws: xr.DataArray
    """(chain, draw, scope, system), the best system first."""
    pairs: xr.Dataset
    """As `dissensus.compare` returns it, with its difference left out; empty for one system."""
    reason: str
    """Reason not to rely on it; accuracy leads only if there is none."""

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
        """Decimals to write it with."""
        return evidence.digits(self.numbers)

    def ahead(self, scope: str) -> float:
        """Return the probability that the first system is better than the second, ties as half."""
        first, second, *_ = self.systems
        pair = self.pairs.sel({SYSTEM: first, other(SYSTEM): second, SCOPE: scope})
        return float(pair["probability_better"] + pair["probability_equal"] / 2)


def lead(evaluation: xr.DataTree, values: xr.Dataset | None) -> Lead | None:
    """Return the quantity that leads; None without systems."""
    if values is None:
        return None
    name = str(values[evidence.METRIC].to_numpy()[0])
    at = {evidence.METRIC: name, RELIABILITY: float(evaluation.attrs["reference_reliability"])}
    numbers, reason, pairs = values.sel(at), checks.of_model(evaluation, values), xr.Dataset()
    draws = evaluation["metrics"].to_dataset()[name].sel({RELIABILITY: at[RELIABILITY]}, drop=True)
    if _wants_truth(evaluation):
        name, reason = ACCURACY, ""
        draws = evaluation["accuracy"].to_dataset()["estimated_accuracy"].dropna(SYSTEM, how="all")
        numbers = xr.Dataset(spread(draws.drop_attrs())).assign_coords(better="higher")
        unknown = xr.full_like(numbers["mean"], np.nan)
        numbers = numbers.assign({DOUBT: unknown.astype(object).fillna(""), "truth": unknown})
        if draws.sizes[SYSTEM] > 1:
            pairs = compare(draws).drop_vars("difference")
    elif draws.sizes[SYSTEM] > 1:
        pairs = evaluation["comparison"].to_dataset().sel(at, drop=True)
    order = {SYSTEM: evidence.ordered(numbers.sel({SCOPE: THESE}))[SYSTEM].to_numpy()}
    return Lead(name, numbers.sel(order), draws.sel(order), pairs, reason)


def _wants_truth(evaluation: xr.DataTree) -> bool:
    """Return whether the question is the true label, and can be answered."""
    data = evidence.group(evaluation, "answers")
    asked = "accuracy" in data and data.attrs["question"] == TRUTH
    return asked and not of_answer(evaluation, "accuracy")


# The verdict.


def headline(evaluation: xr.DataTree, found: Lead | None) -> Facts:
    """Return the best system, how sure that is, and how it compares with an annotator."""
    if found is None:
        certainty = evaluation["certainty"].to_dataset()["annotation_certainty"]
        at = {RELIABILITY: evaluation.attrs["reference_reliability"]}
        values = certainty.sel(at).to_numpy()
        return {"name": "", "n_items": len(values), "uncertain": int((values < 0.9).sum()),
                "note": ""}  # fmt: skip
    first, *rest = found.systems
    here, d = found.numbers.isel({SYSTEM: 0}).sel({SCOPE: THESE}), found.digits
    facts: Facts = {
        "name": first, "second": "", "n_systems": len(found.systems), "state": "", "equal": [],
        "achieves": achieves(found.name, share(float(here["mean"]), d), cut=is_cut(evaluation)),
        "these": interval(here, d), **against(evaluation, first, truth=found.name == ACCURACY),
        "note": _note(evaluation),
    }  # fmt: skip
    if rest:
        ahead = found.ahead(NEW)
        pair = found.pairs.sel({SYSTEM: first, SCOPE: NEW})
        equal = pair["probability_equal"].to_numpy() > 0.995
        facts |= {
            "second": rest[0], "state": _state(ahead), "ahead": ahead,
            "second_value": share(float(found.numbers["mean"].sel({SCOPE: THESE})[1]), d),
            "equal": pair[other(SYSTEM)].to_numpy()[equal].tolist() if equal.sum() > 1 else [],
        }  # fmt: skip
    return facts


def _note(evaluation: xr.DataTree) -> str:
    """Return why agreement with a panel leads where the true label was asked for."""
    data = evidence.group(evaluation, "answers")
    if _wants_truth(evaluation):
        return _other_order(data)
    if data.attrs.get("notes"):
        return str(data.attrs["notes"])
    doubt = of_answer(evaluation, "accuracy") if "accuracy" in data else ""
    if not doubt or data.attrs["question"] != TRUTH:
        return ""
    return f"Accuracy against the one true label is not reliable ({doubt}): {PANEL_LEADS}."


def _other_order(data: xr.Dataset) -> str:
    """Say which system leads by agreement with the panel, if it is another one."""
    panel, own = (data[name].mean(SAMPLE) for name in ("panel_agreement", "accuracy"))
    first, leader = (one.idxmax(SYSTEM).item() for one in (panel, own))
    if first == leader:
        return ""
    values = (share(float(panel.sel({SYSTEM: name}))) for name in (first, leader))
    return (
        f"By agreement with the panel {short(first)} is first ({' against '.join(values)}): the "
        "label of most annotators is not always the true one."
    )


def _state(p: float) -> str:
    return "sure" if p >= SURE else "likely" if p >= LIKELY else "open"


def against(evaluation: xr.DataTree, system: Any, *, truth: bool = False) -> Facts:
    """Return how a system compares with an annotator: by distance, agreement, or accuracy."""
    if truth:
        above = float(evaluation["accuracy"]["above_annotators"].sel({SYSTEM: system}))
        return {"closer": above, "against": _side(above), "by": "accuracy"}
    ratio = _ratio(evaluation, system)
    if ratio is None:
        return {"closer": None}
    closer = float((ratio < 1).mean() + (ratio == 1).mean() / 2)
    facts: Facts = {"closer": closer, "against": _side(closer), "by": "distance",
                    "ratio": share(float(ratio.mean()))}  # fmt: skip
    answers = evidence.group(evaluation, "answers")
    if answers and is_of_labels(evaluation) and system in answers.get(SYSTEM, []):
        own = float(answers["annotator_agreement"].sel({SYSTEM: system}).mean())
        facts |= {
            "by": "label",
            "agreement": own,
            "people": float(answers["human_agreement"].mean()),
        }
    return facts


def _side(closer: float) -> str:
    return "closer" if closer >= SURE else "farther" if closer <= 1 - SURE else "open"


def is_of_labels(evaluation: xr.DataTree) -> bool:
    """Return whether discrepancies are those of single labels, equal or not."""
    attrs = evaluation["discrepancy"].attrs
    return attrs["distance"] == "nominal" or attrs.get("depth") == 1


def _ratio(evaluation: xr.DataTree, system: Any) -> xr.DataArray | None:
    """Return the draws of a system's discrepancy ratio, if all are defined."""
    draws = evidence.group(evaluation, "discrepancy")
    if "discrepancy_ratio" not in draws:
        return None
    ratio = draws["discrepancy_ratio"].sel({SYSTEM: system})
    return None if bool(ratio.isnull().any()) else ratio


def table(evaluation: xr.DataTree, found: Lead | None) -> Table | None:
    """Return the systems with intervals, and their probabilities of being best, or closer."""
    if found is None:
        return None
    level, d = evidence.level(), found.digits
    truth = found.name == ACCURACY
    ratios = truth or "discrepancy_ratio" in evidence.group(evaluation, "discrepancy")
    known = bool(found.numbers["truth"].sel({SCOPE: THESE}).notnull().any())
    head = ["System", "Mean", f"These items, {level}", f"New items, {level}"]
    head += ["P(best)"] * bool(found.pairs) + [_BESIDE[truth]] * ratios
    head += ["Truth"] * known
    rows: list[list[Any]] = []
    for name in found.systems[:_ROWS]:
        these, new = (found.numbers.sel({SYSTEM: name, SCOPE: scope}) for scope in (THESE, NEW))
        row: list[Any] = [Name(name), share(float(these["mean"]), d)]
        row += [
            between({part: one[part].item() for part in ("lower", "upper", DOUBT)}, d)
            for one in (these, new)
        ]
        if found.pairs:
            best = found.pairs["probability_best"].sel({SYSTEM: name, SCOPE: NEW})
            row.append(probability(float(best)))
        if ratios:
            closer = against(evaluation, name, truth=truth)["closer"]
            row.append("n/a" if closer is None else probability(closer))
        if known:
            row.append(share(float(these["truth"]), d))
        rows.append(row)
    left = len(found.systems) - _ROWS
    note = f"{left:,} more below." if left > 0 else ""
    return Table(
        "table-verdict",
        _heading(found.name, cut=is_cut(evaluation)),
        head,
        [Body(-1, rows)],
        note,
        stacked=True,
    )


def _heading(name: str, *, cut: bool) -> str:
    if name == "top_1_accuracy" and cut:
        return "How often a system is on the panel's side of the threshold"
    if name == ACCURACY:
        return "How often a system gives the one true label"
    if name == "top_1_accuracy":
        return "How often a system agrees with the panel"
    return f"Systems by {metric_title(name)}"


# Whether to trust it.


@dataclass(frozen=True)
class Box:
    """One reason to trust the result, or not."""

    question: str
    state: str
    """``fine``, ``careful``, or ``stop``."""
    reason: str
    remedy: str = ""

    @property
    def word(self) -> str:
        """The state in words."""
        return {"fine": "Fine", "careful": "Careful", "stop": "Do not use"}[self.state]


def boxes(
    evaluation: xr.DataTree, found: Lead | None, numbers: list[xr.Dataset], *, page: bool = False
) -> list[Box]:
    """Return whether annotators agree, whether checks pass, and whether the best is settled.

    ``numbers`` are those of `two_models.both`.
    """
    out = [_agreement(evaluation), _checks(evaluation, numbers, page=page)]
    return [*out, _settled(found)] if found is not None and found.pairs else out


def _agreement(evaluation: xr.DataTree) -> Box:
    question = "Do the annotators agree?"
    if not opening.has_shared_items(evaluation["annotations"].to_dataset()):
        return Box(question, "careful", opening.ALONE, "Have some items labelled twice.")
    uncertain = opening.uncertain_items(evaluation)
    reason = f"The leading label is uncertain for {share(uncertain)} of the items."
    frame = summary(evaluation, "statistics") if evidence.has(evaluation, "agreement") else None
    alpha = None if frame is None else alpha_of(frame)
    if alpha is None:
        state = "fine" if uncertain <= _FEW else "careful"
    else:
        reason = f"Krippendorff's alpha is {share(alpha['observed'])} ({interval(alpha)}). {reason}"
        state = "fine" if alpha["observed"] >= _TENTATIVE or uncertain <= _FEW else "careful"
        if alpha["upper"] <= 0:
            return Box(question, "stop", "They agree no more than by chance "
                       f"(Krippendorff's alpha {share(alpha['observed'])}).",
                       "Check the labels and the instructions first.")  # fmt: skip
    remedy = "Clearer instructions, or more annotators for each item, help." * (state != "fine")
    return Box(question, state, reason, remedy)


def _checks(evaluation: xr.DataTree, numbers: list[xr.Dataset], *, page: bool) -> Box:
    question = "Do the checks pass?"
    if checks.troubles(evaluation):
        return Box(question, "stop", "Not yet: the warning above says what is wrong.")
    cautions = checks.cautions(evaluation)
    if cautions:
        return Box(question, "careful", paragraph(*cautions[0], page=page))
    if len(sides(evaluation)) > 1:
        facts = two_models.facts(evaluation, numbers)
        if not facts["agree"]:
            return Box(question, "careful", " ".join(sentences("verdict", facts, page=page)))
        return Box(
            question, "fine", f"All checks passed, and a second model, {facts['b']}, agrees."
        )
    return Box(question, "fine", "All checks passed.")


def more_cautions(evaluation: xr.DataTree) -> checks.Topics:
    """Return the cautions that no box has."""
    return checks.cautions(evaluation)[0 if checks.troubles(evaluation) else 1 :]


def _settled(found: Lead) -> Box:
    question = "Is the best system settled?"
    ahead = found.ahead(NEW)
    first, second, *_ = map(short, found.systems)
    words = f"{first} is better than {second} with probability {probability(ahead)} on new items."
    if ahead >= SURE:
        return Box(question, "fine", words)
    n = more_items(found)
    remedy = (
        "Many more items would not settle it soon."
        if n is None
        else "More items would settle it: see below."
    )
    return Box(question, "careful", words, remedy)


def more_items(found: Lead) -> float | None:
    """Return by what factor the items must grow to settle the first two systems, or None.

    The variance of their difference on new items is inversely proportional to the number of items,
    labelled as these are. None if the factor is above 10, or the difference is not on the side of
    the first.
    """
    first, second, *_ = found.systems
    draws = found.draws.sel({SCOPE: NEW})
    gap = found.sign * (draws.sel({SYSTEM: first}) - draws.sel({SYSTEM: second}))
    mean, sd = float(gap.mean()), float(gap.std(ddof=1))
    if mean <= 0 or _Z * sd > mean * np.sqrt(_FACTOR):
        return None
    return max((_Z * sd / mean) ** 2, 1.0)


# What to do next.


def steps(evaluation: xr.DataTree, found: Lead | None, uncertain: list[Any]) -> Facts:
    """Return items to look at, annotators who differ from the others, and how many items more."""
    n_items = evaluation["annotations"].sizes[ITEM]
    factor = None
    if found is not None and found.pairs and found.ahead(NEW) < SURE:
        factor = more_items(found)
    known = None
    if evidence.has(evaluation, "accuracy"):
        facts = accuracy_facts(evaluation)
        if facts.get("needed"):
            known = {"n": f"{facts['needed']:,}", "width": percent(facts["width"]),
                     "name": facts["systems"][0]["name"]}  # fmt: skip
    return {
        "known": known,
        "items": [(card.name, card.certainty) for card in uncertain[:_ITEMS]],
        "people": differing(evaluation),
        "more": "" if factor is None else _rounded(n_items * (factor - 1)),
        "first": found.systems[0] if factor is not None and found else "",
        "second": found.systems[1] if factor is not None and found else "",
    }  # fmt: skip


def _rounded(n: float) -> str:
    """Write a number of items with two digits: it is an extrapolation."""
    size = 10 ** max(int(np.floor(np.log10(max(n, 1)))) - 1, 0)
    return f"{max(int(np.ceil(n / size)) * size, 1):,}"


def differing(evaluation: xr.DataTree) -> list[tuple[Any, str]]:
    """Return annotators whose discrepancy ratio is surely above 1, the largest first."""
    if not evidence.has(evaluation, "discrepancy"):
        return []
    frame = summary(evaluation, "statistics")
    rows = frame[frame["statistic"] == "annotator_discrepancy_ratio"]
    rows = rows[(rows["lower"] > 1) & rows["mean"].notna()]
    rows = rows.sort_values("observed", ascending=False, kind="stable")[:_PEOPLE]
    d = evidence.digits(rows)
    return [(Name(row[ANNOTATOR]), f"{share(row['observed'], d)} ({interval(row, d)})")
            for row in rows.to_dict("records")]  # fmt: skip
