"""What an evaluation carries so that it can be made again."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus.data.hashing import data_hash
from dissensus.evaluation.provenance import arguments_of, provenance
from dissensus.kernels.random import seed_or_drawn


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.1, "näme\0", [0.5, 1.0], {"low": 0, "high": 2.5}, {1: 0.25, 2: 1},
     {True: 1, False: 0}, {"a": {"b": [1, "2"]}}],
)  # fmt: skip
def test_arguments_come_back_as_they_were(votes, value):
    attrs = provenance(votes[0], None, {"x": value})
    back = arguments_of(attrs)["x"]
    assert back == value
    assert type(back) is type(value)
    if isinstance(value, dict):
        assert [type(key) for key in back] == [type(key) for key in value]
        assert list(back) == list(value)  # categories are in the order of the mapping


def test_numbers_of_numpy_are_plain_ones_afterwards(votes):
    given = {"a": np.float32(0.5), "b": np.array([1, 2]), "c": np.bool_(True), "d": (1, 2)}
    assert arguments_of(provenance(votes[0], None, given)) == {
        "a": 0.5, "b": [1, 2], "c": True, "d": [1, 2],
    }  # fmt: skip


def test_what_cannot_be_written_down_is_named(votes):
    attrs = provenance(votes[0], None, {"distance": lambda a, b: 0.0, "truth": xr.DataArray(1.0),
                                        "draws": 3})  # fmt: skip
    assert attrs["not_recorded"] == "distance (a function), truth (a DataArray)"
    assert json.loads(attrs["arguments"]) == {"draws": 3}


def test_versions_of_what_draws_hang_on(votes):
    attrs = provenance(*votes, {})
    for name in ("dissensus", "numpy", "pymc", "numba"):
        assert attrs[f"{name}_version"] == version(name)
    assert attrs["python_version"] == platform.python_version()


@pytest.mark.parametrize("part", [0, 1])
def test_a_hash_survives_a_file_and_sees_every_change(votes, rankings, tmp_path, part):
    for data in (votes[part], rankings[part]):
        data.to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
        with xr.open_dataset(tmp_path / "data.nc", engine="h5netcdf") as back:
            assert data_hash(back.load()) == data_hash(data)
        before = {data_hash(data)}
        for name, values in data.variables.items():
            changed = data.copy(deep=True)
            flat = changed[name].to_numpy().copy().ravel()
            flat[-1] = "#" if flat.dtype.kind in "OUT" else flat[-1] + 1
            changed = changed.drop_vars(name).assign(
                {name: (values.dims, flat.reshape(values.shape))}
            )
            before.add(data_hash(changed))
        assert len(before) == 1 + len(data.variables)


def test_where_one_text_ends_and_the_next_begins_counts():
    first, second = (xr.Dataset(coords={"item": names}) for names in (["ab", "c"], ["a", "bc"]))
    assert data_hash(first) != data_hash(second)


def test_times_in_other_units_are_the_same_times():
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[s]")
    first, second = (xr.Dataset(coords={"item": days.astype(f"M8[{u}]")}) for u in ("s", "ns"))
    assert data_hash(first) == data_hash(second)


@pytest.mark.long
def test_a_seed_that_was_not_given_is_drawn_and_recorded(votes):
    result = dx.evaluate(*votes, draws=20, progressbar=False)
    assert result.attrs["random_seed_source"] == "drawn"
    again = dx.evaluate(
        *votes, draws=20, progressbar=False, random_seed=int(result.attrs["random_seed"])
    )
    assert again.attrs["random_seed_source"] == "given"
    xr.testing.assert_equal(again, result)
    other = dx.evaluate(*votes, draws=20, progressbar=False)
    assert other.attrs["random_seed"] != result.attrs["random_seed"]


def test_drawn_seeds_are_seeds_and_differ():
    seeds = {seed_or_drawn(None)[0] for _ in range(20)}
    assert len(seeds) == 20
    assert seed_or_drawn(0) == (0, "given")
