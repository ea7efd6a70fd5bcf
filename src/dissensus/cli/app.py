"""The command line: `dissensus evaluate`, `rerun`, `demo`, `check`, `models`, `plan`, `warm-up`."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from dissensus.cli.check import check, known_labels, said_by_systems
from dissensus.cli.console import SafeConsole
from dissensus.cli.options import (
    Annotator,
    Cluster,
    Confidence,
    Delimiter,
    Encoding,
    Force,
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
    Prior,
    PriorCount,
    Progress,
    Rank,
    Score,
    Seed,
    Stratum,
    System,
    Trial,
    accuracy,
    as_options,
    given,
    kept_apart,
    label_space,
    mapping,
    numbers,
    on_cluster,
    or_none,
    pool_named,
    result_folder,
)
from dissensus.cli.plan import plan
from dissensus.cli.rerun import rerun
from dissensus.errors import DissensusError, DissensusWarning

# The commands as a group: any of them can be interrupted.


class Commands(TyperGroup):
    """Commands that say in a line that they were interrupted, and end as a shell expects."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            text = f"{stop or 'Interrupted'}. No result was left half-written."
            console = SafeConsole(stderr=True)
            console.print(text, markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=Commands,
    help="Bayesian evaluation when the annotators disagree and nobody holds the truth.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = SafeConsole()


@app.command()
def evaluate(
    annotations: Annotated[Path, typer.Argument(help="What the annotators said.")],
    predictions: Predictions = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("result"),
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
    model: Annotated[str | None, typer.Option(help="A model, see `dissensus models`.")] = None,
    beside: Annotated[
        str | None, typer.Option("--companion", help="A second model beside it, or none.")
    ] = None,
    reliability: Annotated[
        str | None, typer.Option(help="Reliabilities to go through: '0.5,1,2,5'.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="The cut, for scores.")] = None,
    risk: Annotated[Path | None, typer.Option(help="JSON file: label to risk.")] = None,
    groups: Annotated[Path | None, typer.Option(help="JSON file: label to category.")] = None,
    distance: Annotated[
        str | None, typer.Option(help="For discrepancy ratios: nominal, squared, absolute, ...")
    ] = None,
    margin: Annotated[float, typer.Option(help="Of non-inferiority, as a share.")] = 0.1,
    components: Annotated[
        str | None, typer.Option(help="Of ICCs: gaussian, ordinal, bernoulli; or none.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="The pool that others are compared with.")
    ] = None,
    known: Annotated[
        Path | None, typer.Option(help="Labels known to be true, of some items: item and label.")
    ] = None,
    truth_model: Annotated[
        str | None,
        typer.Option(help="Of accuracy: dawid_skene, symmetric_confusion; none: faster."),
    ] = None,
    question: Annotated[
        str | None, typer.Option(help="Which answer leads: panel or truth.")
    ] = None,
    ground_truth: Annotated[
        str | None, typer.Option(help="What judges labels: majority, an accuracy as 0.85; or none.")
    ] = None,
    on_missing: OnMissing = "raise",
    prior_count: PriorCount = None,
    prior: Prior = None,
    concentration: Annotated[
        float | None, typer.Option(help="Of rankings: prior weight of each label.")
    ] = None,
    draws: Annotated[int, typer.Option(help="Posterior draws in each of four chains.")] = 1000,
    chunks: Annotated[
        int | None, typer.Option(help="Draw and score so many items at a time.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="With --chunks: a Dask cluster's address, or local.")
    ] = None,
    seed: Seed = None,
    store: Annotated[str, typer.Option(help="nc or zarr.")] = "nc",
    progress: Progress = True,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Evaluate systems (or only describe the annotations): files, a table, and a report."""
    import dissensus as dx
    from dissensus.cli.output import finish

    ann = dx.read_annotations(
        annotations, format=format, item=item, annotator=annotator, label=label, rank=rank,
        confidence=confidence, trial=trial, pool=pool, cluster=cluster, stratum=stratum, kind=kind,
        labels=label_space(labels), delimiter=delimiter, encoding=encoding,
    )  # fmt: skip
    pred = said_by_systems(
        predictions, item=item, system=system, label=prediction_label or label, score=score,
        rank=prediction_rank, format=predictions_format, on_missing=on_missing, kind=kind,
        threshold=threshold, delimiter=delimiter, encoding=encoding,
    )  # fmt: skip
    result_folder(out, store, force)
    with on_cluster(scheduler, chunks), kept_apart(as_json):
        result = dx.evaluate(
            ann, pred, draws=draws, random_seed=seed, model=model, threshold=threshold,
            reliability=None if reliability is None else numbers(reliability, "--reliability"),
            risk=mapping(risk, "--risk", "number"), groups=mapping(groups, "--groups", "category"),
            on_missing=on_missing, distance=distance, margin=margin,
            progressbar=progress and not as_json,
            reference=pool_named(ann, reference), chunks=chunks,
            **or_none(companion=beside, components=components, truth_model=truth_model),
            truth=known_labels(known, ann, item=item, label=label, delimiter=delimiter,
                               encoding=encoding),
            **given(question=question),
            **accuracy(ground_truth),
            **given(prior_count=prior_count, prior=prior and numbers(prior, "--prior"),
                    concentration=concentration),
        )  # fmt: skip
    finish(result, out, store, as_json=as_json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("dissensus-demo"),
    seed: Annotated[int, typer.Option(help="Makes the study repeatable.")] = 1,
    draws: Annotated[int, typer.Option(help="Posterior draws in each of four chains.")] = 1000,
    progress: Progress = True,
    force: Force = False,
) -> None:
    """Run the whole on a simulated study whose truth is known, and show it beside the result."""
    import dissensus as dx
    from dissensus.cli.output import finish

    result_folder(out, "nc", force)
    study = dx.simulate.study(n_items=100, n_annotators=20, random_seed=seed)
    result = dx.evaluate(
        study.annotations, study.predictions, draws=draws, tune=max(1, draws // 2),
        random_seed=seed, progressbar=progress,
    )  # fmt: skip
    result["truth"] = study.truth
    finish(result, out, "nc")


@app.command()
def models(as_json: Json = False) -> None:
    """List the models and the kinds of annotations they are for."""
    from dissensus import models

    known = [_model(models, name) for name in models.names()]
    if as_json:
        _print_json(known)
        return
    table = Table("model", "annotations", "what the annotators gave")
    for one in known:
        table.add_row(*(escape(str(cell)) for cell in
                        (one["name"], ", ".join(one["kinds"]), one["summary"])))  # fmt: skip
    console.print(table)
    console.print("Each model's card: [bold]help(dissensus.models.<name>)[/bold]")


@app.command("warm-up")
def warm_up(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Default: everything.")
    ] = None,
    progress: Progress = True,
) -> None:
    """Compile the kernels of models ahead of their first fit, for images and CI caches."""
    import dissensus as dx

    begun = time.perf_counter()
    dx.warm_up(*(names or ()), progressbar=progress)
    console.print(f"compiled in {time.perf_counter() - begun:.0f} s: {', '.join(names or ['all'])}")


def _print_json(said: Any) -> None:
    from dissensus.cli.output import print_json

    print_json(said)


def _model(models: Any, name: str) -> dict[str, Any]:
    """Say what is known of a model; of one of another package, why it cannot be loaded."""
    try:
        model = models.get(name)
    except DissensusError as problem:  # which is not to hide the others
        return {"name": name, "kinds": (), "summary": str(problem)}
    return {"name": name, "kinds": model.kinds, "summary": model.summary}


app.command()(check)
app.command()(plan)
app.command()(rerun)


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,  # noqa: ARG001 (the signature is that of warnings.showwarning)
    lineno: int,  # noqa: ARG001
    file: Any = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    """Print a warning as a note: a person at a terminal does not want our line numbers."""
    label = "note" if issubclass(category, DissensusWarning) else category.__name__
    SafeConsole(stderr=True).print(
        f"[yellow]{label}[/yellow] {escape(as_options(str(message)))}", highlight=False
    )


def main() -> None:
    """Run the command line; complaints about input are printed without a traceback."""
    warnings.showwarning = _note
    try:
        app()
    except (DissensusError, OSError) as problem:
        errors = SafeConsole(stderr=True)
        errors.print(f"[red]{type(problem).__name__}[/red] ", end="")
        errors.print(as_options(str(problem)), markup=False, highlight=False)
        raise SystemExit(2) from problem
