"""Sphinx configuration; the API pages are written from the registries before each build."""

import sys
from pathlib import Path
from typing import Any

import dissensus as dx
from dissensus import metrics, models, statistics

sys.path.insert(0, str(Path(__file__).parent))
from reference_page import reference_page

project = "dissensus"
copyright = "the dissensus developers"
version = release = dx.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "dissensus"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
napoleon_google_docstring = False
autodoc_typehints = "none"
suppress_warnings = ["myst.xref_missing"]
default_role = "code"

_HERE = Path(__file__).parent


def _page(title: str, entries: list[str]) -> str:
    return f"{title}\n{'=' * len(title)}\n\n" + "\n".join(entries)


def _models() -> str:
    entries = []
    for model in models.MODELS:
        name = f"dissensus.models.{model.name}"
        entries.append(
            f"{model.name}\n{'-' * len(model.name)}\n\n.. automodule:: {name}\n   :members:\n"
        )
    return _page("Models", entries)


def _metrics() -> str:
    return _page(
        "Metrics",
        [f".. autofunction:: dissensus.metrics.{m.module}.{m.name}\n" for m in metrics.METRICS],
    )


def _statistics() -> dict[str, str]:
    """Return a page for each statistic, and one that lists them."""
    pages, lines = {}, ["   bayesian_bootstrap"]
    for entry in ("bayesian_bootstrap", *statistics.names()):
        home = f"dissensus.statistics.{entry}.{entry}"
        pages[f"statistics/{entry}"] = _page(entry, [f".. autofunction:: {home}\n"])
    lines += [f"   {name}" for name in statistics.names()]
    tree = ".. toctree::\n   :maxdepth: 1\n\n" + "\n".join(lines) + "\n"
    pages["statistics/index"] = _page("Statistics of the annotations", [tree])
    return pages


_MODULES = (
    "datasets", "distributions", "formats", "plots", "plausibility", "schema", "simulate", "steps",
)  # fmt: skip


def _other() -> str:
    listed = {metric.name for metric in metrics.METRICS} | set(statistics.names())
    listed.add("bayesian_bootstrap")
    names = [name for name in dx.__all__ if name not in listed]
    entries = []
    for name in sorted(names):
        thing = getattr(dx, name)
        home = getattr(thing, "__module__", "")
        if not home or home in {f"dissensus.{module}" for module in _MODULES}:
            continue
        kind = "autoexception" if isinstance(thing, type) else "autofunction"
        entries.append(f".. {kind}:: {home}.{name}\n")
    entries += [f".. automodule:: dissensus.{name}\n   :members:\n" for name in _MODULES]
    return _page("Everything else", entries)


_PAGES = {"models": _models(), "metrics": _metrics(), "other": _other()} | _statistics()
_PAGES["references"] = reference_page()
for _name, _text in _PAGES.items():
    _path = _HERE / "api" / f"{_name}.rst"
    _path.parent.mkdir(parents=True, exist_ok=True)
    _path.write_text(_text, encoding="utf-8")


# -- What the cards' priors say, drawn: family and pools of a small simulated study ------------

_PRIORS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "crossed_effects": ("ordinal", None),
    "cross_replication": ("gaussian", ("old", "new")),
}


def _picture(name: str) -> str:
    """Draw what a model's default priors say, and return the picture's file name."""
    family, pools = _PRIORS[name]
    study = dx.simulate.replication_study(60, 8, 4, family=family, pools=pools, random_seed=1)
    found = dx.prior_predictive(name, study.annotations, family=family, random_seed=1)
    file = f"prior-{name}.png"
    dx.plots.prior_predictive(found).savefig(_HERE / "api" / file, dpi=144)
    return file


_PICTURES = {f"dissensus.models.{name}": (name, _picture(name)) for name in _PRIORS}


def _with_picture(*event: Any) -> None:
    """Put the picture at the end of a model's card."""
    _, what, name, _, _, lines = event
    if what != "module" or name not in _PICTURES:
        return
    model, file = _PICTURES[name]
    family, pools = _PRIORS[model]
    of = f" in {len(pools)} pools" if pools else ""
    lines += [
        "", f".. figure:: {file}", f"   :alt: Prior predictive distribution of {model}",
        "   :width: 100%", "",
        "   The default priors, before there are data: `dissensus.prior_predictive` of a "
        f"simulated study of 60 items (family \"{family}\"{of}).", "",
    ]  # fmt: skip


def setup(app: Any) -> None:
    """Have Sphinx pass the cards by."""
    app.connect("autodoc-process-docstring", _with_picture)
