"""Collects warnings that several steps raise, so that each is shown once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from dissensus.errors import DissensusWarning


class Notes:
    """Warnings of several steps. A warning raised by only one step is prefixed with its name.

    Examples
    --------
    >>> notes = Notes()
    >>> for step in ("one", "two"):
    ...     with notes.of(step):
    ...         warnings.warn("always", DissensusWarning)
    >>> with notes.of("three"):
    ...     warnings.warn("just here", DissensusWarning)
    >>> notes.texts()
    ['always', 'three: just here']
    """

    def __init__(self) -> None:
        self._steps: set[str] = set()
        self._said: dict[tuple[type[Warning], str], list[str]] = {}

    @contextmanager
    def of(self, step: str) -> Iterator[None]:
        """Collect the warnings raised during one step."""
        self._steps.add(step)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DissensusWarning)
            yield
        for warning in caught:
            steps = self._said.setdefault((warning.category, str(warning.message)), [])
            if step not in steps:
                steps.append(step)

    def texts(self) -> list[str]:
        """Return each warning once."""
        return [self._text(text, steps) for (_, text), steps in self._said.items()]

    def say(self, stacklevel: int = 3) -> None:
        """Raise all warnings; by default they point to the caller of the calling function."""
        for (category, text), steps in self._said.items():
            warnings.warn(self._text(text, steps), category, stacklevel=stacklevel)

    def _text(self, text: str, steps: list[str]) -> str:
        only_here = len(steps) == 1 and len(self._steps) > 1
        return f"{steps[0]}: {text}" if only_here else text
