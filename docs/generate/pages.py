"""The pages of the API, one for each model, metric and statistic, from the registries."""

from __future__ import annotations

from pathlib import Path

import dissensus as dx
from dissensus import metrics, models, statistics
from generate.metric_pictures import METRIC_PICTURES
from generate.references import reference_page
from generate.related import RELATED

_MODULES = (
    "datasets", "distributions", "formats", "plots", "plausibility", "schema", "simulate", "steps",
)  # fmt: skip


def pages() -> dict[str, str]:
    """Return the text of every page, by its path below ``docs/api``."""
    return {
        **_models(), **_metrics(), **_statistics(), "other": _other(),
        "references": reference_page(),
    }  # fmt: skip


def write(folder: Path) -> None:
    """Write the pages; what says the same already is left alone, so that it is not built again."""
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
        "Models", "Each page is the model's card: its story, its mathematics, its priors and why, "
        "when to use it and when not; then what its prior says before there are data, and how well "
        "its intervals are calibrated.", names,
    )}  # fmt: skip
    for name in names:
        body = f".. automodule:: dissensus.models.{name}\n   :members:"
        out[f"models/{name}"] = _page(name, body, *_of_related(name))
    return out


def _metrics() -> dict[str, str]:
    out = {"metrics/index": _listed(
        "Metrics", "Draws in, draws out: every metric keeps ``chain`` and ``draw``.",
        [metric.name for metric in metrics.METRICS],
    )}  # fmt: skip
    for metric in metrics.METRICS:
        body = f".. autofunction:: dissensus.metrics.{metric.module}.{metric.name}"
        parts = _of_picture(metric.name) + _of_related(metric.name)
        out[f"metrics/{metric.name}"] = _page(metric.name, body, *parts)
    return out


def _of_picture(name: str) -> list[str]:
    """Return a picture with its caption."""
    if name not in METRIC_PICTURES:
        return []
    caption = " ".join((METRIC_PICTURES[name].__doc__ or "").split())
    return ["", f".. figure:: ../pictures/{name}.png", f"   :alt: {caption}", "   :width: 85%", "",
            f"   {caption}"]  # fmt: skip


def _of_related(name: str) -> list[str]:
    """Return links to what answers a question next to this one."""
    links = [_link(other) for other in RELATED.get(name, ())]
    return ["", f"Related: {', '.join(links)}."] if links else []


def _link(name: str) -> str:
    if name in models.names():
        return f":doc:`{name} </api/models/{name}>`"
    return f":func:`{name} <{getattr(dx, name).__module__}.{name}>`"


def _statistics() -> dict[str, str]:
    names = ["bayesian_bootstrap", *statistics.names()]
    out = {"statistics/index": _listed(
        "Statistics", "Of the annotations as they are; any of them has a posterior by "
        "``bayesian_bootstrap``.", names,
    )}  # fmt: skip
    for name in names:
        body = f".. autofunction:: dissensus.statistics.{name}.{name}"
        out[f"statistics/{name}"] = _page(name, body, *_of_related(name))
    return out


def _other() -> str:
    listed = {metric.name for metric in metrics.METRICS} | set(statistics.names())
    listed.add("bayesian_bootstrap")
    entries = []
    for name in sorted(name for name in dx.__all__ if name not in listed):
        thing = getattr(dx, name)
        home = getattr(thing, "__module__", "")
        if not home or home in {f"dissensus.{module}" for module in _MODULES}:
            continue
        kind = "autoexception" if isinstance(thing, type) else "autofunction"
        entries.append(f".. {kind}:: {home}.{name}\n")
    entries += [f".. automodule:: dissensus.{name}\n   :members:\n" for name in _MODULES]
    return _page("Everything else", *entries)
