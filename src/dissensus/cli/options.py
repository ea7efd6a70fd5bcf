"""Options that commands share, options of plans, and functions that read their values."""

from __future__ import annotations

import json
import re
import sys
from ast import literal_eval
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final

import typer

from dissensus.errors import ArgumentError, DissensusError, brief
from dissensus.storage import check_target, name_exists, require_writable

# Options that several commands have: columns of the files, and how files are read.


Item = Annotated[str, typer.Option(help="Column that names the item.")]
Annotator = Annotated[str, typer.Option(help="Column that names the annotator.")]
Label = Annotated[str, typer.Option(help="Column that holds the label (or number).")]
Rank = Annotated[str | None, typer.Option(help="Column of ranks, for partial rankings.")]
Kind = Annotated[str | None, typer.Option(help="nominal, ordinal, continuous, ranking or set.")]
Separator = Annotated[
    str | None, typer.Option(help="With --kind set: separator of labels, such as ';'.")
]
NoLabel = Annotated[
    str | None, typer.Option("--none", help="With --kind set: the word for an empty set.")
]
Labels = Annotated[str | None, typer.Option(help="The whole label space: 'a,b,c', or a file.")]
Confidence = Annotated[
    str | None, typer.Option(help="Column of annotators' confidence, from 0 to 1.")
]
Trial = Annotated[str | None, typer.Option(help="Column that numbers repeated labels.")]
Pool = Annotated[str | None, typer.Option(help="Column of annotators' groups.")]
Cluster = Annotated[str | None, typer.Option(help="Column of the sampled units, such as patients.")]
Stratum = Annotated[str | None, typer.Option(help="Column of groups of items.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help=r"Separator of cells, such as ';' or '\t'.",
        callback=lambda text: "\t" if text == r"\t" else text,  # a shell leaves \t as it is
    ),
]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]
Format = Annotated[str | None, typer.Option(help="Name of a format, see dissensus.formats.")]
Predictions = Annotated[Path | None, typer.Option(help="File of the systems' predictions.")]
System = Annotated[str, typer.Option(help="Column that names the system.")]
Score = Annotated[str | None, typer.Option(help="Column of scores in the predictions.")]
PredictionLabel = Annotated[
    str | None, typer.Option(help="Column of the label in the predictions, if different.")
]
PredictionRank = Annotated[str | None, typer.Option(help="Column of ranks in the predictions.")]
OnMissing = Annotated[str, typer.Option(help="Items without predictions: raise or drop.")]
PriorCount = Annotated[float | None, typer.Option(help="Prior count of each label.")]
Prior = Annotated[str | None, typer.Option(help="For scores: 'm,k,a,b', see the model's card.")]
Seed = Annotated[int | None, typer.Option(help="Makes the draws repeatable.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing results.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object, for other programs to read.")
]
Everything = Annotated[
    bool,
    typer.Option("--all", help="Print every metric, agreement and model, not the verdict alone."),
]
Progress = Annotated[bool, typer.Option(help="Show progress.")]


# Functions that read values of options; their errors name the option.


_ARGUMENT: Final = re.compile(
    r"(?<![\w.-])(?<!\w\()(annotator|chunks|cluster|companion|components|concentration|confidence"
    r"|delimiter|draws|encoding|format|ground_truth|groups|item|kind|label|labels|margin|model"
    r"|new_items|none|on_missing|pool|positive|prediction_label|prediction_rank"
    r"|predictions_format|prior_count|question|rank|reference|reliability|risk|score|separator"
    r"|side|stratum|studies|system|target|threshold|trial|truth_model)="
    r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|([\d.]+\d|\d)|(\['[^\[\]\n]+'\])|True)?(?![\w\"'])"
)
"""Matches an argument in messages of the Python functions."""
_BETWEEN: Final = re.compile(r"(?<![\w-])(--[\w-]+ (?:'[^'\n]*'|[^\s,']+)),(?= --[\w-]+ [^-\s])")
"""Matches an option with its value, before a comma and another option with its value."""


def as_options(text: str) -> str:
    """Replace names of arguments in an error message by names of options.

    Examples
    --------
    >>> as_options('Name it with item=; on_missing="drop" leaves it out (draws=4000)')
    'Name it with --item; --on-missing drop leaves it out (--draws 4000)'
    >>> as_options("Name them with item='image', label='the class'")
    "Name them with --item image --label 'the class'"
    >>> as_options("For example labels=['bad', 'not good'], or side=True")
    "For example --labels 'bad,not good', or --side"
    """

    def option(matched: re.Match[str]) -> str:
        text = matched[2] or matched[3] or (matched[5] and ",".join(literal_eval(matched[5])))
        value = matched[4] or (text and quote(text))
        name = f"--{matched[1].replace('_', '-')}"
        return f"{name} {value}" if value else name

    return _BETWEEN.sub(r"\1", _ARGUMENT.sub(option, text))


_OF_PREDICTIONS: Final = {
    "label": "prediction_label", "rank": "prediction_rank", "format": "predictions_format"
}  # fmt: skip
"""Arguments of `read_predictions` for which the command line has an option of another name."""


def of_predictions[Error: DissensusError](problem: Error) -> Error:
    """Return an error about predictions that names the options for predictions.

    Examples
    --------
    >>> problem = ArgumentError("column 'x'", expected="a", found="b", hint="Name it with rank=")
    >>> of_predictions(problem).hint
    'Name it with prediction_rank='
    """
    hint = re.sub(
        rf"(?<![\w.-])({'|'.join(_OF_PREDICTIONS)})=", lambda a: f"{_OF_PREDICTIONS[a[1]]}=",
        problem.hint,
    )  # fmt: skip
    if re.search(r"(?<![\w.-])item=", hint):
        hint += ". This option is for both files: rename the column of one, if their names differ"
    return type(problem)(
        problem.subject, expected=problem.expected, found=problem.found, where=problem.where,
        hint=hint,
    )  # fmt: skip


def kept_apart(as_json: bool) -> AbstractContextManager[Any]:
    """With JSON output, send text printed by models of other packages to standard error."""
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


def label_space(text: str | None) -> list[str] | None:
    """Read a label space given as a comma-separated list or as a file with one label per line.

    Examples
    --------
    >>> label_space("low, high")
    ['low', 'high']
    """
    if text is None:
        return None
    if "," not in text and _is_file(text):
        lines = _read(Path(text), "--labels", "a text file, one label per line").splitlines()
        return [line.strip() for line in lines if line.strip()]
    return [part.strip() for part in text.split(",")]


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # such as a label that is too long for a file name
        return False


def numbers(text: str, option: str) -> list[float]:
    """Read numbers separated by commas.

    Examples
    --------
    >>> numbers("0.5,1", "--reliability")
    [0.5, 1.0]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as problem:
        raise ArgumentError(
            option, expected="numbers separated by commas", found=repr(text)
        ) from problem


def whole_numbers(text: str, option: str) -> list[int]:
    """Read whole numbers separated by commas.

    Examples
    --------
    >>> whole_numbers("1,3", "--items")
    [1, 3]
    """
    parsed = numbers(text, option)
    if not all(number.is_integer() for number in parsed):
        raise ArgumentError(option, expected="whole numbers separated by commas", found=repr(text))
    return [int(number) for number in parsed]


def given(**options: Any) -> dict[str, Any]:
    """Leave out the options that were not given, so that defaults stay in one place.

    Examples
    --------
    >>> given(prior_count=None, prior=1)
    {'prior': 1}
    """
    return {name: value for name, value in options.items() if value is not None}


def mapping(path: Path | None, option: str, value: str) -> dict[str, Any] | None:
    """Read a JSON object that maps labels to values, such as numbers."""
    if path is None:
        return None
    expected = f"a JSON file with an object from label to {value}"
    try:
        parsed = json.loads(_read(path, option, expected), object_pairs_hook=_unique_keys)
    except (json.JSONDecodeError, _TwiceError) as problem:
        raise ArgumentError(option, expected=expected, found=f"{path}: {problem}") from problem
    if not isinstance(parsed, dict):
        raise ArgumentError(option, expected=expected, found=f"{path}: a {type(parsed).__name__}")
    return parsed


class _TwiceError(Exception):
    """A duplicate key of an object; the JSON reader would silently keep the last value."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(f"{next(key for key in keys if keys.count(key) > 1)!r} more than once")
    return parsed


def or_none(**options: str | None) -> dict[str, Any]:
    """Read names, with "none" as None; leave out the options that were not given.

    Examples
    --------
    >>> or_none(companion="none", components=None), or_none(companion="inverse_rank")
    ({'companion': None}, {'companion': 'inverse_rank'})
    """
    return {name: None if value == "none" else value for name, value in given(**options).items()}


def accuracy(text: str | None) -> dict[str, Any]:
    """Read the setting of the ground truth: a number or a word; "none" is None.

    Examples
    --------
    >>> accuracy("0.85"), accuracy("none"), accuracy(None)
    ({'ground_truth': 0.85}, {'ground_truth': None}, {})
    """
    try:
        return {"ground_truth": float(str(text))}
    except ValueError:
        return or_none(ground_truth=text)


def named(annotations: Any, dim: str, name: str | None) -> Any:
    """Return the pool or label whose name was typed: on the command line 2 and "2" are the same."""
    if name is None or dim not in annotations.coords:
        return name
    known = annotations[dim].to_numpy().tolist()
    return next((existing for existing in known if str(existing) == name), name)


def _read(path: Path, option: str, expected: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ArgumentError(option, expected=expected, found=f"{path}: {problem}") from problem


def result_folder(out: Path, store: str, force: bool) -> None:
    """Raise before the evaluation begins if its results could not be written."""
    if store not in {"nc", "zarr"}:
        raise ArgumentError("--store", expected="nc or zarr", found=repr(store))
    if store == "zarr" and find_spec("zarr") is None:
        raise ArgumentError(
            "--store", expected="nc, or zarr where it is installed", found="no package zarr"
        )
    nearest = next(folder for folder in (out, *out.parents, Path()) if name_exists(folder))
    if not nearest.is_dir():
        obstacle = "a link that leads to no folder," if nearest.is_symlink() else "the file"
        raise ArgumentError("--out", expected="a folder", found=f"{obstacle} {nearest}")
    require_writable(nearest, "--out")
    tables = ("summary", "statistics", "components", "accuracy", "weighted_reliability")
    stores = ("evaluation.nc", "evaluation.zarr")
    names = (*stores, *(f"{table}.csv" for table in tables), "report.html")
    earlier = [name for name in names if name_exists(out / name)]
    if earlier and not force:
        raise ArgumentError(
            "--out",
            expected=f"a folder without earlier results, or --force ({out})",
            found=", ".join(earlier),
        )
    for name in earlier:
        check_target(out / name)


@contextmanager
def on_cluster(scheduler: str | None, chunks: int | None) -> Iterator[None]:
    """Let Dask use the given cluster, if any, and leave it running.

    ``local`` starts a cluster on this machine, which is shut down at the end.
    """
    if scheduler is None:
        yield
        return
    if chunks is None:
        raise ArgumentError(
            "--scheduler", expected="--chunks too, the number of items at a time",
            found=repr(scheduler),
        )  # fmt: skip
    if find_spec("distributed") is None:
        raise ArgumentError(
            "--scheduler", expected="the package distributed", found="none",
            hint="pip install 'dissensus[dask]'",
        )  # fmt: skip
    from distributed import Client

    try:
        # The client is the default only after it has connected: without a scheduler, a default
        # client waits for ever.
        address = None if scheduler == "local" else scheduler
        client = Client(address, timeout="30s", set_as_default=False)
    except (OSError, ValueError) as problem:
        raise ArgumentError(
            "--scheduler", expected="the address of a Dask scheduler, such as tcp://host:8786",
            found=f"{scheduler!r} ({brief(problem)})",
        ) from problem  # fmt: skip
    with client, client.as_current():
        yield


# Options of `dissensus plan`: first those of all plans, then those of each kind of plan.


Pilot = Annotated[
    Path | None, typer.Argument(help="Annotations of a pilot study; none with --kappa.")
]
Annotators = Annotated[
    str | None,
    typer.Option(
        help="Annotators per item to try; 1,2,3,5,8,12 or 2,3,5 by default; with "
        "--predictions 3, for votes 1."
    ),
]
Items = Annotated[
    str | None,
    typer.Option(
        help="Numbers of items to try; 100,300,1000 or 50,100,200,400 by default; with "
        "--predictions, .1, .3 and .6 of the predicted items."
    ),
]
Accuracy = Annotated[
    float | None,
    typer.Option(help="Accuracy of the simulated system; .8 by default, .9 with --truth."),
]
Assurance = Annotated[
    float | None,
    typer.Option(help="Probability of reaching the target; .8 by default, .9 with --truth."),
]
Studies = Annotated[
    int | None, typer.Option(help="Simulated studies of each size; 20 or 40 by default.")
]
Plot = Annotated[
    Path | None, typer.Option(help="Write a picture, .png, .svg or .pdf (not for every plan).")
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
Family = Annotated[str | None, typer.Option(help="For reliability: gaussian, ordinal, bernoulli.")]
Scale = Annotated[
    str | None, typer.Option(help="For reliability: observed (the default) or latent.")
]

Reliability = Annotated[float | None, typer.Option(help="Weight of one annotation; 1 by default.")]

Truth = Annotated[
    bool,
    typer.Option("--truth", help="Plan for one unknown true label per item: number of items needed "
                 "to estimate a system's accuracy, which may exceed the annotators'."),
]  # fmt: skip
Kappa = Annotated[
    float | None,
    typer.Option(help="With --truth, instead of a pilot: agreement beyond chance (1/labels)."),
]
LabelCount = Annotated[int | None, typer.Option(help="With --kappa: size of the label space.")]
Within = Annotated[
    float | None, typer.Option(help="With --truth: maximum error of estimates; .1 by default.")
]
Violated = Annotated[
    bool,
    typer.Option("--violated", help="With --truth: simulate unequal annotators, items and errors."),
]
