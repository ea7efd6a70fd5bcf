"""The command `dissensus plan`: two kinds of plans, and which options are whose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from dissensus._columns import (
    Annotator,
    Delimiter,
    Encoding,
    Format,
    Item,
    Kind,
    Label,
    Labels,
    Pool,
    PriorCount,
    Progress,
    Seed,
    Trial,
)
from dissensus._options import given, label_space, whole_numbers
from dissensus._wording import listed
from dissensus.errors import ArgumentError

if TYPE_CHECKING:
    import xarray as xr

_PICTURES: Final = [".png", ".svg", ".pdf"]


def plan(
    pilot: Annotated[Path, typer.Argument(help="Annotations of a pilot study.")],
    annotators: Annotated[str, typer.Option(help="Annotators per item to try.")] = "1,2,3,5,8,12",
    items: Annotated[str, typer.Option(help="Numbers of items to try.")] = "100,300,1000",
    target: Annotated[
        float | None, typer.Option(help="Reliability of the mean label to reach, such as .8.")
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Length of the ICC's interval to reach, such as .1.")
    ] = None,
    assurance: Annotated[
        float | None, typer.Option(help="How probable that has to be; .8 by default.")
    ] = None,
    panel: Annotated[
        int | None, typer.Option(help="Annotators in all; as many as in the pilot by default.")
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="Of reliability: gaussian, ordinal or bernoulli.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Of reliability: observed (the default) or latent.")
    ] = None,
    studies: Annotated[
        int | None, typer.Option(help="Simulated studies of each size; 20 by default.")
    ] = None,
    accuracy: Annotated[
        float | None, typer.Option(help="The imagined system's accuracy; .8 by default.")
    ] = None,
    reliability: Annotated[
        float | None, typer.Option(help="Trust in one annotator; 1 by default.")
    ] = None,
    prior_count: PriorCount = None,
    plot: Annotated[
        Path | None, typer.Option(help="Of reliability: write a picture, .png, .svg or .pdf.")
    ] = None,
    item: Item = "item",
    annotator: Annotator = "annotator",
    label: Label = "label",
    trial: Trial = None,
    pool: Pool = None,
    kind: Kind = None,
    labels: Labels = None,
    format: Format = None,  # noqa: A002 (the option is called --format)
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    seed: Seed = None,
    progress: Progress = True,
) -> None:
    """Foresee how much a study with so many annotators and items would tell.

    With --target or --width of reliability, otherwise of a system's accuracy.
    """
    import dissensus as dx

    ann = dx.read_annotations(
        pilot, format=format, item=item, annotator=annotator, label=label, trial=trial, pool=pool,
        kind=kind, labels=label_space(labels), delimiter=delimiter, encoding=encoding,
    )  # fmt: skip
    _require_picture(plot)
    found = dx.plan(
        ann, whole_numbers(annotators, "--annotators"), whole_numbers(items, "--items"),
        random_seed=seed, progressbar=progress,
        **given(target=target, width=width, family=family, accuracy=accuracy, panel=panel,
                reliability=reliability, prior_count=prior_count, assurance=assurance,
                scale=scale, studies=studies),
    )  # fmt: skip
    _show(found, plot)


def _require_picture(plot: Path | None) -> None:
    """Raise before the work begins if its picture could not be written."""
    if plot is None:
        return
    if plot.suffix not in _PICTURES:
        raise ArgumentError(
            "--plot", expected=f"a name in {listed(_PICTURES, 'or')}", found=str(plot)
        )
    if not plot.parent.is_dir():
        raise ArgumentError("--plot", expected="a file in a folder there is", found=str(plot))


def _show(found: xr.Dataset, plot: Path | None) -> None:
    """Print tables and sentences, and write the picture."""
    from dissensus._files import replace
    from dissensus._plan_tables import plan_tables
    from dissensus._planning.sentences import sentences
    from dissensus.plots import get

    console = Console()
    for table in plan_tables(found):
        console.print(table)
    if "reliability" not in found:
        if plot is not None:
            raise ArgumentError(
                "--plot", expected="none, as only plans of reliability have a picture",
                found=str(plot), hint="--target asks for such a plan",
            )  # fmt: skip
        return
    for line in sentences(found):
        console.print(line, markup=False, highlight=False)
    if plot is not None:
        figure = get("reliability_plan").function(found)
        replace(plot, lambda path: figure.savefig(path, dpi=200))
        console.print(f"wrote {plot}", highlight=False)
