"""The command `dissensus rerun`: repeats an evaluation and compares it with its file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli import options
from dissensus.cli.console import SafeConsole

_MOST = 20
"""Maximum number of variables that are named."""


def rerun(
    evaluation: Annotated[Path, typer.Argument(help="evaluation.nc or .zarr.")],
    progress: options.Progress = True,
    as_json: options.Json = False,
) -> None:
    """Repeat an evaluation from its file; fail if anything differs."""
    from dissensus.evaluation import rerun as _rerun

    with options.kept_apart(as_json):
        result = _rerun.rerun(_rerun.stored(evaluation), progressbar=progress and not as_json)
    if as_json:
        from dissensus.cli.output import print_json

        different = [{"where": part.where, "how": part.how} for part in result.differences]
        summary = {"compared": result.compared, "differences": different}
        print_json(summary | {"versions": list(result.versions)})
        raise typer.Exit(1 if different else 0)
    console = SafeConsole()

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    for change in result.versions:
        say(f"another version: {change}")
    if not result.differences:
        say(f"the same to the last digit: {result.compared} variables")
        return
    say(f"{len(result.differences)} of {result.compared} variables differ")
    for part in result.differences[:_MOST]:
        say(f"  {part.where}: {part.how}")
    if len(result.differences) > _MOST:
        say(f"  and {len(result.differences) - _MOST} more")
    raise typer.Exit(1)
