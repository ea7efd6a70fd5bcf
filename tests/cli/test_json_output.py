"""What the commands print with ``--json``: one object, the numbers of the tables."""

import json

import lean
import numpy as np
import pytest
from cli.conftest import write
from cli.test_cli import LEAN, call

import dissensus as dx
from dissensus.cli.output import _plain

pytestmark = pytest.mark.usefixtures("no_pictures")


def answer_of(*arguments):
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.long
def test_an_evaluation_is_its_tables(files, tmp_path):
    ann, pred = files
    actual = answer_of("evaluate", ann, "--predictions", pred, "--draws", 150, "--seed", 1,
                 "--out", tmp_path / "out", *LEAN)  # fmt: skip
    result = dx.evaluate(
        dx.read_annotations(ann), dx.read_predictions(pred), draws=150, random_seed=1,
        reliability=(1.0,), progressbar=False, **lean.LEAN,
    )  # fmt: skip
    table = dx.summary(result)
    assert [row["system"] for row in actual["metrics"]] == table["system"].tolist()
    np.testing.assert_allclose([row["mean"] for row in actual["metrics"]], table["mean"])
    assert actual["interval"] == {"kind": "eti", "probability": 0.89}
    assert actual["model"] == "dirichlet"
    assert "krippendorff_alpha" in {row["statistic"] for row in actual["statistics"]}
    assert str(tmp_path / "out" / "report.html") in actual["files"]


@pytest.mark.long
def test_what_a_model_prints_is_kept_apart_and_without_predictions_there_are_no_metrics(
    files, tmp_path, monkeypatch
):
    evaluate = dx.evaluate

    def talking(*args, **kwargs):
        print("I am drawing.")
        return evaluate(*args, **kwargs)

    monkeypatch.setattr(dx, "evaluate", talking)
    result = answer_of("evaluate", files[0], "--draws", 20, "--out", tmp_path / "out", *LEAN)
    assert result["files"]
    assert result["metrics"] == []
    assert "interval" in result


def test_checks_and_models(files):
    result = answer_of("check", files[0])
    assert result["valid"] is True
    assert result["annotations"]["items"] == 9
    assert result["predictions"] is None
    both = answer_of("check", files[0], "--predictions", files[1])
    assert both["predictions"]["items_without_predictions"] == []
    assert both["annotations"] == result["annotations"]
    models = answer_of("models")
    assert [model["name"] for model in models] == dx.models.names()
    assert models[0]["kinds"] == ["nominal", "ordinal"]


@pytest.mark.filterwarnings("ignore:The pilot has labels of 9 items")  # on purpose: fast
def test_a_plan_is_its_numbers_without_draws(files):
    result = answer_of("plan", files[0], "--annotators", "2,3", "--items", "20,40",
                 "--seed", 1, "--no-progress")  # fmt: skip
    width = result["variables"]["half_width"]
    assert width["dims"] == ["annotator", "item"]
    assert np.shape(width["values"]) == (2, 2)
    assert result["coordinates"]["item"] == [20, 40]


def test_complaints_are_no_json_and_fail(tmp_path):
    done = call("check", tmp_path / "nowhere.csv", "--json")
    assert done.exit_code
    assert not done.stdout


def test_numbers_that_json_has_not():
    assert _plain([np.float64("nan"), np.inf, -np.inf, np.int64(3), np.bool_(True)]) == [
        None, "inf", "-inf", 3, True,
    ]  # fmt: skip


def test_what_is_not_valid_is_said_in_json(tmp_path):
    path = write(tmp_path / "a.csv", [("i", "ann", "x"), ("i", "ann", "y")],
                 ("item", "annotator", "label"))  # fmt: skip
    done = call("check", path, "--json")
    assert done.exit_code == 2
    result = json.loads(done.stdout)
    assert result["valid"] is False
    assert "one label for each item and annotator" in result["errors"][0]
