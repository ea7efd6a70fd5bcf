"""Votes of Chatbot Arena and MT-Bench: a voter or judge compares the answers of two models.

The file is a table (.csv, .tsv, .json, .jsonl, .parquet) with one row for each vote:

* ``model_a`` and ``model_b``: the models; ``model_a`` is the system on the left;
* ``winner``: "model_a", "model_b", or a tie: "tie", "tie (bothbad)" or "both_bad" (neither answer
  is good), "tie (inconsistent)" (GPT-4 chose another answer when the order of answers was
  reversed). Or, as on Kaggle, three columns of 0 and 1: ``winner_model_a``, ``winner_model_b``,
  ``winner_tie``;
* ``judge`` (optional): the voter. A list, such as ["gpt-4", "pair-v2"], is one voter,
  "gpt-4,pair-v2";
* ``question_id`` or, without this column, ``id``: the item. With a column ``turn`` each turn of a
  question is an item ("81, turn 2"), because answers differ between turns.

The verdicts of a judge in the form of FastChat (``gpt-4_pair.jsonl``) are read too. A row with
``model_1``, ``model_2``, ``g1_winner`` and ``g2_winner`` ("model_1", "model_2" or "tie") is two
votes, the second with ``model_2`` on the left. A row without a verdict ("error") is refused.

``annotator=`` and ``item=`` name other columns. All ties are the same outcome; ``attrs["ties"]``
counts them by their words. Other columns are not read.

The result is a Dataset of votes on pairs, as from `dissensus.pairs`, for
`dissensus.models.bradley_terry`.

Structure: FastChat, ``fastchat/llm_judge`` (README.md, compute_agreement.py, common.py) and
``fastchat/serve/monitor/clean_battle_data.py``; cards of the data sets
lmsys/mt_bench_human_judgments, lmsys/chatbot_arena_conversations,
lmarena-ai/arena-human-preference-55k and lmarena-ai/arena-human-preference-140k.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import xarray as xr

from dissensus.data import tables
from dissensus.data.formats._any_table import read_table
from dissensus.data.formats._table import ReadOptions, Table
from dissensus.data.frames import require_columns
from dissensus.data.pairs import pairs
from dissensus.dims import ANNOTATOR, CLUSTER, ITEM, LABEL, POOL, STRATUM
from dissensus.errors import FormatError, brief, relocated, shown

SIDES: Final = ("model_a", "model_b")
TIES: Final = ("tie", "tie (bothbad)", "both_bad", "tie (inconsistent)")
"""The words for a tie."""

_WINNER: Final = "winner"
_QUESTION: Final = "question_id"
_TURN: Final = "turn"
_ONE_HOT: Final = {f"winner_{side}": side for side in (*SIDES, "tie")}
"""The winner that each column of 0 and 1 stands for."""
_GAMES: Final = ("g1_winner", "g2_winner")
"""The columns of a judge's two verdicts on a pair; the second has the sides exchanged."""
_MODELS: Final = ("model_1", "model_2")


def recognised(columns: Collection[str]) -> bool:
    """Return whether a table with these columns looks like votes of Chatbot Arena or MT-Bench."""
    votes = {*SIDES} <= {*columns} and (_WINNER in columns or {*_ONE_HOT} <= {*columns})
    return votes or {*_MODELS, *_GAMES} <= {*columns}


def read_annotations(path: Path, options: ReadOptions) -> xr.Dataset:
    """Read a table of votes."""
    refuse_labels("arena", options)
    table = read_table(path, options)
    if any(game in table.columns for game in _GAMES):
        table = _as_votes(table)
    columns, chosen = table.columns, _chosen(table, options)
    votes = {side: columns[side] for side in SIDES} | {_WINNER: _winners(table)}
    if ANNOTATOR in chosen:
        votes[ANNOTATOR] = columns[chosen[ANNOTATOR]].map(_voter)
    if ITEM in chosen:
        votes[ITEM] = columns[chosen[ITEM]]
        if chosen[ITEM] == _QUESTION and options.named(ITEM) is None and _TURN in columns:
            joined = votes[ITEM].astype(str).str.cat(columns[_TURN].astype(str), sep=", turn ")
            known = ~(tables.missing(votes[ITEM]) | tables.missing(columns[_TURN]))
            votes[ITEM] = joined.where(known)
    counts = votes[_WINNER].value_counts()
    ties = [f"{word}: {counts[word]}" for word in TIES if word in counts]
    options.notes["ties"] = ", ".join(ties) or "none"
    named = {role: role for role in (ANNOTATOR, ITEM) if role in votes}
    with relocated(table.place, table.name):
        return pairs(votes, *SIDES, _WINNER, **named, ties=TIES)


def _as_votes(table: Table) -> Table:
    """Return the verdicts of a judge as a table of votes: each pair has a row for each order."""
    _require([*_MODELS, *_GAMES], table)
    others = [name for name in (*SIDES, _WINNER) if name in table.columns]
    if others:
        raise FormatError(
            f"{table.name}: the columns", expected=f"either {shown([*SIDES, _WINNER])}, or "
            f"{shown([*_MODELS, *_GAMES])}", found=f"also {shown(others)}",
            hint="Delete the columns that are not to be read",
        )  # fmt: skip
    with relocated(table.place, table.name):  # check first: errors name columns of the file
        for name in _MODELS:
            tables.present(table.columns[name], name)
    frame, games = pd.DataFrame(dict(table.columns)), []
    same = np.flatnonzero((frame[_MODELS[0]] == frame[_MODELS[1]]).to_numpy())
    if len(same):
        raise FormatError(
            f"{table.name}: columns {shown(list(_MODELS))}", where=table.place(int(same[0])),
            expected="two different models",
            found=f"{brief(frame[_MODELS[0]].iloc[same[0]])} twice",
        )  # fmt: skip
    for game, sides in zip(_GAMES, (_MODELS, _MODELS[::-1]), strict=True):
        _require_words(
            table, game, [*_MODELS, "tie"],
            'Delete the rows without a verdict, such as "error"; FastChat leaves them out too.',
        )  # fmt: skip
        side_of = dict(zip(sides, SIDES, strict=True))
        winner = frame[game].replace(side_of)
        games.append(frame.rename(columns=side_of).assign(**{_WINNER: winner}))
    in_turns = pd.concat(games).sort_index(kind="stable", ignore_index=True)
    return Table(in_turns, table.name, place=lambda row: table.place(row // 2))


def refuse_labels(name: str, options: ReadOptions) -> None:
    """Raise if the caller passed an argument that votes on pairs do not have."""
    roles = (LABEL, "rank", "confidence", POOL, CLUSTER, STRATUM, "trial")
    options.refuse(name, "a vote has a winner, a voter and an item", *roles)
    for argument, value in {"kind": options.kind, "labels": options.labels}.items():
        if value is not None:
            expected = f'None with format="{name}" (the data are votes on pairs)'
            raise FormatError(f"{argument}=", expected=expected, found=brief(value))


def _chosen(table: Table, options: ReadOptions) -> dict[str, str]:
    """Return the names of the columns of voters and items, or raise if columns are missing."""
    columns = list(table.columns)
    one_hot = _WINNER not in columns and any(name in columns for name in _ONE_HOT)
    needed = [*SIDES, *(_ONE_HOT if one_hot else [_WINNER])]
    _require(needed, table)
    named = {role: name for role in (ANNOTATOR, ITEM) if (name := options.named(role))}
    require_columns(named, columns, FormatError, table.name)
    own = {ANNOTATOR: ("judge",), ITEM: (_QUESTION, "id")}
    for role, names in own.items():
        present = [name for name in names if name in columns]
        if role not in named and present:
            named[role] = present[0]
    return named


def _require(needed: list[str], table: Table) -> None:
    """Raise if columns are missing."""
    columns = list(table.columns)
    missing = [name for name in needed if name not in columns]
    if missing:
        raise FormatError(
            f"{table.name}: the columns", expected=shown(needed),
            found=f"no {shown(missing)} among {shown(columns, 12)}",
            hint="Rename the columns. For other tables of votes: dx.pairs(table, left=..., "
            "right=..., winner=...)",
        )  # fmt: skip


def _winners(table: Table) -> pd.Series[Any]:
    """Return the winner of each vote as a word, or raise if a vote has no winner."""
    columns = table.columns
    if _WINNER not in columns:
        return _of_one_hot(table)
    _require_words(
        table, _WINNER, [*SIDES, *TIES], "Delete rows without a winner. For other words, read the "
        "table yourself, and name the ties: dx.pairs(table, \"model_a\", \"model_b\", "
        f"ties={[*TIES[:1], '...']})",
    )  # fmt: skip
    return columns[_WINNER].astype(object)


def _require_words(table: Table, column: str, words: list[str], hint: str) -> None:
    """Raise unless a column has only these words."""
    cells = table.columns[column].astype(object)
    known = [isinstance(word, str) and word in words for word in cells]
    bad = np.flatnonzero(~np.array(known, dtype=bool))
    if len(bad):
        blank = tables.missing(cells)
        odd = list(dict.fromkeys("no value" if blank[n] else brief(cells[n]) for n in bad))
        raise FormatError(
            f"{table.name}: column {column!r}", where=table.place(int(bad[0])),
            expected=f"one of {shown(words, 6)}",
            found=f"{', '.join(odd[:5])} (such rows: {len(bad):,})", hint=hint,
        )  # fmt: skip


def _of_one_hot(table: Table) -> pd.Series[Any]:
    """Return the winner of each vote, from three columns of which exactly one must be 1."""
    with relocated(table.place, table.name):
        marks = np.stack([tables.numbers(table.columns[name], name) for name in _ONE_HOT], axis=1)
    bad = np.flatnonzero(~(np.isin(marks, (0, 1)).all(axis=1) & (marks.sum(axis=1) == 1)))
    if len(bad):
        raise FormatError(
            f"{table.name}: columns {shown(list(_ONE_HOT))}", where=table.place(int(bad[0])),
            expected="a 1 in one of them, 0 in the others",
            found=f"{', '.join(f'{mark:g}' for mark in marks[bad[0]])} (such rows: {len(bad):,})",
        )  # fmt: skip
    words = np.array(list(_ONE_HOT.values()), dtype=object)
    return pd.Series(words[marks.argmax(axis=1)])


def _voter(value: Any) -> Any:
    """Return the name of a voter; a list of names is one voter."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple | np.ndarray) else value
