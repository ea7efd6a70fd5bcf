"""`import dissensus` is light: who wants a kappa does not wait for PyMC.

How long it takes is measured in `benchmarks/`, never here.
"""

from __future__ import annotations

import subprocess
import sys

import dissensus as dx

HEAVY = ["pymc", "pytensor", "arviz", "numba", "scipy", "xarray", "pandas", "matplotlib"]


def loaded_after(code):
    """Return which heavy modules a fresh interpreter has loaded after some code."""
    script = f"{code}\nimport sys; print(*[m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_alone_loads_nothing_heavy():
    assert loaded_after("import dissensus") == set()


def test_listing_the_names_loads_nothing_heavy():
    assert loaded_after("import dissensus as dx; dir(dx)") == set()


def test_reading_annotations_does_not_load_pymc():
    code = (
        "import dissensus as dx\n"
        "dx.annotations({'item': [1, 1], 'annotator': [1, 2], 'label': ['a', 'b']})\n"
        "dx.predictions({'item': [1], 'system': ['s'], 'label': ['a']})"
    )
    assert not loaded_after(code) & {"pymc", "pytensor", "arviz"}


def test_naming_the_models_does_not_load_pymc():
    code = "import dissensus as dx\n" + "\n".join(f"dx.models.{name}" for name in dx.models.names())
    assert not loaded_after(code) & {"pymc", "pytensor"}


def test_an_exact_fit_and_its_metrics_do_not_load_pymc():
    code = (
        "import dissensus as dx\n"
        "ann = dx.annotations({'item': [1, 1], 'annotator': [1, 2], 'label': ['a', 'b']})\n"
        "fit = dx.models.dirichlet.fit(ann, draws=5, random_seed=1)\n"
        "dx.annotation_certainty(fit)"
    )
    assert not loaded_after(code) & {"pymc", "pytensor"}
