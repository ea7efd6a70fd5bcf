"""How time and memory grow: `uv run python benchmarks/growth.py --out FOLDER`, about half an hour.

Against the numbers of items, annotators, labels and draws, one after another, the others as in
`BASE`; each point in a process of its own, for its peak of memory, after a small run that compiles.
Writes growth.json as it goes, and goes on from there; then growth.png, with the exponents, and the
time that it takes merely to write the draws at the speed of this machine's memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr
from machine import described
from memory import peak_memory

import dissensus as dx

BASE: Final = {"items": 10_000, "annotators": 1000, "labels": 10, "draws": 1000}
PER_ITEM: Final = 5
AXES: Final = {
    "items": (1e3, 1e4, 1e5, 1e6, 1e7),
    "annotators": (10, 100, 1000, 10_000),
    "labels": (2, 5, 10, 30, 100),
    "draws": (100, 1000, 10_000),
}
FEWER: Final = 3
"""The largest steps of an axis that count for its exponent: what is spent once is little there."""


def annotations(items: int, annotators: int, labels: int) -> xr.Dataset:
    """Simulate five labels an item."""
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(items), PER_ITEM)
    who = ((item * 7 + np.tile(np.arange(PER_ITEM), items) * 3) % annotators).astype(np.int64)
    skill = rng.uniform(0.55, 0.9, annotators)
    truth = rng.integers(0, labels, items)[item]
    answers = np.where(
        rng.random(len(item)) < skill[who], truth, rng.integers(0, labels, len(item))
    )
    return xr.Dataset(
        {f"{name}_code": ("annotation", codes)
         for name, codes in (("item", item), ("annotator", who), ("label", answers))},
        coords={"item": np.arange(items), "annotator": np.arange(annotators),
                "label": np.arange(labels)},
        attrs={"kind": "nominal", "kind_source": "given"},
    )  # fmt: skip


def predictions(ann: xr.Dataset) -> xr.Dataset:
    """Let four systems say what one of the annotators said."""
    first = ann["label_code"].to_numpy().reshape(-1, PER_ITEM)[:, :4, None]
    dims = ("item", "system", "position")
    return xr.Dataset(
        {"label_code": (dims, first), "block": (dims, np.ones_like(first))},
        coords={"item": ann["item"], "system": list("abcd"), "label": ann["label"]},
        attrs={"kind": "nominal"},
    )


def _accuracy(ann: xr.Dataset, draws: int) -> Any:
    fit = dx.models.dirichlet.fit(
        dx.chunked(ann), draws=draws, chains=1, prior_count=1, random_seed=1
    )
    return dx.top_k_accuracy(fit, predictions(ann)).compute()


def _by_pattern(ann: xr.Dataset, draws: int) -> Any:
    return dx.top_k_accuracy_by_pattern(ann, predictions(ann), draws=draws, chains=1, random_seed=1)


def _alpha(ann: xr.Dataset, draws: int) -> Any:
    return dx.bayesian_bootstrap("krippendorff_alpha", ann, draws=draws, random_seed=1)


def _latent(ann: xr.Dataset, draws: int) -> Any:
    return dx.models.dawid_skene.fit(
        ann, draws=draws, tune=100, chains=1, random_seed=1, progressbar=False, keep_items=False
    )


def _components(ann: xr.Dataset, draws: int) -> Any:
    values = ann["label_code"].astype(float).drop_attrs()
    numbers = ann.drop_vars(["label_code", "label"]).assign(value=values)
    return dx.models.crossed_effects.fit(
        numbers.assign_attrs(kind="continuous"), draws=draws, tune=100, chains=1, random_seed=1,
        progressbar=False, keep_effects=False,
    )  # fmt: skip


TASKS: Final[dict[str, Callable[[xr.Dataset, int], Any]]] = {
    "dirichlet and top_k_accuracy, in chunks": _accuracy,
    "top_k_accuracy_by_pattern": _by_pattern,
    "bayesian_bootstrap of krippendorff_alpha": _alpha,
    "dawid_skene": _latent,
    "crossed_effects": _components,
}
MOST: Final = {
    ("dirichlet and top_k_accuracy, in chunks", "items"): 1e6,  # more: chunks.py
    ("dawid_skene", "items"): 1e6,
    # More would be some 8 GB of draws of confusion matrices, which the fit refuses to make.
    ("dawid_skene", "annotators"): 1000,
    ("dawid_skene", "labels"): 10,
    ("dawid_skene", "draws"): 1000,
    ("crossed_effects", "items"): 1e6,
    ("crossed_effects", "labels"): 0,  # its labels are numbers
}
"""Where a point would take longer than the rest together, or mean nothing."""


def work(task: str, sizes: dict[str, int]) -> None:
    """Do one point, and print what it took."""
    warnings.simplefilter("ignore")
    draws = sizes.pop("draws")
    small = sizes | {"items": 200, "annotators": min(sizes["annotators"], 20)}
    TASKS[task](annotations(**small), 100)
    ann = annotations(**sizes)
    before, start, cpu = peak_memory(), time.perf_counter(), time.process_time()
    TASKS[task](ann, draws)
    print(json.dumps({"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu,
                      "peak": peak_memory(), "before": before}))  # fmt: skip


def bandwidth() -> float:
    """Return bytes a second that one thread writes to memory, the best of five times."""
    out = np.empty(2**27)
    times = []
    for value in range(6):
        start = time.perf_counter()
        out.fill(value)
        times.append(time.perf_counter() - start)
    return out.nbytes / min(times[1:])


def points() -> list[tuple[str, str, int]]:
    """Return what is measured: task, axis, size."""
    return [
        (task, axis, int(size))
        for task in TASKS for axis, steps in AXES.items() for size in steps
        if size <= MOST.get((task, axis), np.inf)
    ]  # fmt: skip


def measured(file: Path) -> dict[str, Any]:
    """Measure what is not in the file, and write it there."""
    known = json.loads(file.read_text()) if file.exists() else {"machine": described()}
    known.setdefault("bandwidth", bandwidth())
    for task, axis, size in points():
        name = f"{task} | {axis} | {size}"
        if name in known:
            continue
        sizes = json.dumps(BASE | {axis: size})
        done = subprocess.run([sys.executable, __file__, "--point", task, sizes],
                              capture_output=True, text=True, check=False)  # fmt: skip
        text = done.stdout.strip().splitlines() if done.returncode == 0 else []
        known[name] = json.loads(text[-1]) if text else {"failed": done.stderr[-300:]}
        print(name, known[name], flush=True)
        file.write_text(json.dumps(known, indent=1))
    return known


def exponent(sizes: list[float], values: list[float]) -> float:
    """Fit a line to the logarithms of the largest few."""
    last = slice(-FEWER, None)
    return float(np.polyfit(np.log(sizes[last]), np.log(values[last]), 1)[0])


def series(known: dict[str, Any], task: str, axis: str, quantity: str) -> tuple[list[float], ...]:
    """Return sizes and what was measured there."""
    result = [(size, known[f"{task} | {axis} | {size}"]) for known_task, way, size in points()
             if (known_task, way) == (task, axis)]  # fmt: skip
    result = [(size, cost[quantity]) for size, cost in result if quantity in cost]
    return [float(size) for size, _ in result], [float(value) for _, value in result]


def table(known: dict[str, Any]) -> str:
    """Write the exponents of time and memory."""
    lines = [f"| what | {' | '.join(AXES)} |", "|---|" + "--:|" * len(AXES)]
    for task in TASKS:
        cells = []
        for axis in AXES:
            both = (series(known, task, axis, quantity) for quantity in ("seconds", "peak"))
            cells.append(", ".join(f"{exponent(*pair):.2f}" for pair in both if pair[0]))
        lines.append(f"| {task} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(known: dict[str, Any], file: Path) -> None:
    """Draw time above and memory below, a column for each axis."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, len(AXES), figsize=(15, 8), sharey="row",
                                  layout="constrained")  # fmt: skip
    for column, axis in enumerate(AXES):
        for row, quantity in enumerate(("seconds", "peak")):
            panel = panels[row, column]
            for task in TASKS:
                _line(panel, task, *series(known, task, axis, quantity), 1e9 if row else 1.0)
            panel.grid(visible=True, alpha=0.3)
            panel.margins(x=0.16)
        _bandwidth_line(panels[0, column], known["bandwidth"], axis)
        name = "number of categories" if axis == "labels" else f"number of {axis}"
        panels[1, column].set_xlabel(name)
    panels[0, 0].set_ylabel("seconds")
    panels[1, 0].set_ylabel("peak memory of the process, GB")
    lines, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=3)
    figure.suptitle(f"Beside each line its exponent, of the {FEWER} largest sizes\n"
                    f"{known['machine']}", fontsize=9)  # fmt: skip
    figure.savefig(file, dpi=110)


def _line(panel: Any, task: str, sizes: list[float], values: list[float], scale: float) -> None:
    """Draw one task, if it was measured there, with its exponent at the end."""
    if not sizes:
        return
    scaled = np.array(values) / scale
    (line,) = panel.loglog(sizes, scaled, "o-", ms=4, label=task)
    panel.annotate(f"{exponent(sizes, values):.2f}", (sizes[-1], scaled[-1]), xytext=(5, -3),
                   textcoords="offset points", fontsize=8, color=line.get_color())  # fmt: skip


def _bandwidth_line(panel: Any, speed: float, axis: str) -> None:
    """Draw how long it takes to write every draw of every item once."""
    sizes = np.array(AXES[axis])
    cells = {name: np.full(len(sizes), float(value)) for name, value in BASE.items()}
    cells[axis] = sizes
    seconds = cells["items"] * cells["labels"] * cells["draws"] * 8 / speed
    panel.loglog(sizes, seconds, "k:", lw=1.2,
                 label=f"to write the plausibilities once, {speed / 1e9:.0f} GB/s")  # fmt: skip


def main() -> None:
    """Measure, print the exponents, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        work(options.point[0], json.loads(options.point[1]))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    known = measured(options.out / "growth.json")
    print(f"\n{known['machine']}\n\nExponents of time and memory, of the largest {FEWER} sizes:\n")
    print(table(known))
    draw(known, options.out / "growth.png")


if __name__ == "__main__":
    main()
