"""Fits and metrics drawn block by block: time and memory against the number of items.

    uv run python benchmarks/chunks.py                      # 1e4, 1e5 and 1e6 items
    uv run python benchmarks/chunks.py --items 1e5 1e6 1e7  # the last takes half an hour

Five labels of ten an item, four systems, 1,000 draws, `top_k_accuracy` with intervals; each size in
a process of its own, labels and predictions read from Zarr. Prints the table of the README.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import xarray as xr
from memory import peak_memory

import dissensus as dx

LABELS, PER_ITEM, ANNOTATORS, SYSTEMS, CHAINS, DRAWS = 10, 5, 1000, 4, 4, 250
RIGHT, ACCURACY = 0.6, (0.55, 0.6, 0.65, 0.7)
CHUNK = 50_000


def store(folder: Path, n_items: int) -> None:
    """Write labels and predictions, chunk by chunk, as `dissensus.chunked` lays them out."""
    items = np.arange(n_items)
    rows = da.arange(n_items * PER_ITEM, chunks=min(CHUNK, n_items) * PER_ITEM)
    item = rows // PER_ITEM
    sizes = np.diff([*range(0, n_items, CHUNK), n_items])
    ann = xr.Dataset(
        {
            "item_code": ("annotation", item),
            "annotator_code": ("annotation", (item * 7 + rows % PER_ITEM * 31) % ANNOTATORS),
            "label_code": ("annotation", rows.map_blocks(_labels, dtype=np.int64)),
        },
        coords={"item": items, "annotator": np.arange(ANNOTATORS), "label": np.arange(LABELS)},
        attrs={"kind": "nominal", "kind_source": "given", "item_chunks": sizes.tolist(),
               "row_chunks": (sizes * PER_ITEM).tolist()},
    )  # fmt: skip
    which = da.arange(n_items, chunks=min(CHUNK, n_items))
    answers = which.map_blocks(
        _answers, dtype=np.int64, new_axis=[1, 2], chunks=(which.chunks[0], (SYSTEMS,), (1,))
    )
    pred = xr.Dataset(
        {"label_code": (("item", "system", "position"), answers),
         "block": (("item", "system", "position"), da.ones_like(answers))},
        coords={"item": items, "system": [f"system {k}" for k in range(SYSTEMS)],
                "label": np.arange(LABELS)},
        attrs={"kind": "nominal"},
    )  # fmt: skip
    for name, data in (("annotations", ann), ("predictions", pred)):
        data.to_zarr(folder / f"{name}.zarr", consolidated=False)


def _truth(item: np.ndarray) -> np.ndarray:
    return (item * 2654435761) % 2**32 % LABELS


def _labels(rows: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(rows[0])
    right = rng.random(len(rows)) < RIGHT
    return np.where(right, _truth(rows // PER_ITEM), rng.integers(0, LABELS, len(rows)))


def _answers(items: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng([int(items[0]), 1])
    right = rng.random((len(items), SYSTEMS)) < ACCURACY
    wrong = rng.integers(0, LABELS, right.shape)
    return np.where(right, _truth(items)[:, None], wrong)[..., None]


def work(folder: Path) -> None:
    """Fit, score, and print seconds, the peak of memory in bytes, and what was found."""
    ann, pred = (
        xr.open_zarr(folder / f"{name}.zarr", consolidated=False)
        for name in ("annotations", "predictions")
    )
    few = {"item": slice(0, 100)}
    rows = {"annotation": slice(0, 100 * PER_ITEM)}
    found_in(dx.chunked(ann.isel(few | rows)), pred.isel(few)).compute()  # compiles
    before = peak_memory()
    start = time.perf_counter()
    result = found_in(ann, pred)
    laid = time.perf_counter() - start
    result = result.compute()
    seconds = time.perf_counter() - start
    low, high = np.quantile(result.to_numpy(), [0.05, 0.95], axis=(0, 1))
    peak = peak_memory()
    print(json.dumps({"seconds": seconds, "laid": laid, "peak": peak, "before": before,
                      "low": low.tolist(), "high": high.tolist()}))  # fmt: skip


def found_in(ann: xr.Dataset, pred: xr.Dataset) -> xr.DataArray:
    """Lay out what is to be drawn."""
    fit = dx.models.dirichlet.fit(ann, draws=DRAWS, chains=CHAINS, prior_count=1, random_seed=1)
    return dx.top_k_accuracy(fit, pred)


def main() -> None:
    """Measure every size, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", nargs="*", type=float, default=[1e4, 1e5, 1e6])
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return
    print("| items | seconds | peak, GB | exponent since the last | accuracy of the best, 90 % |")
    print("|--:|--:|--:|--:|---|")
    last = None
    for n_items in map(int, options.items):
        with tempfile.TemporaryDirectory() as folder, dask.config.set(scheduler="threads"):
            store(Path(folder), n_items)
            done = subprocess.run([sys.executable, __file__, "--work", folder], check=True,
                                  capture_output=True, text=True)  # fmt: skip
        result = json.loads(done.stdout.splitlines()[-1])
        exponent = ""
        if last:
            exponent = f"{np.log(result['seconds'] / last[1]) / np.log(n_items / last[0]):.3f}"
        last = n_items, result["seconds"]
        print(f"| {n_items:,} | {result['seconds']:.1f} | {result['peak'] / 1e9:.2f} | "
              f"{exponent} | {result['low'][-1]:.5f} to {result['high'][-1]:.5f} |",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
