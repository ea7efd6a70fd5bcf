"""The command `dissensus check`, and functions that read predictions and known labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from dissensus.cli import options
from dissensus.cli.console import SafeConsole
from dissensus.dims import ITEM, LABEL
from dissensus.errors import ArgumentError, DissensusError, FormatError, shown


def check(
    annotations: Annotated[Path, typer.Argument(help="File of annotations.")],
    predictions: options.Predictions = None,
    item: options.Item = "item",
    annotator: options.Annotator = "annotator",
    label: options.Label = "label",
    rank: options.Rank = None,
    confidence: options.Confidence = None,
    trial: options.Trial = None,
    pool: options.Pool = None,
    cluster: options.Cluster = None,
    stratum: options.Stratum = None,
    kind: options.Kind = None,
    separator: options.Separator = None,
    none: options.NoLabel = None,
    labels: options.Labels = None,
    format: options.Format = None,  # noqa: A002 (the option is called --format)
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    system: options.System = "system",
    score: options.Score = None,
    prediction_label: options.PredictionLabel = None,
    prediction_rank: options.PredictionRank = None,
    predictions_format: options.Format = None,
    on_missing: options.OnMissing = "raise",
    as_json: options.Json = False,
) -> None:
    """Read and validate annotations (and predictions), and describe their contents."""
    from dissensus.cli.output import print_json
    from dissensus.data.alignment import Sources
    from dissensus.data.contents import (
        annotation_contents,
        annotation_warnings,
        left_out,
        prediction_contents,
    )
    from dissensus.data.pairs import are_votes
    from dissensus.data.refusals import refusals
    from dissensus.reports.contents import annotation_lines, prediction_lines

    problems: list[DissensusError] = []
    with _collected(problems):
        space = options.label_space(labels)
    ann, pred = None, None
    with _collected(problems):
        ann = read_annotations(
            annotations, predictions, prediction_rank, format=format, item=item,
            annotator=annotator, label=label, rank=rank, confidence=confidence, trial=trial,
            pool=pool, cluster=cluster, stratum=stratum, kind=kind,
            labels=space, delimiter=delimiter, encoding=encoding, separator=separator, none=none,
        )  # fmt: skip
    if are_votes(ann):
        _check_votes(ann, annotations, predictions, problems, as_json=as_json, item=item,
                     format=predictions_format or format, delimiter=delimiter,
                     encoding=encoding)  # fmt: skip
        return
    reading = partial(
        read_predictions, predictions, item=item, system=system, label=prediction_label or label,
        score=score, rank=prediction_rank, format=predictions_format, kind=kind,
        delimiter=delimiter, encoding=encoding, separator=separator, none=none,
    )  # fmt: skip
    with _collected(problems):
        pred = reading(on_missing=on_missing)
    rule = on_missing
    if problems and pred is None and on_missing == "raise":
        with suppress(DissensusError):  # succeeds if the only error is that items lack predictions
            pred, rule = reading(on_missing="drop"), "drop"
    notes = [] if ann is None else annotation_warnings(ann, pred)
    contents: Any = None if ann is None else annotation_contents(ann)
    of_systems: Any = None
    if ann is not None:
        sources = Sources(annotations.name, "" if predictions is None else predictions.name)
        problems += refusals(ann, pred, rule, sources=sources)
        if pred is not None:
            of_systems = prediction_contents(ann, pred)
            notes += left_out(ann, pred, sources) if on_missing == "drop" else []
    errors = [options.as_options(str(problem)) for problem in problems]
    notes = [options.as_options(note) for note in notes]
    if as_json:
        print_json({"valid": not errors, "errors": errors, "notes": notes,
                    "annotations": contents, "predictions": of_systems})  # fmt: skip
    else:
        if ann is not None:
            _print_table(annotations, annotation_lines(contents))
        if predictions is not None and of_systems is not None:
            _print_table(predictions, prediction_lines(of_systems))
        _print_list("look at these", "yellow", notes)
        _print_list("an evaluation refuses these", "red", errors)
    if errors:
        raise typer.Exit(2)


def _check_votes(
    votes: Any, path: Path, predictions: Path | None, problems: list[DissensusError], *,
    as_json: bool, **arguments: Any,
) -> None:  # fmt: skip
    """Describe votes on pairs, and judges' verdicts if their file is given."""
    from dissensus.cli.output import print_json
    from dissensus.data.contents import name_warnings, vote_contents
    from dissensus.data.pairs import copies
    from dissensus.families.pairs.evidence import with_evidence
    from dissensus.reports.contents import vote_lines

    verdicts: Any = None
    with _collected(problems):
        verdicts = read_verdicts(predictions, **arguments)
        with_evidence(votes, verdicts, None)
    errors = [options.as_options(str(problem)) for problem in problems]
    contents = [None if table is None else vote_contents(table) for table in (votes, verdicts)]
    notes = [*filter(None, [copies(votes)]), *name_warnings(votes)]
    if as_json:
        print_json({"valid": not errors, "errors": errors, "notes": notes,
                    "annotations": contents[0], "predictions": contents[1]})  # fmt: skip
    else:
        for file, description in zip((path, predictions), contents, strict=True):
            if file is not None and description is not None:
                _print_table(file, vote_lines(description))
        _print_list("look at these", "yellow", notes)
        _print_list("an evaluation refuses these", "red", errors)
    if errors:
        raise typer.Exit(2)


def read_verdicts(path: Path | None, **arguments: Any) -> Any:
    """Read judges' verdicts, if a file is given; they have the same form as votes."""
    import dissensus as dx

    return None if path is None else dx.read_annotations(path, **arguments)


@contextmanager
def _collected(problems: list[DissensusError]) -> Iterator[None]:
    """Append an error about input to a list, and continue."""
    try:
        yield
    except DissensusError as problem:
        problems.append(problem)


def read_annotations(
    path: Path, predictions: Path | None, prediction_rank: str | None, **arguments: Any
) -> Any:
    """Read annotations or votes. The error says if only predictions have the column of ranks."""
    import dissensus as dx
    from dissensus.data.pairs import are_votes
    from dissensus.data.schema import no_predictions

    try:
        annotations = dx.read_annotations(path, **arguments)
        return annotations if are_votes(annotations) else no_predictions(annotations)
    except FormatError as problem:
        rank = arguments["rank"]
        instead = f'prediction_rank="{rank}" instead of rank='
        missing = rank is not None and repr(rank) in problem.subject and prediction_rank is None
        if not missing or predictions is None or rank not in _columns(predictions, arguments):
            raise
        raise FormatError(
            problem.subject, expected=problem.expected, found=problem.found,
            hint=re.sub(r"(?<![\w.-])rank=", instead, problem.hint)
            + ". Only the predictions have the column of ranks",
        ) from problem  # fmt: skip


def _columns(path: Path, arguments: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns of a table, if it can be read."""
    from dissensus.data.formats._any_table import read_table
    from dissensus.data.formats._table import ReadOptions
    from dissensus.data.formats._text import checked_path

    reading = ReadOptions({}, encoding=arguments["encoding"], delimiter=arguments["delimiter"])
    with suppress(DissensusError, OSError):
        return list(read_table(checked_path(path), reading).columns)
    return []


def read_predictions(
    path: Path | None, *, kind: str | None, score: str | None, rank: str | None,
    threshold: float | None = None, **arguments: Any,
) -> Any:  # fmt: skip
    """Read predictions, if a file is given.

    They are nominal labels if ``kind`` (of the annotations) is "nominal" or "ordinal" and no other
    argument asks for numbers or ranks. They are sets if ``kind`` is "set". In a named format,
    ``kind="continuous"`` chooses scores instead of verdicts.
    """
    import dissensus as dx

    if path is None:
        return None
    named = kind in {"nominal", "ordinal"} and threshold is None and not (score or rank)
    alike = kind == "set" or (kind == "continuous" and arguments["format"] is not None)
    try:
        return dx.read_predictions(
            path,
            kind="nominal" if named else kind if alike else None,
            score=score,
            rank=rank,
            **arguments,
        )
    except DissensusError as problem:
        raise options.of_predictions(problem) from problem


def known_labels(
    path: Path | None, annotations: Any, *, item: str, label: str, delimiter: str | None,
    encoding: str,
) -> dict[Any, Any] | None:  # fmt: skip
    """Read known labels, if a file is given, as a mapping from item to label.

    Names are compared with the annotations' names as text, since files contain text only.
    """
    from dissensus.data.formats._any_table import read_table
    from dissensus.data.formats._table import ReadOptions
    from dissensus.data.formats._text import checked_path

    if path is None:
        return None
    of_sets = annotations.attrs["kind"] == "set"
    if LABEL not in annotations.dims and not of_sets:
        raise ArgumentError(
            "--known",
            expected="annotations that are labels",
            found="numbers, which are not right or wrong",
        )
    columns = {ITEM: item, LABEL: label}
    reading = ReadOptions(columns, encoding=encoding, delimiter=delimiter)
    table = read_table(checked_path(path), reading)
    for role, name in columns.items():
        if name not in table.columns:
            raise ArgumentError(
                "--known", expected=f"a file with the columns {item!r} and {label!r}, as the "
                "annotations have them", found=f"{path.name} with {shown(list(table.columns))}",
                hint=f"Rename the column that holds the {role}",
            )  # fmt: skip
    # A known set may be one that no annotator gave: `evaluate` checks its labels.
    own = {dim: annotations[dim].to_numpy().tolist() for dim in ([ITEM] if of_sets else columns)}
    by_text = {dim: {str(name): name for name in names} for dim, names in own.items()}
    cells = {
        dim: [by_text.get(dim, {}).get(str(cell), cell) for cell in table.columns[column]]
        for dim, column in columns.items()
    }
    repeated = [name for name, n in Counter(cells[ITEM]).items() if n > 1]
    if repeated and not of_sets:
        actual = f"several for {shown(repeated)}"
        raise ArgumentError("--known", expected="one label for each item", found=actual)
    hints = {ITEM: "Leave those rows out", LABEL: "Give the label space with --labels"}
    for dim in own:
        unknown = [name for name in dict.fromkeys(cells[dim]) if name not in set(own[dim])]
        if unknown:
            expected = f"{dim}s of the annotations, such as {shown(own[dim], 3)}"
            actual = f"in {path.name} also {shown(unknown)}"
            raise ArgumentError("--known", expected=expected, found=actual, hint=hints[dim])
    known: dict[Any, list[Any]] = {}  # a set can have a row for each label
    for name, cell in zip(cells[ITEM], cells[LABEL], strict=True):
        known.setdefault(name, []).append(cell)
    return {name: rows[0] if len(rows) == 1 else rows for name, rows in known.items()}


def _print_list(title: str, colour: str, lines: Sequence[str]) -> None:
    console = SafeConsole()
    if lines:
        console.print(f"[{colour}]{title}[/{colour}]")
    for line in lines:
        console.print(f"[{colour}]-[/{colour}] {escape(line)}", highlight=False)


def _print_table(path: Path, lines: Iterable[tuple[str, str]]) -> None:
    table = Table(title=escape(str(path)), show_header=False, title_justify="left")
    for name, value in lines:
        table.add_row(name, escape(value))
    SafeConsole().print(table)
