"""A terminal to which names from the data can be printed: they are text, and command nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from dissensus.wording import (
    clean,
)


class SafeConsole(Console):
    r"""Rich's console, but no character of a text reaches the terminal as a command.

    Rich takes away the bell and its like; an escape, of which colours, titles of windows and
    clipboards are made, it lets pass.

    Examples
    --------
    >>> SafeConsole(width=30).print("red \x1b[31m text", markup=False)
    red �[31m text
    """

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
        """Render as Rich does, and make the text harmless; Rich's own commands stay."""
        for one in super().render(*args, **kwargs):
            yield one if one.control else Segment(_harmless(one.text), one.style)


def _harmless(text: str) -> str:
    return "\n".join(clean(line) for line in text.split("\n"))
