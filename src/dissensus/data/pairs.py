"""Read votes on pairs of systems: a voter prefers one of two answers, or calls them a tie.

Votes are an `xarray.Dataset` with the dim ``vote``. Variables are integer codes of names in the
index coordinates:

==================  =====  =============================================================
variable            dims   meaning
==================  =====  =============================================================
``left_code``       vote   place of the system on the left in the coordinate ``system``
``right_code``      vote   place of the system on the right
``outcome``         vote   0 left, 1 tie, 2 right
``annotator_code``  vote   place of the voter in ``annotator`` (optional)
``item_code``       vote   place of the prompt in ``item`` (optional)
==================  =====  =============================================================

The attribute ``kind`` is "pair".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import xarray as xr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dissensus.data import tables
from dissensus.data.frames import columns
from dissensus.dims import ANNOTATOR, ITEM, SYSTEM, VOTE
from dissensus.errors import AnnotationError, brief, misspelt, shown
from dissensus.kernels.types import Array, Flags, Ints

OUTCOMES: Final = ("left", "tie", "right")
"""The meaning of an outcome's codes 0, 1 and 2."""
_TIE: Final = "tie"


def pairs(
    frame: Any,
    left: str = "left",
    right: str = "right",
    winner: str = "winner",
    annotator: str | None = None,
    item: str | None = None,
    *,
    ties: Sequence[Any] | str = _TIE,
) -> xr.Dataset:
    """Read votes on pairs of systems from a table with one row for each vote.

    Parameters
    ----------
    frame : dataframe, mapping of columns, or rows
        As in `dissensus.annotations`.
    left, right : str
        Columns of the two systems. If voters saw one answer before the other, ``left`` must be the
        system of the first answer.
    winner : str
        Column of the winner: the word "left" or "right", the name of one of the two columns of
        systems, the name of the system that won, or a word of ``ties``.
    annotator : str, optional
        Column of voters. Votes of one voter are correlated: without this column intervals may be
        too narrow.
    item : str, optional
        Column of prompts, or of other items that the systems answered. Votes on one prompt are
        correlated too.
    ties : str or list
        The word for a tie, or a list of words that all mean a tie.

    Returns
    -------
    xarray.Dataset
        Votes for `dissensus.models.bradley_terry`: over ``vote``, with ``left_code``,
        ``right_code``, ``outcome`` (0 left, 1 tie, 2 right), and, if the columns are named,
        ``annotator_code`` and ``item_code``.

    Raises
    ------
    AnnotationError
        If columns or entries are missing, a winner is none of these words, or a system is paired
        with itself.

    Examples
    --------
    >>> import dissensus as dx
    >>> votes = dx.pairs({
    ...     "left": ["a", "b", "a"], "right": ["b", "c", "c"], "winner": ["left", "c", "tie"]})
    >>> votes["outcome"].values
    array([0, 2, 1])
    >>> votes["system"].values.tolist()
    ['a', 'b', 'c']
    """
    wanted = {
        "left": left, "right": right, "winner": winner, "annotator": annotator, "item": item,
    }  # fmt: skip
    column = columns(
        frame, wanted, needed=("left", "right", "winner"),
        hint="For a table of winners and losers, type left='winner', right='loser'",
    )  # fmt: skip
    sides = {side: tables.encode(column[side], str(wanted[side])) for side in ("left", "right")}
    systems, codes = _together(sides)
    same = np.flatnonzero(codes["left"] == codes["right"])
    if len(same):
        raise AnnotationError(
            f"columns {str(left)!r} and {str(right)!r}", where=f"row {same[0]}",
            expected="two different systems",
            found=f"{brief(systems[codes['left'][same[0]]].item())} on both sides (such rows: "
            f"{len(same):,})",
            hint="Delete votes on a system and itself: they compare nothing",
        )  # fmt: skip
    won = tables.encode(column["winner"], str(winner))
    words = {"left": ("left", str(left)), "right": ("right", str(right)), _TIE: _words(ties)}
    data = {
        "left_code": codes["left"], "right_code": codes["right"],
        "outcome": _outcomes(won, words, systems, codes, str(winner)),
    }  # fmt: skip
    coords = {SYSTEM: systems}
    for dim in (ANNOTATOR, ITEM):
        if dim in column:
            names = tables.encode(column[dim], str(wanted[dim]), sort=True)
            data[f"{dim}_code"], coords[dim] = names.codes, names.values
    return xr.Dataset(
        {name: (VOTE, values) for name, values in data.items()}, coords, {"kind": "pair"}
    )


def _words(ties: Any) -> tuple[Any, ...]:
    """Return the argument ``ties`` as a tuple of words, or raise."""
    out = (ties,) if isinstance(ties, str) else tuple(ties) if isinstance(ties, Sequence) else ()
    if not out:
        raise AnnotationError(
            "ties", expected="a word of the column of winners, or a list of them", found=brief(ties)
        )
    return out


def _together(sides: dict[str, tables.Encoded]) -> tuple[Array, dict[str, Ints]]:
    """Return the sorted names of all systems, and the codes of the systems on each side."""
    left, right = sides["left"].values, sides["right"].values
    numbers = [side.dtype.kind in "if" for side in (left, right)]
    if numbers[0] != numbers[1]:  # one side has text, the other numbers
        left, right = (np.array([_name(x) for x in side.tolist()]) for side in (left, right))
    names = np.unique(np.concatenate([left, right]))
    return names, {
        side: np.searchsorted(names, values)[sides[side].codes]
        for side, values in (("left", left), ("right", right))
    }


def _name(value: Any) -> str:
    """Return a name as text; 4.0 becomes "4"."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _outcomes(
    won: tables.Encoded, words: dict[str, tuple[Any, ...]], systems: Array, codes: dict[str, Ints],
    column: str,
) -> Ints:  # fmt: skip
    """Return the outcome of each vote as a code.

    Raise if a word in the column of winners means no outcome, or several. ``words`` has the words
    for each outcome, ``codes`` the systems on each side.
    """
    known = {_name(name): code for code, name in enumerate(systems.tolist())}
    winner_words = [_name(value) for value in won.values.tolist()]
    taken: dict[str, str] = {}
    for side, side_words in words.items():
        for word in map(_name, side_words):
            if taken.setdefault(word, side) != side and word in winner_words:
                raise AnnotationError(
                    f"column {column!r}", expected="words with one meaning",
                    found=f"{word!r}, for {taken[word]} as well as for {side}",
                    hint="Rename the column of a side, or choose other words for ties=",
                )  # fmt: skip
    both = sorted(known.keys() & taken.keys() & set(winner_words))
    if both:
        raise AnnotationError(
            f"column {column!r}", expected="words with one meaning",
            found=f"{shown(both)}: a system, and a word for a side or a tie",
            hint="Rename the system" if taken[both[0]] != _TIE else "Name the tie with ties=",
        )  # fmt: skip
    place = np.array(
        [OUTCOMES.index(taken[word]) if word in taken else -1 for word in winner_words]
    )
    named = np.array([known.get(word, -1) for word in winner_words])
    out, named = place[won.codes], named[won.codes]
    by_name = named >= 0
    out[by_name & (named == codes["left"])] = 0
    out[by_name & (named == codes["right"])] = 2
    _require_outcomes(out < 0, won, systems, codes, column, list(taken), words[_TIE])
    return out


def _require_outcomes(
    bad: Flags, won: tables.Encoded, systems: Array, codes: dict[str, Ints],
    column: str, words: list[str], ties: tuple[Any, ...],
) -> None:  # fmt: skip
    """Raise if the winner of some votes is no known word; ``bad`` (vote) marks these votes."""
    if not bad.any():
        return
    row = int(np.flatnonzero(bad)[0])
    pair = shown([systems[codes["left"][row]], systems[codes["right"][row]]])
    odd = won.values[np.unique(won.codes[bad])].tolist()
    known = {_name(name) for name in systems.tolist()}
    others = [word for word in odd if _name(word) not in known]
    hint = "The winner must be one of the two systems of its row"
    sides = sorted(others, key=_name)
    both = tuple(_name(word).lower() for word in sides)
    if both in _SIDES and {_name(x) for x in won.values.tolist()} <= {*map(_name, [*odd, *ties])}:
        hint = (
            f"If these are the sides, type frame[{column!r}].replace({{{sides[0]!r}: 'left', "
            f"{sides[1]!r}: 'right'}})"
        )
    elif others:
        hint = f"If it means a tie, type ties={[*ties, *others][:5]}"
        if len(others) > 1:
            hint += "; words for the sides are the names of their columns: rename these"
    raise AnnotationError(
        f"column {column!r}", where=f"row {row}",
        expected=f"one of {shown(words, 7)}, or one of the systems of the row, {pair}",
        found=f"{brief(won.values[won.codes[row]].item())} (such rows: {bad.sum():,}"
        + (f", with {shown(odd)})" if len(odd) > 1 else ")"),
        hint=misspelt(others, [*words, *systems.tolist()]) + hint,
    )  # fmt: skip


_SIDES: Final = {("a", "b"), ("1", "2"), ("first", "second")}
"""Pairs of words that usually mean the left and the right side, in this order."""


def are_votes(data: Any) -> bool:
    """Return whether data are votes on pairs.

    Examples
    --------
    >>> are_votes(pairs({"left": ["a"], "right": ["b"], "winner": ["a"]})), are_votes(None)
    (True, False)
    """
    kind = data.attrs.get("kind") if isinstance(data, xr.Dataset) else None
    return isinstance(kind, str) and kind == "pair"


_DISTINCT: Final = 20
"""With fewer different votes, all votes may occur equally often by chance."""


def copies(pairs: xr.Dataset) -> str:
    """Return a warning if the counts of all different votes have a common factor, else "".

    This happens if joining tables has repeated every row.

    Examples
    --------
    >>> names = [f"s{k}" for k in range(21)]
    >>> once = {"left": names[:-1], "right": names[1:], "winner": ["left"] * 20}
    >>> copies(pairs(once)), copies(pairs({name: 2 * list(x) for name, x in once.items()}))[:30]
    ('', 'Each vote occurs 2 times: the ')
    """
    key = np.zeros(pairs.sizes[VOTE], dtype=np.int64)
    for name in pairs.data_vars:
        code = pairs[name].to_numpy()
        key = np.unique(key * (int(code.max()) + 1) + code, return_inverse=True)[1]
    counts = np.bincount(key)
    times = int(np.gcd.reduce(counts))
    if times < 2 or len(counts) < _DISTINCT:
        return ""
    multiples = " or a multiple of this" if counts.max() > times else ""
    return (
        f"Each vote occurs {times} times{multiples}: the {pairs.sizes[VOTE]:,} rows contain "
        f"{len(counts):,} different votes. If tables were joined twice, intervals are too narrow: "
        "drop the copies (frame.drop_duplicates())"
    )


def system_groups(left: Ints, right: Ints, n: int) -> Ints:
    """Return the group of each of n systems (system): a vote on two systems joins their groups.

    >>> system_groups(np.array([0, 2]), np.array([1, 3]), 4)
    array([0, 0, 1, 1])
    """
    _, group = connected_components(coo_array((np.ones(len(left)), (left, right)), (n, n)))
    return np.asarray(group, dtype=np.int64)


def checked_pairs(pairs: Any) -> xr.Dataset:
    """Return votes on pairs without voters who have no vote, or raise if the data are not votes."""
    if not are_votes(pairs):
        of_systems = isinstance(pairs, xr.Dataset) and SYSTEM in pairs.dims
        kind = pairs.attrs.get("kind") if isinstance(pairs, xr.Dataset) else None
        raise AnnotationError(
            "pairs",
            expected="an xarray.Dataset of votes on pairs, from dissensus.pairs, for the model "
            "bradley_terry",
            found="predictions" if of_systems else repr(kind) if kind else brief(pairs),
            hint='Type dx.pairs(table, left="...", right="...", winner="...")',
        )  # fmt: skip
    needed = ["left_code", "right_code", "outcome"]
    lacking = [name for name in needed if name not in pairs] + (
        [] if SYSTEM in pairs.coords else [SYSTEM]
    )
    if lacking:
        raise AnnotationError(
            "pairs", expected=f"the variables {shown(needed)} and the coordinate {SYSTEM!r}",
            found=f"no {shown(lacking)}",
        )  # fmt: skip
    bounds = {"outcome": len(OUTCOMES), "left_code": pairs.sizes[SYSTEM]}
    bounds["right_code"] = bounds["left_code"]
    bounds |= {f"{dim}_code": pairs.sizes[dim] for dim in (ANNOTATOR, ITEM) if dim in pairs.coords}
    for name, n in bounds.items():
        values = pairs[name].to_numpy() if name in pairs else np.empty(0)
        if values.shape != (pairs.sizes[VOTE],) or values.dtype.kind not in "iu":
            raise AnnotationError(
                f"variable {name!r}", expected=f"whole numbers over {VOTE!r}",
                found=f"{values.dtype} of shape {values.shape}",
            )  # fmt: skip
        if len(values) == 0 or not ((values >= 0) & (values < n)).all():
            raise AnnotationError(
                f"variable {name!r}", expected=f"one or more votes, with codes from 0 to {n - 1}",
                found=f"codes from {values.min()} to {values.max()}" if len(values) else "no votes",
            )  # fmt: skip
    if ANNOTATOR in pairs.coords:  # after a selection of votes, some voters may have no vote
        used, code = np.unique(pairs["annotator_code"].to_numpy(), return_inverse=True)
        if len(used) < pairs.sizes[ANNOTATOR]:
            return pairs.isel({ANNOTATOR: used}).assign(annotator_code=(VOTE, code))
    return pairs
