"""Whole or not at all: what a full disk, Ctrl-C, a link or a folder in the way does to a result."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dissensus.errors import ArgumentError
from dissensus.storage import replace, replace_all, require_writable


def write(text):
    return lambda path: path.write_text(text)


def store(text):
    """Write what looks like a Zarr store, a folder."""

    def make(path):
        path.mkdir()
        (path / "zarr.json").write_text(text)

    return make


def full(_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt(_):
    signal.raise_signal(signal.SIGINT)  # what the terminal sends for Ctrl-C


def held(folder):
    """Return all that is in a folder, hidden files too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*")) if path.is_file() or path.is_symlink()
    }  # fmt: skip


PROBLEMS = [(full, OSError), (interrupt, KeyboardInterrupt)]


@pytest.mark.parametrize(("fail", "error"), PROBLEMS)
@pytest.mark.parametrize(("name", "make"), [("a.nc", write), ("a.zarr", store)])
def test_what_was_there_stays_if_writing_fails(tmp_path, name, make, fail, error):
    path = tmp_path / name
    make("before")(path)
    before = held(tmp_path)

    def half(temporary):
        make("after")(temporary)
        fail(temporary)

    with pytest.raises(error):
        replace(path, half)
    assert held(tmp_path) == before
    assert list(tmp_path.iterdir()) == [path]
    replace(path, make("after"))
    assert set(held(tmp_path).values()) == {b"after"}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("fail", "error"), PROBLEMS)
def test_nothing_is_left_where_nothing_was(tmp_path, fail, error):
    with pytest.raises(error):
        replace_all(tmp_path, {"a": write("x"), "b": fail})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("fail", "error"), PROBLEMS)
def test_of_several_files_all_are_replaced_or_none(tmp_path, fail, error):
    old = {"a": write("1"), "b.zarr": store("1"), "c": write("1")}
    replace_all(tmp_path, old)
    before = held(tmp_path)
    with pytest.raises(error):
        replace_all(tmp_path, {"a": write("2"), "b.zarr": store("2"), "c": None, "d": fail})
    assert held(tmp_path) == before
    replace_all(tmp_path, {"a": write("2"), "b.zarr": store("2"), "c": None})
    assert held(tmp_path) == {"a": b"2", "b.zarr/zarr.json": b"2"}


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interruption_between_two_names_takes_back_the_first(tmp_path, monkeypatch, at, moment):
    replace_all(tmp_path, {"a": write("1"), "b.zarr": store("1"), "c": write("1")})
    before = held(tmp_path)
    move, count = Path.replace, []

    def interrupted(path, target):
        count.append(target)
        if len(count) == at + 1 and moment == "before":
            interrupt(None)
        move(path, target)
        if len(count) == at + 1:
            interrupt(None)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_all(
            tmp_path, {"new": write("2"), "a": write("2"), "b.zarr": store("2"), "c": write("2")}
        )
    assert held(tmp_path) == before


def test_without_second_names_files_are_still_replaced_whole(tmp_path, monkeypatch):
    def unknown(*_, **__):
        raise OSError(errno.EPERM, "a disk that knows no hard links")

    monkeypatch.setattr(os, "link", unknown)
    (tmp_path / "a").write_text("1")
    replace(tmp_path / "a", write("2"))
    assert held(tmp_path) == {"a": b"2"}


def test_a_link_is_replaced_and_not_what_it_points_at(tmp_path):
    (tmp_path / "precious").write_text("kept")
    link = tmp_path / "link"
    link.symlink_to("precious")
    with pytest.raises(ArgumentError, match="does not exist yet"):
        replace(link, write("new"), overwrite=False)
    replace(link, write("new"))
    assert held(tmp_path) == {"link": b"new", "precious": b"kept"}
    assert not link.is_symlink()


def test_a_link_to_nowhere_is_something_that_is_there(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    with pytest.raises(ArgumentError, match="does not exist yet"):
        replace(link, write("new"), overwrite=False)
    assert link.readlink() == Path("nowhere")


def test_a_link_comes_back_after_an_interruption(tmp_path):
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "link").symlink_to("precious")
    with pytest.raises(KeyboardInterrupt):
        replace_all(tmp_path, {"link": write("new"), "other": interrupt})
    assert (tmp_path / "link").readlink() == Path("precious")


@pytest.mark.parametrize("name", ["summary.csv", "evaluation.nc", "evaluation.zarr"])
def test_a_folder_in_the_way_is_kept(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "precious").write_text("kept")
    with pytest.raises(ArgumentError, match="found the folder"):
        replace(tmp_path / name, write("new"))
    assert held(tmp_path) == {f"{name}/precious": b"kept"}


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_may_not_be_written_to_is_named(tmp_path, monkeypatch, code):
    def refuse(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(ArgumentError, match="a folder that may be written to") as caught:
        replace(tmp_path / "a", write("new"))
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(ArgumentError, match="--out"):
        require_writable(tmp_path, "--out")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_named(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ArgumentError, match="a folder that may be written to"):
            replace(tmp_path / "a", write("new"))
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(os.name != "posix", reason="rights as POSIX has them")
def test_a_result_is_as_readable_as_any_new_file(tmp_path):
    before = os.umask(0o022)
    try:
        replace(tmp_path / "a", write("new"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


@pytest.mark.skipif(os.name != "posix", reason="limits as POSIX has them")
def test_a_disk_that_really_takes_no_more(tmp_path):
    # A limit on the size of files is the nearest to a full disk that needs no other rights.
    (tmp_path / "a").write_bytes(b"before")
    code = """
import resource, signal, sys
from pathlib import Path
from dissensus.storage import replace
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
replace(Path(sys.argv[1]), lambda path: path.write_bytes(b"x" * 5000))
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert "File too large" in done.stderr
    assert held(tmp_path) == {"a": b"before"}
