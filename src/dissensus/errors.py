"""What the library says when it cannot go on.

Every complaint about input names the argument or column, where in the data the trouble
is, what was expected and what was found, so that it can be mended without a debugger.
"""

from __future__ import annotations

from collections.abc import Sequence


class DissensusError(ValueError):
    """Base of every error that dissensus raises on purpose.

    Parameters
    ----------
    subject : str
        The argument, column or file the complaint is about.
    expected : str
        What would have been right.
    found : str
        What was there instead.
    where : str, optional
        The row, item or file position.
    hint : str, optional
        What to do about it.
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


class AnnotationError(DissensusError):
    """The annotations cannot be used as they are."""


class PredictionError(AnnotationError):
    """The predictions cannot be used, or do not fit the annotations.

    A kind of `AnnotationError`, so that one ``except`` catches all complaints about data.
    """


class FormatError(AnnotationError):
    """A file or an export cannot be read as what it claims to be."""


class ArgumentError(DissensusError):
    """An argument has a value that makes no sense for this function."""


class DissensusWarning(UserWarning):
    """Something went on, but not as the caller may think."""


def shown(names: Sequence[object], limit: int = 5) -> str:
    """Name the first few of many things, and say how many there are.

    Examples
    --------
    >>> shown(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    values = [getattr(name, "item", lambda name=name: name)() for name in names[:limit]]
    text = ", ".join(repr(value) for value in values)
    rest = len(names) - limit
    return f"{text} and {rest} more" if rest > 0 else text
