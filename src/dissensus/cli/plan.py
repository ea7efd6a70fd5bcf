"""The command `dissensus plan`, which chooses the kind of plan from the given options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dissensus.cli import options
from dissensus.cli.check import read_predictions, read_verdicts
from dissensus.cli.console import SafeConsole
from dissensus.errors import ArgumentError, brief
from dissensus.storage import check_target, name_exists, replace, require_writable
from dissensus.wording import listed

if TYPE_CHECKING:
    import xarray as xr

_PICTURES: Final = [".png", ".svg", ".pdf"]
_OF_PICTURES: Final = {"within_share": "accuracy_plan", "reliability": "reliability_plan"}
"""The picture of each kind of plan that has one, by a variable of the plan."""
_DEFAULTS: Final = {
    "item": "item", "annotator": "annotator", "label": "label", "encoding": "utf-8",
    "system": "system",
}  # fmt: skip
"""Defaults of the options that say how to read a file."""


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
    predictions: options.Predictions = None,
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
    system: options.System = "system",
    prediction_label: options.PredictionLabel = None,
    format: options.Format = None,  # noqa: A002 (the option is called --format)
    predictions_format: options.Format = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    seed: options.Seed = None,
    progress: options.Progress = True,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Plan a study: the numbers of annotators and items.

    --target, --width: the reliability of labels, and the precision of its estimate.
    --truth, --kappa: a system's accuracy; items have one true label, unknown.
    --predictions: agreement with the panel if systems have labelled all items, or win rates if
    judges have given verdicts on all pairs.
    Otherwise: a system's accuracy, based on the plausibility of labels.
    """
    import dissensus as dx

    if plot is not None and predictions is not None:
        _no_picture(plot)
    _require_picture(plot, force=force)
    ann = _read(
        pilot, format=format, item=item, annotator=annotator, label=label, trial=trial, pool=pool,
        kind=kind, labels=options.label_space(labels), delimiter=delimiter, encoding=encoding,
    )  # fmt: skip
    reading = {
        "item": item, "label": prediction_label or label, "system": system,
        "format": predictions_format, "delimiter": delimiter, "encoding": encoding,
    }  # fmt: skip
    of_systems = {"system": system, "prediction_label": prediction_label,
                  "predictions_format": predictions_format}  # fmt: skip
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
    if predictions is None:
        _require_default(of_systems, "predictions", "no file of predictions is given")
    if truth or of_truth:
        _none_of(others | options.given(predictions=predictions))
        with _options_named(shared | of_truth):
            result = dx.plan_accuracy(
                ann, **shared, **of_truth, progressbar=progress and not as_json
            )
    elif ann is None:
        hint = "Without a pilot, give --kappa and --label-count"
        expected = "a file with annotations of a pilot study"
        raise ArgumentError("PILOT", expected=expected, found="none", hint=hint)
    else:
        prediction_options = options.given(
            predictions=_predictions(predictions, ann, format, **reading)
        )
        with _options_named(shared | others):
            result = dx.plan(
                ann, **shared, **others, **prediction_options, progressbar=progress and not as_json
            )
    _show(result, plot, force=force, as_json=as_json)


def _read(pilot: Path | None, **columns: Any) -> xr.Dataset | None:
    """Read the pilot if its file is given; raise if only options for reading it are given."""
    import dissensus as dx

    if pilot is not None:
        return dx.read_annotations(pilot, **columns)
    _require_default(columns, "a pilot", "no file of a pilot is given")
    return None


def _require_default(given: dict[str, Any], of: str, lacking: str) -> None:
    """Raise if options say how to read a file that is not given."""
    for name, value in given.items():
        if value != _DEFAULTS.get(name):
            expected = f"none, as it says how to read {of}, and {lacking}"
            raise ArgumentError(f"--{name.replace('_', '-')}", expected=expected, found=repr(value))


def _predictions(
    path: Path | None, pilot: xr.Dataset, of_pilot: str | None, **reading: Any
) -> xr.Dataset | None:
    """Read predictions, or verdicts if the pilot has votes."""
    from dissensus.data.pairs import are_votes

    if are_votes(pilot):
        arguments = {name: reading[name] for name in ("item", "delimiter", "encoding")}
        return read_verdicts(path, format=reading["format"] or of_pilot, **arguments)
    return read_predictions(path, kind=pilot.attrs["kind"], score=None, rank=None, **reading)


def _none_of(others: dict[str, Any]) -> None:
    """Raise if ``others``, options of other kinds of plans, are given."""
    for name, value in others.items():
        raise ArgumentError(
            f"--{name.replace('_', '-')}", found=brief(value),
            expected="none, as --truth, --kappa, --label-count, --within or --violated ask for "
            "the accuracy of a system where the truth is unknown",
        )  # fmt: skip


_NAMES: Final = {"n_labels": "label_count", "random_seed": "seed"}
"""Arguments for which the command line has an option of another name."""


@contextmanager
def _options_named(arguments: Iterable[str]) -> Iterator[None]:
    """Name the option in errors about one of these arguments."""
    try:
        yield
    except ArgumentError as problem:
        if problem.subject not in arguments:
            raise
        option = _NAMES.get(problem.subject, problem.subject).replace("_", "-")
        raise ArgumentError(
            f"--{option}", expected=problem.expected, found=problem.found, where=problem.where,
            hint=problem.hint,
        ) from problem  # fmt: skip


def _require_picture(plot: Path | None, *, force: bool) -> None:
    """Raise before the simulation begins if its picture could not be written."""
    if plot is None:
        return
    if plot.suffix not in _PICTURES:
        raise ArgumentError(
            "--plot", expected=f"a name in {listed(_PICTURES, 'or')}", found=str(plot)
        )
    if not plot.parent.is_dir():
        raise ArgumentError("--plot", expected="a file in an existing folder", found=str(plot))
    check_target(plot)
    if name_exists(plot) and not force:
        raise ArgumentError(
            "--plot", expected="a file that does not exist yet, or --force", found=str(plot)
        )
    require_writable(plot.parent, "--plot")


def _no_picture(plot: Path) -> None:
    """Raise for a plan that has no picture."""
    raise ArgumentError(
        "--plot", expected="none, as this kind of plan has no picture", found=str(plot),
        hint="Plans with --target or --truth have a picture",
    )  # fmt: skip


def _show(result: xr.Dataset, plot: Path | None, *, force: bool, as_json: bool) -> None:
    """Print tables and sentences, and write the picture."""
    from dissensus.cli.output import of_plan, print_json
    from dissensus.cli.tables import laid_out, plan_tables
    from dissensus.plots import get

    console = SafeConsole()
    picture = next((name for part, name in _OF_PICTURES.items() if part in result), None)
    lines = result.attrs.get("in_words", "").splitlines()
    if plot is not None and picture is None:
        _no_picture(plot)
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
