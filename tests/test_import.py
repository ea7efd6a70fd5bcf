"""`import dissensus` is light: who wants a kappa does not wait for PyMC.

How long it takes is measured in `benchmarks/`, never here.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dissensus as dx

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ["pymc", "pytensor", "arviz", "numba", "scipy", "xarray", "pandas", "matplotlib"]


STEPS = {
    "import": "import dissensus as dx",
    "names": "dir(dx)",
    "command line": "import dissensus.cli.app",
    "annotations": (
        "ann = dx.annotations({'item': [1, 1], 'annotator': [1, 2], 'label': ['a', 'b']})\n"
        "dx.predictions({'item': [1], 'system': ['s'], 'label': ['a']})"
    ),
    "fit": (
        "fit = dx.models.dirichlet.fit(ann, draws=5, random_seed=1, progressbar=False)\n"
        "dx.annotation_certainty(fit)"
    ),
    "models": "\n".join(f"dx.models.{name}" for name in dx.models.names()),
}
"""What one fresh interpreter does, step by step: what a step has loaded counts for later ones."""


def test_every_folder_of_the_library_is_installed():
    """The map of packages is written by hand (decision 0001)."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    source = ROOT / "src"
    result = {
        ".".join(path.parent.relative_to(source).parts) for path in source.rglob("__init__.py")
    }
    assert set(settings["tool"]["setuptools"]["packages"]) == result | {"dissensus.models"}


@pytest.fixture(scope="module")
def loaded_after():
    """Which heavy modules are loaded after each step."""
    told = f"print(*[m for m in {HEAVY} if m in sys.modules])"
    script = "\n".join(["import sys", *(f"{code}\n{told}" for code in STEPS.values())])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    result = [set(line.split()) for line in done.stdout.splitlines()]
    return dict(zip(STEPS, result, strict=True))


def test_import_alone_loads_nothing_heavy(loaded_after):
    assert loaded_after["import"] == set()


def test_listing_the_names_loads_nothing_heavy(loaded_after):
    assert loaded_after["names"] == set()


def test_the_command_line_answers_before_anything_heavy_is_loaded(loaded_after):
    assert loaded_after["command line"] == set()


def test_reading_annotations_does_not_load_pymc(loaded_after):
    assert not loaded_after["annotations"] & {"pymc", "pytensor", "arviz"}


def test_naming_the_models_does_not_load_pymc(loaded_after):
    assert not loaded_after["models"] & {"pymc", "pytensor"}


def test_an_exact_fit_and_its_metrics_do_not_load_pymc(loaded_after):
    assert not loaded_after["fit"] & {"pymc", "pytensor"}


@pytest.mark.unit(0, long=2)
@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["datasets", "distributions", "formats", "plausibility", "schema", "simulate", "steps"]
)
def test_every_namespace_is_reached_first(name):
    """Where they live below another package, nothing else may have to be imported before."""
    code = f"import dissensus as dx; print(dx.{name}.__doc__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout) > 20


@pytest.mark.parametrize("name", ["checks", "metrics", "statistics"])
def test_a_namespace_holds_functions_and_no_modules(name):
    namespace = getattr(dx, name)
    public = namespace.names() if hasattr(namespace, "names") else namespace.__all__
    assert len(public) > 5
    for each in public:
        assert getattr(namespace, each) is getattr(dx, each)
        assert inspect.isfunction(getattr(namespace, each))
        assert each in dir(namespace)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = namespace.no_such_name
