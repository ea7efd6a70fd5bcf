"""The store that a long fit leaves behind: whole parts, of one fit, refused to any other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import dissensus as dx
from dissensus.sampling import checkpoints
from dissensus.sampling.checkpoints import Checkpoint, opened

ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "n": np.arange(4), "none": np.empty((0, 2)),
          "zeros": np.zeros((2, 3))}  # fmt: skip


def ann(last="b"):
    return dx.from_matrix([["a", "a"], ["a", last]], labels=["a", "b"])


def checkpoint(path, **changes):
    requested = {"model": "rasch", "annotations": ann(), "random_seed": 1, "sampler": "gibbs",
             "draws": 10, **changes}  # fmt: skip
    return opened(path, **requested)


@pytest.fixture
def begun(tmp_path):
    kept = checkpoint(tmp_path / "fit.zarr")
    kept.begin("fingerprint")
    return kept


def test_without_a_path_there_is_none():
    assert checkpoint(None) is None


def test_what_is_saved_comes_back(begun):
    assert begun.parts() == []
    assert begun.save("2", ARRAYS)
    assert begun.save("1", {"x": ARRAYS["x"]})
    assert begun.parts() == ["1", "2"]
    for name, values in begun.load("2", ARRAYS).items():
        np.testing.assert_array_equal(values, ARRAYS[name])


def test_a_store_is_one_that_zarr_reads_and_says_what_it_belongs_to(begun):
    attrs = zarr.open_group(begun.path, mode="r").attrs
    assert attrs["model"] == "rasch"
    assert attrs["random_seed"] == 1
    assert attrs["annotations"].startswith("sha256:")
    assert attrs["dissensus_version"] == dx.__version__


@pytest.mark.parametrize(
    ("changes", "fingerprint", "words"),
    [
        ({"annotations": ann("a")}, "fingerprint", "other annotations$"),
        ({"draws": 11}, "fingerprint", r"other draws \(10; now 11\)"),
        ({"random_seed": 2}, "fingerprint", r"other random_seed \(1; now 2\)"),
        ({"model": "dawid_skene"}, "fingerprint", r"other model \(rasch; now dawid_skene\)"),
        ({}, "another", "other settings$"),
    ],
)
def test_the_store_of_another_fit_is_refused_and_what_differs_is_named(
    begun, changes, fingerprint, words
):
    begun.save("1", ARRAYS)
    other = checkpoint(begun.path, **changes)
    with pytest.raises(dx.ArgumentError, match=words):
        other.begin(fingerprint)
    assert begun.parts() == ["1"]


def test_a_store_of_another_version_is_refused(begun, monkeypatch):
    monkeypatch.setattr(checkpoints, "version", lambda name: "99")
    with pytest.raises(dx.ArgumentError, match=r"dissensus_version \(0.1.0; now 99\)"):
        checkpoint(begun.path).begin("fingerprint")


def test_without_a_seed_that_of_the_store_is_taken(tmp_path):
    first = checkpoint(tmp_path / "fit.zarr", random_seed=None)
    first.begin("x")
    second = checkpoint(tmp_path / "fit.zarr", random_seed=None)
    assert second.random_seed == first.random_seed
    assert checkpoint(tmp_path / "other.zarr", random_seed=None).random_seed != first.random_seed


def test_seeds_of_several_numbers_are_kept(tmp_path):
    first = checkpoint(tmp_path / "fit.zarr", random_seed=(1, 2**40))
    first.begin("x")
    checkpoint(tmp_path / "fit.zarr", random_seed=[1, 2**40]).begin("x")


@pytest.mark.parametrize(
    ("path", "changes", "message"),
    [
        *((path, {}, "checkpoint: expected a path, or None")
          for path in [3, "", b"a", ["a"], True, "a\0b", "\ud800"]),
        ("a", {"random_seed": np.random.default_rng(1)}, "random_seed: expected a whole number"),
        ("a", {"sampler": "nuts"}, "checkpoint: expected None, unless the Gibbs"),
        ("no/fit.zarr", {}, "in a folder that exists"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_checkpoint_is_refused(tmp_path, monkeypatch, path, changes, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dx.ArgumentError, match=message):
        checkpoint(path, **changes)


@pytest.mark.parametrize("obstacle", ["file", "folder", "store", "link to nothing"])
def test_a_path_taken_by_something_else_is_refused_and_left_alone(tmp_path, obstacle):
    path = tmp_path / "fit.zarr"
    make = {
        "file": lambda: path.write_text("mine"), "folder": path.mkdir,
        "store": lambda: zarr.create_group(path, attributes={"mine": 1}),
        "link to nothing": lambda: path.symlink_to(tmp_path / "nothing"),
    }  # fmt: skip
    make[obstacle]()
    before = sorted(tmp_path.rglob("*"))
    for seed in (1, None):
        with pytest.raises(dx.ArgumentError, match="which is not a checkpoint"):
            kept = checkpoint(path, random_seed=seed)
            kept.begin("x")
    assert sorted(tmp_path.rglob("*")) == before


def test_without_zarr_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "find_spec", lambda name: None)
    with pytest.raises(dx.ArgumentError, match=r"no package zarr.*pip install 'dissensus\[zarr\]'"):
        checkpoint(tmp_path / "a")


@pytest.mark.parametrize("harm", ["flipped", "cut", "gone", "lost", "shape", "type"])
def test_a_damaged_part_is_refused(begun, harm):
    begun.save("1", ARRAYS)
    chunk = begun.path / "parts" / "1" / "x" / "c" / "0" / "0"
    data = bytearray(chunk.read_bytes())
    if harm == "flipped":
        data[5] ^= 1
        chunk.write_bytes(data)
    elif harm == "cut":
        chunk.write_bytes(data[:-7])
    elif harm == "lost":  # for which Zarr alone would read zeros
        chunk.unlink()
    elif harm == "gone":
        (begun.path / "parts" / "1" / "x" / "zarr.json").unlink()
    wanted = {"shape": np.zeros((3, 2)), "type": np.zeros((2, 3), np.float32)}.get(harm)
    like = {"x": np.zeros((2, 3)) if wanted is None else wanted}
    with pytest.raises(dx.FormatError, match="part 1: expected arrays as they were written"):
        begun.load("1", like)


def test_a_full_disk_is_said_once_and_ends_nothing(begun, monkeypatch):
    begun.save("1", ARRAYS)

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(zarr.Group, "create_array", full)
        with pytest.warns(dx.DissensusWarning, match="No space left on device.*goes on"):
            assert not begun.save("2", ARRAYS)
        assert not begun.save("2", ARRAYS)  # no second warning: it would be an error here
    assert begun.parts() == ["1"]
    # What was half written is not left on a disk that is full already.
    assert [file.name for file in begun.path.iterdir() if file.name.startswith(".")] == []
    assert begun.save("2", ARRAYS)
    again = checkpoint(begun.path)
    (begun.path / ".part-9").mkdir()  # by a process that was killed
    again.begin("fingerprint")
    assert [file.name for file in begun.path.iterdir() if file.name.startswith(".")] == []
    assert again.parts() == ["1", "2"]


def test_a_part_that_is_there_already_is_not_written_again(begun):
    """Ctrl-C may come between its writing and that being known."""
    assert begun.save("1", ARRAYS)
    assert begun.save("1", ARRAYS)
    assert begun.parts() == ["1"]


def test_what_a_file_manager_leaves_among_the_parts_is_none(begun):
    begun.save("1", ARRAYS)
    (begun.path / "parts" / ".DS_Store").write_text("")
    assert begun.parts() == ["1"]


def test_a_beginning_that_is_broken_off_leaves_nothing(tmp_path, monkeypatch):
    def broken(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", broken)
        with pytest.raises(KeyboardInterrupt):
            checkpoint(tmp_path / "fit.zarr").begin("x")
    assert list(tmp_path.iterdir()) == []
    checkpoint(tmp_path / "fit.zarr").begin("x")


def test_the_folder_may_be_changed_during_a_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = checkpoint("fit.zarr")
    kept.begin("x")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert kept.save("1", ARRAYS)
    assert (tmp_path / "fit.zarr" / "parts" / "1").is_dir()


@pytest.mark.long
def test_two_processes_are_not_at_one_store(begun):
    pytest.importorskip("fcntl", reason="needs locks of files")
    code = """
import sys
sys.path[:0] = [sys.argv[1]]
import test_checkpoints as tests
try:
    tests.checkpoint(tests.Path(sys.argv[2])).begin("fingerprint")
except tests.dx.ArgumentError as problem:
    print(problem, flush=True)
input()
tests.checkpoint(tests.Path(sys.argv[2])).begin("fingerprint")
"""
    (begun.path / ".part-1").mkdir()  # which the one here is writing
    with subprocess.Popen(
        [sys.executable, "-c", code, str(Path(__file__).parent), str(begun.path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        text = child.stdout.readline()
        assert (begun.path / ".part-1").exists()
        checkpoint(begun.path).begin("fingerprint")  # this one may begin anew: it was interrupted
        begun.release()
        _, problems = child.communicate("go on\n", timeout=120)
    assert "checkpoint: expected a checkpoint that no other process uses" in text
    assert (child.returncode, problems) == (0, "")


def test_arrays_that_are_replaced_are_forgotten(begun):
    begun.save("1", ARRAYS)
    begun.forget("1", ["n", "not there"])
    begun.load("1", {"x": np.zeros((2, 3))})
    with pytest.raises(dx.FormatError):
        begun.load("1", {"n": np.zeros(4, int)})


def test_a_checkpoint_is_what_it_belongs_to():
    assert isinstance(checkpoint("a-path-beside-this-test"), Checkpoint)
