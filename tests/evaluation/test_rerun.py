"""`dissensus rerun`: the same to the last digit, or what differs and by how much."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import dissensus as dx
from dissensus.cli import app
from dissensus.cli.output import _writers, write_evaluation
from dissensus.evaluation import rerun as _rerun

runner = CliRunner()
pytestmark = pytest.mark.usefixtures("no_pictures")


def written(tmp_path, annotations, predictions=None, store="nc", **options):
    """Write the evaluation itself, without the tables and the report beside it."""
    options = {"draws": 40, "progressbar": False, "random_seed": 5, **options}
    path = tmp_path / f"evaluation.{store}"
    _writers(dx.evaluate(annotations, predictions, **options), store)[path.name](path)
    return path


@pytest.fixture(scope="module")
def of_votes(tmp_path_factory):
    """Return a function that writes what `write_evaluation` makes of the small study."""
    folder = tmp_path_factory.mktemp("votes")

    def put(tmp_path, votes):
        if not list(folder.iterdir()):
            options = {"draws": 40, "reliability": (1,), "progressbar": False, "random_seed": 5}
            write_evaluation(dx.evaluate(*votes, **options), folder)
        return Path(shutil.copytree(folder, tmp_path / "out")) / "evaluation.nc"

    return put


@pytest.fixture
def evaluated_votes(votes, evaluated):
    """An evaluation of the small study, to be changed as one likes."""
    return evaluated("votes", *votes, draws=20, reliability=(1,))


def rerun(path):
    done = runner.invoke(app.app, ["rerun", str(path), "--no-progress"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    value = rng.normal([[-1.5]] * 10 + [[2.0]] * 10, 1, (20, 5))
    table = {"item": np.arange(20), "system": ["s"] * 20, "label": value.mean(axis=1) + 0.1}
    return dx.from_matrix(value), dx.predictions(table)


def changed(path, group, name, change, **attrs):
    """Write an evaluation with other values of one variable, and other attributes."""
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        tree = tree.load()
    data = tree[group].to_dataset()
    tree[group] = data.assign({name: change(data[name])})
    tree.attrs.update(attrs)
    path.unlink()
    tree.to_netcdf(path, engine="h5netcdf")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
def test_lists_with_risks_and_categories_come_out_the_same(rankings, tmp_path):
    ranks = dict(zip("abcdef", range(6), strict=True))
    path = written(
        tmp_path, *rankings, risk=ranks, groups=dict.fromkeys("abc", 1) | dict.fromkeys("def", 0),
        reliability=(3,),
    )  # fmt: skip
    done = rerun(path)
    assert done.exit_code == 0
    assert done.output.startswith("the same to the last digit: ")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning")
def test_numbers_that_were_cut_come_out_the_same(scores, tmp_path):
    path = written(tmp_path, *scores, threshold=0.0, components=None)
    result = _rerun.rerun(_rerun.stored(path), progressbar=False)
    assert (result.differences, result.versions) == ([], [])
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        xr.testing.assert_equal(tree["predictions_given"].to_dataset(), scores[1])


@pytest.mark.slow
def test_another_process_comes_to_the_same(votes, of_votes, tmp_path):
    # One thread, and another order of sets.
    path = of_votes(tmp_path, votes)
    done = subprocess.run(
        [sys.executable, "-m", "dissensus", "rerun", str(path), "--no-progress"],
        capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONHASHSEED": "4711", "NUMBA_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("the same to the last digit: ")


def test_an_evaluation_in_memory_is_compared_without_the_truth_of_demo(evaluated_votes):
    evaluated_votes["truth"] = xr.Dataset({"anything": 1.0})
    assert _rerun.rerun(evaluated_votes, progressbar=False).differences == []


@pytest.mark.long
def test_differences_are_named_with_their_size_and_other_versions(votes, of_votes, tmp_path):
    path = of_votes(tmp_path, votes)
    changed(path, "metrics", "top_1_accuracy", lambda x: x + 0.25 * (x.chain == 0),
            numpy_version="1.0")  # fmt: skip
    done = rerun(path)
    assert done.exit_code == 1
    assert "1 of " in done.output
    assert "metrics/top_1_accuracy: " in done.output
    assert "values differ, by up to 0.25" in done.output
    assert f"another version: numpy 1.0 then, {np.__version__} now" in done.output


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (lambda x: x.isel(draw=slice(3)), "'draw': 40, "),
        (lambda x: x.where(x.chain > 0), "undefined in one of them"),
        (lambda x: np.nextafter(x, np.float32(9)), "values differ, by up to"),
    ],
)
def test_every_kind_of_difference_is_seen(votes, evaluated, change, how):
    result = evaluated("votes", *votes, draws=40)
    then = {"posterior/x": change(result["posterior"]["plausibility"].astype("float32")).variable}
    actual = _rerun._difference(then["posterior/x"], result["posterior"]["plausibility"].variable)
    assert how in actual


@pytest.mark.long
def test_what_is_there_once_only_is_named(evaluated_votes):
    result = evaluated_votes
    more = result.copy(deep=True)
    more["statistics"] = more["statistics"].to_dataset().assign(stray=1.0)
    actual = _rerun.rerun(more, progressbar=False)
    assert actual.differences == [("statistics/stray", "not made this time")]
    less = result.copy(deep=True)
    del less["certainty"]
    actual = _rerun.rerun(less, progressbar=False)
    assert {difference.how for difference in actual.differences} == {"not in the file"}


def test_what_cannot_be_made_again_is_refused(evaluated_votes):
    other = evaluated_votes.copy(deep=True)
    codes = other["annotations"].to_dataset()
    other["annotations"] = codes.assign(label_code=1 - codes["label_code"])
    with pytest.raises(dx.AnnotationError, match=r"annotations: expected the data that were eval"):
        _rerun.rerun(other, progressbar=False)
    evaluated_votes.attrs["not_recorded"] = "distance (a function)"
    with pytest.raises(dx.ArgumentError, match=r"could not be recorded: distance \(a function\)"):
        _rerun.rerun(evaluated_votes, progressbar=False)


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"risk": {"mapping": 3}}', '{"risk": {}}', '{"progressbar": 1}',
             '{"predictions": 1}', "[" * 100_000],
    ids=range(7),
)  # fmt: skip
def test_arguments_that_somebody_changed_are_refused(evaluated_votes, text):
    result = evaluated_votes
    result.attrs["arguments"] = text
    with pytest.raises(dx.AnnotationError, match="arguments: expected"):
        _rerun.rerun(result, progressbar=False)


@pytest.mark.long
def test_a_zarr_store_is_made_again_too(votes, tmp_path):
    path = written(tmp_path, *votes, store="zarr", reliability=(1, 3))
    assert path.name == "evaluation.zarr"
    assert (path / "zarr.json").is_file()
    done = rerun(path)
    assert done.exit_code == 0
    assert done.output.startswith("the same to the last digit: ")


@pytest.mark.long
def test_a_store_of_the_second_format_is_not_opened(evaluated_votes, tmp_path):
    # It may name a codec that unpickles.
    evaluated_votes.to_zarr(tmp_path / "old.zarr", zarr_format=2, consolidated=False)
    with pytest.raises(dx.AnnotationError, match=r"old\.zarr: expected an evaluation"):
        rerun(tmp_path / "old.zarr")


def test_a_folder_without_zarr_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_rerun, "find_spec", lambda name: None)
    with pytest.raises(dx.AnnotationError, match="no package zarr"):
        _rerun.stored(tmp_path)


def test_a_file_of_something_else_is_refused(votes, tmp_path):
    path = tmp_path / "fit.nc"
    dx.models.dirichlet.fit(votes[0], draws=5).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(dx.AnnotationError, match=r"fit\.nc: expected an evaluation"):
        rerun(path)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        rerun(tmp_path / "none.nc")
