"""The page of an evaluation of votes on pairs of systems."""

from __future__ import annotations

from typing import Any, Final

import xarray as xr

from dissensus import plots
from dissensus.data.contents import vote_contents
from dissensus.dims import SYSTEM, VOTE
from dissensus.evaluation.evidence import summary
from dissensus.evaluation.votes import LEADERBOARD
from dissensus.reports import evidence, votes, votes_trust
from dissensus.reports.contents import vote_lines
from dissensus.reports.page import bounded, frame, model_facts, provenance
from dissensus.reports.sections import Part, Section, means_of
from dissensus.reports.sentences import environment
from dissensus.reports.svg import Shown, picture
from dissensus.wording import counted

_PICTURE: Final = 30
"""Most systems of the picture."""


def page(evaluation: xr.DataTree, title: str | None = None) -> str:
    """Return the page as text."""
    data = evaluation["annotations"].to_dataset()
    boxes = votes_trust.boxes(evaluation, page=True)
    doubts = votes.unreliable(evaluation, page=True)
    return (
        environment(page=True)
        .get_template("sections.html")
        .render(
            **frame(),
            title=title or _title(data),
            troubles=[],
            verdict=doubts + votes.said("headline", votes.headline(evaluation), page=True),
            lead_picture=_picture(evaluation),
            lead_table=votes.table(evaluation),
            boxes=boxes,
            cautions=[],
            steps=votes.said("next", votes.next_facts(evaluation), page=True),
            next_table=votes.next_table(evaluation),
            opening={
                "data": votes.said("data", votes.data(evaluation), page=True),
                "intervals": votes.said("intervals", votes.intervals(evaluation), page=True),
            },
            sections=list(_parts(evaluation)),
            control={"reference": -1, "wanted": False, "values": []},
            data=[(name, bounded(value)) for name, value in vote_lines(vote_contents(data))],
            cards_of=[model_facts(evaluation)],
            diagnosis=[boxes[0].reason],
            chains=[],
            provenance=provenance(evaluation),
        )
    )


def _title(data: xr.Dataset) -> str:
    votes_ = counted(data.sizes[VOTE], "vote")
    return f"{counted(data.sizes[SYSTEM], 'system')} by {votes_} on pairs"


def _parts(evaluation: xr.DataTree) -> Any:
    """Yield the closed sections."""
    n = evaluation[LEADERBOARD].sizes[SYSTEM]
    whole = votes.table(evaluation, n, "table-leaderboard")
    if len(whole.bodies[0].rows) > len(votes.table(evaluation).bodies[0].rows):
        yield Part("leaderboard", "All systems", Section([], [whole]))
    judge = votes.judge_table(evaluation)
    if judge is not None:
        words = votes.said("judge", votes.judge(evaluation), page=True)
        yield Part("judge", "What do the verdicts add, and whom do they favour?",
                   Section(words, [judge]))  # fmt: skip
    yield Part("better", "Which systems are better than which?",
               Section([], [votes.better_table(evaluation)]))  # fmt: skip
    fit = votes.said("fit", votes_trust.fit_facts(evaluation), page=True)
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
