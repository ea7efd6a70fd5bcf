"""A fit that was interrupted, killed or finished goes on from its checkpoint to the same draws."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from samplers import with_chains

import dissensus as dx
from dissensus.sampling import chains, checkpoints, fitting

SETTINGS = {name: [{}] for name in sorted(with_chains())} | {
    "crossed_effects": [{}, {"keep_effects": False}],
    "crossed_effects of two labels": [{"family": "bernoulli"}],
    "crossed_effects of ordered labels": [{"family": "ordinal"}],
    "symmetric_confusion": [{}, {"accuracy": "annotator", "difficulty": True}],
    "dawid_skene": [{"log_likelihood": True}, {"difficulty": True, "keep_items": False}],
    "rasch": [{}, {"guessing": False}, {"formula": "~ length"}],
    "plackett_luce": [{"concentration": None}, {"concentration": None, "log_likelihood": True}],
}
FORMS = [pytest.param(name.split()[0], name, settings, id=f"{name}-{k}")
         for name, forms in SETTINGS.items() for k, settings in enumerate(forms)]  # fmt: skip
KINDS = {"crossed_effects of two labels": "nominal", "crossed_effects of ordered labels": "ordinal",
         "crossed_effects": "continuous", "cross_replication": "continuous"}  # fmt: skip
LOTS = 50

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*chains have not run long enough"),
    pytest.mark.filterwarnings("ignore:.*hardly better than guessing"),  # labels are noise
]


@pytest.fixture
def data(examples):
    binary = dx.from_matrix(np.random.default_rng(1).choice(["no", "yes"], (30, 3)))
    return examples | {"nominal, two": binary}


def fit(model, name, data, **options):
    kind = KINDS.get(name, dx.models.get(model).kinds[-1])
    kind = "nominal, two" if options.get("family") == "bernoulli" else kind
    ann = data["pools"] if kind == "pools" else data[kind]
    requested = {"draws": 60, "tune": 30, "chains": 2, "random_seed": 3, "progressbar": False,
             "posterior_predictive": True, **options}  # fmt: skip
    if "formula" in options:
        requested["items"] = {
            "item": ann["item"].values,
            "length": np.arange(ann.sizes["item"]) % 7,
        }
    return dx.models.get(model).module.fit(ann, **requested)


def assert_same(first, second):
    assert set(first.children) == set(second.children)
    for group in first.children:
        xr.testing.assert_identical(first[group].to_dataset(), second[group].to_dataset())


def stopped_after(monkeypatch, lots):
    """Let Ctrl-C be pressed when so many lots are done, of those still to do."""

    def tracked(steps, text, show, total=None):
        for place, step in enumerate(steps):
            if place == lots:
                raise KeyboardInterrupt
            yield step

    monkeypatch.setattr(chains, "tracked", tracked)


@pytest.mark.long
@pytest.mark.unit(4, long=4)
@pytest.mark.parametrize(("model", "name", "settings"), FORMS)
def test_interrupted_again_and_again_it_comes_to_the_same_draws(
    model, name, settings, data, tmp_path, monkeypatch
):
    whole = fit(model, name, data, **settings)
    path = tmp_path / "fit.zarr"
    # In the warm-up, after it, and among the draws; each time from where the last one stopped.
    rankings = model == "plackett_luce"  # which go item by item: three of them, in two chains
    for lots in (1, 1, 1) if rankings else (13, 25, 17):
        with monkeypatch.context() as patch:
            stopped_after(patch, lots)
            with fitting.all_or_nothing(), pytest.raises(KeyboardInterrupt, match="saved in"):
                fit(model, name, data, checkpoint=path, **settings)
    done = []
    with monkeypatch.context() as patch:
        real = chains.tracked
        patch.setattr(chains, "tracked", lambda steps, *more, **options: real(
            done.extend(steps) or done, *more, **options))  # fmt: skip
        again = fit(model, name, data, checkpoint=path, **settings)
    assert_same(whole, again)
    if not rankings:
        assert 0 < len(done) <= 2 * LOTS - (13 + 25 + 17)
    # And once more from what is finished, without a sweep.
    stopped_after(monkeypatch, 10**6 if rankings else 0)
    assert_same(whole, fit(model, name, data, checkpoint=path, **settings))


def test_ctrl_c_gives_back_what_was_drawn_and_the_rest_comes_later(data, tmp_path, monkeypatch):
    whole = fit("rasch", "rasch", data)
    with monkeypatch.context() as patch:
        stopped_after(patch, 70)
        with pytest.warns(dx.DissensusWarning, match="interrupted: it holds"):
            part = fit("rasch", "rasch", data, checkpoint=tmp_path / "fit.zarr")
    assert part["posterior"].sizes["draw"] < 60
    assert_same(whole, fit("rasch", "rasch", data, checkpoint=tmp_path / "fit.zarr"))


@pytest.mark.long
def test_it_is_written_now_and_then_and_not_after_every_lot(data, tmp_path, monkeypatch):
    fit("rasch", "rasch", data, checkpoint=tmp_path / "a.zarr")
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    fit("rasch", "rasch", data, checkpoint=tmp_path / "b.zarr")
    parts = [len(list((tmp_path / name / "parts").iterdir())) for name in ("a.zarr", "b.zarr")]
    assert parts[0] == 1
    assert parts[1] > 50
    # Of the many only the last holds where the chains are.
    held = [part.name for part in sorted((tmp_path / "b.zarr" / "parts").iterdir())
            if any(part.glob("state"))]  # fmt: skip
    assert len(held) == 1


def test_without_a_seed_it_goes_on_with_the_one_it_drew(data, tmp_path, monkeypatch):
    path = tmp_path / "fit.zarr"
    with monkeypatch.context() as patch:
        stopped_after(patch, 70)
        with pytest.warns(dx.DissensusWarning, match="interrupted"):
            part = fit("rasch", "rasch", data, random_seed=None, checkpoint=path)
    whole = fit("rasch", "rasch", data, random_seed=None, checkpoint=path)
    n = part["posterior"].sizes["draw"]
    xr.testing.assert_equal(part["posterior"]["ability"],
                            whole["posterior"]["ability"].isel(draw=slice(n)))  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"draws": 61}, r"draws \(60; now 61\)"), ({"prior_count": 2.0}, "other settings"),
     ({"truth": {0: "a"}}, "other settings"), ({"keep_items": False}, "other settings"),
     ({"random_seed": 4}, r"random_seed \(3; now 4\)")],
)  # fmt: skip
def test_another_fit_is_refused(changes, words, data, tmp_path):
    labels = data["nominal"]["label"].to_numpy()
    options = {"posterior_predictive": False, "checkpoint": tmp_path / "fit.zarr"}
    dx.models.rasch.fit(data["nominal"], draws=60, tune=30, chains=2, random_seed=3,
                        progressbar=False, checkpoint=tmp_path / "fit.zarr")  # fmt: skip
    if "truth" in changes:
        changes = {"truth": {data["nominal"]["item"].to_numpy()[0]: labels[0]}}
    requested = {"draws": 60, "tune": 30, "chains": 2, "random_seed": 3, "progressbar": False}
    with pytest.raises(dx.ArgumentError, match=words):
        dx.models.rasch.fit(data["nominal"], **{**requested, **options, **changes})


def test_samplers_of_pymc_have_none(data, tmp_path):
    with pytest.raises(dx.ArgumentError, match="checkpoint: expected None, unless the Gibbs"):
        fit("rasch", "rasch", data, sampler="nuts", checkpoint=tmp_path / "a")
    with pytest.raises(dx.ArgumentError, match="found a path, and nuts beside it"):
        fit("plackett_luce", "plackett_luce", data, reliability="common", tempering="strength",
            checkpoint=tmp_path / "a")  # fmt: skip


_CHILD = """
import os, signal, sys
sys.path[:0] = {path!r}
import test_checkpoint as tests
from conftest import examples
from dissensus.sampling import checkpoints

checkpoints.SECONDS = 0.0
written = []
real = checkpoints.Checkpoint.save
def save(self, part, arrays):
    done = real(self, part, arrays)
    written.append(part)
    if len(written) == 60:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
checkpoints.Checkpoint.save = save
data = examples.__wrapped__() if hasattr(examples, "__wrapped__") else examples._fixture_function()
tests.fit("dawid_skene", "dawid_skene", data, checkpoint={store!r})
"""


@pytest.mark.long
def test_a_process_that_is_killed_is_gone_on_with_in_another(data, tmp_path):
    store = tmp_path / "fit.zarr"
    code = _CHILD.format(
        path=[str(folder) for folder in Path(__file__).parents[:2]], store=str(store)
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True,
                          text=True, timeout=300, env={**os.environ}, check=False)  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(list((store / "parts").iterdir())) == 60
    (store / ".part-61").mkdir()  # as if it had been writing
    whole = fit("dawid_skene", "dawid_skene", data)
    assert_same(whole, fit("dawid_skene", "dawid_skene", data, checkpoint=store))
    assert not (store / ".part-61").exists()
