"""A million ranked items: Plackett-Luce in chunks, with one worker process and with two.

    uv run python benchmarks/many_rankings.py                    # 2,000 items
    uv run python benchmarks/many_rankings.py --items 1e6 --workers 2

Shaped like the dermatology data of Stutz et al. (2023): their 600 shared cases, or where these do
not lie beside the checkout simulated ones, again and again under new names. 500 + 1,000 sweeps of
one chain, then the accuracy of one system and the annotation certainty, reduced block by block;
workers have one thread each.
"""

from __future__ import annotations

import argparse
import time

import dask
import data
import numpy as np
import xarray as xr
from distributed import Client, LocalCluster
from machine import described

import dissensus as dx

RUN = {"draws": 1000, "tune": 500, "chains": 1, "random_seed": 1, "concentration": None}
CHUNK = 500


def study(n_items: int) -> tuple[xr.Dataset, xr.Dataset]:
    """Repeat the cases until there are so many; one system, which says what somebody said."""
    cases = data.dermatology()[1]
    item = cases["item_code"].to_numpy()
    order = np.argsort(item, kind="stable")
    shuffled, n_cases = cases.isel(annotation=order), cases.sizes["item"]
    times = -(-n_items // n_cases)
    codes = np.concatenate([shuffled["item_code"].to_numpy() + k * n_cases for k in range(times)])
    kept = codes < n_items
    columns = {
        name: ("annotation", np.tile(values.to_numpy(), times)[kept])
        for name, values in shuffled.data_vars.items() if values.dims == ("annotation",)
    }  # fmt: skip
    columns["item_code"] = ("annotation", codes[kept])
    names = {dim: shuffled[dim] for dim in ("annotator", "label")}
    ann = xr.Dataset(columns, coords={**names, "item": np.arange(n_items)}, attrs=shuffled.attrs)
    first = np.zeros(n_items, dtype=np.int64)
    first[codes[kept][::-1]] = columns["label_code"][1][::-1]
    pred = dx.predictions({"item": np.arange(n_items), "system": np.repeat("first", n_items),
                           "label": shuffled["label"].to_numpy()[first]})  # fmt: skip
    return dx.chunked(ann, CHUNK), pred


def main() -> None:
    """Print a line for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=float, default=2000)
    parser.add_argument("--workers", nargs="*", type=int, default=[1, 2])
    options = parser.parse_args()
    n_items = int(options.items)
    print(f"{described()}\n\n{n_items:,} items, chunks of {CHUNK}\n")
    print(
        "| workers | seconds | items a second | by one worker | accuracy |\n|--:|--:|--:|--:|--:|"
    )
    first = 0.0
    for workers in options.workers:
        seconds, accuracy = measured(*study(n_items), workers)
        first = first or seconds
        print(f"| {workers} | {seconds:.1f} | {n_items / seconds:.0f} | {first / seconds:.2f} "
              f"| {accuracy:.6f} |", flush=True)  # fmt: skip


def measured(ann: xr.Dataset, pred: xr.Dataset, workers: int) -> tuple[float, float]:
    """Return seconds, after a small run that compiles, and the accuracy found."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        small = dx.chunked(ann.isel(item=slice(0, 8), annotation=ann["item_code"].compute() < 8), 1)
        dask.compute(*scores_of(small, pred.isel(item=slice(0, 8))))
        start = time.perf_counter()
        accuracy, certainty = dask.compute(*scores_of(ann, pred))
        seconds = time.perf_counter() - start
        assert certainty.sizes["item"] == ann.sizes["item"]
        return seconds, float(accuracy.mean())


def scores_of(ann: xr.Dataset, pred: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Lay out what is to be drawn."""
    fit = dx.models.plackett_luce.fit(ann, **RUN)
    return dx.top_k_accuracy(fit, pred), dx.annotation_certainty(fit)


if __name__ == "__main__":
    main()
