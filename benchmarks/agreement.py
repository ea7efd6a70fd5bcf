"""Agreement statistics on a million labels, beside the `krippendorff` package and statsmodels."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from timing import Row, in_turns

import dissensus as dx

LABELS = 1_000_000
PER_ITEM = 5
Floats = npt.NDArray[np.float64]


def rows(repeats: int) -> Iterator[Row]:
    """Measure coefficients on annotations that are read already, and the bootstrap over them."""
    warnings.simplefilter("ignore", dx.DissensusWarning)
    ann, matrix = _full()
    yield from _alpha("a full matrix, 5 annotators", ann, matrix, repeats, "no slower")
    yield _fleiss(ann, matrix, repeats)
    ann, matrix = _sparse()
    yield from _alpha("5 of 50 annotators an item", ann, matrix, repeats, "1/3 or less")
    yield from _continuous(repeats)
    yield from _cross(repeats)
    yield from _bootstrap(repeats)


def _annotations(matrix: Floats, kind: str) -> xr.Dataset:
    """Lay a matrix (item, annotator) out as annotations."""
    item, annotator = np.nonzero(~np.isnan(matrix))
    labels = matrix[item, annotator]
    table = {"item": item, "annotator": annotator, "label": labels}
    if kind != "continuous":
        table["label"] = labels.astype(np.int64)
    return dx.annotations(table, kind=kind)


def _full() -> tuple[xr.Dataset, Floats]:
    rng = np.random.default_rng(1)
    matrix = rng.integers(1, 6, (LABELS // PER_ITEM, PER_ITEM)).astype(np.float64)
    return _annotations(matrix, "ordinal"), matrix


def _sparse() -> tuple[xr.Dataset, Floats]:
    rng = np.random.default_rng(2)
    n_items, people = LABELS // PER_ITEM, 50
    matrix = np.full((n_items, people), np.nan)
    first = rng.integers(0, people, n_items)[:, None]
    who = (first + np.arange(PER_ITEM) * 7) % people
    matrix[np.arange(n_items)[:, None], who] = rng.integers(1, 6, who.shape)
    return _annotations(matrix, "ordinal"), matrix


def _alpha(
    design: str, ann: xr.Dataset, matrix: Floats, repeats: int, target: str
) -> Iterator[Row]:
    import krippendorff

    by_annotator = np.ascontiguousarray(matrix.T)
    for level in ("nominal", "ordinal"):
        ours = partial(dx.krippendorff_alpha, ann, level=level)
        peer = partial(krippendorff.alpha, by_annotator, level_of_measurement=level)
        assert abs(float(ours()) - peer()) < 1e-10
        times, other = in_turns(repeats, ours, peer, clock=time.process_time)
        yield Row(
            f"krippendorff_alpha, {level}, {LABELS:,} labels, {design}; processor time", times,
            "krippendorff.alpha", other, target,
        )  # fmt: skip


def _fleiss(ann: xr.Dataset, matrix: Floats, repeats: int) -> Row:
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    def peer() -> float:
        return float(fleiss_kappa(aggregate_raters(matrix.astype(np.int64))[0]))

    few = _annotations(matrix[:20_000], "ordinal")
    assert abs(float(dx.fleiss_kappa(few)) - _small_fleiss(matrix[:20_000])) < 1e-10
    times, other = in_turns(
        max(1, repeats // 3), partial(dx.fleiss_kappa, ann), peer, clock=time.process_time
    )
    return Row(f"fleiss_kappa, {LABELS:,} labels; processor time", times,
               "statsmodels aggregate_raters + fleiss_kappa", other)  # fmt: skip


def _small_fleiss(matrix: Floats) -> float:
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    return float(fleiss_kappa(aggregate_raters(matrix.astype(np.int64))[0]))


def _continuous(repeats: int) -> Iterator[Row]:
    """Numbers that are all different: what a table of distinct values cannot do."""
    import krippendorff

    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(LABELS // PER_ITEM, PER_ITEM))
    ann = _annotations(matrix, "continuous")
    ours = partial(dx.krippendorff_alpha, ann, level="interval")
    times = in_turns(repeats, ours)[0]
    peak = _peak(ours)
    yield Row(f"krippendorff_alpha, interval, {LABELS:,} distinct numbers (peak {peak})", times,
              target="< 50 ms; memory linear")  # fmt: skip
    small = matrix[:200]
    ann = _annotations(small, "continuous")
    ours = partial(dx.krippendorff_alpha, ann, level="interval")
    peer = partial(
        krippendorff.alpha, np.ascontiguousarray(small.T), level_of_measurement="interval"
    )
    assert abs(float(ours()) - peer()) < 1e-10
    times, other = in_turns(max(1, repeats // 3), ours, peer)
    yield Row(f"the same, 1,000 distinct numbers (peak {_peak(ours)}, peer {_peak(peer)})", times,
              "krippendorff.alpha", other)  # fmt: skip


def _cross(repeats: int) -> Iterator[Row]:
    for n in (LABELS // 10, LABELS):
        rng = np.random.default_rng(4)
        item = np.repeat(np.arange(n // 10), 10)
        who = np.tile(np.arange(10), n // 10)
        ann = dx.annotations(
            {"item": item, "annotator": who, "label": rng.integers(0, 5, n), "pool": who // 5},
            pool="pool", kind="nominal",
        )  # fmt: skip
        times = in_turns(repeats, partial(dx.cross_kappa, ann, pools=(0, 1)))[0]
        yield Row(f"cross_kappa, {n:,} labels in two pools", times, target="linear in labels")


def _bootstrap(repeats: int) -> Iterator[Row]:
    """4,000 draws beside one evaluation, with items that share sums and with items that do not."""
    cases: list[tuple[str, xr.Dataset, dict[str, Any]]] = [
        (f"nominal, {LABELS:,} labels", _full()[0], {"level": "nominal"}),
        (f"ordinal, {LABELS:,} labels", _full()[0], {"level": "ordinal"}),
    ]
    rng = np.random.default_rng(5)
    for n_items in (1_000, 20_000):
        numbers = _annotations(rng.normal(size=(n_items, PER_ITEM)), "continuous")
        cases.append((f"interval, {5 * n_items:,} distinct numbers", numbers, {}))
    for form, ann, more in cases:
        once: Callable[[], object] = partial(dx.krippendorff_alpha, ann, **more)
        drawn = partial(
            dx.bayesian_bootstrap, dx.krippendorff_alpha, ann, draws=4000, random_seed=1, **more
        )
        times, single = in_turns(max(1, repeats // 2), drawn, once)
        yield Row(f"bayesian_bootstrap of krippendorff_alpha, 4,000 draws, {form}", times,
                  "one evaluation", single, "< 20")  # fmt: skip


def _peak(way: Callable[[], object]) -> str:
    tracemalloc.start()
    way()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return f"{peak / 1e6:,.0f} MB"
