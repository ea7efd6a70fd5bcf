"""Whether to trust a result: three questions, each with an answer, its rule and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import xarray as xr

from dissensus.data.contents import only_answer
from dissensus.data.rows import voices_per
from dissensus.dims import ELEMENT, ITEM, LABEL, SAMPLE, SCOPE, SYSTEM
from dissensus.evaluation.evidence import summary
from dissensus.plots._source import NEW, THESE
from dissensus.reports import checks, evidence, opening, two_models, verdict
from dissensus.reports.average_annotator import SURE
from dissensus.reports.checks import Checked, sampled_units
from dissensus.reports.evidence import Facts, Topics
from dissensus.reports.sections import alpha_of
from dissensus.reports.sentences import interval, joined, paragraph, sentences
from dissensus.reports.verdict import Lead
from dissensus.statistics._resampling import FEW_UNITS
from dissensus.wording import counted, listed, probability, share, short

_STEPS: Final = 100
"""Number of factors that `more_items` tries."""
FACTOR: Final = 10
"""Maximum factor by which labelling more items is suggested."""
_FEW: Final = 0.1
_MOST: Final = 0.5
"""Share of the variance of a difference on new items. If the variance on these items is larger, it
comes mostly from their labels, and more labels reduce it."""
TENTATIVE: Final = 0.667
"""The alpha from which Krippendorff allows tentative conclusions."""
_ABOVE: Final = "No: see the warnings above."
_UNUSABLE: Final = "Do not use the results if the whole interval of alpha is at or below 0."


@dataclass(frozen=True)
class Box:
    """A question about whether to trust the result, with its answer."""

    question: str
    state: str
    """``fine``, ``careful``, or ``stop``."""
    reason: str
    rule: str
    """The rule that determines the state."""
    remedy: str = ""
    """What to do if the state is not ``fine``."""

    @property
    def word(self) -> str:
        """The state in words."""
        return {"fine": "Fine", "careful": "Careful", "stop": "Do not use"}[self.state]


def boxes(
    evaluation: xr.DataTree, lead: Lead | None, both: Facts, checked: Checked, *,
    page: bool = False,
) -> list[Box]:  # fmt: skip
    """Return whether annotators agree, checks pass, and the best system is settled.

    ``both`` are the `two_models.facts`; empty if there is one model.
    """
    out = [_agreement(evaluation, lead), _checks(both, checked, page=page)]
    return [*out, _settled(evaluation, lead)] if lead is not None and lead.pairs else out


def _agreement(evaluation: xr.DataTree, lead: Lead | None) -> Box:
    question = "Do the annotators agree?"
    rule = f"Fine means: the leading label is uncertain for at most {share(_FEW)} of the items"
    if not opening.has_shared_items(evaluation["annotations"].to_dataset()):
        return Box(question, "careful", opening.ALONE, "Fine requires items with two annotators.",
                   "Have some items labelled by a second annotator.")  # fmt: skip
    if box := _too_little(evaluation["annotations"].to_dataset(), question):
        return box
    if evidence.is_of_numbers(evaluation):
        return _agreement_of_numbers(evaluation, question)
    uncertain = opening.uncertain_items(evaluation, labelled=True)
    n_labelled = opening.labelled_items(evaluation)
    of = f"{counted(n_labelled, 'item')} with labels" if n_labelled else "items"
    reason = f"The leading label is uncertain for {share(uncertain)} of the {of}"
    frame = summary(evaluation, "statistics") if evidence.has(evaluation, "agreement") else None
    alpha = None if frame is None else alpha_of(frame)
    is_fine = uncertain <= _FEW
    if alpha is None:
        reason += "."
        rule += "."
    else:
        reason += f"; Krippendorff's alpha is {share(alpha['observed'])} ({interval(alpha)})."
        rule += f", or alpha is at least {share(TENTATIVE, 3)}. {_UNUSABLE}"
        is_fine = is_fine or alpha["observed"] >= TENTATIVE
        if alpha["upper"] <= 0:
            reason = ("They agree no more than by chance: Krippendorff's alpha is "
                      f"{share(alpha['observed'])} ({interval(alpha)}).")  # fmt: skip
            return Box(question, "stop", reason, rule, "Check the labels and the instructions.")
    if is_fine:
        return Box(question, "fine", reason, rule)
    remedy = "Have the uncertain items labelled by more annotators, or with clearer instructions."
    if lead is not None and lead.name == opening.ACCURACY and _all_known(evaluation):
        remedy = "The accuracy of systems does not depend on this: all true labels are known."
    return Box(question, "careful", reason, rule, remedy)


def _too_little(annotations: xr.Dataset, question: str) -> Box | None:
    """Return the answer if only one label was given, or one item has several annotators."""
    if only_answer(annotations) is not None:
        remedy = "If annotations with other labels were left out, evaluate all of them."
        if annotations.sizes[ELEMENT if "member" in annotations else LABEL] == 1:
            remedy += " If no annotator gave another label, name the other labels with labels=."
        return Box(question, "careful", "Only one label was given: agreement cannot be judged.",
                   "Fine requires that annotators gave different labels.", remedy)  # fmt: skip
    if (voices_per(annotations, ITEM) > 1).sum() > 1:
        return None
    reason = "Only one item has several annotators: agreement cannot be judged."
    remedy = "Evaluate all items together, or have more items labelled by a second annotator."
    rule = "Fine requires several items with two annotators each."
    return Box(question, "careful", reason, rule, remedy)


def _all_known(evaluation: xr.DataTree) -> bool:
    """Return whether the true label of every item is known."""
    accuracy = evaluation["accuracy"]
    return bool(accuracy.attrs["n_known"] == accuracy.sizes[ITEM])


def _agreement_of_numbers(evaluation: xr.DataTree, question: str) -> Box:
    """Judge the agreement of scores or sets, which have no leading label, by alpha only."""
    rule = f"Fine means: alpha is at least {share(TENTATIVE, 3)}. {_UNUSABLE}"
    has_any = evidence.has(evaluation, "agreement")
    alpha = alpha_of(summary(evaluation, "statistics")) if has_any else None
    remedy = "Ask more annotators about each item, or give clearer instructions."
    if alpha is None:
        return Box(question, "careful", "Krippendorff's alpha is undefined.", rule, remedy)
    reason = f"Krippendorff's alpha is {share(alpha['observed'])} ({interval(alpha)})."
    if alpha["upper"] <= 0:
        reason = f"They agree no more than by chance: {reason}"
        return Box(question, "stop", reason, rule, "Check the answers and the instructions.")
    if alpha["observed"] >= TENTATIVE:
        return Box(question, "fine", reason, rule)
    return Box(question, "careful", reason, rule, remedy)


def _checks(both: Facts, checked: Checked, *, page: bool) -> Box:
    question = "Do the checks pass?"
    rule = "Fine means: no check fails" + (", and the two models agree." if both else ".")
    if checked.troubles:
        kinds = {facts.get("kind") for _, facts in checked.troubles}
        remedy = "Evaluate again with more draws."
        if "not finite" in kinds:
            remedy = "Evaluate again with more draws, or with another model."
        return Box(question, "stop", _ABOVE, rule, remedy)
    if checked.cautions:
        topic, facts = checked.cautions[0]
        *reason, remedy = sentences(topic, facts, page=page)
        return Box(question, "careful", joined(reason, page=page), rule, remedy)
    if both:
        if not both["agree"]:
            reason = sentences("verdict", both, page=page)
            remedy = "Report the results of both models, or give reasons for one of them."
            return Box(question, "careful", joined(reason, page=page), rule, remedy)
        words = f"All checks passed, and a second model, {both['b']}, agrees."
        return Box(question, "fine", words, rule)
    return Box(question, "fine", "All checks passed.", rule)


def first_screen(evaluation: xr.DataTree) -> list[str]:
    """Return the verdict of an evaluation, and the reasons not to rely on it, as plain text."""
    numbers = two_models.both(evaluation)
    lead = verdict.lead(evaluation, numbers[0] if numbers else None)
    checked, both = checks.checked(evaluation), two_models.compared(evaluation, numbers)
    out = [paragraph(topic, facts) for topic, facts in checked.troubles]
    if out:
        out[0] = f"Do not rely on these numbers. {out[0]}"
    out.append(paragraph("headline", verdict.headline(evaluation, lead)))
    out += [
        f"{box.word}: {box.reason} {box.remedy}".strip()
        for box in boxes(evaluation, lead, both.facts, checked)
        if box.state != "fine" and box.reason != _ABOVE
    ]
    return out + [f"Careful: {paragraph(*topic)}" for topic in more_cautions(checked)]


def more_cautions(checked: Checked) -> Topics:
    """Return the cautions that are not in a box."""
    return checked.cautions[0 if checked.troubles else 1 :]


def _settled(evaluation: xr.DataTree, lead: Lead) -> Box:
    question = "Is the best system settled?"
    first, plural = lead.systems[0], sampled_units(evaluation).plural
    rule = f"Fine means: probability {share(SURE)} or more, from {FEW_UNITS} {plural} or more."
    if lead.equal:
        words = f"{listed(list(map(short, lead.equal)))} do equally well."
        return Box(question, "fine", words, rule)
    best, degree = lead.best[0], "the best" if len(lead.systems) > 2 else "better"
    words = f"{short(first)} is {degree} on new items with probability "
    words += f"{probability(best)}."
    if lead.few:
        return Box(question, "careful", words, rule, f"Have more {plural} labelled.")
    if best >= SURE:
        return Box(question, "fine", words, rule)
    more = items_to_add(evaluation, lead)
    remedy = f"If the difference is as estimated, about {more} like these would settle it."
    return Box(question, "careful", words, rule, remedy if more else _by_cost(lead, plural))


def _by_cost(lead: Lead, plural: str) -> str:
    """Return what to do if ten times as many items would not settle which system is best.

    A mean difference near 0 does not show that the difference is small: its bound is reported.
    """
    first, second = lead.systems[:2]
    gap = lead.draws.sel({SYSTEM: first}, drop=True) - lead.draws.sel({SYSTEM: second}, drop=True)
    bound = share(float(abs(gap.sel({SCOPE: NEW})).quantile(SURE)), lead.digits)
    names = "The two systems" if len(lead.systems) == 2 else f"{short(first)} and {short(second)}"
    words = f"{names} differ by at most {bound} with probability {share(SURE)}: if this is too "
    words += "little to matter, choose the cheaper one. Otherwise get "
    if float(gap.sel({SCOPE: THESE}).var()) > _MOST * float(gap.sel({SCOPE: NEW}).var()):
        return f"{words}more labels for each item, or true labels, because items are uncertain."
    return f"{words}over {FACTOR} times as many {plural}."


def items_to_add(evaluation: xr.DataTree, lead: Lead | None) -> str:
    """Return how many more items, or clusters, settle which system is best.

    The text is "" if this is settled, if systems are equal, if ten times as many are too few, or if
    there are too few items for an estimate.
    """
    if lead is None or not lead.pairs or lead.best[0] >= SURE:
        return ""
    units = sampled_units(evaluation)
    factor = None if lead.equal or lead.few else more_items(lead)
    if factor is None:
        return ""
    n = units.n * (factor - 1)
    # The extrapolation is rounded to two digits.
    size = 10 ** max(int(np.floor(np.log10(max(n, 1)))) - 1, 0)
    return counted(max(int(np.ceil(n / size)) * size, 1), f"more {units.plural[:-1]}")


def more_items(lead: Lead) -> float | None:
    """Return the factor by which more items settle which system is best, or None.

    The variances of the first system's differences from other systems on new items are assumed to
    be inversely proportional to the number of items: draws of differences are moved towards their
    means. The result is None if ten times as many items are too few.
    """
    first, *others = lead.systems
    draws = lead.draws.sel({SCOPE: NEW})
    gap = lead.sign * (draws.sel({SYSTEM: first}, drop=True) - draws.sel({SYSTEM: others}))
    mean = gap.mean(SAMPLE)
    for factor in np.geomspace(1.0, FACTOR, _STEPS).tolist():
        if float((mean + (gap - mean) / np.sqrt(factor) > 0).all(SYSTEM).mean()) >= SURE:
            return float(factor)
    return None
