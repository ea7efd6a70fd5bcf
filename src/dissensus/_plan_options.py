"""Options of `dissensus plan`: those of all plans, and those of each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Pilot = Annotated[
    Path | None, typer.Argument(help="Annotations of a pilot study; none with --kappa.")
]
Annotators = Annotated[
    str | None, typer.Option(help="Annotators per item to try; 1,2,3,5,8,12 or 2,3,5 by default.")
]
Items = Annotated[
    str | None,
    typer.Option(help="Numbers of items to try; 100,300,1000 or 50,100,200,400 by default."),
]
Accuracy = Annotated[
    float | None,
    typer.Option(help="The imagined system's accuracy; .8 by default, .9 if the truth is unknown."),
]
Assurance = Annotated[
    float | None,
    typer.Option(help="How probable a target has to be; .8 by default, .9 if of an unknown truth."),
]
Studies = Annotated[
    int | None, typer.Option(help="Simulated studies of each size; 20 or 40 by default.")
]
Plot = Annotated[
    Path | None, typer.Option(help="Write a picture, .png, .svg or .pdf (not of every plan).")
]

Target = Annotated[
    float | None, typer.Option(help="Reliability of the mean label to reach, such as .8.")
]
Width = Annotated[
    float | None, typer.Option(help="Length of the ICC's interval to reach, such as .1.")
]
Panel = Annotated[
    int | None, typer.Option(help="Annotators in all; as many as in the pilot by default.")
]
Family = Annotated[str | None, typer.Option(help="Of reliability: gaussian, ordinal or bernoulli.")]
Scale = Annotated[
    str | None, typer.Option(help="Of reliability: observed (the default) or latent.")
]

Reliability = Annotated[float | None, typer.Option(help="Trust in one annotator; 1 by default.")]

Truth = Annotated[
    bool,
    typer.Option("--truth", help="Items have one true label, unknown: how many show a system's "
                 "accuracy, which may be above the annotators'?"),
]  # fmt: skip
Kappa = Annotated[
    float | None, typer.Option(help="Of --truth, for a pilot: agreement where chance is 1/labels.")
]
LabelCount = Annotated[int | None, typer.Option(help="With --kappa: labels to choose from.")]
Within = Annotated[
    float | None, typer.Option(help="Of --truth: how far an estimate may be off; .1 by default.")
]
Violated = Annotated[
    bool,
    typer.Option("--violated", help="Of --truth: with unequal annotators, items and errors."),
]
