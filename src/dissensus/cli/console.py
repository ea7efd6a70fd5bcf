"""A console that prints names from the data without terminal commands that they may contain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from dissensus.wording import (
    clean,
)


class SafeConsole(Console):
    r"""Rich's console, with texts that cannot send commands to the terminal.

    Rich removes the bell and similar characters, but not the escape character, which starts
    commands for colours, window titles and the clipboard.

    Examples
    --------
    >>> SafeConsole(width=30).print("red \x1b[31m text", markup=False)
    red �[31m text
    """

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
        """Render as Rich does, without control characters in texts; Rich's own commands stay."""
        for segment in super().render(*args, **kwargs):
            yield segment if segment.control else Segment(_harmless(segment.text), segment.style)


def _harmless(text: str) -> str:
    return "\n".join(clean(line) for line in text.split("\n"))
