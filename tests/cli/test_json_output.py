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


def said(*arguments):
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.long
def test_an_evaluation_is_its_tables(files, tmp_path):
    ann, pred = files
    found = said("evaluate", ann, "--predictions", pred, "--draws", 150, "--seed", 1,
                 "--out", tmp_path / "out", *LEAN)  # fmt: skip
    result = dx.evaluate(
        dx.read_annotations(ann), dx.read_predictions(pred), draws=150, random_seed=1,
        reliability=(1.0,), progressbar=False, **lean.LEAN,
    )  # fmt: skip
    table = dx.summary(result)
    assert [row["system"] for row in found["metrics"]] == table["system"].tolist()
    np.testing.assert_allclose([row["mean"] for row in found["metrics"]], table["mean"])
    assert found["interval"] == {"kind": "eti", "probability": 0.89}
    assert found["model"] == "dirichlet"
    assert "krippendorff_alpha" in {row["statistic"] for row in found["statistics"]}
    assert str(tmp_path / "out" / "report.html") in found["files"]


@pytest.mark.long
def test_what_a_model_prints_is_kept_apart_and_without_predictions_there_are_no_metrics(
    files, tmp_path, monkeypatch
):
    evaluate = dx.evaluate

    def talking(*args, **kwargs):
        print("I am drawing.")
        return evaluate(*args, **kwargs)

    monkeypatch.setattr(dx, "evaluate", talking)
    found = said("evaluate", files[0], "--draws", 20, "--out", tmp_path / "out", *LEAN)
    assert found["files"]
    assert found["metrics"] == []
    assert "interval" in found


def test_checks_and_models(files):
    found = said("check", files[0])
    assert found["valid"] is True
    assert found["annotations"]["items"] == 9
    assert found["predictions"] is None
    both = said("check", files[0], "--predictions", files[1])
    assert both["predictions"]["items_without_predictions"] == []
    assert both["annotations"] == found["annotations"]
    models = said("models")
    assert [one["name"] for one in models] == dx.models.names()
    assert models[0]["kinds"] == ["nominal", "ordinal"]


@pytest.mark.filterwarnings("ignore:The pilot has labels of 9 items")  # on purpose: fast
def test_a_plan_is_its_numbers_without_draws(files):
    found = said("plan", files[0], "--annotators", "2,3", "--items", "20,40",
                 "--seed", 1, "--no-progress")  # fmt: skip
    width = found["variables"]["half_width"]
    assert width["dims"] == ["annotator", "item"]
    assert np.shape(width["values"]) == (2, 2)
    assert found["coordinates"]["item"] == [20, 40]


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
    found = json.loads(done.stdout)
    assert found["valid"] is False
    assert "one label for each item and annotator" in found["errors"][0]
