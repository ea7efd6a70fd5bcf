"""Reading a file runs nothing that is in it: no pickles, no evaluated text, in any reader."""

from __future__ import annotations

import ast
import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import xarray as xr
from lean import LEAN

import dissensus as dx
from dissensus.data import formats

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "models").glob("*.py")])
MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
ZARR = {"open_zarr", "open_group", "create_group", "open_array", "open_consolidated"}
METHODS = {"read_pickle", "to_pickle", "popen", "mktemp"}
SAFE = {"allow_pickle": False, "shell": False, "autoescape": True, "zarr_format": 3}
"""What options may say; stores of Zarr's second format may name a codec that unpickles."""
OWN = {("kernels/rowwise.py", "exec"), ("kernels/rowwise.py", "compile")}
"""Makes kernels out of this package's own source, when it is loaded: nothing that was read."""


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).split(".")[0]


def dangers(tree, path):
    """Name what in a source could run what it reads."""
    yield from MODULES & set(imported(tree))
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        options = {option.arg: option.value for option in node.keywords}
        values = {name: getattr(value, "value", None) for name, value in options.items()}
        bad = any(values.get(option, safe) is not safe for option, safe in SAFE.items())
        engine = ast.unparse(options.get("engine", ast.Constant(None)))
        opens = attribute in ZARR or "zarr" in engine
        bad |= opens and "zarr_format" not in options
        bad |= "Environment" in (name, attribute) and "autoescape" not in options
        bad |= attribute in METHODS
        bad |= name in BUILTINS and ("/".join(path.parts[-2:]), name) not in OWN
        if bad:
            yield ast.unparse(node)


@pytest.mark.long
def test_no_source_can_run_what_it_reads():
    assert len(SOURCES) > 200
    result = {
        str(path.relative_to(ROOT)): list(dangers(ast.parse(path.read_text("utf-8")), path))
        for path in SOURCES
    }
    assert {path: calls for path, calls in result.items() if calls} == {}


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from cloudpickle import loads", "eval(x)", "np.load(x, allow_pickle=True)",
     "pd.read_pickle(x)", "Environment(loader=x)", "Environment(autoescape=False)",
     "xr.open_zarr(x)", "xr.open_datatree(x, engine='zarr')",
     "zarr.open_group(x)", "run(x, shell=True)",
     "yaml = __import__('yaml')"],
)  # fmt: skip
def test_what_could_is_seen(source):
    assert list(dangers(ast.parse(source), Path("a.py")))


class Bomb:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.fixture
def bomb(tmp_path):
    """Return pickled bytes, and how to see whether they were run."""
    trace = tmp_path / "it-ran"
    data = pickle.dumps(Bomb(trace))
    pickle.loads(data)  # our own, to see that it works
    assert trace.exists()
    trace.unlink()
    return data, trace


def refused_or_read(path):
    try:
        dx.read_annotations(path)
    except dx.DissensusError:
        return "refused"
    return "read"


@pytest.mark.parametrize("form", [None, *formats.names()])
@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "json", "jsonl", "parquet", "pkl", "npy", "csv.gz"]
)
def test_a_pickle_of_any_name_is_not_opened(tmp_path, bomb, ending, form):
    data, trace = bomb
    path = tmp_path / f"a.{ending}"
    path.write_bytes(data)
    with pytest.raises(dx.DissensusError):
        dx.read_annotations(path, format=form)
    assert not trace.exists()


def test_a_table_of_objects_in_parquet_runs_nothing(tmp_path, bomb):
    # CVE-2023-47248: an extension type of Arrow that was unpickled on reading, up to PyArrow 14.
    data, trace = bomb
    meta = {b"ARROW:extension:name": b"arrow.py_extension_type",
            b"ARROW:extension:metadata": data}  # fmt: skip
    fields = [pa.field("item", pa.string(), metadata=meta), pa.field("annotator", pa.string()),
              pa.field("label", pa.binary())]  # fmt: skip
    table = pa.table([["i", "i"], ["a", "b"], [data, data]], schema=pa.schema(fields))
    table = table.replace_schema_metadata({"pandas": "cos\nsystem\n(S'x'\ntR."})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    refused_or_read(tmp_path / "a.parquet")
    assert not trace.exists()


def test_an_object_array_is_not_read(tmp_path, bomb):
    _, trace = bomb
    array = np.empty(1, dtype=object)
    array[0] = Bomb(trace)
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    (tmp_path / "a.npy").rename(tmp_path / "a.csv")
    assert refused_or_read(tmp_path / "a.csv") == "refused"
    assert not trace.exists()


@pytest.mark.long
def test_what_an_evaluation_notes_is_text_when_it_comes_back(tmp_path, bomb):
    # Attributes of NetCDF are text or numbers: an expression stays one, and a pickle bytes.
    data, trace = bomb
    text = f"__import__('pathlib').Path({str(trace)!r}).touch()"
    ann = dx.from_matrix([["a", "b"], ["a", "a"]])
    result = dx.evaluate(ann, draws=20, random_seed=1, progressbar=False, **LEAN)
    for node in result.subtree:
        node.attrs |= {key: text for key, value in node.attrs.items() if isinstance(value, str)}
    result["annotations"].attrs["note"] = np.frombuffer(data, np.uint8)
    result.to_netcdf(tmp_path / "e.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "e.nc", engine="h5netcdf") as again:
        again = again.load()
    for use in (dx.summary, lambda tree: dx.report(tree, tmp_path / "r.html", overwrite=True)):
        with suppress(dx.DissensusError, KeyError, ValueError):  # the words make no sense
            use(again)
    assert not trace.exists()
