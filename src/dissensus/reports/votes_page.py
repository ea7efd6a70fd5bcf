"""The page of an evaluation of votes on pairs of systems, and whether to trust its leaderboard.

The checks are about the chains, the fit, the voters, whether votes connect all systems, and the
sides on which answers were shown.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus import plots
from dissensus.data.contents import vote_contents
from dissensus.dims import ANNOTATOR, PAIR, SAMPLE, SYSTEM, VOTE
from dissensus.errors import shown
from dissensus.evaluation.doubts import of_group
from dissensus.evaluation.evidence import summary
from dissensus.evaluation.next_votes import votes_of_pairs
from dissensus.evaluation.votes import (
    CHECK,
    LEADERBOARD,
    left_share,
    misfit,
    side_bias,
    side_separable,
)
from dissensus.reports import evidence, votes
from dissensus.reports.contents import vote_lines
from dissensus.reports.evidence import Facts
from dissensus.reports.page import bounded, frame, model_facts, provenance
from dissensus.reports.sections import Part, Section, means_of
from dissensus.reports.sentences import environment, interval, joined
from dissensus.reports.svg import Shown, picture
from dissensus.reports.trust import Box
from dissensus.reports.votes import chain_warning, vote_sentences
from dissensus.sampling import convergence
from dissensus.sampling.intervals import spread
from dissensus.wording import capital, counted, share, short

_LIMIT: Final = 0.05
_Z: Final = 1.645
"""One-sided 5 % limit of a standard normal distribution."""
_MOST: Final = 0.5
"""Maximum share of the votes by one voter, or on one prompt, for the state "fine"."""
_FEW: Final = 3.0
"""Minimum number of voters that weigh as much, for the state "fine"."""
_PICTURE: Final = 30
"""Maximum number of systems in the picture."""


def page(evaluation: xr.DataTree, title: str | None = None) -> str:
    """Return the page as HTML."""
    data = evaluation["annotations"].to_dataset()
    checked = boxes(evaluation, page=True)
    warnings = votes.unreliable(evaluation, page=True)
    return (
        environment(page=True)
        .get_template("sections.html")
        .render(
            **frame(),
            title=title or _title(data),
            troubles=[],
            verdict=warnings + vote_sentences("headline", votes.headline(evaluation), page=True),
            lead_picture=_picture(evaluation),
            lead_table=votes.table(evaluation),
            boxes=checked,
            cautions=[],
            steps=vote_sentences("next", votes.next_facts(evaluation), page=True),
            next_table=votes.next_table(evaluation),
            opening={
                "data": vote_sentences("data", votes.data(evaluation), page=True),
                "intervals": vote_sentences("intervals", votes.intervals(evaluation), page=True),
            },
            sections=list(_parts(evaluation)),
            control={"reference": -1, "wanted": False, "values": []},
            data=[(name, bounded(value)) for name, value in vote_lines(vote_contents(data))],
            cards_of=[model_facts(evaluation)],
            diagnosis=[checked[0].reason],
            chains=[],
            provenance=provenance(evaluation),
        )
    )


def _title(data: xr.Dataset) -> str:
    votes_ = counted(data.sizes[VOTE], "vote")
    return f"{counted(data.sizes[SYSTEM], 'system')} by {votes_} on pairs"


def _parts(evaluation: xr.DataTree) -> Any:
    """Yield the collapsed sections."""
    n = evaluation[LEADERBOARD].sizes[SYSTEM]
    whole = votes.table(evaluation, n, "table-leaderboard")
    if len(whole.bodies[0].rows) > len(votes.table(evaluation).bodies[0].rows):
        yield Part("leaderboard", "All systems", Section([], [whole]))
    judge = votes.judge_table(evaluation)
    if judge is not None:
        words = vote_sentences("judge", votes.judge(evaluation), page=True)
        yield Part("judge", "What do the verdicts add, and whom do they favour?",
                   Section(words, [judge]))  # fmt: skip
    yield Part("better", "Which systems are better than which?",
               Section([], [votes.better_table(evaluation)]))  # fmt: skip
    fit = vote_sentences("fit", fit_facts(evaluation), page=True)
    yield Part("fit", "Do the votes fit the model, pair by pair?",
               Section(fit, [votes.check_table(evaluation)]))  # fmt: skip
    voters = votes.voter_table(evaluation)
    if voters is not None:
        yield Part("voters", "How do voters differ?", Section([], [voters]))


def _picture(evaluation: xr.DataTree) -> Shown:
    """Draw win rates with intervals, the best system first."""
    rows = summary(evaluation)
    draws = evaluation[LEADERBOARD].to_dataset()["win_rate"]
    facts = {"interval": evidence.interval_title(),
             "means": means_of(rows[:8].to_dict("records"), SYSTEM)}  # fmt: skip
    return picture(
        "win_rate", facts,
        lambda **size: plots.forest(draws, limit=_PICTURE, backend="matplotlib", **size),
        name="verdict",
    )  # fmt: skip


def boxes(evaluation: xr.DataTree, *, page: bool = False) -> list[Box]:
    """Return the checks of a leaderboard."""
    out = [_chains(evaluation), _fit(evaluation, page=page), _voters(evaluation),
           _connected(evaluation), side_box(evaluation)]  # fmt: skip
    return [box for box in out if box is not None]


def _chains(evaluation: xr.DataTree) -> Box:
    question = "Have the chains converged?"
    rule = (f"Fine means: {convergence.ESS:g} effective draws or more, r-hat {convergence.R_HAT:g} "
            "or less.")  # fmt: skip
    rows = summary(evaluation)
    attrs = evaluation["posterior"].attrs
    remedy = capital(f"{convergence.advice(attrs, int(evaluation.attrs['draws']))}.")
    if why := chain_warning(evaluation):
        return Box(question, "stop", f"No, for win rates: {why}.", rule, remedy)
    least = f"Win rates have {rows['ess_bulk'].min():,.0f} effective draws or more"
    if why := of_group(evaluation, "posterior"):
        worst = attrs.get("ess_bulk_min_item", "")
        reason = f"{least}, but other numbers have fewer ({why}; {short(worst)})."
        return Box(question, "careful", reason, rule, remedy)
    return Box(question, "fine", f"{least}.", rule)


def _fit(evaluation: xr.DataTree, *, page: bool) -> Box:
    facts = fit_facts(evaluation)
    state = "fine" if facts["p"] >= _LIMIT else "careful"
    remedy = "Report the shares of such pairs (below) beside the leaderboard"
    remedy += ": no order of systems describes a cycle." if facts["third"] else "."
    reason = joined(vote_sentences("fit", facts, page=page), page=page)
    return Box("Do the votes fit the model?", state, reason, f"Fine means: p {share(_LIMIT)} or "
               "more.", remedy if state != "fine" else "")  # fmt: skip


def fit_facts(evaluation: xr.DataTree) -> Facts:
    """Return the check of all pairs, the pair that fits worst, and a system in a cycle with it.

    The system's name is "" if there is no cycle.
    """
    data = evaluation[CHECK].to_dataset()
    p, apart = misfit(evaluation)
    worst = int(np.abs(apart).argmax())
    first, second = (int(data[f"{side}_code"][worst]) for side in ("first", "second"))
    won = _won(data, evaluation["annotations"].sizes[SYSTEM])
    parts = {part: float(values) for part, values in spread(data["replicated"][..., worst]).items()}
    if apart[worst] < 0:  # exchange: the first system must win more often than expected
        first, second = second, first
        parts = parts | {"lower": 1 - parts["upper"], "upper": 1 - parts["lower"]}
    names = evaluation["annotations"][SYSTEM].to_numpy().tolist()
    third = _circle(won, data, first, second)
    return {
        "p": p, "limit": _LIMIT, "first": names[first], "second": names[second],
        "observed": float(won[first, second]), "votes": int(data["votes"][worst]),
        "replicated": interval(parts), "third": "" if third is None else names[third],
        "wins": [] if third is None else [float(won[second, third]), float(won[third, first])],
    }  # fmt: skip


def _won(check: xr.Dataset, n: int) -> Any:
    """Return the share of votes that each system wins against each other one (system, system)."""
    out = np.full((n, n), np.nan)
    first, second = (check[f"{side}_code"].to_numpy() for side in ("first", "second"))
    out[first, second] = check["observed"].to_numpy()
    out[second, first] = 1 - out[first, second]
    return out


def _circle(won: Any, check: xr.Dataset, first: int, second: int) -> int | None:
    """Return a third system of a cycle: first beats second, second beats third, third beats first.

    Return None if there is none. A system beats another if its share of votes is significantly
    above 1/2 (one-sided level .05).
    """
    error = 0.5 / np.sqrt(votes_of_pairs(check, len(won)).clip(1))
    beats = np.nan_to_num((won - 0.5) / error) >= _Z
    third = np.flatnonzero(beats[second] & beats[:, first])
    return int(third[0]) if beats[first, second] and len(third) else None


def _voters(evaluation: xr.DataTree) -> Box:
    question = "Do voters differ, or do few voters or prompts decide?"
    rule = (
        f"Fine means: the votes weigh as much as those of {_FEW:g} equally active voters or more, "
        f"and no voter and no prompt has more than {share(_MOST)} of them."
    )
    known = vote_contents(evaluation["annotations"].to_dataset())
    reason, remedy = _of_voters(evaluation, known)
    prompt, n = known.get("most_votes_of_item", ("", 0))
    if n > _MOST * known["votes"] and known["items"] > 1:
        reason += f" Prompt {short(prompt)} has {share(n / known['votes'])} of the votes."
        remedy += (f" Collect votes on other prompts, or also evaluate the votes without prompt "
                   f"{short(prompt)}, and compare.")  # fmt: skip
    return Box(question, "careful" if remedy else "fine", reason, rule, remedy.lstrip())


def _of_voters(evaluation: xr.DataTree, known: dict[str, Any]) -> tuple[str, str]:
    """Return how voters differ, and a remedy if few of them decide."""
    if "annotators" not in known:
        reason = "The votes do not name voters. Votes of a voter are similar: intervals may be too "
        return f"{reason}narrow.", 'Name their column with annotator="...".'
    name, n = known["most_votes_of_annotator"]
    if known["annotators"] == 1:
        reason = f"All votes are by {short(name)}: the leaderboard is that of one voter."
        return reason, "Collect votes from other voters."
    part, weigh = n / known["votes"], known["effective_annotators"]
    reason = (f"{counted(known['annotators'], 'voter')}; the most active, voter {short(name)}, "
              f"gave {share(part)} of the votes.")  # fmt: skip
    remedy = ""
    if part > _MOST or weigh < _FEW:
        reason += f" All votes weigh as much as those of {weigh:.1f} equally active voters."
        remedy = (f"Collect votes from other voters, or also evaluate the votes without "
                  f"{short(name)}, and compare.")  # fmt: skip
    posterior = evaluation["posterior"].to_dataset()
    if "annotator_sharpness" in posterior:
        sharp = posterior["annotator_sharpness"].mean(SAMPLE).to_numpy()
        names = posterior[ANNOTATOR].to_numpy()
        low, high = (f"{share(sharp[n])} (voter {short(names[n])})"
                     for n in (sharp.argmin(), sharp.argmax()))  # fmt: skip
        reason += (f" Their sharpness goes from {low} to {high}, 1 being typical: the model takes "
                   "it into account.")  # fmt: skip
    if "annotator_taste_spread" in posterior:
        sd = share(float(posterior["annotator_taste_spread"].mean()))
        reason += (f" Their opinions of a system have a standard deviation of {sd} (logits): "
                   "intervals are for new voters, whose opinions vary as much.")  # fmt: skip
    return reason, remedy


def _connected(evaluation: xr.DataTree) -> Box:
    question = "Do votes connect all systems?"
    rule = "Fine means: each system is compared with every other, directly or by way of others."
    groups = vote_contents(evaluation["annotations"].to_dataset())["groups"]
    n = evaluation["annotations"].sizes[SYSTEM]
    if len(groups) == 1:
        seen = evaluation[CHECK].sizes[PAIR]
        total = n * (n - 1) // 2
        reason = f"Yes: there are votes on {seen:,} of the {total:,} pairs of systems."
        if total == 1:
            reason = "Yes: there are votes on the only pair of systems."
        return Box(question, "fine", reason, rule)
    names = " | ".join(shown(list(map(short, group)), 3) for group in groups[:4])
    first, second = (short(group[0]) for group in groups[:2])
    reason = f"No: systems are in {len(groups)} groups ({names}) that no votes compare. "
    remedy = f"Get votes on pairs of different groups, such as {first} and {second}."
    if not evaluation[LEADERBOARD]["group"].any():
        reason += "Only the verdicts determine how the groups compare."
        return Box(question, "careful", reason, rule, remedy)
    reason += "Only the prior determines how the groups compare."
    return Box(question, "stop", reason, rule, remedy)


_SIDES: Final = {
    "biased": ("careful", "Yes"), "possible": ("careful", "Perhaps"),
    "unknown": ("careful", "Unknown"), "confounded": ("careful", "Unknown"),
    "even": ("fine", "No"), "harmless": ("fine", "Hardly"),
}  # fmt: skip
"""The state of the box, and the first word of its answer."""


def side_box(evaluation: xr.DataTree) -> Box | None:
    """Return whether the side biases the order; None if the votes are few or name no sides."""
    question = "Does the side on which answers were shown bias the order?"
    rule = (
        "Fine means: systems were on the left about equally often, the advantage of the left is "
        "small, or the model estimates it."
    )
    state, reason, remedy = side_bias(evaluation)
    if state == "modelled":
        row = {part: float(value) for part, value in spread(left_share(evaluation)).items()}
        reason = (
            "No: the model estimates the advantage of the left. Of two equal answers, a typical "
            f"voter prefers the one on the left in {share(row['mean'])} of the votes "
            f"({evidence.level()} interval {interval(row)}), a tie as half."
        )
        return Box(question, "fine", reason, rule)
    if not state:
        return None
    if state == "unknown":
        remedy = (
            "If answers were not shown in the order of the table, name the columns of the sides "
            "on which they were shown (left=, right=). If they were, "
        )
        remedy += (
            "type side=True, which estimates the advantage of the left."
            if side_separable(evaluation)
            else "get votes with the sides exchanged."
        )
    level, answer = _SIDES[state]
    reason = reason if state == "confounded" else f"{answer}: {reason}"
    return Box(question, level, reason, rule, remedy if level != "fine" else "")
