"""The command `dissensus rerun`: an evaluation made again, and held against its file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.console import SafeConsole
from dissensus.cli.options import Json, Progress, kept_apart

_MOST = 20
"""Variables that are named."""


def rerun(
    evaluation: Annotated[Path, typer.Argument(help="evaluation.nc or .zarr.")],
    progress: Progress = True,
    as_json: Json = False,
) -> None:
    """Make an evaluation again from what its file holds; fail if anything comes out otherwise."""
    from dissensus.evaluation import rerun as _rerun

    with kept_apart(as_json):
        found = _rerun.rerun(_rerun.stored(evaluation), progressbar=progress and not as_json)
    if as_json:
        from dissensus.cli.output import print_json

        different = [{"where": one.where, "how": one.how} for one in found.differences]
        print_json({"compared": found.compared, "differences": different,
                    "versions": list(found.versions)})  # fmt: skip
        raise typer.Exit(1 if different else 0)
    console = SafeConsole()

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    for change in found.versions:
        say(f"another version: {change}")
    if not found.differences:
        say(f"the same to the last digit: {found.compared} variables")
        return
    say(f"{len(found.differences)} of {found.compared} variables differ")
    for one in found.differences[:_MOST]:
        say(f"  {one.where}: {one.how}")
    if len(found.differences) > _MOST:
        say(f"  and {len(found.differences) - _MOST} more")
    raise typer.Exit(1)
