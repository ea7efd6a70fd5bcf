"""Sphinx configuration; pages and pictures of the API are made from the registries first."""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import dissensus as dx

_HERE = Path(__file__).parent
sys.path.insert(0, str(_HERE))
from generate import drawn, notebooks, pages, prior_pictures

project = "dissensus"
copyright = "the dissensus developers"
version = release = dx.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "generate.mathml", "sphinx.ext.napoleon"]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "generate", "validation"]
html_theme = "furo"
html_title = "dissensus"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
napoleon_google_docstring = False
autodoc_typehints = "none"
default_role = "code"

# Notebooks, and guides with code in them, are run by the build, which fails where they do. What is
# not changed is not run again; after a change of the library: `make afresh docs`.
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

pages.write(_HERE / "api")
notebooks.write(_HERE.parent / "notebooks", _HERE / "notebooks")


def _draw(app: Any) -> None:
    """Draw the pictures, once for a build."""
    if app.builder.name == "html":
        folder = _HERE / "api" / "pictures"
        drawn.write(pages.PICTURES, folder)
        drawn.write(prior_pictures.PRIOR_PICTURES, folder, prefix="prior-")


def _with_pictures(*event: Any) -> None:
    """Put pictures at the end of a model's card."""
    _, what, name, _, _, lines = event
    model = name.removeprefix("dissensus.models.")
    if what == "module" and model in prior_pictures.PRIOR_PICTURES:
        lines += prior_pictures.lines(model)


def setup(app: Any) -> None:
    """Have Sphinx draw pictures first, and pass the cards by."""
    app.connect("builder-inited", _draw)
    app.connect("autodoc-process-docstring", _with_pictures)
