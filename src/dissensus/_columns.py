"""Options that several commands have: columns of the files, and how they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Item = Annotated[str, typer.Option(help="Column that names the item.")]
Annotator = Annotated[str, typer.Option(help="Column that names the annotator.")]
Label = Annotated[str, typer.Option(help="Column that holds the label (or number).")]
Rank = Annotated[str | None, typer.Option(help="Column of ranks, for partial rankings.")]
Kind = Annotated[str | None, typer.Option(help="nominal, ordinal, continuous or ranking.")]
Labels = Annotated[str | None, typer.Option(help="The whole label space: 'a,b,c', or a file.")]
Confidence = Annotated[
    str | None, typer.Option(help="Column of how sure annotators were, from 0 to 1.")
]
Trial = Annotated[str | None, typer.Option(help="Column that numbers repeated labels.")]
Pool = Annotated[str | None, typer.Option(help="Column of annotators' groups.")]
Cluster = Annotated[str | None, typer.Option(help="Column of what was sampled, such as patients.")]
Stratum = Annotated[str | None, typer.Option(help="Column of kinds of items.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates cells, such as ';'.")]
Encoding = Annotated[str, typer.Option(help="Of text files.")]
Format = Annotated[str | None, typer.Option(help="Name of a format, see dissensus.formats.")]
Predictions = Annotated[Path | None, typer.Option(help="What the systems said.")]
System = Annotated[str, typer.Option(help="Column that names the system.")]
Score = Annotated[str | None, typer.Option(help="Column of scores in the predictions.")]
PredictionLabel = Annotated[
    str | None, typer.Option(help="Column of the label in the predictions, if another.")
]
PredictionRank = Annotated[str | None, typer.Option(help="Column of ranks in the predictions.")]
OnMissing = Annotated[str, typer.Option(help="raise, or drop items of one side.")]
PriorCount = Annotated[float | None, typer.Option(help="Labels each label has in advance.")]
Prior = Annotated[str | None, typer.Option(help="Of scores: 'm,k,a,b', see the model's card.")]
Seed = Annotated[int | None, typer.Option(help="Makes the draws repeatable.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing results.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object, for other programs to read.")
]
Progress = Annotated[bool, typer.Option(help="Show progress.")]
