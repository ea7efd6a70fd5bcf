"""The command `dissensus check`: what is in the files, before anything is made of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from dissensus.cli.console import SafeConsole
from dissensus.cli.options import (
    Annotator,
    Cluster,
    Confidence,
    Delimiter,
    Encoding,
    Format,
    Item,
    Json,
    Kind,
    Label,
    Labels,
    OnMissing,
    Pool,
    PredictionLabel,
    PredictionRank,
    Predictions,
    Rank,
    Score,
    Stratum,
    System,
    Trial,
    as_options,
    label_space,
)
from dissensus.dims import ITEM, LABEL
from dissensus.errors import ArgumentError, DissensusError, shown


def check(
    annotations: Annotated[Path, typer.Argument(help="What the annotators said.")],
    predictions: Predictions = None,
    item: Item = "item",
    annotator: Annotator = "annotator",
    label: Label = "label",
    rank: Rank = None,
    confidence: Confidence = None,
    trial: Trial = None,
    pool: Pool = None,
    cluster: Cluster = None,
    stratum: Stratum = None,
    kind: Kind = None,
    labels: Labels = None,
    format: Format = None,  # noqa: A002 (the option is called --format)
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    system: System = "system",
    score: Score = None,
    prediction_label: PredictionLabel = None,
    prediction_rank: PredictionRank = None,
    predictions_format: Format = None,
    on_missing: OnMissing = "raise",
    as_json: Json = False,
) -> None:
    """Read and validate annotations (and predictions), and say what is in them."""
    import dissensus as dx
    from dissensus.cli.output import print_json
    from dissensus.data.contents import annotation_contents, prediction_contents

    try:
        ann = dx.read_annotations(
            annotations, format=format, item=item, annotator=annotator, label=label, rank=rank,
            confidence=confidence, trial=trial, pool=pool, cluster=cluster, stratum=stratum,
            kind=kind, labels=label_space(labels), delimiter=delimiter, encoding=encoding,
        )  # fmt: skip
        pred = said_by_systems(
            predictions, item=item, system=system, label=prediction_label or label, score=score,
            rank=prediction_rank, format=predictions_format, on_missing=on_missing, kind=kind,
            delimiter=delimiter, encoding=encoding,
        )  # fmt: skip
    except DissensusError as problem:
        if as_json:
            print_json({"valid": False, "error": as_options(str(problem))})
            raise typer.Exit(2) from problem
        raise
    found = annotation_contents(ann)
    of_systems = None if pred is None else prediction_contents(ann, pred)
    if as_json:
        print_json({"valid": True, "annotations": found, "predictions": of_systems})
        return
    _show(annotations, found, predictions, of_systems, dropped=on_missing == "drop")


def said_by_systems(
    path: Path | None, *, kind: str | None, score: str | None, rank: str | None,
    threshold: float | None = None, **how: Any,
) -> Any:  # fmt: skip
    """Read predictions, if there are any; of labels, where annotations are said to be labels."""
    import dissensus as dx

    if path is None:
        return None
    named = kind in {"nominal", "ordinal"} and threshold is None and not (score or rank)
    return dx.read_predictions(
        path, kind="nominal" if named else None, score=score, rank=rank, **how
    )


def known_labels(
    path: Path | None, annotations: Any, *, item: str, label: str, delimiter: str | None,
    encoding: str,
) -> dict[Any, Any] | None:  # fmt: skip
    """Read labels that are known to be true, if there are any, from item to label.

    Names are those of the annotations that are written alike: text files have nothing but text.
    """
    from dissensus.data.formats._any_table import read_table
    from dissensus.data.formats._table import Asked
    from dissensus.data.formats._text import checked_path

    if path is None:
        return None
    if LABEL not in annotations.dims:
        raise ArgumentError(
            "--known", expected="annotations that are labels", found="numbers, not right or wrong"
        )
    asked = Asked({ITEM: item, LABEL: label}, encoding=encoding, delimiter=delimiter)
    table = read_table(checked_path(path), asked)
    for role, name in asked.columns.items():
        if name not in table.columns:
            raise ArgumentError(
                "--known", expected=f"a file with the columns {item!r} and {label!r}, as the "
                "annotations have them", found=f"{path.name} with {shown(list(table.columns))}",
                hint=f"Rename the column that holds the {role}",
            )  # fmt: skip
    names, labels = (
        [own.get(str(cell), cell) for cell in table.columns[column]]
        for column, own in (
            (column, {str(one): one for one in annotations[dim].to_numpy().tolist()})
            for column, dim in ((item, ITEM), (label, LABEL))
        )
    )
    again = [name for name, n in Counter(names).items() if n > 1]
    if again:
        raise ArgumentError(
            "--known", expected="one label for each item", found=f"several for {shown(again)}"
        )
    own = (annotations[dim].to_numpy().tolist() for dim in (ITEM, LABEL))
    for what, mine, here in zip(("items", "labels"), own, (names, labels), strict=True):
        strange = [one for one in dict.fromkeys(here) if one not in set(mine)]
        if strange:
            raise ArgumentError(
                "--known", expected=f"{what} of the annotations, such as {shown(mine, 3)}",
                found=f"in {path.name} also {shown(strange)}",
                hint="Leave those rows out" if what == "items" else "--labels names all that can "
                "be true",
            )  # fmt: skip
    return dict(zip(names, labels, strict=True))


def _show(
    annotations: Path, found: Any, predictions: Path | None, of_systems: Any, *, dropped: bool
) -> None:
    """Print a table of each file."""
    from dissensus.reports.contents import NEEDS, annotation_lines, prediction_lines

    tables = [(annotations, annotation_lines(found))]
    if predictions is not None:
        needs = "" if dropped else as_options(NEEDS)
        tables.append((predictions, prediction_lines(of_systems, needs)))
    console = SafeConsole()
    for path, lines in tables:
        table = Table(title=escape(str(path)), show_header=False, title_justify="left")
        for what, value in lines:
            table.add_row(what, escape(value))
        console.print(table)
