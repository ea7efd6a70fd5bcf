"""No state passes from chain to chain or from fit to fit; the harness would see if it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from calibration import chain_faults, chains, forms
from calibration.designs import design

from dissensus import models
from dissensus.models import MODELS

SLOW = {"dawid_skene: nominal, ~ age + group (as written)"}
"""Eight items allow of two answers, which of the groups is right, and a chain of this test moves
from one to the other a few times only. Chains of 8,000 draws agree (r-hat 1.00)."""
CHECKED = {
    **{name: form for name, form in forms.forms().items() if name not in SLOW},
    **{n: forms.Form(models.get(n), models.get(n).kinds[-1], {}) for n in forms.NOT_DRAWN},
}
OF_MODEL = {form.model.name: form for form in reversed(CHECKED.values())}


@pytest.mark.unit(0, long=6)
@pytest.mark.parametrize("name", CHECKED)
def test_chains_know_nothing_of_each_other(name):
    form = CHECKED[name]
    assert chains.findings(form.model.module.fit, design(form.kind), **form.hyper) == {}


_CHILD = """
import json, sys
sys.path[:0] = {path!r}
from calibration.test_chains import fresh
print(json.dumps(fresh()))
"""


def fresh():
    """Fit each model to the second data only, the last model first: run in a new process."""
    return {
        name: chains.fingerprint(
            chains.fitted(
                form.model.module.fit, design(form.kind), posterior_predictive=True, **form.hyper
            )
        )
        for name, form in reversed(OF_MODEL.items())
    }


def test_a_fit_after_that_of_other_data_is_that_of_a_fresh_process():
    here = {
        name: chains.after_other_data(
            form.model.module.fit, design(form.kind, 5), design(form.kind), **form.hyper
        )
        for name, form in OF_MODEL.items()
    }
    code = _CHILD.format(path=[str(Path(__file__).resolve().parents[1])])
    # Another hash seed and one thread: nothing may depend on the order of a set, or on threads.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONHASHSEED": "4711", "NUMBA_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == here
    assert set(here) == {model.name for model in MODELS}


# -- Planted faults ---------------------------------------------------------------------------

MARKOV = ("crossed_effects", "plackett_luce", "symmetric_confusion")


@pytest.mark.unit(0, long=5)
@pytest.mark.parametrize("name", MARKOV)
@pytest.mark.parametrize(
    ("fault", "seen_by"),
    [pytest.param(fault, seen, id=what) for what, fault, seen in chain_faults.IN_CHAINS],
)
def test_stale_state_between_chains_is_caught(name, fault, seen_by):
    form = OF_MODEL[name]
    result = chains.findings(fault(form.model.module.fit), design(form.kind), **form.hyper)
    assert seen_by & set(result)


def test_one_stream_for_all_chains_is_caught_of_exact_draws_too():
    form = OF_MODEL["normal_scores"]
    for fault in (chain_faults.same_stream, chain_faults.moved_together):
        result = chains.findings(fault(form.model.module.fit), design(form.kind), **form.hyper)
        assert "together" in result


@pytest.mark.parametrize("fault", [chain_faults.remembered, chain_faults.counted])
def test_state_that_is_kept_from_other_data_is_caught(fault):
    form = OF_MODEL["crossed_effects"]
    fit, (first, second) = form.model.module.fit, (design(form.kind, 5), design(form.kind))
    clean = chains.fingerprint(
        chains.fitted(fault(fit), second, posterior_predictive=True, **form.hyper)
    )
    assert chains.after_other_data(fault(fit), first, second, **form.hyper) != clean
