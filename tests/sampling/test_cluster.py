"""Fits and metrics on a cluster of processes: the same numbers, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
import threading
import time

import dask
import numpy as np
import pytest
import xarray as xr
from lean import LEAN

import dissensus as dx

N_ITEMS = 60
RUN = {"draws": 40, "chains": 2, "random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def study():
    return dx.simulate.confusion_study(N_ITEMS, 4, 3, random_seed=1)


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster  # half a second, in each process of a run

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="1GiB",
                     dashboard_address=":0", local_directory=None) as cluster,
        Client(cluster) as result,
    ):  # fmt: skip
        yield result


def accuracy(study, items=5):
    fit = dx.models.dirichlet.fit(dx.chunked(study.annotations, items), **RUN)
    return dx.top_k_accuracy(fit, study.predictions, weights="bayesian-bootstrap", random_seed=2)


@pytest.fixture(scope="module")
def whole(study):
    fit = dx.models.dirichlet.fit(study.annotations, **RUN)
    return dx.top_k_accuracy(fit, study.predictions, weights="bayesian-bootstrap", random_seed=2)


@pytest.mark.slow
def test_processes_draw_what_threads_and_one_fit_draw(study, whole, client):
    actual = accuracy(study)
    with dask.config.set(scheduler="threads"):
        here = actual.compute()
    there = client.compute(actual).result()
    xr.testing.assert_identical(here, there)
    xr.testing.assert_allclose(here, whole, rtol=1e-12)


@pytest.mark.long
def test_a_killed_worker_loses_nothing_and_changes_no_draw(study, whole, client):
    actual = accuracy(study, items=1)
    pids = set(client.run(os.getpid).values())
    slow = client.compute(actual)
    killer = threading.Timer(0.3, os.kill, (min(pids), signal.SIGKILL))
    killer.start()
    there = slow.result(timeout=120)
    killer.join()
    xr.testing.assert_allclose(there, whole, rtol=1e-12)
    deadline = time.monotonic() + 60
    while len(client.run(os.getpid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert set(client.run(os.getpid).values()) != pids


@pytest.mark.long
def test_a_worker_with_too_little_memory_is_told_what_to_ask_for(study, client):
    ann = dx.chunked(study.annotations)
    big = {**RUN, "draws": 400_000}
    with dask.config.set({"array.chunk-size": "1GiB"}):
        fit = dx.models.dirichlet.fit(ann, prior_count=1, **big)
    wanted = client.compute(fit["posterior"]["plausibility"].isel(item=[0]).mean())
    with pytest.raises(
        dx.ArgumentError, match=r"array\.chunk-size, a Dask setting: .*Before the fit"
    ):
        wanted.result(timeout=120)


@pytest.mark.long
def test_rankings_too(client):
    rng = np.random.default_rng(1)
    lists = {k: [[[label] for label in rng.permutation(list("abcdef"))[:3]] for _ in range(3)]
             for k in range(12)}  # fmt: skip
    ann = dx.from_rankings(lists, labels=list("abcdef"))
    here = dx.models.inverse_rank.fit(ann, **RUN)
    fit = dx.models.inverse_rank.fit(dx.chunked(ann, 2), **RUN)
    there = client.compute(fit["posterior"].to_dataset()).result()
    xr.testing.assert_identical(
        there["plausibility"].variable, here["posterior"]["plausibility"].variable
    )


@pytest.mark.long
def test_an_evaluation_too(study, client):
    run = {"draws": 30, "random_seed": 1, "progressbar": False, "chunks": 20, "reliability": (1,)}
    run |= LEAN
    there = dx.evaluate(study.annotations, study.predictions, **run)
    with dask.config.set(scheduler="threads"):
        here = dx.evaluate(study.annotations, study.predictions, **run)
    for name in ("metrics", "certainty", "posterior"):
        xr.testing.assert_identical(here[name].to_dataset(), there[name].to_dataset())
