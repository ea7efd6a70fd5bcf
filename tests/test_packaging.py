"""What a person installs holds everything, also `models/`, which lives outside `src/`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[1]
# Numba's caches and the like lie about in a working copy.
LITTER = {"__pycache__"}


def files(folder):
    """Return the files below a folder, without the link to models and without litter."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and not LITTER & set(path.parts)
        and path.relative_to(folder).parts[0] != "models"
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build a wheel and a source archive from a copy, by setuptools itself: no network."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("out")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    ignore = shutil.ignore_patterns(*LITTER, "*.egg-info")
    for name in ("src", "models"):
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=ignore)
    call = "from setuptools import build_meta as b; b.build_wheel({0!r}); b.build_sdist({0!r})"
    command = [sys.executable, "-c", call.format(str(out))]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    return out


@pytest.fixture(scope="module")
def in_wheel(built):
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        return set(wheel.namelist())


def test_the_wheel_holds_every_model(in_wheel):
    models = {path.name for path in (ROOT / "models").glob("*.py")}
    assert "__init__.py" in models
    assert {f"dissensus/models/{name}" for name in models} <= in_wheel


def test_the_wheel_holds_every_file_of_the_library(in_wheel):
    wanted = {f"dissensus/{name}" for name in files(ROOT / "src" / "dissensus")}
    assert {"dissensus/py.typed", "dissensus/__init__.pyi"} <= wanted
    assert wanted - in_wheel == set()


def test_the_wheel_holds_nothing_else(in_wheel):
    """In particular no top-level ``models``, which would be everybody's."""
    top = {name.split("/")[0] for name in in_wheel}
    assert {name for name in top if not name.endswith(".dist-info")} == {"dissensus"}
    assert not {name for name in in_wheel if name.endswith((".nbi", ".nbc", ".pyc"))}


def test_the_source_archive_can_build_it_again(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"models/{path.name}" for path in (ROOT / "models").glob("*.py")} <= names
    assert {f"src/dissensus/{name}" for name in files(ROOT / "src" / "dissensus")} <= names
