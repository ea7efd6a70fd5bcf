"""Facts and tables about votes on pairs of systems: verdict, leaderboard, judges, next votes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr

from dissensus.data.contents import vote_contents
from dissensus.dims import ANNOTATOR, ITEM, JUDGE, PAIR, SAMPLE, SYSTEM, VOTE, other
from dissensus.evaluation.doubts import DOUBT, reasons
from dissensus.evaluation.evidence import summary
from dissensus.evaluation.next_votes import SURE, next_votes
from dissensus.evaluation.votes import (
    ALONE,
    CHECK,
    COMPARISON,
    LEADERBOARD,
    misfit,
    unconnected_reason,
)
from dissensus.reports import evidence
from dissensus.reports.evidence import Facts
from dissensus.reports.sentences import Name, interval, sentences
from dissensus.reports.tables import Body, Table, between
from dissensus.reports.verdict import LIKELY
from dissensus.sampling.intervals import spread
from dissensus.wording import counted, left_out_note, percent, probability, share

SOURCE: Final = "vote_sentences.html"
_ROWS: Final = 20
_MATRIX: Final = 20
_STEPS: Final = 5
_MANY: Final = 10
"""Maximum number of further votes that are suggested, as a multiple of all votes."""
_RANDOM: Final = 0.5
"""If a voter's sharpness is below this with probability `SURE`, the votes hardly depend on the
systems: the voter votes at random, or by something else, such as the side."""


def vote_sentences(topic: str, facts: Facts, *, page: bool = False) -> list[str]:
    """Return the sentences of a topic about votes."""
    return sentences(topic, facts, page=page, source=SOURCE)


def chain_warning(evaluation: xr.DataTree) -> str:
    """Return the reason not to rely on win rates because chains are too short, or ""."""
    shared = unconnected_reason(evaluation)
    return reasons(
        text.removesuffix(shared).removesuffix("; ") for text in summary(evaluation)[DOUBT]
    )


def unreliable(evaluation: xr.DataTree, *, page: bool = False) -> list[str]:
    """Return a warning if the chains of win rates are too short, else an empty list."""
    why = chain_warning(evaluation)
    return sentences("unreliable", {"reason": why} if why else {}, page=page)


def data(evaluation: xr.DataTree) -> Facts:
    """Return the numbers of votes, systems, voters and prompts."""
    known = vote_contents(evaluation["annotations"].to_dataset())
    facts: Facts = {
        "votes": counted(known["votes"], "vote"),
        "systems": counted(len(known["systems"]), "system"),
        "voters": counted(known["annotators"], "voter") if "annotators" in known else "",
        "prompts": counted(known["items"], "prompt") if "items" in known else "",
        "ties": round(known["ties"] / known["votes"], 2), "verdicts": "",
    }  # fmt: skip
    if "predictions" in evaluation.children:
        verdicts = evaluation["predictions"].to_dataset()
        facts |= {"judges": _judges(evaluation), "verdicts": _judged(verdicts)}
    return facts


def _judges(evaluation: xr.DataTree) -> list[Any]:
    return evaluation["posterior"]["judge"].to_numpy().tolist()


def _judged(verdicts: xr.Dataset) -> str:
    """Return, in words, how many different pairs of answers the judges compared."""
    sides = np.sort([verdicts[f"{side}_code"].to_numpy() for side in ("left", "right")], axis=0)
    pairs = np.unique(np.stack([*sides, verdicts["item_code"].to_numpy()]), axis=1)
    return counted(pairs.shape[1], "pair of answers", "pairs of answers")


def headline(evaluation: xr.DataTree) -> Facts:
    """Return the best system, its probability, and the neighbours that cannot be told apart."""
    rows = summary(evaluation)
    first, second = (rows.iloc[place] for place in (0, 1))
    best = float(first["probability_best"])
    return {
        "name": first[SYSTEM], "n": len(rows), "best": best, "level": evidence.level(),
        "state": "sure" if best >= SURE else "likely" if best >= LIKELY else "open",
        "share": percent(round(first["mean"], 2)), "interval": _in_percent(first),
        "second": second[SYSTEM], "second_share": percent(round(second["mean"], 2)),
        "pairs": _in_order(evaluation, rows), "groups": _groups(evaluation),
        "n_groups": int(evaluation[LEADERBOARD]["group"].max()) + 1,
        "turned": not rows["mean"].is_monotonic_decreasing,
    }  # fmt: skip


def _groups(evaluation: xr.DataTree) -> list[Facts]:
    """Return the best system of each group; no votes compare systems of different groups.

    The list is empty if all systems are in one group. Groups of one system are left out.
    """
    board, out = evaluation[LEADERBOARD].to_dataset(), []
    values = board[board.attrs["order"]].transpose(*SAMPLE, SYSTEM)
    for n in range(int(board["group"].max()) + 1 if unconnected_reason(evaluation) else 0):
        own = values[..., (board["group"] == n).to_numpy()]
        best = np.bincount(own.argmax(SYSTEM).to_numpy().ravel(), minlength=own.sizes[SYSTEM])
        first = int(best.argmax())
        out.append({"name": own[SYSTEM][first].item(), "n": own.sizes[SYSTEM],
                    "best": float(best[first] / best.sum())})  # fmt: skip
    return sorted((group for group in out if group["n"] > 1), key=lambda group: -group["n"])


def _in_percent(row: Any) -> str:
    return f"{100 * row['lower']:.0f} to {percent(round(row['upper'], 2))}"


def _in_order(evaluation: xr.DataTree, rows: Any) -> list[Any]:
    """Return the neighbours that cannot be told apart, the best first."""
    place = {name: n for n, name in enumerate(rows[SYSTEM])}
    pairs = next_votes(evaluation).to_dict("records")
    return sorted(pairs, key=lambda pair: place[pair["first"]])


def intervals(evaluation: xr.DataTree) -> Facts:
    """Return the kind of the intervals, and the prompts to which win rates refer."""
    votes = evaluation["annotations"]
    n = votes.sizes.get(ITEM, 0)
    verdicts = "predictions" in evaluation.children
    return {
        "name": evidence.interval_title(), "scope": evaluation[LEADERBOARD].attrs["scope"],
        "prompts": f"the {counted(n, 'prompt')}", "verdicts": verdicts,
        "tastes": "annotator_taste_spread" in evaluation["posterior"],
        "judged": _judged(evaluation["predictions"].to_dataset()) if verdicts else "",
    }  # fmt: skip


def table(evaluation: xr.DataTree, most: int = _ROWS, name: str = "table-verdict") -> Table:
    """Return the leaderboard: win rates, ranks, the probability to be the best, and votes."""
    rows, level = summary(evaluation), evidence.level()
    d = evidence.digits(rows)
    head = ["System", "Win rate", f"Interval, {level}", f"Rank, {level}", "P(best)", "Votes"]
    body = [
        [Name(row[SYSTEM]), share(row["mean"], d), between(row, d), _ranks(row),
         probability(row["probability_best"]), f"{row['votes']:,}"]
        for row in rows[:most].to_dict("records")
    ]  # fmt: skip
    left = len(rows) - len(body)
    verb = "is" if left == 1 else "are"
    note = f"{counted(left, 'system')} with {_less(evaluation)} {verb} in a table below."
    note = note if left else ""
    return Table(name, "Leaderboard", list(head), [Body(-1, body)], note, stacked=True,
                 reason=reasons(rows[DOUBT]))  # fmt: skip


def _less(evaluation: xr.DataTree) -> str:
    """Return in words what the systems have that a table leaves out: a smaller value."""
    by_strength = evaluation[LEADERBOARD].attrs["order"] == "strength"
    return "less strength" if by_strength else "lower win rates"


def _ranks(row: Any) -> str:
    low, high = row["rank_lower"], row["rank_upper"]
    return f"{low}" if low == high else f"{low} to {high}"


def better_table(evaluation: xr.DataTree) -> Table:
    """Return the probability that the system of a row is better than that of a column."""
    names = summary(evaluation)[SYSTEM].tolist()
    shown = names[:_MATRIX]
    pairs = evaluation[COMPARISON].to_dataset()["probability_better"]
    matrix = pairs.sel({SYSTEM: shown, other(SYSTEM): shown}).to_numpy()
    rows = [
        [Name(name), *("" if i == j else float(matrix[i, j]) for j in range(len(shown)))]
        for i, name in enumerate(shown)
    ]
    left = len(names) - len(shown)
    note = left_out_note(left, "system", f"with {_less(evaluation)}")
    return Table("table-better", "P(row better than column)", ["", *map(Name, shown)],
                 [Body(-1, rows)], note, tinted=True)  # fmt: skip


def check_table(evaluation: xr.DataTree) -> Table:
    """Return the pairs whose shares of votes won differ most from what the model expects."""
    data = evaluation[CHECK].to_dataset()
    _, distance = misfit(evaluation)
    parts = spread(data["replicated"])
    names = evaluation["annotations"][SYSTEM].to_numpy()
    rows = []
    for place in np.argsort(-np.abs(distance), kind="stable")[:_ROWS].tolist():
        here = data.isel({PAIR: place})
        row = {part: float(values[place]) for part, values in parts.items()}
        rows.append([Name(names[int(here["first_code"])]), Name(names[int(here["second_code"])]),
                     f"{int(here['votes']):,}", share(float(here["observed"])),
                     interval(row)])  # fmt: skip
    left = data.sizes[PAIR] - len(rows)
    note = left_out_note(left, "pair", "nearer to the model's expectation")
    head = ["System", "Against", "Votes", "Share won", f"Replicated, {evidence.level()}"]
    return Table("table-check", "Shares of votes won, the least expected first", list(head),
                 [Body(-1, rows)], note)  # fmt: skip


def voter_table(evaluation: xr.DataTree) -> Table | None:
    """Return votes and sharpness of voters, those with most votes first."""
    posterior = evaluation["posterior"].to_dataset()
    if "annotator_sharpness" not in posterior:
        return None
    draws, votes = posterior["annotator_sharpness"], evaluation["annotations"]
    count = np.bincount(votes["annotator_code"].to_numpy(), minlength=draws.sizes[ANNOTATOR])
    parts, names = spread(draws), draws[ANNOTATOR].to_numpy()
    rows = []
    for place in np.argsort(-count, kind="stable")[:_ROWS].tolist():
        row = {part: float(values[place]) for part, values in parts.items()}
        rows.append([Name(names[place]), f"{count[place]:,}", share(row["mean"]), interval(row)])
    left = len(names) - len(rows)
    note = left_out_note(left, "voter", "with fewer votes")
    head = ["Voter", "Votes", "Sharpness (1: typical)", f"Interval, {evidence.level()}"]
    return Table("table-voters", "Voters", list(head), [Body(-1, rows)], note)


# The judge.


def judge(evaluation: xr.DataTree) -> Facts:
    """Return how many votes the verdicts are worth, and which systems the verdicts favour."""
    if ALONE not in evaluation.children:
        return {}
    known = evaluation[ALONE][SYSTEM].to_numpy()  # other systems have only verdicts
    now, alone = (
        float(evaluation[group]["strength"].sel({SYSTEM: known}).var(SAMPLE).mean())
        for group in (LEADERBOARD, ALONE)
    )
    board, verdict_shares = evaluation[LEADERBOARD].to_dataset(), _by_verdicts(evaluation)
    parts = spread(board["win_rate"])
    names = verdict_shares[SYSTEM].to_numpy()
    n = evaluation["annotations"].sizes[VOTE]
    worth = (alone / now - 1) * n
    size = 10 ** max(int(np.floor(np.log10(max(worth, 1)))) - 1, 0)  # rounds to two digits
    return {
        "judges": _judges(evaluation), "votes": n, "worth": int(round(worth / size) * size),
        "favoured": names[(verdict_shares > parts["upper"]).to_numpy()].tolist(),
        "disfavoured": names[(verdict_shares < parts["lower"]).to_numpy()].tolist(),
    }  # fmt: skip


def _by_verdicts(evaluation: xr.DataTree) -> xr.DataArray:
    """Return the share of its judged pairs that each system wins (system); ties count half."""
    known = evaluation["constant_data"].to_dataset()
    won = 0.5 + 0.5 * known["verdict"].mean(JUDGE).to_numpy()
    sides = np.concatenate([known["pair_left"], known["pair_right"]])
    names = evaluation[LEADERBOARD][SYSTEM]
    total = np.bincount(sides, np.concatenate([won, 1.0 - won]), minlength=len(names))
    share_won = total / np.maximum(np.bincount(sides, minlength=len(names)), 1)
    return xr.DataArray(share_won, dims=SYSTEM, coords={SYSTEM: names.to_numpy()})


def judge_table(evaluation: xr.DataTree) -> Table | None:
    """Return win rates with and without verdicts, and by the verdicts alone."""
    if ALONE not in evaluation.children:
        return None
    rows = summary(evaluation).set_index(SYSTEM)
    alone = spread(evaluation[ALONE].to_dataset()["win_rate"].reindex({SYSTEM: rows.index}))
    verdict_shares = _by_verdicts(evaluation)
    body = []
    for name in rows.index[:_ROWS]:
        before = {part: float(values.sel({SYSTEM: name})) for part, values in alone.items()}
        body.append([Name(name), interval(rows.loc[name]), interval(before),
                     share(float(verdict_shares.sel({SYSTEM: name})))])  # fmt: skip
    head = ["System", f"Win rate, {evidence.level()}", "From votes alone", "By the verdicts"]
    note = "By the verdicts: the share of its judged pairs that a system wins, a tie as half."
    return Table("table-judge", "Win rates with and without verdicts", list(head),
                 [Body(-1, body)], note)  # fmt: skip


# The next votes.


def next_facts(evaluation: xr.DataTree) -> Facts:
    """Return the pairs whose order the fewest votes would settle, and voters to ask."""
    if chain_warning(evaluation):
        return {"unreliable": True}
    pairs = next_votes(evaluation)
    votes = evaluation["annotations"].to_dataset()
    most = _MANY * votes.sizes[VOTE]
    groups = vote_contents(votes)["groups"]
    cheap = pairs[pairs["more"] <= most]
    posterior = evaluation["posterior"].to_dataset()
    random: list[Any] = []
    if "annotator_sharpness" in posterior:
        draws = posterior["annotator_sharpness"]
        dull = ((draws < _RANDOM).mean(SAMPLE) >= SURE).to_numpy()
        random = draws[ANNOTATOR].to_numpy()[dull].tolist()
    costly = pairs[pairs["more"] > most].to_dict("records")
    return {
        "groups": [group[0] for group in groups[:2]] if len(groups) > 1 else [],
        "pairs": [row | {"more": _rounded(row["more"])}
                  for row in cheap[:_STEPS].to_dict("records")],
        "costly": costly, "random": random, "unreliable": False,
        "tastes": "annotator_taste_spread" in posterior,
    }  # fmt: skip


_LEAST: Final = 10.0


def _rounded(n: float) -> str:
    """Write a number of votes, 10 or more, with two digits, rounded up: it is an extrapolation."""
    n = max(n, _LEAST)
    size = 10 ** max(int(np.floor(np.log10(n))) - 1, 0)
    return f"{int(np.ceil(n / size)) * size:,}"


def next_table(evaluation: xr.DataTree) -> Table | None:
    """Return all neighbours whose order is not settled, and how many votes settle it."""
    pairs = next_votes(evaluation)
    if len(pairs) <= _STEPS or chain_warning(evaluation):
        return None
    most = _MANY * evaluation["annotations"].sizes[VOTE]
    rows = [
        [Name(row["first"]), Name(row["second"]), probability(row["better"]), f"{row['votes']:,}",
         _rounded(row["more"]) if row["more"] <= most else f"> {most:,}"]
        for row in pairs[:_ROWS].to_dict("records")
    ]  # fmt: skip
    left = len(pairs) - len(rows)
    note = left_out_note(left, "pair", "with more votes needed")
    head = ["System", "Against", "P(better)", "Votes so far", "More votes, about"]
    return Table("table-next", "Votes that would settle the order of neighbours", list(head),
                 [Body(-1, rows)], note)  # fmt: skip
