"""The command `dissensus plan`: three kinds of plans, and which options are whose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dissensus.cli import options
from dissensus.cli.console import SafeConsole
from dissensus.cli.options import (
    Annotator,
    Delimiter,
    Encoding,
    Force,
    Format,
    Item,
    Json,
    Kind,
    Label,
    Labels,
    Pool,
    PriorCount,
    Progress,
    Seed,
    Trial,
    given,
    label_space,
    whole_numbers,
)
from dissensus.errors import ArgumentError
from dissensus.storage import check_target, replace, require_writable, there
from dissensus.wording import listed

if TYPE_CHECKING:
    import xarray as xr

_PICTURES: Final = [".png", ".svg", ".pdf"]
_UNASKED: Final = {
    "item": "item", "annotator": "annotator", "label": "label", "encoding": "utf-8",
}  # fmt: skip
"""Options for reading a pilot that are given without being asked for."""


def plan(
    pilot: options.Pilot = None,
    annotators: options.Annotators = None,
    items: options.Items = None,
    target: options.Target = None,
    width: options.Width = None,
    panel: options.Panel = None,
    family: options.Family = None,
    scale: options.Scale = None,
    truth: options.Truth = False,
    kappa: options.Kappa = None,
    label_count: options.LabelCount = None,
    within: options.Within = None,
    violated: options.Violated = False,
    accuracy: options.Accuracy = None,
    assurance: options.Assurance = None,
    studies: options.Studies = None,
    reliability: options.Reliability = None,
    prior_count: PriorCount = None,
    plot: options.Plot = None,
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
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Foresee how much a study with so many annotators and items would tell.

    --target, --width: how reliable labels are, and how well that is known.
    --truth, --kappa: a system's accuracy; items have one true label, unknown.
    Otherwise: a system's accuracy, truth being a matter of plausibility.
    """
    import dissensus as dx

    _require_picture(plot, force=force)
    ann = _read(
        pilot, format=format, item=item, annotator=annotator, label=label, trial=trial, pool=pool,
        kind=kind, labels=label_space(labels), delimiter=delimiter, encoding=encoding,
    )  # fmt: skip
    shared = given(
        annotators=annotators and whole_numbers(annotators, "--annotators"),
        items=items and whole_numbers(items, "--items"),
        accuracy=accuracy, assurance=assurance, studies=studies, random_seed=seed,
    )  # fmt: skip
    of_truth = given(
        kappa=kappa, n_labels=label_count, within=within, violated=violated or None
    )  # fmt: skip
    others = given(
        target=target, width=width, panel=panel, family=family, scale=scale,
        reliability=reliability, prior_count=prior_count,
    )  # fmt: skip
    if truth or of_truth:
        _none_of(others)
        found = dx.plan_accuracy(ann, **shared, **of_truth, progressbar=progress and not as_json)
    else:
        found = dx.plan(_required(ann), **shared, **others, progressbar=progress and not as_json)
    _show(found, plot, force=force, as_json=as_json)


def _read(pilot: Path | None, **columns: Any) -> xr.Dataset | None:
    """Read the pilot, if there is one; raise if there is none to which options for it apply."""
    import dissensus as dx

    if pilot is not None:
        return dx.read_annotations(pilot, **columns)
    for name, value in columns.items():
        if value != _UNASKED.get(name):
            raise ArgumentError(
                f"--{name}", found=repr(value),
                expected="none, as it says how to read a pilot, and no file of a pilot is given",
            )  # fmt: skip
    return None


def _none_of(others: dict[str, Any]) -> None:
    """Raise if there is an option of another kind of plan."""
    for name, value in others.items():
        raise ArgumentError(
            f"--{name.replace('_', '-')}", found=repr(value),
            expected="none, as --truth, --kappa, --label-count, --within or --violated ask for "
            "the accuracy of a system where the truth is unknown",
        )  # fmt: skip


def _required(pilot: Any) -> Any:
    """Return the pilot, or raise if there is none."""
    if pilot is None:
        raise ArgumentError(
            "PILOT", expected="a file with annotations of a pilot study", found="none",
            hint="Only with --kappa and --label-count can a study be planned without one",
        )  # fmt: skip
    return pilot


def _require_picture(plot: Path | None, *, force: bool) -> None:
    """Raise before the work begins if its picture could not be written."""
    if plot is None:
        return
    if plot.suffix not in _PICTURES:
        raise ArgumentError(
            "--plot", expected=f"a name in {listed(_PICTURES, 'or')}", found=str(plot)
        )
    if not plot.parent.is_dir():
        raise ArgumentError("--plot", expected="a file in a folder there is", found=str(plot))
    check_target(plot)
    if there(plot) and not force:
        raise ArgumentError(
            "--plot", expected="a file that does not exist yet, or --force", found=str(plot)
        )
    require_writable(plot.parent, "--plot")


def _show(found: xr.Dataset, plot: Path | None, *, force: bool, as_json: bool) -> None:
    """Print tables and sentences, and write the picture."""
    from dissensus.cli.output import of_plan, print_json
    from dissensus.cli.tables import plan_tables
    from dissensus.plots import get

    console = SafeConsole()
    picture, lines = _told(found)
    if plot is not None and picture is None:
        raise ArgumentError(
            "--plot", expected="none, as this kind of plan has no picture", found=str(plot),
            hint="--target and --truth ask for such as have one",
        )  # fmt: skip
    if as_json:
        print_json(of_plan(found) | {"sentences": lines})
    else:
        for table in plan_tables(found):
            console.print(table)
        for line in lines:
            console.print(line, markup=False, highlight=False)
    if plot is None or picture is None:
        return
    figure = get(picture).function(found)
    replace(plot, lambda path: figure.savefig(path, dpi=200), overwrite=force)
    if not as_json:
        console.print(f"wrote {plot}", markup=False, highlight=False)


def _told(found: xr.Dataset) -> tuple[str | None, list[str]]:
    """Return the name of a plan's picture, if it has one, and what it says in sentences."""
    from dissensus.studies.planning.sentences import sentences

    if "within_share" in found:
        return "accuracy_plan", found.attrs["in_words"].splitlines()
    if "reliability" in found:
        return "reliability_plan", sentences(found)
    return None, []
