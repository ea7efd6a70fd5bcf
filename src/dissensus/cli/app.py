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

from dissensus.cli import options
from dissensus.cli.check import (
    check,
    known_labels,
    read_annotations,
    read_predictions,
    read_verdicts,
)
from dissensus.cli.console import SafeConsole
from dissensus.cli.plan import plan
from dissensus.cli.rerun import rerun
from dissensus.errors import DissensusError, DissensusWarning


class Commands(TyperGroup):
    """Commands that report an interruption in one line, and exit with code 130."""

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
    help="Bayesian evaluation when annotators disagree and the true labels are unknown.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = SafeConsole()


@app.command()
def evaluate(
    annotations: Annotated[Path, typer.Argument(help="File of annotations.")],
    predictions: options.Predictions = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("result"),
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
    model: Annotated[str | None, typer.Option(help="A model, see `dissensus models`.")] = None,
    companion: Annotated[
        str | None, typer.Option("--companion", help="A second model to compare, or none.")
    ] = None,
    reliability: Annotated[
        str | None, typer.Option(help="Reliabilities to evaluate at: '0.5,1,2,5'.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="Cut of scores into two labels.")] = None,
    positive: Annotated[
        str | None, typer.Option(help="The positive of two labels, for sensitivity.")
    ] = None,
    risk: Annotated[Path | None, typer.Option(help="JSON file: label to risk.")] = None,
    groups: Annotated[Path | None, typer.Option(help="JSON file: label to category.")] = None,
    distance: Annotated[
        str | None, typer.Option(help="For discrepancy ratios: nominal, squared, absolute, ...")
    ] = None,
    margin: Annotated[float, typer.Option(help="Margin of non-inferiority.")] = 0.1,
    components: Annotated[
        str | None, typer.Option(help="Family for ICCs: gaussian, ordinal, bernoulli; or none.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="The pool that others are compared with.")
    ] = None,
    known: Annotated[
        Path | None, typer.Option(help="File of known true labels: columns item and label.")
    ] = None,
    truth_model: Annotated[
        str | None,
        typer.Option(help="Model of accuracy: dawid_skene, symmetric_confusion; or none."),
    ] = None,
    question: Annotated[
        str | None, typer.Option(help="The answer to show first: panel or truth.")
    ] = None,
    new_items: Annotated[
        bool, typer.Option("--new-items", help="Answers or leaderboard for new items like these.")
    ] = False,
    ground_truth: Annotated[
        str | None, typer.Option(help="Accuracies of annotators: majority, or a number; or none.")
    ] = None,
    on_missing: options.OnMissing = "raise",
    prior_count: options.PriorCount = None,
    prior: options.Prior = None,
    concentration: Annotated[
        float | None, typer.Option(help="For rankings: prior weight of each label.")
    ] = None,
    draws: Annotated[int, typer.Option(help="Posterior draws in each of four chains.")] = 1000,
    chunks: Annotated[
        int | None, typer.Option(help="Number of items to draw and score at a time.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="With --chunks: a Dask cluster's address, or local.")
    ] = None,
    seed: options.Seed = None,
    side: Annotated[
        bool, typer.Option("--side", help="For votes: estimate the advantage of the left side.")
    ] = False,
    store: Annotated[str, typer.Option(help="Format of the draws: nc or zarr.")] = "nc",
    progress: options.Progress = True,
    force: options.Force = False,
    as_json: options.Json = False,
    everything: options.Everything = False,
) -> None:
    """Evaluate systems (or only describe the annotations); write files and a report."""
    import dissensus as dx
    from dissensus.cli.output import finish
    from dissensus.data.alignment import Sources
    from dissensus.data.pairs import are_votes
    from dissensus.data.refusals import require_fit

    ann = read_annotations(
        annotations, predictions, prediction_rank, format=format, item=item,
        annotator=annotator, label=label, rank=rank, confidence=confidence, trial=trial,
        pool=pool, cluster=cluster, stratum=stratum, kind=kind,
        labels=options.label_space(labels), delimiter=delimiter, encoding=encoding,
        separator=separator, none=none,
    )  # fmt: skip
    of_votes = are_votes(ann)
    pred = read_verdicts(
        predictions, item=item, format=predictions_format or format, delimiter=delimiter,
        encoding=encoding,
    ) if of_votes else read_predictions(
        predictions, item=item, system=system, label=prediction_label or label, score=score,
        rank=prediction_rank, format=predictions_format, on_missing=on_missing, kind=kind,
        threshold=threshold, delimiter=delimiter, encoding=encoding, separator=separator, none=none,
    )  # fmt: skip
    options.result_folder(out, store, force)
    if predictions is not None and not of_votes:
        scores = ann.attrs["kind"] == "continuous" or (
            ann.attrs["kind"] == "ordinal" and threshold is not None
        )
        sources = Sources(annotations.name, predictions.name)
        require_fit(ann, pred, on_missing, scores=scores, sources=sources)
    values = None if reliability is None else options.numbers(reliability, "--reliability")
    with options.on_cluster(scheduler, chunks), options.kept_apart(as_json):
        result = dx.evaluate(
            ann, pred, draws=draws, random_seed=seed, model=model, threshold=threshold,
            reliability=values,
            risk=options.mapping(risk, "--risk", "number"),
            groups=options.mapping(groups, "--groups", "category"),
            on_missing=on_missing, distance=distance, margin=margin,
            progressbar=progress and not as_json,
            reference=options.named(ann, "pool", reference), chunks=chunks,
            positive=options.named(ann, "label", positive),
            **options.or_none(companion=companion, components=components, truth_model=truth_model),
            truth=known_labels(known, ann, item=item, label=label, delimiter=delimiter,
                               encoding=encoding),
            new_items=new_items,
            **options.given(question=question, prior_count=prior_count, concentration=concentration,
                            prior=prior and options.numbers(prior, "--prior"), side=side or None),
            **options.accuracy(ground_truth),
        )  # fmt: skip
    finish(result, out, store, as_json=as_json, everything=everything)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("dissensus-demo"),
    seed: Annotated[int, typer.Option(help="Makes the study repeatable.")] = 1,
    draws: Annotated[int, typer.Option(help="Posterior draws in each of four chains.")] = 500,
    progress: options.Progress = True,
    force: options.Force = False,
    everything: options.Everything = False,
) -> None:
    """Evaluate a simulated study, and show its known truth beside the result."""
    import dissensus as dx
    from dissensus.cli.output import finish

    options.result_folder(out, "nc", force)
    study = dx.simulate.study(
        n_items=100, n_annotators=20, quality=(0.95, 0.8, 0.7, 0.6), random_seed=seed
    )
    result = dx.evaluate(
        study.annotations, study.predictions, draws=draws, tune=max(1, draws // 2),
        random_seed=seed, progressbar=progress,
    )  # fmt: skip
    result["truth"] = study.truth
    finish(result, out, "nc", everything=everything)


@app.command()
def models(as_json: options.Json = False) -> None:
    """List the models and the kinds of annotations they are for."""
    from dissensus import models
    from dissensus.cli.output import print_json

    known = [_model(models, name) for name in models.names()]
    if as_json:
        print_json(known)
        return
    table = Table("model", "annotations", "what the annotators gave")
    for model in known:
        cells = (model["name"], ", ".join(model["kinds"]), model["summary"])
        table.add_row(*(escape(str(cell)) for cell in cells))
    console.print(table)
    console.print("Each model's card: [bold]help(dissensus.models.<name>)[/bold]")


@app.command("warm-up")
def warm_up(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Default: everything.")
    ] = None,
    progress: options.Progress = True,
) -> None:
    """Compile the kernels of models ahead of their first fit, for images and CI caches."""
    import dissensus as dx

    begun = time.perf_counter()
    dx.warm_up(*(names or ()), progressbar=progress)
    console.print(f"compiled in {time.perf_counter() - begun:.0f} s: {', '.join(names or ['all'])}")


def _model(models: Any, name: str) -> dict[str, Any]:
    """Describe a model; if the model of another package cannot be loaded, give the error."""
    try:
        model = models.get(name)
    except DissensusError as problem:  # the other models are still listed
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
    """Print a warning as a note, without line numbers of the library."""
    label = "note" if issubclass(category, DissensusWarning) else category.__name__
    SafeConsole(stderr=True).print(
        f"[yellow]{label}[/yellow] {escape(options.as_options(str(message)))}", highlight=False
    )


def main() -> None:
    """Run the command line; errors about input are printed without a traceback."""
    warnings.showwarning = _note
    try:
        app()
    except (DissensusError, OSError) as problem:
        errors = SafeConsole(stderr=True)
        errors.print(f"[red]{type(problem).__name__}[/red] ", end="")
        errors.print(options.as_options(str(problem)), markup=False, highlight=False)
        raise SystemExit(2) from problem
