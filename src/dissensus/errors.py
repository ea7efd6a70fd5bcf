"""Errors and warnings.

Every error about input names the argument or column, the place in the data, what was expected and
what was found, so that users can correct the input without a debugger.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, Self

_ROWS: Final = re.compile(r"\Arows? (\d+)(?: and (\d+))?")
_PAIRS: Final = 3
"""Maximum number of shown pairs of names that differ only in capitals."""
_LONGEST: Final = 200
"""Maximum number of shown characters of a name; some names are whole documents."""
_PACKAGE: Final = str(Path(__file__).parent) + os.sep


class DissensusError(ValueError):
    """Base of every error that dissensus raises on purpose.

    Parameters
    ----------
    subject : str
        The argument, column or file of the error.
    expected : str
        The expected value.
    found : str
        The value that was found.
    where : str, optional
        The row, item or file position.
    hint : str, optional
        How to correct the input.

    Examples
    --------
    >>> import dissensus as dx
    >>> try:
    ...     dx.datasets.load("lehner")
    ... except dx.DissensusError as problem:
    ...     print(f"{problem.subject}: {problem.found}? {problem.hint}")
    name: 'lehner'? Did you mean 'lehner_table2'?
    """

    def __init__(
        self, subject: str, *, expected: str, found: str, where: str = "", hint: str = ""
    ) -> None:
        self.subject = subject
        self.expected = expected
        self.found = found
        self.where = where
        self.hint = hint
        place = f", {where}" if where else ""
        advice = f". {hint}" if hint else ""
        super().__init__(f"{subject}{place}: expected {expected}; found {found}{advice}")

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[str]]:
        # Without this method, an error cannot be returned from another process: pickle does not
        # pass keyword arguments.
        keywords = {"expected": self.expected, "found": self.found}
        make = partial(type(self), **keywords, where=self.where, hint=self.hint)
        return make, (self.subject,)

    def relocated(self, place: Callable[[int], str], source: str = "") -> Self:
        """Return the same error with the original place of a row.

        Users do not see the intermediate table that a matrix or a file is read into.

        Parameters
        ----------
        place : callable
            Function of the number of a row that describes it, such as ``"row 3 (line 5)"``.
        source : str, optional
            The source of the data, which is added in front.

        Examples
        --------
        >>> import dissensus as dx
        >>> error = dx.DissensusError("label", where="row 3", expected="text", found="5")
        >>> str(error.relocated(lambda row: f"line {row + 2}", source="a.csv"))
        'a.csv: label, line 5: expected text; found 5'
        """

        def words(rows: re.Match[str]) -> str:
            places = dict.fromkeys(place(int(row)) for row in rows.groups() if row)
            return " and ".join(places)

        where = _ROWS.sub(words, self.where)
        subject = f"{source}: {self.subject}" if source else self.subject
        return type(self)(
            subject, expected=self.expected, found=self.found, where=where, hint=self.hint
        )


class AnnotationError(DissensusError):
    """The annotations are invalid.

    Examples
    --------
    >>> import dissensus as dx
    >>> try:
    ...     dx.annotations({"item": [1, 1], "annotator": ["a", "b"], "label": ["x", None]})
    ... except dx.AnnotationError as problem:
    ...     print(problem)
    column 'label', row 1: expected a value; found a missing value (1 of 2 rows). Delete...
    """


@contextmanager
def relocated(place: Callable[[int], str], source: str = "") -> Iterator[None]:
    """Relocate errors about rows of an intermediate table.

    Parameters
    ----------
    place, source
        As in `DissensusError.relocated`.

    Examples
    --------
    >>> from dissensus.errors import AnnotationError, relocated
    >>> with relocated(lambda row: f"line {row + 2}", "a.csv"):
    ...     raise AnnotationError("label", where="row 3", expected="text", found="5")
    Traceback (most recent call last):
    ...
    dissensus.errors.AnnotationError: a.csv: label, line 5: expected text; found 5
    """
    try:
        yield
    except AnnotationError as problem:
        raise problem.relocated(place, source) from problem


class PredictionError(AnnotationError):
    """The predictions are invalid, or have other items or labels than the annotations.

    A kind of `AnnotationError`, so that one ``except`` catches all errors about data.

    Examples
    --------
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyx")})
    >>> pred = dx.predictions({"item": [1], "system": ["m"], "label": ["x"]})
    >>> try:
    ...     dx.majority_vote_accuracy(ann, pred)
    ... except dx.PredictionError as problem:
    ...     print(problem.expected, problem.hint, sep="; ")
    the same items in annotations and predictions; Use on_missing="drop" to leave out these items
    """


class FormatError(AnnotationError):
    """A file or an export cannot be read in its declared format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import dissensus as dx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ratings.csv")
    ...     path.touch()
    ...     try:
    ...         dx.read_annotations(path)
    ...     except dx.FormatError as problem:
    ...         print(problem)
    ratings.csv: expected a table; found an empty file (0 bytes)
    """


class ArgumentError(DissensusError):
    """An argument has an invalid value, or cannot be combined with another argument.

    Examples
    --------
    >>> import dissensus as dx
    >>> try:
    ...     dx.simulate.toy(n_items=0)
    ... except dx.ArgumentError as problem:
    ...     print(problem)
    n_items: expected a whole number, 1 or more; found 0
    """


class DissensusWarning(UserWarning):
    """The function continued, but its result may differ from what the caller expects.

    Examples
    --------
    A system may predict a label that no annotator can give:

    >>> import warnings
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 1, 2], "annotator": list("aba"), "label": list("xyx")})
    >>> pred = dx.predictions({"item": [1, 2], "system": ["m", "m"], "label": ["x", "z"]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", dx.DissensusWarning)
    ...     accuracy = dx.majority_vote_accuracy(ann, pred)
    >>> print(caught[0].message)
    Labels outside the label space of the annotations agree with nobody: 'z' (predictions ...
    """


class DesignWarning(DissensusWarning):
    """The design does not identify some parameters: they depend on priors; more draws do not help.

    Examples
    --------
    To turn it into an error, before anything is sampled:

    >>> import warnings
    >>> import dissensus as dx
    >>> ann = dx.annotations({"item": [1, 2], "annotator": ["a", "b"], "label": ["x", "y"]})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", dx.DesignWarning)
    ...     try:
    ...         dx.models.symmetric_confusion.fit(ann)
    ...     except dx.DesignWarning as problem:
    ...         print(problem)
    No item has two labels: the data do not inform accuracies, and the posterior is the prior...
    """


class ConvergenceWarning(DissensusWarning):
    """Markov chains have not run long enough for some results.

    Examples
    --------
    To turn it into an error, so that such draws are not used:

    >>> import warnings
    >>> import dissensus as dx
    >>> ann = dx.simulate.replication_study(20, 4, 2, random_seed=1).annotations
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", dx.ConvergenceWarning)
    ...     try:
    ...         dx.models.crossed_effects.fit(
    ...             ann, draws=100, tune=20, chains=2, random_seed=4, progressbar=False)
    ...     except dx.ConvergenceWarning as problem:
    ...         print(problem)
    The chains have not run long enough for ... of 4 parameters ... as few as ... effective draws...
    """


HeldWarning = tuple[str, type[DissensusWarning]]
"""The text of a warning, and its category."""

_HELD: Final[ContextVar[list[HeldWarning] | None]] = ContextVar("warnings held back", default=None)


def warn_caller(text: str, category: type[DissensusWarning] = DissensusWarning) -> None:
    """Warn at the line that called the library, also from functions deep within the library.

    Examples
    --------
    >>> import warnings
    >>> from dissensus.errors import warn_caller
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("Careful.")
    >>> caught[0].category.__name__, str(caught[0].message)
    ('DissensusWarning', 'Careful.')
    """
    held = _HELD.get()
    if held is None:
        warnings.warn(text, category, skip_file_prefixes=(_PACKAGE,))
    else:
        held.append((text, category))


@contextmanager
def held_back() -> Iterator[list[HeldWarning]]:
    """Collect the warnings of this thread, for a caller that rewords them.

    Examples
    --------
    >>> from dissensus.errors import held_back, warn_caller
    >>> with held_back() as caught:
    ...     warn_caller("Careful.")
    >>> caught[0][0]
    'Careful.'
    """
    messages: list[HeldWarning] = []
    token = _HELD.set(messages)
    try:
        yield messages
    finally:
        _HELD.reset(token)


def resembling(name: str, names: Iterable[str]) -> str:
    """Return the only one of ``names`` that differs just in capitals and blanks; "" otherwise.

    Examples
    --------
    >>> from dissensus.errors import resembling
    >>> resembling("item", ["Item ", "label"])
    'Item '
    """
    near = [other for other in names if folded(other) == folded(name)]
    return near[0] if len(near) == 1 else ""


def folded(name: object) -> str:
    """Return a name as text, without capitals and blanks, which are often misspelt.

    Examples
    --------
    >>> from dissensus.errors import folded
    >>> folded(" Yes")
    'yes'
    """
    return str(name).strip().lower()


def misspelt(names: Sequence[object], known: Sequence[object]) -> str:
    """Return a hint on names that are known except for capitals and blanks; "" if none is.

    Examples
    --------
    >>> from dissensus.errors import misspelt
    >>> misspelt(["positive", "odd"], ["Positive", "Negative"])
    "'positive' is 'Positive' except for capitals or blanks. "
    """
    alike: dict[str, list[str]] = {}
    for label in known:
        alike.setdefault(folded(label), []).append(str(label))
    near = ((str(name), alike.get(folded(name), [])) for name in names)
    unique = ((name, labels[0]) for name, labels in near if len(labels) == 1 and labels[0])
    pairs = list(islice(unique, _PAIRS))
    text = ", ".join(f"{name!r} is {label!r}" for name, label in pairs)
    return f"{text} except for capitals or blanks. " if pairs else ""


def shown(names: Sequence[object], limit: int = 5) -> str:
    """List the first ``limit`` names, and the number of further names.

    Examples
    --------
    >>> from dissensus.errors import shown
    >>> shown(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    values = [getattr(name, "item", lambda name=name: name)() for name in names[:limit]]
    text = ", ".join(brief(value, _LONGEST) for value in values)
    rest = len(names) - limit
    return f"{text} and {rest} more" if rest > 0 else text


def brief(value: object, limit: int = 60) -> str:
    """Show a value in one line: its repr, or its type if the repr has several lines.

    Examples
    --------
    >>> import pandas as pd
    >>> from dissensus.errors import brief
    >>> brief("nominal"), brief(pd.Series([1, 2])), brief(10**400, limit=12)
    ("'nominal'", 'Series', '100000000...')
    """
    try:
        text = repr(value)
    except Exception:  # a class with a faulty repr, or an integer of thousands of digits
        text = ""
    if not text or "\n" in text:
        return type(value).__name__
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
