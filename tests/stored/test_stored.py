"""What is stored is what the library makes today."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import stored
from stored.make import MADE, write

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::dissensus.errors.DissensusWarning"),
]
OF_VERSIONS = ("version", "created_at", "python", "platform")
"""Parts of names of attributes that say where and with what something was made."""


def lasting(attrs):
    return {name: value for name, value in attrs.items()
            if not any(part in name for part in OF_VERSIONS)}  # fmt: skip


def same_attributes(before, now, place):
    before, now = lasting(before), lasting(now)
    assert list(before) == list(now), place
    for name, value in now.items():
        if isinstance(value, float):  # such as r-hat, to the last bits of a processor
            assert before[name] == pytest.approx(value, rel=1e-6, nan_ok=True), (place, name)
        else:
            np.testing.assert_equal(before[name], value, err_msg=f"{place} {name}")


@pytest.mark.unit(3, long=1)
@pytest.mark.parametrize("name", MADE)
def test_it_is_current(name, tmp_path):
    write(MADE[name](), tmp_path / "anew.nc")
    with xr.open_datatree(tmp_path / "anew.nc", engine="h5netcdf") as tree:
        anew = tree.load()
    old = stored.read(name)
    assert [group.path for group in old.subtree] == [group.path for group in anew.subtree]
    for group in anew.subtree:
        before, now = old[group.path], group.to_dataset()
        same_attributes(before.attrs, now.attrs, group.path)
        assert set(before.to_dataset().variables) == set(now.variables), group.path
        for variable, values in now.variables.items():
            place = f"{group.path}/{variable}"
            kept = before.to_dataset().variables[variable]
            assert (kept.dims, kept.dtype) == (values.dims, values.dtype), place
            same_attributes(kept.attrs, values.attrs, place)
            if values.dtype.kind == "f":
                np.testing.assert_allclose(kept, values, rtol=1e-6, atol=1e-9, err_msg=place)
            else:
                np.testing.assert_array_equal(kept, values, err_msg=place)
