"""The pages of the API, one for each model, metric and statistic, from the registries."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import dissensus as dx
from dissensus import metrics, models, statistics
from generate.drawn import figure_of
from generate.metric_pictures import METRIC_PICTURES
from generate.references import reference_page
from generate.related import related
from generate.statistic_pictures import STATISTIC_PICTURES

_MODULES = (
    "datasets", "distributions", "formats", "plots", "plausibility", "schema", "simulate", "steps",
)  # fmt: skip
PICTURES: Final = METRIC_PICTURES | STATISTIC_PICTURES
"""A plot for each metric and statistic."""


def pages() -> dict[str, str]:
    """Return the text of every page, by its path below ``docs/api``."""
    return {
        **_models(), **_metrics(), **_statistics(), "other": _other(),
        "references": reference_page(),
    }  # fmt: skip


def write(folder: Path) -> None:
    """Write the pages; unchanged pages are not written, so that they are not built again."""
    made = pages()
    for name, text in made.items():
        path = folder / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.rglob("*.rst"):  # of a registry as it was
        if path.relative_to(folder).with_suffix("").as_posix() not in made:
            path.unlink()


def _page(title: str, *parts: str) -> str:
    return "\n".join([title, "=" * len(title), "", *parts, ""])


def _listed(title: str, words: str, names: list[str]) -> str:
    tree = [".. toctree::", "   :maxdepth: 1", "", *(f"   {name}" for name in names)]
    return _page(title, words, "", *tree)


def _models() -> dict[str, str]:
    names = [model.name for model in models.MODELS]
    out = {"models/index": _listed(
        "Models", "Each page is a model card: story, formulas, priors with reasons, and limits. "
        "Plots show its prior and its calibration.", names,
    )}  # fmt: skip
    for name in names:
        body = f".. automodule:: dissensus.models.{name}\n   :members:"
        out[f"models/{name}"] = _page(name, body, *_of_related(name))
    return out


def _metrics() -> dict[str, str]:
    words = "Metrics take draws and return draws, with ``chain`` and ``draw``."
    return _functions("metrics", words, [one.name for one in metrics.METRICS])


def _statistics() -> dict[str, str]:
    return _functions(
        "statistics",
        "Functions of the observed annotations. ``bayesian_bootstrap`` gives each a posterior.",
        ["bayesian_bootstrap", *statistics.names()],
    )


def _functions(what: str, words: str, names: list[str]) -> dict[str, str]:
    """Return a page for each function, with its picture if it has one, and one that lists them."""
    out = {f"{what}/index": _listed(what.capitalize(), words, names)}
    for name in names:
        parts = _of_picture(name) + _of_related(name)
        out[f"{what}/{name}"] = _page(name, f".. autofunction:: dissensus.{name}", *parts)
    return out


def _of_picture(name: str) -> list[str]:
    """Return a picture with its caption."""
    return figure_of(PICTURES[name], f"../pictures/{name}.png") if name in PICTURES else []


def _of_related(name: str) -> list[str]:
    """Return links to related functions."""
    links = [_link(other) for other in related(name)]
    return ["", f"Related: {', '.join(links)}."] if links else []


def _link(name: str) -> str:
    if name in models.names():
        return f":doc:`{name} </api/models/{name}>`"
    return f":func:`{name} <dissensus.{name}>`"


def _other() -> str:
    listed = {metric.name for metric in metrics.METRICS} | set(statistics.names())
    listed.add("bayesian_bootstrap")
    entries = []
    for name in sorted(name for name in dx.__all__ if name not in listed):
        thing = getattr(dx, name)
        home = getattr(thing, "__module__", "")
        if not home or home in {getattr(dx, module).__name__ for module in _MODULES}:
            continue
        kind = "autoexception" if isinstance(thing, type) else "autofunction"
        entries.append(f".. {kind}:: dissensus.{name}\n")
    homes = [getattr(dx, name).__name__ for name in _MODULES]
    entries += [f".. automodule:: {home}\n   :members:\n" for home in homes]
    return _page("Other functions and classes", *entries)
