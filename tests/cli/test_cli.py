"""The command line, as a person uses it."""

from __future__ import annotations

import csv
import json
import random
import re
from functools import partial

import lean
import pytest
import xarray as xr
from cli.conftest import write
from refusals import check_refused
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli import app, options

pytestmark = pytest.mark.usefixtures("no_pictures")

runner = CliRunner()

LEAN = ("--truth-model", "none", "--ground-truth", "none", "--components", "none",
        "--reliability", 1, "--no-progress")  # fmt: skip
"""For what does not depend on them: most of the time goes into fits and pictures."""


def call(*arguments):
    return runner.invoke(app.app, [str(argument) for argument in arguments])


@pytest.mark.long
@pytest.mark.pictures
def test_evaluate_writes_draws_table_and_report(files, tmp_path):
    ann, pred = files
    out = tmp_path / "out"
    # Whether 100 draws suffice for accuracies under a true label, is a matter of chance.
    done = call("evaluate", "--all", ann, "--predictions", pred, "--out", out, "--seed", 1,
                "--draws", 100, "--truth-model", "none")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.iterdir()) == [
        "components.csv",
        "evaluation.nc",
        "report.html",
        "statistics.csv",
        "summary.csv",
        "weighted_reliability.csv",
    ]
    assert "(top-1 accuracy)" in done.output
    for title in ("Agreement of the annotators", "Systems and annotators", "variance, and"):
        assert title in done.output
    assert "of a label's latent variance" in done.output
    with xr.open_datatree(out / "evaluation.nc", engine="h5netcdf") as tree:
        assert tree.attrs["random_seed"] == "1"
        assert tree["metrics"]["top_1_accuracy"].dims[:2] == ("chain", "draw")
        assert tree["posterior"]["plausibility"].dtype == "float32"
    with (out / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["system"] for row in rows} == {"s", "t"}


@pytest.fixture
def one_truth(tmp_path):
    """A study of three annotators who are right on 8 of 10 items, and two systems."""
    rng = random.Random(1)

    def label_of(accuracy, i):
        return "xyz"[(i + (rng.random() > accuracy) * rng.randint(1, 2)) % 3]

    rows = [(f"i{i}", who, label_of(0.8, i)) for i in range(90) for who in ("ann", "bob", "cat")]
    ann = write(tmp_path / "a.csv", rows, ("item", "annotator", "label"))
    rows = [(f"i{i}", s, label_of(p, i)) for i in range(90) for s, p in (("s", 0.95), ("t", 0.6))]
    return ann, write(tmp_path / "p.csv", rows, ("item", "system", "label"))


@pytest.mark.slow
def test_accuracies_are_shown(one_truth, tmp_path):
    ann, pred = one_truth
    out = tmp_path / "out"
    done = call("evaluate", "--all", ann, "--predictions", pred, "--draws", 20, "--seed", 1,
                "--reliability", 1, "--ground-truth", "none", "--out", out)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Accuracy of annotators" in done.output
    words = " ".join(done.output.split())
    assert "Agreement with the majority label counts errors of the majority" in words
    with (out / "accuracy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["of"], row["name"]) for row in rows if row["scope"] == "new items"] == [
        ("system", "s"), ("system", "t"), *(("annotator", who) for who in ("ann", "bob", "cat")),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_ground_truth_is_judged_as_asked(one_truth, tmp_path):
    ann, pred = one_truth
    out = tmp_path / "out"
    done = call("evaluate", "--all", ann, "--predictions", pred, "--draws", 20, "--seed", 1,
                "--truth-model", "none", "--reliability", 1, "--out", out,
                "--ground-truth", 0.8)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "The ground truth" in done.output
    assert "A single label is right on 80" in done.output
    with (out / "weighted_reliability.csv").open() as file:
        rows = {row["quantity"]: row for row in csv.DictReader(file)}
    assert set(rows) == {
        "annotators_for_truth",
        "concordance",
        "label_accuracy",
        "truth_accuracy",
        "weighted_reliability",
    }
    assert float(rows["label_accuracy"]["mean"]) == pytest.approx(0.8)


def test_the_table_shows_what_the_draws_say(files, tmp_path):
    ann, pred = files
    done = call(
        "evaluate", ann, "--predictions", pred, "--out", tmp_path / "out", "--seed", 1, *LEAN,
        "--reliability", "2,4", "--draws", 100,
    )  # fmt: skip
    result = dx.evaluate(
        dx.read_annotations(ann), dx.read_predictions(pred), reliability=(2, 4), draws=100,
        random_seed=1, progressbar=False, **lean.LEAN,
    )  # fmt: skip
    reference = result.attrs["reference_reliability"]
    mean = result["metrics"]["top_1_accuracy"].sel(
        reliability=reference, scope="these items", system="s"
    )
    shown = re.search(r"(?m)^s +(\.\d+) +\.\d+ to", done.output)
    assert float(shown[1]) == pytest.approx(mean.mean().item(), abs=5e-3)


@pytest.mark.long
def test_without_predictions_certainty_is_shown(files, tmp_path):
    given = ("evaluate", files[0], "--out", tmp_path / "out", "--draws", 50, "--seed", 1)
    done = call(*given, *LEAN)
    assert done.exit_code == 0, done.output
    assert "do not settle which label leads" in " ".join(done.output.split())
    assert "Certainty of the leading label" not in done.output
    assert "--all" in done.output
    done = call(*given, *LEAN, "--force", "--all")
    assert "Certainty of the leading label" in done.output
    assert "or --all" not in done.output


@pytest.mark.slow
def test_demo_shows_the_known_truth(tmp_path, monkeypatch):
    made = dx.simulate.study
    small = {"n_items": 12, "n_annotators": 4}
    monkeypatch.setattr(dx.simulate, "study", lambda **given: made(**given | small))
    done = call("demo", "--out", tmp_path / "demo", "--draws", 20, "--no-progress")
    assert done.exit_code == 0, done.output
    with xr.open_datatree(tmp_path / "demo" / "evaluation.nc", engine="h5netcdf") as tree:
        assert "top_1_accuracy" in tree["truth"]
    assert "truth" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore:The pilot has labels of 9 items")  # on purpose: fast
def test_check_models_and_plan(files):
    assert "annotators per item" in call("check", files[0]).output
    assert "inverse_rank" in call("models").output
    planned = call("plan", files[0], "--annotators", "1,3", "--items", "50", "--seed", 1)
    assert planned.exit_code == 0, planned.output
    assert "certainty" in planned.output


@pytest.fixture
def numbers(tmp_path):
    ann = dx.simulate.replication_study(30, 5, 3, pools=("a", "b"), random_seed=1).annotations
    names = {dim: ann[dim].to_numpy()[ann[f"{dim}_code"]] for dim in ("item", "annotator", "pool")}
    rows = zip(*names.values(), ann["value"].to_numpy(), strict=True)
    return write(tmp_path / "pilot.csv", rows, ("item", "annotator", "pool", "label"))


@pytest.mark.long
def test_reliability_is_planned_with_a_picture(numbers, tmp_path):
    picture = tmp_path / "plan.svg"
    sizes = ("--annotators", "2,4", "--items", "20,40", "--studies", 2)
    done = call("plan", numbers, *sizes, "--target", 0.7, "--width", 0.4, "--pool", "pool",
                "--seed", 1, "--no-progress", "--plot", picture)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Reliability of the mean label" in done.output
    assert "Normalised xCC of a and b" in done.output
    assert "annotators an item the mean label reaches .70" in done.output
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.long
def test_accuracy_without_the_truth_is_planned_with_and_without_a_pilot(tmp_path):
    sizes = ("--annotators", "3", "--items", "20,40", "--studies", 2, "--seed", 1, "--no-progress")
    picture = tmp_path / "plan.svg"
    done = call("plan", "--kappa", 0.3, "--label-count", 5, "--accuracy", 0.85, "--within", 0.2,
                *sizes, "--plot", picture)  # fmt: skip
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "With kappa .30 and 5 labels, annotators are right 64% of the time" in text
    assert "an estimate within .20 of the system's accuracy, .85, in 90% of studies" in text
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    ann = dx.simulate.confusion_study(30, 3, 4, ipc=0.8, random_seed=1).annotations
    names = {dim: ann[dim].to_numpy()[ann[f"{dim}_code"]] for dim in ("item", "annotator", "label")}
    pilot = write(tmp_path / "pilot.csv", zip(*names.values(), strict=True), tuple(names))
    done = call("plan", pilot, "--truth", "--assurance", 0.7, *sizes)
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert f"With kappa {float(dx.bennett_s(ann)):.2f}".replace("0.", ".") in text
    assert "in 70% of studies" in text


PLANS = [
    ((), "PILOT: expected a file with annotations of a pilot study; found none. Without a pilot"),
    (("--truth",), "kappa: expected the agreement of annotators beyond guessing, or a pilot"),
    (("--kappa", 0.3), "n_labels: expected the number of labels in the label space"),
    (("--kappa", 0.3, "--target", 0.8), "--target: expected none, as --truth, --kappa"),
    (("--kappa", 0.3, "--label-count", 3, "--pool", "who"), "no file of a pilot is given"),
    (("--kappa", 0.3, "--label-count", 3, "--item", "case"), "no file of a pilot is given"),
    (("--violated", "--prior-count", 2), "--prior-count: expected none, as --truth"),
    (("--kappa", 0.3, "--label-count", 3, "--annotators", 1), "--annotators: expected 2 or more"),
]
OF_PILOTS = [
    (("--plot", "plan.xlsx"), "--plot: expected a name in .png, .svg or .pdf"),
    (("--plot", "nowhere/plan.png"), "--plot: expected a file in an existing folder"),
    (("--target", 2), "--target: expected a number between 0 and 1"),
    (("--target", 0.8, "--accuracy", 0.9), "--accuracy: expected none, since reliability is"),
    (("--studies", 2), "--studies: expected none, since a system's accuracy"),
    (("--target", 0.8, "--prior-count", 1), "--prior-count: expected none, since reliability is"),
    (("--annotators", "1.5"), "--annotators: expected whole numbers"),
    (("--predictions", "p.csv", "--plot", "p.png"), "--plot: expected none, as this kind of"),
    (("--system", "machine"), "--system: expected none, as it says how to read predictions"),
    (("--truth", "--predictions", "p.csv"), "--predictions: expected none, as --truth"),
]
EVALUATIONS = [
    (("--reliability", "a,b"), "numbers separated by commas"),
    (("--store", "pickle"), "nc or zarr"),
    (("--label", "nope"), "'nope'"),
    (("--model", "rasch"), "one of"),
    (("--truth-model", "kappa"), "truth_model: expected"),
    (("--ground-truth", "kappa"), "ground_truth: expected"),
    (("--prior", "1,2,3,4"), "prior: expected a hyperparameter of dirichlet"),
    (("--reliability", "1;2"), "--reliability: expected numbers"),
    (("--threshold", "1"), "threshold: expected None"),
    (("--labels", "a" * 5000), "outside the label space"),
]


def test_options_that_do_not_fit_are_refused(files, tmp_path):
    def called(*words):
        done = call(*words)
        if done.exception is not None:
            raise done.exception

    out = ("--out", tmp_path / "out")
    cases = [
        *((("plan", *options), message) for options, message in PLANS),
        *((("plan", files[0], *options), message) for options, message in OF_PILOTS),
        *((("evaluate", files[0], *out, *options), message) for options, message in EVALUATIONS),
        *((("evaluate", files[0], "--force", "--out", path), "--out: expected a folder")
          for path in (files[1], files[1] / "below")),
    ]  # fmt: skip
    check_refused(dx.DissensusError, [
        (" ".join(map(str, words))[:60], partial(called, *words), re.escape(message))
        for words, message in cases
    ])  # fmt: skip


def test_a_label_space_is_read_from_a_file(tmp_path):
    (tmp_path / "labels.txt").write_text("x\n y\n\nz\n")
    assert options.label_space(str(tmp_path / "labels.txt")) == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("--risk", b"{not json", "--risk: expected a JSON file"),
        ("--risk", b"\xff\xfe", "--risk: expected a JSON file"),
        ("--risk", b"[1]", "found .*: a list"),
        ("--labels", b"\xff\xfe", "--labels: expected a text file"),
    ],
)
def test_option_files_that_cannot_be_read(files, tmp_path, option, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    done = call("evaluate", files[0], option, path, "--out", tmp_path / "out")
    assert isinstance(done.exception, dx.ArgumentError)
    assert re.search(message, str(done.exception))


def test_trials_and_delimiters_can_be_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item;annotator;label;n\n1;ann;x;1\n1;ann;y;2\n")
    assert call("check", path, "--delimiter", ";").exit_code != 0  # said twice
    assert call("check", path, "--delimiter", ";", "--trial", "n").exit_code == 0


@pytest.mark.long
def test_labels_that_are_fractions_are_predicted_as_such(tmp_path):
    ann = write(tmp_path / "a.csv", [(1, "a", 0.5), (2, "a", 1)], ("item", "annotator", "label"))
    pred = write(tmp_path / "p.csv", [(1, "s", 0.5), (2, "s", 1)], ("item", "system", "label"))
    options = ("--out", tmp_path / "out", "--draws", 20, *LEAN)
    done = call("evaluate", ann, "--predictions", pred, "--kind", "nominal", *options)
    assert done.exit_code == 0, done.output


@pytest.fixture
def ranked(tmp_path):
    rows = [(f"i{i}", who, label, rank) for i in range(4) for who in ("ann", "bob")
            for rank, label in enumerate("xyz"[i % 2 : 2 + (who == "ann")], 1)]  # fmt: skip
    ann = write(tmp_path / "a.csv", rows, ("item", "annotator", "label", "rank"))
    rows = [(f"i{i}", "s", label, rank) for i in range(4) for rank, label in enumerate("xy", 1)]
    pred = write(tmp_path / "p.csv", rows, ("item", "system", "label", "rank"))
    return ann, ("--predictions", pred, "--rank", "rank", "--prediction-rank", "rank")


@pytest.mark.long
def test_rankings_show_two_models(ranked, tmp_path):
    groups = tmp_path / "groups.json"
    groups.write_text(json.dumps({"x": "mild", "y": "grave", "z": "mild"}))
    out = tmp_path / "out"
    ann, options = ranked
    done = call("evaluate", "--all", ann, *options, "--groups", groups, "--out", out, "--draws", 20,
                "--reliability", "1,2", "--concentration", 9, "--seed", 1,
                "--no-progress")  # fmt: skip
    assert done.exit_code == 0, done.output
    words = " ".join(done.output.split())
    assert "Metrics of the systems: plackett_luce at 1" in words
    assert "Metrics under both models" in words
    assert "Do not rely on the marked numbers: only 20 draws a chain" in words
    assert "A second model, inverse_rank," in words
    with (out / "summary.csv").open() as file:
        assert {row["model"] for row in csv.DictReader(file)} == {"plackett_luce", "inverse_rank"}
    with xr.open_datatree(out / "evaluation.nc", engine="h5netcdf") as tree:
        assert tree["categories"]["label"].to_numpy().tolist() == ["mild", "grave"]
        assert tree["categories"]["plausibility"].dtype == "float32"
        assert tree["categories"]["top_1_accuracy"].dtype == "float64"
        assert tree["companion"].attrs["model"] == "inverse_rank"
    assert "Two models" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"x": "a", "y": "b", "x": "b"}', "--groups: .*'x' more than once"),
        ('["x"]', "--groups: .*object from label to category; found .*: a list"),
        ('{"x": "a"}', "groups: .*none for 'y'"),
    ],
)
def test_bad_categories_are_refused(files, tmp_path, content, message):
    path = tmp_path / "groups.json"
    path.write_text(content)
    done = call("evaluate", files[0], "--groups", path, "--out", tmp_path / "out")
    assert isinstance(done.exception, dx.ArgumentError)
    assert re.search(message, str(done.exception))


@pytest.mark.long
def test_pools_are_compared_with_the_reference(tmp_path):
    rng = random.Random(1)
    rows = [
        (f"i{i}", f"{pool}{who}", pool, i % 5 + rng.gauss(0, pool / 2))
        for i in range(12)
        for pool in (1, 2, 3)
        for who in range(3)
    ]
    ann = write(tmp_path / "a.csv", rows, ("item", "annotator", "group", "label"))
    done = call(
        "evaluate", "--all", ann, "--pool", "group", "--threshold", 2, "--draws", 20, "--seed", 1,
        "--reference", 2, "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "1 and 3, 12 items in common" in " ".join(done.output.split())
    assert "is closer to 2 than" in " ".join(done.output.split())
    with (tmp_path / "out" / "components.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["pool"] for row in rows if row["quantity"] == "icc_difference"} == {"1", "3"}


@pytest.mark.long
def test_known_labels_come_from_a_file(tmp_path):
    rows = [(f"i{k}", who, "xy"[(k + (k % 7 == who)) % 2]) for k in range(40) for who in range(3)]
    ann = write(tmp_path / "a.csv", rows, ("item", "annotator", "label"))
    known = write(tmp_path / "k.csv", [(f"i{k}", "xy"[k % 2]) for k in range(12)],
                  ("item", "label"))  # fmt: skip
    out = tmp_path / "out"
    given = ("evaluate", ann, "--draws", 20, "--seed", 1, "--no-progress", "--components", "none",
             "--reliability", 1)  # fmt: skip
    assert call(*given, "--known", known, "--out", out).exit_code == 0
    with xr.open_datatree(out / "evaluation.nc", engine="h5netcdf") as tree:
        assert tree["accuracy"].attrs["n_known"] == 12
        assert tree["answers"].attrs["question"] == "truth"
    assert call("rerun", out / "evaluation.nc", "--no-progress").exit_code == 0


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        ([("i0", "x"), ("i0", "y")], ("item", "label"), "--known: expected one label for each"),
        ([("z", "x")], ("item", "label"), "in k.csv also 'z'. Leave those rows out"),
        ([("i0", "w")], ("item", "label"), "in k.csv also 'w'. Give the label space with --labels"),
        ([("i0", "x")], ("item", "gold"), "k.csv with 'item', 'gold'. Rename the column"),
    ],
)
def test_a_file_of_known_labels_that_is_none_says_so(tmp_path, rows, columns, words):
    votes = [(f"i{k}", who, "xy"[k % 2]) for k in range(9) for who in range(2)]
    ann = write(tmp_path / "a.csv", votes, ("item", "annotator", "label"))
    known = write(tmp_path / "k.csv", rows, columns)
    done = call("evaluate", ann, "--known", known, "--out", tmp_path / "out")
    assert isinstance(done.exception, dx.ArgumentError)
    assert words in str(done.exception)
