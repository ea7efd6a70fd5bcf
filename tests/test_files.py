"""What is written to disk, and what may not be lost on the way."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dissensus as dx
from dissensus._files import replace, write_evaluation


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


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_was_there_stays_if_writing_fails(tmp_path, kind):
    path = tmp_path / "result"
    make = {"file": lambda p: p.write_text("x"), "folder": lambda p: p.mkdir()}[kind]
    make(path)

    def fail(temporary):
        make(temporary)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace(path, fail)
    assert path.exists()
    assert list(tmp_path.iterdir()) == [path]
    replace(path, make)
    assert list(tmp_path.iterdir()) == [path]
