"""The command `dissensus plan`: three kinds of plans, and which options are whose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dissensus.cli import options
from dissensus.cli.console import SafeConsole
from dissensus.errors import ArgumentError
from dissensus.storage import check_target, replace, require_writable, there
from dissensus.wording import listed

if TYPE_CHECKING:
    import xarray as xr

_PICTURES: Final = [".png", ".svg", ".pdf"]
_DEFAULTS: Final = {
    "item": "item", "annotator": "annotator", "label": "label", "encoding": "utf-8",
}  # fmt: skip
"""Defaults of the options for reading a pilot."""


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
    prior_count: options.PriorCount = None,
    plot: options.Plot = None,
    item: options.Item = "item",
    annotator: options.Annotator = "annotator",
    label: options.Label = "label",
    trial: options.Trial = None,
    pool: options.Pool = None,
    kind: options.Kind = None,
    labels: options.Labels = None,
    format: options.Format = None,  # noqa: A002 (the option is called --format)
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    seed: options.Seed = None,
    progress: options.Progress = True,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Plan a study: the numbers of annotators and items.

    --target, --width: how reliable labels are, and how precisely that is known.
    --truth, --kappa: a system's accuracy; items have one true label, unknown.
    Otherwise: a system's accuracy, by the plausibility of labels.
    """
    import dissensus as dx

    _require_picture(plot, force=force)
    ann = _read(
        pilot, format=format, item=item, annotator=annotator, label=label, trial=trial, pool=pool,
        kind=kind, labels=options.label_space(labels), delimiter=delimiter, encoding=encoding,
    )  # fmt: skip
    shared = options.given(
        annotators=annotators and options.whole_numbers(annotators, "--annotators"),
        items=items and options.whole_numbers(items, "--items"),
        accuracy=accuracy, assurance=assurance, studies=studies, random_seed=seed,
    )  # fmt: skip
    of_truth = options.given(
        kappa=kappa, n_labels=label_count, within=within, violated=violated or None
    )  # fmt: skip
    others = options.given(
        target=target, width=width, panel=panel, family=family, scale=scale,
        reliability=reliability, prior_count=prior_count,
    )  # fmt: skip
    if truth or of_truth:
        _none_of(others)
        result = dx.plan_accuracy(ann, **shared, **of_truth, progressbar=progress and not as_json)
    elif ann is None:
        hint = "Only with --kappa and --label-count can a study be planned without one"
        expected = "a file with annotations of a pilot study"
        raise ArgumentError("PILOT", expected=expected, found="none", hint=hint)
    else:
        result = dx.plan(ann, **shared, **others, progressbar=progress and not as_json)
    _show(result, plot, force=force, as_json=as_json)


def _read(pilot: Path | None, **columns: Any) -> xr.Dataset | None:
    """Read the pilot, if a file is given; raise if options for reading it are given without it."""
    import dissensus as dx

    if pilot is not None:
        return dx.read_annotations(pilot, **columns)
    for name, value in columns.items():
        if value != _DEFAULTS.get(name):
            expected = "none, as it says how to read a pilot, and no file of a pilot is given"
            raise ArgumentError(f"--{name}", expected=expected, found=repr(value))
    return None


def _none_of(others: dict[str, Any]) -> None:
    """Raise if there is an option of another kind of plan."""
    for name, value in others.items():
        raise ArgumentError(
            f"--{name.replace('_', '-')}", found=repr(value),
            expected="none, as --truth, --kappa, --label-count, --within or --violated ask for "
            "the accuracy of a system where the truth is unknown",
        )  # fmt: skip


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


def _show(result: xr.Dataset, plot: Path | None, *, force: bool, as_json: bool) -> None:
    """Print tables and sentences, and write the picture."""
    from dissensus.cli.output import of_plan, print_json
    from dissensus.cli.tables import laid_out, plan_tables
    from dissensus.plots import get
    from dissensus.studies.planning.sentences import sentences

    console = SafeConsole()
    picture, lines = None, []
    if "within_share" in result:
        picture, lines = "accuracy_plan", result.attrs["in_words"].splitlines()
    elif "reliability" in result:
        picture, lines = "reliability_plan", sentences(result)
    if plot is not None and picture is None:
        hint = "--target and --truth ask for plans that have one"
        expected = "none, as this kind of plan has no picture"
        raise ArgumentError("--plot", expected=expected, found=str(plot), hint=hint)
    if as_json:
        print_json(of_plan(result) | {"sentences": lines})
    else:
        for table in plan_tables(result):
            console.print(laid_out(table))
        for line in lines:
            console.print(line, markup=False, highlight=False)
    if plot is None or picture is None:
        return
    figure = get(picture).function(result)
    replace(plot, lambda path: figure.savefig(path, dpi=200), overwrite=force)
    if not as_json:
        console.print(f"wrote {plot}", markup=False, highlight=False)
