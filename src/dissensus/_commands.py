"""The commands as a group: any of them can be interrupted."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from dissensus._console import SafeConsole


class Commands(TyperGroup):
    """Commands that say in a line that they were interrupted, and end as a shell expects."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            text = f"{stop or 'Interrupted'}. No result was left half-written."
            console = SafeConsole(stderr=True)
            console.print(text, markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(130) from None
