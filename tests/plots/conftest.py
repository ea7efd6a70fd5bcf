"""One evaluation of each form of plausibilities, and figures that leave nothing behind."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import dissensus as dx


@pytest.fixture(autouse=True)
def no_window():
    """Draw without a screen, and check that no figure stays in pyplot's list unless ArviZ's."""
    before = mpl.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="session")
def dense():
    """Three labels, so that the triangle can be drawn; four systems; two models."""
    study = dx.simulate.study(n_items=12, n_annotators=4, n_labels=3, kind="nominal", random_seed=1)
    return _evaluated(study, companion="inverse_rank")


@pytest.fixture(scope="session")
def candidates():
    """Partial rankings, hence candidates with a remainder, and two models by default."""
    study = dx.simulate.study(n_items=12, n_annotators=4, n_labels=9, random_seed=1)
    return _evaluated(study)


def _evaluated(study, **options):
    labels = study.annotations["label"].to_numpy().tolist()
    risk = dict(zip(labels, range(len(labels)), strict=True))
    result = dx.evaluate(
        study.annotations,
        study.predictions,
        draws=30,
        chains=2,
        random_seed=1,
        progressbar=False,
        risk=risk,
        **options,
    )
    result["truth"] = study.truth
    return result


@pytest.fixture(params=["dense", "candidates"])
def evaluation(request):
    return request.getfixturevalue(request.param)
