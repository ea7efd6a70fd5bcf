"""What is written about the library: links lead somewhere, names exist, examples are there."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from pathlib import Path

import pytest

import dissensus as dx

ROOT = Path(__file__).parents[1]
WRITTEN = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "notebooks/*.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
    if not {"_build", "api", "jupyter_execute"} & set(path.parts)
)
FENCED = re.compile(r"^```(\{code-cell\}|python)[^\n]*\n(.*?)^```", re.M | re.S)

every_page = pytest.mark.parametrize("page", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))


def prose(text):
    """Return a page without its code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchors(page):
    """Return what the headings of a page are called in links, as GitHub and MyST call them."""
    titles = re.findall(r"^#+ (.+)$", prose(page.read_text("utf-8")), re.M)
    plain = [re.sub(r"[`*]|\]\([^)]*\)|\[", "", title).strip().lower() for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


@every_page
def test_links_lead_somewhere(page):
    text = re.sub(r"`[^`\n]*`", "", prose(page.read_text("utf-8")))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue  # elsewhere
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), f"{target}: no such file"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{target}: no such heading"


def named(text):
    """Return names that a page says are in the library, with where they lead."""
    return set(re.findall(r"\bdx\.((?:\w+\.)*\w+)", text))


@every_page
def test_names_of_the_library_are_in_it(page):
    if page.name in {"CHANGELOG.md"} or "decisions" in page.parts:
        return  # of what was
    for name in named(page.read_text("utf-8")):
        thing = dx
        for part in name.split("."):
            if part == "my_model" or (part == "slips" and thing is dx.models):
                break  # a model of the reader's own
            assert hasattr(thing, part), f"dx.{name}"
            thing = getattr(thing, part)
            if not inspect.ismodule(thing):
                break


@every_page
def test_code_can_be_parsed(page):
    for language, code in FENCED.findall(page.read_text("utf-8")):
        lines = [line for line in code.splitlines() if not line.startswith(":tags:")]
        try:
            ast.parse("\n".join(lines))
        except SyntaxError as problem:
            pytest.fail(f"{language} {problem}: {code}")


def test_plots_on_pages_are_shown():
    """A semicolon hides a picture, unless pyplot manages it: those of ArviZ."""
    hidden = re.compile(r"^dx\.plots\.(?!forest|distribution)\w+\(.*;\s*$", re.M)
    assert [page.name for page in WRITTEN if hidden.search(page.read_text("utf-8"))] == []
    assert hidden.search("dx.plots.discrepancy(ratio);\n")
    assert not hidden.search("dx.plots.forest(ratio);\ndx.plots.discrepancy(ratio)\n")


def test_every_model_metric_and_statistic_has_related_ones():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from generate.related import RELATED, related
    finally:
        sys.path.remove(str(ROOT / "docs"))
    known = [*dx.models.names(), *dx.metrics.names(), *dx.statistics.names(), "bayesian_bootstrap"]
    assert all(related(name) for name in known), "name others in its docstring, in backticks"
    for name, others in RELATED.items():
        assert name not in others
        for other in others:
            assert other in dx.models.names() or hasattr(dx, other), f"{name}: {other}"


@pytest.mark.parametrize("name", dx.models.names())
def test_every_model_has_a_picture_of_its_calibration(name):
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from generate.prior_pictures import calibrated
    finally:
        sys.path.remove(str(ROOT / "docs"))
    assert calibrated(name).exists(), (
        "run `PYTHONPATH=tests uv run python -m calibration.full "
        f"--only '{name}: '` and commit docs/calibration*"
    )


BY_HAND = {"mean_average_overlap", "partial_ranking_logp"}
"""Checks of single rankings by hand, which nobody chooses from a table."""


@pytest.mark.parametrize("name", sorted({*dx.metrics.names(), *dx.statistics.names()} - BY_HAND))
def test_every_metric_and_statistic_is_on_a_page(name):
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "howto").glob("*.md")]
    told = {page.name for page in pages if re.search(rf"\b{name}\b", page.read_text("utf-8"))}
    told -= {"calibration.md", "validation.md", "glossary.md"}
    assert told, "add a row to docs/choosing.md or docs/agreement.md"


@pytest.mark.parametrize("name", [*dx.metrics.names(), *dx.statistics.names()])
def test_every_metric_and_statistic_names_its_source_and_its_formula_or_story(name):
    text = inspect.getdoc(getattr(dx, name))
    assert "Returns\n" in text
    assert "Notes\n" in text, "where it misleads"


def test_the_citation_names_the_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"version: {project['version']}\n" in cited
    assert f"license: {project['license']}\n" in cited
