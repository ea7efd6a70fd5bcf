"""What is written to disk, and what may not be lost on the way."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dissensus as dx
from dissensus.cli.output import disarmed, write_evaluation

pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.mark.long
@pytest.mark.unit(1)
@pytest.mark.parametrize(("prior_count", "kind"), [(0.01, "float64"), (1.0, "float32")])
def test_the_file_gives_the_same_top_sets(tmp_path, prior_count, kind):
    # Under a sparse prior plausibilities fall below the smallest float32; rounded to 0 they
    # would drop out of the top sets.
    ann = dx.from_matrix([["w", "w"], ["x", "y"], ["z", "z"]])
    result = dx.evaluate(ann, draws=100, random_seed=1, progressbar=False, prior_count=prior_count)
    path = write_evaluation(result, tmp_path)[0]
    with xr.open_datatree(path, engine="h5netcdf") as again:
        assert again["posterior"]["plausibility"].dtype == kind
        for top in (2, 3):
            np.testing.assert_array_equal(
                dx.annotation_certainty(again, top), dx.annotation_certainty(result, top)
            )


NAMES = ["=1+1", "+x", "-2-1", "@a", "\tb", "\rc", "'=d", "e;=1", "plain", "a-b"]


@pytest.fixture(scope="module")
def small():
    """A small evaluation whose systems have names that spreadsheets would run."""
    ann = dx.from_matrix([["w", "w", "w"], ["x", "y", "x"], ["z", "z", "w"]])
    rows = [(item, name, "w") for item in ann["item"].to_numpy().tolist() for name in NAMES]
    names = ("item", "system", "label")
    pred = dx.predictions(dict(zip(names, zip(*rows, strict=True), strict=True)))
    return dx.evaluate(ann, pred, draws=20, random_seed=1, progressbar=False, reliability=(1,))


@pytest.fixture(scope="module")
def earlier(small, tmp_path_factory):
    """Return a function that puts into a folder what an earlier run wrote."""
    known = {}

    def put(folder, store="nc"):
        if store not in known:
            known[store] = tmp_path_factory.mktemp("earlier")
            write_evaluation(small, known[store], store)
        shutil.copytree(known[store], folder, dirs_exist_ok=True)

    return put


def held(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file()}  # fmt: skip


def full(_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt(_):
    signal.raise_signal(signal.SIGINT)  # what the terminal sends for Ctrl-C


KINDS = {
    "nc": (Path, "write_bytes"), "zarr": (xr.DataTree, "to_zarr"),
    "csv": (pd.DataFrame, "to_csv"), "html": (Path, "write_text"),
}  # fmt: skip


@pytest.mark.unit(0, long=4)
@pytest.mark.long
@pytest.mark.parametrize(("fail", "error"), [(full, OSError), (interrupt, KeyboardInterrupt)])
@pytest.mark.parametrize("kind", KINDS)
def test_an_earlier_result_stays_whole(tmp_path, small, earlier, monkeypatch, kind, fail, error):
    store = "zarr" if kind == "zarr" else "nc"
    earlier(tmp_path, store)
    before = held(tmp_path)
    cls, name = KINDS[kind]
    write, count = getattr(cls, name), []

    def halfway(source, *args, **options):
        done = write(source, *args, **options)
        count.append(1)
        if kind != "csv" or len(count) == 2:  # of several tables the second
            fail(None)
        return done

    monkeypatch.setattr(cls, name, halfway)
    with pytest.raises(error):
        write_evaluation(small, tmp_path, store)
    assert count
    assert held(tmp_path) == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.long
def test_of_two_stores_the_earlier_one_goes(tmp_path, small, earlier):
    # Beside tables of this run it would be taken for its draws.
    earlier(tmp_path)
    assert (tmp_path / "evaluation.nc").exists()
    for store, other in (("zarr", "nc"), ("nc", "zarr")):
        write_evaluation(small, tmp_path, store)
        assert (tmp_path / f"evaluation.{store}").exists()
        assert not (tmp_path / f"evaluation.{other}").exists()


@pytest.mark.long
def test_half_a_first_result_is_none(tmp_path, small, monkeypatch):
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: full(None))
    with pytest.raises(OSError, match="No space left"):
        write_evaluation(small, tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="limits as POSIX has them")
def test_draws_that_the_disk_does_not_take(tmp_path, earlier):
    # Half of what the file needs: the nearest to a full disk that asks for no rights. In a
    # process of its own, as a limit once lowered stays.
    earlier(tmp_path)
    before = held(tmp_path)
    size = (tmp_path / "evaluation.nc").stat().st_size // 2
    code = f"""
import resource, signal, sys
from pathlib import Path
import xarray as xr
from dissensus.cli.output import write_evaluation
out = Path(sys.argv[1])
tree = xr.open_datatree(out / "evaluation.nc", engine="h5netcdf").load()
tree.close()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
write_evaluation(tree, out)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode != 0
    assert "File too large" in done.stderr
    assert held(tmp_path) == before


@pytest.mark.long
def test_a_table_of_an_earlier_run_goes_with_it(tmp_path, small):
    (tmp_path / "accuracy.csv").write_text("of an earlier run")
    paths = write_evaluation(small, tmp_path)
    assert sorted(paths) == sorted(tmp_path.iterdir())
    assert tmp_path / "accuracy.csv" not in paths


@pytest.mark.long
def test_names_in_tables_are_no_formulas(tmp_path, small, earlier):
    earlier(tmp_path)
    for table in ("summary", "statistics"):
        frame = pd.read_csv(tmp_path / f"{table}.csv", keep_default_na=False)
        names = [name for name in dict.fromkeys(frame["system"]) if name]
        assert not [name for name in names if name.startswith(("=", "+", "-", "@", "\t", "\r"))]
        assert set(names) == set(map(disarmed, NAMES))
        assert {"plain", "a-b"} <= set(names)
    numbers = pd.read_csv(tmp_path / "summary.csv")["mean"]
    np.testing.assert_allclose(numbers, dx.summary(small)["mean"], rtol=1e-12)


def test_our_own_readers_take_names_as_they_are(tmp_path):
    for name in ("=1", "'=1", "-x"):
        (tmp_path / "a.csv").write_text(f"item,annotator,label\ni,{name},{name}\ni,b,c\n")
        ann = dx.read_annotations(tmp_path / "a.csv")
        assert name in ann["label"].to_numpy().tolist()
        assert name in ann["annotator"].to_numpy().tolist()
