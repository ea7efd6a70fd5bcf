"""A collection of all problems in the records of a file, to report them in one error."""

from __future__ import annotations

from typing import NamedTuple

from dissensus.errors import FormatError


class _Rule(NamedTuple):
    expected: str
    hint: str


class Problems:
    """Collects records that break a rule; `check` raises one error about all of them.

    Examples
    --------
    >>> problems = Problems("a.json", "records")
    >>> problems.add("record 1", "a label", "nothing", "Delete it")
    >>> problems.add("record 4", "a label", "{}", "Delete it")
    >>> problems.add("record 2", "an id", "none")
    >>> problems.check()
    Traceback (most recent call last):
    ...
    dissensus.errors.FormatError: a.json, record 1: expected a label; found nothing (such records:
    2, the next is record 4). Delete it. Also record 2: expected an id; found none
    """

    def __init__(self, source: str, noun: str) -> None:
        self._source = source
        self._noun = noun
        self._cases_by_rule: dict[_Rule, list[tuple[str, str]]] = {}

    def add(self, where: str, expected: str, found: str, hint: str = "") -> None:
        """Note that a record breaks a rule."""
        self._cases_by_rule.setdefault(_Rule(expected, hint), []).append((where, found))

    def check(self) -> None:
        """Raise one error about all problems, if there are any."""
        if not self._cases_by_rule:
            return
        (first, cases), *others = self._cases_by_rule.items()
        more = [
            f"Also {c[0][0]}: expected {rule.expected}; found {self._in_words(c)}"
            + (f". {rule.hint}" if rule.hint else "")
            for rule, c in others
        ]
        raise FormatError(
            self._source, where=cases[0][0], expected=first.expected, found=self._in_words(cases),
            hint=". ".join([first.hint] * bool(first.hint) + more),
        )  # fmt: skip

    def _in_words(self, cases: list[tuple[str, str]]) -> str:
        description, places = cases[0][1], [where for where, _ in cases]
        if len(places) == 1:
            return description
        return f"{description} (such {self._noun}: {len(places):,}, the next is {places[1]})"
